"""Inference with a fitted model of mixed columns.

The bound on log p(row | y, m) is raised in steps (Algorithm 1 of Langseth and Nielsen, 2009): first
a few with one prior for all classes, then class by class until the bound has converged. Steps are
extrapolated, which takes about a third as many, and each has only the rows that still move. A class
that is far too improbable for a row is not followed to the end. The result for a row does not
depend on the other rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._gaussian import LOG_2PI
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.lcm._hybrid_em import HybridParams, params_design
from latentclass.lcm._logistic_bound import (
    LEAST_XI,
    Design,
    HybridRows,
    Seen,
    Sums,
    best_squares,
    best_xi,
    cell_xi,
    infer,
    loops,
    make_design,
    measure,
    prior_xi,
    read_rows,
    solve,
    sum_factors,
    unpack_features,
)
from latentclass.lcm._soft_max_bound import log_soft_max, soft_spans

COMMON_STEPS = 2
"""Steps with the prior of all classes together."""

GAIN, ROUNDING = 1e-4, 1e-12
"""A bound has converged when a step raises it by no more than `GAIN`, or this share of it."""

MAX_STEPS = 1000
"""Maximum number of steps with each class's own prior."""

HOPELESS = 20.0
"""A class component is not followed any further if its bound is this far below a row's best one."""

AHEAD = 3.0
"""How often a bound may still rise by as much as in its last step, when its hope is judged."""


class Bounds(NamedTuple):
    """Bounds `log_bound` (S, Y, M, R) and, on request, posterior moments of z, (S, Y, M, f, R)."""

    log_bound: FloatArray
    moments: FloatArray | None


def raise_bounds(params: HybridParams, rows: HybridRows, *, moments: bool = False) -> Bounds:
    """Return bounds on log p(row | y, m) of some rows."""
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
    least = out.max(axis=(1, 2))[:, None] - HOPELESS
    for y in range(n_classes):
        mine = None if kept is None else kept[:, y]
        _raise_class(design, seen, y, Start(xi, sums, least), out[:, y], mine)
    return Bounds(out, kept)


class Start(NamedTuple):
    """Where the bounds of all classes start: xi (S, M, n_b, R), its sums, and the least bound.

    A bound that cannot reach `least` (S, 1, R) is not followed.
    """

    xi: FloatArray
    sums: Sums
    least: FloatArray


def _raise_class(
    design: Design, seen: Seen, y: int, start: Start, out: FloatArray, kept: FloatArray | None
) -> None:
    """Raise the bounds of one class until no step changes them, and write them into `out`.

    Each round has only those rows that still move. Posterior moments go to `kept`.
    """
    moving, part = np.arange(seen.kappa.shape[1]), seen
    square = start.xi.copy()
    square[:, :, : seen.n_plain] **= 2
    past = np.empty((*square.shape[:2], 4, *square.shape[2:]))
    for step in range(MAX_STEPS):
        label = np.full(len(moving), y)
        if step == 0:  # all classes begin at one xi, so with the same sums
            table = start.sums.table.copy()
            found, bound = solve(design, start.sums._replace(table=table), label)
        else:
            xi = square.copy()
            np.sqrt(xi[:, :, : seen.n_plain], out=xi[:, :, : seen.n_plain])
            found, bound = infer(design, part, label, xi)
        rise = bound - out[..., moving] if step else np.full(bound.shape, np.inf)
        fell = rise < 0
        out[..., moving] = np.where(fell, out[..., moving], bound)
        if kept is not None and not fell.any():
            kept[..., moving] = found
        elif kept is not None:
            kept[..., moving] = np.where(fell[:, :, None], kept[..., moving], found)
        hope = bound + AHEAD * rise > start.least[..., moving]
        # after a fall comes a plain step, and its rise tells
        rounding = ROUNDING * np.abs(bound)
        going = ((rise < -rounding) | ((rise > GAIN + rounding) & hope)).any(axis=(0, 1))
        on = np.flatnonzero(going & (len(seen.kappa) > 0))
        if not on.size:
            return
        if on.size < len(moving):
            square, past, found, fell = (
                np.take(array, on, axis=-1) for array in (square, past, found, fell)
            )
            part, moving = take_seen(part, on), moving[on]
        best = best_squares(design, found, part)
        _extrapolate(square, best, part, fell, past, first=step == 0)


