"""The functions of `_logistic_kernels` in NumPy, for few rows, which need not wait for numba.

All take the same arguments and write the same results, up to rounding.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray

NEARLY_PARALLEL = 1e-10
"""Changes whose squared sine is smaller than this count as one direction."""


def bend_cells(
    xi: FloatArray, n: int, seen: FloatArray, again: bool, rho: FloatArray, height: FloatArray
) -> None:
    """See `_logistic_kernels`."""
    first = rho.shape[2] - xi.shape[2]
    mine, x = rho[:, :, first : first + n], xi[:, :, :n]
    small = np.exp(-x)
    value = (1.0 - small) / ((1.0 + small) * (2.0 * x))
    if len(seen):
        value *= seen[:n]
        small *= seen[:n]
    used = mine if again else value
    each = 0.5 * x * (used * x - (seen[:n] if len(seen) else 1.0))
    each -= np.log1p(small)
    height[...] = each.sum(axis=2)
    mine[...] = value


def blend_classes(moments: FloatArray, share: FloatArray, out: FloatArray) -> None:
    """See `_logistic_kernels`."""
    np.einsum("ysmfr,smyr->smfr", moments, share, out=out)


def extrapolate_cells(
    square: FloatArray,
    best: FloatArray,
    seen: FloatArray,
    first: bool,
    fell: BoolArray,
    past: FloatArray,
) -> None:
    """See `_logistic_kernels`."""
    residual, image, change, shift = past
    if first:
        residual[...] = best - square
        image[...] = square[...] = best
        change[...] = shift[...] = 0.0
        return
    now = best - square
    turn, moved = now - residual, best - image
    shown = seen if len(seen) else 1.0
    f, a, b = now * shown, turn * shown, change * shown
    with np.errstate(all="ignore"):  # squares of a far outlier overflow: a plain step
        aa, ab, bb, af, bf = (
            np.einsum("nr,nr->r", one, two) for one, two in ((a, a), (a, b), (b, b), (a, f), (b, f))
        )
        size = aa * bb - ab * ab
        apart = size > NEARLY_PARALLEL * aa * bb
        newer = np.where(apart, (af * bb - bf * ab) / size, np.where(aa > 0.0, af / aa, 0.0))
        older = np.where(apart, (bf * aa - af * ab) / size, 0.0)
    fine = np.isfinite(newer + older)
    newer, older = np.where(fine, newer, 0.0), np.where(fine, older, 0.0)
    square[...] = np.where(fell, image, best - newer * moved - older * shift)
    residual[...] = np.where(fell, residual, now)
    image[...] = np.where(fell, image, best)
    change[...] = np.where(fell, 0.0, turn)
    shift[...] = np.where(fell, 0.0, moved)


def sum_asked(asked: IndexArray, rho: FloatArray, twice: FloatArray, table: FloatArray) -> None:
    """See `_logistic_kernels`."""
    n_features = table.shape[2]
    size = round(float(np.sqrt(2 * n_features + 0.25)) - 0.5)
    share = np.where(np.equal(*_upper(size)), 1.0, 0.5)
    for question, mine in zip(asked, np.moveaxis(rho, 2, 0)[-len(asked) :], strict=True):
        factors = twice[:, :, question] * share * mine[..., None]
        table += np.swapaxes(factors, 2, 3)


def square_asked(
    asked: IndexArray, kappa: FloatArray, twice: FloatArray, moments: FloatArray, out: FloatArray
) -> None:
    """See `_logistic_kernels`."""
    before = len(kappa) - len(asked)
    for d, question in enumerate(asked):
        square = np.einsum("smrf,smfr->smr", twice[:, :, question], moments)
        out[:, :, before + d] = np.where(kappa[before + d] != 0, square, 1.0)


def count_asked(
    asked: IndexArray, rho: FloatArray, moments: FloatArray, first: int, gram: FloatArray
) -> None:
    """See `_logistic_kernels`."""
    turned = np.moveaxis(moments, 3, 0)
    questions = np.moveaxis(gram, 2, 0)[first:]
    for question, mine in zip(asked, np.moveaxis(rho, 2, 0)[-len(asked) :], strict=True):
        np.add.at(questions, question, turned * np.moveaxis(mine, 2, 0)[..., None])


@cache
def _upper(size: int) -> tuple[IndexArray, IndexArray]:
    """Rows and columns of the upper triangle of a matrix: numpy takes longer for it than for all
    else that is done to a row."""
    rows, columns = np.triu_indices(size)
    return rows, columns


def find_posteriors(
    table: FloatArray,
    pull: FloatArray,
    label: IndexArray,
    precision: FloatArray,
    push: FloatArray,
    moments: bool,
    log_size: FloatArray,
) -> None:
    """See `_logistic_kernels`; each entry of the matrices is an array over all rows."""
    q = precision.shape[2]
    log_size[...] = pull[:, :, 0] - 0.5 * table[:, :, 0]
    if not q:
        return
    upper = _upper(q)
    factor = np.empty((q, q, *log_size.shape))
    factor[upper] = table[:, :, 1 + q :].transpose(2, 0, 1, 3)
    h = (pull[:, :, 1:] - table[:, :, 1 : q + 1]).transpose(2, 0, 1, 3)
    h += push[:, label].transpose(2, 0, 1)[:, :, None]
    own = precision[:, label].transpose(2, 0, 1)[:, :, None]
    # P = U' U, the diagonal of U inverted; U' v = h
    for i in range(q):
        row = factor[i, i:]
        row[0] += own[i]
        for k in range(i):
            row -= factor[k, i] * factor[k, i:]
            h[i] -= factor[k, i] * h[k]
        root = 1.0 / np.sqrt(row[0])
        row *= root
        row[0] = root
        h[i] *= root
        log_size += np.log(root) + 0.5 * h[i] ** 2
    if not moments:
        return
    # W = U^-1, so that P^-1 = W W' and the mean is W v
    inverse = np.zeros_like(factor)
    for i in range(q - 1, -1, -1):
        inverse[i, i] = factor[i, i]
        for k in range(i + 1, q):
            inverse[i, k:] -= factor[i, k] * inverse[k, k:]
        inverse[i, i + 1 :] *= factor[i, i]
    mean = np.einsum("ik...,k...->i...", inverse, h)
    table[:, :, 0] = 1.0
    table[:, :, 1 : q + 1] = mean.transpose(1, 2, 0, 3)
    for place, (i, j) in enumerate(zip(upper[0].tolist(), upper[1].tolist(), strict=True)):
        both = np.einsum("k...,k...->...", inverse[i, j:], inverse[j, j:])
        table[:, :, 1 + q + place] = both + mean[i] * mean[j]
