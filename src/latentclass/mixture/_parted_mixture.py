"""The EM problem of a mixture for rows in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Table
from latentclass.engine import _product as product
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._numeric import divide
from latentclass.engine._parted_problem import PartedProblem
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, MixtureStats
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.mixture._compiled_em import suit_size
from latentclass.naive_bayes._labelled_problem import block_stats, weighted_rows
from latentclass.naive_bayes._parted_problem import parted_layout


@dataclass(frozen=True)
class MixtureParts:
    """All rows in parts, with the layout and prior that every mixture of them needs."""

    parted: PartedTraining
    total_weight: float
    prior: product.Prior
    layout: product.Layout

    def rows(self, table: Table, weight: FloatArray) -> MixtureRows:
        """Some of the rows, with the layout and prior of all."""
        rows = product.to_rows(*table.block(slice(None)), self.layout)
        return MixtureRows(rows, weight, self.prior, self.layout)

    def problem(self, n_components: int) -> PartedProblem[MixtureParams, MixtureStats]:
        """The EM problem of all rows."""
        nothing = product.empty_stats(n_components, self.layout)
        empty = MixtureProblem([], np.zeros(n_components), nothing, self.prior, self.layout)
        return PartedProblem(
            empty,
            lambda params: self.parted.map(partial(_expect, empty, params)),
            self.total_weight,
        )


def mixture_parts(parted: PartedTraining, *, alpha: float, strength: float) -> MixtureParts:
    """Measure all rows; the prior gets their mean and variance."""
    layout = parted_layout(parted)
    sums = list(parted.map(partial(_sum_part, layout)))
    overall = reduce(product.merge_stats, (stats for _, stats in sums))
    variance = divide(overall.scatter[0], overall.weight[0])
    prior = product.Prior(alpha, strength, overall.mean[0], variance)
    return MixtureParts(parted, sum(weight for weight, _ in sums), prior, layout)


def _sum_part(layout: product.Layout, part: Training) -> tuple[float, product.Stats]:
    blocks = weighted_rows(part.table, part.weight, layout, 1)
    return float(part.weight.sum()), block_stats(blocks, layout)


def _expect(
    empty: MixtureProblem, params: MixtureParams, part: Training
) -> tuple[MixtureStats, FloatArray]:
    """Expected statistics and log-likelihood of the rows of a part."""
    blocks = weighted_rows(part.table, part.weight, empty.layout, params.log_weight.size)
    return suit_size(replace(empty, blocks=blocks), params).expect(params)
