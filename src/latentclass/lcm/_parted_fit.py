"""Fits of the latent classification model to rows in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._class_components import ComponentData, add_known
from latentclass.engine._em import run_restarts, take_starts
from latentclass.engine._gaussian import Moments
from latentclass.engine._parted_problem import PartedProblem
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._gaussian_model import (
    Measured,
    Scaling,
    gather,
    measure_parts,
    outside_power,
)
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.lcm._auto_size import Sizes, choose_fit
from latentclass.lcm._em import LCMParams, LCMProblem, LCMStats, canonical
from latentclass.lcm._fit import (
    LCMFit,
    LCMSettings,
    Step,
    bent_or_not,
    fit_data,
    fit_lcm,
    training_accuracy,
)
from latentclass.lcm._model import LCMModel

UNEVEN = 0.2
"""A sample whose classes have shares that differ from those of all rows by more is reweighted."""


@dataclass(frozen=True, eq=False)
class PartReader:
    """Prepares the rows of a part for the E-step of `n_starts` starts."""

    measured: Measured
    settings: LCMSettings
    n_starts: int

    def data(self, part: Training) -> ComponentData:
        """The rows of a part."""
        n_components = self.settings.n_components
        return gather(
            part,
            self.measured,
            one_component=n_components == 1,
            width=self.n_starts * n_components,
            rank=self.settings.n_latent,
            n_jobs=None,
        )

    def problem(self, data: ComponentData) -> LCMProblem:
        """The EM problem of some rows."""
        size = self.settings.n_components, self.settings.n_latent
        return LCMProblem(
            data, *size, self.settings.tied, self.settings.prior, self.settings.offset
        )

    def known(self, part: Training) -> tuple[ComponentData, bool]:
        """Sums of the rows of which everything is known, and whether there are no others."""
        data = self.data(part)
        known = replace(data, groups=[], known_patterns=[])
        return known, not data.groups and not data.known_patterns

    def expect(self, params: LCMParams, part: Training) -> tuple[LCMStats, FloatArray]:
        """Expected moments and log-likelihood of the rows of a part."""
        return self.problem(self.data(part)).expect(params)


def fit_lcm_parts(
    parted: PartedTraining,
    settings: LCMSettings,
    draw_seed: Callable[[], int],
    *,
    sizes: Sizes,
    power_transform: bool | str,
    discriminative: bool,
    on_iteration: Step | None,
) -> Learned:
    """Fit the model to rows in parts: EM on all rows, then gradient steps on the sample.

    Size and power transform are chosen on the sample, too.
    """
    measured, sample = measure_parts(parted), parted.sample
    fit = LCMFit(measured, settings, draw_seed, None)
    ways = bent_or_not(measured, sample, power_transform)
    dealer = fit.deal(sample) if len(ways) > 1 or len(sizes.pairs) > 1 else None
    fit = choose_fit(fit, sizes, ways, dealer, discriminative=discriminative)
    scaling = fit.measured.scaling
    outside = measured.outside + outside_power_parts(scaling, parted)
    fit = replace(fit, measured=fit.measured._replace(outside=outside))
    reader = PartReader(fit.measured, fit.settings, settings.n_kept)
    known, complete = reduce(_add, parted.map(reader.known))
    learned = _run_em(parted, reader, known, draw_seed, on_iteration, complete=complete)
    if discriminative:
        sample = even_classes(sample, known.labelled[0])
        learned = fit.take_steps(fit.deal(sample), learned)
    return learned.with_attributes(**fit.settings.attributes(scaling))


def outside_power_parts(scaling: Scaling, parted: PartedTraining) -> float:
    """What the power transform adds to the log-likelihood of the rows of all parts."""
    return sum(parted.map(partial(outside_power, scaling))) if scaling.is_bent else 0.0


def _run_em(
    parted: PartedTraining,
    reader: PartReader,
    known: ComponentData,
    draw_seed: Callable[[], int],
    on_iteration: Step | None,
    *,
    complete: bool,
) -> Learned:
    """Restarts on the sample, then EM from the best on all rows.

    If sums over the rows are all that it needs, as with one component and nothing missing, there is
    no need for a sample.
    """
    measured, settings = reader.measured, reader.settings
    if complete:
        chosen = settings.select == "accuracy"
        score = training_accuracy(parted.sample, measured, None) if chosen else None
        return fit_data(
            known, measured, settings, draw_seed(), score=score, on_iteration=on_iteration
        )
    start = fit_lcm(parted.sample, measured, settings, draw_seed, n_jobs=None, on_iteration=None)
    assert isinstance(start.model, LCMModel)

    def expect_parts(params: LCMParams) -> Iterator[tuple[LCMStats, FloatArray]]:
        return parted.map(partial(reader.expect, params))

    total_weight = float(known.total_weight[0])
    problem = PartedProblem(reader.problem(_without_rows(known)), expect_parts, total_weight)
    rules = {**settings.contest(), "halving": False}
    result = run_restarts(problem, start.model.params, rngs=[], on_iteration=on_iteration, **rules)
    params = canonical(result.params)
    penalty = float(problem.known.log_prior(take_starts(result.params, [0]))[0])
    log_likelihood = result.history[-1] * total_weight - penalty + measured.outside
    return Learned(
        LCMModel(measured.scaling, measured.level_offsets, params),
        FitRecord.of(result, log_likelihood),
        {"restart_histories_": result.histories},
    )


def _without_rows(data: ComponentData) -> ComponentData:
    return replace(
        data,
        known=Moments(*map(np.zeros_like, data.known)),
        known_counts=np.zeros_like(data.known_counts),
        labelled=np.zeros_like(data.labelled),
        total_weight=np.zeros_like(data.total_weight),
    )


def _add(
    first: tuple[ComponentData, bool], second: tuple[ComponentData, bool]
) -> tuple[ComponentData, bool]:
    return add_known(first[0], second[0]), first[1] and second[1]


def even_classes(sample: Training, by_class: FloatArray) -> Training:
    """The sample, with weights that give its classes their shares among all labelled rows.

    A sample has more rows of small classes. If its shares are about right, nothing changes.
    """
    labelled = sample.labelled
    own = np.bincount(sample.y[labelled], sample.weight[labelled], len(by_class))
    ratio = np.divide(by_class * own.sum(), own * by_class.sum(), where=own > 0, out=own + 1.0)
    if not labelled.any() or np.all(np.abs(ratio - 1.0) < UNEVEN):
        return sample
    return replace(sample, weight=np.where(labelled, ratio[sample.y], 1.0) * sample.weight)
