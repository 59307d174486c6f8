"""Discriminative training: the conditional bound and its slopes, for the steps of `_ascent`.

The objective, over the labelled rows, is

    sum log P(y | x) + share * sum log p(x, y) + log prior,

with bounds in place of the probabilities. Langseth and Nielsen (2009, section 5.2) leave such
training to future research. The posteriors under the bound maximise it, so the gradient of a bound
is that of the expected complete log-likelihood. It is therefore a sum of E-step statistics, in
which each class component of a row is weighted by how much it should be raised or lowered.

Every class of a row has its own xi: a bound that is loose for the less probable classes would make
the labels look easier than they are. The xi follow the parameters, one update per step.

The number of steps is chosen on held-out rows (`_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.lcm._ascent import even_slopes
from latentclass.lcm._em import LATENT_FLOOR, LOWEST_LOG_SHARE, NOISE_FLOOR, Prior
from latentclass.lcm._hybrid_data import HybridBlock, HybridData
from latentclass.lcm._hybrid_em import (
    HybridParams,
    HybridStats,
    add_stats,
    centre_columns,
    collect_stats,
    log_prior,
    params_design,
)
from latentclass.lcm._logistic_bound import (
    Design,
    best_xi,
    cell_xi,
    infer,
    prior_xi,
    read_rows,
    solve,
    sum_factors,
    unpack_features,
)
from latentclass.lcm._soft_max_bound import soft_pseudo

WARM_STEPS = 3
"""Updates of xi before the first gradient."""


class Slopes(NamedTuple):
    """Parameters, or slopes, in the form that Adam uses: variances by their logarithms."""

    log_weight: FloatArray
    coefficient: FloatArray
    log_noise: FloatArray
    latent_mean: FloatArray
    log_variance: FloatArray


@dataclass(frozen=True)
class ConditionalProblem:
    """Labelled rows, and the objective over them.

    Attributes
    ----------
    data : HybridData
        Labelled rows only.
    prior : Prior
    share : float
        Weight of the joint likelihood relative to the conditional one.
    """

    data: HybridData
    prior: Prior
    share: float

    def begin(self, params: HybridParams) -> list[FloatArray]:
        """Return xi for the rows of each block, near their best values."""
        design = params_design(params)
        latent = params.latent_mean, params.latent_variance
        by_class = prior_xi(design, *latent, self.data.soft)

        def visit(block: HybridBlock) -> FloatArray:
            seen, n_rows = read_rows(block.rows), block.rows.n_rows
            out = np.empty((by_class.shape[-1], *by_class.shape[:2], *seen.kappa.shape))
            for y, xi in enumerate(out):
                xi[...] = cell_xi(by_class, np.full(n_rows, y), seen)
                for _ in range(WARM_STEPS):
                    moments, _ = infer(design, seen, np.full(n_rows, y), xi)
                    xi[...] = best_xi(design, moments, seen)
            return out

        return list(map_blocks(visit, self.data.blocks, self.data.n_jobs))

    def gradient(
        self, params: HybridParams, xi: list[FloatArray]
    ) -> tuple[Slopes, FloatArray, list[FloatArray]]:
        """Return the slopes per row, the objective per row (S,), and the next xi."""
        design = params_design(params)

        def visit(number: int) -> tuple[FloatArray, HybridStats, FloatArray]:
            return self._visit(params, design, self.data.blocks[number], xi[number])

        objective = log_prior(params, self.prior, self.data)
        total: HybridStats | None = None
        moved = []
        numbers = list(range(len(self.data.blocks)))
        for value, stats, new in map_blocks(visit, numbers, self.data.n_jobs):
            objective = objective + value
            total = stats if total is None else add_stats(total, stats)
            moved.append(new)
        assert total is not None
        weight = self.data.total_weight
        slopes = self._slopes(params, total)
        return even_slopes(slopes, weight), objective / weight, moved

    def _visit(
        self, params: HybridParams, design: Design, block: HybridBlock, xi: FloatArray
    ) -> tuple[FloatArray, HybridStats, FloatArray]:
        """Return the objective and the statistics of a block, and its next xi."""
        seen, n_rows = read_rows(block.rows), block.rows.n_rows
        joint = np.empty((*xi.shape[1:3], len(xi), n_rows))
        factors = []
        moved = np.empty_like(xi)
        for y, mine in enumerate(xi):
            sums = sum_factors(design, seen, mine)
            moments, bound = solve(design, sums, np.full(n_rows, y))
            joint[:, :, y] = bound + params.log_weight[:, y, :, None]
            moved[y] = best_xi(design, moments, seen)
            factors.append((sums, moments))
        value, share = self._shares(joint, block.label, block.weight)
        for y, (_, moments) in enumerate(factors):
            moments *= share[:, :, y, None]
        by_class = np.stack([moments.sum(axis=-1) for _, moments in factors], axis=-1)
        n_columns = params.coefficient.shape[2]
        return value, collect_stats(seen, factors, by_class, n_columns), moved

    def _shares(
        self, joint: FloatArray, y: IndexArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the objective (S,), and how much each class should be raised, (S, M, Y, R)."""
        n_rows, n_classes = len(y), joint.shape[2]
        by_class = log_sum_exp(np.moveaxis(joint, 1, -1))  # (S, Y, R)
        log_total = log_sum_exp(np.swapaxes(by_class, 1, 2))  # (S, R)
        own = by_class[:, y, np.arange(n_rows)]
        value = ((1.0 + self.share) * own - log_total) @ weight
        everything = np.exp(joint - log_total[:, None, None])
        # other classes may be so much better that exp would overflow
        is_own = y == np.arange(n_classes)[:, None]
        mine = np.exp(np.where(is_own, joint - own[:, None, None], -np.inf))
        return value, ((1.0 + self.share) * mine - everything) * weight

    def _slopes(self, params: HybridParams, stats: HybridStats) -> Slopes:
        prior, n_gaussian = self.prior, params.noise.shape[2]
        coefficient = params.coefficient
        gram = unpack_features(stats.gram)
        fitted = (gram @ coefficient[..., None])[..., 0]
        slope = stats.cross - fitted
        slope[..., 1:] -= prior.loading * coefficient[..., 1:]
        noise = np.broadcast_to(params.noise, (*coefficient.shape[:2], n_gaussian))
        slope[:, :, :n_gaussian] /= noise[..., None]
        ones, zeros = prior.alpha * self.data.pseudo
        soft = n_gaussian + len(ones)  # the first category of a soft-max column
        chance = expit(coefficient[:, :, n_gaussian:soft, 0])
        slope[:, :, n_gaussian:soft, 0] += ones * (1.0 - chance) - zeros * chance
        offset = coefficient[:, :, soft:, 0]
        kappa, rho = soft_pseudo(self.data.soft, offset, prior.alpha)
        slope[:, :, soft:, 0] += kappa - rho * offset

        mine, own = coefficient[:, :, :n_gaussian], stats.cross[:, :, :n_gaussian]
        rest = stats.square - (mine * (2.0 * own - fitted[:, :, :n_gaussian])).sum(axis=-1)
        rest += prior.loading * (mine[..., 1:] ** 2).sum(axis=-1)
        weight = gram[:, :, :n_gaussian, 0, 0]
        if params.noise.shape[1] == 1:
            rest, weight = rest.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        level = prior.noise * (prior.noise_level / params.noise - 1.0)
        log_noise = 0.5 * (rest / params.noise - weight + level)

        mean, variance = params.latent_mean, params.latent_variance
        by_class = stats.component_weight.sum(axis=2)[..., None]
        about = stats.latent_square - 2.0 * mean * stats.latent_total + by_class * mean**2
        drawn = prior.latent * (1.0 / variance - 1.0)
        share = np.exp(params.log_weight)
        weights = stats.component_weight + prior.component
        return Slopes(
            weights - share * weights.sum(axis=(1, 2), keepdims=True),
            slope,
            log_noise,
            (stats.latent_total - by_class * mean) / variance,
            0.5 * (about / variance - by_class + drawn),
        )

    def to_place(self, params: HybridParams) -> Slopes:
        """See `_ascent.Conditional`."""
        return Slopes(
            # a component with no share keeps practically none
            np.maximum(params.log_weight, LOWEST_LOG_SHARE),
            params.coefficient,
            np.log(params.noise),
            params.latent_mean,
            np.log(params.latent_variance),
        )

    def from_place(self, place: Slopes, params: HybridParams) -> HybridParams:
        """See `_ascent.Conditional`; the logits of a soft-max are centred in `place`, too."""
        centre_columns(self.data.soft, place.coefficient)
        log_weight = place.log_weight
        share = log_normalise(log_weight.reshape(len(log_weight), -1))
        return params._replace(
            log_weight=share.reshape(log_weight.shape),
            coefficient=place.coefficient,
            noise=np.maximum(np.exp(place.log_noise), NOISE_FLOOR),
            latent_mean=place.latent_mean,
            latent_variance=np.maximum(np.exp(place.log_variance), LATENT_FLOOR),
        )
