"""What a table's columns mean, and the coded arrays that models work on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._numbers import EXACT, DistinctNumbers, NumberCoder
from latentclass.data._read import Labels, Numbers, RawTable, read_raw

Kind = Literal["continuous", "binary", "nominal"]

BLOCK_CELLS = 2**17
"""Cells of one block of rows: small enough to stay in a core's cache, large enough that the cost
of a Python call per block does not show. Blocks are the same whatever `n_jobs`, so sums over them
are too."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"continuous", "binary", "nominal"}
    categories : tuple
        The values of a binary or nominal column in the order of their codes; empty for a
        continuous column.
    observed : bool
        False if the column had no value at all in `fit`: whatever it holds later is missing too.
    categorical_dtype : bool
        Whether the column came as a data frame's category type (`sample` gives it back so).
    """

    name: str
    kind: Kind
    categories: tuple[Any, ...] = ()
    observed: bool = True
    categorical_dtype: bool = False


class Block(NamedTuple):
    """Some rows of a `Table`, dense."""

    numeric: FloatArray
    codes: CodeArray


@dataclass(frozen=True)
class Table:
    """A table as arrays: what every engine takes.

    Attributes
    ----------
    numeric : array of shape (n_rows, n_continuous), or CSR array
        Values of the continuous columns; NaN is missing.
    codes : array of shape (n_rows, n_discrete), or CSR array
        Codes of the binary and nominal columns; -1 is missing.
    """

    numeric: FloatArray | sp.csr_array
    codes: CodeArray | sp.csr_array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numeric.shape[0])

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """The rows given by index or mask."""
        return Table(self.numeric[rows], self.codes[rows])

    def spans(self, *, extra_columns: int = 0, least: int = 16) -> list[slice]:
        """Row ranges of the blocks, in order.

        Blocks leave room for `extra_columns` more columns and have at least `least` rows.
        """
        n_columns = self.numeric.shape[1] + self.codes.shape[1] + extra_columns
        return block_spans(self.n_rows, n_columns, least)

    def block(self, rows: slice) -> Block:
        """Some consecutive rows as dense arrays in C order."""
        return Block(_dense(self.numeric[rows], np.float64), _dense(self.codes[rows], np.int32))

    def blocks(self) -> Iterator[Block]:
        """All rows, a block at a time."""
        return (self.block(rows) for rows in self.spans())


def block_spans(n_rows: int, n_columns: int, least: int = 16) -> list[slice]:
    """Ranges of consecutive rows of about `BLOCK_CELLS` cells each."""
    size = max(min(BLOCK_CELLS // max(n_columns, 1), 2**14), least)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _dense(part: Any, dtype: type) -> Any:
    return part.toarray().astype(dtype) if sp.issparse(part) else np.ascontiguousarray(part)


@dataclass(frozen=True)
class Schema:
    """Names, kinds and categories of a table's columns, learned in `fit`.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the table.
    container : str
        What the table was: "numpy", "sparse", "pandas", "polars", "pyarrow".
    header : tuple or None
        The column names as the table had them, if some are not text (`sample` gives them back).
    """

    columns: tuple[Column, ...]
    container: str
    header: tuple[Any, ...] | None = None
    continuous: tuple[int, ...] = field(init=False)
    discrete: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        kinds = [column.kind for column in self.columns]
        numeric = tuple(j for j, kind in enumerate(kinds) if kind == "continuous")
        coded = tuple(j for j, kind in enumerate(kinds) if kind != "continuous")
        object.__setattr__(self, "continuous", numeric)
        object.__setattr__(self, "discrete", coded)

    @property
    def names(self) -> list[str]:
        """Column names."""
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each column by name."""
        return {column.name: column.kind for column in self.columns}

    @property
    def n_levels(self) -> IndexArray:
        """Number of categories of each binary or nominal column."""
        return np.array([len(self.columns[j].categories) for j in self.discrete], dtype=np.intp)

    def encode(self, X: Any, *, handle_unknown: str = "missing", owner: str = "model") -> Table:
        """Code a table by this schema.

        Parameters
        ----------
        X : table with the columns of this schema, in its order
            Names are compared if both tables have them.
        handle_unknown : {"missing", "error"}
            A category not seen in `fit` is read as a missing value, or refused.
        owner : str
            Who asks, for messages.
        """
        return self._encode(read_raw(X, owner=owner), handle_unknown)

    def hide(self, table: Table, j: int) -> Table:
        """The table with column j missing in every row."""
        if self.columns[j].kind == "continuous":
            numeric = _dense(table.numeric, np.float64).copy()
            numeric[:, self.continuous.index(j)] = np.nan
            return Table(numeric, table.codes)
        codes = _dense(table.codes, np.int32).copy()
        codes[:, self.discrete.index(j)] = -1
        return Table(table.numeric, codes)

    def check_columns(self, raw: RawTable) -> None:
        """Refuse a table whose columns are not those of this schema, in its order."""
        if raw.named and self.container not in ("numpy", "sparse"):
            _refuse_other_names(raw.names, self.names)
        elif len(raw.names) != len(self.columns):
            raise ValueError(
                f"X has {len(raw.names)} columns, but {len(self.columns)} were seen in fit: "
                f"{_some(self.names)}. Pass those, in this order."
            )

    def _encode(self, raw: RawTable, handle_unknown: str) -> Table:
        self.check_columns(raw)
        if raw.matrix is not None:
            _refuse_infinite(raw.matrix, self.names)
        return self._code(raw, handle_unknown)

    def _code(self, raw: RawTable, handle_unknown: str) -> Table:
        """`_encode` without the checks that `learn_schema` has made."""
        if raw.matrix is not None:
            return self._encode_matrix(raw, handle_unknown)
        numeric = np.empty((raw.n_rows, len(self.continuous)))
        codes = np.empty((raw.n_rows, len(self.discrete)), dtype=np.int32)
        for place, j in enumerate(self.continuous):
            numeric[:, place] = _numbers(raw.read_column(j), self.columns[j])
        for place, j in enumerate(self.discrete):
            codes[:, place] = _codes(raw.read_column(j), self.columns[j], handle_unknown)
        return Table(numeric, codes)

    def _encode_matrix(self, raw: RawTable, handle_unknown: str) -> Table:
        """All columns at once from one block of numbers."""
        matrix: Any = raw.matrix
        if sp.issparse(matrix):
            if all(column.kind == "continuous" and column.observed for column in self.columns):
                return Table(matrix, np.empty((raw.n_rows, 0), dtype=np.int32))
            if all(column.categories == (0, 1) for column in self.columns):
                _refuse_beyond_binary(matrix, self.names)
                return Table(np.empty((raw.n_rows, 0)), matrix)
            matrix = matrix.toarray()  # learned from a dense table, so it is not too large
        numeric = matrix if not self.discrete else matrix[:, self.continuous]
        unobserved = [not self.columns[j].observed for j in self.continuous]
        if any(unobserved):
            numeric = np.where(unobserved, np.nan, numeric)
        codes = np.empty((raw.n_rows, len(self.discrete)), dtype=np.int32)
        coders = [NumberCoder(self.columns[j].categories) for j in self.discrete]
        for rows in block_spans(raw.n_rows, len(self.columns)) if coders else []:
            by_column = np.ascontiguousarray(matrix[rows].T)  # its columns in one piece each
            coded = [
                coder.encode(by_column[j]) for j, coder in zip(self.discrete, coders, strict=True)
            ]
            codes[rows] = np.stack(coded, axis=1)
        if handle_unknown == "error":
            for place, j in enumerate(self.discrete):
                _refuse_unknown(codes[:, place], Numbers(matrix[:, j]), self.columns[j])
        return Table(numeric, codes)


