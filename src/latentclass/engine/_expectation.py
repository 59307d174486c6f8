"""E-step of class components: the expected moments of rows, and their likelihood.

`expect` serves Gaussians with full covariance, `expect_factors` those of low rank. Both visit the
rows group by group, and what they return of disjoint rows adds up. Symbols as in
`_class_components`; K counts the class components to which the rows of a group can belong, in all
starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._class_components import (
    UNLABELLED,
    ClassComponents,
    ComponentData,
    Group,
    PatternSums,
    discrete_log_density,
    flatten_components,
)
from latentclass.engine._parallel import map_blocks


class ComponentStats(NamedTuple):
    """Expected moments of class components, leading axes (S, Y, M), and level counts (S, Y, L)."""

    weight: FloatArray
    total: FloatArray
    square: FloatArray
    counts: FloatArray


class FactorStats(NamedTuple):
    """Expected moments, leading axes (S, Y, M), and level counts (S, Y, L)."""

    moments: factored.FactorMoments
    counts: FloatArray


def expect(data: ComponentData, components: ClassComponents) -> tuple[ComponentStats, FloatArray]:
    """Return the expected moments of the class components, and the log-likelihood, shape (S,).

    The weight of a row in a class component is P(Y = y, M = m | D_j), which for a labelled row is
    the P(M = m | D_j) of Appendix B of Langseth and Nielsen (2005).
    """
    log_likelihood, counts = _expect_known(data, components)
    coefficients = gaussian.coefficients(components.full)
    sums = np.zeros(coefficients.shape)
    if coefficients.shape[2] == 1:
        known = gaussian.pack_moments(data.known)[components.weighting]
        sums[:, :, 0] += known
        log_likelihood += np.einsum("syf,syf->s", coefficients[:, :, 0], known)
    parts = partial(_full_parts, components.full, coefficients)
    _add_groups(data, components, data.groups, parts, _Expected(log_likelihood, counts, (sums,)))
    weight, total, square = gaussian.unpack_moments(sums)
    return ComponentStats(weight, total, square, counts), log_likelihood


def expect_factors(
    data: ComponentData, components: ClassComponents
) -> tuple[FactorStats, FloatArray]:
    """Do the same for Gaussians of low rank: the moments of x and of their latent variables."""
    factors = components.factors
    assert factors is not None
    white = factored.whiten(factors)
    log_likelihood, counts = _expect_known(data, components)
    sums = factored.no_moments(factors)
    groups = data.groups
    complete = [group for group in groups if group.patterns is None]
    if complete and factored.is_narrow(*factors.loadings.shape[-2:]):
        # of complete rows the moments of x tell those of the latent variables
        groups = [group for group in groups if group.patterns is not None]
        gaussians = factored.to_gaussians(factors, white)
        coefficients = gaussian.coefficients(gaussians)
        features = np.zeros(coefficients.shape)
        parts = partial(_full_parts, gaussians, coefficients)
        out = _Expected(log_likelihood, counts, (features,))
        _add_groups(data, components, complete, parts, out)
        weight, total, square = gaussian.unpack_moments(features)
        found, _ = factored.sum_moments(
            factors, white, weight, total, np.einsum("...ii->...i", square), white.slope @ square
        )
        _add(sums, found)
    if components.log_weight.shape[2] == 1:
        found, density = _expect_sums(data.known, components.weighting, factors, white)
        _add(sums, found)
        log_likelihood += density
        _add_patterns(data, components, factors, _Expected(log_likelihood, counts, sums))
    parts = partial(_factor_parts, factors, white)
    _add_groups(data, components, groups, parts, _Expected(log_likelihood, counts, sums))
    return FactorStats(sums, counts), log_likelihood


def _expect_known(
    data: ComponentData, components: ClassComponents
) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood (S,) of the levels and class components that are known, and level counts."""
    counts = data.known_counts[components.weighting]
    with np.errstate(invalid="ignore"):  # 0 rows times log 0
        log_likelihood = np.where(counts > 0, counts * components.log_prob, 0.0).sum(axis=(1, 2))
        if components.log_weight.shape[2] == 1:
            rows = data.known.weight[components.weighting]
            for label, _, moments in data.known_patterns:
                rows[:, label] += moments.weight.sum(axis=1)[components.weighting]
            shares = np.where(rows > 0, rows * components.log_weight[..., 0], 0.0)
            log_likelihood += shares.sum(axis=1)
    return log_likelihood, counts


