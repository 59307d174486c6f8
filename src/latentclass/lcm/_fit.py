"""Fits of the latent classification model of Gaussian columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_memory
from latentclass.data._labels import UNLABELLED
from latentclass.engine._class_components import ComponentData, add_full, log_joint_rows
from latentclass.engine._em import EMResult, Problem, run_restarts, take_starts
from latentclass.engine._expectation import expect_factors
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._gaussian_model import Measured, Scaling, gather
from latentclass.estimator._reading import Training
from latentclass.lcm._ascent import climb
from latentclass.lcm._auto_size import Pair, Sizes, choose_fit
from latentclass.lcm._conditional import LCMConditional
from latentclass.lcm._edges import learn_structure
from latentclass.lcm._em import LCMParams, LCMProblem, Prior, canonical, to_components
from latentclass.lcm._hybrid_sample import RowDealer
from latentclass.lcm._model import LCMModel
from latentclass.lcm._steps import (
    JOINT_SHARE,
    LABEL_NOISES,
    Choice,
    share_prior,
    take_steps,
)

P = TypeVar("P", bound=tuple[Any, ...])

Step = Callable[[int, float], bool]
"""Called with each iteration and its objective; a true answer stops the fit."""


class LCMSettings(NamedTuple):
    """One latent classification model and how it is fitted; see the estimators' parameters."""

    n_latent: int
    n_components: int
    tied: bool
    structure: str
    offset: bool
    prior: Prior
    select: str
    drop_starts: bool
    n_init: int
    max_iter: int
    tol: float
    relative_tol: bool
    accelerate: bool

    @property
    def n_kept(self) -> int:
        """Number of starts that are kept."""
        return self.n_init if self.select == "average" else 1

    def shortened(self, n_init: int, max_iter: int) -> LCMSettings:
        """The same with at most so many starts and iterations."""
        return self._replace(n_init=min(n_init, self.n_init), max_iter=min(max_iter, self.max_iter))

    def sized(self, pair: Pair) -> LCMSettings:
        """The same with another size."""
        return self._replace(n_latent=pair[0], n_components=pair[1])

    def attributes(self, scaling: Scaling) -> dict[str, Any]:
        """The estimators' attributes about what may have been chosen."""
        return {
            "n_latent_": self.n_latent,
            "n_components_": self.n_components,
            "power_transform_": scaling.is_bent,
        }

    def contest(self) -> dict[str, Any]:
        """The rules of the contest between the starts, as `run_restarts` takes them."""
        return {
            "tol": self.tol,
            "relative_tol": self.relative_tol,
            "max_iter": self.max_iter,
            "halving": self.drop_starts and self.select != "average",
            "accelerate": self.accelerate,
            "keep": self.n_kept,
        }


def make_prior(strength: float | None, alpha: float) -> Prior:
    """The engine's prior from the estimators' parameters."""
    pseudo = 0.0 if strength is None else float(strength)
    return Prior(loading=pseudo, noise=pseudo, noise_level=0.5, latent=pseudo, alpha=alpha)


def fit_lcm(
    training: Training,
    measured: Measured,
    settings: LCMSettings,
    draw_seed: Callable[[], int],
    *,
    n_jobs: int | None,
    on_iteration: Step | None,
) -> Learned:
    """Fit the model to rows."""
    data = gather_training(training, measured, settings, n_jobs)
    score = training_accuracy(training, measured, n_jobs) if settings.select == "accuracy" else None
    return fit_data(data, measured, settings, draw_seed(), score=score, on_iteration=on_iteration)


