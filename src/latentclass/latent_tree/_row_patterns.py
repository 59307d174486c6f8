"""Rows for tree inference: the distinct rows of a table, in blocks, with patterns found in them.

Rows that agree in some columns are one pattern of these. Patterns are numbered once for a set of
columns and kept, since trees that are compared with each other share most of their parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.latent_tree._tree import Tree

BLOCK_ROWS = 5000
"""Distinct rows in a block, until there are `MAX_BLOCKS`."""

MAX_BLOCKS = 32
"""Most blocks; larger tables have larger blocks, which share more patterns."""

CACHE_CELLS = 2**26
"""Pattern numbers that a table of rows keeps for other trees, over all its blocks."""


class Pattern(NamedTuple):
    """Rows told apart by some of their columns.

    Attributes
    ----------
    ids : array of shape (n_rows,)
        Pattern of each row.
    first : array
        A row of each pattern.
    """

    ids: CodeArray
    first: IndexArray


class PatternBlock(NamedTuple):
    """Some distinct rows: codes, weights, and the patterns found in them so far."""

    codes: CodeArray
    weight: FloatArray
    patterns: dict[frozenset[int], Pattern]


@dataclass(frozen=True)
class RowPatterns:
    """A table's distinct rows, in blocks; made once for all trees.

    Attributes
    ----------
    blocks : tuple of PatternBlock
    index : array
        Place of each given row among the distinct ones.
    largest : array of shape (n_columns,)
        Largest code in each column.
    """

    blocks: tuple[PatternBlock, ...]
    index: IndexArray
    largest: CodeArray

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(sum(block.weight.sum() for block in self.blocks))

    def __len__(self) -> int:
        return len(self.index)


def group_rows(codes: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> RowPatterns:
    """Distinct rows of a table with their weights, ready for any tree.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        Codes from 0; -1 is a missing cell.
    weight : array of shape (n_rows,), optional
        Weights of at least 0; by default 1.

    Examples
    --------
    >>> rows = group_rows([[0, 1], [1, -1], [0, 1]], [1.0, 1.0, 2.0])
    >>> rows.blocks[0].codes.tolist(), rows.blocks[0].weight.tolist(), rows.index.tolist()
    ([[0, 1], [1, -1]], [3.0, 1.0], [0, 1, 0])
    """
    table = np.asarray(codes)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(
            f"codes must be a table of whole numbers (2 dimensions), but has {table.ndim} and "
            f"the type {table.dtype}."
        )
    if len(table) == 0:
        raise ValueError("codes has no rows; at least one is needed.")
    if table.size and (table.min() < -1 or table.max() >= 2**31 - 1):
        row, column = np.argwhere((table < -1) | (table >= 2**31 - 1))[0]
        raise ValueError(
            f"codes[{row}, {column}]={table[row, column]} must be a code from 0, or -1 if missing."
        )
    table = np.ascontiguousarray(table, dtype=np.int32)
    if weight is None:
        weights = np.ones(len(table))
    else:
        weights = np.asarray(weight, dtype=np.float64)
        if weights.shape != (len(table),):
            raise ValueError(
                f"weight has shape {weights.shape}, but must have ({len(table)},), one a row."
            )
        if not np.all((weights >= 0) & np.isfinite(weights)):
            bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))[0]
            raise ValueError(f"weight[{bad}]={weights[bad]} must be a number of at least 0.")
    largest = table.max(axis=0, initial=-1)
    # 0 for a missing cell
    found = number_rows(
        ((table[:, j] + 1, int(top) + 2) for j, top in enumerate(largest)), len(table)
    )
    total: FloatArray = np.bincount(found.ids, weights, len(found.first)).astype(np.float64)
    distinct = table[found.first]
    n_blocks = min(MAX_BLOCKS, -(-len(distinct) // BLOCK_ROWS))
    blocks = tuple(
        PatternBlock(part, w, {})
        for part, w in zip(
            np.array_split(distinct, n_blocks), np.array_split(total, n_blocks), strict=True
        )
    )
    return RowPatterns(blocks, found.ids.astype(np.intp), largest)


def number_rows(parts: Iterable[tuple[npt.NDArray[np.integer], int]], n_rows: int) -> Pattern:
    """Number the distinct rows of several columns of numbers, each with how many there may be.

    Numbers follow the lexicographic order of the columns.
    """
    key, size = np.zeros(n_rows, dtype=np.int64), 1
    for ids, n in parts:
        if size * n >= 2**62:
            found = _relabel(key, size)
            key, size = found.ids.astype(np.int64), len(found.first)
        key *= n
        key += ids
        size *= n
    return _relabel(key, size)


def _relabel(key: npt.NDArray[np.int64], size: int) -> Pattern:
    """Numbers without gaps, in the order of the keys."""
    n_rows = len(key)
    if size > 4 * n_rows + 1024:
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return Pattern(inverse.reshape(-1).astype(np.int32), first)
    present = np.zeros(size, dtype=bool)
    present[key] = True
    ids = (np.cumsum(present) - 1).astype(np.int32)[key]
    first = np.empty(int(present.sum()), dtype=np.intp)
    first[ids[::-1]] = np.arange(n_rows - 1, -1, -1)
    return Pattern(ids, first)


def trim_cache(rows: RowPatterns, block: PatternBlock) -> None:
    """Forget patterns when a block holds more than its part of `CACHE_CELLS`."""
    if len(block.patterns) * len(block.codes) * len(rows.blocks) > CACHE_CELLS:
        block.patterns.clear()


def check_columns(tree: Tree, rows: RowPatterns) -> None:
    for node, column in enumerate(tree.columns):
        if column >= len(rows.largest):
            raise ValueError(
                f"Node {node} shows column {column}, but codes has {len(rows.largest)} columns."
            )
        if column >= 0 and rows.largest[column] >= tree.cardinalities[node]:
            raise ValueError(
                f"Column {column} has the code {rows.largest[column]}, but node {node}, which "
                f"shows it, has the states 0 to {tree.cardinalities[node] - 1} only."
            )
