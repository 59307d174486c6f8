"""Fits of the latent classification model of mixed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_memory
from latentclass.engine._em import EMResult, run_restarts, take_starts
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.engine._small import compiled_always
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._gaussian_model import Measured, measure
from latentclass.estimator._reading import Training
from latentclass.lcm._ascent import climb
from latentclass.lcm._auto_size import Sizes, choose_fit
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._fit import (
    LCMFit,
    LCMSettings,
    Step,
    bent_or_not,
    run_starts,
    spawn_generators,
)
from latentclass.lcm._hybrid_columns import HybridColumns
from latentclass.lcm._hybrid_data import HybridData, gather_blocks
from latentclass.lcm._hybrid_em import (
    N_SETS,
    HybridParams,
    HybridProblem,
    canonical,
    log_prior,
)
from latentclass.lcm._hybrid_model import HybridModel
from latentclass.lcm._hybrid_posterior import log_bounds_given_class, raise_bounds
from latentclass.lcm._hybrid_sample import MANY, RowDealer
from latentclass.lcm._model import LatentModel
from latentclass.lcm._soft_max import SoftMax, learn_soft_max
from latentclass.lcm._steps import JOINT_SHARE, Choice, share_prior, take_steps
from latentclass.lcm._stick_breaking import StickBreaking, learn_stick_breaking


@dataclass(frozen=True, eq=False)
class HybridFit:
    """What every step of a fit needs in addition to the rows.

    Attributes
    ----------
    measured : Measured
    settings : LCMSettings
    draw_seed : callable
        Gives a new seed at each call.
    n_jobs : int or None
    questions : StickBreaking or SoftMax
        What the discrete columns become.
    predict_method : str
        Of the fitted model (see `HybridModel`).
    bound_steps : int
        Of the problem (see `HybridProblem`).
    """

    measured: Measured
    settings: LCMSettings
    draw_seed: Callable[[], int]
    n_jobs: int | None
    questions: StickBreaking | SoftMax
    predict_method: str
    bound_steps: int

    label_noises: ClassVar[tuple[float, ...]] = (0.0,)

    @property
    def columns(self) -> HybridColumns:
        """How the columns become those of the model."""
        return HybridColumns(self.measured.scaling, self.questions)

    @property
    def row_numbers(self) -> int:
        """See `SteppedFit`: products of a column's coefficients, in each component."""
        q = self.settings.n_latent
        return self.settings.n_components * self.columns.n_cells * (q + 1) * (q + 2) // 2

    @compiled_always()
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
        self._check_memory(len(training.y))  # before what is chosen beside held-out rows
        ways = bent_or_not(self.measured, training, power_transform)
        chosen = len(ways) > 1 or len(sizes.pairs) > 1
        many = float(training.weight.sum()) >= MANY
        dealer = self.deal(training) if discriminative or chosen or many else None
        fit = choose_fit(self, sizes, ways, dealer, discriminative=discriminative)
        learned, params = fit.run(training, dealer, on_iteration)
        if dealer is not None and discriminative:
            learned = take_steps(fit, dealer, learned, params, choice)
        return learned.with_attributes(**fit.settings.attributes(fit.measured.scaling))

    def run(
        self, training: Training, dealer: RowDealer | None, on_iteration: Step | None
    ) -> tuple[Learned, HybridParams]:
        """Run EM, on a sample of the rows first, if they are many; also the parameters found."""
        sample = None if dealer is None else dealer.sample()
        result, data = self.run_em(training, sample, on_iteration)
        params = result.params
        penalty = log_prior(take_starts(params, [0]), self.settings.prior, data)[0]
        reached = result.history[-1] * data.total_weight - float(penalty)
        record = FitRecord.of(result, reached + self.measured.outside)
        attributes = {"restart_histories_": result.histories}
        return Learned(self.model(params), record, attributes), params

    def model(self, params: HybridParams, label_noise: float = 0.0) -> LatentModel:
        """The model with these parameters, which has no label noise."""
        assert label_noise == 0
        return HybridModel(self.columns, canonical(params), self.predict_method)

    def learn(self, training: Training) -> HybridParams:
        """Parameters that EM finds."""
        return self.run_em(training, None)[0].params

    def with_starts(self, n_init: int) -> HybridFit:
        """The same fit with at most so many starts."""
        return self.shortened(n_init, self.settings.max_iter)

    def shortened(self, n_init: int, max_iter: int) -> HybridFit:
        """The same fit with at most so many starts and iterations."""
        return replace(self, settings=self.settings.shortened(n_init, max_iter))

    def deal(self, training: Training) -> RowDealer:
        """Samples of the rows by what they hold."""
        codes = self.questions.fold_codes(training.table.codes)
        return RowDealer.of(training, codes, self.draw_seed())

    def gather(self, training: Training, n_maps: int) -> HybridData:
        """See `gather_training`."""
        size = self.settings.n_latent, n_maps
        return gather_training(training, self.columns, *size, self.n_jobs)

    def problem(self, training: Training) -> HybridProblem:
        """EM from all starts for some rows."""
        settings = self.settings
        return HybridProblem(
            self.gather(training, settings.n_init * settings.n_components),
            settings.n_components,
            settings.n_latent,
            settings.tied,
            settings.prior,
            self.bound_steps,
        )

    def run_em(
        self, training: Training, sample: Training | None, on_iteration: Step | None = None
    ) -> tuple[EMResult[HybridParams], HybridData]:
        """EM from all starts, on a sample of the rows first, if there is one."""
        settings = self.settings
        self._check_memory(len(training.y))
        rngs = spawn_generators(self.draw_seed(), settings.n_init)
        problem = self.problem(training)
        if sample is None:
            starts = problem.starts(rngs)
        else:
            starts = problem.begin(self._first_steps(sample, rngs))
        score = self._bound_accuracy(training) if settings.select == "accuracy" else None
        result = run_starts(problem, starts, settings, rngs, score=score, on_iteration=on_iteration)
        return result, problem.data

    def _check_memory(self, n_rows: int) -> None:
        settings, n_questions = self.settings, self.columns.n_logistic
        n_each = 4.0 * self.columns.questions.n_cells * n_rows * settings.n_components
        check_memory(
            f"{settings.n_init} starts with {n_questions:,} yes-or-no questions and "
            f"{n_rows:,} rows",
            N_SETS * n_each * settings.n_init,  # xi of each start
            "Lower n_init or n_components, merge categories, or select columns or rows.",
        )

    def _first_steps(self, sample: Training, rngs: list[np.random.Generator]) -> HybridParams:
        """Parameters that every start reaches on a sample."""
        problem = self.problem(sample)
        rules = {**self.settings.contest(), "halving": False, "keep": len(rngs)}
        result = run_restarts(problem, problem.starts(rngs), rngs=rngs, **rules)
        return take_starts(result.params, np.argsort(result.order))

    def climb(
        self, batches: Iterator[Training], weight: float, params: HybridParams
    ) -> Iterator[HybridParams]:
        """Parameters after 0, 1, 2, ... steps of gradient training on batches of labelled rows.

        `weight` is that of all batches together.
        """
        return climb(params, self._conditional_problems(batches, weight))

    def _conditional_problems(
        self, batches: Iterator[Training], weight: float
    ) -> Iterator[ConditionalProblem]:
        settings = self.settings
        last: Training | None = None
        for batch in batches:
            if batch is not last:
                n_maps = settings.n_kept * settings.n_components * batch.n_classes
                data = self.gather(batch, n_maps)
                prior = share_prior(settings.prior, data.total_weight / weight)
                problem = ConditionalProblem(data, prior, JOINT_SHARE)
            last = batch
            yield problem

    def _bound_accuracy(self, training: Training) -> Callable[[HybridParams], FloatArray]:
        """Function from parameters to each start's share of labelled rows it gets right."""
        labelled = training.take(training.labelled)
        table, y, weight = labelled.table, labelled.y, labelled.weight

        def score(params: HybridParams) -> FloatArray:
            n_starts, _, n_components = params.log_weight.shape
            log_class = log_sum_exp(params.log_weight)[:, None]

            def visit(span: slice) -> FloatArray:
                bounds = raise_bounds(params, self.columns.rows(table, span)).log_bound
                joint = log_bounds_given_class(params, bounds) + log_class
                return np.asarray((joint.argmax(axis=2) == y[span]) @ weight[span])

            n_maps = n_starts * n_components
            spans = self.columns.spans(table, self.settings.n_latent, n_maps)
            total = sum(map_blocks(visit, spans, self.n_jobs), np.zeros(n_starts))
            return np.asarray(total / weight.sum())

        return score


