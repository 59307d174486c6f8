"""How a latent tree classifier is learned: a search in each class, then EM on all rows.

Trees and tables are learned apart. The search may use a sample of the rows (`sample_rows`). Then
`_refit` learns the tables of the trees that it found.

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
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._content_folds import (
    column_fingerprints,
    distinct_rows,
    sample_units,
)
from latentclass.engine._em import EMResult, Problem, run_restarts
from latentclass.engine._parallel import count_threads, run_interruptible
from latentclass.engine._parted_problem import PartedProblem
from latentclass.latent_tree._arrange import arranged, leaf_counts, with_columns, with_leaves
from latentclass.latent_tree._chow_liu_search import search_fast
from latentclass.latent_tree._class_trees_em import (
    ClassTreesParams,
    ClassTreesProblem,
    ClassTreesStats,
)
from latentclass.latent_tree._east import EastSettings, FoundTree, first_tree, search
from latentclass.latent_tree._east_messages import floored
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
    parts: TrainingRows | None = None,
) -> ClassTrees:
    """Learn only the class probabilities, for tables in which no column varies."""
    nothing = [Tree.even((-1,), (1,), (0,))] * rows.n_classes
    _, prior, result = _learn_tables(nothing, rows, _nothing_seen, settings, on_iteration, parts)
    return ClassTrees([], [prior], result, [])


def learn_class_trees(
    rows: CodedRows,
    cut_sets: Sequence[CutSet],
    settings: TreeSettings,
    *,
    before: Sequence[Tree],
    on_step: Callable[[int, Any], None] | None,
    on_iteration: Callable[[int, float], bool] | None,
    parts: TrainingRows | None = None,
) -> ClassTrees:
    """Search a tree for each class on the first set of cut points, then learn tables for all sets.

    If `parts` are given, they have all rows and `rows` is a sample of them.

    `before` has the tree of each class from which the search goes on; it is empty for a fresh
    search. `on_step` is called with the class and each step of its search, `on_iteration` with each
    step of EM for the first set. After an interrupt only the first set is learned, and quickly.
    """
    part = sample_rows(rows, settings.search_rows, settings.seed)
    seen, own = _seen(cut_sets[0], part), _own_rows(part)
    found = _search_trees(seen, own, cut_sets[0].n_levels, settings, before, on_step)
    start = [one.tree for one in found]
    if any(one.ended == "interrupt" for one in found):
        cut_sets, on_iteration, part, parts = cut_sets[:1], _in_time(on_iteration), rows, None
        start = [floored(tree) for tree in start]
    learned, prior, result = _refit(start, rows, part, cut_sets[0], settings, on_iteration, parts)
    trees, priors = [tuple(arranged(tree) for tree in learned)], [prior]
    counts = [
        leaf_counts(tree, seen.codes[k], part.codes[k], part.weight[k], part.n_levels)
        for tree, k in zip(trees[0], own, strict=True)
        if len(cut_sets) > 1
    ]
    for cuts in cut_sets[1:]:
        start = [
            with_leaves(tree, levels, cuts.level)
            for tree, levels in zip(trees[0], counts, strict=True)
        ]
        learned, prior, _ = _refit(start, rows, part, cuts, settings, None, parts)
        trees.append(tuple(learned))
        priors.append(prior)
    return ClassTrees(trees, priors, result, found)


def learn_known_trees(
    rows: CodedRows,
    cut_sets: Sequence[CutSet],
    trees: Sequence[Sequence[Tree]],
    settings: TreeSettings,
) -> ClassTrees:
    """Learn the tables of trees that are known, one for each set of cut points and class."""
    fits = [
        _learn_tables(
            [floored(tree) for tree in own], rows, partial(_seen, cuts), settings, None, None
        )
        for own, cuts in zip(trees, cut_sets, strict=True)
    ]
    learned = [tuple(own) for own, _, _ in fits]
    return ClassTrees(learned, [prior for _, prior, _ in fits], fits[0][2], [])


def sample_rows(rows: CodedRows, n_rows: int | None, seed: int) -> CodedRows:
    """The rows that trees are searched with: of each class at most `n_rows` if more are distinct.

    The random sample depends on the contents of the rows and not on their order, and a row of
    weight 2 is two rows. If it has all labelled rows, `rows` itself is returned; otherwise it has
    no unlabelled ones.
    """
    drawn = []
    for k in range(rows.n_classes):
        own = rows.y == k
        codes, weight = rows.codes[own], rows.weight[own]
        if n_rows is not None and len(codes) > n_rows:
            codes, weight = _sample_class(codes, weight, rows.n_levels, n_rows, seed)
        drawn.append((codes, np.full(len(codes), k), weight))
    codes, y, weight = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
    if len(codes) == len(rows.codes):
        return rows
    return rows._replace(
        codes=codes,
        y=y,
        weight=weight,
        unlabelled=rows.unlabelled[:0],
        unlabelled_weight=rows.unlabelled_weight[:0],
    )


def _sample_class(
    codes: CodeArray, weight: FloatArray, n_levels: tuple[int, ...], n_rows: int, seed: int
) -> tuple[CodeArray, FloatArray]:
    """A sample of the rows of one class."""
    y = np.zeros(len(codes), dtype=np.intp)
    marks = column_fingerprints(codes, y, weight, n_levels, 1)
    order = _by_content(marks)
    distinct = distinct_rows(codes[:, order], y, weight, [marks[j] for j in order], seed)
    if len(distinct.weight) <= n_rows:
        return codes, weight
    drawn = sample_units(distinct, n_rows)
    return distinct.codes[drawn > 0][:, np.argsort(order)], drawn[drawn > 0]


def _by_content(marks: list[int]) -> list[int]:
    """Columns sorted by their fingerprints, so that no result depends on their order."""
    return sorted(range(len(marks)), key=lambda j: marks[j])


def _refit(
    trees: Sequence[Tree],
    rows: CodedRows,
    part: CodedRows,
    cuts: CutSet,
    settings: TreeSettings,
    on_iteration: Callable[[int, float], bool] | None,
    parts: TrainingRows | None,
) -> tuple[list[Tree], FloatArray, EMResult[Any]]:
    """Learn the tables for one set of cut points, first from a part of the rows, then from all.

    A pass over the part costs little, and what it learns is close to what all rows say.
    """
    see = partial(_seen, cuts)
    if part is not rows:
        learned, _, _ = _learn_tables(trees, part, see, settings, None, None)
        # a level that the part lacks must stay possible in the other rows
        trees = [floored(tree) for tree in learned]
    if parts is not None:
        learned, _, _ = _learn_tables(trees, rows, see, settings, None, None)
        trees = [floored(tree) for tree in learned]
    return _learn_tables(trees, rows, see, settings, on_iteration, parts)


def _in_time(
    on_iteration: Callable[[int, float], bool] | None,
) -> Callable[[int, float], bool]:
    """Stop EM after a moment, or if `on_iteration` does."""
    end = time.monotonic() + GRACE

    def step(n_iter: int, objective: float) -> bool:
        stopped = on_iteration is not None and on_iteration(n_iter, objective)
        return stopped or time.monotonic() > end

    return step


def _nothing_seen(rows: CodedRows) -> CodedRows:
    """The rows with a single column that has a single level."""
    codes, unlabelled = (
        np.zeros((len(part), 1), dtype=np.int32) for part in (rows.codes, rows.unlabelled)
    )
    return rows._replace(codes=codes, unlabelled=unlabelled)


def _own_rows(rows: CodedRows) -> list[BoolArray]:
    """For each class, which labelled rows belong to it."""
    return [rows.y == k for k in range(rows.n_classes)]


def _seen(cuts: CutSet, rows: CodedRows) -> CodedRows:
    """The rows in the levels of one set of cut points."""
    return rows._replace(codes=cuts.coarse(rows.codes), unlabelled=cuts.coarse(rows.unlabelled))


def _learn_tables(
    trees: Sequence[Tree],
    rows: CodedRows,
    see: Callable[[CodedRows], CodedRows],
    settings: TreeSettings,
    on_iteration: Callable[[int, float], bool] | None,
    parts: TrainingRows | None,
) -> tuple[list[Tree], FloatArray, EMResult[Any]]:
    """Learn the tables of all trees and the class probabilities by EM, from the rows or the parts.

    `see` gives rows in the levels of the trees. With `parts` the rows say only where EM begins.
    """
    alpha = 0.0 if settings.alpha_once else settings.alpha
    near = _problem(tuple(trees), alpha, settings.n_jobs, see(rows))
    problem: Problem[ClassTreesParams, ClassTreesStats] = near
    if parts is not None:
        visit = partial(_expect_part, tuple(trees), see)
        known = replace(near, labelled=(None,) * len(trees), unlabelled=None)
        total = float(parts.class_weight.sum()) + parts.hidden_weight
        problem = PartedProblem(known, lambda params: parts.map(partial(visit, params)), total)
    result = run_restarts(
        problem,
        near.start(),
        tol=settings.tol,
        max_iter=settings.max_iter,
        rngs=[np.random.default_rng(0)],
        accelerate=settings.accelerate,
        on_iteration=on_iteration,
    )
    theta = result.params.theta[0]
    if settings.alpha_once:
        stats, _ = problem.e_step(result.params)
        theta = replace(near, alpha=settings.alpha).m_step(stats).theta[0]
    fitted = list(near.fitted(theta))
    return fitted, np.exp(result.params.log_pi[0]), result


def _problem(
    trees: tuple[Tree, ...], alpha: float, n_jobs: int | None, rows: CodedRows
) -> ClassTreesProblem:
    own = _own_rows(rows)
    return ClassTreesProblem(
        trees,
        tuple(group_rows(rows.codes[k], rows.weight[k]) if k.any() else None for k in own),
        group_rows(rows.unlabelled, rows.unlabelled_weight) if len(rows.unlabelled) else None,
        alpha,
        n_jobs,
    )


def _expect_part(
    trees: tuple[Tree, ...],
    see: Callable[[CodedRows], CodedRows],
    params: ClassTreesParams,
    rows: CodedRows,
) -> tuple[ClassTreesStats, FloatArray]:
    """Expected counts and log-likelihood of a part."""
    return _problem(trees, 0.0, None, see(rows)).expect(params)


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
    order = _by_content(marks)
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
            work=None if settings.work_budget is None else 1e9 * settings.work_budget,
            stop=stop,
            lazy=settings.lazy,
        ),
        start=None if start is None else with_columns(start, np.argsort(order).tolist()),
        on_step=on_step,
    )
    return found._replace(tree=with_columns(found.tree, order))
