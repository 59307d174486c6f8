"""EM over rows in parts.

The statistics of a part are those of a problem that holds its rows alone, and statistics of
disjoint rows add up. So an E-step visits the parts one after the other, wherever they are, and adds
what it finds in the order of the parts. M-step, restarts and acceleration need no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol

from latentclass._types import FloatArray
from latentclass.engine._em import ROUNDING, P, Problem, S


class AdditiveProblem(Problem[P, S], Protocol):
    """A problem whose statistics add up over disjoint rows."""

    def expect(self, params: P) -> tuple[S, FloatArray]:
        """Return the expected statistics and the log-likelihood of the rows, shape (n_starts,)."""

    def add(self, first: S, second: S) -> S:
        """Return the statistics of two disjoint sets of rows together."""

    def log_prior(self, params: P) -> FloatArray:
        """Return what the prior adds to the log-likelihood, shape (n_starts,)."""


@dataclass(frozen=True)
class PartedProblem(Generic[P, S]):
    """The EM problem of known sums and of rows in parts.

    Attributes
    ----------
    known : AdditiveProblem
        What never changes, such as sums over labelled rows. It may hold no rows at all.
    expect_parts : callable
        From parameters to the statistics and the log-likelihood of each part.
    total_weight : float
        Weight of all rows.
    """

    known: AdditiveProblem[P, S]
    expect_parts: Callable[[P], Iterator[tuple[S, FloatArray]]]
    total_weight: float

    @property
    def rounding(self) -> float:
        """See `_em.ROUNDING`."""
        return float(getattr(self.known, "rounding", ROUNDING))

    def e_step(self, params: P) -> tuple[S, FloatArray]:
        """Return the expected statistics, and each start's objective per row."""
        stats, total = self.known.expect(params)
        for part, log_likelihood in self.expect_parts(params):
            stats, total = self.known.add(stats, part), total + log_likelihood
        return stats, (total + self.known.log_prior(params)) / self.total_weight

    def m_step(self, stats: S) -> P:
        """Return the parameters that maximise the expected objective."""
        return self.known.m_step(stats)

    def to_vector(self, params: P) -> FloatArray:
        """Return unconstrained coordinates for extrapolation."""
        return self.known.to_vector(params)

    def from_vector(self, vector: FloatArray) -> P:
        """Return the parameters that have these coordinates."""
        return self.known.from_vector(vector)
