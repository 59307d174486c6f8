"""Compiled steps of `_factored` for rows with missing cells.

All arrays have the K Gaussians on their last axis, and every innermost loop runs over it, so that
one instruction serves several Gaussians. Where nothing depends on the latent variable, a flat view
joins the last two axes, for longer loops. Cells of symmetric matrices of size r are in the order
(0, 0), (1, 0), (1, 1), (2, 0), ...
"""

from __future__ import annotations

import math

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled, inner


@compiled()
def condition_rows(
    rows: FloatArray,
    pattern: IndexArray,
    observed: BoolArray,
    mean: FloatArray,
    noise: FloatArray,
    loadings: FloatArray,
    pull: FloatArray,
    centre: FloatArray,
    outer: FloatArray,
    squares: FloatArray,
    latent: FloatArray,
    spread: FloatArray,
    log_det: FloatArray,
) -> None:
    """Condition u on the observed cells of rows, which are sorted by pattern.

    Parameters are `mean`, `noise` (n, K), `loadings` (n, r, K), and what an observed cell x adds to
    b, x `pull` - `centre` (n, r, K), and to the precision of u, `outer` (n, f, K). The mean of u
    solves (I + A' A) u = b.

    Results are `squares` (n_rows, K), the least value of |residual|^2 / noise + |u|^2; `latent`
    (n_rows, r, K) and `spread` (P, f, K), mean and covariance of u; and `log_det` (P, K) of its
    precision.
    """
    n_rows, n = rows.shape
    rank, n_gaussians = latent.shape[1], latent.shape[2]
    lower = np.empty((rank, rank, n_gaussians))
    inverse = np.empty((rank, rank, n_gaussians))
    fixed, u = np.empty((1, rank, n_gaussians)), np.empty((1, rank, n_gaussians))
    flat_fixed, flat_u, flat_pull = fixed.reshape(-1), u.reshape(-1), pull.reshape((n, -1))
    rest, total = np.empty(n_gaussians), np.empty(n_gaussians)
    last = -1
    for r in range(n_rows):
        p = pattern[r]
        if p != last:
            last = p
            _begin(p, observed, centre, outer, fixed, spread, p)
            _factorise(spread, lower, log_det, p)
            _invert(lower, inverse, spread, p)
        for f in range(len(flat_u)):
            flat_u[f] = flat_fixed[f]
        for j in range(n):
            if observed[p, j]:
                x = rows[r, j]
                for f in range(len(flat_u)):
                    flat_u[f] += x * flat_pull[j, f]
        _forward(lower, u, 0)
        _backward(lower, u, 0)
        for k in range(n_gaussians):
            total[k] = 0.0
        for i in range(rank):
            for k in range(n_gaussians):
                latent[r, i, k] = u[0, i, k]
                total[k] += u[0, i, k] * u[0, i, k]
        for j in range(n):
            if observed[p, j]:
                x = rows[r, j]
                for k in range(n_gaussians):
                    rest[k] = x - mean[j, k]
                for i in range(rank):
                    for k in range(n_gaussians):
                        rest[k] -= loadings[j, i, k] * u[0, i, k]
                for k in range(n_gaussians):
                    total[k] += rest[k] * rest[k] / noise[j, k]
        for k in range(n_gaussians):
            squares[r, k] = total[k]


@compiled()
def add_rows(
    rows: FloatArray,
    pattern: IndexArray,
    observed: BoolArray,
    latent: FloatArray,
    spread: FloatArray,
    weights: FloatArray,
    shown: FloatArray,
    square: FloatArray,
    hidden: FloatArray,
) -> None:
    """Add the moments of rows, with `weights` (n_rows, K), to those of other rows.

    Of the observed cells of each column: `shown` (n, 1 + r, K) of x and x u', `square` (n, K) of
    x^2. Of the rows in which it is missing: `hidden` (n + 1, 1 + r + f, K) of 1, u and u u', and
    last the same of all rows.
    """
    n_rows, n = rows.shape
    rank, n_gaussians = latent.shape[1], latent.shape[2]
    n_cells = spread.shape[1]
    own = np.zeros((1 + rank + n_cells, n_gaussians))
    weighted = np.empty((1 + rank, n_gaussians))
    flat_own, flat_weighted = own.reshape(-1), weighted.reshape(-1)
    flat_shown, flat_hidden = shown.reshape((n, -1)), hidden.reshape((n + 1, -1))
    for r in range(n_rows):
        p = pattern[r]
        for k in range(n_gaussians):
            weighted[0, k] = weights[r, k]
        f = 1 + rank
        for i in range(rank):
            for k in range(n_gaussians):
                weighted[1 + i, k] = weights[r, k] * latent[r, i, k]
            for j in range(i + 1):
                for k in range(n_gaussians):
                    own[f, k] += weighted[1 + i, k] * latent[r, j, k]
                f += 1
        for f in range(len(flat_weighted)):
            flat_own[f] += flat_weighted[f]
        for j in range(n):
            if observed[p, j]:
                x = rows[r, j]
                for f in range(len(flat_weighted)):
                    flat_shown[j, f] += x * flat_weighted[f]
                for k in range(n_gaussians):
                    square[j, k] += x * x * weighted[0, k]
        if r + 1 == n_rows or pattern[r + 1] != p:
            for f in range(n_cells):
                for k in range(n_gaussians):
                    own[1 + rank + f, k] += own[0, k] * spread[p, f, k]
            for j in range(n + 1):
                if j == n or not observed[p, j]:
                    for f in range(len(flat_own)):
                        flat_hidden[j, f] += flat_own[f]
            for f in range(len(flat_own)):
                flat_own[f] = 0.0


