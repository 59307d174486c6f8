"""Weights of several classifiers, from their class probabilities of rows they did not learn from.

Greedy selection with replacement: begin with nobody, and again and again add the classifier whose
addition scores best. A classifier's weight is how often it was added, divided by all additions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latentclass._types import FloatArray, IndexArray

MOST_ADDITIONS = 50
"""Most additions: no weight is finer than 1/50."""

LEAST_GAIN = 1e-4
"""Smallest relative gain for which another classifier is added. It keeps the members few."""

LEAST_PROBABILITY = 1e-15

Score = Callable[[FloatArray], float]
"""How good class probabilities are, shape (n_rows, n_classes); higher is better."""


def choose_weights(probabilities: FloatArray, score: Score) -> FloatArray:
    """Weights of classifiers by greedy selection.

    Parameters
    ----------
    probabilities : array of shape (n_classifiers, n_rows, n_classes)
        Held-out class probabilities.
    score : callable
        Takes averaged probabilities.

    Returns
    -------
    array of shape (n_classifiers,)
        They sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> good, bad = np.array([[0.9, 0.1]]), np.array([[0.2, 0.8]])
    >>> choose_weights(np.stack([bad, good]), lambda p: float(np.log(p[0, 0])))
    array([0., 1.])
    """
    count = np.zeros(len(probabilities))
    total = np.zeros(probabilities.shape[1:])
    best, kept = -np.inf, count.copy()
    for n in range(1, MOST_ADDITIONS + 1):
        scores = [score((total + one) / n) for one in probabilities]
        chosen = int(np.argmax(scores))
        count[chosen] += 1
        total += probabilities[chosen]
        # the way may lead through a small loss, so it goes on; only gains are kept
        if n == 1 or scores[chosen] > best + LEAST_GAIN * abs(best):
            best, kept = scores[chosen], count.copy()
    return np.asarray(kept / kept.sum())


def negative_log_loss(y: IndexArray, weight: FloatArray) -> Score:
    """Mean log-probability of the true classes `y` of rows with weights."""
    rows, share = np.arange(len(y)), weight / weight.sum()

    def score(probabilities: FloatArray) -> float:
        return float(share @ np.log(np.maximum(probabilities[rows, y], LEAST_PROBABILITY)))

    return score


def accuracy(y: IndexArray, weight: FloatArray) -> Score:
    """Share of rows whose most probable class is true; ties are broken by log-loss."""
    share, log_score = weight / weight.sum(), negative_log_loss(y, weight)

    def score(probabilities: FloatArray) -> float:
        hit = probabilities.argmax(axis=1) == y
        return float(share @ hit) + 1e-6 * log_score(probabilities)

    return score
