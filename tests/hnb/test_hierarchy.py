"""Density, missing attributes, states and samples of a hierarchy, against enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.hnb import _hierarchy
from latentclass.hnb._hierarchy import (
    FilledHierarchy,
    Hierarchy,
    Tables,
    best_log_likelihood,
    count_within,
    draw_codes,
    estimate_within,
    latent_posterior,
    log_likelihood,
)


def random_model(rng, n_levels=(2, 3, 2, 3), n_classes=2):
    """Two nested latent variables over the first three attributes, the fourth alone."""
    hierarchy = Hierarchy(n_levels)
    hierarchy = hierarchy.join(0, 1, np.array([[0, 1, 0], [2, 1, 0]], dtype=np.int32))
    hierarchy = hierarchy.join(2, 4, np.array([[0, 1, 1], [1, 0, 2]], dtype=np.int32))
    codes = rng.integers(0, n_levels, (60, 4)).astype(np.int32)
    pairs = count_within(hierarchy, hierarchy.encode(codes), rng.random(60))
    within = estimate_within(hierarchy, pairs, 0.5)
    size = int(hierarchy.offsets[-1])
    theta = rng.random((n_classes, size))
    for a, b in zip(hierarchy.offsets[:-1], hierarchy.offsets[1:], strict=True):
        theta[:, a:b] /= theta[:, a:b].sum(axis=1, keepdims=True)
    return FilledHierarchy(hierarchy, Tables(np.log(theta), within))


def probability_by_hand(model, row, k):
    """The product of the module's docstring, step by step."""
    states = list(row)
    total = 1.0
    for latent, log_within in zip(model.hierarchy.latents, model.tables.log_within, strict=True):
        a, b = (states[c] for c in latent.children)
        states.append(latent.states[a, b])
        total *= math.exp(log_within[a, b])
    for v, start in zip(model.hierarchy.tops, model.hierarchy.offsets, strict=False):
        total *= math.exp(model.tables.log_theta[k, start + states[v]])
    return total


def every_row(n_levels):
    return np.array(list(product(*map(range, n_levels))), dtype=np.int32)


@pytest.fixture
def model():
    return random_model(np.random.default_rng(0))


def test_density_is_the_product_and_sums_to_one(model):
    whole = every_row(model.hierarchy.n_levels)
    expected = [[probability_by_hand(model, row, k) for k in range(2)] for row in whole]
    got = np.exp(log_likelihood(model, whole))
    assert_allclose(got, expected, rtol=1e-12)
    assert_allclose(got.sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("block", [_hierarchy.BLOCK_ENTRIES, 20])
def test_missing_attributes_are_summed_out(model, block, monkeypatch):
    monkeypatch.setattr(_hierarchy, "BLOCK_ENTRIES", block)
    n_levels = model.hierarchy.n_levels
    whole = every_row(n_levels)
    joint = np.exp(log_likelihood(model, whole))
    holes = every_row([r + 1 for r in n_levels]) - 1
    got = np.exp(log_likelihood(model, holes))
    bonus = [np.random.default_rng(1).normal(size=r) for r in n_levels]
    best = np.exp(best_log_likelihood(model, holes, bonus))
    extra = np.exp(sum(bonus[j][whole[:, j]] for j in range(4)))[:, None]
    for row, total, top in zip(holes, got, best, strict=True):
        agree = np.all((row < 0) | (whole == row), axis=1)
        assert_allclose(total, joint[agree].sum(axis=0), rtol=1e-12)
        # the best latent path is the best row, for a row decides its states
        assert_allclose(top, (joint * extra)[agree].max(axis=0), rtol=1e-12)


def test_latent_posterior_by_enumeration(model):
    n_levels = model.hierarchy.n_levels
    whole = every_row(n_levels)
    states = model.hierarchy.encode(whole)
    joint = np.exp(log_likelihood(model, whole)) * [0.3, 0.7]
    holes = every_row([r + 1 for r in n_levels]) - 1
    evidence = np.exp(log_likelihood(model, holes)) * [0.3, 0.7]
    posterior = evidence / evidence.sum(axis=1, keepdims=True)
    found = latent_posterior(model, holes, posterior)
    for i, row in enumerate(holes):
        agree = np.all((row < 0) | (whole == row), axis=1)
        weight = joint[agree].sum(axis=1)
        for t in range(2):
            share = np.bincount(states[agree, 4 + t], weight, found[t].shape[1]) / weight.sum()
            assert_allclose(found[t][i], share, rtol=1e-10, atol=1e-14)


def test_impossible_rows_tell_nothing_about_latent_variables(model):
    """Level 0 of the attribute that stands alone is impossible in all classes."""
    first = model.hierarchy.offsets[list(model.hierarchy.tops).index(3)]
    log_theta = model.tables.log_theta.copy()
    log_theta[:, first] = -np.inf
    tables = Tables(log_theta, model.tables.log_within)
    strict = FilledHierarchy(model.hierarchy, tables)
    codes = np.array([[0, 1, 1, 0], [-1, -1, -1, -1]], dtype=np.int32)
    for found in latent_posterior(strict, codes, np.array([[0.3, 0.7]] * 2)):
        assert_allclose(found[0], found[1], rtol=1e-12)
        assert_allclose(found[1].sum(), 1.0)


def test_states_are_known_where_holes_leave_one_open():
    hierarchy = Hierarchy((2, 3)).join(0, 1, np.array([[0, 1, 1], [0, 1, 2]], dtype=np.int32))
    codes = np.array([[-1, 0], [-1, 1], [-1, 2], [0, -1], [-1, -1], [1, 2]], dtype=np.int32)
    assert hierarchy.encode(codes)[:, 2].tolist() == [0, 1, -1, -1, -1, 2]
    alone = Hierarchy((2, 2)).join(0, 1, np.zeros((2, 2), dtype=np.int32))
    assert alone.encode(np.array([[-1, -1]], dtype=np.int32))[0, 2] == 0


def test_samples_have_the_model_s_probabilities(model):
    drawn = draw_codes(model, np.zeros(40_000, dtype=np.intp), np.random.default_rng(2))
    whole = every_row(model.hierarchy.n_levels)
    place = np.ravel_multi_index(drawn.T, model.hierarchy.n_levels)
    share = np.bincount(place, minlength=len(whole)) / len(drawn)
    assert_allclose(share, np.exp(log_likelihood(model, whole))[:, 0], atol=0.008)


def test_a_hundred_missing_attributes_in_one_tree_do_not_underflow():
    rng = np.random.default_rng(3)
    hierarchy = Hierarchy((8,) * 120)
    top = 0
    for j in range(1, 120):
        size = hierarchy.sizes[top]
        hierarchy = hierarchy.join(top, j, (np.arange(size * 8).reshape(size, 8) % 3).astype("i4"))
        top = len(hierarchy.sizes) - 1
    codes = rng.integers(0, 8, (20, 120)).astype(np.int32)
    pairs = count_within(hierarchy, hierarchy.encode(codes), np.ones(20))
    within = estimate_within(hierarchy, pairs, 1.0)
    model = FilledHierarchy(hierarchy, Tables(np.log([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]), within))
    whole = log_likelihood(model, codes)
    assert np.all(whole < -150)
    codes[:, 7] = -1
    parts = np.stack([log_likelihood(model, _set(codes, 7, v)) for v in range(8)])
    assert_allclose(log_likelihood(model, codes), np.logaddexp.reduce(parts), rtol=1e-10)


def _set(codes, j, value):
    codes = codes.copy()
    codes[:, j] = value
    return codes
