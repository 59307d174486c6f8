"""AODE and hidden naive Bayes against their formulas, summed row by row."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.discrete import _one_dependence as pairs
from latentclass.engine._counts import conditional_mutual_information, level_offsets, pair_counts

N_LEVELS = (2, 3, 2)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    codes = np.stack([np.minimum(rng.integers(0, r, 60), y + 1) for r in N_LEVELS], axis=1)
    codes[0] = [0, 2, 0]  # level 2 of column 1 is rare
    codes[1:, 1] = np.minimum(codes[1:, 1], 1)
    codes[rng.random(codes.shape) < 0.1] = -1
    codes[0, 1] = 2
    return codes.astype(np.int32), y


def slow_aode(codes, y, alpha, limit, x, k):
    """Unnormalised p(x, k) of a whole row, straight from the rows."""
    n_classes = 2
    total, frequent = 0.0, False
    for i, a in enumerate(x):
        if np.sum(codes[:, i] == a) < limit:
            continue
        frequent = True
        here = (y == k) & (codes[:, i] == a)
        seen = np.sum(codes[:, i] >= 0)
        term = (here.sum() + alpha) / (seen + alpha * n_classes * N_LEVELS[i])
        for j, b in enumerate(x):
            if j != i:
                both = here & (codes[:, j] >= 0)
                term *= (np.sum(both & (codes[:, j] == b)) + alpha) / (
                    both.sum() + alpha * N_LEVELS[j]
                )
        total += term
    if not frequent:
        total = (np.sum(y == k) + alpha) / (len(y) + n_classes * alpha)
        for j, b in enumerate(x):
            here = (y == k) & (codes[:, j] >= 0)
            total *= (np.sum(here & (codes[:, j] == b)) + alpha) / (
                here.sum() + alpha * N_LEVELS[j]
            )
    return total


@pytest.mark.parametrize("limit", [1, 30, 45, 1000])
@pytest.mark.parametrize("block_size", [2**20, 1])
def test_aode_without_each_column_is_the_row_with_a_hole(rows, limit, block_size, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK_ENTRIES", block_size)
    codes, y = rows
    counts = pairs.stack_counts(codes, y, np.ones(60), 2, N_LEVELS)
    model = pairs.aode_tables(counts, np.bincount(y).astype(float), N_LEVELS, 0.5, limit)
    every = np.array(list(product(*(range(-1, r) for r in N_LEVELS))), dtype=np.int32)
    found = pairs.aode_without_each(model, every)
    for j in range(len(N_LEVELS)):
        without = every.copy()
        without[:, j] = -1
        shown = every[:, j] >= 0
        expected = pairs.aode_log_likelihood(model, without)
        assert_allclose(found[shown, j], expected[shown], rtol=1e-12, atol=1e-12)
        assert np.all(found[~shown, j] == 0.0)


@pytest.mark.parametrize("limit", [1, 30, 45, 1000])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_aode_is_a_joint_distribution_and_holes_are_summed_out(rows, alpha, limit):
    codes, y = rows
    counts = pairs.stack_counts(codes, y, np.ones(60), 2, N_LEVELS)
    model = pairs.aode_tables(counts, np.bincount(y) * 1.0, N_LEVELS, alpha, limit)
    every = list(product(*(range(r) for r in N_LEVELS)))
    slow = {x: np.array([slow_aode(codes, y, alpha, limit, x, k) for k in range(2)]) for x in every}
    z = sum(v.sum() for v in slow.values())
    holes = np.array(list(product(*(range(-1, r) for r in N_LEVELS))), dtype=np.int32)
    got = np.exp(pairs.aode_log_likelihood(model, holes) + model.log_prior)
    for row, value in zip(holes, got, strict=True):
        choices = [range(r) if v < 0 else [v] for v, r in zip(row, N_LEVELS, strict=True)]
        expected = sum(slow[x] for x in product(*choices)) / z
        assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.parametrize("limit", [1, 30, 1000])
def test_aode_draws_from_its_joint(rows, limit):
    codes, y = rows
    counts = pairs.stack_counts(codes, y, np.ones(60), 2, N_LEVELS)
    model = pairs.aode_tables(counts, np.bincount(y) * 1.0, N_LEVELS, 1.0, limit)
    drawn = pairs.draw_aode(model, np.ones(30_000, int), np.random.default_rng(0))
    every = np.array(list(product(*(range(r) for r in N_LEVELS))), dtype=np.int32)
    shares = [np.mean((drawn == x).all(axis=1)) for x in every]
    assert_allclose(shares, np.exp(pairs.aode_log_likelihood(model, every))[:, 1], atol=0.012)


@pytest.mark.parametrize("columns", [(0, 1, 2), (0, 2), (1,), ()])
def test_hidden_naive_bayes_is_the_model_without_the_missing_columns(rows, columns):
    codes, y = rows
    offsets = level_offsets(N_LEVELS)
    counts = pair_counts(codes, y, np.ones(60), 2, offsets)
    information = conditional_mutual_information(counts, offsets)
    stacked = pairs.stack_counts(codes, y, np.ones(60), 2, N_LEVELS)
    model = pairs.hidden_tables(stacked, pairs.hidden_weights(information), N_LEVELS, 1.0)
    every = np.array(list(product(*(range(r) for r in N_LEVELS))), dtype=np.int32)
    hidden = [j for j in range(3) if j not in columns]
    every[:, hidden] = -1
    got = np.exp(pairs.hidden_log_likelihood(model, every))
    for x, value in zip(every, got, strict=True):
        for k in range(2):
            expected = 1.0
            for i in columns:
                others = [j for j in columns if j != i]
                shares = []
                for j in others:
                    here = (y == k) & (codes[:, j] == x[j]) & (codes[:, i] >= 0)
                    shares.append(
                        (np.sum(here & (codes[:, i] == x[i])) + 1 / N_LEVELS[i]) / (here.sum() + 1)
                    )
                here = (y == k) & (codes[:, i] >= 0)
                alone = (np.sum(here & (codes[:, i] == x[i])) + 1 / N_LEVELS[i]) / (here.sum() + 1)
                weight = information[i, others]
                expected *= weight @ shares / weight.sum() if others else alone
            assert_allclose(value[k], expected, rtol=1e-9)


@pytest.mark.parametrize("least", [0, -1], ids=["complete", "with holes"])
@pytest.mark.parametrize("product_time", [0.0, 1e9])
def test_picked_sums_are_those_of_a_loop(product_time, least, monkeypatch):
    monkeypatch.setattr(pairs, "PRODUCT_TIME", product_time)
    rng = np.random.default_rng(1)
    offsets = level_offsets(N_LEVELS)
    table = rng.random((7, 7, 2))
    for first, end in pairwise(offsets):
        table[first:end, first:end] = 0.0
    codes = np.stack([rng.integers(least, r, 20) for r in N_LEVELS], axis=1)
    level = np.where(codes >= 0, codes + offsets[:-1], -1)
    got = pairs.picked_sums(table, level)
    for row in range(20):
        shown = np.flatnonzero(codes[row] >= 0)
        for i in shown:
            expected = sum(table[level[row, i], level[row, j]] for j in shown)
            assert_allclose(got[i, row], expected, rtol=1e-12)


def test_features_name_each_cell_once():
    features = partial(pairs.pair_entries, (2, 2))
    shown = features(np.array([[1, 0], [-1, 1]], dtype=np.int32))
    # singles 0 to 3, then pairs at 4 + 4 a + b
    assert shown.tolist() == [[1, 2, 4 + 4 * 1 + 2, 4 + 4 * 2 + 1], [-1, 3, -1, -1]]
