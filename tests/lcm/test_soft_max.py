"""Soft-max columns: the coding, the bound against plain loops and integrals, and EM with them."""

from itertools import islice, repeat

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm

from latentclass.engine._em import run_restarts
from latentclass.lcm._ascent import climb
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._em import Prior
from latentclass.lcm._hybrid_data import gather_blocks
from latentclass.lcm._hybrid_em import HybridParams, HybridProblem, log_prior, params_design
from latentclass.lcm._hybrid_posterior import grid_points, integrate, raise_bounds, spread_points
from latentclass.lcm._logistic_bound import (
    HybridRows,
    best_xi,
    infer,
    prior_xi,
    read_rows,
    unpack_features,
)
from latentclass.lcm._soft_max import SoftMax
from latentclass.lcm._soft_max_bound import soft_factors
from plain import HybridLCMClassifier

PRIOR = Prior(loading=0.7, noise=0.9, noise_level=0.5, latent=0.8, alpha=0.6)
SOFT = (3, 4)


def test_a_column_has_a_question_for_each_category():
    coding = SoftMax((np.array([2, 0, 1]), np.array([0]), np.array([1, 0]), np.array([1, 2, 0, 3])))
    codes = np.array([[2, 0, 1, 0], [0, 0, 0, -1], [-1, -1, -1, 3]], dtype=np.int32)
    assert coding.spans == [slice(1, 4), slice(4, 4), slice(0, 1), slice(4, 8)]
    assert coding.signs(codes).T.tolist() == [
        [1, -1, -1, 1, 1, -1, -1, -1],
        [-1, 1, -1, -1, 0, 0, 0, 0],
        [0, 0, 0, 0, -1, -1, -1, 1],
    ]
    assert coding.n_questions == 8
    assert coding.soft == (3, 4)
    assert coding.questions == [(2, 1), *((0, k) for k in range(3)), *((3, k) for k in range(4))]
    assert coding.pseudo.tolist() == [[1], [1]]
    logits = np.array([[0.3, -1.2, 2.0]])
    assert_allclose(coding.log_probabilities(0, logits), log_softmax(logits, axis=1))
    two = np.exp(coding.log_probabilities(2, np.array([[0.3]])))
    assert_allclose(two, [[expit(-0.3), expit(0.3)]])


def test_the_factor_is_below_the_soft_max_and_equals_it_at_psi():
    rng = np.random.default_rng(0)
    n = 500
    psi = rng.normal(0, 3, (1, 1, 7, n))
    codes = np.stack([rng.integers(0, 3, n), rng.integers(0, 4, n)])
    half = np.concatenate([np.eye(3)[codes[0]], np.eye(4)[codes[1]]], axis=1).T - 0.5
    kappa, rest = soft_factors(SOFT, psi, half, None)

    def both(a):
        exact = log_softmax(a[:3], axis=0) * (half[:3] > 0)
        other = log_softmax(a[3:], axis=0) * (half[3:] > 0)
        bound = (kappa[0, 0] * a).sum(axis=0) - 0.25 * (a**2).sum(axis=0) + rest[0, 0]
        return exact.sum(axis=0) + other.sum(axis=0), bound

    exact, bound = both(psi[0, 0])
    assert_allclose(bound, exact, atol=1e-9)
    for size in (0.01, 1.0, 10.0):
        exact, bound = both(psi[0, 0] + size * rng.normal(size=(7, n)))
        assert np.all(bound <= exact + 1e-9)


def make_params(rng, q, n_starts=1, n_components=2):
    """Two Gaussian columns, one binary one, and soft-max columns of 3 and 4 categories."""
    coefficient = rng.normal(size=(n_starts, n_components, 10, q + 1))
    for first, last in ((3, 6), (6, 10)):
        part = coefficient[:, :, first:last]
        part -= part.mean(axis=2, keepdims=True)
    log_weight = np.log(rng.dirichlet(np.ones(2 * n_components), n_starts))
    return HybridParams(
        log_weight.reshape(n_starts, 2, n_components),
        coefficient,
        rng.uniform(0.2, 1.0, (n_starts, 1, 2)),
        rng.normal(size=(n_starts, 2, q)),
        rng.uniform(0.3, 2.0, (n_starts, 2, q)),
        np.zeros(n_starts, dtype=np.intp),
    )


