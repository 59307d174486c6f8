"""EM for rows without a label, for models that add up logarithms of tables.

The classifiers of discrete columns differ in which entries of which tables a row shows (its
features), and in how much each table counts. Their training criterion has one form,

    s_k(x) = log pi_k + sum over the entries f that x shows of v_f log theta_kf

where the theta of each distribution sum to 1. For a Bayesian network v = 1, and s is the log joint
probability. For models that average several tables of one attribute v is below 1, and s is their
geometric mean. A row without a label adds log sum_k exp s_k to the objective, which EM raises: the
E-step spreads the row over the classes by exp s, and the M-step takes shares of the counts. A
family with a missing value shows no entry, neither here nor in the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import block_spans
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._counts import indicator_rows
from latentclass.engine._em import EMResult, Problem, confirm_estimate, run_restarts, take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.engine._parted_problem import PartedProblem

Features = Callable[[CodeArray], IndexArray]
Count = Callable[[CodeArray, IndexArray, FloatArray], FloatArray]
Blocks = Sequence[tuple[CodeArray, FloatArray]]

BLOCK_ENTRIES = 2**20
"""Entries of tables that are computed at once."""


@dataclass(frozen=True)
class CountLayout:
    """The tables of a model as one row of F entries: R times a pattern of W entries, F = R W.

    A network has R = 1. A model of all pairs of levels has the same distributions again and again,
    one set for each level that they depend on, so its W numbers are not written down R times.

    Attributes
    ----------
    starts : array of int of shape (G,)
        First entry of each distribution of the pattern; its entries are side by side.
    mass : array of shape (W,)
        Pseudo-count of each entry.
    fallback : array of shape (W,)
        Probabilities where there is neither count nor pseudo-count.
    value : array of shape (R, G)
        v, how much the logarithms of a distribution count in the criterion.
    shared : array of shape (G,)
        Distributions that are the same in all classes.
    """

    starts: IndexArray
    mass: FloatArray
    fallback: FloatArray
    value: FloatArray
    shared: BoolArray

    def estimate(self, counts: FloatArray) -> FloatArray:
        """log theta from counts of shape (..., K, F): smoothed shares."""
        table = self._patterns(counts)
        log_theta = np.zeros_like(table)
        for rows in self._spans(table):
            part = table[..., rows, :]
            if self.shared.any():
                pooled = part.sum(axis=-3, keepdims=True)
                part = np.where(self._each(self.shared), pooled, part)
            smoothed = part + self.mass
            total = self._each(np.add.reduceat(smoothed, self.starts, axis=-1))
            np.divide(smoothed, total, out=smoothed, where=total > 0)
            with np.errstate(divide="ignore"):
                log_theta[..., rows, :] = np.log(np.where(total > 0, smoothed, self.fallback))
        return log_theta.reshape(counts.shape)

    def criterion(self, log_theta: FloatArray) -> FloatArray:
        """v log theta, with 0 where v is 0."""
        if (self.value == 1.0).all():
            return log_theta
        table = self._patterns(log_theta)
        out = np.zeros_like(table)
        for rows in self._spans(table):
            value = self._each(self.value[rows])
            np.multiply(value, table[..., rows, :], out=out[..., rows, :], where=value > 0)
        return out.reshape(log_theta.shape)

    def explained(self, counts: FloatArray, log_theta: FloatArray) -> FloatArray:
        """Sum of counts (K, F) times v log theta over all classes and entries, for each start."""
        return self._explained(self._patterns(counts), self._patterns(log_theta))

    def _explained(self, own: FloatArray, table: FloatArray) -> FloatArray:
        total = np.zeros(len(table))
        for rows in self._spans(table):
            weight = own[:, rows] * self._each(self.value[rows])
            with np.errstate(invalid="ignore"):
                terms = np.where(weight > 0, weight * table[..., rows, :], 0.0)
            total += terms.sum(axis=(1, 2, 3))
        return total

    def log_prior(self, log_theta: FloatArray) -> FloatArray:
        """What smoothing adds to the objective, one number per start."""
        table = self._patterns(log_theta)
        mass = self.mass * np.where(self._each(self.shared), 1.0 / table.shape[1], 1.0)
        return self._explained(np.broadcast_to(mass, table.shape[1:]), table)

    def normalise(self, log_theta: FloatArray) -> FloatArray:
        """Scale each distribution to sum to 1; shared ones are averaged over the classes first."""
        table = self._patterns(log_theta)
        mean = table.mean(axis=-3, keepdims=True)
        table = np.where(self._each(self.shared), mean, table)
        top = self._each(np.maximum.reduceat(table, self.starts, axis=-1))
        total = np.add.reduceat(np.exp(table - top), self.starts, axis=-1)
        log_share = table - top - np.log(self._each(total))
        return np.asarray(log_share.reshape(log_theta.shape))

    def _patterns(self, entries: FloatArray) -> FloatArray:
        """Entries (..., F) as (..., R, W)."""
        return entries.reshape(*entries.shape[:-1], len(self.value), len(self.mass))

    def _spans(self, table: FloatArray) -> list[slice]:
        """Ranges of repeats that are computed at once; none if there are no entries."""
        if not table.size:
            return []
        size = max(1, BLOCK_ENTRIES * len(self.value) // table.size)
        return [slice(start, start + size) for start in range(0, len(self.value), size)]

    def _each(self, by_distribution: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One number per distribution, repeated for its entries."""
        lengths = np.diff(np.append(self.starts, len(self.mass)))
        return np.repeat(by_distribution, lengths, axis=-1)


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
        The rows without a label.
    known_weight : array of shape (K,)
        Weight of the labelled rows of each class.
    known : array of shape (K, F)
        Their counts.
    n_jobs : int or None
    """

    layout: CountLayout
    features: Features
    blocks: Blocks
    known_weight: FloatArray
    known: FloatArray
    n_jobs: int | None = None

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(self.known_weight.sum() + sum(weight.sum() for _, weight in self.blocks))

    def e_step(self, params: CountParams) -> tuple[CountStats, FloatArray]:
        """Expected counts, and the penalised criterion per row."""
        stats, total = self.expect(params)
        return stats, (total + self.log_prior(params)) / self.total_weight

    def expect(self, params: CountParams) -> tuple[CountStats, FloatArray]:
        """Expected counts, and the criterion of all rows."""
        with np.errstate(invalid="ignore"):
            classes = np.where(self.known_weight > 0, self.known_weight * params.log_pi, 0.0)
        total = self.layout.explained(self.known, params.log_theta) + classes.sum(axis=1)
        n_starts = len(params.log_pi)
        stats = CountStats(
            np.broadcast_to(self.known_weight, params.log_pi.shape),
            np.broadcast_to(self.known, (n_starts, *self.known.shape)),
        )
        if not self.blocks:
            return stats, total
        hidden, gain = expect_blocks(self.features, self.scored(params), self.blocks, self.n_jobs)
        return self.add(stats, hidden), total + gain

    def scored(self, params: CountParams) -> CountParams:
        """The parameters as the criterion adds them up."""
        return CountParams(params.log_pi, self.layout.criterion(params.log_theta))

    def add(self, first: CountStats, second: CountStats) -> CountStats:
        """Counts of two disjoint sets of rows together."""
        return CountStats(first.class_weight + second.class_weight, first.counts + second.counts)

    def log_prior(self, params: CountParams) -> FloatArray:
        """What smoothing adds to the criterion, one number per start."""
        return self.layout.log_prior(params.log_theta)

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


def expect_blocks(
    features: Features,
    scored: CountParams,
    blocks: Blocks,
    n_jobs: int | None = None,
) -> tuple[CountStats, FloatArray]:
    """Expected counts and criterion of rows without a label; `scored` as in `CountProblem`."""
    n_starts, n_classes, n_entries = scored.log_theta.shape
    table = scored.log_theta.reshape(n_starts * n_classes, n_entries).T

    def visit(block: tuple[CodeArray, FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
        codes, weight = block
        shown = indicator_rows(features(codes), n_entries)
        score = (shown @ table).reshape(-1, n_starts, n_classes) + scored.log_pi
        share = np.exp(log_normalise(score)) * weight[:, None, None]
        counts = shown.T @ share.reshape(len(codes), -1)
        return weight @ log_sum_exp(score), share.sum(axis=0), counts.T

    total = np.zeros(n_starts)
    class_weight, counts = np.zeros((n_starts, n_classes)), np.zeros(scored.log_theta.shape)
    for gain, weight, part in map_blocks(visit, blocks, n_jobs):
        total += gain
        class_weight += weight
        counts += part.reshape(counts.shape)
    return CountStats(class_weight, counts), total


class CountFit(NamedTuple):
    """Parameters (without the axis of starts), the EM run, and its problem."""

    params: CountParams
    result: EMResult[CountParams]
    problem: Problem[CountParams, CountStats]

    def stats(self) -> CountStats:
        """The counts that go with the parameters: one more E-step if classes are hidden."""
        if isinstance(self.problem, CountProblem) and not self.problem.blocks:
            return CountStats(self.problem.known_weight, self.problem.known)
        return take_starts(self.problem.e_step(self.result.params)[0], 0)


def fit_counts(
    rows: TrainingRows,
    layout: CountLayout,
    features: Features,
    count: Count,
    known: FloatArray | None = None,
    *,
    n_init: int,
    drop_starts: bool,
    max_iter: int,
    tol: float,
    seed: int,
    n_jobs: int | None,
    on_iteration: Callable[[int, float], bool] | None,
) -> CountFit:
    """Learn from all rows, those without a label spread over the classes by EM.

    `features` as in `CountProblem`; `count` gives the counts of labelled rows, shape (K, F), from
    their codes, classes and weights, and `known` those of all, if they are known already. The
    first start is made of the labelled rows alone, every
    other of a random re-weighting of those in memory.
    """
    if known is None:
        known = rows.sum(partial(count_labelled, count))
    labelled = CountProblem(layout, features, [], rows.class_weight, known, n_jobs)
    start = CountStats(labelled.known_weight[None], known[None])
    if not rows.hidden_weight:
        result = confirm_estimate(labelled, labelled.m_step(start))
        return CountFit(take_starts(result.params, 0), result, labelled)
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_init)]
    starts = [start]
    for rng in rngs[1:]:
        # random weights: a Bayesian bootstrap of the labelled rows
        codes, y, weight, *_ = rows.sample
        drawn = weight * rng.standard_exponential(len(weight))
        by_class = np.zeros(rows.n_classes) + np.bincount(y, drawn, rows.n_classes)
        starts.append(CountStats(by_class[None], count(codes, y, drawn)[None]))
    problem = _whole_problem(rows, labelled)
    result = run_restarts(
        problem,
        labelled.m_step(CountStats(*map(np.concatenate, zip(*starts, strict=True)))),
        tol=tol,
        max_iter=max_iter,
        rngs=rngs,
        halving=drop_starts,
        on_iteration=on_iteration,
    )
    return CountFit(take_starts(result.params, 0), result, problem)


def _whole_problem(rows: TrainingRows, known: CountProblem) -> Problem[CountParams, CountStats]:
    """The problem of the labelled rows and the others, in memory or in parts."""
    if not rows.parted:
        return replace(known, blocks=_blocks(rows.sample))

    def expect_parts(params: CountParams) -> Iterator[tuple[CountStats, FloatArray]]:
        return rows.map(partial(_expect_part, known.features, known.scored(params)))

    return PartedProblem(known, expect_parts, known.total_weight + rows.hidden_weight)


def _expect_part(
    features: Features, scored: CountParams, rows: CodedRows
) -> tuple[CountStats, FloatArray]:
    return expect_blocks(features, scored, _blocks(rows))


def _blocks(rows: CodedRows) -> Blocks:
    spans = block_spans(len(rows.unlabelled), max(1, rows.codes.shape[1]))
    return [(rows.unlabelled[s], rows.unlabelled_weight[s]) for s in spans]


def count_labelled(count: Count, rows: CodedRows) -> FloatArray:
    """The counts of the labelled rows."""
    return count(rows.codes, rows.y, rows.weight)
