"""LatentTreeClassifier: cached messages against full propagation, whole fits, predict_proba.

1. EAST with the messages of the unchanged part computed once, against the same search (every move
   judged at every step) in which each EM step of a candidate is a pass over its whole tree, with
   the same engine. A bounded number of steps in one class. Limit: ten times faster, the same score
   within 0.1 %. Beside it our default, which also remembers what moves gained.
2. One training fold of ten, all classes: seconds, moves judged in a second, peak memory.
3. predict_proba against CategoricalNB on the same codes. Limit: 4.

All in seconds of the processor, which other programs on the machine disturb least; one thread.

    LATENTCLASS_DATA=folder python benchmarks/latent_tree.py [--steps 4] [--fits vowel segment]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import time
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from _timing import print_table
from discrete_baselines import coded
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB

from latentclass import LatentTreeClassifier
from latentclass.engine._em import run_restarts
from latentclass.latent_tree import _east
from latentclass.latent_tree._east import EastSettings, FoundTree, Step, search
from latentclass.latent_tree._east_messages import Base
from latentclass.latent_tree._east_moves import Judged, LocalEM, Move, make, prepare
from latentclass.latent_tree._em import TreeParams, TreeProblem
from latentclass.latent_tree._inference import group_rows, plan_rows, row_log_likelihood


def judge_by_full_passes(base: Base, moves: list[Move], how: LocalEM) -> list[Judged]:
    """Local EM as `_east_moves.judge` does it, but every step is a pass over the whole tree."""
    rows = group_rows(base.data.codes, base.data.weight)
    before = float(base.data.weight @ row_log_likelihood(base.tree, base.data.codes))
    found = []
    for move, trial in zip(moves, prepare(base, moves, how), strict=True):
        trees = [
            make(base.tree, Judged(move, 0.0, theta, trial.hung), tidy=False)
            for theta in trial.starts
        ]
        tree, numbers = trees[0]
        changed = [*trial.hung]
        if move.kind == "node+":
            changed = [len(base.tree.parents), *changed]
        elif move.kind.startswith("state"):
            changed = [move.node, *changed]
        nodes = [numbers[v] for v in changed]
        free = np.zeros(len(tree.parents), dtype=bool)
        free[nodes] = True
        problem = TreeProblem(plan_rows(tree, rows), free, rows.total_weight)
        result = run_restarts(
            problem,
            TreeParams(np.stack([t.theta for t, _ in trees])),
            tol=how.tol / rows.total_weight,
            max_iter=how.max_iter + 1,
            rngs=[np.random.default_rng(0)] * len(trees),
        )
        best = tree.with_theta(result.params.theta[0])
        cells = np.concatenate([best.tables[v].ravel() for v in nodes])
        gain = result.history[-1] * rows.total_weight - before
        found.append(Judged(move, gain, cells, trial.hung))
    return found


def bounded(
    codes: np.ndarray, n_levels: list[int], steps: int, lazy: bool
) -> tuple[FoundTree, float]:
    """A search that ends after some steps, and its seconds."""
    kept: list[Step] = []

    def stop(step: Step) -> None:
        kept.append(step)
        if len(kept) > steps:
            raise KeyboardInterrupt

    start = time.process_time()
    found = search(codes, np.ones(len(codes)), n_levels, EastSettings(lazy=lazy), on_step=stop)
    return found, time.process_time() - start


def against_full(name: str, steps: int) -> dict[str, object]:
    codes, y = coded(name)
    codes = codes.astype(np.int32)
    n_levels = (codes.max(axis=0) + 1).tolist()
    mine = codes[y == 0]
    bounded(mine, n_levels, 2, True)  # compiles
    cached, seconds = bounded(mine, n_levels, steps, False)
    lazy, lazy_seconds = bounded(mine, n_levels, steps, True)
    with patch.object(_east, "judge", judge_by_full_passes):
        bounded(mine[:50], n_levels, 1, False)
        full, full_seconds = bounded(mine, n_levels, steps, False)
    judged = sum(step.n_judged for step in cached.steps)
    return {
        "data": name,
        "rows": len(mine),
        "columns": len(n_levels),
        "steps": steps,
        "moves judged": judged,
        "full s": full_seconds,
        "cached s": seconds,
        "full / cached": full_seconds / seconds,
        "with memory s": lazy_seconds,
        "score, full": f"{full.steps[-1].score:.2f}",
        "score, cached": f"{cached.steps[-1].score:.2f}",
        "score, with memory": f"{lazy.steps[-1].score:.2f}",
    }


def one_fold(name: str, search_name: str, budget: float | None) -> dict[str, object]:
    codes, y = coded(name)
    X = codes.astype(float)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    train, test = next(iter(folds.split(X, y)))
    model = LatentTreeClassifier(
        search=search_name,
        time_budget=budget,
        categorical_features=list(range(X.shape[1])),
        random_state=0,
    )
    start = time.process_time()
    model.fit(X[train], y[train])
    seconds = time.process_time() - start
    judged = sum(step.n_judged for steps in model.search_steps_.values() for step in steps)
    return {
        "data": name,
        "search": search_name,
        "seconds a fold": seconds,
        "moves judged": judged,
        "moves a second": judged / seconds,
        "stopped classes": sum(how != "done" for how in model.search_ended_.values()),
        "accuracy": float(np.mean(model.predict(X[test]) == y[test])),
        "peak MB of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def prediction(name: str, repeats: int) -> dict[str, object]:
    codes, y = coded(name)
    X = codes.astype(float)
    columns = list(range(X.shape[1]))
    ours = LatentTreeClassifier(search="fast", categorical_features=columns, random_state=0)
    ours.fit(X, y)
    naive = CategoricalNB().fit(X, y)
    tasks: dict[str, Callable[[], object]] = {
        "ours": lambda: ours.predict_proba(X),
        "naive": lambda: naive.predict_proba(X),
    }
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for key, task in tasks.items():
            start = time.process_time()
            task()
            best[key] = min(best[key], time.process_time() - start)
    return {
        "data": name,
        "rows": len(X),
        "classes": len(ours.classes_),
        "CategoricalNB ms": 1e3 * best["naive"],
        "ours ms": 1e3 * best["ours"],
        "ours / CategoricalNB": best["ours"] / best["naive"],
        "limit": 4.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--budget", type=float, help="seconds for each class in the whole fits")
    parser.add_argument("--fits", nargs="*", default=["vowel", "segment"])
    options = parser.parse_args()
    print_table(
        "EAST, cached messages against full passes, one class",
        [against_full(name, options.steps) for name in ("kr-vs-kp", "letter")],
    )
    if options.fits:
        print_table(
            "One training fold of ten",
            [
                one_fold(name, search_name, options.budget)
                for name in options.fits
                for search_name in ("east", "fast")
            ],
        )
    print_table(
        "predict_proba", [prediction(name, options.repeats) for name in ("kr-vs-kp", "letter")]
    )


if __name__ == "__main__":
    main()
