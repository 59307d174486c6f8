"""Strengths of priors by evidence, against numerical integration and obvious cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import dirichlet_multinomial, norm, t

from latentclass.engine import _shrinkage as shrinkage


def class_sums(values, y, n_classes):
    weight = np.array([[np.sum(y == k)] for k in range(n_classes)], dtype=float)
    parts = [values[y == k] for k in range(n_classes)]
    mean = np.array([[part.mean()] for part in parts])
    scatter = np.array([[np.sum((part - part.mean()) ** 2)] for part in parts])
    return weight, mean, scatter


def test_evidence_of_numbers_is_the_product_of_student_densities():
    """The joint density of normal values under the conjugate prior, one value after the other."""
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 1.3, 6)
    level, centre = 1.7, 0.1
    weight, mean, scatter = class_sums(values, np.zeros(6, int), 1)
    evidence = shrinkage._number_evidence(weight, (mean - centre) ** 2, scatter, np.array([level]))[
        ..., 0
    ]
    for i, nu in enumerate(shrinkage.VARIANCE_STRENGTHS):
        for j, kappa in enumerate(shrinkage.MEAN_STRENGTHS):
            total, n, m, v, s = 0.0, kappa, centre, nu, nu * level
            for x in values:
                scale = np.sqrt(s / v * (1 + 1 / n))
                total += t.logpdf(x, v, m, scale)
                s += n / (n + 1) * (x - m) ** 2
                m, n, v = (n * m + x) / (n + 1), n + 1, v + 1
            # what does not depend on the strengths: the powers of pi
            assert_allclose(evidence[i, j] - 3 * np.log(np.pi), total, rtol=1e-9)


def test_a_student_density_is_a_normal_one_with_the_variance_integrated_out():
    """So that the reference above is itself checked once."""
    nu, level, kappa, x = 3.0, 1.7, 0.5, 0.9

    def joint(log_variance):
        variance = np.exp(log_variance)
        precision = nu * level / variance
        # the scaled inverse chi-squared density of the variance, times that of the logarithm
        log_prior = nu / 2 * np.log(precision / 2) - precision / 2 - np.log(np.sqrt(np.pi) / 2)
        return np.exp(log_prior) * norm.pdf(x, 0.0, np.sqrt(variance * (1 + 1 / kappa)))

    integral = quad(joint, -15, 25)[0]
    assert_allclose(integral, t.pdf(x, nu, 0.0, np.sqrt(level * (1 + 1 / kappa))), rtol=1e-6)


def test_table_mass_is_the_mean_of_log_strengths_under_their_evidence():
    counts = np.array([[4.0, 1.0, 0.0, 2.0, 2.0], [0.0, 3.0, 3.0, 1.0, 4.0]])
    offsets = np.array([0, 3, 5])
    mass = shrinkage.table_mass(counts, counts.sum(axis=0), offsets)
    for first, end in ((0, 3), (3, 5)):
        share = counts[:, first:end].sum(axis=0) + 1.0
        share /= share.sum()
        evidence = np.zeros(len(shrinkage.TABLE_STRENGTHS))
        for place, strength in enumerate(shrinkage.TABLE_STRENGTHS):
            for row in counts[:, first:end].astype(int):
                evidence[place] += dirichlet_multinomial.logpmf(row, strength * share, row.sum())
        posterior = np.exp(evidence - evidence.max())
        posterior /= posterior.sum()
        strength = np.exp(posterior @ np.log(shrinkage.TABLE_STRENGTHS))
        assert_allclose(mass[first:end], strength * share, rtol=1e-10)


def test_a_column_that_tells_the_classes_apart_keeps_its_means_and_another_loses_them():
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(6), 20)
    useful, useless = rng.normal(3.0 * y, 1.0), rng.normal(size=len(y))
    found = [
        shrinkage.number_strengths(
            *class_sums(values, y, 6), np.array([values.mean()]), np.array([values.var()])
        )
        for values in (useful, useless)
    ]
    assert found[0].mean[0] < 0.1
    assert found[1].mean[0] > 10
    within = [
        sum(values[y == k].var() * 20 for k in range(6)) / 114 for values in (useful, useless)
    ]
    assert_allclose([one.level[0] for one in found], within, rtol=1e-12)


def test_variances_that_differ_are_hardly_pulled_and_equal_ones_strongly():
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(8), 30)

    def strength(scale):
        values = rng.normal(0.0, scale[y])
        whole = np.array([values.mean()]), np.array([values.var()])
        return shrinkage.number_strengths(*class_sums(values, y, 8), *whole).variance

    assert strength(10.0 ** np.linspace(-2, 2, 8)) < 2
    assert strength(np.ones(8)) > 50


def test_tables_that_differ_are_hardly_pulled_and_equal_ones_strongly():
    offsets = np.array([0, 2])
    same = np.array([[20.0, 10.0]] * 6)
    other = np.array([[29.0, 1.0], [1.0, 29.0]] * 3)
    masses = [shrinkage.table_mass(c, c.sum(axis=0), offsets).sum() for c in (same, other)]
    assert masses[0] > 100
    assert masses[1] < 2


@pytest.mark.parametrize("n_rows", [[1, 1], [0, 3], [2, 1]])
def test_hardly_any_rows_give_finite_strengths(n_rows):
    weight = np.array(n_rows, dtype=float)[:, None]
    mean, scatter = np.array([[0.0], [1.0]]), np.zeros((2, 1))
    whole = np.array([0.5]), np.array([0.25])
    found = shrinkage.number_strengths(weight, mean, scatter, *whole)
    assert np.isfinite([found.mean[0], found.variance, found.level[0]]).all()
    assert found.level[0] == 0.25  # the variance within classes is not known
    constant = shrinkage.number_strengths(weight, mean * 0, scatter, whole[0] * 0, whole[1] * 0)
    assert np.isfinite(constant.mean).all()


def test_without_columns_there_is_nothing_to_pull():
    nothing = np.zeros((3, 0))
    found = shrinkage.number_strengths(nothing, nothing, nothing, nothing[0], nothing[0])
    assert found.mean.shape == (0,)
    assert shrinkage.table_mass(nothing, nothing[0], np.array([0])).shape == (0,)
    assert shrinkage.table_mass(nothing, nothing[0], np.array([0, 0])).shape == (0,)


def test_blocks_of_columns_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    weight = np.full((3, 7), 5.0)
    mean, scatter = rng.normal(size=(3, 7)), rng.gamma(2.0, size=(3, 7))
    whole = mean.mean(axis=0), mean.var(axis=0) + 1.0
    expected = shrinkage.number_strengths(weight, mean, scatter, *whole)
    monkeypatch.setattr(shrinkage, "BLOCK_ENTRIES", 500)
    found = shrinkage.number_strengths(weight, mean, scatter, *whole)
    assert_allclose(found.mean, expected.mean, rtol=1e-12)
    assert_allclose(found.variance, expected.variance, rtol=1e-12)
