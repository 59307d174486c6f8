"""Columns independent given a component: Gaussian and categorical columns in one product.

A *component* is whatever the columns are independent given: a class of naive Bayes, a component
of a mixture, one of several restarts of either. It is always the first axis of parameters and
statistics; K counts components, p continuous columns, L the levels of all discrete columns laid
end to end (see `Layout`). Statistics of disjoint sets of rows merge, so rows can come in blocks,
weighted, with holes.

    log p(x | k) = sum_j log N(x_j; mean_kj, scale_kj^2) + sum_j log_prob_k[offset_j + x_j]

over the observed columns only: a missing cell is integrated out by leaving its term out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from latentclass._types import CodeArray, FloatArray, IndexArray

LOG_2PI = float(np.log(2.0 * np.pi))

SCALE_FLOOR = 1e-12
"""Least standard deviation, in units of half the column's range. Keeps a density finite where a
component has no spread; hardly above what rounding leaves of values within that range."""


NARROW = 1e-3
"""Standard deviation, in the same units, below which squares are not multiplied out: the terms
would be over a million times the result, and its last digits lost."""


class Layout(NamedTuple):
    """Where each column's values live.

    Attributes
    ----------
    centre, unit : arrays of shape (p,)
        Middle and half width of each continuous column's range. The engine works on
        (x - centre) / unit, within [-1, 1], so squares neither overflow nor vanish and results do
        not depend on units of measurement.
    offsets : array of shape (n_discrete + 1,)
        Discrete column j has levels offsets[j] to offsets[j + 1] - 1.
    """

    centre: FloatArray
    unit: FloatArray
    offsets: IndexArray


class ProductRows(NamedTuple):
    """A block of rows in the engine's units: `numeric` by (x - centre) / unit, NaN missing."""

    numeric: FloatArray
    codes: CodeArray


class Params(NamedTuple):
    """Parameters of K components, in the engine's units."""

    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray


class Stats(NamedTuple):
    """Sufficient statistics of K components.

    `weight`, `mean`, `scatter` (K, p): weight of the observed cells, their mean, and their
    weighted sum of squares about it. `counts` (K, L): weight of each level.
    """

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray


class Prior(NamedTuple):
    """Conjugate prior on the parameters; all zero is plain maximum likelihood.

    Attributes
    ----------
    alpha : float
        Pseudo-count of every level (Laplace smoothing at 1).
    strength : float
        Pseudo-rows with which each variance is drawn to `variance`.
    mean, variance : arrays of shape (p,)
        Each column's own, over all components: what a component without any observed cell gets.
    """

    alpha: float
    strength: float
    mean: FloatArray
    variance: FloatArray


