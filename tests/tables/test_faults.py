"""Every fault of a file is one sentence with its line and what to do."""

import gzip
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from damaged_tables import DAMAGES, damaged_files
from hypothesis import given
from hypothesis import strategies as st

import latentclass
from latentclass import read_table
from latentclass.exceptions import TableFileError
from latentclass.tables import open_table

RAGGED = (
    "{} instead of {}, which is the number of names in line 1. Correct the line, put quotes around "
    "cells that contain the separator, or name a separator other than ','."
)
LIKE_DATA = "this line looks like data, not like names of columns ({}). Write a line with the "
LIKE_DATA += "names above it."
NO_ROWS = (
    "there are names of columns, but no rows below them. Export the table again, or check the name "
    "of the file."
)
EMPTY = "the file is empty. Export it again, or check its name."
BINARY = "this is not a text file. Save the table as CSV or Parquet, or check the name of the file."
ENCODING = "Name the encoding, for example latin-1, or save the file as UTF-8."


def fault_of(data, name="x.csv", **options):
    """The message about a file of this name, by `read` and by `read_chunks`."""
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(TableFileError) as caught:
        open_table(name, **options).read()
    with pytest.raises(TableFileError, match=f"^{re.escape(str(caught.value))}$"):
        list(open_table(name, **options).read_chunks(2))
    return str(caught.value)


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"x.csv: {EMPTY}"),
        (" \n\n", f"x.csv: {EMPTY}"),
        ("\ufeff", f"x.csv: {EMPTY}"),
        ("a,b\n", f"x.csv: {NO_ROWS}"),
        ("a,b\n\n\n", f"x.csv: {NO_ROWS}"),
        (",\n1,2\n", "x.csv, line 1: the first line has no names. Write the names of the "
         "columns there."),
        ("a,b\n1,2\n3\n", "x.csv, line 3: " + RAGGED.format("1 cell", 2)),
        ('a,b\n"1\n2",3\n\n4,5,6\n', "x.csv, line 5: " + RAGGED.format("3 cells", 2)),
        ("My table\na,b,c\n1,2,3\n4,5,6\n", "x.csv, line 2: " + RAGGED.format("3 cells", 1)),
        ("a,b,a\n1,2,3\n", "x.csv, line 1: columns 1 and 3 are both called 'a'. Rename one of "
         "them."),
        ("5.1,3.5,x\n4.9,3,x\n", "x.csv, line 1: " + LIKE_DATA.format("'5.1'")),
        ("3,1,x\n4,3,x\n", "x.csv, line 1: " + LIKE_DATA.format("'3'")),
        ("a,?,x\nb,c,x\n", "x.csv, line 1: " + LIKE_DATA.format("'?'")),
        ("p,x,s\np,x,f\nq,x,s\np,y,s\n", "x.csv, line 1: " + LIKE_DATA.format("'p'")),
        ("a,b\n1,\0\n", "x.csv, line 2: the line holds a NUL byte. Remove it, or save the file "
         "anew."),
        ('a,b\n1,2\n3,"x\n5,6\n', 'x.csv, line 3: a quote (") opens here and is never closed. '
         "Close or remove it."),
        ('a,b\n1,2\n3,"x"y"\n5,6\n', "x.csv, line 3: text follows a closing quote. Write a quote "
         "inside a cell as two quotes."),
        ("a,b\n1," + "x" * 5_000_000, "x.csv, line 2: the line is longer than 4 MB. Line breaks "
         "are missing, or this is not a table."),
    ],
)  # fmt: skip
def test_text(text, expected):
    assert fault_of(text) == expected
    assert fault_of(gzip.compress(text.encode()), "x.csv.gz") == expected.replace(
        "x.csv", "x.csv.gz"
    )


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        (b"a,b\nx,\xe9\n", {"encoding": "utf-8"},
         f"x.csv, line 2: byte 0xe9 is not UTF-8. {ENCODING}"),
        (b"a,b\nx,\x81\n", {},
         f"x.csv, line 2: byte 0x81 is not UTF-8 or Windows-1252. {ENCODING}"),
        ("a,b\nx,é\n".encode() + b"x,\xe9\n", {},
         f"x.csv, line 3: byte 0xe9 is not UTF-8, as the lines above it are. {ENCODING}"),
        ("a,b\nx,é\n".encode(), {"encoding": "ascii"},
         f"x.csv, line 2: byte 0xc3 is not ascii. {ENCODING}"),
        ("a,b\nx,y\n".encode("utf-16-le"), {},
         "x.csv, line 1: every second byte is NUL. If it is text, name its encoding: utf-16-le."),
        ("a,b\nx,y\n".encode("utf-16-be"), {},
         "x.csv, line 1: every second byte is NUL. If it is text, name its encoding: utf-16-be."),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0\x01\0\0\0" * 9, {},
         f"x.csv: {BINARY}"),
        (b"name\0\x01\x02\x03 of a record\0\x04\x05\n" * 20, {}, f"x.csv: {BINARY}"),
        (b"a,b\n1,2\n", {"encoding": "klingon"},
         "x.csv: the encoding 'klingon' is not known. Name one such as utf-8 or cp1252."),
        (b"a,b\n1,2\n", {"encoding": "rot13"},
         "x.csv: the encoding 'rot13' is not known. Name one such as utf-8 or cp1252."),
        (b"PAR1\0\0\0", {}, "x.csv: this is a Parquet file. Give it the ending .parquet."),
        (b"ARROW1\0\0", {}, "x.csv: this is an Arrow file. Give it the ending .feather."),
        (b"PK\x03\x04123", {},
         "x.csv: this is a zip archive or a spreadsheet. Unpack it, or save it as CSV."),
        (b"a,b\n1,2\n", {"columns": ["c"]},
         "x.csv: there is no column 'c'. Its columns are 'a', 'b'."),
    ],
)  # fmt: skip
def test_bytes(data, options, expected):
    assert fault_of(data, **options) == expected


