"""A table for the console, and as Markdown, LaTeX, CSV and data frame."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from latentclass._show import aligned, html_table
from latentclass._spreadsheet import guarded

LEAK = (
    'protocol="paper": the continuous columns were discretised once, on all rows with their '
    "classes. The test folds leaked into this discretisation, so the scores are too high."
)
"""The note on every output of a comparison with the papers' protocol."""

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "[": "{[}",  # bare, at the beginning of a row, it would be an option of the row before
    "*": "{*}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


class Cell(NamedTuple):
    """A cell: a number as text, and what is shown with it."""

    text: str
    sd: str = ""
    mark: str = ""
    best: bool = False
    published: str = ""


@dataclass(frozen=True)
class TextTable:
    """A table to print or to put into a document.

    `print(table)` shows it. `to_text`, `to_markdown`, `to_html`, `to_latex`, `to_csv` and
    `to_frame` convert it.

    Attributes
    ----------
    caption : str
        Title of the table.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuples
        Each row is a label followed by cells.
    notes : tuple of str
        Lines below the table.
    data : dict of str to list
        The numbers in full precision, by column.
    leaks : bool
        Whether the papers' protocol was used. If so, the notes say so.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    notes: tuple[str, ...]
    data: dict[str, list[Any]]
    leaks: bool = False

    def all_notes(self, best: str = "Bold") -> list[str]:
        """Return all notes, with the one on the leak and the one on the mark of the best."""
        cells = (cell for row in self.rows for cell in row)
        has_best = any(isinstance(cell, Cell) and cell.best for cell in cells)
        legend = [f"{best}: the best on a data set."] if has_best else []
        return [LEAK] * self.leaks + legend + list(self.notes)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None) -> str:
        """Return the table as aligned text.

        Parameters
        ----------
        width : int, optional
            Characters of a line. A wider table becomes several below each other, each with some of
            the columns and the labels of the rows.
        """
        label, *columns = (
            [one_line(name), *_plain_column(cells)]
            for name, *cells in zip(self.header, *self.rows, strict=True)
        )
        lines = [one_line(self.caption)]
        for block in _blocks(label, columns, width):
            shown = aligned(list(zip(*block, strict=True)))
            rule = "-" * max(map(len, shown))
            lines += [rule] * (len(lines) == 1) + [shown[0], rule, *shown[1:], rule]
        return "\n".join([*lines, *map(one_line, self.all_notes(">"))])

    def to_markdown(self) -> str:
        """Return the table as Markdown in GitHub's style."""
        head = [_markdown(name) for name in self.header]
        lines = [
            f"**{_markdown(self.caption)}**",
            "",
            f"| {' | '.join(head)} |",
            f"| --- |{' ---: |' * (len(head) - 1)}",
            *(f"| {' | '.join(_markdown_cell(cell) for cell in row)} |" for row in self.rows),
        ]
        for note in self.all_notes():
            lines += ["", _markdown(note)]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_html(self) -> str:
        """Return the table as HTML."""
        columns = [_plain_column(cells) for cells in zip(*self.rows, strict=True)]
        return html_table(
            [one_line(name) for name in self.header],
            [[cell.strip() for cell in row] for row in zip(*columns, strict=True)],
            caption=one_line(self.caption),
            notes="\n".join(map(one_line, self.all_notes(">"))),
        )

    def to_latex(self) -> str:
        """Return the table as a LaTeX float. It needs the package booktabs."""
        lines = [
            r"\begin{table}",
            rf"\caption{{{_latex(self.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, self.header)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_latex_cell, row)) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {_latex(note)}" for note in self.all_notes()),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def _columns(self) -> dict[str, list[Any]]:
        n_rows = len(next(iter(self.data.values())))
        return self.data | ({"note": [LEAK] * n_rows} if self.leaks else {})

    def to_csv(self) -> str:
        """Return the numbers in full precision as CSV with a header. NaN is an empty field.

        Text that a spreadsheet would take for a formula gets a leading apostrophe.
        """
        return csv_text(self._columns())

    def to_frame(self) -> Any:
        """Return the numbers in full precision as a pandas data frame."""
        return data_frame(self._columns())


def csv_text(columns: dict[str, list[Any]]) -> str:
    """Return columns as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_csv_cell, columns))
    for row in zip(*columns.values(), strict=True):
        writer.writerow(map(_csv_cell, row))
    return out.getvalue()


def _csv_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(cell, float) and math.isnan(cell):
        return ""
    return guarded(cell) if isinstance(cell, str) else cell


def data_frame(columns: dict[str, list[Any]]) -> Any:
    """Return columns as a pandas data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "Data frames need pandas: pip install pandas. Or use to_csv instead."
        ) from None
    return pd.DataFrame(columns)


def number(value: float, digits: int, *, percent: bool = False) -> str:
    """Return a number with a fixed number of decimals; a dash for NaN."""
    return "-" if math.isnan(value) else f"{value * (100 if percent else 1):.{digits}f}"


def p_text(p_value: float) -> str:
    """Return a p-value with two significant digits; a dash for NaN."""
    if math.isnan(p_value):
        return "-"
    return f"{p_value:.1e}" if p_value < 0.0095 else f"{p_value:.2f}"


def one_line(text: str, limit: int | None = None) -> str:
    """Return a text on one line, without control characters, and cut off at a limit."""
    flat = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", text).split())
    return flat if limit is None or len(flat) <= limit else flat[: limit - 3] + "..."


def _blocks(
    label: list[str], columns: Sequence[list[str]], width: int | None
) -> list[list[list[str]]]:
    """Columns side by side, as many as fit into a line with the labels; at least one."""
    blocks, used = [[label]], 0
    for column in columns:
        size = 2 + max(map(len, column))
        if width is not None and len(blocks[-1]) > 1 and used + size > width:
            blocks.append([label])
        if len(blocks[-1]) == 1:
            used = max(map(len, label))
        blocks[-1].append(column)
        used += size
    return blocks


def _joined(text: str, cell: Cell, plus_minus: str, mark: str) -> str:
    sd = f" {plus_minus}{cell.sd}" if cell.sd else ""
    return f"{text}{sd}{mark}" + (f" ({cell.published})" if cell.published else "")


def _plain_column(cells: Sequence[Any]) -> list[str]:
    """Return the cells of a column, padded so that numbers line up if only some have a mark."""
    numbers = [cell for cell in cells if isinstance(cell, Cell)]
    marked = any(cell.mark for cell in numbers)
    bracket = max((len(cell.published) + 3 for cell in numbers if cell.published), default=0)
    texts = []
    for cell in cells:
        if isinstance(cell, str):
            texts.append(one_line(cell))
            continue
        text = _joined(
            f"{'>' if cell.best else ''}{cell.text}", cell._replace(published=""), "±", ""
        )
        tail = f" ({cell.published})" if cell.published else ""
        texts.append(text + cell.mark.ljust(marked) + tail.ljust(bracket))
    return texts


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", one_line(text))


def _markdown_cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return _markdown(cell)
    text = f"**{cell.text}**" if cell.best else cell.text
    return _joined(text, cell, "± ", _markdown(cell.mark))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in one_line(text))


def _latex_cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return _latex(cell)
    text = rf"\textbf{{{cell.text}}}" if cell.best else cell.text
    return _joined(text, cell, r"$\pm$ ", f"$^{{{cell.mark}}}$" if cell.mark else "")
