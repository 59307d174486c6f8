"""Run entries: data first, then cell by cell, with the records written after each."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from latentclass._files import replacing
from latentclass._validation import check_option
from latentclass.datasets import load_dataset
from latentclass.evaluation import TextTable
from latentclass.reproduction._entry import PROFILES, Entry
from latentclass.reproduction._records import Record, read_records, write_records
from latentclass.reproduction._registry import find_entries
from latentclass.reproduction._tables import make_table
from latentclass.reproduction._work import STORE, NotFinished, Work

FOLDER = "latentclass-reproduction"


def reproduce(
    paper: str,
    *,
    table: int | None = None,
    figure: int | None = None,
    profile: str = "quick",
    out: str | os.PathLike[str] = FOLDER,
    n_jobs: int | None = None,
    from_store: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[TextTable]:
    """Reproduce the tables and result figures of a paper, beside the published values.

    Parameters
    ----------
    paper : {"lcm", "blcm", "hnb", "ltc", "lvc", "field"}
        "field" is not a paper, but our classifiers among those of other libraries.
    table, figure : int, default=None
        Only this one. By default all of the paper.
    profile : {"quick", "paper"}, default="quick"
        "quick" has fewer restarts or folds, "paper" follows the paper to the letter.
    out : path-like, default="latentclass-reproduction"
        Folder for the store `results.jsonl`, and for records (CSV), tables (Markdown) and
        pictures. A run that was stopped continues from it.
    n_jobs : int, default=None
        Number of fits at the same time.
    from_store : bool, default=False
        Whether to make the tables of what is finished, and compute nothing.
    say : callable of str
        Called with messages about the progress.

    Returns
    -------
    list of TextTable
        One for each table and figure; that of a figure has the numbers behind it.
    """
    check_option("profile", profile, PROFILES)
    if table is not None and figure is not None:
        raise ValueError(f"Name a table or a figure, not both: table={table}, figure={figure}.")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None, 1 or more, or -1 for all cores.")
    entries = find_entries(paper, table, figure)
    folder = Path(out)
    if from_store and not (folder / STORE).is_file():
        raise FileNotFoundError(
            f"No stored results in {str(folder)!r}. Name the folder of an earlier run, or compute "
            "them first, without asking for stored ones."
        )
    for name in dict.fromkeys(name for entry in entries for name in entry.data):
        load_dataset(name)  # an error now is better than one after hours
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for entry in entries:
        work = Work(profile, folder, entry.name, n_jobs, from_store, say)
        records = _collect(entry, work)
        shown = make_table(entry, records)
        if from_store and not any(record.value for record in records):
            nothing = f"Nothing of it is stored in {str(folder / STORE)!r}."
            shown = replace(shown, notes=(*shown.notes, nothing))
        with replacing(folder / f"{entry.name}-{profile}.md") as file:
            file.write(shown.to_markdown().encode())
        made.append(shown)
    return made


def _collect(entry: Entry, work: Work) -> list[Record]:
    """Run an entry. Its file of records is up to date after every record."""
    path = work.out / f"{entry.name}-{work.profile}.csv"
    earlier = _read_earlier(path)
    # what is not dated yet is of today; from the store, of the day when it last grew
    moment = work.store.stat().st_mtime if work.only_stored else time.time()
    date = datetime.datetime.fromtimestamp(moment, datetime.UTC).date().isoformat()
    records: list[Record] = []
    try:
        for record in entry.run(work):
            found = replace(record, profile=work.profile, date="")
            known = earlier.get(found, "")
            records.append(replace(found, date=record.date or known or date))
            write_records(path, records)
    except NotFinished as error:
        work.say(f"{entry.name} stops here: {error}")
    return records


def _read_earlier(path: Path) -> dict[Record, str]:
    """Return the dates of the records that an earlier run left: the store has no dates."""
    if path.exists():
        with contextlib.suppress(ValueError, TypeError):  # not a file of records: made anew
            return {replace(one, date=""): one.date for one in read_records(path)}
    return {}
