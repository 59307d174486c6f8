"""Loops over rows for the searches that give each row to one component (see `_mixture_search`).

For each start and each run of `RUN` rows the log-densities of all components are made side by
side, rows innermost, so that the machine works on several rows at once; all that is needed of a
row is then still in the core's cache. One thread; the caller may run starts on several.

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from latentclass.core._compiled import compiled

FloatArray = npt.NDArray[np.float64]

RUN = 256
"""Rows that are worked on together."""

LEAST_LOG = -700.0
"""Shares below exp of this count as exp of this: next to the largest share they are nothing."""

ROUND = 6755399441055744.0
"""1.5 * 2**52: a number of moderate size added to it loses its fraction, and stands in the last
bits."""

LOG2_HIGH, LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts, so that a whole multiple of the first is exact."""

LOST = 1e-6
"""A sum of squares that is less than this part of the terms it is the difference of has lost six
of its sixteen digits, and is made anew."""


# "contract" lets a product and a sum be one instruction; nothing is reordered, so that results
# do not depend on how many rows the machine takes at once
_compiled = compiled(error_model="numpy", fastmath={"contract"})


@_compiled
def _exponentials(values: FloatArray, power: FloatArray, part: FloatArray, n: int) -> None:
    """exp of values of at most 0, in place, to the last digit or the one before.

    2**k times the exponential of what is left, |rest| <= log(2) / 2, by its series. Written out
    because the library's function would be called for one number at a time.
    """
    for r in range(n):
        value = max(values[r], LEAST_LOG)
        shifted = value * 1.4426950408889634 + ROUND
        whole = shifted - ROUND
        power[r] = shifted
        rest = value - whole * LOG2_HIGH
        rest = rest - whole * LOG2_LOW
        total = 1.0 / 479001600.0
        total = total * rest + 1.0 / 39916800.0
        total = total * rest + 1.0 / 3628800.0
        total = total * rest + 1.0 / 362880.0
        total = total * rest + 1.0 / 40320.0
        total = total * rest + 1.0 / 5040.0
        total = total * rest + 1.0 / 720.0
        total = total * rest + 1.0 / 120.0
        total = total * rest + 1.0 / 24.0
        total = total * rest + 1.0 / 6.0
        total = total * rest + 0.5
        total = total * rest + 1.0
        total = total * rest + 1.0
        part[r] = total
    bits = power.view(np.int64)
    for r in range(n):
        bits[r] = (bits[r] + 1023) << 52  # the exponent's place in a number
    for r in range(n):
        values[r] = part[r] * power[r]


@_compiled
def _log_joint(
    joint: FloatArray,
    top: FloatArray,
    values: FloatArray,
    seen: FloatArray,
    holes: npt.NDArray[np.bool_],
    levels: npt.NDArray[np.int32],
    log_weight: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    constant: FloatArray,
    log_prob: FloatArray,
    first: int,
    n: int,
) -> None:
    """log weight + log p(x | k) of a run of rows, and the largest over k."""
    n_components, n_numeric = mean.shape
    for r in range(n):
        top[r] = -np.inf
    for k in range(n_components):
        mine = joint[k]
        begin = log_weight[k]
        for j in range(n_numeric):
            if not holes[j]:
                begin -= constant[k, j]
        for r in range(n):
            mine[r] = begin
        for j in range(n_numeric):
            at, per = mean[k, j], math.sqrt(0.5) / scale[k, j]
            column = values[j, first : first + n]
            if holes[j]:
                there, less = seen[j, first : first + n], constant[k, j]
                for r in range(n):
                    distance = (column[r] - at) * per
                    mine[r] -= there[r] * (distance * distance + less)
            else:
                for r in range(n):
                    distance = (column[r] - at) * per
                    mine[r] -= distance * distance
        table = log_prob[k]
        for j in range(levels.shape[0]):
            places = levels[j, first : first + n]
            for r in range(n):
                mine[r] += table[places[r]]
        for r in range(n):
            top[r] = max(top[r], mine[r])


