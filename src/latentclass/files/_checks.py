"""Checks of the parts of a model that come from a file, beyond those of their constructors.

A fit makes only sound values, and makes so many of them that its constructors check little. A file
may hold anything. Compiled code checks no bounds, so every number that indexes must be in its range
and every size must fit; and numbers must be such that probabilities stay finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._counts import level_offsets
from latentclass.engine._logspace import log_sum_exp
from latentclass.estimator._fitted import check_distribution, check_shape
from latentclass.mixture._plain_classifiers import PlainClassifier

LARGEST_PARAMETER = 1e30
"""Largest number in standardised columns. No fit comes near; squares stay far below overflow."""

LEAST_SPREAD = 1e-30
"""Least variance or standard deviation in standardised columns."""

LARGEST_VALUE = 1e210
"""Largest number in the columns' own units; columns of a fit stay below 1e205."""

TOLERANCE = 1e-6
"""How far the logarithm of a probability may be above 0, and a sum of probabilities from 1."""

MOST_ENTRIES = 2**40
"""More entries than any table has."""

Size = tuple[int, tuple[int, ...], int]
"""Number of continuous columns, categories of each discrete column, number of classes."""


def need(condition: Any, message: str) -> None:
    """Refuse a value for which a condition does not hold."""
    if not condition:
        raise ValueError(message)


def check_limit(name: str, array: FloatArray, limit: float = LARGEST_PARAMETER) -> None:
    """Refuse NaN, infinity, and numbers beyond a limit."""
    need(np.all(np.abs(array) <= limit), f"{name} has numbers that are not finite or too large")


def check_spread(name: str, array: FloatArray) -> None:
    """Refuse variances or scales of standardised columns that are not positive and of some size."""
    inside = (array >= LEAST_SPREAD) & (array <= LARGEST_PARAMETER)
    need(np.all(inside), f"{name} must be positive and of reasonable size")


def check_log_probabilities(name: str, array: FloatArray) -> None:
    """Refuse logarithms above 0; -inf is that of probability 0."""
    need(np.all(array <= TOLERANCE), f"{name} has entries that are not logarithms of probabilities")


def check_offsets(name: str, offsets: IndexArray) -> None:
    """Refuse places of levels that do not rise from 0."""
    rises = offsets.ndim == 1 and len(offsets) > 0 and offsets[0] == 0
    need(rises and np.all(np.diff(offsets) >= 0), f"{name} must rise from 0")
    need(offsets[-1] < MOST_ENTRIES, f"{name} is too large")


def check_level_shares(name: str, log_prob: FloatArray, offsets: IndexArray) -> None:
    """Refuse log P(level) that do not sum to 1 in each column; levels are on the last axis."""
    check_shape(name, log_prob, (*log_prob.shape[:-1], int(offsets[-1])))
    check_log_probabilities(name, log_prob)
    for first, end in pairwise(offsets.tolist()):
        total = np.exp(log_prob[..., first:end]).sum(axis=-1)
        sums_to_1 = first == end or np.all(np.abs(total - 1) <= TOLERANCE)
        need(sums_to_1, f"{name} must be probabilities that sum to 1")


def check_rising(name: str, values: FloatArray, limit: float = LARGEST_VALUE) -> None:
    """Refuse cut points that do not rise."""
    need(values.ndim == 1, f"{name} must be one row of numbers")
    check_limit(name, values, limit)
    need(np.all(np.diff(values) > 0), f"{name} must rise")


def check_permutation(name: str, values: npt.NDArray[np.integer]) -> None:
    """Refuse places that are not 0, 1, ... in some order."""
    fits = values.ndim == 1 and np.array_equal(np.sort(values), np.arange(len(values)))
    need(fits, f"{name} must name each place once")


def check_same_shape(name: str, arrays: Iterable[npt.NDArray[Any]], shape: Any) -> None:
    """Refuse arrays that do not all have one shape."""
    for array in arrays:
        check_shape(name, array, tuple(shape))


# ------------------------------------------------------------------------- tables


