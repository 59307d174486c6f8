"""Classifiers of components by name, and the matrix that they take.

The matrix has no missing cells: a continuous column is centred and scaled, and a missing number is
the column's mean. So the classifiers take any table. That a cell is missing says nothing about the
class, as in the other models, unless `missing_indicator` asks for it: `explain` hides cells, and a
classifier that takes hidden cells for missing ones would explain the hiding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Schema, Table
from latentclass.engine import _product as product


def _logistic_regression(strength: float = 1.0) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0 / strength, max_iter=1000)


def _free_logistic_regression() -> Any:
    return _logistic_regression(strength=0.01)


def _kernel_logistic_regression() -> Any:
    from latentclass.mixture._kernel_classifier import KernelLogisticRegression

    return KernelLogisticRegression()


def _extra_trees() -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=300)


def _hist_gradient_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=8,
        min_samples_leaf=2,
        l2_regularization=3.0,
        max_features=0.3,
    )


def _random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=300)


PRESETS: dict[str, Callable[[], Any]] = {
    "logistic_regression": _logistic_regression,
    "free_logistic_regression": _free_logistic_regression,
    "kernel_logistic_regression": _kernel_logistic_regression,
    "extra_trees": _extra_trees,
    "random_forest": _random_forest,
    "hist_gradient_boosting": _hist_gradient_boosting,
}
"""What makes an unfitted classifier, by the name that `estimator` takes."""


def make_classifier(estimator: Any) -> Any:
    """An unfitted classifier by its name, or the one that was given."""
    return PRESETS[estimator]() if isinstance(estimator, str) else estimator


@dataclass(frozen=True, eq=False)
class FilledCoder:
    """Turns rows into a matrix without missing cells (see `MatrixCoder`).

    Attributes
    ----------
    offsets : array of shape (n_discrete + 1,)
        Places of the levels of the discrete columns.
    mean, scale : arrays of shape (n_continuous,)
        Mean and standard deviation of the training rows.
    holed : array of bool of shape (n_continuous,)
        Columns whose missing cells have marks in the matrix. New fits have none; files may.
    """

    offsets: IndexArray
    mean: FloatArray
    scale: FloatArray
    holed: BoolArray

    @classmethod
    def of(cls, schema: Schema, table: Table, weight: FloatArray) -> FilledCoder:
        """The coder of training rows."""
        numeric = table.block(slice(None)).numeric
        seen = ~np.isnan(numeric)
        amount = np.maximum(weight @ seen, 1e-300)
        mean = weight @ np.where(seen, numeric, 0.0) / amount
        about = np.where(seen, numeric - mean, 0.0)
        scale = np.sqrt(weight @ (about * about) / amount)
        return cls(
            np.concatenate([[0], np.cumsum(schema.n_levels)]).astype(np.intp),
            mean,
            np.where(scale > 0, scale, 1.0),
            np.zeros(len(mean), dtype=bool),
        )

    def matrix(self, block: Block) -> FloatArray:
        """Rows as numbers: continuous columns, marks of missing ones, 0 and 1 for categories."""
        missing = np.isnan(block.numeric)
        filled = np.where(missing, 0.0, (block.numeric - self.mean) / self.scale)
        levels = product.one_hot(block.codes, self.offsets).toarray()
        return np.hstack([filled, missing[:, self.holed], levels])

    @contextmanager
    def naming_holes(self, block: Block) -> Iterator[None]:
        """Nothing to name: there are no missing cells in the matrix."""
        del block
        yield
