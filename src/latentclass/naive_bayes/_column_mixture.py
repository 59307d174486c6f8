"""Columns independent given the class, some of them a mixture of Gaussians in each class.

A *cell* is one distinct value of one column in one class, with the weight of the rows that have it;
a *pair* is a column in a class. The cells of a pair are a sample of one variable, so its mixtures
are fitted by themselves (`choose_mixtures`), all pairs, numbers of components and restarts in
batches of array operations. Where rows lack a label the classes share them, and one EM moves all
(`ColumnMixtureProblem`).

Components are the first axis of everything that is worked out cell by cell: sums over them then run
along long contiguous arrays. In parameters they are the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._em import run_groups
from latentclass.engine._logspace import log_normalise, split_log
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import (
    COLLAPSED,
    PARAMETER_LIMIT,
    MixtureParams,
    MixtureProblem,
    MixtureStats,
)

CHUNK_CELLS = 2**18
"""About so many numbers are worked on at once: cells times starts times components."""


class ColumnValues(NamedTuple):
    """Distinct values, sorted by pair, then by value.

    `values`, `weight` (M,); `first`, `length` (P,): where each pair's cells start, and how many.
    """

    values: FloatArray
    weight: FloatArray
    first: IndexArray
    length: IndexArray


class ColumnComponents(NamedTuple):
    """Gaussian mixtures of R pairs: arrays of shape (R, k), log weight -inf if not in use."""

    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray


def mixed_columns(n_components: IndexArray) -> IndexArray:
    """Columns with several components in some class; `n_components` has shape (K, p)."""
    return np.flatnonzero((n_components > 1).any(axis=0))


def used_parts(n_components: IndexArray) -> BoolArray:
    """Which components of the mixed columns there are, shape (K, n_mixed, most components)."""
    mixed = mixed_columns(n_components)
    return np.asarray(np.arange(n_components.max(initial=1)) < n_components[:, mixed, None])


class Moments(NamedTuple):
    """Statistics of the components of R pairs: weight, mean and scatter about it, each (R, k)."""

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray


class Spread(NamedTuple):
    """Prior on the variances of R pairs: `strength` pseudo-rows of variance `variance` (R, 1)."""

    strength: float
    variance: FloatArray


def distinct_cells(
    numeric: FloatArray, y: IndexArray, weight: FloatArray, n_classes: int
) -> tuple[ColumnValues, IndexArray]:
    """Values of some columns (NaN missing), and their pairs as class * n_columns + column."""
    n_columns = numeric.shape[1]
    row, column = np.nonzero(~np.isnan(numeric))
    pair = y[row] * n_columns + column
    values, cell_weight = numeric[row, column], weight[row]
    order = np.lexsort((values, pair))
    pair, values, cell_weight = pair[order], values[order], cell_weight[order]
    fresh = np.ones(len(pair), dtype=bool)
    fresh[1:] = (pair[1:] != pair[:-1]) | (values[1:] != values[:-1])
    places = np.flatnonzero(fresh)
    if len(places) < len(pair):
        cell_weight = np.add.reduceat(cell_weight, places)
        pair, values = pair[places], values[places]
    length = np.bincount(pair, minlength=n_classes * n_columns)
    seen = np.flatnonzero(length)
    length = length[seen]
    return ColumnValues(values, cell_weight, np.cumsum(length) - length, length), seen


def take_pairs(cells: ColumnValues, pairs: IndexArray) -> ColumnValues:
    """The cells of some pairs, a pair as often as it is named."""
    length = cells.length[pairs]
    first = np.cumsum(length) - length
    place = np.arange(length.sum()) + np.repeat(cells.first[pairs] - first, length)
    return ColumnValues(cells.values[place], cells.weight[place], first, length)


def pair_weight(cells: ColumnValues) -> FloatArray:
    """Weight of the rows behind each pair's cells."""
    return np.add.reduceat(cells.weight, cells.first) if len(cells.first) else np.zeros(0)


