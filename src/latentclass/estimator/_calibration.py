"""Temperature calibration: how much of its own evidence a model should believe.

A model that takes dependent attributes for independent counts the same evidence several times,
and its probabilities come out too sure. The remedy has one parameter: log p(x | class) is divided
by a temperature T before it meets the class prior. The prior itself is left alone, so that a row
with nothing observed still gets the prior, and other `priors` can be put in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.engine._logspace import log_normalise

N_FOLDS = 5
LEAST_PROBABILITY = 1e-15  # as in scikit-learn's log_loss
LOG_TEMPERATURES = (-3.0, 10.0)
# Without it a few rows, all of them right, would make the model believe itself without bound.
PRIOR_SPREAD = 1.0
"""Standard deviation of the normal prior on log T, about T = 1."""


def learn_temperature(
    held_out: Callable[[IndexArray, IndexArray], FloatArray],
    y: IndexArray,
    weight: FloatArray,
    log_prior: FloatArray,
    *,
    random_state: np.random.RandomState,
) -> tuple[float, dict[str, float]]:
    """Temperature of least held-out log-loss (with a weak prior), or 1 where it does not help.

    Parameters
    ----------
    held_out : callable
        Given row numbers to train on and to test on, log p(x | class) of the test rows.
    y, weight : arrays of shape (n_rows,)
        Class codes (-1: unlabelled, always in the training part) and weights.
    log_prior : array of shape (n_classes,)
    random_state : RandomState
        Deals the rows into folds.

    Returns
    -------
    temperature : float
    facts : dict
        `temperature` that was learned, `log_loss_before` and `log_loss_after` it. The latter
        judges each fold by the temperature learned on the others; only if it is lower is the
        temperature kept.
    """
    labelled = np.flatnonzero(y != UNLABELLED)
    fold = _deal(y[labelled], random_state)
    evidence = np.zeros((len(labelled), len(log_prior)))
    for f in range(N_FOLDS):
        test = labelled[fold == f]
        if test.size:
            train = np.setdiff1d(np.arange(len(y)), test)
            if not np.any(y[train] != UNLABELLED):
                return 1.0, {}
            evidence[fold == f] = held_out(train, test)
    rows = (evidence, y[labelled], weight[labelled])

    def loss(temperature: float, chosen: BoolArray, least: float) -> float:
        part_evidence, part_y, part_weight = (array[chosen] for array in rows)
        log_proba = log_normalise(part_evidence / temperature + log_prior)
        of_class = log_proba[np.arange(len(part_y)), part_y]
        return float(-part_weight @ np.maximum(of_class, least))

    def learned(chosen: BoolArray) -> float:
        # Not clipped: that would make plateaus. Without rows that are impossible at any
        # temperature the loss is convex in 1 / T.
        possible = chosen & np.isfinite(evidence[np.arange(len(labelled)), y[labelled]])
        return _best_temperature(partial(loss, chosen=possible, least=-np.inf))

    everything = np.ones(len(labelled), dtype=bool)
    clip = float(np.log(LEAST_PROBABILITY))
    before = loss(1.0, everything, clip)
    after = 0.0
    for f in range(N_FOLDS):
        inside = fold == f
        if inside.any() and not inside.all():
            after += loss(learned(~inside), inside, clip)
    temperature = learned(everything)
    total = float(rows[2].sum())
    facts = {
        "temperature": temperature,
        "log_loss_before": before / total,
        "log_loss_after": after / total,
    }
    return (temperature if after < before else 1.0), facts


def _deal(y: IndexArray, random_state: np.random.RandomState) -> IndexArray:
    """Fold of each row: every class spread evenly, one class going on where the last ended."""
    fold = np.empty(len(y), dtype=np.intp)
    shuffled = random_state.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold[by_class] = np.arange(len(y)) % N_FOLDS
    return fold


def _best_temperature(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar  # slow to import, seldom needed

    def penalised(log_t: float) -> float:
        return loss(float(np.exp(log_t))) + 0.5 * (log_t / PRIOR_SPREAD) ** 2

    found = minimize_scalar(penalised, bounds=LOG_TEMPERATURES, method="bounded")
    return float(np.exp(found.x))
