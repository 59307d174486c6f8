"""Significance tests: pure functions on arrays of scores.

There are two different questions. Do classifiers differ on one data set? This is answered from
their scores on the same folds (`paired_t_test`, `corrected_t_test`). Do they differ over many data
sets? This is answered from one score per data set (`wilcoxon_test`, `friedman_test`,
`kohavi_pooled_test`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from latentclass._types import FloatArray
from latentclass._warn import recorded_warnings


class PairResult(NamedTuple):
    """Result of a test of two classifiers.

    Attributes
    ----------
    difference : float
        Mean score of the first minus that of the second.
    statistic : float
        The test statistic.
    p_value : float
        NaN if the test is not defined, for example with a single fold.
    """

    difference: float
    statistic: float
    p_value: float


class FriedmanResult(NamedTuple):
    """Result of Friedman's test.

    Attributes
    ----------
    mean_ranks : array of shape (n_classifiers,)
        Mean rank of each classifier over the data sets. 1 is best; ties share their mean rank.
    chi2, p_chi2 : float
        Friedman's statistic and its p-value from the chi-square distribution.
    f, p_f : float
        Iman and Davenport's statistic, which is less conservative, and its p-value from the F
        distribution.
    n_datasets : int
        Number of data sets used: those on which every classifier has a score.
    """

    mean_ranks: FloatArray
    chi2: float
    p_chi2: float
    f: float
    p_f: float
    n_datasets: int


def kohavi_sd(accuracy: npt.ArrayLike, n_rows: npt.ArrayLike) -> FloatArray:
    """Theoretical standard deviation of an accuracy: sqrt(a (1 - a) / N).

    This is the standard deviation of a binomial share [1]_. It assumes that the N test rows are
    classified correctly or not independently of each other, and it ignores how scores vary between
    folds. In cross-validation, N is the number of all rows that were tested, not of one fold.

    References
    ----------
    .. [1] Kohavi, R. (1995). A study of cross-validation and bootstrap for accuracy estimation
       and model selection. IJCAI, 1137-1143.

    Examples
    --------
    >>> print(kohavi_sd(0.94, 150).round(4))  # iris in the HNB paper: 94.00 +/- 2.0 (1.94)
    0.0194
    """
    share = np.asarray(accuracy, dtype=np.float64)
    return np.asarray(np.sqrt(share * (1 - share) / np.asarray(n_rows)))


def paired_t_test(first: npt.ArrayLike, second: npt.ArrayLike) -> PairResult:
    """Two-sided paired t-test of the scores of two classifiers on the same J folds.

    t = mean(d) / (s_d / sqrt(J)) with J - 1 degrees of freedom, where d are the differences by
    fold. The test assumes independent folds, but their training rows overlap, so it finds
    differences that do not exist. Prefer `corrected_t_test`. Table 2 of the LTC paper uses this
    test.

    Examples
    --------
    >>> result = paired_t_test([0.9, 0.8, 0.85], [0.8, 0.75, 0.85])
    >>> print(round(result.statistic, 4), round(result.p_value, 4))
    1.7321 0.2254
    """
    return _t_test(_differences(first, second), overlap=0.0)


def corrected_t_test(
    first: npt.ArrayLike, second: npt.ArrayLike, n_train: npt.ArrayLike, n_test: npt.ArrayLike
) -> PairResult:
    """Corrected resampled t-test of Nadeau and Bengio, two-sided.

    t = mean(d) / sqrt((1/J + n_test/n_train) s_d^2) with J - 1 degrees of freedom [1]_. The second
    term accounts for the correlation between folds whose training rows overlap. It is an
    approximation for random splits that is also common for (repeated) cross-validation.

    Parameters
    ----------
    first, second : array-like of shape (n_folds,)
        Scores on the same folds.
    n_train, n_test : array-like of shape (n_folds,) or int
        Number of labelled training rows and of test rows in each fold. Their means are used.

    References
    ----------
    .. [1] Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine
       Learning 52, 239-281.

    Examples
    --------
    >>> result = corrected_t_test([0.9, 0.8, 0.85], [0.8, 0.75, 0.85], n_train=20, n_test=10)
    >>> print(round(result.statistic, 4))  # the variance is 1/3 + 1/2 where it was 1/3
    1.0954
    """
    overlap = float(np.mean(np.asarray(n_test)) / np.mean(np.asarray(n_train)))
    return _t_test(_differences(first, second), overlap)


def _differences(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"Scores must be two lists of the same length, found shapes {a.shape} and {b.shape}. "
            "Pass one score of each classifier for the same folds or data sets, in the same order."
        )
    return a - b


def _t_test(d: FloatArray, overlap: float) -> PairResult:
    n_folds, mean = len(d), float(np.mean(d)) if len(d) else math.nan
    if n_folds < 2 or math.isnan(mean):
        return PairResult(mean, math.nan, math.nan)
    # the variance of equal differences may consist of rounding errors only
    variance = float(np.var(d, ddof=1)) if np.ptp(d) > 1e-12 * np.max(np.abs(d)) else 0.0
    error = math.sqrt((1 / n_folds + overlap) * variance)
    statistic = _ratio(mean, error)
    return PairResult(mean, statistic, float(2 * stats.t.sf(abs(statistic), n_folds - 1)))


def _ratio(mean: float, error: float) -> float:
    """Divide a mean by its standard error, which may be 0."""
    if error == 0:
        return 0.0 if mean == 0 else math.copysign(math.inf, mean)
    return mean / error


def wilcoxon_test(first: npt.ArrayLike, second: npt.ArrayLike) -> PairResult:
    """Wilcoxon's two-sided signed-rank test on one score per data set.

    The ranks of data sets on which both are equal are split between the two sides, as in [1]_. The
    test assumes that data sets are independent and that larger differences count more. It does not
    assume a normal distribution. `scipy.stats.wilcoxon` computes it: exactly for few data sets
    without ties, otherwise with a normal approximation.

    References
    ----------
    .. [1] Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
       JMLR 7, 1-30.

    Examples
    --------
    >>> wilcoxon_test([0.9, 0.8, 0.7, 0.6, 0.5], [0.8, 0.75, 0.68, 0.59, 0.47]).p_value
    0.0625
    """
    d = _differences(first, second)
    d = d[~np.isnan(d)]
    if not len(d):
        return PairResult(math.nan, math.nan, math.nan)
    if not d.any():  # scipy returns NaN here
        return PairResult(0.0, len(d) * (len(d) + 1) / 4, 1.0)
    with recorded_warnings():  # some versions of scipy warn that they use the approximation
        # rounded, so that differences that are equal up to rounding errors are ties
        result = stats.wilcoxon(np.round(d, 12), zero_method="zsplit")
    return PairResult(float(d.mean()), float(result.statistic), float(result.pvalue))


def rank_rows(scores: npt.ArrayLike, *, greater_is_better: bool = True) -> FloatArray:
    """Return the ranks within each row: 1 is best, and equal scores share their mean rank."""
    table = np.asarray(scores, dtype=np.float64)
    ranks = stats.rankdata(-table if greater_is_better else table, axis=1)
    return np.asarray(ranks, dtype=np.float64)


def friedman_test(
    scores: npt.ArrayLike, *, greater_is_better: bool = True, correct_ties: bool = True
) -> FriedmanResult:
    """Friedman's test that all classifiers have equal mean ranks, with Iman and Davenport's F.

    chi2 = 12 N / (k (k + 1)) (sum_j R_j^2 - k (k + 1)^2 / 4), with k - 1 degrees of freedom,
    divided by 1 - sum (t^3 - t) / (N (k^3 - k)) for groups of t ties (as scipy and R do); and
    F = (N - 1) chi2 / (N (k - 1) - chi2), with k - 1 and (k - 1)(N - 1) degrees of freedom [1]_.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_classifiers)
        Data sets with a NaN are left out.
    greater_is_better : bool, default=True
        Whether a higher score is better.
    correct_ties : bool, default=True
        Whether to correct for ties. Without the correction the statistic is that of [1]_, which is
        smaller if there are ties.

    References
    ----------
    .. [1] Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
       JMLR 7, 1-30.

    Examples
    --------
    >>> result = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.7, 0.6, 0.6], [0.9, 0.7, 0.8]])
    >>> print(result.mean_ranks, round(result.chi2, 3), round(result.p_chi2, 4))
    [1.    2.375 2.625] 6.533 0.0381
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise ValueError(
            f"scores has shape {table.shape}. Pass a table with one row per data set and one "
            "column per classifier."
        )
    table = table[~np.isnan(table).any(axis=1)]
    n, k = table.shape
    if n < 1:
        return FriedmanResult(np.full(k, math.nan), math.nan, math.nan, math.nan, math.nan, n)
    ranks = rank_rows(table, greater_is_better=greater_is_better)
    means = ranks.mean(axis=0)
    if n < 2 or k < 2:
        return FriedmanResult(means, math.nan, math.nan, math.nan, math.nan, n)
    chi2 = 12 * n / (k * (k + 1)) * float(np.sum((means - (k + 1) / 2) ** 2))
    if correct_ties:
        sizes = (np.unique(row, return_counts=True)[1] for row in ranks)
        tied = sum(float(np.sum(size**3 - size)) for size in sizes) / (n * (k**3 - k))
        chi2 = chi2 / (1 - tied) if tied < 1 else 0.0  # all scores are equal
    room = n * (k - 1) - chi2
    f = (n - 1) * chi2 / room if room > 1e-9 else math.inf
    return FriedmanResult(
        means,
        chi2,
        float(stats.chi2.sf(chi2, k - 1)),
        f,
        float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        n,
    )


