"""Content-based hold-out: which rows are held out depends only on their values.

The random choice comes from hashes of the rows. So the order of rows and columns and the names of
the classes have no effect, and weight 2 is the same as having the row twice.

Columns with equal counts have the same hash, and so do rows that differ only in such columns. The
order of the columns distinguishes these rows. That order must not depend on how the table was
written, so columns are sorted by their relation to the rest of the table first. This is colour
refinement, as used to test graphs for isomorphism. If two columns are still equal after it, then
swapping them gives the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._content_folds import (
    DistinctRows,
    assign_folds,
    column_fingerprints,
    level_words,
    mix_key,
)
from latentclass.engine._mixture_rows import join_rows, shape_mark

KeyArray = npt.NDArray[np.uint64]
Chunks = Callable[[], Iterator[CodeArray]]

N_PARTS = 5
"""Number of parts that the rows are dealt into; each part is held out in turn."""

ENOUGH = 500.0
"""Held-out weight that is enough to choose the number of steps: no further part is used then."""

MOST_HELD = 1000.0
"""A part holds out no more than about this weight, however many rows there are."""

SLIVER = 1e-9
"""Shares of a row below this are rounding errors."""

N_COLUMNS = 256
"""Number of columns of a sparse table that are made dense at a time."""

N_ROUNDS = 2
"""Rounds of colour refinement: rows are hashed by their columns, then columns by their rows."""


def held_shares(rows: DistinctRows) -> FloatArray:
    """Return the share of each row that each part holds out, shape (n_parts, n_rows).

    Every part holds out a fifth of the weight of each class, or, if this is less, a weight of about
    `MOST_HELD` together. Weight is dealt out one unit at a time, in an order that depends only on
    the values of the rows. So the order of the rows does not matter, weight 2 is the same as having
    the row twice, and a heavy row can be held out in part. Unlabelled rows (-1) and classes with a
    weight below 5 are never held out. There are at most five parts, fewer if they hold out a weight
    of `ENOUGH` together, and none if there is nothing to hold out.
    """
    n_dealt = max(N_PARTS, int(labelled_weight(rows) / MOST_HELD))
    parts = assign_folds(rows, n_dealt, salt=1)
    by_class = np.bincount(rows.y + 1, rows.weight)
    stays = (rows.y < 0) | (by_class[rows.y + 1] < N_PARTS * (1.0 - SLIVER))
    out = []
    total = 0.0
    for number in range(N_PARTS):
        held = parts.held(number, len(rows.weight))
        held[stays] = 0.0
        share = _even_shares(rows, held)
        if not share.any() or total >= ENOUGH:
            break
        total += float(held.sum())
        out.append(share[rows.number])
    return np.array(out).reshape(len(out), len(rows.number))


def batch_shares(rows: DistinctRows, n_batches: int) -> Iterator[FloatArray]:
    """Yield the share of each row in each of several batches, of about equal weight in each class.

    Like `held_shares`, they depend only on the values of the rows.
    """
    parts = assign_folds(rows, n_batches, salt=2, in_turn=True)
    for number in range(n_batches):
        yield _even_shares(rows, parts.held(number, len(rows.weight)))[rows.number]


def labelled_weight(rows: DistinctRows) -> float:
    """Total weight of the rows with a label."""
    return float(rows.weight[rows.y >= 0].sum())


def _even_shares(rows: DistinctRows, part: FloatArray) -> FloatArray:
    """Shares of the distinct rows, given their weights in a part."""
    share = part / rows.weight
    share[share < SLIVER] = 0.0
    share[share > 1.0 - SLIVER] = 1.0
    return share


def gather_rows(
    numeric: Any,
    codes: Any,
    y: IndexArray,
    weight: FloatArray,
    n_levels: IndexArray,
    seed: int,
) -> DistinctRows:
    """Join equal rows of the same class, in an order that depends on their values only.

    A sparse table is all continuous or all binary. Only a few of its columns are made dense at a
    time. The joined rows have no `codes` then.
    """
    if sp.issparse(numeric) or sp.issparse(codes):
        numeric, codes = sp.csc_array(numeric), sp.csc_array(codes)
        columns = (
            _sparse_numbers(numeric, weight) if numeric.shape[1] else _sparse_bits(codes, weight)
        )
        colours = colour_columns(columns.chunks, y, weight)
        return _join_sparse(columns.in_order(np.argsort(colours, kind="stable")), y, weight, seed)
    numeric, codes = np.asarray(numeric), np.asarray(codes)
    levels = np.hstack([_ranks(numeric), codes])
    colours = colour_columns(lambda: iter([levels]), y, weight)
    n = numeric.shape[1]
    first, second = (np.argsort(part, kind="stable") for part in (colours[:n], colours[n:]))
    rows, _ = join_rows(numeric[:, first], codes[:, second], y, weight, n_levels[second], seed)
    return rows


class _SparseLevels(NamedTuple):
    """Levels of the columns of a sparse table: `shift` plus the level `zero` of empty cells.

    Attributes
    ----------
    shift : CSC array of int of shape (n_rows, n_columns)
    zero : array of shape (n_columns,)
    marks : array of shape (n_columns,)
        Fingerprints of the columns, the same as those of a dense table.
    """

    shift: Any
    zero: IndexArray
    marks: IndexArray

    def chunks(self) -> Iterator[CodeArray]:
        """Yield the levels of a few columns at a time, -1 missing."""
        for begin in range(0, self.shift.shape[1], N_COLUMNS):
            few = slice(begin, begin + N_COLUMNS)
            yield (self.shift[:, few].toarray() + self.zero[few]).astype(np.int32)

    def in_order(self, order: IndexArray) -> _SparseLevels:
        """Return the columns in another order."""
        return _SparseLevels(self.shift[:, order], self.zero[order], self.marks[order])


def _sparse_bits(bits: Any, weight: FloatArray) -> _SparseLevels:
    n_columns = bits.shape[1]
    levels = _SparseLevels(bits, np.zeros(n_columns, np.intp), np.zeros(n_columns, np.intp))
    all_one = np.zeros(len(weight), dtype=np.intp)
    marks = [
        mark
        for few in levels.chunks()
        for mark in column_fingerprints(few, all_one, weight, [2] * few.shape[1], 1)
    ]
    return levels._replace(marks=np.array(marks, dtype=np.intp))


def _sparse_numbers(numeric: Any, weight: FloatArray) -> _SparseLevels:
    n_rows, n_columns = numeric.shape
    shift = np.empty(len(numeric.data), dtype=np.int32)
    zero, marks = np.zeros(n_columns, dtype=np.intp), np.zeros(n_columns, dtype=np.intp)
    for j, (begin, end) in enumerate(pairwise(numeric.indptr.tolist())):
        values = numeric.data[begin:end]
        seen = values[~np.isnan(values)]
        distinct = np.unique(seen if end - begin == n_rows else np.append(seen, 0.0))
        zero[j] = np.searchsorted(distinct, 0.0)
        rank = np.where(np.isnan(values), -1, np.searchsorted(distinct, values))
        shift[begin:end] = rank - zero[j]
        column = np.zeros(n_rows)
        column[numeric.indices[begin:end]] = values
        marks[j] = shape_mark(column, weight)
    return _SparseLevels(
        sp.csc_array((shift, numeric.indices, numeric.indptr), shape=numeric.shape), zero, marks
    )


def _ranks(numeric: FloatArray) -> CodeArray:
    """Return the ranks of the values of continuous columns, -1 for missing cells."""
    out = np.full(numeric.shape, -1, dtype=np.int32)
    for column, ranks in zip(numeric.T, out.T, strict=True):
        shown = ~np.isnan(column)
        ranks[shown] = np.unique(column[shown], return_inverse=True)[1].reshape(-1)
    return out


def colour_columns(chunks: Chunks, y: IndexArray, weight: FloatArray) -> IndexArray:
    """Return a colour for each column; equal if neither other columns nor y distinguish them.

    `chunks` yields the levels of some columns at a time, shape (n_rows, n_columns), -1 missing.
    """
    all_one = np.zeros(len(y), dtype=np.intp)
    colours = [
        mark
        for levels in chunks()
        for mark in column_fingerprints(
            levels, all_one, weight, (levels.max(axis=0) + 1).tolist(), 1
        )
    ]
    for _ in range(N_ROUNDS):
        key = _row_keys(chunks, colours, y, weight)
        colours = [
            crc32(f"{colour} {_mark(weight, mix_key(key + level_words([1], column)))}".encode())
            for column, colour in zip(_columns(chunks), colours, strict=True)
        ]
    return np.array(colours, dtype=np.intp)


def _row_keys(
    chunks: Chunks, colours: Sequence[int], y: IndexArray, weight: FloatArray
) -> KeyArray:
    """Hash each row by its levels, the colours of their columns, and its class."""
    key = np.zeros(len(y), dtype=np.uint64)
    for column, colour in zip(_columns(chunks), colours, strict=True):
        key += level_words([colour], column)
    key = mix_key(key)
    # a class is identified by its rows, not by its name
    by_class = [_mark(weight[y == c], key[y == c]) for c in range(-1, int(y.max()) + 1)]
    return mix_key(key + np.array(by_class, dtype=np.uint64)[y + 1])


def order_levels(
    numeric: FloatArray,
    codes: CodeArray,
    y: IndexArray,
    weight: FloatArray,
    shares: Sequence[FloatArray],
) -> list[IndexArray]:
    """Order the levels of each discrete column by their shares, and equal ones by their rows.

    So the names of the levels of columns with three or more have no effect, unless swapping two of
    them gives the same table.
    """
    alike = codes.copy()  # levels of equal share are one level here
    for place, share in enumerate(shares):
        if len(share) > 2:
            rank = np.unique(-share, return_inverse=True)[1].reshape(-1)
            alike[:, place] = np.append(rank, -1)[codes[:, place]]  # code -1 picks the last
    levels = np.hstack([_ranks(numeric), alike])
    colours = colour_columns(lambda: iter([levels]), y, weight)
    key = _row_keys(lambda: iter([levels]), colours.tolist(), y, weight)
    orders = []
    for column, share in zip(codes.T, shares, strict=True):
        marks = [_mark(weight[column == n], key[column == n]) for n in range(len(share))]
        orders.append(np.lexsort((np.array(marks), -share)))
    return orders


def _columns(chunks: Chunks) -> Iterator[CodeArray]:
    for levels in chunks():
        yield from levels.T


def _mark(weight: FloatArray, key: KeyArray) -> int:
    """Hash keys and their weights, whatever their order."""
    # further digits would depend on the order of summation
    return crc32(f"{float(weight @ (key >> np.uint64(11)).astype(np.float64)):.9g}".encode())


def _join_sparse(
    columns: _SparseLevels, y: IndexArray, weight: FloatArray, seed: int
) -> DistinctRows:
    """Join equal rows of a sparse table.

    The hashes, and the order of rows with equal hashes, are those of `join_rows`.
    """
    key = np.zeros(len(y), dtype=np.uint64)
    identity = level_words([0], y.astype(np.int64))
    for j, levels in enumerate(_columns(columns.chunks)):
        if (levels != levels[0]).any():
            key += level_words([seed, int(columns.marks[j])], levels)
            identity += level_words([1, j], levels)
    _, first, number = np.unique(mix_key(identity), return_index=True, return_inverse=True)
    order = _by_levels(columns.shift, first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    first, number = first[order], rank[number.reshape(-1)]
    total = np.bincount(number, weight, len(first)).astype(np.float64)
    nothing = np.empty((len(first), 0), dtype=np.int32)
    return DistinctRows(nothing, y[first], total, mix_key(key)[first], number)


def _by_levels(shift: Any, rows: IndexArray) -> IndexArray:
    """Sort some rows of a sparse table lexicographically; return the order."""
    table = sp.csr_array(shift)[rows]
    table.eliminate_zeros()
    table.sort_indices()
    # the first cell above 0 puts a row behind those with 0 there, a cell below 0 before them
    cells = [
        (2, -column, value) if value > 0 else (0, column, value)
        for column, value in zip(table.indices.tolist(), table.data.tolist(), strict=True)
    ]
    keys = [(*cells[begin:end], (1,)) for begin, end in pairwise(table.indptr.tolist())]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)
