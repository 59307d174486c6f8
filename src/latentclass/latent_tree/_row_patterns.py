"""Rows for tree inference: the distinct rows of a table, in blocks, and the patterns in them.

Rows that agree in a set of columns have the same pattern of these columns. Patterns are numbered
once per set of columns and kept, because the trees that a search compares share most of their
parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.latent_tree._tree import Tree

PlaceArray = npt.NDArray[np.uint32]
"""Positions of patterns. Unsigned, because numba tests signed indices for negative values."""

BLOCK_ROWS = 5000
"""Distinct rows per block, as long as that gives at most `MAX_BLOCKS` blocks."""

MAX_BLOCKS = 32
"""Maximum number of blocks. Larger tables have larger blocks, whose rows share more patterns."""

CACHE_NUMBERS = 2**26
"""Maximum number of pattern numbers kept for other trees, summed over all blocks of a table."""


class Pattern(NamedTuple):
    """The patterns of a set of columns.

    Attributes
    ----------
    ids : array of shape (n_rows,)
        Pattern of each row.
    first : array of shape (n_patterns,)
        One row that has each pattern.
    """

    ids: CodeArray
    first: IndexArray


class PatternBlock(NamedTuple):
    """A block of distinct rows: codes, weights, and the patterns found so far."""

    codes: CodeArray
    weight: FloatArray
    patterns: dict[frozenset[int], Pattern]


@dataclass(frozen=True)
class RowPatterns:
    """The distinct rows of a table, in blocks. They are made once for all trees.

    Attributes
    ----------
    blocks : tuple of PatternBlock
    index : array of shape (n_rows,)
        Position of each row of the table among the distinct rows.
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
    """Find the distinct rows of a table and their weights.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        Codes 0, 1, ...; -1 is a missing cell.
    weight : array of shape (n_rows,), optional
        Non-negative weights; 1 by default.

    Examples
    --------
    >>> rows = group_rows([[0, 1], [1, -1], [0, 1]], [1.0, 1.0, 2.0])
    >>> rows.blocks[0].codes.tolist(), rows.blocks[0].weight.tolist(), rows.index.tolist()
    ([[0, 1], [1, -1]], [3.0, 1.0], [0, 1, 0])
    """
    table = _checked_codes(codes)
    weights = np.ones(len(table)) if weight is None else _checked_weights(weight, len(table))
    largest = table.max(axis=0, initial=-1)
    # one is added so that a missing cell is 0
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


def _checked_codes(codes: npt.ArrayLike) -> CodeArray:
    table = np.asarray(codes)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(
            f"codes has {table.ndim} dimensions and the type {table.dtype}, but must be a table "
            "(2 dimensions) of whole numbers."
        )
    if len(table) == 0:
        raise ValueError("codes has no rows. Pass at least one.")
    if table.size and (table.min() < -1 or table.max() >= 2**31 - 1):
        row, column = np.argwhere((table < -1) | (table >= 2**31 - 1))[0]
        raise ValueError(
            f"codes[{row}, {column}]={table[row, column]} must be a code from 0 to 2**31 - 2, or "
            "-1 for a missing cell."
        )
    return np.ascontiguousarray(table, dtype=np.int32)


def _checked_weights(weight: npt.ArrayLike, n_rows: int) -> FloatArray:
    weights = np.asarray(weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"weight has shape {weights.shape} but must have shape ({n_rows},): pass one weight "
            "per row."
        )
    valid = (weights >= 0) & np.isfinite(weights)
    if not valid.all():
        bad = np.flatnonzero(~valid)[0]
        raise ValueError(f"weight[{bad}]={weights[bad]} must be a finite number of at least 0.")
    return weights


def number_rows(parts: Iterable[tuple[npt.NDArray[np.integer], int]], n_rows: int) -> Pattern:
    """Number the distinct rows of several columns, in lexicographic order.

    `parts` gives each column and a bound that its numbers stay below.
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
    """Number the distinct keys without gaps, in the order of the keys."""
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
    """Forget the patterns of a block that holds more than its share of `CACHE_NUMBERS`."""
    if len(block.patterns) * len(block.codes) * len(rows.blocks) > CACHE_NUMBERS:
        block.patterns.clear()


def check_columns(tree: Tree, rows: RowPatterns) -> None:
    """Refuse rows that lack a column of the tree or have a code that is no state of its node."""
    for node, column in enumerate(tree.columns):
        if column >= len(rows.largest):
            raise ValueError(
                f"Node {node} shows column {column}, but codes has only {len(rows.largest)} "
                "columns."
            )
        if column >= 0 and rows.largest[column] >= tree.cardinalities[node]:
            raise ValueError(
                f"Column {column} has the code {rows.largest[column]}, but node {node}, which "
                f"shows it, has only the states 0 to {tree.cardinalities[node] - 1}."
            )
