"""Short pieces of work on several threads that are kept: a millisecond of work gains from them.

The caller's thread takes part, so that nothing waits for a thread that others keep busy: with no
thread free the caller does all the work itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Lock
from typing import TypeVar, cast

Item = TypeVar("Item")
Result = TypeVar("Result")

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = Lock()


def map_threads(
    function: Callable[[Item], Result], items: Sequence[Item], n_threads: int
) -> list[Result]:
    """Apply `function`, which should release the GIL, to each item; results in the items' order.

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


def _pool(n_threads: int) -> ThreadPoolExecutor:
    with _lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, "latentclass-tree")
        return _pools[n_threads]


def _forget() -> None:
    """A forked process has the pools without their threads."""
    global _lock
    _lock = Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
