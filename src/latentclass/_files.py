"""Write files so that they are never seen half-written."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file to write to. It replaces `path` at the end, if there was no error."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target} cannot be written: there is no folder {target.parent}. Make it first."
        )
    part = target.parent / f"{secrets.token_hex(8)}.part"
    descriptor = os.open(part, NEW_FILE, 0o666)  # less the umask: as any new file
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            # on disk before the name is: a crash of the machine must not leave an empty file
            os.fsync(descriptor)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise
    _keep_name(target.parent)


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
