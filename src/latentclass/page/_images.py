"""Rows that are images in black and white: what models make of the pixels that are seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.data._schema import Table
from latentclass.engine._small import compiled_always
from latentclass.estimator._fitted import to_log_posterior
from latentclass.page._answers import Asked, Refused
from latentclass.reports._table import Rows

DIGITS = 3
"""Decimals of a probability that is sent for each pixel."""


class Images:
    """Images of one size, and the models that are asked about them.

    Parameters
    ----------
    asked : list of Asked
        The columns of each are the pixels, line by line, with two categories or one.
    shape : (int, int)
        Height and width.
    rows : Rows
        Images that can be looked at.
    """

    def __init__(self, asked: Sequence[Asked], shape: tuple[int, int], rows: Rows) -> None:
        self._asked, self.shape, self._rows = asked, shape, rows
        for one in asked:
            check_pixels(one.model, shape)
        # whatever must be compiled is, before somebody draws
        self.answer([None] * (shape[0] * shape[1]))

    def describe(self) -> dict[str, Any]:
        """What the page needs to know."""
        return {"height": self.shape[0], "width": self.shape[1]}

    def read(self, pixels: Any) -> list[int | None]:
        """Pixels that the page sends: 1 is ink, 0 is paper, null is not seen."""
        n = self.shape[0] * self.shape[1]
        if not isinstance(pixels, list) or len(pixels) != n:
            raise Refused(f"pixels must be a list of {n}: one for each pixel, line by line.")
        if not all(one is None or (type(one) is int and one in (0, 1)) for one in pixels):
            raise Refused("A pixel is 1 (ink), 0 (paper) or null (not seen).")
        return pixels

    def answer(self, pixels: list[int | None]) -> list[dict[str, Any]]:
        """Class probabilities, chances of ink, and a likely image, for each model."""
        with compiled_always():  # one row is little work for them, but many in turn are not
            return [_look(one.model, pixels) for one in self._asked]

    def of_row(self, place: int) -> dict[str, Any]:
        """An image of the data: its pixels and its class."""
        codes = np.asarray(self._rows.table.block(slice(place, place + 1)).codes)[0]
        code = int(self._rows.codes[place])
        return {
            "pixels": [None if one < 0 else int(one == 1) for one in codes],
            "label": self._rows.classes[code] if code >= 0 else "",
        }


def check_pixels(model: Any, shape: tuple[int, int]) -> None:
    """Refuse a model whose columns are not the pixels of such an image."""
    columns = model.schema_.columns
    if len(columns) != shape[0] * shape[1]:
        raise ValueError(
            f"image={shape} has {shape[0] * shape[1]} pixels, but the model has {len(columns)} "
            "columns. Pass the height and width of its images."
        )
    for column in columns:
        if column.kind == "continuous" or len(column.categories) > 2:
            raise ValueError(
                f"image needs pixels of two values, but column {column.name!r} is "
                f"{column.kind}. Fit the model to images in black and white."
            )


def _look(model: Any, pixels: list[int | None]) -> dict[str, Any]:
    codes = np.array([[-1 if one is None else one for one in pixels]], dtype=np.int32)
    levels = model.schema_.n_levels
    codes[0, (levels < 2) & (codes[0] > 0)] = -1  # a pixel that was never ink says nothing
    table = Table(np.empty((1, 0)), codes)
    fitted = model._model
    if hasattr(fitted, "glance"):
        seen = fitted.glance(table.block(slice(None)))
        log_posterior = to_log_posterior(seen.evidence, fitted.log_prior, model.temperature_)
        chances, likely = seen.chances, seen.codes
    else:
        log_posterior = model._log_posterior(table, None)
        chances = fitted.level_chances(table, levels, model.n_jobs)
        likely = fitted.completion(table, "most_probable", model._posterior, model.n_jobs).codes
    expected = np.array([one[0, 1] if one.shape[1] > 1 else 0.0 for one in chances])
    return {
        "proba": np.exp(log_posterior[0]).tolist(),
        "best": int(log_posterior[0].argmax()),
        "expected": np.round(_seen_first(pixels, expected), DIGITS).tolist(),
        "likely": _bits(pixels, likely),
    }


def _seen_first(pixels: list[int | None], guess: FloatArray) -> FloatArray:
    return np.array([g if p is None else p for p, g in zip(pixels, guess, strict=True)])


def _bits(pixels: list[int | None], codes: CodeArray) -> list[int]:
    return [int(c == 1) if p is None else p for p, c in zip(pixels, codes[0], strict=True)]
