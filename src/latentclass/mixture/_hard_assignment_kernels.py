"""Loops over rows for the searches that give each row to one component (see `_searches`).

The component is drawn from P(c | x), or from this posterior to a power, where P(c | x) is
proportional to P(c) prod_i P(x_i | c) (Davidson 2004, eq. 2). This is the exclusive random
assignment of the paper's section "EM, K-Means and ERA algorithms".

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.mixture._padded_rows import LOST, RUN
from latentclass.mixture._responsibility_kernels import (
    compiled_loop,
    inlined_loop,
    inner_loop,
    normalise,
    share_run,
)

if TYPE_CHECKING:
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PaddedRows


@inner_loop
def _draw(
    shares: FloatArray,
    total: FloatArray,
    chance: FloatArray,
    room: FloatArray,
    component: CodeArray,
    n: int,
) -> None:
    """Pick the component in whose share `chance` falls."""
    for r in range(n):
        room[r] = chance[r] * total[r]
        component[r] = 0
    for k in range(len(shares) - 1):
        mine = shares[k]
        for r in range(n):
            room[r] -= mine[r]
            component[r] += room[r] >= 0.0


@inner_loop
def _best(shares: FloatArray, component: CodeArray, n: int) -> None:
    """Pick the first component with the largest share."""
    for r in range(n):
        component[r] = 0
        for k in range(1, len(shares)):
            if shares[k, r] > shares[component[r], r]:
                component[r] = k


@inner_loop
def _heavy_shares(
    rows: PaddedRows,
    end: int,
    place: int,
    first: int,
    shares: FloatArray,
    total: FloatArray,
    heavy_share: FloatArray,
) -> int:
    """Write the shares of the heavy rows before row `end`, and return the place of the next one."""
    while place < len(rows.heavy) and rows.heavy[place] < end:
        r = rows.heavy[place] - first
        for k in range(len(shares)):
            heavy_share[place, k] = shares[k, r] / total[r]
        place += 1
    return place


def _assign_rows(
    rows: PaddedRows,
    params: MixtureParams,
    constant: FloatArray,
    s: int,
    chance: FloatArray,
    sharpness: float,
    component: CodeArray,
    heavy_share: FloatArray,
    space: FloatArray,
) -> float:
    """Draw one component per row from its posterior to the power `sharpness`.

    With infinite sharpness each row gets its most probable component. Returns the log-likelihood of
    the mixture itself.

    Parameters
    ----------
    rows, params, constant, s
        As in `share_run`.
    chance : array of shape (n_rows,)
        Uniform on [0, 1); not used with infinite sharpness.
    component, heavy_share : arrays of shape (n_rows,), (n_heavy, K)
        The results are written here; for a row that stands for several, its shares.
    space : array of shape (2 K + SPACE, RUN)
        Working memory.
    """
    n_components = params.log_weight.shape[1]
    joint, raised = space[:n_components], space[n_components : 2 * n_components]
    space = space[2 * n_components :]
    n_rows, place, log_likelihood = len(rows.weight), 0, 0.0
    for first in range(0, n_rows, RUN):
        n = min(RUN, n_rows - first)
        log_likelihood += share_run(
            rows, params, constant, s, first, joint, raised, sharpness, space
        )
        found, draws = component[first : first + n], chance[first : first + n]
        draw_run(joint, raised, sharpness, draws, found, space)
        shares = joint if sharpness == 1.0 else raised
        place = _heavy_shares(rows, first + n, place, first, shares, space[0], heavy_share)
    return log_likelihood


@inlined_loop
def draw_run(
    joint: FloatArray,
    raised: FloatArray,
    sharpness: float,
    chance: FloatArray,
    component: CodeArray,
    space: FloatArray,
) -> None:
    """Draw the components of a run of rows after `split_run`, whose arrays these are.

    Unless the sharpness is 1, `raised` and its sum, `space[0]`, become the shares to that power.
    """
    total, less, room, n = space[0], space[1], space[2], len(component)
    if sharpness == 1.0:
        _draw(joint, total, chance, room, component, n)
        return
    normalise(raised, less, total)
    if sharpness == np.inf:
        _best(joint, component, n)
    else:
        _draw(raised, total, chance, room, component, n)


def _sum_rows(
    rows: PaddedRows,
    component: CodeArray,
    heavy_weight: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
) -> None:
    """Sum over the rows of each component; a heavy row may be divided among several.

    Parameters
    ----------
    rows : PaddedRows
    component : array of shape (n_rows,)
    heavy_weight : array of shape (n_heavy, K)
        Weight of the heavy rows in each component.
    row_weight, sums, counts : arrays of shape (K,), (K, n_sums), (K, n_places)
        The results are written here.
    """
    n_components, n_sums = sums.shape
    for k in range(n_components):  # number by number: this compiles faster
        row_weight[k] = 0.0
        for j in range(n_sums):
            sums[k, j] = 0.0
        for level in range(counts.shape[1]):
            counts[k, level] = 0.0
    n_light = len(rows.light) if len(rows.heavy) < len(rows.light) else 0
    for r in range(n_light):
        amount, own, mine = rows.light[r], sums[component[r]], rows.powers[r]
        for j in range(n_sums):
            own[j] += amount * mine[j]
        row_weight[component[r]] += amount
    for r in range(n_light):
        for j in range(rows.levels_by_row.shape[1]):
            counts[component[r], rows.levels_by_row[r, j]] += rows.light[r]
    for place in range(len(rows.heavy)):
        r = rows.heavy[place]
        for k in range(n_components):
            amount, own, mine = heavy_weight[place, k], sums[k], rows.powers[r]
            if amount == 0.0:
                continue
            for j in range(n_sums):
                own[j] += amount * mine[j]
            row_weight[k] += amount
            for j in range(rows.levels_by_row.shape[1]):
                counts[k, rows.levels_by_row[r, j]] += amount


@inner_loop
def _sum_squares(
    rows: PaddedRows,
    component: CodeArray,
    heavy_weight: FloatArray,
    k: int,
    j: int,
    mean: float,
) -> float:
    """Sum of squares about the mean of one column in one component."""
    total, place = 0.0, 0
    for r in range(len(rows.weight)):
        amount = rows.light[r] if component[r] == k else 0.0
        if place < len(rows.heavy) and rows.heavy[place] == r:
            amount = heavy_weight[place, k]
            place += 1
        distance = rows.values[j, r] - mean
        total += amount * rows.seen[j, r] * distance * distance
    return total


def _finish_sums(
    rows: PaddedRows,
    component: CodeArray,
    heavy_weight: FloatArray,
    row_weight: FloatArray,
    sums: FloatArray,
    cell_weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
) -> None:
    """Compute the weight of the observed cells, their mean and scatter, (K, p), from the sums."""
    n_components, p = mean.shape
    for k in range(n_components):
        for j in range(p):
            cell_weight[k, j] = sums[k, 2 * p + j] if sums.shape[1] > 2 * p else row_weight[k]
            mean[k, j] = scatter[k, j] = 0.0
            if cell_weight[k, j] <= 0.0:
                continue
            about, whole = sums[k, j] / cell_weight[k, j], sums[k, p + j]
            mean[k, j] = about + rows.shift[j]
            scatter[k, j] = whole - cell_weight[k, j] * about * about
            if scatter[k, j] < LOST * whole:
                scatter[k, j] = _sum_squares(rows, component, heavy_weight, k, j, mean[k, j])


# For calls from Python, and for other kernels, without an entry from Python: it takes long to
# compile.
assign_rows, assign_rows_inside = compiled_loop(_assign_rows), inner_loop(_assign_rows)
sum_rows, sum_rows_inside = compiled_loop(_sum_rows), inner_loop(_sum_rows)
finish_sums, finish_sums_inside = compiled_loop(_finish_sums), inner_loop(_finish_sums)
