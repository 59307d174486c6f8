"""A sample of rows in parts that depends on what the rows hold, not on where they stand.

Every row is drawn with a given chance. Equal rows have the same hash, so it cannot decide about
each of them, but it decides about all of them together: of m equal rows, a number is drawn that is
binomial as the hash varies. If one looks at the m rows in turn, the first that is drawn comes after
T others. T is geometric and known from the hash alone, so equal rows are of interest if m > T.

To find them without counting all distinct rows, each row scores 1 / (T + 1). Those of interest
score at least 1 together, and the sum of all scores is about k log(N / k) if k of N rows are drawn.
So a frequency summary of a few times that size keeps all of them (Misra and Gries 1982; that it can
be merged: Agarwal and others 2013). A second pass over the parts counts what the summary kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._content_folds import KeyArray, mix_key

ROOM = 4
"""Size of the summary, in multiples of the expected sum of scores."""


class Summary(NamedTuple):
    """Scores of some of the distinct rows, by their hash.

    A distinct row scored at most `lost` more than what is noted here, or at most `lost` if it is
    not here at all.
    """

    key: KeyArray
    score: FloatArray
    lost: float = 0.0

    @property
    def candidates(self) -> KeyArray:
        """Hashes of all distinct rows that may be drawn, sorted."""
        return self.key[self.score + self.lost >= 1.0 - 1e-9]


def summary_size(chance: FloatArray, n_rows: FloatArray) -> int:
    """How many distinct rows a summary keeps, given each class's chance and number of rows."""
    return int(ROOM * np.sum(n_rows * chance * (1.0 - np.log(chance)))) + 1


def summarise(key: KeyArray, chance: FloatArray) -> Summary:
    """The scores of rows, given their hashes and their chances to be drawn."""
    distinct, first, count = np.unique(key, return_index=True, return_counts=True)
    return Summary(distinct, count / (_waiting(distinct, chance[first]) + 1.0))


def merge_summaries(first: Summary, second: Summary, size: int) -> Summary:
    """The summary of two sets of rows together."""
    key, place = np.unique(np.concatenate([first.key, second.key]), return_inverse=True)
    scores = np.concatenate([first.score, second.score])
    score = np.bincount(place.reshape(-1), scores).astype(np.float64)
    lost = first.lost + second.lost
    if len(key) <= size:
        return Summary(key, score, lost)
    least = float(np.partition(score, -size - 1)[-size - 1])
    kept = score > least
    return Summary(key[kept], score[kept] - least, lost + least)


def number_drawn(key: KeyArray, count: IndexArray, chance: FloatArray) -> IndexArray:
    """How many of `count` equal rows are drawn, given their hash."""
    waiting = _waiting(key, chance)
    more = binom.ppf(_uniform(key, 2), np.maximum(count - waiting - 1.0, 0.0), chance)
    return np.where(count > waiting, 1 + more, 0).astype(np.intp)


def _waiting(key: KeyArray, chance: FloatArray) -> FloatArray:
    """T, how many equal rows come before the first that is drawn."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.floor(np.log(_uniform(key, 1)) / np.log1p(-chance)))


def _uniform(key: KeyArray, salt: int) -> FloatArray:
    """Numbers between 0 and 1, without the ends, from hashes."""
    bits = mix_key(key + np.uint64(salt)) >> np.uint64(11)
    return np.asarray((bits.astype(np.float64) + 0.5) / 2.0**53)
