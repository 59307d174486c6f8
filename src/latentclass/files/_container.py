"""The bytes of a model file: arrays of numbers and one JSON document, in safetensors' layout.

    8 bytes      length of the header
    header       JSON: versions and checksum, then type, size and place of each tensor
    data         the tensors, one after the other

There is one tensor for each type of number, with the arrays of that type end to end, and one with
the document, which says what the arrays mean. A header has just one valid form, so it is compared
with the form that its own sizes give. Nothing else is looked at before sizes and checksum fit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from latentclass._files import replacing
from latentclass._version import __version__
from latentclass.exceptions import ModelFileError

FORMAT = 1
"""Number of the format that this version writes. It reads all formats up to it."""

MAGIC = b'{"__metadata__":{"latentclass":"'
"""How a header begins."""

MOST_HEADER = 4096
"""Largest header: there are few tensors, so a real one has some 500 bytes."""

MOST_BYTES = 2**36
"""Largest file (64 GiB)."""

MOST_DOCUMENT, MOST_TOKENS = 2**26, 300_000
"""Largest document, and most commas and brackets in it. Long lists are arrays, so that a real one
stays far below. A value of a few bytes may need a hundred bytes of memory."""

TYPES = {"F64": "<f8", "I64": "<i8", "F32": "<f4", "I32": "<i4", "U8": "|u1"}
"""Types of numbers by their names in safetensors, the widest first so that all are aligned."""

DOCUMENT = "document"

Arrays = dict[str, npt.NDArray[Any]]


class Contents(NamedTuple):
    """What a file holds: who wrote it, the document, and one flat array for each type."""

    version: str
    sha256: str
    n_bytes: int
    document: Any
    arrays: Arrays


def write_contents(path: str | os.PathLike[str], document: Any, arrays: Arrays) -> None:
    """Write a file; whatever happens, either the old or the new one is there."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode("ascii")
    _check_document(text)
    parts = [arrays[name].astype(kind, copy=False) for name, kind in TYPES.items()]
    data = [memoryview(np.ascontiguousarray(part).view(np.uint8).data) for part in parts]
    data.append(memoryview(text))
    digest = hashlib.sha256()
    for part in data:
        digest.update(part)
    sizes = {name: len(part) for name, part in zip([*TYPES, DOCUMENT], data, strict=True)}
    header = _header(__version__, FORMAT, digest.hexdigest(), sizes)
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for part in data:
            file.write(part)


def _header(version: str, number: int, sha256: str, sizes: Mapping[str, int]) -> bytes:
    """The header of tensors with these numbers of bytes."""
    tensors: dict[str, Any] = {
        "__metadata__": {"latentclass": version, "format": str(number), "sha256": sha256}
    }
    end = 0
    for name in (*TYPES, DOCUMENT):
        if size := sizes.get(name, 0):
            begin, end = end, end + size
            kind = "U8" if name == DOCUMENT else name
            count = size // np.dtype(TYPES[kind]).itemsize
            tensors[name] = {"dtype": kind, "shape": [count], "data_offsets": [begin, end]}
    text = json.dumps(tensors, separators=(",", ":")).encode("ascii")
    return text + b" " * (-len(text) % 8)  # so that the numbers are aligned in the file


