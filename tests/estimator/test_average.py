"""`Average`: both rules against the sums written out, row by row and class by class."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine._logspace import split_log
from latentclass.estimator._average import Average, log_mean

PRIORS = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


@pytest.fixture
def evidence():
    """log p(row | class) of two models, four rows and three classes."""
    return np.random.default_rng(0).normal(-3.0, 2.0, (2, 4, 3))


def slow_posteriors(priors, evidence):
    """Mean of P(class | row) times mean of p(row), divided by P(class)."""
    n_models, n_rows, n_classes = evidence.shape
    out = np.empty((n_rows, n_classes))
    for r in range(n_rows):
        mean_posterior, mean_density = np.zeros(n_classes), 0.0
        for m in range(n_models):
            joint = [priors[m, k] * np.exp(evidence[m, r, k]) for k in range(n_classes)]
            mean_posterior += np.array(joint) / sum(joint) / n_models
            mean_density += sum(joint) / n_models
        out[r] = np.log(mean_posterior * mean_density / priors.mean(axis=0))
    return out


def slow_joints(priors, evidence):
    """Mean of p(row, class) divided by P(class)."""
    n_models, n_rows, n_classes = evidence.shape
    out = np.empty((n_rows, n_classes))
    for r in range(n_rows):
        for k in range(n_classes):
            joint = sum(priors[m, k] * np.exp(evidence[m, r, k]) for m in range(n_models))
            out[r, k] = np.log(joint / n_models / priors[:, k].mean())
    return out


@pytest.mark.parametrize(
    ("rule", "slow"), [("posteriors", slow_posteriors), ("joints", slow_joints)]
)
class TestRules:
    def test_it_is_the_sum_written_out(self, evidence, rule, slow):
        found = Average(PRIORS, rule).mix(evidence)
        assert_allclose(found, slow(PRIORS, evidence), rtol=1e-12)

    def test_the_density_is_the_mean_of_the_densities(self, evidence, rule, slow):
        del slow
        average = Average(PRIORS, rule)
        found = np.exp(average.mix(evidence)) @ average.class_prior
        each = (np.exp(evidence) * PRIORS[:, None]).sum(axis=2)
        assert_allclose(found, each.mean(axis=0), rtol=1e-12)

    def test_one_model_stays_as_it_is(self, evidence, rule, slow):
        del slow
        assert_array_equal(Average(PRIORS[:1], rule).mix(evidence[:1]), evidence[0])

    def test_equal_models_stay_as_they_are(self, evidence, rule, slow):
        del slow
        average = Average(np.repeat(PRIORS[:1], 3, axis=0), rule)
        found = average.mix(np.repeat(evidence[:1], 3, axis=0))
        assert_allclose(found, evidence[0], rtol=1e-12)

    def test_tiny_densities_do_not_underflow(self, evidence, rule, slow):
        shifted = Average(PRIORS, rule).mix(evidence - 1e5)
        assert_allclose(shifted, slow(PRIORS, evidence) - 1e5, rtol=1e-12)

    def test_a_class_without_rows_has_a_density(self, evidence, rule, slow):
        del slow
        average = Average(np.array([[0.4, 0.6, 0.0], [0.7, 0.3, 0.0]]), rule)
        found = average.mix(evidence)[:, 2]
        assert_allclose(np.exp(found), np.exp(evidence[:, :, 2]).mean(axis=0), rtol=1e-12)
        assert_allclose(average.shares[:, 2], 0.5)


class TestRatio:
    def test_it_is_the_mean_posterior_over_the_mean_prior(self):
        posterior = np.random.default_rng(1).dirichlet(np.ones(3), (2, 4))
        found = Average(PRIORS, "posteriors").log_ratio(np.log(posterior))
        for r in range(4):
            expected = posterior[:, r].mean(axis=0) / PRIORS.mean(axis=0)
            assert_allclose(np.exp(found[r]), expected, rtol=1e-12)

    def test_times_the_mean_density_it_is_what_the_rule_gives(self, evidence):
        average = Average(PRIORS, "posteriors")
        posterior, density = split_log(evidence + np.log(PRIORS)[:, None])
        found = average.log_ratio(posterior) + log_mean(density)[:, None]
        assert_allclose(found, average.mix(evidence), rtol=1e-12)

    def test_of_a_class_without_rows_nothing_is_known(self):
        average = Average(np.array([[1.0, 0.0], [1.0, 0.0]]), "posteriors")
        with np.errstate(divide="ignore"):
            posterior = np.log(np.tile([1.0, 0.0], (2, 4, 1)))
        assert_array_equal(average.log_ratio(posterior), np.zeros((4, 2)))


def test_class_prior_and_shares_are_those_of_the_mixed_joint():
    average = Average(PRIORS, "joints")
    assert average.n_models == 2
    assert_allclose(average.class_prior, [0.4, 0.3, 0.3])
    assert_allclose(average.shares, [[0.25, 5 / 6, 0.5], [0.75, 1 / 6, 0.5]])


def test_log_mean_is_over_the_first_axis():
    assert_allclose(log_mean(np.log([[1.0, 2.0], [3.0, 6.0]])), np.log([2.0, 4.0]))


class TestValue:
    def test_it_is_frozen(self):
        with pytest.raises(FrozenInstanceError):
            Average(PRIORS, "joints").rule = "posteriors"

    def test_wrong_priors_are_refused(self):
        with pytest.raises(ValueError, match=r"^priors has shape \(3,\), but the model needs"):
            Average(PRIORS[0], "joints")
        with pytest.raises(ValueError, match=r"^priors must be probabilities that sum to 1, but"):
            Average(2 * PRIORS, "joints")
        with pytest.raises(ValueError, match=r"^priors must be probabilities that sum to 1, but"):
            Average(np.array([[1.5, -0.5]]), "joints")

    def test_an_unknown_rule_is_refused(self):
        with pytest.raises(ValueError, match=r"^rule='votes' must be one of 'posteriors'"):
            Average(PRIORS, "votes")
