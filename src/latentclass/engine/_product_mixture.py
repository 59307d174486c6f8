"""Mixtures of product components, some rows with their component known, as an EM problem.

With every component known for some rows this is naive Bayes with unlabelled rows; with none known
it is a latent class model; with rows that may use the components of their class only, each class
is a mixture of its own. S counts starts, K components; the rest is as in `_product`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise, split_shares
from latentclass.engine._parallel import map_blocks

DEAD_SHARE = 1e-3
"""A component with less than this part of an even share of the rows is dead."""


COLLAPSED = 1e-3
"""A mixture with a component narrower than this part of the single component's standard deviation
describes equal values, not a distribution, and is not chosen."""


PARAMETER_LIMIT = 1e3
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
    restricted : list of (Rows, row weights, slice)
        Rows known to belong to one of the components in the slice, blocks of one slice side by
        side. Only those components' densities are computed for them.
    """

    blocks: list[tuple[product.ProductRows, FloatArray]]
    known_rows: FloatArray
    known: product.Stats
    prior: product.Prior
    layout: product.Layout
    n_jobs: int | None = None
    restricted: list[tuple[product.ProductRows, FloatArray, slice]] = field(default_factory=list)

    @cached_property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.known_rows.sum() + sum(weight.sum() for _, weight, _ in self._items))

    @property
    def _items(self) -> list[tuple[product.ProductRows, FloatArray, slice]]:
        free = [(rows, weight, slice(None)) for rows, weight in self.blocks]
        return free + self.restricted

    def e_step(self, params: MixtureParams) -> tuple[MixtureStats, FloatArray]:
        """Statistics and penalised log-likelihood per row (see `_em.Problem`)."""
        n_starts, n_components = params.log_weight.shape
        log_likelihood = np.zeros(n_starts)
        rows_sum = np.zeros((n_starts, n_components))
        stats = product.empty_stats(n_starts * n_components, self.layout)

        def visit(
            item: tuple[product.ProductRows, FloatArray, slice],
        ) -> tuple[FloatArray, FloatArray, product.Stats]:
            rows, weight, members = item
            chosen = MixtureParams(*(array[:, members] for array in params))
            log_joint = product.log_density(flat_params(chosen), rows, self.layout)
            log_joint = log_joint.reshape(len(weight), n_starts, -1) + chosen.log_weight
            responsibility, log_total = split_shares(log_joint)
            responsibility *= weight[:, None, None]
            part = product.soft_stats(rows, responsibility.reshape(len(weight), -1), self.layout)
            return weight @ log_total, responsibility.sum(axis=0), part

        items = self._items
        parts = map_blocks(visit, items, self.n_jobs)
        for (_, _, members), (part_likelihood, part_rows, part) in zip(items, parts, strict=True):
            log_likelihood += part_likelihood
            rows_sum[:, members] += part_rows
            _merge_into(stats, part, members, n_starts)

        known, explained = self.known_part(params)
        total = log_likelihood + explained
        stats = product.merge_stats(stats, known)
        shaped = (array.reshape(n_starts, n_components, -1) for array in stats)
        return MixtureStats(rows_sum + self.known_rows, *shaped), total / self.total_weight

    def known_part(self, params: MixtureParams) -> tuple[product.Stats, FloatArray]:
        """The known rows' statistics, once a start, and their log-likelihood plus the log-prior."""
        n_starts, n_components = params.log_weight.shape
        flat = flat_params(params)
        known = product.Stats(*(np.tile(array, (n_starts, 1)) for array in self.known))
        explained = product.expected_log_likelihood(flat, known, self.layout)
        penalty = product.log_prior(flat, self.prior)
        with np.errstate(invalid="ignore"):
            class_part = np.where(self.known_rows > 0, self.known_rows * params.log_weight, 0.0)
        by_component = (explained + penalty).reshape(n_starts, n_components)
        return known, class_part.sum(axis=1) + by_component.sum(axis=1)

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
        scale = np.exp(np.clip(log_scale, np.log(product.SCALE_FLOOR), np.log(PARAMETER_LIMIT)))
        return MixtureParams(
            log_normalise(log_weight),
            np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT).reshape(
                n_starts, n_components, n_numeric
            ),
            scale.reshape(n_starts, n_components, n_numeric),
            log_prob,
        )

    def dead(self, params: MixtureParams) -> BoolArray:
        """Components with next to no share of the rows, and no row that is known to be theirs.

        None where rows are restricted: a rare class's components are small, not dead.
        """
        if self.restricted:
            return np.zeros(params.log_weight.shape, dtype=bool)
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

    def _draw_rows(self, n_rows: int, rng: np.random.Generator) -> product.ProductRows:
        weights = np.concatenate([weight for _, weight in self.blocks])
        chosen = rng.choice(len(weights), size=n_rows, p=weights / weights.sum())
        ends = np.cumsum([len(weight) for _, weight in self.blocks])
        block = np.searchsorted(ends, chosen, side="right")
        inside = chosen - np.concatenate([[0], ends])[block]
        picked = [(self.blocks[b][0], i) for b, i in zip(block, inside, strict=True)]
        return product.ProductRows(
            np.array([rows.numeric[i] for rows, i in picked]),
            np.array([rows.codes[i] for rows, i in picked]),
        )


