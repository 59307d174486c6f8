"""All rows that a model of discrete columns learns from, in one table or in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, TypeVar

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.discrete._coding import CodedRows, Coding, code_rows, learn_coding
from latentclass.discrete._model import DiscreteModel
from latentclass.engine._counts import class_information, level_counts, level_offsets, pair_counts
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Coded training rows: searches look at those in memory, sums are over all.

    Attributes
    ----------
    source : Training or PartedTraining
        The rows, in one table or in parts.
    coding : Coding
        Learned from the rows in memory.
    sample : CodedRows
        The rows in memory: all rows of a table, a sample of those in parts.
    """

    source: Training | PartedTraining
    coding: Coding
    sample: CodedRows

    @classmethod
    def of(cls, source: Training | PartedTraining, coding: Coding | None = None) -> TrainingRows:
        """Learn the coding of the rows in memory, unless it is known, and code them."""
        training = source.sample if isinstance(source, PartedTraining) else source
        if coding is None:
            coding = learn_coding(
                training.schema, training.table, training.y, training.weight, training.n_classes
            )
        return cls(source, coding, _code(coding, training))

    @property
    def training(self) -> Training:
        """The rows in memory as they were read."""
        return self.source.sample if isinstance(self.source, PartedTraining) else self.source

    @property
    def parted(self) -> bool:
        """Whether the rows come in parts."""
        return isinstance(self.source, PartedTraining)

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Levels of each active column."""
        return self.coding.n_levels

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.training.n_classes

    @property
    def names(self) -> list[str]:
        """Names of the active columns."""
        return [self.training.schema.columns[j].name for j in self.coding.positions]

    def map(self, visit: Callable[[CodedRows], Result]) -> Iterator[Result]:
        """Answers of a function about all rows, or about each part.

        The function may run in another process, so it must be one that can be sent there.
        """
        if isinstance(self.source, PartedTraining):
            return self.source.map(partial(_visit, self.coding, visit))
        return map(visit, [self.sample])

    def sum(self, visit: Callable[[CodedRows], Result]) -> Result:
        """Sum of numbers, arrays or tuples of them that a function finds in disjoint rows."""
        return reduce(_add, self.map(visit))

    # ------------------------------------------------------------ sums that all models need

    @cached_property
    def _tally(self) -> tuple[FloatArray, FloatArray]:
        return self.sum(tally_levels)

    @property
    def class_weight(self) -> FloatArray:
        """Weight of the labelled rows of each class."""
        return self._tally[0][:-1]

    @property
    def hidden_weight(self) -> float:
        """Weight of the rows without a label."""
        return float(self._tally[0][-1])

    def level_shares(self) -> list[FloatArray]:
        """Share of each level of each active column among all rows, with or without a label."""
        weights = np.split(self._tally[1].sum(axis=0), level_offsets(self.n_levels)[1:-1])
        return [
            own / own.sum() if own.sum() > 0 else np.full(len(own), 1.0 / len(own))
            for own in weights[: len(self.n_levels)]
        ]

    def class_information(self) -> FloatArray:
        """I(column, class) of each active column, from the labelled rows."""
        return class_information(self._tally[1][:-1], level_offsets(self.n_levels))

    def order_by_information(self) -> IndexArray:
        """Active columns, the most informative about the class first."""
        return np.argsort(-np.round(self.class_information(), 12), kind="stable")

    def log_likelihood(self, model: DiscreteModel) -> float:
        """log p of all rows and their labels, weighted; rows without a label by log p(x)."""
        if isinstance(self.source, PartedTraining):
            return sum(self.source.map(partial(_part_log_likelihood, model)))
        table, weight = self.source.table, self.source.weight
        return model.total_log_likelihood(self.sample, table, weight)


def tally_levels(rows: CodedRows) -> tuple[FloatArray, FloatArray]:
    """Weight of all rows (K + 1,) and of those with each level (K + 1, L), by class.

    The rows without a label are in the last place.
    """
    offsets = level_offsets(rows.n_levels)
    hidden = np.zeros(len(rows.unlabelled), dtype=np.intp)
    groups = (
        (rows.codes, rows.y, rows.weight, rows.n_classes),
        (rows.unlabelled, hidden, rows.unlabelled_weight, 1),
    )
    by_class = [np.bincount(y, weight, n_groups) for _, y, weight, n_groups in groups]
    by_level = [level_counts(*group, offsets) for group in groups]
    return np.concatenate(by_class).astype(np.float64), np.concatenate(by_level)


def count_pairs(first: int, n_first: int, rows: CodedRows) -> FloatArray:
    """`pair_counts` of the labelled rows, of the columns from `first` on."""
    offsets = level_offsets(rows.n_levels[first:])
    codes = rows.codes[:, first:]
    return pair_counts(codes, rows.y, rows.weight, rows.n_classes, offsets, n_first)


def _code(coding: Coding, training: Training) -> CodedRows:
    return code_rows(coding, training.table, training.y, training.weight, training.n_classes)


def _visit(coding: Coding, visit: Callable[[CodedRows], Result], part: Training) -> Result:
    return visit(_code(coding, part))


def _part_log_likelihood(model: DiscreteModel, part: Training) -> float:
    return model.total_log_likelihood(_code(model.coding, part), part.table, part.weight)


def _add(first: Any, second: Any) -> Any:
    return tuple(map(_add, first, second)) if isinstance(first, tuple) else first + second