def _column(column: Any) -> None:
    if column.kind == "continuous":
        none = not (column.categories or column.rare or column.rare_shares)
        need(none, f"continuous column {column.name!r} has categories")
        return
    values = column.values
    plain = all(type(value) in (str, int, float, bool) for value in (*column.categories, *values))
    need(plain, f"column {column.name!r} has categories of an unknown type")
    finite = all(math.isfinite(value) for value in values if type(value) is float)
    need(finite, f"column {column.name!r} has a category that is not finite")
    kinds = {float if type(value) is int else type(value) for value in values}
    need(len(kinds) <= 1, f"column {column.name!r} has categories of several types")
    need(len(set(values)) == len(values), f"column {column.name!r} has a category twice")
    need(
        bool(values) == bool(column.categories) and len(column.rare) == len(column.rare_shares),
        f"column {column.name!r} has rare values without shares",
    )
    if column.kind == "binary":
        need(len(column.categories) == 2, f"binary column {column.name!r} needs two categories")
    need(all(0 <= share <= 1 + TOLERANCE for share in column.rare_shares), "shares are wrong")


def _schema(schema: Any) -> None:
    containers = ("numpy", "sparse", "pandas", "polars", "pyarrow", "records")
    need(schema.container in containers, f"the container {schema.container[:40]!r} is unknown")
    if schema.header is not None:
        need(len(schema.header) == len(schema.given), "the header does not match the columns")
    n_given = len(schema.given)
    for place, column in enumerate(schema.columns):
        marker = place >= n_given
        need(bool(column.marks) == marker, "a companion is among the columns")
        marked = all(0 <= one < n_given for one in column.marks)
        need(marked, f"{column.name!r} marks holes of a column that is not there")
        if marker:
            need(column.categories == ("no", "yes"), f"{column.name!r} must say yes or no")


def _table(table: Any) -> None:
    both = table.numeric, table.codes
    need(all(isinstance(part, np.ndarray) and part.ndim == 2 for part in both), "a table is flat")
    need(len(table.numeric) == len(table.codes) == 0, "a table has rows")


def _training(training: Any) -> None:
    need(training.y.size == training.weight.size == training.row_numbers.size == 0, "rows are left")
    need(0 <= training.n_given < MOST_ENTRIES, "a number of rows is impossible")


# ------------------------------------------------------------- independent columns


def _layout(layout: Any) -> None:
    need(layout.centre.ndim == 1 and layout.unit.ndim == 1, "units must be one row of numbers")
    check_limit("centre", layout.centre, LARGEST_VALUE)
    check_limit("unit", layout.unit, LARGEST_VALUE)
    need(np.all(layout.unit > 0), "unit must be positive")
    check_offsets("offsets", layout.offsets)


def _product_params(params: Any) -> None:
    need(all(array.ndim == 2 for array in params), "parameters of columns must be tables")
    check_limit("mean", params.mean)
    check_spread("scale", params.scale)
    check_log_probabilities("log_prob", params.log_prob)


def _product_stats(stats: Any) -> None:
    check_same_shape("sums", (stats.weight, stats.mean, stats.scatter), (*stats.mean.shape,))
    need(stats.counts.ndim == stats.mean.ndim == 2, "sums must be tables")
    for array in stats:
        check_limit("sums", array, LARGEST_VALUE)
    for array in (stats.weight, stats.scatter, stats.counts):
        need(np.all(array >= 0), "sums must not be negative")


def _labelled_sums(sums: Any) -> None:
    check_shape("known_rows", sums.known_rows, (len(sums.known.mean),))
    need(np.all(sums.known_rows >= 0), "sums must not be negative")
    check_limit("known_rows", sums.known_rows, LARGEST_VALUE)
    need(0 <= sums.hidden_weight <= LARGEST_VALUE, "sums must not be negative")


def _column_components(parts: Any) -> None:
    check_limit("mean", parts.mean)
    check_spread("scale", parts.scale)
    check_log_probabilities("log_weight", parts.log_weight)


def _mixture_naive_bayes(model: Any) -> None:
    most = max(model.parts.mean.shape[-1], 1)
    fits = (model.n_components >= 1) & (model.n_components <= most)
    need(np.all(fits), "n_components is out of range")


# ----------------------------------------------------------------- discrete columns


