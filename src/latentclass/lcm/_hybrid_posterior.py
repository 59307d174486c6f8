"""What fitted latent classification models of mixed columns say of rows.

The bound on log p(row | y, m) is raised step by step, as the E-step does once an iteration: first
with one prior for all classes, which is where most of the way lies, then class by class. A row
leaves when a step gains it nothing more, and classes that are out of the question for a row are
not followed; what a row gets does not depend on the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._gaussian import LOG_2PI
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.lcm._hybrid_em import HybridParams, params_design
from latentclass.lcm._logistic_bound import (
    LEAST_XI,
    Design,
    HybridRows,
    Seen,
    Sums,
    best_xi,
    infer,
    make_design,
    measure,
    prior_xi,
    read_rows,
    solve,
    sum_factors,
    unpack_features,
)

COMMON_STEPS = 2
"""Steps with the prior of all classes together."""

CLASS_STEPS = 2
"""Steps with each class's own prior. More raise the bounds of all classes much alike: on the digits
of the paper, accuracy stays and log-loss rises a little, at four times the cost."""

MOMENT_STEPS = 20
"""Most such steps where the posteriors of z are wanted."""

GAIN = 1e-3
"""A row has converged when a step raises its bound by no more than this part of it, as in the
paper."""

FURTHER = 0.5
"""xi goes this much further than its best, on the logarithmic scale: fewer steps are needed."""

HOPELESS = 30.0
"""A class this far below the best of a row, in log p, is not followed any further."""


class Bounds(NamedTuple):
    """Bounds `log_bound` (S, Y, M, R), and posterior moments of z, (S, Y, M, f, R), if asked."""

    log_bound: FloatArray
    moments: FloatArray | None


def raise_bounds(params: HybridParams, rows: HybridRows, *, moments: bool = False) -> Bounds:
    """Bounds on log p(row | y, m) of some rows."""
    design = params_design(params)
    seen = read_rows(rows)
    n_starts, n_classes, n_components = params.log_weight.shape
    n_rows = rows.n_rows
    xi = _common_xi(params, seen)
    out = np.empty((n_starts, n_classes, n_components, n_rows))
    kept = None
    if moments:
        kept = np.empty((n_starts, n_classes, n_components, design.table.shape[2], n_rows))
    sums = sum_factors(design, seen, xi)
    for y in range(n_classes):
        out[:, y] = measure(design, sums, np.full(n_rows, y))
    by_class = out.max(axis=2)
    hope = (by_class > by_class.max(axis=1, keepdims=True) - HOPELESS).any(axis=0)
    n_steps = MOMENT_STEPS if moments else CLASS_STEPS
    for y in range(n_classes):
        moving = np.flatnonzero(hope[y] | moments)
        mine = xi[..., moving]
        for step in range(n_steps):
            part, label = take_seen(seen, moving), np.full(len(moving), y)
            if kept is None and step + 1 == n_steps:
                out[:, y][..., moving] = measure(design, sum_factors(design, part, mine), label)
                break
            if step == 0:  # all classes begin at one xi, so with the same sums
                found, bound = solve(design, _take_sums(sums, moving), label)
            else:
                found, bound = infer(design, part, label, mine)
            rise = bound - out[:, y][..., moving]
            out[:, y][..., moving] = bound
            if kept is not None:
                kept[:, y][..., moving] = found
            going = (rise > GAIN * np.abs(bound)).any(axis=(0, 1)) | (step == 0)
            on = np.flatnonzero(going & (len(seen.kappa) > 0))
            if not on.size:
                break
            mine = _step(design, found[..., on], mine[..., on], further=step > 0)
            moving = moving[on]
    return Bounds(out, kept)


def _take_sums(sums: Sums, rows: IndexArray) -> Sums:
    """Some of the rows, copied."""
    return Sums(*(np.take(part, rows, axis=-1) for part in sums))


def _step(design: Design, moments: FloatArray, xi: FloatArray, *, further: bool) -> FloatArray:
    """Move xi to its best for the posterior, or further in the same direction."""
    best = best_xi(design, moments)
    return np.maximum(best * (best / xi) ** FURTHER, LEAST_XI) if further else best


def _common_xi(params: HybridParams, seen: Seen) -> FloatArray:
    """xi that the classes' priors taken as one Gaussian lead to, shape (S, M, n_b, R)."""
    share = np.exp(log_sum_exp(params.log_weight))[..., None]
    mean = (share * params.latent_mean).sum(axis=1, keepdims=True)
    square = params.latent_variance + (params.latent_mean - mean) ** 2
    variance = (share * square).sum(axis=1, keepdims=True)
    design = make_design(params.coefficient, params.noise, mean, variance)
    xi = np.repeat(prior_xi(design, mean, variance), seen.kappa.shape[1], axis=-1)
    if not seen.kappa.size:
        return xi
    nobody = np.zeros(seen.kappa.shape[1], dtype=np.intp)
    for step in range(COMMON_STEPS):
        found, _ = infer(design, seen, nobody, xi)
        xi = _step(design, found, xi, further=step > 0)
    return xi


def take_seen(seen: Seen, rows: IndexArray) -> Seen:
    """Some of the rows."""
    if len(rows) == seen.kappa.shape[1]:
        return seen
    return Seen(
        seen.values[:, rows],
        seen.kappa[:, rows],
        seen.gaussian[:, rows],
        None if seen.logistic is None else seen.logistic[:, rows],
    )


def log_bounds_given_class(params: HybridParams, log_bound: FloatArray) -> FloatArray:
    """log sum_m P(m | y) exp(bound), shape (S, R, Y)."""
    joint = log_bound + log_normalise(params.log_weight)[..., None]
    return log_sum_exp(np.moveaxis(joint, 2, -1)).transpose(0, 2, 1)


