"""Models that are Gaussian given the class and a component, and rows prepared for their E-step.

A *class component* is a pair of a class y and a component m. A labelled row belongs to a component
of its class, an unlabelled row to any class component. Discrete columns depend on the class only.
The models of Langseth and Nielsen (2005, section 3.2) have this form: given Y = y and M = m, the
attributes X are Gaussian (Appendix B).

There are S starts, Y classes, M components, n continuous columns, L levels of the discrete columns
and G weightings of the rows, such as the training sets of a cross-validation. Each start uses one
weighting.

A model turns its parameters into `ClassComponents`, and `_expectation` has the E-step. If the class
component of all rows is known (one component, all rows labelled), sums over the rows with the same
cells observed are all that it needs. They are made once, and the cost of an E-step does not depend
on the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._numeric import VALUE_LIMIT as VALUE_LIMIT
from latentclass.engine._numeric import divide

T = TypeVar("T", bound=tuple[Any, ...])

UNLABELLED = -1

BLOCK_FEATURES = 2**18
"""Size of a block of features in numbers (2 MB), small enough for the processor's cache."""

BLOCK_ROWS = 64
"""Smallest number of rows in a block. With fewer, tables of many columns would spend most of the
time on the work that is done once per block."""

SUMMED_ROWS = 256
"""Rows of a class that are summed at once, at least. With fewer, tables of many columns would spend
most of the time on adding the sums of blocks."""

KEPT_FEATURES = 2**24
"""Features are kept from one step to the next if they are no more numbers than this (128 MB)."""


SUMMED_SHARE = 1 / 3
"""Rows with missing cells are kept as the sums of their patterns if each pattern has, on average,
at least this share of the columns in rows."""


class ClassComponents(NamedTuple):
    """S models: weights and Gaussians of the class components, and tables of the discrete columns.

    Attributes
    ----------
    weighting : array of shape (S,)
        Which weighting of the rows each start uses.
    log_weight : array of shape (S, Y, M)
        log P(class, component): P(Y = y) P(M = m | Y = y) in the LCM paper.
    gaussians : Gaussians with leading axes (S, Y, M), or None
    log_prob : array of shape (S, Y, L)
        log P(level | class) of the discrete columns.
    factors : Factors with leading axes (S, Y, M), or None
        The same Gaussians in factored form, if they have low rank. They serve rows with missing
        cells, and without `gaussians` all rows.
    """

    weighting: IndexArray
    log_weight: FloatArray
    gaussians: gaussian.Gaussians | None
    log_prob: FloatArray
    factors: factored.Factors | None = None

    @property
    def full(self) -> gaussian.Gaussians:
        """The Gaussians, where there must be some."""
        assert self.gaussians is not None
        return self.gaussians


class Group(NamedTuple):
    """Rows of one class, or unlabelled rows; either all complete or all with missing cells.

    `table` holds the features of complete rows, if they are kept; `patterns` the rows with missing
    cells.
    """

    label: int
    rows: FloatArray
    table: FloatArray | None
    patterns: gaussian.Patterns | None
    weight: FloatArray
    codes: CodeArray


class PatternSums(NamedTuple):
    """Sums over rows of one class with missing cells, whose class component is known.

    `observed` (P, n) marks the observed cells of each pattern; `moments`, with leading axes (G, P),
    are 0 for the other cells.
    """

    label: int
    observed: BoolArray
    moments: gaussian.Moments


@dataclass(frozen=True)
class ComponentData:
    """Rows, prepared for the E-step.

    Attributes
    ----------
    groups : list
        Rows whose class component or values are not fully known.
    known : Moments with leading axes (G, Y)
        Sums over the complete rows whose class component is known.
    known_counts : array of shape (G, Y, L)
        Level counts of all labelled rows.
    labelled : array of shape (G, Y)
        Weight of the labelled rows of each class.
    offsets : array
        First level of each discrete column (see `_product.Layout`).
    total_weight : array of shape (G,)
    n_jobs : int or None
    known_patterns : list
        The same as `known` of rows with missing cells, by class and pattern.
    """

    groups: list[Group]
    known: gaussian.Moments
    known_counts: FloatArray
    labelled: FloatArray
    offsets: IndexArray
    total_weight: FloatArray
    n_jobs: int | None = None
    known_patterns: list[PatternSums] = field(default_factory=list)

    @property
    def n_columns(self) -> int:
        """Number of continuous columns."""
        return int(self.known.total.shape[2])


