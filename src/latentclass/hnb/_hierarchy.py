"""Hierarchical naive Bayes: pairs of variables joined under latent ones with readable states.

A latent variable has two children, attributes or other latent variables, and its state is a
function of theirs (section 3 of Langseth and Nielsen 2006). So the class is judged by naive Bayes
of the variables on top,

    p(x | k) = prod over top variables v of theta_k[v, state of v]
               * prod over latent variables of P(levels of its two children | its state)

The second product does not depend on the class. It makes p(x | k) a probability, so that missing
attributes can be summed out. Variables 0 to n - 1 are the attributes, n + t is latent variable t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._network import draw_levels
from latentclass.engine._counts import level_offsets

BLOCK_ENTRIES = 2**21
"""Entries of the tables of one block of rows while summing out."""


@dataclass(frozen=True)
class Latent:
    """A latent variable.

    Attributes
    ----------
    children : tuple of two int
        Variables below it.
    states : array of int of shape (levels of the first child, levels of the second)
        Its state for each pair of their levels, from 0 without gaps.
    """

    children: tuple[int, int]
    states: CodeArray

    @cached_property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.states.max()) + 1

    @cached_property
    def by_state(self) -> tuple[IndexArray, IndexArray]:
        """Pairs of levels in the order of their states, and where each state starts."""
        state = self.states.reshape(-1)
        order = np.argsort(state, kind="stable")
        return order, np.searchsorted(state[order], np.arange(self.n_states))

    @cached_property
    def with_holes(self) -> CodeArray:
        """States with one more row and column for a missing child; -1 where the state is then open.

        As code -1 is the last row or column, a lookup needs no special case for a missing child.
        """
        first, second = self.states.shape
        table = np.full((first + 1, second + 1), -1, dtype=np.int32)
        table[:-1, :-1] = self.states
        table[-1, :-1] = np.where(np.ptp(self.states, axis=0) == 0, self.states[0], -1)
        table[:-1, -1] = np.where(np.ptp(self.states, axis=1) == 0, self.states[:, 0], -1)
        table[-1, -1] = 0 if self.n_states == 1 else -1
        return table


@dataclass(frozen=True)
class Hierarchy:
    """Which variables are joined, in what states.

    Attributes
    ----------
    n_levels : tuple of int
        Levels of each attribute.
    latents : tuple of Latent
        Children come before their parent.
    """

    n_levels: tuple[int, ...]
    latents: tuple[Latent, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Levels or states of every variable."""
        return (*self.n_levels, *(latent.n_states for latent in self.latents))

    @cached_property
    def tops(self) -> tuple[int, ...]:
        """Variables directly below the class."""
        joined = {child for latent in self.latents for child in latent.children}
        return tuple(v for v in range(len(self.sizes)) if v not in joined)

    @cached_property
    def offsets(self) -> IndexArray:
        """Where the states of each top variable start in a row of all of them."""
        return level_offsets([self.sizes[v] for v in self.tops])

    def latent(self, variable: int) -> Latent | None:
        """The latent variable of this number; None for an attribute."""
        return (
            None if variable < len(self.n_levels) else self.latents[variable - len(self.n_levels)]
        )

    def leaves(self, variable: int) -> tuple[int, ...]:
        """Attributes below a variable (itself, if it is one)."""
        latent = self.latent(variable)
        if latent is None:
            return (variable,)
        first, second = latent.children
        return tuple(sorted((*self.leaves(first), *self.leaves(second))))

    def join(self, first: int, second: int, states: CodeArray) -> Hierarchy:
        """The hierarchy with one more latent variable on top of two variables."""
        return Hierarchy(self.n_levels, (*self.latents, Latent((first, second), states)))

    def revise(self, variable: int, states: CodeArray) -> Hierarchy:
        """The hierarchy with other states of a latent variable on top, one per combination."""
        t = variable - len(self.n_levels)
        latent = Latent(self.latents[t].children, states.reshape(self.latents[t].states.shape))
        return Hierarchy(self.n_levels, (*self.latents[:t], latent, *self.latents[t + 1 :]))

    def encode(self, codes: CodeArray) -> CodeArray:
        """States of all variables, shape (n_rows, n + number of latent ones), -1 where open."""
        n = len(self.n_levels)
        out = np.empty((len(codes), len(self.sizes)), dtype=np.int32, order="F")
        out[:, :n] = codes
        for t, latent in enumerate(self.latents):
            first, second = latent.children
            out[:, n + t] = latent.with_holes[out[:, first], out[:, second]]
        return out

    def top_entries(self, codes: CodeArray) -> IndexArray:
        """Where each row's states stand among the states of all top variables, -1 where open."""
        every = self.encode(codes)[:, self.tops]
        return np.where(every >= 0, every + self.offsets[:-1], -1)


