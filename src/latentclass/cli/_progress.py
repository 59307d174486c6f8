"""Progress messages: shown after two seconds, with the time left where it is known."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Self

from latentclass.cli._console import Console

PATIENCE = 2.0
"""Seconds before anything is shown."""

BETWEEN = 10.0
"""Seconds between lines where standard error is no terminal."""


class Progress:
    """Shows a phase of the work: a bar on a terminal, a line now and then elsewhere.

    Parameters
    ----------
    console : Console
    phase : str
        What is being done, such as "predicting".
    total : int or None
        Number of steps, if it is known.
    unit : str
        What is counted.
    """

    def __init__(
        self, console: Console, phase: str, total: int | None = None, unit: str = "rows"
    ) -> None:
        self._console, self.phase, self.total, self.unit = console, phase, total, unit
        self.done = 0
        self._begun = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if not self._console.quiet:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def advance(self, n: int = 1, *, of: int | None = None) -> None:
        """Count steps as done; `of` is their number, if it is known by now."""
        self.total = of or self.total
        self.done += n

    def tell(self, phase: str) -> None:
        """Begin another phase."""
        self.phase = phase

    def text(self) -> str:
        """The state in words."""
        seconds = time.monotonic() - self._begun
        words = [f"{self.phase}:"]
        if self.done:
            of = f" of {self.total:,}" if self.total else ""
            words.append(f"{self.done:,}{of} {self.unit},")
        words.append(f"{seconds:.0f} s")
        left = self._left(seconds)
        if left is not None:
            words.append(f"({left:.0f} s left)")
        return " ".join(words)

    def _left(self, seconds: float) -> float | None:
        if not self.total or not self.done:
            return None
        return seconds * max(self.total - self.done, 0) / self.done

    def _run(self) -> None:
        if self._end.wait(PATIENCE):
            return
        if self._console.live:
            self._draw()
            return
        while True:
            self._console.say(self.text())
            if self._end.wait(BETWEEN):
                return

    def _draw(self) -> None:
        from rich import progress
        from rich.console import Console as RichConsole

        bar: Any = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            console=RichConsole(stderr=True, no_color=not self._console.color),
            transient=True,
        )
        with bar:
            task = bar.add_task(self.text(), total=self.total)
            while not self._end.wait(0.2):
                bar.update(task, description=self.text(), completed=self.done, total=self.total)
