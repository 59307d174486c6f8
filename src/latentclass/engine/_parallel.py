"""Work on several threads of this process, and a clean end of it on Ctrl-C.

`map_blocks` is for blocks of rows and other pieces of a computation. `run_interruptible` is for
long searches, which keep their best result on Ctrl-C.

The work never leaves the process that has the rows. Results always come in the order of the work.
So they do not depend on the number of threads.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial, wraps
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar

from joblib.parallel import get_active_backend

from latentclass.engine._blas import is_limited, one_library_thread

Parameters = ParamSpec("Parameters")
Item = TypeVar("Item")
Result = TypeVar("Result")

LOOK = 0.2
"""Seconds between looks for a result. Windows does not interrupt a wait without an end."""


def computation(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a public method on one BLAS thread, and let Ctrl-C end it with a KeyboardInterrupt."""

    @wraps(method)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with one_library_thread(), plain_interrupts():
            return method(*args, **kwargs)

    return run


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means here.

    None is 1, unless `joblib.parallel_config("threading", n_jobs=...)` says otherwise. Processes
    and clusters that joblib is configured for do not count: they do not have the rows.
    """
    backend, configured = get_active_backend(require="sharedmem")
    return int(backend.effective_n_jobs(configured if n_jobs is None else n_jobs))


def map_blocks(
    function: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> Iterator[Result]:
    """Apply `function`, which should release the GIL, to each item; yield results in order.

    The calling thread works too. After an error or an interrupt no thread begins another item. The
    error of the first item that fails is raised, as in a loop.

    Examples
    --------
    >>> list(map_blocks(lambda x: x * x, [1, 2, 3], n_jobs=2))
    [1, 4, 9]
    """
    check_stop()
    n_threads = min(count_threads(n_jobs), len(items))
    if n_threads < 2:
        yield from map(function, items)
        return
    turns = _Turns(function, items)
    try:
        turns.start(n_threads - 1)
        for number in range(len(items)):
            while number not in turns.found:
                if not turns.take(Exception):
                    turns.wait()
            yield turns.found.pop(number)()
    finally:
        turns.end()


def run_interruptible(
    tasks: Sequence[Callable[[], Result]], n_threads: int, stop: threading.Event
) -> list[Result]:
    """Run tasks and return their results in order.

    A task checks `stop` now and then; once it is set, the task returns its best result so far.
    Ctrl-C sets `stop`. Tasks never run on the calling thread: Python raises KeyboardInterrupt in
    the main thread only, and inside a compiled kernel it would cost the kernel's result.
    """
    turns = _Turns(lambda task: task(), tasks)
    try:
        for number in range(len(tasks)):
            while number not in turns.found and not turns.ended:
                try:
                    turns.start(min(n_threads, len(tasks)))
                    turns.wait()
                except KeyboardInterrupt:
                    stop.set()
    finally:
        stop.set()
        turns.end()
    # after an error later tasks were not begun; calling the one that failed raises it
    return [turns.found[number]() for number in sorted(turns.found)]


def check_stop() -> None:
    """End what this thread does, if it helps with a call that was interrupted or has failed.

    Ctrl-C reaches the main thread only; the others learn of it here. Long computations call this,
    or `map_blocks`, at every step. So it also ends what takes longer than `time_limit` allows.
    """
    end: float | None = getattr(_here, "end", None)
    if end is not None and time.monotonic() > end:
        raise TimeUpError
    turns: _Turns[Any, Any] | None = getattr(_here, "turns", None)
    while turns is not None:
        if turns.ended:
            raise KeyboardInterrupt
        turns = turns.parent


class TimeUpError(Exception):
    """A computation took longer than `time_limit` allows."""


@contextmanager
def time_limit(end: float | None) -> Iterator[None]:
    """Raise `TimeUpError` at the first step of a computation after `end` (`time.monotonic`).

    It holds for this thread and for those that help it. An earlier limit around this one stays.
    """
    before: float | None = getattr(_here, "end", None)
    _here.end = before if end is None else end if before is None else min(before, end)
    try:
        yield
    finally:
        _here.end = before


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


_here = threading.local()
"""`end`, the time limit of this thread. In a thread that helps: `turns`, the work it helps with."""


class _Turns(Generic[Item, Result]):
    """Items that several threads take in turns.

    Ctrl-C may interrupt the main thread anywhere. So the threads share only what is safe then, such
    as queues written in C. Python's own Condition, and what is built on it, is not: an interrupt
    inside it can leave it locked, and the other threads would wait for ever.

    Attributes
    ----------
    found : dict of int to callable
        For each finished item a function that returns its result or raises its error.
    ended : bool
        Whether no further item shall be begun.
    parent : _Turns or None
        The work that the calling thread itself helps with.
    """

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self.found: dict[int, Callable[[], Result]] = {}
        self.ended = False
        self.parent: _Turns[Any, Any] | None = getattr(_here, "turns", None)
        self._function, self._items = function, items
        self._limit = one_library_thread if is_limited() else nullcontext
        self._end: float | None = getattr(_here, "end", None)
        self._turns = count()  # next() on it is atomic
        self._n_started = 0
        self._news: SimpleQueue[None] = SimpleQueue()
        self._left: SimpleQueue[None] = SimpleQueue()

    def start(self, n_threads: int) -> None:
        """Let so many threads take turns. To start one costs some 50 microseconds."""
        while self._n_started < n_threads:
            _thread.start_new_thread(self._take_all, ())
            self._n_started += 1

    def take(self, caught: type[BaseException]) -> bool:
        """Do the next item and return whether there was one. Errors to be caught become results."""
        # look before taking: all items before one that failed are done
        if self.ended or (turn := next(self._turns)) >= len(self._items):
            return False
        try:
            result = self._function(self._items[turn])
            self.found[turn] = lambda: result
        except caught as error:
            self.ended = True
            self.found[turn] = partial(_raise, error)
        return True

    def wait(self) -> None:
        """Wait for another thread to finish an item, but not for long."""
        with suppress(Empty):
            self._news.get(timeout=LOOK)

    def end(self) -> None:
        """Begin no further item, and wait for the threads to finish theirs."""
        self.ended = True
        for _ in range(self._n_started):
            self._left.get()

    def _take_all(self) -> None:
        _here.turns, _here.end = self, self._end
        try:
            with self._limit():
                while self.take(BaseException):
                    self._news.put(None)
        finally:
            self._left.put(None)


def _raise(error: BaseException) -> NoReturn:
    raise error
