"""Columns that are matched by name, rows as dicts, and single rows."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from latentclass import LatentMixture
from latentclass.baselines import NaiveBayes
from latentclass.data import learn_schema
from latentclass.data._match import are_numbered, match_columns, rename_hint, some
from latentclass.data._read import read_raw

NAN = np.nan


@pytest.fixture
def pets():
    return pd.DataFrame(
        {"weight": [4.1, 30.0, 5.2, 28.0], "coat": ["short", "long", "short", "wire"]}
    ), ["cat", "dog", "cat", "dog"]


@pytest.fixture
def model(pets):
    return NaiveBayes().fit(*pets)


def messages(caught):
    return [str(one.message) for one in caught]


class TestNumberedNames:
    @pytest.mark.parametrize(
        "names",
        [["x0", "x1"], ["V1", "V2", "V3"], ["0", "1"], ["col_00", "col_01"], ["a b 1", "a b 2"]],
    )
    def test_a_stem_and_a_count_is_a_number(self, names):
        assert are_numbered(names)

    @pytest.mark.parametrize(
        "names",
        [
            ["x0"],  # one column has no order
            ["x0", "y1"],
            ["x0", "x2"],
            ["x1", "x0"],
            ["2019", "2020"],
            ["q5", "q6"],
            ["x0", "x"],
            ["weight", "coat"],
        ],
    )
    def test_anything_else_is_a_name(self, names):
        assert not are_numbered(names)

    def test_numbered_columns_must_be_the_same_in_the_same_order(self):
        X = pd.DataFrame(np.eye(4)[:, :3], columns=["x0", "x1", "x2"])
        fitted = NaiveBayes().fit(X, [0, 0, 1, 1])
        remedy = "Select the columns of fit in their order: X[model.feature_names_in_]."
        for other in (X[["x2", "x1", "x0"]], X[["x0", "x1"]], X.assign(x3=1.0)):
            with pytest.raises(ValueError, match=r"^The feature names should match ") as caught:
                fitted.predict(other)
            assert str(caught.value).endswith("\n" + remedy)


class TestByName:
    def test_nothing_in_common_is_an_error(self, model):
        with pytest.raises(ValueError, match=r"^The feature names should match") as caught:
            model.predict(pd.DataFrame({"age": [1], "kind": ["a"]}))
        assert "- coat\n- weight\n" in str(caught.value)

    def test_a_renamed_column_is_asked_about(self, model, pets):
        with pytest.warns(UserWarning, match="columns") as caught:
            model.predict(pets[0].rename(columns={"weight": "Weight_kg"}))
        assert messages(caught) == [
            "X lacks 1 of the 2 columns seen in fit: ['weight']; it counts as missing. Did you "
            "mean to rename 'Weight_kg' to 'weight'?",
            "NaiveBayes has not seen 1 of the columns of X in fit: ['Weight_kg']; it is ignored.",
        ]

    def test_several_columns_are_named_in_one_warning(self, pets):
        X = pets[0].assign(age=1, toes=18)
        fitted = NaiveBayes().fit(X, pets[1])
        with pytest.warns(UserWarning, match="columns") as caught:
            fitted.predict(X[["coat"]].assign(a=1, b=2))
        assert messages(caught) == [
            "X lacks 3 of the 4 columns seen in fit: ['weight', 'age', 'toes']; they count as "
            "missing.",
            "NaiveBayes has not seen 2 of the columns of X in fit: ['a', 'b']; they are ignored.",
        ]

    @pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
    def test_all_data_frames(self, model, pets, convert):
        X = convert(pets[0][["coat", "weight"]])
        expected = model.predict_proba(pets[0])
        assert model.predict_proba(X).tolist() == expected.tolist()

    def test_tables_of_numbers_only(self):
        X = pd.DataFrame({"a": [0.0, 1.0, 5.0, 6.0], "b": [1.0, NAN, 2.0, 2.5]})
        fitted = NaiveBayes().fit(X, [0, 0, 1, 1])
        assert fitted.predict_proba(X[["b", "a"]]).tolist() == fitted.predict_proba(X).tolist()
        with pytest.warns(UserWarning, match="it counts as missing"):
            found = fitted.predict_proba(X[["b"]])
        assert found.tolist() == fitted.predict_proba(X.assign(a=NAN)).tolist()

    def test_names_that_are_not_text(self):
        X = pd.DataFrame({2019: [0.0, 1.0, 5.0], 2020: [1.0, 2.0, 2.5]})
        fitted = NaiveBayes().fit(X, [0, 0, 1])
        assert fitted.predict_proba(X[[2020, 2019]]).tolist() == fitted.predict_proba(X).tolist()

    def test_a_mixture_too(self, pets):
        X, _ = pets
        fitted = LatentMixture(random_state=0).fit(X)
        assert fitted.score_samples(X[["coat", "weight"]]).tolist() == (
            fitted.score_samples(X).tolist()
        )
        with pytest.warns(UserWarning, match="it counts as missing"):
            fitted.predict(X[["coat"]])

    def test_an_array_has_no_names_to_match(self, model):
        with pytest.warns(UserWarning, match="^X does not have valid feature names, but Naive"):
            model.predict(np.array([[4.0, "short"]], dtype=object))
        with (
            warnings.catch_warnings(action="ignore"),
            pytest.raises(ValueError, match=r"^X has 1 features, but NaiveBayes is expecting 2"),
        ):
            model.predict([[4.0]])

    def test_a_bad_option_is_named(self, pets):
        with pytest.raises(ValueError, match="columns") as caught:
            NaiveBayes(columns="any").fit(*pets)
        assert str(caught.value) == "columns='any' must be one of 'by_name', 'strict'."

    def test_words(self):
        assert some(list("abcdefghijkl")) == (
            "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', ...]"
        )
        assert rename_hint(["Size"], ["town"]) == ""

    def test_a_raw_table(self):
        raw = read_raw(pd.DataFrame({"b": ["x", None], "a": [1.0, 2.0]}), owner="model")
        with pytest.warns(UserWarning, match="X lacks 1 of the 3 columns"):
            found = match_columns(raw, ["a", "c", "b"], owner="model")
        assert found.names == ["a", "c", "b"]
        assert_array_equal(found.read_column(0).values, [1.0, 2.0])
        assert_array_equal(found.read_column(1).codes, [-1, -1])
        assert found.read_column(2).labels == ["x"]


class TestDicts:
    def test_names_come_from_the_keys_in_their_order(self):
        rows = [{"size": 1.5, "town": "Oslo"}, {"town": "Rome", "old": True}]
        schema, table = learn_schema(rows)
        assert schema.kinds == {"size": "continuous", "town": "binary", "old": "binary"}
        assert_array_equal(table.numeric, [[1.5], [NAN]])
        assert_array_equal(table.codes, [[0, -1], [1, 1]])

    def test_a_model_of_dicts_gives_dicts(self):
        rows = [{"size": 1.5, "town": "Oslo"}, {"town": "Rome"}, {"size": 2.0, "town": "Rome"}]
        fitted = NaiveBayes(random_state=0).fit(rows, [0, 1, 1])
        assert fitted.feature_names_in_.tolist() == ["size", "town"]
        assert fitted.n_features_in_ == 2
        drawn, labels = fitted.sample(3)
        assert [list(row) for row in drawn] == [["size", "town"]] * 3
        assert len(labels) == 3
        completed = fitted.complete(rows)
        assert completed[0] == rows[0]
        assert list(completed[1]) == ["town", "size"]
        assert 1.5 < completed[1]["size"] < 2.1
        assert rows[1] == {"town": "Rome"}  # as it was
        chances = fitted.complete(rows, how="probability")
        assert chances[0] == {"size": 1.5, "town": 0.0}

    def test_they_stand_for_a_data_frame(self, model):
        rows = [{"coat": "short"}, {"weight": 30.0, "coat": "wire"}]
        frame = pd.DataFrame({"weight": [NAN, 30.0], "coat": ["short", "wire"]})
        assert model.predict_proba(rows).tolist() == model.predict_proba(frame).tolist()

    def test_they_are_matched_with_the_names_of_an_array(self):
        fitted = NaiveBayes().fit([[1.0, 5.0], [2.0, 7.0], [3.0, 6.0]], [0, 0, 1])
        assert_array_equal(fitted.predict_proba([{"x1": 5.0}]), fitted.predict_proba([[NAN, 5.0]]))

    def test_an_empty_one_has_nothing_observed(self, model):
        assert_array_equal(model.predict_proba([{}]), [model.class_prior_])

    def test_an_unknown_key_is_said(self, model):
        with pytest.warns(UserWarning, match="columns") as caught:
            model.predict([{"weigth": 4.0, "coat": "short"}])
        assert messages(caught) == [
            "NaiveBayes has not seen 1 of the columns of X in fit: ['weigth']; it is ignored. Did "
            "you mean to rename 'weigth' to 'weight'?"
        ]

    def test_no_known_key_is_an_error(self, model):
        with pytest.raises(ValueError, match="none") as caught:
            model.predict([{"age": 1}])
        assert str(caught.value) == (
            "X has none of the 2 columns seen in fit: ['weight', 'coat']. Its own are ['age']."
        )

    def test_a_single_dict_is_refused(self, model):
        with pytest.raises(TypeError) as caught:
            model.predict({"weight": 4.0})
        assert str(caught.value) == (
            "X is a dict, not a table. Wrap it in a list if it is one row: [X]. Convert it if it "
            "holds columns: pandas.DataFrame(X)."
        )

    def test_rows_of_another_kind_are_named(self, model):
        with pytest.raises(TypeError) as caught:
            model.predict([{"weight": 4.0}, [4.0, "short"]])
        assert str(caught.value) == (
            "Row 1 of X is of type list, but other rows are dicts. Pass all rows as dicts, or all "
            "as lists."
        )

    def test_a_fit_needs_a_key(self):
        with pytest.raises(ValueError, match=r"^Found array with 0 feature\(s\) \(shape=\(2, 0\)"):
            NaiveBayes().fit([{}, {}], [0, 1])

    def test_keys_that_read_the_same_are_refused(self):
        with pytest.raises(ValueError, match=r"Column names must differ, but \['1'\] occur more"):
            NaiveBayes().fit([{1: 0.5, "1": 0.25}], [0])


class TestRecordBatch:
    def test_it_keeps_its_names(self, pets, model):
        X, y = pets
        batch = pa.RecordBatch.from_pandas(X)
        fitted = NaiveBayes().fit(batch, y)
        assert fitted.feature_names_in_.tolist() == ["weight", "coat"]
        assert fitted.schema_.container == "pyarrow"
        assert fitted.predict_proba(batch).tolist() == model.predict_proba(X).tolist()

    def test_complete_gives_one_back(self, model):
        batch = pa.RecordBatch.from_pydict({"coat": ["short", None], "weight": [4.0, 30.0]})
        found = model.complete(batch)
        assert isinstance(found, pa.RecordBatch)
        assert found.to_pydict() == {"coat": ["short", "short"], "weight": [4.0, 30.0]}
        assert isinstance(model.complete(batch, how="probability"), pa.RecordBatch)


N = 130
RNG = np.random.default_rng(0)
TEXT = RNG.choice(["a", "b", "c"], N).astype(object)
HOLES = RNG.random(N) < 0.2
PANDAS = {
    "float64": pd.Series(np.where(HOLES, NAN, RNG.normal(size=N))),
    "float32": pd.Series(RNG.normal(size=N).astype(np.float32)),
    "int8": pd.Series(RNG.integers(-9, 9, N).astype(np.int8)),
    "uint64": pd.Series(RNG.integers(0, 2**62, N).astype(np.uint64)),
    "bool": pd.Series(RNG.random(N) < 0.5),
    "object": pd.Series(np.where(HOLES, None, TEXT)),
    "objects": pd.Series([Decimal(3), 4, 5.5, None, np.int64(7)] * (N // 5), dtype=object),
    "flags": pd.Series(np.where(HOLES, None, RNG.random(N) < 0.5), dtype=object),
    "nothing": pd.Series([NAN] * N),
    "string": pd.Series(np.where(HOLES, pd.NA, TEXT), dtype="string"),
    "category": pd.Series(pd.Categorical(np.where(HOLES, None, TEXT))),
    "counted": pd.Series(pd.Categorical(RNG.integers(0, 4, N))),
    "Int64": pd.Series(np.where(HOLES, pd.NA, RNG.integers(0, 9, N)), dtype="Int64"),
    "Float64": pd.Series(np.where(HOLES, pd.NA, RNG.normal(size=N)), dtype="Float64"),
    "boolean": pd.Series(np.where(HOLES, pd.NA, RNG.random(N) < 0.5), dtype="boolean"),
    "arrow": pd.Series(np.where(HOLES, None, TEXT), dtype=pd.ArrowDtype(pa.string())),
    "arrow_int": pd.Series(RNG.integers(0, 9, N), dtype=pd.ArrowDtype(pa.int64())),
    "shared": pd.Series(["x", "y"] * (N // 2)),
}
POLARS = {
    "float64": pl.Series([None if hole else float(i) for i, hole in enumerate(HOLES)]),
    "int16": pl.Series(RNG.integers(0, 9, N).tolist(), dtype=pl.Int16),
    "bool": pl.Series([None if hole else bool(i % 3) for i, hole in enumerate(HOLES)]),
    "text": pl.Series([None if h else t for h, t in zip(HOLES, TEXT, strict=True)]),
    "category": pl.Series(TEXT.tolist(), dtype=pl.Categorical),
    "enum": pl.Series(TEXT.tolist(), dtype=pl.Enum(["c", "b", "a"])),
    "decimal": pl.Series([Decimal(i) for i in range(N)], dtype=pl.Decimal(10, 2)),
    "nothing": pl.Series([None] * N),
}


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame(PANDAS), pl.DataFrame(POLARS), pa.table(pl.DataFrame(POLARS).to_arrow())],
    ids=["pandas", "polars", "arrow"],
)
def test_rows_read_alone_are_read_as_among_others(frame):
    """A few rows take another way through the reader."""
    schema, whole = learn_schema(frame)
    for i in range(0, N, 7):
        row = frame[i : i + 1] if not isinstance(frame, pa.Table) else frame.slice(i, 1)
        alone = schema.encode(row, handle_unknown="error")
        assert_array_equal(alone.numeric, whole.numeric[[i]])
        assert_array_equal(alone.codes, whole.codes[[i]])


@pytest.mark.parametrize("name", list(PANDAS))
def test_single_columns_of_a_few_rows_have_the_same_schema(name):
    column = PANDAS[name]
    part = pd.DataFrame({"a": column, "b": "text"})
    many, _ = learn_schema(part)
    few, _ = learn_schema(part.iloc[:60])
    assert few.columns[0].kind == many.columns[0].kind
    assert few.columns[0].categories == many.columns[0].categories
    assert few.columns[0].categorical_dtype == many.columns[0].categorical_dtype


def test_a_date_in_a_few_rows_is_refused_as_in_many():
    words = r"^Column 'when' has type Datetime\(.*\), but only numbers, booleans, text and"
    for n_rows in (1, 200):
        X = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=n_rows), "b": "text"})
        with pytest.raises(TypeError, match=words):
            learn_schema(X)
