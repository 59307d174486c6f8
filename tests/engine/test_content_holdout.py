"""Hold-out by content: what is held out, and that the way a table is written does not matter."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _content_holdout as holdout
from latentclass.engine._content_holdout import (
    batch_shares,
    colour_columns,
    gather_rows,
    order_levels,
)

N_LEVELS = np.array([3, 2])


def held_shares(*table):
    """The shares of a table's rows."""
    return holdout.held_shares(gather_rows(*table))


def make_table(n_rows=120, seed=0):
    """Two continuous and two discrete columns, three classes, some rows without a label."""
    rng = np.random.default_rng(seed)
    numeric = np.round(rng.normal(size=(n_rows, 2)), 1)
    codes = rng.integers(-1, N_LEVELS, (n_rows, 2)).astype(np.int32)
    numeric[rng.random(numeric.shape) < 0.1] = np.nan
    y = rng.choice([-1, 0, 1, 2], n_rows, p=[0.2, 0.4, 0.37, 0.03])
    y[:3] = 2
    return numeric, codes, y, rng.integers(1, 4, n_rows).astype(float)


def make_bits(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    bits = (rng.random((n_rows, 12)) < 0.3).astype(np.int32)
    return bits, rng.integers(-1, 2, n_rows), rng.integers(1, 4, n_rows).astype(float)


class TestShares:
    def test_each_part_is_a_fifth_of_each_class(self):
        numeric, codes, y, weight = make_table()
        weight[y == 2] = 4.0 / np.count_nonzero(y == 2)  # 4 in all, which is too little
        shares = held_shares(numeric, codes, y, weight, N_LEVELS, 0)
        assert shares.shape == (5, 120)
        for label in (0, 1):
            mine = y == label
            assert_allclose(shares[:, mine].sum(axis=0), 1.0, rtol=1e-9)
            held = shares[:, mine] @ weight[mine]
            assert_allclose(held, weight[mine].sum() / 5, atol=1.0)
        assert not shares[:, (y == -1) | (y == 2)].any()

    def test_a_heavy_row_is_held_out_in_part(self):
        numeric, codes, y, weight = make_table()
        heavy = np.flatnonzero(y == 0)[0]
        weight[heavy] = 4e3
        (share,) = held_shares(numeric, codes, y, weight, N_LEVELS, 0)[:, heavy]
        assert_allclose(share, 0.2, atol=1e-3)

    def test_of_many_rows_a_part_holds_out_a_thousand(self, monkeypatch):
        numeric, codes, y, weight = make_table()
        labelled = y >= 0
        monkeypatch.setattr(holdout, "MOST_HELD", weight[labelled].sum() / 8.5)
        shares = held_shares(numeric, codes, y, weight, N_LEVELS, 0)
        assert len(shares) == 5
        for label in (0, 1):
            mine = y == label
            held = shares[:, mine] @ weight[mine]
            assert_allclose(held, weight[mine].sum() / 8, atol=1.0)

    def test_batches_are_all_rows_in_equal_parts_of_each_class(self):
        numeric, codes, y, weight = make_table()
        rows = gather_rows(numeric, codes, y, weight, N_LEVELS, 0)
        shares = np.array(list(batch_shares(rows, 4)))
        assert_allclose(shares.sum(axis=0), 1.0, rtol=1e-9)
        for label in (-1, 0, 1, 2):
            mine = y == label
            assert_allclose(shares[:, mine] @ weight[mine], weight[mine].sum() / 4, atol=1.0)
        turned = np.random.default_rng(1).permutation(120)
        again = gather_rows(numeric[turned], codes[turned], y[turned], weight[turned], N_LEVELS, 0)
        assert_allclose(np.array(list(batch_shares(again, 4))), shares[:, turned], atol=1e-9)

    def test_there_are_as_many_parts_as_are_needed(self, monkeypatch):
        table = make_table()
        every = held_shares(*table, N_LEVELS, 0)
        held = (every @ table[3])[:2]
        monkeypatch.setattr(holdout, "ENOUGH", held.sum())
        assert_array_equal(held_shares(*table, N_LEVELS, 0), every[:2])
        monkeypatch.setattr(holdout, "ENOUGH", held.sum() + 0.5)
        assert_array_equal(held_shares(*table, N_LEVELS, 0), every[:3])

    def test_without_labels_nothing_is_held_out(self):
        numeric, codes, y, weight = make_table()
        nothing = held_shares(numeric, codes, np.full_like(y, -1), weight, N_LEVELS, 0)
        assert nothing.shape == (0, 120)

    def test_the_seed_changes_the_choice(self):
        table = make_table()
        one, other = (held_shares(*table, N_LEVELS, seed) for seed in (0, 1))
        assert not np.array_equal(one, other)


class TestInvariance:
    """The same table, written in another way."""

    def test_order_of_rows_and_copies(self):
        numeric, codes, y, weight = make_table()
        expected = held_shares(numeric, codes, y, weight, N_LEVELS, 0)
        turned = np.random.default_rng(1).permutation(120)
        copies = np.repeat(turned, weight[turned].astype(int))
        found = held_shares(
            numeric[copies], codes[copies], y[copies], np.ones(len(copies)), N_LEVELS, 0
        )
        assert_allclose(found, expected[:, copies], atol=1e-9)

    def test_order_of_columns_units_and_names_of_classes(self):
        numeric, codes, y, weight = make_table()
        expected = held_shares(numeric, codes, y, weight, N_LEVELS, 0)
        renamed = np.where(y < 0, -1, (y + 1) % 3)
        found = held_shares(
            8.0 * numeric[:, ::-1], codes[:, ::-1], renamed, weight, N_LEVELS[::-1], 0
        )
        assert_allclose(found, expected, atol=1e-9)

    @pytest.mark.parametrize("layout", [np.asarray, sp.csc_array, sp.csr_array])
    def test_columns_of_equal_counts(self, layout):
        """All columns have 36 ones of 120: only their relation to each other tells them apart."""
        rng = np.random.default_rng(2)
        bits = np.stack([rng.permutation(120) < 36 for _ in range(6)], axis=1).astype(np.int32)
        y, nothing, two = rng.integers(0, 2, 120), np.empty((120, 0)), np.full(6, 2)
        expected = held_shares(nothing, layout(bits), y, np.ones(120), two, 0)
        for seed in range(3):
            columns = np.random.default_rng(seed).permutation(6)
            found = held_shares(nothing, layout(bits[:, columns]), y, np.ones(120), two, 0)
            assert_array_equal(found, expected)

    @pytest.mark.parametrize("n_columns", [5, 256])
    def test_sparse_and_dense(self, monkeypatch, n_columns):
        monkeypatch.setattr(holdout, "N_COLUMNS", n_columns)
        bits, y, weight = make_bits()
        nothing, two = np.empty((120, 0)), np.full(12, 2)
        dense = held_shares(nothing, bits, y, weight, two, 0)
        assert_array_equal(held_shares(nothing, sp.csc_array(bits), y, weight, two, 0), dense)

    def test_sparse_and_dense_numbers(self):
        """Negative numbers, stored zeros, missing cells, a full, a constant and an empty column."""
        rng = np.random.default_rng(6)
        numbers = np.round(rng.normal(size=(120, 6)), 1)
        numbers[rng.random(numbers.shape) < 0.6] = 0.0
        numbers[rng.random(numbers.shape) < 0.1] = np.nan
        numbers[:, 3], numbers[:, 4], numbers[:, 5] = rng.normal(size=120) + 9.0, 2.0, 0.0
        _, y, weight = make_bits()
        codes, none = np.empty((120, 0), dtype=np.int32), np.empty(0, dtype=np.intp)
        sparse = sp.csr_array(numbers)
        sparse.data[::9] = 0.0
        numbers = sparse.toarray()
        dense = held_shares(numbers, codes, y, weight, none, 0)
        found = held_shares(sparse, sp.csr_array(codes), y, weight, none, 0)
        assert_array_equal(found, dense)

    def test_the_order_of_joined_rows(self):
        """A row keeps its number after rows and columns are shuffled."""
        numeric, codes, y, weight = make_table()
        rows = gather_rows(numeric, codes, y, weight, N_LEVELS, 0)
        turned = np.random.default_rng(3).permutation(120)
        again = gather_rows(
            numeric[turned][:, ::-1], codes[turned], y[turned], weight[turned], N_LEVELS, 0
        )
        assert_array_equal(again.number, rows.number[turned])
        assert_allclose(again.weight, rows.weight)


class TestColours:
    def colours(self, *columns, y=None):
        levels = np.stack(columns, axis=1).astype(np.int32)
        y = np.zeros(len(levels), dtype=np.intp) if y is None else np.asarray(y)
        return colour_columns(lambda: iter([levels]), y, np.ones(len(levels))).tolist()

    def test_relations_tell_columns_of_equal_counts_apart(self):
        """b, c independent of all others; a equal to its copy."""
        a, b, c = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1)
        first, second, third, copy = self.colours(a, b, c, a)
        assert first == copy
        assert second == third
        assert first != second

    def test_the_class_tells_columns_apart(self):
        a, b = np.array(np.meshgrid([0, 1], [0, 1])).reshape(2, -1)
        one, other = self.colours(a, b, y=a)
        assert one != other
        alike = self.colours(a, b)
        assert alike[0] == alike[1]

    def test_they_move_with_the_columns_whatever_the_chunks(self):
        bits, y, weight = make_bits()
        whole = colour_columns(lambda: iter([bits]), y, weight)
        assert len(set(whole.tolist())) == 12
        columns = np.random.default_rng(4).permutation(12)

        def chunks():
            yield bits[:, columns[:5]]
            yield bits[:, columns[5:]]

        assert_array_equal(colour_columns(chunks, y, weight), whole[columns])


