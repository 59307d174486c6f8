"""Mixtures of product components, some rows with their component known, as an EM problem.

With every component known for some rows this is naive Bayes with unlabelled rows; with none known
it is a latent class model. S counts starts, K components; the rest is as in `_product`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass.core import _product as product
from latentclass.core._blocks import map_blocks
from latentclass.core._logspace import log_normalise, split_log

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


DEAD_SHARE = 1e-3
"""A component with less than this part of an even share of the rows is dead."""


FAR = 1e3
"""Bound on extrapolated means and scales, in the engine's units."""


class MixtureParams(NamedTuple):
    """Parameters of S starts: log weight (S, K), then `product.Params` with S in front."""

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray


class MixtureStats(NamedTuple):
    """Statistics of S starts: row weight (S, K), then `product.Stats` with S in front."""

    row_weight: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class MixtureProblem:
    """EM for a mixture whose rows come in blocks.

    Attributes
    ----------
    blocks : list of (Rows, row weights)
        The rows whose component is not known.
    known_rows : array of shape (K,)
        Weight of the rows known to belong to each component.
    known : product.Stats
        Their statistics: they never change, so those rows are read once.
    prior : product.Prior
    layout : product.Layout
    n_jobs : int or None
        Threads over the blocks.
    """

    blocks: list[tuple[product.Rows, FloatArray]]
    known_rows: FloatArray
    known: product.Stats
    prior: product.Prior
    layout: product.Layout
    n_jobs: int | None = None

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.known_rows.sum() + sum(weight.sum() for _, weight in self.blocks))

    def e_step(self, params: MixtureParams) -> tuple[MixtureStats, FloatArray]:
        """Statistics and penalised log-likelihood per row (see `_em.Problem`)."""
        n_starts, n_components = params.log_weight.shape
        flat = _flat_params(params)
        log_likelihood = np.zeros(n_starts)
        rows_sum = np.zeros((n_starts, n_components))
        stats = product.empty_stats(n_starts * n_components, self.layout)

        def visit(
            item: tuple[product.Rows, FloatArray],
        ) -> tuple[FloatArray, FloatArray, product.Stats]:
            rows, weight = item
            log_joint = product.log_density(flat, rows, self.layout)
            log_joint = log_joint.reshape(-1, n_starts, n_components) + params.log_weight
            log_share, log_total = split_log(log_joint)
            responsibility = np.exp(log_share) * weight[:, None, None]
            part = product.soft_stats(rows, responsibility.reshape(len(weight), -1), self.layout)
            return weight @ log_total, responsibility.sum(axis=0), part

        for part_likelihood, part_rows, part in map_blocks(visit, self.blocks, self.n_jobs):
            log_likelihood += part_likelihood
            rows_sum += part_rows
            stats = product.merge_stats(stats, part)

        known = product.Stats(*(np.tile(array, (n_starts, 1)) for array in self.known))
        explained = product.expected_log_likelihood(flat, known, self.layout)
        penalty = product.log_prior(flat, self.prior)
        with np.errstate(invalid="ignore"):
            class_part = np.where(self.known_rows > 0, self.known_rows * params.log_weight, 0.0)
        total = (
            log_likelihood
            + class_part.sum(axis=1)
            + (explained + penalty).reshape(n_starts, n_components).sum(axis=1)
        )
        stats = product.merge_stats(stats, known)
        shaped = (array.reshape(n_starts, n_components, -1) for array in stats)
        return MixtureStats(rows_sum + self.known_rows, *shaped), total / self.total_weight

    def m_step(self, stats: MixtureStats) -> MixtureParams:
        """Parameters of highest penalised likelihood."""
        n_starts, n_components = stats.row_weight.shape
        flat = product.Stats(*(array.reshape(n_starts * n_components, -1) for array in stats[1:]))
        params = product.estimate(flat, self.prior, self.layout)
        with np.errstate(divide="ignore"):
            log_weight = np.log(stats.row_weight / self.total_weight)
        return MixtureParams(
            log_weight, *(array.reshape(n_starts, n_components, -1) for array in params)
        )

    def to_vector(self, params: MixtureParams) -> FloatArray:
        """Log weights, means, log scales and log probabilities, side by side."""
        n_starts = len(params.log_weight)
        parts = (params.log_weight, params.mean, np.log(params.scale), params.log_prob)
        return np.concatenate([part.reshape(n_starts, -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> MixtureParams:
        """Invert `to_vector`, probabilities made to sum to one."""
        n_starts, n_components = len(vector), len(self.known_rows)
        n_numeric, n_levels = len(self.layout.centre), int(self.layout.offsets[-1])
        widths = np.cumsum([1, n_numeric, n_numeric]) * n_components
        log_weight, mean, log_scale, log_prob = np.split(vector, widths, axis=1)
        log_prob = log_prob.reshape(n_starts, n_components, n_levels)
        for first, end in zip(self.layout.offsets[:-1], self.layout.offsets[1:], strict=True):
            if end > first:
                log_prob[..., first:end] = log_normalise(log_prob[..., first:end])
        # All values are within [-1, 1]: parameters far outside are an extrapolation gone wrong.
        scale = np.exp(np.clip(log_scale, np.log(product.SCALE_FLOOR), np.log(FAR)))
        return MixtureParams(
            log_normalise(log_weight),
            np.clip(mean, -FAR, FAR).reshape(n_starts, n_components, n_numeric),
            scale.reshape(n_starts, n_components, n_numeric),
            log_prob,
        )

    def dead(self, params: MixtureParams) -> BoolArray:
        """Components with next to no share of the rows, and no row that is known to be theirs."""
        small = np.exp(params.log_weight) < DEAD_SHARE / len(self.known_rows)
        return np.asarray(small & (self.known_rows == 0) & bool(self.blocks))

    def reseed(
        self, params: MixtureParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> MixtureParams:
        """Put each dead component on a row drawn at random, with an average share of the rows."""
        arrays = MixtureParams(*(array.copy() for array in params))
        for s, rng in enumerate(rngs):
            lost = np.flatnonzero(dead[s])
            seeds = self._draw_rows(len(lost), rng)
            fresh = seed_components(seeds, self.prior, self.layout, rng)
            for array, values in zip(arrays[1:], fresh, strict=True):
                array[s, lost] = values
            weight = np.exp(arrays.log_weight[s])
            weight[lost] = weight.sum() / len(weight)
            arrays.log_weight[s] = np.log(weight / weight.sum())
        return arrays

    def _draw_rows(self, n_rows: int, rng: np.random.Generator) -> product.Rows:
        weights = np.concatenate([weight for _, weight in self.blocks])
        chosen = rng.choice(len(weights), size=n_rows, p=weights / weights.sum())
        ends = np.cumsum([len(weight) for _, weight in self.blocks])
        block = np.searchsorted(ends, chosen, side="right")
        inside = chosen - np.concatenate([[0], ends])[block]
        picked = [(self.blocks[b][0], i) for b, i in zip(block, inside, strict=True)]
        return product.Rows(
            np.array([rows.numeric[i] for rows, i in picked]),
            np.array([rows.codes[i] for rows, i in picked]),
        )


def _flat_params(params: MixtureParams) -> product.Params:
    n_starts, n_components = params.log_weight.shape
    return product.Params(*(array.reshape(n_starts * n_components, -1) for array in params[1:]))


def seed_components(
    seeds: product.Rows, prior: product.Prior, layout: product.Layout, rng: np.random.Generator
) -> product.Params:
    """Components that break symmetry: each stands near one row, as wide as its columns.

    Chance moves each mean by half a standard deviation, and spreads one pseudo-row over each
    column's levels, so that equal or empty rows give different components too.
    """
    spread = np.sqrt(prior.variance)
    at = np.where(np.isnan(seeds.numeric), prior.mean, seeds.numeric)
    mean = at + 0.5 * spread * rng.standard_normal(at.shape)
    scale = np.tile(product.to_scale(prior.variance, prior), (len(mean), 1))
    counts = product.one_hot(seeds.codes, layout.offsets).toarray()
    pseudo = product.log_probabilities(rng.exponential(size=counts.shape), layout.offsets)
    counts += np.exp(pseudo)  # exponential variables, normalised: even on the simplex
    return product.Params(mean, scale, product.log_probabilities(counts, layout.offsets))
