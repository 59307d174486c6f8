"""EM on a lower bound for latent classification models of mixed columns.

    P(y) P(m | y) N(z; mu_y, diag gamma_y) prod_j p(x_j | z, m)

Given z, a continuous column is Gaussian (as in `_em`), and a binary one is logistic,
P(x_j = 1 | z, m) = sigma(w_mj' z + b_mj). A nominal column becomes several binary ones by stick
breaking: is it the most frequent category; if not, is it the next one; and so on. Each question is
observed only if the answer to all earlier ones was no. So one bound (`_logistic_bound`) serves all
columns, and the sum over rows of log sum_m P(y, m) exp(bound) is a lower bound on the
log-likelihood. Or it is the soft-max of one logit per category, with another bound
(`_soft_max_bound`); the coding of the rows decides (`_stick_breaking`, `_soft_max`).

The bound has one free number xi for each logistic cell and component. They are part of the
parameters: an E-step computes the posteriors at xi, then moves xi to its best value for these, and
the M-step uses the new xi. Each of these steps can only raise the bound. The updates are those of
Langseth and Nielsen (2009, section 5.2 and Appendix C), with a prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._numeric import divide
from latentclass.engine._parallel import map_blocks
from latentclass.lcm._em import (
    LATENT_FLOOR,
    NOISE_FLOOR,
    PARAMETER_LIMIT,
    Prior,
    latent_parameters,
)
from latentclass.lcm._hybrid_data import HybridBlock, HybridData, column_places, draw_items
from latentclass.lcm._logistic_bound import (
    LEAST_XI,
    Design,
    Seen,
    best_xi,
    curvature,
    infer,
    make_design,
    prior_xi,
    read_rows,
    unpack_features,
    weigh_curvatures,
)
from latentclass.lcm._soft_max_bound import Soft, centre_logits, log_soft_max, soft_pseudo

GAIN = 1e-3
"""With several steps on the bound, a row has finished when one gains no more than this share."""

XI_RANGE = (float(np.log(LEAST_XI)), float(np.log(PARAMETER_LIMIT)))
"""Range of the logarithm of extrapolated xi."""


class HybridParams(NamedTuple):
    """Parameters of S models; Gaussian columns are standardised and come first.

    log_weight (S, Y, M) = log P(y, m); coefficient (S, M, n, q + 1): offset and weights of each
    column; noise (S, M or 1, n_c); latent_mean, latent_variance (S, Y, q); xi (S, M, n_b, items):
    the free numbers of the bound, in single precision, since any value gives a bound.
    """

    log_weight: FloatArray
    coefficient: FloatArray
    noise: FloatArray
    latent_mean: FloatArray
    latent_variance: FloatArray
    xi: npt.NDArray[np.float32]


class HybridStats(NamedTuple):
    """Expected statistics.

    component_weight (S, Y, M); latent_total, latent_square (S, Y, q); gram (S, M, n, f): features
    of z, in logistic columns weighted by their curvature; cross (S, M, n, q + 1): kappa or x times
    (1, z); square (S, M, n_c): x^2; offset (S, M, n_b): b of the model that the
    statistics were computed with; xi as in the parameters, after its step.
    """

    component_weight: FloatArray
    latent_total: FloatArray
    latent_square: FloatArray
    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    offset: FloatArray
    xi: npt.NDArray[np.float32]


@dataclass(frozen=True)
class HybridProblem:
    """EM for the model (see `_em.Problem`).

    Attributes
    ----------
    data : HybridData
    n_components, n_latent : int
    tied : bool
        One noise for all components.
    prior : Prior
    bound_steps : int
        Maximum number of steps on the bound of a row in an E-step.
    """

    data: HybridData
    n_components: int
    n_latent: int
    tied: bool
    prior: Prior
    bound_steps: int = 1

    rounding: ClassVar[float] = 1e-8
    """Relative fall of the objective that rounding can cause where the noise is at its floor."""

    def e_step(self, params: HybridParams) -> tuple[HybridStats, FloatArray]:
        """Expected statistics, and the objective per row."""
        n_gaussian, _ = self.data.n_columns
        design = params_design(params)
        xi = np.empty_like(params.xi)

        def visit(block: HybridBlock) -> tuple[FloatArray, HybridStats]:
            return self._visit(params, design, block, xi)

        total: Any = None
        log_likelihood = np.zeros(len(params.log_weight))
        for part, stats in map_blocks(visit, self.data.blocks, self.data.n_jobs):
            log_likelihood += part
            total = stats if total is None else add_stats(total, stats)
        offset = params.coefficient[:, :, n_gaussian:, 0]
        expected = total._replace(offset=offset, xi=xi)
        objective = log_likelihood + log_prior(params, self.prior, self.data)
        return expected, objective / self.data.total_weight

    def _visit(
        self, params: HybridParams, design: Design, block: HybridBlock, xi: npt.NDArray[np.float32]
    ) -> tuple[FloatArray, HybridStats]:
        """Return log-likelihood and statistics of a block, and write its new xi into `xi`."""
        n_classes = params.log_weight.shape[1]
        rows = block.rows if block.labelled else block.rows.repeat(n_classes)
        seen = read_rows(rows)
        xi_before = params.xi[..., block.items]
        moments, joint = raise_bound(design, seen, block.label, xi_before, self.bound_steps)
        joint += np.swapaxes(params.log_weight, 1, 2)[:, :, block.label]
        share, log_total = _shares(joint, block)
        moved = best_xi(design, moments, seen.soft)
        xi[..., block.items] = moved
        stats = collect_stats(seen, block.label, n_classes, moments, moved, share, self.n_latent)
        return log_total @ block.weight, stats

    def m_step(self, stats: HybridStats) -> HybridParams:
        """Return the parameters of highest expected penalised bound."""
        prior = self.prior
        log_weight, latent_mean, variance = latent_parameters(
            stats.component_weight, stats.latent_total, stats.latent_square, prior
        )

        n_gaussian = stats.square.shape[2]
        gram = unpack_features(stats.gram)
        cross = stats.cross.copy()
        # pseudo-counts at z = 0: one factor each, whose best xi is the offset itself
        ones, zeros = prior.alpha * self.data.pseudo
        plain = len(ones)
        offset, soft_offset = stats.offset[..., :plain], stats.offset[..., plain:]
        pseudo = (ones + zeros) * curvature(np.maximum(np.abs(offset), LEAST_XI))
        gram[:, :, n_gaussian : n_gaussian + plain, 0, 0] += pseudo
        cross[:, :, n_gaussian : n_gaussian + plain, 0] += 0.5 * (ones - zeros)
        kappa, rho = soft_pseudo(self.data.soft, soft_offset, prior.alpha)
        gram[:, :, n_gaussian + plain :, 0, 0] += rho
        cross[:, :, n_gaussian + plain :, 0] += kappa
        system = gram.copy()
        diagonal = np.einsum("smiqq->smiq", system)
        # as small as rounding: for a component without rows, or a column without values
        diagonal += 1e-13 * diagonal + np.finfo(float).tiny ** 0.5
        diagonal[..., 1:] += prior.loading
        coefficient = np.asarray(np.linalg.solve(system, cross[..., None])[..., 0], dtype=float)

        mine = coefficient[:, :, :n_gaussian]
        own = gram[:, :, :n_gaussian]
        rest = stats.square - 2.0 * (mine * cross[:, :, :n_gaussian]).sum(axis=-1)
        rest += ((own @ mine[..., None])[..., 0] * mine).sum(axis=-1)
        rest += prior.loading * (mine[..., 1:] ** 2).sum(axis=-1)
        weight = own[..., 0, 0]
        if self.tied:
            rest, weight = rest.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        rest, weight = rest + prior.noise * prior.noise_level, weight + prior.noise
        noise = np.where(weight > 0, divide(rest, weight), prior.noise_level)
        return HybridParams(
            log_weight,
            coefficient,
            np.maximum(noise, NOISE_FLOOR),
            latent_mean,
            np.maximum(variance, LATENT_FLOOR),
            stats.xi,
        )

    def to_vector(self, params: HybridParams) -> FloatArray:
        """Coordinates for extrapolation: variances, shares and xi by their logarithms."""
        parts = (
            params.log_weight,
            params.coefficient,
            np.log(params.noise),
            params.latent_mean,
            np.log(params.latent_variance),
            self._turn_xi(params.xi, np.log) * self.data.item_scale,
        )
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> HybridParams:
        """Parameters at some coordinates."""
        n_classes, (n_gaussian, n_logistic) = len(self.data.labelled), self.data.n_columns
        q, m = self.n_latent, self.n_components
        shapes = (
            (n_classes, m),
            (m, n_gaussian + n_logistic, q + 1),
            (1 if self.tied else m, n_gaussian),
            (n_classes, q),
            (n_classes, q),
            (m, n_logistic, self.data.n_items),
        )
        ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
        log_weight, coefficient, noise, mean, variance, xi = (
            part.reshape(len(vector), *shape)
            for part, shape in zip(np.split(vector, ends, 1), shapes, strict=True)
        )
        log_weight -= log_sum_exp(log_weight.reshape(len(vector), -1))[:, None, None]
        return HybridParams(
            log_weight,
            np.clip(coefficient, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            np.exp(np.clip(noise, np.log(NOISE_FLOOR), np.log(PARAMETER_LIMIT))),
            np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT),
            np.exp(np.clip(variance, np.log(LATENT_FLOOR), np.log(PARAMETER_LIMIT))),
            self._turn_xi(
                np.clip(xi / self.data.item_scale, -PARAMETER_LIMIT, PARAMETER_LIMIT),
                lambda logs: np.exp(np.clip(logs, *XI_RANGE)),
            ).astype(np.float32),
        )

    def _turn_xi(self, xi: Any, turn: Callable[[Any], Any]) -> Any:
        """Turn xi into its logarithm or back; psi of soft-max columns remains as it is."""
        plain = self.data.pseudo.shape[1]
        return np.concatenate([turn(xi[:, :, :plain]), xi[:, :, plain:]], axis=2)

    def starts(self, rngs: list[np.random.Generator]) -> HybridParams:
        """Draw initial parameters, one start per generator.

        The weights are random, and each of several components is centred on a random row. The
        latent variables have the same distribution in all classes at first. Nothing depends on the
        order of rows, columns or classes, and a row of weight two counts as two rows.
        """
        n_classes = len(self.data.labelled)
        n_gaussian, n_logistic = self.data.n_columns
        n, q, m = n_gaussian + n_logistic, self.n_latent, self.n_components
        ranks, chance = column_places(self.data)
        coefficient = np.empty((len(rngs), m, n, q + 1))
        soft = n - sum(self.data.soft)  # the first category of a soft-max column
        level = np.concatenate([np.zeros(n_gaussian), np.log(chance / (1.0 - chance))])
        level[soft:] = np.log(chance[soft - n_gaussian :])
        for s, rng in enumerate(rngs):
            # half of a column's variance is explained; logits have a spread of about 1
            coefficient[s, ..., 1:] = rng.standard_normal((m, n, q))[:, ranks]
            coefficient[s, ..., 1:] *= np.sqrt(0.5 / q)
            coefficient[s, ..., 0] = level
            if m > 1:
                direction = rng.standard_normal(n)[ranks]
                values, signs = draw_items(self.data, direction, rng.random(m))
                coefficient[s, :, :n_gaussian, 0] = values
                coefficient[s, :, n_gaussian:, 0] += signs
        centre_columns(self.data.soft, coefficient)
        share = self.data.labelled + self.prior.component
        with np.errstate(divide="ignore"):
            log_weight = np.log(share / share.sum())[:, None] - np.log(m)
        n_starts = len(rngs)
        params = HybridParams(
            np.tile(log_weight, (n_starts, 1, m)),
            coefficient,
            np.full((n_starts, 1 if self.tied else m, n_gaussian), 0.5),
            np.zeros((n_starts, n_classes, q)),
            np.ones((n_starts, n_classes, q)),
            np.empty((n_starts, m, n_logistic, self.data.n_items), dtype=np.float32),
        )
        latent = params.latent_mean, params.latent_variance
        by_class = prior_xi(params_design(params), *latent, self.data.soft)
        for block in self.data.blocks:
            params.xi[..., block.items] = by_class[..., block.label]
        return params


def raise_bound(
    design: Design, seen: Seen, label: IndexArray, xi: npt.NDArray[np.float32], n_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Do what `infer` does, after up to `n_steps` - 1 further steps on xi (Algorithm 1).

    A row of a start and component stays where it is once a step has gained little, so that it does
    not depend on the others.
    """
    moments, bound = infer(design, seen, label, xi)
    moving = np.ones(bound.shape, dtype=bool)
    for _ in range(n_steps - 1):
        next_moments, next_bound = infer(design, seen, label, best_xi(design, moments, seen.soft))
        finished = next_bound - bound <= GAIN * np.abs(bound)
        np.copyto(moments, next_moments, where=moving[:, :, None])
        np.copyto(bound, next_bound, where=moving)
        moving &= ~finished
        if not moving.any():
            break
    return moments, bound


