"""Tables as text and as HTML."""

import pytest

from latentclass._show import aligned, clean, html_lines, html_table, text_table


def test_columns_have_one_width_and_all_but_the_first_end_right():
    text = text_table(["name", "n"], [["a", "12"], ["longer", "3"]])
    assert text.splitlines() == ["name     n", "a       12", "longer   3"]


def test_the_side_of_each_column_can_be_chosen():
    lines = [["n", "name", "x"], ["12", "a", "1"]]
    assert aligned(lines, [True, False, True]) == [" n  name  x", "12  a     1"]
    assert aligned(lines, [False, False, False]) == ["n   name  x", "12  a     1"]


def test_a_table_without_rows_has_its_heads():
    assert text_table(["name", "n"], []) == "name  n"
    assert html_table(["name"], []) == (
        "<table><thead><tr><th>name</th></tr></thead><tbody></tbody></table>"
    )


def test_all_text_is_escaped():
    html = html_table(["<i>"], [["<b>&"]], caption="<c>", notes="<d>\n\n'e'")
    assert html == (
        "<p>&lt;c&gt;</p>"
        "<table><thead><tr><th>&lt;i&gt;</th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;&amp;</td></tr></tbody></table>"
        "<p>&lt;d&gt;</p><p>&#x27;e&#x27;</p>"
    )
    assert html_lines("") == ""


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain ü 日本", "plain ü 日本"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("\u061cnot\u200bseen\ufeff", "\\u061cnot\\u200bseen\\ufeff"),
        ("half a pair \ud83d", "half a pair \\ud83d"),
    ],
)
def test_nothing_in_a_text_acts_on_a_terminal(text, safe):
    assert clean(text) == safe
