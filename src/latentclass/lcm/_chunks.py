"""Sums over chunks of rows, which are all that the linear model needs of them."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Schema, Table
from latentclass.engine._class_components import ComponentData, known_data, sum_classes
from latentclass.engine._gaussian import Moments, add_moments, move_moments, no_moments
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._gaussian_model import ColumnSums, Measured, measure
from latentclass.estimator._reading import Training


class Chunks(NamedTuple):
    """What is kept of all chunks so far.

    Attributes
    ----------
    about : Training
        Schema and classes, without any row.
    centre, unit : arrays of shape (n_columns,)
    sums : Moments with leading axes (1, n_classes)
        Those of (x - centre) / unit.
    """

    about: Training
    centre: FloatArray
    unit: FloatArray
    sums: Moments


def begin_chunks(first: Training, n_jobs: int | None) -> Chunks:
    """No rows yet, in the units of the first chunk's columns."""
    _refuse_discrete(first.schema)
    scaling = measure(first, n_jobs).scaling
    about = first.take(np.arange(0))
    nothing = no_moments((1, first.n_classes), len(scaling.centre))
    return Chunks(about, scaling.centre, scaling.unit, nothing)


def _refuse_discrete(schema: Schema) -> None:
    """Refuse tables with a discrete column."""
    if schema.discrete:
        name = schema.columns[schema.discrete[0]].name
        raise ValueError(
            f"Column {name!r} is discrete, but chunks must have continuous columns only. Use fit."
        )


def add_chunk(
    chunks: Chunks, table: Table, codes: IndexArray, weight: FloatArray, n_jobs: int | None
) -> Chunks:
    """Add complete rows with class codes and weights."""
    schema, n_classes = chunks.about.schema, chunks.about.n_classes

    def visit(span: slice) -> Moments:
        numeric = table.block(span).numeric
        if np.isnan(numeric).any():
            row, column = np.argwhere(np.isnan(numeric))[0]
            name = schema.columns[schema.continuous[column]].name
            raise ValueError(
                f"Row {span.start + row} of the chunk has no value in column {name!r}, but chunks "
                "must be complete. Use fit, which integrates missing cells out."
            )
        rows = (numeric - chunks.centre) / chunks.unit
        return sum_classes(rows, codes[span], weight[None, span], n_classes)

    parts = map_blocks(visit, table.spans(least=n_classes), n_jobs)
    return chunks._replace(sums=reduce(add_moments, parts, chunks.sums))


def chunk_data(chunks: Chunks) -> tuple[ComponentData, Measured]:
    """The sums as the E-step wants them, and how the columns are scaled."""
    weight, total, square = (part[0].sum(axis=0) for part in chunks.sums)
    seen = np.full(len(total), weight)
    columns = ColumnSums(chunks.centre, chunks.unit, seen, total, np.diagonal(square))
    scaling = columns.scaling(np.ones(len(total), dtype=bool))
    varies = scaling.varies
    sums = chunks.sums
    inside = Moments(sums.weight, sums.total[..., varies], sums.square[..., varies, :][..., varies])
    known = move_moments(inside, columns.mean[varies], columns.spread[varies])
    offsets = np.zeros(1, dtype=np.intp)
    no_levels = np.zeros((1, chunks.about.n_classes, 0))
    data = known_data(known, offsets, no_levels)
    return data, Measured(scaling, offsets, scaling.outside_log_likelihood(seen))
