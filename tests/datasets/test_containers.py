"""The same table in each container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from latentclass.datasets import _table, load_dataset
from latentclass.datasets._table import Table, nominal, to_container


@pytest.fixture
def mixed():
    columns = {
        "size": np.array([1.5, np.nan, 3.0]),
        "wet": np.array([True, False, True]),
        "colour": nominal(["red", "", "blue"], 3),
        "grade": nominal(["10", "9", "9"]),
    }
    return Table(columns, np.array(["a", "b", "a"], dtype=object))


def test_kinds_follow_the_declared_values(mixed):
    # Two colours are seen, but three are declared.
    assert mixed.kinds == {
        "size": "continuous",
        "wet": "binary",
        "colour": "nominal",
        "grade": "binary",
    }


def test_incomplete_rows_are_those_with_a_missing_cell(mixed):
    assert mixed.incomplete().tolist() == [False, True, False]


def test_pandas(mixed):
    frame = to_container(mixed, "pandas")
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "bool", "category", "category"]
    assert frame["colour"].tolist()[0::2] == ["red", "blue"]
    assert frame.isna().to_numpy().tolist() == [
        [False] * 4,
        [True, False, True, False],
        [False] * 4,
    ]
    # Labels that are numbers are sorted as numbers.
    assert list(frame["grade"].cat.categories) == ["9", "10"]


def test_polars(mixed):
    frame = to_container(mixed, "polars")
    assert frame.schema == {
        "size": pl.Float64,
        "wet": pl.Boolean,
        "colour": pl.Enum(["blue", "red"]),
        "grade": pl.Enum(["9", "10"]),
    }
    assert frame.rows()[1] == (None, False, None, "9")
    assert frame.null_count().row(0) == (1, 0, 1, 0)


def test_numpy_is_object_for_mixed_columns(mixed):
    cells = to_container(mixed, "numpy")
    assert cells.dtype == object
    assert cells[0].tolist() == [1.5, True, "red", "10"]
    assert np.isnan(cells[1, 0])
    assert cells[1, 1:].tolist() == [False, None, "9"]


@pytest.mark.parametrize(("name", "dtype"), [("iris", np.float64), ("corral", object)])
def test_numpy_is_plain_where_all_columns_are_alike(name, dtype):
    assert load_dataset(name, container="numpy").X.dtype == dtype


def test_numpy_keeps_bits_as_bool():
    bits = Table({"a": np.array([True, False])}, np.array(["x", "y"], dtype=object))
    assert to_container(bits, "numpy").dtype == bool


def test_auto_is_pandas_or_else_numpy(mixed, monkeypatch):
    assert isinstance(to_container(mixed, "auto"), pd.DataFrame)
    monkeypatch.setattr(_table, "find_spec", lambda _: None)
    assert isinstance(to_container(mixed, "auto"), np.ndarray)
    with pytest.raises(ImportError, match=r"^container='polars' needs the package polars, which i"):
        to_container(mixed, "polars")


@pytest.mark.parametrize("container", ["pandas", "polars", "numpy"])
def test_labels_are_str_objects_in_every_container(container):
    y = load_dataset("wine", container=container).y
    assert isinstance(y, np.ndarray)
    assert y.dtype == object
    assert {type(label) for label in y} == {str}


def test_rows_keep_the_declared_levels(mixed):
    kept = mixed.rows(np.array([True, False, False]))
    assert list(to_container(kept, "pandas")["colour"].cat.categories) == ["blue", "red"]
    assert kept.kinds == mixed.kinds


def test_repr_is_short():
    assert len(repr(load_dataset("iris"))) < 1000
