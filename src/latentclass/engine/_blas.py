"""One thread for linear algebra and other libraries' loops while we compute.

Our matrices are small. Several BLAS threads gain nothing on them, and on a busy machine they wait
for each other: a fit can take twenty times as long, and scikit-learn's gradient boosting, which has
its threads from OpenMP, a hundred times. Our own threads work on blocks of rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_here = threading.local()
"""`limited`: whether this thread is inside `one_library_thread`."""

_lock = threading.Lock()
_n_inside = 0
_before: list[int] | None = None
"""The numbers of threads of the libraries before the first of all threads that are inside."""


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread. This costs some 20 microseconds, and nothing inside it.

    Most libraries have one limit for the whole process. So the last thread that leaves puts the
    numbers back which the first one found.
    """
    if is_limited():
        yield
        return
    try:
        _enter()
        yield
    finally:
        try:
            _leave()
        except BaseException:  # Ctrl-C in the midst of it: the numbers are put back all the same
            _leave()
            raise


def is_limited() -> bool:
    """Whether this thread is inside `one_library_thread`."""
    return getattr(_here, "limited", False)


def _enter() -> None:
    global _n_inside, _before
    libraries = _libraries()
    with _lock:
        if _before is None:
            _before = [library.get_num_threads() for library in libraries]
        _n_inside, _here.limited = _n_inside + 1, True
        for library in libraries:
            _set(library, 1)


def _leave() -> None:
    """Put the numbers back; a second call does no harm."""
    global _n_inside, _before
    with _lock:
        if is_limited():
            _n_inside, _here.limited = _n_inside - 1, False
        if _before is None:
            return
        for library, n_threads in zip(_libraries(), _before, strict=True):
            if not _n_inside or _has_limit_per_thread(library):
                _set(library, n_threads)
        if not _n_inside:
            _before = None


@cache
def _libraries() -> list[Any]:
    """The BLAS and OpenMP libraries of numpy, scipy and, where an estimator runs, scikit-learn.

    To find them takes a millisecond.
    """
    import scipy.linalg  # noqa: F401 - loads its library

    return list(ThreadpoolController().lib_controllers)


def _set(library: Any, n_threads: int) -> None:
    library.set_num_threads(n_threads)
    # newer versions of threadpoolctl would let only this thread set the number from now on
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release()


def _has_limit_per_thread(library: Any) -> bool:
    return (
        library.internal_api in ("mkl", "openmp")
        or getattr(library, "threading_layer", "") == "openmp"
    )
