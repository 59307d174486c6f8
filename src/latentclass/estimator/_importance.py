"""How much each column says about the class, over many rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._show import html_table, text_table
from latentclass._types import FloatArray
from latentclass.estimator._explanation import Explanation

MANY_COLUMNS, MANY_CLASSES = 20, 6
"""Columns of the table that `print` shows, and classes in it."""


@dataclass(frozen=True, eq=False)
class Importance:
    """Mean weight of evidence of each column, over the rows of a table.

    Attributes
    ----------
    values : array of shape (n_features,)
        Mean absolute weight of evidence. A missing cell counts as 0, so a column that is often
        missing matters less.
    by_class : array of shape (n_classes, n_features)
        Mean weight of evidence, with its sign, over the rows explained for each class. NaN for a
        class without such rows.
    classes : array of shape (n_classes,)
        Labels of the classes.
    feature_names : list of str
        Names of the columns.
    n_rows, n_given : int
        Number of rows that were explained, and of those that were given. If they differ, the
        former were drawn at random.
    """

    values: FloatArray
    by_class: FloatArray
    classes: npt.NDArray[Any]
    feature_names: list[str]
    n_rows: int
    n_given: int

    @classmethod
    def of(cls, told: Explanation, classes: npt.NDArray[Any], n_given: int) -> Importance:
        """The importance of columns, from the explanations of rows."""
        by_class = np.full((len(classes), told.weights.shape[1]), np.nan)
        with np.errstate(invalid="ignore"):  # infinite weights of both signs have no mean
            for k, label in enumerate(classes):
                rows = told.target == label
                if rows.any():
                    by_class[k] = told.weights[rows].mean(axis=0)
        values = np.abs(told.weights).mean(axis=0)
        return cls(values, by_class, classes, told.feature_names, len(told.weights), n_given)

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._caption())

    def to_frame(self) -> Any:
        """A pandas data frame with one line per column, the most important first."""
        import pandas as pd

        frame = pd.DataFrame(self.by_class.T, index=self.feature_names, columns=self.classes)
        frame.insert(0, "importance", self.values)
        return frame.iloc[self.order()]

    def order(self) -> npt.NDArray[np.intp]:
        """Places of the columns, the most important first."""
        return np.argsort(-self.values, kind="stable")

    def plot(self, *, ax: Any = None, **plot_options: Any) -> Any:
        """Draw the values as bars, the most important column on top.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **plot_options
            As in `ImportanceDisplay.plot`.

        Returns
        -------
        latentclass.plots.ImportanceDisplay
        """
        from latentclass.plots._importance import ImportanceDisplay

        return ImportanceDisplay.from_importance(self, ax=ax, **plot_options)

    def _caption(self) -> str:
        rows = f"{self.n_rows:,} rows"
        if self.n_rows < self.n_given:
            rows = f"{self.n_rows:,} of {self.n_given:,} rows, drawn at random"
        left = len(self.values) - MANY_COLUMNS
        more = f"; {left} weaker columns are not shown" if left > 0 else ""
        return f"Mean absolute weight of evidence over {rows}{more}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        shown = range(min(len(self.classes), MANY_CLASSES))
        heads = ["column", "importance", *(f"for {self.classes[k]}" for k in shown)]
        rows = [
            [
                self.feature_names[j],
                f"{self.values[j]:.2f}",
                *(_signed(self.by_class[k, j]) for k in shown),
            ]
            for j in self.order()[:MANY_COLUMNS]
        ]
        return heads, rows


def _signed(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+.2f}"
