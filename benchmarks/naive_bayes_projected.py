"""ProjectedNaiveBayes against scikit-learn's QDA, PCA + GaussianNB and GaussianMixture, one thread.

Limit: fit within 1.5 times the peer's. All three in one run, on the same rows.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import warnings

import numpy as np
from _timing import best_times, print_table
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from latentclass.baselines import ProjectedNaiveBayes

N_COLUMNS, N_CLASSES, N_COMPONENTS = 20, 5, 4


def make_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, whose means and spread depend on the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n_rows)
    noise = rng.normal(size=(n_rows, N_COLUMNS)) * (1.0 + 0.2 * y[:, None])
    mix = rng.normal(size=(N_COLUMNS, N_COLUMNS))
    return noise @ mix + y[:, None] * rng.normal(size=N_COLUMNS), y


def compare_fits(n_rows: int) -> None:
    """Fits in closed form: all rows complete and labelled."""
    X, y = make_table(n_rows)
    pairs = {
        "all axes / PCA + GaussianNB": (
            make_pipeline(StandardScaler(), PCA(), GaussianNB(var_smoothing=0)),
            ProjectedNaiveBayes(prior=None),
        ),
        "class axes / QDA": (
            QuadraticDiscriminantAnalysis(),
            ProjectedNaiveBayes(axes="class", prior=None),
        ),
    }
    rows = []
    for name, (peer, ours) in pairs.items():
        fit = best_times(
            {"peer": lambda peer=peer: peer.fit(X, y), "ours": lambda ours=ours: ours.fit(X, y)},
            repeats=3,
        )
        apply = best_times(
            {
                "peer": lambda peer=peer: peer.predict_proba(X),
                "ours": lambda ours=ours: ours.predict_proba(X),
            },
            repeats=3,
        )
        gap = np.abs(peer.predict_proba(X) - ours.predict_proba(X)).max()
        rows.append(
            {
                "model": name,
                "fit: peer s": fit["peer"],
                "ours s": fit["ours"],
                "ratio": fit["ours"] / fit["peer"],
                "predict_proba: peer s": apply["peer"],
                "ours s ": apply["ours"],
                "ratio ": apply["ours"] / apply["peer"],
                "largest difference in p(y | x)": float(gap),
            }
        )
    print_table(f"ProjectedNaiveBayes, {n_rows:,} rows x {N_COLUMNS} columns", rows)


def compare_clusters(n_rows: int) -> None:
    """One EM iteration of a mixture of full Gaussians, all numbers of components together."""
    X, y = make_table(n_rows)

    def ours(n_iter: int) -> None:
        ProjectedNaiveBayes(
            axes="clusters", max_components=N_COMPONENTS, n_init=1, max_iter=n_iter, tol=0,
            random_state=0,
        ).fit(X, y)  # fmt: skip

    def peer(n_iter: int) -> None:
        for n_components in range(2, N_COMPONENTS + 1):
            GaussianMixture(
                n_components, init_params="random", max_iter=n_iter, tol=0, random_state=0
            ).fit(X)

    few, many = 3, 13
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
        f"One EM iteration of mixtures of 2 to {N_COMPONENTS} full Gaussians, {n_rows:,} rows x "
        f"{N_COLUMNS} columns",
        [{"GaussianMixture s": each["peer"], "ours s": each["ours"],
          "ratio": each["ours"] / each["peer"], "13 iterations: peer s": times["peer many"],
          "ours s ": times["ours many"], "ratio ": times["ours many"] / times["peer many"]}],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    n_rows = parser.parse_args().rows
    compare_fits(n_rows)
    compare_clusters(n_rows // 10)


if __name__ == "__main__":
    main()
