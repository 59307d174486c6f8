"""Weighted counts of pairs of levels within each class, and information measures from them.

The n discrete columns have L levels in all, laid end to end: column j has the levels `offsets[j]`
to `offsets[j + 1] - 1`. One array of counts, shape (K, L, L) for K classes, serves all classifiers
for discrete columns. `counts[k, a, b]` is the weight of the rows of class k that have both level a
and level b, and `counts[k, a, a]` that of the rows that have level a. Missing cells (code -1) are
not counted. The counts of disjoint sets of rows add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_memory
from latentclass.engine._numeric import divide

WHOLE_BYTES = 2**28
"""Size up to which the counts of all pairs are held at once to find the information of pairs."""

ROUNDING = 1e-12
"""Information of no more nats than this is rounding: the two columns count as independent."""

BLOCK_BYTES = 2**24
"""Size of a block of rows as dense indicators (16 MB)."""

PRODUCT_TIME, TALLY_TIME, CALL_TIME = 0.12, 6.0, 2e4
"""Rough times in nanoseconds: one multiplication inside a matrix product; counting one row in the
table of a pair of columns; beginning such a table. Only their ratios matter, and only for speed."""


def level_offsets(n_levels: npt.ArrayLike) -> IndexArray:
    """Return the first level of each column, and the number of all levels at the end."""
    return np.concatenate([[0], np.cumsum(np.asarray(n_levels, dtype=np.intp))]).astype(np.intp)


def pair_counts(
    codes: CodeArray,
    y: IndexArray,
    weight: FloatArray,
    n_classes: int,
    offsets: IndexArray,
    n_first: int | None = None,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the weight of each pair of levels in each class, shape (n_classes, L, L).

    For the indicator matrix Z of a block of rows of one class, it is Z' diag(weight) Z. With
    `n_first`, only the pairs of these first levels, those of some whole columns, with all levels,
    (n_classes, n_first, L). `out` is an array of zeros for the result.

    Examples
    --------
    >>> codes = np.array([[0, 1], [0, 1], [1, -1]], dtype=np.int32)
    >>> counts = pair_counts(codes, np.zeros(3, int), np.ones(3), 1, level_offsets([2, 2]))
    >>> counts[0].astype(int).tolist()
    [[2, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 0], [2, 0, 0, 2]]
    """
    n_rows, n_columns = codes.shape
    n_levels = int(offsets[-1])
    n_first = n_levels if n_first is None else n_first
    counts = np.zeros((n_classes, n_first, n_levels)) if out is None else out
    if n_levels == 0:
        return counts
    n_pairs = int(np.searchsorted(offsets, n_first)) * n_columns / (1 if n_first < n_levels else 2)
    by_product = n_rows * n_first * n_levels * PRODUCT_TIME
    if by_product <= n_pairs * (n_rows * TALLY_TIME + CALL_TIME):
        _add_products(counts, codes, y, weight, offsets)
    else:
        _fill_tallies(counts, codes, y, weight, offsets)
    return counts


