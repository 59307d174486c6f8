"""Content-based folds: which fold a row belongs to depends only on its values.

The random order of the rows comes from a hash of their levels, not from their position. So the
order of rows and columns and the names of the classes have no effect, and weight 2 is the same as
having the row twice. A fold is called a part here. The training set for a part is everything minus
that part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray

KeyArray = npt.NDArray[np.uint64]


class DistinctRows(NamedTuple):
    """The R distinct rows of a table: no two agree in all levels and the class.

    Attributes
    ----------
    codes : array of int of shape (R, n)
        Levels, -1 missing.
    y : array of int of shape (R,)
        Class codes, -1 unlabelled.
    weight : array of shape (R,)
        Total weight of the equal rows.
    key : array of uint64 of shape (R,)
        A hash of the levels.
    number : array of int of shape (n_rows,)
        For each row of the table, its place among the distinct rows.
    """

    codes: CodeArray
    y: IndexArray
    weight: FloatArray
    key: KeyArray
    number: IndexArray


def column_fingerprints(
    codes: CodeArray, y: IndexArray, weight: FloatArray, n_levels: Sequence[int], n_classes: int
) -> list[int]:
    """Return a hash of the contents of each column: the weight of its levels in each class.

    It does not depend on names, nor on the order of rows, columns or classes. Columns with the same
    counts have the same fingerprint.
    """
    marks = []
    for column, r in zip(codes.T, n_levels, strict=True):
        place = y * (r + 1) + np.where(column < 0, r, column)
        counts = np.bincount(place, weight, n_classes * (r + 1)).reshape(n_classes, r + 1)
        # further digits would depend on the order of summation
        shown = sorted(" ".join(f"{value:.9g}" for value in row) for row in counts.tolist())
        marks.append(crc32("|".join(shown).encode()))
    return marks


def distinct_rows(
    codes: CodeArray, y: IndexArray, weight: FloatArray, marks: Sequence[int], seed: int
) -> DistinctRows:
    """Join equal rows of the same class. Their hash depends on `seed` and `marks`.

    `marks` are the fingerprints of the columns.
    """
    first, number = _group(codes, y)
    codes, y = codes[first], y[first]
    key = np.zeros(len(codes), dtype=np.uint64)
    for j, mark in enumerate(marks):
        key += level_words([seed, mark], codes[:, j])
    key = mix_key(key)
    order = np.lexsort((key, y))
    if np.any((np.diff(key[order]) == 0) & (np.diff(y[order]) == 0)):
        # columns with equal fingerprints can give equal hashes: the levels break the tie
        order = np.lexsort((*codes.T[::-1], key, y))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    total = np.bincount(number, weight, len(y)).astype(np.float64)
    return DistinctRows(codes[order], y[order], total[order], key[order], rank[number])


def level_words(seed: list[int], column: npt.NDArray[np.integer]) -> KeyArray:
    """Return the random word of each cell: one word per level, and one for missing cells."""
    n_levels = int(column.max(initial=0)) + 1
    table = np.random.PCG64(seed).random_raw(n_levels + 1)
    # the word of missing cells, -1, is drawn first: it does not depend on the number of levels
    return np.asarray(table[column + 1])


def row_keys(numeric: FloatArray, codes: CodeArray, y: IndexArray, seed: int) -> KeyArray:
    """A hash of the contents of each row: the same for equal rows, whatever stands beside them."""
    key = level_words([seed, 0], y)
    for j, column in enumerate(codes.T):
        key += level_words([seed, 1, j], column)
    key = mix_key(key)
    for column in np.array(numeric.T, order="C"):
        column += 0.0  # -0.0 becomes 0.0
        column[np.isnan(column)] = np.nan  # and every NaN the same NaN
        # a step that loses nothing: rows that differ so far, or here, differ after it
        key ^= column.view(np.uint64)
        key *= np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return mix_key(key)


def _group(codes: CodeArray, y: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the first row of each distinct row, and for each row its distinct row."""
    key = level_words([0], y.astype(np.int64))
    for j in range(codes.shape[1]):
        key += level_words([1, j], codes[:, j])
    _, first, number = np.unique(mix_key(key), return_index=True, return_inverse=True)
    number = number.reshape(-1)
    same = np.array_equal(codes[first][number], codes) and np.array_equal(y[first][number], y)
    if not same:  # different rows have the same hash, with probability 2**-64 for each pair
        _, first, number = np.unique(
            np.column_stack([y, codes]), axis=0, return_index=True, return_inverse=True
        )
        number = number.reshape(-1)
    return first, number


