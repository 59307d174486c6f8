"""EM for one tree per class with unlabelled rows, against a slow twin."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tree_reference import random_rows, random_tables, seen, slow_counts

from latentclass.engine._em import run_restarts
from latentclass.latent_tree._class_trees_em import ClassTreesParams, ClassTreesProblem
from latentclass.latent_tree._row_patterns import group_rows
from latentclass.latent_tree._tree import Tree

SHAPES = [
    ((-1, 0, 0, 0), (2, 2, 3, 2), (-1, 0, 1, 2)),
    ((-1, 0, 0, 1, 1), (2, 2, 2, 3, 2), (-1, -1, 0, 1, 2)),
    ((-1, 0, 0, 0), (1, 2, 3, 2), (-1, 0, 1, 2)),
]


class Case:
    """Three classes; the rows of each, and unlabelled ones."""

    def __init__(self, *, alpha=0.5, unlabelled=True, empty_class=False):
        rng = np.random.default_rng(0)
        self.trees = tuple(random_tables(Tree.even(*shape), rng) for shape in SHAPES)
        self.alpha = alpha
        self.labelled = [self.rows(rng, n) for n in (6, 5, 0 if empty_class else 4)]
        self.unlabelled = self.rows(rng, 7 if unlabelled else 0)

    def rows(self, rng, n):
        return random_rows(self.trees[0], n, rng), rng.uniform(0.5, 2, n)

    def problem(self):
        groups = [group_rows(*part) if len(part[0]) else None for part in self.labelled]
        more = group_rows(*self.unlabelled) if len(self.unlabelled[0]) else None
        return ClassTreesProblem(self.trees, tuple(groups), more, self.alpha)

    def slow_step(self, pi, trees):
        """The objective per row, and the parameters after one step."""
        objective = 0.0
        class_weight = np.zeros(3)
        counts = [np.zeros(len(tree.theta)) for tree in trees]
        for k, (codes, weight) in enumerate(self.labelled):
            for row, w in zip(codes, weight, strict=True):
                objective += w * math.log(pi[k] * seen(trees[k], row).sum())
                class_weight[k] += w
                counts[k] += slow_counts(trees[k], [row], [w])
        for row, w in zip(*self.unlabelled, strict=True):
            joint = np.array([p * seen(tree, row).sum() for p, tree in zip(pi, trees, strict=True)])
            objective += w * math.log(joint.sum())
            for k, share in enumerate(w * joint / joint.sum()):
                class_weight[k] += share
                counts[k] += slow_counts(trees[k], [row], [share])
        total = class_weight.sum()
        new = []
        for tree, count in zip(trees, counts, strict=True):
            objective += self.alpha * np.log(tree.theta).sum() if self.alpha else 0.0
            tables = [c + self.alpha for c in tree.split(count)]
            new.append(np.concatenate([(t / t.sum(axis=1, keepdims=True)).ravel() for t in tables]))
        return objective / total, class_weight / total, new


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("unlabelled", [False, True])
def test_steps_are_those_of_the_slow_twin(alpha, unlabelled):
    case = Case(alpha=alpha, unlabelled=unlabelled)
    problem = case.problem()
    params = problem.start()
    for _ in range(3):
        stats, objective = problem.e_step(params)
        expected, pi, theta = case.slow_step(
            np.exp(params.log_pi[0]), problem.fitted(params.theta[0])
        )
        assert_allclose(objective, [expected], rtol=1e-11)
        params = problem.m_step(stats)
        assert_allclose(np.exp(params.log_pi[0]), pi, rtol=1e-11)
        assert_allclose(params.theta[0], np.concatenate(theta), rtol=1e-9, atol=1e-14)


def test_the_start_is_the_trees_and_the_shares_of_the_labels():
    case = Case()
    params = case.problem().start()
    weight = np.array([w.sum() for _, w in case.labelled])
    assert_allclose(np.exp(params.log_pi), [weight / weight.sum()])
    assert_allclose(params.theta, [np.concatenate([tree.theta for tree in case.trees])])


def test_a_class_without_labelled_rows_keeps_its_tree():
    case = Case(empty_class=True)
    problem = case.problem()
    params = problem.start()
    assert params.log_pi[0, 2] == -math.inf
    stats, objective = problem.e_step(params)
    after = problem.m_step(stats)
    assert np.isfinite(objective).all()
    assert after.log_pi[0, 2] == -math.inf
    assert np.array_equal(problem.fitted(after.theta[0])[2].theta, case.trees[2].theta)


def test_the_objective_never_falls():
    problem = Case().problem()
    result = run_restarts(
        problem, problem.start(), tol=1e-9, max_iter=30, rngs=[np.random.default_rng(0)]
    )
    assert len(result.history) > 5
    assert np.all(np.diff(result.history) >= -1e-12)


def test_starts_beside_each_other_do_not_mix():
    problem = Case().problem()
    one = problem.start()
    other = problem.m_step(problem.e_step(one)[0])
    both = ClassTreesParams(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    stats, objective = problem.e_step(both)
    for i, alone in enumerate((one, other)):
        expected, value = problem.e_step(alone)
        assert_allclose(objective[i], value[0], rtol=1e-14)
        assert_allclose(stats.counts[i], expected.counts[0], rtol=1e-12)
        assert_allclose(stats.class_weight[i], expected.class_weight[0], rtol=1e-12)


def test_vector_and_back():
    problem = Case().problem()
    params = problem.start()
    again = problem.from_vector(problem.to_vector(params) + 0.4)
    assert_allclose(again.theta, params.theta, rtol=1e-12)
    assert_allclose(again.log_pi, params.log_pi, rtol=1e-12)
