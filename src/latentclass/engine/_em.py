"""The one restart engine: EM from several starts at once, halved as they show what they are worth.

A problem (see `Problem`) holds the data and knows its E- and M-step; parameters and statistics
are named tuples of arrays with the starts on their first axis, so all starts move in one batch of
array operations. The engine decides who moves on (pyramid halving), when a start has converged,
whether to accelerate, when a dead component is seeded anew, and keeps the books.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._warn import warn_user

P = TypeVar("P", bound=tuple[Any, ...])
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=tuple[Any, ...])

ROUNDING = 1e-9
"""Relative fall of the objective that rounding may cause; a larger one is a bug. A problem that
must allow for more says so by an attribute `rounding`."""

PLAIN_ROUNDS = 3
"""While starts are halved, the first rounds are not accelerated: plain steps tell the starts apart
for less."""

RESEED_ROUNDS = 4
"""After this many rounds dead components stay dead, so that the objective rises from there on."""


class Problem(Protocol[P, S]):
    """What the engine asks of a model."""

    def e_step(self, params: P) -> tuple[S, FloatArray]:
        """Expected statistics, and the objective per row that EM raises, one a start."""

    def m_step(self, stats: S) -> P:
        """Parameters that maximise the expected objective."""

    def to_vector(self, params: P) -> FloatArray:
        """Unconstrained coordinates, shape (n_starts, n_coordinates), for extrapolation."""

    def from_vector(self, vector: FloatArray) -> P:
        """Parameters at some coordinates."""


@runtime_checkable
class Reseeding(Protocol[P]):
    """What the engine asks beside of a model whose components can die."""

    def dead(self, params: P) -> BoolArray:
        """Components that no longer stand for any row, shape (n_starts, n_components)."""

    def reseed(self, params: P, dead: BoolArray, rngs: list[np.random.Generator]) -> P:
        """Give the dead components a new place in the data."""


@dataclass(frozen=True)
class EMResult(Generic[P]):
    """What a run of restarts came to.

    Attributes
    ----------
    params : P
        Parameters of the starts that were kept, the best first.
    history : list of float
        The best one's objective per row, at its start and after each step; the last belongs to
        its parameters.
    n_iter : int
        M-steps it took, the one that made the start included.
    converged : bool
        Whether its last gain was at most `tol`.
    restarts : dict of str to array
        One entry a start: start, objective, n_iter, converged, reseeded, kept.
    histories : list of list of float
        Every start's `history`.
    order : array of int
        Which starts the kept parameters are of.
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
    """Where a batch of starts stands; `stats` and `objective` belong to `params`."""

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
    """Some starts of parameters or statistics."""
    return type(arrays)(*(array[index] for array in arrays))


