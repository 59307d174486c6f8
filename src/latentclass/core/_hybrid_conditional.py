"""Discriminative training: gradient ascent on the conditional bound, from where EM stopped.

What is raised is, over the labelled rows,

    sum log P(y | x) + share * sum log p(x, y) + log prior,

with the bounds in place of the probabilities. At the bound's posteriors the gradient of a bound
is that of the expected complete log-likelihood (the posteriors are at their best), so it is made of
the E-step's statistics, each class and component of a row weighted by what it has more or less
than it should. The bound's xi follow the parameters, a step at a time.

How many steps are good is told by rows held out (`held_share`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass.core._blocks import map_blocks
from latentclass.core._hybrid import (
    HybridData,
    HybridParams,
    HybridStats,
    add_stats,
    collect_stats,
    log_prior,
    params_design,
)
from latentclass.core._lcm import LATENT_FLOOR, NOISE_FLOOR, Prior
from latentclass.core._logistic import (
    best_xi,
    infer,
    prior_xi,
    read_rows,
    unpack_features,
)
from latentclass.core._logspace import log_normalise, log_sum_exp
from latentclass.core._mixture_rows import join_rows
from latentclass.core._row_parts import DistinctRows, column_marks, deal, level_words, mix_key

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

RATE = 0.03
"""Step of Adam, in coefficients and logarithms of variances."""

DECAYS = (0.9, 0.99)
"""Memory of Adam for slopes and their squares."""

WARM_STEPS = 6
"""Steps of xi before the first gradient."""

N_PARTS = 5
"""One of so many parts of the rows is held out."""

SLIVER = 1e-9
"""Share of a row that is no more than rounding."""

N_COLUMNS = 256
"""Columns of a sparse table that are made dense at once."""


class Slopes(NamedTuple):
    """Parameters as Adam moves them: variances by their logarithms."""

    log_weight: FloatArray
    coefficient: FloatArray
    log_noise: FloatArray
    latent_mean: FloatArray
    log_variance: FloatArray


@dataclass(frozen=True)
class ConditionalProblem:
    """Rows with labels, and what is raised over them.

    Attributes
    ----------
    data : HybridData
        Labelled blocks alone count.
    prior : Prior
    share : float
        Weight of the joint likelihood beside the conditional one.
    """

    data: HybridData
    prior: Prior
    share: float

    def start_xi(self, params: HybridParams) -> list[FloatArray]:
        """xi of all classes of the rows of each block, near their best."""
        n_classes = params.log_weight.shape[1]
        design = params_design(params)
        at_prior = prior_xi(design, params.latent_mean, params.latent_variance)
        out = []
        for block in self.data.blocks:
            label = np.repeat(np.arange(n_classes), block.rows.n_rows)
            xi = at_prior[..., label]
            seen = read_rows(block.rows.repeat(n_classes))
            for _ in range(WARM_STEPS):
                xi = best_xi(design, infer(design, seen, label, xi)[0])
            out.append(xi)
        return out

    def gradient(
        self, params: HybridParams, xi: list[FloatArray]
    ) -> tuple[Slopes, FloatArray, list[FloatArray]]:
        """Slopes per row, the objective per row (S,), and the next xi."""
        n_classes = params.log_weight.shape[1]
        design = params_design(params)

        def visit(number: int) -> tuple[FloatArray, HybridStats, FloatArray]:
            block = self.data.blocks[number]
            n_rows = block.rows.n_rows
            label = np.repeat(np.arange(n_classes), n_rows)
            seen = read_rows(block.rows.repeat(n_classes))
            moments, joint = infer(design, seen, label, xi[number])
            joint += np.swapaxes(params.log_weight, 1, 2)[:, :, label]
            value, share = self._shares(joint, block.label, block.weight)
            stats = collect_stats(seen, label, n_classes, moments, xi[number], share)
            return value, stats, best_xi(design, moments)

        objective = log_prior(params, self.prior, self.data.pseudo)
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
        return Slopes(*(slope / weight for slope in slopes)), objective / weight, moved

    def _shares(
        self, joint: FloatArray, y: IntArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Objective (S,), and by how much each item should be raised, (S, M, items)."""
        n_starts, n_components, n_items = joint.shape
        n_rows = len(y)
        by_cell = joint.reshape(n_starts, n_components, -1, n_rows)
        n_classes = by_cell.shape[2]
        by_class = log_sum_exp(np.moveaxis(by_cell, 1, -1))  # (S, Y, R)
        log_total = log_sum_exp(np.swapaxes(by_class, 1, 2))  # (S, R)
        own = by_class[:, y, np.arange(n_rows)]
        value = ((1.0 + self.share) * own - log_total) @ weight
        everything = np.exp(by_cell - log_total[:, None, None])
        mine = (y == np.arange(n_classes)[:, None]) * np.exp(by_cell - own[:, None, None])
        share = ((1.0 + self.share) * mine - everything) * weight
        return value, share.reshape(n_starts, n_components, n_items)

    def _slopes(self, params: HybridParams, stats: HybridStats) -> Slopes:
        prior, n_gaussian = self.prior, params.noise.shape[2]
        coefficient = params.coefficient
        gram = unpack_features(stats.gram)
        fitted = (gram @ coefficient[..., None])[..., 0]
        slope = stats.cross - fitted
        slope[..., 1:] -= prior.loading * coefficient[..., 1:]
        noise = np.broadcast_to(params.noise, (*coefficient.shape[:2], n_gaussian))
        slope[:, :, :n_gaussian] /= noise[..., None]
        offset = coefficient[:, :, n_gaussian:, 0]
        ones, zeros = prior.alpha * self.data.pseudo
        chance = 1.0 / (1.0 + np.exp(-offset))
        slope[:, :, n_gaussian:, 0] += ones * (1.0 - chance) - zeros * chance

        mine, own = coefficient[:, :, :n_gaussian], stats.cross[:, :, :n_gaussian]
        rest = stats.square - (mine * (2.0 * own - fitted[:, :, :n_gaussian])).sum(axis=-1)
        rest += prior.loading * (mine[..., 1:] ** 2).sum(axis=-1)
        weight = gram[:, :, :n_gaussian, 0, 0]
        if params.noise.shape[1] == 1:
            rest, weight = rest.sum(axis=1, keepdims=True), weight.sum(axis=1, keepdims=True)
        level = prior.noise * (prior.noise_level / params.noise - 1.0)
        log_noise = 0.5 * (rest / params.noise - weight + level)

        mean, variance = params.latent_mean, params.latent_variance
        by_class = stats.cell_weight.sum(axis=2)[..., None]
        about = stats.latent_square - 2.0 * mean * stats.latent_total + by_class * mean**2
        drawn = prior.latent * (1.0 / variance - 1.0)
        share = np.exp(params.log_weight)
        cells = stats.cell_weight + prior.component
        return Slopes(
            cells - share * cells.sum(axis=(1, 2), keepdims=True),
            slope,
            log_noise,
            (stats.latent_total - by_class * mean) / variance,
            0.5 * (about / variance - by_class + drawn),
        )

    def climb(self, params: HybridParams, n_steps: int) -> list[HybridParams]:
        """Parameters after 0, 1, ..., n_steps steps of Adam."""
        xi = self.start_xi(params)
        place = _to_slopes(params)
        first = Slopes(*(np.zeros_like(array) for array in place))
        second = Slopes(*(np.zeros_like(array) for array in place))
        path = [params]
        for step in range(1, n_steps + 1):
            slopes, _, xi = self.gradient(path[-1], xi)
            first = _blend(first, slopes, DECAYS[0])
            second = _blend(second, Slopes(*(slope**2 for slope in slopes)), DECAYS[1])
            scale = RATE * np.sqrt(1.0 - DECAYS[1] ** step) / (1.0 - DECAYS[0] ** step)
            place = Slopes(
                *(
                    at + scale * one / (np.sqrt(two) + 1e-8)
                    for at, one, two in zip(place, first, second, strict=True)
                )
            )
            path.append(_from_slopes(place, params))
        return path


