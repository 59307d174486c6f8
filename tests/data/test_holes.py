"""Companions that mark holes: which columns get one, how they are read and taken back."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from latentclass.data import learn_schema
from latentclass.data._holes import hide_marked, mark_holes
from latentclass.data._match import match_columns
from latentclass.data._read import read_raw
from latentclass.data._schema import Table

NAN = np.nan


@pytest.fixture
def marked():
    """Holes in `size` and `coat`, in other rows; `age` misses where `size` does; none in `legs`."""
    X = pd.DataFrame(
        {
            "size": [1.0, NAN, 3.0, NAN],
            "coat": ["long", "short", None, "short"],
            "age": [4.0, NAN, 5.0, NAN],
            "legs": [4.0, 4.0, 3.0, 4.0],
            "empty": [NAN] * 4,
        }
    )
    return mark_holes(*learn_schema(X))


def test_columns_with_holes_get_a_companion_and_those_that_miss_together_share_one(marked):
    schema, table = marked
    assert schema.names[5:] == ["size is missing", "coat is missing"]
    assert [column.marks for column in schema.columns[5:]] == [(0, 2), (1,)]
    assert schema.given_names == ["size", "coat", "age", "legs", "empty"]
    np.testing.assert_array_equal(table.codes[:, 1:], [[0, 0], [1, 0], [0, 1], [1, 0]])


def test_a_table_without_holes_stays_as_it_is():
    schema, table = learn_schema(np.eye(3))
    after, same = mark_holes(schema, table)
    assert after == schema
    np.testing.assert_array_equal(same.numeric, table.numeric)
    assert same.codes.shape == (3, 0)


def test_a_companion_never_takes_the_name_of_a_column():
    X = pd.DataFrame({"a": [1.0, NAN], "a is missing": [1.0, 2.0]})
    schema, _ = mark_holes(*learn_schema(X))
    assert schema.names == ["a", "a is missing", "a is missing_"]


def test_the_companion_sees_the_cells_and_not_what_the_model_makes_of_them(marked):
    schema, _ = marked
    new = pd.DataFrame(
        {
            "size": [2.0, NAN],
            "coat": ["curly", None],  # a category that was not seen is read as missing
            "age": [NAN, 1.0],
            "legs": [4.0, 4.0],
            "empty": [1.0, NAN],
        }
    )
    codes = schema.encode(new).codes
    np.testing.assert_array_equal(codes, [[-1, 0, 0], [-1, 1, 1]])


def test_an_array_of_numbers_is_read_in_the_same_way():
    X = np.array([[1.0, 2.0], [NAN, 3.0]])
    schema, table = mark_holes(*learn_schema(X))
    again = schema.encode(X)
    np.testing.assert_array_equal(again.codes, table.codes)
    np.testing.assert_array_equal(again.numeric, X)
    sparse = schema.encode(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.codes, table.codes)


def test_a_column_that_a_table_lacks_says_nothing_about_its_holes(marked):
    schema, _ = marked
    new = pd.DataFrame({"coat": ["long"], "age": [1.0], "legs": [4.0], "empty": [NAN]})
    with pytest.warns(match="X lacks 1 of the 5 columns"):
        raw = match_columns(read_raw(new, owner="test"), schema.given_names, owner="test")
    assert schema.encode_raw(raw, "missing").codes.tolist() == [[0, -1, 0]]
    row = [{"coat": "long", "age": 1.0}]  # but a key that a row lacks is a missing cell
    raw = match_columns(read_raw(row, owner="test"), schema.given_names, owner="test")
    assert schema.encode_raw(raw, "missing").codes.tolist() == [[0, 1, 0]]


def test_marked_cells_of_a_drawn_table_are_hidden(marked):
    schema, _ = marked
    drawn = Table(np.ones((2, 4)), np.array([[1, 1, 0], [1, 0, 1]], dtype=np.int32))
    hidden = hide_marked(schema, drawn)
    np.testing.assert_array_equal(
        np.isnan(hidden.numeric), [[True, True, False, False], [False] * 4]
    )
    np.testing.assert_array_equal(hidden.codes, [[1, 1, 0], [-1, 0, 1]])


def test_a_sparse_table_is_refused():
    with pytest.raises(TypeError, match=r"missing_indicator=True needs a dense table\. Pass X"):
        mark_holes(*learn_schema(sp.csr_array(np.eye(2))))
