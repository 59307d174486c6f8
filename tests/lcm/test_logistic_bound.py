"""The bound of logistic factors, against plain loops, quadrature and the paper's numbers."""

import logistic_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, log_expit

from latentclass.lcm import _logistic_bound
from latentclass.lcm._hybrid_em import HybridParams, settle_rows
from latentclass.lcm._hybrid_posterior import (
    ClassComponent,
    gaussian_draws,
    grid_points,
    integrate,
    log_bounds_given_class,
    raise_bounds,
    spread_points,
)
from latentclass.lcm._logistic_bound import (
    HybridRows,
    best_xi,
    curvature,
    infer,
    loops,
    make_design,
    prior_xi,
    read_rows,
    unpack_features,
    vector_features,
)


@pytest.fixture(autouse=True, params=[True, False], ids=["compiled", "NumPy"])
def choose_loops(request, monkeypatch):
    """All that follows holds for the compiled loops and for those in NumPy."""
    monkeypatch.setattr(_logistic_bound, "FEW", 0 if request.param else 2**40)
    monkeypatch.setattr(_logistic_bound, "FEW_ROWS", 2**40)


def make_params(rng, n_starts=1, n_classes=2, n_components=2, n_gaussian=2, n_logistic=4, q=2):
    n = n_gaussian + n_logistic
    log_weight = np.log(rng.dirichlet(np.ones(n_classes * n_components), n_starts))
    return HybridParams(
        log_weight.reshape(n_starts, n_classes, n_components),
        rng.normal(size=(n_starts, n_components, n, q + 1)),
        rng.uniform(0.2, 1.0, (n_starts, 1, n_gaussian)),
        rng.normal(size=(n_starts, n_classes, q)),
        rng.uniform(0.3, 2.0, (n_starts, n_classes, q)),
        np.zeros(n_starts, dtype=np.intp),
    )


def make_rows(rng, n_gaussian, n_logistic, n_rows, holes=0.2):
    values = rng.normal(size=(n_gaussian, n_rows))
    signs = rng.choice([-1, 1], (n_logistic, n_rows)).astype(np.int8)
    values[rng.random(values.shape) < holes] = np.nan
    signs[rng.random(signs.shape) < holes] = 0
    return HybridRows(values, signs)


def design_of(params):
    return make_design(params.coefficient, params.noise, params.latent_mean, params.latent_variance)


def plain_columns(params, s, m):
    """The twin's columns."""
    noise = params.noise[s, 0]
    columns = []
    for j, coefficient in enumerate(params.coefficient[s, m]):
        column = {"b": coefficient[0], "w": coefficient[1:]}
        if j < len(noise):
            column["theta"] = noise[j]
        columns.append(column)
    return columns


def plain_cells(rows, r):
    values = [None if np.isnan(v) else v for v in rows.values[:, r]]
    return values + [None if s == 0 else int(s > 0) for s in rows.signs[:, r]]


def bend(xi):
    """rho and height of one cell, from the kernel."""
    rho, height = np.empty((1, 1, 1, 1)), np.empty((1, 1, 1))
    cell = np.full((1, 1, 1, 1), xi)
    loops(np.empty(1)).bend_cells(cell, 1, np.empty((0, 0)), False, rho, height)
    return rho.item(), height.item()


def test_many_columns_are_summed_without_overflow():
    rng = np.random.default_rng(12)
    xi = rng.uniform(1e-3, 4.0, (1, 2, 1300, 5))
    seen = (rng.random((1300, 5)) < 0.7).astype(float)
    rho, height = np.empty((1, 2, 1301, 5)), np.empty((1, 2, 5))
    rho[:, :, 1:] = before = 0.2 * seen
    for again, used in ((True, before), (False, seen * curvature(xi))):
        loops(np.empty(1)).bend_cells(xi, 1300, seen, again, rho, height)
        expected = seen * (log_expit(xi) - xi / 2) + used * xi**2 / 2
        assert_allclose(height, expected.sum(axis=2), rtol=1e-11)
        assert_allclose(rho[:, :, 1:], seen * curvature(xi), rtol=1e-11)