def _blend(old: Slopes, new: Slopes, memory: float) -> Slopes:
    pairs = zip(old, new, strict=True)
    return Slopes(*(memory * one + (1.0 - memory) * two for one, two in pairs))


def _to_slopes(params: HybridParams) -> Slopes:
    return Slopes(
        # a component without any share stays as good as without
        np.maximum(params.log_weight, -50.0),
        params.coefficient,
        np.log(params.noise),
        params.latent_mean,
        np.log(params.latent_variance),
    )


def _from_slopes(place: Slopes, params: HybridParams) -> HybridParams:
    shape = place.log_weight.shape
    log_weight = log_normalise(place.log_weight.reshape(len(place.log_weight), -1)).reshape(shape)
    return params._replace(
        log_weight=log_weight,
        coefficient=place.coefficient,
        noise=np.maximum(np.exp(place.log_noise), NOISE_FLOOR),
        latent_mean=place.latent_mean,
        latent_variance=np.maximum(np.exp(place.log_variance), LATENT_FLOOR),
    )


def held_share(
    numeric: Any,
    codes: Any,
    y: IntArray,
    weight: FloatArray,
    n_levels: npt.NDArray[np.intp],
    seed: int,
) -> FloatArray:
    """Share of each row that is held out, shape (rows,): a fifth of the weight of each class.

    Weight is dealt out a unit at a time by what the rows hold, not by where they stand. So the
    order of rows does not matter, weight 2 is the row twice, and of a heavy row a part is held
    out. Nothing is held out of a class of weight below 5, or of rows without label (-1).
    """
    if sp.issparse(codes):
        rows = _join_bits(codes, y, weight, seed)
    else:
        rows, _ = join_rows(numeric, codes, y, weight, n_levels, seed)
    parts = deal(rows, N_PARTS, salt=1)
    first = parts.part == 0
    held = np.bincount(parts.row[first], parts.weight[first], len(rows.weight))
    by_class = np.bincount(rows.y + 1, rows.weight)
    held[(rows.y < 0) | (by_class[rows.y + 1] < N_PARTS * (1.0 - SLIVER))] = 0.0
    share = held / rows.weight
    share[share < SLIVER] = 0.0
    share[share > 1.0 - SLIVER] = 1.0
    return np.asarray(share[rows.number])


