"""What a command says, and where: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from latentclass._show import aligned, clean

LEAST_WIDTH = 30
"""Characters below which the last column of a table is not broken."""


def plain(value: Any) -> Any:
    """A value as JSON knows it: numbers of numpy become Python's, NaN becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


@dataclass
class Console:
    """The manners that the user asked for, and the two streams.

    Attributes
    ----------
    quiet : bool
        Say nothing on standard error but errors.
    color : bool
    json : bool
        Whether standard output carries JSON.
    debug : bool
        Show tracebacks.
    """

    quiet: bool = False
    color: bool = field(default_factory=lambda: not os.environ.get("NO_COLOR"))
    json: bool = False
    debug: bool = False
    _told: set[str] = field(default_factory=set)

    # ----------------------------------------------------------- standard error

    @property
    def live(self) -> bool:
        """Whether standard error is a terminal on which lines may be drawn again."""
        return not self.quiet and sys.stderr.isatty()

    def say(self, *lines: object) -> None:
        """Say lines on standard error, unless the user wants quiet."""
        if not self.quiet:
            for line in lines:
                click.echo(clean(line), err=True)

    def warn(self, message: object) -> None:
        """Say a warning, once."""
        text = clean(" ".join(str(message).split()))
        if not self.quiet and text not in self._told:
            self._told.add(text)
            click.echo(f"{self._styled('Warning:', 'yellow')} {text}", err=True)

    def error(self, *lines: object) -> None:
        """Say what went wrong."""
        first, *more = (clean(" ".join(str(line).split())) for line in lines)
        click.echo(f"{self._styled('Error:', 'red')} {first}", err=True)
        for text in more:
            click.echo(text, err=True)

    def _styled(self, text: str, colour: str) -> str:
        # click takes the colours out again where the stream is no terminal
        return click.style(text, fg=colour, bold=True) if self.color else text

    # ---------------------------------------------------------- standard output

    @property
    def width(self) -> int | None:
        """Characters of a line on standard output; None if it is no terminal."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def show(self, *lines: object) -> None:
        """Write lines of text to standard output."""
        for line in lines:
            click.echo(clean(line))

    def show_json(self, value: Any) -> None:
        """Write a value as one JSON object on one line."""
        click.echo(json.dumps(plain(value), allow_nan=False))

    def show_table(
        self, header: Sequence[str], rows: Iterable[Sequence[object]], *, wrap: bool = False
    ) -> None:
        """Write an aligned table to standard output; a terminal may `wrap` its last column."""
        lines = text_table(header, rows)
        if wrap and self.width is not None:
            # the columns of the header are separated by two spaces at least, its words by one
            start = lines[0].rindex("  ") + 2 if "  " in lines[0] else 0
            lines = [part for line in lines for part in _wrapped(line, start, self.width)]
        self.show(*lines)

    def say_table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write an aligned table to standard error."""
        self.say(*text_table(header, rows))

    # ------------------------------------------------------------- the library's

    @contextmanager
    def plain_messages(self) -> Iterator[None]:
        """Let warnings and log messages of the library appear as one plain line each."""
        handler = _Handler(self)
        logger = logging.getLogger("latentclass")
        before = logger.propagate
        logger.addHandler(handler)
        logger.propagate = False
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            # what other libraries deprecate is not for the user of a command
            for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", kind)
            warnings.showwarning = lambda message, *_: self.warn(message)
            try:
                yield
            finally:
                logger.removeHandler(handler)
                logger.propagate = before


class _Handler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.say(record.getMessage())


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table with aligned columns, numbers to the right."""
    cells = [[clean(name) for name in header]]
    cells += [["" if cell is None else clean(cell) for cell in row] for row in rows]
    return aligned(cells, [_are_numbers(column[1:]) for column in zip(*cells, strict=True)])


def _wrapped(line: str, start: int, width: int) -> list[str]:
    """A line of a table in lines of some width, the later ones below its last column."""
    if len(line) <= width or width - start < LEAST_WIDTH:
        return [line]
    parts = textwrap.wrap(line[start:], width - start, break_long_words=False)
    return [line[:start] + parts[0], *(" " * start + part for part in parts[1:])]


def _are_numbers(cells: Sequence[str]) -> bool:
    shown = [cell for cell in cells if cell not in ("", "-")]
    return bool(shown) and all(
        re.match(r"[-+]?[\d,]*\.?\d+(e[-+]\d+)?( ?%| s)?$", c) for c in shown
    )


def console() -> Console:
    """The console of the command that runs."""
    found: Console = click.get_current_context().find_root().obj
    return found
