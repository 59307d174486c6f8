"""Gaussians of low rank: a few latent variables explain the columns, and noise is independent.

    x = mean + loadings u + e,   u ~ N(0, I) in r dimensions,   e ~ N(0, diag noise)

Given the observed cells of a row, u is Gaussian with precision I + A' A, where A has the rows
loadings / sqrt(noise) of the observed columns. So nothing here needs a matrix of the size of the
columns, and rows in which the same cells are observed share the matrices of size r. The statistics
are the expected moments of u and x; those of disjoint rows add up.

There are K Gaussians, n columns, r <= n latent variables, and f = r (r + 1) / 2 cells in a
symmetric matrix of size r. Columns should be standardised, as in `_gaussian`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray
from latentclass.engine._gaussian import (
    Gaussians,
    LeftOut,
    Moments,
    Patterns,
    inverse_factor,
    leave_out_by,
)
from latentclass.engine._numeric import LOG_2PI

LANES = 16
"""The kernels take a multiple of this number of Gaussians, without a rest that would be slower."""

STEEP = 1e7
"""Signal-to-noise ratio above which the squares of a complete row are summed over its residuals: as
a difference they would lose too many digits."""


class Factors(NamedTuple):
    """K Gaussians: `mean` (K, n), `loadings` (K, n, r), and `noise` (K, n), the variances of e."""

    mean: FloatArray
    loadings: FloatArray
    noise: FloatArray


class FactorMoments(NamedTuple):
    """Expected weighted sums over rows, completed by u and by the missing cells of x.

    `weight` (K,); `latent` (K, r) of u; `latent_square` (K, r, r) of u u'; `total` (K, n) of x;
    `cross` (K, n, r) of x u'; `square` (K, n) of x^2.
    """

    weight: FloatArray
    latent: FloatArray
    latent_square: FloatArray
    total: FloatArray
    cross: FloatArray
    square: FloatArray


def no_moments(factors: Factors) -> FactorMoments:
    """The moments of no rows, for each of the Gaussians."""
    *shape, n, rank = factors.loadings.shape
    sizes = ((), (rank,), (rank, rank), (n,), (n, rank), (n,))
    return FactorMoments(*(np.zeros((*shape, *size)) for size in sizes))


# ------------------------------------------------------------------ complete rows


def is_narrow(n: int, rank: int) -> bool:
    """Whether complete rows cost less by their features (see `_gaussian`)."""
    return n <= 2 * rank + 14


class White(NamedTuple):
    """u given the observed columns, for all rows in which they are the same.

    The mean of u is `factor`' t with t = `slope` (x - mean), its covariance `factor`' `factor`.
    Shapes (K, r, r) and (K, r, n); `log_det` (K,) is that of the covariance of the columns, and
    `steep` (K,) marks Gaussians above STEEP.
    """

    factor: FloatArray
    slope: FloatArray
    log_det: FloatArray
    steep: BoolArray


def whiten(factors: Factors, shown: FloatArray | float = 1.0) -> White:
    """Condition u on the columns that are `shown`, an array (n,) of 1 and 0."""
    _, loadings, noise = factors
    steady = shown / noise
    scaled = loadings * np.sqrt(steady)[..., None]
    inner = np.swapaxes(scaled, -2, -1) @ scaled
    np.einsum("...ii->...i", inner)[...] += 1.0
    factor, log_det = inverse_factor(inner)
    slope = factor @ np.swapaxes(loadings * steady[..., None], -2, -1)
    steep = np.einsum("...ii->...i", inner).max(axis=-1, initial=0.0) > STEEP
    return White(factor, slope, log_det + (shown * np.log(noise)).sum(axis=-1), steep)


def to_gaussians(factors: Factors, white: White) -> Gaussians:
    """The same Gaussians with their full covariances."""
    mean, loadings, noise = factors
    precision = np.swapaxes(white.slope, -2, -1) @ white.slope
    np.negative(precision, out=precision)
    np.einsum("...ii->...i", precision)[...] += 1.0 / noise
    covariance = loadings @ np.swapaxes(loadings, -2, -1)
    np.einsum("...ii->...i", covariance)[...] += noise
    return Gaussians(mean, covariance, precision, white.log_det)


def log_density(factors: Factors, white: White, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log N(x; k) of complete rows, shape (K, n_rows), and their t, shape (K, r, n_rows)."""
    mean, loadings, noise = factors
    n_gaussians, rank, n = white.slope.shape
    turned = rows.T
    t = white.slope.reshape(n_gaussians * rank, n) @ turned
    t = t.reshape(n_gaussians, rank, len(rows))
    t -= white.slope @ mean[..., None]
    pull = mean / noise
    density: FloatArray = pull @ turned
    density -= (0.5 / noise) @ (turned * turned)
    density -= 0.5 * (n * LOG_2PI + white.log_det + (mean * pull).sum(axis=1))[:, None]
    density += 0.5 * np.einsum("krx,krx->kx", t, t)
    for k in np.flatnonzero(white.steep):
        # the least value of |residual|^2 / noise + |u|^2, which an error of u changes little
        latent = t[k].T @ white.factor[k]
        rest = rows - mean[k] - latent @ loadings[k].T
        squares = (rest**2 / noise[k]).sum(axis=1) + (latent**2).sum(axis=1)
        density[k] = -0.5 * (n * LOG_2PI + white.log_det[k] + squares)
    return density, t


