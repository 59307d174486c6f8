"""EM, K-Means, ERA and annealing: ways to turn a row's posterior into responsibilities.

In each iteration a row's posterior over the components becomes its responsibilities, and the
parameters are estimated from the rows by these (Davidson 2004):

    "em"      the posterior itself: each row belongs in part to every component
    "kmeans"  all to the most probable component
    "era"     all to one component drawn from the posterior (exclusive random assignment; the
              stochastic EM of Celeux and Diebolt 1985)
    "anneal"  all to one component drawn from the posterior to the power 1 / c, where the
              temperature c falls: above 1 nearly any component will do, at 1 it is "era", and
              towards 0 it is "kmeans"

The last two never settle. So the best parameters seen are kept, by the log-likelihood of the
mixture (not of the assignment), with the trace of all. S counts starts, K components.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from latentclass.core import _product as product
from latentclass.core._blocks import map_blocks
from latentclass.core._em import RESEED_ROUNDS, BoolArray, EMResult, P, S, take_starts
from latentclass.core._mixture import (
    COLLAPSED,
    DEAD_SHARE,
    MixtureParams,
    MixtureProblem,
    MixtureStats,
    flat_params,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

SEARCHES = ("em", "kmeans", "era", "anneal")

STEPS = 40
"""Iterations of a start that are run in one call."""

MOST_UNITS = 1e15
"""A row of more weight than this moves in units of more than 1: counts are whole numbers."""


@dataclass(frozen=True)
class Rule:
    """How posteriors become responsibilities.

    Attributes
    ----------
    search : {"em", "kmeans", "era", "anneal"}
    temperatures : (float, float)
        Of "anneal": the first and the last; in between they fall by equal factors.
    """

    search: str
    temperatures: tuple[float, float] = (4.0, 0.1)

    @property
    def stochastic(self) -> bool:
        """Whether chance plays a part, so that the search never settles."""
        return self.search in ("era", "anneal")

    def sharpness(self, iteration: int, n_iter: int) -> float:
        """The power 1 / c of iteration 0, ..., n_iter - 1; infinite for "kmeans"."""
        if self.search == "anneal":
            first, last = self.temperatures
            done = iteration / max(n_iter - 1, 1)
            return float(first ** (done - 1.0) * last**-done)
        return np.inf if self.search == "kmeans" else 1.0


class Chance(NamedTuple):
    """What an iteration needs to make responsibilities of posteriors.

    Attributes
    ----------
    soft : bool
        Whether the posterior itself is wanted.
    sharpness : float
        Power of the posterior; infinite for the most probable component.
    rngs : list of numpy Generator
        One a start.
    """

    soft: bool
    sharpness: float
    rngs: list[np.random.Generator]


def row_units(weight: FloatArray) -> FloatArray:
    """In how many units a row moves: as many as it stands for rows, so that weight 2 is two rows.

    Each unit chooses its component for itself and carries an equal part of the weight.
    """
    return np.clip(np.rint(weight), 1.0, MOST_UNITS)


def draw_chances(chance: Chance, n_rows: int) -> FloatArray:
    """Numbers on [0, 1), one a start and row; none are drawn where none are needed."""
    if np.isinf(chance.sharpness):
        return np.zeros((len(chance.rngs), n_rows))
    out = np.empty((len(chance.rngs), n_rows))
    for rng, row in zip(chance.rngs, out, strict=True):
        rng.random(out=row)
    return out


def split_units(share: FloatArray, units: FloatArray, chance: Chance) -> FloatArray:
    """Shares (S, n_rows, K) made of each row's units, each drawn for itself."""
    if np.isinf(chance.sharpness):
        return _one_hot(share.argmax(axis=2), share.shape[2])
    counts = [
        rng.multinomial(units.astype(np.int64), part / part.sum(axis=1, keepdims=True))
        for rng, part in zip(chance.rngs, share, strict=True)
    ]
    return np.asarray(np.stack(counts) / units[:, None])


