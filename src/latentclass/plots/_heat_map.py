"""Heat maps with numbers in their cells, one line per column of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray
from latentclass.plots._style import BLUE, ORANGE

MOST_ROWS, MOST_COLUMNS = 30, 12
"""Numbers are written in maps up to this size."""


def draw_heat_map(
    ax: Any,
    values: FloatArray,
    texts: npt.NDArray[np.str_] | None,
    row_names: Sequence[str],
    column_names: Sequence[str],
) -> tuple[Any, list[Any]]:
    """Draw values from orange (negative) through white to blue (positive).

    Parameters
    ----------
    ax : matplotlib axes
    values : array or masked array of shape (n_rows, n_columns)
        Masked cells are not drawn.
    texts : array of str, same shape, or None
        What to write into the cells. None writes nothing.
    row_names, column_names : sequences of str

    Returns
    -------
    mesh : matplotlib mesh
    written : list of matplotlib texts
        Row by row. Masked cells have none.
    """
    from matplotlib.colors import LinearSegmentedColormap

    n_rows, n_columns = values.shape
    shown = np.ma.masked_array(values)
    limit = float(np.ma.filled(np.abs(shown).max(), 0.0)) if shown.size else 0.0
    limit = limit or 1.0
    colours = LinearSegmentedColormap.from_list("deviations", [ORANGE, "white", BLUE])
    mesh = ax.pcolormesh(
        shown, cmap=colours, vmin=-limit, vmax=limit, edgecolor="white", linewidth=0.6
    )
    written = []
    if texts is not None:
        for j, k in np.argwhere(~np.ma.getmaskarray(shown)):
            colour = "white" if abs(shown[j, k]) > 0.65 * limit else "black"
            text = str(texts[j, k]).replace("-", "\N{MINUS SIGN}")
            place = (k + 0.5, j + 0.5)
            written.append(ax.text(*place, text, ha="center", va="center", size=8, color=colour))
    rows = np.arange(0, n_rows, 1 + n_rows // 80)
    ax.set_yticks(rows + 0.5, [row_names[j] for j in rows], size=9 if n_rows <= 40 else 6)
    ax.set_xticks(np.arange(n_columns) + 0.5, column_names, rotation=90 if n_columns > 20 else 0)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return mesh, written


def fits_numbers(shape: tuple[int, ...]) -> bool:
    """Whether a map is small enough for numbers in its cells."""
    return shape[0] <= MOST_ROWS and shape[1] <= MOST_COLUMNS


def add_colour_bar(mesh: Any, label: str) -> None:
    """Draw a colour bar beside a map."""
    bar = mesh.axes.figure.colorbar(mesh, ax=mesh.axes, label=label, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