def latent_rows(factors: Factors, white: White, rows: FloatArray) -> FloatArray:
    """Return the mean of u given complete rows, shape (n_rows, r, K)."""
    regression = np.swapaxes(white.factor, 1, 2) @ white.slope
    n_gaussians, rank, n = regression.shape
    latent = rows @ regression.transpose(2, 1, 0).reshape(n, rank * n_gaussians)
    latent -= (regression @ factors.mean[..., None])[..., 0].T.reshape(-1)
    return latent.reshape(len(rows), rank, n_gaussians)


def row_moments(
    factors: Factors, white: White, rows: FloatArray, t: FloatArray, weights: FloatArray
) -> FactorMoments:
    """Moments of complete rows with their t (see `log_density`); `weights` is (K, n_rows)."""
    n_gaussians, rank = t.shape[:2]
    weighted = t * weights[:, None]
    cross = weighted.reshape(n_gaussians * rank, len(rows)) @ rows
    cross = cross.reshape(white.slope.shape)
    total, square = weights @ rows, weights @ (rows * rows)
    moments, _ = _unwhiten(
        factors, white, weights.sum(axis=1), weighted.sum(axis=2), total, cross, square
    )
    return moments


def sum_moments(
    factors: Factors,
    white: White,
    weight: FloatArray,
    total: FloatArray,
    square: FloatArray,
    product: FloatArray,
) -> tuple[FactorMoments, FloatArray]:
    """Moments of complete rows from the sums over them, and their log-density, shape (K,).

    The sums are `weight` (K,), `total` (K, n) of x, `square` (K, n) of x^2, and `product`
    (K, r, n), `slope` times those of x x'.
    """
    mean, _, noise = factors
    centre = (white.slope @ mean[..., None])[..., 0]
    latent = (white.slope @ total[..., None])[..., 0] - weight[..., None] * centre
    cross = product - centre[..., :, None] * total[..., None, :]
    moments, explained = _unwhiten(factors, white, weight, latent, total, cross, square)
    constant = mean.shape[-1] * LOG_2PI + white.log_det + (mean**2 / noise).sum(axis=-1)
    density = ((mean * total - 0.5 * square) / noise).sum(axis=-1)
    return moments, density + 0.5 * (explained - weight * constant)