def responsibilities(log_share: FloatArray, units: FloatArray, chance: Chance) -> FloatArray:
    """Responsibilities from log posteriors, both of shape (S, n_rows, K)."""
    if chance.soft:
        return np.asarray(np.exp(log_share))
    if np.isinf(chance.sharpness):
        return _one_hot(log_share.argmax(axis=2), log_share.shape[2])
    share = np.exp((log_share - log_share.max(axis=2, keepdims=True)) * chance.sharpness)
    share /= share.sum(axis=2, keepdims=True)
    edges = np.cumsum(share, axis=2)[:, :, :-1]
    draws = draw_chances(chance, len(units))
    out = _one_hot((draws[:, :, None] >= edges).sum(axis=2), log_share.shape[2])
    heavy = np.flatnonzero(units > 1)
    if heavy.size:
        out[:, heavy] = split_units(share[:, heavy], units[heavy], chance)
    return out


def _one_hot(component: IntArray, n_components: int) -> FloatArray:
    return np.asarray(component[:, :, None] == np.arange(n_components), dtype=np.float64)


class SearchProblem(Protocol[P, S]):
    """What a search asks of a model; all arrays have the starts on their first axis."""

    def assign(self, params: P, chance: Chance) -> tuple[S, FloatArray]:
        """Statistics by responsibilities that `chance` makes, and the objective per row."""

    def m_step(self, stats: S) -> P:
        """Parameters estimated from the statistics."""

    def lost(self, params: P) -> BoolArray:
        """Components that stand for no rows, or for equal values only; shape (S, K)."""

    def usable(self, params: P) -> BoolArray:
        """Starts whose parameters may be kept as the best, shape (S,)."""

    def reseed(self, params: P, dead: BoolArray, rngs: list[np.random.Generator]) -> P:
        """Give the dead components a new place in the data."""


