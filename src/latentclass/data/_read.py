"""Read the columns of any supported container into plain arrays.

The result is the same for every container. A column is either *numbers* (float64, NaN where
missing) or *labels* (codes into a list of distinct labels, -1 where missing). `_schema` decides
what a column means for a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from os import PathLike
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array

from latentclass._types import BoolArray, CodeArray, FloatArray


class Numbers(NamedTuple):
    """A column of numbers; NaN where missing."""

    values: FloatArray


class Labels(NamedTuple):
    """A column of labels; code -1 where missing. `boolean` says that they are False and True."""

    codes: CodeArray
    labels: list[Any]
    boolean: bool = False
    categorical_dtype: bool = False


RawColumn = Numbers | Labels


def column_holes(raw: RawColumn) -> BoolArray:
    """Which cells of a column are missing."""
    if isinstance(raw, Numbers):
        return np.asarray(np.isnan(raw.values))
    return np.asarray(raw.codes < 0)


class RawTable(NamedTuple):
    """A table as the user passed it, read column by column or as one array of numbers.

    `matrix` is set if all columns are numbers in one array (dense or CSR), which is fast and
    common. Otherwise `read_column(j)` reads column j. `header` holds the original column names if
    some of them are not text. `lacking` names columns that the user's table had not: all their
    cells are missing, and that they are says nothing.
    """

    names: list[str]
    n_rows: int
    container: str
    matrix: FloatArray | sp.csr_array | None
    read_column: Callable[[int], RawColumn]
    named: bool
    header: tuple[Any, ...] | None = None
    lacking: tuple[str, ...] = ()

    def missing(self, j: int) -> BoolArray:
        """Which cells of column j are missing."""
        if self.matrix is not None:
            return np.asarray(np.isnan(self.matrix[:, j]))
        return column_holes(self.read_column(j))


def read_raw(X: Any, *, owner: str) -> RawTable:
    """Read `X`; `owner` is the name of the estimator, for messages.

    Raises
    ------
    ValueError
        If the table is empty, has duplicate column names, or has cells that cannot be read.
    """
    if sp.issparse(X):
        return _read_sparse(X, owner)
    X = as_frame(X)
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(X, owner)
    refuse_non_table(X, owner=owner)
    if are_records(X):
        return _read_records(X)
    return _read_array(X, owner)


def as_frame(X: Any) -> Any:
    """Return a pyarrow record batch as a pyarrow table, and anything else unchanged."""
    if type(X).__name__ == "RecordBatch" and type(X).__module__.startswith("pyarrow"):
        from pyarrow import Table

        return Table.from_batches([X])
    return X


def are_records(X: Any) -> bool:
    """Whether a table is a list of rows that are dicts."""
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], Mapping)


def refuse_non_table(X: Any, *, owner: str) -> None:
    """Refuse what has no rows and columns, with the messages of scikit-learn where they exist."""
    if type(X) is np.ndarray or nw.dependencies.is_into_dataframe(X):  # the usual case
        return
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is the text {_shown(str(X))}, not a table. If it names a file, read it first: "
            "X = latentclass.read_table(path)."
        )
    if isinstance(X, Mapping) and not sp.issparse(X):  # a sparse DOK matrix is a dict
        raise TypeError(
            "X is a dict, not a table. Wrap it in a list if it is one row: [X]. Convert it if it "
            "holds columns: pandas.DataFrame(X)."
        )
    if X is None or nw.dependencies.is_into_series(X):
        check_array(X, dtype=None)  # raises
    if isinstance(X, list | tuple) or sp.issparse(X):
        return
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        how = "X.collect()" if hasattr(X, "collect") else "make a data frame of it"
        raise TypeError(
            f"X is a lazy table ({type(X).__name__}), but {owner} needs its rows. "
            f"Collect it first: {how}."
        )


def listed_to_array(X: Any, name: str = "X") -> Any:
    """Return nested lists and masked arrays as a plain array, and anything else unchanged."""
    if isinstance(X, np.ma.MaskedArray):
        return unmask(X, np.float64 if X.dtype.kind in "fiu" else object)
    if not isinstance(X, list | tuple):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        _refuse_ragged(X, name)
        raise
    # numpy would turn the 1.5 of [[1.5, "red"]] into text, the True of [[1.5, True]] into 1.0
    mixed = array.dtype.kind in "US" or (array.dtype.kind in "fiu" and _hold_booleans(X))
    return np.array(X, dtype=object) if mixed else array


def unmask(array: Any, dtype: type) -> npt.NDArray[Any]:
    """Return a masked array as a plain one, since scikit-learn would ignore the mask."""
    plain: npt.NDArray[Any] = np.array(array.data, dtype=dtype)
    plain[np.ma.getmaskarray(array)] = None if dtype is object else np.nan
    return plain


def _hold_booleans(rows: Sequence[Any]) -> bool:
    return any(
        {bool, np.bool_} & set(map(type, row)) for row in rows if isinstance(row, list | tuple)
    )


def _refuse_ragged(rows: Sequence[Any], name: str) -> None:
    lengths = [len(row) if isinstance(row, Sequence | np.ndarray) else 1 for row in rows]
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        raise ValueError(
            f"Row {odd} of {name} has {lengths[odd]} cells, but row 0 has {lengths[0]}. Pass one "
            "cell per column in every row; None marks a missing cell."
        )


def default_names(n_columns: int) -> list[str]:
    """Return names for columns without names, as in scikit-learn: x0, x1, ..."""
    return [f"x{j}" for j in range(n_columns)]


def _read_sparse(X: Any, owner: str) -> RawTable:
    matrix = sp.csr_array(
        check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            estimator=owner,
        )
    )
    refuse_empty(matrix.shape, owner)
    if not matrix.has_canonical_format:
        # a cell may be stored in parts, as 1 + 1 for 2; the user's array must not change
        matrix = matrix.copy()
        matrix.sum_duplicates()
    names = default_names(matrix.shape[1])

    def read_column(j: int) -> RawColumn:
        return Numbers(matrix[:, [j]].toarray().ravel())

    return RawTable(names, matrix.shape[0], "sparse", matrix, read_column, named=False)


def _read_array(X: Any, owner: str) -> RawTable:
    array = listed_to_array(X)
    if isinstance(array, np.ndarray) and array.dtype.names is not None:
        raise TypeError(
            f"X is a structured array with fields {list(array.dtype.names)}. Convert it to a data "
            "frame: pandas.DataFrame(X)."
        )
    array = check_array(
        array,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        estimator=owner,
        input_name="X",
        copy=False,
    )
    refuse_empty(array.shape, owner)
    names = default_names(array.shape[1])
    if array.dtype.kind in "fiu":
        matrix = np.asarray(array, dtype=np.float64)

        def read_number_column(j: int) -> RawColumn:
            return Numbers(matrix[:, j])

        return RawTable(names, len(matrix), "numpy", matrix, read_number_column, named=False)

    def read_column(j: int) -> RawColumn:
        column = array[:, j]
        if column.dtype.kind == "b":
            return Labels(column.astype(np.int32), [False, True], boolean=True)
        if column.dtype.kind == "U":
            labels, codes = distinct_text(column)
            return Labels(codes, labels)
        return _read_objects(column.astype(object), names[j])

    return RawTable(names, len(array), "numpy", None, read_column, named=False)


def _read_records(rows: Sequence[Any]) -> RawTable:
    """Read rows that are dicts; a key that a row lacks is a missing cell."""
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(
                f"Row {i} of X is of type {type(row).__name__}, but other rows are dicts. Pass all "
                "rows as dicts, or all as lists."
            )
    keys = list(dict.fromkeys(key for row in rows for key in row))
    names = [str(key) for key in keys]
    _refuse_duplicates(names)

    def read_column(j: int) -> RawColumn:
        cells = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            cells[i] = row.get(keys[j])
        return _read_objects(cells, names[j])

    return RawTable(names, len(rows), "records", None, read_column, named=True)


def _read_frame(X: Any, owner: str) -> RawTable:
    # before narwhals, which refuses duplicate names with another message
    given = X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns
    names = [str(name) for name in given]
    if len(set(names)) < len(names):
        _refuse_duplicates(names)
    refuse_empty(X.shape, owner)
    container, kinds = _frame_types(X)
    columns: list[nw.Series[Any]] = []

    def read_series(j: int) -> RawColumn:
        if not columns:  # faster than one column at a time
            columns.extend(nw.from_native(X, eager_only=True).iter_columns())
        return _read_series(columns[j], names[j])

    matrix, read_column = None, read_series
    if container == "pandas" and all(kind == _FLOATS for kind in kinds):
        matrix = np.asarray(X.to_numpy(), dtype=np.float64)  # fast for wide frames
    elif len(X) <= FEW_ROWS and any(kind != _BY_LIBRARY for kind in kinds):
        cells = _cells(X, container)

        def read_cells(j: int) -> RawColumn:
            if kinds[j] == _BY_LIBRARY:
                return read_series(j)
            if kinds[j] == _FLOATS:
                return Numbers(cells[:, j].astype(np.float64))
            found = _read_objects(np.ascontiguousarray(cells[:, j]), names[j])
            if kinds[j] == _CATEGORIES and isinstance(found, Labels):
                found = found._replace(categorical_dtype=True)
            return found

        read_column = read_cells
    header = None if all(isinstance(name, str) for name in given) else tuple(given)
    lacking = _lacking(X) if container == "pyarrow" else ()
    return RawTable(names, len(X), container, matrix, read_column, True, header, lacking)


LACKING = b"latentclass.lacking"
"""Key in the metadata of a pyarrow column that stands for one which the user's file had not."""


