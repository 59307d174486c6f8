"""Cut points of a column on rows with random weights.

Where a column is cut depends on which rows happen to be in the sample. The Bayesian bootstrap
(Rubin 1981) shows how much: each row's weight w becomes a draw from a Gamma distribution with mean
w. The random numbers are hashes of the column's values, as in `engine._content_folds`. So the order
of rows, columns and classes changes nothing, and weight 2 equals the row twice.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv

from latentclass._types import FloatArray
from latentclass.engine._content_folds import level_words, mix_key
from latentclass.engine._mdl import mdl_cut_points


def redrawn_cuts(
    values: FloatArray,
    y: npt.NDArray[np.integer],
    weight: FloatArray,
    n_classes: int,
    seeds: list[int],
) -> list[FloatArray]:
    """Sorted cut points for each seed, by Fayyad and Irani's criterion; possibly none.

    Parameters as in `mdl_cut_points`.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=60)
    >>> y = (values + np.random.default_rng(1).normal(0, 0.5, 60) > 0).astype(int)
    >>> [cuts.round(2).tolist() for cuts in redrawn_cuts(values, y, np.ones(60), 2, [1, 2, 3])]
    [[0.12], [0.12], [-0.15]]
    """
    known = ~np.isnan(values)
    distinct, rank = np.unique(values[known], return_inverse=True)
    counts = np.bincount(
        rank.reshape(-1) * n_classes + y[known], weight[known], len(distinct) * n_classes
    ).reshape(len(distinct), n_classes)
    # a class is known by its weight and place; digits beyond nine depend on the order of sums
    where = (np.arange(len(distinct)) + 1.0) @ counts
    marks = [
        crc32(f"{total:.9g} {place:.9g}".encode())
        for total, place in zip(counts.sum(axis=0), where, strict=True)
    ]
    value, label = np.nonzero(counts > 0)
    mean = counts[value, label]
    other = np.flatnonzero(mean != 1.0)
    found = []
    for seed in seeds:
        words = np.array([level_words([seed, mark], np.zeros(1, int))[0] for mark in marks])
        key = level_words([seed, *sorted(marks)], value) + words[label]
        chance = (mix_key(key) >> np.uint64(11)) * 2.0**-53
        drawn = -np.log1p(-chance)  # Gamma with mean 1 is the exponential distribution
        drawn[other] = gammaincinv(mean[other], chance[other])
        kept = drawn > 0
        found.append(
            mdl_cut_points(distinct[value[kept]], label[kept], drawn[kept], n_classes)
            if kept.any()
            else np.empty(0)
        )
    return found
