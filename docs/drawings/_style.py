"""What several pictures share: colours, grids and a toy table."""

from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from latentclass.plots._style import BLUE, COLOURS, GREY, MARKERS, ORANGE

__all__ = [
    "BLUE",
    "CLASS_COLOURS",
    "GREEN",
    "GREY",
    "MARKERS",
    "ORANGE",
    "corners",
    "grid_points",
    "shade_classes",
]

CLASS_COLOURS = COLOURS[:3]
GREEN = COLOURS[2]


def grid_points(low: Any, high: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return a grid between two corners, and its points as the rows of a table."""
    grid = np.meshgrid(np.linspace(low[0], high[0], 240), np.linspace(low[1], high[1], 240))
    return grid, np.column_stack([axis.ravel() for axis in grid])


def shade_classes(axes: Any, grid: list[np.ndarray], codes: np.ndarray, n_classes: int) -> None:
    """Shade the points of a grid in the colours of their classes."""
    axes.pcolormesh(
        *grid,
        codes.reshape(grid[0].shape),
        cmap=ListedColormap(CLASS_COLOURS[:n_classes]),
        alpha=0.18,
        shading="auto",
        rasterized=True,
        vmin=0,
        vmax=n_classes - 1,
    )


def corners() -> tuple[np.ndarray, np.ndarray]:
    """Return 300 points in four corners of a square; opposite corners share a label."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (300, 2))
    return rng.normal(4.0 * corner, 1.0), (corner[:, 0] == corner[:, 1]).astype(int)