def learn_schema(
    X: Any,
    *,
    categorical_features: Any = "from_dtype",
    weight: FloatArray | None = None,
    owner: str = "model",
) -> tuple[Schema, Table]:
    """Learn a table's schema, and code the table by it.

    Parameters
    ----------
    X : numpy array, scipy sparse, pandas, polars or pyarrow table, or nested lists
    categorical_features : "from_dtype", None or list
        "from_dtype": text, category and boolean columns are discrete, numbers continuous.
        None: all columns are continuous. A list of names, of positions, or a mask: those columns
        are discrete, all others continuous.
    weight : array of shape (n_rows,), optional
        Rows of weight 0 are left out, as if they were not in the table.
    owner : str
        Who asks, for messages.

    Examples
    --------
    >>> schema, table = learn_schema([[1.5, "red"], [None, "blue"]])
    >>> schema.kinds
    {'x0': 'continuous', 'x1': 'binary'}
    >>> table.codes.ravel()
    array([1, 0], dtype=int32)
    """
    raw = read_raw(X, owner=owner)
    declared = _declared_discrete(categorical_features, raw)
    if weight is not None and len(weight) != raw.n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {raw.n_rows} rows, "
            f"but there are {len(weight)} weights. Give one weight a row."
        )
    keep = None if weight is None or np.all(weight > 0) else np.flatnonzero(weight > 0)
    if raw.matrix is not None:
        _refuse_infinite(raw.matrix, raw.names)
    if sp.issparse(raw.matrix):
        columns = _sparse_columns(raw, declared, keep)
    elif raw.matrix is not None:
        columns = _matrix_columns(raw, declared, keep)
    else:
        raw = raw._replace(read_column=cache(raw.read_column))  # read to learn, and to code
        columns = tuple(
            _learn_column(raw.read_column(j), name, None if declared is None else declared[j], keep)
            for j, name in enumerate(raw.names)
        )
    schema = Schema(columns, raw.container, raw.header)
    table = schema._code(raw, "missing")
    return schema, table if keep is None else table.take(keep)


