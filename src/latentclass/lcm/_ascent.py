"""Gradient ascent on the probability of the labels: Adam, for all models of this family.

How many steps are best is chosen on held-out rows: see `_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Protocol, TypeVar

import numpy as np

from latentclass._types import FloatArray

P = TypeVar("P", bound=tuple[Any, ...])
S = TypeVar("S", bound=tuple[Any, ...])

RATE = 0.03
"""Step size of Adam, for coefficients and logarithms of variances."""

DECAYS = (0.9, 0.99)
"""Decay rates of Adam for slopes and for their squares."""

BATCH_STEPS = 5
"""Steps along the slopes of one batch of rows."""


class Conditional(Protocol[P, S]):
    """Labelled rows, and an objective over them whose slopes are known.

    Parameters and slopes are named tuples of arrays. A place is made of the same arrays as the
    slopes: the parameters in coordinates without bounds.
    """

    def begin(self, params: P) -> Any:
        """What is kept with the rows between two steps."""

    def gradient(self, params: P, kept: Any) -> tuple[S, FloatArray, Any]:
        """Return the slopes per row, the objective per row (S,), and what is kept now."""

    def to_place(self, params: P) -> S:
        """Coordinates of the parameters."""

    def from_place(self, place: S, params: P) -> P:
        """Parameters at some coordinates; all else is as in `params`."""


def climb(params: P, problems: Iterator[Conditional[P, S]]) -> Iterator[P]:
    """Yield the parameters after 0, 1, 2, ... steps of Adam, without end.

    Every few steps (`BATCH_STEPS`) go along the slopes of the next problem, which may be the same.
    """
    yield params
    problem: Conditional[P, S] | None = None
    for step in count(1):
        if (step - 1) % BATCH_STEPS == 0:
            before, problem = problem, next(problems)
            if problem is not before:
                kept = problem.begin(params)
        assert problem is not None
        slopes, _, kept = problem.gradient(params, kept)
        if step == 1:
            place = problem.to_place(params)
            first = second = type(slopes)(*(np.zeros_like(slope) for slope in slopes))
        first = _blend(first, slopes, DECAYS[0])
        second = _blend(second, type(slopes)(*(slope**2 for slope in slopes)), DECAYS[1])
        scale = RATE * np.sqrt(1.0 - DECAYS[1] ** step) / (1.0 - DECAYS[0] ** step)
        place = type(place)(
            *(
                at + scale * one / (np.sqrt(two) + 1e-8)
                for at, one, two in zip(place, first, second, strict=True)
            )
        )
        params = problem.from_place(place, params)
        yield params


def even_slopes(slopes: S, weight: FloatArray | float) -> S:
    """Slopes per row, rounded; `weight` is a number, or one for each start.

    A slope that is 0 by symmetry must be exactly 0: Adam would follow its rounding errors.
    """

    def even(slope: FloatArray) -> FloatArray:
        each = np.reshape(weight, (-1, *[1] * (slope.ndim - 1)))
        return np.asarray(np.round(slope / each, 10))

    return type(slopes)(*map(even, slopes))


def _blend(old: S, new: S, memory: float) -> S:
    pairs = zip(old, new, strict=True)
    return type(old)(*(memory * one + (1.0 - memory) * two for one, two in pairs))
