"""Learning all trees: what the search, EM and the sets of cut points are given, and give back."""

import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import same_up_to_states, slow_counts

from latentclass.discrete._coding import CodedRows
from latentclass.discrete._cut_sets import CutSet
from latentclass.latent_tree._fit import learn_class_shares, learn_class_trees, sample_rows
from latentclass.latent_tree._settings import TreeSettings
from latentclass.latent_tree._tree import Tree, marginals

SETTINGS = TreeSettings(
    criterion="aic",
    search="east",
    lazy=True,
    alpha=1.0,
    alpha_once=False,
    max_states=2,
    max_latent=sys.maxsize,
    search_rows=None,
    time_budget=None,
    work_budget=None,
    n_init=2,
    n_full_init=1,
    max_iter=50,
    tol=1e-8,
    accelerate=False,
    seed=0,
    n_jobs=None,
)
FLAT = replace(SETTINGS, max_states=1)

LEVELS = (2, 3, 4, 2)
FINE = CutSet((), tuple(np.arange(k, dtype=np.int32) for k in LEVELS), (np.zeros(4),) * 4)
COARSE = CutSet((), (*FINE.level[:2], np.array([0, 0, 1, 1], np.int32), FINE.level[3]), ())


def make_rows(n=80, n_unlabelled=0, n_classes=2):
    """Columns that follow a hidden cause; class 1 turns half of them round."""
    rng = np.random.default_rng(0)
    n_rows = n + n_unlabelled
    y = rng.integers(0, 2, n_rows)
    cause = rng.integers(0, 2, n_rows)
    columns = [(cause + (j % 2) * y) % 2 for j in range(4)]
    codes = np.stack(columns, axis=1).astype(np.int32)
    codes[:, 2] += 2 * rng.integers(0, 2, n_rows)
    noise = rng.random(codes.shape) < 0.1
    codes[noise] = (rng.integers(0, 4, codes.shape) % LEVELS)[noise]
    weight = rng.uniform(0.5, 1.5, n_rows)
    return CodedRows(codes[:n], y[:n], weight[:n], codes[n:], weight[n:], LEVELS, n_classes)


def learn(rows, settings=SETTINGS, cut_sets=(FINE,), before=(), on_step=None, on_iteration=None):
    return learn_class_trees(
        rows, cut_sets, settings, before=before, on_step=on_step, on_iteration=on_iteration
    )


def smoothed_shares(column, weight, n_levels):
    counts = np.bincount(column, weight, n_levels) + 1.0
    return counts / counts.sum()


def test_without_latent_states_the_tables_are_smoothed_shares():
    rows = make_rows()
    found = learn(rows, FLAT, (FINE, COARSE))
    assert [tree.latent_cardinalities for tree in found.trees[0]] == [(1,), (1,)]
    for cuts, trees, prior in zip((FINE, COARSE), found.trees, found.priors, strict=True):
        assert_allclose(prior, np.bincount(rows.y, rows.weight) / rows.weight.sum())
        for k, tree in enumerate(trees):
            own = rows.y == k
            for node, column in enumerate(tree.columns):
                if column >= 0:
                    level = cuts.level[column][rows.codes[own, column]]
                    expected = smoothed_shares(level, rows.weight[own], cuts.n_levels[column])
                    assert_allclose(tree.tables[node][0], expected, rtol=1e-9)


def test_alpha_once_is_added_to_the_counts_of_maximum_likelihood():
    rows = make_rows()
    options = {"max_latent": 1, "max_iter": 500, "tol": 0.0}
    plain = learn(rows, replace(SETTINGS, alpha=0.0, **options)).trees[0]
    once = learn(rows, replace(SETTINGS, alpha=2.0, alpha_once=True, **options)).trees[0]
    assert [tree.latent_cardinalities for tree in plain] == [(2,), (2,)]
    for k, (before, after) in enumerate(zip(plain, once, strict=True)):
        own = rows.y == k
        counts = slow_counts(before, rows.codes[own], rows.weight[own])
        ends = np.append(before.distribution_starts[1:], len(counts))
        parts = [c + 2.0 for c in np.split(counts, ends[:-1])]
        smoothed = before.with_theta(np.concatenate([part / part.sum() for part in parts]))
        assert same_up_to_states(smoothed, after, atol=1e-9)


