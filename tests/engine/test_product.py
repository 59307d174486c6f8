import numpy as np
import product_reference as reference
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _product as product

N_LEVELS = [2, 4, 1]


@pytest.fixture
def table():
    """40 rows with holes: three continuous columns on very different scales, three discrete."""
    rng = np.random.default_rng(0)
    numeric = rng.normal(size=(40, 3)) * [1.0, 1e6, 1e-6] + [0.0, 5e6, 3.0]
    numeric[rng.random(numeric.shape) < 0.2] = np.nan
    codes = np.column_stack([rng.integers(0, n, 40) for n in N_LEVELS]).astype(np.int32)
    codes[rng.random(codes.shape) < 0.2] = -1
    offsets = np.concatenate([[0], np.cumsum(N_LEVELS)])
    centre, unit = product.measure_range(np.nanmin(numeric, axis=0), np.nanmax(numeric, axis=0))
    layout = product.Layout(centre, unit, offsets)
    return numeric, codes, layout


@pytest.fixture
def weights():
    return np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], size=40)


def prior_of(numeric, layout, alpha, strength):
    mean = np.nanmean(numeric, axis=0)
    variance = np.nanvar(numeric, axis=0)
    engine = product.Prior(
        alpha, strength, (mean - layout.centre) / layout.unit, variance / layout.unit**2
    )
    plain = {"alpha": alpha, "strength": strength, "prior_mean": mean, "prior_variance": variance}
    return engine, plain


def in_data_units(params, layout):
    log_probs = np.split(params.log_prob, layout.offsets[1:-1], axis=1)
    probabilities = [[np.exp(lp[k]) for lp in log_probs] for k in range(len(params.mean))]
    mean = params.mean * layout.unit + layout.centre
    return mean, params.scale * layout.unit, probabilities


