"""log p(row | class) for many rows and one latent tree per class: the upward pass, row by row.

The engine's passes (`_tree_inference`) find out which rows share what, which pays when a tree is
passed over many times. Prediction passes once: here a block of rows goes up every tree, with
nothing to prepare. A row's numbers are divided by their largest after every few inputs of a node,
so that no number of columns underflows.

This module loads numba; import it only where rows are predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled
from latentclass.latent_tree._tree import Tree

BLOCK = 128
"""Rows that go up a tree together: their numbers stay in the processor's nearest memory."""

RESCALE = 8
"""Inputs of a node after which a row's numbers are divided by their largest."""

LOW = 1e-30
"""Numbers above this need not be divided yet."""


class _Program(NamedTuple):
    """A tree as arrays; a leaf's table has one more column, of ones, for a missing cell."""

    parents: IndexArray
    k: IndexArray
    columns: IndexArray
    table: IndexArray
    lam: IndexArray
    theta: FloatArray


def _program(tree: Tree) -> _Program:
    cells, table, lam = [], [], []
    n_cells = n_lam = 0
    for column, own in zip(tree.columns, tree.tables, strict=True):
        padded = own if column < 0 else np.concatenate([own, np.ones((len(own), 1))], axis=1)
        cells.append(padded.ravel())
        table.append(n_cells)
        lam.append(n_lam)
        n_cells += padded.size
        n_lam += own.shape[1] if column < 0 else 0
    return _Program(
        np.array(tree.parents, dtype=np.intp),
        np.array(tree.cardinalities, dtype=np.intp),
        np.array(tree.columns, dtype=np.intp),
        np.array(table, dtype=np.intp),
        np.array([*lam, n_lam], dtype=np.intp),
        np.concatenate(cells),
    )


def class_log_likelihood(trees: Sequence[Tree], codes: CodeArray) -> FloatArray:
    """log p(observed cells | class), shape (n_rows, n_classes); -inf where it cannot be.

    Parameters
    ----------
    trees : sequence of Tree
        One a class; every node that shows a column is a leaf.
    codes : array of shape (n_rows, n_columns)
        -1 is a missing cell.

    Examples
    --------
    >>> tree = Tree.even((-1, 0, 0), (2, 2, 4), (-1, 0, 1))
    >>> codes = np.array([[0, 3], [1, -1]], dtype=np.int32)
    >>> np.exp(class_log_likelihood([tree], codes)).round(6).tolist()
    [[0.125], [0.5]]
    """
    out = np.empty((len(codes), len(trees)))
    levels = np.full(codes.shape[1], 1, dtype=np.int32)
    for node, column in enumerate(trees[0].columns):
        if column >= 0:
            levels[column] = trees[0].cardinalities[node]
    places = np.where(codes < 0, levels, codes).T.astype(np.uint32)
    for number, tree in enumerate(trees):
        _upward(_program(tree), np.ascontiguousarray(places), out[:, number])
    return out


@compiled()
def _upward(program: _Program, places: npt.NDArray[np.uint32], out: FloatArray) -> None:
    n_rows, n_nodes = places.shape[1], len(program.parents)
    lam = np.empty((program.lam[n_nodes], BLOCK))
    message, scale, p = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    n_inputs = np.empty(n_nodes, dtype=np.intp)
    for start in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - start)
        lam[:] = 1.0
        scale[:] = 0.0
        n_inputs[:] = 0
        for node in range(n_nodes - 1, 0, -1):
            above, k, table = program.parents[node], program.k[node], program.table[node]
            first, column = program.lam[above], program.columns[node]
            for s in range(program.k[above]):
                row = lam[first + s]
                if column >= 0:
                    cells = program.theta[table + s * (k + 1) : table + (s + 1) * (k + 1)]
                    shown = places[column, start : start + size]
                    for u in range(size):
                        row[u] *= cells[shown[u]]
                else:
                    cells = program.theta[table + s * k : table + (s + 1) * k]
                    below = program.lam[node]
                    message[:] = 0.0
                    for t in range(k):
                        x, given = cells[t], lam[below + t]
                        for u in range(BLOCK):
                            message[u] += x * given[u]
                    for u in range(BLOCK):
                        row[u] *= message[u]
            n_inputs[above] += 1
            if n_inputs[above] % RESCALE == 0:
                _rescale(lam[first : first + program.k[above]], scale)
        p[:] = 0.0
        for s in range(program.k[0]):
            x, row = program.theta[s], lam[s]
            for u in range(BLOCK):
                p[u] += x * row[u]
        for u in range(size):
            out[start + u] = np.log(p[u]) + scale[u] if p[u] > 0.0 else -np.inf


@compiled()
def _rescale(lam: FloatArray, scale: FloatArray) -> None:
    """Divide small numbers by the largest of their row, and note its logarithm."""
    for u in range(lam.shape[1]):
        top = lam[0, u]
        for s in range(1, len(lam)):
            top = max(top, lam[s, u])
        if top > 0.0 and top < LOW:
            for s in range(len(lam)):
                lam[s, u] /= top
            scale[u] += np.log(top)
