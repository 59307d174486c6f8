"""One table or result figure of a paper: what is run for it, and how.

A paper has a module (`_ltc.py`, `_hnb.py`, ...) with a tuple `ENTRIES`. To add a table or figure:

1. Write a function of one `Work`. It yields records cell by cell, small data sets first, and gets
   its numbers from `work.compare` (classifiers on folds) or `work.remember` (anything else). Both
   keep each result in the store, so a run that was killed continues, and neither computes anything
   with `--from-store`.
2. A figure also calls `work.save_picture` with a matplotlib figure.
3. Add an `Entry` to `ENTRIES`.
4. Run it, copy the records to `reproduce/records` and the pictures to `docs/reproduction`, write
   any remarks in `reproduce/notes/<paper>.md`, and run `make pages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentclass.reproduction._records import Record
    from latentclass.reproduction._work import Work

PROFILES = ("quick", "paper")


@dataclass(frozen=True)
class Entry:
    """One table or result figure of a paper.

    Attributes
    ----------
    paper : str
        "lcm", "blcm", "hnb", "ltc" or "lvc".
    kind : {"table", "figure"}
    number : int
        Number in the paper.
    title : str
        What it shows.
    data : tuple of str
        Names for `load_dataset`. They are loaded before anything is computed.
    classifiers : tuple of str
        Names of the classifiers, as in the paper.
    protocol : str
        How it is measured: folds, cut points, tests.
    profiles : dict of str to str
        What "quick" and "paper" set.
    minutes : dict of str to float
        CPU minutes that each profile was seen to take. A profile that was never finished is
        missing.
    run : callable of a Work to an iterator of Record
    rows : tuple of str
        The rows in the order of the paper; by default in the order of the records.
    folds_of_sd : int
        Number of folds if the standard deviations are those of the accuracies on folds; 1 if they
        are those of the accuracy itself.
    look_for : str
        What to look for in it: the caption of a figure, the notes of a table.
    """

    paper: str
    kind: str
    number: int
    title: str
    data: tuple[str, ...]
    classifiers: tuple[str, ...]
    protocol: str
    profiles: Mapping[str, str]
    run: Callable[[Work], Iterator[Record]]
    minutes: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    folds_of_sd: int = 1
    look_for: str = ""

    @property
    def name(self) -> str:
        """The stem of its files, such as "ltc-table-1"."""
        return f"{self.paper}-{self.kind}-{self.number}"

    @property
    def heading(self) -> str:
        """Kind, number and title in one line."""
        return f"{self.kind.capitalize()} {self.number}: {self.title}"
