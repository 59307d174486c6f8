"""Inference on trees against sums over all states, row by row."""

import math
import re
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from test_tree import joint, made, random_tables, random_tree

from latentclass.latent_tree import _expected_counts as plan_module
from latentclass.latent_tree import _row_patterns as rows_module
from latentclass.latent_tree import _schedule as program_module
from latentclass.latent_tree._inference import (
    expected_counts,
    group_rows,
    node_posteriors,
    plan_rows,
    row_log_likelihood,
)
from latentclass.latent_tree._tree import Tree, observed_codes, permute_states, reroot, sample_nodes


def random_rows(tree, n_rows, rng, holes=0.25, n_columns=None):
    """Codes of any value, possible or not, with holes; columns beyond the tree's are -1."""
    width = max(tree.columns) + 1 if n_columns is None else n_columns
    codes = np.full((n_rows, width), -1, dtype=np.int32)
    for node, column in enumerate(tree.columns):
        if column >= 0:
            codes[:, column] = rng.integers(0, tree.cardinalities[node], n_rows)
    codes[rng.random(codes.shape) < holes] = -1
    return codes


def seen(tree, row):
    """The part of the joint distribution that agrees with a row, and 0 elsewhere."""
    full = joint(tree)
    for node, column in enumerate(tree.columns):
        if column >= 0 and row[column] >= 0:
            keep = np.zeros(tree.cardinalities[node])
            keep[row[column]] = 1.0
            shape = [1] * full.ndim
            shape[node] = -1
            full = full * keep.reshape(shape)
    return full


def margin(full, *nodes):
    return full.sum(axis=tuple(i for i in range(full.ndim) if i not in nodes))


def slow_counts(tree, codes, weight):
    """Expected weight of each cell of each table, from the sums over all states."""
    counts = [np.zeros(table.shape) for table in tree.tables]
    for row, w in zip(codes, weight, strict=True):
        full = seen(tree, row)
        if full.sum() == 0:
            continue
        full = w * full / full.sum()
        for node, parent in enumerate(tree.parents):
            counts[node] += margin(full, node)[None] if parent < 0 else margin(full, parent, node)
    return np.concatenate([c.ravel() for c in counts])


def slow_log(tree, row):
    """log p(row) by sums over states in logarithms, from the leaves up."""
    said = [np.zeros(k) for k in tree.cardinalities]
    with np.errstate(divide="ignore"):
        for node in range(len(tree.parents) - 1, -1, -1):
            column = tree.columns[node]
            if column >= 0 and row[column] >= 0:
                others = np.arange(tree.cardinalities[node]) != row[column]
                said[node][others] = -np.inf
            message = np.logaddexp.reduce(np.log(tree.tables[node]) + said[node], axis=1)
            if node > 0:
                said[tree.parents[node]] += message
    return message[0]


def small_case(seed, zeros=0.0):
    tree = random_tree(seed, n_latent=1 + seed % 3, zeros=zeros, inner_observed=seed % 2 == 1)
    rng = np.random.default_rng(100 + seed)
    return tree, random_rows(tree, 12, rng), rng


@pytest.fixture(params=["one block", "many blocks", "groups of inputs", "shared patterns"])
def layout(request, monkeypatch):
    """The ways in which rows and inputs are divided give the same answers."""
    if request.param == "many blocks":
        monkeypatch.setattr(rows_module, "BLOCK_ROWS", 3)
    if request.param == "groups of inputs":
        monkeypatch.setattr(program_module, "GROUP_SIZE", 4)
    if request.param == "shared patterns":
        monkeypatch.setattr(program_module, "OWN_SHARE", 1.0)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("layout")