def _expect_sums(
    known: gaussian.Moments, weighting: IndexArray, factors: factored.Factors, white: factored.White
) -> tuple[factored.FactorMoments, FloatArray]:
    """Moments of the rows that are known, and their log-density, shape (S,)."""
    product = np.empty(white.slope.shape)
    for g in np.unique(weighting):
        # one matrix product for all starts: the sums are not copied for each
        mine = weighting == g
        slope = np.moveaxis(white.slope[mine, :, 0], 0, 1)
        n_classes, n_starts, rank, n = slope.shape
        flat = slope.reshape(n_classes, n_starts * rank, n) @ known.square[g]
        product[mine, :, 0] = np.moveaxis(flat.reshape(slope.shape), 0, 1)
    weight, total, square = (
        array[weighting][:, :, None]
        for array in (known.weight, known.total, np.einsum("gyii->gyi", known.square))
    )
    moments, density = factored.sum_moments(factors, white, weight, total, square, product)
    return moments, density.sum(axis=(1, 2))


def _add_patterns(
    data: ComponentData, components: ClassComponents, factors: factored.Factors, out: _Expected
) -> None:
    """Add what is expected of rows with missing cells that are known by their sums."""
    starts = [
        (g, np.flatnonzero(components.weighting == g)) for g in np.unique(components.weighting)
    ]
    work = [(known, g, mine) for known in data.known_patterns for g, mine in starts]

    def visit(
        item: tuple[PatternSums, int, IndexArray],
    ) -> tuple[factored.FactorMoments, FloatArray]:
        known, g, mine = item
        own = factored.Factors(*(array[mine, known.label, 0] for array in factors))
        sums = gaussian.Moments(*(array[g] for array in known.moments))
        return factored.pattern_moments(own, known.observed, sums)

    for (known, _, mine), (moments, density) in zip(
        work, map_blocks(visit, work, data.n_jobs), strict=True
    ):
        out.log_likelihood[mine] += density
        for whole, part in zip(out.sums, moments, strict=True):
            whole[mine, known.label, 0] += part


