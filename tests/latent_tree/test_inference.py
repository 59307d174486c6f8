"""Inference on trees against sums over all states, row by row."""

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import (
    margin,
    random_rows,
    random_tables,
    random_tree,
    seen,
    slow_counts,
    slow_log,
)

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


def small_case(seed, zeros=0.0):
    tree = random_tree(seed, n_latent=1 + seed % 3, zeros=zeros, inner_observed=seed % 2 == 1)
    rng = np.random.default_rng(100 + seed)
    return tree, random_rows(tree, 12, rng), rng


@pytest.fixture(params=["one block", "many blocks", "groups of inputs", "shared patterns"])
def layout(request, monkeypatch):
    """Ways to divide rows and inputs, which must all give the same answers."""
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


class TestInvariance:
    tree = random_tree(5, n_latent=4, n_leaves=7)
    codes = random_rows(tree, 60, np.random.default_rng(0))

    def test_root(self):
        expected = row_log_likelihood(self.tree, self.codes)
        posterior = node_posteriors(self.tree, self.codes)
        for node in range(len(self.tree.parents)):
            turned, order = reroot(self.tree, node)
            assert_allclose(
                row_log_likelihood(turned, self.codes), expected, rtol=1e-12, atol=1e-14
            )
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
            assert_allclose(
                row_log_likelihood(turned, self.codes), expected, rtol=1e-12, atol=1e-14
            )
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
        monkeypatch.setattr(rows_module, "CACHE_NUMBERS", 10)
        rows = group_rows(self.codes)
        plan_rows(self.tree, rows)
        assert not rows.blocks[0].patterns


class TestRange:
    """Numbers far below the smallest double."""

    @pytest.mark.parametrize("lowest", [-10, -90, -300])
    @pytest.mark.parametrize("seed", range(4))
    def test_tables_of_any_size_against_logarithms(self, seed, lowest):
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
        plan = plan_rows(tree, group_rows(codes, weight))
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
        # half of the leaves favour one state by 99 to 1 each, the other half the other state
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
        # the impossible row does not count
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


def test_nodes_that_are_not_there():
    tree = Tree.even((-1, 0, 0), (2, 2, 3), (-1, 0, 1))
    with pytest.raises(
        ValueError, match=r"^nodes has 3, but the tree has only the nodes 0 to 2\.$"
    ):
        node_posteriors(tree, [[0, 0]], [3])


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
