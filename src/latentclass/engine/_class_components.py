"""E-step of models that are Gaussian given the class and a component.

A *class component* is a pair of a class y and a component m. A labelled row belongs to a component
of its class, an unlabelled row to any class component. Discrete columns depend on the class only.
The models of Langseth and Nielsen (2005, section 3.2) have this form: given Y = y and M = m, the
attributes X are Gaussian (Appendix B).

There are S starts, Y classes, M components, n continuous columns, L levels of the discrete columns
and G weightings of the rows, such as the training sets of a cross-validation. Each start uses one
weighting.

A model turns its parameters into `ClassComponents`, and `expect` returns the expected moments of
each class component. If nothing is hidden (one component, all rows labelled, no missing cells), the
moments never change. They are then summed once, and the cost of an E-step does not depend on the
number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._numeric import VALUE_LIMIT as VALUE_LIMIT
from latentclass.engine._numeric import divide
from latentclass.engine._parallel import map_blocks

UNLABELLED = -1

BLOCK_FEATURES = 2**18
"""Size of a block of features in numbers (2 MB), small enough for the processor's cache."""

BLOCK_ROWS = 64
"""Smallest number of rows in a block. With fewer, tables of many columns would spend most of the
time on the work that is done once per block."""

KEPT_FEATURES = 2**24
"""Features are kept from one step to the next if they are no more numbers than this (128 MB)."""


class ClassComponents(NamedTuple):
    """S models: weights and Gaussians of the class components, and tables of the discrete columns.

    Attributes
    ----------
    weighting : array of shape (S,)
        Which weighting of the rows each start uses.
    log_weight : array of shape (S, Y, M)
        log P(class, component): P(Y = y) P(M = m | Y = y) in the LCM paper.
    gaussians : Gaussians with leading axes (S, Y, M)
    log_prob : array of shape (S, Y, L)
        log P(level | class) of the discrete columns.
    factors : Factors with leading axes (S, Y, M), or None
        The same covariances in factored form, if that makes rows with missing cells cheaper.
    """

    weighting: IndexArray
    log_weight: FloatArray
    gaussians: gaussian.Gaussians
    log_prob: FloatArray
    factors: gaussian.Factors | None = None


class ComponentStats(NamedTuple):
    """Expected moments of class components, leading axes (S, Y, M), and level counts (S, Y, L)."""

    weight: FloatArray
    total: FloatArray
    square: FloatArray
    counts: FloatArray


class _Group(NamedTuple):
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


