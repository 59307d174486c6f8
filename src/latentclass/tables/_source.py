"""Where the bytes of a table come from: a path, standard input or an open file, packed or not.

A source can be opened again and again, because tables are read in several passes. What can be read
only once, such as standard input, is first copied to a temporary file.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast
from weakref import finalize

from latentclass.exceptions import TableFileError
from latentclass.tables._shown import LONGEST, plain, shown

IN_MEMORY = 2**24
"""Bytes of standard input that are kept in memory; the rest goes to a temporary file."""

BLOCK = 2**20
"""Bytes that are read at once."""

GZIP_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
GZIP = b"\x1f\x8b"
OTHER_ARCHIVES = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
}


@dataclass(frozen=True)
class Source:
    """Bytes that can be read more than once.

    Attributes
    ----------
    name : str
        File name for messages, safe to print.
    ending : str
        Ending of the file's name in small letters, without ".gz"; empty if it has no name.
    path : Path or None
        The file itself, if it is a plain one.
    spool : file or None
        Copy of what cannot be opened twice.
    packed : bool
        Whether gzip has packed it.
    """

    name: str
    ending: str
    path: Path | None
    spool: IO[bytes] | None
    packed: bool

    def __post_init__(self) -> None:
        if self.spool is not None:
            finalize(self, self.spool.close)

    def open(self) -> BinaryIO:
        """Open the unpacked bytes from the start. Only one stream of a source may be in use."""
        if self.packed:
            packed = gzip.GzipFile(self.path, "rb") if self.path is not None else self._from_spool()
            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, packed), BLOCK))
        if self.path is not None:
            return self.path.open("rb")
        return cast(BinaryIO, io.BufferedReader(_Unclosed(self._rewound()), BLOCK))

    def _from_spool(self) -> gzip.GzipFile:
        return gzip.GzipFile(fileobj=self._rewound(), mode="rb")

    def _rewound(self) -> IO[bytes]:
        spool = cast(IO[bytes], self.spool)
        spool.seek(0)
        return spool

    def open_at_random(self) -> Path | IO[bytes]:
        """The unpacked bytes where a reader may jump to and fro."""
        if self.path is not None and not self.packed:
            return self.path
        with self.open() as stream:
            copy = _spool(stream)
        finalize(self, copy.close)
        copy.seek(0)
        return copy

    def fault(self, what: str, line: int | None = None) -> TableFileError:
        """The error that refuses the file, to be raised."""
        place = "" if line is None else f", line {line:,}"
        return TableFileError(f"{self.name}{place}: {what}")


class _Unclosed(io.RawIOBase):
    """A view of a spool that leaves it open when it is closed."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._spool.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def open_source(given: Any) -> Source:
    """Make a source of a path, "-" for standard input, or a file that is open for reading."""
    if hasattr(given, "read"):
        return _read_once(given, getattr(given, "name", ""), "the file")
    if isinstance(given, str) and given == "-":
        stdin = getattr(sys.stdin, "buffer", sys.stdin)
        return _read_once(stdin, "", "standard input")
    if not isinstance(given, str | os.PathLike):
        raise TypeError(
            "A table is read from a path, from '-' for standard input or from an open file, got "
            f"{type(given).__name__}."
        )
    path = Path(os.fsdecode(given))
    name = plain(path, 4 * LONGEST)
    with system_faults(name):
        if stat.S_ISDIR(path.stat().st_mode):
            raise TableFileError(f"{name}: this is a folder. Name one file in it.")
        if not path.is_file():  # a pipe
            with path.open("rb") as pipe:
                return _read_once(pipe, path.name, name)
        with path.open("rb") as file:
            start = file.read(8)
    source = Source(name, _ending(path.name), path, None, start.startswith(GZIP))
    _refuse_archive(source, start)
    return source


def _read_once(file: Any, file_name: Any, name: str) -> Source:
    file_name = os.path.basename(file_name) if isinstance(file_name, str) else ""
    with system_faults(name):
        spool = _spool(file)
    spool.seek(0)
    start = spool.read(8)
    shown_name = plain(file_name, 4 * LONGEST) if name == "the file" and file_name else name
    source = Source(shown_name, _ending(file_name), None, spool, start.startswith(GZIP))
    _refuse_archive(source, start)
    return source


def _spool(file: Any) -> IO[bytes]:
    """A copy of a stream, to be closed by whoever asked for it."""
    spool = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
    try:
        while data := file.read(BLOCK):
            # a file that is open for text has undone its own encoding
            text = isinstance(data, str)
            spool.write(data.encode("utf-8", "surrogatepass") if text else data)
    except BaseException:
        spool.close()
        raise
    return cast(IO[bytes], spool)


def _ending(file_name: str) -> str:
    parts = file_name.lower().split(".")[1:]
    if parts and parts[-1] in ("gz", "gzip"):
        parts.pop()
    return parts[-1] if parts else ""


def _refuse_archive(source: Source, start: bytes) -> None:
    for magic, what in OTHER_ARCHIVES.items():
        if start.startswith(magic):
            raise source.fault(f"this is {what}. Unpack it, or save it as CSV.")


@contextmanager
def system_faults(name: str) -> Iterator[None]:
    """Turn what goes wrong with files, disks and memory into one sentence."""
    try:
        yield
    except TableFileError:
        raise
    except FileNotFoundError:
        raise TableFileError(f"{name}: there is no such file. Check the path.") from None
    except PermissionError:
        raise TableFileError(f"{name}: no permission to read it. Check its owner.") from None
    except GZIP_FAULTS:
        raise TableFileError(
            f"{name}: the gzip data is damaged or cut off. Copy or download the file again."
        ) from None
    except MemoryError:
        raise TableFileError(f"{name}: not enough memory. Read it in chunks.") from None
    except (OSError, ValueError) as error:  # a ValueError: NUL in a path, a closed file
        raise TableFileError(f"{name}: cannot be read ({shown(error, 120)}).") from None
