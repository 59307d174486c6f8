from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_product_mixture import make_problem, random_starts

from latentclass.engine._em import run_groups, run_restarts


class Point(NamedTuple):
    x: np.ndarray


class Climb:
    """A problem with known steps: x moves a fixed part of the way to its own peak.

    Start s climbs to `peaks[s]`; the objective is peak height minus squared distance.
    """

    def __init__(self, heights, rate=0.5, fall=False):
        self.heights, self.rate, self.fall = np.asarray(heights, float), rate, fall
        self.n_e_steps = 0

    def e_step(self, params):
        self.n_e_steps += 1
        which = np.floor(params.x[:, 0]).astype(int)
        distance = params.x[:, 0] - which
        objective = self.heights[which] - distance**2
        if self.fall and self.n_e_steps > 2:
            objective = objective - self.n_e_steps
        return Point(params.x.copy()), objective

    def m_step(self, stats):
        which = np.floor(stats.x)
        return Point(which + (stats.x - which) * self.rate)

    def to_vector(self, params):
        return params.x

    def from_vector(self, vector):
        return Point(vector)

    def dead(self, params):
        return np.zeros(params.x.shape, dtype=bool)

    def reseed(self, params, dead, rngs):
        raise AssertionError("nothing is dead here")


def climb(heights, **options):
    n_starts = len(heights)
    problem = Climb(heights, **options.pop("problem", {}))
    params = Point(np.arange(n_starts)[:, None] + 0.9)
    options = {"tol": 1e-6, "max_iter": 100, "rngs": [None] * n_starts} | options
    return problem, run_restarts(problem, params, **options)


@pytest.mark.parametrize("halving", [True, False])
def test_the_best_start_is_kept(halving):
    _, result = climb([1.0, 5.0, 3.0, 2.0], halving=halving)
    assert result.restarts["kept"].tolist() == [False, True, False, False]
    assert_allclose(result.history[-1], 5.0, atol=1e-5)
    assert result.converged


