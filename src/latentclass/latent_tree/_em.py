"""EM for the tables of a tree whose leaves are observed, as a problem for the restart engine.

EM learns all tables, or only some of them, as the local EM of section 3.2 of Wang, Zhang, Chen and
Poon (2011) does (`_east_local_em` is much faster at it).

With smoothing `alpha` the objective is

    sum of weight * log p(row) + alpha * (sum of log theta over the entries of the free tables)

and the M-step adds alpha to every expected count: Laplace's rule for alpha = 1, maximum
likelihood for alpha = 0. In shapes, S is the number of starts, and F the number of entries of all
tables (`Tree.theta`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import MOST_STARTS, check_number
from latentclass.engine._em import EMResult, run_restarts
from latentclass.latent_tree._inference import (
    Plan,
    RowPatterns,
    expected_counts,
    group_rows,
    plan_rows,
)
from latentclass.latent_tree._tree import Tree

MIN_WEIGHT = 1e-200
"""A state with less weight than this counts as empty, and its distributions become uniform."""


class TreeParams(NamedTuple):
    """Parameters of S starts: theta (S, F)."""

    theta: FloatArray


class TreeStats(NamedTuple):
    """Statistics of S starts: expected counts (S, F)."""

    counts: FloatArray


@dataclass(frozen=True)
class TreeProblem:
    """EM for the free tables of a tree (see `_em.Problem`).

    Attributes
    ----------
    plan : Plan
        The passes of the tree over the rows. The tree also gives the values of fixed tables.
    free : array of shape (n_nodes,)
        Whether each node's table is learned.
    total_weight : float
        Weight of all rows.
    alpha : float
        Pseudo-count of every entry.
    n_jobs : int or None
    """

    plan: Plan
    free: BoolArray
    total_weight: float
    alpha: float = 0.0
    n_jobs: int | None = None

    @cached_property
    def free_entries(self) -> BoolArray:
        """Which entries are learned, shape (F,)."""
        return np.repeat(self.free, np.diff(self.plan.tree.offsets))

    def e_step(self, params: TreeParams) -> tuple[TreeStats, FloatArray]:
        """Expected counts, and the objective per row."""
        counts, objective = expected_counts(self.plan, params.theta, self.n_jobs)
        if self.alpha > 0:
            with np.errstate(divide="ignore"):
                prior = np.log(params.theta[:, self.free_entries]).sum(axis=1)
            objective = objective + self.alpha * prior
        return TreeStats(counts), objective / self.total_weight

    def m_step(self, stats: TreeStats) -> TreeParams:
        """theta = (count + alpha) / its sum over the states, in the free tables."""
        share = count_shares(self.plan.tree, stats.counts + self.alpha)
        return TreeParams(np.where(self.free_entries, share, self.plan.tree.theta))

    def to_vector(self, params: TreeParams) -> FloatArray:
        """Logarithms of the free entries."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(params.theta[:, self.free_entries]))

    def from_vector(self, vector: FloatArray) -> TreeParams:
        """Invert `to_vector`, and make all distributions sum to 1."""
        theta = np.tile(self.plan.tree.theta, (len(vector), 1))
        log_theta = np.zeros_like(theta)
        log_theta[:, self.free_entries] = vector
        top = self._spread(np.maximum.reduceat(log_theta, self._starts, axis=1))
        share = np.exp(log_theta - np.where(np.isfinite(top), top, 0.0))
        share /= self._spread(np.add.reduceat(share, self._starts, axis=1))
        return TreeParams(np.where(self.free_entries, share, theta))

    @property
    def _starts(self) -> IndexArray:
        return self.plan.tree.distribution_starts

    def _spread(self, values: FloatArray) -> FloatArray:
        """Repeat the number of each distribution for all of its entries."""
        return np.repeat(values, _lengths(self.plan.tree), axis=-1)


def _lengths(tree: Tree) -> IndexArray:
    """Number of entries of each distribution of a tree."""
    return np.diff(np.append(tree.distribution_starts, len(tree.theta)))


def count_shares(tree: Tree, counts: FloatArray) -> FloatArray:
    """Each count of shape (S, F) over the sum of its distribution; even shares if that is empty."""
    lengths = _lengths(tree)
    total = np.repeat(np.add.reduceat(counts, tree.distribution_starts, axis=1), lengths, axis=1)
    even = np.tile(1.0 / np.repeat(lengths.astype(np.float64), lengths), (len(counts), 1))
    return np.asarray(np.divide(counts, total, out=even, where=total > MIN_WEIGHT))