def _bins(bins: Any) -> None:
    check_rising("cuts", bins.cuts)
    n = len(bins.cuts) + 1
    check_same_shape("bins", (bins.edge, bins.scale, bins.mean, bins.mode, bins.peak), (n,))
    check_limit("scale", bins.scale, LARGEST_VALUE)
    need(np.all(bins.scale > 0), "scale must be positive")
    check_limit("peak", bins.peak, 1e4)
    for array in (bins.edge, bins.mean, bins.mode):
        # a column without any value has no cut and no mean
        check_limit("bins", array if n > 1 else np.nan_to_num(array), LARGEST_VALUE)


def _coding(coding: Any) -> None:
    need(all(0 <= n < 2**31 for n in coding.discrete), "numbers of categories are out of range")
    need(len(coding.active) == len(coding.positions), "active columns have no positions")
    n_columns = len(coding.bins) + len(coding.discrete)
    last = -1
    for position in coding.positions:
        need(last < position < n_columns, "positions of columns must rise")
        last = position
    varying = {(True, j) for j, bins in enumerate(coding.bins) if bins.n_levels > 1}
    varying |= {(False, j) for j, n in enumerate(coding.discrete) if n > 1}
    fits = set(coding.active) == varying and len(coding.active) == len(varying)
    need(fits, "the active columns are not those that vary")


def _cut_set(cuts: Any) -> None:
    for values in cuts.cuts:
        check_rising("cuts", values)
    need(len(cuts.level) == len(cuts.log_share), "levels have no shares")
    for level, log_share in zip(cuts.level, cuts.log_share, strict=True):
        need(level.ndim == 1 and len(level) > 0 and level[0] == 0, "levels must rise from 0")
        steps = np.diff(level)
        need(np.all((steps == 0) | (steps == 1)), "levels must rise by 1")
        check_shape("log_share", log_share, level.shape)
        check_log_probabilities("log_share", log_share)
        total = np.bincount(level, np.exp(log_share))
        need(np.all(np.abs(total - 1) <= TOLERANCE), "log_share must be probabilities")


def _structure(structure: Any) -> None:
    n = len(structure.n_levels)
    same = len(structure.parents) == len(structure.class_parent) == n
    need(same, "not all attributes have parents")
    need(all(0 < r < 2**31 for r in structure.n_levels), "numbers of levels are out of range")
    entries = 0
    for j, parents in enumerate(structure.parents):
        need(all(0 <= p < n and p != j for p in parents), f"parents of attribute {j} do not exist")
        need(len(set(parents)) == len(parents), f"attribute {j} has a parent twice")
        entries += math.prod(structure.n_levels[p] for p in (*parents, j))
        need(entries < MOST_ENTRIES, "the tables of a network are too large")
    _ = structure.order  # refuses arcs that make a cycle


def _network(model: Any) -> None:
    need(model.structure.n_levels == model.coding.n_levels, "a network has other levels")


def _aode(model: Any) -> None:
    tables, offsets = model.tables, level_offsets(model.coding.n_levels)
    need(np.array_equal(tables.offsets, offsets), "offsets are not those of the columns")
    check_shape("frequent", tables.frequent, (int(offsets[-1]),))
    check_log_probabilities("log_super", tables.log_super)
    check_log_probabilities("log_class", tables.log_class)
    check_distribution("log_class", np.exp(tables.log_class))
    check_level_shares("log_single", tables.log_single.T, offsets)
    need(np.all(np.isneginf(tables.log_super[~tables.frequent])), "rare levels must not be parents")
    _check_pairs(tables.log_child, offsets)
    rare = tables.log_class + tables.log_rare.sum(axis=0)
    total = log_sum_exp(np.concatenate([tables.log_super, rare[None]]).T)
    need(np.allclose(total, tables.log_total, rtol=0, atol=1e-6), "log_total is not the total")


def _check_pairs(log_child: FloatArray, offsets: IndexArray) -> None:
    """Refuse log P(b | k, a), (L, L, K), that are no probabilities of the levels b of a column."""
    check_log_probabilities("log_child", log_child)
    for first, end in pairwise(offsets.tolist()):
        total = np.exp(log_child[:, first:end]).sum(axis=1)
        total[first:end] = 1.0
        need(np.all(np.abs(total - 1) <= TOLERANCE), "log_child must be probabilities")
        need(np.all(log_child[first:end, first:end] == 0), "a column must not be its own parent")


