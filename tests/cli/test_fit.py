"""`latentclass fit`: what it says, writes, refuses and keeps."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_runs import draw_customers, run, write_csv
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss

import latentclass
from latentclass.baselines import NaiveBayes
from latentclass.cli._console import Console
from latentclass.cli._fit import OWN_SCORE, Job, tell_result
from latentclass.cli._held_out import Score, make_folds, score_on_folds
from latentclass.cli._input import option_words


def test_a_fit_says_what_it_read_and_how_well_it_does(customers, tmp_path):
    ended = run("fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert ended.code == 0
    assert ended.out == ""
    lines = ended.err.splitlines()
    assert lines[0] == f"{customers}: CSV, separator ',', UTF-8"
    assert "Held-out scores, 5 folds, the same for all:" in lines
    shown = "\n".join(lines)
    for name in ("this model", "majority guess", "logistic regression", "gradient boosting"):
        assert f"\n{name} " in shown
    assert lines[-1] == f"Model written to {str(tmp_path / 'm.lc')!r}."
    model = latentclass.load(tmp_path / "m.lc")
    assert model.schema_.names == ["income", "visits", "plan", "zone"]
    assert model.classes_.tolist() == ["no", "yes"]


def test_a_file_keeps_what_later_commands_need(customers, tmp_path):
    run("fit", customers, "-t", "churn", "-m", "naive-bayes", "--drop", "zone", "-o",
        tmp_path / "m.lc")  # fmt: skip
    about = latentclass.describe_file(tmp_path / "m.lc").about
    assert {key: about[key] for key in ("target", "source", "rows", "dropped", "seed")} == {
        "target": "churn",
        "source": "customers.csv",
        "rows": 120,
        "dropped": ["zone"],
        "seed": 0,
    }
    assert next(iter(about["held_out"]["scores"])) == "this model"
    assert latentclass.load(tmp_path / "m.lc").schema_.names == ["income", "visits", "plan"]


def test_holes_may_be_evidence(tmp_path):
    header, *rows = draw_customers(200)
    for row in rows[10:]:
        if row[-1] == "yes":
            row[0] = ""
    data = write_csv(tmp_path / "holes.csv", [header, *rows])
    said = run("check", data, "-t", "churn")
    assert "learn from them: --missing-indicator" in said.out
    arguments = ("fit", data, "-t", "churn", "-m", "naive-bayes", "--json")
    blind = run(*arguments, "-o", tmp_path / "blind.lc").json
    aware = run(*arguments, "--missing-indicator", "-o", tmp_path / "aware.lc").json
    losses = [one["held_out"]["scores"]["this model"]["log_loss"] for one in (blind, aware)]
    assert losses[1] < 0.5 * losses[0]
    explained = run("explain", tmp_path / "aware.lc", data, "--row", "12", "--json").json
    found = {one["column"]: one["value"] for one in explained["evidence"]}
    assert found["income is missing"] == ("yes" if rows[11][-1] == "yes" else "no")
    scores = run("predict", tmp_path / "aware.lc", data, "--explain", "1").rows
    assert scores[12][3].startswith(f"income is missing={found['income is missing']} (")
    known = run(
        "predict", tmp_path / "aware.lc", write_csv(tmp_path / "few.csv", [["plan"], ["plus"]])
    )
    assert "lacks 3 columns, which count as missing" in known.err
    assert known.rows[1][1] == "no"  # a column that is not there at all is no evidence


def test_json_on_standard_output(customers, tmp_path):
    ended = run("fit", customers, "-t", "churn", "-m", "tan", "-o", tmp_path / "m.lc", "--json")
    found = ended.json
    assert found["class"] == "TAN"
    assert found["model"] == str(tmp_path / "m.lc")
    assert 0 < found["held_out"]["scores"]["this model"]["log_loss"] < 0.7
    assert ended.out.count("\n") == 1


def test_auto_shows_the_families_and_chooses(customers, tmp_path):
    families = "families=['NaiveBayes', 'TAN']"
    ended = run("fit", customers, "-t", "churn", "--budget", "none", "--set", families, "-o",
                tmp_path / "m.lc")  # fmt: skip
    assert ended.code == 0
    header = f"{'family':10}  log-loss  accuracy  seconds"
    assert f"\n{header}\nNaiveBayes " in ended.err
    assert "candidates were compared on the same 5 folds." in ended.err
    assert "chosen on these rows, so the score of this model is a little too good." in ended.err
    model = latentclass.load(tmp_path / "m.lc")
    assert type(model).__name__ == "AutoLatentClassifier"
    assert model.cv == 5


def test_a_budget_that_ends_as_planned_is_no_failure(customers, tmp_path):
    ended = run("fit", customers, "-t", "churn", "--budget", "0.05s", "-o", tmp_path / "m.lc")
    assert ended.code == 0
    told = (
        r"The budget ended before 1\d of 1\d candidates were tried "
        r"\(([^;]+; ){4}[^;]+ and \d+ more\): give more with --budget\.\n"
    )
    assert re.search(told, ended.err)
    assert latentclass.load(tmp_path / "m.lc").classes_.tolist() == ["no", "yes"]


def test_a_model_is_scored_before_the_others_even_if_its_fit_took_the_whole_budget(
    customers, tmp_path, monkeypatch
):
    clock = run_clock(monkeypatch)
    fit = NaiveBayes.fit

    def slow_once(self, *arguments, **more):
        if clock.now < 10:
            clock.now += 15
        return fit(self, *arguments, **more)

    monkeypatch.setattr(NaiveBayes, "fit", slow_once)
    arguments = ["fit", customers, "-t", "churn", "-m", "naive-bayes", "--budget", "10s"]
    ended = run(*arguments, "-o", tmp_path / "m.lc", "--json")
    assert ended.code == 0
    assert next(iter(ended.json["held_out"]["scores"])) == "this model"
    assert not ended.json["partial"]


def test_a_model_without_a_score_of_its_own_is_partial(customers, tmp_path, monkeypatch):
    clock = run_clock(monkeypatch)
    fit = NaiveBayes.fit

    def slow(self, *arguments, **more):
        clock.now += 15
        return fit(self, *arguments, **more)

    monkeypatch.setattr(NaiveBayes, "fit", slow)
    arguments = ["fit", customers, "-t", "churn", "-m", "naive-bayes", "--budget", "10s"]
    ended = run(*arguments, "-o", tmp_path / "m.lc", "--json")
    assert ended.code == 0
    assert ended.json["partial"]
    said = "This model was not scored: the time was up. Give more with --budget.\n"
    assert said in ended.err
    assert latentclass.load(tmp_path / "m.lc").classes_.tolist() == ["no", "yes"]


def run_clock(monkeypatch):
    """A clock that only the test moves, in place of the one that the budget is measured by."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr("latentclass.cli._fit.time", clock)
    monkeypatch.setattr("latentclass.cli._held_out.time", clock)
    return clock