@dataclass(frozen=True)
class _View:
    """The class components to which the rows of a group can belong, and these rows.

    C is the number of classes: all of them, or one if the rows are labelled.

    Attributes
    ----------
    group : Group
    classes : slice
    weight : array of shape (S, n_rows)
        Row weights that each start uses.
    log_weight : array of shape (S, C, M)
    discrete : array of shape (S, C, n_rows), or None
        log P(discrete columns | class), unless it is in `ComponentData.known_counts`.
    """

    group: Group
    classes: slice
    weight: FloatArray
    log_weight: FloatArray
    discrete: FloatArray | None

    @classmethod
    def of(cls, data: ComponentData, components: ClassComponents, group: Group) -> _View:
        unlabelled = group.label == UNLABELLED
        classes = slice(None) if unlabelled else slice(group.label, group.label + 1)
        discrete = None
        if unlabelled and group.codes.shape[1]:
            discrete = discrete_log_density(components.log_prob, group.codes, data.offsets)
        weight = group.weight[components.weighting]
        return cls(group, classes, weight, components.log_weight[:, classes], discrete)

    def share(self, log_density: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood (S,) of some rows and their weights (S, C, M, n_rows).

        `log_density` (K, n_rows) is overwritten.
        """
        log_joint = log_density.reshape(*self.log_weight.shape, -1)
        log_joint += self.log_weight[..., None]
        if self.discrete is not None:
            log_joint += self.discrete[:, :, None, rows]
        flat = log_joint.reshape(len(log_joint), -1, log_joint.shape[-1])
        log_total = _normalise(flat)
        weight = self.weight[:, rows]
        flat *= weight[:, None]
        # a fold may leave out a whole class: its rows are then impossible, but have no weight
        log_total[weight == 0] = 0.0
        return np.einsum("sr,sr->s", weight, log_total), log_joint


class _Expected(NamedTuple):
    """Log-likelihood (S,), level counts (S, Y, L), and sums with leading axes (S, Y, M)."""

    log_likelihood: FloatArray
    counts: FloatArray
    sums: tuple[FloatArray, ...]


class _Part(NamedTuple):
    """Some rows of a group, their log-densities (K, n_rows), and their sums.

    The sums, arrays with leading axis K, are a function of the weights (K, n_rows).
    """

    rows: slice
    log_density: FloatArray
    sums: Callable[[FloatArray], tuple[FloatArray, ...]]


def _add_groups(
    data: ComponentData,
    components: ClassComponents,
    groups: list[Group],
    parts: Callable[[_View], Iterator[_Part]],
    out: _Expected,
) -> None:
    """Add what is expected of groups to `out`."""

    def visit(group: Group) -> tuple[slice, _Expected]:
        view = _View.of(data, components, group)
        shape = components.log_prob.shape if view.discrete is not None else ()
        mine = _Expected(np.zeros(len(view.weight)), np.zeros(shape), ())
        for rows, density, sums in parts(view):
            log_likelihood, weights = view.share(density, rows)
            mine.log_likelihood[...] += log_likelihood
            if view.discrete is not None:
                mine.counts[...] += _level_counts(weights, group.codes[rows], data.offsets)
            new = sums(weights.reshape(-1, weights.shape[-1]))
            if mine.sums:
                _add(mine.sums, new)
            else:
                mine = mine._replace(sums=new)
        return view.classes, mine

    for classes, part in map_blocks(visit, groups, data.n_jobs):
        out.log_likelihood[...] += part.log_likelihood
        out.counts[...] += part.counts
        for whole, sums in zip(out.sums, part.sums, strict=True):
            mine = whole[:, classes]
            mine += sums.reshape(mine.shape)


def _add(sums: tuple[FloatArray, ...], new: tuple[FloatArray, ...]) -> None:
    for whole, part in zip(sums, new, strict=True):
        whole += part


def _full_parts(
    gaussians: gaussian.Gaussians, coefficients: FloatArray, view: _View
) -> Iterator[_Part]:
    """Rows under Gaussians with full covariance; the sums are those of features.

    `coefficients` (S, Y, M, f) are those of the features in the log-densities.
    """
    group = view.group
    gaussians = flatten_components(gaussians, view.classes)
    if group.patterns is None:
        table = gaussian.features(group.rows) if group.table is None else group.table
        flat = coefficients[:, view.classes].reshape(-1, coefficients.shape[-1])
        density = gaussian.log_density(gaussians, table, flat)
        yield _Part(slice(0, len(group.rows)), density, lambda weights: (weights @ table.T,))
        return
    for rows, part, conditioned in gaussian.condition_parts(gaussians, group.patterns):
        sums = partial(_full_sums, gaussians, part, conditioned)
        yield _Part(rows, conditioned.log_density.T.copy(), sums)


def _full_sums(
    gaussians: gaussian.Gaussians,
    part: gaussian.Patterns,
    conditioned: gaussian.Conditioned,
    weights: FloatArray,
) -> tuple[FloatArray]:
    moments = gaussian.conditional_moments(gaussians, part, conditioned, weights.T)
    return (gaussian.pack_moments(moments),)


def _factor_parts(factors: factored.Factors, white: factored.White, view: _View) -> Iterator[_Part]:
    """Rows under Gaussians of low rank; the sums are `FactorMoments`."""
    rows, patterns = view.group.rows, view.group.patterns
    factors = flatten_components(factors, view.classes)
    if patterns is None:
        white = flatten_components(white, view.classes)
        density, t = factored.log_density(factors, white, rows)
        sums = partial(factored.row_moments, factors, white, rows, t)
    else:
        posterior = factored.condition(factors, patterns)
        density = posterior.log_density.T.copy()
        sums = partial(factored.conditional_moments, factors, patterns, posterior)
    yield _Part(slice(0, len(rows)), density, sums)


def _normalise(log_joint: FloatArray) -> FloatArray:
    """Turn log p(row, class component) into shares, in place, and return log p(row).

    Class components are on axis 1. A row that is impossible in all of them is shared equally.
    """
    top = log_joint.max(axis=1)
    impossible = np.isneginf(top)
    if impossible.any():
        np.swapaxes(log_joint, 1, 2)[impossible] = 0.0
        top[impossible] = 0.0
    log_joint -= top[:, None]
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=1)
    log_joint /= total[:, None]
    result: FloatArray = top + np.log(total)
    result[impossible] = -np.inf
    return result


def _level_counts(responsibility: FloatArray, codes: CodeArray, offsets: IndexArray) -> FloatArray:
    """Return expected level counts, shape (S, Y, L), given weights of shape (S, Y, M, n_rows)."""
    by_class = responsibility.sum(axis=2)
    shape = by_class.shape[:2]
    marks = product.one_hot(codes, offsets)
    counts: FloatArray = (marks.T @ by_class.reshape(-1, by_class.shape[2]).T).T
    return counts.reshape(*shape, int(offsets[-1]))