def test_curvature_and_height_are_right_at_any_xi():
    xi = np.geomspace(1e-3, 1e5, 5001)
    rho, height = np.empty((1, 1, 1, 5001)), np.empty((1, 1, 5001))
    loops(np.empty(1)).bend_cells(xi[None, None, None], 1, np.empty((0, 0)), False, rho, height)
    assert_allclose(rho[0, 0, 0], np.tanh(xi / 2) / (2 * xi), rtol=1e-12)
    expected = log_expit(xi) - xi / 2 + xi / 4 * np.tanh(xi / 2)
    assert_allclose(height[0, 0], expected, rtol=1e-12)


def test_the_bound_touches_at_xi_and_is_below_elsewhere():
    a = np.linspace(-8, 8, 161)
    for xi in (1e-3, 0.5, 2.0, 7.0):
        rho, height = bend(xi)
        below = 0.5 * a - 0.5 * rho * a**2 + height
        assert np.all(below <= log_expit(a) + 1e-12)
        at = np.array([-xi, xi])
        assert_allclose(0.5 * at - 0.5 * rho * at**2 + height, log_expit(at), atol=1e-12)
    assert_allclose(curvature(np.array([1e-3, 2.0])), [0.25, -2 * reference.lam(2.0)], rtol=1e-6)


def test_example_3_of_the_paper():
    design = make_design(
        np.array([[[[0.0, 1.0]]]]), np.empty((1, 1, 0)), np.zeros((1, 1, 1)), np.ones((1, 1, 1))
    )
    seen = read_rows(HybridRows(np.empty((0, 1)), np.array([[1]], dtype=np.int8)))
    moments, _ = infer(design, seen, np.zeros(1, dtype=np.intp), np.ones((1, 1, 1, 1)))
    _, mean, square = moments[0, 0, :, 0]
    assert_allclose(square - mean**2, 0.812, atol=5e-4)
    assert_allclose(mean, 0.406, atol=5e-4)


def test_features_are_the_upper_half():
    v = np.array([[1.0, 2.0, 3.0]])
    assert vector_features(v).tolist() == [[1, 2, 3, 4, 6, 9]]
    assert unpack_features(vector_features(v))[0].tolist() == np.outer(v[0], v[0]).tolist()


@pytest.mark.parametrize("n_rows", [1, 16, 37])
@pytest.mark.parametrize("q", [1, 3])
def test_posteriors_and_bounds_equal_the_plain_ones(n_rows, q):
    rng = np.random.default_rng(n_rows + q)
    params = make_params(rng, n_starts=2, q=q)
    rows = make_rows(rng, 2, 4, n_rows)
    label = rng.integers(0, 2, n_rows)
    xi = rng.uniform(0.1, 3.0, (2, 2, 4, n_rows))
    design = design_of(params)
    moments, bound = infer(design, read_rows(rows), label, xi)
    moved = best_xi(design, moments, read_rows(rows))
    for s, m, r in np.ndindex(2, 2, n_rows):
        columns, cells = plain_columns(params, s, m), plain_cells(rows, r)
        mu = params.latent_mean[s, label[r]]
        gamma = params.latent_variance[s, label[r]]
        own = [0, 0, *xi[s, m, :, r]]
        mean, covariance = reference.posterior(columns, mu, gamma, cells, own)
        full = unpack_features(moments[s, m, :, r])
        assert_allclose(full[0], [1.0, *mean], rtol=1e-9, atol=1e-12)
        assert_allclose(full[1:, 1:] - np.outer(mean, mean), covariance, rtol=1e-8, atol=1e-10)
        expected = reference.log_bound(columns, mu, gamma, cells, own)
        assert_allclose(bound[s, m, r], expected, rtol=1e-10, atol=1e-10)
        assert_allclose(
            moved[s, m, :, r], reference.moved_xi(columns, mean, covariance)[2:], rtol=1e-8
        )


