"""Rows of a table of pixels as images: samples, means, mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import FloatArray
from latentclass._validation import check_number, check_option
from latentclass.plots._disclosure import pixel_bits
from latentclass.plots._model import class_codes, fitted

N_NODES = 41
"""Points over which a pixel's probability is averaged."""


class ImagesDisplay:
    """Images in a grid: rows of a table, each column a pixel.

    `from_estimator` shows what a model of black and white images has learned: images drawn from
    each class (`show="samples"`), the mean image of each class and component (`show="means"`), or
    the images it judges wrongly (`show="mistakes"`). The pictures are those of Figs. 3, 5 and 8 of
    Langseth and Nielsen (2009).

    Parameters
    ----------
    images : array of shape (n_images, n_pixels)
        0 is white, 1 black, NaN is left out.
    shape : tuple of int
        Height and width of an image.
    n_columns : int, default=10
        Images in a line.
    titles : sequence of str, optional
        One above each image.
    line_titles : sequence of str, optional
        One beside each line.

    Attributes
    ----------
    images, shape, n_columns, titles, line_titles
        As given.
    figure_, ax_
        Figure and axes, an array of shape (n_lines, n_columns), once drawn.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.
    """

    def __init__(
        self,
        images: Any,
        shape: tuple[int, int],
        *,
        n_columns: int = 10,
        titles: Sequence[str] | None = None,
        line_titles: Sequence[str] | None = None,
    ) -> None:
        check_number("n_columns", n_columns, low=1, whole=True)
        _check_shape(shape)
        self.images = np.asarray(images, dtype=np.float64)
        self.shape, self.n_columns = shape, n_columns
        self.titles, self.line_titles = titles, line_titles
        if self.images.ndim != 2 or self.images.shape[1] != shape[0] * shape[1]:
            raise ValueError(
                f"images has shape {self.images.shape}, and shape={shape} has "
                f"{shape[0] * shape[1]} pixels. Give one row an image, one column a pixel."
            )
        if titles is not None and len(titles) != len(self.images):
            raise ValueError(
                f"titles has {len(titles)} entries for {len(self.images)} images; give one each."
            )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        shape: tuple[int, int],
        *,
        show: str = "samples",
        X: Any = None,
        y: Any = None,
        n_images: int = 10,
        random_state: Any = None,
        figure: Any = None,
    ) -> ImagesDisplay:
        """Compute and draw.

        Parameters
        ----------
        model : fitted classifier of binary columns, one a pixel
        shape : tuple of int
            Height and width.
        show : {"samples", "means", "mistakes"}, default="samples"
            A line of images drawn from each class; the mean image of each class, a line each,
            overall and in each component (latent classification models of binary columns); or the
            images of `X` that are not judged to be `y`, the surest mistakes first.
        X, y : table of images and their labels
            For `show="mistakes"`.
        n_images : int, default=10
            Images of each class, or most mistakes.
        random_state : int, RandomState or None
            Seeds the samples.
        figure : matplotlib Figure, optional
        """
        check_option("show", show, ("samples", "means", "mistakes"))
        check_number("n_images", n_images, low=1, whole=True)
        _check_shape(shape)
        model = fitted(model, "schema_", "classes_")
        numbers = [c.name for c in model.schema_.columns if c.kind == "continuous" and c.observed]
        if numbers:
            raise ValueError(
                f"ImagesDisplay needs pixels that are set or not, but the model read column "
                f"{numbers[0]!r} as a number. Fit it with columns of type bool, or with "
                "categorical_features."
            )
        if show == "samples":
            display = cls._of_samples(model, shape, n_images, random_state)
        elif show == "means":
            display = cls._of_means(model, shape)
        else:
            display = cls._of_mistakes(model, shape, X, y, n_images)
        return display.plot(figure=figure)

    @classmethod
    def _of_samples(
        cls, model: Any, shape: tuple[int, int], n_images: int, random_state: Any
    ) -> ImagesDisplay:
        labels = np.repeat(model.classes_, n_images)
        drawn, _ = model.sample(len(labels), y=labels, random_state=random_state)
        names = [str(label) for label in model.classes_]
        images = pixel_bits(model, _dense(drawn))
        return cls(images, shape, n_columns=n_images, line_titles=names)

    @classmethod
    def _of_means(cls, model: Any, shape: tuple[int, int]) -> ImagesDisplay:
        by_cell = mean_images(model)
        share = model.component_prior_
        overall = (share[..., None] * by_cell).sum(axis=1, keepdims=True)
        n_components = share.shape[1]
        parts = [overall, by_cell] if n_components > 1 else [overall]
        images = np.concatenate(parts, axis=1)
        # shares are those of the class
        titles = [
            title
            for line in share
            for title in ("", *(f"{part:.2f}" for part in line if n_components > 1))
        ]
        names = [str(label) for label in model.classes_]
        n_columns = images.shape[1]
        pixels = images.reshape(-1, images.shape[2])
        return cls(pixels, shape, n_columns=n_columns, titles=titles, line_titles=names)

    @classmethod
    def _of_mistakes(
        cls, model: Any, shape: tuple[int, int], X: Any, y: Any, n_images: int
    ) -> ImagesDisplay:
        if X is None or y is None:
            raise ValueError("show='mistakes' needs X and y: the images to judge and their labels.")
        posterior = model.predict_proba(X)
        label = class_codes(model, y, len(posterior))
        found = posterior.argmax(axis=1)
        wrong = np.flatnonzero((found != label) & (label >= 0))
        wrong = wrong[np.argsort(-posterior[wrong, found[wrong]], kind="stable")][:n_images]
        names = [str(name) for name in model.classes_]
        titles = [f"{names[label[r]]} as {names[found[r]]}" for r in wrong]
        images = pixel_bits(model, _dense(X)[wrong])
        return cls(images, shape, titles=titles, n_columns=min(10, max(1, len(wrong))))

    def plot(self, figure: Any = None) -> ImagesDisplay:
        """Draw, on a new figure or the one given."""
        import matplotlib.pyplot as plt

        n_lines = max(1, -(-len(self.images) // self.n_columns))
        if figure is None:
            height = 0.85 if self.titles is None else 1.0
            figure = plt.figure(figsize=(0.75 * self.n_columns + 0.6, height * n_lines + 0.2))
        axes = figure.subplots(n_lines, self.n_columns, squeeze=False)
        for number, ax in enumerate(axes.flat):
            ax.set_xticks([])
            ax.set_yticks([])
            if number >= len(self.images):
                ax.set_axis_off()
                continue
            picture = np.ma.masked_invalid(self.images[number].reshape(self.shape))
            ax.imshow(picture, cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
            if self.titles is not None and self.titles[number]:
                ax.set_title(self.titles[number], fontsize=8, pad=2)
        for ax, title in zip(axes[:, 0], self.line_titles or [], strict=False):
            ax.set_ylabel(title, fontsize=9)
        self.figure_, self.ax_ = figure, axes
        return self


def _check_shape(shape: Any) -> None:
    whole = isinstance(shape, tuple | list) and len(shape) == 2
    if not whole or not all(isinstance(n, int | np.integer) and n > 0 for n in shape):
        raise ValueError(f"shape={shape!r} must be two whole numbers: height and width.")


def _dense(table: Any) -> npt.NDArray[Any]:
    return np.asarray(table.toarray() if sp.issparse(table) else table)


def mean_images(model: Any) -> FloatArray:
    """P(pixel set | class, component), shape (n_classes, n_components, n_pixels).

    Given these a pixel's log-odds are Gaussian, so its probability is an average over one number.
    """
    model = fitted(model, "weights_", "intercepts_", "latent_means_", "latent_variances_")
    weights = model.weights_
    if weights.shape[1] != len(model.schema_.columns):
        raise ValueError(
            f"show='means' needs a model of binary columns alone; of the "
            f"{len(model.schema_.columns)} columns some are not."
        )
    centre = np.einsum("mnq,yq->ymn", weights, model.latent_means_) + model.intercepts_
    spread = np.sqrt(np.einsum("mnq,yq->ymn", weights**2, model.latent_variances_))
    nodes, share = np.polynomial.hermite_e.hermegauss(N_NODES)
    logits: FloatArray = centre[..., None] + spread[..., None] * nodes
    chance = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return np.asarray(chance @ (share / share.sum()))
