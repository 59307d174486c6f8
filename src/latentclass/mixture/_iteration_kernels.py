"""Many iterations of ERA or annealing of a mixture in one call (see `_searches`).

Each iteration draws a component for every row from P(c | x) to the power 1 / temperature
(Davidson 2004, "Combining ERA with simulated annealing"), and then estimates P(c) and the
P(x_i | c) of eq. (2) from the rows of each component.

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._product import SCALE_FLOOR
from latentclass.engine._product_mixture import COLLAPSED, DEAD_SHARE
from latentclass.mixture._hard_assignment_kernels import (
    assign_rows_inside,
    finish_sums_inside,
    sum_rows_inside,
)
from latentclass.mixture._padded_rows import RUN
from latentclass.mixture._responsibility_kernels import SPACE, compiled_loop, inner_loop

if TYPE_CHECKING:
    from latentclass.engine._product import Prior
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PaddedRows, Spares
    from latentclass.mixture._searches import Marks

NO_LIMIT = np.iinfo(np.intp).max
"""A search that never settles may put components elsewhere so many times."""


@inner_loop
def measure(
    rows: PaddedRows, prior: Prior, params: MixtureParams, s: int, constant: FloatArray
) -> float:
    """Compute `log_constants` of one start, and return its `product.log_prior`."""
    half = 0.5 * math.log(2.0 * math.pi)
    total = 0.0
    for k in range(constant.shape[0]):
        for j in range(constant.shape[1]):
            scale = params.scale[s, k, j]
            log_scale = math.log(scale)
            constant[k, j] = log_scale + rows.log_unit[j] + half
            ratio = prior.variance[j] / (scale * scale)
            total -= 0.5 * prior.strength * (2.0 * log_scale + ratio)
        if prior.alpha > 0.0:
            for level in range(params.log_prob.shape[2] - 1):  # the last is for missing cells
                total += prior.alpha * params.log_prob[s, k, level]
    return total


@inner_loop
def estimate(
    row_weight: FloatArray,
    cell_weight: FloatArray,
    average: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
    offsets: IndexArray,
    prior: Prior,
    params: MixtureParams,
    s: int,
) -> None:
    """`product.estimate` for the components of one start, and their log weights."""
    n_components, n_numeric = average.shape
    whole = row_weight.sum()
    for k in range(n_components):
        share = row_weight[k] / whole
        params.log_weight[s, k] = math.log(share) if share > 0.0 else -np.inf
        for j in range(n_numeric):
            params.mean[s, k, j] = average[k, j] if cell_weight[k, j] > 0.0 else prior.mean[j]
            size = cell_weight[k, j] + prior.strength
            variance = prior.variance[j]
            if size > 0.0:
                variance = (scatter[k, j] + prior.strength * variance) / size
            spread = max(math.sqrt(variance), SCALE_FLOOR)
            params.scale[s, k, j] = spread if prior.variance[j] > 0.0 else 1.0
        for j in range(len(offsets) - 1):
            first, end = offsets[j], offsets[j + 1]
            total = 0.0
            for level in range(first, end):
                total += counts[k, level] + prior.alpha
            for level in range(first, end):
                share = 1.0 / (end - first)
                if total > 0.0:
                    share = (counts[k, level] + prior.alpha) / total
                params.log_prob[s, k, level] = math.log(share) if share > 0.0 else -np.inf


@inner_loop
def collapsed(params: MixtureParams, prior: Prior, s: int, k: int) -> bool:
    """`_searches.collapsed` of one component."""
    if prior.strength > 0.0:
        return False
    for j in range(len(prior.variance)):
        spread = math.sqrt(prior.variance[j])
        if spread > 0.0 and params.scale[s, k, j] < COLLAPSED * spread:
            return True
    return False


@inner_loop
def keep(params: MixtureParams, kept: MixtureParams, s: int) -> None:
    """Copy the parameters of one start, number by number: this compiles faster."""
    for k in range(params.log_weight.shape[1]):
        kept.log_weight[s, k] = params.log_weight[s, k]
        for j in range(params.mean.shape[2]):
            kept.mean[s, k, j] = params.mean[s, k, j]
            kept.scale[s, k, j] = params.scale[s, k, j]
        for level in range(params.log_prob.shape[2]):
            kept.log_prob[s, k, level] = params.log_prob[s, k, level]


@inner_loop
def is_better(value: float, narrow: bool, marks: Marks, s: int) -> bool:
    """Note the objective of start s, and return whether its parameters are to be kept."""
    fit = not narrow and not marks.fresh[s]
    better = (fit and not marks.usable[s]) or (fit == marks.usable[s] and value > marks.best[s])
    if better:
        marks.best[s] = value
    marks.usable[s] = marks.usable[s] or fit
    return bool(better)


@inner_loop
def copy_component(params: MixtureParams, s: int, k: int, of: MixtureParams, i: int) -> None:
    """Put component i of the first start of other parameters in the place of component k."""
    for j in range(params.mean.shape[2]):
        params.mean[s, k, j] = of.mean[0, i, j]
        params.scale[s, k, j] = of.scale[0, i, j]
    for level in range(params.log_prob.shape[2]):
        params.log_prob[s, k, level] = of.log_prob[0, i, level]


@inner_loop
def find_lost(
    params: MixtureParams,
    prior: Prior,
    s: int,
    row_weight: FloatArray,
    marks: Marks,
    most_rounds: int,
    lost: BoolArray,
) -> bool:
    """Mark the components to put elsewhere, and return whether some component has collapsed."""
    n_components, narrow, n_lost = len(row_weight), False, 0
    least = DEAD_SHARE / n_components * row_weight.sum()
    for k in range(n_components):
        small = collapsed(params, prior, s, k)
        narrow = narrow or small
        lost[s, k] = (small or row_weight[k] < least) and marks.rounds[s] < most_rounds
        n_lost += lost[s, k]
    marks.fresh[s] = n_lost > 0
    return narrow


@inner_loop
def has_spares(spares: Spares, s: int, lost: BoolArray) -> bool:
    """Whether there is a spare component for each one that start s has lost."""
    n_lost = 0
    for k in range(lost.shape[1]):
        n_lost += lost[s, k]
    return bool(spares.used[0] + n_lost <= spares.params.mean.shape[1])


@inner_loop
def reseed(params: MixtureParams, s: int, spares: Spares, marks: Marks, lost: BoolArray) -> None:
    """`MixtureProblem.reseed` for one start, with spare components. None is lost afterwards."""
    n_components, whole, now = params.log_weight.shape[1], 0.0, 0.0
    for k in range(n_components):
        whole += math.exp(params.log_weight[s, k])
    for k in range(n_components):
        if lost[s, k]:
            copy_component(params, s, k, spares.params, spares.used[0])
            params.log_weight[s, k] = math.log(whole / n_components)
            spares.used[0] += 1
            marks.reseeded[s] += 1
            lost[s, k] = False
        now += math.exp(params.log_weight[s, k])
    for k in range(n_components):
        params.log_weight[s, k] -= math.log(now)
    marks.rounds[s] += 1


@compiled_loop
def run_steps(
    rows: PaddedRows,
    prior: Prior,
    offsets: IndexArray,
    chance: FloatArray,
    sharpness: FloatArray,
    s: int,
    params: MixtureParams,
    kept: MixtureParams,
    marks: Marks,
    spares: Spares,
    objective: FloatArray,
    best_so_far: FloatArray,
    lost: BoolArray,
) -> int:
    """Run several iterations of start s and return how many; no row may be heavy.

    Does the same as `observe` and `move` of the search in turns. It takes one step for each row of
    `chance`, (n_steps, n_rows), and entry of `sharpness`, but stops after a step that loses a
    component if no spare one is left.

    `params` and `kept` (both with an extra place, see `with_place`) and `marks` belong to all S
    starts and are changed in place. The results are written to `objective` and `best_so_far`,
    (S, n_steps), and `lost`, (S, K).
    """
    _, n_components, n_numeric = params.mean.shape
    n_rows, n_sums = rows.powers.shape
    component, heavy_share = np.empty(n_rows, dtype=np.int32), np.empty((0, n_components))
    row_weight, sums = np.empty(n_components), np.empty((n_components, n_sums))
    counts = np.empty((n_components, params.log_prob.shape[2]))
    cell_weight = np.empty((n_components, n_numeric))
    average, scatter = np.empty_like(cell_weight), np.empty_like(cell_weight)
    constant = np.empty_like(cell_weight)
    space = np.empty((2 * n_components + SPACE, RUN))
    total = rows.weight.sum()
    narrow = False
    for k in range(n_components):
        lost[s, k] = False
        narrow = narrow or collapsed(params, prior, s, k)
    for step in range(len(sharpness)):
        value = measure(rows, prior, params, s, constant)
        value += assign_rows_inside(
            rows, params, constant, s, chance[step], sharpness[step], component, heavy_share, space
        )
        value /= total
        if is_better(value, narrow, marks, s):
            keep(params, kept, s)
        objective[s, step], best_so_far[s, step] = value, marks.best[s]
        sum_rows_inside(rows, component, heavy_share, row_weight, sums, counts)
        finish_sums_inside(
            rows, component, heavy_share, row_weight, sums, cell_weight, average, scatter
        )
        estimate(row_weight, cell_weight, average, scatter, counts, offsets, prior, params, s)
        narrow = find_lost(params, prior, s, row_weight, marks, NO_LIMIT, lost)
        if marks.fresh[s]:
            if not has_spares(spares, s, lost):
                return step + 1
            reseed(params, s, spares, marks, lost)
    return len(sharpness)
