"""Files of every format come back as the tables that were written."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentclass import read_table
from latentclass.tables import open_table

FRAME = pd.DataFrame(
    {
        "size": [1.5, None, -2.25],
        "n": [1, 2, 3],
        "colour": ["red", None, "blue, or green"],
        "sold": [True, False, True],
    }
)


def read_text(text, **options):
    return read_table(io.StringIO(text), container="pyarrow", **options)


def column_of(*cells, **options):
    """A column read from a file with a second column, whose cells are all 'x'."""
    text = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    column = read_text(text, **options)["a"]
    return str(column.type), column.to_pylist()


# ------------------------------------------------------------------------------------ formats


def write(frame, path):
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    plain = path.with_name(path.name.removesuffix(".gz"))
    if ending in ("csv", "txt"):
        frame.to_csv(plain, index=False)
    elif ending in ("tsv", "tab"):
        frame.to_csv(plain, index=False, sep="\t")
    elif ending in ("parquet", "pq"):
        frame.to_parquet(plain)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        pyarrow.feather.write_feather(table, plain)
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))


ENDINGS = ["csv", "txt", "tsv", "tab", "parquet", "pq", "feather", "arrow", "ipc"]
ALL_ENDINGS = ENDINGS + [f"{ending}.gz" for ending in ENDINGS]


@pytest.mark.parametrize("ending", ALL_ENDINGS)
def test_every_format_comes_back(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    write(FRAME, path)
    pd.testing.assert_frame_equal(read_table(path), FRAME, check_dtype=False)
    pd.testing.assert_frame_equal(read_table(str(path)), FRAME, check_dtype=False)
    with path.open("rb") as file:
        pd.testing.assert_frame_equal(read_table(file), FRAME, check_dtype=False)
    with path.open("rb") as file:  # without a name: by its contents
        nameless = io.BytesIO(file.read())
    pd.testing.assert_frame_equal(read_table(nameless), FRAME, check_dtype=False)


@pytest.mark.parametrize("ending", ALL_ENDINGS)
@pytest.mark.parametrize("n_rows", [1, 2, 7, 100])
def test_chunks_are_the_whole_in_order(tmp_path, ending, n_rows):
    path = tmp_path / f"table.{ending}"
    write(pd.concat([FRAME] * 5, ignore_index=True), path)
    file = open_table(path)
    chunks = list(file.read_chunks(n_rows))
    assert [chunk.num_rows for chunk in chunks[:-1]] == [n_rows] * (len(chunks) - 1)
    assert pa.concat_tables(chunks).equals(file.read())
    assert len({str(chunk.schema) for chunk in chunks}) == 1
    assert pa.concat_tables(file.read_chunks(n_rows)).equals(file.read())  # again


def test_containers(tmp_path):
    path = tmp_path / "table.csv"
    write(FRAME, path)
    assert isinstance(read_table(path), pd.DataFrame)
    assert isinstance(read_table(path, container="pyarrow"), pa.Table)
    frame = read_table(path, container="polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame["sold"].to_list() == [True, False, True]
    with pytest.raises(
        ValueError, match=r'^container must be "pandas", "pyarrow" or "polars", got \'dask\'\.$'
    ):
        read_table(path, container="dask")


def test_the_row_labels_of_pandas_are_no_column(tmp_path):
    frame = FRAME.set_index(pd.Index(["i", "j", "k"]))
    frame.to_parquet(tmp_path / "table.parquet")
    assert list(read_table(tmp_path / "table.parquet")) == list(FRAME)


def test_columns_are_chosen_in_the_order_asked_for(tmp_path):
    for ending in ALL_ENDINGS:
        write(FRAME, tmp_path / f"table.{ending}")
        file = open_table(tmp_path / f"table.{ending}", columns=["colour", "size"])
        assert file.names == file.read().column_names == ["colour", "size"]
        assert next(file.read_chunks(2)).column_names == ["colour", "size"]
        assert file.read()["size"].to_pylist() == [1.5, None, -2.25]


def test_standard_input():
    code = "import latentclass; print(latentclass.read_table('-').to_dict('list'))"
    run = subprocess.run(
        [sys.executable, "-c", code], input="a,b\n1,x\n2,y\n", capture_output=True, text=True
    )
    assert run.stdout == "{'a': [1, 2], 'b': ['x', 'y']}\n", run.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with subprocess.Popen(
        [sys.executable, "-c", f"open({str(path)!r}, 'w').write('a,b\\n1,2\\n')"]
    ):
        assert read_table(path).to_dict("list") == {"a": [1], "b": [2]}


def test_arff(tmp_path):
    path = tmp_path / "table.arff"
    path.write_text(
        "% from somewhere\n@RELATION 'two words'\n@attribute 'petal length' REAL\n"
        "@ATTRIBUTE note string\n@attribute zone {1, 'b c', \"d\"}\n"
        "@attribute day DATE 'yyyy-MM-dd'\n@data\n% more\n\n"
        "5.1, 'it\\'s, well', 1, '2020-01-01'\n?,?,'b c',?\n 1e3 ,plain,d,\"x\"\n",
        encoding="utf-8",
    )
    expected = {
        "petal length": [5.1, None, 1000.0],
        "note": ["it's, well", None, "plain"],
        "zone": ["1", "b c", "d"],
        "day": ["2020-01-01", None, "x"],
    }
    for file in (open_table(path), open_table(io.BytesIO(path.read_bytes()))):
        assert file.format == "arff"
        assert file.read().to_pydict() == expected
        assert pa.concat_tables(file.read_chunks(2)).to_pydict() == expected
    assert open_table(path, columns=["zone"]).read().to_pydict() == {"zone": expected["zone"]}


def test_arff_as_scipy_reads_it(tmp_path):
    from scipy.io import arff

    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{rng.choice(['a', 'b'])}" for x in rng.normal(size=50)]
    header = "@relation r\n@attribute x numeric\n@attribute c {a,b}\n@data\n"
    path = tmp_path / "table.arff"
    path.write_text(header + "\n".join(rows), encoding="utf-8")
    theirs, _ = arff.loadarff(path)
    ours = read_table(path)
    np.testing.assert_array_equal(ours["x"], theirs["x"])
    assert list(ours["c"]) == [cell.decode() for cell in theirs["c"]]


# --------------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("churn.csv", "a;b\n1,5;x\n", "churn.csv: CSV, separator ';', decimal comma, UTF-8"),
        ("churn.csv", "a,b\n1.5,x\n", "churn.csv: CSV, separator ',', UTF-8"),
        ("churn.tsv", "a\tb\n1.5\tx\n", "churn.tsv: TSV, separator tab, UTF-8"),
        ("churn.txt", "a|b\n1.5|x\n", "churn.txt: CSV, separator '|', UTF-8"),
        ("x.arff", "@relation r\n@attribute a real\n@data\n1\n", "x.arff: ARFF, UTF-8"),
    ],
)
def test_what_was_found_is_told_in_one_line(tmp_path, monkeypatch, name, text, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert open_table(name).describe() == expected
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    packed = expected.replace(name, f"{name}.gz") + ", gzip"
    assert open_table(f"{name}.gz").describe() == packed


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8 with byte order mark"),
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252 (guessed)"),
    ],
)
def test_encodings(tmp_path, encoding, told):
    path = tmp_path / "x.csv"
    path.write_bytes("größe,n\nça va,1\nÿ,2\n".encode(encoding))
    file = open_table(path)
    assert file.describe().endswith(told)
    assert file.read().to_pydict() == {"größe": ["ça va", "ÿ"], "n": [1, 2]}
    assert next(file.read_chunks()).to_pydict() == file.read().to_pydict()


def test_an_encoding_that_is_named():
    text = "名,n\n東京,1\n".encode("shift_jis")
    table = read_table(io.BytesIO(text), encoding="shift_jis", container="pyarrow")
    assert table.to_pydict() == {"名": ["東京"], "n": [1]}


def test_windows_letters_after_many_plain_rows():
    text = "a,b\n" + "1,x\n" * 400_000 + "2,é\n"
    file = open_table(io.BytesIO(text.encode("cp1252")))
    assert file.encoding == "cp1252"
    assert file.read()["b"][-1].as_py() == "é"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(separator):
    text = "a,b,c\n1,x,3\n2,z,4\n".replace(",", separator)
    file = open_table(io.StringIO(text))
    assert (file.separator, file.names) == (separator, ["a", "b", "c"])
    assert read_text(text, separator=separator).to_pydict() == file.read().to_pydict()


def test_spaces_separate_only_what_is_no_prose():
    file = open_table(io.StringIO("Chins Situps\n5 162\n2 110\n"))
    assert file.describe() == "the file: CSV, separator space, UTF-8"
    assert file.read().to_pydict() == {"Chins": [5, 2], "Situps": [162, 110]}
    prose = open_table(io.StringIO("my remarks\nhello world\ngood day\n"))
    assert prose.read().to_pydict() == {"my remarks": ["hello world", "good day"]}


def test_a_space_after_each_separator_belongs_to_no_cell():
    table = read_text("age, work, class\n39, State-gov, <=50K\n50, ?, >50K\n")
    assert table.to_pydict() == {
        "age": [39, 50],
        "work": ["State-gov", None],
        "class": ["<=50K", ">50K"],
    }


def test_a_column_of_row_numbers_gets_a_name():
    assert read_text('"","x"\n"1",5\n"2",6\n').column_names == ["column_1", "x"]


def test_names_that_are_rising_numbers():
    assert read_text("0,1,2\n5,6,7\n").column_names == ["0", "1", "2"]
    assert read_text("name,1990,1991\nx,6,7\n").column_names == ["name", "1990", "1991"]


# ---------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("cells", "type_", "values"),
    [
        (["1", "2"], "int64", [1, 2]),
        (["1", "", "NA", "?", "NaN", "null", "  ", " ?"], "int64", [1] + [None] * 7),
        (["1", "n/a", "N/A", "#N/A", "<NA>", "nan", "NULL", " n/a"], "int64", [1] + [None] * 7),
        (["1.5", "2"], "double", [1.5, 2.0]),
        (["1,5", "2"], "double", [1.5, 2.0]),
        (["1e3", ".5", "-2."], "double", [1000.0, 0.5, -2.0]),
        ([" 7", "8 "], "int64", [7, 8]),
        (["true", "False", "NA"], "bool", [True, False, None]),
        (["true", "1"], "string", ["true", "1"]),
        (["007", "008"], "string", ["007", "008"]),
        (["1.5", "007"], "string", ["1.5", "007"]),
        (["0", "0.5", "-0.25"], "double", [0.0, 0.5, -0.25]),
        (["0x1F", "1"], "string", ["0x1F", "1"]),
        (["9223372036854775807"], "int64", [2**63 - 1]),
        (["9223372036854775808", "1"], "string", ["9223372036854775808", "1"]),
        (["1.5", "12345678901234567890"], "string", ["1.5", "12345678901234567890"]),
        (["None", "1"], "string", ["None", "1"]),
        (["1", "2", "x"], "string", ["1", "2", "x"]),
        (["2020-01-02", ""], "string", ["2020-01-02", None]),
        (["1.234,5", "2,5"], "double", [1234.5, 2.5]),
        (["", ""], "string", [None, None]),
        (['"a;b"', '"say ""x"""'], "string", ["a;b", 'say "x"']),
        (['"two\nlines"', "x"], "string", ["two\nlines", "x"]),
    ],
)
def test_types(cells, type_, values):
    assert column_of(*cells) == (type_, values)


