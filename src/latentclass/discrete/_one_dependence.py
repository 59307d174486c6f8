"""Classifiers made of all tables P(column j | class, column i): AODE and hidden naive Bayes.

AODE is from Webb, Boughton and Wang (2005), hidden naive Bayes from Zhang, Jiang and Su (2005).

L levels of all columns are laid end to end (see `_counts`). A model's entries are the L
single levels followed by the L * L pairs (parent level a, child level b), entry L + a L + b. The
blocks of a column with itself are not used.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass._validation import check_memory
from latentclass.discrete._em import CountLayout
from latentclass.discrete._network import draw_levels
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._counts import (
    column_sums,
    indicator_rows,
    level_offsets,
    pair_counts,
)
from latentclass.engine._logspace import log_sum_exp

BLOCK_ENTRIES = 2**20
"""Entries of the indicators, or of the tables, that one block of rows needs."""

PRODUCT_TIME, PICK_TIME, ADD_TIME = 0.12, 6.0, 0.6
"""Rough times in nanoseconds: one multiplication inside a matrix product; picking a row of a table;
adding each of its entries. Only their ratios matter, and only for speed."""


def check_pair_tables(rows: TrainingRows, n_init: int) -> None:
    """Refuse tables of all pairs of levels that would fill the memory, before they are made."""
    n_all, names = sum(rows.n_levels), rows.names
    # measured: counts and tables are 4 arrays of pairs in each class at their peak, EM holds 11 for
    # each start and class
    per_class = 11 * n_init if rows.hidden_weight else 4
    most = int(np.argmax(rows.n_levels)) if rows.n_levels else 0
    check_memory(
        f"Tables of all pairs of the {n_all:,} levels of {len(names):,} columns (column "
        f"{names[most] if names else None!r} has the most, {max(rows.n_levels, default=0):,})",
        8.0 * n_all**2 * (4 + rows.n_classes * per_class),
        "Select the columns that say most about the class, merge categories, or use NaiveBayes or "
        "TAN.",
    )


def pair_layout(
    n_levels: tuple[int, ...],
    mass: list[FloatArray],
    shares: list[FloatArray],
    single_value: FloatArray,
    pair_value: FloatArray,
) -> CountLayout:
    """The entries of such a model for EM.

    `mass` and `shares` are given for each child column. `single_value` (n,) and `pair_value`
    (n, n), parent first, are how much the logarithms of a table count.
    """
    n = len(n_levels)
    by_pair = np.where(np.eye(n, dtype=bool), 0.0, pair_value)
    return CountLayout(
        level_offsets(n_levels)[:-1],
        np.concatenate([np.empty(0), *mass]),
        np.concatenate([np.empty(0), *shares]),
        np.vstack([single_value, np.repeat(by_pair, n_levels, axis=0)]),
        np.zeros(n, dtype=bool),
    )


def pair_entries(n_levels: tuple[int, ...], codes: CodeArray) -> IndexArray:
    """The entries that rows show, shape (n_rows, n + n (n - 1))."""
    offsets = level_offsets(n_levels)
    n_all = int(offsets[-1])
    level = np.where(codes >= 0, codes + offsets[:-1], -1)
    pairs = _pair_index(level, n_all)
    pairs = np.where(pairs >= 0, pairs + n_all, -1)
    return np.concatenate([level, pairs.reshape(len(codes), -1)], axis=1)


def _pair_index(level: IndexArray, n_all: int) -> IndexArray:
    """a L + b for the ordered pairs of different columns, (n_rows, n, n - 1); -1 if missing."""
    n = level.shape[1]
    others = np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=np.intp)
    others = others.reshape(n, max(n - 1, 0))
    child = level[:, others]
    parent = level[:, :, None]
    return np.where((child < 0) | (parent < 0), -1, parent * n_all + child)


def picked_sums(table: FloatArray, level: IndexArray) -> FloatArray:
    """Sum over the observed j of table[x_i, x_j, k] for every column i, (n, n_rows, K).

    `table` (L, L, K) is 0 where both levels are of one column. The sums of a missing column i mean
    nothing. Either the table rows are picked and added one by one, or all L sums are taken as a
    matrix product and n of them picked: whichever needs less time.
    """
    n_rows, n = level.shape
    n_all, _, n_classes = table.shape
    if _by_product(n, n_all, n_classes):
        indicator = np.zeros((n_rows, n_all + 1))
        np.put_along_axis(indicator, level, 1.0, axis=1)  # a missing one in the last place
        indicator = indicator[:, :-1]
        flat = np.ascontiguousarray(table.transpose(1, 0, 2)).reshape(n_all, -1)
        sums = (indicator @ flat).reshape(n_rows, n_all, n_classes)
        return np.asarray(sums[np.arange(n_rows), level.T])
    if (level < 0).any():
        pairs = _pair_index(level, n_all).transpose(1, 0, 2).reshape(n * n_rows, -1)
        shown = indicator_rows(pairs, n_all * n_all)
        return np.asarray((shown @ table.reshape(-1, n_classes)).reshape(n, n_rows, n_classes))
    narrow = level.astype(np.int32 if n_all < 2**15 else np.int64)
    # column by column, so that a column's part of the table stays in the processor's cache
    pairs = narrow.T[:, :, None] * n_all + narrow
    indptr = n * np.arange(n_rows * n + 1, dtype=narrow.dtype)
    shape = (n_rows * n, n_all * n_all)
    shown = sp.csr_array((np.ones(pairs.size), pairs.ravel(), indptr), shape=shape)
    return np.asarray((shown @ table.reshape(-1, n_classes)).reshape(n, n_rows, n_classes))


def _by_product(n: int, n_all: int, n_classes: int) -> bool:
    """Whether matrix products find the sums of n columns with n_all levels sooner."""
    return n_all**2 * n_classes * PRODUCT_TIME <= n**2 * (PICK_TIME + n_classes * ADD_TIME)


def _rows_at_once(n: int, n_all: int, n_classes: int) -> int:
    """Rows of a block for `picked_sums`."""
    products = _by_product(n, n_all, n_classes)
    needed = n_all * n_classes if products else max(n * n, n_all * n_classes // 4)
    return max(1, BLOCK_ENTRIES // max(1, needed))


def stack_counts(
    codes: CodeArray,
    y: IndexArray,
    weight: FloatArray,
    n_classes: int,
    n_levels: tuple[int, ...],
) -> FloatArray:
    """Counts of the entries in each class, shape (K, L + L * L)."""
    n_all = sum(n_levels)
    counts = np.zeros((n_classes, n_all + 1, n_all))
    pairs = pair_counts(codes, y, weight, n_classes, level_offsets(n_levels), out=counts[:, 1:])
    counts[:, 0] = np.einsum("kaa->ka", pairs)
    return counts.reshape(n_classes, -1)


def split_counts(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Single counts (K, L) and pair counts (K, L, L) from the counts of entries."""
    n_all = (round(np.sqrt(4 * counts.shape[1] + 1)) - 1) // 2
    return counts[:, :n_all], counts[:, n_all:].reshape(len(counts), n_all, n_all)


