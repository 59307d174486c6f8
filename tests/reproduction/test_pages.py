"""The pages are those of the records, and need no computing."""

import importlib.util
from pathlib import Path

import pytest

from latentclass.evaluation import _compare
from latentclass.reproduction._records import read_records
from latentclass.reproduction._registry import list_entries

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("paper_pages", ROOT / "reproduce" / "_paper_pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


@pytest.mark.parametrize("paper", pages.papers())
def test_a_page_shows_its_records(paper, monkeypatch):
    monkeypatch.setattr(_compare, "run_task", None)  # nothing can be computed
    page = ROOT / "docs" / "reproduction" / f"{paper}.md"
    assert pages.render(paper) == page.read_text(encoding="utf-8"), "Run `make pages`."


def test_the_readme_shows_the_field():
    text = pages.README.read_text(encoding="utf-8")
    assert "| Auto | " in text
    assert pages.render_readme() == text, "Run `make pages`."


def test_every_page_has_its_place():
    made = {path.stem for path in (ROOT / "docs" / "reproduction").glob("*.md")}
    assert made == {"index", *pages.papers()}
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f"reproduction/{name}.md" in menu for name in made)


def test_records_and_pictures_belong_to_entries():
    names = {f"{entry.name}-{one}" for entry in list_entries() for one in entry.profiles}
    records = {path.stem for path in pages.RECORDS.glob("*-*.csv")}
    assert records <= names
    for path in pages.PAGES.glob("*.png"):
        assert any(path.stem.startswith(entry.name) for entry in list_entries()), path.name


@pytest.mark.parametrize("path", sorted(pages.RECORDS.glob("*-*.csv")), ids=lambda path: path.stem)
def test_records_say_when_and_how_they_were_made(path):
    records = read_records(path)
    assert records
    assert {record.profile for record in records} == {path.stem.rpartition("-")[2]}
    assert all(record.date for record in records)


def test_notes_stand_below_their_table(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "NOTES", tmp_path)
    monkeypatch.setattr(pages, "RECORDS", tmp_path)
    (tmp_path / "ltc.md").write_text("Begin.\n\n## Table 2\n\nSaid of it.\n\n## Open\n\nA thing.\n")
    head = "row,column,statistic,value,sd,published,published_sd,significance,seconds,runs"
    (tmp_path / "ltc-table-2-quick.csv").write_text(
        f"{head},profile,date,note\nwins,NB,data sets,15,,17,,,,37,quick,2026-11-17,\n"
    )
    lines = [line for line in pages.render("ltc").splitlines() if line]
    assert lines[1:4] == ["# Latent tree classifier", pages.PAPERS["ltc"], "Begin."]
    assert lines[4].startswith("## Table 2: ")
    assert "| wins | 15 (17, -2) |" in lines
    assert lines[-3:] == ["Said of it.", "## Open", "A thing."]
