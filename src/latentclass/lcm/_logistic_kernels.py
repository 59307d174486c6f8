"""Compiled kernels for the posteriors of latent Gaussian variables: many small matrices.

The *features* of a vector v of q numbers are 1, v_i, and v_i v_j for i <= j, in this order (as in
`engine._gaussian.features`): f = (q + 1)(q + 2) / 2 of them. Precision matrices and second moments
are stored as columns of features, one column per row of the table. The kernels work on a few
columns at a time, so that each operation of a Cholesky factorisation is one vector instruction.

In all kernels, column r of `table` (f, R) holds the features of the weights, b^2, b w, w w', summed
over the factors of row r with their curvatures rho. Column r of `pull` (q + 1, R) holds the sums of
kappa b and kappa w. `label` (R,) selects the prior: `precision` and `push` (Y, q) are 1 / gamma and
mu / gamma. The posterior of Langseth and Nielsen (2009, eqs. 6 and 7) has precision P and mean
P^-1 h, and `log_size` (R,) becomes the part of their bound (eq. 8) that depends on these:

    kappa b - rho b^2 / 2 + h' P^-1 h / 2 - log |P| / 2.

This module loads numba; import it only where a model is fitted or used.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled, inner

LANES = 64
"""Number of columns worked on together, enough to outweigh the checks before each vector loop."""


NEARLY_PARALLEL = 1e-10
"""Changes whose squared sine is smaller than this count as one direction."""

MANY_FACTORS = 512
"""How many numbers between 1 and 2 are multiplied before taking the logarithm of the product."""

FEW_FACTORS = 8
"""How many roots of pivots are multiplied before taking the logarithm of the product."""

MOST_DECAY = 700.0
"""Beyond this exp(-x) is taken as 0: it is added to 1."""

SHIFT = 1.5 * 2.0**52
"""A number that is added to a small one leaves its whole part in the last bits of the sum."""

EXPONENT_OF_ONE = 1023 << 52
"""The bits of 1.0."""

LOG2_E = 1.4426950408889634

LOG_2_HIGH, LOG_2_LOW = 0.693145751953125, 1.42860682030941723212e-6
"""log(2) in two parts; multiples of the first one are exact."""


@inner(error_model="numpy")
def _decay(x: FloatArray, shifted: FloatArray, out: FloatArray) -> None:
    """Compute exp(-x) of x >= 0 into `out`, to the last digits; `shifted` is working memory.

    exp(-x) = 2^k exp(r), |r| <= log(2) / 2, the latter by its Taylor series. Unlike the exponential
    of the C library, all of it is vector instructions, which take half the time. To add a large
    number leaves k in the last bits of the sum, from where it moves to the bits of the exponent.
    """
    bits, scale = shifted.view(np.int64), out.view(np.int64)
    for t in range(len(x)):
        near = x[t] if x[t] < MOST_DECAY else MOST_DECAY
        shifted[t] = SHIFT - LOG2_E * near
    for t in range(len(x)):
        scale[t] = (bits[t] << 52) + EXPONENT_OF_ONE
    for t in range(len(x)):
        k = shifted[t] - SHIFT
        near = x[t] if x[t] < MOST_DECAY else MOST_DECAY
        r = -near - k * LOG_2_HIGH - k * LOG_2_LOW
        series = 1.0 + r * (1 / 11 + r * (1 / 132))
        series = 1.0 + r * (1 / 9) * (1.0 + r * (1 / 10) * series)
        series = 1.0 + r * (1 / 7) * (1.0 + r * (1 / 8) * series)
        series = 1.0 + r * (1 / 5) * (1.0 + r * (1 / 6) * series)
        series = 1.0 + r * (1 / 3) * (1.0 + r * (1 / 4) * series)
        out[t] *= 1.0 + r * (1.0 + r * (1 / 2) * series)


@compiled(error_model="numpy")
def bend_cells(
    xi: FloatArray, n: int, seen: FloatArray, again: bool, rho: FloatArray, height: FloatArray
) -> None:
    """Compute rho of each cell, and the height of each row's bound, (S, M, R).

    rho is -2 lambda of Langseth and Nielsen (2009, eq. 5). The height is the sum over the columns
    of log sigma(xi) - xi / 2 + rho xi^2 / 2, as in eq. 8. Only the first `n` columns of `xi` count;
    the others, of soft-max columns, are left out. The columns of `xi` are the last ones of `rho`.
    `seen` (n, R) is 1 for observed cells and 0 for missing ones; it has no row if no cell is
    missing. If `again`, the height has the rho that was there before.
    """
    n_starts, n_components, n_columns, n_rows = xi.shape
    first = rho.shape[2] - n_columns
    holes = len(seen) > 0
    product, small, shifted = np.ones(n_rows), np.empty(n_rows), np.empty(n_rows)
    for s in range(n_starts):
        for m in range(n_components):
            for t in range(n_rows):
                height[s, m, t] = 0.0
            for j in range(n):
                _decay(xi[s, m, j], shifted, small)
                for t in range(n_rows):
                    x, u = xi[s, m, j, t], small[t]
                    shown = seen[j, t] if holes else 1.0
                    value = shown * (1.0 - u) / ((1.0 + u) * (2.0 * x))
                    used = rho[s, m, first + j, t] if again else value
                    rho[s, m, first + j, t] = value
                    height[s, m, t] += 0.5 * x * (used * x - shown)
                    product[t] *= 1.0 + shown * u
                if j % MANY_FACTORS == MANY_FACTORS - 1 or j == n - 1:
                    for t in range(n_rows):
                        height[s, m, t] -= np.log(product[t])
                        product[t] = 1.0


@compiled(error_model="numpy")
def blend_classes(moments: FloatArray, share: FloatArray, out: FloatArray) -> None:
    """Add up moments (Y, S, M, f, R) of all classes with shares (S, M, Y, R), into (S, M, f, R)."""
    n_classes, n_starts, n_components, n_features, n_rows = moments.shape
    for s in range(n_starts):
        for m in range(n_components):
            for c in range(n_features):
                for t in range(n_rows):
                    out[s, m, c, t] = share[s, m, 0, t] * moments[0, s, m, c, t]
                for y in range(1, n_classes):
                    for t in range(n_rows):
                        out[s, m, c, t] += share[s, m, y, t] * moments[y, s, m, c, t]


@compiled(error_model="numpy")
def extrapolate_cells(
    square: FloatArray,
    best: FloatArray,
    seen: FloatArray,
    first: bool,
    fell: BoolArray,
    past: FloatArray,
) -> None:
    """Replace xi^2, (n, R), by the next one to try: Anderson's mixing of the last three steps.

    A step replaces s = xi^2 by `best` = g(s), the posterior's E a^2. Of the residuals g(s) - s of
    the last three steps, the combination of least squares is found for each row; the same
    combination of the g(s) is the next s. A row that `fell` goes on from the g of the step before,
    which cannot fall, and forgets what was earlier. `seen` is as in `bend_cells`. `past` (4, n, R)
    is kept from call to call: residual and g of the last step, and how they changed before it.
    """
    n, n_rows = square.shape
    holes = len(seen) > 0
    residual, image, change, shift = past[0], past[1], past[2], past[3]
    if first:
        for j in range(n):
            for t in range(n_rows):
                residual[j, t] = best[j, t] - square[j, t]
                image[j, t] = best[j, t]
                square[j, t] = best[j, t]
                change[j, t] = 0.0
                shift[j, t] = 0.0
        return
    sums = np.zeros((5, n_rows))
    for j in range(n):
        for t in range(n_rows):
            f = best[j, t] - square[j, t]
            a = f - residual[j, t]
            b = change[j, t]
            if holes:
                f *= seen[j, t]
                a *= seen[j, t]
                b *= seen[j, t]
            sums[0, t] += a * a
            sums[1, t] += a * b
            sums[2, t] += b * b
            sums[3, t] += a * f
            sums[4, t] += b * f
    newer, older = np.zeros(n_rows), np.zeros(n_rows)
    for t in range(n_rows):
        aa, ab, bb, af, bf = sums[0, t], sums[1, t], sums[2, t], sums[3, t], sums[4, t]
        size = aa * bb - ab * ab
        if size > NEARLY_PARALLEL * aa * bb:
            newer[t] = (af * bb - bf * ab) / size
            older[t] = (bf * aa - af * ab) / size
        elif aa > 0.0:
            newer[t] = af / aa
        if not np.isfinite(newer[t] + older[t]):  # squares of a far outlier overflow: a plain step
            newer[t] = older[t] = 0.0
    for j in range(n):
        for t in range(n_rows):
            s, g, before = square[j, t], best[j, t], image[j, t]
            moved, f = g - before, g - s
            a = f - residual[j, t]
            down = fell[t]
            square[j, t] = before if down else g - newer[t] * moved - older[t] * shift[j, t]
            residual[j, t] = residual[j, t] if down else f
            image[j, t] = before if down else g
            change[j, t] = 0.0 if down else a
            shift[j, t] = 0.0 if down else moved


@inner(error_model="numpy")
def _pad(n: int) -> int:
    """Return the least multiple of 16 that is no less than n: loops over so many numbers are fast.

    Vector loops take 16 numbers at a time and the rest one by one.
    """
    return (n + 15) // 16 * 16


@inner(error_model="numpy")
def _clear(out: FloatArray) -> None:
    """Set all numbers to 0."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[i, c] = 0.0


