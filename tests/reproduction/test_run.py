"""A run is kept fold by fold, continues where it was killed, and says early what is wrong."""

import datetime
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import small_entry
from small_entry import SMALL, Small

import latentclass
from latentclass.exceptions import DataSetUnavailableError
from latentclass.reproduction import _hnb, _ltc, _registry, _run, reproduce
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._records import (
    FIELDS,
    Record,
    average_row,
    read_records,
    write_records,
)
from latentclass.reproduction._work import NotFinished, Work

HERE = Path(__file__).parent
SOURCE = Path(latentclass.__file__).parents[1]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(_registry, "MODULES", (Small,))


def start(*arguments):
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(HERE / "small_entry.py"), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_killed_run_continues_with_the_folds_that_it_lacks(tmp_path):
    out, log = tmp_path / "out", tmp_path / "fits"
    killed = start(out, log, 4)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(log.read_text().split()) == 4  # three of iris, one of wine
    rows = {record.row for record in read_records(out / "ltc-table-1-quick.csv")}
    assert rows == {"iris"}
    continued = start(out, log)
    assert continued.returncode == 0, continued.stderr
    assert len(log.read_text().split()) == 6  # none of the four was computed again
    records = read_records(out / "ltc-table-1-quick.csv")
    assert {record.row for record in records} == {"iris", "wine", "average"}


def test_a_run_leaves_store_records_and_table(small, tmp_path):
    told = []
    (table,) = reproduce("ltc", table=1, out=tmp_path / "new" / "out", say=told.append)
    out = tmp_path / "new" / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "ltc-table-1-quick.csv",
        "ltc-table-1-quick.md",
        "results.jsonl",
    ]
    assert (out / "ltc-table-1-quick.md").read_text(encoding="utf-8") == table.to_markdown()
    assert told == ["ltc-table-1, iris: 6 fits", "ltc-table-1, wine: 6 fits"]
    assert [row[0] for row in table.rows] == ["wine", "iris", "average", "seconds per fit"]
    cells = {(one.row, one.column): one for one in read_records(out / "ltc-table-1-quick.csv")}
    iris = cells["iris", "NB"]
    assert (iris.published, iris.published_sd, iris.runs) == ("90.0", "2.0", "3")
    assert iris.profile == "quick"
    assert 85 < float(iris.value) < 100
    assert cells["iris", "Weka's"].note == "not installed"
    assert cells["iris", "Weka's"].value == ""


def test_from_store_computes_nothing_and_shows_what_is_finished(small, tmp_path, monkeypatch):
    reproduce("ltc", out=tmp_path)
    store = tmp_path / "results.jsonl"
    lines = store.read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["dataset"] == "iris"]
    store.write_text("".join(kept))
    log = tmp_path / "fits"
    monkeypatch.setattr(small_entry.Counted, "log", log)
    (table,) = reproduce("ltc", out=tmp_path, from_store=True)
    assert not log.exists()
    assert store.read_text() == "".join(kept)
    cells = {row[0]: row for row in table.rows}
    assert "wine" not in cells
    assert "Not run yet: wine." in table.notes
    assert float(cells["iris"][1].text) > 85
    assert cells["average of 1"][1].text == cells["iris"][1].text


def test_what_was_remembered_is_not_computed_again(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"values": [1.5, 2.0], "name": "b"}

    work = Work("quick", tmp_path, "lvc-table-1")
    assert work.remember("a trace", {"k": 2}, compute) == {"values": [1.5, 2.0], "name": "b"}
    assert work.remember("a trace", {"k": 2}, compute) == {"values": [1.5, 2.0], "name": "b"}
    assert len(calls) == 1
    work.remember("a trace", {"k": 3}, compute)
    assert len(calls) == 2
    stored = Work("quick", tmp_path, "lvc-table-1", only_stored=True)
    assert stored.remember("a trace", {"k": 3}, compute)["name"] == "b"
    with pytest.raises(NotFinished, match=r"^a trace is not in .*results\.jsonl\.$"):
        stored.remember("a trace", {"k": 4}, compute)
    assert len(calls) == 2


def test_an_unfinished_figure_from_the_store_is_no_error(tmp_path):
    (tmp_path / "results.jsonl").write_text("")
    told = []
    (table,) = reproduce("ltc", figure=3, out=tmp_path, from_store=True, say=told.append)
    assert table.rows == ()
    assert told[0].startswith("ltc-figure-3 stops here: trees of corral is not in ")
    assert table.notes[-1] == f"Nothing of it is stored in {str(tmp_path / 'results.jsonl')!r}."


def test_a_table_of_which_nothing_is_stored_says_so(small, tmp_path):
    (tmp_path / "results.jsonl").write_text("")
    (table,) = reproduce("ltc", out=tmp_path, from_store=True)
    assert not any(note.startswith(("Run on", "More than two")) for note in table.notes)
    assert table.notes[-1].startswith("Nothing of it is stored in ")


