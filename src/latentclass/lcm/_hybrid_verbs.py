"""Verbs of models of mixed columns: prediction, samples, completion, latent variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import Block, Table, block_spans
from latentclass.engine._class_components import VALUE_LIMIT
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._gaussian_model import mix_models
from latentclass.lcm._hybrid_model import HybridAttributes
from latentclass.lcm._hybrid_posterior import (
    Cell,
    Points,
    gaussian_draws,
    grid_points,
    integrate,
    log_bounds_given_class,
    raise_bounds,
    spread_points,
    take_seen,
)
from latentclass.lcm._logistic_bound import HybridRows, read_rows

MOST_GRID = 3
"""Latent variables up to which a grid of points is no more than a few thousand."""

MOST_WAYS = 64
"""Ways to fill a row's discrete holes up to which all are tried for the most probable one."""

N_DRAWS = 128
"""Points of the posterior over which the probability of a category is averaged."""

N_NODES = 15
"""Points of the noise over which a bent column is averaged."""

MIN_SHARE = 1e-9
"""Share of a class and component of a row below which it is left out of the row's completion."""


class HybridVerbs(HybridAttributes):
    """What a fitted model of mixed columns answers; fitting is left to the subclass.

    Without discrete columns (`_hybrid` is None) all answers are those of `LCMClassifier`.
    """

    predict_method: str

    def _refuse_large_grid(self, n_latent: int) -> None:
        if n_latent > MOST_GRID:
            raise ValueError(
                f"predict_method='quadrature' needs n_latent of at most {MOST_GRID}, got "
                f"{n_latent}. Use predict_method='importance'."
            )

    def _largest(self) -> int:
        """The largest number of latent variables that may be asked for."""
        return int(self.n_latent)

    def _spans(self, table: Table, n_latent: int, n_maps: int) -> list[slice]:
        """Blocks of rows, so small that all posteriors of a block are held at once."""
        n = int(self._scaling.varies.sum() + self._sticks.edges[-1])
        n_features = (n_latent + 1) * (n_latent + 2) // 2
        # eight times the cells of other models' blocks: matrix products want some hundred rows
        return block_spans(table.n_rows, n_maps * (n_features + 3 * n) // 8, least=16)

    def _rows(self, table: Table, span: slice) -> HybridRows:
        """Rows as the engine wants them; a sparse table stays sparse."""
        if sp.issparse(table.codes):
            nothing = np.empty((0, table.codes[span].shape[0]))
            return HybridRows(nothing, sp.csr_array(table.codes[span]).T.tocsr())
        return self._block_rows(table.block(span))

    def _block_rows(self, block: Block) -> HybridRows:
        values = self._power.apply(self._standardised(block))
        return HybridRows(np.ascontiguousarray(values), self._sticks.signs(block.codes))

    def _standardised(self, block: Block) -> FloatArray:
        """Continuous columns that vary, (columns, rows)."""
        return np.clip(self._scaling.values(block.numeric).T, -VALUE_LIMIT, VALUE_LIMIT)

    def _restore(self, values: FloatArray) -> FloatArray:
        """Continuous columns as they came, from the model's own (rows, columns)."""
        return self._scaling.restore(self._power.undo(values.T).T)

    def _points(self) -> Points | None:
        """Points over which rows are integrated in prediction; None for the bound."""
        assert self._hybrid is not None
        q = self._hybrid.latent_mean.shape[2]
        if self.predict_method == "bound":
            return None
        if self.predict_method == "quadrature":
            self._refuse_large_grid(q)
            return grid_points({1: 61, 2: 25, 3: 15}[q], q)
        return spread_points(256, q)

    def _log_likelihood(self, block: Block) -> FloatArray:
        if self._hybrid is None:
            return super()._log_likelihood(block)
        params, rows = self._hybrid, self._block_rows(block)
        points = self._points()
        by_cell, moments = raise_bounds(params, rows, moments=points is not None)
        if points is not None and moments is not None:
            by_cell = integrate(params, rows, moments, points)
        evidence = log_bounds_given_class(params, by_cell)
        outside = self._scaling.log_density_outside(block.numeric)[:, None]
        slope = self._power.log_slope(self._standardised(block))
        outside += np.nan_to_num(slope).sum(axis=0)[:, None]
        log_prior = log_sum_exp(params.log_weight)
        return mix_models(evidence, log_prior, self.class_prior_) + outside

    def _by_block(self, function: Callable[[Block], FloatArray], table: Table) -> FloatArray:
        if self._hybrid is None:
            return super()._by_block(function, table)
        parts = map_blocks(
            lambda span: function(table.block(span)), self._hybrid_spans(table), self.n_jobs
        )
        return np.concatenate(list(parts))

    def _hybrid_spans(self, table: Table, n_each: int = 1) -> list[slice]:
        assert self._hybrid is not None
        n_starts, _, n_components = self._hybrid.log_weight.shape
        n_maps = n_starts * n_components * n_each
        return self._spans(table, self._hybrid.latent_mean.shape[2], n_maps)

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        if self._hybrid is None:
            return super()._sample_table(y, rng)
        params = self._hybrid
        n_starts, _, n_components = params.log_weight.shape
        n_gaussian = params.noise.shape[2]
        start = rng.integers(n_starts, size=len(y))
        share = np.exp(log_normalise(params.log_weight))[start, y]
        component = (rng.random(len(y))[:, None] > np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        z = rng.standard_normal((len(y), params.latent_mean.shape[2]))
        z = params.latent_mean[start, y] + np.sqrt(params.latent_variance[start, y]) * z
        values = np.empty((len(y), n_gaussian))
        codes = np.full((len(y), len(self._sticks.orders)), -1, dtype=np.int32)
        for s in range(n_starts):
            for m in range(n_components):
                mine = np.flatnonzero((start == s) & (component == m))
                coefficient = params.coefficient[s, m]
                a = z[mine] @ coefficient[:, 1:].T + coefficient[:, 0]
                noise = np.sqrt(params.noise[s, min(m, params.noise.shape[1] - 1)])
                values[mine] = a[:, :n_gaussian] + noise * rng.standard_normal(
                    (len(mine), n_gaussian)
                )
                for place, log_prob in self._categories(a[:, n_gaussian:]):
                    edges = np.cumsum(np.exp(log_prob), axis=1)[:, :-1]
                    chance = rng.random(len(mine))[:, None]
                    codes[mine, place] = (chance > edges).sum(axis=1)
        self._fill_constant(codes)
        return Table(self._restore(values), codes)

    def _categories(self, logits: FloatArray) -> list[tuple[int, FloatArray]]:
        """log P(category) of each column with sticks, whose logits are on the last axis."""
        edges = self._sticks.edges
        return [
            (
                place,
                self._sticks.log_probabilities(place, logits[..., edges[place] : edges[place + 1]]),
            )
            for place, order in enumerate(self._sticks.orders)
            if len(order) > 1
        ]

    def _fill_constant(self, codes: CodeArray) -> None:
        """Columns of a single category have it."""
        for place, order in enumerate(self._sticks.orders):
            if len(order) == 1:
                codes[:, place] = 0

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        if self._hybrid is None:
            return super()._expected_cells(table, posterior)
        parts = map_blocks(
            lambda span: self._expect_block(table.block(span)),
            self._hybrid_spans(table, len(self.classes_)),
            self.n_jobs,
        )
        return _join(list(parts))

    def _expect_block(self, block: Block) -> Table:
        """Means of the continuous cells, most probable codes of the discrete ones."""
        params = self._hybrid
        assert params is not None
        rows = self._block_rows(block)
        points = self._points()
        by_cell, moments = raise_bounds(params, rows, moments=True)
        assert moments is not None
        if points is not None:
            by_cell = integrate(params, rows, moments, points)
        joint = by_cell + params.log_weight[..., None]
        n_rows = joint.shape[3]
        share = np.exp(log_normalise(joint.reshape(-1, n_rows).T)).T.reshape(joint.shape)
        n_gaussian = params.noise.shape[2]
        values = np.zeros((n_rows, n_gaussian))
        drawn = spread_points(N_DRAWS, params.latent_mean.shape[2])
        chances = [np.zeros((n_rows, len(order))) for order in self._sticks.orders]
        seen = read_rows(rows)
        hidden = seen.gaussian.T == 0
        for s, y, m in np.ndindex(*joint.shape[:3]):
            mine = np.flatnonzero(share[s, y, m] > MIN_SHARE)
            weight = share[s, y, m, mine][:, None]
            cell, near = Cell.of(params, s, y, m), moments[s, y, m][:, mine]
            if points is None:
                draws = gaussian_draws(near, drawn)
            else:
                draws = cell.draws(take_seen(seen, mine), near, points)
            by_point = np.exp(log_normalise(draws.log_weight))[..., None]
            a = draws.z @ cell.weights.T + cell.offset
            means = self._mean_values(a[..., :n_gaussian], by_point, cell.noise, hidden[mine])
            values[mine] += weight * means
            for place, log_prob in self._categories(a[..., n_gaussian:]):
                chances[place][mine] += weight * (by_point * np.exp(log_prob)).sum(axis=1)
        codes = np.full(block.codes.shape, -1, dtype=np.int32)
        for place, chance in enumerate(chances):
            if chance.shape[1]:
                codes[:, place] = chance.argmax(axis=1)
        return Table(self._scaling.restore(values), codes)

    def _mean_values(
        self,
        a: FloatArray,
        by_point: FloatArray,
        noise: FloatArray,
        hidden: BoolArray,
    ) -> FloatArray:
        """Means of standardised columns, (rows, columns), that lie about `a` at some points.

        `a` has shape (rows, points, columns), `by_point` (rows, points, 1) their shares. Of bent
        columns only the hidden cells are looked for.
        """
        if not self._power.rounds:
            return np.asarray((by_point * a).sum(axis=1))
        nodes = grid_points(N_NODES, 1)
        spread, share = nodes.points[:, 0], np.exp(nodes.log_weight)
        out = np.zeros(hidden.shape)
        for j in np.flatnonzero(hidden.any(axis=0)):
            rows = np.flatnonzero(hidden[:, j])
            bent = a[rows, :, j, None] + np.sqrt(noise[j]) * spread
            values = self._power.take(np.array([j])).undo(bent.reshape(1, -1))
            by_row = (values.reshape(bent.shape) @ share) * by_point[rows, :, 0]
            out[rows, j] = by_row.sum(axis=1)
        return out

    def _most_probable_cells(self, table: Table) -> Table:
        if self._hybrid is None:
            return super()._most_probable_cells(table)
        parts = map_blocks(
            lambda span: self._best_block(table.block(span)),
            self._hybrid_spans(table, len(self.classes_)),
            self.n_jobs,
        )
        filled = _join(list(parts))
        self._try_completions(table, filled)
        return filled

    def _try_completions(self, table: Table, filled: Table) -> None:
        """Where a row's discrete holes can be filled in few ways, try them all."""
        codes = table.block(slice(0, table.n_rows)).codes
        hidden = (codes < 0) & (filled.codes >= 0)
        patterns, group = np.unique(hidden, axis=0, return_inverse=True)
        n_levels = self.schema_.n_levels
        for number, pattern in enumerate(patterns):
            places = np.flatnonzero(pattern)
            n_ways = np.prod(n_levels[places], dtype=float)
            if not places.size or n_ways > MOST_WAYS:
                continue
            rows = np.flatnonzero(group.reshape(-1) == number)
            trial = filled.codes[rows].copy()
            best = np.full(len(rows), -np.inf)
            for way in np.ndindex(*n_levels[places]):
                trial[:, places] = way
                evidence = self._evidence(Table(filled.numeric[rows], trial))
                joint = (evidence + np.log(self.class_prior_)).max(axis=1)
                better = np.flatnonzero(joint > best)
                filled.codes[rows[better]] = trial[better]
                best[better] = joint[better]

    def _best_block(self, block: Block) -> Table:
        """The best of the completions that each class's best component proposes."""
        params = self._hybrid
        assert params is not None
        bounds, moments = raise_bounds(params, self._block_rows(block), moments=True)
        assert moments is not None
        joint = bounds + params.log_weight[..., None]
        _, n_classes, n_components, n_rows = joint.shape
        n_gaussian = params.noise.shape[2]
        q = params.latent_mean.shape[2]
        best = np.full(n_rows, -np.inf)
        numeric = np.empty(block.numeric.shape)
        codes = np.full(block.codes.shape, -1, dtype=np.int32)
        rows = np.arange(n_rows)
        by_class = joint.transpose(1, 0, 2, 3).reshape(n_classes, -1, n_rows)
        for y in range(n_classes):
            s, m = np.divmod(by_class[y].argmax(axis=0), n_components)
            near = moments[s, y, m, : q + 1, rows]
            a = (params.coefficient[s, m] @ near[..., None])[..., 0]
            values = self._restore(a[:, :n_gaussian])
            levels = np.full(block.codes.shape, -1, dtype=np.int32)
            self._fill_constant(levels)
            for place, log_prob in self._categories(a[:, n_gaussian:]):
                levels[:, place] = log_prob.argmax(axis=1)
            values = np.where(np.isnan(block.numeric), values, block.numeric)
            levels = np.where(block.codes < 0, levels, block.codes)
            score = self._log_likelihood(Block(values, levels)) + np.log(self.class_prior_)
            better = score.max(axis=1) > best
            numeric[better], codes[better] = values[better], levels[better]
            best = np.maximum(best, score.max(axis=1))
        return Table(numeric, codes)

    def _latent(self, table: Table) -> FloatArray:
        """E[z | observed cells] under the best start."""
        if self._hybrid is None:
            return super()._latent(table)
        params = take_starts(self._hybrid, [0])
        q = params.latent_mean.shape[2]

        def visit(span: slice) -> FloatArray:
            bounds, moments = raise_bounds(params, self._rows(table, span), moments=True)
            assert moments is not None
            joint = (bounds + params.log_weight[..., None])[0]
            share = np.exp(log_normalise(joint.reshape(-1, joint.shape[2]).T))
            means = moments[0, :, :, 1 : q + 1].reshape(share.shape[1], q, -1)
            return np.asarray(np.einsum("rk,kqr->rq", share, means))

        spans = self._hybrid_spans(table, len(self.classes_))
        return np.concatenate(list(map_blocks(visit, spans, self.n_jobs)))

    def _latent_names(self) -> list[str]:
        if self._hybrid is None:
            return super()._latent_names()
        return [f"z{k}" for k in range(self._hybrid.latent_mean.shape[2])]


def _join(parts: list[Table]) -> Table:
    return Table(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )
