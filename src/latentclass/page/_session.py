"""All that the page can ask for, by name: from the JSON of a request to plain values."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from latentclass.data._read import as_frame
from latentclass.page._answers import Asked, Form, Refused, values_of
from latentclass.page._images import Images
from latentclass.page._rows import MOST_COLUMNS, RowTable
from latentclass.page._structure import Shown
from latentclass.reports._summary import plain_values
from latentclass.reports._table import Rows, read_rows
from latentclass.reports._text import plain

N_DRAWN = 400
"""Rows drawn from the model for its pictures, if no data was given."""


class Session:
    """One model, or two side by side, with the rows and whatever else the page shows.

    Parameters
    ----------
    model : fitted classifier
    X, y, index
        The data, as `latentclass.report` takes it; X may be None.
    beside : fitted classifier, optional
    names : (str, str), optional
        What the models are called on the page.
    target : str
    image : (int, int), optional
        Height and width, if a row is an image.
    save : function, optional
        Writes the model to its file.
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        index: Any = None,
        beside: Any = None,
        names: tuple[str, str] | None = None,
        target: str = "",
        image: tuple[int, int] | None = None,
        save: Callable[[], Path] | None = None,
    ) -> None:
        models = [model] if beside is None else [model, beside]
        titles = names or tuple(type(one).__name__ for one in models)
        if names is None and beside is not None and titles[0] == titles[1]:
            titles = (f"{titles[0]} (first)", f"{titles[1]} (second)")
        self.lock = threading.RLock()
        self.asked = [Asked(one, title) for one, title in zip(models, titles, strict=True)]
        self.has_data = X is not None
        drawn = X if X is not None else model.sample(N_DRAWN, random_state=0)[0]
        self.rows = read_rows(model, own_columns(model, drawn), y, index)
        self.beside_rows = None
        if beside is not None and X is not None:
            own = own_columns(beside, X)
            self.beside_rows = Rows(own, beside.schema_, beside._read(own), self.rows.codes, [], [])
        decimals: dict[str, int] = {}
        for rows in filter(None, (self.beside_rows, self.rows)):
            decimals |= {rows.schema.names[j]: n for j, n in rows.decimals.items()}
        self.form = Form.of(models, decimals)
        self.table = RowTable(self.rows, self.asked[0], self.lock) if self.has_data else None
        self.target = plain(target)
        self.images = Images(self.asked, image, self.rows) if image is not None else None
        self.shown = Shown(model, self.rows, drawn=not self.has_data)
        self._save = save

    # -------------------------------------------------------------- questions

    def about(self, _: dict[str, Any]) -> dict[str, Any]:
        """What the page needs before anything is asked."""
        return {
            "models": [
                {"name": one.name, "about": one.model.summary().about, "classes": one.classes,
                 "columns": [field.name in one.columns for field in self.form.fields]}
                for one in self.asked
            ],
            "target": self.target,
            "fields": [field.describe() for field in self.form.fields],
            "n_rows": self.rows.n_rows if self.has_data else 0,
            "labelled": self.has_data and bool(len(self.rows.labelled)),
            "columns": self.rows.columns[:MOST_COLUMNS],
            "n_columns": len(self.rows.columns),
            "image": None if self.images is None else self.images.describe(),
            "can_rename": self.shown.can_rename,
            "can_save": self._save is not None,
            "has_rules": self.shown.has_rules,
        }  # fmt: skip

    def row(self, body: dict[str, Any]) -> dict[str, Any]:
        """The cells of a row of the data, by its place or its name."""
        place = self._named(body["name"]) if "name" in body else self._place(body)
        values: dict[str, Any] = {}
        for rows in filter(None, (self.beside_rows, self.rows)):
            values |= values_of(rows.schema, rows.table, place)
        code = int(self.rows.codes[place])
        return {
            "name": self.rows.names[place],
            "label": self.rows.classes[code] if code >= 0 else "",
            "cells": [one.write(values.get(one.name)) for one in self.form.fields],
        }

    def _place(self, body: dict[str, Any]) -> int:
        return whole(body, "row", 0, self.rows.n_rows - 1 if self.has_data else -1)

    def _named(self, name: Any) -> int:
        """The place of the first row with a name."""
        names = self.rows.names if self.has_data else []
        for place, one in enumerate(names):
            if one == str(name).strip():
                return place
        such = f" One of the names is {names[0]!r}." if len(names) else ""
        raise Refused(f"No row has the name {str(name)[:60]!r}.{such}")

    def ask(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """What each model says about a row."""
        row = self.form.read(body.get("cells"))
        with self.lock:
            return [one.ask(row, self.form) for one in self.asked]

    def why(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The evidence in a row, for each model."""
        row = self.form.read(body.get("cells"))
        with self.lock:
            return [one.why(row, self.form) for one in self.asked]

    def page(self, body: dict[str, Any]) -> dict[str, Any]:
        """Some rows of the data."""
        if self.table is None:
            raise Refused("No data was given, so there are no rows.")
        search, sort = body.get("search", ""), body.get("sort", "row")
        if not isinstance(search, str) or not isinstance(sort, str | int):
            raise Refused("search must be text, and sort a name or the place of a column.")
        start = whole(body, "start", 0, 10**9)
        return self.table.page(start, whole(body, "count", 1, 10**9), sort,
                               body.get("down") is True, search)  # fmt: skip

    def structure(self, _: dict[str, Any]) -> dict[str, Any]:
        """What the model found, as HTML of the report's own template."""
        with self.lock:
            return self.shown.describe()

    def latent(self, body: dict[str, Any]) -> dict[str, Any]:
        """The groups of a latent variable."""
        with self.lock:
            return self.shown.latent(text(body, "name"))

    def fires(self, body: dict[str, Any]) -> dict[str, Any]:
        """The rules that hold in a row."""
        row = self.form.read(body.get("cells"))
        with self.lock:
            return self.shown.fires(self.asked[0].table(row))

    def rename(self, body: dict[str, Any]) -> dict[str, Any]:
        """Give a latent variable another name."""
        with self.lock:
            return self.shown.rename(text(body, "name"), text(body, "new"))

    def save(self, _: dict[str, Any]) -> dict[str, Any]:
        """Write the model with its new names to the file that it came from."""
        if self._save is None:
            raise Refused("The model has no file. Save it in Python: latentclass.save(model, ...).")
        with self.lock:
            return {"saved": plain(self._save().name)}

    def draw(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """What each model makes of an image of which some pixels are seen."""
        if self.images is None:
            raise Refused("The rows of this model are not images.")
        pixels = self.images.read(body.get("pixels"))
        with self.lock:
            return self.images.answer(pixels)

    def image(self, body: dict[str, Any]) -> dict[str, Any]:
        """An image of the data."""
        if self.images is None or not self.has_data:
            raise Refused("There is no image to show.")
        return self.images.of_row(whole(body, "row", 0, self.rows.n_rows - 1))

    # ------------------------------------------------------------- for the server

    def answer(self, name: str, body: dict[str, Any]) -> Any:
        """Answer a question by its name."""
        if self.table is not None:
            self.table.stand_back()
        return plain_values(getattr(self, name)(body))

    def stop(self) -> None:
        """End what is done in the background."""
        if self.table is not None:
            self.table.stop()


QUESTIONS = ("about", "row", "ask", "why", "page", "structure", "latent", "fires", "rename",
             "save", "draw", "image")  # fmt: skip
"""The questions that the page may ask; nothing else can be called."""


def whole(body: dict[str, Any], name: str, low: int, high: int) -> int:
    """A whole number of a request, within its range."""
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(f"{name} must be a whole number from {low} to {high}.")
    return value


def text(body: dict[str, Any], name: str, most: int = 200) -> str:
    """A text of a request, neither empty nor long."""
    value = body.get(name)
    if not isinstance(value, str) or not 0 < len(value.strip()) <= most:
        raise Refused(f"{name} must be a text of 1 to {most} characters.")
    return value.strip()


def own_columns(model: Any, X: Any) -> Any:
    """The columns of a model from a table with names; another model may have brought more."""
    frame = nw.from_native(as_frame(X), eager_only=True, pass_through=True)
    names = model.schema_.names
    if not isinstance(frame, nw.DataFrame) or not model.schema_.named or frame.columns == names:
        return X
    return frame.select(names).to_native() if set(names) <= set(frame.columns) else X
