"""Rare values of columns with very many values share one level."""

import numpy as np
import pandas as pd
import pytest

from latentclass.data import _rare as rare_module
from latentclass.data import learn_schema
from latentclass.data._write import build_table, fill_missing

CELLS = ["a"] * 6 + ["b"] * 5 + ["c"] * 4 + ["d"] * 2 + ["e"]


@pytest.fixture(autouse=True)
def four_are_many(monkeypatch):
    monkeypatch.setattr(rare_module, "MANY_VALUES", 4)


def learn(cells, *, weight=None, most_levels=None, **options):
    X = pd.DataFrame({"n": np.arange(len(cells)) / 2, "x": cells})
    weight = np.ones(len(cells)) if weight is None else np.asarray(weight)
    return rare_module.share_rare_level(*learn_schema(X, **options), weight, most_levels)


def test_values_in_fewer_than_five_rows_share_the_last_level():
    schema, table = learn([*CELLS, None])
    column = schema.columns[1]
    assert column.kind == "nominal"
    assert column.categories == ("a", "b", "rare values")
    assert column.rare == ("c", "d", "e")
    np.testing.assert_allclose(column.rare_shares, [4 / 7, 2 / 7, 1 / 7], rtol=1e-12)
    assert table.codes[:, 0].tolist() == [0] * 6 + [1] * 5 + [2] * 7 + [-1]
    assert schema.encode(pd.DataFrame({"n": 0.0, "x": CELLS})).codes[:, 0].tolist() == (
        [0] * 6 + [1] * 5 + [2] * 7
    )


def test_a_column_with_few_values_stays_as_it_is():
    X = pd.DataFrame({"x": CELLS[:-1]})
    schema, table = learn_schema(X)
    again = rare_module.share_rare_level(schema, table, np.ones(len(X)), 2)
    assert again[0] is schema
    assert again[1] is table


def test_the_weight_of_a_value_counts():
    weights = [1.0] * 11 + [1.25] * 4 + [1.0] * 3
    assert learn(CELLS, weight=weights)[0].columns[1].rare == ("d", "e")
    assert learn(CELLS, weight=[0.5] * 18)[0].columns[1].rare == ("a", "b", "c", "d", "e")
    tenths = learn(np.repeat(CELLS, 10), weight=[0.1] * 180)  # ten times 0.1 is not quite 1
    assert tenths[0].columns[1].rare == ("c", "d", "e")


def test_a_limit_of_levels_keeps_the_most_common_values():
    column = learn(CELLS, most_levels=2)[0].columns[1]
    assert column.kind == "binary"
    assert column.categories == ("a", "rare values")
    assert column.rare == ("b", "c", "d", "e")


def test_numbers_as_categories():
    cells = np.array([7.0] * 6 + [1.5] * 5 + [2.0] * 4 + [3.0, 4.0, np.nan])
    schema, table = learn(cells, categorical_features=[1])
    assert schema.columns[1].categories == (1.5, 7, "rare values")
    expected = [1] * 6 + [0] * 5 + [2] * 6 + [-1]
    assert table.codes[:, 0].tolist() == expected
    X = np.column_stack([cells, cells])
    assert schema.encode(X).codes[:, 0].tolist() == expected  # read as one array
    assert build_table(schema, table)["x"].tolist()[:6] == [7.0] * 6


def test_a_rare_value_is_known_and_a_new_one_is_not(refuses):
    schema, _ = learn(CELLS)
    X = pd.DataFrame({"n": [0.0, 0.0], "x": ["e", "rare values"]})
    assert schema.encode(X).codes[:, 0].tolist() == [2, -1]
    message = (
        "Row 1, column 'x' holds 'rare values', which was not seen in fit (categories: 'a', 'b', "
        "'c', 'd', 'e'). Use handle_unknown=\"missing\" to treat it as missing."
    )
    with refuses(ValueError, message):
        schema.encode(X, handle_unknown="error")


def test_samples_have_rare_values_by_their_shares():
    schema, _ = learn(CELLS)
    table = schema.encode(pd.DataFrame({"n": 0.0, "x": ["c"] * 7000 + ["a", None]}))
    drawn = build_table(schema, table, np.random.default_rng(0))["x"].tolist()
    assert drawn[-2] == "a"
    counts = [drawn.count(value) for value in ("c", "d", "e")]
    assert sum(counts) == 7000
    np.testing.assert_allclose(counts, [4000, 2000, 1000], atol=120)


def test_completion_gives_the_most_common_rare_value():
    schema, table = learn(CELLS)
    X = pd.DataFrame({"n": [0.0], "x": [None]})
    assert fill_missing(X, schema, table.take(np.array([17])), owner="model")["x"].tolist() == ["c"]
