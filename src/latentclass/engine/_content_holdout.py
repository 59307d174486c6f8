"""Rows held out, a share of the weight of each, and an order of rows: by what they hold alone.

Chance enters by hashes of what the rows hold, so the order of rows and columns, the names of the
classes, and whether a row comes twice or with weight 2 change nothing. Columns of equal counts
have one hash, and rows that differ in these alone have one too; they are told apart by the order of
the columns. So the columns are sorted first, by what else is in the rows in which they hold what
(refinement of colours, as in tests of graphs for isomorphism). Columns that are alike even then may
trade places: the table is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
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
from latentclass.engine._mixture_rows import join_rows

KeyArray = npt.NDArray[np.uint64]
Chunks = Callable[[], Iterator[CodeArray]]

N_PARTS = 5
"""Parts that the rows are dealt into; each is held out in its turn."""

ENOUGH = 500.0
"""Weight held out that tells the number of steps well enough: no further parts are needed."""

SLIVER = 1e-9
"""Share of a row that is no more than rounding."""

N_COLUMNS = 256
"""Columns of a sparse table that are made dense at once."""

N_ROUNDS = 2
"""Times that columns are told apart by rows, and rows by columns."""


def held_shares(
    numeric: Any,
    codes: Any,
    y: IndexArray,
    weight: FloatArray,
    n_levels: IndexArray,
    seed: int,
) -> FloatArray:
    """Share of each row that each of some parts holds out, shape (parts, rows).

    Every part is a fifth of the weight of each class. Weight is dealt out a unit at a time by what
    the rows hold, not by where they stand. So the order of rows does not matter, weight 2 is the
    row twice, and of a heavy row a share is held out. Nothing is held out of a class of weight
    below 5, or of rows without label (-1). There are as many parts as hold `ENOUGH` together, five
    at most, and none if there is nothing to hold out.
    """
    rows = gather_rows(numeric, codes, y, weight, n_levels, seed)
    parts = assign_folds(rows, N_PARTS, salt=1)
    by_class = np.bincount(rows.y + 1, rows.weight)
    stays = (rows.y < 0) | (by_class[rows.y + 1] < N_PARTS * (1.0 - SLIVER))
    out = []
    total = 0.0
    for number in range(N_PARTS):
        mine = parts.part == number
        held = np.bincount(parts.row[mine], parts.weight[mine], len(rows.weight))
        held[stays] = 0.0
        share = held / rows.weight
        share[share < SLIVER] = 0.0
        share[share > 1.0 - SLIVER] = 1.0
        if not share.any() or total >= ENOUGH:
            break
        total += float(held.sum())
        out.append(share[rows.number])
    return np.array(out).reshape(len(out), len(y))


def gather_rows(
    numeric: Any,
    codes: Any,
    y: IndexArray,
    weight: FloatArray,
    n_levels: IndexArray,
    seed: int,
) -> DistinctRows:
    """Equal rows of one class joined; their numbers are an order that contents alone decide."""
    if sp.issparse(codes):
        bits = sp.csc_array(codes)
        colours = colour_columns(lambda: _dense_chunks(bits), y, weight)
        return _join_bits(bits[:, np.argsort(colours, kind="stable")], y, weight, seed)
    numeric, codes = np.asarray(numeric), np.asarray(codes)
    levels = np.hstack([_ranks(numeric), codes])
    colours = colour_columns(lambda: iter([levels]), y, weight)
    n = numeric.shape[1]
    first, second = (np.argsort(part, kind="stable") for part in (colours[:n], colours[n:]))
    rows, _ = join_rows(numeric[:, first], codes[:, second], y, weight, n_levels[second], seed)
    return rows


def _dense_chunks(bits: Any) -> Iterator[CodeArray]:
    for begin in range(0, bits.shape[1], N_COLUMNS):
        yield bits[:, begin : begin + N_COLUMNS].toarray().astype(np.int32)


def _ranks(numeric: FloatArray) -> CodeArray:
    """Levels of continuous columns, -1 in holes."""
    out = np.full(numeric.shape, -1, dtype=np.int32)
    for column, ranks in zip(numeric.T, out.T, strict=True):
        shown = ~np.isnan(column)
        ranks[shown] = np.unique(column[shown], return_inverse=True)[1].reshape(-1)
    return out


def colour_columns(chunks: Chunks, y: IndexArray, weight: FloatArray) -> IndexArray:
    """A number for each column, one for columns that no relation to others or to y tells apart.

    `chunks` gives the levels of some columns at a time, (rows, columns), -1 in holes.
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
        key = np.zeros(len(y), dtype=np.uint64)
        for column, colour in zip(_columns(chunks), colours, strict=True):
            key += level_words([colour], column)
        key = mix_key(key)
        # a class is known by its rows, not by its name
        by_class = [_mark(weight[y == c], key[y == c]) for c in range(-1, int(y.max()) + 1)]
        key = mix_key(key + np.array(by_class, dtype=np.uint64)[y + 1])
        colours = [
            crc32(f"{colour} {_mark(weight, mix_key(key + level_words([1], column)))}".encode())
            for column, colour in zip(_columns(chunks), colours, strict=True)
        ]
    return np.array(colours, dtype=np.intp)


def _columns(chunks: Chunks) -> Iterator[CodeArray]:
    for levels in chunks():
        yield from levels.T


def _mark(weight: FloatArray, key: KeyArray) -> int:
    """A number made of keys and their weights, whatever their order."""
    # nine digits: the rest depends on the order of sums
    return crc32(f"{float(weight @ (key >> np.uint64(11)).astype(np.float64)):.9g}".encode())


def _join_bits(codes: Any, y: IndexArray, weight: FloatArray, seed: int) -> DistinctRows:
    """Equal rows of a sparse table of bits, with keys and order of one key as by `join_rows`.

    Some columns are made dense at a time.
    """
    columns = codes
    key = np.zeros(len(y), dtype=np.uint64)
    identity = level_words([0], y.astype(np.int64))
    all_one = np.zeros(len(y), dtype=np.intp)
    for begin in range(0, columns.shape[1], N_COLUMNS):
        bits = columns[:, begin : begin + N_COLUMNS].toarray().astype(np.int32)
        marks = column_fingerprints(bits, all_one, weight, [2] * bits.shape[1], 1)
        for j in np.flatnonzero((bits != bits[:1]).any(axis=0)):
            key += level_words([seed, marks[j]], bits[:, j])
            identity += level_words([1, begin + int(j)], bits[:, j])
    _, first, number = np.unique(mix_key(identity), return_index=True, return_inverse=True)
    order = _by_levels(codes, first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    first, number = first[order], rank[number.reshape(-1)]
    total = np.bincount(number, weight, len(first)).astype(np.float64)
    nothing = np.empty((len(first), 0), dtype=np.int32)
    return DistinctRows(nothing, y[first], total, mix_key(key)[first], number)


def _by_levels(codes: Any, rows: IndexArray) -> IndexArray:
    """Order of some rows of a sparse table of bits by their levels, the first column first."""
    table = sp.csr_array(codes)[rows]
    table.eliminate_zeros()
    table.sort_indices()
    n_columns = table.shape[1]
    ones = [
        (*table.indices[begin:end].tolist(), n_columns)
        for begin, end in pairwise(table.indptr.tolist())
    ]
    # an earlier 1 is more
    return np.array(sorted(range(len(ones)), key=ones.__getitem__, reverse=True), dtype=np.intp)