def collect_stats(
    seen: Seen,
    label: IndexArray,
    n_classes: int,
    moments: FloatArray,
    xi: FloatArray,
    share: FloatArray,
    n_latent: int,
) -> HybridStats:
    """Return the statistics of items (see `HybridStats`), with `offset` and `xi` left empty.

    `moments` has shape (S, M, f, items); `xi` (S, M, n_b, items) gives the curvatures; `share`
    (S, M, items) is the weight of each item in each component.
    """
    q = n_latent
    turned = np.swapaxes(moments, 2, 3)
    rho = weigh_curvatures(seen, xi, share)
    gram = np.concatenate([(seen.gaussian * share[:, :, None]) @ turned, rho @ turned], axis=2)
    near = turned[..., : q + 1] * share[..., None]
    plain = seen.n_plain
    cross = [seen.values @ near, seen.kappa[:plain] @ near]
    if seen.soft:
        cross.append(seen.soft_factors(xi[:, :, plain:])[0] @ near)

    marks = (label == np.arange(n_classes)[:, None]).astype(np.float64)
    diagonal = 1 + q + np.concatenate([[0], np.cumsum(np.arange(q, 1, -1))]).astype(np.intp)
    latent_total = (moments[:, :, 1 : q + 1] * share[:, :, None]).sum(axis=1) @ marks.T
    latent_square = (moments[:, :, diagonal] * share[:, :, None]).sum(axis=1) @ marks.T
    none = np.empty((len(share), 0))
    return HybridStats(
        np.einsum("smr,yr->sym", share, marks),
        np.swapaxes(latent_total, 1, 2),
        np.swapaxes(latent_square, 1, 2),
        gram,
        np.concatenate(cross, axis=2),
        share @ (seen.values**2).T,
        none,
        none.astype(np.float32),
    )


