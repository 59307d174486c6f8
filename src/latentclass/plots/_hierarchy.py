"""The hierarchy of a hierarchical naive Bayes model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display, counts_or_none
from latentclass._types import FloatArray
from latentclass.plots._model import fitted
from latentclass.plots._style import CLASS_NODE, GREY, draw_node, draw_nodes
from latentclass.plots._tree_layout import TreeLayout, tree_heights


class HierarchyDisplay(Display):
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
    frame : pandas DataFrame
        One line per edge: parent ("class" for the class), child, and the child's n_states if it is
        a latent variable.
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

    def _edges(self) -> list[tuple[str, str]]:
        """Parent and child, first those of the class, whose name is ""."""
        pairs = [("", name) for name in self.tops]
        return pairs + [(name, child) for name, both in self.children.items() for child in both]

    def _columns(self) -> list[tuple[str, Any]]:
        edges = self._edges()
        return [
            ("parent", [parent or "class" for parent, _ in edges]),
            ("child", [child for _, child in edges]),
            ("n_states", counts_or_none([self.n_states.get(child) for _, child in edges])),
        ]

    def plot(self, ax: Any = None) -> Self:
        """Draw into `ax`, or into a new figure."""
        heights = tree_heights(self.tops, self.children)
        # the deepest first, so that the tree falls from left to right
        tops = sorted(self.tops, key=lambda name: -heights[name])
        layout = TreeLayout(tops, self.children)
        n_levels, columns = layout.n_levels + 1, layout.columns
        size = layout.figure_size(1.2 + 0.8 * n_levels)
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.collections import LineCollection

        self.places_ = {"": (0.5 * (len(columns) - 1), float(n_levels)), **layout.places}
        self.lines_ = LineCollection(
            [self._elbow(a, b) for a, b in self._edges()],
            colors=GREY,
            linewidths=1.0,
            antialiaseds=False,  # otherwise a stretch that lines share would be darker
            zorder=1,
        )
        self.ax_.add_collection(self.lines_)
        top = self.places_[""]
        draw_node(self.ax_, top, "class", size=CLASS_NODE, colour="white", marker="s")
        draw_nodes(self.ax_, self.places_, columns, self.n_states)
        self.ax_.set(xlim=layout.x_limits(), ylim=(-0.25, n_levels + 0.35))
        self.ax_.axis("off")
        return self

    def _elbow(self, parent: str, child: str) -> FloatArray:
        """Corners of the line between two variables.

        The line goes across halfway between two levels, where no node is, and down only over the
        child. The subtrees stand side by side, so it meets no other node. A straight line could.
        """
        (x, y), (child_x, child_y) = self.places_[parent], self.places_[child]
        return np.array([(x, y), (x, y - 0.5), (child_x, y - 0.5), (child_x, child_y)])
