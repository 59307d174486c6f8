"""Folds that an estimator makes of its own training rows, or is given as `cv`.

Folds that the library makes itself depend only on what the rows hold: see `engine._content_folds`.
So the order of the rows does not matter, weight 2 is the same as having the row twice, and a heavy
row may be tested in part by several folds. Equal rows are joined and sorted by content first. So
all that is learned in the folds is the same to the last bit: in a long run of EM rounding errors
can grow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import MOST_STARTS, check_number
from latentclass._warn import warn_user
from latentclass.engine._content_folds import DistinctRows, assign_folds
from latentclass.engine._content_holdout import SLIVER, gather_rows
from latentclass.estimator._reading import Training

LEAST_OF_CLASS = 50
"""A class of which a sample would have fewer rows keeps all."""


@dataclass(frozen=True, eq=False)
class InnerFolds:
    """Folds of the training rows: fold `fold[e]` tests the weight `weight[e]` of row `row[e]`.

    Attributes
    ----------
    row, fold : arrays of int of shape (n_tests,)
    weight : array of shape (n_tests,)
    n_folds : int
        Every fold tests something.
    left_out : array of shape (n_folds, n_rows), or None
        Rows that a fold neither learns from nor tests.
    """

    row: IndexArray
    fold: IndexArray
    weight: FloatArray
    n_folds: int
    left_out: BoolArray | None = None

    def training_weight(self, weight: FloatArray, number: int) -> FloatArray:
        """Weight of each row in the training part of a fold; `weight` is that of the whole row."""
        mine = self.fold == number
        tested = np.zeros(len(weight))
        tested[self.row[mine]] = self.weight[mine]
        rest = weight - tested
        rest[rest <= SLIVER * weight] = 0.0  # rounding errors
        if self.left_out is not None:
            rest[self.left_out[number]] = 0.0
        return rest

    def training_part(self, training: Training, number: int) -> Training:
        """The rows that a fold learns from, with what is left of their weight."""
        rest = self.training_weight(training.weight, number)
        return replace(training, weight=rest).take(rest > 0)

    def first(self, n_folds: int) -> InnerFolds:
        """Only the first folds; the others test nothing."""
        if n_folds >= self.n_folds:
            return self
        kept = self.fold < n_folds
        return InnerFolds(self.row[kept], self.fold[kept], self.weight[kept], n_folds)


def check_inner_cv(cv: Any) -> None:
    """Refuse what is neither a number of folds nor a splitter nor a list of folds."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        check_number("cv", cv, low=2, high=MOST_STARTS, whole=True)


def make_folds(training: Training, cv: Any, seed: int) -> tuple[Training, InnerFolds]:
    """Folds by their number, or those of a splitter or a list of row numbers.

    Returns the rows, too, of which equal ones are joined: those of one class, that the same fold
    tests if folds are given.
    """
    if not is_number(cv):
        return _join_given(training, given_folds(training, cv), seed)
    n_labelled = np.count_nonzero(training.labelled)
    training, folds = deal_folds(training, int(cv), seed)
    if folds.n_folds < 2:
        raise ValueError(
            f"cv={cv} needs at least two labelled rows, but y has {n_labelled}. Use the estimator "
            "without search."
        )
    in_class = np.zeros((training.n_classes, folds.n_folds), dtype=bool)
    in_class[training.y[folds.row], folds.fold] = True
    least = in_class.sum(axis=1)[in_class.any(axis=1)].min()
    if least < folds.n_folds:
        warn_user(
            f"A class has fewer labelled rows ({least}) than cv={cv} folds, so some folds are "
            "tested without it."
        )
    return training, folds


def is_number(cv: Any) -> bool:
    """Whether `cv` is a number of folds, so that the folds are ours to deal."""
    return isinstance(cv, int | np.integer)


def sample_rows(training: Training, most: int, seed: int) -> tuple[Training, Training]:
    """All distinct rows, and a sample of at most about `most` if there are more of them.

    The sample depends on what the rows hold, and weight 2 is the row twice. It has the same share
    of every class and of the rows without a label, but no fewer than `LEAST_OF_CLASS` rows of a
    class that has so many.
    """
    rows = _gather(training, seed)
    joined, _ = _join(training, rows.number)
    if len(joined.y) <= most:
        return joined, joined
    n_units = float(joined.weight.sum()) / min(1.0, float(joined.weight.max()))
    n_parts = math.ceil(n_units / most)
    drawn = assign_folds(rows, n_parts, salt=2, in_turn=True).held(0, len(joined.y))
    of_class = np.bincount(joined.y + 1)
    few = of_class[joined.y + 1] < LEAST_OF_CLASS * n_parts
    drawn[few] = joined.weight[few]
    return joined, replace(joined, weight=drawn).take(drawn > 0)


