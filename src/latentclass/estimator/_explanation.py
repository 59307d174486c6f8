"""The result of `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._show import html_lines, html_table
from latentclass._types import FloatArray
from latentclass.data._schema import Schema, Table

SHOWN_ROWS = 5
"""Rows that `print` and a notebook show of an explanation."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table as a model reads them, to be shown.

    Attributes
    ----------
    schema : Schema
    table : Table
    """

    schema: Schema
    table: Table

    def texts(self, row: int) -> list[str]:
        """The cells of a row in the order of the columns; a missing one is "?"."""
        block = self.table.block(slice(row, row + 1))
        texts = ["?"] * len(self.schema.columns)
        for j, value in zip(self.schema.continuous, block.numeric[0].tolist(), strict=True):
            if not np.isnan(value):
                texts[j] = f"{value:.6g}"
        for j, code in zip(self.schema.discrete, block.codes[0].tolist(), strict=True):
            if code >= 0:
                texts[j] = str(self.schema.columns[j].categories[code])
        return texts


@dataclass(frozen=True)
class Explanation:
    """Weight of evidence of each attribute for a class, row by row.

    Attributes
    ----------
    weights : array of shape (n_rows, n_features)
        How much the log-odds of the row's target class fall when the attribute is integrated out.
        A positive weight supports the class, a negative one opposes it, and a missing cell has
        weight 0. With two classes and independent attributes the weights sum to the difference
        between `log_odds` and `prior_log_odds`; in general they do not.
    target : array of shape (n_rows,)
        The class for which each row is explained.
    log_odds : array of shape (n_rows,)
        Log-odds of that class given all observed attributes.
    prior_log_odds : array of shape (n_rows,)
        Log-odds of that class before any attribute is observed.
    feature_names : list of str
        Names of the attributes.
    index : array of shape (n_rows,)
        Names of the rows: the index of the data frame if there is one, otherwise 0, 1, ...
    cells : Cells or None
        The explained cells, as the model reads them: pictures and notebooks show them beside the
        weights.
    """

    weights: FloatArray
    target: npt.NDArray[Any]
    log_odds: FloatArray
    prior_log_odds: FloatArray
    feature_names: list[str]
    index: npt.NDArray[Any]
    cells: Cells | None = None

    def __str__(self) -> str:
        shown = [self.describe(row) for row in range(min(len(self.target), SHOWN_ROWS))]
        rest = len(self.target) - len(shown)
        return "\n".join([*shown, f"... and {rest} more rows"] if rest else shown)

    def describe(self, row: int = 0, *, n_top: int = 5) -> str:
        """Describe one row, given by its position: the `n_top` strongest attributes in order."""
        self._check_row(row)
        weights = self.weights[row]
        strongest = np.argsort(-np.abs(weights), kind="stable")[:n_top]
        names = self._names(row)
        named = ", ".join(f"{names[j]} {weights[j]:+.2f}" for j in strongest)
        return f"row {self._headline(row)}; weight of evidence: {named}"

    def _names(self, row: int) -> list[str]:
        """The attributes; companions with their value, because the name alone sounds like it."""
        if self.cells is None or not self.cells.schema.markers:
            return self.feature_names
        texts, columns = self.cells.texts(row), self.cells.schema.columns
        return [
            f"{name} = {text}" if column.marks else name
            for name, text, column in zip(self.feature_names, texts, columns, strict=True)
        ]

    def to_frame(self) -> Any:
        """A pandas data frame with one line per table row: the target, then each attribute."""
        import pandas as pd

        frame = pd.DataFrame(self.weights, columns=self.feature_names, index=self.index)
        frame.insert(0, "target", self.target)
        return frame

    def evidence(self, row: int = 0) -> list[tuple[str, float]]:
        """The observed cells of a row with their weights, the strongest first.

        Attributes are named with their value. Missing cells, which have weight 0, are left out.
        """
        row = self._check_row(row)
        texts = [""] * len(self.feature_names) if self.cells is None else self.cells.texts(row)
        named = [
            (name if not text else f"{name} = {text}", float(weight))
            for name, text, weight in zip(self.feature_names, texts, self.weights[row], strict=True)
            if text != "?"
        ]
        return sorted(named, key=lambda pair: -abs(pair[1]))

    def plot(self, row: int = 0, *, ax: Any = None, **plot_options: Any) -> Any:
        """Draw the evidence about one row, given by its position, as bars.

        Parameters
        ----------
        row : int, default=0
        ax : matplotlib axes, optional
        **plot_options
            As in `EvidenceDisplay.plot`.

        Returns
        -------
        latentclass.plots.EvidenceDisplay
        """
        from latentclass.plots._evidence import EvidenceDisplay

        return EvidenceDisplay.from_explanation(self, row, ax=ax, **plot_options)

    def _repr_html_(self) -> str:
        shown = range(min(len(self.target), SHOWN_ROWS))
        parts = [
            html_table(
                ["evidence", "weight"],
                [(name, f"{weight:+.2f}") for name, weight in self.evidence(row)],
                caption=f"row {self._headline(row)}",
            )
            for row in shown
        ]
        rest = len(self.target) - len(shown)
        return "".join(parts) + (html_lines(f"... and {rest} more rows") if rest else "")

    def _headline(self, row: int) -> str:
        return (
            f"{self.index[row]}: {self.target[row]} with log-odds {self.log_odds[row]:+.2f} "
            f"(before any attribute {self.prior_log_odds[row]:+.2f})"
        )

    def _check_row(self, row: int) -> int:
        """The position of a row, counted from the start."""
        n_rows = len(self.weights)
        if not -n_rows <= row < n_rows:
            raise IndexError(
                f"row={row} is outside the {n_rows} explained rows. Pass a position from 0 to "
                f"{n_rows - 1}."
            )
        return row % n_rows
