"""States of a latent variable and measures of pairs, against the definitions."""

import math

import numpy as np
import pytest
from hnb_reference import collapse_by_hand, partition
from numpy.testing import assert_allclose
from scipy.stats import chi2

from latentclass.hnb._states import collapse_states, log_chi2_tail, pair_strength


@pytest.mark.parametrize("seed", range(12))
def test_greedy_collapse_is_algorithm_2(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    shares = rng.dirichlet(np.full(n_classes, 0.5), 4)[rng.integers(0, 4, 14)]
    counts = np.array([rng.multinomial(rng.integers(1, 60), p) for p in shares], dtype=float)
    n_rows = counts.sum()
    got = collapse_states(counts, counts, n_rows)
    assert partition(got) == collapse_by_hand(counts, n_rows)


def description_length(counts, groups, n_rows):
    total = len(groups) * counts.shape[1] / 2 * math.log(n_rows)
    for cells in groups:
        joined = counts[list(cells)].sum(axis=0)
        total -= sum(v * math.log(v / joined.sum()) for v in joined if v > 0)
    return total


def all_partitions(items):
    if not items:
        yield []
        return
    for rest in all_partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


@pytest.mark.parametrize("seed", range(6))
def test_exact_collapse_is_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 25, (7, 2)) + np.array([1.0, 0.0])
    n_rows = counts.sum()
    got = partition(collapse_states(counts, counts, n_rows, exact=True))
    best = min(description_length(counts, p, n_rows) for p in all_partitions(list(range(7))))
    assert_allclose(description_length(counts, got, n_rows), best, rtol=1e-12)
    greedy = partition(collapse_states(counts, counts, n_rows))
    assert description_length(counts, greedy, n_rows) >= best - 1e-9


def test_a_cell_without_rows_gets_the_state_it_looks_like():
    counts = np.array([[50.0, 1.0], [0.0, 0.0], [2.0, 60.0], [0.0, 0.0]])
    expected = np.array([[50.0, 1.0], [1.0, 9.0], [2.0, 60.0], [9.0, 1.0]])
    assert collapse_states(counts, expected, 113.0).tolist() == [0, 1, 1, 0]
    assert collapse_states(np.zeros((3, 2)), np.ones((3, 2)), 10.0).tolist() == [0, 0, 0]


def test_many_states_are_collapsed_in_a_moment():
    rng = np.random.default_rng(4)
    counts = rng.poisson(rng.dirichlet([0.3] * 5, 3000) * 3).astype(float)
    states = collapse_states(counts, counts + 0.1, counts.sum())
    assert 2 <= states.max() + 1 < 40


def test_chi_square_tail_beyond_the_range_of_floats():
    statistic, freedom = np.array([0.0, 3.0, 40.0, 500.0]), np.array([1.0, 4.0, 2.0, 9.0])
    assert_allclose(log_chi2_tail(statistic, freedom), chi2.logsf(statistic, freedom), rtol=1e-9)
    # with two degrees of freedom the tail is exp(-x / 2)
    far = np.array([1e3, 2e3, 1e5])
    assert_allclose(log_chi2_tail(far, np.full(3, 2.0)), -far / 2, rtol=1e-12)
    # with four it is (1 + x / 2) exp(-x / 2)
    assert_allclose(log_chi2_tail(far, np.full(3, 4.0)), np.log1p(far / 2) - far / 2, rtol=1e-12)
    assert np.all(chi2.cdf(far, 2.0) == 1.0)  # what the paper ranks by
    # many degrees of freedom, against an odd-even recursion: Q(a + 1) = Q(a) + x^a e^-x / a!
    a, x = 400, 3000.0
    terms = [k * math.log(x) - x - math.lgamma(k + 1) for k in range(a)]
    top = max(terms)
    expected = top + math.log(sum(math.exp(t - top) for t in terms))
    assert_allclose(log_chi2_tail(np.array([2 * x]), np.array([2.0 * a])), expected, rtol=1e-12)


def conditional_information(x, y, k):
    """2 N I(X; Y | class): the sum over all rows of the definition's logarithms."""
    seen = (x >= 0) & (y >= 0)
    x, y, k = x[seen], y[seen], k[seen]
    total = 0.0
    for a, b, c in zip(x, y, k, strict=True):
        rows = k == c
        joint, apart = np.mean((x == a) & (y == b) & rows), np.mean((x == a) & rows)
        total += math.log(joint * np.mean(rows) / (apart * np.mean((y == b) & rows)))
    return 2 * total


def test_pair_strength_is_the_tail_of_the_statistic():
    rng = np.random.default_rng(5)
    k = rng.integers(0, 3, 80)
    x = (k + rng.integers(0, 3, 80)) % 3
    ys = [np.where(rng.random(80) < 0.5, x % 2, rng.integers(0, 2, 80)), rng.integers(0, 4, 80)]
    ys[1][:9] = -1
    sizes = [2, 4]
    tables = np.zeros((3, 3, 6))
    for y, start in zip(ys, (0, 2), strict=True):
        for a, b, c in zip(x, y, k, strict=True):
            if b >= 0:
                tables[c, a, start + b] += 1
    got = pair_strength(tables, np.array([0, 2, 6]), "chi2")
    for j, y in enumerate(ys):
        expected = -chi2.logsf(conditional_information(x, y, k), 3 * 2 * (sizes[j] - 1))
        assert_allclose(got[j], expected, rtol=1e-7)


@pytest.mark.parametrize("measure", ["chi2", "expected_kl"])
def test_a_variable_of_one_state_asks_for_nothing(measure):
    tables = np.ones((2, 1, 3))
    assert pair_strength(tables, np.array([0, 3]), measure).tolist() == [-np.inf]
