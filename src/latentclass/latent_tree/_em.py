"""EM for the tables of a tree whose leaves are observed, as a problem for the restart engine.

All tables may be learned, or some of them (local EM): what the fixed tables say is then computed
once, and a step costs as much as the part of the tree between the root and the free tables. So
put the root there first (`_tree.reroot`).

With smoothing `alpha` the objective is

    sum of weight * log p(row) + alpha * (sum of log theta over the cells of the free tables)

and the M-step adds alpha to every expected count: Laplace's rule for alpha = 1, maximum
likelihood for alpha = 0. S counts starts; theta has one row of F cells each (`Tree.theta`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.engine._em import EMResult, run_restarts
from latentclass.latent_tree._inference import (
    Plan,
    RowPatterns,
    expected_counts,
    group_rows,
    plan_rows,
)
from latentclass.latent_tree._tree import Tree

NOTHING = 1e-200
"""A state of less weight than this has no rows; its distributions become even."""


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
        The tree's passes over the rows; the tables of its tree are the fixed ones.
    free : array of shape (n_nodes,)
        Whether each node's table is learned.
    total_weight : float
        Weight of all rows.
    alpha : float
        Pseudo-count of every cell.
    n_jobs : int or None
    """

    plan: Plan
    free: BoolArray
    total_weight: float
    alpha: float = 0.0
    n_jobs: int | None = None

    @cached_property
    def free_cells(self) -> BoolArray:
        """Which cells are learned, shape (F,)."""
        return np.repeat(self.free, np.diff(self.plan.tree.offsets))

    def e_step(self, params: TreeParams) -> tuple[TreeStats, FloatArray]:
        """Expected counts, and the objective per row."""
        counts, objective = expected_counts(self.plan, params.theta, self.n_jobs)
        if self.alpha > 0:
            with np.errstate(divide="ignore"):
                prior = np.log(params.theta[:, self.free_cells]).sum(axis=1)
            objective = objective + self.alpha * prior
        return TreeStats(counts), objective / self.total_weight

    def m_step(self, stats: TreeStats) -> TreeParams:
        """Smoothed shares in the free tables; the fixed ones as they are."""
        smoothed = stats.counts + self.alpha
        total = self._spread(np.add.reduceat(smoothed, self._starts, axis=1))
        even = np.tile(1.0 / self._spread(self._lengths.astype(np.float64)), (len(smoothed), 1))
        share = np.divide(smoothed, total, out=even, where=total > NOTHING)
        return TreeParams(np.where(self.free_cells, share, self.plan.tree.theta))

    def to_vector(self, params: TreeParams) -> FloatArray:
        """Logarithms of the free cells."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(params.theta[:, self.free_cells]))

    def from_vector(self, vector: FloatArray) -> TreeParams:
        """Invert `to_vector`, distributions made to sum to one."""
        theta = np.tile(self.plan.tree.theta, (len(vector), 1))
        log_theta = np.zeros_like(theta)
        log_theta[:, self.free_cells] = vector
        top = self._spread(np.maximum.reduceat(log_theta, self._starts, axis=1))
        share = np.exp(log_theta - np.where(np.isfinite(top), top, 0.0))
        share /= self._spread(np.add.reduceat(share, self._starts, axis=1))
        return TreeParams(np.where(self.free_cells, share, theta))

    @property
    def _starts(self) -> IndexArray:
        return self.plan.tree.distribution_starts

    @cached_property
    def _lengths(self) -> IndexArray:
        """Cells of each distribution."""
        return np.diff(np.append(self._starts, len(self.plan.tree.theta)))

    def _spread(self, values: FloatArray) -> FloatArray:
        """A number for each distribution to one for each of its cells."""
        return np.repeat(values, self._lengths, axis=-1)


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
        Its shape, and the values of the tables that are not learned.
    codes : array of shape (n_rows, n_columns), or RowPatterns
        Codes with -1 for a missing cell; or what `group_rows` made of them, which saves the
        grouping when several trees are fitted to the same rows.
    weight : array of shape (n_rows,), optional
        By default 1; part of the rows if `codes` is a `RowPatterns`.
    free : iterable of int, optional
        Nodes whose tables are learned; by default all.
    alpha : float
        Pseudo-count of every cell of these tables.
    n_jobs : int or None
    """
    check_number("alpha", alpha, low=0.0)
    n_nodes = len(tree.parents)
    chosen = list(range(n_nodes)) if free is None else sorted(set(free))
    if not chosen or chosen[0] < 0 or chosen[-1] >= n_nodes:
        raise ValueError(f"free={chosen} must name at least one of the nodes 0 to {n_nodes - 1}.")
    if isinstance(codes, RowPatterns):
        if weight is not None:
            raise ValueError("weight is part of the rows already; give it to group_rows.")
        rows = codes
    else:
        rows = group_rows(codes, weight)
    if rows.total_weight <= 0:
        raise ValueError("weight is 0 for all rows; at least one must count.")
    is_free = np.zeros(n_nodes, dtype=bool)
    is_free[chosen] = True
    plan = plan_rows(tree, rows, None if is_free.all() else chosen)
    return TreeProblem(plan, is_free, rows.total_weight, alpha, n_jobs)


def random_starts(problem: TreeProblem, rngs: Sequence[np.random.Generator]) -> TreeParams:
    """One start a generator: free distributions drawn evenly (Dirichlet of 1), fixed ones kept."""
    tree = problem.plan.tree
    theta = np.tile(tree.theta, (len(rngs), 1))
    for start, rng in enumerate(rngs):
        draws = rng.standard_exponential(theta.shape[1])
        share = draws / problem._spread(np.add.reduceat(draws, problem._starts))
        theta[start, problem.free_cells] = share[problem.free_cells]
    return TreeParams(theta)


class TreeFit(NamedTuple):
    """A fitted tree and the books of its restarts; `log_likelihood` is without prior."""

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
    """Learn tables by EM from several starts, the better half going on after 1, 2, 4, ... steps.

    Parameters
    ----------
    tree, codes, weight, free, alpha, n_jobs
        As in `tree_problem`.
    n_init : int
        Number of starts.
    from_tables : bool
        Whether the first start is the tree as it is, instead of a random one.
    tol : float
        A start has converged when a step gains no more than this in the objective per row; for a
        bound on the whole log-likelihood, divide it by the weight of the rows.
    max_iter, halving, accelerate, on_iteration
        As in `_em.run_restarts`.
    rng : numpy Generator
        Every start gets one of its own from it.

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
    check_number("n_init", n_init, low=1, whole=True)
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
