"""Structure searches against brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from latentclass.discrete import _structure_search as search
from latentclass.discrete._structure_search import Sample, Score


def spanning_trees(n):
    """Every set of n - 1 edges without cycle."""
    for edges in combinations(combinations(range(n), 2), n - 1):
        group = list(range(n))
        for u, v in edges:
            old, new = group[u], group[v]
            group = [new if g == old else g for g in group]
        if len(set(group)) == 1:
            yield edges


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_tree_is_the_heaviest_of_all(n, seed):
    weights = np.random.default_rng(seed).random((n, n))
    weights = weights + weights.T
    root = seed % n
    parents = search.maximum_spanning_tree(weights, root)
    assert parents[root] == ()
    assert all(len(p) == 1 for j, p in enumerate(parents) if j != root)
    got = sum(weights[p[0], j] for j, p in enumerate(parents) if p)
    assert_allclose(got, max(sum(weights[e] for e in edges) for edges in spanning_trees(n)))


def test_tree_of_no_or_one_node():
    assert search.maximum_spanning_tree(np.empty((0, 0)), 0) == ()
    assert search.maximum_spanning_tree(np.zeros((1, 1)), 0) == ((),)


def make_sample(holes=0.0, n_rows=300, seed=0):
    """x1 copies x0 mostly, x2 is x0 + x1 mostly, x3 follows the class, x4 is noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    x0 = rng.integers(0, 2, n_rows)
    x1 = np.where(rng.random(n_rows) < 0.8, x0, 1 - x0)
    x2 = np.where(rng.random(n_rows) < 0.9, x0 + x1, rng.integers(0, 3, n_rows))
    x3 = np.where(rng.random(n_rows) < 0.7, y, rng.integers(0, 2, n_rows))
    x4 = rng.integers(0, 3, n_rows)
    codes = np.stack([x0, x1, x2, x3, x4], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < holes] = -1
    return Sample(codes, y, rng.uniform(0.5, 2.0, n_rows), 2, (2, 2, 3, 2, 3))


def slow_score(sample, score, child, parents, with_class, rows):
    """Score of one family on some rows, by a loop over parent configurations."""
    codes, y, weight, n_classes, n_levels = sample
    r, total = n_levels[child], 0.0
    ranges = [range(n_levels[p]) for p in parents] + [range(n_classes if with_class else 1)]
    n_configurations = 0
    for config in product(*ranges):
        n_configurations += 1
        here = rows & np.all(codes[:, list(parents)] == config[:-1], axis=1)
        if with_class:
            here = here & (y == config[-1])
        counts = np.array([weight[here & (codes[:, child] == v)].sum() for v in range(r)])
        if score.kind == "k2":
            total += gammaln(r * score.alpha) - gammaln(counts.sum() + r * score.alpha)
            total += np.sum(gammaln(counts + score.alpha) - gammaln(score.alpha))
        else:
            total += sum(c * np.log(c / counts.sum()) for c in counts if c > 0)
    n_parameters = n_configurations * (r - 1)
    price = {"k2": 0.0, "aic": 1.0, "bic": 0.5 * np.log(weight.sum())}[score.kind]
    return total - price * n_parameters


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["aic", "bic", "k2"])
@pytest.mark.parametrize("with_class", [True, False])
def test_gains_are_differences_of_scores_on_the_same_rows(kind, holes, with_class):
    sample, score = make_sample(holes), Score(kind, 0.7)
    scorer = search.FamilyScorer(sample, score)
    for child, parents in [(2, ()), (2, (0,)), (4, (1, 3))]:
        gains = scorer.gains(child, parents, with_class)
        for u in range(5):
            if u == child or u in parents:
                assert gains[u] == -np.inf
                continue
            rows = (sample.codes[:, [child, u, *parents]] >= 0).all(axis=1)
            more = tuple(sorted((*parents, u)))
            expected = slow_score(sample, score, child, more, with_class, rows) - slow_score(
                sample, score, child, parents, with_class, rows
            )
            assert_allclose(gains[u], expected, rtol=1e-8, atol=1e-8)
        rows = (sample.codes[:, [child, *parents]] >= 0).all(axis=1)
        expected = slow_score(sample, score, child, parents, True, rows) - slow_score(
            sample, score, child, parents, False, rows
        )
        assert_allclose(scorer.class_gain(child, parents), expected, rtol=1e-8, atol=1e-8)


def test_k2_finds_the_planted_parents():
    found = search.search_k2(make_sample(), Score("k2"), 3)
    assert found.parents[:3] == ((), (0,), (0, 1))
    assert found.class_parent == (True,) * 5
    assert search.search_k2(make_sample(), Score("k2"), 1).parents == ((),) * 5


