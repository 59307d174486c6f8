"""Warnings that point to the line of the user, and a way to record them in threads."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

_INSIDE = ("latentclass.", "sklearn.callback")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first frame outside this library and outside scikit-learn's wrapper of `fit`."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


_lock = threading.Lock()
_lists: dict[int, list[warnings.WarningMessage]] = {}
"""Where the warnings of each recording thread go."""
_process = ExitStack()
"""Gives the process its own filters back when no thread records any more."""


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect the warnings of this thread instead of showing them.

    `warnings.catch_warnings` changes the whole process, and blocks that overlap in several threads
    leave their filters behind. Here the first block changes the process, and the last one changes
    it back.
    """
    thread = threading.get_ident()
    caught: list[warnings.WarningMessage] = []
    with _lock:
        if not _lists:
            _begin()
        before = _lists.get(thread)
        _lists[thread] = caught
    try:
        yield caught
    finally:
        with _lock:
            if before is None:
                del _lists[thread]
            else:
                _lists[thread] = before
            if not _lists:
                _process.close()


def _begin() -> None:
    _process.enter_context(warnings.catch_warnings())
    show = warnings.showwarning

    def keep(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        # a thread that a recording one has started has no list of its own
        only = next(iter(_lists.values())) if len(_lists) == 1 else None
        caught = _lists.get(threading.get_ident(), only)
        if caught is None:
            show(message, category, filename, lineno, file, line)
        else:
            caught.append(warnings.WarningMessage(message, category, filename, lineno, file, line))

    warnings.simplefilter("always")
    warnings.showwarning = keep
