"""The reading of the estimators that are not values yet; goes when they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from latentclass._types import FloatArray, IndexArray
from latentclass._warn import warn_user
from latentclass.data._labels import UNLABELLED, code_labels, label_array
from latentclass.data._read import listed_to_array, refuse_non_table
from latentclass.data._schema import Schema, Table, learn_schema
from latentclass.estimator._reading import check_weight


class Training(NamedTuple):
    """What a model learns from: coded rows, class codes (-1: unlabelled), positive weights."""

    table: Table
    y: IndexArray
    weight: FloatArray


class TableReader:
    """Mixin of estimators that learn from a table and labels."""

    categorical_features: Any
    handle_unknown: str

    classes_: npt.NDArray[Any]
    schema_: Schema
    n_unlabelled_: int

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        owner = type(self).__name__
        labels = label_array(y)
        weight = check_weight(sample_weight, len(labels))
        n_out = 0 if sample_weight is None else int(np.count_nonzero(weight == 0))
        classes, codes = code_labels(labels, weight if n_out else None)
        self.schema_, table = learn_schema(
            X,
            categorical_features=self.categorical_features,
            weight=weight if n_out else None,
            owner=owner,
        )
        validate_data(self, X, skip_check_array=True)  # sets the number and names of columns
        n_rows = table.n_rows + n_out
        if n_rows != len(codes):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
                f"y has {len(codes)} labels. Pass one label per row."
            )
        if n_out:
            keep = weight > 0
            codes, weight = codes[keep], weight[keep]
            present = np.flatnonzero(np.bincount(codes[codes != UNLABELLED], minlength=1))
            if present.size == 0:
                raise ValueError(
                    "y has no labelled row of positive weight. Label at least one row of each "
                    "class."
                )
            # a class all of whose rows weigh nothing is not there
            position = np.full(len(classes) + 1, UNLABELLED)
            position[present] = np.arange(len(present))
            classes, codes = classes[present], position[codes]
        self.classes_ = classes
        self.n_unlabelled_ = int(np.count_nonzero(codes == UNLABELLED))
        empty = [column.name for column in self.schema_.columns if not column.observed]
        if empty:
            warn_user(
                f"Columns {empty} have no value in any row: they are ignored, now and in "
                "prediction. Drop them to silence this warning."
            )
        return Training(table, codes, weight)

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        refuse_non_table(X)
        X = listed_to_array(X)
        if isinstance(X, np.ndarray) and X.ndim == 1:
            raise ValueError(
                f"Expected a table, got a 1-dimensional array of {len(X)} values. Reshape your "
                "data: X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one column."
            )
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except ValueError as error:
            if "feature names should match" not in str(error):
                raise
            raise ValueError(
                f"{error}Select the columns of fit in their order: X[model.feature_names_in_]."
            ) from None
        return self.schema_.encode(X, handle_unknown=self.handle_unknown, owner=type(self).__name__)
