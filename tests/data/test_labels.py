"""Class labels of every container."""

import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from latentclass.data import encode_labels

NAN = float("nan")

TEXT = {
    "list": ["b", None, "a", "b"],
    "list with NaN": ["b", NAN, "a", "b"],
    "tuple": ("b", None, "a", "b"),
    "numpy object": np.array(["b", NAN, "a", "b"], dtype=object),
    "numpy masked": np.ma.array(["b", "?", "a", "b"], mask=[0, 1, 0, 0]),
    **{
        f"pandas {t}": pd.Series(["b", None, "a", "b"], dtype=t)
        for t in ("object", "str", "string[python]", "string[pyarrow]", "category")
    },
    "pandas Categorical": pd.Categorical(["b", None, "a", "b"], categories=["z", "b", "a"]),
    "pandas Index": pd.Index(["b", None, "a", "b"]),
    "polars String": pl.Series(["b", None, "a", "b"]),
    "polars Categorical": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "polars Enum": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
    "pyarrow chunks": pa.chunked_array([["b", None], ["a", "b"]]),
    "pyarrow array": pa.array(["b", None, "a", "b"]),
    "pyarrow dictionary": pa.chunked_array([pa.array(["b", None, "a", "b"]).dictionary_encode()]),
}
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    TEXT["numpy StringDType"] = np.array(
        ["b", None, "a", "b"], dtype=np.dtypes.StringDType(na_object=None)
    )


@pytest.mark.parametrize("name", TEXT)
def test_text_labels_are_sorted_and_holes_unlabelled(name):
    classes, codes = encode_labels(TEXT[name])
    assert classes.tolist() == ["a", "b"]
    assert classes.dtype.kind == "U"
    assert codes.tolist() == [1, -1, 0, 1]
    assert codes.dtype == np.intp