ARFF = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@relation r\n@attribute a numeric\n",
         "x.arff: there is no line @data. The file is cut off, or it is not ARFF."),
        ("@relation r\n@data\n1\n", "x.arff, line 2: there is no @attribute above @data."),
        ("a,b\n1,2\n", "x.arff, line 1: 'a,b' is not @relation, @attribute or @data. Correct the "
         "line, or give the file the ending .csv if it has no such lines."),
        ("@attribute\n@data\n",
         "x.arff, line 1: '@attribute' lacks a name or type. Correct it."),
        ("@attribute a relational\n@data\n", "x.arff, line 1: attribute 'a' has the type "
         "'relational', but only numeric, {...}, string and date can be read."),
        ("@attribute a real\n@attribute a real\n@data\n",
         "x.arff, line 2: two attributes are called 'a'. Rename one."),
        (ARFF, "x.arff: there are no rows below @data. Export the file again, or check its "
         "name."),
        (ARFF + "1,x\n2\n", "x.arff, line 6: 1 cell instead of 2, which is the number of "
         "attributes. Correct the line."),
        (ARFF + "{0 1}\n", "x.arff, line 5: rows in braces (sparse ARFF) cannot be read. Write "
         "every cell."),
        (ARFF + "1,x\n2,'x\n", "x.arff, line 6: a quote is not closed, or text follows a closing "
         "one."),
        (ARFF + "1,x\none,x\n", "x.arff, line 6: attribute 'a' is 'one', which is not a number. "
         "Correct the cell, or the attribute's type."),
        (ARFF + "1,x\n% z\n2,z\n", "x.arff, line 7: attribute 'b' is 'z', which is not one of its "
         "categories. Correct the cell, or the attribute's type."),
    ],
)  # fmt: skip
def test_arff(text, expected):
    assert fault_of(text, "x.arff") == expected


def test_files_that_cannot_be_opened(tmp_path):
    def fault(path):
        with pytest.raises(TableFileError) as caught:
            read_table(path)
        return str(caught.value)

    assert fault("none.csv") == "none.csv: there is no such file. Check the path."
    Path("folder.csv").mkdir()
    assert fault("folder.csv") == "folder.csv: this is a folder. Name one file in it."
    Path("x.doc").touch()
    assert fault("x.doc") == (
        "x.doc: the ending '.doc' is not known. Use one of .csv, .txt, .tsv, .tab, .arff, "
        ".parquet, .pq, .feather, .arrow, .ipc, each also with .gz."
    )
    message = "A table is read from a path, from '-' for standard input or from an open file"
    with pytest.raises(TypeError, match=rf"^{message}, got int\.$"):
        read_table(7)


def test_no_permission(monkeypatch):
    Path("x.csv").write_text("a,b\n1,2\n", encoding="utf-8")

    def refuse(*_, **__):  # root may read everything, so the system's answer is played
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(TableFileError, match=r"^x\.csv: no permission to read it\."):
        read_table("x.csv")


def test_gzip_that_is_cut_off():
    data = gzip.compress(b"a,b\n" + b"1,2\n" * 10_000)
    expected = "the gzip data is damaged or cut off. Copy or download the file again."
    assert fault_of(data[:-20], "x.csv.gz") == f"x.csv.gz: {expected}"
    assert fault_of(data[:-20], "x.parquet.gz") == f"x.parquet.gz: {expected}"


