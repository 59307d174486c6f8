"""Mixtures of one column in one class: statistics, densities and modes, against sums by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from latentclass.naive_bayes import _column_mixture as mixture


@pytest.fixture
def sample():
    """40 rows of three columns with holes, equal values and weights, in two classes."""
    rng = np.random.default_rng(0)
    numeric = np.round(rng.uniform(-1, 1, (40, 3)), 1)
    numeric[rng.random(numeric.shape) < 0.2] = np.nan
    return numeric, rng.integers(0, 2, 40), rng.uniform(0.5, 2.0, 40)


def samples_of(values, weight=None):
    values = np.asarray(values, dtype=float)[:, None]
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    return mixture.distinct_values(values, np.zeros(len(values), dtype=int), weight, 1)[0]


def log_density_by_hand(values, parts, r=0):
    """log of sum of weight * N(x; mean, scale)."""
    density = norm.pdf(np.asarray(values)[:, None], parts.mean[r], parts.scale[r])
    return np.log(density @ np.exp(parts.log_weight[r]))


class TestDistinctValues:
    def test_they_are_the_weights_of_the_distinct_values_of_each_pair(self, sample):
        numeric, y, weight = sample
        samples, pairs = mixture.distinct_values(numeric, y, weight, 2)
        for place, pair in enumerate(pairs):
            k, j = divmod(pair, 3)
            inside = (y == k) & ~np.isnan(numeric[:, j])
            values = np.unique(numeric[inside, j])
            here = slice(samples.first[place], samples.first[place] + samples.length[place])
            assert samples.values[here].tolist() == values.tolist()
            expected = [weight[inside & (numeric[:, j] == v)].sum() for v in values]
            assert_allclose(samples.weight[here], expected, rtol=1e-12)

    def test_pairs_without_a_value_have_none(self):
        numeric = np.array([[1.0, np.nan], [2.0, 3.0]])
        samples, pairs = mixture.distinct_values(numeric, np.array([0, 1]), np.ones(2), 3)
        assert pairs.tolist() == [0, 2, 3]  # class 0: column 0; class 1: both; class 2: none
        assert samples.length.tolist() == [1, 1, 1]

    def test_some_pairs_may_be_taken_several_times(self, sample):
        samples, _ = mixture.distinct_values(*sample, 2)
        taken = mixture.take_pairs(samples, np.array([4, 1, 4]))
        expected = [
            samples.values[samples.first[p] : samples.first[p] + samples.length[p]]
            for p in (4, 1, 4)
        ]
        assert taken.values.tolist() == np.concatenate(expected).tolist()
        assert taken.length.tolist() == [len(values) for values in expected]


class TestStatistics:
    def test_expected_statistics_are_those_by_hand(self, sample):
        samples, pairs = mixture.distinct_values(*sample, 2)
        rng = np.random.default_rng(1)
        shape = (len(pairs), 3)
        weights = rng.dirichlet(np.ones(3), len(pairs))
        parts = mixture.ColumnComponents(
            np.log(weights), rng.normal(size=shape), rng.uniform(0.2, 1, shape)
        )
        log_likelihood, moments = mixture.expect_values(samples, parts)
        numeric, y, row_weight = sample
        for r, pair in enumerate(pairs):
            k, j = divmod(pair, 3)
            inside = (y == k) & ~np.isnan(numeric[:, j])
            values, w = numeric[inside, j], row_weight[inside]
            assert_allclose(log_likelihood[r], w @ log_density_by_hand(values, parts, r))
            for h in range(3):
                own = weights[r, h] * norm.pdf(values, parts.mean[r, h], parts.scale[r, h])
                share = w * own / np.exp(log_density_by_hand(values, parts, r))
                mean = share @ values / share.sum()
                assert_allclose(moments.weight[r, h], share.sum(), rtol=1e-10)
                assert_allclose(moments.mean[r, h], mean, rtol=1e-9, atol=1e-12)
                assert_allclose(moments.scatter[r, h], share @ (values - mean) ** 2, rtol=1e-9)

    def test_narrow_components_far_from_zero_lose_no_digits(self):
        values = 0.9 + 1e-7 * np.array([-1.0, 0.0, 2.0])
        parts = mixture.ColumnComponents(np.zeros((1, 1)), np.array([[0.9]]), np.array([[1e-7]]))
        _, moments = mixture.expect_values(samples_of(values), parts)
        assert_allclose(moments.scatter[0, 0], 3 * values.var(), rtol=1e-8)

    @pytest.mark.parametrize("seed", range(5))
    def test_peaks_are_those_of_a_fine_grid(self, seed):
        rng = np.random.default_rng(seed)
        parts = mixture.ColumnComponents(
            np.log(rng.dirichlet(np.ones(3), 4)),
            rng.normal(size=(4, 3)),
            rng.uniform(0.2, 1, (4, 3)),
        )
        at, height = mixture.mixture_peaks(parts)
        grid = np.linspace(-4, 4, 20001)
        for r in range(4):
            density = log_density_by_hand(grid, parts, r)
            assert_allclose(height[r], density.max(), atol=1e-6)
            assert_allclose(at[r], grid[density.argmax()], atol=5e-4)


def test_density_in_the_datas_own_units_with_missing_cells():
    rng = np.random.default_rng(6)
    parts = mixture.ColumnComponents(
        np.log(rng.dirichlet(np.ones(2), (3, 2))), rng.normal(size=(3, 2, 2)),
        rng.uniform(0.3, 1, (3, 2, 2)),
    )  # fmt: skip
    numeric = np.array([[0.1, -0.4], [np.nan, 0.3], [np.nan, np.nan]])
    unit = np.array([10.0, 0.1])
    out = mixture.mixture_log_density(parts, numeric, unit)
    for k in range(3):
        one, two = (mixture.ColumnComponents(*(a[k, [j]] for a in parts)) for j in range(2))
        first = log_density_by_hand([0.1], one)[0] - np.log(10.0)
        second = log_density_by_hand([-0.4, 0.3], two) - np.log(0.1)
        assert_allclose(out[:, k], [first + second[0], second[1], 0.0], rtol=1e-10)
