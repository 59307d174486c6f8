"""Discrete networks against the full joint distribution, summed row by row."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.discrete import _network as network
from latentclass.discrete._network import Structure

DIAMOND = Structure((2, 3, 2, 3), ((), (0,), (0,), (1, 2)), (True, True, False, True))
TREE = Structure((3, 2, 2, 2), ((), (0,), (1,), (1,)), (True,) * 4)
LOOSE = Structure((2, 2, 3), ((), (), ()), (True,) * 3)


def random_tables(structure, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.gamma(1.0, size=(n_classes, structure.n_entries))
    for first, end in zip(
        structure.group_starts, [*structure.group_starts[1:], structure.n_entries], strict=True
    ):
        theta[:, first:end] /= theta[:, first:end].sum(axis=1, keepdims=True)
    shared = np.repeat(~np.array(structure.class_parent), np.diff(structure.offsets))
    theta[:, shared] = theta[:1, shared]
    return np.log(theta)


def slow_joint(structure, log_theta, x, k):
    """log p(x | k) of a whole row, family by family."""
    total = 0.0
    for j, table in enumerate(structure.tables(log_theta)):
        total += table[(k, *(x[p] for p in structure.parents[j]), x[j])]
    return total


def slow_log_likelihood(structure, log_theta, row, k, join):
    choices = [range(r) if x < 0 else [x] for x, r in zip(row, structure.n_levels, strict=True)]
    return join([slow_joint(structure, log_theta, x, k) for x in product(*choices)])


@pytest.mark.parametrize("structure", [DIAMOND, TREE, LOOSE], ids=["diamond", "tree", "loose"])
@pytest.mark.parametrize("maximise", [False, True])
@pytest.mark.parametrize("block_size", [2**21, 1])
def test_holes_are_summed_out_exactly(structure, maximise, block_size, monkeypatch):
    monkeypatch.setattr(network, "BLOCK_ENTRIES", block_size)
    log_theta = random_tables(structure)
    every = np.array(list(product(*(range(-1, r) for r in structure.n_levels))), dtype=np.int32)
    got = network.log_likelihood(structure, log_theta, every, maximise=maximise)
    join = np.max if maximise else np.logaddexp.reduce
    expected = [
        [slow_log_likelihood(structure, log_theta, row, k, join) for k in range(2)] for row in every
    ]
    assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("structure", [DIAMOND, TREE, LOOSE], ids=["diamond", "tree", "loose"])
@pytest.mark.parametrize("impossible", [False, True])
def test_without_each_attribute_is_the_row_with_a_hole(structure, impossible):
    log_theta = random_tables(structure)
    if impossible:
        log_theta[:, ::5] = -np.inf
    every = np.array(list(product(*(range(-1, r) for r in structure.n_levels))), dtype=np.int32)
    found = network.without_each(structure, log_theta, every)
    for j in range(every.shape[1]):
        without = every.copy()
        without[:, j] = -1
        expected = network.log_likelihood(structure, log_theta, without)
        shown = every[:, j] >= 0
        assert_allclose(found[shown, j], expected[shown], rtol=1e-12, atol=1e-12)
        assert np.all(found[~shown, j] == 0.0)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    log_theta = random_tables(DIAMOND)
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(-1, r, 40) for r in DIAMOND.n_levels], axis=1).astype(np.int32)
    together = network.log_likelihood(DIAMOND, log_theta, codes)
    alone = [network.log_likelihood(DIAMOND, log_theta, codes[i : i + 1])[0] for i in range(40)]
    assert together.tolist() == np.array(alone).tolist()


def test_a_long_chain_of_holes_sums_to_one():
    n = 80
    chain = Structure((3,) * n, ((), *((j,) for j in range(n - 1))), (True,) * n)
    log_theta = random_tables(chain)
    value = network.log_likelihood(chain, log_theta, np.full((1, n), -1, dtype=np.int32))
    assert_allclose(value, 0.0, atol=1e-10)


def test_a_star_with_more_combinations_than_an_integer_holds_sums_to_one():
    # the hub with all its 39 neighbours would need 1000 * 4**39 entries: not where to begin
    tree = Structure((1000, *(4,) * 39), ((), *((0,),) * 39), (True,) * 40)
    log_theta = random_tables(tree)
    value = network.log_likelihood(tree, log_theta, np.full((1, 40), -1, dtype=np.int32))
    assert_allclose(value, 0.0, atol=1e-10)


def test_tables_too_large_for_one_row_are_refused(monkeypatch):
    monkeypatch.setattr(network, "MAX_ENTRIES", 10)
    with pytest.raises(ValueError, match=r"Summing out 4 missing attributes .* Lower max_parents"):
        network.log_likelihood(DIAMOND, random_tables(DIAMOND), np.full((1, 4), -1, np.int32))


def test_counts_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(-1, r, 50) for r in DIAMOND.n_levels], axis=1).astype(np.int32)
    y, weight = rng.integers(0, 2, 50), rng.uniform(1, 2, 50)
    got = DIAMOND.tables(DIAMOND.counts(codes, y, weight, 2))
    for j, parents in enumerate(DIAMOND.parents):
        expected = np.zeros_like(got[j])
        for row, k, w in zip(codes, y, weight, strict=True):
            family = [row[v] for v in (*parents, j)]
            if min(family) >= 0:
                expected[(k, *family)] += w
        assert_allclose(got[j], expected, rtol=1e-12)


def test_order_puts_parents_first_and_refuses_cycles():
    assert Structure((2,) * 3, ((1,), (2,), ()), (True,) * 3).order == (2, 1, 0)
    with pytest.raises(ValueError, match=r"The arcs make a cycle among the attributes \[0, 1\]"):
        _ = Structure((2,) * 3, ((1,), (0,), ()), (True,) * 3).order


def test_relabelled_network_is_the_same_distribution():
    turned = DIAMOND.relabel([3, 1, 0, 2])
    assert turned == Structure((2, 3, 3, 2), ((3,), (3,), (0, 1), ()), (False, True, True, True))


def test_drawn_rows_have_the_probabilities():
    log_theta = random_tables(DIAMOND)
    drawn = network.draw_codes(DIAMOND, log_theta, np.ones(40_000, int), np.random.default_rng(0))
    for x in product(*map(range, DIAMOND.n_levels)):
        share = np.mean((drawn == x).all(axis=1))
        assert_allclose(share, np.exp(slow_joint(DIAMOND, log_theta, x, 1)), atol=0.01)
