"""Fitted naive Bayes: given the class, the columns are independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._fitted import (
    FittedModel,
    Posterior,
    check_distribution,
    check_shape,
    mark_levels,
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

    def level_chances(
        self, table: Table, n_levels: IndexArray, n_jobs: int | None
    ) -> list[FloatArray]:
        """See `FittedModel`: given the class, a missing cell does not depend on the others."""
        joint = self.evidence(table, n_jobs) + self.log_prior
        # a row that no class allows is filled as if nothing were seen
        impossible = np.isneginf(joint).all(axis=1, keepdims=True)
        share = np.where(impossible, self.class_prior, np.exp(log_normalise(joint)))
        out = []
        for place, log_prob in enumerate(self.components.level_log_probs):
            mine = np.asarray(table.codes)[:, place]
            shown = mark_levels(mine, n_levels[place])
            out.append(np.where(mine[:, None] < 0, share @ np.exp(log_prob), shown))
        return out
