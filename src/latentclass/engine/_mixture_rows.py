"""Rows of a mixture: equal rows joined, in an order that depends only on their values.

A random choice per row must not depend on how the table is written: on the order of rows and
columns, on units of measurement, on constant columns, or on whether a row occurs twice or has
weight 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._content_folds import DistinctRows, column_fingerprints, distinct_rows
from latentclass.engine._counts import level_offsets
from latentclass.engine._logspace import log_sum_exp
from latentclass.engine._numeric import divide
from latentclass.engine._product_mixture import (
    MixtureParams,
    MixtureProblem,
    flat_params,
    spread_starts,
)

START_VALUES = 2**23
"""Most rows times starts times components in memory at once while starts are made (64 MB)."""


def join_rows(
    numeric: FloatArray,
    codes: CodeArray,
    y: IndexArray,
    weight: FloatArray,
    n_levels: IndexArray,
    seed: int,
) -> tuple[DistinctRows, IndexArray]:
    """Join equal rows of the same class, and return the place of the first of each.

    The rows are sorted by a hash of their values, and equal rows by the weight of their class.
    """
    ranks, marks = [], []
    for column in numeric.T:
        _, rank = np.unique(column, return_inverse=True, equal_nan=True)
        ranks.append(np.where(np.isnan(column), -1, rank.reshape(-1)).astype(np.int32))
        marks.append(shape_mark(column, weight))
    all_one = np.zeros(len(y), dtype=np.intp)
    marks += column_fingerprints(codes, all_one, weight, n_levels.tolist(), 1)
    columns = np.stack([*ranks, *codes.T], axis=1) if marks else np.empty((len(y), 0), np.int32)
    varies = (columns != columns[:1]).any(axis=0)
    used = [mark for mark, keep in zip(marks, varies, strict=True) if keep]
    rows = distinct_rows(columns[:, varies], y, weight, used, seed)
    by_class = np.bincount(rows.y + 1, rows.weight)
    order = np.lexsort((rows.y, by_class[rows.y + 1], rows.key))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    number = rank[rows.number]
    first = np.empty(len(order), dtype=np.intp)
    first[number[::-1]] = np.arange(len(number))[::-1]
    kept = DistinctRows(
        rows.codes[order], rows.y[order], rows.weight[order], rows.key[order], number
    )
    return kept, first


def shape_mark(column: FloatArray, weight: FloatArray) -> int:
    """Hash the skewness of a column, which does not depend on its unit."""
    seen = ~np.isnan(column)
    low, high = column[seen].min(initial=np.inf), column[seen].max(initial=-np.inf)
    if not low < high:
        return 0
    values, share = (column[seen] / 2 - low / 2) / (high / 2 - low / 2), weight[seen]
    values = values - np.average(values, weights=share)
    spread = np.sqrt(np.average(values**2, weights=share))
    # further digits would depend on the order of summation
    return crc32(f"{np.average((values / spread) ** 3, weights=share):.6g}".encode())


@dataclass(frozen=True)
class MixtureRows:
    """Rows in the units of the engine, with the prior and layout that every mixture needs.

    Attributes
    ----------
    rows : product.ProductRows
    weight : array of shape (n_rows,)
    prior : product.Prior
    layout : product.Layout
    """

    rows: product.ProductRows
    weight: FloatArray
    prior: product.Prior
    layout: product.Layout

    @classmethod
    def measure(
        cls,
        numeric: FloatArray,
        codes: CodeArray,
        weight: FloatArray,
        n_levels: IndexArray,
        *,
        alpha: float,
        strength: float,
    ) -> MixtureRows:
        """Prepare the rows of a table; the prior gets their mean and variance."""
        low, high = (function.reduce(numeric, axis=0) for function in (np.fmin, np.fmax))
        layout = product.Layout(*product.measure_range(low, high), level_offsets(n_levels))
        rows = product.to_rows(numeric, codes, layout)
        overall = product.soft_stats(rows, weight[:, None], layout)
        variance = divide(overall.scatter[0], overall.weight[0])
        prior = product.Prior(alpha, strength, overall.mean[0], variance)
        return cls(rows, weight, prior, layout)

    def take(self, keep: BoolArray | IndexArray, weight: FloatArray) -> MixtureRows:
        """Select some rows and give them new weights; units and prior stay the same."""
        rows = product.ProductRows(self.rows.numeric[keep], self.rows.codes[keep])
        return replace(self, rows=rows, weight=weight)

    def problem(
        self, n_components: int, spans: list[slice], n_jobs: int | None = None
    ) -> MixtureProblem:
        """Make the EM problem of a mixture of these rows; `spans` are its blocks of rows."""
        blocks = [
            (product.ProductRows(self.rows.numeric[span], self.rows.codes[span]), self.weight[span])
            for span in spans
        ]
        nothing = product.empty_stats(n_components, self.layout)
        return MixtureProblem(
            blocks, np.zeros(n_components), nothing, self.prior, self.layout, n_jobs
        )

    def starts(self, problem: MixtureProblem, rngs: list[np.random.Generator]) -> MixtureParams:
        """Make starts whose components lie around rows far apart (see `spread_starts`)."""
        n_components = len(problem.known_rows)
        whole = [(self.rows, self.weight, slice(0, n_components))]
        restricted = replace(problem, blocks=[], restricted=whole)
        size = max(START_VALUES // max(len(self.weight) * n_components, 1), 1)
        parts = [
            spread_starts(restricted, rngs[first : first + size])
            for first in range(0, len(rngs), size)
        ]
        return MixtureParams(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def log_density(self, params: MixtureParams) -> FloatArray:
        """log p(x) of each row, given the parameters of the first start."""
        one = MixtureParams(*(array[:1] for array in params))
        out = product.log_density(flat_params(one), self.rows, self.layout)
        return log_sum_exp(out + one.log_weight)

    @property
    def n_parameters_each(self) -> int:
        """Number of free parameters of a component, without its weight; 0 for a constant column."""
        n_levels = np.diff(self.layout.offsets)
        varying = int(np.count_nonzero(self.prior.variance > 0))
        return 2 * varying + int(np.maximum(n_levels - 1, 0).sum())
