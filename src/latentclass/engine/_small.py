"""Whether NumPy is fast enough for some numbers, or compiled loops are worth loading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class _Rule:
    compile_all = False


def is_small(n_numbers: int, most: int) -> bool:
    """Whether NumPy is used for so many numbers: no more than `most`."""
    return n_numbers <= most and not _Rule.compile_all


@contextmanager
def compiled_always() -> Iterator[None]:
    """Use compiled loops for tables of any size, in order to compile them ahead of time."""
    _Rule.compile_all = True
    try:
        yield
    finally:
        _Rule.compile_all = False
