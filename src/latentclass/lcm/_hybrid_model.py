"""The fitted latent classification model of mixed columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass._validation import check_option
from latentclass.data._schema import Block, Table, join_tables
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._average import Average
from latentclass.estimator._completion import (
    LEAST_RISE,
    MOST_WAYS,
    count_ways,
    improve_levels,
    joint_height,
)
from latentclass.estimator._fitted import Posterior, check_no_nan, check_shape, mark_levels
from latentclass.estimator._gaussian_model import Scaling
from latentclass.estimator._latent_names import Names, check_latent_names
from latentclass.lcm._hybrid_columns import HybridColumns
from latentclass.lcm._hybrid_em import HybridParams
from latentclass.lcm._hybrid_posterior import (
    Bounds,
    ClassComponent,
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
from latentclass.lcm._model import BestStart, LatentModel
from latentclass.lcm._rival import Solution
from latentclass.lcm._stick_breaking import Question

PREDICT_METHODS = ("bound", "importance", "quadrature")

MOST_GRID = 3
"""Largest number of latent variables for which a grid has no more than a few thousand points."""

N_SEARCHES = 3
"""From how many classes' proposals a most probable completion is searched for."""

MOST_ROUNDS = 20
"""Maximum number of rounds in which a completion is improved by its own posterior."""

N_DRAWS = 128
"""Number of posterior points over which the probability of a category is averaged."""

LOGISTIC_DEVIATION = float(np.pi / np.sqrt(3.0))
"""Standard deviation of the noise that makes an answer logistic."""

MIN_SHARE = 1e-9
"""Class components with a smaller share of a row are left out of its completion."""


def check_predict_method(predict_method: str, n_latent: int) -> None:
    """Refuse unknown methods, and grids in too many dimensions."""
    check_option("predict_method", predict_method, PREDICT_METHODS)
    if predict_method == "quadrature" and n_latent > MOST_GRID:
        raise ValueError(
            f"predict_method='quadrature' needs n_latent of at most {MOST_GRID}, got "
            f"{n_latent}. Use predict_method='importance'."
        )


class Glance(NamedTuple):
    """What one look at some rows tells.

    `evidence` (n_rows, n_classes) is log p(row | class), `chances` are P(level | row) of each
    discrete column, and `codes` likely codes of all of them.
    """

    evidence: FloatArray
    chances: list[FloatArray]
    codes: CodeArray


