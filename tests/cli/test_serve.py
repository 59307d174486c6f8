"""`latentclass serve` in real processes: what it prints, whom it answers, how it ends."""

import json
import os
import re
import signal
import urllib.request

import numpy as np
import pytest
from command_runs import draw_customers, finish, run, start, write_csv

from latentclass.page import _digits
from latentclass.page._digits import Digits


def ask(address, name, body):
    base, token = address.split("/#")
    headers = {"origin": base, "x-latentclass-token": token, "content-type": "application/json"}
    request = urllib.request.Request(f"{base}/ask/{name}", json.dumps(body).encode(), headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request) as answer:
        return json.load(answer)


def address_of(process):
    line = process.stdout.readline()
    return re.fullmatch(r"Open (http://127\.0\.0\.1:\d+/#[\w-]+)\n", line)[1]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_model_is_served_and_ctrl_c_ends_it(fitted, customers):
    process = start("serve", fitted(), "--data", customers, "--beside", fitted("tan"))
    try:
        address = address_of(process)
        about = ask(address, "about", {})
        assert [one["name"].split(" ")[0] for one in about["models"]] == ["NaiveBayes", "TAN"]
        assert (about["n_rows"], about["target"], about["labelled"]) == (120, "churn", True)
        row = ask(address, "row", {"row": 20})
        assert row["name"] == "21"  # as the other commands count
        income = float(draw_customers()[21][0])
        assert row["cells"][0] == income
        assert len(ask(address, "ask", {"cells": row["cells"]})) == 2
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
    finally:
        process.kill()
    assert (code, "Traceback" in err) == (0, False)


def test_usage_and_files_are_checked_first(fitted, tmp_path):
    ended = run("serve")
    assert (ended.code, ended.err.splitlines()[0]) == (
        2, "Error: Give either a model file or --digits.",
    )  # fmt: skip
    assert run("serve", fitted(), "--digits").code == 2
    ended = run("serve", fitted(), "--data", tmp_path / "nothing.csv")
    assert ended.code == 1
    assert "There is no file" in ended.err
    other = write_csv(tmp_path / "other.csv", [["a"], [1]])
    ended = run("serve", fitted(), "--data", other)
    assert ended.code == 1
    assert "has none of the model's columns" in ended.err


def test_digits_are_learned_once_and_kept(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80).astype(str)
    X = rng.random((80, 16)) < np.where(y == "1", 0.8, 0.2)[:, None]
    few = Digits("few", X, y, np.arange(80) % 2 == 0, (4, 4))
    monkeypatch.setattr(_digits, "load_digits", lambda: few)
    monkeypatch.setenv("LATENTCLASS_CACHE", str(tmp_path))
    said = []
    session = _digits.digits_session(said.append)
    assert said == ["Learning from 40 images of few. This is done once and takes a while."]
    assert session.about({})["n_rows"] == 40  # those that the models have not seen
    assert session.about({})["image"] == {"height": 4, "width": 4}
    again = _digits.digits_session(said.append)
    assert len(said) == 1
    pixels = {"pixels": [1, 0, *[None] * 14]}
    assert again.draw(pixels) == session.draw(pixels)
    next(tmp_path.glob("*.lc")).write_bytes(b"damaged")
    _digits.digits_session(said.append)
    assert len(said) == 2


def test_the_digits_of_scikit_learn_stand_in(monkeypatch):
    monkeypatch.delenv("LATENTCLASS_DATA", raising=False)
    digits = _digits.load_digits()
    assert (digits.name, digits.X.shape, digits.shape) == ("digits", (1797, 64), (8, 8))
    assert set(digits.y) == set("0123456789")