def test_several_steps_equal_algorithm_1_row_by_row():
    rng = np.random.default_rng(5)
    params = make_params(rng, n_starts=2)
    rows, label = make_rows(rng, 2, 4, 12), rng.integers(0, 2, 12)
    xi = rng.uniform(0.1, 3.0, (2, 2, 4, 12))
    found = settle_rows(params, design_of(params), read_rows(rows), label, xi, 4, 1e-3)
    steps = set()
    for s, m, r in np.ndindex(2, 2, 12):
        columns, cells = plain_columns(params, s, m), plain_cells(rows, r)
        prior = params.latent_mean[s, label[r]], params.latent_variance[s, label[r]]
        own = [0, 0, *xi[s, m, :, r]]
        log_weight = params.log_weight[s, label[r], m]
        values = [log_weight + reference.log_bound(columns, *prior, cells, own)]
        while len(values) < 4:
            own = reference.moved_xi(columns, *reference.posterior(columns, *prior, cells, own))
            values.append(log_weight + reference.log_bound(columns, *prior, cells, own))
            if values[-1] - values[-2] <= 1e-3 * abs(values[-2]):
                break
        mean, _ = reference.posterior(columns, *prior, cells, own)
        assert_allclose(found.by_component[s, m, r], values[-1], rtol=1e-10)
        assert_allclose(found.mixed[s, m, 1:3, r], mean, rtol=1e-8, atol=1e-10)
        steps.add(len(values))
    assert {2, 4} <= steps


@pytest.mark.parametrize("n_gaussian", [0, 2])
def test_the_bound_rises_at_every_step_and_stays_below_the_likelihood(n_gaussian):
    rng = np.random.default_rng(3)
    params = make_params(rng, n_components=1, n_gaussian=n_gaussian, n_logistic=5)
    rows = make_rows(rng, n_gaussian, 5, 6)
    label = rng.integers(0, 2, 6)
    design = design_of(params)
    xi = prior_xi(design, params.latent_mean, params.latent_variance, ())[..., label]
    bounds = []
    for _ in range(30):
        moments, bound = infer(design, read_rows(rows), label, xi)
        bounds.append(bound[0, 0])
        xi = best_xi(design, moments, read_rows(rows))
    assert np.all(np.diff(bounds, axis=0) >= -1e-12)
    assert bounds[-1].sum() > bounds[0].sum() + 0.01
    for r in range(6):
        exact = reference.log_integral(
            plain_columns(params, 0, 0),
            params.latent_mean[0, label[r]],
            params.latent_variance[0, label[r]],
            plain_cells(rows, r),
            n_nodes=80,
        )
        assert bounds[-1][r] <= exact + 1e-8


def test_without_cells_the_bound_is_one():
    rng = np.random.default_rng(4)
    params = make_params(rng)
    rows = HybridRows(np.full((2, 3), np.nan), np.zeros((4, 3), dtype=np.int8))
    assert_allclose(raise_bounds(params, rows).log_bound, 0.0, atol=1e-12)


def test_without_weights_columns_are_independent_and_the_bound_exact():
    rng = np.random.default_rng(5)
    params = make_params(rng, n_gaussian=0)
    params.coefficient[..., 1:] = 0.0
    rows = make_rows(rng, 0, 4, 9)
    expected = log_expit(params.coefficient[..., 0][..., None] * rows.signs)
    expected = np.where(rows.signs == 0, 0.0, expected).sum(axis=2)  # (S, M, R)
    found = raise_bounds(params, rows).log_bound
    assert_allclose(found, np.repeat(expected[:, None], 2, axis=1), atol=1e-12)


def test_rows_converge_by_themselves():
    rng = np.random.default_rng(6)
    params = make_params(rng)
    rows = make_rows(rng, 2, 4, 20)
    together = raise_bounds(params, rows).log_bound
    for r in range(20):
        alone = HybridRows(rows.values[:, [r]], rows.signs[:, [r]])
        assert_allclose(raise_bounds(params, alone).log_bound[..., 0], together[..., r], rtol=1e-12)


def converged_bounds(params, rows):
    """The bounds after 10,000 plain steps, or when a step changes nothing, (S, Y, M, R)."""
    design, seen = design_of(params), read_rows(rows)
    out = []
    for y in range(params.log_weight.shape[1]):
        label, before = np.full(rows.n_rows, y), -np.inf
        xi = prior_xi(design, params.latent_mean, params.latent_variance, ())[..., label]
        for _ in range(10_000):
            moments, bound = infer(design, seen, label, xi)
            if np.abs(bound - before).max() < 1e-12:
                break
            xi, before = best_xi(design, moments, read_rows(rows)), bound
        out.append(bound)
    return np.stack(out, axis=1)


