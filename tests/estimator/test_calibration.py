import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.engine._logspace import log_normalise
from latentclass.estimator._calibration import learn_temperature
from latentclass.estimator._inner_folds import InnerFolds


def learn(evidence, y):
    """Learn from given evidence in five folds."""
    folds = InnerFolds(np.arange(len(y)), np.arange(len(y)) % 5, np.ones(len(y)), 5)
    log_prior = np.log(np.full(evidence.shape[1], 1 / evidence.shape[1]))
    return learn_temperature(lambda fold: evidence[folds.fold == fold], folds, y, log_prior)


def penalty(log_t):
    """Minus the log of the prior of log T, up to a constant."""
    return 0.5 * (log_t / (1.0 if log_t > 0 else 0.25)) ** 2


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    evidence = rng.normal(size=(300, 3))
    evidence[np.arange(300), y] += 1.0
    return evidence, y


def test_every_fold_is_judged_at_the_temperature_of_the_others(problem):
    """Against the same sums in a loop over folds; half of each row is tested in the next fold."""
    evidence, y = problem
    evidence = evidence * 3
    row = np.repeat(np.arange(300), 2)
    fold = (row + np.tile([0, 1], 300)) % 3
    weight = np.random.default_rng(1).uniform(0.5, 2, 600)
    folds = InnerFolds(row, fold, weight, 3)
    log_prior = np.log([0.5, 0.3, 0.2])
    temperature, facts = learn_temperature(
        lambda number: evidence[row[fold == number]], folds, y, log_prior
    )

    def loss(t, chosen):
        log_proba = log_normalise(evidence[row] / t + log_prior)
        return -(weight * log_proba[np.arange(600), y[row]])[chosen].sum()

    def best(chosen):
        grid = np.exp(np.linspace(-1, 3, 801))
        return grid[np.argmin([loss(t, chosen) + penalty(np.log(t)) for t in grid])]

    every = np.ones(600, dtype=bool)
    after = sum(loss(best(fold != number), fold == number) for number in range(3))
    assert_allclose(facts["log_loss_before"], loss(1.0, every) / weight.sum(), rtol=1e-12)
    assert_allclose(facts["log_loss_after"], after / weight.sum(), rtol=1e-4)
    assert_allclose(temperature, best(every), rtol=0.01)


def test_with_one_fold_there_is_nothing_to_learn():
    folds = InnerFolds(np.zeros(1, int), np.zeros(1, int), np.ones(1), 1)
    assert learn_temperature(None, folds, np.zeros(2, int), np.zeros(1)) == (1.0, {})


@pytest.mark.parametrize("sureness", [0.3, 1.0, 7.0, 1e3, 1e5])
def test_the_temperature_is_the_best_of_a_grid(problem, sureness):
    evidence, y = problem
    evidence = evidence * sureness
    _, facts = learn(evidence, y)

    def penalised(log_t):
        log_proba = log_normalise(evidence / np.exp(log_t) - np.log(3))
        return -log_proba[np.arange(300), y].sum() + penalty(log_t)

    grid = np.linspace(-3, 10, 2601)
    best = grid[np.argmin([penalised(log_t) for log_t in grid])]
    assert_allclose(np.log(facts["temperature"]), best, atol=0.01)


def test_impossible_rows_do_not_decide(problem):
    evidence, y = problem
    evidence = evidence * 5
    evidence[0, y[0]] = -np.inf
    temperature, facts = learn(evidence, y)
    assert temperature > 2
    assert np.isfinite(facts["log_loss_after"])


def test_a_temperature_that_does_not_help_on_other_folds_is_dropped():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    temperature, facts = learn(rng.normal(size=(40, 2)) * 1e-3, y)
    kept = facts["log_loss_after"] < facts["log_loss_before"]
    assert temperature == (facts["temperature"] if kept else 1.0)
