"""Gaussians of low rank against the same Gaussians with full covariance, one row at a time."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian


def some_factors(rng, k, n, rank, smallest=0.1):
    noise = rng.uniform(smallest, 1.0, (k, n))
    noise[0, : n // 2] = smallest
    return factored.Factors(rng.normal(size=(k, n)), rng.normal(size=(k, n, rank)), noise)


def full_covariance(factors):
    """loadings loadings' + diag(noise)."""
    covariance = factors.loadings @ np.swapaxes(factors.loadings, 1, 2)
    return covariance + factors.noise[..., None] * np.eye(factors.noise.shape[1])


def slow_posterior(factors, k, x):
    """log-density of the observed cells, mean and covariance of u, through the n x n inverse."""
    mean, loadings, _ = (array[k] for array in factors)
    covariance = full_covariance(factors)[k]
    shown = ~np.isnan(x)
    inverse = np.linalg.inv(covariance[np.ix_(shown, shown)])
    distance = (x - mean)[shown]
    log_det = np.linalg.slogdet(covariance[np.ix_(shown, shown)])[1]
    squares = distance @ inverse @ distance
    density = -0.5 * (shown.sum() * np.log(2 * np.pi) + log_det + squares)
    gain = loadings[shown].T @ inverse
    return density, gain @ distance, np.eye(loadings.shape[1]) - gain @ loadings[shown]


def slow_moments(factors, rows, weights):
    """Expected moments of the rows, completed one by one."""
    sums = factored.no_moments(factors)
    for k in range(len(factors.mean)):
        mean, loadings, noise = (array[k] for array in factors)
        for x, weight in zip(rows, weights[k], strict=True):
            _, u, spread = slow_posterior(factors, k, x)
            hidden = np.isnan(x)
            uu = spread + np.outer(u, u)
            filled = np.where(hidden, mean + loadings @ u, x)
            xu = np.outer(filled, u) + hidden[:, None] * (loadings @ spread)
            xx = filled**2 + hidden * (noise + ((loadings @ spread) * loadings).sum(axis=1))
            one = (1.0, u, uu, filled, xu, xx)
            for whole, part in zip(sums, one, strict=True):
                whole[k] += weight * part
    return sums


def assert_moments(found, expected, tolerance=1e-9):
    for ours, theirs in zip(found, expected, strict=True):
        scale = np.abs(theirs).max(initial=1.0)
        assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


def rows_with_holes(rng, n_rows, n):
    rows = np.where(rng.random((n_rows, n)) < 0.4, np.nan, rng.normal(size=(n_rows, n)))
    rows[0] = np.nan
    rows[1] = 1.0
    return gaussian.group_patterns(rows)[0]


@pytest.mark.parametrize("smallest", [0.1, 1e-6])
@pytest.mark.parametrize(("k", "n", "rank"), [(3, 6, 2), (17, 4, 4), (1, 3, 1), (2, 12, 10)])
def test_rows_with_holes_are_conditioned_as_by_full_covariances(k, n, rank, smallest):
    rng = np.random.default_rng(0)
    factors, patterns = some_factors(rng, k, n, rank, smallest), rows_with_holes(rng, 40, n)
    found = factored.condition(factors, patterns)
    assert found.latent.shape == (40, rank, k)
    tolerance = 1e-9 if smallest > 1e-3 else 1e-6
    for r, x in enumerate(patterns.rows):
        for g in range(k):
            density, latent, _ = slow_posterior(factors, g, x)
            assert_allclose(found.log_density[r, g], density, rtol=tolerance, atol=tolerance)
            assert_allclose(found.latent[r, :, g], latent, atol=tolerance)
    weights = rng.random((k, 40))
    moments = factored.conditional_moments(factors, patterns, found, weights)
    assert_moments(moments, slow_moments(factors, patterns.rows, weights), tolerance)


@pytest.mark.parametrize(("k", "n", "rank"), [(3, 6, 2), (17, 4, 4), (1, 3, 1), (2, 12, 10)])
def test_sums_of_patterns_tell_what_their_rows_tell(k, n, rank):
    rng = np.random.default_rng(1)
    factors, patterns = some_factors(rng, k, n, rank), rows_with_holes(rng, 60, n)
    weight = rng.random(60)
    sums = gaussian.Moments(*(array[0] for array in gaussian.sum_patterns(patterns, weight[None])))
    moments, density = factored.pattern_moments(factors, patterns.observed, sums)
    assert_moments(moments, slow_moments(factors, patterns.rows, np.tile(weight, (k, 1))))
    expected = factored.condition(factors, patterns).log_density.T @ weight
    assert_allclose(density, expected, rtol=1e-9)


