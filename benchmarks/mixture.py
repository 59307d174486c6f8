"""LatentMixture: EM beside scikit-learn, ERA beside a plain loop, latent classes beside StepMix.

- EM: an iteration of one start with 8 components on rows of 10 columns, beside
  `GaussianMixture(covariance_type="diag")`, by CPU time. Limit: 0.5 where the loops are compiled:
  rows x starts x components at least 2^19, here from 65,536 rows on. 1 for fewer rows.
- ERA: starts x iterations on pima (or on as many random numbers, without LATENTCLASS_DATA), beside
  numpy, one start after the other; the loop is timed on fewer iterations. CPU time, medians. Limit:
  a twentieth.
- Latent variable classifier as published (naive Bayes in each component, no prior, so that lost
  components are replaced all the time): a start and iteration on pima or random numbers by EM and
  ERA. Limit: 0.05 ms. And beside the same steps in numpy, one iteration of all starts at a time.
- StepMix (`--peers` is a folder with it, `pip install --target`): latent class models of nominal
  and of mixed columns, 10 starts each, both until the log-likelihood per row gains 1e-7 at most.
  Limit: a fifth.

Short form: 10,000 rows, ERA with 2 components and 5 x 200 iterations, the classifier with 2.
`--full`: 10,000 to 200,000 rows, ERA with 2, 5 and 8 components and 50 x 1000 iterations, the
classifier with 2, 5 and 8, StepMix if there are `--peers`.
"""

import os
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture

from _record import Run, best_times, iteration_times, make_parser
from latentclass import LatentMixture
from latentclass.datasets import load_dataset
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.mixture._classifier_em import ClassifierSearch
from latentclass.mixture._compiled_em import LARGE
from latentclass.mixture._searches import Rule, run_search

LOOP_ITERATIONS = 150


def compare_iteration(run: Run, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10)) + rng.integers(0, 4, (n_rows, 1))
    common = {"tol": 0.0, "random_state": 0}
    ours = LatentMixture(8, n_init=1, accelerate=False, **common)
    peer = GaussianMixture(8, covariance_type="diag", init_params="random_from_data", **common)
    fits = {
        "ours": lambda n: ours.set_params(max_iter=n).fit(X),
        "peer": lambda n: peer.set_params(max_iter=n).fit(X),
    }
    seconds = iteration_times(fits, repeats=3, few=1, many=41)
    what = f"{n_rows:,} x 10, 8 components"
    figure = "EM iteration / GaussianMixture(diag)"
    limit = 0.5 if n_rows * 8 >= LARGE else 1.0
    run.add_ratio(what, figure, seconds["ours"], seconds["peer"], limit=limit, clock="CPU")


def plain_era(X: np.ndarray, k: int, n_iter: int, rng: np.random.Generator) -> float:
    """ERA in numpy, one start."""
    n_rows, n_columns = X.shape
    least = 1e-3 * X.std(axis=0)
    mean = X[rng.choice(n_rows, k, replace=False)]
    scale = np.tile(X.std(axis=0), (k, 1))
    log_weight = np.full(k, -np.log(k))
    best = -np.inf
    for _ in range(n_iter):
        distance = (((X[:, None, :] - mean) / scale) ** 2).sum(axis=2)
        joint = log_weight - 0.5 * distance - np.log(scale).sum(axis=1)
        joint -= 0.5 * n_columns * np.log(2 * np.pi)
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=1, keepdims=True)
        best = max(best, float((top + np.log(total)).sum()))
        edges = np.cumsum(share / total, axis=1)[:, :-1]
        component = (rng.random(n_rows)[:, None] >= edges).sum(axis=1)
        for c in range(k):
            own = X[component == c]
            if len(own):
                mean[c], scale[c] = own.mean(axis=0), np.maximum(own.std(axis=0), least)
                log_weight[c] = np.log(len(own) / n_rows)
            else:
                log_weight[c] = -np.inf
    return best


