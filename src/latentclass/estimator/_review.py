"""Warnings about tables and labels that are probably not what they seem, each once per fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import FloatArray
from latentclass._warn import warn_user
from latentclass.data._match import some
from latentclass.data._schema import Schema, Table
from latentclass.data._suspects import (
    ENOUGH_ROWS,
    LEAK_SHARE,
    counts_rows,
    is_missing_word,
    is_quantity,
    lone_predictors,
    looks_nominal,
    repeats_labels,
    some_labelled,
)
from latentclass.estimator._reading import Training
from latentclass.exceptions import TableWarning


def warn_of_suspects(training: Training, *, in_order: bool = True) -> None:
    """Warn of labels and columns that look wrong.

    `in_order` says that the rows come in the order of the user's table.
    """
    _warn_of_labels(training)
    if training.n_classes < 2 or sp.issparse(training.table.numeric):
        return
    if sp.issparse(training.table.codes):
        return
    if in_order:
        warn_of_row_numbers(training.schema, training.table)
    _warn_of_leaks(training)
    _warn_of_codes(training)


def _warn_of_labels(training: Training) -> None:
    classes = training.classes
    if training.n_classes == 1:
        warn_user(
            f"y has a single class, {classes.tolist()[0]!r}: every row will be predicted to be of "
            "it.",
            TableWarning,
        )
    if is_quantity(classes):
        warn_user(
            f"y has {len(classes)} different numbers, so it looks like a quantity, but each of "
            "them is read as a class. Cut it into a few ranges first.",
            TableWarning,
        )
    for code, label in enumerate(classes.tolist()):
        if is_missing_word(label):
            n_rows = int(np.count_nonzero(training.y == code))
            warn_user(
                f"y is the text {label!r} in {n_rows} rows, which is read as a class. Write None "
                "there if these rows have no label.",
                TableWarning,
            )


def warn_of_row_numbers(schema: Schema, table: Table) -> None:
    """Warn of whole numbers that rise with the row, unless they are the only column."""
    if sp.issparse(table.numeric) or len(schema.columns) < 2 or table.n_rows < ENOUGH_ROWS:
        return
    numeric = np.asarray(table.numeric)
    rising = np.all(np.diff(numeric[:ENOUGH_ROWS], axis=0) > 0, axis=0)
    names = [
        schema.columns[schema.continuous[place]].name
        for place in np.flatnonzero(rising)
        if counts_rows(numeric[:, place])
    ]
    if names:
        warn_user(
            f"Columns {some(names)} hold whole numbers that rise from each row to the next, as row "
            "numbers do. Drop them, unless they are quantities.",
            TableWarning,
        )


def _warn_of_leaks(training: Training) -> None:
    """Warn of columns that repeat the labels, or that predict them alone."""
    some_rows = training.take(some_labelled(training.y))
    columns, names = _side_by_side(some_rows)
    one_class = columns[some_rows.y == some_rows.y[0]]
    constant = ~(np.fmax.reduce(one_class) > np.fmin.reduce(one_class))
    repeated = [
        j
        for j in np.flatnonzero(constant).tolist()
        if repeats_labels(columns[:, j], some_rows.y, training.n_classes)
        and repeats_labels(_column(training, j), training.y, training.n_classes)
    ]
    if repeated:
        warn_user(
            f"Columns {some([names[j] for j in repeated])} repeat the labels: each class has one "
            "value of its own in them. Drop them, unless they are known before the class is.",
            TableWarning,
        )
    found = np.flatnonzero(lone_predictors(columns, some_rows.y))
    alone = [j for j in found if j not in repeated]
    if alone:
        warn_user(
            f"Columns {some([names[j] for j in alone])} alone tell the class of nearly every row: "
            f"on held-out rows, each avoids {100 * LEAK_SHARE:.0f} % of the mistakes of a blind "
            "guess. Drop them, unless they are known before the class is.",
            TableWarning,
        )


def _side_by_side(training: Training) -> tuple[FloatArray, list[str]]:
    """Numbers and codes of all columns, NaN where missing, and their names."""
    schema, codes = training.schema, np.asarray(training.table.codes)
    coded = np.where(codes < 0, np.nan, codes.astype(np.float64))
    names = [schema.columns[j].name for j in schema.continuous + schema.discrete]
    return np.hstack([np.asarray(training.table.numeric), coded]), names


def _column(training: Training, place: int) -> npt.NDArray[Any]:
    """The column that `_side_by_side` has at a place: numbers or codes."""
    numeric, codes = np.asarray(training.table.numeric), np.asarray(training.table.codes)
    n_numeric = numeric.shape[1]
    return numeric[:, place] if place < n_numeric else codes[:, place - n_numeric]


def _warn_of_codes(training: Training) -> None:
    schema = training.schema
    names = [
        schema.columns[j].name
        for place, j in enumerate(schema.continuous)
        if schema.columns[j].whole
        and looks_nominal(
            np.asarray(training.table.numeric)[:, place], training.y, training.n_classes
        )
    ]
    if names:
        warn_user(
            f"Columns {some(names)} hold whole numbers whose order tells little about the class, "
            "as codes do. If they are codes, list them in categorical_features.",
            TableWarning,
        )
