"""The search of `latentclass fit` as it goes: a live table, or a line for each candidate."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from latentclass.cli._console import Console, text_table

HEADER = ("family", "log-loss", "accuracy", "seconds")


class SearchView:
    """Shows what became of each candidate.

    On a terminal the table is drawn again whenever something changes; elsewhere each finished
    candidate is a line.

    Attributes
    ----------
    search : Search or None
        The search that was seen.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Any = None
        self._begun = False
        self._tried: Any = None
        self.search: Any = None

    def __enter__(self) -> Self:
        if self._console.live:
            from rich.console import Console as RichConsole
            from rich.live import Live

            drawn_on = RichConsole(stderr=True, no_color=not self._console.color)
            self._live = Live(console=drawn_on, refresh_per_second=4, get_renderable=self._draw)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def see(self, search: Any, trial: Any) -> None:
        """A candidate begins or has ended."""
        self.search = search
        self._tried = trial
        ended = trial.status != "not started" or bool(trial.reason)
        if self._live is None and ended and trial.status != "not started":
            width = max(len(one.candidate.name) for one in search.trials)
            if not self._begun:
                self._begun = True
                self._console.say("", f"{'family':{width}}  log-loss  accuracy  seconds")
            self._console.say(_line(trial, width))

    def _draw(self) -> Any:
        from rich.text import Text

        if self.search is None:
            return Text("reading the table ...")
        rows = [_cells(trial, self._tried) for trial in self.search.trials]
        return Text("\n".join(text_table(HEADER, rows)))


def _cells(trial: Any, tried: Any = None) -> tuple[str, str, str, str]:
    name = trial.candidate.name
    if trial is tried and trial.status == "not started" and not trial.reason:
        return name, "", "", "is tried ..."
    if trial.status != "done":
        return name, "", "", trial.reason and f"{trial.status}: {trial.reason}"
    seconds = trial.fit_seconds + trial.predict_seconds
    log_loss, accuracy = trial.losses.mean(), trial.hits.mean()
    return name, f"{log_loss:.4f}", f"{100 * accuracy:.1f} %", f"{seconds:.2f} s"


def _line(trial: Any, width: int) -> str:
    name, log_loss, accuracy, seconds = _cells(trial)
    if trial.status != "done":
        return f"{name:{width}}  {seconds}"
    return f"{name:{width}}  {log_loss:>8}  {accuracy:>8}  {seconds:>7}"
