"""Rows in the plane of two latent variables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.plots._model import LCM_PARTS, class_codes, fitted
from latentclass.plots._style import class_colour, clear_spines, legend_beside, scatter_classes


class LatentSpaceDisplay(Display):
    """Rows and classes over two latent variables.

    A point is a row as `transform` returns it: the mean of the latent variables given the observed
    cells, without the class. An ellipse is a class: its mean and some standard deviations around
    it. The latent variables are independent given the class, so the axes of the ellipses are
    parallel to those of the picture. Where noise hides the latent variables, the points scatter
    less than the ellipses.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        Position of each row.
    codes : array of shape (n_rows,)
        Position of the class of each row in `classes`; -1 for an unlabelled row.
    classes : array of shape (n_classes,)
        Class labels.
    means, deviations : arrays of shape (n_classes, 2)
        Mean and standard deviation of the latent variables in each class.
    names : pair of str
        Names of the two latent variables.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per row, then one per class for its ellipse: part ("row" or "class"), class, the
        two coordinates, and for ellipses their standard deviations.
    points_ : list of matplotlib path collections
        The unlabelled rows, if there are any, then one collection per class.
    ellipses_ : list of matplotlib ellipses
        One per class.

    Examples
    --------
    >>> from latentclass import LCMClassifier
    >>> from latentclass.datasets import load_dataset
    >>> wine = load_dataset("wine", container="numpy")
    >>> model = LCMClassifier(random_state=0).fit(wine.X, wine.y)
    >>> display = LatentSpaceDisplay.from_estimator(model, wine.X, wine.y)
    >>> display.points.shape, display.means.shape
    ((178, 2), (3, 2))
    """

    ax_: Any
    figure_: Any
    points_: list[Any]
    ellipses_: list[Any]

    def __init__(
        self,
        points: FloatArray,
        codes: IndexArray,
        classes: npt.NDArray[Any],
        means: FloatArray,
        deviations: FloatArray,
        names: tuple[str, str],
    ) -> None:
        self.points = points
        self.codes = codes
        self.classes = classes
        self.means = means
        self.deviations = deviations
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        latent: tuple[int, int] = (0, 1),
        *,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the latent space of a fitted model.

        Parameters
        ----------
        model : fitted latent classification model, or search with a `best_estimator_`
        X : table with the columns of `fit`
        y : array-like of shape (n_rows,), optional
            Labels. None marks an unlabelled row.
        latent : pair of int
            The two latent variables to draw.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, *LCM_PARTS)
        chosen = _pair(latent, model.latent_means_.shape[1])
        points = model.transform(X)
        points = np.asarray(points)[:, chosen]  # `set_output` may have made it a frame
        display = cls(
            points,
            class_codes(model, y, len(points)),
            model.classes_,
            model.latent_means_[:, chosen],
            np.sqrt(model.latent_variances_[:, chosen]),
            (model.latent_names_[chosen[0]], model.latent_names_[chosen[1]]),
        )
        return display.plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        labels = [None if k < 0 else self.classes[k] for k in self.codes]
        unknown = np.full(self.points.shape, np.nan)
        places = np.vstack([self.points, self.means])
        deviations = np.vstack([unknown, self.deviations])
        return [
            ("part", ["row"] * len(labels) + ["class"] * len(self.classes)),
            ("class", [*labels, *self.classes]),
            *zip(self.names, places.T, strict=True),
            *(
                (f"deviation of {name}", d)
                for name, d in zip(self.names, deviations.T, strict=True)
            ),
        ]

    def plot(self, ax: Any = None, *, n_deviations: float = 2.0, legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        n_deviations : float, default=2.0
            Half the size of the ellipses, in standard deviations.
        legend : bool, default=True
            Whether to draw a legend of the classes.
        """
        check_number("n_deviations", n_deviations, low=0, strict=True)
        self.ax_, self.figure_ = make_axes(ax, figsize=(5.6, 4.2))
        from matplotlib.patches import Ellipse

        self.points_ = scatter_classes(self.ax_, self.points, self.codes, self.classes)
        self.ellipses_ = []
        for k, (mean, deviation) in enumerate(zip(self.means, self.deviations, strict=True)):
            width, height = 2.0 * n_deviations * deviation
            ellipse = Ellipse(
                tuple(mean),
                width,
                height,
                facecolor="none",
                edgecolor=class_colour(k),
                linewidth=1.6,
                zorder=3.5,
            )
            self.ellipses_.append(self.ax_.add_patch(ellipse))
        first, second = self.names
        self.ax_.set(xlabel=f"latent variable {first}", ylabel=f"latent variable {second}")
        clear_spines(self.ax_)
        if legend:
            legend_beside(self.ax_, "class")
        return self


def _pair(latent: Any, n_latent: int) -> list[int]:
    entries = list(latent) if np.iterable(latent) else [latent]
    fits = all(
        isinstance(k, int | np.integer) and not isinstance(k, bool) and 0 <= k < n_latent
        for k in entries
    )
    if not fits or len(entries) != 2 or entries[0] == entries[1]:
        also = " Fit with n_latent=2 or more." if n_latent < 2 else ""
        raise ValueError(
            f"latent={latent!r} must be two different latent variables out of the model's "
            f"{n_latent}: {list(range(n_latent))}.{also}"
        )
    return [int(k) for k in entries]
