"""Trees as values, against the joint distribution written out in full."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tree_reference import joint, made, random_tables, random_tree, same_up_to_states

from latentclass.latent_tree._tree import (
    Tree,
    edge_information,
    irregular_nodes,
    largest_regular_cardinality,
    marginals,
    n_parameters,
    observed_codes,
    permute_states,
    reroot,
    sample_nodes,
)

CHAIN = ((-1, 0, 1, 1, 0, 0), (2, 3, 2, 2, 4, 2), (-1, -1, 2, 0, 1, 3))
"""Two latent nodes with two leaves each."""


class TestChecks:
    @pytest.mark.parametrize(
        ("parents", "cardinalities", "columns", "message"),
        [
            ((), (), (), "A tree needs at least one node, but parents is empty."),
            (
                (-1, 0),
                (2,),
                (-1, 0),
                "parents (2), cardinalities (1) and columns (2) must have one entry for each node.",
            ),
            ((0, 0), (2, 2), (-1, 0), "parents[0]=0 must be -1: node 0 is the root."),
            (
                (-1, 1),
                (2, 2),
                (-1, 0),
                "parents[1]=1 must be a node before node 1. Number the nodes with parents before "
                "children, and one root.",
            ),
            (
                (-1, -1),
                (2, 2),
                (1, 0),
                "parents[1]=-1 must be a node before node 1. Number the nodes with parents before "
                "children, and one root.",
            ),
            ((-1, 0), (2, 0), (-1, 0), "cardinalities[1]=0 must be at least 1."),
            ((-1, 0), (2, 1.5), (-1, 0), "cardinalities[1]=1.5 must be a whole number."),
            ((-1, 0), (True, 2), (-1, 0), "cardinalities[0]=True must be a whole number."),
            (
                (-1, 0),
                (2, 2),
                (-1, -2),
                "columns[1]=-2 must be the number of a column, or -1 for a latent node.",
            ),
            (
                (-1, 0, 0),
                (2, 2, 2),
                (-1, 3, 3),
                "Nodes 1 and 2 both show column 3, but only one node may show a column.",
            ),
            (
                (-1, 0),
                (2, 2),
                (0, -1),
                "Node 1 is a leaf but columns[1]=-1: a leaf must show a column. Remove the node; "
                "without it the columns have the same distribution.",
            ),
        ],
    )
    def test_a_shape_that_is_no_tree(self, parents, cardinalities, columns, message):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Tree.even(parents, cardinalities, columns)

    @pytest.mark.parametrize(
        ("tables", "message"),
        [
            (([[0.5, 0.5]],), "tables has 1 entries but must have one for each of the 2 nodes."),
            (
                ([[0.5, 0.5]], [[0.5, 0.5]]),
                "tables[1] has shape (1, 2) but must have shape (2, 2).",
            ),
            (
                ([[0.5, 0.5]], [[0.5, 0.5], [1.5, -0.5]]),
                "tables[1] has entries that are not between 0 and 1.",
            ),
            (
                ([[np.nan, 0.5]], [[0.5, 0.5], [0.5, 0.5]]),
                "tables[0] has entries that are not between 0 and 1.",
            ),
            (
                ([[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.25]]),
                "Row 1 of tables[1] sums to 0.75 but must sum to 1.",
            ),
        ],
    )
    def test_tables_that_do_not_fit(self, tables, message):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Tree((-1, 0), (2, 2), (-1, 0), tables)

    def test_a_tree_does_not_follow_its_makers_arrays_and_cannot_be_written_to(self):
        mine = np.array([[0.5, 0.5]])
        tree = Tree((-1, 0), (2, 2), (-1, 0), (mine, np.full((2, 2), 0.5)))
        mine[0] = 7.0
        assert tree.tables[0].tolist() == [[0.5, 0.5]]
        with pytest.raises(ValueError, match="read-only"):
            tree.tables[0][0, 0] = 1.0
        with pytest.raises(AttributeError):
            tree.parents = (-1, 0)

    @given(
        parents=st.lists(st.integers(-2, 5), max_size=6),
        cardinalities=st.lists(st.integers(-1, 3), max_size=6),
        columns=st.lists(st.integers(-3, 5), max_size=6),
    )
    @settings(max_examples=300)
    def test_any_shape_is_a_tree_or_a_plain_error(self, parents, cardinalities, columns):
        tree = made(lambda: Tree.even(parents, cardinalities, columns), r"\.$")
        if tree is not None:
            assert_allclose(joint(tree).sum(), 1.0)

    @given(entries=st.lists(st.floats(allow_nan=True), min_size=4, max_size=4))
    @settings(max_examples=200)
    def test_any_table_is_a_table_of_distributions_or_a_plain_error(self, entries):
        table = np.array(entries).reshape(2, 2)
        tree = made(lambda: Tree((-1, 0), (2, 2), (-1, 0), ([[0.5, 0.5]], table)), r"tables\[1\]")
        if tree is not None:
            assert_allclose(tree.tables[1].sum(axis=1), 1.0, atol=1e-6)


def test_theta_and_back():
    tree = random_tree(0)
    again = tree.with_theta(tree.theta)
    assert all(np.array_equal(a, b) for a, b in zip(tree.tables, again.tables, strict=True))
    assert tree.offsets[-1] == len(tree.theta)
    sums = np.add.reduceat(tree.theta, tree.distribution_starts)
    assert_allclose(sums, 1.0)


def test_parameters_by_hand():
    # 1 + 2 * 2 + 3 * 1 + 3 * 1 + 2 * 3 + 2 * 1
    assert n_parameters(Tree.even(*CHAIN)) == 19


class TestRegularity:
    def star(self, k, *leaves):
        n = len(leaves)
        return Tree.even((-1, *(0,) * n), (k, *leaves), (-1, *range(n)))

    def test_three_neighbours_may_reach_the_bound(self):
        # 2 * 3 * 4 / 4
        assert largest_regular_cardinality(self.star(2, 2, 3, 4), 0) == 6
        assert irregular_nodes(self.star(6, 2, 3, 4)) == ()
        assert irregular_nodes(self.star(7, 2, 3, 4)) == (0,)

    def test_two_neighbours_must_stay_below_it(self):
        assert largest_regular_cardinality(self.star(2, 3, 4), 0) == 2
        assert irregular_nodes(self.star(2, 3, 4)) == ()
        assert irregular_nodes(self.star(3, 3, 4)) == (0,)

    def test_one_neighbour_allows_one_state(self):
        assert irregular_nodes(self.star(1, 3)) == ()
        assert irregular_nodes(self.star(2, 3)) == (0,)

    def test_a_neighbour_of_one_state_may_leave_no_room(self):
        assert largest_regular_cardinality(self.star(1, 1, 4), 0) == 0
        assert irregular_nodes(self.star(1, 1, 4)) == (0,)

    def test_the_parent_is_a_neighbour_and_observed_nodes_are_free(self):
        tree = Tree.even(*CHAIN)
        # node 1: parent of 2 states, leaves of 2 and 2: 8 / 2; node 0: 3, 4, 2
        assert largest_regular_cardinality(tree, 1) == 4
        assert largest_regular_cardinality(tree, 0) == 6
        shown = Tree.even((-1, 0), (9, 2), (0, 1))
        assert irregular_nodes(shown) == ()

    def test_an_irregular_tree_has_a_regular_equal(self):
        # a latent node with as many states as one of two leaves can copy that leaf
        rng = np.random.default_rng(0)
        pair = rng.dirichlet(np.ones(6)).reshape(2, 3)
        copy = Tree(
            (-1, 0, 0), (2, 2, 3), (-1, 0, 1),
            (pair.sum(axis=1)[None], np.eye(2), pair / pair.sum(axis=1, keepdims=True)),
        )  # fmt: skip
        assert_allclose(joint(copy).sum(axis=0), pair)
        assert irregular_nodes(copy) == (0,)


@pytest.mark.parametrize("seed", range(8))
class TestDistribution:
    def test_marginals(self, seed):
        tree = random_tree(seed, zeros=0.2)
        full = joint(tree)
        for node, margin in enumerate(marginals(tree)):
            axes = tuple(i for i in range(full.ndim) if i != node)
            assert_allclose(margin, full.sum(axis=axes), atol=1e-14)

    def test_edge_information(self, seed):
        tree = random_tree(seed, zeros=0.2)
        full = joint(tree)
        information = edge_information(tree)
        assert information[0] == 0
        for node, parent in enumerate(tree.parents[1:], start=1):
            axes = tuple(i for i in range(full.ndim) if i not in (node, parent))
            pair = full.sum(axis=axes)  # parents have the lower axis
            expected = 0.0
            for a, b in np.ndindex(pair.shape):
                if pair[a, b] > 0:
                    expected += pair[a, b] * np.log(pair[a, b] / pair[a].sum() / pair[:, b].sum())
            assert_allclose(information[node], expected, atol=1e-12)

    def test_rerooting_keeps_the_joint_distribution(self, seed):
        tree = random_tree(seed, zeros=0.2, inner_observed=seed % 2 == 0)
        full = joint(tree)
        for node in range(len(tree.parents)):
            turned, order = reroot(tree, node)
            assert order[0] == node
            assert turned.columns == tuple(tree.columns[i] for i in order)
            assert_allclose(joint(turned), full.transpose(order), atol=1e-14)
            assert_allclose(
                np.sort(edge_information(turned)), np.sort(edge_information(tree)), atol=1e-12
            )

    def test_tables_off_the_way_stay_to_the_bit(self, seed):
        tree = random_tree(seed)
        turned, order = reroot(tree, 2)
        on_way = {2, tree.parents[2], tree.parents[tree.parents[2]]}
        for new, old in enumerate(order):
            if old not in on_way:
                assert np.array_equal(turned.tables[new], tree.tables[old])

    def test_there_and_back(self, seed):
        tree = random_tree(seed)
        turned, order = reroot(tree, 1)
        back, again = reroot(turned, order.index(0))
        assert back.parents.count(-1) == 1
        place = [order[i] for i in again]
        assert_allclose(joint(back), joint(tree).transpose(place), atol=1e-14)
        assert n_parameters(turned) == n_parameters(back)

    def test_permuted_states(self, seed):
        tree = random_tree(seed)
        rng = np.random.default_rng(seed)
        full = joint(tree)
        for node, k in enumerate(tree.cardinalities):
            order = rng.permutation(k)
            turned = permute_states(tree, node, order.tolist())
            assert_allclose(joint(turned), full.take(order, axis=node), atol=1e-15)
        assert same_up_to_states(tree, permute_states(tree, 0, order_of(tree, 0)), 1e-15)


def order_of(tree, node):
    return list(range(tree.cardinalities[node]))[::-1]


def test_trees_that_differ_are_not_the_same():
    tree = random_tree(0)
    other = random_tables(tree, np.random.default_rng(5))
    assert not same_up_to_states(tree, other, 1e-6)


def test_number_of_parameters_may_change_only_with_the_shape():
    tree = Tree.even(*CHAIN)
    for node in range(6):
        assert n_parameters(reroot(tree, node)[0]) == n_parameters(tree)


def test_nodes_and_states_that_are_not_there():
    tree = Tree.even(*CHAIN)
    with pytest.raises(ValueError, match=r"^node=6 must be one of the nodes 0 to 5\.$"):
        reroot(tree, 6)
    with pytest.raises(ValueError, match=r"^node=-1 must be one of the nodes 0 to 5\.$"):
        permute_states(tree, -1, [0, 1])
    message = r"^order=\[0, 0\] must contain each of the 2 states of node 0 once\.$"
    with pytest.raises(ValueError, match=message):
        permute_states(tree, 0, [0, 0])


def test_a_latent_root_does_not_become_a_leaf():
    tree = Tree.even((-1, 0), (1, 2), (-1, 0))
    message = (
        r"^Node 0, the root, is latent and has only one neighbour, so with another root it would "
        r"be a latent leaf\. Remove it first\.$"
    )
    with pytest.raises(ValueError, match=message):
        reroot(tree, 1)
    assert reroot(tree, 0)[1] == (0, 1)


def test_samples_follow_the_joint_distribution():
    tree = random_tree(3, zeros=0.2)
    n = 200_000
    states = sample_nodes(tree, n, np.random.default_rng(0))
    counts = np.zeros(tree.cardinalities)
    np.add.at(counts, tuple(states.T), 1)
    full = joint(tree)
    assert counts[full == 0].sum() == 0
    spread = np.sqrt(full * (1 - full) / n)
    assert np.all(np.abs(counts / n - full) <= 5 * spread + 1e-12)


def test_observed_codes():
    tree = Tree.even(*CHAIN)
    states = np.array([[0, 2, 1, 0, 3, 1]], dtype=np.int32)
    assert observed_codes(tree, states).tolist() == [[0, 3, 1, 1]]
    assert observed_codes(tree, states, 6).tolist() == [[0, 3, 1, 1, -1, -1]]
