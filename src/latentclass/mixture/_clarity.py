"""How clearly the components of a mixture separate the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Table
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._finite_mixture_model import FiniteMixtureModel


class Clarity(NamedTuple):
    """Sums over rows: their weight, the entropy of their posteriors, and two sums by component.

    `own_weight` is the weight of the rows that belong most probably to the component, and
    `own_posterior` that of their posteriors of it.
    """

    weight: float
    entropy_sum: float
    own_weight: FloatArray
    own_posterior: FloatArray

    def join(self, other: Clarity) -> Clarity:
        """The sums of two disjoint sets of rows."""
        return Clarity(
            self.weight + other.weight,
            self.entropy_sum + other.entropy_sum,
            self.own_weight + other.own_weight,
            self.own_posterior + other.own_posterior,
        )

    @property
    def entropy(self) -> float:
        """1 minus the mean entropy of the posteriors divided by its maximum."""
        if len(self.own_weight) == 1:
            return 1.0
        return float(1.0 - self.entropy_sum / self.weight / np.log(len(self.own_weight)))

    @property
    def average_posterior(self) -> FloatArray:
        """Mean posterior of each component over its own rows; NaN if it has none."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.own_posterior / self.own_weight)


def measure_clarity(model: FiniteMixtureModel, table: Table, weight: FloatArray) -> Clarity:
    """The sums of the rows of a table."""
    posterior = model.latent(table, one_class, None)
    own = posterior.argmax(axis=1)[:, None] == np.arange(posterior.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(posterior > 0, -posterior * np.log(posterior), 0.0)
    return Clarity(
        float(weight.sum()), float(weight @ terms.sum(axis=1)), weight @ own,
        weight @ (own * posterior),
    )  # fmt: skip


def part_clarity(model: FiniteMixtureModel, part: Training) -> Clarity:
    """The sums of the rows of a part."""
    return measure_clarity(model, part.table, part.weight)


def one_class(table: Table) -> FloatArray:
    """Posterior of the only class."""
    return np.ones((table.n_rows, 1))
