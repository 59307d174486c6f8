"""EM over all rows for naive Bayes some of whose columns are mixtures of Gaussians.

Once the number of components of each column is chosen, the classes share the rows without a label,
and one EM moves all parameters:

    p(x, y) = P(y) prod_j sum_m w_yjm N(x_j; mean_yjm, scale_yjm^2),

the NB/M of Langseth and Nielsen (2005, section 5). A *mixed* column has several components in some
class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise, split_log
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import (
    MixtureParams,
    MixtureProblem,
    MixtureStats,
    flat_params,
)
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._column_choice import column_values
from latentclass.naive_bayes._column_mixture import (
    ColumnComponents,
    ColumnValues,
    Moments,
    Spread,
    bounded_components,
    column_shares,
    estimate_parts,
    expect_values,
    log_spread_prior,
    merge_moments,
    mixed_columns,
    moments_about,
    pair_weight,
    used_parts,
)


class ColumnMixtureParams(NamedTuple):
    """`MixtureParams` of the other columns, then parts of the mixed ones, shape (1, K, p, k)."""

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray
    part_log_weight: FloatArray
    part_mean: FloatArray
    part_scale: FloatArray


class ColumnMixtureStats(NamedTuple):
    """`MixtureStats` of the other columns, then those of the parts, shape (1, K, p, k)."""

    row_weight: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray
    part_weight: FloatArray
    part_mean: FloatArray
    part_scatter: FloatArray


@dataclass(frozen=True)
class ColumnMixtureProblem:
    """EM for naive Bayes with mixed columns; one start.

    Attributes
    ----------
    plain : MixtureProblem
        The problem of the other columns: those that are Gaussian in every class, and discrete ones.
    mixed : list of arrays of shape (n_rows, p)
        The mixed columns of the rows in `plain.blocks`.
    labelled : list of (ColumnValues, pairs)
        Values of the mixed columns in labelled rows; pairs are class * p + column.
    used : array of shape (K, p, k)
        Which components exist.
    spread : Spread
        Prior on the variances, `variance` of shape (p, 1).
    unit : array of shape (p,)
        Units of the mixed columns.
    """

    plain: MixtureProblem
    mixed: list[FloatArray]
    labelled: list[tuple[ColumnValues, IndexArray]]
    used: BoolArray
    spread: Spread
    unit: FloatArray

    def e_step(self, params: ColumnMixtureParams) -> tuple[ColumnMixtureStats, FloatArray]:
        """Return the expected statistics and the penalised log-likelihood per row."""
        plain = MixtureParams(*params[:4])
        parts = ColumnComponents(*(array[0] for array in params[4:]))
        known, explained = self.plain.known_part(plain)
        total = float(explained[0] + self.plain.log_prior(plain)[0]) + self.log_prior(parts)
        row_weight = self.plain.known_rows.copy()
        stats = product.empty_stats(len(row_weight), self.plain.layout)
        sums = np.zeros((3, *self.used.shape))
        items = list(zip(self.plain.blocks, self.mixed, strict=True))
        results = map_blocks(
            lambda item: self._expect_block(plain, parts, *item), items, self.plain.n_jobs
        )
        for log_likelihood, rows, part, part_sums in results:
            total += log_likelihood
            row_weight += rows
            stats = product.merge_stats(stats, part)
            sums += part_sums
        labelled_likelihood, labelled = self._expect_labelled(parts)
        gathered = (
            row_weight,
            *product.merge_stats(stats, known),
            *merge_moments(moments_about(sums[0], sums[1], sums[2], parts), labelled),
        )
        objective = np.array([(total + labelled_likelihood) / self.plain.total_weight])
        return ColumnMixtureStats(*(array[None] for array in gathered)), objective

    def _expect_block(
        self,
        plain: MixtureParams,
        parts: ColumnComponents,
        block: tuple[product.ProductRows, FloatArray],
        numeric: FloatArray,
    ) -> tuple[float, FloatArray, product.Stats, FloatArray]:
        """What a block of unlabelled rows adds: log-likelihood, weight of the classes, statistics.

        The last are sums of powers 0, 1 and 2 of (x - mean) / scale, for each class, mixed column
        and component.
        """
        (rows, weight), layout = block, self.plain.layout
        columns = [
            column_shares(parts, numeric[:, j], j, self.unit) for j in range(numeric.shape[1])
        ]
        log_joint = product.log_density(flat_params(plain), rows, layout) + plain.log_weight[0]
        for _, _, log_density in columns:
            log_joint += log_density.T
        log_share, log_total = split_log(log_joint)
        responsibility = np.exp(log_share) * weight[:, None]
        sums = np.empty((3, *self.used.shape))
        for j, (distance, share, _) in enumerate(columns):
            share *= np.where(np.isnan(numeric[:, j]), 0.0, responsibility.T)
            for power in range(3):
                sums[power, :, j] = share.sum(axis=2).T
                share *= distance
        part = product.soft_stats(rows, responsibility, layout)
        return float(weight @ log_total), responsibility.sum(axis=0), part, sums

    def log_prior(self, parts: ColumnComponents) -> float:
        """Log density of the prior on the variances of the mixtures, up to a constant."""
        return float(log_spread_prior(parts, self.spread, self.used).sum())

    def _expect_labelled(self, parts: ColumnComponents) -> tuple[float, Moments]:
        """Log-likelihood and statistics of the values of the mixed columns in labelled rows."""

        def visit(item: tuple[ColumnValues, IndexArray]) -> tuple[FloatArray, Moments]:
            samples, pairs = item
            flat = (array.reshape(-1, array.shape[-1])[pairs] for array in parts)
            return expect_values(samples, ColumnComponents(*flat))

        total = -float(self._labelled_weight @ np.log(self.unit))
        labelled = Moments(*(np.zeros(self.used.shape) for _ in range(3)))
        results = map_blocks(visit, self.labelled, self.plain.n_jobs)
        for (_, pairs), (log_likelihood, moments) in zip(self.labelled, results, strict=True):
            total += float(log_likelihood.sum())
            for array, values in zip(labelled, moments, strict=True):
                array.reshape(-1, array.shape[-1])[pairs] = values
        return total, labelled

    @property
    def _labelled_weight(self) -> FloatArray:
        """Weight of the labelled rows with a value in each mixed column."""
        out = np.zeros(self.used.shape[:2])
        for samples, pairs in self.labelled:
            out.reshape(-1)[pairs] = pair_weight(samples)
        return np.asarray(out.sum(axis=0))

    def m_step(self, stats: ColumnMixtureStats) -> ColumnMixtureParams:
        """Return the parameters with the highest penalised likelihood."""
        plain = self.plain.m_step(MixtureStats(*stats[:5]))
        parts = estimate_parts(Moments(*stats[5:]), self.spread)
        return ColumnMixtureParams(*plain, *self._masked(parts))

    def _masked(self, parts: ColumnComponents) -> ColumnComponents:
        return ColumnComponents(
            log_normalise(np.where(self.used, parts.log_weight, -np.inf)),
            np.where(self.used, parts.mean, 0.0),
            np.where(self.used, parts.scale, 1.0),
        )

    def to_vector(self, params: ColumnMixtureParams) -> FloatArray:
        """Return the coordinates of the other columns, then those of the components in use."""
        columns = (params.part_log_weight, params.part_mean, np.log(params.part_scale))
        plain = self.plain.to_vector(MixtureParams(*params[:4]))
        return np.concatenate([plain, *(array[:, self.used] for array in columns)], axis=1)

    def from_vector(self, vector: FloatArray) -> ColumnMixtureParams:
        """Invert `to_vector`; probabilities are normalised."""
        n_used = int(self.used.sum())
        n_plain = vector.shape[1] - 3 * n_used
        columns = []
        for part in np.split(vector[:, n_plain:], 3, axis=1):
            array = np.full((len(vector), *self.used.shape), -np.inf)
            array[:, self.used] = part
            columns.append(array)
        parts = bounded_components(*columns)
        plain = self.plain.from_vector(vector[:, :n_plain])
        return ColumnMixtureParams(*plain, *self._masked(parts))


def column_mixture_problem(
    labelled: Training, problem: MixtureProblem, numbers: IndexArray
) -> ColumnMixtureProblem:
    """EM over all rows, once the number of components of each column is known."""
    mixed = mixed_columns(numbers)
    samples = []
    for place, j in enumerate(mixed):
        values, pairs = column_values(labelled, problem.layout, slice(j, j + 1))
        samples.append((values, pairs * len(mixed) + place))
    return ColumnMixtureProblem(
        _without_columns(problem, mixed),
        [rows.numeric[:, mixed] for rows, _ in problem.blocks],
        samples,
        used_parts(numbers),
        Spread(problem.prior.strength, problem.prior.variance[mixed, None]),
        problem.layout.unit[mixed],
    )


def _without_columns(problem: MixtureProblem, mixed: IndexArray) -> MixtureProblem:
    """The problem of the other columns."""
    prior, known, layout = problem.prior, problem.known, problem.layout
    keep = np.setdiff1d(np.arange(len(prior.mean)), mixed)
    blocks = [
        (product.ProductRows(np.ascontiguousarray(rows.numeric[:, keep]), rows.codes), weight)
        for rows, weight in problem.blocks
    ]
    return replace(
        problem,
        blocks=blocks,
        known=known._replace(
            weight=known.weight[:, keep],
            mean=known.mean[:, keep],
            scatter=known.scatter[:, keep],
        ),
        prior=prior._replace(mean=prior.mean[keep], variance=prior.variance[keep]),
        layout=layout._replace(centre=layout.centre[keep], unit=layout.unit[keep]),
    )


def matched_params(
    plain: product.Params, parts: ColumnComponents, mixed: IndexArray
) -> product.Params:
    """Single Gaussians with the mean and variance of each column's mixture.

    `plain` are the parameters of the columns that are not mixed.
    """
    share = np.exp(parts.log_weight)
    centre = (share * parts.mean).sum(axis=2)
    about = parts.mean - centre[:, :, None]
    variance = (share * (parts.scale**2 + about**2)).sum(axis=2)
    n_columns = plain.mean.shape[1] + len(mixed)
    rest = np.setdiff1d(np.arange(n_columns), mixed)
    mean, scale = (np.empty((len(plain.mean), n_columns)) for _ in range(2))
    mean[:, rest], mean[:, mixed] = plain.mean, centre
    scale[:, rest], scale[:, mixed] = plain.scale, np.sqrt(variance)
    return product.Params(mean, scale, plain.log_prob)
