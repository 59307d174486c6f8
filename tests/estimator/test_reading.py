"""Reading tables and labels: what it gives, and that it changes nothing in the estimator."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from latentclass import Parts
from latentclass.baselines import NaiveBayes
from latentclass.estimator._reading import (
    TableReader,
    check_weight,
    label_codes,
    read_columns,
    store_fitted,
)


class Reader(TableReader):
    """The least that a reader needs."""

    def __init__(self):
        self.categorical_features = "from_dtype"
        self.handle_unknown = "missing"


@pytest.fixture
def table():
    X = pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0], "town": ["Oslo", "Rome", "Oslo", None]})
    return X, np.array(["b", "a", None, "c"], dtype=object)


class TestTraining:
    def test_rows_of_weight_zero_are_not_there(self, table):
        training = Reader()._read_training(*table, [1.0, 2.0, 3.0, 0.0])
        assert_array_equal(training.y, [1, 0, -1])
        assert_array_equal(training.weight, [1.0, 2.0, 3.0])
        assert_array_equal(training.row_numbers, [0, 1, 2])
        assert training.n_given == 4
        assert training.table.n_rows == 3
        assert training.classes.tolist() == ["a", "b"]  # no row of class c is left

    def test_weights_of_one_are_the_default(self, table):
        training = Reader()._read_training(*table, None)
        assert_array_equal(training.weight, np.ones(4))
        assert_array_equal(training.labelled, [True, True, False, True])
        assert training.n_classes == 3

    @pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True, False])])
    def test_some_rows_keep_schema_and_classes(self, table, rows):
        training = Reader()._read_training(*table, None)
        part = training.take(rows)
        chosen = np.arange(4)[rows]
        assert_array_equal(part.row_numbers, chosen)
        assert_array_equal(part.y, training.y[chosen])
        assert_array_equal(part.table.numeric, training.table.numeric[chosen])
        assert part.schema is training.schema
        assert part.classes is training.classes
        assert part.n_given == 4

    def test_attributes_are_those_that_a_fit_keeps(self, table):
        found = Reader()._read_training(*table, None).attributes()
        assert set(found) == {
            "n_features_in_",
            "feature_names_in_",
            "classes_",
            "schema_",
            "n_unlabelled_",
            "_n_rows",
        }
        assert found["n_unlabelled_"] == 1
        assert found["feature_names_in_"].tolist() == ["size", "town"]

    def test_it_is_frozen(self, table):
        training = Reader()._read_training(*table, None)
        with pytest.raises(FrozenInstanceError):
            training.y = None


class TestReadingIsPure:
    def test_reading_sets_no_attribute(self, table):
        reader = Reader()
        before = dict(vars(reader))
        reader._read_training(*table, None)
        assert vars(reader) == before

    def test_a_second_read_leaves_a_fitted_model_alone(self, table):
        X, y = table
        model = NaiveBayes().fit(X, y)
        before, answer = dict(vars(model)), model.predict_proba(X)
        other = pd.DataFrame({"only": [1.0, 2.0, 3.0]})
        model._read_training(other, ["x", "y", "x"], None)
        assert vars(model) == before
        assert_array_equal(model.predict_proba(X), answer)

    def test_a_refused_table_leaves_a_fitted_model_alone(self, table):
        X, y = table
        model = NaiveBayes().fit(X, y)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"X has 4 rows, y has 3 labels. Pass one label per"):
            model.fit(X, y[:3])
        assert vars(model) == before

    def test_columns_are_read_without_an_estimator(self, table):
        assert read_columns(np.zeros((2, 3))) == {"n_features_in_": 3}
        found = read_columns(table[0])
        assert found["feature_names_in_"].tolist() == ["size", "town"]


class TestStoreFitted:
    def test_it_replaces_what_an_earlier_fit_left(self):
        reader = Reader()
        store_fitted(reader, {"classes_": 1, "only_then_": 2, "_model": "first"})
        store_fitted(reader, {"classes_": 3, "_model": "second"})
        assert vars(reader) == {
            "categorical_features": "from_dtype",
            "handle_unknown": "missing",
            "classes_": 3,
            "_model": "second",
        }

    def test_names_of_an_earlier_table_are_forgotten(self, table):
        X, y = table
        model = NaiveBayes().fit(X, y)
        assert hasattr(model, "feature_names_in_")
        model.fit(np.array([[1.0], [2.0]]), ["a", "b"])
        assert not hasattr(model, "feature_names_in_")


class TestLabels:
    def test_one_label_is_that_of_all_rows(self):
        classes = np.array(["a", "b"])
        assert_array_equal(label_codes("b", classes, 3), [1, 1, 1])
        assert_array_equal(label_codes(["b", "a"], classes, 2), [1, 0])

    def test_what_does_not_fit_is_refused(self):
        classes = np.array(["a", "b"])
        with pytest.raises(ValueError, match=r"^y has 2 labels for 3 rows. Pass a single label or"):
            label_codes(["a", "b"], classes, 3)
        with pytest.raises(ValueError, match=r"^y holds 'c', which is not a class. Classes: \['a'"):
            label_codes(["a", "c"], classes, 2)


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_numbers_that_would_overflow_are_refused(container):
    X = container([[0.0, 0.0, 1.0], [2.0, -3e205, 0.0], [3.0, np.nan, 0.0]])
    with pytest.raises(ValueError, match=r"^Column 'x1' holds numbers beyond 1e\+205, whose sums"):
        Reader()._read_training(X, [0, 1, 1], None)


class TestWeights:
    def test_they_are_copied(self):
        given = np.array([1.0, 2.0])
        assert check_weight(given, 2) is not given
        assert_array_equal(check_weight(3, 2), [3.0, 3.0])

    @pytest.mark.parametrize(
        ("weight", "words"),
        [
            ([1.0], r"^sample_weight.shape == \(1,\), expected \(2,\)"),
            ([1.0, -1.0], r"^sample_weight\[1\] is -1; weights must be finite"),
            ([np.nan, 1.0], r"^sample_weight\[0\] is nan; weights must be finite"),
            ([0.0, 0.0], "^Sample weights are all zero"),
            ([1.0, 1e-200], "^sample_weight goes from 1e-200 to 1"),
            (["a", "b"], "^sample_weight must hold one number per row"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, weight, words):
        with pytest.raises(ValueError, match=words):
            check_weight(weight, 2)


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_column_whose_values_are_all_rare_is_named_in_a_warning(in_parts):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 900)
    town = rng.permutation(np.arange(900) % 300)  # each of 300 values three times
    X = pd.DataFrame({"size": rng.normal(y), "town": [f"t{i}" for i in town]})
    given = (Parts([(X[:450], y[:450]), (X[450:], y[450:])]),) if in_parts else (X, y)
    with pytest.warns(UserWarning, match=r"Columns \['town'\] have more than 256 values, each in"):
        NaiveBayes().fit(*given)
