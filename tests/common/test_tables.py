"""Tables of all sorts, for every generative classifier."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from rules import proba
from sklearn.base import clone

from estimators import CLASSIFIERS
from latentclass.exceptions import UnseenValueWarning


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_all_data_frames_give_the_same(model, fitted, table, convert):
    X, y = table
    expected, frame = proba(fitted, X), convert(X)
    other = clone(model).fit(frame, y)
    assert other.feature_names_in_.tolist() == list(X.columns)
    assert_allclose(proba(other, frame), expected, rtol=1e-12)
    assert_allclose(proba(fitted, frame), expected, rtol=1e-12)


def test_an_object_array_gives_the_same(model, fitted, table):
    X, y = table
    array = X.astype(object).to_numpy()
    expected = proba(fitted, X)
    assert_allclose(proba(clone(model).fit(array, y), array), expected, rtol=1e-12)


def test_memory_layout_and_precision_do_not_matter(model):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)).astype(np.float32).astype(float), rng.integers(0, 2, 60)
    expected = proba(clone(model).fit(X, y), X)
    locked = X.copy()
    locked.flags.writeable = False
    for other in (np.asfortranarray(X), X[::-1][::-1], locked, X.astype(np.float32), X.tolist()):
        assert_allclose(proba(clone(model).fit(other, y), other), expected, rtol=1e-12)


def test_input_is_left_as_it_was(model, table):
    X, y = table
    before = X.copy()
    fitted = model.fit(X, y)
    fitted.predict(X)
    fitted.complete(X)
    fitted.explain(X.iloc[:5])
    pd.testing.assert_frame_equal(X, before)


def test_columns_are_found_by_name(fitted, table):
    X, _ = table
    assert proba(fitted, X[X.columns[::-1]]).tolist() == proba(fitted, X).tolist()
    shuffled = X[X.columns[[2, 0, 4, 1, 3]]]
    pd.testing.assert_frame_equal(fitted.complete(shuffled), fitted.complete(X)[shuffled.columns])


def test_a_lacking_column_counts_as_missing_with_a_warning(fitted, table):
    X, _ = table
    words = "X lacks 1 of the 5 columns seen in fit: ['town']; it counts as missing."
    with pytest.warns(UserWarning, match="columns") as caught:
        found = proba(fitted, X.drop(columns="town"))
    assert [str(one.message) for one in caught] == [words]
    assert found.tolist() == proba(fitted, X.assign(town=None)).tolist()
    with pytest.warns(UserWarning, match="X lacks"):
        completed = fitted.complete(X.drop(columns="town"))
    assert completed.columns.tolist() == ["height", "weight", "happy", "band"]
    assert completed.notna().all(axis=None)


def test_an_extra_column_is_ignored_with_a_warning(fitted, table):
    X, _ = table
    more = X.assign(age=3)
    name = type(fitted).__name__
    with pytest.warns(UserWarning, match="columns") as caught:
        found = proba(fitted, more)
    assert [str(one.message) for one in caught] == [
        f"{name} has not seen 1 of the columns of X in fit: ['age']; it is ignored."
    ]
    assert found.tolist() == proba(fitted, X).tolist()
    with pytest.warns(UserWarning, match="it is ignored"):
        completed = fitted.complete(more)
    pd.testing.assert_frame_equal(completed, fitted.complete(X).assign(age=3))


def test_strict_columns_are_those_of_fit_in_their_order(fitted, table):
    X, _ = table
    strict = fitted.set_params(columns="strict")
    remedy = r"must be in the same order .*\n.*X\[model.feature_names_in_\]"
    with pytest.raises(ValueError, match=remedy):
        strict.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- tall\n.*missing:\n- height\nSel"):
        strict.predict(X.rename(columns={"height": "tall"}))
    assert proba(strict, X).shape == (80, 3)


def test_rows_may_be_dicts(fitted, table):
    X, _ = table
    rows = X.iloc[:9]
    dicts = [row.dropna().to_dict() for _, row in rows.iterrows()]  # absent keys are missing
    assert_allclose(proba(fitted, dicts), proba(fitted, rows), rtol=1e-12)
    assert fitted.explain(dicts).feature_names == list(X.columns)
    completed, expected = fitted.complete(dicts), fitted.complete(rows)
    assert [[row[name] for name in X] for row in completed] == expected.to_numpy().tolist()


def test_unknown_categories_are_missing_or_refused(model, fitted, table):
    X, y = table
    told = f"^town: {len(X)} cells hold values that the model has not seen, such as 'Paris'; they "
    with pytest.warns(UnseenValueWarning, match=f"{told}count as missing.$"):
        unknown = proba(fitted, X.assign(town="Paris"))
    assert_allclose(unknown, proba(fitted, X.assign(town=None)), rtol=1e-12)
    strict = clone(model).set_params(handle_unknown="error").fit(X, y)
    words = (
        r"Row 0, column 'town' holds 'Paris', which was not seen in fit \(categories: 'Oslo', "
        r"'Rome'\). "
        r'Use handle_unknown="missing" to treat it as missing.'
    )
    with pytest.raises(ValueError, match=words):
        strict.predict(X.assign(town="Paris"))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_are_named(model, table, value):
    X, y = table
    X.loc[17, "weight"] = value
    with pytest.raises(ValueError, match="Column 'weight', row 17 is infinity"):
        model.fit(X, y)


def test_text_in_a_continuous_column_is_named(fitted, table):
    X, _ = table
    X["height"] = X["height"].astype(object)
    X.loc[5, "height"] = "tall"
    with pytest.raises(ValueError, match=r"Column 'height' mixes .*row 5 holds 'tall'"):
        fitted.predict(X)


def test_duplicate_names_are_refused(model, table):
    X, y = table
    X.columns = ["height", "height", *X.columns[2:]]
    with pytest.raises(ValueError, match=r"Column names must differ, but \['height'\] occur more"):
        model.fit(X, y)


cells = st.one_of(st.floats(-1e6, 1e6, width=32), st.just(np.nan))


@given(
    numbers=arrays(float, (12, 3), elements=cells),
    words=arrays(object, (12, 2), elements=st.sampled_from(["a", "b", "c", None])),
    y=st.lists(st.sampled_from(["p", "q", None]), min_size=12, max_size=12),
)
@settings(max_examples=10)
@pytest.mark.parametrize("prototype", CLASSIFIERS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings(
    "ignore:Columns .* have no value",
    "ignore:EM was stopped",
    "ignore:y has a single class",
    "ignore:LCMClassifier.* describes numbers",
    "ignore:The rows without a label moved",
)
def test_any_table_with_holes_gives_probabilities(prototype, numbers, words, y):
    if all(label is None for label in y):
        y[0] = "p"
    X = np.concatenate([numbers.astype(object), words], axis=1)
    fitted = clone(prototype).fit(X, y)
    proba(fitted, X)
    assert np.isfinite(fitted.score_samples(X)).all()
    assert np.isfinite(fitted.explain(X[:3]).weights).all()
    hole = np.full((1, 5), None)
    assert_allclose(proba(fitted, hole)[0], fitted.class_prior_, rtol=1e-9)


def test_identifiers_are_named_once_in_a_warning_and_do_no_harm(model, monkeypatch):
    monkeypatch.setattr("latentclass.data._rare.MANY_VALUES", 30)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"size": rng.normal(y), "town": np.where(rng.random(60) < 0.5, "A", "B")})
    marked = X.assign(key=[f"k{i:02d}" for i in rng.permutation(60)], code=X["size"].astype(str))
    with pytest.warns(UserWarning, match="identif") as caught:
        fitted = model.fit(marked, y)
    assert [str(warning.message) for warning in caught if "identif" in str(warning.message)] == [
        "Columns ['key', 'code'] look like identifiers: more than 90 % of their values differ, so "
        "they say nothing about other rows. Drop them, or, if they hold numbers, convert them to a "
        "numeric type."
    ]
    plain = clone(model).fit(X, y)
    assert_allclose(proba(fitted, marked), proba(plain, X), rtol=1e-9)
    assert set(fitted.sample(9)[0]["key"]) <= set(marked["key"])
    assert fitted.complete(marked.assign(key=None))["key"][0] in set(marked["key"])
