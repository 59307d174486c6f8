"""Numbers as categories: which occur, and which code each has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._types import CodeArray, FloatArray

TABLE_SIZE = 2**16
"""Whole numbers within a range of this size are looked up in a table, others searched for."""

EXACT = 2**53
"""From here on a float64 stands for several whole numbers: not to be told apart as categories."""


class NumberCoder:
    """Codes of numbers in a list of known ones; -1 for NaN and for all others.

    Categories that are text, or too large to be told apart as float64, are no number's.
    """

    def __init__(self, categories: Sequence[Any] | FloatArray) -> None:
        if isinstance(categories, np.ndarray):
            usable, values = np.arange(len(categories)), categories
        else:
            usable = np.array(
                [
                    code
                    for code, value in enumerate(categories)
                    if isinstance(value, int | float) and abs(value) < EXACT
                ],
                dtype=np.intp,
            )
            values = np.array([float(categories[int(code)]) for code in usable])
        order = np.argsort(values, kind="stable")
        self._order, self._sorted = usable[order], values[order]
        self._table: CodeArray | None = None
        self._low = 0.0
        if len(values) and np.all(values == np.floor(values)):
            span = self._sorted[-1] - self._sorted[0] + 1
            if span <= TABLE_SIZE:
                self._low = self._sorted[0]
                # one entry more, for what is outside
                self._table = np.full(int(span) + 1, -1, dtype=np.int32)
                self._table[(values - self._low).astype(np.intp)] = usable

    def encode(self, values: FloatArray) -> CodeArray:
        """Code of each value."""
        if self._table is None:
            return self._search(values)
        with np.errstate(invalid="ignore", over="ignore"):
            index = (values - self._low).astype(np.int32)
        # A number below the table is, unsigned, far above it: one bound keeps both ends inside.
        place = np.minimum(index.view(np.uint32), np.uint32(len(self._table) - 1))
        codes: CodeArray = self._table[place]
        # NaN, fractions and what int32 cannot hold have been cast to anything: compare
        other = index + self._low != values
        if other.any():
            codes[other] = -1
        return codes

    def _search(self, values: FloatArray) -> CodeArray:
        if not len(self._sorted):
            return np.full(len(values), -1, dtype=np.int32)
        place = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        known = self._sorted[place] == values
        return np.where(known, self._order[place], -1).astype(np.int32)


class DistinctNumbers:
    """Collects the distinct numbers of a column that comes in parts.

    With few categories nearly every part is only looked up, not sorted.
    """

    def __init__(self) -> None:
        self._found = np.empty(0)
        self._coder = NumberCoder(self._found)
        self._pending: list[FloatArray] = []
        self._n_pending = 0

    def add(self, values: FloatArray) -> None:
        """Take note of some more values; NaN does not count."""
        new = values[self._coder.encode(values) < 0]
        new = new[~np.isnan(new)]
        self._pending.append(new)
        self._n_pending += new.size
        # With many categories, only when as much is new as is known: cost stays near N log N.
        if self._n_pending > len(self._found):
            self._settle()

    def _settle(self) -> None:
        self._found = np.unique(np.concatenate([self._found, *self._pending]))
        self._coder = NumberCoder(self._found)
        self._pending, self._n_pending = [], 0

    def values(self) -> list[float | int]:
        """Distinct numbers in order; whole ones as int (category 3, not 3.0)."""
        self._settle()
        return [int(v) if v == np.floor(v) else v for v in self._found.tolist()]
