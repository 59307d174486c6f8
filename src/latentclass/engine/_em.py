"""EM from several starts at once, dropping the worse half after each round.

A problem (see `Problem`) holds the data and has an E-step and an M-step. Parameters and statistics
are named tuples of arrays whose first axis is the start, so one batch of array operations moves all
starts. The engine decides which starts go on, when a start has converged, whether to accelerate and
when to reseed a dead component. It also records the history of every start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._warn import warn_user
from latentclass.engine._parallel import check_stop

P = TypeVar("P", bound=tuple[Any, ...])
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=tuple[Any, ...])

ROUNDING = 1e-9
"""Relative fall of the objective that rounding can cause; a larger fall is a bug. A problem that
loses more digits sets its own limit in an attribute `rounding`."""

PLAIN_ROUNDS = 3
"""While starts are being dropped, the first rounds are not accelerated: plain steps rank the starts
at a lower cost."""

RESEED_ROUNDS = 4
"""Dead components are reseeded in this many rounds only, so that the objective rises after them."""


class Problem(Protocol[P, S]):
    """The methods that the engine needs from a model."""

    def e_step(self, params: P) -> tuple[S, FloatArray]:
        """Return the expected statistics, and each start's objective per row, which EM raises."""

    def m_step(self, stats: S) -> P:
        """Return the parameters that maximise the expected objective."""

    def to_vector(self, params: P) -> FloatArray:
        """Return unconstrained coordinates for extrapolation, shape (n_starts, n_coordinates)."""

    def from_vector(self, vector: FloatArray) -> P:
        """Return the parameters that have these coordinates."""


@runtime_checkable
class Reseeding(Protocol[P]):
    """The additional methods of a model whose components can die."""

    def dead(self, params: P) -> BoolArray:
        """Mark the components that explain no rows any more, shape (n_starts, n_components)."""

    def reseed(self, params: P, dead: BoolArray, rngs: list[np.random.Generator]) -> P:
        """Move the dead components to a new place in the data."""


@runtime_checkable
class Carrying(Protocol[P]):
    """The additional methods of a model that keeps some of its parameters with the rows.

    These have no coordinates in `to_vector`, but are extrapolated in the same way.
    """

    def squares(self, path: tuple[P, P, P]) -> tuple[FloatArray, FloatArray]:
        """Return what they add to the squared lengths of `change` and `curvature`, (n_starts,).

        `path` has the parameters before, after one and after two steps (see `_squarem_step`).
        """

    def carry(self, params: P, path: tuple[P, P, P], alpha: FloatArray) -> P:
        """Return extrapolated `params` after extrapolating what is kept with the rows.

        The first parameters of the path may be overwritten.
        """


@dataclass(frozen=True)
class EMResult(Generic[P]):
    """The result of a run of restarts.

    Attributes
    ----------
    params : P
        Parameters of the kept starts, best first.
    history : list of float
        Objective per row of the best start, first at its initial parameters and then after each
        step. The last value belongs to the returned parameters.
    n_iter : int
        Number of M-steps of the best start, including the one that made its initial parameters.
    converged : bool
        Whether the last gain of the best start was at most `tol`.
    restarts : dict of str to array
        Columns with one entry per start: start, objective, n_iter, converged, reseeded, kept.
    histories : list of list of float
        The `history` of every start.
    order : array of int
        The numbers of the kept starts, best first.
    """

    params: P
    history: list[float]
    n_iter: int
    converged: bool
    restarts: dict[str, npt.NDArray[Any]]
    histories: list[list[float]]
    order: IndexArray


@dataclass
class _Batch(Generic[P, S]):
    """The present state of a batch of starts; `stats` and `objective` belong to `params`."""

    params: P
    stats: S
    objective: FloatArray

    @classmethod
    def at(cls, problem: Problem[P, S], params: P) -> _Batch[P, S]:
        stats, objective = problem.e_step(params)
        return cls(params, stats, np.where(np.isnan(objective), -np.inf, objective))

    def take(self, index: Any) -> _Batch[P, S]:
        return _Batch(
            take_starts(self.params, index), take_starts(self.stats, index), self.objective[index]
        )

    def put(self, index: Any, part: _Batch[P, S]) -> None:
        self.objective[index] = part.objective
        for mine, new in ((self.params, part.params), (self.stats, part.stats)):
            for array, values in zip(mine, new, strict=True):
                array[index] = values


