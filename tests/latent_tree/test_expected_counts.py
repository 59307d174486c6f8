"""Expected counts of whole tables: weights, blocks and threads."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tree_reference import made, random_rows, random_tables, random_tree, slow_counts, slow_log

from latentclass.latent_tree import _expected_counts as plan_module
from latentclass.latent_tree import _row_patterns as rows_module
from latentclass.latent_tree import _schedule as program_module
from latentclass.latent_tree._expected_counts import expected_counts, plan_rows
from latentclass.latent_tree._inference import node_posteriors, row_log_likelihood
from latentclass.latent_tree._row_patterns import group_rows
from latentclass.latent_tree._tree import Tree, observed_codes, sample_nodes


def test_counts_of_several_starts_in_several_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 4)
    tree = random_tree(1, n_leaves=5)
    rng = np.random.default_rng(1)
    codes, weight = random_rows(tree, 15, rng), rng.uniform(0.5, 2, 15)
    plan = plan_rows(tree, group_rows(codes, weight))
    assert len(plan.parts) > 1
    theta = np.stack([tree.theta, random_tables(tree, rng).theta])
    counts, total = expected_counts(plan, theta)
    for start in range(2):
        other = tree.with_theta(theta[start])
        expected = slow_counts(other, codes, weight)
        assert_allclose(counts[start], expected, rtol=1e-10, atol=1e-13)
        log_p = [slow_log(other, row) for row in codes]
        assert_allclose(total[start], weight @ log_p, rtol=1e-11)


def test_a_plan_can_be_pickled_after_use():
    tree = random_tree(1, n_leaves=5)
    plan = plan_rows(tree, group_rows(random_rows(tree, 9, np.random.default_rng(0))))
    before = expected_counts(plan, tree.theta[None])
    after = expected_counts(pickle.loads(pickle.dumps(plan)), tree.theta[None])
    for a, b in zip(before, after, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("weights", [(1.0,), (2.0, 2.0, 2.0, 1.0), (0.0, 0.0, 0.0, 3.0)])
@pytest.mark.parametrize("n_leaves", [4, 200])
def test_the_log_likelihood_is_the_weighted_sum_over_rows(weights, n_leaves):
    rng = np.random.default_rng(0)
    shape = Tree.even((-1, *(0,) * n_leaves), (3,) * (n_leaves + 1), (-1, *range(n_leaves)))
    tree = random_tables(shape, rng, zeros=0.1)
    codes = observed_codes(tree, sample_nodes(tree, 60, rng))
    if weights[0] == 0.0:
        codes[::7] = rng.integers(0, 3, codes[::7].shape)  # some are impossible
    rows = group_rows(codes)
    n_rows = len(rows.blocks[0].codes)
    weight = np.resize(weights, n_rows)
    log_p = row_log_likelihood(tree, rows.blocks[0].codes)
    weight[np.isneginf(log_p)] = 0.0
    plan = plan_rows(tree, group_rows(rows.blocks[0].codes, weight))
    _, total = expected_counts(plan, tree.theta[None])
    assert_allclose(total[0], log_p[weight > 0] @ weight[weight > 0], rtol=1e-13)
    if np.isneginf(log_p).any():
        plan = plan_rows(tree, group_rows(rows.blocks[0].codes))
        assert expected_counts(plan, tree.theta[None])[1][0] == -np.inf


@pytest.mark.parametrize("own_share", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("states", [1, 2, 3, 4, 5, 7])
def test_any_number_of_states(states, own_share, monkeypatch):
    monkeypatch.setattr(program_module, "OWN_SHARE", own_share)
    shape = Tree.even(
        (-1, 0, 0, 1, 1, 1, 2, 2), (states, states, 2, 3, 2, 3, 2, 2), (-1, -1, -1, 0, 1, 2, 3, 4)
    )
    rng = np.random.default_rng(states)
    tree, codes, weight = random_tables(shape, rng), random_rows(shape, 10, rng), rng.random(10)
    counts, _ = expected_counts(plan_rows(tree, group_rows(codes, weight)), tree.theta[None])
    assert_allclose(counts[0], slow_counts(tree, codes, weight), rtol=1e-10, atol=1e-13)


def test_inputs_in_step_with_their_site_give_the_same_answer(monkeypatch):
    tree = Tree.even((-1, 0, 1, 2, 0, 1, 2, 3, 3), (3,) * 4 + (4,) * 5, (-1,) * 4 + tuple(range(5)))
    rows = np.random.default_rng(0).integers(-1, 4, (200, 5))
    theta = random_tables(tree, np.random.default_rng(1)).theta[None]
    found = []
    for share in (1.0, 0.5):
        monkeypatch.setattr(program_module, "OWN_SHARE", share)
        found.append(expected_counts(plan_rows(tree, group_rows(rows)), theta))
    looked_up, in_step = found
    assert_allclose(in_step[0], looked_up[0], rtol=1e-12)
    assert_allclose(in_step[1], looked_up[1], rtol=1e-14)


class TestThreads:
    def test_results_are_the_same_to_the_bit(self, monkeypatch):
        monkeypatch.setattr(plan_module, "THREAD_WORK", 0)
        monkeypatch.setattr(rows_module, "BLOCK_ROWS", 50)
        tree = random_tree(2, n_latent=5, n_leaves=12)
        rng = np.random.default_rng(0)
        codes = random_rows(tree, 600, rng)
        rows = group_rows(codes, rng.random(600))
        assert len(rows.blocks) > 4
        theta = np.stack([random_tables(tree, rng).theta for _ in range(5)])
        plan = plan_rows(tree, rows)
        one = expected_counts(plan, theta, n_jobs=1)
        for n_jobs in (2, 3):
            for a, b in zip(one, expected_counts(plan, theta, n_jobs=n_jobs), strict=True):
                assert np.array_equal(a, b)
            for function in (row_log_likelihood, node_posteriors):
                for a, b in zip(
                    function(tree, codes, n_jobs=1), function(tree, codes, n_jobs=n_jobs),
                    strict=True,
                ):  # fmt: skip
                    assert np.array_equal(a, b)

    def test_a_start_does_not_depend_on_those_beside_it(self):
        tree = random_tree(2, n_latent=4, n_leaves=9)
        rng = np.random.default_rng(0)
        plan = plan_rows(tree, group_rows(random_rows(tree, 300, rng)))
        theta = np.stack([random_tables(tree, rng).theta for _ in range(4)])
        counts, total = expected_counts(plan, theta)
        for i in range(4):
            alone, value = expected_counts(plan, theta[i : i + 1])
            assert np.array_equal(alone[0], counts[i])
            assert value[0] == total[i]


@given(
    codes=st.lists(st.lists(st.integers(-3, 4), min_size=3, max_size=3), max_size=6),
    weight=st.one_of(st.none(), st.lists(st.floats(), max_size=6)),
)
@settings(max_examples=200)
def test_any_rows_give_an_answer_or_a_plain_error(codes, weight):
    tree = random_tables(
        Tree.even((-1, 0, 0, 0), (2, 2, 3, 4), (-1, 0, 1, 2)), np.random.default_rng(0)
    )
    table = np.array(codes, dtype=int).reshape(-1, 3)

    def pass_over():
        plan = plan_rows(tree, group_rows(table, weight))
        return expected_counts(plan, tree.theta[None])

    found = made(pass_over, r"^(codes|weight|Column \d has the code)")
    if found is not None:
        total = len(table) if weight is None else math.fsum(weight)
        assert_allclose(found[0][0, :2].sum(), total, rtol=1e-9)
        assert not np.isnan(found[1]).any()
