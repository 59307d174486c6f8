"""Folds by content, against loops that deal units of weight like cards."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _content_folds as folds
from latentclass.engine._content_folds import (
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
    level_words,
    mix_key,
    row_keys,
    sample_units,
)

N_LEVELS = (2, 3, 2)


def make_rows(n_rows=80, seed=0):
    """Few levels, so that many rows are equal; one cell in six is missing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, N_LEVELS, (n_rows, 3)).astype(np.int32)
    codes[rng.random(codes.shape) < 1 / 6] = -1
    return codes, rng.integers(-1, 2, n_rows), rng.integers(1, 4, n_rows).astype(float)


def join(codes, y, weight, seed=0):
    labelled = np.maximum(y, 0)
    marks = column_fingerprints(codes, labelled, weight, N_LEVELS[: codes.shape[1]], 2)
    return distinct_rows(codes, y, weight, marks, seed)


class TestHash:
    def test_mixing_is_that_of_splitmix64(self):
        """First outputs of the published generator with seeds 0 and 1234567."""
        step = 0x9E3779B97F4A7C15
        states = np.array([step, step + 1234567], dtype=np.uint64)
        assert mix_key(states).tolist() == [0xE220A8397B1DCDAF, 6457827717110365317]

    def test_rows_have_the_same_key_only_if_they_are_equal(self):
        cells = np.array([0.0, -0.0, np.nan, -np.nan, 1.0])
        numeric = np.column_stack([cells, np.ones(5)])
        codes = np.zeros((5, 1), dtype=np.int32)
        key = row_keys(numeric, codes, np.zeros(5, dtype=np.intp), 0)
        assert (key[0], key[2]) == (key[1], key[3])
        assert len(set(key.tolist())) == 3
        for other in (
            row_keys(numeric[:, ::-1], codes, np.zeros(5, dtype=np.intp), 0),
            row_keys(numeric, codes - 1, np.zeros(5, dtype=np.intp), 0),
            row_keys(numeric, codes, np.ones(5, dtype=np.intp), 0),
        ):
            assert not set(key[:4].tolist()) & set(other.tolist())

    def test_every_level_has_a_word_and_missing_cells_have_their_own(self):
        few = level_words([3], np.array([0, 1, -1, 1, 0]))
        assert few[0] == few[4]
        assert few[1] == few[3]
        assert len(set(few.tolist())) == 3
        many = level_words([3], np.array([0, 1, -1, 7]))
        assert_array_equal(many[:3], few[:3])  # further levels do not change a word
        assert level_words([4], np.array([0]))[0] != few[0]


class TestFingerprints:
    def test_order_of_rows_columns_and_classes_does_not_matter(self):
        codes, y, weight = make_rows()
        y = np.maximum(y, 0)
        found = column_fingerprints(codes, y, weight, N_LEVELS, 2)
        assert len(set(found)) == 3
        rows, columns = np.random.default_rng(1).permutation(80), [2, 0, 1]
        again = column_fingerprints(
            codes[rows][:, columns], 1 - y[rows], weight[rows], [N_LEVELS[j] for j in columns], 2
        )
        assert again == [found[j] for j in columns]

    def test_weight_two_is_the_row_twice(self):
        codes, y, weight = make_rows()
        y = np.maximum(y, 0)
        copies = np.repeat(np.arange(80), weight.astype(int))
        ones = np.ones(len(copies))
        expected = column_fingerprints(codes, y, weight, N_LEVELS, 2)
        assert column_fingerprints(codes[copies], y[copies], ones, N_LEVELS, 2) == expected

    def test_columns_of_equal_counts_have_the_same(self):
        codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [-1, -1]], dtype=np.int32)
        first, second = column_fingerprints(codes, np.zeros(5, int), np.ones(5), (2, 2), 1)
        assert first == second


class TestDistinctRows:
    def test_weights_are_those_of_a_dictionary(self):
        codes, y, weight = make_rows()
        expected = {}
        for row, label, w in zip(codes.tolist(), y.tolist(), weight.tolist(), strict=True):
            expected[*row, label] = expected.get((*row, label), 0.0) + w
        assert len(expected) < 80
        rows = join(codes, y, weight)
        found = {
            (*row, label): w
            for row, label, w in zip(
                rows.codes.tolist(), rows.y.tolist(), rows.weight.tolist(), strict=True
            )
        }
        assert found == expected
        assert_array_equal(rows.codes[rows.number], codes)
        assert_array_equal(rows.y[rows.number], y)

    def test_the_key_belongs_to_the_levels_not_to_the_class(self):
        codes, y, weight = make_rows()
        rows = join(codes, y, weight)
        by_levels = {}
        for row, key in zip(rows.codes.tolist(), rows.key.tolist(), strict=True):
            by_levels.setdefault(tuple(row), set()).add(key)
        assert all(len(keys) == 1 for keys in by_levels.values())
        assert len({min(keys) for keys in by_levels.values()}) == len(by_levels)
        assert set(join(codes, y, weight, seed=1).key).isdisjoint(rows.key)

    def test_they_do_not_depend_on_the_order_of_rows_and_columns_or_on_copies(self):
        codes, y, weight = make_rows()
        rows = join(codes, y, weight)
        turned = np.random.default_rng(2).permutation(80)
        copies = np.repeat(turned, weight[turned].astype(int))
        again = join(codes[copies], y[copies], np.ones(len(copies)))
        assert_array_equal(again.codes, rows.codes)
        assert_array_equal(again.key, rows.key)
        assert_array_equal(again.weight, rows.weight)
        assert_array_equal(again.number, rows.number[copies])
        columns = [1, 2, 0]
        marks = column_fingerprints(codes, np.maximum(y, 0), weight, N_LEVELS, 2)
        other = distinct_rows(codes[:, columns], y, weight, [marks[j] for j in columns], 0)
        assert_array_equal(other.key, rows.key)
        assert_array_equal(other.number, rows.number)

    def test_equal_hashes_of_different_rows_do_not_join_them(self, monkeypatch):
        codes, y, weight = make_rows()
        monkeypatch.setattr(
            folds, "level_words", lambda _, column: np.zeros(len(column), dtype=np.uint64)
        )
        rows = distinct_rows(codes, y, weight, [0, 0, 0], 0)
        assert_array_equal(rows.codes[rows.number], codes)
        assert len(rows.y) == len(np.unique(np.column_stack([y, codes]), axis=0))
        # the levels decide the order of rows with one hash
        for label in (-1, 0, 1):
            mine = rows.codes[rows.y == label].tolist()
            assert mine == sorted(mine)