def test_a_comma_that_may_mark_thousands():
    assert column_of("1,234") == ("double", [1.234])  # a semicolon between cells
    text = "a\tb\n1,234\tx\n"
    assert read_text(text)["a"].to_pylist() == ["1,234"]
    assert read_text(text, decimal=",")["a"].to_pylist() == [1.234]
    assert read_text(text + "1,5\tx\n")["a"].to_pylist() == [1.234, 1.5]


def test_one_decimal_mark_in_a_file():
    mixed = read_text("a;b\n1,5;1.5\n")
    assert mixed.to_pydict() == {"a": ["1,5"], "b": [1.5]}
    given = read_text("a;b\n1,5;1.5\n", decimal=",")
    assert given.to_pydict() == {"a": [1.5], "b": ["1.5"]}
    assert read_text('a,b\n"1,5",x\n').to_pydict() == {"a": ["1,5"], "b": ["x"]}
    assert read_text('a,b\n"1,5",x\n', decimal=",").to_pydict() == {"a": [1.5], "b": ["x"]}


def test_a_column_that_turns_to_text_late():
    text = "a,b\n" + "".join(f"{i},0.5\n" for i in range(200_000)) + "x,0.5\n"
    file = open_table(io.StringIO(text))
    chunks = list(file.read_chunks(1000))
    assert {str(chunk.schema.field("a").type) for chunk in chunks} == {"string"}
    assert chunks[0]["a"][:2].to_pylist() == ["0", "1"]
    assert file.read().equals(pa.concat_tables(chunks))


