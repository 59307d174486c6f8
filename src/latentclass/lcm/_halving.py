"""Halving: few yes-or-no questions for each row about a column with many categories.

With one question for each category in turn, a row of the last of K categories answers K - 1
questions. Here a question splits the categories that are left into two groups of about the same
share, so that a row answers about log2(K) questions, of K - 1 in all. Both answers are about
equally probable, and that is where the bound on a logistic factor is tight.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray

NOTHING_ASKED = np.empty((0, 0), dtype=np.intp)
"""`asked` of rows that answer all questions."""


class Halving(NamedTuple):
    """The questions of one column, numbered from 0.

    `asked` (K, D) are the questions that each category answers, in their order, -1 beyond the last
    one. `answer` (K, D) is 1 for yes, -1 for no, and 0 beyond the last one.
    """

    asked: IndexArray
    answer: IndexArray

    @property
    def depth(self) -> int:
        """The largest number of questions that a category answers."""
        return int(self.asked.shape[1])

    def groups(self) -> list[tuple[int, ...]]:
        """The categories that answer yes to each question."""
        out: list[list[int]] = [[] for _ in range(len(self.asked) - 1)]
        for level, place in np.argwhere(self.answer > 0).tolist():
            out[self.asked[level, place]].append(level)
        return [tuple(levels) for levels in out]

    def counts(self) -> FloatArray:
        """Number of categories that answer yes and no to each question, (2, questions)."""
        n = len(self.asked) - 1
        both = (np.bincount(self.asked[self.answer == sign], minlength=n) for sign in (1, -1))
        return np.stack(list(both)).astype(np.float64)

    def log_probabilities(self, logits: FloatArray) -> FloatArray:
        """log P(category), from the logits of the questions on the last axis."""
        out = np.zeros((*logits.shape[:-1], len(self.asked)))
        for question, answer in zip(self.asked.T, self.answer.T, strict=True):
            mine = np.flatnonzero(answer)
            out[..., mine] -= np.logaddexp(0.0, -answer[mine] * logits[..., question[mine]])
        return out


def halve_levels(share: FloatArray) -> Halving:
    """Make the questions by Huffman's algorithm: the two rarest groups are joined, again and again.

    Half of a category's share is even, so that no category needs many questions. Of equal shares
    the first category comes first.
    """
    n_levels = len(share)
    half = np.round(share + 1.0 / n_levels, 9)
    heap: list[tuple[float, int, tuple[int, ...]]] = [
        (float(weight), place, (place,)) for place, weight in enumerate(half)
    ]
    heapq.heapify(heap)
    paths: list[list[tuple[int, int]]] = [[] for _ in range(n_levels)]
    for question in range(n_levels - 2, -1, -1):
        less, more = heapq.heappop(heap), heapq.heappop(heap)
        for group, answer in ((less[2], 1), (more[2], -1)):
            for level in group:
                paths[level].append((question, answer))
        joined = round(less[0] + more[0], 9), min(less[1], more[1]), less[2] + more[2]
        heapq.heappush(heap, joined)
    out = np.full((2, n_levels, max(len(path) for path in paths)), -1, dtype=np.intp)
    out[1] = 0
    for level, path in enumerate(paths):
        out[:, level, : len(path)] = np.array(path[::-1]).T
    return Halving(out[0], out[1])
