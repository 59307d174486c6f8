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

TOGETHER = 16
"""Sums of shares that are multiplied before one logarithm is taken of them all; each is between 1
and the number of components."""


# "contract" lets a product and a sum be one instruction; nothing is reordered, so that results
# do not depend on how many rows the machine takes at once
_compiled = compiled(error_model="numpy", fastmath={"contract"})


@_compiled
def _exponentials(
    values: FloatArray, less: FloatArray, power: FloatArray, part: FloatArray, n: int
) -> None:
    """exp of values - less, which is at most 0, in place, to fourteen digits.

    2**k times the exponential of what is left, |rest| <= log(2) / 2, by its series. Written out
    because the library's function would be called for one number at a time.
    """
    for r in range(n):
        value = max(values[r] - less[r], LEAST_LOG)
        shifted = value * 1.4426950408889634 + ROUND
        whole = shifted - ROUND
        power[r] = shifted
        rest = value - whole * LOG2_HIGH
        rest = rest - whole * LOG2_LOW
        total = 1.0 / 39916800.0
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
            top[r] = mine[r] if mine[r] > top[r] else top[r]


@_compiled
def _raise(
    values: FloatArray, less: FloatArray, into: FloatArray, sharpness: float, n: int
) -> None:
    """Logarithms of shares, at most 0, times a sharpness that may be infinite, plus `less`."""
    for r in range(n):
        share = values[r] - less[r]
        into[r] = less[r] + (share * sharpness if share < 0.0 else 0.0)


@_compiled
def _normalise(
    joint: FloatArray,
    less: FloatArray,
    total: FloatArray,
    power: FloatArray,
    part: FloatArray,
    n: int,
) -> None:
    """Logarithms become shares relative to the largest, `less`; their sums."""
    for r in range(n):
        total[r] = 0.0
    for k in range(len(joint)):
        mine = joint[k]
        _exponentials(mine, less, power, part, n)
        for r in range(n):
            total[r] += mine[r]


@_compiled
def _log_sum(top: FloatArray, total: FloatArray, weight: FloatArray, n: int, plain: bool) -> float:
    """Sum over rows of weight * (top + log total); `plain` if all weights are 1."""
    out = 0.0
    if not plain:
        for r in range(n):
            out += weight[r] * (top[r] + math.log(total[r]))
        return out
    for first in range(0, n, TOGETHER):
        product = 1.0
        for r in range(first, min(first + TOGETHER, n)):
            out += top[r]
            product *= total[r]
        out += math.log(product)
    return out


@_compiled
def _draw(
    shares: FloatArray,
    total: FloatArray,
    chance: FloatArray,
    edge: FloatArray,
    component: npt.NDArray[np.int32],
    n: int,
) -> None:
    """The component whose part of the row's shares `chance` falls into."""
    for r in range(n):
        edge[r] = 0.0
        component[r] = 0
    for k in range(len(shares) - 1):
        mine = shares[k]
        for r in range(n):
            edge[r] += mine[r]
            component[r] += chance[r] * total[r] >= edge[r]


