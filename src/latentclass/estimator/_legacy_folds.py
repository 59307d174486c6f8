"""Folds that an estimator makes of its own training rows, or is given as `cv`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from latentclass._types import BoolArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._labels import UNLABELLED, label_array
from latentclass.estimator._legacy_reading import TableReader, Training


class InnerFolds(TableReader):
    """Mixin of estimators with a parameter `cv`: remembers which rows of the table were kept."""

    _numbers: IndexArray
    _n_given: int
    """Rows of the table as given; `_numbers` are those that count."""

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._read_training(X, y, sample_weight)
        # row numbers of `cv` are those of the table as given, rows of weight 0 included
        weight = 1.0 if sample_weight is None else np.asarray(sample_weight)
        self._n_given = len(label_array(y))
        self._numbers = np.flatnonzero(np.broadcast_to(weight, self._n_given) > 0)
        return training


def check_inner_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds nor a splitter nor a list of folds."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        check_number("cv", cv, low=2, whole=True)


def given_folds(
    y: IndexArray, cv: Any, numbers: IndexArray, n_given: int
) -> tuple[IndexArray, int, BoolArray | None]:
    """Fold of each row by a splitter or a list of row numbers; only labelled rows are tested.

    `numbers` are those of the rows of y in a table of `n_given` rows, whose numbers a list has.
    Also which rows each fold leaves out of both parts; None if there are none.
    """
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
                    f"cv has row {wrong[0]}, but the table has rows 0 to {n_given - 1}. Give row "
                    "numbers of the table that is fitted."
                )
            rows = place[rows]  # a row of weight 0 is not there
        return np.asarray(rows[rows >= 0])

    fold = np.full(len(y), -1, dtype=np.intp)
    labelled = y != UNLABELLED
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
