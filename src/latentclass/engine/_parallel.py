"""Three ways to run work on several threads.

`map_blocks` is for blocks of rows. It uses joblib's threads, or another backend that the user has
configured. `map_threads` is for pieces of work of about a millisecond. It keeps its threads, and
the calling thread works too. `run_interruptible` is for long searches, which keep their best result
on Ctrl-C.

Results always come in the order of the work. So they do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import count
from typing import TypeVar, cast

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = threading.Lock()


def map_blocks(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> Iterator[Result]:
    """Apply `function` to each item and yield the results in the order of the items.

    It uses threads by default, because numpy releases the GIL. `joblib.parallel_config` can select
    another backend, such as Dask.
    """
    if len(items) < 2 or joblib.effective_n_jobs(n_jobs) == 1:
        yield from map(function, items)
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results: Iterable[Result] = parallel(joblib.delayed(function)(item) for item in items)
    yield from results


def map_threads(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int
) -> list[Result]:
    """Apply `function`, which should release the GIL, to each item and return results in order.

    The calling thread works too. If no other thread is free, it does everything itself, so the call
    never waits for busy threads.

    Examples
    --------
    >>> map_threads(lambda x: x * x, [1, 2, 3], 2)
    [1, 4, 9]
    """
    n_helpers = min(n_threads, len(items)) - 1
    if n_helpers < 1:
        return [function(item) for item in items]
    found: list[Result | None] = [None] * len(items)
    turns = count()  # next() on it is atomic
    failed = False

    def take_turns() -> None:
        nonlocal failed
        try:
            while not failed and (turn := next(turns)) < len(items):
                found[turn] = function(items[turn])
        except BaseException:
            failed = True  # also an interrupt: the others begin no further item
            raise

    pool = _pool(n_helpers)
    helpers = [pool.submit(take_turns) for _ in range(n_helpers)]
    try:
        take_turns()
    finally:
        # helpers that have not started are not needed; the others are at their last item
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in started]
    for error in errors:
        if error is not None:
            raise error
    return cast(list[Result], found)


def run_interruptible(
    tasks: Sequence[Callable[[], Result]], n_threads: int, stop: threading.Event
) -> list[Result]:
    """Run tasks and return their results in order.

    A task checks `stop` now and then; once it is set, the task returns its best result so far.
    Ctrl-C sets `stop`. Tasks never run on the calling thread: Python raises KeyboardInterrupt in
    the main thread only, and inside a compiled kernel it would cost the kernel's result. (joblib
    would discard the results of the tasks.)
    """
    with ThreadPoolExecutor(n_threads) as pool:
        running: list[Future[Result]] = []
        try:
            for task in tasks:
                running.append(pool.submit(task))
            # without a timeout, Ctrl-C would not interrupt the wait on Windows
            while wait(running, timeout=0.2).not_done:
                pass
        except KeyboardInterrupt:
            stop.set()
            # the tasks not yet started see `stop` and return at once
            running += [pool.submit(task) for task in tasks[len(running) :]]
        return [one.result() for one in running]


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Turn an interrupt that came inside a compiled kernel back into a KeyboardInterrupt.

    numba returns a result although an exception is set, which Python reports as a SystemError.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise KeyboardInterrupt from None


def _pool(n_threads: int) -> ThreadPoolExecutor:
    with _lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, "latentclass")
        return _pools[n_threads]


def _forget() -> None:
    """Drop the pools in a forked process, which does not inherit their threads."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
