"""What the search for a hierarchy learns from some of the rows: states, and scores of other rows.

A pair of variables gets its states from the classes of rows. If these rows were also the ones by
which the pair is judged, rare combinations would seem to say more than they do. So each fold has a
view of its own: it makes the states of every pair anew from its training rows, and judges its
tested rows by them. One more view, of all rows, holds the hierarchy that is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._content_folds import DistinctRows
from latentclass.engine._content_holdout import SLIVER
from latentclass.hnb._states import collapse_states, expected_counts

IMPOSSIBLE = -1e6
"""Stands for log 0 in held-out scores, which are updated by adding and subtracting."""

BLOCK_ENTRIES = 2**22
"""Entries of one block of rows while counting."""

MAX_CROSSED = 512
"""Combinations up to which the states of a latent variable are made anew for a partner."""

StatesOf = Callable[["Slot", "Slot"], CodeArray]
"""The state of each combination of two variables."""


@dataclass
class Slot:
    """A variable on top.

    `evidence` is the state of each row. Where missing attributes leave the state open, it is the
    number of states plus a row of `partial`: P(observed | state), scaled so that the largest is 1.
    """

    variable: int
    size: int
    evidence: CodeArray
    partial: FloatArray

    @property
    def codes(self) -> CodeArray:
        """The state of each row, -1 where it is open."""
        if not len(self.partial):
            return self.evidence
        return np.where(self.evidence < self.size, self.evidence, -1)

    @property
    def key(self) -> tuple[int, int]:
        """Tells apart the variables that are proposed in one step, and their states made anew."""
        return self.variable, self.size


Pair = tuple[Slot, Slot]


class Revision(NamedTuple):
    """A pair of which one variable has other states: the slots, those states, and the pair's."""

    pair: Pair
    states: CodeArray
    joined: CodeArray