def _lacking(X: Any) -> tuple[str, ...]:
    return tuple(field.name for field in X.schema if field.metadata and LACKING in field.metadata)


_FLOATS, _CELLS, _CATEGORIES, _BY_LIBRARY = range(4)
"""How a column of a few rows is read: as floats, cell by cell, or through its own library."""


def _frame_types(X: Any) -> tuple[str, list[int]]:
    """Return the library of a data frame, and how each column of a few rows is read.

    The cells of most types are plain numbers, text and booleans. For a few rows these are read at
    once: to ask the library about each column takes longer than all the rest of a prediction.
    """
    if nw.dependencies.is_pandas_dataframe(X):
        return "pandas", [_pandas_kind(dtype) for dtype in X.dtypes.array]
    if nw.dependencies.is_polars_dataframe(X):
        return "polars", [_polars_kind(dtype) for dtype in X.dtypes]
    frame = nw.from_native(X, eager_only=True)
    return str(frame.implementation), [_BY_LIBRARY] * len(frame.columns)


def _pandas_kind(dtype: Any) -> int:
    if isinstance(dtype, np.dtype):
        if dtype.kind in "fiu":
            return _FLOATS
        return _CELLS if dtype.kind in "bO" else _BY_LIBRARY
    if dtype.name == "category":
        # categories that are numbers are labels too, which only the library can tell
        return _CATEGORIES if dtype.categories.inferred_type == "string" else _BY_LIBRARY
    masked = getattr(dtype, "numpy_dtype", None)  # Int64, Float64, boolean, and pyarrow's types
    plain = dtype.name in ("str", "string") or (
        isinstance(masked, np.dtype) and masked.kind in "biuf" and "pyarrow" not in dtype.name
    )
    return _CELLS if plain else _BY_LIBRARY