class Tables(NamedTuple):
    """Parameters of a hierarchy.

    Attributes
    ----------
    log_theta : array of shape (K, states of all top variables)
    log_within : tuple of arrays, one for each latent variable, shape as its `states`
        log P(levels of the two children | own state).
    """

    log_theta: FloatArray
    log_within: tuple[FloatArray, ...]


def tally(place: npt.NDArray[np.integer], weight: FloatArray, size: int) -> FloatArray:
    """Weight of the rows at each place; rows at -1 are not counted."""
    seen = place >= 0
    return np.bincount(place[seen], weight[seen], size).astype(np.float64)


def count_within(
    hierarchy: Hierarchy, states: CodeArray, weight: FloatArray
) -> tuple[FloatArray, ...]:
    """Weight of each pair of levels of each latent variable's children; `states` as encoded."""
    out = []
    for latent in hierarchy.latents:
        first, second = (states[:, child] for child in latent.children)
        pair = first.astype(np.intp) * latent.states.shape[1] + second
        pair[(first < 0) | (second < 0)] = -1
        out.append(tally(pair, weight, latent.states.size).reshape(latent.states.shape))
    return tuple(out)


def estimate_within(
    hierarchy: Hierarchy, pairs: tuple[FloatArray, ...], alpha: float
) -> tuple[FloatArray, ...]:
    """log P(levels of the children | state) of every latent variable, from smoothed pair counts."""
    out = []
    for latent, counts in zip(hierarchy.latents, pairs, strict=True):
        smoothed = counts + alpha
        total = np.bincount(latent.states.reshape(-1), smoothed.reshape(-1), latent.n_states)
        out.append(np.log(smoothed / total[latent.states]))
    return tuple(out)


@dataclass(frozen=True)
class FilledHierarchy:
    """A hierarchy with its parameters."""

    hierarchy: Hierarchy
    tables: Tables

    @cached_property
    def top_tables(self) -> list[tuple[int, FloatArray]]:
        """Each top variable's number, and log P(its level, or its children's levels | class).

        The table of a latent variable has one row per combination of its children's levels. Tables
        have shape (levels or combinations, K).
        """
        out = []
        for v, first, end in zip(
            self.hierarchy.tops,
            self.hierarchy.offsets[:-1],
            self.hierarchy.offsets[1:],
            strict=True,
        ):
            table = self.tables.log_theta[:, first:end].T
            latent = self.hierarchy.latent(v)
            if latent is not None:
                within = self.tables.log_within[v - len(self.hierarchy.n_levels)]
                table = table[latent.states.reshape(-1)] + within.reshape(-1, 1)
            out.append((v, np.ascontiguousarray(table)))
        return out

    @cached_property
    def thetas(self) -> list[FloatArray]:
        """theta of each top variable, shape (states, K)."""
        ends = self.hierarchy.offsets
        theta = np.exp(self.tables.log_theta.T)
        return [theta[a:b] for a, b in pairwise(ends)]


def log_likelihood(model: FilledHierarchy, codes: CodeArray) -> FloatArray:
    """log p(observed attributes | class), shape (n_rows, K)."""
    holes = (codes < 0).any(axis=1)
    if not holes.any():
        return _complete(model, codes)
    out = np.empty((len(codes), len(model.tables.log_theta)))
    out[~holes] = _complete(model, codes[~holes])
    rows = np.flatnonzero(holes)
    for part in _blocks(model.hierarchy, rows):
        out[part] = _join_messages(model, send_messages(model, codes[part]))
    return out


