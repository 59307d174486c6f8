"""The table of a report: columns, kinds, and what is missing together."""

from __future__ import annotations

import numpy as np

from latentclass.estimator._unusual import missing_patterns
from latentclass.reports._bins import column_bins
from latentclass.reports._pairs import column_pairs
from latentclass.reports._summary import ColumnFacts, Data, FirstRow, MissingPattern
from latentclass.reports._table import Rows
from latentclass.reports._text import cut, percent

MOST_PATTERNS = 10
"""Sets of missing columns that are shown."""

FIRST_ROWS = 5
"""Rows that are shown as they are."""

TOP_LEVELS = 3
"""Categories of a column that are named."""


def describe_data(rows: Rows) -> Data:
    """Facts about each column, and the most common sets of missing cells."""
    columns = tuple(_column(rows, j) for j in range(len(rows.columns)))
    shown, of_row = missing_patterns(rows.table)
    order = rows.schema.continuous + rows.schema.discrete
    counts = np.bincount(of_row, minlength=len(shown))
    patterns = []
    for k in np.argsort(-counts, kind="stable").tolist():
        lacking = sorted(order[place] for place in np.flatnonzero(~shown[k]))
        if lacking:
            names = tuple(rows.columns[j] for j in lacking)
            patterns.append(MissingPattern(names, int(counts[k])))
    n_incomplete = sum(pattern.n_rows for pattern in patterns)
    return Data(
        columns,
        sum(column.n_missing for column in columns),
        rows.n_rows - n_incomplete,
        tuple(patterns[:MOST_PATTERNS]),
        len(patterns),
        column_pairs(rows),
        tuple(_first_row(rows, row) for row in range(min(rows.n_rows, FIRST_ROWS))),
    )


def _first_row(rows: Rows, row: int) -> FirstRow:
    code = int(rows.codes[row])
    label = rows.classes[code] if code >= 0 else ""
    cells = tuple(rows.decode(rows.block, row))
    return FirstRow(rows.names[row], label, cells, rows.ids[row] if rows.ids else "")


def _column(rows: Rows, j: int) -> ColumnFacts:
    values = rows.values(j)
    seen = values[~np.isnan(values)]
    missing = len(values) - len(seen)
    facts = (rows.columns[j], rows.schema.columns[j].kind, len(np.unique(seen)), missing)
    if not len(seen):
        return ColumnFacts(*facts, missing / len(values), "no value", ())
    if j in rows.schema.continuous:
        low, middle, high = (rows.cell(j, float(v)) for v in np.quantile(seen, [0, 0.5, 1]))
        text = f"{low} to {high}, median {middle}"
    else:
        counts = np.bincount(seen.astype(int))
        top = np.argsort(-counts, kind="stable")[:TOP_LEVELS]
        text = ", ".join(
            f"{cut(rows.cell(j, float(k)))} ({percent(counts[k] / len(seen))})"
            for k in top
            if counts[k]
        )
    bins, place = column_bins(rows, j, seen)
    shares = np.bincount(place, minlength=len(bins)) / len(seen)
    return ColumnFacts(*facts, missing / len(values), text, tuple(shares.tolist()))
