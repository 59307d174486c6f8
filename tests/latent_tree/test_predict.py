"""log p(row | class) in one pass, against sums over all states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import random_rows, random_tree, seen, slow_log

from latentclass.latent_tree import _predict
from latentclass.latent_tree._predict import class_log_likelihood
from latentclass.latent_tree._tree import Tree


@pytest.fixture(autouse=True, params=["NumPy", "compiled"])
def way(request, monkeypatch):
    """Every test runs both ways, whatever the number of rows."""
    if request.param == "compiled":
        monkeypatch.setattr(_predict, "FEW", 0)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_any_rows_of_small_trees(seed, zeros):
    tree = random_tree(seed, zeros=zeros)
    codes = random_rows(tree, 15, np.random.default_rng(seed))
    expected = [seen(tree, row).sum() for row in codes]
    got = np.exp(class_log_likelihood([tree], codes)[:, 0])
    assert_allclose(got, expected, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("n_rows", [1, 127, 128, 300])
def test_rows_of_all_classes_in_blocks_of_any_length(n_rows):
    shape = ((-1, 0, 0, 1, 1, 2, 2), (2, 2, 3, 3, 2, 3, 2), (-1, -1, -1, 0, 1, 2, 3))
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(3):
        even = Tree.even(*shape)
        tables = tuple(rng.dirichlet(np.ones(t.shape[1]), len(t)) for t in even.tables)
        trees.append(Tree(*shape, tables))
    codes = random_rows(trees[0], n_rows, rng)
    got = class_log_likelihood(trees, codes)
    assert got.shape == (n_rows, 3)
    for k, tree in enumerate(trees):
        assert_allclose(got[:, k], [slow_log(tree, row) for row in codes], rtol=1e-10, atol=1e-12)


def test_rows_of_many_columns_do_not_underflow_and_impossible_ones_are_so():
    n = 700
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.full(9, 0.05), 3) + 1e-9 for _ in range(n)]
    tables = [[[0.5, 0.3, 0.2]], *(t / t.sum(axis=1, keepdims=True) for t in tables)]
    tree = Tree((-1, *[0] * n), (3, *[9] * n), (-1, *range(n)), tuple(map(np.asarray, tables)))
    codes = rng.integers(0, 9, (5, n)).astype(np.int32)
    assert_allclose(
        class_log_likelihood([tree], codes)[:, 0], [slow_log(tree, row) for row in codes], rtol=1e-9
    )
    never = Tree((-1, 0), (1, 2), (-1, 0), (np.ones((1, 1)), np.array([[1.0, 0.0]])))
    got = class_log_likelihood([never], np.array([[1], [0], [-1]], dtype=np.int32))
    assert got[:, 0].tolist() == [-np.inf, 0.0, 0.0]
