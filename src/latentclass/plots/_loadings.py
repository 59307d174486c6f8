"""How the columns depend on the latent variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._types import BoolArray, FloatArray
from latentclass.plots._model import (
    LCM_PARTS,
    continuous_names,
    fitted,
    standardised_loadings,
)
from latentclass.plots._style import BLUE, ORANGE

MOST_ROWS, MOST_COLUMNS = 30, 12
"""Numbers are written in tables up to this size."""


class LoadingsDisplay:
    """Heat map of the standardised loadings: columns of the table by latent variables.

    A cell tells by how many of its standard deviations a column changes when the latent variable
    changes by one of its own. The column's deviation is that of the model over all classes and
    components; a latent variable has deviation 1 by convention.

    Parameters
    ----------
    loadings : array of shape (n_continuous, n_latent)
        Standardised.
    edges : array of bool, same shape
        Where False the model has no edge: the cell is hatched.
    names : sequence of str
        The columns.
    component : int, default=0
    n_components : int, default=1

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    image_ : matplotlib mesh
    texts_ : list of matplotlib texts
    hatches_ : list of matplotlib rectangles
        One for each absent edge.

    Examples
    --------
    >>> from latentclass import LCMClassifier
    >>> from latentclass.datasets import load_dataset
    >>> wine = load_dataset("wine", container="pandas")
    >>> model = LCMClassifier(n_latent=3, random_state=0).fit(wine.X, wine.y)
    >>> display = LoadingsDisplay.from_estimator(model)
    >>> display.loadings.shape, display.names[0]
    ((13, 3), 'Alcohol')
    """

    ax_: Any
    figure_: Any
    image_: Any
    texts_: list[Any]
    hatches_: list[Any]

    def __init__(
        self,
        loadings: FloatArray,
        edges: BoolArray,
        names: Sequence[str],
        component: int = 0,
        n_components: int = 1,
    ) -> None:
        self.loadings = loadings
        self.edges = edges
        self.names = list(names)
        self.component = component
        self.n_components = n_components

    @classmethod
    def from_estimator(
        cls, model: Any, component: int = 0, *, ax: Any = None, **plot_options: Any
    ) -> Self:
        """Draw the loadings of a fitted model.

        Parameters
        ----------
        model : fitted latent classification model, or search with a `best_estimator_`
        component : int, default=0
            Which component's loadings to draw.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, *LCM_PARTS)
        n_components = len(model.loadings_)
        whole = isinstance(component, int | np.integer) and not isinstance(component, bool)
        if not whole or not 0 <= component < n_components:
            raise ValueError(
                f"component={component!r} must be one of the model's {n_components} components: "
                f"0 to {n_components - 1}."
            )
        names = continuous_names(model)
        if not names:
            raise ValueError("The model's table has no continuous column: there are no loadings.")
        loadings = standardised_loadings(model)[component]
        display = cls(loadings, model.edges_, names, int(component), n_components)
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, numbers: bool | None = None, colorbar: bool = True) -> Self:
        """Draw into `ax`, or a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        numbers : bool, optional
            Write each loading into its cell; by default in small tables.
        colorbar : bool, default=True
        """
        n_rows, n_columns = self.loadings.shape
        longest = max(map(len, self.names))
        width = 1.6 + 0.075 * longest + 0.55 * min(n_columns, 24)
        size = (max(3.0, width), max(2.0, 1.0 + 0.27 * min(n_rows, 40)))
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patches import Rectangle

        shown = np.ma.masked_array(self.loadings, mask=~self.edges)
        limit = float(np.abs(shown).max()) if self.edges.any() else 0.0
        limit = limit or 1.0
        colours = LinearSegmentedColormap.from_list("loadings", [ORANGE, "white", BLUE])
        self.image_ = self.ax_.pcolormesh(
            shown, cmap=colours, vmin=-limit, vmax=limit, edgecolor="white", linewidth=0.6
        )
        self.hatches_ = [
            self.ax_.add_patch(
                Rectangle((k, j), 1, 1, facecolor="none", edgecolor="#BBBBBB", hatch="////", lw=0)
            )
            for j, k in np.argwhere(~self.edges)
        ]
        if numbers is None:
            numbers = n_rows <= MOST_ROWS and n_columns <= MOST_COLUMNS
        self.texts_ = []
        for j, k in np.argwhere(self.edges) if numbers else ():
            value = round(float(self.loadings[j, k]), 2) + 0.0  # no minus before a zero
            text = f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
            colour = "white" if abs(value) > 0.65 * limit else "black"
            self.texts_.append(
                self.ax_.text(
                    k + 0.5, j + 0.5, text, ha="center", va="center", size=8, color=colour
                )
            )
        self._label_axes()
        if colorbar:
            self.figure_.colorbar(
                self.image_, ax=self.ax_, label="standardised loading", shrink=0.8, pad=0.02
            ).outline.set_visible(False)
        return self

    def _label_axes(self) -> None:
        n_rows, n_columns = self.loadings.shape
        every = 1 + n_rows // 80
        rows, columns = np.arange(0, n_rows, every), np.arange(n_columns)
        small = 9 if n_rows <= 40 else 6
        self.ax_.set_yticks(rows + 0.5, [self.names[j] for j in rows], size=small)
        rotation = 90 if n_columns > 20 else 0
        self.ax_.set_xticks(columns + 0.5, [f"z{k}" for k in columns], rotation=rotation)
        self.ax_.invert_yaxis()
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        words = "latent variable"
        if self.n_components > 1:
            words += f", component {self.component} of 0..{self.n_components - 1}"
        self.ax_.set_xlabel(words)
