"""An image that is shown to a model step by step, and what the model makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._axes import load_pyplot
from latentclass._display import Display, crossed
from latentclass._types import FloatArray
from latentclass.plots._model import fitted
from latentclass.plots._style import BLUE, GREY, draw_image

STAGE = 1.05  # width of a stage in inches
SET = ("1", "1.0", "True")  # the only category of a pixel that is always set
BARS = 0.7  # height of the bars of the classes, where a stage is 1 wide


class DisclosureDisplay(Display):
    """What a model makes of a black and white image while it sees more and more of it.

    Each column of the picture is one stage. From top to bottom it shows the part of the image that
    the model sees, the probability of each class, the expected image, and the most probable image.
    In the expected image, the darkness of a hidden pixel is its probability of being set. The
    layout follows Figs. 9 and 10 of Langseth and Nielsen (2009) [1]_. It works for every
    classifier of this library.

    Attributes
    ----------
    seen : array of shape (n_stages, n_pixels)
        The image. Hidden pixels are NaN.
    posterior : array of shape (n_stages, n_classes)
        Probability of each class.
    expected : array of shape (n_stages, n_pixels)
        Probability that each pixel is set.
    most_probable : array of shape (n_stages, n_pixels)
        The most probable completion.
    classes : array
        Class labels.
    shape : tuple of int
        Height and width of the image.
    figure_, ax_
        The figure, and its axes as an array of shape (4, n_stages). Set by `plot`.
    frame : pandas DataFrame
        One line per pixel of each image and stage, and one per class and stage: part ("seen",
        "class", "expected" or "most probable"), stage, name (pixel or class), value.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.
    """

    def __init__(
        self,
        seen: FloatArray,
        posterior: FloatArray,
        expected: FloatArray,
        most_probable: FloatArray,
        classes: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> None:
        self.seen, self.posterior = seen, posterior
        self.expected, self.most_probable = expected, most_probable
        self.classes, self.shape = classes, shape

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        image: Any,
        shape: tuple[int, int],
        *,
        lines: Sequence[int] | None = None,
        figure: Any = None,
    ) -> DisclosureDisplay:
        """Compute the stages and draw them.

        Parameters
        ----------
        model : fitted classifier
            Its columns must be binary, one per pixel.
        image : array of shape (n_pixels,) or `shape`
            Its pixels: 0 and 1, or False and True.
        shape : tuple of int
            Height and width.
        lines : sequence of int, optional
            Number of lines that the model sees at each stage. By default each stage adds an eighth
            of the image.
        figure : matplotlib Figure, optional
            Where to draw; by default a new figure.
        """
        model = fitted(model, "schema_", "classes_")
        pixels = np.asarray(image, dtype=np.float64).reshape(-1)
        height, width = shape
        if len(pixels) != height * width or len(pixels) != len(model.schema_.columns):
            raise ValueError(
                f"The image has {len(pixels)} pixels, shape={shape} has {height * width}, and the "
                f"model was fitted to {len(model.schema_.columns)} columns. These numbers "
                "must be equal."
            )
        if not np.isin(pixels, (0.0, 1.0)).all():
            raise ValueError("The image must contain only 0 and 1. Binarise it first: image > 0.")
        stages = _stages(height, lines)
        seen = np.tile(pixels, (len(stages), 1))
        for stage, n_lines in enumerate(stages):
            seen[stage, n_lines * width :] = np.nan
        tables = _tables(model, seen)
        filled = np.asarray(model.complete(tables, how="most_probable"))
        display = cls(
            seen,
            model.predict_proba(tables),
            _set_chances(model, tables),
            pixel_bits(model, filled),
            model.classes_,
            shape,
        )
        return display.plot(figure=figure)

    def _columns(self) -> list[tuple[str, Any]]:
        n_stages, n_pixels = self.seen.shape
        parts = [
            ("seen", range(n_pixels), self.seen),
            ("class", self.classes.tolist(), self.posterior),
            ("expected", range(n_pixels), self.expected),
            ("most probable", range(n_pixels), self.most_probable),
        ]
        cells = [
            (part, *cell)
            for part, names, values in parts
            for cell in zip(*crossed(range(n_stages), names), values.ravel(), strict=True)
        ]
        return list(zip(("part", "stage", "name", "value"), zip(*cells, strict=True), strict=True))

    def plot(self, figure: Any = None) -> DisclosureDisplay:
        """Draw into `figure`, or into a new one."""
        plt = load_pyplot()
        n_stages = len(self.seen)
        image = self.shape[0] / self.shape[1]  # height of an image whose width is 1
        heights = np.array([image, BARS, image, image])
        if figure is None:
            # the size of what is drawn, so that the page keeps no empty margins
            size = (STAGE * n_stages + 0.8, STAGE * heights.sum() + 0.4)
            figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots(4, n_stages, squeeze=False, height_ratios=heights)
        titles = ("seen", "class", "expected", "most\nprobable")
        for stage in range(n_stages):
            self._draw_image(axes[0, stage], self.seen[stage])
            bars = axes[1, stage]
            bars.bar(np.arange(len(self.classes)), self.posterior[stage], color=BLUE)
            bars.set_ylim(0.0, 1.0)
            bars.set_xticks(np.arange(len(self.classes)), [str(c) for c in self.classes])
            bars.tick_params(labelsize=6, length=0, pad=1)
            bars.set_yticks([])
            bars.spines[["top", "right", "left"]].set_visible(False)
            self._draw_image(axes[2, stage], self.expected[stage])
            self._draw_image(axes[3, stage], self.most_probable[stage])
        for row, title in enumerate(titles):
            axes[row, 0].set_ylabel(title, fontsize=9, rotation=0, ha="right", va="center")
        self.figure_, self.ax_ = figure, axes
        return self

    def _draw_image(self, ax: Any, pixels: FloatArray) -> None:
        ax.set_facecolor(GREY)  # hidden pixels are not drawn, so the background shows
        draw_image(ax, pixels, self.shape)


def _stages(height: int, lines: Sequence[int] | None) -> list[int]:
    if lines is None:
        return sorted({max(1, round(height * part / 8)) for part in range(1, 9)})
    wrong = [n for n in lines if not 0 <= n <= height]
    if wrong or not len(lines):
        raise ValueError(f"lines={list(lines)} must be a list of numbers from 0 to {height}.")
    return [int(n) for n in lines]


def _tables(model: Any, cells: FloatArray) -> Any:
    """Rows of 0, 1 and NaN as a table with the categories of the model."""
    out = np.full(cells.shape, None, dtype=object)
    for j, column in enumerate(model.schema_.columns):
        levels = column.categories or (0.0, 1.0)
        for code, level in enumerate(levels[:2]):
            out[cells[:, j] == code, j] = level
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        return pd.DataFrame(out, columns=model.feature_names_in_)
    return out


def pixel_bits(model: Any, rows: npt.NDArray[Any]) -> FloatArray:
    """Pixels of a table as 0 and 1, NaN where a cell is missing.

    In a column with two categories the last one counts as set. In a column with a single category,
    1 and True count as set.
    """
    import pandas as pd

    out = np.empty(rows.shape)
    for j, column in enumerate(model.schema_.columns):
        levels = column.categories or (0.0, 1.0)
        set_ = levels[-1] if len(levels) > 1 or str(levels[0]) in SET else None
        out[:, j] = [float(value == set_) for value in rows[:, j]]
    out[np.asarray(pd.isna(rows), dtype=bool)] = np.nan
    return out


def _set_chances(model: Any, tables: Any) -> FloatArray:
    """P(pixel set | visible pixels); a column with a single category is always as in `fit`."""
    out = np.asarray(model.complete(tables, how="probability"), dtype=np.float64)
    for j, column in enumerate(model.schema_.columns):
        if len(column.categories) == 1:
            out[:, j] = str(column.categories[0]) in SET
    return out
