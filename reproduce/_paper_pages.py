"""Write `docs/reproduction/<paper>.md` and the README's table from the records in `records`.

Nothing is computed.

A page has a section for each table and figure that has records. `notes/<paper>.md` holds what is
to be said about them: its section "Table 1" goes below that table, what stands before the first
section begins the page, and all other sections end it. Run by `make pages`.
"""

import re
from dataclasses import replace
from pathlib import Path

from latentclass.reproduction import list_entries
from latentclass.reproduction._entry import PROFILES, Entry
from latentclass.reproduction._published import PAPERS
from latentclass.reproduction._records import read_records
from latentclass.reproduction._tables import make_table, run_notes

ROOT = Path(__file__).parents[1]
RECORDS, NOTES = ROOT / "reproduce" / "records", ROOT / "reproduce" / "notes"
PAGES = ROOT / "docs" / "reproduction"
README = ROOT / "README.md"
IN_README = (
    "Auto", "Hybrid LCM", "EBM", "CatBoost", "logistic regression", "random forest", "StepMix",
)  # fmt: skip
CONDITIONS = {1: "complete", 2: "30 % of cells missing", 7: "15 labels of each class"}
"""The tables of the field that the README has, by number."""

COMMENT = "<!-- Made by `make pages` from reproduce/records and reproduce/notes. -->"
TITLES = {
    "lcm": "Latent classification models",
    "blcm": "Binary latent classification models",
    "hnb": "Hierarchical naive Bayes",
    "ltc": "Latent tree classifier",
    "lvc": "Mixtures and latent variable classifiers",
    "field": "The field",
}


def papers() -> list[str]:
    """Papers that have records."""
    return [paper for paper in TITLES if any(map(records_of, list_entries(paper)))]


def records_of(entry: Entry) -> dict[str, Path]:
    """The files of records of an entry by profile, those of the paper's profile first."""
    files = {one: RECORDS / f"{entry.name}-{one}.csv" for one in reversed(PROFILES)}
    return {profile: path for profile, path in files.items() if path.exists()}


def read_notes(paper: str) -> dict[str, str]:
    """The sections of a paper's notes by title; what stands before the first has no title."""
    path = NOTES / f"{paper}.md"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    first, *rest = re.split(r"^## (.+)\n", text, flags=re.M)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    return {"": first.strip(), **{title.strip(): body.strip() for title, body in pairs}}


def render(paper: str) -> str:
    """Return the page of a paper."""
    notes = read_notes(paper)
    parts = [COMMENT, f"# {TITLES[paper]}", PAPERS.get(paper, ""), notes.pop("")]
    for entry in list_entries(paper):
        parts += _section(entry, notes.pop(f"{entry.kind.capitalize()} {entry.number}", ""))
    for title, body in notes.items():
        parts += [f"## {title}", body]
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(entry: Entry, note: str) -> list[str]:
    found = records_of(entry)
    if not found:
        return []
    command = f"`latentclass reproduce {entry.paper} --{entry.kind} {entry.number}`"
    parts = [f"## {entry.heading}", f"{command}. {entry.protocol}", entry.look_for]
    for profile, path in found.items():
        records = read_records(path)
        table = make_table(entry, records)
        caption = f"Profile {profile}" + table.caption.partition(entry.heading)[2]
        shown = replace(table, caption=caption, notes=tuple(run_notes(entry, records)))
        parts.append(shown.to_markdown().strip())
        for picture in sorted(PAGES.glob(f"{entry.name}-*{profile}.png")):
            parts.append(f"![{entry.heading}, profile {profile}]({picture.name})")
    return [*parts, note]


def render_readme() -> str:
    """Return the README with its table of the field between the marks."""
    text = README.read_text(encoding="utf-8")
    return re.sub(
        r"(<!-- field -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}\n{_standing()}\n{found[2]}",
        text,
        flags=re.S,
    )


def _standing() -> str:
    """Return the classifiers of `IN_README` under the first conditions, as a table in Markdown."""
    found = {}
    for entry in list_entries("field"):
        if entry.kind != "table" or entry.number not in CONDITIONS:
            continue
        records = [one for path in records_of(entry).values() for one in read_records(path)]
        cells = {(one.row, one.column): one.value for one in records}
        if cells:
            found[f"{CONDITIONS[entry.number]}, {cells['Auto', 'tables']} tables"] = cells
    lines = [["", *found], ["---"] * (len(found) + 1)]
    for name in IN_README:
        lines.append([name, *(_loss_and_accuracy(cells, name) for cells in found.values())])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _loss_and_accuracy(cells: dict[tuple[str, str], str], name: str) -> str:
    if (name, "tables") not in cells:
        return "-"
    loss, n_tables = cells[name, "log-loss"], cells[name, "tables"]
    some = "" if n_tables == cells["Auto", "tables"] else f", {n_tables} tables"
    return f"{loss} ({cells[name, 'accuracy, %']} %{some})"


def main() -> None:
    for paper in papers():
        (PAGES / f"{paper}.md").write_text(render(paper), encoding="utf-8")
    README.write_text(render_readme(), encoding="utf-8")


if __name__ == "__main__":
    main()