class View:
    """The variables on top as some rows define their states.

    Attributes
    ----------
    rows : DistinctRows
    weight : array of shape (R,)
        Weight of each distinct row among those that are learned from.
    slots : list of Slot or None
        One place for each variable of the beginning; None where it was joined to an earlier place.
    below : dict of int to pair of Slot
        What each latent variable joins.
    """

    def __init__(
        self, rows: DistinctRows, weight: FloatArray, n_levels: tuple[int, ...], alpha: float
    ) -> None:
        self.rows, self.weight, self.alpha = rows, weight, alpha
        self.slots: list[Slot | None] = []
        self.below: dict[int, Pair] = {}
        for j, r in enumerate(n_levels):
            column = np.ascontiguousarray(rows.codes[:, j])
            holes = column < 0
            partial = np.ones((1, r)) if holes.any() else np.empty((0, r))
            evidence = np.where(holes, r, column).astype(np.int32)
            self.slots.append(Slot(j, r, evidence, partial))

    def slot(self, place: int) -> Slot:
        """The variable at a place that has one."""
        slot = self.slots[place]
        assert slot is not None
        return slot

    def pair(self, places: tuple[int, int]) -> Pair:
        """The variables at two places."""
        return self.slot(places[0]), self.slot(places[1])

    def join(self, pair: Pair, states: CodeArray, variable: int) -> Slot:
        """The latent variable above a pair, given the state of each combination."""
        first, second = pair
        size = int(states.max()) + 1
        pairs = pair_codes(pair)
        if not (len(first.partial) or len(second.partial)):
            return Slot(variable, size, states.take(pairs), np.empty((0, size)))
        evidence = np.where(pairs >= 0, states[pairs], 0).astype(np.int32)
        open_ = np.flatnonzero(pairs < 0)
        width = second.size + len(second.partial)
        partly, which = np.unique(
            first.evidence[open_] * np.intp(width) + second.evidence[open_], return_inverse=True
        )
        # P(combination | state) does not depend on the class
        seen = pairs >= 0
        counts = np.bincount(pairs[seen], self.weight[seen], len(states)) + max(self.alpha, 1e-6)
        within = np.zeros((len(states), size))
        within[np.arange(len(states)), states] = counts
        within /= within.sum(axis=0)
        known_first = np.vstack([np.eye(first.size), first.partial])
        known_second = np.vstack([np.eye(second.size), second.partial])
        partial = np.empty((len(partly), size))
        step = max(1, BLOCK_ENTRIES // len(states))
        for start in range(0, len(partly), step):
            a, b = np.divmod(partly[start : start + step], width)
            both = known_first[a][:, :, None] * known_second[b][:, None, :]
            partial[start : start + step] = both.reshape(len(a), -1) @ within
        partial /= partial.max(axis=1, keepdims=True)
        # where only one state is left, it is known
        sure = (partial > 0).sum(axis=1) == 1
        place = np.where(sure, partial.argmax(axis=1), size + np.cumsum(~sure) - 1)
        evidence[open_] = place[which.reshape(-1)]
        return Slot(variable, size, evidence, partial[~sure])

    def revise(self, pair: Pair, place: int, states_of: StatesOf) -> Revision | None:
        """The pair with the states that one of its latent variables needs for the other.

        Its states were made for the class alone. Combinations that say the same about the class are
        one state, even if they say something else together with the partner ("exactly two of
        three"). So all its combinations are crossed with the partner's states, the result is
        collapsed, and combinations that are alike in all of it become one state. None if there is
        nothing to make anew.
        """
        old, other = pair[place], pair[1 - place]
        if old.variable not in self.below:
            return None
        below = self.below[old.variable]
        n_pairs = below[0].size * below[1].size
        if n_pairs == old.size or n_pairs * other.size > MAX_CROSSED:
            return None
        whole = self.join(below, np.arange(n_pairs, dtype=np.int32), old.variable)
        crossed = (whole, other) if place == 0 else (other, whole)
        table = states_of(*crossed).reshape(crossed[0].size, crossed[1].size)
        table = table if place == 0 else table.T
        _, start, label = np.unique(table, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(start)  # states are numbered in the order of the combinations
        states = np.argsort(order).astype(np.int32)[label.reshape(-1)]
        slot = self.join(below, states, old.variable)
        table = table[start[order]]
        return Revision(
            (slot, other) if place == 0 else (other, slot),
            states,
            (table if place == 0 else table.T).reshape(-1),
        )

    def accept(self, places: tuple[int, int], pair: Pair, slot: Slot) -> None:
        """Put the joined variable at the first place; the second is empty from now on."""
        self.below[slot.variable] = pair
        self.slots[places[0]], self.slots[places[1]] = slot, None


class Joined(NamedTuple):
    """A pair as a fold joins it: the pair, the latent variable, its table and the new scores."""

    pair: Pair
    slot: Slot
    table: FloatArray
    log_joint: FloatArray


class FoldView(View):
    """The view of a fold's training rows, and log P(class, row) of its tested rows.

    Attributes
    ----------
    tested, tested_weight, own : arrays of shape (n_tested,)
        The tested rows, their weights and classes.
    log_prior : array of shape (K,)
    log_joint : array of shape (K, n_tested)
    """

    def __init__(
        self,
        rows: DistinctRows,
        held: FloatArray,
        n_levels: tuple[int, ...],
        n_classes: int,
        alpha: float,
        *,
        exact: bool,
    ) -> None:
        from latentclass.hnb import _kernels  # loads numba, which nothing else here needs

        rest = rows.weight - held
        rest[rest <= SLIVER * rows.weight] = 0.0  # rounding errors are no rows
        super().__init__(rows, rest, n_levels, alpha)
        self._kernels, self.n_classes, self.exact = _kernels, n_classes, exact
        learned, tested = np.flatnonzero(self.weight > 0), np.flatnonzero(held > 0)
        self._row, self._group = learned.astype(np.int32), rows.y[learned].astype(np.int32)
        self._row_weight = self.weight[learned]
        self.tested, self.tested_weight = tested.astype(np.int32), held[tested]
        self.own = rows.y[tested].astype(np.int32)
        self._states: dict[tuple[tuple[int, int], tuple[int, int]], CodeArray] = {}
        by_class = np.bincount(self._group, self._row_weight, n_classes)
        with np.errstate(divide="ignore"):
            shares = np.log(by_class / max(float(by_class.sum()), 1e-300))
        self.log_prior = np.maximum(shares, IMPOSSIBLE)
        self.log_joint = np.empty((n_classes, len(tested)))
        self.log_joint[:] = self.log_prior[:, None]
        self._tables = [self._table(self.slot(s)) for s in range(len(n_levels))]
        for s, table in enumerate(self._tables):
            self._kernels.add_logs(self.log_joint, self.tested, self.slot(s).evidence, table)

    def try_join(
        self,
        places: tuple[int, int],
        variable: int,
        *,
        revise: int | None = None,
        states: CodeArray | None = None,
    ) -> Joined:
        """The pair joined, with states that the training rows make unless they are given.

        `revise` is the place in the pair of a latent variable whose states are made anew.
        """
        pair = self.pair(places)
        if states is None:
            anew = None if revise is None else self.revise(pair, revise, self.states_of)
            pair, states = (
                (pair, self.states_of(*pair)) if anew is None else (anew.pair, anew.joined)
            )
        slot = self.join(pair, states, variable)
        table = self._table(slot)
        log_joint = self._kernels.exchange_logs(
            self.log_joint,
            self.tested,
            self.slot(places[0]).evidence,
            self._tables[places[0]],
            self.slot(places[1]).evidence,
            self._tables[places[1]],
            slot.evidence,
            table,
        )
        return Joined(pair, slot, table, log_joint)

    def take(self, places: tuple[int, int], joined: Joined) -> None:
        """Accept a pair that was tried."""
        gone = {one.variable for one in self.pair(places)}
        self.accept(places, joined.pair, joined.slot)
        self.log_joint = joined.log_joint
        self._tables[places[0]], self._tables[places[1]] = joined.table, np.empty(0)
        # variables that are no longer on top are not proposed again
        self._states = {k: v for k, v in self._states.items() if not {k[0][0], k[1][0]} & gone}

    def without(self, place: int) -> FloatArray:
        """`log_joint` as if the variable at a place said nothing."""
        log_joint = self.log_joint.copy()
        table = -self._tables[place]
        self._kernels.add_logs(log_joint, self.tested, self.slot(place).evidence, table)
        return log_joint

    def leave_out(self, place: int, log_joint: FloatArray) -> None:
        """Leave out the variable at a place, whose scores `without` has told."""
        self.log_joint = log_joint
        self.slots[place], self._tables[place] = None, np.empty(0)

    def states_of(self, first: Slot, second: Slot) -> CodeArray:
        """States of a pair from the training rows (Algorithm 2)."""
        key = (first.key, second.key)
        if key not in self._states:
            counts = self._count(pair_codes((first, second)), first.size * second.size)
            expected = expected_counts(counts, first.size)
            n_rows = float(self._row_weight.sum())
            self._states[key] = collapse_states(counts.T, expected, n_rows, exact=self.exact)
        return self._states[key]

    def _count(self, codes: CodeArray, size: int) -> FloatArray:
        """Weight by class and level of the training rows, shape (K, size)."""
        counts = np.zeros((self.n_classes, size))
        self._kernels.add_counts(counts, self._group, self._row, self._row_weight, codes)
        return counts

    def _table(self, slot: Slot) -> FloatArray:
        """log P(evidence | class) of a variable, from the training rows."""
        counts = self._count(slot.evidence, slot.size) + self.alpha
        total = counts.sum(axis=-1, keepdims=True)
        share = np.divide(counts, total, out=np.full_like(counts, 1.0 / slot.size), where=total > 0)
        if len(slot.partial):
            share = np.concatenate([share, share @ slot.partial.T], axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(share), IMPOSSIBLE))


def pair_codes(pair: Pair) -> CodeArray:
    """The combination of two variables in each row, -1 where one of them is open."""
    first, second = pair
    a, b = first.codes, second.codes
    pairs = a * np.int32(second.size) + b
    if len(first.partial) or len(second.partial):
        pairs = np.where((a >= 0) & (b >= 0), pairs, -1)
    return pairs
