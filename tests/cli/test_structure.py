"""`info`, `rules`, `groups`, `export`, `datasets`, `compare`, `warmup`, `demo`."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
from command_runs import read_csv, run

import latentclass
from latentclass.cli._console import Console


def test_info(fitted):
    ended = run("info", fitted())
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].startswith("NaiveBayes(")
    assert "target: churn" in lines
    assert "rows: 120" in lines
    assert any(line.startswith("  majority guess") for line in lines)
    found = run("info", fitted(), "--json").json
    assert found["models"][""]["classes"] == ["no", "yes"]
    assert found["about"]["target"] == "churn"


def test_info_loads_no_scikit_learn(fitted):
    code = (
        "import sys\n"
        "from latentclass.cli import main\n"
        f"sys.argv = ['latentclass', 'info', {os.fspath(fitted())!r}]\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'sklearn', 'scipy', 'pandas', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "    assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_rules(fitted, tmp_path):
    path = fitted("hnb")
    ended = run("rules", path, "--json")
    model = latentclass.load(path)
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [one["rule"] for one in found] == model.rules()["rule"].tolist()
    shown = run("rules", path).out.splitlines()
    assert shown[0].split() == ["latent", "state", "support", "P(no)", "P(yes)", "rule"]
    rules = [one[shown[0].index("rule") :] for one in shown[1:]]
    assert rules == [rule for rule in model.rules(100)["rule"] if rule != "always"]
    alone = [name for name in model.selected_features_ if name in model.top_variables_]
    told = run("rules", path).err
    assert told == (f"Used without a rule: {', '.join(alone)}.\n" if alone else "")
    ended = run("rules", fitted())
    assert ended.err == (
        f"Error: {str(fitted())!r} (NaiveBayes) has no rules. Fit one that does: --model hnb.\n"
    )


def test_long_rules_are_wrapped_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(Console, "width", 60)
    rule = " and ".join(f"column{k} = {k}" for k in range(6))
    Console().show_table(["latent", "rule"], [["L1", "a = 0"], ["L2", rule]], wrap=True)
    first, short, *long = capsys.readouterr().out.splitlines()
    assert (first, short) == ("latent  rule", "L1      a = 0")
    assert all(len(line) <= 60 for line in long)
    assert all(line.startswith("        ") for line in long[1:])
    assert " ".join(line[8:] for line in long) == rule
    Console().show_table(["latent", "rule"], [["L2", rule]])
    assert rule in capsys.readouterr().out


def test_groups_of_latent_trees_are_told_in_words_on_the_screen(tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.random(400) < 0.4
    cells = {name: np.where(hidden ^ (rng.random(400) < 0.1), "yes", "no") for name in "abcd"}
    X = pd.DataFrame(cells).assign(size=np.where(hidden, 8.0, 2.0) + rng.normal(size=400))
    model = latentclass.LatentTreeClassifier(search="fast", random_state=0)
    latentclass.save(model.fit(X, np.arange(400) % 2), tmp_path / "m.lc")
    frame = model.latent_groups(1, top=3)
    header, *lines = run("groups", tmp_path / "m.lc", "--class", "1").out.splitlines()
    assert header.split() == ["latent", "group", "size", "known", "by"]
    assert len(lines) == len(frame[["latent", "group"]].drop_duplicates()) >= 2
    first = frame[(frame["latent"] == frame["latent"].iloc[0]) & (frame["group"] == 0)]
    assert f"{first['size'].iloc[0]:.3f}" in lines[0]
    for column in first["column"].unique():
        assert f"{column} {'' if column == 'size' else 'is '}" in lines[0]


def test_groups_of_latent_trees(fitted, tmp_path):
    path = fitted("latent-tree", "--set", "search=fast")
    ended = run("groups", path, "--class", "yes", "-o", tmp_path / "g.csv")
    assert ended.code == 0
    header, *rows = read_csv(tmp_path / "g.csv")
    assert header[0] == "latent"
    assert "probability" in header
    model = latentclass.load(path)
    frame = model.latent_groups("yes", top=3)
    assert len(rows) == len(frame)
    column, level = header.index("column"), header.index("level")
    found = list(dict.fromkeys(row[level] for row in rows if row[column] == "income"))
    bounds = [f"{cut:.6g}" for cut in model.cut_points_["income"]]
    inner = [f"{low} to {high}" for low, high in pairwise(bounds)]
    assert found == [f"at most {bounds[0]}", *inner, f"above {bounds[-1]}"]
    assert {row[level] for row in rows if row[column] == "plan"} <= {"basic", "plus"}


def test_groups_of_latent_trees_that_found_none(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["u", "v"], 80), "b": rng.choice(["u", "v"], 80)})
    model = latentclass.LatentTreeClassifier(random_state=0).fit(X, np.arange(80) % 2)
    latentclass.save(model, tmp_path / "m.lc")
    assert set(model.latent_groups()["group"]) == {0}
    assert run("groups", tmp_path / "m.lc").err == (
        "No groups were found within a class: given the class, the columns look independent.\n"
    )


def test_groups_of_components(fitted, mixture):
    found = [json.loads(line) for line in run("groups", mixture, "--json").out.splitlines()]
    assert {one["about"] for one in found} == {"mean of x0"}
    assert sorted(round(one["value"]) for one in found) == [0, 5]
    settings = ["--set", "estimator=none", "--set", "n_components=2", "--set", "n_init=1"]
    ended = run("groups", fitted("lvc", *settings))
    assert ended.code == 0
    assert "P(class yes)" in ended.out
    assert "mean of income" in ended.out
    assert "P(plan = basic)" in ended.out
    assert ended.err == ""
    settings[3] = "n_components=1"
    ended = run("groups", fitted("lvc", *settings))
    assert ended.err == (
        "The model has one component, so these are the values of all rows together. To see groups, "
        "fit it with --set n_components=2.\n"
    )


def test_groups_of_a_hierarchy(fitted):
    ended = run("groups", fitted("hnb"), "--json")
    assert ended.code == 0
    model = latentclass.load(fitted("hnb"))
    found = [json.loads(line)["latent"] for line in ended.out.splitlines()]
    assert found == list(model.latent_children_)


def test_export(fitted, tmp_path):
    path = fitted("tan")
    ended = run("export", path, "--bif")
    assert ended.out.startswith("network ")
    run("export", path, "--bif", "-o", tmp_path / "net.bif")
    assert (tmp_path / "net.bif").read_text() == ended.out
    assert run("export", path).code == 2
    ended = run("export", fitted(), "--bif")
    assert ended.err == (
        f"Error: {str(fitted())!r} (NaiveBayes) has columns of numbers, such as 'income', "
        "which BIF cannot hold. Fit a model that cuts them into bins: --model tan, ban, k2 or "
        "hnb.\n"
    )
    tree = fitted("latent-tree", "--set", "search=fast")
    ended = run("export", tree, "--bif")
    assert (
        ended.err == "Error: A latent tree has one network per class: give --class, of no, yes.\n"
    )
    assert run("export", tree, "--bif", "--class", "yes").out.startswith("network ")


def test_datasets(tmp_path):
    found = run("datasets", "--json").json
    assert "iris" in [one["name"] for one in found]
    assert run("datasets", "--paper", "lvc").out.splitlines()[0].split()[:2] == ["name", "rows"]
    run("datasets", "iris", "-o", tmp_path / "iris.csv")
    rows = read_csv(tmp_path / "iris.csv")
    assert (len(rows), rows[0][-1], rows[1][-1]) == (151, "class", "Iris-setosa")
    assert run("datasets", "-o", tmp_path / "all.csv").code == 2
    assert run("datasets", "irs").code == 1


def test_compare_continues_from_its_store(customers, tmp_path):
    arguments = ["compare", customers, "iris", "-t", "churn", "--folds", "2", "--models",
                 "naive-bayes,majority", "--store", tmp_path / "s.jsonl"]  # fmt: skip
    first = run(*arguments, "--json")
    assert (first.code, first.json["computed"]) == (0, 8)
    again = run(*arguments, "--json")
    assert again.json["computed"] == 0
    assert again.json["results"] == first.json["results"]
    text = run(*arguments).out
    assert "customers" in text
    assert "majority" in text


def test_compare_keeps_what_was_finished_on_ctrl_c(customers, tmp_path, monkeypatch):
    from latentclass.discrete._tan import TAN

    def interrupt(*_):
        raise KeyboardInterrupt

    arguments = ["compare", customers, "-t", "churn", "--folds", "2", "--models",
                 "naive-bayes,tan", "--store", tmp_path / "s.jsonl"]  # fmt: skip
    monkeypatch.setattr(TAN, "_fit_model", interrupt)
    ended = run(*arguments)
    path = str(tmp_path / "s.jsonl")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == (
        f"Interrupted: what was finished is in {path!r}: the same command continues from there.\n"
    )
    monkeypatch.undo()
    assert run(*arguments, "--json").json["computed"] == 3


def test_compare_refusals(customers):
    assert "Give --target COLUMN for the file" in run("compare", customers).err
    ended = run("compare", "iris", "--models", "naive-bayes,forest")
    assert ended.code == 2
    assert "There is no model 'forest'." in ended.err


def test_warmup():
    ended = run("warmup", "naive-bayes", "tan", "--json")
    assert ended.code == 0
    assert list(ended.json["seconds"]) == ["naive-bayes", "tan"]


def test_demo():
    ended = run("demo")
    assert ended.code == 0
    assert ended.out.startswith("Wine: 178 rows, 13 columns, one of them text; ")
    assert "The most unusual rows: " in ended.out