def _unwhiten(
    factors: Factors,
    white: White,
    weight: FloatArray,
    latent: FloatArray,
    total: FloatArray,
    cross: FloatArray,
    square: FloatArray,
) -> tuple[FactorMoments, FloatArray]:
    """From moments of t, `latent` (K, r) and `cross` (K, r, n), to those of u.

    Also returns the sums of t' t. Those of t t' follow from `cross`, because t is linear in x.
    """
    factor, slope = white.factor, white.slope
    centre = slope @ factors.mean[..., None]
    second = cross @ np.swapaxes(slope, -2, -1) - latent[..., None] * np.swapaxes(centre, -2, -1)
    explained = np.einsum("...ii->...", second)
    np.einsum("...ii->...i", second)[...] += weight[..., None]
    moments = FactorMoments(
        weight,
        (latent[..., None, :] @ factor)[..., 0, :],
        np.swapaxes(factor, -2, -1) @ second @ factor,
        total,
        np.swapaxes(cross, -2, -1) @ factor,
        square,
    )
    return moments, explained


# ------------------------------------------------------------------ rows with missing cells


class Posterior(NamedTuple):
    """u given the observed cells of rows.

    `log_density` (n_rows, K) of the observed cells, and `log_det` (P, K) of their covariance;
    `padded` (n_rows, r, K + some) and `spread` (P, f, K + some), mean and covariance of u.
    """

    log_density: FloatArray
    log_det: FloatArray
    padded: FloatArray
    spread: FloatArray

    @property
    def latent(self) -> FloatArray:
        """The mean of u, shape (n_rows, r, K)."""
        return self.padded[..., : self.log_density.shape[1]]


