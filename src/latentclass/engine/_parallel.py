"""The three ways to run work on several threads.

`map_blocks` is for blocks of rows: joblib's threads, or whatever backend the user configures.
`map_threads` is for pieces of a millisecond: the threads are kept, and the caller takes part.
`run_interruptible` is for long searches that should keep their best result on Ctrl-C.

Results always come in the order of the work, so they do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
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
    """Apply `function` to each item; results come in the items' order, whatever `n_jobs`.

    Threads by default, because the work is in numpy calls that release the GIL;
    `joblib.parallel_config` may put another backend (Dask, say) in their place.
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
    """Apply `function`, which should release the GIL, to each item; results in the items' order.

    The caller's thread works too: with no thread free it does everything itself, so nothing
    waits for a thread that others keep busy.

    Examples
    --------
    >>> map_threads(lambda x: x * x, [1, 2, 3], 2)
    [1, 4, 9]
    """
    n_helpers = min(n_threads, len(items)) - 1
    if n_helpers < 1:
        return [function(item) for item in items]
    found: list[Result | None] = [None] * len(items)
    turns = count()  # one step of it is not divided between threads

    def take_turns() -> None:
        while (turn := next(turns)) < len(items):
            found[turn] = function(items[turn])

    pool = _pool(n_helpers)
    helpers = [pool.submit(take_turns) for _ in range(n_helpers)]
    try:
        take_turns()
    finally:
        # a helper that has not started is not needed any more; one that has is at its last item
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [helper.exception() for helper in started]
    for error in errors:
        if error is not None:
            raise error
    return cast(list[Result], found)


def run_interruptible(
    tasks: Sequence[Callable[[], Result]], n_threads: int, stop: threading.Event
) -> list[Result]:
    """Results of all tasks, in their order.

    A task looks at `stop` now and then, and returns its best so far once it is set. Ctrl-C sets it
    here if tasks run on other threads; a task on the main thread catches the interrupt itself.
    (joblib would throw away what the tasks have.)
    """
    if n_threads == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        running: list[Future[Result]] = []
        try:
            for task in tasks:
                running.append(pool.submit(task))
            while wait(running, timeout=0.2).not_done:  # an endless wait hears no Ctrl-C on Windows
                pass
        except KeyboardInterrupt:
            stop.set()
            running += [pool.submit(task) for task in tasks[len(running) :]]  # they end at once
        return [one.result() for one in running]


def _pool(n_threads: int) -> ThreadPoolExecutor:
    with _lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, "latentclass-tree")
        return _pools[n_threads]


def _forget() -> None:
    """A forked process has the pools without their threads."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
