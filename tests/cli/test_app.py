"""The program as a whole: help, exit codes, streams, signals. Some of it in real processes."""

import signal
import subprocess
import sys
import time

import pytest
from command_runs import draw_customers, finish, run, start, write_csv

import latentclass
from latentclass.cli._app import HOMES, app


@pytest.mark.parametrize("name", HOMES)
def test_every_command_has_help_and_the_common_options(name):
    ended = run(name, "--help")
    assert ended.code == 0
    for option in ("--json", "--quiet", "--no-color", "--debug"):
        assert option in ended.out
    assert app.get_command(None, name).help.splitlines()[0] == HOMES[name][1]


def test_help_and_version():
    ended = run("--help")
    assert all(f"\n  {name} " in ended.out for name in HOMES)
    assert run("--version").out == f"latentclass {latentclass.__version__}\n"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom latentclass.cli import main\nsys.argv = ['latentclass', '--help']\n"
        "try:\n    main()\nfinally:\n"
        "    heavy = {'numpy', 'sklearn', 'pandas', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "    assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_no_command_shows_the_help():
    ended = run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Usage: latentclass [OPTIONS] COMMAND")
    assert "Error" not in ended.err
    assert "See:" not in ended.err


def test_an_unknown_command_gets_a_hint():
    ended = run("prdict")
    assert ended.code == 2
    assert ended.err.startswith("Error: There is no command 'prdict'. Did you mean 'predict'?")


def test_a_fault_of_ours_says_so_and_debug_shows_where(fitted, customers, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr("latentclass.cli._predict.predicted", fail)
    ended = run("predict", fitted(), customers)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "Error: ZeroDivisionError: nothing to divide by. This is a fault in latentclass: please "
        "report it with what --debug prints.\n"
    )
    ended = run("predict", fitted(), customers, "--debug")
    assert "Traceback (most recent call last)" in ended.err


def test_library_warnings_are_plain_lines(tmp_path):
    rows = [[*row, ""] for row in draw_customers()]
    rows[0][-1] = "empty"
    path = write_csv(tmp_path / "c.csv", rows)
    ended = run("fit", path, "-t", "churn", "-m", "naive-bayes", "-o", tmp_path / "m.lc")
    assert "Warning: Columns ['empty'] have no value in any row: they are ignored" in ended.err
    assert ended.err.count("have no value in any row") == 1
    assert ".py:" not in ended.err


def test_colours_only_on_a_terminal_and_unless_unwanted():
    assert "\x1b" not in run("info", "nowhere.lc").err


def test_streams_of_a_real_process(fitted, customers):
    code, out, err = finish(start("predict", fitted(), customers, "--quiet"))
    assert code == 0
    assert out == run("predict", fitted(), customers).out
    assert err == ""
    code, out, err = finish(start("predict", fitted(), "nowhere.csv"))
    assert (code, out) == (1, "")
    assert err == "Error: There is no file 'nowhere.csv'. Check its name and the folder.\n"


def test_a_reader_that_has_seen_enough(fitted, tmp_path):
    path = write_csv(tmp_path / "long.csv", draw_customers(70_000))
    process = start("predict", fitted(), path, "--quiet")
    assert process.stdout.readline() == "row,prediction,probability\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=300) == 0


def wait_for(condition, process):
    """Wait for an event in another process, for as long as it runs."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def parts(folder):
    return list(folder.glob("*.part"))


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_prediction_leaves_nothing_half_written(fitted, tmp_path, sent, code):
    folder = tmp_path / "out"
    folder.mkdir()
    path = write_csv(tmp_path / "long.csv", draw_customers(400_000))
    process = start("predict", fitted(), path, "-o", folder / "scores.csv", "--explain", "3")
    wait_for(lambda: parts(folder), process)
    process.send_signal(sent)
    found, out, err = finish(process)
    assert (found, out) == (code, "")
    assert not (folder / "scores.csv").exists()
    if sent != signal.SIGKILL:
        assert list(folder.iterdir()) == []
        assert "Traceback" not in err
    if sent == signal.SIGINT:
        assert err.endswith("Interrupted: no file was written.\n")


def test_ctrl_c_in_a_real_fit_keeps_the_best_so_far(tmp_path):
    path = write_csv(tmp_path / "c.csv", draw_customers(2000))
    process = start("fit", path, "-t", "churn", "-o", tmp_path / "m.lc", "--budget", "none")
    told = ""
    while not told.startswith("TAN"):
        told = process.stderr.readline()
        assert told or process.poll() is None
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.endswith("Interrupted: the model is the best that was finished.\n")
    assert {"NaiveBayes", "AODE", "TAN"} >= set(latentclass.load(tmp_path / "m.lc").weights_)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_stopped_fit_leaves_the_old_model(tmp_path, sent, code):
    path = write_csv(tmp_path / "c.csv", draw_customers(2000))
    (tmp_path / "m.lc").write_bytes(b"old")
    endless = ("n_components=2", "estimator=None", "search=era", "tol=0", "max_iter=100000000")
    settings = [word for one in endless for word in ("--set", one)]
    process = start("fit", path, "-t", "churn", "-m", "lvc", "-o", tmp_path / "m.lc", "--force",
                    *settings)  # fmt: skip
    while not process.stderr.readline().startswith("fitting lvc: "):
        assert process.poll() is None
    process.send_signal(sent)
    found, out, err = finish(process)
    assert (found, out) == (code, "")
    assert (tmp_path / "m.lc").read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["c.csv", "m.lc"]
    if sent == signal.SIGINT:
        assert err.endswith("Interrupted: no file was written.\n")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_stopped_comparison_continues_from_its_store(tmp_path, sent, code):
    path, store = write_csv(tmp_path / "c.csv", draw_customers(300)), tmp_path / "store.jsonl"
    command = ("compare", path, "-t", "churn", "--folds", "3", "--store", store, "--models")
    process = start(*command, "naive-bayes,binary-lcm-cv")
    wait_for(lambda: store.exists() and store.read_bytes().count(b"\n") >= 2, process)
    process.send_signal(sent)
    found, out, err = finish(process)
    assert (found, out) == (code, "")
    if sent == signal.SIGINT:
        told = f"Interrupted: what was finished is in {str(store)!r}: the same command continues "
        assert err.endswith(f"{told}from there.\n")
    kept = sum(b'"naive-bayes"' in line for line in store.read_bytes().splitlines())
    again = run(*command, "naive-bayes", "--json")
    assert again.code == 0
    assert len(again.json["results"]) == 3
    assert kept > 0
    assert again.json["computed"] == 3 - kept