def run_restarts(
    problem: Problem[P, S],
    params: P,
    *,
    tol: float,
    max_iter: int,
    rngs: list[np.random.Generator],
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
        The starts' parameters.
    tol : float
        A start has converged when its objective per row gains no more than this in one step.
    max_iter : int
        Most M-steps a start may take, the one that made it included.
    rngs : list of numpy Generator
        One a start, used only to seed dead components anew; so no start depends on another.
    halving : bool
        Pyramid: after 1, 2, 4, ... steps the better half of the starts goes on. Otherwise every
        start runs until it converges.
    accelerate : bool
        Extrapolate pairs of EM steps (SQUAREM, Varadhan and Roland 2008); an extrapolation that
        would lower the objective is replaced by the EM steps themselves.
    keep : int
        How many of the best starts are kept; halving leaves as many.
    score : callable, optional
        Ranks the starts' parameters, higher is better; the objective breaks ties. By default the
        objective ranks them.
    on_iteration : callable, optional
        Called with the iteration and the best objective; a true answer stops the run.
    """
    (result,) = run_groups(
        problem,
        params,
        np.zeros(len(params[0]), dtype=np.intp),
        tol=tol,
        max_iter=max_iter,
        rngs=rngs,
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
    halving: bool = True,
    accelerate: bool = False,
    keep: int = 1,
    score: Callable[[P], FloatArray] | None = None,
    on_iteration: Callable[[int, float], bool] | None = None,
) -> list[EMResult[P]]:
    """`run_restarts` of several groups of starts in one batch: the folds of a cross-validation.

    Starts compete within their group (`groups`, 0 to the number of groups less 1) only, and each
    group gets a result of its own.
    """
    batch = _Batch.at(problem, type(params)(*(array.copy() for array in params)))
    n_starts = len(batch.objective)
    history = [[value] for value in batch.objective.tolist()]
    n_iter = np.ones(n_starts, dtype=np.intp)
    converged = np.zeros(n_starts, dtype=bool)
    reseeded = np.zeros(n_starts, dtype=np.intp)
    alive = np.arange(n_starts)
    stopped = False

    def ranking(starts: IndexArray) -> list[IndexArray]:
        """The starts of each group, best first."""
        objective = batch.objective[starts]
        first = objective if score is None else score(take_starts(batch.params, starts))
        order = np.lexsort((starts, -objective, -first, groups[starts]))
        ends = np.bincount(groups[starts], minlength=groups.max() + 1).cumsum()
        return np.split(starts[order], ends[:-1])

    def moving() -> IndexArray:
        return alive[~converged[alive] & (n_iter[alive] < max_iter)]

    n_rounds = 0
    n_kept = keep * (int(groups.max()) + 1)
    while not stopped and moving().size:
        for _ in range(2**n_rounds):
            starts = moving()
            if stopped or not starts.size:
                break
            before = batch.take(starts)
            # of an accelerated step's two M-steps, the last iteration has room for one only
            squared = accelerate and n_iter[starts].max() + 2 <= max_iter
            if halving and n_rounds < PLAIN_ROUNDS and n_starts > n_kept:
                squared = False
            after = _squarem_step(problem, before) if squared else _em_step(problem, before)
            _check_rise(before.objective, after.objective, getattr(problem, "rounding", ROUNDING))
            batch.put(starts, after)
            n_iter[starts] += 2 if squared else 1
            # A start that fell to -inf is lost, not converged; -inf - -inf is not a gain.
            with np.errstate(invalid="ignore"):
                converged[starts] = after.objective - before.objective <= tol
            for start, value in zip(starts.tolist(), after.objective.tolist(), strict=True):
                history[start].append(value)
            if on_iteration is not None:
                stopped = bool(on_iteration(int(n_iter.max()), float(batch.objective.max())))
        n_rounds += 1
        if halving and len(alive) > n_kept:
            ranked = ranking(alive)
            alive = np.sort(
                np.concatenate([starts[: max(keep, (len(starts) + 1) // 2)] for starts in ranked])
            )
        # only a start that has steps left to find its place again
        room = alive[n_iter[alive] < max_iter]
        if (
            isinstance(problem, Reseeding)
            and n_rounds <= RESEED_ROUNDS
            and not stopped
            and room.size
        ):
            dead = problem.dead(take_starts(batch.params, room))
            hit, dead = room[dead.any(axis=1)], dead[dead.any(axis=1)]
            if hit.size:
                seeded = problem.reseed(
                    take_starts(batch.params, hit), dead, [rngs[s] for s in hit]
                )
                batch.put(hit, _Batch.at(problem, seeded))
                reseeded[hit] += dead.sum(axis=1)
                converged[hit] = False
                for start in hit.tolist():
                    history[start].append(float(batch.objective[start]))

    results = []
    for group, ranked_starts in enumerate(ranking(alive)):
        kept = ranked_starts[:keep]
        members = np.flatnonzero(groups == group)
        restarts: dict[str, npt.NDArray[Any]] = {
            "start": np.arange(len(members)),
            "objective": batch.objective[members],
            "n_iter": n_iter[members],
            "converged": converged[members],
            "reseeded": reseeded[members],
            "kept": np.isin(members, kept),
        }
        best = int(kept[0])
        results.append(
            EMResult(
                params=take_starts(batch.params, kept),
                history=history[best],
                n_iter=int(n_iter[best]),
                converged=bool(converged[best]),
                restarts=restarts,
                histories=[history[start] for start in members.tolist()],
                order=np.searchsorted(members, kept),
            )
        )
    return results


def _em_step(problem: Problem[P, S], batch: _Batch[P, S]) -> _Batch[P, S]:
    return _Batch.at(problem, problem.m_step(batch.stats))


def _squarem_step(problem: Problem[P, S], batch: _Batch[P, S]) -> _Batch[P, S]:
    """Two EM steps, extrapolated along their difference by steplength S3 of the paper.

    The extrapolated point counts only if it is no worse than the first EM step; so the objective
    rises like EM's own.
    """
    first = _em_step(problem, batch)
    second_params = problem.m_step(first.stats)
    start, one, two = (
        problem.to_vector(params) for params in (batch.params, first.params, second_params)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        # coordinates may be -inf (a probability of 0): such starts take the plain step
        change, curvature = one - start, two - 2.0 * one + start
        length = np.linalg.norm(change, axis=1)
        bend = np.linalg.norm(curvature, axis=1)
        # alpha = -1 is the plain second step; alpha below it reaches further
        alpha = -np.maximum(1.0, np.divide(length, bend, out=np.ones_like(length), where=bend > 0))
        reached = start - 2.0 * alpha[:, None] * change + alpha[:, None] ** 2 * curvature
    usable = np.isfinite(reached).all(axis=1) & (alpha < -1.0)
    reached[~usable] = two[~usable]
    candidate = _Batch.at(problem, problem.from_vector(reached))
    worse = usable & ~(candidate.objective >= first.objective)
    redo = np.flatnonzero(worse | ~usable)
    if redo.size:
        # not by way of coordinates: the second EM step itself, to the bit
        candidate.put(redo, _Batch.at(problem, take_starts(second_params, redo)))
    return candidate


def _check_rise(before: FloatArray, after: FloatArray, rounding: float) -> None:
    with np.errstate(invalid="ignore"):
        fall = before - after
    if np.any(fall > rounding * (1.0 + np.abs(before))):
        warn_user(
            f"EM's objective fell by {np.nanmax(fall):.3g} per row, which it must not. Please "
            "report this with the data and parameters that show it.",
            RuntimeWarning,
        )