@inner(error_model="numpy")
def _copy(rows: FloatArray, out: FloatArray) -> None:
    """Copy rows to the first columns of `out`."""
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[i, c] = rows[i, c]


@inner(error_model="numpy")
def _turn(first: int, width: int, moments: FloatArray, out: FloatArray) -> None:
    """Copy some columns of moments (f, R) to the rows of `out`."""
    for c in range(moments.shape[0]):
        for t in range(width):
            out[t, c] = moments[c, first + t]


@compiled(error_model="numpy", fastmath={"contract"})
def sum_asked(asked: IndexArray, rho: FloatArray, twice: FloatArray, table: FloatArray) -> None:
    """Add the factors of the last cells of each row, whose questions are `asked` (D, R).

    `rho` (S, M, n, R) ends with these cells, 0 where nothing was asked; `twice` (S, M, n_b, f) is
    as in `_logistic_bound.Design`. The sums are added to `table` (S, M, f, R).
    """
    depth, n_rows = asked.shape
    n_starts, n_components, n_features, _ = table.shape
    last = rho.shape[2] - depth
    size = round(np.sqrt(2.0 * n_features + 0.25) - 0.5)
    sums = np.empty((LANES, _pad(n_features)))
    each = np.zeros((twice.shape[2], sums.shape[1]))
    for s in range(n_starts):
        for m in range(n_components):
            _copy(twice[s, m], each)
            for begin in range(0, n_rows, LANES):
                width = min(LANES, n_rows - begin)
                _clear(sums)
                for d in range(depth):
                    for t in range(width):
                        question, r = asked[d, begin + t], rho[s, m, last + d, begin + t]
                        for c in range(sums.shape[1]):
                            sums[t, c] += r * each[question, c]
                c = 0
                for i in range(size):
                    for j in range(i, size):
                        share = 1.0 if i == j else 0.5
                        for t in range(width):
                            table[s, m, c, begin + t] += share * sums[t, c]
                        c += 1


