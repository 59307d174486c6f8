import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.engine._logspace import log_normalise
from latentclass.estimator._calibration import learn_temperature


def learn(evidence, y, weight=None, log_prior=None):
    """Learn from given evidence; also the folds that were asked for."""
    asked = []

    def held_out(train, test):
        asked.append((train, test))
        return evidence[test]

    weight = np.ones(len(y)) if weight is None else weight
    log_prior = np.log(np.full(evidence.shape[1], 1 / evidence.shape[1]))
    found = learn_temperature(held_out, y, weight, log_prior, random_state=np.random.RandomState(0))
    return *found, asked


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    evidence = rng.normal(size=(300, 3))
    evidence[np.arange(300), y] += 1.0
    return evidence, y


def test_no_row_is_judged_by_a_model_that_saw_it(problem):
    evidence, y = problem
    y = np.where(np.arange(300) % 4 == 0, -1, y)
    _, _, asked = learn(evidence, y)
    tested = np.concatenate([test for _, test in asked])
    assert sorted(tested) == np.flatnonzero(y >= 0).tolist()
    for train, test in asked:
        assert not set(train) & set(test)
        assert set(np.flatnonzero(y < 0)) <= set(train)
        assert set(train) | set(test) == set(range(300))


@pytest.mark.parametrize("sureness", [0.3, 1.0, 7.0, 1e3, 1e5])
def test_the_temperature_is_the_best_of_a_grid(problem, sureness):
    evidence, y = problem
    evidence = evidence * sureness
    _, facts, _ = learn(evidence, y)

    def penalised(log_t):
        log_proba = log_normalise(evidence / np.exp(log_t) - np.log(3))
        return -log_proba[np.arange(300), y].sum() + 0.5 * log_t**2

    grid = np.linspace(-3, 10, 2601)
    best = grid[np.argmin([penalised(log_t) for log_t in grid])]
    assert_allclose(np.log(facts["temperature"]), best, atol=0.01)


def test_impossible_rows_do_not_decide(problem):
    evidence, y = problem
    evidence = evidence * 5
    evidence[0, y[0]] = -np.inf
    temperature, facts, _ = learn(evidence, y)
    assert temperature > 2
    assert np.isfinite(facts["log_loss_after"])


def test_a_temperature_that_does_not_help_on_other_folds_is_dropped():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    temperature, facts, _ = learn(rng.normal(size=(40, 2)) * 1e-3, y)
    kept = facts["log_loss_after"] < facts["log_loss_before"]
    assert temperature == (facts["temperature"] if kept else 1.0)
