"""Numbers with a mark between thousands."""

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latentclass import read_table
from latentclass.exceptions import TableWarning
from latentclass.tables import open_table
from latentclass.tables._kinds import join_kinds, kind_of


def read_text(text, **options):
    return read_table(io.StringIO(text), container="pyarrow", **options)


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ('a,b\n"1,357.46",x\n330.62,y\n"-1,234,567",x\n"2,000",y\n7,x\n,x\n',
         [1357.46, 330.62, -1234567, 2000, 7, None], "separator ',', thousands ',', UTF-8"),
        ("a;b\n1.357,46;x\n330,62;y\n1.234.567;x\n2.000;y\n7;x\n",
         [1357.46, 330.62, 1234567, 2000, 7],
         "separator ';', decimal comma, thousands '.', UTF-8"),
        ("a;b\n1,357.46;x\n2,000;y\n", [1357.46, 2000], "separator ';', thousands ',', UTF-8"),
        ("a;b\n330.62;x\n2,000;y\n", [330.62, 2000], "separator ';', thousands ',', UTF-8"),
        ("a;b\n330,62;x\n2.000;y\n", [330.62, 2000],
         "separator ';', decimal comma, thousands '.', UTF-8"),
    ],
)  # fmt: skip
def test_thousands(text, expected, found):
    for n_rows in (1, 2, 100):
        file = open_table(io.StringIO(text))
        chunks = pa.concat_tables(file.read_chunks(n_rows))
        assert chunks["a"].to_pylist() == expected
    assert file.read()["a"].to_pylist() == expected
    assert file.describe().endswith(found)


@pytest.mark.parametrize(
    "cells",
    [
        ["1,357.46", "12,34.5"],  # groups of three digits only
        ["1,357.46", "1.357,46"],
        ["1,357.46", "3,5"],
        ["1.357,46", "3.5"],
        ["0,357.46", "1,000.5"],
        ["1,357.46", "007"],
        ["1,357.46", "x"],
        ["101,102", "103,104,105"],  # may be lists of codes
        ["1.234", "1,234"],
        ["192.168.100.200"],
    ],
)
def test_other_commas_and_points_stay_text(cells):
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    assert read_text(text)["a"].to_pylist() == cells


def test_columns_may_have_decimal_marks_of_their_own():
    text = 'a,b,c\n"1,028.15","5,4",1.5\n"12.5","6,25",2\n'
    assert [str(one) for one in read_text(text).schema.types] == ["double", "string", "double"]
    table = read_text(text, decimal={"b": ","})
    assert table.to_pydict() == {"a": [1028.15, 12.5], "b": [5.4, 6.25], "c": [1.5, 2.0]}
    semicolons = "a;b\n1,5;1.234\n2,5;2.345\n"
    assert read_text(semicolons)["b"].to_pylist() == [1.234, 2.345]
    own = read_text(semicolons, decimal={"b": ",", "": ","})
    assert own.to_pydict() == {"a": [1.5, 2.5], "b": [1234, 2345]}
    # a column with a mark of its own does not decide about the others
    assert read_text("a;b\n1,5;1.25\n", decimal={"b": "."})["a"].to_pylist() == [1.5]
    with pytest.raises(
        ValueError, match="decimal names 'z', which is not among the columns read from"
    ):
        read_table(io.StringIO(text), decimal={"z": ","})
    with pytest.raises(ValueError, match=r'decimal must be "\." or ",", got'):
        read_table(io.StringIO(text), decimal={"b": "x"})


def test_a_given_decimal_mark_settles_thousands():
    text = 'a,b\n"12,345",1.5\n"1,234,567",2.5\n'
    assert read_text(text)["a"].to_pylist() == ["12,345", "1,234,567"]
    assert read_text(text, decimal=".")["a"].to_pylist() == [12345, 1234567]
    assert read_text("a;b\n1.234;x\n1.234.567;x\n", decimal=",")["a"].to_pylist() == [1234, 1234567]


@given(st.lists(st.sampled_from(
    ["1", "12", "1.5", "1.234", "1,5", "1,234", "1,234,567", "1.234.567", "1,234.5", "1.234,5",
     "x", "007", ""]), min_size=1, max_size=6), st.integers(1, 5))  # fmt: skip
def test_numbers_with_marks_are_read_alike_in_chunks(cells, n_rows):
    cells = pa.array([cell or None for cell in cells], pa.string())
    parts = [kind_of(cells.slice(i, n_rows)) for i in range(0, len(cells), n_rows)]
    assert join_kinds(parts) == kind_of(cells)


@pytest.mark.parametrize(
    ("text", "options"),
    [("a;b\n1,173;x\n662;y\n;z\n", {}), ('a,b\n"1,173",x\n662,y\n', {"decimal": ","})],
)
def test_decimal_commas_that_look_like_thousands_are_told(text, options):
    with pytest.warns(TableWarning, match=r"^a: 1,173 was read as 1\.173, but every comma"):
        table = read_text(text, **options)
    assert table["a"].to_pylist()[:2] == [1.173, 662]


@pytest.mark.parametrize("text", ["a;b\n1,173;x\n2,662;y\n", "a;b\n1,173;x\n0,662;y\n3;z\n"])
def test_columns_of_three_decimals_are_not_told(text):
    assert read_text(text)["a"].to_pylist()[0] == 1.173
