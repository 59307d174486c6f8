"""Rows worth a look: the hardest, the oddest, the most typical, and those to look up."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Block
from latentclass.estimator._explanation import Explanation
from latentclass.reports._quality import COSTLY, HeldOut
from latentclass.reports._summary import Evidence, RowView
from latentclass.reports._summary import Rows as RowsFound
from latentclass.reports._table import Rows, draw
from latentclass.reports._text import plain

N_SHOWN = 4
"""Rows of each sort."""

MOST_RATED, N_DRAWS = 1000, 500
"""Rows that are rated by how unusual they are, and rows drawn from the model for it."""

MOST_LISTED, MOST_EXPLAINED_CELLS = 1000, 100_000
"""Rows that can be looked up; fewer if they have many cells."""

MOST_ASKED_CELLS = 1_000_000
"""Cells of all copies of these rows, each without one cell, for models that are slow to ask."""

TOP_CELLS, FEW_CELLS = 6, 5
"""Cells shown of a row worth a look, and of one that is looked up."""


def choose_listed(model: Any, rows: Rows) -> IndexArray:
    """The rows that can be looked up. The weights of columns are means over them."""
    n_columns = max(len(rows.columns), 1)
    most = min(MOST_LISTED, max(MOST_EXPLAINED_CELLS // n_columns, 50))
    if type(model).__name__ in COSTLY:  # asks the model about the row without each of its cells
        most = min(most, max(MOST_ASKED_CELLS // n_columns**2, 30))
    return draw(np.arange(rows.n_rows), most)


def find_rows(
    model: Any,
    rows: Rows,
    held_out: HeldOut | None,
    listed: IndexArray,
    told: Explanation,
    proba: FloatArray,
) -> RowsFound:
    """All rows that the page shows; `proba` are the answers of the model to all rows."""
    rated = draw(np.arange(rows.n_rows), MOST_RATED)
    unusual = np.full(rows.n_rows, np.nan)
    some = rows.take(rated)
    unusual[rated] = model.unusual(some, n_draws=N_DRAWS)
    density = np.full(rows.n_rows, np.inf)
    density[rated] = model.score_samples(some)
    of_truth = np.full(rows.n_rows, np.nan)
    if held_out is not None:
        here = np.arange(len(held_out.rows))
        of_truth[held_out.rows] = held_out.proba[here, rows.codes[held_out.rows]]
    hardest = _hardest(of_truth, proba)
    oddest = np.lexsort((density, np.where(np.isnan(unusual), np.inf, unusual)))[:N_SHOWN]
    typical = _typical(rows, unusual, proba)
    view = _Viewer(model, rows, proba, unusual, of_truth)
    return RowsFound(
        view.explained(hardest),
        view.explained(oddest),
        view.explained(typical),
        view.listed(listed, told),
        rows.n_rows,
        len(rated),
    )


def _hardest(of_truth: FloatArray, proba: FloatArray) -> IndexArray:
    """Rows whose true class got the least probability; without labels, the least certain."""
    score = proba.max(axis=1) if np.isnan(of_truth).all() else of_truth
    order = np.argsort(np.where(np.isnan(score), np.inf, score), kind="stable")[:N_SHOWN]
    return order[np.isfinite(score[order])]


def _typical(rows: Rows, unusual: FloatArray, proba: FloatArray) -> IndexArray:
    """For each class in turn, the row that is least unusual among those predicted right."""
    best = proba.argmax(axis=1)
    fits = ~np.isnan(unusual) & ((rows.codes < 0) | (rows.codes == best))
    found: list[int] = []
    queues = []
    for k in range(len(rows.classes)):
        mine = np.flatnonzero(fits & (best == k))
        queues.append(mine[np.lexsort((-proba[mine, k], -unusual[mine]))].tolist())
    while len(found) < N_SHOWN and any(queues):
        for queue in queues:
            if queue and len(found) < N_SHOWN:
                found.append(queue.pop(0))
    return np.array(found, dtype=np.intp)


class _Viewer:
    """Makes views of rows."""

    def __init__(
        self, model: Any, rows: Rows, proba: FloatArray, unusual: FloatArray, of_truth: FloatArray
    ) -> None:
        self.model, self.rows = model, rows
        self.proba, self.unusual, self.of_truth = proba, unusual, of_truth

    def explained(self, places: IndexArray) -> tuple[RowView, ...]:
        """Rows with all their evidence and completion."""
        if not len(places):
            return ()
        part = self.rows.take(places)
        told = self.model.explain(part)
        completed = self.model.schema_.encode(self.model.complete(part), owner="report")
        filled = completed.block(slice(None))
        return tuple(
            self.view(int(row), told.weights[k], TOP_CELLS, (filled, k))
            for k, row in enumerate(places)
        )

    def listed(self, places: IndexArray, told: Explanation) -> tuple[RowView, ...]:
        """Rows with their strongest cells."""
        return tuple(
            self.view(int(row), told.weights[k], FEW_CELLS) for k, row in enumerate(places)
        )

    def view(
        self, row: int, weights: FloatArray, n_cells: int, filled: tuple[Block, int] | None = None
    ) -> RowView:
        rows = self.rows
        cells = rows.decode(rows.block, row)
        order = np.argsort(-np.abs(weights), kind="stable")
        strongest = [j for j in order.tolist() if cells[j]][:n_cells]
        evidence = [Evidence(rows.columns[j], cells[j], float(weights[j])) for j in strongest]
        if filled is not None:
            answers = rows.decode(*filled)
            evidence += [
                Evidence(rows.columns[j], "", 0.0, answers[j])
                for j in range(len(cells))
                if not cells[j] and answers[j]
            ][:n_cells]
        best = int(self.proba[row].argmax())
        code = int(rows.codes[row])
        return RowView(
            plain(rows.names[row]),
            rows.classes[code] if code >= 0 else "",
            rows.classes[best],
            float(self.proba[row, best]),
            _known(self.of_truth[row]),
            _known(self.unusual[row]),
            tuple(evidence),
        )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
