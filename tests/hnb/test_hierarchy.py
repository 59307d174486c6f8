"""Hierarchical naive Bayes: density, search and rules against slow twins and hand counts."""

import math
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from latentclass.engine import _content_folds as _row_parts
from latentclass.engine._content_folds import (
    FoldWeights,
    assign_folds,
    column_fingerprints,
    distinct_rows,
    given_parts,
)
from latentclass.hnb import _hierarchy as _hnb
from latentclass.hnb import _kernels as _hnb_kernels
from latentclass.hnb import _search as _hnb_search
from latentclass.hnb._hierarchy import (
    FilledHierarchy,
    Hierarchy,
    Tables,
    best_log_likelihood,
    count_within,
    draw_codes,
    latent_posterior,
    log_likelihood,
)
from latentclass.hnb._rules import FALSE, TRUE, RuleFinder, holds, length, write
from latentclass.hnb._search import HierarchySettings, search_hierarchy
from latentclass.hnb._states import collapse_states, log_chi2_tail, pair_strength


def random_model(rng, n_levels=(2, 3, 2, 3), n_classes=2):
    """Two nested latent variables over the first three attributes, the fourth alone."""
    hierarchy = Hierarchy(n_levels)
    hierarchy = hierarchy.join(0, 1, np.array([[0, 1, 0], [2, 1, 0]], dtype=np.int32))
    hierarchy = hierarchy.join(2, 4, np.array([[0, 1, 1], [1, 0, 2]], dtype=np.int32))
    codes = rng.integers(0, n_levels, (60, 4)).astype(np.int32)
    within = count_within(hierarchy, codes, rng.random(60), 0.5)
    size = int(hierarchy.offsets[-1])
    theta = rng.random((n_classes, size))
    for a, b in zip(hierarchy.offsets[:-1], hierarchy.offsets[1:], strict=True):
        theta[:, a:b] /= theta[:, a:b].sum(axis=1, keepdims=True)
    return FilledHierarchy(hierarchy, Tables(np.log(theta), within))


def probability_by_hand(model, row, k):
    """The product of the module's docstring, step by step."""
    states = list(row)
    total = 1.0
    for latent, log_within in zip(model.hierarchy.latents, model.tables.log_within, strict=True):
        a, b = (states[c] for c in latent.children)
        states.append(latent.states[a, b])
        total *= math.exp(log_within[a, b])
    for v, start in zip(model.hierarchy.tops, model.hierarchy.offsets, strict=False):
        total *= math.exp(model.tables.log_theta[k, start + states[v]])
    return total


def every_row(n_levels):
    return np.array(list(product(*map(range, n_levels))), dtype=np.int32)


@pytest.fixture
def model():
    return random_model(np.random.default_rng(0))


