"""Let classifiers that need numbers without missing cells work on any table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.data._schema import Schema, Table
from latentclass.engine._numeric import VALUE_LIMIT, divide
from latentclass.estimator._decision import least_loss
from latentclass.estimator._reading import TableReader, store_fitted


def _has_proba(model: TableClassifier) -> bool:
    getattr(getattr(model, "estimator_", model.estimator), "predict_proba")  # noqa: B009
    return True


class TableClassifier(TableReader, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Use a scikit-learn classifier on a table with text, categories and missing cells.

    Continuous columns are standardised, and their missing cells are replaced by the mean. A
    discrete column becomes one 0/1 column per category. All of them are 0 if the cell is missing
    or its category was not seen in `fit`. Unlabelled rows are left out. Everything is learned in
    `fit`, so cross-validation learns it from the training rows only.

    Parameters
    ----------
    estimator : classifier
        A scikit-learn classifier for tables of numbers.
    scale : bool, default=True
        Whether to standardise the continuous columns. Trees do not need it.
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

    def fit(self, X: Any, y: Any) -> Self:
        """Learn how to encode the table, and fit the classifier to the encoded labelled rows."""
        check_option("scale", self.scale, (True, False))
        everything = self._read_training(X, y, None)
        training = everything.take(everything.labelled)
        numeric = np.asarray(training.table.block(slice(None)).numeric)
        seen = np.maximum(np.sum(~np.isnan(numeric), axis=0), 1)
        mean = np.nansum(numeric, axis=0) / seen
        centred = np.where(np.isnan(numeric), 0.0, numeric - mean)
        unit = np.abs(centred).max(axis=0)
        # squared as shares of the largest, because squares of large numbers overflow
        shares = divide(centred, unit)
        spread = unit * np.sqrt(np.sum(shares**2, axis=0) / seen)
        # rounding errors give even a constant column a tiny spread
        varies = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
        scale = np.where(varies, spread, 1.0) if self.scale else np.ones(len(spread))
        limit = VALUE_LIMIT if self.scale else np.inf
        numbers = to_numbers(training.table, training.schema, mean, scale, limit)
        if numbers.shape[1] == 0:
            raise ValueError(
                f"X has no column with a value, so {type(self.estimator).__name__} has nothing to "
                "learn from. Pass at least one column with values."
            )
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

    def predict(self, X: Any, loss: Any = None) -> npt.NDArray[Any]:
        """Predict the class of each row.

        With `loss`, which is read as in `NaiveBayes.predict`, it is the class of least expected
        loss under `predict_proba`; without it, the answer of the classifier itself.
        """
        if loss is not None:
            if not hasattr(self, "predict_proba"):
                raise ValueError(
                    f"loss needs probabilities, but {type(self.estimator).__name__} has no "
                    "predict_proba. Wrap it in scikit-learn's CalibratedClassifierCV."
                )
            return np.asarray(self.classes_[least_loss(self.predict_proba(X), loss, self.classes_)])
        numbers = read_numbers(self, X)
        return np.asarray(self.estimator_.predict(numbers))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, in the order of `classes_`."""
        numbers = read_numbers(self, X)
        return np.asarray(self.estimator_.predict_proba(numbers), dtype=np.float64)


def read_numbers(model: TableClassifier, X: Any) -> FloatArray:
    """Return a table as the matrix that the wrapped classifier of a fitted model reads."""
    limit = VALUE_LIMIT if model.scale else np.inf
    return to_numbers(model._encode(X)[1], model.schema_, model.mean_, model.scale_, limit)


def to_numbers(
    table: Table, schema: Schema, mean: FloatArray, scale: FloatArray, limit: float
) -> FloatArray:
    """Return an encoded table as a matrix without missing values; `limit` is the largest number."""
    block = table.block(slice(None))
    with np.errstate(over="ignore"):
        centred = np.clip((block.numeric - mean) / scale, -limit, limit)
    parts = [np.where(np.isnan(block.numeric), 0.0, centred)]
    for place, n_levels in enumerate(schema.n_levels):
        parts.append((block.codes[:, place, None] == np.arange(n_levels)).astype(np.float64))
    return np.hstack(parts)