def _join_bits(codes: Any, y: IntArray, weight: FloatArray, seed: int) -> DistinctRows:
    """Equal rows of a sparse table of bits, with keys and order of one key as by `join_rows`.

    Some columns are made dense at a time.
    """
    columns = sp.csc_array(codes)
    key = np.zeros(len(y), dtype=np.uint64)
    identity = level_words([0], y.astype(np.int64))
    all_one = np.zeros(len(y), dtype=np.intp)
    for begin in range(0, columns.shape[1], N_COLUMNS):
        bits = columns[:, begin : begin + N_COLUMNS].toarray().astype(np.int32)
        marks = column_marks(bits, all_one, weight, [2] * bits.shape[1], 1)
        for j in np.flatnonzero((bits != bits[:1]).any(axis=0)):
            key += level_words([seed, marks[j]], bits[:, j])
            identity += level_words([1, begin + int(j)], bits[:, j])
    _, first, number = np.unique(mix_key(identity), return_index=True, return_inverse=True)
    order = _by_levels(codes, first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    first, number = first[order], rank[number.reshape(-1)]
    total = np.bincount(number, weight, len(first)).astype(np.float64)
    nothing = np.empty((len(first), 0), dtype=np.int32)
    return DistinctRows(nothing, y[first], total, mix_key(key)[first], number)


def _by_levels(codes: Any, rows: IntArray) -> IntArray:
    """Order of some rows of a sparse table of bits by their levels, the first column first."""
    table = sp.csr_array(codes)[rows]
    table.eliminate_zeros()
    table.sort_indices()
    n_columns = table.shape[1]
    ones = [
        (*table.indices[begin:end].tolist(), n_columns)
        for begin, end in pairwise(table.indptr.tolist())
    ]
    # an earlier 1 is more
    return np.array(sorted(range(len(ones)), key=ones.__getitem__, reverse=True), dtype=np.intp)
