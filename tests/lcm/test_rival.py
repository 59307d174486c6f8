"""Other starts with different solutions that are nearly as good."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass import HybridLCMClassifier
from latentclass.datasets import load_dataset
from latentclass.lcm._rival import NEARLY, Solution, congruence, find_rival
from plain import LCMClassifier


def random_solution(rng, m=3, n=6, q=2):
    return Solution(rng.dirichlet(np.ones(m)), rng.normal(size=(m, n)), rng.normal(size=(m, n, q)))


def renamed(one, components, latents, signs):
    """The same solution in another order and with other signs."""
    share, offsets, loadings = (part[components] for part in one)
    return Solution(share, offsets, loadings[:, :, latents] * signs)


def best_by_hand(one, other):
    """The highest congruence over all orders of the latent variables; one component."""
    a, b = one.loadings[0], other.loadings[0]
    q = a.shape[1]
    sums = [
        sum(abs(a[:, j] @ b[:, k]) for j, k in enumerate(order)) for order in permutations(range(q))
    ]
    return 2 * max(sums) / ((a**2).sum() + (b**2).sum())


def test_order_and_signs_do_not_matter():
    rng = np.random.default_rng(0)
    one = random_solution(rng)
    other = renamed(one, [2, 0, 1], [1, 0], np.array([-1.0, 1.0]))
    assert_allclose(congruence(one, other), 1.0, rtol=1e-12)
    assert congruence(one, random_solution(rng)) < 0.85


@pytest.mark.parametrize("seed", range(5))
def test_latent_variables_are_matched_as_well_as_can_be(seed):
    rng = np.random.default_rng(seed)
    one, other = random_solution(rng, 1, 5, 4), random_solution(rng, 1, 5, 4)
    assert_allclose(congruence(one, other), best_by_hand(one, other), rtol=1e-12)


def test_loadings_on_other_columns_have_nothing_in_common():
    first, second = np.zeros((1, 2, 1)), np.zeros((1, 2, 1))
    first[0, 0], second[0, 1] = 1.0, 1.0
    offsets = np.zeros((1, 2))
    one, other = (Solution(np.ones(1), offsets, part) for part in (first, second))
    assert congruence(one, other) == 0.0
    nothing = Solution(np.ones(1), offsets, np.zeros((1, 2, 1)))
    assert congruence(nothing, nothing) == 1.0


def test_the_best_of_the_different_ones_that_are_near():
    rng = np.random.default_rng(1)
    shown, other, third = (random_solution(rng) for _ in range(3))
    alike = renamed(shown, [1, 2, 0], [0, 1], np.array([1.0, -1.0]))
    objective = np.array([-2.0, -1.0, -1.001, -1.002, -1.01])
    solutions, starts = [shown, alike, other, third], [1, 2, 3, 4]
    found = find_rival(solutions, starts, objective, 100.0)
    assert found["start"] == 3
    assert_allclose(found["below"], 0.2, rtol=1e-9)
    assert found["congruence"] == congruence(shown, other)
    assert find_rival(solutions, starts, objective, 1.01 * NEARLY / 0.002) == {}
    assert find_rival(solutions[:2], starts[:2], objective, 1.0) == {}


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris", container="pandas")


def test_a_rival_is_in_attribute_and_summary(iris):
    model = LCMClassifier(2, 2, random_state=0).fit(iris.X, iris.y)
    objective = model.restarts_["objective"]
    rival = model.rival_
    assert_allclose(rival["below"], 150 * (objective.max() - objective[rival["start"]]), rtol=1e-9)
    assert 0 < rival["below"] < NEARLY
    assert rival["congruence"] < 0.85
    shown = f"a different solution is nearly as good: start {rival['start']} (rival_)"
    assert shown in str(model.summary())
    # the solutions stand in the order of the objective, so the shown one is the best
    first = model._model.solutions[0]
    assert_allclose(first.share, model.class_prior_ @ model.component_prior_)


def test_weights_count_as_rows(iris):
    model = LCMClassifier(2, 2, random_state=0)
    once = model.fit(iris.X, iris.y, sample_weight=np.full(150, 2.0)).rival_
    rows = np.repeat(np.arange(150), 2)
    twice = model.fit(iris.X.iloc[rows], iris.y[rows]).rival_
    assert set(once) == set(twice)
    if once:
        assert_allclose(once["below"], twice["below"], rtol=1e-6)


@pytest.mark.parametrize("options", [{"select": "likelihood"}, {"n_init": 1}])
def test_one_kept_start_has_none(options, iris):
    model = LCMClassifier(2, 2, random_state=0, **options).fit(iris.X, iris.y)
    assert model.rival_ == {}
    assert "different solution" not in str(model.summary())


def test_starts_that_agree_are_no_rivals():
    """One strong factor: all starts find it."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    X = z[:, None] * np.array([2.0, 1.5, 1.0, -2.0]) + 0.3 * rng.normal(size=(300, 4))
    y = (z + 0.3 * rng.normal(size=300) > 0).astype(int)
    model = LCMClassifier(1, n_init=5, random_state=0).fit(X, y)
    assert model.rival_ == {}
    hybrid = HybridLCMClassifier(1, 1, n_init=3, discriminative=False, random_state=0)
    table = np.column_stack([X, (X[:, 0] > 0)])
    assert hybrid.fit(table, y).rival_ == {}
    # weights of questions count in deviations of the logistic noise
    solution = hybrid._model.solutions[0]
    assert_allclose(solution.loadings[0, -1], hybrid.weights_[0, 0] * np.sqrt(3) / np.pi)


def test_partial_fit_does_not_look(iris):
    model = LCMClassifier(1, 1, calibrate=False, random_state=0)
    model.partial_fit(iris.X, iris.y)
    assert model.rival_ == {}
