"""Rows in cells: E-step of models that are Gaussian given the class and a component.

A *cell* is one class with one of its components. A labelled row belongs to a cell of its class,
an unlabelled one to any; discrete columns depend on the class alone. S counts starts, Y classes,
M components, n continuous columns, L levels of the discrete columns, G weightings of the rows
(folds of a cross-validation, say): each start follows one of them.

The model turns its parameters into `ClassComponents`; `expect` gives the moments of each of them.
Where nothing is hidden (one component, all rows labelled, no missing cells) the moments never
change: they are summed once, and an E-step costs nothing in the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine import _gaussian as gaussian
from latentclass.engine import _product as product
from latentclass.engine._parallel import map_blocks

UNLABELLED = -1

BLOCK_FEATURES = 2**18
"""Numbers in one block of features (2 MB): small enough to stay in the processor's cache."""

BLOCK_ROWS = 64
"""Least rows in such a block: what is done once a block would take over where columns are many."""

VALUE_LIMIT = 1e100
"""Values are counted as no farther out than this, so that squares stay finite."""

KEPT_FEATURES = 2**24
"""Features are kept from one step to the next up to this many numbers (128 MB)."""


class ClassComponents(NamedTuple):
    """S models: shares of the cells, their Gaussians, and the discrete columns.

    Attributes
    ----------
    weighting : array of shape (S,)
        Which weighting of the rows each start follows.
    log_weight : array of shape (S, Y, M)
        log P(class, component).
    gaussians : Gaussians with leading axes (S, Y, M)
    log_prob : array of shape (S, Y, L)
        log P(level | class) of the discrete columns.
    factors : Factors with leading axes (S, Y, M), or None
        The covariances once more, where this form makes rows with holes cheap.
    """

    weighting: IndexArray
    log_weight: FloatArray
    gaussians: gaussian.Gaussians
    log_prob: FloatArray
    factors: gaussian.Factors | None = None


class ComponentStats(NamedTuple):
    """Expected moments of each cell, leading axes (S, Y, M), and level counts (S, Y, L)."""

    weight: FloatArray
    total: FloatArray
    square: FloatArray
    counts: FloatArray


class _Group(NamedTuple):
    """Rows of one class (or without label), all complete or all with holes."""

    label: int
    rows: FloatArray
    table: FloatArray | None
    patterns: gaussian.Patterns | None
    weight: FloatArray
    codes: CodeArray


@dataclass(frozen=True)
class ComponentData:
    """Rows as the E-step wants them.

    Attributes
    ----------
    groups : list
        Rows whose cell or values are not fully known.
    known : array of shape (G, Y, f)
        Sums of features of the rows whose cell is known.
    known_counts : array of shape (G, Y, L)
        Level counts of all labelled rows.
    labelled : array of shape (G, Y)
        Weight of the labelled rows of each class.
    offsets : array
        Where each discrete column's levels begin (see `_product.Layout`).
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
        """Continuous columns."""
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
    """Sort rows into groups.

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
        Whether a labelled row's class is its cell.
    offsets : array
    width : int
        Components of all starts that will stand beside a row; blocks are made to hold them.
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
    """The data with the rows of `part`, all of which are summed up already."""
    return replace(
        data,
        known=data.known + part.known,
        known_counts=data.known_counts + part.known_counts,
        labelled=data.labelled + part.labelled,
        total_weight=data.total_weight + part.total_weight,
    )


def known_data(known: FloatArray, offsets: IndexArray, counts: FloatArray) -> ComponentData:
    """Data that are all summed up: `known` (G, Y, f), level `counts` (G, Y, L)."""
    labelled = known[..., 0]
    return ComponentData([], known, counts, labelled, offsets, labelled.sum(axis=1))


