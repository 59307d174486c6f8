"""What matters: the weight of each column over many rows, and its spread by class and group."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.estimator._explanation import Explanation
from latentclass.reports._structure import groups_of
from latentclass.reports._summary import ColumnWeight, Distribution, Importance
from latentclass.reports._table import Rows
from latentclass.reports._text import number, plain

MOST_DRAWN = 30
"""Columns whose spread is drawn; the others have their weight only."""

MOST_GROUPS, MOST_BINS, MOST_LEVELS = 8, 12, 10
"""Classes or groups of a chart, bins of a continuous column, categories of another."""


def weigh_columns(model: Any, rows: Rows, told: Explanation, predicted: IndexArray) -> Importance:
    """Mean absolute weight of each column over the explained rows, and how it is spread."""
    size = np.abs(told.weights)
    weights = np.where(np.isfinite(size), size, 0.0).mean(axis=0)
    target = [str(label) for label in told.target.tolist()]
    labels = [str(label) for label in model.classes_.tolist()]
    by_class = np.full((len(labels), len(weights)), np.nan)
    for k, label in enumerate(labels):
        mine = np.array([one == label for one in target])
        if mine.any():
            part = told.weights[mine]
            by_class[k] = np.where(np.isfinite(part), part, 0.0).mean(axis=0)
    known = rows.codes if (rows.codes >= 0).any() else predicted
    groups = groups_of(model, rows)
    order = np.argsort(-weights, kind="stable")
    columns = []
    for place, j in enumerate(order.tolist()):
        drawn = place < MOST_DRAWN and rows.schema.columns[j].observed
        columns.append(
            ColumnWeight(
                rows.columns[j],
                rows.schema.columns[j].kind,
                float(weights[j]),
                tuple(None if np.isnan(v) else float(v) for v in by_class[:, j]),
                spread(rows, j, rows.classes, known) if drawn else None,
                spread(rows, j, *groups) if drawn and groups is not None else None,
            )
        )
    return Importance(len(told.weights), rows.n_rows, tuple(columns))


def spread(rows: Rows, j: int, names: list[str], codes: IndexArray) -> Distribution | None:
    """How the cells of a column are spread in each group of rows."""
    values = rows.values(j)
    seen = ~np.isnan(values) & (codes >= 0)
    if not seen.any():
        return None
    counts = np.bincount(codes[seen], minlength=len(names))
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
    shown = shown[counts[shown] > 0]
    if j in rows.schema.continuous:
        bins, place = number_bins(values[seen], rows.decimals[j])
        middles = tuple(
            number(float(np.median(values[seen][codes[seen] == g])), rows.decimals[j])
            for g in shown
        )
    else:
        bins, place = level_bins(rows, j, values[seen].astype(int))
        middles = ()
    shares = []
    for g in shown:
        mine = np.bincount(place[codes[seen] == g], minlength=len(bins))
        shares.append(tuple(float(v) for v in mine / mine.sum()))
    return Distribution(
        tuple(names[g] for g in shown),
        tuple(bins),
        tuple(shares),
        middles,
        tuple(int(counts[g]) for g in shown),
    )


def number_bins(values: FloatArray, decimals: int) -> tuple[list[str], IndexArray]:
    """Intervals with round bounds, and the interval of each value; the outer two are open."""
    low, high = np.quantile(values, [0.01, 0.99])
    if not high > low:
        low, high = float(values.min()), float(values.max())
    if not high > low:
        return [number(float(low), decimals)], np.zeros(len(values), dtype=np.intp)
    step = round_step((high - low) / MOST_BINS)
    first = np.floor(low / step) + 1
    cuts = (first + np.arange(MOST_BINS + 1)) * step
    cuts = cuts[cuts < high]
    if not len(cuts):
        cuts = np.array([(low + high) / 2])
    digits = max(decimals, int(max(0, -np.floor(np.log10(step))))) if decimals else 0
    if step < 1 and not decimals:
        digits = 1
    text = [number(float(cut), digits) for cut in cuts]
    inner = [f"{a} to {b}" for a, b in pairwise(text)]
    bins = [f"below {text[0]}", *inner, f"{text[-1]} or more"]
    return bins, np.searchsorted(cuts, values, side="right")


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