class TestAgainstEnumeration:
    def test_log_likelihood(self, seed, zeros):
        tree, codes, _ = small_case(seed, zeros)
        expected = np.array([seen(tree, row).sum() for row in codes])
        assert_allclose(np.exp(row_log_likelihood(tree, codes)), expected, rtol=1e-12, atol=1e-300)

    def test_posteriors_of_all_nodes(self, seed, zeros):
        tree, codes, _ = small_case(seed, zeros)
        nodes = list(range(len(tree.parents)))
        found = node_posteriors(tree, codes, nodes)
        for i, row in enumerate(codes):
            full = seen(tree, row)
            for node in nodes:
                k = tree.cardinalities[node]
                possible = full.sum() > 0
                expected = margin(full, node) / full.sum() if possible else np.full(k, 1 / k)
                assert_allclose(found[node][i], expected, rtol=1e-11, atol=1e-14)

    def test_counts_and_weights(self, seed, zeros):
        tree, codes, rng = small_case(seed, zeros)
        weight = rng.uniform(0, 2, len(codes))
        weight[:2] = 0.0
        possible = np.isfinite(row_log_likelihood(tree, codes))
        plan = plan_rows(tree, group_rows(codes, weight))
        counts, total = expected_counts(plan, tree.theta[None])
        assert_allclose(counts[0], slow_counts(tree, codes, weight), rtol=1e-11, atol=1e-13)
        if possible[2:].all():
            used = weight > 0
            expected = weight[used] @ row_log_likelihood(tree, codes[used])
            assert_allclose(total[0], expected, rtol=1e-12)
        else:
            assert total[0] == -math.inf

    def test_static_messages(self, seed, zeros):
        """Counts of the free tables are those of the whole passes, for several starts at once."""
        tree, codes, rng = small_case(seed, zeros)
        rows = group_rows(codes)
        for free in ([0], [len(tree.parents) - 1], [1, len(tree.parents) - 2]):
            theta = np.tile(tree.theta, (3, 1))
            other = random_tables(tree, rng).theta
            cells = np.concatenate([np.arange(*tree.offsets[i : i + 2]) for i in free])
            theta[1, cells] = other[cells]
            counts, total = expected_counts(plan_rows(tree, rows, free), theta)
            for start in range(3):
                changed = tree.with_theta(theta[start])
                whole, whole_total = expected_counts(plan_rows(changed, rows), theta[[start]])
                assert_allclose(counts[start, cells], whole[0, cells], rtol=1e-12, atol=1e-300)
                assert_allclose(total[start], whole_total[0], rtol=1e-12)
            assert np.array_equal(counts[0], counts[2])


def test_inputs_are_grouped(monkeypatch):
    monkeypatch.setattr(program_module, "GROUP_SIZE", 4)
    tree = Tree.even((-1, *(0,) * 6), (2,) * 7, (-1, *range(6)))
    codes = np.array(list(product(range(2), repeat=6)))
    sites = program_module.make_sites(tree, group_rows(codes).blocks[0])
    grouped = [site for site in sites if site.node < 0]
    assert [(site.size, len(site.inputs)) for site in grouped] == [(4, 2)] * 3
    assert (sites[-1].size, len(sites[-1].inputs)) == (64, 3)


