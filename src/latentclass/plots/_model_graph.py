"""The graph of a latent classification model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._types import BoolArray, FloatArray
from latentclass.plots._model import (
    LCM_PARTS,
    continuous_names,
    fitted,
    standardised_loadings,
)
from latentclass.plots._style import BLUE, GREY

CLASS_LEVEL, LATENT_LEVEL, COLUMN_LEVEL = 2.0, 1.0, 0.0
THICKEST, THINNEST = 4.5, 0.3
"""Widths of the strongest edge and of one without any strength, in points."""

MANY_EDGES = 60
"""With more edges all become thinner."""


class ModelGraphDisplay:
    """The class, the latent variables and the component variable, and the columns below them.

    All edges point downwards. Those from the latent variables are the thicker the stronger the
    column depends on the variable: by the standardised loading, its root mean square over the
    components. Circles are continuous, squares discrete; what is grey is never observed. Discrete
    columns depend on the class alone.

    Parameters
    ----------
    strengths : array of shape (n_continuous, n_latent)
        Sizes of the loadings.
    edges : array of bool, same shape
        Which edges the model has.
    names : sequence of str
        The continuous columns.
    discrete : sequence of str, default=()
        The discrete columns.
    n_components : int, default=1
        With more than one there is a component variable.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    latent_lines_ : matplotlib line collection
        From latent variables to columns, in the order of `np.argwhere(edges)`.
    class_lines_, component_lines_ : matplotlib line collections
        Those from the class and from the component variable; the latter None if there is none.

    Examples
    --------
    >>> from latentclass import LCMClassifier
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> model = LCMClassifier(n_latent=2, random_state=0).fit(iris.X, iris.y)
    >>> display = ModelGraphDisplay.from_estimator(model)
    >>> len(display.latent_lines_.get_segments())
    8
    """

    ax_: Any
    figure_: Any
    latent_lines_: Any
    class_lines_: Any
    component_lines_: Any

    def __init__(
        self,
        strengths: FloatArray,
        edges: BoolArray,
        names: Sequence[str],
        discrete: Sequence[str] = (),
        n_components: int = 1,
    ) -> None:
        self.strengths = strengths
        self.edges = edges
        self.names = list(names)
        self.discrete = list(discrete)
        self.n_components = n_components

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the graph of a fitted latent classification model, or of a search's best one."""
        model = fitted(model, *LCM_PARTS)
        share = model.class_prior_ @ model.component_prior_
        strengths = np.sqrt(np.einsum("m,mnq->nq", share, standardised_loadings(model) ** 2))
        discrete = [model.schema_.names[j] for j in model.schema_.discrete]
        display = cls(strengths, model.edges_, continuous_names(model), discrete, len(share))
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or a new figure."""
        n, q = self.strengths.shape
        columns = [*self.names, *self.discrete]
        n_hidden = q + (self.n_components > 1)
        upright = len(columns) > 8 or max(map(len, columns)) > 12
        breadth = max(len(columns), 1.3 * n_hidden)
        width = min(max(4.0, (0.55 if upright else 0.95) * breadth), 16.0)
        names = 0.075 * max(map(len, columns)) if upright else 0.2
        size = (width, max(3.0, 0.35 * width) + names)
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.collections import LineCollection

        bottom = _spread(len(columns), breadth)
        hidden = _spread(n_hidden, 0.86 * breadth)
        top = np.array([0.0, CLASS_LEVEL])
        middle = np.column_stack([hidden, np.full(n_hidden, LATENT_LEVEL)])
        below = np.column_stack([bottom, np.full(len(columns), COLUMN_LEVEL)])

        from_class = [np.array([top, end]) for end in (*middle, *below[n:])]
        self.class_lines_ = LineCollection(from_class, colors=GREY, linewidths=1.0, zorder=1)
        self.ax_.add_collection(self.class_lines_)
        pairs = np.argwhere(self.edges)
        strength = self.strengths[self.edges]
        thickest = THICKEST * min(1.0, (MANY_EDGES / max(len(pairs), 1)) ** 0.5)
        share = strength / (strength.max(initial=0.0) or 1.0)
        widths = THINNEST + (thickest - THINNEST) * share
        self.latent_lines_ = LineCollection(
            [np.array([middle[k], below[j]]) for j, k in pairs],
            colors=BLUE,
            linewidths=widths,
            alpha=0.75,
            zorder=2,
        )
        self.ax_.add_collection(self.latent_lines_)
        self.component_lines_ = None
        if self.n_components > 1:
            lines = [np.array([middle[-1], end]) for end in below[:n]]
            self.component_lines_ = LineCollection(
                lines, colors=GREY, linewidths=0.8, linestyles=(0, (4, 3)), zorder=1
            )
            self.ax_.add_collection(self.component_lines_)

        self._draw_nodes(top[None], "s", "white", ["class"], size=1250)
        self._draw_nodes(middle[:q], "o", "#DDDDDD", [f"z{k}" for k in range(q)])
        if self.n_components > 1:
            self._draw_nodes(
                middle[q:], "s", "#DDDDDD", [f"m\n0..{self.n_components - 1}"], size=1000
            )
        self._draw_nodes(below[:n], "o", "white", size=110)
        self._draw_nodes(below[n:], "s", "white", size=110)
        for name, x in zip(columns, bottom, strict=True):
            self.ax_.annotate(
                name,
                (x, COLUMN_LEVEL),
                (0, -9),
                textcoords="offset points",
                ha="center",
                va="top",
                size=9,
                rotation=90 if upright else 0,
            )
        edge = 0.5 * breadth + 0.1
        self.ax_.set(xlim=(-edge, edge), ylim=(COLUMN_LEVEL - 0.2, CLASS_LEVEL + 0.35))
        self.ax_.axis("off")
        return self

    def _draw_nodes(
        self,
        places: FloatArray,
        marker: str,
        colour: str,
        texts: Sequence[str] = (),
        *,
        size: float = 750,
    ) -> None:
        style = {"edgecolor": "black", "linewidth": 1.0, "zorder": 3, "clip_on": False}
        self.ax_.scatter(*places.T, s=size, marker=marker, color=colour, **style)
        for place, text in zip(places, texts, strict=False):
            self.ax_.text(*place, text, ha="center", va="center", size=9, zorder=4)


def _spread(n: int, breadth: float) -> FloatArray:
    """Centres of n equal parts of a line about 0."""
    return (np.arange(n) + 0.5 - 0.5 * n) * breadth / max(n, 1)
