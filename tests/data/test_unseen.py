"""Values that a schema does not know are counted."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from latentclass.data import learn_schema
from latentclass.data._read import read_raw
from latentclass.data._unseen import unseen_examples, unseen_values


def test_text_flags_and_categories_are_counted():
    seen = pd.DataFrame(
        {
            "size": [1.0, 2.0, 3.0],
            "town": ["Oslo", "Rome", None],
            "band": pd.Categorical(["I", "II", "I"]),
            "flag": [True, False, True],
        }
    )
    schema, _ = learn_schema(seen)
    new = pd.DataFrame(
        {
            "size": [9.0] * 4,
            "town": ["Bonn", None, "Bonn", "Wien"],
            "band": pd.Categorical(["II", "IV", None, "I"], categories=["I", "II", "IV", "V"]),
            "flag": [True, False, None, True],
        }
    )
    expected = {"town": {"Bonn": 2, "Wien": 1}, "band": {"IV": 1}}
    assert unseen_values(schema, new) == expected
    assert unseen_values(schema, pl.from_pandas(new)) == expected
    assert unseen_values(schema, seen) == {}
    # by name, whatever the order
    assert unseen_values(schema, new[["flag", "band", "town"]]) == expected


@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_numbers_are_counted(convert):
    schema, _ = learn_schema(np.array([[1.0, 5.0], [2.0, 6.0]]), categorical_features=[0])
    new = convert(np.array([[3.0, 7.0], [3.0, 8.0], [2.5, 9.0], [np.nan, 1.0], [1.0, 1.0]]))
    assert unseen_values(schema, new) == {"x0": {3: 2, 2.5: 1}}


def test_a_column_without_any_value_in_fit_knows_none():
    schema, _ = learn_schema(pd.DataFrame({"a": pd.Series([None, None], dtype="string")}))
    assert unseen_values(schema, pd.DataFrame({"a": ["x", "x"]})) == {"a": {"x": 2}}


def test_codes_as_numbers_are_those_learned_as_text():
    schema, _ = learn_schema(pd.DataFrame({"code": ["101", "102"], "size": [1.0, 2.0]}))
    new = pd.DataFrame({"code": [101, 103], "size": [1.0, 2.0]})
    assert unseen_values(schema, new) == {"code": {103: 1}}
    assert unseen_values(schema, new.astype({"code": "category"})) == {"code": {103: 1}}


def examples(seen, new, **options):
    schema, _ = learn_schema(seen, **options)
    raw = read_raw(new, owner="model")
    return unseen_examples(schema, raw, schema.encode_raw(raw, "missing"))


def test_an_example_is_the_most_common_unseen_value():
    seen = pd.DataFrame({"town": ["Oslo", "Rome", None], "flag": [True, False, True]})
    new = pd.DataFrame({"town": ["Bonn", "Wien", "Wien", None], "flag": [True, None, True, False]})
    assert examples(seen, new) == {"town": ("Wien", 3)}
    assert examples(seen, seen) == {}
    assert examples(seen, seen.assign(town=None)) == {}


def test_numbers_as_codes_have_examples_too():
    seen = np.array([[1.0, 0.5], [2.0, 0.7]])
    new = np.array([[3.0, 9.0], [np.nan, np.nan], [1.0, 0.0]])
    assert examples(seen, new, categorical_features=[0]) == {"x0": (3, 1)}
    sparse = sp.csr_array(np.array([[3.0, 1.0], [2.0, 0.0]]))
    assert examples(seen, sparse, categorical_features=[0]) == {"x0": (3, 1)}


def test_a_column_without_any_value_in_fit_has_no_example():
    seen = pd.DataFrame({"town": pd.Series([None, None], dtype=object), "size": [1.0, 2.0]})
    assert examples(seen, seen.assign(town=["Oslo", "Rome"])) == {}