def params_design(params: HybridParams) -> Design:
    """Return the parameters in the form that the E-step needs."""
    return make_design(params.coefficient, params.noise, params.latent_mean, params.latent_variance)


def _shares(joint: FloatArray, block: HybridBlock) -> tuple[FloatArray, FloatArray]:
    """Weight of each item in each component, (S, M, items), and log p(row), (S, R)."""
    n_starts, n_components, n_items = joint.shape
    n_rows = len(block.weight)
    # an unlabelled row is shared among all class components, a labelled one among the components
    joined = joint.reshape(n_starts, -1, n_rows) if not block.labelled else joint
    top = joined.max(axis=1)
    top[np.isneginf(top)] = 0.0
    shares = np.exp(joined - top[:, None])
    total = shares.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_total = top + np.log(total)
    shares *= (block.weight / np.where(total > 0, total, 1.0))[:, None]
    return shares.reshape(n_starts, n_components, n_items), log_total


def add_stats(total: HybridStats, part: HybridStats) -> HybridStats:
    """Statistics of both parts."""
    pairs: Any = zip(total, part, strict=True)
    return HybridStats(*(mine + new for mine, new in pairs))


def centre_columns(soft: Soft, coefficient: FloatArray) -> None:
    """Shift the logits of each soft-max column to mean 0, in place; the model remains the same."""
    if soft:
        part = coefficient[:, :, coefficient.shape[2] - sum(soft) :]
        part[...] = np.swapaxes(centre_logits(soft, np.swapaxes(part, 2, 3)), 2, 3)


