"""Scores of a classifier on test rows, from its labels and probabilities.

All functions take class codes (positions in the whole data set's list of classes), so a training
fold that lacks a class is no special case: its probability is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray

SMALLEST = 1e-15
"""Probabilities below this count as this in the log-loss: one sure mistake is not infinite."""

N_BINS = 15
"""Bins of the expected calibration error, of equal width, closed on the right."""


class Predictions(NamedTuple):
    """What a classifier said of some test rows.

    Attributes
    ----------
    y : array of shape (n_rows,)
        Codes of the true classes.
    predicted : array of shape (n_rows,)
        Codes of the predicted classes.
    proba : array of shape (n_rows, n_classes) or None
        Probabilities; None if the classifier gives none.
    """

    y: IndexArray
    predicted: IndexArray
    proba: FloatArray | None


class Metric(NamedTuple):
    """A score, and how to show it.

    Attributes
    ----------
    name : str
    function : callable of `Predictions` to float
        NaN where it has no answer.
    greater_is_better : bool, default=True
    percent : bool, default=False
        Show it times 100.
    digits : int, default=3
        Decimals shown.
    """

    name: str
    function: Callable[[Predictions], float]
    greater_is_better: bool = True
    percent: bool = False
    digits: int = 3


def accuracy(predictions: Predictions) -> float:
    """Share of rows whose predicted class is the true one."""
    return float(np.mean(predictions.predicted == predictions.y))


def log_loss(predictions: Predictions) -> float:
    """Mean of -log p(true class), p at least 1e-15. Not normalised again after that."""
    if predictions.proba is None:
        return float("nan")
    true = predictions.proba[np.arange(len(predictions.y)), predictions.y]
    return float(-np.mean(np.log(np.maximum(true, SMALLEST))))


def brier(predictions: Predictions) -> float:
    """Mean over rows of sum_k (p_k - [k is the true class])^2: Brier's own form, 0 to 2.

    For two classes it is twice the form that counts the positive class only.
    """
    if predictions.proba is None:
        return float("nan")
    error = predictions.proba.copy()
    error[np.arange(len(predictions.y)), predictions.y] -= 1
    return float(np.mean(np.sum(error**2, axis=1)))


def expected_calibration_error(predictions: Predictions) -> float:
    """Mean gap between confidence and accuracy over 15 bins of confidence.

    sum_b n_b / N |accuracy_b - confidence_b|, where confidence is the largest probability of a
    row, a row is right if that class is the true one, and bin b holds confidences in
    ((b - 1)/15, b/15] [1]_. Few rows make it too large even for a perfect model: read it on the
    rows of all folds together.

    References
    ----------
    .. [1] Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern
       neural networks. ICML, 1321-1330.
    """
    if predictions.proba is None:
        return float("nan")
    confidence = predictions.proba.max(axis=1)
    right = predictions.proba.argmax(axis=1) == predictions.y
    bins = np.clip(np.ceil(confidence * N_BINS).astype(np.intp) - 1, 0, N_BINS - 1)
    gap = np.bincount(bins, weights=right - confidence, minlength=N_BINS)
    return float(np.sum(np.abs(gap)) / len(bins))


def _measured(predictions: Predictions) -> float:
    del predictions
    raise TypeError("Seconds are measured, not computed from predictions.")


SECONDS = ("fit_seconds", "predict_seconds")
"""Scores that are taken from a record as they are."""

METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", accuracy, percent=True, digits=2),
        Metric("log_loss", log_loss, greater_is_better=False),
        Metric("brier", brier, greater_is_better=False),
        Metric("ece", expected_calibration_error, greater_is_better=False),
        *(Metric(name, _measured, greater_is_better=False) for name in SECONDS),
    )
}
"""The scores known by name."""


def read_scoring(scoring: Any) -> tuple[Metric, ...]:
    """Metrics from a name, a `Metric`, or several of these."""
    entries: Iterable[Any] = [scoring] if isinstance(scoring, str | Metric) else scoring
    metrics = tuple(find_metric(entry, ()) for entry in entries)
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"scoring={names!r} must name at least one score, and none of them twice.")
    return metrics


def find_metric(entry: Any, more: Sequence[Metric]) -> Metric:
    """The metric of a name, among those given and those known to all."""
    if isinstance(entry, Metric):
        return entry
    known = METRICS | {metric.name: metric for metric in more}
    if entry not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"Score {entry!r} is not one of {listed}; give one of these or a Metric.")
    return known[entry]


def join(parts: Sequence[Predictions]) -> Predictions:
    """The rows of several folds together."""
    probas = [part.proba for part in parts if part.proba is not None]
    return Predictions(
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate(probas) if len(probas) == len(parts) else None,
    )
