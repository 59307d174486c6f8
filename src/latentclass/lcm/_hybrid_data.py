"""Rows of mixed columns in blocks, and what the starts of EM need to know about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from latentclass._types import FloatArray, IndexArray
from latentclass.data._labels import UNLABELLED
from latentclass.engine._numeric import divide
from latentclass.lcm._logistic_bound import HybridRows, read_rows
from latentclass.lcm._soft_max_bound import Soft


@dataclass(eq=False)
class HybridBlock:
    """Some rows, either all labelled or all unlabelled, and the free numbers of their bound.

    Attributes
    ----------
    rows : HybridRows
    label : array of shape (R,)
        Class of each row, -1 if unlabelled.
    weight : array of shape (R,)
    labelled : bool
    xi : array of shape (3 S, M, cells, R)
        The free numbers of the bound, in single precision, since any value gives a bound. EM from S
        starts keeps three sets of each (see `_hybrid_em`).
    """

    rows: HybridRows
    label: IndexArray
    weight: FloatArray
    labelled: bool
    xi: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0, 0, 0), np.float32))


@dataclass(frozen=True)
class HybridData:
    """Rows in the form that the E-step needs.

    Attributes
    ----------
    blocks : list of HybridBlock
    labelled : array of shape (Y,)
        Weight of the labelled rows of each class.
    pseudo : array of shape (2, n_b)
        Pseudo-counts of 1 and 0 in each logistic column, for `Prior.alpha` = 1. Categories of
        soft-max columns have a pseudo-count of 1 each and are not listed.
    total_weight : float
    n_jobs : int or None
    """

    blocks: list[HybridBlock]
    labelled: FloatArray
    pseudo: FloatArray
    total_weight: float
    n_jobs: int | None = None

    @property
    def n_columns(self) -> tuple[int, int]:
        """Gaussian and logistic columns."""
        return self.blocks[0].rows.values.shape[0], self.pseudo.shape[1] + sum(self.soft)

    @property
    def n_plain(self) -> int:
        """Number of logistic cells of a row that are no categories of soft-max columns."""
        return int(self.blocks[0].rows.signs.shape[0]) - sum(self.soft)

    @property
    def soft(self) -> Soft:
        """The soft-max columns among the logistic ones (see `_soft_max_bound`)."""
        return self.blocks[0].rows.soft


def gather_blocks(
    parts: list[tuple[HybridRows, IndexArray, FloatArray]],
    n_classes: int,
    pseudo: FloatArray,
    n_jobs: int | None = None,
) -> HybridData:
    """Sort parts (rows, class codes, weights) into blocks."""
    blocks: list[HybridBlock] = []
    labelled_weight = np.zeros(n_classes)
    total = 0.0
    for rows, y, weight in parts:
        total += float(weight.sum())
        for labelled in (True, False):
            mine = np.flatnonzero((y != UNLABELLED) == labelled)
            if not mine.size:
                continue
            blocks.append(HybridBlock(rows.take(mine), y[mine], weight[mine], labelled))
            if labelled:
                labelled_weight += np.bincount(y[mine], weight[mine], n_classes)
    return HybridData(blocks, labelled_weight, pseudo, total, n_jobs)


def column_places(data: HybridData) -> tuple[IndexArray, FloatArray]:
    """Rank the columns by their contents (see `_class_components.column_ranks`).

    Also returns the smoothed share of 1 in each logistic column.
    """
    n_classes, (n_gaussian, n_logistic) = len(data.labelled), data.n_columns
    sums = np.zeros((3, n_classes, n_gaussian + n_logistic))
    overall = np.zeros((2, n_logistic))
    for block in data.blocks:
        shown, values = _numbers(block.rows, n_logistic)
        overall += np.stack([shown @ block.weight, values @ block.weight])[:, n_gaussian:]
        if block.labelled:
            marks = (block.label == np.arange(n_classes)[:, None]) * block.weight
            for total, part in zip(sums, (shown, values, values * values), strict=True):
                total += (part @ marks.T).T
    count = sums[0]
    share = count / np.maximum(count.sum(axis=0), np.finfo(float).tiny)
    mean, spread = (divide(part, count) for part in sums[1:])
    key = (share * (mean**2 + 0.3 * spread**2)).sum(axis=0)
    # rounding errors must not decide the order of equal columns
    key = np.round(key, 6)
    order = np.lexsort((np.round(_relations(data, key), 6), key))
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    chance = (overall[1] + 0.5 * overall[0] + 0.5) / (overall[0] + 1.0)
    return ranks, chance


def _relations(data: HybridData, key: FloatArray) -> FloatArray:
    """Compute a number for each column from its relations to the others, to separate equal keys.

    Each row gets a random number by the keys of the columns, and each class one by its rows.
    """
    different, number = np.unique(key, return_inverse=True)
    total = np.zeros(len(key))
    if len(different) == len(key):
        return total
    words = np.random.default_rng(0).standard_normal(len(key))[number.reshape(-1)]
    n_classes, (_, n_logistic) = len(data.labelled), data.n_columns
    along = []
    by_class = np.zeros(n_classes)
    for block in data.blocks:
        along.append(_numbers(block.rows, n_logistic)[1].T @ words)
        if block.labelled:
            by_class += np.bincount(block.label, block.weight * np.cos(along[-1]), n_classes)
    by_class = divide(by_class, data.labelled)
    for block, place in zip(data.blocks, along, strict=True):
        shift = 3.0 * by_class[block.label] if block.labelled else 0.0
        total += _numbers(block.rows, n_logistic)[1] @ (block.weight * np.cos(place + shift))
    return total / data.total_weight


def _numbers(rows: HybridRows, n_logistic: int) -> tuple[Any, Any]:
    """Return which cells were observed, and their values or half signs, (n, R), 0 if missing.

    Both are sparse if rows answer only some of the questions.
    """
    seen = read_rows(rows)
    shown = np.ones_like(seen.kappa) if seen.logistic is None else seen.logistic
    shown = np.concatenate([seen.gaussian, shown])
    values = np.concatenate([seen.values, seen.kappa])
    if not len(seen.asked):
        return shown, values
    n_gaussian, (depth, n_rows) = len(seen.values), seen.asked.shape
    column = np.repeat(np.arange(len(values))[:, None], n_rows, axis=1)
    column[-depth:] = n_gaussian + seen.asked
    row = np.broadcast_to(np.arange(n_rows), column.shape)
    place = column[shown > 0], row[shown > 0]
    shape = n_gaussian + n_logistic, n_rows
    return tuple(sp.csr_array((part[shown > 0], place), shape) for part in (shown, values))


def draw_items(
    data: HybridData, direction: FloatArray, chance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw rows: those at given shares (`chance`) of the weight, sorted along a direction.

    So a row is drawn in proportion to its weight, and the draw does not depend on the order of the
    rows. Returns their values and signs, 0 if missing.
    """
    n_gaussian, n_logistic = data.n_columns
    along, weight, places = [], [], []
    for number, block in enumerate(data.blocks):
        along.append(_numbers(block.rows, n_logistic)[1].T @ direction)
        weight.append(block.weight)
        places.append(np.stack([np.full(len(block.weight), number), np.arange(len(block.weight))]))
    order = np.argsort(np.concatenate(along), kind="stable")
    reached = np.cumsum(np.concatenate(weight)[order])
    found = np.searchsorted(reached, chance * reached[-1], side="right")
    chosen = np.concatenate(places, axis=1)[:, order[np.minimum(found, len(order) - 1)]]
    drawn = [data.blocks[b].rows.take(np.array([r])) for b, r in chosen.T]
    cells = [_numbers(rows, n_logistic)[1] for rows in drawn]
    found = np.stack([(cell.toarray() if sp.issparse(cell) else cell)[:, 0] for cell in cells])
    return found[:, :n_gaussian], 2.0 * found[:, n_gaussian:]
