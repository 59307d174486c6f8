"""Densities and weighted moments of many Gaussians with full covariance on the same rows.

The *features* of a row are 1, its values x_i, and their products x_i x_j for i <= j. A Gaussian
log-density is linear in them, and a weighted moment is a weighted sum of them. So one matrix
product gives the densities of K Gaussians, and another their moments. Rows with missing cells are
grouped by pattern, and each Gaussian is conditioned on their observed cells.

There are K Gaussians, n columns and f = (n + 1)(n + 2) / 2 features. Columns should be standardised
(near 0, of size about 1), because the products are not centred.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._numeric import LOG_2PI as LOG_2PI

STEEP = 1e6
"""Above this precision the products lose too many digits, and rows are centred first."""

ROUNDING = 1e-13
"""Smallest eigenvalue allowed in a positive definite matrix, relative to its largest."""

BLOCK_VALUES = 2**21
"""Largest temporary array for rows with missing cells, in numbers (16 MB)."""

MOST_LOST = 1e4
"""A column is not left out by a difference if the difference is this many times smaller."""

MANY_ROWS = 8
"""With more rows per pattern than this, on average, patterns are handled one by one."""


class Gaussians(NamedTuple):
    """K Gaussians: `mean` (K, n), `covariance` and `precision` (K, n, n), `log_det` (K,).

    `log_det` is the log-determinant of the covariance.
    """

    mean: FloatArray
    covariance: FloatArray
    precision: FloatArray
    log_det: FloatArray


class Moments(NamedTuple):
    """Weighted sums over rows: `weight` (K,), `total` (K, n) of x, `square` (K, n, n) of x x'."""

    weight: FloatArray
    total: FloatArray
    square: FloatArray


class Patterns(NamedTuple):
    """Rows with missing cells, grouped by pattern.

    `rows` (n_rows, n) has NaN in missing cells. `observed` (P, n) marks the observed cells of each
    pattern. `pattern` (n_rows,), in ascending order, is the pattern of each row.
    """

    rows: FloatArray
    observed: BoolArray
    pattern: IndexArray


def from_covariance(mean: FloatArray, covariance: FloatArray) -> Gaussians:
    """Make Gaussians from positive definite covariances."""
    precision, log_det = invert(covariance)
    return Gaussians(mean, covariance, precision, log_det)


def invert(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverses and log-determinants of positive definite matrices."""
    factor, log_det = inverse_factor(matrices)
    return np.asarray(np.swapaxes(factor, -2, -1) @ factor), log_det


def inverse_factor(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors F of the inverses, F' F, and log-determinants of positive definite matrices.

    If rounding makes one of the matrices singular, the eigenvalues of all are raised to at least
    ROUNDING times the largest. So one bad start of a batch does not stop the others.
    """
    try:
        lower = np.linalg.cholesky(matrices)
        factor = np.asarray(np.linalg.inv(lower), dtype=np.float64)
        log_det = 2.0 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrices)
        values = np.maximum(values, ROUNDING * values[..., -1:])
        factor = np.swapaxes(vectors / np.sqrt(values)[..., None, :], -2, -1)
        log_det = np.log(values).sum(axis=-1)
    return factor, log_det


def count_features(n_columns: int) -> int:
    """Return the number of features of rows with `n_columns` values."""
    return (n_columns + 1) * (n_columns + 2) // 2


@lru_cache(maxsize=64)
def upper_cells(n: int) -> tuple[IndexArray, IndexArray]:
    """Return the row and column indices of the upper triangle, in the order of the features."""
    return np.triu_indices(n)


def features(rows: FloatArray) -> FloatArray:
    """Return the features of complete rows, shape (f, n_rows)."""
    n_rows, n = rows.shape
    out = np.empty((count_features(n), n_rows))
    out[0] = 1.0
    values = out[1 : n + 1]
    values[:] = rows.T
    place = n + 1
    for i in range(n):
        np.multiply(values[i], values[i:], out=out[place : place + n - i])
        place += n - i
    return out


