"""Encode a later table with a learned schema."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from latentclass.data import Column, Schema, Table, learn_schema
from latentclass.data import _schema as schema_module

NAN = float("nan")
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "numpy": lambda data: np.array([*data.values()], dtype=object).T,
}
FRAMES = [name for name in MAKERS if name != "numpy"]


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture(params=FRAMES)
def make_frame(request):
    return MAKERS[request.param]


def learn(make, **options):
    return learn_schema(make({"x0": [1.0, 2.0], "x1": ["a", "b"]}), **options)[0]


def test_what_a_schema_tells():
    schema = Schema(
        (
            Column("a", "nominal", ("x", "y", "z")),
            Column("b", "continuous"),
            Column("c", "binary", (0, 1)),
        ),
        "numpy",
    )
    assert schema.names == ["a", "b", "c"]
    assert schema.kinds == {"a": "nominal", "b": "continuous", "c": "binary"}
    assert schema.continuous == (1,)
    assert schema.discrete == (0, 2)
    assert schema.n_levels.tolist() == [3, 2]


def test_any_container_is_coded_by_any_schema(make):
    for other in MAKERS.values():
        table = learn(other).encode(make({"x0": [3.0, NAN, 1.0], "x1": ["b", "a", None]}))
        np.testing.assert_array_equal(table.numeric, [[3.0], [NAN], [1.0]])
        assert table.codes.tolist() == [[1], [0], [-1]]
        assert table.codes.dtype == np.int32


def test_an_unknown_category_is_missing_by_default(make):
    table = learn(make).encode(make({"x0": [1.0, 1.0], "x1": ["b", "mauve"]}))
    assert table.codes.tolist() == [[1], [-1]]


def test_an_unknown_category_is_refused_on_request(make, refuses):
    message = (
        "Row 2, column 'x1' holds 'mauve', which was not seen in fit (categories: 'a', 'b'). "
        'Use handle_unknown="missing" to treat it as missing.'
    )
    X = make({"x0": [1.0, 1.0, 1.0], "x1": [None, "b", "mauve"]})
    with refuses(ValueError, message):
        learn(make).encode(X, handle_unknown="error")


def test_missing_is_not_unknown(make):
    X = make({"x0": [NAN, 1.0], "x1": [None, "b"]})
    assert learn(make).encode(X, handle_unknown="error").codes.tolist() == [[-1], [1]]


@pytest.mark.parametrize("cell", [7.0, 7.5])
@pytest.mark.parametrize("maker", [pd.DataFrame, lambda d: np.array([*d.values()]).T])
def test_an_unknown_number_is_refused_as_it_is_written(maker, cell, refuses):
    schema, _ = learn_schema(maker({"x0": range(10, 20)}), categorical_features=["x0"])
    shown = "7" if cell == 7 else "7.5"
    message = (
        f"Row 1, column 'x0' holds {shown}, which was not seen in fit (categories: 10, 11, 12, 13, "
        "14, 15, 16, "
        '17, ...). Use handle_unknown="missing" to treat it as missing.'
    )
    with refuses(ValueError, message):
        schema.encode(maker({"x0": [NAN, cell]}), handle_unknown="error")
    assert schema.encode(maker({"x0": [NAN, cell, 12]})).codes.tolist() == [[-1], [-1], [2]]


def test_a_column_all_missing_is_missing_whatever_type_its_library_gave_it():
    schema = learn(pd.DataFrame)
    for X in (
        pd.DataFrame({"x0": [NAN], "x1": [NAN]}),
        pd.DataFrame({"x0": [None], "x1": [None]}),
        pd.DataFrame({"x0": [pd.NA], "x1": [pd.NA]}),
        pl.DataFrame({"x0": [None], "x1": [None]}),
        pa.table({"x0": pa.nulls(1), "x1": pa.nulls(1)}),
        np.full((1, 2), NAN),
        [[None, None]],
    ):
        table = schema.encode(X, handle_unknown="error")
        assert np.isnan(table.numeric).all()
        assert table.codes.tolist() == [[-1]]


def test_numbers_in_a_column_of_text_are_unknown(make_frame, refuses):
    X = make_frame({"x0": [1.0], "x1": [3]})
    assert learn(make_frame).encode(X).codes.tolist() == [[-1]]
    message = (
        "Row 0, column 'x1' holds 3, which was not seen in fit (categories: 'a', 'b'). "
        'Use handle_unknown="missing" to treat it as missing.'
    )
    with refuses(ValueError, message):
        learn(make_frame).encode(X, handle_unknown="error")


def test_text_in_a_continuous_column_is_refused(make, refuses):
    message = (
        "Column 'x0' is continuous, but row 1 holds 'tall'. Make the column numeric (missing cells "
        "as NaN or None), or list it in categorical_features before fit."
    )
    with refuses(ValueError, message):
        learn(make).encode(make({"x0": [None, "tall"], "x1": ["a", "b"]}))


def test_booleans_numbers_and_categories_of_numbers_are_the_same_values():
    as_bool, _ = learn_schema(pd.DataFrame({"a": [True, False]}))
    as_number, _ = learn_schema(pd.DataFrame({"a": [1, 0]}), categorical_features=[0])
    as_category, _ = learn_schema(pd.DataFrame({"a": pd.Categorical([1, 0])}))
    for schema in (as_bool, as_number, as_category):
        for values in ([False, True], [0, 1], [0.0, 1.0], pd.Categorical([0, 1])):
            table = schema.encode(pd.DataFrame({"a": values}), handle_unknown="error")
            assert table.codes.tolist() == [[0], [1]]


def test_categories_beyond_float64_are_not_mistaken_for_each_other():
    big = 2**60
    schema, _ = learn_schema(pd.DataFrame({"a": pd.Categorical([big, big + 1])}))
    assert schema.encode(pd.DataFrame({"a": [big, big + 1]})).codes.tolist() == [[-1], [-1]]
    again = schema.encode(pd.DataFrame({"a": pd.Categorical([big + 1, big])}))
    assert again.codes.tolist() == [[1], [0]]


@pytest.mark.parametrize("declared", [None, ["x1"]])
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize(
    "maker", [pd.DataFrame, pl.DataFrame, pa.table, lambda d: np.array([*d.values()]).T]
)
def test_infinity_is_refused_by_column_and_row_in_fit_and_later(maker, infinite, declared, refuses):
    finite = maker({"x0": [1.0, NAN], "x1": [1.0, 2.0]})
    X = maker({"x0": [1.0, NAN], "x1": [1.0, infinite]})
    message = (
        f"Column 'x1', row 1 is infinity ({infinite}). Write a missing value as NaN, or clip the "
        "column."
    )
    with refuses(ValueError, message):
        learn_schema(X, categorical_features=declared)
    schema, _ = learn_schema(finite, categorical_features=declared)
    with refuses(ValueError, message):
        schema.encode(X)


def test_large_finite_numbers_are_not_infinite():
    _, table = learn_schema(np.full((3, 1), 1e308))
    assert table.numeric.tolist() == [[1e308]] * 3


def test_a_column_not_observed_in_fit_stays_missing(make):
    schema, _ = learn_schema(
        make({"x0": [NAN, NAN], "x1": [None, None]}), categorical_features=["x1"]
    )
    X = make({"x0": [1.0, 2.0], "x1": ["a", "b"]})
    table = schema.encode(X, handle_unknown="error")
    assert np.isnan(table.numeric).all()
    assert table.codes.tolist() == [[-1], [-1]]


def test_a_matrix_column_not_observed_in_fit_stays_missing():
    schema, _ = learn_schema(np.array([[NAN, 1.0]]))
    np.testing.assert_array_equal(schema.encode(np.array([[5.0, 6.0]])).numeric, [[NAN, 6.0]])


def test_text_in_a_column_not_observed_in_fit_is_missing():
    schema, _ = learn_schema(pd.DataFrame({"a": [NAN, NAN]}))
    assert np.isnan(schema.encode(pd.DataFrame({"a": ["x"]})).numeric).all()


# ------------------------------------------------------------------ column names


def test_another_number_of_columns_is_refused_where_there_are_no_names(refuses):
    message = "X has 3 columns, but 2 were seen in fit: ['x0', 'x1']. Pass those, in this order."
    schema, _ = learn_schema(np.ones((2, 2)))
    for X in (np.ones((1, 3)), pd.DataFrame(np.ones((1, 3))), [[1, 2, 3]]):
        with refuses(ValueError, message):
            schema.encode(X)


def test_a_renamed_column_is_refused(make_frame, refuses):
    message = (
        "X lacks 1 of the 2 columns seen in fit: ['x1']. Not seen in fit: ['X1']. Did you mean to "
        "rename 'X1' to 'x1'? Pass the columns of fit in the same order: ['x0', 'x1']."
    )
    with refuses(ValueError, message):
        learn(make_frame).encode(make_frame({"x0": [1.0], "X1": ["a"]}))


def test_a_lacking_column_is_refused(make_frame, refuses):
    message = (
        "X lacks 1 of the 2 columns seen in fit: ['x1']. Pass the columns of fit in the same "
        "order: ['x0', 'x1']."
    )
    with refuses(ValueError, message):
        learn(make_frame).encode(make_frame({"x0": [1.0]}))


def test_a_new_column_is_refused(make_frame, refuses):
    message = (
        "X has columns not seen in fit: ['zoo']. Pass the columns of fit in the same order: "
        "['x0', 'x1']."
    )
    with refuses(ValueError, message):
        learn(make_frame).encode(make_frame({"x0": [1.0], "x1": ["a"], "zoo": [1]}))


def test_columns_in_another_order_are_refused(make_frame, refuses):
    message = (
        "X has the columns of fit in another order: column 0 is 'x1', but in fit it was 'x0'. Pass "
        "the columns of fit in the same order: ['x0', 'x1']."
    )
    with refuses(ValueError, message):
        learn(make_frame).encode(make_frame({"x1": ["a"], "x0": [1.0]}))


def test_names_that_are_numbers_are_compared_too(refuses):
    schema, _ = learn_schema(pd.DataFrame([[1.0, 2.0]], columns=[10, 20]))
    message = (
        "X has the columns of fit in another order: column 0 is '20', but in fit it was '10'. Pass "
        "the columns of fit in the same order: ['10', '20']."
    )
    with refuses(ValueError, message):
        schema.encode(pd.DataFrame([[1.0, 2.0]], columns=[20, 10]))


# ------------------------------------------------------------------ weights


def test_rows_of_weight_zero_are_left_out(make):
    X = make({"x0": [1.0, NAN, 3.0], "x1": ["b", "only here", "a"]})
    schema, table = learn_schema(X, weight=np.array([1.0, 0.0, 0.5]))
    assert schema.columns[1].categories == ("a", "b")
    assert table.numeric.tolist() == [[1.0], [3.0]]
    assert table.codes.tolist() == [[1], [0]]


def test_numbers_of_rows_of_weight_zero_are_no_categories():
    for X in (np.array([[5.0], [6.0], [7.0]]), pd.DataFrame({"a": [5.0, 6.0, 7.0]})):
        schema, table = learn_schema(X, categorical_features=[0], weight=np.array([1.0, 0.0, 1.0]))
        assert schema.columns[0].categories == (5, 7)
        assert table.codes.tolist() == [[0], [1]]


def test_a_column_observed_in_rows_of_weight_zero_alone_is_not_observed(make):
    X = make({"x0": [NAN, 2.0], "x1": [None, "a"]})
    schema, table = learn_schema(X, weight=np.array([1.0, 0.0]))
    assert [column.observed for column in schema.columns] == [False, False]
    assert np.isnan(table.numeric).all()
    assert table.codes.tolist() == [[-1]]


def test_infinity_is_refused_at_its_row_whatever_the_weights(refuses):
    message = (
        "Column 'x0', row 2 is infinity (inf). Write a missing value as NaN, or clip the column."
    )
    for weight in ([0.0, 1.0, 1.0], [1.0, 1.0, 0.0]):
        for X in (np.array([[1.0], [2.0], [np.inf]]), [[1.0], [None], [np.inf]]):
            with refuses(ValueError, message):
                learn_schema(X, weight=np.array(weight))


@pytest.mark.parametrize("n_weights", [2, 4])
def test_another_number_of_weights_is_refused(n_weights, refuses):
    weight = np.ones(n_weights)
    weight[0] = 0.0
    message = (
        "Found input variables with inconsistent numbers of samples: X has 3 rows, but there are "
        f"{n_weights} weights. Pass one weight per row."
    )
    with refuses(ValueError, message):
        learn_schema(np.ones((3, 1)), weight=weight)


# ------------------------------------------------------------------ tables


def mixed():
    return learn_schema([[1.0, "a", True], [2.0, "b", None], [None, None, False]])


def test_copies_of_rows_without_some_cells_leave_the_block():
    _, table = mixed()
    block = table.block(slice(0, 2))
    assert block.shown.tolist() == [[True, True, True], [True, True, False]]
    hidden = np.array([[True, False, False], [False, True, True], [False, False, False]])
    copies = block.copies_without(np.array([0, 1, 0]), hidden)
    np.testing.assert_array_equal(copies.numeric, [[NAN], [2.0], [1.0]])
    assert copies.codes.tolist() == [[0, 1], [-1, -1], [0, 1]]
    assert copies.codes.dtype == np.int32
    assert block.codes.tolist() == [[0, 1], [1, -1]]
    np.testing.assert_array_equal(block.numeric, [[1.0], [2.0]])


@pytest.mark.parametrize("rows", [[2, 0], [True, False, True]])
def test_take_gives_rows_by_index_or_mask(rows):
    _, table = mixed()
    taken = table.take(np.array(rows))
    order = [2, 0] if rows[0] == 2 else [0, 2]
    assert taken.codes.tolist() == [[[0, 1], [1, -1], [-1, 0]][i] for i in order]


def test_blocks_cover_all_rows_once_and_in_order():
    values = np.arange(40_000.0)[:, None]
    table = Table(values, np.zeros((40_000, 1), dtype=np.int32))
    blocks = list(table.blocks())
    assert len(blocks) > 2
    np.testing.assert_array_equal(np.concatenate([block.numeric for block in blocks]), values)


def test_blocks_are_in_c_order():
    table = Table(np.asfortranarray(np.ones((4, 3))), np.zeros((4, 0), dtype=np.int32))
    assert table.block(slice(1, 3)).numeric.flags.c_contiguous


def test_result_does_not_depend_on_the_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(300, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    whole = learn_schema(X, categorical_features=[1, 3])
    monkeypatch.setattr(schema_module, "BLOCK_CELLS", 1)
    parts = learn_schema(X, categorical_features=[1, 3])
    assert parts[0] == whole[0]
    np.testing.assert_array_equal(parts[1].codes, whole[1].codes)
    np.testing.assert_array_equal(parts[1].numeric, whole[1].numeric)
