"""The table of a report: rows in the user's container, their codes, names and classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from latentclass._compat import take_rows
from latentclass._types import FloatArray, IndexArray
from latentclass.data._read import listed_to_array
from latentclass.data._schema import Block, Schema, Table
from latentclass.plots._model import class_codes
from latentclass.reports._text import decimals_for, number, plain

SEED = 0
"""Seed of folds, draws and samples: the same inputs give the same page."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as a report reads it.

    Attributes
    ----------
    X : table in its own container
    schema : Schema
        Of the model.
    table : Table
        The coded cells.
    codes : array of shape (n_rows,)
        Class of each row by its place in `classes_`; -1 without a label.
    names : list of str
        Name of each row.
    classes : list of str
        Names of the classes.
    ids : list of str
        Identifier of each row beside its name; empty if there are none.
    id_name : str
        What the identifiers are called.
    """

    X: Any
    schema: Schema
    table: Table
    codes: IndexArray
    names: list[str]
    classes: list[str]
    ids: list[str] = field(default_factory=list)
    id_name: str = "id"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    @property
    def labelled(self) -> IndexArray:
        """Places of the rows with a label."""
        return np.flatnonzero(self.codes >= 0)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns, as a page can show them."""
        return [plain(name) for name in self.schema.names]

    @cached_property
    def block(self) -> Block:
        """All cells as dense arrays."""
        return self.table.block(slice(None))

    @cached_property
    def decimals(self) -> dict[int, int]:
        """Decimals of each continuous column by its place in the table."""
        found = {}
        for place, j in enumerate(self.schema.continuous):
            values = self.block.numeric[:, place]
            seen = values[~np.isnan(values)]
            most = decimals_for(float(seen.std()) if seen.size else 0.0)
            found[j] = fewest_decimals(seen, most)
        return found

    def take(self, rows: IndexArray) -> Any:
        """Some rows in the user's container."""
        return take_rows(self.X, rows)

    def values(self, j: int) -> FloatArray:
        """Cells of a column: numbers, or codes with NaN where a cell is missing."""
        if j in self.schema.continuous:
            return self.block.numeric[:, self.schema.continuous.index(j)]
        codes = self.block.codes[:, self.schema.discrete.index(j)].astype(np.float64)
        return np.where(codes < 0, np.nan, codes)

    def cell(self, j: int, value: float) -> str:
        """A cell as text, from its number or code; empty if missing."""
        if np.isnan(value):
            return ""
        if j in self.schema.continuous:
            return number(float(value), self.decimals[j])
        return plain(self.schema.columns[j].categories[int(value)])

    def decode(self, block: Block, row: int) -> list[str]:
        """All cells of a row of another block with the same columns, as text."""
        out = [""] * len(self.schema.columns)
        for place, j in enumerate(self.schema.continuous):
            out[j] = self.cell(j, block.numeric[row, place])
        for place, j in enumerate(self.schema.discrete):
            code = block.codes[row, place]
            out[j] = self.cell(j, np.nan if code < 0 else float(code))
        return out


def read_rows(model: Any, X: Any, y: Any, index: Any, ids: Any = None) -> Rows:
    """Read the table of a report with the schema of its model."""
    X = listed_to_array(X)
    table = model.schema_.encode(X, owner="report")
    if index is None:
        index = X.index if hasattr(X, "iloc") else range(table.n_rows)
    names = [plain(name) for name in index]
    if len(names) != table.n_rows:
        raise ValueError(
            f"index has {len(names)} names, but X has {table.n_rows} rows. Pass one name per row."
        )
    given = [] if ids is None else [plain(one) for one in ids]
    if ids is not None and len(given) != table.n_rows:
        raise ValueError(
            f"ids has {len(given)} values, but X has {table.n_rows} rows. Pass one id per row."
        )
    codes = class_codes(model, y, table.n_rows)
    classes = [plain(label) for label in model.classes_.tolist()]
    id_name = plain(getattr(ids, "name", None) or "id")
    return Rows(X, model.schema_, table, codes, names, classes, given, id_name)


def fewest_decimals(values: FloatArray, most: int) -> int:
    """No more decimals than the numbers have, so that whole numbers stay whole."""
    fits = (d for d in range(most) if np.allclose(values, np.round(values, d), rtol=1e-12))
    return next(fits, most)


def draw(candidates: IndexArray, most: int) -> IndexArray:
    """At most so many of some rows, drawn with a fixed seed, in the order of the table."""
    if len(candidates) <= most:
        return candidates
    rng = np.random.default_rng(SEED)
    return np.sort(rng.choice(candidates, most, replace=False))
