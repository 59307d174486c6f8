"""Loops over runs of rows: the posterior of the components of a mixture.

    P(c | x) = P(c) prod_i P(x_i | c) / sum_c' P(c') prod_i P(x_i | c'),

from the joint distribution of eq. (2) of Davidson (2004). The product is over the observed cells.

For each run of `RUN` rows the log densities of all components are computed side by side, with rows
in the inner loop, so that the processor works on several rows at once and finds them in its cache.
A run always has `RUN` rows (`PaddedRows` adds empty ones at the end), because the compiler makes
better loops when it knows the number. The loops use one thread; the caller may run starts or blocks
in several.

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._compiled import compiled, inner
from latentclass.mixture._padded_rows import RUN

if TYPE_CHECKING:
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PaddedRows


SPACE = 4
"""Rows of working memory that `share_run` needs, with `RUN` numbers each."""

LEAST_LOG = -700.0
"""Smaller log shares are raised to this: relative to the largest share they are negligible."""

ROUND = 6755399441055744.0
"""1.5 * 2**52: adding a number of moderate size rounds it to a whole number in the last bits."""

LOG2_HIGH, LOG2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""log 2 in two parts, so that a whole multiple of the first is exact."""

FOLDS = 5
"""How often sums of shares are multiplied in pairs before logarithms are taken. Each sum is between
1 and the number of components (in a classifier, one over the number of classes and it), so the
product of 32 of them neither overflows nor underflows."""


# "contract" allows a product and a sum in one instruction. Nothing is reordered, so the results do
# not depend on how many rows the processor takes at once.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}}
compiled_loop = compiled(**_OPTIONS)
inner_loop = inner(**_OPTIONS)
"""For functions that only other kernels call."""

inlined_loop = inner(inline="always", **_OPTIONS)
"""For those that one place calls: they compile with their caller, once and not at every level."""


@inner_loop
def exponentials(values: FloatArray, less: FloatArray, total: FloatArray) -> None:
    """Replace values by exp(values - less), to fifteen digits, and add them to `total`.

    The differences are at most 0. The result is 2**k times the exponential of the rest, with
    |rest| <= log(2) / 2, by a polynomial through Chebyshev points that is 1 at 0. It is written out
    because the library function would be called for one number at a time.
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


@inner_loop
def _two_columns(
    out: FloatArray,
    one: FloatArray,
    per_one: float,
    at_one: float,
    two: FloatArray,
    per_two: float,
    at_two: float,
) -> None:
    """Subtract the squared distances in two columns, reading and writing `out` only once."""
    for r in range(RUN):
        first, second = one[r] * per_one - at_one, two[r] * per_two - at_two
        out[r] -= first * first + second * second


@inner_loop
def _column_with_holes(
    out: FloatArray,
    column: FloatArray,
    seen: FloatArray,
    per: float,
    at: float,
    constant: float,
) -> None:
    """Subtract the squared distance and the constant where the cell is observed."""
    for r in range(RUN):
        distance = column[r] * per - at
        out[r] -= seen[r] * (distance * distance + constant)


@inlined_loop
def _begin(
    joint: FloatArray,
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    start: int,
    first: int,
) -> None:
    """Set `joint` to log P(c) + the log density of the columns without missing cells."""
    end, half = first + RUN, math.sqrt(0.5)
    for k in range(start, start + len(joint)):
        mine, mean, scale = joint[k - start], params.mean[s, k], params.scale[s, k]
        begin = params.log_weight[s, k]
        for j in rows.whole:
            begin -= constant[k, j]
        for r in range(RUN):
            mine[r] = begin
        for place in range(0, len(rows.whole), 2):
            # (x - mean) / scale as x / scale - mean / scale: one instruction per row. Values are
            # within [-1, 1], so the rounding error is that of a mean off in its last digit.
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


@inlined_loop
def _go_on(
    joint: FloatArray,
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    start: int,
    first: int,
) -> None:
    """Add the log density of the columns with missing cells and of the discrete columns."""
    end, half = first + RUN, math.sqrt(0.5)
    for k in range(start, start + len(joint)):
        mine, mean, scale = joint[k - start], params.mean[s, k], params.scale[s, k]
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


@inner_loop
def log_densities(
    joint: FloatArray,
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    start: int,
    first: int,
) -> None:
    """Set `joint` to log P(c) P(x | c) of a run of rows; see `share_run`.

    `joint`, (n, RUN), gets those of the n components from `start` on.
    """
    # two functions, because the compiler optimises short ones better
    _begin(joint, rows, params, constant, s, start, first)
    _go_on(joint, rows, params, constant, s, start, first)


@inner_loop
def largest(joint: FloatArray, top: FloatArray) -> None:
    """Find the largest value over the components."""
    for r in range(RUN):
        top[r] = joint[0, r]
    for k in range(1, len(joint)):
        mine = joint[k]
        for r in range(RUN):
            top[r] = mine[r] if mine[r] > top[r] else top[r]


@inner_loop
def normalise(joint: FloatArray, less: FloatArray, total: FloatArray) -> None:
    """Turn logarithms into shares relative to the largest, `less`, and sum them."""
    for r in range(RUN):
        total[r] = 0.0
    for k in range(len(joint)):
        exponentials(joint[k], less, total)


@inner_loop
def log_sum(rows: PaddedRows, first: int, space: FloatArray) -> float:
    """Sum weight * (top + log total) over the rows of a run after `split_run`.

    `total` and `top` are `space[0]` and `space[2]`. Overwrites the latter and `space[3]`.
    """
    total, top, room = space[0], space[2], space[3]
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


@inlined_loop
def share_run(
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    first: int,
    joint: FloatArray,
    raised: FloatArray,
    sharpness: float,
    space: FloatArray,
) -> float:
    """Compute the shares of a run of rows in the components of start s; return its log-likelihood.

    Parameters
    ----------
    rows : PaddedRows
    params : MixtureParams
        With an extra place in `log_prob`, which holds 0, for missing cells.
    constant : array of shape (K, p)
        See `log_constants`.
    joint : array of shape (K, RUN)
        The shares are written here, relative to the largest; their sum is in `space[0]`.
    raised : array of shape (K, RUN)
        The log shares times `sharpness` are written here, unless that is 1.
    space : array of shape (SPACE, RUN)
        Working memory. `space[1]` is the logarithm of the largest share, or 0 if that share is 0.
    """
    log_densities(joint, rows, params, constant, s, 0, first)
    split_run(joint, raised, sharpness, space)
    return log_sum(rows, first, space)


@inlined_loop
def split_run(joint: FloatArray, raised: FloatArray, sharpness: float, space: FloatArray) -> None:
    """Turn the log densities of a run of rows into shares, as `share_run` does."""
    total, less, top = space[0], space[1], space[2]
    largest(joint, top)
    for r in range(RUN):
        # if no component can have made the row, all get the same share
        less[r] = top[r] if top[r] > -np.inf else 0.0
    if sharpness != 1.0:
        for k in range(len(joint)):
            mine, into = joint[k], raised[k]
            for r in range(RUN):
                # the share is at most 0, and the sharpness may be infinite
                share = mine[r] - less[r]
                into[r] = less[r] + (share * sharpness if share < 0.0 else 0.0)
    normalise(joint, less, total)


@compiled_loop
def share_rows(
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """Sum over rows that belong to each component by their posterior: the E-step of EM.

    The results are written to the last four arguments, of shapes (S, K), (S, K, n_sums),
    (S, K, n_places) and (S,). The others are as in `share_run`.
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
