"""Temperature calibration: how far a model should trust its own evidence.

A model that treats dependent attributes as independent counts the same evidence several times, so
its probabilities are too extreme. The remedy has one parameter: log p(x | class) is divided by a
temperature T before the class prior is added. The prior itself does not change. So a row with no
observed cell still gets the prior, and the user can pass other `priors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.estimator._inner_folds import InnerFolds

N_FOLDS = 5
LEAST_LOG = float(np.log(1e-15))  # as in scikit-learn's log_loss
LOG_TEMPERATURES = (-3.0, 10.0)
"""Range in which log T is searched."""

GRID_STEP = 0.25
LOG_GRID = np.linspace(*LOG_TEMPERATURES, 53)
"""Values of log T at which the loss of every row is known, `GRID_STEP` apart."""

GRID_ENTRIES = 2**20
"""Entries of rows, classes and temperatures that are computed at once."""


class TemperaturePrior(NamedTuple):
    """Normal prior on log T: its mean, and its standard deviation above and below it.

    Without a prior, a few rows that are all classified correctly would drive T to 0. Evidence is
    often counted several times and hardly ever too little, so to sharpen needs more rows than to
    soften.
    """

    mean: float
    softer: float
    sharper: float


NEUTRAL = TemperaturePrior(0.0, 1.0, 0.25)
"""Of `calibrate=True`, which keeps a temperature only if held-out rows gain by it."""

TOO_SURE = TemperaturePrior(1.0, 2.0, 0.5)
"""Of `calibrate="auto"`, which keeps the temperature in any case.

With few rows models are too sure, and held-out rows are too few to tell how much. With 5, 15 and 50
labels a class this prior lowers the mean log-loss of naive Bayes, TAN, AODE and LCM on all sizes;
200 held-out rows outweigh it.
"""


AVERAGED = TemperaturePrior(0.0, 0.5, 0.25)
"""Of an average of classifiers that have their own temperatures.

