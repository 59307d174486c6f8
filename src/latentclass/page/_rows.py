"""The rows of the data, page by page: sorted, searched and rated on the server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from typing import Any

import numpy as np

from latentclass._types import BoolArray, IndexArray
from latentclass.page._answers import Asked, Refused
from latentclass.reports._table import Rows
from latentclass.reports._text import cut, plain

MOST_ON_A_PAGE, MOST_COLUMNS, MOST_ORDERS = 200, 12, 16
"""Rows and columns of a page, and orders of all rows that are kept."""

LONGEST_SEARCH = 200
BEFORE = ("row", "class", "predicted", "probability", "unusual")
"""What a row can be sorted by, beside its columns."""

FIRST_BLOCK, MOST_BLOCK, ENOUGH = 32, 4096, 0.03
"""Rows that are rated at once; more of them as long as that takes less than so many seconds."""

QUIET = 0.2
"""Seconds without a question after which the next rows are rated."""


class RowTable:
    """A table with the answers of a model to its rows, which come in the background.

    Parameters
    ----------
    rows : Rows
    asked : Asked
    lock : Lock
        Held while the model is asked.
    """

    def __init__(self, rows: Rows, asked: Asked, lock: threading.RLock) -> None:
        self.rows, self._asked, self._lock = rows, asked, lock
        n = rows.n_rows
        self.predicted = np.full(n, -1, dtype=np.int32)
        self.probability = np.full(n, np.nan)
        self.unusual = np.full(n, np.nan)
        self.n_rated = 0
        self._orders: OrderedDict[tuple[Any, ...], IndexArray] = OrderedDict()
        self._names: Any = None
        self._asked_at = 0.0
        self._stop = threading.Event()
        self._rater = threading.Thread(target=self._rate_all, daemon=True, name="rate rows")

    # ------------------------------------------------------------- background

    def stop(self) -> None:
        """Let the thread that rates the rows end."""
        self._stop.set()

    def stand_back(self) -> None:
        """Let the thread wait a moment: somebody asks."""
        self._asked_at = time.monotonic()

    def _rate_all(self) -> None:
        place, size = 0, FIRST_BLOCK
        while place < self.rows.n_rows and not self._stop.is_set():
            while time.monotonic() - self._asked_at < QUIET and not self._stop.is_set():
                time.sleep(QUIET / 4)
            began = time.perf_counter()
            self.rate(np.arange(place, min(place + size, self.rows.n_rows)))
            place += size
            if time.perf_counter() - began < ENOUGH and size < MOST_BLOCK:
                size *= 2

    def rate(self, places: IndexArray) -> None:
        """Predict some rows, if that has not been done."""
        new = places[self.predicted[places] < 0]
        if not len(new):
            return
        with self._lock:
            proba = np.asarray(self._asked.model.predict_proba(self.rows.take(new)))
            self.unusual[new] = self._asked.unusual(self.rows.table.take(new))
        self.probability[new] = proba.max(axis=1)
        self.predicted[new] = proba.argmax(axis=1)
        self.n_rated = int((self.predicted >= 0).sum())

    # ------------------------------------------------------------------ pages

    def page(self, start: int, count: int, sort: Any, down: bool, search: str) -> dict[str, Any]:
        """Some rows in an order, as text, and how many rows there are in it."""
        if not 1 <= count <= MOST_ON_A_PAGE or start < 0:
            raise Refused(f"A page has 1 to {MOST_ON_A_PAGE} rows and starts at row 0 or later.")
        if self._rater.ident is None:  # who never looks at the rows need not wait for them
            with contextlib.suppress(RuntimeError):  # another thread was quicker
                self._rater.start()
        order = self._order(sort, down, search)
        places = order[start : start + count]
        self.rate(places)
        return {
            "total": len(order),
            "start": start,
            "rows": [self._row(int(place)) for place in places],
            "n_rows": self.rows.n_rows,
            "rated": self.n_rated,
        }

    def _row(self, place: int) -> list[Any]:
        rows = self.rows
        code = int(rows.codes[place])
        cells = rows.decode(rows.block, place)[:MOST_COLUMNS]
        return [
            place,
            cut(rows.names[place], 60),
            rows.classes[code] if code >= 0 else "",
            rows.classes[self.predicted[place]],
            float(self.probability[place]),
            float(self.unusual[place]),
            *(cut(cell, 60) for cell in cells),
        ]

    def _order(self, sort: Any, down: bool, search: str) -> IndexArray:
        key = (sort, down, search, self.n_rated if sort in BEFORE[2:] else 0)
        found = self._orders.get(key)
        if found is None:
            places = np.flatnonzero(self._matching(search)) if search else None
            found = self._sorted(sort, down, places)
            self._orders[key] = found
            while len(self._orders) > MOST_ORDERS:
                self._orders.popitem(last=False)
        return found

    def _sorted(self, sort: Any, down: bool, places: IndexArray | None) -> IndexArray:
        """Places by a value; those without one come last, and equal ones as in the table."""
        places = np.arange(self.rows.n_rows) if places is None else places
        if sort == "row":
            return places[::-1] if down else places
        values = self._values(sort)[places]
        unknown = np.isnan(values)
        order = np.lexsort((np.where(unknown, 0, -values if down else values), unknown))
        return np.asarray(places[order])

    def _values(self, sort: Any) -> Any:
        if sort == "class":
            return np.where(self.rows.codes < 0, np.nan, self.rows.codes)
        if sort == "predicted":
            return np.where(self.predicted < 0, np.nan, self.predicted)
        if sort in ("probability", "unusual"):
            return getattr(self, sort)
        if isinstance(sort, bool) or not isinstance(sort, int):
            raise Refused(f"sort must be one of {', '.join(BEFORE)} or the place of a column.")
        if not 0 <= sort < len(self.rows.columns):
            raise Refused(f"There are {len(self.rows.columns)} columns; {sort} is not one of them.")
        return self.rows.values(sort)

    def _matching(self, search: str) -> BoolArray:
        """Rows with the text in their name, class or a category, or with the number in a cell."""
        rows, text = self.rows, search.strip().lower()
        if len(text) > LONGEST_SEARCH:
            raise Refused(f"The search has more than {LONGEST_SEARCH} characters. Shorten it.")
        if self._names is None:
            self._names = np.array([name.lower() for name in rows.names], dtype=np.str_)
        found: BoolArray = np.char.find(self._names, text) >= 0
        hits = [k for k, name in enumerate(rows.classes) if text in name.lower()]
        found |= np.isin(rows.codes, hits)
        for place, j in enumerate(rows.schema.discrete):
            names = rows.schema.columns[j].categories
            hits = [k for k, name in enumerate(names) if text in plain(name).lower()]
            if hits:
                found |= np.isin(rows.block.codes[:, place], hits)
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            return found
        if np.isfinite(value):
            digits = np.array([rows.decimals[j] for j in rows.schema.continuous], dtype=float)
            near = 0.5 * 10.0**-digits  # as the page shows the numbers
            found |= (np.abs(rows.block.numeric - value) <= near).any(axis=1)
        return found
