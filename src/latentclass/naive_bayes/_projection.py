"""Engine of naive Bayes along axes: full Gaussians by EM, and classes independent along the axes.

The first stage ignores the labels. It describes all rows by one full Gaussian, by a mixture of them
(`FullProblem`), or by factor analysis (`lcm._em.LCMProblem` with one class). Its axes are an
invertible matrix A for each component, scaled so that the coordinates u = A (x - mean) are
uncorrelated with variance 1 in the component. The second stage (`project`) estimates, in closed
form, each class's own mean and variance of the first coordinates; the other coordinates have the
same distribution in all classes. So each class is Gaussian in each component, with covariance
A^-1 diag(v) A^-T, and the result is `ClassComponents`. The variants are those that Langseth and
Nielsen (2005) compare with.

There are S starts, Y classes, M components, n standardised columns, and L levels of discrete
columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._class_components import (
    UNLABELLED,
    ClassComponents,
    ComponentData,
    square_root,
    sum_classes,
)
from latentclass.engine._expectation import ComponentStats, expect
from latentclass.engine._logspace import log_sum_exp
from latentclass.lcm._em import PARAMETER_LIMIT, LCMParams

VARIANCE_FLOOR = 1e-6
"""Smallest variance in any direction, in standardised columns."""

LEAST_WEIGHT = 1e-200
"""A class component with less weight counts as empty: such a number is too small to divide by."""

NEAR = 1e-4
"""Relative distance from the floor that counts as rounding."""

ROUNDING = 1e-9
"""Relative difference of other eigenvalues that counts as rounding."""


class FullParams(NamedTuple):
    """Parameters of S models.

    weighting (S,); log_weight (S, Y, M) = log P(y, m); mean (S, Y, M, n); covariance
    (S, Y, M, n, n); log_prob (S, Y, L).
    """

    weighting: IndexArray
    log_weight: FloatArray
    mean: FloatArray
    covariance: FloatArray
    log_prob: FloatArray


class FullStats(NamedTuple):
    """Expected moments of the components (see `ComponentStats`), and each start's weighting."""

    weighting: IndexArray
    weight: FloatArray
    total: FloatArray
    square: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class FullProblem:
    """EM for Gaussians with mean and full covariance of their own (see `_em.Problem`).

    Attributes
    ----------
    data : ComponentData
    n_components : int
        Of each class.
    strength : float
        Pseudo-rows with covariance `target` in each class component; 0 is maximum likelihood.
    target : array of shape (n, n)
    alpha : float
        Pseudo-count of each level of a discrete column.
    """

    data: ComponentData
    n_components: int
    strength: float
    target: FloatArray
    alpha: float = 0.0

    def e_step(self, params: FullParams) -> tuple[FullStats, FloatArray]:
        """Return the expected moments of the class components, and the objective per row."""
        components = to_components(params)
        stats, log_likelihood = expect(self.data, components)
        objective = log_likelihood + self.log_prior(components)
        total = self.data.total_weight[params.weighting]
        return FullStats(params.weighting, *stats), objective / total

    def m_step(self, stats: FullStats) -> FullParams:
        """Return the parameters of highest expected penalised likelihood."""
        weight = stats.weight
        with np.errstate(divide="ignore"):
            log_weight = np.log(weight / weight.sum(axis=(1, 2), keepdims=True))
        mean, scatter = centre_moments(ComponentStats(*stats[1:]), np.zeros(stats.total.shape[2:]))
        drawn = (weight + self.strength)[..., None, None]
        covariance = (scatter + self.strength * self.target) / np.maximum(drawn, LEAST_WEIGHT)
        covariance = np.where(drawn > LEAST_WEIGHT, covariance, self.target)
        counts = stats.counts + self.alpha
        flat = counts.reshape(counts.shape[0] * counts.shape[1], counts.shape[2])
        log_prob = product.log_probabilities(flat, self.data.offsets).reshape(counts.shape)
        return FullParams(stats.weighting, log_weight, mean, raise_floor(covariance), log_prob)

    def log_prior(self, components: ClassComponents) -> FloatArray:
        """log density of the prior up to a constant, shape (S,)."""
        out = np.zeros(len(components.log_weight))
        if self.strength > 0:
            # rows with covariance `target`: log N(x; mean, covariance) without its constant
            gaussians = components.full
            spread = np.einsum("symij,ij->sym", gaussians.precision, self.target)
            out -= 0.5 * self.strength * (gaussians.log_det + spread).sum(axis=(1, 2))
        if self.alpha > 0:
            out += self.alpha * components.log_prob.sum(axis=(1, 2))
        return out

    def start(self, data: ComponentData | None = None) -> FullParams:
        """Return one start: the M-step after an E-step with N(0, target) for all components.

        `data` may be a part of the rows, for example the labelled ones.
        """
        n_classes, n_levels = self.data.known_counts.shape[1:]
        shape = (1, n_classes, self.n_components)
        n = len(self.target)
        even = product.log_probabilities(np.zeros((n_classes, n_levels)), self.data.offsets)
        blank = FullParams(
            np.zeros(1, dtype=np.intp),
            np.full(shape, -np.log(n_classes * self.n_components)),
            np.zeros((*shape, n)),
            np.tile(self.target, (*shape, 1, 1)),
            even[None],
        )
        stats, _ = expect(self.data if data is None else data, to_components(blank))
        return self.m_step(FullStats(blank.weighting, *stats))

    def to_vector(self, params: FullParams) -> FloatArray:
        """Return coordinates for extrapolation: Cholesky factors, diagonals by their logarithms."""
        lower = np.linalg.cholesky(params.covariance)
        diagonal = np.einsum("symii->symi", lower)
        diagonal[...] = np.log(diagonal)
        rows, columns = np.tril_indices(len(self.target))
        factors = lower[..., rows, columns]
        parts = (params.log_weight, params.mean, factors, params.log_prob, params.weighting)
        return np.concatenate([part.reshape(len(lower), -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> FullParams:
        """Parameters at some coordinates."""
        n_classes, n_levels = self.data.known_counts.shape[1:]
        n, leading = len(self.target), (n_classes, self.n_components)
        triangle = np.tril_indices(n)
        shapes = (leading, (*leading, n), (*leading, len(triangle[0])), (n_classes, n_levels))
        edges = np.cumsum([int(np.prod(shape)) for shape in shapes])
        *parts, weighting = np.split(vector, edges, axis=1)
        log_weight, mean, factors, log_prob = (
            part.reshape(len(vector), *shape) for part, shape in zip(parts, shapes, strict=True)
        )
        log_weight -= log_sum_exp(log_weight.reshape(len(vector), -1))[:, None, None]
        lower = np.zeros((len(vector), *leading, n, n))
        lower[..., triangle[0], triangle[1]] = np.clip(factors, -PARAMETER_LIMIT, PARAMETER_LIMIT)
        diagonal = np.einsum("symii->symi", lower)
        diagonal[...] = np.exp(np.clip(diagonal, -np.log(PARAMETER_LIMIT), np.log(PARAMETER_LIMIT)))
        flat = np.exp(log_prob).reshape(len(vector) * n_classes, n_levels)
        return FullParams(
            weighting[:, 0].astype(np.intp),
            log_weight,
            np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            raise_floor(lower @ np.swapaxes(lower, -2, -1)),
            product.log_probabilities(flat, self.data.offsets).reshape(log_prob.shape),
        )


def to_components(params: FullParams) -> ClassComponents:
    """Return the parameters as class components."""
    weighting, log_weight, mean, covariance, log_prob = params
    if _above_floor(covariance):
        gaussians = gaussian.from_covariance(mean, covariance)
    else:
        # in directions at the floor, rounding in a plain inverse would separate the classes
        values, vectors = _eigen(covariance)
        precision = (vectors / values[..., None, :]) @ np.swapaxes(vectors, -2, -1)
        gaussians = gaussian.Gaussians(mean, covariance, precision, np.log(values).sum(axis=-1))
    return ClassComponents(weighting, log_weight, gaussians, log_prob)


def centre_moments(stats: ComponentStats, empty: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means (S, Y, M, n), `empty` (M, n) if without rows, and scatters (S, Y, M, n, n)."""
    weight = stats.weight[..., None]
    full = weight > LEAST_WEIGHT
    mean = np.where(full, stats.total / np.where(full, weight, 1.0), empty)
    scatter = stats.square - weight[..., None] * mean[..., :, None] * mean[..., None, :]
    return mean, np.where(full[..., None], scatter, 0.0)


def raise_floor(covariance: FloatArray) -> FloatArray:
    """Raise the eigenvalues of covariances to at least VARIANCE_FLOOR.

    Of all matrices with such eigenvalues, the result has the highest likelihood.
    """
    if _above_floor(covariance):
        return covariance
    values, vectors = _eigen(covariance)
    return np.asarray((vectors * values[..., None, :]) @ np.swapaxes(vectors, -2, -1))


def _above_floor(covariance: FloatArray) -> bool:
    """Whether all eigenvalues of all matrices are above the floor, as is usual."""
    try:
        np.linalg.cholesky(
            covariance - (1.0 + NEAR) * VARIANCE_FLOOR * np.eye(covariance.shape[-1])
        )
    except np.linalg.LinAlgError:
        return False
    return True


def _eigen(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, raised to the floor where they are below or near it, and eigenvectors."""
    values, vectors = np.linalg.eigh(covariance)
    return np.where(values > (1.0 + NEAR) * VARIANCE_FLOOR, values, VARIANCE_FLOOR), vectors


def is_singular(covariance: FloatArray) -> bool:
    """Whether an eigenvalue of any of the matrices is on the floor."""
    return not _above_floor(covariance)


def pool_classes(data: ComponentData, *, one_component: bool) -> ComponentData:
    """Return the same rows without labels and discrete columns, as rows of a single class.

    With `one_component` complete rows are summed, since nothing about them is unknown.
    """
    known = gaussian.Moments(*(array.sum(axis=1, keepdims=True) for array in data.known))
    groups = []
    for group in data.groups:
        if one_component and group.patterns is None:
            one_class = np.zeros(len(group.rows), dtype=np.intp)
            known = gaussian.add_moments(known, sum_classes(group.rows, one_class, group.weight, 1))
        else:
            groups.append(group._replace(label=0, codes=group.codes[:, :0]))
    return replace(
        data,
        groups=groups,
        known=known,
        known_counts=np.zeros((len(known.weight), 1, 0)),
        labelled=data.total_weight[:, None],
        offsets=np.zeros(1, dtype=np.intp),
    )


def labelled_rows(data: ComponentData) -> ComponentData:
    """Return the data without unlabelled rows; `total_weight` remains that of all rows."""
    return replace(data, groups=[group for group in data.groups if group.label != UNLABELLED])


# ------------------------------------------------------------------ random starts


def cluster_starts(
    mean: FloatArray,
    covariance: FloatArray,
    ranks: IndexArray,
    n_components: int,
    rngs: list[np.random.Generator],
) -> FullParams:
    """Return components of equal shares with the overall covariance, and centres drawn from it.

    Random numbers are assigned to columns by their `ranks` (see `_class_components.column_ranks`),
    and do not depend on single rows.
    """
    n = len(mean)
    spread = square_root(covariance)
    noise = np.stack([rng.standard_normal((n_components, n))[:, ranks] for rng in rngs])
    shape = (len(rngs), 1, n_components)
    return FullParams(
        np.zeros(len(rngs), dtype=np.intp),
        np.full(shape, -np.log(n_components)),
        (mean + noise @ spread)[:, None],
        np.tile(covariance, (*shape, 1, 1)),
        np.zeros((len(rngs), 1, 0)),
    )


def count_full(n_components: int, n: int) -> int:
    """Return the number of free parameters of a mixture of full Gaussians."""
    return n_components * (1 + n + n * (n + 1) // 2) - 1


# ------------------------------------------------------------------ factor analysis


def most_factors(n: int) -> int:
    """Return the largest number of factors that n columns determine (Ledermann's bound)."""
    return max([q for q in range(1, n) if (n - q) ** 2 >= n + q], default=1)


def count_factors(n_factors: int, n: int) -> int:
    """Return the number of free parameters: loadings up to rotation, noise and means."""
    return n * n_factors + 2 * n - n_factors * (n_factors - 1) // 2


def factor_start(mean: FloatArray, covariance: FloatArray, n_factors: int) -> LCMParams:
    """Return factors along the leading axes of the overall Gaussian, and the rest as noise."""
    n = len(mean)
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    rest = values[n_factors:].mean() if n_factors < n else 0.5 * values[-1]
    loadings = vectors[:, :n_factors] * np.sqrt(np.maximum(values[:n_factors] - rest, 0.01))
    own = np.diagonal(covariance)
    noise = np.maximum(own - (loadings**2).sum(axis=1), 0.05 * own)
    return LCMParams(
        np.zeros(1, dtype=np.intp),
        np.ones((1, n, n_factors), dtype=bool),
        np.zeros((1, 1, 1)),
        loadings[None, None],
        mean[None, None],
        noise[None, None],
        np.zeros((1, 1, n_factors)),
        np.ones((1, 1, n_factors)),
        np.zeros((1, 1, 0)),
    )


# ------------------------------------------------------------------ axes


class Projection(NamedTuple):
    """Axes of M components: coordinates u = matrix (x - mean).

    log_weight (M,) of the components; mean (M, n); matrix (M, n, n) and its inverse; n_axes: how
    many of the first coordinates differ between classes. In the component, u is N(0, I).
    """

    log_weight: FloatArray
    mean: FloatArray
    matrix: FloatArray
    inverse: FloatArray
    n_axes: int


def principal_axes(
    log_weight: FloatArray, mean: FloatArray, covariance: FloatArray, *, leading: bool = False
) -> Projection:
    """Return the principal axes of each component, by descending eigenvalue.

    With `leading` only axes whose eigenvalue is at least the mean of all may differ between classes
    (Kaiser's rule).
    """
    values, vectors = _eigen(covariance)
    values, vectors = values[:, ::-1], vectors[:, :, ::-1]
    scale = np.sqrt(values)[:, None]
    n_axes = values.shape[1]
    if leading and n_axes:
        n_axes = int(np.sum(values[0] >= (1.0 - ROUNDING) * values[0].mean()))
    matrix = np.swapaxes(vectors / scale, 1, 2)
    return Projection(log_weight, mean, matrix, vectors * scale, n_axes)


def factor_axes(params: LCMParams) -> Projection:
    """Return the canonical factors of a factor analysis, then the rest of the space.

    The first coordinates are E[z | x], each scaled to variance 1, and rotated so that
    L' theta^-1 L is diagonal and descending; this also makes them uncorrelated. With the square
    root R of the model's covariance, x - mean = R U' u, where U is orthogonal and its first rows
    belong to the factors.
    """
    latent_mean, latent_variance = params.latent_mean[0, 0], params.latent_variance[0, 0]
    raw, noise = params.loadings[0, 0], params.noise[0, 0]
    loadings = raw * np.sqrt(latent_variance)
    mean = params.offsets[0, 0] + raw @ latent_mean
    precision, rotation = np.linalg.eigh((loadings.T / noise) @ loadings)
    # a factor without loadings has no direction
    shown = np.flatnonzero(precision > ROUNDING)[::-1]
    values, vectors = np.linalg.eigh(loadings @ loadings.T + np.diag(noise))
    spread = (vectors * np.sqrt(values)) @ vectors.T
    inverse_spread = (vectors / np.sqrt(values)) @ vectors.T
    # E[z | x] is proportional to L' theta^-1 (x - mean) along each canonical factor
    factors = spread @ (loadings @ rotation[:, shown] / noise[:, None])
    factors /= np.linalg.norm(factors, axis=0)
    complete, triangle = np.linalg.qr(factors, mode="complete")
    complete[:, : len(shown)] *= np.sign(np.diagonal(triangle))
    matrix, inverse = complete.T @ inverse_spread, spread @ complete
    return Projection(np.zeros(1), mean[None], matrix[None], inverse[None], len(shown))


def project(
    data: ComponentData, projection: Projection, *, strength: float, alpha: float
) -> ClassComponents:
    """Fit naive Bayes along the axes, from the labelled rows of `data`.

    Missing cells, and the components to which rows belong, are inferred by the Gaussians of the
    components, which do not know the class. The variance v of a coordinate is (scatter + strength)
    / (weight + strength): pseudo-rows have the variance of the component.
    """
    n_classes, n_levels = data.known_counts.shape[1:]
    n_components, n = projection.mean.shape
    alike = _make_components(
        np.broadcast_to(projection.log_weight, (n_classes, n_components)),
        projection,
        np.zeros((n_classes, n_components, n)),
        np.ones((n_classes, n_components, n)),
        np.zeros((n_classes, n_levels)),
    )
    stats, _ = expect(labelled_rows(data), alike)
    means, scatters = centre_moments(stats, projection.mean)
    weight = stats.weight[0]
    matrix = projection.matrix
    centre = np.einsum("mkn,ymn->ymk", matrix, means[0] - projection.mean)
    scatter = ((matrix @ scatters[0]) * matrix).sum(axis=-1)
    drawn = (weight + strength)[..., None]
    variance = (scatter + strength) / np.maximum(drawn, LEAST_WEIGHT)
    variance = np.where(drawn > LEAST_WEIGHT, variance, 1.0)
    # the floor is the same for all classes: a direction without spread carries no information
    variance = np.maximum(variance, VARIANCE_FLOOR * (matrix**2).sum(axis=-1))
    centre[..., projection.n_axes :] = 0.0
    variance[..., projection.n_axes :] = 1.0

    with np.errstate(divide="ignore"):
        log_weight = np.log(weight / weight.sum())
    log_prob = product.log_probabilities(stats.counts[0] + alpha, data.offsets)
    return _make_components(log_weight, projection, centre, variance, log_prob)


def _make_components(
    log_weight: FloatArray,
    projection: Projection,
    centre: FloatArray,
    variance: FloatArray,
    log_prob: FloatArray,
) -> ClassComponents:
    """Make Gaussians whose coordinates have mean `centre` and `variance`, both (Y, M, n)."""
    matrix, inverse = projection.matrix, projection.inverse
    mean = projection.mean + np.einsum("mnk,ymk->ymn", inverse, centre)
    covariance = (inverse * variance[:, :, None]) @ np.swapaxes(inverse, -2, -1)
    precision = (np.swapaxes(matrix, -2, -1) / variance[:, :, None]) @ matrix
    log_det = np.log(variance).sum(axis=-1) + 2.0 * np.linalg.slogdet(inverse)[1]
    gaussians = gaussian.Gaussians(mean, covariance, precision, log_det)
    arrays = (array[None] for array in gaussians)
    return ClassComponents(
        np.zeros(1, dtype=np.intp), log_weight[None], gaussian.Gaussians(*arrays), log_prob[None]
    )