def make_rows(rng, n_rows, holes=0.2):
    values = rng.normal(size=(2, n_rows))
    values[rng.random(values.shape) < holes] = np.nan
    codes = np.stack([rng.integers(0, n, n_rows) for n in (2, *SOFT)], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < holes] = -1
    coding = SoftMax(tuple(np.arange(n) for n in (2, *SOFT)))
    return HybridRows(values, coding.signs(codes), SOFT), codes


def log_cells(coefficient, noise, values, codes, z):
    """log p(cells | z) of one row at points (P, q), by its definition."""
    a = coefficient[:, 0] + z @ coefficient[:, 1:].T
    total = np.zeros(len(z))
    for j in range(2):
        if not np.isnan(values[j]):
            total += norm.logpdf(values[j], a[:, j], np.sqrt(noise[j]))
    if codes[0] >= 0:
        total += np.log(expit((2 * codes[0] - 1) * a[:, 2]))
    for first, last, code in ((3, 6, codes[1]), (6, 10, codes[2])):
        if code >= 0:
            total += log_softmax(a[:, first:last], axis=1)[:, code]
    return total


def log_integral(params, y, m, values, codes, n_nodes):
    """log p(cells | y, m) on a fine grid."""
    mean, spread = params.latent_mean[0, y], np.sqrt(params.latent_variance[0, y])
    steps = np.linspace(-7, 7, n_nodes)
    points = np.array(np.meshgrid(*[steps] * len(mean))).reshape(len(mean), -1).T
    log_weight = (-0.5 * points**2 - 0.5 * np.log(2 * np.pi) + np.log(steps[1] - steps[0])).sum(1)
    cells = (params.coefficient[0, m], params.noise[0, 0], values, codes)
    return np.logaddexp.reduce(log_weight + log_cells(*cells, mean + spread * points))


@pytest.mark.parametrize("q", [1, 2])
def test_the_bound_is_below_the_integral(q):
    rng = np.random.default_rng(q)
    params = make_params(rng, q)
    rows, codes = make_rows(rng, 4)
    bounds, moments = raise_bounds(params, rows, moments=True)
    exact = integrate(params, rows, moments, grid_points(61 if q == 1 else 31, q))
    near = integrate(params, rows, moments, spread_points(1024, q))
    for y, m, r in ((0, 0, 0), (1, 1, 1), (0, 1, 2), (1, 0, 3)):
        slow = log_integral(params, y, m, rows.values[:, r], codes[r], 300 if q == 1 else 70)
        assert bounds[0, y, m, r] <= slow
        assert bounds[0, y, m, r] > slow - 3.0
        assert_allclose(exact[0, y, m, r], slow, atol=2e-3)
        assert_allclose(near[0, y, m, r], slow, atol=0.02)


def test_without_spread_of_the_latent_variables_the_bound_is_exact():
    rng = np.random.default_rng(3)
    params = make_params(rng, 2)
    params = params._replace(latent_variance=np.full((1, 2, 2), 1e-9))
    rows, codes = make_rows(rng, 6)
    bounds = raise_bounds(params, rows).log_bound
    for r in range(6):
        cells = (params.coefficient[0, 1], params.noise[0, 0], rows.values[:, r], codes[r])
        exact = log_cells(*cells, params.latent_mean[0, :1])
        assert_allclose(bounds[0, 0, 1, r], exact[0], atol=1e-6)


