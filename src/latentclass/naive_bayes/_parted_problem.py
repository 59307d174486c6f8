"""The EM problem of naive Bayes for rows in parts: sums over labelled rows, parts of hidden ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine import _product as product
from latentclass.engine._counts import level_offsets
from latentclass.engine._parted_problem import PartedProblem
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, MixtureStats
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._labelled_problem import (
    block_stats,
    class_stats,
    overall_prior,
    weighted_rows,
)

Parted = PartedProblem[MixtureParams, MixtureStats]


class LabelledSums(NamedTuple):
    """Sums over rows: of the labelled ones by class, and of those without label."""

    known_rows: FloatArray
    known: product.Stats
    hidden_weight: float
    hidden: product.Stats


def labelled_parts(
    parted: PartedTraining, *, alpha: float, prior: float | None
) -> tuple[MixtureProblem, Parted | None]:
    """The problem of the labelled rows of all parts; and with the others, if there are any."""
    layout = parted_layout(parted)
    sums = reduce(_merge, parted.map(partial(_sum_part, layout)))
    overall = product.merge_stats(product.pool_stats(sums.known), sums.hidden)
    smoothing = overall_prior(overall, alpha=alpha, prior=prior)
    known = MixtureProblem([], sums.known_rows, sums.known, smoothing, layout)
    if not sums.hidden_weight:
        return known, None
    nothing = product.empty_stats(len(sums.known_rows), layout)
    rest = replace(known, known_rows=np.zeros_like(sums.known_rows), known=nothing)
    total = known.total_weight + sums.hidden_weight
    return known, PartedProblem(known, lambda p: parted.map(partial(_expect, rest, p)), total)


def parted_layout(parted: PartedTraining) -> product.Layout:
    """Ranges of the continuous columns and places of the discrete levels of all parts."""
    offsets = level_offsets(parted.sample.schema.n_levels)
    return product.Layout(*product.measure_range(parted.low, parted.high), offsets)


def _sum_part(layout: product.Layout, part: Training) -> LabelledSums:
    known, hidden = part.take(part.labelled), part.take(~part.labelled)
    return LabelledSums(
        np.bincount(known.y, known.weight, part.n_classes).astype(np.float64),
        class_stats(known, layout, None),
        float(hidden.weight.sum()),
        block_stats(weighted_rows(hidden.table, hidden.weight, layout, 1), layout),
    )


def _merge(first: LabelledSums, second: LabelledSums) -> LabelledSums:
    return LabelledSums(
        first.known_rows + second.known_rows,
        product.merge_stats(first.known, second.known),
        first.hidden_weight + second.hidden_weight,
        product.merge_stats(first.hidden, second.hidden),
    )


def _expect(
    rest: MixtureProblem, params: MixtureParams, part: Training
) -> tuple[MixtureStats, FloatArray]:
    """Expected statistics and log-likelihood of the rows of a part that have no label."""
    hidden = part.take(~part.labelled)
    blocks = weighted_rows(hidden.table, hidden.weight, rest.layout, params.log_weight.size)
    return replace(rest, blocks=blocks).expect(params)
