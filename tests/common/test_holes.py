"""`missing_indicator` of all classifiers, on a table whose holes tell the class."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import latentclass
from latentclass import Parts
from latentclass.baselines import NaiveBayes

FITTED = {}


@pytest.fixture(scope="module")
def holed():
    """300 rows: `income` is missing in 80 % of class "a" and 10 % of "b"; `job` at random."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 300)
    X = pd.DataFrame(
        {
            "age": rng.normal(np.where(y == "a", 0.0, 0.3), 1.0),
            "income": rng.normal(size=300),
            "job": rng.choice(["cook", "clerk", "smith"], 300),
        }
    )
    X.loc[rng.random(300) < np.where(y == "a", 0.8, 0.1), "income"] = np.nan
    X.loc[rng.random(300) < 0.2, "job"] = None
    return X, y


@pytest.fixture
def aware(model, holed):
    """The classifier with `missing_indicator`, fitted to the first 200 rows once."""
    name = type(model).__name__
    if name not in FITTED:
        X, y = holed
        FITTED[name] = clone(model).set_params(missing_indicator=True).fit(X[:200], y[:200])
    return FITTED[name]


def test_holes_that_tell_the_class_are_evidence(aware, holed):
    X, y = holed
    # the true shares of holes give 0.43, and without holes there is little to learn
    blind = clone(aware).set_params(missing_indicator=False).fit(X[:200], y[:200])
    losses = [log_loss(y[200:], one.predict_proba(X[200:])) for one in (blind, aware)]
    assert losses[0] > 0.63
    assert losses[1] < 0.55


def test_explanations_name_the_hole(aware, holed):
    X, _ = holed
    told = aware.explain(X[200:])
    assert told.feature_names == [*X, "income is missing", "job is missing"]
    holes = X["income"][200:].isna().to_numpy()
    weights = told.weights[:, 3] * np.where(told.target == "a", 1, -1)
    assert (weights[holes] > 0).all()
    assert (weights[~holes] < 0).all()
    assert "income is missing = yes" in told.describe(int(np.flatnonzero(holes)[0]))


def test_samples_have_holes_as_the_classes_do(aware):
    X, y = aware.sample(600, random_state=0)
    assert list(X) == ["age", "income", "job"]
    holes = X["income"].isna()
    assert 0.65 < holes[y == "a"].mean() < 0.92
    assert holes[y == "b"].mean() < 0.3
    assert not X["age"].isna().any()


def test_completion_fills_the_holes_and_shows_no_companion(aware, holed):
    X, _ = holed
    for how in ("expected", "most_probable"):
        full = aware.complete(X[200:], how)
        assert list(full) == list(X)
        assert not full.isna().any(axis=None)
    chances = aware.complete(X[200:], "probability")
    assert list(chances) == ["age", "income", "job=clerk", "job=cook", "job=smith"]


def test_a_file_gives_back_the_same_model(aware, holed, tmp_path):
    X, _ = holed
    latentclass.save(aware, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc")
    assert again.schema_ == aware.schema_
    np.testing.assert_array_equal(again.predict_proba(X), aware.predict_proba(X))


def test_a_lacking_column_is_no_evidence(aware, holed):
    X, _ = holed
    with pytest.warns(match="X lacks 1 of the 3 columns seen in fit"):
        found = aware.predict_proba(X[200:].drop(columns="income"))
    hidden = aware.predict_proba(X[200:].assign(income=np.nan))
    assert hidden[:, 0].mean() > found[:, 0].mean() + 0.1


def test_a_table_without_holes_gives_the_same_model_to_the_bit(model, holed):
    X, y = holed
    X = X[["age"]].assign(other=X["age"] ** 2)
    plain = clone(model).fit(X[:60], y[:60]).predict_proba(X[60:])
    aware = clone(model).set_params(missing_indicator=True).fit(X[:60], y[:60])
    np.testing.assert_array_equal(aware.predict_proba(X[60:]), plain)


def test_new_rows_of_the_model_are_not_unusual_and_have_not_moved(holed):
    X, y = holed
    model = NaiveBayes(missing_indicator=True).fit(X, y)
    drawn, _ = model.sample(1000, random_state=1)
    p = model.unusual(drawn)
    assert abs(np.mean(p <= 0.1) - 0.1) < 0.04
    assert latentclass.drift(model, drawn).moved() == []
    fewer = drawn.assign(income=drawn["income"].fillna(0.0))
    assert "income is missing" in latentclass.drift(model, fewer).moved()


def test_more_rows_are_read_with_the_companions_of_the_first(holed):
    X, y = holed
    parts = NaiveBayes(missing_indicator=True).partial_fit(X[:150], y[:150])
    parts.partial_fit(X[150:], y[150:])
    whole = NaiveBayes(missing_indicator=True, calibrate=False).fit(X, y)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_what_cannot_be_read_so_is_refused(holed):
    X, y = holed
    parts = Parts([(X, y)])
    with pytest.raises(
        TypeError, match=r"^missing_indicator=True needs all rows in one table, but "
    ):
        NaiveBayes(missing_indicator=True).fit(parts)
    with pytest.raises(ValueError, match=r"^missing_indicator='yes' must be one of False, True\.$"):
        NaiveBayes(missing_indicator="yes").fit(X, y)