@_compiled
def assign_rows(
    values: FloatArray,
    seen: FloatArray,
    holes: npt.NDArray[np.bool_],
    levels: npt.NDArray[np.int32],
    weight: FloatArray,
    plain: bool,
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
    space: FloatArray,
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
    plain : bool
        Whether all weights are 1.
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
    space : array of shape (2 K + 5, RUN)
        Room to work in.
    """
    n_starts, n_components = log_weight.shape
    n_rows = len(weight)
    joint, raised = space[:n_components], space[n_components : 2 * n_components]
    top, total = space[2 * n_components], space[2 * n_components + 1]
    power, part = space[2 * n_components + 2], space[2 * n_components + 3]
    less = space[2 * n_components + 4]
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
                # where no component can have made the row, all are as good
                less[r] = top[r] if top[r] > -np.inf else 0.0
            if sharpness != 1.0:
                for k in range(n_components):
                    _raise(joint[k], less, raised[k], sharpness, n)
            _normalise(joint, less, total, power, part, n)
            log_likelihood[s] += _log_sum(top, total, weight[first:], n, plain)
            shares = joint
            if sharpness != 1.0:
                _normalise(raised, less, total, power, part, n)
                shares = raised
            found = component[s, first : first + n]
            if sharpness == np.inf:
                for r in range(n):
                    found[r] = 0
                    for k in range(1, n_components):
                        if joint[k, r] > joint[found[r], r]:
                            found[r] = k
            else:
                _draw(shares, total, chance[s, first : first + n], part, found, n)
            while place < len(heavy) and heavy[place] < first + n:
                r = heavy[place] - first
                for k in range(n_components):
                    heavy_share[s, place, k] = shares[k, r] / total[r]
                place += 1


@_compiled
def sum_rows(
    powers: FloatArray,
    levels: npt.NDArray[np.int32],
    weight: FloatArray,
    heavy: npt.NDArray[np.intp],
    component: npt.NDArray[np.int32],
    heavy_weight: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
) -> None:
    """Sums over rows that belong to one component each, or in parts where they are heavy.

    Parameters
    ----------
    powers : array of shape (n_rows, n_sums)
        What is summed: see `_mixture_search`.
    levels : array of shape (n_rows, n_discrete)
        Places in `counts`.
    weight, heavy, component
        As in `assign_rows`.
    heavy_weight : array of shape (S, n_heavy, K)
        Weight of the heavy rows in each component.
    row_weight, sums, counts : arrays of shape (S, K), (S, K, n_sums), (S, K, n_places)
        Where the answers go.
    """
    n_starts, n_components, n_sums = sums.shape
    n_discrete = levels.shape[1]
    for s in range(n_starts):
        total, tally = sums[s], counts[s]
        row_weight[s] = 0.0
        total[:] = 0.0
        tally[:] = 0.0
        place = 0
        for r in range(len(weight)):
            first = component[s, r]
            end, in_parts = first + 1, False
            if place < len(heavy) and heavy[place] == r:
                first, end, in_parts = 0, n_components, True
            for k in range(first, end):
                amount = heavy_weight[s, place, k] if in_parts else weight[r]
                row_weight[s, k] += amount
                own, mine = total[k], powers[r]
                for j in range(n_sums):
                    own[j] += amount * mine[j]
                for j in range(n_discrete):
                    tally[k, levels[r, j]] += amount
            if in_parts:
                place += 1


@_compiled
def sum_squares(
    column: FloatArray,
    seen: FloatArray,
    weight: FloatArray,
    heavy: npt.NDArray[np.intp],
    component: npt.NDArray[np.int32],
    heavy_weight: FloatArray,
    k: int,
    mean: float,
) -> float:
    """Sum of squares about the mean of one column in one component of one start."""
    total, place = 0.0, 0
    for r in range(len(weight)):
        amount = weight[r] if component[r] == k else 0.0
        if place < len(heavy) and heavy[place] == r:
            amount = heavy_weight[place, k]
            place += 1
        distance = column[r] - mean
        total += amount * seen[r] * distance * distance
    return total


@_compiled
def finish_sums(
    cells: FloatArray,
    first: FloatArray,
    second: FloatArray,
    shift: FloatArray,
    values: FloatArray,
    seen: FloatArray,
    weight: FloatArray,
    heavy: npt.NDArray[np.intp],
    component: npt.NDArray[np.int32],
    heavy_weight: FloatArray,
) -> None:
    """Sums of values and squares, (S, K, p), to means and sums of squares about them, in place.

    `cells` is the weight of the cells; sums are of values less the column's `shift`; `values`,
    `seen` have the columns on their first axis.
    """
    for s in range(len(cells)):
        for k in range(cells.shape[1]):
            for j in range(cells.shape[2]):
                if cells[s, k, j] <= 0.0:
                    continue
                whole = second[s, k, j]
                first[s, k, j] /= cells[s, k, j]
                second[s, k, j] -= cells[s, k, j] * first[s, k, j] * first[s, k, j]
                first[s, k, j] += shift[j]
                if second[s, k, j] < LOST * whole:
                    second[s, k, j] = sum_squares(
                        values[j], seen[j], weight, heavy, component[s], heavy_weight[s], k,
                        first[s, k, j],
                    )  # fmt: skip


@_compiled
def _penalty(
    scale: FloatArray, log_prob: FloatArray, variance: FloatArray, strength: float, alpha: float
) -> float:
    """`product.log_prior` of one start's components."""
    total = 0.0
    if strength > 0.0:
        for k in range(len(scale)):
            for j in range(scale.shape[1]):
                ratio = variance[j] / (scale[k, j] * scale[k, j])
                total -= 0.5 * strength * (2.0 * math.log(scale[k, j]) + ratio)
    if alpha > 0.0:
        for k in range(len(log_prob)):
            for level in range(log_prob.shape[1] - 1):  # the last place is that of missing cells
                total += alpha * log_prob[k, level]
    return total


@_compiled
def _estimate(
    row_weight: FloatArray,
    cells: FloatArray,
    average: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
    offsets: npt.NDArray[np.intp],
    prior_mean: FloatArray,
    prior_variance: FloatArray,
    strength: float,
    alpha: float,
    least_scale: float,
    log_weight: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    log_prob: FloatArray,
) -> None:
    """`product.estimate` of one start's components, and their log weights."""
    n_components, n_numeric = mean.shape
    whole = row_weight.sum()
    for k in range(n_components):
        log_weight[k] = math.log(row_weight[k] / whole) if row_weight[k] > 0.0 else -np.inf
        for j in range(n_numeric):
            mean[k, j] = average[k, j] if cells[k, j] > 0.0 else prior_mean[j]
            size = cells[k, j] + strength
            variance = prior_variance[j]
            if size > 0.0:
                variance = (scatter[k, j] + strength * prior_variance[j]) / size
            spread = max(math.sqrt(variance), least_scale)
            scale[k, j] = spread if prior_variance[j] > 0.0 else 1.0
        for j in range(len(offsets) - 1):
            first, end = offsets[j], offsets[j + 1]
            total = 0.0
            for level in range(first, end):
                total += counts[k, level] + alpha
            for level in range(first, end):
                share = 1.0 / (end - first)
                if total > 0.0:
                    share = (counts[k, level] + alpha) / total
                log_prob[k, level] = math.log(share) if share > 0.0 else -np.inf


@_compiled
def run_steps(
    values: FloatArray,
    seen: FloatArray,
    holes: npt.NDArray[np.bool_],
    levels: npt.NDArray[np.int32],
    powers: FloatArray,
    shift: FloatArray,
    levels_by_row: npt.NDArray[np.int32],
    weight: FloatArray,
    plain: bool,
    log_unit: FloatArray,
    offsets: npt.NDArray[np.intp],
    prior_mean: FloatArray,
    prior_variance: FloatArray,
    strength: float,
    alpha: float,
    least_scale: float,
    dead_share: float,
    narrow: float,
    chance: FloatArray,
    sharpness: FloatArray,
    log_weight: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    log_prob: FloatArray,
    kept_log_weight: FloatArray,
    kept_mean: FloatArray,
    kept_scale: FloatArray,
    kept_log_prob: FloatArray,
    best: FloatArray,
    usable: npt.NDArray[np.bool_],
    fresh: npt.NDArray[np.bool_],
    objective: FloatArray,
    best_so_far: FloatArray,
    lost: npt.NDArray[np.bool_],
    n_done: npt.NDArray[np.intp],
) -> None:
    """Several iterations of each start, one start after the other.

    The same as `assign_rows`, `sum_rows`, `finish_sums` and the M-step in turns, with the best
    parameters kept, for rows none of which is heavy. A start goes on until it has taken as many
    steps as it has numbers of `chance` (S, n_steps, n_rows), or has lost a component.

    `sharpness` is of shape (n_steps,). Parameters, kept parameters, `best`, `usable`, `fresh` are
    changed in place; `objective`, `best_so_far` (S, n_steps), `lost` (S, K) and `n_done` (S,) are
    where the answers go.
    """
    n_starts, n_components, n_numeric = mean.shape
    n_steps, n_rows, n_sums = len(sharpness), len(weight), powers.shape[1]
    heavy, heavy_share = np.empty(0, dtype=np.intp), np.empty((1, 0, n_components))
    component = np.empty((1, n_rows), dtype=np.int32)
    log_likelihood, row_weight = np.empty(1), np.empty((1, n_components))
    sums = np.empty((1, n_components, n_sums))
    counts = np.empty((1, n_components, log_prob.shape[2]))
    cells, first, second = (
        np.empty((1, n_components, n_numeric)),
        np.empty((1, n_components, n_numeric)),
        np.empty((1, n_components, n_numeric)),
    )
    constant = np.empty((1, n_components, n_numeric))
    space = np.empty((2 * n_components + 5, RUN))
    total = weight.sum()
    half = 0.5 * math.log(2.0 * math.pi)
    for s in range(n_starts):
        n_done[s] = 0
        lost[s] = False
        one = slice(s, s + 1)
        for step in range(n_steps):
            narrowest = np.inf  # relative to the column; with a prior it has no meaning
            for k in range(n_components):
                for j in range(n_numeric):
                    constant[0, k, j] = math.log(scale[s, k, j]) + log_unit[j] + half
                    if strength == 0.0 and prior_variance[j] > 0.0:
                        ratio = scale[s, k, j] / math.sqrt(prior_variance[j])
                        narrowest = min(narrowest, ratio)
            assign_rows(
                values, seen, holes, levels, weight, plain, heavy, log_weight[one], mean[one],
                scale[one], constant, log_prob[one], chance[one, step], sharpness[step],
                component, heavy_share, log_likelihood, space,
            )  # fmt: skip
            value = log_likelihood[0] + _penalty(
                scale[s], log_prob[s], prior_variance, strength, alpha
            )
            value /= total
            fit = narrowest >= narrow and not fresh[s]
            if (fit and not usable[s]) or (fit == usable[s] and value > best[s]):
                best[s] = value
                kept_log_weight[s], kept_mean[s] = log_weight[s], mean[s]
                kept_scale[s], kept_log_prob[s] = scale[s], log_prob[s]
            usable[s] = usable[s] or fit
            objective[s, step], best_so_far[s, step] = value, best[s]
            n_done[s] += 1
            sum_rows(
                powers, levels_by_row, weight, heavy, component, heavy_share, row_weight, sums,
                counts,
            )  # fmt: skip
            for k in range(n_components):
                for j in range(n_numeric):
                    first[0, k, j] = sums[0, k, j]
                    second[0, k, j] = sums[0, k, n_numeric + j]
                    cells[0, k, j] = row_weight[0, k]
                    if n_sums > 2 * n_numeric:
                        cells[0, k, j] = sums[0, k, 2 * n_numeric + j]
            finish_sums(
                cells, first, second, shift, values, seen, weight, heavy, component, heavy_share
            )
            _estimate(
                row_weight[0], cells[0], first[0], second[0], counts[0], offsets, prior_mean,
                prior_variance, strength, alpha, least_scale, log_weight[s], mean[s], scale[s],
                log_prob[s],
            )  # fmt: skip
            fresh[s] = False
            for k in range(n_components):
                gone = row_weight[0, k] < dead_share * total
                if strength == 0.0:
                    for j in range(n_numeric):
                        spread = math.sqrt(prior_variance[j])
                        gone = gone or (spread > 0.0 and scale[s, k, j] < narrow * spread)
                lost[s, k] = gone
                fresh[s] = fresh[s] or gone
            if fresh[s]:
                break


@_compiled
def share_rows(
    values: FloatArray,
    seen: FloatArray,
    holes: npt.NDArray[np.bool_],
    levels: npt.NDArray[np.int32],
    powers: FloatArray,
    levels_by_row: npt.NDArray[np.int32],
    weight: FloatArray,
    plain: bool,
    log_weight: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    constant: FloatArray,
    log_prob: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    log_likelihood: FloatArray,
) -> None:
    """Sums over rows that belong to each component by their posterior: EM's E-step.

    Arguments as in `assign_rows` and `sum_rows`; the last four are where the answers go.
    """
    n_starts, n_components = log_weight.shape
    n_rows, n_sums, n_discrete = len(weight), powers.shape[1], levels_by_row.shape[1]
    joint, space = np.empty((n_components, RUN)), np.empty((5, RUN))
    top, total, power, part, less = space[0], space[1], space[2], space[3], space[4]
    for s in range(n_starts):
        log_likelihood[s] = 0.0
        row_weight[s] = 0.0
        sums[s] = 0.0
        counts[s] = 0.0
        for first in range(0, n_rows, RUN):
            n = min(RUN, n_rows - first)
            _log_joint(
                joint, top, values, seen, holes, levels, log_weight[s], mean[s], scale[s],
                constant[s], log_prob[s], first, n,
            )  # fmt: skip
            for r in range(n):
                less[r] = top[r] if top[r] > -np.inf else 0.0
            _normalise(joint, less, total, power, part, n)
            log_likelihood[s] += _log_sum(top, total, weight[first:], n, plain)
            for r in range(n):
                total[r] = weight[first + r] / total[r]
            for k in range(n_components):
                mine, own, tally = joint[k], sums[s, k], counts[s, k]
                for r in range(n):
                    amount = mine[r] * total[r]
                    row_weight[s, k] += amount
                    row = powers[first + r]
                    for j in range(n_sums):
                        own[j] += amount * row[j]
                    for j in range(n_discrete):
                        tally[levels_by_row[first + r, j]] += amount