def tree_problem(
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    *,
    weight: npt.ArrayLike | None = None,
    free: Iterable[int] | None = None,
    alpha: float = 0.0,
    n_jobs: int | None = None,
) -> TreeProblem:
    """Set up EM for a tree.

    Parameters
    ----------
    tree : Tree
        The shape, and the values of the tables that are not learned.
    codes : array of shape (n_rows, n_columns), or RowPatterns
        Codes with -1 for a missing cell, or the result of `group_rows`, which saves time when
        several trees are fitted to the same rows.
    weight : array of shape (n_rows,), optional
        1 by default. A `RowPatterns` already contains the weights.
    free : iterable of int, optional
        Nodes whose tables are learned; by default all.
    alpha : float
        Pseudo-count of every entry of these tables.
    n_jobs : int or None
    """
    check_number("alpha", alpha, low=0.0)
    n_nodes = len(tree.parents)
    chosen = list(range(n_nodes)) if free is None else sorted(set(free))
    if not chosen or chosen[0] < 0 or chosen[-1] >= n_nodes:
        raise ValueError(
            f"free={chosen} must contain at least one node, and only nodes from 0 to {n_nodes - 1}."
        )
    if isinstance(codes, RowPatterns):
        if weight is not None:
            raise ValueError(
                "weight must be None because the grouped rows already have weights. Pass it to "
                "group_rows instead."
            )
        rows = codes
    else:
        rows = group_rows(codes, weight)
    if rows.total_weight <= 0:
        raise ValueError("weight is 0 for all rows, but at least one row must have a weight.")
    if rows.total_weight < 1e-100:
        raise ValueError(
            f"weight sums to {rows.total_weight:g}, so little that sums are lost to rounding. "
            "Rescale the weights."
        )
    is_free = np.zeros(n_nodes, dtype=bool)
    is_free[chosen] = True
    return TreeProblem(plan_rows(tree, rows), is_free, rows.total_weight, alpha, n_jobs)


def random_starts(problem: TreeProblem, rngs: Sequence[np.random.Generator]) -> TreeParams:
    """One start per generator, with free distributions drawn uniformly and fixed ones kept."""
    tree = problem.plan.tree
    theta = np.tile(tree.theta, (len(rngs), 1))
    for start, rng in enumerate(rngs):
        draws = rng.standard_exponential(theta.shape[1])
        share = draws / problem._spread(np.add.reduceat(draws, problem._starts))
        theta[start, problem.free_entries] = share[problem.free_entries]
    return TreeParams(theta)


class TreeFit(NamedTuple):
    """A fitted tree and the record of its restarts; `log_likelihood` is without the prior."""

    tree: Tree
    log_likelihood: float
    result: EMResult[TreeParams]


def fit_tree(
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    *,
    weight: npt.ArrayLike | None = None,
    free: Iterable[int] | None = None,
    alpha: float = 0.0,
    n_init: int = 1,
    from_tables: bool = False,
    tol: float = 1e-6,
    max_iter: int = 500,
    halving: bool = True,
    accelerate: bool = False,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    on_iteration: Callable[[int, float], bool] | None = None,
) -> TreeFit:
    """Learn tables by EM from several starts; after 1, 2, 4, ... steps the worse half is dropped.

    Parameters
    ----------
    tree, codes, weight, free, alpha, n_jobs
        As in `tree_problem`.
    n_init : int
        Number of starts.
    from_tables : bool
        Whether the first start is the tree itself instead of a random one.
    tol : float
        A start has converged when a step gains no more than this in the objective per row. To
        bound the gain in the total log-likelihood, divide the bound by the weight of the rows.
    max_iter, halving, accelerate, on_iteration
        As in `_em.run_restarts`.
    rng : numpy Generator
        Each start gets its own generator, spawned from this one.

    Examples
    --------
    >>> from latentclass.latent_tree._tree import sample_nodes, observed_codes
    >>> sharp = [[0.9, 0.1], [0.1, 0.9]]
    >>> truth = Tree(
    ...     (-1, 0, 0, 0), (2, 2, 2, 2), (-1, 0, 1, 2), ([[0.3, 0.7]], sharp, sharp, sharp)
    ... )
    >>> codes = observed_codes(truth, sample_nodes(truth, 5000, np.random.default_rng(0)))
    >>> shape = Tree.even(truth.parents, truth.cardinalities, truth.columns)
    >>> fit = fit_tree(shape, codes, n_init=8, tol=1e-9, rng=np.random.default_rng(1))
    >>> sorted(fit.tree.tables[0][0].round(1).tolist())
    [0.3, 0.7]
    """
    check_number("n_init", n_init, low=1, high=MOST_STARTS, whole=True)
    problem = tree_problem(tree, codes, weight=weight, free=free, alpha=alpha, n_jobs=n_jobs)
    rngs = rng.spawn(n_init)
    params = random_starts(problem, rngs)
    if from_tables:
        params.theta[0] = tree.theta
    result = run_restarts(
        problem,
        params,
        tol=tol,
        max_iter=max_iter,
        rngs=rngs,
        halving=halving,
        accelerate=accelerate,
        on_iteration=on_iteration,
    )
    theta = result.params.theta
    _, log_likelihood = expected_counts(problem.plan, theta[:1], n_jobs)
    return TreeFit(tree.with_theta(theta[0]), float(log_likelihood[0]), result)
