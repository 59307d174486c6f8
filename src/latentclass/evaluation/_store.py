"""Results on disk: an append-only file of JSON lines."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from latentclass._warn import warn_user

Record = dict[str, Any]

CHECK = "check"
"""Last field of a line: a checksum of the other fields, which reveals damaged lines."""

FULL = "If the disk is full, make room and run again; finished folds are kept."


class Store:
    """Finished folds in a file of JSON lines.

    `add` appends a record to the file in one piece, and the record is on disk when it returns.
    Existing lines never change. So a run that is killed loses at most the record that it was
    writing, several processes can write to the same file, and two stores can be joined with
    `cat a.jsonl b.jsonl`. Damaged records are skipped and counted, with one warning that names
    their lines; usually this is the last line of a killed run.

    Parameters
    ----------
    path : path-like or None
        File to read and append to. It is created when there is something to add. None keeps the
        records in memory only.
    find_fault : callable of a record to str or None, optional
        Says what is wrong with a record whose checksum is right, or None. A record with a fault
        counts as damaged.

    Attributes
    ----------
    records : dict of str to dict
        Record by key. If several have the same key, the first one counts, except that a success
        replaces a failure.
    n_damaged : int
        Number of records that could not be used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "results.jsonl"
    >>> Store(path).add({"key": "k1", "error": None})
    >>> list(Store(path).records)
    ['k1']
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        find_fault: Callable[[Record], str | None] | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.records: dict[str, Record] = {}
        self.n_damaged = 0
        if self.path is not None and self.path.exists():
            self._read(self.path, find_fault or (lambda _: None))

    def _read(self, path: Path, find_fault: Callable[[Record], str | None]) -> None:
        damaged: dict[int, str] = {}
        try:
            lines = path.open("rb")
        except OSError as error:
            raise OSError(
                error.errno,
                f"The store {path.name!r} cannot be read ({error.strerror}). Pass store= a file "
                "that you can read and write.",
            ) from error
        with lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                record = _parse(line)
                if record is None:
                    damaged[number] = "is cut off or was changed, as when a run is killed"
                elif fault := _find_fault(record) or find_fault(record):
                    damaged[number] = fault
                else:
                    self._keep(record)
        self.n_damaged = len(damaged)
        if damaged:
            places = ", ".join(map(str, [*damaged][:5])) + (", ..." if len(damaged) > 5 else "")
            first = next(iter(damaged.values()))
            warn_user(
                f"{path.name}: skipped {len(damaged)} damaged record(s) (line {places}); the first "
                f"{first}. Their results are computed again."
            )

    def _keep(self, record: Record) -> bool:
        """Keep a record unless it says nothing new; return whether it was kept."""
        known = self.records.get(record["key"])
        if known is not None and (known["error"] is None or record["error"] is not None):
            return False
        self.records[record["key"]] = record
        return True

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a record with at least `key` and `error`, unless it says nothing new."""
        record = dict(record)
        if self._keep(record) and self.path is not None:
            _append(self.path, _line(record))

    def check_writable(self) -> None:
        """Raise an error if no record could be added, before one is computed."""
        if self.path is None:
            return
        try:
            os.close(_open(self.path))
        except OSError as error:
            raise OSError(
                error.errno,
                f"The store {self.path.name!r} cannot be written to ({error.strerror}), so nothing "
                "is computed. Pass store= a file in a folder that you can write to.",
            ) from error


def merge_stores(
    target: str | os.PathLike[str], *sources: str | os.PathLike[str]
) -> dict[str, Record]:
    """Append to `target` the records of other stores that it lacks.

    Parameters
    ----------
    target : path-like
        Store to extend. It need not exist yet.
    *sources : path-like
        Stores to read. They do not change.

    Returns
    -------
    dict of str to dict
        All records by key.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> home = Path(tempfile.mkdtemp())
    >>> Store(home / "a.jsonl").add({"key": "k1", "error": None})
    >>> Store(home / "b.jsonl").add({"key": "k2", "error": None})
    >>> sorted(merge_stores(home / "all.jsonl", home / "a.jsonl", home / "b.jsonl"))
    ['k1', 'k2']
    """
    for source in sources:
        if not Path(source).exists():
            raise FileNotFoundError(
                f"There is no store {Path(source).name!r} to merge. Pass paths that were used as "
                "store= in compare."
            )
    merged = Store(target)
    for source in sources:
        for record in Store(source).records.values():
            merged.add(record)
    return merged.records


def canonical_json(content: Any) -> str:
    """Return JSON text that is the same for equal content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def checksum(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _line(record: Record) -> bytes:
    body = canonical_json(record).encode()
    return body[:-1] + f',"{CHECK}":"'.encode() + _check(body) + b'"}\n'


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


def _parse(line: bytes) -> Record | None:
    """Return the record of a line, or None if the line is damaged."""
    head, _, tail = line.rstrip().rpartition(f',"{CHECK}":"'.encode())
    body = head + b"}"
    if tail != _check(body) + b'"}':
        return None
    try:
        record: Record = json.loads(body)
    except (ValueError, RecursionError):  # also numbers too long and brackets too deep for Python
        return None
    return record


def _find_fault(record: Record) -> str | None:
    """Say what makes a record useless to a store; None if nothing does."""
    if not isinstance(record.get("key"), str):
        return "has no text as its 'key'"
    try:
        if record["error"] is not None:
            record["error"].encode()  # half a character cannot be written anywhere
    except (KeyError, AttributeError, UnicodeEncodeError):
        return "has neither a text nor null as its 'error'"
    return None


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def _append(path: Path, line: bytes) -> None:
    handle = _open(path)
    try:
        with _locked(handle):
            end = os.lseek(handle, 0, os.SEEK_END)
            if end:
                os.lseek(handle, end - 1, os.SEEK_SET)
                if os.read(handle, 1) != b"\n":
                    line = b"\n" + line  # a killed run left half a line: start a new one
            try:
                written = os.write(handle, line)
            except OSError as error:
                what = f"Nothing could be written to {path.name} ({error.strerror}). {FULL}"
                raise OSError(error.errno, what) from error
            if written < len(line):
                raise OSError(
                    f"Only {written} of {len(line)} bytes could be written to {path.name}. {FULL}"
                )
            os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked(handle: int) -> Iterator[None]:
    """Lock the file for one record, where files can be locked."""
    if sys.platform == "win32":  # pragma: no cover
        yield
        return
    import fcntl

    with contextlib.suppress(OSError):  # some network file systems have no locks
        fcntl.flock(handle, fcntl.LOCK_EX)
    yield  # closing the file releases it
