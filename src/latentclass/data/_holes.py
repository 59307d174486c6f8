"""Informative holes: companions of columns, which mark the cells that are missing."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from latentclass.data._match import free_name
from latentclass.data._schema import Column, Schema, Table


def mark_holes(schema: Schema, table: Table) -> tuple[Schema, Table]:
    """Give each column with holes a companion, which says "yes" where its cell is missing.

    Companions come after all columns. Columns that are missing in the same rows share one, because
    the same evidence must not count twice. A column without any value has none: it says nothing.

    Examples
    --------
    >>> from latentclass.data import learn_schema
    >>> schema, table = mark_holes(*learn_schema([[1.5, "red"], [None, "blue"]]))
    >>> schema.names
    ['x0', 'x1', 'x0 is missing']
    >>> table.codes.tolist()
    [[1, 0], [0, 1]]
    """
    if sp.issparse(table.numeric) or sp.issparse(table.codes):
        raise TypeError("missing_indicator=True needs a dense table. Pass X.toarray().")
    numeric, codes = table.block(slice(None))
    sharing: dict[bytes, list[int]] = {}
    for j, column in enumerate(schema.columns):
        if column.kind == "continuous":
            holes = np.isnan(numeric[:, schema.continuous.index(j)])
        else:
            holes = codes[:, schema.discrete.index(j)] < 0
        if column.observed and holes.any():
            sharing.setdefault(holes.tobytes(), []).append(j)
    columns, marks = list(schema.columns), []
    for packed, places in sharing.items():
        name = f"{schema.columns[places[0]].name} is missing"
        name = free_name(name, [column.name for column in columns])
        columns.append(Column(name, "binary", ("no", "yes"), marks=tuple(places)))
        marks.append(np.frombuffer(packed, dtype=bool).astype(np.int32)[:, None])
    marked = Schema(tuple(columns), schema.container, schema.header)
    return marked, Table(numeric, np.hstack([codes, *marks]))


def hide_marked(schema: Schema, table: Table) -> Table:
    """A drawn table without the cells that companions mark as missing."""
    markers = schema.markers
    if not markers:
        return table
    numeric, codes = (np.array(part) for part in table.block(slice(None)))
    for place, marker in zip(range(-len(markers), 0), markers, strict=True):
        rows = np.flatnonzero(codes[:, place] == 1)
        for j in marker.marks:
            if schema.columns[j].kind == "continuous":
                numeric[rows, schema.continuous.index(j)] = np.nan
            else:
                codes[rows, schema.discrete.index(j)] = -1
    return Table(numeric, codes)
