"""Learn one hierarchical naive Bayes model from coded rows: the search, then the tables."""

from __future__ import annotations

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._em import CountLayout
from latentclass.engine._content_folds import (
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
)
from latentclass.hnb._hierarchy import Hierarchy, count_within
from latentclass.hnb._search import FoundHierarchy, HierarchySettings, search_hierarchy


def find_hierarchy(
    rows: CodedRows,
    settings: HierarchySettings,
    *,
    n_candidates: int,
    folds: IndexArray | int,
    seed: int,
) -> FoundHierarchy:
    """Search for the hierarchy; its variables are the active columns in their own order.

    `folds` is the fold of each labelled row (-1 for none), or the number of folds to draw.
    """
    n_levels = rows.n_levels
    marks = column_fingerprints(rows.codes, rows.y, rows.weight, n_levels, rows.n_classes)
    # by what they hold, so that their order cannot decide between equal pairs
    order = sorted(range(len(marks)), key=lambda j: marks[j])
    codes = np.ascontiguousarray(rows.codes[:, order])
    distinct = distinct_rows(codes, rows.y, rows.weight, sorted(marks), seed)
    found = search_hierarchy(
        distinct,
        tuple(n_levels[j] for j in order),
        rows.n_classes,
        assign_folds(distinct, 1 if settings.search == "hill_climbing" else n_candidates, salt=2),
        assign_folds(distinct, folds, salt=1)
        if isinstance(folds, int)
        else given_parts(distinct, folds, rows.weight, int(folds.max()) + 1),
        settings,
    )
    # back to the columns' own order
    n = len(n_levels)
    hierarchy = Hierarchy(n_levels)
    for latent in found.hierarchy.latents:
        first, second = (order[v] if v < n else v for v in latent.children)
        hierarchy = hierarchy.join(first, second, latent.states)
    return found._replace(hierarchy=hierarchy)


def top_layout(hierarchy: Hierarchy, rows: CodedRows, alpha: float) -> CountLayout:
    """The tables P(top variable | class) for EM, with pseudo-counts `alpha`.

    Where there is neither count nor pseudo-count, they have the shares of all rows.
    """
    codes, weight = _all_rows(rows)
    states = hierarchy.encode(codes)
    fallback = [np.empty(0)]
    for v in hierarchy.tops:
        seen = states[:, v] >= 0
        counts = np.bincount(states[seen, v], weight[seen], hierarchy.sizes[v]) + 1e-300
        fallback.append(counts / counts.sum())
    size = int(hierarchy.offsets[-1])
    return CountLayout(
        hierarchy.offsets[:-1],
        np.full(size, alpha),
        np.concatenate(fallback),
        np.ones(size),
        np.zeros(size, dtype=bool),
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


def learn_within(hierarchy: Hierarchy, rows: CodedRows, alpha: float) -> tuple[FloatArray, ...]:
    """log P(levels of the children | state) of every latent variable, from all rows."""
    return count_within(hierarchy, *_all_rows(rows), alpha)


def state_support(hierarchy: Hierarchy, rows: CodedRows) -> tuple[FloatArray, ...]:
    """Weight of the labelled rows of each class in each state of each latent variable."""
    known, n_classes = hierarchy.encode(rows.codes), rows.n_classes
    support = []
    for v in range(len(hierarchy.n_levels), len(hierarchy.sizes)):
        seen, size = known[:, v] >= 0, hierarchy.sizes[v]
        place = known[seen, v].astype(np.intp) * n_classes + rows.y[seen]
        counts = np.bincount(place, rows.weight[seen], size * n_classes).astype(np.float64)
        support.append(counts.reshape(size, n_classes))
    return tuple(support)


def _all_rows(rows: CodedRows) -> tuple[CodeArray, FloatArray]:
    return (
        np.concatenate([rows.codes, rows.unlabelled]),
        np.concatenate([rows.weight, rows.unlabelled_weight]),
    )