def log_prior(params: HybridParams, prior: Prior, data: HybridData) -> FloatArray:
    """log density of the prior up to a constant, shape (S,)."""
    n_gaussian = params.noise.shape[-1]
    square = (params.coefficient[..., 1:] ** 2).sum(axis=-1)
    size = (square[:, :, :n_gaussian] / params.noise).sum(axis=(1, 2))
    size = size + square[:, :, n_gaussian:].sum(axis=(1, 2))
    noise = np.log(params.noise) + prior.noise_level / params.noise
    latent = np.log(params.latent_variance) + 1.0 / params.latent_variance
    total: FloatArray = -0.5 * prior.loading * size - 0.5 * prior.noise * noise.sum(axis=(1, 2))
    total = total - 0.5 * prior.latent * latent.sum(axis=(1, 2))
    if prior.component > 0:
        total = total + prior.component * params.log_weight.sum(axis=(1, 2))
    if prior.alpha > 0:
        offset = params.coefficient[:, :, n_gaussian:, 0]
        ones, zeros = data.pseudo
        plain = offset[..., : len(ones)]
        level = ones * np.logaddexp(0.0, -plain) + zeros * np.logaddexp(0.0, plain)
        total = total - prior.alpha * level.sum(axis=(1, 2))
        soft = log_soft_max(data.soft, offset[..., len(ones) :])
        total = total + prior.alpha * soft.sum(axis=(1, 2))
    return total


