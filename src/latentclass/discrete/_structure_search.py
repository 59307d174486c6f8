"""Structures of Bayesian network classifiers: trees, K2, hill climbing.

All searches take attributes in a given order and break ties by it. If that order does not depend on
how the columns of the table are arranged, neither does the answer.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.discrete._coding import CodedRows
from latentclass.discrete._network import Structure
from latentclass.engine._counts import (
    check_pairs_of_columns,
    column_sums,
    indicator_rows,
    level_offsets,
)

MAX_FAMILY_ENTRIES = 2**18
"""Families with more table entries than this, the class included, are not considered."""

TIE = 1e-9
"""Gains closer than this, relative to their size, count as equal."""


def maximum_spanning_tree(weights: FloatArray, root: int) -> tuple[tuple[int, ...], ...]:
    """Parent of each node in a tree of largest total weight, as a tuple of none or one.

    Prim's algorithm from `root`; the weights are symmetric. With conditional mutual information as
    weights, it is the tree of TAN (Friedman, Geiger and Goldszmidt 1997, section 4).
    """
    n = len(weights)
    parents: list[tuple[int, ...]] = [()] * n
    if n == 0:
        return ()
    inside = np.zeros(n, dtype=bool)
    inside[root] = True
    best, source = weights[root].copy(), np.full(n, root)
    for _ in range(n - 1):
        j = int(np.where(inside, -np.inf, best).argmax())
        parents[j] = (int(source[j]),)
        inside[j] = True
        closer = weights[j] > best
        best[closer], source[closer] = weights[j][closer], j
    return tuple(parents)


class Sample(NamedTuple):
    """Labelled rows to learn a structure from, attributes in the order that breaks ties."""

    codes: CodeArray
    y: IndexArray
    weight: FloatArray
    n_classes: int
    n_levels: tuple[int, ...]

    @classmethod
    def of(cls, rows: CodedRows, order: IndexArray) -> Sample:
        """The labelled rows, columns in a given order."""
        n_levels = tuple(rows.n_levels[j] for j in order)
        codes = np.ascontiguousarray(rows.codes[:, order])
        return cls(codes, rows.y, rows.weight, rows.n_classes, n_levels)


class Score(NamedTuple):
    """How a family is judged.

    Attributes
    ----------
    kind : {"aic", "bic", "k2"}
        "aic": the log-likelihood minus the number of parameters. "bic": minus half that number
        times the log of the weight of all rows. "k2": the log marginal likelihood under a Dirichlet
        prior (with `alpha=1` the metric of Cooper and Herskovits 1992).
    alpha : float
        Pseudo-count of each level in that prior.
    """

    kind: str
    alpha: float = 1.0

    def of_distributions(self, counts: FloatArray) -> FloatArray:
        """Score of distributions on the last axis, without the cost of their parameters."""
        total = counts.sum(axis=-1)
        if self.kind == "k2":
            r = counts.shape[-1]
            seen = gammaln(counts + self.alpha) - gammaln(self.alpha)
            return np.asarray(
                seen.sum(axis=-1) + gammaln(r * self.alpha) - gammaln(total + r * self.alpha)
            )
        logs = counts * np.log(np.where(counts > 0, counts, 1.0))
        return np.asarray(logs.sum(axis=-1) - total * np.log(np.where(total > 0, total, 1.0)))

    def price(self, total_weight: float) -> float:
        """The cost of each additional parameter."""
        return {"k2": 0.0, "aic": 1.0, "bic": 0.5 * float(np.log(max(total_weight, 1.0)))}[
            self.kind
        ]


class FamilyScorer:
    """Gains of adding a parent to a family, for all candidates at once, from one matrix product.

    A gain compares two families on the same rows: those in which the child, its parents and the
    candidate are observed.
    """

    def __init__(self, sample: Sample, score: Score) -> None:
        self.sample, self.score = sample, score
        self.offsets = level_offsets(sample.n_levels)
        index = np.where(sample.codes >= 0, sample.codes + self.offsets[:-1], -1)
        self._indicator = indicator_rows(index, int(self.offsets[-1])).T.tocsr()
        self._price = score.price(float(sample.weight.sum()))

    def _states(self, child: int, parents: tuple[int, ...]) -> sp.csr_array:
        """Rows to (class, parents, child) as a weighted indicator."""
        codes, y, weight, n_classes, n_levels = self.sample
        place, hole = y.copy(), np.zeros(len(y), dtype=bool)
        for v in (*parents, child):
            place = place * n_levels[v] + codes[:, v]
            hole |= codes[:, v] < 0
        rows = np.flatnonzero(~hole)
        shape = (len(y), n_classes * self._size(child, parents))
        return sp.csr_array((weight[rows], (rows, place[rows])), shape=shape)

    def _size(self, child: int, parents: tuple[int, ...]) -> int:
        return int(np.prod([self.sample.n_levels[v] for v in (*parents, child)]))

    def gains(
        self,
        child: int,
        parents: tuple[int, ...],
        with_class: bool,
        n_candidates: int | None = None,
    ) -> FloatArray:
        """Gain of each attribute as one more parent of `child`, shape (n,); -inf if it cannot.

        With `n_candidates`, of the first attributes only.
        """
        n_classes, n_levels = self.sample.n_classes, np.array(self.sample.n_levels)[:n_candidates]
        r = self.sample.n_levels[child]
        size = self._size(child, parents)
        allowed = n_levels * (size * n_classes) <= MAX_FAMILY_ENTRIES
        allowed[[v for v in (child, *parents) if v < len(n_levels)]] = False
        if not allowed.any():
            return np.full(len(n_levels), -np.inf)
        offsets = self.offsets[: len(n_levels) + 1]
        check_pairs_of_columns(len(n_levels), 4 * 8.0 * offsets[-1] * n_classes * size)
        shown = self._indicator if n_candidates is None else self._indicator[: offsets[-1]]
        counts = (shown @ self._states(child, parents)).toarray()
        counts = counts.reshape(-1, n_classes, size // r, r)
        if not with_class:
            counts = counts.sum(axis=1, keepdims=True)
        split = self.score.of_distributions(counts).sum(axis=(1, 2))
        merged = np.add.reduceat(counts, offsets[:-1], axis=0)
        whole = self.score.of_distributions(merged).sum(axis=(1, 2))
        more = (n_levels - 1) * counts.shape[1] * (size // r) * (r - 1)
        gain = column_sums(split, offsets) - whole - self._price * more
        return np.where(allowed, gain, -np.inf)

    def class_gain(self, child: int, parents: tuple[int, ...]) -> float:
        """Gain of the class as one more parent of `child`."""
        n_classes, r = self.sample.n_classes, self.sample.n_levels[child]
        states = self._states(child, parents)
        counts = np.asarray(states.sum(axis=0)).reshape(n_classes, -1, r)
        split = self.score.of_distributions(counts).sum()
        whole = self.score.of_distributions(counts.sum(axis=0)).sum()
        return float(split - whole - self._price * (n_classes - 1) * counts.shape[1] * (r - 1))


def search_k2(sample: Sample, score: Score, max_parents: int) -> Structure:
    """K2 (Cooper and Herskovits 1992): each attribute adds its best parents among those before it.

    `max_parents` counts the class, which is a parent of all.
    """
    scorer = FamilyScorer(sample, score)
    n = len(sample.n_levels)
    families: list[tuple[int, ...]] = []
    for j in range(n):
        parents: tuple[int, ...] = ()
        while len(parents) + 1 < max_parents:
            gain = scorer.gains(j, parents, with_class=True, n_candidates=j)
            best = _first_best(gain)
            if best < 0 or gain[best] <= 0:
                break
            parents = tuple(sorted((*parents, best)))
        families.append(parents)
    return Structure(sample.n_levels, tuple(families), (True,) * n)


def search_hill(
    sample: Sample, score: Score, *, max_parents: int | None, free_class: bool
) -> Structure:
    """Hill climbing from naive Bayes: the best added, deleted or reversed arc until none gains.

    With `free_class` the arcs from the class may be deleted and added again too. At the end every
    attribute outside the class's Markov blanket gets the class as parent.
    """
    climb = _HillClimb(sample, score, max_parents, free_class)
    # with missing values a gain is taken on the rows that show the family, so moves could circle
    visited = set()
    while (state := climb.state) not in visited:
        visited.add(state)
        move = climb.best_move()
        if move is None:
            break
        climb.take(move)
    parents, with_class = climb.state
    return Structure(sample.n_levels, parents, correct_markov_blanket(parents, list(with_class)))


class _Move(NamedTuple):
    """Add, delete or reverse the arc `parent` -> `child`, or toggle the class as its parent."""

    kind: Literal["add", "drop", "turn", "toggle"]
    parent: int
    child: int


class _HillClimb:
    """A structure that changes one arc at a time, and the gain of every change.

    Gains have the parent first: `_add` of each new arc, `_drop` of each arc that is there, and
    `_toggle` of each attribute's arc from the class.
    """

    def __init__(
        self, sample: Sample, score: Score, max_parents: int | None, free_class: bool
    ) -> None:
        n = len(sample.n_levels)
        self._scorer = FamilyScorer(sample, score)
        self._limit = n if max_parents is None else max_parents
        self._free_class = free_class
        self._least = TIE * max(1.0, float(sample.weight.sum()))
        self._parents: list[tuple[int, ...]] = [()] * n
        self._with_class = [True] * n
        self._arcs = np.zeros((n, n), dtype=bool)
        self._reaches = self._arcs.copy()  # along arcs
        self._add = np.full((n, n), -np.inf)
        self._drop = np.full((n, n), -np.inf)
        self._toggle = np.full(n, -np.inf)
        for j in range(n):
            self._score_again(j)

    @property
    def state(self) -> tuple[tuple[tuple[int, ...], ...], tuple[bool, ...]]:
        """Parents of each attribute, and whether the class is one."""
        return tuple(self._parents), tuple(self._with_class)

    def best_move(self) -> _Move | None:
        """The move of the largest gain; None if no move gains."""
        n, arcs, reaches = len(self._parents), self._arcs, self._reaches
        full = np.array([len(parents) >= self._limit for parents in self._parents], dtype=bool)
        add = np.where(arcs | reaches.T | full, -np.inf, self._add)
        turn = self._turn_gains(full)
        gains = np.concatenate([add.ravel(), self._drop.ravel(), turn.ravel(), self._toggle])
        best = _first_best(gains)
        if best < 0 or gains[best] <= self._least:
            return None
        if best >= 3 * n * n:
            return _Move("toggle", -1, best - 3 * n * n)
        kind, place = divmod(best, n * n)
        return _Move(("add", "drop", "turn")[kind], *divmod(place, n))

    def _turn_gains(self, full: BoolArray) -> FloatArray:
        """Gain of reversing each arc.

        The arc u -> j may turn if no other way leads from u to j and u may take one more parent.
        """
        turn = np.full(self._arcs.shape, -np.inf)
        u, j = np.nonzero(self._arcs)
        free = ~(self._reaches[u] & self._arcs[:, j].T).any(axis=1) & ~full[u]
        u, j = u[free], j[free]
        turn[u, j] = self._drop[u, j] + self._add[j, u]
        return turn

    def take(self, move: _Move) -> None:
        """Change the structure, and the gains of the families that the move touches."""
        kind, parent, child = move
        if kind == "toggle":
            self._with_class[child] = not self._with_class[child]
        elif kind == "add":
            self._parents[child] = tuple(sorted((*self._parents[child], parent)))
            self._arcs[parent, child] = True
            above, below = self._reaches[:, parent].copy(), self._reaches[child].copy()
            above[parent] = below[child] = True
            self._reaches |= above[:, None] & below
        else:
            self._parents[child] = tuple(p for p in self._parents[child] if p != parent)
            self._arcs[parent, child] = False
            self._reaches = _closure(self._arcs)
        self._score_again(child)
        if kind == "turn":
            self.take(_Move("add", child, parent))

    def _score_again(self, j: int) -> None:
        parents, with_class = self._parents[j], self._with_class[j]
        self._add[:, j] = self._scorer.gains(j, parents, with_class)
        self._drop[:, j] = -np.inf
        for p in parents:
            rest = tuple(q for q in parents if q != p)
            self._drop[p, j] = -self._scorer.gains(j, rest, with_class)[p]
        if self._free_class:
            gain = self._scorer.class_gain(j, parents)
            self._toggle[j] = -gain if with_class else gain


def correct_markov_blanket(
    parents: tuple[tuple[int, ...], ...], with_class: list[bool]
) -> tuple[bool, ...]:
    """Make the class a parent of each attribute that is outside its Markov blanket.

    An attribute without the class as parent is inside if it is a parent of one that has it. The
    attributes are visited in turn, as in Weka: a class arc added to an attribute brings its
    parents inside too, so those that come later need none.
    """
    corrected = list(with_class)
    inside = {p for j, ps in enumerate(parents) if corrected[j] for p in ps}
    for j, ps in enumerate(parents):
        if not corrected[j] and j not in inside:
            corrected[j] = True
            inside.update(ps)
    return tuple(corrected)


def _first_best(gain: FloatArray) -> int:
    """First of the best entries, where rounding errors count as ties; -1 if there is none."""
    if not gain.size or not np.isfinite(top := float(gain.max())):
        return -1
    return int(np.argmax(gain >= top - TIE * max(1.0, abs(top))))


def _closure(arcs: BoolArray) -> BoolArray:
    """Whether the second node can be reached from the first along arcs."""
    reaches = arcs.copy()
    while True:
        further = reaches | ((reaches.astype(np.float32) @ reaches.astype(np.float32)) > 0)
        if (further == reaches).all():
            return reaches
        reaches = further