def gather_training(
    training: Training, columns: HybridColumns, n_latent: int, n_maps: int, n_jobs: int | None
) -> HybridData:
    """Prepare rows for the E-step, with memory for `n_maps` posteriors of each."""
    table, y, weight = training.table, training.y, training.weight
    parts = [
        (columns.rows(table, span), y[span], weight[span])
        for span in columns.spans(table, n_latent, n_maps)
    ]
    return gather_blocks(parts, training.n_classes, columns.questions.pseudo, n_jobs)


def fit_columns(
    training: Training,
    settings: LCMSettings,
    draw_seed: Callable[[], int],
    *,
    sizes: Sizes,
    nominal: str,
    power_transform: bool | str,
    discriminative: bool,
    predict_method: str,
    bound_steps: int,
    n_jobs: int | None,
    on_iteration: Step | None,
    choice: Choice | None = None,
) -> Learned:
    """Fit the model of mixed columns, or that of Gaussian columns if nothing is discrete.

    The size is chosen first, then the power transform, then the number of gradient steps, unless
    `choice` has it.
    """
    questions = learn_questions(training, nominal)
    measured = measure(training, n_jobs)
    fit: LCMFit | HybridFit = LCMFit(measured, settings, draw_seed, n_jobs)
    if questions.n_questions:
        fit = HybridFit(
            measured, settings, draw_seed, n_jobs, questions, predict_method, bound_steps
        )
    return fit.fit(
        training,
        on_iteration,
        sizes=sizes,
        power_transform=power_transform,
        discriminative=discriminative,
        choice=choice,
    )


def learn_questions(training: Training, nominal: str) -> StickBreaking | SoftMax:
    """Learn how discrete columns become questions."""
    if nominal == "softmax":
        return learn_soft_max(training)
    return learn_stick_breaking(training.schema, training.table, training.weight)
