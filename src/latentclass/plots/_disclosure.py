"""An image that is disclosed step by step, and what a model makes of what it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray
from latentclass.plots._model import fitted
from latentclass.plots._style import BLUE, GREY


class DisclosureDisplay:
    """What a model says of a black and white image while more and more of it is seen.

    One column a stage. From top to bottom: what is seen; the probability of each class; the
    expected image, each hidden pixel as dark as it is likely to be set; the most probable image.
    The picture is that of Figs. 9 and 10 of Langseth and Nielsen (2009), and works for every
    classifier of this library.

    Attributes
    ----------
    seen : array of shape (n_stages, n_pixels)
        The image, NaN where it is hidden.
    posterior : array of shape (n_stages, n_classes)
        Probability of each class.
    expected : array of shape (n_stages, n_pixels)
        Probability that each pixel is set.
    most_probable : array of shape (n_stages, n_pixels)
        The most probable completion.
    classes : array
        Labels.
    shape : tuple of int
        Height and width of the image.
    figure_, ax_
        Figure and axes, an array of shape (4, n_stages), once drawn.

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
        """Compute and draw.

        Parameters
        ----------
        model : fitted classifier of binary columns, one a pixel
        image : array of shape (n_pixels,) or `shape`
            0 and 1, or False and True.
        shape : tuple of int
            Height and width.
        lines : sequence of int, optional
            How many lines are seen at each stage; by default an eighth more each time.
        figure : matplotlib Figure, optional
        """
        model = fitted(model, "schema_", "classes_")
        pixels = np.asarray(image, dtype=np.float64).reshape(-1)
        height, width = shape
        if len(pixels) != height * width or len(pixels) != len(model.schema_.columns):
            raise ValueError(
                f"The image has {len(pixels)} pixels, shape={shape} has {height * width}, and the "
                f"model was fitted to {len(model.schema_.columns)} columns: they must be equal."
            )
        if not np.isin(pixels, (0.0, 1.0)).all():
            raise ValueError("The image must hold 0 and 1 only. Binarise it first: image > 0.")
        stages = _stages(height, lines)
        seen = np.tile(pixels, (len(stages), 1))
        for stage, n_lines in enumerate(stages):
            seen[stage, n_lines * width :] = np.nan
        tables = _tables(model, seen)
        filled = np.asarray(model.complete(tables, how="most_probable"))
        display = cls(
            seen,
            model.predict_proba(tables),
            _expected(model, seen),
            pixel_bits(model, filled),
            model.classes_,
            shape,
        )
        return display.plot(figure=figure)

    def plot(self, figure: Any = None) -> DisclosureDisplay:
        """Draw, on a new figure or the one given."""
        import matplotlib.pyplot as plt

        n_stages = len(self.seen)
        if figure is None:
            figure = plt.figure(figsize=(1.2 * n_stages + 1.0, 5.2))
        axes = figure.subplots(4, n_stages, squeeze=False)
        titles = ("seen", "class", "expected", "most probable")
        for stage in range(n_stages):
            self._draw_image(axes[0, stage], self.seen[stage])
            bars = axes[1, stage]
            bars.bar(np.arange(len(self.classes)), self.posterior[stage], color=BLUE)
            bars.set_ylim(0.0, 1.0)
            bars.set_xticks(np.arange(len(self.classes)), [str(c) for c in self.classes])
            bars.tick_params(labelsize=6, length=0)
            bars.set_yticks([])
            bars.spines[["top", "right", "left"]].set_visible(False)
            self._draw_image(axes[2, stage], self.expected[stage])
            self._draw_image(axes[3, stage], self.most_probable[stage])
        for row, title in enumerate(titles):
            axes[row, 0].set_ylabel(title, fontsize=9)
        self.figure_, self.ax_ = figure, axes
        return self

    def _draw_image(self, ax: Any, pixels: FloatArray) -> None:
        ax.set_facecolor(GREY)  # hidden pixels are not drawn: the ground shows
        picture = np.ma.masked_invalid(pixels.reshape(self.shape))
        ax.imshow(picture, cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
        ax.set_xticks([])
        ax.set_yticks([])


def _stages(height: int, lines: Sequence[int] | None) -> list[int]:
    if lines is None:
        return sorted({max(1, round(height * part / 8)) for part in range(1, 9)})
    wrong = [n for n in lines if not 0 <= n <= height]
    if wrong or not len(lines):
        raise ValueError(f"lines={list(lines)} must be numbers from 0 to {height}, one at least.")
    return [int(n) for n in lines]


def _tables(model: Any, cells: FloatArray) -> Any:
    """Rows of 0, 1 and NaN as the model knows its columns."""
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
    """Which pixels of rows of the model's columns are set, NaN where a cell is missing.

    Of a column's two categories the last is set; of a column of one, 1 and True are.
    """
    import pandas as pd

    out = np.empty(rows.shape)
    for j, column in enumerate(model.schema_.columns):
        levels = column.categories or (0.0, 1.0)
        set_ = levels[-1] if len(levels) > 1 or str(levels[0]) in ("1", "1.0", "True") else None
        out[:, j] = [float(value == set_) for value in rows[:, j]]
    out[np.asarray(pd.isna(rows), dtype=bool)] = np.nan
    return out


def _expected(model: Any, seen: FloatArray) -> FloatArray:
    """P(pixel set | what is seen), by the density of the row with the pixel set and not set."""
    out = seen.copy()
    for stage, row in enumerate(seen):
        hidden = np.flatnonzero(np.isnan(row))
        if not hidden.size:
            continue
        trial = np.tile(row, (2 * len(hidden), 1))
        trial[np.arange(len(hidden)), hidden] = 1.0
        trial[len(hidden) + np.arange(len(hidden)), hidden] = 0.0
        set_, unset = np.split(model.score_samples(_tables(model, trial)), 2)
        out[stage, hidden] = 1.0 / (1.0 + np.exp(unset - set_))
    return out
