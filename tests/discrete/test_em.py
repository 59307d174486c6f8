"""EM on soft counts: the objective rises, and smoothing is what it says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.discrete._em import CountLayout, CountParams, CountProblem
from latentclass.discrete._network import Structure
from latentclass.engine._em import Reseeding, run_restarts

STRUCTURE = Structure((2, 3, 2), ((), (0,), (1,)), (True, True, False))


def make_problem(alpha=1.0, holes=0.2):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, r, 80) for r in STRUCTURE.n_levels], axis=1)
    codes[:, 0] = np.where(rng.random(80) < 0.7, np.arange(80) % 2, codes[:, 0])
    codes[rng.random(codes.shape) < holes] = -1
    codes = codes.astype(np.int32)
    n = STRUCTURE.n_entries
    starts = STRUCTURE.group_starts
    value = np.ones((1, len(starts)))
    layout = CountLayout(starts, np.full(n, alpha), np.full(n, 0.5), value, STRUCTURE.shared)
    y, weight = np.arange(80) % 2, rng.uniform(1, 2, 80)
    known = STRUCTURE.counts(codes[:20], y[:20], weight[:20], 2)
    blocks = [(codes[20:50], weight[20:50]), (codes[50:], weight[50:])]
    return CountProblem(layout, STRUCTURE.entries, blocks, np.bincount(y[:20], weight[:20]), known)


def start(problem):
    return CountParams(
        np.log(problem.known_weight / problem.known_weight.sum())[None],
        problem.layout.estimate(problem.known)[None],
    )


@pytest.mark.parametrize("alpha", [0.5, 2.0])
@pytest.mark.parametrize("accelerate", [False, True])
def test_objective_never_falls(alpha, accelerate):
    problem = make_problem(alpha)
    result = run_restarts(
        problem,
        start(problem),
        tol=1e-10,
        max_iter=300,
        rngs=[np.random.default_rng(0)],
        accelerate=accelerate,
    )
    assert result.converged
    assert np.all(np.diff(result.history) >= -1e-12)
    assert result.history[-1] > result.history[0]


def test_objective_is_the_penalised_likelihood_of_rows_without_holes():
    problem = make_problem(1.0, holes=0.0)
    params = start(problem)
    _, objective = problem.e_step(params)
    log_pi, log_theta = params.log_pi[0], params.log_theta[0]
    tables = STRUCTURE.tables(log_theta)
    total = np.sum(problem.known_weight * log_pi) + np.sum(problem.known * log_theta)
    for codes, weight in problem.blocks:
        for row, w in zip(codes, weight, strict=True):
            terms = [
                log_pi[k]
                + tables[0][k, row[0]]
                + tables[1][k, row[0], row[1]]
                + tables[2][k, row[1], row[2]]
                for k in range(2)
            ]
            total += w * np.logaddexp.reduce(terms)
    shared = np.repeat([False, False, True], np.diff(STRUCTURE.offsets))  # no class above
    total += log_theta[:, ~shared].sum() + log_theta[0, shared].sum()
    assert_allclose(objective[0] * problem.total_weight, total, rtol=1e-10)


def test_vector_and_back():
    problem = make_problem()
    params = start(problem)
    again = problem.from_vector(problem.to_vector(params) + 0.3)
    for before, after in zip(params, again, strict=True):
        assert_allclose(after, before, rtol=1e-10)


def test_estimates_by_hand():
    layout = CountLayout(
        np.array([0, 2]),
        np.array([1.0, 1.0, 0.0, 0.0]),
        np.array([0.5, 0.5, 0.2, 0.8]),
        np.array([[1.0, 0.0]]),
        np.array([False] * 2),
    )
    log_theta = layout.estimate(np.array([[1.0, 3.0, 0.0, 0.0]]))
    assert_allclose(np.exp(log_theta), [[2 / 6, 4 / 6, 0.2, 0.8]])
    assert layout.criterion(np.array([[-1.0, -2.0, -np.inf, -3.0]])).tolist() == [[-1, -2, 0, 0]]


def test_no_class_is_dead():
    assert not isinstance(make_problem(), Reseeding)
