"""Cut points, compared with a slow reference and by hand, and changes that must not matter."""

import math
from fractions import Fraction
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _mdl as mdl
from latentclass.engine._mdl import bin_codes, class_entropy, cut_columns, mdl_cut_points

# ------------------------------------------------------------------------- slow reference


def entropy(rows):
    weights = {}
    for _, label, weight in rows:
        weights[label] = weights.get(label, 0.0) + weight
    total = sum(weights.values())
    return -sum(w / total * math.log2(w / total) for w in weights.values())


def mass(rows):
    return sum(weight for *_, weight in rows)


def twin(values, y, weight):
    """Cut points as the paper words it: every cut of every set of rows, tried one by one."""
    rows = [row for row in zip(values, y, weight, strict=True) if not math.isnan(row[0])]
    return sorted(cut_set(sorted(rows)))


def cut_set(rows):
    n = mass(rows)
    tried = []
    for low, high in pairwise(rows):
        if low[0] < high[0]:
            left = [row for row in rows if row[0] <= low[0]]
            right = [row for row in rows if row[0] > low[0]]
            bits = (mass(left) * entropy(left) + mass(right) * entropy(right)) / n
            tried.append((bits, low[0], high[0], left, right))
    if n < 2 or not tried:
        return []
    least = min(bits for bits, *_ in tried)
    bits, low, high, left, right = next(each for each in tried if each[0] <= least + 1e-10)
    k, k1, k2 = (len({label for _, label, _ in part}) for part in (rows, left, right))
    delta = math.log2(3**k - 2) - (k * entropy(rows) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(rows) - bits - (math.log2(n - 1) + delta) / n <= 1e-10:
        return []
    middle = float((Fraction(low) + Fraction(high)) / 2)
    return [*cut_set(left), middle if low <= middle < high else low, *cut_set(right)]


def random_column(seed):
    """Values with many or no ties, two to five classes that depend on them, weights, holes."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(1, 60)), int(rng.integers(2, 6))
    values = rng.normal(size=n) if seed % 3 == 0 else rng.integers(0, 3 + seed % 20, n) / 4
    rank = values.argsort().argsort() * n_classes // n
    y = np.where(rng.random(n) < 0.8, rank, rng.integers(0, n_classes, n))
    weight = np.ones(n) if seed % 2 else rng.choice([0.3, 1.0, 2.0, 3.7], n)
    values = np.where(rng.random(n) < 0.1, np.nan, values)
    return values, y, weight, n_classes


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_cut_points_equal_the_reference(start):
    n_cuts = 0
    for seed in range(start, start + 100):
        values, y, weight, n_classes = random_column(seed)
        cuts = mdl_cut_points(values, y, weight, n_classes)
        assert_allclose(cuts, twin(values, y, weight), rtol=1e-15)
        n_cuts += len(cuts)
    assert n_cuts > 50  # not trivially equal


@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.just(math.nan)),
            st.integers(0, 2),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=25,
    )
)
@settings(max_examples=150)
def test_any_column_equals_the_unfitted_copy(rows):
    values, y, weight = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    cuts = mdl_cut_points(values, y.astype(int), weight, 3)
    assert_allclose(cuts, twin(values, y, weight), rtol=1e-15)


# --------------------------------------------------------------------------------- by hand


def test_two_pure_halves_of_four_rows():
    # gain 1; cost (log2(3) + log2(7) - 2) / 4 = 0.598
    assert mdl_cut_points([1, 2, 3, 4], [0, 0, 1, 1], np.ones(4), 2).tolist() == [2.5]


def test_two_pure_halves_of_two_rows():
    # gain 1; cost (log2(1) + log2(7) - 2) / 2 = 0.404
    assert mdl_cut_points([1, 2], [0, 1], np.ones(2), 2).tolist() == [1.5]


def test_a_gain_that_does_not_pay():
    # a | b a b: gain 1 - 0.75 * 0.918 = 0.311;
    # cost (log2(3) + log2(7) - (2 - 2 * 0.918)) / 4 = 1.057
    assert mdl_cut_points([1, 2, 3, 4], [0, 1, 0, 1], np.ones(4), 2).tolist() == []


def test_cuts_within_both_halves():
    y = np.repeat([0, 1, 2, 0], 25)
    assert mdl_cut_points(np.arange(100), y, np.ones(100), 3).tolist() == [24.5, 49.5, 74.5]


def test_the_lowest_of_equally_good_cuts_is_taken():
    # aaaaa|babbbbb and aaaaaba|bbbbb mirror each other: both leave 7 H(1/7) / 12 = 0.345 bits;
    # gain 0.655, cost (log2(11) + log2(7) - (2 - 2 H(1/7))) / 12 = 0.454; then nothing pays
    y = np.array([0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
    assert mdl_cut_points(np.arange(12), y, np.ones(12), 2).tolist() == [4.5]
    assert mdl_cut_points(np.arange(12), 1 - y, np.ones(12), 2).tolist() == [4.5]


def test_equal_values_are_never_parted():
    values, y = [1, 1, 2, 2, 2], [0, 1, 1, 1, 1]
    assert mdl_cut_points(values, y, np.full(5, 10.0), 2).tolist() == [1.5]
    assert mdl_cut_points([7.0] * 40, [0, 1] * 20, np.ones(40), 2).tolist() == []


def test_entropy_in_bits():
    counts = np.array([[2.0, 2.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 2.0]])
    assert_allclose(class_entropy(counts), [1.0, 0.0, 0.0, 1.5], rtol=1e-15)


@pytest.mark.parametrize(
    ("values", "y"),
    [([], []), ([3.0], [0]), ([np.nan, np.nan], [0, 1]), ([1.0, np.nan], [0, 1])],
    ids=["no row", "one row", "all missing", "one value"],
)
def test_too_little_to_cut(values, y):
    cuts = mdl_cut_points(np.array(values), np.array(y, dtype=int), np.ones(len(y)), 2)
    assert cuts.shape == (0,)
    assert cuts.dtype == np.float64


def test_one_class_is_not_cut():
    assert len(mdl_cut_points(np.arange(50), np.zeros(50, dtype=int), np.ones(50), 1)) == 0
    assert len(mdl_cut_points(np.arange(50), np.full(50, 2), np.ones(50), 4)) == 0


# -------------------------------------------------------------------- what must not matter


@pytest.fixture(params=range(8))
def column(request):
    rng = np.random.default_rng(request.param)
    n = 300
    values = rng.normal(size=n) if request.param % 2 else rng.integers(-8, 9, n).astype(float)
    y = np.digitize(values + rng.normal(scale=0.5, size=n), [-1.0, 0.5])
    return values, y, rng.integers(1, 4, n).astype(float)


def test_order_of_rows(column):
    values, y, weight = column
    order = np.random.default_rng(1).permutation(len(y))
    expected = mdl_cut_points(values, y, weight, 3)
    assert len(expected) > 0
    assert_array_equal(mdl_cut_points(values[order], y[order], weight[order], 3), expected)


def test_names_of_classes(column):
    values, y, weight = column
    other = np.array([6, 0, 3])[y]  # and classes that do not occur
    expected = mdl_cut_points(values, y, weight, 3)
    assert_array_equal(mdl_cut_points(values, other, weight, 9), expected)


def test_weights_are_copies(column):
    values, y, weight = column
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    copied = mdl_cut_points(values[rows], y[rows], np.ones(len(rows)), 3)
    assert_array_equal(mdl_cut_points(values, y, weight, 3), copied)
    # a copy may be in parts, too
    parts = np.tile(weight / 4, 4)
    split = mdl_cut_points(np.tile(values, 4), np.tile(y, 4), parts, 3)
    assert_array_equal(split, copied)


def test_weights_of_less_than_two_rows_allow_no_cut():
    values, y = np.arange(40), np.repeat([0, 1], 20)
    assert len(mdl_cut_points(values, y, np.full(40, 1.9 / 40), 2)) == 0
    assert mdl_cut_points(values, y, np.full(40, 0.5), 2).tolist() == [19.5]


def test_missing_values_are_left_out(column):
    values, y, weight = column
    expected = mdl_cut_points(values, y, weight, 3)
    more = np.r_[values, np.full(50, np.nan)]
    labels = np.r_[y, np.random.default_rng(0).integers(0, 3, 50)]
    assert_array_equal(mdl_cut_points(more, labels, np.r_[weight, np.ones(50)], 3), expected)


@pytest.mark.parametrize(("scale", "shift"), [(2.0, 0.0), (0.5, 16.0), (1024.0, -3.0)])
def test_shift_and_scale_carry_over(column, scale, shift):
    values, y, weight = column
    values = np.round(values * 64) / 64  # so that shifting rounds nothing
    expected = mdl_cut_points(values, y, weight, 3) * scale + shift
    assert_array_equal(mdl_cut_points(values * scale + shift, y, weight, 3), expected)


@pytest.mark.parametrize("turn", [np.exp, np.arctan, lambda v: v**3], ids=["exp", "atan", "cube"])
def test_ascending_functions_give_the_same_parts(column, turn):
    values, y, weight = column
    parts = bin_codes(values, mdl_cut_points(values, y, weight, 3))
    turned = turn(values)
    assert_array_equal(bin_codes(turned, mdl_cut_points(turned, y, weight, 3)), parts)


def test_counting_and_sorting_give_the_same(column, monkeypatch):
    values, y, weight = column
    values = np.round(values * 8)
    expected = mdl_cut_points(values, y, weight, 3)
    monkeypatch.setattr(mdl, "_whole_numbers", lambda *_: None)
    assert_array_equal(mdl_cut_points(values, y, weight, 3), expected)


def test_columns_together_are_each_by_itself(monkeypatch):
    columns = [random_column(seed) for seed in range(40)]
    n = max(len(values) for values, *_ in columns)
    rng = np.random.default_rng(0)
    y, weight = rng.integers(0, 3, n), rng.choice([0.5, 1.0, 2.0], n)
    padded = [np.r_[values, np.full(n - len(values), np.nan)] for values, *_ in columns]
    padded = [np.where(np.isnan(v), v, v + y) for v in padded] + [np.full(n, np.nan)]
    alone = [mdl_cut_points(values, y, weight, 3) for values in padded]
    for batch in (1, 100, 2**15):
        monkeypatch.setattr(mdl, "BATCH_ENTRIES", batch)
        for cut, points, values in zip(
            cut_columns(padded, y, weight, 3), alone, padded, strict=True
        ):
            assert_array_equal(cut.points, points)
            codes = bin_codes(values, points)
            expected = np.zeros((len(points) + 1, 3))
            np.add.at(expected, (codes[codes >= 0], y[codes >= 0]), weight[codes >= 0])
            assert_allclose(cut.counts, expected, rtol=1e-12)
            for point, (low, high) in zip(points, cut.gaps, strict=True):
                assert low == values[values <= point].max()
                assert high == values[values > point].min()
    assert sum(map(len, alone)) > 20


# ------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("dense", [True, False])
def test_many_classes(dense):
    # 3**k overflows from k = 647 on
    n_classes = 700
    y = np.repeat(np.arange(n_classes), 40)
    values = y + (0.0 if dense else np.random.default_rng(0).uniform(0, 0.9, len(y)))
    cuts = mdl_cut_points(values, y, np.ones(len(y)), n_classes)
    assert len(cuts) == n_classes - 1
    assert_array_equal(bin_codes(values, cuts), y)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e200, 1.7e308 / 8])
def test_extreme_units(unit):
    values = np.repeat(np.arange(-8.0, 8.0), 10) * unit
    y = (values > 0).astype(int)
    cuts = mdl_cut_points(values, y, np.ones(160), 2)
    assert len(cuts) == 1
    assert_array_equal(bin_codes(values, cuts), y)


def test_whole_range_of_floats():
    limit = np.finfo(float).max
    values, y = np.repeat([-limit, limit / 2, limit], 10), np.repeat([0, 1, 1], 10)
    assert mdl_cut_points(values, y, np.ones(30), 2).tolist() == [-limit / 4]
    values, y = np.repeat([limit / 2, limit], 10), np.repeat([0, 1], 10)
    assert mdl_cut_points(values, y, np.ones(20), 2).tolist() == [limit * 0.75]


@pytest.mark.parametrize("low", [1.0, np.nextafter(1.0, 2.0), -1.0, 0.0, -5e-324, 1e308])
def test_neighbouring_floats_are_parted(low):
    high = np.nextafter(low, np.inf)
    values, y = np.repeat([low, high], 10), np.repeat([0, 1], 10)
    cuts = mdl_cut_points(values, y, np.ones(20), 2)
    assert_array_equal(bin_codes(values, cuts), y)


def test_the_two_zeros_are_one_value():
    values = np.tile([0.0, -0.0], 20)
    assert len(mdl_cut_points(values, np.tile([0, 1], 20), np.ones(40), 2)) == 0
    mixed = np.r_[values, values + 0.5]
    cuts = mdl_cut_points(mixed, np.repeat([0, 1], 40), np.ones(80), 2)
    assert cuts.tolist() == [0.25]
    around = mdl_cut_points(np.repeat([-1.0, 1.0], 10), np.repeat([0, 1], 10), np.ones(20), 2)
    assert not np.signbit(around[0])


def test_large_whole_numbers_are_not_mixed_up():
    # above 2**53 not every whole number is a float
    values = np.repeat([2.0**53, 2.0**53 + 2, 2.0**53 + 4], 20)
    y = np.repeat([0, 1, 0], 20)
    cuts = mdl_cut_points(values, y, np.ones(60), 2)
    assert_array_equal(bin_codes(values, cuts), np.repeat([0, 1, 2], 20))


def test_differences_that_round_to_whole_numbers():
    values = np.repeat([-1.0, -4e-66, 0.0], 10)
    cuts = mdl_cut_points(values, np.repeat([0, 0, 1], 10), np.ones(30), 2)
    assert cuts.tolist() == [-2e-66]


def test_weights_of_very_different_size():
    values, y = np.arange(60.0), np.repeat([0, 1, 0], 20)
    weight = np.repeat([1e9, 1.0, 1e-3], 20) * (1 + np.arange(60) % 7 / 10)
    assert_allclose(mdl_cut_points(values, y, weight, 2), twin(values, y, weight))


# ---------------------------------------------------------------------------------- codes


def test_codes_by_hand():
    codes = bin_codes([-np.inf, 1.0, 1.5, 1.6, 3.0, np.inf, np.nan], [1.5, 2.5])
    assert codes.tolist() == [0, 0, 0, 1, 2, 2, -1]
    assert codes.dtype == np.int32
    assert bin_codes([4.0, np.nan], []).tolist() == [0, -1]
    assert bin_codes([], [1.0]).shape == (0,)


@given(
    values=st.lists(st.one_of(st.floats(allow_infinity=False), st.just(math.nan)), max_size=20),
    cuts=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5, unique=True),
)
@settings(max_examples=100)
def test_codes_count_the_cuts_below(values, cuts):
    cuts = sorted(set(cuts))
    expected = [-1 if math.isnan(v) else sum(cut < v for cut in cuts) for v in values]
    assert bin_codes(np.array(values, dtype=float), np.array(cuts)).tolist() == expected
