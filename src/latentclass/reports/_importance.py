"""What matters: the weight of each column over many rows, and its spread by class and group."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._types import IndexArray
from latentclass.estimator._explanation import Explanation
from latentclass.reports._bins import column_bins
from latentclass.reports._effects import column_effects
from latentclass.reports._structure import groups_of
from latentclass.reports._summary import ColumnWeight, Distribution, Importance
from latentclass.reports._table import Rows
from latentclass.reports._text import number

MOST_DRAWN = 30
"""Columns whose spread is drawn; the others have their weight only."""

MOST_GROUPS = 8
"""Classes or groups of a chart."""


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
    top = [j for j in order.tolist()[:MOST_DRAWN] if rows.schema.columns[j].observed]
    effects = column_effects(model, rows, top)
    columns = []
    for j in order.tolist():
        drawn = j in top
        columns.append(
            ColumnWeight(
                rows.columns[j],
                rows.schema.columns[j].kind,
                float(weights[j]),
                tuple(None if np.isnan(v) else float(v) for v in by_class[:, j]),
                spread(rows, j, rows.classes, known) if drawn else None,
                spread(rows, j, *groups) if drawn and groups is not None else None,
                effects.get(j),
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
    bins, place = column_bins(rows, j, values[seen])
    middles: tuple[str, ...] = ()
    if j in rows.schema.continuous:
        middles = tuple(
            number(float(np.median(values[seen][codes[seen] == g])), rows.decimals[j])
            for g in shown
        )
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
