"""The graph of a latent classification model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import BoolArray, FloatArray
from latentclass.plots._model import (
    LCM_PARTS,
    continuous_names,
    discrete_names,
    fitted,
    latent_labels,
    latent_questions,
    standardised_loadings,
)
from latentclass.plots._style import (
    BLUE,
    CLASS_NODE,
    GREY,
    NODE,
    PALE,
    draw_node,
    height_of_names,
    is_upright,
    write_names,
)

CLASS_LEVEL, LATENT_LEVEL, COLUMN_LEVEL = 2.0, 1.0, 0.0
THICKEST, THINNEST = 4.5, 0.3
"""Widths, in points, of the strongest edge and of an edge of strength 0."""

MANY_EDGES = 60
"""With more edges, all of them are drawn thinner."""


class ModelGraphDisplay(Display):
    """The class on top, then the latent variables and the component variable, then the columns.

    All edges point downwards. The width of an edge from a latent variable shows how strongly the
    column depends on it: the root mean square, over components, of the standardised loading. For a
    discrete column the mean is over its yes-or-no questions too (see `LoadingsDisplay`). Circles
    are continuous variables, squares are discrete ones, and grey nodes are never observed.

    Parameters
    ----------
    strengths : array of shape (n_columns, n_latent)
        Strength of each edge from a latent variable to a column: first the columns of `names`, then
        those of `logistic`.
    edges : array of bool, same shape
        Which of these edges the model has.
    names : sequence of str
        Names of the continuous columns.
    discrete : sequence of str, default=()
        Names of the discrete columns that depend on the class alone.
    n_components : int, default=1
        Number of components. With more than one, a node for the component variable is drawn.
    logistic : sequence of str, default=()
        Names of the discrete columns that depend on the latent variables, as in binary and hybrid
        models.
    latent_names : sequence of str, optional
        Names of the latent variables; by default z0, z1 and so on.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per edge: parent ("class", a latent variable, or "m", the component variable),
        child, and the strength of edges from latent variables to columns.
    latent_lines_ : matplotlib line collection
        From latent variables to columns, in the order of `np.argwhere(edges)`.
    class_lines_, component_lines_ : matplotlib line collections
        From the class and from the component variable. `component_lines_` is None if there is no
        component variable.

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
        logistic: Sequence[str] = (),
        latent_names: Sequence[str] | None = None,
    ) -> None:
        self.strengths = strengths
        self.edges = edges
        self.names = list(names)
        self.discrete = list(discrete)
        self.n_components = n_components
        self.logistic = list(logistic)
        self.latent_names = latent_labels(latent_names, strengths)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the graph of a fitted latent classification model, or of a search's best model."""
        model = fitted(model, *LCM_PARTS)
        share = model.class_prior_ @ model.component_prior_
        squares = np.einsum("m,mnq->nq", share, standardised_loadings(model) ** 2)
        discrete, questions = discrete_names(model), latent_questions(model)
        names, latent = continuous_names(model), model.latent_names_
        if not questions:
            strengths = np.sqrt(squares)
            drawn = cls(strengths, model.edges_, names, discrete, len(share), (), latent)
            return drawn.plot(ax)
        edges = np.zeros((len(discrete), squares.shape[1]), dtype=bool)
        by_column = np.zeros(edges.shape)
        for j, name in enumerate(discrete):
            mine = [question.loadings for question in questions if question.column == name]
            if mine:  # a column with a single category depends on nothing
                edges[j] = True
                by_column[j] = share @ np.mean(np.square(mine), axis=0)
        strengths = np.sqrt(np.vstack([squares, by_column]))
        edges = np.vstack([model.edges_, edges])
        return cls(strengths, edges, names, (), len(share), discrete, latent).plot(ax)

    def _columns(self) -> list[tuple[str, Any]]:
        columns = [*self.names, *self.logistic]
        hidden = [*self.latent_names, *(["m"] if self.n_components > 1 else [])]
        edges = [("class", child, np.nan) for child in (*hidden, *self.discrete)]
        edges += [
            (self.latent_names[k], columns[j], float(self.strengths[j, k]))
            for j, k in np.argwhere(self.edges)
        ]
        edges += [("m", child, np.nan) for child in columns if self.n_components > 1]
        return list(zip(("parent", "child", "strength"), zip(*edges, strict=True), strict=True))

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        columns = [*self.names, *self.logistic, *self.discrete]
        places = self._places()
        width = min(max(4.0, (0.55 if is_upright(columns) else 0.95) * places.breadth), 16.0)
        size = (width, max(3.0, 0.35 * width) + height_of_names(columns))
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        self._draw_edges(places)
        self._draw_nodes(places)
        write_names(self.ax_, columns, [*places.on_latent, *places.on_class])
        edge = 0.5 * places.breadth + 0.1
        self.ax_.set(xlim=(-edge, edge), ylim=(COLUMN_LEVEL - 0.2, CLASS_LEVEL + 0.35))
        self.ax_.axis("off")
        return self

    def _places(self) -> _Places:
        n, q = self.strengths.shape
        n_columns, n_hidden = n + len(self.discrete), q + (self.n_components > 1)
        breadth = max(n_columns, 1.3 * n_hidden)
        hidden = _spread(n_hidden, 0.86 * breadth, LATENT_LEVEL)
        columns = _spread(n_columns, breadth, COLUMN_LEVEL)
        top = np.array([0.0, CLASS_LEVEL])
        return _Places(top, hidden[:q], hidden[q:], columns[:n], columns[n:], breadth)

    def _draw_edges(self, places: _Places) -> None:
        below = (*places.latent, *places.component, *places.on_class)
        self.class_lines_ = self._add_lines(
            [(places.top, end) for end in below], colors=GREY, linewidths=1.0, zorder=1
        )
        pairs = np.argwhere(self.edges)
        strength = self.strengths[self.edges]
        thickest = THICKEST * min(1.0, (MANY_EDGES / max(len(pairs), 1)) ** 0.5)
        share = strength / (strength.max(initial=0.0) or 1.0)
        self.latent_lines_ = self._add_lines(
            [(places.latent[k], places.on_latent[j]) for j, k in pairs],
            colors=BLUE,
            linewidths=THINNEST + (thickest - THINNEST) * share,
            alpha=0.75,
            zorder=2,
        )
        self.component_lines_ = None
        if self.n_components > 1:
            self.component_lines_ = self._add_lines(
                [(places.component[0], end) for end in places.on_latent],
                colors=GREY,
                linewidths=0.8,
                linestyles=(0, (4, 3)),
                zorder=1,
            )

    def _add_lines(self, ends: list[tuple[FloatArray, FloatArray]], **style: Any) -> Any:
        from matplotlib.collections import LineCollection

        return self.ax_.add_collection(LineCollection([np.array(pair) for pair in ends], **style))

    def _draw_nodes(self, places: _Places) -> None:
        draw_node(self.ax_, places.top, "class", size=CLASS_NODE, colour="white", marker="s")
        for name, place in zip(self.latent_names, places.latent, strict=True):
            draw_node(self.ax_, place, name, size=750, colour=PALE, marker="o")
        states = f"m\n0..{self.n_components - 1}"
        for place in places.component:
            draw_node(self.ax_, place, states, size=1000, colour=PALE, marker="s")
        n = len(self.names)
        discrete = np.vstack([places.on_latent[n:], places.on_class])
        for columns, marker in ((places.on_latent[:n], "o"), (discrete, "s")):
            self.ax_.scatter(*columns.T, s=110, marker=marker, color="white", **NODE)


class _Places(NamedTuple):
    """Positions of the nodes, arrays of shape (n_nodes, 2), and the width of the graph."""

    top: FloatArray
    latent: FloatArray
    component: FloatArray
    on_latent: FloatArray
    on_class: FloatArray
    breadth: float


def _spread(n: int, breadth: float, level: float) -> FloatArray:
    """Centres of n equal parts of a horizontal line whose middle is at x = 0."""
    x = (np.arange(n) + 0.5 - 0.5 * n) * breadth / max(n, 1)
    return np.column_stack([x, np.full(n, level)])
