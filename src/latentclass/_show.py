"""Results as text and as HTML, written in one way for all of them. All text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that move a terminal's cursor, colour it, turn the direction of writing, are not seen
at all, or cannot be written."""


def clean(text: object) -> str:
    """A text that cannot act on a terminal: such characters become `\\x1b` and the like."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], str(text))


def aligned(lines: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Lines of cells in columns of equal width.

    `right` says which columns end at the right; by default all but the first one do.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [place > 0 for place in range(len(widths))] if right is None else right
    return [
        "  ".join(
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(line, widths, sides, strict=True)
        ).rstrip()
        for line in lines
    ]


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in columns of equal width: the first one begins at the left, the others end right."""
    return "\n".join(aligned([heads, *rows]))


def html_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", notes: str = ""
) -> str:
    """A table in HTML, with a sentence above it and one below."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return html_lines(caption) + table + html_lines(notes)


def html_lines(text: str) -> str:
    """Lines of text as paragraphs."""
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line)