def mix_key(key: KeyArray) -> KeyArray:
    """Mix the bits of a sum of random words (the finaliser of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(key ^ (key >> np.uint64(31)))


class FoldWeights(NamedTuple):
    """Weights of distinct rows in parts: `part[e]` holds weight `weight[e]` of row `row[e]`.

    Parts are numbered 0 to `n_parts` - 1. Rows in part `n_parts` are in every training set.
    """

    row: IndexArray
    part: IndexArray
    weight: FloatArray
    n_parts: int

    def held(self, part: int, n_rows: int) -> FloatArray:
        """Return the weight of each distinct row in a part."""
        mine = self.part == part
        return np.bincount(self.row[mine], self.weight[mine], n_rows).astype(np.float64)


def assign_folds(
    rows: DistinctRows, n_parts: int, salt: int, *, in_turn: bool = False
) -> FoldWeights:
    """Deal the rows of every class out to the parts in hashed order, one unit of weight at a time.

    A unit is a weight of 1, or the heaviest row of the class if that is lighter. So weights that
    are all multiplied by a small number are dealt as before. `salt` selects one of several random
    orders. Small classes would all land in the first part if every class began there. So a class
    begins at a hashed part, or, with `in_turn`, after the last part of the next lighter class.
    Then the parts have even weights over all classes, too, if the units are the same.
    """
    shuffled = mix_key(rows.key + np.uint64(salt))
    order = np.lexsort((shuffled, rows.y))
    y, weight = rows.y[order], rows.weight[order]
    starts = np.flatnonzero(np.r_[True, y[1:] != y[:-1]]) if len(y) else np.empty(0, dtype=np.intp)
    lengths = np.diff(np.append(starts, len(y)))
    heaviest = np.maximum.reduceat(weight, starts) if len(y) else weight
    unit = np.repeat(np.minimum(heaviest, 1.0), lengths)
    weight = weight / unit
    end = np.concatenate([np.cumsum(units) for units in np.split(weight, starts[1:])])
    first = shuffled[order][starts]
    if in_turn:
        # rounded up, so that a class begins with a whole unit
        total = np.ceil(end[starts + lengths - 1] - 1e-9)
        total[y[starts] < 0] = 0.0  # rows without a label take no turn
        turn = np.lexsort((first, total))
        begin = np.empty(len(starts))
        begin[turn] = np.cumsum(total[turn]) - total[turn]
    else:
        begin = (first % np.uint64(n_parts)).astype(float)
    end += np.repeat(begin % n_parts, lengths)
    start = end - weight
    row, part, share = _deal(start, end, n_parts)
    return FoldWeights(order[row], part, share * unit[row], n_parts)


def _deal(
    start: FloatArray, end: FloatArray, n_parts: int
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return which rows are dealt to which parts, and how much of each, sorted by part.

    Row r takes the units from `start[r]` to `end[r]`; they go to one part after the other.
    """
    first = np.floor(start).astype(np.intp)
    n_touched = np.minimum(np.ceil(end).astype(np.intp) - first, n_parts)
    rows, parts, shares = [], [], []
    for turn in range(int(n_touched.max(initial=0))):
        row = np.flatnonzero(n_touched > turn)
        part = (first[row] + turn) % n_parts
        share = _dealt(end[row], part, n_parts) - _dealt(start[row], part, n_parts)
        has = share > 1e-9 * (end[row] - start[row])
        rows.append(row[has])
        parts.append(part[has])
        shares.append(share[has])
    none = np.empty(0, dtype=np.intp)
    row, part = np.concatenate([none, *rows]), np.concatenate([none, *parts])
    by_part = np.lexsort((row, part))
    return row[by_part], part[by_part], np.concatenate([np.empty(0), *shares])[by_part]


def _dealt(amount: FloatArray, part: IndexArray, n_parts: int) -> FloatArray:
    """Return how much of the first `amount` units is dealt to a part."""
    rounds, rest = np.divmod(amount, n_parts)
    return np.asarray(rounds + np.clip(rest - part, 0.0, 1.0))


def sample_units(rows: DistinctRows, n_units: int) -> FloatArray:
    """Return the weight of each row in a sample of `n_units` units, drawn in hashed order.

    Units are those of `assign_folds`, and the rows must all be of one class. With T the number of
    all units per unit of the sample, unit 0, T, 2 T, ... is drawn, rounded down. So a heavy row is
    drawn as often as its weight says. All rows are returned with their weights if they have no more
    units than asked for.

    Examples
    --------
    >>> y = np.zeros(3, dtype=np.intp)
    >>> rows = DistinctRows(np.zeros((3, 1), np.int32), y, np.array([6.0, 1.0, 1.0]), y, y)
    >>> sample_units(rows, 4)
    array([3., 1., 0.])
    """
    unit = min(float(rows.weight.max(initial=0.0)), 1.0)
    end = np.cumsum(rows.weight / unit) if unit > 0 else np.zeros(len(rows.weight))
    if not end.size or end[-1] <= n_units:
        return rows.weight
    drawn = np.floor(np.arange(n_units) * (end[-1] / n_units))

    def n_before(amount: FloatArray) -> FloatArray:
        """Drawn units among the first `amount` units."""
        last = np.searchsorted(drawn, amount, side="right") - 1
        return np.asarray(last + np.minimum(amount - drawn[last], 1.0))

    share = np.diff(n_before(np.concatenate([[0.0], end])))
    return np.asarray(np.where(share > 1e-9, share * unit, 0.0))


def given_parts(
    rows: DistinctRows, part: IndexArray, weight: FloatArray, n_parts: int
) -> FoldWeights:
    """Return the weights in given parts: `part` of each table row, -1 if in every training set."""
    part = np.where(part < 0, n_parts, part)
    pairs, entry = np.unique(rows.number * (n_parts + 1) + part, return_inverse=True)
    total = np.bincount(entry.reshape(-1), weight, len(pairs)).astype(np.float64)
    return FoldWeights(pairs // (n_parts + 1), pairs % (n_parts + 1), total, n_parts)
