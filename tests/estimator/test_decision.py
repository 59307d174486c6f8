"""The class of least expected loss."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from latentclass.baselines import LeaveOneOutKNN, NaiveBayes
from latentclass.baselines._sklearn import BackpropagationNetwork
from latentclass.estimator._decision import least_loss, read_loss
from latentclass.evaluation import TableClassifier

CLASSES = np.array(["ill", "well"])
LOSS = [[0.0, 20.0], [1.0, 0.0]]  # true classes in rows: a missed illness is dear


def test_a_threshold_by_hand():
    """Well is the answer only if 20 P(ill) < P(well), so if P(ill) < 1/21."""
    ill = np.array([0.04, 0.0476, 0.0477, 0.5, 1.0])
    found = least_loss(np.column_stack([ill, 1 - ill]), LOSS, CLASSES)
    assert CLASSES[found].tolist() == ["well", "well", "ill", "ill", "ill"]


def test_of_equal_classes_the_first_is_taken():
    assert least_loss(np.array([[0.5, 0.5]]), np.ones((2, 2)), CLASSES).tolist() == [0]


@pytest.mark.parametrize(
    "loss",
    [
        pd.DataFrame([[0, 1], [20, 0]], index=["well", "ill"], columns=["well", "ill"]),
        {"well": {"ill": 1, "well": 0}, "ill": {"well": 20, "ill": 0}},
        {"well": {"ill": 1}, "ill": {"well": 20}},
        np.array(LOSS, dtype=int),
    ],
    ids=["frame", "dict", "right answers left out", "whole numbers"],
)
def test_labels_in_any_order(loss):
    assert_array_equal(read_loss(loss, CLASSES), LOSS)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([1.0, 2.0], r"loss has shape \(2,\), but there are 2 classes: \['ill', 'well'\]. Pass"),
        ([[0, np.nan], [1, 0]], "loss is nan where 'ill' is taken for 'well'; every loss must be"),
        ([[0, 1], [-np.inf, 0]], "loss is -inf where 'well' is taken for 'ill'"),
        ("zero_one", "loss must be a matrix of numbers, .* got 'zero_one'"),
        ([[0, 1], [0]], "loss must be a matrix of numbers"),
        ({"ill": {"well": 1}}, r"loss must name each class once: unknown \[\], lacking \['well'\]"),
        (
            {"ill": {"wel": 1}, "well": {"ill": 2}},
            r"loss\['ill'\] must name each class once: unknown \['wel'\], lacking \['well'\]",
        ),
        ({"ill": 1, "well": 2}, r"loss\['ill'\] must be a dict of predicted label to loss, got 1"),
        (pd.DataFrame(LOSS, ["ill", "ill"], CLASSES), "loss has a label twice among its rows"),
    ],
)
def test_impossible_losses_are_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        read_loss(loss, CLASSES)


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        TableClassifier(LogisticRegression()),
        LeaveOneOutKNN(),
        BackpropagationNetwork(n_epochs=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_classifiers_decide_alike(model):
    rng = np.random.default_rng(0)
    y = CLASSES[rng.integers(0, 2, 80)]
    X = rng.normal(y == "ill", 1.0)[:, None]
    model.fit(X, y)
    found = model.predict(X, loss={"well": {"ill": 1}, "ill": {"well": 20}})
    assert found.tolist() == np.where(model.predict_proba(X)[:, 0] > 1 / 21, *CLASSES).tolist()
    assert found.tolist() != model.predict(X).tolist()


def test_a_classifier_without_probabilities_has_no_expected_loss():
    model = TableClassifier(LinearSVC()).fit([[0.0], [1.0]], CLASSES)
    with pytest.raises(ValueError, match="loss needs probabilities, but LinearSVC has no predict_"):
        model.predict([[0.0]], loss=LOSS)
