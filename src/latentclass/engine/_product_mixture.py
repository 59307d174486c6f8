"""EM problem of a mixture of product densities, in which the component of some rows may be known.

    P(c, x) = P(c) prod_i P(x_i | c),

eq. (2) of Davidson's paper on latent variable classifiers (`docs/reference/notation.md`). If the
components are classes, known for the labelled rows, this is naive Bayes with unlabelled rows. If no
component is known, it is a latent class model. If each row is restricted to the components of its
class, each class has a mixture of its own.

There are S starts and K components; the other symbols are those of `_product`.
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
"""A component is dead if its weight is less than this fraction of 1 / K."""

COLLAPSED = 1e-3
"""A mixture is not chosen if one of its components is narrower than this fraction of the standard
deviation of a single component: it describes equal values, not a distribution."""

PARAMETER_LIMIT = 1e3
"""Means and scales are clipped to this after an extrapolation. All values lie in [-1, 1], in the
units of the engine, so larger parameters can only come from an extrapolation that went wrong."""


class MixtureParams(NamedTuple):
    """Parameters of S starts: `log_weight` (S, K), then `product.Params` with leading axis S."""

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray


class MixtureStats(NamedTuple):
    """Statistics of S starts: `row_weight` (S, K), then `product.Stats` with leading axis S."""

    row_weight: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class MixtureProblem:
    """EM problem (see `_em.Problem`) of a mixture whose rows come in blocks.

    Attributes
    ----------
    blocks : list of (ProductRows, row weights)
        Rows whose component is not known.
    known_rows : array of shape (K,)
        Weight of the rows whose component is known, by component.
    known : product.Stats
        Statistics of the rows whose component is known. They never change, so these rows are read
        only once.
    prior : product.Prior
    layout : product.Layout
    n_jobs : int or None
        Number of threads for the blocks.
    restricted : list of (ProductRows, row weights, slice)
        Rows that belong to one of the components in the slice. Only the densities of these
        components are computed. Blocks with the same slice must follow each other.
    pull : product.Pull
        What the prior has beside `prior`.
    """

    blocks: list[tuple[product.ProductRows, FloatArray]]
    known_rows: FloatArray
    known: product.Stats
    prior: product.Prior
    layout: product.Layout
    n_jobs: int | None = None
    restricted: list[tuple[product.ProductRows, FloatArray, slice]] = field(default_factory=list)
    pull: product.Pull = product.NO_PULL

    @cached_property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.known_rows.sum() + sum(weight.sum() for _, weight, _ in self._items))

    @property
    def _items(self) -> list[tuple[product.ProductRows, FloatArray, slice]]:
        free = [(rows, weight, slice(None)) for rows, weight in self.blocks]
        return free + self.restricted

    def e_step(self, params: MixtureParams) -> tuple[MixtureStats, FloatArray]:
        """Return the expected statistics and the penalised log-likelihood per row."""
        stats, log_likelihood = self.expect(params)
        return stats, (log_likelihood + self.log_prior(params)) / self.total_weight

    def expect(self, params: MixtureParams) -> tuple[MixtureStats, FloatArray]:
        """Return the expected statistics and the log-likelihood of all rows."""
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
        stats = product.merge_stats(stats, known)
        shaped = (array.reshape(n_starts, n_components, -1) for array in stats)
        return MixtureStats(rows_sum + self.known_rows, *shaped), log_likelihood + explained

    def add(self, first: MixtureStats, second: MixtureStats) -> MixtureStats:
        """Return the statistics of two disjoint sets of rows together."""
        merged = product.merge_stats(product.Stats(*first[1:]), product.Stats(*second[1:]))
        return MixtureStats(first.row_weight + second.row_weight, *merged)

    def log_prior(self, params: MixtureParams) -> FloatArray:
        """Return the log density of the prior up to a constant, shape (S,)."""
        each = product.log_prior(flat_params(params), self.prior, self.pull)
        return np.asarray(each.reshape(params.log_weight.shape).sum(axis=1))

    def known_part(self, params: MixtureParams) -> tuple[product.Stats, FloatArray]:
        """Return what the known rows add: statistics, repeated for each start, and log-likelihood.

        The log-likelihood has shape (S,).
        """
        n_starts, n_components = params.log_weight.shape
        flat = flat_params(params)
        known = product.Stats(*(np.tile(array, (n_starts, 1)) for array in self.known))
        explained = product.expected_log_likelihood(flat, known, self.layout)
        with np.errstate(invalid="ignore"):
            class_part = np.where(self.known_rows > 0, self.known_rows * params.log_weight, 0.0)
        by_component = explained.reshape(n_starts, n_components)
        return known, class_part.sum(axis=1) + by_component.sum(axis=1)

    def m_step(self, stats: MixtureStats) -> MixtureParams:
        """Return the parameters that maximise the expected penalised likelihood."""
        n_starts, n_components = stats.row_weight.shape
        flat = product.Stats(*(array.reshape(n_starts * n_components, -1) for array in stats[1:]))
        params = product.estimate(flat, self.prior, self.layout, self.pull)
        with np.errstate(divide="ignore"):
            log_weight = np.log(stats.row_weight / stats.row_weight.sum(axis=1, keepdims=True))
        return MixtureParams(
            log_weight, *(array.reshape(n_starts, n_components, -1) for array in params)
        )

    def to_vector(self, params: MixtureParams) -> FloatArray:
        """Concatenate log weights, means, log scales and log probabilities."""
        n_starts = len(params.log_weight)
        parts = (params.log_weight, params.mean, np.log(params.scale), params.log_prob)
        return np.concatenate([part.reshape(n_starts, -1) for part in parts], axis=1)

    def from_vector(self, vector: FloatArray) -> MixtureParams:
        """Invert `to_vector`, and normalise the probabilities."""
        n_starts, n_components = len(vector), len(self.known_rows)
        n_numeric, n_levels = len(self.layout.centre), int(self.layout.offsets[-1])
        widths = np.cumsum([1, n_numeric, n_numeric]) * n_components
        log_weight, mean, log_scale, log_prob = np.split(vector, widths, axis=1)
        log_prob = log_prob.reshape(n_starts, n_components, n_levels)
        for first, end in zip(self.layout.offsets[:-1], self.layout.offsets[1:], strict=True):
            if end > first:
                log_prob[..., first:end] = log_normalise(log_prob[..., first:end])
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
        """Mark the components of almost no weight and without known rows.

        If rows are restricted, there are none: components of a rare class are small, not dead.
        """
        if self.restricted:
            return np.zeros(params.log_weight.shape, dtype=bool)
        small = np.exp(params.log_weight) < DEAD_SHARE / len(self.known_rows)
        return np.asarray(small & (self.known_rows == 0) & bool(self.blocks))

    def reseed(
        self, params: MixtureParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> MixtureParams:
        """Move each dead component to a random row, with the average weight of a component."""
        arrays = MixtureParams(*(array.copy() for array in params))
        for s, rng in enumerate(rngs):
            lost = np.flatnonzero(dead[s])
            fresh = self.fresh_components(len(lost), rng)
            for array, values in zip(arrays[1:], fresh, strict=True):
                array[s, lost] = values
            weight = np.exp(arrays.log_weight[s])
            weight[lost] = weight.sum() / len(weight)
            arrays.log_weight[s] = np.log(weight / weight.sum())
        return arrays

    def fresh_components(self, n: int, rng: np.random.Generator) -> product.Params:
        """Make components near random rows."""
        return seed_components(self._draw_rows(n, rng), self.prior, self.layout, rng)

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
    """Return the components of all starts on one axis, start by start."""
    n_starts, n_components = params.log_weight.shape
    n_flat = n_starts * n_components
    return product.Params(*(array.reshape(n_flat, array.shape[2]) for array in params[1:]))


def _merge_into(total: product.Stats, part: product.Stats, members: slice, n_starts: int) -> None:
    """Merge the statistics of some components of all starts into `total`, in place."""

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
    """Make components near given rows, as wide as the columns.

    Each mean is moved by Gaussian noise of half a standard deviation, and a pseudo-count of 1 is
    spread randomly over the levels of each column. So equal or empty rows give different components
    too.
    """
    spread = np.sqrt(prior.variance)
    at = np.where(np.isnan(seeds.numeric), prior.mean, seeds.numeric)
    mean = at + 0.5 * spread * rng.standard_normal(at.shape)
    scale = np.tile(product.to_scale(prior.variance, prior), (len(mean), 1))
    counts = product.one_hot(seeds.codes, layout.offsets).toarray()
    pseudo = product.log_probabilities(rng.exponential(size=counts.shape), layout.offsets)
    counts += np.exp(pseudo)  # normalised exponential variables are uniform on the simplex
    return product.Params(mean, scale, product.log_probabilities(counts, layout.offsets))


def spread_starts(problem: MixtureProblem, rngs: list[np.random.Generator]) -> MixtureParams:
    """Make starts for restricted rows: in each slice, components around rows far apart.

    This is k-means++ with log-densities as distances. The first seed row is drawn by weight. Each
    further seed is more likely to be a row that the previous seeds explain badly, compared with the
    product density of all rows of the slice. Then each row is assigned to the seed that explains it
    best, and the components are estimated from the assigned rows.

    For a draw, rows are sorted by density, and all slices use the same random numbers. So a start
    depends neither on the order of rows, columns or slices, nor on whether a row occurs twice or
    has weight 2.
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
    """Draw seed rows; return the seed that explains each row best, shape (n_rows, n_starts)."""
    # densities in the units of the engine: in those of the data, the units would change the order
    # of rows with missing cells
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
        # if all rows are explained equally well, draw by weight again
        lack[:, lack.max(axis=0) == 0] = 1.0
    return nearest
