"""Product densities: Gaussian and categorical columns that are independent given a component.

A *component* is a class of naive Bayes, a component of a mixture, or either of these in one of
several restarts. It is always the first axis of parameters and statistics. There are K components,
p continuous columns and L levels, those of all discrete columns laid end to end (see `Layout`).

    log p(x | k) = sum_j log N(x_j; mean_kj, scale_kj^2) + sum_j log_prob_k[offset_j + x_j]

The sums are over the observed columns: leaving out the term of a missing cell integrates it out.
This is the product over i of P(x_i | c) in eq. (2) of Davidson's paper on latent variable
classifiers (`docs/reference/notation.md`).

Statistics of disjoint sets of rows can be merged. So rows can come in blocks, with weights and with
missing cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._counts import indicator_rows
from latentclass.engine._numeric import LOG_2PI as LOG_2PI
from latentclass.engine._numeric import VALUE_LIMIT, divide, sums_without_each

SCALE_FLOOR = 1e-12
"""Smallest standard deviation, in units of half the range of the column. It keeps the density
finite if all values of a component are equal, and is just above the rounding error of such values.
"""

NARROW = 1e-3
"""Below this standard deviation, in the same units, squares are not multiplied out: the terms would
be a million times larger than their sum, which would lose its last digits."""

SLIVER = 1e-9
"""Weight that is left of a part of this size, relative to the whole, is a rounding error."""

JOINED_LEVELS, ROWS_PER_ENTRY = 2**8, 4
"""Most combinations of levels of columns that are looked up together, and the rows for each of them
from which on this pays. The table stays small."""


class Layout(NamedTuple):
    """Units of the continuous columns and places of the discrete levels.

    Attributes
    ----------
    centre, unit : arrays of shape (p,)
        Middle and half width of the range of each continuous column. The engine works with
        (x - centre) / unit, which lies in [-1, 1]. So squares neither overflow nor underflow, and
        results do not depend on the units of measurement.
    offsets : array of shape (n_discrete + 1,)
        Discrete column j has levels offsets[j] to offsets[j + 1] - 1.
    """

    centre: FloatArray
    unit: FloatArray
    offsets: IndexArray


class ProductRows(NamedTuple):
    """A block of rows: `numeric` in the units of the engine, NaN missing; `codes`, -1 missing."""

    numeric: FloatArray
    codes: CodeArray


class Params(NamedTuple):
    """Parameters of K components, in the units of the engine."""

    mean: FloatArray
    scale: FloatArray
    log_prob: FloatArray


class Stats(NamedTuple):
    """Sufficient statistics of K components.

    `weight`, `mean` and `scatter` (K, p) are the weight of the observed cells, their mean, and
    their weighted sum of squared deviations from the mean. `counts` (K, L) is the weight of each
    level.
    """

    weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    counts: FloatArray


class Prior(NamedTuple):
    """Conjugate prior of the parameters; with `alpha` and `strength` 0, plain maximum likelihood.

    Attributes
    ----------
    alpha : float
        Pseudo-count of every level; 1 is Laplace smoothing.
    strength : float
        Number of pseudo-rows that pull each variance towards `variance`.
    mean, variance : arrays of shape (p,)
        Mean and variance of each whole column. A component without observed cells gets them.
    """

    alpha: float
    strength: float
    mean: FloatArray
    variance: FloatArray


class Pull(NamedTuple):
    """What a prior of classes has beside `Prior` (see `_shrinkage`); as it comes, nothing.

    Attributes
    ----------
    mean : array of shape (p,), or 0
        Number of pseudo-rows that pull each mean towards that of the column.
    variance : array of shape (p,), optional
        Variance towards which variances are pulled, instead of that of the whole column.
    mass : array of shape (L,), or 0
        Pseudo-count of each level beside `alpha`.
    highest : float
        The highest value of the log density of the prior, which is taken from it: so an objective
        is about that of the rows, however strong the prior is.
    """

    mean: FloatArray | float = 0.0
    variance: FloatArray | None = None
    mass: FloatArray | float = 0.0
    highest: float = 0.0


NO_PULL = Pull()


def measure_range(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the centre and unit of columns, given their smallest and largest values.

    The unit of a constant column is its absolute value, or 1 if it is zero. A column without values
    (NaN) gets centre 0 and unit 1.
    """
    low, high = np.nan_to_num(low), np.nan_to_num(high)
    centre = low / 2 + high / 2
    unit = high / 2 - low / 2
    unit = np.where(unit > 0, unit, np.abs(centre))
    return centre, np.where(unit > 0, unit, 1.0)


