"""All tables and result figures that can be reproduced."""

from __future__ import annotations

from latentclass.reproduction import _blcm, _field, _hnb, _lcm, _ltc, _lvc
from latentclass.reproduction._entry import Entry

MODULES = (_lcm, _blcm, _hnb, _ltc, _lvc, _field)

PAPERS = ("lcm", "blcm", "hnb", "ltc", "lvc", "field")
"""What can be named."""


def list_entries(paper: str | None = None) -> tuple[Entry, ...]:
    """Return the tables and result figures of one paper, or of all.

    Parameters
    ----------
    paper : {"lcm", "blcm", "hnb", "ltc", "lvc", "field"} or None, default=None

    Returns
    -------
    tuple of Entry

    Examples
    --------
    >>> [entry.name for entry in list_entries("ltc")][0]
    'ltc-table-1'
    """
    if paper is not None and paper not in PAPERS:
        raise ValueError(f"There is no paper {paper!r}. There are: {', '.join(PAPERS)}.")
    return tuple(
        entry for module in MODULES for entry in module.ENTRIES if paper in (None, entry.paper)
    )


def find_entries(
    paper: str | None, table: int | None = None, figure: int | None = None
) -> list[Entry]:
    """Return the entries that are meant, or say which there are; None is every paper."""
    entries = list_entries(paper)
    kind = "table" if table is not None else "figure" if figure is not None else None
    number = table if table is not None else figure
    found = [
        entry
        for entry in entries
        if (kind is None or entry.kind == kind) and (number is None or entry.number == number)
    ]
    if found:
        return found
    asked = "nothing" if kind is None else f"no {kind} {number}"
    if paper is None:
        raise ValueError(f"No paper has a {kind} {number} to reproduce.")
    there = ", ".join(f"{entry.kind} {entry.number}" for entry in entries) or "none"
    what = "The field" if paper == "field" else f"The paper {paper!r}"
    raise ValueError(f"{what} has {asked} to reproduce. There are: {there}.")
