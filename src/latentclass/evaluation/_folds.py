"""Folds: which rows are for training and which for testing, the same for all classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import indexable

from latentclass._types import IndexArray
from latentclass._validation import MOST_STARTS, check_number
from latentclass._warn import recorded_warnings
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.evaluation._problem import Problem
from latentclass.evaluation._store import checksum


class LabelledKFold(BaseCrossValidator):
    """Stratified folds of the labelled rows. Unlabelled rows are always used for training.

    Use it with `cross_validate`, `GridSearchCV` and the like when some rows are unlabelled. The
    splitters of scikit-learn would take "unlabelled" for a class and test on it. A row counts as
    unlabelled if the classifiers of this library read it as such: None, NaN, or -1 next to at least
    two other labels. `compare` does not need this splitter.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    shuffle : bool, default=False
        Whether to shuffle the labelled rows of a class before they are split.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.

    Notes
    -----
    The labelled rows are split as `StratifiedKFold` would split them alone. The scores of
    scikit-learn do not accept an object array of numbers. So write labels as text if some are
    None, or use -1 for unlabelled rows if the labels are whole numbers.

    Examples
    --------
    >>> y = ["a", "b", None, "a", "b", None]
    >>> for train, test in LabelledKFold(2).split([[0.0]] * 6, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    reads_unlabelled = True  # tells estimators that are given it as `cv`

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None
    ) -> None:
        inner = StratifiedKFold(n_splits, shuffle=shuffle, random_state=random_state)  # checks
        self.n_splits = inner.n_splits
        self.shuffle = inner.shuffle
        self.random_state = random_state

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,  # noqa: ARG002
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield the training and test row numbers of each fold; `groups` is not used."""
        if y is None:
            raise ValueError(
                "LabelledKFold needs y. Pass one label per row; None, NaN or -1 marks a row as "
                "unlabelled."
            )
        X, y = indexable(X, y)
        _, codes = encode_labels(y)
        labelled = np.flatnonzero(codes != UNLABELLED)
        inner = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for _, places in inner.split(np.zeros((len(labelled), 1)), codes[labelled]):
            is_test = np.zeros(len(codes), dtype=bool)
            is_test[labelled[places]] = True
            yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds; the arguments are not used."""
        return int(self.n_splits)


class Fold(NamedTuple):
    """The training rows and the test rows of a fold.

    Attributes
    ----------
    number : int
        Position of the fold.
    train : array of row numbers, increasing
        All unlabelled rows are among them.
    test : array of row numbers, increasing
        Labelled rows only.
    checksum : str
        Checksum of the two lists of rows. It does not depend on how they were drawn.
    """

    number: int
    train: IndexArray
    test: IndexArray
    checksum: str


def make_folds(problem: Problem, cv: Any, random_state: int) -> list[Fold]:
    """Return the folds of a data set.

    Parameters
    ----------
    problem : Problem
        The data set.
    cv : int, "split", scikit-learn splitter, iterable of (train, test), or dict
        As in `compare`. In a dict, the entry with the name of the data set is used.
    random_state : int
        Seed of the shuffle if `cv` is a number of folds.
    """
    if isinstance(cv, Mapping):
        if problem.name not in cv:
            raise ValueError(
                f"cv has no entry for data set {problem.name!r}, only for {list(cv)}. Add one for "
                "every data set, or pass one cv for all."
            )
        cv = cv[problem.name]
    labelled = np.flatnonzero(problem.codes != UNLABELLED)
    unlabelled = np.flatnonzero(problem.codes == UNLABELLED)
    folds = []
    for number, (train, test) in enumerate(_pairs(problem, cv, labelled, random_state)):
        train = np.union1d(train, unlabelled).astype(np.intp)
        test = np.setdiff1d(test, unlabelled).astype(np.intp)
        _check_fold(problem, number, train, test)
        text = f"train {train.tolist()} test {test.tolist()}"
        folds.append(Fold(number, train, test, checksum(text)))
    if not folds:
        raise ValueError(f"cv={cv!r} yields no fold for data set {problem.name!r}.")
    return folds


def _pairs(
    problem: Problem, cv: Any, labelled: IndexArray, random_state: int
) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield training and test row numbers; a splitter sees the labelled rows only."""
    if isinstance(cv, str) and cv == "split":
        if problem.split is None:
            raise ValueError(
                f'cv="split" needs a data set with a fixed split, but {problem.name!r} has none. '
                "Pass a number of folds."
            )
        parts = np.asarray(problem.split)
        yield np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test")
        return
    if isinstance(cv, int | np.integer):
        check_number("cv", cv, low=2, high=MOST_STARTS, whole=True)
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    if hasattr(cv, "split") and not isinstance(cv, str):
        _check_seeded(cv)
        codes = problem.codes[labelled]
        # a class with fewer rows than folds is missing from some test folds, which is fine
        with recorded_warnings():
            splits = list(cv.split(np.zeros((len(codes), 1)), codes))
        for train, test in splits:
            yield labelled[train], labelled[test]
        return
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise ValueError(
            f'cv={cv!r} must be a number of folds, "split", a scikit-learn splitter, a list of '
            "(train, test) pairs, or a dict of data set name to one of these."
        )
    for train, test in cv:
        yield np.asarray(train), np.asarray(test)


def _check_seeded(cv: Any) -> None:
    """Refuse a splitter with random folds, because stored results could never be used again."""
    seed = getattr(cv, "random_state", 0)
    if getattr(cv, "shuffle", True) and not isinstance(seed, Integral):
        raise ValueError(
            f"cv={cv!r} draws new folds at each call, so no stored result could be used again. "
            "Set its random_state to a whole number."
        )


def _check_fold(problem: Problem, number: int, train: IndexArray, test: IndexArray) -> None:
    where = f"Fold {number} of data set {problem.name!r}"
    if not len(test):
        raise ValueError(f"{where} has no labelled row to test on.")
    if np.intersect1d(train, test).size:
        raise ValueError(
            f"{where} has rows that are both in training and in test. Pass lists without overlap."
        )
    if not np.any(problem.codes[train] != UNLABELLED):
        raise ValueError(f"{where} has no labelled row to train on.")