@pytest.mark.parametrize(("alpha", "strength"), [(0.0, 0.0), (1.0, 0.0), (0.5, 3.0)])
def test_estimate_from_soft_statistics_equals_cell_by_cell(table, weights, alpha, strength):
    numeric, codes, layout = table
    engine, plain = prior_of(numeric, layout, alpha, strength)
    stats = product.soft_stats(product.to_rows(numeric, codes, layout), weights, layout)
    mean, scale, probabilities = in_data_units(product.estimate(stats, engine, layout), layout)
    expected = reference.estimate(numeric, codes, weights, N_LEVELS, **plain)
    assert_allclose(mean, expected[0], rtol=1e-12)
    assert_allclose(scale, expected[1], rtol=1e-10)
    for ours, theirs in zip(probabilities, expected[2], strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert_allclose(a, b, rtol=1e-12)


def test_log_density_equals_cell_by_cell(table, weights):
    numeric, codes, layout = table
    engine, _ = prior_of(numeric, layout, 1.0, 1.0)
    rows = product.to_rows(numeric, codes, layout)
    params = product.estimate(product.soft_stats(rows, weights, layout), engine, layout)
    expected = reference.log_density(*in_data_units(params, layout), numeric, codes)
    assert_allclose(product.log_density(params, rows, layout), expected, rtol=1e-9)


def test_hard_statistics_are_soft_ones_with_indicator_weights(table):
    numeric, codes, layout = table
    rng = np.random.default_rng(2)
    component, weight = rng.integers(0, 3, 40), rng.uniform(0.5, 2.0, 40)
    rows = product.to_rows(numeric, codes, layout)
    hard = product.hard_stats(rows, component, weight, 4, layout)  # component 3 has no row
    soft = product.soft_stats(rows, np.eye(4)[component] * weight[:, None], layout)
    for a, b in zip(hard, soft, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("cut", [0, 1, 17, 40])
def test_statistics_of_parts_merge_to_those_of_the_whole(table, weights, cut):
    numeric, codes, layout = table
    rows = product.to_rows(numeric, codes, layout)
    first = product.soft_stats(product.ProductRows(*(a[:cut] for a in rows)), weights[:cut], layout)
    second = product.soft_stats(
        product.ProductRows(*(a[cut:] for a in rows)), weights[cut:], layout
    )
    merged = product.merge_stats(first, second)
    for a, b in zip(merged, product.soft_stats(rows, weights, layout), strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_pooled_statistics_are_those_without_components(table, weights):
    numeric, codes, layout = table
    rows = product.to_rows(numeric, codes, layout)
    pooled = product.pool_stats(product.soft_stats(rows, weights, layout))
    alone = product.soft_stats(rows, weights.sum(axis=1, keepdims=True), layout)
    for a, b in zip(pooled, alone, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_likelihood_from_statistics_is_the_sum_over_rows(table, weights):
    numeric, codes, layout = table
    engine, _ = prior_of(numeric, layout, 1.0, 1.0)
    rows = product.to_rows(numeric, codes, layout)
    stats = product.soft_stats(rows, weights, layout)
    params = product.estimate(stats, engine, layout)
    by_row = (weights * product.log_density(params, rows, layout)).sum(axis=0)
    assert_allclose(product.expected_log_likelihood(params, stats, layout), by_row, rtol=1e-12)


def test_estimate_maximises_the_penalised_likelihood(table, weights):
    numeric, codes, layout = table
    engine, _ = prior_of(numeric, layout, 0.7, 2.0)
    stats = product.soft_stats(product.to_rows(numeric, codes, layout), weights, layout)
    best = product.estimate(stats, engine, layout)

    def objective(params):
        likelihood = product.expected_log_likelihood(params, stats, layout)
        return (likelihood + product.log_prior(params, engine)).sum()

    rng = np.random.default_rng(3)
    for _ in range(20):
        log_prob = product.log_probabilities(
            np.exp(best.log_prob + rng.normal(0, 0.05, best.log_prob.shape)), layout.offsets
        )
        near = product.Params(
            best.mean + rng.normal(0, 0.01, best.mean.shape),
            best.scale * np.exp(rng.normal(0, 0.05, best.scale.shape)),
            log_prob,
        )
        assert objective(near) < objective(best)


def test_component_without_rows_gets_the_overall_distribution(table):
    numeric, _, layout = table
    engine, _ = prior_of(numeric, layout, 0.0, 0.0)
    params = product.estimate(product.empty_stats(1, layout), engine, layout)
    assert_allclose(params.mean[0], engine.mean)
    assert_allclose(params.scale[0] ** 2, engine.variance)
    assert_allclose(np.exp(params.log_prob[0]), [1 / 2] * 2 + [1 / 4] * 4 + [1.0])


def test_constant_columns_have_a_small_finite_spread():
    centre, unit = product.measure_range(np.array([7.0, 0.0, np.nan]), np.array([7.0, 0.0, np.nan]))
    assert centre.tolist() == [7.0, 0.0, 0.0]
    assert unit.tolist() == [7.0, 1.0, 1.0]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_units_change_the_density_by_the_unit_alone(scale):
    values = np.random.default_rng(4).normal(size=(30, 2))
    codes = np.empty((30, 0), dtype=np.int32)
    weights = np.ones((30, 1))
    found = []
    for unit in (1.0, scale):
        data = values * unit
        layout = product.Layout(*product.measure_range(data.min(0), data.max(0)), np.array([0]))
        rows = product.to_rows(data, codes, layout)
        prior = product.Prior(0.0, 0.0, np.zeros(2), np.ones(2))
        params = product.estimate(product.soft_stats(rows, weights, layout), prior, layout)
        found.append(product.log_density(params, rows, layout))
    assert_allclose(found[1] + 2 * np.log(scale), found[0], rtol=1e-9)


def test_narrow_components_keep_their_digits():
    """A component a millionth as wide as its column, beside a missing cell."""
    layout = product.Layout(np.zeros(2), np.ones(2), np.array([0]))
    params = product.Params(np.array([[0.7, 0.0]]), np.array([[1e-6, 1.0]]), np.zeros((1, 0)))
    steps = np.array([-2.0, 0.0, 0.5])
    numeric = np.column_stack([0.7 + 1e-6 * steps, [0.3, np.nan, -1.0]])
    found = product.log_density(
        params, product.ProductRows(numeric, np.empty((3, 0), np.int32)), layout
    )
    first = -0.5 * steps**2 - 0.5 * np.log(2 * np.pi) + 6 * np.log(10)
    second = np.array([-0.5 * 0.3**2, 0.0, -0.5]) - 0.5 * np.log(2 * np.pi) * np.array([1, 0, 1])
    assert_allclose(found[:, 0], first + second, rtol=1e-9)


def test_values_whose_squares_overflow_have_finite_densities():
    layout = product.Layout(np.zeros(1), np.ones(1), np.array([0]))
    params = product.Params(np.array([[0.0], [0.0]]), np.array([[1.0], [2.0]]), np.zeros((2, 0)))
    rows = product.ProductRows(np.array([[1e300], [-1e300], [1.0]]), np.empty((3, 0), np.int32))
    found = product.log_density(params, rows, layout)
    assert np.isfinite(found).all()
    assert np.all(found[:2, 1] > found[:2, 0])  # the wider component explains them better
    alone = product.log_density(params, product.ProductRows(*(a[2:] for a in rows)), layout)
    assert_allclose(found[2], alone[0], rtol=1e-14)


@pytest.mark.parametrize("most", [1, 20, 60])
def test_columns_looked_up_together_add_the_same_numbers(most, monkeypatch):
    monkeypatch.setattr(product, "JOINED_LEVELS", most)
    rng = np.random.default_rng(0)
    offsets = np.array([0, 2, 6, 6, 9, 11])  # the third column has no level
    codes = np.column_stack([rng.integers(-1, n, 400) for n in np.diff(offsets)]).astype(np.int32)
    log_prob = np.log(rng.random((3, 11)))
    log_prob[1, 4] = -np.inf
    layout = product.Layout(np.empty(0), np.empty(0), offsets)
    params = product.Params(np.empty((3, 0)), np.empty((3, 0)), log_prob)
    found = product.log_density(params, product.ProductRows(np.empty((400, 0)), codes), layout)
    for row, densities in zip(codes, found, strict=True):
        levels = [offsets[j] + code for j, code in enumerate(row) if code >= 0]
        assert_allclose(densities, log_prob[:, levels].sum(axis=1), rtol=1e-12)
    few = product.log_density(params, product.ProductRows(np.empty((9, 0)), codes[:9]), layout)
    assert_array_equal(few, found[:9])  # the number of rows changes no bit


def test_runs_of_columns_have_all_columns_once():
    runs = list(product._joined_columns(np.array([3, 3, 5, 2000, 2, 2]), 16))
    assert runs == [[0, 1], [2], [3], [4, 5]]
    assert list(product._joined_columns(np.empty(0, dtype=int), 16)) == []


def test_without_each_column_is_the_density_of_the_other_columns():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 2, 2, 5])  # the second discrete column has no level
    layout = product.Layout(np.zeros(2), np.array([2.0, 0.5]), offsets)
    log_prob = np.log(rng.random((3, 5)))
    log_prob[1, 3] = -np.inf
    params = product.Params(rng.normal(size=(3, 2)), rng.uniform(0.5, 2, (3, 2)), log_prob)
    numeric = rng.normal(size=(30, 2))
    numeric[rng.random((30, 2)) < 0.3] = np.nan
    numeric[0, 0] = 1e200
    codes = np.column_stack([rng.integers(-1, n, 30) for n in np.diff(offsets)]).astype(np.int32)
    found = product.log_density_without_each(params, product.ProductRows(numeric, codes), layout)
    for j in range(5):
        rows = product.ProductRows(numeric.copy(), codes.copy())
        if j < 2:
            rows.numeric[:, j] = np.nan
        else:
            rows.codes[:, j - 2] = -1
        expected = product.log_density(params, rows, layout)
        assert_allclose(found[:, j], expected, rtol=1e-10, atol=1e-12)


PULL = product.Pull(
    mean=np.array([2.0, 0.5, 7.0]),
    variance=np.array([0.02, 0.05, 0.1]),
    mass=np.array([0.3, 0.6, 0.1, 0.2, 0.3, 0.4, 1.0]),
)


def test_a_pull_is_that_of_pseudo_rows_at_the_mean_of_the_column(table, weights):
    numeric, codes, layout = table
    prior, _ = prior_of(numeric, layout, 0.5, 3.0)
    rows = product.to_rows(numeric, codes, layout)
    stats = product.soft_stats(rows, weights, layout)
    params = product.estimate(stats, prior, layout, PULL)
    # the same rows and a heavy one more at the mean of the columns, in every component
    weight = stats.weight + PULL.mean
    mean = (stats.weight * stats.mean + PULL.mean * prior.mean) / weight
    squares = stats.scatter + stats.weight * (stats.mean - mean) ** 2
    squares += PULL.mean * (prior.mean - mean) ** 2 + 3.0 * PULL.variance
    assert_allclose(params.mean, mean, rtol=1e-12)
    assert_allclose(params.scale, np.sqrt(squares / (stats.weight + 3.0)), rtol=1e-12)
    counts = np.split(stats.counts + 0.5 + PULL.mass, layout.offsets[1:-1], axis=1)
    share = np.concatenate([part / part.sum(axis=1, keepdims=True) for part in counts], axis=1)
    assert_allclose(np.exp(params.log_prob), share, rtol=1e-12)


def test_the_estimate_with_a_pull_has_the_highest_penalised_likelihood(table, weights):
    numeric, codes, layout = table
    prior, _ = prior_of(numeric, layout, 0.5, 3.0)
    stats = product.soft_stats(product.to_rows(numeric, codes, layout), weights, layout)

    def objective(params):
        explained = product.expected_log_likelihood(params, stats, layout)
        return explained + product.log_prior(params, prior, PULL)

    best = product.estimate(stats, prior, layout, PULL)
    highest = objective(best)
    rng = np.random.default_rng(5)
    for _ in range(50):
        moved = product.Params(
            best.mean + 0.02 * rng.normal(size=best.mean.shape),
            best.scale * np.exp(0.05 * rng.normal(size=best.scale.shape)),
            product.log_probabilities(
                np.exp(best.log_prob + 0.1 * rng.normal(size=best.log_prob.shape)), layout.offsets
            ),
        )
        assert np.all(objective(moved) < highest)


@pytest.mark.parametrize("pull", [product.NO_PULL, PULL])
@pytest.mark.parametrize(("alpha", "strength"), [(0.0, 1.0), (0.5, 3.0)])
def test_left_out_density_equals_that_of_an_estimate_without_the_row(table, pull, alpha, strength):
    numeric, codes, layout = table
    prior, _ = prior_of(numeric, layout, alpha, strength)
    rows = product.to_rows(numeric, codes, layout)
    component = np.arange(40) % 3
    component[5] = 3  # the only row of its component
    weight = np.where(np.arange(40) % 4 == 0, 2.0, 1.0)
    stats = product.hard_stats(rows, component, weight, 4, layout)
    found = product.left_out_log_density(stats, rows, component, np.ones(40), prior, layout, pull)
    for i in range(40):
        rest = weight.copy()
        rest[i] -= 1.0
        without = product.hard_stats(rows, component, rest, 4, layout)
        params = product.estimate(without, prior, layout, pull)
        one = product.ProductRows(rows.numeric[i : i + 1], rows.codes[i : i + 1])
        expected = product.log_density(params, one, layout)[0, component[i]]
        assert_allclose(found[i], expected, rtol=1e-8, atol=1e-8)


def test_the_log_prior_of_a_settled_pull_is_highest_at_nought(table):
    numeric, _, layout = table
    prior, _ = prior_of(numeric, layout, 0.5, 3.0)
    pull = product.settle(prior, PULL, layout)
    counts = np.full((1, 7), 0.5) + PULL.mass
    mode = product.Params(
        prior.mean[None],
        np.sqrt(PULL.variance)[None],
        product.log_probabilities(counts, layout.offsets),
    )
    assert_allclose(product.log_prior(mode, prior, pull), 0.0, atol=1e-10)
    moved = mode._replace(mean=mode.mean + 0.1, scale=mode.scale * 1.1)
    assert product.log_prior(moved, prior, pull) < 0