def take_starts(arrays: T, index: Any) -> T:
    """Select some starts from parameters or statistics."""
    return type(arrays)(*(array[index] for array in arrays))


def run_restarts(
    problem: Problem[P, S],
    params: P,
    *,
    tol: float,
    max_iter: int,
    rngs: list[np.random.Generator],
    relative_tol: bool = False,
    halving: bool = True,
    accelerate: bool = False,
    keep: int = 1,
    score: Callable[[P], FloatArray] | None = None,
    on_iteration: Callable[[int, float], bool] | None = None,
) -> EMResult[P]:
    """Run EM from all starts and keep the best.

    Parameters
    ----------
    problem : Problem
    params : P
        Initial parameters of all starts.
    tol : float
        A start has converged when one step raises its objective per row by no more than this.
    max_iter : int
        Maximum number of M-steps per start, including the one that made its initial parameters.
    rngs : list of numpy Generator
        One generator per start, used only to reseed dead components. No start depends on another.
    relative_tol : bool
        Whether `tol` is a share of the absolute value of the objective.
    halving : bool
        Pyramid strategy (Chickering and Heckerman 1997): the better half of the starts goes on
        after 1, 2, 4, ... steps. If false, every start runs until it converges.
    accelerate : bool
        Extrapolate pairs of EM steps (SQUAREM, Varadhan and Roland 2008). An extrapolation that
        would lower the objective is replaced by the plain EM steps.
    keep : int
        Number of best starts to keep. Halving never leaves fewer.
    score : callable, optional
        Gives a score to each start's parameters; higher is better, and the objective breaks ties.
        By default the objective is the score.
    on_iteration : callable, optional
        Called with the iteration and the best objective. A true return value stops the run.
    """
    (result,) = run_groups(
        problem,
        params,
        np.zeros(len(params[0]), dtype=np.intp),
        tol=tol,
        max_iter=max_iter,
        rngs=rngs,
        relative_tol=relative_tol,
        halving=halving,
        accelerate=accelerate,
        keep=keep,
        score=score,
        on_iteration=on_iteration,
    )
    return result


def run_groups(
    problem: Problem[P, S],
    params: P,
    groups: IndexArray,
    *,
    tol: float,
    max_iter: int,
    rngs: list[np.random.Generator],
    relative_tol: bool = False,
    halving: bool = True,
    accelerate: bool = False,
    keep: int = 1,
    score: Callable[[P], FloatArray] | None = None,
    on_iteration: Callable[[int, float], bool] | None = None,
) -> list[EMResult[P]]:
    """Run `run_restarts` for several groups of starts in one batch, such as the folds of a CV.

    Starts compete only within their group (`groups`, numbered from 0), and each group gets a result
    of its own. The other arguments are those of `run_restarts`.
    """
    rules = _Rules(
        tol, max_iter, rngs, relative_tol, halving, accelerate, keep, score, on_iteration
    )
    return _Contest(problem, params, groups, rules).run()


def confirm_estimate(problem: Problem[P, S], params: P) -> EMResult[P]:
    """The result of one start where nothing is hidden and `params` are the M-step's estimate.

    The expected statistics are then the known ones, whatever the parameters, so the next step gives
    the same parameters. It is recorded, but not computed.
    """
    _, objective = problem.e_step(params)
    value = float(objective[0])
    return EMResult(
        params=params,
        history=[value, value],
        n_iter=2,
        converged=True,
        restarts={
            "start": np.zeros(1, dtype=np.intp),
            "objective": np.asarray(objective),
            "n_iter": np.full(1, 2, dtype=np.intp),
            "converged": np.ones(1, dtype=bool),
            "reseeded": np.zeros(1, dtype=np.intp),
            "kept": np.ones(1, dtype=bool),
        },
        histories=[[value, value]],
        order=np.zeros(1, dtype=np.intp),
    )


class _Rules(NamedTuple, Generic[P]):
    """The rules of a contest: the arguments of `run_restarts`."""

    tol: float
    max_iter: int
    rngs: list[np.random.Generator]
    relative_tol: bool
    halving: bool
    accelerate: bool
    keep: int
    score: Callable[[P], FloatArray] | None
    on_iteration: Callable[[int, float], bool] | None