@dataclass(frozen=True, eq=False)
class HybridModel(LatentModel):
    """Several models of mixed columns, the starts kept, averaged by the rule "posteriors".

    Attributes
    ----------
    columns : HybridColumns
    params : HybridParams
        In their standard form (`canonical`), the best start first, without `xi`.
    predict_method : {"bound", "importance", "quadrature"}
        How p(x | class) is computed.
    names : tuple of tuple of str
        Names of the latent variables in one group; empty if none were given.
    scaling, class_prior
        Follow from the columns and the parameters.
    """

    columns: HybridColumns
    params: HybridParams
    predict_method: str
    names: Names = ()
    scaling: Scaling = field(init=False)
    class_prior: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        params, columns = self.params, self.columns
        n_starts, n_classes, n_components = params.log_weight.shape
        n, q = columns.n_gaussian + columns.n_logistic, params.latent_mean.shape[2]
        check_shape("coefficient", params.coefficient, (n_starts, n_components, n, q + 1))
        check_shape("noise", params.noise, (n_starts, None, columns.n_gaussian))
        check_shape("latent_mean", params.latent_mean, (n_starts, n_classes, q))
        check_shape("latent_variance", params.latent_variance, (n_starts, n_classes, q))
        for name in ("log_weight", "coefficient", "noise", "latent_mean", "latent_variance"):
            check_no_nan(name, getattr(params, name))
        check_predict_method(self.predict_method, q)
        check_latent_names(self.names, q)
        object.__setattr__(self, "scaling", columns.scaling)
        object.__setattr__(self, "class_prior", self.average.class_prior)

    @property
    def average(self) -> Average:
        """How the starts answer as one."""
        return Average(np.exp(log_sum_exp(self.params.log_weight)), "posteriors")

    @property
    def n_latent(self) -> int:
        """Number of latent variables."""
        return int(self.params.latent_mean.shape[2])

    @property
    def best(self) -> BestStart:
        """See `LatentModel`; every column may depend on every latent variable."""
        first = take_starts(self.params, 0)
        n = self.columns.n_gaussian
        return BestStart(
            first.log_weight,
            first.latent_mean,
            first.latent_variance,
            np.ones((n, self.n_latent), dtype=bool),
            first.coefficient[:, :n, 1:],
            first.coefficient[:, :n, 0],
            first.noise,
            first.coefficient[:, n:, 1:],
            first.coefficient[:, n:, 0],
        )

    @property
    def solutions(self) -> list[Solution]:
        """See `LatentModel`; the weights of questions in deviations of the logistic noise."""
        share = np.exp(log_sum_exp(np.swapaxes(self.params.log_weight, 1, 2)))
        unit = np.ones(self.params.coefficient.shape[2])
        unit[self.columns.n_gaussian :] = LOGISTIC_DEVIATION
        scaled = self.params.coefficient / unit[:, None]
        return [
            Solution(mine, part[..., 0], part[..., 1:])
            for mine, part in zip(share, scaled, strict=True)
        ]

    @property
    def questions(self) -> list[Question]:
        """See `LatentModel`."""
        return self.columns.questions.questions

    def fold_codes(self, codes: Any) -> Any:
        """See `FittedModel`."""
        return self.columns.questions.fold_codes(codes)

    def answered_by(self, predict_method: str) -> Self:
        """The same model with p(x | class) by another method."""
        return replace(self, predict_method=predict_method)

    def spans(self, table: Table) -> list[slice]:
        """See `FittedModel`."""
        return self._spans(table, 1)

    def _spans(self, table: Table, n_each: int) -> list[slice]:
        """Blocks of rows, with memory for `n_each` posteriors of each component."""
        n_starts, _, n_components = self.params.log_weight.shape
        return self.columns.spans(table, self.n_latent, n_starts * n_components * n_each)

    def _points(self) -> Points | None:
        """Points over which rows are integrated in prediction; None if the bound is used."""
        q = self.n_latent
        if self.predict_method == "bound":
            return None
        if self.predict_method == "quadrature":
            return grid_points({1: 61, 2: 25, 3: 15}[q], q)
        return spread_points(256, q)

    # ---------------------------------------------------------------- answers

    def log_likelihood(self, block: Block) -> FloatArray:
        """See `FittedModel`."""
        params, rows = self.params, self.columns.block_rows(block)
        points = self._points()
        by_component, moments = raise_bounds(params, rows, moments=points is not None)
        if points is not None and moments is not None:
            by_component = integrate(params, rows, moments, points)
        evidence = log_bounds_given_class(params, by_component)
        return self.average.mix(evidence) + self.scaling.log_density_outside(block.numeric)[:, None]

    def sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """See `FittedModel`."""
        params = self.params
        n_starts, _, n_components = params.log_weight.shape
        n_gaussian = self.columns.n_gaussian
        start = rng.integers(n_starts, size=len(y))
        share = np.exp(log_normalise(params.log_weight))[start, y]
        component = (rng.random(len(y))[:, None] > np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        z = rng.standard_normal((len(y), self.n_latent))
        z = params.latent_mean[start, y] + np.sqrt(params.latent_variance[start, y]) * z
        values = np.empty((len(y), n_gaussian))
        codes = self.columns.blank_codes(len(y))
        for s in range(n_starts):
            for m in range(n_components):
                mine = np.flatnonzero((start == s) & (component == m))
                coefficient = params.coefficient[s, m]
                a = z[mine] @ coefficient[:, 1:].T + coefficient[:, 0]
                noise = np.sqrt(params.noise[s, min(m, params.noise.shape[1] - 1)])
                values[mine] = a[:, :n_gaussian] + noise * rng.standard_normal(
                    (len(mine), n_gaussian)
                )
                for place, log_prob in self.columns.categories(a[:, n_gaussian:]):
                    edges = np.cumsum(np.exp(log_prob), axis=1)[:, :-1]
                    chance = rng.random(len(mine))[:, None]
                    codes[mine, place] = (chance > edges).sum(axis=1)
        return Table(self.scaling.restore(values), codes)

    def expected_cells(self, table: Table, posterior: Posterior, n_jobs: int | None) -> Table:  # noqa: ARG002
        """See `FittedModel`; completion needs the posterior of the components, not of the class."""
        parts = map_blocks(
            lambda span: self._expect_block(table.block(span)),
            self._spans(table, self.n_classes),
            n_jobs,
        )
        return join_tables(list(parts))

    def most_probable_cells(self, table: Table, n_jobs: int | None) -> Table:
        """The cells of the highest log p(row, class), computed as in prediction.

        With discrete cells alone missing, and no more than `MOST_WAYS` ways to fill them, it is the
        best of all. Otherwise it is searched for.
        """
        numeric, codes = table.block(slice(None))
        rows = np.flatnonzero(np.isnan(numeric).any(axis=1) | (codes < 0).any(axis=1))
        filled = Table(numeric.copy(), codes.copy())
        if rows.size:
            found = self._search(table.take(rows), n_jobs)
            filled.numeric[rows], filled.codes[rows] = found.numeric, found.codes
        return filled

    def latent(self, table: Table, posterior: Posterior, n_jobs: int | None) -> FloatArray:  # noqa: ARG002
        """E[z | observed cells] under the best start."""
        params = take_starts(self.params, [0])
        q = self.n_latent

        def visit(span: slice) -> FloatArray:
            bounds, moments = raise_bounds(params, self.columns.rows(table, span), moments=True)
            assert moments is not None
            joint = (bounds + params.log_weight[..., None])[0]
            share = np.exp(log_normalise(joint.reshape(-1, joint.shape[2]).T))
            means = moments[0, :, :, 1 : q + 1].reshape(share.shape[1], q, -1)
            return np.asarray(np.einsum("rk,kqr->rq", share, means))

        return np.concatenate(list(map_blocks(visit, self._spans(table, self.n_classes), n_jobs)))

    def hidden_states(self, table: Table) -> list[tuple[FloatArray, FloatArray]]:
        """See `FittedModel`: the components of the best start, by the bound."""
        params = take_starts(self.params, [0])
        out = np.ones((table.n_rows, params.log_weight.shape[2]))
        if out.shape[1] > 1:
            for span in self._spans(table, 1):
                bounds, _ = raise_bounds(params, self.columns.rows(table, span), moments=False)
                joint = (bounds + params.log_weight[..., None])[0]
                share = np.exp(log_normalise(joint.reshape(-1, joint.shape[2]).T))
                out[span] = share.reshape(-1, *joint.shape[:2]).sum(axis=1)
        return [(np.ones(len(out)), out)]

    # ------------------------------------------------------------- completion

    def level_chances(
        self, table: Table, n_levels: IndexArray, n_jobs: int | None
    ) -> list[FloatArray]:
        """See `FittedModel`; the posterior of z gives those of all columns at once."""
        parts = map_blocks(
            lambda span: self._expect(table.block(span))[1],
            self._spans(table, self.n_classes),
            n_jobs,
        )
        out = []
        for place, found in enumerate(zip(*parts, strict=True)):
            mine = np.asarray(table.codes)[:, place]
            shown = mark_levels(mine, n_levels[place])
            out.append(np.where(mine[:, None] < 0, np.concatenate(found), shown))
        return out

    def _expect_block(self, block: Block) -> Table:
        """Means of the continuous cells, most probable codes of the discrete ones."""
        values, chances = self._expect(block)
        codes = np.full(block.codes.shape, -1, dtype=np.int32)
        for place, chance in enumerate(chances):
            if chance.shape[1]:
                codes[:, place] = chance.argmax(axis=1)
        return Table(self.scaling.restore_standardised(values), codes)

    def glance(self, block: Block) -> Glance:
        """Evidence, expected cells and likely codes of some rows from one posterior of z.

        The codes are the modes at the mean of z given the best class, where the search for the most
        probable ones begins: for pictures that follow a pen.
        """
        rows = self.columns.block_rows(block)
        bounds = self._bounds(rows)
        evidence = self.average.mix(log_bounds_given_class(self.params, bounds.log_bound))
        evidence = evidence + self.scaling.log_density_outside(block.numeric)[:, None]
        _, chances = self._expect(block, bounds)
        return Glance(evidence, chances, self._modes(block, bounds, 0).codes)

    def _bounds(self, rows: HybridRows) -> Bounds:
        """log p(row | class, component) by the method of prediction, and the moments of z."""
        found, points = raise_bounds(self.params, rows, moments=True), self._points()
        assert found.moments is not None
        if points is None:
            return found
        return found._replace(log_bound=integrate(self.params, rows, found.moments, points))

    def _expect(
        self, block: Block, bounds: Bounds | None = None
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Means of the standardised columns, and probabilities of the levels of each discrete one.

        Both are those of the cells if they were missing.
        """
        params, columns = self.params, self.columns
        rows = columns.block_rows(block)
        points = self._points()
        by_component, moments = bounds or self._bounds(rows)
        assert moments is not None
        joint = by_component + params.log_weight[..., None]
        n_rows = joint.shape[3]
        share = np.exp(log_normalise(joint.reshape(-1, n_rows).T)).T.reshape(joint.shape)
        n_gaussian = columns.n_gaussian
        values = np.zeros((n_rows, n_gaussian))
        drawn = spread_points(N_DRAWS, self.n_latent)
        chances = [np.full((n_rows, n), float(n == 1)) for n in columns.n_levels]
        seen = read_rows(rows)
        hidden = seen.gaussian.T == 0
        for s, y, m in np.ndindex(*joint.shape[:3]):
            mine = np.flatnonzero(share[s, y, m] > MIN_SHARE)
            weight = share[s, y, m, mine][:, None]
            one, near = ClassComponent.of(params, s, y, m), moments[s, y, m][:, mine]
            if points is None:
                draws = gaussian_draws(near, drawn)
            else:
                draws = one.draws(take_seen(seen, mine), near, points)
            by_point = np.exp(log_normalise(draws.log_weight))[..., None]
            a = draws.z @ one.weights.T + one.offset
            means = self._mean_values(a[..., :n_gaussian], by_point, one.noise, hidden[mine])
            values[mine] += weight * means
            for place, mean in columns.mean_chances(a[..., n_gaussian:], by_point):
                chances[place][mine] += weight * mean
        return values, chances

    def _mean_values(
        self,
        a: FloatArray,
        by_point: FloatArray,
        noise: FloatArray,
        hidden: BoolArray,
    ) -> FloatArray:
        """Means of standardised columns, Gaussian around `a` at each point, (rows, columns).

        `a` has shape (rows, points, columns), `by_point` (rows, points, 1) their shares. With a
        power transform only the means of the missing cells are computed; the others are 0.
        """
        power = self.scaling.power
        if not power.rounds:
            return np.asarray((by_point * a).sum(axis=1))
        out = np.zeros(hidden.shape)
        for j in np.flatnonzero(hidden.any(axis=0)):
            rows = np.flatnonzero(hidden[:, j])
            flat = a[rows, :, j].reshape(1, -1)
            means = power.take(np.array([j])).expected(flat, np.full(flat.shape, noise[j]))
            out[rows, j] = (means.reshape(len(rows), -1) * by_point[rows, :, 0]).sum(axis=1)
        return out

    def _search(self, table: Table, n_jobs: int | None) -> Table:
        """The best completion that is found from the best proposals of the classes."""
        proposals = [self._propose(table, table, rank, n_jobs) for rank in range(self.n_classes)]
        order = np.argsort([-joint_height(self, each, n_jobs) for each in proposals], axis=0)
        numeric, codes = table.block(slice(None))
        filled, best = Table(numeric, codes), np.full(table.n_rows, -np.inf)
        many = (np.isnan(numeric) & self.scaling.varies).any(axis=1)
        many |= count_ways(codes < 0, self.columns.n_levels) > MOST_WAYS
        rows = np.arange(table.n_rows)
        for places in order[:N_SEARCHES]:
            found = Table(
                np.stack([each.numeric for each in proposals])[places[rows], rows],
                np.stack([each.codes for each in proposals])[places[rows], rows],
            )
            self._settle(table.take(rows), found, n_jobs)
            improve_levels(self, table.take(rows), found, self.columns.n_levels, n_jobs)
            height = joint_height(self, found, n_jobs)
            better = height > best[rows]
            place = rows[better]
            filled.numeric[place], filled.codes[place] = found.numeric[better], found.codes[better]
            best[place] = height[better]
            rows = np.flatnonzero(many)  # the others are the best of all ways by now
            if not rows.size:
                break
        return filled

    def _settle(self, table: Table, filled: Table, n_jobs: int | None) -> None:
        """Improve a completion by what the posterior of z proposes, given the completion."""
        height = joint_height(self, filled, n_jobs)
        moving = np.arange(table.n_rows)
        for _ in range(MOST_ROUNDS):
            again = self._propose(table.take(moving), filled.take(moving), 0, n_jobs)
            new = joint_height(self, again, n_jobs)
            better = new > height[moving] + LEAST_RISE
            moving = moving[better]
            filled.numeric[moving] = again.numeric[better]
            filled.codes[moving] = again.codes[better]
            height[moving] = new[better]
            if not moving.size:
                break

    def _propose(self, table: Table, shown: Table, rank: int, n_jobs: int | None) -> Table:
        """Fill missing cells by their modes at the mean of z, given the rows as in `shown`.

        The mean is that of each row's best class; with `rank` 1 of its second best, and so on.
        """
        parts = map_blocks(
            lambda span: self._propose_block(table.block(span), shown.block(span), rank),
            self._spans(table, self.n_classes),
            n_jobs,
        )
        return join_tables(list(parts))

    def _propose_block(self, block: Block, shown: Block, rank: int) -> Table:
        rows = self.columns.block_rows(shown)
        return self._modes(block, raise_bounds(self.params, rows, moments=True), rank)

    def _modes(self, block: Block, bounds: Bounds, rank: int) -> Table:
        """Missing cells filled by their modes at the mean of z given a class (see `_propose`)."""
        params, columns, moments = self.params, self.columns, bounds.moments
        assert moments is not None
        joint = bounds.log_bound + params.log_weight[..., None]
        _, n_classes, n_components, n_rows = joint.shape
        rows = np.arange(n_rows)
        by_class = joint.transpose(1, 0, 2, 3).reshape(n_classes, -1, n_rows)
        y = np.argsort(-by_class.max(axis=1), axis=0, kind="stable")[rank]
        s, m = np.divmod(by_class[y, :, rows].argmax(axis=1), n_components)
        near = moments[s, y, m, : self.n_latent + 1, rows]
        a = (params.coefficient[s, m] @ near[..., None])[..., 0]
        values = self.scaling.restore(a[:, : columns.n_gaussian])
        levels = columns.blank_codes(n_rows)
        for place, log_prob in columns.categories(a[:, columns.n_gaussian :]):
            levels[:, place] = log_prob.argmax(axis=1)
        return Table(
            np.where(np.isnan(block.numeric), values, block.numeric),
            np.where(block.codes < 0, levels, block.codes),
        )
