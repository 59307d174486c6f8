"""How many gradient steps follow EM: the number that is best on held-out rows.

Which rows are held out depends on what they hold (`engine._content_holdout`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import log_sum_exp
from latentclass.estimator._calibration import TOO_SURE, prior_penalty
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._reading import Training
from latentclass.lcm._em import Prior
from latentclass.lcm._hybrid_sample import RowDealer
from latentclass.lcm._model import add_label_noise

P = TypeVar("P", bound=tuple[Any, ...])

JOINT_SHARE = 0.01
"""Weight of the joint likelihood in discriminative training, so that parameters that the labels do
not determine stay where EM put them."""

MAX_STEPS = 150
"""Maximum number of steps of discriminative training."""

STEP_SPACING = 5
"""Steps between two looks at the held-out rows."""

PATIENCE = 8
"""Looks without a lower log-loss after which no further steps are tried."""

TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 5.0)
"""Temperatures tried on the held-out rows, under the prior of `calibrate="auto"`: with few rows a
model is overconfident."""

FEW_STARTS = 2
"""Least number of starts that gradient steps follow."""

STARTED_NUMBERS = 5_000_000
"""Numbers that a pass over the labelled rows may compute, by which the starts are limited that
gradient steps follow. With few rows an average over all starts is better, since it is less sure of
itself; with many, two starts give nearly the same answers."""

LEAST_BATCH, MOST_BATCH = 1000.0, 10_000.0
"""Bounds of about the weight of a batch of gradient training."""

BATCH_NUMBERS = 50_000_000
"""Numbers that a gradient step may compute for each start, by which its batch is limited: with many
classes, columns or latent variables a step over all rows is dear, and little better than one over
some of them."""

LABEL_NOISES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Shares of labels that may be drawn at random, tried on the held-out rows."""

SURPRISE = -1e3
"""Evidence for the label of a row that speaks against it as strongly as can be."""

SURPRISE_WEIGHT = 0.25
"""Weight of such a row that is added to those held out: none among a hundred rows does not mean
that there is none."""

TIE = 1e-9
"""Log-losses that differ by less than this count as equal."""


class SteppedFit(Protocol[P]):
    """What the choice of the number of steps needs to know of a fit."""

    @property
    def n_jobs(self) -> int | None:
        """Number of threads."""

    @property
    def row_numbers(self) -> int:
        """About how many numbers a start computes for a row and a class."""

    @property
    def label_noises(self) -> tuple[float, ...]:
        """Label noise that the model can have; 0 is among it."""

    def model(self, params: P, label_noise: float = 0.0) -> FittedModel:
        """The model with these parameters."""

    def learn(self, training: Training) -> P:
        """Parameters that EM finds."""

    def climb(self, batches: Iterator[Training], weight: float, params: P) -> Iterator[P]:
        """Parameters after 0, 1, 2, ... steps on batches of labelled rows of a total weight."""

    def with_starts(self, n_init: int) -> Self:
        """The same fit with at most so many starts."""

    def shortened(self, n_init: int, max_iter: int) -> Self:
        """The same fit with at most so many starts and iterations."""


class Choice(NamedTuple):
    """What is best for held-out rows, and how good it is.

    `losses` (n_looks, n_temperatures) are the log-losses after every few steps, each with the
    label noise that is best for it.
    """

    n_steps: int = 0
    temperature: float = 1.0
    label_noise: float = 0.0
    losses: FloatArray = np.zeros((0, len(TEMPERATURES)))

    @property
    def loss(self) -> float:
        """The lowest log-loss; rounded, since further digits depend on the order of sums."""
        return round(float(self.losses.min()), 9)

    @property
    def attributes(self) -> dict[str, Any]:
        """The estimators' attributes about the steps."""
        found = {"n_steps_": self.n_steps, "held_out_": self.losses}
        return {**found, "label_noise_": self.label_noise}


def choice_of(learned: Learned) -> Choice | None:
    """What an earlier fit chose on held-out rows; None if it took no steps."""
    found = learned.attributes
    if "n_steps_" not in found:
        return None
    noise, losses = found["label_noise_"], found["held_out_"]
    return Choice(found["n_steps_"], learned.temperature, noise, losses)


def take_steps(
    fit: SteppedFit[P],
    dealer: RowDealer,
    learned: Learned,
    params: P,
    choice: Choice | None = None,
) -> Learned:
    """Follow EM by gradient steps, as many as are best for held-out rows unless that is known."""
    choice = learn_steps(fit, dealer) if choice is None else choice
    params = take_starts(params, np.arange(min(len(params[0]), n_followed(fit, dealer.training))))
    path = climb_rows(fit, dealer, np.ones(len(dealer.training.y)), params)
    params = next(islice(path, choice.n_steps, None))
    return Learned(
        fit.model(params, choice.label_noise),
        learned.record,
        {**learned.attributes, **choice.attributes},
        choice.temperature,
        calibrated=len(choice.losses) > 0,
    )


