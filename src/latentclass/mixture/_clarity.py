"""How clearly the components of a mixture separate the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass._warn import warn_user
from latentclass.data._schema import Table
from latentclass.engine._numeric import divide
from latentclass.estimator._fitted import FittedModel
from latentclass.estimator._reading import Training
from latentclass.exceptions import EmptyComponentWarning


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
        """Mean posterior of each component over its own rows; 0 if it has none."""
        return divide(self.own_posterior, self.own_weight)


def measure_clarity(model: FittedModel, table: Table, weight: FloatArray) -> Clarity:
    """The sums of the rows of a table, for a model whose `latent` is P(component | x)."""
    posterior = model.latent(table, one_class, None)
    own = posterior.argmax(axis=1)[:, None] == np.arange(posterior.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(posterior > 0, -posterior * np.log(posterior), 0.0)
    return Clarity(
        float(weight.sum()), float(weight @ terms.sum(axis=1)), weight @ own,
        weight @ (own * posterior),
    )  # fmt: skip


def part_clarity(model: FittedModel, part: Training) -> Clarity:
    """The sums of the rows of a part."""
    return measure_clarity(model, part.table, part.weight)


def count_occupied(average_posterior: FloatArray) -> int:
    """Number of components with own rows."""
    return int(np.sum(average_posterior > 0))  # not of NaN, which stood for 0 in older files


def warn_of_empty(average_posterior: FloatArray) -> None:
    """Warn of components without own rows."""
    n, n_occupied = len(average_posterior), count_occupied(average_posterior)
    if n_occupied < n:
        warn_user(
            f"The rows belong most probably to only {n_occupied} of the {n} components: the rest "
            f"is empty. Use n_components={n_occupied}, or n_components=range(1, {n + 1}) to let "
            "the criterion choose.",
            EmptyComponentWarning,
        )


def one_class(table: Table) -> FloatArray:
    """Posterior of the only class."""
    return np.ones((table.n_rows, 1))
