"""NaiveBayes and scikit-learn's naive Bayes classifiers: the same model on the same rows.

Also one EM iteration over unlabelled rows, and one of a diagonal Gaussian mixture.
Limit: fit and predict within 1.5 times scikit-learn's. All by CPU time.

Short form: 100,000 rows. `--full`: 1,000,000.
"""

from functools import partial

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from _record import Run, best_times, iteration_times, make_parser, peak_megabytes
from latentclass.baselines import NaiveBayes

N_COLUMNS, N_CLASSES = 20, 5
LIMIT = 1.5


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


def compare_with_scikit_learn(run: Run, n_rows: int) -> None:
    y, tables = make_tables(n_rows)
    columns = list(range(N_COLUMNS))
    pairs = {
        "Gaussian": (GaussianNB(var_smoothing=0), NaiveBayes(prior=None)),
        "categorical": (CategoricalNB(), NaiveBayes(categorical_features=columns)),
        "binary": (BernoulliNB(), NaiveBayes(categorical_features=columns)),
    }
    for kind, (peer, ours) in pairs.items():
        compare_pair(run, f"{kind}, {n_rows:,} x {N_COLUMNS}", ours, peer, tables[kind], y)


def compare_pair(
    run: Run, what: str, ours: NaiveBayes, peer: object, X: np.ndarray, y: np.ndarray
) -> None:
    name = type(peer).__name__
    for act in ("fit", "predict"):
        rows = (X, y) if act == "fit" else (X,)
        tasks = {"ours": partial(getattr(ours, act), *rows)}
        tasks["peer"] = partial(getattr(peer, act), *rows)
        found = best_times(tasks, clock="CPU")
        run.add_ratio(
            what, f"{act} / {name}", found["ours"], found["peer"], limit=LIMIT, clock="CPU"
        )  # fmt: skip
    gap = np.abs(peer.predict_joint_log_proba(X) - ours.predict_joint_log_proba(X)).max()
    run.add(what, "largest difference in log p(x, y)", float(gap))
    for who, model in (("ours", ours), ("peer", peer)):
        peak = peak_megabytes(lambda model=model: model.fit(X, y))
        run.add(what, f"peak memory of fit, {who}", peak, unit="MB")


def compare_iterations(run: Run, n_rows: int) -> None:
    """One EM iteration over unlabelled rows, and one of a diagonal Gaussian mixture."""
    y, tables = make_tables(n_rows)
    X = tables["Gaussian"]
    some = np.where(np.arange(n_rows) < n_rows // 100, y.astype(float), np.nan)
    peer = GaussianMixture(
        N_CLASSES, covariance_type="diag", init_params="random", tol=0, random_state=0
    )
    seconds = iteration_times(
        {
            "ours": lambda n: NaiveBayes(max_iter=n, tol=0).fit(X, some),
            "peer": lambda n: peer.set_params(max_iter=n).fit(X),
        }
    )
    what = f"{n_rows:,} x {N_COLUMNS}, 99 % unlabelled"
    figure = "EM iteration / GaussianMixture(diag)"
    run.add_ratio(what, figure, seconds["ours"], seconds["peer"], clock="CPU")


def main() -> None:
    options = make_parser(__doc__).parse_args()
    n_rows = 1_000_000 if options.full else 100_000
    with Run(__file__, keep=options.full) as run:
        compare_with_scikit_learn(run, n_rows)
        compare_iterations(run, n_rows // 5)


if __name__ == "__main__":
    main()