def test_ctrl_c_keeps_the_best_so_far(customers, tmp_path, monkeypatch):
    from latentclass.discrete._tan import TAN

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TAN, "_fit_model", interrupt)
    ended = run("fit", customers, "-t", "churn", "--set", "families=['NaiveBayes', 'TAN']", "-o",
                tmp_path / "m.lc")  # fmt: skip
    assert ended.code == 130
    assert ended.err.endswith("Interrupted: the model is the best that was finished.\n")
    assert latentclass.load(tmp_path / "m.lc").weights_ == {"NaiveBayes": 1.0}


def test_ctrl_c_before_anything_is_finished_writes_nothing(customers, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(NaiveBayes, "_fit_model", interrupt)
    ended = run("fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.endswith("Interrupted: no file was written.\n")
    assert not (tmp_path / "m.lc").exists()


def test_ctrl_c_during_the_comparison_keeps_the_model(customers, tmp_path, monkeypatch):
    from sklearn.linear_model import LogisticRegression

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(LogisticRegression, "fit", interrupt)
    ended = run("fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert ended.code == 130
    scores = latentclass.describe_file(tmp_path / "m.lc").about["held_out"]["scores"]
    assert list(scores) == ["this model", "majority guess"]


@pytest.mark.parametrize("model", ["naive-bayes", "auto"])
def test_the_same_seed_gives_the_same_bytes(customers, tmp_path, model):
    more = ["--set", "families=['NaiveBayes', 'TAN']", "--budget", "none"] * (model == "auto")
    for name in ("one.lc", "two.lc"):
        path = tmp_path / name
        run("fit", customers, "-t", "churn", "-m", model, "--seed", "3", *more, "-o", path)
    assert (tmp_path / "one.lc").read_bytes() == (tmp_path / "two.lc").read_bytes()


def test_codes_are_text_if_declared_categorical(fitted, tmp_path):
    model = latentclass.load(fitted())
    assert model.schema_.kinds["zone"] == "nominal"
    assert model.schema_.columns[3].categories == ("1", "2", "3")


def test_text_is_numbers_if_declared_continuous(tmp_path):
    rows = draw_customers()
    for row in rows[1:]:
        row[1] = f" {row[1]}" if row[1] != "" else ""
    rows[5][1] = "many"
    path = write_csv(tmp_path / "c.csv", rows)
    arguments = ["fit", path, "-t", "churn", "-m", "naive-bayes", "--continuous", "visits"]
    ended = run(*arguments, "-o", tmp_path / "m.lc")
    assert ended.code == 1
    assert (
        f"Error: {str(path)!r}, column 'visits' is declared continuous, but 'many' in row 5 is "
        "not a number. Correct the cell, or leave it empty. If it means that nothing is known, "
        "pass --missing many.\n"
    ) in ended.err


def test_other_texts_for_missing_cells(tmp_path):
    """The model keeps them for the files of later commands."""
    rows = draw_customers()
    rows[5][1], rows[9][1], rows[7][2] = "-", " -", "no idea"
    path = write_csv(tmp_path / "c.csv", rows)
    options = ["--missing", "-", "--missing", "no idea"]
    ended = run("check", path, "-t", "churn", *options)
    assert "--missing - --missing 'no idea'" in ended.err.splitlines()[-1]
    fit = ["fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    assert run(*fit, *options).code == 0
    columns = {one.name: one for one in latentclass.load(tmp_path / "m.lc").schema_.columns}
    assert columns["visits"].kind == "continuous"
    assert set(columns["plan"].categories) == {"basic", "plus"}
    predict = ["predict", tmp_path / "m.lc", path]
    ended = run(*predict)
    assert ended.code == 0
    rows[5][1] = rows[9][1] = rows[7][2] = ""
    empty = write_csv(tmp_path / "e.csv", rows)
    assert ended.out.splitlines()[0] == run("predict", tmp_path / "m.lc", empty).out.splitlines()[0]
    table = str(tmp_path / "c.parquet")
    latentclass.read_table(empty).to_parquet(table)
    assert run("predict", tmp_path / "m.lc", table).code == 0  # what was noted is for text files
    ended = run("predict", tmp_path / "m.lc", table, "--missing", "-")
    assert "is not a CSV or TSV file: its missing cells are marked" in ended.err


def test_thousands(tmp_path):
    rows = draw_customers()
    for k, row in enumerate(rows[1:]):
        row[1] = f"{900 + 37 * k:,}"
    path = write_csv(tmp_path / "c.csv", rows)
    arguments = ["fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    ended = run(*arguments, "--continuous", "visits")
    assert ended.code == 1
    assert (
        "'1,011' in row 4 is not a number. Write numbers without thousands separators, or pass "
        "--decimal COLUMN=. if all cells of it are numbers like this.\n"
    ) in ended.err
    ended = run(*arguments, "--decimal", ".")
    assert ended.code == 0
    assert "separator ',', thousands ','" in ended.err
    assert latentclass.load(tmp_path / "m.lc").schema_.kinds["visits"] == "continuous"
    # later commands read their files in the same way, unless they are told otherwise
    predict = ["predict", tmp_path / "m.lc", path, "--json"]
    told, plain = run(*predict, "--decimal", "."), run(*predict)
    assert plain.out == told.out
    assert plain.err == told.err
    other = run(*predict, "--decimal", ",")
    assert other.out != told.out


def test_decimal_signs_by_column(tmp_path):
    """One column has 1,028.15 and another 5,4: no sign of the whole file reads both."""
    rows = draw_customers()
    for k, row in enumerate(rows):
        row[:2] = [f"{1000 + 1.15 * k:,.2f}", f"{(k % 50) / 8:.3f}".replace(".", ",")]
    rows[0][:2] = ["income", "visits"]
    path = write_csv(tmp_path / "c.csv", rows)
    checked = run("check", path, "-t", "churn")
    assert "visits holds numbers with a comma as text, such as" in checked.out
    assert "--decimal visits=," in checked.err.splitlines()[-1]
    fit = ["fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    ended = run(*fit, "--decimal", "visits=,")
    assert ended.code == 0
    assert "decimal ',' in 'visits'" in ended.err
    kinds = latentclass.load(tmp_path / "m.lc").schema_.kinds
    assert (kinds["income"], kinds["visits"]) == ("continuous", "continuous")
    words = option_words({"separator": None, "decimal": ("visits=,", "."), "encoding": "utf-8"})
    assert words == ["--decimal", "visits=,", "--decimal", ".", "--encoding", "utf-8"]
    # later commands know it, also where the column is lacking
    predict = ["predict", tmp_path / "m.lc", path, "--json"]
    assert run(*predict).out == run(*predict, "--decimal", "visits=,").out
    fewer = write_csv(tmp_path / "f.csv", [[row[0], *row[2:]] for row in rows])
    assert run("predict", tmp_path / "m.lc", fewer).code == 0
    # a sign of another column leaves them as they are
    assert run(*predict).out == run(*predict, "--decimal", "income=.").out
    # of two signs for a column the last command line has one
    wrong = run("check", path, "-t", "churn", "--decimal", "visits=.").err.splitlines()[-1]
    assert wrong.count("visits=") == 1


def test_files_with_types_have_no_decimal_sign(tmp_path):
    rows = draw_customers()
    for k, row in enumerate(rows[1:]):
        row[1] = f"{(k % 50) / 8:.3f}".replace(".", ",")
    path = str(tmp_path / "c.parquet")
    pd.DataFrame(rows[1:], columns=rows[0]).astype({"income": str}).to_parquet(path)
    ended = run("check", path, "-t", rows[0][-1], "--decimal", ",")
    assert ended.code == 1
    assert "is not a CSV or TSV file, so its numbers have no decimal sign" in ended.err
    ended = run("check", path, "-t", rows[0][-1])
    assert "convert 'visits' to numbers in the file itself" in ended.err
    assert "--decimal" not in ended.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("signs", "reason"),
    [
        (["x"], "'x' must be '.' or ',', or a column with its sign, as in price=,."),
        (["visits=;"], "'visits=;' must be '.' or ',', or a column with its sign"),
        ([".", ","], "there are two signs for the file. Give one."),
        (["visits=.", "visits=,"], "there are two signs for column 'visits'. Give one."),
    ],
)
def test_odd_decimal_signs(signs, reason, customers):
    options = [word for sign in signs for word in ("--decimal", sign)]
    ended = run("check", customers, "-t", "churn", *options)
    assert ended.code == 2
    assert reason in ended.err
    ended = run("check", customers, "-t", "churn", "--decimal", "vist=,")
    assert ended.code == 1
    assert "'visits'" in ended.err


def test_weights(customers, tmp_path):
    rows = draw_customers()
    for k, row in enumerate(rows):
        row.append("weight" if k == 0 else 1 + k % 2)
    path = write_csv(tmp_path / "w.csv", rows)
    ended = run("fit", path, "-t", "churn", "-m", "naive-bayes", "--weights", "weight",
                "--drop", "zone", "-o", tmp_path / "m.lc", "--json")  # fmt: skip
    assert ended.json["weights"] == "weight"
    assert ended.json["dropped"] == ["zone"]
    model = latentclass.load(tmp_path / "m.lc")
    assert model.schema_.names == ["income", "visits", "plan"]
    n_left = sum(row[5] for row in rows[1:] if row[4] == "yes")
    np.testing.assert_allclose(model.class_prior_[1], n_left / 180, rtol=0.02)
    rows[7][5] = -1
    ended = run("fit", write_csv(path, rows), "-t", "churn", "--weights", "weight", "-o",
                tmp_path / "n.lc")  # fmt: skip
    assert ended.code == 1
    assert (
        f"Error: {str(path)!r}, row 7, column 'weight': a weight must be a number that is not "
        "negative. Correct the cell; 0 leaves the row out.\n"
    ) in ended.err


def test_a_class_may_be_called_minus_1(tmp_path):
    rows = draw_customers()
    for row in rows[1:]:
        row[4] = {"yes": -1, "no": 1}[row[4]]
    rows[1][4], rows[2][4] = 0, ""
    rows[3][4] = rows[4][4] = 0
    path = write_csv(tmp_path / "c.csv", rows)
    run("fit", path, "-t", "churn", "-m", "naive-bayes", "--set", "unlabelled_weight=1", "-o",
        tmp_path / "m.lc")  # fmt: skip
    model = latentclass.load(tmp_path / "m.lc")
    assert model.classes_.tolist() == ["-1", "0", "1"]
    assert model.n_unlabelled_ == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-t", "chrn"], 1, "There is no column 'chrn'. Did you mean 'churn'? There are: income, "),
        (["-t", "churn", "--drop", "town"], 1, "There is no column 'town'. There are: "),
        (["-t", "churn", "--categorical", "churn"], 2, "'churn' is the target: its values are "),
        (["-t", "churn", "--categorical", "zone", "--continuous", "zone"], 2,
         "Column 'zone' is declared both categorical and continuous."),
        (["-t", "churn", *(f"--drop={name}" for name in ("income", "visits", "plan", "zone"))], 1,
         "has no column left to learn from. Drop fewer columns."),
    ],
)  # fmt: skip
def test_refusals(customers, tmp_path, arguments, code, message):
    ended = run("fit", customers, *arguments, "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert not (tmp_path / "m.lc").exists()


def test_an_existing_file_is_kept_without_force(customers, tmp_path):
    (tmp_path / "m.lc").write_text("precious")
    arguments = ["fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    ended = run(*arguments)
    assert ended.code == 1
    path = str(tmp_path / "m.lc")
    assert ended.err == (
        f"Error: {path!r} exists. Give another name, or --force to overwrite it.\n"
    )
    assert (tmp_path / "m.lc").read_text() == "precious"
    assert run(*arguments, "--force").code == 0


def test_the_name_of_the_model_follows_the_data(customers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("fit", customers, "-t", "churn", "-m", "naive-bayes")
    assert (tmp_path / "customers.lc").exists()
    ended = run("fit", "-", "-t", "churn", stdin=customers.read_text())
    assert ended.code == 2
    assert "Give -o FILE for a table from standard input." in ended.err


def test_a_table_from_standard_input(customers, tmp_path):
    ended = run("fit", "-", "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc",
                stdin=customers.read_text())  # fmt: skip
    assert ended.code == 0
    assert latentclass.describe_file(tmp_path / "m.lc").about["source"] == "standard input"


# ----------------------------------------------------------------- held-out scores


def test_scores_on_folds_are_those_of_scikit_learn(customers):
    import pyarrow.csv

    table = pyarrow.csv.read_csv(customers)
    y = np.array(table.column("churn").to_pylist())
    X = table.select(["income"])
    folds = make_folds(y, 0)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(120))
    from latentclass.evaluation import TableClassifier

    found = score_on_folds(
        TableClassifier(DummyClassifier(strategy="prior")), X, y, None, folds, end=None
    )
    expected = []
    for train, test in folds:
        share = np.mean(y[train] == "yes")
        expected.append(log_loss(y[test], np.tile([1 - share, share], (len(test), 1))))
    np.testing.assert_allclose(found.log_loss, np.mean(expected), rtol=1e-9)


def test_few_labels_give_no_folds():
    y = np.array(["a", "b", None, None], dtype=object)
    assert make_folds(y, 0) == []
    y = np.array(["a", "a", "b", None], dtype=object)
    assert len(make_folds(y, 0)) == 2


def test_too_few_labels_are_said(tmp_path):
    rows = draw_customers(30)
    for row in rows[3:]:
        row[4] = ""
    rows[1][4], rows[2][4] = "yes", "no"
    path = write_csv(tmp_path / "c.csv", rows)
    ended = run("fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc", "--json")
    assert ended.code == 0
    assert "There are too few labelled rows for held-out scores." in ended.err
    assert "held_out" not in json.loads(ended.out)


def test_what_the_table_check_flags_is_said(tmp_path):
    rows = [[*row[:4], 1000 + k, row[4]] for k, row in enumerate(draw_customers())]
    rows[0] = ["income", "visits", "plan", "zone", "id", "churn"]
    path = write_csv(tmp_path / "c.csv", rows)
    ended = run("fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert "Warning: id looks like an identifier: 120 distinct values in 120 rows." in ended.err
    assert "\nSuggested options: --drop id --categorical zone\n" in ended.err
    ended = run("check", path, "-t", "churn")
    assert "Options: --drop id --categorical zone" in ended.out.splitlines()
    assert ended.err.endswith(
        f"Next: latentclass fit {path} --target churn --drop id --categorical zone\n"
    )
    ended = run("check", path, "-t", "churn", "--decimal", ".")
    assert f" {path} --target churn --decimal . --drop id" in ended.err.splitlines()[-1]
    found = run("check", path, "-t", "churn", "--json").json
    assert found["options"] == ["--drop", "id", "--categorical", "zone"]
    assert run("check", path, "-t", "chur").code == 1


def test_one_class_is_refused_before_any_work(tmp_path):
    rows = draw_customers()
    for row in rows[1:]:
        row[4] = "no"
    rows[1][4] = ""
    path = write_csv(tmp_path / "c.csv", rows)
    ended = run("fit", path, "-t", "churn", "-o", tmp_path / "m.lc")
    assert ended.code == 1
    assert ended.err.splitlines()[1:] == [
        "Error: All labels of 'churn' are 'no'. A model needs at least two classes: add rows of "
        "others, or name another --target."
    ]
    ended = run("check", path, "-t", "churn")
    assert "Cannot be fitted yet: All labels are" in ended.out
    assert ", 1 class (no " in ended.out
    assert "Next:" not in ended.err


def test_many_different_whole_numbers_as_target_are_refused(tmp_path):
    rows = draw_customers()
    for k, row in enumerate(rows[1:]):
        row[4] = 1000 + k
    path = write_csv(tmp_path / "c.csv", rows)
    ended = run("fit", path, "-t", "churn", "-o", tmp_path / "m.lc")
    assert ended.code == 1
    assert "holds 120 different numbers in 120 rows: it looks like a quantity" in ended.err
    assert not (tmp_path / "m.lc").exists()


def test_a_folder_is_no_output(customers, tmp_path):
    ended = run("fit", customers, "-t", "churn", "-o", tmp_path)
    assert ended.code == 1
    assert "is a folder. Give the name of a file in it." in ended.err


def test_a_quantity_as_target_is_refused_with_a_remedy(customers, tmp_path):
    ended = run("fit", customers, "-t", "income", "-o", tmp_path / "m.lc")
    assert ended.code == 1
    first = next(row[0] for row in draw_customers()[1:] if row[0] != "" and row[0] % 1)
    assert ended.err.splitlines()[-1] == (
        f"Error: The target 'income' holds numbers with decimals, such as {first}, but this "
        "library predicts classes. Cut it into a few ranges first, such as low, middle and high, "
        "and give that column as the target."
    )
    assert not (tmp_path / "m.lc").exists()


@pytest.mark.parametrize("reported", [False, True])
def test_the_score_of_the_report_is_announced_with_a_report_only(capsys, reported):
    job = Job(None, None, None, [0], None, {OWN_SCORE: Score(0.5, 0.8, 0.0)})
    tell_result(Console(), SimpleNamespace(why_="Why."), job, reported=reported)
    told = "The score in the report comes from folds that the choice of weights did not see, and"
    assert (f"{told} may be a little worse." in capsys.readouterr().err) is reported


def test_a_report_is_written_beside_the_model(customers, tmp_path, monkeypatch):
    arguments = ["fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    ended = run(*arguments, "--report", "--json", "--drop", "zone", "--drop", "visits")
    assert ended.code == 0
    assert ended.json["report"] == str(tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert "churn" in page
    assert "<p>Columns left out: zone, visits.</p>" in page
    assert f"latentclass report {tmp_path / 'm.lc'}" in page
    assert ended.err.endswith(f"Report written to '{tmp_path / 'm.html'}'.\n")

    (tmp_path / "m.lc").unlink()
    again = run(*arguments, "--report")
    assert again.code == 1
    assert "m.html' exists. Give another name, or --force" in again.err
    assert not (tmp_path / "m.lc").exists()

    def interrupt(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("latentclass.report", interrupt)
    stopped = run(*arguments, "--report", "--force")
    assert stopped.code == 130
    assert stopped.err.endswith("Interrupted: the model is written, the report is not.\n")
    assert (tmp_path / "m.lc").exists()
    assert (tmp_path / "m.html").read_text() == page


def test_no_report_is_written_if_none_is_wanted_or_none_can_be_made(
    customers, tmp_path, monkeypatch
):
    arguments = ["fit", customers, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc"]
    assert run(*arguments, "--no-report", "--json").json["report"] is None
    monkeypatch.setattr("latentclass.reports._report.lacking_packages", lambda: ["jinja2"])
    ended = run(*arguments, "--report", "--force")
    assert ended.code == 0
    assert "No report is written, because it needs jinja2: python -m pip install" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["customers.csv", "m.lc"]


def test_gradient_boosting_is_left_out_with_very_many_classes(tmp_path):
    """It has a tree for each class and round, and one of its fits cannot be stopped."""
    table = tmp_path / "codes.csv"
    rows = [f"{number % 60},k{number % 60}" for number in range(240)]
    table.write_text("x,code\n" + "\n".join(rows) + "\n")
    ended = run(
        "fit", table, "-t", "code", "-m", "naive-bayes", "--no-report", "-o", tmp_path / "c.lc"
    )
    assert ended.code in (0, 3)
    assert "Not compared, for lack of time: gradient boosting." in ended.err
    assert "\nlogistic regression " in ended.err