@dataclass(frozen=True, eq=False)
class LCMFit:
    """A fit by EM that may be followed by gradient steps; see `_steps.SteppedFit`.

    Attributes
    ----------
    measured : Measured
    settings : LCMSettings
    draw_seed : callable
        Gives a new seed at each call.
    n_jobs : int or None
    """

    measured: Measured
    settings: LCMSettings
    draw_seed: Callable[[], int]
    n_jobs: int | None

    def fit(
        self,
        training: Training,
        on_iteration: Step | None,
        *,
        sizes: Sizes,
        power_transform: bool | str,
        discriminative: bool,
        choice: Choice | None = None,
    ) -> Learned:
        """Choose what is to be chosen, run EM, take gradient steps if `discriminative`."""
        ways = bent_or_not(self.measured, training, power_transform)
        chosen = len(ways) > 1 or len(sizes.pairs) > 1
        dealer = self.deal(training) if discriminative or chosen else None
        fit = choose_fit(self, sizes, ways, dealer, discriminative=discriminative)
        learned = fit.run_em(training, on_iteration)
        if dealer is not None and discriminative:
            learned = fit.take_steps(dealer, learned, choice)
        return learned.with_attributes(**fit.settings.attributes(fit.measured.scaling))

    def take_steps(
        self, dealer: RowDealer, learned: Learned, choice: Choice | None = None
    ) -> Learned:
        """Follow EM by gradient steps, as many as are best for held-out rows unless known."""
        assert isinstance(learned.model, LCMModel)
        if not self.measured.scaling.n_varying:
            return learned.with_attributes(**Choice().attributes)
        return take_steps(self, dealer, learned, learned.model.params, choice)

    def deal(self, training: Training) -> RowDealer:
        """Samples of the rows by what they hold."""
        return RowDealer.of(training, training.table.codes, self.draw_seed())

    def run_em(self, training: Training, on_iteration: Step | None = None) -> Learned:
        """Fit by EM alone."""
        return fit_lcm(
            training,
            self.measured,
            self.settings,
            self.draw_seed,
            n_jobs=self.n_jobs,
            on_iteration=on_iteration,
        )

    label_noises: ClassVar[tuple[float, ...]] = LABEL_NOISES

    @property
    def row_numbers(self) -> int:
        """See `SteppedFit`: coefficients of the columns, in each component."""
        n_columns = self.measured.scaling.n_varying
        return max(1, self.settings.n_components * n_columns * (self.settings.n_latent + 1))

    def model(self, params: LCMParams, label_noise: float = 0.0) -> LCMModel:
        """The model with these parameters."""
        measured = self.measured
        return LCMModel(measured.scaling, measured.level_offsets, canonical(params), label_noise)

    def learn(self, training: Training) -> LCMParams:
        """Parameters that EM finds."""
        model = self.run_em(training).model
        assert isinstance(model, LCMModel)
        return model.params

    def with_starts(self, n_init: int) -> LCMFit:
        """The same fit with at most so many starts."""
        return self.shortened(n_init, self.settings.max_iter)

    def shortened(self, n_init: int, max_iter: int) -> LCMFit:
        """The same fit with at most so many starts and iterations."""
        return replace(self, settings=self.settings.shortened(n_init, max_iter))

    def climb(
        self, batches: Iterator[Training], weight: float, params: LCMParams
    ) -> Iterator[LCMParams]:
        """Parameters after 0, 1, 2, ... steps on batches of labelled rows of a total weight."""
        return climb(params, self._conditional_problems(batches, weight))

    def _conditional_problems(
        self, batches: Iterator[Training], weight: float
    ) -> Iterator[LCMConditional]:
        last: Training | None = None
        for batch in batches:
            if batch is not last:
                share = float(batch.weight.sum()) / weight
                settings = self.settings._replace(prior=share_prior(self.settings.prior, share))
                blind = replace(batch, y=np.full(len(batch.y), UNLABELLED))
                labelled, without = (
                    make_problem(
                        gather_training(part, self.measured, settings, self.n_jobs), settings
                    )
                    for part in (batch, blind)
                )
                problem = LCMConditional(labelled, without, JOINT_SHARE)
            last = batch
            yield problem


