"""How the answers of a model change with one column, the other cells staying as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Block, Table
from latentclass.reports._bins import column_bins
from latentclass.reports._quality import COSTLY
from latentclass.reports._summary import Effect
from latentclass.reports._table import Rows, draw

MOST_ASKED, LEAST_ASKED = 100, 20
"""Rows whose cell is changed."""

MOST_CELLS = 8_000_000
"""Cells of all changed rows, roughly; a model with a weight in `COSTLY` gets fewer."""


def column_effects(model: Any, rows: Rows, columns: list[int]) -> dict[int, Effect]:
    """Mean probability of each class if all rows had a certain value in a column."""
    spent = 10 * len(columns) * len(rows.columns) * COSTLY.get(type(model).__name__, 1)
    n_asked = int(np.clip(MOST_CELLS / max(spent, 1), LEAST_ASKED, MOST_ASKED))
    base = rows.table.take(draw(np.arange(rows.n_rows), n_asked)).block(slice(None))
    found = {}
    for j in columns:
        values = rows.values(j)
        seen = values[~np.isnan(values)]
        bins, place = column_bins(rows, j, seen)
        middles = [_middle(seen[place == k], j in rows.schema.continuous) for k in range(len(bins))]
        asked = [k for k, value in enumerate(middles) if value is not None]
        if len(asked) < 2:
            continue
        told = np.full((len(rows.classes), len(bins)), np.nan)
        told[:, asked] = _answers(model, rows, base, j, [middles[k] for k in asked]).T
        found[j] = Effect(
            tuple(rows.classes),
            tuple(bins),
            tuple(tuple(None if np.isnan(v) else float(v) for v in line) for line in told),
            len(base.numeric),
        )
    return found


def _middle(values: FloatArray, continuous: bool) -> float | None:
    """The value that stands for a bin; None if it is empty or joins several categories."""
    if not len(values) or (not continuous and (values != values[0]).any()):
        return None
    return float(np.median(values))


def _answers(model: Any, rows: Rows, base: Block, j: int, values: list[Any]) -> FloatArray:
    """Mean probability of each class over some rows for each value of a column."""
    n_rows = len(base.numeric)
    numeric, codes = np.tile(base.numeric, (len(values), 1)), np.tile(base.codes, (len(values), 1))
    changed = np.repeat(np.array(values), n_rows)
    if j in rows.schema.continuous:
        numeric[:, rows.schema.continuous.index(j)] = changed
    else:
        codes[:, rows.schema.discrete.index(j)] = changed.astype(codes.dtype)
    proba: FloatArray = model._posterior(Table(numeric, codes))
    return np.asarray(proba.reshape(len(values), n_rows, -1).mean(axis=1))
