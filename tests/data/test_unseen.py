"""Values that a schema does not know are counted."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from latentclass.data import learn_schema
from latentclass.data._unseen import unseen_values


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