def _shares(distance: FloatArray, constant: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Components' shares of each cell, and the log of what they sum to.

    `distance` is (x - mean) / scale, `constant` is log(weight / scale), components first.
    """
    share = distance * distance
    share *= -0.5
    share += constant
    top = share.max(axis=0)
    share -= top
    np.exp(share, out=share)
    total = share.sum(axis=0)
    share /= total
    return share, top + np.log(total) - 0.5 * product.LOG_2PI


def expect_cells(cells: ColumnValues, parts: ColumnComponents) -> tuple[FloatArray, Moments]:
    """Log-likelihood (R,) of each pair's cells, and the statistics of its components.

    Sums are taken about the present means and in units of the present scales, so that narrow
    components lose no digits.
    """

    def spread(array: FloatArray) -> FloatArray:
        return np.repeat(np.ascontiguousarray(array.T), cells.length, axis=1)

    def total(array: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(array, cells.first, axis=-1))

    distance = cells.values - spread(parts.mean)
    distance *= spread(1.0 / parts.scale)
    share, log_total = _shares(distance, spread(parts.log_weight - np.log(parts.scale)))
    share *= cells.weight
    weight = total(share)
    share *= distance
    first = total(share)
    share *= distance
    moments = _moments(weight.T, first.T, total(share).T, parts)
    return total(cells.weight * log_total), moments


def _moments(
    weight: FloatArray, first: FloatArray, second: FloatArray, parts: ColumnComponents
) -> Moments:
    """Statistics from sums of (x - mean) / scale and of its square."""
    shift = np.divide(first, weight, out=np.zeros_like(first), where=weight > 0)
    scatter = parts.scale**2 * np.maximum(second - first * shift, 0.0)
    return Moments(weight, parts.mean + parts.scale * shift, scatter)


def _merge_moments(a: Moments, b: Moments) -> Moments:
    none = np.zeros(0)
    merged = product.merge_stats(product.Stats(*a, none), product.Stats(*b, none))
    return Moments(merged.weight, merged.mean, merged.scatter)


def estimate_parts(moments: Moments, spread: Spread) -> ColumnComponents:
    """Mixtures of highest likelihood, or posterior density, given their components' statistics."""
    weight, mean, scatter = moments
    total = weight.sum(axis=-1, keepdims=True)
    rows = weight + spread.strength
    variance = np.broadcast_to(spread.variance, weight.shape).copy()
    np.divide(scatter + spread.strength * spread.variance, rows, out=variance, where=rows > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(total > 0, np.log(weight / total), -np.log(weight.shape[-1]))
    return ColumnComponents(log_weight, mean, np.maximum(np.sqrt(variance), product.SCALE_FLOOR))


def log_spread_prior(
    parts: ColumnComponents, spread: Spread, used: BoolArray | bool = True
) -> FloatArray:
    """log density of the prior on the variances in use, up to a constant, summed over them."""
    ratio = spread.variance / parts.scale**2
    each = -0.5 * spread.strength * (2.0 * np.log(parts.scale) + ratio)
    total: FloatArray = np.where(used, each, 0.0).sum(axis=-1)
    return total


class _NeverDead:
    """Problems in which no component is ever seeded anew.

    Their components start on parts of the sample; one that loses its rows later is left to the
    choice of their number.
    """


# ------------------------------------------------------- one variable at a time


class RunParams(NamedTuple):
    """Mixtures of R runs and, for each, which pair's cells it describes."""

    pair: FloatArray
    log_weight: FloatArray
    mean: FloatArray
    scale: FloatArray


class RunStats(NamedTuple):
    """Statistics (R, k) of the components of R runs."""

    pair: FloatArray
    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray


@dataclass(frozen=True)
class PairProblem(_NeverDead):
    """EM for the mixtures of many pairs; a run of the engine is one start of one pair."""

    cells: ColumnValues
    spread: Spread

    def e_step(self, params: RunParams) -> tuple[RunStats, FloatArray]:
        """Statistics and penalised log-likelihood per row (see `_em.Problem`)."""
        pairs = params.pair.astype(np.intp)
        cells, parts = take_pairs(self.cells, pairs), ColumnComponents(*params[1:])
        log_likelihood, moments = expect_cells(cells, parts)
        objective = log_likelihood + log_spread_prior(parts, self._spread(pairs))
        return RunStats(params.pair, *moments), objective / pair_weight(cells)

    def m_step(self, stats: RunStats) -> RunParams:
        """Parameters of highest penalised likelihood."""
        spread = self._spread(stats.pair.astype(np.intp))
        return RunParams(stats.pair, *estimate_parts(Moments(*stats[1:]), spread))

    def _spread(self, pairs: IndexArray) -> Spread:
        return Spread(self.spread.strength, self.spread.variance[pairs])

    def to_vector(self, params: RunParams) -> FloatArray:
        """The pair, then log weights, means and log scales."""
        columns = (params.log_weight, params.mean, np.log(params.scale))
        return np.concatenate([params.pair[:, None], *columns], axis=1)

    def from_vector(self, vector: FloatArray) -> RunParams:
        """Invert `to_vector`, weights made to sum to one."""
        log_weight, mean, log_scale = np.split(vector[:, 1:], 3, axis=1)
        return RunParams(vector[:, 0], *_bounded(log_normalise(log_weight), mean, log_scale))


def _bounded(log_weight: FloatArray, mean: FloatArray, log_scale: FloatArray) -> ColumnComponents:
    # all values are within [-1, 1]: parameters far outside are an extrapolation gone wrong
    scale = np.exp(np.clip(log_scale, np.log(product.SCALE_FLOOR), np.log(PARAMETER_LIMIT)))
    return ColumnComponents(log_weight, np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT), scale)


def slice_starts(cells: ColumnValues, cuts: FloatArray) -> ColumnComponents:
    """Starts from samples cut into slices: arrays of shape (P, S, k).

    `cuts` (S, k - 1), increasing, are shares of the weight: start s of every pair has its
    components on the slices between them. A cell astride a cut is divided.
    """
    length, weight = cells.length, pair_weight(cells)
    within = cells.weight / np.repeat(weight, length)
    mean = np.add.reduceat(within * cells.values, cells.first)
    distance = cells.values - np.repeat(mean, length)
    scale = np.sqrt(np.add.reduceat(within * distance * distance, cells.first))
    scale = np.maximum(scale, product.SCALE_FLOOR)
    # one long sample in which pair p has the weights from p to p + 1
    mass = np.concatenate([[0.0], np.cumsum(within)])
    moment = np.concatenate([[0.0], np.cumsum(within * distance / np.repeat(scale, length))])
    n_starts, k = len(cuts), cuts.shape[1] + 1
    edges = np.concatenate([np.zeros((n_starts, 1)), cuts, np.ones((n_starts, 1))], axis=1)
    at = np.arange(len(length))[:, None, None] + edges
    share = np.diff(edges, axis=1)
    about = np.diff(np.interp(at, mass, moment), axis=2) / np.maximum(share, 1e-9)
    shape = about.shape
    return ColumnComponents(
        np.broadcast_to(np.log(np.maximum(share, 1e-9)), shape).copy(),
        mean[:, None, None] + scale[:, None, None] * about,
        np.broadcast_to(scale[:, None, None] / k, shape).copy(),
    )


def draw_cuts(k: int, n_starts: int, seed: int) -> FloatArray:
    """Cuts for `slice_starts`: even slices first, then slices as chance has them."""
    rng = np.random.default_rng([seed, k])
    drawn = np.sort(rng.random((n_starts, k - 1)), axis=1)
    drawn[0] = np.arange(1, k) / k
    return drawn


class Choice(NamedTuple):
    """Mixtures chosen for pairs: their numbers of components (P,), BIC (P, max), and parts."""

    n_components: IndexArray
    bic: FloatArray
    parts: ColumnComponents


def choose_mixtures(
    cells: ColumnValues,
    spread: Spread,
    *,
    max_components: int,
    n_starts: int,
    seed: int,
    tol: float,
    max_iter: int,
    accelerate: bool = False,
) -> Choice:
    """For each pair the mixture of 1 to `max_components` Gaussians with the highest BIC.

    BIC is log-likelihood - (3 k - 1) / 2 * log(weight of the rows), at the penalised optimum. k
    components are tried where there are k distinct values and 3 k - 1 rows at least; a mixture
    with a collapsed component is not chosen.
    """
    n_pairs = len(cells.length)
    weight = pair_weight(cells)
    bic = np.full((n_pairs, max_components), -np.inf)
    shape = (n_pairs, max_components)
    kept = ColumnComponents(np.full(shape, -np.inf), np.zeros(shape), np.ones(shape))
    best = np.full(n_pairs, -np.inf)
    number = np.ones(n_pairs, dtype=np.intp)
    single = np.ones((n_pairs, 1))
    for k in range(1, max_components + 1):
        tried = np.flatnonzero((cells.length >= k) & (weight >= 3 * k - 1) | (k == 1))
        if not tried.size:
            break
        part, own = take_pairs(cells, tried), Spread(spread.strength, spread.variance[tried])
        problem = PairProblem(part, own)
        starts = slice_starts(part, draw_cuts(k, n_starts if k > 1 else 1, seed))
        runs = np.repeat(np.arange(len(tried)), starts.mean.shape[1])
        results = run_groups(
            problem,
            RunParams(runs.astype(np.float64), *(array.reshape(-1, k) for array in starts)),
            runs,
            tol=tol,
            max_iter=max_iter,
            rngs=[np.random.default_rng(seed)] * len(runs),
            accelerate=accelerate,
        )
        found = ColumnComponents(
            *(np.concatenate(a) for a in zip(*(r.params[1:] for r in results), strict=True))
        )
        penalty = log_spread_prior(found, own)
        log_likelihood = np.array([r.history[-1] for r in results]) * weight[tried] - penalty
        score = log_likelihood - 0.5 * (3 * k - 1) * np.log(weight[tried])
        if k == 1:
            single = found.scale
        else:
            narrow = found.scale < COLLAPSED * single[tried]
            score[narrow.any(axis=1)] = -np.inf
        bic[tried, k - 1] = score
        better = score > best[tried]
        chosen = tried[better]
        best[chosen], number[chosen] = score[better], k
        for array, values in zip(kept, found, strict=True):
            array[chosen, :k] = values[better]
    return Choice(number, bic, kept)


# ------------------------------------------------------------- all of them at once


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


def mixture_log_density(
    parts: ColumnComponents, numeric: FloatArray, unit: FloatArray
) -> FloatArray:
    """log p(observed cells | class) of mixed columns, shape (n_rows, K), in the data's own units.

    `parts` have shape (K, p, k), `numeric` (n_rows, p).
    """
    out = np.zeros((len(parts.mean), len(numeric)))
    for j in range(numeric.shape[1]):
        out += _column_shares(parts, numeric[:, j], j, unit)[2]
    return out.T


def _column_shares(
    parts: ColumnComponents, values: FloatArray, j: int, unit: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distances and shares (k, K, n_rows) of column j; log density (K, n_rows), 0 if missing."""
    log_weight, mean, scale = (np.moveaxis(array[:, j], 1, 0)[:, :, None] for array in parts)
    missing = np.isnan(values)
    # further away squares overflow: count it as just as far
    known = np.clip(np.where(missing, 0.0, values), -1e100, 1e100)
    distance = (known - mean) / scale
    share, log_total = _shares(distance, log_weight - np.log(scale))
    log_total -= np.log(unit[j])
    log_total[:, missing] = 0.0
    return distance, share, log_total


@dataclass(frozen=True)
class ColumnMixtureProblem(_NeverDead):
    """EM for naive Bayes with mixed columns; one start.

    Attributes
    ----------
    plain : MixtureProblem
        Of all columns that are Gaussian in every class, and the discrete ones.
    mixed : list of arrays of shape (n_rows, p)
        The mixed columns of the rows in `plain.blocks`.
    cells : list of (ColumnValues, pairs)
        Labelled rows' cells of the mixed columns; pairs count K * p.
    used : array of shape (K, p, k)
        Which components there are.
    spread : Spread
        Prior on the variances, `variance` of shape (p, 1).
    unit : array of shape (p,)
        Of the mixed columns.
    """

    plain: MixtureProblem
    mixed: list[FloatArray]
    cells: list[tuple[ColumnValues, IndexArray]]
    used: BoolArray
    spread: Spread
    unit: FloatArray

    def e_step(self, params: ColumnMixtureParams) -> tuple[ColumnMixtureStats, FloatArray]:
        """Statistics and penalised log-likelihood per row (see `_em.Problem`)."""
        plain, layout = MixtureParams(*params[:4]), self.plain.layout
        flat = product.Params(*(array[0] for array in plain[1:]))
        parts = ColumnComponents(*(array[0] for array in params[4:]))
        n_classes = len(flat.mean)
        known, explained = self.plain.known_part(plain)
        total = float(explained[0]) + self.log_prior(parts)
        row_weight = self.plain.known_rows.copy()
        stats = product.empty_stats(n_classes, layout)
        sums = np.zeros((3, *self.used.shape))

        def visit(
            item: tuple[tuple[product.ProductRows, FloatArray], FloatArray],
        ) -> tuple[float, FloatArray, product.Stats, FloatArray]:
            (rows, weight), numeric = item
            columns = [
                _column_shares(parts, numeric[:, j], j, self.unit) for j in range(numeric.shape[1])
            ]
            log_joint = product.log_density(flat, rows, layout) + params.log_weight[0]
            for _, _, log_density in columns:
                log_joint += log_density.T
            log_share, log_total = split_log(log_joint)
            responsibility = np.exp(log_share) * weight[:, None]
            part_sums = np.empty_like(sums)
            for j, (distance, share, _) in enumerate(columns):
                share *= np.where(np.isnan(numeric[:, j]), 0.0, responsibility.T)
                for power in range(3):
                    part_sums[power, :, j] = share.sum(axis=2).T
                    share *= distance
            part = product.soft_stats(rows, responsibility, layout)
            return float(weight @ log_total), responsibility.sum(axis=0), part, part_sums

        items = list(zip(self.plain.blocks, self.mixed, strict=True))
        for log_likelihood, rows, part, part_sums in map_blocks(visit, items, self.plain.n_jobs):
            total += log_likelihood
            row_weight += rows
            stats = product.merge_stats(stats, part)
            sums += part_sums
        labelled_likelihood, labelled = self._expect_labelled(parts)
        gathered = (
            row_weight,
            *product.merge_stats(stats, known),
            *_merge_moments(_moments(sums[0], sums[1], sums[2], parts), labelled),
        )
        objective = np.array([(total + labelled_likelihood) / self.plain.total_weight])
        return ColumnMixtureStats(*(array[None] for array in gathered)), objective

    def log_prior(self, parts: ColumnComponents) -> float:
        """log density of the prior on the mixtures' variances, up to a constant."""
        return float(log_spread_prior(parts, self.spread, self.used).sum())

    def _expect_labelled(self, parts: ColumnComponents) -> tuple[float, Moments]:
        """Log-likelihood and statistics of the labelled rows' cells in the mixed columns."""

        def visit(item: tuple[ColumnValues, IndexArray]) -> tuple[FloatArray, Moments]:
            cells, pairs = item
            flat = (array.reshape(-1, array.shape[-1])[pairs] for array in parts)
            return expect_cells(cells, ColumnComponents(*flat))

        total = -float(self._labelled_weight @ np.log(self.unit))
        labelled = Moments(*(np.zeros(self.used.shape) for _ in range(3)))
        results = map_blocks(visit, self.cells, self.plain.n_jobs)
        for (_, pairs), (log_likelihood, moments) in zip(self.cells, results, strict=True):
            total += float(log_likelihood.sum())
            for array, values in zip(labelled, moments, strict=True):
                array.reshape(-1, array.shape[-1])[pairs] = values
        return total, labelled

    @property
    def _labelled_weight(self) -> FloatArray:
        """Weight of the labelled rows' cells in each mixed column."""
        out = np.zeros(self.used.shape[:2])
        for cells, pairs in self.cells:
            out.reshape(-1)[pairs] = pair_weight(cells)
        return np.asarray(out.sum(axis=0))

    def m_step(self, stats: ColumnMixtureStats) -> ColumnMixtureParams:
        """Parameters of highest penalised likelihood."""
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
        """Coordinates of the other columns, then those of the components in use."""
        columns = (params.part_log_weight, params.part_mean, np.log(params.part_scale))
        plain = self.plain.to_vector(MixtureParams(*params[:4]))
        return np.concatenate([plain, *(array[:, self.used] for array in columns)], axis=1)

    def from_vector(self, vector: FloatArray) -> ColumnMixtureParams:
        """Invert `to_vector`, probabilities made to sum to one."""
        n_used = int(self.used.sum())
        n_plain = vector.shape[1] - 3 * n_used
        columns = []
        for part in np.split(vector[:, n_plain:], 3, axis=1):
            array = np.full((len(vector), *self.used.shape), -np.inf)
            array[:, self.used] = part
            columns.append(array)
        parts = _bounded(*columns)
        plain = self.plain.from_vector(vector[:, :n_plain])
        return ColumnMixtureParams(*plain, *self._masked(parts))


def mixture_peaks(parts: ColumnComponents) -> tuple[FloatArray, FloatArray]:
    """Where each mixture's density is highest, and its log there; `parts` of shape (..., k).

    The modes are fixed points of x = sum of shares * mean / scale^2 over sum of shares / scale^2;
    one is looked for from each component's mean.
    """
    log_weight, mean, scale = (np.moveaxis(array, -1, 0)[:, None] for array in parts)
    constant = log_weight - np.log(scale)
    at = np.moveaxis(parts.mean, -1, 0).copy()
    for _ in range(1000):
        share, _ = _shares((at - mean) / scale, constant)
        share = share / scale**2
        moved = (share * mean).sum(axis=0) / share.sum(axis=0)
        step = np.abs(moved - at).max()
        at = moved
        if step < 1e-13:
            break
    _, height = _shares((at - mean) / scale, constant)
    best = height.argmax(axis=0)[None]
    return np.take_along_axis(at, best, 0)[0], np.take_along_axis(height, best, 0)[0]
