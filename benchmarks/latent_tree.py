"""LatentTreeClassifier: cached messages against full propagation, whole fits, predict_proba.

1. EAST with the messages of the unchanged part computed once, against the same search (every move
   judged at every step) in which each EM step of a candidate is a pass over its whole tree, with
   the same engine. A bounded number of steps in one class. Limit: ten times faster, the same score
   within 0.1 %. Beside it our default, which also remembers what moves gained.
2. One training fold of ten, all classes: seconds, moves judged per second, peak memory.
3. predict_proba against CategoricalNB on the same codes. Limit: 4.

All in CPU time.

Short form: two steps on letter, a fit of vowel. `--full`: four steps on kr-vs-kp and letter, fits
of five data sets. `--budget` is the time budget in seconds of each class in the whole fits.
"""

import resource
import time
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB

from _codes import load_codes
from _record import Run, best_times, make_parser
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
            make(base.tree, [Judged(move, 0.0, theta, trial.hung)], tidy=False)
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


def compare_with_full_passes(run: Run, name: str, steps: int) -> None:
    shown, codes, y = load_codes(name)
    codes = codes.astype(np.int32)
    n_levels = (codes.max(axis=0) + 1).tolist()
    mine = codes[y == 0]
    bounded(mine, n_levels, 2, True)  # compiles
    cached, seconds = bounded(mine, n_levels, steps, False)
    default, default_seconds = bounded(mine, n_levels, steps, True)
    with patch.object(_east, "judge", judge_by_full_passes):
        bounded(mine[:50], n_levels, 1, False)
        full, full_seconds = bounded(mine, n_levels, steps, False)
    what = f"{shown}, {steps} steps"
    run.add_ratio(
        what, "EAST, cached messages / full passes", seconds, full_seconds, limit=0.1, clock="CPU"
    )  # fmt: skip
    run.add_ratio(
        what, "EAST, default / cached messages", default_seconds, seconds, clock="CPU"
    )  # fmt: skip
    run.add(what, "moves judged", sum(step.n_judged for step in cached.steps))
    final = {"full passes": full, "cached messages": cached, "default": default}
    for way, found in final.items():
        run.add(what, f"score, {way}", f"{found.steps[-1].score:.2f}")


def fit_fold(run: Run, name: str, search_name: str, budget: float | None) -> None:
    what, codes, y = load_codes(name)
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
    title = "EAST" if search_name == "east" else "fast search"
    stopped = sum(how != "done" for how in model.search_ended_.values())
    ended = f", {stopped} of {len(model.classes_)} stopped" if stopped else ""
    run.add(what, f"{title}, one fold{ended}", seconds, unit="s", clock="CPU")
    judged = sum(step.n_judged for steps in model.search_steps_.values() for step in steps)
    run.add(what, f"{title}, moves judged per second", judged / seconds, clock="CPU")
    accuracy = 100 * float(np.mean(model.predict(X[test]) == y[test]))
    run.add(what, f"{title}, accuracy of one fold", accuracy, unit="%")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    run.add(what, "peak memory of the process", peak, unit="MB")


def compare_prediction(run: Run, name: str, repeats: int) -> None:
    what, codes, y = load_codes(name)
    X = codes.astype(float)
    columns = list(range(X.shape[1]))
    ours = LatentTreeClassifier(search="fast", categorical_features=columns, random_state=0)
    ours.fit(X, y)
    peer = CategoricalNB().fit(X, y)
    tasks = {"ours": lambda: ours.predict_proba(X), "peer": lambda: peer.predict_proba(X)}
    times = best_times(tasks, repeats, clock="CPU")
    run.add_ratio(
        what, "predict_proba / CategoricalNB", times["ours"], times["peer"], limit=4.0, clock="CPU"
    )  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--budget", type=float)
    options = parser.parse_args()
    full = options.full
    with Run(__file__, keep=full) as run:
        for name in ("kr-vs-kp", "letter") if full else ("letter",):
            compare_with_full_passes(run, name, 4 if full else 2)
        fits = ("vowel", "segment", "kr-vs-kp", "letter", "satimage") if full else ("vowel",)
        for name in fits:
            for search_name in ("east", "fast"):
                fit_fold(run, name, search_name, options.budget)
        for name in ("kr-vs-kp", "letter") if full else ("vowel",):
            compare_prediction(run, name, 7)


if __name__ == "__main__":
    main()
