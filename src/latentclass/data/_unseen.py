"""Values of a table that were not seen in `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass.data._numbers import NumberCoder, label_codes
from latentclass.data._read import Numbers, RawColumn, RawTable, column_holes, read_raw
from latentclass.data._schema import Column, Schema, Table


def unseen_values(schema: Schema, X: Any, *, owner: str = "model") -> dict[str, dict[Any, int]]:
    """How often each discrete column of a table holds values that its schema does not know.

    Parameters
    ----------
    schema : Schema
    X : table with the columns of the schema
        Columns are found by name, or by position if one of the two tables has no names.
    owner : str
        Name of the estimator, for messages.

    Returns
    -------
    dict of str to dict
        For each column that has such values, the count of each of them, the most common first.
    """
    raw = read_raw(X, owner=owner)
    by_name = raw.named and schema.container not in ("numpy", "sparse")
    found = {}
    for j in schema.discrete:
        column = schema.columns[j]
        if column.marks or (by_name and column.name not in raw.names):
            continue
        place = raw.names.index(column.name) if by_name else j
        counts = _count_unseen(raw.read_column(place), column)
        if counts:
            found[column.name] = dict(sorted(counts.items(), key=lambda pair: -pair[1]))
    return found


def unseen_examples(schema: Schema, raw: RawTable, table: Table) -> dict[str, tuple[Any, int]]:
    """An unseen value of each column that holds some, and the number of its unseen cells.

    Parameters
    ----------
    schema : Schema
    raw : RawTable
        Its columns are those of the schema, in their order.
    table : Table
        The same rows, encoded by the schema.
    """
    found: dict[str, tuple[Any, int]] = {}
    if not isinstance(table.codes, np.ndarray):
        return found  # a sparse table of zeros and ones, where other values are an error
    for j, empty in zip(schema.discrete, (table.codes < 0).sum(axis=0), strict=True):
        column = schema.columns[j]
        if not empty or column.marks or not column.observed:
            continue
        cells = raw.read_column(j)
        if empty > column_holes(cells).sum():
            counts = _count_unseen(cells, column)
            found[column.name] = max(counts, key=lambda value: counts[value]), sum(counts.values())
    return found


def tell_unseen(name: str, example: Any, count: int) -> str:
    """A sentence about the cells of a column whose values were not seen in `fit`."""
    if count == 1:
        return (
            f"{name}: 1 cell holds {example!r}, which the model has not seen; it counts as missing."
        )
    return (
        f"{name}: {count:,} cells hold values that the model has not seen, such as {example!r}; "
        "they count as missing."
    )


def _count_unseen(raw: RawColumn, column: Column) -> dict[Any, int]:
    if isinstance(raw, Numbers):
        given = raw.values[~np.isnan(raw.values)]
        odd = given[NumberCoder(column.values).encode(given) < 0]
        values, counts = np.unique(odd, return_counts=True)
        whole = [int(value) if value.is_integer() else value for value in values.tolist()]
        return dict(zip(whole, counts.tolist(), strict=True))
    codes = label_codes(raw.labels, column.values)
    counts = np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.labels))
    found = zip(raw.labels, codes, counts.tolist(), strict=True)
    return {label: count for label, code, count in found if count and code < 0}