@dataclass(frozen=True)
class MixtureSearch:
    """A mixture of products (see `MixtureProblem`), searched by exclusive assignment.

    Attributes
    ----------
    mixture : MixtureProblem
        Whose rows are all in `blocks`.
    """

    mixture: MixtureProblem
    _rows: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", pack_rows(self.mixture))

    def assign(self, params: MixtureParams, chance: Chance) -> tuple[MixtureStats, FloatArray]:
        """See `SearchProblem`."""
        if chance.soft:
            return self.mixture.e_step(params)
        from latentclass.core._exclusive_kernels import RUN, assign_rows, finish_sums, sum_rows

        rows, (n_starts, n_components, p) = self._rows, params.mean.shape
        component = np.empty((n_starts, len(rows.weight)), dtype=np.int32)
        share = np.empty((n_starts, len(rows.heavy), n_components))
        log_likelihood = np.empty(n_starts)
        constant = np.log(params.scale) + (rows.log_unit + 0.5 * product.LOG_2PI)
        nothing = np.zeros((n_starts, n_components, 1))
        assign_rows(
            rows.values, rows.seen, rows.holes, rows.levels, rows.weight, rows.plain, rows.heavy,
            params.log_weight, params.mean, params.scale, constant,
            np.concatenate([params.log_prob, nothing], axis=2),
            draw_chances(chance, len(rows.weight)), chance.sharpness,
            component, share, log_likelihood, np.empty((2 * n_components + 5, RUN)),
        )  # fmt: skip
        if rows.heavy.size:
            share = split_units(share, rows.units, chance) * rows.weight[rows.heavy, None]
        row_weight = np.empty((n_starts, n_components))
        sums = np.empty((n_starts, n_components, rows.powers.shape[1]))
        counts = np.empty((n_starts, n_components, params.log_prob.shape[2] + 1))
        who = (rows.weight, rows.heavy, component, share)
        sum_rows(rows.powers, rows.levels_by_row, *who, row_weight, sums, counts)
        first, second = sums[:, :, :p].copy(), sums[:, :, p : 2 * p].copy()
        cells = sums[:, :, 2 * p :].copy()
        if not rows.holes.any():
            cells = np.repeat(row_weight[:, :, None], p, axis=2)
        finish_sums(cells, first, second, rows.shift, rows.values, rows.seen, *who)
        stats = MixtureStats(row_weight, cells, first, second, counts[:, :, :-1].copy())
        penalty = product.log_prior(flat_params(params), self.mixture.prior)
        penalty = penalty.reshape(n_starts, n_components).sum(axis=1)
        return stats, (log_likelihood + penalty) / self.mixture.total_weight

    def run_steps(
        self,
        run: _Run[MixtureParams, MixtureStats],
        starts: IntArray,
        sharpness: FloatArray,
    ) -> tuple[FloatArray, FloatArray, BoolArray, IntArray]:
        """Several iterations of some starts in one call: what `assign` and `m_step` would do.

        Changes the run's parameters and what it keeps. Returns the objective and the best so far
        of each start's iterations, the components that it lost in its last one, and how many
        iterations it took: it stops where it loses one.
        """
        from latentclass.core._exclusive_kernels import run_steps

        rows, prior, n_rows = self._rows, self.mixture.prior, len(self._rows.weight)
        n_components = run.params.log_weight.shape[1]
        nothing = np.zeros((len(starts), n_components, 1))

        def with_place(params: MixtureParams) -> MixtureParams:
            """Copies, with a place more for missing cells."""
            part = take_starts(params, starts)
            return part._replace(log_prob=np.concatenate([part.log_prob, nothing], axis=2))

        params, kept = with_place(run.params), with_place(run.kept)
        best, usable, fresh = run.best[starts], run.usable[starts], run.fresh[starts]
        shape = (len(starts), len(sharpness))
        objective, best_so_far = np.empty(shape), np.empty(shape)
        lost = np.empty(params.log_weight.shape, dtype=bool)
        n_done = np.empty(len(starts), dtype=np.intp)

        def visit(place: int) -> None:
            # one start at a time: its numbers stay in the core's cache
            one = slice(place, place + 1)
            chance = run.rngs[starts[place]].random((1, len(sharpness), n_rows))
            run_steps(
                rows.values, rows.seen, rows.holes, rows.levels, rows.powers, rows.shift,
                rows.levels_by_row, rows.weight, rows.plain, rows.log_unit,
                self.mixture.layout.offsets, prior.mean, prior.variance, float(prior.strength),
                float(prior.alpha), product.SCALE_FLOOR, DEAD_SHARE / n_components, COLLAPSED,
                chance, sharpness,
                params.log_weight[one], params.mean[one], params.scale[one], params.log_prob[one],
                kept.log_weight[one], kept.mean[one], kept.scale[one], kept.log_prob[one],
                best[one], usable[one], fresh[one], objective[one], best_so_far[one], lost[one],
                n_done[one],
            )  # fmt: skip

        deque(map_blocks(visit, range(len(starts)), self.mixture.n_jobs), maxlen=0)
        for into, new in ((run.params, params), (run.kept, kept)):
            run.put(into, starts, new._replace(log_prob=new.log_prob[:, :, :-1]))
        run.best[starts], run.usable[starts], run.fresh[starts] = best, usable, fresh
        return objective, best_so_far, lost, n_done

    @property
    def light(self) -> bool:
        """Whether `run_steps` may be used: rows move as one, and the M-step is the plain one."""
        return not self._rows.heavy.size and type(self.mixture) is MixtureProblem

    def m_step(self, stats: MixtureStats) -> MixtureParams:
        """See `SearchProblem`."""
        return self.mixture.m_step(stats)

    def lost(self, params: MixtureParams) -> BoolArray:
        """See `SearchProblem`."""
        return self.mixture.dead(params) | self._collapsed(params)

    def usable(self, params: MixtureParams) -> BoolArray:
        """See `SearchProblem`."""
        return np.asarray(~self._collapsed(params).any(axis=1))

    def _collapsed(self, params: MixtureParams) -> BoolArray:
        return collapsed(params, self.mixture.prior)

    def reseed(
        self, params: MixtureParams, dead: BoolArray, rngs: list[np.random.Generator]
    ) -> MixtureParams:
        """See `SearchProblem`."""
        return self.mixture.reseed(params, dead, rngs)


