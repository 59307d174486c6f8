"""What all pictures share: axes, colours, markers, the points of labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray

# Okabe and Ito's colours: told apart with any kind of colour vision, and in grey by the markers.
# Seven colours and eight markers: 56 classes before a pair comes again.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BLUE, ORANGE, GREY = COLOURS[0], COLOURS[1], "#666666"


def class_colour(k: int) -> str:
    """Colour of class k."""
    return COLOURS[k % len(COLOURS)]


def class_marker(k: int) -> str:
    """Marker of class k."""
    return MARKERS[k % len(MARKERS)]


def scatter_classes(ax: Any, points: FloatArray, codes: IndexArray, classes: Any) -> list[Any]:
    """Draw rows by class, those without label as small grey dots; one collection each.

    Every class has its collection, even without rows, so that the legend names all.
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


NODE = {"edgecolor": "black", "linewidth": 1.0, "zorder": 3, "clip_on": False}
"""How the nodes of a graph are drawn."""


def draw_nodes(
    ax: Any,
    places: dict[str, tuple[float, float]],
    columns: list[str],
    n_states: dict[str, int],
    *,
    upright: bool,
) -> None:
    """Draw columns as squares with their names below, latent variables as discs with their states.

    `upright` turns the names of the columns.
    """
    for name in columns:
        ax.scatter(*places[name], s=90, marker="s", color="white", **NODE)
        ax.annotate(
            name,
            places[name],
            (0, -9),
            textcoords="offset points",
            ha="center",
            va="top",
            size=9,
            rotation=90 if upright else 0,
        )
    for name in (name for name in n_states if name in places):
        ax.scatter(*places[name], s=700, color="#DDDDDD", **NODE)
        text = f"{name}\n{n_states[name]}"
        ax.text(*places[name], text, ha="center", va="center", size=8, zorder=4)


def legend_beside(ax: Any, title: str | None = None) -> None:
    """A legend to the right of the axes, where it hides nothing."""
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
    """Leave the two axis lines only."""
    ax.spines[["top", "right"]].set_visible(False)