def read_contents(path: str | os.PathLike[str]) -> Contents:
    """Read and check a file."""
    name = os.fspath(path)
    with open(path, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise ModelFileError(f"{name!r} is not a regular file. Pass the path of a model file.")
        return _read(file, about.st_size, name)


def _read(file: IO[bytes], n_bytes: int, name: str) -> Contents:
    start = file.read(8 + MOST_HEADER)
    _check_start(start, n_bytes, name)
    header_end = 8 + int.from_bytes(start[:8], "little")
    header = start[8:header_end]
    version, sha256, sizes = _parse_header(header, name)
    n_data = sum(sizes.values())
    if n_bytes != header_end + n_data:
        kind = "cut off" if n_bytes < header_end + n_data else "damaged"
        raise ModelFileError(
            f"{name!r} is {kind}: it has {n_bytes:,} bytes, but its header names "
            f"{header_end + n_data:,}. Copy it again, or save the model anew."
        )
    if n_bytes > MOST_BYTES:
        raise ModelFileError(f"{name!r} has {n_bytes:,} bytes, more than any model file.")
    data = bytearray(n_data)
    file.seek(header_end)
    if file.readinto(data) != n_data:  # type: ignore[attr-defined]
        raise ModelFileError(f"{name!r} changed while it was read. Read it again.")
    if hashlib.sha256(data).hexdigest() != sha256:
        refuse_damaged(name, "its checksum is not that of its contents")
    view = memoryview(data)
    arrays, begin = {}, 0
    for kind, size in sizes.items():
        arrays[kind] = np.frombuffer(view[begin : begin + size], TYPES.get(kind, "|u1"))
        begin += size
    document = _parse_document(arrays.pop(DOCUMENT).tobytes(), name)
    return Contents(version, sha256, n_bytes, document, arrays)


def _check_start(start: bytes, n_bytes: int, name: str) -> None:
    """Refuse a file that does not begin as ours do."""
    if start[8 : 8 + len(MAGIC)] != MAGIC:
        kind = "it begins differently"
        if not n_bytes:
            kind = "it is empty"
        elif start[:1] == b"\x80":
            kind = "it looks like a pickle, which can run any code when it is loaded"
        elif start[:2] == b"PK":
            kind = "it looks like a zip archive"
        raise ModelFileError(
            f"{name!r} is not a model file of latentclass: {kind}. Pass a file that latentclass "
            "fit or latentclass.save wrote."
        )
    length = int.from_bytes(start[:8], "little")
    if length > MOST_HEADER:
        refuse_damaged(name, f"its header would have {length:,} bytes")
    if n_bytes < 8 + length:
        raise ModelFileError(
            f"{name!r} is cut off inside its header. Copy it again, or save the model anew."
        )


def _parse_header(header: bytes, name: str) -> tuple[str, str, dict[str, int]]:
    """Version, checksum and sizes of the tensors in their order."""
    try:
        found = json.loads(header.decode("ascii"))
        about = found.pop("__metadata__")
        version, number = str(about["latentclass"]), int(about["format"])
        sha256 = str(about["sha256"]) if number <= FORMAT else ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        refuse_damaged(name, "its header cannot be read")
    if not re.fullmatch(r"[\w.+!-]{1,64}", version, re.ASCII):
        refuse_damaged(name, "its header names no version")
    if number > FORMAT:
        raise ModelFileError(
            f"{name!r} was written by latentclass {version} in format {number}, but this is "
            f"latentclass {__version__}, which reads formats up to {FORMAT}: upgrade latentclass."
        )
    try:
        sizes = {
            key: found[key]["data_offsets"][1] - found[key]["data_offsets"][0]
            for key in (*TYPES, DOCUMENT)
            if key in found
        }
        whole = all(type(size) is int and 0 < size <= MOST_BYTES for size in sizes.values())
        fits = whole and header == _header(version, number, sha256, sizes)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        fits = False
    if not fits or DOCUMENT not in sizes:
        refuse_damaged(name, "its header is not as latentclass writes it")
    return version, sha256, sizes


def _check_document(text: bytes) -> None:
    """Refuse a document that could fill the memory."""
    n_tokens = sum(map(text.count, (b",", b"[", b"{")))
    if len(text) > MOST_DOCUMENT or n_tokens > MOST_TOKENS:
        raise ModelFileError(
            f"The description of the model has {len(text):,} bytes and {n_tokens:,} entries, but a "
            f"model file holds at most {MOST_DOCUMENT:,} and {MOST_TOKENS:,}. Join rare "
            "categories, or drop columns of text."
        )


def _parse_document(text: bytes, name: str) -> Any:
    _check_document(text)
    try:
        return json.loads(
            text.decode("ascii"),
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_int=_small_int,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if not isinstance(error, RecursionError) else "it is nested too deeply"
        raise ModelFileError(
            f"{name!r} holds no valid model: its document cannot be read "
            f"({reason}). Save the model anew."
        ) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a name occurs twice")
    return out


def _small_int(text: str) -> int:
    if len(text) > 20 or abs(int(text)) >= 2**63:
        raise ValueError("a whole number is too large")
    return int(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def refuse_damaged(name: str, reason: str) -> NoReturn:
    """Say that a file is not as it was written."""
    raise ModelFileError(f"{name!r} is damaged: {reason}. Copy it again, or save the model anew.")
