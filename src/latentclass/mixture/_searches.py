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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._em import RESEED_ROUNDS, EMResult, P, S, take_starts
from latentclass.engine._product_mixture import COLLAPSED, MixtureParams

SEARCHES = ("em", "kmeans", "era", "anneal")

STEPS, DRAWS = 50, 2**17
"""Most iterations of a start that are run in one call, and most numbers that are drawn for it."""

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


def _one_hot(component: IndexArray, n_components: int) -> FloatArray:
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


def collapsed(params: MixtureParams, prior: product.Prior) -> BoolArray:
    """Components far narrower than the column in some column that varies, shape (S, K).

    They describe equal values, not a distribution; without a prior their likelihood has no bound.
    With one there are none.
    """
    if prior.strength > 0:
        return np.zeros(params.log_weight.shape, dtype=bool)
    narrow = params.scale < COLLAPSED * np.sqrt(prior.variance)
    return np.asarray((narrow & (prior.variance > 0)).any(axis=2))


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
    run = Run(problem, params, rule, rngs)
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


class Run(Generic[P, S]):
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
        self.books: list[tuple[IndexArray, FloatArray, FloatArray]] = []
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

        A callback is told of all iterations, as many at a time; whether none asked to stop.
        """
        problem: Any = self.problem
        n_steps = int(np.clip(DRAWS // max(problem.n_rows, 1), 1, STEPS))
        taken = np.zeros(len(self.best), dtype=np.intp)
        for first in range(0, max_iter, n_steps):
            goal = min(first + n_steps, max_iter)
            while np.any(taken < goal):
                # starts that lost a component on the way are behind
                begin = int(taken.min())
                starts = np.flatnonzero(taken == begin)
                sharpness = [self.rule.sharpness(i, max_iter) for i in range(begin, goal)]
                objective, best, lost, n_done = problem.run_steps(self, starts, np.array(sharpness))
                there = np.arange(goal - begin) < n_done[:, None]
                numbers = np.repeat(starts, n_done)
                self.books.append((numbers, objective[there], best[there]))
                taken[starts] += n_done
                hit = self.fresh[starts] & (taken[starts] < max_iter)
                if hit.any():
                    self._reseed(starts[hit], lost[hit])
            if on_iteration is not None:
                told = [on_iteration(i + 1, float(self.best.max())) for i in range(first, goal)]
                if any(told):
                    return False
        return True

    def _reseed(self, starts: IndexArray, lost: BoolArray) -> None:
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
        starts, objective, best = map(np.concatenate, zip(*self.books, strict=True))
        order = np.argsort(starts, kind="stable")
        n_iter = np.bincount(starts, minlength=len(self.best))
        cuts = np.cumsum(n_iter)[:-1]
        traces = [part.tolist() for part in np.split(objective[order], cuts)]
        winner = int(np.lexsort((-np.arange(len(self.best)), self.best, self.usable))[-1])
        history = np.split(best[order], cuts)[winner].tolist()
        converged = self.settled | (self.rule.stochastic and finished)
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