WHOLE = {
    "list": [3, None, 0],
    "list with NA": [3, pd.NA, 0],
    "numpy object": np.array([3, None, 0], dtype=object),
    "numpy masked": np.ma.array([3, 9, 0], mask=[0, 1, 0]),
    "pandas Int64": pd.Series([3, None, 0], dtype="Int64"),
    "pandas array": pd.array([3, None, 0], dtype="Int64"),
    "pandas category": pd.Series([3, None, 0], dtype="category"),
    "polars": pl.Series([3, None, 0]),
    "pyarrow": pa.chunked_array([[3, None], [0]]),
    "pyarrow array": pa.array([3, None, 0]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_stay_whole_beside_holes(name):
    classes, codes = encode_labels(WHOLE[name])
    assert classes.tolist() == [0, 3]
    assert classes.dtype.kind == "i"
    assert codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "y",
    [
        [True, None, False],
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([True, None, False]),
    ],
)
def test_booleans_stay_booleans(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [False, True]
    assert classes.dtype == bool
    assert codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "y",
    [
        [2.0, NAN, 1.0],
        np.array([2.0, NAN, 1.0], dtype=np.float32),
        pd.Series([2.0, None, 1.0]),
        pl.Series([2.0, NAN, 1.0]),
        pl.Series([2.0, None, 1.0]),
    ],
)
def test_floats_that_are_whole_are_labels(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [1, 2]
    assert classes.dtype.kind == "f"
    assert codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize("y", [np.array([7, 5], dtype="u1"), pd.Series([7, 5]), pl.Series([7, 5])])
def test_labels_without_holes(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [5, 7]
    assert codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    "y", [pd.Series([2**60 + 1, 2**60, None], dtype="Int64"), [2**60 + 1, 2**60, None]]
)
def test_large_labels_are_told_apart(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [2**60, 2**60 + 1]
    assert codes.tolist() == [1, 0, -1]


def test_one_class_is_enough_here():
    classes, codes = encode_labels(["a", "a"])
    assert classes.tolist() == ["a"]
    assert codes.tolist() == [0, 0]


def test_many_text_classes_make_no_warning():
    labels = [f"class{i:03d}" for i in range(100)]
    classes, codes = encode_labels(labels)
    assert classes.tolist() == labels
    assert codes.tolist() == list(range(100))


# ------------------------------------------------------------------ minus one


@pytest.mark.parametrize("y", [[-1, 0, 1, 1], [-1.0, 0.0, 1.0, 1.0], pl.Series([-1, 0, 1, 1])])
def test_minus_one_beside_two_classes_is_unlabelled_with_a_warning(y):
    message = (
        "y is -1 in 1 rows, which are read as unlabelled, as in scikit-learn. Write None or NaN "
        "there to avoid this warning. If -1 is a class, pass y as strings."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}$"):
        classes, codes = encode_labels(y)
    assert classes.tolist() == [0, 1]
    assert codes.tolist() == [-1, 0, 1, 1]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([-1, 1], [-1, 1]),
        ([-1, 1, None], [-1, 1]),
        ([-1, -1], [-1]),
        ([-2, -1, 0, 1], [-2, -1, 0, 1]),
        (["-1", "0", "1"], ["-1", "0", "1"]),
    ],
)
def test_minus_one_is_a_class_where_it_can_be_nothing_else(y, classes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode_labels(y)[0].tolist() == classes


def test_minus_one_and_none_are_unlabelled_together():
    with pytest.warns(UserWarning, match="y is -1 in 2 rows"):
        _, codes = encode_labels([-1, 0, None, 1, -1])
    assert codes.tolist() == [-1, 0, -1, 1, -1]


# ------------------------------------------------------------------ shapes


def test_a_column_vector_is_read_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        classes, codes = encode_labels(np.array([["b"], ["a"]]))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_one_column_is_a_column_vector(make):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        classes, codes = encode_labels(make({"y": [3, None, 0]}))
    assert classes.tolist() == [0, 3]
    assert codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "y", [np.eye(2), [[1, 0], [0, 1]], pd.DataFrame({"a": [0, 1], "b": [1, 0]})]
)
def test_several_labels_a_row_are_refused(y, refuses):
    message = (
        "y should be a 1d array, got an array of shape (2, 2) instead. Pass one label per row."
    )
    with refuses(ValueError, message):
        encode_labels(y)


@pytest.mark.parametrize("y", [3, "abc", np.array(3)])
def test_a_single_value_is_refused(y, refuses):
    message = "y should be a 1d array, got an array of shape () instead. Pass one label per row."
    with refuses(ValueError, message):
        encode_labels(y)


def test_ragged_labels_are_refused(refuses):
    message = (
        "Row 1 of y has 2 cells, but row 0 has 1. Pass one cell per column in every row; None "
        "marks a missing cell."
    )
    with refuses(ValueError, message):
        encode_labels([[1], [1, 2]])


def test_sparse_labels_are_refused(refuses):
    message = (
        "Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert to "
        "a dense numpy array."
    )
    with refuses(TypeError, message):
        encode_labels(sp.csr_array([[1], [0]]))


def test_no_labels_are_refused(refuses):
    message = (
        "fit requires y to be passed, but the target y is None. Pass one label per row; None or "
        "NaN marks an unlabelled row."
    )
    with refuses(ValueError, message):
        encode_labels(None)


@pytest.mark.parametrize(
    "y", [[], np.array([]), pd.Series([], dtype=float), pd.Series([], dtype="category")]
)
def test_empty_labels_are_refused(y, refuses):
    message = "y is empty. Pass one label per row; None or NaN marks an unlabelled row."
    with refuses(ValueError, message):
        encode_labels(y)


@pytest.mark.parametrize("y", [[None, None], [NAN, NAN], pl.Series([None, None]), [None, NAN]])
def test_labels_that_are_all_missing_are_refused(y, refuses):
    message = (
        "y has no labelled row: all 2 labels are missing. Label at least one row of each class."
    )
    with refuses(ValueError, message):
        encode_labels(y)


# ------------------------------------------------------------------ what is no label


@pytest.mark.parametrize(
    "y", [[1.0, NAN, np.inf], [1, None, np.inf], pl.Series([1.0, None, np.inf])]
)
def test_infinity_is_refused_at_its_row(y, refuses):
    message = (
        "Input y contains infinity: row 2 holds inf. A class label must be finite; None or NaN "
        "marks an unlabelled row."
    )
    with refuses(ValueError, message):
        encode_labels(y)


def test_continuous_targets_are_refused(refuses):
    message = (
        "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects "
        "discrete classes on a regression target with continuous values."
    )
    for y in ([0.5, 1.2, NAN], pd.Series([0.5, 1.2]), [0.5, None]):
        with refuses(ValueError, message):
            encode_labels(y)


@pytest.mark.parametrize(
    ("y", "types"),
    [
        (["a", 1], ["int", "str"]),
        (["a", 1, None], ["int", "str"]),
        (pd.Series([True, "a"], dtype=object), ["bool", "str"]),
        (pl.Series(["a", 1.5], dtype=pl.Object), ["float", "str"]),
        ([b"a", b"b"], ["bytes"]),
        (np.array([b"a", b"b"]), ["bytes_"]),
        ([Decimal(1), Decimal(2)], ["Decimal"]),
        (pd.Series([(1, 2), (1, 3)]), ["tuple"]),
        (np.array(["2020", "NaT"], dtype="M8[Y]"), ["datetime64"]),
    ],
)
def test_labels_of_other_or_several_types_are_refused(y, types, refuses):
    message = (
        f"Unknown label type: y holds labels of types {types}. Make them all strings or all "
        "numbers; None or NaN marks an unlabelled row."
    )
    with refuses(ValueError, message):
        encode_labels(y)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("values", [[3, 5, 9], [0, 127], [100, 3, 60, 7], [4]])
def test_whole_numbers_are_coded_as_by_a_sort(dtype, values):
    for low in (0, np.iinfo(dtype).max - 127, np.iinfo(dtype).min):  # at both ends of the type
        y = (np.tile(values, 80).astype(object) + int(low)).astype(dtype)
        classes, codes = encode_labels(y)
        expected, places = np.unique(y, return_inverse=True)
        assert classes.dtype == dtype
        assert_array_equal(classes, expected)
        assert_array_equal(codes, places)


def test_labels_are_not_written_to():
    y = np.array([2, 1, 2, 1])
    y.flags.writeable = False
    _, codes = encode_labels(y)
    codes += 1
    assert_array_equal(y, [2, 1, 2, 1])