def gather_rows(
    values: FloatArray,
    codes: CodeArray,
    y: IndexArray,
    weights: FloatArray,
    *,
    n_classes: int,
    one_component: bool,
    offsets: IndexArray,
    width: int = 1,
    rank: int | None = None,
    n_jobs: int | None = None,
) -> ComponentData:
    """Sum the rows of which everything is known, and sort the others into groups.

    Parameters
    ----------
    values : array of shape (N, n)
        Standardised continuous columns, NaN missing.
    codes : array of shape (N, n_discrete)
        Levels of the discrete columns, -1 missing.
    y : array of shape (N,)
        Class codes, -1 unlabelled.
    weights : array of shape (G, N)
    n_classes : int
    one_component : bool
        Whether the class of a labelled row is also its class component.
    offsets : array
    width : int
        Number of class components of all starts together. Blocks have room for one number per row
        and class component, or 1 + `rank` numbers.
    rank : int or None
        Number of latent variables, if the Gaussians will have factors.
    n_jobs : int or None
    """
    n, n_weightings = values.shape[1], len(weights)
    rank = None if rank is None else min(rank, n)
    incomplete = np.isnan(values).any(axis=1)
    summed = (y != UNLABELLED) & ~incomplete & one_component
    known = sum_classes(values[summed], y[summed], weights[:, summed], n_classes)
    counts = np.zeros((n_weightings, n_classes, int(offsets[-1])))
    labelled = np.zeros((n_weightings, n_classes))
    groups: list[Group] = []
    known_patterns: list[PatternSums] = []
    narrow = rank is None or factored.is_narrow(n, rank)
    n_features = gaussian.count_features(n)
    most_full = max(BLOCK_ROWS, BLOCK_FEATURES // max(n_features, width))
    most_factored = factor_block(n, width, rank or 0)
    most = most_full if narrow else most_factored
    keep = narrow and len(values) * n_features <= KEPT_FEATURES
    for label in range(UNLABELLED, n_classes):
        mine = y == label
        if label != UNLABELLED:
            labelled[:, label] = weights[:, mine].sum(axis=1)
        if label != UNLABELLED and codes.shape[1]:
            marks = product.one_hot(codes[mine], offsets)
            counts[:, label] = (marks.T @ weights[:, mine].T).T
        rows = np.flatnonzero(mine & ~incomplete & ~summed)
        for start in range(0, len(rows), most):
            chosen = rows[start : start + most]
            block = values[chosen]
            table = gaussian.features(block) if keep else None
            groups.append(Group(label, block, table, None, weights[:, chosen], codes[chosen]))
        rows = np.flatnonzero(mine & incomplete)
        if rows.size:
            patterns, order = gaussian.group_patterns(values[rows])
            rows = rows[order]
            few = len(rows) >= SUMMED_SHARE * n * len(patterns.observed)
            if label != UNLABELLED and one_component and rank is not None and few:
                moments = gaussian.sum_patterns(patterns, weights[:, rows])
                known_patterns.append(PatternSums(label, patterns.observed, moments))
                continue
            for part in gaussian.split_patterns(
                patterns, most_full if rank is None else most_factored
            ):
                chosen, rows = np.split(rows, [len(part.rows)])
                groups.append(
                    Group(label, part.rows, None, part, weights[:, chosen], codes[chosen])
                )
    total = weights.sum(axis=1)
    return ComponentData(groups, known, counts, labelled, offsets, total, n_jobs, known_patterns)


def sum_classes(
    values: FloatArray, y: IndexArray, weights: FloatArray, n_classes: int
) -> gaussian.Moments:
    """Return the moments of complete rows with leading axes (G, Y); `weights` is (G, n_rows)."""
    n_weightings, n = len(weights), values.shape[1]
    out = gaussian.no_moments((n_weightings, n_classes), n)
    most = max(SUMMED_ROWS, BLOCK_FEATURES // max(1, n))
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)
        for start in range(0, len(rows), most):
            chosen = rows[start : start + most]
            block, weight = values[chosen], weights[:, chosen]
            out.weight[:, k] += weight.sum(axis=1)
            out.total[:, k] += weight @ block
            for g in range(n_weightings):
                scaled = block * np.sqrt(weight[g])[:, None]
                out.square[g, k] += scaled.T @ scaled  # BLAS takes half the time for such a product
    return out


def add_known(data: ComponentData, part: ComponentData) -> ComponentData:
    """Add the rows of `part`, in which everything is known, to the data."""
    return replace(
        data,
        known=gaussian.add_moments(data.known, part.known),
        known_counts=data.known_counts + part.known_counts,
        labelled=data.labelled + part.labelled,
        total_weight=data.total_weight + part.total_weight,
    )


def known_data(known: gaussian.Moments, offsets: IndexArray, counts: FloatArray) -> ComponentData:
    """Make data from sums alone: moments with leading axes (G, Y), level `counts` (G, Y, L)."""
    return ComponentData([], known, counts, known.weight, offsets, known.weight.sum(axis=1))


def column_ranks(data: ComponentData) -> IndexArray:
    """Rank the columns by their contents, shape (G, n).

    Random numbers are assigned to columns by rank. So a start depends neither on the order of the
    columns nor on that of the classes. Columns with the same contents keep their order.
    """
    weight, total, square = data.known
    seen = np.repeat(weight[..., None], total.shape[-1], axis=-1)
    spread = np.einsum("gyii->gyi", square).copy()
    total = total.copy()
    for label, observed, moments in data.known_patterns:
        seen[:, label] += moments.weight @ observed
        total[:, label] += moments.total.sum(axis=1)
        spread[:, label] += np.einsum("gpii->gi", moments.square)
    for group in data.groups:
        if group.label != UNLABELLED:
            rows = np.nan_to_num(group.rows)
            seen[:, group.label] += group.weight @ ~np.isnan(group.rows)
            total[:, group.label] += group.weight @ rows
            spread[:, group.label] += group.weight @ rows**2
    share = divide(seen, seen.sum(axis=1, keepdims=True))
    mean, spread = divide(total, seen), divide(spread, seen)
    key = (share * (mean**2 + 0.3 * spread**2)).sum(axis=1)
    # rounding errors must not decide the order of equal columns
    return np.argsort(np.argsort(np.round(key, 6), axis=1, kind="stable"), axis=1)


def draw_rows(
    data: ComponentData, weighting: int, direction: FloatArray, chance: FloatArray
) -> FloatArray:
    """Draw rows: those at given shares (`chance`) of the weight, sorted along a direction.

    So a row is drawn in proportion to its weight, and the draw does not depend on the order of the
    rows. Missing cells are replaced by the column mean, 0.
    """
    rows = np.concatenate([np.nan_to_num(group.rows) for group in data.groups])
    weight = np.concatenate([group.weight[weighting] for group in data.groups])
    order = np.argsort(rows @ direction, kind="stable")
    reached = np.cumsum(weight[order])
    place = np.searchsorted(reached, chance * reached[-1], side="right")
    return np.asarray(rows[order[np.minimum(place, len(order) - 1)]])


def square_root(covariance: FloatArray) -> FloatArray:
    """Return the symmetric square root of a covariance; negative eigenvalues count as 0."""
    values, axes = np.linalg.eigh(covariance)
    root: FloatArray = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return root


class DensityPart(NamedTuple):
    """Some rows: their places, and log p(continuous cells | class component), shape (K, n_rows).

    K counts the class components of all starts. Rows with missing cells also have their patterns
    and the Gaussians, or their latent variables, conditioned on the observed cells.
    """

    rows: IndexArray
    log_density: FloatArray
    patterns: gaussian.Patterns | None = None
    conditioned: gaussian.Conditioned | factored.Posterior | None = None


def density_parts(components: ClassComponents, values: FloatArray) -> Iterator[DensityPart]:
    """Yield the densities of rows in parts: first complete rows, then rows by their patterns."""
    values = np.clip(values, -VALUE_LIMIT, VALUE_LIMIT)
    incomplete = np.isnan(values).any(axis=1)
    complete = np.flatnonzero(~incomplete)
    if complete.size:
        yield from _complete_parts(components, values, complete)
    if not incomplete.any():
        return
    rows = np.flatnonzero(incomplete)
    patterns, order = gaussian.group_patterns(values[rows])
    rows = rows[order]
    if components.factors is None:
        gaussians = flatten_components(components.full)
        for place, part, conditioned in gaussian.condition_parts(gaussians, patterns):
            yield DensityPart(rows[place], conditioned.log_density.T, part, conditioned)
        return
    factors = flatten_components(components.factors)
    for part in gaussian.split_patterns(patterns, _factor_block(factors)):
        mine, rows = np.split(rows, [len(part.rows)])
        posterior = factored.condition(factors, part)
        yield DensityPart(mine, posterior.log_density.T, part, posterior)


def _complete_parts(
    components: ClassComponents, values: FloatArray, rows: IndexArray
) -> Iterator[DensityPart]:
    if components.gaussians is not None:
        gaussians = flatten_components(components.gaussians)
        coefficients = gaussian.coefficients(gaussians)
        most = max(BLOCK_ROWS, BLOCK_FEATURES // coefficients.shape[1])
        for start in range(0, len(rows), most):
            mine = rows[start : start + most]
            table = gaussian.features(values[mine])
            yield DensityPart(mine, gaussian.log_density(gaussians, table, coefficients))
        return
    assert components.factors is not None
    factors = flatten_components(components.factors)
    white = factored.whiten(factors)
    most = _factor_block(factors)
    for start in range(0, len(rows), most):
        mine = rows[start : start + most]
        yield DensityPart(mine, factored.log_density(factors, white, values[mine])[0])


def log_joint_rows(
    components: ClassComponents, values: FloatArray, codes: CodeArray, offsets: IndexArray
) -> FloatArray:
    """log p(x, class, component) of rows, which may have missing cells, shape (S, Y, M, n_rows)."""
    shape = components.log_weight.shape
    out = np.empty((prod(shape), len(values)))
    for part in density_parts(components, values):
        if len(part.rows) == len(values) and part.patterns is None:
            out = part.log_density  # mostly: all rows in one part, which saves a copy
        else:
            out[:, part.rows] = part.log_density
    joint = out.reshape(*shape, len(values))
    joint += components.log_weight[..., None]
    if codes.shape[1]:
        joint += discrete_log_density(components.log_prob, codes, offsets)[:, :, None]
    return joint


def leave_out_rows(components: ClassComponents, values: FloatArray) -> gaussian.LeftOut:
    """Leave out each column of each row, in all class components of all starts."""
    values = np.clip(values, -VALUE_LIMIT, VALUE_LIMIT)
    shape = (components.log_weight.size, *values.shape)
    out = gaussian.LeftOut(np.empty(shape), np.empty(shape, dtype=bool))
    patterns, order = gaussian.group_patterns(values)
    for rows in np.split(order, np.flatnonzero(np.diff(patterns.pattern)) + 1):
        if components.factors is None:
            left = gaussian.leave_out(flatten_components(components.full), values[rows])
        else:
            left = factored.leave_out(flatten_components(components.factors), values[rows])
        out.log_density[:, rows], out.exact[:, rows] = left
    return out


def add_full(components: ClassComponents) -> ClassComponents:
    """Add the full covariances of Gaussians of low rank, if complete rows are cheaper by them."""
    factors = components.factors
    if factors is None or not factored.is_narrow(*factors.loadings.shape[-2:]):
        return components
    gaussians = factored.to_gaussians(factors, factored.whiten(factors))
    return components._replace(gaussians=gaussians)


def factor_block(n: int, n_gaussians: int, rank: int) -> int:
    """Return the number of rows in a block, for which each Gaussian needs 1 + r numbers."""
    return max(BLOCK_ROWS, BLOCK_FEATURES // max(1, n, n_gaussians * (1 + rank)))


def _factor_block(factors: factored.Factors) -> int:
    n_gaussians, n, rank = factors.loadings.shape
    return factor_block(n, n_gaussians, rank)


def flatten_components(arrays: T, classes: slice = slice(None)) -> T:
    """Select some classes of arrays with leading axes (S, Y, M), and merge these axes into one."""
    parts = [array[:, classes] for array in arrays]
    size = prod(parts[0].shape[:3])
    return type(arrays)(*(part.reshape(size, *part.shape[3:]) for part in parts))


def discrete_log_density(log_prob: FloatArray, codes: CodeArray, offsets: IndexArray) -> FloatArray:
    """log P(discrete columns | class), shape (S, Y, n_rows)."""
    n_starts, n_classes, n_levels = log_prob.shape
    none = np.zeros((n_starts * n_classes, 0))
    params = product.Params(none, none, log_prob.reshape(len(none), n_levels))
    layout = product.Layout(np.zeros(0), np.ones(0), offsets)
    rows = product.ProductRows(np.zeros((len(codes), 0)), codes)
    return product.log_density(params, rows, layout).T.reshape(n_starts, n_classes, -1)
