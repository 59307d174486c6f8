"""Completion of rows: what `complete` does for every model, and the search for the best levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass._validation import check_option
from latentclass.data._schema import Schema, Table
from latentclass.data._write import fill_missing, write_chances
from latentclass.estimator._fitted import FittedModel, Posterior

MOST_WAYS = 256
"""All ways to fill the missing discrete cells of a row are tried if there are no more than this."""

BATCH = 4096
"""Number of rows that are tried together."""

LEAST_RISE = 1e-9
"""A change counts as better if it raises the log-density by more than this."""

Height = Callable[[IndexArray, CodeArray], FloatArray]
"""log p(row, class) of the best class, for rows by their numbers, with these codes."""


def complete_table(
    model: FittedModel,
    schema: Schema,
    X: Any,
    table: Table,
    how: str,
    posterior: Posterior,
    *,
    n_jobs: int | None,
    owner: str,
) -> Any:
    """Complete `X`, read as `table`, in one of the ways that the estimators document."""
    check_option("how", how, ("expected", "most_probable", "probability"))
    if how != "probability":
        filled = model.completion(table, how, posterior, n_jobs)
        if any(column.spare for column in schema.columns):
            filled = _with_seen_values(model, schema, table, filled, how, n_jobs)
        return fill_missing(X, schema, filled, owner=owner)
    numeric, codes = table.block(slice(None))
    if np.isnan(numeric).any():
        means = model.completion(table, "expected", posterior, n_jobs).numeric
        numeric = np.where(np.isnan(numeric), means, numeric)
    chances = model.level_chances(Table(table.numeric, codes), schema.n_levels, n_jobs)
    return write_chances(X, schema, numeric, chances, owner=owner)


def _with_seen_values(
    model: FittedModel, schema: Schema, table: Table, filled: Table, how: str, n_jobs: int | None
) -> Table:
    """The same with a category of `fit` wherever a value that was not seen would be the best.

    Nobody knows which value that is, so no cell can be filled with it.
    """
    columns = [schema.columns[j] for j in schema.discrete]
    n_seen = np.array([len(column.seen) for column in columns], dtype=np.intp)
    spare = np.array([column.spare for column in columns])
    hidden, codes = np.asarray(table.codes) < 0, np.array(filled.codes)
    unseen = hidden & spare & (codes == n_seen)
    rows = np.flatnonzero(unseen.any(axis=1))
    if rows.size:
        part = Table(table.numeric[rows], np.asarray(table.codes)[rows])
        for place, chance in enumerate(model.level_chances(part, schema.n_levels, n_jobs)):
            wrong = unseen[rows, place]
            codes[rows[wrong], place] = chance[wrong, : n_seen[place]].argmax(axis=1)
    if rows.size and how == "most_probable":
        numeric = filled.numeric[rows]
        codes[rows] = best_levels(
            lambda each, trial: joint_height(model, Table(numeric[each], trial), n_jobs),
            codes[rows],
            hidden[rows],
            n_seen,
        )
    return Table(filled.numeric, codes)


def improve_levels(
    model: FittedModel, table: Table, filled: Table, n_levels: IndexArray, n_jobs: int | None
) -> None:
    """Move the codes in `filled` that are missing in `table` to better ones (see `best_levels`).

    The numbers in `filled` stay as they are.
    """
    hidden = table.block(slice(None)).codes < 0
    rows = np.flatnonzero((hidden & (n_levels > 1)).any(axis=1))
    if rows.size:
        part = filled.take(rows)
        filled.codes[rows] = best_levels(
            lambda each, codes: joint_height(model, Table(part.numeric[each], codes), n_jobs),
            part.codes,
            hidden[rows],
            n_levels,
        )


def joint_height(model: FittedModel, table: Table, n_jobs: int | None) -> FloatArray:
    """log p(row, class) of the best class of each row."""
    return np.asarray((model.evidence(table, n_jobs) + model.log_prior).max(axis=1))


def best_levels(
    height: Height, codes: CodeArray, hidden: BoolArray, n_levels: IndexArray
) -> CodeArray:
    """Return rows with the best codes of their hidden cells.

    A row with at most `MOST_WAYS` ways to fill its hidden cells gets the best of all. In other rows
    the search begins at the given codes and goes on as long as a change of one cell helps; so no
    such change improves the result.
    """
    hidden = hidden & (codes >= 0) & (n_levels > 1)
    n_ways = count_ways(hidden, n_levels)
    codes = codes.copy()
    reached = height(np.arange(len(codes)), codes)
    some = np.flatnonzero((n_ways > 1) & (n_ways <= MOST_WAYS))
    if some.size:
        patterns, group = np.unique(hidden[some], axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            rows, places = some[group.reshape(-1) == number], np.flatnonzero(pattern)
            ways = np.indices(n_levels[places].tolist(), dtype=np.int32).reshape(len(places), -1).T
            _try_all(height, codes, reached, rows, places, ways)
    moving = np.flatnonzero(n_ways > MOST_WAYS)
    while moving.size:
        moving = _change_cells(height, codes, reached, moving, hidden, n_levels)
    return codes


def count_ways(hidden: BoolArray, n_levels: IndexArray) -> FloatArray:
    """Number of ways to fill the hidden cells of each row."""
    return np.asarray(np.where(hidden & (n_levels > 1), n_levels.astype(float), 1.0).prod(axis=1))


def _try_all(
    height: Height,
    codes: CodeArray,
    reached: FloatArray,
    rows: IndexArray,
    places: IndexArray,
    ways: CodeArray,
) -> None:
    """Give rows with the same hidden cells the best of some ways to fill these, in place."""
    size = max(1, BATCH // len(ways))
    for first in range(0, len(rows), size):
        part = rows[first : first + size]
        each = np.repeat(part, len(ways))
        trial = codes[each]
        trial[:, places] = np.tile(ways, (len(part), 1))
        found = height(each, trial).reshape(len(part), -1)
        best = found.argmax(axis=1)
        value = found[np.arange(len(part)), best]
        better = value > reached[part] + LEAST_RISE
        codes[part[better, None], places] = ways[best[better]]
        reached[part[better]] = value[better]


def _change_cells(
    height: Height,
    codes: CodeArray,
    reached: FloatArray,
    rows: IndexArray,
    hidden: BoolArray,
    n_levels: IndexArray,
) -> IndexArray:
    """Make the best change of one cell in each row, or all that help if that is better still.

    Returns the rows that changed.
    """
    changed = []
    for r in rows:
        places = np.flatnonzero(hidden[r])
        cells = np.repeat(places, n_levels[places] - 1)
        turn = np.concatenate([np.arange(1, n_levels[j]) for j in places])
        # each other level of a cell, one after the other
        level = (codes[r, cells] + turn) % n_levels[cells]
        found = np.concatenate(
            [
                _with_changes(height, codes, r, cells[span], level[span])
                for span in _spans(len(cells))
            ]
        )
        best = int(found.argmax())
        if not found[best] > reached[r] + LEAST_RISE:
            continue
        single, value = codes[r].copy(), found[best]
        single[cells[best]] = level[best]
        together = codes[r].copy()
        # of several levels of a cell, the best comes last and stays
        for i in np.argsort(found, kind="stable"):
            if found[i] > reached[r] + LEAST_RISE:
                together[cells[i]] = level[i]
        both = height(np.array([r]), together[None])[0]
        codes[r], reached[r] = (together, both) if both > value else (single, value)
        changed.append(r)
    return np.array(changed, dtype=np.intp)


def _spans(n: int) -> list[slice]:
    return [slice(first, first + BATCH) for first in range(0, n, BATCH)]


def _with_changes(
    height: Height, codes: CodeArray, row: int, cells: IndexArray, level: CodeArray
) -> FloatArray:
    """Heights of a row with one cell changed, for several cells."""
    trial = np.repeat(codes[[row]], len(cells), axis=0)
    trial[np.arange(len(cells)), cells] = level
    return height(np.full(len(cells), row), trial)
