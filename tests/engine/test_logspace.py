import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp

from latentclass.engine._logspace import (
    first_largest,
    log_normalise,
    log_sum_exp,
    split_log,
    split_shares,
)


def test_log_sum_exp_equals_scipys():
    values = np.random.default_rng(0).normal(scale=300, size=(50, 4))
    assert_allclose(log_sum_exp(values), logsumexp(values, axis=1), rtol=1e-14)


def test_nothing_possible_sums_to_minus_infinity_and_normalises_to_even():
    impossible = np.full((1, 4), -np.inf)
    assert log_sum_exp(impossible).tolist() == [-np.inf]
    assert_allclose(np.exp(log_normalise(impossible)), [[0.25] * 4])


def test_large_terms_still_sum_to_one():
    for size in (1e9, 1e13, 1e17):
        assert_allclose(np.exp(log_normalise(np.full((1, 3), -size))), [[1 / 3] * 3], rtol=1e-12)


def test_many_terms_equal_scipys():
    values = np.random.default_rng(1).normal(scale=30, size=(20, 50))
    assert_allclose(log_sum_exp(values), logsumexp(values, axis=1), rtol=1e-14)


def test_one_possible_term_is_certain():
    assert np.exp(log_normalise(np.array([[-np.inf, -1e5, -np.inf]]))).tolist() == [[0.0, 1.0, 0.0]]


def test_shares_are_the_exponentials_of_their_logarithms():
    values = np.random.default_rng(2).normal(scale=300, size=(50, 3, 4))
    values[0, 0] = -np.inf
    values[1, 1, 2] = -np.inf
    shares, size = split_shares(values)
    assert_allclose(shares, np.exp(log_normalise(values)), rtol=1e-12)
    assert_allclose(size, log_sum_exp(values), rtol=1e-14)


def test_shares_and_sum_belong_to_the_same_terms():
    values = np.random.default_rng(3).normal(scale=300, size=(50, 3, 4))
    values[0, 0, 1:] = -np.inf
    log_shares, size = split_log(values)
    assert_allclose(size, logsumexp(values, axis=-1), rtol=1e-14)
    assert_allclose(log_shares, log_softmax(values, axis=-1), rtol=1e-14)
    assert log_shares[0, 0].tolist() == [0.0, -np.inf, -np.inf, -np.inf]


@pytest.mark.parametrize("n_terms", [1, 3, 40])
def test_the_first_largest_is_numpys(n_terms):
    values = np.random.default_rng(0).integers(0, 4, (50, n_terms)).astype(float)
    values[0] = -np.inf
    assert_array_equal(first_largest(values), values.argmax(axis=1))
