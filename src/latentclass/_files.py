"""Write files so that they are never seen half-written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file to write to. It replaces `path` at the end, if there was no error."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".part", delete=False) as part:
        try:
            yield part
            part.close()
            # a temporary file is private to its owner; give it the usual permissions
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(part.name, 0o666 & ~umask)
            os.replace(part.name, target)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
