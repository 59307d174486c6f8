"""The search for a hierarchy, against fitting anew."""

import math
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hnb_reference import algorithm_3, collapse_by_hand, partition
from numpy.testing import assert_allclose

from latentclass.engine import _content_folds as _row_parts
from latentclass.engine._content_folds import (
    FoldWeights,
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
)
from latentclass.hnb import _search, _views
from latentclass.hnb._hierarchy import (
    FilledHierarchy,
    Hierarchy,
    Tables,
    count_within,
    estimate_within,
    log_likelihood,
)
from latentclass.hnb._search import HierarchySettings, search_hierarchy
from latentclass.hnb._states import collapse_states, expected_counts, pair_strength


def every_row(n_levels):
    return np.array(list(product(*map(range, n_levels))), dtype=np.int32)


def coded(seed=0, n_rows=120, holes=0.0, n=5, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    codes = rng.integers(0, 3, (n_rows, n)).astype(np.int32)
    codes[:, 1] = (codes[:, 0] + y + (rng.random(n_rows) < 0.2)) % 3
    codes[rng.random(codes.shape) < holes] = -1
    return codes, y


def prepared(codes, y, weight=None, seed=0, n_classes=2, n_parts=(10, 5)):
    weight = np.ones(len(y)) if weight is None else weight
    n_levels = (3,) * codes.shape[1]
    marks = column_fingerprints(codes, y, weight, n_levels, n_classes)
    rows = distinct_rows(codes, y, weight, marks, seed)
    return rows, n_levels, assign_folds(rows, n_parts[0], 2), assign_folds(rows, n_parts[1], 1)


def test_parts_are_even_and_hold_all_weight():
    codes, y = coded()
    weight = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0
    rows, _, _, folds = prepared(codes, y, weight)
    assert rows.weight.sum() == weight.sum()
    assert np.array_equal(rows.codes[rows.number], codes)
    assert np.array_equal(rows.y[rows.number], y)
    total = np.bincount(folds.row, folds.weight, len(rows.y))
    assert_allclose(total, rows.weight, rtol=1e-12)
    for k in range(2):
        own = rows.y[folds.row] == k
        by_part = np.bincount(folds.part[own], folds.weight[own], 5)
        assert np.ptp(by_part) <= 1.0
    # a heavy row is in all parts
    heavy = np.where(np.arange(len(y)) == 0, 1e6, 1.0)
    rows, _, _, folds = prepared(codes, y, heavy)
    share = folds.weight[folds.row == rows.number[0]]
    assert len(share) == 5
    assert_allclose(share, 2e5, rtol=1e-4)


def test_parts_do_not_depend_on_the_order_of_rows_or_columns():
    codes, y = coded()
    rows, _, _, folds = prepared(codes, y)
    order = np.random.default_rng(2).permutation(len(y))
    turned = codes[order][:, ::-1]
    other, _, _, parts = prepared(np.ascontiguousarray(turned), 1 - y[order])
    by_content = {}
    for c, k, p in zip(rows.codes[folds.row], rows.y[folds.row], folds.part, strict=True):
        by_content.setdefault((k, *c), []).append(p)
    again = {}
    for c, k, p in zip(other.codes[parts.row], other.y[parts.row], parts.part, strict=True):
        again.setdefault((1 - k, *c[::-1]), []).append(p)
    assert {key: sorted(v) for key, v in by_content.items()} == {
        key: sorted(v) for key, v in again.items()
    }


def test_equal_hashes_are_told_apart(monkeypatch):
    codes, y = coded()
    monkeypatch.setattr(
        _row_parts, "level_words", lambda _, column: np.zeros(len(column), dtype=np.uint64)
    )
    rows = distinct_rows(codes, y, np.ones(len(y)), [0] * 5, 0)
    assert np.array_equal(rows.codes[rows.number], codes)
    assert len(rows.y) == len(np.unique(np.column_stack([y, codes]), axis=0))


def test_given_parts_are_added_up():
    codes = np.array([[0], [0], [1], [0]], dtype=np.int32)
    y = np.zeros(4, dtype=np.intp)
    rows = distinct_rows(codes, y, np.ones(4), [0], 0)
    parts = given_parts(rows, np.array([0, 0, 1, -1]), np.array([1.0, 2.0, 3.0, 4.0]), 2)
    zero = rows.number[0]
    got = {(r, p): w for r, p, w in zip(*parts[:3], strict=True)}
    assert got == {(zero, 0): 3.0, (zero, 2): 4.0, (1 - zero, 1): 3.0}


def trainings(rows, folds):
    """Weight of each distinct row in the training part of each fold."""
    for f in range(folds.n_parts):
        left = np.zeros(len(rows.y))
        np.add.at(left, folds.row[folds.part == f], folds.weight[folds.part == f])
        yield rows.weight - left


def refitted_states(hierarchy, rows, train):
    """The same pairs with states that some rows make; every combination is among them."""
    again = Hierarchy(hierarchy.n_levels)
    for latent in hierarchy.latents:
        first, second = latent.children
        codes, size = again.encode(rows.codes), again.sizes[second]
        counts = np.zeros((again.sizes[first] * size, 2))
        np.add.at(counts, (codes[:, first] * size + codes[:, second], rows.y), train)
        assert np.all(counts.sum(axis=1) > 0)
        states = np.empty(len(counts), dtype=np.int32)
        groups = sorted(map(sorted, collapse_by_hand(counts, train.sum())))
        for number, group in enumerate(groups):
            states[group] = number
        again = again.join(first, second, states.reshape(-1, size))
    return again


def accuracy_by_refitting(hierarchy, rows, folds, alpha, ignored=()):
    """Fit naive Bayes of the top variables from the rows of each training part; no holes.

    The hierarchy is one for all folds, or a list with one for each.
    """
    own = hierarchy if isinstance(hierarchy, list) else [hierarchy] * folds.n_parts
    right = total = 0.0
    for mine, train in zip(own, trainings(rows, folds), strict=True):
        tops = [v for v in mine.tops if v not in ignored]
        states = mine.encode(rows.codes)[:, tops]
        sizes = [mine.sizes[v] for v in tops]
        left = rows.weight - train
        for i in np.flatnonzero(left):
            score = []
            for k in range(2):
                own = train * (rows.y == k)
                value = math.log(own.sum() / train.sum())
                for j, r in enumerate(sizes):
                    same = own[states[:, j] == states[i, j]].sum()
                    value += math.log((same + alpha) / (own.sum() + alpha * r))
                score.append(value)
            right += left[i] * (int(np.argmax(score)) == rows.y[i])
            total += left[i]
    return right / total


def steps_of(rows, n_levels, subsets, folds, settings):
    """The hierarchy after each step, and what the search found."""
    search = _search._Search(rows, n_levels, 2, subsets, folds, settings)
    hierarchies = [search.hierarchy]
    while search.step():
        hierarchies.append(search.hierarchy)
    found = search_hierarchy(rows, n_levels, 2, subsets, folds, settings)
    assert found.scores == search.scores
    assert len(found.hierarchy.latents) >= 1
    assert {0, 1} in [set(latent.children) for latent in found.hierarchy.latents]
    assert np.all(np.diff(found.scores) >= 0)
    return zip(found.scores, hierarchies, strict=True)


def test_published_scores_are_those_of_refitting_tables():
    codes, y = coded(n_rows=150)
    prepared_rows = prepared(codes, y)
    rows, _, _, folds = prepared_rows
    settings = HierarchySettings(search="published", alpha=0.7)
    for score, hierarchy in steps_of(*prepared_rows, settings):
        assert_allclose(score, accuracy_by_refitting(hierarchy, rows, folds, 0.7), rtol=1e-9)


@pytest.mark.parametrize("search", ["subsets", "hill_climbing"])
def test_held_out_scores_are_those_of_refitting_states_and_tables(search, monkeypatch):
    monkeypatch.setattr(_views, "MAX_CROSSED", 0)  # no states are made anew for a partner
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (600, 4)).astype(np.int32)
    # each combination of the first two has a share of its own, so their groups are uncertain
    share = rng.permutation(np.linspace(0.1, 0.9, 9))
    y = (rng.random(600) < share[codes[:, 0] * 3 + codes[:, 1]]).astype(np.intp)
    n_subsets = 1 if search == "hill_climbing" else 10
    prepared_rows = prepared(codes, y, n_parts=(n_subsets, 5))
    rows, _, _, folds = prepared_rows
    settings = HierarchySettings(search=search, alpha=0.7)
    differ = False
    for score, hierarchy in steps_of(*prepared_rows, settings):
        own = [refitted_states(hierarchy, rows, train) for train in trainings(rows, folds)]
        differ |= any(
            partition(mine.states.reshape(-1)) != partition(shared.states.reshape(-1))
            for other in own
            for mine, shared in zip(other.latents, hierarchy.latents, strict=True)
        )
        assert_allclose(score, accuracy_by_refitting(own, rows, folds, 0.7), rtol=1e-9)
    assert differ  # otherwise this says nothing


