"""Mixtures of Gaussians for one column in one class: densities, statistics and estimates.

A *pair* is a column in a class. Its values are a sample of one variable, and its mixture is

    p(x) = sum_m w_m N(x; mean_m, scale_m^2),

the density that the NB/M of Langseth and Nielsen (2005, section 5) has for each attribute given the
class. Many pairs are worked on at once.

Components are the first axis of everything that is computed value by value: sums over them then run
along long contiguous arrays. In parameters they are the last axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._numeric import VALUE_LIMIT
from latentclass.engine._product_mixture import PARAMETER_LIMIT


class ColumnValues(NamedTuple):
    """Distinct values, sorted by pair, then by value.

    `values` and `weight` have shape (M,). `first` and `length`, of shape (P,), say where the values
    of each pair start and how many there are.
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
    """Which components of the mixed columns exist, shape (K, n_mixed, most components)."""
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


def distinct_values(
    numeric: FloatArray, y: IndexArray, weight: FloatArray, n_classes: int
) -> tuple[ColumnValues, IndexArray]:
    """Values of some columns (NaN missing), and their pairs as class * n_columns + column."""
    n_columns = numeric.shape[1]
    row, column = np.nonzero(~np.isnan(numeric))
    pair = y[row] * n_columns + column
    values, value_weight = numeric[row, column], weight[row]
    order = np.lexsort((values, pair))
    pair, values, value_weight = pair[order], values[order], value_weight[order]
    fresh = np.ones(len(pair), dtype=bool)
    fresh[1:] = (pair[1:] != pair[:-1]) | (values[1:] != values[:-1])
    places = np.flatnonzero(fresh)
    if len(places) < len(pair):
        value_weight = np.add.reduceat(value_weight, places)
        pair, values = pair[places], values[places]
    length = np.bincount(pair, minlength=n_classes * n_columns)
    seen = np.flatnonzero(length)
    length = length[seen]
    return ColumnValues(values, value_weight, np.cumsum(length) - length, length), seen


def take_pairs(samples: ColumnValues, pairs: IndexArray) -> ColumnValues:
    """The values of some pairs; a pair may be named several times."""
    length = samples.length[pairs]
    first = np.cumsum(length) - length
    place = np.arange(length.sum()) + np.repeat(samples.first[pairs] - first, length)
    return ColumnValues(samples.values[place], samples.weight[place], first, length)


def pair_weight(samples: ColumnValues) -> FloatArray:
    """Weight of the rows of each pair."""
    return np.add.reduceat(samples.weight, samples.first) if len(samples.first) else np.zeros(0)


def _shares(distance: FloatArray, constant: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the components in each value, and the log of the sum that they are shares of.

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


def expect_values(samples: ColumnValues, parts: ColumnComponents) -> tuple[FloatArray, Moments]:
    """Log-likelihood (R,) of the values of each pair, and the statistics of its components.

    Sums are taken around the current means and in units of the current scales, so that narrow
    components lose no digits.
    """

    def spread(array: FloatArray) -> FloatArray:
        return np.repeat(np.ascontiguousarray(array.T), samples.length, axis=1)

    def total(array: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(array, samples.first, axis=-1))

    distance = samples.values - spread(parts.mean)
    distance *= spread(1.0 / parts.scale)
    share, log_total = _shares(distance, spread(parts.log_weight - np.log(parts.scale)))
    share *= samples.weight
    weight = total(share)
    share *= distance
    first = total(share)
    share *= distance
    moments = moments_about(weight.T, first.T, total(share).T, parts)
    return total(samples.weight * log_total), moments


def moments_about(
    weight: FloatArray, first: FloatArray, second: FloatArray, parts: ColumnComponents
) -> Moments:
    """Statistics from sums of (x - mean) / scale and of its square."""
    shift = np.divide(first, weight, out=np.zeros_like(first), where=weight > 0)
    scatter = parts.scale**2 * np.maximum(second - first * shift, 0.0)
    return Moments(weight, parts.mean + parts.scale * shift, scatter)


def merge_moments(a: Moments, b: Moments) -> Moments:
    """Merge the statistics of two sets of rows."""
    none = np.zeros(0)
    merged = product.merge_stats(product.Stats(*a, none), product.Stats(*b, none))
    return Moments(merged.weight, merged.mean, merged.scatter)


def estimate_parts(moments: Moments, spread: Spread) -> ColumnComponents:
    """Return the mixtures with the highest likelihood, or posterior density, given statistics."""
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
    """Log density of the prior, up to a constant, summed over the variances in use."""
    ratio = spread.variance / parts.scale**2
    each = -0.5 * spread.strength * (2.0 * np.log(parts.scale) + ratio)
    total: FloatArray = np.where(used, each, 0.0).sum(axis=-1)
    return total


def bounded_components(
    log_weight: FloatArray, mean: FloatArray, log_scale: FloatArray
) -> ColumnComponents:
    """Clip parameters: values are in [-1, 1], so larger ones come from a wrong extrapolation."""
    scale = np.exp(np.clip(log_scale, np.log(product.SCALE_FLOOR), np.log(PARAMETER_LIMIT)))
    return ColumnComponents(log_weight, np.clip(mean, -PARAMETER_LIMIT, PARAMETER_LIMIT), scale)


def mixture_log_density(
    parts: ColumnComponents, numeric: FloatArray, unit: FloatArray
) -> FloatArray:
    """log p(observed cells | class) of mixed columns, shape (n_rows, K), in the data's own units.

    `parts` have shape (K, p, k), `numeric` (n_rows, p).
    """
    out = np.zeros((len(parts.mean), len(numeric)))
    for j in range(numeric.shape[1]):
        out += column_shares(parts, numeric[:, j], j, unit)[2]
    return out.T


def column_shares(
    parts: ColumnComponents, values: FloatArray, j: int, unit: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distances and shares (k, K, n_rows) of column j; log density (K, n_rows), 0 if missing."""
    log_weight, mean, scale = (np.moveaxis(array[:, j], 1, 0)[:, :, None] for array in parts)
    missing = np.isnan(values)
    # squares of larger values would overflow
    known = np.clip(np.where(missing, 0.0, values), -VALUE_LIMIT, VALUE_LIMIT)
    distance = (known - mean) / scale
    share, log_total = _shares(distance, log_weight - np.log(scale))
    log_total -= np.log(unit[j])
    log_total[:, missing] = 0.0
    return distance, share, log_total


def mixture_peaks(parts: ColumnComponents) -> tuple[FloatArray, FloatArray]:
    """Where each mixture's density is highest, and its log there; `parts` of shape (..., k).

    The modes are fixed points of x = sum of shares * mean / scale^2 over sum of shares / scale^2;
    a search starts at the mean of each component.
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
