"""What a fit to rows in parts collects: schema, classes, column ranges, and a sample of the rows.

Three passes over the parts find it. The first merges the schemas of the parts and counts levels and
labels. The second encodes the rows, measures the columns and finds candidates for the sample, which
the third counts. The sample depends on the contents of the rows and the seed only, not on their
order or on how they are cut into parts.
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
    distinct_labels,
    label_array,
    merge_labels,
    place_labels,
)
from latentclass.data._merge import Counted, merge_schemas
from latentclass.data._number_facts import learn_number_facts
from latentclass.data._rare import level_counts, merge_rare_levels, spare_levels
from latentclass.data._schema import Schema, Table, learn_schema
from latentclass.engine._content_folds import KeyArray, row_keys
from latentclass.engine._content_sample import (
    Summary,
    merge_summaries,
    number_drawn,
    summarise,
    summary_size,
)
from latentclass.estimator._parts import Part, Parts, PreparedParts
from latentclass.estimator._reading import (
    Training,
    check_weight,
    read_columns,
    refuse_huge,
    warn_of_columns,
    warn_of_lost_columns,
)
from latentclass.estimator._unlabelled import weigh_unlabelled

Result = TypeVar("Result")

LEAST_OF_CLASS = 200
"""Rows of each class that the sample has at least, on average, or all there are."""


@dataclass(frozen=True, eq=False)
class PartedTraining:
    """Training rows in parts.

    Attributes
    ----------
    sample : Training
        Some of the rows, equal ones joined; or all if there are few, in the order of the parts. Its
        schema and classes are those of all rows.
    n_rows, n_unlabelled : int
        Number of rows with positive weight, and how many of them have no label.
    low, high : arrays of shape (n_continuous,)
        Smallest and largest value of each continuous column, NaN if it has none.
    rows : PreparedParts
        Gives each part as a `Training`.
    turn : callable, optional
        What is done to each part before anything else.
    """

    sample: Training
    n_rows: int
    n_unlabelled: int
    low: FloatArray
    high: FloatArray
    rows: PreparedParts
    turn: Callable[[Training], Training] | None = None

    @property
    def whole(self) -> bool:
        """Whether the sample has all rows."""
        return len(self.sample.y) == self.n_rows

    def map(self, visit: Callable[[Training], Result]) -> Iterator[Result]:
        """Answers of a function about each part, in the order of the parts."""
        return self.rows.map(visit if self.turn is None else partial(_turned, self.turn, visit))

    def weigh_unlabelled(self, factor: float) -> PartedTraining:
        """The rows, the weight of those without a label multiplied; with 0 they are left out."""
        if factor == 1.0 or not self.n_unlabelled:
            return self
        weigh = partial(weigh_unlabelled, factor=factor)
        n_out = self.n_unlabelled if factor == 0 else 0
        return replace(
            self,
            sample=weigh(self.sample),
            n_rows=self.n_rows - n_out,
            n_unlabelled=self.n_unlabelled - n_out,
            turn=weigh if self.turn is None else partial(_turned, self.turn, weigh),
        )

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes about the table and its labels."""
        own = {"n_unlabelled_": self.n_unlabelled, "_n_rows": self.n_rows}
        return {**self.sample.attributes(), **own}


def _turned(
    turn: Callable[[Training], Training], visit: Callable[[Training], Result], part: Training
) -> Result:
    return visit(turn(part))


def read_parts(
    parts: Parts,
    *,
    categorical_features: Any,
    most_levels: int | None,
    labelled: bool,
    spare: bool,
    seed: int,
    n_jobs: int | None,
    owner: str,
) -> PartedTraining:
    """Learn what a fit needs to know of all parts; if not `labelled`, there is one class.

    With `spare`, discrete columns get a level of unseen values.
    """
    look = partial(_look, categorical_features=categorical_features, owner=owner, labelled=labelled)
    seen = reduce(_merge_looks, parts.prepare(look, n_jobs).map(_itself))
    schema, counts = seen.counted
    named = warn_of_columns(schema, seen.n_cells)
    classes, n_of_class = np.zeros(1), np.array([seen.n_rows])
    if labelled:
        classes, n_of_class = merge_labels(seen.labels)
    schema = merge_rare_levels(schema, counts, most_levels)
    warn_of_lost_columns(schema, named)
    if spare:
        schema = spare_levels(schema)
    facts = _Facts(schema, classes, seen.columns, labelled, owner)
    rows = parts.prepare(partial(_encode, facts=facts), n_jobs)
    n_unlabelled = seen.n_rows - int(n_of_class.sum())
    if seen.n_rows <= parts.sample_rows:
        sample = reduce(Training.join, rows.map(_dense))
        low, high = sample.table.ranges
    else:
        sampling = _Sampling.of(parts.sample_rows, n_of_class, n_unlabelled, seed)
        sample, low, high = _draw(rows, sampling)
    return PartedTraining(sample, seen.n_rows, n_unlabelled, low, high, rows)


def _itself(value: Result) -> Result:
    return value


# ------------------------------------------------------------- the first pass: schema, classes


class _Look(NamedTuple):
    """What the first pass learns: schema, counts of levels and cells, labels, column names.

    `labels` has the distinct labels of each part and the number of rows that have them.
    """

    counted: Counted
    n_rows: int
    n_cells: list[int]
    labels: list[tuple[npt.NDArray[Any], IndexArray]]
    columns: Mapping[str, Any]
    name: str


