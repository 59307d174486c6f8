"""Learn one hierarchical naive Bayes model from coded rows: the search, then the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._em import CountLayout
from latentclass.engine._content_folds import (
    DistinctRows,
    FoldWeights,
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
)
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._average import log_mean
from latentclass.estimator._calibration import HeldOutRows
from latentclass.hnb._conditional import (
    ConditionalProblem,
    NaiveTables,
    choose_share,
    natural,
    normalised,
    show_states,
)
from latentclass.hnb._hierarchy import FilledHierarchy, Hierarchy, Tables, count_within, tally
from latentclass.hnb._search import FoundHierarchy, HierarchySettings, search_hierarchy

StateCounts = tuple[FloatArray, tuple[FloatArray, ...], tuple[FloatArray, ...]]
"""Sums over rows: the weight of each state of the top variables, end to end; of each pair of levels
of each latent variable's children; and of the labelled rows of each class, (states, K), in each
state of each latent variable."""


def find_hierarchy(
    rows: CodedRows,
    settings: HierarchySettings,
    *,
    n_candidates: int,
    folds: IndexArray | int,
    seed: int,
) -> FoundHierarchy:
    """Search for the hierarchy; its variables are the active columns in their own order.

    `left_out` has a line for each labelled row.

    `folds` is the fold of each labelled row (-1 for none), or the number of folds to draw.
    """
    n_levels = rows.n_levels
    order, distinct, parts = _split(rows, folds, seed)
    found = search_hierarchy(
        distinct,
        tuple(n_levels[j] for j in order),
        rows.n_classes,
        assign_folds(distinct, 1 if settings.search == "hill_climbing" else n_candidates, salt=2),
        parts,
        settings,
    )
    # back to the columns' own order
    n = len(n_levels)
    hierarchy = Hierarchy(n_levels)
    for latent in found.hierarchy.latents:
        first, second = (order[v] if v < n else v for v in latent.children)
        hierarchy = hierarchy.join(first, second, latent.states)
    ignored = tuple(sorted(order[v] if v < n else v for v in found.ignored))
    left_out = None if found.left_out is None else found.left_out[distinct.number]
    return found._replace(hierarchy=hierarchy, ignored=ignored, left_out=left_out)


def _split(
    rows: CodedRows, folds: IndexArray | int, seed: int
) -> tuple[list[int], DistinctRows, FoldWeights]:
    """The distinct rows with their columns in another order, that order, and the folds."""
    marks = column_fingerprints(rows.codes, rows.y, rows.weight, rows.n_levels, rows.n_classes)
    # by what they hold, so that their order cannot decide between equal pairs
    order = sorted(range(len(marks)), key=lambda j: marks[j])
    codes = np.ascontiguousarray(rows.codes[:, order])
    distinct = distinct_rows(codes, rows.y, rows.weight, sorted(marks), seed)
    if isinstance(folds, int):
        return order, distinct, assign_folds(distinct, folds, salt=1)
    return order, distinct, given_parts(distinct, folds, rows.weight, int(folds.max()) + 1)


def left_out_rows(rows: CodedRows, class_prior: FloatArray, left_out: FloatArray) -> HeldOutRows:
    """What the folds of a search say of the labelled rows that they test."""
    tested = np.flatnonzero(~np.isnan(left_out).any(axis=1))
    with np.errstate(divide="ignore"):
        log_prior = np.tile(np.log(class_prior), (len(tested), 1))
    return HeldOutRows(left_out[tested], rows.y[tested], rows.weight[tested], log_prior)


def average_left_out(parts: Sequence[HeldOutRows | None]) -> HeldOutRows | None:
    """The same of several searches in the same rows, whose models are averaged.

    They count alike here: which of them finds a row more probable, their folds do not know.
    """
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return None
    log_prior = known[0].log_prior
    mean = log_mean(np.stack([log_normalise(one.evidence + log_prior) for one in known]))
    possible = np.isfinite(log_prior)
    evidence = np.subtract(mean, log_prior, out=np.zeros_like(mean), where=possible)
    return known[0]._replace(evidence=evidence)


def learn_conditional(
    rows: CodedRows,
    filled: FilledHierarchy,
    log_pi: FloatArray,
    ignored: tuple[int, ...],
    alpha: float,
    *,
    folds: IndexArray | int,
    seed: int,
) -> tuple[FloatArray, FilledHierarchy, float]:
    """Tables that raise P(class | columns) of the labelled rows, see `_conditional`.

    Returns log pi, the hierarchy with its new tables, and the share of the joint likelihood that
    the folds chose; inf if the tables stay as they are.
    """
    hierarchy = filled.hierarchy
    tops = [v for v in hierarchy.tops if v not in ignored]
    if rows.n_classes == 1 or not tops:
        return log_pi, filled, np.inf
    order, distinct, parts = _split(rows, folds, seed)
    codes = distinct.codes[:, np.argsort(order)]
    evidence = show_states(filled, codes, tops)
    kept = np.repeat(np.isin(hierarchy.tops, tops), np.diff(hierarchy.offsets))
    counted = NaiveTables(log_pi, filled.tables.log_theta[:, kept])
    problem = ConditionalProblem(evidence, distinct.y, distinct.weight, counted)
    trains = [
        distinct.weight - np.bincount(parts.row, parts.weight * (parts.part == i), len(distinct.y))
        for i in range(parts.n_parts)
    ]
    share = choose_share(problem, trains, rows.n_classes, alpha)
    if np.isinf(share):
        return log_pi, filled, share
    best = replace(problem, share=share).climb(*natural(counted))
    pi, theta, _ = normalised(*best, evidence.offsets)
    log_theta = filled.tables.log_theta.copy()
    log_theta[:, kept] = np.log(theta)
    tables = Tables(log_theta, filled.tables.log_within)
    return np.log(pi), FilledHierarchy(hierarchy, tables), share


def top_layout(
    hierarchy: Hierarchy, top_weight: FloatArray, alpha: float, ignored: tuple[int, ...] = ()
) -> CountLayout:
    """The tables P(top variable | class) for EM, with pseudo-counts `alpha`.

    Where there is neither count nor pseudo-count, they have the shares of all rows, from
    `count_states`. Those of `ignored` variables are the same in all classes.
    """
    weights = np.split(top_weight + 1e-300, hierarchy.offsets[1:-1])
    return CountLayout(
        hierarchy.offsets[:-1],
        np.full(len(top_weight), alpha),
        np.concatenate([own / own.sum() for own in weights]),
        np.ones((1, len(hierarchy.tops))),
        np.isin(hierarchy.tops, ignored),
    )


def count_tops(
    hierarchy: Hierarchy, n_classes: int, codes: CodeArray, y: IndexArray, weight: FloatArray
) -> FloatArray:
    """Weight of each state of each top variable in each class, shape (K, all their states)."""
    size = int(hierarchy.offsets[-1])
    total = np.zeros(n_classes * size)
    for column in hierarchy.top_entries(codes).T:
        seen = column >= 0
        total += np.bincount(y[seen] * size + column[seen], weight[seen], len(total))
    return total.reshape(n_classes, size)


def count_states(hierarchy: Hierarchy, rows: CodedRows) -> StateCounts:
    """Weight of the rows in the states of a hierarchy."""
    known, n_classes = hierarchy.encode(rows.codes), rows.n_classes
    hidden = hierarchy.encode(rows.unlabelled)
    every = np.concatenate([known, hidden])
    weight = np.concatenate([rows.weight, rows.unlabelled_weight])
    tops = [tally(every[:, v], weight, hierarchy.sizes[v]) for v in hierarchy.tops]
    support = []
    for v in range(len(hierarchy.n_levels), len(hierarchy.sizes)):
        size = hierarchy.sizes[v]
        place = np.where(known[:, v] >= 0, known[:, v].astype(np.intp) * n_classes + rows.y, -1)
        counts = tally(place, rows.weight, size * n_classes)
        support.append(counts.reshape(size, n_classes))
    within = count_within(hierarchy, every, weight)
    return np.concatenate([np.empty(0), *tops]), within, tuple(support)
