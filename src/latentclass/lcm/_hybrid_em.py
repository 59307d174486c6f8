"""EM on a lower bound for latent classification models of mixed columns.

    P(y) P(m | y) N(z; mu_y, diag gamma_y) prod_j p(x_j | z, m)

Given z, a continuous column is Gaussian (as in `_em`), and a binary one is logistic,
P(x_j = 1 | z, m) = sigma(w_mj' z + b_mj). A nominal column becomes several binary ones by stick
breaking: is it the most frequent category; if not, is it the next one; and so on. Each question is
observed only if the answer to all earlier ones was no. So one bound (`_logistic_bound`) serves all
columns, and the sum over rows of log sum_m P(y, m) exp(bound) is a lower bound on the
log-likelihood. Or it is the soft-max of one logit per category, with another bound
(`_soft_max_bound`); the coding of the rows decides (`_stick_breaking`, `_soft_max`).

The bound has one free number xi for each logistic cell and component. They stay with their rows: an
E-step computes the posteriors at xi, then moves xi to its best value for these, and the M-step uses
the new xi. Each of these steps can only raise the bound. The updates are those of Langseth and
Nielsen (2009, section 5.2 and Appendix C), with a prior. All classes of an unlabelled row share its
xi. The objective of an E-step is the bound's expectation under its posteriors at the new xi. It is
no higher than the bound of the next E-step, if this begins at the same xi, and no lower than the
bound at the old xi.

Every start has three sets of xi. An E-step reads one of them and writes the next. So the sets hold
the xi of the last two steps and those before them, which is what an extrapolation needs. The
extrapolated xi replace the oldest ones, and if the objective falls, the plain step has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._logspace import log_sum_exp, split_shares
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
    Single,
    Sums,
    best_xi,
    blend,
    cell_xi,
    curvature,
    improve_factors,
    loops,
    make_design,
    prior_xi,
    read_rows,
    solve,
    solve_classes,
    sum_factors,
    unpack_features,
)
from latentclass.lcm._soft_max_bound import Soft, centre_logits, log_soft_max, soft_pseudo

N_SETS = 3
"""Sets of xi that the rows keep for each start."""

XI_RANGE = (float(np.log(LEAST_XI)), float(np.log(PARAMETER_LIMIT)))
"""Range of the logarithm of extrapolated xi."""


class HybridParams(NamedTuple):
    """Parameters of S models; Gaussian columns are standardised and come first.

    log_weight (S, Y, M) = log P(y, m); coefficient (S, M, n, q + 1): offset and weights of each
    column; noise (S, M or 1, n_c); latent_mean, latent_variance (S, Y, q); place (S,): in EM, where
    the rows keep the xi of each model.
    """

    log_weight: FloatArray
    coefficient: FloatArray
    noise: FloatArray
    latent_mean: FloatArray
    latent_variance: FloatArray
    place: IndexArray


class HybridStats(NamedTuple):
    """Expected statistics.

    component_weight (S, Y, M); latent_total, latent_square (S, Y, q); gram (S, M, n, f): features
    of z, in logistic columns weighted by their curvature; cross (S, M, n, q + 1): kappa or x times
    (1, z); square (S, M, n_c): x^2; offset (S, M, n_b): b of the model that the
    statistics were computed with; place (S,): where the rows keep the new xi.
    """

    component_weight: FloatArray
    latent_total: FloatArray
    latent_square: FloatArray
    gram: FloatArray
    cross: FloatArray
    square: FloatArray
    offset: FloatArray
    place: IndexArray


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

    least_gain: ClassVar[float] = 1e-3
    """With several steps on the bound, a row has finished when one gains no larger share."""

    def e_step(self, params: HybridParams) -> tuple[HybridStats, FloatArray]:
        """Expected statistics, and the objective per row."""
        stats, log_likelihood = self.expect(params)
        return stats, (log_likelihood + self.log_prior(params)) / self.data.total_weight

    def expect(self, params: HybridParams) -> tuple[HybridStats, FloatArray]:
        """Expected statistics, and the bound on the log-likelihood, (S,)."""
        design = params_design(params)
        parts = map_blocks(
            lambda block: self._visit(params, design, block), self.data.blocks, self.data.n_jobs
        )
        stats, log_likelihood = next(parts)
        for part, value in parts:
            stats, log_likelihood = self.add(stats, part), log_likelihood + value
        return stats, log_likelihood

    def add(self, first: HybridStats, second: HybridStats) -> HybridStats:
        """Statistics of two disjoint sets of rows together."""
        return add_stats(first, second)

    def log_prior(self, params: HybridParams) -> FloatArray:
        """See `log_prior`."""
        return log_prior(params, self.prior, self.data)

    def _visit(
        self, params: HybridParams, design: Design, block: HybridBlock
    ) -> tuple[HybridStats, FloatArray]:
        """Return the statistics and log-likelihood of a block, and move its xi."""
        xi = block.xi[params.place].astype(np.float64)
        stats, log_likelihood, moved = self.expect_block(params, design, block, xi)
        place = next_place(params.place)
        block.xi[place] = moved
        return stats._replace(place=place), log_likelihood

    def expect_block(
        self, params: HybridParams, design: Design, block: HybridBlock, xi: FloatArray
    ) -> tuple[HybridStats, FloatArray, FloatArray]:
        """Return the statistics and log-likelihood of a block at some xi, and its next xi."""
        seen = read_rows(block.rows)
        label = block.label if block.labelled else None
        found = settle_rows(params, design, seen, label, xi, self.bound_steps, self.least_gain)
        xi, sums, gain = improve_factors(design, seen, found.sums, found.mixed)
        share = found.share * block.weight
        log_total = found.log_total + (found.share.sum(axis=2) * gain).sum(axis=1)
        if block.labelled:
            raised = found.moments[0] * share
            marks = block.label[:, None] == np.arange(params.log_weight.shape[1])
            by_class = raised @ marks.astype(np.float64)
        else:
            raised = blend(found.moments, share)
            by_class = sum_classes(found.moments, share)
        stats = collect_stats(seen, [(sums, raised)], by_class, params.coefficient.shape[2])
        offset = params.coefficient[:, :, len(seen.values) :, 0]
        stats = stats._replace(offset=offset, place=params.place)
        return stats, log_total @ block.weight, xi

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
            stats.place,
        )

    def to_vector(self, params: HybridParams) -> FloatArray:
        """Coordinates for extrapolation, without xi: variances and shares by their logarithms."""
        parts = (
            params.log_weight,
            params.coefficient,
            np.log(params.noise),
            params.latent_mean,
            np.log(params.latent_variance),
        )
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> HybridParams:
        """Parameters at some coordinates; `carry` gives them a place."""
        n_classes, (n_gaussian, n_logistic) = len(self.data.labelled), self.data.n_columns
        q, m = self.n_latent, self.n_components
        shapes = (
            (n_classes, m),
            (m, n_gaussian + n_logistic, q + 1),
            (1 if self.tied else m, n_gaussian),
            (n_classes, q),
            (n_classes, q),
        )
        ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
        log_weight, coefficient, noise, mean, variance = (
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
            np.zeros(len(vector), dtype=np.intp),
        )

    def squares(
        self, path: tuple[HybridParams, HybridParams, HybridParams]
    ) -> tuple[FloatArray, FloatArray]:
        """See `_em.Carrying`: distances between xi, a row of weight two counting as two rows."""
        change, bend = np.zeros((2, len(path[0].place)))
        for block in self.data.blocks:
            start, one, two = self._xi_logs(block, path)
            two -= one
            one -= start
            two -= one
            change += ((one * one) @ block.weight).sum(axis=(1, 2))
            bend += ((two * two) @ block.weight).sum(axis=(1, 2))
        return change, bend

    def carry(
        self,
        params: HybridParams,
        path: tuple[HybridParams, HybridParams, HybridParams],
        alpha: FloatArray,
    ) -> HybridParams:
        """See `_em.Carrying`: extrapolate xi of the rows."""
        plain = self.data.n_plain
        far = alpha[:, None, None, None].astype(np.float32)
        for block in self.data.blocks:
            start, one, two = self._xi_logs(block, path)
            one -= start
            two -= start
            two -= 2.0 * one
            xi = start - 2.0 * far * one + far**2 * two
            positive = xi[:, :, :plain]
            np.exp(np.clip(positive, *XI_RANGE, out=positive), out=positive)
            block.xi[path[0].place] = np.clip(xi, -PARAMETER_LIMIT, PARAMETER_LIMIT, out=xi)
        return params._replace(place=path[0].place)

    def _xi_logs(self, block: HybridBlock, path: tuple[HybridParams, ...]) -> list[Single]:
        """Logarithms of xi at some parameters; psi of soft-max columns as it is."""
        found = [block.xi[params.place] for params in path]
        plain = self.data.n_plain
        for xi in found:
            np.log(xi[:, :, :plain], out=xi[:, :, :plain])
        return found

    def begin(self, params: HybridParams) -> HybridParams:
        """Make room for the xi of all starts, and begin with those that are best a priori."""
        n_starts, design = len(params.log_weight), params_design(params)
        for block in self.data.blocks:
            first = first_xi(params, design, block)
            block.xi = np.empty((N_SETS * n_starts, *first.shape[1:]), dtype=np.float32)
            block.xi[::N_SETS] = first
        return params._replace(place=N_SETS * np.arange(n_starts))

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
        return self.begin(
            HybridParams(
                np.tile(log_weight, (n_starts, 1, m)),
                coefficient,
                np.full((n_starts, 1 if self.tied else m, n_gaussian), 0.5),
                np.zeros((n_starts, n_classes, q)),
                np.ones((n_starts, n_classes, q)),
                np.zeros(n_starts, dtype=np.intp),
            )
        )


@dataclass(frozen=True)
class StatelessProblem(HybridProblem):
    """The same, but the rows keep nothing between the steps of EM.

    Each E-step finds xi anew, by `bound_steps` steps from those that are best a priori. So it can
    be computed anywhere and again. The bound is a little lower than with xi that follow the
    parameters from step to step, and may fall a little where EM has nearly converged.
    """

    rounding: ClassVar[float] = 1e-3
    least_gain: ClassVar[float] = 0.0

    def _visit(
        self, params: HybridParams, design: Design, block: HybridBlock
    ) -> tuple[HybridStats, FloatArray]:
        stats, log_likelihood, _ = self.expect_block(
            params, design, block, first_xi(params, design, block)
        )
        return stats, log_likelihood


def next_place(place: IndexArray) -> IndexArray:
    """Where the E-step writes the new xi of each start."""
    return np.asarray(place - place % N_SETS + (place + 1) % N_SETS)


class Expected(NamedTuple):
    """Posteriors of some rows at a given xi.

    `moments` (Y, S, M, f, R) and `joint` (S, M, Y, R), the bound on log p(row, y, m), are of all
    classes, or of each row's own class only; `share` is the posterior of these class components.
    `by_component` (S, M, R) is the bound on log p(row, m); with it, `log_total` (S, R) that on
    log p(row). `mixed` (S, M, f, R) are the moments of z given the component.
    """

    sums: Sums
    moments: FloatArray
    joint: FloatArray
    share: FloatArray
    by_component: FloatArray
    log_total: FloatArray
    mixed: FloatArray


def expect_rows(
    params: HybridParams, design: Design, seen: Seen, label: IndexArray | None, xi: FloatArray
) -> Expected:
    """Return the posteriors of rows at some xi: of all classes, or those of `label` (R,)."""
    sums = sum_factors(design, seen, xi)
    log_weight = np.swapaxes(params.log_weight, 1, 2)
    if label is None:
        moments, joint = solve_classes(design, sums)
        joint += log_weight[..., None]
    else:
        own, bound = solve(design, sums, label)
        moments, joint = own[None], (bound + log_weight[:, :, label])[:, :, None]
    within, by_component = split_shares(np.moveaxis(joint, 2, -1))
    over, log_total = split_shares(np.moveaxis(by_component, 1, -1))
    within = np.ascontiguousarray(np.moveaxis(within, -1, 2))
    share = within * np.moveaxis(over, -1, 1)[:, :, None]
    mixed = blend(moments, within) if label is None else moments[0]
    return Expected(sums, moments, joint, share, by_component, log_total, mixed)


def settle_rows(
    params: HybridParams,
    design: Design,
    seen: Seen,
    label: IndexArray | None,
    xi: FloatArray,
    n_steps: int,
    least_gain: float,
) -> Expected:
    """Do the same after up to `n_steps` - 1 further steps on xi (Algorithm 1).

    A row of a start and component stays where it is once a step has gained no more than a share
    `least_gain`, so that it does not depend on the others.
    """
    found = expect_rows(params, design, seen, label, xi)
    moving = np.ones(found.by_component.shape, dtype=bool)
    for _ in range(n_steps - 1):
        before, best = found.by_component, best_xi(design, found.mixed, seen)
        xi = np.where(moving[:, :, None], best, xi)
        found = expect_rows(params, design, seen, label, xi)
        moving &= found.by_component - before > least_gain * np.abs(before)
        if not moving.any():
            break
    return found


def sum_classes(moments: FloatArray, share: FloatArray) -> FloatArray:
    """Sums over the rows of moments (Y, S, M, f, R), with shares (S, M, Y, R), (S, M, f, Y)."""
    by_class = moments @ np.moveaxis(share, 2, 0)[..., None]
    return np.asarray(np.moveaxis(by_class[..., 0], 0, -1))


def collect_stats(
    seen: Seen, factors: list[tuple[Sums, FloatArray]], by_class: FloatArray, n_columns: int
) -> HybridStats:
    """Return the statistics of some rows (see `HybridStats`), with `offset` and `place` left empty.

    Each of `factors` has the factors of the rows and moments of z, (S, M, f, R), times the weight
    of each row in each component; their sums count. `by_class` (S, M, f, Y) are the sums of the
    moments over the rows of each class.
    """
    n_starts, _, n_features, _ = by_class.shape
    q = round(float(np.sqrt(2 * n_features + 0.25)) - 1.5)
    n_gaussian, direct = len(seen.values), seen.n_direct
    total = np.asarray(sum(raised for _, raised in factors))
    turned = np.swapaxes(total, 2, 3)
    near = turned[..., : q + 1]
    last = n_gaussian + direct + sum(seen.soft)  # of those that all rows answer
    gram = np.zeros((*total.shape[:2], n_columns, n_features))
    cross = np.zeros((*gram.shape[:3], q + 1))
    gram[:, :, :n_gaussian] = seen.gaussian @ turned
    cross[:, :, :n_gaussian] = seen.values @ near
    cross[:, :, n_gaussian : n_gaussian + direct] = seen.kappa[:direct] @ near
    if len(seen.asked):
        by_row = np.ascontiguousarray(near.transpose(2, 0, 1, 3)).reshape(near.shape[2], -1)
        pulls = seen.answers(n_columns - n_gaussian).T @ by_row
        cross[:, :, n_gaussian:] += pulls.reshape(-1, *cross.shape[:2], q + 1).transpose(1, 2, 0, 3)
    for sums, raised in factors:
        moments = np.swapaxes(raised, 2, 3)
        gram[:, :, n_gaussian:last] += sums.rho[:, :, n_gaussian:last] @ moments
        if seen.soft:
            cross[:, :, n_gaussian + direct : last] += sums.kappa @ moments[..., : q + 1]
        if len(seen.asked):
            loops(sums.rho).count_asked(seen.asked, sums.rho, raised, n_gaussian, gram)
    diagonal = 1 + q + np.concatenate([[0], np.cumsum(np.arange(q, 1, -1))]).astype(np.intp)
    return HybridStats(
        np.swapaxes(by_class[:, :, 0], 1, 2),
        np.swapaxes(by_class[:, :, 1 : q + 1].sum(axis=1), 1, 2),
        np.swapaxes(by_class[:, :, diagonal].sum(axis=1), 1, 2),
        gram,
        cross,
        total[:, :, 0] @ (seen.values**2).T,
        np.empty((n_starts, 0)),
        np.zeros(n_starts, dtype=np.intp),
    )


def first_xi(params: HybridParams, design: Design, block: HybridBlock) -> FloatArray:
    """Return xi of the rows of a block that are best before the rows are seen, (S, M, cells, R)."""
    seen = read_rows(block.rows)
    by_class = prior_xi(design, params.latent_mean, params.latent_variance, seen.soft)
    if block.labelled:
        return cell_xi(by_class, block.label, seen)
    average = average_xi(by_class, params.log_weight, seen.soft)
    return cell_xi(average[..., None], np.zeros(len(block.weight), dtype=np.intp), seen)


def average_xi(by_class: FloatArray, log_weight: FloatArray, soft: Soft) -> FloatArray:
    """Return xi for rows of unknown class, (S, M, n_b), from those of each class, (S, M, n_b, Y).

    The squares are averaged, and psi of soft-max columns as they are.
    """
    share = np.exp(log_sum_exp(log_weight))[:, None, None]
    plain = by_class.shape[2] - sum(soft)
    average = (by_class * share).sum(axis=-1)
    average[:, :, :plain] = np.sqrt((by_class[:, :, :plain] ** 2 * share).sum(axis=-1))
    return np.asarray(average)


def params_design(params: HybridParams) -> Design:
    """Return the parameters in the form that the E-step needs."""
    return make_design(params.coefficient, params.noise, params.latent_mean, params.latent_variance)


def add_stats(total: HybridStats, part: HybridStats) -> HybridStats:
    """Statistics of both parts; what belongs to the model is the same in both."""
    names = HybridStats._fields[:6]
    return total._replace(**{name: getattr(total, name) + getattr(part, name) for name in names})


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
