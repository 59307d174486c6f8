"""What a fit to rows in parts knows: schema, classes, column ranges, and a sample of the rows.

Two passes over the parts find it. The first merges the schemas of the parts and counts levels and
labels. The second encodes the rows, measures the columns and draws the sample. The sample depends
on the contents of the rows and the seed only, not on their order or on how they are cut into parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray, IndexArray
from latentclass.data._labels import (
    UNLABELLED,
    distinct_labels,
    label_array,
    merge_labels,
    place_labels,
)
from latentclass.data._merge import Counted, merge_schemas
from latentclass.data._rare import level_counts, merge_rare_levels
from latentclass.data._schema import Schema, Table, learn_schema
from latentclass.engine._content_folds import KeyArray, row_keys
from latentclass.estimator._parts import Part, Parts, PreparedParts
from latentclass.estimator._reading import (
    Training,
    check_weight,
    read_columns,
    refuse_huge,
    warn_of_columns,
)

Result = TypeVar("Result")

LEAST_OF_CLASS = 200
"""Rows of each class that the sample has at least, or all there are."""


@dataclass(frozen=True, eq=False)
class PartedTraining:
    """Training rows in parts.

    Attributes
    ----------
    sample : Training
        Some of the rows, or all if there are few. Its schema and classes are those of all rows.
    n_rows, n_unlabelled : int
        Number of rows with positive weight, and how many of them have no label.
    low, high : arrays of shape (n_continuous,)
        Smallest and largest value of each continuous column, NaN if it has none.
    rows : PreparedParts
        Gives each part as a `Training`.
    """

    sample: Training
    n_rows: int
    n_unlabelled: int
    low: FloatArray
    high: FloatArray
    rows: PreparedParts

    @property
    def whole(self) -> bool:
        """Whether the sample has all rows."""
        return len(self.sample.y) == self.n_rows

    def map(self, visit: Callable[[Training], Result]) -> Iterator[Result]:
        """Answers of a function about each part, in the order of the parts."""
        return self.rows.map(visit)

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes about the table and its labels."""
        return {**self.sample.attributes(), "n_unlabelled_": self.n_unlabelled}


def read_parts(
    parts: Parts,
    *,
    categorical_features: Any,
    most_levels: int | None,
    labelled: bool,
    seed: int,
    n_jobs: int | None,
    owner: str,
) -> PartedTraining:
    """Learn what a fit needs to know of all parts; if not `labelled`, there is one class."""
    look = partial(_look, categorical_features=categorical_features, owner=owner, labelled=labelled)
    seen = reduce(_merge_looks, parts.prepare(look, n_jobs).map(_itself))
    schema, counts = seen.counted
    warn_of_columns(schema, seen.n_cells)
    facts = _Facts(
        merge_rare_levels(schema, counts, most_levels),
        merge_labels(seen.labels) if labelled else np.zeros(1),
        seen.columns,
        labelled,
        owner,
    )
    rows = parts.prepare(partial(_encode, facts=facts), n_jobs)
    sampling = _Sampling(parts.sample_rows, seed)
    measured = reduce(partial(_merge_measures, sampling), rows.map(partial(_measure, sampling)))
    return PartedTraining(
        measured.rows.take(np.argsort(measured.place)),  # the order of the parts
        measured.n_rows,
        measured.n_unlabelled,
        measured.low,
        measured.high,
        rows,
    )


def _itself(value: Result) -> Result:
    return value


# ------------------------------------------------------------- the first pass: schema, classes


class _Look(NamedTuple):
    """What the first pass learns: schema, counts of levels and cells, labels, column names."""

    counted: Counted
    n_cells: list[int]
    labels: list[npt.NDArray[Any]]
    columns: Mapping[str, Any]
    name: str


def _look(part: Part, *, categorical_features: Any, owner: str, labelled: bool) -> _Look:
    labels, weight = _labels_and_weight(part, labelled=labelled)
    schema, table = learn_schema(
        part.X, categorical_features=categorical_features, weight=weight, owner=owner
    )
    _refuse_other_length(table.n_rows if weight is None else len(weight), labels)
    own = np.ones(table.n_rows) if weight is None else weight[weight > 0]
    counts = level_counts(schema, table, own)
    n_cells = [int(count.sum()) for count in level_counts(schema, table, np.ones(len(own)))]
    found = [] if labels is None else [distinct_labels(labels, weight)[0]]
    return _Look((schema, counts), n_cells, found, read_columns(part.X), part.name)


