"""Fitted naive Bayes whose continuous columns are mixtures of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine import _product as product
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_no_nan,
    check_shape,
)
from latentclass.naive_bayes._column_mixture import (
    ColumnComponents,
    mixed_columns,
    mixture_log_density,
    mixture_peaks,
    used_parts,
)
from latentclass.naive_bayes._components import ProductComponents, check_positive


@dataclass(frozen=True, eq=False)
class MixtureNaiveBayesModel(FittedModel):
    """Naive Bayes, some of whose continuous columns are mixtures in each class.

    A column is *mixed* if it has several components in some class.

    Attributes
    ----------
    class_prior : array of shape (n_classes,)
    components : ProductComponents
        One for each class: single Gaussians with the mean and the variance of each column.
    n_components : array of shape (n_classes, n_continuous)
        Components of each continuous column in each class.
    parts : ColumnComponents
        Mixtures of the mixed columns, arrays of shape (n_classes, n_mixed, most components).
    """

    class_prior: FloatArray
    components: ProductComponents
    n_components: IndexArray
    parts: ColumnComponents

    def __post_init__(self) -> None:
        n_classes, n_columns = self.components.params.mean.shape
        check_shape("class_prior", self.class_prior, (n_classes,))
        check_distribution("class_prior", self.class_prior)
        check_shape("n_components", self.n_components, (n_classes, n_columns))
        most = int(self.n_components.max(initial=1))
        for name, array in self.parts._asdict().items():
            check_shape(f"parts.{name}", array, (n_classes, len(self.mixed), most))
            check_no_nan(f"parts.{name}", array)
        check_distribution("parts.log_weight", np.exp(self.parts.log_weight))
        check_positive("parts.scale", self.parts.scale)

    @property
    def mixed(self) -> IndexArray:
        """The columns with several components in some class."""
        return mixed_columns(self.n_components)

    @property
    def used(self) -> BoolArray:
        """Which components of the mixed columns there are, shape (n_classes, n_mixed, most)."""
        return used_parts(self.n_components)

    def sorted_parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Share, mean and scale of all columns' components, by mean, in the units of the data.

        Arrays of shape (n_classes, n_continuous, most components), NaN where a column has fewer.
        """
        shape = (*self.n_components.shape, int(self.n_components.max(initial=1)))
        weight, mean, scale = (np.full(shape, np.nan) for _ in range(3))
        weight[..., 0] = 1.0
        mean[..., 0], scale[..., 0] = self.components.centres, self.components.widths
        mixed, used, layout = self.mixed, self.used, self.components.layout
        centre, unit = layout.centre[mixed, None], layout.unit[mixed, None]
        order = np.argsort(np.where(used, self.parts.mean, np.inf), axis=2)
        found = (
            np.exp(self.parts.log_weight),
            centre + unit * self.parts.mean,
            unit * self.parts.scale,
        )
        for out, values in zip((weight, mean, scale), found, strict=True):
            shown = np.where(used, values, np.nan)
            out[:, mixed] = np.take_along_axis(shown, order, axis=2)
        return weight, mean, scale

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class)."""
        mixed, layout = self.mixed, self.components.layout
        if not mixed.size:
            return self.components.log_density(block)
        numeric, codes = product.to_rows(*block, layout)
        rest = np.setdiff1d(np.arange(numeric.shape[1]), mixed)
        mean, scale, log_prob = self.components.params
        out = product.log_density(
            product.Params(mean[:, rest], scale[:, rest], log_prob),
            product.ProductRows(numeric[:, rest], codes),
            layout._replace(centre=layout.centre[rest], unit=layout.unit[rest]),
        )
        out += mixture_log_density(self.parts, numeric[:, mixed], layout.unit[mixed])
        return out

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""
        table = self.components.sample_table(y, rng)
        layout = self.components.layout
        for place, j in enumerate(self.mixed):
            log_weight, mean, scale = (array[:, place] for array in self.parts)
            edges = np.cumsum(np.exp(log_weight), axis=1)[:, :-1]
            part = (rng.random(len(y))[:, None] >= edges[y]).sum(axis=1)
            # only rounding can lead past the last component in use
            part = np.minimum(part, self.n_components[y, j] - 1)
            at = mean[y, part] + scale[y, part] * rng.standard_normal(len(y))
            table.numeric[:, j] = layout.centre[j] + layout.unit[j] * at
        return table

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:
        """Mean of every continuous cell, most probable code of every discrete one."""
        del n_jobs  # `posterior` has its own
        return self.components.expected_cells(posterior(table))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The cells of the most probable completion."""
        joint = self.evidence(table, n_jobs) + self.log_prior
        values, log_peaks = self.components.peaks()
        mixed, layout = self.mixed, self.components.layout
        centre, unit = layout.centre[mixed], layout.unit[mixed]
        if mixed.size:
            at, height = mixture_peaks(self.parts)
            values[:, mixed] = centre + unit * at
            log_peaks[:, mixed] = height + 0.5 * product.LOG_2PI - np.log(unit)
        return self.components.best_cells(table, joint, (values, log_peaks))
