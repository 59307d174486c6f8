"""What all pictures share: colours, markers, points, nodes, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray

# The palette of Okabe and Ito is colour-blind safe; the markers differ in grey too. With seven
# colours and eight markers, 56 classes have different pairs.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BLUE, ORANGE, GREY = COLOURS[0], COLOURS[1], "#666666"
PALE = "#DDDDDD"
"""Colour of nodes that are never observed."""

NODE = {"edgecolor": "black", "linewidth": 1.0, "zorder": 3, "clip_on": False}
"""How the nodes of a graph are drawn."""

CLASS_NODE = 1250
"""Size of the node of the class, in square points."""

MANY_COLUMNS, LONG_NAME = 8, 12
"""With more columns, or with a longer name, the names of columns are written upright."""


def class_colour(k: int) -> str:
    """Return the colour of class k."""
    return COLOURS[k % len(COLOURS)]


def class_marker(k: int) -> str:
    """Return the marker of class k."""
    return MARKERS[k % len(MARKERS)]


def scatter_classes(ax: Any, points: FloatArray, codes: IndexArray, classes: Any) -> list[Any]:
    """Draw the rows of each class, and unlabelled rows as small grey dots.

    Returns one collection for the unlabelled rows, if there are any, and one per class. A class
    without rows has a collection too, so that the legend names all classes.
    """
    drawn = []
    if np.any(codes < 0):
        style = {"s": 7, "color": GREY, "alpha": 0.7, "linewidth": 0}
        drawn.append(ax.scatter(*points[codes < 0].T, label="no label", zorder=2.5, **style))
    for k, label in enumerate(classes):
        drawn.append(
            ax.scatter(
                *points[codes == k].T,
                s=22,
                marker=class_marker(k),
                color=class_colour(k),
                edgecolor="white",
                linewidth=0.5,
                label=str(label),
                zorder=3,
            )
        )
    return drawn


def draw_image(ax: Any, pixels: FloatArray, shape: tuple[int, int]) -> None:
    """Draw an image, with 0 as white and 1 as black. NaN is not drawn."""
    picture = np.ma.masked_invalid(pixels.reshape(shape))
    ax.imshow(picture, cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])


def plain_text(text: str) -> str:
    """Return a text that matplotlib writes as it is: dollar signs begin no formula."""
    return text.replace("$", r"\$")


def is_upright(names: Sequence[str]) -> bool:
    """Whether the names of columns are written upright because they need much room."""
    return len(names) > MANY_COLUMNS or max(map(len, names), default=0) > LONG_NAME


def height_of_names(names: Sequence[str]) -> float:
    """Return the height of the names of columns, in inches."""
    return 0.075 * max(map(len, names)) if is_upright(names) else 0.2


def write_names(ax: Any, names: Sequence[str], places: Sequence[Any]) -> None:
    """Write the names of columns below their nodes."""
    rotation = 90 if is_upright(names) else 0
    for name, place in zip(names, places, strict=True):
        ax.annotate(
            name,
            place,
            (0, -9),
            textcoords="offset points",
            ha="center",
            va="top",
            size=9,
            rotation=rotation,
        )


def draw_node(ax: Any, place: Any, text: str, *, size: float, colour: str, marker: str) -> None:
    """Draw a node with a text in it."""
    ax.scatter(*place, s=size, marker=marker, color=colour, **NODE)
    ax.text(*place, text, ha="center", va="center", size=9, zorder=4)


def draw_nodes(
    ax: Any,
    places: dict[str, tuple[float, float]],
    columns: Sequence[str],
    n_states: dict[str, int],
) -> None:
    """Draw columns as squares and latent variables as circles.

    The names of columns stand below them. The names of latent variables stand inside, with their
    number of states.
    """
    for name in columns:
        ax.scatter(*places[name], s=90, marker="s", color="white", **NODE)
    write_names(ax, columns, [places[name] for name in columns])
    for name in (name for name in n_states if name in places):
        ax.scatter(*places[name], s=700, color=PALE, **NODE)
        text = f"{name}\n{n_states[name]}"
        ax.text(*places[name], text, ha="center", va="center", size=8, zorder=4)


def legend_beside(ax: Any, title: str | None = None) -> None:
    """Draw a legend to the right of the axes, where it hides nothing."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    ax.legend(
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=9,
        title=title,
        title_fontsize=9,
        ncols=1 + (n_entries - 1) // 16,
    )


def clear_spines(ax: Any) -> None:
    """Remove the frame except for the two axis lines."""
    ax.spines[["top", "right"]].set_visible(False)
