"""How much rows without a label count, for every generative classifier."""

import re

import numpy as np
import pytest
from rules import change, proba
from sklearn.base import clone

from latentclass.estimator._unlabelled import SHARE

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::latentclass.exceptions.UnseenValueWarning"),
]


@pytest.fixture
def half(table):
    """The table with every second label hidden, and a town that only a hidden row has."""
    X, y = table
    X = X.copy()
    X.loc[1, "town"] = "Atlantis"
    return X, np.where(np.arange(80) % 2, None, y)


def answers(model, X):
    return model.predict_joint_log_proba(X).tolist(), model.log_likelihood_, model.history_


def test_factor_zero_is_the_labelled_rows_alone(model, half):
    X, y = half
    labelled = y != None  # noqa: E711
    without = clone(model).set_params(unlabelled_weight=0).fit(X, y)
    alone = clone(model).fit(X[labelled], y[labelled])
    assert answers(without, X) == answers(alone, X)
    assert without.n_unlabelled_ == 0
    assert without.unlabelled_weight_ == 0.0
    assert "Atlantis" not in without.schema_.columns[3].categories


def test_a_factor_is_a_smaller_weight(model, half):
    X, y = half
    factor = clone(model).set_params(unlabelled_weight=0.25).fit(X, y)
    weight = np.where(np.arange(80) % 2, 0.25, 1.0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    assert answers(factor, X) == answers(weighted, X)
    assert factor.n_unlabelled_ == 40
    assert factor.unlabelled_weight_ == 0.25
    whole = clone(model).fit(X, y)
    assert not np.allclose(proba(whole, X), proba(factor, X))


def test_without_such_rows_it_changes_nothing(model, table):
    X, y = table
    fits = [clone(model).set_params(unlabelled_weight=f).fit(X, y) for f in ("auto", 1, 0, 0.1)]
    first = answers(fits[0], X)
    assert all(answers(one, X) == first for one in fits[1:])
    assert fits[0].unlabelled_weight_ == 1.0


def test_auto_is_the_fit_with_the_factor_that_it_found(model, half):
    X, y = half
    model = change(clone(model), unlabelled_weight="auto", random_state=3)
    found = clone(model).fit(X, y)
    if type(model).__name__ == "AutoLatentClassifier":  # each of its members has its own
        names = {row.family for row in found.leaderboard_}
        assert names >= {"NaiveBayes", "NaiveBayes, unlabelled rows"}
        return
    assert found.unlabelled_weight_ in (0.0, SHARE)  # as many rows have a label as have none
    given = clone(model).set_params(unlabelled_weight=found.unlabelled_weight_).fit(X, y)
    assert answers(found, X) == answers(given, X)
    assert found.temperature_ == given.temperature_ == 1.0


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_auto_with_a_single_labelled_row(model):
    X = [[1.0, "a"], [1.1, "a"], [9.0, "b"]]
    fitted = clone(model).set_params(unlabelled_weight="auto").fit(X, ["x", None, None])
    assert fitted.predict(X).tolist() == ["x"] * 3


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        ("all", "unlabelled_weight='all' must be \"auto\" or a number."),
        (-0.5, "unlabelled_weight=-0.5 must be a number of at least 0."),
        (np.nan, "unlabelled_weight=nan must be a number of at least 0."),
        (None, "unlabelled_weight=None must be a number of at least 0."),
        (True, "unlabelled_weight=True must be a number of at least 0."),
        (1e300, "unlabelled_weight=1e+300 is too large: pass at most 1.0e+50."),
        (1e-300, "unlabelled_weight=1e-300 is lost to rounding: pass 0, or at least 1e-50."),
    ],
)
def test_impossible_factors_are_refused(model, table, factor, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        clone(model).set_params(unlabelled_weight=factor).fit(*table)


def test_class_shares_that_drift_far_are_told():
    """Two balanced labelled classes; nearly all rows without a label are of the second."""
    from latentclass.baselines import NaiveBayes

    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(20), np.ones(20), np.ones(400)]
    X = rng.normal(4 * y[:, None], 1.0, (440, 2))
    labels = np.where(np.arange(440) < 40, y, np.nan)
    words = (
        r"^The rows without a label moved the class shares from 0.50 / 0.50 \(labelled rows\) to "
        "0.05 / 0.95. If that cannot be right, lower unlabelled_weight, or pass priors in "
        "prediction.$"
    )
    with pytest.warns(UserWarning, match=words):
        NaiveBayes(unlabelled_weight=1).fit(X, labels)
    NaiveBayes(unlabelled_weight=0).fit(X, labels)  # no warning


def test_a_sample_of_shares_that_moves_little_is_not_told(model, half):
    model.fit(*half)  # a warning would be an error
