"""Read the columns of any supported container into plain arrays.

What comes out is the same for every container: a column is either *numbers* (float64, NaN where
missing) or *labels* (codes into a list of distinct labels, -1 where missing). What a column means
for a model is decided one layer up, in `_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


class Numbers(NamedTuple):
    """A column of numbers; NaN is missing."""

    values: FloatArray


class Labels(NamedTuple):
    """A column of labels; code -1 is missing, `boolean` tells False/True from text."""

    codes: IntArray
    labels: list[Any]
    boolean: bool = False
    categorical_dtype: bool = False


RawColumn = Numbers | Labels


class RawTable(NamedTuple):
    """A table as it was given, one column at a time or as one block of numbers.

    `matrix` is set when all columns are numbers in one array (dense or CSR): the fast way for the
    common case. Otherwise `read_column(j)` reads column j.
    """

    names: list[str]
    n_rows: int
    container: str
    matrix: FloatArray | sp.csr_array | None
    read_column: Callable[[int], RawColumn]
    named: bool


def read_raw(X: Any, *, owner: str) -> RawTable:
    """Read `X`; `owner` is the estimator's name for messages.

    Raises
    ------
    ValueError
        For an empty table, duplicate column names, or cells no column kind can hold.
    """
    if sp.issparse(X):
        return _read_sparse(X, owner)
    if nw.dependencies.is_into_dataframe(X):
        return _read_frame(X, owner)
    return _read_array(X, owner)


def listed_to_array(X: Any) -> Any:
    """Nested lists as an array, numbers kept as numbers; anything else as it is."""
    if not isinstance(X, list | tuple):
        return X
    array = np.asarray(X)
    # numpy would turn the 1.5 of [[1.5, "red"]] into text
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


def default_names(n_columns: int) -> list[str]:
    """Names for columns that came without: scikit-learn's x0, x1, ..."""
    return [f"x{j}" for j in range(n_columns)]


def _read_sparse(X: Any, owner: str) -> RawTable:
    matrix = sp.csr_array(
        check_array(
            X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, estimator=owner
        )
    )
    names = default_names(matrix.shape[1])

    def read_column(j: int) -> RawColumn:
        return Numbers(matrix[:, [j]].toarray().ravel())

    return RawTable(names, matrix.shape[0], "sparse", matrix, read_column, named=False)


def _read_array(X: Any, owner: str) -> RawTable:
    array = check_array(
        listed_to_array(X),
        dtype=None,
        ensure_all_finite=False,
        estimator=owner,
        input_name="X",
        copy=False,
    )
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
        return _read_objects(column.astype(object), names[j])

    return RawTable(names, len(array), "numpy", None, read_column, named=False)


def _read_frame(X: Any, owner: str) -> RawTable:
    columns = getattr(X, "columns", None)
    given = list(columns) if columns is not None and not callable(columns) else []
    if hasattr(X, "column_names"):  # pyarrow
        given = list(X.column_names)
    _refuse_duplicates([str(name) for name in given])
    frame = nw.from_native(X, eager_only=True)
    names = [str(name) for name in frame.columns]
    n_rows, n_columns = frame.shape
    if n_rows == 0 or n_columns == 0:
        # scikit-learn's words, so that users and its checks meet the sentence they know
        what = f"0 sample(s) (shape={frame.shape})" if n_rows == 0 else ""
        what = what or f"0 feature(s) (shape={frame.shape})"
        raise ValueError(
            f"Found array with {what} while a minimum of 1 is required by {owner}: "
            "the table is empty. Check the filter or join that made it."
        )

    def read_column(j: int) -> RawColumn:
        return _read_series(frame[:, j], names[j])

    container = str(frame.implementation)
    return RawTable(names, n_rows, container, None, read_column, named=True)


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    repeated = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if repeated:
        raise ValueError(
            f"Column names must differ, but {repeated} occur more than once. "
            "Rename or drop the copies."
        )


