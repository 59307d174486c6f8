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
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["empty", "boolean", "whole", "number", "comma", "grouped", "text"]
"""`comma` is numbers with a decimal comma. `grouped` is the same, but each could also be a number
of thousands: 1,234."""

BOOLEANS = {"true", "True", "TRUE", "false", "False", "FALSE"}
STARTS_LIKE_NUMBER = re.compile(r"\s*[+-]?([.,]?\d|inf|nan)", re.IGNORECASE)
PADDED = "^0[0-9]+$"
"""Whole numbers such as 007: the zeros mean something, so a column that has one is text. So is
0x1F, which pyarrow takes as a number."""
LONG = 19
LONG_WHOLE = "^[+-]?[0-9]{19,}$"
"""Whole numbers that may not fit into 64 bits. As floats they would lose digits, so a column that
has one is text."""
GROUPED = "^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
FEW_CELLS = 256
JOINED: Mapping[frozenset[str], Kind] = {
    frozenset(("whole", "number")): "number",
    frozenset(("whole", "comma")): "comma",
    frozenset(("whole", "grouped")): "grouped",
    frozenset(("comma", "grouped")): "comma",
}


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
    return JOINED.get(frozenset((first, second)), "text")


def _numbers(cells: Any) -> tuple[Kind, Any] | None:
    """Kind and values of a column of numbers, or None if some cell is not a number."""
    values = _cast(cells, pa.int64())
    if values is not None:
        return ("text", None) if _any_padded(cells) else ("whole", values)
    values = _cast(cells, pa.float64())
    if values is not None:
        return ("text", None) if _loses_digits(cells) else ("number", values)
    if pc.any(pc.match_substring(cells, ".")).as_py():
        return None
    values = _cast(pc.replace_substring(cells, ",", "."), pa.float64())
    if values is None:
        return None
    if _loses_digits(cells):
        return "text", None
    with_comma = cells.filter(pc.match_substring(cells, ","))
    grouped = pc.all(pc.match_substring_regex(with_comma, GROUPED)).as_py()
    return ("grouped" if grouped else "comma"), values


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

    It is a comma only if no column has a point. A comma between cells cannot also be one in
    numbers. If only cells such as 1,234 have one, the semicolon decides: countries that write
    decimal commas separate cells by it.
    """
    found = set(kinds)
    if separator == "," or "number" in found:
        return "."
    return "," if "comma" in found or ("grouped" in found and separator == ";") else "."


TYPES = {
    "empty": pa.string(),
    "boolean": pa.bool_(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "comma": pa.float64(),
    "text": pa.string(),
}


def read_as(kind: Kind, decimal: str) -> Kind:
    """How a column is read, given the decimal mark of the file."""
    if kind in ("comma", "grouped"):
        return "comma" if decimal == "," else "text"
    return "text" if kind == "number" and decimal == "," else kind


def convert(cells: Any, kind: Kind, values: Any = None) -> Any:
    """Text as what `read_as` says, given the values that `understand` has already made."""
    if TYPES[kind] == pa.string():
        return cells
    if values is not None:
        return values
    if kind == "comma":
        numbers = _cast(_points(cells), TYPES[kind])
    else:
        numbers = _cast(cells, TYPES[kind])
        numbers = _cast(_trim(cells), TYPES[kind]) if numbers is None else numbers
    if numbers is None:
        raise pa.ArrowInvalid("the file has changed while it was read")
    return numbers


def _points(cells: Any) -> Any:
    return pc.replace_substring(_trim(cells), ",", ".")
