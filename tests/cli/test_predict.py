"""`latentclass predict`: one line per row, columns by name, any order and any format."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command_runs import draw_customers, read_csv, run, write_csv

import latentclass
from latentclass.cli import _input


@pytest.fixture
def new(tmp_path):
    """Customers that no model has seen, without their class."""
    return write_csv(tmp_path / "new.csv", [row[:4] for row in draw_customers(50, seed=1)])


def expected(path, new):
    """What the model itself says."""
    rows = read_csv(new)[1:]
    X = pa.table(
        {
            "income": [float(row[0]) if row[0] else None for row in rows],
            "visits": pa.array([int(row[1]) if row[1] else None for row in rows], pa.int64()),
            "plan": [row[2] or None for row in rows],
            "zone": [row[3] or None for row in rows],
        }
    )
    model = latentclass.load(path)
    return model, X


def test_classes_and_probabilities(fitted, new):
    ended = run("predict", fitted(), new, "--proba")
    assert (ended.code, ended.err) == (0, "")
    header, *rows = ended.rows
    assert header == ["row", "prediction", "probability", "P(no)", "P(yes)"]
    model, X = expected(fitted(), new)
    assert [row[0] for row in rows] == [str(k) for k in range(1, 51)]
    assert [row[1] for row in rows] == model.predict(X).tolist()
    found = np.array([row[3:] for row in rows], dtype=float)
    np.testing.assert_array_equal(found, model.predict_proba(X))
    np.testing.assert_array_equal(
        np.array([row[2] for row in rows], dtype=float), found.max(axis=1)
    )


def test_chunks_give_the_same(fitted, new, monkeypatch):
    whole = run("predict", fitted(), new, "--proba", "--explain", "2").out
    original = _input.chunks
    monkeypatch.setattr("latentclass.cli._predict.chunks", lambda *args: original(*args, n_rows=7))
    assert run("predict", fitted(), new, "--proba", "--explain", "2").out == whole


def test_columns_in_another_order(fitted, new, tmp_path):
    rows = read_csv(new)
    turned = write_csv(tmp_path / "turned.csv", [row[::-1] for row in rows])
    assert run("predict", fitted(), turned) == run("predict", fitted(), new)


def test_a_lacking_column_counts_as_missing_and_an_extra_one_is_ignored(fitted, new, tmp_path):
    rows = read_csv(new)
    for k, row in enumerate(rows):
        row[0] = "id" if k == 0 else k
    other = write_csv(tmp_path / "other.csv", rows)
    ended = run("predict", fitted(), other)
    assert ended.err == (
        f"Warning: {str(other)!r} lacks a column, which counts as missing: 'income'.\n"
        "Ignored, because the model has no such columns: 'id'.\n"
    )
    model, X = expected(fitted(), new)
    hidden = X.set_column(0, "income", pa.nulls(50, pa.float64()))
    assert [row[1] for row in ended.rows[1:]] == model.predict(hidden).tolist()
    assert run("predict", fitted(), other, "--quiet").err == ""


def test_unseen_categories_are_counted_over_all_chunks(fitted, new, tmp_path, monkeypatch):
    rows = read_csv(new)
    for row in rows[11:34]:
        row[2] = "gold"
    rows[40][3] = "9"
    odd = write_csv(tmp_path / "odd.csv", rows)
    original = _input.chunks
    monkeypatch.setattr("latentclass.cli._predict.chunks", lambda *args: original(*args, n_rows=7))
    ended = run("predict", fitted(), odd)
    assert ended.err == (
        "Warning: plan: 23 cells hold values that the model has not seen, such as 'gold'; they "
        "count as missing.\n"
        "Warning: zone: 1 cell holds '9', which the model has not seen; it counts as missing.\n"
    )
    assert run("predict", fitted(), odd, "--quiet").err == ""


def test_a_file_with_none_of_the_columns_is_refused(fitted, tmp_path):
    path = write_csv(tmp_path / "other.csv", [["a", "b"], [1, 2]])
    ended = run("predict", fitted(), path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"Error: {str(path)!r} has none of the model's columns 'income', 'visits', 'plan', 'zone'; "
        "it has 'a', 'b'. Is it the right file, and is its first line a header?\n"
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".feather", ".jsonl"])
def test_outputs_by_their_ending(fitted, new, tmp_path, ending):
    path = tmp_path / f"scores{ending}"
    ended = run("predict", fitted(), new, "-o", path, "--json")
    assert ended.json == {
        "rows": 50,
        "output": str(path),
        "columns": ["row", "prediction", "probability"],
    }
    assert ended.err == f"50 rows written to {str(path)!r}.\n"
    if ending == ".jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        found = latentclass.read_table(path, container="pyarrow").to_pylist()
    printed = [
        json.loads(line) for line in run("predict", fitted(), new, "--json").out.splitlines()
    ]
    assert found == printed


def test_files_of_other_formats(fitted, new, tmp_path):
    """A file of numbers where the model learned codes as text, as other programs write it."""
    _, X = expected(fitted(), new)
    codes = pa.array([float(code) for code in X.column("zone").to_pylist()])
    path = tmp_path / "new.parquet"
    pyarrow.parquet.write_table(X.set_column(3, "zone", codes), path)
    assert run("predict", fitted(), path).out == run("predict", fitted(), new).out
    ended = run("predict", fitted(), "-", stdin=new.read_text())
    assert ended.out == run("predict", fitted(), new).out


def test_python_finds_codes_as_the_command_does(fitted, new):
    """In Python, codes that the command learned as text come as numbers."""
    table = latentclass.read_table(new)
    assert table["zone"].dtype.kind in "if"
    found = latentclass.load(fitted()).predict_proba(table)
    told = run("predict", fitted(), new, "--proba").rows[1:]
    np.testing.assert_array_equal(np.array([row[3:] for row in told], dtype=float), found)


def test_text_where_the_model_learned_numbers(fitted, new, tmp_path):
    rows = read_csv(new)
    rows[4][0] = "much"
    path = write_csv(tmp_path / "bad.csv", rows)
    ended = run("predict", fitted(), path, "-o", tmp_path / "out.csv")
    assert ended.code == 1
    assert ended.err == (
        f"Error: {str(path)!r}, row 4, column 'income' holds 'much', but the model learned numbers "
        "there. Correct the cell, or leave it empty. If it means that nothing is known, pass "
        "--missing much.\n"
    )
    assert not (tmp_path / "out.csv").exists()


def test_reasons(fitted, new):
    header, first, *_ = run("predict", fitted(), new, "--explain", "2").rows
    assert header[-2:] == ["reason_1", "reason_2"]
    model, X = expected(fitted(), new)
    told = model.explain(X.slice(0, 1))
    best = int(np.abs(told.weights[0]).argmax())
    name = told.feature_names[best]
    value = X.column(name)[0].as_py()
    assert first[-2] == f"{name}={value} ({told.weights[0, best]:+.2f})"


def test_columns_can_be_kept(fitted, new):
    ended = run("predict", fitted(), new, "--keep", "plan", "--keep", "zone")
    assert ended.rows[0] == ["row", "plan", "zone", "prediction", "probability"]
    rows = read_csv(new)
    assert [row[1:3] for row in ended.rows[1:]] == [row[2:4] for row in rows[1:]]
    ended = run("predict", fitted(), new, "--keep", "plann")
    assert "There is no column 'plann'. Did you mean 'plan'?" in ended.err


def test_names_cannot_become_formulas_or_escape_codes(tmp_path):
    rows = draw_customers()
    rows[0][0] = "=cmd"
    for row in rows[1:]:
        row[4] = {"yes": "=1+1", "no": "\x1b[31mno"}[row[4]]
    path = write_csv(tmp_path / "c.csv", rows)
    fit = run("fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert fit.code == 0
    ended = run("predict", tmp_path / "m.lc", path, "--proba", "--explain", "1")
    for row in ended.rows:
        assert not any(cell.startswith("=") for cell in row)
    ended = run("explain", tmp_path / "m.lc", path, "--row", "1")
    assert "\x1b" not in ended.out + ended.err
    assert "\x1b" not in run("info", tmp_path / "m.lc").out


def test_a_model_that_is_no_classifier_is_refused(mixture, new):
    ended = run("predict", mixture, new)
    assert ended.err == (
        f"Error: {str(mixture)!r} (LatentMixture) is not a classifier: it has no classes.\n"
    )


def test_a_file_that_is_not_there(fitted, new):
    ended = run("predict", fitted(), "nowhere.csv")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "Error: There is no file 'nowhere.csv'. Check its name and the folder.\n"
    ended = run("predict", "nowhere.lc", new)
    assert ended.err == "Error: 'nowhere.lc': No such file or directory.\n"
