"""What commands say: escaped, plain, aligned."""

import numpy as np
import pytest

from latentclass.cli._console import Console, clean, plain, text_table


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain ü 日本", "plain ü 日本"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
    ],
)
def test_nothing_in_a_text_acts_on_a_terminal(text, safe):
    assert clean(text) == safe


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