def _extrapolate(
    square: FloatArray,
    best: FloatArray,
    seen: Seen,
    fell: BoolArray,
    past: FloatArray,
    *,
    first: bool,
) -> None:
    """Move xi^2, or psi of a soft-max column, on, in place (see `extrapolate_cells`)."""
    shown = seen.logistic if seen.logistic is not None else np.empty((0, 0))
    extrapolate = loops(square).extrapolate_cells
    for s, m in np.ndindex(*square.shape[:2]):
        extrapolate(square[s, m], best[s, m], shown, first, fell[s, m], past[s, m])
    plain = square[:, :, : seen.n_plain]
    np.maximum(plain, LEAST_XI**2, out=plain)


def _common_xi(params: HybridParams, seen: Seen) -> FloatArray:
    """Return xi after some steps with one Gaussian prior for all classes, shape (S, M, n_b, R)."""
    share = np.exp(log_sum_exp(params.log_weight))[..., None]
    mean = (share * params.latent_mean).sum(axis=1, keepdims=True)
    square = params.latent_variance + (params.latent_mean - mean) ** 2
    variance = (share * square).sum(axis=1, keepdims=True)
    design = make_design(params.coefficient, params.noise, mean, variance)
    nobody = np.zeros(seen.kappa.shape[1], dtype=np.intp)
    xi = cell_xi(prior_xi(design, mean, variance, seen.soft), nobody, seen)
    if not seen.kappa.size:
        return xi
    for _ in range(COMMON_STEPS):
        xi = best_xi(design, infer(design, seen, nobody, xi)[0], seen)
    return xi


def take_seen(seen: Seen, rows: IndexArray) -> Seen:
    """Return some of the rows."""
    if len(rows) == seen.kappa.shape[1]:
        return seen
    # `take` keeps rows on the last axis of memory too, unlike an index
    values, kappa, gaussian = (np.take(part, rows, axis=-1) for part in seen[:3])
    logistic = None if seen.logistic is None else np.take(seen.logistic, rows, axis=-1)
    asked = np.take(seen.asked, rows, axis=-1) if len(seen.asked) else seen.asked
    return Seen(values, kappa, gaussian, logistic, seen.soft, asked)


def log_bounds_given_class(params: HybridParams, log_bound: FloatArray) -> FloatArray:
    """log sum_m P(m | y) exp(bound), shape (S, R, Y)."""
    joint = log_bound + log_normalise(params.log_weight)[..., None]
    return log_sum_exp(np.moveaxis(joint, 2, -1)).transpose(0, 2, 1)


class Points(NamedTuple):
    """Points (P, q) and log-weights (P,): weighted sums approximate averages over N(0, I)."""

    points: FloatArray
    log_weight: FloatArray