def _polars_kind(dtype: Any) -> int:
    name = str(dtype.base_type())
    if name.startswith(("Int", "UInt", "Float")):
        return _FLOATS
    if name in ("Categorical", "Enum"):
        return _CATEGORIES
    return _CELLS if name in ("String", "Boolean") else _BY_LIBRARY


def _cells(X: Any, container: str) -> npt.NDArray[np.object_]:
    """The cells of a few rows as Python objects."""
    if container == "pandas":
        return np.asarray(X.to_numpy(dtype=object))
    cells: npt.NDArray[np.object_] = np.empty(X.shape, dtype=object)
    cells[:] = X.rows()
    return cells


def refuse_empty(shape: tuple[int, ...], owner: str) -> None:
    """Refuse a table without rows or columns."""
    if 0 in shape:
        # the message of scikit-learn, which users know and its checks expect
        what = "sample(s)" if shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required by "
            f"{owner}: the table is empty. Check the filter or join that made it."
        )


def _refuse_duplicates(names: Sequence[str]) -> None:
    repeated = sorted(name for name, n_times in Counter(names).items() if n_times > 1)
    if repeated:
        raise ValueError(
            f"Column names must differ, but {repeated} occur more than once. "
            "Rename or drop the duplicates."
        )


def _read_series(series: nw.Series[Any], name: str) -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric():
        return Numbers(_float_array(series))
    if dtype == nw.Boolean:
        numbers = _float_array(series)
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int32)
        return Labels(codes, [False, True], boolean=True)
    if dtype == nw.String:
        if len(series) <= FEW_ROWS:
            return _read_objects(np.array(series.to_list(), dtype=object), name)
        return dictionary_codes(series, categorical_dtype=False)
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
        return dictionary_codes(series, categorical_dtype=True)
    if dtype in (nw.Object, nw.Unknown):
        return _read_objects(np.asarray(series.to_numpy(), dtype=object), name)
    raise TypeError(
        f"Column {name!r} has type {dtype}, but only numbers, booleans, text and categories can be "
        "read. Convert it to numbers (a date to days since a fixed day) or drop it."
    )


