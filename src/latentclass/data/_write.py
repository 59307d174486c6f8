"""Write coded arrays back into the container of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import FloatArray, IndexArray
from latentclass.data._holes import hide_marked
from latentclass.data._numbers import EXACT
from latentclass.data._read import (
    RawTable,
    as_frame,
    column_holes,
    listed_to_array,
    pandas_category,
    read_raw,
    to_float64,
)
from latentclass.data._schema import Column, Schema, Table


def build_table(schema: Schema, table: Table, rng: np.random.Generator | None = None) -> Any:
    """Build a table in the container that the schema was learned from (numpy for sparse).

    A cell with the level of the rare values gets one of them, drawn by their shares, or without
    `rng` the most common one. In columns that held only whole numbers, numbers are rounded; in
    those that held no negative one, they are 0 instead. Cells that are marked as missing are.
    """
    table = hide_marked(schema, Table(*table.block(slice(None))))  # dense
    schema = Schema(schema.given, schema.container, schema.header)
    columns = [_values(schema, table, j, rng) for j in range(len(schema.columns))]
    if schema.container in ("numpy", "sparse"):
        return _build_array(schema, table, columns)
    data = dict(zip(schema.names, (values.tolist() for values in columns), strict=True))
    if schema.container == "records":
        return _to_records(data)
    for column in schema.columns:
        if any(isinstance(label, float) for label in column.values):
            data[column.name] = _to_floats(data[column.name])
    frame = nw.from_dict(data, backend=schema.container)  # type: ignore[arg-type]
    categories = [
        _to_categories(frame[column.name]) for column in schema.columns if column.categorical_dtype
    ]
    native = frame.with_columns(*categories).to_native()
    if schema.header is not None:
        native.columns = list(schema.header)
    return native


def write_chances(
    X: Any, schema: Schema, numeric: FloatArray, chances: list[FloatArray], *, owner: str
) -> Any:
    """Build a table of numbers in the container of `X`, with all columns in the order of `fit`.

    A continuous column has its numbers, a column with up to two categories the probability of the
    second, and any other one column for each category, named "column=category". Columns that had no
    value in `fit` stay missing.
    """
    _refuse_sparse(X)
    raw = read_raw(X, owner=owner)
    names: list[Any] = []
    columns: list[FloatArray] = []
    for j, column in enumerate(schema.given):
        if column.kind == "continuous":
            names.append(column.name)
            columns.append(numeric[:, schema.continuous.index(j)])
            continue
        chance = chances[schema.discrete.index(j)]
        if len(column.categories) <= 2:
            names.append(column.name)
            nothing = np.full(len(chance), 0.0 if column.observed else np.nan)
            columns.append(chance[:, 1] if len(column.categories) == 2 else nothing)
        else:
            names += [f"{column.name}={category}" for category in column.categories]
            columns += list(chance.T)
    if raw.container == "numpy":
        return np.stack(columns, axis=1)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Two columns of the result would be named {twice!r}. Rename a column of the table."
        )
    if raw.container == "records":
        return _to_records(
            {name: column.tolist() for name, column in zip(names, columns, strict=True)}
        )
    frame = nw.from_native(as_frame(X), eager_only=True)
    found = nw.from_dict(dict(zip(names, columns, strict=True)), backend=frame.implementation)
    native = found.to_native()
    if frame.implementation.is_pandas_like():
        native.index = X.index
        if schema.header is not None:
            own = dict(zip(schema.given_names, schema.header, strict=True))
            native.columns = [own.get(name, name) for name in names]
    return _as_given(X, native)


def fill_missing(X: Any, schema: Schema, filled: Table, *, owner: str) -> Any:
    """Return a copy of `X` whose missing cells are taken from `filled`.

    All other cells stay the same. Columns that had no value in `fit` stay missing. A column keeps
    its type unless that cannot hold the new cells: the expected value of whole numbers, for
    example, is rarely whole.
    """
    _refuse_sparse(X)
    raw = read_raw(X, owner=owner)
    places = _places(raw, schema)
    holes = {
        j: np.flatnonzero(column_holes(raw.read_column(place)))
        for j, place in places.items()
        if schema.columns[j].observed
    }
    cells = {j: _values(schema, filled, j)[rows] for j, rows in holes.items() if rows.size}
    if raw.container == "records":
        return _fill_records(X, {schema.names[j]: (holes[j], cells[j]) for j in cells})
    if raw.container == "numpy":
        out = np.array(listed_to_array(X))
        # only arrays of floats or objects can have missing cells, and floats cannot hold text
        if out.dtype.kind == "f" and any(isinstance(v[0], str) for v in cells.values()):
            out = out.astype(object)
        elif out.dtype.kind == "f" and any(_round(out.dtype, v) is None for v in cells.values()):
            out = out.astype(np.float64)
        for j, values in cells.items():
            out[holes[j], j] = values
        return out
    frame = nw.from_native(as_frame(X), eager_only=True)
    new = [
        _fill_series(frame[:, places[j]], holes[j], values, schema.columns[j].kind == "continuous")
        for j, values in cells.items()
    ]
    # cloned, because with_columns may share memory with its frame
    return _as_given(X, frame.clone().with_columns(*new).to_native())


def _places(raw: RawTable, schema: Schema) -> dict[int, int]:
    """Where a table has the columns of the schema: by name if it has names, else in order."""
    if raw.container == "records" or (raw.named and schema.named):
        own = {name: place for place, name in enumerate(raw.names)}
        return {j: own[name] for j, name in enumerate(schema.given_names) if name in own}
    return {j: j for j in range(len(schema.given))}


def _as_given(X: Any, table: Any) -> Any:
    """A pyarrow table as a record batch if `X` is one, and anything else unchanged."""
    if as_frame(X) is X:
        return table
    return table.combine_chunks().to_batches()[0]


def _to_records(data: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]


def _fill_records(
    rows: Sequence[Mapping[str, Any]], filled: dict[str, tuple[IndexArray, npt.NDArray[Any]]]
) -> list[dict[str, Any]]:
    """Copies of rows that are dicts, with new cells by name: their rows and values."""
    out = [dict(row) for row in rows]
    for name, (places, values) in filled.items():
        for i, value in zip(places.tolist(), values.tolist(), strict=True):
            out[i][name] = value
    return out


def _refuse_sparse(X: Any) -> None:
    if sp.issparse(X):
        raise TypeError("complete needs a dense table. Pass X.toarray().")


def _build_array(schema: Schema, table: Table, columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    labels = {type(label) for column in schema.columns for label in column.values}
    dtype: type = object
    if labels <= {int, float}:
        dtype = np.float64
    elif labels == {bool} and not schema.continuous and np.all(table.codes >= 0):
        dtype = bool
    out: npt.NDArray[Any] = np.empty((table.n_rows, len(columns)), dtype=dtype)
    for j, values in enumerate(columns):
        out[:, j] = values
    return out


def _to_floats(cells: list[Any]) -> list[Any]:
    # polars and pyarrow take the type of a column from its first cells: 1 before 0.5 would fail
    return [float(cell) if isinstance(cell, int | Decimal) else cell for cell in cells]


def _to_categories(series: nw.Series[Any]) -> nw.Series[Any]:
    if series.implementation.is_pyarrow():  # narwhals can only encode text
        return _named(series.to_native().dictionary_encode(), series.name)
    return series.cast(nw.Categorical())


def _fill_series(
    series: nw.Series[Any], rows: IndexArray, values: npt.NDArray[Any], continuous: bool
) -> nw.Series[Any]:
    dtype, cells = series.dtype, values.tolist()
    pandas_like = series.implementation.is_pandas_like()
    numbers = all(isinstance(cell, int | float) for cell in cells)
    text = all(isinstance(cell, str) for cell in cells)
    floats = _float_type(series)
    numeric = dtype.is_numeric() or floats is not None
    if numbers and (numeric or (dtype == nw.Boolean and continuous)):
        if not continuous and dtype.is_integer() and _in_range(dtype, cells):
            cells = [int(cell) for cell in cells]
        else:
            rounded = None if floats is None else _round(floats, cells)
            series = to_float64(series) if rounded is None else series
            cells = [float(cell) for cell in (cells if rounded is None else rounded)]
    elif dtype == nw.Boolean and set(cells) <= {0, 1}:
        cells = [bool(cell) for cell in cells]
    elif _is_categorical(dtype) and (text or not series.implementation.is_polars()):
        return _fill_categories(series, rows, cells)
    elif not (text and dtype == nw.String) and not (pandas_like and dtype == nw.Object):
        return _rebuild(series, rows, cells)
    if series.implementation.is_pyarrow():
        return _fill_arrow(series, rows, cells)
    return series.scatter(rows.tolist(), cells)


def _float_type(series: nw.Series[Any]) -> np.dtype[Any] | None:
    """The numpy type of a column of floats; None for other columns."""
    own = getattr(series.to_native(), "dtype", None)
    if isinstance(own, np.dtype):  # narwhals does not know all of them
        return own if own.kind == "f" else None
    return np.dtype(str(series.dtype).lower()) if series.dtype.is_float() else None


def _round(dtype: np.dtype[Any], cells: Any) -> npt.NDArray[Any] | None:
    """Round numbers to what a type of floats can hold; None if one is too large for it."""
    with np.errstate(over="ignore"):
        narrow = np.asarray(cells, dtype=np.float64).astype(dtype)
    return None if np.isinf(narrow).any() else narrow


def _is_categorical(dtype: Any) -> bool:
    return dtype == nw.Categorical or isinstance(dtype, nw.Enum)


def _in_range(dtype: Any, cells: list[Any]) -> bool:
    """Whether a type of whole numbers can hold these cells."""
    if not all(float(cell).is_integer() for cell in cells):
        return False
    bits = int("".join(filter(str.isdigit, str(dtype))))
    low = 0 if dtype.is_unsigned_integer() else -(2 ** (bits - 1))
    return bool(low <= min(cells) and max(cells) < low + 2**bits)


def _fill_categories(series: nw.Series[Any], rows: IndexArray, cells: list[Any]) -> nw.Series[Any]:
    """Fill a categorical column; new categories are added after its own."""
    if series.implementation.is_pyarrow():
        return _fill_arrow(series, rows, cells)
    if series.implementation.is_polars():
        dtype: Any = series.dtype
        if isinstance(dtype, nw.Enum):
            dtype = nw.Enum(list(dict.fromkeys([*dtype.categories, *cells])))
        return series.cast(nw.String).scatter(rows.tolist(), cells).cast(dtype)
    native = pandas_category(series)
    known = set(native.cat.categories)
    native = native.cat.add_categories([c for c in dict.fromkeys(cells) if c not in known])
    native.iloc[rows] = cells
    return _named(native, series.name)


def _fill_arrow(series: nw.Series[Any], rows: IndexArray, cells: list[Any]) -> nw.Series[Any]:
    """Fill a pyarrow column of any type; narwhals can only fill the common types."""
    native, pa = series.to_native(), series.__native_namespace__()
    own_type = native.type
    is_dictionary = _is_categorical(series.dtype)
    plain = native.cast(own_type.value_type) if is_dictionary else native
    if series.dtype == nw.String:
        plain = plain.cast(pa.large_string())  # pyarrow has no if_else for string views
    all_cells = np.full(len(native), None, dtype=object)
    all_cells[rows] = cells
    fill = pa.array(all_cells, type=plain.type)
    filled = pa.compute.if_else(pa.compute.is_valid(fill), fill, plain)
    if is_dictionary:
        filled = filled.dictionary_encode()
    return _named(filled.cast(own_type), series.name)


def _named(native: Any, name: str) -> nw.Series[Any]:
    series: nw.Series[Any] = nw.from_native(native, series_only=True).alias(name)
    return series


def _rebuild(series: nw.Series[Any], rows: IndexArray, cells: list[Any]) -> nw.Series[Any]:
    """Build a new column if the type cannot hold the cells, usually because all were missing."""
    if rows.size < len(series) and series.dtype not in (nw.Object, nw.Unknown):
        raise TypeError(
            f"Column {series.name!r} has type {series.dtype}, but another type in fit, so its "
            f"missing cells cannot hold {cells[0]!r}. Convert the column to the type it had in fit."
        )
    all_cells = np.array(series.to_numpy(), dtype=object)
    all_cells[rows] = cells
    new = all_cells.tolist()
    if any(isinstance(cell, float) for cell in cells) or any(isinstance(c, Decimal) for c in new):
        new = _to_floats(new)
    return nw.new_series(series.name, new, backend=series.implementation)


def _values(
    schema: Schema, table: Table, j: int, rng: np.random.Generator | None = None
) -> npt.NDArray[Any]:
    column = schema.columns[j]
    if column.kind == "continuous":
        values: npt.NDArray[Any] = table.numeric[:, schema.continuous.index(j)]
        return values if rng is None else _like_those_seen(column, values, schema.named)
    codes = table.codes[:, schema.discrete.index(j)]
    if column.spare:  # what value it is nobody knows
        codes = np.where(codes == len(column.seen), -1, codes)
    labels = np.empty(len(column.values) + 1, dtype=object)
    labels[:-1] = column.values  # code -1 selects the None at the end
    if column.rare and rng is not None:
        first = len(column.seen) - 1
        drawn = np.flatnonzero(codes == first)
        codes = codes.copy()
        codes[drawn] += rng.choice(len(column.rare), size=len(drawn), p=column.rare_shares)
    return labels[codes]


def _like_those_seen(column: Column, drawn: FloatArray, named: bool) -> npt.NDArray[Any]:
    """Numbers that were drawn, as whole or without negative ones as those of the column."""
    if column.non_negative:
        drawn = np.maximum(drawn, 0.0)
    if not column.whole:
        return drawn
    drawn = np.rint(drawn)
    exact = named and bool(np.all(np.abs(drawn) < EXACT))  # an array holds floats alone
    return drawn.astype(np.int64) if exact else drawn
