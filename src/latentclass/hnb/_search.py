"""The search for a hierarchy: which pair to join, into which states, and whether that helps.

Algorithms 1 to 3 of Langseth and Nielsen (2006). Everything is counted on distinct rows, which are
assigned to parts (see `engine._content_folds`). Three kinds of counts serve the whole search:

- levels by class and fold, which give the tables of every fold, and so the held-out accuracy;
- pairs of levels by class and part, which give all measures of dependence given the class;
- combinations of a candidate pair by class, from which its states are made (see `_states`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._content_folds import DistinctRows, FoldWeights
from latentclass.engine._counts import column_blocks, level_offsets, pair_counts
from latentclass.engine._logspace import log_normalise
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._states import collapse_states, pair_strength

IMPOSSIBLE = -1e6
"""Stands for log 0 in held-out scores, which are updated by adding and subtracting."""

PARTS_BYTES = 2**26
"""Size of a block of columns' pair counts in all parts."""

BLOCK_ENTRIES = 2**22
"""Entries of one block of rows while counting."""

MAX_CROSSED = 512
"""Combinations up to which the states of a latent variable are made anew for a partner."""

MAX_ROUNDS = 3
"""Rounds of proposals in one step. The next begins only if no proposal of the last one helps."""


@dataclass(frozen=True)
class HierarchySettings:
    """How to search.

    Attributes
    ----------
    measure : {"chi2", "expected_kl"}
    exact : bool
        States by dynamic programming (two classes) instead of greedy steps.
    search : {"subsets", "hill_climbing", "published"}
        "subsets": the best of what the subsets propose, which is another pair from each.
        "hill_climbing": the first pair that helps, in the order of the measure on all rows.
        "published": Algorithm 3 as it stands, where the subsets may all propose the same pair.
    alpha : float
        Pseudo-count of every level in the tables of the folds.
    select : bool
        Leave out variables where that raises the held-out score more than any pair.
    """

    measure: str = "chi2"
    exact: bool = False
    search: str = "subsets"
    alpha: float = 1.0
    select: bool = False


class FoundHierarchy(NamedTuple):
    """A hierarchy, and held-out accuracies of naive Bayes and after each step.

    `ignored` are the top variables that were left out: they say nothing about the class.
    """

    hierarchy: Hierarchy
    scores: list[float]
    ignored: tuple[int, ...] = ()


@dataclass
class _Slot:
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
        if not len(self.partial):
            return self.evidence
        return np.where(self.evidence < self.size, self.evidence, -1)


class _Entries(NamedTuple):
    """Rows with their part, in the order of the rows, because their states are looked up often.

    `group` is part * K + class.
    """

    row: CodeArray
    part: CodeArray
    group: CodeArray
    weight: FloatArray
    n_parts: int


def _entries(parts: FoldWeights, y: IndexArray, n_classes: int) -> _Entries:
    order = np.argsort(parts.row, kind="stable")
    row, part = parts.row[order], parts.part[order]
    group = part * n_classes + y[row]
    return _Entries(
        row.astype(np.int32),
        part.astype(np.int32),
        group.astype(np.int32),
        parts.weight[order],
        parts.n_parts,
    )


class _Candidate(NamedTuple):
    """A pair of slots with states for it, and the held-out log tables (F + 1, K, evidence).

    `revised` has the new states of latent variables among the two, by their number. `children` are
    the two slots that are joined, with these new states.
    """

    pair: tuple[int, int]
    states: CodeArray
    slot: _Slot
    table: FloatArray
    revised: dict[int, CodeArray]
    children: tuple[_Slot, _Slot]


