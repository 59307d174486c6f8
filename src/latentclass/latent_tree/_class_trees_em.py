"""EM for the tables of one tree per class, with labelled and unlabelled rows.

A labelled row counts for the tree of its class. An unlabelled row counts for the trees of all
classes in proportion to P(class | row). With the class probabilities pi_c = P(C = c) and
p_c(row) = P(X | M_c) of equation (1) of Wang, Zhang, Chen and Poon (2011), the objective is

    sum over labelled rows of weight * log(pi_c p_c(row))
    + sum over unlabelled rows of weight * log(sum_c pi_c p_c(row))
    + alpha * (sum of log theta over all entries of the tables of all trees)

The M-step adds `alpha` to every expected count. `theta` holds the entries of all trees, one class
after the other (`Tree.theta`). In shapes, S is the number of starts, K that of classes and F that
of entries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.latent_tree._em import count_shares
from latentclass.latent_tree._inference import (
    Plan,
    RowPatterns,
    expected_counts,
    plan_rows,
    row_log_likelihood,
)
from latentclass.latent_tree._tree import Tree


class ClassTreesParams(NamedTuple):
    """Parameters of S starts: log pi_c (S, K) and theta (S, F)."""

    log_pi: FloatArray
    theta: FloatArray


class ClassTreesStats(NamedTuple):
    """Statistics of S starts: weight of each class (S, K) and expected counts (S, F)."""

    class_weight: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class ClassTreesProblem:
    """EM for all trees together (see `_em.Problem`).

    Attributes
    ----------
    trees : tuple of Tree
        One per class.
    labelled : tuple of RowPatterns or None
        The rows of each class; None for a class without rows.
    unlabelled : RowPatterns or None
    alpha : float
    n_jobs : int or None
    """

    trees: tuple[Tree, ...]
    labelled: tuple[RowPatterns | None, ...]
    unlabelled: RowPatterns | None
    alpha: float
    n_jobs: int | None = None

    @cached_property
    def known_weight(self) -> FloatArray:
        """Weight of the labelled rows of each class."""
        return np.array([0.0 if rows is None else rows.total_weight for rows in self.labelled])

    @cached_property
    def total_weight(self) -> float:
        """Weight of all rows."""
        more = 0.0 if self.unlabelled is None else self.unlabelled.total_weight
        return float(self.known_weight.sum()) + more

    @cached_property
    def spans(self) -> list[slice]:
        """Where the entries of each tree are in theta."""
        ends = np.cumsum([len(tree.theta) for tree in self.trees]).tolist()
        return [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]

    @cached_property
    def _plans(self) -> list[Plan | None]:
        return [
            None if rows is None else plan_rows(tree, rows)
            for tree, rows in zip(self.trees, self.labelled, strict=True)
        ]

    def start(self) -> ClassTreesParams:
        """The given trees, and the share of each class among the labelled rows."""
        theta = np.concatenate([tree.theta for tree in self.trees])
        with np.errstate(divide="ignore"):
            log_pi = np.log(self.known_weight / self.known_weight.sum())
        return ClassTreesParams(log_pi[None], theta[None])

    def fitted(self, theta: FloatArray) -> tuple[Tree, ...]:
        """The trees with other tables, given as an array of shape (F,)."""
        return tuple(
            tree.with_theta(theta[span]) for tree, span in zip(self.trees, self.spans, strict=True)
        )

    def e_step(self, params: ClassTreesParams) -> tuple[ClassTreesStats, FloatArray]:
        """Class weights and expected counts, and the objective per row."""
        stats, log_likelihood = self.expect(params)
        return stats, (log_likelihood + self.log_prior(params)) / self.total_weight

    def log_prior(self, params: ClassTreesParams) -> FloatArray:
        """See `AdditiveProblem`."""
        if not self.alpha > 0:
            return np.zeros(len(params.theta))
        with np.errstate(divide="ignore"):
            return np.asarray(self.alpha * np.log(params.theta).sum(axis=1))

    def add(self, first: ClassTreesStats, second: ClassTreesStats) -> ClassTreesStats:
        """See `AdditiveProblem`."""
        return ClassTreesStats(*map(np.add, first, second))

    def expect(self, params: ClassTreesParams) -> tuple[ClassTreesStats, FloatArray]:
        """See `AdditiveProblem`."""
        counts = np.zeros(params.theta.shape)
        weight = np.tile(self.known_weight, (len(counts), 1))
        known = np.where(self.known_weight > 0, params.log_pi, 0.0)
        objective = known @ self.known_weight
        for plan, span in zip(self._plans, self.spans, strict=True):
            if plan is not None:
                more, gain = expected_counts(plan, params.theta[:, span], self.n_jobs)
                counts[:, span] += more
                objective += gain
        if self.unlabelled is not None:
            for start, theta in enumerate(params.theta):
                objective[start] += self._share_out(
                    self.unlabelled, params.log_pi[start], theta, weight[start], counts[start]
                )
        return ClassTreesStats(weight, counts), objective

    def _share_out(
        self,
        rows: RowPatterns,
        log_pi: FloatArray,
        theta: FloatArray,
        weight: FloatArray,
        counts: FloatArray,
    ) -> float:
        """Add the unlabelled rows to `weight` and `counts`, and return their log-likelihood.

        The share of class c in a row is pi_c p_c(row) / sum_c pi_c p_c(row).
        """
        trees = self.fitted(theta)
        given = np.concatenate([block.weight for block in rows.blocks])
        # each distinct row once, instead of every row of the table
        distinct = replace(rows, index=np.arange(len(given)))
        log_joint = log_pi + np.stack(
            [row_log_likelihood(tree, distinct, self.n_jobs) for tree in trees], axis=1
        )
        share = np.exp(log_normalise(log_joint)) * given[:, None]
        weight += share.sum(axis=0)
        ends = np.cumsum([len(block.weight) for block in rows.blocks])[:-1]
        for tree, span, own in zip(trees, self.spans, share.T, strict=True):
            if not own.sum() > 0:
                continue
            blocks = tuple(
                block._replace(weight=np.ascontiguousarray(part))
                for block, part in zip(rows.blocks, np.split(own, ends), strict=True)
            )
            plan = plan_rows(tree, replace(rows, blocks=blocks))
            more, _ = expected_counts(plan, theta[None, span], self.n_jobs)
            counts[span] += more[0]
        return float(given @ log_sum_exp(log_joint))

    def m_step(self, stats: ClassTreesStats) -> ClassTreesParams:
        """Shares of the class weights, and shares of the counts smoothed by `alpha`."""
        with np.errstate(divide="ignore"):
            log_pi = np.log(stats.class_weight / stats.class_weight.sum(axis=1, keepdims=True))
        theta = np.empty_like(stats.counts)
        for k, (tree, span) in enumerate(zip(self.trees, self.spans, strict=True)):
            theta[:, span] = tree.theta  # of a class without rows
            if stats.class_weight[:, k].any():
                theta[:, span] = count_shares(tree, stats.counts[:, span] + self.alpha)
        return ClassTreesParams(log_pi, theta)

    def to_vector(self, params: ClassTreesParams) -> FloatArray:
        """Logarithms of the class probabilities and of all entries."""
        with np.errstate(divide="ignore"):
            return np.concatenate([params.log_pi, np.log(params.theta)], axis=1)

    def from_vector(self, vector: FloatArray) -> ClassTreesParams:
        """Invert `to_vector`, and make all distributions sum to 1."""
        n_classes = len(self.trees)
        theta = np.exp(vector[:, n_classes:])
        for tree, span in zip(self.trees, self.spans, strict=True):
            starts = tree.distribution_starts
            total = np.add.reduceat(theta[:, span], starts, axis=1)
            lengths = np.diff(np.append(starts, span.stop - span.start))
            theta[:, span] /= np.repeat(total, lengths, axis=1)
        return ClassTreesParams(log_normalise(vector[:, :n_classes]), theta)
