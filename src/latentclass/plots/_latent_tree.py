"""The tree of latent variables of one class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display, counts_or_none
from latentclass.plots._model import fitted
from latentclass.plots._style import GREY, draw_nodes
from latentclass.plots._tree_layout import TreeLayout, tree_heights

WIDEST, THINNEST = 7.0, 0.4
"""Width, in points, of the edge with most information, and smallest width of any edge."""


class LatentTreeDisplay(Display):
    """The latent variables of a class above, the columns below. Wide edges carry much information.

    Grey circles are latent variables, with their name and number of states. Squares are columns.
    The width of an edge is proportional to the mutual information of its two variables, as in
    Fig. 3 of the paper on latent tree classifiers.

    Parameters
    ----------
    edges : sequence of (str, str, float)
        Parent, child and their mutual information. Parents come before their children.
    n_states : mapping of str to int
        Number of states of each latent variable.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per edge: parent, child, information, and the child's n_states if it is a latent
        variable.
    lines_ : matplotlib line collection
        One line per edge.
    places_ : dict of str to tuple of float
        Position of each variable.

    Examples
    --------
    >>> from latentclass import LatentTreeClassifier
    >>> from latentclass.datasets import load_dataset
    >>> corral = load_dataset("corral", container="pandas")
    >>> model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    >>> display = LatentTreeDisplay.from_estimator(model, "0")
    >>> len(display.lines_.get_segments())
    7
    """

    ax_: Any
    figure_: Any
    lines_: Any
    places_: dict[str, tuple[float, float]]

    def __init__(
        self, edges: Sequence[tuple[str, str, float]], n_states: Mapping[str, int]
    ) -> None:
        self.edges = [(str(a), str(b), float(information)) for a, b, information in edges]
        self.n_states = dict(n_states)

    @classmethod
    def from_estimator(cls, model: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the tree of class `y` of a fitted `LatentTreeClassifier`."""
        model = fitted(model, "trees_", "latent_names_")
        edges = model.tree_edges(y)
        label = model.classes_.tolist()[list(model.classes_).index(y)]
        states = model.trees_[label].latent_cardinalities if model.trees_ else ()
        names = model.latent_names_[label]
        return cls(edges, dict(zip(names, states, strict=True))).plot(ax)

    def _columns(self) -> list[tuple[str, Any]]:
        parents, children, information = (
            zip(*self.edges, strict=True) if self.edges else ((), (), ())
        )
        return [
            ("parent", parents),
            ("child", children),
            ("information", information),
            ("n_states", counts_or_none([self.n_states.get(child) for child in children])),
        ]

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        layout = self._layout()
        size = layout.figure_size(0.9 + 0.9 * layout.n_levels)
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.collections import LineCollection

        self.places_ = layout.places
        information = np.array([value for _, _, value in self.edges])
        top = information.max(initial=0.0)
        share = information / top if top > 0 else np.zeros_like(information)
        self.lines_ = LineCollection(
            [np.array([self.places_[a], self.places_[b]]) for a, b, _ in self.edges],
            colors=GREY,
            linewidths=np.maximum(THINNEST, WIDEST * share),
            capstyle="round",
            zorder=1,
        )
        self.ax_.add_collection(self.lines_)
        draw_nodes(self.ax_, self.places_, layout.columns, self.n_states)
        self.ax_.set(xlim=layout.x_limits(), ylim=(-0.25, layout.n_levels + 0.4))
        self.ax_.axis("off")
        return self

    def _layout(self) -> TreeLayout:
        """Place the deepest branches first, so that lines do not cross."""
        roots = [self.edges[0][0]] if self.edges else []
        children: dict[str, list[str]] = {}
        for parent, child, _ in self.edges:
            children.setdefault(parent, []).append(child)
        heights = tree_heights(roots, children)
        for below in children.values():
            below.sort(key=lambda child: -heights[child])
        return TreeLayout(roots, children)