class TestInvariance:
    tree = random_tree(5, n_latent=4, n_leaves=7)
    codes = random_rows(tree, 60, np.random.default_rng(0))

    def test_root(self):
        expected = row_log_likelihood(self.tree, self.codes)
        posterior = node_posteriors(self.tree, self.codes)
        for node in range(len(self.tree.parents)):
            turned, order = reroot(self.tree, node)
            assert_allclose(row_log_likelihood(turned, self.codes), expected, rtol=1e-12)
            places = [order.index(old) for old in self.tree.latent]
            for one, other in zip(
                posterior, node_posteriors(turned, self.codes, places), strict=True
            ):
                assert_allclose(other, one, rtol=1e-10, atol=1e-14)

    def test_order_of_states(self):
        expected = row_log_likelihood(self.tree, self.codes)
        for node in self.tree.latent:
            order = list(range(self.tree.cardinalities[node]))[::-1]
            turned = permute_states(self.tree, node, order)
            assert_allclose(row_log_likelihood(turned, self.codes), expected, rtol=1e-12)
            one = node_posteriors(self.tree, self.codes, [node])[0]
            other = node_posteriors(turned, self.codes, [node])[0]
            assert_allclose(other, one[:, order], rtol=1e-12, atol=1e-15)

    def test_order_of_rows(self):
        order = np.random.default_rng(1).permutation(len(self.codes))
        assert np.array_equal(
            row_log_likelihood(self.tree, self.codes[order]),
            row_log_likelihood(self.tree, self.codes)[order],
        )

    def test_a_row_twice_is_weight_two(self):
        theta = self.tree.theta[None]
        twice = np.concatenate([self.codes, self.codes[:10]])
        weight = np.ones(len(self.codes))
        weight[:10] = 2.0
        one = expected_counts(plan_rows(self.tree, group_rows(twice)), theta)
        other = expected_counts(plan_rows(self.tree, group_rows(self.codes, weight)), theta)
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)

    def test_columns_the_tree_does_not_show(self):
        extra = np.random.default_rng(2).integers(-1, 9, (len(self.codes), 2), dtype=np.int32)
        wide = np.concatenate([self.codes, extra], axis=1)
        expected = row_log_likelihood(self.tree, self.codes)
        assert_allclose(row_log_likelihood(self.tree, wide), expected, rtol=1e-13)
        theta = self.tree.theta[None]
        one, total = expected_counts(plan_rows(self.tree, group_rows(wide)), theta)
        other, expected_total = expected_counts(plan_rows(self.tree, group_rows(self.codes)), theta)
        assert_allclose(one, other, rtol=1e-12, atol=1e-13)
        assert_allclose(total, expected_total, rtol=1e-12)

    def test_a_row_of_holes_has_the_prior(self):
        nothing = np.full((1, self.codes.shape[1]), -1, dtype=np.int32)
        assert_allclose(row_log_likelihood(self.tree, nothing), 0.0, atol=1e-13)
        assert_allclose(node_posteriors(self.tree, nothing, [0])[0], self.tree.tables[0])

    def test_patterns_found_for_another_tree_are_used_again(self):
        rows = group_rows(self.codes)
        plan_rows(self.tree, rows)
        known = len(rows.blocks[0].patterns)
        turned, _ = reroot(self.tree, 1)
        assert_allclose(
            row_log_likelihood(turned, rows), row_log_likelihood(self.tree, self.codes), rtol=1e-12
        )
        plan_rows(self.tree, rows)
        again = len(rows.blocks[0].patterns)
        assert again >= known > 0
        plan_rows(self.tree, rows)
        assert len(rows.blocks[0].patterns) == again

    def test_the_cache_is_bounded(self, monkeypatch):
        monkeypatch.setattr(rows_module, "CACHE_CELLS", 10)
        rows = group_rows(self.codes)
        plan_rows(self.tree, rows)
        assert not rows.blocks[0].patterns