def _hidden(model: Any) -> None:
    tables, offsets = model.tables, level_offsets(model.coding.n_levels)
    need(np.array_equal(tables.offsets, offsets), "offsets are not those of the columns")
    for name in ("weights", "mixed", "single", "child"):
        array = getattr(tables, name)
        inside = np.all((array >= -TOLERANCE) & (array <= 1 + TOLERANCE))
        need(inside, f"{name} must be from 0 to 1")
    check_permutation("order", model.order)


def _latent_tree(model: Any) -> None:
    n_levels = model.coding.n_levels
    for cuts in model.cut_sets:
        need(len(cuts.cuts) == len(model.coding.bins), "a set of cuts has other columns")
        need(tuple(map(len, cuts.level)) == n_levels, "a set of cuts has other levels")
    need(bool(model.trees) == bool(n_levels), "there must be trees if columns vary")
    need(len(model.cut_sets) > 0, "there is no set of cuts")


def _hierarchy(hierarchy: Any) -> None:
    need(all(0 < r < 2**31 for r in hierarchy.n_levels), "numbers of levels are out of range")
    sizes = list(hierarchy.n_levels)
    joined: set[int] = set()
    for latent in hierarchy.latents:
        first, second = latent.children
        known = 0 <= first < len(sizes) and 0 <= second < len(sizes)
        need(known and first != second, "a latent variable has children that do not exist")
        need(not joined & {first, second}, "a variable has two parents")
        joined |= {first, second}
        check_shape("states", latent.states, (sizes[first], sizes[second]))
        found = np.unique(latent.states)
        need(np.array_equal(found, np.arange(len(found))), "states must go from 0 without gaps")
        sizes.append(len(found))


def _filled_hierarchy(filled: Any) -> None:
    latents, within = filled.hierarchy.latents, filled.tables.log_within
    need(len(latents) == len(within), "not all latent variables have tables")
    for latent, table in zip(latents, within, strict=True):
        check_shape("log_within", table, latent.states.shape)
        check_log_probabilities("log_within", table)
        total = np.bincount(latent.states.ravel(), np.exp(table).ravel())
        need(np.all(np.abs(total - 1) <= TOLERANCE), "log_within must be probabilities")


def _hierarchy_model(model: Any) -> None:
    need(model.hierarchy.n_levels == model.coding.n_levels, "a hierarchy has other levels")
    need(set(model.ignored) <= set(model.hierarchy.tops), "ignored variables are not on top")
    for counts in model.support:
        check_limit("support", counts, LARGEST_VALUE)
        need(np.all(counts >= 0), "support must not be negative")


def _averaged_hierarchies(model: Any) -> None:
    need(len(model.members) > 0, "an average has no members")
    for member in model.members:
        need(size_of(member) == size_of(model), "members of an average have other columns")


# --------------------------------------------------------------- Gaussian columns


def _power_round(one: Any) -> None:
    check_same_shape("power transform", one, one.power.shape)
    need(one.power.ndim == 1, "a power transform must be one row of numbers")
    need(np.all((one.power >= 0) & (one.power <= 2)), "powers must be from 0 to 2")
    for array in (one.low, one.high, one.centre):
        check_limit("power transform", array, 1e110)
    need(np.all(one.low <= one.high), "the ends of a power transform are out of order")
    need(np.all((one.unit > 0) & (one.unit <= LARGEST_VALUE)), "units must be positive")


def _scaling(scaling: Any) -> None:
    n = len(scaling.varies)
    arrays = (scaling.varies, scaling.constant, scaling.centre, scaling.unit)
    check_same_shape("scaling", arrays, (n,))
    need(not np.any(scaling.varies & scaling.constant), "a column varies and is constant")
    seen = scaling.varies | scaling.constant
    check_limit("centre", scaling.centre[seen], LARGEST_VALUE)
    check_limit("unit", scaling.unit[seen], LARGEST_VALUE)
    need(np.all(scaling.unit[seen] > 0), "unit must be positive")
    for one in scaling.power.rounds:
        check_shape("power", one.power, (scaling.n_varying,))