def test_ranks_number_the_values_of_a_column():
    values = np.array([2.5, -1.0, np.nan, 2.5, 7.0])
    table = np.column_stack([values, np.full(5, np.nan)])
    assert holdout._ranks(table).T.tolist() == [[1, 0, -1, 1, 2], [-1] * 5]


def test_sparse_rows_are_sorted_like_tuples():
    levels = make_bits(40, seed=5)[0][:, :5] - make_bits(40, seed=6)[0][:, :5]
    assert set(levels.ravel().tolist()) == {-1, 0, 1}
    rows = np.unique(levels, axis=0, return_index=True)[1]
    rows = np.random.default_rng(7).permutation(rows)
    order = holdout._by_levels(sp.csc_array(levels), rows)
    found = [tuple(levels[rows[i]].tolist()) for i in order]
    assert found == sorted(found)


def test_levels_are_ordered_by_share_and_then_by_their_rows():
    numeric, codes, y, weight = make_table()
    shares = [np.array([0.3, 0.4, 0.3]), np.zeros(2)]  # the first and the third level tie
    first, _ = order_levels(numeric, codes, y, weight, shares)
    assert first[0] == 1
    assert sorted(first) == [0, 1, 2]
    rows = np.random.default_rng(1).permutation(len(y))
    for new in ([2, 1, 0], [1, 2, 0], [0, 2, 1]):
        renamed = codes.copy()
        renamed[:, 0] = np.append(new, -1)[codes[:, 0]]
        theirs = [shares[0][np.argsort(new)], shares[1]]
        found, _ = order_levels(numeric[rows], renamed[rows], y[rows], weight[rows], theirs)
        assert_array_equal(found, np.array(new)[first])
