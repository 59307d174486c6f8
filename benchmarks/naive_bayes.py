"""NaiveBayes against scikit-learn's: the same model on the same million rows, one thread.

Limit: fit and predict within 1.5 times scikit-learn's. Run by `make bench`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings

import numpy as np
from _timing import best_times, peak_megabytes, print_table
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from latentclass.baselines import NaiveBayes

N_COLUMNS, N_CLASSES = 20, 5


def make_tables(n_rows: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n_rows)
    shape = (n_rows, N_COLUMNS)
    shifted = (rng.random(shape) < 0.1) * y[:, None]
    return y, {
        "Gaussian": rng.normal(size=shape) + 0.3 * y[:, None],
        "categorical": rng.integers(0, 6, shape) + shifted,
        "binary": (rng.random(shape) < 0.2 + 0.1 * y[:, None]).astype(np.float64),
    }


def compare_pair(name: str, peer: object, ours: object, X: np.ndarray, y: np.ndarray) -> dict:
    fit = best_times({"peer": lambda: peer.fit(X, y), "ours": lambda: ours.fit(X, y)})
    apply = best_times({"peer": lambda: peer.predict(X), "ours": lambda: ours.predict(X)})
    gap = np.abs(peer.predict_joint_log_proba(X) - ours.predict_joint_log_proba(X)).max()
    return {
        "columns": name,
        "fit: peer s": fit["peer"],
        "ours s": fit["ours"],
        "ratio": fit["ours"] / fit["peer"],
        "predict: peer s": apply["peer"],
        "ours s ": apply["ours"],
        "ratio ": apply["ours"] / apply["peer"],
        "largest difference in log p(x, y)": float(gap),
        "fit: peak MB, peer": peak_megabytes(lambda: peer.fit(X, y)),
        "ours": peak_megabytes(lambda: ours.fit(X, y)),
    }


def compare_with_scikit_learn(n_rows: int) -> None:
    y, tables = make_tables(n_rows)
    columns = list(range(N_COLUMNS))
    pairs = {
        "Gaussian": (GaussianNB(var_smoothing=0), NaiveBayes(prior=None)),
        "categorical": (CategoricalNB(), NaiveBayes(categorical_features=columns)),
        "binary": (BernoulliNB(), NaiveBayes(categorical_features=columns)),
    }
    rows = [compare_pair(name, *pair, tables[name], y) for name, pair in pairs.items()]
    print_table(f"NaiveBayes, {n_rows:,} rows x {N_COLUMNS} columns, {N_CLASSES} classes", rows)


def measure_unlabelled(n_rows: int) -> None:
    """One EM iteration over unlabelled rows, beside one of a diagonal Gaussian mixture."""
    y, tables = make_tables(n_rows)
    X = tables["Gaussian"]
    some = np.where(np.arange(n_rows) < n_rows // 100, y.astype(float), np.nan)

    def ours(n_iter: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            NaiveBayes(max_iter=n_iter, tol=0).fit(X, some)

    def peer(n_iter: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            GaussianMixture(
                N_CLASSES, covariance_type="diag", init_params="random", max_iter=n_iter, tol=0,
                random_state=0,
            ).fit(X)  # fmt: skip

    few, many = 3, 13
    times = best_times(
        {
            "ours few": lambda: ours(few),
            "ours many": lambda: ours(many),
            "peer few": lambda: peer(few),
            "peer many": lambda: peer(many),
        },
        repeats=2,
    )
    each = {who: (times[f"{who} many"] - times[f"{who} few"]) / 10 for who in ("ours", "peer")}
    print_table(
        f"One EM iteration, {n_rows:,} rows, 99 % unlabelled",
        [{"GaussianMixture(diag) s": each["peer"], "ours s": each["ours"],
          "ratio": each["ours"] / each["peer"]}],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    compare_with_scikit_learn(n_rows)
    measure_unlabelled(n_rows // 5)


if __name__ == "__main__":
    main()