def collapsed(params: MixtureParams, prior: product.Prior) -> BoolArray:
    """Components far narrower than the column in some column that varies, shape (S, K).

    They describe equal values, not a distribution; without a prior their likelihood has no bound.
    With one there are none.
    """
    if prior.strength > 0:
        return np.zeros(params.log_weight.shape, dtype=bool)
    narrow = params.scale < COLLAPSED * np.sqrt(prior.variance)
    return np.asarray((narrow & (prior.variance > 0)).any(axis=2))


class PackedRows(NamedTuple):
    """Rows as the loops want them (see `_exclusive_kernels.assign_rows`).

    `powers` has what is summed over a component's rows side by side: the values less the column's
    `shift`, their squares, and, if some are missing, which are not. The shift is the most frequent
    value, so that sums over rows that all have it are exact.
    """

    values: FloatArray
    seen: FloatArray
    holes: BoolArray
    levels: npt.NDArray[np.int32]
    powers: FloatArray
    shift: FloatArray
    levels_by_row: npt.NDArray[np.int32]
    weight: FloatArray
    plain: bool
    heavy: IntArray
    units: FloatArray
    log_unit: FloatArray


def pack_rows(mixture: MixtureProblem) -> PackedRows:
    """The rows of a problem's blocks."""
    numeric, codes = (np.concatenate([rows[part] for rows, _ in mixture.blocks]) for part in (0, 1))
    weight = np.concatenate([weight for _, weight in mixture.blocks])
    missing = np.isnan(numeric)
    values, seen = np.where(missing, 0.0, numeric), (~missing).astype(np.float64)
    offsets = mixture.layout.offsets
    levels = np.where(codes < 0, int(offsets[-1]), codes + offsets[:-1]).astype(np.int32)
    units = row_units(weight)
    heavy = np.flatnonzero(units > 1)
    shift = np.array([_most_frequent(column) for column in numeric.T])
    about = np.where(missing, 0.0, numeric - shift)
    powers = [about, about * about]
    if missing.any():
        powers.append(seen)
    columns, columns_seen, columns_levels = (
        np.ascontiguousarray(array.T) for array in (values, seen, levels)
    )
    return PackedRows(
        columns, columns_seen, missing.any(axis=0), columns_levels, np.hstack(powers), shift,
        levels, weight, bool(np.all(weight == 1.0)), heavy, units[heavy],
        np.log(mixture.layout.unit),
    )  # fmt: skip


def _most_frequent(column: FloatArray) -> float:
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return float(values[counts.argmax()]) if len(values) else 0.0


@dataclass(frozen=True)
class SearchResult(Generic[P]):
    """What a search came to.

    Attributes
    ----------
    best : EMResult
        Of the best start, with the best parameters it had; `history` is the best objective so
        far, `histories` has the objective at each iteration of every start.
    visited : list of P
        Parameters of all starts at some iterations, if these were asked for.
    """

    best: EMResult[P]
    visited: list[P]


