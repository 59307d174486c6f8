"""Folds of the training rows, dealt by content or given."""

import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold

from latentclass.baselines import NaiveBayes
from latentclass.estimator._inner_folds import (
    deal_folds,
    given_folds,
    make_folds,
    sample_rows,
)
from latentclass.evaluation import LabelledKFold

Y = np.array([0] * 30 + [1] * 12 + [2] * 3 + [-1] * 15)


def read(X, y=Y, weight=None):
    labels = np.where(np.asarray(y) < 0, np.nan, y)
    return NaiveBayes()._read_training(X, labels, weight)


@pytest.fixture
def table():
    """60 rows with few values, so that many of them are equal."""
    return np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)


def deal(X, y=Y, weight=None, seed=0):
    """Weight of each row that each fold tests, shape (n_rows, 5); equal rows share theirs."""
    training = read(X, y, weight)
    joined, folds = deal_folds(training, 5, seed)
    out = np.zeros((len(training.y), folds.n_folds))
    key = [(*row, label) for row, label in zip(np.round(dense(X), 12).tolist(), y, strict=True)]
    total = Counter()
    for row, w in zip(key, training.weight.tolist(), strict=True):
        total[row] += w
    for row, fold, w in zip(folds.row, folds.fold, folds.weight, strict=True):
        content = key[joined.row_numbers[row]]
        for place in (i for i, other in enumerate(key) if other == content):
            out[place, fold] += w * training.weight[place] / total[content]
    return out


def counted(training, weight):
    """Weight of each distinct row and class."""
    out = Counter()
    rows = zip(training.table.numeric.tolist(), training.y.tolist(), weight.tolist(), strict=True)
    for row, label, w in rows:
        out[*row, label] += w
    return out


def dense(X):
    return X.toarray() if sp.issparse(X) else X


class TestDealt:
    def test_every_labelled_row_is_tested_once_and_each_class_evenly(self, table):
        weight = deal(table)
        assert_allclose(weight.sum(axis=1), Y >= 0, rtol=1e-12)
        for label in (0, 1, 2):
            assert np.ptp(weight[label == Y].sum(axis=0)) <= 1.0 + 1e-9
        assert np.ptp(weight.sum(axis=0)) <= 1.0 + 1e-9

    def test_equal_rows_are_joined(self, table):
        joined, _ = deal_folds(read(table), 5, 0)
        rows = Counter((*row, label) for row, label in zip(table.tolist(), Y.tolist(), strict=True))
        assert counted(joined, joined.weight) == rows
        assert len(joined.y) == len(rows)

    def test_what_is_not_tested_is_learned_from(self, table):
        weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
        training, folds = deal_folds(read(table, weight=weight), 5, 0)
        for number in range(5):
            part = folds.training_part(training, number)
            mine = folds.fold == number
            expected = training.weight.copy()
            np.subtract.at(expected, folds.row[mine], folds.weight[mine])
            kept = expected > 1e-9
            assert part.row_numbers.tolist() == training.row_numbers[kept].tolist()
            assert_allclose(part.weight, expected[kept], rtol=1e-12)
            assert part.y.tolist() == training.y[kept].tolist()

    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
    def test_neither_the_order_of_rows_nor_copies_matter_to_the_last_bit(self, table, layout):
        weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
        rows = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weight.astype(int)))
        one, folds = deal_folds(read(layout(table), weight=weight), 5, 0)
        other, again = deal_folds(read(layout(table[rows]), Y[rows]), 5, 0)
        for name in ("row", "fold", "weight"):
            assert getattr(again, name).tolist() == getattr(folds, name).tolist()
        assert dense(other.table.numeric).tolist() == dense(one.table.numeric).tolist()
        assert other.weight.tolist() == one.weight.tolist()
        assert other.y.tolist() == one.y.tolist()

    def test_small_weights_are_dealt_like_large_ones(self, table):
        weight = np.random.default_rng(1).uniform(0.5, 1.0, 60)
        table = table + np.random.default_rng(3).normal(size=table.shape)  # no equal rows
        small = deal(table, weight=1e-3 * weight)
        assert_allclose(small.sum(axis=1), np.where(Y >= 0, 1e-3 * weight, 0.0), rtol=1e-9)
        for label in (0, 1):
            assert np.ptp(small[label == Y].sum(axis=0)) <= 1e-3

    def test_classes_of_one_row_each_are_dealt_in_turn(self):
        _, folds = deal_folds(read(np.zeros((4, 1)), np.arange(4)), 5, 0)
        assert folds.n_folds == 4
        assert sorted(folds.fold.tolist()) == [0, 1, 2, 3]

    def test_the_seed_gives_other_folds(self, table):
        assert not np.array_equal(deal(table, seed=0), deal(table, seed=1))

    def test_a_search_needs_two_labelled_rows(self):
        training = read(np.arange(3.0)[:, None], [0, -1, -1])
        with pytest.raises(ValueError, match="cv=5 needs at least two labelled rows, but y has 1"):
            make_folds(training, 5, 0)

    def test_a_search_warns_of_a_class_with_too_few_rows(self, table):
        words = r"A class has fewer labelled rows \(3\) than cv=5 folds, so some folds are"
        with pytest.warns(UserWarning, match=words):
            _, folds = make_folds(read(table), 5, 0)
        assert folds.n_folds == 5