@_compiled
def assign_rows(
    values: FloatArray,
    seen: FloatArray,
    holes: npt.NDArray[np.bool_],
    levels: npt.NDArray[np.int32],
    weight: FloatArray,
    heavy: npt.NDArray[np.intp],
    log_weight: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    constant: FloatArray,
    log_prob: FloatArray,
    chance: FloatArray,
    sharpness: float,
    component: npt.NDArray[np.int32],
    heavy_share: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """One component a row, drawn from its posterior to the power `sharpness` (infinite: the best).

    Parameters
    ----------
    values, seen : arrays of shape (p, n_rows)
        Continuous columns, 0 where missing; 1 where not.
    holes : array of shape (p,)
        Whether a column has a missing cell.
    levels : array of shape (n_discrete, n_rows)
        Places in `log_prob`; the last place, which holds 0, for missing cells.
    weight : array of shape (n_rows,)
    heavy : array of int
        Rows, ascending, of which the shares are wanted instead of one component.
    log_weight, mean, scale, log_prob
        Parameters of the starts, as in `MixtureParams`; a place more in `log_prob`.
    constant : array of shape (S, K, p)
        log of scale, unit and sqrt(2 pi).
    chance : array of shape (S, n_rows)
        Even on [0, 1); not used with infinite sharpness.
    component, heavy_share, log_likelihood : arrays of shape (S, n_rows), (S, n_heavy, K), (S,)
        Where the answers go; the log-likelihood is that of the mixture itself.
    """
    n_starts, n_components = log_weight.shape
    n_rows = len(weight)
    joint = np.empty((n_components, RUN))
    raised = np.empty((n_components, RUN))
    top, total, power, part = np.empty(RUN), np.empty(RUN), np.empty(RUN), np.empty(RUN)
    for s in range(n_starts):
        log_likelihood[s] = 0.0
        place = 0
        for first in range(0, n_rows, RUN):
            n = min(RUN, n_rows - first)
            _log_joint(
                joint, top, values, seen, holes, levels, log_weight[s], mean[s], scale[s],
                constant[s], log_prob[s], first, n,
            )  # fmt: skip
            for r in range(n):
                total[r] = 0.0
                if top[r] == -np.inf:  # no component can have made this row: all are as good
                    for k in range(n_components):
                        joint[k, r] = -1e300
            for k in range(n_components):
                for r in range(n):
                    joint[k, r] -= max(top[r], -1e300)
                if sharpness != 1.0:
                    for r in range(n):
                        raised[k, r] = joint[k, r] * sharpness if joint[k, r] < 0.0 else 0.0
                _exponentials(joint[k], power, part, n)
                for r in range(n):
                    total[r] += joint[k, r]
            for r in range(n):
                log_likelihood[s] += weight[first + r] * (top[r] + math.log(total[r]))
            if sharpness != 1.0:
                for r in range(n):
                    total[r] = 0.0
                for k in range(n_components):
                    _exponentials(raised[k], power, part, n)
                    for r in range(n):
                        total[r] += raised[k, r]
            shares = joint if sharpness == 1.0 else raised
            for r in range(n):
                found = 0
                if sharpness == np.inf:
                    while joint[found, r] < 1.0:
                        found += 1
                else:
                    left = chance[s, first + r] * total[r] - shares[0, r]
                    while left >= 0.0 and found < n_components - 1:
                        found += 1
                        left -= shares[found, r]
                component[s, first + r] = found
            while place < len(heavy) and heavy[place] < first + n:
                r = heavy[place] - first
                for k in range(n_components):
                    heavy_share[s, place, k] = shares[k, r] / total[r]
                place += 1


@_compiled
def _finish(
    whole: bool,
    about: FloatArray,
    row_weight: FloatArray,
    cell_weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
) -> bool:
    """Sums of powers to means and sums of squares about them; whether digits were lost."""
    lost = False
    for k in range(len(row_weight)):
        for j in range(mean.shape[1]):
            if whole:
                cell_weight[k, j] = row_weight[k]
            if cell_weight[k, j] > 0.0:
                mean[k, j] /= cell_weight[k, j]
                total = scatter[k, j]
                moved = cell_weight[k, j] * mean[k, j] * mean[k, j]
                scatter[k, j] = max(total - moved, 0.0)
                lost = lost or scatter[k, j] < LOST * total
                mean[k, j] += about[k, j]
    return lost


@_compiled
def sum_rows(
    values: FloatArray,
    seen: FloatArray,
    levels: npt.NDArray[np.int32],
    whole: bool,
    weight: FloatArray,
    heavy: npt.NDArray[np.intp],
    component: npt.NDArray[np.int32],
    heavy_weight: FloatArray,
    about: FloatArray,
    row_weight: FloatArray,
    cell_weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
) -> None:
    """Statistics of rows that belong to one component each, or in parts where they are heavy.

    `values`, `seen`, `levels` have the rows on their first axis here; `whole` tells that no
    continuous cell is missing; `heavy_weight` is of shape (S, n_heavy, K). Sums are about `about`
    (S, K, p), each component's last mean, which is near the new one. The last five arrays are
    where the answers go (see `MixtureStats`; a place more in `counts`).
    """
    n_starts, n_components, n_numeric = about.shape
    n_discrete = levels.shape[1]
    for s in range(n_starts):
        for again in range(2):
            row_weight[s] = 0.0
            cell_weight[s] = 0.0
            mean[s] = 0.0
            scatter[s] = 0.0
            counts[s] = 0.0
            place = 0
            for r in range(len(weight)):
                first, end = component[s, r], component[s, r] + 1
                in_parts = place < len(heavy) and heavy[place] == r
                if in_parts:
                    first, end = 0, n_components
                for k in range(first, end):
                    amount = heavy_weight[s, place, k] if in_parts else weight[r]
                    if amount == 0.0:
                        continue
                    row_weight[s, k] += amount
                    if whole:
                        for j in range(n_numeric):
                            distance = values[r, j] - about[s, k, j]
                            moved = amount * distance
                            mean[s, k, j] += moved
                            scatter[s, k, j] += moved * distance
                    else:
                        for j in range(n_numeric):
                            there = amount * seen[r, j]
                            distance = values[r, j] - about[s, k, j]
                            moved = there * distance
                            cell_weight[s, k, j] += there
                            mean[s, k, j] += moved
                            scatter[s, k, j] += moved * distance
                    for j in range(n_discrete):
                        counts[s, k, levels[r, j]] += amount
                if in_parts:
                    place += 1
            lost = _finish(whole, about[s], row_weight[s], cell_weight[s], mean[s], scatter[s])
            if again == 1 or not lost:
                break
            # the old mean was far away, in terms of the new spread: sum about the new one
            about[s] = mean[s]
