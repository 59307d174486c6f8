"""How clearly hidden states separate the rows: components, or states of latent variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Table
from latentclass.engine._numeric import divide
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._latent_names import Names
from latentclass.estimator._reading import Training


class Clarity(NamedTuple):
    """Sums over rows: their weight, the entropy of their posteriors, and two sums by state.

    `own_weight` is the weight of the rows that belong most probably to the state, and
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
        if len(self.own_weight) == 1 or self.weight == 0:
            return 1.0
        return float(1.0 - self.entropy_sum / self.weight / np.log(len(self.own_weight)))

    @property
    def average_posterior(self) -> FloatArray:
        """Mean posterior of each state over its own rows; 0 if it has none, 1 of a single state."""
        if len(self.own_weight) == 1:
            return np.ones(1)
        return divide(self.own_posterior, self.own_weight)


def measure_clarity(model: FittedModel, table: Table, weight: FloatArray) -> list[Clarity]:
    """The sums of the rows of a table, for each hidden variable of a model."""
    blocks = (
        [_sum_rows(weight[span] * share, posterior) for share, posterior in hidden]
        for span in table.spans() or [slice(0)]  # `partial_fit` stores what no rows are left of
        for hidden in [model.hidden_states(Table(*table.block(span)))]
    )
    return reduce(join_clarity, blocks)


def join_clarity(one: list[Clarity], other: list[Clarity]) -> list[Clarity]:
    """The sums of two disjoint sets of rows."""
    return [mine.join(its) for mine, its in zip(one, other, strict=True)]


def part_clarity(model: FittedModel, part: Training) -> list[Clarity]:
    """The sums of the rows of a part."""
    return measure_clarity(model, part.table, part.weight)


def _sum_rows(weight: FloatArray, posterior: FloatArray) -> Clarity:
    own = posterior.argmax(axis=1)[:, None] == np.arange(posterior.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(posterior > 0, -posterior * np.log(posterior), 0.0)
    return Clarity(
        float(weight.sum()), float(weight @ terms.sum(axis=1)), weight @ own,
        weight @ (own * posterior),
    )  # fmt: skip


class ComponentClarity:
    """Mixin of classifiers with components: how clearly these separate the training rows."""

    entropy_: float
    average_posterior_: FloatArray

    def _final_facts(self, learned: Learned, rows: Training) -> dict[str, Any]:
        (found,) = measure_clarity(learned.model, rows.table, rows.weight)
        return {"entropy_": found.entropy, "average_posterior_": found.average_posterior}

    def _fit_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = super()._fit_facts()  # type: ignore[misc]
        # files of older versions do not have it
        if len(vars(self).get("average_posterior_", ())) > 1:
            facts["relative entropy"] = float(self.entropy_)
        return facts


class StateClarity:
    """Mixin of classifiers with several latent variables: the same for the states of each."""

    _latent_clarity: dict[str, list[Any]]

    _named: Callable[[str], Names]  # `NamedLatents` has it

    def _final_facts(self, learned: Learned, rows: Training) -> dict[str, Any]:
        found = measure_clarity(learned.model, rows.table, rows.weight)
        by_variable = {
            "entropy": [one.entropy for one in found],
            "average_posterior": [one.average_posterior for one in found],
        }
        return {"_latent_clarity": by_variable}

    @property
    def entropy_(self) -> dict[str, float]:
        """Relative entropy of the states of each latent variable, by name."""
        return self._by_name("entropy")

    @property
    def average_posterior_(self) -> dict[str, FloatArray]:
        """Mean posterior of each state of each latent variable, by name."""
        return self._by_name("average_posterior")

    def _by_name(self, fact: str) -> dict[str, Any]:
        names = [name for group in self._named(f"{fact}_") for name in group]
        if "_latent_clarity" not in vars(self):
            raise AttributeError(
                f"This {type(self).__name__} comes from an older version, which did not measure "
                f"{fact}_. Fit it again."
            )
        return dict(zip(names, self._latent_clarity[fact], strict=True))

    def _fit_facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = super()._fit_facts()  # type: ignore[misc]
        if vars(self).get("_latent_clarity", {}).get("entropy"):
            found = sorted(self.entropy_.items(), key=lambda item: item[1])
            if found[0][1] < 1:
                ends = [f"{value:.2f} ({name})" for name, value in (found[0], *found[1:][-1:])]
                facts["relative entropy of states"] = " to ".join(ends)
        return facts
