"""The EM problem of naive Bayes for rows in parts: sums of labelled rows, parts of the others."""

from __future__ import annotations

from collections.abc import Iterator
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
    measure_columns,
    overall_prior,
    restrict_rows,
    weighted_rows,
    without_rows,
)

Parted = PartedProblem[MixtureParams, MixtureStats]
Expected = Iterator[tuple[MixtureStats, FloatArray]]


class LabelledSums(NamedTuple):
    """Sums over rows: of the labelled ones by class, and of those without a label."""

    known_rows: FloatArray
    known: product.Stats
    hidden_weight: float
    hidden: product.Stats


MeasuredSums = tuple[product.Layout, LabelledSums]
"""Sums, and the units of the columns."""


def labelled_parts(
    parted: PartedTraining, *, alpha: float | str, prior: float | str | None
) -> tuple[MixtureProblem, Parted | None]:
    """The problem of the labelled rows of all parts; and with the others, if there are any."""
    known, hidden_weight = _sum_parts(parted, alpha=alpha, prior=prior)
    if not hidden_weight:
        return known, None
    rest = without_rows(known, len(known.known_rows))

    def expect_parts(params: MixtureParams) -> Expected:
        return parted.map(partial(_expect_hidden, rest, params))

    return known, PartedProblem(known, expect_parts, known.total_weight + hidden_weight)


def component_parts(
    parted: PartedTraining, n_components: int, *, alpha: float | str, prior: float | str | None
) -> tuple[MixtureProblem, Parted]:
    """The problem with several components in each class, without rows and with all parts."""
    known, hidden_weight = _sum_parts(parted, alpha=alpha, prior=prior)
    empty = without_rows(known, len(known.known_rows) * n_components)

    def expect_parts(params: MixtureParams) -> Expected:
        return parted.map(partial(_expect_components, empty, params, n_components))

    return empty, PartedProblem(empty, expect_parts, known.total_weight + hidden_weight)


def _sum_parts(
    parted: PartedTraining, *, alpha: float | str, prior: float | str | None
) -> tuple[MixtureProblem, float]:
    """The problem of the labelled rows, with the prior of all rows; the weight of the others."""
    layout = parted_layout(parted)
    sums = reduce(_merge, parted.map(partial(_sum_part, layout)))
    return known_problem(layout, sums, alpha=alpha, prior=prior), sums.hidden_weight


def known_problem(
    layout: product.Layout, sums: LabelledSums, *, alpha: float | str, prior: float | str | None
) -> MixtureProblem:
    """The problem of the labelled rows, with the prior of all rows."""
    overall = product.merge_stats(product.pool_stats(sums.known), sums.hidden)
    smoothing, pull = overall_prior(sums.known, overall, layout, alpha=alpha, prior=prior)
    return MixtureProblem([], sums.known_rows, sums.known, smoothing, layout, pull=pull)


def add_labelled(sums: MeasuredSums | None, rows: Training) -> MeasuredSums:
    """Sums with further rows; the first rows also give the units of the columns."""
    if sums is None:
        layout = measure_columns(rows.table, rows.schema.n_levels)
        return layout, _sum_part(layout, rows)
    layout, earlier = sums
    return layout, _merge(earlier, _sum_part(layout, rows))


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


def _expect_hidden(
    rest: MixtureProblem, params: MixtureParams, part: Training
) -> tuple[MixtureStats, FloatArray]:
    """Expected statistics and log-likelihood of the rows of a part that have no label."""
    return _with_hidden(rest, params, part).expect(params)


def _expect_components(
    empty: MixtureProblem, params: MixtureParams, n_components: int, part: Training
) -> tuple[MixtureStats, FloatArray]:
    """The same of all rows of a part, with several components in each class."""
    single = _with_hidden(empty, params, part)
    labelled = part.take(part.labelled)
    return restrict_rows(single, labelled, n_components, len(params.log_weight)).expect(params)


def _with_hidden(rest: MixtureProblem, params: MixtureParams, part: Training) -> MixtureProblem:
    hidden = part.take(~part.labelled)
    blocks = weighted_rows(hidden.table, hidden.weight, rest.layout, params.log_weight.size)
    return replace(rest, blocks=blocks)
