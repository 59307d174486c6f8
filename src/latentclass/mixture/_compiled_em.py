"""The mixture problem for many rows, with its E-step in compiled loops.

Densities, shares and sums of a row are computed while it is in the processor's cache, in a third of
the time of matrix products. On small tables, loading the loops costs more than it saves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine import _product as product
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, MixtureStats
from latentclass.mixture._padded_rows import (
    LOST,
    PaddedRows,
    log_constants,
    pad_rows,
    with_place,
)

LARGE = 2**19
"""The loops are used if rows times starts times components are at least this many."""


@dataclass(frozen=True)
class LargeMixture(MixtureProblem):
    """A `MixtureProblem` whose rows are all in `blocks`, with the same results up to rounding."""

    _padded: list[PaddedRows] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        packed = [pad_rows(_with_blocks(self, [block])) for block in self.blocks]
        object.__setattr__(self, "_padded", packed)

    def expect(self, params: MixtureParams) -> tuple[MixtureStats, FloatArray]:
        """Return the expected statistics and the log-likelihood of all rows."""
        parts = list(map_blocks(lambda rows: _share(rows, params), self._padded, self.n_jobs))
        if any(part is None for part in parts):
            return super().expect(params)
        n_starts, n_components = params.log_weight.shape
        row_weight = np.zeros((n_starts, n_components))
        log_likelihood = np.zeros(n_starts)
        total = product.empty_stats(n_starts * n_components, self.layout)
        for part in parts:
            assert part is not None
            row_weight += part[0]
            log_likelihood += part[2]
            total = product.merge_stats(total, part[1])
        shaped = (array.reshape(n_starts, n_components, -1) for array in total)
        return MixtureStats(row_weight, *shaped), log_likelihood


def _with_blocks(
    problem: MixtureProblem, blocks: list[tuple[product.ProductRows, FloatArray]]
) -> MixtureProblem:
    """Make a plain problem of other rows."""
    return MixtureProblem(
        blocks, problem.known_rows, problem.known, problem.prior, problem.layout, problem.n_jobs
    )


def suit_size(problem: MixtureProblem, params: MixtureParams) -> MixtureProblem:
    """Make the same problem with compiled loops, if its rows and components are many."""
    n_rows = sum(len(weight) for _, weight in problem.blocks)
    return make_large(problem) if n_rows * params.log_weight.size >= LARGE else problem


def make_large(problem: MixtureProblem) -> MixtureProblem:
    """Make the same problem with compiled loops."""
    return LargeMixture(
        problem.blocks,
        problem.known_rows,
        problem.known,
        problem.prior,
        problem.layout,
        problem.n_jobs,
    )


def _share(
    rows: PaddedRows, params: MixtureParams
) -> tuple[FloatArray, product.Stats, FloatArray] | None:
    """Row weight, statistics and log-likelihood of a block; None if digits would be lost."""
    from latentclass.mixture._responsibility_kernels import share_rows

    n_starts, n_components, p = params.mean.shape
    row_weight = np.empty((n_starts, n_components))
    sums = np.empty((n_starts, n_components, rows.powers.shape[1]))
    counts = np.empty((n_starts, n_components, params.log_prob.shape[2] + 1))
    log_likelihood = np.empty(n_starts)
    share_rows(
        rows, with_place(params), log_constants(rows, params), row_weight, sums, counts,
        log_likelihood,
    )  # fmt: skip
    first, second = sums[:, :, :p], sums[:, :, p : 2 * p]
    cell_weight = sums[:, :, 2 * p :]
    if not rows.holed.size:
        cell_weight = np.repeat(row_weight[:, :, None], p, axis=2)
    about = np.divide(first, cell_weight, out=np.zeros_like(first), where=cell_weight > 0)
    scatter = second - cell_weight * about * about
    if np.any(scatter < LOST * second):
        return None
    flat = (
        cell_weight,
        np.where(cell_weight > 0, about + rows.shift, 0.0),
        scatter,
        counts[:, :, :-1],
    )
    shaped = (array.reshape(n_starts * n_components, array.shape[2]) for array in flat)
    return row_weight, product.Stats(*shaped), log_likelihood