def to_rows(numeric: FloatArray, codes: CodeArray, layout: Layout) -> ProductRows:
    """Convert a block of table rows to the units of the engine."""
    scaled = numeric - layout.centre
    scaled /= layout.unit
    return ProductRows(scaled, codes)


def one_hot(codes: CodeArray, offsets: IndexArray) -> sp.csr_array:
    """Return codes as an (n_rows, L) indicator matrix; a missing cell has no entry."""
    return indicator_rows(np.where(codes >= 0, codes + offsets[:-1], -1), int(offsets[-1]))


def log_density(params: Params, rows: ProductRows, layout: Layout) -> FloatArray:
    """log p(x | k) of the observed cells in the units of the data, shape (n_rows, K)."""
    n_rows, n_components = len(rows.numeric), len(params.mean)
    out = np.zeros((n_rows, n_components))
    if rows.numeric.shape[1]:
        _add_gaussian(out, params, rows.numeric, np.log(layout.unit))
    if rows.codes.shape[1]:
        _add_categorical(out, params.log_prob, rows.codes, layout.offsets)
    return out


def log_density_without_each(params: Params, rows: ProductRows, layout: Layout) -> FloatArray:
    """The same without each column in turn, continuous ones first, (n_rows, n_columns, K)."""
    return sums_without_each(_cell_log_density(params, rows, layout))


def _cell_log_density(params: Params, rows: ProductRows, layout: Layout) -> FloatArray:
    """log p(cell | k) of each cell; 0 where it is missing."""
    near = np.clip(rows.numeric, -VALUE_LIMIT, VALUE_LIMIT)[..., None]
    distance = (near - params.mean.T) / params.scale.T
    constant = 2.0 * (np.log(params.scale.T) + np.log(layout.unit)[:, None]) + LOG_2PI
    numeric = -0.5 * (distance * distance + constant)
    numeric[np.isnan(rows.numeric)] = 0.0
    known = rows.codes >= 0
    level = np.where(known, rows.codes + layout.offsets[:-1], 0)
    discrete = np.zeros((*level.shape, len(params.log_prob)))
    discrete[known] = params.log_prob.T[level[known]]
    return np.concatenate([numeric, discrete], axis=1)


def _add_gaussian(
    out: FloatArray, params: Params, numeric: FloatArray, log_unit: FloatArray
) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        _add_squares(out, params, numeric, log_unit)
    far = ~np.isfinite(out).all(axis=1)
    if far.any():
        # squares overflowed: move these values to the largest distance that can be squared
        part = np.zeros((int(far.sum()), len(params.mean)))
        near = np.clip(numeric[far], -VALUE_LIMIT, VALUE_LIMIT)
        _add_squares(part, params, near, log_unit)
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
    # the sum of (x - mean)^2 / scale^2 is multiplied out, so that matrix products do the work
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
    n_rows, n_components = out.shape
    by_column = np.array(codes.T, dtype=np.intp, order="C")  # its columns in one piece each
    by_column += 1  # so that a missing cell, code -1, picks the row of zeros in front
    nothing = np.zeros((1, n_components))
    widths = np.diff(offsets) + 1
    for columns in _joined_columns(widths, JOINED_LEVELS):
        table, place = nothing, np.zeros(n_rows, dtype=np.intp)
        # One table for all combinations of some columns: fewer rows to pick and add. If it does not
        # pay, the same numbers are added in the same order: the number of rows changes no bit.
        joined = ROWS_PER_ENTRY * widths[columns].prod() <= n_rows
        for j in columns:
            levels = np.concatenate([nothing, log_prob[:, offsets[j] : offsets[j + 1]].T])
            if joined:
                table = (table[:, None] + levels).reshape(-1, n_components)
                place *= len(levels)
                place += by_column[j]
            else:
                table = table + levels.take(by_column[j], axis=0)
        out += table.take(place, axis=0) if joined else table


def _joined_columns(n_levels: IndexArray, most: int) -> Iterator[list[int]]:
    """Runs of columns with at most so many combinations of levels, or of a single column."""
    run: list[int] = []
    n_joined = 1
    for j, n_own in enumerate(n_levels.tolist()):
        if run and n_joined * n_own > most:
            yield run
            run, n_joined = [], 1
        run.append(j)
        n_joined *= n_own
    if run:
        yield run


def empty_stats(n_components: int, layout: Layout) -> Stats:
    """Return the statistics of an empty set of rows."""
    shape = (n_components, len(layout.centre))
    counts = np.zeros((n_components, int(layout.offsets[-1])))
    return Stats(np.zeros(shape), np.zeros(shape), np.zeros(shape), counts)


