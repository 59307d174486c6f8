"""Batches of Gaussians, compared with scipy one Gaussian at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian


def some_gaussians(rng, k, n):
    factor = rng.normal(size=(k, n, n))
    covariance = factor @ factor.transpose(0, 2, 1) + 0.3 * np.eye(n)
    return gaussian.from_covariance(rng.normal(size=(k, n)), covariance)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_log_density_is_scipys(n):
    rng = np.random.default_rng(n)
    many, rows = some_gaussians(rng, 4, n), rng.normal(size=(30, n))
    expected = [
        multivariate_normal(m, c).logpdf(rows)
        for m, c in zip(many.mean, many.covariance, strict=True)
    ]
    assert_allclose(gaussian.log_density(many, gaussian.features(rows)), expected, rtol=1e-10)


def test_narrow_gaussians_keep_their_digits():
    rng = np.random.default_rng(0)
    mean = np.array([[3.0, -2.0]])
    rows = mean + 1e-7 * rng.normal(size=(20, 2))
    many = gaussian.from_covariance(mean, 1e-14 * np.eye(2)[None])
    expected = multivariate_normal([0, 0], np.eye(2)).logpdf((rows - mean) * 1e7) + 14 * np.log(10)
    assert_allclose(gaussian.log_density(many, gaussian.features(rows))[0], expected, rtol=1e-7)


def test_moments_are_weighted_sums():
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(25, 3)), rng.random((4, 25))
    moments = gaussian.unpack_moments(weights @ gaussian.features(rows).T)
    for k in range(4):
        assert_allclose(moments.weight[k], weights[k].sum())
        assert_allclose(moments.total[k], weights[k] @ rows)
        assert_allclose(moments.square[k], (rows.T * weights[k]) @ rows)
    assert_allclose(gaussian.pack_moments(moments), weights @ gaussian.features(rows).T)


@pytest.mark.parametrize("n", range(7))
def test_features_tell_the_columns(n):
    assert gaussian.count_columns(gaussian.count_features(n)) == n


@pytest.mark.parametrize("n_rows", [6, 200], ids=["rare patterns", "frequent patterns"])
def test_rows_with_holes_are_conditioned_one_by_one(n_rows):
    rng = np.random.default_rng(2)
    many = some_gaussians(rng, 3, 4)
    rows = rng.normal(size=(n_rows, 4))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[0] = np.nan
    patterns, order = gaussian.group_patterns(rows)
    weights = rng.random((n_rows, 3))
    conditioned = gaussian.condition(many, patterns)
    moments = gaussian.conditional_moments(many, patterns, conditioned, weights[order])
    total, square = np.zeros((3, 4)), np.zeros((3, 4, 4))
    for place, i in enumerate(order):
        shown = ~np.isnan(rows[i])
        for k in range(3):
            mean, covariance = many.mean[k], many.covariance[k]
            x, spread = mean.copy(), covariance.copy()
            density = 0.0
            if shown.any():
                part = covariance[np.ix_(shown, shown)]
                density = multivariate_normal(mean[shown], part).logpdf(rows[i, shown])
                gain = covariance[:, shown] @ np.linalg.inv(part)
                x = mean + gain @ (rows[i, shown] - mean[shown])
                spread = covariance - gain @ covariance[shown]
            assert_allclose(conditioned.log_density[place, k], density, atol=1e-10)
            assert_allclose(conditioned.shift[place, k], x - mean, atol=1e-10)
            total[k] += weights[i, k] * x
            square[k] += weights[i, k] * (np.outer(x, x) + spread)
    assert_allclose(moments.weight, weights.sum(axis=0))
    assert_allclose(moments.total, total, atol=1e-9)
    assert_allclose(moments.square, square, atol=1e-9)


def test_patterns_are_split_without_loss():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 3))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[:, 0] = np.where(np.isnan(rows).all(axis=1), 0.0, rows[:, 0])
    patterns, _ = gaussian.group_patterns(rows)
    for most_rows, most_patterns in ((1, None), (5, 2), (30, 3), (40, None)):
        parts = gaussian.split_patterns(patterns, most_rows, most_patterns)
        assert max(len(part.rows) for part in parts) <= most_rows
        assert max(len(part.observed) for part in parts) <= (most_patterns or most_rows)
        assert_allclose(np.concatenate([part.rows for part in parts]), patterns.rows)
        for part in parts:
            assert np.array_equal(~np.isnan(part.rows), part.observed[part.pattern])


@pytest.mark.parametrize("n", [0, 1, 8, 64, 65, 130])
def test_rows_of_a_pattern_are_neighbours(n):
    rng = np.random.default_rng(n)
    kinds = rng.random((5, n)) < 0.5
    rows = np.where(kinds[rng.integers(0, 5, 60)], np.nan, rng.normal(size=(60, n)))
    patterns, order = gaussian.group_patterns(rows)
    assert sorted(order) == list(range(60))
    np.testing.assert_array_equal(patterns.rows, rows[order])
    np.testing.assert_array_equal(~np.isnan(patterns.rows), patterns.observed[patterns.pattern])
    assert np.all(np.diff(patterns.pattern) >= 0)
    assert len(np.unique(patterns.observed, axis=0)) == len(patterns.observed)


def test_sums_of_patterns_are_those_of_their_rows():
    rng = np.random.default_rng(12)
    rows = np.where(rng.random((40, 3)) < 0.4, np.nan, rng.normal(size=(40, 3)))
    patterns, _ = gaussian.group_patterns(rows)
    weights = rng.random((2, 40))
    found = gaussian.sum_patterns(patterns, weights)
    for p in range(len(patterns.observed)):
        mine = patterns.pattern == p
        block = np.nan_to_num(patterns.rows[mine])
        for g in range(2):
            weight = weights[g, mine]
            assert_allclose(found.weight[g, p], weight.sum())
            assert_allclose(found.total[g, p], weight @ block)
            assert_allclose(found.square[g, p], (block.T * weight) @ block)


def test_singular_matrices_do_not_stop_the_others():
    good, bad = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 2))
    inverse, log_det = gaussian.invert(np.stack([good, bad]))
    assert_allclose(inverse[0], np.linalg.inv(good), rtol=1e-10)
    assert_allclose(log_det[0], np.linalg.slogdet(good)[1], rtol=1e-10)
    assert np.isfinite(inverse).all()
    assert np.isfinite(log_det).all()


@pytest.mark.parametrize("hidden", [[], [1, 4]], ids=["complete", "with holes"])
@pytest.mark.parametrize("form", ["full", "factored"])
def test_a_column_left_out_is_integrated_out(hidden, form):
    rng = np.random.default_rng(6)
    factors = factored.Factors(
        rng.normal(size=(3, 6)), rng.normal(size=(3, 6, 2)), rng.uniform(0.1, 1.0, (3, 6))
    )
    many = factored.to_gaussians(factors, factored.whiten(factors))
    covariance = many.covariance
    rows = rng.normal(size=(4, 6))
    rows[:, hidden] = np.nan
    leave_out = {
        "full": lambda: gaussian.leave_out(many, rows),
        "factored": lambda: factored.leave_out(factors, rows),
    }[form]
    found = leave_out()
    assert found.log_density.shape == found.exact.shape == (3, 4, 6)
    shown = np.setdiff1d(np.arange(6), hidden)
    assert found.exact[..., shown].all()
    for j in shown:
        rest = shown[shown != j]
        for k in range(3):
            one = multivariate_normal(many.mean[k, rest], covariance[k][np.ix_(rest, rest)])
            assert_allclose(found.log_density[k, :, j], one.logpdf(rows[:, rest]), rtol=1e-10)


def test_a_column_whose_value_drowns_the_others_is_not_left_out_by_a_difference():
    many = some_gaussians(np.random.default_rng(8), 2, 3)
    rows = np.array([[0.0, 1e9, 0.0]])
    found = gaussian.leave_out(many, rows)
    assert found.exact[:, 0].tolist() == [[True, False, True]] * 2


def test_conditioning_in_parts_equals_conditioning_at_once(monkeypatch):
    rng = np.random.default_rng(7)
    many, rows = some_gaussians(rng, 2, 3), rng.normal(size=(40, 3))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    patterns, _ = gaussian.group_patterns(rows)
    whole = gaussian.condition(many, patterns)
    monkeypatch.setattr(gaussian, "BLOCK_VALUES", 40)
    seen = []
    for place, part, conditioned in gaussian.condition_parts(many, patterns):
        seen.extend(range(place.start, place.stop))
        np.testing.assert_array_equal(part.rows, patterns.rows[place])
        assert_allclose(conditioned.log_density, whole.log_density[place], atol=1e-12)
        assert_allclose(conditioned.shift, whole.shift[place], atol=1e-12)
    assert seen == list(range(40))


def test_moved_moments_are_those_of_moved_rows():
    rng = np.random.default_rng(8)
    rows, weights = rng.normal(size=(25, 3)), rng.random((4, 25))
    shift, scale = rng.normal(size=3), rng.uniform(0.5, 2.0, 3)
    moments = gaussian.unpack_moments(weights @ gaussian.features(rows).T)
    found = gaussian.move_moments(moments, shift, scale)
    moved = (rows - shift) / scale
    for k in range(4):
        assert_allclose(found.weight[k], weights[k].sum())
        assert_allclose(found.total[k], weights[k] @ moved, atol=1e-12)
        assert_allclose(found.square[k], (moved.T * weights[k]) @ moved, atol=1e-12)
