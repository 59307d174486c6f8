"""Probabilities, densities, priors and calibration, for every generative classifier."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from rules import change, number_grid, proba
from scipy.integrate import trapezoid
from sklearn.base import clone

from estimators import SEE_COPIES


def test_a_row_without_values_gets_the_prior(fitted, calibrated, table):
    X, _ = table
    empty = X.iloc[:1].mask(np.ones((1, 5), dtype=bool))
    for one in (fitted, calibrated):
        assert_allclose(proba(one, empty)[0], one.class_prior_, rtol=1e-12)
        assert_allclose(one.score_samples(empty), 0.0, atol=1e-12)


def test_verbs_agree_with_the_joint_probability(fitted, table):
    X, _ = table
    joint = fitted.predict_joint_log_proba(X)
    density = np.logaddexp.reduce(joint, axis=1)
    assert_allclose(fitted.score_samples(X), density, rtol=1e-10)
    assert_allclose(proba(fitted, X), np.exp(joint - density[:, None]), rtol=1e-9)
    assert_allclose(np.exp(fitted.predict_log_proba(X)), proba(fitted, X), rtol=1e-12)
    assert fitted.predict(X).tolist() == fitted.classes_[joint.argmax(axis=1)].tolist()


@pytest.mark.usefixtures("proper")
def test_density_integrates_to_one_over_a_missing_category(fitted, table):
    X, _ = table
    row = X.iloc[[7]]
    levels = fitted.schema_.columns[4].categories
    total = np.logaddexp.reduce([fitted.score_samples(row.assign(band=v))[0] for v in levels])
    assert_allclose(total, fitted.score_samples(row.assign(band=None))[0], rtol=1e-10)


@pytest.mark.usefixtures("proper")
def test_density_integrates_to_one_over_a_missing_number(fitted, table):
    X, _ = table
    row = X.iloc[[7]]
    grid = number_grid(fitted, "height")
    rows = pd.concat([row] * len(grid), ignore_index=True).assign(height=grid)
    total = trapezoid(np.exp(fitted.score_samples(rows)), grid)
    hidden = np.exp(fitted.score_samples(row.assign(height=np.nan))[0])
    assert_allclose(total, hidden, rtol=1e-5)


def test_estimated_priors_are_the_shares_that_the_rows_get_with_them(fitted, table):
    X, _ = table
    shares = fitted.estimate_priors(X)
    seen = fitted.predict_proba(X, priors=shares).sum(axis=0) + fitted.class_prior_
    assert_allclose(shares, seen / (len(X) + 1), atol=1e-6)


def test_other_priors_follow_bayes_rule(fitted, table):
    X, _ = table
    priors = np.array([0.6, 0.3, 0.1])
    expected = proba(fitted, X) / fitted.class_prior_ * priors
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(fitted.predict_proba(X, priors=priors), expected, rtol=1e-9)
    named = dict(zip(fitted.classes_, priors, strict=True))
    assert_allclose(fitted.predict_proba(X, priors=named), expected, rtol=1e-9)
    series = pd.Series(named)[::-1]  # by its index, not by position
    assert_allclose(fitted.predict_proba(X, priors=series), expected, rtol=1e-9)
    assert fitted.predict(X, priors=priors).tolist() == (
        fitted.classes_[expected.argmax(axis=1)].tolist()
    )
    assert_allclose(proba(fitted, X), fitted.predict_proba(X, fitted.class_prior_), rtol=1e-12)


def test_each_row_may_have_priors_of_its_own(fitted, table):
    X = table[0].iloc[:6]
    priors = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], len(X))
    priors[2] = [0.0, 1.0, 0.0]
    one_by_one = [
        fitted.predict_proba(X.iloc[[i]], priors=mine)[0] for i, mine in enumerate(priors)
    ]
    assert_allclose(fitted.predict_proba(X, priors=priors), one_by_one, rtol=1e-9)
    frame = pd.DataFrame(priors, columns=fitted.classes_)[fitted.classes_[::-1]]
    assert_allclose(fitted.predict_proba(X, priors=frame), one_by_one, rtol=1e-9)
    weights = [
        fitted.explain(X.iloc[[i]], y="mid", priors=mine).weights[0]
        for i, mine in enumerate(priors)
    ]
    together = fitted.explain(X, y="mid", priors=priors)
    assert_allclose(together.weights, weights, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([0.5, 0.5], r"priors has shape \(2,\), but there are 3 classes: \['low', 'mid', 'top'\]"),
        ([0.5, 0.5, 0.5], "must be probabilities that sum to 1, got .* with sum 1.5"),
        ([1.5, -0.5, 0.0], "must be probabilities that sum to 1"),
        ("balanced", "priors must be probabilities, in the order of classes_ or by label"),
        ({"low": 1.0}, r"must name each class once: unknown \[\], lacking \['mid', 'top'\]"),
        ({"low": 0.5, "mid": 0.2, "top": 0.2, "tip": 0.1}, r"unknown \['tip'\], lacking \[\]"),
    ],
)
def test_impossible_priors_are_refused(fitted, table, priors, message):
    with pytest.raises(ValueError, match=message):
        fitted.predict_proba(table[0], priors=priors)


def test_the_class_of_least_expected_loss_is_predicted(fitted, table):
    """Against a sum over the true classes, one row and one answer at a time."""
    X, _ = table
    loss = np.array([[-1.0, 2.0, 8.0], [0.5, 0.0, 3.0], [1.0, 0.2, 0.0]])
    for priors in (None, [0.2, 0.5, 0.3]):
        expected = []
        for row in fitted.predict_proba(X, priors=priors).tolist():
            costs = [sum(row[true] * loss[true, c] for true in range(3)) for c in range(3)]
            expected.append(fitted.classes_[costs.index(min(costs))])
        assert fitted.predict(X, priors=priors, loss=loss).tolist() == expected
    assert expected != fitted.predict(X).tolist()
    wrong = 1.0 - np.eye(3)
    assert fitted.predict(X, loss=wrong).tolist() == fitted.predict(X).tolist()
    with pytest.raises(ValueError, match=r"loss has shape \(2, 2\), but there are 3 classes"):
        fitted.predict(X, loss=np.zeros((2, 2)))


def test_calibration_is_kept_only_where_it_helps_on_held_out_folds(model):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    signal = rng.normal(y, 1.5)
    copies = np.column_stack([signal] * 8)  # one attribute eight times over: far too sure
    fitted = clone(model).set_params(calibrate=True).fit(copies, y)
    if type(model).__name__ == "NaiveBayes":
        assert 4 < fitted.temperature_ < 16  # the truth is eight
    if type(model).__name__ not in SEE_COPIES:
        assert fitted.calibration_["log_loss_after"] < fitted.calibration_["log_loss_before"]

    alone = clone(model).set_params(calibrate=True).fit(signal[:, None], y)
    for one in (fitted, alone):
        facts = one.calibration_
        kept = facts["log_loss_after"] < facts["log_loss_before"]
        assert one.temperature_ == (facts["temperature"] if kept else 1.0)


def test_calibrated_predictions_are_the_most_probable(model):
    rng = np.random.default_rng(11)
    y = (rng.random(200) < 0.15).astype(int)
    X = np.column_stack([rng.normal(y, 1.5)] * 8)
    fitted = model.set_params(calibrate=True).fit(X, y)
    if type(model).__name__ == "NaiveBayes":  # others see that the columns are copies
        assert fitted.temperature_ > 2
    most_probable = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
    assert fitted.predict(X).tolist() == most_probable.tolist()


def test_calibration_is_modest_where_no_row_is_wrong(model):
    X, y = np.r_[0:3, 10:13][:, None] * 1.0, [0, 0, 0, 1, 1, 1]
    assert 0.3 <= model.set_params(calibrate=True).fit(X, y).temperature_ <= 2.0


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_calibration_with_too_few_rows_is_left_out(model):
    fitted = model.set_params(calibrate=True).fit([[1.0], [2.0]], ["a", None])
    assert fitted.temperature_ == 1.0
    assert fitted.calibration_ == {}


def test_calibration_with_a_class_of_one_row_and_unlabelled_rows(model, table):
    X, y = table
    labels = np.where(np.arange(80) % 2, None, np.where(y == "top", "top", "mid"))
    labels[0] = "single"
    fitted = change(model, calibrate=True, n_init=3).fit(X, labels)
    assert np.isfinite(fitted.temperature_)
    proba(fitted, X)
