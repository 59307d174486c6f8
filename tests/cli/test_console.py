"""What commands say: plain, aligned, once."""

import numpy as np

from latentclass.cli._console import Console, plain, text_table


def test_values_become_plain_json():
    value = {"a": np.float64(0.5), "b": [np.int64(2), float("nan")], 3: (np.array(["x"]), None)}
    assert plain(value) == {"a": 0.5, "b": [2, None], "3": [["x"], None]}


def test_numbers_of_a_table_stand_to_the_right():
    rows = [("a", 1, "12.5 %"), ("bc", 1000, "1.5 %"), ("d", None, "-")]
    assert text_table(("name", "n", "share"), rows) == [
        "name     n   share",
        "a        1  12.5 %",
        "bc    1000   1.5 %",
        "d                -",
    ]


def test_a_warning_is_said_once(capsys):
    console = Console()
    for _ in range(3):
        console.warn("two\nlines")
    assert capsys.readouterr().err == "Warning: two lines\n"


def test_quiet_says_nothing_but_errors(capsys):
    console = Console(quiet=True)
    console.say("something")
    console.warn("something")
    console.error("wrong\x1b[2J")
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", "Error: wrong\\x1b[2J\n")


def test_only_a_terminal_has_a_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    assert Console().width is None
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert Console().width == 72
