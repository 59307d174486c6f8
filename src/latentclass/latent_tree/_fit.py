"""How a latent tree classifier is learned: a search in each class, then EM on all rows.

The search follows section 3 of Wang, Zhang, Chen and Poon (2011): the labelled rows are split by
class, and a tree is learned from each part independently.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._cut_sets import CutSet
from latentclass.engine._content_folds import column_fingerprints
from latentclass.engine._em import EMResult, run_restarts
from latentclass.engine._parallel import count_threads, run_interruptible
from latentclass.latent_tree._arrange import arranged, with_columns, with_leaves
from latentclass.latent_tree._chow_liu_search import search_fast
from latentclass.latent_tree._class_trees_em import ClassTreesProblem
from latentclass.latent_tree._east import EastSettings, FoundTree, first_tree, search
from latentclass.latent_tree._inference import group_rows
from latentclass.latent_tree._settings import TreeSettings
from latentclass.latent_tree._tree import Tree

SEARCHES = {"east": search, "fast": search_fast}

GRACE = 0.3
"""Seconds that EM may still take to learn the tables of trees whose search was interrupted."""


@dataclass(frozen=True, eq=False)
class ClassTrees:
    """What was learned: for each set of cut points one tree per class and class probabilities.

    `result` is the record of EM for the first set, `found` has the result of the search in each
    class.
    """

    trees: list[tuple[Tree, ...]]
    priors: list[FloatArray]
    result: EMResult[Any]
    found: list[FoundTree]


def learn_class_shares(
    rows: CodedRows,
    settings: TreeSettings,
    on_iteration: Callable[[int, float], bool] | None,
) -> ClassTrees:
    """Learn only the class probabilities, for tables in which no column varies."""
    rows = rows._replace(codes=_zeros(rows.codes), unlabelled=_zeros(rows.unlabelled))
    nothing = [Tree.even((-1,), (1,), (0,))] * rows.n_classes
    _, prior, result = _learn_tables(nothing, rows, _own_rows(rows), settings, on_iteration)
    return ClassTrees([], [prior], result, [])


def learn_class_trees(
    rows: CodedRows,
    cut_sets: Sequence[CutSet],
    settings: TreeSettings,
    *,
    before: Sequence[Tree],
    on_step: Callable[[int, Any], None] | None,
    on_iteration: Callable[[int, float], bool] | None,
) -> ClassTrees:
    """Search a tree for each class on the first set of cut points, then learn tables for all sets.

    `before` has the tree of each class from which the search goes on; it is empty for a fresh
    search. `on_step` is called with the class and each step of its search, `on_iteration` with each
    step of EM for the first set. After an interrupt only the first set is learned, and quickly.
    """
    own = _own_rows(rows)
    first = _seen(rows, cut_sets, 0)
    found = _search_trees(first, own, cut_sets[0].n_levels, settings, before, on_step)
    if any(one.ended == "interrupt" for one in found):
        cut_sets, on_iteration = cut_sets[:1], _in_time(on_iteration)
    learned, prior, result = _learn_tables(
        [one.tree for one in found], first, own, settings, on_iteration
    )
    trees, priors = [tuple(arranged(tree) for tree in learned)], [prior]
    for number, cuts in enumerate(cut_sets[1:], start=1):
        other = _seen(rows, cut_sets, number)
        start = [
            with_leaves(tree, first.codes[k], other.codes[k], rows.weight[k], cuts.n_levels)
            for tree, k in zip(trees[0], own, strict=True)
        ]
        more, prior, _ = _learn_tables(start, other, own, settings, None)
        trees.append(tuple(more))
        priors.append(prior)
    return ClassTrees(trees, priors, result, found)


def _in_time(
    on_iteration: Callable[[int, float], bool] | None,
) -> Callable[[int, float], bool]:
    """Stop EM after a moment, or if `on_iteration` does."""
    end = time.monotonic() + GRACE

    def step(n_iter: int, objective: float) -> bool:
        stopped = on_iteration is not None and on_iteration(n_iter, objective)
        return stopped or time.monotonic() > end

    return step


def _zeros(codes: CodeArray) -> CodeArray:
    """Codes of a single column with a single level, for as many rows."""
    return np.zeros((len(codes), 1), dtype=np.int32)


def _own_rows(rows: CodedRows) -> list[BoolArray]:
    """For each class, which labelled rows belong to it."""
    return [rows.y == k for k in range(rows.n_classes)]


def _seen(rows: CodedRows, cut_sets: Sequence[CutSet], number: int) -> CodedRows:
    """The rows in the levels of one set of cut points."""
    if len(cut_sets) == 1:
        return rows
    cuts = cut_sets[number]
    return rows._replace(codes=cuts.coarse(rows.codes), unlabelled=cuts.coarse(rows.unlabelled))


def _learn_tables(
    trees: Sequence[Tree],
    rows: CodedRows,
    own: list[BoolArray],
    settings: TreeSettings,
    on_iteration: Callable[[int, float], bool] | None,
) -> tuple[list[Tree], FloatArray, EMResult[Any]]:
    """Learn the tables of all trees and the class probabilities by EM on all rows."""
    problem = ClassTreesProblem(
        tuple(trees),
        tuple(group_rows(rows.codes[k], rows.weight[k]) if k.any() else None for k in own),
        group_rows(rows.unlabelled, rows.unlabelled_weight) if len(rows.unlabelled) else None,
        0.0 if settings.alpha_once else settings.alpha,
        settings.n_jobs,
    )
    result = run_restarts(
        problem,
        problem.start(),
        tol=settings.tol,
        max_iter=settings.max_iter,
        rngs=[np.random.default_rng(0)],
        on_iteration=on_iteration,
    )
    theta = result.params.theta[0]
    if settings.alpha_once:
        stats, _ = problem.e_step(result.params)
        theta = replace(problem, alpha=settings.alpha).m_step(stats).theta[0]
    fitted = list(problem.fitted(theta))
    return fitted, np.exp(result.params.log_pi[0]), result


def _search_trees(
    rows: CodedRows,
    own: list[BoolArray],
    n_levels: tuple[int, ...],
    settings: TreeSettings,
    before: Sequence[Tree],
    on_step: Callable[[int, Any], None] | None,
) -> list[FoundTree]:
    """Search the tree of each class, with the classes in parallel threads."""
    n_threads = min(count_threads(settings.n_jobs), len(own))
    stop = threading.Event()

    def visit(k: int) -> FoundTree:
        return _search_class(
            rows.codes[own[k]],
            rows.weight[own[k]],
            n_levels,
            settings,
            start=before[k] if before else None,
            on_step=None if on_step is None else partial(on_step, k),
            n_jobs=count_threads(settings.n_jobs) // n_threads,
            stop=stop,
        )

    return run_interruptible([partial(visit, k) for k in range(len(own))], n_threads, stop)


def _search_class(
    codes: CodeArray,
    weight: FloatArray,
    n_levels: tuple[int, ...],
    settings: TreeSettings,
    *,
    start: Tree | None,
    on_step: Callable[[Any], None] | None,
    n_jobs: int,
    stop: threading.Event,
) -> FoundTree:
    """Search the tree of one class."""
    if not len(codes):
        return FoundTree(first_tree(n_levels), -np.inf, [], "done")
    marks = column_fingerprints(codes, np.zeros(len(codes), dtype=np.intp), weight, n_levels, 1)
    # sort the columns by their content, so that the result does not depend on their order
    order = sorted(range(len(marks)), key=lambda j: marks[j])
    budget = settings.time_budget
    found = SEARCHES[settings.search](
        np.ascontiguousarray(codes[:, order]),
        weight,
        [n_levels[j] for j in order],
        EastSettings(
            penalty=1.0 if settings.criterion == "aic" else 0.5 * float(np.log(weight.sum())),
            n_init=settings.n_init,
            n_full_init=settings.n_full_init,
            max_states=settings.max_states,
            max_latent=settings.max_latent,
            max_iter=settings.max_iter,
            seed=settings.seed,
            n_jobs=n_jobs,
            deadline=None if budget is None else time.monotonic() + budget,
            stop=stop,
            lazy=settings.lazy,
        ),
        start=None if start is None else with_columns(start, np.argsort(order).tolist()),
        on_step=on_step,
    )
    return found._replace(tree=with_columns(found.tree, order))
