"""`latentclass report`: the page of a model from two files."""

import json
import re

import pytest
from command_runs import draw_customers, run, write_csv

from latentclass import load, report
from latentclass.cli._input import ColumnsByName
from latentclass.tables import open_table


def test_the_page_is_that_of_the_function(fitted, customers, tmp_path):
    output = tmp_path / "page.html"
    ended = run("report", fitted(), customers, "-o", output)
    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[-1] == f"Written to {str(output)!r}."
    model = load(fitted())
    table = open_table(customers, text=["zone"]).read()
    X = ColumnsByName(model.schema_, table.column_names).select(table, 0, "")
    command = f"latentclass report {fitted()} {customers} -o {output}"
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


def test_json_is_the_summary(fitted, customers, tmp_path):
    output = tmp_path / "page.html"
    found = run("report", fitted(), customers, "-o", output, "--json", "--folds", "2").json
    assert (found["output"], found["quality"]["n_folds"]) == (str(output), 2)
    assert found["rows"]["listed"][0]["name"] == "1"  # the first row below the header
    assert "--folds 2" in found["making"]["command"]
    data = re.search(r'id="row-data">(.*?)</script>', output.read_text(encoding="utf-8"))[1]
    assert json.loads(data)["rows"][119][0] == "120"


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
