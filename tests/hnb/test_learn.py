"""The tables of a hierarchy, counted in loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.discrete._coding import CodedRows
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._learn import count_states, count_tops, find_hierarchy, top_layout
from latentclass.hnb._search import HierarchySettings

N_LEVELS = (2, 3, 2)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_LEVELS, (90, 3)).astype(np.int32)
    codes[rng.random(codes.shape) < 0.1] = -1
    y, weight = rng.integers(0, 2, 60), rng.random(90)
    return CodedRows(codes[:60], y, weight[:60], codes[60:], weight[60:], N_LEVELS, 2)


@pytest.fixture
def hierarchy():
    return Hierarchy(N_LEVELS).join(0, 1, np.array([[0, 1, 1], [1, 0, 1]], dtype=np.int32))


def test_counts_are_the_weight_of_each_state_in_each_class(rows, hierarchy):
    got = count_tops(hierarchy, 2, rows.codes, rows.y, rows.weight)
    expected = np.zeros((2, 2 + 2))  # the third column, then the latent variable
    for code, k, w in zip(rows.codes, rows.y, rows.weight, strict=True):
        if code[2] >= 0:
            expected[k, code[2]] += w
        state = hierarchy.encode(code[None])[0, 3]
        if state >= 0:
            expected[k, 2 + state] += w
    assert_allclose(got, expected, rtol=1e-12)
    _, _, (support,) = count_states(hierarchy, rows)
    assert_allclose(support, expected[:, 2:].T, rtol=1e-12)


def test_the_layout_falls_back_on_the_shares_of_all_rows(rows, hierarchy):
    layout = top_layout(hierarchy, count_states(hierarchy, rows)[0], 0.0)
    empty = np.exp(layout.estimate(np.zeros((2, 4))))
    codes = np.concatenate([rows.codes, rows.unlabelled])
    weight = np.concatenate([rows.weight, rows.unlabelled_weight])
    known = codes[:, 2] >= 0
    share = weight[codes[:, 2] == 1].sum() / weight[known].sum()
    assert_allclose(empty[:, 1], [share, share])
    assert_allclose(empty.reshape(2, 2, 2).sum(axis=2), 1.0)


def test_a_hierarchy_speaks_of_columns_in_their_own_order():
    """Columns 1 and 3 decide the class together, whatever the search calls them."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (300, 4)).astype(np.int32)
    y = (codes[:, 1] ^ codes[:, 3]).astype(np.intp)
    rows = CodedRows(codes, y, np.ones(300), codes[:0], np.empty(0), (2,) * 4, 2)
    for folds in (5, np.arange(300) % 3):
        found = find_hierarchy(rows, HierarchySettings(), n_candidates=10, folds=folds, seed=0)
        assert set(found.hierarchy.latents[0].children) == {1, 3}
        assert found.scores[-1] == 1.0
