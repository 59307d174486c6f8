"""What `check_table` found, as values, as text and as HTML.

Nothing from the table reaches a terminal or a page unescaped.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from latentclass._show import aligned
from latentclass.tables._shown import plain

MOST_COLUMNS = 60
"""Columns that are shown. Flags tell what matters of the others."""

MANY_ALIKE = 4
"""If more columns than this have the same kind of flag, the others are only named."""

MOST_NAMED = 12

NAME_WIDTH = 30
EXAMPLE_WIDTH = 24
TITLES = ("column", "kind", "distinct", "missing", "alone", "example", "flags")
RIGHT = {"distinct", "missing", "alone"}


@dataclass(frozen=True)
class TableFlag:
    """Something to look at.

    Attributes
    ----------
    column : str
        Name of the column; empty if the rows or the target are meant.
    kind : str
        A word or two, such as "identifier".
    sentence : str
        What was found. It contains no control characters.
    option : str
        Option of the command line that fixes it, such as "--drop"; empty if there is none.
    """

    column: str
    kind: str
    sentence: str
    option: str = ""

    def __str__(self) -> str:
        return f"{plain(self.column)} {self.sentence}" if self.column else self.sentence


@dataclass(frozen=True)
class ColumnCheck:
    """One column.

    Attributes
    ----------
    name : str
    kind : {"continuous", "binary", "nominal", "unreadable"}
        How models will read it.
    n_distinct : int
        Number of distinct values.
    missing : float
        Share of missing cells.
    example : str, float, int, bool or None
        The most common value of a discrete column, the first of a continuous one.
    accuracy : float or None
        Share of held-out rows whose class this column predicts on its own.
    flags : tuple of str
        Kinds of its flags.
    """

    name: str
    kind: str
    n_distinct: int
    missing: float
    example: Any
    accuracy: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class RowCheck:
    """The rows.

    Attributes
    ----------
    n_rows : int
    n_duplicates : int
        Rows that repeat an earlier one in all columns, the label included.
    n_unlabelled : int
        Rows without a label; 0 if no labels were given.
    classes : tuple of (label, int)
        Classes and their numbers of rows, the largest first; empty if no labels were given.
    majority : float or None
        Share of the largest class among the labelled rows: the accuracy of a majority guess.
    n_scored : int
        Rows that the held-out scores are made of.
    """

    n_rows: int
    n_duplicates: int
    n_unlabelled: int
    classes: tuple[tuple[Any, int], ...]
    majority: float | None
    n_scored: int


@dataclass(frozen=True, repr=False)
class TableCheck:
    """What `check_table` found. Printed, it is a table with remarks below.

    Attributes
    ----------
    columns : tuple of ColumnCheck
    flags : tuple of TableFlag
        Those of the columns first, then those of the rows and the target.
    rows : RowCheck
    options : list of str
        Options of the command line, word by word, that fix what can be fixed automatically. What
        a person must decide, such as a leak suspect, is not among them.
    can_be_fitted : bool
        False if a fit with these options would end with an error.
    verdict : str
        One sentence.
    """

    columns: tuple[ColumnCheck, ...]
    flags: tuple[TableFlag, ...]
    rows: RowCheck
    options: list[str]
    can_be_fitted: bool
    verdict: str

    @property
    def remarks(self) -> list[str]:
        """The flags in words; of many of one kind the first, and the names of the others."""
        return _remarks(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as lists, dicts, numbers and text, as JSON has them."""
        found = asdict(self)
        for column in found["columns"]:
            column["flags"] = list(column["flags"])
        found["rows"]["classes"] = [
            {"label": label, "n_rows": count} for label, count in self.rows.classes
        ]
        return {**found, "columns": list(found["columns"]), "flags": list(found["flags"])}

    def __str__(self) -> str:
        return _to_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _to_html(self)


def _to_text(check: TableCheck) -> str:
    """An aligned table, the flags, the options and the verdict."""
    lines = [_summary(check), ""]
    table = [list(TITLES), *(_cells(column) for column in check.columns[:MOST_COLUMNS])]
    if check.rows.majority is None:
        place = TITLES.index("alone")
        table = [row[:place] + row[place + 1 :] for row in table]
    lines += aligned(table, [title in RIGHT for title in table[0]])
    lines += [f"... and {left:,} more columns" for left in _left(check.columns, MOST_COLUMNS)]
    if check.flags:
        lines += ["", *(f"- {remark}" for remark in _remarks(check))]
    lines += ["", *_end(check)]
    return "\n".join(lines)


def _to_html(check: TableCheck) -> str:
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
            remarks.append(f"{len(flags) - 1:,} more columns likewise ({kind}): {names}{dots}")
    return remarks


def _summary(check: TableCheck) -> str:
    rows = check.rows
    words = [f"{rows.n_rows:,} rows, {len(check.columns):,} columns"]
    if rows.classes:
        some = ", ".join(f"{plain(label, NAME_WIDTH)} {n:,}" for label, n in rows.classes[:6])
        noun = "class" if len(rows.classes) == 1 else "classes"
        words.append(f"{len(rows.classes):,} {noun} ({some}{', ...' * (len(rows.classes) > 6)})")
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


def _left(items: Sequence[Any], most: int) -> list[int]:
    return [len(items) - most] if len(items) > most else []