def _lcm_params(params: Any) -> None:
    check_shape("log_weight", params.log_weight, (None, None, None))
    check_shape("loadings", params.loadings, (None, None, None, None))
    n_starts, n_classes, n_components = params.log_weight.shape
    n, q = params.loadings.shape[2:]
    need(n_starts * n_classes * n_components > 0, "there is no class component")
    check_shape("weighting", params.weighting, (n_starts,))
    need(np.all(params.weighting >= 0), "weighting is out of range")
    check_shape("edges", params.edges, (n_starts, n, q))
    check_shape("loadings", params.loadings, (n_starts, n_components, n, q))
    check_shape("offsets", params.offsets, (n_starts, n_components, n))
    check_noise(params.noise, n_starts, n_components, n)
    check_same_shape(
        "latent", (params.latent_mean, params.latent_variance), (n_starts, n_classes, q)
    )
    check_shape("log_prob", params.log_prob, (n_starts, n_classes, None))
    for name in ("loadings", "offsets", "latent_mean"):
        check_limit(name, getattr(params, name), 1e15)
    need(np.all(params.latent_variance <= 1e15), "latent_variance is too large")
    check_spread("latent_variance", params.latent_variance)
    check_log_probabilities("log_weight", params.log_weight)


def check_noise(noise: FloatArray, n_starts: int, n_components: int, n: int) -> None:
    """Refuse variances of the noise that are not those of the columns, all the same or not."""
    check_shape("noise", noise, (n_starts, None, n))
    need(noise.shape[1] in (1, n_components), "noise must be of one or all components")
    need(np.all((noise >= 1e-15) & (noise <= 1e30)), "noise must be positive")


def _lcm(model: Any) -> None:
    need(0 <= model.label_noise < 1, "label_noise must be from 0 to 1")
    _gaussian_model(model)


def _gaussian_model(model: Any) -> None:
    check_offsets("level_offsets", model.level_offsets)
    check_level_shares("log_prob", model.components.log_prob, model.level_offsets)


def _class_components(components: Any) -> None:
    check_shape("log_weight", components.log_weight, (None, None, None))
    need(components.log_weight.size > 0, "there is no class component")
    check_log_probabilities("log_weight", components.log_weight)
    check_shape("weighting", components.weighting, (len(components.log_weight),))
    need(np.all(components.weighting >= 0), "weighting is out of range")
    check_shape("log_prob", components.log_prob, (*components.log_weight.shape[:2], None))
    gaussians = components.gaussians
    need(gaussians is not None and components.factors is None, "there are no Gaussians")
    need(gaussians.mean.shape[:-1] == components.log_weight.shape, "Gaussians are missing")


def _gaussians(gaussians: Any) -> None:
    need(gaussians.mean.ndim >= 1, "a mean is a number")
    *lead, n = gaussians.mean.shape
    square = (*lead, n, n)
    check_same_shape("covariance", (gaussians.covariance, gaussians.precision), square)
    check_shape("log_det", gaussians.log_det, tuple(lead))
    check_limit("mean", gaussians.mean)
    check_limit("covariance", gaussians.covariance, 1e15)
    check_limit("precision", gaussians.precision)
    covariance = gaussians.covariance
    scale = np.sqrt(np.einsum("...ii->...i", covariance).clip(LEAST_SPREAD))
    unit = scale[..., :, None] * scale[..., None, :]
    even = np.abs(covariance - np.swapaxes(covariance, -2, -1)) <= 1e-6 * unit
    need(np.all(even), "covariance must be symmetric")
    np.linalg.cholesky(covariance)  # refuses those that are not positive definite
    identity = gaussians.precision @ covariance
    need(np.all(np.abs(identity - np.eye(n)) < 1e-2), "precision must be the inverse")
    log_det = np.linalg.slogdet(covariance)[1]
    need(np.all(np.abs(log_det - gaussians.log_det) <= 1e-3), "log_det is wrong")


def _projection(projection: Any) -> None:
    check_shape("mean", projection.mean, (None, None))
    m, n = projection.mean.shape
    check_shape("log_weight", projection.log_weight, (m,))
    check_same_shape("axes", (projection.matrix, projection.inverse), (m, n, n))
    need(0 <= projection.n_axes <= n, "n_axes is out of range")
    check_log_probabilities("log_weight", projection.log_weight)
    for array in (projection.mean, projection.matrix, projection.inverse):
        check_limit("axes", array, 1e15)


def _stick_breaking(sticks: Any) -> None:
    for order in sticks.orders:
        check_permutation("order of categories", order)
    last = -1
    for place, halving in sticks.long:
        need(last < place < len(sticks.orders), "columns with groups must rise")
        last = place
        check_shape("asked", halving.asked, (len(sticks.orders[place]), None))


