"""Discriminative training of latent classification models on numbers: the slopes.

The objective, over the labelled rows, is

    sum log P(y | x) + share * sum log p(x, y) + log prior.

log P(y | x) is log p(x, y) - log p(x), and the slope of either logarithm is that of the expected
complete log-likelihood (Fisher's identity). So the slopes follow from two E-steps of EM: one of the
rows with their labels, and one of the same rows without. The cost of a step is that of an iteration
of EM on unlabelled rows. The discrete columns, which depend on the class only, are trained too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise
from latentclass.lcm._ascent import even_slopes
from latentclass.lcm._em import (
    LATENT_FLOOR,
    LOWEST_LOG_SHARE,
    NOISE_FLOOR,
    LCMParams,
    LCMProblem,
    LCMStats,
    residual_squares,
)


class LCMSlopes(NamedTuple):
    """Coordinates of parameters, or slopes: variances and shares by their logarithms."""

    log_weight: FloatArray
    loadings: FloatArray
    offsets: FloatArray
    log_noise: FloatArray
    latent_mean: FloatArray
    log_variance: FloatArray
    log_prob: FloatArray


@dataclass(frozen=True)
class LCMConditional:
    """See `_ascent.Conditional`; nothing is kept with the rows.

    Attributes
    ----------
    labelled : LCMProblem
        Labelled rows.
    blind : LCMProblem
        The same rows without their labels.
    share : float
        Weight of the joint likelihood relative to the conditional one.
    """

    labelled: LCMProblem
    blind: LCMProblem
    share: float

    def begin(self, params: LCMParams) -> None:
        """Nothing."""

    def gradient(self, params: LCMParams, kept: None = None) -> tuple[LCMSlopes, FloatArray, None]:
        """Return the slopes per row, the objective per row (S,), and nothing."""
        own, joint = self.labelled.expect(params)
        every, evidence = self.blind.expect(params)
        sums = (
            (1.0 + self.share) * mine - all_classes
            for mine, all_classes in zip(own[2:], every[2:], strict=True)
        )
        weight = self.labelled.data.total_weight[params.weighting]
        objective = (1.0 + self.share) * joint - evidence + self.labelled.log_prior(params)
        slopes = self._slopes(params, LCMStats(own.weighting, own.edges, *sums))
        return even_slopes(slopes, weight), objective / weight, kept

    def _slopes(self, params: LCMParams, stats: LCMStats) -> LCMSlopes:
        prior = self.labelled.prior
        coefficient = np.concatenate([params.loadings, params.offsets[..., None]], axis=-1)
        slope = stats.cross - coefficient @ stats.gram
        slope[..., :-1] -= prior.loading * params.loadings
        slope /= params.noise[..., None]
        offsets = slope[..., -1] if self.labelled.offset else np.zeros(params.offsets.shape)

        rest, weight = residual_squares(stats, coefficient, prior)
        if self.labelled.tied:
            rest, weight = rest.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        level = prior.noise * (prior.noise_level / params.noise - 1.0)

        mean, variance = params.latent_mean, params.latent_variance
        by_class = stats.component_weight.sum(axis=2)[..., None]
        about = stats.latent_square - 2.0 * mean * stats.latent_total + by_class * mean**2
        drawn = prior.latent * (1.0 / variance - 1.0)
        weights = stats.component_weight + prior.component
        share = np.exp(params.log_weight)
        return LCMSlopes(
            weights - share * weights.sum(axis=(1, 2), keepdims=True),
            slope[..., :-1] * params.edges[:, None],
            offsets,
            0.5 * (rest / params.noise - weight + level),
            (stats.latent_total - by_class * mean) / variance,
            0.5 * (about / variance - by_class + drawn),
            self._level_slopes(params.log_prob, stats.counts + prior.alpha),
        )

    def _level_slopes(self, log_prob: FloatArray, counts: FloatArray) -> FloatArray:
        first, n_levels = self.labelled.data.offsets[:-1], np.diff(self.labelled.data.offsets)
        used = n_levels > 0
        if not used.any():
            return counts
        total = np.add.reduceat(counts, first[used], axis=2)
        return np.asarray(counts - np.exp(log_prob) * np.repeat(total, n_levels[used], axis=2))

    def to_place(self, params: LCMParams) -> LCMSlopes:
        """See `_ascent.Conditional`."""
        return LCMSlopes(
            # a component with no share keeps practically none
            np.maximum(params.log_weight, LOWEST_LOG_SHARE),
            params.loadings,
            params.offsets,
            np.log(params.noise),
            params.latent_mean,
            np.log(params.latent_variance),
            np.maximum(params.log_prob, LOWEST_LOG_SHARE),
        )

    def from_place(self, place: LCMSlopes, params: LCMParams) -> LCMParams:
        """See `_ascent.Conditional`."""
        log_weight, levels = place.log_weight, place.log_prob.shape
        flat = np.exp(place.log_prob).reshape(levels[0] * levels[1], levels[2])
        share = log_normalise(log_weight.reshape(len(log_weight), -1))
        return params._replace(
            log_weight=share.reshape(log_weight.shape),
            loadings=place.loadings,
            offsets=place.offsets,
            noise=np.maximum(np.exp(place.log_noise), NOISE_FLOOR),
            latent_mean=place.latent_mean,
            latent_variance=np.maximum(np.exp(place.log_variance), LATENT_FLOOR),
            log_prob=product.log_probabilities(flat, self.labelled.data.offsets).reshape(levels),
        )
