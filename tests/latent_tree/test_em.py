"""EM on trees: equal to a slow twin, never falling, fixed tables fixed."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tree_reference import (
    made,
    random_rows,
    random_tables,
    random_tree,
    same_up_to_states,
    seen,
    slow_counts,
)

from latentclass.engine._em import Reseeding, run_restarts
from latentclass.latent_tree import _expected_counts as plan_module
from latentclass.latent_tree import _row_patterns as rows_module
from latentclass.latent_tree._em import TreeParams, fit_tree, random_starts, tree_problem
from latentclass.latent_tree._inference import group_rows, row_log_likelihood
from latentclass.latent_tree._tree import Tree, observed_codes, reroot, sample_nodes


def slow_step(tree, codes, weight, free, alpha):
    """One step of EM, and the objective per row at the old tables."""
    objective = 0.0
    for row, w in zip(codes, weight, strict=True):
        objective += w * math.log(seen(tree, row).sum())
    tables = list(tree.tables)
    counts = tree.split(slow_counts(tree, codes, weight))
    for node in free:
        objective += alpha * np.log(tables[node]).sum() if alpha else 0.0
        new = counts[node] + alpha
        total = new.sum(axis=1, keepdims=True)
        tables[node] = np.where(total > 0, new / np.where(total > 0, total, 1), 1 / new.shape[1])
    new_tree = Tree(tree.parents, tree.cardinalities, tree.columns, tuple(tables))
    return new_tree, objective / sum(weight)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_steps_are_those_of_the_slow_twin(seed, local, alpha):
    tree = random_tree(seed, n_latent=3, inner_observed=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    codes, weight = random_rows(tree, 15, rng), rng.uniform(0.1, 2, 15)
    n_nodes = len(tree.parents)
    free = [1, n_nodes - 1] if local else list(range(n_nodes))
    problem = tree_problem(tree, codes, weight=weight, free=free, alpha=alpha)
    params = TreeParams(tree.theta[None])
    for _ in range(4):
        stats, objective = problem.e_step(params)
        after, expected = slow_step(tree, codes, weight, free, alpha)
        assert_allclose(objective, [expected], rtol=1e-11)
        params = problem.m_step(stats)
        assert_allclose(params.theta[0], after.theta, rtol=1e-9, atol=1e-14)
        tree = after


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("free", [None, [0, 3]])
def test_objective_never_falls(alpha, accelerate, free):
    truth = random_tree(4, n_latent=3, n_leaves=7)
    rng = np.random.default_rng(0)
    codes = observed_codes(truth, sample_nodes(truth, 400, rng))
    codes[rng.random(codes.shape) < 0.1] = -1
    problem = tree_problem(random_tables(truth, rng), codes, free=free, alpha=alpha)
    result = run_restarts(
        problem,
        random_starts(problem, rng.spawn(6)),
        tol=1e-9,
        max_iter=60,
        rngs=rng.spawn(6),
        accelerate=accelerate,
        halving=False,
    )
    for history in result.histories:
        assert len(history) > 2
        assert np.all(np.diff(history) >= -1e-12)
        assert history[-1] > history[0]


def test_fixed_tables_stay_fixed_to_the_bit():
    tree = random_tree(6, n_latent=4, n_leaves=8)
    rng = np.random.default_rng(0)
    codes = random_rows(tree, 200, rng)
    free = [0, 2, 5]
    for accelerate in (False, True):
        fit = fit_tree(
            tree, codes, free=free, n_init=4, max_iter=20, rng=rng, accelerate=accelerate
        )  # fmt: skip
        for node in range(len(tree.parents)):
            assert np.array_equal(fit.tree.tables[node], tree.tables[node]) == (
                node not in free or tree.cardinalities[node] == 1
            )


def test_local_em_does_not_depend_on_the_root():
    """P(leaf | parent) is learned alike wherever the root is."""
    rng = np.random.default_rng(0)
    n_leaves = 10
    shape = Tree.even(
        (-1, 0, 0, 1, *(j % 4 for j in range(n_leaves))),
        (2,) * 4 + (3,) * n_leaves,
        (-1,) * 4 + tuple(range(n_leaves)),
    )
    tree = random_tables(shape, rng)
    codes = observed_codes(tree, sample_nodes(tree, 500, rng))
    turned, order = reroot(tree, 3)
    leaf = shape.columns.index(3)
    place = order.index(leaf)
    fits = [
        fit_tree(t, codes, free=[node], tol=0.0, max_iter=30, n_init=1, from_tables=True, rng=rng)
        for t, node in ((tree, leaf), (turned, place))
    ]
    assert_allclose(fits[1].tree.tables[place], fits[0].tree.tables[leaf], rtol=1e-8)
    assert_allclose(fits[1].log_likelihood, fits[0].log_likelihood, rtol=1e-12)


def test_the_truth_is_found_again():
    sharp = np.array([[0.9, 0.1], [0.15, 0.85]])
    truth = Tree(
        (-1, 0, *(0,) * 3, *(1,) * 3), (2,) * 8, (-1, -1, *range(6)),
        ([[0.35, 0.65]], [[0.8, 0.2], [0.1, 0.9]], *[sharp] * 6),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    codes = observed_codes(truth, sample_nodes(truth, 40_000, rng))
    shape = Tree.even(truth.parents, truth.cardinalities, truth.columns)
    fit = fit_tree(shape, codes, n_init=16, tol=1e-9, max_iter=2000, rng=rng, accelerate=True)
    assert fit.result.converged
    assert same_up_to_states(truth, fit.tree, atol=0.03)
    assert fit.log_likelihood > row_log_likelihood(truth, codes).sum()


def test_the_record_of_a_fit():
    tree = random_tree(1, n_latent=2, n_leaves=6)
    rng = np.random.default_rng(3)
    codes, weight = random_rows(tree, 100, rng), rng.uniform(0, 2, 100)
    calls = []
    fit = fit_tree(
        tree,
        codes,
        weight=weight,
        n_init=8,
        tol=1e-4,
        rng=np.random.default_rng(0),
        on_iteration=lambda n, value: bool(calls.append((n, value))),
    )
    assert_allclose(fit.log_likelihood, weight @ row_log_likelihood(fit.tree, codes), rtol=1e-12)
    assert_allclose(fit.log_likelihood, fit.result.history[-1] * weight.sum(), rtol=1e-12)
    assert len(fit.result.restarts["start"]) == 8
    assert fit.result.restarts["kept"].sum() == 1
    assert calls[0][0] == 2
    smoothed = fit_tree(
        tree, codes, weight=weight, n_init=8, tol=1e-4, alpha=1.0, rng=np.random.default_rng(0)
    )
    prior = np.log(smoothed.tree.theta).sum()
    assert_allclose(
        smoothed.log_likelihood + prior, smoothed.result.history[-1] * weight.sum(), rtol=1e-10
    )


def test_the_first_start_may_be_the_tree_itself():
    tree = random_tree(1, n_latent=2, n_leaves=6)
    codes = random_rows(tree, 100, np.random.default_rng(3))
    fit = fit_tree(
        tree, codes, n_init=3, from_tables=True, max_iter=5, rng=np.random.default_rng(0)
    )
    first = row_log_likelihood(tree, codes).mean()
    assert_allclose(fit.result.histories[0][0], first, rtol=1e-12)
    assert abs(fit.result.histories[1][0] - first) > 1e-6


def test_random_starts_are_distributions_and_differ():
    tree = random_tree(2, n_latent=3, n_leaves=6)
    codes = random_rows(tree, 20, np.random.default_rng(0))
    free = [0, 4]
    problem = tree_problem(tree, codes, free=free)
    theta = random_starts(problem, np.random.default_rng(0).spawn(50)).theta
    assert_allclose(np.add.reduceat(theta, tree.distribution_starts, axis=1), 1.0)
    fixed = ~problem.free_entries
    assert np.all(theta[:, fixed] == tree.theta[fixed])
    several = problem.free_entries & (theta.std(axis=0) > 0)
    expected = sum(tree.tables[node].size for node in free if tree.cardinalities[node] > 1)
    assert several.sum() == expected > 0


def test_a_state_without_rows_gets_even_tables_and_no_nan():
    tree = Tree(
        (-1, 0, 0), (2, 2, 3), (-1, 0, 1),
        ([[1.0, 0.0]], [[0.5, 0.5], [0.1, 0.9]], np.full((2, 3), 1 / 3)),
    )  # fmt: skip
    problem = tree_problem(tree, [[0, 0], [1, 2], [1, 1]])
    stats, _ = problem.e_step(TreeParams(tree.theta[None]))
    after = tree.with_theta(problem.m_step(stats).theta[0])
    assert after.tables[0].tolist() == [[1.0, 0.0]]
    assert_allclose(after.tables[1], [[1 / 3, 2 / 3], [0.5, 0.5]])
    assert_allclose(after.tables[2], np.full((2, 3), 1 / 3))


def test_a_start_that_cannot_make_the_rows_loses():
    tree = Tree((-1, 0), (1, 2), (-1, 0), ([[1.0]], [[1.0, 0.0]]))
    problem = tree_problem(tree, [[0], [1]])
    even = np.array([1.0, 0.5, 0.5])
    result = run_restarts(
        problem,
        TreeParams(np.stack([tree.theta, even])),
        tol=1e-9,
        max_iter=10,
        rngs=np.random.default_rng(0).spawn(2),
        halving=False,
    )
    assert result.histories[0][0] == -math.inf
    assert_allclose(result.params.theta[0], even)


def test_one_state_is_independence():
    """With one latent state the tables are the shares of each column, as in naive Bayes."""
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(-1, 3, (80, 4)), rng.uniform(0.5, 2, 80)
    shape = Tree.even((-1, *(0,) * 4), (1, 3, 3, 3, 3), (-1, *range(4)))
    fit = fit_tree(shape, codes, weight=weight, alpha=1.0, tol=1e-12, rng=rng)
    for j in range(4):
        shown = codes[:, j] >= 0
        counts = np.bincount(codes[shown, j], weight[shown], 3) + 1.0
        # EM fills missing cells by the current shares, so it ends at the shares of observed cells
        assert_allclose(fit.tree.tables[1 + j][0], counts / counts.sum(), atol=1e-5)


def test_a_row_twice_is_weight_two_and_the_order_does_not_matter():
    tree = random_tree(3, n_latent=3, n_leaves=7)
    codes = random_rows(tree, 50, np.random.default_rng(1))
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    twice = np.concatenate([codes[::-1], codes[:20]])
    one, other = (
        fit_tree(tree, c, weight=w, n_init=4, max_iter=30, rng=np.random.default_rng(5))
        for c, w in ((codes, weight), (twice, None))
    )
    assert np.array_equal(one.tree.theta, other.tree.theta)


def test_threads_give_the_same_fit(monkeypatch):
    monkeypatch.setattr(plan_module, "THREAD_WORK", 0)
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", 40)
    tree = random_tree(3, n_latent=3, n_leaves=8)
    codes = random_rows(tree, 300, np.random.default_rng(1))
    one, other = (
        fit_tree(tree, codes, n_init=4, max_iter=15, rng=np.random.default_rng(5), n_jobs=n)
        for n in (1, 2)
    )
    assert np.array_equal(one.tree.theta, other.tree.theta)
    assert one.result.history == other.result.history


def test_rows_grouped_before_give_the_same_fit():
    tree = random_tree(3, n_latent=3, n_leaves=7)
    codes = random_rows(tree, 60, np.random.default_rng(1))
    one, other = (
        fit_tree(tree, rows, n_init=2, max_iter=10, rng=np.random.default_rng(5))
        for rows in (codes, group_rows(codes))
    )
    assert np.array_equal(one.tree.theta, other.tree.theta)


def test_vector_and_back():
    tree = random_tree(3, n_latent=3, n_leaves=7)
    codes = random_rows(tree, 30, np.random.default_rng(1))
    problem = tree_problem(tree, codes, free=[0, 1, 4])
    params = random_starts(problem, np.random.default_rng(0).spawn(3))
    again = problem.from_vector(problem.to_vector(params) + 0.4)
    assert_allclose(again.theta, params.theta, rtol=1e-12)


def test_no_state_is_seeded_anew():
    tree = random_tree(3)
    problem = tree_problem(tree, random_rows(tree, 5, np.random.default_rng(1)))
    assert not isinstance(problem, Reseeding)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": -1.0}, "alpha=-1.0 must be a number of at least 0."),
        ({"alpha": math.nan}, "alpha=nan must be a number of at least 0."),
        ({"n_init": 0}, "n_init=0 must be a whole number of at least 1."),
        ({"free": []}, "free=[] must contain at least one node, and only nodes from 0 to 2."),
        (
            {"free": [1, 3]},
            "free=[1, 3] must contain at least one node, and only nodes from 0 to 2.",
        ),
        ({"free": [-1]}, "free=[-1] must contain at least one node, and only nodes from 0 to 2."),
        (
            {"weight": [0.0, 0.0]},
            "weight is 0 for all rows, but at least one row must have a weight.",
        ),
        (
            {"weight": [0.0, 1e-300]},
            "weight sums to 1e-300, so little that sums are lost to rounding. Rescale the weights.",
        ),
        (
            {"codes": group_rows([[0, 0]]), "weight": [1.0]},
            "weight must be None because the grouped rows already have weights. Pass it to "
            "group_rows instead.",
        ),
    ],
)
def test_bad_settings(change, message):
    tree = Tree.even((-1, 0, 0), (2, 2, 2), (-1, 0, 1))
    settings_ = {"codes": [[0, 1], [1, 1]], "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fit_tree(tree, **settings_)


@given(
    free=st.one_of(st.none(), st.lists(st.integers(-2, 4), max_size=4)),
    alpha=st.one_of(st.floats(-1, 3), st.just(math.nan), st.just(math.inf)),
    weight=st.lists(st.floats(-1, 3), min_size=3, max_size=3),
)
@settings(max_examples=60)
def test_any_setting_gives_a_fit_or_a_plain_error(free, alpha, weight):
    tree = Tree.even((-1, 0, 0), (2, 2, 3), (-1, 0, 1))

    def fit():
        return fit_tree(
            tree, [[0, 2], [1, -1], [1, 0]], weight=weight, free=free, alpha=alpha, n_init=2,
            max_iter=4, rng=np.random.default_rng(0),
        )  # fmt: skip

    found = made(fit, r"^(free|alpha|weight)")
    if found is not None:
        assert np.isfinite(found.tree.theta).all()
        assert np.isfinite(found.log_likelihood)
