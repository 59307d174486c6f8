"""Cut points of continuous columns by class entropy and minimum description length.

Fayyad and Irani [1]_ cut a set S of rows at the value T that minimises the class entropy of the two
halves, and then cut the halves. A cut is accepted if its gain exceeds the cost of describing it:

    Gain(T; S) > log2(N - 1) / N + Delta(T; S) / N
    Gain(T; S)  = Ent(S) - (N1 Ent(S1) + N2 Ent(S2)) / N
    Delta(T; S) = log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))

Here N, N1, N2 are the numbers of rows and k, k1, k2 the numbers of classes in S and its halves. A
row of weight w counts as w rows.

How it is made fast. The entropies depend only on class counts. So a column is first turned into
*entries*: the weight of each class at each distinct value. There are at most N of them, and few if
values repeat. Neighbouring values with rows of one and the same class are joined into one *block*,
because the best cut is never inside such a run: there the entropy is strictly concave in the number
of rows moved, so one end of the run is better (theorem 1 of [1]_). With f(c) = c log2 c,

    N1 Ent(S1) + N2 Ent(S2) = f(N1) + f(N2) - sum_k f(c1_k) - sum_k f(c2_k),

and an entry changes one term of each sum. So one cumulative sum over the entries of a segment
evaluates all its cuts, whatever the number of classes. All segments of the same depth, of many
columns, are evaluated together: the Python loop is over depths, and a step costs O(open entries).

References
----------
.. [1] Fayyad, U. M. and Irani, K. B. (1993). Multi-interval discretization of continuous-valued
   attributes for classification learning. IJCAI-93, 1022-1027.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray

BATCH_ENTRIES = 2**15
"""Number of entries of the columns that are cut together: large enough to make the overhead of
numpy calls negligible, small enough for the arrays to stay in the cache of a core."""

TIE = 1e-10
"""Cuts whose entropies differ by fewer bits per row are ties, and the lowest cut wins. So the order
of rows and classes, which affects rounding, does not affect the result. Sums of a million terms are
accurate to about 1e-11."""

_TINY = np.finfo(np.float64).tiny


class Cut(NamedTuple):
    """The cuts of one column.

    Attributes
    ----------
    points : array of shape (m,)
        Cut points in ascending order. A value equal to a cut point lies below it.
    gaps : array of shape (m, 2)
        The neighbouring values that each cut point separates. Any number from the first up to, but
        not including, the second makes the same cut.
    counts : array of shape (m + 1, n_classes)
        Weight of each class in each interval.
    """

    points: FloatArray
    gaps: FloatArray
    counts: FloatArray


class _Counts(NamedTuple):
    """Class weights of one column: `key` is n_classes * (place in `distinct`) + class."""

    distinct: FloatArray
    key: IndexArray
    weight: FloatArray


class _Entries(NamedTuple):
    """Entries of one or more columns laid end to end.

    `block`, `label` and `weight` (E,) are the block, class and weight of each entry, sorted by
    block. `low` and `high` (B,) are the smallest and largest values of each block. `offsets`
    (n_columns + 1,): column j has the blocks offsets[j] to offsets[j + 1] - 1.
    """

    block: IndexArray
    label: IndexArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
    offsets: IndexArray


def mdl_cut_points(
    values: npt.ArrayLike, y: npt.ArrayLike, weight: npt.ArrayLike, n_classes: int
) -> FloatArray:
    """Return the sorted cut points of one column by the criterion of Fayyad and Irani.

    Parameters
    ----------
    values : array of shape (n,)
        Finite numbers; rows with NaN are ignored.
    y : array of shape (n,)
        Class codes 0 to n_classes - 1.
    weight : array of shape (n,)
        Positive; weight 3 is the same as three copies of the row.
    n_classes : int

    Returns
    -------
    array
        Midpoints between neighbouring values; empty if no cut is accepted.

    Examples
    --------
    >>> mdl_cut_points([1, 2, 3, 4, 11, 12, 13, 14], [0, 0, 0, 0, 1, 1, 1, 1], np.ones(8), 2)
    array([7.5])
    """
    column = np.asarray(values, dtype=np.float64)
    (cut,) = cut_columns(
        [column], y, weight, n_classes
    )  # to its end: an error in its close is lost
    return cut.points


def bin_codes(values: npt.ArrayLike, cuts: npt.ArrayLike) -> CodeArray:
    """Return the interval of each value: 0 up to and including cuts[0], and so on; -1 for NaN.

    Examples
    --------
    >>> bin_codes([0.0, 2.5, 2.6, 9.0, np.nan], [2.5, 8.0])
    array([ 0,  0,  1,  2, -1], dtype=int32)
    """
    numbers = np.asarray(values, dtype=np.float64)
    codes = np.searchsorted(np.asarray(cuts, dtype=np.float64), numbers).astype(np.int32)
    codes[np.isnan(numbers)] = -1
    return codes


def class_entropy(counts: FloatArray) -> FloatArray:
    """Ent(S) of [1]_: entropy in bits of class counts along the last axis; 0 if all are 0."""
    total = counts.sum(axis=-1)
    bits = _f(total) - _f(counts).sum(axis=-1)
    return np.asarray(np.maximum(bits, 0.0) / np.maximum(total, _TINY))


def cut_columns(
    columns: Iterable[FloatArray], y: npt.ArrayLike, weight: npt.ArrayLike, n_classes: int
) -> Iterator[Cut]:
    """Cut many columns of the same rows independently; arguments as in `mdl_cut_points`."""
    labels = np.asarray(y, dtype=np.intp)
    weights: FloatArray | None = np.asarray(weight, dtype=np.float64)
    if np.all(weights == 1.0):
        weights = None  # counting is faster than summing
    waiting: list[_Counts] = []
    for values in columns:
        low = values.min() if len(values) else 0.0  # NaN if any value is
        if low != low:
            seen = ~np.isnan(values)
            part = None if weights is None else weights[seen]
            waiting.append(_count(values[seen], labels[seen], part, n_classes))
        else:
            waiting.append(_count(values, labels, weights, n_classes))
        if sum(len(counts.key) for counts in waiting) >= BATCH_ENTRIES:
            yield from _cut_entries(_join(waiting, n_classes), n_classes)
            waiting = []
    if waiting:
        yield from _cut_entries(_join(waiting, n_classes), n_classes)


# ------------------------------------------------------------------- from rows to entries


def _count(values: FloatArray, y: IndexArray, weight: FloatArray | None, n_classes: int) -> _Counts:
    """Return the weight of each class at each distinct value of a column without NaN."""
    n_rows = len(values)
    whole = _whole_numbers(values, 4 * n_rows // n_classes) if n_rows else None
    if whole is not None:  # no need to sort: count in a table of all whole numbers in the range
        distinct, key = whole
        key *= n_classes
        key += y
    else:
        order = np.argsort(values)
        values = values[order]
        is_new = _changes(values)
        distinct = values[is_new]
        key = np.cumsum(is_new)
        key -= 1
        key *= n_classes
        key += y[order]
        weight = None if weight is None else weight[order]
    if whole is None and len(distinct) == n_rows:  # the keys are sorted and distinct
        sums = np.ones(n_rows) if weight is None else weight
    elif len(distinct) * n_classes <= 4 * n_rows:
        table = np.bincount(key, weight)
        key = np.flatnonzero(table)
        sums = table[key].astype(np.float64)
    else:
        place = np.argsort(key, kind="stable")
        key = key[place]
        first = np.flatnonzero(_changes(key))
        rows = np.ones(n_rows) if weight is None else weight[place]
        key, sums = key[first], np.add.reduceat(rows, first)
    return _Counts(distinct, key, sums)


def _whole_numbers(values: FloatArray, limit: int) -> tuple[FloatArray, IndexArray] | None:
    """Return all whole numbers in the range of the values, and the place of each value.

    None if some values are not whole, or if the range is not shorter than `limit`.
    """
    low, high = float(values.min()), float(values.max())
    # from 2**53 on, low + 1 may not be a float
    if not (high - low < limit and max(-low, high) < 2.0**52):
        return None
    places = (values - low if low else values).astype(np.intp)
    if (places + low != values if low else places != values).any():
        return None
    return low + np.arange(int(high - low) + 1, dtype=np.float64), places


def _join(parts: list[_Counts], n_classes: int) -> _Entries:
    """Lay columns end to end, and join neighbouring values with rows of one and the same class."""
    shifts = np.cumsum([0, *(len(part.distinct) for part in parts)])
    key = np.concatenate(
        [part.key + shift * n_classes for part, shift in zip(parts, shifts[:-1], strict=True)]
    )
    weight = np.concatenate([part.weight for part in parts])
    level = key // n_classes
    label = key - level * n_classes
    is_new = _changes(level)
    first = np.flatnonzero(is_new)  # first entry of each value that occurs
    used = level[first]
    low = high = np.concatenate([part.distinct for part in parts])[used]
    offsets = np.searchsorted(used, shifts)
    pure = np.append(is_new, True)[first + 1]
    own = label[first]
    same = np.zeros(len(first), dtype=bool)  # the value joins the block of the previous one
    same[1:] = pure[1:] & pure[:-1] & (own[1:] == own[:-1])
    same[offsets[:-1][offsets[:-1] < offsets[1:]]] = False
    if same.any():
        high = high[np.append(~same[1:], True)]
        low = low[~same]
        offsets = np.append(0, np.cumsum(~same))[offsets]
        kept = np.ones(len(key), dtype=bool)
        kept[first[same]] = False  # the single entry of such a value joins an earlier entry
        weight = np.add.reduceat(weight, np.flatnonzero(kept))
        label, is_new = label[kept], is_new[kept]
    return _Entries(np.cumsum(is_new) - 1, label, weight, low, high, offsets)


def _changes(ordered: npt.NDArray[Any]) -> BoolArray:
    """Mark the first value, and values that differ from the previous one."""
    out = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=out[1:])
    return out


# ---------------------------------------------------------------------- from entries to cuts


def _cut_entries(entries: _Entries, n_classes: int) -> Iterator[Cut]:
    block, label, weight, low, high, offsets = entries
    n_blocks, n_columns = len(low), len(offsets) - 1
    ends = _find_cuts(entries, n_classes)  # last block below each cut
    gaps = np.column_stack([high[ends], low[ends + 1]])
    points = _midpoints(gaps[:, 0], gaps[:, 1])
    n_cuts = np.bincount(np.searchsorted(offsets, ends, side="right") - 1, minlength=n_columns)
    cut_offsets = np.r_[0, np.cumsum(n_cuts)]
    # number the intervals of all columns: the number rises at each cut and at each new column
    rises = np.zeros(n_blocks + 1, dtype=np.intp)
    rises[ends + 1] = 1
    np.add.at(rises, offsets[1:-1], 1)
    interval = np.cumsum(rises)[block]
    n_intervals = len(ends) + n_columns
    counts = _table(interval, label, weight, (n_intervals, n_classes))
    for j in range(n_columns):
        own = slice(cut_offsets[j], cut_offsets[j + 1])
        yield Cut(points[own], gaps[own], counts[own.start + j : own.stop + j + 1])


class _Open(NamedTuple):
    """Entries of the segments that can still be cut, sorted by segment and block.

    `before` is the weight of the same class below the entry in its column. `up_to` is the weight of
    all classes up to and including the entry, summed over all columns.
    """

    segment: IndexArray
    block: IndexArray
    label: IndexArray
    weight: FloatArray
    before: FloatArray
    up_to: FloatArray


class _Segments(NamedTuple):
    """Ranges of blocks: first and last block, class weights inside and below it in the column."""

    first: IndexArray
    last: IndexArray
    totals: FloatArray
    base: FloatArray


def _find_cuts(entries: _Entries, n_classes: int) -> IndexArray:
    """Return the blocks after which there is a cut, in ascending order."""
    block, label, weight, low, _, offsets = entries
    n_columns = len(offsets) - 1
    found = np.zeros(len(low), dtype=bool)
    segment = np.repeat(np.arange(n_columns), np.diff(offsets))[block]  # at first, one per column
    before = _weight_before(segment * n_classes + label, weight)
    open_ = _Open(segment, block, label, weight, before, np.cumsum(weight))
    totals = _table(segment, label, weight, (n_columns, n_classes))
    segments = _Segments(offsets[:-1], offsets[1:] - 1, totals, np.zeros_like(totals))
    open_, segments = _keep(open_, segments, np.ones(n_columns, dtype=bool))
    while len(segments.totals):
        cut = _best_cuts(open_, segments)
        half = 2 * open_.segment + (open_.block > cut[open_.segment])
        totals = _table(half, open_.label, open_.weight, (2 * len(cut), n_classes))
        pays = _cut_pays(segments.totals, totals)
        found[cut[pays]] = True
        # the halves are the segments of the next depth, in the same order
        first, last = segments.first.repeat(2), segments.last.repeat(2)
        first[1::2], last[::2] = cut + 1, cut
        base = np.empty_like(totals)
        base[::2] = segments.base
        np.add(segments.base, totals[::2], out=base[1::2])
        halves = _Segments(first, last, totals, base)
        open_, segments = _keep(open_._replace(segment=half), halves, pays.repeat(2))
    return np.flatnonzero(found)


def _keep(open_: _Open, segments: _Segments, wanted: BoolArray) -> tuple[_Open, _Segments]:
    """Keep the wanted segments with at least two rows, two classes and two blocks."""
    totals = segments.totals
    wanted = wanted & (segments.first < segments.last)
    wanted &= (totals.sum(axis=1) >= 2.0) & ((totals > 0).sum(axis=1) > 1)
    if wanted.all():
        return open_, segments
    rows = wanted[open_.segment].nonzero()[0]  # indexing by place is faster than by a mask
    number = wanted.cumsum() - 1
    entries: Any = (array[rows] for array in open_)
    left: Any = (array[wanted] for array in segments)
    segment, *rest = entries
    return _Open(number[segment], *rest), _Segments(*left)


def _best_cuts(open_: _Open, segments: _Segments) -> IndexArray:
    """Return the last block below the best cut of each segment."""
    segment, block, label, weight, before, up_to = open_
    place = segment * segments.totals.shape[1] + label
    whole = segments.totals.ravel()[place]
    # weight of the class below the entry, without and with it; clipped because of rounding
    moved = np.maximum(before - segments.base.ravel()[place], 0.0)
    after = np.minimum(moved + weight, whole)
    # change of sum_k f(c1_k) + sum_k f(c2_k) when the entry moves from above to below the cut
    change = _f(after) + _f(whole - after) - _f(moved) - _f(np.maximum(whole - moved, 0.0))
    numbers = np.arange(len(segments.totals))
    first = segment.searchsorted(numbers)
    sum_f = change.cumsum()
    ends = ((block[1:] != block[:-1]) & (segment[1:] == segment[:-1])).nonzero()[0]
    owner = segment[ends]  # a segment has at least two blocks, so it occurs here
    size = segments.totals.sum(axis=1)
    below = up_to[ends] - (up_to[first] - weight[first])[owner]
    above = np.maximum(size[owner] - below, 0.0)
    bits = _f(below) + _f(above) - (sum_f[ends] - (sum_f[first] - change[first])[owner])
    least = np.minimum.reduceat(bits, owner.searchsorted(numbers))
    good = (bits <= (least + TIE * size)[owner]).nonzero()[0]
    lowest = good[owner[good].searchsorted(numbers)]
    return np.asarray(block[ends[lowest]])


def _cut_pays(totals: FloatArray, halves: FloatArray) -> BoolArray:
    """Whether the gain of each cut exceeds the cost of describing it (see the top of this file).

    Rows 2s and 2s + 1 of `halves` are the halves of segment s.
    """
    counts = np.concatenate([totals, halves[::2], halves[1::2]])
    n, n1, n2 = counts.sum(axis=1).reshape(3, -1)
    entropy, entropy1, entropy2 = class_entropy(counts).reshape(3, -1)
    k, k1, k2 = (counts > 0).sum(axis=1, dtype=np.float64).reshape(3, -1)
    gain = entropy - (n1 * entropy1 + n2 * entropy2) / n
    # log2(3^k - 2), without computing 3^k, which overflows at 647 classes
    log_partitions = k * np.log2(3.0) + np.log1p(-2.0 * 3.0**-k) / np.log(2.0)
    delta = log_partitions - (k * entropy - k1 * entropy1 - k2 * entropy2)
    return np.asarray(gain - (np.log2(n - 1.0) + delta) / n > TIE)


def _f(count: FloatArray) -> FloatArray:
    """f(c) = c log2 c, and 0 at 0."""
    return np.asarray(count * np.log2(np.maximum(count, _TINY)))


def _table(
    row: IndexArray, label: IndexArray, weight: FloatArray, shape: tuple[int, int]
) -> FloatArray:
    """Sum the weights of each row and class."""
    sums = np.bincount(row * shape[1] + label, weight, minlength=shape[0] * shape[1])
    return sums.astype(np.float64, copy=False).reshape(shape)


def _weight_before(group: IndexArray, weight: FloatArray) -> FloatArray:
    """Return the sum of the weights of the previous entries of the same group."""
    short = len(group) > 0 and int(group.max()) < 2**16  # 16-bit integers are sorted much faster
    order = np.argsort(group.astype(np.uint16) if short else group, kind="stable")
    ordered = weight[order]
    sums = np.cumsum(ordered) - ordered
    is_new = _changes(group[order])
    out = np.empty(len(weight))
    out[order] = sums - sums[is_new][np.cumsum(is_new) - 1]
    return out


def _midpoints(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middle of neighbouring values: at least the lower, and below the higher."""
    with np.errstate(over="ignore"):
        middle = (low + high) / 2.0
    middle = np.where(np.isfinite(middle), middle, low / 2.0 + high / 2.0)
    # with no float in between, the middle rounds to one of the two: take the lower
    return np.asarray(np.where((low <= middle) & (middle < high), middle, low) + 0.0)