def best_log_likelihood(
    model: FilledHierarchy, codes: CodeArray, bonus: list[FloatArray]
) -> FloatArray:
    """As `log_likelihood`, with the most probable missing attributes instead of their sum.

    `bonus` is a log density to add for each level of each attribute.
    """
    out = np.empty((len(codes), len(model.tables.log_theta)))
    for part in _blocks(model.hierarchy, np.arange(len(codes))):
        messages = send_messages(model, codes[part], bonus)
        out[part] = _join_messages(model, messages, maximise=True)
    return out


def _complete(model: FilledHierarchy, codes: CodeArray) -> FloatArray:
    hierarchy, n_rows = model.hierarchy, len(codes)
    n = len(hierarchy.n_levels)
    columns: list[npt.NDArray[np.integer]] = [codes[:, j] for j in range(n)]
    nested = np.zeros(n_rows) if hierarchy.latents else None
    on_top = set(hierarchy.tops)
    for t, latent in enumerate(hierarchy.latents):
        first, second = latent.children
        pair = columns[first] * np.intp(latent.states.shape[1]) + columns[second]
        if n + t in on_top:
            columns.append(pair)
        else:
            columns.append(latent.states.reshape(-1).take(pair))
            assert nested is not None
            nested += model.tables.log_within[t].reshape(-1).take(pair)
    total = np.zeros((n_rows, len(model.tables.log_theta)))
    for v, table in model.top_tables:
        total += table.take(columns[v], axis=0)
    if nested is not None:
        total += nested[:, None]
    return total


