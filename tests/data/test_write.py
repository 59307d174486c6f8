"""Write coded arrays into a container: `build_table` and `fill_missing`."""

from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from latentclass.data import Table, learn_schema
from latentclass.data._write import build_table, fill_missing

NAN = float("nan")


def as_lists(X):
    """Columns of any container as lists of plain cells, None where missing."""
    if isinstance(X, np.ndarray):
        columns = X.T.tolist()
    elif isinstance(X, pd.DataFrame):
        columns = [X.iloc[:, j].tolist() for j in range(X.shape[1])]
    else:
        columns = [
            column.to_pylist() if isinstance(X, pa.Table) else column.to_list() for column in X
        ]
    return [[None if pd.api.types.is_scalar(v) and pd.isna(v) else v for v in c] for c in columns]


def fill(X, fit=None, *, value=0.5, code=0, **options):
    """Fill `X` by the schema of `fit` (X itself by default): one number, one code everywhere."""
    schema, _ = learn_schema(X if fit is None else fit, **options)
    n_rows = len(X)
    filled = Table(
        np.full((n_rows, len(schema.continuous)), value),
        np.full((n_rows, len(schema.discrete)), code, dtype=np.int32),
    )
    return fill_missing(X, schema, filled, owner="model")


def dtypes(X):
    return [str(t) for t in (X.schema.types if isinstance(X, pa.Table) else X.dtypes)]


# ------------------------------------------------------------------ fill_missing: cells and types

ARROW = pd.ArrowDtype


def pandas_column(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def polars_column(values, dtype=None):
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype)})


def arrow_column(values, dtype=None):
    return pa.table({"a": pa.array(values, type=dtype)})


CONTINUOUS = [
    (pandas_column([2, None], "float64"), "float64"),
    (pandas_column([2, None], "float32"), "float32"),
    (pandas_column([2, None], "Float64"), "Float64"),
    (pandas_column([2, None], "Int64"), "Float64"),
    (pandas_column([2, None], "Int8"), "Float64"),
    (pandas_column([2, None], object), "object"),
    (pandas_column([2, pd.NA], object), "object"),
    (pandas_column([2, None], ARROW(pa.int64())), "double[pyarrow]"),
    (pd.DataFrame({"a": pd.arrays.SparseArray([2, NAN])}), "float64"),
    (polars_column([2.0, None], pl.Float32), "Float32"),
    (polars_column([2.0, NAN]), "Float64"),
    (polars_column([2, None], pl.UInt8), "Float64"),
    (polars_column([Decimal(2), None]), "Float64"),
    (polars_column([2, None], pl.Object), "Float64"),
    (arrow_column([2.0, NAN]), "double"),
    (arrow_column([2.0, None], pa.float32()), "float"),
    (arrow_column([2, None], pa.int8()), "double"),
    (arrow_column([Decimal(2), None]), "double"),
    # narwhals does not know these types
    (pandas_column([2, None], np.longdouble), str(np.dtype(np.longdouble))),
    (arrow_column([Decimal(2), None], pa.decimal256(50, 2)), "double"),
]


