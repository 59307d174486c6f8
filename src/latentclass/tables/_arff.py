"""Read ARFF files, those with text attributes too."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from latentclass.tables._scan import Scan
from latentclass.tables._shown import shown
from latentclass.tables._source import Source, system_faults

NUMERIC = ("numeric", "real", "integer")
TEXT = ("string", "date")
LINES_AT_ONCE = 8192
# "++" and "*+" never try again with less, so that no line takes long
QUOTED = r"'(?:[^'\\]++|\\.)*+'|\"(?:[^\"\\]++|\\.)*+\""
ATTRIBUTE = re.compile(rf"@attribute\s++({QUOTED}|[^\s{{'\"]++)\s*+(.*)$", re.IGNORECASE)
CELL = re.compile(rf"\s*+({QUOTED}|[^,'\"]*+)\s*+(,|$)")
ESCAPED = re.compile(r"\\(.)")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Attribute(NamedTuple):
    """A column: its type is "number" or "text", or it has a list of categories."""

    name: str
    type: str
    categories: frozenset[str] | None = None


@dataclass
class ArffReader:
    """The rows of an ARFF file.

    Attributes
    ----------
    source : Source
    scan : Scan
    names : list of str
        Columns that are read: all of them at first.
    all_names : list of str
    attributes : list of Attribute
    """

    source: Source
    scan: Scan
    names: list[str] = field(init=False)
    all_names: list[str] = field(init=False)
    attributes: list[Attribute] = field(init=False)

    def __post_init__(self) -> None:
        with system_faults(self.source.name), self._lines() as lines:
            self.attributes = self._read_header(enumerate(lines, start=1))
        self.all_names = [attribute.name for attribute in self.attributes]
        self.names = self.all_names

    def read(self) -> Any:
        """All rows as one pyarrow table."""
        return pa.concat_tables(list(self.read_chunks(LINES_AT_ONCE)))

    def read_chunks(self, n_rows: int) -> Iterator[Any]:
        """All rows in tables of `n_rows`, the last one shorter."""
        wanted = [self.all_names.index(name) for name in self.names]
        schema = pa.schema(
            [
                (name, pa.float64() if self.attributes[j].type == "number" else pa.string())
                for name, j in zip(self.names, wanted, strict=True)
            ]
        )
        found = False
        with system_faults(self.source.name), self._lines() as lines:
            numbered = enumerate(lines, start=1)
            self._read_header(numbered)
            for rows, at in self._rows(numbered, n_rows):
                found = True
                columns = list(zip(*rows, strict=True))
                arrays = [self._column(self.attributes[j], columns[j], at) for j in wanted]
                yield pa.table(arrays, schema=schema)
        if not found:
            raise self.source.fault(
                "there are no rows below @data. Export the file again, or check its name."
            )

    def _lines(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.source.open(), encoding=self.scan.encoding)

    def _read_header(self, lines: Iterable[tuple[int, str]]) -> list[Attribute]:
        """Attributes; the lines are left at the first row."""
        attributes: list[Attribute] = []
        names: set[str] = set()
        for number, line in lines:
            text = line.strip().removeprefix("\ufeff")
            word = text.split(maxsplit=1)[0].lower() if text else ""
            if word == "@data":
                if not attributes:
                    raise self.source.fault("there is no @attribute above @data.", number)
                return attributes
            if word == "@attribute":
                attributes.append(self._read_attribute(text, number))
                name = attributes[-1].name
                if name in names:
                    raise self.source.fault(
                        f"two attributes are called {shown(name)}. Rename one.", number
                    )
                names.add(name)
            elif word and not word.startswith("%") and word != "@relation":
                raise self.source.fault(
                    f"{shown(text)} is not @relation, @attribute or @data. Correct the line, or "
                    "give the file the ending .csv if it has no such lines.",
                    number,
                )
        raise self.source.fault("there is no line @data. The file is cut off, or it is not ARFF.")

    def _read_attribute(self, text: str, number: int) -> Attribute:
        match = ATTRIBUTE.match(text)
        if not match:
            raise self.source.fault(f"{shown(text)} lacks a name or type. Correct it.", number)
        name, rest = _unquote(match[1]), match[2].strip()
        kind = rest.split(maxsplit=1)[0].lower() if rest else ""
        if kind in NUMERIC:
            return Attribute(name, "number")
        if kind in TEXT:
            return Attribute(name, "text")
        if rest.startswith("{") and rest.endswith("}"):
            categories = _split(rest[1:-1])
            if categories is not None:
                return Attribute(name, "text", frozenset(filter(None, categories)))
        raise self.source.fault(
            f"attribute {shown(name)} has the type {shown(rest)}, but only numeric, {{...}}, "
            "string and date can be read.",
            number,
        )

    def _rows(
        self, lines: Iterable[tuple[int, str]], n_rows: int
    ) -> Iterator[tuple[list[Sequence[str | None]], list[int]]]:
        """Rows in groups, and the lines that they are in."""
        rows: list[Sequence[str | None]] = []
        at: list[int] = []
        for number, line in lines:
            text = line.strip()
            if not text or text.startswith("%"):
                continue
            rows.append(self._read_row(text, number))
            at.append(number)
            if len(rows) == n_rows:
                yield rows, at
                rows, at = [], []
        if rows:
            yield rows, at

    def _read_row(self, text: str, number: int) -> Sequence[str | None]:
        if text.startswith("{"):
            raise self.source.fault(
                "rows in braces (sparse ARFF) cannot be read. Write every cell.", number
            )
        if "'" in text or '"' in text or "\\" in text:
            cells = _split(text)
            if cells is None:
                raise self.source.fault(
                    "a quote is not closed, or text follows a closing one.", number
                )
        else:
            cells = [
                None if cell in ("?", "") else cell for cell in map(str.strip, text.split(","))
            ]
        if len(cells) != len(self.attributes):
            raise self.source.fault(
                f"{len(cells)} cell{'s' * (len(cells) != 1)} instead of {len(self.attributes)}, "
                "which is the number of attributes. Correct the line.",
                number,
            )
        return cells

    def _column(self, attribute: Attribute, cells: Sequence[str | None], at: Sequence[int]) -> Any:
        array = pa.array(cells, pa.string())
        if attribute.type == "number":
            try:
                return array.cast(pa.float64())
            except pa.ArrowInvalid:
                place = next(i for i, cell in enumerate(cells) if not _is_number(cell))
                self._refuse_cell(attribute, cells[place], "a number", at[place])
        if attribute.categories is not None:
            unknown = set(array.unique().to_pylist()) - attribute.categories - {None}
            if unknown:
                place = next(i for i, cell in enumerate(cells) if cell in unknown)
                self._refuse_cell(attribute, cells[place], "one of its categories", at[place])
        return array

    def _refuse_cell(
        self, attribute: Attribute, cell: str | None, expected: str, line: int
    ) -> None:
        raise self.source.fault(
            f"attribute {shown(attribute.name)} is {shown(cell)}, which is not {expected}. Correct "
            "the cell, or the attribute's type.",
            line,
        )


def _is_number(cell: str | None) -> bool:
    try:
        pa.array([cell], pa.string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _split(text: str) -> list[str | None] | None:
    """Cells of a row or categories of an attribute; None if quotes do not match."""
    cells: list[str | None] = []
    place = 0
    while True:
        match = CELL.match(text, place)
        if not match:
            return None
        cell = match[1].strip()
        cells.append(None if cell in ("?", "") else _unquote(cell))
        if not match[2]:
            return cells
        place = match.end()


def _unquote(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return ESCAPED.sub(lambda match: ESCAPES.get(match[1], match[1]), text)
