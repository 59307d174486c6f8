"""Full Gaussians by EM, and naive Bayes along axes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.decomposition import PCA, FactorAnalysis

from latentclass.engine._class_components import gather_rows, log_joint_rows
from latentclass.engine._em import run_restarts
from latentclass.lcm._em import LCMParams, LCMProblem, Prior
from latentclass.naive_bayes import _projection as projection

NO_LEVELS = np.zeros(1, dtype=np.intp)


def make_rows(seed=0, n_rows=60, n=3, holes=0.0, unlabelled=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n))
    y = rng.integers(0, 2, n_rows)
    X[y == 1] *= 1.5
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[rng.random(X.shape) < holes] = np.nan
    y[rng.random(n_rows) < unlabelled] = -1
    return X, y, rng.uniform(0.5, 2.0, n_rows)


def gather(X, y, weight, *, one_component, n_classes=2):
    return gather_rows(
        X,
        np.zeros((len(X), 0), dtype=np.int32),
        y,
        weight[None],
        n_classes=n_classes,
        one_component=one_component,
        offsets=NO_LEVELS,
    )


def random_params(rng, n_classes, n_components, n):
    factor = rng.normal(size=(1, n_classes, n_components, n, n))
    share = rng.dirichlet(np.ones(n_classes * n_components))
    return projection.FullParams(
        np.zeros(1, dtype=np.intp),
        np.log(share).reshape(1, n_classes, n_components),
        rng.normal(size=(1, n_classes, n_components, n)),
        factor @ np.swapaxes(factor, -2, -1) + 0.3 * np.eye(n),
        np.zeros((1, n_classes, 0)),
    )


def slow_step(params, X, y, weight, strength, target):
    """One EM step, row by row and cell by cell; the objective at the old parameters."""
    log_weight, mean, covariance = (array[0] for array in params[1:4])
    n_classes, n_components, n = mean.shape
    sums = np.zeros((n_classes, n_components))
    first = np.zeros((n_classes, n_components, n))
    second = np.zeros((n_classes, n_components, n, n))
    objective = 0.0
    for x, label, w in zip(X, y, weight, strict=True):
        seen = ~np.isnan(x)
        log_joint = np.full((n_classes, n_components), -np.inf)
        filled = np.zeros((n_classes, n_components, n))
        unsure = np.zeros((n_classes, n_components, n, n))
        for k in range(n_classes) if label < 0 else [label]:
            for m in range(n_components):
                mu, cov = mean[k, m], covariance[k, m]
                log_joint[k, m] = log_weight[k, m]
                filled[k, m] = mu
                unsure[k, m] = cov
                if seen.any():
                    part = cov[np.ix_(seen, seen)]
                    log_joint[k, m] += multivariate_normal.logpdf(x[seen], mu[seen], part)
                    slope = cov[:, seen] @ np.linalg.inv(part)
                    filled[k, m] = mu + slope @ (x[seen] - mu[seen])
                    unsure[k, m] = cov - slope @ cov[seen]
        total = logsumexp(log_joint)
        objective += w * total
        share = w * np.exp(log_joint - total)
        sums += share
        first += share[..., None] * filled
        outer = filled[..., :, None] * filled[..., None, :]
        second += share[..., None, None] * (outer + unsure)
    new_mean, new_covariance = np.zeros_like(mean), np.zeros_like(covariance)
    for k in range(n_classes):
        for m in range(n_components):
            new_mean[k, m] = first[k, m] / sums[k, m]
            scatter = second[k, m] - sums[k, m] * np.outer(new_mean[k, m], new_mean[k, m])
            new_covariance[k, m] = (scatter + strength * target) / (sums[k, m] + strength)
            precision = np.linalg.inv(covariance[k, m])
            size = np.linalg.slogdet(covariance[k, m])[1]
            objective -= 0.5 * strength * (size + np.trace(precision @ target))
    return np.log(sums / sums.sum()), new_mean, new_covariance, objective / weight.sum()


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("strength", [0.0, 2.5])
def test_a_step_is_the_slow_twins(n_components, strength):
    X, y, weight = make_rows(holes=0.2, unlabelled=0.3)
    rng = np.random.default_rng(1)
    target = np.eye(3) + 0.2
    data = gather(X, y, weight, one_component=n_components == 1)
    problem = projection.FullProblem(data, n_components, strength, target)
    params = random_params(rng, 2, n_components, 3)
    stats, objective = problem.e_step(params)
    step = problem.m_step(stats)
    log_weight, mean, covariance, expected = slow_step(params, X, y, weight, strength, target)
    assert_allclose(objective[0], expected, rtol=1e-9)
    assert_allclose(step.log_weight[0], log_weight, rtol=1e-8)
    assert_allclose(step.mean[0], mean, rtol=1e-7, atol=1e-9)
    assert_allclose(step.covariance[0], covariance, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_the_step_maximises_the_expected_objective(strength):
    X, y, weight = make_rows(holes=0.1, unlabelled=0.5)
    data = gather(X, y, weight, one_component=False)
    problem = projection.FullProblem(data, 2, strength, np.eye(3))
    rng = np.random.default_rng(2)
    params = random_params(rng, 2, 2, 3)
    for _ in range(300):
        params = problem.m_step(problem.e_step(params)[0])
    best = problem.e_step(params)[1][0]
    for _ in range(30):
        near = params._replace(
            mean=params.mean + 1e-3 * rng.normal(size=params.mean.shape),
            covariance=params.covariance * np.exp(1e-3 * rng.normal(size=(1, 2, 2, 1, 1))),
        )
        assert problem.e_step(near)[1][0] < best + 1e-10


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_the_objective_never_falls_even_with_copies_of_a_column(accelerate, strength):
    X, y, weight = make_rows(holes=0.15, unlabelled=0.4)
    X = np.column_stack([X, X[:, :1], np.nan_to_num(X[:, 1])])
    data = projection.pool_classes(gather(X, y, weight, one_component=False), one_component=False)
    target = np.eye(5)
    problem = projection.FullProblem(data, 3, strength, target)
    rngs = [np.random.default_rng(seed) for seed in range(4)]
    starts = projection.cluster_starts(np.zeros(5), target, np.arange(5), 3, rngs)
    result = run_restarts(problem, starts, tol=0.0, max_iter=60, rngs=rngs, accelerate=accelerate)
    assert np.all(np.diff(result.history) >= -1e-9)
    lowest = np.linalg.eigvalsh(result.params.covariance).min()
    assert lowest >= projection.VARIANCE_FLOOR * (1 - 1e-6)
    assert projection.is_singular(result.params.covariance) == (strength == 0)


def test_raising_the_floor_gives_the_most_likely_such_matrix():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 6)) @ np.diag([1, 1, 1, 1e-2, 1e-4, 1e-5])
    scatter = rows.T @ rows / 4
    best = projection.raise_floor(scatter)

    def score(covariance):
        inverse = np.linalg.inv(covariance)
        return -np.linalg.slogdet(covariance)[1] - np.trace(inverse @ scatter)

    for _ in range(50):
        turn = np.linalg.qr(np.eye(6) + 0.05 * rng.normal(size=(6, 6)))[0]
        values, vectors = np.linalg.eigh(best)
        values = np.maximum(values * np.exp(0.1 * rng.normal(size=6)), projection.VARIANCE_FLOOR)
        other = (turn @ vectors * values) @ (turn @ vectors).T
        assert score(other) <= score(best) + 1e-9


def test_coordinates_lead_back_to_the_parameters():
    data = gather(*make_rows(), one_component=False)
    problem = projection.FullProblem(data, 2, 1.0, np.eye(3))
    params = random_params(np.random.default_rng(4), 2, 2, 3)
    back = problem.from_vector(problem.to_vector(params))
    for one, two in zip(params, back, strict=True):
        assert_allclose(one, two, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("one_component", [False, True])
def test_pooled_rows_are_the_rows_of_one_class(one_component):
    X, y, weight = make_rows(holes=0.1, unlabelled=0.3)
    pooled = projection.pool_classes(
        gather(X, y, weight, one_component=one_component), one_component=one_component
    )
    alone = gather(X, np.zeros_like(y), weight, one_component=one_component, n_classes=1)
    problem, expected = (
        projection.FullProblem(data, 1 if one_component else 2, 1.0, np.eye(3))
        for data in (pooled, alone)
    )
    params = random_params(np.random.default_rng(5), 1, problem.n_components, 3)
    (one, first), (two, second) = problem.e_step(params), expected.e_step(params)
    assert_allclose(first, second, rtol=1e-12)
    for a, b in zip(one, two, strict=True):
        assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    assert all(group.patterns is not None for group in pooled.groups) or not one_component


def test_random_starts_move_with_the_columns():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    covariance, order = np.corrcoef(rows.T), np.array([2, 0, 3, 1])
    turned = covariance[np.ix_(order, order)]
    ranks = np.array([3, 1, 0, 2])
    one, two = (
        projection.cluster_starts(np.zeros(4), matrix, places, 3, [np.random.default_rng(0)]).mean
        for matrix, places in ((covariance, ranks), (turned, ranks[order]))
    )
    assert_allclose(two, one[..., order], atol=1e-12)


def test_random_centres_spread_as_the_overall_gaussian():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    starts = projection.cluster_starts(
        np.array([2.0, -1.0]), covariance, np.arange(2), 4000, [np.random.default_rng(0)]
    )
    centres = starts.mean[0, 0]
    assert_allclose(centres.mean(axis=0), [2.0, -1.0], atol=0.05)
    assert_allclose(np.cov(centres.T), covariance, atol=0.06)
    assert_allclose(np.exp(starts.log_weight).sum(), 1.0)


def test_parameters_are_counted_by_hand():
    # two Gaussians of three columns: one free share, 2 * 3 means, 2 * 6 covariances
    assert projection.count_full(2, 3) == 1 + 6 + 12
    # two factors of five columns: 10 loadings less one rotation, 5 noises, 5 means
    assert projection.count_factors(2, 5) == 10 - 1 + 5 + 5
    # Ledermann: n columns have n (n + 1) / 2 covariances, no fewer than the model's parameters
    for n in range(3, 30):
        q = projection.most_factors(n)
        free = n * (n + 1) // 2 + n
        assert projection.count_factors(q, n) <= free < projection.count_factors(q + 1, n)
    assert projection.most_factors(1) == projection.most_factors(2) == 1


def test_principal_axes_are_scikit_learns():
    X = make_rows(n=5)[0]
    mean, covariance = X.mean(axis=0), np.cov(X.T, bias=True)
    peer = PCA().fit(X)
    for leading in (False, True):
        found = projection.principal_axes(
            np.zeros(1), mean[None], covariance[None], leading=leading
        )
        u = (X - mean) @ found.matrix[0].T
        assert_allclose(np.cov(u.T, bias=True), np.eye(5), atol=1e-10)
        scores = peer.transform(X)
        assert_allclose(np.abs(u), np.abs(scores / scores.std(axis=0)), rtol=1e-8, atol=1e-10)
        assert_allclose(found.inverse[0] @ found.matrix[0], np.eye(5), atol=1e-12)
    values = np.linalg.eigvalsh(covariance)
    assert found.n_axes == np.sum(values >= values.mean()) < 5


def fit_factors(X, n_factors):
    data = gather(X, np.zeros(len(X), dtype=int), np.ones(len(X)), one_component=True, n_classes=1)
    problem = LCMProblem(data, 1, n_factors, True, Prior())
    start = projection.factor_start(X.mean(axis=0), np.cov(X.T, bias=True), n_factors)
    return run_restarts(problem, start, tol=1e-14, max_iter=20000, rngs=[], accelerate=True)


def factor_rows(n_rows=400):
    rng = np.random.default_rng(7)
    loadings = rng.normal(size=(6, 2))
    X = rng.normal(size=(n_rows, 2)) @ loadings.T + rng.normal(size=(n_rows, 6))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_factors_are_scikit_learns_up_to_rotation():
    X = factor_rows()
    result = fit_factors(X, 2)
    peer = FactorAnalysis(2, tol=1e-8, max_iter=3000, svd_method="lapack").fit(X)
    assert_allclose(result.history[-1], peer.score(X), rtol=1e-7)
    found = projection.factor_axes(result.params)
    assert found.n_axes == 2
    u = (X - found.mean[0]) @ found.matrix[0].T
    # canonical rotation of scikit-learn's scores
    loadings, noise = peer.components_.T, peer.noise_variance_
    _, rotation = np.linalg.eigh((loadings.T / noise) @ loadings)
    scores = peer.transform(X) @ rotation[:, ::-1]
    for k in range(2):
        assert abs(np.corrcoef(u[:, k], scores[:, k])[0, 1]) > 1 - 1e-6
    covariance = loadings @ loadings.T + np.diag(noise)
    assert_allclose(found.matrix[0] @ covariance @ found.matrix[0].T, np.eye(6), atol=1e-4)
    assert_allclose(found.inverse[0] @ found.matrix[0], np.eye(6), atol=1e-10)


def test_latent_mean_and_variance_do_not_change_the_factors():
    params = fit_factors(factor_rows(), 2).params
    plain = projection.factor_axes(params)
    scale = np.array([2.0, 0.5])
    other = params._replace(
        loadings=params.loadings / scale,
        latent_variance=params.latent_variance * scale**2,
        latent_mean=params.latent_mean * scale,
    )
    for one, two in zip(plain[:3], projection.factor_axes(other)[:3], strict=True):
        assert_allclose(np.abs(one), np.abs(two), atol=1e-8)


def test_a_factor_without_loadings_is_left_out():
    n = 3
    params = LCMParams(
        np.zeros(1, dtype=np.intp),
        np.ones((1, n, 2), dtype=bool),
        np.zeros((1, 1, 1)),
        np.array([[[[1.0, 0.0], [0.5, 0.0], [0.2, 0.0]]]]),
        np.zeros((1, 1, n)),
        np.ones((1, 1, n)),
        np.zeros((1, 1, 2)),
        np.ones((1, 1, 2)),
        np.zeros((1, 1, 0)),
    )
    found = projection.factor_axes(params)
    assert found.n_axes == 1
    assert_allclose(found.inverse[0] @ found.matrix[0], np.eye(n), atol=1e-12)
    none = projection.factor_axes(params._replace(loadings=np.zeros((1, 1, n, 2))))
    assert none.n_axes == 0


@pytest.mark.parametrize("strength", [0.0, 1.7])
def test_projection_is_naive_bayes_on_the_coordinates(strength):
    X, y, weight = make_rows(n=4)
    rng = np.random.default_rng(8)
    matrix = rng.normal(size=(2, 4, 4))
    covariance = np.linalg.inv(np.swapaxes(matrix, 1, 2) @ matrix)
    found = projection.Projection(
        np.log([0.3, 0.7]), rng.normal(size=(2, 4)), matrix, np.linalg.inv(matrix), 3
    )
    data = gather(X, y, weight, one_component=False)
    cells = projection.project(data, found, strength=strength, alpha=0.0)
    log_share = np.log([0.3, 0.7]) + np.column_stack(
        [multivariate_normal.logpdf(X, found.mean[m], covariance[m]) for m in range(2)]
    )
    share = weight[:, None] * np.exp(log_share - logsumexp(log_share, axis=1, keepdims=True))
    expected = np.empty((2, 2, len(X)))
    for k in range(2):
        for m in range(2):
            w = share[y == k, m]
            u = (X - found.mean[m]) @ matrix[m].T
            density = np.log(w.sum() / weight.sum()) + np.linalg.slogdet(matrix[m])[1]
            for j in range(4):
                centre, variance = 0.0, 1.0
                if j < 3:
                    centre = w @ u[y == k, j] / w.sum()
                    scatter = w @ (u[y == k, j] - centre) ** 2
                    variance = (scatter + strength) / (w.sum() + strength)
                density = density + norm.logpdf(u[:, j], centre, np.sqrt(variance))
            expected[k, m] = density
    codes = np.zeros((len(X), 0), dtype=np.int32)
    assert_allclose(log_joint_rows(cells, X, codes, NO_LEVELS)[0], expected, rtol=1e-8, atol=1e-8)
    gaussians = cells.gaussians
    assert_allclose(
        gaussians.precision @ gaussians.covariance, np.tile(np.eye(4), (1, 2, 2, 1, 1)), atol=1e-9
    )
    assert_allclose(gaussians.log_det, np.linalg.slogdet(gaussians.covariance)[1], rtol=1e-9)


def test_rows_without_label_do_not_count_for_the_classes():
    X, y, weight = make_rows(unlabelled=0.5)
    found = projection.principal_axes(np.zeros(1), np.zeros((1, 3)), np.cov(X.T)[None])
    some = y >= 0
    one, two = (
        projection.project(
            gather(X[rows], y[rows], weight[rows], one_component=True),
            found,
            strength=1.0,
            alpha=0.0,
        )
        for rows in (slice(None), some)
    )
    assert_allclose(one.log_weight, two.log_weight, rtol=1e-12)
    assert_allclose(one.gaussians.covariance, two.gaussians.covariance, rtol=1e-10)


def test_a_class_without_rows_is_as_all_rows():
    X, _, weight = make_rows()
    covariance = np.cov(X.T)
    found = projection.principal_axes(np.zeros(1), np.zeros((1, 3)), covariance[None])
    data = gather(X, np.zeros(len(X), dtype=int), weight, one_component=True, n_classes=2)
    cells = projection.project(data, found, strength=1.0, alpha=0.0)
    assert_allclose(cells.gaussians.covariance[0, 1, 0], covariance, rtol=1e-10)
    assert cells.log_weight[0, :, 0].tolist() == [0.0, -np.inf]
