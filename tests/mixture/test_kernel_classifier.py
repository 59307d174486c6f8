"""Logistic regression with a Gaussian kernel, against the same thing in plain words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from latentclass.mixture._kernel_classifier import KernelLogisticRegression


@pytest.fixture
def circles():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, (np.hypot(*X.T) > 1.1).astype(int) + 2  # labels 2 and 3


def slow_probabilities(X, y, gamma, C, weight):
    """Penalised kernel logistic regression of two classes, by its definition.

    With all rows as landmarks f(x) = sum_i a_i k(x, x_i) + b, and the penalty is a' K a / 2.
    """
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    sign = np.where(y == y.max(), 1.0, -1.0)

    def loss(params):
        f = K @ params[:-1] + params[-1]
        value = C * weight @ np.logaddexp(0.0, -sign * f) + params[:-1] @ K @ params[:-1] / 2
        slope = -C * weight * sign / (1.0 + np.exp(sign * f))
        return value, np.append(K @ (slope + params[:-1]), slope.sum())

    found = minimize(loss, np.zeros(len(X) + 1), jac=True, method="BFGS", options={"gtol": 1e-5})
    return 1.0 / (1.0 + np.exp(-K @ found.x[:-1] - found.x[-1]))


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_as_landmarks_give_kernel_logistic_regression(circles, weighted):
    X, y = circles
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model = KernelLogisticRegression(C=2.0).fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == [2, 3]
    expected = slow_probabilities(X, y, model.fitted_.gamma, 2.0, weight)
    assert_allclose(model.predict_proba(X)[:, 1], expected, atol=2e-3)


def test_probabilities_sum_to_one_and_few_landmarks_are_nearly_as_good(circles):
    X, y = circles
    few = KernelLogisticRegression(n_landmarks=25).fit(X, y)
    assert few.fitted_.landmarks.shape == (25, 2)
    assert_allclose(few.predict_proba(X).sum(axis=1), 1.0)
    assert np.mean(few.classes_[few.predict_proba(X).argmax(axis=1)] == y) > 0.9


def test_three_classes_and_a_constant_matrix():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 4], 20)
    model = KernelLogisticRegression().fit(rng.normal(y[:, None], 0.3, (60, 3)), y)
    assert model.fitted_.coef.shape[0] == 3
    assert model.classes_[model.predict_proba(np.full((1, 3), 4.0)).argmax()] == 4
    same = KernelLogisticRegression().fit(np.zeros((4, 1)), np.array([0, 0, 0, 1]))
    assert_allclose(same.predict_proba(np.zeros((1, 1))), [[0.75, 0.25]], atol=1e-3)


def test_more_rows_than_are_needed_are_thinned_out_but_no_class_is_lost(circles):
    X, y = circles
    y = np.append(y, 9)
    X = np.vstack([X, [[5.0, 5.0]]])
    order = np.r_[80, :80]  # the rare class is where even distances do not look
    model = KernelLogisticRegression(max_rows=40).fit(X[order], y[order], np.ones(81))
    assert model.classes_.tolist() == [2, 3, 9]
    assert len(model.fitted_.landmarks) <= 41
    assert np.mean(model.classes_[model.predict_proba(X).argmax(axis=1)] == y) > 0.85