def run_search(
    problem: SearchProblem[P, S],
    params: P,
    rule: Rule,
    *,
    tol: float,
    max_iter: int,
    rngs: list[np.random.Generator],
    visit: Callable[[int], bool] | None = None,
    on_iteration: Callable[[int, float], bool] | None = None,
) -> SearchResult[P]:
    """Search from all starts at once, and keep the best parameters that were seen.

    Parameters
    ----------
    problem : SearchProblem
    params : P
        The starts' parameters.
    rule : Rule
    tol : float
        "em" has settled when the objective per row changes by no more than this. "kmeans" has
        when nothing changes any more.
    max_iter : int
        Most M-steps of a start, the one that made it included; "era" and "anneal" take them all.
    rngs : list of numpy Generator
        One a start, so that no start depends on another.
    visit : callable, optional
        Whether the parameters of an iteration shall be returned.
    on_iteration : callable, optional
        Called with the iteration and the best objective; a true answer stops the search.
    """
    run = _Run(problem, params, rule, rngs)
    if rule.stochastic and visit is None and getattr(problem, "light", False):
        finished = run.race(max_iter, on_iteration)
        return SearchResult(run.result(finished=finished), [])
    visited: list[P] = []
    stopped = False
    for iteration in range(max_iter):
        run.observe(rule.sharpness(iteration, max_iter), tol)
        if visit is not None and visit(iteration):
            visited.append(type(params)(*(array.copy() for array in run.params)))
        if on_iteration is not None:
            stopped = bool(on_iteration(iteration + 1, float(run.best.max())))
        if stopped or not run.alive.size or iteration == max_iter - 1:
            break
        run.move()
        if not run.alive.size:
            break
    return SearchResult(run.result(finished=not stopped), visited)


