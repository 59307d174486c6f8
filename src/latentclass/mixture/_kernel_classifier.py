"""Logistic regression on smooth functions of the columns, for classes with curved borders."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from latentclass._types import FloatArray, IndexArray
from latentclass.mixture._plain_classifiers import KernelClassifier, gaussian_kernel

LEAST_SPREAD = 1e-10
"""Directions of the landmarks' kernel with a smaller part of the largest eigenvalue are dropped."""


class KernelLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression with a Gaussian kernel, through landmarks (the Nystroem method).

    Rows enter by how close they are to some of the training rows, the landmarks. The penalty is
    that of the kernel's function space. The cost grows linearly with the number of rows.

    Parameters
    ----------
    C : float, default=30.0
        Inverse strength of the penalty.
    n_landmarks : int, default=300
        Most landmarks: rows at even distances in the order of the table.
    max_rows : int, default=20000
        Most rows that the weights of the landmarks are learned from, at even distances too. So few
        weights need no more, and memory stays bounded.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    fitted_ : KernelClassifier
        With gamma = 1 / (number of columns x variance of all cells).
    """

    classes_: IndexArray
    fitted_: KernelClassifier

    def __init__(self, C: float = 30.0, n_landmarks: int = 300, max_rows: int = 20_000) -> None:
        self.C = C
        self.n_landmarks = n_landmarks
        self.max_rows = max_rows

    def fit(self, X: FloatArray, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a matrix without missing cells, and class codes."""
        if len(X) > self.max_rows:
            used = _evenly(len(X), self.max_rows)
            # every class must stay, however rare
            used = np.union1d(used, np.unique(y, return_index=True)[1])
            X, y = X[used], np.asarray(y)[used]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[used]
        n_rows, n_columns = X.shape
        variance = float(X.var())
        gamma = 1.0 / (n_columns * variance) if variance > 0 else 1.0
        landmarks = np.unique(X[_evenly(n_rows, self.n_landmarks)], axis=0)
        size, axes = np.linalg.eigh(gaussian_kernel(landmarks, landmarks, gamma))
        kept = size > LEAST_SPREAD * size[-1]
        # in these features the plain penalty is that of the kernel
        whitening = axes[:, kept] / np.sqrt(size[kept])
        features = gaussian_kernel(X, landmarks, gamma) @ whitening
        regression = LogisticRegression(C=self.C, max_iter=500)
        regression.fit(features, y, sample_weight=sample_weight)
        self.classes_ = regression.classes_
        self.fitted_ = KernelClassifier(
            self.classes_,
            gamma,
            landmarks,
            for_each_class(regression.coef_) @ whitening.T,
            for_each_class(regression.intercept_[:, None])[:, 0],
        )
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """P(class | x), shape (n_rows, n_classes)."""
        return self.fitted_.predict_proba(X)


def _evenly(n_rows: int, most: int) -> IndexArray:
    """Numbers of at most `most` rows at even distances."""
    return np.linspace(0, n_rows - 1, min(most, n_rows)).round().astype(np.intp)


def for_each_class(coef: FloatArray) -> FloatArray:
    """Coefficients with a row for each class: of two classes scikit-learn keeps the second only."""
    return np.vstack([np.zeros_like(coef), coef]) if len(coef) == 1 else coef
