"""EM, K-Means, ERA, annealing and MCEM: five ways to turn posteriors into responsibilities.

In each iteration the posterior P(c | x) of each row becomes its responsibilities, and the
parameters are estimated from the rows with these weights (Davidson 2004, sections "EM, K-Means and
ERA algorithms" and "Combining ERA with simulated annealing"):

    "em"      the posterior itself: each row belongs to every component in part
    "kmeans"  the whole row to the most probable component
    "era"     the whole row to one component drawn from the posterior (exclusive random
              assignment; the stochastic EM of Celeux and Diebolt 1985)
    "anneal"  the whole row to one component drawn from the posterior to the power 1 / c, with a
              falling temperature c: far above 1 all components are nearly equal, at 1 it is "era",
              and towards 0 it becomes "kmeans"
    "mcem"    equal parts of the row to several components drawn from the posterior (Monte-Carlo
              EM, Wei and Tanner 1990). The first iteration has one draw, as "era", and iteration t
              has t^2. So it becomes "em" in the long run, and its errors can be summed

"era" and "anneal" never settle, and "mcem" never stands still. So the best parameters seen are
kept, judged by the log-likelihood of the mixture (not of the assignment), and the objective of
every iteration is recorded. There are S starts and K components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.engine import _product as product
from latentclass.engine._em import RESEED_ROUNDS, EMResult, P, S, take_starts
from latentclass.engine._product_mixture import COLLAPSED, MixtureParams

SEARCHES = ("em", "kmeans", "era", "anneal", "mcem")

STEPS, DRAWS = 50, 2**17
"""Largest number of iterations of a start in one call, and of random numbers drawn for them."""

SPARES = 64
"""Number of components made in advance for a start that loses some."""

MOST_UNITS = 1e15
"""Largest number of units of a row: a heavier row has units of more than weight 1."""


Step = Callable[[int, float], bool]
"""Called with the number and the objective of each iteration; returns whether to stop."""


@dataclass(frozen=True)
class Rule:
    """How posteriors become responsibilities.

    Attributes
    ----------
    search : {"em", "kmeans", "era", "anneal", "mcem"}
    temperatures : (float, float)
        The first and the last temperature of "anneal". In between it falls by equal factors.
    """

    search: str
    temperatures: tuple[float, float] = (4.0, 0.1)

    @property
    def stochastic(self) -> bool:
        """Whether components are drawn at random, so that nothing ever stands still."""
        return self.wanders or self.search == "mcem"

    @property
    def wanders(self) -> bool:
        """Whether the search visits one good model after another and never settles on one."""
        return self.search in ("era", "anneal")

    def n_draws(self, iteration: int) -> int:
        """How many components each row draws in iteration 0, 1, ..."""
        return (iteration + 1) ** 2 if self.search == "mcem" else 1

    def sharpness(self, iteration: int, n_iter: int) -> float:
        """The power 1 / c of iteration 0, ..., n_iter - 1; infinite for "kmeans"."""
        if self.search == "anneal":
            first, last = self.temperatures
            done = iteration / max(n_iter - 1, 1)
            return float(first ** (done - 1.0) * last**-done)
        return np.inf if self.search == "kmeans" else 1.0


def check_temperatures(temperatures: Any) -> None:
    """Refuse temperatures that are not two positive numbers."""
    try:
        if not isinstance(temperatures, tuple | list) or len(temperatures) != 2:
            raise ValueError
        for value in temperatures:
            check_number("temperatures", value, low=0, strict=True)
    except ValueError:
        raise ValueError(
            f"temperatures={temperatures!r} must be two numbers above 0: the first and the last "
            "temperature."
        ) from None


class Chance(NamedTuple):
    """What an iteration needs to turn posteriors into responsibilities.

    Attributes
    ----------
    soft : bool
        Whether the responsibilities are the posterior itself.
    sharpness : float
        Power of the posterior; infinite to take the most probable component.
    rngs : list of numpy Generator
        One per start.
    n_draws : int
        How many components a row of weight 1 draws.
    """

    soft: bool
    sharpness: float
    rngs: list[np.random.Generator]
    n_draws: int = 1


def row_units(weight: FloatArray) -> FloatArray:
    """Number of units of each row: a row of weight 2 stands for two rows.

    Each unit draws its own component and carries an equal part of the weight.
    """
    return np.clip(np.rint(weight), 1.0, MOST_UNITS)


def draw_chances(chance: Chance, n_rows: int) -> FloatArray:
    """Draw one number on [0, 1) per start and row, or none if they are not needed."""
    if np.isinf(chance.sharpness):
        return np.zeros((len(chance.rngs), n_rows))
    out = np.empty((len(chance.rngs), n_rows))
    for rng, row in zip(chance.rngs, out, strict=True):
        rng.random(out=row)
    return out


def split_units(share: FloatArray, units: FloatArray, chance: Chance) -> FloatArray:
    """Draw a component for each unit of each row; return the shares, (S, n_rows, K)."""
    if np.isinf(chance.sharpness):
        return _one_hot(share.argmax(axis=2), share.shape[2])
    counts = [
        rng.multinomial(units.astype(np.int64), part / part.sum(axis=1, keepdims=True))
        for rng, part in zip(chance.rngs, share, strict=True)
    ]
    return np.asarray(np.stack(counts) / units[:, None])


def responsibilities(log_share: FloatArray, units: FloatArray, chance: Chance) -> FloatArray:
    """Turn log posteriors into responsibilities, both of shape (S, n_rows, K)."""
    if chance.soft:
        return np.asarray(np.exp(log_share))
    if np.isinf(chance.sharpness):
        return _one_hot(log_share.argmax(axis=2), log_share.shape[2])
    share = np.exp((log_share - log_share.max(axis=2, keepdims=True)) * chance.sharpness)
    share /= share.sum(axis=2, keepdims=True)
    if chance.n_draws > 1:
        return split_units(share, np.minimum(units * chance.n_draws, MOST_UNITS), chance)
    edges = np.cumsum(share, axis=2)[:, :, :-1]
    draws = draw_chances(chance, len(units))
    out = _one_hot((draws[:, :, None] >= edges).sum(axis=2), log_share.shape[2])
    heavy = np.flatnonzero(units > 1)
    if heavy.size:
        out[:, heavy] = split_units(share[:, heavy], units[heavy], chance)
    return out


def _one_hot(component: IndexArray, n_components: int) -> FloatArray:
    return np.asarray(component[:, :, None] == np.arange(n_components), dtype=np.float64)


class Marks(NamedTuple):
    """Numbers that a search keeps for each of some starts, for loops that change them in place.

    Attributes
    ----------
    best : array of float
        Objective of the best parameters seen.
    usable, fresh : arrays of bool
        Whether some parameters seen were estimates, without collapsed components; and whether the
        present ones have components that were put elsewhere.
    last : array of float
        Objective of the last iteration.
    settled : array of bool
        Whether the start has come to its end.
    reseeded, rounds : arrays of int
        How many components were put elsewhere, and how often some were.
    """

    best: FloatArray
    usable: BoolArray
    fresh: BoolArray
    last: FloatArray
    settled: BoolArray
    reseeded: IndexArray
    rounds: IndexArray


class Task(NamedTuple):
    """What loops that take many iterations of a start need to know.

    Attributes
    ----------
    soft : bool
        Whether the responsibilities are the posterior itself; if so, a start has settled when its
        objective changes by no more than `tol`.
    tol : float
    most_rounds : int
        How often a start may put components elsewhere.
    all_known : bool
        Whether all rows have a label.
    """

    soft: bool
    tol: float
    most_rounds: int
    all_known: bool


class SearchProblem(Protocol[P, S]):
    """What a search needs from a model. The first axis of all arrays is the start."""

    def assign(self, params: P, chance: Chance) -> tuple[S, FloatArray]:
        """Make responsibilities; return the statistics by them and the objective per row."""

    def m_step(self, stats: S) -> P:
        """Estimate the parameters from the statistics."""

    def lost(self, params: P) -> BoolArray:
        """Mark components that have no rows, or equal values only; shape (S, K)."""

    def usable(self, params: P) -> BoolArray:
        """Mark starts whose parameters may be kept as the best, shape (S,)."""

    def reseed(self, params: P, dead: BoolArray, rngs: list[np.random.Generator]) -> P:
        """Move the dead components to a new place in the data."""

    def races(self, rule: Rule) -> bool:
        """Whether there is a `run_steps`, which takes many iterations of a start in one call."""


def collapsed(params: MixtureParams, prior: product.Prior) -> BoolArray:
    """Mark components that are far narrower than the whole column in some column, shape (S, K).

    They describe equal values, not a distribution, and without a prior their likelihood has no
    bound. With a prior there are none.
    """
    if prior.strength > 0:
        return np.zeros(params.log_weight.shape, dtype=bool)
    narrow = params.scale < COLLAPSED * np.sqrt(prior.variance)
    return np.asarray((narrow & (prior.variance > 0)).any(axis=2))


@dataclass(frozen=True)
class SearchResult(Generic[P]):
    """The result of a search.

    Attributes
    ----------
    best : EMResult
        The best start with its best parameters. `history` is the best objective so far, and
        `histories` has the objective at each iteration of every start.
    visited : list of P
        Parameters of all starts at the iterations that `visit` asked for.
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
    patience: int | None = None,
    visit: Callable[[int], bool] | None = None,
    on_iteration: Step | None = None,
) -> SearchResult[P]:
    """Search from all starts at once and keep the best parameters seen.

    Parameters
    ----------
    problem : SearchProblem
    params : P
        Parameters of the starts.
    rule : Rule
    tol : float
        "em" has settled when the objective per row changes by no more than this, "kmeans" when
        nothing changes any more.
    max_iter : int
        Largest number of iterations of a start; "era", "anneal" and "mcem" take all of them.
    rngs : list of numpy Generator
        One per start, so that no start depends on another.
    patience : int, optional
        A start also ends when its best objective has gained no more than `tol` in this many
        iterations; where several are taken in one call, after the call.
    visit : callable, optional
        Given an iteration, whether to return its parameters.
    on_iteration : callable, optional
        Called with the iteration and the best objective; the search stops if it returns true.
    """
    run = Run(problem, params, rule, rngs, tol, patience)
    if problem.races(rule):
        finished, visited = run.race(max_iter, visit, on_iteration)
        return SearchResult(run.result(finished=finished), visited)
    visited = []
    stopped = False
    for iteration in range(max_iter):
        run.observe(rule.sharpness(iteration, max_iter), rule.n_draws(iteration))
        if visit is not None and visit(iteration):
            visited.append(run.copy())
        if on_iteration is not None:
            stopped = bool(on_iteration(iteration + 1, float(run.best.max())))
        if stopped or not run.alive.size or iteration == max_iter - 1:
            break
        run.move()
        if not run.alive.size:
            break
    return SearchResult(run.result(finished=not stopped), visited)


