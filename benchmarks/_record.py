"""Measure, and keep the figures as records, for the scripts beside this file.

A record is one figure with its limit or published value, the versions, the machine's load and the
date. Each script has one CSV file of them, in the `records` folder beside it. New records are added
at the end and old ones stay, so a bad figure is never lost. Short runs go to `build/records`
instead. `_pages.py` makes the tables of both README files from the records.
"""

import argparse
import csv
import datetime
import io
import os
import platform
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from latentclass._files import replacing

ROOT = Path(__file__).parents[1]
SHORT_RUNS = ROOT / "build" / "records"
LONGEST_CELL = 40
Key = TypeVar("Key")
CLOCKS = {"wall": time.perf_counter, "CPU": time.process_time}


@dataclass(frozen=True)
class Record:
    """One figure. All fields are text as the CSV file has it; what is not known is empty.

    Attributes
    ----------
    what, figure : str
        The case (data, size, setting), and what was measured of it.
    value : str
        The figure: a ratio if `unit` is empty.
    low, high : str
        The smallest and largest value, if the record stands for several runs.
    unit : str
    limit : str
        The largest value that we allow ourselves.
    paper : str
        The published value.
    seconds, peer_seconds : str
        The two times of a ratio.
    runs : str
        Number of runs that the record stands for.
    clock : str
        "wall" or "CPU".
    load : str
        Load average of the last minute when the run began. Older records say it in words.
    date, versions : str
    """

    what: str
    figure: str
    value: str
    low: str = ""
    high: str = ""
    unit: str = ""
    limit: str = ""
    paper: str = ""
    seconds: str = ""
    peer_seconds: str = ""
    runs: str = "1"
    clock: str = ""
    load: str = ""
    date: str = ""
    versions: str = ""

    def __post_init__(self) -> None:
        for name in ("what", "figure", "value"):
            text = getattr(self, name)
            if not 0 < len(text) <= LONGEST_CELL or "|" in text or "\n" in text:
                raise ValueError(
                    f"{name}={text!r} does not fit into a table cell: use 1 to {LONGEST_CELL} "
                    "characters on one line, without '|'."
                )


FIELDS = tuple(field.name for field in fields(Record))


def read_records(path: Path) -> list[Record]:
    """Read the records of a file, oldest first."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [Record(**row) for row in csv.DictReader(lines)]


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a file of records, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(astuple(record) for record in records)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


class Run:
    """One run of a script with one thread, for use in a `with` block.

    Its figures are printed as they come and written when the block ends without an error.

    Parameters
    ----------
    script : str
        The script's `__file__`.
    keep : bool
        Whether the figures go to the records in the repository, or to `build/records`.
    packages : sequence of str
        Installed packages to name with their versions.
    """

    def __init__(
        self, script: str, *, keep: bool, packages: tuple[str, ...] = ("numpy", "scikit-learn")
    ) -> None:
        place = Path(script).resolve()
        self.keep = keep
        self.path = (place.parent / "records" if keep else SHORT_RUNS) / f"{place.stem}.csv"
        self.records: list[Record] = []
        self._load = f"{os.getloadavg()[0]:.1f}"
        self._versions = [f"Python {platform.python_version()}"]
        self.name_packages(*packages)

    def __enter__(self) -> "Run":
        # by a call, because environment variables count only until numpy is imported
        self._threads = threadpool_limits(1)
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore", ConvergenceWarning)  # many fits are cut short on purpose
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._warnings.__exit__(None, None, None)
        self._threads.restore_original_limits()
        if error is None and self.records:
            earlier = read_records(self.path) if self.keep and self.path.exists() else []
            write_records(self.path, earlier + self.records)
            print(f"{len(self.records)} records written to {self.path.relative_to(ROOT)}")

    def name_packages(self, *packages: str) -> None:
        """Name more packages in the records that follow."""
        self._versions += [f"{package} {version(package)}" for package in packages]

    def add(
        self, what: str, figure: str, value: float | str, *, unit: str = "",
        limit: float | None = None, paper: float | str | None = None, clock: str = "",
        seconds: float | None = None, peer_seconds: float | None = None, runs: int = 1,
    ) -> None:  # fmt: skip
        """Add one figure."""
        record = Record(
            what,
            figure,
            _text(value),
            unit=unit,
            limit=_text(limit),
            paper=_text(paper),
            seconds=_text(seconds),
            peer_seconds=_text(peer_seconds),
            runs=str(runs),
            clock=clock,
            load=self._load,
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            versions=", ".join(self._versions),
        )
        self.records.append(record)
        beside = f" by {clock} time" * bool(clock)
        beside += f" (limit {record.limit})" * bool(record.limit)
        beside += f" (paper {record.paper})" * bool(record.paper)
        print(f"{what}; {figure}: {record.value} {unit}".rstrip() + beside, flush=True)

    def add_ratio(
        self, what: str, figure: str, ours: float, peer: float, *, limit: float | None = None,
        clock: str = "wall",
    ) -> None:  # fmt: skip
        """Add our time divided by the peer's."""
        self.add(
            what, figure, ours / peer, limit=limit, clock=clock, seconds=ours, peer_seconds=peer
        )  # fmt: skip


def _text(value: float | str | None) -> str:
    """Four digits, but whole numbers in full."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def make_parser(doc: str) -> argparse.ArgumentParser:
    """Options that every benchmark has."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all sizes, figures kept in records/")
    return parser


def best_times(
    tasks: Mapping[Key, Callable[[], object]],
    repeats: int = 5,
    *,
    clock: str = "wall",
    passes: int = 1,
) -> dict[Key, float]:
    """Shortest seconds of each task, done `passes` times in a row.

    The tasks take turns, so that a busy machine slows all of them, after one round to warm up.
    """
    read_clock = CLOCKS[clock]
    best = dict.fromkeys(tasks, float("inf"))
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            start = read_clock()
            for _ in range(passes):
                task()
            if turn:
                best[name] = min(best[name], (read_clock() - start) / passes)
    return best


def iteration_times(
    fits: Mapping[str, Callable[[int], object]], repeats: int = 2, *, few: int = 3, many: int = 13
) -> dict[str, float]:
    """CPU seconds of one EM iteration: fits of `many` iterations less fits of `few`.

    Each of `fits` takes the number of iterations, so that what a fit does once falls out.
    """
    pairs = [(name, n) for name in fits for n in (few, many)]
    tasks = {pair: lambda pair=pair: fits[pair[0]](pair[1]) for pair in pairs}
    times = best_times(tasks, repeats, clock="CPU")
    return {name: (times[name, many] - times[name, few]) / (many - few) for name in fits}


def peak_megabytes(task: Callable[[], object]) -> float:
    """Most memory that numpy and Python held at once during the task, beyond what was there."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
