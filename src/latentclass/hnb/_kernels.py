"""Compiled passes over the rows in the search for a hierarchy: counts, and held-out scores.

An entry is a row with a weight in one fold. The score of a model is its accuracy on held-out rows
(Score(H | D) in Algorithm 1 of Langseth and Nielsen 2006), where

    log P(k, row) = log P(k) + sum over the top variables v of log P(evidence on v | k)

This module loads numba; import it only where a model is fitted.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._compiled import compiled

_compiled = compiled()


@_compiled
def add_counts(
    counts: FloatArray, group: CodeArray, row: CodeArray, weight: FloatArray, codes: CodeArray
) -> None:
    """Add the weight of each entry to `counts[group, code of its row]`.

    Groups of -1 and codes without a column are in no count.
    """
    for e in range(len(group)):
        if group[e] >= 0:
            code = codes[row[e]]
            if 0 <= code < counts.shape[1]:
                counts[group[e], code] += weight[e]


@_compiled
def add_logs(
    log_joint: FloatArray, fold: CodeArray, row: CodeArray, evidence: CodeArray, table: FloatArray
) -> None:
    """Add log P(evidence | class) in each entry's fold; `table` is (folds, K, evidence)."""
    for k in range(log_joint.shape[0]):
        for e in range(len(fold)):
            log_joint[k, e] += table[fold[e], k, evidence[row[e]]]


@_compiled
def exchange_logs(
    log_joint: FloatArray,
    fold: CodeArray,
    row: CodeArray,
    first: CodeArray,
    first_table: FloatArray,
    second: CodeArray,
    second_table: FloatArray,
    new: CodeArray,
    new_table: FloatArray,
) -> FloatArray:
    """`log_joint` with a new top variable in place of two, each given by its evidence and table."""
    out = np.empty_like(log_joint)
    for k in range(log_joint.shape[0]):
        for e in range(len(fold)):
            f, r = fold[e], row[e]
            value = log_joint[k, e] - first_table[f, k, first[r]] - second_table[f, k, second[r]]
            out[k, e] = value + new_table[f, k, new[r]]
    return out


@_compiled
def weight_right(log_joint: FloatArray, own: CodeArray, weight: FloatArray) -> float:
    """Weight of the entries whose most probable class is their own (0/1 loss); ties are shared."""
    right = 0.0
    for e in range(len(own)):
        mine = log_joint[own[e], e]
        ties, best = 0, True
        for k in range(log_joint.shape[0]):
            if log_joint[k, e] > mine:
                best = False
                break
            if log_joint[k, e] == mine:
                ties += 1
        if best:
            right += weight[e] / ties
    return right