class _Contest(Generic[P, S]):
    """The starts of all groups, the starts still alive, and the books of every start."""

    def __init__(
        self, problem: Problem[P, S], params: P, groups: IndexArray, rules: _Rules[P]
    ) -> None:
        self.problem, self.groups, self.rules = problem, groups, rules
        self.batch = _Batch.at(problem, type(params)(*(array.copy() for array in params)))
        n_starts = len(self.batch.objective)
        self.n_groups = int(groups.max()) + 1
        self.n_kept = rules.keep * self.n_groups
        self.alive: IndexArray = np.arange(n_starts)
        self.n_rounds = 0
        self.stopped = False
        # the books
        self.history = [[value] for value in self.batch.objective.tolist()]
        self.n_iter = np.ones(n_starts, dtype=np.intp)
        self.converged = np.zeros(n_starts, dtype=bool)
        self.reseeded = np.zeros(n_starts, dtype=np.intp)

    def run(self) -> list[EMResult[P]]:
        while not self.stopped and self._moving().size:
            self._advance()
            self._halve()
            self._reseed()
        ranked = enumerate(self._ranking())
        return [self._result(group, starts[: self.rules.keep]) for group, starts in ranked]

    def _moving(self) -> IndexArray:
        """Starts that still take steps."""
        alive = self.alive
        return alive[~self.converged[alive] & (self.n_iter[alive] < self.rules.max_iter)]

    def _ranking(self) -> list[IndexArray]:
        """Living starts of each group, best first."""
        starts, score = self.alive, self.rules.score
        objective = self.batch.objective[starts]
        first = objective if score is None else score(take_starts(self.batch.params, starts))
        order = np.lexsort((starts, -objective, -first, self.groups[starts]))
        ends = np.bincount(self.groups[starts], minlength=self.n_groups).cumsum()
        return np.split(starts[order], ends[:-1])

    # ---------------------------------------------------------------- advance

    def _advance(self) -> None:
        """One round: 1, 2, 4, ... steps."""
        for _ in range(2**self.n_rounds):
            starts = self._moving()
            if self.stopped or not starts.size:
                break
            self._step(starts)
        self.n_rounds += 1

    def _step(self, starts: IndexArray) -> None:
        check_stop()
        before = self.batch.take(starts)
        squared = self._may_accelerate(starts)
        after = (_squarem_step if squared else _em_step)(self.problem, before)
        _check_rise(before.objective, after.objective, getattr(self.problem, "rounding", ROUNDING))
        self.batch.put(starts, after)
        self.n_iter[starts] += 2 if squared else 1
        # a start that fell to -inf is lost, not converged: -inf - -inf is no gain
        with np.errstate(invalid="ignore"):
            self.converged[starts] = after.objective - before.objective <= self._least_gain(before)
        self._note(starts)
        if self.rules.on_iteration is not None:
            best = float(self.batch.objective.max())
            self.stopped = bool(self.rules.on_iteration(int(self.n_iter.max()), best))

    def _least_gain(self, batch: _Batch[P, S]) -> float | FloatArray:
        """The gain at or below which a start has converged."""
        tol = self.rules.tol
        return tol * np.abs(batch.objective) if self.rules.relative_tol else tol

    def _may_accelerate(self, starts: IndexArray) -> bool:
        """Whether the next step of these starts is an extrapolated pair of M-steps."""
        early = self.n_rounds < PLAIN_ROUNDS
        if self.rules.halving and early and len(self.groups) > self.n_kept:
            return False
        # an accelerated step takes two M-steps, and max_iter may leave room for one only
        room = self.n_iter[starts].max() + 2 <= self.rules.max_iter
        return bool(self.rules.accelerate and room)

    def _note(self, starts: IndexArray) -> None:
        """Append the present objective to the history of each of these starts."""
        for start, value in zip(
            starts.tolist(), self.batch.objective[starts].tolist(), strict=True
        ):
            self.history[start].append(value)

    # ------------------------------------------------------- halve and reseed

    def _halve(self) -> None:
        """Drop the worse half of each group, but never below `keep` starts."""
        if self.rules.halving and len(self.alive) > self.n_kept:
            keep = self.rules.keep
            better = [starts[: max(keep, (len(starts) + 1) // 2)] for starts in self._ranking()]
            self.alive = np.sort(np.concatenate(better))

    def _reseed(self) -> None:
        """Move the dead components of starts that have steps left to recover."""
        problem, alive = self.problem, self.alive
        if not isinstance(problem, Reseeding) or self.n_rounds > RESEED_ROUNDS or self.stopped:
            return
        starts = alive[self.n_iter[alive] < self.rules.max_iter]
        if not starts.size:
            return
        dead = problem.dead(take_starts(self.batch.params, starts))
        hit = dead.any(axis=1)
        starts, dead = starts[hit], dead[hit]
        if not starts.size:
            return
        rngs = [self.rules.rngs[start] for start in starts]
        moved = problem.reseed(take_starts(self.batch.params, starts), dead, rngs)
        self.batch.put(starts, _Batch.at(problem, moved))
        self.reseeded[starts] += dead.sum(axis=1)
        self.converged[starts] = False
        self._note(starts)

    # ---------------------------------------------------------------- results

    def _result(self, group: int, kept: IndexArray) -> EMResult[P]:
        members = np.flatnonzero(self.groups == group)
        best = int(kept[0])
        return EMResult(
            params=take_starts(self.batch.params, kept),
            history=self.history[best],
            n_iter=int(self.n_iter[best]),
            converged=bool(self.converged[best]),
            restarts={
                "start": np.arange(len(members)),
                "objective": self.batch.objective[members],
                "n_iter": self.n_iter[members],
                "converged": self.converged[members],
                "reseeded": self.reseeded[members],
                "kept": np.isin(members, kept),
            },
            histories=[self.history[start] for start in members.tolist()],
            order=np.searchsorted(members, kept),
        )


def _em_step(problem: Problem[P, S], batch: _Batch[P, S]) -> _Batch[P, S]:
    return _Batch.at(problem, problem.m_step(batch.stats))


def _squarem_step(problem: Problem[P, S], batch: _Batch[P, S]) -> _Batch[P, S]:
    """Two EM steps, extrapolated with steplength S3 of Varadhan and Roland (2008).

    The extrapolated point is taken only if it is no worse than the first EM step. So the objective
    rises as under plain EM.
    """
    first = _em_step(problem, batch)
    path = batch.params, first.params, problem.m_step(first.stats)
    start, one, two = (problem.to_vector(params) for params in path)
    with np.errstate(over="ignore", invalid="ignore"):
        # coordinates can be -inf (a probability of 0); such starts take the plain step
        change, curvature = one - start, two - 2.0 * one + start
        length, bend = (change**2).sum(axis=1), (curvature**2).sum(axis=1)
        if isinstance(problem, Carrying):
            length, bend = np.add((length, bend), problem.squares(path))
        # alpha = -1 is the plain second step; a smaller alpha reaches further
        far = np.divide(length, bend, out=np.ones_like(length), where=bend > 0)
        alpha = -np.maximum(1.0, np.sqrt(far))
        reached = start - 2.0 * alpha[:, None] * change + alpha[:, None] ** 2 * curvature
    usable = np.isfinite(reached).all(axis=1) & (alpha < -1.0)
    reached[~usable] = two[~usable]
    extrapolated = problem.from_vector(reached)
    if isinstance(problem, Carrying):
        extrapolated = problem.carry(extrapolated, path, np.where(usable, alpha, -1.0))
    candidate = _Batch.at(problem, extrapolated)
    worse = usable & ~(candidate.objective >= first.objective)
    redo = np.flatnonzero(worse | ~usable)
    if redo.size:
        # the parameters of the second EM step itself: coordinates and back would round them
        candidate.put(redo, _Batch.at(problem, take_starts(path[2], redo)))
    return candidate


def _check_rise(before: FloatArray, after: FloatArray, rounding: float) -> None:
    with np.errstate(invalid="ignore"):
        fall = before - after
    if np.any(fall > rounding * (1.0 + np.abs(before))):
        warn_user(
            f"The EM objective fell by {np.nanmax(fall):.3g} per row, which should not happen. "
            "Please report this bug with the data and parameters that show it.",
            RuntimeWarning,
        )
