"""How estimators read tables and labels, in `fit` and after: the same for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._warn import warn_user
from latentclass.data._holes import mark_holes
from latentclass.data._labels import UNLABELLED, code_labels, label_array
from latentclass.data._match import are_numbered, match_columns
from latentclass.data._number_facts import learn_number_facts
from latentclass.data._rare import MANY_VALUES, RARE_COUNT, share_rare_level, spare_levels
from latentclass.data._read import (
    RawTable,
    are_records,
    as_frame,
    listed_to_array,
    read_raw,
    refuse_non_table,
)
from latentclass.data._schema import Schema, Table, join_tables, learn_schema
from latentclass.data._suspects import ENOUGH_ROWS, IDENTIFIER_SHARE, is_identifier
from latentclass.data._unseen import tell_unseen, unseen_examples
from latentclass.estimator._pickling import VersionedPickle
from latentclass.exceptions import TableWarning, UnseenValueWarning

LARGEST = 1e205
"""Largest number in a column. Standardised values are cut off at 1e100, so what a model makes of
such columns stays far below the largest double, 1.8e308."""


@dataclass(frozen=True, eq=False)
class Training:
    """What a model learns from.

    Attributes
    ----------
    table : Table
        Coded rows of positive weight.
    y : array of shape (n_rows,)
        Class codes, -1 for a row without a label.
    weight : array of shape (n_rows,)
    schema : Schema
    classes : array of shape (n_classes,)
        Labels in sorted order.
    row_numbers : array of shape (n_rows,)
        Where these rows stand in the table as it was given, which has `n_given` rows.
    n_given : int
    columns : mapping
        scikit-learn's attributes about the columns: `n_features_in_`, `feature_names_in_`.
    """

    table: Table
    y: IndexArray
    weight: FloatArray
    schema: Schema
    classes: npt.NDArray[Any]
    row_numbers: IndexArray
    n_given: int
    columns: Mapping[str, Any]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return np.asarray(self.y != UNLABELLED)

    def take(self, rows: IndexArray | BoolArray) -> Training:
        """Some of the rows, by index or mask; schema and classes stay those of all rows."""
        return replace(
            self,
            table=self.table.take(rows),
            y=self.y[rows],
            weight=self.weight[rows],
            row_numbers=self.row_numbers[rows],
        )

    def join(self, other: Training) -> Training:
        """These rows and those of another part of the same dense table, which follow them."""
        n_given = self.n_given + other.n_given
        return replace(
            self,
            table=join_tables([self.table, other.table]),
            y=np.concatenate([self.y, other.y]),
            weight=np.concatenate([self.weight, other.weight]),
            row_numbers=np.concatenate([self.row_numbers, self.n_given + other.row_numbers]),
            n_given=n_given,
        )

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes about the table and its labels."""
        return {
            **self.columns,
            "classes_": self.classes,
            "schema_": self.schema,
            "n_unlabelled_": int(np.count_nonzero(~self.labelled)),
            "_n_rows": int(self.table.n_rows),
        }


