"""LCMClassifier against scikit-learn, a numpy pass, and the paper's update rules; one thread.

Limits: an EM iteration 0.35 of GaussianMixture("full") (N = 100,000, n = 20, 4 classes, M = 8,
q = 5); a linear fit with 20 restarts twice a numpy pass for class means and covariances
(N = 5,000,000, n = 20); 100 restarts eight times one; predict_proba twice scikit-learn's QDA for
each Gaussian evaluated; a sample of the paper's grid a twentieth of a plain loop over its rules.

    python benchmarks/lcm.py            # all but the full search, a few minutes
    python benchmarks/lcm.py --rows 500000     # fewer rows in the linear fit
    python benchmarks/lcm.py --search   # the paper's full search too: long
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import time
import warnings

import numpy as np
from _timing import best_times, peak_megabytes, print_table
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import _lcm_loop as loop
from latentclass import LCMClassifier, LCMClassifierCV
from latentclass.datasets import load_dataset
from latentclass.engine._class_components import gather_rows
from latentclass.exceptions import DataSetUnavailableError
from latentclass.lcm._em import LCMProblem, Prior
from latentclass.lcm._folds import FoldedRows, FoldSettings, held_out_log_posterior

SIZES = {"glass2": (163, 9, 2), "vehicle": (846, 18, 4)}


def make_table(n_rows: int, n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns whose means and directions depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, n))
    half = n // 2
    X[:, :half] += X[:, half : 2 * half] * (0.5 + y[:, None] / n_classes)
    X += rng.normal(size=(n_classes, n))[y]
    return X, y


def compare_iteration(n_rows: int) -> dict[str, object]:
    """One EM iteration of the non-linear model beside one of a mixture of full Gaussians."""
    X, y = make_table(n_rows, 20, 4)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    data = gather_rows(
        X,
        np.zeros((n_rows, 0), dtype=np.int32),
        y,
        np.ones((1, n_rows)),
        n_classes=4,
        one_component=False,
        offsets=np.zeros(1, dtype=np.intp),
        width=8,
    )
    problem = LCMProblem(data, 8, 5, True, Prior(1.0, 1.0, 0.5, 1.0))
    params = [problem.starts(np.zeros(1, dtype=np.intp), [np.random.default_rng(0)])]

    def ours() -> None:
        params[0] = problem.m_step(problem.e_step(params[0])[0])

    peer = GaussianMixture(8, max_iter=1, init_params="random_from_data", random_state=0).fit(X)

    def theirs() -> None:
        peer._m_step(X, peer._e_step(X)[1])

    seconds = best_times({"peer": theirs, "ours": ours})
    return {
        "what": "EM iteration / GaussianMixture(8, full)",
        "ours ms": 1e3 * seconds["ours"],
        "peer ms": 1e3 * seconds["peer"],
        "ratio": seconds["ours"] / seconds["peer"],
        "limit": 0.35,
        "peak MB": peak_megabytes(ours),
    }


def compare_linear(n_rows: int) -> dict[str, object]:
    """A whole fit of the linear model with 20 restarts beside one pass of numpy."""
    X, y = make_table(n_rows, 20, 4)

    def one_pass() -> list[tuple[np.ndarray, np.ndarray]]:
        parts = (X[y == k] for k in range(4))
        return [(part.mean(axis=0), np.cov(part.T)) for part in parts]

    def ours() -> LCMClassifier:
        return LCMClassifier(5, n_init=20, random_state=0).fit(X, y)

    seconds = best_times({"peer": one_pass, "ours": ours}, repeats=3)
    return {
        "what": f"linear fit, 20 restarts, {n_rows:,} rows / numpy pass",
        "ours ms": 1e3 * seconds["ours"],
        "peer ms": 1e3 * seconds["peer"],
        "ratio": seconds["ours"] / seconds["peer"],
        "limit": 2.0,
        "peak MB": peak_megabytes(ours),
    }


def compare_restarts(name: str, q: int, m: int) -> dict[str, object]:
    """100 restarts beside one, the best of them kept by its likelihood."""
    X, y = make_table(*SIZES[name])

    def fit(n_init: int) -> LCMClassifier:
        model = LCMClassifier(q, m, select="likelihood", n_init=n_init, max_iter=100)
        return model.set_params(random_state=0).fit(X, y)

    seconds = best_times({"one": lambda: fit(1), "hundred": lambda: fit(100)}, repeats=3)
    return {
        "what": f"100 restarts / one, {name}'s size, q = {q}, M = {m}",
        "ours ms": 1e3 * seconds["hundred"],
        "peer ms": 1e3 * seconds["one"],
        "ratio": seconds["hundred"] / seconds["one"],
        "limit": 8.0,
        "peak MB": peak_megabytes(lambda: fit(100)),
    }


def compare_prediction(n_rows: int, n_init: int) -> dict[str, object]:
    """predict_proba for each Gaussian evaluated, beside QDA's."""
    X, y = make_table(n_rows, 20, 4)
    model = LCMClassifier(5, 2, n_init=n_init, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:5000], y[:5000])
    peer = QuadraticDiscriminantAnalysis().fit(X[:5000], y[:5000])
    seconds = best_times(
        {"peer": lambda: peer.predict_proba(X), "ours": lambda: model.predict_proba(X)}
    )
    per_gaussian = seconds["ours"] / (2 * n_init)
    return {
        "what": f"predict_proba per Gaussian, {n_init} starts averaged / QDA",
        "ours ms": 1e3 * per_gaussian,
        "peer ms": 1e3 * seconds["peer"],
        "ratio": per_gaussian / seconds["peer"],
        "limit": 2.0,
        "peak MB": peak_megabytes(lambda: model.predict_proba(X)),
    }


