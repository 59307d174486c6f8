"""What the numbers of a column have in common: all whole, none negative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from latentclass._types import BoolArray
from latentclass.data._schema import Schema, Table

FIRST_ROWS = 64
"""Rows that are looked at first: most columns with fractions have some there."""


def learn_number_facts(schema: Schema, table: Table) -> Schema:
    """Note which continuous columns hold only whole numbers, and which no negative one.

    Examples
    --------
    >>> from latentclass.data import learn_schema
    >>> schema = learn_number_facts(*learn_schema([[2.0, -0.5], [0.0, 1.0]]))
    >>> [(column.whole, column.non_negative) for column in schema.columns]
    [(True, True), (False, False)]
    """
    whole, non_negative = _sparse_facts(table) if sp.issparse(table.numeric) else _facts(table)
    columns = list(schema.columns)
    for place, j in enumerate(schema.continuous):
        if columns[j].observed:
            columns[j] = replace(
                columns[j], whole=bool(whole[place]), non_negative=bool(non_negative[place])
            )
    return replace(schema, columns=tuple(columns))


def narrow_number_facts(schema: Schema, table: Table) -> Schema:
    """The schema after more rows: a fact stays only if it is true of these too."""
    more = learn_number_facts(schema, table).columns
    return replace(
        schema,
        columns=tuple(
            replace(
                column,
                whole=column.whole and new.whole,
                non_negative=column.non_negative and new.non_negative,
            )
            for column, new in zip(schema.columns, more, strict=True)
        ),
    )


def _facts(table: Table) -> tuple[BoolArray, BoolArray]:
    numeric = np.asarray(table.numeric)
    whole = np.asarray(_are_whole(numeric[:FIRST_ROWS]).all(axis=0))
    for place in np.flatnonzero(whole):
        whole[place] = _are_whole(numeric[FIRST_ROWS:, place]).all()
    low, _ = table.ranges
    return whole, np.asarray(~(low < 0))


def _sparse_facts(table: Table) -> tuple[BoolArray, BoolArray]:
    numeric: Any = table.numeric

    def no_cell(wrong: BoolArray) -> BoolArray:
        return np.asarray(np.bincount(numeric.indices[wrong], minlength=numeric.shape[1]) == 0)

    return no_cell(~_are_whole(numeric.data)), no_cell(numeric.data < 0)


def _are_whole(values: Any) -> BoolArray:
    """Which cells hold a whole number, or nothing."""
    return np.asarray((values == np.floor(values)) | np.isnan(values))
