"""Folds that an estimator makes of its own training rows, or is given as `cv`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from latentclass._types import BoolArray, IndexArray
from latentclass._validation import check_number
from latentclass.estimator._reading import Training


def check_inner_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds nor a splitter nor a list of folds."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        check_number("cv", cv, low=2, whole=True)


def given_folds(training: Training, cv: Any) -> tuple[IndexArray, int, BoolArray | None]:
    """Fold of each row by a splitter or a list of row numbers; only labelled rows are tested.

    A list has row numbers of the table as it was given, rows of weight 0 included. Returns the
    fold of each row, the number of folds, and which rows each fold leaves out of both parts (None
    if there are none).
    """
    y, numbers, n_given = training.y, training.row_numbers, training.n_given
    if not hasattr(cv, "split"):
        cv = list(cv)
        if not all(isinstance(part, tuple | list) and len(part) == 2 for part in cv):
            raise ValueError("cv must list (training, test) pairs of row numbers.")
    place = np.full(n_given, -1)
    place[numbers] = np.arange(len(numbers))

    def find(part: Any) -> IndexArray:
        """Rows of a part, from their numbers or a mask."""
        rows = np.asarray(part)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.intp)
        if not hasattr(cv, "split"):
            wrong = rows[(rows < 0) | (rows >= n_given)]
            if wrong.size:
                raise ValueError(
                    f"cv has row {wrong[0]}, but the table has rows 0 to {n_given - 1}. Pass row "
                    "numbers of the table that is fitted."
                )
            rows = place[rows]  # a row of weight 0 is not there
        return np.asarray(rows[rows >= 0])

    fold = np.full(len(y), -1, dtype=np.intp)
    labelled = training.labelled
    left_out = []
    with warnings.catch_warnings():
        # the library's own splitter: the user did not write -1, the class codes do
        warnings.filterwarnings("ignore", "y is -1", UserWarning)
        parts = list(check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), y))
    for number, (train, test) in enumerate(parts):
        unused = np.ones(len(y), dtype=bool)
        tested = find(test)
        unused[find(train)] = unused[tested] = False
        rows = tested[labelled[tested]]
        if not rows.size:
            continue
        if np.any(fold[rows] >= 0):
            raise ValueError(
                "cv tests a row in two folds. Give folds in which each row is tested once at most."
            )
        fold[rows] = number
        if not np.any(labelled & ~unused & (fold != number)):
            raise ValueError(
                f"Fold {number} of cv has no labelled row to train on. Give it some, or another cv."
            )
        left_out.append(unused)
    tested = np.unique(fold[fold >= 0])
    if len(tested) < 2:
        raise ValueError(
            f"cv={cv!r} tests labelled rows in {len(tested)} fold(s). Give two folds at least."
        )
    fold[fold >= 0] = np.searchsorted(tested, fold[fold >= 0])
    unused = np.stack(left_out)
    return fold, len(tested), unused if unused.any() else None
