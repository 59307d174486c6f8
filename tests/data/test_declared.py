"""`categorical_features`: which columns are discrete."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from latentclass.data import learn_schema

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 3.0]])


def discrete(declared, table=X):
    schema, _ = learn_schema(table, categorical_features=declared)
    return schema.discrete


@pytest.mark.parametrize("declared", ["from_dtype", None, [], (), np.array([])])
def test_numbers_are_continuous_unless_listed(declared):
    assert discrete(declared) == ()


@pytest.mark.parametrize(
    "declared",
    [
        [0, 2],
        (2, 0),
        [-1, 0],
        [0, 0, 2],
        ["x0", "x2"],
        ["x2", 0],
        {"x0", "x2"},
        np.array([0, 2]),
        np.array(["x0", "x2"]),
        np.array([np.int64(0), "x2"], dtype=object),
        range(0, 3, 2),
        pd.Index(["x0", "x2"]),
        pd.Series([0, 2]),
        pl.Series(["x0", "x2"]),
        [True, False, True],
        [np.True_, False, True],
        np.array([True, False, True]),
        np.array([True, False, True], dtype=object),
        pd.array([True, False, True], dtype="boolean"),
        pl.Series([True, False, True]),
    ],
)
def test_names_positions_and_masks(declared):
    assert discrete(declared) == (0, 2)


def test_a_mask_may_be_all_false():
    assert discrete([False, False, False]) == ()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_by_name(make):
    table = make({"height": [1.5, 2.5], "shoe": [41, 42]})
    schema, coded = learn_schema(table, categorical_features=["shoe"])
    assert schema.kinds == {"height": "continuous", "shoe": "binary"}
    assert schema.columns[1].categories == (41, 42)
    assert coded.codes.tolist() == [[0], [1]]


def test_a_list_decides_for_text_columns_too(refuses):
    message = (
        "Column 'colour' is continuous, but row 1 holds 'red'. Make the column numeric (missing "
        "cells as NaN or None), or list it in categorical_features before fit."
    )
    table = pd.DataFrame({"size": [1, 2], "colour": [None, "red"]})
    with refuses(ValueError, message):
        learn_schema(table, categorical_features=["size"])


@pytest.mark.parametrize("declared", [None, []])
def test_booleans_that_are_not_listed_are_the_numbers_0_and_1(declared):
    for table in (
        np.array([[True], [False]]),
        pd.DataFrame({"a": [True, False]}),
        pl.DataFrame({"a": [True, False]}),
    ):
        schema, coded = learn_schema(table, categorical_features=declared)
        assert schema.columns[0].kind == "continuous"
        assert coded.numeric.tolist() == [[1], [0]]


def test_holes_in_booleans_that_are_not_listed_stay_holes():
    table = pd.DataFrame({"a": pd.Series([True, None], dtype="boolean")})
    _, coded = learn_schema(table, categorical_features=None)
    np.testing.assert_array_equal(coded.numeric, [[1], [np.nan]])


def test_listed_booleans_are_binary():
    assert discrete(["a"], pd.DataFrame({"a": [True, True]})) == (0,)


def test_an_unlisted_column_of_none_is_continuous_and_not_observed():
    schema, _ = learn_schema(pl.DataFrame({"a": [None, None]}), categorical_features=None)
    assert schema.columns[0].kind == "continuous"
    assert not schema.columns[0].observed


def test_a_listed_column_of_nan_is_discrete_and_not_observed():
    schema, coded = learn_schema(np.full((2, 1), np.nan), categorical_features=[0])
    assert schema.columns[0].kind == "nominal"
    assert not schema.columns[0].observed
    assert coded.codes.tolist() == [[-1], [-1]]


@pytest.mark.parametrize("cells", [[-5, 2**40, -5], [0.1, 0.3, 0.1], [2, -7, 2]])
def test_listed_numbers_of_any_size_are_categories(cells):
    low, high = sorted(set(cells))
    for table in (np.array(cells)[:, None], pd.DataFrame({"a": cells}), pl.DataFrame({"a": cells})):
        schema, coded = learn_schema(table, categorical_features=[0])
        assert schema.columns[0].categories == (low, high)
        assert coded.codes[:, 0].tolist() == [int(cell == high) for cell in cells]


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: np.array([*d.values()]).T]
)
def test_listed_numbers_that_cannot_be_told_apart_are_refused(make, refuses):
    table = make({"x0": [1, 2**53, 2**53 + 1]})
    message = (
        "Column 'x0', row 1 holds 9007199254740992, but numbers of 2**53 and more are not exact "
        "and cannot be categories. Pass the column as text."
    )
    with refuses(ValueError, message):
        learn_schema(table, categorical_features=["x0"])


def test_large_numbers_are_no_trouble_in_a_continuous_column():
    _, coded = learn_schema(np.array([[2**53], [2**60]]))
    assert coded.numeric.tolist() == [[2.0**53], [2.0**60]]


def test_a_name_that_is_not_a_column_is_refused(refuses):
    message = (
        "categorical_features contains 'x3', which is not a column of X. Columns: ['x0', 'x1', "
        "'x2']."
    )
    with refuses(ValueError, message):
        discrete(["x3"])


def test_of_many_columns_the_message_shows_ten(refuses):
    message = (
        "categorical_features contains 'y', which is not a column of X. Columns: ['x0', 'x1', "
        "'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8', 'x9', ...]."
    )
    with refuses(ValueError, message):
        discrete(["y"], np.ones((1, 11)))


@pytest.mark.parametrize("position", [3, -4])
def test_a_position_outside_is_refused(position, refuses):
    message = (
        f"categorical_features contains {position}, but X has 3 columns. Positions go from 0 to 2, "
        "or from -1 back to -3."
    )
    with refuses(ValueError, message):
        discrete([position])


def test_a_mask_of_another_length_is_refused(refuses):
    message = (
        "categorical_features is a mask of 2 entries, but X has 3 columns. Pass one entry per "
        "column."
    )
    with refuses(ValueError, message):
        discrete([True, False])


@pytest.mark.parametrize(
    "declared", ["x1", "auto", 3, [[0]], [[0], [1, 2]], [0.0], [None], [True, 1], [True, None]]
)
def test_what_is_no_list_of_columns_is_refused(declared, refuses):
    message = (
        'categorical_features must be "from_dtype", None, or a flat list of names, positions or '
        f"booleans, got {declared!r}."
    )
    with refuses(ValueError, message):
        discrete(declared)
