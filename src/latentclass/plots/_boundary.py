"""Decision regions over two columns, with all other columns integrated out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from latentclass._axes import make_axes
from latentclass._display import Display
from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._schema import Schema, Table
from latentclass.data._write import build_table
from latentclass.plots._model import class_codes, continuous_column, dense, fitted
from latentclass.plots._style import class_colour, clear_spines, legend_beside, scatter_classes


class BoundaryDisplay(Display):
    """Decision regions of a classifier over two continuous columns.

    The colour shows the most probable class. It is paler where the model is less certain. Dark
    lines are the boundaries. All other columns are integrated out exactly: the model predicts rows
    in which they are missing. So the picture shows what these two columns alone say. A point in
    the region of another class may still be classified correctly because of its other cells.

    Parameters
    ----------
    x, y : arrays of shape (n_x,) and (n_y,)
        Coordinates of the grid.
    posterior : array of shape (n_y, n_x, n_classes)
        Class probabilities on the grid.
    classes : array of shape (n_classes,)
        Class labels.
    names : pair of str
        Names of the two columns.
    points : array of shape (n_rows, 2)
        Rows to draw. Rows with a missing cell are left out.
    codes : array of shape (n_rows,)
        Position of the class of each row in `classes`; -1 for an unlabelled row.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    frame : pandas DataFrame
        One line per point of the grid: its two coordinates, and the probability of each class as
        `P(class)`.
    surface_ : matplotlib image of the regions
    boundaries_ : list of matplotlib contour sets
    points_ : list of matplotlib path collections
        The unlabelled rows, if there are any, then one collection per class.

    Examples
    --------
    >>> from latentclass import LCMClassifier
    >>> from latentclass.datasets import load_dataset
    >>> wine = load_dataset("wine", container="numpy")
    >>> model = LCMClassifier(random_state=0).fit(wine.X, wine.y)
    >>> display = BoundaryDisplay.from_estimator(
    ...     model, wine.X, wine.y, features=(0, 6), grid_resolution=20
    ... )
    >>> display.posterior.shape
    (20, 20, 3)
    """

    ax_: Any
    figure_: Any
    surface_: Any
    boundaries_: list[Any]
    points_: list[Any]

    def __init__(
        self,
        x: FloatArray,
        y: FloatArray,
        posterior: FloatArray,
        classes: npt.NDArray[Any],
        names: tuple[str, str],
        points: FloatArray,
        codes: IndexArray,
    ) -> None:
        self.x = x
        self.y = y
        self.posterior = posterior
        self.classes = classes
        self.names = names
        self.points = points
        self.codes = codes

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        features: tuple[Any, Any] | None = None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.08,
        priors: Any = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the regions of a fitted classifier of latentclass.

        Parameters
        ----------
        model : fitted classifier, or search with a `best_estimator_`
        X : table with the columns of `fit`
            The rows to draw. The picture covers their range.
        y : array-like of shape (n_rows,), optional
            Their labels. None marks an unlabelled row.
        features : pair of str or int, optional
            Two continuous columns, by name or position; by default the first two.
        grid_resolution : int, default=200
            Number of grid points on each axis.
        margin : float, default=0.08
            Margin around the rows, as a share of their range.
        priors : optional
            As in `predict_proba`.
        ax : matplotlib axes, optional
        **plot_options
            As in `plot`.
        """
        model = fitted(model, "schema_", "classes_", "predict_proba")
        check_number("grid_resolution", grid_resolution, low=2, whole=True)
        check_number("margin", margin, low=0)
        schema: Schema = model.schema_
        first, second = _pair(schema, features)
        table = schema.encode(X, handle_unknown=model.handle_unknown, owner=type(model).__name__)
        places = [schema.continuous.index(j) for j in (first, second)]
        points = np.column_stack([dense(table.numeric[:, [place]]) for place in places])
        names = (schema.names[first], schema.names[second])
        x, y_axis = (
            _axis(points[:, side], names[side], grid_resolution, margin) for side in range(2)
        )
        mesh = np.meshgrid(x, y_axis)
        numeric = np.full((mesh[0].size, len(schema.continuous)), np.nan)
        for place, axis in zip(places, mesh, strict=True):
            numeric[:, place] = axis.ravel()
        codes = np.full((len(numeric), len(schema.discrete)), -1, dtype=np.int32)
        rows = build_table(schema, Table(numeric, codes))
        posterior = model.predict_proba(rows, priors).reshape(*mesh[0].shape, -1)
        display = cls(
            x, y_axis, posterior, model.classes_, names, points, class_codes(model, y, len(points))
        )
        return display.plot(ax, **plot_options)

    def _columns(self) -> list[tuple[str, Any]]:
        down, across = np.meshgrid(self.y, self.x, indexing="ij")
        chances = np.moveaxis(self.posterior, 2, 0)
        return [
            (self.names[0], across.ravel()),
            (self.names[1], down.ravel()),
            *(
                (f"P({label})", chance.ravel())
                for label, chance in zip(self.classes, chances, strict=True)
            ),
        ]

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw into `ax`, or into a new figure; `legend` adds a legend of the classes."""
        self.ax_, self.figure_ = make_axes(ax, figsize=(5.6, 4.0))
        self.surface_ = self.ax_.imshow(
            self._colours(),
            extent=(*_ends(self.x), *_ends(self.y)),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
            zorder=0,
        )
        self.boundaries_ = []
        # each boundary of the last class is also the boundary of another class
        for k in range(len(self.classes) - 1):
            others = np.delete(self.posterior, k, axis=2).max(axis=2)
            lead = self.posterior[..., k] - others
            if lead.min() < 0 < lead.max():
                self.boundaries_.append(
                    self.ax_.contour(
                        self.x, self.y, lead, levels=[0.0], colors="#333333", linewidths=0.8
                    )
                )
        shown = ~np.isnan(self.points).any(axis=1)
        self.points_ = scatter_classes(
            self.ax_, self.points[shown], self.codes[shown], self.classes
        )
        self.ax_.set(
            xlim=_ends(self.x), ylim=_ends(self.y), xlabel=self.names[0], ylabel=self.names[1]
        )
        clear_spines(self.ax_)
        if legend:
            legend_beside(self.ax_, "class")
        return self

    def _colours(self) -> FloatArray:
        """Return the colour of the most probable class, paler where it is less certain."""
        from matplotlib.colors import to_rgb

        n_classes = len(self.classes)
        palette = np.array([to_rgb(class_colour(k)) for k in range(n_classes)])
        best = self.posterior.argmax(axis=2)
        even = 1.0 / n_classes
        sure = np.ones(best.shape)
        if n_classes > 1:
            sure = (self.posterior.max(axis=2) - even) / (1.0 - even)
        strength = 0.38 * np.clip(sure, 0.0, 1.0)[..., None]
        return np.asarray(1.0 - strength * (1.0 - palette[best]))


def _pair(schema: Schema, features: Any) -> tuple[int, int]:
    wanted = "must be two different columns, by name or position"
    if features is None:
        if len(schema.continuous) < 2:
            there = [schema.names[j] for j in schema.continuous]
            raise ValueError(
                f"A picture of regions needs two continuous columns, but the table has "
                f"{len(there)}: {there}."
            )
        features = schema.continuous[:2]
    if isinstance(features, str) or not np.iterable(features):
        raise ValueError(f"features={features!r} {wanted}.")
    entries = list(features)
    if len(entries) != 2:
        raise ValueError(f"features has {len(entries)} entries; it {wanted}.")
    first, second = (continuous_column(schema, entry) for entry in entries)
    if first == second:
        raise ValueError(f"features contains {schema.names[first]!r} twice; it {wanted}.")
    return first, second


def _axis(values: FloatArray, name: str, n_points: int, margin: float) -> FloatArray:
    if np.isnan(values).all():
        raise ValueError(
            f"Column {name!r} has no value in X, so there is no range to draw. Pass rows in which "
            "it is known."
        )
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = margin * (high - low) or 0.5 * max(abs(low), 1.0) * (high == low)
    return np.linspace(low - room, high + room, n_points)


def _ends(axis: FloatArray) -> tuple[float, float]:
    return float(axis[0]), float(axis[-1])