def _add_products(
    counts: FloatArray, codes: CodeArray, y: IndexArray, weight: FloatArray, offsets: IndexArray
) -> None:
    """Pair counts by matrix products of indicators: fast for few levels."""
    n_classes, n_first, n_levels = counts.shape
    size = max(16, BLOCK_BYTES // (8 * (n_levels + 1)))
    order = np.argsort(y, kind="stable")
    ends = np.searchsorted(y[order], np.arange(n_classes + 1))
    # missing cells point to an extra level, which is dropped
    places = np.where(codes >= 0, codes + offsets[:-1], n_levels)
    for k in range(n_classes):
        for start in range(int(ends[k]), int(ends[k + 1]), size):
            rows = order[start : min(start + size, int(ends[k + 1]))]
            indicator = np.zeros((len(rows), n_levels + 1))
            np.put_along_axis(indicator, places[rows], 1.0, axis=1)
            indicator = indicator[:, :n_levels]
            w = weight[rows]
            weighted = indicator if np.all(w == 1.0) else indicator * w[:, None]
            counts[k] += weighted[:, :n_first].T @ indicator


def _fill_tallies(
    counts: FloatArray, codes: CodeArray, y: IndexArray, weight: FloatArray, offsets: IndexArray
) -> None:
    """Pair counts by a tally for each pair of columns: its cost does not grow with the levels."""
    n_classes, n_first, _ = counts.shape
    spans = [slice(first, end) for first, end in pairwise(offsets.tolist())]
    widths = np.diff(offsets) + 1  # missing cells have an extra level, which is dropped
    levels = np.where(codes >= 0, codes, widths - 1).T.astype(np.intp, order="C")
    for i, rows in enumerate(spans):
        if rows.start >= n_first:
            break
        place = y * widths[i] + levels[i]
        for j in range(i, len(spans)):
            shape = (n_classes, int(widths[i]), int(widths[j]))
            tally = np.bincount(place * widths[j] + levels[j], weight, int(np.prod(shape)))
            table = tally.reshape(shape)[:, :-1, :-1]
            counts[:, rows, spans[j]] = table
            if j > i and spans[j].stop <= n_first:
                counts[:, spans[j], rows] = table.transpose(0, 2, 1)


def column_sums(values: FloatArray, offsets: IndexArray) -> FloatArray:
    """Sum over the levels of each column along the last axis; every column must have a level."""
    if len(offsets) == 1:
        return np.zeros((*values.shape[:-1], 0))
    return np.asarray(np.add.reduceat(values, offsets[:-1], axis=-1))


def conditional_mutual_information(counts: FloatArray, offsets: IndexArray) -> FloatArray:
    """I(X_i, X_j | C) in nats for every pair of columns, shape (n, n), with 0 on the diagonal.

    This is the conditional mutual information of section 4.2.1 of Langseth and Nielsen (2006). Its
    probabilities are relative frequencies among the rows in which both columns are observed.
    """
    n_columns = len(offsets) - 1
    information = np.zeros((n_columns, n_columns))
    total = np.zeros((n_columns, n_columns))
    for table in counts:
        by_level = column_sums(table, offsets)  # (L, n): weight of level a with column j observed
        both = column_sums(by_level.T, offsets).T  # (n, n)
        total += both
        # N log N summed over the pairs of levels, minus that of both margins, plus that of the sum
        pairs = column_sums(column_sums(_x_log_x(table), offsets).T, offsets)
        margin = column_sums(_x_log_x(by_level).T, offsets).T
        information += pairs - margin - margin.T + _x_log_x(both)
    information = divide(information, total)
    np.fill_diagonal(information, 0.0)
    information = (information + information.T) / 2  # the halves differ by rounding only
    return np.where(information > ROUNDING, information, 0.0)


def pair_information(
    count: Callable[[int, int], FloatArray], n_classes: int, offsets: IndexArray
) -> FloatArray:
    """`conditional_mutual_information` of all pairs of columns.

    `count(first, n_first)` gives the `pair_counts` of the columns from `first` on, their first
    `n_first` levels with all. The counts of very many levels are made and used in blocks of
    columns.
    """
    n_columns, n_levels = len(offsets) - 1, int(offsets[-1])
    if 8 * n_classes * n_levels**2 <= WHOLE_BYTES:
        return conditional_mutual_information(count(0, n_levels), offsets)
    check_pairs_of_columns(n_columns, 3 * 8 * n_columns**2)
    information = np.zeros((n_columns, n_columns))
    for first, end in column_blocks(offsets, 8 * n_classes * n_levels):
        later = offsets[first:] - offsets[first]
        own = later[: end - first + 1]
        counts = count(first, int(own[-1]))
        information[first:end, first:] = _information_of_first(counts, own, later)
    information = np.triu(information, 1)
    information += information.T
    return np.where(information > ROUNDING, information, 0.0)


def check_pairs_of_columns(n_columns: int, n_bytes: float) -> None:
    """Refuse more pairs of columns than memory can hold."""
    check_memory(
        f"Comparing all pairs of {n_columns:,} columns",
        n_bytes,
        "Select the columns that say most about the class, or use NaiveBayes.",
    )


def column_blocks(
    offsets: IndexArray, level_bytes: int, block_bytes: int | None = None
) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive columns whose levels, at so many bytes each, fit into a block."""
    block_bytes = 4 * BLOCK_BYTES if block_bytes is None else block_bytes
    first = 0
    while first < len(offsets) - 1:
        most = offsets[first] + block_bytes // level_bytes
        end = max(first + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
        yield first, end
        first = end


def _information_of_first(counts: FloatArray, own: IndexArray, offsets: IndexArray) -> FloatArray:
    """I(X_i, X_j | C) of the first columns, whose levels are `own`, with all, (n_first, n)."""
    information = total = np.zeros((len(own) - 1, len(offsets) - 1))
    for table in counts:
        by_level = column_sums(table, offsets)  # (L_first, n): level a with column j observed
        by_column = column_sums(table.T, own).T  # (n_first, L): level b with column i observed
        both = column_sums(by_column, offsets)
        total = total + both
        pairs = column_sums(column_sums(_x_log_x(table), offsets).T, own).T
        margins = column_sums(_x_log_x(by_level).T, own).T
        margins = margins + column_sums(_x_log_x(by_column), offsets)
        information = information + pairs - margins + _x_log_x(both)
    return divide(information, total)


def level_counts(
    codes: CodeArray, y: IndexArray, weight: FloatArray, n_classes: int, offsets: IndexArray
) -> FloatArray:
    """Return the weight of each level in each class, shape (n_classes, L).

    This is the diagonal of `pair_counts`.
    """
    single = np.zeros((n_classes, int(offsets[-1])))
    size = max(2**14, 2 * single.size)  # rows that stay in the cache
    for start in range(0, len(codes), size):
        rows = slice(start, start + size)
        for j, (first, end) in enumerate(pairwise(offsets.tolist())):
            # missing cells, code -1, are counted as an extra level that is then dropped
            place = y[rows] * (end - first + 1) + codes[rows, j] + 1
            counted = np.bincount(place, weight[rows], n_classes * (end - first + 1))
            single[:, first:end] += counted.reshape(n_classes, -1)[:, 1:]
    return single


def class_information(single: FloatArray, offsets: IndexArray) -> FloatArray:
    """I(X_j, C), the mutual information of each column and the class, in nats.

    `single` are the `level_counts`.
    """
    per_class = column_sums(single, offsets)
    pairs = column_sums(_x_log_x(single), offsets).sum(axis=0)
    level = column_sums(_x_log_x(single.sum(axis=0)), offsets)
    total = per_class.sum(axis=0)
    gain = pairs - level - _x_log_x(per_class).sum(axis=0) + _x_log_x(total)
    return np.asarray(np.maximum(divide(gain, total), 0.0))


def _x_log_x(values: FloatArray) -> FloatArray:
    # most pairs of many levels never occur, and their logarithms would be most of the work
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.multiply(values, logs, out=logs)


def indicator_rows(index: npt.NDArray[np.integer], n_columns: int) -> sp.csr_array:
    """Return a CSR matrix with a 1 at each index of a row; index -1 has no entry.

    Its product with a dense table selects and adds rows of the table; the product of its transpose
    with weights counts.
    """
    seen = index >= 0
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    indices = index[seen].astype(np.int32 if n_columns < 2**31 else np.int64)
    shape = (len(index), n_columns)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
