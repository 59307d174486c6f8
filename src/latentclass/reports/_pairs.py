"""Which columns go together, whatever the class."""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.reports._summary import ColumnPair
from latentclass.reports._table import Rows, draw

MOST_ROWS, MOST_COLUMNS, MOST_PAIRS = 5000, 200, 10
"""Rows and columns that are looked at, and pairs that are shown."""

N_INTERVALS, MOST_LEVELS = 6, 10
"""Intervals of a number, with about as many rows each, and categories; others are joined."""

WEAKEST = 0.2
"""Strength from which a pair is shown."""


def column_pairs(rows: Rows) -> tuple[ColumnPair, ...]:
    """The pairs of columns with the strongest association."""
    some = draw(np.arange(rows.n_rows), MOST_ROWS)
    columns = list(range(len(rows.columns)))[:MOST_COLUMNS]
    coded = np.stack([_levels(rows, j, some) for j in columns], axis=1)
    strength = cramers_v(coded)
    first, second = np.triu_indices(len(columns), k=1)
    values = strength[first, second]
    order = np.argsort(-values, kind="stable")[:MOST_PAIRS]
    return tuple(
        ColumnPair(rows.columns[first[k]], rows.columns[second[k]], float(values[k]))
        for k in order
        if values[k] >= WEAKEST
    )


def _levels(rows: Rows, j: int, some: IndexArray) -> IndexArray:
    """The interval or category of each cell; -1 where it is missing."""
    values = rows.values(j)[some]
    seen = ~np.isnan(values)
    out = np.full(len(values), -1, dtype=np.intp)
    if not seen.any():
        return out
    if j in rows.schema.continuous:
        cuts = np.unique(np.quantile(values[seen], np.arange(1, N_INTERVALS) / N_INTERVALS))
        out[seen] = np.searchsorted(cuts, values[seen], side="left")
        return out
    codes = values[seen].astype(int)
    ranks = np.argsort(np.argsort(-np.bincount(codes), kind="stable"), kind="stable")
    out[seen] = np.minimum(ranks[codes], MOST_LEVELS - 1)
    return out


def cramers_v(coded: IndexArray) -> FloatArray:
    """Cramér's V of all pairs of columns, corrected for chance (Bergsma 2013).

    `coded` (n_rows, n_columns) has levels from 0; -1 is missing. A pair is compared on the rows
    that have both. Two columns that never meet, or one that does not vary, have 0.
    """
    n_columns = coded.shape[1]
    hot = (coded[:, :, None] == np.arange(MOST_LEVELS)).reshape(len(coded), -1).astype(np.float32)
    meet = (hot.T @ hot).reshape(n_columns, MOST_LEVELS, n_columns, MOST_LEVELS)
    counts = np.ascontiguousarray(meet.transpose(0, 2, 1, 3), dtype=np.float64)
    down, across = counts.sum(axis=3), counts.sum(axis=2)
    n = down.sum(axis=2)
    expected = down[..., :, None] * across[..., None, :]
    parts = np.divide(counts**2, expected, out=np.zeros_like(counts), where=expected > 0)
    phi = np.maximum(parts.sum(axis=(2, 3)) - 1.0, 0.0)  # chi-square divided by n
    r, c = (down > 0).sum(axis=2), (across > 0).sum(axis=2)
    left = np.maximum(n - 1.0, 1.0)
    phi = np.maximum(phi - (r - 1) * (c - 1) / left, 0.0)
    r_fair, c_fair = r - (r - 1) ** 2 / left, c - (c - 1) ** 2 / left
    most = np.minimum(r_fair, c_fair) - 1.0
    share = np.divide(phi, most, out=np.zeros_like(phi), where=most > 0)
    return np.asarray(np.sqrt(np.clip(share, 0.0, 1.0)))
