"""Scores of a classifier on test rows, from predicted labels and probabilities.

All functions take class codes, which are positions in the list of all classes of the data set. So
a class that is missing from the training rows is no special case: its probability is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray

SMALLEST = 1e-15
"""Smallest probability in the log-loss, so that one certain mistake does not make it infinite."""

N_BINS = 15
"""Number of bins of the expected calibration error. They have equal width."""


class Predictions(NamedTuple):
    """Predictions for some test rows.

    Attributes
    ----------
    y : array of shape (n_rows,)
        Codes of the true classes.
    predicted : array of shape (n_rows,)
        Codes of the predicted classes.
    proba : array of shape (n_rows, n_classes) or None
        Class probabilities; None if the classifier has no `predict_proba`.
    """

    y: IndexArray
    predicted: IndexArray
    proba: FloatArray | None


class Metric(NamedTuple):
    """A score and how to show it.

    Attributes
    ----------
    name : str
        Name of the score.
    function : callable of `Predictions` to float
        Computes the score; NaN if it is not defined.
    greater_is_better : bool, default=True
        Whether a higher score is better.
    percent : bool, default=False
        Whether to show the score times 100.
    digits : int, default=3
        Number of decimals to show.
    """

    name: str
    function: Callable[[Predictions], float]
    greater_is_better: bool = True
    percent: bool = False
    digits: int = 3


def accuracy(predictions: Predictions) -> float:
    """Share of rows whose predicted class is the true class."""
    return float(np.mean(predictions.predicted == predictions.y))


def log_loss(predictions: Predictions) -> float:
    """Mean of -log p(true class). Probabilities below 1e-15 count as 1e-15, without rescaling."""
    if predictions.proba is None:
        return float("nan")
    true = predictions.proba[np.arange(len(predictions.y)), predictions.y]
    return float(-np.mean(np.log(np.maximum(true, SMALLEST))))


def brier(predictions: Predictions) -> float:
    """Mean over rows of sum_k (p_k - [k is the true class])^2, from 0 to 2.

    This is Brier's original form. For two classes it is twice the common form, which counts only
    the positive class.
    """
    if predictions.proba is None:
        return float("nan")
    error = predictions.proba.copy()
    error[np.arange(len(predictions.y)), predictions.y] -= 1
    return float(np.mean(np.sum(error**2, axis=1)))


def expected_calibration_error(predictions: Predictions) -> float:
    """Mean gap between confidence and accuracy over 15 bins of confidence.

    sum_b n_b / N |accuracy_b - confidence_b| [1]_. The confidence of a row is its largest
    probability, and the row is correct if the class with that probability is the true class. Bin b
    contains confidences in ((b - 1)/15, b/15]. With few rows it is too large even for a perfect
    model, so compute it on the rows of all folds together.

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
    raise TypeError("Seconds cannot be computed from predictions, because they are measured.")


SECONDS = ("fit_seconds", "predict_seconds")
"""Scores that are read from a record."""

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
"""Scores that can be given by name."""


def read_scoring(scoring: Any) -> tuple[Metric, ...]:
    """Return metrics from a name, a `Metric`, or a sequence of these."""
    entries: Iterable[Any] = [scoring] if isinstance(scoring, str | Metric) else scoring
    metrics = tuple(find_metric(entry, ()) for entry in entries)
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"scoring={names!r} must name at least one score and none of them twice.")
    return metrics


def find_metric(entry: Any, more: Sequence[Metric]) -> Metric:
    """Return the metric with a name, from `more` or from `METRICS`."""
    if isinstance(entry, Metric):
        return entry
    known = METRICS | {metric.name: metric for metric in more}
    if entry not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"Score {entry!r} is not one of {listed}. Pass one of these or a Metric.")
    return known[entry]


def join(parts: Sequence[Predictions]) -> Predictions:
    """Join the predictions of several folds."""
    probas = [part.proba for part in parts if part.proba is not None]
    return Predictions(
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.predicted for part in parts]),
        np.concatenate(probas) if len(probas) == len(parts) else None,
    )