def papers_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """iris, wine, and glass2 where it can be had."""
    sets = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    try:
        glass2 = load_dataset("glass2", container="pandas")
    except DataSetUnavailableError:
        return sets
    codes = np.unique(glass2.y, return_inverse=True)[1]
    return {**sets, "glass2": (glass2.X.to_numpy(float), codes)}


def compare_grid(n_init: int) -> list[dict[str, object]]:
    """A sample of the paper's grid: 5 folds, restarts by training accuracy, both ways.

    Plain EM steps in both. The loop stops by the paper's rule, a relative gain of 1e-3; ours at
    0.01 per row, about the same, and halves the restarts on the way.
    """
    rows = []
    for name, (X, y) in papers_sets().items():
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        pairs = [(2, 1), (6, 1), (2, 4), (4, 10), (3, 30)]
        fold = np.arange(len(y)) % 5

        def by_loop(X=X, y=y, fold=fold, pairs=pairs) -> float:
            start = time.perf_counter()
            for q, m in pairs:
                for f in range(5):
                    rng = np.random.default_rng(0)
                    loop.fit(X[fold != f], y[fold != f], q, m, True, n_init, 100, 1e-3, rng)
            return time.perf_counter() - start

        rows_by_fold = FoldedRows(
            X,
            np.zeros((len(y), 0), dtype=np.int32),
            y,
            np.ones(len(y)),
            fold,
            5,
            len(np.unique(y)),
            np.zeros(1, dtype=np.intp),
        )

        def by_us(rows_by_fold=rows_by_fold, pairs=pairs) -> float:
            start = time.perf_counter()
            prior = Prior(1.0, 1.0, 0.5, 1.0)
            for q, m in pairs:
                settings = FoldSettings(
                    q, m, True, "full", True, prior, "accuracy", n_init, 100, 1e-2, False
                )
                held_out_log_posterior(rows_by_fold, settings, 0)
            return time.perf_counter() - start

        ours, theirs = min(by_us() for _ in range(2)), by_loop()
        rows.append({"data": name, "ours s": ours, "loop s": theirs, "times faster": theirs / ours})
    return rows


def time_search() -> list[dict[str, object]]:
    """The paper's own search: every size, 100 restarts, semi-greedy."""
    rows = []
    for name, (X, y) in papers_sets().items():
        search = LCMClassifierCV(
            search="semi_greedy",
            scoring="accuracy",
            select="accuracy",
            n_init=100,
            max_iter=100,
            random_state=0,
        )
        start = time.perf_counter()
        search.fit(X, y)
        seconds = time.perf_counter() - start
        rows.append(
            {
                "data": name,
                "seconds": seconds,
                "candidates": search.n_candidates_,
                "chosen": f"q = {search.n_latent_}, M = {search.n_components_}",
                "wrapper accuracy": float(search.best_score_),
            }
        )
    return rows


def time_small_fit() -> dict[str, object]:
    """135 rows, q = 2, M = 2, warm: AMIDST's LCM took 5.8 s."""
    X, y = load_iris(return_X_y=True)
    X, y = X[np.arange(150) % 10 > 0], y[np.arange(150) % 10 > 0]
    rows = {}
    for n_init in (1, 10):
        model = LCMClassifier(2, 2, n_init=n_init, random_state=0)
        rows[f"{n_init} starts, ms"] = 1e3 * best_times({"fit": lambda m=model: m.fit(X, y)})["fit"]
    return {"what": "fit of 135 rows, q = 2, M = 2", **rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the linear fit")
    parser.add_argument("--restarts", type=int, default=10, help="restarts in the sampled grid")
    parser.add_argument("--search", action="store_true", help="run the paper's full search too")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [
        compare_iteration(100_000),
        compare_restarts("glass2", 3, 5),
        compare_restarts("vehicle", 5, 3),
        compare_prediction(50_000, 1),
        compare_prediction(50_000, 10),
        compare_linear(options.rows),
    ]
    print_table("Ratios, limits and memory", rows)
    print_table("A small fit", [time_small_fit()])
    print_table("A sample of the paper's grid", compare_grid(options.restarts))
    if options.search:
        print_table("The paper's search", time_search())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory of the whole run: {peak:.0f} MB")


if __name__ == "__main__":
    main()
