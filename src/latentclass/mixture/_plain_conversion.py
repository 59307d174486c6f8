"""From a fitted scikit-learn classifier to a plain value that predicts the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentclass._compat import boosting_baseline, boosting_nodes
from latentclass._types import CodeArray, FloatArray
from latentclass.mixture._kernel_classifier import for_each_class
from latentclass.mixture._plain_classifiers import (
    LEAF,
    BoostedClassifier,
    ForestClassifier,
    LinearClassifier,
    Trees,
)


def to_plain(classifier: Any) -> Any:
    """The value of a fitted classifier by name."""
    return CONVERTERS[type(classifier).__name__](classifier)


def _logistic_regression(classifier: Any) -> LinearClassifier:
    return LinearClassifier(
        classifier.classes_,
        for_each_class(classifier.coef_),
        for_each_class(classifier.intercept_[:, None])[:, 0],
    )


def _forest(classifier: Any) -> ForestClassifier:
    parts = [
        (tree.feature, tree.threshold, tree.children_left, tree.children_right, tree.value[:, 0])
        for tree in (one.tree_ for one in classifier.estimators_)
    ]
    # scikit-learn marks leaves by a child of -1; single precision is enough for shares
    joined = [
        (np.where(left < 0, LEAF, feature), threshold, left, right, value.astype(np.float32))
        for feature, threshold, left, right, value in parts
    ]
    return ForestClassifier(classifier.classes_, classifier.n_features_in_, _join(joined))


def _boosting(classifier: Any) -> BoostedClassifier:
    rounds = boosting_nodes(classifier)
    n_classes = len(classifier.classes_)
    # of two classes scikit-learn has trees for the second only
    first = 1 if len(rounds[0]) == 1 else 0
    joined, tree_class = [], []
    for trees in rounds:
        for place, nodes in enumerate(trees, start=first):
            is_leaf = nodes["is_leaf"].astype(bool)
            feature = np.where(is_leaf, LEAF, nodes["feature_idx"].astype(np.int64))
            left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
            joined.append((feature, nodes["num_threshold"], left, right, nodes["value"][:, None]))
            tree_class.append(place)
    baseline = np.zeros(n_classes)
    baseline[first:] = boosting_baseline(classifier)
    return BoostedClassifier(
        classifier.classes_,
        classifier.n_features_in_,
        _join(joined),
        np.asarray(tree_class, dtype=np.int32),
        baseline,
    )


Nodes = tuple[CodeArray, FloatArray, CodeArray, CodeArray, FloatArray]
"""Feature, threshold, left and right child, and value of the nodes of one tree."""


def _join(trees: list[Nodes]) -> Trees:
    """One numbering of all nodes. Only leaves keep their values."""
    sizes = [len(feature) for feature, *_ in trees]
    root = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    feature = np.concatenate([one[0] for one in trees])
    threshold = np.concatenate([one[1] for one in trees])
    left, right = (
        np.concatenate([one[side] + start for one, start in zip(trees, root, strict=True)])
        for side in (2, 3)
    )
    value = np.concatenate([one[4] for one in trees])
    is_leaf = feature == LEAF
    left[is_leaf] = np.arange(np.count_nonzero(is_leaf))
    codes = (array.astype(np.int32) for array in (root, feature, left, right))
    root, feature, left, right = codes
    return Trees(root, feature, np.where(is_leaf, 0.0, threshold), left, right, value[is_leaf])


CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "LogisticRegression": _logistic_regression,
    "KernelLogisticRegression": lambda classifier: classifier.fitted_,
    "ExtraTreesClassifier": _forest,
    "RandomForestClassifier": _forest,
    "HistGradientBoostingClassifier": _boosting,
}
"""What turns a fitted classifier into a value, by the name of its class."""