def spread_points(n_points: int, q: int) -> Points:
    """Return points of low discrepancy in pairs of opposite sign, the same at every call."""
    from scipy.stats import norm, qmc

    half = qmc.Sobol(q, scramble=True, rng=np.random.default_rng(0)).random(n_points // 2)
    points = norm.ppf(np.clip(half, 1e-9, 1.0 - 1e-9))
    both = np.concatenate([points, -points])
    return Points(both, np.full(len(both), -np.log(len(both))))


def grid_points(n_nodes: int, q: int) -> Points:
    """Return the points of Gauss-Hermite quadrature on a grid."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(weights / weights.sum())
    places = np.indices((n_nodes,) * q).reshape(q, -1).T
    return Points(nodes[places], log_weights[places].sum(axis=1))


POINT_NUMBERS = 2**21
"""Maximum size of a block of logits at points, in numbers (16 MB)."""


class Draws(NamedTuple):
    """Points z (R, P, q) in the latent space of each row, and log-weights (R, P).

    Weighted averages over the points approximate averages over the posterior of z.
    """

    z: FloatArray
    log_weight: FloatArray


def gaussian_draws(moments: FloatArray, points: Points) -> Draws:
    """Return points of the posterior under the bound, from its moments (f, R)."""
    full = unpack_features(moments.T)
    mean = full[:, 0, 1:]
    covariance = full[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :]
    values, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(values, 0.0))[:, None]
    z = mean[:, None] + points.points @ np.swapaxes(root, 1, 2)
    return Draws(z, np.broadcast_to(points.log_weight, z.shape[:2]))


class ClassComponent(NamedTuple):
    """Parameters of one class component.

    `offset` (n,) and `weights` (n, q) are those of the columns, `noise` (n_c,) that of the Gaussian
    columns, `mean` and `variance` (q,) those of z.
    """

    offset: FloatArray
    weights: FloatArray
    noise: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, params: HybridParams, s: int, y: int, m: int) -> ClassComponent:
        """Return those of class y and component m of model s."""
        coefficient = params.coefficient[s, m]
        noise = params.noise[s, min(m, params.noise.shape[1] - 1)]
        mean, variance = params.latent_mean[s, y], params.latent_variance[s, y]
        return cls(coefficient[:, 0], coefficient[:, 1:], noise, mean, variance)

    def cells(self, seen: Seen) -> tuple[FloatArray, FloatArray]:
        """Return offset and weights of the cells; one for each row if their questions differ."""
        if not len(seen.asked):
            return self.offset, self.weights
        first = len(self.noise)
        direct = np.arange(first + seen.n_direct)[:, None].repeat(seen.asked.shape[1], axis=1)
        column = np.concatenate([direct, first + seen.asked]).T
        return self.offset[column], self.weights[column]

    def draws(self, seen: Seen, moments: FloatArray, points: Points) -> Draws:
        """Return points of the exact posterior, whose weights sum to p(row | y, m).

        The points are placed by a Gaussian that has the posterior mean under the bound and the
        exact curvature of the logistic factors at this mean. With points of low discrepancy this
        is importance sampling, with a grid adaptive quadrature.
        """
        n_gaussian = len(self.noise)
        mean = moments[1 : len(self.mean) + 1].T
        offset, weights = self.cells(seen)
        turned = np.swapaxes(weights, -1, -2)
        logits = (mean[:, None] @ turned[..., n_gaussian:])[:, 0] + offset[..., n_gaussian:]
        slope = 0.25 / np.cosh(0.5 * np.clip(logits, -700.0, 700.0)) ** 2
        plain = seen.n_plain
        slope[:, plain:] = np.exp(log_soft_max(seen.soft, logits[:, plain:]))
        if seen.logistic is not None:
            slope *= seen.logistic.T
        rho = np.concatenate([seen.gaussian.T / self.noise, slope], axis=1)
        precision = (rho[:, None] * turned) @ weights
        for span in soft_spans(seen.soft):
            # the curvature of soft-max is the variance of the weights over the categories
            mean_weight = slope[:, plain:][:, span] @ self.weights[n_gaussian + plain :][span]
            precision -= mean_weight[:, :, None] * mean_weight[:, None]
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
        offset, weights = self.cells(seen)
        a = z @ np.swapaxes(weights, -1, -2) + (offset if offset.ndim == 1 else offset[:, None])
        distance = (seen.values.T[:, None] - a[..., :n_gaussian]) ** 2 / self.noise
        distance += np.log(self.noise) + LOG_2PI
        out: FloatArray = -0.5 * (distance * seen.gaussian.T[:, None]).sum(axis=-1)
        plain = seen.n_plain
        signs = 2.0 * seen.kappa.T[:, None]
        soft = n_gaussian + plain
        log_sigma = -np.logaddexp(0.0, -signs[..., :plain] * a[..., n_gaussian:soft])
        if seen.logistic is not None:
            log_sigma *= seen.logistic.T[:, None, :plain]
        out += log_sigma.sum(axis=-1)
        log_prob = log_soft_max(seen.soft, a[..., soft:])
        out += (log_prob * (signs[..., plain:] > 0)).sum(axis=-1)
        return out


def integrate(
    params: HybridParams, rows: HybridRows, moments: FloatArray, points: Points
) -> FloatArray:
    """log p(row | y, m) as a sum over points around the posterior mean, shape (S, Y, M, R)."""
    seen = read_rows(rows)
    n_starts, n_classes, n_components = params.log_weight.shape
    out = np.empty((n_starts, n_classes, n_components, rows.n_rows))
    size = max(1, POINT_NUMBERS // max(1, params.coefficient.shape[2] * len(points.points)))
    for s, y, m in np.ndindex(n_starts, n_classes, n_components):
        one = ClassComponent.of(params, s, y, m)
        for first in range(0, rows.n_rows, size):
            span = np.arange(first, min(first + size, rows.n_rows))
            draws = one.draws(take_seen(seen, span), moments[s, y, m][:, span], points)
            out[s, y, m, span] = log_sum_exp(draws.log_weight)
    return out
