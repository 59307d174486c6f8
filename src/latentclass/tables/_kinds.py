"""What the text in a column means: numbers, booleans or text.

The kind of a column depends only on which cells it has, not on their order or on how the rows are
split into chunks: `join_kinds` of the kinds of two chunks is the kind of both together.

Some functions of pyarrow, such as `pa.array` of a list, import pandas if it is installed, which
takes longer than reading a small file. None of them is used here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal[
    "empty",
    "boolean",
    "whole",
    "number",
    "dotted",
    "comma",
    "grouped",
    "mixed",
    "commas",
    "points",
    "comma thousands",
    "point thousands",
    "text",
]
"""The numbers among them are told in `MARKS`."""


class Marks(NamedTuple):
    """What points and commas in a column of numbers may mean."""

    decimal_point: bool  # possible: a point before decimals, commas between thousands
    decimal_comma: bool  # possible: the other way round
    has_comma: bool
    has_point: bool


MARKS: Mapping[Kind, Marks] = {
    "whole": Marks(True, True, False, False),
    "number": Marks(True, False, False, True),  # 1.5
    "dotted": Marks(True, True, False, True),  # all such as 1.234
    "comma": Marks(False, True, True, False),  # 1,5
    "grouped": Marks(True, True, True, False),  # all such as 1,234
    "mixed": Marks(True, True, True, True),  # 1.234 and 1,234
    "commas": Marks(True, False, True, False),  # 1,234,567 or a list of codes
    "points": Marks(False, True, False, True),  # 1.234.567
    "comma thousands": Marks(True, False, True, True),  # 1,234.5
    "point thousands": Marks(False, True, True, True),  # 1.234,5
}
KIND_OF_MARKS = {marks: kind for kind, marks in MARKS.items()}

BOOLEANS = {"true", "True", "TRUE", "false", "False", "FALSE"}
STARTS_LIKE_NUMBER = re.compile(r"\s*[+-]?([.,]?\d|inf|nan)", re.IGNORECASE)
PADDED = "^0[0-9]+$"
"""Whole numbers such as 007: the zeros mean something, so a column that has one is text. So is
0x1F, which pyarrow takes as a number."""
LONG = 19
LONG_WHOLE = "^[+-]?[0-9]{19,}$"
"""Whole numbers that may not fit into 64 bits. As floats they would lose digits, so a column that
has one is text."""
GROUPED = {
    ",": r"^[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?$",
    ".": r"^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]*)?$",
}
"""Numbers with this mark between thousands."""
FEW_CELLS = 256


def kind_of(cells: Any) -> Kind:
    """Kind of an array of text in which missing cells are null."""
    return understand(cells)[0]


def understand(cells: Any) -> tuple[Kind, Any]:
    """Kind of an array of text, and its values of this kind if finding out has made them."""
    present = cells.slice(0, FEW_CELLS).drop_null()
    if not len(present):
        present = cells.drop_null()
    if not len(present):
        return "empty", None
    first = present[0].as_py()
    if first in BOOLEANS:
        booleans = set(cells.unique().to_pylist()) <= BOOLEANS | {None}
        return ("boolean" if booleans else "text"), None
    if not STARTS_LIKE_NUMBER.match(first):
        return "text", None
    return _numbers(cells) or _numbers(_trim(cells)) or ("text", None)


def join_kinds(kinds: Iterable[Kind]) -> Kind:
    """Kind of a column from those of its chunks."""
    return reduce(_join, kinds, "empty")


def _join(first: Kind, second: Kind) -> Kind:
    if first == second or second == "empty":
        return first
    if first == "empty":
        return second
    if first not in MARKS or second not in MARKS:
        return "text"
    one, other = MARKS[first], MARKS[second]
    joined = Marks(
        one.decimal_point and other.decimal_point,
        one.decimal_comma and other.decimal_comma,
        one.has_comma or other.has_comma,
        one.has_point or other.has_point,
    )
    return KIND_OF_MARKS.get(joined, "text")


def _numbers(cells: Any) -> tuple[Kind, Any] | None:
    """Kind and values of a column of numbers, or None if some cell is not a number."""
    values = _cast(cells, pa.int64())
    if values is not None:
        return ("text", None) if _any_padded(cells) else ("whole", values)
    values = _cast(cells, pa.float64())
    if values is not None:
        if _loses_digits(cells):
            return "text", None
        pointed = _any(cells, ".") and _all_grouped(cells, ".")
        return ("dotted" if pointed else "number"), values
    if not _any(cells, "."):
        values = _cast(_with_points(cells), pa.float64())
        if values is not None:
            if _loses_digits(cells):
                return "text", None
            return ("grouped" if _all_grouped(cells, ",") else "comma"), values
    few = len(cells) > FEW_CELLS and _marks(cells.slice(0, FEW_CELLS)) is None
    marks = None if few else _marks(cells)
    if marks is None:
        return None
    return ("text" if _loses_digits(cells) else KIND_OF_MARKS.get(marks, "text")), None


def _marks(cells: Any) -> Marks | None:
    """Marks of numbers some of which have thousands; None if some cell is not a number."""
    marks = Marks(
        _all_grouped(cells, ",") and _cast(_without(cells, ","), pa.float64()) is not None,
        _all_grouped(cells, ".")
        and _cast(_with_points(_without(cells, ".")), pa.float64()) is not None,
        _any(cells, ","),
        _any(cells, "."),
    )
    return marks if marks.decimal_point or marks.decimal_comma else None


def _any(cells: Any, mark: str) -> bool:
    return bool(pc.any(pc.match_substring(cells, mark)).as_py())


def _all_grouped(cells: Any, mark: str) -> bool:
    """Whether all cells that have this mark have it between thousands."""
    for part in (cells.slice(0, FEW_CELLS), cells):  # a few cells nearly always settle it
        marked = part.filter(pc.match_substring(part, mark))
        if pc.all(pc.match_substring_regex(marked, GROUPED[mark])).as_py() is False:
            return False
    return True


def _without(cells: Any, mark: str) -> Any:
    return pc.replace_substring(cells, mark, "")


def _with_points(cells: Any) -> Any:
    return pc.replace_substring(cells, ",", ".")


def _any_padded(cells: Any) -> bool:
    """Whether some whole number has zeros in front. Most columns need only the quick looks."""
    starts = pc.starts_with(cells, "0")
    if not pc.any(starts).as_py():
        return False
    return bool(pc.max(pc.binary_length(cells.filter(starts))).as_py() > 1)


def _loses_digits(cells: Any) -> bool:
    """Whether some cell, read as a float, would lose zeros in front or digits at the end."""
    starts, fractions = pc.starts_with(cells, "0"), pc.starts_with(cells, "0.")
    if pc.sum(starts).as_py() != pc.sum(fractions).as_py():
        others = cells.filter(pc.and_not(starts, fractions))
        if pc.any(pc.match_substring_regex(others, PADDED)).as_py():
            return True
    if pc.max(pc.binary_length(cells)).as_py() < LONG:
        return False
    whole = cells.filter(pc.match_substring_regex(cells, LONG_WHOLE))
    return _cast(pc.utf8_ltrim(whole, characters="+"), pa.int64()) is None


def _cast(cells: Any, type_: Any) -> Any:
    """The cells as another type, or None if some of them cannot be.

    pyarrow writes a message for every cell that fails. So a few cells are tried first.
    """
    try:
        if len(cells) > FEW_CELLS:
            cells.slice(0, FEW_CELLS).cast(type_)
        return cells.cast(type_)
    except pa.ArrowInvalid:
        return None


def _trim(cells: Any) -> Any:
    return pc.utf8_trim_whitespace(cells)


def settle_decimal(kinds: Iterable[Kind], separator: str) -> str:
    """The decimal mark of a file whose columns have these kinds.

    It is a comma only if no column has decimals after a point. A comma between cells cannot also be
    one in numbers. If only cells such as 1,234 have one, the semicolon decides: countries that
    write decimal commas separate cells by it.
    """
    found = set(kinds)
    if separator == "," or found & {"number", "comma thousands"}:
        return "."
    if "point thousands" in found:
        return ","
    if "dotted" in found:
        return "."
    grouped = "grouped" in found and "commas" not in found and separator == ";"
    return "," if "comma" in found or grouped else "."


TYPES = {
    "empty": pa.string(),
    "boolean": pa.bool_(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "comma": pa.float64(),
    "comma thousands": pa.float64(),
    "point thousands": pa.float64(),
    "text": pa.string(),
}


def read_as(kind: Kind, decimal: str, *, given: bool = False) -> Kind:
    """How a column is read, given the decimal mark of the file.

    Cells such as 1,234 or 101,102 may be thousands or a list of codes. They are numbers only if the
    user has named the decimal mark (`given`).
    """
    if kind not in MARKS or kind == "whole":
        return kind
    if decimal == ",":
        if kind in ("comma", "grouped"):
            return "comma"
        sure = kind == "point thousands" or (given and MARKS[kind].decimal_comma)
        return "point thousands" if sure else "text"
    if kind in ("number", "dotted"):
        return "number"
    sure = kind == "comma thousands" or (given and MARKS[kind].decimal_point)
    return "comma thousands" if sure else "text"


def convert(cells: Any, kind: Kind, values: Any = None) -> Any:
    """Text as what `read_as` says, given the values that `understand` has already made."""
    if TYPES[kind] == pa.string():
        return cells
    if kind in ("comma thousands", "point thousands"):
        numbers = _cast(_ungrouped(_trim(cells), kind), TYPES[kind])
    elif values is not None:
        return values
    elif kind == "comma":
        numbers = _cast(_with_points(_trim(cells)), TYPES[kind])
    else:
        numbers = _cast(cells, TYPES[kind])
        numbers = _cast(_trim(cells), TYPES[kind]) if numbers is None else numbers
    if numbers is None:
        raise pa.ArrowInvalid("the file has changed while it was read")
    return numbers


def _ungrouped(cells: Any, kind: Kind) -> Any:
    if kind == "comma thousands":
        return _without(cells, ",")
    return _with_points(_without(cells, "."))
