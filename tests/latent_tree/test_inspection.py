"""Names, groups, edges and networks of a tree, against the joint distribution in full."""

import numpy as np
from numpy.testing import assert_allclose
from tree_reference import joint, margin, random_tables

from latentclass.latent_tree._inspection import (
    ClassTree,
    name_latents,
    tree_edges,
    tree_groups,
    tree_variables,
)
from latentclass.latent_tree._tree import Tree

TREE = random_tables(
    Tree.even((-1, 0, 0, 1, 1), (2, 2, 3, 2, 3), (-1, -1, 1, 0, 2)), np.random.default_rng(0)
)
SHOWN = ClassTree(TREE, ("Y1", "Y2"), ["a", "b", "c"], [["n", "y"], [1, 2, 3], ["u", "v", "w"]])
NODES = {"Y1": 0, "Y2": 1, "b": 2, "a": 3, "c": 4}


def pair(one, other):
    """Joint distribution of two nodes by name."""
    found = margin(joint(TREE), NODES[one], NODES[other])
    return found if NODES[one] < NODES[other] else found.T


def information(one, other):
    p = pair(one, other)
    return np.sum(p * np.log(p / np.outer(p.sum(axis=1), p.sum(axis=0))))


def test_nodes_have_the_names_of_columns_and_latent_variables():
    assert SHOWN.node_names == list(NODES)


def test_groups_are_the_shares_within_each_state():
    rows = tree_groups(SHOWN, None)
    assert len(rows) == 2 * 2 * (2 + 3 + 3)
    for latent, group, size, column, bits, level, probability in rows:
        p = pair(latent, column)
        place = SHOWN.levels[SHOWN.columns.index(column)].index(level)
        assert_allclose(size, p[group].sum(), rtol=1e-10)
        assert_allclose(probability, p[group, place] / p[group].sum(), rtol=1e-10)
        assert_allclose(bits, information(latent, column), rtol=1e-9, atol=1e-12)


def test_groups_of_the_most_telling_columns_come_first_and_can_be_cut():
    for latent in SHOWN.latent:
        order = [row[3] for row in tree_groups(SHOWN, None) if row[0] == latent]
        expected = sorted(SHOWN.columns, key=lambda column: -information(latent, column))
        assert list(dict.fromkeys(order)) == expected
        first = {row[3] for row in tree_groups(SHOWN, 1) if row[0] == latent}
        assert first == {expected[0]}


def test_edges_have_their_mutual_information():
    found = tree_edges(SHOWN)
    assert [edge[:2] for edge in found] == [("Y1", "Y2"), ("Y1", "b"), ("Y2", "a"), ("Y2", "c")]
    for parent, child, bits in found:
        assert_allclose(bits, information(parent, child), rtol=1e-9, atol=1e-12)


def test_the_network_is_the_tree():
    variables = tree_variables(SHOWN)
    assert [(v.name, v.parents) for v in variables] == [
        ("Y1", ()), ("Y2", ("Y1",)), ("b", ("Y1",)), ("a", ("Y2",)), ("c", ("Y2",)),
    ]  # fmt: skip
    assert variables[0].states == ["group0", "group1"]
    assert variables[2].states == [1, 2, 3]
    assert variables[0].table.shape == (2,)
    for v in variables[1:]:
        p = pair(v.parents[0], v.name)
        assert_allclose(v.table, p / p.sum(axis=1, keepdims=True), rtol=1e-10)


def test_names_count_through_all_classes_and_avoid_those_of_columns():
    small = Tree.even((-1, 0), (2, 2), (-1, 0))
    assert name_latents([(TREE, small)], 2, ["Y2", "b"]) == (("Y1", "Y2_"), ("Y3",))
    assert name_latents([], 2, ["b"]) == ((), ())
