"""What two variables say about the class together but not separately, and how surely.

Section 6.2 of Langseth and Nielsen (2006) measures it by the mean divergence of P(class | x, y)
from P'(class | x, y), which is what the two say if they are independent given the class. The
statistic is 2 N times this mean. Its limit is 0 if P = P'. That holds if X and Y are independent
given the class, and also if they depend on each other but not on the class. The reference
distribution must fit both.

Where P = P', the statistic is a quadratic form in the relative errors of the cells' shares. Let E_B
be the mean given B, a projection of functions of (x, y, class) weighted by their probability. Then

    statistic -> |(1 - E_xy) A z|^2,    A = 1 - E_xk - E_yk + E_k,    z white noise

which is a sum of chi-square variables with weights in [0, 1], the eigenvalues of A (1 - E_xy) A.
The weight 1 belongs to functions that no sum of functions of (x, y), (x, class) and (y, class) can
fit: (K - 1) (r_x - 1) (r_y - 1) of them if no cell is empty. The other weights are above 0 because
naive Bayes estimates P' from the margins and so does not fit it best. They are replaced by one
scaled chi-square variable with the same mean and variance.

A level that a small class lacks would not vary at all by this. So every class gets one more row,
spread over the levels as all rows are, when the weights are computed.

This module loads numba; import it only where a model is fitted.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._compiled import compiled

MANY = 20.0
"""Expected count from which a series replaces the sum over all counts."""


def log_tail(tables: FloatArray, offsets: IndexArray) -> FloatArray:
    """log P(larger statistic if P = P') for one variable with each of others.

    Parameters
    ----------
    tables : array of shape (..., K, r, L)
        Weight of each level of the variable with each level of the others, by class.
    offsets : array of int
        Where each of the others' levels start.

    Returns
    -------
    array of shape (..., n)
    """
    flat = np.ascontiguousarray(tables).reshape(-1, *tables.shape[-3:])
    found = _references(flat, np.asarray(offsets, dtype=np.intp))
    statistic, inflation, mean, squares, units = np.moveaxis(found, -1, 0)
    out = _sum_log_tail(statistic / inflation, mean, squares, units)
    return out.reshape(*tables.shape[:-3], -1)


def _sum_log_tail(
    value: FloatArray, mean: FloatArray, squares: FloatArray, units: FloatArray
) -> FloatArray:
    """log P(sum of weighted chi-square variables > value).

    By the saddlepoint approximation of Barndorff-Nielsen, which holds to a few percent in the far
    tail too. `mean` is the sum of the weights, `squares` of their squares; `units` of them are 1.
    """
    units = np.clip(units, 0.0, squares)
    rest, rest_squares = mean - units, squares - units
    some = (rest > 1e-9) & (rest_squares > 1e-9)
    scale = np.divide(rest_squares, rest, out=np.ones_like(rest), where=some)
    freedom = np.divide(rest, scale, out=np.zeros_like(rest), where=some)
    # without a weight of 1 it is a single scaled variable
    single = units <= 1e-9
    value, units = np.where(single, value / scale, value), np.where(single, freedom, units)
    scale, freedom = np.where(single, 1.0, scale), np.where(single, 0.0, freedom)
    useful = (units > 1e-9) & (value > 0)
    units, value = np.where(useful, units, 1.0), np.where(useful, value, 2.0)
    mean = units + scale * freedom
    # at the mean itself the formula is 0 / 0
    least = 0.01 * np.sqrt(2.0 * (units + scale**2 * freedom))
    value = mean + np.copysign(np.maximum(np.abs(value - mean), least), value - mean)
    value = np.maximum(value, 1e-6 * mean)
    # the cumulant function's derivative is `value` at t; v = 1 - 2 t solves a quadratic equation
    linear = value * (1.0 - scale) - scale * (units + freedom)
    root = np.sqrt(linear**2 + 4.0 * value * scale * units * (1.0 - scale))
    v = np.where(
        linear > 0,
        2.0 * units * (1.0 - scale) / np.where(linear > 0, linear + root, 1.0),
        (root - linear) / (2.0 * value * scale),
    )
    t, scaled = 0.5 * (1.0 - v), 1.0 - scale + scale * v
    cumulant = -0.5 * (units * np.log(v) + freedom * np.log(scaled))
    curvature = 2.0 * (units / v**2 + freedom * (scale / scaled) ** 2)
    w = np.copysign(np.sqrt(2.0 * (t * value - cumulant)), t)
    tail = log_ndtr(-(w + np.log(t * np.sqrt(curvature) / w) / w))
    return np.where(useful, tail, 0.0)


@compiled()
def _references(tables: FloatArray, offsets: IndexArray) -> FloatArray:
    """The statistic of every pair, and its distribution where P = P', shape (tables, n, 5).

    The five numbers are the statistic; how much larger its mean is in cells of few rows than in the
    limit; the sum of the weights, of their squares, and how many are 1.
    """
    n_tables, n_classes, r = tables.shape[:3]
    out = np.empty((n_tables, len(offsets) - 1, 5))
    k_log_k = np.zeros(4 * int(MANY))
    for k in range(2, len(k_log_k)):
        k_log_k[k] = k * np.log(k)
    for j in range(len(offsets) - 1):
        start, s = offsets[j], offsets[j + 1] - offsets[j]
        swap = s < r  # the cost is quadratic in the first
        pair = np.empty((n_classes, s, r) if swap else (n_classes, r, s))
        for i in range(n_tables):
            for k in range(n_classes):
                for x in range(r):
                    for y in range(s):
                        if swap:
                            pair[k, y, x] = tables[i, k, x, start + y]
                        else:
                            pair[k, x, y] = tables[i, k, x, start + y]
            _reference(pair, k_log_k, out[i, j])
    return out


@compiled()
def _margins(table: FloatArray, first: FloatArray, second: FloatArray) -> float:
    """Sum of a table; its sums over either axis are written to `first` and `second`."""
    first[:], second[:] = 0.0, 0.0
    total = 0.0
    for x in range(table.shape[0]):
        for y in range(table.shape[1]):
            first[x] += table[x, y]
            second[y] += table[x, y]
            total += table[x, y]
    return total


@compiled()
def _reference(counts: FloatArray, k_log_k: FloatArray, out: FloatArray) -> None:
    """Write the five numbers of `_references` for one pair."""
    n_classes, r, s = counts.shape
    first, second = np.empty(r), np.empty(s)
    of_first, of_second = np.empty(r), np.empty(s)
    whole = _margins(counts.sum(axis=0), of_first, of_second)
    # P'(class | x, y): as it is for the statistic, smoothed for the reference
    share, smooth = np.zeros((n_classes, r, s)), np.zeros((n_classes, r, s))
    for k in range(n_classes):
        size = _margins(counts[k], first, second)
        if size > 0:
            for x in range(r):
                for y in range(s):
                    share[k, x, y] = first[x] * second[y] / size
                    both = (first[x] + of_first[x] / whole) * (second[y] + of_second[y] / whole)
                    smooth[k, x, y] = both * size / (size + 1.0) ** 2
    p = np.zeros((n_classes, r, s))  # expected counts, by the smoothed one
    statistic, observed, limit = 0.0, 0.0, 0.0
    for x in range(r):
        for y in range(s):
            total, scale, smooth_scale = 0.0, 0.0, 0.0
            for k in range(n_classes):
                total += counts[k, x, y]
                scale += share[k, x, y]
                smooth_scale += smooth[k, x, y]
            for k in range(n_classes):
                if counts[k, x, y] > 0:
                    ratio = counts[k, x, y] * scale / (total * share[k, x, y])
                    statistic += 2.0 * counts[k, x, y] * np.log(ratio)
                smooth[k, x, y] *= 1.0 / smooth_scale if total > 0 else 0.0
                p[k, x, y] = total * smooth[k, x, y]
                if p[k, x, y] > 0:
                    limit += 1.0 - smooth[k, x, y]
                    observed += _mean_divergence(total, smooth[k, x, y], k_log_k)
    out[0] = max(statistic, 0.0)
    out[1] = observed / limit if limit > 1e-9 and observed > 1e-9 else 1.0
    out[2], out[3], out[4] = _weights(p, smooth)


@compiled()
def _mean_divergence(n: float, share: float, k_log_k: FloatArray) -> float:
    """Mean of 2 k log(k / (n share)) for a binomial k; 1 - share in the limit."""
    n = max(np.rint(n), 1.0)
    expected = n * share
    if share > 1.0 - 1e-9:
        return 0.0
    if expected >= MANY:
        return (1.0 - share) * (1.0 + (1.0 + share) / (6.0 * expected))
    probability, odds = np.exp(n * np.log1p(-share)), share / (1.0 - share)
    mean = 0.0
    for k in range(1, int(min(n, len(k_log_k) - 1.0)) + 1):
        probability *= (n - k + 1.0) / k * odds
        mean += probability * k_log_k[k]
    return float(2.0 * (mean - expected * np.log(expected)))


@compiled()
def _weights(p: FloatArray, share: FloatArray) -> tuple[float, float, float]:
    """Sum of the eigenvalues of A (1 - E_xy) A, sum of their squares, and how many are 1.

    With B = A^2, the sums are the traces of B (1 - E_xy) and of its square. In a class, B is the
    identity plus sqrt(p_i p_j) M_ij for cells i = (x, y) and j = (x', y'), where

        M = -[x = x'] / a(x) - [y = y'] / b(y) + g(x, y') + g(x', y) - 1 / c,    g = p / (a b)

    and a, b and c are the sums of p over y, over x and over both. E_xy joins the classes. All sums
    over two cells split into sums over one.

    Parameters
    ----------
    p : array of shape (K, r, s)
        Expected counts.
    share : array of shape (K, r, s)
        The share of the class among those of the cell.
    """
    n_classes, r, s = p.shape
    g, h = np.zeros((n_classes, r, s)), np.empty((r, s))
    a, b, c = np.zeros((n_classes, r)), np.zeros((n_classes, s)), np.zeros(n_classes)  # inverse
    first, second, first_seen, second_seen = np.empty(r), np.empty(s), np.zeros(r), np.zeros(s)
    by_first, by_second = np.empty(r), np.empty(s)
    one, other = np.empty((r, r)), np.empty((r, r))
    mean, squares, units = 0.0, 0.0, -1.0
    for k in range(n_classes):
        size = _margins(p[k], first, second)
        if size <= 0:
            continue
        c[k] = 1.0 / size
        units += 1.0
        for x in range(r):
            if first[x] > 0:
                a[k, x] = 1.0 / first[x]
                first_seen[x] = 1.0
                units -= 1.0
        for y in range(s):
            if second[y] > 0:
                b[k, y] = 1.0 / second[y]
                second_seen[y] = 1.0
                units -= 1.0
        by_first[:], by_second[:] = 0.0, 0.0
        for x in range(r):
            for y in range(s):
                g[k, x, y] = p[k, x, y] * a[k, x] * b[k, y]
                by_first[x] += second[y] * g[k, x, y] ** 2
                by_second[y] += first[x] * g[k, x, y] ** 2
        _crosses(g[k], p[k], one)
        for x in range(r):
            for y in range(s):
                if p[k, x, y] <= 0:
                    continue
                units += 1.0
                ends = a[k, x] + b[k, y] + c[k]
                own = 2.0 * g[k, x, y] - ends
                mean += (1.0 + p[k, x, y] * own) * (1.0 - share[k, x, y])
                # the diagonal of B^2
                twice = ends - by_first[x] - by_second[y] - 2.0 * g[k, x, y]
                for z in range(r):
                    twice += 2.0 * one[x, z] * g[k, z, y]
                diagonal = 1.0 + p[k, x, y] * (2.0 * own + twice)
                squares += diagonal * (1.0 - 2.0 * share[k, x, y])
                # B with E_xy on both sides: the identity of one side with M of the other
                squares += 2.0 * p[k, x, y] * share[k, x, y] * own
    units += first_seen.sum() + second_seen.sum()
    # B with E_xy on both sides: the identities, then M of all pairs of classes
    for x in range(r):
        for y in range(s):
            for k in range(n_classes):
                if p[k, x, y] > 0:
                    squares += 1.0
                    units -= 1.0
                    break
    for k in range(n_classes):
        for m in range(k + 1):
            for x in range(r):
                for y in range(s):
                    h[x, y] = p[k, x, y] * share[m, x, y]
            size = _margins(h, first, second)
            if size <= 0:
                continue
            total = size**2 * c[k] * c[m]
            for x in range(r):
                inverse = a[k, x] * a[m, x] + a[k, x] * c[m] + a[m, x] * c[k]
                total += first[x] ** 2 * inverse
            for y in range(s):
                inverse = b[k, y] * b[m, y] + b[k, y] * c[m] + b[m, y] * c[k]
                total += second[y] ** 2 * inverse
            for x in range(r):
                for y in range(s):
                    total += h[x, y] ** 2 * (a[k, x] * b[m, y] + a[m, x] * b[k, y])
                    of_k = first[x] * a[k, x] + second[y] * b[k, y]
                    of_m = first[x] * a[m, x] + second[y] * b[m, y]
                    total -= 2.0 * h[x, y] * (of_k * g[m, x, y] + of_m * g[k, x, y])
                    both = g[k, x, y] * g[m, x, y] - g[k, x, y] * c[m] - g[m, x, y] * c[k]
                    total += 2.0 * first[x] * second[y] * both
            _crosses(g[k], h, one)
            _crosses(g[m], h, other)
            for x in range(r):
                for z in range(r):
                    total += 2.0 * one[x, z] * other[z, x]
            squares += total if k == m else 2.0 * total
    return mean, squares, units


@compiled()
def _crosses(left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Write the product of a table and another one transposed."""
    for x in range(left.shape[0]):
        for z in range(right.shape[0]):
            total = 0.0
            for y in range(left.shape[1]):
                total += left[x, y] * right[z, y]
            out[x, z] = total
