"""scikit-learn's classifiers as the papers set them, and k-NN with k by leave-one-out."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentclass.baselines import _sklearn
from latentclass.baselines._sklearn import (
    BackpropagationNetwork,
    LeaveOneOutKNN,
    decision_tree,
    majority,
    multilayer_perceptron,
    nearest_neighbours,
    one_nearest_neighbour,
    ridge_logistic,
    support_vector_machine,
)
from latentclass.evaluation import TableClassifier


@parametrize_with_checks(
    [LeaveOneOutKNN(), BackpropagationNetwork(n_epochs=40, batch_size=8, random_state=0)]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ k by leave-one-out


def slow_votes(rows, codes, query, k, n_classes, weights="uniform", skip=None):
    """The votes of all rows not farther than the k-th nearest, one row at a time."""
    others = [i for i in range(len(rows)) if i != skip]
    distance = {i: np.sqrt(np.mean((rows[i] - query) ** 2)) for i in others}
    reach = sorted(distance.values())[k - 1]
    votes = np.full(n_classes, 1 / len(rows))
    for i in others:
        if distance[i] <= reach:
            votes[codes[i]] += {
                "uniform": 1.0,
                "inverse": 1 / (distance[i] + 0.001),
                "similarity": 1 - distance[i],
            }[weights]
    return votes


@pytest.mark.parametrize("weights", ["uniform", "inverse", "similarity"])
@pytest.mark.parametrize("ties", [False, True])
def test_k_errors_and_votes_are_those_of_a_loop(weights, ties, monkeypatch):
    monkeypatch.setattr(_sklearn, "BLOCK_DISTANCES", 200)  # several blocks
    rng = np.random.default_rng(3)
    # whole numbers from 0 to 4: distances whose ties survive the rounding of both ways
    X = rng.integers(0, 5, (45, 2)).astype(float) if ties else rng.normal(size=(45, 3))
    y = (X[:, 0] + rng.normal(0, 0.8, 45) > X[:, 0].mean()).astype(int) + (X[:, 1] > 1)
    model = LeaveOneOutKNN(12, weights=weights).fit(X, y)
    rows = MinMaxScaler().fit_transform(X)
    errors = [
        sum(slow_votes(rows, y, rows[i], k, 3, weights, skip=i).argmax() != y[i] for i in range(45))
        for k in range(1, 13)
    ]
    assert_array_equal(model.errors_, errors)
    assert model.n_neighbors_ == 1 + errors.index(min(errors))
    votes = np.array([slow_votes(rows, y, row, model.n_neighbors_, 3, weights) for row in rows])
    assert_allclose(
        model.predict_proba(X), votes / votes.sum(axis=1, keepdims=True), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("k", [1, 5, 12])
def test_errors_are_those_of_scikit_learn_row_by_row(k):
    X, y = load_wine(return_X_y=True)  # no equal distances
    X = MinMaxScaler().fit_transform(X)
    predicted = cross_val_predict(KNeighborsClassifier(k), X, y, cv=LeaveOneOut())
    model = LeaveOneOutKNN(12, normalize=False).fit(X, y)
    assert model.errors_[k - 1] == np.sum(predicted != y)


def test_scale_of_the_columns_does_not_matter():
    X, y = load_iris(return_X_y=True)
    plain = LeaveOneOutKNN().fit(X, y)
    other = LeaveOneOutKNN().fit(X * [1, 1024, 0.5, 2] + 8, y)
    assert plain.n_neighbors_ == other.n_neighbors_


def test_all_equal_rows_vote_and_the_first_class_wins_a_tie():
    model = LeaveOneOutKNN(1).fit([[1.0]] * 4, ["b", "a", "a", "b"])
    assert_array_equal(model.predict([[1.0], [7.0]]), ["a", "a"])
    assert_allclose(model.predict_proba([[1.0]]), [[0.5, 0.5]], rtol=1e-12)


def test_k_stays_below_the_number_of_rows():
    model = LeaveOneOutKNN(30).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert len(model.errors_) == 2
    assert LeaveOneOutKNN().fit([[0.0]], ["only"]).predict([[3.0]]) == ["only"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_neighbors": 0}, "max_neighbors=0 must be a whole number of at least 1."),
        (
            {"weights": "odd"},
            "weights='odd' must be one of 'uniform', 'inverse', 'similarity'.",
        ),
        ({"normalize": 2}, "normalize=2 must be one of True, False."),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LeaveOneOutKNN(**parameters).fit([[0.0], [1.0]], [0, 1])


# ------------------------------------------------------------------ the papers' settings

# Accuracy in three folds of Weka 3.6.14 on the same folds, where the method is the same:
# IBk -K 30 -X 96.67 %, IB1 95.33 %, SMO 96.67 % (docs/explanation/baselines.md).
ON_IRIS = [
    (majority(), 0.32, 0.34),
    (nearest_neighbours(), 0.9666, 0.9667),
    (one_nearest_neighbour(), 0.9533, 0.9534),
    (multilayer_perceptron(batch_size=32, random_state=0), 0.95, 0.99),
    (support_vector_machine(), 0.9666, 0.9667),
    (support_vector_machine("cityblock"), 0.94, 0.98),
    (ridge_logistic(), 0.95, 0.99),
    (decision_tree(random_state=0), 0.92, 0.98),
]


@pytest.mark.parametrize(("model", "low", "high"), ON_IRIS)
def test_on_iris(model, low, high):
    X, y = load_iris(return_X_y=True)
    accuracy = np.mean(cross_val_predict(model, X, y, cv=3) == y)
    assert low <= accuracy <= high


def test_a_table_goes_in_through_table_classifier():
    X = [[1.0, "red"], [2.0, None], [None, "blue"], [4.0, "blue"]] * 5
    y = ["a", "a", "b", "b"] * 5
    assert TableClassifier(nearest_neighbours()).fit(X, y).score(X, y) == 1.0


def test_ridge_is_wekas():
    """-log-likelihood + ridge |w|² has no slope at the optimum."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, :2], y[50:] - 1
    model = ridge_logistic(ridge=0.5).fit(X, y)
    scaler, logistic = model[0], model[1]
    Z, w = scaler.transform(X), logistic.coef_[0]
    slope = Z.T @ (logistic.predict_proba(Z)[:, 1] - y) + 2 * 0.5 * w
    assert_allclose(slope, 0.0, atol=0.01)


def test_network_has_the_mean_of_columns_and_classes_as_hidden_units():
    X, y = load_wine(return_X_y=True)
    model = BackpropagationNetwork(n_epochs=2, random_state=0).fit(X, y)
    assert model.network_.hidden_layer_sizes == (13 + 3) // 2
    assert model.network_.n_iter_ == 2


def test_a_single_class_is_certain():
    model = BackpropagationNetwork(n_epochs=2).fit([[0.0], [1.0]], ["only", "only"])
    assert_array_equal(model.predict_proba([[0.5], [9.0]]), [[1.0], [1.0]])
    assert_array_equal(model.predict([[0.5]]), ["only"])


def test_unknown_kernel_is_refused():
    message = "kernel='odd' must be one of 'linear', 'cityblock'."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        support_vector_machine("odd")