class TableReader(VersionedPickle):
    """Mixin of estimators that learn from a table and labels. Reading changes nothing in them."""

    categorical_features: Any
    handle_unknown: str
    columns: str = "strict"
    missing_indicator: bool = False

    _most_levels: int | None = MANY_VALUES
    """Most levels of a column with very many values; None if the cost is linear in the levels."""

    _counts_categories: bool = True
    """Whether discrete columns have tables of counts, so that an unseen category can have one."""

    classes_: npt.NDArray[Any]
    schema_: Schema
    n_unlabelled_: int
    _n_rows: int
    """Number of training rows of positive weight."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        refuse_bad_pair(X, y, type(self).__name__)
        labels = label_array(y)
        weight = check_weight(sample_weight, len(labels))
        n_out = 0 if sample_weight is None else int(np.count_nonzero(weight == 0))
        classes, codes = code_labels(labels, weight if n_out else None)
        schema, table = learn_schema(
            X,
            categorical_features=self.categorical_features,
            weight=weight if n_out else None,
            owner=type(self).__name__,
        )
        columns = read_columns(X)
        n_rows = table.n_rows + n_out
        if n_rows != len(codes):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
                f"y has {len(codes)} labels. Pass one label per row."
            )
        row_numbers = np.arange(n_rows)
        if n_out:
            keep = weight > 0
            codes, weight, row_numbers = codes[keep], weight[keep], row_numbers[keep]
            classes, codes = _drop_absent_classes(classes, codes)
        schema, table = review_columns(schema, table, weight, self._most_levels)
        if self.missing_indicator:
            schema, table = mark_holes(schema, table)
        if self.handle_unknown == "smooth":
            schema = spare_levels(schema)
        return Training(table, codes, weight, schema, classes, row_numbers, n_rows, columns)

    def _read(self, X: Any) -> Table:
        """Read rows for a fitted model, and say which of their values it does not know."""
        raw, table = self._encode(X)
        for name, (example, count) in unseen_examples(self.schema_, raw, table).items():
            warn_user(tell_unseen(name, example, count), UnseenValueWarning)
        return table

    def _encode(self, X: Any) -> tuple[RawTable, Table]:
        check_is_fitted(self)
        owner = type(self).__name__
        if isinstance(X, np.ndarray | list | tuple) and not are_records(X):
            X = listed_to_array(X)
            if isinstance(X, np.ndarray) and X.ndim == 1:
                raise ValueError(
                    f"Expected a table, got a 1-dimensional array of {len(X)} values. Reshape your "
                    "data: X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one column."
                )
        raw = self._match(X, read_raw(X, owner=owner))
        return raw, self.schema_.encode_raw(raw, self.handle_unknown)

    def _match(self, X: Any, raw: RawTable) -> RawTable:
        """The table with the columns of `fit` in their order, or an error."""
        schema = self.schema_
        same_sort = raw.named == schema.named and (raw.header is None) == (schema.header is None)
        names = schema.given_names
        if same_sort and raw.names == names:
            return raw  # the usual case, in which scikit-learn has nothing to say either
        by_name = raw.container == "records"
        if raw.named and schema.named and self.columns == "by_name":
            # names that only count the columns say nothing about which is which
            by_name |= not are_numbered(names) and bool(set(raw.names) & set(names))
        if by_name:
            return match_columns(raw, names, owner=type(self).__name__)
        try:
            validate_data(self, as_frame(X), reset=False, skip_check_array=True)
        except ValueError as error:
            if "feature names should match" not in str(error):
                raise
            raise ValueError(
                f"{error}Select the columns of fit in their order: X[model.feature_names_in_]."
            ) from None
        return raw


def store_fitted(estimator: Any, fitted: Mapping[str, Any]) -> None:
    """Replace all that an earlier fit left behind, in one step that cannot be interrupted."""
    kept = {name: value for name, value in vars(estimator).items() if not name.endswith("_")}
    estimator.__dict__ = {**kept, **fitted}


def refuse_bad_pair(X: Any, y: Any, owner: str) -> None:
    """Refuse what is not a table, and the name of a column in place of labels."""
    refuse_non_table(X, owner=owner)
    name = y[0] if isinstance(y, list | tuple) and len(y) == 1 else y
    if not isinstance(name, str):
        return
    raw = read_raw(X, owner=owner)
    if raw.named and name in raw.names and (raw.n_rows > 1 or name is y):
        raise ValueError(
            f"y is {y!r}, the name of a column of X. Pass the column itself, X[{name!r}], and "
            "leave it out of X."
        )
    if name is y:
        raise ValueError(f"y is the text {y!r}. Pass one label per row.")


def read_columns(X: Any) -> dict[str, Any]:
    """scikit-learn's attributes about the columns of a table."""
    if are_records(X):
        names = list(dict.fromkeys(str(key) for row in X for key in row))
        return {
            "feature_names_in_": np.array(names, dtype=object),
            "n_features_in_": len(names),
        }
    probe = BaseEstimator()
    validate_data(probe, as_frame(X), skip_check_array=True)
    return dict(vars(probe))


def review_columns(
    schema: Schema, table: Table, weight: FloatArray, most_levels: int | None
) -> tuple[Schema, Table]:
    """Check columns before a fit: refuse those of huge numbers, warn of those that are of no use.

    The rare values of columns with very many are joined.

    `weight` are the weights of the table's rows; `most_levels` as in `share_rare_level`.
    """
    refuse_huge(schema, table)
    schema = learn_number_facts(schema, table)
    named = warn_of_columns(schema, _cells_seen(schema, table))
    schema, table = share_rare_level(schema, table, weight, most_levels)
    warn_of_lost_columns(schema, named)
    return schema, table


def warn_of_columns(schema: Schema, n_seen: Sequence[int]) -> list[str]:
    """Warn of columns that are of no use; `n_seen` are the cells of the discrete columns.

    Returns the names of those that look like identifiers.
    """
    empty = [column.name for column in schema.columns if not column.observed]
    if empty:
        warn_user(
            f"Columns {empty} have no value in any row: they are ignored, now and in prediction. "
            "Drop them to silence this warning.",
            TableWarning,
        )
    names = [
        schema.columns[j].name
        for j, n_values, n_cells in zip(
            schema.discrete, schema.n_levels.tolist(), n_seen, strict=True
        )
        if is_identifier(n_values, n_cells)
    ]
    if names:
        warn_user(
            f"Columns {names} look like identifiers: more than {100 * IDENTIFIER_SHARE:.0f} % of "
            "their values differ, so they say nothing about other rows. Drop them, or, if they "
            "hold numbers, convert them to a numeric type.",
            TableWarning,
        )
    return names


