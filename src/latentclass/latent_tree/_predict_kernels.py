"""log p(row | class) for many rows and one latent tree per class: the upward pass, row by row.

The passes of `_inference` first find which rows share a pattern. That pays off when a tree passes
over the same rows many times. Prediction passes only once, so here a block of rows goes up every
tree without any preparation. After every few inputs of a node, the numbers of a row are divided by
the largest of them, so that nothing underflows however many columns there are.

This module loads numba; import it only where rows are predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled, inner
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._tree import Tree

BLOCK = 128
"""Rows that go up a tree together. Their numbers fit into the fastest cache of the processor."""

RESCALE = 8
"""Number of inputs of a node after which a row's numbers are divided by the largest of them."""

LOW = 1e-30
"""Rows whose largest number is above this are not divided yet."""


class _Program(NamedTuple):
    """A tree as arrays; the table of a leaf has a further column of ones for missing cells."""

    parents: IndexArray
    k: IndexArray
    columns: IndexArray
    table: IndexArray
    lam: IndexArray
    theta: FloatArray


def _program(tree: Tree) -> _Program:
    entries, table, lam = [], [], []
    n_entries = n_lam = 0
    for column, own in zip(tree.columns, tree.tables, strict=True):
        padded = own if column < 0 else np.concatenate([own, np.ones((len(own), 1))], axis=1)
        entries.append(padded.ravel())
        table.append(n_entries)
        lam.append(n_lam)
        n_entries += padded.size
        n_lam += own.shape[1] if column < 0 else 0
    return _Program(
        np.array(tree.parents, dtype=np.intp),
        np.array(tree.cardinalities, dtype=np.intp),
        np.array(tree.columns, dtype=np.intp),
        np.array(table, dtype=np.intp),
        np.array([*lam, n_lam], dtype=np.intp),
        np.concatenate(entries),
    )


def class_log_likelihood(trees: Sequence[Tree], codes: CodeArray) -> FloatArray:
    """log p(observed cells | class), shape (n_rows, n_classes); -inf for an impossible row.

    This is log P(X | M_c), the sum over the latent variables in equation (1) of Wang, Zhang, Chen
    and Poon (2011), in the time of their Proposition 1.

    Parameters
    ----------
    trees : sequence of Tree
        One per class, with the same columns; every node that shows a column must be a leaf.
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
def _upward(program: _Program, places: PlaceArray, out: FloatArray) -> None:
    """The upward pass of `_message_kernels` for all rows, without patterns.

    Multiplies m(p) = sum_s P(s | p) lam(s) of each node into its parent's lam(p), and writes
    log sum_s P(s) lam(s) at the root to `out`.
    """
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
                    entries = program.theta[table + s * (k + 1) : table + (s + 1) * (k + 1)]
                    shown = places[column, start : start + size]
                    for u in range(size):
                        row[u] *= entries[shown[u]]
                else:
                    entries = program.theta[table + s * k : table + (s + 1) * k]
                    below = program.lam[node]
                    message[:] = 0.0
                    for t in range(k):
                        x, given = entries[t], lam[below + t]
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


@inner()
def _rescale(lam: FloatArray, scale: FloatArray) -> None:
    """Divide the numbers of each row that has only small ones by their largest, kept in `scale`."""
    for u in range(lam.shape[1]):
        top = lam[0, u]
        for s in range(1, len(lam)):
            top = max(top, lam[s, u])
        if top > 0.0 and top < LOW:
            for s in range(len(lam)):
                lam[s, u] /= top
            scale[u] += np.log(top)