def test_halving_stops_the_worse_half_after_one_two_four_steps():
    _, result = climb([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    # the start's own M-step counts as one
    assert result.restarts["n_iter"][:7].tolist() == [2, 2, 2, 2, 4, 4, 8]
    # of an odd number, the larger half goes on: 5, 3, 2, 1
    _, result = climb([1.0, 2.0, 3.0, 4.0, 5.0])
    assert result.restarts["n_iter"][:4].tolist() == [2, 2, 4, 8]


def test_without_halving_every_start_converges():
    _, result = climb([1.0, 2.0, 3.0], halving=False)
    assert result.restarts["converged"].all()


def test_a_relative_tolerance_is_a_share_of_the_objective():
    _, result = climb([-1000.0], tol=1e-5, relative_tol=True)
    gains = np.diff(result.history)
    share = gains / np.abs(result.history[:-1])
    assert (share[:-1] > 1e-5).all()
    assert share[-1] <= 1e-5 < gains[-1]


def test_a_score_ranks_before_the_objective():
    _, result = climb([1.0, 5.0, 3.0], score=lambda params: -params.x[:, 0])
    assert result.restarts["kept"].tolist() == [True, False, False]


def test_max_iter_is_not_convergence():
    _, result = climb([1.0], max_iter=3)
    assert not result.converged
    assert result.n_iter == 3
    assert len(result.history) == 3


def test_history_ends_with_the_objective_of_the_parameters():
    problem, result = climb([1.0, 2.0])
    assert result.history[-1] == problem.e_step(result.params)[1][0]


def test_a_callback_can_stop_the_run():
    seen = []

    def stop_at_three(iteration, objective):
        seen.append((iteration, objective))
        return iteration >= 3

    _, result = climb([1.0], on_iteration=stop_at_three)
    assert [iteration for iteration, _ in seen] == [2, 3]
    assert result.n_iter == 3
    assert not result.converged


def test_a_falling_objective_is_announced():
    with pytest.warns(RuntimeWarning, match="objective fell by"):
        climb([1.0], problem={"fall": True}, max_iter=5)


def test_starts_given_are_not_changed():
    params = Point(np.array([[0.9], [1.9]]))
    run_restarts(Climb([1.0, 2.0]), params, tol=1e-6, max_iter=9, rngs=[None, None])
    assert params.x.tolist() == [[0.9], [1.9]]


def test_a_start_that_is_not_a_number_loses():
    _, result = climb([np.nan, 1.0], max_iter=20)
    assert result.restarts["kept"].tolist() == [False, True]


@pytest.mark.parametrize("keep", [1, 2])
@pytest.mark.parametrize("halving", [True, False])
def test_groups_are_contests_of_their_own(keep, halving):
    heights = np.array([1.0, 5.0, 3.0, 2.0, 4.0, 6.0, 0.0])
    groups = np.array([1, 0, 1, 1, 0, 2, 1])
    params = Point(np.arange(7)[:, None] + 0.9)
    options = {"tol": 1e-6, "max_iter": 50, "halving": halving, "keep": keep}
    together = run_groups(Climb(heights), params, groups, rngs=[None] * 7, **options)
    assert len(together) == 3
    for group, result in enumerate(together):
        mine = np.flatnonzero(groups == group)
        alone = run_restarts(
            Climb(heights), Point(params.x[mine]), rngs=[None] * len(mine), **options
        )
        assert result.params.x.tolist() == alone.params.x.tolist()
        assert result.order.tolist() == np.argsort(-heights[mine])[:keep].tolist()
        assert result.histories == alone.histories
        for name, column in alone.restarts.items():
            assert result.restarts[name].tolist() == column.tolist()


@pytest.fixture
def slow_mixture():
    """Two overlapping groups, on which EM is slow."""
    rng = np.random.default_rng(8)
    numeric = np.concatenate([rng.normal(0, 1, (150, 2)), rng.normal(1.6, 1, (150, 2))])
    codes = rng.integers(0, 3, (300, 1)).astype(np.int32)
    problem, _ = make_problem(
        numeric, codes, [3], np.full(300, -1), 2, alpha=1.0, strength=1.0, block_rows=100
    )
    return problem, *random_starts(problem, 1, seed=4)


@pytest.mark.parametrize("accelerate", [False, True])
def test_the_objective_never_falls(slow_mixture, accelerate):
    problem, params, rngs = slow_mixture
    result = run_restarts(problem, params, tol=0.0, max_iter=300, rngs=rngs, accelerate=accelerate)
    assert np.all(np.diff(result.history) >= -1e-12)


def test_acceleration_gets_further_with_the_same_number_of_steps(slow_mixture):
    problem, params, rngs = slow_mixture
    reached = {
        accelerate: run_restarts(
            problem, params, tol=0.0, max_iter=60, rngs=rngs, accelerate=accelerate
        )
        for accelerate in (False, True)
    }
    limit = run_restarts(problem, params, tol=0.0, max_iter=4000, rngs=rngs).history[-1]
    gap = {a: limit - result.history[-1] for a, result in reached.items()}
    assert reached[True].n_iter <= reached[False].n_iter == 60
    assert gap[True] < 0.2 * gap[False]


@pytest.mark.parametrize("max_iter", [1, 2, 3, 8])
def test_acceleration_keeps_to_max_iter(slow_mixture, max_iter):
    problem, params, rngs = slow_mixture
    result = run_restarts(problem, params, tol=0.0, max_iter=max_iter, rngs=rngs, accelerate=True)
    assert result.n_iter == max_iter


class Overshoot(Climb):
    """Extrapolated points, which no EM step reaches, are far worse."""

    def from_vector(self, vector):
        return Point(np.floor(vector) + 0.99)


def test_an_extrapolation_that_lowers_the_objective_is_not_taken():
    params = Point(np.array([[0.9]]))
    options = {"tol": 1e-9, "max_iter": 40, "rngs": [None]}
    accelerated = run_restarts(Overshoot([1.0], rate=0.7), params, accelerate=True, **options)
    assert np.all(np.diff(accelerated.history) >= 0)
    assert_allclose(accelerated.history[-1], 1.0, atol=1e-6)


class Marked(NamedTuple):
    x: np.ndarray
    place: np.ndarray


class Carrier(Climb):
    """The same climb, but all coordinates after the first are kept aside, in three sets."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.kept = None

    def join(self, params):
        return Point(np.hstack([params.x, self.kept[params.place]]))

    def begin(self, x):
        n_starts, n = x.shape
        self.kept = np.zeros((3 * n_starts, n - 1))
        self.kept[::3] = x[:, 1:]
        return Marked(x[:, :1], 3 * np.arange(n_starts))

    def e_step(self, params):
        stats, objective = super().e_step(self.join(params))
        return Marked(stats.x, params.place), objective

    def m_step(self, stats):
        moved = super().m_step(Point(stats.x)).x
        place = stats.place - stats.place % 3 + (stats.place + 1) % 3
        self.kept[place] = moved[:, 1:]
        return Marked(moved[:, :1], place)

    def from_vector(self, vector):
        return Marked(vector, np.zeros(len(vector), dtype=int))

    def squares(self, path):
        start, one, two = (self.kept[params.place] for params in path)
        return ((one - start) ** 2).sum(axis=1), ((two - 2.0 * one + start) ** 2).sum(axis=1)

    def carry(self, params, path, alpha):
        start, one, two = (self.kept[each.place] for each in path)
        far = alpha[:, None]
        self.kept[path[0].place] = (
            start - 2.0 * far * (one - start) + far**2 * (two - 2.0 * one + start)
        )
        return params._replace(place=path[0].place)


def test_what_is_kept_with_the_rows_is_extrapolated_like_coordinates():
    x = np.array([[0.9, 0.2, -0.4], [0.1, 0.5, 0.7]])
    rules = {"tol": -1.0, "max_iter": 9, "rngs": [None] * 2, "accelerate": True, "halving": False}
    rate = np.array([0.9, 0.5, 0.7])
    plain = run_restarts(Climb([1.0], rate=rate), Point(x), keep=2, **rules)
    problem = Carrier([1.0], rate=rate)
    found = run_restarts(problem, problem.begin(x), keep=2, **rules)
    for mine, theirs in zip(found.histories, plain.histories, strict=True):
        assert_allclose(mine, theirs, rtol=1e-12)
    assert_allclose(problem.join(found.params).x, plain.params.x, rtol=1e-12)


class Dying(Climb):
    """One component that is always dead."""

    def dead(self, params):
        return np.ones(params.x.shape, dtype=bool)

    def reseed(self, params, dead, rngs):
        return Point(np.floor(params.x) + 0.95)


def test_reseeding_ends_and_is_never_the_last_step():
    params = Point(np.array([[0.9]]))
    long = run_restarts(Dying([1.0]), params, tol=1e-9, max_iter=200, rngs=[None])
    assert long.restarts["reseeded"].tolist() == [4]
    assert long.converged
    # a start that had converged goes on from its new place
    easy = run_restarts(Dying([1.0]), params, tol=10.0, max_iter=200, rngs=[None])
    assert easy.restarts["reseeded"].tolist() == [4]
    short = run_restarts(Dying([1.0]), params, tol=1e-9, max_iter=2, rngs=[None])
    assert short.restarts["reseeded"].tolist() == [0]
    assert short.history[-1] > short.history[0]


def test_acceleration_survives_probabilities_of_zero():
    rng = np.random.default_rng(9)
    codes = np.repeat([[0, 0], [1, 1], [0, 1]], 20, axis=0).astype(np.int32)
    numeric = rng.normal(size=(60, 1))
    problem, _ = make_problem(numeric, codes, [3, 2], np.full(60, -1), 2, strength=1.0)
    params, rngs = random_starts(problem, 3)
    result = run_restarts(problem, params, tol=1e-9, max_iter=200, rngs=rngs, accelerate=True)
    assert np.isfinite(result.history).all()
    assert np.all(np.diff(result.history) >= -1e-12)
