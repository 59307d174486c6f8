"""The meaning of the columns of a table, and the coded arrays that models use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._match import rename_hint, some
from latentclass.data._numbers import EXACT, DistinctNumbers, NumberCoder, label_codes
from latentclass.data._read import Labels, Numbers, RawTable, read_raw, refuse_empty

Kind = Literal["continuous", "binary", "nominal"]

BLOCK_CELLS = 2**17
"""Number of cells of a block of rows. It is small enough for the cache of a core, and large enough
that the cost of a Python call per block does not matter. Blocks do not depend on `n_jobs`, so sums
over them do not either."""

FOLDED_ROWS = 64
"""Rows that are joined to one long row when rows are reduced."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"continuous", "binary", "nominal"}
        How models read it.
    categories : tuple
        The values of a binary or nominal column in the order of their codes. Empty for a
        continuous column.
    observed : bool
        False if the column had no value at all in `fit`. All its cells then count as missing.
    categorical_dtype : bool
        Whether the column had the category type of its data frame. `sample` then uses it too.
    rare : tuple
        Values that share the last level of a column with very many values, the most common first;
        `categories` then ends with a name for all of them. Empty for all other columns.
    rare_shares : tuple of float
        Share of each of them among all of them.
    whole, non_negative : bool
        Whether a continuous column held only whole numbers in `fit`, and no negative one. `sample`
        then draws such numbers too.
    spare : bool
        Whether the last category stands for all values that were not seen in `fit`.
    marks : tuple of int
        Positions of the columns whose holes this one marks, with "yes" where they are missing.
        Such a companion is not a column of the table itself. Empty for all other columns.
    """

    name: str
    kind: Kind
    categories: tuple[Any, ...] = ()
    observed: bool = True
    categorical_dtype: bool = False
    rare: tuple[Any, ...] = field(default=(), repr=False)
    rare_shares: tuple[float, ...] = field(default=(), repr=False)
    whole: bool = field(default=False, repr=False)
    non_negative: bool = field(default=False, repr=False)
    marks: tuple[int, ...] = field(default=(), repr=False)
    spare: bool = field(default=False, repr=False)

    @property
    def seen(self) -> tuple[Any, ...]:
        """The categories without the one of unseen values."""
        return self.categories[:-1] if self.spare else self.categories

    @property
    def values(self) -> tuple[Any, ...]:
        """All values that are known: those with a level of their own, then those without."""
        return (*self.seen[:-1], *self.rare) if self.rare else self.seen

    def level_codes(self, coded: CodeArray, given: BoolArray) -> CodeArray:
        """Codes of levels from places in `values`, -1 if unknown; `given` are not missing."""
        levels = np.minimum(coded, len(self.seen) - 1)  # rare values share the last level
        if self.spare:
            levels[given & (coded < 0)] = len(self.seen)
        return levels


class Block(NamedTuple):
    """Some rows of a `Table` as dense arrays."""

    numeric: FloatArray
    codes: CodeArray

    @property
    def shown(self) -> BoolArray:
        """Which cells are not missing, shape (n_rows, n_columns), the continuous columns first."""
        return np.hstack([~np.isnan(self.numeric), self.codes >= 0])

    def copies_without(self, rows: IndexArray, hidden: BoolArray) -> Block:
        """Copies of some rows, each without its `hidden` cells, marked as in `shown`."""
        n = self.numeric.shape[1]
        return Block(
            np.where(hidden[:, :n], np.nan, self.numeric[rows]),
            np.where(hidden[:, n:], np.int32(-1), self.codes[rows]),
        )


@dataclass(frozen=True)
class Table:
    """A table as arrays, the input of every engine.

    Attributes
    ----------
    numeric : array of shape (n_rows, n_continuous), or CSR array
        Values of the continuous columns; NaN where missing.
    codes : array of shape (n_rows, n_discrete), or CSR array
        Codes of the binary and nominal columns; -1 where missing.
    """

    numeric: FloatArray | sp.csr_array
    codes: CodeArray | sp.csr_array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numeric.shape[0])

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Return the rows selected by index or mask."""
        return Table(self.numeric[rows], self.codes[rows])

    def spans(self, *, extra_columns: int = 0, least: int = 16) -> list[slice]:
        """Return the row ranges of the blocks, in order.

        Blocks are smaller if `extra_columns` more columns must fit into the cache. They have at
        least `least` rows.
        """
        n_columns = self.numeric.shape[1] + self.codes.shape[1] + extra_columns
        return block_spans(self.n_rows, n_columns, least)

    def block(self, rows: slice) -> Block:
        """Return consecutive rows as dense arrays in C order."""
        return Block(_dense(self.numeric[rows], np.float64), _dense(self.codes[rows], np.int32))

    def blocks(self) -> Iterator[Block]:
        """Yield all rows, one block at a time."""
        return (self.block(rows) for rows in self.spans())

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value of each continuous column; NaN if it has none."""
        low = high = np.full(self.numeric.shape[1], np.nan)
        for numeric, _ in self.blocks():
            low = np.fmin(low, _fold_rows(np.fmin, numeric))
            high = np.fmax(high, _fold_rows(np.fmax, numeric))
        return low, high


def join_tables(parts: list[Table]) -> Table:
    """Dense tables one below the other."""
    return Table(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )


def block_spans(n_rows: int, n_columns: int, least: int = 16) -> list[slice]:
    """Return ranges of consecutive rows with about `BLOCK_CELLS` cells each."""
    size = max(min(BLOCK_CELLS // max(n_columns, 1), 2**14), least)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def table_column(matrix: Any, place: int) -> npt.NDArray[Any]:
    """A column of a dense or sparse matrix as a flat array."""
    part = matrix[:, [place]] if sp.issparse(matrix) else matrix[:, place]
    return np.asarray(part.toarray()[:, 0] if sp.issparse(part) else part)


def _fold_rows(function: np.ufunc, block: FloatArray) -> FloatArray:
    """Reduce the rows of a block; many at once, as numpy is slow at short ones."""
    n_rows, n_columns = block.shape
    if n_rows >= 4 * FOLDED_ROWS:
        n_folded = n_rows - n_rows % FOLDED_ROWS
        shape = (n_folded // FOLDED_ROWS, FOLDED_ROWS * n_columns)
        wide = block[:n_folded].reshape(shape)
        folded = function.reduce(wide, axis=0).reshape(FOLDED_ROWS, n_columns)
        block = np.concatenate([folded, block[n_folded:]])
    return np.asarray(function.reduce(block, axis=0))


def _dense(part: Any, dtype: type) -> Any:
    return part.toarray().astype(dtype) if sp.issparse(part) else np.ascontiguousarray(part)


@dataclass(frozen=True)
class Schema:
    """Names, kinds and categories of the columns of a table, learned in `fit`.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the table, then companions that mark holes, if there are any.
    container : str
        Container of the table: "numpy", "sparse", "pandas", "polars", "pyarrow" or "records" (a
        list of dicts).
    header : tuple or None
        The original column names, if some are not text. `sample` restores them.
    continuous, discrete : tuple of int
        Positions of the continuous columns, and of the binary and nominal ones. A `Block` has its
        columns in this order.
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
    def given(self) -> tuple[Column, ...]:
        """The columns of the table: all but companions."""
        n_markers = len(self.markers)
        return self.columns[: len(self.columns) - n_markers] if n_markers else self.columns

    @property
    def given_names(self) -> list[str]:
        """Names of the columns of the table."""
        return [column.name for column in self.given]

    @property
    def markers(self) -> tuple[Column, ...]:
        """Companions, which mark holes."""
        if not self.columns or not self.columns[-1].marks:
            return ()
        return tuple(column for column in self.columns if column.marks)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each column by name."""
        return {column.name: column.kind for column in self.columns}

    @property
    def n_levels(self) -> IndexArray:
        """Number of categories of each binary or nominal column."""
        return np.array([len(self.columns[j].categories) for j in self.discrete], dtype=np.intp)

    def encode(self, X: Any, *, handle_unknown: str = "missing", owner: str = "model") -> Table:
        """Encode a table with this schema.

        Parameters
        ----------
        X : table with the columns of this schema, in the same order
            Names are compared if both tables have them.
        handle_unknown : {"missing", "error"}
            Whether a category not seen in `fit` is read as missing or raises an error.
        owner : str
            Name of the estimator, for messages.
        """
        return self.encode_raw(read_raw(X, owner=owner), handle_unknown)

    @property
    def named(self) -> bool:
        """Whether the table of `fit` had names for its columns."""
        return self.container not in ("numpy", "sparse")

    def check_columns(self, raw: RawTable) -> None:
        """Refuse a table whose columns are not those of this schema, in the same order."""
        if raw.named and self.named:
            _refuse_other_names(raw.names, self.given_names)
        elif len(raw.names) != len(self.given):
            raise ValueError(
                f"X has {len(raw.names)} columns, but {len(self.given)} were seen in fit: "
                f"{some(self.given_names)}. Pass those, in this order."
            )

    def encode_raw(self, raw: RawTable, handle_unknown: str) -> Table:
        """As `encode`, for a table that `read_raw` has read."""
        self.check_columns(raw)
        if raw.matrix is not None:
            _refuse_infinite(raw.matrix, self.names)
        return self._code(raw, handle_unknown)

    def _code(self, raw: RawTable, handle_unknown: str) -> Table:
        """As `encode_raw`, without the checks that `learn_schema` has already done."""
        if self.markers:
            matrix: Any = raw.matrix
            if sp.issparse(matrix):
                raw = raw._replace(matrix=matrix.toarray())  # fit had a dense table
            raw = raw._replace(read_column=cache(raw.read_column))  # some are read twice
            table = Schema(self.given, self.container)._code(raw, handle_unknown)
            return Table(table.numeric, np.hstack([table.codes, self._marks(raw)]))
        if raw.matrix is not None:
            return self._encode_matrix(raw, handle_unknown)
        numeric = np.empty((raw.n_rows, len(self.continuous)))
        codes = np.empty((raw.n_rows, len(self.discrete)), dtype=np.int32)
        for place, j in enumerate(self.continuous):
            numeric[:, place] = _numbers(raw.read_column(j), self.columns[j])
        for place, j in enumerate(self.discrete):
            codes[:, place] = _codes(raw.read_column(j), self.columns[j], handle_unknown)
        return Table(numeric, codes)

    def _marks(self, raw: RawTable) -> CodeArray:
        """Codes of the companions; -1 if the table lacks the column, which says nothing."""
        firsts = [marker.marks[0] for marker in self.markers]
        marks = [
            np.full(raw.n_rows, -1) if self.columns[j].name in raw.lacking else raw.missing(j)
            for j in firsts
        ]
        return np.stack(marks, axis=1).astype(np.int32)

    def _encode_matrix(self, raw: RawTable, handle_unknown: str) -> Table:
        """Encode all columns at once from one array of numbers."""
        matrix: Any = raw.matrix
        if sp.issparse(matrix):
            if all(column.kind == "continuous" and column.observed for column in self.columns):
                return Table(matrix, np.empty((raw.n_rows, 0), dtype=np.int32))
            if all(column.categories == (0, 1) for column in self.columns):
                _refuse_beyond_binary(matrix, self.names)
                return Table(np.empty((raw.n_rows, 0)), matrix)
            matrix = matrix.toarray()  # fit had a dense table, so this one fits into memory too
        numeric = matrix if not self.discrete else matrix[:, self.continuous]
        unobserved = [not self.columns[j].observed for j in self.continuous]
        if any(unobserved):
            numeric = np.where(unobserved, np.nan, numeric)
        codes = np.empty((raw.n_rows, len(self.discrete)), dtype=np.int32)
        coders = [NumberCoder(self.columns[j].values) for j in self.discrete]
        for rows in block_spans(raw.n_rows, len(self.columns)) if coders else []:
            by_column = np.ascontiguousarray(matrix[rows].T)  # its columns in one piece each
            for place, j in enumerate(self.discrete):
                codes[rows, place] = coders[place].encode(by_column[j])
        for place, j in enumerate(self.discrete):
            column = self.columns[j]
            if handle_unknown == "error":
                _refuse_unknown(codes[:, place], Numbers(matrix[:, j]), column)
            if column.rare or column.spare:
                given = ~np.isnan(matrix[:, j])
                codes[:, place] = column.level_codes(codes[:, place], given)
        return Table(numeric, codes)


def learn_schema(
    X: Any,
    *,
    categorical_features: Any = "from_dtype",
    weight: FloatArray | None = None,
    owner: str = "model",
) -> tuple[Schema, Table]:
    """Learn the schema of a table, and encode the table with it.

    Parameters
    ----------
    X : numpy array, scipy sparse, pandas, polars or pyarrow table, or nested lists
        The table.
    categorical_features : "from_dtype", None or list
        "from_dtype": text, category and boolean columns are discrete, and numbers are continuous.
        None: all columns are continuous. A list of names or positions, or a mask: these columns
        are discrete, all others are continuous.
    weight : array of shape (n_rows,), optional
        Rows with weight 0 are left out, as if they were not in the table.
    owner : str
        Name of the estimator, for messages.

    Examples
    --------
    >>> schema, table = learn_schema([[1.5, "red"], [None, "blue"]])
    >>> schema.kinds
    {'x0': 'continuous', 'x1': 'binary'}
    >>> table.codes.ravel()
    array([1, 0], dtype=int32)
    """
    raw = read_raw(X, owner=owner)
    refuse_empty((raw.n_rows, len(raw.names)), owner)  # rows as dicts may have no key at all
    declared = _declared_discrete(categorical_features, raw)
    if weight is not None and len(weight) != raw.n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {raw.n_rows} rows, "
            f"but there are {len(weight)} weights. Pass one weight per row."
        )
    keep = None if weight is None or np.all(weight > 0) else np.flatnonzero(weight > 0)
    if raw.matrix is not None:
        _refuse_infinite(raw.matrix, raw.names)
    if sp.issparse(raw.matrix):
        columns = _sparse_columns(raw, declared, keep)
    elif raw.matrix is not None:
        columns = _matrix_columns(raw, declared, keep)
    else:
        raw = raw._replace(read_column=cache(raw.read_column))  # it is read twice
        columns = tuple(
            _learn_column(raw.read_column(j), name, None if declared is None else declared[j], keep)
            for j, name in enumerate(raw.names)
        )
    schema = Schema(columns, raw.container, raw.header)
    table = schema._code(raw, "missing")
    return schema, table if keep is None else table.take(keep)


def _declared_discrete(declared: Any, raw: RawTable) -> BoolArray | None:
    """Return which columns are declared discrete; None if the column types decide."""
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
                f"{n_columns} columns. Pass one entry per column."
            )
        return np.array(entries, dtype=bool)
    for entry in entries:
        mask[_position(entry, raw.names, declared)] = True
    return mask


def _position(entry: Any, names: Sequence[str], declared: Any) -> int:
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(
                f"categorical_features contains {entry!r}, which is not a column of X. "
                f"Columns: {some(names)}."
            )
        return names.index(entry)
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        _refuse_declaration(declared)
    if not -len(names) <= entry < len(names):
        raise ValueError(
            f"categorical_features contains {entry}, but X has {len(names)} columns. Positions go "
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
            f"X lacks {len(lacking)} of the {len(expected)} columns seen in fit: {some(lacking)}."
        )
    if new:
        words.append(f"{'N' if lacking else 'X has columns n'}ot seen in fit: {some(new)}.")
    if not words:
        j = next(j for j, name in enumerate(expected) if given[j] != name)
        words.append(
            f"X has the columns of fit in another order: column {j} is {given[j]!r}, but in fit it "
            f"was {expected[j]!r}."
        )
    words.append(
        f"{rename_hint(lacking, new)} Pass the columns of fit in the same order: {some(expected)}."
    )
    raise ValueError(" ".join(words).replace("  ", " "))


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
            f"{int(declared.sum())} of its {len(declared)} columns. List all or none of them, or "
            "pass a dense table."
        )
    return tuple(Column(name, "binary", (0, 1)) for name in raw.names)


def _matrix_columns(
    raw: RawTable, declared: BoolArray | None, keep: IndexArray | None
) -> tuple[Column, ...]:
    """Learn the columns of one array of numbers, block by block because it may be large."""
    matrix = np.asarray(raw.matrix)
    discrete = np.zeros(len(raw.names), dtype=bool) if declared is None else declared
    matrix = matrix if keep is None else matrix[keep]
    n_columns = len(raw.names)
    distinct = {int(j): DistinctNumbers() for j in np.flatnonzero(discrete)}
    observed = ~np.isnan(matrix[:16]).all(axis=0)  # nearly always settles it
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
    levels = sort_labels(label for code, label in enumerate(raw.labels) if code in used)
    return _discrete_column(name, levels, categorical_dtype=raw.categorical_dtype)


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    """Labels in the order of their codes."""
    return sorted(labels, key=_order)


def _order(label: Any) -> tuple[str, Any]:
    """Key that sorts labels of one type by value, and groups labels by type."""
    return ("", label) if isinstance(label, int | float) else (type(label).__name__, str(label))


def _discrete_column(name: str, levels: list[Any], *, categorical_dtype: bool = False) -> Column:
    kind: Kind = "binary" if len(levels) == 2 else "nominal"
    return Column(name, kind, tuple(levels), bool(levels), categorical_dtype)


def _number_column(name: str, distinct: DistinctNumbers, raw: Any) -> Column:
    levels = distinct.values()
    if levels and max(-levels[0], levels[-1]) >= EXACT:
        row = int(np.flatnonzero(np.abs(raw.values) >= EXACT)[0])
        raise ValueError(
            f"Column {name!r}, row {row} holds {raw.values[row]:.16g}, but numbers of 2**53 and "
            "more are not exact and cannot be categories. Pass the column as text."
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
        coded = NumberCoder(column.values).encode(raw.values)
    else:
        lookup = label_codes(raw.labels, column.values)
        coded = np.array([*lookup, -1], dtype=np.int32)[raw.codes]  # code -1 selects the last
    if handle_unknown == "error":
        _refuse_unknown(coded, raw, column)
    return column.level_codes(coded, _given(raw))


def _given(raw: Numbers | Labels) -> BoolArray:
    """Which cells are not missing."""
    return np.asarray(~np.isnan(raw.values) if isinstance(raw, Numbers) else raw.codes >= 0)


def _refuse_unknown(coded: CodeArray, raw: Numbers | Labels, column: Column) -> None:
    rows = np.flatnonzero((coded < 0) & _given(raw))
    if rows.size and column.observed:
        row = int(rows[0])
        if isinstance(raw, Numbers):
            value = float(raw.values[row])
            value = int(value) if value.is_integer() else value
        else:
            value = raw.labels[raw.codes[row]]
        levels = ", ".join(repr(c) for c in column.values[:8])
        levels += ", ..." if len(column.values) > 8 else ""
        raise ValueError(
            f"Row {row}, column {column.name!r} holds {value!r}, which was not seen in fit "
            f'(categories: {levels}). Use handle_unknown="missing" to treat it as missing.'
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
    """Return the row and column of a stored value of a CSR array."""
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
            f"Column {names[column]!r}, row {row} holds {value:g}, but a sparse table of binary "
            f"columns may only hold 0 and 1. {remedy}."
        )
