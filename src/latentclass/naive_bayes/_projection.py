"""Naive Bayes along axes: full Gaussians by EM, and classes that are independent along their axes.

A first stage describes all rows, labels ignored, by one full Gaussian, a mixture of them
(`FullProblem`), or factor analysis (`_lcm.LCMProblem` with one class). Its axes are an invertible
matrix A for each component, scaled so that the coordinates u = A (x - mean) are uncorrelated with
variance 1 there. A second stage (`project`) gives each class its own mean and variance of the
first coordinates in closed form; along the others all classes are alike. So each class is Gaussian
in each component, with covariance A^-1 diag(v) A^-T, and the result is `ClassComponents`.

S counts starts, Y classes, M components, n columns, standardised; L levels of discrete columns.
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
    ComponentStats,
    expect,
    square_root,
)
from latentclass.engine._logspace import log_sum_exp
from latentclass.lcm._em import PARAMETER_LIMIT, LCMParams

VARIANCE_FLOOR = 1e-6
"""Least variance in any direction, in standardised columns."""

LEAST_WEIGHT = 1e-200
"""A cell with less weight has no rows: smaller numbers have too few digits to divide by."""

NEAR = 1e-4
"""Relative distance from the floor that is only rounding."""

ROUNDING = 1e-9
"""Relative difference of other eigenvalues that counts as none."""


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
        Pseudo-rows with covariance `target` that each cell has seen; 0 is maximum likelihood.
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
        """Expected moments of the cells, and the objective per row."""
        cells = to_cells(params)
        stats, log_likelihood = expect(self.data, cells)
        objective = log_likelihood + self.log_prior(cells)
        total = self.data.total_weight[params.weighting]
        return FullStats(params.weighting, *stats), objective / total

    def m_step(self, stats: FullStats) -> FullParams:
        """Parameters of highest expected penalised likelihood."""
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

    def log_prior(self, cells: ClassComponents) -> FloatArray:
        """log density of the prior up to a constant, shape (S,)."""
        out = np.zeros(len(cells.log_weight))
        if self.strength > 0:
            # rows with covariance `target`: log N(x; mean, covariance) without its constant
            spread = np.einsum("symij,ij->sym", cells.gaussians.precision, self.target)
            out -= 0.5 * self.strength * (cells.gaussians.log_det + spread).sum(axis=(1, 2))
        if self.alpha > 0:
            out += self.alpha * cells.log_prob.sum(axis=(1, 2))
        return out

    def start(self, data: ComponentData | None = None) -> FullParams:
        """One start: the M-step with holes filled in, and components left alike, by N(0, target).

        `data` may be a part of the rows: the labelled ones, say.
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
        stats, _ = expect(self.data if data is None else data, to_cells(blank))
        return self.m_step(FullStats(blank.weighting, *stats))

    def to_vector(self, params: FullParams) -> FloatArray:
        """Coordinates for extrapolation: the Cholesky factors with logarithms on the diagonal."""
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
        n, cells = len(self.target), (n_classes, self.n_components)
        triangle = np.tril_indices(n)
        shapes = (cells, (*cells, n), (*cells, len(triangle[0])), (n_classes, n_levels))
        edges = np.cumsum([int(np.prod(shape)) for shape in shapes])
        *parts, weighting = np.split(vector, edges, axis=1)
        log_weight, mean, factors, log_prob = (
            part.reshape(len(vector), *shape) for part, shape in zip(parts, shapes, strict=True)
        )
        log_weight -= log_sum_exp(log_weight.reshape(len(vector), -1))[:, None, None]
        lower = np.zeros((len(vector), *cells, n, n))
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


def to_cells(params: FullParams) -> ClassComponents:
    """The parameters as Gaussians of cells."""
    weighting, log_weight, mean, covariance, log_prob = params
    if _above_floor(covariance):
        gaussians = gaussian.from_covariance(mean, covariance)
    else:
        # along the floor a plain inverse would tell classes apart by its rounding
        values, vectors = _eigen(covariance)
        precision = (vectors / values[..., None, :]) @ np.swapaxes(vectors, -2, -1)
        gaussians = gaussian.Gaussians(mean, covariance, precision, np.log(values).sum(axis=-1))
    return ClassComponents(weighting, log_weight, gaussians, log_prob)


