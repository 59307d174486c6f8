"""Shares of classes in rows whose classes are not known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, xlogy

from latentclass.engine._class_shares import estimate_shares


def drawn(seed, n_rows=200, n_classes=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_rows, p=[0.6, 0.3, 0.1])
    x = rng.normal(size=n_rows) + 1.5 * y
    log_likelihood = -0.5 * (x[:, None] - 1.5 * np.arange(n_classes)) ** 2
    return log_likelihood, rng.integers(0, 4, n_rows).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_maximum_that_an_optimiser_finds(seed):
    log_likelihood, weight = drawn(seed)
    expected = np.array([0.2, 0.5, 0.3])

    def loss(free):
        log_shares = log_softmax(free)
        value = weight @ logsumexp(log_likelihood + log_shares, axis=1)
        return -value - expected @ log_shares

    best = np.exp(log_softmax(minimize(loss, np.zeros(3), tol=1e-12).x))
    assert_allclose(estimate_shares(log_likelihood, weight, expected), best, atol=1e-5)


def test_rows_of_known_class_are_counted():
    known = np.array([0, 0, 0, 1])
    log_likelihood = np.where(np.eye(2)[known] > 0, 0.0, -np.inf)
    shares = estimate_shares(log_likelihood, np.ones(4), np.array([0.5, 0.5]))
    assert_allclose(shares, [3.5 / 5, 1.5 / 5], rtol=1e-12)


def test_rows_that_tell_nothing_leave_the_shares_as_they_were():
    expected = np.array([0.2, 0.8])
    assert_allclose(estimate_shares(np.zeros((50, 2)), np.ones(50), expected), expected)


def test_a_row_of_weight_two_is_the_row_twice():
    log_likelihood, _ = drawn(0, 20)
    twice = np.repeat(log_likelihood, 2, axis=0)
    expected = np.array([1.0, 1.0, 1.0])
    one = estimate_shares(log_likelihood, np.full(20, 2.0), expected)
    assert_allclose(one, estimate_shares(twice, np.ones(40), expected), rtol=1e-9)


def test_the_likelihood_is_higher_than_at_the_start():
    log_likelihood, weight = drawn(3)
    expected = np.full(3, 1 / 3)

    def objective(shares):
        value = weight @ logsumexp(log_likelihood + np.log(shares), axis=1)
        return value + xlogy(expected, shares).sum()

    assert objective(estimate_shares(log_likelihood, weight, expected)) > objective(expected)
