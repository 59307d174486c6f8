"""How rows of a table become codes of discrete columns, and back.

Continuous columns are cut into bins by Fayyad and Irani's rule, learned on the labelled training
rows. Columns of a single level (constants, and numbers without a cut) say nothing about the class:
the models ignore them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Schema, Table, table_column
from latentclass.discrete._bins import Bins, learn_bins
from latentclass.engine._mdl import mdl_cut_points


@dataclass(frozen=True)
class Coding:
    """From a table's rows to the levels that the models count, and back.

    Attributes
    ----------
    bins : tuple of Bins
        One for each continuous column.
    discrete : tuple of int
        Number of categories of each binary or nominal column.
    active : tuple of (bool, int)
        The columns with two levels or more, in the table's order: whether continuous, and its
        place among the columns of its kind.
    positions : tuple of int
        Their places in the table.
    """

    bins: tuple[Bins, ...]
    discrete: tuple[int, ...]
    active: tuple[tuple[bool, int], ...]
    positions: tuple[int, ...]

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Levels of each active column."""
        return tuple(
            self.bins[place].n_levels if continuous else self.discrete[place]
            for continuous, place in self.active
        )

    def encode(self, block: Block) -> CodeArray:
        """Levels of the active columns, -1 missing."""
        codes = np.empty((len(block.codes), len(self.active)), dtype=np.int32)
        for j, (continuous, place) in enumerate(self.active):
            codes[:, j] = (
                self.bins[place].codes(block.numeric[:, place])
                if continuous
                else block.codes[:, place]
            )
        return codes

    def encode_table(self, table: Table) -> CodeArray:
        """The same of all rows of a table."""
        none = np.empty((0, len(self.active)), dtype=np.int32)
        return np.concatenate([none, *map(self.encode, table.blocks())])

    def log_inside(self, block: Block) -> FloatArray:
        """log density of the numbers given their bins: the same in every class."""
        return np.asarray(self.log_inside_each(block).sum(axis=1))

    def log_inside_each(self, block: Block) -> FloatArray:
        """The same of each continuous column, shape (n_rows, n_continuous)."""
        out = np.empty(block.numeric.shape)
        for place, bins in enumerate(self.bins):
            values = block.numeric[:, place]
            out[:, place] = bins.log_density(values, bins.codes(values))
        return out

    def empty(self, n_rows: int) -> tuple[FloatArray, CodeArray]:
        """A table in which inactive columns have their only value and active ones are missing."""
        numeric = np.tile(
            np.array([np.nan if len(b.cuts) else b.mean[0] for b in self.bins]), (n_rows, 1)
        )
        constant = np.array([0 if r == 1 else -1 for r in self.discrete], dtype=np.int32)
        return numeric, np.tile(constant, (n_rows, 1))

    def peaks(self) -> list[FloatArray]:
        """log density at the most probable number of each level of each active column."""
        return [
            self.bins[place].peak if continuous else np.zeros(self.discrete[place])
            for continuous, place in self.active
        ]


def learn_coding(
    schema: Schema, table: Table, y: IndexArray, weight: FloatArray, n_classes: int
) -> Coding:
    """Cut the continuous columns, and find the columns that vary."""
    labelled = y != UNLABELLED
    bins = []
    for place in range(len(schema.continuous)):
        values = table_column(table.numeric, place)
        cuts = mdl_cut_points(values[labelled], y[labelled], weight[labelled], n_classes)
        if not len(cuts):
            cuts = _between_two(values)
        bins.append(learn_bins(values, weight, cuts))
    active, positions = [], []
    for j, column in enumerate(schema.columns):
        continuous = column.kind == "continuous"
        place = (schema.continuous if continuous else schema.discrete).index(j)
        if (bins[place].n_levels if continuous else len(column.categories)) > 1:
            active.append((continuous, place))
            positions.append(j)
    discrete = tuple(schema.n_levels.tolist())
    return Coding(tuple(bins), discrete, tuple(active), tuple(positions))


def _between_two(values: FloatArray) -> FloatArray:
    """The cut of a column with exactly two values; none for other columns.

    Such a column is binary whatever its type. The MDL rule looks at one column at a time, so it
    would drop one that separates the classes only together with others.
    """
    known = values[~np.isnan(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if low == high or np.any((known != low) & (known != high)):
        return np.empty(0)
    middle = low / 2 + high / 2
    return np.array([middle if middle < high else low])  # there may be no number between them


class CodedRows(NamedTuple):
    """Coded rows: those with a label, and those without, with their weights.

    Attributes
    ----------
    codes, y, weight : arrays
        Levels of the active columns, class codes and weights of the labelled rows.
    unlabelled, unlabelled_weight : arrays
        Levels and weights of the rows without a label.
    n_levels : tuple of int
        Levels of each active column.
    n_classes : int
    """

    codes: CodeArray
    y: IndexArray
    weight: FloatArray
    unlabelled: CodeArray
    unlabelled_weight: FloatArray
    n_levels: tuple[int, ...]
    n_classes: int


def code_rows(
    coding: Coding, table: Table, y: IndexArray, weight: FloatArray, n_classes: int
) -> CodedRows:
    """Code all rows of a table, and separate those with a label from those without."""
    codes = coding.encode_table(table)
    labelled = y != UNLABELLED
    if labelled.all():
        parts = (codes, y, weight, codes[:0], weight[:0])
    else:
        parts = (
            codes[labelled],
            y[labelled],
            weight[labelled],
            codes[~labelled],
            weight[~labelled],
        )
    return CodedRows(*parts, coding.n_levels, n_classes)