def deal_folds(
    training: Training, n_folds: int, seed: int, codes: Any = None
) -> tuple[Training, InnerFolds]:
    """Join equal rows, and deal the labelled ones out to folds, evenly by weight.

    `codes` may number the categories in another way than the table, for the folds only.

    Every class, and all together, have the same weight in all folds, up to one unit (see
    `assign_folds`). Rows without a label are in every training part. Folds that would test nothing
    are left out, so there may be fewer of them.

    Returns
    -------
    joined : Training
        The distinct rows with their total weights, in an order by content.
    folds : InnerFolds
        Folds of these.
    """
    rows = _gather(training, seed, codes)
    joined, _ = _join(training, rows.number)
    parts = assign_folds(rows, n_folds, salt=1, in_turn=True)
    dealt = joined.labelled[parts.row]
    _, fold = np.unique(parts.part[dealt], return_inverse=True)
    row, tested = parts.row[dealt], parts.weight[dealt]
    return joined, InnerFolds(row, fold, tested, int(fold.max()) + 1)


def _join_given(training: Training, folds: InnerFolds, seed: int) -> tuple[Training, InnerFolds]:
    """Join equal rows that all folds use alike."""
    use = np.full(len(training.y), -1)
    use[folds.row] = folds.fold
    left_out = folds.left_out
    if left_out is not None:
        _, use = np.unique(np.column_stack([use, left_out.T]), axis=0, return_inverse=True)
    _, use = np.unique(use.reshape(-1), return_inverse=True)
    number = _gather(training, seed).number
    joined, place = _join(training, number * (int(use.max()) + 1) + use)
    row, first = np.unique(place[folds.row], return_index=True)
    if left_out is not None:
        left_out = left_out[:, np.unique(place, return_index=True)[1]]
    return joined, InnerFolds(row, folds.fold[first], joined.weight[row], folds.n_folds, left_out)


def _gather(training: Training, seed: int, codes: Any = None) -> DistinctRows:
    table, n_levels = training.table, training.schema.n_levels
    codes = table.codes if codes is None else codes
    return gather_rows(table.numeric, codes, training.y, training.weight, n_levels, seed)


def _join(training: Training, number: IndexArray) -> tuple[Training, IndexArray]:
    """Join rows of equal number, in the order of the numbers; also the new place of each row."""
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    weight = np.bincount(place, training.weight).astype(np.float64)
    return replace(training.take(first), weight=weight), place


def given_folds(training: Training, cv: Any) -> InnerFolds:
    """Folds by a splitter or a list of row numbers; only labelled rows are tested.

    A list has row numbers of the table as it was given, rows of weight 0 included.
    """
    from sklearn.model_selection import check_cv  # slow to load, and prediction does not need it

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
    # a splitter that knows rows without a label gets NaN there: it might warn of -1
    labels = np.where(labelled, y, np.nan) if getattr(cv, "reads_unlabelled", False) else y
    parts = check_cv(cv, y, classifier=True).split(np.zeros((len(y), 1)), labels)
    for number, (train, test) in enumerate(parts):
        unused = np.ones(len(y), dtype=bool)
        tested = find(test)
        unused[find(train)] = unused[tested] = False
        rows = tested[labelled[tested]]
        if not rows.size:
            continue
        if np.any(fold[rows] >= 0):
            raise ValueError(
                "cv tests a row in two folds. Pass folds that test each row at most once."
            )
        fold[rows] = number
        if not np.any(labelled & ~unused & (fold != number)):
            raise ValueError(
                f"Fold {number} of cv has no labelled row to train on. Pass another cv."
            )
        left_out.append(unused)
    tested = np.unique(fold[fold >= 0])
    if len(tested) < 2:
        raise ValueError(
            f"cv={cv!r} tests labelled rows in {len(tested)} fold(s). Pass at least two folds."
        )
    unused = np.stack(left_out)
    row = np.flatnonzero(fold >= 0)
    return InnerFolds(
        row,
        np.searchsorted(tested, fold[row]),
        training.weight[row],
        len(tested),
        unused if unused.any() else None,
    )