def measure_range(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and unit of columns from their smallest and largest value.

    A constant column's unit is its size, or 1 if it is all zero; an unobserved one (NaN) gets 0
    and 1.
    """
    low, high = np.nan_to_num(low), np.nan_to_num(high)
    centre = low / 2 + high / 2
    unit = high / 2 - low / 2
    unit = np.where(unit > 0, unit, np.abs(centre))
    return centre, np.where(unit > 0, unit, 1.0)


def to_rows(numeric: FloatArray, codes: CodeArray, layout: Layout) -> ProductRows:
    """A block of table rows in the engine's units."""
    return ProductRows((numeric - layout.centre) / layout.unit, codes)


def one_hot(codes: CodeArray, offsets: IndexArray) -> sp.csr_array:
    """Codes as an (n_rows, L) indicator; a missing cell has no entry."""
    levels = codes + offsets[:-1]
    seen = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    indices = levels[seen]
    shape = (len(codes), int(offsets[-1]))
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def log_density(params: Params, rows: ProductRows, layout: Layout) -> FloatArray:
    """log p(x | k) of the observed cells, shape (n_rows, K), in the data's own units."""
    n_rows, n_components = len(rows.numeric), len(params.mean)
    out = np.zeros((n_rows, n_components))
    if rows.numeric.shape[1]:
        _add_gaussian(out, params, rows.numeric, np.log(layout.unit))
    if rows.codes.shape[1]:
        _add_categorical(out, params.log_prob, rows.codes, layout.offsets)
    return out


def _add_gaussian(
    out: FloatArray, params: Params, numeric: FloatArray, log_unit: FloatArray
) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        _add_squares(out, params, numeric, log_unit)
    far = ~np.isfinite(out).all(axis=1)
    if far.any():
        # so far from the training data that squares overflow: count them as just as far
        part = np.zeros((int(far.sum()), len(params.mean)))
        _add_squares(part, params, np.clip(numeric[far], -1e100, 1e100), log_unit)
        out[far] = part


def _add_squares(
    out: FloatArray, params: Params, numeric: FloatArray, log_unit: FloatArray
) -> None:
    missing = np.isnan(numeric)
    holes = missing.any()
    values = np.where(missing, 0.0, numeric) if holes else numeric
    precision = params.scale**-2.0
    pull = params.mean * precision
    constant = params.mean * pull + 2.0 * (np.log(params.scale) + log_unit) + LOG_2PI
    # sum of (x - mean)^2 / scale^2 multiplied out, so that the work is in matrix products
    out += (values * values) @ (-0.5 * precision).T
    out += values @ pull.T
    out -= 0.5 * ((~missing).astype(np.float64) @ constant.T if holes else constant.sum(axis=1))
    for k in np.flatnonzero(params.scale.min(axis=1) < NARROW):
        distance = (numeric - params.mean[k]) / params.scale[k]
        distance *= distance
        distance += 2.0 * (np.log(params.scale[k]) + log_unit) + LOG_2PI
        if holes:
            distance[missing] = 0.0
        out[:, k] = -0.5 * distance.sum(axis=1)


def _add_categorical(
    out: FloatArray, log_prob: FloatArray, codes: CodeArray, offsets: IndexArray
) -> None:
    table = np.ascontiguousarray(log_prob.T)
    for j in range(codes.shape[1]):
        # the row of zeros at the end is what code -1, missing, picks
        levels = np.vstack([table[offsets[j] : offsets[j + 1]], np.zeros((1, out.shape[1]))])
        out += levels.take(codes[:, j], axis=0, mode="wrap")


def empty_stats(n_components: int, layout: Layout) -> Stats:
    """Statistics of no rows."""
    shape = (n_components, len(layout.centre))
    counts = np.zeros((n_components, int(layout.offsets[-1])))
    return Stats(np.zeros(shape), np.zeros(shape), np.zeros(shape), counts)


def soft_stats(rows: ProductRows, weights: FloatArray, layout: Layout) -> Stats:
    """Statistics of rows that belong to component k with weight weights[:, k]."""
    missing = np.isnan(rows.numeric)
    holes = missing.any()
    values = np.where(missing, 0.0, rows.numeric) if holes else rows.numeric
    present = (~missing).astype(np.float64) if holes else np.ones(1)
    cell_weight = np.empty((weights.shape[1], values.shape[1]))
    cell_weight[:] = weights.T @ present if holes else weights.sum(axis=0)[:, None]
    mean = _divide(weights.T @ values, cell_weight)
    scatter = np.maximum(weights.T @ (values * values) - cell_weight * mean * mean, 0.0)
    narrow = scatter < NARROW**2 * cell_weight
    for k in np.flatnonzero(narrow.any(axis=1)):
        distance = (values - mean[k]) * present
        distance *= distance
        scatter[k] = weights[:, k] @ distance
    counts = np.zeros((len(mean), int(layout.offsets[-1])))
    if rows.codes.shape[1]:
        counts += (one_hot(rows.codes, layout.offsets).T @ weights).T
    return Stats(cell_weight, mean, scatter, counts)


def hard_stats(
    rows: ProductRows,
    component: IndexArray,
    weight: FloatArray,
    n_components: int,
    layout: Layout,
) -> Stats:
    """Statistics of rows that belong to one component each: same result, cost free of K."""
    n_rows = len(component)
    members = sp.csc_array((weight, component, np.arange(n_rows + 1)), shape=(n_components, n_rows))
    missing = np.isnan(rows.numeric)
    holes = missing.any()
    values = np.where(missing, 0.0, rows.numeric) if holes else rows.numeric
    total = np.bincount(component, weights=weight, minlength=n_components)[:, None]
    cell_weight = np.empty((n_components, values.shape[1]))
    cell_weight[:] = members @ (~missing).astype(np.float64) if holes else total
    mean = _divide(members @ values, cell_weight)
    distance = values - mean[component]
    if holes:
        distance[missing] = 0.0
    distance *= distance
    counts = np.zeros((n_components, int(layout.offsets[-1])))
    for j in range(rows.codes.shape[1]):
        first, end = layout.offsets[j], layout.offsets[j + 1]
        n_levels = int(end - first)
        # code -1 is counted in a level of its own, which is then dropped
        place = component * (n_levels + 1) + rows.codes[:, j] + 1
        tally = np.bincount(place, weights=weight, minlength=n_components * (n_levels + 1))
        counts[:, first:end] = tally.reshape(n_components, n_levels + 1)[:, 1:]
    return Stats(cell_weight, mean, members @ distance, counts)


def merge_stats(a: Stats, b: Stats) -> Stats:
    """Statistics of the rows of both (pairwise update of Chan, Golub and LeVeque)."""
    weight = a.weight + b.weight
    shift = b.mean - a.mean
    share = _divide(b.weight, weight)
    return Stats(
        weight,
        a.mean + shift * share,
        a.scatter + b.scatter + shift * shift * a.weight * share,
        a.counts + b.counts,
    )


def pool_stats(stats: Stats) -> Stats:
    """Statistics of all components' rows taken together, as one component."""
    pooled = Stats(*(array[:1] for array in stats))
    for k in range(1, len(stats.weight)):
        pooled = merge_stats(pooled, Stats(*(array[k : k + 1] for array in stats)))
    return pooled


def estimate(stats: Stats, prior: Prior, layout: Layout) -> Params:
    """Parameters with the highest likelihood, or posterior density under `prior`."""
    seen = stats.weight > 0
    mean = np.where(seen, stats.mean, prior.mean)
    weight = stats.weight + prior.strength
    variance = _divide(stats.scatter + prior.strength * prior.variance, weight)
    variance = np.where(weight > 0, variance, prior.variance)
    return Params(
        mean,
        to_scale(variance, prior),
        log_probabilities(stats.counts + prior.alpha, layout.offsets),
    )


def to_scale(variance: FloatArray, prior: Prior) -> FloatArray:
    """Standard deviations, floored; 1 in a column that never varies.

    Such a column says nothing of how much it can vary, and another value in it must not outweigh
    all other columns.
    """
    return np.where(prior.variance > 0, np.maximum(np.sqrt(variance), SCALE_FLOOR), 1.0)


def log_probabilities(counts: FloatArray, offsets: IndexArray) -> FloatArray:
    """Log shares of each column's levels; even where a column has no count."""
    if not counts.shape[1]:
        return np.zeros(counts.shape)
    n_levels = np.diff(offsets)
    used = n_levels > 0
    total = np.zeros((len(counts), len(n_levels)))
    total[:, used] = np.add.reduceat(counts, offsets[:-1][used], axis=1)
    total = np.repeat(total, n_levels, axis=1)
    uniform = np.repeat(1.0 / np.maximum(n_levels, 1), n_levels)
    with np.errstate(divide="ignore"):
        log_prob: FloatArray = np.log(np.where(total > 0, _divide(counts, total), uniform))
    return log_prob


def expected_log_likelihood(params: Params, stats: Stats, layout: Layout) -> FloatArray:
    """Sum over the rows behind `stats` of weight * log p(x | k), shape (K,)."""
    shift = stats.mean - params.mean
    squares = stats.scatter + stats.weight * shift * shift
    log_norm = np.log(params.scale) + np.log(layout.unit) + 0.5 * LOG_2PI
    gaussian = -stats.weight * log_norm - 0.5 * squares / params.scale**2
    with np.errstate(invalid="ignore"):
        categorical = np.where(stats.counts > 0, stats.counts * params.log_prob, 0.0)
    total: FloatArray = gaussian.sum(axis=1) + categorical.sum(axis=1)
    return total


def log_prior(params: Params, prior: Prior) -> FloatArray:
    """log density of the prior at `params` up to a constant, shape (K,)."""
    ratio = prior.variance / params.scale**2
    gaussian = -0.5 * prior.strength * (2.0 * np.log(params.scale) + ratio)
    total: FloatArray = gaussian.sum(axis=1)
    if prior.alpha > 0:
        total = total + prior.alpha * params.log_prob.sum(axis=1)
    return total


def _divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient, 0 where the denominator is 0."""
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=out, where=denominator > 0)