@pytest.mark.parametrize(("X", "dtype"), CONTINUOUS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_number_is_filled_in_and_the_type_kept_if_it_can_hold_it(X, dtype):
    out = fill(X)
    assert type(out) is type(X)
    assert as_lists(out) == [[2, 0.5]]
    assert dtypes(out) == [dtype]


NARROW = [
    *(pandas_column([2, None], t) for t in ("float16", "float32", "Float32", ARROW(pa.float32()))),
    polars_column([2.0, None], pl.Float32),
    arrow_column([2.0, None], pa.float32()),
]
if hasattr(nw, "Float16"):  # older versions of narwhals do not know it: the column becomes float64
    half = [np.float16(2), None]
    NARROW += [
        pandas_column(half, ARROW(pa.float16())),
        arrow_column(half, pa.float16()),
    ]


@pytest.mark.parametrize("X", NARROW, ids=lambda X: dtypes(X)[0])
def test_a_number_is_rounded_to_the_type_of_its_column(X):
    out = fill(X, value=0.1)
    assert dtypes(out) == dtypes(X)
    narrow = np.float16 if "16" in dtypes(X)[0] or "half" in dtypes(X)[0] else np.float32
    assert as_lists(out) == [[2, float(narrow(0.1))]]


@pytest.mark.parametrize("X", NARROW, ids=lambda X: dtypes(X)[0])
def test_a_number_too_large_for_its_column_makes_the_column_wider(X):
    out = fill(X, value=1e39)
    assert dtypes(out)[0].replace("[pyarrow]", "") in ("float64", "Float64", "double")
    assert as_lists(out) == [[2, 1e39]]


def test_a_number_too_large_for_an_array_makes_the_array_wider():
    for dtype, value, wider in (
        ("float16", 1e5, "float64"), ("float32", 1e5, "float32"), ("float32", 1e39, "float64")
    ):  # fmt: skip
        out = fill(np.array([[2], [NAN]], dtype), value=value)
        assert out.tolist() == [[2], [value]]
        assert out.dtype == wider


LISTED = [
    (pandas_column([2, None, 7], "Int8"), "Int8"),
    (pandas_column([2, None, 7]), "float64"),
    (polars_column([2, None, 7], pl.UInt8), "UInt8"),
    (polars_column([2.0, NAN, 7.0]), "Float64"),
    (arrow_column([2, None, 7], pa.int8()), "int8"),
    (arrow_column([2, None, 7], pa.float32()), "float"),
    (arrow_column([Decimal(2), None, Decimal(7)], pa.decimal256(50, 2)), "double"),
]


@pytest.mark.parametrize(("X", "dtype"), LISTED, ids=lambda v: v if isinstance(v, str) else "")
def test_a_category_that_is_a_number_is_filled_in(X, dtype):
    out = fill(X, code=1, categorical_features=["a"])
    assert as_lists(out) == [[2, 7, 7]]
    assert dtypes(out) == [dtype]


@pytest.mark.parametrize("make", [polars_column, arrow_column])
@pytest.mark.parametrize(("categories", "filled"), [([0.5, 2.0], 0.5), ([-300, 2], -300)])
def test_a_number_that_does_not_fit_makes_the_column_float(make, categories, filled):
    dtype = pl.Int8 if make is polars_column else pa.int8()
    X = make([2, None], dtype)
    out = fill(X, make(categories), categorical_features=["a"])
    assert as_lists(out) == [[2, filled]]
    assert dtypes(out)[0] in ("Float64", "double")


def has_string_views():
    """Whether this pyarrow can do more with a string view than hold it."""
    try:
        pa.array(["b"], pa.string_view()).cast(pa.large_string()).cast(pa.string_view())
    except pa.ArrowNotImplementedError:
        return False
    return True


KEPT = {
    **{
        f"pandas {t}": pandas_column(["b", None, "a"], t)
        for t in ("object", "str", "category", "string[python]", ARROW(pa.string()))
    },
    "polars String": polars_column(["b", None, "a"]),
    "polars Categorical": polars_column(["b", None, "a"], pl.Categorical),
    "polars Enum": polars_column(["b", None, "a"], pl.Enum(["z", "b", "a"])),
    "pyarrow string": arrow_column(["b", None, "a"]),
    "pyarrow large_string": arrow_column(["b", None, "a"], pa.large_string()),
    "pyarrow dictionary": pa.table(
        {
            "a": pa.DictionaryArray.from_arrays(
                pa.array([0, None, 1], pa.int8()), pa.array(["b", "a"], pa.large_string())
            )
        }
    ),
    "pyarrow dictionary with null": pa.table(
        {"a": pa.DictionaryArray.from_arrays([0, 1, 2], ["b", None, "a"])}
    ),
}
if has_string_views():
    KEPT["pyarrow string_view"] = arrow_column(["b", None, "a"], pa.string_view())


@pytest.mark.parametrize("name", KEPT)
def test_a_category_is_filled_in_and_the_type_kept(name):
    out = fill(KEPT[name])
    assert type(out) is type(KEPT[name])
    assert as_lists(out) == [["b", "a", "a"]]
    assert dtypes(out) == dtypes(KEPT[name])


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (pandas_column(["b", None], ARROW(pa.dictionary(pa.int8(), pa.string()))), "category"),
        (polars_column(["b", None], pl.Object), "String"),
    ],
)
def test_a_type_that_cannot_be_written_to_becomes_the_usual_one(X, dtype):
    out = fill(X)
    assert as_lists(out) == [["b", "b"]]
    assert dtypes(out) == [dtype]


BOOLEAN = [
    (pandas_column([True, None], "boolean"), "boolean"),
    (pandas_column([True, None], object), "object"),
    (polars_column([True, None]), "Boolean"),
    (arrow_column([True, None]), "bool"),
]


@pytest.mark.parametrize(("X", "dtype"), BOOLEAN, ids=lambda v: v if isinstance(v, str) else "")
def test_a_boolean_is_filled_in(X, dtype):
    out = fill(X)
    assert as_lists(out) == [[True, False]]
    assert dtypes(out) == [dtype]