class Points(NamedTuple):
    """Points (P, q) and log-weights (P,): sums over them stand for averages over N(0, I)."""

    points: FloatArray
    log_weight: FloatArray


def spread_points(n_points: int, q: int) -> Points:
    """Points of low discrepancy, in pairs of opposite sign: the same at every call."""
    from scipy.stats import norm, qmc

    half = qmc.Sobol(q, scramble=True, rng=np.random.default_rng(0)).random(n_points // 2)
    points = norm.ppf(np.clip(half, 1e-9, 1.0 - 1e-9))
    both = np.concatenate([points, -points])
    return Points(both, np.full(len(both), -np.log(len(both))))


def grid_points(n_nodes: int, q: int) -> Points:
    """Gauss and Hermite's points on a grid."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(weights / weights.sum())
    places = np.indices((n_nodes,) * q).reshape(q, -1).T
    return Points(nodes[places], log_weights[places].sum(axis=1))


POINT_NUMBERS = 2**21
"""Numbers that logits at points may take at once (16 MB)."""


class Draws(NamedTuple):
    """Points z (R, P, q) in the latent space of each row, and log-weights (R, P).

    Averages over the posterior of z are weighted averages over the points.
    """

    z: FloatArray
    log_weight: FloatArray


def gaussian_draws(moments: FloatArray, points: Points) -> Draws:
    """Points of the bound's posterior, from its moments (f, R)."""
    full = unpack_features(moments.T)
    mean = full[:, 0, 1:]
    covariance = full[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :]
    values, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))[:, None]
    z = mean[:, None] + points.points @ np.swapaxes(root, 1, 2)
    return Draws(z, np.broadcast_to(points.log_weight, z.shape[:2]))


class Cell(NamedTuple):
    """One class and component of one model: columns' `offset` (n,) and `weights` (n, q)."""

    offset: FloatArray
    weights: FloatArray
    noise: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, params: HybridParams, s: int, y: int, m: int) -> Cell:
        """Class y and component m of model s."""
        coefficient = params.coefficient[s, m]
        noise = params.noise[s, min(m, params.noise.shape[1] - 1)]
        mean, variance = params.latent_mean[s, y], params.latent_variance[s, y]
        return cls(coefficient[:, 0], coefficient[:, 1:], noise, mean, variance)

    def draws(self, seen: Seen, moments: FloatArray, points: Points) -> Draws:
        """Points of the posterior itself; their weights sum to p(row | y, m).

        The points are placed by the Gaussian that has the bound's posterior mean and the
        curvature of the logistic factors themselves there: importance sampling if they are
        spread, adaptive quadrature if they lie on a grid.
        """
        n_gaussian = len(self.noise)
        mean = moments[1 : len(self.mean) + 1].T
        logits = mean @ self.weights[n_gaussian:].T + self.offset[n_gaussian:]
        slope = 0.25 / np.cosh(0.5 * np.clip(logits, -700.0, 700.0)) ** 2
        if seen.logistic is not None:
            slope *= seen.logistic.T
        rho = np.concatenate([seen.gaussian.T / self.noise, slope], axis=1)
        precision = (rho[:, None] * self.weights.T) @ self.weights
        np.einsum("rqq->rq", precision)[...] += 1.0 / self.variance
        lower = np.linalg.cholesky(precision)
        # z = mean + L^-T u: L L' is the precision
        moved = np.linalg.solve(np.swapaxes(lower, 1, 2), points.points.T[None])
        z = mean[:, None] + np.swapaxes(moved, 1, 2)
        far = (z - self.mean) ** 2 / self.variance
        log_weight = points.log_weight - 0.5 * (far + np.log(self.variance)).sum(axis=-1)
        log_weight += 0.5 * (points.points**2).sum(axis=1)
        log_weight -= np.log(np.einsum("rqq->rq", lower)).sum(axis=1)[:, None]
        return Draws(z, log_weight + self._log_cells(seen, z))

    def _log_cells(self, seen: Seen, z: FloatArray) -> FloatArray:
        """log p(cells | z), shape (R, P), of points (R, P, q)."""
        n_gaussian = len(self.noise)
        a = z @ self.weights.T + self.offset
        distance = (seen.values.T[:, None] - a[..., :n_gaussian]) ** 2 / self.noise
        distance += np.log(self.noise) + LOG_2PI
        out: FloatArray = -0.5 * (distance * seen.gaussian.T[:, None]).sum(axis=-1)
        log_sigma = -np.logaddexp(0.0, -2.0 * seen.kappa.T[:, None] * a[..., n_gaussian:])
        if seen.logistic is not None:
            log_sigma *= seen.logistic.T[:, None]
        out += log_sigma.sum(axis=-1)
        return out


def integrate(
    params: HybridParams, rows: HybridRows, moments: FloatArray, points: Points
) -> FloatArray:
    """log p(row | y, m) by sums over points about the posterior, shape (S, Y, M, R)."""
    seen = read_rows(rows)
    n_starts, n_classes, n_components = params.log_weight.shape
    out = np.empty((n_starts, n_classes, n_components, rows.n_rows))
    size = max(1, POINT_NUMBERS // max(1, params.coefficient.shape[2] * len(points.points)))
    for s, y, m in np.ndindex(n_starts, n_classes, n_components):
        cell = Cell.of(params, s, y, m)
        for first in range(0, rows.n_rows, size):
            span = np.arange(first, min(first + size, rows.n_rows))
            draws = cell.draws(take_seen(seen, span), moments[s, y, m][:, span], points)
            out[s, y, m, span] = log_sum_exp(draws.log_weight)
    return out
