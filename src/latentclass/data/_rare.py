"""Levels that stand for several values: for rare ones, and for those not seen in `fit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.data._schema import Column, Kind, Schema, Table, table_column

MANY_VALUES = 256
"""In a discrete column with more values than this, those that are rare share one level."""

RARE_COUNT = 5
"""Values of such a column that weigh less than this many rows are rare."""

RARE_LEVEL = "rare values"
"""What the level of the rare values is called."""

UNSEEN_LEVEL = "values not seen in fit"
"""What the level of unseen values is called."""


def share_rare_level(
    schema: Schema, table: Table, weight: FloatArray, most_levels: int | None
) -> tuple[Schema, Table]:
    """Let the rare values of columns with very many values share one level, the last of each.

    Such a value says next to nothing about the classes, but a model would give it a parameter in
    each class, or even one for each pair of values. For models whose cost grows with pairs of
    levels, `most_levels` is the most that such a column may have: the values beyond the most common
    ones then share the last level too.
    """
    if not (schema.n_levels > MANY_VALUES).any():
        return schema, table
    merged = merge_rare_levels(schema, level_counts(schema, table, weight), most_levels)
    codes = np.array(table.codes)
    for place, j in enumerate(schema.discrete):
        before, after = schema.columns[j], merged.columns[j]
        if after is not before:
            known = {value: code for code, value in enumerate(after.values)}
            last = len(after.categories) - 1
            level = [min(known[value], last) for value in before.categories]
            # code -1 selects the entry at the end
            codes[:, place] = np.array([*level, -1], dtype=np.int32)[codes[:, place]]
    return merged, Table(table.numeric, codes)


def level_counts(schema: Schema, table: Table, weight: FloatArray) -> list[FloatArray]:
    """Weight of each level of each discrete column."""
    counts = []
    for place, n_values in enumerate(schema.n_levels.tolist()):
        coded = table_column(table.codes, place)
        seen = coded >= 0
        counts.append(np.bincount(coded[seen], weight[seen], n_values).astype(np.float64))
    return counts


def merge_rare_levels(schema: Schema, counts: list[FloatArray], most_levels: int | None) -> Schema:
    """The schema in which rare values share a level; see `share_rare_level`."""
    columns = list(schema.columns)
    for j, weights in zip(schema.discrete, counts, strict=True):
        n_values = len(columns[j].categories)
        if n_values <= MANY_VALUES:
            continue
        count = np.round(weights, 9)  # because ten times 0.1 is not quite 1
        order = np.argsort(-count, kind="stable")
        n_own = int(np.count_nonzero(count >= RARE_COUNT))
        if most_levels is not None:
            n_own = min(n_own, most_levels - 1)
        if n_values - n_own > 1:
            own, rare = np.sort(order[:n_own]), order[n_own:]
            columns[j] = _merged(columns[j], own, rare, count[rare])
    return Schema(tuple(columns), schema.container, schema.header)


def spare_levels(schema: Schema) -> Schema:
    """The schema in which each discrete column has one more category, for unseen values.

    Yes/no columns and companions that have both values have none: they can hold no other.
    """
    if schema.container == "sparse":
        return schema
    columns = tuple(
        replace(column, kind=kind_of(len(column.categories) + 1), spare=True,
                categories=(*column.categories, _unused_name(column.categories)))
        if column.categories and not (column.spare or column.marks or _is_whole(column))
        else column
        for column in schema.columns
    )  # fmt: skip
    return Schema(columns, schema.container, schema.header)


def _unused_name(categories: tuple[Any, ...]) -> str:
    name = UNSEEN_LEVEL
    while name in categories:
        name += " (other)"
    return name


def _is_whole(column: Column) -> bool:
    return len(column.categories) == 2 and all(type(one) is bool for one in column.categories)


def kind_of(n_levels: int) -> Kind:
    """How a discrete column with so many levels is read."""
    return "binary" if n_levels == 2 else "nominal"


def _merged(column: Column, own: IndexArray, rare: IndexArray, count: FloatArray) -> Column:
    """The column with its rare values, given by their codes and counts, in one level."""
    levels = (*(column.categories[code] for code in own.tolist()), RARE_LEVEL)
    return replace(
        column,
        kind=kind_of(len(levels)),
        categories=levels,
        rare=tuple(column.categories[code] for code in rare.tolist()),
        rare_shares=tuple((count / count.sum()).tolist()),
    )
