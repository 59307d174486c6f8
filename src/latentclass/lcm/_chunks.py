"""Sums over chunks of rows, which are all that the linear model needs of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Schema, Table
from latentclass.engine._class_components import ComponentData, known_data, sum_features
from latentclass.engine._gaussian import (
    Moments,
    count_features,
    move_moments,
    pack_moments,
    unpack_moments,
)
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
    sums : array of shape (n_classes, n_features)
        Sums of the features of (x - centre) / unit by class.
    """

    about: Training
    centre: FloatArray
    unit: FloatArray
    sums: FloatArray


def begin_chunks(first: Training, n_jobs: int | None) -> Chunks:
    """No rows yet, in the units of the first chunk's columns."""
    _refuse_discrete(first.schema)
    scaling = measure(first, n_jobs).scaling
    shape = (first.n_classes, count_features(len(scaling.centre)))
    about = first.take(np.arange(0))
    return Chunks(about, scaling.centre, scaling.unit, np.zeros(shape))


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

    def visit(span: slice) -> FloatArray:
        numeric = table.block(span).numeric
        if np.isnan(numeric).any():
            row, column = np.argwhere(np.isnan(numeric))[0]
            name = schema.columns[schema.continuous[column]].name
            raise ValueError(
                f"Row {span.start + row} of the chunk has no value in column {name!r}, but chunks "
                "must be complete. Use fit, which integrates missing cells out."
            )
        rows = (numeric - chunks.centre) / chunks.unit
        return np.stack(
            [
                sum_features(rows[codes[span] == k], weight[None, span][:, codes[span] == k])[0]
                for k in range(n_classes)
            ]
        )

    parts = map_blocks(visit, table.spans(least=n_classes), n_jobs)
    return chunks._replace(sums=chunks.sums + sum(parts, np.zeros_like(chunks.sums)))


def chunk_data(chunks: Chunks) -> tuple[ComponentData, Measured]:
    """The sums as the E-step wants them, and how the columns are scaled."""
    moments = unpack_moments(chunks.sums)
    weight, total, square = (part.sum(axis=0) for part in moments)
    seen = np.full(len(total), weight)
    columns = ColumnSums(chunks.centre, chunks.unit, seen, total, np.diagonal(square))
    scaling = columns.scaling(np.ones(len(total), dtype=bool))
    varies = scaling.varies
    inside = Moments(
        moments.weight, moments.total[:, varies], moments.square[:, varies][:, :, varies]
    )
    moved = move_moments(inside, columns.mean[varies], columns.spread[varies])
    offsets = np.zeros(1, dtype=np.intp)
    no_levels = np.zeros((1, chunks.about.n_classes, 0))
    data = known_data(pack_moments(moved)[None], offsets, no_levels)
    return data, Measured(scaling, offsets, scaling.outside_log_likelihood(seen))
