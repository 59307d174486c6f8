"""E-step of class components against loops over rows, classes and components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from latentclass.engine import _class_components as engine
from latentclass.engine import _factored as factored
from latentclass.engine import _gaussian as gaussian
from latentclass.engine._expectation import expect, expect_factors

N_LEVELS = (3, 2)
OFFSETS = np.array([0, 3, 5])
N_CLASSES = 3


def make_rows(rng, n_rows=60, n=3, *, holes=True, unlabelled=True):
    values = rng.normal(size=(n_rows, n))
    codes = np.stack([rng.integers(-1, r, n_rows) for r in N_LEVELS], axis=1).astype(np.int32)
    if holes:
        values[rng.random(values.shape) < 0.3] = np.nan
        values[0] = np.nan
    y = rng.integers(-1 if unlabelled else 0, N_CLASSES, n_rows)
    return values, codes, y, rng.uniform(0.5, 2.0, (2, n_rows))


def make_components(rng, n_starts=2, n_components=2, n=3, *, rank=None):
    shape = (n_starts, N_CLASSES, n_components)
    loadings, noise = rng.normal(size=(*shape, n, rank or 1)), rng.uniform(0.5, 2.0, (*shape, n))
    covariance = loadings @ np.swapaxes(loadings, -2, -1) + noise[..., None] * np.eye(n)
    mean = rng.normal(size=(*shape, n))
    log_weight = np.log(rng.dirichlet(np.ones(N_CLASSES * n_components), n_starts))
    tables = [np.log(rng.dirichlet(np.ones(r), shape[:2])) for r in N_LEVELS]
    return engine.ClassComponents(
        np.arange(n_starts) % 2,
        log_weight.reshape(shape),
        gaussian.from_covariance(mean, covariance),
        np.concatenate(tables, axis=-1),
        None if rank is None else factored.Factors(mean, loadings, noise),
    )


def gather(values, codes, y, weights, one_component=False, **options):
    return engine.gather_rows(
        values, codes, y, weights, n_classes=N_CLASSES, one_component=one_component,
        offsets=OFFSETS, **options,
    )  # fmt: skip


def slow_log_joint(components, s, k, m, x, row_codes):
    """log p(observed cells, class, component) of one row."""
    value = components.log_weight[s, k, m]
    shown = ~np.isnan(x)
    if shown.any():
        mean = components.gaussians.mean[s, k, m][shown]
        covariance = components.gaussians.covariance[s, k, m][np.ix_(shown, shown)]
        value += multivariate_normal(mean, covariance).logpdf(x[shown])
    for j, level in enumerate(row_codes):
        if level >= 0:
            value += components.log_prob[s, k, OFFSETS[j] + level]
    return value


def slow_completion(components, s, k, m, x):
    """E[x] and E[x x'] of a row in a class component, given its observed cells."""
    mean, covariance = (array[s, k, m] for array in components.gaussians[:2])
    shown = ~np.isnan(x)
    part = np.linalg.inv(covariance[np.ix_(shown, shown)])
    gain = covariance[:, shown] @ part
    expected = mean + gain @ (x[shown] - mean[shown])
    return expected, np.outer(expected, expected) + covariance - gain @ covariance[shown]


def slow_expect(components, values, codes, y, weights):
    n_starts, n_classes, n_components, n = components.gaussians.mean.shape
    weight = np.zeros((n_starts, n_classes, n_components))
    total, square = np.zeros((*weight.shape, n)), np.zeros((*weight.shape, n, n))
    counts = np.zeros((n_starts, n_classes, OFFSETS[-1]))
    log_likelihood = np.zeros(n_starts)
    for s in range(n_starts):
        for i, x in enumerate(values):
            row_weight = weights[components.weighting[s], i]
            classes = range(n_classes) if y[i] < 0 else [y[i]]
            joint = {
                (k, m): slow_log_joint(components, s, k, m, x, codes[i])
                for k in classes
                for m in range(n_components)
            }
            evidence = logsumexp(list(joint.values()))
            log_likelihood[s] += row_weight * evidence
            for (k, m), value in joint.items():
                share = row_weight * np.exp(value - evidence)
                expected, second = slow_completion(components, s, k, m, x)
                weight[s, k, m] += share
                total[s, k, m] += share * expected
                square[s, k, m] += share * second
                for j, level in enumerate(codes[i]):
                    if level >= 0:
                        counts[s, k, OFFSETS[j] + level] += share
    return (weight, total, square, counts), log_likelihood


def slow_latent(components, s, k, m, expected, second):
    """E[u], E[u u'] and E[x u'] of a row, from E[x] and E[x x'] of its completion.

    By the full covariance: u given all of x has mean G (x - mean) and covariance I - G loadings.
    """
    mean, loadings, _ = (array[s, k, m] for array in components.factors)
    gain = loadings.T @ np.linalg.inv(components.gaussians.covariance[s, k, m])
    latent = gain @ (expected - mean)
    about = second - np.outer(mean, expected) - np.outer(expected, mean) + np.outer(mean, mean)
    rest = np.eye(len(gain)) - gain @ loadings
    return latent, gain @ about @ gain.T + rest, (second - np.outer(expected, mean)) @ gain.T


def slow_factors(components, values, codes, y, weights):
    """Moments of x and u, one row at a time."""
    sums = factored.no_moments(components.factors)
    for s, k, m in np.ndindex(components.log_weight.shape):
        place = (s, k, m)
        for i, x in enumerate(values):
            if y[i] not in (k, -1):
                continue
            # the share of the row is that of the slow E-step for it alone
            alone = (x[None], codes[i : i + 1], y[i : i + 1], weights[:, i : i + 1])
            share = slow_expect(components, *alone)[0][0][place]
            expected, second = slow_completion(components, *place, x)
            latent, square, cross = slow_latent(components, *place, expected, second)
            one = (1.0, latent, square, expected, cross, np.diagonal(second))
            for whole, part in zip(sums, one, strict=True):
                whole[place] += share * part
    return sums


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("unlabelled", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("summed_share", [0.0, np.inf])
def test_moments_of_factors_equal_those_of_a_loop(
    monkeypatch, n_components, holes, unlabelled, narrow, summed_share
):
    monkeypatch.setattr(factored, "is_narrow", lambda *_: narrow)
    monkeypatch.setattr(engine, "SUMMED_SHARE", summed_share)
    rng = np.random.default_rng(12)
    rows = make_rows(rng, 20, holes=holes, unlabelled=unlabelled)
    components = make_components(rng, n_components=n_components, rank=2)
    data = gather(*rows, one_component=n_components == 1, rank=2)
    assert bool(data.known_patterns) == (holes and n_components == 1 and summed_share == 0.0)
    stats, log_likelihood = expect_factors(data, components)
    expected, slow_likelihood = slow_expect(components, *rows)
    assert_allclose(log_likelihood, slow_likelihood, rtol=1e-10)
    assert_allclose(stats.counts, expected[3], rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(stats.moments, slow_factors(components, *rows), strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("unlabelled", [False, True])
def test_expectations_equal_those_of_a_loop(n_components, holes, unlabelled):
    rng = np.random.default_rng(0)
    rows = make_rows(rng, holes=holes, unlabelled=unlabelled)
    components = make_components(rng, n_components=n_components)
    data = gather(*rows, one_component=n_components == 1)
    stats, log_likelihood = expect(data, components)
    expected, slow_likelihood = slow_expect(components, *rows)
    assert_allclose(log_likelihood, slow_likelihood, rtol=1e-10)
    for ours, theirs in zip(stats, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_with_everything_known_no_rows_are_kept():
    rng = np.random.default_rng(1)
    rows = make_rows(rng, holes=False, unlabelled=False)
    assert gather(*rows, one_component=True).groups == []
    assert len(gather(*rows).groups) == N_CLASSES


@pytest.mark.parametrize("kept_features", [0, 2**24])
def test_small_blocks_change_rounding_only(monkeypatch, kept_features):
    rng = np.random.default_rng(2)
    rows, components = make_rows(rng, 200), make_components(rng)
    whole, whole_likelihood = expect(gather(*rows), components)
    joint = engine.log_joint_rows(components, rows[0], rows[1], OFFSETS)
    monkeypatch.setattr(engine, "BLOCK_FEATURES", 1)
    monkeypatch.setattr(engine, "BLOCK_ROWS", 3)
    monkeypatch.setattr(engine, "KEPT_FEATURES", kept_features)
    monkeypatch.setattr(gaussian, "BLOCK_VALUES", 50)
    data = gather(*rows)
    assert len(data.groups) > 10
    parts, parts_likelihood = expect(data, components)
    assert_allclose(parts_likelihood, whole_likelihood, rtol=1e-12)
    for ours, theirs in zip(parts, whole, strict=True):
        assert_allclose(ours, theirs, rtol=1e-10, atol=1e-11)
    again = engine.log_joint_rows(components, rows[0], rows[1], OFFSETS)
    assert_allclose(again, joint, rtol=1e-10, atol=1e-11)


def test_threads_change_nothing():
    rng = np.random.default_rng(3)
    rows, components = make_rows(rng), make_components(rng)
    one, one_likelihood = expect(gather(*rows), components)
    two, two_likelihood = expect(gather(*rows, n_jobs=2), components)
    assert_array_equal(one_likelihood, two_likelihood)
    for ours, theirs in zip(one, two, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("form", ["full", "factored", "both"])
def test_joint_densities_equal_those_of_a_loop(holes, form):
    rng = np.random.default_rng(4)
    values, codes, _, _ = make_rows(rng, holes=holes)
    whole = make_components(rng, rank=None if form == "full" else 2)
    components = whole._replace(gaussians=None) if form == "factored" else whole
    found = engine.log_joint_rows(components, values, codes, OFFSETS)
    for (s, k, m, i), value in np.ndenumerate(found):
        expected = slow_log_joint(whole, s, k, m, values[i], codes[i])
        assert_allclose(value, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rank", [None, 2])
def test_values_whose_squares_overflow_have_finite_densities(rank):
    components = make_components(np.random.default_rng(5), rank=rank)
    if rank is not None:
        components = components._replace(gaussians=None)
    values = np.array([[1e200, 0.0, 0.0], [np.inf, np.nan, -1e300]])
    found = engine.log_joint_rows(components, values, np.full((2, 2), -1, np.int32), OFFSETS)
    assert np.isfinite(found).all()


def test_an_impossible_row_is_shared_equally_and_counts_only_with_weight():
    """Class 0 has no weight in the model, so its labelled row is impossible."""
    rng = np.random.default_rng(6)
    components = make_components(rng, n_starts=2)
    log_weight = components.log_weight.copy()
    log_weight[:, 0] = -np.inf
    components = components._replace(log_weight=log_weight)
    values, codes = rng.normal(size=(1, 3)), np.full((1, 2), -1, dtype=np.int32)
    data = gather(values, codes, np.array([0]), np.array([[2.0], [0.0]]))
    stats, log_likelihood = expect(data, components)
    assert log_likelihood.tolist() == [-np.inf, 0.0]  # the second weighting leaves the row out
    assert stats.weight[:, 0].tolist() == [[1.0, 1.0], [0.0, 0.0]]


class TestData:
    """Rows prepared for the E-step."""

    def test_labelled_weights_and_levels_are_counted(self):
        values, codes, y, weights = rows = make_rows(np.random.default_rng(7))
        data = gather(*rows)
        assert data.n_columns == values.shape[1]
        assert_allclose(data.total_weight, weights.sum(axis=1))
        for g in range(2):
            for k in range(N_CLASSES):
                mine = y == k
                assert_allclose(data.labelled[g, k], weights[g, mine].sum())
                for j, first in enumerate(OFFSETS[:-1]):
                    for level in range(N_LEVELS[j]):
                        expected = weights[g, mine & (codes[:, j] == level)].sum()
                        assert_allclose(data.known_counts[g, k, first + level], expected)

    def test_sums_of_parts_add_up(self):
        rows = make_rows(np.random.default_rng(8), holes=False, unlabelled=False)
        half = np.arange(60) % 2 == 0
        parts = [
            gather(*(a[m] for a in rows[:3]), rows[3][:, m], one_component=True)
            for m in (half, ~half)
        ]
        whole, added = gather(*rows, one_component=True), engine.add_known(*parts)
        for name in ("known_counts", "labelled", "total_weight"):
            assert_allclose(getattr(added, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
        for one, other in zip(added.known, whole.known, strict=True):
            assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        made = engine.known_data(whole.known, OFFSETS, whole.known_counts)
        assert made.groups == []
        assert_allclose(made.labelled, whole.labelled, rtol=1e-12)
        assert_allclose(made.total_weight, whole.total_weight, rtol=1e-12)

    def test_sums_by_class_are_those_of_a_loop(self, monkeypatch):
        monkeypatch.setattr(engine, "SUMMED_ROWS", 2)
        monkeypatch.setattr(engine, "BLOCK_FEATURES", 1)
        rng = np.random.default_rng(9)
        rows, weights, y = rng.normal(size=(9, 3)), rng.random((2, 9)), np.arange(9) % 2
        found = engine.sum_classes(rows, y, weights, 3)
        for g in range(2):
            for k in range(3):
                mine = list(zip(rows[y == k], weights[g, y == k], strict=True))
                assert_allclose(found.weight[g, k], sum(w for _, w in mine))
                assert_allclose(found.total[g, k], sum((w * x for x, w in mine), np.zeros(3)))
                square = sum((w * np.outer(x, x) for x, w in mine), np.zeros((3, 3)))
                assert_allclose(found.square[g, k], square)

    @pytest.mark.parametrize("holes", [False, True])
    @pytest.mark.parametrize("one_component", [False, True])
    def test_ranks_move_with_their_columns_and_ignore_the_names_of_classes(
        self, holes, one_component
    ):
        rng = np.random.default_rng(10)
        values, codes, y, weights = make_rows(rng, n=5, holes=holes)
        values *= [1.0, 2.0, 0.5, 1.5, 3.0]
        found = engine.column_ranks(gather(values, codes, y, weights, one_component))
        by_patterns = gather(values, codes, y, weights, one_component, rank=2)
        assert_array_equal(engine.column_ranks(by_patterns), found)
        assert_array_equal(np.sort(found, axis=1), [range(5)] * 2)
        turned = rng.permutation(5)
        renamed = np.where(y < 0, -1, (y + 1) % N_CLASSES)
        again = gather(values[:, turned], codes, renamed, weights, one_component)
        assert_array_equal(engine.column_ranks(again), found[:, turned])

    def test_columns_of_equal_means_are_ranked_by_their_spread(self):
        values = np.array([[2.0, 1.0, 3.0], [-2.0, -1.0, -3.0]])
        data = gather(values, np.full((2, 2), -1, np.int32), np.zeros(2, int), np.ones((1, 2)))
        assert engine.column_ranks(data).tolist() == [[1, 0, 2]]

    def test_rows_are_drawn_by_weight_along_a_direction(self):
        values = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, np.nan]])
        weights = np.array([[2.0, 1.0, 1.0]])  # along the first column: 1, 2, 3 with 1, 1, 2
        codes = np.full((3, 2), -1, dtype=np.int32)
        data = gather(values, codes, np.array([0, -1, 1]), weights)
        chance = np.array([0.0, 0.24, 0.25, 0.49, 0.5, 0.99, 1.0])
        drawn = engine.draw_rows(data, 0, np.array([1.0, 0.0]), chance)
        assert drawn[:, 0].tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]
        assert drawn[2].tolist() == [2.0, 0.0]  # the missing cell is filled with 0


def test_square_root_of_a_covariance():
    factor = np.random.default_rng(11).normal(size=(4, 4))
    root = engine.square_root(factor @ factor.T)
    assert_allclose(root, root.T, rtol=1e-12, atol=1e-12)
    assert_allclose(root @ root, factor @ factor.T, rtol=1e-10)
    assert_allclose(engine.square_root(np.diag([4.0, -1e-18])), np.diag([2.0, 0.0]), atol=1e-12)