def test_all_sets_have_the_structure_of_the_first():
    found = learn(make_rows(), SETTINGS, (FINE, COARSE))
    first, second = found.trees
    assert max(tree.latent_cardinalities[0] for tree in first) == 2
    for one, other in zip(first, second, strict=True):
        assert (one.parents, one.columns) == (other.parents, other.columns)
        assert other.cardinalities[other.columns.index(2)] == 2


def test_the_order_of_the_columns_decides_nothing():
    rows = make_rows()
    order = [2, 0, 3, 1]
    mixed = rows._replace(
        codes=np.ascontiguousarray(rows.codes[:, order]),
        unlabelled=rows.unlabelled[:, order],
        n_levels=tuple(LEVELS[j] for j in order),
    )
    cuts = CutSet((), tuple(FINE.level[j] for j in order), FINE.log_share)
    one, other = learn(rows), learn(mixed, cut_sets=(cuts,))
    for a, b in zip(one.found, other.found, strict=True):
        assert [order[c] if c >= 0 else -1 for c in b.tree.columns] == list(a.tree.columns)
        assert np.array_equal(a.tree.theta, b.tree.theta)
    for a, b in zip(one.trees[0], other.trees[0], strict=True):
        assert [order[c] if c >= 0 else -1 for c in b.columns] == list(a.columns)
        assert_allclose(a.theta, b.theta, rtol=1e-9)


def test_threads_change_nothing():
    one, two = (learn(make_rows(), replace(SETTINGS, n_jobs=n)) for n in (1, 2))
    for a, b in zip(one.trees[0], two.trees[0], strict=True):
        assert np.array_equal(a.theta, b.theta)


def test_unlabelled_rows_change_tables_and_class_shares():
    rows = make_rows(n_unlabelled=40)
    known = rows._replace(unlabelled=rows.unlabelled[:0], unlabelled_weight=np.empty(0))
    with_more, without = learn(rows), learn(known)
    # the structure is learned from labelled rows only
    for a, b in zip(with_more.found, without.found, strict=True):
        assert np.array_equal(a.tree.theta, b.tree.theta)
    assert abs(with_more.priors[0] - without.priors[0]).max() > 1e-4
    assert abs(with_more.trees[0][0].theta - without.trees[0][0].theta).max() > 1e-4


def test_a_search_goes_on_from_the_trees_before():
    rows, steps = make_rows(), []
    found = learn(rows, on_step=lambda k, step: steps.append((k, step.move)))
    assert {k for k, _ in steps} == {0, 1}
    assert [move for k, move in steps if k == 0] == [step.move for step in found.found[0].steps]
    again = learn(rows, before=[one.tree for one in found.found])
    for one, other in zip(found.found, again.found, strict=True):
        assert len(one.steps) > len(other.steps) == 1
        assert_allclose(other.log_likelihood, one.log_likelihood, atol=0.1)


def test_em_reports_its_steps_and_can_be_stopped():
    seen = []

    def stop(iteration, objective):
        seen.append((iteration, objective))
        return True

    found = learn(make_rows(), on_iteration=stop)
    assert len(seen) == 1
    assert found.result.n_iter == seen[0][0]


def test_a_class_without_rows_has_a_tree_of_one_state():
    found = learn(make_rows(n_classes=3))
    assert found.trees[0][2].latent_cardinalities == (1,)
    assert found.found[2].ended == "done"
    assert found.priors[0][2] == 0.0


@pytest.mark.parametrize("search", ["east", "fast"])
def test_either_search_finds_the_hidden_cause(search):
    found = learn(make_rows(200), replace(SETTINGS, search=search, criterion="bic"))
    assert [tree.latent_cardinalities for tree in found.trees[0]] == [(2,), (2,)]


def test_where_no_column_varies_the_class_shares_are_learned():
    rows = make_rows(n_unlabelled=10)
    empty = rows._replace(codes=rows.codes[:, :0], unlabelled=rows.unlabelled[:, :0], n_levels=())
    found = learn_class_shares(empty, SETTINGS, None)
    assert (found.trees, found.found) == ([], [])
    # rows that say nothing about their class follow the shares of the others
    assert_allclose(found.priors[0], np.bincount(rows.y, rows.weight) / rows.weight.sum())
    assert found.result.converged