def read_pima() -> tuple[str, np.ndarray, np.ndarray]:
    """pima, or as many random numbers: name, columns, class codes."""
    if "LATENTCLASS_DATA" in os.environ:
        data = load_dataset("diabetes", container="numpy")
        return "pima", data.X.astype(float), np.unique(data.y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    return "random 768 x 8", rng.normal(size=(768, 8)), rng.integers(0, 2, 768)


def compare_era(run: Run, k: int, n_starts: int, n_iter: int, repeats: int) -> None:
    name, X, _ = read_pima()
    LatentMixture(2, "era", max_iter=2, random_state=0).fit(X)  # compile, or load what was
    ours, peer = [], []
    for turn in range(repeats):
        begin = time.process_time()
        plain_era(X, k, LOOP_ITERATIONS, np.random.default_rng(turn))
        middle = time.process_time()
        LatentMixture(k, "era", n_init=n_starts, max_iter=n_iter, random_state=turn).fit(X)
        ours.append(time.process_time() - middle)
        peer.append((middle - begin) / LOOP_ITERATIONS * n_starts * n_iter)
    run.add_ratio(
        f"{name}, {k} components", f"ERA, {n_starts} x {n_iter} / numpy loop",
        float(np.median(ours)), float(np.median(peer)), limit=0.05, clock="CPU",
    )  # fmt: skip


class OneAtATime(ClassifierSearch):
    """The classifier's search without the loop that takes many iterations in one call."""

    def races(self, rule: Rule) -> bool:
        del rule
        return False


def compare_classifier(run: Run, k: int, search: str) -> None:
    name, X, y = read_pima()
    nothing, none = np.zeros((len(X), 0), dtype=np.int32), np.array([], dtype=np.intp)
    data = MixtureRows.measure(X, nothing, np.ones(len(X)), none, alpha=0.0, strength=0.0)
    mixture = data.problem(k, [slice(0, len(X))])
    problems = {
        "ours": ClassifierSearch(data, y, 2, mixture),
        "peer": OneAtATime(data, y, 2, mixture),
    }
    n_starts = 10

    def fit(problem: ClassifierSearch, n_iter: int) -> None:
        rngs = [np.random.default_rng(seed) for seed in range(n_starts)]
        # no change is at most -1, so EM takes all iterations
        run_search(
            problem, problem.starts(rngs), Rule(search), tol=-1.0, max_iter=n_iter, rngs=rngs
        )

    fits = {key: partial(fit, problem) for key, problem in problems.items()}
    found = iteration_times(fits, repeats=4, few=10, many=110)
    seconds = {key: value / n_starts for key, value in found.items()}
    what = f"{name}, classifier, {k} comp., {search}"
    run.add(what, "start and iteration", 1e3 * seconds["ours"], unit="ms", limit=0.05, clock="CPU")
    run.add_ratio(
        what, "start and iteration / in numpy", seconds["ours"], seconds["peer"], clock="CPU"
    )


def make_latent_classes(n_rows: int, k: int, kind: str) -> tuple[pd.DataFrame, dict]:
    """Rows of k classes, and StepMix's description of the columns."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, k, n_rows)
    words = {}
    for j in range(8):
        table = rng.dirichlet(np.full(4, 0.7), size=k)
        edges = np.cumsum(table, axis=1)[group, :-1]
        words[f"item{j}"] = (rng.random(n_rows)[:, None] >= edges).sum(axis=1)
    frame = pd.DataFrame(words)
    described = {"items": {"model": "categorical", "n_columns": 8}}
    if kind == "mixed":
        centres = rng.normal(0, 1.2, (k, 4))
        for j in range(4):
            frame[f"number{j}"] = rng.normal(centres[group, j], 1.0)
        described["numbers"] = {"model": "gaussian_diag", "n_columns": 4}
    return frame, described


def compare_with_stepmix(run: Run, n_rows: int, k: int, kind: str) -> None:
    from stepmix.stepmix import StepMix

    frame, described = make_latent_classes(n_rows, k, kind)
    ours = LatentMixture(
        k, n_init=10, alpha=0.0, prior=None, tol=1e-7, max_iter=2000, random_state=0,
        categorical_features=[name for name in frame if name.startswith("item")],
    )  # fmt: skip
    peer = StepMix(
        n_components=k, measurement=described, n_init=10, abs_tol=1e-7, rel_tol=0.0,
        max_iter=2000, random_state=0, progress_bar=0, verbose=0,
    )  # fmt: skip
    X = frame.to_numpy(dtype=float)
    seconds = best_times({"ours": lambda: ours.fit(frame), "peer": lambda: peer.fit(X)}, 1)
    what = f"{kind}, {n_rows:,} rows, {k} components"
    run.add_ratio(what, "fit, 10 starts / StepMix", seconds["ours"], seconds["peer"], limit=0.2)
    gap = ours.log_likelihood_ / n_rows - peer.score(X)
    run.add(what, "log-likelihood per row, difference", float(gap))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--peers", help="folder that has stepmix")
    options = parser.parse_args()
    with Run(__file__, keep=options.full) as run:
        for n_rows in (10_000, 50_000, 100_000, 200_000) if options.full else (10_000,):
            compare_iteration(run, n_rows)
        for k in (2, 5, 8) if options.full else (2,):
            compare_era(run, k, *((50, 1000, 3) if options.full else (5, 200, 3)))
        for k in (2, 5, 8) if options.full else (2,):
            for search in ("em", "era"):
                compare_classifier(run, k, search)
        if options.peers:
            sys.path.append(options.peers)
            run.name_packages("stepmix")
            for kind in ("nominal", "mixed"):
                for n_rows, k in ((2000, 3), (5000, 5)):
                    compare_with_stepmix(run, n_rows, k, kind)


if __name__ == "__main__":
    main()