@pytest.mark.parametrize("smallest", [0.1, 1e-6])
def test_complete_rows_are_conditioned_as_by_full_covariances(smallest):
    rng = np.random.default_rng(2)
    factors, rows = some_factors(rng, 3, 6, 2, smallest), rng.normal(size=(20, 6))
    white = factored.whiten(factors)
    density, t = factored.log_density(factors, white, rows)
    latent = factored.latent_rows(factors, white, rows)
    tolerance = 1e-9 if smallest > 1e-3 else 1e-6
    for k in range(3):
        for r, x in enumerate(rows):
            expected, mean, spread = slow_posterior(factors, k, x)
            assert_allclose(density[k, r], expected, rtol=tolerance)
            assert_allclose(latent[r, :, k], mean, atol=tolerance)
            assert_allclose(white.factor[k].T @ white.factor[k], spread, atol=tolerance)
    weights = rng.random((3, 20))
    expected = slow_moments(factors, rows, weights)
    assert_moments(factored.row_moments(factors, white, rows, t, weights), expected, tolerance)


def test_sums_tell_what_complete_rows_tell():
    rng = np.random.default_rng(3)
    factors, rows = some_factors(rng, 3, 6, 2), rng.normal(size=(20, 6))
    white, weights = factored.whiten(factors), rng.random((3, 20))
    outer = np.stack([(rows.T * weight) @ rows for weight in weights])
    sums = (weights.sum(axis=1), weights @ rows, np.einsum("kii->ki", outer), white.slope @ outer)
    moments, density = factored.sum_moments(factors, white, *sums)
    assert_moments(moments, slow_moments(factors, rows, weights))
    by_row = factored.log_density(factors, white, rows)[0]
    assert_allclose(density, (weights * by_row).sum(axis=1), rtol=1e-10)


def test_full_covariances_of_factors():
    factors = some_factors(np.random.default_rng(4), 3, 6, 2)
    full = factored.to_gaussians(factors, factored.whiten(factors))
    expected = gaussian.from_covariance(factors.mean, full_covariance(factors))
    for ours, theirs in zip(full, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def exact_squares(factors, x):
    """(x - mean)' covariance^-1 (x - mean) of the only Gaussian, in fractions."""
    exact = np.vectorize(Fraction, otypes=[object])
    shown = np.flatnonzero(~np.isnan(x))
    loadings, noise = exact(factors.loadings[0][shown]), exact(factors.noise[0][shown])
    distance = exact(x[shown]) - exact(factors.mean[0][shown])
    system = np.column_stack([loadings @ loadings.T + np.diag(noise), distance])
    for i in range(len(shown)):
        system[i] /= system[i, i]
        for j in range(len(shown)):
            if j != i:
                system[j] -= system[j, i] * system[i]
    return float(distance @ system[:, -1])


def test_columns_that_repeat_each_other_keep_their_digits():
    """Squares of 1e6 and more cancel here: a difference of them would keep eight digits less."""
    rng = np.random.default_rng(5)
    loadings = rng.normal(size=(1, 6, 2))
    loadings[:, 1], loadings[:, 3] = 2 * loadings[:, 0], loadings[:, 0]
    noise = np.array([[1e-6, 1e-6, 0.5, 1e-6, 0.3, 0.8]])
    factors = factored.Factors(rng.normal(size=(1, 6)), loadings, noise)
    u = 3.0 * rng.normal(size=(30, 2))
    rows = factors.mean + u @ loadings[0].T + np.sqrt(noise) * rng.normal(size=(30, 6))
    white = factored.whiten(factors)
    complete, _ = factored.log_density(factors, white, rows)
    constant = 6 * np.log(2 * np.pi) + white.log_det[0]
    expected = [-0.5 * (constant + exact_squares(factors, x)) for x in rows]
    assert white.steep.all()
    assert_allclose(complete[0], expected, rtol=1e-8)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    patterns, _ = gaussian.group_patterns(rows)
    found = factored.condition(factors, patterns)
    n_shown = patterns.observed.sum(axis=1)
    constant = (n_shown * np.log(2 * np.pi) + found.log_det[:, 0])[patterns.pattern]
    expected = [exact_squares(factors, x) for x in patterns.rows]
    assert_allclose(-2.0 * found.log_density[:, 0] - constant, expected, rtol=1e-7, atol=1e-8)
