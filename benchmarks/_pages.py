"""Write the tables of the pages in `PAGES` from the records.

A page has a pair of markers for a file of records, and what stands between them is made anew.
The rest of the page is written by hand. Short runs get a page of their own, in `build`.
Run by `make pages`.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from _record import ROOT, SHORT_RUNS, Record, read_records

MARKED = re.compile(r"<!-- records: (?P<stem>\w+) -->\n.*?<!-- end -->", re.S)
MEMORY = ", memory"
NUMBER = re.compile(r"[-+]?[\d.]+(e-?\d+)?")


def render(page: Path) -> str:
    """Return the text of a page with its tables made from the records beside it."""
    folder, make_tables = PAGES[page]

    def fill(marked: re.Match[str]) -> str:
        stem = marked["stem"]
        records = read_records(folder / "records" / f"{stem}.csv")
        tables = SPECIAL.get(stem, make_tables)(records)
        return f"<!-- records: {stem} -->\n\n{tables}\n<!-- end -->"

    return MARKED.sub(fill, page.read_text(encoding="utf-8"))


def one_line_per_figure(records: list[Record]) -> str:
    """Make a table of figures with their limits and what is known of their runs."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        key = (record.what, record.figure, record.unit, record.clock)
        groups.setdefault(key, []).append(record)
    columns = {
        name: cells
        for name, cell in CELLS.items()
        if any(cells := [cell(group) for group in groups.values()])
    }
    return _join(list(columns), zip(*columns.values(), strict=True)) + _versions(records)


def one_line_per_case(records: list[Record]) -> str:
    """Make a table, with a column for each figure, of the cases that have the same figures."""
    cases: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        title = f"{record.figure}, {record.unit}" if record.unit else record.figure
        cases.setdefault(record.what, {}).setdefault(title, []).append(record)
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for what, figures in cases.items():
        dates = sorted({group[-1].date for group in figures.values()})
        cells = [_beside_paper(group) for group in figures.values()]
        tables.setdefault(tuple(figures), []).append([what, *cells, dates[-1]])
    parts = [_join(["what", *titles, "date"], lines) for titles, lines in tables.items()]
    return "\n".join(parts) + _versions(records)


def one_table_per_curve(records: list[Record]) -> str:
    """Make a table of seconds and memory for each curve of `growth.py`, with a line per model."""
    newest = {(record.what, record.figure): record for record in records}
    curves: dict[str, set[float]] = {}
    for what, _ in newest:
        curve, size = what.split()
        curves.setdefault(curve, set()).add(float(size.replace(",", "")))
    models = [
        name for name in dict.fromkeys(r.figure for r in records) if not name.endswith(MEMORY)
    ]
    tables = []
    for curve, found in curves.items():
        sizes = [f"{size:,g}" for size in sorted(found)]
        lines = [
            [name, *(_seconds_and_memory(newest, f"{curve} {size}", name) for size in sizes)]
            for name in models
        ]
        tables.append(_join([curve, *sizes], [line for line in lines if any(line[1:])]))
    return "\n".join(tables) + _versions(records)


def mean_over_sets(records: list[Record]) -> str:
    """Make a table of mean log-loss by labels a class for `few_labels.py`, with a line per model.

    The last column counts the sets on which rows without a label do not raise the mean log-loss.
    """
    newest = {(record.what, record.figure): float(record.value) for record in records}
    losses: dict[str, dict[int, list[float]]] = {}
    by_set: dict[str, dict[str, list[float]]] = {}
    for (what, figure), loss in newest.items():
        name, labels, _ = what.rsplit(", ", 2)
        losses.setdefault(figure, {}).setdefault(int(labels.split()[0]), []).append(loss)
        by_set.setdefault(figure, {}).setdefault(name, []).append(loss)
    sizes = sorted({size for found in losses.values() for size in found})
    lines = []
    for figure, found in losses.items():
        cells = [f"{fmean(found[n]):.3f} ({len(found[n])})" if n in found else "" for n in sizes]
        alone = by_set.get(figure.removesuffix(", all") + ", labelled", {})
        both = [name for name in by_set[figure] if name in alone]
        better = sum(fmean(by_set[figure][name]) <= fmean(alone[name]) for name in both)
        helped = f"{better} of {len(both)}" if both and figure.endswith(", all") else ""
        lines.append([figure, *cells, helped])
    titles = ["model, rows", *(f"{n} labels a class" for n in sizes), "sets not worse"]
    return _join(titles, lines) + _versions(records)