@pytest.mark.parametrize(
    # seed 3: an extrapolated step falls by a hair long before the end
    ("n_gaussian", "holes", "seed", "scale"),
    [(0, 0.0, 13, 1.5), (2, 0.3, 13, 1.5), (2, 0.3, 3, 4.0)],
)
def test_in_prediction_the_bounds_have_converged(n_gaussian, holes, seed, scale):
    rng = np.random.default_rng(seed)
    params = make_params(rng, 2, 4, 2, n_gaussian, n_logistic=40, q=4)
    params.coefficient[...] *= scale
    rows = make_rows(rng, n_gaussian, 40, 30, holes)
    slow = converged_bounds(params, rows)
    far = slow.max(axis=(1, 2), keepdims=True) - 15.0
    near = slow > far
    for moments in (False, True):
        found = raise_bounds(params, rows, moments=moments).log_bound
        assert_allclose(found[near], slow[near], atol=2e-4)
        assert np.all(found <= slow + 1e-9)
        # what was given up is out of the race
        assert np.all(near | (found <= far))


def test_steps_are_mixed_by_least_squares():
    rng = np.random.default_rng(14)
    n, n_rows = 6, 5
    shown = (rng.random((n, n_rows)) < 0.8).astype(float)
    places, images = [rng.uniform(1.0, 2.0, (n, n_rows))], []
    past, nobody = np.empty((4, n, n_rows)), np.zeros(n_rows, dtype=bool)
    for step in range(4):
        images.append(rng.uniform(1.0, 2.0, (n, n_rows)))
        square = places[-1].copy()
        loops(np.empty(1)).extrapolate_cells(square, images[-1], shown, step == 0, nobody, past)
        last = list(zip(places, images, strict=True))[-3:]
        for t in range(n_rows):
            residuals = np.array([(g - s)[:, t] * shown[:, t] for s, g in last]).T
            g = np.array([g[:, t] for _, g in last]).T
            share = -np.linalg.lstsq(np.diff(residuals), residuals[:, -1], rcond=None)[0]
            assert_allclose(square[:, t], g[:, -1] + np.diff(g) @ share, rtol=1e-8)
        places.append(square)
    fell = np.arange(n_rows) == 2
    loops(np.empty(1)).extrapolate_cells(
        square, rng.uniform(1.0, 2.0, (n, n_rows)), shown, False, fell, past
    )
    assert_allclose(square[:, 2], images[-1][:, 2])
    assert not np.allclose(square[:, 1], images[-1][:, 1])


@pytest.mark.parametrize("q", [1, 2])
def test_quadrature_is_the_likelihood(q):
    rng = np.random.default_rng(7)
    params = make_params(rng, n_components=1, n_gaussian=1, q=q)
    rows = make_rows(rng, 1, 4, 3)
    bounds, moments = raise_bounds(params, rows, moments=True)
    found = integrate(params, rows, moments, grid_points(25, q))
    drawn = integrate(params, rows, moments, spread_points(256, q))
    for y, r in np.ndindex(2, 3):
        where = params.latent_mean[0, y], params.latent_variance[0, y], plain_cells(rows, r)
        exact = reference.log_integral(plain_columns(params, 0, 0), *where, n_nodes=150)
        assert_allclose(found[0, y, 0, r], exact, atol=1e-6)
        assert_allclose(drawn[0, y, 0, r], exact, atol=0.02)
        assert bounds[0, y, 0, r] <= exact + 1e-8


