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
from latentclass.data._labels import UNLABELLED
from latentclass.engine._logspace import log_normalise

N_FOLDS = 5
LEAST_PROBABILITY = 1e-15  # as in scikit-learn's log_loss
LOG_TEMPERATURES = (-3.0, 10.0)
"""Range in which log T is searched."""

PRIOR_SPREAD = 1.0
"""Standard deviation of the normal prior on log T, which has its mean at T = 1.

Without a prior, a few rows that are all classified correctly would drive T to 0.
"""


def learn_temperature(
    held_out: Callable[[IndexArray, IndexArray], FloatArray],
    y: IndexArray,
    weight: FloatArray,
    log_prior: FloatArray,
    *,
    random_state: np.random.RandomState,
) -> tuple[float, dict[str, float]]:
    """Find the temperature with the lowest held-out log-loss under a weak prior.

    Parameters
    ----------
    held_out : callable
        Takes the numbers of the training rows and of the test rows, and returns log p(x | class)
        of the test rows.
    y, weight : arrays of shape (n_rows,)
        Class codes and weights. Unlabelled rows (-1) are in every training part.
    log_prior : array of shape (n_classes,)
    random_state : RandomState
        Assigns the rows to folds.

    Returns
    -------
    temperature : float
        1 if no temperature lowers the held-out log-loss.
    facts : dict
        The learned `temperature`, `log_loss_before` (at T = 1) and `log_loss_after`. The last
        judges each fold at the temperature learned on the other folds, and the learned
        temperature is used only if it is lower than `log_loss_before`.
    """
    labelled = np.flatnonzero(y != UNLABELLED)
    fold = _assign_folds(y[labelled], random_state)
    evidence = np.zeros((len(labelled), len(log_prior)))
    for f in range(N_FOLDS):
        test = labelled[fold == f]
        if test.size:
            train = np.setdiff1d(np.arange(len(y)), test)
            if not np.any(y[train] != UNLABELLED):
                return 1.0, {}
            evidence[fold == f] = held_out(train, test)
    rows = _HeldOutRows(evidence, y[labelled], weight[labelled], log_prior)
    everything = np.ones(len(labelled), dtype=bool)
    before, after = rows.clipped_loss(1.0, everything), 0.0
    for f in range(N_FOLDS):
        inside = fold == f
        if inside.any() and not inside.all():
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


def _assign_folds(y: IndexArray, random_state: np.random.RandomState) -> IndexArray:
    """Fold of each row, with every class spread evenly over the folds.

    Each class continues with the fold after the last one of the class before.
    """
    fold = np.empty(len(y), dtype=np.intp)
    shuffled = random_state.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold[by_class] = np.arange(len(y)) % N_FOLDS
    return fold


def _best_temperature(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar  # slow to import and rarely needed

    def penalised(log_t: float) -> float:
        return loss(float(np.exp(log_t))) + 0.5 * (log_t / PRIOR_SPREAD) ** 2

    found = minimize_scalar(penalised, bounds=LOG_TEMPERATURES, method="bounded")
    return float(np.exp(found.x))
