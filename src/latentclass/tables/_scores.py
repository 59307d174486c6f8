"""How well a single column predicts the class on rows that were held out.

The classifier of one column is a table of class frequencies: one line per level, or per interval of
numbers that the criterion of Fayyad and Irani finds in the training rows. Missing cells are a level
of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._read import Labels, Numbers, RawColumn
from latentclass.engine._mdl import bin_codes, cut_columns

N_FOLDS = 5
SCORED_ROWS = 10_000
"""Rows that the scores are made of: a seeded sample if there are more. An accuracy then has a
standard error of at most half a percentage point."""

SMOOTHING = 1.0
"""Rows of the class frequencies of all training rows that are added to each level."""

CLEAR = 3.0
"""Standard errors by which a gain must exceed zero. With 100 columns a gain by chance is seldom
that large."""

LEAST_VARIANCE = 1e-6
"""Smallest variance of a Gaussian, as a share of that of the column."""


class Score(NamedTuple):
    """What a column predicts on held-out rows.

    Attributes
    ----------
    accuracy : float
        Share of rows whose class is predicted.
    log_probability : array of shape (n_rows,)
        Of the true class of each row.
    """

    accuracy: float
    log_probability: FloatArray


class Gain(NamedTuple):
    """Mean log-probability that one score has over another, and its standard error."""

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than chance."""
        return self.mean > CLEAR * self.error


def compare(score: Score, other: Score) -> Gain:
    """The gain of a score over another, row by row."""
    gains = score.log_probability - other.log_probability
    return Gain(float(gains.mean()), float(gains.std() / np.sqrt(len(gains))))


def sample_rows(y: IndexArray, seed: int = 0) -> IndexArray:
    """Labelled rows for the scores, in their order; a random sample if there are too many."""
    rows = np.flatnonzero(y >= 0)
    if len(rows) <= SCORED_ROWS:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, SCORED_ROWS, replace=False))


def draw_folds(y: IndexArray, seed: int = 0) -> IndexArray:
    """The fold of each row; classes are spread evenly over the folds."""
    order = np.random.default_rng(seed).permutation(len(y))
    by_class = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), dtype=np.intp)
    folds[by_class] = np.arange(len(y)) % N_FOLDS
    return folds


def score_nothing(y: IndexArray, folds: IndexArray, n_classes: int) -> Score:
    """What the class frequencies of the training rows predict."""
    return score_codes(np.zeros(len(y), dtype=np.intp), 1, y, folds, n_classes)


def score_codes(
    codes: IndexArray, n_levels: int, y: IndexArray, folds: IndexArray, n_classes: int
) -> Score:
    """What the levels of a discrete column predict; code -1 is missing."""
    return _score([_with_missing(codes, n_levels)] * N_FOLDS, y, folds, n_classes)


def score_columns(
    columns: Sequence[RawColumn], y: IndexArray, folds: IndexArray, n_classes: int
) -> list[Score]:
    """The score of each column on its own."""
    numbers = [column.values for column in columns if isinstance(column, Numbers)]
    binned: list[list[IndexArray]] = [[] for _ in numbers]
    for fold in range(N_FOLDS):
        train = folds != fold
        parts = (values[train] for values in numbers)
        cuts = cut_columns(parts, y[train], np.ones(int(train.sum())), n_classes)
        for bins, values, cut in zip(binned, numbers, cuts, strict=True):
            bins.append(_with_missing(bin_codes(values, cut.points), len(cut.points) + 1))
    coded = iter(binned)
    return [
        score_codes(column.codes.astype(np.intp), len(column.labels), y, folds, n_classes)
        if isinstance(column, Labels)
        else _score(next(coded), y, folds, n_classes)
        for column in columns
    ]


def score_gaussian(codes: IndexArray, y: IndexArray, folds: IndexArray, n_classes: int) -> Score:
    """What whole numbers predict if they are read as numbers: a Gaussian in each class.

    `codes` are the places of the values in their order, with equal steps; none is missing.
    """
    values = codes.astype(np.float64)
    n_levels = int(codes.max()) + 1
    steps = np.arange(n_levels, dtype=np.float64)
    least = max(LEAST_VARIANCE * values.var(), np.finfo(np.float64).tiny)
    probabilities = np.empty((len(y), n_classes))
    for fold in range(N_FOLDS):
        counts = _count(codes[folds != fold], n_levels, y[folds != fold], n_classes)
        rows = counts.sum(axis=0) + SMOOTHING / n_classes
        mean = (steps @ counts + SMOOTHING / n_classes * values.mean()) / rows
        square = ((steps[:, None] - mean) ** 2 * counts).sum(axis=0)
        variance = np.maximum((square + SMOOTHING / n_classes * values.var()) / rows, least)
        log_joint = np.log(rows) - 0.5 * np.log(variance)
        log_joint = log_joint - 0.5 * (steps[:, None] - mean) ** 2 / variance
        joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        table = joint / joint.sum(axis=1, keepdims=True)
        probabilities[folds == fold] = table[codes[folds == fold]]
    return _judge(probabilities, y)


def _score(
    codes_of_fold: Sequence[IndexArray], y: IndexArray, folds: IndexArray, n_classes: int
) -> Score:
    probabilities = np.empty((len(y), n_classes))
    for fold, codes in enumerate(codes_of_fold):
        held_out = folds == fold
        n_levels = int(codes.max()) + 1
        counts = _count(codes[~held_out], n_levels, y[~held_out], n_classes)
        prior = (counts.sum(axis=0) + 1 / n_classes) / (counts.sum() + 1)
        table = counts + SMOOTHING * prior
        table /= table.sum(axis=1, keepdims=True)
        probabilities[held_out] = table[codes[held_out]]
    return _judge(probabilities, y)


def _judge(probabilities: FloatArray, y: IndexArray) -> Score:
    tiny = np.finfo(np.float64).tiny
    own = np.maximum(probabilities[np.arange(len(y)), y], tiny)
    return Score(float(np.mean(probabilities.argmax(axis=1) == y)), np.log(own))


def _count(codes: IndexArray, n_levels: int, y: IndexArray, n_classes: int) -> FloatArray:
    flat = np.bincount(codes * n_classes + y, minlength=n_levels * n_classes)
    return flat.reshape(n_levels, n_classes).astype(np.float64)


def _with_missing(codes: IndexArray | CodeArray, n_levels: int) -> IndexArray:
    return np.where(codes < 0, n_levels, codes).astype(np.intp)
