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
from latentclass.mixture._hard_assignment_kernels import (
    draw_run,
    finish_sums_inside,
    sum_rows_inside,
)
from latentclass.mixture._iteration_kernels import (
    collapsed,
    copy_component,
    estimate,
    find_lost,
    has_spares,
    is_better,
    keep,
    measure,
    reseed,
)
from latentclass.mixture._padded_rows import RUN
from latentclass.mixture._responsibility_kernels import (
    SPACE,
    compiled_loop,
    exponentials,
    inlined_loop,
    inner_loop,
    largest,
    log_densities,
    log_sum,
    normalise,
    split_run,
)

if TYPE_CHECKING:
    from latentclass.engine._product import Prior
    from latentclass.engine._product_mixture import MixtureParams
    from latentclass.mixture._padded_rows import PaddedRows, Spares
    from latentclass.mixture._searches import Marks, Task


NOTHING = 1e-300
"""A smaller share counts as none: `exponentials` raises a share of 0 to exp(-700)."""


@inner_loop
def _make_possible(inner: FloatArray, log_class: FloatArray, first: int, top: FloatArray) -> None:
    """Let rows that no class of the component can have made tell nothing about the class."""
    impossible = 0
    for r in range(RUN):
        impossible += top[r] == -np.inf
    if impossible == 0:
        return
    for r in range(RUN):
        if top[r] == -np.inf:
            for k in range(len(inner)):
                inner[k, r] = log_class[first + k]
                top[r] = max(top[r], inner[k, r])


@inner_loop
def _take_own(joint: FloatArray, inner: FloatArray, y: CodeArray, top: FloatArray) -> None:
    """Add the logarithm of the label's own class, relative to `top`, to `joint`."""
    for k in range(len(inner)):
        mine = inner[k]
        for r in range(RUN):
            joint[r] += mine[r] - top[r] if y[r] == k else 0.0


@inner_loop
def _sum_two(inner: FloatArray, top: FloatArray, total: FloatArray) -> None:
    """Do what `normalise` does to `total` for two classes, with one exponential: the other is 1."""
    less, more = inner[0], inner[1]
    for r in range(RUN):
        less[r] = min(less[r], more[r])
        total[r] = 1.0
    exponentials(less, top, total)


@inner_loop
def _divide_free(inner: FloatArray, y: CodeArray, total: FloatArray) -> None:
    """Turn the shares of the classes of the rows without a label into P(y | c, x)."""
    for r in range(RUN):
        if y[r] < 0:
            for k in range(len(inner)):
                inner[k, r] = inner[k, r] / total[r] if inner[k, r] > NOTHING else 0.0
            total[r] = 1.0


@inlined_loop
def _join_run(
    rows: PaddedRows,
    y: CodeArray,
    params: MixtureParams,
    constant: FloatArray,
    within: MixtureParams,
    inner_constant: FloatArray,
    s: int,
    first: int,
    all_known: bool,
    joint: FloatArray,
    inner: FloatArray,
    norm: FloatArray,
    top: FloatArray,
) -> None:
    """Compute log P(c) P(x | c) P(y | c, x) of a run of rows as `joint` - log `norm`, (K, RUN).

    The logarithms are left to the caller, who seldom needs them. Unless all labels are known,
    `inner`, (K Y, RUN), gets P(y | c, x) in the rows without a label.
    """
    n_classes = within.log_weight.shape[1] // len(joint)
    labels, log_class = y[first : first + RUN], within.log_weight[s]
    for c in range(len(joint)):
        begin = c * n_classes
        # one component after the other, so that its numbers stay in the cache
        place = 0 if all_known else begin
        mine = inner[place : place + n_classes]
        log_densities(joint[c : c + 1], rows, params, constant, s, c, first)
        log_densities(mine, rows, within, inner_constant, s, begin, first)
        largest(mine, top)
        _make_possible(mine, log_class, begin, top)
        _take_own(joint[c], mine, labels, top)
        if all_known and n_classes == 2:
            _sum_two(mine, top, norm[c])
        else:
            normalise(mine, top, norm[c])
        if not all_known:
            _divide_free(mine, labels, norm[c])