@dataclass(frozen=True)
class ComponentData:
    """Rows, prepared for the E-step.

    Attributes
    ----------
    groups : list
        Rows whose class component or values are not fully known.
    known : array of shape (G, Y, f)
        Sums of features of the complete rows whose class component is known.
    known_counts : array of shape (G, Y, L)
        Level counts of all labelled rows.
    labelled : array of shape (G, Y)
        Weight of the labelled rows of each class.
    offsets : array
        First level of each discrete column (see `_product.Layout`).
    total_weight : array of shape (G,)
    n_jobs : int or None
    """

    groups: list[_Group]
    known: FloatArray
    known_counts: FloatArray
    labelled: FloatArray
    offsets: IndexArray
    total_weight: FloatArray
    n_jobs: int | None = None

    @property
    def n_columns(self) -> int:
        """Number of continuous columns."""
        return gaussian.count_columns(self.known.shape[2])


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
        and class component.
    n_jobs : int or None
    """
    n = values.shape[1]
    n_weightings = len(weights)
    incomplete = np.isnan(values).any(axis=1)
    known = np.zeros((n_weightings, n_classes, gaussian.count_features(n)))
    counts = np.zeros((n_weightings, n_classes, int(offsets[-1])))
    labelled = np.zeros((n_weightings, n_classes))
    groups: list[_Group] = []
    most = max(BLOCK_ROWS, BLOCK_FEATURES // max(known.shape[2], width))
    keep = len(values) * known.shape[2] <= KEPT_FEATURES
    for label in range(UNLABELLED, n_classes):
        mine = y == label
        if label != UNLABELLED:
            labelled[:, label] = weights[:, mine].sum(axis=1)
        if label != UNLABELLED and codes.shape[1]:
            marks = product.one_hot(codes[mine], offsets)
            counts[:, label] = (marks.T @ weights[:, mine].T).T
        rows = np.flatnonzero(mine & ~incomplete)
        for start in range(0, len(rows), most):
            chosen = rows[start : start + most]
            block, weight = values[chosen], weights[:, chosen]
            if label != UNLABELLED and one_component:
                known[:, label] += sum_features(block, weight)
                continue
            table = gaussian.features(block) if keep else None
            groups.append(_Group(label, block, table, None, weight, codes[chosen]))
        rows = np.flatnonzero(mine & incomplete)
        if rows.size:
            patterns, order = gaussian.group_patterns(values[rows])
            rows = rows[order]
            groups.append(
                _Group(label, patterns.rows, None, patterns, weights[:, rows], codes[rows])
            )
    return ComponentData(groups, known, counts, labelled, offsets, weights.sum(axis=1), n_jobs)


def add_known(data: ComponentData, part: ComponentData) -> ComponentData:
    """Add the rows of `part`, in which everything is known, to the data."""
    return replace(
        data,
        known=data.known + part.known,
        known_counts=data.known_counts + part.known_counts,
        labelled=data.labelled + part.labelled,
        total_weight=data.total_weight + part.total_weight,
    )


def known_data(known: FloatArray, offsets: IndexArray, counts: FloatArray) -> ComponentData:
    """Make data from sums alone: sums of features `known` (G, Y, f), level `counts` (G, Y, L)."""
    labelled = known[..., 0]
    return ComponentData([], known, counts, labelled, offsets, labelled.sum(axis=1))


def column_ranks(data: ComponentData) -> IndexArray:
    """Rank the columns by their contents, shape (G, n).

    Random numbers are assigned to columns by rank. So a start depends neither on the order of the
    columns nor on that of the classes. Columns with the same contents keep their order.
    """
    weight, total, square = gaussian.unpack_moments(data.known)
    seen = np.repeat(weight[..., None], total.shape[-1], axis=-1)
    spread = np.einsum("gyii->gyi", square).copy()
    total = total.copy()
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


def sum_features(block: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted sums of features, shape (G, f), without computing the features."""
    n = block.shape[1]
    upper = gaussian.upper_cells(n)
    out = np.empty((len(weights), gaussian.count_features(n)))
    for g, weight in enumerate(weights):
        out[g, 0] = weight.sum()
        out[g, 1 : n + 1] = weight @ block
        out[g, n + 1 :] = ((block.T * weight) @ block)[upper]
    return out


def expect(data: ComponentData, components: ClassComponents) -> tuple[ComponentStats, FloatArray]:
    """Return the expected moments of the class components, and the log-likelihood, shape (S,).

    The weight of a row in a class component is P(Y = y, M = m | D_j), which for a labelled row is
    the P(M = m | D_j) of Appendix B of Langseth and Nielsen (2005).
    """
    n_starts, n_classes, n_components = components.log_weight.shape
    sums = np.zeros((n_starts, n_classes, n_components, data.known.shape[2]))
    counts = data.known_counts[components.weighting]
    with np.errstate(invalid="ignore"):  # 0 rows times log 0
        log_likelihood = np.where(counts > 0, counts * components.log_prob, 0.0).sum(axis=(1, 2))
    coefficients = gaussian.coefficients(components.gaussians)
    if n_components == 1:
        known = data.known[components.weighting]
        sums[:, :, 0] += known
        log_likelihood += np.einsum("syf,syf->s", coefficients[:, :, 0], known)
        rows = known[..., 0]
        with np.errstate(invalid="ignore"):
            shares = np.where(rows > 0, rows * components.log_weight[..., 0], 0.0)
        log_likelihood += shares.sum(axis=1)

    def visit(group: _Group) -> tuple[int, FloatArray, FloatArray, FloatArray | None]:
        return group.label, *_expect_group(data, components, coefficients, group)

    for label, part_likelihood, part, part_counts in map_blocks(visit, data.groups, data.n_jobs):
        log_likelihood += part_likelihood
        if label == UNLABELLED:
            sums += part
        else:
            sums[:, label] += part[:, 0]
        if part_counts is not None:
            counts = counts + part_counts
    weight, total, square = gaussian.unpack_moments(sums)
    return ComponentStats(weight, total, square, counts), log_likelihood


