"""EM on the bound, against plain loops, the engine of continuous columns, and derivatives."""

from itertools import islice, repeat

import logistic_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.naive_bayes import BernoulliNB

from latentclass.engine._class_components import gather_rows
from latentclass.engine._em import run_restarts
from latentclass.lcm._ascent import climb
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._em import LCMProblem, Prior
from latentclass.lcm._hybrid_data import gather_blocks
from latentclass.lcm._hybrid_em import HybridProblem, canonical, log_prior
from latentclass.lcm._hybrid_posterior import (
    grid_points,
    integrate,
    log_bounds_given_class,
    raise_bounds,
)
from latentclass.lcm._logistic_bound import HybridRows

PRIOR = Prior(loading=0.7, noise=0.9, noise_level=0.5, latent=0.8, alpha=0.6)


def make_problem(
    *, n_rows=40, n_gaussian=2, n_logistic=4, n_classes=2, holes=0.1, unlabelled=0.0, **options
):
    """A problem with its rows as plain lists, labels and weights."""
    rng = np.random.default_rng(options.pop("seed", 0))
    y = rng.integers(0, n_classes, n_rows)
    level = rng.normal(y, 1.0)
    values = 0.7 * level + rng.normal(size=(n_gaussian, n_rows))
    signs = np.where(rng.random((n_logistic, n_rows)) < 1 / (1 + np.exp(-level)), 1, -1)
    signs = signs.astype(np.int8)
    values[rng.random(values.shape) < holes] = np.nan
    signs[rng.random(signs.shape) < holes] = 0
    y = np.where(rng.random(n_rows) < unlabelled, -1, y)
    weight = rng.integers(1, 4, n_rows).astype(float) if options.pop("weighted", False) else None
    weight = np.ones(n_rows) if weight is None else weight
    n_blocks = options.pop("n_blocks", 1)
    parts = [
        (HybridRows(values[:, part], signs[:, part]), y[part], weight[part])
        for part in np.array_split(np.arange(n_rows), n_blocks)
    ]
    data = gather_blocks(parts, n_classes, np.ones((2, n_logistic)))
    settings = {"n_components": 1, "n_latent": 2, "tied": True, "prior": PRIOR} | options
    return HybridProblem(data, **settings), (values, signs, y, weight)


def starts_of(problem, n_starts=2):
    return problem.starts([np.random.default_rng(s) for s in range(n_starts)])


@pytest.mark.parametrize("unlabelled", [0.0, 0.4])
def test_an_iteration_equals_the_plain_one(unlabelled):
    problem, (values, signs, y, weight) = make_problem(
        n_rows=14, n_components=2, unlabelled=unlabelled, weighted=True
    )
    params = starts_of(problem, 1)
    n_gaussian = 2
    for _ in range(2):  # the second has xi of its own for every cell
        rows = [
            [None if np.isnan(v) else v for v in values[:, r]]
            + [None if s == 0 else int(s > 0) for s in signs[:, r]]
            for r in range(14)
        ]
        xi = [[None] * 2 for _ in rows]
        for block in problem.data.blocks:
            for place, r in enumerate(np.flatnonzero((y != -1) == block.labelled)):
                for m in range(2):
                    own = block.xi[params.place[0], m, :, place].astype(float)
                    xi[r][m] = [0.0] * n_gaussian + own.tolist()
        model = {
            "log_weight": params.log_weight[0],
            "mu": params.latent_mean[0],
            "gamma": params.latent_variance[0],
            "columns": [
                [
                    {"b": c[0], "w": c[1:]}
                    | ({"theta": params.noise[0, 0, j]} if j < n_gaussian else {})
                    for j, c in enumerate(params.coefficient[0, m])
                ]
                for m in range(2)
            ],
        }
        labels = [None if k == -1 else int(k) for k in y]
        total, after, moved = reference.em_step(rows, labels, weight, model, xi, PRIOR._asdict())
        stats, objective = problem.e_step(params)
        assert_allclose(objective[0] * weight.sum(), total, rtol=1e-9)
        params = problem.m_step(stats)
        assert_allclose(params.log_weight[0], after["log_weight"], rtol=1e-7)
        assert_allclose(params.latent_mean[0], after["mu"], rtol=1e-6, atol=1e-9)
        assert_allclose(params.latent_variance[0], after["gamma"], rtol=1e-6)
        for m in range(2):
            for j, column in enumerate(after["columns"][m]):
                expected = [column["b"], *column["w"]]
                assert_allclose(params.coefficient[0, m, j], expected, rtol=1e-5, atol=1e-7)
                if j < n_gaussian:
                    assert_allclose(params.noise[0, 0, j], column["theta"], rtol=1e-7)
        first = problem.data.blocks[0]
        r = int(np.flatnonzero((y != -1) == first.labelled)[0])
        assert_allclose(first.xi[params.place[0], 1, :, 0], moved[r][1][2:], rtol=1e-6)


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("tied", [True, False])
def test_on_continuous_columns_a_step_is_that_of_the_other_engine(n_components, tied):
    problem, (values, _, y, weight) = make_problem(
        n_gaussian=4, n_logistic=0, holes=0.0, n_components=n_components, tied=tied, weighted=True
    )
    other = LCMProblem(
        gather_rows(
            values.T.copy(),
            np.zeros((40, 0), dtype=np.int32),
            y,
            weight[None],
            n_classes=2,
            one_component=n_components == 1,
            offsets=np.zeros(1, dtype=np.intp),
        ),
        n_components,
        2,
        tied,
        PRIOR,
    )
    theirs = other.starts(np.zeros(1, dtype=np.intp), [np.random.default_rng(0)])
    ours = starts_of(problem, 1)
    assert_allclose(ours.coefficient[..., 1:], theirs.loadings)
    assert_allclose(ours.coefficient[..., 0], theirs.offsets)
    for _ in range(3):
        our_stats, our_objective = problem.e_step(ours)
        their_stats, their_objective = other.e_step(theirs)
        assert_allclose(our_objective, their_objective, rtol=1e-10)
        ours, theirs = problem.m_step(our_stats), other.m_step(their_stats)
        assert_allclose(ours.coefficient[..., 1:], theirs.loadings, rtol=1e-6, atol=1e-8)
        assert_allclose(ours.coefficient[..., 0], theirs.offsets, rtol=1e-6, atol=1e-8)
        assert_allclose(ours.noise, theirs.noise, rtol=1e-7)
        assert_allclose(ours.latent_mean, theirs.latent_mean, rtol=1e-6, atol=1e-9)
        assert_allclose(ours.latent_variance, theirs.latent_variance, rtol=1e-7)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_components": 3, "unlabelled": 0.3, "n_gaussian": 0},
        {"tied": False, "n_components": 2, "holes": 0.4},
        {"prior": Prior()},
        {"bound_steps": 10, "n_components": 2},
    ],
    ids=["plain", "mixture", "untied", "likelihood", "steps"],
)
def test_the_objective_rises_at_every_step(options, accelerate):
    problem, _ = make_problem(n_rows=60, **options)
    rngs = [np.random.default_rng(s) for s in range(3)]
    result = run_restarts(
        problem,
        problem.starts(rngs),
        tol=0.0,
        max_iter=40,
        rngs=rngs,
        halving=False,
        accelerate=accelerate,
        keep=3,
    )
    for history in result.histories:
        assert np.all(np.diff(history) >= -1e-9)
        assert history[-1] > history[0] + 0.05


def test_where_em_stands_still_the_derivatives_vanish():
    problem, _ = make_problem(n_rows=30, n_components=1, holes=0.2, unlabelled=0.2)
    rngs = [np.random.default_rng(0)]
    result = run_restarts(
        problem, problem.starts(rngs), tol=-1.0, max_iter=3000, rngs=rngs, accelerate=True
    )
    params = result.params

    def objective(name, place, step):
        array = getattr(params, name).copy()
        array[place] += step
        return problem.e_step(params._replace(**{name: array}))[1][0]

    for name in ("coefficient", "noise", "latent_mean", "latent_variance"):
        for place in np.ndindex(getattr(params, name).shape):
            slope = (objective(name, place, 1e-4) - objective(name, place, -1e-4)) / 2e-4
            assert abs(slope) < 2e-4, (name, place)


@pytest.mark.parametrize("tied", [True, False])
def test_slopes_of_the_conditional_bound_are_its_derivatives(tied):
    problem, _ = make_problem(n_rows=25, n_components=2, tied=tied, n_blocks=2, weighted=True)
    params = starts_of(problem)
    for _ in range(4):
        params = problem.m_step(problem.e_step(params)[0])
    conditional = ConditionalProblem(problem.data, PRIOR, 0.2)
    xi = conditional.begin(params)
    slopes, _, _ = conditional.gradient(params, xi)
    at = {
        "log_weight": params.log_weight,
        "coefficient": params.coefficient,
        "log_noise": np.log(params.noise),
        "latent_mean": params.latent_mean,
        "log_variance": np.log(params.latent_variance),
    }

    def value(name, place, step):
        moved = {key: array.copy() for key, array in at.items()}
        moved[name][place] += step
        total = np.logaddexp.reduce(moved["log_weight"].reshape(2, -1), axis=1)
        near = params._replace(
            log_weight=moved["log_weight"] - total[:, None, None],
            coefficient=moved["coefficient"],
            noise=np.exp(moved["log_noise"]),
            latent_mean=moved["latent_mean"],
            latent_variance=np.exp(moved["log_variance"]),
        )
        return conditional.gradient(near, xi)[1][place[0]]

    for name, array in at.items():
        for place in list(np.ndindex(array.shape))[::3]:
            expected = (value(name, place, 1e-5) - value(name, place, -1e-5)) / 2e-5
            assert_allclose(getattr(slopes, name)[place], expected, atol=1e-8)


def test_slopes_at_certain_bits_do_not_overflow():
    """Without pseudo-counts the best offset of a bit that is always 0 is far below -700."""
    problem, _ = make_problem()
    params = starts_of(problem)
    params.coefficient[:, :, 2:, 0] = -800.0
    conditional = ConditionalProblem(problem.data, PRIOR, 0.0)
    slopes, _, _ = conditional.gradient(params, conditional.begin(params))
    assert all(np.isfinite(slope).all() for slope in slopes)
    assert np.all(slopes.coefficient[:, :, 2:, 0] > 0)


def test_gradient_steps_raise_the_conditional_bound():
    problem, _ = make_problem(n_rows=60, holes=0.1)
    params = problem.m_step(problem.e_step(starts_of(problem))[0])
    conditional = ConditionalProblem(problem.data, PRIOR, 0.0)
    path = list(islice(climb(params, repeat(conditional)), 41))
    assert len(path) == 41
    before, after = (
        conditional.gradient(one, conditional.begin(one))[1] for one in (path[0], path[-1])
    )
    assert np.all(after > before + 0.01)


def test_statistics_of_blocks_add_up():
    whole, _ = make_problem(n_components=2, unlabelled=0.3)
    parts, _ = make_problem(n_components=2, unlabelled=0.3, n_blocks=5)
    one, two = starts_of(whole), starts_of(parts)
    assert_allclose(one.coefficient, two.coefficient)
    (stats, objective), (other, same) = whole.e_step(one), parts.e_step(two)
    assert_allclose(objective, same, rtol=1e-12)
    for mine, theirs in zip(stats, other, strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_xi_stays_with_the_rows():
    sizes = []
    for n_rows in (40, 80):
        problem, _ = make_problem(n_rows=n_rows, n_components=2, n_blocks=2)
        params = starts_of(problem, 3)
        stats, _ = problem.e_step(params)
        sizes.append([array.size for array in (*params, *stats, problem.to_vector(params))])
        assert [block.xi.shape for block in problem.data.blocks] == [(9, 2, 4, n_rows // 2)] * 2
    assert sizes[0] == sizes[1]


def test_a_step_is_taken_back_with_its_xi():
    problem, _ = make_problem(n_components=2, unlabelled=0.2)
    params = starts_of(problem)
    for _ in range(3):
        params = problem.m_step(problem.e_step(params)[0])
    _, before = problem.e_step(params)
    elsewhere = params._replace(coefficient=params.coefficient + 1.0)
    assert np.all(problem.e_step(elsewhere)[1] < before)
    assert problem.e_step(params)[1].tolist() == before.tolist()


def test_coordinates_and_back():
    problem, _ = make_problem(n_components=2, weighted=True)
    params = problem.m_step(problem.e_step(starts_of(problem))[0])
    again = problem.from_vector(problem.to_vector(params))
    for mine, theirs in zip(params[:5], again[:5], strict=True):
        assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("alpha", [-1.0, -1.5, -40.0])
def test_xi_is_extrapolated_in_logarithms(alpha):
    problem, _ = make_problem(n_components=2, n_blocks=2, weighted=True, unlabelled=0.2)
    path = [starts_of(problem)]
    for _ in range(2):
        path.append(problem.m_step(problem.e_step(path[-1])[0]))
    logs = [
        [np.log(block.xi[params.place].astype(float)) for block in problem.data.blocks]
        for params in path
    ]
    weights = [block.weight for block in problem.data.blocks]
    change, bend = problem.squares(tuple(path))
    length, turn = np.zeros((2, len(change)))
    for zero, one, two, weight in zip(*logs, weights, strict=True):
        length += ((one - zero) ** 2 * weight).sum(axis=(1, 2, 3))
        turn += ((two - 2 * one + zero) ** 2 * weight).sum(axis=(1, 2, 3))
    assert_allclose(change, length, rtol=1e-5)
    assert_allclose(bend, turn, rtol=1e-5)
    far = np.full(len(change), alpha)
    moved = problem.carry(path[2], tuple(path), far)
    assert moved.place.tolist() == path[0].place.tolist()
    for block, zero, one, two in zip(problem.data.blocks, *logs, strict=True):
        expected = zero - 2 * alpha * (one - zero) + alpha**2 * (two - 2 * one + zero)
        found = np.log(block.xi[moved.place])
        assert_allclose(found, np.clip(expected, *np.log([1e-3, 1e4])), rtol=1e-3, atol=1e-3)


def test_naive_bayes_is_a_component_a_class_without_weights():
    problem, (_, signs, y, _) = make_problem(
        n_gaussian=0, holes=0.0, n_components=2, prior=Prior(loading=1e12, latent=1.0, alpha=1.0)
    )
    params = starts_of(problem, 1)
    with np.errstate(divide="ignore"):
        params = params._replace(log_weight=np.log(np.eye(2) / 2)[None])
    for _ in range(60):
        params = problem.m_step(problem.e_step(params)[0])
    rows = HybridRows(np.empty((0, 40)), signs)
    found = log_bounds_given_class(params, raise_bounds(params, rows).log_bound)[0]
    peer = BernoulliNB(alpha=1.0).fit(signs.T > 0, y)
    expected = peer.predict_joint_log_proba(signs.T > 0) - peer.class_log_prior_
    assert_allclose(found, expected, atol=1e-6)


def test_what_made_the_rows_is_found_again():
    rng = np.random.default_rng(11)
    n_rows, weights = 4000, np.array([2.0, -1.5, 1.0, 2.5, -2.0, 1.5])
    offsets = np.array([0.5, 0.0, -0.5, 0.0, 1.0, 0.0])
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(np.array([-1.0, 1.0])[y], 0.6)
    a = weights[:, None] * z + offsets[:, None]
    signs = np.where(rng.random(a.shape) < 1 / (1 + np.exp(-a)), 1, -1).astype(np.int8)
    data = gather_blocks(
        [(HybridRows(np.empty((0, n_rows)), signs), y, np.ones(n_rows))], 2, np.ones((2, 6))
    )
    problem = HybridProblem(data, 1, 1, True, Prior(loading=1.0, latent=1.0, alpha=1.0))
    rngs = [np.random.default_rng(s) for s in range(2)]
    result = run_restarts(problem, problem.starts(rngs), tol=1e-6, max_iter=300, rngs=rngs)
    fitted = canonical(result.params)
    found = fitted.coefficient[0, 0, :, 1]
    assert abs(np.corrcoef(found, weights)[0, 1]) > 0.99
    truth = fitted._replace(
        coefficient=np.stack([offsets, weights], axis=1)[None, None],
        latent_mean=np.array([[[-1.0], [1.0]]]),
        latent_variance=np.full((1, 2, 1), 0.36),
    )
    rows = HybridRows(np.empty((0, n_rows)), signs)
    per_row = []
    for params in (fitted, truth):
        moments = raise_bounds(params, rows, moments=True).moments
        exact = integrate(params, rows, moments, grid_points(31, 1))
        joint = log_bounds_given_class(params, exact)[0] + params.log_weight[0, :, 0]
        per_row.append([joint[np.arange(n_rows), y].mean(), np.mean(joint.argmax(axis=1) == y)])
    # the bound makes the classes narrower than they are; what is said of rows hardly changes
    assert_allclose(per_row[0][0], per_row[1][0], atol=0.05)
    assert_allclose(per_row[0][1], per_row[1][1], atol=0.005)


def test_the_standard_form_is_the_same_model():
    problem, (values, signs, _, _) = make_problem(n_components=2)
    params = starts_of(problem)
    for _ in range(5):
        params = problem.m_step(problem.e_step(params)[0])
    standard = canonical(params)
    rows = HybridRows(values, signs)
    assert_allclose(
        raise_bounds(standard, rows).log_bound, raise_bounds(params, rows).log_bound, atol=1e-3
    )
    share = np.exp(standard.log_weight).sum(axis=2)[..., None]
    mean = (share * standard.latent_mean).sum(axis=1)
    square = (share * (standard.latent_variance + standard.latent_mean**2)).sum(axis=1)
    assert_allclose(mean, 0.0, atol=1e-12)
    assert_allclose(square, 1.0, rtol=1e-9)
    assert np.all(np.isfinite(log_prior(standard, PRIOR, problem.data)))
