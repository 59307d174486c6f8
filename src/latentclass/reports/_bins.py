"""Bins of a column: intervals with round bounds, or its categories."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.reports._table import Rows, fewest_decimals
from latentclass.reports._text import number, plain

MOST_BINS, MOST_LEVELS = 12, 10
"""Bins of a continuous column, categories of another."""

MOST_DECIMALS = 9


def column_bins(rows: Rows, j: int, values: FloatArray) -> tuple[list[str], IndexArray]:
    """Names of the bins of a column, and the bin of each value; no value is missing."""
    if j in rows.schema.continuous:
        return number_bins(values, rows.decimals[j])
    return level_bins(rows, j, values.astype(int))


def number_bins(values: FloatArray, decimals: int) -> tuple[list[str], IndexArray]:
    """Intervals with round bounds, and the interval of each value; the outer two are open."""
    low, high = np.quantile(values, [0.01, 0.99])
    if not high > low:
        low, high = float(values.min()), float(values.max())
    if not high > low:
        return [number(float(low), decimals)], np.zeros(len(values), dtype=np.intp)
    step = round_step((high - low) / MOST_BINS)
    whole = decimals == 0
    if whole:
        low, high, step = np.floor(low), np.ceil(high), max(np.ceil(step), 1.0)
    first = np.floor(low / step) + 1
    cuts = (first + np.arange(MOST_BINS + 1)) * step
    cuts = cuts[cuts <= high] if whole else cuts[cuts < high]
    if not len(cuts):
        cuts = np.array([high if whole else (low + high) / 2])
    text = [number(float(cut), fewest_decimals(cuts, MOST_DECIMALS)) for cut in cuts]
    single = whole and step == 1  # each bin is one number
    inner = text[:-1] if single else [f"{a} to {b}" for a, b in pairwise(text)]
    bins = [f"below {text[0]}", *inner, f"{text[-1]} or more"]
    place = np.searchsorted(cuts, values, side="right")
    if single:
        for end in (0, len(cuts)):
            inside = np.unique(values[place == end])
            if len(inside) == 1:
                bins[end] = number(float(inside[0]), 0)
    return bins, place


def round_step(width: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    base = 10.0 ** np.floor(np.log10(width))
    return float(next(base * one for one in (1, 2, 2.5, 5, 10) if base * one >= width * 0.999))


def level_bins(rows: Rows, j: int, codes: IndexArray) -> tuple[list[str], IndexArray]:
    """The most common categories in their order, the others together."""
    levels = [plain(level) for level in rows.schema.columns[j].categories]
    if len(levels) <= MOST_LEVELS:
        return levels, codes
    counts = np.bincount(codes, minlength=len(levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
    place = np.full(len(levels), len(kept))
    place[kept] = np.arange(len(kept))
    rest = f"{len(levels) - len(kept)} other categories"
    return [*(levels[k] for k in kept), rest], place[codes]