def test_density_is_the_product_and_sums_to_one(model):
    whole = every_row(model.hierarchy.n_levels)
    expected = [[probability_by_hand(model, row, k) for k in range(2)] for row in whole]
    got = np.exp(log_likelihood(model, whole))
    assert_allclose(got, expected, rtol=1e-12)
    assert_allclose(got.sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("block", [_hnb.BLOCK_CELLS, 20])
def test_missing_attributes_are_summed_out(model, block, monkeypatch):
    monkeypatch.setattr(_hnb, "BLOCK_CELLS", block)
    n_levels = model.hierarchy.n_levels
    whole = every_row(n_levels)
    joint = np.exp(log_likelihood(model, whole))
    holes = every_row([r + 1 for r in n_levels]) - 1
    got = np.exp(log_likelihood(model, holes))
    bonus = [np.random.default_rng(1).normal(size=r) for r in n_levels]
    best = np.exp(best_log_likelihood(model, holes, bonus))
    extra = np.exp(sum(bonus[j][whole[:, j]] for j in range(4)))[:, None]
    for row, total, top in zip(holes, got, best, strict=True):
        agree = np.all((row < 0) | (whole == row), axis=1)
        assert_allclose(total, joint[agree].sum(axis=0), rtol=1e-12)
        # the best latent path is the best row, for a row decides its states
        assert_allclose(top, (joint * extra)[agree].max(axis=0), rtol=1e-12)


def test_latent_posterior_by_enumeration(model):
    n_levels = model.hierarchy.n_levels
    whole = every_row(n_levels)
    states = model.hierarchy.encode(whole)
    joint = np.exp(log_likelihood(model, whole)) * [0.3, 0.7]
    holes = every_row([r + 1 for r in n_levels]) - 1
    evidence = np.exp(log_likelihood(model, holes)) * [0.3, 0.7]
    posterior = evidence / evidence.sum(axis=1, keepdims=True)
    found = latent_posterior(model, holes, posterior)
    for i, row in enumerate(holes):
        agree = np.all((row < 0) | (whole == row), axis=1)
        weight = joint[agree].sum(axis=1)
        for t in range(2):
            share = np.bincount(states[agree, 4 + t], weight, found[t].shape[1]) / weight.sum()
            assert_allclose(found[t][i], share, rtol=1e-10, atol=1e-14)


def test_states_are_known_where_holes_leave_one_open():
    hierarchy = Hierarchy((2, 3)).join(0, 1, np.array([[0, 1, 1], [0, 1, 2]], dtype=np.int32))
    codes = np.array([[-1, 0], [-1, 1], [-1, 2], [0, -1], [-1, -1], [1, 2]], dtype=np.int32)
    assert hierarchy.encode(codes)[:, 2].tolist() == [0, 1, -1, -1, -1, 2]
    alone = Hierarchy((2, 2)).join(0, 1, np.zeros((2, 2), dtype=np.int32))
    assert alone.encode(np.array([[-1, -1]], dtype=np.int32))[0, 2] == 0


def test_samples_have_the_model_s_probabilities(model):
    drawn = draw_codes(model, np.zeros(40_000, dtype=np.intp), np.random.default_rng(2))
    whole = every_row(model.hierarchy.n_levels)
    place = np.ravel_multi_index(drawn.T, model.hierarchy.n_levels)
    share = np.bincount(place, minlength=len(whole)) / len(drawn)
    assert_allclose(share, np.exp(log_likelihood(model, whole))[:, 0], atol=0.008)


def test_a_hundred_missing_attributes_in_one_tree_do_not_underflow():
    rng = np.random.default_rng(3)
    hierarchy = Hierarchy((8,) * 120)
    top = 0
    for j in range(1, 120):
        size = hierarchy.sizes[top]
        hierarchy = hierarchy.join(top, j, (np.arange(size * 8).reshape(size, 8) % 3).astype("i4"))
        top = len(hierarchy.sizes) - 1
    codes = rng.integers(0, 8, (20, 120)).astype(np.int32)
    within = count_within(hierarchy, codes, np.ones(20), 1.0)
    model = FilledHierarchy(hierarchy, Tables(np.log([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]), within))
    whole = log_likelihood(model, codes)
    assert np.all(whole < -150)
    codes[:, 7] = -1
    parts = np.stack([log_likelihood(model, _set(codes, 7, v)) for v in range(8)])
    assert_allclose(log_likelihood(model, codes), np.logaddexp.reduce(parts), rtol=1e-10)


def _set(codes, j, value):
    codes = codes.copy()
    codes[:, j] = value
    return codes


# ------------------------------------------------------------------------ states


def gain_by_hand(a, b, n_rows):
    """Equation (7) with one base of logarithm throughout."""
    out = len(a) / 2 * math.log(n_rows)
    for x, y in zip(a, b, strict=True):
        out -= sum(v * math.log(v / (x + y)) for v in (x, y) if v > 0)
    total_a, total_b = sum(a), sum(b)
    out += sum(v * math.log(v / (total_a + total_b)) for v in (total_a, total_b) if v > 0)
    return out


def collapse_by_hand(counts, n_rows):
    """Algorithm 2 as written: all pairs anew at each step."""
    groups = [([i], list(map(float, row))) for i, row in enumerate(counts)]
    while len(groups) > 1:
        gains = {
            (i, j): gain_by_hand(groups[i][1], groups[j][1], n_rows)
            for i, j in combinations(range(len(groups)), 2)
        }
        i, j = max(gains, key=lambda pair: gains[pair])
        if gains[i, j] <= 0:
            break
        cells, other = groups[i], groups.pop(j)
        groups[i] = (cells[0] + other[0], [x + y for x, y in zip(cells[1], other[1], strict=True)])
    return {frozenset(cells) for cells, _ in groups}


def partition(states):
    return {frozenset(np.flatnonzero(states == s).tolist()) for s in np.unique(states)}


@pytest.mark.parametrize("seed", range(12))
def test_greedy_collapse_is_algorithm_2(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    shares = rng.dirichlet(np.full(n_classes, 0.5), 4)[rng.integers(0, 4, 14)]
    counts = np.array([rng.multinomial(rng.integers(1, 60), p) for p in shares], dtype=float)
    n_rows = counts.sum()
    got = collapse_states(counts, counts, n_rows)
    assert partition(got) == collapse_by_hand(counts, n_rows)


def description_length(counts, groups, n_rows):
    total = len(groups) * counts.shape[1] / 2 * math.log(n_rows)
    for cells in groups:
        joined = counts[list(cells)].sum(axis=0)
        total -= sum(v * math.log(v / joined.sum()) for v in joined if v > 0)
    return total


def all_partitions(items):
    if not items:
        yield []
        return
    for rest in all_partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


@pytest.mark.parametrize("seed", range(6))
def test_exact_collapse_is_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 25, (7, 2)) + np.array([1.0, 0.0])
    n_rows = counts.sum()
    got = partition(collapse_states(counts, counts, n_rows, exact=True))
    best = min(description_length(counts, p, n_rows) for p in all_partitions(list(range(7))))
    assert_allclose(description_length(counts, got, n_rows), best, rtol=1e-12)
    greedy = partition(collapse_states(counts, counts, n_rows))
    assert description_length(counts, greedy, n_rows) >= best - 1e-9


def test_a_cell_without_rows_gets_the_state_it_looks_like():
    counts = np.array([[50.0, 1.0], [0.0, 0.0], [2.0, 60.0], [0.0, 0.0]])
    expected = np.array([[50.0, 1.0], [1.0, 9.0], [2.0, 60.0], [9.0, 1.0]])
    assert collapse_states(counts, expected, 113.0).tolist() == [0, 1, 1, 0]
    assert collapse_states(np.zeros((3, 2)), np.ones((3, 2)), 10.0).tolist() == [0, 0, 0]


def test_many_states_are_collapsed_in_a_moment():
    rng = np.random.default_rng(4)
    counts = rng.poisson(rng.dirichlet([0.3] * 5, 3000) * 3).astype(float)
    states = collapse_states(counts, counts + 0.1, counts.sum())
    assert 2 <= states.max() + 1 < 40


# --------------------------------------------------------------------- measures


def test_chi_square_tail_beyond_the_range_of_floats():
    statistic, freedom = np.array([0.0, 3.0, 40.0, 500.0]), np.array([1.0, 4.0, 2.0, 9.0])
    assert_allclose(log_chi2_tail(statistic, freedom), chi2.logsf(statistic, freedom), rtol=1e-9)
    # with two degrees of freedom the tail is exp(-x / 2)
    far = np.array([1e3, 2e3, 1e5])
    assert_allclose(log_chi2_tail(far, np.full(3, 2.0)), -far / 2, rtol=1e-12)
    # with four it is (1 + x / 2) exp(-x / 2)
    assert_allclose(log_chi2_tail(far, np.full(3, 4.0)), np.log1p(far / 2) - far / 2, rtol=1e-12)
    assert np.all(chi2.cdf(far, 2.0) == 1.0)  # what the paper ranks by
    # many degrees of freedom, against an odd-even recursion: Q(a + 1) = Q(a) + x^a e^-x / a!
    a, x = 400, 3000.0
    terms = [k * math.log(x) - x - math.lgamma(k + 1) for k in range(a)]
    top = max(terms)
    expected = top + math.log(sum(math.exp(t - top) for t in terms))
    assert_allclose(log_chi2_tail(np.array([2 * x]), np.array([2.0 * a])), expected, rtol=1e-12)


def pair_statistic(x, y, k, measure):
    """Sums over all rows of the definition's logarithms."""
    total = 0.0
    seen = (x >= 0) & (y >= 0)
    x, y, k = x[seen], y[seen], k[seen]
    n = len(x)

    def share(*conditions):
        return np.mean(np.all(conditions, axis=0)) if conditions else 1.0

    for a, b, c in zip(x, y, k, strict=True):
        p_c = share(k == c)
        joint = share(x == a, y == b, k == c)
        apart = share(x == a, k == c) * share(y == b, k == c) / p_c
        total += math.log(joint / apart)
        if measure == "expected_kl":
            mixed = sum(
                share(x == a, k == d) * share(y == b, k == d) / share(k == d) for d in np.unique(k)
            )
            total -= math.log(share(x == a, y == b) / mixed)
    return 2 * total, n


@pytest.mark.parametrize("measure", ["chi2", "expected_kl"])
def test_pair_strength_is_the_tail_of_the_statistic(measure):
    rng = np.random.default_rng(5)
    k = rng.integers(0, 3, 80)
    x = (k + rng.integers(0, 3, 80)) % 3
    ys = [np.where(rng.random(80) < 0.5, x % 2, rng.integers(0, 2, 80)), rng.integers(0, 4, 80)]
    ys[1][:9] = -1
    sizes = [2, 4]
    tables = np.zeros((3, 3, 6))
    for y, start in zip(ys, (0, 2), strict=True):
        for a, b, c in zip(x, y, k, strict=True):
            if b >= 0:
                tables[c, a, start + b] += 1
    got = pair_strength(tables, np.array([0, 2, 6]), measure)
    for j, y in enumerate(ys):
        statistic, _ = pair_statistic(x, y, k, measure)
        freedom = (3 if measure == "chi2" else 2) * 2 * (sizes[j] - 1)
        assert_allclose(got[j], -chi2.logsf(statistic, freedom), rtol=1e-7)


def test_a_variable_of_one_state_asks_for_nothing():
    tables = np.ones((2, 1, 3))
    assert pair_strength(tables, np.array([0, 3]), "chi2").tolist() == [-np.inf]


# ------------------------------------------------------------------------- parts


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


# ------------------------------------------------------------------------ search


def accuracy_by_refitting(hierarchy, rows, folds, alpha):
    """Fit naive Bayes of the top variables from the rows of each training part; no holes."""
    states = hierarchy.encode(rows.codes)[:, hierarchy.tops]
    sizes = [hierarchy.sizes[v] for v in hierarchy.tops]
    right = total = 0.0
    for f in range(folds.n_parts):
        left = np.zeros(len(rows.y))
        np.add.at(left, folds.row[folds.part == f], folds.weight[folds.part == f])
        train = rows.weight - left
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


@pytest.mark.parametrize("climb", [False, True])
def test_held_out_scores_are_those_of_refitting(climb):
    codes, y = coded(n_rows=150)
    rows, n_levels, subsets, folds = prepared(codes, y, n_parts=(1 if climb else 10, 5))
    settings = HierarchySettings(climb=climb, alpha=0.7)
    search = _hnb_search._Search(rows, n_levels, 2, subsets, folds, settings)
    hierarchies = [search.hierarchy]
    while search.step():
        hierarchies.append(search.hierarchy)
    found = search_hierarchy(rows, n_levels, 2, subsets, folds, settings)
    assert found.scores == search.scores
    assert len(found.hierarchy.latents) >= 1
    assert {0, 1} in [set(latent.children) for latent in found.hierarchy.latents]
    assert np.all(np.diff(found.scores) >= 0)
    for score, hierarchy in zip(found.scores, hierarchies, strict=True):
        assert_allclose(score, accuracy_by_refitting(hierarchy, rows, folds, 0.7), rtol=1e-9)


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_states_are_made_anew_where_a_partner_tells_them_apart(holes):
    """Exactly two of three, all as frequent: of the class alone, one 1 and two say the same."""
    rng = np.random.default_rng(0)
    codes = np.tile(every_row((2, 2, 2)), (60, 1))
    y = (codes.sum(axis=1) == 2).astype(np.intp)
    codes = np.where(rng.random(codes.shape) < holes, -1, codes).astype(np.int32)
    codes = np.hstack([codes, np.zeros((len(y), 2), dtype=np.int32)])  # prepared() counts 3 levels
    rows, n_levels, subsets, folds = prepared(codes, y)
    search = _hnb_search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
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
    search = _hnb_search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    while search.step():
        pass
    hierarchy = search.hierarchy
    assert hierarchy.latents
    states = hierarchy.encode(rows.codes)
    live = [s for s, slot in enumerate(search.slots) if slot is not None]
    variables = [search.slots[s].variable for s in live]
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
    search = _hnb_search._Search(rows, n_levels, 2, subsets, folds, HierarchySettings())
    assert search.step()
    hierarchy = search.hierarchy
    within = count_within(hierarchy, rows.codes, rows.weight, 1.0)
    states = hierarchy.encode(rows.codes)
    for f in range(5):
        here = folds.part == f
        left = np.bincount(folds.row[here], folds.weight[here], len(rows.y))
        train = rows.weight - left
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
        mine = search._fold == f
        row = search._row[mine]
        got = search._log_joint[:, mine].T
        assert_allclose(
            got[:, 1] - got[:, 0], expected[row, 1] - expected[row, 0], rtol=1e-7, atol=1e-9
        )


def test_small_blocks_and_one_part_at_a_time_change_nothing(monkeypatch):
    codes, y = coded(n_rows=300, holes=0.1)
    args = prepared(codes, y)
    whole = search_hierarchy(args[0], args[1], 2, args[2], args[3], HierarchySettings())
    monkeypatch.setattr(_hnb_search, "BLOCK_CELLS", 1)
    monkeypatch.setattr(_hnb_search, "PARTS_BYTES", 1)
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


# ----------------------------------------------------------------------- kernels


def test_counts_leave_out_what_has_no_group_or_no_column():
    rng = np.random.default_rng(0)
    group = rng.integers(-1, 6, 50).astype(np.int32)
    row = rng.integers(0, 20, 50).astype(np.int32)
    codes = rng.integers(-1, 4, 20).astype(np.int32)
    weight = rng.random(50)
    counts = np.zeros((6, 3))
    _hnb_kernels.add_counts(counts, group, row, weight, codes)
    expected = np.zeros((6, 3))
    for g, r, w in zip(group, row, weight, strict=True):
        if g >= 0 and 0 <= codes[r] < 3:
            expected[g, codes[r]] += w
    assert_allclose(counts, expected, rtol=1e-12)
    assert (codes == 3).any()


def test_ties_are_shared_among_the_best_classes():
    log_joint = np.log([[0.5, 0.4, 0.2, 0.1], [0.5, 0.4, 0.7, 0.1], [0.1, 0.4, 0.1, 0.9]])
    own, weight = np.array([0, 2, 0, 2], dtype=np.int32), np.array([1.0, 3.0, 10.0, 5.0])
    assert_allclose(_hnb_kernels.weight_right(log_joint, own, weight), 0.5 + 1.0 + 0.0 + 5.0)


def test_a_latent_variable_takes_the_place_of_two():
    rng = np.random.default_rng(1)
    fold, row = rng.integers(0, 2, 30).astype(np.int32), rng.integers(0, 9, 30).astype(np.int32)
    evidence = [rng.integers(0, r, 9).astype(np.int32) for r in (2, 3, 4)]
    tables = [rng.normal(size=(2, 3, r)) for r in (2, 3, 4)]
    before = rng.normal(size=(3, 30))

    def parts(i):
        return tables[i][fold, :, evidence[i][row]].T

    got = _hnb_kernels.exchange_logs(
        before, fold, row, evidence[0], tables[0], evidence[1], tables[1], evidence[2], tables[2]
    )
    assert_allclose(got, before - parts(0) - parts(1) + parts(2), rtol=1e-12)
    added = before.copy()
    _hnb_kernels.add_logs(added, fold, row, evidence[1], tables[1])
    assert_allclose(added, before + parts(1), rtol=1e-12)


def test_numba_is_loaded_by_the_first_search_alone():
    code = "import sys, latentclass.hnb._classifier; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# ------------------------------------------------------------------------- rules


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
