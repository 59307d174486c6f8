"""A heat map of the components of a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._display import Display, crossed
from latentclass._types import FloatArray
from latentclass.plots._heat_map import add_colour_bar, draw_heat_map, fits_numbers
from latentclass.plots._model import continuous_names, fitted


class ComponentsDisplay(Display):
    """Heat map of the components of a mixture: one line per column or category of the table.

    The number in a cell is the mean of a continuous column in the component, or the probability of
    a category. The colour shows how far this is from the value in the whole mixture, in standard
    deviations. For a category, the standard deviation is that of its 0/1 indicator.

    Parameters
    ----------
    values : array of shape (n_rows, n_components)
        Means and probabilities.
    deviations : array, same shape
        Their distances from the whole mixture, in standard deviations.
    names : sequence of str
        Names of the lines: continuous columns, and categories as "column = category".
    weights : array of shape (n_components,)
        Share of each component.
    latent_names : sequence of str, optional
        Names of the components; by default their numbers.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per column (or category of one) and component: column, component, share, value,
        deviation.
    image_ : matplotlib mesh
    texts_ : list of matplotlib texts

    Examples
    --------
    >>> from latentclass import LatentMixture
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> display = ComponentsDisplay.from_estimator(LatentMixture(3, random_state=0).fit(iris.X))
    >>> display.values.shape, display.weights.round(2).tolist()
    ((4, 3), [0.41, 0.33, 0.26])
    """

    ax_: Any
    figure_: Any
    image_: Any
    texts_: list[Any]

    def __init__(
        self,
        values: FloatArray,
        deviations: FloatArray,
        names: Sequence[str],
        weights: FloatArray,
        latent_names: Sequence[str] | None = None,
    ) -> None:
        self.values = values
        self.deviations = deviations
        self.names = list(names)
        self.weights = weights
        self.latent_names = list(latent_names or map(str, range(len(weights))))

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Draw the components of a fitted model.

        Parameters
        ----------
        model : fitted LatentMixture or LatentVariableClassifier
            Or a search with such a `best_estimator_`.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, "means_", "scales_", "probabilities_", "n_components_", "traces_")
        # the classifier has a name of its own for them
        weights = model.weights_ if hasattr(model, "weights_") else model.component_weights_
        names = continuous_names(model)
        values, spread = [model.means_.T], [model.scales_.T**2]
        kinds = {column.name: column for column in model.schema_.columns}
        for name, table in model.probabilities_.items():
            names += [f"{name} = {category}" for category in kinds[name].categories]
            values.append(table.T)
            spread.append((table * (1 - table)).T)
        mean, variance = np.concatenate(values), np.concatenate(spread)
        overall = (mean @ weights)[:, None]
        whole = np.sqrt((variance + (mean - overall) ** 2) @ weights)[:, None]
        deviations = np.divide(mean - overall, whole, out=np.zeros_like(mean), where=whole > 0)
        return cls(mean, deviations, names, weights, model.latent_names_).plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        names, latent = crossed(self.names, self.latent_names)
        return [
            ("column", names),
            ("component", latent),
            ("share", np.tile(self.weights, len(self.names))),
            ("value", self.values.ravel()),
            ("deviation", self.deviations.ravel()),
        ]

    def plot(self, ax: Any = None, *, numbers: bool | None = None, colorbar: bool = True) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        numbers : bool, optional
            Whether to write each mean and probability into its cell. By default only in small
            maps.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        """
        n_rows, n_columns = self.values.shape
        width = 1.8 + 0.075 * max(map(len, self.names), default=0) + 0.75 * min(n_columns, 24)
        size = (max(3.4, width), max(2.0, 1.1 + 0.27 * min(n_rows, 40)))
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        numbers = fits_numbers(self.values.shape) if numbers is None else numbers
        texts = np.vectorize("{:.3g}".format, otypes=[str])(self.values) if numbers else None
        shares = zip(self.latent_names, self.weights, strict=True)
        labels = [f"{name}\n{weight:.0%}" for name, weight in shares]
        self.image_, self.texts_ = draw_heat_map(
            self.ax_, self.deviations, texts, self.names, labels
        )
        self.ax_.set_xlabel("component and its share")
        if colorbar:
            add_colour_bar(self.image_, "standard deviations")
        return self
