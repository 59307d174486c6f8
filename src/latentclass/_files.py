"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` at the end, if nothing went wrong."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".part", delete=False) as part:
        try:
            yield part
            part.close()
            # a temporary file is for its owner only; a new file should be as others are
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(part.name, 0o666 & ~umask)
            os.replace(part.name, target)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
