"""The hierarchy of a hierarchical naive Bayes model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._types import FloatArray
from latentclass.plots._model import fitted
from latentclass.plots._style import GREY, NODE, draw_nodes


class HierarchyDisplay:
    """The class on top, latent variables below it, and the columns at the bottom.

    Grey circles are latent variables, with their name and number of states. Squares are columns.
    The model predicts the class from the variables that are joined to it directly.

    Parameters
    ----------
    tops : sequence of str
        Variables directly below the class.
    children : mapping of str to tuple of str
        The two variables below each latent variable.
    n_states : mapping of str to int
        Number of states of each latent variable.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : matplotlib line collection
        From the class to the top variables, then from each latent variable to its children. A line
        goes down, across and down again.
    places_ : dict of str to tuple of float
        Position of each variable. The name of the class is "".

    Examples
    --------
    >>> from latentclass import HNBClassifier
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> model = HNBClassifier(random_state=0).fit(X, [0, 1, 1, 0] * 5)
    >>> display = HierarchyDisplay.from_estimator(model)
    >>> len(display.lines_.get_segments())
    3
    """

    ax_: Any
    figure_: Any
    lines_: Any
    places_: dict[str, tuple[float, float]]

    def __init__(
        self,
        tops: Sequence[str],
        children: Mapping[str, tuple[str, str]],
        n_states: Mapping[str, int],
    ) -> None:
        self.tops = list(tops)
        self.children = dict(children)
        self.n_states = dict(n_states)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the hierarchy of a fitted `HNBClassifier`, or of a search's best one."""
        model = fitted(model, "top_variables_", "latent_children_", "n_states_")
        return cls(model.top_variables_, model.latent_children_, model.n_states_).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or a new figure."""
        # the deepest first, so that the tree falls from left to right
        tops = sorted(self.tops, key=lambda name: -self._height(name))
        columns = [leaf for name in tops for leaf in self._leaves(name)]
        longest = max((len(name) for name in columns), default=1)
        upright = len(columns) > 8 or longest > 12
        levels = max((self._height(name) for name in tops), default=0) + 1
        width = min(max(4.0, (0.42 if upright else 0.95) * len(columns)), 18.0)
        below = 0.075 * longest if upright else 0.2
        self.ax_, self.figure_ = make_axes(ax, figsize=(width, 1.2 + 0.8 * levels + below))
        from matplotlib.collections import LineCollection

        across = {name: float(i) for i, name in enumerate(columns)}
        self.places_ = {"": (0.5 * (len(columns) - 1), float(levels))}
        for name in tops:
            self._place(name, across)
        pairs = [("", name) for name in tops]
        pairs += [(name, child) for name, both in self.children.items() for child in both]
        self.lines_ = LineCollection(
            [self._elbow(a, b) for a, b in pairs],
            colors=GREY,
            linewidths=1.0,
            antialiaseds=False,  # else a stretch that lines share is darker
            zorder=1,
        )
        self.ax_.add_collection(self.lines_)
        self.ax_.scatter(*self.places_[""], s=1250, marker="s", color="white", **NODE)
        self.ax_.text(*self.places_[""], "class", ha="center", va="center", size=9, zorder=4)
        draw_nodes(self.ax_, self.places_, columns, self.n_states, upright=upright)
        self.ax_.set(xlim=(-0.7, max(len(columns), 1) - 0.3), ylim=(-0.25, levels + 0.35))
        self.ax_.axis("off")
        return self

    def _elbow(self, parent: str, child: str) -> FloatArray:
        """Corners of the line between two variables.

        The line goes across halfway between two levels, where no node is, and down only over the
        child. The subtrees stand side by side, so it meets no other node. A straight line could.
        """
        (x, y), (child_x, child_y) = self.places_[parent], self.places_[child]
        return np.array([(x, y), (x, y - 0.5), (child_x, y - 0.5), (child_x, child_y)])

    def _height(self, name: str) -> int:
        """Number of steps from a variable down to its deepest column."""
        return 1 + max(map(self._height, self.children[name])) if name in self.children else 0

    def _leaves(self, name: str) -> list[str]:
        if name not in self.children:
            return [name]
        return [leaf for child in self.children[name] for leaf in self._leaves(child)]

    def _place(self, name: str, across: dict[str, float]) -> tuple[float, float]:
        if name in self.children:
            below = [self._place(child, across)[0] for child in self.children[name]]
            self.places_[name] = (sum(below) / len(below), float(self._height(name)))
        else:
            self.places_[name] = (across[name], 0.0)
        return self.places_[name]
