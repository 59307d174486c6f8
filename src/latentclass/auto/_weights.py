"""Weights of several classifiers, from their class probabilities of rows they did not learn from.

For log-loss the average is a mixture, and its weights are the most probable ones: those that make
the held-out classes probable. Each classifier has a head start of about a row, by how well it does
on other tables: with few held-out rows that counts, with many it does not.

For accuracy, which has no such form, greedy selection with replacement: start with none, and
repeatedly add the classifier whose addition scores best. A classifier's weight is how often it
was added, divided by all additions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from latentclass._types import FloatArray, IndexArray

LEAST_WEIGHT = 0.05
"""Classifiers with less than this are left out. It keeps the members few."""

MOST_STEPS = 500
CONVERGED = 1e-6

MOST_ADDITIONS = 50
"""Most additions of the greedy selection: no weight is finer than 1/50."""

LEAST_GAIN = 1e-4
"""Smallest relative gain for which another classifier is added."""

LEAST_PROBABILITY = 1e-15


class Metric(Protocol):
    """What is to be reached on held-out rows."""

    def score(self, probabilities: FloatArray) -> float:
        """How good class probabilities are, shape (n_rows, n_classes); higher is better."""

    def weights(self, probabilities: FloatArray, head_start: FloatArray) -> FloatArray:
        """Weights of classifiers, which sum to 1.

        `probabilities` has shape (n_classifiers, n_rows, n_classes). `head_start` has the rows that
        each classifier is thought to have made, before any row was seen.
        """


@dataclass(frozen=True, eq=False)
class LogLoss:
    """Mean log-probability of the true classes `y` of rows with weights.

    Examples
    --------
    >>> import numpy as np
    >>> good, bad = np.tile([0.9, 0.1], (500, 1)), np.tile([0.2, 0.8], (500, 1))
    >>> metric = LogLoss(np.zeros(500, dtype=int), np.ones(500))
    >>> metric.weights(np.stack([bad, good]), np.ones(2))
    array([0., 1.])
    """

    y: IndexArray
    weight: FloatArray

    def score(self, probabilities: FloatArray) -> float:
        """See `Metric`."""
        return float(self.weight @ np.log(self._of_truth(probabilities)) / self.weight.sum())

    def weights(self, probabilities: FloatArray, head_start: FloatArray) -> FloatArray:
        """See `Metric`."""
        of_truth = self._of_truth(probabilities)
        kept = self._most_probable(of_truth, head_start) >= LEAST_WEIGHT
        if not kept.any():  # very many, none of which is better than the others
            kept[:] = True
        found = np.zeros(len(kept))
        found[kept] = self._most_probable(of_truth[kept], head_start[kept])
        return found

    def _most_probable(self, of_truth: FloatArray, head_start: FloatArray) -> FloatArray:
        """Weights of a mixture by EM: the shares of the rows that each is thought to have made."""
        weights = head_start / head_start.sum()
        for _ in range(MOST_STEPS):
            joint = weights[:, None] * of_truth
            amount = head_start + (joint / joint.sum(axis=0)) @ self.weight
            before, weights = weights, amount / amount.sum()
            if np.abs(weights - before).max() < CONVERGED:
                break
        return np.asarray(weights)

    def _of_truth(self, probabilities: FloatArray) -> FloatArray:
        own = probabilities[..., np.arange(len(self.y)), self.y]
        return np.asarray(np.maximum(own, LEAST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Share of rows whose most probable class is true; ties are broken by log-loss."""

    y: IndexArray
    weight: FloatArray

    def score(self, probabilities: FloatArray) -> float:
        """See `Metric`."""
        hit = probabilities.argmax(axis=1) == self.y
        share = float(self.weight @ hit / self.weight.sum())
        return share + 1e-6 * LogLoss(self.y, self.weight).score(probabilities)

    def weights(self, probabilities: FloatArray, head_start: FloatArray) -> FloatArray:
        """See `Metric`; the greedy selection knows no head start."""
        del head_start
        return greedy_weights(probabilities, self.score)


def greedy_weights(probabilities: FloatArray, score: Callable[[FloatArray], float]) -> FloatArray:
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
    >>> greedy_weights(np.stack([bad, good]), lambda p: float(np.log(p[0, 0])))
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