def test_a_decimal_comma_that_comes_late():
    text = "a;b\n" + "1;x\n" * 3000 + "1,5;x\n"
    file = open_table(io.StringIO(text))
    assert file.decimal == "."
    assert file.read()["a"][-1].as_py() == 1.5
    assert file.decimal == ","


def test_columns_that_stay_text():
    file = open_table(io.StringIO("zip,n\n12345,1\n"), text=["zip"])
    assert file.read().to_pydict() == {"zip": ["12345"], "n": [1]}
    assert next(file.read_chunks()).to_pydict() == {"zip": ["12345"], "n": [1]}


# -------------------------------------------------------------------------------- property tests

# Text that is not read as anything else. Surrogates cannot be written, NUL is refused, and a lone
# carriage return becomes a line break when pandas writes it.
letters = st.characters(codec="utf-8", exclude_characters="\0\r\ufeff")
words = st.text(letters, min_size=1, max_size=8).map(lambda text: "w" + text)
# By chance a few letters of Windows-1252 are one of UTF-8, but none of these.
western = st.text("aäçñßÿ ,;|\"'\n", max_size=8).map(lambda text: "wé" + text)
floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
cells = {
    "float": floats,
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "text": words,
}


@st.composite
def frames(draw, text=words):
    kinds = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=4))
    n_rows = draw(st.integers(1, 6))
    columns = {}
    for place, kind in enumerate(kinds):
        cell = text if kind == "text" else cells[kind]
        holes = kind in ("float", "text") and draw(st.booleans())
        values = draw(
            st.lists(st.none() | cell if holes else cell, min_size=n_rows, max_size=n_rows)
        )
        dtype = {"float": "float64", "int": "int64", "bool": "bool", "text": "object"}[kind]
        columns[f"{kind} {place}"] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(columns)