def coefficients(gaussians: Gaussians) -> FloatArray:
    """Return the coefficients of the features in each log-density, shape (K, f)."""
    mean, _, precision, log_det = gaussians
    n = mean.shape[-1]
    pull = (precision @ mean[..., None])[..., 0]
    out = np.empty((*mean.shape[:-1], count_features(n)))
    out[..., 0] = -0.5 * (n * LOG_2PI + log_det + (pull * mean).sum(axis=-1))
    out[..., 1 : n + 1] = pull
    upper = upper_cells(n)
    # x_i x_j occurs twice in the quadratic form, x_i x_i once
    out[..., n + 1 :] = precision[..., upper[0], upper[1]] * np.where(
        upper[0] == upper[1], -0.5, -1.0
    )
    return out


def log_density(
    gaussians: Gaussians, table: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """log N(x; k) of rows given by their features, shape (K, n_rows).

    A caller with many blocks of rows can compute the `coefficients` once and pass them as
    `weights`.
    """
    n = gaussians.mean.shape[1]
    out = (coefficients(gaussians) if weights is None else weights) @ table
    steep = np.einsum("kii->ki", gaussians.precision).max(axis=1, initial=0.0) > STEEP
    for k in np.flatnonzero(steep):
        distance = table[1 : n + 1] - gaussians.mean[k][:, None]
        squares = (distance * (gaussians.precision[k] @ distance)).sum(axis=0)
        out[k] = -0.5 * (n * LOG_2PI + gaussians.log_det[k] + squares)
    return out


def count_columns(n_features: int) -> int:
    """Return the number of columns that have `n_features` features."""
    return round(float(np.sqrt(2 * n_features + 0.25)) - 1.5)


def pack_moments(moments: Moments) -> FloatArray:
    """Return moments as sums of features, shape (K, f)."""
    upper = upper_cells(moments.total.shape[-1])
    return np.concatenate(
        [moments.weight[..., None], moments.total, moments.square[..., upper[0], upper[1]]], axis=-1
    )


def unpack_moments(sums: FloatArray) -> Moments:
    """Return the moments in sums of features, shape (K, f)."""
    n = count_columns(sums.shape[-1])
    upper = upper_cells(n)
    square = np.empty((*sums.shape[:-1], n, n))
    square[..., upper[0], upper[1]] = sums[..., n + 1 :]
    square[..., upper[1], upper[0]] = sums[..., n + 1 :]
    return Moments(sums[..., 0], sums[..., 1 : n + 1], square)


def no_moments(shape: tuple[int, ...], n: int) -> Moments:
    """Return the moments of no rows, for Gaussians with some leading axes."""
    return Moments(np.zeros(shape), np.zeros((*shape, n)), np.zeros((*shape, n, n)))


def add_moments(one: Moments, other: Moments) -> Moments:
    """Return the moments of the rows of both."""
    return Moments(*(a + b for a, b in zip(one, other, strict=True)))


def move_moments(moments: Moments, shift: FloatArray, scale: FloatArray) -> Moments:
    """Return the moments of (x - shift) / scale."""
    weight, total, square = moments
    weight = weight[..., None]
    cross = total[..., :, None] * shift
    square = square - cross - np.swapaxes(cross, -2, -1)
    square = square + weight[..., None] * (shift[:, None] * shift)
    return Moments(
        weight[..., 0], (total - weight * shift) / scale, square / np.outer(scale, scale)
    )


def group_patterns(rows: FloatArray) -> tuple[Patterns, IndexArray]:
    """Sort rows by which cells are observed; also return the order that sorts them."""
    observed = ~np.isnan(rows)
    # 64 cells make one number, which is sorted much faster
    bits = np.packbits(observed, axis=1)
    padded = np.zeros((len(rows), 8 * (bits.shape[1] // 8 + 1)), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    keys = padded.view(np.uint64)
    order = np.lexsort(keys.T)
    keys = keys[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    pattern = np.cumsum(new) - 1
    return Patterns(rows[order], observed[order[new]], pattern), order


def split_patterns(
    patterns: Patterns, most_rows: int, most_patterns: int | None = None
) -> list[Patterns]:
    """Split into parts of some rows and patterns at most.

    A part holds whole patterns, or some rows of a single pattern.
    """
    most_patterns = most_rows if most_patterns is None else most_patterns
    counts = np.bincount(patterns.pattern, minlength=len(patterns.observed))
    edges = np.concatenate([[0], np.cumsum(counts)])
    parts = []
    first = 0
    while first < len(counts):
        end = first + 1
        while (
            end < len(counts)
            and end - first < most_patterns
            and edges[end + 1] - edges[first] <= most_rows
        ):
            end += 1
        for start in range(int(edges[first]), int(edges[end]), most_rows):
            stop = min(start + most_rows, int(edges[end]))
            parts.append(
                Patterns(
                    patterns.rows[start:stop],
                    patterns.observed[first:end],
                    patterns.pattern[start:stop] - first,
                )
            )
        first = end
    return parts


def sum_patterns(patterns: Patterns, weights: FloatArray) -> Moments:
    """Return the moments of the rows of each pattern, with leading axes (G, P).

    `weights` has shape (G, n_rows). Missing cells count as 0.
    """
    n_patterns, n = patterns.observed.shape
    out = no_moments((len(weights), n_patterns), n)
    rows = np.nan_to_num(patterns.rows)
    first = np.searchsorted(patterns.pattern, np.arange(n_patterns))
    for g, weight in enumerate(weights):
        out.weight[g] = np.add.reduceat(weight, first)
        for i in range(n):
            weighted = rows * (weight * rows[:, i])[:, None]
            out.square[g, :, i] = np.add.reduceat(weighted, first)
        out.total[g] = np.add.reduceat(rows * weight[:, None], first)
    return out


class Conditioned(NamedTuple):
    """K Gaussians, conditioned on the observed cells of rows.

    `log_density` (n_rows, K) is that of the observed cells. `shift` (n_rows, K, n) is the expected
    value of the complete row minus the mean. `inverse` (P, K, n, n) is the inverse covariance of
    the observed cells of each pattern, 0 elsewhere, and `log_det` (P, K) the log-determinant of
    that covariance.
    """

    log_density: FloatArray
    shift: FloatArray
    inverse: FloatArray
    log_det: FloatArray


def condition(gaussians: Gaussians, part: Patterns) -> Conditioned:
    """Condition each Gaussian on the observed cells of each row."""
    shown = part.observed.astype(np.float64)
    inverse, log_det = _invert_shown(gaussians.covariance, shown)
    distance = np.nan_to_num(part.rows[:, None, :] - gaussians.mean)
    pull = _by_pattern(inverse, distance, part.pattern)
    squares = (distance * pull).sum(axis=-1)
    constant = shown.sum(axis=1)[:, None] * LOG_2PI + log_det
    shift = np.matmul(pull.transpose(1, 0, 2), gaussians.covariance).transpose(1, 0, 2)
    return Conditioned(-0.5 * (constant[part.pattern] + squares), shift, inverse, log_det)


def condition_parts(
    gaussians: Gaussians, patterns: Patterns
) -> Iterator[tuple[slice, Patterns, Conditioned]]:
    """Condition on many rows, one part of `split_patterns` at a time.

    Yields the place of the part in `patterns.rows`, the part, and the conditioned Gaussians.
    """
    n_gaussians, n = gaussians.mean.shape
    most_rows = max(1, BLOCK_VALUES // max(1, n_gaussians * n))
    most_patterns = max(1, BLOCK_VALUES // max(1, n_gaussians * n * n))
    first = 0
    for part in split_patterns(patterns, most_rows, most_patterns):
        place = slice(first, first + len(part.rows))
        yield place, part, condition(gaussians, part)
        first = place.stop


class LeftOut(NamedTuple):
    """Gaussians without one column at a time, arrays of shape (K, n_rows, n).

    `log_density` is that of the observed cells but that of the column; `exact` says where rounding
    has spared it. Both mean nothing where the cell itself is missing.
    """

    log_density: FloatArray
    exact: BoolArray


def leave_out(gaussians: Gaussians, rows: FloatArray) -> LeftOut:
    """Leave out each column in turn, of rows in which the same cells are observed."""
    shown = ~np.isnan(rows[:1])
    inverse, log_det = gaussians.precision, gaussians.log_det
    if not shown.all():
        inverses, log_dets = _invert_shown(gaussians.covariance, shown.astype(np.float64))
        inverse, log_det = inverses[0], log_dets[0]
    distance = np.nan_to_num(rows - gaussians.mean[:, None])
    own = np.einsum("kii->ki", inverse)[:, None]
    return leave_out_by(shown, distance, distance @ inverse, own, log_det)


def leave_out_by(
    shown: BoolArray, distance: FloatArray, pull: FloatArray, own: FloatArray, log_det: FloatArray
) -> LeftOut:
    """Leave out columns, given the precision matrix P of the observed cells: P d and P_jj.

    log p(x without x_j) = log p(x) - log p(x_j | the others), and x_j is Gaussian with variance
    1 / P_jj given the others. `distance` d from the mean and `pull` P d have shape (K, n_rows, n),
    `own` P_jj (K, 1, n), `shown` (1, n); `log_det` (K,) is that of the covariance.
    """
    squares = (distance * pull).sum(axis=-1, keepdims=True)
    own = np.where(shown, own, 1.0)
    rest = squares - pull**2 / own
    constant = (shown.sum() - 1) * LOG_2PI + log_det[:, None, None] + np.log(own)
    return LeftOut(-0.5 * (constant + rest), squares <= MOST_LOST * (1.0 + rest))


def _invert_shown(covariance: FloatArray, shown: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Invert the covariance of the observed cells of each pattern, as in `Conditioned`."""
    both = shown[:, None, :, None] * shown[:, None, None, :]
    # a missing column becomes independent with variance 1, which leaves the determinant as it is
    masked = covariance * both
    diagonal = np.einsum("pkii->pki", masked)
    diagonal += (1.0 - shown)[:, None, :]
    inverse, log_det = invert(masked)
    inverse *= both
    return inverse, log_det


def conditional_moments(
    gaussians: Gaussians, part: Patterns, conditioned: Conditioned, weights: FloatArray
) -> Moments:
    """Return the expected moments of the completed rows; `weights` has shape (n_rows, K)."""
    mean, covariance = gaussians.mean, gaussians.covariance
    weight = weights.sum(axis=0)
    weighted = (weights[:, :, None] * conditioned.shift).transpose(1, 2, 0)
    shift_total = weighted.sum(axis=2)
    square = weighted @ conditioned.shift.transpose(1, 0, 2)
    # add the conditional covariance of the missing cells
    share = np.zeros((len(part.observed), weights.shape[1]))
    np.add.at(share, part.pattern, weights)
    explained = np.einsum("pk,pkij->kij", share, conditioned.inverse)
    square += weight[:, None, None] * covariance - covariance @ explained @ covariance
    cross = mean[:, :, None] * shift_total[:, None, :]
    square += cross + cross.transpose(0, 2, 1)
    square += weight[:, None, None] * mean[:, :, None] * mean[:, None, :]
    return Moments(weight, shift_total + weight[:, None] * mean, square)


def _by_pattern(matrices: FloatArray, vectors: FloatArray, pattern: IndexArray) -> FloatArray:
    """matrices[pattern[r], k] @ vectors[r, k] for every row r and Gaussian k."""
    n_patterns, n_rows = len(matrices), len(vectors)
    if n_rows < MANY_ROWS * n_patterns:
        return np.asarray(np.matmul(matrices[pattern], vectors[..., None])[..., 0])
    out = np.empty_like(vectors)
    edges = np.searchsorted(pattern, np.arange(n_patterns + 1))
    for p in range(n_patterns):
        rows = slice(edges[p], edges[p + 1])
        product = np.matmul(vectors[rows].transpose(1, 0, 2), matrices[p])
        out[rows] = product.transpose(1, 0, 2)
    return out