@inner_loop
def _divide(joint: FloatArray, norm: FloatArray, space: FloatArray) -> None:
    """Divide the shares that `split_run` made, and sum them anew."""
    total, top = space[0], space[2]
    for r in range(RUN):
        total[r] = 0.0
    for c in range(len(joint)):
        mine, by = joint[c], norm[c]
        for r in range(RUN):
            # a row that no component can have made keeps equal shares
            mine[r] /= by[r] if top[r] > -np.inf else 1.0
            total[r] += mine[r]


@inner_loop
def _take_logarithms(joint: FloatArray, norm: FloatArray) -> None:
    """Subtract the logarithm of `norm` from `joint`."""
    for c in range(len(joint)):
        for r in range(RUN):
            joint[c, r] -= math.log(norm[c, r])


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
    """Compute log P(c) P(x | c) P(y | c, x) of all rows, and P(y | c, x) of those without a label.

    Parameters
    ----------
    rows : PaddedRows
    y : array of shape (n_padded,)
        Class codes, -1 for a row without a label and for added rows.
    free : array of shape (n_free,)
        The rows without a label.
    params, within : MixtureParams
        With an extra place in `log_prob` (see `with_place`); `constant` and `inner_constant` are
        their `log_constants`.
    log_joint, given : arrays of shape (S, n_rows, K), (S, n_free, K Y)
        The results are written here.
    """
    n_starts, n_rows, n_components = log_joint.shape
    joint, inner = np.empty((n_components, RUN)), np.empty((within.log_weight.shape[1], RUN))
    norm, top = np.empty((n_components, RUN)), np.empty(RUN)
    for s in range(n_starts):
        place = 0
        for first in range(0, n_rows, RUN):
            _join_run(
                rows, y, params, constant[s], within, inner_constant[s], s, first, len(free) == 0,
                joint, inner, norm, top,
            )  # fmt: skip
            _take_logarithms(joint, norm)
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


@inner_loop
def _divide_rows(
    rows: PaddedRows,
    y: CodeArray,
    first: int,
    joint: FloatArray,
    inner: FloatArray,
    total: FloatArray,
    amount: FloatArray,
) -> None:
    """Divide a run of rows among the class components by their shares, as EM does.

    A row with label belongs to the class components of its class only: the others must be 0.
    """
    n_classes = amount.shape[1] // len(joint)
    for r in range(min(RUN, len(amount) - first)):
        whole, into = rows.weight[first + r] / total[r], amount[first + r]
        for c in range(len(joint)):
            part = joint[c, r] * whole if joint[c, r] > NOTHING else 0.0
            if y[first + r] >= 0:
                into[c * n_classes + y[first + r]] = part
            else:
                for k in range(c * n_classes, (c + 1) * n_classes):
                    into[k] = part * inner[k, r]


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
    soft: bool,
    all_known: bool,
    component: CodeArray,
    amount: FloatArray,
    space: FloatArray,
) -> float:
    """Give the rows to components and return the log-likelihood of the model itself.

    If `soft`, all rows are heavy, and their weight in the class components goes to `amount`.
    Otherwise a component is drawn for each row. A row with label is written to `component` as its
    class component. The heavy rows are those without a label: their weight goes to `amount`.
    """
    n_components, n_inner = params.log_weight.shape[1], within.log_weight.shape[1]
    n_classes = n_inner // n_components
    joint, raised = space[:n_components], space[n_components : 2 * n_components]
    norm, space = space[2 * n_components : 3 * n_components], space[3 * n_components :]
    inner, space = space[:n_inner], space[n_inner:]
    n_rows, place, log_likelihood = len(rows.weight), 0, 0.0
    for first in range(0, n_rows, RUN):
        n = min(RUN, n_rows - first)
        _join_run(
            rows, y, params, constant, within, inner_constant, s, first, all_known,
            joint, inner, norm, space[0],
        )  # fmt: skip
        if sharpness != 1.0:
            _take_logarithms(joint, norm)
        split_run(joint, raised, sharpness, space)
        if sharpness == 1.0:
            _divide(joint, norm, space)
        log_likelihood += log_sum(rows, first, space)
        if soft:
            _divide_rows(rows, y, first, joint, inner, space[0], amount)
            continue
        found = component[first : first + n]
        draw_run(joint, raised, sharpness, chance[first : first + n], found, space)
        while place < len(rows.heavy) and rows.heavy[place] < first + n:
            r = rows.heavy[place] - first
            for k in range(n_inner):
                own = k // n_classes == found[r]
                amount[place, k] = rows.weight[first + r] * inner[k, r] if own else 0.0
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


