"""Folds: the same for all classifiers, seeded, with unlabelled rows only in training."""

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)

from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import LabelledKFold
from latentclass.evaluation._folds import make_folds
from latentclass.evaluation._problem import read_problems


@pytest.fixture
def problem(blobs):
    return read_problems(blobs[0])[0]


@pytest.fixture
def partly(blobs):
    """A third of the rows is unlabelled."""
    name, X, y = blobs[0]
    y = y.astype(object)
    y[::3] = None
    y[3] = np.nan
    y[0] = "c0"
    return read_problems((name, X, y))[0]


def test_folds_are_stratified_seeded_and_cover_all_rows_once(problem):
    folds = make_folds(problem, 5, random_state=0)
    assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(60))
    for fold in folds:
        assert_array_equal(np.sort(np.r_[fold.train, fold.test]), np.arange(60))
        assert_array_equal(np.bincount(problem.codes[fold.test]), [4, 4, 4])
    again = make_folds(problem, np.int64(5), random_state=0)
    assert [fold.checksum for fold in again] == [fold.checksum for fold in folds]
    other = make_folds(problem, 5, random_state=1)
    assert not {fold.checksum for fold in other} & {fold.checksum for fold in folds}


def test_unlabelled_rows_train_and_never_test(partly):
    unlabelled = np.flatnonzero(partly.codes < 0)
    assert len(unlabelled) == 19
    for cv in (4, KFold(3), [(range(30), range(30, 60)), (range(30, 60), range(30))]):
        for fold in make_folds(partly, cv, random_state=0):
            assert set(unlabelled) <= set(fold.train)
            assert not set(unlabelled) & set(fold.test)


def test_splitters_of_scikit_learn_are_taken(problem):
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=7)
    assert len(make_folds(problem, repeated, 0)) == 6
    ours = make_folds(problem, StratifiedKFold(3, shuffle=True, random_state=0), 99)
    assert [f.checksum for f in ours] == [f.checksum for f in make_folds(problem, 3, 0)]
    assert len(make_folds(problem, KFold(3), 0)) == 3  # no shuffle, so no seed needed
    assert [len(f.test) for f in make_folds(problem, {"three": 3, "other": 4}, 0)] == [20] * 3


def test_the_data_sets_own_split():
    rows = np.array(["train"] * 300 + ["test"] * 132, dtype=object)
    monks = replace(load_dataset("monks-1/test"), split=rows)
    (fold,) = make_folds(read_problems(monks)[0], "split", random_state=0)
    assert_array_equal(fold.train, np.arange(300))
    assert_array_equal(fold.test, np.arange(300, 432))


def test_a_class_smaller_than_the_number_of_folds_is_no_warning():
    y = ["a"] * 20 + ["b"] * 3
    problem = read_problems(("rare", np.arange(23.0)[:, None], y))[0]
    assert len(make_folds(problem, 5, 0)) == 5


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv=1 must be a number"),
        (True, "must be a whole number of at least 2"),
        ("leave one out", "cv='leave one out' must be a number of folds"),
        (2.5, "cv=2.5 must be a number of folds"),
        ("split", "needs a data set with a fixed split, but 'three' has none"),
        ({"two": 5}, "cv has no entry for data set 'three', only for ['two']"),
        (StratifiedKFold(3, shuffle=True), "draws new folds at each call"),
        (ShuffleSplit(3), "Set its random_state to a whole number"),
        (ShuffleSplit(3, random_state=np.random.RandomState(0)), "draws new folds"),
        ([], "cv=[] yields no fold for data set 'three'"),
        ([(range(10), [])], "Fold 0 of data set 'three' has no labelled row to test on"),
        ([(range(10), range(9, 12))], "Fold 0 of data set 'three' has rows that are both in"),
        ([([], range(9, 12))], "Fold 0 of data set 'three' has no labelled row to train on"),
    ],
)
def test_impossible_folds_are_refused(problem, cv, message):
    with pytest.raises(ValueError, match=re.escape(message).replace("number", ".*number", 1)):
        make_folds(problem, cv, random_state=0)


# ------------------------------------------------------------------ for scikit-learn's own tools


def make_partly_labelled(n_rows=90):
    """Two classes that one column separates; two thirds of the labels are None."""
    rng = np.random.default_rng(0)
    y = np.array(["left", "right"], dtype=object)[np.arange(n_rows) % 2]
    X = np.c_[rng.normal(0, 1, n_rows) + 3.0 * (y == "right"), rng.normal(size=n_rows)]
    y[rng.permutation(n_rows)[: 2 * n_rows // 3]] = None
    return X, y


@pytest.mark.parametrize("settings", [{}, {"shuffle": True, "random_state": 3}])
def test_labelled_folds_are_stratified_and_keep_the_others_in_training(settings):
    X, y = make_partly_labelled()
    labelled = np.flatnonzero([label is not None for label in y])
    expected = StratifiedKFold(4, **settings).split(X[labelled], y[labelled].astype(str))
    splitter = LabelledKFold(4, **settings)
    assert splitter.get_n_splits(X, y) == 4
    for (train, test), (_, places) in zip(splitter.split(X, y), expected, strict=True):
        assert_array_equal(test, labelled[places])
        assert_array_equal(train, np.setdiff1d(np.arange(90), test))


@pytest.mark.parametrize("hole", [None, np.nan])
def test_labelled_folds_know_all_marks_of_unlabelled_rows(hole):
    y = ["a", "b", hole, "a", hole, "b"]
    found = [test.tolist() for _, test in LabelledKFold(2).split(np.zeros((6, 1)), y)]
    assert found == [[0, 1], [3, 5]]


def test_minus_one_is_unlabelled_beside_two_classes():
    y = np.array([0, 1, -1, 0, -1, 1])
    with pytest.warns(UserWarning, match="y is -1 in 2 rows"):
        found = [test.tolist() for _, test in LabelledKFold(2).split(np.zeros((6, 1)), y)]
    assert found == [[0, 1], [3, 5]]
    signs = np.array([-1, 1, -1, 1])  # here -1 is a class
    assert [len(test) for _, test in LabelledKFold(2).split(np.zeros((4, 1)), signs)] == [2, 2]


def test_scikit_learns_tools_take_labelled_folds():
    X, y = make_partly_labelled()
    folds = LabelledKFold(3, shuffle=True, random_state=0)
    scores = cross_validate(NaiveBayes(), X, y, cv=folds, error_score="raise")["test_score"]
    assert np.mean(scores) > 0.8
    model = NaiveBayes(unlabelled_weight=1)
    search = GridSearchCV(model, {"prior": [0.5, 5.0]}, cv=folds, error_score="raise")
    search.fit(X, y)
    assert search.n_splits_ == 3
    assert search.best_estimator_.n_unlabelled_ == 60


def test_compare_takes_labelled_folds_as_its_own(partly):
    ours = make_folds(partly, LabelledKFold(4, shuffle=True, random_state=0), 99)
    assert [f.checksum for f in ours] == [f.checksum for f in make_folds(partly, 4, 0)]


def test_labelled_folds_are_told_what_is_wrong():
    with pytest.raises(ValueError, match=r"LabelledKFold needs y\. Pass one label per row"):
        next(LabelledKFold(2).split([[0.0]]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(LabelledKFold(2).split([[0.0]], ["a", "b"]))
    with pytest.raises(ValueError, match="n_splits=1"):
        LabelledKFold(1)
    assert repr(LabelledKFold(3)) == "LabelledKFold(n_splits=3, random_state=None, shuffle=False)"
