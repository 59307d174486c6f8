"""What supports a prediction, and what opposes it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.plots._model import fitted
from latentclass.plots._style import BLUE, GREY, clear_spines, plain_text

N_TOP = 12
"""Bars that are drawn unless asked otherwise."""

NAME_WIDTH = 38
"""Characters after which a name, such as a long rule, goes on in a new line."""

LINE = 0.55
"""Height of a line of a name, in distances between bars."""

BEYOND = 1.15
"""Length of an infinite bar, in lengths of the longest finite one."""


class EvidenceDisplay(Display):
    """Bars of the weights of evidence about one row, the strongest on top.

    A bar to the right supports the class and has its colour. A bar to the left opposes it and is
    grey. Its number is the change in log-odds.

    Parameters
    ----------
    weights : array of shape (n_parts,)
        The weights, the strongest first.
    names : sequence of str
        What each weight belongs to: columns with their values, or the rules of `HNBClassifier`.
    target : str, default=""
        The class that is explained.
    log_odds, prior_log_odds : float or None, default=None
        Log-odds of the class with all cells, and without any.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per weight: evidence, weight.
    bars_ : matplotlib bar container
    texts_ : list of matplotlib texts

    Examples
    --------
    >>> from latentclass.baselines import NaiveBayes
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> model = NaiveBayes().fit(iris.X, iris.y)
    >>> display = EvidenceDisplay.from_estimator(model, iris.X.iloc[[60]])
    >>> display.names[0]
    'petalwidth = 1'
    """

    ax_: Any
    figure_: Any
    bars_: Any
    texts_: list[Any]

    def __init__(
        self,
        weights: FloatArray,
        names: Sequence[str],
        target: str = "",
        log_odds: float | None = None,
        prior_log_odds: float | None = None,
    ) -> None:
        self.weights = weights
        self.names = list(names)
        self.target = target
        self.log_odds = log_odds
        self.prior_log_odds = prior_log_odds

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        row: int = 0,
        *,
        y: Any = None,
        priors: Any = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Explain a row of a table and draw it.

        Parameters
        ----------
        model : fitted classifier, or search with a `best_estimator_`
        X : table with the columns of `fit`
        row : int, default=0
            Position of the row in X.
        y, priors : optional
            As in `explain`.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, "explain")
        explanation = model.explain(X, y=y, priors=priors)
        return cls.from_explanation(explanation, row, ax=ax, **plot_options)

    @classmethod
    def from_explanation(
        cls, explanation: Any, row: int = 0, *, ax: Any = None, **plot_options: Any
    ) -> Self:
        """Draw one row, given by its position, of what `explain` has returned."""
        found = explanation.evidence(row)
        display = cls(
            np.array([weight for _, weight in found]),
            [name for name, _ in found],
            str(explanation.target[row]),
            float(explanation.log_odds[row]),
            float(explanation.prior_log_odds[row]),
        )
        return display.plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        return [("evidence", self.names), ("weight", self.weights)]

    def plot(self, ax: Any = None, *, n_top: int | None = N_TOP, colour: str = BLUE) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        n_top : int or None, default=12
            Number of bars, the strongest ones; None for all. What is left out is counted below.
        colour : str
            Colour of what supports the class.
        """
        check_number("n_top", n_top, low=1, whole=True, none=True)
        weights, names = self.weights[:n_top], [_in_lines(n) for n in self.names[:n_top]]
        # by place, since two names may be the same; a name of many lines needs more room
        room = np.array([max(1.0, LINE * (name.count("\n") + 1)) for name in names])
        places, total = np.cumsum(room) - 0.5 * room, max(room.sum(), 1.0)
        self.ax_, self.figure_ = make_axes(ax, figsize=(6.0, max(1.7, 1.0 + 0.32 * total)))
        finite = np.abs(weights[np.isfinite(weights)])
        end = BEYOND * finite.max(initial=0.0) or 1.0
        self.bars_ = self.ax_.barh(
            places,
            np.clip(weights, -end, end),
            color=[colour if weight > 0 else GREY for weight in weights],
        )
        labels = [f"{weight:+.1f}" for weight in weights]
        self.texts_ = list(self.ax_.bar_label(self.bars_, labels, padding=3, fontsize=9))
        self.ax_.set_yticks(places, names)
        self.ax_.axvline(0, color="black", linewidth=0.8)
        self.ax_.set_ylim(total + 0.1, -0.1)
        self.ax_.margins(x=0.2)
        left_out = len(self.weights) - len(weights)
        below = f"\n{left_out} weaker ones are not shown" if left_out else ""
        self.ax_.set_xlabel(f"weight of evidence (change in log-odds){below}", fontsize=9)
        self.ax_.tick_params(labelsize=9)
        clear_spines(self.ax_)
        if self.target:
            self.ax_.set_title(self._title(), fontsize=11)
        return self

    def _title(self) -> str:
        title = f"Why {plain_text(self.target)}?"
        if self.log_odds is not None and self.prior_log_odds is not None:
            title += f" Log-odds {self.prior_log_odds:+.1f} before, {self.log_odds:+.1f} after"
        return title


def _in_lines(name: str) -> str:
    """A long rule in several lines, each a few whole conditions."""
    parts = name.replace("\n", " ").split(" and ")
    glued = " ".join(part.replace(" ", _GLUE) + _GLUE + "and" for part in parts)
    lines = fill(glued.removesuffix(_GLUE + "and"), NAME_WIDTH, break_on_hyphens=False)
    return plain_text(lines.replace(_GLUE, " "))


_GLUE = "\N{NO-BREAK SPACE}"
"""A space at which no line ends."""
