"""The upward pass of prediction, compiled; see `_predict`.

This module loads numba; import it only where many rows are predicted.
"""

from __future__ import annotations

import math

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._compiled import compiled, inner
from latentclass.latent_tree._predict_program import LOW, RESCALE, PredictProgram
from latentclass.latent_tree._row_patterns import PlaceArray

BLOCK = 128
"""Rows that go up a tree together. Their numbers fit into the fastest cache of the processor."""


@compiled(error_model="numpy")
def upward(program: PredictProgram, places: PlaceArray, out: FloatArray) -> None:
    """The upward pass of `_pass_kernels` for all rows, without patterns.

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
            out[start + u] = math.log(p[u]) + scale[u] if p[u] > 0.0 else -np.inf


@inner(error_model="numpy")
def _rescale(lam: FloatArray, scale: FloatArray) -> None:
    """Divide the numbers of each row that has only small ones by their largest, kept in `scale`."""
    for u in range(lam.shape[1]):
        top = lam[0, u]
        for s in range(1, len(lam)):
            top = max(top, lam[s, u])
        if top > 0.0 and top < LOW:
            for s in range(len(lam)):
                lam[s, u] /= top
            scale[u] += math.log(top)
