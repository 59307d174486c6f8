"""A mixture of products, searched by giving each row to one component.

The loops are compiled (see `_hard_assignment_kernels`). If no row stands for several, many
iterations of a start run in one call (see `_iteration_kernels`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import split_log
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import (
    MixtureParams,
    MixtureProblem,
    MixtureStats,
    flat_params,
)
from latentclass.mixture._padded_rows import (
    RUN,
    PaddedRows,
    log_constants,
    make_spares,
    no_spares,
    pad_rows,
    with_place,
)
from latentclass.mixture._searches import (
    SPARES,
    Chance,
    Rule,
    Run,
    collapsed,
    draw_chances,
    responsibilities,
    row_units,
    split_units,
)


@dataclass(frozen=True)
class MixtureSearch:
    """A mixture of products (see `MixtureProblem`), searched by exclusive assignment.

    Attributes
    ----------
    mixture : MixtureProblem
        All of its rows must be in `blocks`.
    """

    mixture: MixtureProblem
    _rows: PaddedRows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", pad_rows(self.mixture))

    def assign(self, params: MixtureParams, chance: Chance) -> tuple[MixtureStats, FloatArray]:
        """See `SearchProblem`."""
        if chance.soft:
            return self.mixture.e_step(params)
        if chance.n_draws > 1:
            return self._draw_often(params, chance)
        from latentclass.mixture._hard_assignment_kernels import assign_rows, finish_sums, sum_rows
        from latentclass.mixture._responsibility_kernels import SPACE

        rows, (n_starts, n_components, p) = self._rows, params.mean.shape
        n_rows, padded, constant = len(rows.weight), with_place(params), log_constants(rows, params)
        component = np.empty((n_starts, n_rows), dtype=np.int32)
        share = np.empty((n_starts, len(rows.heavy), n_components))
        space = np.empty((2 * n_components + SPACE, RUN))
        log_likelihood = np.empty(n_starts)
        for s, draws in enumerate(draw_chances(chance, n_rows)):
            log_likelihood[s] = assign_rows(
                rows, padded, constant[s], s, draws, chance.sharpness, component[s], share[s], space
            )
        if rows.heavy.size:
            share = split_units(share, rows.units, chance) * rows.weight[rows.heavy, None]
        row_weight = np.empty((n_starts, n_components))
        sums = np.empty((n_components, rows.powers.shape[1]))
        counts = np.empty((n_starts, n_components, padded.log_prob.shape[2]))
        cell_weight, mean, scatter = (np.empty((n_starts, n_components, p)) for _ in range(3))
        for s in range(n_starts):
            who = (rows, component[s], share[s], row_weight[s], sums)
            sum_rows(*who, counts[s])
            finish_sums(*who, cell_weight[s], mean[s], scatter[s])
        stats = MixtureStats(row_weight, cell_weight, mean, scatter, counts[:, :, :-1].copy())
        penalised = log_likelihood + self.mixture.log_prior(params)
        return stats, penalised / self.mixture.total_weight

    def _draw_often(self, params: MixtureParams, chance: Chance) -> tuple[MixtureStats, FloatArray]:
        """Do what `assign` does if a row draws several components, block by block."""
        n_starts, n_components = params.log_weight.shape
        layout, flat = self.mixture.layout, flat_params(params)
        total = np.zeros(n_starts)
        row_weight = np.zeros(n_starts * n_components)
        stats = product.empty_stats(n_starts * n_components, layout)
        for rows, weight in self.mixture.blocks:  # in turn: the order of the draws must not change
            joint = product.log_density(flat, rows, layout).reshape(len(weight), n_starts, -1)
            log_share, size = split_log((joint + params.log_weight).transpose(1, 0, 2))
            share = responsibilities(log_share, row_units(weight), chance) * weight[:, None]
            amount = share.transpose(1, 0, 2).reshape(len(weight), -1)
            total += size @ weight
            row_weight += amount.sum(axis=0)
            stats = product.merge_stats(stats, product.soft_stats(rows, amount, layout))
        shaped = (array.reshape(n_starts, n_components, -1) for array in stats)
        objective = (total + self.mixture.log_prior(params)) / self.mixture.total_weight
        return MixtureStats(row_weight.reshape(n_starts, n_components), *shaped), objective

    def run_steps(
        self, run: Run[MixtureParams, MixtureStats], starts: IndexArray, sharpness: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, IndexArray]:
        """Run several iterations of some starts in one call, as `assign` and `m_step` would.

        Changes the parameters of the run and those that it keeps. Returns the objective and the
        best one so far at each iteration of each start, the components that it lost in its last
        iteration, and its number of iterations: a start stops when it loses a component and has no
        spare one.
        """
        from latentclass.mixture._iteration_kernels import run_steps

        rows, offsets = self._rows, self.mixture.layout.offsets
        alpha, strength, *where = self.mixture.prior
        prior = product.Prior(float(alpha), float(strength), *where)
        params, kept = (with_place(take_starts(part, starts)) for part in (run.params, run.kept))
        marks = run.marks(starts)
        shape = (len(starts), len(sharpness))
        objective, best_so_far = np.empty(shape), np.empty(shape)
        lost = np.empty(params.log_weight.shape, dtype=bool)

        def visit(s: int) -> int:
            # one start at a time, so that its numbers stay in the cache
            start, rng = int(starts[s]), run.rngs[starts[s]]
            chance = rng.random((len(sharpness), len(rows.weight)))
            spares = run.spares.get(start, no_spares(params))
            n_done = run_steps(
                rows, prior, offsets, chance, sharpness, s, params, kept, marks, spares,
                objective, best_so_far, lost,
            )  # fmt: skip
            if lost[s].any():
                run.spares[start] = make_spares(self.mixture, SPARES, rng)
            return int(n_done)

        n_done = np.array(list(map_blocks(visit, range(len(starts)), self.mixture.n_jobs)))
        for into, new in ((run.params, params), (run.kept, kept)):
            run.put(into, starts, new._replace(log_prob=new.log_prob[:, :, :-1]))
        run.put_marks(starts, marks)
        return objective, best_so_far, lost, n_done

    @property
    def n_rows(self) -> int:
        """Number of rows, equal ones joined."""
        return len(self._rows.weight)

    def races(self, rule: Rule) -> bool:
        """Whether `run_steps` can be used: no row is heavy, and the M-step is the plain one."""
        plain = not self._rows.heavy.size and type(self.mixture) is MixtureProblem
        return rule.wanders and plain

    def m_step(self, stats: MixtureStats) -> MixtureParams:
        """See `SearchProblem`."""
        return self.mixture.m_step(stats)

    def lost(self, params: MixtureParams) -> BoolArray:
        """See `SearchProblem`."""
        return self.mixture.dead(params) | collapsed(params, self.mixture.prior)

    def usable(self, params: MixtureParams) -> BoolArray:
        """See `SearchProblem`."""
        return np.asarray(~collapsed(params, self.mixture.prior).any(axis=1))

    def reseed(
        self, params: MixtureParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> MixtureParams:
        """See `SearchProblem`."""
        return self.mixture.reseed(params, dead, rngs)
