"""Numbers as categories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latentclass.data._numbers import TABLE_SIZE, DistinctNumbers, NumberCoder, label_codes

NAN = float("nan")


def encode(categories, values):
    return NumberCoder(categories).encode(np.array(values, dtype=np.float64)).tolist()


def distinct(*parts):
    numbers = DistinctNumbers()
    for part in parts:
        numbers.add(np.array(part, dtype=np.float64))
    return numbers.values()


@pytest.mark.parametrize("step", [1, TABLE_SIZE])  # looked up, and searched for
def test_code_is_the_place_in_the_list_whatever_its_order(step):
    assert encode([5 * step, -step, 0], [0, 5 * step, -step]) == [2, 0, 1]


@pytest.mark.parametrize("step", [1, TABLE_SIZE])
def test_nan_and_unknown_numbers_have_no_code(step):
    categories = [-3 * step, 0, step]
    assert encode(categories, [NAN, 0.5, -0.5, step + 1, -9e9, 1e300, np.inf, -np.inf]) == [-1] * 8


def test_fractions_are_categories_of_their_own():
    assert encode([0, 0.1, 0.3], [0.3, 0.1, 0.1 + 0.2]) == [2, 1, -1]


def test_a_number_that_vanishes_beside_the_lowest_category_is_still_unknown():
    assert encode([-3, 0], [1e-20, -1e-20, 0.0]) == [-1, -1, 1]


def test_minus_zero_is_zero():
    assert encode([0, 1], [-0.0]) == [0]
    assert distinct([-0.0, 0.0]) == [0]


def test_booleans_are_zero_and_one():
    assert encode([False, True], [1.0, 0.0, 2.0]) == [1, 0, -1]


def test_text_has_no_number():
    assert encode(["red", "three"], [3.0, NAN]) == [-1, -1]
    assert encode(["red", 3], [3.0]) == [1]


def test_numbers_that_float64_cannot_tell_apart_are_unknown():
    assert encode([2**53 - 1, 2**53, 2**60 + 1], [2**53 - 1, 2**53, 2**60]) == [0, -1, -1]


def test_range_at_the_limit_of_the_table():
    assert encode([0, TABLE_SIZE - 1], [TABLE_SIZE - 1, TABLE_SIZE, 7]) == [1, -1, -1]
    assert encode([0, TABLE_SIZE], [TABLE_SIZE, TABLE_SIZE - 1]) == [1, -1]


def test_no_categories_at_all():
    assert encode([], [1.0, NAN]) == [-1, -1]


def test_distinct_numbers_of_parts_are_those_of_the_whole():
    assert distinct([3, 1, NAN], [1, 1, 3], [2.5], [NAN]) == [1, 2.5, 3]


def test_whole_numbers_come_out_as_int():
    assert [type(v) for v in distinct([1.0, 2.5])] == [int, float]


@given(
    st.lists(st.integers(-(10**6), 10**6) | st.floats(-1e9, 1e9), unique=True, max_size=20),
    st.lists(st.integers(-(10**6), 10**6) | st.floats(allow_nan=True), max_size=20),
)
def test_code_is_what_a_plain_search_finds(categories, others):
    values = [*categories, *others]
    expected = [next((i for i, c in enumerate(categories) if c == v), -1) for v in values]
    assert encode(categories, values) == expected


@pytest.mark.parametrize("categories", [[0, 1], [1, 0], [-2.5, 7], [0.1, 0.3]])
def test_two_numbers_are_coded_as_more_are(categories):
    values = [*categories, NAN, 0.5, 1e300, -0.0, *categories]
    more = encode([*categories, 10**9], values)
    assert encode(categories, values) == more
    assert encode(categories, categories) == [0, 1]


def test_a_number_matches_the_text_that_writes_it():
    categories = ["red", "102", "101", "2.5", "-3", "7.0", "007"]
    assert encode(categories, [101, 102, 2.5, -3, 7, 103, NAN]) == [2, 1, 3, 4, 5, -1, -1]
    assert label_codes([101, 101.0, 2.5, 7.0, 103, True], categories) == [2, 2, 3, 5, -1, -1]


def test_zeros_in_front_and_other_writings_mean_something():
    assert encode(["007", "1e3", "+5", " 6"], [7, 1000, 5, 6]) == [-1] * 4
    assert label_codes(["007", "1e3", "+5", " 6"], [7, 1000, 5, 6]) == [-1] * 4


def test_text_matches_the_number_that_it_writes():
    categories = [0, 1, 101, 2.5]
    assert label_codes(["101", "101.0", "2.5", "1", "red"], categories) == [2, 2, 3, 1, -1]
    assert label_codes(["1", "0", "True"], [False, True]) == [-1] * 3  # not numbers


def test_an_exact_match_comes_first():
    assert encode(["1", 1, "2.0", "2"], [1, 2]) == [1, 3]
    assert label_codes(["1", 1, "2.0", "2", 2], ["1", 1, "2.0", "2"]) == [0, 1, 2, 3, 3]


def test_numbers_too_large_to_be_exact_do_not_match():
    assert encode([str(2**53)], [2.0**53]) == [-1]
    assert label_codes([str(2**53)], [2**53]) == [-1]
    assert label_codes([2**53 + 1], [str(2**53 + 1)]) == [0]  # no float in between