def dealt_like_cards(rows, n_parts, salt):
    """Weight of each row in each part: whole units, one after the other, in hashed order."""
    out = np.zeros((len(rows.y), n_parts))
    chance = mix_key(rows.key + np.uint64(salt)).tolist()
    for label in sorted(set(rows.y.tolist())):
        mine = [r for r in range(len(rows.y)) if rows.y[r] == label]
        mine.sort(key=lambda r: chance[r])
        part = chance[mine[0]] % n_parts
        for r in mine:
            for _ in range(int(rows.weight[r])):
                out[r, part] += 1
                part = (part + 1) % n_parts
    return out


def as_table(parts, n_rows):
    out = np.zeros((n_rows, parts.n_parts))
    for row, part, weight in zip(parts.row, parts.part, parts.weight, strict=True):
        assert weight > 0
        out[row, part] += weight
    return out


@pytest.mark.parametrize("n_parts", [1, 2, 5])
@pytest.mark.parametrize("salt", [0, 1])
def test_units_are_dealt_like_cards(n_parts, salt):
    rows = join(*make_rows())
    found = as_table(assign_folds(rows, n_parts, salt), len(rows.y))
    assert_allclose(found, dealt_like_cards(rows, n_parts, salt), atol=1e-9)


def test_any_weight_is_dealt_completely_and_evenly():
    codes, y, _ = make_rows()
    rows = join(codes, y, np.random.default_rng(3).uniform(0.1, 20.0, 80))
    found = as_table(assign_folds(rows, 5, 0), len(rows.y))
    assert_allclose(found.sum(axis=1), rows.weight, rtol=1e-9)
    for label in (-1, 0, 1):
        by_part = found[rows.y == label].sum(axis=0)
        assert np.ptp(by_part) <= 1.0 + 1e-9


def test_the_salt_gives_another_deal():
    rows = join(*make_rows())
    one, other = (as_table(assign_folds(rows, 5, salt), len(rows.y)) for salt in (0, 1))
    assert not np.array_equal(one, other)


def test_given_parts_are_summed_by_row_and_part():
    codes, y, weight = make_rows()
    rows = join(codes, y, weight)
    part = np.random.default_rng(4).integers(-1, 3, 80)
    found = given_parts(rows, part, weight, 3)
    expected = {}
    for r, p, w in zip(rows.number.tolist(), part.tolist(), weight.tolist(), strict=True):
        place = (r, 3 if p < 0 else p)  # part 3 is in every training set
        expected[place] = expected.get(place, 0.0) + w
    assert found.n_parts == 3
    places = zip(found.row.tolist(), found.part.tolist(), strict=True)
    assert dict(zip(places, found.weight.tolist(), strict=True)) == expected


@pytest.mark.parametrize("n_units", [1, 7, 30, 31, 200])
def test_a_sample_draws_units_at_equal_distances(n_units):
    codes, _, weight = make_rows()
    rows = join(codes, np.zeros(80, dtype=int), weight)
    units = np.repeat(np.arange(len(rows.weight)), rows.weight.astype(int))
    expected = rows.weight
    if n_units < len(units):
        drawn = [units[int(i * len(units) / n_units)] for i in range(n_units)]
        expected = np.bincount(drawn, minlength=len(rows.weight))
    assert_allclose(sample_units(rows, n_units), expected)


def test_a_sample_of_light_rows_is_that_of_whole_ones_and_fractions_add_up():
    codes, _, _ = make_rows()
    rows = join(codes, np.zeros(80, dtype=int), np.ones(80))
    rows = rows._replace(weight=np.ones(len(rows.weight)))
    whole = sample_units(rows, 9)
    assert_allclose(sample_units(rows._replace(weight=0.01 * rows.weight), 9), 0.01 * whole)
    odd = rows._replace(weight=np.random.default_rng(0).uniform(0.1, 3.0, len(rows.weight)))
    assert_allclose(sample_units(odd, 9).sum(), 9.0)
    assert np.all(sample_units(odd, 9) <= odd.weight * (1 + 1e-9))
    nothing = rows._replace(weight=np.zeros(len(rows.weight)))
    assert_array_equal(sample_units(nothing, 9), 0.0)
