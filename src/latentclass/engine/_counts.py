"""Weighted counts of level pairs within each class, and the information measures made of them.

n discrete columns have L levels in all, laid end to end: column j has the levels `offsets[j]` to
`offsets[j + 1] - 1`. One array of counts, shape (K, L, L) for K classes, serves every classifier
of discrete columns: `counts[k, a, b]` is the weight of the rows of class k that show both level a
and level b, and its diagonal the weight of those that show a. A pair with a missing cell (code -1)
is in no count. Counts of disjoint sets of rows add up.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import CodeArray, FloatArray, IndexArray

MAX_BYTES = 2**31
"""Largest table of pair counts that is made."""

ROUNDING = 1e-12
"""Information in nats up to which two columns count as independent."""

BLOCK_BYTES = 2**24
"""Size of one block of rows as dense indicators."""


def level_offsets(n_levels: npt.ArrayLike) -> IndexArray:
    """Where each column's levels start, and at the end their number."""
    return np.concatenate([[0], np.cumsum(np.asarray(n_levels, dtype=np.intp))]).astype(np.intp)


def check_size(n_classes: int, n_levels: int) -> None:
    """Refuse tables of pair counts that would not fit."""
    size = 8 * n_classes * n_levels**2
    if size > MAX_BYTES:
        raise ValueError(
            f"The counts of level pairs need {size / 2**30:.1f} GiB ({n_classes} classes, "
            f"{n_levels} levels in all columns), above the limit of {MAX_BYTES / 2**30:.0f} GiB. "
            "Merge rare categories, drop columns that name single rows, or use NaiveBayes."
        )


def pair_counts(
    codes: CodeArray, y: IndexArray, weight: FloatArray, n_classes: int, offsets: IndexArray
) -> FloatArray:
    """Weight of each pair of levels in each class, shape (n_classes, L, L).

    Each class's rows are multiplied as indicators, a block at a time: Z' diag(weight) Z.

    Examples
    --------
    >>> codes = np.array([[0, 1], [0, 1], [1, -1]], dtype=np.int32)
    >>> counts = pair_counts(codes, np.zeros(3, int), np.ones(3), 1, level_offsets([2, 2]))
    >>> counts[0].astype(int).tolist()
    [[2, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 2]]
    """
    n_levels = int(offsets[-1])
    check_size(n_classes, n_levels)
    counts = np.zeros((n_classes, n_levels, n_levels))
    if n_levels == 0:
        return counts
    size = max(16, BLOCK_BYTES // (8 * (n_levels + 1)))
    order = np.argsort(y, kind="stable")
    ends = np.searchsorted(y[order], np.arange(n_classes + 1))
    # a missing cell points at one more level, which is not counted
    places = np.where(codes >= 0, codes + offsets[:-1], n_levels)
    for k in range(n_classes):
        for start in range(int(ends[k]), int(ends[k + 1]), size):
            rows = order[start : min(start + size, int(ends[k + 1]))]
            indicator = np.zeros((len(rows), n_levels + 1))
            np.put_along_axis(indicator, places[rows], 1.0, axis=1)
            indicator = indicator[:, :n_levels]
            w = weight[rows]
            weighted = indicator if np.all(w == 1.0) else indicator * w[:, None]
            counts[k] += weighted.T @ indicator
    return counts


def column_sums(values: FloatArray, offsets: IndexArray) -> FloatArray:
    """Sum over each column's levels along the last axis; no column may be without level."""
    if len(offsets) == 1:
        return np.zeros((*values.shape[:-1], 0))
    return np.asarray(np.add.reduceat(values, offsets[:-1], axis=-1))


def conditional_mutual_information(counts: FloatArray, offsets: IndexArray) -> FloatArray:
    """I(X_i; X_j | class) of every pair of columns in nats, shape (n, n), diagonal 0.

    Shares are taken among the rows in which both columns are observed.
    """
    n_columns = len(offsets) - 1
    information = np.zeros((n_columns, n_columns))
    total = np.zeros((n_columns, n_columns))
    for table in counts:
        by_row = column_sums(table, offsets)  # (L, n): weight of level a with column j observed
        both = column_sums(by_row.T, offsets).T  # (n, n)
        total += both
        # sum of N log N over the cells of each pair, less its margins, plus its total
        cells = column_sums(column_sums(_x_log_x(table), offsets).T, offsets)
        margin = column_sums(_x_log_x(by_row).T, offsets).T
        information += cells - margin - margin.T + _x_log_x(both)
    information = np.divide(information, total, out=np.zeros_like(total), where=total > 0)
    np.fill_diagonal(information, 0.0)
    information = (information + information.T) / 2  # equal but for rounding
    return np.where(information > ROUNDING, information, 0.0)


def level_counts(
    codes: CodeArray, y: IndexArray, weight: FloatArray, n_classes: int, offsets: IndexArray
) -> FloatArray:
    """Weight of each level in each class, shape (n_classes, L): the diagonal of `pair_counts`."""
    single = np.zeros((n_classes, int(offsets[-1])))
    for j, (first, end) in enumerate(pairwise(offsets.tolist())):
        seen = codes[:, j] >= 0
        place = y[seen] * (end - first) + codes[seen, j]
        counted = np.bincount(place, weight[seen], n_classes * (end - first))
        single[:, first:end] = counted.reshape(n_classes, -1)
    return single


def class_information(single: FloatArray, offsets: IndexArray) -> FloatArray:
    """I(X_j; class) of every column in nats, from `level_counts`."""
    per_class = column_sums(single, offsets)
    cells = column_sums(_x_log_x(single), offsets).sum(axis=0)
    level = column_sums(_x_log_x(single.sum(axis=0)), offsets)
    total = per_class.sum(axis=0)
    gain = cells - level - _x_log_x(per_class).sum(axis=0) + _x_log_x(total)
    share = np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)
    return np.asarray(np.maximum(share, 0.0))


def _x_log_x(values: FloatArray) -> FloatArray:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))


def indicator_rows(index: npt.NDArray[np.integer], n_columns: int) -> sp.csr_array:
    """CSR indicator with an entry for each index of a row; -1 has none.

    Its product with a dense table picks and adds table rows in compiled code; that of its
    transpose counts.
    """
    seen = index >= 0
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    indices = index[seen].astype(np.int32 if n_columns < 2**31 else np.int64)
    shape = (len(index), n_columns)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
