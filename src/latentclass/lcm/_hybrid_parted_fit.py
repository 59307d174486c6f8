"""Fits of the latent classification model of mixed columns to rows in parts.

Questions, power transform, restarts and gradient steps come from the sample; scaling and EM from
all rows. The rows keep no xi: an E-step finds it anew (see `StatelessProblem`). So a part is a pure
task, and no part needs more memory than its rows do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray
from latentclass.engine._em import run_restarts, take_starts
from latentclass.engine._parted_problem import PartedProblem
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._gaussian_model import measure_parts, outside_power
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.lcm._auto_size import Sizes, choose_fit
from latentclass.lcm._fit import LCMSettings, Step, bent_or_not
from latentclass.lcm._hybrid_columns import HybridColumns
from latentclass.lcm._hybrid_em import HybridParams, HybridStats, StatelessProblem
from latentclass.lcm._hybrid_fit import (
    HybridFit,
    gather_training,
    learn_questions,
)
from latentclass.lcm._hybrid_sample import MANY
from latentclass.lcm._parted_fit import even_classes, fit_lcm_parts
from latentclass.lcm._steps import take_steps
from latentclass.lcm._stick_breaking import (
    Promotion,
    only_levels,
    plan_promotion,
    whole_levels,
)

BOUND_STEPS = 3
"""Steps on the bound of a row in each E-step, at least. A fourth raised the bound by 3e-6 a row."""


def promote_parts(parted: PartedTraining) -> PartedTraining:
    """Read numeric columns that hold only two whole numbers in all parts as binary."""
    schema = parted.sample.schema
    if not schema.continuous:
        return parted
    levels = np.stack([parted.low, parted.high])
    inside = whole_levels(levels)
    if inside.any():
        inside &= reduce(np.logical_and, parted.map(partial(_only, levels)))
    promotion = plan_promotion(schema, levels, inside)
    kept = ~promotion.chosen
    turn = partial(_promote, promotion)
    low, high = parted.low[kept], parted.high[kept]
    return replace(parted, sample=turn(parted.sample), low=low, high=high, turn=turn)


def _only(levels: FloatArray, part: Training) -> BoolArray:
    return only_levels(part.table.block(slice(None)).numeric, levels)


def _promote(promotion: Promotion, part: Training) -> Training:
    return replace(part, schema=promotion.after, table=promotion.apply(part.table))


@dataclass(frozen=True, eq=False)
class PartReader:
    """Prepares the rows of a part for the E-step of `n_starts` starts."""

    columns: HybridColumns
    settings: LCMSettings
    bound_steps: int
    n_starts: int

    def problem(self, part: Training) -> StatelessProblem:
        """The EM problem of the rows of a part."""
        settings = self.settings
        n_maps = self.n_starts * settings.n_components
        return StatelessProblem(
            gather_training(part, self.columns, settings.n_latent, n_maps, None),
            settings.n_components,
            settings.n_latent,
            settings.tied,
            settings.prior,
            max(self.bound_steps, BOUND_STEPS),
        )

    def expect(self, params: HybridParams, part: Training) -> tuple[HybridStats, FloatArray]:
        """Expected statistics and log-likelihood of the rows of a part."""
        return self.problem(part).expect(params)

    def total(self, part: Training) -> Totals:
        """Sums over the rows of a part."""
        labelled = part.labelled
        by_class = np.bincount(part.y[labelled], part.weight[labelled], part.n_classes)
        scaling = self.columns.scaling
        outside = outside_power(scaling, part) if scaling.is_bent else 0.0
        return Totals(float(part.weight.sum()), np.asarray(by_class, dtype=np.float64), outside)


class Totals(NamedTuple):
    """Weight of some rows, that of the labelled ones of each class, and `outside_power`."""

    weight: float
    by_class: FloatArray
    outside: float


def _add(first: Totals, second: Totals) -> Totals:
    return Totals(
        first.weight + second.weight,
        first.by_class + second.by_class,
        first.outside + second.outside,
    )


def fit_columns_parts(
    parted: PartedTraining,
    settings: LCMSettings,
    draw_seed: Callable[[], int],
    *,
    sizes: Sizes,
    nominal: str,
    power_transform: bool | str,
    discriminative: bool,
    predict_method: str,
    bound_steps: int,
    on_iteration: Step | None,
) -> Learned:
    """Fit the model to rows in parts (see `fit_columns`)."""
    sample = parted.sample
    questions = learn_questions(sample, nominal)
    if not questions.n_questions:
        return fit_lcm_parts(
            parted,
            settings,
            draw_seed,
            sizes=sizes,
            power_transform=power_transform,
            discriminative=discriminative,
            on_iteration=on_iteration,
        )
    measured = measure_parts(parted)
    fit = HybridFit(measured, settings, draw_seed, None, questions, predict_method, bound_steps)
    ways = bent_or_not(measured, sample, power_transform)
    dealer = fit.deal(sample) if len(ways) > 1 or len(sizes.pairs) > 1 else None
    fit = choose_fit(fit, sizes, ways, dealer, discriminative=discriminative)
    settings = fit.settings
    reader = PartReader(fit.columns, settings, bound_steps, settings.n_kept)
    totals = reduce(_add, parted.map(reader.total))
    sample = even_classes(sample, totals.by_class)
    dealer = fit.deal(sample) if discriminative or sample.weight.sum() >= MANY else None
    start = fit.run_em(sample, None if dealer is None else dealer.sample())[0].params

    def expect_parts(params: HybridParams) -> Iterator[tuple[HybridStats, FloatArray]]:
        return parted.map(partial(reader.expect, params))

    first = sample.take(np.zeros(1, dtype=np.intp))
    nothing = reader.problem(replace(first, weight=np.zeros(1)))
    problem = PartedProblem(nothing, expect_parts, totals.weight)
    # the sample's parameters are near the best: often one plain step converges, in two passes
    rules = {**settings.contest(), "halving": False, "accelerate": False}
    result = run_restarts(problem, start, rngs=[], on_iteration=on_iteration, **rules)
    penalty = float(nothing.log_prior(take_starts(result.params, [0]))[0])
    reached = result.history[-1] * totals.weight - penalty
    record = FitRecord.of(result, reached + measured.outside + totals.outside)
    attributes = {"restart_histories_": result.histories}
    learned = Learned(fit.model(result.params), record, attributes)
    if dealer is not None and discriminative:
        learned = take_steps(fit, dealer, learned, result.params)
    return learned.with_attributes(**settings.attributes(fit.measured.scaling))