class TestGiven:
    def test_rows_in_no_part_are_left_out(self, table):
        parts = [(np.arange(20), np.arange(20, 42)), (np.arange(20, 42), np.arange(20))]
        training, folds = make_folds(read(table), parts, 0)
        assert folds.n_folds == 2
        contents = [(*row, label) for row, label in zip(table.tolist(), Y.tolist(), strict=True)]
        for number, (train, test) in enumerate(parts):
            part = folds.training_part(training, number)
            assert counted(part, part.weight) == Counter(contents[row] for row in train)
            mine = folds.fold == number
            tested = training.take(folds.row[mine])
            assert counted(tested, folds.weight[mine]) == Counter(contents[row] for row in test)

    def test_copies_in_another_order_are_the_same_to_the_last_bit(self, table):
        """Each row with its fold, whether it stands there twice or has weight 2."""
        weight = np.random.default_rng(1).integers(1, 4, 60)
        copies = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weight))
        fold = np.arange(60) % 3

        def deal(rows, weight):
            cv = [
                (np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)) for f in (0, 1)
            ]
            cv[1] = (np.flatnonzero(fold[rows] == 2), cv[1][1])  # rows of fold 0 are left out
            return make_folds(read(table[rows], Y[rows], weight), cv, 0)

        (one, folds), (other, again) = deal(np.arange(60), weight), deal(copies, None)
        for name in ("row", "fold", "weight", "left_out"):
            assert getattr(again, name).tolist() == getattr(folds, name).tolist()
        assert other.table.numeric.tolist() == one.table.numeric.tolist()
        assert other.weight.tolist() == one.weight.tolist()

    @pytest.mark.parametrize("splitter", [LabelledKFold(3), StratifiedKFold(3)])
    def test_splitters_say_nothing_and_leave_the_warning_filters_alone(self, table, splitter):
        training = read(table)
        expected = np.empty(60)
        codes = np.where(Y < 0, np.nan, Y) if isinstance(splitter, LabelledKFold) else Y
        for number, (_, test) in enumerate(splitter.split(table, codes)):
            expected[test] = number
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            before = list(warnings.filters)
            folds = given_folds(training, splitter)
            assert warnings.filters == before
        assert folds.fold.tolist() == expected[folds.row].tolist()
        assert folds.row.tolist() == np.flatnonzero(Y >= 0).tolist()
        assert folds.n_folds == 3


class TestSample:
    """Of 1,000 rows, 900 of class 0, 60 of class 1, 40 without a label."""

    X = np.random.default_rng(3).normal(size=(1000, 2))
    Y = np.repeat([0, 1, -1], [900, 60, 40])

    def drawn(self, X, y, weight=None, most=100):
        joined, part = sample_rows(read(X, y, weight), most, seed=0)
        return joined, part, counted(part, part.weight)

    def test_few_rows_are_all_taken(self):
        joined, part, _ = self.drawn(self.X, self.Y, most=1000)
        assert part is joined
        assert len(joined.y) == 1000

    def test_every_class_has_its_share_but_a_small_one_keeps_all(self):
        joined, part, _ = self.drawn(self.X, self.Y)
        assert len(joined.y) == 1000
        assert np.bincount(part.y + 1).tolist() == [40, 90, 60]
        assert np.all(part.weight == 1)
        assert set(part.row_numbers) <= set(range(1000))

    def test_order_does_not_matter_and_weight_2_is_the_row_twice(self):
        weight = np.tile([1, 2], 500)
        rows = np.random.default_rng(4).permutation(np.repeat(np.arange(1000), weight))
        _, part, expected = self.drawn(self.X, self.Y, weight.astype(float))
        _, _, found = self.drawn(self.X[rows], self.Y[rows])
        assert found.keys() == expected.keys()
        assert_allclose([found[row] for row in expected], list(expected.values()), rtol=1e-12)
        assert 80 <= part.weight[part.y == 0].sum() <= 100

    def test_light_rows_are_drawn_like_others(self):
        _, _, expected = self.drawn(self.X, self.Y)
        _, _, found = self.drawn(self.X, self.Y, np.full(1000, 0.01))
        assert found.keys() == expected.keys()
        assert_allclose(list(found.values()), 0.01, rtol=1e-9)
