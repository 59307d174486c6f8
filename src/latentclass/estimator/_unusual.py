"""How unusual rows are: where their density stands among those of rows drawn from the model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table
from latentclass.estimator._fitted import FittedModel

LEAST_DRAWS, MOST_SCORED = 99, 50_000
"""Every set of missing cells is compared with at least `LEAST_DRAWS` drawn rows, and all sets
together with at most `MOST_SCORED`, if that leaves each of them so many."""

BATCH = 20_000
"""Drawn rows that are scored at once."""

TIE = 1e-9
"""Densities that differ by less than this share are the same: sums depend on the order of terms."""


def draw_table(model: FittedModel, n_rows: int, rng: np.random.Generator) -> Table:
    """Rows of all classes, drawn from a model."""
    shares = model.class_prior / model.class_prior.sum()
    return model.sample_table(rng.choice(model.n_classes, size=n_rows, p=shares), rng)


def draws_for(n_patterns: int, n_draws: int) -> int:
    """How many drawn rows each of several sets of missing cells is compared with."""
    return min(n_draws, max(LEAST_DRAWS, MOST_SCORED // max(n_patterns, 1)))


class DrawnRows:
    """Rows drawn from a model, and how probable they are with some of their cells missing."""

    def __init__(
        self, model: FittedModel, n_draws: int, rng: np.random.Generator, n_jobs: int | None
    ) -> None:
        self._model, self._n_jobs = model, n_jobs
        self._drawn = draw_table(model, n_draws, rng).block(slice(None))

    def scores(self, patterns: BoolArray) -> Iterator[FloatArray]:
        """Sorted log-densities of the drawn rows, for one set of observed cells after another."""
        n = len(self._drawn.numeric)
        step = max(1, BATCH // n)
        for start in range(0, len(patterns), step):
            some = patterns[start : start + step]
            found = self._model.log_density(_hidden_copies(self._drawn, some), self._n_jobs)
            yield from np.sort(found.reshape(len(some), n))


def share_below(score: FloatArray, reference: FloatArray) -> FloatArray:
    """Share of drawn rows that are at most as probable as each row, the row itself counted."""
    finite = np.isfinite(score)
    limit = np.where(finite, score + TIE * (1.0 + np.abs(np.where(finite, score, 0.0))), score)
    below = np.searchsorted(reference, limit, side="right")
    return np.asarray((1.0 + below) / (1.0 + len(reference)))


def unusual_rows(
    model: FittedModel, table: Table, n_draws: int, rng: np.random.Generator, n_jobs: int | None
) -> FloatArray:
    """Share of drawn rows that are at most as probable as each row, the row itself counted.

    The drawn rows have the same missing cells as the row.
    """
    score = model.log_density(table, n_jobs)
    patterns, of_row = missing_patterns(table)
    drawn = DrawnRows(model, draws_for(len(patterns), n_draws), rng, n_jobs)
    out = np.empty(table.n_rows)
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=len(patterns)))
    rows_of = np.split(order, ends[:-1])
    for rows, reference in zip(rows_of, drawn.scores(patterns), strict=True):
        out[rows] = share_below(score[rows], reference)
    return out


def missing_patterns(table: Table) -> tuple[BoolArray, IndexArray]:
    """The different sets of observed cells, (n_patterns, n_columns), and that of each row.

    The continuous columns come first.
    """
    n_columns = table.numeric.shape[1] + table.codes.shape[1]
    packed = np.concatenate([np.packbits(block.shown, axis=1) for block in table.blocks()])
    found, of_row = np.unique(packed, axis=0, return_inverse=True)
    shown = np.unpackbits(found, axis=1, count=n_columns).astype(bool)
    return shown, of_row.reshape(-1)


def _hidden_copies(drawn: Block, patterns: BoolArray) -> Table:
    """All drawn rows with the missing cells of the first pattern, then of the second, ..."""
    n = len(drawn.numeric)
    rows = np.tile(np.arange(n), len(patterns))
    return Table(*drawn.copies_without(rows, np.repeat(~patterns, n, axis=0)))
