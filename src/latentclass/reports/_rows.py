"""Rows worth a look: the hardest, the oddest, the most typical, and those to look up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Block
from latentclass.estimator._explanation import Explanation
from latentclass.reports._quality import COSTLY, HeldOut
from latentclass.reports._summary import Balance, Evidence, HeldOutAnswer, RowView
from latentclass.reports._summary import Rows as RowsFound
from latentclass.reports._table import Rows, draw
from latentclass.reports._text import cut, percent, plain

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

RARE, TOP_RARE = 0.05, 3
"""Share of the rows below which a cell of an odd row is called rare, and cells that are named."""


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
    unseen = np.full(proba.shape, np.nan)
    if held_out is not None:
        unseen[held_out.rows] = held_out.proba
    oddest = np.lexsort((density, np.where(np.isnan(unusual), np.inf, unusual)))[:N_SHOWN]
    view = _Viewer(model, rows, proba, unusual, unseen)
    return RowsFound(
        view.explained(_hardest(rows, unseen, proba)),
        tuple(
            replace(one, rare=rare_cells(rows, row))
            for one, row in zip(view.explained(oddest), oddest.tolist(), strict=True)
        ),
        view.explained(_typical(rows, unusual, unseen, proba)),
        view.listed(listed, told),
        rows.n_rows,
        len(rated),
        rows.id_name,
    )


def _hardest(rows: Rows, unseen: FloatArray, proba: FloatArray) -> IndexArray:
    """Rows that were wrong when held out, those sure of another class first.

    If none was wrong, the rows whose class got the least; without labels, the least certain.
    """
    asked = np.flatnonzero(~np.isnan(unseen).any(axis=1))
    if not len(asked):
        return np.argsort(proba.max(axis=1), kind="stable")[:N_SHOWN]
    wrong = asked[unseen[asked].argmax(axis=1) != rows.codes[asked]]
    if len(wrong):
        asked = wrong
    return asked[np.argsort(unseen[asked, rows.codes[asked]], kind="stable")[:N_SHOWN]]


def _typical(rows: Rows, unusual: FloatArray, unseen: FloatArray, proba: FloatArray) -> IndexArray:
    """For each class in turn, the row that is least unusual among those predicted right.

    Rows that were right when held out come first. A row with few cells is typical of nothing.
    """
    best = proba.argmax(axis=1)
    filled = np.mean([~np.isnan(rows.values(j)) for j in range(len(rows.columns))], axis=0)
    fits = ~np.isnan(unusual) & ((rows.codes < 0) | (rows.codes == best)) & (filled > 0.5)
    asked = ~np.isnan(unseen).any(axis=1)
    failed = np.zeros(rows.n_rows, dtype=bool)
    failed[asked] = unseen[asked].argmax(axis=1) != rows.codes[asked]
    found: list[int] = []
    queues = []
    for k in range(len(rows.classes)):
        mine = np.flatnonzero(fits & (best == k))
        queues.append(mine[np.lexsort((-proba[mine, k], -unusual[mine], failed[mine]))].tolist())
    while len(found) < N_SHOWN and any(queues):
        for queue in queues:
            if queue and len(found) < N_SHOWN:
                found.append(queue.pop(0))
    return np.array(found, dtype=np.intp)


def rare_cells(rows: Rows, row: int) -> tuple[str, ...]:
    """The rarest cells of a row, each by itself: far out in its column, or a rare category."""
    found = []
    for j, name in enumerate(rows.columns):
        values = rows.values(j)
        mine, seen = values[row], values[~np.isnan(values)]
        if np.isnan(mine):
            continue
        if j in rows.schema.continuous:
            above, below = float((seen >= mine).mean()), float((seen <= mine).mean())
            share, word = min((above, "or more"), (below, "or less"))
        else:
            share, word = float((seen == mine).mean()), ""
        cell = " ".join(filter(None, (cut(rows.cell(j, float(mine))), word)))
        if share < RARE:
            found.append((share, f"{cut(name)} = {cell} ({percent(share)} of the rows)"))
    return tuple(words for _, words in sorted(found)[:TOP_RARE])


class _Viewer:
    """Makes views of rows."""

    def __init__(
        self, model: Any, rows: Rows, proba: FloatArray, unusual: FloatArray, unseen: FloatArray
    ) -> None:
        self.model, self.rows = model, rows
        self.proba, self.unusual, self.unseen = proba, unusual, unseen

    def explained(self, places: IndexArray) -> tuple[RowView, ...]:
        """Rows with all their evidence and completion."""
        if not len(places):
            return ()
        part = self.rows.take(places)
        told = self.model.explain(part)
        completed = self.model.schema_.encode(self.model.complete(part), owner="report")
        filled = completed.block(slice(None))
        return tuple(
            self.view(int(row), told, k, TOP_CELLS, filled) for k, row in enumerate(places)
        )

    def listed(self, places: IndexArray, told: Explanation) -> tuple[RowView, ...]:
        """Rows with their strongest cells."""
        return tuple(self.view(int(row), told, k, FEW_CELLS) for k, row in enumerate(places))

    def view(
        self, row: int, told: Explanation, k: int, n_cells: int, filled: Block | None = None
    ) -> RowView:
        """A row, which is the k-th of an explanation and of a block of completed rows."""
        rows, weights = self.rows, told.weights[k]
        cells = rows.decode(rows.block, row)
        order = np.argsort(-np.abs(weights), kind="stable")
        known = [j for j in order.tolist() if cells[j]]
        strongest, others = known[:n_cells], known[n_cells:]
        evidence = [Evidence(rows.columns[j], cells[j], float(weights[j])) for j in strongest]
        if filled is not None:
            answers = rows.decode(filled, k)
            evidence += [
                Evidence(rows.columns[j], "", 0.0, answers[j])
                for j in range(len(cells))
                if not cells[j] and answers[j]
            ][:n_cells]
        start, log_odds = float(told.prior_log_odds[k]), float(told.log_odds[k])
        best = int(self.proba[row].argmax())
        code = int(rows.codes[row])
        return RowView(
            plain(rows.names[row]),
            rows.classes[code] if code >= 0 else "",
            rows.classes[best],
            float(self.proba[row, best]),
            self.held_out(row, code),
            None if np.isnan(self.unusual[row]) else float(self.unusual[row]),
            tuple(evidence),
            Balance(
                start,
                len(others),
                float(weights[others].sum()),
                log_odds - start - float(weights[known].sum()),
                log_odds,
            ),
            id=rows.ids[row] if rows.ids else "",
        )

    def held_out(self, row: int, code: int) -> HeldOutAnswer | None:
        """What a model that had not seen a row said about it."""
        answer = self.unseen[row]
        if code < 0 or np.isnan(answer).any():
            return None
        best = int(answer.argmax())
        return HeldOutAnswer(self.rows.classes[best], float(answer[best]), float(answer[code]))
