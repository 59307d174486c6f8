"""Text that is safe in a spreadsheet."""

from __future__ import annotations

import re

FORMULA = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\n")
"""Text that begins so would be computed by a spreadsheet; some do so with signs of full width."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula, by a leading apostrophe if need be.

    Numbers such as -1 stay as they are.
    """
    # Python's writer puts a field in quotes for a line feed, but not for a carriage return
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith(FORMULA) and _NUMBER.fullmatch(text) is None:
        return f"'{text}"
    return text
