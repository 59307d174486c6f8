"""Fitted naive Bayes: given the class, the columns are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_shape,
)
from latentclass.naive_bayes._components import ProductComponents


@dataclass(frozen=True, eq=False)
class NaiveBayesModel(FittedModel):
    """Naive Bayes: one component for each class.

    Attributes
    ----------
    class_prior : array of shape (n_classes,)
    components : ProductComponents
    """

    class_prior: FloatArray
    components: ProductComponents

    def __post_init__(self) -> None:
        check_shape("class_prior", self.class_prior, (self.components.n_components,))
        check_distribution("class_prior", self.class_prior)

    def log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class)."""
        return self.components.log_density(block)

    def without_each(self, block: Block, wanted: BoolArray) -> FloatArray:
        """log p(observed cells but that of one column | class)."""
        del wanted  # all columns cost no more than one
        return self.components.log_density_without_each(block)

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""
        return self.components.sample_table(y, rng)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:
        """Mean of every continuous cell, most probable code of every discrete one."""
        del n_jobs  # `posterior` has its own
        return self.components.expected_cells(posterior(table))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The cells of the most probable completion."""
        joint = self.evidence(table, n_jobs) + self.log_prior
        return self.components.best_cells(table, joint, self.components.peaks())