def warn_of_lost_columns(schema: Schema, named: Sequence[str]) -> None:
    """Warn of columns whose values are all rare, but for those that were `named` before."""
    lost = [
        column.name
        for column in schema.columns
        if column.rare and len(column.categories) == 1 and column.name not in named
    ]
    if lost:
        warn_user(
            f"Columns {lost} have more than {MANY_VALUES} values, each in fewer than {RARE_COUNT} "
            "rows: they are read as one value, which says nothing. Join the values into groups, "
            "or, if they are numbers, convert them to a numeric type.",
            TableWarning,
        )


def refuse_huge(schema: Schema, table: Table) -> None:
    """Refuse columns whose numbers are so large that samples and completions would overflow."""
    numeric: Any = table.numeric
    if sp.issparse(numeric):
        low, high = (fold.reduce(numeric.data, initial=0.0) for fold in (np.fmin, np.fmax))
    else:
        low, high = (np.nan_to_num(ends) for ends in table.ranges)
    if max(np.max(high, initial=0.0), -np.min(low, initial=0.0)) <= LARGEST:
        return
    place = int((abs(numeric) > LARGEST).nonzero()[1][0])
    name = schema.columns[schema.continuous[place]].name
    raise ValueError(
        f"Column {name!r} holds numbers beyond {LARGEST:.0e}, whose sums and samples overflow. "
        "Rescale the column."
    )


def _cells_seen(schema: Schema, table: Table) -> list[int]:
    """Number of cells of each discrete column that could be an identifier, 0 for the others."""
    return [
        # few values are no identifier, so a sparse table is never looked at
        int(np.count_nonzero(np.asarray(table.codes[:, place]) >= 0))
        if n_values > IDENTIFIER_SHARE * ENOUGH_ROWS
        else 0
        for place, n_values in enumerate(schema.n_levels.tolist())
    ]


def label_codes(y: Any, classes: npt.NDArray[Any], n_rows: int) -> IndexArray:
    """Class code of each row from a single label or one per row."""
    labels = np.atleast_1d(np.asarray(y))
    if len(labels) == 1:
        labels = np.repeat(labels, n_rows)
    if len(labels) != n_rows:
        raise ValueError(
            f"y has {len(labels)} labels for {n_rows} rows. Pass a single label or one per row."
        )
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise ValueError(
            f"y holds {unknown[0]!r}, which is not a class. Classes: {classes.tolist()}."
        )
    return np.asarray(np.searchsorted(classes, labels))


def _drop_absent_classes(
    classes: npt.NDArray[Any], codes: IndexArray
) -> tuple[npt.NDArray[Any], IndexArray]:
    """Drop classes whose total weight is zero."""
    present = np.flatnonzero(np.bincount(codes[codes != UNLABELLED], minlength=1))
    if present.size == 0:
        raise ValueError(
            "y has no labelled row of positive weight. Label at least one row of each class."
        )
    position = np.full(len(classes) + 1, UNLABELLED)
    position[present] = np.arange(len(present))
    return classes[present], position[codes]


def check_weight(sample_weight: Any, n_rows: int, *, all_zero: bool = False) -> FloatArray:
    """One weight per row, all 1 by default; weights that make no sense are refused.

    With `all_zero`, no row needs a positive weight.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.array(sample_weight, dtype=np.float64)  # a copy: the caller's stays as it is
    except (TypeError, ValueError) as error:
        raise type(error)(f"sample_weight must hold one number per row: {error}.") from None
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: pass one weight per row."
        )
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if wrong.size:
        raise ValueError(
            f"sample_weight[{wrong[0]}] is {weight[wrong[0]]:g}; weights must be finite and not "
            "negative (0 leaves the row out; NaN and inf have no meaning)."
        )
    if np.any((weight > 1e100) | ((weight > 0) & (weight < 1e-100))):
        raise ValueError(
            f"sample_weight goes from {weight[weight > 0].min():g} to {weight.max():g}: beyond "
            "1e-100 and 1e100 sums are lost to rounding. Rescale the weights."
        )
    if not all_zero and not np.any(weight > 0):
        raise ValueError(
            "Sample weights are all zero: sample_weight must hold at least one positive weight."
        )
    return weight
