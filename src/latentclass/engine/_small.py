"""Whether NumPy is fast enough for some numbers, or compiled loops are worth loading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Rule:
    """How many of those that want compiled loops for everything are at work, in all threads."""

    n_compiling = 0
    lock = Lock()


def is_small(n_numbers: int, most: int) -> bool:
    """Whether NumPy is used for so many numbers: no more than `most`."""
    return n_numbers <= most and not _Rule.n_compiling


@contextmanager
def compiled_always() -> Iterator[None]:
    """Use compiled loops for tables of any size, for many passes over them."""
    with _Rule.lock:
        _Rule.n_compiling += 1
    try:
        yield
    finally:
        with _Rule.lock:
            _Rule.n_compiling -= 1