@compiled(error_model="numpy", fastmath={"contract", "reassoc"})
def square_asked(
    asked: IndexArray, kappa: FloatArray, twice: FloatArray, moments: FloatArray, out: FloatArray
) -> None:
    """Compute E (b + w' z)^2 of the last cells of each row into those of `out` (S, M, cells, R).

    The other arguments are as in `sum_asked`, and `moments` (S, M, f, R) those of z. A cell whose
    `kappa` (cells, R) is 0 was not asked and gets 1.
    """
    depth, n_rows = asked.shape
    n_starts, n_components, n_features, _ = moments.shape
    before = len(kappa) - depth
    turned = np.zeros((LANES, _pad(n_features)))
    each = np.zeros((twice.shape[2], turned.shape[1]))
    for s in range(n_starts):
        for m in range(n_components):
            _copy(twice[s, m], each)
            for begin in range(0, n_rows, LANES):
                width = min(LANES, n_rows - begin)
                _turn(begin, width, moments[s, m], turned)
                for d in range(depth):
                    for t in range(width):
                        question, total = asked[d, begin + t], 0.0
                        for c in range(turned.shape[1]):
                            total += each[question, c] * turned[t, c]
                        seen = kappa[before + d, begin + t] != 0.0
                        out[s, m, before + d, begin + t] = total if seen else 1.0


