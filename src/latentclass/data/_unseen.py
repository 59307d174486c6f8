"""Values of a table that were not seen in `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass.data._numbers import NumberCoder, label_codes
from latentclass.data._read import Numbers, RawColumn, read_raw
from latentclass.data._schema import Column, Schema


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
