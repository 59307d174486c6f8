"""Classifiers that need numbers without holes, on any table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.data._schema import Schema, Table
from latentclass.estimator._reading import TableReader, store_fitted


def _has_proba(model: TableClassifier) -> bool:
    getattr(getattr(model, "estimator_", model.estimator), "predict_proba")  # noqa: B009
    return True


class TableClassifier(TableReader, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Give a scikit-learn classifier a table with text, categories and missing cells.

    All it needs is learned in `fit`, so in cross-validation from the training part only:
    continuous columns are standardised, and their missing cells become the mean; discrete ones
    become one 0/1 column for each category, all 0 where the cell is missing or its category is
    new. Rows without label are left out.

    Parameters
    ----------
    estimator : classifier
        A scikit-learn classifier for tables of numbers.
    scale : bool, default=True
        Standardise the continuous columns. Trees do not need it.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    schema_ : Schema
        Names, kinds and categories of the columns.
    mean_, scale_ : arrays of shape (n_continuous,)
        What is subtracted from each continuous column, and what it is then divided by.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[1.0, "red"], [2.0, None], [None, "blue"], [4.0, "blue"]]
    >>> model = TableClassifier(LogisticRegression()).fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.5, "red"], [3.5, "green"]])
    array(['a', 'b'], dtype='<U1')
    """

    handle_unknown = "missing"

    estimator_: Any
    mean_: FloatArray
    scale_: FloatArray

    def __init__(
        self, estimator: Any, *, scale: bool = True, categorical_features: Any = "from_dtype"
    ) -> None:
        self.estimator = estimator
        self.scale = scale
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn how to code the table, and fit the classifier on the coded labelled rows."""
        check_option("scale", self.scale, (True, False))
        everything = self._read_training(X, y, None)
        training = everything.take(everything.labelled)
        numeric = np.asarray(training.table.block(slice(None)).numeric)
        seen = np.maximum(np.sum(~np.isnan(numeric), axis=0), 1)
        mean = np.nansum(numeric, axis=0) / seen
        spread = np.sqrt(np.nansum((numeric - mean) ** 2, axis=0) / seen)
        # a spread of rounding errors is that of a constant column
        varies = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(varies, spread, 1.0) if self.scale else np.ones(len(spread))
        numbers = to_numbers(training.table, training.schema, mean, scale)
        fitted = clone(self.estimator).fit(numbers, training.classes[training.y])
        store_fitted(
            self,
            {
                **everything.attributes(),
                "classes_": fitted.classes_,
                "estimator_": fitted,
                "mean_": mean,
                "scale_": scale,
            },
        )
        return self

    def _numbers(self, X: Any) -> FloatArray:
        table = self._read(X)
        return to_numbers(table, self.schema_, self.mean_, self.scale_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predicted class of each row."""
        numbers = self._numbers(X)
        return np.asarray(self.estimator_.predict(numbers))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, in the order of `classes_`."""
        numbers = self._numbers(X)
        return np.asarray(self.estimator_.predict_proba(numbers), dtype=np.float64)


def to_numbers(table: Table, schema: Schema, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """A coded table as a matrix without holes."""
    block = table.block(slice(None))
    centred = (block.numeric - mean) / scale
    parts = [np.where(np.isnan(block.numeric), 0.0, centred)]
    for place, n_levels in enumerate(schema.n_levels):
        parts.append((block.codes[:, place, None] == np.arange(n_levels)).astype(np.float64))
    return np.hstack(parts)