def column_ranks(data: ComponentData) -> IndexArray:
    """A place for each column, shape (G, n), that moves with it when columns change their order.

    Random numbers are dealt out by it, so that a start does not depend on the order of columns,
    nor on that of the classes. Columns that look alike keep their order.
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
    share = seen / np.maximum(seen.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    mean, spread = (
        np.divide(part, seen, out=np.zeros_like(part), where=seen > 0) for part in (total, spread)
    )
    key = (share * (mean**2 + 0.3 * spread**2)).sum(axis=1)
    # rounded: of two columns that differ by rounding only, the order must not hang on it
    return np.argsort(np.argsort(np.round(key, 6), axis=1, kind="stable"), axis=1)


def draw_rows(
    data: ComponentData, weighting: int, direction: FloatArray, chance: FloatArray
) -> FloatArray:
    """Rows at given shares (`chance`) of the weight when rows are sorted along a direction.

    So rows are drawn by their weight, and which ones does not depend on how they are stored. Holes
    are filled by the column's mean, 0.
    """
    rows = np.concatenate([np.nan_to_num(group.rows) for group in data.groups])
    weight = np.concatenate([group.weight[weighting] for group in data.groups])
    order = np.argsort(rows @ direction, kind="stable")
    reached = np.cumsum(weight[order])
    place = np.searchsorted(reached, chance * reached[-1], side="right")
    return np.asarray(rows[order[np.minimum(place, len(order) - 1)]])


def square_root(covariance: FloatArray) -> FloatArray:
    """Symmetric square root of a covariance; what rounding left negative counts as 0."""
    values, axes = np.linalg.eigh(covariance)
    root: FloatArray = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return root


def sum_features(block: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sums of features, shape (G, f), without making the features."""
    n = block.shape[1]
    upper = gaussian.upper_cells(n)
    out = np.empty((len(weights), gaussian.count_features(n)))
    for g, weight in enumerate(weights):
        out[g, 0] = weight.sum()
        out[g, 1 : n + 1] = weight @ block
        out[g, n + 1 :] = ((block.T * weight) @ block)[upper]
    return out


def expect(data: ComponentData, cells: ClassComponents) -> tuple[ComponentStats, FloatArray]:
    """Expected moments of the cells, and log-likelihood, shape (S,)."""
    n_starts, n_classes, n_components = cells.log_weight.shape
    sums = np.zeros((n_starts, n_classes, n_components, data.known.shape[2]))
    counts = data.known_counts[cells.weighting]
    with np.errstate(invalid="ignore"):  # 0 rows times log 0
        log_likelihood = np.where(counts > 0, counts * cells.log_prob, 0.0).sum(axis=(1, 2))
    weights = gaussian.coefficients(cells.gaussians)
    if n_components == 1:
        known = data.known[cells.weighting]
        sums[:, :, 0] += known
        log_likelihood += np.einsum("syf,syf->s", weights[:, :, 0], known)
        rows = known[..., 0]
        with np.errstate(invalid="ignore"):
            shares = np.where(rows > 0, rows * cells.log_weight[..., 0], 0.0)
        log_likelihood += shares.sum(axis=1)

    def visit(group: _Group) -> tuple[int, FloatArray, FloatArray, FloatArray | None]:
        return group.label, *_expect_group(data, cells, weights, group)

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


