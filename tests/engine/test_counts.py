"""Counts of level pairs and the information measures, against loops over rows."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import mutual_info_score

from latentclass.engine import _counts as counting

N_LEVELS = (3, 2, 4)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(-1, r, 60) for r in N_LEVELS], axis=1).astype(np.int32)
    return codes, rng.integers(0, 3, 60), rng.uniform(0.5, 2, 60)


def slow_pair_counts(codes, y, weight, n_classes, offsets):
    counts = np.zeros((n_classes, offsets[-1], offsets[-1]))
    for row, k, w in zip(codes, y, weight, strict=True):
        for i, a in enumerate(row):
            for j, b in enumerate(row):
                if a >= 0 and b >= 0:
                    counts[k, offsets[i] + a, offsets[j] + b] += w
    return counts


@pytest.mark.parametrize("block_bytes", [2**24, 1])
@pytest.mark.parametrize("product_time", [0.0, 1e9], ids=["products", "tallies"])
def test_pair_counts_are_those_of_a_loop(rows, block_bytes, product_time, monkeypatch):
    monkeypatch.setattr(counting, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(counting, "PRODUCT_TIME", product_time)
    offsets = counting.level_offsets(N_LEVELS)
    expected = slow_pair_counts(*rows, 3, offsets)
    assert_allclose(counting.pair_counts(*rows, 3, offsets), expected, rtol=1e-12)
    assert_allclose(
        counting.level_counts(*rows, 3, offsets), np.einsum("kaa->ka", expected), rtol=1e-12
    )


def test_counts_of_disjoint_rows_add_up_and_whole_weights_are_copies(rows):
    codes, y, _ = rows
    offsets = counting.level_offsets(N_LEVELS)
    copies = np.random.default_rng(1).integers(1, 4, 60)
    weighted = counting.pair_counts(codes, y, copies.astype(float), 3, offsets)
    index = np.repeat(np.arange(60), copies)
    ones = np.ones(len(index))
    half = np.arange(len(index)) % 2 == 0
    parts = [
        counting.pair_counts(codes[index[m]], y[index[m]], ones[m], 3, offsets)
        for m in (half, ~half)
    ]
    assert_allclose(parts[0] + parts[1], weighted, rtol=1e-12)


def test_no_columns_have_no_counts():
    offsets = counting.level_offsets(())
    codes = np.empty((5, 0), dtype=np.int32)
    counts = counting.pair_counts(codes, np.zeros(5, int), np.ones(5), 1, offsets)
    assert counts.shape == (1, 0, 0)
    assert counting.conditional_mutual_information(counts, offsets).shape == (0, 0)


@pytest.mark.parametrize("block_bytes", [2**24, 300, 1])
@pytest.mark.parametrize("product_time", [0.0, 1e9], ids=["products", "tallies"])
def test_information_in_blocks_of_columns_is_that_of_the_whole(
    rows, block_bytes, product_time, monkeypatch
):
    monkeypatch.setattr(counting, "PRODUCT_TIME", product_time)
    codes, y, weight = rows
    offsets = counting.level_offsets(N_LEVELS)

    def count(first, n_first):
        own = counting.level_offsets(N_LEVELS[first:])
        return counting.pair_counts(codes[:, first:], y, weight, 3, own, n_first)

    counts = counting.pair_counts(*rows, 3, offsets)
    for n_first in (3, 5):
        assert_allclose(count(0, n_first), counts[:, :n_first], rtol=1e-12)
    expected = counting.conditional_mutual_information(counts, offsets)
    assert_allclose(counting.pair_information(count, 3, offsets), expected, rtol=0, atol=0)
    monkeypatch.setattr(counting, "WHOLE_BYTES", 0)
    monkeypatch.setattr(counting, "BLOCK_BYTES", block_bytes)
    assert_allclose(counting.pair_information(count, 3, offsets), expected, atol=1e-13)


def test_blocks_of_columns_have_all_columns_once():
    offsets = counting.level_offsets([2, 3, 9, 2, 2])
    assert list(counting.column_blocks(offsets, 10, 50)) == [(0, 2), (2, 3), (3, 5)]
    assert list(counting.column_blocks(offsets, 10, 10**6)) == [(0, 5)]


def test_too_many_pairs_of_columns_are_refused():
    message = (
        "Comparing all pairs of 50,000 columns would need 18.6 GiB of memory, above the limit of "
        "8 GiB. Select the columns that say most about the class, or use NaiveBayes."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        counting.check_pairs_of_columns(50_000, 8.0 * 50_000**2)


def test_conditional_mutual_information_is_the_mean_over_classes(rows):
    codes, y, _ = rows
    offsets = counting.level_offsets(N_LEVELS)
    counts = counting.pair_counts(codes, y, np.ones(60), 3, offsets)
    got = counting.conditional_mutual_information(counts, offsets)
    for i in range(3):
        assert got[i, i] == 0.0
        for j in range(i):
            both = (codes[:, i] >= 0) & (codes[:, j] >= 0)
            expected = sum(
                np.mean(y[both] == k)
                * mutual_info_score(codes[both & (y == k), i], codes[both & (y == k), j])
                for k in range(3)
            )
            assert_allclose([got[i, j], got[j, i]], expected, rtol=1e-9)


def test_independent_columns_share_no_information():
    codes = np.array([[a, b] for a in range(3) for b in range(3)] * 7, dtype=np.int32)
    offsets = counting.level_offsets((3, 3))
    counts = counting.pair_counts(codes, np.zeros(63, int), np.ones(63), 1, offsets)
    assert counting.conditional_mutual_information(counts, offsets).tolist() == [[0, 0], [0, 0]]


def test_class_information_is_scikit_learns(rows):
    codes, y, _ = rows
    offsets = counting.level_offsets(N_LEVELS)
    got = counting.class_information(
        counting.level_counts(codes, y, np.ones(60), 3, offsets), offsets
    )
    expected = [mutual_info_score(c[c >= 0], y[c >= 0]) for c in codes.T]
    assert_allclose(got, expected, rtol=1e-9)


def test_indicator_picks_and_counts():
    index = np.array([[0, 2], [2, -1]])
    shown = counting.indicator_rows(index, 3)
    assert shown.toarray().tolist() == [[1, 0, 1], [0, 0, 1]]
