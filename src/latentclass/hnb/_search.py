"""The search for a hierarchy: which pair to join, into which states, and whether that helps.

Algorithms 1 to 3 of Langseth and Nielsen (2006). Everything is counted on distinct rows, which are
assigned to parts (see `engine._content_folds`). The folds of the held-out accuracy make states of
their own (see `_views`); in the published search they have those that all rows made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.engine._content_folds import DistinctRows, FoldWeights
from latentclass.engine._counts import column_blocks, level_offsets, pair_counts
from latentclass.engine._logspace import log_normalise
from latentclass.hnb._hierarchy import Hierarchy
from latentclass.hnb._states import collapse_states, expected_counts, pair_strength
from latentclass.hnb._views import FoldView, Joined, Pair, Slot, View, pair_codes

PARTS_BYTES = 2**26
"""Size of a block of columns' pair counts in all parts."""

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

    `ignored` are the top variables that were left out: they say nothing about the class. `left_out`
    is log p(row | class) up to a constant, (rows, K), from the folds that test the row; None in the
    published search, whose folds take their states from all rows.
    """

    hierarchy: Hierarchy
    scores: list[float]
    ignored: tuple[int, ...] = ()
    left_out: FloatArray | None = None


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
    """A pair of places to join: the states from all rows, and how each fold joins it.

    `states` is the state of each combination of `pair`, the variables at the two places. Of these,
    `revised` has new states of latent variables by their number.
    """

    places: tuple[int, int]
    pair: Pair
    states: CodeArray
    revised: dict[int, CodeArray]
    folds: list[Joined]


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
    ignored = tuple(sorted(search.ignored))
    return FoundHierarchy(search.hierarchy, search.scores, ignored, search.left_out())


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
        self.hierarchy = Hierarchy(n_levels)
        self.ignored: list[int] = []
        self.whole = View(rows, rows.weight, n_levels, settings.alpha)
        self.folds = [
            FoldView(
                rows,
                folds.held(number, len(rows.y)),
                n_levels,
                n_classes,
                settings.alpha,
                exact=settings.exact,
            )
            for number in range(folds.n_parts)
        ]
        self._own = np.concatenate([fold.own for fold in self.folds])
        self._weight = np.concatenate([fold.tested_weight for fold in self.folds])
        self._n_tested = max(float(self._weight.sum()), 1e-300)
        beginning = self._log_joint([fold.log_joint for fold in self.folds])
        self._best = (self._accuracy(beginning), self._log_score(beginning))
        self.scores = [self._best[0]]
        self._strength: FloatArray | None = None
        # counts and states of proposed pairs, to be used again in the next step
        self._counts: dict[tuple[tuple[int, int], ...], tuple[FloatArray, FloatArray]] = {}
        self._states: dict[tuple[tuple[int, int], tuple[int, int], int], CodeArray] = {}
        weights = np.bincount(subsets.part, subsets.weight, subsets.n_parts + 1).astype(np.float64)
        self._subset_weight = _without(weights, subsets.n_parts).tolist()

    # ------------------------------------------------------------- held-out accuracy

    @staticmethod
    def _log_joint(parts: list[FloatArray]) -> FloatArray:
        """log P(class, row) of the tested rows of all folds, (K, tested)."""
        return np.concatenate(parts, axis=1)

    def _accuracy(self, log_joint: FloatArray) -> float:
        """Share of the tested weight that is given its own class; ties are shared."""
        right = self._kernels.weight_right(log_joint, self._own, self._weight)
        # rounded, so that the order of the sums decides nothing
        return float(np.round(right / self._n_tested, 12))

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
        return float(np.sqrt(accuracy * (1.0 - accuracy) / self._n_tested))

    def _log_score(self, log_joint: FloatArray) -> float:
        if self.settings.search == "published":
            return 0.0
        posterior = log_normalise(np.ascontiguousarray(log_joint.T))
        own = np.maximum(posterior[np.arange(len(self._own)), self._own], -36.0)
        return float(np.round(self._weight @ own / self._n_tested, 10))

    def left_out(self) -> FloatArray | None:
        """What the hierarchy says of rows that neither its states nor its tables have seen.

        A row in several folds has the mean of what they say; one in none has NaN.
        """
        if self.settings.search == "published":
            return None
        total = np.zeros((len(self.rows.y), self.n_classes))
        weight = np.zeros(len(total))
        for fold in self.folds:
            evidence = (fold.log_joint - fold.log_prior[:, None]).T
            total[fold.tested] += evidence * fold.tested_weight[:, None]
            weight[fold.tested] += fold.tested_weight
        with np.errstate(invalid="ignore"):
            return np.asarray(total / weight[:, None])

    # --------------------------------------------------------------------- candidates

    def step(self) -> bool:
        """Add the best latent variable, or leave a variable out; false if neither helps."""
        if self.n_classes == 1 or all(slot is None for slot in self.whole.slots):
            return False
        if self._strength is None:
            self._strength = self._all_strengths()
        best: tuple[tuple[float, float], _Candidate] | None = None
        for proposals in self._proposals():
            for places, i in proposals:
                for candidate in self._candidates(places, i):
                    least = self._best if best is None else best[0]
                    if candidate.revised:
                        least = (least[0] + self._standard_error(least[0]), least[1])
                    log_joint = self._log_joint([one.log_joint for one in candidate.folds])
                    value = self._value(log_joint, least)
                    if value is not None:
                        best = (value, candidate)
            if best is not None:
                break
        if self.settings.select and self._leave_out(self._best if best is None else best[0]):
            return True
        if best is None:
            return False
        self._best, candidate = best
        self.scores.append(self._best[0])
        self._accept(candidate)
        return True

    def _leave_out(self, least: tuple[float, float]) -> bool:
        """Leave out the variable without which the score is best, if that is above `least`."""
        best: tuple[int, list[FloatArray]] | None = None
        for s, slot in enumerate(self.whole.slots):
            if slot is None:
                continue
            parts = [fold.without(s) for fold in self.folds]
            value = self._value(self._log_joint(parts), least)
            if value is not None:
                least, best = value, (s, parts)
        if best is None:
            return False
        self._best, (s, parts) = least, best
        self.scores.append(self._best[0])
        self.ignored.append(self.whole.slot(s).variable)
        self.whole.slots[s] = None
        for fold, log_joint in zip(self.folds, parts, strict=True):
            fold.leave_out(s, log_joint)
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
        flat, n = self._strength.reshape(len(self._strength), -1), len(self.whole.slots)
        places = enumerate(flat.argmax(axis=1).tolist())
        return [((place // n, place % n), i) for i, place in places if np.isfinite(flat[i, place])]

    def _single(self) -> Iterator[list[tuple[tuple[int, int], int]]]:
        """One pair at a time, the strongest first."""
        assert self._strength is not None
        flat, n = self._strength[0].reshape(-1), len(self.whole.slots)
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
        left, n = self._strength.reshape(len(self._strength), -1).copy(), len(self.whole.slots)
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

    def _candidates(self, places: tuple[int, int], i: int) -> Iterator[_Candidate]:
        """The pair joined by subset i, and the same with new states of a latent variable in it.

        The published search has the first alone, and the folds use its states.
        """
        pair = self.whole.pair(places)
        variable = len(self.hierarchy.sizes)
        states = self._pair_states(*pair, i)
        given = states if self.settings.search == "published" else None
        joined = [fold.try_join(places, variable, states=given) for fold in self.folds]
        yield _Candidate(places, pair, states, {}, joined)
        if given is not None:
            return
        for place in (0, 1):
            anew = self.whole.revise(pair, place, partial(self._pair_states, i=i))
            if anew is None:
                continue
            number = pair[place].variable
            latent = self.hierarchy.latent(number)
            assert latent is not None
            if np.array_equal(anew.states, latent.states.reshape(-1)):
                continue
            joined = [fold.try_join(places, variable, revise=place) for fold in self.folds]
            yield _Candidate(places, anew.pair, anew.joined, {number: anew.states}, joined)

    def _pair_states(self, first: Slot, second: Slot, i: int) -> CodeArray:
        """States for a pair from subset i (Algorithm 2)."""
        key = (first.key, second.key)
        if key not in self._counts:
            counts = self._count_in_subsets(pair_codes((first, second)), first.size * second.size)
            total = counts.sum(axis=0)
            trains = np.maximum(_without(counts, self.subsets.n_parts), 0.0)
            self._counts[key] = (trains, expected_counts(total, first.size))
        if (*key, i) not in self._states:
            trains, expected = self._counts[key]
            self._states[*key, i] = collapse_states(
                trains[i].T, expected, self._subset_weight[i], exact=self.settings.exact
            )
        return self._states[*key, i]

    def _count_in_subsets(self, codes: CodeArray, size: int) -> FloatArray:
        """Weight by part, class and level, shape (n_parts + 1, K, size)."""
        entries = self.subsets
        counts = np.zeros(((entries.n_parts + 1) * self.n_classes, size))
        self._kernels.add_counts(counts, entries.group, entries.row, entries.weight, codes)
        return counts.reshape(entries.n_parts + 1, self.n_classes, size)

    # ------------------------------------------------------------------ pair measures

    def _all_strengths(self) -> FloatArray:
        """Strength of every pair above the diagonal in every subset, shape (subsets, n, n)."""
        n, subsets = len(self.whole.slots), self.subsets
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
        first = candidate.places[0]
        children = (candidate.pair[0].variable, candidate.pair[1].variable)
        slot = self.whole.join(candidate.pair, candidate.states, len(self.hierarchy.sizes))
        for variable, states in candidate.revised.items():
            self.hierarchy = self.hierarchy.revise(variable, states)
        shaped = candidate.states.reshape(candidate.pair[0].size, candidate.pair[1].size)
        self.hierarchy = self.hierarchy.join(*children, shaped)
        self.whole.accept(candidate.places, candidate.pair, slot)
        for fold, joined in zip(self.folds, candidate.folds, strict=True):
            fold.take(candidate.places, joined)
        # variables that are no longer on top are not proposed again
        gone = {*children}
        self._counts = {k: v for k, v in self._counts.items() if not {k[0][0], k[1][0]} & gone}
        self._states = {k: v for k, v in self._states.items() if not {k[0][0], k[1][0]} & gone}
        assert self._strength is not None
        for s in candidate.places:
            self._strength[:, s, :] = self._strength[:, :, s] = -np.inf
        others = np.array(
            [s for s, x in enumerate(self.whole.slots) if x is not None and s != first]
        )
        if others.size:
            found = self._strengths_of(slot, others)
            before = others < first
            self._strength[:, others[before], first] = found[:, before]
            self._strength[:, first, others[~before]] = found[:, ~before]

    def _strengths_of(self, slot: Slot, others: IndexArray) -> FloatArray:
        """Strength of a new variable with each of others, shape (subsets, len(others))."""
        subsets, chosen = self.subsets, [self.whole.slot(int(s)) for s in others]
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