def flat_params(params: MixtureParams) -> product.Params:
    """The components of all starts, one after the other."""
    n_starts, n_components = params.log_weight.shape
    n_flat = n_starts * n_components
    return product.Params(*(array.reshape(n_flat, array.shape[2]) for array in params[1:]))


def _merge_into(total: product.Stats, part: product.Stats, members: slice, n_starts: int) -> None:
    """Add the statistics of some components of all starts to those of all components."""

    def by_start(stats: product.Stats) -> product.Stats:
        shape = (n_starts, len(stats.weight) // n_starts)
        return product.Stats(*(array.reshape(*shape, array.shape[1]) for array in stats))

    mine = product.Stats(*(array[:, members] for array in by_start(total)))
    more = by_start(part)
    for array, values in zip(mine, product.merge_stats(mine, more), strict=True):
        array[...] = values


def seed_components(
    seeds: product.ProductRows,
    prior: product.Prior,
    layout: product.Layout,
    rng: np.random.Generator,
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


def spread_starts(problem: MixtureProblem, rngs: list[np.random.Generator]) -> MixtureParams:
    """Starts of a problem of restricted rows: in each slice, components about rows far apart.

    The first row is drawn by weight; each next one by how badly the rows drawn before explain it
    beside the slice's own product density (k-means++, with log-densities for distances). Then
    each row goes to the drawn row that explains it best, and every component is estimated.

    Draws go through the rows in the order of their density, with the same chance in all slices:
    so a start depends neither on the order of rows, columns or slices, nor on whether a row stands
    there twice or with weight 2.
    """
    n_starts, n_components = len(rngs), len(problem.known_rows)
    layout = problem.layout
    row_weight = np.zeros((n_starts, n_components))
    stats = product.empty_stats(n_starts * n_components, layout)
    slices = groupby(problem.restricted, key=lambda item: (item[2].start, item[2].stop))
    chances = np.stack([rng.random(n_components) for rng in rngs])
    for (first, end), items in slices:
        blocks = list(items)
        rows = product.ProductRows(
            *(np.concatenate([b[0][part] for b in blocks]) for part in (0, 1))
        )
        weight = np.concatenate([block[1] for block in blocks])
        nearest = _nearest_seeds(rows, weight, chances[:, : end - first], problem)
        share = (nearest[:, :, None] == np.arange(end - first)) * weight[:, None, None]
        part = product.soft_stats(rows, share.reshape(len(weight), -1), layout)
        row_weight[:, first:end] += share.sum(axis=0)
        _merge_into(stats, part, slice(first, end), n_starts)
    params = product.estimate(stats, problem.prior, layout)
    with np.errstate(divide="ignore"):
        log_weight = np.log(row_weight / row_weight.sum(axis=1, keepdims=True))
    shaped = (array.reshape(n_starts, n_components, -1) for array in params)
    return MixtureParams(log_weight, *shaped)


def _nearest_seeds(
    rows: product.ProductRows, weight: FloatArray, chances: FloatArray, problem: MixtureProblem
) -> IndexArray:
    """Which of the drawn rows explains each row best, shape (n_rows, n_starts)."""
    # in the engine's units: a density in the data's own would put rows with holes elsewhere
    layout = problem.layout._replace(unit=np.ones_like(problem.layout.unit))
    n_rows, (n_starts, n_seeds) = len(weight), chances.shape
    whole = product.soft_stats(rows, weight[:, None], layout)
    own = product.estimate(whole, problem.prior, layout)
    density = product.log_density(own, rows, layout)
    order = np.argsort(density[:, 0], kind="stable")
    nearest = np.zeros((n_rows, n_starts), dtype=np.intp)
    best = np.full((n_rows, n_starts), -np.inf)
    lack = np.ones((n_rows, n_starts))
    for h in range(n_seeds):
        mass = np.cumsum((weight[:, None] * lack)[order], axis=0)
        place = np.sum(mass < chances[:, h] * mass[-1], axis=0)
        drawn = order[np.minimum(place, n_rows - 1)]
        numeric, codes = rows.numeric[drawn], rows.codes[drawn]
        counts = product.one_hot(codes, layout.offsets).toarray() + np.exp(own.log_prob)
        seeds = product.Params(
            np.where(np.isnan(numeric), own.mean, numeric),
            np.repeat(own.scale, n_starts, axis=0),
            product.log_probabilities(counts, layout.offsets),
        )
        gain = product.log_density(seeds, rows, layout) - density
        closer = gain > best
        nearest[closer] = h
        best[closer] = gain[closer]
        lack = best.max(axis=0) - best
        # equal rows are all explained alike: draw by weight again
        lack[:, lack.max(axis=0) == 0] = 1.0
    return nearest
