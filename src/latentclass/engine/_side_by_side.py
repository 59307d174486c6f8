"""Long tasks on threads, all of which an interrupt asks to end with what they have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")


def side_by_side(
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
