"""Compiled loops of the search for a hierarchy: counts, held-out scores, and groups of states.

The score of a model is its accuracy on held-out rows
(Score(H | D) in Algorithm 1 of Langseth and Nielsen 2006), where

    log P(k, row) = log P(k) + sum over the top variables v of log P(evidence on v | k)

This module loads numba; import it only where a model is fitted.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray
from latentclass.engine._compiled import compiled, inner

_compiled = compiled()
_inner = inner()


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
def add_logs(log_joint: FloatArray, row: CodeArray, evidence: CodeArray, table: FloatArray) -> None:
    """Add log P(evidence | class) of each tested row; `table` is (K, evidence)."""
    for k in range(log_joint.shape[0]):
        for e in range(len(row)):
            log_joint[k, e] += table[k, evidence[row[e]]]


@_compiled
def exchange_logs(
    log_joint: FloatArray,
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
        for e in range(len(row)):
            r = row[e]
            value = log_joint[k, e] - first_table[k, first[r]] - second_table[k, second[r]]
            out[k, e] = value + new_table[k, new[r]]
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


@_compiled
def join_groups(counts: FloatArray, penalty: float, step: float) -> CodeArray:
    """The group of each state after greedy joins (Algorithm 2); a group is named by its first.

    Every group knows its best later partner. A join changes only the gains of the joined group, so
    the others look again when their partner has changed. `counts` (S, K) becomes those of the
    groups. Gains are rounded to multiples of `step`: sums in another order decide nothing.
    """
    n = counts.shape[0]
    fit = np.empty(n)
    for i in range(n):
        fit[i] = _fit_of(counts, i, i)
    alive = np.ones(n, dtype=np.bool_)
    joins = np.zeros(n, dtype=np.int32)
    best = np.empty(n)
    partner = np.zeros(n, dtype=np.int32)
    known = np.zeros(n, dtype=np.int32)  # how many joins the partner had
    into = np.empty(n, dtype=np.int32)
    for i in range(n):
        into[i] = i
        _find_partner(counts, fit, penalty, step, alive, joins, best, partner, known, i)
    while True:
        i = 0
        for k in range(1, n):
            if best[k] > best[i]:
                i = k
        if best[i] <= 0.0:
            return into
        j = partner[i]
        if alive[j] and joins[j] == known[i]:
            for c in range(counts.shape[1]):
                counts[i, c] += counts[j, c]
            fit[i] = _fit_of(counts, i, i)
            alive[j] = False
            best[j] = -np.inf
            joins[i] += 1
            for k in range(n):
                if into[k] == j:
                    into[k] = i
            for k in range(i):
                if alive[k]:
                    gain = _gain(counts, fit, penalty, step, k, i)
                    if gain > best[k]:
                        best[k], partner[k], known[k] = gain, i, joins[i]
        _find_partner(counts, fit, penalty, step, alive, joins, best, partner, known, i)


@_inner
def _find_partner(
    counts: FloatArray,
    fit: FloatArray,
    penalty: float,
    step: float,
    alive: BoolArray,
    joins: CodeArray,
    best: FloatArray,
    partner: CodeArray,
    known: CodeArray,
    i: int,
) -> None:
    """Find the later group that gains most with group `i`."""
    best[i] = -np.inf
    for j in range(i + 1, len(fit)):
        if alive[j]:
            gain = _gain(counts, fit, penalty, step, i, j)
            if gain > best[i]:
                best[i], partner[i], known[i] = gain, j, joins[j]


@_inner
def _gain(
    counts: FloatArray, fit: FloatArray, penalty: float, step: float, i: int, j: int
) -> float:
    """How much shorter the description is if two groups are one (equation 7)."""
    return float(np.rint((penalty + _fit_of(counts, i, j) - fit[i] - fit[j]) / step) * step)


@_inner
def _fit_of(counts: FloatArray, i: int, j: int) -> float:
    """sum_k a_k log(a_k / sum a) with a = counts[i] + counts[j], or counts[i] if they are one."""
    total = 0.0
    fit = 0.0
    for c in range(counts.shape[1]):
        a = counts[i, c]
        if j != i:
            a += counts[j, c]
        if a > 0.0:
            fit += a * np.log(a)
            total += a
    return fit - total * np.log(total) if total > 0.0 else 0.0