def test_columnar_files():
    assert fault_of(b"PAR1" + b"x" * 50, "x.parquet").startswith(
        "x.parquet: this is not a whole Parquet file ('Parquet magic bytes not found in footer."
    )
    assert fault_of(b"hello" * 20, "x.feather") == (
        "x.feather: this is not a whole Feather or Arrow file ('Not an Arrow file'). Write it anew."
    )
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), buffer)
    assert fault_of(buffer.getvalue(), "x.parquet") == "x.parquet: the table has no rows."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": "ab"}, "separator must be a single character, got 'ab'."),
        ({"separator": '"'}, "separator must not be a quote or a line break, got '\"'."),
        ({"separator": "é"}, "separator must be an ASCII character, got 'é'."),
        ({"decimal": "x"}, 'decimal must be "." or ",", got \'x\'.'),
        ({"columns": []}, "columns is empty. Name at least one column, or pass None."),
        ({"columns": ["a", "a"]}, "columns names a column twice: ['a', 'a']."),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_table(io.StringIO("a,b\n1,2\n"), **options)


def test_columns_must_be_a_list():
    with pytest.raises(TypeError, match=r"^columns must be a list of names, got the text 'a'\.$"):
        read_table(io.StringIO("a,b\n1,2\n"), columns="a")


def test_nothing_from_a_file_reaches_the_terminal_as_it_is():
    name = "evil\x1b[31m\u202e" + "n" * 10_000
    message = fault_of(f"{name},{name}\n1,2\n")
    assert message.isprintable()
    assert "\\x1b[31m\\u202ennn" in message
    assert len(message) < 200
    odd = Path("red\x1b[31m.csv")
    odd.write_text("a,b\n1\n", encoding="utf-8")
    with pytest.raises(TableFileError) as caught:
        read_table(odd)
    assert str(caught.value).startswith(r"red\x1b[31m.csv, line 2: ")


def test_a_hundred_damaged_files():
    assert len(DAMAGES) > 20
    for name, data in damaged_files(100):
        message = fault_of(data, name)
        assert message.startswith(name), message
        assert message.isprintable()
        assert len(message) < 500


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_a_packed_bomb_does_not_fill_the_memory():
    """300 MB of one line, packed into 300 KB, are refused within a limit of 400 MB."""
    import resource

    data = gzip.compress(b"a,b\n" + b"x" * 300_000_000, 1)
    Path("bomb.csv.gz").write_bytes(data)
    code = "import latentclass; latentclass.read_table('bomb.csv.gz')"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (400 * 2**20,) * 2),
        env=os.environ | {"PYTHONPATH": str(Path(latentclass.__file__).parents[1])},
    )
    assert run.stderr.strip().splitlines()[-1] == (
        "latentclass.exceptions.TableFileError: bomb.csv.gz, line 2: the line is longer than 4 MB. "
        "Line breaks are missing, or this is not a table."
    )


pieces = st.sampled_from(
    ["a", "b", "1", "2.5", "007", ",", ";", "\t", "\n", "\r", '"', "'", " ", "é", "\0", "?",
     "@data", "@attribute x {", "}", "%", "1e999", "-", "true"]
)  # fmt: skip
files = (
    st.lists(pieces, max_size=30).map(lambda parts: "".join(parts).encode())
    | st.binary(max_size=60)
    | st.lists(pieces, max_size=20).map(lambda parts: "".join(parts).encode("utf-16"))
)


@given(files, st.sampled_from(["csv", "tsv", "arff", "parquet", "feather", "csv.gz"]))
def test_any_bytes_are_a_table_or_one_sentence(data, ending):
    file = io.BytesIO(data)
    file.name = f"x.{ending}"
    try:
        opened = open_table(file)
        opened.describe()
        whole = opened.read()
    except TableFileError as error:
        message = str(error)
    else:
        message = ""
    assert message.isprintable()
    if message:
        return
    assert whole.num_rows > 0
    assert whole.num_columns == len(opened.names) == len(set(opened.names))
    assert pa.concat_tables(opened.read_chunks(2)).equals(whole)


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = "Reading files needs pyarrow. Install it: pip install 'latentclass[cli]'."
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        read_table(io.StringIO("a,b\n1,2\n"))


def test_a_file_that_changes_while_it_is_read():
    Path("x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    file = open_table("x.csv")
    list(file.read_chunks())  # settles the types
    Path("x.csv").write_text("a,b\nword,2\n", encoding="utf-8")
    message = r"^x\.csv: the rows cannot be read \('the file has changed while it was read'\)\.$"
    with pytest.raises(TableFileError, match=message):
        list(file.read_chunks())
    Path("x.csv").unlink()
    with pytest.raises(TableFileError, match=r"^x\.csv: there is no such file\. Check the path\.$"):
        file.read()