def soft_stats(rows: ProductRows, weights: FloatArray, layout: Layout) -> Stats:
    """Return the statistics of rows that belong to component k with weight weights[:, k]."""
    missing = np.isnan(rows.numeric)
    holes = missing.any()
    values = np.where(missing, 0.0, rows.numeric) if holes else rows.numeric
    present = (~missing).astype(np.float64) if holes else np.ones(1)
    cell_weight = np.empty((weights.shape[1], values.shape[1]))
    cell_weight[:] = weights.T @ present if holes else weights.sum(axis=0)[:, None]
    mean = divide(weights.T @ values, cell_weight)
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
    """Return the statistics of rows that belong to one component each.

    Equal to `soft_stats` with indicator weights, but the cost does not depend on K.
    """
    n_rows = len(component)
    members = sp.csc_array((weight, component, np.arange(n_rows + 1)), shape=(n_components, n_rows))
    missing = np.isnan(rows.numeric)
    holes = missing.any()
    values = np.where(missing, 0.0, rows.numeric) if holes else rows.numeric
    total = np.bincount(component, weights=weight, minlength=n_components)[:, None]
    cell_weight = np.empty((n_components, values.shape[1]))
    cell_weight[:] = members @ (~missing).astype(np.float64) if holes else total
    mean = divide(members @ values, cell_weight)
    distance = values - mean.take(component, axis=0)
    if holes:
        distance[missing] = 0.0
    distance *= distance
    counts = np.zeros((n_components, int(layout.offsets[-1])))
    for j in range(rows.codes.shape[1]):
        first, end = layout.offsets[j], layout.offsets[j + 1]
        n_levels = int(end - first)
        # missing cells, code -1, are counted as an extra level that is then dropped
        place = component * (n_levels + 1) + rows.codes[:, j] + 1
        tally = np.bincount(place, weights=weight, minlength=n_components * (n_levels + 1))
        counts[:, first:end] = tally.reshape(n_components, n_levels + 1)[:, 1:]
    return Stats(cell_weight, mean, members @ distance, counts)


def merge_stats(a: Stats, b: Stats) -> Stats:
    """Merge the statistics of two sets of rows (pairwise update of Chan, Golub and LeVeque)."""
    weight = a.weight + b.weight
    shift = b.mean - a.mean
    share = divide(b.weight, weight)
    return Stats(
        weight,
        a.mean + shift * share,
        a.scatter + b.scatter + shift * shift * a.weight * share,
        a.counts + b.counts,
    )


def pool_stats(stats: Stats) -> Stats:
    """Merge the statistics of all components into those of a single component."""
    pooled = Stats(*(array[:1] for array in stats))
    for k in range(1, len(stats.weight)):
        pooled = merge_stats(pooled, Stats(*(array[k : k + 1] for array in stats)))
    return pooled


def estimate(stats: Stats, prior: Prior, layout: Layout, pull: Pull = NO_PULL) -> Params:
    """Return the parameters with the highest likelihood, or posterior density given `prior`."""
    seen = stats.weight > 0
    mean = np.where(seen, stats.mean, prior.mean)
    usual = prior.variance if pull.variance is None else pull.variance
    scatter = stats.scatter + prior.strength * usual
    if np.any(pull.mean):
        share = divide(stats.weight, stats.weight + pull.mean)  # of the rows' own mean
        distance = mean - prior.mean
        mean = prior.mean + share * distance
        scatter += pull.mean * share * distance * distance
    weight = stats.weight + prior.strength
    variance = np.where(weight > 0, divide(scatter, weight), prior.variance)
    return Params(
        mean,
        to_scale(variance, prior),
        log_probabilities(stats.counts + prior.alpha + pull.mass, layout.offsets),
    )


