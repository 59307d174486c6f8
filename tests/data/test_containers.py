"""What a column of each container and type is read as."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from latentclass.data import learn_schema

NAN = float("nan")


def read(X, **options):
    """Kind, categories and cells (None: missing) of the only column of a table."""
    schema, table = learn_schema(X, **options)
    (column,) = schema.columns
    if column.kind == "continuous":
        cells = [None if np.isnan(v) else v for v in table.numeric[:, 0].tolist()]
    else:
        cells = [None if c < 0 else column.categories[c] for c in table.codes[:, 0].tolist()]
    return column.kind, column.categories, cells


def in_pandas(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def in_polars(values, dtype=None):
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype)})


def in_pyarrow(values, dtype=None):
    return pa.table({"a": pa.array(values, type=dtype)})


ARROW = pd.ArrowDtype

CONTINUOUS = {
    **{f"pandas {t}": in_pandas([1, None, 3], t) for t in ("Int64", "Int8", "Float64", "float32")},
    "pandas float64": in_pandas([1, NAN, 3]),
    "pandas object": in_pandas([1, None, 3.0], object),
    "pandas object with NA": in_pandas([1, pd.NA, 3], object),
    "pandas object of numpy numbers": in_pandas([np.int8(1), NAN, np.float32(3)], object),
    "pandas object of Decimal": in_pandas([Decimal(1), Decimal("NaN"), Decimal(3)], object),
    "pandas pyarrow int": in_pandas([1, None, 3], ARROW(pa.int16())),
    "pandas pyarrow decimal": in_pandas([Decimal(1), None, Decimal(3)], ARROW(pa.decimal128(5, 2))),
    "pandas sparse": pd.DataFrame({"a": pd.arrays.SparseArray([1, NAN, 3])}),
    "polars UInt8": in_polars([1, None, 3], pl.UInt8),
    "polars Float32": in_polars([1, None, 3], pl.Float32),
    "polars NaN": in_polars([1.0, NAN, 3.0]),
    "polars Decimal": in_polars([Decimal(1), None, Decimal(3)]),
    "polars Object": in_polars([1, None, 3], pl.Object),
    "pyarrow int8": in_pyarrow([1, None, 3], pa.int8()),
    "pyarrow float16": in_pyarrow([np.float16(1), None, np.float16(3)], pa.float16()),
    "pyarrow NaN": in_pyarrow([1.0, NAN, 3.0]),
    "pyarrow decimal": in_pyarrow([Decimal(1), None, Decimal(3)]),
    "pyarrow chunks": pa.table({"a": pa.chunked_array([[1, None], [], [3]], type=pa.int64())}),
    **{f"numpy {t}": np.array([[1], [NAN], [3]], dtype=t) for t in ("f2", "f4", "f8", "g")},
    "numpy object": np.array([[1], [None], [3.0]], dtype=object),
    "numpy masked int": np.ma.array([[1], [2], [3]], mask=[[0], [1], [0]]),
    "numpy masked float32": np.ma.array([[1], [np.inf], [3]], "f4", mask=[[0], [1], [0]]),
    "list": [[1], [None], [3]],
    "tuple": ((1,), (NAN,), (3,)),
}
if hasattr(pl, "Int128"):
    CONTINUOUS["polars Int128"] = in_polars([1, None, 3], pl.Int128)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_are_continuous_with_holes(name):
    assert read(CONTINUOUS[name]) == ("continuous", (), [1, None, 3])


@pytest.mark.parametrize("dtype", ["i1", "u1", "u8", "i8"])
def test_whole_numbers_of_numpy_are_continuous(dtype):
    assert read(np.array([[1], [3]], dtype=dtype)) == ("continuous", (), [1, 3])


BOOLEAN = {
    "pandas boolean": in_pandas([True, None, False], "boolean"),
    "pandas object": in_pandas([True, None, False], object),
    "pandas pyarrow": in_pandas([True, None, False], ARROW(pa.bool_())),
    "polars": in_polars([True, None, False]),
    "pyarrow": in_pyarrow([True, None, False]),
    "numpy object": np.array([[np.True_], [None], [False]], dtype=object),
    "numpy masked": np.ma.array([[True], [True], [False]], mask=[[0], [1], [0]]),
    "list": [[True], [None], [False]],
}


@pytest.mark.parametrize("name", BOOLEAN)
def test_booleans_are_binary(name):
    assert read(BOOLEAN[name]) == ("binary", (False, True), [True, None, False])


@pytest.mark.parametrize("X", [np.array([[True], [True]]), in_pandas([True, True])])
def test_a_boolean_column_has_two_categories_even_if_one_occurs(X):
    assert read(X) == ("binary", (False, True), [True, True])


TEXT = {
    **{
        f"pandas {t}": in_pandas(["b", None, "a", "b"], t)
        for t in ("str", "object", "string[python]", "string[pyarrow]", "category")
    },
    "pandas object with NaN": in_pandas(["b", NAN, "a", "b"], object),
    "pandas unused category": pd.DataFrame(
        {"a": pd.Categorical(["b", None, "a", "b"], categories=["z", "b", "a"])}
    ),
    "pandas ordered category": pd.DataFrame(
        {"a": pd.Categorical(["b", None, "a", "b"], categories=["b", "a"], ordered=True)}
    ),
    "pandas pyarrow text": in_pandas(["b", None, "a", "b"], ARROW(pa.large_string())),
    "pandas pyarrow dictionary": in_pandas(
        ["b", None, "a", "b"], ARROW(pa.dictionary(pa.int8(), pa.string()))
    ),
    "polars String": in_polars(["b", None, "a", "b"]),
    "polars Categorical": in_polars(["b", None, "a", "b"], pl.Categorical),
    "polars Enum": in_polars(["b", None, "a", "b"], pl.Enum(["z", "b", "a"])),
    "polars Object": in_polars(["b", None, "a", "b"], pl.Object),
    **{
        f"pyarrow {t}": in_pyarrow(["b", None, "a", "b"], t)
        for t in (pa.string(), pa.large_string(), pa.string_view())
    },
    "pyarrow chunks": pa.table({"a": pa.chunked_array([["b", None], ["a", "b"]])}),
    "pyarrow dictionaries that differ": pa.table(
        {
            "a": pa.chunked_array(
                [
                    pa.array(["b", None]).dictionary_encode(),
                    pa.array(["a", "b"]).dictionary_encode(),
                ]
            )
        }
    ),
    "pyarrow dictionary with null": pa.table(
        {"a": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["b", None, "a"]))}
    ),
    "numpy object": np.array([["b"], [None], ["a"], ["b"]], dtype=object),
    "numpy str_ objects": np.array([[np.str_("b")], [NAN], ["a"], ["b"]], dtype=object),
    "numpy masked text": np.ma.array([["b"], ["?"], ["a"], ["b"]], mask=[[0], [1], [0], [0]]),
    "list": [["b"], [None], ["a"], ["b"]],
    "list with NaN": [["b"], [NAN], ["a"], ["b"]],
}
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    TEXT["numpy StringDType"] = np.array(
        [["b"], [None], ["a"], ["b"]], dtype=np.dtypes.StringDType(na_object=None)
    )


@pytest.mark.parametrize("name", TEXT)
def test_text_and_categories_are_discrete_in_sorted_order(name):
    assert read(TEXT[name]) == ("binary", ("a", "b"), ["b", None, "a", "b"])


def test_fixed_width_text_of_numpy_is_discrete():
    assert read(np.array([["b"], ["a"], ["c"]])) == ("nominal", ("a", "b", "c"), ["b", "a", "c"])


CATEGORIES_OF_NUMBERS = {
    "pandas": in_pandas([3, None, -1], "category"),
    "pyarrow": pa.table({"a": pa.array([3, None, -1]).dictionary_encode()}),
}


@pytest.mark.parametrize("name", CATEGORIES_OF_NUMBERS)
def test_categories_may_be_numbers(name):
    assert read(CATEGORIES_OF_NUMBERS[name]) == ("binary", (-1, 3), [3, None, -1])


def test_categories_may_be_numbers_beyond_float64():
    big = 2**60
    X = in_pandas([big, big + 1], "category")
    assert read(X) == ("binary", (big, big + 1), [big, big + 1])


def test_categories_may_be_intervals():
    low, _, high = intervals = pd.IntervalIndex.from_breaks([0, 2, 10, 20])
    X = pd.DataFrame({"a": pd.cut([1, 15, NAN], intervals)})
    assert read(X) == ("binary", (low, high), [low, high, None])


UNTYPED = {
    "pandas": in_pandas([None, None], object),
    "pandas category": pd.DataFrame({"a": pd.Categorical([None, None], categories=["x"])}),
    "polars Null": in_polars([None, None]),
    "polars String": in_polars([None, None], pl.String),
    "pyarrow null": in_pyarrow([None, None]),
    "numpy": np.array([[None], [NAN]], dtype=object),
}


@pytest.mark.parametrize("name", UNTYPED)
def test_a_column_without_a_value_is_not_observed(name):
    schema, table = learn_schema(UNTYPED[name])
    assert not schema.columns[0].observed
    assert schema.columns[0].categories == ()
    assert table.codes.tolist() == [[-1], [-1]]


@pytest.mark.parametrize("X", [in_pandas([NAN, NAN]), np.full((2, 1), NAN)])
def test_a_column_of_nan_alone_is_continuous_and_not_observed(X):
    schema, table = learn_schema(X)
    assert schema.columns[0].kind == "continuous"
    assert not schema.columns[0].observed
    assert np.isnan(table.numeric).all()


def test_a_constant_column_keeps_its_one_category():
    assert read([["a"], ["a"]]) == ("nominal", ("a",), ["a", "a"])


def test_a_list_keeps_numbers_text_and_booleans_apart():
    schema, _ = learn_schema([[1.5, "red", True], [2, "blue", False]])
    assert schema.kinds == {"x0": "continuous", "x1": "binary", "x2": "binary"}
    schema, _ = learn_schema([[1.5, True], [2, False]])
    assert schema.kinds == {"x0": "continuous", "x1": "binary"}


def test_many_categories():
    labels = [f"id{i:05d}" for i in range(20_000)]
    for X in (in_pandas(labels), in_polars(labels), in_pyarrow(labels)):
        schema, table = learn_schema(X)
        assert schema.columns[0].categories == tuple(labels)
        assert table.codes[:, 0].tolist() == list(range(20_000))


def test_one_row():
    assert read([[2.5]]) == ("continuous", (), [2.5])


def test_reading_leaves_the_input_as_it_is():
    X = np.array([[1.0, "a"], [None, None]], dtype=object)
    before = X.copy()
    learn_schema(X)
    assert X.tolist() == before.tolist()


REFUSED_TYPES = {
    "Datetime(time_unit='us', time_zone=None)": in_pandas(
        np.array(["2020-01-01", "NaT"], dtype="M8[us]")
    ),
    "Duration(time_unit='ns')": in_pandas(np.array([1, 2], dtype="m8[ns]")),
    "Date": in_polars([datetime.date(2020, 1, 1)]),
    "Time": in_polars([datetime.time(12)]),
    "List(Int64)": in_polars([[1], [2]]),
    "Struct({'b': Int64})": in_polars([{"b": 1}]),
    "Binary": in_pyarrow([b"x"]),
}


@pytest.mark.parametrize("dtype", REFUSED_TYPES)
def test_types_no_kind_can_hold_are_refused_by_name(dtype, refuses):
    message = (
        f"Column 'a' has type {dtype}, but only numbers, booleans, text and categories can be "
        "read. Convert it to numbers (a date to days since a fixed day) or drop it."
    )
    with refuses(TypeError, message):
        learn_schema(REFUSED_TYPES[dtype])


REFUSED_CELLS = {
    "date": datetime.date(2020, 1, 1),
    "bytes": b"x",
    "complex": 1j,
    "list": [1],
    "Period": pd.Period("2020", "Y"),
}


@pytest.mark.parametrize("kind", REFUSED_CELLS)
def test_cells_no_kind_can_hold_are_refused_by_row(kind, refuses):
    cell = REFUSED_CELLS[kind]
    message = (
        f"Column 'a', row 1 holds {cell!r}, but a cell's argument must be a string or a real "
        f"number, not {kind!r}. Convert the column to numbers or text, or drop it."
    )
    with refuses(TypeError, message):
        learn_schema(in_pandas([None, cell], object))


def test_a_long_cell_is_shown_in_part(refuses):
    message = (
        "Column 'a', row 0 holds [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..., but a cell's argument "
        "must be a string or a real number, not 'list'. Convert the column to numbers or text, or "
        "drop it."
    )
    with refuses(TypeError, message):
        learn_schema(in_pandas([[0] * 50, None], object))


@pytest.mark.parametrize("dtype", ["S1", "M8[D]"])
def test_numpy_bytes_and_dates_are_refused_by_name(dtype):
    with pytest.raises(TypeError, match=r"^Column 'x0', row 0 holds .* drop it\.$"):
        learn_schema(np.array([["1970"]]).astype(dtype))


@pytest.mark.parametrize(
    ("cells", "row", "shown"),
    [([1.5, 2, "tall"], 2, "'tall'"), (["a", 3, "b"], 1, "3"), ([True, 2.5, 3.0], 0, "True")],
)
def test_a_column_of_several_sorts_is_refused_at_its_odd_cell(cells, row, shown, refuses):
    message = (
        f"Column 'a' mixes numbers, text or booleans: row {row} holds {shown}. Use one type per "
        "column; write missing cells as None or NaN."
    )
    with refuses(ValueError, message):
        learn_schema(in_pandas([*cells, None], object))


def test_an_integer_too_large_for_a_float_is_refused(refuses):
    message = (
        "Column 'x0', row 1 holds 1000000000000000000000000000000000000..., which is too large for "
        "a 64-bit number. Rescale the column or convert it to text."
    )
    with refuses(ValueError, message):
        learn_schema(np.array([[1], [10**400]], dtype=object))


EMPTY = {
    "0 sample(s) (shape=(0, 2))": [
        np.empty((0, 2)),
        np.empty((0, 2), dtype=object),
        pd.DataFrame({"a": [], "b": []}),
        pl.DataFrame({"a": [], "b": []}),
        pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int8())}),
    ],
    "0 feature(s) (shape=(2, 0))": [np.empty((2, 0)), pd.DataFrame(index=[0, 1]), [[], []]],
}


@pytest.mark.parametrize(("what", "X"), [(what, X) for what, Xs in EMPTY.items() for X in Xs])
def test_an_empty_table_is_refused_in_the_same_words(what, X, refuses):
    message = (
        f"Found array with {what} while a minimum of 1 is required by Owner: the table is empty. "
        "Check the filter or join that made it."
    )
    with refuses(ValueError, message):
        learn_schema(X, owner="Owner")


@pytest.mark.parametrize(
    "X", [np.array([1.0, 2.0]), [1.0, 2.0], ["a", "b"], pl.Series([1, 2]), 3.0, None]
)
def test_what_is_no_table_is_refused_with_scikit_learns_remedy(X):
    with pytest.raises(ValueError, match=r"(?s)^Expected 2D array, got .*Reshape your data either"):
        learn_schema(X)


def test_a_series_is_no_table():
    with pytest.raises(ValueError, match=r"^Expected a 2-dimensional container but got .*Series"):
        learn_schema(pd.Series([1, 2]))


def test_three_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"^Found array with dim 3.*Owner"):
        learn_schema(np.zeros((2, 2, 2)), owner="Owner")


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match=r"^Complex data not supported"):
        learn_schema(np.array([[1j]]))


def test_ragged_lists_are_refused_at_the_odd_row(refuses):
    message = (
        "Row 1 of X has 1 cells, but row 0 has 2. Pass one cell per column in every row; None "
        "marks a missing cell."
    )
    with refuses(ValueError, message):
        learn_schema([[1, 2], [3], [4, 5]])


def test_lists_nested_too_deep_in_one_place_are_refused():
    with pytest.raises(ValueError, match="inhomogeneous"):
        learn_schema([[[1], 2], [3, 4]])


def test_a_structured_array_is_refused(refuses):
    message = (
        "X is a structured array with fields ['f0', 'f1']. Convert it to a data frame: "
        "pandas.DataFrame(X)."
    )
    with refuses(TypeError, message):
        learn_schema(np.array([(1, 2.0)], dtype="i4,f4"))


def test_a_lazy_table_is_refused(refuses):
    message = (
        "X is a lazy table (LazyFrame), but Owner needs its rows. Collect it first: X.collect()."
    )
    with refuses(TypeError, message):
        learn_schema(pl.LazyFrame({"a": [1]}), owner="Owner")


DUPLICATES = {
    "pandas": pd.DataFrame([[1, 2, 3, 4]], columns=["b", "a", "b", "a"]),
    "pyarrow": pa.table([pa.array([1])] * 4, names=["b", "a", "b", "a"]),
}


@pytest.mark.parametrize("name", DUPLICATES)
def test_duplicate_names_are_refused(name, refuses):
    message = (
        "Column names must differ, but ['a', 'b'] occur more than once. Rename or drop the "
        "duplicates."
    )
    with refuses(ValueError, message):
        learn_schema(DUPLICATES[name])


def test_names_that_are_the_same_as_text_are_duplicates(refuses):
    message = (
        "Column names must differ, but ['1'] occur more than once. Rename or drop the duplicates."
    )
    with refuses(ValueError, message):
        learn_schema(pd.DataFrame([[1, 2]], columns=[1, "1"]))


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([0, 1], ["0", "1"]),
        (["x", 1], ["x", "1"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]), ["('a', 1)", "('a', 2)"]),
        (["column_names", "columns"], ["column_names", "columns"]),
        (["shape", ""], ["shape", ""]),
    ],
)
def test_any_column_name_will_do(columns, names):
    schema, table = learn_schema(pd.DataFrame([["u", 1], ["u", 2]], columns=columns))
    assert schema.names == names
    assert table.numeric.tolist() == [[1], [2]]
    assert table.codes.tolist() == [[0], [0]]


def test_containers_are_remembered():
    tables = {
        "numpy": np.ones((1, 1)),
        "pandas": in_pandas([1]),
        "polars": in_polars([1]),
        "pyarrow": in_pyarrow([1]),
    }
    assert [learn_schema(X)[0].container for X in tables.values()] == list(tables)


def test_a_frame_need_not_have_a_usual_index():
    X = pd.DataFrame({"a": ["u", None], "b": [1.0, 2.0]}, index=[7, 7])
    _, table = learn_schema(X)
    assert table.codes.tolist() == [[0], [-1]]
    assert table.numeric.tolist() == [[1], [2]]


def test_frames_are_read_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (*CONTINUOUS.values(), *BOOLEAN.values(), *TEXT.values()):
            learn_schema(X)