def test_columns_that_say_nothing_seem_to_say_nothing():
    """Rare combinations fit their own labels. Judged by these rows, they would predict them all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, (200, 4)).astype(np.int32)
    y = rng.integers(0, 2, 200)
    n_levels = (12,) * 4
    marks = column_fingerprints(codes, y, np.ones(200), n_levels, 2)
    rows = distinct_rows(codes, y, np.ones(200), marks, 0)
    subsets, folds = assign_folds(rows, 10, 2), assign_folds(rows, 5, 1)
    honest = search_hierarchy(rows, n_levels, 2, subsets, folds, HierarchySettings())
    flattering = HierarchySettings(search="published")
    fooled = search_hierarchy(rows, n_levels, 2, subsets, folds, flattering)
    assert fooled.scores[-1] > 0.75
    assert honest.scores[-1] < 0.6


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_published_search_is_algorithm_3(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (500, 5)).astype(np.int32)
    codes[:, 3] = (codes[:, 0] + (rng.random(500) < 0.3)) % 2
    rule = (codes[:, 0] == codes[:, 1]) | (codes[:, 2] == 1)
    y = np.where(rng.random(500) < 0.15, rng.integers(0, 2, 500), rule).astype(np.intp)
    marks = column_fingerprints(codes, y, np.ones(500), (2,) * 5, 2)
    rows = distinct_rows(codes, y, np.ones(500), marks, seed)
    subsets, folds = assign_folds(rows, 6, 2), assign_folds(rows, 4, 1)
    settings = HierarchySettings(search="published", alpha=0.0)
    got = search_hierarchy(rows, (2,) * 5, 2, subsets, folds, settings)
    trains = [
        [
            rows.weight - np.bincount(parts.row, parts.weight * (parts.part == i), len(rows.y))
            for i in range(parts.n_parts)
        ]
        for parts in (subsets, folds)
    ]
    expected, scores = algorithm_3(rows.codes, rows.y, rows.weight, *trains)
    assert len(expected) >= 1
    assert_allclose(got.scores, scores, rtol=1e-9)
    for latent, (children, groups) in zip(got.hierarchy.latents, expected, strict=True):
        assert set(latent.children) == children
        first, second = latent.children
        states = latent.states if first < second else latent.states.T
        assert partition(states.reshape(-1)) == groups


def test_variables_are_left_out_as_long_as_the_rest_does_better():
    codes, y = coded(n_rows=60, n=8)
    rows, n_levels, subsets, folds = prepared(codes, y)
    settings = HierarchySettings(search="published", select=True)
    found = search_hierarchy(rows, n_levels, 2, subsets, folds, settings)
    plain = search_hierarchy(rows, n_levels, 2, subsets, folds, replace(settings, select=False))
    assert plain.ignored == ()
    assert found.ignored
    assert found.scores[-1] > plain.scores[-1]
    assert set(found.ignored) < set(found.hierarchy.tops)

    def score(*more):
        ignored = (*found.ignored, *more)
        return accuracy_by_refitting(found.hierarchy, rows, folds, 1.0, ignored)

    assert_allclose(found.scores[-1], score(), rtol=1e-9)
    for v in set(found.hierarchy.tops) - set(found.ignored):
        assert score(v) <= found.scores[-1] + 1e-9


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_states_are_made_anew_where_a_partner_tells_them_apart(holes):
    """Exactly two of three, all as frequent: of the class alone, one 1 and two say the same."""
    rng = np.random.default_rng(0)
    codes = np.tile(every_row((2, 2, 2)), (60, 1))
    y = (codes.sum(axis=1) == 2).astype(np.intp)
    codes = np.where(rng.random(codes.shape) < holes, -1, codes).astype(np.int32)
    codes = np.hstack([codes, np.zeros((len(y), 2), dtype=np.int32)])  # prepared() counts 3 levels
    rows, n_levels, subsets, folds = prepared(codes, y)
    search = _search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    assert search.step()
    assert search.hierarchy.latents[0].n_states == 2
    while search.step():
        pass
    two = next(
        latent
        for latent in search.hierarchy.latents
        if latent.children[1] >= 5 or latent.children[0] >= 5
    )
    inner = search.hierarchy.latents[0]
    assert inner.n_states > 2
    whole = np.hstack([every_row((2, 2, 2)), np.zeros((8, 2), dtype=np.int32)])
    states = search.hierarchy.encode(whole)[:, 5 + search.hierarchy.latents.index(two)]
    target = whole.sum(axis=1) == 2
    assert not set(states[target]) & set(states[~target])
    if not holes:
        assert search.scores[-1] == 1.0


def test_updated_strengths_are_those_of_a_new_search():
    codes, y = coded(n_rows=400, holes=0.05)
    rows, n_levels, subsets, folds = prepared(codes, y)
    search = _search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    while search.step():
        pass
    hierarchy = search.hierarchy
    assert hierarchy.latents
    states = hierarchy.encode(rows.codes)
    live = [s for s, slot in enumerate(search.whole.slots) if slot is not None]
    variables = [search.whole.slots[s].variable for s in live]
    for i in range(3):
        left = np.bincount(
            subsets.row[subsets.part == i], subsets.weight[subsets.part == i], len(rows.y)
        )
        weight = rows.weight - left
        for (s, v), (t, w) in combinations(list(zip(live, variables, strict=True)), 2):
            table = np.zeros((2, hierarchy.sizes[v], hierarchy.sizes[w]))
            seen = (states[:, v] >= 0) & (states[:, w] >= 0)
            np.add.at(table, (rows.y[seen], states[seen, v], states[seen, w]), weight[seen])
            expected = pair_strength(table, np.array([0, hierarchy.sizes[w]]), "chi2")
            assert_allclose(search._strength[i, s, t], expected[0], rtol=1e-7)


def test_held_out_scores_with_holes_sum_them_out():
    codes, y = coded(n_rows=200, holes=0.15)
    rows, n_levels, subsets, folds = prepared(codes, y)
    search = _search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    assert search.step()
    (latent,) = search.hierarchy.latents
    first, second = latent.children
    pair = np.where(
        (rows.codes[:, first] >= 0) & (rows.codes[:, second] >= 0),
        rows.codes[:, first] * 3 + rows.codes[:, second],
        -1,
    )
    for fold, train in zip(search.folds, trainings(rows, folds), strict=True):
        counts = np.zeros((2, 9))
        np.add.at(counts, (rows.y[pair >= 0], pair[pair >= 0]), train[pair >= 0])
        collapsed = collapse_states(counts.T, expected_counts(counts, 3), train.sum())
        hierarchy = Hierarchy(n_levels).join(first, second, collapsed.reshape(3, 3))
        states = hierarchy.encode(rows.codes)
        within = estimate_within(hierarchy, count_within(hierarchy, states, train), 1.0)
        log_theta = []
        for k in range(2):
            row = []
            for v in hierarchy.tops:
                seen = (states[:, v] >= 0) & (rows.y == k)
                counts = np.bincount(states[seen, v], train[seen], hierarchy.sizes[v]) + 1.0
                row.append(counts / counts.sum())
            log_theta.append(np.log(np.concatenate(row)))
        model = FilledHierarchy(hierarchy, Tables(np.array(log_theta), within))
        own = [train[rows.y == k].sum() for k in range(2)]
        expected = log_likelihood(model, rows.codes) + np.log(np.array(own) / sum(own))
        row = np.flatnonzero(rows.weight > train)
        got = fold.log_joint.T
        assert_allclose(
            got[:, 1] - got[:, 0], expected[row, 1] - expected[row, 0], rtol=1e-7, atol=1e-9
        )
        alone = train[row] == 0  # in no other fold
        told = search.left_out()[row] + fold.log_prior
        assert_allclose(told[alone], got[alone], rtol=1e-9, atol=1e-9)


def test_a_row_in_several_folds_has_the_mean_of_what_they_say():
    codes, y = coded(n_rows=60)
    rows, n_levels, subsets, folds = prepared(codes, y, np.where(np.arange(60) == 7, 3.0, 1.0))
    search = _search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    heavy = rows.number[7]
    parts = [
        (fold.log_joint - fold.log_prior[:, None])[:, fold.tested == heavy].T
        * fold.tested_weight[fold.tested == heavy]
        for fold in search.folds
        if heavy in fold.tested
    ]
    assert len(parts) > 1
    mean = np.sum(parts, axis=0)[0] / rows.weight[heavy]
    assert_allclose(search.left_out()[heavy], mean, rtol=1e-9)


def test_small_blocks_and_one_part_at_a_time_change_nothing(monkeypatch):
    codes, y = coded(n_rows=300, holes=0.1)
    args = prepared(codes, y)
    whole = search_hierarchy(args[0], args[1], 2, args[2], args[3], HierarchySettings())
    monkeypatch.setattr(_views, "BLOCK_ENTRIES", 1)
    monkeypatch.setattr(_search, "PARTS_BYTES", 1)
    parts = search_hierarchy(args[0], args[1], 2, args[2], args[3], HierarchySettings())
    assert parts.scores == whole.scores
    assert [x.children for x in parts.hierarchy.latents] == [
        x.children for x in whole.hierarchy.latents
    ]


def test_rows_in_no_fold_are_in_every_training_set():
    codes, y = coded(n_rows=60)
    rows = distinct_rows(codes, y, np.ones(60), [0] * 5, 0)
    part = np.where(np.arange(60) < 20, np.arange(60) % 2, -1)
    folds = given_parts(rows, part, np.ones(60), 2)
    found = search_hierarchy(
        rows, (3,) * 5, 2, FoldWeights(*assign_folds(rows, 1, 0)), folds, HierarchySettings()
    )
    expected = accuracy_by_refitting(Hierarchy((3,) * 5), rows, folds, 1.0)
    assert_allclose(found.scores[0], expected, rtol=1e-9)


def test_numba_is_loaded_by_the_first_search_alone():
    code = "import sys, latentclass.hnb._classifier; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