def test_one_latent_variable_by_another_rule():
    params = HybridParams(
        np.zeros((1, 1, 1)),
        np.array([[[[0.3, 2.0], [-1.0, 1.5]]]]),
        np.empty((1, 1, 0)),
        np.array([[[0.4]]]),
        np.array([[[1.7]]]),
        np.zeros((1, 0, 0, 0), dtype=np.float32),
    )
    rows = HybridRows(np.empty((0, 1)), np.array([[1], [-1]], dtype=np.int8))

    def density(z):
        prior = np.exp(-0.5 * (z - 0.4) ** 2 / 1.7) / np.sqrt(2 * np.pi * 1.7)
        return prior * expit(0.3 + 2 * z) * expit(1.0 - 1.5 * z)

    exact = np.log(quad(density, -15, 15, epsabs=1e-12)[0])
    moments = raise_bounds(params, rows, moments=True).moments
    assert_allclose(integrate(params, rows, moments, grid_points(61, 1)).item(), exact, atol=1e-9)


def test_the_hybrid_bound_is_below_a_monte_carlo_likelihood():
    rng = np.random.default_rng(8)
    params = make_params(rng, n_gaussian=3, n_logistic=6, q=4)
    rows = make_rows(rng, 3, 6, 5)
    bounds, moments = raise_bounds(params, rows, moments=True)
    near = integrate(params, rows, moments, spread_points(4096, 4))
    for y, m, r in np.ndindex(2, 2, 5):
        z = params.latent_mean[0, y] + np.sqrt(params.latent_variance[0, y]) * rng.normal(
            size=(200_000, 4)
        )
        a = z @ params.coefficient[0, m][:, 1:].T + params.coefficient[0, m][:, 0]
        log_p = np.zeros(len(z))
        for j in range(3):
            if not np.isnan(rows.values[j, r]):
                theta = params.noise[0, 0, j]
                log_p -= 0.5 * ((rows.values[j, r] - a[:, j]) ** 2 / theta + np.log(theta))
                log_p -= 0.5 * np.log(2 * np.pi)
        for j in range(6):
            if rows.signs[j, r]:
                log_p += log_expit(rows.signs[j, r] * a[:, 3 + j])
        p = np.exp(log_p)
        estimate, error = p.mean(), p.std() / np.sqrt(len(p))
        assert np.exp(bounds[0, y, m, r]) <= estimate + 4 * error
        assert_allclose(np.exp(near[0, y, m, r]), estimate, atol=4 * error, rtol=0.02)


def test_points_average_over_the_posterior():
    rng = np.random.default_rng(9)
    params = make_params(rng, n_components=1, n_gaussian=1, q=2)
    rows = make_rows(rng, 1, 4, 4)
    moments = raise_bounds(params, rows, moments=True).moments
    draws = gaussian_draws(moments[0, 0, 0], spread_points(2048, 2))
    share = np.exp(draws.log_weight)[..., None]
    assert_allclose((share * draws.z).sum(axis=1), moments[0, 0, 0, 1:3].T, atol=1e-9)
    exact = ClassComponent.of(params, 0, 0, 0).draws(
        read_rows(rows), moments[0, 0, 0], grid_points(25, 2)
    )
    weight = np.exp(exact.log_weight - exact.log_weight.max())
    mean = (weight[..., None] * exact.z).sum(axis=1) / weight.sum(axis=1)[:, None]
    # the bound's posterior is near the true one, and not it
    assert_allclose(mean, moments[0, 0, 0, 1:3].T, atol=0.2)


def test_proposition_1_any_distribution_of_few_attributes():
    rng = np.random.default_rng(10)
    given = rng.dirichlet(np.ones(8), 2)  # P(t | y), t by its number in binary
    bits = (np.arange(8)[:, None] >> np.array([2, 1, 0])) & 1
    coefficient = np.zeros((1, 8, 3, 2))
    coefficient[0, :, :, 1] = np.where(bits, 40.0, -40.0)
    params = HybridParams(
        np.log(0.5 * given)[None],
        coefficient,
        np.empty((1, 1, 0)),
        np.ones((1, 2, 1)),
        np.full((1, 2, 1), 1e-9),
        np.zeros((1, 0, 0, 0), dtype=np.float32),
    )
    rows = HybridRows(np.empty((0, 8)), (2 * bits.T - 1).astype(np.int8))
    found = log_bounds_given_class(params, raise_bounds(params, rows).log_bound)[0]
    assert_allclose(np.exp(found), given.T, atol=1e-6)
