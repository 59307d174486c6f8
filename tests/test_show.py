"""Tables as text and as HTML."""

from latentclass._show import html_lines, html_table, text_table


def test_columns_have_one_width_and_all_but_the_first_end_right():
    text = text_table(["name", "n"], [["a", "12"], ["longer", "3"]])
    assert text.splitlines() == ["name     n", "a       12", "longer   3"]


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
