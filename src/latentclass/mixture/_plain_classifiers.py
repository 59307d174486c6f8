"""Fitted classifiers as plain values: arrays that are checked once, without scikit-learn.

A classifier by name is fitted by scikit-learn and then turned into one of these. So a model holds
nothing but arrays: it can be stored safely, and predicts the same with any version of scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray

MOST_VISITS = 200_000
"""Rows are taken in blocks with at most this many pairs of row and tree."""

SingleArray = npt.NDArray[np.float32]

LEAF = -1
"""The `feature` of a node without children."""


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """P(class | x) proportional to exp(coef x + intercept).

    Attributes
    ----------
    classes_ : array of int of shape (n_classes,)
        Class codes in rising order.
    coef : array of shape (n_classes, n_columns)
    intercept : array of shape (n_classes,)
    """

    classes_: IndexArray
    coef: FloatArray
    intercept: FloatArray

    def __post_init__(self) -> None:
        _check_classes(self.classes_)
        _check_scores(self.classes_, self.coef, self.intercept)

    @property
    def n_columns(self) -> int:
        """Number of columns of the matrix."""
        return int(self.coef.shape[1])

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        """P(class | x), shape (n_rows, n_classes)."""
        return soft_max(matrix @ self.coef.T + self.intercept)


@dataclass(frozen=True, eq=False)
class KernelClassifier:
    """P(class | x) proportional to exp(coef k(x) + intercept) with k_l(x) = exp(-gamma |x - l|^2).

    Attributes
    ----------
    classes_ : array of int of shape (n_classes,)
        Class codes in rising order.
    gamma : float
    landmarks : array of shape (n_landmarks, n_columns)
    coef : array of shape (n_classes, n_landmarks)
    intercept : array of shape (n_classes,)
    """

    classes_: IndexArray
    gamma: float
    landmarks: FloatArray
    coef: FloatArray
    intercept: FloatArray

    def __post_init__(self) -> None:
        _check_classes(self.classes_)
        _check_scores(self.classes_, self.coef, self.intercept)
        _check(self.landmarks.ndim == 2, "landmarks must be a matrix.")
        _check(len(self.landmarks) == self.coef.shape[1], "coef needs a column for each landmark.")
        _check(bool(np.isfinite(self.landmarks).all()), "landmarks must be finite.")
        _check(bool(np.isfinite(self.gamma) and self.gamma > 0), "gamma must be above 0.")

    @property
    def n_columns(self) -> int:
        """Number of columns of the matrix."""
        return int(self.landmarks.shape[1])

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        """P(class | x), shape (n_rows, n_classes)."""
        near = gaussian_kernel(matrix, self.landmarks, self.gamma)
        return soft_max(near @ self.coef.T + self.intercept)


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary decision trees, one after the other. A child has a higher number than its parent.

    Attributes
    ----------
    root : array of int of shape (n_trees,)
        First node of each tree.
    feature : array of int of shape (n_nodes,)
        Column that is asked for; -1 in a leaf.
    threshold : array of shape (n_nodes,)
        A row goes to the left if its cell is at most this.
    left, right : arrays of int of shape (n_nodes,)
        Children; in a leaf, `left` is the row of `leaf_value`.
    leaf_value : array of shape (n_leaves, n_outputs)
    """

    root: CodeArray
    feature: CodeArray
    threshold: FloatArray
    left: CodeArray
    right: CodeArray
    leaf_value: FloatArray | SingleArray

    def __post_init__(self) -> None:
        n_nodes = len(self.feature)
        for name in ("threshold", "left", "right"):
            _check(
                getattr(self, name).shape == (n_nodes,), f"{name} needs one value for each node."
            )
        _check(self.root.ndim == 1 and self.root.size > 0, "there must be a tree.")
        _check(bool(((self.root >= 0) & (self.root < n_nodes)).all()), "root is not a node.")
        _check(self.leaf_value.ndim == 2, "leaf_value must be a matrix.")
        _check(bool(np.isfinite(self.leaf_value).all()), "leaf_value must be finite.")
        inside = self.feature != LEAF
        _check(bool((self.feature >= LEAF).all()), "feature is not a column.")
        number = np.arange(n_nodes)[inside]
        for child in (self.left[inside], self.right[inside]):
            # so that a row always comes to a leaf
            _check(bool(((child > number) & (child < n_nodes)).all()), "a child is out of order.")
        place = self.left[~inside]
        _check(bool(((place >= 0) & (place < len(self.leaf_value))).all()), "a leaf has no value.")
        _check(not np.isnan(self.threshold[inside]).any(), "a threshold is missing.")

    def check_columns(self, n_columns: int) -> None:
        """Refuse trees that ask for a column which is not there."""
        _check(bool((self.feature < n_columns).all()), "feature is not a column of the matrix.")

    def leaves(self, matrix: Any) -> CodeArray:
        """Row of `leaf_value` that each row comes to in each tree, (n_rows, n_trees)."""
        node = np.tile(self.root, len(matrix))
        row = np.repeat(np.arange(len(matrix)), len(self.root))
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while moving.size:
            here = node[moving]
            goes_left = matrix[row[moving], self.feature[here]] <= self.threshold[here]
            child = np.where(goes_left, self.left[here], self.right[here])
            node[moving] = child
            moving = moving[self.feature[child] != LEAF]
        return np.asarray(self.left[node]).reshape(len(matrix), len(self.root))

    def blocks(self, n_rows: int) -> list[slice]:
        """Row ranges that are small enough to be visited at once."""
        size = max(MOST_VISITS // len(self.root), 1)
        return [slice(start, start + size) for start in range(0, n_rows, size)]


@dataclass(frozen=True, eq=False)
class ForestClassifier:
    """The mean of the class shares in the leaves that a row comes to.

    Attributes
    ----------
    classes_ : array of int of shape (n_classes,)
        Class codes in rising order.
    n_columns : int
    trees : Trees
        The leaves hold class shares. Cells are compared in single precision, as in training.
    """

    classes_: IndexArray
    n_columns: int
    trees: Trees

    def __post_init__(self) -> None:
        _check_classes(self.classes_)
        self.trees.check_columns(self.n_columns)
        share = self.trees.leaf_value
        _check(share.shape[1] == len(self.classes_), "a leaf needs a share for each class.")
        close = np.abs(share.sum(axis=1) - 1.0) < 1e-4
        _check(bool(np.all(share >= 0) and close.all()), "shares of a leaf must sum to 1.")

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        """P(class | x), shape (n_rows, n_classes)."""
        out = np.empty((len(matrix), len(self.classes_)))
        for span in self.trees.blocks(len(matrix)):
            total = np.zeros((len(matrix[span]), len(self.classes_)))
            for leaf in self.trees.leaves(matrix[span].astype(np.float32)).T:
                total += self.trees.leaf_value[leaf]
            out[span] = total / total.sum(axis=1, keepdims=True)
        return out


@dataclass(frozen=True, eq=False)
class BoostedClassifier:
    """P(class | x) proportional to exp(baseline + sum over the trees of the class).

    Attributes
    ----------
    classes_ : array of int of shape (n_classes,)
        Class codes in rising order.
    n_columns : int
    trees : Trees
        The leaves hold one number. Each round has a tree for every class.
    tree_class : array of int of shape (n_trees,)
        Place of the class that a tree speaks for.
    baseline : array of shape (n_classes,)
    """

    classes_: IndexArray
    n_columns: int
    trees: Trees
    tree_class: CodeArray
    baseline: FloatArray

    def __post_init__(self) -> None:
        _check_classes(self.classes_)
        self.trees.check_columns(self.n_columns)
        n_classes = len(self.classes_)
        _check(self.trees.leaf_value.shape[1] == 1, "a leaf needs one number.")
        _check(self.tree_class.shape == self.trees.root.shape, "each tree needs a class.")
        inside = (self.tree_class >= 0) & (self.tree_class < n_classes)
        _check(bool(inside.all()), "tree_class is not a class.")
        _check(self.baseline.shape == (n_classes,), "baseline needs a number for each class.")
        _check(bool(np.isfinite(self.baseline).all()), "baseline must be finite.")

    def predict_proba(self, matrix: FloatArray) -> FloatArray:
        """P(class | x), shape (n_rows, n_classes)."""
        out = np.empty((len(matrix), len(self.classes_)))
        value = self.trees.leaf_value[:, 0]
        for span in self.trees.blocks(len(matrix)):
            score = np.tile(self.baseline, (len(matrix[span]), 1))
            leaves = self.trees.leaves(matrix[span])
            for place, leaf in zip(self.tree_class, leaves.T, strict=True):
                score[:, place] += value[leaf]
            out[span] = soft_max(score)
        return out


PlainClassifier = LinearClassifier | KernelClassifier | ForestClassifier | BoostedClassifier


def soft_max(score: FloatArray) -> FloatArray:
    """exp(score), divided by its sum over the last axis."""
    score = np.nan_to_num(score)  # of cells that are far beyond all others
    share = np.exp(score - score.max(axis=-1, keepdims=True))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))


def gaussian_kernel(matrix: FloatArray, landmarks: FloatArray, gamma: float) -> FloatArray:
    """exp(-gamma |x - l|^2) of each row and landmark."""
    distance = (
        np.einsum("ij,ij->i", matrix, matrix)[:, None]
        - 2.0 * matrix @ landmarks.T
        + np.einsum("ij,ij->i", landmarks, landmarks)
    )
    return np.asarray(np.exp(-gamma * np.maximum(distance, 0.0)))


def _check(fine: bool, message: str) -> None:
    if not fine:
        raise ValueError(message)


def _check_classes(classes: IndexArray) -> None:
    _check(classes.ndim == 1 and classes.size > 1, "there must be at least two classes.")
    rising = bool((np.diff(classes) > 0).all() and classes[0] >= 0)
    _check(rising, "classes_ must be class codes in rising order.")


def _check_scores(classes: IndexArray, coef: FloatArray, intercept: FloatArray) -> None:
    _check(coef.ndim == 2 and len(coef) == len(classes), "coef needs a row for each class.")
    _check(intercept.shape == (len(classes),), "intercept needs a number for each class.")
    finite = np.isfinite(coef).all() and np.isfinite(intercept).all()
    _check(bool(finite), "coef and intercept must be finite.")
