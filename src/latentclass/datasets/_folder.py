"""Read data sets from a local folder of CSV, NumPy and JSON files with an index."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from latentclass.datasets._facts import Facts
from latentclass.datasets._sources import FoundFile, NotHere
from latentclass.datasets._table import Column, Table, nominal, text_array
from latentclass.exceptions import DataSetUnavailableError

VARIABLE = "LATENTCLASS_DATA"


def folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the data folder: the argument, or else the one in the environment variable."""
    named = data_home if data_home is not None else os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else None


def read_index(home: Path) -> dict[str, dict[str, Any]]:
    """Read index.json, which has an entry per data set of the folder."""
    path = home / "index.json"
    if not path.is_file():
        missing = "has no index.json" if home.is_dir() else "does not exist"
        raise DataSetUnavailableError(
            f"The data folder {home} {missing}. Set {VARIABLE} (or data_home) to a folder with "
            f"index.json and the data files, or leave it unset."
        )
    with _said(path):
        return {entry["name"]: entry for entry in json.loads(path.read_text("utf-8"))["datasets"]}


def from_folder(facts: Facts, home: Path | None) -> FoundFile:
    """Read a data set from the folder and check it against the index."""
    if home is None:
        raise NotHere(f"no folder given ({VARIABLE} is not set)")
    if facts.parent:
        raise NotHere("variants are computed, not stored")
    index = read_index(home)
    if facts.name not in index:
        raise NotHere(f"{home / 'index.json'} has no entry {facts.name!r}")
    entry = index[facts.name]
    with _said(home / "index.json"):
        files = entry["file"] if isinstance(entry["file"], dict) else {"": entry["file"]}
        n_rows, licence = entry["n_rows"], entry["licence"]
        source = f"folder {home}: {', '.join(files.values())} (from {entry['source']})"
    parts = {half: _read(home / name, entry) for half, name in files.items()}
    table = _joined(parts)
    if len(table.y) != n_rows:
        raise ValueError(
            f"{', '.join(str(home / name) for name in files.values())} has {len(table.y)} rows, "
            f"but index.json says {n_rows}. Fetch a fresh copy of the file and of the index."
        )
    # If the differences are already known here, the index would only repeat them.
    return FoundFile(table, source, licence, None if facts.differs else entry.get("mismatch"))


def _read(path: Path, entry: dict[str, Any]) -> Table:
    if not path.is_file():
        raise DataSetUnavailableError(
            f"{path} is missing, but index.json names it for {entry['name']!r}. "
            f"Restore the file or use another source."
        )
    with _said(path):
        if path.suffix == ".npz":
            return _read_digits(path)
        with _opened(path) as stream:
            if ".jsonl" in path.suffixes:
                return _read_documents(stream)
            return _read_csv(stream, path, entry["columns"])


# Errors of the CSV, gzip, NumPy and JSON readers on a damaged file.
_DAMAGE = (
    OSError,
    EOFError,
    TypeError,
    UnicodeDecodeError,
    csv.Error,
    json.JSONDecodeError,
    zlib.error,
    zipfile.BadZipFile,
)


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Add the name of the file to any error while reading it."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it lacks {error}. Fetch a fresh copy.") from error
    except _DAMAGE as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}). Fetch a fresh copy."
        ) from error


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def _joined(parts: dict[str, Table]) -> Table:
    """Join the halves of a data set, given by name ("train", "test"), or "" for a single file."""
    if list(parts) == [""]:
        return parts[""]
    tables = list(parts.values())
    y = np.concatenate([table.y for table in tables])
    split = np.repeat(np.array(list(parts), dtype=object), [len(table.y) for table in tables])
    columns: dict[str, Column] = {}
    for name, first in tables[0].columns.items():
        pieces = [table.columns[name] for table in tables]
        if isinstance(first, np.ndarray):
            columns[name] = np.concatenate(pieces)  # type: ignore[arg-type]
        else:
            # The halves may have different labels, so encode them again together.
            labels = np.concatenate([piece.labels() for piece in pieces])  # type: ignore[union-attr]
            columns[name] = nominal(["" if one is None else one for one in labels], first.n_values)
    return Table(columns, y, split)


def _read_csv(stream: IO[str], path: Path, declared: list[dict[str, Any]]) -> Table:
    rows = csv.reader(stream)
    header = next(rows, [])
    names = [column["name"] for column in declared]
    if header[:-1] != names:
        unexpected = [name for name in header[:-1] if name not in names]
        absent = [name for name in names if name not in header]
        raise ValueError(
            f"{path}: the header does not match index.json. Not in the index: {unexpected}; "
            f"not in the file: {absent}. Fetch a fresh copy."
        )
    cells = list(rows)
    for line, row in enumerate(cells, start=2):
        if len(row) != len(header):
            raise ValueError(f"{path}, line {line} has {len(row)} cells, expected {len(header)}.")
    # An empty file still has columns.
    by_column = list(zip(*cells, strict=True)) or [()] * len(header)
    columns: dict[str, Column] = {}
    for column, values in zip(declared, by_column[:-1], strict=True):
        if column["kind"] == "continuous":
            columns[column["name"]] = _numbers(values, column["name"], path)
        else:
            columns[column["name"]] = nominal(values, column.get("n_values"))
    if "" in by_column[-1]:
        line = by_column[-1].index("") + 2
        raise ValueError(f"{path}, line {line} has no class label in the last column.")
    return Table(columns, text_array(by_column[-1]))


def _numbers(cells: tuple[str, ...], name: str, path: Path) -> NDArray[np.float64]:
    try:
        values = np.array([cell or "nan" for cell in cells], dtype=np.str_).astype(np.float64)
        strange = ~np.isfinite(values) & (np.array(cells, dtype=object) != "")
    except ValueError:
        strange = np.array([not _is_number(cell) for cell in cells])
    if strange.any():
        row = int(strange.argmax())
        raise ValueError(
            f"{path}, line {row + 2}: column {name!r} is continuous but holds {cells[row]!r}. "
            f"A missing cell must be empty."
        )
    return values


def _is_number(cell: str) -> bool:
    try:
        return cell == "" or bool(np.isfinite(float(cell)))
    except ValueError:
        return False


def _read_digits(path: Path) -> Table:
    """Read the halves of USPS, which are stored as whole numbers of thousandths."""
    if not zipfile.is_zipfile(path):
        raise zipfile.BadZipFile("not a NumPy archive")
    parts = {}
    with np.load(path, allow_pickle=False) as arrays:
        for half in ("train", "test"):
            grey = np.asfortranarray(arrays[f"X_{half}"] / 1000.0)
            columns: dict[str, Column] = {f"p{i}": grey[:, i] for i in range(grey.shape[1])}
            parts[half] = Table(columns, text_array(arrays[f"y_{half}"]))
    return _joined(parts)


def _read_documents(stream: IO[str]) -> Table:
    """Read one JSON object per line. The text is the only column, the topics are the label."""
    documents = [json.loads(line) for line in stream]
    text = text_array([document["text"] for document in documents])
    topics = text_array([" ".join(document["topics"]) for document in documents])
    return Table({"text": text}, topics, text_array([one["split"] for one in documents]))