def canonical(params: HybridParams) -> HybridParams:
    """The same models with each latent variable in its standard form (see `_em.canonical`)."""
    share = np.exp(params.log_weight)
    by_class = share.sum(axis=2)[..., None]
    centre = (by_class * params.latent_mean).sum(axis=1)
    square = (by_class * (params.latent_variance + params.latent_mean**2)).sum(axis=1)
    scale = np.sqrt(np.maximum(square - centre**2, LATENT_FLOOR))
    offset, weights = params.coefficient[..., 0], params.coefficient[..., 1:]
    offset = offset + (weights @ centre[:, None, :, None])[..., 0]
    weights = weights * scale[:, None, None]
    explained = np.einsum("sym,smnq->sq", share, weights**2)
    order = np.argsort(-explained, axis=1, kind="stable")
    low, high = weights.min(axis=(1, 2), initial=0.0), weights.max(axis=(1, 2), initial=0.0)
    sign = np.where(-low > high, -1.0, 1.0)

    def arrange(array: FloatArray) -> FloatArray:
        """Latent variables, on the last axis, in their new order."""
        places = order.reshape(len(order), *[1] * (array.ndim - 2), -1)
        return np.take_along_axis(array, np.broadcast_to(places, array.shape), axis=-1)

    weights = arrange(weights * sign[:, None, None])
    return params._replace(
        coefficient=np.concatenate([offset[..., None], weights], axis=-1),
        latent_mean=arrange((params.latent_mean - centre[:, None]) / (scale * sign)[:, None]),
        latent_variance=arrange(params.latent_variance / scale[:, None] ** 2),
    )
