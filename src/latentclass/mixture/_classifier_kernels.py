"""Loops over rows for a mixture with a naive Bayes classifier in each component.

The posterior of a row over the components is proportional to

    P(c) P(x | c) P(y | c, x),    P(y | c, x) proportional to P(y | c) prod_j P(x_j | c, y)

(Davidson 2004, equations 2 and 3). A *class component* is a pair of a component and a class; those
of component c are c Y, ..., c Y + Y - 1 for Y classes. Their parameters have the form of those of a
mixture, `within`, with P(y | c) in place of P(c).

This module loads numba; import it only where a search runs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.engine._product_mixture import DEAD_SHARE
from latentclass.mixture._hard_assignment_kernels import (
    draw_run,
    finish_sums_inside,
    sum_rows_inside,
)
from latentclass.mixture._iteration_kernels import collapsed, estimate, keep, measure
from latentclass.mixture._padded_rows import RUN
from latentclass.mixture._responsibility_kernels import (
    SPACE,
    compiled_loop,
    inlined_loop,
    largest,
    log_densities,
    normalise,
    split_run,
)

if TYPE_CHECKING:
    from latentclass.engine._product import Prior
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PaddedRows


@inlined_loop
def _condition(
    joint: FloatArray,
    inner: FloatArray,
    log_class: FloatArray,
    y: CodeArray,
    space: FloatArray,
) -> None:
    """Add log P(y | c, x) of the labels of a run of rows to `joint`, (K, RUN).

    `inner`, (K Y, RUN), has log P(y | c) prod_j P(x_j | c, y). It becomes P(y | c, x) in the rows
    without label.
    """
    n_classes = len(inner) // len(joint)
    top, total, own = space[0], space[1], space[2]
    for c in range(len(joint)):
        first = c * n_classes
        mine = inner[first : first + n_classes]
        largest(mine, top)
        for r in range(RUN):
            if top[r] == -np.inf:
                # a row that no class of the component can have made tells nothing about the class
                for k in range(n_classes):
                    mine[k, r] = log_class[first + k]
                    top[r] = max(top[r], mine[k, r])
            own[r] = mine[y[r], r] - top[r] if y[r] >= 0 else 0.0
        normalise(mine, top, total)
        for r in range(RUN):
            if y[r] >= 0:
                joint[c, r] += own[r] - math.log(total[r])
            else:
                for k in range(n_classes):
                    mine[k, r] /= total[r]


@compiled_loop
def join_rows(
    rows: PaddedRows,
    y: CodeArray,
    free: IndexArray,
    params: MixtureParams,
    constant: FloatArray,
    within: MixtureParams,
    inner_constant: FloatArray,
    log_joint: FloatArray,
    given: FloatArray,
) -> None:
    """Compute log P(c) P(x | c) P(y | c, x) of all rows, and P(y | c, x) of those without label.

    Parameters
    ----------
    rows : PaddedRows
    y : array of shape (n_padded,)
        Class codes, -1 for a row without label and for added rows.
    free : array of shape (n_free,)
        The rows without label.
    params, within : MixtureParams
        With an extra place in `log_prob` (see `with_place`); `constant` and `inner_constant` are
        their `log_constants`.
    log_joint, given : arrays of shape (S, n_rows, K), (S, n_free, K Y)
        The results are written here.
    """
    n_starts, n_rows, n_components = log_joint.shape
    joint, inner = np.empty((n_components, RUN)), np.empty((within.log_weight.shape[1], RUN))
    space = np.empty((SPACE, RUN))
    for s in range(n_starts):
        place = 0
        for first in range(0, n_rows, RUN):
            log_densities(joint, rows, params, constant[s], s, first)
            log_densities(inner, rows, within, inner_constant[s], s, first)
            _condition(joint, inner, within.log_weight[s], y[first : first + RUN], space)
            for r in range(min(RUN, n_rows - first)):
                for c in range(n_components):
                    log_joint[s, first + r, c] = joint[c, r]
            while place < len(free) and free[place] < first + RUN:
                for k in range(len(inner)):
                    given[s, place, k] = inner[k, free[place] - first]
                place += 1


@compiled_loop
def sum_shares(
    rows: PaddedRows,
    y: CodeArray,
    free: IndexArray,
    share: FloatArray,
    given: FloatArray,
    row_weight: FloatArray,
    cell_weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
) -> None:
    """Sum over the rows of each class component, given the shares of the components.

    All rows must be heavy (see `PaddedRows`). `share` has shape (S, n_rows, K), and `given` is that
    of `join_rows`. The results are written to the last five arguments, of shapes (S, K Y),
    (S, K Y, p) and (S, K Y, n_places).
    """
    n_starts, n_rows, n_components = share.shape
    n_inner = row_weight.shape[1]
    n_classes = n_inner // n_components
    component, amount = np.zeros(n_rows, dtype=np.int32), np.empty((n_rows, n_inner))
    sums = np.empty((n_inner, rows.powers.shape[1]))
    for s in range(n_starts):
        amount[:] = 0.0
        for r in range(n_rows):
            for c in range(n_components):
                if y[r] >= 0:
                    amount[r, c * n_classes + y[r]] = rows.weight[r] * share[s, r, c]
        for place in range(len(free)):
            r = free[place]
            for k in range(n_inner):
                amount[r, k] = rows.weight[r] * share[s, r, k // n_classes] * given[s, place, k]
        sum_rows_inside(rows, component, amount, row_weight[s], sums, counts[s])
        finish_sums_inside(
            rows, component, amount, row_weight[s], sums, cell_weight[s], mean[s], scatter[s]
        )


@inlined_loop
def _assign(
    rows: PaddedRows,
    y: CodeArray,
    params: MixtureParams,
    constant: FloatArray,
    within: MixtureParams,
    inner_constant: FloatArray,
    s: int,
    chance: FloatArray,
    sharpness: float,
    component: CodeArray,
    free_weight: FloatArray,
    space: FloatArray,
) -> float:
    """Draw a component for each row and return the log-likelihood of the model itself.

    A row with label is written to `component` as its class component. The heavy rows are those
    without label: their weight in the class components goes to `free_weight`.
    """
    n_components, n_inner = params.log_weight.shape[1], within.log_weight.shape[1]
    n_classes = n_inner // n_components
    joint, raised = space[:n_components], space[n_components : 2 * n_components]
    inner = space[2 * n_components : 2 * n_components + n_inner]
    space = space[2 * n_components + n_inner :]
    n_rows, place, log_likelihood = len(rows.weight), 0, 0.0
    for first in range(0, n_rows, RUN):
        n = min(RUN, n_rows - first)
        log_densities(joint, rows, params, constant, s, first)
        log_densities(inner, rows, within, inner_constant, s, first)
        _condition(joint, inner, within.log_weight[s], y[first : first + RUN], space)
        log_likelihood += split_run(rows, first, joint, raised, sharpness, space)
        found = component[first : first + n]
        draw_run(joint, raised, sharpness, chance[first : first + n], found, space)
        while place < len(rows.heavy) and rows.heavy[place] < first + n:
            r = rows.heavy[place] - first
            for k in range(n_inner):
                own = k // n_classes == found[r]
                free_weight[place, k] = rows.weight[first + r] * inner[k, r] if own else 0.0
            place += 1
        for r in range(n):
            found[r] = found[r] * n_classes + max(y[first + r], 0)
    return log_likelihood


@inlined_loop
def _share_classes(row_weight: FloatArray, alpha: float, log_class: FloatArray, n: int) -> None:
    """`drawn_shares` of one start with n components, as logarithms."""
    n_classes = len(row_weight) // n
    whole = row_weight.sum()
    more = alpha * n if n > 1 else 0.0
    draw = more / (whole + more)
    for k in range(n_classes):
        overall = 0.0
        for c in range(n):
            overall += row_weight[c * n_classes + k]
        overall /= whole
        for c in range(n):
            size = 0.0
            for i in range(c * n_classes, (c + 1) * n_classes):
                size += row_weight[i]
            own = row_weight[c * n_classes + k] / size if size > 0.0 else overall
            share = (1.0 - draw) * own + draw * overall
            log_class[c * n_classes + k] = math.log(share) if share > 0.0 else -np.inf


@inlined_loop
def _pool(
    n_classes: int,
    row_weight: FloatArray,
    cell_weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    counts: FloatArray,
    pooled_weight: FloatArray,
    pooled_cells: FloatArray,
    pooled_mean: FloatArray,
    pooled_scatter: FloatArray,
    pooled_counts: FloatArray,
) -> None:
    """Merge the statistics of the classes of each component, as `product.merge_stats` does."""
    for c in range(len(pooled_weight)):
        pooled_weight[c] = 0.0
        for j in range(mean.shape[1]):
            pooled_cells[c, j] = pooled_mean[c, j] = pooled_scatter[c, j] = 0.0
        for level in range(counts.shape[1]):
            pooled_counts[c, level] = 0.0
        for k in range(c * n_classes, (c + 1) * n_classes):
            pooled_weight[c] += row_weight[k]
            for j in range(mean.shape[1]):
                before = pooled_cells[c, j]
                pooled_cells[c, j] = before + cell_weight[k, j]
                if cell_weight[k, j] > 0.0:
                    shift = mean[k, j] - pooled_mean[c, j]
                    share = cell_weight[k, j] / pooled_cells[c, j]
                    pooled_mean[c, j] += shift * share
                    pooled_scatter[c, j] += scatter[k, j] + shift * shift * before * share
            for level in range(counts.shape[1]):
                pooled_counts[c, level] += counts[k, level]


@compiled_loop
def run_classifier_steps(
    rows: PaddedRows,
    y: CodeArray,
    prior: Prior,
    offsets: IndexArray,
    chance: FloatArray,
    sharpness: FloatArray,
    s: int,
    params: MixtureParams,
    within: MixtureParams,
    kept: MixtureParams,
    kept_within: MixtureParams,
    best: FloatArray,
    usable: BoolArray,
    fresh: BoolArray,
    objective: FloatArray,
    best_so_far: FloatArray,
    lost: BoolArray,
) -> int:
    """Run several iterations of start s and return how many, as `_iteration_kernels.run_steps`.

    The heavy rows must be those without label.
    """
    _, n_components, n_numeric = params.mean.shape
    n_inner, n_places = within.log_prob.shape[1:]
    n_rows = len(rows.weight)
    component, free_weight = np.empty(n_rows, dtype=np.int32), np.empty((len(rows.heavy), n_inner))
    row_weight, pooled_weight = np.empty(n_inner), np.empty(n_components)
    sums = np.empty((n_inner, rows.powers.shape[1]))
    counts, pooled_counts = np.empty((n_inner, n_places)), np.empty((n_components, n_places))
    cells, constant = np.empty((n_inner, n_numeric)), np.empty((n_components, n_numeric))
    average, scatter, inner_constant = (
        np.empty_like(cells),
        np.empty_like(cells),
        np.empty_like(cells),
    )
    pooled_cells, pooled_average = np.empty_like(constant), np.empty_like(constant)
    pooled_scatter = np.empty_like(constant)
    space = np.empty((2 * n_components + n_inner + SPACE, RUN))
    total = rows.weight.sum()
    narrow = False
    for c in range(n_components):
        lost[s, c] = False
        narrow = narrow or collapsed(params, prior, s, c)
    for step in range(len(sharpness)):
        value = measure(rows, prior, params, s, constant)
        measure(rows, prior, within, s, inner_constant)
        value += _assign(
            rows, y, params, constant, within, inner_constant, s, chance[step], sharpness[step],
            component, free_weight, space,
        )  # fmt: skip
        value /= total
        fit = not narrow and not fresh[s]
        if (fit and not usable[s]) or (fit == usable[s] and value > best[s]):
            best[s] = value
            keep(params, kept, s)
            keep(within, kept_within, s)
        usable[s] = usable[s] or fit
        objective[s, step], best_so_far[s, step] = value, best[s]
        sum_rows_inside(rows, component, free_weight, row_weight, sums, counts)
        finish_sums_inside(rows, component, free_weight, row_weight, sums, cells, average, scatter)
        estimate(row_weight, cells, average, scatter, counts, offsets, prior, within, s)
        _share_classes(row_weight, prior.alpha, within.log_weight[s], n_components)
        _pool(
            n_inner // n_components, row_weight, cells, average, scatter, counts,
            pooled_weight, pooled_cells, pooled_average, pooled_scatter, pooled_counts,
        )  # fmt: skip
        estimate(
            pooled_weight, pooled_cells, pooled_average, pooled_scatter, pooled_counts, offsets,
            prior, params, s,
        )  # fmt: skip
        fresh[s] = narrow = False
        for c in range(n_components):
            small = collapsed(params, prior, s, c)
            narrow = narrow or small
            lost[s, c] = small or pooled_weight[c] < DEAD_SHARE / n_components * total
            fresh[s] = fresh[s] or lost[s, c]
        if fresh[s]:
            return step + 1
    return len(sharpness)
