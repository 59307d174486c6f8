"""Pictures of the networks of discrete columns."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ._style import BLUE, GREY

PLACES = {"class": (1.5, 1.0), "a": (0.0, 0.0), "b": (1.0, 0.0), "c": (2.0, 0.0), "d": (3.0, 0.0)}
NETWORKS = {
    "naive Bayes": (),
    "TAN: a tree": ("ab", "bc", "bd"),
    "BAN, K2: no cycle": ("ab", "ac", "bc", "cd"),
    "AODE: one of four such": ("ba", "bc", "bd"),
}
"""The arcs between columns of each model, from the first letter to the second."""

RADIUS = 0.24


def _draw_arc(axes: Any, start: str, end: str, colour: str) -> None:
    """Draw an arc from one node to another; between columns it passes below them."""
    bend = 0.0
    if start != "class":
        step = PLACES[end][0] - PLACES[start][0]
        bend = 0.75 if step > 0 else -0.75
        bend /= abs(step) ** 0.5
    axes.annotate(
        "",
        PLACES[end],
        PLACES[start],
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "shrinkA": 13,
            "shrinkB": 13,
            "connectionstyle": f"arc3,rad={bend}",
        },
    )


def graphs() -> Figure:
    """Show which columns depend on which in each model, given the class."""
    figure, panels = plt.subplots(2, 2, figsize=(6, 4.6), layout="constrained")
    for axes, (title, arcs) in zip(panels.flat, NETWORKS.items(), strict=True):
        for name in "abcd":
            _draw_arc(axes, "class", name, GREY)
        for start, end in arcs:
            _draw_arc(axes, start, end, BLUE)
        for name, (x, y) in PLACES.items():
            axes.add_patch(plt.Circle((x, y), RADIUS, facecolor="white", edgecolor="black"))
            axes.text(x, y, "y" if name == "class" else name, ha="center", va="center", size=11)
        axes.set(xlim=(-0.4, 3.4), ylim=(-1.0, 1.35), aspect="equal")
        axes.axis("off")
        axes.set_title(title, fontsize=11)
    return figure
