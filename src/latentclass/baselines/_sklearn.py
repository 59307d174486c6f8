"""The discriminative baselines of the papers, from scikit-learn with the settings of the papers.

Each function returns a scikit-learn estimator for a table of numbers without missing cells. The
papers used Weka for these methods. Each docstring names the paper whose settings it uses, and says
where scikit-learn differs. The modules of scikit-learn are imported inside the functions, so that
a naive Bayes model does not load a neural network.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import MOST_STATES, check_number, check_option
from latentclass._warn import recorded_warnings, warn_user
from latentclass.engine._parallel import computation
from latentclass.estimator._decision import least_loss

BLOCK_DISTANCES = 2**21
"""Number of distances in memory at a time: 16 MB, for any number of rows."""


def majority() -> Any:
    """Predict the most frequent class: "Majority vote" in the binary LCM paper (Weka's ZeroR).

    The probabilities are the class frequencies. ZeroR adds 1 to each count first, which does not
    change any prediction.

    Examples
    --------
    >>> majority().fit([[0], [0], [0]], ["a", "b", "b"]).predict([[5]])
    array(['b'], dtype='<U1')
    """
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


class LeaveOneOutKNN(ClassifierMixin, BaseEstimator):
    """k-nearest neighbours with k chosen by leave-one-out, like Weka's `IBk -X`.

    For every k up to `max_neighbors`, each training row is classified by the other rows. The k
    with the fewest errors is kept; the smallest of them if several are equal. One pass over the
    distances serves all k. `fit` computes N² distances, and prediction N distances per row.

    As in IBk, columns are scaled to the interval from 0 to 1 over the training rows. All rows at
    the distance of the k-th neighbour vote, so there may be more than k votes. Each class starts
    with 1/N of a vote, and a tie goes to the first class.

    Parameters
    ----------
    max_neighbors : int, default=30
        Largest k to try; never more than N - 1. The papers do not give theirs.
    weights : {"uniform", "inverse", "similarity"}, default="uniform"
        Vote of a neighbour at distance d: 1, 1 / (d + 0.001) (IBk's `-I`), or 1 - d (`-F`). Here d
        is the Euclidean distance divided by the square root of the number of columns.
    normalize : bool, default=True
        Whether to scale the columns. Constant columns then have no effect.

    Attributes
    ----------
    n_neighbors_ : int
        The chosen k.
    errors_ : array of shape (n_tried,)
        Number of leave-one-out errors on the training rows with k = 1, 2, ...
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Notes
    -----
    In Weka, a row outside the range of the training rows changes the scaling when it is
    classified. Here the range is learned in `fit` only. Two different categories have distance 1
    in Weka, but √2 if each is encoded as a 0/1 column.

    References
    ----------
    .. [1] Aha, D. W., Kibler, D. and Albert, M. K. (1991). Instance-based learning algorithms.
       Machine Learning 6, 37-66.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LeaveOneOutKNN(max_neighbors=10).fit(X, y)
    >>> model.n_neighbors_
    6
    >>> model.errors_[:6]
    array([7, 6, 7, 6, 7, 5])
    """

    n_neighbors_: int
    errors_: IndexArray
    classes_: npt.NDArray[Any]

    def __init__(
        self, max_neighbors: int = 30, *, weights: str = "uniform", normalize: bool = True
    ) -> None:
        self.max_neighbors = max_neighbors
        self.weights = weights
        self.normalize = normalize

    @computation
    def fit(self, X: Any, y: Any) -> Self:
        """Store the rows and choose k."""
        check_number("max_neighbors", self.max_neighbors, low=1, whole=True)
        check_option("weights", self.weights, ("uniform", "inverse", "similarity"))
        check_option("normalize", self.normalize, (True, False))
        # learned in a copy: an interrupted fit leaves this estimator as it was
        self.__dict__ = copy(self)._learn(X, y).__dict__
        return self

    def _learn(self, X: Any, y: Any) -> Self:
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        low, high = X.min(axis=0), X.max(axis=0)
        self._varies = high > low if self.normalize else np.ones(X.shape[1], dtype=bool)
        self._low = np.where(self.normalize, low, 0.0)[self._varies]
        self._range = np.where(self.normalize, high - low, 1.0)[self._varies]
        self._rows = self._stretch(X)
        n_tried = max(min(self.max_neighbors, len(X) - 1), 1)
        self.errors_ = np.zeros(n_tried, dtype=np.intp)
        if len(X) > 1:
            for rows, votes in self._votes(self._rows, n_tried, leave_out=True):
                wrong = votes.argmax(axis=2) != self._codes[rows, None]
                self.errors_ += wrong.sum(axis=0)
        self.n_neighbors_ = int(self.errors_.argmin()) + 1
        return self

    def _stretch(self, X: FloatArray) -> FloatArray:
        return np.asarray((X[:, self._varies] - self._low) / self._range)

    def _votes(
        self, queries: FloatArray, n_neighbors: int, *, leave_out: bool = False
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the votes of the k nearest rows for k = 1, ..., n_neighbors: (rows, k, class)."""
        from scipy.spatial.distance import cdist

        size = max(BLOCK_DISTANCES // len(self._rows), 1)
        for start in range(0, len(queries), size):
            rows = slice(start, min(start + size, len(queries)))
            # cdist is exact for equal distances, while |a|² - 2ab + |b|² is not
            distance = cdist(queries[rows], self._rows, "sqeuclidean")
            if leave_out:
                distance[np.arange(len(distance)), np.arange(rows.start, rows.stop)] = np.inf
            nearest = np.partition(distance, n_neighbors - 1, axis=1)[:, :n_neighbors]
            nearest.sort(axis=1)
            row, other = np.nonzero(distance <= nearest[:, -1:])
            near = distance[row, other]
            # a neighbour votes for all k whose k-th distance is at least its own
            first = np.zeros(len(row), dtype=np.intp)
            for k in range(n_neighbors):
                first += nearest[row, k] < near
            shape = (len(distance), n_neighbors, len(self.classes_))
            cell = np.ravel_multi_index((row, first, self._codes[other]), shape)
            votes = np.bincount(cell, self._weigh(near), minlength=int(np.prod(shape)))
            yield rows, votes.reshape(shape).cumsum(axis=1)

    def _weigh(self, squared: FloatArray) -> FloatArray | None:
        if self.weights == "uniform":
            return None
        distance = np.sqrt(squared / self.n_features_in_)
        inverse = self.weights == "inverse"
        return np.asarray(1.0 / (distance + 0.001) if inverse else 1.0 - distance)

    @computation
    def predict_proba(self, X: Any) -> FloatArray:
        """Share of votes for each class, in the order of `classes_`."""
        check_is_fitted(self)
        queries = self._stretch(validate_data(self, X, dtype=np.float64, reset=False))
        k = min(self.n_neighbors_, len(self._rows))
        votes = np.concatenate([votes[:, -1] for _, votes in self._votes(queries, k)])
        # "similarity" can be negative outside the range of the training rows
        votes = np.maximum(votes + 1.0 / len(self._rows), 0.0)
        total = votes.sum(axis=1, keepdims=True)
        share = np.where(total > 0, votes, 1.0) / np.where(total > 0, total, votes.shape[1])
        return np.asarray(share)

    @computation
    def predict(self, X: Any, loss: Any = None) -> npt.NDArray[Any]:
        """Class with the most votes; with `loss` (as in `NaiveBayes`) that of least expected loss.

        If several are equal it is the first one.
        """
        proba = self.predict_proba(X)
        best = proba.argmax(axis=1) if loss is None else least_loss(proba, loss, self.classes_)
        return np.asarray(self.classes_[best])


def nearest_neighbours(max_neighbors: int = 30) -> LeaveOneOutKNN:
    """k-NN with k chosen by leave-one-out: "k-NN" in the LCM paper (IBk of Weka 3.4).

    `LeaveOneOutKNN` describes how it differs from Weka.

    Examples
    --------
    >>> nearest_neighbours()
    LeaveOneOutKNN()
    """
    return LeaveOneOutKNN(max_neighbors)


def one_nearest_neighbour() -> Any:
    """1-NN: "1-NN" in the binary LCM paper (Weka's IB1).

    Euclidean distance on columns scaled to the interval from 0 to 1. In Weka, the row to be
    classified also changes the scaling.

    Examples
    --------
    >>> one_nearest_neighbour().fit([[0.0], [4.0]], ["a", "b"]).predict([[3.0]])
    array(['b'], dtype='<U1')
    """
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    # with brute force, the first of equally near rows wins, as in IB1
    return make_pipeline(MinMaxScaler(), KNeighborsClassifier(1, algorithm="brute"))


class BackpropagationNetwork(ClassifierMixin, BaseEstimator):
    """Neural network with one hidden layer, trained for a fixed number of epochs.

    This is scikit-learn's `MLPClassifier` with two changes. The number of hidden units depends on
    the numbers of columns and classes, and training never stops early, so there is no warning
    about convergence.

    Parameters
    ----------
    hidden_units : int or None, default=None
        Number of hidden units. None: half the sum of the numbers of columns and classes.
    learning_rate : float, default=0.3
        Size of a gradient step.
    momentum : float, default=0.2
        Share of the last step that is added to the next one.
    n_epochs : int, default=500
        Number of passes over the training rows.
    batch_size : int, default=8
        Number of rows per step. The program of the papers uses 1, which is slow in Python.
    random_state : int, RandomState or None, default=None
        Seeds the first weights and the order of the rows.

    Attributes
    ----------
    network_ : MLPClassifier
        The trained network.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["no", "yes", "yes", "yes"] * 10
    >>> model = BackpropagationNetwork(n_epochs=100, random_state=0).fit(X, y)
    >>> model.network_.hidden_layer_sizes
    2
    >>> model.predict(X[:4])
    array(['no', 'yes', 'yes', 'yes'], dtype='<U3')
    """

    network_: Any
    classes_: npt.NDArray[Any]

    def __init__(
        self,
        hidden_units: int | None = None,
        *,
        learning_rate: float = 0.3,
        momentum: float = 0.2,
        n_epochs: int = 500,
        batch_size: int = 8,
        random_state: Any = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.random_state = random_state

    @computation
    def fit(self, X: Any, y: Any) -> Self:
        """Train the network."""
        check_number(
            "hidden_units", self.hidden_units, low=1, high=MOST_STATES, whole=True, none=True
        )
        check_number("n_epochs", self.n_epochs, low=1, whole=True)
        check_number("batch_size", self.batch_size, low=1, whole=True)
        # learned in a copy: an interrupted fit leaves this estimator as it was
        self.__dict__ = copy(self)._learn(X, y).__dict__
        return self

    def _learn(self, X: Any, y: Any) -> Self:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        network = MLPClassifier(
            self.hidden_units or max((X.shape[1] + len(self.classes_)) // 2, 1),
            activation="logistic",
            solver="sgd",
            alpha=0.0,
            batch_size=min(self.batch_size, len(X)),
            learning_rate_init=self.learning_rate,
            momentum=self.momentum,
            nesterovs_momentum=False,
            max_iter=self.n_epochs,
            tol=0.0,
            n_iter_no_change=self.n_epochs,
            random_state=self.random_state,
        )
        with recorded_warnings() as caught:
            self.network_ = network.fit(X, y)
        for entry in caught:
            if entry.category is not ConvergenceWarning:  # the number of epochs is fixed
                warn_user(str(entry.message), entry.category)
        return self

    @computation
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if len(self.classes_) == 1:  # the network's one output is the chance of a second class
            return np.ones((len(X), 1))
        return np.asarray(self.network_.predict_proba(X), dtype=np.float64)

    @computation
    def predict(self, X: Any, loss: Any = None) -> npt.NDArray[Any]:
        """Most probable class; with `loss` (as in `NaiveBayes`) that of least expected loss."""
        proba = self.predict_proba(X)
        best = proba.argmax(axis=1) if loss is None else least_loss(proba, loss, self.classes_)
        return np.asarray(self.classes_[best])


def multilayer_perceptron(*, batch_size: int = 8, random_state: Any = None) -> Any:
    """Neural network: "ANN" in the binary LCM paper (Weka's MultilayerPerceptron).

    It has one hidden layer of logistic units. Their number is the mean of the numbers of columns
    and classes. It is trained by back-propagation with learning rate 0.3 and momentum 0.2 for 500
    epochs, on columns scaled to the interval from -1 to 1. The "NN" of the HNB paper (Clementine,
    one hidden layer, no settings given) is similar.

    Weka changes the weights after every row and minimises the squared error. scikit-learn
    minimises the cross-entropy and uses `batch_size` rows per step. With `batch_size=1` it works
    as Weka does, but is several times slower.

    Examples
    --------
    >>> multilayer_perceptron(random_state=0).steps[-1][1]
    BackpropagationNetwork(random_state=0)
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    network = BackpropagationNetwork(batch_size=batch_size, random_state=random_state)
    return make_pipeline(MinMaxScaler((-1, 1)), network)


def support_vector_machine(kernel: str = "linear") -> Any:
    """Support vector machine: "SVM" in the binary LCM paper (Weka's SMO).

    The settings are the defaults of SMO: linear kernel, C = 1, columns scaled to the interval from
    0 to 1, and one machine per pair of classes. The paper also says that "city-block distance" was
    used, but SMO has no such option. The closest kernel is exp(-|a - b|₁ / n_columns), which is
    `kernel="cityblock"`. However, the linear kernel gives the paper's figures for two classes.
    There are no probabilities, as in SMO by default.

    Parameters
    ----------
    kernel : {"linear", "cityblock"}, default="linear"
        Kernel of the machine.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]] * 5, ["a", "a", "b", "b"] * 5
    >>> support_vector_machine().fit(X, y).predict([[3.0]])
    array(['b'], dtype='<U1')
    """
    from sklearn.metrics.pairwise import laplacian_kernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC

    check_option("kernel", kernel, ("linear", "cityblock"))
    return make_pipeline(
        MinMaxScaler(), SVC(C=1.0, kernel="linear" if kernel == "linear" else laplacian_kernel)
    )


def ridge_logistic(ridge: float = 1e-8) -> Any:
    """Logistic regression with a ridge: "Logistic Regression" in the binary LCM paper.

    Weka's Logistic minimises -log-likelihood + ridge |w|² on standardised columns, with ridge
    1e-8. For scikit-learn this means C = 1 / (2 ridge). With more than two classes, Weka fixes the
    weights of the last class at 0, while scikit-learn has weights for every class. So the penalty
    differs, but the likelihood does not. If a plane separates the classes, the weights become very
    large with such a small ridge, and their size depends on when the optimiser stops.

    Parameters
    ----------
    ridge : float, default=1e-8
        Weight of the penalty.

    Examples
    --------
    >>> ridge_logistic().fit([[0.0], [1.0], [4.0]], ["a", "a", "b"]).predict([[3.0]])
    array(['b'], dtype='<U1')
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    check_number("ridge", ridge, low=0, strict=True)
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.5 / ridge, max_iter=10_000))


def decision_tree(*, ccp_alpha: float = 0.0, random_state: Any = None) -> Any:
    """Decision tree by entropy with at least 2 rows per leaf, in place of C4.5, C5.0 and ID3.

    The LTC paper used Weka's J48 (C4.5), the HNB paper C5.0 (Clementine), and the binary LCM paper
    ID3. scikit-learn grows CART trees. They have binary splits, use information gain instead of
    gain ratio, are not pruned by a confidence bound (`ccp_alpha` prunes by cost and complexity),
    and have no weights for missing values. `weka_j48` and `weka_id3` are the papers' own trees.

    Examples
    --------
    >>> tree = decision_tree(random_state=0)
    >>> tree.fit([[0], [1], [4], [5]], ["a", "a", "b", "b"]).predict([[3]])
    array(['b'], dtype='<U1')
    """
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, ccp_alpha=ccp_alpha, random_state=random_state
    )
