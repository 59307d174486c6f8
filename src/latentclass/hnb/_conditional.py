"""Supervised learning of the tables: raise P(class | columns) with the hierarchy fixed.

Section 7 of Langseth and Nielsen (2006) leaves this to future work. Where all states are known, a
hierarchy is naive Bayes of its top variables, and log P(class | columns) is a logistic regression
on indicators of their states. With b for the classes and phi for the states, the objective is

    sum of w log P(k | x) + share * sum of w log P(k, states)

    P(k, states) = exp(b_k + sum over v of phi_kv(state of v)) / Z

The first sum alone would follow the noise of small tables. The second is largest at the tables that
naive Bayes counts, so `share` says how much they are trusted. It also settles what the first does
not see: how frequent a state is in all classes together. Both are concave in b and phi. Every b and
phi is a naive Bayes model: theta and pi are exp(phi) and exp(b), normalised.

Where missing cells leave a state open, its probability is summed over the states, as in prediction.
The first sum is then not concave, but every step still raises it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._counts import indicator_rows
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.hnb._hierarchy import FilledHierarchy, send_messages

SHARES = (10.0, 1.0, 0.1, 0.01, 0.001)
"""Shares of the joint likelihood that are tried, each from where the last one ended."""

LEAST = 1e-9
"""Least probability at the start: the logarithm of 0 has no slope."""

FOLD_STEPS, MAX_STEPS = 40, 200
"""Steps of L-BFGS for one share in a fold, and for the chosen one with all rows."""


class NaiveTables(NamedTuple):
    """Naive Bayes of the top variables: log pi (K,) and log theta (K, states of all of them)."""

    log_pi: FloatArray
    log_theta: FloatArray


@dataclass(frozen=True)
class Evidence:
    """What rows show of the states of some top variables.

    Attributes
    ----------
    shown : CSR array of shape (n_rows, F + P)
        A 1 for each known state, and for each vector of `open_states` where the state is open.
    open_states : CSR array of shape (P, F)
        P(observed cells | state), up to a factor, for the states of one variable.
    offsets : array of int
        Where the states of each variable start.
    """

    shown: sp.csr_array
    open_states: sp.csr_array
    offsets: IndexArray

    @property
    def n_states(self) -> int:
        """F, the states of all variables."""
        return int(self.offsets[-1])


def show_states(model: FilledHierarchy, codes: CodeArray, tops: list[int]) -> Evidence:
    """What rows of codes show of the states of some top variables."""
    hierarchy = model.hierarchy
    known = hierarchy.encode(codes)
    offsets = np.cumsum([0, *(hierarchy.sizes[v] for v in tops)])
    entries = np.empty((len(codes), len(tops)), dtype=np.intp)
    blocks, n_open = [], 0
    for j, v in enumerate(tops):
        entries[:, j] = known[:, v] + offsets[j]
        rows = np.flatnonzero(known[:, v] < 0)
        if not rows.size:
            continue
        # a message depends only on the attributes below the variable
        leaves = list(hierarchy.leaves(v))
        distinct, which = np.unique(codes[rows][:, leaves], axis=0, return_inverse=True)
        asked = np.full((len(distinct), codes.shape[1]), -1, dtype=codes.dtype)
        asked[:, leaves] = distinct
        message = sp.csr_array(send_messages(model, asked).up[v])
        place = message.indices + offsets[j], message.indptr
        shape = (len(distinct), int(offsets[-1]))
        blocks.append(sp.csr_array((message.data, *place), shape=shape))
        entries[rows, j] = offsets[-1] + n_open + which.reshape(-1)
        n_open += len(distinct)
    empty = sp.csr_array((0, int(offsets[-1])))
    return Evidence(
        indicator_rows(entries, int(offsets[-1]) + n_open),
        sp.csr_array(sp.vstack([empty, *blocks])),
        offsets,
    )


@dataclass(frozen=True)
class ConditionalProblem:
    """The objective over labelled rows.

    Attributes
    ----------
    evidence : Evidence
    y : array of int of shape (n_rows,)
    weight : array of shape (n_rows,)
    counted : NaiveTables
        The tables at which the joint likelihood is largest.
    share : float
        Weight of the joint likelihood beside the conditional one.
    """

    evidence: Evidence
    y: IndexArray
    weight: FloatArray
    counted: NaiveTables
    share: float = 1.0

    def _entries(self, phi: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """phi, with the open states behind; exp(phi) and its sums over the open states.

        Both are divided by the largest exp(phi) of the class, which could overflow.
        """
        largest = phi.max(axis=1, keepdims=True)
        power = np.exp(phi - largest)
        sums = np.maximum((self.evidence.open_states @ power.T).T, 1e-300)
        return np.hstack([phi, np.log(sums) + largest]), power, sums

    def log_loss(self, b: FloatArray, phi: FloatArray) -> FloatArray:
        """-log P(own class | shown) of each row."""
        log_joint = np.asarray(self.evidence.shown @ self._entries(phi)[0].T + b)
        return -log_normalise(log_joint)[np.arange(len(self.y)), self.y]

    def value(self, b: FloatArray, phi: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The objective, and its slopes in b and phi."""
        shown, n_states = self.evidence.shown, self.evidence.n_states
        entries, power, sums = self._entries(phi)
        log_posterior = log_normalise(np.asarray(shown @ entries.T + b))
        place = np.arange(len(self.y)), self.y
        value = float(self.weight @ log_posterior[place])
        rest = -np.exp(log_posterior)
        rest[place] += 1.0
        rest *= self.weight[:, None]
        slope = np.asarray(shown.T @ rest).T
        inner = np.asarray(self.evidence.open_states.T @ (slope[:, n_states:] / sums).T).T
        slope = slope[:, :n_states] + power * inner
        pi, theta, log_z = normalised(b, phi, self.evidence.offsets)
        total = float(self.weight.sum())
        counted_pi = np.exp(self.counted.log_pi)
        counts = total * counted_pi[:, None] * np.exp(self.counted.log_theta)
        joint = total * (float(counted_pi @ b) - log_z) + float(np.sum(counts * phi))
        return (
            value + self.share * joint,
            rest.sum(axis=0) + self.share * total * (counted_pi - pi),
            slope + self.share * (counts - total * pi[:, None] * theta),
        )

    def climb(
        self, b: FloatArray, phi: FloatArray, max_steps: int = MAX_STEPS
    ) -> tuple[FloatArray, FloatArray]:
        """The b and phi where the objective is largest, from some b and phi."""
        scale, n = max(float(self.weight.sum()), 1e-300), len(b)

        def downhill(flat: FloatArray) -> tuple[float, FloatArray]:
            value, *slopes = self.value(flat[:n], flat[n:].reshape(phi.shape))
            return -value / scale, -np.concatenate([slope.reshape(-1) for slope in slopes]) / scale

        found = minimize(
            downhill,
            np.concatenate([b, phi.reshape(-1)]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_steps, "ftol": 1e-10, "gtol": 1e-6},
        ).x
        return found[:n], found[n:].reshape(phi.shape)