@compiled(error_model="numpy", fastmath={"contract"})
def count_asked(
    asked: IndexArray, rho: FloatArray, moments: FloatArray, first: int, gram: FloatArray
) -> None:
    """Add the moments of z, times rho of the last cells, to those of their questions.

    The arguments are as in `sum_asked` and `square_asked`; `gram` (S, M, n, f) is as in
    `_hybrid_em.HybridStats`. The questions come after `first` other columns.
    """
    depth, n_rows = asked.shape
    n_starts, n_components, n_features, _ = moments.shape
    last = rho.shape[2] - depth
    turned = np.zeros((LANES, _pad(n_features)))
    each = np.zeros((gram.shape[2] - first, turned.shape[1]))
    for s in range(n_starts):
        for m in range(n_components):
            _clear(each)
            for begin in range(0, n_rows, LANES):
                width = min(LANES, n_rows - begin)
                _turn(begin, width, moments[s, m], turned)
                for d in range(depth):
                    for t in range(width):
                        question, r = asked[d, begin + t], rho[s, m, last + d, begin + t]
                        for c in range(turned.shape[1]):
                            each[question, c] += r * turned[t, c]
            for question in range(len(each)):
                for c in range(n_features):
                    gram[s, m, first + question, c] += each[question, c]


@inner(error_model="numpy")
def _diagonal(q: int) -> IndexArray:
    """Return the place of each diagonal entry in the upper half of a matrix, stored by rows."""
    start = np.empty(q, np.intp)
    place = 0
    for i in range(q):
        start[i] = place
        place += q - i
    return start


@inner(error_model="numpy")
def _load(
    first: int,
    width: int,
    table: FloatArray,
    pull: FloatArray,
    label: IndexArray,
    precision: FloatArray,
    push: FloatArray,
    start: IndexArray,
    packed: FloatArray,
    h: FloatArray,
    log_size: FloatArray,
) -> None:
    """Read P and h of some columns; idle lanes hold the identity, so nothing can go wrong there."""
    q = len(start)
    for c in range(len(packed)):
        for t in range(width):
            packed[c, t] = table[1 + q + c, first + t]
        for t in range(width, LANES):
            packed[c, t] = 0.0
    for i in range(q):
        for t in range(width):
            y = label[first + t]
            packed[start[i], t] += precision[y, i]
            h[i, t] = push[y, i] + pull[1 + i, first + t] - table[1 + i, first + t]
        for t in range(width, LANES):
            packed[start[i], t] = 1.0
            h[i, t] = 0.0
    for t in range(width):
        log_size[first + t] = pull[0, first + t] - 0.5 * table[0, first + t]


@inner(error_model="numpy")
def _factorise(
    first: int,
    width: int,
    start: IndexArray,
    packed: FloatArray,
    root: FloatArray,
    size: FloatArray,
    log_size: FloatArray,
) -> None:
    """P = U' U in place, U upper triangular with its diagonal inverted: it is only divided by.

    `root` and `size` are working memory; `size` holds 1 before and after.
    """
    q = len(start)
    for i in range(q):
        di = start[i]
        # four rows at a time: the sums are read and written less often
        for k in range(0, i - 3, 4):
            a, b = start[k] + i - k, start[k + 1] + i - k - 1
            c, d = start[k + 2] + i - k - 2, start[k + 3] + i - k - 3
            for j in range(q - i):
                for t in range(LANES):
                    packed[di + j, t] -= (
                        packed[a, t] * packed[a + j, t]
                        + packed[b, t] * packed[b + j, t]
                        + packed[c, t] * packed[c + j, t]
                        + packed[d, t] * packed[d + j, t]
                    )
        for k in range(i - i % 4, i):
            a = start[k] + i - k
            for j in range(q - i):
                for t in range(LANES):
                    packed[di + j, t] -= packed[a, t] * packed[a + j, t]
        for t in range(LANES):
            root[t] = 1.0 / np.sqrt(packed[di, t])
        for t in range(LANES):
            size[t] *= root[t]
        if i % FEW_FACTORS == FEW_FACTORS - 1 or i == q - 1:
            for t in range(width):
                log_size[first + t] += np.log(size[t])
            for t in range(LANES):
                size[t] = 1.0
        for j in range(1, q - i):
            for t in range(LANES):
                packed[di + j, t] *= root[t]
        for t in range(LANES):
            packed[di, t] = root[t]


