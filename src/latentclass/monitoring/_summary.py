"""What `drift` found, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from latentclass._show import html_table, text_table

MANY_COLUMNS, MANY_CLASSES = 20, 8
"""Columns and classes that `print` shows."""


@dataclass(frozen=True)
class ColumnDrift:
    """How far one column has moved.

    Attributes
    ----------
    name, kind : str
        Name and kind of the column.
    distance : float
        How far apart new and expected cells are, from 0 to 1. For numbers, the largest difference
        of the two distribution functions (Kolmogorov and Smirnov). For categories, half the sum of
        the differences of their shares (total variation), unseen values included. NaN without
        observed cells.
    p_value : float
        Of the hypothesis that new and expected cells have the same distribution, by the test of
        Kolmogorov and Smirnov or by chi-square. Corrected for the number of columns by Holm's
        method. NaN without observed cells.
    missing : float
        Share of missing cells in the new rows.
    expected_missing : float or None
        Share of missing cells in the reference rows; None if rows were drawn from the model, which
        knows nothing of missing cells.
    unseen : int
        Number of cells with a value that was not seen in `fit`.
    unseen_values : dict of str to int
        The most common of these values, and how often each occurs.
    change : str
        The change in words: of the mean, or of the share that has changed most.
    """

    name: str
    kind: str
    distance: float
    p_value: float
    missing: float
    expected_missing: float | None
    unseen: int
    unseen_values: dict[str, int]
    change: str


@dataclass(frozen=True)
class DriftSummary:
    """How far new rows have moved from what a model expects; `print` shows it as a table.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        In the order of the table.
    classes : dict of str to tuple of two floats
        Expected and new share of each predicted class, by the mean of `predict_proba`; of a
        `LatentMixture`, of each component.
    class_distance : float
        Half the sum of the differences of these shares.
    unusual, expected_unusual : float
        Share of rows whose p-value by `model.unusual` is at most 0.05, among the new rows and among
        the expected ones.
    unusual_p_value : float
        Of the hypothesis that unusual rows are no more common than expected.
    n_rows, n_judged, n_reference : int
        Number of new rows; of those whose classes and unusualness were computed; and of rows that
        they are compared with.
    against : {"model", "reference"}
        Whether those were drawn from the model or given.
    """

    columns: tuple[ColumnDrift, ...]
    classes: dict[str, tuple[float, float]]
    class_distance: float
    unusual: float
    expected_unusual: float
    unusual_p_value: float
    n_rows: int
    n_judged: int
    n_reference: int
    against: str

    def moved(self, alpha: float = 0.01) -> list[str]:
        """Names of the columns whose p-value is at most `alpha`, the farthest first."""
        return [column.name for column in self._farthest() if column.p_value <= alpha]

    def __str__(self) -> str:
        return "\n".join([self._headline(), text_table(*self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        return html_table(heads, rows, caption=self._headline(), notes="\n".join(self._notes()))

    def to_frame(self) -> Any:
        """A pandas data frame with one line per column, in the order of the table."""
        import pandas as pd

        names = [item.name for item in fields(ColumnDrift)]
        rows = [[getattr(column, name) for name in names] for column in self.columns]
        return pd.DataFrame(rows, columns=names)

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict that JSON can hold: what is not a number is None."""
        plain = asdict(self)
        plain["columns"] = [
            {name: _json(value) for name, value in column.items()} for column in plain["columns"]
        ]
        plain["classes"] = {
            label: {"expected": expected, "found": found}
            for label, (expected, found) in self.classes.items()
        }
        return {name: _json(value) for name, value in plain.items()}

    def _farthest(self) -> list[ColumnDrift]:
        """The columns, the farthest first, those without cells last."""
        return sorted(
            self.columns, key=lambda one: np.inf if np.isnan(one.distance) else -one.distance
        )

    def _headline(self) -> str:
        source = "drawn from the model" if self.against == "model" else "of the reference"
        return (
            f"{self.n_rows:,} new rows against {self.n_reference:,} rows {source}: "
            f"{len(self.moved())} of {len(self.columns)} columns have moved (p <= 0.01)"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        before = "" if self.against == "model" else " (before)"
        heads = ["column", "distance", "p-value", f"missing{before}", "unseen", "change"]
        rows = [
            [
                one.name,
                number(one.distance, "{:.2f}"),
                number(one.p_value, "{:.2g}"),
                _missing(one),
                f"{one.unseen:,}",
                one.change,
            ]
            for one in self._farthest()[:MANY_COLUMNS]
        ]
        return heads, rows

    def _notes(self) -> list[str]:
        notes = []
        left = len(self.columns) - MANY_COLUMNS
        if left > 0:
            notes.append(f"... and {left} more columns")
        for one in self.columns:
            if one.unseen:
                values = ", ".join(f"{v} ({n:,})" for v, n in one.unseen_values.items())
                notes.append(f"not seen in fit, {one.name}: {values}")
        notes.append(f"predicted shares, expected and new: {self._class_text()}")
        notes.append(
            f"unusual rows (p <= 0.05): {100 * self.unusual:.1f} % of {self.n_judged:,}, expected "
            f"{100 * self.expected_unusual:.1f} % (p = {number(self.unusual_p_value, '{:.2g}')})"
        )
        if self.against == "model":
            notes.append(
                "A column that the model describes badly also looks as if it had moved. Pass the "
                "training rows as reference to tell the two apart."
            )
        return notes

    def _class_text(self) -> str:
        far = sorted(self.classes.items(), key=lambda pair: -abs(pair[1][1] - pair[1][0]))
        told = [
            f"{label} {100 * expected:.1f} % -> {100 * found:.1f} %"
            for label, (expected, found) in far[:MANY_CLASSES]
        ]
        rest = [f"and {len(far) - MANY_CLASSES} more"] if len(far) > MANY_CLASSES else []
        return ", ".join([*told, *rest])


def _missing(one: ColumnDrift) -> str:
    before = "" if one.expected_missing is None else f" ({100 * one.expected_missing:.1f} %)"
    return f"{100 * one.missing:.1f} %{before}"


def number(value: float, form: str) -> str:
    """A number in a form; a dash for NaN."""
    return "-" if np.isnan(value) else form.format(value)


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number by Holm's method; NaN stays and does not count."""
    p = np.array(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return [float(value) for value in p]


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value
