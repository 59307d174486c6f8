"""Data sets from OpenML, downloaded with scikit-learn and kept on disk.

The cache holds the checked table, not the download: it is small and loads without parsing. Tables
that do not match the facts in sets.toml are refused and never cached.
"""

from __future__ import annotations

import http.client
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latentclass._files import replacing
from latentclass._warn import warn_user
from latentclass.datasets._facts import Facts
from latentclass.datasets._sources import FoundFile, NotHere
from latentclass.datasets._table import Column, Nominal, Table, text_array

VARIABLE = "LATENTCLASS_CACHE"
# Part of the file name, so that files with an old layout are ignored.
LAYOUT = 1


def cache_folder() -> Path:
    """Return the folder for downloaded tables."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "latentclass"


def from_openml(facts: Facts) -> FoundFile:
    """Read a data set from the cache, or download, check and cache it."""
    if not facts.openml:
        raise NotHere("no matching copy is known there")
    number = facts.openml["id"]
    path = cache_folder() / f"{facts.name}.openml-{number}.v{LAYOUT}.npz"
    source = f"OpenML, data set {number}"
    table = _cached(facts, path)
    if table is None:
        table = _download(facts)
        _keep(table, path)
    return FoundFile(table, source, facts.licence, _difference(facts, table))


def _download(facts: Facts) -> Table:
    from sklearn import datasets

    number = facts.openml["id"]
    # Crabs has no column for its four classes, so they are made from two columns.
    target = None if facts.name == "crabs" else facts.openml.get("target", "default-target")
    try:
        with warnings.catch_warnings():
            # If the second try fails too, there is an error anyway.
            warnings.filterwarnings("ignore", message="A network error occurred")
            bunch = datasets.fetch_openml(
                data_id=number,
                target_column=target,
                as_frame=False,  # needs no pandas, and returns the declared categories
                parser="liac-arff",
                cache=False,
                n_retries=1,
            )
    except (OSError, http.client.HTTPException, ValueError) as error:
        # scikit-learn raises ValueError if OpenML refuses or if the file is damaged.
        raise NotHere(f"download of data set {number} failed ({error})") from error
    columns: dict[str, Column] = {}
    categories = bunch.categories or {}
    for name, values in zip(bunch.feature_names, np.asarray(bunch.data).T, strict=True):
        numbers = values.astype(np.float64)
        if name in categories:
            levels = tuple(map(str, categories[name]))
            absent = -1
            if np.isnan(numbers).any() and "missing" in facts.openml:
                # In this data set, what OpenML marks as missing is a category of its own.
                absent, levels = len(levels), (*levels, facts.openml["missing"])
            codes = np.where(np.isnan(numbers), absent, numbers).astype(np.int32)
            columns[name] = Nominal(codes, levels, len(levels))
        else:
            columns[name] = numbers
    if facts.name == "crabs":
        return _checked(facts, _crabs(columns))
    labels = facts.openml.get("labels", {})
    y = text_array([labels.get(str(label), label) for label in bunch.target])
    return _checked(facts, Table(columns, y))


def _crabs(columns: dict[str, Column]) -> Table:
    """Make one label from the columns for colour form and sex, in any spelling."""
    measures: dict[str, Column] = {}
    for name in ("FL", "RW", "CL", "CW", "BD"):
        if name in columns:
            measures[name] = columns[name]
    spelt = {"b": "blue", "o": "orange", "m": "male", "f": "female"}
    parts = []
    for name in ("sp", "sex"):
        column = columns.get(name)
        labels = column.labels() if isinstance(column, Nominal) else np.array([])
        parts.append([spelt.get(str(label)[:1].lower(), "unknown") for label in labels])
    # Without these columns there are no rows, which `_checked` refuses.
    y = ["_".join(pair) for pair in zip(*parts, strict=False)]
    return Table(measures, text_array(y))


def _checked(facts: Facts, table: Table) -> Table:
    """Refuse a table that is not the known data set; mark its halves if it has two."""
    known = facts.openml
    expected = {
        "rows": known.get("rows", facts.rows),
        "attributes": known.get("attributes", facts.attributes),
        "classes": facts.seen,
    }
    found = {
        "rows": len(table.y),
        "attributes": len(table.columns),
        "classes": len(set(table.y)),
    }
    wrong = [
        f"{found[what]} {what}, expected {expected[what]}"
        for what in expected
        if found[what] != expected[what]
    ]
    if wrong:
        raise ValueError(
            f"OpenML data set {known['id']} is not the expected {facts.name!r}: "
            f"{'; '.join(wrong)}. It is not used. Set LATENTCLASS_DATA to a folder that has it."
        )
    if facts.train is None:
        return table
    return Table(table.columns, table.y, _halves(facts, table))


def _halves(facts: Facts, table: Table) -> NDArray[np.object_]:
    """Find the test half, which has every combination of values exactly once."""
    assert facts.train is not None
    n_test = facts.rows - facts.train
    codes = np.column_stack(
        [c.codes if isinstance(c, Nominal) else c for c in table.columns.values()]
    )
    split = np.full(facts.rows, "train", dtype=object)
    for test in (slice(facts.train, None), slice(0, n_test)):
        if len(np.unique(codes[test], axis=0)) == n_test:
            split[test] = "test"
            return split
    raise ValueError(
        f"OpenML data set {facts.openml['id']} has the test half of {facts.name!r} (each of the "
        f"{n_test} combinations once) neither at its beginning nor at its end. It is not used."
    )


def _difference(facts: Facts, table: Table) -> str | None:
    """Return a note on how the copy of OpenML differs from the data of the papers."""
    notes = []
    if len(table.y) != facts.rows:
        notes.append(f"OpenML's copy has {len(table.y)} of the {facts.rows} rows.")
    if len(table.columns) != facts.attributes:
        notes.append(f"OpenML's copy has {len(table.columns)} of the {facts.attributes} columns.")
    incomplete = int(table.incomplete().sum())
    if incomplete != facts.incomplete:
        notes.append(
            f"OpenML's copy has {incomplete} rows with a missing cell, not {facts.incomplete}."
        )
    return " ".join(notes) or None


def _keep(table: Table, path: Path) -> None:
    """Write the table to the cache."""
    # without the halves, which `_checked` finds again
    arrays: dict[str, NDArray[Any]] = {"y": table.y.astype(np.str_)}
    declared: dict[str, int | None] = {}
    for place, (name, column) in enumerate(table.columns.items()):
        if isinstance(column, Nominal):
            declared[name] = column.n_values
            arrays[f"{place}"] = column.codes
            arrays[f"{place} levels"] = np.array(column.levels, dtype=np.str_)
        else:
            declared[name] = None
            arrays[f"{place}"] = column
    arrays["columns"] = np.array(json.dumps(declared))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        warn_user(
            f"{path} could not be written ({error}), so the data set will be downloaded again next "
            f"time. Set {VARIABLE} to a folder that you can write to."
        )


def _cached(facts: Facts, path: Path) -> Table | None:
    """Read a table from the cache; None if it is missing, or damaged, which is a warning."""
    try:
        return _checked(facts, _read(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    # a damaged archive raises almost anything: zlib.error, TokenError, NotImplementedError, ...
    except Exception as error:
        warn_user(
            f"{path} could not be read ({type(error).__name__}: {error}), so the data set is "
            "downloaded again."
        )
        return None


def _read(path: Path) -> Table:
    """Read a table that `_keep` wrote."""
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        columns: dict[str, Column] = {}
        for place, (name, n_values) in enumerate(json.loads(str(arrays["columns"])).items()):
            values = arrays[f"{place}"]
            if n_values is None:
                columns[name] = values
            else:
                levels = tuple(map(str, arrays[f"{place} levels"]))
                columns[name] = Nominal(values, levels, n_values)
        return Table(columns, text_array(arrays["y"]))
