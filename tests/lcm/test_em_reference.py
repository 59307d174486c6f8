"""The latent classification model's slow twin, and the plain loop that speed is judged by."""

import importlib.util
from pathlib import Path

import lcm_reference as lcm
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import norm
from sklearn.decomposition import FactorAnalysis

ROOT = Path(__file__).parent.parent.parent
_spec = importlib.util.spec_from_file_location("_lcm_loop", ROOT / "benchmarks" / "_lcm_loop.py")
loop = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(loop)

MASK = np.array([[True, False], [True, True], [False, True], [False, False]])
PRIOR = lcm.Prior(loading=0.7, noise=1.3, latent=0.9)


def draw(rng, params, n_rows):
    """Rows of a model, by its definition."""
    n_classes, n_components = params.component_prior.shape
    X, y = [], []
    for _ in range(n_rows):
        k = rng.choice(n_classes, p=params.class_prior)
        m = rng.choice(n_components, p=params.component_prior[k])
        z = rng.normal(params.latent_means[k], np.sqrt(params.latent_variances[k]))
        X.append(rng.normal(params.loadings[m] @ z + params.offsets[m], np.sqrt(params.noise[m])))
        y.append(k)
    return np.array(X), np.array(y)


def make_case(seed=0, *, n_rows=14, n_classes=2, n_components=2, n=4, q=2, tied=False, mask=None):
    """Rows with holes, hidden labels and weights, and parameters that did not make them."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, lcm.random_params(rng, n_classes, n_components, n, q), n_rows)
    y[:n_classes] = range(n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[n_classes] = np.nan  # a row of which nothing is known but its class
    y[rng.random(n_rows) < 0.3] = -1
    y[n_classes + 1 :][:2] = -1
    params = lcm.random_params(rng, n_classes, n_components, n, q)
    if tied:
        params = params._replace(noise=np.tile(params.noise[0], (n_components, 1)))
    if mask is not None:
        params = params._replace(loadings=params.loadings * mask)
    return params, X, y, rng.uniform(0.5, 2.0, n_rows)


def assert_same(one, two, rtol=1e-9, atol=1e-11):
    for name, a, b in zip(lcm.Params._fields, one, two, strict=True):
        assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=name)


def free_coordinates(params, tied, mask):
    """Unconstrained coordinates, and the way back: what finite differences walk along."""
    allowed = np.broadcast_to(mask, params.loadings.shape)
    noise = params.noise[0] if tied else params.noise
    parts = [
        np.log(params.class_prior), np.log(params.component_prior), params.loadings[allowed],
        params.offsets, np.log(noise), params.latent_means, np.log(params.latent_variances),
    ]  # fmt: skip

    def back(vector):
        values = np.split(vector, np.cumsum([part.size for part in parts])[:-1])
        values = [v.reshape(part.shape) for v, part in zip(values, parts, strict=True)]
        loadings = np.zeros(params.loadings.shape)
        loadings[allowed] = values[2]
        return lcm.Params(
            softmax(values[0]), softmax(values[1], axis=1), loadings, values[3],
            np.broadcast_to(np.exp(values[4]), params.noise.shape), values[5], np.exp(values[6]),
        )  # fmt: skip

    return np.concatenate([part.ravel() for part in parts]), back


def gradient(function, at, step=1e-5):
    out = []
    for i in range(len(at)):
        move = np.zeros(len(at))
        move[i] = step
        out.append((function(at + move) - function(at - move)) / (2 * step))
    return np.array(out)


def test_the_joint_density_is_the_integral_over_z():
    rng = np.random.default_rng(1)
    params = lcm.random_params(rng, 2, 3, 3, 1)
    z = np.linspace(-15.0, 15.0, 20001)
    for x in (np.array([0.3, -0.8, 1.1]), np.array([np.nan, 0.5, np.nan]), np.full(3, np.nan)):
        for y in range(2):
            expected = 0.0
            for m in range(3):
                integrand = norm.pdf(
                    z, params.latent_means[y, 0], params.latent_variances[y, 0] ** 0.5
                )
                for i in np.flatnonzero(~np.isnan(x)):
                    centre = params.loadings[m, i, 0] * z + params.offsets[m, i]
                    integrand = integrand * norm.pdf(x[i], centre, params.noise[m, i] ** 0.5)
                share = params.class_prior[y] * params.component_prior[y, m]
                expected += share * integrand.sum() * (z[1] - z[0])
            assert_allclose(lcm.log_joint(params, x, y), np.log(expected), rtol=0, atol=1e-10)


def test_a_complete_row_needs_no_conditioning_on_holes():
    params, *_ = make_case(2)
    for x in np.random.default_rng(3).normal(size=(5, 4)):
        for m in range(2):
            for k in range(2):
                paper = lcm.complete_posterior(params, x, m, k)
                general = lcm.joint_posterior(params, x, m, k)
                for a, b in zip(paper, general, strict=True):
                    assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_the_step_through_holes_equals_the_complete_step_if_nothing_is_missing(monkeypatch):
    params, X, y, weight = make_case(4)
    X = np.random.default_rng(5).normal(size=X.shape)
    complete = lcm.em_step(params, X, y, weight, tied=False)
    monkeypatch.setattr(lcm, "complete_posterior", lcm.joint_posterior)
    assert_same(lcm.em_step(params, X, y, weight, tied=False), complete)


def test_a_missing_cell_is_as_good_as_no_such_column():
    params, *_ = make_case(6)
    x = np.array([0.4, np.nan, -1.2, np.nan])
    kept, hidden = [0, 2], [1, 3]
    short = params._replace(
        loadings=params.loadings[:, kept],
        offsets=params.offsets[:, kept],
        noise=params.noise[:, kept],
    )
    assert_allclose(
        lcm.log_joint_by_component(params, x, 1),
        lcm.log_joint_by_component(short, x[kept], 1),
        rtol=1e-12,
    )
    mean, covariance = lcm.joint_posterior(params, x, 0, 1)
    mean_z, covariance_z = (a[2:] for a in lcm.complete_posterior(short, x[kept], 0, 1))
    covariance_z = covariance_z[:, 2:]
    loading = params.loadings[0, hidden]
    # given z the missing cells know nothing of the observed ones
    assert_allclose(mean[4:], mean_z, rtol=1e-10)
    assert_allclose(mean[hidden], loading @ mean_z + params.offsets[0, hidden], rtol=1e-10)
    assert_allclose(covariance[4:, 4:], covariance_z, rtol=1e-9)
    assert_allclose(covariance[hidden, 4:], loading @ covariance_z, rtol=1e-9)
    assert_allclose(
        covariance[np.ix_(hidden, hidden)],
        loading @ covariance_z @ loading.T + np.diag(params.noise[0, hidden]),
        rtol=1e-9,
    )
    assert not covariance[kept].any()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("mask", [None, MASK], ids=["full", "mask"])
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["plain", "prior"])
def test_the_penalised_likelihood_never_falls(tied, mask, prior):
    params, X, y, weight = make_case(7, tied=tied, mask=mask)

    def objective(params):
        penalty = 0.0 if prior is None else lcm.log_prior(params, prior, tied)
        return lcm.log_likelihood(params, X, y, weight) + penalty

    trace = [objective(params)]
    for _ in range(10):
        params = lcm.em_step(params, X, y, weight, tied=tied, mask=mask, prior=prior)
        trace.append(objective(params))
    assert np.diff(trace).min() >= -1e-10 * abs(trace[-1])
    assert trace[-1] > trace[0] + 10.0
    assert mask is None or not params.loadings[:, ~mask].any()
    assert not tied or (params.noise == params.noise[0]).all()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["plain", "prior"])
def test_the_step_ends_where_the_expected_objective_is_flat_and_highest(tied, prior):
    params, X, y, weight = make_case(8, n_rows=10, tied=tied, mask=MASK)
    cases = lcm.e_step(params, X, y, weight)
    new = lcm.em_step(params, X, y, weight, tied=tied, mask=MASK, prior=prior)
    at, back = free_coordinates(new, tied, MASK)

    def expected(vector):
        p = back(vector)
        penalty = 0.0 if prior is None else lcm.log_prior(p, prior, tied)
        return lcm.expected_log_joint(p, cases) + penalty

    assert_same(back(at), new)
    assert_allclose(gradient(expected, at), 0.0, atol=1e-6)
    rng = np.random.default_rng(9)
    for _ in range(5):
        assert expected(at + 0.1 * rng.normal(size=len(at))) < expected(at)


@pytest.mark.parametrize("tied", [True, False])
def test_the_expected_objective_rises_as_the_likelihood_does(tied):
    """Fisher's identity: both have one gradient at the parameters of the E-step."""
    params, X, y, weight = make_case(10, n_rows=8, n=3, q=1, tied=tied)
    cases = lcm.e_step(params, X, y, weight)
    at, back = free_coordinates(params, tied, True)
    of_q = gradient(lambda v: lcm.expected_log_joint(back(v), cases), at)
    of_likelihood = gradient(lambda v: lcm.log_likelihood(back(v), X, y, weight), at)
    assert_allclose(of_q, of_likelihood, rtol=1e-5, atol=1e-5)
    assert np.abs(of_q).max() > 1.0