def _declared_discrete(declared: Any, raw: RawTable) -> BoolArray | None:
    """Which columns are said to be discrete; None where each column's type decides."""
    n_columns = len(raw.names)
    if isinstance(declared, str) and declared == "from_dtype":
        return None
    mask = np.zeros(n_columns, dtype=bool)
    if declared is None:
        return mask
    if isinstance(declared, str) or not np.iterable(declared):
        _refuse_declaration(declared)
    entries = list(declared)
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} entries, but X has "
                f"{n_columns} columns. Give one entry a column."
            )
        return np.array(entries, dtype=bool)
    for entry in entries:
        mask[_position(entry, raw.names, declared)] = True
    return mask


def _position(entry: Any, names: Sequence[str], declared: Any) -> int:
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(
                f"categorical_features names {entry!r}, which is not a column of X. "
                f"Columns: {_some(names)}."
            )
        return names.index(entry)
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        _refuse_declaration(declared)
    if not -len(names) <= entry < len(names):
        raise ValueError(
            f"categorical_features holds {entry}, but X has {len(names)} columns: positions go "
            f"from 0 to {len(names) - 1}, or from -1 back to {-len(names)}."
        )
    return int(entry)


def _refuse_declaration(declared: Any) -> NoReturn:
    raise ValueError(
        'categorical_features must be "from_dtype", None, or a flat list of names, positions '
        f"or booleans, got {declared!r}."
    )


def _refuse_other_names(given: Sequence[str], expected: Sequence[str]) -> None:
    if list(given) == list(expected):
        return
    known, present = set(expected), set(given)
    lacking = [name for name in expected if name not in present]
    new = [name for name in given if name not in known]
    words = []
    if lacking:
        words.append(
            f"X lacks {len(lacking)} of the {len(expected)} columns seen in fit: {_some(lacking)}."
        )
    if new:
        words.append(f"{'N' if lacking else 'X has columns n'}ot seen in fit: {_some(new)}.")
    if not words:
        j = next(j for j, name in enumerate(expected) if given[j] != name)
        words.append(
            f"X has the columns of fit in another order: column {j} is {given[j]!r}, in fit it "
            f"was {expected[j]!r}."
        )
    if lacking:
        by_small_letters = {name.lower(): name for name in new}
        for close in get_close_matches(lacking[0].lower(), by_small_letters, n=1):
            name = by_small_letters[close]
            words.append(f"Did you mean to rename {name!r} to {lacking[0]!r}?")
    words.append(f"Pass the columns of fit, in its order: {_some(expected)}.")
    raise ValueError(" ".join(words))