def _halving(halving: Any) -> None:
    check_shape("asked", halving.asked, (None, None))
    check_shape("answer", halving.answer, halving.asked.shape)
    n = len(halving.asked) - 1
    need(np.all((halving.asked >= -1) & (halving.asked < n)), "a question does not exist")
    need(np.all(np.abs(halving.answer) <= 1), "answers must be -1, 0 or 1")
    need(np.array_equal(halving.answer != 0, halving.asked >= 0), "a question has no answer")
    # a tree of questions gives probabilities that sum to 1 whatever the answers' log-odds are
    for logits in np.random.default_rng(0).normal(size=(3, n)):
        total = np.exp(halving.log_probabilities(logits)).sum()
        need(abs(total - 1) <= TOLERANCE, "the questions of a column do not form a tree")


def _soft_max(soft_max: Any) -> None:
    for order in soft_max.orders:
        check_permutation("order of categories", order)


def _hybrid_params(params: Any) -> None:
    check_shape("log_weight", params.log_weight, (None, None, None))
    check_shape("coefficient", params.coefficient, (None, None, None, None))
    n_starts, n_classes, n_components = params.log_weight.shape
    need(n_starts * n_classes * n_components > 0, "there is no class component")
    q = params.coefficient.shape[3] - 1
    need(q >= 0, "coefficient has no offsets")
    shape = (n_starts, n_classes, q)
    check_same_shape("latent", (params.latent_mean, params.latent_variance), shape)
    check_shape("place", params.place, (n_starts,))
    need(np.all(params.place >= 0), "place is out of range")
    check_log_probabilities("log_weight", params.log_weight)
    # EM keeps them below 1e4; the bound on a logistic factor is slow where they are large
    check_limit("coefficient", params.coefficient, 1e5)
    check_limit("latent_mean", params.latent_mean, 1e5)
    need(np.all(params.latent_variance <= 1e5), "latent_variance is too large")
    need(np.all(params.latent_variance >= 1e-15), "latent_variance must be positive")


def _hybrid(model: Any) -> None:
    params = model.params
    n_starts, _, n_components = params.log_weight.shape
    check_noise(params.noise, n_starts, n_components, model.columns.n_gaussian)


# --------------------------------------------------------- mixtures, averages, records


def _naive_bayes_classifiers(classifiers: Any) -> None:
    check_log_probabilities("log_class", classifiers.log_class)
    check_distribution("log_class", np.exp(classifiers.log_class))


def _component_classifier(one: Any) -> None:
    check_shape("shares", one.shares, (None,))
    check_distribution("shares", one.shares)
    need(0 <= one.draw <= 1, "draw must be from 0 to 1")


def _filled_coder(coder: Any) -> None:
    check_offsets("offsets", coder.offsets)
    arrays = (coder.mean, coder.scale, coder.holed)
    check_same_shape("coder", arrays, (len(coder.mean),))
    check_limit("mean", coder.mean, LARGEST_VALUE)
    check_limit("scale", coder.scale, LARGEST_VALUE)
    need(np.all(coder.scale > 0), "scale must be positive")


def _matrix_coder(coder: Any) -> None:
    check_offsets("offsets", coder.offsets)


def _fitted_classifiers(classifiers: Any) -> None:
    need(classifiers.classifiers.ndim == 2, "classifiers must be a table")
    need(classifiers.classifiers.size > 0, "there are no classifiers")
    sizes = set()
    for one in classifiers.classifiers.ravel():
        need(type(one).__name__ == "ComponentClassifier", "a component has no classifier")
        sizes.add(len(one.shares))
        _check_inner(one.classifier, classifiers.coder, len(one.shares))
    need(len(sizes) == 1, "components have other classes")


def _check_inner(classifier: Any, coder: Any, n_classes: int) -> None:
    """Refuse a classifier of a component that knows other columns or classes."""
    if classifier is None:
        return
    known = hasattr(classifier, "predict_proba") and hasattr(classifier, "classes_")
    need(known, "a component has something that is not a fitted classifier")
    codes = classifier.classes_
    whole = codes.ndim == 1 and codes.dtype.kind in "iu" and len(codes) > 0
    need(whole and codes.min() >= 0 and codes.max() < n_classes, "a classifier has other classes")
    if isinstance(classifier, PlainClassifier):
        width = len(coder.mean) + int(coder.holed.sum()) + int(coder.offsets[-1])
        need(classifier.n_columns == width, "a classifier has other columns")
    elif hasattr(classifier, "schema_"):  # one of ours; those of others were trusted
        width = len(coder.names) + int(coder.offsets[-1])
        need(len(classifier.schema_.columns) == width, "a classifier has other columns")