Where they disagree the average is less sure than each of them, so it is often to be sharpened. But
its weights were chosen on the same held-out rows, which flatters it there: with few labels it would
be sharpened too much.
"""


def learn_temperature(
    held_out: Callable[[int], FloatArray],
    folds: InnerFolds,
    y: IndexArray,
    log_prior: FloatArray,
    prior: TemperaturePrior = NEUTRAL,
) -> tuple[float, dict[str, float]]:
    """Find the temperature with the lowest held-out log-loss under a weak prior.

    Parameters
    ----------
    held_out : callable
        Takes the number of a fold, and returns log p(x | class) of the rows that it tests, under a
        model of its training part.
    folds : InnerFolds
    y : array of shape (n_rows,)
        Class codes. Unlabelled rows (-1) are in every training part.
    log_prior : array of shape (n_classes,)
    prior : TemperaturePrior

    Returns
    -------
    temperature : float
        1 if no temperature lowers the held-out log-loss, or if there is one fold only.
    facts : dict
        The learned `temperature`, `log_loss_before` (at T = 1) and `log_loss_after`. The last
        judges each fold at the temperature learned on the other folds, and the learned
        temperature is used only if it is lower than `log_loss_before`.
    """
    if folds.n_folds < 2:
        return 1.0, {}
    evidence = np.zeros((len(folds.row), len(log_prior)))
    for number in range(folds.n_folds):
        evidence[folds.fold == number] = held_out(number)
    rows = HeldOutRows(evidence, y[folds.row], folds.weight, np.tile(log_prior, (len(evidence), 1)))
    return rows.learn_temperature(folds.fold, prior)


class HeldOutRows(NamedTuple):
    """log p(x | class) of labelled rows, from models that were not trained on them.

    Attributes
    ----------
    evidence : array of shape (n_tests, n_classes)
    y : array of shape (n_tests,)
        Class codes.
    weight : array of shape (n_tests,)
    log_prior : array of shape (n_tests, n_classes)
        log P(class) that each row is judged with.
    """

    evidence: FloatArray
    y: IndexArray
    weight: FloatArray
    log_prior: FloatArray

    def learn_temperature(
        self, group: IndexArray | None, prior: TemperaturePrior = NEUTRAL
    ) -> tuple[float, dict[str, float]]:
        """The temperature and the facts about it; each group is judged by that of the others.

        Without groups all rows are judged by the temperature that they gave together.
        """
        everything = np.ones(len(self.y), dtype=bool)
        before, after = self.clipped_loss(1.0, everything), 0.0
        grid = self._grid_losses()
        penalty = prior_penalty(LOG_GRID, prior)
        for number in [] if group is None else np.unique(group):
            inside = group == number
            others = np.exp(_lowest(grid[:, ~inside].sum(axis=1) + penalty))
            after += self.clipped_loss(float(others), inside)
        near = _lowest(grid.sum(axis=1) + penalty)
        temperature = self._refined_temperature(near, prior)
        if group is None:
            after = self.clipped_loss(temperature, everything)
        total = float(self.weight.sum())
        facts = {
            "temperature": temperature,
            "log_loss_before": before / total,
            "log_loss_after": after / total,
        }
        keep = prior is TOO_SURE or after < before
        return (temperature if keep else 1.0), facts

    def with_prior(self, log_prior: FloatArray) -> HeldOutRows:
        """The rows judged with the same log P(class), (n_classes,)."""
        return self._replace(log_prior=np.tile(log_prior, (len(self.y), 1)))

    def clipped_losses(self, temperature: float) -> FloatArray:
        """Log-loss of each row, with probabilities of at least 1e-15."""
        return self._losses(temperature, np.ones(len(self.y), dtype=bool), LEAST_LOG)

    def clipped_loss(self, temperature: float, chosen: BoolArray) -> float:
        """Weighted log-loss of the chosen rows, with probabilities of at least 1e-15."""
        return self._loss(temperature, chosen, LEAST_LOG)

    def _possible(self) -> BoolArray:
        """Rows that are not impossible at every temperature; they say nothing about it.

        Without the others the loss is convex in 1 / T. It is not clipped where T is learned, since
        clipping makes plateaus.
        """
        at = np.arange(len(self.y)), self.y
        return np.isfinite(self.evidence[at]) & np.isfinite(self.log_prior[at])

    def _grid_losses(self) -> FloatArray:
        """Weighted loss of each row at each temperature of the grid; 0 for impossible rows."""
        out = np.zeros((len(LOG_GRID), len(self.y)))
        possible = self._possible()
        rows = np.flatnonzero(possible)
        evidence, log_prior = self.evidence[rows], self.log_prior[rows]
        own, weight = (np.arange(len(rows)), self.y[rows]), self.weight[rows]
        n_at_once = max(1, GRID_ENTRIES // max(1, evidence.size))
        for start in range(0, len(LOG_GRID), n_at_once):
            some = slice(start, start + n_at_once)
            log_joint = evidence * np.exp(-LOG_GRID[some, None, None]) + log_prior
            loss = log_sum_exp(log_joint) - log_joint[:, *own]
            out[some, rows] = loss * weight
        return out

    def _refined_temperature(self, near: float, prior: TemperaturePrior) -> float:
        """The temperature with the lowest log-loss under the prior, given about where log T is."""
        from scipy.optimize import minimize_scalar  # slow to import and rarely needed

        possible = self._possible()

        def penalised(log_t: float) -> float:
            loss = self._loss(float(np.exp(log_t)), possible, -np.inf)
            return loss + float(prior_penalty(np.asarray(log_t), prior))

        low, high = LOG_TEMPERATURES
        bounds = (max(low, near - GRID_STEP), min(high, near + GRID_STEP))
        return float(np.exp(minimize_scalar(penalised, bounds=bounds, method="bounded").x))

    def _loss(self, temperature: float, chosen: BoolArray, least: float) -> float:
        return float(self.weight[chosen] @ self._losses(temperature, chosen, least))

    def _losses(self, temperature: float, chosen: BoolArray, least: float) -> FloatArray:
        y = self.y[chosen]
        log_proba = log_normalise(self.evidence[chosen] / temperature + self.log_prior[chosen])
        return -np.maximum(log_proba[np.arange(len(y)), y], least)


def prior_penalty(log_t: FloatArray, prior: TemperaturePrior) -> FloatArray:
    """Minus the log density of the prior, up to a constant."""
    spread = np.where(log_t > prior.mean, prior.softer, prior.sharper)
    return np.asarray(0.5 * ((log_t - prior.mean) / spread) ** 2)


def _lowest(losses: FloatArray) -> float:
    """Where on the grid of log T losses are lowest: the vertex of the parabola through three."""
    best = int(losses.argmin())
    if best in (0, len(losses) - 1):
        return float(LOG_GRID[best])
    before, here, after = losses[best - 1 : best + 2]
    bend = before - 2 * here + after
    shift = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(LOG_GRID[best] + GRID_STEP * np.clip(shift, -1.0, 1.0))
