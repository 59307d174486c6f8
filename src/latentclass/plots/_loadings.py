"""A heat map of how the columns depend on the latent variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display, crossed
from latentclass._types import BoolArray, FloatArray
from latentclass.plots._heat_map import add_colour_bar, draw_heat_map, fits_numbers
from latentclass.plots._model import (
    LCM_PARTS,
    continuous_names,
    fitted,
    latent_labels,
    latent_questions,
    standardised_loadings,
)


class LoadingsDisplay(Display):
    """Heat map of the standardised loadings: one line per column, one column per latent variable.

    A cell shows by how many of its standard deviations a column changes when the latent variable
    changes by one of its own. The standard deviation of a column is that of the model over all
    classes and components. A latent variable has standard deviation 1 by convention.

    Where discrete columns depend on the latent variables too (binary and hybrid models), there is a
    line for each yes-or-no question about them. Such a question is a threshold on a hidden
    quantity, whose standard deviation counts. "shade = pale" is asked of rows that are none of the
    categories above it, unless the model has `nominal="softmax"`.

    Parameters
    ----------
    loadings : array of shape (n_lines, n_latent)
        Standardised loadings.
    edges : array of bool, same shape
        Cells are hatched where this is False: the model has no edge there.
    names : sequence of str
        Names of the columns, and questions about discrete ones as "column = category".
    component : int, default=0
        The component that is drawn.
    n_components : int, default=1
        Number of components of the model.
    latent_names : sequence of str, optional
        Names of the latent variables; by default z0, z1 and so on.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per column (or question about one) and latent variable: column, latent, loading.
        Where there is no edge, the loading is NaN.
    image_ : matplotlib mesh
    texts_ : list of matplotlib texts
    hatches_ : list of matplotlib rectangles
        One per absent edge.

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
        latent_names: Sequence[str] | None = None,
    ) -> None:
        self.loadings = loadings
        self.edges = edges
        self.names = list(names)
        self.component = component
        self.n_components = n_components
        self.latent_names = latent_labels(latent_names, loadings)

    @classmethod
    def from_estimator(
        cls, model: Any, component: int = 0, *, ax: Any = None, **plot_options: Any
    ) -> Self:
        """Draw the loadings of a fitted model.

        Parameters
        ----------
        model : fitted latent classification model, or search with a `best_estimator_`
        component : int, default=0
            Component whose loadings are drawn.
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
        questions = latent_questions(model)
        names = [*continuous_names(model), *(question.text for question in questions)]
        if not names:
            raise ValueError(
                "The model has no loadings: its table has no column that depends on the latent "
                "variables."
            )
        asked = [question.loadings[component] for question in questions]
        loadings = np.vstack([standardised_loadings(model)[component], *asked])
        edges = np.vstack([model.edges_, np.ones((len(asked), loadings.shape[1]), dtype=bool)])
        display = cls(loadings, edges, names, int(component), n_components, model.latent_names_)
        return display.plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        names, latent = crossed(self.names, self.latent_names)
        return [
            ("column", names),
            ("latent", latent),
            ("loading", np.where(self.edges, self.loadings, np.nan).ravel()),
        ]

    def plot(self, ax: Any = None, *, numbers: bool | None = None, colorbar: bool = True) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        numbers : bool, optional
            Whether to write each loading into its cell. By default only in small maps.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        """
        n_rows, n_columns = self.loadings.shape
        longest = max(map(len, self.names))
        width = 1.6 + 0.075 * longest + 0.55 * min(n_columns, 24)
        size = (max(3.0, width), max(2.0, 1.0 + 0.27 * min(n_rows, 40)))
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.patches import Rectangle

        numbers = fits_numbers(self.loadings.shape) if numbers is None else numbers
        rounded = self.loadings.round(2) + 0.0  # no minus sign before a zero
        texts = np.vectorize("{:.2f}".format, otypes=[str])(rounded) if numbers else None
        self.image_, self.texts_ = draw_heat_map(
            self.ax_,
            np.ma.masked_array(self.loadings, mask=~self.edges),
            texts,
            self.names,
            self.latent_names,
        )
        self.hatches_ = [
            self.ax_.add_patch(
                Rectangle((k, j), 1, 1, facecolor="none", edgecolor="#BBBBBB", hatch="////", lw=0)
            )
            for j, k in np.argwhere(~self.edges)
        ]
        several = self.n_components > 1
        component = f", component {self.component} of 0..{self.n_components - 1}"
        self.ax_.set_xlabel("latent variable" + component * several)
        if colorbar:
            add_colour_bar(self.image_, "standardised loading")
        return self
