"""Samples of the rows of a table for the fit of mixed columns.

Which rows a sample holds depends on their values, not on their order (see `_content_holdout`).
Weight 2 is the same as having the row twice, and a heavy row may be in several samples in part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._content_folds import DistinctRows
from latentclass.engine._content_holdout import batch_shares, gather_rows, held_shares
from latentclass.estimator._reading import Training

SAMPLE = 5000.0
"""About the weight of a sample."""

MANY = 4.0 * SAMPLE
"""With a total weight of at least this, the starts of EM take their first steps on a sample."""


@dataclass(frozen=True, eq=False)
class RowDealer:
    """Deals out the rows of a training set.

    Attributes
    ----------
    training : Training
    rows : DistinctRows
        The same rows, equal ones joined.
    """

    training: Training
    rows: DistinctRows

    @classmethod
    def of(cls, training: Training, codes: Any, seed: int) -> RowDealer:
        """Join equal rows; `codes` are those of the discrete columns."""
        y, weight, n_levels = training.y, training.weight, training.schema.n_levels
        numeric = training.table.numeric
        return cls(training, gather_rows(numeric, codes, y, weight, n_levels, seed))

    def take(self, share: FloatArray) -> Training:
        """The rows with a share of their weight, without those whose share is 0."""
        rows = share > 0
        part = self.training.take(rows)
        return replace(part, weight=part.weight * share[rows])

    def held_out(self) -> FloatArray:
        """See `held_shares`."""
        return held_shares(self.rows)

    def sample(self) -> Training | None:
        """A sample of the rows for the first steps of EM; None if there are few rows."""
        total = float(self.training.weight.sum())
        return (
            None
            if total < MANY
            else self.take(next(self._parts(np.ones(len(self.training.y)), SAMPLE)))
        )

    def beside(self, held: FloatArray, weight: float | None = None) -> FloatArray:
        """Shares of the rows for a fit without those held out, a sample if they are many.

        The sample has about the given weight, by default `SAMPLE`.
        """
        return next(self._parts(1.0 - held, SAMPLE if weight is None else weight))

    def batches(self, keep: FloatArray, weight: float) -> Iterator[Training]:
        """Yield batches of the labelled rows, of which shares `keep` may be used, without end.

        Each has about the given weight. With few rows all of them are in one batch, which is the
        same object every time.
        """
        keep = np.where(self.training.labelled, keep, 0.0)
        while True:
            for share in self._parts(keep, weight):
                if share is keep:
                    yield from repeat(self.take(keep))
                yield self.take(share)

    def _parts(self, keep: FloatArray, weight: float) -> Iterator[FloatArray]:
        """Yield shares of the rows that together are `keep`, each of about a given weight."""
        n_parts = round(float(self.training.weight @ keep) / weight)
        if n_parts < 2:
            yield keep
        else:
            yield from (keep * share for share in batch_shares(self.rows, n_parts))
