"""Loops over runs of rows: densities of a mixture's components, and each row's shares in them.

For each run of `RUN` rows the log-densities of all components are made side by side, rows
innermost, so that the machine works on several rows at once; all that is needed of a row is then
still in the core's cache. A run always has `RUN` rows (`PackedRows` has empty ones at its end): the
compiler makes better loops of a number that it knows. One thread; the caller may run starts or
blocks on several.

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._compiled import compiled
from latentclass.mixture._padded_rows import RUN

if TYPE_CHECKING:
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PackedRows


SPACE = 4
"""Rows of room to work in that `share_run` needs, of `RUN` numbers each."""

LEAST_LOG = -700.0
"""Shares below exp of this count as exp of this: next to the largest share they are nothing."""

ROUND = 6755399441055744.0
"""1.5 * 2**52: a number of moderate size added to it loses its fraction, and stands in the last
bits."""

LOG2_HIGH, LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts, so that a whole multiple of the first is exact."""

FOLDS = 5
"""How often sums of shares are multiplied in pairs before logarithms are taken. Each is between 1
and the number of components: 32 of them make a number that is not too large."""


# "contract" lets a product and a sum be one instruction; nothing is reordered, so that results
# do not depend on how many rows the machine takes at once
compiled_loop = compiled(error_model="numpy", fastmath={"contract"})


@compiled_loop
def exponentials(values: FloatArray, less: FloatArray, total: FloatArray) -> None:
    """exp of values - less, which is at most 0, in place, to fifteen digits; added to `total`.

    2**k times the exponential of what is left, |rest| <= log(2) / 2, by the polynomial through
    Chebyshev's points, 1 at 0. Written out because the library's function would be called for one
    number at a time.
    """
    for r in range(RUN):
        value = max(values[r] - less[r], LEAST_LOG)
        shifted = np.float64(value * 1.4426950408889634 + ROUND)
        whole = shifted - ROUND
        rest = value - whole * LOG2_HIGH
        rest = rest - whole * LOG2_LOW
        out = 2.761379668517062e-07
        out = out * rest + 2.76251033626167e-06
        out = out * rest + 2.480153640702703e-05
        out = out * rest + 0.00019841208754547057
        out = out * rest + 0.0013888888905872366
        out = out * rest + 0.008333333353718381
        out = out * rest + 0.041666666666651364
        out = out * rest + 0.16666666666648303
        out = out * rest + 0.5
        out = out * rest + 1.0
        out = out * rest + 1.0
        # 2**k: k goes to the exponent's place in a number
        power = np.int64((shifted.view(np.int64) + 1023) << 52)
        out = out * power.view(np.float64)
        values[r] = out
        total[r] += out


@compiled_loop
def _two_columns(
    out: FloatArray,
    one: FloatArray,
    per_one: float,
    at_one: float,
    two: FloatArray,
    per_two: float,
    at_two: float,
) -> None:
    """Less the squared distances in two columns: each number of `out` is read and written once."""
    for r in range(RUN):
        first, second = one[r] * per_one - at_one, two[r] * per_two - at_two
        out[r] -= first * first + second * second


@compiled_loop
def _column_with_holes(
    out: FloatArray,
    column: FloatArray,
    seen: FloatArray,
    per: float,
    at: float,
    constant: float,
) -> None:
    """Less the squared distance and the constant, where the cell is there."""
    for r in range(RUN):
        distance = column[r] * per - at
        out[r] -= seen[r] * (distance * distance + constant)


@compiled_loop
def _begin(
    joint: FloatArray,
    rows: PackedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    first: int,
) -> None:
    """log weight + log density of the columns without holes."""
    end, half = first + RUN, math.sqrt(0.5)
    for k in range(len(joint)):
        mine, mean, scale = joint[k], params.mean[s, k], params.scale[s, k]
        begin = params.log_weight[s, k]
        for j in rows.whole:
            begin -= constant[k, j]
        for r in range(RUN):
            mine[r] = begin
        for place in range(0, len(rows.whole), 2):
            # (x - mean) / scale as x / scale - mean / scale, one instruction a row: rounded as
            # if the mean were off in its last digit, for values are within [-1, 1]
            i = rows.whole[place]
            j, per_j = i, 0.0
            if place + 1 < len(rows.whole):
                j = rows.whole[place + 1]
                per_j = half / scale[j]
            per_i = half / scale[i]
            _two_columns(
                mine, rows.values[i, first:end], per_i, mean[i] * per_i,
                rows.values[j, first:end], per_j, mean[j] * per_j,
            )  # fmt: skip


