"""Rules hold exactly where the state does, and are short."""

from itertools import combinations, product

import numpy as np
import pytest

from latentclass.hnb._hierarchy import (
    Hierarchy,
)
from latentclass.hnb._rules import (
    FALSE,
    TRUE,
    All,
    Any,
    In,
    RuleFinder,
    Same,
    length,
    part_that_holds,
    shorten,
    truth,
    write,
)


def every_row(n_levels):
    return np.array(list(product(*map(range, n_levels))), dtype=np.int32)


def holds(proposition, codes):
    """In which complete rows a proposition is true."""
    if isinstance(proposition, In):
        return np.isin(codes[:, proposition.variable], proposition.levels)
    if isinstance(proposition, Same):
        equal = codes[:, proposition.first] == codes[:, proposition.second]
        return equal if proposition.equal else ~equal
    parts = [holds(part, codes) for part in proposition.parts]
    every = isinstance(proposition, All)
    join = np.logical_and if every else np.logical_or
    return join.reduce(parts, axis=0) if parts else np.full(len(codes), every)


@pytest.mark.parametrize("seed", range(8))
def test_rules_hold_exactly_where_the_state_does(seed):
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy((3, 4, 2, 3))
    hierarchy = hierarchy.join(0, 1, _gapless(rng.integers(0, 3, (3, 4))))
    hierarchy = hierarchy.join(2, 3, _gapless(rng.integers(0, 2, (2, 3))))
    shape = (hierarchy.sizes[4], hierarchy.sizes[5])
    hierarchy = hierarchy.join(4, 5, _gapless(rng.integers(0, 3, shape)))
    whole = every_row(hierarchy.n_levels)
    states = hierarchy.encode(whole)
    finder = RuleFinder(hierarchy, lambda i, j: hierarchy.n_levels[i] == hierarchy.n_levels[j])
    for variable in range(7):
        for size in (1, 2):
            for chosen in combinations(range(hierarchy.sizes[variable]), size):
                found = finder.find(variable, frozenset(chosen))
                expected = np.isin(states[:, variable], chosen)
                assert np.array_equal(holds(found, whole), expected)


def _gapless(states):
    return np.unique(states, return_inverse=True)[1].reshape(states.shape).astype(np.int32)


def text(hierarchy, variable, state, alike=False):
    finder = RuleFinder(hierarchy, lambda *_: alike)
    found = finder.find(variable, frozenset([state]))
    return write(found, ["A", "B", "C"], lambda j, v: f"{'ABC'[j]}={''.join(map(str, v))}")


def test_rules_are_short():
    either = Hierarchy((2, 2)).join(0, 1, np.array([[0, 1], [1, 1]], dtype=np.int32))
    assert text(either, 2, 0) == "A=0 and B=0"
    assert text(either, 2, 1) == "A=1 or B=1"  # not the three cells
    first = Hierarchy((2, 2)).join(0, 1, np.array([[0, 0], [1, 1]], dtype=np.int32))
    assert text(first, 2, 1) == "A=1"  # the paper's example: B does not matter
    equal = Hierarchy((3, 3)).join(0, 1, 1 - np.eye(3, dtype=np.int32))
    assert text(equal, 2, 0) == "(A=0 and B=0) or (A=1 and B=1) or (A=2 and B=2)"
    assert text(equal, 2, 0, alike=True) == "A = B"
    assert text(equal, 2, 1, alike=True) == "A != B"
    nested = Hierarchy((2, 2, 2)).join(0, 1, np.array([[0, 0], [0, 1]], dtype=np.int32))
    nested = nested.join(2, 3, np.array([[0, 0], [0, 1]], dtype=np.int32))
    assert text(nested, 4, 1) == "C=1 and A=1 and B=1"
    assert text(nested, 4, 0) == "C=0 or A=0 or B=0"


def some_proposition(rng, depth):
    kind = rng.integers(0, 4) if depth else rng.integers(0, 2)
    if kind == 0:
        return Same(1, 3, bool(rng.integers(0, 2)))
    if kind == 1:
        variable = int(rng.integers(0, 4))
        n_named = int(rng.integers(1, N_LEVELS[variable] + 1))
        return In(variable, tuple(sorted(rng.permutation(N_LEVELS[variable])[:n_named].tolist())))
    n_parts = int(rng.integers(0, 4))
    return (All, Any)[kind - 2](tuple(some_proposition(rng, depth - 1) for _ in range(n_parts)))


