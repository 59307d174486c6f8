"""The measure of section 6.2 and its reference distribution, against definitions and draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, chi2

from latentclass.hnb._expected_kl import _references, _sum_log_tail, log_tail
from latentclass.hnb._states import pair_strength


def draw_free(rng, n_rows):
    """Two that depend on each other, and not on the class."""
    x = rng.integers(0, 2, n_rows)
    y = np.where(rng.random(n_rows) < 0.8, x, rng.integers(0, 2, n_rows))
    return rng.integers(0, 2, n_rows), x, y


def draw_free_unbalanced(rng, n_rows):
    x = rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])
    y = np.where(rng.random(n_rows) < 0.6, x, rng.integers(0, 4, n_rows))
    return rng.choice(3, n_rows, p=[0.6, 0.3, 0.1]), x, y


def draw_independent(rng, n_rows):
    return rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)


def draw_naive(rng, n_rows):
    """Two that say much about the class, and nothing together."""
    k = rng.choice(4, n_rows, p=[0.5, 0.3, 0.15, 0.05])
    x = np.where(rng.random(n_rows) < 0.5, k, rng.integers(0, 4, n_rows))
    return k, x, np.where(rng.random(n_rows) < 0.5, k, rng.integers(0, 5, n_rows))


def draw_many_levels(rng, n_rows):
    x = np.minimum(rng.geometric(0.25, n_rows), 10) - 1
    y = np.where(rng.random(n_rows) < 0.5, x, np.minimum(rng.geometric(0.3, n_rows), 10) - 1)
    return rng.choice(2, n_rows, p=[0.8, 0.2]), x, y


def draw_small_class(rng, n_rows):
    """As `draw_free`, with a class so small that it lacks some levels."""
    _, x, y = draw_free(rng, n_rows)
    return rng.choice(2, n_rows, p=[0.99, 0.01]), x, y


DRAWS = [
    draw_free,
    draw_free_unbalanced,
    draw_independent,
    draw_naive,
    draw_many_levels,
    draw_small_class,
]


def tables_of(draw, n_tables, n_rows, seed=0):
    """Class counts of many drawn tables, shape (n_tables, K, r, s)."""
    rng = np.random.default_rng(seed)
    k, x, y = (v.reshape(n_tables, n_rows) for v in draw(rng, n_tables * n_rows))
    tables = np.zeros((n_tables, k.max() + 1, x.max() + 1, y.max() + 1))
    np.add.at(tables, (np.arange(n_tables)[:, None], k, x, y), 1.0)
    return tables


@pytest.mark.parametrize("draw", DRAWS)
def test_the_level_is_right_where_two_say_nothing_together(draw):
    tables = tables_of(draw, 600, 500)
    strength = pair_strength(tables, np.array([0, tables.shape[-1]]), "expected_kl")
    # five percent; the standard error of 600 draws is 0.9
    assert 0.03 <= np.mean(np.exp(-strength) < 0.05) <= 0.08


def test_two_that_say_something_together_are_found():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 2, (2, 200))
    tables = np.zeros((2, 2, 2))
    np.add.at(tables, ((x + y + (rng.random(200) < 0.3)) % 2, x, y), 1.0)
    assert pair_strength(tables, np.array([0, 2]), "expected_kl")[0] > 10.0


def by_definition(counts):
    """Statistic, inflation in small cells, and the weights, from the whole matrix of the form."""
    total = counts.sum(axis=0)
    size = counts.sum(axis=(1, 2), keepdims=True)
    apart = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True) / size
    share = np.where(total > 0, apart / np.where(total > 0, apart.sum(axis=0), 1.0), 0.0)
    seen = counts > 0
    statistic = 2.0 * np.sum(counts[seen] * np.log(counts[seen] / (total * share)[seen]))
    # one more row in each class, spread over the levels as all rows are
    x, y = total.sum(axis=1, keepdims=True), total.sum(axis=0, keepdims=True)
    x = counts.sum(axis=2, keepdims=True) + x / total.sum()
    y = counts.sum(axis=1, keepdims=True) + y / total.sum()
    apart = size * (x / (size + 1)) * (y / (size + 1))
    share = np.where(total > 0, apart / apart.sum(axis=0), 0.0)
    p = total * share
    observed, limit = 0.0, 0.0
    for k, x, y in np.argwhere(p > 0):
        n, q = int(total[x, y]), share[k, x, y]
        value = np.arange(1, n + 1)
        observed += 2.0 * np.sum(binom.pmf(value, n, q) * value * np.log(value / (n * q)))
        limit += 1.0 - q
    weight = p[p > 0]

    def mean_given(*keys):
        same = np.all([key[:, None] == key for key in keys], axis=0)
        root = np.sqrt(weight[:, None] * weight)
        return same * root / (same @ weight)[:, None]

    k, x, y = np.argwhere(p > 0).T
    one = np.eye(len(weight))
    a = one - mean_given(x, k) - mean_given(y, k) + mean_given(k)
    return statistic, observed / limit, np.linalg.eigvalsh(a @ (one - mean_given(x, y)) @ a)


@pytest.mark.parametrize("draw", DRAWS[:4])
@pytest.mark.parametrize("n_rows", [30, 120])
def test_the_reference_is_the_whole_quadratic_form(draw, n_rows):
    counts = tables_of(draw, 1, n_rows, seed=n_rows)
    got = _references(counts, np.array([0, counts.shape[-1]]))[0, 0]
    statistic, inflation, weights = by_definition(counts[0])
    assert weights.min() > -1e-9
    assert weights.max() < 1.0 + 1e-9
    assert_allclose(got[0], statistic, rtol=1e-9)
    assert_allclose(got[1], inflation, rtol=1e-4)  # a series stands for large counts
    assert_allclose(got[2:4], [weights.sum(), (weights**2).sum()], rtol=1e-9)
    if n_rows == 120:  # hardly any empty cell
        assert got[4] == np.sum(weights > 1.0 - 1e-9)


def test_either_variable_can_be_the_first():
    counts = tables_of(draw_free_unbalanced, 3, 80)
    turned = counts.transpose(0, 1, 3, 2)
    assert_allclose(
        log_tail(counts, np.array([0, counts.shape[3]])),
        log_tail(turned, np.array([0, counts.shape[2]])),
        rtol=1e-9,
    )


def test_the_tail_of_a_weighted_sum():
    # chi-square itself, near and far
    value, freedom = np.array([1.0, 4.0, 9.0, 40.0, 900.0]), np.array([1.0, 3.0, 9.0, 4.0, 6.0])
    got = _sum_log_tail(value, freedom, freedom, freedom)
    assert_allclose(got, chi2.logsf(value, freedom), rtol=0.02, atol=0.02)
    # with an even number of each weight the sum has a closed form: partial fractions
    far = np.array([3.0, 10.0, 400.0])
    weights = np.array([1.0, 1.0, 0.4, 0.4])
    exact = np.log(np.exp(-far / 2) / 0.6 - 0.4 / 0.6 * np.exp(-far / 0.8))
    sums = (np.full(3, v) for v in (weights.sum(), (weights**2).sum(), 2.0))
    assert_allclose(_sum_log_tail(far, *sums), exact, rtol=0.02, atol=0.02)
    # nothing to judge: no weight, or no divergence
    nothing = _sum_log_tail(np.array([5.0, 0.0]), *np.array([[0.0, 2.0], [0.0, 2.0], [0.0, 2.0]]))
    assert nothing.tolist() == [0.0, 0.0]