@pytest.mark.parametrize(
    "X",
    [
        pandas_column([True, None], "boolean"),
        polars_column([True, None]),
        arrow_column([True, None]),
    ],
)
def test_a_boolean_column_taken_as_numbers_becomes_numbers(X):
    assert as_lists(fill(X, categorical_features=None)) == [[1, 0.5]]


def test_booleans_and_the_numbers_0_and_1_may_stand_for_each_other():
    as_bool = pd.DataFrame({"a": [True, False]})
    assert as_lists(fill(pandas_column([1.0, NAN]), as_bool)) == [[1, 0]]
    as_number = pd.DataFrame({"a": [1, 0]})
    X = pandas_column([True, None], "boolean")
    assert as_lists(fill(X, as_number, categorical_features=["a"])) == [[True, False]]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Categorical([3, None], categories=[5, 3, 1], ordered=True)}),
        pd.DataFrame({"a": pd.cut([0.5, NAN], [0, 1, 2])}),
        pd.DataFrame({"a": pd.Categorical([True, None])}),
    ],
)
def test_a_pandas_category_keeps_its_levels_and_their_order(X):
    out = fill(X)
    assert out["a"].dtype == X["a"].dtype
    assert out["a"].tolist() == [X["a"][0]] * 2


def test_a_pyarrow_dictionary_of_numbers_is_filled():
    X = arrow_column([5, None, 3], pa.dictionary(pa.int32(), pa.int64()))
    out = fill(X)
    assert as_lists(out) == [[5, 3, 3]]
    assert out.schema == X.schema


def test_a_level_the_column_lacks_is_added():
    fit = pd.DataFrame({"a": ["a", "b"]})
    pandas = fill(pd.DataFrame({"a": pd.Categorical(["b", None])}), fit)
    assert pandas["a"].dtype == pd.CategoricalDtype(["b", "a"])
    polars = fill(polars_column(["b", None], pl.Enum(["b"])), fit)
    assert polars.schema["a"] == pl.Enum(["b", "a"])
    assert as_lists(pandas) == as_lists(polars) == [["b", "a"]]


NOTHING_THERE = {
    "pandas NaN": pd.DataFrame({"a": [NAN], "b": [NAN]}),
    "pandas None": pd.DataFrame({"a": [None], "b": [None]}),
    "polars Null": pl.DataFrame({"a": [None], "b": [None]}),
    "polars Int8": pl.DataFrame({"a": [None], "b": [None]}, schema={"a": pl.Int8, "b": pl.String}),
    "pyarrow null": pa.table({"a": pa.nulls(1), "b": pa.nulls(1)}),
}


@pytest.mark.parametrize("name", NOTHING_THERE)
def test_a_column_that_is_all_missing_takes_the_type_of_its_values(name):
    fit = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    assert as_lists(fill(NOTHING_THERE[name], fit, code=1)) == [["y"], [0.5]]


def test_a_column_of_another_type_than_in_fit_cannot_be_filled(refuses):
    message = (
        "Column 'a' has type Int64, but another type in fit, so its missing cells cannot hold 'x'. "
        "Convert the column to the type it had in fit."
    )
    for X in (pandas_column([3, None], "Int64"), polars_column([3, None]), arrow_column([3, None])):
        with refuses(TypeError, message):
            fill(X, pd.DataFrame({"a": ["x", "y"]}))


# ------------------------------------------------------------------ fill_missing: arrays


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_arrays_of_floats_keep_their_type(dtype):
    out = fill(np.array([[1, NAN]], dtype=dtype), np.array([[1.0, 2.0]]))
    assert out.dtype == np.dtype(dtype)
    assert out.tolist() == [[1, 0.5]]


@pytest.mark.parametrize(
    "X", [np.array([[1, 2]]), np.array([[True, False]]), np.array([["a", "b"]])]
)
def test_arrays_without_holes_are_copied_as_they_are(X):
    out = fill(X)
    assert out.dtype == X.dtype
    assert out.tolist() == X.tolist()
    assert not np.shares_memory(out, X)


def test_an_array_of_nan_alone_takes_text():
    X = np.full((1, 2), NAN)
    assert fill(X, [["x", 1.0], ["y", 2.0]]).tolist() == [["x", 0.5]]


def test_lists_and_masked_arrays_become_arrays():
    assert fill([[1.5, None], [None, "b"]]).tolist() == [[1.5, "b"], [0.5, "b"]]
    assert fill(np.ma.array([[1], [2]], mask=[[0], [1]])).tolist() == [[1], [0.5]]


# ------------------------------------------------------------------ fill_missing: the rest of it