def total_score(sample, score, structure):
    everything = np.ones(len(sample.y), dtype=bool)
    return sum(
        slow_score(sample, score, j, ps, structure.class_parent[j], everything)
        for j, ps in enumerate(structure.parents)
    )


def is_acyclic(parents):
    left = set(range(len(parents)))
    while left:
        ready = {j for j in left if not set(parents[j]) & left}
        if not ready:
            return False
        left -= ready
    return True


@pytest.mark.parametrize("seed", range(3))
def test_hill_climbing_stops_where_no_move_gains(seed):
    sample, score = make_sample(seed=seed), Score("aic")
    found = search.search_hill(sample, score, max_parents=None, free_class=False)
    best = total_score(sample, score, found)
    assert is_acyclic(found.parents)
    for u, j in product(range(5), range(5)):
        if u == j:
            continue
        moves = []
        parents = [set(ps) for ps in found.parents]
        if u in parents[j]:
            parents[j].discard(u)
            moves.append([set(ps) for ps in parents])
            parents[u].add(j)
            moves.append(parents)
        else:
            parents[j].add(u)
            moves.append(parents)
        for move in moves:
            if is_acyclic(move):
                other = search.Structure(
                    found.n_levels, tuple(tuple(sorted(ps)) for ps in move), found.class_parent
                )
                assert total_score(sample, score, other) <= best + 1e-6


def test_hill_climbing_keeps_its_limit_and_may_cut_the_class_off():
    sample = make_sample()
    one = search.search_hill(sample, Score("aic"), max_parents=1, free_class=True)
    assert max(len(ps) for ps in one.parents) == 1
    none = search.search_hill(sample, Score("aic"), max_parents=0, free_class=False)
    assert none.parents == ((),) * 5
    free = search.search_hill(sample, Score("bic"), max_parents=None, free_class=True)
    children = {p for j, ps in enumerate(free.parents) if free.class_parent[j] for p in ps}
    assert all(has or j in children for j, has in enumerate(free.class_parent))


def test_hill_climbing_leaves_a_noise_column_in_the_blanket_without_the_class():
    rng = np.random.default_rng(0)
    y, noise = rng.integers(0, 2, (2, 400))
    signal = np.where(rng.random(400) < 0.9, y ^ noise, rng.integers(0, 2, 400))
    codes = np.stack([noise, signal], axis=1).astype(np.int32)
    sample = Sample(codes, y, np.ones(400), 2, (2, 2))
    found = search.search_hill(sample, Score("bic"), max_parents=None, free_class=True)
    assert found.parents == ((), (0,))
    assert found.class_parent == (False, True)


def test_hill_climbing_ends_with_holes():
    found = search.search_hill(make_sample(0.3), Score("aic"), max_parents=None, free_class=True)
    assert is_acyclic(found.parents)


def test_markov_blanket_correction_by_hand():
    # 0 -> 1 <- class keeps 0; 2 and 3 are connected to nothing that the class touches
    parents = ((), (0,), (), (2,))
    corrected = search.correct_markov_blanket(parents, [False, True, False, False])
    assert corrected == (False, True, True, True)


def test_a_class_arc_of_the_correction_brings_in_the_parents_too():
    # as in Weka 3.6: 0 gets the class, so its parent 1 is in the blanket, but not its child 2
    corrected = search.correct_markov_blanket(((1,), (), (0,)), [False, False, False])
    assert corrected == (True, False, True)


def test_families_too_large_are_not_considered(monkeypatch):
    monkeypatch.setattr(search, "MAX_FAMILY_ENTRIES", 1)
    gains = search.FamilyScorer(make_sample(), Score("aic")).gains(0, (), True)
    assert np.all(gains == -np.inf)
    found = search.search_k2(make_sample(), Score("k2"), 3)
    assert found.parents == ((),) * 5


def test_gains_of_the_first_candidates_are_those_of_all():
    scorer = search.FamilyScorer(make_sample(holes=0.1), Score("bic"))
    every = scorer.gains(3, (1,), with_class=True)
    for n in range(6):
        np.testing.assert_array_equal(scorer.gains(3, (1,), True, n_candidates=n), every[:n])


def test_what_a_climb_reaches_is_kept_up_to_date():
    climb = search._HillClimb(make_sample(), Score("bic"), None, free_class=False)
    moves = [("add", 0, 1), ("add", 2, 0), ("add", 1, 4), ("turn", 0, 1), ("drop", 2, 0)]
    for move in moves:
        climb.take(search._Move(*move))
        expected = np.zeros((5, 5), dtype=bool)
        for j, parents in enumerate(climb.state[0]):
            expected[list(parents), j] = True
        np.testing.assert_array_equal(climb._arcs, expected)
        for _ in range(5):
            expected |= (expected[:, :, None] & expected[None]).any(axis=1)
        np.testing.assert_array_equal(climb._reaches, expected)
