"""Rules that hold for every table with holes, whatever container it comes in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latentclass.data import Table, encode_labels, learn_schema
from latentclass.data._read import distinct_text
from latentclass.data._write import build_table, fill_missing

NUMBERS = st.integers(-1000, 1000).map(float) | st.floats(-1e6, 1e6)
LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
CELLS = {
    "number": NUMBERS,
    "listed": st.integers(-3, 3).map(float),
    "text": LABELS,
    "bool": st.booleans(),
}


@pytest.fixture(autouse=True, scope="module")
def character_table():
    """Make hypothesis' table of all characters before a test draws: a new clone has none yet."""
    LABELS.validate()


@st.composite
def tables(draw):
    """Columns as name -> (sort, cells); None is missing. Every column has a value."""
    n_rows = draw(st.integers(1, 8))
    sorts = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    columns = {}
    for j, sort in enumerate(sorts):
        cells = st.lists(st.none() | CELLS[sort], min_size=n_rows, max_size=n_rows)
        columns[f"x{j}"] = (sort, draw(cells.filter(lambda c: any(v is not None for v in c))))
    return columns


def in_numpy(columns):
    return np.array([cells for _, cells in columns.values()], dtype=object).T


def in_pandas(columns):
    return pd.DataFrame({name: cells for name, (_, cells) in columns.items()})


def in_polars(columns):
    return pl.DataFrame({name: cells for name, (_, cells) in columns.items()})


def in_pyarrow(columns):
    return pa.table({name: cells for name, (_, cells) in columns.items()})


def in_categories(columns):
    """Text as category type."""
    frame = in_pandas(columns)
    return frame.astype({name: "category" for name, (sort, _) in columns.items() if sort == "text"})


CONTAINERS = [in_numpy, in_pandas, in_polars, in_pyarrow, in_categories]


def declared(columns):
    return [name for name, (sort, _) in columns.items() if sort != "number"]


def learn(make, columns):
    return learn_schema(make(columns), categorical_features=declared(columns))


def assert_same(one, other):
    np.testing.assert_array_equal(one.numeric, other.numeric)
    np.testing.assert_array_equal(one.codes, other.codes)


@given(tables())
def test_all_containers_give_the_same_schema_and_codes(columns):
    (first, first_table), *others = [learn(make, columns) for make in CONTAINERS]
    for schema, table in others:
        assert schema.kinds == first.kinds
        assert [c.categories for c in schema.columns] == [c.categories for c in first.columns]
        assert_same(table, first_table)


@given(tables())
def test_categories_are_the_distinct_cells_and_codes_point_to_them(columns):
    schema, table = learn(in_polars, columns)
    for place, j in enumerate(schema.discrete):
        sort, cells = columns[schema.names[j]]
        expected = {False, True} if sort == "bool" else set(cells) - {None}
        assert list(schema.columns[j].categories) == sorted(expected)
        levels = [*schema.columns[j].categories, None]
        assert [levels[code] for code in table.codes[:, place]] == cells
    for place, j in enumerate(schema.continuous):
        cells = [np.nan if cell is None else cell for cell in columns[schema.names[j]][1]]
        np.testing.assert_array_equal(table.numeric[:, place], cells)


@given(tables())
def test_coding_the_training_table_again_gives_the_same(columns):
    for make in CONTAINERS:
        schema, table = learn(make, columns)
        assert_same(schema.encode(make(columns), handle_unknown="error"), table)


@given(tables(), st.data())
def test_permuting_rows_permutes_codes(columns, data):
    schema, table = learn(in_pandas, columns)
    order = data.draw(st.permutations(range(table.n_rows)))
    moved = {name: (sort, [cells[i] for i in order]) for name, (sort, cells) in columns.items()}
    for make in CONTAINERS:
        other, coded = learn(make, moved)
        assert other.kinds == schema.kinds
        assert_same(coded, table.take(np.array(order)))


@given(tables())
def test_building_and_coding_gives_the_codes_back(columns):
    for make in CONTAINERS:
        schema, table = learn(make, columns)
        assert_same(schema.encode(build_table(schema, table), handle_unknown="error"), table)


@given(tables(), st.data())
def test_filling_changes_the_missing_cells_alone(columns, data):
    schema, table = learn(in_numpy, columns)
    codes = np.array(
        [[data.draw(st.integers(0, n - 1)) for n in schema.n_levels] for _ in range(table.n_rows)]
    )
    filled = Table(
        np.full(table.numeric.shape, 0.25),
        codes.reshape(table.codes.shape).astype(np.int32),
    )
    expected = Table(
        np.where(np.isnan(table.numeric), filled.numeric, table.numeric),
        np.where(table.codes < 0, filled.codes, table.codes),
    )
    for make in CONTAINERS:
        schema, _ = learn(make, columns)
        X = make(columns)
        out = fill_missing(X, schema, filled, owner="model")
        assert type(out) is type(X)
        assert_same(schema.encode(out, handle_unknown="error"), expected)
        assert_same(schema.encode(X), table)


@given(st.lists(st.none() | LABELS, min_size=1, max_size=10).filter(any))
def test_labels_are_the_same_from_all_containers(y):
    expected = sorted({label for label in y if label is not None})
    for given_y in (
        y,
        np.array(y, dtype=object),
        pd.Series(y),
        pd.Series(y, dtype="category"),
        pl.Series(y),
        pa.chunked_array([y]),
    ):
        classes, codes = encode_labels(given_y)
        assert classes.tolist() == expected
        assert [None if code < 0 else expected[code] for code in codes] == y


@given(st.lists(LABELS, min_size=1, max_size=12), st.booleans())
def test_text_of_fixed_width_is_coded_as_objects_are(cells, collide):
    """Also where different text has the same hash."""
    fixed = np.array(cells)
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr("latentclass.data._read.HASH_STEP", np.uint64(0))
        labels, codes = distinct_text(fixed)
    assert labels == sorted(set(cells))
    assert [labels[code] for code in codes] == cells
    others, other_codes = distinct_text(np.array(cells, dtype=object))
    assert others == labels
    assert other_codes.tolist() == codes.tolist()
    assert all(type(label) is str for label in labels + others)
    schema, table = learn_schema(fixed[:, None])
    assert schema.columns[0].categories == tuple(labels)
    assert table.codes[:, 0].tolist() == codes.tolist()


@pytest.mark.parametrize("n_rows", [0, 5, 1000])
def test_ranges_are_those_of_each_column(n_rows):
    numeric = np.random.default_rng(0).normal(size=(n_rows, 3))
    numeric[: n_rows // 2, 0] = np.nan
    numeric[:, 2] = np.nan
    low, high = Table(numeric, np.empty((n_rows, 0), dtype=np.int32)).ranges
    for j in range(3):
        known = numeric[~np.isnan(numeric[:, j]), j]
        expected = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
        np.testing.assert_array_equal((low[j], high[j]), expected)