class _Run(Generic[P, S]):
    """Where a batch of starts stands."""

    def __init__(
        self,
        problem: SearchProblem[P, S],
        params: P,
        rule: Rule,
        rngs: list[np.random.Generator],
    ) -> None:
        n_starts = len(params[0])
        self.problem, self.rule, self.rngs = problem, rule, rngs
        self.params = type(params)(*(array.copy() for array in params))
        self.kept = type(params)(*(array.copy() for array in params))
        self.best = np.full(n_starts, -np.inf)
        self.usable, self.fresh = (np.zeros(n_starts, dtype=bool) for _ in range(2))
        self.alive = np.arange(n_starts)
        self.last = np.full(n_starts, -np.inf)
        self.books: list[tuple[IntArray, FloatArray, FloatArray]] = []
        self.settled = np.zeros(n_starts, dtype=bool)
        self.reseeded = np.zeros(n_starts, dtype=np.intp)
        self.rounds = np.zeros(n_starts, dtype=np.intp)
        self._stats: S

    def observe(self, sharpness: float, tol: float) -> None:
        """Assign the rows of all starts that still move; keep what is better than before."""
        starts = self.alive
        everyone = len(starts) == len(self.best)
        chance = Chance(self.rule.search == "em", sharpness, [self.rngs[s] for s in starts])
        params = self.params if everyone else take_starts(self.params, starts)
        stats, objective = self.problem.assign(params, chance)
        objective = np.where(np.isnan(objective), -np.inf, objective)
        # components just put somewhere are no estimate
        usable, had = self.problem.usable(params) & ~self.fresh[starts], self.usable[starts]
        better = (usable & ~had) | ((usable == had) & (objective > self.best[starts]))
        if better.any():
            self.put(self.kept, starts[better], take_starts(params, better))
            self.best[starts[better]] = objective[better]
        self.usable[starts] |= usable
        self.books.append((starts, objective, self.best[starts]))
        if self.rule.search == "em":
            with np.errstate(invalid="ignore"):
                self.settled[starts] = np.abs(objective - self.last[starts]) <= tol
        self.last[starts] = objective
        moving = ~self.settled[starts]
        self._stats = stats if moving.all() else take_starts(stats, moving)
        self.alive = starts[moving]

    def move(self) -> None:
        """Estimate the parameters anew, and give components without rows a new place."""
        starts = self.alive
        params = self.problem.m_step(self._stats)
        if self.rule.search == "kmeans":
            before = take_starts(self.params, starts)
            # sums are in another order: the same rows give the same numbers but for rounding
            same = np.isclose(_numbers(params), _numbers(before), rtol=0.0, atol=1e-9).all(axis=1)
            self.settled[starts[same]] = True
        lost = self.problem.lost(params)
        if not self.rule.stochastic:  # or they might never settle
            lost &= (self.rounds[starts] < RESEED_ROUNDS)[:, None]
        self.fresh[starts] = lost.any(axis=1)
        if len(starts) == len(self.best):
            self.params = params
        else:
            self.put(self.params, starts, params)
        hit = self.fresh[starts]
        if hit.any():
            self._reseed(starts[hit], lost[hit])
            self.settled[starts[hit]] = False
        self.alive = starts[~self.settled[starts]]

    def race(self, max_iter: int, on_iteration: Callable[[int, float], bool] | None) -> bool:
        """`observe` and `move` in turns, several iterations of a start in one call.

        A callback is told of all iterations, `STEPS` at a time; whether none asked to stop.
        """
        problem: Any = self.problem
        taken = np.zeros(len(self.best), dtype=np.intp)
        for first in range(0, max_iter, STEPS):
            goal = min(first + STEPS, max_iter)
            while np.any(taken < goal):
                # starts that lost a component on the way are behind
                begin = int(taken.min())
                starts = np.flatnonzero(taken == begin)
                sharpness = [self.rule.sharpness(i, max_iter) for i in range(begin, goal)]
                objective, best, lost, n_done = problem.run_steps(self, starts, np.array(sharpness))
                for step in range(goal - begin):
                    there = n_done > step
                    self.books.append((starts[there], objective[there, step], best[there, step]))
                taken[starts] += n_done
                hit = self.fresh[starts] & (taken[starts] < max_iter)
                if hit.any():
                    self._reseed(starts[hit], lost[hit])
            if on_iteration is not None:
                told = [on_iteration(i + 1, float(self.best.max())) for i in range(first, goal)]
                if any(told):
                    return False
        return True

    def _reseed(self, starts: IntArray, lost: BoolArray) -> None:
        """Give lost components of some starts a new place."""
        rngs = [self.rngs[s] for s in starts]
        params = self.problem.reseed(take_starts(self.params, starts), lost, rngs)
        self.put(self.params, starts, params)
        self.reseeded[starts] += lost.sum(axis=1)
        self.rounds[starts] += 1

    @staticmethod
    def put(into: P, index: Any, part: P) -> None:
        """Write the parameters of some starts."""
        for array, values in zip(into, part, strict=True):
            array[index] = values

    def result(self, *, finished: bool) -> EMResult[P]:
        """The books of `EMResult`; a search that never settles has converged when it is done."""
        traces: list[list[float]] = [[] for _ in self.best]
        history: list[float] = []
        winner = int(np.lexsort((-np.arange(len(self.best)), self.best, self.usable))[-1])
        converged = self.settled | (self.rule.stochastic and finished)
        for starts, objective, best in self.books:
            for s, value, top in zip(
                starts.tolist(), objective.tolist(), best.tolist(), strict=True
            ):
                traces[s].append(value)
                if s == winner:
                    history.append(top)
        n_iter = np.array([len(trace) for trace in traces])
        return EMResult(
            params=take_starts(self.kept, slice(winner, winner + 1)),
            history=history,
            n_iter=int(n_iter[winner]),
            converged=bool(converged[winner]),
            restarts={
                "start": np.arange(len(self.best)),
                "objective": self.best,
                "n_iter": n_iter,
                "converged": converged,
                "reseeded": self.reseeded,
                "kept": np.arange(len(self.best)) == winner,
            },
            histories=traces,
            order=np.array([winner]),
        )


def _numbers(params: tuple[Any, ...]) -> FloatArray:
    """All numbers of each start."""
    numbers = [array for array in params if array.dtype != object]
    return np.concatenate([array.reshape(len(array), -1) for array in numbers], axis=1)
