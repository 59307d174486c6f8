"""The paper's own table from records: each cell ours, beside the published number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from latentclass.evaluation import TextTable
from latentclass.evaluation._tables import Cell
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._records import NOT_RUN, Record

BRACKETS = (
    "In brackets: the published value, and the difference (ours minus published), to the decimals "
    "that both have."
)


def make_table(entry: Entry, records: Sequence[Record]) -> TextTable:
    """Return the table of an entry, with the rows in the order of the paper."""
    missing = not_run(records)
    found = dict.fromkeys(record.row for record in records if record.row not in missing)
    rows = [row for row in entry.rows if row in found]
    rows += [row for row in found if row not in rows]
    columns = list(dict.fromkeys(record.column for record in records))
    # a cell with several records shows the first
    cells = {(record.row, record.column): record for record in reversed(records)}
    lines: list[tuple[str | Cell, ...]] = [
        (row, *(_cell(cells.get((row, column))) for column in columns)) for row in rows
    ]
    times = {
        column: [float(one.seconds) for one in records if one.column == column and one.seconds]
        for column in columns
    }
    if any(times.values()):
        shown = [Cell(f"{fmean(found):.2g}" if found else "") for found in times.values()]
        lines.append(("seconds per fit", *shown))
    statistics = list(dict.fromkeys(record.statistic for record in records))
    caption = f"{entry.paper}, {entry.heading}"
    if len(statistics) == 1:
        caption += f" ({statistics[0]})"
    notes = [entry.protocol, entry.look_for, *run_notes(entry, records)]
    data = {
        "row": [record.row for record in records],
        "column": [record.column for record in records],
        "value": [record.value for record in records],
        "published": [record.published for record in records],
    }
    return TextTable(caption, ("", *columns), tuple(lines), tuple(filter(None, notes)), data)


def run_notes(entry: Entry, records: Sequence[Record]) -> list[str]:
    """Return what is to be said of these records: settings, date, and what is far below."""
    profiles = list(dict.fromkeys(record.profile for record in records if record.profile))
    dates = sorted({record.date for record in records if record.date and record.value})
    notes = [f"Profile {one}: {entry.profiles[one]}" for one in profiles]
    if dates:
        notes.append(f"Run on {dates[-1]}.")
    if missing := not_run(records):
        notes.append(f"Not run yet: {', '.join(missing)}.")
    if any(record.published for record in records):
        notes.append(BRACKETS)
    if any(record.value and _published_sd(record) for record in records):
        found = "; ".join(far_below(entry, records))
        said = "More than two standard deviations below the paper"
        notes.append(f"{said}. {found}." if found else f"{said}: none.")
    if more := "; ".join(far_below(entry, records, by_ours=True)):
        notes.append(f"By our standard deviation, as the paper has none or 0. {more}.")
    return notes


def not_run(records: Sequence[Record]) -> list[str]:
    """Return the rows of which nothing was run."""
    begun = {record.row for record in records if record.value}
    return list(
        dict.fromkeys(one.row for one in records if one.note == NOT_RUN and one.row not in begun)
    )


def far_below(entry: Entry, records: Sequence[Record], *, by_ours: bool = False) -> list[str]:
    """Name the cells more than two standard deviations below the paper, by column.

    Either those for which the paper has a standard deviation, or the others `by_ours`.
    """
    found: dict[str, list[str]] = {}
    for record in records:
        theirs = _published_sd(record)
        sd = (0.0 if theirs else float(record.sd or 0)) if by_ours else theirs
        if sd and record.value and record.published:
            gap = float(record.value) - float(record.published)
            distance = gap / (sd / math.sqrt(entry.folds_of_sd))
            if distance < -2:
                found.setdefault(record.column, []).append(f"{record.row} ({distance:.1f})")
    return [f"{column}: {', '.join(rows)}" for column, rows in found.items()]


def _published_sd(record: Record) -> float:
    """Return the paper's standard deviation; 0 if it has none."""
    return float(record.published_sd or 0)


def _cell(record: Record | None) -> Cell:
    if record is None:
        return Cell("")
    if not record.value:
        return Cell(record.note or "-", published=_published(record))
    return Cell(record.value, record.sd, record.significance, published=_published(record))


def _published(record: Record) -> str:
    if not record.published:
        return ""
    text = record.published + (f" ±{record.published_sd}" if record.published_sd else "")
    gap = difference(record)
    return text if gap is None else f"{text}, {gap}"


def difference(record: Record) -> str | None:
    """Ours less the published value, with as many decimals as the coarser; None if unknown."""
    try:
        if record.statistic == "p-value":
            return None
        gap = float(record.value) - float(record.published)
    except ValueError:
        return None
    decimals = [len(one.partition(".")[2]) for one in (record.value, record.published)]
    text = f"{gap:+.{min(decimals)}f}"
    return text if float(text) else text.replace("-", "+").lstrip("+")