def _float_array(series: nw.Series[Any]) -> FloatArray:
    floats = to_float64(series)
    native = floats.to_native()
    if series.implementation.is_pandas_like() and not isinstance(native.dtype, np.dtype):
        # pandas' own types have NA, which older versions do not convert to NaN by themselves
        return np.asarray(native.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(floats.to_numpy(), dtype=np.float64)


def to_float64(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return numbers or booleans as float64; whole numbers beyond 2**53 are rounded."""
    if not series.implementation.is_pyarrow():
        return series.cast(nw.Float64)
    native = series.to_native().cast("float64", safe=False)  # narwhals' cast would not round
    return nw.from_native(native, series_only=True).alias(series.name)  # type: ignore[no-any-return]


def dictionary_codes(series: nw.Series[Any], *, categorical_dtype: bool) -> Labels:
    """Return codes and labels of a column of text or categories, encoded by its own library."""
    native = series.to_native()
    if series.implementation.is_polars():
        if series.dtype == nw.String:
            native = series.cast(nw.Categorical()).to_native()
        codes = native.to_physical().cast(int).fill_null(-1).to_numpy()
        seen = native.drop_nulls().unique()
        labels = dict(zip(seen.to_physical().to_list(), seen.to_list(), strict=True))
    elif series.implementation.is_pyarrow():
        if not hasattr(native.type, "value_type"):  # text that is not a dictionary yet
            native = native.dictionary_encode()
        combined = native.unify_dictionaries().combine_chunks()
        codes = combined.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        labels = dict(enumerate(combined.dictionary.to_pylist()))
    elif series.dtype == nw.String:  # pandas and its likes
        codes, values = native.factorize()
        labels = dict(enumerate(values.tolist()))
    else:
        native = pandas_category(series)
        codes = native.cat.codes.to_numpy()
        labels = dict(enumerate(native.cat.categories.tolist()))
    # A dictionary may contain labels that no row uses, and in pyarrow null. Only labels that
    # occur are kept, so that all containers give the same categories.
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=1))
    kept = [code for code in used.tolist() if labels.get(code) is not None]
    place = np.full(int(codes.max()) + 2, -1, dtype=np.int32)  # code -1 selects the last
    place[kept] = np.arange(len(kept))
    return Labels(place[codes], [labels[code] for code in kept], False, categorical_dtype)


def pandas_category(series: nw.Series[Any]) -> Any:
    """Return a pandas column of text or categories with pandas' own category type."""
    native = series.to_native()
    if not hasattr(native, "cat") and series.dtype != nw.String:
        native = native.astype(object)  # pandas cannot cast a pyarrow dictionary with nulls
    return native.astype("category")


_MISSING, _NUMBER, _TEXT, _BOOL, _OTHER = range(5)

FEW_ROWS = 64
"""Text of so few rows is read cell by cell: to ask the data frame library takes longer."""

HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiplication by it loses nothing."""


def _kind_of_type(cell: type) -> int:
    # pandas' NA and NaT are recognised by name, because pandas need not be installed
    if cell is type(None) or cell.__name__ in ("NAType", "NaTType"):
        return _MISSING
    if issubclass(cell, bool | np.bool_):
        return _BOOL
    if issubclass(cell, str):
        return _TEXT
    return _NUMBER if issubclass(cell, int | float | np.integer | np.floating | Decimal) else _OTHER


def _cell_kinds(values: npt.NDArray[np.object_]) -> npt.NDArray[np.int8]:
    """Return the kind of each Python object; NaN counts as missing."""
    cells = values.tolist()
    kind_of = {cell: _kind_of_type(cell) for cell in set(map(type, cells))}
    found = set(kind_of.values())
    if len(found) == 1 and _NUMBER not in found:
        return np.full(len(cells), found.pop(), dtype=np.int8)
    kinds = np.fromiter(map(kind_of.__getitem__, map(type, cells)), np.int8, len(cells))
    numbers = np.flatnonzero(kinds == _NUMBER)
    if numbers.size:
        kinds[numbers[(values[numbers] != values[numbers]).astype(bool)]] = _MISSING
    return kinds


def missing_cells(values: npt.NDArray[np.object_]) -> BoolArray:
    """Return which Python objects stand for a missing value: None, NaN, NA, NaT."""
    return np.asarray(_cell_kinds(values) == _MISSING)


def _read_objects(values: npt.NDArray[np.object_], name: str) -> RawColumn:
    """Read a column of Python objects: all numbers, all text or all booleans, or missing."""
    kinds = _cell_kinds(values)
    present = kinds != _MISSING
    found = np.unique(kinds[present])
    if _OTHER in found:
        row = int(np.flatnonzero(kinds == _OTHER)[0])
        raise TypeError(
            f"Column {name!r}, row {row} holds {_shown(values[row])}, but a cell's argument must "
            f"be a string or a real number, not {type(values[row]).__name__!r}. Convert the column "
            "to numbers or text, or drop it."
        )
    if found.size > 1:
        rarest = min(found, key=lambda kind: int(np.sum(kinds == kind)))
        row = int(np.flatnonzero(kinds == rarest)[0])
        raise ValueError(
            f"Column {name!r} mixes numbers, text or booleans: row {row} holds "
            f"{_shown(values[row])}. Use one type per column; write missing cells as None or NaN."
        )
    codes = np.full(len(values), -1, dtype=np.int32)
    if found.size == 0:
        return Labels(codes, [])
    if found[0] == _NUMBER:
        return Numbers(_to_floats(values, present, name))
    if found[0] == _BOOL:
        codes[present] = values[present].astype(bool)
        return Labels(codes, [False, True], boolean=True)
    labels, codes[present] = distinct_text(values[present])
    return Labels(codes, labels)


def _to_floats(values: npt.NDArray[np.object_], present: BoolArray, name: str) -> FloatArray:
    numbers = np.full(len(values), np.nan)
    try:
        numbers[present] = values[present].astype(np.float64)
    except OverflowError:
        limit = int(np.finfo(np.float64).max)
        row = next(i for i in np.flatnonzero(present) if abs(values[i]) > limit)
        raise ValueError(
            f"Column {name!r}, row {row} holds {_shown(values[row])}, which is too large for a "
            "64-bit number. Rescale the column or convert it to text."
        ) from None
    return numbers


def distinct_text(values: npt.NDArray[Any]) -> tuple[list[str], CodeArray]:
    """Return the sorted distinct strings and the position of each: a np.unique that is faster."""
    if values.dtype.kind == "U":
        return _distinct_fixed(values)
    cells = values.tolist()
    labels = sorted(set(cells))
    place = {label: code for code, label in enumerate(labels)}
    codes = np.fromiter(map(place.__getitem__, cells), np.int32, len(cells))
    return list(map(str, labels)), codes


def _distinct_fixed(values: npt.NDArray[Any]) -> tuple[list[str], CodeArray]:
    """As `distinct_text`, for text of fixed width: numbers made of the characters are compared."""
    if not values.dtype.itemsize:  # all empty
        return [""] * bool(len(values)), np.zeros(len(values), dtype=np.int32)
    key = np.zeros(len(values), dtype=np.uint64)
    word = "u4" if values.dtype.itemsize % 8 else "u8"
    letters: npt.NDArray[np.uint64] = np.ascontiguousarray(values).view(word)
    for letter in letters.reshape(len(values), -1).T:
        key ^= letter
        key *= HASH_STEP
        key ^= key >> np.uint64(32)
    distinct = np.unique(key)
    number = np.searchsorted(distinct, key)
    first = np.empty(len(distinct), dtype=np.intp)
    first[number[::-1]] = np.arange(len(values))[::-1]  # the last that is written stays
    if not np.array_equal(values[first][number], values):  # two texts have one key: 2**-64
        labels, codes = np.unique(values, return_inverse=True)
        return labels.tolist(), codes.astype(np.int32)
    order = np.argsort(values[first])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    return values[first][order].tolist(), rank[number]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
