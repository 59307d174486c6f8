"""From a fitted model and a table to the `ReportSummary` of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._warn import recorded_warnings
from latentclass.reports._data import describe_data
from latentclass.reports._importance import weigh_columns
from latentclass.reports._making import describe_making
from latentclass.reports._quality import measure
from latentclass.reports._rows import choose_listed, find_rows
from latentclass.reports._structure import describe_structure
from latentclass.reports._summary import ClassFacts, ReportSummary, Subject
from latentclass.reports._table import Rows, draw, read_rows
from latentclass.reports._text import cut, listed, plain
from latentclass.reports._words import beware, first_words
from latentclass.tables._check import check_table

HOLES = "missing tells the class"
"""The flag that advises to learn from missing cells."""

MOST_CHECKED = 5000
"""Rows that `check_table` looks at."""

TOLD = {"unlabelled", "no labels", "one class", "rare levels"}
"""Flags of the table that the page tells elsewhere, or that do not matter to a reader."""


def collect(
    model: Any,
    X: Any,
    y: Any,
    *,
    target: str | None,
    title: str | None,
    index: Any,
    folds: int,
    new_rows: bool,
    command: str | None,
    left_out: Sequence[str],
    ids: Any,
) -> ReportSummary:
    """Everything that a report says. The same inputs give the same summary."""
    rows = read_rows(model, X, y, index, ids)
    subject = describe_subject(model, rows, _target_name(y, target), title)
    quality = held_out = None
    if (np.bincount(rows.codes[rows.labelled], minlength=1) > 0).sum() > 1 or (
        new_rows and len(rows.labelled)
    ):
        quality, held_out = measure(model, rows, folds=folds, new_rows=new_rows)
    structure = describe_structure(model, rows)
    proba = np.asarray(model.predict_proba(rows.X))
    listed = choose_listed(model, rows)
    told = model.explain(rows.take(listed))
    importance = weigh_columns(model, rows, told, proba.argmax(axis=1))
    found = find_rows(model, rows, held_out, listed, told, proba)
    data = describe_data(rows)
    return ReportSummary(
        subject,
        first_words(subject, quality, structure, importance),
        beware(model, quality, importance, found, data, table_flags(rows)),
        quality,
        structure,
        importance,
        found,
        data,
        describe_making(model, command, left_out),
    )


def describe_subject(model: Any, rows: Rows, target: str, title: str | None) -> Subject:
    """What is predicted, from what, by which model."""
    counts = np.bincount(rows.codes[rows.labelled], minlength=len(rows.classes))
    total = max(int(counts.sum()), 1)
    what = cut(target, 60) if target else "the class"
    return Subject(
        plain(title) if title else f"How {type(model).__name__} predicts {what}",
        type(model).__name__,
        model.summary().about,
        target,
        rows.n_rows,
        int((rows.codes < 0).sum()),
        len(rows.columns),
        tuple(
            ClassFacts(name, int(n), float(n / total))
            for name, n in zip(rows.classes, counts, strict=True)
        ),
    )


def table_flags(rows: Rows) -> tuple[str, ...]:
    """What `check_table` says about the table, kind by kind, as sentences."""
    some = draw(np.arange(rows.n_rows), MOST_CHECKED)
    labels = [rows.classes[code] if code >= 0 else None for code in rows.codes[some]]
    with recorded_warnings():
        check = check_table(rows.take(some), labels if any(labels) else None)
    by_kind: dict[str, list[Any]] = {}
    # a model that learns from holes needs no advice to do so
    told = TOLD | {HOLES} if rows.schema.markers else TOLD
    for flag in check.flags:
        if flag.kind not in told:
            by_kind.setdefault(flag.kind, []).append(flag)
    found = []
    for alike in by_kind.values():
        found.append(plain(alike[0]))
        names = [plain(flag.column) for flag in alike[1:] if flag.column]
        if names:
            found[-1] += f" The same holds for {listed(names)}."
    return tuple(found)


def _target_name(y: Any, target: str | None) -> str:
    if target:
        return plain(target)
    name = getattr(y, "name", None)  # of a pandas or polars column
    return plain(name) if isinstance(name, str) else ""