class TestRange:
    """Numbers far below the smallest double."""

    @pytest.mark.parametrize("free", [None, (0, 3)])
    @pytest.mark.parametrize("lowest", [-10, -90, -300])
    @pytest.mark.parametrize("seed", range(4))
    def test_tables_of_any_size_against_logarithms(self, seed, lowest, free):
        tree = random_tree(seed, n_latent=4, n_leaves=9, inner_observed=seed % 2 == 1)
        rng = np.random.default_rng(seed)
        tables = []
        for table in tree.tables:
            small = 10.0 ** rng.uniform(lowest, 0, table.shape)
            small[rng.random(table.shape) < 0.1] = 0.0
            small[:, -1] = np.maximum(1.0 - small[:, :-1].sum(axis=1), 0.0)
            tables.append(small / small.sum(axis=1, keepdims=True))
        tree = Tree(tree.parents, tree.cardinalities, tree.columns, tuple(tables))
        codes = random_rows(tree, 40, rng)
        expected = np.array([slow_log(tree, row) for row in codes])
        assert_allclose(row_log_likelihood(tree, codes), expected, rtol=1e-12, atol=1e-12)
        possible = np.isfinite(expected)
        weight = np.where(possible, rng.integers(1, 3, 40), 0.0)
        plan = plan_rows(tree, group_rows(codes, weight), free)
        counts, total = expected_counts(plan, tree.theta[None])
        assert_allclose(total, expected[possible] @ weight[possible], rtol=1e-12, atol=1e-12)
        assert_allclose(counts[0, : tree.cardinalities[0]].sum(), weight.sum(), rtol=1e-12)

    @pytest.mark.parametrize("n_leaves", [2, 3, 4, 5, 8])
    def test_inputs_as_small_as_messages_may_be(self, n_leaves):
        """Products of two and three numbers near 2**-256, in one state only."""
        x = 2.0**-255.5
        table = np.array([[x, 1 - x], [0.5, 0.5]])
        tree = Tree(
            (-1, *(0,) * n_leaves), (2,) * (n_leaves + 1), (-1, *range(n_leaves)),
            ([[1.0, 0.0]], *(table,) * n_leaves),
        )  # fmt: skip
        found = row_log_likelihood(tree, np.zeros((1, n_leaves), dtype=int))
        assert_allclose(found, -255.5 * n_leaves * np.log(2.0), rtol=1e-14)
        counts, _ = expected_counts(plan_rows(tree, group_rows([[0] * n_leaves])), tree.theta[None])
        assert_allclose(counts[0], [1.0, 0.0, *(1.0, 0.0, 0.0, 0.0) * n_leaves], atol=1e-300)

    def test_400_leaves(self):
        rng = np.random.default_rng(0)
        n = 400
        shape = Tree.even(
            (-1, 0, 0, *(j % 3 for j in range(n))), (3,) * 3 + (5,) * n, (-1,) * 3 + tuple(range(n))
        )
        tree = random_tables(shape, rng)
        codes = random_rows(tree, 20, rng, holes=0.05)
        # sums over the three latent nodes, in logarithms
        expected = np.empty((len(codes), 3, 3, 3))
        log = [np.log(table) for table in tree.tables]
        for i, row in enumerate(codes):
            for states in product(range(3), repeat=3):
                total = log[0][0, states[0]] + log[1][states[0], states[1]]
                total += log[2][states[0], states[2]]
                for j, code in enumerate(row):
                    if code >= 0:
                        total += log[3 + j][states[j % 3], code]
                expected[i][states] = total
        value = np.logaddexp.reduce(expected.reshape(len(codes), -1), axis=1)
        assert value.max() < -600  # below what a double holds
        assert_allclose(row_log_likelihood(tree, codes), value, rtol=1e-12)
        share = np.exp(expected - value[:, None, None, None])
        for node, found in enumerate(node_posteriors(tree, codes)):
            axes = tuple(a for a in (1, 2, 3) if a != node + 1)
            assert_allclose(found, share.sum(axis=axes), rtol=1e-9, atol=1e-12)
        counts, _ = expected_counts(plan_rows(tree, group_rows(codes)), tree.theta[None])
        tables = tree.split(counts[0])
        assert_allclose(tables[0][0], share.sum(axis=(0, 2, 3)), rtol=1e-9)
        assert_allclose(tables[1], share.sum(axis=(0, 3)), rtol=1e-9, atol=1e-12)
        for table in tables:
            assert_allclose(table.sum(), len(codes), rtol=1e-12)

    def test_leaves_that_contradict_each_other(self):
        # half of the leaves speak for one state by 99 to 1 each, the others as much for the other
        n = 400
        sure = [[0.99, 0.01], [0.01, 0.99]]
        tree = Tree(
            (-1, *(0,) * n), (2,) * (n + 1), (-1, *range(n)), ([[0.3, 0.7]], *[sure] * n)
        )  # fmt: skip
        row = np.repeat([0, 1], n // 2)[None]
        (posterior,) = node_posteriors(tree, row)
        assert_allclose(posterior, [[0.3, 0.7]], rtol=1e-9)
        expected = 200 * (math.log(0.99) + math.log(0.01))
        assert_allclose(row_log_likelihood(tree, row), [expected], rtol=1e-12)

    def test_a_contradiction_passed_on_by_messages(self):
        # each latent child copies the root, and has leaves that all but rule out one state
        n = 120
        rare = 1e-6
        one, two = [[1 - rare, rare], [rare, 1 - rare]], np.eye(2)
        parents = (-1, 0, 0, *(1,) * n, *(2,) * n)
        tree = Tree(
            parents, (2,) * (3 + 2 * n), (-1,) * 3 + tuple(range(2 * n)),
            ([[0.25, 0.75]], two, two, *[one] * (2 * n)),
        )  # fmt: skip
        row = np.repeat([0, 1], n)[None]
        for posterior in node_posteriors(tree, row):
            assert_allclose(posterior, [[0.25, 0.75]], rtol=1e-9)
        counts, total = expected_counts(plan_rows(tree, group_rows(row)), tree.theta[None])
        assert_allclose(total[0], n * (math.log(rare) + math.log1p(-rare)), rtol=1e-12)
        tables = tree.split(counts[0])
        assert_allclose(tables[1], np.diag([0.25, 0.75]), rtol=1e-9)
        assert_allclose(tables[3], [[0.25, 0.0], [0.75, 0.0]], rtol=1e-9)

    def test_the_smallest_probabilities_a_double_holds(self):
        small = 5e-324
        tree = Tree(
            (-1, 0, 1, 0), (2, 2, 2, 2), (-1, -1, 0, 1),
            ([[0.5, 0.5]], [[1.0, 0.0], [1.0, small]], [[1.0, 0.0], [0.0, 1.0]],
             [[1.0, small], [1.0, small]]),
        )  # fmt: skip
        assert_allclose(
            row_log_likelihood(tree, [[1, 1]]), [math.log(0.5) + 2 * math.log(small)], rtol=1e-12
        )
        assert_allclose(node_posteriors(tree, [[1, 1]])[0], [[0.0, 1.0]])

    def test_a_state_without_probability(self):
        tree = Tree(
            (-1, 0, 1, 0), (2, 2, 2, 2), (-1, -1, 0, 1),
            ([[1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]], [[0.5, 0.5], [0.2, 0.8]], np.eye(2)),
        )  # fmt: skip
        codes = [[0, 0], [1, -1], [-1, 1]]
        assert_allclose(np.exp(row_log_likelihood(tree, codes)), [0.2, 0.8, 0.0])
        root, child = node_posteriors(tree, codes)
        assert root.tolist() == [[1, 0], [1, 0], [0.5, 0.5]]
        assert child.tolist() == [[0, 1], [0, 1], [0.5, 0.5]]
        counts, total = expected_counts(plan_rows(tree, group_rows(codes)), tree.theta[None])
        assert total[0] == -math.inf
        assert np.isfinite(counts).all()
        # the row that cannot be does not count
        assert tree.split(counts[0])[0].tolist() == [[2, 0]]

    def test_starts_after_one_with_exponents_are_not_touched_by_them(self):
        n = 300
        shape = Tree.even((-1, 0, *(j % 2 for j in range(n))), (2,) * (n + 2), (-1, -1, *range(n)))
        rng = np.random.default_rng(0)
        small = np.tile([[1e-3, 1 - 1e-3]], (2, 1))
        low = Tree(
            shape.parents, shape.cardinalities, shape.columns,
            (*random_tables(shape, rng).tables[:2], *[small] * n),
        )  # fmt: skip
        codes = np.zeros((2, n), dtype=np.int32)
        codes[1, ::2] = 1
        plan = plan_rows(shape, group_rows(codes))
        theta = np.stack([low.theta, shape.theta, low.theta])
        counts, total = expected_counts(plan, theta)
        assert_allclose(total[1], 2 * n * math.log(0.5), rtol=1e-12)
        assert total[0] == total[2]
        assert np.array_equal(counts[0], counts[2])
        alone, _ = expected_counts(plan, theta[1:2])
        assert np.array_equal(counts[1], alone[0])


@pytest.mark.parametrize("weights", [(1.0,), (2.0, 2.0, 2.0, 1.0), (0.0, 0.0, 0.0, 3.0)])
@pytest.mark.parametrize("n_leaves", [4, 200])
def test_the_log_likelihood_is_the_weighted_sum_over_rows(weights, n_leaves):
    rng = np.random.default_rng(0)
    shape = Tree.even((-1, *(0,) * n_leaves), (3,) * (n_leaves + 1), (-1, *range(n_leaves)))
    tree = random_tables(shape, rng, zeros=0.1)
    codes = observed_codes(tree, sample_nodes(tree, 60, rng))
    if weights[0] == 0.0:
        codes[::7] = rng.integers(0, 3, codes[::7].shape)  # some cannot be
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
    tree, codes, weight = random_tables(shape, rng), random_rows(shape, 30, rng), rng.random(30)
    counts, _ = expected_counts(plan_rows(tree, group_rows(codes, weight)), tree.theta[None])
    assert_allclose(counts[0], slow_counts(tree, codes, weight), rtol=1e-10, atol=1e-13)


class TestStraightInputs:
    """A site and its input whose patterns are the rows themselves go through memory in step."""

    tree = Tree.even((-1, 0, 1, 2, 0, 1, 2, 3, 3), (3,) * 4 + (4,) * 5, (-1,) * 4 + tuple(range(5)))

    def plans(self, monkeypatch):
        rng = np.random.default_rng(0)
        rows = rng.integers(-1, 4, (200, 5))
        for share in (1.0, 0.5):
            monkeypatch.setattr(program_module, "OWN_SHARE", share)
            yield plan_rows(self.tree, group_rows(rows))

    def test_they_are_found(self, monkeypatch):
        looked_up, in_step = self.plans(monkeypatch)
        assert not looked_up.parts[0][0].straight.any()
        program = in_step.parts[0][0]
        assert program.straight.any()
        for site in range(len(program.k)):
            inputs = range(program.input_start[site], program.input_start[site + 1])
            for number, edge in enumerate(inputs):
                size = program.size[site]
                start = program.places_start[site] + number * size
                in_order = np.array_equal(program.places[start : start + size], np.arange(size))
                same = program.size[program.inputs[edge]] == size
                assert program.straight[edge] == (in_order and same)

    def test_the_answer_is_the_same(self, monkeypatch):
        theta = random_tables(self.tree, np.random.default_rng(1)).theta[None]
        looked_up, in_step = (expected_counts(plan, theta) for plan in self.plans(monkeypatch))
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


def test_a_second_opinion_by_pyagrum():
    gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
    rng = np.random.default_rng(0)
    latent = (-1, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5, 6)
    n_leaves = 40
    shape = Tree.even(
        (*latent, *(11 - j % 12 for j in range(n_leaves))),
        (*(2 + i % 2 for i in range(12)), *(2 + j % 3 for j in range(n_leaves))),
        (*(-1,) * 12, *range(n_leaves)),
    )
    tree = random_tables(shape, rng)
    codes = observed_codes(tree, sample_nodes(tree, 6, rng))
    codes[rng.random(codes.shape) < 0.2] = -1
    network = gum.BayesNet("tree")
    for node, k in enumerate(tree.cardinalities):
        network.add(gum.RangeVariable(f"n{node}", "", 0, k - 1))
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            network.addArc(f"n{parent}", f"n{node}")
            for p, row in enumerate(tree.tables[node]):
                network.cpt(f"n{node}")[{f"n{parent}": p}] = row.tolist()
        else:
            network.cpt(f"n{node}").fillWith(tree.tables[node][0].tolist())
    found = node_posteriors(tree, codes)
    value = row_log_likelihood(tree, codes)
    holes = node_posteriors(tree, codes, range(12, 12 + n_leaves))
    for i, row in enumerate(codes):
        engine = gum.LazyPropagation(network)
        engine.setEvidence({f"n{12 + j}": int(code) for j, code in enumerate(row) if code >= 0})
        engine.makeInference()
        assert_allclose(math.log(engine.evidenceProbability()), value[i], rtol=1e-10)
        for node in tree.latent:
            expected = engine.posterior(f"n{node}").toarray()
            assert_allclose(found[node][i], expected, atol=1e-10)
        for j in np.flatnonzero(row < 0):
            expected = engine.posterior(f"n{12 + j}").toarray()
            assert_allclose(holes[j][i], expected, atol=1e-10)


class TestRows:
    def test_grouping_keeps_what_there_is(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(-1, 3, (500, 4))
        weight = rng.random(500)
        rows = group_rows(codes, weight)
        distinct = np.concatenate([block.codes for block in rows.blocks])
        assert np.array_equal(distinct[rows.index], codes)
        assert len(distinct) == len({tuple(row) for row in codes.tolist()})
        total = np.concatenate([block.weight for block in rows.blocks])
        assert_allclose(total, np.bincount(rows.index, weight))
        assert_allclose(rows.total_weight, weight.sum())
        assert len(rows) == 500

    def test_more_combinations_than_an_integer_holds(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(-1, 1000, (300, 60))
        codes[150:] = codes[:150]
        rows = group_rows(codes)
        assert sum(len(block.codes) for block in rows.blocks) == 150
        assert np.array_equal(rows.index[:150], rows.index[150:])

    def test_blocks_are_of_even_size_and_bounded_in_number(self, monkeypatch):
        monkeypatch.setattr(rows_module, "BLOCK_ROWS", 10)
        monkeypatch.setattr(rows_module, "MAX_BLOCKS", 4)
        codes = np.arange(30)[:, None]
        assert [len(block.codes) for block in group_rows(codes[:25]).blocks] == [9, 8, 8]
        wide = np.stack([np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30)], axis=1)
        assert [len(block.codes) for block in group_rows(wide).blocks] == [75] * 4

    @pytest.mark.parametrize(
        ("codes", "weight", "message"),
        [
            (
                [0, 1],
                None,
                "codes must be a table of whole numbers (2 dimensions), but has 1 and the type "
                "int64.",
            ),
            (
                [[0.0]],
                None,
                "codes must be a table of whole numbers (2 dimensions), but has 2 and the type "
                "float64.",
            ),
            (np.empty((0, 2), dtype=int), None, "codes has no rows; at least one is needed."),
            (
                [[0, 1], [1, -2]],
                None,
                "codes[1, 1]=-2 must be a code from 0, or -1 if missing.",
            ),
            (
                [[0, 2**40]],
                None,
                "codes[0, 1]=1099511627776 must be a code from 0, or -1 if missing.",
            ),
            ([[0]], [1.0, 2.0], "weight has shape (2,), but must have (1,), one a row."),
            ([[0]], [-1.0], "weight[0]=-1.0 must be a number of at least 0."),
            ([[0]], [np.nan], "weight[0]=nan must be a number of at least 0."),
        ],
    )
    def test_rows_that_make_no_sense(self, codes, weight, message):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            group_rows(codes, weight)

    def test_rows_that_do_not_fit_the_tree(self):
        tree = Tree.even((-1, 0, 0), (2, 2, 3), (-1, 0, 4))
        message = r"^Node 2 shows column 4, but codes has 2 columns\.$"
        with pytest.raises(ValueError, match=message):
            row_log_likelihood(tree, [[0, 0]])
        message = (
            r"^Column 0 has the code 2, but node 1, which shows it, has the states 0 to 1 only\.$"
        )
        with pytest.raises(ValueError, match=message):
            plan_rows(tree, group_rows([[2, 0, 0, 0, 0]]))

    def test_nodes_that_are_not_there(self):
        tree = Tree.even((-1, 0, 0), (2, 2, 3), (-1, 0, 1))
        with pytest.raises(ValueError, match=r"^node 3 must be one of the nodes 0 to 2\.$"):
            node_posteriors(tree, [[0, 0]], [3])

    @given(
        codes=st.lists(st.lists(st.integers(-3, 4), min_size=3, max_size=3), max_size=6),
        weight=st.one_of(st.none(), st.lists(st.floats(), max_size=6)),
    )
    @settings(max_examples=200)
    def test_any_rows_give_an_answer_or_a_plain_error(self, codes, weight):
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


def test_a_tree_of_one_observed_node():
    tree = Tree((-1,), (3,), (0,), ([[0.2, 0.3, 0.5]],))
    codes = [[0], [2], [-1]]
    assert_allclose(np.exp(row_log_likelihood(tree, codes)), [0.2, 0.5, 1.0])
    counts, _ = expected_counts(plan_rows(tree, group_rows(codes)), tree.theta[None])
    assert_allclose(counts[0], [1.2, 0.3, 1.5])


def test_the_package_does_not_load_numba_before_a_tree_is_used():
    code = "import sys, latentclass.latent_tree._tree; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
