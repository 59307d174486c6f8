"""Several sets of cut points under one fine coding."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from latentclass.discrete._cut_sets import learn_cut_sets
from latentclass.latent_tree._arrange import leaf_counts, with_leaves
from latentclass.latent_tree._tree import Tree, observed_codes, sample_nodes
from plain import LatentTreeClassifier


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)
    X = pd.DataFrame(
        {
            "a": rng.normal(y, 1.0),
            "b": rng.normal(-y, 1.0),
            "noise": rng.normal(size=160),
            "word": np.where(rng.random(160) < 0.2 + 0.5 * y, "yes", "no"),
        }
    )
    X.loc[3:9, "a"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def sets(rows):
    X, y = rows
    model = LatentTreeClassifier(random_state=0).fit(X, y)
    table = model._read(X)
    return learn_cut_sets(model.schema_, table, y, np.ones(160), 2, [1, 2, 3]), table


def test_levels_seen_from_the_fine_coding_are_those_of_the_own_cuts(sets):
    (fine, found), table = sets
    codes = fine.encode(table.block(slice(None)))
    assert len(found) == 4
    assert len({np.concatenate(cuts.cuts).tobytes() for cuts in found}) > 1
    for cuts in found:
        coarse = cuts.coarse(codes)
        for j, (continuous, place) in enumerate(fine.active):
            values = table.numeric[:, place] if continuous else table.codes[:, place]
            expected = np.searchsorted(cuts.cuts[place], values) if continuous else values
            assert_allclose(coarse[:, j], np.where(codes[:, j] < 0, -1, expected))
    assert [len(cuts.cuts[2]) for cuts in found] == [0] * 4  # noise is cut in no set


def test_shares_within_a_level_sum_to_one_and_are_what_is_drawn(sets):
    (_, found), _ = sets
    rng = np.random.default_rng(1)
    for cuts in found:
        for level, log_share in zip(cuts.level, cuts.log_share, strict=True):
            assert_allclose(np.bincount(level, np.exp(log_share)), 1.0)
        for own in range(min(cuts.n_levels)):
            drawn = cuts.draw(np.full((20_000, len(cuts.level)), own, dtype=np.int32), rng)
            for j, (level, log_share) in enumerate(zip(cuts.level, cuts.log_share, strict=True)):
                seen = np.bincount(drawn[:, j], minlength=len(level)) / 20_000
                assert_allclose(seen, np.where(level == own, np.exp(log_share), 0), atol=0.02)


def test_probabilities_are_the_mean_over_models_of_one_set_each(rows):
    X, y = rows
    model = LatentTreeClassifier(n_cuts=4, random_state=0).fit(X, y)
    value = model._model
    codes = value.coded(model._read(X))
    total = 0.0
    for trees, prior, cuts in zip(value.trees, value.average.priors, value.cut_sets, strict=True):
        joint = np.empty((len(X), 2))
        for k, tree in enumerate(trees):
            from latentclass.latent_tree._inference import group_rows, row_log_likelihood

            own = row_log_likelihood(tree, group_rows(cuts.coarse(codes)))
            joint[:, k] = np.exp(own) * prior[k]
        total = total + joint / joint.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), total / 4, rtol=1e-8)


def test_one_set_is_the_first_of_several_and_words_need_no_more(rows):
    X, y = rows
    one = LatentTreeClassifier(n_cuts=1, random_state=0).fit(X, y)
    several = LatentTreeClassifier(n_cuts=5, random_state=0).fit(X, y)
    assert len(one._model.trees) == 1
    for name, cuts in several.cut_points_.items():
        assert_allclose(cuts, one.cut_points_[name])
    for label, tree in one.trees_.items():
        for ours, theirs in zip(tree.tables, several.trees_[label].tables, strict=True):
            assert_allclose(ours, theirs)
    assert one.to_bif(1) == several.to_bif(1)
    assert len(LatentTreeClassifier(n_cuts=5).fit(X[["word"]], y)._model.trees) == 1


def test_leaves_for_other_codes_are_counted_within_the_states_above():
    sharp = [[0.9, 0.1], [0.1, 0.9]]
    tree = Tree((-1, 0, 0, 0), (2,) * 4, (-1, 0, 1, 2), ([[0.4, 0.6]], sharp, sharp, sharp))
    codes = observed_codes(tree, sample_nodes(tree, 30_000, np.random.default_rng(0)))
    other = codes.copy()
    other[:, 1] = 2 * codes[:, 1] + np.random.default_rng(1).integers(0, 2, len(codes))
    other[::7, 1] = -1
    counts = leaf_counts(tree, codes, other, np.ones(len(codes)), [2, 4, 2])
    assert_allclose(counts[2].sum(), np.count_nonzero(other[:, 1] >= 0))
    every = [np.arange(k, dtype=np.int32) for k in (2, 4, 2)]
    new = with_leaves(tree, counts, every)
    assert new.cardinalities == (2, 2, 4, 2)
    halves = np.repeat(sharp, 2, axis=1) / 2
    assert_allclose(new.tables[2], halves, atol=0.02)
    assert_allclose(new.tables[1], sharp, atol=0.02)
    joined = with_leaves(tree, counts, [every[0], np.array([0, 0, 1, 1], np.int32), every[2]])
    assert_allclose(joined.tables[2], sharp, atol=0.02)


@pytest.mark.parametrize("value", [0, 1.5, "two"])
def test_the_number_of_sets_is_checked(rows, value):
    with pytest.raises(ValueError, match="n_cuts="):
        LatentTreeClassifier(n_cuts=value).fit(*rows)
