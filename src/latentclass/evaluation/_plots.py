"""Plots of a comparison. Like the displays of scikit-learn, each keeps the arrays it draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass.evaluation._significance import groups_alike

SHORT_LEAK = "Discretised on all rows: test folds leaked"


class ErrorScatterDisplay(Display):
    """Errors of two classifiers, one point per data set, as in Fig. 2 of the HNB paper.

    The error of the first classifier is on the x-axis, that of the second on the y-axis. Above the
    diagonal the first is better. (The caption in the HNB paper says "below", but by the axes of
    that figure it must be "above".)

    Parameters
    ----------
    x_error, y_error : array of shape (n_datasets,)
        Error rates. NaN is not drawn.
    names : pair of str
        Names of the two classifiers.
    datasets : sequence of str
        Names of the data sets.
    leaks : bool, default=False
        Whether the papers' protocol was used. If so, the plot says so.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per data set: dataset, and the error of each classifier under its name.
    points_ : matplotlib path collection

    Examples
    --------
    >>> display = ErrorScatterDisplay([0.1, 0.2], [0.15, 0.2], ("LCM", "NB"), ["iris", "wine"])
    >>> print(display.n_better)
    (1, 1, 0)
    """

    ax_: Any
    figure_: Any
    points_: Any

    def __init__(
        self,
        x_error: npt.ArrayLike,
        y_error: npt.ArrayLike,
        names: tuple[str, str],
        datasets: Sequence[str],
        leaks: bool = False,
    ) -> None:
        self.x_error = np.asarray(x_error, dtype=np.float64)
        self.y_error = np.asarray(y_error, dtype=np.float64)
        self.names = names
        self.datasets = tuple(datasets)
        self.leaks = leaks

    @property
    def n_better(self) -> tuple[int, int, int]:
        """Number of data sets won by the first, with equal errors, and won by the second."""
        x, y = self.x_error, self.y_error
        return int(np.sum(x < y)), int(np.sum(x == y)), int(np.sum(x > y))

    def _columns(self) -> list[tuple[str, Any]]:
        return [
            ("dataset", self.datasets),
            (self.names[0], self.x_error),
            (self.names[1], self.y_error),
        ]

    def plot(self, ax: Any = None, *, annotate: bool = False) -> Self:
        """Draw into `ax`, or into a new figure; `annotate` adds the names of the data sets."""
        self.ax_, self.figure_ = make_axes(ax, figsize=(4.5, 4.5))
        percent = 100 * np.column_stack([self.x_error, self.y_error])
        shown = percent[~np.isnan(percent).any(axis=1)]
        top = 1.08 * max(float(shown.max(initial=0.0)), 1.0)
        self.ax_.plot([0, top], [0, top], color="grey", linewidth=1)
        self.points_ = self.ax_.scatter(shown[:, 0], shown[:, 1], s=18, zorder=3)
        if annotate:
            for name, (x, y) in zip(self.datasets, percent, strict=True):
                if np.isfinite(x + y):
                    self.ax_.annotate(name, (x, y), (3, 3), textcoords="offset points", size=7)
        self.ax_.set(
            xlim=(0, top),
            ylim=(0, top),
            aspect="equal",
            xlabel=f"{self.names[0]} error (%)",
            ylabel=f"{self.names[1]} error (%)",
        )
        _title(self.ax_, f"above the line {self.names[0]} is better", self.leaks)
        return self


class CriticalDifferenceDisplay(Display):
    """Mean ranks on a line, with bars over classifiers that may be equal (Demsar 2006).

    Parameters
    ----------
    mean_ranks : array of shape (n_classifiers,)
        1 is best.
    names : sequence of str
        Names of the classifiers.
    difference : float
        Nemenyi's critical difference.
    alpha : float, default=0.05
        Significance level of the critical difference.
    leaks : bool, default=False
        Whether the papers' protocol was used. If so, the plot says so.

    Attributes
    ----------
    groups : list of lists of int
        Classifiers under each bar, in the order of their ranks.
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per classifier: classifier, mean_rank, groups (the numbers of the bars above it).

    Examples
    --------
    >>> names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]  # Demsar's example at 10 %
    >>> display = CriticalDifferenceDisplay([3.143, 2.0, 2.893, 1.964], names, 1.12, alpha=0.1)
    >>> [[names[j] for j in group] for group in display.groups]
    [['C4.5+m+cf', 'C4.5+m', 'C4.5+cf'], ['C4.5+cf', 'C4.5']]
    """

    ax_: Any
    figure_: Any

    def __init__(
        self,
        mean_ranks: npt.ArrayLike,
        names: Sequence[str],
        difference: float,
        alpha: float = 0.05,
        leaks: bool = False,
    ) -> None:
        self.mean_ranks = np.asarray(mean_ranks, dtype=np.float64)
        self.names = tuple(names)
        self.difference = difference
        self.alpha = alpha
        self.leaks = leaks
        self.groups = groups_alike(self.mean_ranks, difference)

    def _columns(self) -> list[tuple[str, Any]]:
        groups = [
            " ".join(str(g) for g, group in enumerate(self.groups) if j in group)
            for j in range(len(self.names))
        ]
        return [("classifier", self.names), ("mean_rank", self.mean_ranks), ("groups", groups)]

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        n = len(self.names)
        half, n_groups = (n + 1) // 2, len(self.groups)
        depth = 1.0 + 0.35 * n_groups + 0.6 * half
        self.ax_, self.figure_ = make_axes(ax, figsize=(7.0, 0.8 + 0.45 * depth))
        ax = self.ax_
        ax.set(xlim=(0.4 - 0.12 * n, 1.12 * n + 0.6), ylim=(-depth, 1.6))
        ax.axis("off")
        ax.hlines(0, 1, n, color="black", linewidth=1)
        for rank in range(1, n + 1):
            ax.vlines(rank, 0, 0.15, color="black", linewidth=1)
            ax.text(rank, 0.25, str(rank), ha="center", va="bottom", size=8)
        order = np.argsort(self.mean_ranks, kind="stable")
        for place, j in enumerate(order):
            left = place < half
            step = place if left else n - 1 - place
            y, x = -(0.6 + 0.35 * n_groups + 0.6 * step), self.mean_ranks[j]
            edge, side = (0.9, "right") if left else (n + 0.1, "left")
            ax.plot([x, x, edge], [0, y, y], color="black", linewidth=0.8)
            text = f"{self.names[j]} ({x:.2f})"
            ax.text(edge + (-0.05 if left else 0.05), y, text, ha=side, va="center", size=8)
        for level, group in enumerate(self.groups):
            low, high = self.mean_ranks[group].min(), self.mean_ranks[group].max()
            y = -(0.3 + 0.35 * level)
            ax.hlines(y, low - 0.03, high + 0.03, color="black", linewidth=3)
        ax.hlines(1.15, 1, 1 + self.difference, color="black", linewidth=1.5)
        words = f"critical difference {self.difference:.2f} ({100 * self.alpha:g} %)"
        ax.text(1 + self.difference + 0.05, 1.15, words, ha="left", va="center", size=8)
        _title(ax, "", self.leaks)
        return self


def _title(ax: Any, text: str, leaks: bool) -> None:
    words = "\n".join(filter(None, [text, SHORT_LEAK if leaks else ""]))
    if words:
        ax.set_title(words, size=9)
