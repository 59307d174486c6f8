"""One schema from the schemas of several parts of a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latentclass._types import FloatArray
from latentclass.data._schema import Column, Kind, Schema, sort_labels

Counted = tuple[Schema, list[FloatArray]]
"""A schema, and the weight of each level of its discrete columns."""


def merge_schemas(first: Counted, other: Counted, name: str) -> Counted:
    """Merge the schema of a part called `name` into that of earlier parts."""
    (schema, _), (more, _) = first, other
    if schema.names != more.names:
        lacking = [column for column in schema.names if column not in more.names]
        extra = [column for column in more.names if column not in schema.names]
        what = f"lacks the columns {lacking}" if lacking else f"has the extra columns {extra}"
        if not lacking and not extra:
            what = "has the columns in another order"
        raise ValueError(
            f"Part {name!r} {what}. All parts need the columns of the first one: "
            f"{schema.names[:10]}."
        )
    columns, counts = [], []
    weights, more_weights = _by_position(first), _by_position(other)
    for j, (mine, new) in enumerate(zip(schema.columns, more.columns, strict=True)):
        column, count = _merge_columns(mine, new, weights.get(j), more_weights.get(j), name)
        columns.append(column)
        if count is not None:
            counts.append(count)
    return Schema(tuple(columns), schema.container, schema.header), counts


def _by_position(counted: Counted) -> dict[int, FloatArray]:
    schema, counts = counted
    return dict(zip(schema.discrete, counts, strict=True))


def _merge_columns(
    mine: Column, new: Column, count: FloatArray | None, more: FloatArray | None, name: str
) -> tuple[Column, FloatArray | None]:
    """One column of two parts, with the weight of its levels if it is discrete."""
    if not new.observed:
        return mine, count
    if not mine.observed:
        return new, more
    if count is None and more is None:
        whole = mine.whole and new.whole
        non_negative = mine.non_negative and new.non_negative
        return replace(mine, whole=whole, non_negative=non_negative), None
    if count is None or more is None:
        kinds = ("numbers", "text") if count is None else ("text", "numbers")
        raise ValueError(
            f"Column {mine.name!r} holds {kinds[1]} in part {name!r}, but {kinds[0]} before. "
            "Use one type in all parts."
        )
    levels = sort_labels({*mine.categories, *new.categories})
    place = {level: code for code, level in enumerate(levels)}
    total = np.zeros(len(levels))
    for column, weight in ((mine, count), (new, more)):
        total[[place[level] for level in column.categories]] += weight
    kind: Kind = "binary" if len(levels) == 2 else "nominal"
    return replace(mine, kind=kind, categories=tuple(levels)), total