@pytest.mark.parametrize("tied", [True, False])
def test_a_row_twice_is_weight_two(tied):
    params, X, y, weight = make_case(11, tied=tied)
    doubled = weight.copy()
    doubled[:6] *= 2
    again = np.r_[np.arange(len(X)), np.arange(6)]
    one = lcm.em_step(params, X, y, doubled, tied=tied, prior=PRIOR)
    two = lcm.em_step(params, X[again], y[again], weight[again], tied=tied, prior=PRIOR)
    assert_same(one, two)
    assert_allclose(
        lcm.log_likelihood(params, X, y, doubled),
        lcm.log_likelihood(params, X[again], y[again], weight[again]),
        rtol=1e-12,
    )


def test_one_class_and_one_component_is_factor_analysis():
    rng = np.random.default_rng(12)
    X, y = draw(rng, lcm.random_params(rng, 1, 1, 4, 1), 60)
    peer = FactorAnalysis(1, svd_method="lapack", tol=1e-10, max_iter=10_000).fit(X)
    weight = np.ones(60)
    params = lcm.random_params(rng, 1, 1, 4, 1)
    for _ in range(40):
        params = lcm.em_step(params, X, y, weight, tied=True)
    per_row = lcm.log_likelihood(params, X, y, weight) / 60
    assert_allclose(per_row, peer.score(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n_classes", "n_components", "q"), [(2, 3, 2), (3, 1, 1), (1, 2, 6)])
def test_the_loop_of_the_benchmark_takes_the_same_steps(tied, n_classes, n_components, q):
    rng = np.random.default_rng(13)
    X, y = draw(rng, lcm.random_params(rng, n_classes, n_components, 4, q), 40)
    y[:n_classes] = range(n_classes)
    rows_of = [np.flatnonzero(y == k) for k in range(n_classes)]
    weight = np.ones(len(X))
    slow = lcm.random_params(rng, n_classes, n_components, 4, q)
    fast = loop.Params(*slow)
    for _ in range(3):
        before = lcm.log_likelihood(slow, X, y, weight)
        slow = lcm.em_step(slow, X, y, weight, tied=tied)
        fast, log_likelihood = loop.em_step(fast, X, rows_of, tied, np.zeros(4))
        assert_allclose(log_likelihood, before, rtol=1e-9)
        assert_same(fast, slow, rtol=1e-6, atol=1e-8)
    expected = [[lcm.log_joint(slow, x, k) for k in range(n_classes)] for x in X]
    assert_allclose(loop.predict_log_joint(fast, X), expected, rtol=1e-6)


def test_the_loop_of_the_benchmark_keeps_the_start_of_highest_training_accuracy():
    rng = np.random.default_rng(14)
    X, y = draw(rng, lcm.random_params(rng, 3, 2, 4, 2), 80)
    y[:3] = range(3)
    fit = loop.fit(X, y, 2, 2, True, 6, 40, 1e-3, np.random.default_rng(0))
    again = np.random.default_rng(0)
    scores = []
    for _ in range(6):
        start = loop.random_start(X, y, 2, 2, again)
        params, log_likelihood, n_iter = loop.run_em(start, X, y, True, 40, 1e-3)
        hits = loop.predict_log_joint(params, X).argmax(axis=1) == y
        scores.append((hits.mean(), log_likelihood, n_iter))
    assert len({score[0] for score in scores}) > 1
    assert (fit.accuracy, fit.log_likelihood) == max(score[:2] for score in scores)
    assert fit.n_iter == sum(score[2] for score in scores)
    assert np.mean(fit.predict_log_joint(X).argmax(axis=1) == y) == fit.accuracy