def test_posteriors_equal_those_of_plain_loops_and_steps_of_psi_raise_the_bound():
    rng = np.random.default_rng(4)
    params = make_params(rng, 2)
    rows, _ = make_rows(rng, 12)
    seen, design, label = read_rows(rows), params_design(params), np.arange(12) % 2
    latent = params.latent_mean, params.latent_variance
    xi = prior_xi(design, *latent, SOFT)[..., label]
    last = np.full((1, 2, 12), -np.inf)
    for _ in range(6):
        moments, bound = infer(design, seen, label, xi)
        assert np.all(bound >= last - 1e-10)
        last, before = bound, xi
        xi = best_xi(design, moments, seen)
    assert np.all(last > -np.inf)
    for m, r in ((0, 0), (1, 3), (1, 7)):
        precision = np.diag(1.0 / params.latent_variance[0, label[r]])
        pull = params.latent_mean[0, label[r]] / params.latent_variance[0, label[r]]
        for j in range(10):
            b, w = params.coefficient[0, m, j, 0], params.coefficient[0, m, j, 1:]
            if j < 2:
                if np.isnan(rows.values[j, r]):
                    continue
                rho, kappa = 1 / params.noise[0, 0, j], rows.values[j, r] / params.noise[0, 0, j]
            else:
                sign, x = rows.signs[j - 2, r], before[0, m, j - 2, r]
                if sign == 0:
                    continue
                rho, kappa = np.tanh(x / 2) / (2 * x), sign / 2
                if j > 2:
                    first = 1 if j < 6 else 4
                    group = before[0, m, first : first + (3 if j < 6 else 4), r]
                    rho, kappa = 0.5, (sign > 0) - softmax(group)[j - 2 - first] + x / 2
            precision = precision + rho * np.outer(w, w)
            pull = pull + (kappa - rho * b) * w
        mean = np.linalg.solve(precision, pull)
        assert_allclose(moments[0, m, 1:3, r], mean, rtol=1e-9)
        second = np.linalg.inv(precision) + np.outer(mean, mean)
        assert_allclose(moments[0, m, 3:, r], second[np.triu_indices(2)], rtol=1e-9)
        at_mean = params.coefficient[0, m, 3:, 0] + params.coefficient[0, m, 3:, 1:] @ mean
        assert_allclose(xi[0, m, 1:, r], at_mean, rtol=1e-9)


def make_problem(*, n_rows=60, n_blocks=1, unlabelled=0.0, **options):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n_rows)
    level = rng.normal(2.0 * y - 1.0, 1.0)
    rows, codes = make_rows(rng, n_rows)
    for place in (1, 2):  # one category grows with z, another one falls
        logits = np.zeros((n_rows, SOFT[place - 1]))
        logits[:, 0], logits[:, 1] = level, -level
        drawn = (rng.random((n_rows, 1)) > np.cumsum(softmax(logits, axis=1), axis=1)).sum(axis=1)
        codes[:, place] = np.where(codes[:, place] < 0, -1, drawn)
    signs = SoftMax(tuple(np.arange(n) for n in (2, *SOFT))).signs(codes)
    y = np.where(rng.random(n_rows) < unlabelled, -1, y)
    weight = rng.integers(1, 4, n_rows).astype(float)
    parts = [
        (HybridRows(rows.values[:, part], signs[:, part], SOFT), y[part], weight[part])
        for part in np.array_split(np.arange(n_rows), n_blocks)
    ]
    settings = {"n_components": 1, "n_latent": 2, "tied": True, "prior": PRIOR} | options
    return HybridProblem(gather_blocks(parts, 2, np.ones((2, 1))), **settings)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"n_components": 2, "unlabelled": 0.3}, {"prior": Prior()}],
    ids=["plain", "mixture", "likelihood"],
)
def test_the_objective_rises_and_logits_sum_to_zero(options, accelerate):
    problem = make_problem(**options)
    rngs = [np.random.default_rng(s) for s in range(2)]
    result = run_restarts(
        problem,
        problem.starts(rngs),
        tol=0.0,
        max_iter=40,
        rngs=rngs,
        halving=False,
        accelerate=accelerate,
        keep=2,
    )
    for history in result.histories:
        assert np.all(np.diff(history) >= -1e-9)
        assert history[-1] > history[0] + 0.05
    for part in (result.params.coefficient[:, :, 3:6], result.params.coefficient[:, :, 6:]):
        assert_allclose(part.sum(axis=2), 0.0, atol=1e-8)