@compiled()
def add_sums(
    observed: BoolArray,
    weight: FloatArray,
    total: FloatArray,
    products: FloatArray,
    pull: FloatArray,
    centre: FloatArray,
    outer: FloatArray,
    explained: FloatArray,
    shown: FloatArray,
    hidden: FloatArray,
) -> None:
    """Add the moments of rows of which only the sums are kept, those of each pattern.

    The sums are `weight` (P,), `total` (P, n) of x and `products` (P, n, n) of x x', 0 where a cell
    is missing. Results are `explained` (K,), the sums of b' u minus the log-determinants of the
    precision of u, and of `shown` and `hidden` (see `add_rows`) what depends on u.
    """
    n_patterns, n = observed.shape
    rank, n_gaussians = pull.shape[1], pull.shape[2]
    n_cells, width = outer.shape[1], rank * n_gaussians
    lower, second = np.empty((rank, rank, n_gaussians)), np.empty((rank, rank, n_gaussians))
    slope, cross = np.empty((n, rank, n_gaussians)), np.empty((1, rank, n_gaussians))
    fixed, latent = np.empty((1, rank, n_gaussians)), np.empty((1, rank, n_gaussians))
    spread, log_det = np.empty((1, n_cells, n_gaussians)), np.empty((1, n_gaussians))
    flat_slope, flat_cross = slope.reshape((n, width)), cross.reshape(width)
    flat_fixed, flat_latent = fixed.reshape(width), latent.reshape(width)
    flat_pull = pull.reshape((n, width))
    for p in range(n_patterns):
        _begin(p, observed, centre, outer, fixed, spread, 0)
        _factorise(spread, lower, log_det, 0)
        # t = slope x + fixed; sums of b b' instead of t t' would lose digits
        _forward(lower, fixed, 0)
        for f in range(width):
            flat_latent[f] = weight[p] * flat_fixed[f]
        for j in range(n):
            if observed[p, j]:
                for f in range(width):
                    flat_slope[j, f] = flat_pull[j, f]
                _forward(lower, slope, j)
                x = total[p, j]
                for f in range(width):
                    flat_latent[f] += x * flat_slope[j, f]
        for i in range(rank):
            for j in range(i + 1):
                for k in range(n_gaussians):
                    second[i, j, k] = fixed[0, i, k] * latent[0, j, k]
        for j in range(n):
            if observed[p, j]:
                x = total[p, j]
                for f in range(width):
                    flat_cross[f] = x * flat_fixed[f]
                for m in range(n):
                    if observed[p, m]:
                        x = products[p, j, m]
                        for f in range(width):
                            flat_cross[f] += x * flat_slope[m, f]
                for i in range(rank):
                    for m in range(i + 1):
                        for k in range(n_gaussians):
                            second[i, m, k] += slope[j, i, k] * cross[0, m, k]
                _backward(lower, cross, 0)
                for i in range(rank):
                    for k in range(n_gaussians):
                        shown[j, 1 + i, k] += cross[0, i, k]
        for k in range(n_gaussians):
            explained[k] -= weight[p] * log_det[0, k]
        for i in range(rank):
            for k in range(n_gaussians):
                explained[k] += second[i, i, k]
                second[i, i, k] += weight[p]  # of the covariance of t, which is I
            for j in range(i):
                for k in range(n_gaussians):
                    second[j, i, k] = second[i, j, k]
        _backward(lower, latent, 0)
        for i in range(rank):
            _backward(lower, second, i)
        _transpose(second)
        f = 0
        for i in range(rank):
            _backward(lower, second, i)
            for j in range(i + 1):
                for k in range(n_gaussians):
                    spread[0, f, k] = second[i, j, k]
                f += 1
        for j in range(n + 1):
            if j == n or not observed[p, j]:
                for i in range(rank):
                    for k in range(n_gaussians):
                        hidden[j, 1 + i, k] += latent[0, i, k]
                for f in range(n_cells):
                    for k in range(n_gaussians):
                        hidden[j, 1 + rank + f, k] += spread[0, f, k]