class Run(Generic[P, S]):
    """The state of a batch of starts."""

    def __init__(
        self,
        problem: SearchProblem[P, S],
        params: P,
        rule: Rule,
        rngs: list[np.random.Generator],
        tol: float,
        patience: int | None,
    ) -> None:
        n_starts = len(params[0])
        self.problem, self.rule, self.rngs = problem, rule, rngs
        self.tol, self.patience = tol, patience
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
        # iterations taken, and the best objective and the iteration when it last rose by `tol`
        self.taken, self.since = (np.zeros(n_starts, dtype=np.intp) for _ in range(2))
        self.mark = np.full(n_starts, -np.inf)
        # components made in advance, by start, for those that lose some
        self.spares: dict[int, Any] = {}
        self._stats: S

    @property
    def most_rounds(self) -> int:
        """How often a start may put components elsewhere."""
        # a search that settles might otherwise never do so
        return int(np.iinfo(np.intp).max) if self.rule.wanders else RESEED_ROUNDS

    def marks(self, starts: IndexArray) -> Marks:
        """Copy the numbers of some starts."""
        return Marks(*(getattr(self, name)[starts] for name in Marks._fields))

    def put_marks(self, starts: IndexArray, marks: Marks) -> None:
        """Write the numbers of some starts."""
        for name, values in marks._asdict().items():
            getattr(self, name)[starts] = values

    def copy(self) -> P:
        """A copy of the present parameters."""
        return type(self.params)(*(array.copy() for array in self.params))

    def observe(self, sharpness: float, n_draws: int) -> None:
        """Assign the rows of all starts that still move; keep parameters that are better."""
        starts = self.alive
        everyone = len(starts) == len(self.best)
        rngs = [self.rngs[s] for s in starts]
        chance = Chance(self.rule.search == "em", sharpness, rngs, n_draws)
        params = self.params if everyone else take_starts(self.params, starts)
        stats, objective = self.problem.assign(params, chance)
        objective = np.where(np.isnan(objective), -np.inf, objective)
        # reseeded components are not estimates
        usable, had = self.problem.usable(params) & ~self.fresh[starts], self.usable[starts]
        better = (usable & ~had) | ((usable == had) & (objective > self.best[starts]))
        if better.any():
            self.put(self.kept, starts[better], take_starts(params, better))
            self.best[starts[better]] = objective[better]
        self.usable[starts] |= usable
        self.books.append((starts, objective, self.best[starts]))
        if self.rule.search == "em":
            with np.errstate(invalid="ignore"):
                self.settled[starts] = np.abs(objective - self.last[starts]) <= self.tol
        self.last[starts] = objective
        self._count(starts, self.best[starts, None], np.ones(len(starts), dtype=np.intp))
        moving = ~self.settled[starts]
        self._stats = stats if moving.all() else take_starts(stats, moving)
        self.alive = starts[moving]

    def move(self) -> None:
        """Estimate the parameters again, and reseed components without rows."""
        starts = self.alive
        params = self.problem.m_step(self._stats)
        if self.rule.search == "kmeans":
            before = take_starts(self.params, starts)
            # sums may be in another order: the same rows give the same numbers up to rounding
            same = np.isclose(_numbers(params), _numbers(before), rtol=0.0, atol=1e-9).all(axis=1)
            self.settled[starts[same]] = True
        lost = self.problem.lost(params) & (self.rounds[starts] < self.most_rounds)[:, None]
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

    def _count(self, starts: IndexArray, best: FloatArray, n_done: IndexArray) -> None:
        """Count iterations, and end starts whose best objective has not risen for long enough.

        `best` has the best objective after each iteration of the starts, of which start s took
        `n_done[s]`.
        """
        for step in range(best.shape[1]):
            there = n_done > step
            now, value = starts[there], best[there, step]
            self.taken[now] += 1
            if self.patience is None:
                continue
            with np.errstate(invalid="ignore"):
                risen = value - self.mark[now] > self.tol
            self.mark[now[risen]], self.since[now[risen]] = value[risen], self.taken[now[risen]]
            self.settled[now] |= self.taken[now] - self.since[now] >= self.patience

    def race(
        self,
        max_iter: int,
        visit: Callable[[int], bool] | None,
        on_iteration: Step | None,
    ) -> tuple[bool, list[P]]:
        """Do `observe` and `move` in turns, with several iterations of a start in one call.

        Callbacks are called for all iterations, several at a time. Returns false if one asked to
        stop, and the parameters that `visit` asked for.
        """
        problem: Any = self.problem
        n_steps = int(np.clip(DRAWS // max(problem.n_rows, 1), 1, STEPS))
        pauses = [i for i in range(max_iter) if visit is not None and visit(i)]
        bounds = sorted({*range(0, max_iter, n_steps), *pauses, max_iter})
        visited: list[P] = []
        for first, goal in pairwise(bounds):
            if first in pauses:
                visited.append(self.copy())
            while np.any(waiting := ~self.settled & (self.taken < goal)):
                # starts that lost a component and had no spare one are behind the others
                begin = int(self.taken[waiting].min())
                starts = np.flatnonzero(waiting & (self.taken == begin))
                sharpness = [self.rule.sharpness(i, max_iter) for i in range(begin, goal)]
                objective, best, lost, n_done = problem.run_steps(self, starts, np.array(sharpness))
                there = np.arange(goal - begin) < n_done[:, None]
                numbers = np.repeat(starts, n_done)
                self.books.append((numbers, objective[there], best[there]))
                self._count(starts, best, n_done)
                hit = lost.any(axis=1) & (self.taken[starts] < max_iter)
                if hit.any():
                    self._reseed(starts[hit], lost[hit])
            if on_iteration is not None:
                told = [on_iteration(i + 1, float(self.best.max())) for i in range(first, goal)]
                if any(told):
                    return False, visited
            if self.settled.all():
                break
        return True, visited

    def _reseed(self, starts: IndexArray, lost: BoolArray) -> None:
        """Move the lost components of some starts to a new place."""
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
        """Return the best start; one that takes all iterations has converged when it is done."""
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
    """All parameters of each start as one row of numbers."""
    numbers = [array for array in params if array.dtype != object]
    return np.concatenate([array.reshape(len(array), -1) for array in numbers], axis=1)