def _expect_group(
    data: ComponentData, cells: ClassComponents, weights: FloatArray, group: _Group
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Log-likelihood (S,), sums of features (S, classes, M, f), level counts of a group.

    `weights` are the coefficients of the cells' Gaussians.
    """
    classes = slice(None) if group.label == UNLABELLED else slice(group.label, group.label + 1)
    log_weight = cells.log_weight[:, classes]
    shape = log_weight.shape
    n_rows = len(group.rows)
    gaussians = flatten_gaussians(cells.gaussians, classes)
    weight = group.weight[cells.weighting]
    discrete = None
    if group.label == UNLABELLED and group.codes.shape[1]:
        discrete = discrete_log_density(cells.log_prob, group.codes, data.offsets)

    def share(log_joint: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        log_joint = log_joint.reshape(*shape, -1)
        log_joint += log_weight[..., None]
        if discrete is not None:
            log_joint += discrete[:, :, None, rows]
        flat = log_joint.reshape(shape[0], -1, log_joint.shape[-1])
        log_total = _normalise(flat)
        flat *= weight[:, None, rows]
        # of a fold that a class is all left out of: its rows are impossible, and weigh nothing
        log_total[weight[:, rows] == 0] = 0.0
        return np.einsum("sr,sr->s", weight[:, rows], log_total), log_joint

    n_features = data.known.shape[2]
    part_counts = None
    everything = slice(0, n_rows)
    if group.patterns is None:
        table = gaussian.features(group.rows) if group.table is None else group.table
        density = gaussian.log_density(
            gaussians, table, weights[:, classes].reshape(-1, n_features)
        )
        log_likelihood, responsibility = share(density, everything)
        sums = responsibility.reshape(-1, n_rows) @ table.T
        if discrete is not None:
            part_counts = _level_counts(responsibility, group.codes, data.offsets)
    else:
        log_likelihood = np.zeros(shape[0])
        sums = np.zeros((len(gaussians.mean), n_features))
        factors = flatten_factors(cells.factors, classes)
        first = 0
        for part in gaussian.split_patterns(group.patterns, len(gaussians.mean)):
            rows = slice(first, first + len(part.rows))
            first = rows.stop
            conditioned = gaussian.condition(gaussians, part, factors)
            gain, responsibility = share(conditioned.log_density.T.copy(), rows)
            log_likelihood += gain
            flat = responsibility.reshape(-1, len(part.rows)).T
            moments = gaussian.conditional_moments(gaussians, part, conditioned, flat)
            sums += gaussian.pack_moments(moments)
            if discrete is not None:
                more = _level_counts(responsibility, group.codes[rows], data.offsets)
                part_counts = more if part_counts is None else part_counts + more
    return log_likelihood, sums.reshape(*shape, n_features), part_counts


def log_joint_rows(
    cells: ClassComponents, values: FloatArray, codes: CodeArray, offsets: IndexArray
) -> FloatArray:
    """log p(x, class, component) of rows in any state, shape (S, Y, M, n_rows)."""
    values = np.clip(values, -VALUE_LIMIT, VALUE_LIMIT)
    shape = cells.log_weight.shape
    gaussians = flatten_gaussians(cells.gaussians)
    out = np.empty((len(gaussians.mean), len(values)))
    incomplete = np.isnan(values).any(axis=1)
    complete = np.flatnonzero(~incomplete)
    weights = gaussian.coefficients(gaussians)
    most = max(BLOCK_ROWS, BLOCK_FEATURES // gaussian.count_features(values.shape[1]))
    for start in range(0, len(complete), most):
        rows = complete[start : start + most]
        density = gaussian.log_density(gaussians, gaussian.features(values[rows]), weights)
        if len(rows) == len(values):
            out = density
        else:
            out[:, rows] = density
    if incomplete.any():
        rows = np.flatnonzero(incomplete)
        patterns, order = gaussian.group_patterns(values[rows])
        factors = flatten_factors(cells.factors)
        first = 0
        for part in gaussian.split_patterns(patterns, len(gaussians.mean)):
            chosen = rows[order[first : first + len(part.rows)]]
            first += len(part.rows)
            out[:, chosen] = gaussian.condition(gaussians, part, factors).log_density.T
    joint = out.reshape(*shape, len(values))
    joint += cells.log_weight[..., None]
    if codes.shape[1]:
        joint += discrete_log_density(cells.log_prob, codes, offsets)[:, :, None]
    return joint


def flatten_gaussians(
    gaussians: gaussian.Gaussians, classes: slice = slice(None)
) -> gaussian.Gaussians:
    """Gaussians of some classes, leading axes made one."""
    parts = [array[:, classes] for array in gaussians]
    n_gaussians = parts[3].size
    return gaussian.Gaussians(*(part.reshape(n_gaussians, *part.shape[3:]) for part in parts))


def flatten_factors(
    factors: gaussian.Factors | None, classes: slice = slice(None)
) -> gaussian.Factors | None:
    """The same of their covariances in factors, if there are any."""
    if factors is None:
        return None
    loadings, noise = (array[:, classes] for array in factors)
    return gaussian.Factors(
        loadings.reshape(-1, *loadings.shape[3:]), noise.reshape(-1, noise.shape[3])
    )


def _normalise(log_joint: FloatArray) -> FloatArray:
    """Turn log p(row, cell), cells on axis 1, into shares in place; return log p(row).

    A row that no cell can have made is shared out evenly.
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
    """log P(discrete cells | class), shape (S, Y, n_rows)."""
    n_starts, n_classes, n_levels = log_prob.shape
    none = np.zeros((n_starts * n_classes, 0))
    params = product.Params(none, none, log_prob.reshape(len(none), n_levels))
    layout = product.Layout(np.zeros(0), np.ones(0), offsets)
    rows = product.ProductRows(np.zeros((len(codes), 0)), codes)
    return product.log_density(params, rows, layout).T.reshape(n_starts, n_classes, -1)


def _level_counts(responsibility: FloatArray, codes: CodeArray, offsets: IndexArray) -> FloatArray:
    """Expected level counts, shape (S, Y, L), from shares of shape (S, Y, M, n_rows)."""
    by_class = responsibility.sum(axis=2)
    shape = by_class.shape[:2]
    marks = product.one_hot(codes, offsets)
    counts: FloatArray = (marks.T @ by_class.reshape(-1, by_class.shape[2]).T).T
    return counts.reshape(*shape, int(offsets[-1]))
