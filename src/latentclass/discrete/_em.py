"""EM for rows without label, for models that add up logarithms of tables.

The classifiers of discrete columns differ in which entries of which tables a row shows (its
features), and in how much each table counts. Their training criterion has one form,

    s_k(x) = log pi_k + sum over the entries f that x shows of v_f log theta_kf

where the theta of each distribution sum to 1. For a Bayesian network v = 1, and s is the log joint
probability. For models that average several tables of one attribute v is below 1, and s is their
geometric mean. A row without label adds log sum_k exp s_k to the objective, which EM raises: the
E-step spreads the row over the classes by exp s, and the M-step takes shares of the counts. A
family with a missing value shows no entry, neither here nor in the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import block_spans
from latentclass.discrete._coding import CodedRows
from latentclass.engine._counts import indicator_rows
from latentclass.engine._em import EMResult, run_restarts, take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks


@dataclass(frozen=True)
class CountLayout:
    """The tables of a model as one row of F entries.

    Attributes
    ----------
    starts : array of int
        First entry of each distribution; its entries are side by side.
    mass : array of shape (F,)
        Pseudo-count of each entry.
    fallback : array of shape (F,)
        Probabilities where there is neither count nor pseudo-count.
    value : array of shape (F,)
        v, how much the logarithm of an entry counts in the criterion.
    shared : array of shape (F,)
        Entries whose distribution is the same in all classes.
    """

    starts: IndexArray
    mass: FloatArray
    fallback: FloatArray
    value: FloatArray
    shared: BoolArray

    def estimate(self, counts: FloatArray) -> FloatArray:
        """log theta from counts of shape (..., K, F): smoothed shares."""
        if counts.shape[-1] == 0:
            return np.zeros_like(counts)
        if self.shared.any():
            pooled = counts.sum(axis=-2, keepdims=True)
            counts = np.where(self.shared, pooled, counts)
        smoothed = counts + self.mass
        total = self._spread(np.add.reduceat(smoothed, self.starts, axis=-1))
        share = np.divide(smoothed, total, out=np.zeros_like(total), where=total > 0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.where(total > 0, share, self.fallback)))

    def criterion(self, log_theta: FloatArray) -> FloatArray:
        """v log theta, with 0 where v is 0."""
        with np.errstate(invalid="ignore"):
            return np.where(self.value > 0, self.value * log_theta, 0.0)

    def log_prior(self, log_theta: FloatArray) -> FloatArray:
        """What smoothing adds to the objective, one number per start."""
        once = np.where(self.shared, 1.0 / log_theta.shape[-2], 1.0)
        weight = once * self.mass
        with np.errstate(invalid="ignore"):
            parts = np.where(weight > 0, weight * self.criterion(log_theta), 0.0)
        return np.asarray(parts.sum(axis=(-2, -1)))

    def normalise(self, log_theta: FloatArray) -> FloatArray:
        """Scale each distribution to sum to 1; shared ones are averaged over the classes first."""
        mean = log_theta.mean(axis=-2, keepdims=True)
        log_theta = np.where(self.shared, mean, log_theta)
        top = self._spread(np.maximum.reduceat(log_theta, self.starts, axis=-1))
        total = np.add.reduceat(np.exp(log_theta - top), self.starts, axis=-1)
        return log_theta - top - np.log(self._spread(total))

    def _spread(self, values: FloatArray) -> FloatArray:
        lengths = np.diff(np.append(self.starts, len(self.mass)))
        return np.repeat(values, lengths, axis=-1)


class CountParams(NamedTuple):
    """Parameters of S starts: log pi (S, K), log theta (S, K, F)."""

    log_pi: FloatArray
    log_theta: FloatArray


class CountStats(NamedTuple):
    """Statistics of S starts: weight of each class (S, K), counts (S, K, F)."""

    class_weight: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class CountProblem:
    """EM for rows of unknown class (see `_em.Problem`).

    Attributes
    ----------
    layout : CountLayout
    features : callable
        From the codes of rows to the entries they show, shape (n_rows, m), -1 for none.
    blocks : list of (codes, weights)
        The rows without label.
    known_weight : array of shape (K,)
        Weight of the labelled rows of each class.
    known : array of shape (K, F)
        Their counts.
    n_jobs : int or None
    """

    layout: CountLayout
    features: Callable[[CodeArray], IndexArray]
    blocks: Sequence[tuple[CodeArray, FloatArray]]
    known_weight: FloatArray
    known: FloatArray
    n_jobs: int | None = None

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.known_weight.sum() + sum(weight.sum() for _, weight in self.blocks))

    def e_step(self, params: CountParams) -> tuple[CountStats, FloatArray]:
        """Expected counts, and the penalised criterion per row."""
        n_starts, n_classes = params.log_pi.shape
        n_entries = self.known.shape[1]
        table = self.layout.criterion(params.log_theta).reshape(n_starts * n_classes, n_entries)

        def visit(block: tuple[CodeArray, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
            codes, weight = block
            shown = indicator_rows(self.features(codes), n_entries)
            score = (shown @ table.T).reshape(-1, n_starts, n_classes) + params.log_pi
            share = np.exp(log_normalise(score)) * weight[:, None, None]
            counts = shown.T @ share.reshape(len(codes), -1)
            return weight @ log_sum_exp(score), share.sum(axis=0), counts.T

        class_weight = np.tile(self.known_weight, (n_starts, 1))
        counts = np.tile(self.known, (n_starts, 1, 1))
        with np.errstate(invalid="ignore"):
            labelled = np.where(
                self.known > 0, self.known * self.layout.criterion(params.log_theta), 0.0
            )
            classes = np.where(self.known_weight > 0, self.known_weight * params.log_pi, 0.0)
        objective = labelled.sum(axis=(1, 2)) + classes.sum(axis=1)
        for gain, weight, part in map_blocks(visit, self.blocks, self.n_jobs):
            objective = objective + gain
            class_weight += weight
            counts += part.reshape(counts.shape)
        objective = objective + self.layout.log_prior(params.log_theta)
        return CountStats(class_weight, counts), objective / self.total_weight

    def m_step(self, stats: CountStats) -> CountParams:
        """Shares: of the classes plain, of the entries smoothed.

        Shares of what was counted, not of all rows: a start counts the labelled rows alone.
        """
        with np.errstate(divide="ignore"):
            log_pi = np.log(stats.class_weight / stats.class_weight.sum(axis=-1, keepdims=True))
        return CountParams(log_pi, self.layout.estimate(stats.counts))

    def to_vector(self, params: CountParams) -> FloatArray:
        """All logarithms side by side."""
        n_starts = len(params.log_pi)
        return np.concatenate([a.reshape(n_starts, -1) for a in params], axis=1)

    def from_vector(self, vector: FloatArray) -> CountParams:
        """Invert `to_vector`, with probabilities scaled to sum to 1."""
        n_classes, n_entries = self.known.shape
        log_theta = vector[:, n_classes:].reshape(len(vector), n_classes, n_entries)
        return CountParams(log_normalise(vector[:, :n_classes]), self.layout.normalise(log_theta))


class CountFit(NamedTuple):
    """Parameters (without the axis of starts), the counts that go with them, and the EM run."""

    params: CountParams
    stats: CountStats
    result: EMResult[CountParams]


def fit_counts(
    rows: CodedRows,
    layout: CountLayout,
    features: Callable[[CodeArray], IndexArray],
    count: Callable[[CodeArray, IndexArray, FloatArray], FloatArray],
    *,
    n_init: int,
    drop_starts: bool,
    max_iter: int,
    tol: float,
    seed: int,
    n_jobs: int | None,
    on_iteration: Callable[[int, float], bool] | None,
) -> CountFit:
    """Learn from all rows, those without label spread over the classes by EM.

    `features` as in `CountProblem`; `count` gives the counts of labelled rows, shape (K, F), from
    their codes, classes and weights. The first start is made of the labelled rows alone, every
    other of a random re-weighting of them.
    """
    n_classes = rows.n_classes
    spans = block_spans(len(rows.unlabelled), max(1, rows.codes.shape[1]))
    blocks = [(rows.unlabelled[s], rows.unlabelled_weight[s]) for s in spans]
    known = count(rows.codes, rows.y, rows.weight)
    known_weight = np.zeros(n_classes) + np.bincount(rows.y, rows.weight, n_classes)
    problem = CountProblem(layout, features, blocks, known_weight, known, n_jobs)
    # without unlabelled rows the first start is the answer, and the next step confirms it
    n_starts = n_init if blocks else 1
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_starts)]
    weights, counts = [known_weight], [known]
    for rng in rngs[1:]:
        # random weights: a Bayesian bootstrap of the labelled rows
        drawn = rows.weight * rng.standard_exponential(len(rows.weight))
        weights.append(np.zeros(n_classes) + np.bincount(rows.y, drawn, n_classes))
        counts.append(count(rows.codes, rows.y, drawn))
    result: EMResult[CountParams] = run_restarts(
        problem,
        problem.m_step(CountStats(np.stack(weights), np.stack(counts))),
        tol=tol,
        max_iter=max_iter if blocks else 2,
        rngs=rngs,
        halving=drop_starts,
        on_iteration=on_iteration,
    )
    stats = CountStats(known_weight[None], known[None])
    if blocks:
        stats, _ = problem.e_step(result.params)
    return CountFit(take_starts(result.params, 0), take_starts(stats, 0), result)
