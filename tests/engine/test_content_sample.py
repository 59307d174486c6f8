"""Samples that depend on the contents of rows alone, against counts of all distinct rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from latentclass.engine import _content_sample as sampling
from latentclass.engine._content_folds import mix_key

CHANCE = 0.01


def make_keys(kind, n_rows=30_000, seed=0):
    """Hashes of rows: all different, a few distinct ones, or some of any frequency."""
    rng = np.random.default_rng(seed)
    number = {
        "different": np.arange(n_rows),
        "few": rng.integers(0, 20, n_rows),
        "mixed": np.floor(n_rows ** rng.random(n_rows)).astype(int),
    }[kind]
    return mix_key(rng.permutation(number).astype(np.uint64) + np.uint64(10**9 * seed))


def drawn_from_all(key):
    """The sample from the counts of all distinct rows."""
    distinct, count = np.unique(key, return_counts=True)
    drawn = sampling.number_drawn(distinct, count, np.full(len(distinct), CHANCE))
    return dict(zip(distinct[drawn > 0].tolist(), drawn[drawn > 0].tolist(), strict=True))


def summarise_parts(key, n_parts, size):
    total = None
    for part in np.array_split(key, n_parts):
        one = sampling.summarise(part, np.full(len(part), CHANCE))
        total = one if total is None else sampling.merge_summaries(total, one, size)
    return total


@pytest.mark.parametrize("kind", ["different", "few", "mixed"])
@pytest.mark.parametrize("n_parts", [1, 7, 60])
def test_the_summary_keeps_all_rows_that_are_drawn(kind, n_parts):
    key = make_keys(kind)
    expected = drawn_from_all(key)
    size = sampling.summary_size(np.array([CHANCE]), np.array([len(key)]))
    found = summarise_parts(key, n_parts, size)
    assert found.lost < 1
    assert set(expected) <= set(found.candidates.tolist())
    assert len(found.candidates) <= 3 * CHANCE * len(key)


@pytest.mark.parametrize("kind", ["different", "few", "mixed"])
def test_a_small_summary_knows_what_it_lost(kind):
    key = make_keys(kind)
    whole = sampling.summarise(key, np.full(len(key), CHANCE))
    found = summarise_parts(key, 10, 15)
    assert len(found.key) <= 15
    noted = dict(zip(found.key.tolist(), found.score.tolist(), strict=True))
    for one, score in zip(whole.key.tolist(), whole.score.tolist(), strict=True):
        assert noted.get(one, 0.0) <= score + 1e-9
        assert score <= noted.get(one, 0.0) + found.lost + 1e-9


@pytest.mark.parametrize("count", [1, 5, 300])
@pytest.mark.parametrize("chance", [0.02, 0.5, 1.0])
def test_the_number_of_equal_rows_drawn_is_binomial(count, chance):
    key = make_keys("different", 40_000, seed=3)
    drawn = sampling.number_drawn(key, np.full(len(key), count), np.full(len(key), chance))
    shares = np.bincount(drawn, minlength=count + 1) / len(key)
    assert_allclose(shares, binom.pmf(np.arange(count + 1), count, chance), atol=0.01)
    if chance == 1.0:
        assert_array_equal(drawn, count)


def test_different_hashes_give_a_sample_of_the_expected_size():
    key = make_keys("mixed", seed=5)
    sizes = [sum(drawn_from_all(mix_key(key + np.uint64(s))).values()) for s in range(40)]
    expected = CHANCE * len(key)
    assert abs(np.mean(sizes) - expected) < 4 * np.sqrt(expected / 40)
    assert 0.5 * expected < np.var(sizes) < 2 * expected
