"""`explain`, `complete`, `sample`, `anomalies`: what a model says about rows."""

import json

import numpy as np
import pytest
from command_runs import draw_customers, read_csv, run, write_csv

import latentclass


@pytest.fixture
def new(tmp_path):
    return write_csv(tmp_path / "new.csv", draw_customers(30, seed=1))


def test_explain_counts_rows_from_1(fitted, new):
    ended = run("explain", fitted(), new, "--row", "12", "--row", "2", "--top", "2", "--json")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [one["row"] for one in found] == [2, 12]
    rows = read_csv(new)
    for one in found:
        assert len(one["evidence"]) == 2
        for cell in one["evidence"]:
            written = rows[one["row"]][rows[0].index(cell["column"])]
            assert str(cell["value"]) == written or float(cell["value"]) == float(written)


def test_explain_in_words(fitted, new):
    ended = run("explain", fitted(), new, "--row", "20")
    first, header, *cells = ended.out.splitlines()
    assert first.startswith("row 20: ")
    assert header.split() == ["column", "value", "weight", "of", "evidence"]
    assert 1 <= len(cells) <= 4
    ended = run("explain", fitted(), new, "--row", "31")
    assert ended.err == (
        f"Error: {str(new)!r} has 30 rows, so there is no row 31. Pass --row with a number from 1 "
        "to 30.\n"
    )
    assert run("explain", fitted(), new, "--row", "0").code == 2


def test_explain_says_which_category_of_the_row_is_unseen(fitted, new, tmp_path):
    rows = read_csv(new)
    rows[2][2], rows[3][2] = "gold", "silver"
    odd = write_csv(tmp_path / "odd.csv", rows)
    ended = run("explain", fitted(), odd, "--row", "2")
    assert ended.err == (
        "Warning: plan: 1 cell holds 'gold', which the model has not seen; it counts as missing.\n"
    )


def test_complete_fills_every_hole_and_nothing_else(fitted, new, tmp_path):
    ended = run("complete", fitted(), new, "-o", tmp_path / "full.csv", "--json")
    before, after = read_csv(new), read_csv(tmp_path / "full.csv")
    n_holes = sum(cell == "" for row in before for cell in row)
    assert n_holes > 0
    assert ended.json == {"rows": 30, "cells": n_holes, "output": str(tmp_path / "full.csv")}
    assert before[0] == after[0]
    for old, full in zip(before[1:], after[1:], strict=True):
        assert "" not in full
        for one, other in zip(old, full, strict=True):
            assert one in ("", other)


def test_complete_adds_a_lacking_column(fitted, new):
    ended = run(
        "complete", fitted(), "-", stdin="\n".join(",".join(row[1:4]) for row in read_csv(new))
    )
    assert ended.rows[0] == ["visits", "plan", "zone", "income"]
    assert "lacks a column, which counts as missing: 'income'." in ended.err


def test_sample(fitted):
    ended = run("sample", fitted(), "-n", "200", "--seed", "5")
    assert ended.rows[0] == ["income", "visits", "plan", "zone", "churn"]
    assert len(ended.rows) == 201
    assert {row[2] for row in ended.rows[1:]} == {"basic", "plus"}
    assert run("sample", fitted(), "-n", "200", "--seed", "5") == ended
    assert run("sample", fitted(), "-n", "200", "--seed", "6").out != ended.out
    only = run("sample", fitted(), "-n", "20", "--class", "yes")
    assert {row[4] for row in only.rows[1:]} == {"yes"}
    ended = run("sample", fitted(), "--class", "yess")
    assert ended.err == (
        "Error: There is no class 'yess'. Did you mean 'yes'? There are: no, yes.\n"
    )


def test_sample_of_models_from_python(mixture, tmp_path):
    assert run("sample", mixture, "-n", "3").rows[0] == ["x0", "component"]
    rng = np.random.default_rng(0)
    model = latentclass.baselines.NaiveBayes().fit(rng.normal(size=(20, 2)), [0, 1] * 10)
    latentclass.save(model, tmp_path / "plain.lc")
    assert run("sample", tmp_path / "plain.lc", "-n", "3").rows[0] == ["x0", "x1", "class"]


def test_the_strangest_row_comes_first(fitted, tmp_path):
    rows = draw_customers(60, seed=1)
    rows[17][0] = 900
    path = write_csv(tmp_path / "odd.csv", rows)
    ended = run("anomalies", fitted(), path, "--top", "3", "--json")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert len(found) == 3
    assert found[0]["row"] == 17
    assert found[0]["income"] == "900"
    assert found[0]["unusual"] <= found[1]["unusual"] <= found[2]["unusual"]
    assert run("anomalies", fitted(), path, "--top", "3").out.splitlines()[0].split()[:3] == [
        "row", "unusual", "log_density",
    ]  # fmt: skip
    ended = run("predict", fitted(), path, "--unusual")
    assert ended.rows[0] == ["row", "prediction", "probability", "log_density", "unusual"]
    assert float(ended.rows[17][4]) < 0.01
