"""How a text file separates its cells, and whether its first line holds names."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from latentclass._missing_words import MISSING_WORDS
from latentclass.tables._scan import Scan
from latentclass.tables._shown import shown
from latentclass.tables._source import Source

SEPARATORS = (",", ";", "\t", "|")
SEPARATOR_NAMES = {"\t": "tab", " ": "space"}

SAMPLE_ROWS = 1000
"""Rows that are looked at to find the separator and to tell names from data."""

LIKE_DATA = 0.5
"""Share of the names that occur as values of their own columns from which on they are no names."""

NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$")
COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+$")


@dataclass(frozen=True)
class Dialect:
    """Separator, names and where the rows begin.

    Attributes
    ----------
    separator : str
    names : list of str
    header_lines : int
        Lines up to the first row.
    rows : list of list of str
        The first rows.
    spaced : bool
        Whether a space follows every separator, as in "1, red, 7". It then belongs to no cell.
    """

    separator: str
    names: list[str]
    header_lines: int
    rows: list[list[str]]
    spaced: bool


def find_dialect(source: Source, scan: Scan, separator: str | None, preferred: str) -> Dialect:
    """Find the separator, unless it is given, and read the names.

    Raises
    ------
    TableFileError
        If there are no names, no rows, or two columns of one name.
    """
    separator = separator or _find_separator(scan, preferred)
    header, rows, header_lines = _read_sample(scan, separator)
    spaced = _is_spaced([header, *rows])
    if spaced:
        rows = [[cell.strip() for cell in row] for row in rows]
    names = [
        name.strip() or f"column_{place}"  # as R and pandas write a column of row numbers
        for place, name in enumerate(header, start=1)
    ]
    if not any(name.strip() for name in header):
        raise source.fault("the first line has no names. Write the names of the columns there.", 1)
    _refuse_data(source, names, rows)
    _refuse_duplicates(source, names)
    return Dialect(separator, names, header_lines, rows, spaced)


def _lines(scan: Scan) -> io.StringIO:
    text = scan.sample
    if not scan.whole:  # the last line may be cut off
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    return io.StringIO(text, newline="")


def _read_sample(scan: Scan, separator: str) -> tuple[list[str], list[list[str]], int]:
    """Names, some rows, and the number of lines up to the first row."""
    reader = csv.reader(_lines(scan), delimiter=separator)
    rows: list[list[str]] = []
    header_lines = 0
    try:
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip() and not rows):
                continue  # an empty line
            if not rows:
                header_lines = reader.line_num
            rows.append(row)
            if len(rows) > SAMPLE_ROWS:
                break
    except csv.Error:  # a quote that is not closed; the parser names the line
        pass
    return (rows[0] if rows else []), rows[1:], header_lines


def _find_separator(scan: Scan, preferred: str) -> str:
    """The separator that gives most rows the number of cells that the first line has."""
    found = []
    alone = []
    for candidate in sorted(SEPARATORS, key=lambda one: one != preferred):
        header, rows, _ = _read_sample(scan, candidate)
        same = sum(len(row) == len(header) for row in rows) / max(len(rows), 1)
        if len(header) > 1:
            found.append((same if rows else 1.0, len(header), candidate))
        elif same == 1.0:
            alone.append(candidate)
    if found:
        return max(found, key=lambda entry: entry[:2])[2]
    if _spaces_separate(scan):
        return " "
    header, rows, _ = _read_sample(scan, preferred)
    cells = Counter(map(len, rows))
    if preferred not in alone and len(cells) == 1 and not _all_comma_numbers(scan):
        return preferred  # a title above the table: the parser says which line does not fit
    return alone[0] if alone else preferred


def _spaces_separate(scan: Scan) -> bool:
    """Whether all lines have the same number of words, and some column is numbers: not prose."""
    header, rows, _ = _read_sample(scan, " ")
    if len(header) < 2 or not rows or any(len(row) != len(header) for row in rows):
        return False
    columns = zip(*rows, strict=True)
    return any(
        all(NUMBER.match(cell) or cell in MISSING_WORDS for cell in column) for column in columns
    )


def _all_comma_numbers(scan: Scan) -> bool:
    lines = [line.strip() for line in islice(_lines(scan), 1, SAMPLE_ROWS)]
    return all(COMMA_NUMBER.match(line) or line in MISSING_WORDS or line == '""' for line in lines)


def _is_spaced(rows: Sequence[Sequence[str]]) -> bool:
    later = [cell for row in rows for cell in row[1:]]
    return bool(later) and all(cell.startswith(" ") for cell in later)


def _refuse_data(source: Source, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Refuse a first line that is a row of data."""
    numbers = [name for name in names if NUMBER.match(name) or name in MISSING_WORDS]
    if numbers and not _count_upwards(numbers):
        example = numbers[0]
    else:
        width = len(names)
        columns = list(zip(*(row for row in rows if len(row) == width), strict=True))
        repeated = [
            name for name, column in zip(names, columns, strict=False) if column.count(name) > 1
        ]
        if len(repeated) < max(2, LIKE_DATA * width):
            return
        example = repeated[0]
    raise source.fault(
        f"this line looks like data, not like names of columns ({shown(example)}). Write a line "
        "with the names above it.",
        1,
    )


def _count_upwards(names: Sequence[str]) -> bool:
    """Whether names are rising whole numbers, such as 0, 1, 2 or years: these can be names."""
    if not all(name.isdecimal() for name in names):
        return False
    numbers = [int(name) for name in names]
    return all(low < high for low, high in pairwise(numbers))


def _refuse_duplicates(source: Source, names: Sequence[str]) -> None:
    for name, n_times in Counter(names).items():
        if n_times > 1:
            first, second = [place for place, one in enumerate(names, 1) if one == name][:2]
            raise source.fault(
                f"columns {first} and {second} are both called {shown(name)}. Rename one of them.",
                1,
            )
