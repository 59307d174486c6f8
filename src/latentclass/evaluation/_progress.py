"""Progress and time left, estimated from earlier folds of the same classifier and data set."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

Pair = tuple[str, str]
"""Data set and classifier. All folds of a pair take about the same time."""


class TimeLeft:
    """Estimate of the seconds that the remaining tasks need.

    Parameters
    ----------
    waiting : iterable of (data set, classifier)
        One entry per task.
    known : iterable of ((data set, classifier), seconds)
        Tasks that are already in the store.
    clock : callable, default=time.monotonic
        Returns the current time in seconds.
    """

    def __init__(
        self,
        waiting: Iterable[Pair],
        known: Iterable[tuple[Pair, float]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.waiting = Counter(waiting)
        self.seconds: defaultdict[Pair, list[float]] = defaultdict(list)
        for pair, seconds in known:
            self.seconds[pair].append(seconds)
        self.worked = 0.0
        self.clock = clock
        self.start = clock()

    def done(self, pair: Pair, seconds: float) -> None:
        """Count a finished task."""
        self.waiting[pair] -= 1
        self.seconds[pair].append(seconds)
        self.worked += seconds

    def left(self) -> float | None:
        """Seconds left; None before the first task has finished."""
        elapsed = self.clock() - self.start
        if self.worked <= 0 or elapsed <= 0:
            return None
        means = {pair: sum(times) / len(times) for pair, times in self.seconds.items() if times}
        usual = sum(means.values()) / len(means)
        work = sum(n * means.get(pair, usual) for pair, n in self.waiting.items())
        return work * elapsed / self.worked  # the ratio is below 1 with several workers


def clock_text(seconds: float | None) -> str:
    """Return seconds as h:mm:ss."""
    if seconds is None:
        return "-:--:--"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


class Progress:
    """Progress on standard error: a bar in a terminal, lines of text elsewhere.

    Prints nothing if `verbose` is 0. The bar needs rich (the `cli` extra). Without it, lines are
    printed, at most one per second.
    """

    def __init__(self, total: int, left: TimeLeft, *, verbose: int) -> None:
        self.total, self.left, self.verbose = total, left, verbose
        self.finished = self.failed = 0
        self.last_line = -float("inf")
        self.bar: Any = None
        if verbose and total and sys.stderr.isatty():
            self.bar = _rich_bar()
            if self.bar is not None:
                self.task = self.bar.add_task("compare", total=total, left="-:--:--", failed="")

    def __enter__(self) -> Self:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, pair: Pair, seconds: float, error: str | None) -> None:
        """Show that a task has finished."""
        self.left.done(pair, seconds)
        self.finished += 1
        self.failed += error is not None
        if not self.verbose:
            return
        left = clock_text(self.left.left())
        if self.bar is not None:
            failed = f"{self.failed} failed" if self.failed else ""
            self.bar.update(self.task, advance=1, left=left, failed=failed)
            return
        now = time.monotonic()
        if now - self.last_line >= 1 or self.finished == self.total or error is not None:
            self.last_line = now
            outcome = f"failed: {error}" if error is not None else f"{seconds:.2f} s"
            dataset, classifier = pair
            print(
                f"compare {self.finished}/{self.total} ({left} left): {classifier} on {dataset}: "
                f"{outcome}",
                file=sys.stderr,
                flush=True,
            )


def _rich_bar() -> Any:
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        return None
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[left]} left [red]{task.fields[failed]}"),
        console=Console(stderr=True),
    )
