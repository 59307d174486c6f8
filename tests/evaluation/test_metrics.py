"""Scores against scikit-learn and by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as sk

from latentclass.evaluation import Metric, Predictions
from latentclass.evaluation._metrics import METRICS, find_metric, join, read_scoring


def score(name, predictions):
    return METRICS[name].function(predictions)


@pytest.fixture(params=[2, 4])
def predictions(request):
    rng = np.random.default_rng(request.param)
    proba = rng.dirichlet(np.ones(request.param), 200)
    y = np.array([rng.choice(request.param, p=row) for row in proba])
    return Predictions(y, proba.argmax(axis=1), proba)


def test_scores_are_scikit_learns(predictions):
    y, predicted, proba = predictions
    labels = list(range(proba.shape[1]))
    assert score("accuracy", predictions) == sk.accuracy_score(y, predicted)
    assert_allclose(score("log_loss", predictions), sk.log_loss(y, proba, labels=labels))
    theirs = np.mean(np.sum((proba - np.eye(len(labels))[y]) ** 2, axis=1))
    assert_allclose(score("brier", predictions), theirs)


def test_brier_is_scikit_learns(predictions):
    y, _, proba = predictions
    try:
        theirs = sk.brier_score_loss(y, proba, scale_by_half=False, labels=range(proba.shape[1]))
    except TypeError:  # before scikit-learn 1.7: two classes only, and the halved form
        theirs = 2 * sk.brier_score_loss(y, proba[:, 1]) if proba.shape[1] == 2 else None
    if theirs is not None:
        assert_allclose(score("brier", predictions), theirs)


def test_a_sure_mistake_costs_log_of_1e15():
    sure = Predictions(np.array([0, 1]), np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert_allclose(score("log_loss", sure), 15 * math.log(10) / 2)
    assert score("brier", sure) == 1.0


def test_calibration_error_by_hand():
    # confidences 0.6 and 0.62 share bin (9/15, 10/15]... 0.6 = 9/15 is in the bin below
    proba = np.array([[0.62, 0.38], [0.38, 0.62], [0.9, 0.1], [1.0, 0.0]])
    y = np.array([0, 0, 0, 1])
    # bin of 0.62: one right of two, gap |1 - 1.24|; 0.9: |1 - 0.9|; 1.0: |0 - 1|
    expected = (0.24 + 0.1 + 1.0) / 4
    assert_allclose(score("ece", Predictions(y, proba.argmax(axis=1), proba)), expected)


def test_calibration_bins_are_closed_on_the_right():
    proba = np.array([[0.8, 0.2], [0.81, 0.19]])  # 0.8 = 12/15 belongs to the bin below
    y = np.array([0, 1])
    assert_allclose(score("ece", Predictions(y, y, proba)), (0.2 + 0.81) / 2)


def test_calibration_error_matches_a_slow_unfitted_copy(predictions):
    y, _, proba = predictions
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == y
    total = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert_allclose(score("ece", predictions), total)


def test_without_probabilities_only_the_accuracy_is_known():
    labels = Predictions(np.array([0, 1]), np.array([0, 0]), None)
    assert score("accuracy", labels) == 0.5
    assert all(math.isnan(score(name, labels)) for name in ("log_loss", "brier", "ece"))


def test_joined_folds_are_all_their_rows(predictions):
    halves = [
        Predictions(*(part[rows] for part in predictions)) for rows in (slice(80), slice(80, None))
    ]
    whole = join(halves)
    for ours, given in zip(whole, predictions, strict=True):
        assert_allclose(ours, given)
    assert join([halves[0], halves[1]._replace(proba=None)]).proba is None


def test_scores_are_found_by_name():
    mine = Metric("errors", lambda p: float(np.sum(p.predicted != p.y)), greater_is_better=False)
    assert [metric.name for metric in read_scoring("brier")] == ["brier"]
    assert read_scoring([mine, "accuracy"])[0] is mine
    assert find_metric("errors", [mine]) is mine
    with pytest.raises(
        ValueError, match=r"Score 'auc' is not one of 'accuracy', 'log_loss', 'brie"
    ):
        read_scoring(["auc"])
    with pytest.raises(ValueError, match=r"scoring=\['ece', 'ece'\] must name at least one score"):
        read_scoring(["ece", "ece"])
    with pytest.raises(TypeError, match="Seconds cannot be computed from pred"):
        METRICS["fit_seconds"].function(Predictions(np.array([0]), np.array([0]), None))
