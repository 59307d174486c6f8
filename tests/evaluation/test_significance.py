"""Tests of significance against scipy, worked examples and published numbers."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from latentclass.evaluation import (
    corrected_t_test,
    friedman_test,
    kohavi_pooled_test,
    kohavi_sd,
    nemenyi_difference,
    nemenyi_p_values,
    paired_t_test,
    wilcoxon_test,
)
from latentclass.evaluation._significance import groups_alike

# Demsar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf on 14 data sets. In the row
# "voting" two values print as 0.975, but the table ranks them 2 and 3.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)

# HNB paper, Table 2: accuracy and s.d. in percent of NB, TAN, C5.0, NN, HNB on 22 data sets.
HNB_TABLE_2 = """
64.25 5.0 63.20 5.1 67.31 4.9 63.04 5.1 68.95 4.9
94.00 2.0 94.00 2.0 93.55 2.0 90.32 2.4 94.00 2.0
71.53 2.2 95.83 1.0 75.50 2.1 96.54 0.9 100.0 0.1
62.04 2.3 66.90 2.3 65.05 2.3 99.77 0.3 66.20 2.0
97.22 0.8 96.06 0.9 97.22 0.8 97.22 0.8 97.22 0.8
71.04 3.1 70.56 3.1 72.42 3.1 68.50 3.2 71.04 3.1
81.61 3.0 81.69 3.0 80.37 3.1 82.21 3.0 84.11 3.1
75.65 1.5 75.25 1.6 74.25 1.6 73.08 1.6 75.25 1.5
83.70 2.2 84.07 2.2 80.36 2.4 81.45 2.4 85.93 2.3
92.34 2.1 87.25 2.7 84.89 2.9 74.23 3.5 93.29 2.1
76.17 1.5 74.74 1.6 73.68 1.6 72.96 1.6 76.04 1.5
83.46 2.1 81.38 2.2 79.08 2.4 80.36 2.3 83.45 2.2
98.86 0.8 96.03 1.5 93.45 1.9 94.49 1.7 98.86 0.8
92.56 1.8 93.02 1.7 93.64 1.7 92.73 1.8 93.02 1.7
80.95 2.1 79.76 2.2 82.70 2.1 78.89 2.2 82.44 2.1
97.36 0.6 96.19 0.7 94.92 0.8 96.36 0.7 97.36 0.6
90.11 1.4 92.64 1.3 94.55 1.1 95.00 1.1 93.15 1.3
86.22 1.3 83.93 1.4 85.71 1.4 85.71 1.4 86.51 1.3
85.80 1.3 82.32 1.5 85.61 1.3 83.88 1.4 84.64 1.4
87.12 1.0 92.48 0.8 89.60 0.9 97.78 0.5 93.71 0.7
59.09 1.7 68.79 1.6 67.80 1.6 66.74 1.6 63.59 1.7
92.90 1.0 91.28 1.1 93.82 1.0 92.25 1.1 92.36 1.1
"""


@pytest.fixture
def folds():
    rng = np.random.default_rng(1)
    return rng.normal(0.8, 0.05, 10), rng.normal(0.77, 0.05, 10)


# ------------------------------------------------------------------------ two classifiers


def test_kohavis_sd_gives_the_papers_figures():
    # LCM Table 3: balance-scale NB 86.9 +/- 1.4 (625 rows), NB/D 65.8 +/- 1.9
    assert_allclose(100 * kohavi_sd([0.869, 0.658], 625), [1.4, 1.9], atol=0.06)
    # by hand: sqrt(0.9 * 0.1 / 100) = 0.03
    assert_allclose(kohavi_sd(0.9, 100), 0.03, rtol=1e-12)


def test_paired_t_test_is_scipys(folds):
    ours, theirs = paired_t_test(*folds), stats.ttest_rel(*folds)
    assert_allclose(ours[1:], [theirs.statistic, theirs.pvalue], rtol=1e-12)
    assert ours.difference == pytest.approx(np.mean(folds[0]) - np.mean(folds[1]))


def test_corrected_t_test_by_hand():
    # d = 1, 2, 3, 2: mean 2, s^2 = 2/3; J = 4, n_test/n_train = 10/30:
    # t = 2 / sqrt((1/4 + 1/3) * 2/3) = 2 / sqrt(7/18) = 3.2071349; 3 degrees of freedom
    result = corrected_t_test([1, 2, 3, 2], [0, 0, 0, 0], n_train=[30] * 4, n_test=[10] * 4)
    assert_allclose(result.statistic, 2 / math.sqrt(7 / 18), rtol=1e-12)
    # R: 2 * pt(-3.2071349, 3) by the closed form of Student's distribution with 3 d.o.f.
    x = result.statistic / math.sqrt(3)
    tail = 0.5 - (math.atan(x) + x / (1 + x * x)) / math.pi
    assert_allclose(result.p_value, 2 * tail, rtol=1e-10)


def test_correction_makes_ten_folds_sqrt_of_19_ninths_as_cautious(folds):
    plain, corrected = paired_t_test(*folds), corrected_t_test(*folds, n_train=90, n_test=10)
    # (1/10 + 1/9) / (1/10) = 19/9
    assert_allclose(plain.statistic / corrected.statistic, math.sqrt(19 / 9), rtol=1e-12)


@pytest.mark.parametrize("test", [paired_t_test, lambda a, b: corrected_t_test(a, b, 9, 1)])
def test_t_tests_at_the_edge(test):
    assert test([0.5, 0.7], [0.5, 0.7])[1:] == (0.0, 1.0)
    assert test([0.6, 0.7], [0.5, 0.6])[1:] == (math.inf, 0.0)  # though 0.6 - 0.5 != 0.7 - 0.6
    assert all(math.isnan(value) for value in test([0.6], [0.5])[1:])
    assert math.isnan(test([0.6, math.nan], [0.5, 0.6]).p_value)
    with pytest.raises(ValueError, match=r"two lists of the same length, found shapes \(2,\) and"):
        test([0.6, 0.5], [0.5])


def test_wilcoxon_gives_demsars_worked_example():
    # Demsar's Table 2 and p. 8: R+ = 93, R- = 12, T = 12, z = -2.54 at N = 14: p = 0.011
    result = wilcoxon_test(DEMSAR[:, 1], DEMSAR[:, 0])
    assert result.statistic == 12
    assert_allclose(result.p_value, 2 * stats.norm.sf(2.54), rtol=0.02)


def test_wilcoxon_is_scipys(folds):
    theirs = stats.wilcoxon(*folds)
    assert_allclose(wilcoxon_test(*folds)[1:], [theirs.statistic, theirs.pvalue], rtol=1e-12)


def test_wilcoxon_at_the_edge():
    assert wilcoxon_test([0.5, 0.6], [0.5, 0.6]) == (0.0, 1.5, 1.0)
    assert math.isnan(wilcoxon_test([math.nan], [0.5]).p_value)
    # rounding must not decide which of two equal differences is larger
    exact = wilcoxon_test([3, 2, 5, 4], [1, 4, 4, 1])
    scaled = wilcoxon_test([0.3, 0.2, 0.5, 0.4], [0.1, 0.4, 0.4, 0.1])
    assert exact[1:] == scaled[1:]


def test_kohavis_pooled_test_by_hand():
    # Lambda = (10 + 2) / 2 = 6; variance (9 + 16 + 4 + 7) / 4 = 9; z = 2
    result = kohavi_pooled_test([90, 70], [80, 68], [3, 2], [4, math.sqrt(7)])
    assert_allclose(result[:2], [6.0, 2.0], rtol=1e-12)
    assert_allclose(result.p_value, 0.0227501319, rtol=1e-8)  # any table of the normal


@pytest.mark.parametrize(
    ("column", "difference", "z"),
    [(0, 2.5973, 4.2059), (1, 1.5341, 2.4632), (2, 2.5291, 4.0097), (3, 0.8005, 1.2751)],
)
def test_kohavis_pooled_test_on_the_hnb_table(column, difference, z):
    """The paper's formula on the paper's table.

    The differences are those of its row of averages (85.52 less 82.91, 83.97, 82.98, 84.71; the
    first is printed 0.01 off). The p-values it prints (5e-12, 6e-6, 6e-11, 0.02) need z = 6.8,
    4.4, 6.4, 2.1 and do not follow from its own formula and table.
    """
    table = np.array([line.split() for line in HNB_TABLE_2.strip().splitlines()], dtype=float)
    accuracy, sd = table[:, ::2], table[:, 1::2]
    result = kohavi_pooled_test(accuracy[:, 4], accuracy[:, column], sd[:, 4], sd[:, column])
    printed = 85.52 - np.array([82.91, 83.97, 82.98, 84.71])[column]
    assert_allclose(result.difference, printed, atol=0.02)
    assert_allclose(result[:2], [difference, z], atol=1e-4)
    assert_allclose(result.p_value, stats.norm.sf(z), rtol=1e-3)


def test_kohavis_pooled_test_at_the_edge():
    assert kohavi_pooled_test([1.0], [1.0], [0.0], [0.0])[1:] == (0.0, 0.5)
    assert kohavi_pooled_test([1.0], [0.9], [0.0], [0.0])[1:] == (math.inf, 0.0)
    assert math.isnan(kohavi_pooled_test([math.nan], [0.9], [0.1], [0.1]).p_value)
    with_hole = kohavi_pooled_test([0.9, math.nan], [0.8, 0.8], [0.1, math.nan], [0.1, 0.1])
    assert with_hole == kohavi_pooled_test([0.9], [0.8], [0.1], [0.1])


# ---------------------------------------------------------------------- many classifiers


def test_friedman_gives_demsars_worked_example():
    result = friedman_test(DEMSAR, correct_ties=False)
    assert_allclose(result.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert_allclose([result.chi2, result.f], [9.28, 3.69], atol=5e-3)
    assert stats.f.isf(0.05, 3, 39) < result.f  # "the critical value of F(3, 39) is 2.85"


def test_friedman_is_scipys():
    ours, theirs = friedman_test(DEMSAR), stats.friedmanchisquare(*DEMSAR.T)
    assert_allclose([ours.chi2, ours.p_chi2], [theirs.statistic, theirs.pvalue], rtol=1e-10)
    losses = friedman_test(-DEMSAR, greater_is_better=False)
    assert_allclose(losses.mean_ranks, ours.mean_ranks)


def test_friedman_leaves_out_data_sets_with_a_hole():
    scores = np.vstack([DEMSAR, [0.9, math.nan, 0.8, 0.7]])
    result, whole = friedman_test(scores), friedman_test(DEMSAR)
    assert result[1:] == whole[1:]
    assert result.n_datasets == 14


def test_friedman_at_the_edge():
    equal = friedman_test(np.ones((3, 3)))
    assert_array_equal(equal.mean_ranks, [2, 2, 2])
    assert equal[1:] == (0.0, 1.0, 0.0, 1.0, 3)
    always = friedman_test([[3, 2, 1]] * 5)
    assert always.f == math.inf
    assert always.p_f == 0.0
    one = friedman_test([[0.9, 0.8]])
    assert_array_equal(one.mean_ranks, [1, 2])
    assert math.isnan(one.p_f)
    none = friedman_test([[0.9, math.nan]])
    assert none.n_datasets == 0
    assert np.isnan(none.mean_ranks).all()
    with pytest.raises(ValueError, match=r"scores has shape \(3,\)\. Pass a table"):
        friedman_test([1, 2, 3])


@pytest.mark.parametrize(
    ("k", "alpha", "q"),
    # Demsar (2006), Table 5 (a)
    [
        (2, 0.05, 1.960),
        (3, 0.05, 2.343),
        (4, 0.05, 2.569),
        (10, 0.05, 3.164),
        (2, 0.10, 1.645),
        (3, 0.10, 2.052),
        (4, 0.10, 2.291),
        (10, 0.10, 2.920),
    ],
)
def test_nemenyis_quantiles_are_the_published_ones(k, alpha, q):
    one = nemenyi_difference(k, 1, alpha) / math.sqrt(k * (k + 1) / 6)
    assert_allclose(one, q, atol=1.1e-3)  # the table cuts its digits off


def test_nemenyi_gives_demsars_worked_example():
    ranks = friedman_test(DEMSAR).mean_ranks
    assert_allclose(nemenyi_difference(4, 14, 0.05), 1.25, atol=5e-3)
    assert_allclose(nemenyi_difference(4, 14, 0.10), 1.12, atol=5e-3)
    p_values = nemenyi_p_values(ranks, 14)
    assert_array_equal(p_values, p_values.T)
    # at 10 %: C4.5 is worse than C4.5+m and C4.5+m+cf, and that is all
    assert sorted(zip(*np.nonzero(p_values < 0.10), strict=True)) == [
        (0, 1),
        (0, 3),
        (1, 0),
        (3, 0),
    ]
    assert groups_alike(ranks, nemenyi_difference(4, 14, 0.10)) == [[3, 1, 2], [2, 0]]
    assert groups_alike(ranks, nemenyi_difference(4, 14, 0.05)) == [[3, 1, 2, 0]]


def test_a_p_value_equals_alpha_at_the_critical_difference():
    difference = nemenyi_difference(5, 20, 0.03)
    assert_allclose(nemenyi_p_values([1, 1 + difference, 2, 3, 4], 20)[0, 1], 0.03, rtol=1e-6)


def test_groups_without_company_have_no_bar():
    assert groups_alike([1.0, 2.0, 3.0], 0.5) == []
