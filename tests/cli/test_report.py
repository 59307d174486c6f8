"""`latentclass report`: the page of a model from two files."""

import html
import json
import re
import shlex

import pyarrow as pa
import pytest
from command_runs import draw_customers, run, write_csv

from latentclass import load, report
from latentclass.cli._input import ColumnsByName
from latentclass.cli._report import row_ids
from latentclass.tables import open_table


def test_the_page_is_that_of_the_function(fitted, customers, tmp_path):
    output = tmp_path / "page.html"
    ended = run("report", fitted(), customers, "-o", output)
    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[-1] == f"Written to {str(output)!r}."
    model = load(fitted())
    table = open_table(customers, text=["zone"]).read()
    X = ColumnsByName(model.schema_, table.column_names).select(table, 0, "")
    command = f"latentclass report {fitted()} {customers} -o {output} --force"
    same = report(
        model, X, table.column("churn"), target="churn", index=range(1, 121), command=command
    )
    assert output.read_text(encoding="utf-8") == same.html
    assert "Columns left out:" not in same.html
    assert ended.out.splitlines()[:3] == list(same.summary.words)


def test_the_page_names_the_columns_that_were_left_out(fitted, customers, tmp_path):
    model = fitted("naive-bayes", "--drop", "visits")
    ended = run("report", model, customers, "-o", tmp_path / "page.html", "--json")
    assert ended.json["making"]["left_out"] == ["visits"]
    assert "<p>Columns left out: visits.</p>" in (tmp_path / "page.html").read_text(
        encoding="utf-8"
    )


def test_an_identifier_that_was_dropped_stands_beside_the_row_number(tmp_path):
    rows = draw_customers()
    named = [["when", "half", "id", *rows[0]]]
    named += [[f"{k}.5", k // 2, f"C{k:04}", *row] for k, row in enumerate(rows[1:], 1)]
    data, model = write_csv(tmp_path / "c.csv", named), tmp_path / "m.lc"
    drop = ["--drop", "when", "--drop", "half", "--drop", "id"]
    ended = run("fit", data, "-t", "churn", "-m", "naive-bayes", "-o", model, "--report", *drop)
    assert ended.code == 0, ended.err
    written = (tmp_path / "m.html").read_text(encoding="utf-8")
    found = run("report", model, data, "-o", tmp_path / "page.html", "--json").json["rows"]
    assert found["id_name"] == "id"
    assert [(row["name"], row["id"]) for row in found["listed"][:2]] == [
        ("1", "C0001"),
        ("2", "C0002"),
    ]
    assert "<bdi>id</bdi> <bdi>C0001</bdi>" in written


def test_json_is_the_summary(fitted, customers, tmp_path):
    output = tmp_path / "page.html"
    found = run("report", fitted(), customers, "-o", output, "--json", "--folds", "2").json
    assert (found["output"], found["quality"]["n_folds"]) == (str(output), 2)
    assert found["rows"]["listed"][0]["name"] == "1"  # the first row below the header
    assert "--folds 2" in found["making"]["command"]
    data = re.search(r'id="row-data">(.*?)</script>', output.read_text(encoding="utf-8"))[1]
    assert json.loads(data)["rows"][119][0] == "120"


def command_of(page):
    """The words of the command that recreates a page, without the program's name."""
    shown = re.search(r"To recreate this page:</p>\s*<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]
    return shlex.split(html.unescape(re.sub("<[^>]*>", "", shown)))[1:]


def test_the_command_on_the_page_recreates_it(tmp_path):
    rows = draw_customers()
    for k, row in enumerate(rows[1:]):
        row[1] = f"{900 + 37 * k:,}"  # thousands: read as numbers with --decimal . only
    data, model, output = tmp_path / "my data.csv", tmp_path / "m.lc", tmp_path / "m.html"
    lines = ["\t".join(map(str, row)) for row in rows]
    data.write_text("\n".join(lines).replace("plus", "größer"), encoding="latin-1")
    reading = ["--decimal", ".", "--separator", "\\t", "--encoding", "latin-1"]
    fit = ["fit", data, "-t", "churn", "-m", "naive-bayes", "-o", model, "--seed", "0"]
    ended = run(*fit, "--report", *reading)
    assert ended.code == 0, ended.err
    page = output.read_text(encoding="utf-8")
    words = command_of(page)
    assert words == ["report", str(model), str(data), "-o", str(output), "--force", *reading]
    output.write_text("something else", encoding="utf-8")
    ended = run(*words)
    assert ended.code == 0, ended.err
    assert output.read_text(encoding="utf-8") == page

    ended = run(*words, "--target", "churn", "--title", "Who leaves")
    assert ended.code == 0, ended.err
    page = output.read_text(encoding="utf-8")
    assert command_of(page) == [*words, "--target", "churn", "--title", "Who leaves"]


def test_new_rows_are_noticed(fitted, tmp_path):
    new = write_csv(tmp_path / "new.csv", draw_customers(80, seed=1))
    ended = run("report", fitted(), new, "-o", tmp_path / "page.html", "--json")
    assert "The model has not learned from these rows: it is scored on them as it is." in ended.err
    assert ended.json["quality"]["n_folds"] == 0


def test_without_the_classes_there_are_no_scores(fitted, tmp_path):
    rows = [row[:4] for row in draw_customers(30)]
    ended = run("report", fitted(), write_csv(tmp_path / "x.csv", rows), "-o", tmp_path / "p.html",
                "--json")  # fmt: skip
    assert ended.json["quality"] is None
    assert "has no column 'churn', so there are no scores." in ended.err


@pytest.mark.parametrize("output", ["page.txt", "nowhere/page.html"])
def test_a_wrong_output_is_refused_before_any_work(fitted, customers, tmp_path, output):
    ended = run("report", fitted(), customers, "-o", tmp_path / output)
    assert (ended.code, ended.out) == (1, "")
    assert not (tmp_path / output).exists()


def test_an_unknown_class_is_named(fitted, tmp_path):
    rows = draw_customers(30)
    rows[5][4] = "perhaps"
    data = write_csv(tmp_path / "odd.csv", rows)
    ended = run("report", fitted(), data, "-o", tmp_path / "page.html")
    assert (ended.code, ended.err) == (
        1,
        f"Error: {str(data)!r}, column 'churn' holds 'perhaps', which is not a class of the "
        "model. Its classes are: no, yes.\n",
    )


def test_rows_are_called_by_an_id_column_even_if_the_model_has_it():
    table = pa.table({"age": [31, 32, 33], "day": ["a", "b", "b"], "customer id": [7, 9, 8]})
    found = row_ids(table, [])
    assert (found.name, found.tolist()) == ("customer id", [7, 9, 8])
    assert row_ids(table, ["age"]).name == "age"
    assert row_ids(table.drop_columns(["customer id"]), ["day"]) is None