@inner()
def _begin(
    p: int,
    observed: BoolArray,
    centre: FloatArray,
    outer: FloatArray,
    fixed: FloatArray,
    cells: FloatArray,
    row: int,
) -> None:
    """Of pattern p: b of a row of zeros, `fixed` (1, r, K), and A' A in a row of `cells`."""
    n, n_cells, n_gaussians = outer.shape
    flat_outer, flat_centre = outer.reshape((n, n_cells * n_gaussians)), centre.reshape((n, -1))
    flat_cells, flat_fixed = cells.reshape((len(cells), -1)), fixed.reshape(fixed.size)
    for f in range(flat_cells.shape[1]):
        flat_cells[row, f] = 0.0
    for f in range(len(flat_fixed)):
        flat_fixed[f] = 0.0
    for j in range(n):
        if observed[p, j]:
            for f in range(flat_cells.shape[1]):
                flat_cells[row, f] += flat_outer[j, f]
            for f in range(len(flat_fixed)):
                flat_fixed[f] -= flat_centre[j, f]


@inner()
def _factorise(cells: FloatArray, lower: FloatArray, log_det: FloatArray, row: int) -> None:
    """Cholesky factor of I + A' A, given A' A in a row of `cells`; its diagonal is inverted."""
    rank, _, n_gaussians = lower.shape
    product = np.ones(n_gaussians)
    log_det[row] = 0.0
    f = 0
    for i in range(rank):
        for j in range(i + 1):
            one = 1.0 if i == j else 0.0
            for k in range(n_gaussians):
                lower[i, j, k] = cells[row, f, k] + one
            f += 1
            for m in range(j):
                for k in range(n_gaussians):
                    lower[i, j, k] -= lower[i, m, k] * lower[j, m, k]
            if j < i:
                for k in range(n_gaussians):
                    lower[i, j, k] *= lower[j, j, k]
        for k in range(n_gaussians):
            # without rounding no pivot is below 1, because A' A has no negative eigenvalue
            pivot = max(lower[i, i, k], 1.0)
            product[k] *= pivot
            lower[i, i, k] = 1.0 / math.sqrt(pivot)
        if i % 8 == 7 or i == rank - 1:  # a logarithm is slow, but longer products might overflow
            for k in range(n_gaussians):
                log_det[row, k] += math.log(product[k])
                product[k] = 1.0


@inner()
def _invert(lower: FloatArray, inverse: FloatArray, cells: FloatArray, row: int) -> None:
    """Put the inverse of I + A' A in a row of `cells`, through the `inverse` of its factor."""
    rank, _, n_gaussians = lower.shape
    for i in range(rank):
        for k in range(n_gaussians):
            inverse[i, i, k] = lower[i, i, k]
        for j in range(i):
            for k in range(n_gaussians):
                inverse[i, j, k] = lower[i, j, k] * inverse[j, j, k]
            for m in range(j + 1, i):
                for k in range(n_gaussians):
                    inverse[i, j, k] += lower[i, m, k] * inverse[m, j, k]
            for k in range(n_gaussians):
                inverse[i, j, k] *= -lower[i, i, k]
    f = 0
    for i in range(rank):
        for j in range(i + 1):
            for k in range(n_gaussians):
                cells[row, f, k] = inverse[i, i, k] * inverse[i, j, k]
            for m in range(i + 1, rank):
                for k in range(n_gaussians):
                    cells[row, f, k] += inverse[m, i, k] * inverse[m, j, k]
            f += 1


@inner()
def _forward(lower: FloatArray, vectors: FloatArray, row: int) -> None:
    """Turn a row of b into t = L^-1 b; substitution keeps more digits than an inverse does."""
    rank, _, n_gaussians = lower.shape
    for i in range(rank):
        for j in range(i):
            for k in range(n_gaussians):
                vectors[row, i, k] -= lower[i, j, k] * vectors[row, j, k]
        for k in range(n_gaussians):
            vectors[row, i, k] *= lower[i, i, k]


@inner()
def _backward(lower: FloatArray, vectors: FloatArray, row: int) -> None:
    """Turn a row of t into u = L'^-1 t."""
    rank, _, n_gaussians = lower.shape
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            for k in range(n_gaussians):
                vectors[row, i, k] -= lower[j, i, k] * vectors[row, j, k]
        for k in range(n_gaussians):
            vectors[row, i, k] *= lower[i, i, k]


@inner()
def _transpose(matrices: FloatArray) -> None:
    rank, _, n_gaussians = matrices.shape
    for i in range(rank):
        for j in range(i):
            for k in range(n_gaussians):
                other = matrices[i, j, k]
                matrices[i, j, k] = matrices[j, i, k]
                matrices[j, i, k] = other