@compiled_loop
def _go_on(
    joint: FloatArray,
    rows: PackedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    first: int,
) -> None:
    """More log density: the columns with holes, and the discrete ones."""
    end, half = first + RUN, math.sqrt(0.5)
    for k in range(len(joint)):
        mine, mean, scale = joint[k], params.mean[s, k], params.scale[s, k]
        for j in rows.holed:
            per = half / scale[j]
            _column_with_holes(
                mine, rows.values[j, first:end], rows.seen[j, first:end], per, mean[j] * per,
                constant[k, j],
            )  # fmt: skip
        table = params.log_prob[s, k]
        for j in range(len(rows.levels)):
            places = rows.levels[j, first:end]
            for r in range(RUN):
                mine[r] += table[places[r]]


@compiled_loop
def _largest(joint: FloatArray, top: FloatArray) -> None:
    """The largest over the components."""
    for r in range(RUN):
        top[r] = joint[0, r]
    for k in range(1, len(joint)):
        mine = joint[k]
        for r in range(RUN):
            top[r] = mine[r] if mine[r] > top[r] else top[r]


@compiled_loop
def normalise(joint: FloatArray, less: FloatArray, total: FloatArray) -> None:
    """Logarithms become shares relative to the largest, `less`; their sums."""
    for r in range(RUN):
        total[r] = 0.0
    for k in range(len(joint)):
        exponentials(joint[k], less, total)


@compiled_loop
def _log_sum(
    rows: PackedRows, first: int, top: FloatArray, total: FloatArray, room: FloatArray
) -> float:
    """Sum over a run's rows of weight * (top + log total). Overwrites `top` and `room`."""
    out, n = 0.0, min(RUN, len(rows.weight) - first)
    if not rows.plain:
        for r in range(n):
            out += rows.weight[first + r] * (top[r] + math.log(total[r]))
        return out
    for r in range(RUN):
        room[r] = total[r]
    for r in range(n, RUN):
        top[r], room[r] = 0.0, 1.0
    half = RUN // 2
    for _ in range(FOLDS):
        for r in range(half):
            top[r] += top[half + r]
            room[r] *= room[half + r]
        half //= 2
    for r in range(2 * half):
        out += top[r] + math.log(room[r])
    return out


@compiled_loop
def share_run(
    rows: PackedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    first: int,
    joint: FloatArray,
    raised: FloatArray,
    sharpness: float,
    space: FloatArray,
) -> float:
    """Shares of a run of rows in the components of start s, and its log-likelihood.

    Parameters
    ----------
    rows : PackedRows
    params : MixtureParams
        A place more in `log_prob`, which holds 0, for missing cells.
    constant : array of shape (K, p)
        log of scale, unit and sqrt(2 pi).
    joint : array of shape (K, RUN)
        Where the shares go, relative to the largest; their sum is `space[0]`.
    raised : array of shape (K, RUN)
        Where the logarithms of the shares times `sharpness` go, unless that is 1.
    space : array of shape (SPACE, RUN)
        Room to work in. `space[1]` is the logarithm of the largest share, 0 if that is 0.
    """
    total, less, top, room = space[0], space[1], space[2], space[3]
    # three functions, because the compiler does better with short ones
    _begin(joint, rows, params, constant, s, first)
    _go_on(joint, rows, params, constant, s, first)
    _largest(joint, top)
    for r in range(RUN):
        # where no component can have made the row, all are as good
        less[r] = top[r] if top[r] > -np.inf else 0.0
    if sharpness != 1.0:
        for k in range(len(joint)):
            mine, into = joint[k], raised[k]
            for r in range(RUN):
                # at most 0, times what may be infinite
                share = mine[r] - less[r]
                into[r] = less[r] + (share * sharpness if share < 0.0 else 0.0)
    normalise(joint, less, total)
    return _log_sum(rows, first, top, total, room)


@compiled_loop
def share_rows(
    rows: PackedRows,
    params: MixtureParams,
    constant: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """Sums over rows that belong to each component by their posterior: EM's E-step.

    The last four, of shapes (S, K), (S, K, n_sums), (S, K, n_places) and (S,), are where the
    answers go; the rest is as in `share_run`.
    """
    n_starts, n_components, n_sums = sums.shape
    n_rows, n_discrete = rows.levels_by_row.shape
    joint, space = np.empty((n_components, RUN)), np.empty((SPACE, RUN))
    amount = space[1]
    for s in range(n_starts):
        log_likelihood[s] = 0.0
        row_weight[s] = 0.0
        sums[s] = 0.0
        counts[s] = 0.0
        for first in range(0, n_rows, RUN):
            n = min(RUN, n_rows - first)
            log_likelihood[s] += share_run(
                rows, params, constant[s], s, first, joint, joint, 1.0, space
            )
            for r in range(n):
                amount[r] = rows.weight[first + r] / space[0, r]
            for k in range(n_components):
                mine, own, tally = joint[k], sums[s, k], counts[s, k]
                for r in range(n):
                    part = mine[r] * amount[r]
                    row_weight[s, k] += part
                    row = rows.powers[first + r]
                    for j in range(n_sums):
                        own[j] += part * row[j]
                    for j in range(n_discrete):
                        tally[rows.levels_by_row[first + r, j]] += part
