"""Weights against a fine grid and an optimiser, and what must not change them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from latentclass.auto._weights import Accuracy, LogLoss, greedy_weights


def draw(n_rows=300, seed=0, strengths=(1.0, 1.3, 0.0)):
    """Held-out probabilities of classifiers that see different things; 0 sees nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)

    def see(strength):
        height = rng.normal(size=(n_rows, 3))
        height[np.arange(n_rows), y] += strength
        return np.exp(height) / np.exp(height).sum(axis=1, keepdims=True)

    return np.stack([see(strength) for strength in strengths]), y


def log_loss_of(y):
    return LogLoss(y, np.ones(len(y)))


def test_greedy_weights_of_two_classifiers_are_those_of_a_fine_grid():
    probabilities, y = draw()
    score = log_loss_of(y).score
    weights = greedy_weights(probabilities[:2], score)
    grid = np.linspace(0, 1, 1001)
    mixed = [score(w * probabilities[0] + (1 - w) * probabilities[1]) for w in grid]
    assert abs(weights[0] - grid[np.argmax(mixed)]) < 0.05
    reached = score(np.tensordot(weights, probabilities[:2], axes=1))
    assert reached > max(mixed) - 3e-4 * abs(max(mixed))


@pytest.mark.parametrize("n_rows", [20, 200])
def test_weights_for_log_loss_are_those_of_an_optimiser(n_rows):
    probabilities, y = draw(n_rows, strengths=(1.0, 1.3, 0.9))
    head_start = np.array([3.0, 6.0, 1.5])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n_rows)
    own = probabilities[:, np.arange(n_rows), y]

    def objective(free):
        w = np.exp(free - np.logaddexp.reduce(free))
        return -weight @ np.log(w @ own) - head_start @ np.log(w)

    found = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    expected = np.exp(found - np.logaddexp.reduce(found))
    assert expected.min() > 0.05  # none of them is left out
    assert_allclose(LogLoss(y, weight).weights(probabilities, head_start), expected, atol=1e-4)


def test_a_head_start_counts_with_few_rows_and_not_with_many():
    head_start = np.array([2.0, 2.0, 16.0])
    few, y = draw(3)
    assert_allclose(log_loss_of(y).weights(few, head_start), head_start / 20, atol=0.1)
    many, y = draw(3000)
    assert log_loss_of(y).weights(many, head_start)[2] == 0.0


@pytest.mark.parametrize("metric", [LogLoss, Accuracy])
def test_the_average_of_many_rows_is_not_worse_than_the_best_alone(metric):
    for seed in range(5):
        probabilities, y = draw(2000, seed)
        metric_of_rows = metric(y, np.ones(len(y)))
        weights = metric_of_rows.weights(probabilities, np.ones(3))
        assert_allclose(weights.sum(), 1.0)
        mixed = np.tensordot(weights, probabilities, axes=1)
        assert metric_of_rows.score(mixed) >= max(map(metric_of_rows.score, probabilities))


def test_a_classifier_that_knows_nothing_gets_little():
    probabilities, y = draw()
    for weights in (
        log_loss_of(y).weights(probabilities, np.ones(3)),
        greedy_weights(probabilities, log_loss_of(y).score),
    ):
        assert weights[2] < 0.1
        assert weights[:2].min() > 0.2


def test_of_many_equal_classifiers_all_are_kept():
    probabilities, y = draw(strengths=(1.0,))
    weights = log_loss_of(y).weights(np.repeat(probabilities, 40, axis=0), np.ones(40))
    assert_allclose(weights, 1 / 40)


@pytest.mark.parametrize("metric", [LogLoss, Accuracy])
def test_order_of_classifiers_and_rows_does_not_matter_and_weight_2_is_the_row_twice(metric):
    probabilities, y = draw(60)
    head_start = np.array([1.0, 2.0, 0.5])
    weights = metric(y, np.ones(len(y))).weights(probabilities, head_start)
    turned = metric(y, np.ones(len(y))).weights(probabilities[::-1], head_start[::-1])
    assert_allclose(turned, weights[::-1], rtol=1e-12)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weight))
    weighted = metric(y, weight.astype(float)).weights(probabilities, head_start)
    copied = metric(y[rows], np.ones(len(rows))).weights(probabilities[:, rows], head_start)
    assert_allclose(weighted, copied)


def test_an_impossible_class_costs_much_but_not_everything():
    metric = LogLoss(np.array([0]), np.ones(1))
    assert_allclose(metric.score(np.array([[0.0, 1.0]])), np.log(1e-15))