@inner(error_model="numpy")
def _invert(start: IndexArray, packed: FloatArray, inverse: FloatArray, row: FloatArray) -> None:
    """Compute P^-1 from the factor, last row first: U P^-1 is lower triangular."""
    q = len(start)
    for i in range(q - 1, -1, -1):
        di = start[i]
        below = q - 1 - i
        for j in range(i + 1, q):
            for t in range(LANES):
                row[j, t] = 0.0
        left = below % 4
        for k in range(i + 1, q - left, 4):
            u, a = di + k - i, k * q
            for j in range(i + 1, q):
                for t in range(LANES):
                    row[j, t] += (
                        packed[u, t] * inverse[a + j, t]
                        + packed[u + 1, t] * inverse[a + q + j, t]
                        + packed[u + 2, t] * inverse[a + 2 * q + j, t]
                        + packed[u + 3, t] * inverse[a + 3 * q + j, t]
                    )
        for k in range(q - left, q):
            u, a = di + k - i, k * q
            for j in range(i + 1, q):
                for t in range(LANES):
                    row[j, t] += packed[u, t] * inverse[a + j, t]
        for j in range(i + 1, q):
            for t in range(LANES):
                inverse[i * q + j, t] = -row[j, t] * packed[di, t]
            for t in range(LANES):
                inverse[j * q + i, t] = inverse[i * q + j, t]
        for t in range(LANES):
            row[i, t] = packed[di, t]
        for j in range(i + 1, q):
            for t in range(LANES):
                row[i, t] -= packed[di + j - i, t] * inverse[i * q + j, t]
        for t in range(LANES):
            inverse[i * q + i, t] = row[i, t] * packed[di, t]


@compiled(error_model="numpy")
def find_posteriors(
    table: FloatArray,
    pull: FloatArray,
    label: IndexArray,
    precision: FloatArray,
    push: FloatArray,
    moments: bool,
    log_size: FloatArray,
) -> None:
    """Compute `log_size` (S, M, R) for all starts and components.

    If `moments`, also overwrite `table` (S, M, f, R) with the posterior expectations of the
    features. `pull` has shape (S, M, q + 1, R), `precision` and `push` (S, Y, q).
    """
    n_starts, n_components, _, n_rows = table.shape
    q = precision.shape[2]
    start = _diagonal(q)
    packed = np.empty((q * (q + 1) // 2, LANES))
    h, row, inverse = np.empty((q, LANES)), np.empty((q, LANES)), np.empty((q * q, LANES))
    root, size = np.empty(LANES), np.ones(LANES)
    for s in range(n_starts):
        for m in range(n_components):
            own, out = table[s, m], log_size[s, m]
            for first in range(0, n_rows, LANES):
                width = min(LANES, n_rows - first)
                _load(
                    first,
                    width,
                    own,
                    pull[s, m],
                    label,
                    precision[s],
                    push[s],
                    start,
                    packed,
                    h,
                    out,
                )
                _factorise(first, width, start, packed, root, size, out)
                # U' v = h, and h' P^-1 h = v' v
                for i in range(q):
                    di = start[i]
                    for t in range(LANES):
                        h[i, t] *= packed[di, t]
                    for j in range(1, q - i):
                        for t in range(LANES):
                            h[i + j, t] -= packed[di + j, t] * h[i, t]
                    for t in range(width):
                        out[first + t] += 0.5 * h[i, t] * h[i, t]
                if not moments:
                    continue
                _invert(start, packed, inverse, row)
                # the mean: U mean = v
                for i in range(q - 1, -1, -1):
                    di = start[i]
                    for j in range(1, q - i):
                        for t in range(LANES):
                            h[i, t] -= packed[di + j, t] * h[i + j, t]
                    for t in range(LANES):
                        h[i, t] *= packed[di, t]
                for t in range(width):
                    own[0, first + t] = 1.0
                for i in range(q):
                    for t in range(width):
                        own[1 + i, first + t] = h[i, t]
                    for j in range(i, q):
                        c = 1 + q + start[i] + j - i
                        for t in range(width):
                            own[c, first + t] = inverse[i * q + j, t] + h[i, t] * h[j, t]
