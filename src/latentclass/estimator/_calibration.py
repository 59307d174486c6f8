"""Temperature calibration: how far a model should trust its own evidence.

A model that treats dependent attributes as independent counts the same evidence several times, so
its probabilities are too extreme. The remedy has one parameter: log p(x | class) is divided by a
temperature T before the class prior is added. The prior itself does not change. So a row with no
observed cell still gets the prior, and the user can pass other `priors`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._logspace import log_normalise
from latentclass.estimator._inner_folds import InnerFolds

N_FOLDS = 5
LEAST_PROBABILITY = 1e-15  # as in scikit-learn's log_loss
LOG_TEMPERATURES = (-3.0, 10.0)
"""Range in which log T is searched."""

SOFTER_SPREAD, SHARPER_SPREAD = 1.0, 0.25
"""Standard deviation of the normal prior on log T, above and below its mean at T = 1.

Without a prior, a few rows that are all classified correctly would drive T to 0. Evidence is often
counted several times and hardly ever too little, so to sharpen needs more rows than to soften.
"""


def learn_temperature(
    held_out: Callable[[int], FloatArray],
    folds: InnerFolds,
    y: IndexArray,
    log_prior: FloatArray,
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
    rows = _HeldOutRows(evidence, y[folds.row], folds.weight, log_prior)
    everything = np.ones(len(folds.row), dtype=bool)
    before, after = rows.clipped_loss(1.0, everything), 0.0
    for number in range(folds.n_folds):
        inside = folds.fold == number
        after += rows.clipped_loss(rows.best_temperature(~inside), inside)
    temperature = rows.best_temperature(everything)
    total = float(rows.weight.sum())
    facts = {
        "temperature": temperature,
        "log_loss_before": before / total,
        "log_loss_after": after / total,
    }
    return (temperature if after < before else 1.0), facts


class _HeldOutRows(NamedTuple):
    """log p(x | class) of labelled rows, from models that were not trained on them."""

    evidence: FloatArray
    y: IndexArray
    weight: FloatArray
    log_prior: FloatArray

    def clipped_loss(self, temperature: float, chosen: BoolArray) -> float:
        """Weighted log-loss of the chosen rows, with probabilities of at least 1e-15."""
        return self._loss(temperature, chosen, float(np.log(LEAST_PROBABILITY)))

    def best_temperature(self, chosen: BoolArray) -> float:
        """The temperature with the lowest log-loss of the chosen rows under the prior."""
        # The loss is not clipped here, since clipping makes plateaus. Rows that are impossible at
        # every temperature are left out: without them the loss is convex in 1 / T.
        possible = chosen & np.isfinite(self.evidence[np.arange(len(self.y)), self.y])
        return _best_temperature(partial(self._loss, chosen=possible, least=-np.inf))

    def _loss(self, temperature: float, chosen: BoolArray, least: float) -> float:
        y = self.y[chosen]
        log_proba = log_normalise(self.evidence[chosen] / temperature + self.log_prior)
        of_class = log_proba[np.arange(len(y)), y]
        return float(-self.weight[chosen] @ np.maximum(of_class, least))


def _best_temperature(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar  # slow to import and rarely needed

    def penalised(log_t: float) -> float:
        spread = SOFTER_SPREAD if log_t > 0 else SHARPER_SPREAD
        return loss(float(np.exp(log_t))) + 0.5 * (log_t / spread) ** 2

    found = minimize_scalar(penalised, bounds=LOG_TEMPERATURES, method="bounded")
    return float(np.exp(found.x))
