"""What the components of a mixture look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from latentclass._axes import make_axes
from latentclass._types import FloatArray
from latentclass.plots._model import continuous_names, fitted
from latentclass.plots._style import BLUE, ORANGE

MOST_ROWS, MOST_COLUMNS = 30, 12
"""Numbers are written in tables up to this size."""


class ComponentsDisplay:
    """Heat map of a mixture's components: columns of the table, and categories, by component.

    The number in a cell is the component's mean of a continuous column, or the probability of a
    category. The colour tells how far that is from the whole mixture's, in standard deviations of
    the column (of a category: of the variable that is 1 where it holds).

    Parameters
    ----------
    values : array of shape (n_rows, n_components)
        Means and probabilities.
    deviations : array, same shape
        Their distances from the whole mixture's.
    names : sequence of str
        The rows: columns of the table, and categories as "column = category".
    weights : array of shape (n_components,)
        Share of each component.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
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
        self, values: FloatArray, deviations: FloatArray, names: Sequence[str], weights: FloatArray
    ) -> None:
        self.values = values
        self.deviations = deviations
        self.names = list(names)
        self.weights = weights

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
        # the classifier has weights of its own name, beside those of the classes
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
        return cls(mean, deviations, names, weights).plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, numbers: bool | None = None, colorbar: bool = True) -> Self:
        """Draw into `ax`, or a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        numbers : bool, optional
            Write each mean and probability into its cell; by default in small tables.
        colorbar : bool, default=True
        """
        n_rows, n_columns = self.values.shape
        width = 1.8 + 0.075 * max(map(len, self.names), default=0) + 0.75 * min(n_columns, 24)
        size = (max(3.4, width), max(2.0, 1.1 + 0.27 * min(n_rows, 40)))
        self.ax_, self.figure_ = make_axes(ax, figsize=size)
        from matplotlib.colors import LinearSegmentedColormap

        limit = float(np.abs(self.deviations).max(initial=0.0)) or 1.0
        colours = LinearSegmentedColormap.from_list("components", [ORANGE, "white", BLUE])
        self.image_ = self.ax_.pcolormesh(
            self.deviations, cmap=colours, vmin=-limit, vmax=limit, edgecolor="white", lw=0.6
        )
        if numbers is None:
            numbers = n_rows <= MOST_ROWS and n_columns <= MOST_COLUMNS
        self.texts_ = []
        for (j, k), value in np.ndenumerate(self.values) if numbers else ():
            colour = "white" if abs(self.deviations[j, k]) > 0.65 * limit else "black"
            text = f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
            self.texts_.append(
                self.ax_.text(
                    k + 0.5, j + 0.5, text, ha="center", va="center", size=8, color=colour
                )
            )
        every = 1 + n_rows // 80
        rows = np.arange(0, n_rows, every)
        self.ax_.set_yticks(rows + 0.5, [self.names[j] for j in rows], size=9)
        labels = [f"{k}\n{weight:.0%}" for k, weight in enumerate(self.weights)]
        self.ax_.set_xticks(np.arange(n_columns) + 0.5, labels)
        self.ax_.invert_yaxis()
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        self.ax_.set_xlabel("component and its share")
        if colorbar:
            self.figure_.colorbar(
                self.image_, ax=self.ax_, label="standard deviations", shrink=0.8, pad=0.02
            ).outline.set_visible(False)
        return self
