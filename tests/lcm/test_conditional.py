"""Discriminative training on numbers: the slopes, and steps along them."""

from itertools import islice, repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.lcm import lcm_reference as reference

from latentclass.engine._class_components import gather_rows
from latentclass.lcm._ascent import climb
from latentclass.lcm._conditional import LCMConditional
from latentclass.lcm._em import LCMProblem, Prior

PRIOR = Prior(loading=0.7, noise=0.4, noise_level=0.5, latent=0.3, component=0.2, alpha=0.5)
OFFSETS = np.array([0, 2, 5])


def make_rows(n_rows=30, n=3, holes=0.0, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, n))
    values[rng.random(values.shape) < holes] = np.nan
    codes = np.column_stack([rng.integers(0, 2, n_rows), rng.integers(-1, 3, n_rows)])
    y = np.arange(n_rows) % 3
    values[:, 0] += y
    weight = rng.uniform(0.5, 2.0, n_rows) if weighted else np.ones(n_rows)
    return values, codes.astype(np.int32), y, weight


def make_conditional(rows, q=2, m=1, share=0.2, *, tied=True, offset=True):
    values, codes, y, weight = rows

    def problem(labels):
        data = gather_rows(
            values,
            codes,
            labels,
            weight[None],
            n_classes=3,
            one_component=m == 1,
            offsets=OFFSETS,
            rank=q,
        )
        return LCMProblem(data, m, q, tied, PRIOR, offset)

    return LCMConditional(problem(y), problem(np.full(len(y), -1)), share)


def some_params(conditional, edges=None, n_starts=2):
    problem = conditional.labelled
    rngs = [np.random.default_rng(s) for s in range(n_starts)]
    params = problem.starts(np.zeros(n_starts, dtype=np.intp), rngs)
    if edges is not None:
        params = params._replace(
            edges=np.tile(edges, (n_starts, 1, 1)), loadings=params.loadings * edges
        )
    return problem.m_step(problem.e_step(params)[0])


@pytest.mark.parametrize(
    ("options", "holes", "n"),
    [
        ({}, 0.0, 3),
        ({"m": 2}, 0.0, 3),
        ({"m": 2, "tied": False}, 0.2, 3),
        ({"q": 4}, 0.2, 3),
        ({"offset": False}, 0.0, 3),
        ({"q": 1, "m": 2}, 0.0, 20),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_slopes_are_those_of_the_objective(options, holes, n, masked):
    conditional = make_conditional(make_rows(n=n, holes=holes, weighted=True), **options)
    edges = None
    if masked:
        edges = np.random.default_rng(3).random((n, options.get("q", 2))) < 0.6
    params = some_params(conditional, edges)
    slopes, _, _ = conditional.gradient(params)
    place = conditional.to_place(params)

    def value(name, index, step):
        moved = getattr(place, name).copy()
        moved[index] += step
        near = conditional.from_place(place._replace(**{name: moved}), params)
        return conditional.gradient(near)[1][index[0]]

    for name, array in place._asdict().items():
        for index in list(np.ndindex(array.shape))[::3]:
            expected = (value(name, index, 1e-5) - value(name, index, -1e-5)) / 2e-5
            if masked and name == "loadings" and not params.edges[index[0], index[2], index[3]]:
                expected = 0.0  # an edge that is not there stays away
            if name == "offsets" and not options.get("offset", True):
                expected = 0.0
            assert_allclose(getattr(slopes, name)[index], expected, atol=2e-8)


@pytest.mark.parametrize("m", [1, 2])
def test_the_objective_is_that_of_the_slow_twin(m):
    values, codes, y, weight = make_rows(holes=0.2, weighted=True)
    codes[:] = -1  # the slow twin has no discrete columns
    conditional = make_conditional((values, codes, y, weight), m=m, share=0.3, tied=False)
    params = some_params(conditional)
    _, objective, _ = conditional.gradient(params)
    penalty = conditional.labelled.log_prior(params)
    for s in range(2):
        share = np.exp(params.log_weight[s])
        twin = reference.Params(
            share.sum(axis=1),
            share / share.sum(axis=1, keepdims=True),
            params.loadings[s],
            params.offsets[s],
            params.noise[s],
            params.latent_mean[s],
            params.latent_variance[s],
        )
        total = penalty[s]
        for row, label, w in zip(values, y, weight, strict=True):
            joint = np.array([reference.log_joint(twin, row, k) for k in range(3)])
            total += w * (1.3 * joint[label] - np.logaddexp.reduce(joint))
        assert_allclose(objective[s], total / weight.sum(), rtol=1e-9)


def test_steps_raise_the_probability_of_the_labels():
    edges = np.array([[True, False], [True, True], [False, True]])
    conditional = make_conditional(make_rows(60, holes=0.1), m=2, share=0.0, tied=False)
    params = some_params(conditional, edges)
    path = list(islice(climb(params, repeat(conditional)), 41))
    before, after = (conditional.gradient(one)[1] for one in (path[0], path[-1]))
    assert np.all(after > before + 0.01)
    assert_array_equal(path[-1].loadings * ~edges, 0.0)
    assert_allclose(np.exp(path[-1].log_weight).sum(axis=(1, 2)), 1.0)
    assert_allclose(np.exp(path[-1].log_prob[..., 2:]).sum(axis=-1), 1.0)


def test_weight_two_is_the_row_twice():
    values, codes, y, weight = make_rows(holes=0.1)
    weight[::2] = 2.0
    heavy = make_conditional((values, codes, y, weight), m=2)
    params = some_params(heavy)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    plain = make_conditional((values[twice], codes[twice], y[twice], np.ones(len(twice))), m=2)
    for mine, theirs in zip(heavy.gradient(params)[0], plain.gradient(params)[0], strict=True):
        assert_allclose(mine, theirs, atol=1e-9)