def _look(part: Part, *, categorical_features: Any, owner: str, labelled: bool) -> _Look:
    labels, weight = _labels_and_weight(part, labelled=labelled)
    schema, table = learn_schema(
        part.X, categorical_features=categorical_features, weight=weight, owner=owner
    )
    schema = learn_number_facts(schema, table)
    _refuse_other_length(table.n_rows if weight is None else len(weight), labels)
    own = np.ones(table.n_rows) if weight is None else weight[weight > 0]
    counts = level_counts(schema, table, own)
    n_cells = [int(count.sum()) for count in level_counts(schema, table, np.ones(len(own)))]
    found = []
    if labels is not None:
        distinct, codes = distinct_labels(labels, weight)
        found = [(distinct, np.bincount(codes[codes >= 0], minlength=len(distinct)))]
    columns = read_columns(part.X)
    return _Look((schema, counts), table.n_rows, n_cells, found, columns, part.name)


def _merge_looks(first: _Look, other: _Look) -> _Look:
    counted = merge_schemas(first.counted, other.counted, other.name)
    cells = dict(zip(first.counted[0].discrete, first.n_cells, strict=True))
    for j, n_more in zip(other.counted[0].discrete, other.n_cells, strict=True):
        cells[j] = cells.get(j, 0) + n_more
    n_cells = [cells[j] for j in counted[0].discrete]
    n_rows, labels = first.n_rows + other.n_rows, first.labels + other.labels
    return _Look(counted, n_rows, n_cells, labels, first.columns, first.name)


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


# -------------------------------------------------- the passes after it: ranges, the sample


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
    """How the sample is drawn.

    Attributes
    ----------
    chance : array of shape (n_classes + 1,)
        Of a row of each class, and of one without a label.
    size : int
        How many distinct rows a summary keeps.
    seed : int
    """

    chance: FloatArray
    size: int
    seed: int

    @classmethod
    def of(cls, n_sample: int, n_of_class: IndexArray, n_unlabelled: int, seed: int) -> _Sampling:
        """Every row has the same chance, but in small classes more."""
        n_rows = np.append(n_of_class, n_unlabelled).astype(np.float64)
        least = np.append(np.full(len(n_of_class), float(LEAST_OF_CLASS)), 0.0)
        share = np.maximum(n_sample / n_rows.sum(), least / np.maximum(n_rows, 1.0))
        chance = np.minimum(share, 1.0)
        return cls(chance, summary_size(chance, n_rows), seed)

    def keys(self, part: Training) -> KeyArray:
        """A hash of each row with its label and weight."""
        numeric, codes = part.table.block(slice(None))
        return row_keys(np.column_stack([numeric, part.weight]), codes, part.y, self.seed)


class _Drawn(NamedTuple):
    """Distinct rows that may be drawn, their hashes, and how many equal rows there are of each."""

    key: KeyArray
    n_equal: IndexArray
    rows: Training


def _draw(rows: PreparedParts, sampling: _Sampling) -> tuple[Training, FloatArray, FloatArray]:
    """The sample, and the smallest and largest value of each continuous column."""
    summary, low, high = reduce(
        partial(_merge_measures, sampling.size), rows.map(partial(_measure, sampling))
    )
    gather = partial(_gather, sampling, summary.candidates)
    key, n_equal, distinct = reduce(_merge_drawn, rows.map(gather))
    drawn = number_drawn(key, n_equal, sampling.chance[distinct.y])
    sample = replace(distinct, weight=distinct.weight * drawn)
    return sample.take(np.flatnonzero(drawn)), low, high


def _measure(sampling: _Sampling, part: Training) -> tuple[Summary, FloatArray, FloatArray]:
    return summarise(sampling.keys(part), sampling.chance[part.y]), *part.table.ranges


def _merge_measures(
    size: int,
    first: tuple[Summary, FloatArray, FloatArray],
    other: tuple[Summary, FloatArray, FloatArray],
) -> tuple[Summary, FloatArray, FloatArray]:
    summary = merge_summaries(first[0], other[0], size)
    return summary, np.fmin(first[1], other[1]), np.fmax(first[2], other[2])


def _gather(sampling: _Sampling, wanted: KeyArray, part: Training) -> _Drawn:
    key = sampling.keys(part)
    place = np.minimum(np.searchsorted(wanted, key), max(len(wanted) - 1, 0))
    found = np.flatnonzero(wanted[place] == key) if len(wanted) else np.empty(0, dtype=np.intp)
    distinct, first, count = np.unique(key[found], return_index=True, return_counts=True)
    return _Drawn(distinct, count, _dense(part.take(found[first])))


def _merge_drawn(first: _Drawn, other: _Drawn) -> _Drawn:
    key, place, number = np.unique(
        np.concatenate([first.key, other.key]), return_index=True, return_inverse=True
    )
    counts = np.concatenate([first.n_equal, other.n_equal])
    n_equal = np.bincount(number.reshape(-1), counts).astype(np.intp)
    return _Drawn(key, n_equal, first.rows.join(other.rows).take(place))


def _dense(part: Training) -> Training:
    return replace(part, table=Table(*part.table.block(slice(None))))
