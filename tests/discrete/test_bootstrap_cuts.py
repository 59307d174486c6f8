"""Cut points on redrawn weights: spread, and what must not matter."""

import numpy as np
from numpy.testing import assert_allclose

from latentclass.discrete._bootstrap_cuts import redrawn_cuts
from latentclass.engine._mdl import mdl_cut_points

SEEDS = list(range(40))


def noisy_step(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, n_rows)
    return values, (values + rng.normal(0, 0.3, n_rows) > 0).astype(int)


def equal(some, others):
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def test_cuts_lie_about_those_of_the_rows_and_closer_with_more_rows():
    spread = []
    for n_rows in (100, 10_000):
        values, y = noisy_step(n_rows)
        drawn = [cuts for cuts in redrawn_cuts(values, y, np.ones(n_rows), 2, SEEDS) if len(cuts)]
        middle = [float(cuts[np.abs(cuts).argmin()]) for cuts in drawn]
        plain = mdl_cut_points(values, y, np.ones(n_rows), 2)
        assert min(middle) <= plain[np.abs(plain).argmin()] <= max(middle)
        spread.append(np.std(middle))
    assert spread[0] > 2 * spread[1] > 0


def test_a_large_weight_is_hardly_redrawn():
    values, y = noisy_step(60)
    plain = mdl_cut_points(values, y, np.full(60, 1e9), 2)
    for cuts in redrawn_cuts(values, y, np.full(60, 1e9), 2, SEEDS[:5]):
        assert_allclose(cuts, plain)


def test_order_of_rows_and_classes_and_scale_do_not_matter():
    values, y = noisy_step(80)
    weight = np.linspace(0.5, 2, 80)
    drawn = redrawn_cuts(values, y, weight, 2, SEEDS)
    assert len({tuple(cuts) for cuts in drawn}) > 2
    order = np.random.default_rng(1).permutation(80)
    assert equal(drawn, redrawn_cuts(values[order], y[order], weight[order], 2, SEEDS))
    assert equal(drawn, redrawn_cuts(values, 1 - y, weight, 2, SEEDS))
    larger = redrawn_cuts(values * 4, y, weight, 2, SEEDS)
    assert equal(drawn, [cuts / 4 for cuts in larger])


def test_weight_two_is_the_row_twice_and_missing_cells_count_for_nothing():
    values, y = noisy_step(70)
    twice = redrawn_cuts(values, y, np.full(70, 2.0), 2, SEEDS[:10])
    copies = redrawn_cuts(np.tile(values, 2), np.tile(y, 2), np.ones(140), 2, SEEDS[:10])
    assert equal(twice, copies)
    holes = redrawn_cuts(
        np.r_[values, np.nan, np.nan], np.r_[y, 0, 1], np.full(72, 2.0), 2, SEEDS[:10]
    )
    assert equal(twice, holes)


def test_weights_may_be_tiny_or_the_column_empty():
    values, y = noisy_step(30)
    for cuts in redrawn_cuts(values, y, np.full(30, 1e-6), 2, SEEDS):
        assert np.isfinite(cuts).all()
    assert redrawn_cuts(np.full(3, np.nan), np.zeros(3, int), np.ones(3), 2, [1])[0].size == 0
