"""Rules that find columns and labels that are not what they seem: what fires, and what must not."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs

from latentclass.data import _suspects as suspects

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 600)


class TestLabels:
    @pytest.mark.parametrize("label", ["NaN", "nan", " NA ", "?", "", "null", "<NA>"])
    def test_words_for_missing(self, label):
        assert suspects.is_missing_word(label)

    @pytest.mark.parametrize("label", ["none", "no", "Nancy", np.nan, None, 0])
    def test_other_labels(self, label):
        assert not suspects.is_missing_word(label)

    def test_more_than_fifty_numbers_are_a_quantity(self):
        assert suspects.is_quantity(np.arange(51))
        assert not suspects.is_quantity(np.arange(50))
        assert not suspects.is_quantity(np.array([f"c{i}" for i in range(99)]))


class TestRowNumbers:
    @pytest.mark.parametrize("column", [np.arange(30.0), 1000.0 + 7 * np.arange(99.0)])
    def test_they_rise_with_every_row(self, column):
        assert suspects.counts_rows(column)

    @pytest.mark.parametrize(
        "column",
        [
            np.arange(29.0),  # too few to tell
            np.arange(60.0) / 2,
            np.arange(60.0)[::-1],
            np.r_[np.arange(40.0), 39.0],
            np.r_[np.arange(40.0), np.nan],
            RNG.permutation(60.0 * np.arange(60)),
        ],
    )
    def test_others_do_not(self, column):
        assert not suspects.counts_rows(column)

    def test_identifiers_of_text(self):
        assert suspects.is_identifier(28, 30)
        assert not suspects.is_identifier(27, 30)
        assert not suspects.is_identifier(29, 29)


class TestRepeatedLabels:
    def test_other_names_of_the_classes(self):
        assert suspects.repeats_labels(np.array([4.5, -1.0, 0.0])[Y], Y, 3)
        assert suspects.repeats_labels(np.array([2, 0, 1])[Y], Y, 3)

    def test_missing_cells_and_labels_do_not_count(self):
        column = np.array([4.5, -1.0, 0.0])[Y]
        column[:300:2] = np.nan
        labels = np.where(np.arange(600) % 5 == 1, -1, Y)
        assert suspects.repeats_labels(column, labels, 3)
        codes = np.where(np.arange(600) % 2, Y, -1)
        assert suspects.repeats_labels(codes, Y, 3)

    def test_one_other_row_is_enough(self):
        column = Y.astype(float)
        column[599] = (column[599] + 1) % 3
        assert not suspects.repeats_labels(column, Y, 3)

    def test_each_class_must_have_a_value_of_its_own(self):
        assert not suspects.repeats_labels((Y > 0).astype(float), Y, 3)
        assert not suspects.repeats_labels(np.arange(600), Y, 3)

    def test_few_rows_say_nothing(self):
        assert not suspects.repeats_labels(Y[:29].astype(float), Y[:29], 3)
        assert not suspects.repeats_labels(np.zeros(60), np.zeros(60, dtype=int), 1)


class TestLonePredictors:
    def test_the_score_is_that_of_the_row_before(self):
        """Against a loop over rows, for a column without ties."""
        column = RNG.normal(Y)
        rows = np.argsort(column)
        wrong = sum(Y[a] != Y[b] for a, b in pairwise(rows))
        share = np.bincount(Y) / 600
        blind, left = suspects._mistakes(column[:, None], Y)
        assert left[0] == wrong - 2
        assert blind[0] == pytest.approx(600 * (1 - (share**2).sum()))

    def test_what_fires(self):
        noisy = Y + RNG.normal(0, 0.1, 600)
        split = np.where(Y == 0, RNG.integers(5, 9, 600), np.where(Y == 1, 1, 12)).astype(float)
        holes = np.where(RNG.random(600) < 0.3, np.nan, noisy)
        found = suspects.lone_predictors(np.column_stack([noisy, split, holes, RNG.normal(Y)]), Y)
        assert found.tolist() == [True, True, True, False]

    def test_ties_come_in_any_order(self):
        """Rows that are sorted by class must not make a useless column of ties look good."""
        y = np.sort(Y)
        columns = np.column_stack([np.zeros(600), np.arange(600) % 2]).astype(float)
        assert not suspects.lone_predictors(columns, y).any()

    def test_many_rows_are_not_all_looked_at(self):
        y = RNG.integers(0, 2, 20_000)
        columns = np.column_stack([y + RNG.normal(0, 0.1, len(y)), RNG.normal(y)])
        assert suspects.lone_predictors(columns, y).tolist() == [True, False]

    def test_few_rows_or_rare_classes_say_nothing(self):
        y = np.arange(150) % 2
        assert not suspects.lone_predictors(y[:, None].astype(float), y).any()
        rare = (np.arange(2000) % 100 == 0).astype(int)
        assert not suspects.lone_predictors(rare[:, None].astype(float), rare).any()
        assert suspects.lone_predictors(np.empty((600, 0)), Y).shape == (0,)


class TestCodes:
    def test_codes_in_any_order(self):
        zones = RNG.integers(0, 15, 2000)
        rate = RNG.permutation(np.linspace(0.05, 0.95, 15))
        y = (RNG.random(2000) < rate[zones]).astype(int)
        assert suspects.looks_nominal(zones.astype(float), y, 2)

    @pytest.mark.parametrize("shape", ["line", "step", "hump"])
    def test_numbers_whose_order_matters(self, shape):
        values = RNG.integers(0, 15, 2000)
        rate = {
            "line": np.linspace(0.05, 0.95, 15),
            "step": np.where(np.arange(15) < 2, 0.1, 0.9),
            "hump": np.where(abs(np.arange(15) - 7) < 3, 0.9, 0.1),
        }[shape]
        y = (RNG.random(2000) < rate[values]).astype(int)
        assert not suspects.looks_nominal(values.astype(float), y, 2)

    def test_what_is_no_code(self):
        y = RNG.integers(0, 2, 2000)
        assert not suspects.looks_nominal(RNG.integers(0, 15, 2000).astype(float), y, 2)  # noise
        assert not suspects.looks_nominal(RNG.normal(size=2000), y, 2)
        assert not suspects.looks_nominal(RNG.integers(0, 900, 2000).astype(float), y, 2)
        assert not suspects.looks_nominal(np.full(2000, np.nan), y, 2)
        assert not suspects.looks_nominal(y.astype(float), y, 2)
        assert not suspects.looks_nominal(np.arange(50) % 9.0, np.arange(50) % 2, 2)

    def test_the_best_ranges_are_found(self):
        """Against all pairs of cuts of six levels."""
        counts = RNG.integers(1, 30, (6, 2)).astype(float)
        share = counts.sum(axis=0) / counts.sum()

        def gain(part):
            total = part.sum(axis=0)
            return float((total * (np.log(total / total.sum()) - np.log(share))).sum())

        every = [
            gain(counts[:a]) + gain(counts[a:b]) + gain(counts[b:])
            for a in range(1, 6)
            for b in range(a + 1, 6)
        ]
        assert suspects._best_ranges(counts) == pytest.approx(max(every))


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_no_honest_table_fires(load):
    X, y = load(return_X_y=True)
    n_classes = len(np.unique(y))
    assert not suspects.lone_predictors(X, y).any()
    for column in X.T:
        assert not suspects.counts_rows(column)
        assert not suspects.repeats_labels(column, y, n_classes)
        assert not suspects.looks_nominal(column, y, n_classes)


@pytest.mark.parametrize("seed", range(5))
def test_clouds_do_not_fire(seed):
    X, y = make_blobs(n_samples=300, random_state=seed)
    assert not suspects.lone_predictors(X, y).any()
