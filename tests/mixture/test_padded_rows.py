"""The layout of rows for compiled loops: nothing is lost, and the padding adds nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from mixture_reference import make_rows, make_starts, pack
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.mixture._padded_rows import RUN, log_constants, pad_rows, with_place


@pytest.fixture
def data():
    return make_rows(RUN + 37, weight=np.random.default_rng(1).choice([0.3, 1.0, 4.0], RUN + 37))


def test_the_rows_can_be_read_back(data):
    rows, n_rows = pack(data), len(data.weight)
    numeric = np.where(rows.seen[:, :n_rows] > 0, rows.values[:, :n_rows], np.nan).T
    assert_array_equal(numeric, data.rows.numeric)
    nowhere = data.layout.offsets[-1]
    for j, first in enumerate(data.layout.offsets[:-1]):
        levels = rows.levels[j, :n_rows]
        assert_array_equal(np.where(levels == nowhere, -1, levels - first), data.rows.codes[:, j])
    assert_array_equal(rows.levels_by_row, rows.levels[:, :n_rows].T)
    assert_array_equal(rows.weight, data.weight)


def test_the_padding_has_missing_cells_only(data):
    rows, n_rows = pack(data), len(data.weight)
    assert rows.values.shape[1] == 2 * RUN
    assert not rows.seen[:, n_rows:].any()
    assert not rows.values[:, n_rows:].any()
    assert_array_equal(rows.levels[:, n_rows:], data.layout.offsets[-1])


def test_blocks_are_joined(data):
    spans = [slice(0, 11), slice(11, len(data.weight))]
    for one, other in zip(pad_rows(data.problem(2, spans)), pack(data), strict=True):
        assert_array_equal(one, other)


def test_the_order_in_memory_is_always_the_same(data):
    # another order would be another signature, and compile the loops once more
    turned = replace(data, rows=data.rows._replace(numeric=np.asfortranarray(data.rows.numeric)))
    assert all(part.flags.c_contiguous for part in pack(turned) if isinstance(part, np.ndarray))


def test_columns_with_missing_cells_are_told_apart(data):
    rows = pack(data)
    assert rows.whole.tolist() == [0, 2]
    assert rows.holed.tolist() == [1]
    complete = pack(make_rows(20, holes=False))
    assert complete.whole.tolist() == [0, 1, 2]
    assert complete.powers.shape == (20, 6)  # no third part: all cells are there


def test_powers_are_about_the_most_frequent_value(data):
    rows, numeric = pack(data), data.rows.numeric
    for j in range(3):
        column = numeric[:, j]
        counts = {value: int(np.sum(column == value)) for value in column[~np.isnan(column)]}
        assert counts[rows.shift[j]] == max(counts.values())
        about = np.nan_to_num(column - rows.shift[j])
        assert_array_equal(rows.powers[:, j], about)
        assert_array_equal(rows.powers[:, 3 + j], about**2)
        assert_array_equal(rows.powers[:, 6 + j], ~np.isnan(column))


def test_heavy_rows_stand_for_several(data):
    rows = pack(data)
    assert_array_equal(rows.heavy, np.flatnonzero(data.weight == 4.0))
    assert_array_equal(rows.units, np.full(len(rows.heavy), 4.0))
    assert_array_equal(rows.light, np.where(data.weight == 4.0, 0.0, data.weight))
    assert not rows.plain
    assert pack(make_rows(20)).plain


def test_a_place_for_missing_cells_is_added(data):
    params = make_starts(data)
    padded = with_place(params)
    assert_array_equal(padded.log_prob[:, :, :-1], params.log_prob)
    assert not padded.log_prob[:, :, -1].any()
    assert padded.mean is params.mean


def test_constants_are_those_of_the_normal_density(data):
    params = make_starts(data)
    found = log_constants(pack(data), params)
    for s, c, j in np.ndindex(found.shape):
        width = params.scale[s, c, j] * data.layout.unit[j]
        assert_allclose(found[s, c, j], math.log(width * math.sqrt(2 * math.pi)), rtol=1e-12)