def nemenyi_difference(n_classifiers: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Critical difference of mean ranks by Nemenyi: q_alpha sqrt(k (k + 1) / (6 N)).

    q_alpha is the quantile of the studentized range divided by sqrt(2). Two of k classifiers
    differ if their mean ranks over N data sets differ by more than this. The probability that any
    such statement is wrong is at most `alpha`. Use it after Friedman's test has found a
    difference.

    Examples
    --------
    >>> print(round(nemenyi_difference(4, 14), 2))  # Demsar's example: 1.25
    1.25
    """
    quantile = stats.studentized_range.ppf(1 - alpha, n_classifiers, math.inf) / math.sqrt(2)
    k = n_classifiers
    return float(quantile * math.sqrt(k * (k + 1) / (6 * n_datasets)))


def nemenyi_p_values(mean_ranks: npt.ArrayLike, n_datasets: int) -> FloatArray:
    """Nemenyi's p-value of each pair, from the studentized range at their rank difference.

    Examples
    --------
    >>> print(nemenyi_p_values([3.143, 2.0, 2.893, 1.964], 14).round(3)[0])
    [1.    0.089 0.956 0.074]
    """
    ranks = np.asarray(mean_ranks, dtype=np.float64)
    k = len(ranks)
    error = math.sqrt(k * (k + 1) / (12 * n_datasets))
    distance = np.abs(ranks[:, None] - ranks[None, :]) / error
    return np.asarray(np.clip(stats.studentized_range.sf(distance, k, math.inf), 0.0, 1.0))


def groups_alike(mean_ranks: npt.ArrayLike, difference: float) -> list[list[int]]:
    """Find the largest groups of classifiers whose mean ranks differ by at most `difference`.

    These are the bars of a critical-difference diagram. Groups of one are left out. The members of
    a group are in rank order.

    Examples
    --------
    >>> groups_alike([3.143, 2.0, 2.893, 1.964], 1.12)
    [[3, 1, 2], [2, 0]]
    """
    ranks = np.asarray(mean_ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    groups: list[list[int]] = []
    reach = 0  # end of the last group: a group within it adds nothing
    for start in range(len(order)):
        stop = int(np.searchsorted(ranks[order], ranks[order[start]] + difference, side="right"))
        if stop - start > 1 and stop > reach:
            groups.append([int(j) for j in order[start:stop]])
            reach = stop
    return groups


def kohavi_pooled_test(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    first_sd: npt.ArrayLike,
    second_sd: npt.ArrayLike,
) -> PairResult:
    """One-sided test over several data sets after Kohavi, from section 5 of the HNB paper [1]_.

    The mean difference of the accuracies over t data sets is taken as normal with variance
    sum_i (s_i1^2 + s_i2^2) / t^2, where s are the standard deviations of `kohavi_sd`. The null
    hypothesis is that the first is not better than the second.

    Parameters
    ----------
    first, second : array-like of shape (n_datasets,)
        Accuracies.
    first_sd, second_sd : array-like of shape (n_datasets,)
        Their standard deviations, in the same unit.

    Notes
    -----
    The test assumes that the two accuracies on a data set are independent. They are not, because
    both come from the same rows. If they rise and fall together, the test is conservative. It says
    nothing about other data sets. The p-values in the paper (5e-12 against NB, 6e-6 TAN, 6e-11
    C5.0, 0.02 NN) do not follow from its Table 2 with this formula, which gives 1.3e-5, 0.0069,
    3.0e-5 and 0.10.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2006). Classification using hierarchical naive Bayes
       models. Machine Learning 63, 135-159.

    Examples
    --------
    >>> result = kohavi_pooled_test([0.90, 0.80], [0.85, 0.78], [0.03, 0.04], [0.03, 0.04])
    >>> print(round(result.difference, 3), round(result.statistic, 2), round(result.p_value, 3))
    0.035 0.99 0.161
    """
    d = _differences(first, second)
    variance = np.square(_differences(first_sd, np.zeros(len(d)))) + np.square(second_sd)
    used = ~np.isnan(d)
    if not used.any():
        return PairResult(math.nan, math.nan, math.nan)
    mean = float(d[used].mean())
    error = math.sqrt(float(variance[used].sum())) / int(used.sum())
    statistic = _ratio(mean, error)
    return PairResult(mean, statistic, float(stats.norm.sf(statistic)))
