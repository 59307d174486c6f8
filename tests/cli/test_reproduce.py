"""`reproduce`: the papers' tables."""

import os
import signal

import pytest
from command_runs import finish, run, start

from latentclass.cli import _reproduce
from latentclass.cli._console import Console
from latentclass.evaluation._tables import Cell, TextTable
from latentclass.reproduction import _registry


def test_the_list_shows_data_and_minutes():
    shown = run("reproduce", "--list").out.splitlines()
    assert shown[0].split("  ")[0] == "entry"
    assert any(line.startswith("ltc --figure 3 ") and " corral " in line for line in shown)
    only = run("reproduce", "hnb", "--list", "--json").json
    assert {one["entry"].partition("-")[0] for one in only} == {"hnb"}
    assert only[0]["data"]


def test_the_list_can_be_of_one_table():
    found = run("reproduce", "lcm", "--list", "--table", "2", "--json").json
    assert [one["entry"] for one in found] == ["lcm-table-2"]
    found = run("reproduce", "--list", "--figure", "3", "--json").json
    assert {one["entry"].partition("-")[2] for one in found} == {"figure-3"}
    assert len(found) > 3


def test_the_papers_are_those_of_the_library():
    assert _reproduce.PAPERS == _registry.PAPERS


def test_a_figure_from_the_command(tmp_path):
    ended = run("reproduce", "ltc", "--figure", "3", "--out", tmp_path)
    assert ended.code == 0
    assert ended.out.startswith("ltc, Figure 3: the trees of corral\n")
    assert ended.err.endswith(f"Records, tables and pictures are in {str(tmp_path)!r}.\n")
    assert (tmp_path / "ltc-figure-3-quick.png").exists()
    again = run("reproduce", "ltc", "--figure", "3", "--out", tmp_path, "--from-store", "--json")
    assert again.json[0]["caption"] == "ltc, Figure 3: the trees of corral"


def test_a_table_is_no_wider_than_the_terminal(tmp_path, monkeypatch):
    row = ("corral", *(Cell("99.1") for _ in range(9)))
    wide = TextTable("Wide", ("data", *(f"classifier {k}" for k in range(9))), (row,), (), {})
    monkeypatch.setattr("latentclass.reproduction.reproduce", lambda *_, **__: [wide])
    assert max(map(len, run("reproduce", "ltc", "--out", tmp_path).out.splitlines())) > 100
    monkeypatch.setattr(Console, "width", 60)
    shown = run("reproduce", "ltc", "--out", tmp_path).out.splitlines()
    assert max(map(len, shown)) <= 60
    assert sum(line.startswith("corral ") for line in shown) == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "Name a paper: lcm, blcm, hnb, ltc, lvc, field. Or use --list."),
        (["ltcs"], 2, "There is no paper 'ltcs'. Did you mean 'ltc'?"),
        (["ltc", "--table", "1", "--figure", "3"], 2, "Name a table or a figure, not both."),
        (["ltc", "--table", "9"], 1, "The paper 'ltc' has no table 9 to reproduce."),
        (["field", "--table", "9"], 1, "The field has no table 9 to reproduce. There are: table"),
        (["lcm", "--list", "--table", "9"], 1, "The paper 'lcm' has no table 9 to reproduce."),
        (["--list", "--figure", "99"], 1, "No paper has a figure 99 to reproduce."),
        (["--list", "--table", "1", "--figure", "3"], 2, "Name a table or a figure, not both."),
        (["ltc", "--jobs", "0"], 2, "--jobs 0 has no meaning: use 1 or more, or -1 for all cores."),
        (["ltc", "--from-store"], 1, "No stored results in 'latentclass-reproduction'. Name the "),
        (["ltc", "--profile", "slow"], 2, "'slow' is not one of 'quick', 'paper'."),
    ],
)
def test_errors_are_one_sentence(words, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = run("reproduce", *words)
    assert ended.code == code
    assert message in ended.err
    assert not list(tmp_path.iterdir())


def test_data_that_cannot_be_had_are_named_at_once(tmp_path, monkeypatch):
    monkeypatch.delenv("LATENTCLASS_DATA", raising=False)
    monkeypatch.setenv("LATENTCLASS_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("socket.socket.connect", _refuse)
    ended = run("reproduce", "hnb", "--table", "2", "--out", tmp_path / "out")
    assert ended.code == 1
    first, *places, remedy, free = ended.err.splitlines()
    assert first == "Error: Data set 'postop' is not available. Tried:"
    assert [line.split(":")[0] for line in places] == [
        "- generated", "- bundled", "- folder", "- openml"
    ]  # fmt: skip
    assert remedy.startswith("What to do: set LATENTCLASS_DATA ")
    assert free.startswith("Always available: ")
    assert not (tmp_path / "out").exists()


def _refuse(*_):
    raise OSError("no network")


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_a_polite_kill_is_no_failed_fold(tmp_path):
    """A model may end its process too, which is a failed fold; a signal must not look like that."""
    store = tmp_path / "store.jsonl"
    models = ("--models", "naive-bayes,lvc", "--folds", "10", "--store", store)
    process = start("compare", "wine", *models)
    while not store.exists() or store.read_text().count("\n") < 2:
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGTERM)
    code, _, err = finish(process)
    assert code == 143, err
    assert '"error":null' in store.read_text()
    assert "SystemExit" not in store.read_text()
    assert "Terminated" not in store.read_text()