def search_hierarchy(
    rows: DistinctRows,
    n_levels: tuple[int, ...],
    n_classes: int,
    subsets: FoldWeights,
    folds: FoldWeights,
    settings: HierarchySettings,
) -> FoundHierarchy:
    """Add latent variables as long as the held-out accuracy rises (Algorithm 3).

    Where it stays the same, the held-out log-loss decides, except in the published search.

    Parameters
    ----------
    rows : DistinctRows
    n_levels : tuple of int
    n_classes : int
    subsets : FoldWeights
        Each subset from which candidates come is all rows but one part; a single part is all rows.
    folds : FoldWeights
        Folds of the held-out accuracy.
    settings : HierarchySettings
    """
    search = _Search(rows, n_levels, n_classes, subsets, folds, settings)
    while search.step():
        pass
    return FoundHierarchy(search.hierarchy, search.scores, tuple(sorted(search.ignored)))


class _Search:
    def __init__(
        self,
        rows: DistinctRows,
        n_levels: tuple[int, ...],
        n_classes: int,
        subsets: FoldWeights,
        folds: FoldWeights,
        settings: HierarchySettings,
    ) -> None:
        from latentclass.hnb import _kernels  # loads numba, which nothing else here needs

        self._kernels = _kernels
        self.rows, self.settings, self.n_classes = rows, settings, n_classes
        self.subsets = _entries(subsets, rows.y, n_classes)
        self.folds = _entries(folds, rows.y, n_classes)
        self.hierarchy = Hierarchy(n_levels)
        self.ignored: list[int] = []
        self.slots: list[_Slot | None] = []
        for j, r in enumerate(n_levels):
            column = np.ascontiguousarray(rows.codes[:, j])
            holes = column < 0
            partial = np.ones((1, r)) if holes.any() else np.empty((0, r))
            evidence = np.where(holes, r, column).astype(np.int32)
            self.slots.append(_Slot(j, r, evidence, partial))
        # tested entries: everything that is in some fold
        tested = self.folds.part < folds.n_parts
        self._row, self._fold = self.folds.row[tested], self.folds.part[tested]
        self._weight = self.folds.weight[tested]
        self._own = rows.y[self._row].astype(np.int32)
        self._log_joint = np.tile(np.empty(0), (0, 0))
        self._tables: list[FloatArray] = []
        self._start_scores()
        self._best = (self._accuracy(self._log_joint), self._log_score(self._log_joint))
        self.scores = [self._best[0]]
        self._strength: FloatArray | None = None
        # counts and states of proposed pairs, to be used again in the next step
        self._counts: dict[tuple[int, int, int, int], tuple[FloatArray, FloatArray]] = {}
        self._states: dict[tuple[int, int, int, int, int], CodeArray] = {}
        self._below: dict[int, tuple[_Slot, _Slot]] = {}  # what each latent variable joins
        weights = np.bincount(subsets.part, subsets.weight, subsets.n_parts + 1).astype(np.float64)
        self._subset_weight = _without(weights, subsets.n_parts).tolist()

    # ------------------------------------------------------------- held-out accuracy

    def _start_scores(self) -> None:
        n_folds = self.folds.n_parts
        n_groups = (n_folds + 1) * self.n_classes
        by_class = np.bincount(self.folds.group, self.folds.weight, n_groups)
        by_class = by_class.reshape(n_folds + 1, self.n_classes).astype(np.float64)
        train = (by_class.sum(axis=0) - by_class)[:n_folds]
        total = np.maximum(train.sum(axis=1, keepdims=True), 1e-300)
        with np.errstate(divide="ignore"):
            log_prior = np.maximum(np.log(np.maximum(train, 0.0) / total), IMPOSSIBLE)
        self._log_joint = np.ascontiguousarray(log_prior[self._fold].T)  # (K, entries)
        for slot in self.slots:
            assert slot is not None
            table = self._fold_table(slot)
            self._tables.append(table)
            self._kernels.add_logs(self._log_joint, self._fold, self._row, slot.evidence, table)

    def _fold_table(self, slot: _Slot) -> FloatArray:
        """log P(evidence | class) of a variable in every fold's training rows."""
        counts = self._count(self.folds, slot.evidence, slot.size)
        return self._smooth(slot, counts)

    def _count(self, entries: _Entries, codes: CodeArray, size: int) -> FloatArray:
        """Weight by part, class and level, shape (n_parts + 1, K, size)."""
        counts = np.zeros(((entries.n_parts + 1) * self.n_classes, size))
        self._kernels.add_counts(counts, entries.group, entries.row, entries.weight, codes)
        return counts.reshape(entries.n_parts + 1, self.n_classes, size)

    def _smooth(self, slot: _Slot, counts: FloatArray) -> FloatArray:
        train = np.maximum((counts.sum(axis=0) - counts)[:-1], 0.0) + self.settings.alpha
        total = train.sum(axis=-1, keepdims=True)
        share = np.divide(train, total, out=np.full_like(train, 1.0 / slot.size), where=total > 0)
        if len(slot.partial):
            share = np.concatenate([share, share @ slot.partial.T], axis=-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(share), IMPOSSIBLE))

    def _accuracy(self, log_joint: FloatArray) -> float:
        """Share of the tested weight that is given its own class; ties are shared."""
        right = self._kernels.weight_right(log_joint, self._own, self._weight)
        # rounded, so that the order of the sums decides nothing
        return float(np.round(right / max(float(self._weight.sum()), 1e-300), 12))

    def _value(
        self, log_joint: FloatArray, least: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Accuracy, and at equal accuracy the log score; None if not above `least`.

        In the published search the accuracy alone decides.
        """
        accuracy = self._accuracy(log_joint)
        if accuracy < least[0]:
            return None
        value = (accuracy, self._log_score(log_joint))
        return value if value > least else None

    def _standard_error(self, accuracy: float) -> float:
        """Of the held-out accuracy: a candidate with revised states must gain more than this."""
        return float(np.sqrt(accuracy * (1.0 - accuracy) / max(float(self._weight.sum()), 1e-300)))

    def _log_score(self, log_joint: FloatArray) -> float:
        if self.settings.search == "published":
            return 0.0
        posterior = log_normalise(np.ascontiguousarray(log_joint.T))
        own = np.maximum(posterior[np.arange(len(self._own)), self._own], -36.0)
        return float(np.round(self._weight @ own / max(float(self._weight.sum()), 1e-300), 10))

    # --------------------------------------------------------------------- candidates

    def step(self) -> bool:
        """Add the best latent variable, or leave a variable out; false if neither helps."""
        if self.n_classes == 1 or all(slot is None for slot in self.slots):
            return False
        if self._strength is None:
            self._strength = self._all_strengths()
        best: tuple[tuple[float, float], _Candidate, FloatArray] | None = None
        for proposals in self._proposals():
            for pair, i in proposals:
                for candidate, log_joint in self._candidates(pair, i):
                    least = self._best if best is None else best[0]
                    if candidate.revised:
                        least = (least[0] + self._standard_error(least[0]), least[1])
                    value = self._value(log_joint, least)
                    if value is not None:
                        best = (value, candidate, log_joint)
            if best is not None:
                break
        if self.settings.select and self._leave_out(self._best if best is None else best[0]):
            return True
        if best is None:
            return False
        self._best, candidate, self._log_joint = best
        self.scores.append(self._best[0])
        self._accept(candidate)
        return True

    def _leave_out(self, least: tuple[float, float]) -> bool:
        """Leave out the variable without which the score is best, if that is above `least`."""
        best: tuple[int, FloatArray] | None = None
        for s, slot in enumerate(self.slots):
            if slot is None:
                continue
            log_joint = self._log_joint.copy()
            self._kernels.add_logs(
                log_joint, self._fold, self._row, slot.evidence, -self._tables[s]
            )
            value = self._value(log_joint, least)
            if value is not None:
                least, best = value, (s, log_joint)
        if best is None:
            return False
        self._best, (s, self._log_joint) = least, best
        self.scores.append(self._best[0])
        self.ignored.append(self._slot(s).variable)
        self.slots[s], self._tables[s] = None, np.empty(0)
        assert self._strength is not None
        self._strength[:, s, :] = self._strength[:, :, s] = -np.inf
        return True

    def _proposals(self) -> Iterator[list[tuple[tuple[int, int], int]]]:
        """Pairs to try, each with the subset that makes its states, round by round."""
        if self.settings.search == "hill_climbing":
            return self._single()
        if self.settings.search == "published":
            return iter([self._strongest()])
        return self._rounds()

    def _strongest(self) -> list[tuple[tuple[int, int], int]]:
        """The strongest pair of each subset (step 3 (a) of Algorithm 3)."""
        assert self._strength is not None
        flat, n = self._strength.reshape(len(self._strength), -1), len(self.slots)
        places = enumerate(flat.argmax(axis=1).tolist())
        return [((place // n, place % n), i) for i, place in places if np.isfinite(flat[i, place])]

    def _single(self) -> Iterator[list[tuple[tuple[int, int], int]]]:
        """One pair at a time, the strongest first."""
        assert self._strength is not None
        flat, n = self._strength[0].reshape(-1), len(self.slots)
        for place in np.argsort(-flat, kind="stable").tolist():
            if not np.isfinite(flat[place]):
                return
            yield [((place // n, place % n), 0)]

    def _rounds(self) -> Iterator[list[tuple[tuple[int, int], int]]]:
        """In each round the strongest pair of each subset that was not proposed before.

        Most subsets agree on the strongest pair. If it did not help and were the only proposal, the
        search would end with all others untried.
        """
        assert self._strength is not None
        left, n = self._strength.reshape(len(self._strength), -1).copy(), len(self.slots)
        for _ in range(MAX_ROUNDS):
            proposals = []
            for i, strength in enumerate(left):
                place = int(strength.argmax())
                if np.isfinite(strength[place]):
                    proposals.append(((place // n, place % n), i))
                    left[:, place] = -np.inf
            if not proposals:
                return
            yield proposals

    def _candidates(self, pair: tuple[int, int], i: int) -> Iterator[tuple[_Candidate, FloatArray]]:
        """The pair joined by subset i, and the same with new states of a latent variable in it.

        The published search has the first alone.
        """
        both = [self._slot(s) for s in pair]
        yield self._try(pair, both[0], both[1], self._pair_states(both[0], both[1], i), {})
        if self.settings.search == "published":
            return
        for place in (0, 1):
            revised = self._revised(both, place, i)
            if revised is not None:
                slot, states, joined = revised
                changed = [*both[:place], slot, *both[place + 1 :]]
                yield self._try(pair, changed[0], changed[1], joined, {slot.variable: states})

    def _revised(
        self, both: list[_Slot], place: int, i: int
    ) -> tuple[_Slot, CodeArray, CodeArray] | None:
        """A latent variable of a pair with the states that its partner needs; the pair's states.

        Its states were made for the class alone. Combinations that say the same about the class are
        one state, even if they say something else together with the partner ("exactly two of
        three"). So all its combinations are crossed with the partner's states, the result is
        collapsed, and combinations that are alike in all of it become one state. None if that
        changes nothing.
        """
        old, other = both[place], both[1 - place]
        if old.variable not in self._below:
            return None
        first, second = self._below[old.variable]
        n_pairs = first.size * second.size
        if n_pairs == old.size or n_pairs * other.size > MAX_CROSSED:
            return None
        pairs = self._pair_codes(first, second)
        whole = self._joined(first, second, np.arange(n_pairs, dtype=np.int32), pairs)
        whole.variable = old.variable
        crossed = (whole, other) if place == 0 else (other, whole)
        table = self._pair_states(*crossed, i).reshape(crossed[0].size, crossed[1].size)
        table = table if place == 0 else table.T
        _, start, label = np.unique(table, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(start)  # states are numbered in the order of the combinations
        states = np.argsort(order).astype(np.int32)[label.reshape(-1)]
        latent = self.hierarchy.latent(old.variable)
        assert latent is not None
        if np.array_equal(states, latent.states.reshape(-1)):
            return None
        slot = self._joined(first, second, states, pairs)
        slot.variable = old.variable
        table = table[start[order]]
        return slot, states, (table if place == 0 else table.T).reshape(-1)

    def _pair_states(self, first: _Slot, second: _Slot, i: int) -> CodeArray:
        """States for a pair from subset i (Algorithm 2)."""
        key = (first.variable, first.size, second.variable, second.size)
        if key not in self._counts:
            size = first.size * second.size
            counts = self._count(self.subsets, self._pair_codes(first, second), size)
            total = counts.sum(axis=0)
            both = total.reshape(self.n_classes, first.size, second.size)
            # for a combination without rows: the counts of all rows, and a little of what
            # independence expects
            by_class = np.maximum(total.sum(axis=1), 1e-300)
            guess = both.sum(axis=2)[:, :, None] * both.sum(axis=1)[:, None, :]
            guess = guess.reshape(self.n_classes, -1) / by_class[:, None] + 1e-9
            trains = np.maximum(_without(counts, self.subsets.n_parts), 0.0)
            self._counts[key] = (trains, (total + 1e-3 * guess).T)
        if (*key, i) not in self._states:
            trains, expected = self._counts[key]
            self._states[*key, i] = collapse_states(
                trains[i].T, expected, self._subset_weight[i], exact=self.settings.exact
            )
        return self._states[*key, i]

    def _slot(self, s: int) -> _Slot:
        slot = self.slots[s]
        assert slot is not None
        return slot

    def _pair_codes(self, first: _Slot, second: _Slot) -> CodeArray:
        a, b = first.codes, second.codes
        pairs = a * np.int32(second.size) + b
        if len(first.partial) or len(second.partial):
            pairs = np.where((a >= 0) & (b >= 0), pairs, -1)
        return pairs

    def _try(
        self,
        pair: tuple[int, int],
        first: _Slot,
        second: _Slot,
        states: CodeArray,
        revised: dict[int, CodeArray],
    ) -> tuple[_Candidate, FloatArray]:
        """The candidate with its tables, and the held-out log joint probabilities with it.

        It joins `first` and `second`, which are the pair's slots, or one of them revised.
        """
        pairs = self._pair_codes(first, second)
        slot = self._joined(first, second, states, pairs)
        table = self._fold_table(slot)
        log_joint = self._kernels.exchange_logs(
            self._log_joint,
            self._fold,
            self._row,
            self._slot(pair[0]).evidence,
            self._tables[pair[0]],
            self._slot(pair[1]).evidence,
            self._tables[pair[1]],
            slot.evidence,
            table,
        )
        shaped = states.reshape(first.size, second.size)
        return _Candidate(pair, shaped, slot, table, revised, (first, second)), log_joint

    def _joined(self, first: _Slot, second: _Slot, states: CodeArray, pairs: CodeArray) -> _Slot:
        """The latent variable's evidence in each row."""
        variable, size = len(self.hierarchy.sizes), int(states.max()) + 1
        if not (len(first.partial) or len(second.partial)):
            return _Slot(variable, size, states.take(pairs), np.empty((0, size)))
        evidence = np.where(pairs >= 0, states[pairs], 0).astype(np.int32)
        open_ = np.flatnonzero(pairs < 0)
        width = second.size + len(second.partial)
        partly, which = np.unique(
            first.evidence[open_] * np.intp(width) + second.evidence[open_], return_inverse=True
        )
        # P(combination | state) does not depend on the class, so all rows may be used
        seen = pairs >= 0
        counts = np.bincount(pairs[seen], self.rows.weight[seen], len(states)) + max(
            self.settings.alpha, 1e-6
        )
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
        return _Slot(variable, size, evidence, partial[~sure])

    # ------------------------------------------------------------------ pair measures

    def _all_strengths(self) -> FloatArray:
        """Strength of every pair above the diagonal in every subset, shape (subsets, n, n)."""
        n, subsets = len(self.slots), self.subsets
        offsets = level_offsets(self.hierarchy.n_levels)
        strength = np.full((subsets.n_parts, n, n), -np.inf)
        level_bytes = 8 * self.n_classes * int(offsets[-1]) * subsets.n_parts
        for first, end in column_blocks(offsets, max(level_bytes, 1), PARTS_BYTES):
            trains = self._pair_counts(offsets, first, end)
            for a in range(first, min(end, n - 1)):
                later = offsets[a + 1 :]
                own = slice(offsets[a] - offsets[first], offsets[a + 1] - offsets[first])
                tables = trains[:, :, own, later[0] - offsets[first] :]
                strength[:, a, a + 1 :] = pair_strength(
                    tables, later - later[0], self.settings.measure
                )
        return strength

    def _pair_counts(self, offsets: IndexArray, first: int, end: int) -> FloatArray:
        """Weight of pairs of levels of some columns and all later ones, by subset and class."""
        later = offsets[first:] - offsets[first]
        parts = []
        for i in range(self.subsets.n_parts):
            which = self.subsets.part == i
            row = self.subsets.row[which]
            codes, y, weight = self.rows.codes[row], self.rows.y[row], self.subsets.weight[which]
            n_first = int(later[end - first])
            parts.append(pair_counts(codes[:, first:], y, weight, self.n_classes, later, n_first))
        if len(parts) > 1:
            total = np.sum(parts, axis=0)
            for counts in parts:  # in place: they are large
                np.maximum(np.subtract(total, counts, out=counts), 0.0, out=counts)
        return np.stack(parts) if len(parts) > 1 else parts[0][None]

    def _accept(self, candidate: _Candidate) -> None:
        first, second = candidate.pair
        children = (self._slot(first).variable, self._slot(second).variable)
        for variable, states in candidate.revised.items():
            self.hierarchy = self.hierarchy.revise(variable, states)
        self.hierarchy = self.hierarchy.join(*children, candidate.states)
        self._below[candidate.slot.variable] = candidate.children
        # variables that are no longer on top are not proposed again
        self._counts = {k: v for k, v in self._counts.items() if not {k[0], k[2]} & {*children}}
        self._states = {k: v for k, v in self._states.items() if not {k[0], k[2]} & {*children}}
        self.slots[first], self.slots[second] = candidate.slot, None
        self._tables[first], self._tables[second] = candidate.table, np.empty(0)
        assert self._strength is not None
        for s in candidate.pair:
            self._strength[:, s, :] = self._strength[:, :, s] = -np.inf
        others = np.array([s for s, x in enumerate(self.slots) if x is not None and s != first])
        if others.size:
            found = self._strengths_of(candidate.slot, others)
            before = others < first
            self._strength[:, others[before], first] = found[:, before]
            self._strength[:, first, others[~before]] = found[:, ~before]

    def _strengths_of(self, slot: _Slot, others: IndexArray) -> FloatArray:
        """Strength of a new variable with each of others, shape (subsets, len(others))."""
        subsets, chosen = self.subsets, [self._slot(int(s)) for s in others]
        offsets = level_offsets([other.size for other in chosen])
        code = slot.codes[subsets.row]
        group = np.where(code >= 0, subsets.group * np.int32(slot.size) + code, -1)
        n_groups = (subsets.n_parts + 1) * self.n_classes * slot.size
        counts = np.empty((n_groups, int(offsets[-1])))
        for other, start in zip(chosen, offsets.tolist(), strict=False):
            part = np.zeros((n_groups, other.size))
            self._kernels.add_counts(part, group, subsets.row, subsets.weight, other.evidence)
            counts[:, start : start + other.size] = part
        tables = counts.reshape(subsets.n_parts + 1, self.n_classes, slot.size, -1)
        trains = np.maximum(_without(tables, subsets.n_parts), 0.0)
        return pair_strength(trains, offsets, self.settings.measure)


def _without(counts: FloatArray, n_parts: int) -> FloatArray:
    """Counts of each subset: all rows except one part, or all rows if there is only one part."""
    total = counts.sum(axis=0)
    return np.asarray(total[None] if n_parts == 1 else (total - counts)[:n_parts])
