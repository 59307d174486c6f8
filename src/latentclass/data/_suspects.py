"""Rules that find columns and labels that are probably not what they seem.

Each rule looks at the values of one column, or of all columns side by side. A rule that fires
wrongly teaches users to ignore it. So all of them would rather miss a case than raise a false
alarm. On the data sets of the papers and of scikit-learn only true identifiers are named.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._missing_words import MISSING_WORDS
from latentclass._types import BoolArray, FloatArray, IndexArray

MANY_NUMBERS = 50
"""A target with more different numbers than this looks like a quantity."""

ENOUGH_ROWS = 30
"""Fewer rows than this say nothing about what a column is: regularities come about by chance."""

IDENTIFIER_SHARE = 0.9
"""A discrete column with more distinct values than this share of its cells identifies rows."""

FIRST_LOOK, MOST_LOOKED_AT = 256, 2048
"""Rows that `lone_predictors` looks at, and most rows that it looks at if a column still seems to
predict the class. To sort all rows would cost more than many a fit."""

LEAST_MISTAKES = 250
"""A blind guess must make at least this many mistakes about the rows that are looked at. Clearly
separate classes of few rows, such as a species of iris or the 300 points of an example, are no
reason to warn. Two equal classes need 500 rows, a class of 7 % needs 2,000."""

LEAK_SHARE = 0.99
"""Share of these mistakes that it must avoid. The best honest columns of the papers' data sets
avoid 0.93 (the odour of mushrooms) and 0.90 (the petal length of iris)."""

CODES = 4, 20
"""Fewest and most distinct whole numbers of a column that may hold codes."""

CODE_SHARE = 0.5
"""Numbers look like codes if, read as numbers, they tell less than this share of what they tell
about the class when each is read as a name. Of the papers' whole numbers the smallest share is 0.58
(`xybar` of letter). Of codes drawn at random, half of those with 10 values fall below it, and
nearly all with 20; with 5 values hardly any do, since three ranges can follow any order of so
few."""

CODE_INFORMATION = 0.02
"""Least that they must tell about the class as names, in nats per row."""

CODE_RANGES = 3
"""Number of ranges that a column is cut into to see what its order tells about the class."""


def is_missing_word(label: Any) -> bool:
    """Whether a label is text that stands for a missing value."""
    return isinstance(label, str) and label.strip() in MISSING_WORDS


def is_quantity(classes: npt.NDArray[Any]) -> bool:
    """Whether distinct labels look like the values of a quantity: a target of regression."""
    return classes.dtype.kind in "iuf" and len(classes) > MANY_NUMBERS


def is_identifier(n_values: int, n_cells: int) -> bool:
    """Whether a discrete column has another value in nearly every row."""
    return n_cells >= ENOUGH_ROWS and n_values > IDENTIFIER_SHARE * n_cells


def counts_rows(numbers: FloatArray) -> bool:
    """Whether a column holds whole numbers that rise from each row to the next.

    Examples
    --------
    >>> counts_rows(np.arange(100.0)), counts_rows(np.arange(100.0) // 2)
    (True, False)
    """
    if len(numbers) < ENOUGH_ROWS or not np.all(np.diff(numbers[:ENOUGH_ROWS]) > 0):
        return False
    return bool(np.all(np.diff(numbers) > 0) and np.all(numbers == np.floor(numbers)))


def repeats_labels(values: npt.NDArray[Any], y: IndexArray, n_classes: int) -> bool:
    """Whether each class has one value of a column, and each value one class.

    `values` are numbers or codes; missing cells (NaN, or below 0 if they are codes) and rows
    without a label (-1) do not count.

    Examples
    --------
    >>> y = np.arange(60) % 3
    >>> repeats_labels(np.array([7.0, 3.0, 5.0])[y], y, 3), repeats_labels(y // 2, y, 3)
    (True, False)
    """
    seen = (y >= 0) & (values >= 0 if values.dtype.kind in "iu" else ~np.isnan(values))
    if np.count_nonzero(seen) < ENOUGH_ROWS or n_classes < 2:
        return False
    mine, labels = values[seen], y[seen]
    first = np.full(n_classes, -1)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # the last that is written stays
    known = np.flatnonzero(first >= 0)
    typical = mine[first[known]]
    if len(known) < 2 or len(np.unique(typical)) < len(known):
        return False
    place = np.zeros(n_classes, dtype=np.intp)
    place[known] = np.arange(len(known))
    return bool(np.all(mine == typical[place[labels]]))


def some_labelled(y: IndexArray, n_rows: int = MOST_LOOKED_AT) -> IndexArray:
    """At most `n_rows` rows with a label, in random order that is always the same."""
    labelled = np.flatnonzero(y >= 0)
    n_rows = min(n_rows, len(labelled))
    return np.asarray(labelled[np.random.default_rng(0).choice(len(labelled), n_rows, False)])


def lone_predictors(columns: FloatArray, y: IndexArray) -> BoolArray:
    """Which columns predict the class alone, on held-out rows.

    Some rows are sorted by the column, those with equal values in random order. Each row is
    predicted to have the class of the row before it. So no row has a part in its own prediction.
    The mistakes are compared with those of a blind guess: the class of a random row.

    Parameters
    ----------
    columns : array of shape (n_rows, n_columns)
        Numbers or codes; NaN where missing.
    y : array of shape (n_rows,)
        Class codes; -1 for a row without a label.
    """
    found = np.zeros(columns.shape[1], dtype=bool)
    rows = some_labelled(y)
    if len(rows) < LEAST_MISTAKES:
        return found
    first = rows[:FIRST_LOOK]
    blind, left = _mistakes(columns[first], y[first])
    likely = np.flatnonzero(left <= 5 * (1.0 - LEAK_SHARE) * blind)
    blind, left = _mistakes(columns[rows][:, likely], y[rows])
    found[likely] = (blind >= LEAST_MISTAKES) & (left <= (1.0 - LEAK_SHARE) * blind)
    return found


def _mistakes(columns: FloatArray, y: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Mistakes of a blind guess about the rows in which each column is known, and its own."""
    if not columns.size:
        return np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    order = np.argsort(columns, axis=0, kind="stable")  # NaN comes last
    n_seen = np.count_nonzero(~np.isnan(columns), axis=0)
    labels = y[order]
    counted = np.arange(1, len(y))[:, None] < n_seen
    wrong = np.count_nonzero((labels[1:] != labels[:-1]) & counted, axis=0)
    blind, n_present = _blind_mistakes(labels, n_seen)
    # between two neighbouring classes there is always one mistake
    return blind, np.maximum(wrong - (n_present - 1), 0).astype(np.float64)


def _blind_mistakes(labels: IndexArray, n_seen: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Mistakes of a random guess among the first rows of each column, and their classes."""
    rows, n_columns = labels.shape
    n_classes = int(labels.max()) + 1
    shown = np.arange(rows)[:, None] < n_seen
    place = labels + n_classes * np.arange(n_columns)
    counts = np.bincount(place[shown], minlength=n_classes * n_columns)
    counts = counts.reshape(n_columns, n_classes)
    share = counts / np.maximum(n_seen, 1)[:, None]
    return n_seen * (1.0 - (share**2).sum(axis=1)), np.count_nonzero(counts, axis=1)


def looks_nominal(numbers: FloatArray, y: IndexArray, n_classes: int) -> bool:
    """Whether a few whole numbers tell the class as names do, not by their order.

    Classifiers of the column alone are compared by what they tell about the class (the
    log-likelihood that they gain on the share of each class, less one for each parameter): a
    table with the chances of the classes for each number, and the better of two that use the
    order, a Gaussian in each class and the best three ranges.
    """
    seen = some_labelled(y, 4 * MOST_LOOKED_AT)
    seen = seen[~np.isnan(numbers[seen])]
    if len(seen) < ENOUGH_ROWS * n_classes or n_classes < 2:
        return False
    if len(np.unique(numbers[seen[:FIRST_LOOK]])) > CODES[1]:
        return False
    levels, codes = np.unique(numbers[seen], return_inverse=True)
    if not CODES[0] <= len(levels) <= CODES[1] or np.any(levels != np.floor(levels)):
        return False
    counts = np.zeros((len(levels), n_classes))
    np.add.at(counts, (codes.reshape(-1), y[seen]), 1.0)
    counts = counts[:, counts.sum(axis=0) > 0]
    free = counts.shape[1] - 1
    as_names = _gain(counts, counts) - free * (len(levels) - 1)
    if as_names <= CODE_INFORMATION * len(seen):
        return False
    in_ranges = _best_ranges(counts) - free * (CODE_RANGES - 1) - (CODE_RANGES - 1)
    as_gaussians = _gain(counts, _gaussian_joint(levels, counts)) - 2 * free
    return bool(max(in_ranges, as_gaussians) < CODE_SHARE * as_names)


def _best_ranges(counts: FloatArray) -> float:
    """What the best cut of the levels into `CODE_RANGES` ranges tells about the class."""
    n_levels = len(counts)
    below = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
    share = counts.sum(axis=0) / counts.sum()
    inside = below[None, :, :] - below[:, None, :]  # (from, to, classes)
    total = inside.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(inside > 0, inside * (np.log(inside / total) - np.log(share)), 0.0)
    gain = np.where(total[:, :, 0] > 0, gain.sum(axis=2), -np.inf)
    best = gain[0]
    for _ in range(CODE_RANGES - 1):
        best = np.maximum(best, (best[:, None] + gain).max(axis=0))
    return float(best[n_levels])


def _gain(counts: FloatArray, joint: FloatArray) -> float:
    """Log-likelihood of the classes given the level, above that of their shares.

    `joint` (levels, classes) is proportional to P(class | level).
    """
    total = joint.sum(axis=1, keepdims=True)
    chance = np.where(total > 0, joint / np.where(total > 0, total, 1.0), 0.0)
    share = counts.sum(axis=0) / counts.sum()
    some = counts > 0
    with np.errstate(divide="ignore"):
        return float((counts[some] * (np.log(chance) - np.log(share))[some]).sum())


def _gaussian_joint(levels: FloatArray, counts: FloatArray) -> FloatArray:
    """Density of each class at each level, times the share of the class."""
    weight = counts.sum(axis=0)
    mean = levels @ counts / weight
    spread = ((levels[:, None] - mean) ** 2 * counts).sum(axis=0) / weight
    overall = np.average(
        (levels - np.average(levels, weights=counts.sum(axis=1))) ** 2, weights=counts.sum(axis=1)
    )
    variance = np.maximum(spread, 0.01 * overall)
    log_joint = np.log(weight) - 0.5 * ((levels[:, None] - mean) ** 2 / variance + np.log(variance))
    return np.asarray(np.exp(log_joint - log_joint.max(axis=1, keepdims=True)))
