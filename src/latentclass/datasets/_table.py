"""A table as the sources read it, and its conversion to a container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTAINERS = ("auto", "pandas", "polars", "numpy")


@dataclass(frozen=True, eq=False)
class Nominal:
    """A column of labels, with a code per row (-1 where missing) into `levels`.

    `n_values` is the number of declared values. Some of them may not occur, but the declaration
    decides whether a column is binary.
    """

    codes: NDArray[np.int32]
    levels: tuple[str, ...]
    n_values: int

    def labels(self) -> NDArray[np.object_]:
        """Return one str per row, None where missing."""
        # Code -1 selects the extra entry at the end.
        return np.array([*self.levels, None], dtype=object)[self.codes]


# float64 (NaN where missing), bool, or Nominal. Reuters also has a column of objects: its texts.
Column = NDArray[Any] | Nominal


def nominal(cells: Sequence[str], n_values: int | None = None) -> Nominal:
    """Encode a column of labels; an empty cell is missing."""
    found = set(cells) - {""}
    try:
        levels = sorted(found, key=lambda label: (float(label), label))
    except ValueError:
        levels = sorted(found)
    place = {label: code for code, label in enumerate(levels)} | {"": -1}
    codes = np.fromiter((place[cell] for cell in cells), dtype=np.int32, count=len(cells))
    return Nominal(codes, tuple(levels), max(n_values or 0, len(levels)))


def text_array(labels: Sequence[object] | NDArray[Any]) -> NDArray[np.object_]:
    """Return labels as an object array of str."""
    return np.array([str(label) for label in labels], dtype=object)


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns, labels, and the half ("train" or "test") of each row."""

    columns: dict[str, Column]
    y: NDArray[np.object_]
    split: NDArray[np.object_] | None = None

    def rows(self, which: NDArray[Any]) -> Table:
        """Return the rows of a mask or index array, with the same declared levels."""
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, Nominal):
                columns[name] = replace(column, codes=column.codes[which])
            else:
                columns[name] = column[which]
        return Table(columns, self.y[which], None if self.split is None else self.split[which])

    def incomplete(self) -> NDArray[np.bool_]:
        """Mark the rows with a missing cell."""
        marked = np.zeros(len(self.y), dtype=bool)
        for column in self.columns.values():
            if isinstance(column, Nominal):
                marked |= column.codes < 0
            elif column.dtype == np.float64:
                marked |= np.isnan(column)
        return marked

    @property
    def kinds(self) -> dict[str, str]:
        """Kind of each column: continuous, binary or nominal."""
        return {name: _kind(column) for name, column in self.columns.items()}


def _kind(column: Column) -> str:
    if isinstance(column, Nominal):
        return "binary" if column.n_values == 2 else "nominal"
    return "binary" if column.dtype == bool else "continuous"


def to_container(table: Table, container: str) -> Any:
    """Return the columns as a data frame or an array."""
    if container == "auto":
        container = "pandas" if find_spec("pandas") else "numpy"
    elif container != "numpy" and not find_spec(container):
        raise ImportError(
            f"container={container!r} needs the package {container}, which is not installed. "
            f"Install it (pip install {container}) or use container='numpy'."
        )
    if container == "pandas":
        return _to_pandas(table)
    if container == "polars":
        return _to_polars(table)
    return _to_numpy(table)


def _to_pandas(table: Table) -> Any:
    import pandas as pd

    columns = {
        name: pd.Categorical.from_codes(column.codes, categories=list(column.levels))
        if isinstance(column, Nominal)
        else column
        for name, column in table.columns.items()
    }
    return pd.DataFrame(columns)


def _to_polars(table: Table) -> Any:
    import polars as pl

    columns = {
        name: pl.Series(column.labels().tolist(), dtype=pl.Enum(column.levels))
        if isinstance(column, Nominal)
        else pl.Series(column, nan_to_null=True)
        for name, column in table.columns.items()
    }
    return pl.DataFrame(columns)


def _to_numpy(table: Table) -> NDArray[Any]:
    columns = list(table.columns.values())
    plain = [column for column in columns if not isinstance(column, Nominal)]
    if len(plain) == len(columns) and len({column.dtype for column in plain}) == 1:
        return np.column_stack(plain)
    cells = np.empty((len(table.y), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        cells[:, place] = column.labels() if isinstance(column, Nominal) else column
    return cells