def centre_moments(stats: ComponentStats, empty: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean (S, Y, M, n) and scatter about it (S, Y, M, n, n); `empty` (M, n): without rows."""
    weight = stats.weight[..., None]
    full = weight > LEAST_WEIGHT
    mean = np.where(full, stats.total / np.where(full, weight, 1.0), empty)
    scatter = stats.square - weight[..., None] * mean[..., :, None] * mean[..., None, :]
    return mean, np.where(full[..., None], scatter, 0.0)


def raise_floor(covariance: FloatArray) -> FloatArray:
    """Covariances with eigenvalues of at least VARIANCE_FLOOR.

    Of the matrices with such eigenvalues this is the one of highest likelihood.
    """
    if _above_floor(covariance):
        return covariance
    values, vectors = _eigen(covariance)
    return np.asarray((vectors * values[..., None, :]) @ np.swapaxes(vectors, -2, -1))


def _above_floor(covariance: FloatArray) -> bool:
    """Whether all eigenvalues of all matrices are above the floor; mostly they are."""
    try:
        np.linalg.cholesky(
            covariance - (1.0 + NEAR) * VARIANCE_FLOOR * np.eye(covariance.shape[-1])
        )
    except np.linalg.LinAlgError:
        return False
    return True


def _eigen(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, those below or next to the floor on it, and eigenvectors."""
    values, vectors = np.linalg.eigh(covariance)
    return np.where(values > (1.0 + NEAR) * VARIANCE_FLOOR, values, VARIANCE_FLOOR), vectors


def is_singular(covariance: FloatArray) -> bool:
    """Whether an eigenvalue of any of the matrices is on the floor."""
    return not _above_floor(covariance)


def pool_classes(data: ComponentData, *, one_component: bool) -> ComponentData:
    """The same rows without labels and discrete columns, as those of a single class.

    With `one_component` complete rows are summed up, since nothing about them is hidden.
    """
    known = data.known.sum(axis=1, keepdims=True)
    groups = []
    for group in data.groups:
        if one_component and group.patterns is None:
            table = gaussian.features(group.rows) if group.table is None else group.table
            known[:, 0] += group.weight @ table.T
        else:
            groups.append(group._replace(label=0, codes=group.codes[:, :0]))
    return replace(
        data,
        groups=groups,
        known=known,
        known_counts=np.zeros((len(known), 1, 0)),
        labelled=data.total_weight[:, None],
        offsets=np.zeros(1, dtype=np.intp),
    )


def labelled_rows(data: ComponentData) -> ComponentData:
    """The data without the rows of unknown class; `total_weight` stays that of all."""
    return replace(data, groups=[group for group in data.groups if group.label != UNLABELLED])


# ------------------------------------------------------------------ random starts


def cluster_starts(
    mean: FloatArray,
    covariance: FloatArray,
    ranks: IndexArray,
    n_components: int,
    rngs: list[np.random.Generator],
) -> FullParams:
    """Components of even shares, all as wide as the overall Gaussian, with centres drawn from it.

    Chance knows no row, and deals to columns by their `ranks` (see `_cells.column_ranks`).
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
    """Free parameters of a mixture of full Gaussians."""
    return n_components * (1 + n + n * (n + 1) // 2) - 1


# ------------------------------------------------------------------ factor analysis


def most_factors(n: int) -> int:
    """Most factors whose loadings n columns determine (Ledermann's bound), 1 at least."""
    return max([q for q in range(1, n) if (n - q) ** 2 >= n + q], default=1)


def count_factors(n_factors: int, n: int) -> int:
    """Free parameters of factor analysis: loadings up to rotation, noise and means."""
    return n * n_factors + 2 * n - n_factors * (n_factors - 1) // 2


def factor_start(mean: FloatArray, covariance: FloatArray, n_factors: int) -> LCMParams:
    """Factors along the leading axes of the overall Gaussian, the rest of each column as noise."""
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
    many of the first coordinates tell the classes apart. Under the component, u is N(0, 1).
    """

    log_weight: FloatArray
    mean: FloatArray
    matrix: FloatArray
    inverse: FloatArray
    n_axes: int


def principal_axes(
    log_weight: FloatArray, mean: FloatArray, covariance: FloatArray, *, leading: bool = False
) -> Projection:
    """Principal axes of each component, by descending eigenvalue.

    With `leading` only axes whose eigenvalue is at least the mean of them all tell the classes
    apart (Kaiser's rule).
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
    """Canonical factors of a factor analysis, then the rest of the space.

    The first coordinates are E[z | x], each scaled to variance 1; rotated so that L' theta^-1 L is
    diagonal and descending, which also leaves them uncorrelated. With the root R of the model's
    covariance, x - mean = R U' u for an orthogonal U whose first rows are the factors'.
    """
    latent_mean, latent_variance = params.latent_mean[0, 0], params.latent_variance[0, 0]
    raw, noise = params.loadings[0, 0], params.noise[0, 0]
    loadings = raw * np.sqrt(latent_variance)
    mean = params.offsets[0, 0] + raw @ latent_mean
    precision, rotation = np.linalg.eigh((loadings.T / noise) @ loadings)
    # a factor that no column shows has no direction
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
    """Naive Bayes along the axes, from the labelled rows of `data`.

    Holes, and the components that rows belong to, are shared out by the components' own Gaussians,
    which do not know the class. A variance v of a coordinate is (scatter + strength) /
    (weight + strength): pseudo-rows that spread as the component does.
    """
    n_classes, n_levels = data.known_counts.shape[1:]
    n_components, n = projection.mean.shape
    alike = _make_cells(
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
    # the floor is the same for all classes: a direction without spread tells nothing
    variance = np.maximum(variance, VARIANCE_FLOOR * (matrix**2).sum(axis=-1))
    centre[..., projection.n_axes :] = 0.0
    variance[..., projection.n_axes :] = 1.0

    with np.errstate(divide="ignore"):
        log_weight = np.log(weight / weight.sum())
    log_prob = product.log_probabilities(stats.counts[0] + alpha, data.offsets)
    return _make_cells(log_weight, projection, centre, variance, log_prob)


def _make_cells(
    log_weight: FloatArray,
    projection: Projection,
    centre: FloatArray,
    variance: FloatArray,
    log_prob: FloatArray,
) -> ClassComponents:
    """Gaussians with mean `centre` and `variance` (Y, M, n) of the coordinates."""
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