def _read_series(series: nw.Series[Any], name: str) -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric():
        numbers = series.cast(nw.Float64).to_numpy()
        return Numbers(np.asarray(numbers, dtype=np.float64))
    if dtype == nw.Boolean:
        numbers = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        codes = np.where(np.isnan(numbers), -1, numbers).astype(np.int32)
        return Labels(codes, [False, True], boolean=True)
    if dtype == nw.String:
        return _dictionary_codes(series.cast(nw.Categorical()), categorical_dtype=False)
    if dtype == nw.Categorical or isinstance(dtype, nw.Enum):
        return _dictionary_codes(series, categorical_dtype=True)
    if dtype in (nw.Object, nw.Unknown):
        return _read_objects(np.asarray(series.to_numpy(), dtype=object), name)
    raise TypeError(
        f"Column {name!r} has type {dtype}: only numbers, booleans, text and categories can be "
        "read. Turn it into numbers (for a date: days since a fixed day) or drop it."
    )


def _dictionary_codes(series: nw.Series[Any], *, categorical_dtype: bool) -> Labels:
    """Codes and labels of a categorical column, from its library's own dictionary."""
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas and its likes
        codes = native.cat.codes.to_numpy()
        labels = native.cat.categories.tolist()
    elif hasattr(native, "to_physical"):  # polars
        codes = native.to_physical().cast(int).fill_null(-1).to_numpy()
        seen = native.drop_nulls().unique()
        labels = dict(zip(seen.to_physical().to_list(), seen.to_list(), strict=True))
    else:  # pyarrow
        combined = native.unify_dictionaries().combine_chunks()
        codes = combined.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        labels = combined.dictionary.to_pylist()
    # A dictionary may hold labels that no row uses: keep what occurs, so that all containers give
    # the same levels.
    used, inverse = np.unique(codes, return_inverse=True)
    kept = [labels[code] for code in used.tolist() if code >= 0]
    shift = 1 if used[0] < 0 else 0
    return Labels((inverse - shift).astype(np.int32), kept, categorical_dtype=categorical_dtype)


_MISSING, _NUMBER, _TEXT, _BOOL, _OTHER = range(5)


def _is_missing(value: Any) -> bool:
    # pandas' NA and NaT are known by name: pandas need not be installed
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


_is_missing_each = np.frompyfunc(_is_missing, 1, 1)


def missing_cells(values: npt.NDArray[np.object_]) -> npt.NDArray[np.bool_]:
    """Which of some Python objects stand for a missing value: None, NaN, NA, NaT."""
    missing: npt.NDArray[np.bool_] = _is_missing_each(values).astype(bool)
    return missing


def _cell_type(value: Any) -> int:
    if _is_missing(value):
        return _MISSING
    if isinstance(value, bool | np.bool_):
        return _BOOL
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, int | float | np.integer | np.floating):
        return _NUMBER
    return _OTHER


_cell_types = np.frompyfunc(_cell_type, 1, 1)


def _read_objects(values: npt.NDArray[np.object_], name: str) -> RawColumn:
    """Read a column of Python objects: all numbers, all text or all booleans, with holes."""
    types = _cell_types(values).astype(np.int8)
    present = types != _MISSING
    found = np.unique(types[present])
    if _OTHER in found:
        row = int(np.flatnonzero(types == _OTHER)[0])
        raise TypeError(
            f"Column {name!r}, row {row} holds {_shown(values[row])}: a cell's argument must be a "
            f"string or a real number, not {type(values[row]).__name__!r}."
        )
    if found.size > 1:
        rarest = min(found, key=lambda t: int(np.sum(types == t)))
        row = int(np.flatnonzero(types == rarest)[0])
        raise ValueError(
            f"Column {name!r} mixes numbers, text or booleans: row {row} holds "
            f"{_shown(values[row])}. Make the column one type; write missing cells as None or NaN."
        )
    if found.size == 0 or found[0] == _NUMBER:
        numbers = np.full(len(values), np.nan)
        numbers[present] = values[present].astype(np.float64)
        if found.size == 0:
            return Labels(np.full(len(values), -1, dtype=np.int32), [])
        return Numbers(numbers)
    codes = np.full(len(values), -1, dtype=np.int32)
    if found[0] == _BOOL:
        codes[present] = values[present].astype(bool)
        return Labels(codes, [False, True], boolean=True)
    labels, inverse = np.unique(values[present].astype(str), return_inverse=True)
    codes[present] = inverse
    return Labels(codes, labels.tolist())


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
