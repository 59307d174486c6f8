"""Records: one cell of a table or one number of a figure, ours beside the published one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import fmean

from latentclass._files import replacing

NOT_INSTALLED = "not installed"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Record:
    """One cell. All fields are text as the CSV file has it; what is not known is empty.

    Attributes
    ----------
    row, column : str
        Where the cell is in the paper's table.
    statistic : str
        What the number is, with its unit, such as "accuracy, %".
    value, sd : str
        Our number and its standard deviation.
    published, published_sd : str
        The paper's.
    significance : str
        A mark or a p-value.
    seconds : str
        Mean seconds of a fit.
    runs : str
        Number of fits that the number stands for.
    profile, date : str
        Filled in by the runner.
    note : str
        Why there is no value.
    """

    row: str
    column: str
    statistic: str
    value: str = ""
    sd: str = ""
    published: str = ""
    published_sd: str = ""
    significance: str = ""
    seconds: str = ""
    runs: str = ""
    profile: str = ""
    date: str = ""
    note: str = ""


FIELDS = tuple(field.name for field in fields(Record))


def text_of(number: float | None, digits: int = 2) -> str:
    """Return a number as a record has it; nothing for None and NaN."""
    if number is None or math.isnan(number):
        return ""
    return f"{number:.{digits}f}"


def read_records(path: Path) -> list[Record]:
    """Read a file of records."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if tuple(rows.fieldnames or ()) != FIELDS:
            raise ValueError(
                f"{path.name} is not a file of records: its first line is {rows.fieldnames}, "
                f"expected {list(FIELDS)}. Make it anew with latentclass reproduce."
            )
        return [Record(**row) for row in rows]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(map(astuple, records))
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def average_row(records: Sequence[Record], row: str = "average", digits: int = 2) -> list[Record]:
    """Average each column, and the published values of the same rows.

    A row counts only if every column that has any value has one there, so that all averages are
    over the same rows. If that leaves out rows, the name of the average says how many there are.
    """
    columns = list(dict.fromkeys(record.column for record in records if record.value))
    cells = {(record.row, record.column): record for record in records if record.value}
    rows = [
        name
        for name in dict.fromkeys(record.row for record in records)
        if all((name, column) in cells for column in columns)
    ]
    if len(rows) < len({record.row for record in records}):
        row = f"{row} of {len(rows)}"
    averages = []
    for column in columns if rows else []:
        found = [cells[name, column] for name in rows]
        published = [float(one.published) for one in found if one.published]
        averages.append(
            Record(
                row,
                column,
                found[0].statistic,
                text_of(fmean(float(one.value) for one in found), digits),
                published=text_of(fmean(published), digits) if len(published) == len(found) else "",
                runs=str(len(rows)),
            )
        )
    return averages
