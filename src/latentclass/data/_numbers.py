"""Numbers as categories: find the distinct ones and encode them.

The same codes may come as text from one place and as numbers from another. So a number and a text
that is the usual way to write it are the same category, unless a column knows both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._types import CodeArray, FloatArray

TABLE_SIZE = 2**16
"""Whole numbers in a range of this size are looked up in a table; others by binary search."""

EXACT = 2**53
"""From here on a float64 stands for several whole numbers, so it cannot be a category."""

WRITTEN = re.compile(r"-?[0-9]{1,16}(\.[0-9]+)?")


def written_number(text: str) -> float | None:
    """The number that a text is the usual way to write, or None.

    Examples
    --------
    >>> written_number("101"), written_number("101.0"), written_number("2.5")
    (101.0, 101.0, 2.5)
    >>> written_number("007"), written_number("1e3"), written_number("red")
    (None, None, None)
    """
    if WRITTEN.fullmatch(text) is None:
        return None
    number = float(text)
    return number if text in _ways_to_write(number) and abs(number) < EXACT else None


def _ways_to_write(number: float) -> tuple[str, ...]:
    """A number as text, the most usual way first."""
    return (str(int(number)), repr(number)) if number.is_integer() else (repr(number),)


def label_codes(labels: Sequence[Any], categories: Sequence[Any]) -> list[int]:
    """The position of each label in a list of categories; -1 for unknown labels."""
    known = {category: code for code, category in enumerate(categories)}
    return [
        known[label] if label in known else _code_in_other_type(label, categories, known)
        for label in labels
    ]


def _code_in_other_type(label: Any, categories: Sequence[Any], known: dict[Any, int]) -> int:
    if isinstance(label, str):
        number = written_number(label)
        code = -1 if number is None else known.get(number, -1)
        return -1 if code >= 0 and isinstance(categories[code], bool) else code  # True == 1
    if isinstance(label, bool) or not isinstance(label, int | float):
        return -1
    ways = (str(label),) if isinstance(label, int) else _ways_to_write(label)
    return next((known[text] for text in ways if text in known), -1)


class NumberCoder:
    """Encode numbers by their position in a list of categories; -1 for NaN and unknown numbers.

    Text matches the number that it writes. Numbers too large to be exact as float64 match nothing.
    """

    def __init__(self, categories: Sequence[Any] | FloatArray) -> None:
        if isinstance(categories, np.ndarray):
            usable, values = np.arange(len(categories)), categories
        else:
            codes = _codes_of_numbers(categories)
            usable = np.array(list(codes.values()), dtype=np.intp)
            values = np.array(list(codes), dtype=np.float64)
        order = np.argsort(values, kind="stable")
        self._order, self._sorted = usable[order], values[order]
        self._table: CodeArray | None = None
        self._low = 0.0
        if len(values) and np.all(values == np.floor(values)):
            span = self._sorted[-1] - self._sorted[0] + 1
            if span <= TABLE_SIZE:
                self._low = self._sorted[0]
                # one more entry, for numbers outside the range
                self._table = np.full(int(span) + 1, -1, dtype=np.int32)
                self._table[(values - self._low).astype(np.intp)] = usable

    def encode(self, values: FloatArray) -> CodeArray:
        """Return the code of each value."""
        if len(self._sorted) == 2:
            return self._encode_two(values)
        if self._table is None:
            return self._search(values)
        with np.errstate(invalid="ignore", over="ignore"):
            index = (values - self._low if self._low else values).astype(np.int32)
        # As an unsigned number, a negative index is very large, so one bound covers both ends.
        place = np.minimum(index.view(np.uint32), np.uint32(len(self._table) - 1))
        codes: CodeArray = self._table[place]
        # The cast gives arbitrary results for NaN, fractions and large numbers: check it.
        other = (index + self._low if self._low else index) != values
        if other.any():
            codes[other] = -1
        return codes

    def _encode_two(self, values: FloatArray) -> CodeArray:
        """As `encode`, for the most common case."""
        low, high = self._order.tolist()
        first, second = values == self._sorted[0], values == self._sorted[1]
        codes: CodeArray = second.astype(np.int32)
        if (low, high) != (0, 1):
            codes = np.where(second, np.int32(high), np.int32(low))
        if not np.logical_or(first, second, out=first).all():
            codes[~first] = -1
        return codes

    def _search(self, values: FloatArray) -> CodeArray:
        if not len(self._sorted):
            return np.full(len(values), -1, dtype=np.int32)
        place = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        known = self._sorted[place] == values
        return np.where(known, self._order[place], -1).astype(np.int32)


def _codes_of_numbers(categories: Sequence[Any]) -> dict[float, int]:
    """The code of each number among some categories, then of each that is there only as text."""
    codes = {
        float(value): code
        for code, value in enumerate(categories)
        if isinstance(value, int | float) and abs(value) < EXACT
    }
    texts = [(code, value) for code, value in enumerate(categories) if isinstance(value, str)]
    for code, text in sorted(texts, key=lambda pair: len(pair[1])):  # 101 before 101.0
        number = written_number(text)
        if number is not None:
            codes.setdefault(number, code)
    return codes


class DistinctNumbers:
    """Collect the distinct numbers of a column that is read in parts.

    With few categories, nearly all numbers are only looked up and not sorted.
    """

    def __init__(self) -> None:
        self._found = np.empty(0)
        self._coder = NumberCoder(self._found)
        self._pending: list[FloatArray] = []
        self._n_pending = 0

    def add(self, values: FloatArray) -> None:
        """Add values; NaN is ignored."""
        new = values[self._coder.encode(values) < 0]
        new = new[~np.isnan(new)]
        self._pending.append(new)
        self._n_pending += new.size
        # Sorting only when there are more new than known numbers keeps the cost near N log N.
        if self._n_pending > len(self._found):
            self._settle()

    def _settle(self) -> None:
        self._found = np.unique(np.concatenate([self._found, *self._pending]))
        self._coder = NumberCoder(self._found)
        self._pending, self._n_pending = [], 0

    def values(self) -> list[float | int]:
        """Return the distinct numbers in order; whole numbers as int (3, not 3.0)."""
        self._settle()
        return [int(v) if v == np.floor(v) else v for v in self._found.tolist()]
