"""Files that commands write: formats, guarded cells, whole or not at all."""

import io
import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from latentclass.cli._app import CommandError
from latentclass.cli._output import check_output, row_writer

ROWS = {"n": range(1, 3), "text": np.array(["a", "b"]), "p": np.array([0.5, np.nan])}
MORE = {"n": range(3, 4), "text": np.array(["c,d"]), "p": np.array([0.25])}


def write(path):
    with row_writer(None if path is None else str(path)) as add:
        add(ROWS)
        add(MORE)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".csv", 'n,text,p\n1,a,0.5\n2,b,\n3,"c,d",0.25\n'),
        (".tsv", "n\ttext\tp\n1\ta\t0.5\n2\tb\t\n3\tc,d\t0.25\n"),
    ],
)
def test_text_formats(tmp_path, ending, text):
    write(tmp_path / f"out{ending}")
    assert (tmp_path / f"out{ending}").read_text() == text


def test_json_lines(tmp_path):
    write(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines[1:] == [{"n": 2, "text": "b", "p": None}, {"n": 3, "text": "c,d", "p": 0.25}]


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_formats_of_arrow(tmp_path, ending):
    write(tmp_path / f"out{ending}")
    read = pa.parquet.read_table if ending == ".parquet" else pa.feather.read_table
    table = read(tmp_path / f"out{ending}")
    assert table.column("n").to_pylist() == [1, 2, 3]
    assert table.column("text").to_pylist() == ["a", "b", "c,d"]


FORMULAS = ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "\uff1d1"]


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_no_cell_and_no_name_is_a_formula(tmp_path, text, ending):
    path = tmp_path / f"out{ending}"
    with row_writer(str(path)) as add:
        add({text: [text, "-1.5", "a=b"], "number": [-1.5, -2, None]})
    guarded = "'" + text.replace("\r", "\n")
    sign = "\t" if ending == ".tsv" else ","
    import csv

    with path.open(newline="") as lines:
        rows = list(csv.reader(lines, delimiter=sign))
    assert rows == [[guarded, "number"], [guarded, "-1.5"], ["-1.5", "-2"], ["a=b", ""]]


def test_a_terminal_gets_no_escape_codes(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", stream)
    with row_writer(None) as add:
        add({"a\x1b[2J": ["\x1b]0;title\x07"]})
    assert stream.buffer.getvalue() == b"a\\x1b[2J\n\\x1b]0;title\\x07\n"


def test_an_error_leaves_nothing_behind(tmp_path):
    def fail():
        with row_writer(str(tmp_path / "out.csv")) as add:
            add(ROWS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xlsx", "The ending of '{}' is not a known format: use .csv, .tsv, .parquet, "
         ".feather, .jsonl."),
        ("no/out.csv", "The folder of '{}' does not exist. Make it first."),
        ("there.csv", "'{}' exists. Give another name, or --force to overwrite it."),
    ],
)  # fmt: skip
def test_outputs_are_checked_first(tmp_path, name, message):
    (tmp_path / "there.csv").write_text("old")
    path = str(tmp_path / name)
    with pytest.raises(CommandError) as caught:
        check_output(path, force=False)
    assert str(caught.value) == message.format(path)
    if name == "there.csv":
        check_output(path, force=True)