def _latent_variable(model: Any) -> None:
    layout, classifiers = model.components.layout, model.classifiers
    if hasattr(classifiers, "coder"):
        same = np.array_equal(classifiers.coder.offsets, layout.offsets)
        coder = classifiers.coder
        n = len(coder.mean) if hasattr(coder, "mean") else len(coder.names)
        need(same and n == len(layout.centre), "a coder has other columns")
    else:
        other = classifiers.components.layout
        same = np.array_equal(other.offsets, layout.offsets)
        need(same and len(other.centre) == len(layout.centre), "classifiers have other columns")


def _member(member: Any) -> None:
    check_temperature(member.temperature)


def check_temperature(temperature: float) -> None:
    """Refuse a temperature that is not a positive number."""
    need(1e-9 <= temperature <= 1e9, "a temperature must be positive")


def _weighted_models(model: Any) -> None:
    need(len(model.members) > 0, "an average has no members")
    for member in model.members:
        need(size_of(member.model) == size_of(model), "members of an average have other columns")


CHECKS: dict[str, Callable[[Any], None]] = {
    "AODEModel": _aode,
    "AveragedHierarchies": _averaged_hierarchies,
    "Bins": _bins,
    "ClassComponents": _class_components,
    "Coding": _coding,
    "Column": _column,
    "ColumnComponents": _column_components,
    "ComponentClassifier": _component_classifier,
    "CutSet": _cut_set,
    "FilledCoder": _filled_coder,
    "FilledHierarchy": _filled_hierarchy,
    "FittedClassifiers": _fitted_classifiers,
    "Gaussians": _gaussians,
    "Halving": _halving,
    "HiddenNaiveBayesModel": _hidden,
    "Hierarchy": _hierarchy,
    "HierarchyModel": _hierarchy_model,
    "HybridModel": _hybrid,
    "HybridParams": _hybrid_params,
    "LCMModel": _lcm,
    "LCMParams": _lcm_params,
    "LabelledSums": _labelled_sums,
    "LatentTreeModel": _latent_tree,
    "LatentVariableModel": _latent_variable,
    "MatrixCoder": _matrix_coder,
    "Member": _member,
    "MixtureNaiveBayesModel": _mixture_naive_bayes,
    "NaiveBayesClassifiers": _naive_bayes_classifiers,
    "NetworkModel": _network,
    "NetworkStructure": _structure,
    "PowerRound": _power_round,
    "ProductLayout": _layout,
    "ProductParams": _product_params,
    "ProductStats": _product_stats,
    "ProjectedModel": _gaussian_model,
    "Projection": _projection,
    "Scaling": _scaling,
    "Schema": _schema,
    "SoftMax": _soft_max,
    "StickBreaking": _stick_breaking,
    "Table": _table,
    "Training": _training,
    "WeightedModels": _weighted_models,
}
"""What to check of each value after its constructor; the constructor of the others does it all."""


def size_of(model: Any) -> Size:
    """What a fitted model knows of columns and classes."""
    if hasattr(model, "members") and hasattr(model, "weights"):
        n_continuous, _, n_classes = size_of(model.members[0].model)
        n_levels = model.n_levels
    elif hasattr(model, "coding"):
        n_continuous, n_levels = len(model.coding.bins), model.coding.discrete
        n_classes = model.n_classes
    elif hasattr(model, "level_offsets"):
        n_continuous, n_levels = len(model.scaling.varies), np.diff(model.level_offsets)
        n_classes = model.n_classes
    elif hasattr(model, "columns"):
        n_continuous, n_levels = len(model.scaling.varies), model.columns.n_levels
        n_classes = model.n_classes
    else:
        layout = model.components.layout
        n_continuous, n_levels = len(layout.centre), np.diff(layout.offsets)
        n_classes = model.n_classes
    return n_continuous, tuple(int(n) for n in n_levels), n_classes