def test_trees_are_shown_with_their_largest_state_first():
    for tree in learn(make_rows()).trees[0]:
        assert isinstance(tree, Tree)
        assert np.all(np.diff(tree.tables[0][0]) <= 0)


# ------------------------------------------------------------------ search on a sample


def drawn(rows):
    """Total weight of each distinct row."""
    total = Counter()
    for y, codes, weight in zip(rows.y.tolist(), rows.codes.tolist(), rows.weight, strict=True):
        total[y, *codes] += round(weight, 9)
    return total


def test_a_sample_has_as_many_rows_of_each_class_as_asked_for():
    rows = make_rows(600, n_unlabelled=5)._replace(weight=np.ones(600))
    some = sample_rows(rows, 20, 0)
    assert_allclose(np.bincount(some.y, some.weight), 20.0)
    assert (len(some.unlabelled), len(some.unlabelled_weight)) == (0, 0)
    assert set(map(tuple, some.codes)) <= set(map(tuple, rows.codes))
    assert drawn(sample_rows(rows, 20, 1)) != drawn(some)
    assert sample_rows(rows, None, 0) is rows
    # there are more rows than that, but not more distinct ones
    assert sample_rows(rows, 100, 0) is rows


def test_a_sample_does_not_depend_on_order_and_weight_two_is_the_row_twice():
    rows = make_rows(400)
    heavy = np.random.default_rng(1).integers(1, 3, 400)
    rows = rows._replace(weight=heavy.astype(float))
    some = drawn(sample_rows(rows, 25, 0))
    twice = np.random.default_rng(2).permutation(np.repeat(np.arange(400), heavy))
    copies = rows._replace(codes=rows.codes[twice], y=rows.y[twice], weight=np.ones(len(twice)))
    assert drawn(sample_rows(copies, 25, 0)) == some
    order = [2, 0, 3, 1]
    turned = rows._replace(codes=rows.codes[:, order], n_levels=tuple(LEVELS[j] for j in order))
    found = sample_rows(turned, 25, 0)
    assert drawn(found._replace(codes=found.codes[:, np.argsort(order)])) == some


def test_trees_come_from_the_sample_and_tables_from_all_rows():
    rows = make_rows(600)
    settings = replace(SETTINGS, search_rows=40, max_iter=2000, tol=1e-13)
    found = learn(rows, settings, (FINE, COARSE))
    alone = learn(sample_rows(rows, 40, 0), settings)
    for one, other in zip(found.found, alone.found, strict=True):
        assert np.array_equal(one.tree.theta, other.tree.theta)
    # EM on all rows does not move the tables any more
    again = learn(rows, replace(settings, search_rows=None, max_states=1), before=found.trees[0])
    assert_allclose(again.priors[0], found.priors[0])
    assert_allclose(found.result.history[-1], again.result.history[-1], rtol=1e-6)
    for cuts, trees in zip((FINE, COARSE), found.trees, strict=True):
        assert [tree.columns.index(2) for tree in trees] == [
            tree.columns.index(2) for tree in found.trees[0]
        ]
        assert {tree.cardinalities[tree.columns.index(2)] for tree in trees} == {cuts.n_levels[2]}


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_level_that_the_sample_lacks_is_learned(alpha):
    rows = make_rows(600)
    rows.codes[:, 3] = 0
    rows.codes[7, 3] = 1
    k = rows.y[7]
    assert not (sample_rows(rows, 10, 0).codes[:, 3] == 1).any()
    found = learn(rows, replace(SETTINGS, search_rows=10, alpha=alpha, max_latent=1))
    tree = found.trees[0][k]
    share = marginals(tree)[tree.columns.index(3)]
    total = rows.weight[rows.y == k].sum()
    n_states = tree.latent_cardinalities[0]
    if alpha == 0.0:
        assert_allclose(share[1], rows.weight[7] / total, rtol=1e-3)
    else:
        assert n_states / (total + 2) < share[1] < (n_states + 2) / total