@dataclass(frozen=True)
class _View:
    """The class components to which the rows of a group can belong, and these rows.

    C is the number of classes: all of them, or one if the rows are labelled.

    Attributes
    ----------
    group : _Group
    weight : array of shape (S, n_rows)
        Row weights that each start uses.
    log_weight : array of shape (S, C, M)
    gaussians : Gaussians with leading axis S * C * M
    coefficients : array of shape (S * C * M, f)
        Coefficients of the features in the log-densities of the Gaussians.
    factors : Factors with leading axis S * C * M, or None
    discrete : array of shape (S, C, n_rows), or None
        log P(discrete columns | class), unless it is in `ComponentData.known_counts`.
    """

    group: _Group
    weight: FloatArray
    log_weight: FloatArray
    gaussians: gaussian.Gaussians
    coefficients: FloatArray
    factors: gaussian.Factors | None
    discrete: FloatArray | None

    def share(self, log_density: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood (S,) of some rows and their weights (S, C, M, n_rows).

        `log_density` (S * C * M, n_rows) is overwritten.
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


_Part = tuple[slice, FloatArray, FloatArray, FloatArray]


def _expect_group(
    data: ComponentData, components: ClassComponents, coefficients: FloatArray, group: _Group
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the log-likelihood (S,), sums of features (S, C, M, f) and level counts of a group.

    `coefficients` (S, Y, M, f) are those of the Gaussians of all class components.
    """
    view = _view_group(data, components, coefficients, group)
    n_features = coefficients.shape[-1]
    log_likelihood = np.zeros(len(view.weight))
    sums = np.zeros((len(view.gaussians.mean), n_features))
    counts = None if view.discrete is None else np.zeros_like(components.log_prob)
    for rows, part_likelihood, part_sums, weights in _expect_rows(view):
        log_likelihood += part_likelihood
        sums += part_sums
        if counts is not None:
            counts += _level_counts(weights, group.codes[rows], data.offsets)
    return log_likelihood, sums.reshape(*view.log_weight.shape, n_features), counts


def _view_group(
    data: ComponentData, components: ClassComponents, coefficients: FloatArray, group: _Group
) -> _View:
    unlabelled = group.label == UNLABELLED
    classes = slice(None) if unlabelled else slice(group.label, group.label + 1)
    discrete = None
    if unlabelled and group.codes.shape[1]:
        discrete = discrete_log_density(components.log_prob, group.codes, data.offsets)
    return _View(
        group,
        group.weight[components.weighting],
        components.log_weight[:, classes],
        flatten_gaussians(components.gaussians, classes),
        coefficients[:, classes].reshape(-1, coefficients.shape[-1]),
        flatten_factors(components.factors, classes),
        discrete,
    )


def _expect_rows(view: _View) -> Iterator[_Part]:
    """Yield which rows, their log-likelihood, their sums of features, and their weights."""
    if view.group.patterns is None:
        yield _expect_complete(view)
    else:
        yield from _expect_incomplete(view, view.group.patterns)


def _expect_complete(view: _View) -> _Part:
    group = view.group
    rows = slice(0, len(group.rows))
    table = gaussian.features(group.rows) if group.table is None else group.table
    density = gaussian.log_density(view.gaussians, table, view.coefficients)
    log_likelihood, weights = view.share(density, rows)
    return rows, log_likelihood, weights.reshape(-1, rows.stop) @ table.T, weights


def _expect_incomplete(view: _View, patterns: gaussian.Patterns) -> Iterator[_Part]:
    gaussians = view.gaussians
    for rows, part, conditioned in gaussian.condition_parts(gaussians, patterns, view.factors):
        log_likelihood, weights = view.share(conditioned.log_density.T.copy(), rows)
        flat = weights.reshape(-1, len(part.rows)).T
        moments = gaussian.conditional_moments(gaussians, part, conditioned, flat)
        yield rows, log_likelihood, gaussian.pack_moments(moments), weights


class DensityPart(NamedTuple):
    """Some rows: their places, and log p(continuous cells | class component), shape (K, n_rows).

    K counts the class components of all starts. Rows with missing cells also have their patterns
    and the Gaussians conditioned on the observed cells.
    """

    rows: IndexArray
    log_density: FloatArray
    patterns: gaussian.Patterns | None
    conditioned: gaussian.Conditioned | None


def density_parts(components: ClassComponents, values: FloatArray) -> Iterator[DensityPart]:
    """Yield the densities of rows in parts: first complete rows, then rows by their patterns."""
    values = np.clip(values, -VALUE_LIMIT, VALUE_LIMIT)
    gaussians = flatten_gaussians(components.gaussians)
    incomplete = np.isnan(values).any(axis=1)
    complete = np.flatnonzero(~incomplete)
    weights = gaussian.coefficients(gaussians)
    most = max(BLOCK_ROWS, BLOCK_FEATURES // gaussian.count_features(values.shape[1]))
    for start in range(0, len(complete), most):
        rows = complete[start : start + most]
        density = gaussian.log_density(gaussians, gaussian.features(values[rows]), weights)
        yield DensityPart(rows, density, None, None)
    if incomplete.any():
        rows = np.flatnonzero(incomplete)
        patterns, order = gaussian.group_patterns(values[rows])
        rows = rows[order]
        factors = flatten_factors(components.factors)
        for place, part, conditioned in gaussian.condition_parts(gaussians, patterns, factors):
            yield DensityPart(rows[place], conditioned.log_density.T, part, conditioned)


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
    gaussians, factors = (
        flatten_gaussians(components.gaussians),
        flatten_factors(components.factors),
    )
    shape = (len(gaussians.mean), *values.shape)
    out = gaussian.LeftOut(np.empty(shape), np.empty(shape, dtype=bool))
    patterns, order = gaussian.group_patterns(values)
    for rows in np.split(order, np.flatnonzero(np.diff(patterns.pattern)) + 1):
        out.log_density[:, rows], out.exact[:, rows] = gaussian.leave_out(
            gaussians, values[rows], factors
        )
    return out


def flatten_gaussians(
    gaussians: gaussian.Gaussians, classes: slice = slice(None)
) -> gaussian.Gaussians:
    """Select the Gaussians of some classes, and merge the leading axes into one."""
    parts = [array[:, classes] for array in gaussians]
    n_gaussians = parts[3].size
    return gaussian.Gaussians(*(part.reshape(n_gaussians, *part.shape[3:]) for part in parts))


def flatten_factors(
    factors: gaussian.Factors | None, classes: slice = slice(None)
) -> gaussian.Factors | None:
    """Do the same with the factored covariances, if there are any."""
    if factors is None:
        return None
    parts = [array[:, classes] for array in factors]
    n_gaussians = prod(parts[0].shape[:3])
    return gaussian.Factors(*(part.reshape(n_gaussians, *part.shape[3:]) for part in parts))


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


def discrete_log_density(log_prob: FloatArray, codes: CodeArray, offsets: IndexArray) -> FloatArray:
    """log P(discrete columns | class), shape (S, Y, n_rows)."""
    n_starts, n_classes, n_levels = log_prob.shape
    none = np.zeros((n_starts * n_classes, 0))
    params = product.Params(none, none, log_prob.reshape(len(none), n_levels))
    layout = product.Layout(np.zeros(0), np.ones(0), offsets)
    rows = product.ProductRows(np.zeros((len(codes), 0)), codes)
    return product.log_density(params, rows, layout).T.reshape(n_starts, n_classes, -1)


def _level_counts(responsibility: FloatArray, codes: CodeArray, offsets: IndexArray) -> FloatArray:
    """Return expected level counts, shape (S, Y, L), given weights of shape (S, Y, M, n_rows)."""
    by_class = responsibility.sum(axis=2)
    shape = by_class.shape[:2]
    marks = product.one_hot(codes, offsets)
    counts: FloatArray = (marks.T @ by_class.reshape(-1, by_class.shape[2]).T).T
    return counts.reshape(*shape, int(offsets[-1]))
