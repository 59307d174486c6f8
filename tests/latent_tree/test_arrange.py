"""Trees arranged for the reader, against the joint distribution written out in full."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import joint, margin, random_tree

from latentclass.latent_tree._arrange import arranged, separations, with_columns
from latentclass.latent_tree._inference import row_log_likelihood
from latentclass.latent_tree._tree import Tree, marginals, observed_codes, sample_nodes


@pytest.mark.parametrize("seed", range(4))
def test_arranged_trees_are_the_same_distribution(seed):
    tree = random_tree(seed, n_latent=4, n_leaves=7)
    codes = observed_codes(tree, sample_nodes(tree, 20, np.random.default_rng(seed)))
    shown = arranged(tree)
    assert_allclose(row_log_likelihood(shown, codes), row_log_likelihood(tree, codes), rtol=1e-9)
    for node in shown.latent:
        assert np.all(np.diff(marginals(shown)[node]) <= 1e-9)


def test_the_root_is_in_the_middle():
    # a chain of three latent nodes, with leaves at both ends
    chain = Tree.even((-1, 0, 1, 0, 0, 1, 2, 2), (2,) * 8, (-1, -1, -1, *range(5)))
    shown = arranged(chain)
    assert [len(shown.children[node]) for node in shown.latent] == [3, 2, 2]
    assert shown.columns[shown.children[0][-1]] == 2


def test_columns_of_another_table():
    tree = random_tree(0)
    codes = observed_codes(tree, sample_nodes(tree, 20, np.random.default_rng(0)))
    order = np.random.default_rng(0).permutation(codes.shape[1])
    turned = with_columns(tree, np.argsort(order).tolist())
    assert_allclose(
        row_log_likelihood(turned, codes[:, order]), row_log_likelihood(tree, codes), rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(4))
def test_separations_are_sorted_and_exact(seed):
    tree = random_tree(seed)
    full = joint(tree)
    for node in tree.latent:
        found = separations(tree, node)
        assert sorted(s.column for s in found) == list(range(4))
        assert np.all(np.diff([s.information for s in found]) <= 1e-12)
        for s in found:
            leaf = tree.columns.index(s.column)
            pair = margin(full, node, leaf)
            pair = pair if node < leaf else pair.T
            product = np.outer(pair.sum(axis=1), pair.sum(axis=0))
            information = np.sum(pair * np.log(pair / product))
            assert_allclose(s.information, information, rtol=1e-9, atol=1e-12)
            assert_allclose(s.shares, pair / pair.sum(axis=1, keepdims=True), rtol=1e-9)