def _merge_looks(first: _Look, other: _Look) -> _Look:
    counted = merge_schemas(first.counted, other.counted, other.name)
    cells = dict(zip(first.counted[0].discrete, first.n_cells, strict=True))
    for j, n_more in zip(other.counted[0].discrete, other.n_cells, strict=True):
        cells[j] = cells.get(j, 0) + n_more
    n_cells = [cells[j] for j in counted[0].discrete]
    return _Look(counted, n_cells, first.labels + other.labels, first.columns, first.name)


def _labels_and_weight(
    part: Part, *, labelled: bool
) -> tuple[npt.NDArray[Any] | None, FloatArray | None]:
    if labelled and part.y is None:
        raise ValueError("It has no labels. Name the column of labels: Parts(source, target=...).")
    labels = label_array(part.y) if labelled else None
    if part.weight is None:
        return labels, None
    given = np.asarray(part.weight)
    return labels, check_weight(given, len(given), all_zero=True)


def _refuse_other_length(n_rows: int, labels: npt.NDArray[Any] | None) -> None:
    if labels is not None and len(labels) != n_rows:
        raise ValueError(f"It has {n_rows} rows and {len(labels)} labels. Pass one label per row.")


# --------------------------------------------------------- the second pass: ranges, the sample


class _Facts(NamedTuple):
    """What the first pass learned of all parts, for the encoding of each."""

    schema: Schema
    classes: npt.NDArray[Any]
    columns: Mapping[str, Any]
    labelled: bool
    owner: str


def _encode(part: Part, *, facts: _Facts) -> Training:
    """A part as coded rows of positive weight."""
    labels, weight = _labels_and_weight(part, labelled=facts.labelled)
    table = facts.schema.encode(part.X, handle_unknown="missing", owner=facts.owner)
    refuse_huge(facts.schema, table)
    if labels is None:
        y = np.zeros(table.n_rows, dtype=np.intp)
    else:
        _refuse_other_length(table.n_rows, labels)
        y = place_labels(labels, weight, facts.classes)
    own = np.ones(table.n_rows) if weight is None else weight
    numbers = np.arange(table.n_rows)
    training = Training(
        table, y, own, facts.schema, facts.classes, numbers, len(numbers), facts.columns
    )
    return training if own.all() else training.take(np.flatnonzero(own))


class _Sampling(NamedTuple):
    """How the sample is drawn: the rows of the lowest hashes."""

    n_rows: int
    seed: int

    def choose(self, key: KeyArray, y: IndexArray) -> IndexArray:
        """Rows to keep, of all rows and of each class, lowest hash first."""
        order = np.argsort(key, kind="stable")
        if len(key) <= self.n_rows:
            return order
        chosen = [order[: self.n_rows]]
        rest = order[self.n_rows :]
        counts = np.bincount(y[chosen[0]] + 1, minlength=int(y.max()) + 2)
        for label in range(int(y.max()) + 1):
            lacking = max(LEAST_OF_CLASS - int(counts[label + 1]), 0)
            chosen.append(rest[y[rest] == label][:lacking])
        return np.concatenate(chosen)


class _Measures(NamedTuple):
    """What the second pass learns; `rows` are for the sample, with their hashes and places."""

    key: KeyArray
    place: IndexArray
    rows: Training
    n_rows: int
    n_unlabelled: int
    low: FloatArray
    high: FloatArray


def _measure(sampling: _Sampling, part: Training) -> _Measures:
    numeric, codes = part.table.block(slice(None))
    key = row_keys(numeric, codes, part.y, sampling.seed)
    chosen = sampling.choose(key, part.y)
    return _Measures(
        key[chosen],
        chosen,
        replace(part, table=Table(numeric, codes)).take(chosen),
        len(key),
        int(np.count_nonzero(part.y == UNLABELLED)),
        np.fmin.reduce(numeric, axis=0, initial=np.nan),
        np.fmax.reduce(numeric, axis=0, initial=np.nan),
    )


def _merge_measures(sampling: _Sampling, first: _Measures, other: _Measures) -> _Measures:
    key = np.concatenate([first.key, other.key])
    place = np.concatenate([first.place, other.place + first.n_rows])
    rows = first.rows.join(other.rows)
    chosen = sampling.choose(key, rows.y)
    return _Measures(
        key[chosen],
        place[chosen],
        rows.take(chosen),
        first.n_rows + other.n_rows,
        first.n_unlabelled + other.n_unlabelled,
        np.fmin(first.low, other.low),
        np.fmax(first.high, other.high),
    )
