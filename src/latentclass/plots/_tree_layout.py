"""Where the variables of a tree stand in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from latentclass.plots._style import height_of_names, is_upright


class TreeLayout:
    """Columns side by side at the bottom, every other variable above the middle of its children.

    Parameters
    ----------
    roots : sequence of str
        The variables at the top, from left to right.
    children : mapping of str to sequence of str
        The variables below each variable, from left to right. A variable without an entry is a
        column.

    Attributes
    ----------
    columns : list of str
        From left to right.
    heights : dict of str to int
        Number of steps from each variable down to its deepest column.
    places : dict of str to tuple of float
        Position of each variable: the columns stand at (0, 0), (1, 0) and so on.
    """

    def __init__(self, roots: Sequence[str], children: Mapping[str, Sequence[str]]) -> None:
        self._children = children
        self.heights = tree_heights(roots, children)
        self.columns: list[str] = []
        self.places: dict[str, tuple[float, float]] = {}
        for root in roots:
            self._place(root)

    def _place(self, name: str) -> float:
        below = [self._place(child) for child in self._children.get(name, ())]
        if below:
            x = sum(below) / len(below)
        else:
            x = float(len(self.columns))
            self.columns.append(name)
        self.places[name] = (x, float(self.heights[name]))
        return x

    @property
    def n_levels(self) -> int:
        """Height of the highest variable."""
        return max(self.heights.values(), default=0)

    def figure_size(self, height: float) -> tuple[float, float]:
        """Return the size of the figure in inches, given its height without the names."""
        per_column = 0.42 if is_upright(self.columns) else 0.95
        width = min(max(4.0, per_column * len(self.columns)), 18.0)
        return width, height + height_of_names(self.columns)

    def x_limits(self) -> tuple[float, float]:
        """Return the range of the x-axis, with room for half a node on each side."""
        return -0.7, max(len(self.columns), 1) - 0.3


def tree_heights(roots: Sequence[str], children: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of steps from each variable down to its deepest column."""
    heights: dict[str, int] = {}

    def measure(name: str) -> int:
        below = [measure(child) for child in children.get(name, ())]
        heights[name] = 1 + max(below, default=-1)
        return heights[name]

    for root in roots:
        measure(root)
    return heights
