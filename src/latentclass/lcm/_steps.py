"""How many gradient steps follow EM: as many as are best for held-out rows.

Which rows are held out depends on what they hold (`engine._content_holdout`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._reading import Training
from latentclass.lcm._em import Prior
from latentclass.lcm._hybrid_sample import RowDealer

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
"""Temperatures tried on the held-out rows: with few rows a model is overconfident."""

FEW_STARTS = 2
"""Least number of starts of a fit beside held-out rows."""

STARTED_ROWS = 10_000
"""Rows times classes times starts that a fit beside held-out rows may have: with many rows few
starts are enough to choose the number of steps. With few rows the temperature needs all of them,
since an average over more starts is less sure of itself."""

TIE = 1e-9
"""Log-losses that differ by less than this count as equal."""


class SteppedFit(Protocol[P]):
    """What the choice of the number of steps needs to know of a fit."""

    @property
    def n_jobs(self) -> int | None:
        """Number of threads."""

    def model(self, params: P) -> FittedModel:
        """The model with these parameters."""

    def learn(self, training: Training) -> P:
        """Parameters that EM finds."""

    def climb(self, batches: Iterator[Training], weight: float, params: P) -> Iterator[P]:
        """Parameters after 0, 1, 2, ... steps on batches of labelled rows of a total weight."""

    def with_starts(self, n_init: int) -> Self:
        """The same fit with at most so many starts."""


def take_steps(fit: SteppedFit[P], dealer: RowDealer, learned: Learned, params: P) -> Learned:
    """Follow EM by gradient steps, as many as are best for held-out rows."""
    n_steps, temperature, losses = learn_steps(fit, dealer)
    path = climb_rows(fit, dealer, np.ones(len(dealer.training.y)), params)
    params = next(islice(path, n_steps, None))
    return Learned(
        fit.model(params) if n_steps else learned.model,
        learned.record,
        {**learned.attributes, "n_steps_": n_steps, "held_out_": losses},
        temperature,
    )


def no_steps() -> dict[str, Any]:
    """The estimators' attributes where nothing can be trained."""
    return {"n_steps_": 0, "held_out_": np.zeros((0, len(TEMPERATURES)))}


def climb_rows(fit: SteppedFit[P], dealer: RowDealer, keep: FloatArray, params: P) -> Iterator[P]:
    """Yield the parameters after 0, 1, 2, ... gradient steps on shares `keep` of the rows."""
    training = dealer.training
    weight = float((training.weight * keep)[training.labelled].sum())
    return fit.climb(dealer.batches(keep), weight, params)


def learn_steps(fit: SteppedFit[P], dealer: RowDealer) -> tuple[int, float, FloatArray]:
    """Number of gradient steps and temperature that are best for held-out rows; their log-loss.

    Neither EM nor the gradient see what is held out.
    """
    shares = dealer.held_out()
    if not len(shares):
        return 0, 1.0, np.zeros((0, len(TEMPERATURES)))
    walks = [held_losses(fit, dealer, share) for share in shares]
    total = float((shares @ dealer.training.weight).sum())
    looks: list[FloatArray] = []
    best = place = 0
    while len(looks) <= min(MAX_STEPS // STEP_SPACING, best + PATIENCE):
        looks.append(np.sum([next(walk) for walk in walks], axis=0) / total)
        losses = np.array(looks)
        # of losses that differ only by rounding, the first: fewer steps, lower temperature
        lowest = int(np.flatnonzero(losses <= losses.min() + TIE)[0])
        best, place = divmod(lowest, len(TEMPERATURES))
    return best * STEP_SPACING, TEMPERATURES[place], losses


def held_losses(fit: SteppedFit[P], dealer: RowDealer, share: FloatArray) -> Iterator[FloatArray]:
    """Yield the summed log-losses of held-out rows by temperature, after every few steps."""
    held = dealer.take(share)
    keep = dealer.beside(share)
    rest = dealer.take(keep)
    n_starts = STARTED_ROWS / (float(rest.weight.sum()) * rest.n_classes)
    fit = fit.with_starts(max(FEW_STARTS, int(n_starts)))
    params = fit.learn(rest)
    y, weight = held.y, held.weight
    path = climb_rows(fit, dealer, keep, params)
    for moved in islice(path, 0, None, STEP_SPACING):
        model = fit.model(moved)
        evidence = model.evidence(held.table, fit.n_jobs)
        posteriors = (log_normalise(evidence / t + model.log_prior) for t in TEMPERATURES)
        yield np.array([-float(weight @ p[np.arange(len(y)), y]) for p in posteriors])


def share_prior(prior: Prior, share: float) -> Prior:
    """The prior's share in a part of the objective."""
    return Prior(*(share * part for part in prior))._replace(noise_level=prior.noise_level)