def left_out_log_density(
    stats: Stats,
    rows: ProductRows,
    component: IndexArray,
    removed: FloatArray,
    prior: Prior,
    layout: Layout,
    pull: Pull = NO_PULL,
) -> FloatArray:
    """log p(x | own component) with the weight `removed` of the row taken out of the component.

    The statistics are downdated, so this costs about as much as one density of each row.
    """
    missing = np.isnan(rows.numeric)
    gone = np.where(missing, 0.0, removed[:, None])
    weight, mean, scatter = (array[component] for array in stats[:3])
    shift = np.where(missing, 0.0, rows.numeric - mean)
    rest = weight - gone
    rest[rest <= SLIVER * weight] = 0.0
    left = Stats(
        rest,
        mean - divide(gone, rest) * shift,
        np.where(rest > 0, np.maximum(scatter - divide(gone * weight, rest) * shift**2, 0.0), 0.0),
        np.empty((len(rest), 0)),
    )
    numbers = layout._replace(offsets=np.zeros(1, dtype=np.intp))
    own = estimate(left, prior, numbers, pull._replace(mass=0.0))
    near = np.clip(rows.numeric, -VALUE_LIMIT, VALUE_LIMIT)
    distance = (near - own.mean) / own.scale
    each = -0.5 * (distance**2 + 2.0 * (np.log(own.scale) + np.log(layout.unit)) + LOG_2PI)
    total = np.where(missing, 0.0, each).sum(axis=1)
    mass = np.broadcast_to(prior.alpha + np.asarray(pull.mass), stats.counts.shape[1:])
    for j, (first, end) in enumerate(zip(layout.offsets[:-1], layout.offsets[1:], strict=True)):
        shown = np.flatnonzero(rows.codes[:, j] >= 0)
        counts = stats.counts[component[shown], first:end] + mass[first:end]
        level = np.arange(len(shown)), rows.codes[shown, j]
        whole = counts.sum(axis=1)
        share = np.full(len(shown), 1.0 / max(1, int(end - first)))
        rest = whole - removed[shown]
        np.divide(counts[level] - removed[shown], rest, out=share, where=rest > SLIVER * whole)
        with np.errstate(divide="ignore"):
            total[shown] += np.log(np.maximum(share, 0.0))
    return np.asarray(total)


def to_scale(variance: FloatArray, prior: Prior) -> FloatArray:
    """Return standard deviations, at least SCALE_FLOOR, and 1 for a constant column.

    The data do not say how much a constant column can vary. With a tiny scale, a different value in
    a new row would outweigh all other columns.
    """
    return np.where(prior.variance > 0, np.maximum(np.sqrt(variance), SCALE_FLOOR), 1.0)


def log_probabilities(counts: FloatArray, offsets: IndexArray) -> FloatArray:
    """Return the log share of each level in its column; equal shares if a column has no counts."""
    if not counts.shape[1]:
        return np.zeros(counts.shape)
    n_levels = np.diff(offsets)
    used = n_levels > 0
    total = np.zeros((len(counts), len(n_levels)))
    total[:, used] = np.add.reduceat(counts, offsets[:-1][used], axis=1)
    total = np.repeat(total, n_levels, axis=1)
    uniform = np.repeat(1.0 / np.maximum(n_levels, 1), n_levels)
    with np.errstate(divide="ignore"):
        log_prob: FloatArray = np.log(np.where(total > 0, divide(counts, total), uniform))
    return log_prob


def expected_log_likelihood(params: Params, stats: Stats, layout: Layout) -> FloatArray:
    """Sum of weight * log p(x | k) over the rows summarised in `stats`, shape (K,)."""
    shift = stats.mean - params.mean
    squares = stats.scatter + stats.weight * shift * shift
    log_norm = np.log(params.scale) + np.log(layout.unit) + 0.5 * LOG_2PI
    gaussian = -stats.weight * log_norm - 0.5 * squares / params.scale**2
    with np.errstate(invalid="ignore"):
        categorical = np.where(stats.counts > 0, stats.counts * params.log_prob, 0.0)
    total: FloatArray = gaussian.sum(axis=1) + categorical.sum(axis=1)
    return total


def log_prior(params: Params, prior: Prior, pull: Pull = NO_PULL) -> FloatArray:
    """Log density of the prior at `params`, up to a constant, shape (K,)."""
    usual = prior.variance if pull.variance is None else pull.variance
    ratio = usual / params.scale**2
    gaussian = -0.5 * prior.strength * (2.0 * np.log(params.scale) + ratio)
    if np.any(pull.mean):
        distance = (params.mean - prior.mean) / params.scale
        gaussian -= 0.5 * pull.mean * distance * distance
    total: FloatArray = gaussian.sum(axis=1)
    if prior.alpha > 0 or np.any(pull.mass):
        total = total + ((prior.alpha + pull.mass) * params.log_prob).sum(axis=1)
    return total - pull.highest if pull.highest else total


def settle(prior: Prior, pull: Pull, layout: Layout) -> Pull:
    """The pull with the highest value of the prior, which is that at its own mode."""
    nothing = empty_stats(1, layout)
    best = estimate(nothing, prior, layout, pull)
    return pull._replace(highest=float(log_prior(best, prior, pull)[0]))
