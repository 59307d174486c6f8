"""Distinct rows and their patterns, against Python's own dictionaries."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.latent_tree import _row_patterns as rows_module
from latentclass.latent_tree._row_patterns import (
    Pattern,
    check_columns,
    group_rows,
    number_rows,
    trim_cache,
)
from latentclass.latent_tree._tree import Tree


@pytest.mark.parametrize("top", [3, 50, 2**40])
def test_patterns_are_numbered_in_the_order_of_the_columns(top):
    """Few possible keys are counted, many are sorted, and too many are renumbered on the way."""
    rng = np.random.default_rng(0)
    parts = rng.integers(0, top, (12, 3))[rng.integers(0, 12, 40)]
    found = number_rows([(column, top) for column in parts.T], len(parts))
    distinct = sorted({tuple(row) for row in parts.tolist()})
    assert [distinct[i] for i in found.ids] == [tuple(row) for row in parts.tolist()]
    first = [parts.tolist().index(list(row)) for row in distinct]
    assert found.first.tolist() == first


def test_rows_without_columns_are_one_pattern():
    found = number_rows([], 3)
    assert (found.ids.tolist(), found.first.tolist()) == ([0, 0, 0], [0])


def test_a_block_forgets_its_patterns_when_they_are_too_many(monkeypatch):
    rows = group_rows([[0], [1]])
    block = rows.blocks[0]
    block.patterns[frozenset([0])] = Pattern(np.arange(2, dtype=np.int32), np.arange(2))
    trim_cache(rows, block)
    assert len(block.patterns) == 1
    monkeypatch.setattr(rows_module, "CACHE_NUMBERS", 1)
    trim_cache(rows, block)
    assert block.patterns == {}


def test_grouping_keeps_what_there_is():
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


def test_more_combinations_than_an_integer_holds():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 1000, (300, 60))
    codes[150:] = codes[:150]
    rows = group_rows(codes)
    assert sum(len(block.codes) for block in rows.blocks) == 150
    assert np.array_equal(rows.index[:150], rows.index[150:])


def test_blocks_are_of_even_size_and_bounded_in_number(monkeypatch):
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
            "codes has 1 dimensions and the type int64, but must be a table (2 dimensions) of "
            "whole numbers.",
        ),
        (
            [[0.0]],
            None,
            "codes has 2 dimensions and the type float64, but must be a table (2 dimensions) "
            "of whole numbers.",
        ),
        (np.empty((0, 2), dtype=int), None, "codes has no rows. Pass at least one."),
        (
            [[0, 1], [1, -2]],
            None,
            "codes[1, 1]=-2 must be a code from 0 to 2**31 - 2, or -1 for a missing cell.",
        ),
        (
            [[0, 2**40]],
            None,
            "codes[0, 1]=1099511627776 must be a code from 0 to 2**31 - 2, or -1 for a missing "
            "cell.",
        ),
        (
            [[0]],
            [1.0, 2.0],
            "weight has shape (2,) but must have shape (1,): pass one weight per row.",
        ),
        ([[0]], [-1.0], "weight[0]=-1.0 must be a finite number of at least 0."),
        ([[0]], [np.nan], "weight[0]=nan must be a finite number of at least 0."),
    ],
)
def test_rows_that_make_no_sense(codes, weight, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        group_rows(codes, weight)


def test_rows_that_do_not_fit_the_tree():
    tree = Tree.even((-1, 0, 0), (2, 2, 3), (-1, 0, 4))
    message = r"^Node 2 shows column 4, but codes has only 2 columns\.$"
    with pytest.raises(ValueError, match=message):
        check_columns(tree, group_rows([[0, 0]]))
    message = r"^Column 0 has the code 2, but node 1, which shows it, has only the states 0 to 1\.$"
    with pytest.raises(ValueError, match=message):
        check_columns(tree, group_rows([[2, 0, 0, 0, 0]]))