MAKERS = [
    pd.DataFrame,
    pl.DataFrame,
    pa.table,
    lambda data: np.array([*data.values()], dtype=object).T,
]


@pytest.mark.parametrize("make", MAKERS)
def test_only_missing_cells_change_and_the_input_does_not(make):
    X = make({"x0": ["b", None, "mauve"], "x1": [1.0, NAN, 3.0], "x2": ["p", "p", None]})
    before = as_lists(X)
    fit = make({"x0": ["a", "b"], "x1": [1.0, 2.0], "x2": ["p", "q"]})
    out = fill(X, fit, code=1)
    assert as_lists(out) == [["b", "b", "mauve"], [1.0, 0.5, 3.0], ["p", "p", "q"]]
    assert as_lists(X) == before


@pytest.mark.parametrize("make", MAKERS)
def test_a_column_without_a_value_in_fit_stays_missing(make):
    fit = make({"x0": [None, None], "x1": [1.0, 2.0]})
    assert as_lists(fill(make({"x0": [None], "x1": [NAN]}), fit)) == [[None], [0.5]]


def test_a_pandas_frame_keeps_index_and_names():
    X = pd.DataFrame({20: [1.0, NAN], 10: [None, "b"]}, index=[7, 7])
    out = fill(X)
    assert out.index.tolist() == [7, 7]
    assert out.columns.tolist() == [20, 10]
    assert as_lists(out) == [[1.0, 0.5], ["b", "b"]]


def test_writing_to_the_result_does_not_write_to_the_input():
    X = pd.DataFrame({"a": [1.0, 2.0]})
    out = fill(X)
    out.iloc[0, 0] = 9.0
    assert X["a"].tolist() == [1.0, 2.0]


def test_columns_are_found_by_name_and_others_stay():
    X = pd.DataFrame({"c": [7, 8], "b": [1.0, NAN], "a": [NAN, 3.0]})
    out = fill(X, pd.DataFrame({"a": [1.0], "d": ["x"], "b": [2.0]}))
    expected = pd.DataFrame({"c": [7, 8], "b": [1.0, 0.5], "a": [0.5, 3.0]})
    pd.testing.assert_frame_equal(out, expected)


def test_many_rows_are_filled_where_they_belong():
    rng = np.random.default_rng(0)
    holes = rng.random(1000) < 0.3
    text = np.where(holes, None, "b").astype(object)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        out = fill(make({"a": text.tolist()}), make({"a": ["a", "b"]}))
        assert as_lists(out) == [np.where(holes, "a", "b").tolist()]


# ------------------------------------------------------------------ build_table


@pytest.mark.parametrize("make", MAKERS)
def test_build_table_gives_the_container_back(make):
    X = make({"x0": ["b", None, "a"], "x1": [1.5, NAN, 3.0], "x2": [True, None, False]})
    out = build_table(*learn_schema(X))
    assert type(out) is type(X)
    assert as_lists(out) == [["b", None, "a"], [1.5, None, 3.0], [True, None, False]]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("cells", [[1, 0.5, None], [1, 2, None], [None, 1, 0.5]])
def test_build_table_gives_numbers_that_are_categories_back(make, cells):
    X = make({"x0": [NAN if cell is None else float(cell) for cell in cells]})
    out = build_table(*learn_schema(X, categorical_features=["x0"]))
    assert as_lists(out) == [cells]


def test_build_table_of_numbers_is_an_array_of_numbers():
    X = np.array([[1.5, 2.0], [2.5, NAN]])
    out = build_table(*learn_schema(X, categorical_features=[1]))
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, X)


def test_build_table_of_booleans_is_an_array_of_booleans():
    X = np.array([[True, False], [False, False]])
    out = build_table(*learn_schema(X))
    assert out.dtype == bool
    assert out.tolist() == X.tolist()


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Categorical(["b", None, "a"])}),
        pd.DataFrame({"a": pd.Categorical([3, 1, 3])}),
        pl.DataFrame({"a": pl.Series(["b", None, "a"], dtype=pl.Categorical)}),
        pa.table({"a": pa.array(["b", None, "a"]).dictionary_encode()}),
        pa.table({"a": pa.array([3, 1, None]).dictionary_encode()}),
    ],
)
def test_build_table_gives_category_types_back(X):
    schema, table = learn_schema(X)
    out = build_table(schema, table)
    assert as_lists(out) == as_lists(X)
    assert learn_schema(out)[0] == schema


def test_build_table_gives_names_that_are_not_text_back():
    X = pd.DataFrame([[1.0, "a"], [2.0, "b"]], columns=[5, "name"])
    assert build_table(*learn_schema(X)).columns.tolist() == [5, "name"]