def test_an_m_step_goes_along_the_derivatives_by_the_curvature_of_the_bound():
    problem = make_problem(n_rows=20, unlabelled=0.2)
    params = problem.starts([np.random.default_rng(0)])
    for _ in range(3):
        params = problem.m_step(problem.e_step(params)[0])
    for _ in range(40):  # where psi stands still, the bound touches the objective
        stats, _ = problem.e_step(params)
        params = params._replace(place=stats.place)

    def objective(place, step):
        array = params.coefficient.copy()
        array[place] += step
        return problem.e_step(params._replace(coefficient=array))[1][0]

    moved = problem.m_step(stats).coefficient - params.coefficient
    for j, size in ((3, 3), (5, 3), (8, 4)):
        places = [(0, 0, j, k) for k in range(3)]
        slope = [(objective(at, 1e-5) - objective(at, -1e-5)) / 2e-5 for at in places]
        system = unpack_features(stats.gram)[0, 0, j] + np.diag([0, PRIOR.loading, PRIOR.loading])
        system[0, 0] += 0.5 * size * PRIOR.alpha
        step = np.linalg.solve(system, problem.data.total_weight * np.array(slope))
        assert_allclose(moved[0, 0, j], step, atol=1e-5)
        assert np.abs(step).max() > 1e-3


def test_pseudo_counts_are_those_of_the_categories():
    problem = make_problem(n_rows=10)
    params = make_params(np.random.default_rng(6), 2, n_components=1)
    there = log_prior(params, PRIOR, problem.data)[0]
    without = log_prior(params, PRIOR._replace(alpha=0.0), problem.data)[0]
    b = params.coefficient[0, 0, :, 0]
    expected = log_softmax(b[3:6]).sum() + log_softmax(b[6:]).sum()
    expected += np.log(expit(b[2])) + np.log(expit(-b[2]))
    assert_allclose(there - without, PRIOR.alpha * expected)


def test_slopes_of_the_conditional_bound_are_its_derivatives():
    problem = make_problem(n_rows=25, n_components=2, n_blocks=2)
    params = problem.starts([np.random.default_rng(s) for s in range(2)])
    for _ in range(4):
        params = problem.m_step(problem.e_step(params)[0])
    conditional = ConditionalProblem(problem.data, PRIOR, 0.2)
    xi = conditional.begin(params)
    slopes, _, _ = conditional.gradient(params, xi)

    def value(place, step):
        array = params.coefficient.copy()
        array[place] += step
        return conditional.gradient(params._replace(coefficient=array), xi)[1][place[0]]

    for place in list(np.ndindex(params.coefficient.shape))[::3]:
        expected = (value(place, 1e-5) - value(place, -1e-5)) / 2e-5
        assert_allclose(slopes.coefficient[place], expected, atol=1e-8)


def test_coordinates_and_back():
    problem = make_problem(n_rows=20)
    params = problem.m_step(problem.e_step(problem.starts([np.random.default_rng(0)]))[0])
    again = problem.from_vector(problem.to_vector(params))
    for mine, theirs in zip(params[:5], again[:5], strict=True):
        assert_allclose(mine, theirs, rtol=1e-12)


