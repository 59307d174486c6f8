"""Greedy weights against a fine grid, and what must not change them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.auto._weights import accuracy, choose_weights, negative_log_loss


def draw(n_rows=300, seed=0):
    """Held-out probabilities of three classifiers: two see different things, one nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)

    def see(strength):
        height = rng.normal(size=(n_rows, 3))
        height[np.arange(n_rows), y] += strength
        return np.exp(height) / np.exp(height).sum(axis=1, keepdims=True)

    return np.stack([see(1.0), see(1.3), see(0.0)]), y


def test_two_classifiers_get_the_weights_of_a_fine_grid():
    probabilities, y = draw()
    score = negative_log_loss(y, np.ones(len(y)))
    weights = choose_weights(probabilities[:2], score)
    grid = np.linspace(0, 1, 1001)
    mixed = [score(w * probabilities[0] + (1 - w) * probabilities[1]) for w in grid]
    assert abs(weights[0] - grid[np.argmax(mixed)]) < 0.05
    reached = score(np.tensordot(weights, probabilities[:2], axes=1))
    assert reached > max(mixed) - 3e-4 * abs(max(mixed))


@pytest.mark.parametrize("metric", [negative_log_loss, accuracy])
def test_the_average_is_not_worse_than_the_best_alone(metric):
    for seed in range(5):
        probabilities, y = draw(80, seed)
        score = metric(y, np.ones(len(y)))
        weights = choose_weights(probabilities, score)
        assert_allclose(weights.sum(), 1.0)
        assert score(np.tensordot(weights, probabilities, axes=1)) >= max(map(score, probabilities))


def test_a_classifier_that_knows_nothing_gets_little():
    probabilities, y = draw()
    weights = choose_weights(probabilities, negative_log_loss(y, np.ones(len(y))))
    assert weights[2] < 0.1
    assert weights[:2].min() > 0.2


def test_order_of_classifiers_and_rows_does_not_matter_and_weight_2_is_the_row_twice():
    probabilities, y = draw(60)
    score = negative_log_loss(y, np.ones(len(y)))
    weights = choose_weights(probabilities, score)
    assert choose_weights(probabilities[::-1], score).tolist() == weights[::-1].tolist()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weight))
    weighted = choose_weights(probabilities, negative_log_loss(y, weight.astype(float)))
    copied = choose_weights(probabilities[:, rows], negative_log_loss(y[rows], np.ones(len(rows))))
    assert_allclose(weighted, copied)


def test_an_impossible_class_costs_much_but_not_everything():
    score = negative_log_loss(np.array([0]), np.ones(1))
    assert_allclose(score(np.array([[0.0, 1.0]])), np.log(1e-15))