def normalised(
    b: FloatArray, phi: FloatArray, offsets: IndexArray
) -> tuple[FloatArray, FloatArray, float]:
    """pi (K,), theta (K, F), and log Z."""
    theta, log_pi = np.empty_like(phi), b.copy()
    for start, end in pairwise(offsets.tolist()):
        sums = log_sum_exp(phi[:, start:end])
        theta[:, start:end] = np.exp(phi[:, start:end] - sums[:, None])
        log_pi = log_pi + sums
    log_z = float(log_sum_exp(log_pi))
    return np.exp(log_pi - log_z), theta, log_z


def natural(tables: NaiveTables) -> tuple[FloatArray, FloatArray]:
    """b and phi of tables."""
    least = np.log(LEAST)
    return np.maximum(tables.log_pi, least), np.maximum(tables.log_theta, least)


def count_tables(
    evidence: Evidence, y: IndexArray, weight: FloatArray, n_classes: int, alpha: float
) -> NaiveTables:
    """Smoothed shares of rows: the tables of naive Bayes."""
    own = np.zeros((len(y), n_classes))
    own[np.arange(len(y)), y] = weight
    by_class = own.sum(axis=0)
    counts = np.asarray(evidence.shown[:, : evidence.n_states].T @ own).T + max(alpha, LEAST)
    for start, end in pairwise(evidence.offsets.tolist()):
        counts[:, start:end] /= counts[:, start:end].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return NaiveTables(np.log(by_class / by_class.sum()), np.log(counts))


def choose_share(
    problem: ConditionalProblem, trains: list[FloatArray], n_classes: int, alpha: float
) -> float:
    """The share of the joint likelihood by the held-out log-loss; inf for counted tables.

    It is the largest share whose log-loss is within one standard error of the least. The hierarchy
    was chosen on the same folds, so small differences there mean little.

    `trains` has the weights of the rows in each training set. What they lack is held out.
    """
    shares = [np.inf, *SHARES]
    trains = [train for train in trains if train.any()]  # the only row cannot be held out
    weight = max(sum(float((problem.weight - train).sum()) for train in trains), 1e-300)
    mean = np.zeros(len(shares))
    square = np.zeros((len(shares), len(shares)))  # of the differences between two shares
    for train in trains:
        counted = count_tables(problem.evidence, problem.y, train, n_classes, alpha)
        fold, at = replace(problem, weight=train, counted=counted), natural(counted)
        loss = np.empty((len(shares), len(problem.y)))
        for i, share in enumerate(shares):
            if np.isfinite(share):
                at = replace(fold, share=share).climb(*at, FOLD_STEPS)
            loss[i] = problem.log_loss(*at)
        held_out = (problem.weight - train) / weight
        mean += loss @ held_out
        square += (loss[:, None] - loss) ** 2 @ held_out
    above = np.round(mean - mean.min(), 10)
    error = np.sqrt(np.maximum(square[:, int(mean.argmin())] - above**2, 0.0) / weight)
    return float(shares[int(np.argmax(above <= error))])