def _smoothed(counts: FloatArray, mass: FloatArray, offsets: IndexArray) -> FloatArray:
    """Shares within each column on the last axis."""
    smoothed = counts + mass
    total = np.repeat(column_sums(smoothed, offsets), np.diff(offsets), axis=-1)
    return np.asarray(smoothed / total)


def _parent_spans(pairs: FloatArray) -> list[slice]:
    """Ranges of parent levels whose tables are computed at once."""
    n_classes, n_all, _ = pairs.shape
    size = max(1, BLOCK_ENTRIES // max(1, n_classes * n_all))
    return [slice(start, start + size) for start in range(0, n_all, size)]


# ---------------------------------------------------------------------------- AODE


class AODETables(NamedTuple):
    """Tables of AODE.

    Attributes
    ----------
    offsets : array of int
    log_child : array of shape (L, L, K)
        log P(b | k, a), a first; 0 in the blocks of a column with itself.
    log_super : array of shape (L, K)
        log P(k, a); -inf where level a is too rare to be a super-parent.
    log_single : array of shape (L, K)
        log P(b | k), for rows without any frequent value.
    log_class : array of shape (K,)
        log P(k), for the same.
    frequent : array of shape (L,)
    log_total : array of shape (K,)
        log of the sum of all terms of a class over all rows: P(k) times Z.
    """

    offsets: IndexArray
    log_child: FloatArray
    log_super: FloatArray
    log_single: FloatArray
    log_class: FloatArray
    frequent: BoolArray
    log_total: FloatArray

    def of_class(self, k: int) -> AODETables:
        """The model of one class alone."""
        return AODETables(
            self.offsets,
            np.ascontiguousarray(self.log_child[:, :, k : k + 1]),
            self.log_super[:, k : k + 1],
            self.log_single[:, k : k + 1],
            self.log_class[k : k + 1],
            self.frequent,
            self.log_total[k : k + 1],
        )

    @property
    def log_prior(self) -> FloatArray:
        """log P(k) of the whole model."""
        return self.log_total - log_sum_exp(self.log_total)

    @property
    def log_rare(self) -> FloatArray:
        """log P(column j has a rare value | k), shape (n, K)."""
        rare = np.where(self.frequent[:, None], 0.0, np.exp(self.log_single))
        with np.errstate(divide="ignore"):
            return np.log(column_sums(rare.T, self.offsets).T)


def aode_tables(
    counts: FloatArray,
    class_weight: FloatArray,
    n_levels: tuple[int, ...],
    alpha: float,
    min_frequency: float,
) -> AODETables:
    """Tables from counts (Webb, Boughton and Wang 2005, with Laplace smoothing `alpha`)."""
    offsets = level_offsets(n_levels)
    single, pairs = split_counts(counts)
    n_classes, n_all = single.shape
    widths = np.diff(offsets)
    mass = np.full(n_all, alpha)
    child = np.empty((n_all, n_all, n_classes))
    for rows in _parent_spans(pairs):
        child[rows] = np.log(_smoothed(pairs[:, rows], mass, offsets)).transpose(1, 2, 0)
    for first, end in pairwise(offsets.tolist()):
        child[first:end, first:end] = 0.0
    smoothed = single + alpha
    per_column = column_sums(smoothed.sum(axis=0), offsets)
    log_super = np.log(smoothed / np.repeat(per_column, widths)).T
    frequent = single.sum(axis=0) >= min_frequency - 1e-9
    log_super[~frequent] = -np.inf
    prior = np.log((class_weight + alpha) / (class_weight.sum() + n_classes * alpha))
    log_single = np.log(_smoothed(single, mass, offsets)).T
    model = AODETables(
        offsets,
        child,
        np.ascontiguousarray(log_super),
        np.ascontiguousarray(log_single),
        prior,
        frequent,
        np.empty(0),
    )
    rare = prior + model.log_rare.sum(axis=0)
    terms = np.concatenate([model.log_super, rare[None]])
    return model._replace(log_total=log_sum_exp(terms.T))


def aode_log_likelihood(model: AODETables, codes: CodeArray) -> FloatArray:
    """log p(observed columns | class), shape (n_rows, K).

    The joint probability is, with q(a) = 1 if level a is frequent and r(x) = 1 if x has none,

        Z p(x, k) = sum_i q(x_i) P(k, x_i) prod_j P(x_j | k, x_i) + r(x) P(k) prod_j P(x_j | k)
    """
    n_rows, n = codes.shape
    total = np.empty((n_rows, len(model.log_total)))
    full = (codes >= 0).all(axis=1)
    level = np.where(codes >= 0, codes + model.offsets[:-1], -1)
    n_all, n_classes = model.log_super.shape
    with_holes = max(1, BLOCK_ENTRIES // max(1, n_all * n_classes))
    for rows, function, size in (
        (np.flatnonzero(full), _aode_complete, _rows_at_once(n, n_all, n_classes)),
        (np.flatnonzero(~full), _aode_with_holes, with_holes),
    ):
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            total[part] = np.logaddexp(function(model, level[part]), _naive(model, level[part]))
    return total - model.log_total


def _aode_complete(model: AODETables, level: IndexArray) -> FloatArray:
    """log of the super-parents' terms of rows without holes."""
    if level.shape[1] == 0:
        return np.full((len(level), len(model.log_class)), -np.inf)
    terms = picked_sums(model.log_child, level)
    terms += model.log_super[level.T]
    top = terms.max(axis=0)
    top[np.isneginf(top)] = 0.0
    terms -= top
    np.exp(terms, out=terms)
    total = terms[0].copy()
    for term in terms[1:]:  # in a fixed order, so that the number of rows changes nothing
        total += term
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + top)


def _aode_with_holes(model: AODETables, level: IndexArray) -> FloatArray:
    """The same for rows with holes: every level of a missing column in turn is a super-parent."""
    terms = _all_terms(model, level)
    terms[~_possible(model, level)] = -np.inf
    return log_sum_exp(terms.transpose(0, 2, 1))


def _all_terms(model: AODETables, level: IndexArray) -> FloatArray:
    """log P(k, a) prod_j P(x_j | k, a) for every level a, shape (n_rows, L, K).

    A column is no child of its own levels, so their terms do not change when it is left out.
    """
    n_all, n_classes = model.log_super.shape
    shown = indicator_rows(level, n_all)
    terms = np.empty((len(level), n_all, n_classes))
    size = max(1, BLOCK_ENTRIES // max(1, n_all * n_classes))
    for start in range(0, n_all, size):
        span = slice(start, start + size)
        children = model.log_child[span].transpose(1, 0, 2)
        terms[:, span] = (shown @ children.reshape(n_all, -1)).reshape(terms[:, span].shape)
    terms += model.log_super
    return terms


def _possible(model: AODETables, level: IndexArray) -> BoolArray:
    """Levels that a row has, and all those of its missing columns, shape (n_rows, L)."""
    possible = np.repeat(level < 0, np.diff(model.offsets), axis=1)
    rows, columns = np.nonzero(level >= 0)
    possible[rows, level[rows, columns]] = True
    return possible


def aode_without_each(model: AODETables, codes: CodeArray) -> FloatArray:
    """log p(observed columns but one | class), (n_rows, n, K); 0 for a missing one.

    A super-parent's term without a column is its term in the whole row without one factor.
    """
    n, (n_all, n_classes) = codes.shape[1], model.log_super.shape
    out = np.zeros((*codes.shape, n_classes))
    if n == 0:
        return out
    level = np.where(codes >= 0, codes + model.offsets[:-1], -1)
    size = max(1, BLOCK_ENTRIES // (n_all * n * n_classes))
    n_at_once = max(1, BLOCK_ENTRIES // (n_all * n_classes))
    for start in range(0, len(codes), size):
        rows = slice(start, start + size)
        terms = _all_terms(model, level[rows])
        for first in range(0, n, n_at_once):
            columns = np.arange(first, min(first + n_at_once, n))
            out[rows, columns] = _terms_without(model, level[rows], terms, columns)
    often = model.frequent[level] & (codes >= 0)
    # where no other column has a frequent value
    row, column = np.nonzero((codes >= 0) & (often.sum(axis=1)[:, None] == often))
    for start in range(0, len(row), n_at_once):
        part = row[start : start + n_at_once], column[start : start + n_at_once]
        copies = level[part[0]]
        copies[np.arange(len(copies)), part[1]] = -1
        out[part] = np.logaddexp(out[part], _naive(model, copies))
    out -= model.log_total
    out[codes < 0] = 0.0
    return out


def _terms_without(
    model: AODETables, level: IndexArray, terms: FloatArray, columns: IndexArray
) -> FloatArray:
    """log of the sum of the super-parents' terms without each of some columns, (n_rows, n, K).

    `terms` are `_all_terms`. All levels of the column that is left out are super-parents.
    """
    possible = _possible(model, level)
    n_parents = int(possible.sum(axis=1).max(initial=0))
    parent = np.argsort(~possible, axis=1, kind="stable")[:, :n_parents]
    rows = np.arange(len(level))[:, None]
    own = terms[rows, parent]
    own[~possible[rows, parent]] = -np.inf
    found = own[:, :, None] - model.log_child[parent[:, :, None], level[:, None, columns]]
    owner = np.repeat(np.arange(level.shape[1]), np.diff(model.offsets))
    found[owner[parent][:, :, None] == columns] = -np.inf
    others = log_sum_exp(found.transpose(0, 2, 3, 1))
    by_column = np.logaddexp.reduceat(terms, model.offsets[:-1], axis=1)
    return np.logaddexp(others, by_column[:, columns])


def _naive(model: AODETables, level: IndexArray) -> FloatArray:
    """log of the naive Bayes term of rows without a frequent value, -inf for all others."""
    n_rows = len(level)
    seen = level >= 0
    out = np.full((n_rows, len(model.log_class)), -np.inf)
    if model.frequent.size:
        rare = np.flatnonzero(~(model.frequent[level] & seen).any(axis=1))
    else:
        rare = np.arange(n_rows)
    if not rare.size:
        return out
    log_rare = model.log_rare
    shown = indicator_rows(level[rare], len(model.frequent)) @ model.log_single
    hidden = ~seen[rare]
    # where, not a product: 0 times -inf would be NaN
    chance = np.where(hidden[:, :, None], log_rare, 0.0).sum(axis=1)
    out[rare] = model.log_class + shown + chance
    return out


def draw_aode(model: AODETables, y: IndexArray, rng: np.random.Generator) -> CodeArray:
    """One row for each class code: a super-parent's value, then the other columns given it."""
    n_all, n = len(model.log_super), len(model.offsets) - 1
    rare = model.log_class + model.log_rare.sum(axis=0)
    terms = np.concatenate([model.log_super, rare[None]]) - model.log_total
    chosen = draw_levels(np.exp(terms).T[y], rng)
    codes = np.empty((len(y), n), dtype=np.int32)
    alone = chosen == n_all
    parent = np.where(alone, 0, chosen)
    for j, (first, end) in enumerate(zip(model.offsets[:-1], model.offsets[1:], strict=True)):
        given = np.exp(model.log_child[parent, first:end, y])
        single = np.where(
            model.frequent[first:end, None], 0.0, np.exp(model.log_single[first:end])
        ).T[y]
        weights = np.where(alone[:, None], single, given)
        codes[:, j] = draw_levels(weights / weights.sum(axis=1, keepdims=True), rng)
        own = ~alone & (parent >= first) & (parent < end)
        codes[own, j] = parent[own] - first
    return codes


# --------------------------------------------------------------- hidden naive Bayes


class HiddenTables(NamedTuple):
    """Tables of hidden naive Bayes.

    Attributes
    ----------
    offsets : array of int
    weights : array of shape (n, n)
        Weight of column j (second) in the hidden parent of column i (first); rows sum to 1, or 0.
    mixed : array of shape (L, L, K)
        weight times P(child b | k, parent a), b first.
    single : array of shape (L, K)
        P(b | k), for columns without any parent.
    child : array of shape (K, L, L)
        P(child b | k, parent a), parent first.
    """

    offsets: IndexArray
    weights: FloatArray
    mixed: FloatArray
    single: FloatArray
    child: FloatArray

    def of_class(self, k: int) -> HiddenTables:
        """The model of one class alone."""
        return HiddenTables(
            self.offsets,
            self.weights,
            np.ascontiguousarray(self.mixed[:, :, k : k + 1]),
            np.ascontiguousarray(self.single[:, k : k + 1]),
            self.child[k : k + 1],
        )


def hidden_weights(information: FloatArray) -> FloatArray:
    """Conditional mutual information scaled to sum to 1 over the parents of each column."""
    total = information.sum(axis=1, keepdims=True)
    out = np.zeros_like(information)
    return np.asarray(np.divide(information, total, out=out, where=total > 0))


def hidden_tables(
    counts: FloatArray, weights: FloatArray, n_levels: tuple[int, ...], alpha: float
) -> HiddenTables:
    """Tables from counts; `alpha` rows, spread evenly, are added to every distribution."""
    offsets = level_offsets(n_levels)
    single, pairs = split_counts(counts)
    column = np.repeat(np.arange(len(n_levels)), n_levels)
    mass = alpha / np.repeat(np.asarray(n_levels, dtype=float), n_levels)
    child, mixed = np.empty(pairs.shape), np.empty(pairs.shape[::-1])
    for rows in _parent_spans(pairs):
        child[:, rows] = _smoothed(pairs[:, rows], mass, offsets)
        part = child[:, rows] * weights[column][:, column[rows]].T
        mixed[:, rows] = part.transpose(2, 1, 0)
    return HiddenTables(
        offsets,
        weights,
        mixed,
        np.ascontiguousarray(_smoothed(single, mass, offsets).T),
        child,
    )


def hidden_log_likelihood(model: HiddenTables, codes: CodeArray) -> FloatArray:
    """log prod_i sum_j W_ij P(x_i | x_j, k) over the observed columns i and j, weights rescaled."""
    n_rows, n = codes.shape
    n_all, n_classes = model.single.shape
    total = np.zeros((n_rows, n_classes))
    if n == 0:
        return total
    level = np.where(codes >= 0, codes + model.offsets[:-1], -1)
    size = _rows_at_once(n, n_all, n_classes)
    for start in range(0, n_rows, size):
        part = level[start : start + size]
        seen = part >= 0
        sums = picked_sums(model.mixed, part)
        known = (seen.astype(float) @ model.weights.T).T[:, :, None]
        alone = model.single[part.T]
        mean = np.divide(sums, known, out=alone, where=known > 0)
        mean[~seen.T] = 1.0
        with np.errstate(divide="ignore"):
            logs = np.log(mean, out=mean)
        for log in logs:  # in a fixed order, so that the number of rows changes nothing
            total[start : start + size] += log
    return total


def draw_hidden(
    model: HiddenTables, order: IndexArray, y: IndexArray, rng: np.random.Generator
) -> CodeArray:
    """One row for each class code: columns in `order`, each given those drawn before it."""
    n = len(model.offsets) - 1
    codes = np.zeros((len(y), n), dtype=np.int32)
    single = model.single.T
    for place, i in enumerate(order):
        first, end = model.offsets[i], model.offsets[i + 1]
        before = order[:place]
        known = model.weights[i, before].sum()
        if known > 0:
            level = codes[:, before] + model.offsets[before]
            tables = model.child[y[:, None], level, first:end]
            share = np.einsum("j,rjb->rb", model.weights[i, before] / known, tables)
        else:
            share = single[y, first:end]
        codes[:, i] = draw_levels(share / share.sum(axis=1, keepdims=True), rng)
    return codes