def _some(names: Sequence[str]) -> str:
    return f"[{', '.join(map(repr, names[:10]))}{', ...' if len(names) > 10 else ''}]"


def _sparse_columns(
    raw: RawTable, declared: BoolArray | None, keep: IndexArray | None
) -> tuple[Column, ...]:
    if declared is None or not declared.any():
        matrix: Any = raw.matrix if keep is None else raw.matrix[keep]  # type: ignore[index]
        holes = np.bincount(matrix.indices[np.isnan(matrix.data)], minlength=len(raw.names))
        return tuple(
            Column(name, "continuous", observed=bool(n_holes < matrix.shape[0]))
            for name, n_holes in zip(raw.names, holes, strict=True)
        )
    if not declared.all():
        raise ValueError(
            "A sparse table must be all continuous or all binary, but categorical_features lists "
            f"{int(declared.sum())} of its {len(declared)} columns. List all, none, or pass a "
            "dense table."
        )
    return tuple(Column(name, "binary", (0, 1)) for name in raw.names)


def _matrix_columns(
    raw: RawTable, declared: BoolArray | None, keep: IndexArray | None
) -> tuple[Column, ...]:
    """Columns of one block of numbers, a block of rows at a time: it may be large."""
    matrix = np.asarray(raw.matrix)
    discrete = np.zeros(len(raw.names), dtype=bool) if declared is None else declared
    matrix = matrix if keep is None else matrix[keep]
    n_columns = len(raw.names)
    distinct = {int(j): DistinctNumbers() for j in np.flatnonzero(discrete)}
    observed = ~np.isnan(matrix[:16]).all(axis=0)  # nearly always enough
    for rows in block_spans(len(matrix), n_columns):
        if observed.all() and not distinct:
            break
        by_column = np.ascontiguousarray(matrix[rows].T)  # its columns in one piece each
        observed |= ~np.isnan(by_column).all(axis=1)
        for j, numbers in distinct.items():
            numbers.add(by_column[j])
    return tuple(
        _number_column(name, distinct[j], raw.read_column(j))
        if j in distinct
        else Column(name, "continuous", observed=bool(observed[j]))
        for j, name in enumerate(raw.names)
    )


def _learn_column(
    raw: Numbers | Labels,
    name: str,
    declared: bool | np.bool_ | None,
    keep: IndexArray | None,
) -> Column:
    if isinstance(raw, Numbers):
        values = raw.values if keep is None else raw.values[keep]
        if not declared:
            return Column(name, "continuous", observed=not np.isnan(values).all())
        _refuse_infinite(raw.values[:, None], [name])
        distinct = DistinctNumbers()
        distinct.add(values)
        return _number_column(name, distinct, raw)
    codes = raw.codes if keep is None else raw.codes[keep]
    used = set(np.unique(codes).tolist())
    if declared is not None and not declared:
        if raw.boolean or not used - {-1}:
            return Column(name, "continuous", observed=bool(used - {-1}))
        _refuse_text(raw, name)
    if raw.boolean:
        return Column(name, "binary", (False, True), observed=bool(used - {-1}))
    levels = sorted((label for code, label in enumerate(raw.labels) if code in used), key=_order)
    return _discrete_column(name, levels, categorical_dtype=raw.categorical_dtype)


def _order(label: Any) -> tuple[str, Any]:
    """Sort labels of one type by value, and keep types apart."""
    return ("", label) if isinstance(label, int | float) else (type(label).__name__, str(label))


def _discrete_column(name: str, levels: list[Any], *, categorical_dtype: bool = False) -> Column:
    kind: Kind = "binary" if len(levels) == 2 else "nominal"
    return Column(name, kind, tuple(levels), bool(levels), categorical_dtype)


