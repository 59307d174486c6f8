"""A `TableCheck` as text and as HTML. Nothing from the table reaches either unescaped."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from latentclass.tables._shown import plain

if TYPE_CHECKING:
    from latentclass.tables._check import ColumnCheck, TableCheck, TableFlag

MOST_COLUMNS = 60
"""Columns that are shown. Flags tell what matters of the others."""

MANY_ALIKE = 4
"""If more columns than this have the same kind of flag, the others are only named."""

MOST_NAMED = 12

NAME_WIDTH = 30
EXAMPLE_WIDTH = 24
TITLES = ("column", "kind", "distinct", "missing", "alone", "example", "flags")
RIGHT = {"distinct", "missing", "alone"}


def to_text(check: TableCheck) -> str:
    """An aligned table, the flags, the options and the verdict."""
    lines = [_summary(check), ""]
    table = [list(TITLES), *(_cells(column) for column in check.columns[:MOST_COLUMNS])]
    if check.rows.majority is None:
        place = TITLES.index("alone")
        table = [row[:place] + row[place + 1 :] for row in table]
    lines += _aligned(table)
    lines += [f"... and {left:,} more columns" for left in _left(check.columns, MOST_COLUMNS)]
    if check.flags:
        lines += ["", *(f"- {remark}" for remark in _remarks(check))]
    lines += ["", *_end(check)]
    return "\n".join(lines)


def to_html(check: TableCheck) -> str:
    """The same as HTML."""
    head = "".join(f"<th>{escape(title)}</th>" for title in TITLES)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(column)) + "</tr>"
        for column in check.columns[:MOST_COLUMNS]
    )
    more = [f"... and {left:,} more columns" for left in _left(check.columns, MOST_COLUMNS)]
    flags = "".join(f"<li>{escape(remark)}</li>" for remark in _remarks(check))
    return (
        f"<div><p>{escape(_summary(check))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        + "".join(f"<p>{escape(line)}</p>" for line in more)
        + (f"<ul>{flags}</ul>" if flags else "")
        + "".join(f"<p>{escape(line)}</p>" for line in _end(check))
        + "</div>"
    )


def _remarks(check: TableCheck) -> list[str]:
    """The sentences of the flags; of many flags of one kind only the first has one."""
    alike: dict[str, list[TableFlag]] = {}
    for flag in check.flags:
        alike.setdefault(flag.kind, []).append(flag)
    remarks = []
    for kind, flags in alike.items():
        few = len(flags) <= MANY_ALIKE
        remarks += [str(flag) for flag in (flags if few else flags[:1])]
        if not few:
            names = ", ".join(plain(flag.column, NAME_WIDTH) for flag in flags[1:MOST_NAMED])
            dots = ", ..." * (len(flags) > MOST_NAMED)
            remarks.append(f"{len(flags) - 1:,} more columns likewise ({kind}): {names}{dots}.")
    return remarks


def _summary(check: TableCheck) -> str:
    rows = check.rows
    words = [f"{rows.n_rows:,} rows, {len(check.columns):,} columns"]
    if rows.classes:
        some = ", ".join(f"{plain(label, NAME_WIDTH)} {n:,}" for label, n in rows.classes[:6])
        words.append(f"{len(rows.classes):,} classes ({some}{', ...' * (len(rows.classes) > 6)})")
    if rows.n_unlabelled:
        words.append(f"{rows.n_unlabelled:,} unlabelled")
    if rows.n_duplicates:
        words.append(f"{rows.n_duplicates:,} duplicate{'s' * (rows.n_duplicates != 1)}")
    return ", ".join(words)


def _end(check: TableCheck) -> list[str]:
    lines = []
    rows = check.rows
    if rows.n_scored:
        whole = rows.n_scored == rows.n_rows - rows.n_unlabelled
        of_all = "" if whole else f" (a sample of {rows.n_scored:,} rows)"
        lines.append(
            f'"alone": accuracy of the column by itself on held-out rows{of_all}; a majority guess '
            f"has {100 * (rows.majority or 0):.1f} %."
        )
    if check.options:
        lines.append(f"Options: {plain(shlex.join(check.options), 2000)}")
    return [*lines, check.verdict]


def _cells(column: ColumnCheck) -> list[str]:
    return [
        plain(column.name, NAME_WIDTH),
        column.kind,
        f"{column.n_distinct:,}",
        f"{100 * column.missing:.1f} %" if column.missing else "-",
        "-" if column.accuracy is None else f"{100 * column.accuracy:.1f} %",
        "" if column.example is None else _example(column.example),
        ", ".join(column.flags),
    ]


def _example(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else plain(value, EXAMPLE_WIDTH)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    right = [title in RIGHT for title in table[0]]
    return [
        "  ".join(
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in table
    ]


def _left(items: Sequence[Any], most: int) -> list[int]:
    return [len(items) - most] if len(items) > most else []
