"""From table rows to codes of discrete columns, and how numbers spread inside bins."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from latentclass.data._schema import learn_schema
from latentclass.discrete._bins import learn_bins
from latentclass.discrete._coding import code_rows, learn_coding


@pytest.fixture
def training():
    """A number with one cut, a word, a constant, a number without cut, a number of two values."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    y[::7] = -1
    X = pd.DataFrame(
        {
            "size": rng.normal(4.0 * np.repeat([0, 1], 30)),
            "word": rng.choice(["a", "b", None], 60),
            "same": ["x"] * 60,
            "noise": rng.normal(size=60),
            "two": rng.choice([1.0, 2.0], 60),
        }
    )
    schema, table = learn_schema(X, categorical_features="from_dtype")
    weight = rng.choice([1.0, 2.0], 60)
    return X, schema, table, y, weight


def test_columns_of_one_level_are_left_out(training):
    _, schema, table, y, weight = training
    coding = learn_coding(schema, table, y, weight, 2)
    assert [schema.names[j] for j in coding.positions] == ["size", "word", "two"]
    assert coding.n_levels == (2, 2, 2)
    assert len(coding.bins[1].cuts) == 0
    assert coding.bins[2].cuts.tolist() == [1.5]


def test_codes_are_bins_and_categories(training):
    X, schema, table, y, weight = training
    coding = learn_coding(schema, table, y, weight, 2)
    codes = coding.encode(table.block(slice(None)))
    assert np.array_equal(codes[:, 0], X["size"] > coding.bins[0].cuts[0])
    words = X["word"].map({"a": 0, "b": 1}).fillna(-1)
    assert np.array_equal(codes[:, 1], words)
    assert np.array_equal(codes[:, 2], X["two"] == 2.0)


def test_rows_are_parted_by_label_and_keep_their_weights(training):
    _, schema, table, y, weight = training
    coding = learn_coding(schema, table, y, weight, 2)
    rows = code_rows(coding, table, y, weight, 2)
    codes = coding.encode(table.block(slice(None)))
    assert np.array_equal(rows.codes, codes[y >= 0])
    assert np.array_equal(rows.unlabelled, codes[y < 0])
    assert rows.weight.sum() + rows.unlabelled_weight.sum() == weight.sum()


@pytest.mark.parametrize("cuts", [[], [0.3], [-0.5, 0.1, 0.9]])
def test_the_density_inside_each_bin_integrates_to_one(cuts):
    values = np.random.default_rng(1).normal(size=80)
    bins = learn_bins(values, np.ones(80), np.array(cuts))
    grid = np.linspace(-12, 12, 240_001)
    codes = bins.codes(grid)
    density = np.exp(bins.log_density(grid, codes))
    for code in range(bins.n_levels):
        assert_allclose(density[codes == code].sum() * (grid[1] - grid[0]), 1.0, atol=1e-3)
    assert bins.log_density(np.array([np.nan]), np.array([-1], dtype=np.int32)).tolist() == [0.0]


def test_weights_count_like_copies_of_a_value():
    values, cuts = np.array([-3.0, -1.0, 0.5, 2.0, 5.0]), np.array([0.0, 1.0])
    weight = np.array([1.0, 3.0, 1.0, 2.0, 1.0])
    ours = learn_bins(values, weight, cuts)
    copies = learn_bins(np.repeat(values, weight.astype(int)), np.ones(8), cuts)
    assert_allclose(ours.scale, copies.scale)
    assert_allclose(ours.mean, copies.mean)