def one_line_per_budget(records: list[Record]) -> str:
    """Make a table of means over the data sets for `auto.py`, with a line for each budget."""
    newest = {(record.what, record.figure): record for record in records}
    found: dict[int, dict[str, list[Record]]] = {}
    for (what, figure), record in newest.items():
        budget = int(what.rsplit(", ", 1)[1].split()[0])
        found.setdefault(budget, {}).setdefault(figure, []).append(record)
    lines = []
    for budget, figures in sorted(found.items()):
        loss, hits, used = (
            [float(record.value) for record in figures[figure]]
            for figure in ("log-loss", "accuracy", "seconds / budget")
        )
        limit = float(figures["seconds / budget"][-1].limit)
        kept = f"{sum(one <= limit for one in used)} of {len(used)}"
        dates = sorted({record.date for group in figures.values() for record in group})
        means = [f"{fmean(loss):.4f}", f"{100 * fmean(hits):.1f} %", f"{fmean(used):.2f}"]
        lines.append([f"{budget} s", *means, f"{max(used):.2f}", kept, dates[-1]])
    titles = [
        "budget",
        "log-loss",
        "accuracy",
        "seconds / budget",
        "at most",
        "budgets kept",
        "date",
    ]
    return _join(titles, lines) + _versions(records)


def _seconds_and_memory(newest: dict[tuple[str, str], Record], what: str, name: str) -> str:
    fit, memory = newest.get((what, name)), newest.get((what, name + MEMORY))
    if fit is None or not fit.unit:
        return "" if fit is None else fit.value
    assert memory is not None
    return f"{float(fit.value):.2g} s, {float(memory.value):.0f} MB"


def _join(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [titles, ["---"] * len(titles), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _versions(records: list[Record]) -> str:
    known = dict.fromkeys(record.versions for record in records if record.versions)
    return f"\nVersions: {'; '.join(known)}.\n" if known else ""


def _value(group: list[Record]) -> str:
    """Return the newest value, and the range of all runs."""
    text = group[-1].value
    ends = [end for record in group for end in (record.value, record.low, record.high) if end]
    if all(map(NUMBER.fullmatch, ends)) and len(set(ends)) > 1:
        text += f" ({min(ends, key=float)} to {max(ends, key=float)})"
    return text


def _beside_paper(group: list[Record]) -> str:
    return _value(group) + (f" (paper {group[-1].paper})" if group[-1].paper else "")


def _limit(group: list[Record]) -> str:
    newest = group[-1]
    missed = newest.limit and float(newest.value) > float(newest.limit)
    return newest.limit + (", missed" if missed else "")


def _runs(group: list[Record]) -> str:
    numbers = [record.runs for record in group]
    return str(sum(map(int, numbers))) if all(numbers) else ""


CELLS: dict[str, Callable[[list[Record]], str]] = {
    "what": lambda group: group[-1].what,
    "figure": lambda group: group[-1].figure,
    "value": lambda group: f"{_value(group)} {group[-1].unit}".rstrip(),
    "limit": _limit,
    "seconds": lambda group: group[-1].seconds,
    "runs": _runs,
    "clock": lambda group: group[-1].clock,
    "load": lambda group: group[-1].load,
    "date": lambda group: group[-1].date,
}
BENCHMARKS = ROOT / "benchmarks"
PAGES: dict[Path, tuple[Path, Callable[[list[Record]], str]]] = {
    BENCHMARKS / "README.md": (BENCHMARKS, one_line_per_figure),
    ROOT / "docs" / "reference" / "time-and-memory.md": (BENCHMARKS, one_line_per_figure),
}
"""The folder that a page has its records from, and how its tables are made."""

SPECIAL = {
    "growth": one_table_per_curve,
    "auto": one_line_per_budget,
    "few_labels": mean_over_sets,
    "first_call": one_line_per_case,
    "files": one_line_per_case,
}
"""Records that have tables of their own kind on every page."""


def main() -> None:
    for page in PAGES:
        page.write_text(render(page), encoding="utf-8")
    if short := sorted(SHORT_RUNS.glob("*.csv")):
        parts = [f"\n## {path.stem}\n\n{one_line_per_figure(read_records(path))}" for path in short]
        page = ROOT / "build" / "records.md"
        page.write_text(
            "# Short runs\n\nThe limits are meant for the sizes of the full form.\n"
            + "".join(parts),
            encoding="utf-8",
        )
        print(f"The figures of the short runs are in {page.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
