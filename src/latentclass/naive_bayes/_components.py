"""Components in which the columns are independent: the building blocks of naive Bayes.

A component is a class of naive Bayes, or one component of a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine import _product as product
from latentclass.estimator._fitted import check_distribution, check_no_nan, check_shape


@dataclass(frozen=True, eq=False)
class ProductComponents:
    """Fitted components, and what they say about the cells of a table.

    Attributes
    ----------
    params : product.Params
        Parameters of K components, in the units of the engine.
    layout : product.Layout
        Units of the continuous columns and places of the discrete levels.
    observed : array of bool of shape (n_continuous,)
        Which continuous columns had a value in `fit`.
    """

    params: product.Params
    layout: product.Layout
    observed: BoolArray

    def __post_init__(self) -> None:
        n_columns, n_levels = len(self.layout.centre), int(self.layout.offsets[-1])
        check_shape("mean", self.params.mean, (None, n_columns))
        check_shape("scale", self.params.scale, (self.n_components, n_columns))
        check_shape("log_prob", self.params.log_prob, (self.n_components, n_levels))
        check_shape("unit", self.layout.unit, (n_columns,))
        check_shape("observed", self.observed, (n_columns,))
        for name, array in (*self.params._asdict().items(), *self.layout._asdict().items()):
            check_no_nan(name, array)
        check_positive("scale", self.params.scale)
        check_positive("unit", self.layout.unit)
        for j, log_prob in enumerate(self.level_log_probs):
            if log_prob.shape[1]:
                check_distribution(f"log_prob of discrete column {j}", np.exp(log_prob))

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.params.mean)

    @property
    def centres(self) -> FloatArray:
        """Mean of each continuous column in each component, in the units of the data."""
        return self.layout.centre + self.layout.unit * self.params.mean

    @property
    def widths(self) -> FloatArray:
        """Standard deviation of each continuous column in each component, likewise."""
        return self.layout.unit * self.params.scale

    def params_in(self, layout: product.Layout) -> product.Params:
        """The parameters in the units of another layout with the same columns and levels."""
        mean = (self.centres - layout.centre) / layout.unit
        return product.Params(mean, self.widths / layout.unit, self.params.log_prob)

    @property
    def level_log_probs(self) -> list[FloatArray]:
        """log P(category | component) of each discrete column, shape (K, n_categories)."""
        offsets = self.layout.offsets
        return np.split(self.params.log_prob, offsets[1:-1], axis=1)[: len(offsets) - 1]

    def log_density(self, block: Block) -> FloatArray:
        """log p(observed cells | component), shape (n_rows, K)."""
        return product.log_density(self.params, product.to_rows(*block, self.layout), self.layout)

    def log_density_without_each(self, block: Block) -> FloatArray:
        """The same without each column in turn, continuous ones first, (n_rows, n_columns, K)."""
        rows = product.to_rows(*block, self.layout)
        return product.log_density_without_each(self.params, rows, self.layout)

    def sample_table(self, component: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row from each component that is named; unobserved columns stay missing."""
        means, scales = self.centres[component], self.widths[component]
        numeric = means + scales * rng.standard_normal(means.shape)
        levels = self.level_log_probs
        codes = np.full((len(component), len(levels)), -1, dtype=np.int32)
        for place, log_prob in enumerate(levels):
            if log_prob.shape[1]:
                chance = rng.random(len(component))
                for k in np.unique(component):
                    rows = component == k
                    edges = np.cumsum(np.exp(log_prob[k]))[:-1]
                    codes[rows, place] = np.searchsorted(edges, chance[rows], side="right")
        numeric[:, ~self.observed] = np.nan
        return Table(numeric, codes)

    def expected_cells(self, share: FloatArray) -> Table:
        """Mean or most probable code of every cell, given P(component | row), (n_rows, K)."""
        levels = self.level_log_probs
        codes = np.full((len(share), len(levels)), -1, dtype=np.int32)
        for place, log_prob in enumerate(levels):
            if log_prob.shape[1]:
                codes[:, place] = (share @ np.exp(log_prob)).argmax(axis=1)
        return Table(share @ self.centres, codes)

    def fill_with_modes(self, rows: Block, component: int) -> Block:
        """Fill missing cells with the modes of one component, except in unobserved columns."""
        missing = np.isnan(rows.numeric) & self.observed
        numeric = np.where(missing, self.centres[component], rows.numeric)
        codes = rows.codes.copy()
        for place, log_prob in enumerate(self.level_log_probs):
            if log_prob.shape[1]:
                codes[codes[:, place] < 0, place] = log_prob[component].argmax()
        return Block(numeric, codes)

    def peaks(self) -> tuple[FloatArray, FloatArray]:
        """Where the density of each column is highest, and its log there minus a constant.

        The constant is the same for all components.
        """
        return self.centres, -np.log(self.widths)

    def best_cells(
        self, table: Table, log_joint: FloatArray, peaks: tuple[FloatArray, FloatArray]
    ) -> Table:
        """The modes of the component that can complete each row best.

        Given the component, the best value of each missing cell does not depend on the others.
        `log_joint` is log p(observed cells, component), shape (n_rows, K).
        """
        numeric, codes = table.block(slice(None))
        values, log_peaks = peaks
        joint = log_joint + np.isnan(numeric).astype(np.float64) @ log_peaks.T
        modes = np.zeros((self.n_components, codes.shape[1]), dtype=np.int32)
        for place, log_prob in enumerate(self.level_log_probs):
            if log_prob.shape[1]:
                modes[:, place] = log_prob.argmax(axis=1)
                joint[codes[:, place] < 0] += log_prob.max(axis=1)
        best = joint.argmax(axis=1)
        return Table(values[best], modes[best])


def check_positive(name: str, array: FloatArray) -> None:
    """Refuse numbers that are not above 0."""
    if not np.all(array > 0):
        raise ValueError(
            f"{name} must be above 0 everywhere, but its least value is {array.min()}."
        )
