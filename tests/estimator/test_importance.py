"""Importance of columns over many rows."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.datasets import load_dataset
from plain import NaiveBayes


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris", container="pandas")


@pytest.fixture(scope="module")
def model(iris):
    return NaiveBayes().fit(iris.X, iris.y)


def test_values_are_means_of_the_explanations(iris, model):
    found = model.importance(iris.X)
    told = model.explain(iris.X)
    assert_allclose(found.values, np.abs(told.weights).mean(axis=0))
    for k, label in enumerate(model.classes_):
        assert_allclose(found.by_class[k], told.weights[told.target == label].mean(axis=0))
    assert found.feature_names == list(iris.X)
    assert (found.n_rows, found.n_given) == (150, 150)


def test_the_class_to_explain_can_be_given(iris, model):
    found = model.importance(iris.X, y=iris.y)
    told = model.explain(iris.X, y=iris.y)
    assert_allclose(found.values, np.abs(told.weights).mean(axis=0))
    one = model.importance(iris.X, y=model.classes_[0])
    assert np.isnan(one.by_class[1:]).all()
    assert "-" in str(one).splitlines()[2].split()


def test_many_rows_are_drawn_from(iris, model):
    found = model.importance(iris.X, max_rows=40)
    assert (found.n_rows, found.n_given) == (40, 150)
    assert str(found).startswith(
        "Mean absolute weight of evidence over 40 of 150 rows, drawn at random\n"
    )
    assert_array_equal(model.importance(iris.X, max_rows=40).values, found.values)
    other = model.importance(iris.X, max_rows=40, random_state=1)
    assert not np.array_equal(other.values, found.values)
    # with labels of some rows, those of the same rows
    labelled = model.importance(iris.X, y=model.predict(iris.X), max_rows=40)
    assert_allclose(labelled.values, found.values)
    with pytest.raises(ValueError, match=re.escape("max_rows=0 must be a whole number of at lea")):
        model.importance(iris.X, max_rows=0)


def test_tables_begin_with_the_most_important_column(iris, model):
    found = model.importance(iris.X)
    order = np.argsort(-found.values)
    frame = found.to_frame()
    expected = pd.DataFrame(
        np.column_stack([found.values, found.by_class.T])[order],
        index=np.array(found.feature_names)[order],
        columns=["importance", *model.classes_],
    )
    pd.testing.assert_frame_equal(frame, expected)
    lines = str(found).splitlines()
    assert lines[0] == "Mean absolute weight of evidence over 150 rows"
    assert lines[1].split()[:2] == ["column", "importance"]
    assert lines[1].endswith("  ".join(f"for {label}" for label in model.classes_))
    assert [line.split()[0] for line in lines[2:]] == list(frame.index)


def test_html_is_escaped_and_few_columns_are_shown():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 25)), columns=["<b>", *(f"x{j}" for j in range(24))])
    X["<b>"] += 9 * (np.arange(60) % 2)
    found = NaiveBayes().fit(X, np.array(["<i>", "b"])[np.arange(60) % 2]).importance(X)
    html = found._repr_html_()
    assert "<td>&lt;b&gt;</td>" in html
    assert "<th>for &lt;i&gt;</th>" in html
    assert html.count("<tr>") == 21
    assert "; 5 weaker columns are not shown" in html
    assert len(found.to_frame()) == 25
