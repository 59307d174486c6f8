"""Bent columns: against scipy, plain derivatives and integrals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from latentclass.engine._power_transform import (
    PowerTransform,
    Round,
    _best_power,
    learn_power_transform,
)


def long_tail(n_rows=400, seed=0):
    """A column with a long right tail, one with a long left tail, one that is Gaussian."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, n_rows))
    values = np.stack([np.exp(1.5 * z[0]), -np.exp(z[1]), z[2]])
    values -= values.mean(axis=1, keepdims=True)
    return values / values.std(axis=1, keepdims=True)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_a_bend_is_yeo_and_johnsons(power):
    values = np.linspace(-3, 4, 41)
    one = Round(*(np.array([number]) for number in (power, -3.0, 4.0, 0.0, 1.0)))
    assert_allclose(one.apply(values[None])[0], stats.yeojohnson(values, power), atol=1e-12)


def test_the_power_is_that_of_the_highest_likelihood():
    values = long_tail()
    found = _best_power(values, np.ones(values.shape[1]))
    grid = np.linspace(0, 2, 2001)
    for row, power in zip(values, found, strict=True):
        heights = [stats.yeojohnson_llf(p, row) - 0.5 * (p - 1) ** 2 for p in grid]
        assert_allclose(power, grid[np.argmax(heights)], atol=0.006)


def test_tails_are_drawn_in_and_what_is_gaussian_stays():
    values = long_tail()
    bent = learn_power_transform(values, np.ones(values.shape[1])).apply(values)
    assert_allclose(bent.mean(axis=1), 0.0, atol=1e-12)
    assert_allclose(bent.std(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.abs(stats.skew(values, axis=1)[:2]) > 2)
    assert np.all(np.abs(stats.skew(bent, axis=1)) < 0.35)
    assert_allclose(bent[2], values[2], atol=0.2)


def test_bending_goes_back_and_its_slope_is_the_derivative():
    values = long_tail()
    bends = learn_power_transform(values, np.ones(values.shape[1]))
    # beyond what was seen too
    probes = np.linspace(values.min(axis=1) - 5, values.max(axis=1) + 5, 997).T
    bent = bends.apply(probes)
    assert np.all(np.diff(bent, axis=1) > 0)
    assert_allclose(bends.undo(bent), probes, rtol=1e-8, atol=1e-8)
    step = 1e-6
    slope = (bends.apply(probes + step) - bends.apply(probes - step)) / (2 * step)
    assert_allclose(np.exp(bends.log_slope(probes)), slope, rtol=1e-4)


def test_weight_two_is_the_row_twice_and_holes_are_left_out():
    values = long_tail(60)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    ours = learn_power_transform(values, weight.astype(float))
    copied = learn_power_transform(np.repeat(values, weight, axis=1), np.ones(weight.sum()))
    assert_allclose(ours.apply(values), copied.apply(values), rtol=1e-10, atol=1e-10)
    holes = np.full((3, 7), np.nan)
    beside = learn_power_transform(np.hstack([holes, values]), np.r_[np.ones(7), weight])
    assert_allclose(beside.apply(values), ours.apply(values), rtol=1e-10, atol=1e-10)
    assert np.isnan(ours.apply(holes)).all()


def test_a_mirrored_column_is_bent_in_the_mirror():
    values = long_tail()
    weight = np.ones(values.shape[1])
    one, other = learn_power_transform(values, weight), learn_power_transform(-values, weight)
    assert_allclose(other.apply(-values), -one.apply(values), atol=0.05)


def test_some_columns_and_none():
    values = long_tail()
    bends = learn_power_transform(values, np.ones(values.shape[1]))
    part = np.array([2, 0])
    assert_allclose(bends.take(part).apply(values[part]), bends.apply(values)[part], rtol=1e-12)
    assert PowerTransform().apply(values) is values
    assert not PowerTransform().log_slope(values).any()