class _Turned(NamedTuple):
    """Parameters as the kernels take them, with the Gaussians on the last axis.

    `mean`, `noise` (n, K); `loadings`, `pull` and `centre` (n, r, K): loadings / noise, and mean
    times it; `outer` (n, f, K): loadings times pull.
    """

    mean: FloatArray
    noise: FloatArray
    loadings: FloatArray
    pull: FloatArray
    centre: FloatArray
    outer: FloatArray

    @classmethod
    def of(cls, factors: Factors) -> _Turned:
        n_gaussians, n, rank = factors.loadings.shape
        size = -(-n_gaussians // LANES) * LANES
        mean, noise = np.zeros((n, size)), np.ones((n, size))
        loadings = np.zeros((n, rank, size))
        mean[:, :n_gaussians], noise[:, :n_gaussians] = factors.mean.T, factors.noise.T
        loadings[..., :n_gaussians] = factors.loadings.transpose(1, 2, 0)
        pull = loadings / noise[:, None]
        i, j = np.tril_indices(rank)
        outer = np.ascontiguousarray(pull[:, i] * loadings[:, j])
        return cls(mean, noise, loadings, pull, mean[:, None] * pull, outer)


def condition(factors: Factors, part: Patterns) -> Posterior:
    """Condition u on the observed cells of each row."""
    from latentclass.engine._factored_kernels import condition_rows  # loads numba

    turned = _Turned.of(factors)
    n_rows, n_patterns, n_gaussians = len(part.rows), len(part.observed), len(factors.mean)
    _, rank, size = turned.loadings.shape
    squares, latent = np.empty((n_rows, size)), np.empty((n_rows, rank, size))
    spread = np.empty((n_patterns, *turned.outer.shape[1:]))
    log_det = np.empty((n_patterns, size))
    out = squares, latent, spread, log_det
    condition_rows(part.rows, part.pattern, part.observed, *turned, *out)
    log_det = log_det[:, :n_gaussians] + part.observed @ np.log(factors.noise).T
    constant = log_det + LOG_2PI * part.observed.sum(axis=1)[:, None]
    density = -0.5 * (squares[:, :n_gaussians] + constant[part.pattern])
    return Posterior(density, log_det, latent, spread)


class _Sums(NamedTuple):
    """Sums of the kernels: observed cells of x and x u', and of x^2; hidden cells, of 1, u, u u'.

    Shapes (n, 1 + r, K), (n, K) and (n + 1, 1 + r + f, K), of which the last are of all rows; K is
    padded here.
    """

    shown: FloatArray
    square: FloatArray
    hidden: FloatArray

    @classmethod
    def nothing(cls, n: int, rank: int, size: int) -> _Sums:
        n_cells = rank * (rank + 1) // 2
        return cls(
            np.zeros((n, 1 + rank, size)),
            np.zeros((n, size)),
            np.zeros((n + 1, 1 + rank + n_cells, size)),
        )

    def complete(self, factors: Factors) -> FactorMoments:
        """Complete the rows: a missing cell is mean + loadings u + e."""
        mean, noise = factors.mean.T, factors.noise.T
        loadings = factors.loadings.transpose(1, 2, 0)
        n, rank, n_gaussians = loadings.shape
        shown, own, hidden = (array[..., :n_gaussians] for array in self)
        i, j = np.tril_indices(rank)
        weight, latent = hidden[:, 0], hidden[:, 1 : 1 + rank]
        second = np.empty((n + 1, rank, rank, n_gaussians))
        second[:, i, j] = second[:, j, i] = hidden[:, 1 + rank :]
        product = (loadings[:, None] * second[:n]).sum(axis=2)
        linear = (loadings * latent[:n]).sum(axis=1)
        total = shown[:, 0] + mean * weight[:n] + linear
        cross = shown[:, 1:] + mean[:, None] * latent[:n] + product
        square = own + (mean**2 + noise) * weight[:n] + 2.0 * mean * linear
        square += (loadings * product).sum(axis=1)
        return FactorMoments(
            weight[n],
            latent[n].T,
            second[n].transpose(2, 0, 1),
            total.T,
            cross.transpose(2, 0, 1),
            square.T,
        )


def conditional_moments(
    factors: Factors, part: Patterns, posterior: Posterior, weights: FloatArray
) -> FactorMoments:
    """Return the expected moments of the completed rows; `weights` has shape (K, n_rows)."""
    from latentclass.engine._factored_kernels import add_rows  # loads numba

    _, rank, size = posterior.padded.shape
    padded = np.zeros((len(part.rows), size))
    padded[:, : len(weights)] = weights.T
    sums = _Sums.nothing(part.rows.shape[1], rank, size)
    add_rows(
        part.rows,
        part.pattern,
        part.observed,
        posterior.padded,
        posterior.spread,
        padded,
        *sums,
    )
    return sums.complete(factors)


def pattern_moments(
    factors: Factors, observed: BoolArray, sums: Moments
) -> tuple[FactorMoments, FloatArray]:
    """Return the expected moments of rows from their sums, and their log-density, shape (K,).

    `sums` are those of the rows of each pattern, with leading axis P, and 0 for missing cells.
    """
    from latentclass.engine._factored_kernels import add_sums  # loads numba

    turned = _Turned.of(factors)
    out = _Sums.nothing(*turned.loadings.shape)
    explained = np.zeros(turned.mean.shape[1])
    add_sums(
        observed,
        *sums,
        turned.pull,
        turned.centre,
        turned.outer,
        explained,
        out.shown,
        out.hidden,
    )
    seen, total = sums.weight @ observed, sums.total.sum(axis=0)
    square = np.einsum("pii->i", sums.square)
    out.shown[:, 0], out.square[...] = total[:, None], square[:, None]
    out.hidden[:-1, 0], out.hidden[-1, 0] = (sums.weight.sum() - seen)[:, None], sums.weight.sum()
    mean, _, noise = factors
    distance = square - 2.0 * total * mean + seen * mean**2
    squares = (distance / noise + seen * (np.log(noise) + LOG_2PI)).sum(axis=1)
    return out.complete(factors), -0.5 * (squares - explained[: len(mean)])


def leave_out(factors: Factors, rows: FloatArray) -> LeftOut:
    """Leave out each column in turn, of rows in which the same cells are observed.

    The precision matrix times (x - mean) is the residual / noise.
    """
    mean, loadings, noise = factors
    shown = ~np.isnan(rows[:1])
    steady = (shown / noise)[:, None]
    white = whiten(factors, shown[0].astype(np.float64))
    distance = np.nan_to_num(rows - mean[:, None])
    latent = distance @ np.swapaxes(white.slope, 1, 2) @ white.factor
    pull = (distance - latent @ np.swapaxes(loadings, 1, 2)) * steady
    own = steady - (white.slope**2).sum(axis=1)[:, None]
    return leave_out_by(shown, distance, pull, own, white.log_det)