def assert_same(read, written):
    """The values are equal; a column without any value may have any type."""
    assert list(read) == list(written)
    for name in written:
        values = written[name]
        if values.isna().all():
            assert read[name].isna().all()
        elif values.dtype == "float64":
            np.testing.assert_array_equal(read[name].astype(float), values)
        else:
            assert [None if pd.isna(cell) else cell for cell in read[name]] == [
                None if pd.isna(cell) else cell for cell in values
            ]


@settings(max_examples=60)
@given(frames(), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from([".", ","]))
def test_what_pandas_writes_comes_back(frame, separator, decimal):
    text = frame.to_csv(index=False, sep=separator, decimal=decimal, lineterminator="\n")
    read = read_table(io.BytesIO(text.encode()), separator=separator, decimal=decimal)
    assert_same(read, frame)
    chunks = open_table(io.BytesIO(text.encode()), separator=separator, decimal=decimal)
    assert_same(pa.concat_tables(chunks.read_chunks(2)).to_pandas(), frame)


@settings(max_examples=60)
@given(frames(), st.sampled_from([",", ";", "\t", "|"]))
def test_what_pandas_writes_with_points_is_found(frame, separator):
    frame.insert(0, "first", "plain")  # the text of others may hold anything
    frame["last"] = 0.5
    text = frame.to_csv(index=False, sep=separator, lineterminator="\n")
    file = open_table(io.BytesIO(text.encode()))
    assert (file.separator, file.decimal, file.encoding) == (separator, ".", "utf-8")
    assert_same(file.read().to_pandas(), frame)


