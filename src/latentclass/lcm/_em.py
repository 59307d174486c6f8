"""EM for latent classification models, from the moments of the class components.

    P(y) P(m | y) N(z; mu_y, diag gamma_y) N(x; L_m z + eta_m, diag theta_m)

z are q latent variables, m is one of M components, and theta is the noise, one for all components
(tied) or one for each (untied). Given the class and the component, x is Gaussian with mean
L mu + eta and covariance L diag(gamma) L' + diag(theta): a Gaussian of low rank. The M-step of
Langseth and Nielsen (2005, section 4.2 and Appendix B) needs only the moments of x and z in each
class component (`engine._expectation.expect_factors`), and its cost does not depend on the number
of rows. There are S starts, on the first axis of all arrays.

The prior (MAP) is in units of pseudo-rows of a standardised column: see `Prior`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _factored as factored
from latentclass.engine import _product as product
from latentclass.engine._class_components import (
    ClassComponents,
    ComponentData,
    column_ranks,
    draw_rows,
)
from latentclass.engine._expectation import expect_factors
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._numeric import divide

NOISE_FLOOR = 1e-6
"""Smallest noise variance, relative to the variance of the column."""

LATENT_FLOOR = 1e-8
"""Smallest variance of a latent variable in a class."""

PARAMETER_LIMIT = 1e4
"""Bound on extrapolated parameters."""


LOWEST_LOG_SHARE = -50.0
"""In gradient steps a share of 0 is practically none."""


class Prior(NamedTuple):
    """Strength of the prior on each kind of parameter; all 0 is maximum likelihood.

    Attributes
    ----------
    loading : float
        Ridge: -loading / 2 * sum l^2 / theta.
    noise : float
        Pseudo-rows that draw each noise variance to `noise_level`.
    noise_level : float
        In the column's own variance.
    latent : float
        Pseudo-rows that draw each latent variance to 1, which settles the latent scale.
    component : float
        Pseudo-rows given to each component of each class.
    alpha : float
        Pseudo-count of each level of a discrete column.
    """

    loading: float = 0.0
    noise: float = 0.0
    noise_level: float = 1.0
    latent: float = 0.0
    component: float = 0.0
    alpha: float = 0.0


class LCMParams(NamedTuple):
    """Parameters of S models in standardised columns.

    weighting (S,); edges (S, n, q), which latent variables an attribute may depend on, in all
    components; log_weight (S, Y, M) = log P(y, m); loadings (S, M, n, q); offsets (S, M, n);
    noise (S, M or 1, n); latent_mean, latent_variance (S, Y, q); log_prob (S, Y, L).
    """

    weighting: IndexArray
    edges: BoolArray
    log_weight: FloatArray
    loadings: FloatArray
    offsets: FloatArray
    noise: FloatArray
    latent_mean: FloatArray
    latent_variance: FloatArray
    log_prob: FloatArray


class LCMStats(NamedTuple):
    """Expected moments of the complete data.

    weighting (S,); edges (S, n, q); component_weight (S, Y, M); latent_total, latent_square
    (S, Y, q): of z and z^2 by class; gram (S, M, q + 1, q + 1): of (z, 1)(z, 1)' by component;
    cross (S, M, n, q + 1): of x (z, 1)'; square (S, M, n): of x^2; counts (S, Y, L).
    """

    weighting: IndexArray
    edges: BoolArray
    component_weight: FloatArray
    latent_total: FloatArray
    latent_square: FloatArray
    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    counts: FloatArray


class Latent(NamedTuple):
    """How z follows from the latent variables u of the factors: z = mean + root (basis' u).

    `mean`, `root` (S, Y, 1, q). `basis` is None if u has q dimensions. If there are fewer columns,
    u has as many as columns, and `basis` (S, Y, M, n, q) has orthonormal rows; at right angles to
    them z keeps its prior variance.
    """

    mean: FloatArray
    root: FloatArray
    basis: FloatArray | None

    def expected(self, u: FloatArray, weight: npt.ArrayLike = 1.0) -> FloatArray:
        """Sum of E[z] over rows of some weight, from that of E[u]."""
        turned = u if self.basis is None else (u[..., None, :] @ self.basis)[..., 0, :]
        return np.asarray(np.asarray(weight)[..., None] * self.mean + self.root * turned)

    def moments(self, sums: factored.FactorMoments) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of E[z], E[z z'] and E[x z'] in each class component, from those of u."""
        weight, mean, root = sums.weight[..., None], self.mean, self.root
        total = self.expected(sums.latent, sums.weight)
        square, cross = sums.latent_square, sums.cross
        if self.basis is not None:
            turned = np.swapaxes(self.basis, -2, -1)
            rest = np.eye(self.basis.shape[-1]) - turned @ self.basis
            square = turned @ square @ self.basis + weight[..., None] * rest
            cross = cross @ self.basis
        square = square * (root[..., :, None] * root[..., None, :])
        square += total[..., :, None] * mean[..., None, :]
        square += mean[..., :, None] * (total - weight * mean)[..., None, :]
        cross = cross * root[..., None, :] + sums.total[..., :, None] * mean[..., None, :]
        return total, square, cross


def to_components(params: LCMParams) -> tuple[ClassComponents, Latent]:
    """Return the Gaussian of x in each class component, and z as a function of its factors."""
    mean, root = params.latent_mean[:, :, None], np.sqrt(params.latent_variance)[:, :, None]
    loadings = params.loadings[:, None] * root[..., None, :]
    n, q = loadings.shape[3:]
    basis = None
    if q > n:
        # loadings = R' Q' with orthonormal Q: x depends on n combinations of z only
        axes, triangle = np.linalg.qr(np.swapaxes(loadings, 3, 4))
        loadings, basis = np.swapaxes(triangle, 3, 4), np.swapaxes(axes, 3, 4)
    centre = (params.loadings[:, None] @ mean[..., None])[..., 0] + params.offsets[:, None]
    noise = np.broadcast_to(params.noise[:, None], centre.shape)
    factors = factored.Factors(centre, loadings, noise)
    components = ClassComponents(
        params.weighting, params.log_weight, None, params.log_prob, factors
    )
    return components, Latent(mean, root, basis)


@dataclass(frozen=True)
class LCMProblem:
    """EM for the model (see `_em.Problem`).

    Attributes
    ----------
    data : ComponentData
    n_components, n_latent : int
    tied : bool
        One noise for all components.
    prior : Prior
    offset : bool
        Whether the attributes have an offset beside the latent variables.
    """

    data: ComponentData
    n_components: int
    n_latent: int
    tied: bool
    prior: Prior
    offset: bool = True

    rounding: ClassVar[float] = 1e-8
    """Relative fall of the objective that rounding can cause where the noise is at its floor."""

    def e_step(self, params: LCMParams) -> tuple[LCMStats, FloatArray]:
        """Expected moments of the complete data, and the objective per row."""
        stats, log_likelihood = self.expect(params)
        objective = log_likelihood + self.log_prior(params)
        return stats, objective / self.data.total_weight[params.weighting]

    def add(self, first: LCMStats, second: LCMStats) -> LCMStats:
        """Moments of two disjoint sets of rows together; weighting and edges are those of both."""
        sums = (one + other for one, other in zip(first[2:], second[2:], strict=True))
        return LCMStats(first.weighting, first.edges, *sums)

    def log_prior(self, params: LCMParams) -> FloatArray:
        """log density of the prior up to a constant, shape (S,)."""
        return log_prior(params, self.prior)

    def expect(self, params: LCMParams) -> tuple[LCMStats, FloatArray]:
        """Expected moments of the complete data, and the log-likelihood of all rows."""
        components, latent = to_components(params)
        stats, log_likelihood = expect_factors(self.data, components)
        weight, total, square = stats.moments.weight, stats.moments.total, stats.moments.square
        z_total, z_square, cross = latent.moments(stats.moments)
        shape = params.loadings.shape
        q = self.n_latent
        gram = np.empty((shape[0], shape[1], q + 1, q + 1))
        gram[..., :q, :q] = z_square.sum(axis=1)
        gram[..., :q, q] = gram[..., q, :q] = z_total.sum(axis=1)
        gram[..., q, q] = weight.sum(axis=1)
        by_component = np.concatenate([cross.sum(axis=1), total.sum(axis=1)[..., None]], axis=-1)
        expected = LCMStats(
            params.weighting,
            params.edges,
            weight,
            z_total.sum(axis=2),
            np.einsum("symqq->syq", z_square),
            gram,
            by_component,
            square.sum(axis=1),
            stats.counts,
        )
        return expected, log_likelihood

    def m_step(self, stats: LCMStats) -> LCMParams:
        """Return the parameters of highest expected penalised likelihood.

        These are the updating rules of Langseth and Nielsen (2005, section 4.2) with a prior. The
        noise uses the whole quadratic form: the short form there holds only without a prior.
        """
        prior = self.prior
        log_weight, latent_mean, latent_variance = latent_parameters(
            stats.component_weight, stats.latent_total, stats.latent_square, prior
        )
        latent_variance = np.maximum(latent_variance, LATENT_FLOOR)

        coefficient = self._regress(stats)
        loadings, offsets = coefficient[..., :-1], coefficient[..., -1]
        rest, weight = residual_squares(stats, coefficient, prior)
        if self.tied:
            rest, weight = rest.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        rest, weight = rest + prior.noise * prior.noise_level, weight + prior.noise
        noise = np.where(weight > 0, divide(rest, weight), prior.noise_level)
        return LCMParams(
            stats.weighting,
            stats.edges,
            log_weight,
            np.ascontiguousarray(loadings),
            np.ascontiguousarray(offsets),
            np.maximum(noise, NOISE_FLOOR),
            latent_mean,
            latent_variance,
            self._level_log_probs(stats.counts),
        )

    def _regress(self, stats: LCMStats) -> FloatArray:
        """Loadings and offset, shape (S, M, n, q + 1): each attribute on its latent parents."""
        gram = stats.gram.copy()
        diagonal = np.einsum("smqq->smq", gram)
        # as small as rounding: for a component without rows, or latent variables that coincide
        diagonal += 1e-13 * diagonal + np.finfo(float).tiny ** 0.5
        diagonal[..., :-1] += self.prior.loading
        if self.offset and stats.edges.all():
            return np.asarray(
                np.swapaxes(np.linalg.solve(gram, np.swapaxes(stats.cross, 2, 3)), 2, 3)
            )
        offset = np.full((*stats.edges.shape[:2], 1), self.offset)
        allowed = np.concatenate([stats.edges, offset], axis=2)
        return regress_masked(gram, stats.cross, allowed)

    def _level_log_probs(self, counts: FloatArray) -> FloatArray:
        n_starts, n_classes, n_levels = counts.shape
        flat = counts.reshape(n_starts * n_classes, n_levels) + self.prior.alpha
        return product.log_probabilities(flat, self.data.offsets).reshape(counts.shape)

    def to_vector(self, params: LCMParams) -> FloatArray:
        """Coordinates for extrapolation: variances and shares by their logarithms."""
        parts = (
            params.log_weight,
            params.loadings,
            params.offsets,
            np.log(params.noise),
            params.latent_mean,
            np.log(params.latent_variance),
            params.log_prob,
            params.edges,
            params.weighting,
        )
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> LCMParams:
        """Parameters at some coordinates."""
        n_classes, n_levels = self.data.known_counts.shape[1:]
        n, q, m = self.data.n_columns, self.n_latent, self.n_components
        shapes = (
            (n_classes, m),
            (m, n, q),
            (m, n),
            (1 if self.tied else m, n),
            (n_classes, q),
            (n_classes, q),
            (n_classes, n_levels),
            (n, q),
        )
        *parts, weighting = np.split(vector, np.cumsum([np.prod(shape) for shape in shapes]), 1)
        log_weight, loadings, offsets, noise, mean, variance, log_prob, edges = (
            part.reshape(len(vector), *shape) for part, shape in zip(parts, shapes, strict=True)
        )
        log_weight -= log_sum_exp(log_weight.reshape(len(vector), -1))[:, None, None]
        flat = np.exp(np.minimum(log_prob, np.log(PARAMETER_LIMIT)))
        flat = flat.reshape(len(vector) * n_classes, n_levels)
        return LCMParams(
            weighting[:, 0].astype(np.intp),
            edges > 0.5,
            log_weight,
            np.clip(loadings, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            np.clip(offsets, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            np.exp(np.clip(noise, np.log(NOISE_FLOOR), np.log(PARAMETER_LIMIT))),
            np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            np.exp(np.clip(variance, np.log(LATENT_FLOOR), np.log(PARAMETER_LIMIT))),
            product.log_probabilities(flat, self.data.offsets).reshape(log_prob.shape),
        )

    def starts(self, weighting: IndexArray, rngs: list[np.random.Generator]) -> LCMParams:
        """Draw initial parameters, one start per generator; start s uses weighting[s].

        The loadings are random, and each of several components is centred on a random row. The
        latent variables have the same distribution in all classes at first. Nothing depends on the
        order of rows, columns or classes, and a row of weight two counts as two rows.
        """
        n_classes = self.data.labelled.shape[1]
        n, q, m = self.data.n_columns, self.n_latent, self.n_components
        n_starts = len(rngs)
        ranks = column_ranks(self.data)
        loadings = np.empty((n_starts, m, n, q))
        offsets = np.zeros((n_starts, m, n))
        for s, (g, rng) in enumerate(zip(weighting, rngs, strict=True)):
            # the latent variables explain half of each column's variance, noise the other half
            loadings[s] = np.sqrt(0.5 / q) * rng.standard_normal((m, n, q))[:, ranks[g]]
            if m > 1:
                direction = rng.standard_normal(n)[ranks[g]]
                offsets[s] = draw_rows(self.data, int(g), direction, rng.random(m))
        share = self.data.labelled[weighting] + self.prior.component
        with np.errstate(divide="ignore"):
            log_weight = np.log(share / share.sum(axis=1, keepdims=True))[:, :, None] - np.log(m)
        return LCMParams(
            weighting,
            np.ones((n_starts, n, q), dtype=bool),
            np.tile(log_weight, (1, 1, m)),
            loadings,
            offsets,
            np.full((n_starts, 1 if self.tied else m, n), 0.5),
            np.zeros((n_starts, n_classes, q)),
            np.ones((n_starts, n_classes, q)),
            self._level_log_probs(self.data.known_counts[weighting]),
        )


def residual_squares(
    stats: LCMStats, coefficient: FloatArray, prior: Prior
) -> tuple[FloatArray, FloatArray]:
    """Squares that the latent variables do not explain (S, M, n), with the ridge, and their weight.

    `coefficient` (S, M, n, q + 1) are the loadings and the offset.
    """
    rest = (
        stats.square
        - 2.0 * (coefficient * stats.cross).sum(axis=-1)
        + ((coefficient @ stats.gram) * coefficient).sum(axis=-1)
    )
    rest += prior.loading * (coefficient[..., :-1] ** 2).sum(axis=-1)
    return rest, stats.gram[..., -1, -1:]


def regress_masked(gram: FloatArray, cross: FloatArray, allowed: BoolArray) -> FloatArray:
    """Solve each attribute's normal equations over its allowed regressors, the rest at 0.

    `allowed` has shape (S, n, q + 1).
    """
    system = gram[:, :, None] * (allowed[..., :, None] & allowed[..., None, :])[:, None]
    np.einsum("smiqq->smiq", system)[...] += ~allowed[:, None]
    return np.asarray(np.linalg.solve(system, (cross * allowed[:, None])[..., None])[..., 0])


def latent_parameters(
    component_weight: FloatArray, total: FloatArray, square: FloatArray, prior: Prior
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """log P(y, m), and mean and variance of the latent variables in each class.

    Parameters
    ----------
    component_weight : array of shape (S, Y, M)
    total, square : arrays of shape (S, Y, q)
        Sums of the latent variables and of their squares.
    prior : Prior
    """
    share = component_weight + prior.component
    with np.errstate(divide="ignore"):
        log_weight = np.log(share / share.sum(axis=(1, 2), keepdims=True))
    class_weight = component_weight.sum(axis=2)[..., None]
    mean = divide(total, class_weight)
    about = square - mean * total + prior.latent
    drawn = class_weight + prior.latent
    return log_weight, mean, np.where(drawn > 0, divide(about, drawn), 1.0)


def log_prior(params: LCMParams, prior: Prior) -> FloatArray:
    """log density of the prior up to a constant, shape (S,)."""
    size = (params.loadings**2 / params.noise[..., None]).sum(axis=(1, 2, 3))
    noise = np.log(params.noise) + prior.noise_level / params.noise
    latent = np.log(params.latent_variance) + 1.0 / params.latent_variance
    total: FloatArray = -0.5 * prior.loading * size - 0.5 * prior.noise * noise.sum(axis=(1, 2))
    total = total - 0.5 * prior.latent * latent.sum(axis=(1, 2))
    if prior.component > 0:
        total = total + prior.component * params.log_weight.sum(axis=(1, 2))
    if prior.alpha > 0:
        total = total + prior.alpha * params.log_prob.sum(axis=(1, 2))
    return total


def canonical(params: LCMParams) -> LCMParams:
    """The same models with each latent variable in its standard form.

    Over all classes it has mean 0 and variance 1; the one that explains most comes first; its
    largest loading is positive.
    """
    share = np.exp(params.log_weight)
    by_class = share.sum(axis=2)[..., None]
    centre = (by_class * params.latent_mean).sum(axis=1)
    square = (by_class * (params.latent_variance + params.latent_mean**2)).sum(axis=1)
    scale = np.sqrt(np.maximum(square - centre**2, LATENT_FLOOR))
    loadings = params.loadings * scale[:, None, None]
    explained = np.einsum("sym,smnq->sq", share, loadings**2)
    order = np.argsort(-explained, axis=1, kind="stable")
    low, high = loadings.min(axis=(1, 2), initial=0.0), loadings.max(axis=(1, 2), initial=0.0)
    sign = np.where(-low > high, -1.0, 1.0)

    def arrange(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Latent variables, on the last axis, in their new order."""
        places = order.reshape(len(order), *[1] * (array.ndim - 2), -1)
        return np.take_along_axis(array, np.broadcast_to(places, array.shape), axis=-1)

    return params._replace(
        edges=arrange(params.edges),
        loadings=arrange(loadings * sign[:, None, None]),
        offsets=params.offsets + (params.loadings @ centre[:, None, :, None])[..., 0],
        latent_mean=arrange((params.latent_mean - centre[:, None]) / (scale * sign)[:, None]),
        latent_variance=arrange(params.latent_variance / scale[:, None] ** 2),
    )
