"""How much each column says about the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.plots._model import fitted
from latentclass.plots._style import BLUE, clear_spines, plain_text

N_TOP = 20
"""Bars that are drawn unless asked otherwise."""


class ImportanceDisplay(Display):
    """Bars of the mean absolute weight of evidence of each column, the largest on top.

    Parameters
    ----------
    values : array of shape (n_features,)
        Mean absolute weights, the largest first.
    names : sequence of str
        Names of the columns, in the same order.
    n_rows : int or None, default=None
        Number of rows that were explained.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per column: column, importance.
    bars_ : matplotlib bar container
    texts_ : list of matplotlib texts

    Examples
    --------
    >>> from latentclass.baselines import NaiveBayes
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> model = NaiveBayes().fit(iris.X, iris.y)
    >>> ImportanceDisplay.from_estimator(model, iris.X).names
    ['petalwidth', 'petallength', 'sepallength', 'sepalwidth']
    """

    ax_: Any
    figure_: Any
    bars_: Any
    texts_: list[Any]

    def __init__(self, values: FloatArray, names: Sequence[str], n_rows: int | None = None) -> None:
        self.values = values
        self.names = list(names)
        self.n_rows = n_rows

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Compute the importance of the columns over the rows of a table, and draw it.

        Parameters
        ----------
        model : fitted classifier, or search with a `best_estimator_`
        X : table with the columns of `fit`
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, "importance")
        return cls.from_importance(model.importance(X), ax=ax, **plot_options)

    @classmethod
    def from_importance(cls, importance: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Draw what `importance` has returned."""
        order = importance.order()
        names = [importance.feature_names[j] for j in order]
        return cls(importance.values[order], names, importance.n_rows).plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        return [("column", self.names), ("importance", self.values)]

    def plot(self, ax: Any = None, *, n_top: int | None = N_TOP) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        n_top : int or None, default=20
            Number of columns, the most important ones; None for all. What is left out is counted
            below.
        """
        check_number("n_top", n_top, low=1, whole=True, none=True)
        values, names = self.values[:n_top], self.names[:n_top]
        self.ax_, self.figure_ = make_axes(ax, figsize=(5.5, max(1.7, 1.0 + 0.25 * len(names))))
        finite = values[np.isfinite(values)]
        end = 1.15 * finite.max(initial=0.0) or 1.0  # of an infinite bar
        places = range(len(names))
        self.bars_ = self.ax_.barh(places, np.minimum(values, end), color=BLUE)
        labels = [f"{value:.2f}" for value in values]
        self.texts_ = list(self.ax_.bar_label(self.bars_, labels, padding=3, fontsize=9))
        self.ax_.set_yticks(places, map(plain_text, names))
        self.ax_.set_ylim(max(len(names), 1) - 0.4, -0.6)
        self.ax_.margins(x=0.15)
        over = "" if self.n_rows is None else f", mean over {self.n_rows:,} rows"
        left_out = len(self.values) - len(values)
        below = f"\n{left_out} weaker columns are not shown" if left_out else ""
        self.ax_.set_xlabel(f"absolute weight of evidence{over}{below}", fontsize=9)
        self.ax_.tick_params(labelsize=9)
        clear_spines(self.ax_)
        return self