@settings(max_examples=60)
@given(frames())
def test_what_pandas_writes_with_commas_is_found(frame):
    frame.insert(0, "first", "plain")
    frame["last"] = 0.5
    text = frame.to_csv(index=False, sep=";", decimal=",", lineterminator="\n")
    file = open_table(io.BytesIO(text.encode()))
    assert (file.separator, file.decimal) == (";", ",")
    assert_same(file.read().to_pandas(), frame)


@settings(max_examples=40)
@given(frames(western), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"]))
def test_what_pandas_writes_in_each_encoding_is_found(frame, encoding):
    frame["last"] = "é"
    data = frame.to_csv(index=False, lineterminator="\n").encode(encoding)
    file = open_table(io.BytesIO(data))
    assert file.encoding == encoding
    assert_same(file.read().to_pandas(), frame)


@settings(max_examples=40)
@given(frames(), st.sampled_from(["csv", "parquet", "feather"]), st.integers(1, 7))
def test_chunks_do_not_change_the_table(frame, ending, n_rows):
    buffer = io.BytesIO()
    if ending == "csv":
        buffer.write(frame.to_csv(index=False, lineterminator="\n").encode())
    elif ending == "parquet":
        frame.to_parquet(buffer, row_group_size=2)
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        pyarrow.feather.write_feather(table, buffer, chunksize=2)
    buffer.seek(0)
    file = open_table(buffer)
    assert pa.concat_tables(file.read_chunks(n_rows)).equals(file.read())


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather"])
def test_reading_loads_neither_pandas_nor_scikit_learn(tmp_path, ending):
    """Both take longer than reading a small file."""
    path = tmp_path / f"table.{ending}"
    write(FRAME, path)
    code = (
        "import sys\nfrom latentclass.tables import open_table\n"
        f"file = open_table({str(path)!r})\nfile.describe()\n"
        "file.read()\nlist(file.read_chunks())\n"
        "print(sorted({'pandas', 'sklearn', 'scipy', 'polars'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[]\n", run.stderr


def test_a_table_file_tells_what_it_is():
    assert repr(open_table(io.StringIO("a,b\n1,2\n"))) == (
        "<TableFile the file: CSV, separator ',', UTF-8>"
    )


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("length", [600_000, 3_000_000])
def test_a_row_may_be_longer_than_a_block(tmp_path, quote, length):
    path = tmp_path / "long.csv"
    rows = [f"{i},{quote}word{i}{quote}" for i in range(5000)]
    rows[3000] = f"3000,{quote}{'y' * length}{quote}"
    path.write_text("\n".join(["a,b", *rows]) + "\n")
    whole = read_table(path, container="pyarrow")
    assert whole.column("a").to_pylist() == list(range(5000))
    assert len(whole.column("b")[3000].as_py()) == length
    chunks = list(open_table(path).read_chunks(2048))
    assert [chunk.num_rows for chunk in chunks] == [2048, 2048, 904]
    assert pa.concat_tables(chunks).equals(whole)