def _blocks(hierarchy: Hierarchy, rows: IndexArray) -> Iterator[IndexArray]:
    largest = max((latent.states.size for latent in hierarchy.latents), default=1)
    size = max(1, BLOCK_ENTRIES // max(largest, sum(hierarchy.sizes)))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


class Messages(NamedTuple):
    """P(observed attributes below | state) of every variable, up to the row's scale.

    `up` has an array of shape (n_rows, states) for each variable, scaled so that the largest value
    of each row is 1. `log_scale` (n_rows,) is the sum of the logs of these scales.
    """

    up: list[FloatArray]
    log_scale: FloatArray


def send_messages(
    model: FilledHierarchy, codes: CodeArray, bonus: list[FloatArray] | None = None
) -> Messages:
    """Messages from the attributes upwards.

    With `bonus` they are those of the most probable missing attributes instead of the sum; it is a
    log density to add for each level of each attribute.
    """
    hierarchy = model.hierarchy
    up: list[FloatArray] = []
    log_scale = np.zeros(len(codes))
    every = np.arange(len(codes))
    for j, r in enumerate(hierarchy.n_levels):
        known = np.zeros((len(codes), r))
        known[codes[:, j] < 0] = 1.0
        known[every, codes[:, j]] = 1.0  # a missing one has a 1 there anyway
        if bonus is not None:
            top = float(bonus[j].max())
            log_scale += top
            known = _scaled(known * np.exp(bonus[j] - top), log_scale)
        up.append(known)
    for latent, log_within in zip(hierarchy.latents, model.tables.log_within, strict=True):
        pairs = _pair_weights(latent, np.exp(log_within), up)
        order, starts = latent.by_state
        fold = np.add if bonus is None else np.maximum
        up.append(_scaled(fold.reduceat(pairs[:, order], starts, axis=1), log_scale))
    return Messages(up, log_scale)


def _pair_weights(latent: Latent, within: FloatArray, up: list[FloatArray]) -> FloatArray:
    """P(pair of levels | state) times the children's messages, shape (n_rows, combinations)."""
    first, second = (up[child] for child in latent.children)
    product = first[:, :, None] * second[:, None, :] * within
    return np.asarray(product.reshape(len(first), -1))


def _scaled(message: FloatArray, log_scale: FloatArray) -> FloatArray:
    top = message.max(axis=1)
    log_scale += np.log(top)
    return np.asarray(message / top[:, None])


def _join_messages(
    model: FilledHierarchy, messages: Messages, *, maximise: bool = False
) -> FloatArray:
    total = np.tile(messages.log_scale[:, None], (1, len(model.tables.log_theta)))
    for v, theta in zip(model.hierarchy.tops, model.thetas, strict=True):
        up = messages.up[v]
        share = (up[:, :, None] * theta).max(axis=1) if maximise else up @ theta
        with np.errstate(divide="ignore"):
            total += np.log(share)
    return total


def latent_posterior(
    model: FilledHierarchy, codes: CodeArray, posterior: FloatArray
) -> list[FloatArray]:
    """P(state | observed attributes) of each latent variable, the classes mixed by `posterior`.

    A row that no class can have made counts as one with all its attributes missing.

    Parameters
    ----------
    model : FilledHierarchy
    codes : array of shape (n_rows, n)
    posterior : array of shape (n_rows, K)
        Probability of each class given the row.

    Returns
    -------
    list of arrays of shape (n_rows, states)
    """
    hierarchy, n = model.hierarchy, len(model.hierarchy.n_levels)
    out = [np.empty((len(codes), latent.n_states)) for latent in hierarchy.latents]
    impossible = np.isneginf(log_likelihood(model, codes)).all(axis=1, keepdims=True)
    codes = np.where(impossible, np.int32(-1), codes)
    for part in _blocks(hierarchy, np.arange(len(codes))):
        for found, values in zip(
            out, _send_down(model, codes[part], posterior[part])[n:], strict=True
        ):
            found[part] = values
    return out


def _send_down(model: FilledHierarchy, codes: CodeArray, posterior: FloatArray) -> list[FloatArray]:
    hierarchy, n = model.hierarchy, len(model.hierarchy.n_levels)
    up = send_messages(model, codes).up
    down: list[FloatArray] = [np.empty(0)] * len(up)
    for v, theta in zip(hierarchy.tops, model.thetas, strict=True):
        joint = up[v][:, :, None] * theta  # (n_rows, states, K)
        total = joint.sum(axis=1)
        share = np.divide(posterior, total, out=np.zeros_like(total), where=total > 0)
        down[v] = _shares(np.einsum("isk,ik->is", joint, share))
    for t in reversed(range(len(hierarchy.latents))):
        latent = hierarchy.latents[t]
        pairs = _pair_weights(latent, np.exp(model.tables.log_within[t]), up)
        order, starts = latent.by_state
        total = np.add.reduceat(pairs[:, order], starts, axis=1)
        share = np.divide(down[n + t], total, out=np.zeros_like(total), where=total > 0)
        pairs = (pairs * share[:, latent.states.reshape(-1)]).reshape(-1, *latent.states.shape)
        first, second = latent.children
        down[first], down[second] = _shares(pairs.sum(axis=2)), _shares(pairs.sum(axis=1))
    return down


def _shares(values: FloatArray) -> FloatArray:
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def draw_codes(model: FilledHierarchy, y: IndexArray, rng: np.random.Generator) -> CodeArray:
    """One row of attributes for each class code."""
    hierarchy, n = model.hierarchy, len(model.hierarchy.n_levels)
    codes = np.zeros((len(y), len(hierarchy.sizes)), dtype=np.int32)
    for v, theta in zip(hierarchy.tops, model.thetas, strict=True):
        codes[:, v] = draw_levels(theta.T[y], rng)
    for t in reversed(range(len(hierarchy.latents))):
        latent = hierarchy.latents[t]
        table = np.zeros((latent.n_states, latent.states.size))
        within = np.exp(model.tables.log_within[t]).reshape(-1)
        table[latent.states.reshape(-1), np.arange(latent.states.size)] = within
        pair = draw_levels(table[codes[:, n + t]], rng)
        first, second = latent.children
        codes[:, first], codes[:, second] = np.divmod(pair, latent.states.shape[1])
    return codes[:, :n]
