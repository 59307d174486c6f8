"""How strongly the parameters of a class are pulled to those of all classes: by evidence.

With few rows of a class its mean, variance and table are mostly chance. A prior pulls them to what
all classes share. Its strength is a number of pseudo-rows, and the data say how large it should be:
the evidence, the probability of the data with the parameters integrated out, has a closed form for
conjugate priors. It is computed for a grid of strengths. The strength used is their mean on the
logarithmic scale, weighted by the evidence, so that a strength that the data hardly determine is
not an extreme one.

Numbers: sigma^2 of a class has a scaled inverse chi-squared prior with nu pseudo-rows around the
variance within classes, and given it the mean a normal prior N(M, sigma^2 / kappa) around the mean
M of the column. Each column has its own kappa (a column that says nothing about the class has a
large one), and all share one nu.

Tables: the probabilities of a class have a Dirichlet prior, A pseudo-rows spread like the column
over all classes. Each column has its own A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine._counts import column_sums
from latentclass.engine._numeric import divide

MEAN_STRENGTHS = np.array([1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e2, 1e3])
"""The grid of kappa."""

VARIANCE_STRENGTHS = np.array([0.3, 1.0, 3.0, 10.0, 30.0, 1e2, 1e3])
"""The grid of nu."""

TABLE_STRENGTHS = np.array([0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 30.0, 1e2, 1e3])
"""The grid of A."""

LEAST_VARIANCE = 1e-8
"""Variance within classes, relative to the whole column's, below which it counts as unknown."""

BLOCK_ENTRIES = 2**20
"""Entries of the grid that are computed at once."""


class NumberStrengths(NamedTuple):
    """Priors of continuous columns.

    Attributes
    ----------
    mean : array of shape (p,)
        kappa, pseudo-rows of the mean.
    variance : float
        nu, pseudo-rows of the variance.
    level : array of shape (p,)
        The variance within classes, towards which variances are pulled.
    """

    mean: FloatArray
    variance: float
    level: FloatArray


def number_strengths(
    weight: FloatArray,
    mean: FloatArray,
    scatter: FloatArray,
    overall_mean: FloatArray,
    overall_variance: FloatArray,
) -> NumberStrengths:
    """Strengths from the weight, mean and scatter of each class, (K, p), and the whole columns."""
    level = _variance_within(weight, scatter, overall_variance)
    n_classes, n_columns = weight.shape
    shape = (len(VARIANCE_STRENGTHS), len(MEAN_STRENGTHS))
    evidence = np.zeros((*shape, n_columns))
    size = max(1, BLOCK_ENTRIES // (shape[0] * shape[1] * max(1, n_classes)))
    for start in range(0, n_columns, size):
        some = slice(start, start + size)
        distance = (mean[:, some] - overall_mean[some]) ** 2
        evidence[..., some] = _number_evidence(
            weight[:, some], distance, scatter[:, some], level[some]
        )
    # kappa is integrated out for nu, since each column has its own
    top = evidence.max(axis=1)
    total = top + np.log(np.exp(evidence - top[:, None]).sum(axis=1))
    varies = overall_variance > 0  # a constant column says nothing about variances
    share = _shares(total[:, varies].sum(axis=1)[:, None])[:, 0]
    nu = float(np.exp(share @ np.log(VARIANCE_STRENGTHS)))
    by_column = np.einsum("v,kvp->kp", share, _shares(np.swapaxes(evidence, 0, 1)))
    kappa = np.exp(np.log(MEAN_STRENGTHS) @ by_column)
    return NumberStrengths(np.asarray(kappa), nu, level)


def _variance_within(
    weight: FloatArray, scatter: FloatArray, overall_variance: FloatArray
) -> FloatArray:
    """The variance within classes, all together; that of the column where it is not known."""
    freedom = np.maximum(weight - 1.0, 0.0).sum(axis=0)
    within = divide(scatter.sum(axis=0), freedom)
    known = (freedom > 0) & (within > LEAST_VARIANCE * overall_variance)
    level = np.where(known, within, overall_variance)
    return np.where(level > 0, level, 1.0)  # a constant column: any number does


def _number_evidence(
    weight: FloatArray, distance: FloatArray, scatter: FloatArray, level: FloatArray
) -> FloatArray:
    """Log evidence for each nu and kappa, summed over the classes, up to a constant (nu, kappa, p).

    `distance` is the square of that of the class's mean from the column's.
    """
    from scipy.special import gammaln  # slow to import

    nu = VARIANCE_STRENGTHS[:, None, None, None]
    kappa = MEAN_STRENGTHS[:, None, None]
    total = kappa + weight
    squares = nu * level + scatter + kappa * weight / total * distance
    rows = 0.5 * (nu + weight)
    own = gammaln(rows) - gammaln(0.5 * nu) + 0.5 * nu * np.log(nu * level)
    log_evidence = own - rows * np.log(squares) + 0.5 * np.log(kappa / total)
    return np.asarray(log_evidence.sum(axis=2))


def table_mass(counts: FloatArray, overall: FloatArray, offsets: IndexArray) -> FloatArray:
    """Pseudo-counts of each level, from the counts of K distributions (K, L) of each column.

    `overall` (L,) are the counts of the levels in all rows.
    """
    n_levels = np.diff(offsets)
    used = n_levels > 0
    if not used.any():
        return np.zeros(len(overall))
    from scipy.special import gammaln  # slow to import

    starts = np.append(offsets[:-1][used], offsets[-1])
    n_levels = n_levels[used]
    share = (overall + 1.0) / np.repeat(column_sums(overall + 1.0, starts), n_levels)
    evidence = np.zeros((len(TABLE_STRENGTHS), len(n_levels)))
    rows = column_sums(counts, starts)
    for place, strength in enumerate(TABLE_STRENGTHS):
        mass = strength * share
        terms = (gammaln(counts + mass) - gammaln(mass)).sum(axis=0)
        whole = (gammaln(strength) - gammaln(strength + rows)).sum(axis=0)
        evidence[place] = column_sums(terms, starts) + whole
    strength = np.exp(np.log(TABLE_STRENGTHS) @ _shares(evidence))
    return np.asarray(np.repeat(strength, n_levels) * share)


def _shares(log_evidence: FloatArray) -> FloatArray:
    """Posterior of the strengths, which are on the first axis."""
    share = np.exp(log_evidence - log_evidence.max(axis=0, initial=-np.inf))
    return np.asarray(share / share.sum(axis=0))
