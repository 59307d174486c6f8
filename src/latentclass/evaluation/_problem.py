"""A data set with labels and checksum, and the discretisation of the papers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import IndexArray
from latentclass.data._labels import UNLABELLED, encode_labels
from latentclass.data._read import listed_to_array
from latentclass.data._schema import Column, Kind, Schema, Table, learn_schema
from latentclass.data._write import build_table
from latentclass.datasets import Dataset, load_dataset


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set of a comparison.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : table
        In the container that the user passed.
    labels : array of shape (n_rows,)
        Labels to pass to `fit`. None marks an unlabelled row.
    codes : array of shape (n_rows,)
        Class codes; -1 for an unlabelled row.
    classes : array of shape (n_classes,)
        Class labels.
    split : array of shape (n_rows,) or None
        "train" or "test" for each row, if the data set has a fixed split.
    checksum : str
        SHA-256 of all of the above except the name and the split.
    """

    name: str
    X: Any
    labels: npt.NDArray[Any]
    codes: IndexArray
    classes: npt.NDArray[Any]
    split: npt.NDArray[Any] | None
    checksum: str


def read_problems(datasets: Any) -> list[Problem]:
    """Return problems from one or several names, `Dataset` objects or (name, X, y) triples."""
    single = isinstance(datasets, str | Dataset) or _is_triple(datasets)
    entries: Iterable[Any] = [datasets] if single else datasets
    problems = [_read_problem(entry) for entry in entries]
    names = [problem.name for problem in problems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        found = f"the name(s) {twice} more than once" if twice else "none"
        raise ValueError(f"datasets must be data sets with different names, found {found}.")
    return problems


def _is_triple(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 3 and not isinstance(entry[1], str | Dataset)


def _read_problem(entry: Any) -> Problem:
    if isinstance(entry, str):
        entry = load_dataset(entry)
    if isinstance(entry, Dataset):
        name, X, y, split = entry.name, entry.X, entry.y, entry.split
    elif _is_triple(entry) and isinstance(entry[0], str):
        (name, X, y), split = entry, None
    elif isinstance(entry, tuple) and len(entry) == 2:
        raise TypeError(
            'A data set of your own needs a name, found a pair. Pass a triple: ("name", X, y).'
        )
    else:
        raise TypeError(
            f"A data set must be a name for load_dataset, a Dataset, or a triple (name, X, y), "
            f"found {type(entry).__name__}."
        )
    X = listed_to_array(X)
    classes, codes = encode_labels(y)
    if X.shape[0] != len(codes):
        raise ValueError(
            f"Data set {name!r} has {X.shape[0]} rows and {len(codes)} labels. Pass one label per "
            "row; None or NaN marks an unlabelled row."
        )
    if len(classes) < 2:
        raise ValueError(f"Data set {name!r} has only one class, {classes[0]!r}; it needs two.")
    return Problem(
        name, X, _labels(classes, codes), codes, classes, split, data_checksum(X, codes, classes)
    )


def _labels(classes: npt.NDArray[Any], codes: IndexArray) -> npt.NDArray[Any]:
    if not np.any(codes == UNLABELLED):
        return np.asarray(classes[codes])
    labels = np.empty(len(codes), dtype=object)  # so that None can mark unlabelled rows
    labels[codes != UNLABELLED] = classes[codes[codes != UNLABELLED]].tolist()
    return labels


def data_checksum(X: Any, codes: IndexArray, classes: npt.NDArray[Any]) -> str:
    """Return a SHA-256 of a table (container, names, types, kinds, cells) and its labels."""
    schema, table = learn_schema(X, owner="compare")
    digest = hashlib.sha256()
    for text in (schema.container, schema.names, _types(X), schema.columns, classes.tolist()):
        digest.update(repr(text).encode())
    for part in (table.numeric, table.codes):
        matrix: Any = part
        arrays = (
            (matrix.data, matrix.indices, matrix.indptr)
            if sp.issparse(matrix)
            else (np.where(np.isnan(matrix), np.nan, matrix) + 0.0,)  # one kind of NaN and of 0
        )
        for array in arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.asarray(codes, dtype=np.int64).tobytes())
    return digest.hexdigest()


def _types(X: Any) -> list[str]:
    """Return the column types: a pipeline may treat int and float columns differently."""
    if nw.dependencies.is_into_dataframe(X):
        return [str(dtype) for dtype in nw.from_native(X, eager_only=True).schema.dtypes()]
    return [str(X.dtype)]


def discretise_globally(problem: Problem) -> Problem:
    """Cut all continuous columns once, using the classes of all labelled rows, as the papers did.

    The cuts of Fayyad and Irani then depend on the labels of every test fold, so scores come out
    too high. Missing cells stay missing, the container stays the same, and unlabelled rows are cut
    at the same points.
    """
    from latentclass.engine._mdl import bin_codes, mdl_cut_points

    schema, table = learn_schema(problem.X, owner="compare")
    if not schema.continuous:
        return problem
    block = table.block(slice(None))
    known = problem.codes != UNLABELLED
    columns, codes = [], np.empty((table.n_rows, len(schema.columns)), dtype=np.int32)
    for j, column in enumerate(schema.columns):
        if column.kind != "continuous":
            columns.append(column)
            codes[:, j] = block.codes[:, schema.discrete.index(j)]
            continue
        values = block.numeric[:, schema.continuous.index(j)]
        used = known & ~np.isnan(values)
        cuts = mdl_cut_points(
            values[used], problem.codes[used], np.ones(int(used.sum())), len(problem.classes)
        )
        bins = tuple(f"bin {k}" for k in range(len(cuts) + 1))
        kind: Kind = "binary" if len(bins) == 2 else "nominal"
        columns.append(Column(column.name, kind, bins, column.observed, categorical_dtype=True))
        codes[:, j] = bin_codes(values, cuts)
    cut_schema = Schema(tuple(columns), schema.container, schema.header)
    X = build_table(cut_schema, Table(np.empty((table.n_rows, 0)), codes))
    return replace(problem, X=X, checksum=data_checksum(X, problem.codes, problem.classes))
