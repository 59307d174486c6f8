"""The tree of latent variables of one class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass.plots._model import fitted
from latentclass.plots._style import GREY, draw_nodes

WIDEST = 7.0
"""Line width, in points, of the edge with most information."""

THINNEST = 0.4


class LatentTreeDisplay:
    """Latent variables above, columns below; the wider an edge, the more its ends share.

    Grey circles are latent variables, with their name and number of states; squares are columns.
    The width of an edge is proportional to the mutual information of its ends (Fig. 3 of the paper
    on latent tree classifiers).

    Parameters
    ----------
    edges : sequence of (str, str, float)
        Parent, child and their mutual information; parents come before children.
    n_states : mapping of str to int
        Number of states of each latent variable.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : matplotlib line collection
        One line an edge.
    places_ : dict of str to tuple of float
        Where each variable stands.

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

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or a new figure."""
        self._below: dict[str, list[str]] = {}
        for parent, child, _ in self.edges:
            self._below.setdefault(parent, []).append(child)
            self._below.setdefault(child, [])
        roots = [self.edges[0][0]] if self.edges else []
        columns = [leaf for root in roots for leaf in self._leaves(root)]
        longest = max((len(name) for name in columns), default=1)
        upright = len(columns) > 8 or longest > 12
        levels = max((self._height(root) for root in roots), default=0)
        width = min(max(4.0, (0.42 if upright else 0.95) * len(columns)), 18.0)
        below = 0.075 * longest if upright else 0.2
        self.ax_, self.figure_ = make_axes(ax, figsize=(width, 0.9 + 0.9 * levels + below))
        self._draw(roots, columns, upright)
        self.ax_.set(xlim=(-0.7, max(len(columns), 1) - 0.3), ylim=(-0.25, levels + 0.4))
        self.ax_.axis("off")
        return self

    def _draw(self, roots: list[str], columns: list[str], upright: bool) -> None:
        from matplotlib.collections import LineCollection

        across = {name: float(i) for i, name in enumerate(columns)}
        self.places_ = {}
        for root in roots:
            self._place(root, across)
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
        draw_nodes(self.ax_, self.places_, columns, self.n_states, upright=upright)

    def _height(self, name: str) -> int:
        """Steps from a variable down to its deepest column."""
        return 1 + max(map(self._height, self._below[name])) if self._below[name] else 0

    def _leaves(self, name: str) -> list[str]:
        """Columns below, those of the deepest branches first, so that lines do not cross."""
        if not self._below[name]:
            return [name]
        order = sorted(self._below[name], key=lambda child: -self._height(child))
        return [leaf for child in order for leaf in self._leaves(child)]

    def _place(self, name: str, across: dict[str, float]) -> tuple[float, float]:
        if self._below[name]:
            below = [self._place(child, across)[0] for child in self._below[name]]
            self.places_[name] = (sum(below) / len(below), float(self._height(name)))
        else:
            self.places_[name] = (across[name], 0.0)
        return self.places_[name]