def bent_or_not(
    measured: Measured, training: Training, power_transform: bool | str
) -> list[Measured]:
    """The ways to scale the columns between which `power_transform` leaves a choice."""
    if not power_transform or not measured.scaling.n_varying:
        return [measured]
    bent = measured.bent(training)
    return [measured, bent] if power_transform == "auto" else [bent]


def gather_training(
    training: Training, measured: Measured, settings: LCMSettings, n_jobs: int | None
) -> ComponentData:
    """Prepare rows for the E-step of all starts."""
    return gather(
        training,
        measured,
        one_component=settings.n_components == 1,
        width=settings.n_init * settings.n_components,
        rank=settings.n_latent,
        n_jobs=n_jobs,
    )


def make_problem(data: ComponentData, settings: LCMSettings) -> LCMProblem:
    """The EM problem of some rows."""
    return LCMProblem(
        data,
        settings.n_components,
        settings.n_latent,
        settings.tied,
        settings.prior,
        settings.offset,
    )


def fit_data(
    data: ComponentData,
    measured: Measured,
    settings: LCMSettings,
    seed: int,
    *,
    score: Callable[[LCMParams], FloatArray] | None = None,
    on_iteration: Step | None = None,
) -> Learned:
    """Fit the model to rows that were gathered, or to sums over them."""
    n_components = settings.n_init * len(data.labelled[0]) * settings.n_components
    n_loadings = n_components * data.n_columns * (min(data.n_columns, settings.n_latent) + 2.0)
    check_memory(
        f"{settings.n_init} starts with {data.n_columns:,} continuous columns",
        8 * 8.0 * n_loadings,  # EM holds about eight arrays of the size of the loadings
        "Lower n_init or n_components, or select the columns that say most about the class.",
    )
    problem = make_problem(data, settings)
    rngs = spawn_generators(seed, settings.n_init)
    starts = problem.starts(np.zeros(settings.n_init, dtype=np.intp), rngs)
    if settings.structure == "learned":
        starts = learn_structure(problem, starts, rngs, settings.max_iter)
    result = run_starts(problem, starts, settings, rngs, score=score, on_iteration=on_iteration)
    params = canonical(result.params)
    inside = expect_factors(data, to_components(take_starts(params, [0]))[0])[1][0]
    return Learned(
        LCMModel(measured.scaling, measured.level_offsets, params),
        FitRecord.of(result, float(inside) + measured.outside),
        {"restart_histories_": result.histories},
    )


def spawn_generators(seed: int, n_init: int) -> list[np.random.Generator]:
    """One generator of random numbers for each start."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n_init)]


def run_starts(
    problem: Problem[P, Any],
    starts: P,
    settings: LCMSettings,
    rngs: list[np.random.Generator],
    *,
    score: Callable[[P], FloatArray] | None,
    on_iteration: Step | None,
) -> EMResult[P]:
    """EM from all starts, by the rules of the settings."""
    return run_restarts(
        problem,
        starts,
        rngs=rngs,
        score=score,
        on_iteration=on_iteration,
        **settings.contest(),
    )


def training_accuracy(
    training: Training, measured: Measured, n_jobs: int | None
) -> Callable[[LCMParams], FloatArray]:
    """Function from parameters to each start's share of labelled rows it gets right."""
    labelled = training.take(training.labelled)
    table, y, weight = labelled.table, labelled.y, labelled.weight

    def score(params: LCMParams) -> FloatArray:
        components = add_full(to_components(params)[0])

        def visit(span: slice) -> FloatArray:
            numeric, codes = table.block(span)
            values = measured.scaling.values(numeric)
            joint = log_joint_rows(components, values, codes, measured.level_offsets)
            predicted = log_sum_exp(np.moveaxis(joint, 2, -1)).argmax(axis=1)
            return np.asarray((predicted == y[span]) @ weight[span])

        spans = table.spans(extra_columns=components.log_weight.size)
        total = sum(map_blocks(visit, spans, n_jobs), np.zeros(len(components.log_weight)))
        return np.asarray(total / weight.sum())

    return score
