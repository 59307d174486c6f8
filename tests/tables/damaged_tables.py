"""Damaged files, made from a good table by a seeded generator.

`python tests/tables/damaged_tables.py FOLDER [N]` writes N of them (100) for tries by hand.
"""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather


def good_table(rng, n_rows=200):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "income": rng.normal(50, 9, n_rows).round(2),
            "zone": rng.choice(["north", "south", "é"], n_rows),
            "churn": rng.choice(["yes", "no"], n_rows),
        }
    )


def as_csv(table):
    return table.to_csv(index=False, lineterminator="\n").encode()


def as_parquet(table):
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def as_feather(table):
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(pa.Table.from_pandas(table), buffer)
    return buffer.getvalue()


def as_arff(table):
    header = (
        "@relation r\n@attribute age numeric\n@attribute income real\n"
        "@attribute zone {north,south,é}\n@attribute churn {yes,no}\n@data\n"
    )
    return header.encode() + as_csv(table).split(b"\n", 1)[1]


def insert(data, place, more):
    return data[:place] + more + data[place:]


def change_line(data, line, change):
    lines = data.split(b"\n")
    lines[line] = change(lines[line])
    return b"\n".join(lines)


def binary(rng, table):
    return "csv", rng.bytes(int(rng.integers(100, 20_000)))


def wrong_encoding(rng, table):
    data = as_csv(table)
    line = int(rng.integers(len(table) // 2, len(table)))
    return "csv", change_line(data + "1,2,é,no\n".encode(), line, lambda row: row + b"\xe9\xff\xfe")


def ragged(rng, table):
    line = int(rng.integers(1, len(table)))
    extra = rng.random() < 0.5
    return "csv", change_line(
        as_csv(table), line, lambda row: row + b",7" if extra else row.rpartition(b",")[0]
    )


def long_line(rng, table):
    line = int(rng.integers(1, len(table)))
    return "csv", change_line(as_csv(table), line, lambda row: row + b"x" * 10_000_000)


def no_header(rng, table):
    return "csv", as_csv(table).split(b"\n", 1)[1]


def duplicate_names(rng, table):
    names = list(table)
    names[int(rng.integers(1, 4))] = names[0]
    return "csv", as_csv(table.set_axis(names, axis=1))


def empty(rng, table):
    return "csv", b" \n\n" * int(rng.integers(0, 5))


def header_only(rng, table):
    return "csv", as_csv(table.iloc[:0]) + b"\n" * int(rng.integers(0, 5))


def nul_bytes(rng, table):
    data = as_csv(table)
    return "csv", insert(data, int(rng.integers(len(data))), b"\0" * int(rng.integers(1, 50)))


def unclosed_quote(rng, table):
    line = int(rng.integers(1, len(table)))
    return "csv", change_line(as_csv(table), line, lambda row: row.replace(b",", b',"', 1))


def cut_gzip(rng, table):
    data = gzip.compress(as_csv(table))
    return "csv.gz", data[: int(rng.integers(20, len(data) - 9))]


def changed_gzip(rng, table):
    data = bytearray(gzip.compress(as_csv(table)))
    for place in rng.integers(12, len(data), 5):
        data[place] ^= 0xFF
    return "csv.gz", bytes(data)


def no_parquet(rng, table):
    return "parquet", rng.bytes(3000) if rng.random() < 0.5 else as_csv(table)


def cut_parquet(rng, table):
    data = as_parquet(table)
    return "parquet", data[: int(rng.integers(4, len(data) - 1))]


def changed_parquet(rng, table):
    """The end is the directory of the file, which must make sense."""
    data = bytearray(as_parquet(table))
    data[-8:-4] = rng.bytes(4)
    return "parquet", bytes(data)


def cut_feather(rng, table):
    data = as_feather(table)
    return "feather", data[: int(rng.integers(4, len(data) - 1))]


def cut_arff(rng, table):
    data = as_arff(table)
    return "arff", data[: int(rng.integers(20, data.index(b"@data")))]


def ragged_arff(rng, table):
    line = int(rng.integers(7, len(table)))
    return "arff", change_line(as_arff(table), line, lambda row: row + b",7")


def unknown_category(rng, table):
    line = int(rng.integers(7, len(table)))
    return "arff", change_line(
        as_arff(table), line, lambda row: row.rpartition(b",")[0] + b",\x1b[31mperhaps"
    )


def utf16_without_mark(rng, table):
    return "csv", as_csv(table).decode().encode("utf-16-le")


def spreadsheet(rng, table):
    return "csv", b"PK\x03\x04" + rng.bytes(500)


def unknown_ending(rng, table):
    return "xlsx", as_csv(table)


DAMAGES = [
    binary, wrong_encoding, ragged, long_line, no_header, duplicate_names, empty, header_only,
    nul_bytes, unclosed_quote, cut_gzip, changed_gzip, no_parquet, cut_parquet, changed_parquet,
    cut_feather, cut_arff, ragged_arff, unknown_category, utf16_without_mark, spreadsheet,
    unknown_ending,
]  # fmt: skip


def damaged_files(n_files=100, seed=0):
    """Yield names and contents of damaged files; each kind of damage comes in turn."""
    rng = np.random.default_rng(seed)
    for number in range(n_files):
        damage = DAMAGES[number % len(DAMAGES)]
        ending, data = damage(rng, good_table(rng))
        yield f"{number:03}_{damage.__name__}.{ending}", data


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, data in damaged_files(*map(int, sys.argv[2:3])):
        (folder / name).write_bytes(data)