def towns(n_rows=120, seed=0):
    """A number, a flag, and two nominal columns with holes, made from two latent variables."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(size=n_rows) * np.where(y, 1.5, 0.7)
    other = rng.normal(size=n_rows) + y
    logits = np.stack([z, other, -z, np.zeros(n_rows)], axis=1)
    town = [rng.choice(4, p=row) for row in softmax(1.5 * logits, axis=1)]
    work = [rng.choice(3, p=row) for row in softmax(2 * logits[:, :3], axis=1)]
    X = pd.DataFrame(
        {
            "length": z + rng.normal(size=n_rows),
            "flag": rng.random(n_rows) < expit(z + other),
            "town": np.array(["Bonn", "Oslo", "Rome", "York"])[town],
            "work": np.array(["field", "home", "office"])[work],
        }
    )
    return X.mask(rng.random(X.shape) < 0.1), y


def quick(**options):
    size = {"n_latent": 2, "n_components": 1}
    settings = {**size, "n_init": 2, "nominal": "softmax", "random_state": 0} | options
    return HybridLCMClassifier(**settings)


@pytest.mark.parametrize(
    "options", [{"n_latent": 1, "n_init": 1}, {"discriminative": False, "n_components": 2}]
)
def test_other_names_for_the_categories_change_nothing(options):
    X, y = towns(90)
    names = {
        "town": {"Bonn": "z", "Oslo": "b", "Rome": "y", "York": "a"},
        "work": {"field": "m", "home": "c", "office": "a"},
    }
    renamed = X.replace(names)
    model, other = quick(**options).fit(X, y), quick(**options).fit(renamed, y)
    assert_allclose(other.predict_proba(renamed), model.predict_proba(X), atol=1e-7)
    assert_allclose(other.score_samples(renamed), model.score_samples(X), atol=1e-6)
    theirs = dict(zip(other.questions_, other.weights_[0], strict=True))
    for (column, category), weights in zip(model.questions_, model.weights_[0], strict=True):
        there = theirs[column, names.get(column, {}).get(category, category)]
        assert_allclose(there, weights, atol=1e-6)
    hidden, same = X.assign(town=None), renamed.assign(town=None)
    filled = model.complete(hidden)["town"].map(names["town"])
    assert filled.tolist() == other.complete(same)["town"].tolist()


@pytest.mark.parametrize("options", [{"discriminative": True}, {"calibrate": True}])
def test_names_of_equally_common_categories_do_not_decide_what_is_held_out(options):
    X, y = towns(90)
    # thirty rows each, so their number does not order them
    X["town"] = np.array(["Bonn", "Oslo", "Rome"])[
        np.argsort(np.argsort(X["length"].to_numpy())) // 30
    ]
    renamed = X.replace({"town": {"Bonn": "Rome", "Oslo": "Bonn", "Rome": "Oslo"}})
    options = {"n_latent": 1, "n_init": 1, "discriminative": False} | options
    model, other = quick(**options).fit(X, y), quick(**options).fit(renamed, y)
    assert other.temperature_ == pytest.approx(model.temperature_, rel=1e-6)
    assert_allclose(other.predict_proba(renamed), model.predict_proba(X), atol=1e-7)


def test_without_nominal_columns_it_is_stick_breaking():
    X, y = towns()
    X = X[["length", "flag"]]
    options = {"discriminative": False, "max_iter": 5, "tol": 1.0}
    one, two = (quick(nominal=how, **options).fit(X, y) for how in ("softmax", "stick_breaking"))
    assert one.predict_proba(X).tolist() == two.predict_proba(X).tolist()


def test_the_questions_of_a_fitted_model():
    X, y = towns()
    model = quick(discriminative=False).fit(X, y)
    assert model.questions_ == [
        ("flag", True),
        *(("town", name) for name in ("Bonn", "Oslo", "Rome", "York")),
        *(("work", name) for name in ("field", "home", "office")),
    ]
    assert_allclose(model.weights_[0, 1:5].sum(axis=0), 0.0, atol=1e-8)
    assert_allclose(model.intercepts_[0, 5:].sum(), 0.0, atol=1e-8)
    bound = model.score_samples(X)
    exact = model.set_params(predict_method="quadrature").score_samples(X)
    assert np.all(bound <= exact + 1e-9)
    drawn = model.sample(2000, random_state=1)[0]
    shares = [table["town"].value_counts(normalize=True).sort_index() for table in (drawn, X)]
    assert_allclose(*shares, atol=0.1)


def test_gradient_steps_keep_the_logits_at_mean_zero():
    problem = make_problem(n_rows=30)
    params = problem.starts([np.random.default_rng(0)])
    path = islice(climb(params, repeat(ConditionalProblem(problem.data, PRIOR, 0.0))), 21)
    *_, last = path
    assert not np.allclose(last.coefficient, params.coefficient, atol=0.1)
    assert_allclose(last.coefficient[:, :, 3:6].sum(axis=2), 0.0, atol=1e-9)
    assert_allclose(last.coefficient[:, :, 6:].sum(axis=2), 0.0, atol=1e-9)


def test_an_unknown_way_is_refused():
    X, y = towns(20)
    expected = "nominal='probit' must be one of 'stick_breaking', 'softmax'."
    with pytest.raises(ValueError, match=expected):
        quick(nominal="probit").fit(X, y)
