"""Held-out scores: every classifier on the same folds of the training rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray, IndexArray
from latentclass._warn import recorded_warnings
from latentclass.data._labels import UNLABELLED, encode_labels

N_FOLDS = 5

LEAST_PROBABILITY = 1e-15
"""Smallest probability in the log-loss, so that one certain mistake does not make it infinite."""

Folds = list[tuple[IndexArray, IndexArray]]


@dataclass(frozen=True)
class Score:
    """Means over the folds.

    Attributes
    ----------
    log_loss, accuracy : float
    seconds : float
        For all folds.
    """

    log_loss: float
    accuracy: float
    seconds: float

    def to_dict(self) -> dict[str, float]:
        """Without the seconds, which are not the same twice."""
        return {"log_loss": self.log_loss, "accuracy": self.accuracy}


def make_folds(y: npt.NDArray[Any], seed: int) -> Folds:
    """Stratified folds of the labelled rows; none if there are too few."""
    from latentclass.evaluation import LabelledKFold

    _, codes = encode_labels(y)
    n_folds = min(N_FOLDS, int(np.bincount(codes[codes != UNLABELLED]).max()))
    if n_folds < 2:
        return []
    folds = LabelledKFold(n_folds, shuffle=True, random_state=seed)
    with recorded_warnings():  # of classes with few rows, which the check of the table names
        return list(folds.split(np.zeros((len(y), 1)), y))


class OutOfTimeError(Exception):
    """The folds of a classifier did not end in time."""


def score_on_folds(
    estimator: Any,
    X: Any,
    y: npt.NDArray[Any],
    weight: FloatArray | None,
    folds: Folds,
    *,
    end: float | None,
) -> Score:
    """Fit a classifier on the training rows of each fold, and score it on the test rows.

    `end` (`time.monotonic`) limits the time: a fold that would end after it is not begun.
    """
    from sklearn.base import clone
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    classes, codes = encode_labels(y)
    losses, hits = [], []
    began = time.monotonic()
    for number, (train, test) in enumerate(folds):
        now = time.monotonic()
        usual = (now - began) / number if number else 0.0
        if end is not None and now + usual > end:
            raise OutOfTimeError
        weighted = weight is not None and hasattr(estimator, "unlabelled_weight")
        extra = {"sample_weight": weight[train]} if weighted and weight is not None else {}
        # warnings of a fold: the fit to all rows says what matters; threads that wait for each
        # other on a busy machine take ten times as long
        with recorded_warnings(), threadpool_limits(1):
            fitted = clone(estimator).fit(X.take(train), y[train], **extra)
            found = fitted.predict_proba(X.take(test))
        proba = np.zeros((len(test), len(classes)))
        proba[:, np.searchsorted(classes, fitted.classes_)] = found
        truth = codes[test]
        of_truth = proba[np.arange(len(test)), truth]
        share = np.ones(len(test)) if weight is None else weight[test]
        if not share.sum() > 0:
            continue
        losses.append(np.average(-np.log(np.maximum(of_truth, LEAST_PROBABILITY)), weights=share))
        hits.append(np.average(proba.argmax(axis=1) == truth, weights=share))
    seconds = time.monotonic() - began
    return Score(float(np.mean(losses)), float(np.mean(hits)), seconds)