def test_a_result_keeps_the_date_of_its_run(small, tmp_path):
    reproduce("ltc", out=tmp_path)
    path = tmp_path / "ltc-table-1-quick.csv"
    write_records(path, [replace(one, date="2026-01-31") for one in read_records(path)])
    for settings in ({}, {"from_store": True}):
        reproduce("ltc", out=tmp_path, **settings)
        assert {one.date for one in read_records(path)} == {"2026-01-31"}
    path.unlink()
    noon = datetime.datetime(2026, 2, 1, 12, tzinfo=datetime.UTC).timestamp()
    os.utime(tmp_path / "results.jsonl", (noon, noon))
    reproduce("ltc", out=tmp_path, from_store=True)
    assert {one.date for one in read_records(path)} == {"2026-02-01"}
    path.write_text("a,b\n1,2\n")
    reproduce("ltc", out=tmp_path, from_store=True)
    assert {one.date for one in read_records(path)} == {"2026-02-01"}


def test_errors_come_before_anything_is_computed(small, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=r"^The paper 'ltc' has no figure 2 to reproduce\."):
        reproduce("ltc", figure=2, out=out)
    with pytest.raises(ValueError, match=r"^profile='slow' must be one of"):
        reproduce("ltc", profile="slow", out=out)
    with pytest.raises(ValueError, match=r"^Name a table or a figure, not both: table=1, figure=2"):
        reproduce("ltc", table=1, figure=2, out=out)
    with pytest.raises(ValueError, match=r"^n_jobs=0 has no meaning: use None, 1 or more, or -1 "):
        reproduce("ltc", out=out, n_jobs=0)
    with pytest.raises(FileNotFoundError, match=r"^No stored results in '.*out'\. Name the folder"):
        reproduce("ltc", out=out, from_store=True)

    def unavailable(name):
        raise DataSetUnavailableError(f"Data set {name!r} is nowhere.")

    monkeypatch.setattr(_run, "load_dataset", unavailable)
    with pytest.raises(DataSetUnavailableError, match=r"^Data set 'iris' is nowhere\.$"):
        reproduce("ltc", out=out)
    assert not out.exists()


def test_records_keep_every_field_and_other_files_are_refused(tmp_path):
    record = Record(*map(str, range(len(FIELDS))))
    path = tmp_path / "one.csv"
    write_records(path, [record])
    assert read_records(path) == [record]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"^one\.csv is not a file of records: its first line is"):
        read_records(path)


def test_averages_are_over_the_rows_that_all_columns_have():
    def cell(row, column, value, published=""):
        return Record(row, column, "accuracy, %", value, published=published)

    records = [
        cell("a", "NB", "80.00", "70"),
        cell("a", "HNB", "90.00"),
        cell("b", "NB", "60.00", "50"),
        cell("b", "HNB", "70.00"),
        cell("c", "NB", "10.00", "10"),
        cell("c", "HNB", ""),
        cell("a", "C5.0", ""),  # not installed: it does not count
    ]
    found = {one.column: (one.value, one.published, one.runs) for one in average_row(records)}
    assert found == {"NB": ("70.00", "60.00", "2"), "HNB": ("80.00", "", "2")}
    assert {one.row for one in average_row(records)} == {"average of 2"}
    assert {one.row for one in average_row(records[:4])} == {"average"}
    assert average_row([cell("a", "NB", "")]) == []


def test_the_figures_of_corral_show_the_concept(tmp_path):
    """A0 and A1, B0 and B1: section 5 of the paper."""
    trees, groups = reproduce("ltc", figure=3, out=tmp_path) + reproduce(
        "ltc", figure=4, out=tmp_path
    )
    shown = {row[0]: row[1:] for row in trees.rows}
    assert [cell.text for cell in shown["latent variables"]] == ["1", "2"]
    assert [cell.text for cell in shown["states of each"]] == ["2", "2, 2"]
    in_true = [
        {name: float(cell.text) for name, cell in zip(groups.header[1:], row[1:], strict=True)}
        for row in groups.rows
        if row[0].startswith("class true")
    ]
    pairs = {tuple(name for name, share in group.items() if share > 0.9) for group in in_true}
    assert pairs == {("A0", "A1"), ("B0", "B1")}
    for name in ("ltc-figure-3-quick.png", "ltc-figure-4-quick.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_sizes_of_a_data_set_stand_beside_the_published():
    found = [(one.column, one.value, one.published) for one in _ltc.sizes("corral")]
    assert found == [("Attr.", "6", "6"), ("Class", "2", "2"), ("Size", "128", "128")]


def test_entries_are_values():
    assert isinstance(SMALL, Entry)
    assert SMALL.name == "ltc-table-1"
    assert SMALL.heading == "Table 1: a small table"


def test_without_weka_its_columns_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("LATENTCLASS_WEKA", str(tmp_path / "nowhere.jar"))
    work = Work("quick", tmp_path, "x")
    assert _ltc.classifiers(work)["C4.5"] is None
    assert _hnb.classifiers(work)["C5.0"] is None
