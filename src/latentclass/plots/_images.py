"""Images from the rows of a table of pixels: samples, means, mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._axes import load_pyplot
from latentclass._display import Display, crossed
from latentclass._types import FloatArray
from latentclass._validation import check_number, check_option
from latentclass.plots._disclosure import pixel_bits
from latentclass.plots._model import class_codes, dense, fitted
from latentclass.plots._style import draw_image

N_NODES = 41
"""Number of points at which the probability of a pixel is averaged."""


class ImagesDisplay(Display):
    """A grid of images. Each row of a table is an image, each column a pixel.

    `from_estimator` shows what a model of black and white images has learned: images sampled from
    each class (`show="samples"`), the mean image of each class and component (`show="means"`), or
    the images that it classifies wrongly (`show="mistakes"`). The pictures are like Figs. 3, 5 and
    8 of Langseth and Nielsen (2009) [1]_.

    Parameters
    ----------
    images : array of shape (n_images, n_pixels)
        0 is white, 1 is black, and NaN is not drawn.
    shape : tuple of int
        Height and width of an image.
    n_columns : int, default=10
        Number of images per line.
    titles : sequence of str, optional
        Titles above the images.
    line_titles : sequence of str, optional
        Titles beside the lines.

    Attributes
    ----------
    images, shape, n_columns, titles, line_titles
        As given.
    figure_, ax_
        The figure, and its axes as an array of shape (n_lines, n_columns). Set by `plot`.
    frame : pandas DataFrame
        One line per pixel: image, title and side if there are titles, line, column, value.

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
                f"images has shape {self.images.shape}, but shape={shape} has "
                f"{shape[0] * shape[1]} pixels. Pass one row per image and one column per pixel."
            )
        if titles is not None and len(titles) != len(self.images):
            raise ValueError(
                f"titles has {len(titles)} entries for {len(self.images)} images. Pass one title "
                "per image."
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
        """Compute the images and draw them.

        Parameters
        ----------
        model : fitted classifier
            Its columns must be binary, one per pixel.
        shape : tuple of int
            Height and width.
        show : {"samples", "means", "mistakes"}, default="samples"
            "samples": a line of samples from each class. "means": a line for each class with its
            mean image, overall and in each component; only for latent classification models of
            binary columns. "mistakes": the images of `X` whose predicted class is not `y`, the
            most certain mistakes first.
        X, y : table of images and their labels
            Needed for `show="mistakes"`.
        n_images : int, default=10
            Number of samples per class, or largest number of mistakes.
        random_state : int, RandomState or None
            Seed of the samples.
        figure : matplotlib Figure, optional
            Where to draw; by default a new figure.
        """
        check_option("show", show, ("samples", "means", "mistakes"))
        check_number("n_images", n_images, low=1, whole=True)
        _check_shape(shape)
        model = fitted(model, "schema_", "classes_")
        numbers = [c.name for c in model.schema_.columns if c.kind == "continuous" and c.observed]
        if numbers:
            raise ValueError(
                f"ImagesDisplay needs binary pixels, but the model read column {numbers[0]!r} as a "
                "number. Fit it with columns of type bool, or set categorical_features."
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
        images = pixel_bits(model, dense(drawn))
        return cls(images, shape, n_columns=n_images, line_titles=names)

    @classmethod
    def _of_means(cls, model: Any, shape: tuple[int, int]) -> ImagesDisplay:
        by_cell = mean_images(model)
        share = model.component_prior_
        overall = (share[..., None] * by_cell).sum(axis=1, keepdims=True)
        n_components = share.shape[1]
        parts = [overall, by_cell] if n_components > 1 else [overall]
        images = np.concatenate(parts, axis=1)
        # above the mean image of a component stands its share in the class
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
            raise ValueError("show='mistakes' needs X and y: the images and their labels.")
        posterior = model.predict_proba(X)
        label = class_codes(model, y, len(posterior))
        found = posterior.argmax(axis=1)
        wrong = np.flatnonzero((found != label) & (label >= 0))
        wrong = wrong[np.argsort(-posterior[wrong, found[wrong]], kind="stable")][:n_images]
        names = [str(name) for name in model.classes_]
        titles = [f"{names[label[r]]} as {names[found[r]]}" for r in wrong]
        images = pixel_bits(model, dense(X)[wrong])
        return cls(images, shape, titles=titles, n_columns=min(10, max(1, len(wrong))))

    def _columns(self) -> list[tuple[str, Any]]:
        height, width = self.shape
        image, line, column = crossed(range(len(self.images)), range(height), range(width))
        titles, sides = self.titles or (), self.line_titles or ()
        return [
            ("image", image),
            *([("title", [titles[k] for k in image])] if titles else []),
            *([("side", [sides[k // self.n_columns] for k in image])] if sides else []),
            ("line", line),
            ("column", column),
            ("value", self.images.ravel()),
        ]

    def plot(self, figure: Any = None) -> ImagesDisplay:
        """Draw into `figure`, or into a new one."""
        plt = load_pyplot()
        n_lines = max(1, -(-len(self.images) // self.n_columns))
        if figure is None:
            height = 0.85 if self.titles is None else 1.0
            figure = plt.figure(figsize=(0.75 * self.n_columns + 0.6, height * n_lines + 0.2))
        axes = figure.subplots(n_lines, self.n_columns, squeeze=False)
        for number, ax in enumerate(axes.flat):
            if number >= len(self.images):
                ax.set_axis_off()
                continue
            draw_image(ax, self.images[number], self.shape)
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


def mean_images(model: Any) -> FloatArray:
    """Return P(pixel set | class, component), shape (n_classes, n_components, n_pixels).

    Given class and component, the log-odds of a pixel are Gaussian, so its probability is an
    integral over a single number. It is computed by Gauss-Hermite quadrature.
    """
    model = fitted(model, "weights_", "intercepts_", "latent_means_", "latent_variances_")
    weights = model.weights_
    if weights.shape[1] != len(model.schema_.columns):
        raise ValueError(
            "show='means' needs a model of binary columns only, but some of the "
            f"{len(model.schema_.columns)} columns are not binary."
        )
    centre = np.einsum("mnq,yq->ymn", weights, model.latent_means_) + model.intercepts_
    spread = np.sqrt(np.einsum("mnq,yq->ymn", weights**2, model.latent_variances_))
    nodes, share = np.polynomial.hermite_e.hermegauss(N_NODES)
    logits: FloatArray = centre[..., None] + spread[..., None] * nodes
    chance = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return np.asarray(chance @ (share / share.sum()))
