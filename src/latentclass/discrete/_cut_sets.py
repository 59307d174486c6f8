"""Several sets of cut points for one table, under one coding that is fine enough for all.

The fine coding cuts a column wherever any set does. A model of one set sees only the coarser levels
of its own cuts. Inside a coarse level, the rows spread over the fine levels in the same way in all
classes. So each model gives a distribution over the fine levels, and models of different sets can
be averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Schema, Table, table_column
from latentclass.discrete._bins import learn_bins
from latentclass.discrete._bootstrap_cuts import redrawn_cuts
from latentclass.discrete._coding import Coding, learn_coding


@dataclass(frozen=True)
class CutSet:
    """One set of cut points, seen from the fine coding.

    Attributes
    ----------
    cuts : tuple of array
        Its cut points of each continuous column.
    level : tuple of array
        For each active column, the own level of each fine one.
    log_share : tuple of array
        For each active column, log P(fine level | own level).
    """

    cuts: tuple[FloatArray, ...]
    level: tuple[CodeArray, ...]
    log_share: tuple[FloatArray, ...]

    @property
    def n_levels(self) -> tuple[int, ...]:
        """Own levels of each active column."""
        return tuple(int(level[-1]) + 1 for level in self.level)

    def coarse(self, codes: CodeArray) -> CodeArray:
        """Own levels of rows given by their fine ones; missing cells stay missing."""
        out = np.empty_like(codes)
        for j, level in enumerate(self.level):
            out[:, j] = np.append(level, -1)[codes[:, j]]
        return out

    def log_inside(self, codes: CodeArray) -> FloatArray:
        """log P(fine levels | own levels) of each row."""
        total = np.zeros(len(codes))
        for j, share in enumerate(self.log_share):
            total += np.append(share, 0.0)[codes[:, j]]
        return total

    def draw(self, codes: CodeArray, rng: np.random.Generator) -> CodeArray:
        """Fine levels of rows given by their own ones."""
        out = np.empty_like(codes)
        for j, (level, log_share) in enumerate(zip(self.level, self.log_share, strict=True)):
            # the fine levels of one own level follow each other
            first = np.searchsorted(level, np.arange(level[-1] + 1))
            above = np.cumsum(np.exp(log_share))
            start = (above - np.exp(log_share))[first]
            place = np.searchsorted(above, start[codes[:, j]] + rng.random(len(codes)))
            last = np.append(first[1:], len(level)) - 1
            out[:, j] = np.clip(place, first[codes[:, j]], last[codes[:, j]])
        return out


def learn_cut_sets(
    schema: Schema,
    table: Table,
    y: IndexArray,
    weight: FloatArray,
    n_classes: int,
    seeds: Sequence[int],
) -> tuple[Coding, list[CutSet]]:
    """The fine coding, and the sets: first that of the rows as they are, then one for each seed.

    A column without any cut in the first set has none in the others. A column that would have none
    in another set is cut there as in the first.
    """
    first = learn_coding(schema, table, y, weight, n_classes)
    sets = [tuple(bins.cuts for bins in first.bins)]
    if not seeds or not any(map(len, sets[0])):
        return first, [_seen_from(first, sets[0], _level_weights(first, table, weight))]
    columns = [table_column(table.numeric, place) for place in range(len(first.bins))]
    labelled = y != UNLABELLED
    redrawn = [
        redrawn_cuts(values[labelled], y[labelled], weight[labelled], n_classes, list(seeds))
        if len(cuts)
        else [cuts] * len(seeds)
        for values, cuts in zip(columns, sets[0], strict=True)
    ]
    for other in zip(*redrawn, strict=True):
        sets.append(tuple(b if len(b) else a for a, b in zip(sets[0], other, strict=True)))
    finest = [np.unique(np.concatenate(cuts)) for cuts in zip(*sets, strict=True)]
    bins = [learn_bins(v, weight, cuts) for v, cuts in zip(columns, finest, strict=True)]
    fine = replace(first, bins=tuple(bins))
    weights = _level_weights(fine, table, weight)
    return fine, [_seen_from(fine, cuts, weights) for cuts in sets]


def _level_weights(fine: Coding, table: Table, weight: FloatArray) -> list[FloatArray]:
    """Weight of each fine level of each active column, with one row added to each."""
    totals = [np.ones(n) for n in fine.n_levels]
    start = 0
    for block in table.blocks():
        codes = fine.encode(block)
        own = weight[start : start + len(codes)]
        start += len(codes)
        for total, column in zip(totals, codes.T, strict=True):
            seen = column >= 0
            total += np.bincount(column[seen], own[seen], len(total))
    return totals


def _seen_from(fine: Coding, cuts: tuple[FloatArray, ...], weights: list[FloatArray]) -> CutSet:
    levels, shares = [], []
    for (continuous, place), weight in zip(fine.active, weights, strict=True):
        level = np.arange(len(weight))
        if continuous:  # a fine bin ends at its cut, and a number equal to a cut lies below it
            level = np.append(np.searchsorted(cuts[place], fine.bins[place].cuts), len(cuts[place]))
        levels.append(level.astype(np.int32))
        shares.append(np.log(weight / np.bincount(level, weight)[level]))
    return CutSet(cuts, tuple(levels), tuple(shares))
