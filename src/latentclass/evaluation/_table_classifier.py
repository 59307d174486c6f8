"""Classifiers that need numbers without holes, on any table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from latentclass._validation import check_option
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.data._read import listed_to_array
from latentclass.data._schema import Schema, Table, learn_schema

FloatArray = npt.NDArray[np.float64]


def _has_proba(model: TableClassifier) -> bool:
    getattr(getattr(model, "estimator_", model.estimator), "predict_proba")  # noqa: B009
    return True


class TableClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Give a scikit-learn classifier a table with text, categories and missing cells.

    All it needs is learned in `fit`, so in cross-validation from the training part only:
    continuous columns are standardised, and their missing cells become the mean; discrete ones
    become one 0/1 column for each category, all 0 where the cell is missing or its category is
    new. Rows without label are left out.

    Parameters
    ----------
    estimator : classifier
    scale : bool, default=True
        Standardise the continuous columns. Trees do not need it.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete, as in the library's own classifiers.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : array of shape (n_classes,)
    schema_ : Schema
        Names, kinds and categories of the columns.
    mean_, scale_ : array of shape (n_continuous,)

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[1.0, "red"], [2.0, None], [None, "blue"], [4.0, "blue"]]
    >>> model = TableClassifier(LogisticRegression()).fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1.5, "red"], [3.5, "green"]])
    array(['a', 'b'], dtype='<U1')
    """

    estimator_: Any
    classes_: npt.NDArray[Any]
    schema_: Schema
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
        classes, codes = encode_labels(y)
        known = codes != UNLABELLED
        self.schema_, table = learn_schema(
            X, categorical_features=self.categorical_features, owner=type(self).__name__
        )
        if table.n_rows != len(codes):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has "
                f"{table.n_rows} rows, y has {len(codes)} labels. Give one label a row."
            )
        validate_data(self, X, skip_check_array=True)  # sets the number and names of columns
        table = table.take(np.flatnonzero(known))
        numeric = np.asarray(table.block(slice(None)).numeric)
        seen = np.maximum(np.sum(~np.isnan(numeric), axis=0), 1)
        self.mean_ = np.nansum(numeric, axis=0) / seen
        spread = np.sqrt(np.nansum((numeric - self.mean_) ** 2, axis=0) / seen)
        # a spread of rounding errors is that of a constant column
        varies = spread > 1e-12 * np.maximum(np.abs(self.mean_), 1e-300)
        self.scale_ = np.where(varies, spread, 1.0) if self.scale else np.ones(len(spread))
        self.estimator_ = clone(self.estimator).fit(self._numbers(table), classes[codes[known]])
        self.classes_ = self.estimator_.classes_
        return self

    def _numbers(self, table: Table) -> FloatArray:
        block = table.block(slice(None))
        centred = (block.numeric - self.mean_) / self.scale_
        parts = [np.where(np.isnan(block.numeric), 0.0, centred)]
        for place, n_levels in enumerate(self.schema_.n_levels):
            parts.append((block.codes[:, place, None] == np.arange(n_levels)).astype(np.float64))
        return np.hstack(parts)

    def _read(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = listed_to_array(X)
        if isinstance(X, np.ndarray) and X.ndim == 1:
            raise ValueError(
                f"Expected a table, got a 1-dimensional array of {len(X)} values. Reshape your "
                "data: X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one column."
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._numbers(self.schema_.encode(X, owner=type(self).__name__))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predicted class of each row."""
        numbers = self._read(X)
        return np.asarray(self.estimator_.predict(numbers))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, in the order of `classes_`."""
        numbers = self._read(X)
        return np.asarray(self.estimator_.predict_proba(numbers), dtype=np.float64)
