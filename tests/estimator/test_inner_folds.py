"""Folds of the training rows, dealt by content or given."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold

from latentclass.baselines import NaiveBayes
from latentclass.estimator._inner_folds import deal_folds, given_folds, make_folds
from latentclass.evaluation import LabelledKFold

Y = np.array([0] * 30 + [1] * 12 + [2] * 3 + [-1] * 15)


def read(X, y=Y, weight=None):
    labels = np.where(np.asarray(y) < 0, np.nan, y)
    return NaiveBayes()._read_training(X, labels, weight)


@pytest.fixture
def table():
    """60 rows with few values, so that many of them are equal."""
    return np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)


def weights(folds):
    """Weight of each row in each fold, shape (60, n_folds)."""
    out = np.zeros((60, folds.n_folds))
    np.add.at(out, (folds.row, folds.fold), folds.weight)
    return out


class TestDealt:
    def test_every_labelled_row_is_tested_once_and_each_class_evenly(self, table):
        weight = weights(deal_folds(read(table), 5, 0))
        assert_allclose(weight.sum(axis=1), Y >= 0, rtol=1e-12)
        for label in (0, 1, 2):
            assert np.ptp(weight[label == Y].sum(axis=0)) <= 1.0 + 1e-9
        assert np.ptp(weight.sum(axis=0)) <= 1.0 + 1e-9

    def test_what_is_not_tested_is_learned_from(self, table):
        weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
        training = read(table, weight=weight)
        folds = deal_folds(training, 5, 0)
        by_fold = weights(folds)
        for number in range(5):
            part = folds.training_part(training, number)
            expected = weight - by_fold[:, number]
            kept = expected > 1e-9
            assert part.row_numbers.tolist() == np.flatnonzero(kept).tolist()
            assert_allclose(part.weight, expected[kept], rtol=1e-12)
            assert part.y.tolist() == Y[kept].tolist()

    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
    def test_neither_the_order_of_rows_nor_copies_matter(self, table, layout):
        weight = np.random.default_rng(1).integers(1, 4, 60).astype(float)
        expected = weights(deal_folds(read(layout(table), weight=weight), 5, 0))
        rows = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weight.astype(int)))
        folds = deal_folds(read(layout(table[rows]), Y[rows]), 5, 0)
        found = np.zeros_like(expected)
        np.add.at(found, (rows[folds.row], folds.fold), folds.weight)
        assert_allclose(found, expected, atol=1e-9)

    def test_small_weights_are_dealt_like_large_ones(self, table):
        weight = np.random.default_rng(1).uniform(0.5, 1.0, 60)
        table = table + np.random.default_rng(3).normal(size=table.shape)  # no equal rows
        small = weights(deal_folds(read(table, weight=1e-3 * weight), 5, 0))
        assert_allclose(small.sum(axis=1), np.where(Y >= 0, 1e-3 * weight, 0.0), rtol=1e-9)
        for label in (0, 1):
            assert np.ptp(small[label == Y].sum(axis=0)) <= 1e-3

    def test_a_class_of_one_row_each_is_dealt_in_turn(self):
        folds = deal_folds(read(np.zeros((4, 1)), np.arange(4)), 5, 0)
        assert folds.n_folds == 4
        assert sorted(folds.fold.tolist()) == [0, 1, 2, 3]

    def test_the_seed_gives_other_folds(self, table):
        one, other = (weights(deal_folds(read(table), 5, seed)) for seed in (0, 1))
        assert not np.array_equal(one, other)

    def test_a_search_needs_two_labelled_rows(self):
        training = read(np.arange(3.0)[:, None], [0, -1, -1])
        with pytest.raises(ValueError, match="cv=5 needs at least two labelled rows, but y has 1"):
            make_folds(training, 5, 0)

    def test_a_search_warns_of_a_class_with_too_few_rows(self, table):
        words = r"A class has fewer labelled rows \(3\) than cv=5 folds, so some folds are"
        with pytest.warns(UserWarning, match=words):
            assert make_folds(read(table), 5, 0).n_folds == 5


class TestGiven:
    def test_rows_in_no_part_are_left_out(self, table):
        parts = [(np.arange(20), np.arange(20, 42)), (np.arange(20, 42), np.arange(20))]
        training = read(table)
        folds = make_folds(training, parts, 0)
        assert folds.n_folds == 2
        assert folds.training_part(training, 0).row_numbers.tolist() == list(range(20))
        assert folds.training_part(training, 1).row_numbers.tolist() == list(range(20, 42))
        assert_allclose(weights(folds)[20:42, 0], 1.0)

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
