"""Many iterations of ERA or annealing of a mixture in one call (see `_mixture_search`).

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._product import SCALE_FLOOR
from latentclass.engine._product_mixture import COLLAPSED, DEAD_SHARE
from latentclass.mixture._hard_assignment_kernels import assign_rows, finish_sums, sum_rows
from latentclass.mixture._padded_rows import RUN
from latentclass.mixture._responsibility_kernels import SPACE, compiled_loop

if TYPE_CHECKING:
    from latentclass.engine._product import Prior
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PackedRows


@compiled_loop
def _measure(
    rows: PackedRows, prior: Prior, params: MixtureParams, s: int, constant: FloatArray
) -> float:
    """`log_constants` of one start, and `product.log_prior` of it."""
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


@compiled_loop
def _estimate(
    row_weight: FloatArray,
    cells: FloatArray,
    average: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
    offsets: IndexArray,
    prior: Prior,
    params: MixtureParams,
    s: int,
) -> None:
    """`product.estimate` of one start's components, and their log weights."""
    n_components, n_numeric = average.shape
    whole = row_weight.sum()
    for k in range(n_components):
        share = row_weight[k] / whole
        params.log_weight[s, k] = math.log(share) if share > 0.0 else -np.inf
        for j in range(n_numeric):
            params.mean[s, k, j] = average[k, j] if cells[k, j] > 0.0 else prior.mean[j]
            size = cells[k, j] + prior.strength
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


@compiled_loop
def _collapsed(params: MixtureParams, prior: Prior, s: int, k: int) -> bool:
    """`_mixture_search.collapsed` of one component."""
    if prior.strength > 0.0:
        return False
    for j in range(len(prior.variance)):
        spread = math.sqrt(prior.variance[j])
        if spread > 0.0 and params.scale[s, k, j] < COLLAPSED * spread:
            return True
    return False


@compiled_loop
def _keep(params: MixtureParams, kept: MixtureParams, s: int) -> None:
    """Copy the parameters of one start, cell by cell: that compiles faster."""
    for k in range(params.log_weight.shape[1]):
        kept.log_weight[s, k] = params.log_weight[s, k]
        for j in range(params.mean.shape[2]):
            kept.mean[s, k, j] = params.mean[s, k, j]
            kept.scale[s, k, j] = params.scale[s, k, j]
        for level in range(params.log_prob.shape[2]):
            kept.log_prob[s, k, level] = params.log_prob[s, k, level]


@compiled_loop
def run_steps(
    rows: PackedRows,
    prior: Prior,
    offsets: IndexArray,
    chance: FloatArray,
    sharpness: FloatArray,
    s: int,
    params: MixtureParams,
    kept: MixtureParams,
    best: FloatArray,
    usable: BoolArray,
    fresh: BoolArray,
    objective: FloatArray,
    best_so_far: FloatArray,
    lost: BoolArray,
) -> int:
    """Several iterations of start s, for rows none of which is heavy; returns how many.

    The same as the search's `observe` and `move` in turns. It goes on until it has taken as many
    steps as it has rows of `chance`, (n_steps, n_rows), and of `sharpness`, or has lost a
    component.

    Parameters, kept parameters (both with a place more, see `with_place`), `best`, `usable`,
    `fresh`, all of S starts, are changed in place; `objective`, `best_so_far` (S, n_steps) and
    `lost` (S, K) are where the answers go.
    """
    _, n_components, n_numeric = params.mean.shape
    n_rows, n_sums = rows.powers.shape
    component, heavy_share = np.empty(n_rows, dtype=np.int32), np.empty((0, n_components))
    row_weight, sums = np.empty(n_components), np.empty((n_components, n_sums))
    counts = np.empty((n_components, params.log_prob.shape[2]))
    cells = np.empty((n_components, n_numeric))
    average, scatter = np.empty_like(cells), np.empty_like(cells)
    constant = np.empty_like(cells)
    space = np.empty((2 * n_components + SPACE, RUN))
    total = rows.weight.sum()
    lost[s] = False
    narrow = False
    for k in range(n_components):
        narrow = narrow or _collapsed(params, prior, s, k)
    for step in range(len(sharpness)):
        value = _measure(rows, prior, params, s, constant)
        value += assign_rows(
            rows, params, constant, s, chance[step], sharpness[step], component, heavy_share, space
        )
        value /= total
        fit = not narrow and not fresh[s]
        if (fit and not usable[s]) or (fit == usable[s] and value > best[s]):
            best[s] = value
            _keep(params, kept, s)
        usable[s] = usable[s] or fit
        objective[s, step], best_so_far[s, step] = value, best[s]
        sum_rows(rows, component, heavy_share, row_weight, sums, counts)
        finish_sums(rows, component, heavy_share, row_weight, sums, cells, average, scatter)
        _estimate(row_weight, cells, average, scatter, counts, offsets, prior, params, s)
        fresh[s] = narrow = False
        for k in range(n_components):
            small = _collapsed(params, prior, s, k)
            narrow = narrow or small
            lost[s, k] = small or row_weight[k] < DEAD_SHARE / n_components * total
            fresh[s] = fresh[s] or lost[s, k]
        if fresh[s]:
            return step + 1
    return len(sharpness)