N_LEVELS = (3, 4, 2, 4)


@pytest.mark.parametrize("seed", range(200))
def test_a_shortened_proposition_holds_for_the_same_rows(seed):
    proposition = some_proposition(np.random.default_rng(seed), 4)
    whole = every_row(N_LEVELS)
    shorter = shorten(proposition, N_LEVELS)
    assert np.array_equal(holds(shorter, whole), holds(proposition, whole))
    assert length(shorter) <= length(proposition)
    assert shorten(shorter, N_LEVELS) == shorter


a, b, c = In(0, (0,)), In(1, (0, 1)), In(2, (1,))
not_a = In(0, (1, 2))


@pytest.mark.parametrize(
    ("proposition", "shorter"),
    [
        (Any((a, All((b, Any((a, c)))))), Any((a, All((b, c))))),
        (Any((a, All((not_a, b)))), Any((a, b))),
        (All((a, Any((not_a, b)))), All((a, b))),
        (Any((All((a, b)), All((a, c)))), All((a, Any((b, c))))),
        (Any((All((a, b)), All((a, b, c)))), All((a, b))),
        (Any((b, In(1, (2,)), In(1, (3,)))), TRUE),
        (All((a, not_a, c)), FALSE),
    ],
)
def test_nothing_is_said_twice(proposition, shorter):
    assert shorten(proposition, N_LEVELS) == shorter


def test_rules_that_are_always_or_never_true():
    hierarchy = Hierarchy((2, 2)).join(0, 1, np.zeros((2, 2), dtype=np.int32))
    finder = RuleFinder(hierarchy, lambda *_: False)
    assert finder.find(2, frozenset([0])) == TRUE
    assert finder.find(2, frozenset()) == FALSE
    assert length(TRUE) == 0
    assert write(TRUE, [], str) == "always"
    assert write(FALSE, [], str) == "never"


def test_a_large_table_is_covered_too():
    rng = np.random.default_rng(0)
    hierarchy = Hierarchy((25, 30)).join(0, 1, rng.integers(0, 4, (25, 30)).astype(np.int32))
    whole = every_row((25, 30))
    finder = RuleFinder(hierarchy, lambda *_: False)
    found = finder.find(2, frozenset([1]))
    assert np.array_equal(holds(found, whole), hierarchy.encode(whole)[:, 2] == 1)


@pytest.mark.parametrize("seed", range(4))
def test_the_part_that_holds_is_true_for_the_row_and_implies_the_rule(seed):
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy((3, 4, 2))
    hierarchy = hierarchy.join(0, 1, _gapless(rng.integers(0, 3, (3, 4))))
    hierarchy = hierarchy.join(3, 2, _gapless(rng.integers(0, 3, (hierarchy.sizes[3], 2))))
    whole = every_row(hierarchy.n_levels)
    states = hierarchy.encode(whole)
    finder = RuleFinder(hierarchy, lambda *_: False)
    shorter = 0
    for row, levels in enumerate(states.tolist()):
        rule = finder.find(4, frozenset([levels[4]]))
        part = part_that_holds(rule, levels)
        where = holds(part, whole)
        assert where[row]
        assert not np.any(where & ~holds(rule, whole))
        assert not isinstance(part, Any)
        shorter += length(part) < length(rule)
    assert shorter


def test_missing_levels_leave_the_truth_open():
    """As all ways to fill the row say."""
    rule = Any((All((In(0, (1,)), In(1, (0, 2)))), Same(0, 2, True)))
    n_levels = (2, 3, 2)
    whole = every_row(n_levels)
    for levels in product(*(range(-1, n) for n in n_levels)):
        fits = np.all((np.array(levels) < 0) | (whole == levels), axis=1)
        found = set(holds(rule, whole[fits]).tolist())
        known = truth(rule, levels)
        if known is not None:
            assert found == {known}
    assert truth(rule, (1, -1, 1)) is True
    assert truth(rule, (1, 0, -1)) is True
    assert truth(rule, (0, -1, -1)) is None
    assert truth(rule, (0, 2, 1)) is False
    # nothing is known to hold by itself: the whole rule is kept
    both = Any((In(0, (0,)), In(0, (1,))))
    assert part_that_holds(both, (-1, 0, 0)) == both
    assert part_that_holds(rule, (1, 2, 1)) == Same(0, 2, True)
