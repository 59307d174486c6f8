"""Expected counts of a tree over many rows.

A plan holds what is computed once per tree shape and table of rows; `expected_counts` then runs the
passes with any probabilities. This is the E-step of EM (Dempster, Laird and Rubin 1977).

This module loads numba; import it only where a tree is fitted or used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._parallel import count_threads, map_blocks
from latentclass.latent_tree._pass_kernels import expect
from latentclass.latent_tree._row_patterns import RowPatterns, check_columns, trim_cache
from latentclass.latent_tree._schedule import Numbers, Program, make_program, make_sites
from latentclass.latent_tree._tree import Tree

THREAD_WORK = 2**21
"""Threads are used above this number of inner loop steps. A step takes about 0.25 ns, and starting
threads and collecting their results takes about 0.1 ms."""


@dataclass(frozen=True)
class Plan:
    """The passes of a tree over given rows, ready to run with any tables.

    Attributes
    ----------
    tree : Tree
    parts : tuple of (Program, array)
        For each block of rows its program and the weight of each pattern of the root.
    """

    tree: Tree
    parts: tuple[tuple[Program, FloatArray], ...] = field(repr=False)
    _rooms: list[tuple[Any, ...]] = field(default_factory=list, repr=False)

    @property
    def work(self) -> int:
        """Number of inner loop steps in one pass."""
        return sum(program.work for program, _ in self.parts)

    def expect(self, part: int, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts and log-likelihood of one block; may be called from several threads at once."""
        # keep the memory from one pass to the next: new pages cost as much as the work itself
        try:
            room = self._rooms.pop()
        except IndexError:
            room = self._new_room()
        program, weight = self.parts[part]
        counts, total = np.zeros(theta.shape), np.zeros(len(theta))
        given: tuple[Any, ...] = (*program[:3], theta.reshape(-1), weight)
        expect(*given, *room, counts.reshape(-1), total)  # type: ignore[call-arg]
        self._rooms.append(room)
        return counts, total

    def _new_room(self) -> tuple[Any, ...]:
        size = max(program.n_numbers for program, _ in self.parts)
        n_sites = max(len(program.sites) for program, _ in self.parts)
        return *_room(size, n_sites), np.empty(size)

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "parts": self.parts, "_rooms": []}


def plan_rows(tree: Tree, rows: RowPatterns) -> Plan:
    """Prepare the passes of a tree over rows."""
    check_columns(tree, rows)
    parts: list[tuple[Program, FloatArray]] = []
    for block in rows.blocks:
        sites = make_sites(tree, block)
        trim_cache(rows, block)
        weight = np.bincount(sites[-1].ids, block.weight, sites[-1].size).astype(np.float64)
        parts.append((make_program(tree, sites), weight))
    return Plan(tree, tuple(parts))


def messages(program: Program, theta: FloatArray) -> Numbers:
    """Run the upward pass, and return the numbers of all sites."""
    numbers = _room(program.n_numbers, len(program.sites) - 1)
    nothing = np.empty(0)
    # copied, because kernels are compiled for arrays that can be written to
    given: tuple[Any, ...] = (*program[:3], theta.copy(), nothing, *numbers)
    expect(*given, nothing, nothing, np.empty(1))  # type: ignore[call-arg]
    return numbers


def _room(size: int, n_sites: int) -> Numbers:
    """Memory for numbers, with all exponents 0."""
    return Numbers(
        np.empty(size),
        np.zeros(size, dtype=np.int32),
        np.zeros(n_sites, dtype=np.bool_),
        np.empty(n_sites),
    )


def expected_counts(
    plan: Plan, theta: FloatArray, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Sum of weight * P(p, s | row) for every entry P(s | p) of every table.

    Parameters
    ----------
    plan : Plan
    theta : array of shape (n_starts, F)
        Tables as flat arrays (`Tree.theta`), for several trees of the same shape at once.
    n_jobs : int or None
        Number of threads, used if there is enough work. The result is the same to the bit.

    Returns
    -------
    counts : array of shape (n_starts, F)
        Impossible rows do not count.
    log_likelihood : array of shape (n_starts,)
        -inf if a row with a positive weight is impossible.
    """
    theta = np.ascontiguousarray(theta)
    n_starts, n_blocks = len(theta), len(plan.parts)
    n_threads = count_threads(n_jobs) if plan.work * n_starts > THREAD_WORK else 1
    # the result of a start does not depend on the other starts, so the slices may follow n_jobs
    n_slices = 1 if n_threads == 1 else min(n_starts, -(-4 * n_threads // n_blocks))
    bounds = np.linspace(0, n_starts, n_slices + 1).astype(int).tolist()
    slices = [slice(a, b) for a, b in pairwise(bounds)]
    items = [(part, starts) for part in range(n_blocks) for starts in slices]

    def visit(item: tuple[int, slice]) -> tuple[FloatArray, FloatArray]:
        part, starts = item
        return plan.expect(part, theta[starts])

    counts, total = np.zeros(theta.shape), np.zeros(n_starts)
    for (_, starts), (more, gain) in zip(items, map_blocks(visit, items, n_threads), strict=True):
        counts[starts] += more
        total[starts] += gain
    return counts, total