@inner_loop
def _reseed_classifiers(
    within: MixtureParams, s: int, lost: BoolArray, base: MixtureParams
) -> None:
    """Give the lost components the classifier of all rows."""
    n_classes = base.mean.shape[1]
    for c in range(lost.shape[1]):
        if lost[s, c]:
            for k in range(n_classes):
                copy_component(within, s, c * n_classes + k, base, k)
                within.log_weight[s, c * n_classes + k] = base.log_weight[0, k]


@compiled_loop
def run_classifier_steps(
    rows: PaddedRows,
    y: CodeArray,
    prior: Prior,
    offsets: IndexArray,
    chance: FloatArray,
    sharpness: FloatArray,
    task: Task,
    s: int,
    params: MixtureParams,
    within: MixtureParams,
    kept: MixtureParams,
    kept_within: MixtureParams,
    base: MixtureParams,
    marks: Marks,
    spares: Spares,
    objective: FloatArray,
    best_so_far: FloatArray,
    lost: BoolArray,
) -> int:
    """Run several iterations of start s and return how many, as `_iteration_kernels.run_steps`.

    The heavy rows must be those without a label; with `task.soft`, all rows, and `chance` has no
    columns. `base` is the classifier of all rows, for components that are put elsewhere. A soft
    start ends when it has settled.
    """
    _, n_components, n_numeric = params.mean.shape
    n_inner, n_places = within.log_prob.shape[1:]
    n_rows = len(rows.weight)
    component, amount = np.zeros(n_rows, dtype=np.int32), np.zeros((len(rows.heavy), n_inner))
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
    space = np.empty((3 * n_components + n_inner + SPACE, RUN))
    total = rows.weight.sum()
    narrow = False
    for c in range(n_components):
        lost[s, c] = False
        narrow = narrow or collapsed(params, prior, s, c)
    for step in range(len(sharpness)):
        value = measure(rows, prior, params, s, constant)
        measure(rows, prior, within, s, inner_constant)
        draws = chance[0] if task.soft else chance[step]
        value += _assign(
            rows, y, params, constant, within, inner_constant, s, draws, sharpness[step],
            task.soft, task.all_known, component, amount, space,
        )  # fmt: skip
        value /= total
        if is_better(value, narrow, marks, s):
            keep(params, kept, s)
            keep(within, kept_within, s)
        objective[s, step], best_so_far[s, step] = value, marks.best[s]
        marks.settled[s] = task.soft and abs(value - marks.last[s]) <= task.tol
        marks.last[s] = value
        if marks.settled[s]:
            return step + 1
        sum_rows_inside(rows, component, amount, row_weight, sums, counts)
        finish_sums_inside(rows, component, amount, row_weight, sums, cells, average, scatter)
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
        narrow = find_lost(params, prior, s, pooled_weight, marks, task.most_rounds, lost)
        if marks.fresh[s]:
            if not has_spares(spares, s, lost):
                return step + 1
            _reseed_classifiers(within, s, lost, base)
            reseed(params, s, spares, marks, lost)
    return len(sharpness)
