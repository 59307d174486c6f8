"""One quick pass over a text file: its encoding, and faults that would confuse a parser."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, NoReturn

from latentclass.tables._shown import shown
from latentclass.tables._source import BLOCK, Source, system_faults

LONGEST_LINE = 2**22
"""Characters of a line. Tables with 100,000 columns stay below. More is another kind of file, and
memory would grow with it."""

START = 4096
BINARY_SHARE = 0.02
"""Share of control characters among the first `START` bytes from which on a file that is not UTF-8
is not text in another encoding either. Random bytes have 10 %, and text has next to none."""

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is the start of this one
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with byte order mark",
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
}
EMPTY = "the file is empty. Export it again, or check its name."
BINARY = "this is not a text file. Save the table as CSV or Parquet, or check the name of the file."
CONTROL = dict.fromkeys([*range(9), *range(14, 27), *range(28, 32), 127])


@dataclass(frozen=True)
class Scan:
    """What the pass found.

    Attributes
    ----------
    encoding : str
        Name of a Python codec.
    n_quotes : int
        Number of double quotes.
    sample : str
        The start of the text, about `BLOCK` characters.
    whole : bool
        Whether the sample is all of it.
    guessed : bool
        Whether nothing but a habit speaks for the encoding: bytes that are not UTF-8 are taken as
        Windows-1252.
    """

    encoding: str
    n_quotes: int
    sample: str
    whole: bool
    guessed: bool = False

    def describe_encoding(self) -> str:
        """Name of the encoding for people."""
        name = ENCODING_NAMES.get(self.encoding, self.encoding)
        return f"{name} (guessed)" if self.guessed else name


def scan_text(source: Source, encoding: str | None) -> Scan:
    """Read the whole file once; refuse what is not text.

    Raises
    ------
    TableFileError
        If the file is empty or binary, has NUL bytes, bytes that do not belong to its encoding, or
        a line that is too long.
    """
    with system_faults(source.name):
        with source.open() as stream:
            start = stream.read(BLOCK)
        if not start.strip():
            raise source.fault(EMPTY)
        codec = _codec_of(source, start, encoding)
        if codec is not None:
            return _scan_as(source, codec, ENCODING_NAMES.get(codec, codec))
        _refuse_known_binary(source, start[:START])
        try:
            return _scan(source, "utf-8")
        except _NotInEncodingError as error:
            if error.beyond_ascii:  # the lines above are UTF-8, so nothing else fits them
                _refuse_bytes(source, error, "UTF-8, as the lines above it are")
        _refuse_control_bytes(source, start[:START])
        return replace(_scan_as(source, "cp1252", "UTF-8 or Windows-1252"), guessed=True)


def _codec_of(source: Source, start: bytes, encoding: str | None) -> str | None:
    """The encoding that the user names or a byte order mark tells."""
    if encoding is not None:
        codec = _known_codec(source, encoding)
        return "utf-8-sig" if codec == "utf-8" and start.startswith(codecs.BOM_UTF8) else codec
    return next((codec for mark, codec in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)


def _scan_as(source: Source, encoding: str, expected: str) -> Scan:
    try:
        return _scan(source, encoding)
    except _NotInEncodingError as error:
        _refuse_bytes(source, error, expected)


class _NotInEncodingError(Exception):
    """A byte that does not belong to an encoding.

    It comes after `n_characters` and `n_lines` more lines.
    """

    def __init__(
        self, encoding: str, n_characters: int, n_lines: int, byte: int, beyond_ascii: bool
    ) -> None:
        self.encoding, self.n_characters, self.n_lines = encoding, n_characters, n_lines
        self.byte, self.beyond_ascii = byte, beyond_ascii


def _refuse_bytes(source: Source, error: _NotInEncodingError, expected: str) -> NoReturn:
    line = _line_at(source, error.encoding, error.n_characters) + error.n_lines
    raise source.fault(
        f"byte 0x{error.byte:02x} is not {expected}. Name the encoding, for example latin-1, or "
        "save the file as UTF-8.",
        line,
    )


def _known_codec(source: Source, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
        if not codec._is_text_encoding:
            raise LookupError
    except (LookupError, ValueError, TypeError):
        raise source.fault(
            f"the encoding {shown(encoding)} is not known. Name one such as utf-8 or cp1252."
        ) from None
    return codec.name


def _refuse_known_binary(source: Source, start: bytes) -> None:
    if start.startswith(b"PAR1"):
        raise source.fault("this is a Parquet file. Give it the ending .parquet.")
    if start.startswith(b"ARROW1"):
        raise source.fault("this is an Arrow file. Give it the ending .feather.")
    for encoding, nuls in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if nuls.count(0) > len(start) // 4:
            text = start[: len(start) // 2 * 2].decode(encoding, "replace")
            _refuse_control_characters(source, len(text), len(text.translate(CONTROL)))
            raise source.fault(
                f"every second byte is NUL. If it is text, name its encoding: {encoding}.", 1
            )
    if b"\0" in start:
        _refuse_control_bytes(source, start)


def _refuse_control_bytes(source: Source, start: bytes) -> None:
    _refuse_control_characters(source, len(start), len(start.translate(None, bytes(CONTROL))))


def _refuse_control_characters(source: Source, n_all: int, n_plain: int) -> None:
    if n_all - n_plain > BINARY_SHARE * n_all + 1:
        raise source.fault(BINARY)


def _scan(source: Source, encoding: str) -> Scan:
    n_quotes, sample, whole, before, open_length = 0, "", True, 0, 0
    with source.open() as stream:
        for text in decoded(stream, encoding):
            whole = not sample
            sample = sample or text
            if "\0" in text:
                line = _line_at(source, encoding, before + text.index("\0"))
                raise source.fault(
                    "the line holds a NUL byte. Remove it, or save the file anew.", line
                )
            n_quotes += text.count('"')
            first = _first_break(text)
            if open_length + (len(text) if first < 0 else first) > LONGEST_LINE:
                raise source.fault(
                    f"the line is longer than {LONGEST_LINE // 2**20} MB. Line breaks are missing, "
                    "or this is not a table.",
                    _line_at(source, encoding, before),
                )
            before += len(text)
            open_length = open_length + len(text) if first < 0 else len(text) - _last_break(text)
    if not sample.strip("\ufeff \t\r\n"):
        raise source.fault(EMPTY)
    return Scan(encoding, n_quotes, sample.removeprefix("\ufeff"), whole)


def decoded(stream: IO[bytes], encoding: str) -> Iterator[str]:
    """Text of a stream, block by block."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_characters, beyond_ascii = 0, False
    while True:
        data = stream.read(BLOCK)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            good = error.object[: error.start]
            raise _NotInEncodingError(
                encoding,
                n_characters,
                good.count(b"\n"),
                error.object[error.start],
                beyond_ascii or not good.isascii(),
            ) from None
        except UnicodeError:  # not even the start is in this encoding
            raise _NotInEncodingError(
                encoding, n_characters, 0, (data or b"\0")[0], False
            ) from None
        beyond_ascii = beyond_ascii or not text.isascii()
        if text:
            yield text
        n_characters += len(text)
        if not data:
            return


def _line_at(source: Source, encoding: str, n_characters: int) -> int:
    """The line that comes after so many characters. Lines are counted only for messages."""
    line = 1
    if not n_characters:
        return line
    with source.open() as stream:
        for text in decoded(stream, encoding):
            line += _breaks(text[:n_characters])
            n_characters -= len(text)
            if n_characters <= 0:
                break
    return line


def _breaks(text: str) -> int:
    lone = text.count("\r") - text.count("\r\n") if "\r" in text else 0
    return text.count("\n") + lone


def _first_break(text: str) -> int:
    found = [place for place in (text.find("\n"), text.find("\r")) if place >= 0]
    return min(found, default=-1)


def _last_break(text: str) -> int:
    return max(text.rfind("\n"), text.rfind("\r")) + 1
