"""LatentMixture: EM beside scikit-learn, ERA beside a plain loop, both beside StepMix.

    python benchmarks/mixture.py [--peers folder]

- EM: seconds per iteration on 100,000 rows of 10 columns with 8 components, by fits of 1 and of 21
  iterations, with one thread, beside `GaussianMixture(covariance_type="diag")`.
- ERA: 50 starts of 1000 iterations on pima (or on as many random numbers, without
  LATENTCLASS_DATA), beside numpy, restart by restart; the loop is timed on fewer iterations.
  Processor time, medians.
- StepMix (`--peers` is a folder with it, `pip install --target`): latent class models of nominal
  and of mixed columns, 10 starts each, both until the log-likelihood per row gains 1e-7 at most.
  What was found is the log-likelihood per row.

The limits: 0.5, a twentieth, a fifth. Run by `make bench`.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time
import warnings

import numpy as np
import pandas as pd
from _timing import best_times, print_table
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from latentclass import LatentMixture
from latentclass.datasets import load_dataset


def em_iterations(n_rows: int, repeats: int) -> dict:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10)) + rng.integers(0, 4, (n_rows, 1))

    def ours(n_iter: int):
        return LatentMixture(
            8, n_init=1, max_iter=n_iter, tol=0.0, accelerate=False, random_state=0
        ).fit(X)

    def theirs(n_iter: int):
        return GaussianMixture(
            8, covariance_type="diag", max_iter=n_iter, tol=0.0, random_state=0,
            init_params="random_from_data",
        ).fit(X)  # fmt: skip

    tasks = {(fit, n): (lambda fit=fit, n=n: fit(n)) for fit in (ours, theirs) for n in (1, 21)}
    times = best_times(tasks, repeats)
    one = {fit: (times[fit, 21] - times[fit, 1]) / 20 for fit in (ours, theirs)}
    return {
        "what": f"EM iteration, {n_rows} x 10, 8 components",
        "peer": "GaussianMixture",
        "peer s": one[theirs],
        "ours s": one[ours],
        "ratio": one[ours] / one[theirs],
    }


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


def era_restarts(k: int, n_starts: int, n_iter: int, repeats: int) -> dict:
    if "LATENTCLASS_DATA" in os.environ:
        X = np.asarray(load_dataset("diabetes", container="numpy").X, dtype=float)
    else:
        X = np.random.default_rng(0).normal(size=(768, 8))
    LatentMixture(2, "era", max_iter=2, random_state=0).fit(X)  # compile, or load what was
    ours, loop = [], []
    for turn in range(repeats):
        begin = time.process_time()
        plain_era(X, k, 150, np.random.default_rng(turn))
        middle = time.process_time()
        LatentMixture(k, "era", n_init=n_starts, max_iter=n_iter, random_state=turn).fit(X)
        ours.append(time.process_time() - middle)
        loop.append((middle - begin) / 150 * n_starts * n_iter)
    return {
        "what": f"ERA, {n_starts} starts x {n_iter}, 768 x 8, {k} components",
        "peer": "numpy loop",
        "peer s": float(np.median(loop)),
        "ours s": float(np.median(ours)),
        "ratio": float(np.median(ours) / np.median(loop)),
    }


def make_latent_classes(n_rows: int, k: int, kind: str) -> tuple[pd.DataFrame, dict, str]:
    """Rows of k classes; StepMix's description of the columns, and the columns' kind."""
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
    return frame, described, kind


def against_stepmix(n_rows: int, k: int, kind: str) -> dict:
    from stepmix.stepmix import StepMix

    frame, described, _ = make_latent_classes(n_rows, k, kind)
    ours = LatentMixture(
        k, n_init=10, alpha=0.0, prior=None, tol=1e-7, max_iter=2000, random_state=0,
        categorical_features=[name for name in frame if name.startswith("item")],
    )  # fmt: skip
    theirs = StepMix(
        n_components=k, measurement=described, n_init=10, abs_tol=1e-7, rel_tol=0.0,
        max_iter=2000, random_state=0, progress_bar=0, verbose=0,
    )  # fmt: skip
    X = frame.to_numpy(dtype=float)
    times = best_times({"ours": lambda: ours.fit(frame), "theirs": lambda: theirs.fit(X)}, 1)
    return {
        "what": f"{kind} latent classes, {n_rows} rows, {k} components",
        "peer": "StepMix",
        "peer s": times["theirs"],
        "ours s": times["ours"],
        "ratio": times["ours"] / times["theirs"],
        "log-likelihood per row, ours less the peer's": float(
            ours.log_likelihood_ / n_rows - theirs.score(X)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", help="folder that has stepmix")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [em_iterations(options.rows, options.repeats)]
    rows += [era_restarts(k, 50, 1000, options.repeats) for k in (2, 5, 8)]
    print_table("Mixtures, one thread", rows)
    if options.peers:
        sys.path.append(options.peers)
        rows = [
            against_stepmix(n_rows, k, kind)
            for kind in ("nominal", "mixed")
            for n_rows, k in ((2000, 3), (5000, 5))
        ]
        print_table("Latent class models, 10 starts, one thread", rows)


if __name__ == "__main__":
    main()
