"""Sparse tables: all continuous or all binary, and never made dense without need."""

import numpy as np
import pytest
import scipy.sparse as sp

from latentclass.data import learn_schema
from latentclass.data._write import build_table, fill_missing

NAN = float("nan")
DENSE = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read_and_stays_sparse(form, kind):
    X = getattr(sp, f"{form}_{kind}")(DENSE)
    schema, table = learn_schema(X)
    assert schema.container == "sparse"
    assert schema.kinds == {"x0": "continuous", "x1": "continuous"}
    assert sp.issparse(table.numeric)
    assert table.numeric.toarray().tolist() == DENSE.tolist()
    assert table.codes.shape == (3, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_listed_columns_are_binary_codes(form):
    X = getattr(sp, f"{form}_array")(DENSE)
    schema, table = learn_schema(X, categorical_features=[0, 1])
    assert [column.categories for column in schema.columns] == [(0, 1), (0, 1)]
    assert sp.issparse(table.codes)
    assert table.codes.toarray().tolist() == DENSE.tolist()
    assert table.numeric.shape == (3, 0)


def test_explicit_zeros_are_zeros():
    X = sp.csr_array((np.array([0.0, 1.0]), ([0, 0], [0, 1])), shape=(2, 2))
    _, table = learn_schema(X, categorical_features=[0, 1])
    assert table.block(slice(None)).codes.tolist() == [[0, 1], [0, 0]]


def test_a_cell_stored_in_parts_is_their_sum_and_the_input_stays(refuses):
    parts = sp.csr_array((np.ones(2), np.zeros(2, dtype=int), np.array([0, 2])), shape=(1, 2))
    message = (
        "Column 'x0', row 0 holds 2, but a sparse table of binary columns may only hold 0 and 1. "
        "Binarise it first, e.g. (X > 0)."
    )
    with refuses(ValueError, message):
        learn_schema(parts, categorical_features=[0, 1])
    assert parts.nnz == 2


def test_blocks_are_dense():
    _, table = learn_schema(sp.csr_array(DENSE))
    (block,) = table.blocks()
    assert block.numeric.tolist() == DENSE.tolist()
    assert block.codes.shape == (3, 0)


def test_nan_is_missing():
    _, table = learn_schema(sp.csr_array([[NAN, 0.0], [2.0, 1.0]]))
    np.testing.assert_array_equal(table.numeric.toarray(), [[NAN, 0.0], [2.0, 1.0]])


def test_a_column_of_nan_alone_is_not_observed_and_stays_missing():
    schema, _ = learn_schema(sp.csr_array([[NAN, 0.0], [NAN, 1.0]]))
    assert [column.observed for column in schema.columns] == [False, True]
    table = schema.encode(sp.csr_array([[0.0, 5.0]]))
    np.testing.assert_array_equal(table.numeric, [[NAN, 5.0]])


def test_rows_of_weight_zero_do_not_make_a_column_observed():
    X = sp.csr_array([[NAN, 0.0], [3.0, 1.0]])
    schema, table = learn_schema(X, weight=np.array([1.0, 0.0]))
    assert [column.observed for column in schema.columns] == [False, True]
    assert table.n_rows == 1


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinity_is_refused_by_column_and_row(infinite, refuses):
    message = (
        f"Column 'x1', row 1 is infinity ({infinite}). Write a missing value as NaN, or clip the "
        "column."
    )
    with refuses(ValueError, message):
        learn_schema(sp.csr_array([[NAN, 0.0], [3.0, infinite]]))


def test_binary_columns_refuse_other_numbers(refuses):
    message = (
        "Column 'x0', row 1 holds 2, but a sparse table of binary columns may only hold 0 and 1. "
        "Binarise it first, e.g. (X > 0)."
    )
    with refuses(ValueError, message):
        learn_schema(sp.csr_array(DENSE * [2, 1]), categorical_features=[0, 1])


def test_binary_columns_refuse_holes(refuses):
    message = (
        "Column 'x1', row 2 holds nan, but a sparse table of binary columns may only hold 0 and 1. "
        "Pass a dense table."
    )
    with refuses(ValueError, message):
        learn_schema(sp.csr_array([[0, 1], [1, 0], [0, NAN]]), categorical_features=[0, 1])


def test_some_columns_listed_is_refused(refuses):
    message = (
        "A sparse table must be all continuous or all binary, but categorical_features lists 1 of "
        "its 2 columns. List all or none of them, or pass a dense table."
    )
    with refuses(ValueError, message):
        learn_schema(sp.csr_array(DENSE), categorical_features=[1])


@pytest.mark.parametrize(("shape", "what"), [((0, 2), "0 sample(s)"), ((2, 0), "0 feature(s)")])
def test_an_empty_table_is_refused(shape, what, refuses):
    message = (
        f"Found array with {what} (shape={shape}) while a minimum of 1 is required by model: the "
        "table is empty. Check the filter or join that made it."
    )
    with refuses(ValueError, message):
        learn_schema(sp.csr_array(shape))


@pytest.mark.parametrize("declared", [None, [0, 1]])
def test_a_dense_table_is_coded_by_a_sparse_schema(declared):
    schema, _ = learn_schema(sp.csr_array(DENSE), categorical_features=declared)
    block = schema.encode(DENSE).block(slice(None))
    assert np.hstack([block.numeric, block.codes]).tolist() == DENSE.tolist()


def test_a_sparse_table_is_coded_by_the_schema_of_a_dense_one():
    X = np.array([[1.0, 2.5], [2.0, 3.5], [3.0, 4.5]])
    schema, _ = learn_schema(X, categorical_features=[0])
    table = schema.encode(sp.csr_array([[3.0, 0.0], [0.0, 9.5]]))
    assert table.codes.tolist() == [[2], [-1]]
    assert table.numeric.tolist() == [[0.0], [9.5]]


def test_codes_of_other_categories_are_not_the_numbers_themselves():
    schema, _ = learn_schema(np.array([[1, 2], [2, 3]]), categorical_features=[0, 1])
    assert schema.encode(sp.csr_array([[1, 0]])).codes.tolist() == [[0, -1]]


def test_build_table_is_dense():
    for declared in (None, [0, 1]):
        schema, table = learn_schema(sp.csr_array(DENSE), categorical_features=declared)
        assert build_table(schema, table).tolist() == DENSE.tolist()


def test_fill_missing_is_refused(refuses):
    schema, table = learn_schema(sp.csr_array(DENSE))
    with refuses(TypeError, "complete needs a dense table. Pass X.toarray()."):
        fill_missing(sp.csr_array(DENSE), schema, table, owner="model")