def _number_column(name: str, distinct: DistinctNumbers, raw: Any) -> Column:
    levels = distinct.values()
    if levels and max(-levels[0], levels[-1]) >= EXACT:
        row = int(np.flatnonzero(np.abs(raw.values) >= EXACT)[0])
        raise ValueError(
            f"Column {name!r}, row {row} holds {raw.values[row]:.16g}: numbers of 2**53 and more "
            "cannot be told apart as categories. Pass the column as text."
        )
    return _discrete_column(name, levels)


def _numbers(raw: Numbers | Labels, column: Column) -> FloatArray:
    if isinstance(raw, Labels):
        if not raw.boolean and column.observed:
            _refuse_text(raw, column.name)
        values = np.where(raw.codes < 0, np.nan, raw.codes.astype(np.float64))
    else:
        values = raw.values
        _refuse_infinite(values[:, None], [column.name])
    return values if column.observed else np.full_like(values, np.nan)


def _codes(raw: Numbers | Labels, column: Column, handle_unknown: str) -> CodeArray:
    if isinstance(raw, Numbers):
        _refuse_infinite(raw.values[:, None], [column.name])
        coded = NumberCoder(column.categories).encode(raw.values)
    else:
        known = {label: code for code, label in enumerate(column.categories)}
        lookup = [known.get(label, -1) for label in raw.labels]
        coded = np.array([*lookup, -1], dtype=np.int32)[raw.codes]  # code -1 picks the last
    if handle_unknown == "error":
        _refuse_unknown(coded, raw, column)
    return coded


def _refuse_unknown(coded: CodeArray, raw: Numbers | Labels, column: Column) -> None:
    given = ~np.isnan(raw.values) if isinstance(raw, Numbers) else raw.codes >= 0
    rows = np.flatnonzero((coded < 0) & given)
    if rows.size and column.observed:
        row = int(rows[0])
        if isinstance(raw, Numbers):
            value = float(raw.values[row])
            value = int(value) if value.is_integer() else value
        else:
            value = raw.labels[raw.codes[row]]
        levels = ", ".join(repr(c) for c in column.categories[:8])
        levels += ", ..." if len(column.categories) > 8 else ""
        raise ValueError(
            f"Row {row}, column {column.name!r} holds {value!r}, not seen in fit "
            f'(levels: {levels}). Use handle_unknown="missing" to treat it as missing.'
        )


def _refuse_text(raw: Labels, name: str) -> None:
    rows = np.flatnonzero(raw.codes >= 0)
    if rows.size:
        row = int(rows[0])
        raise ValueError(
            f"Column {name!r} is continuous, but row {row} holds {raw.labels[raw.codes[row]]!r}. "
            "Make the column numeric (missing cells as NaN or None), or list it in "
            "categorical_features before fit."
        )


def _refuse_infinite(values: Any, names: Sequence[str]) -> None:
    data = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(data.sum()):
            return
    infinite = np.isinf(data)
    if not infinite.any():
        return
    if sp.issparse(values):
        place = int(np.flatnonzero(infinite)[0])
        row, column, value = *_stored_at(values, place), data[place]
    else:
        row, column = (int(i) for i in np.argwhere(infinite)[0])
        value = values[row, column]
    raise ValueError(
        f"Column {names[column]!r}, row {row} is infinity ({value}). Write a missing value as NaN, "
        "or clip the column."
    )


def _stored_at(matrix: Any, place: int) -> tuple[int, int]:
    """Row and column of a CSR array's stored value."""
    row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    return row, int(matrix.indices[place])


def _refuse_beyond_binary(matrix: Any, names: Sequence[str]) -> None:
    wrong = (matrix.data != 0) & (matrix.data != 1)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        row, column = _stored_at(matrix, place)
        value = matrix.data[place]
        remedy = "Pass a dense table" if np.isnan(value) else "Binarise it first, e.g. (X > 0)"
        raise ValueError(
            f"Column {names[column]!r}, row {row} holds {value:g}: a sparse table of binary "
            f"columns holds 0 and 1 only. {remedy}."
        )
