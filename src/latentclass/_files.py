"""Write files so that they are never seen half-written."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

STALE_SECONDS = 60.0
"""A part that nobody holds is left alone for so long: its writer may be about to hold it."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file to write to. It replaces `path` at the end, if there was no error.

    What a killed process has left of the same file is removed.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target} cannot be written: there is no folder {target.parent}. Make it first."
        )
    stem = sha256(os.fsencode(target.name)).hexdigest()[:16]  # the name itself may be too long
    _remove_stale(target.parent, stem)
    part = target.parent / f"{stem}-{secrets.token_hex(8)}.part"
    descriptor = os.open(part, NEW_FILE, 0o666)  # less the umask: as any new file
    try:
        with open(descriptor, "wb") as file:
            _hold(descriptor)
            yield file
            file.flush()
            # on disk before the name is: a crash of the machine must not leave an empty file
            os.fsync(descriptor)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
    _keep_name(target.parent)


def _hold(descriptor: int) -> bool:
    """Mark a part as being written, until it is closed or its process ends; False if it is."""
    if sys.platform == "win32":  # where a file that is open cannot be removed anyway
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it; or a folder without locks, on some networks
        return False
    return True


def _remove_stale(folder: Path, stem: str) -> None:
    """Remove parts of a file that are no longer written."""
    with contextlib.suppress(OSError):  # no tidying is worth an error
        for part in folder.glob(f"{stem}-*.part"):
            descriptor = os.open(part, os.O_RDONLY)
            try:
                age = time.time() - os.fstat(descriptor).st_mtime
                stale = age > STALE_SECONDS and _hold(descriptor)
            finally:
                os.close(descriptor)
            if stale:
                os.unlink(part)


def _keep_name(folder: Path) -> None:
    """Write the names in a folder to disk: a crash of the machine must not lose the new one.

    Some systems and network folders do not let a program do this. The file itself is on disk.
    """
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
