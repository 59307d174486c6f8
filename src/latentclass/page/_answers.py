"""What the page asks a model: plain values in, plain values out. Nothing here needs the web."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Column, Schema, Table
from latentclass.engine._parallel import computation
from latentclass.estimator._unusual import (
    LEAST_DRAWS,
    DrawnRows,
    missing_patterns,
    share_below,
)
from latentclass.reports._text import number, plain

MOST_DRAWS, MOST_DRAWN_CELLS = 500, 30_000
"""Rows drawn from a model, with which others are compared to say how unusual they are. Of wide
tables there are fewer, so that the first answer does not take seconds, but never fewer than the
`LEAST_DRAWS` of the model's own method."""

MOST_PATTERNS = 1000
"""Sets of missing cells whose drawn rows are kept."""

LARGEST = 1e100
"""Largest number that a cell may hold."""


class Refused(ValueError):
    """The page asked for something that makes no sense: one sentence that says what."""


@dataclass(frozen=True)
class Field:
    """A cell of the form.

    Attributes
    ----------
    name : str
        The column, as the models know it.
    values : tuple
        What a discrete cell can hold; empty for a number.
    decimals : int
        Of the numbers that are shown.
    """

    name: str
    values: tuple[Any, ...]
    decimals: int

    @classmethod
    def of(cls, column: Column, decimals: int) -> Field:
        """The cell of a column. What is rare stands for itself: its level is a made-up name."""
        values = column.seen
        if column.rare:
            values = (*values[:-1], column.rare[0])
        return cls(column.name, values, decimals)

    def describe(self) -> dict[str, Any]:
        """The field as the page needs it."""
        return {"name": plain(self.name), "values": [plain(one) for one in self.values]}

    def read(self, cell: Any) -> Any:
        """A cell that the page sends: a number, the place of a value, or None if it is empty."""
        if cell is None:
            return None
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise Refused(f"Column {self.name!r}: a cell is a number or null.")
        if not self.values:
            if not math.isfinite(cell) or abs(cell) > LARGEST:
                raise Refused(f"Column {self.name!r}: {cell} is too large a number.")
            return float(cell)
        if not isinstance(cell, int) or not 0 <= cell < len(self.values):
            raise Refused(
                f"Column {self.name!r} has {len(self.values)} values; number {cell} is not one of "
                "them."
            )
        return self.values[cell]

    def write(self, value: Any) -> float | int | None:
        """The opposite of `read`."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if not self.values:
            return float(value)
        return self.values.index(value) if value in self.values else None

    def text(self, value: Any) -> str | None:
        """A value as people read it; None if it is missing."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        return plain(value) if self.values else number(float(value), self.decimals)


@dataclass(frozen=True)
class Form:
    """The cells of a row, for one model or for several that are asked about the same row."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, models: Sequence[Any], decimals: dict[str, int]) -> Form:
        """The columns of all models, each once, as the first model that has it reads it."""
        found: dict[str, Field] = {}
        for model in models:
            for column in model.schema_.columns:
                if column.name not in found:
                    found[column.name] = Field.of(column, decimals.get(column.name, 4))
        return cls(tuple(found.values()))

    def read(self, cells: Any) -> dict[str, Any]:
        """The cells that the page sends, by column."""
        if not isinstance(cells, list) or len(cells) != len(self.fields):
            raise Refused(f"cells must be a list of {len(self.fields)} cells, one per column.")
        return {one.name: one.read(cell) for one, cell in zip(self.fields, cells, strict=True)}


class Asked:
    """A model that is asked, with what is worth keeping between two questions."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name
        self.columns = frozenset(model.schema_.names)
        self.classes = [plain(label) for label in model.classes_.tolist()]
        cells = MOST_DRAWN_CELLS // len(self.columns)
        self.n_draws = min(MOST_DRAWS, max(LEAST_DRAWS, cells))
        self._drawn: DrawnRows | None = None
        self._known: OrderedDict[bytes, FloatArray] = OrderedDict()

    def table(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """A row as a table with the model's own columns."""
        return [{name: row[name] for name in self.model.schema_.names}]

    @computation
    def ask(self, row: dict[str, Any], form: Form) -> dict[str, Any]:
        """Class probabilities, expected values of empty cells, and how unusual the row is.

        As the public methods say it, but the row is read once for all of them.
        """
        model, table = self.model, self.model._read(self.table(row))
        proba = np.exp(model._log_posterior(table, None))[0]
        filled: dict[str, Any] = {}
        if any(row[name] is None for name in self.columns):
            cells = model._model.completion(table, "expected", model._posterior, model.n_jobs)
            filled = values_of(model.schema_, cells, 0)
        return {
            "proba": proba.tolist(),
            "best": int(proba.argmax()),
            "filled": [
                one.text(filled.get(one.name)) if row[one.name] is None else None
                for one in form.fields
            ],
            "unusual": float(self.unusual(table)[0]),
        }

    def why(self, row: dict[str, Any], form: Form) -> dict[str, Any]:
        """The weight of evidence of each cell, for the most probable class."""
        told = self.model.explain(self.table(row))
        weights = dict(zip(told.feature_names, told.weights[0].tolist(), strict=True))
        target = self.model.classes_.tolist().index(told.target[0])
        return {
            "target": target,
            "log_odds": float(told.log_odds[0]),
            "prior_log_odds": float(told.prior_log_odds[0]),
            "weights": [
                _bounded(weights[one.name])
                if one.name in weights and row[one.name] is not None
                else None
                for one in form.fields
            ],
        }

    def unusual(self, table: Table) -> FloatArray:
        """As the method of the model, but each set of missing cells is compared only once."""
        if self._drawn is None:
            model = self.model
            rng = model._draw_generator(None)
            self._drawn = DrawnRows(model._model, self.n_draws, rng, model.n_jobs)
        score = self.model._model.log_density(table, self.model.n_jobs)
        patterns, of_row = missing_patterns(table)
        keys = [one.tobytes() for one in patterns]
        found = {key: self._known[key] for key in keys if key in self._known}
        new = [place for place, key in enumerate(keys) if key not in found]
        for place, scores in zip(new, self._drawn.scores(patterns[new]), strict=True):
            found[keys[place]] = self._known[keys[place]] = scores
        while len(self._known) > MOST_PATTERNS:
            self._known.popitem(last=False)
        out = np.empty(table.n_rows)
        for place, key in enumerate(keys):
            rows = np.flatnonzero(of_row == place)
            out[rows] = share_below(score[rows], found[key])
        return out


def values_of(schema: Schema, table: Table, place: int) -> dict[str, Any]:
    """The cells of a row by column: numbers and categories, without those that are missing."""
    out: dict[str, Any] = {}
    numeric, codes = table.block(slice(place, place + 1))
    for k, j in enumerate(schema.continuous):
        if not np.isnan(numeric[0, k]):
            out[schema.columns[j].name] = float(numeric[0, k])
    for k, j in enumerate(schema.discrete):
        column, code = schema.columns[j], int(codes[0, k])
        if 0 <= code < len(column.seen):
            last = column.rare and code == len(column.seen) - 1
            out[column.name] = column.rare[0] if last else column.categories[code]
    return out


def _bounded(weight: float) -> float:
    """A weight as a number that JSON has: certainty is a very large one."""
    return float(np.clip(weight, -1e6, 1e6))
