"""From coded arrays back to the container a user works in."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass.data._read import Numbers, RawColumn, listed_to_array, read_raw
from latentclass.data._schema import Column, Schema, Table


def build_table(schema: Schema, table: Table) -> Any:
    """A new table in the container that the schema was learned from (numpy for sparse)."""
    columns = [_values(schema, table, j) for j in range(len(schema.columns))]
    if schema.container in ("numpy", "sparse"):
        as_numbers = all(_numeric_labels(column) for column in schema.columns)
        dtype = np.float64 if as_numbers else object
        out = np.empty((table.n_rows, len(columns)), dtype=dtype)
        for j, values in enumerate(columns):
            out[:, j] = values
        return out
    data = dict(zip(schema.names, (values.tolist() for values in columns), strict=True))
    frame = nw.from_dict(data, backend=schema.container)  # type: ignore[arg-type]
    casts = [
        nw.col(column.name).cast(nw.Categorical())
        for column in schema.columns
        if column.categorical_dtype
    ]
    return frame.with_columns(*casts).to_native()


def fill_missing(X: Any, schema: Schema, filled: Table, *, owner: str) -> Any:
    """A copy of `X` whose missing cells are taken from `filled`; all other cells are as given.

    Cells of columns that had no value in `fit` stay missing.
    """
    if sp.issparse(X):
        raise TypeError("complete takes a dense table: pass X.toarray().")
    raw = read_raw(X, owner=owner)
    holes = {
        j: np.flatnonzero(_missing(raw.read_column(j)))
        for j, column in enumerate(schema.columns)
        if column.observed
    }
    if raw.container == "numpy":
        return _fill_array(X, schema, filled, holes)
    frame = nw.from_native(X, eager_only=True)
    new = []
    for j, rows in holes.items():
        if rows.size:
            values = _values(schema, filled, j)[rows]
            new.append(_fill_series(frame[:, j], rows, values, schema.columns[j]))
    return frame.with_columns(*new).to_native()


def _fill_array(
    X: Any, schema: Schema, filled: Table, holes: dict[int, npt.NDArray[np.intp]]
) -> npt.NDArray[Any]:
    given = np.asarray(listed_to_array(X))
    if given.dtype.kind in "USb":  # a filled-in label may be longer; False/True may have holes
        given = given.astype(object)
    out = given.astype(np.float64) if given.dtype.kind in "fiu" else given.copy()
    for j, rows in holes.items():
        out[rows, j] = _values(schema, filled, j)[rows]
    return out


def _fill_series(
    series: nw.Series[Any], rows: npt.NDArray[np.intp], values: Any, column: Column
) -> nw.Series[Any]:
    if column.kind == "continuous":
        # an expected value is seldom a whole number
        return series.cast(nw.Float64).scatter(rows.tolist(), values.tolist())
    dtype = series.dtype
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
        plain = series.cast(nw.String).scatter(rows.tolist(), [str(v) for v in values])
        return plain.cast(dtype)
    return series.scatter(rows.tolist(), values.tolist())


def _values(schema: Schema, table: Table, j: int) -> npt.NDArray[Any]:
    column = schema.columns[j]
    if column.kind == "continuous":
        values: npt.NDArray[Any] = table.numeric[:, schema.continuous.index(j)]
        return values
    codes = table.codes[:, schema.discrete.index(j)]
    labels = np.empty(len(column.categories) + 1, dtype=object)
    labels[:-1] = column.categories  # code -1 picks the None at the end
    return labels[codes]


def _numeric_labels(column: Column) -> bool:
    return all(isinstance(label, int | float) for label in column.categories)


def _missing(raw: RawColumn) -> npt.NDArray[np.bool_]:
    if isinstance(raw, Numbers):
        return np.asarray(np.isnan(raw.values))
    return np.asarray(raw.codes < 0)