def climb_rows(fit: SteppedFit[P], dealer: RowDealer, keep: FloatArray, params: P) -> Iterator[P]:
    """Yield the parameters after 0, 1, 2, ... gradient steps on shares `keep` of the rows."""
    training = dealer.training
    weight = float((training.weight * keep)[training.labelled].sum())
    dear = training.n_classes * fit.row_numbers
    batch = min(MOST_BATCH, max(LEAST_BATCH, BATCH_NUMBERS / dear))
    return fit.climb(dealer.batches(keep, batch), weight, params)


def learn_steps(fit: SteppedFit[P], dealer: RowDealer) -> Choice:
    """Number of gradient steps, temperature and label noise that are best for held-out rows.

    Neither EM nor the gradient see what is held out.
    """
    shares = dealer.held_out()
    if not len(shares):
        return Choice()
    walks = [held_losses(fit, dealer, share) for share in shares]
    total = float((shares @ dealer.training.weight).sum())
    # few rows that are all right by chance say nothing about how sure the model should be
    penalty = prior_penalty(np.log(TEMPERATURES), TOO_SURE)[:, None] / total
    looks: list[tuple[FloatArray, FloatArray]] = []
    best = place = noise = 0
    while len(looks) <= min(MAX_STEPS // STEP_SPACING, best + PATIENCE):
        sums = [next(walk) for walk in walks]
        loss = np.sum([one.loss for one in sums], axis=0) / total
        surprise = np.mean([one.surprise for one in sums], axis=0)
        merit = loss + SURPRISE_WEIGHT * surprise / total + penalty
        looks.append((loss, merit))
        merits = np.array([one for _, one in looks])
        # of losses that differ only by rounding, the first: fewer steps, lower temperature
        lowest = int(np.flatnonzero(merits <= merits.min() + TIE)[0])
        best, place, noise = (int(k) for k in np.unravel_index(lowest, merits.shape))
    chosen = merits.argmin(axis=2)[..., None]
    losses = np.take_along_axis(np.array([loss for loss, _ in looks]), chosen, axis=2)[..., 0]
    return Choice(best * STEP_SPACING, TEMPERATURES[place], fit.label_noises[noise], losses)


def n_followed(fit: SteppedFit[P], training: Training) -> int:
    """Number of starts, the best ones, that gradient steps follow."""
    n_rows = float(training.weight[training.labelled].sum())
    n_numbers = n_rows * training.n_classes * fit.row_numbers
    return max(FEW_STARTS, int(STARTED_NUMBERS / n_numbers))


class HeldLosses(NamedTuple):
    """Log-losses by temperature and label noise: the sum over rows, and that of a surprise.

    A surprise is a row that speaks against its label as strongly as can be.
    """

    loss: FloatArray
    surprise: FloatArray


def held_losses(fit: SteppedFit[P], dealer: RowDealer, share: FloatArray) -> Iterator[HeldLosses]:
    """Yield the losses of held-out rows, after every few steps."""
    held = dealer.take(share)
    keep = dealer.beside(share)
    rest = dealer.take(keep)
    fit = fit.with_starts(n_followed(fit, rest))
    params = fit.learn(rest)
    path = climb_rows(fit, dealer, keep, params)
    for moved in islice(path, 0, None, STEP_SPACING):
        model = fit.model(moved)
        evidence = model.evidence(held.table, fit.n_jobs)
        loss = _log_losses(evidence, held.y, held.weight, model.log_prior, fit.label_noises)
        surprise = np.zeros(loss.shape)
        if max(fit.label_noises) > 0:
            against = np.where(np.eye(model.n_classes, dtype=bool), SURPRISE, 0.0)
            classes = np.flatnonzero(model.class_prior > 0)
            surprise = _log_losses(
                against[classes],
                classes,
                model.class_prior[classes],
                model.log_prior,
                fit.label_noises,
            )
        yield HeldLosses(loss, surprise)


def _log_losses(
    evidence: FloatArray,
    y: IndexArray,
    weight: FloatArray,
    log_prior: FloatArray,
    noises: tuple[float, ...],
) -> FloatArray:
    """Summed log-losses of rows by temperature and label noise."""
    return np.asarray(row_losses(evidence, y, log_prior, noises) @ weight)


def row_losses(
    evidence: FloatArray, y: IndexArray, log_prior: FloatArray, noises: tuple[float, ...]
) -> FloatArray:
    """Log-losses of rows by temperature and label noise, shape (T, n_noises, n_rows)."""
    noisy = np.stack([add_label_noise(evidence, log_prior, noise) for noise in noises])
    joint = noisy / np.reshape(TEMPERATURES, (-1, 1, 1, 1)) + log_prior
    own = joint[..., np.arange(len(y)), y]
    return np.asarray(log_sum_exp(joint) - own)


def share_prior(prior: Prior, share: float) -> Prior:
    """The prior's share in a part of the objective."""
    return Prior(*(share * part for part in prior))._replace(noise_level=prior.noise_level)
