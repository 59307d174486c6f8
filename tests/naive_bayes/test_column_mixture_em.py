"""EM over all rows with mixed columns: the E-step against sums written out."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from latentclass.engine._em import run_restarts
from latentclass.engine._product import Params
from latentclass.naive_bayes._column_mixture import ColumnComponents
from latentclass.naive_bayes._column_mixture_em import (
    ColumnMixtureParams,
    column_mixture_problem,
    matched_params,
)
from latentclass.naive_bayes._labelled_problem import labelled_problem
from plain import MixtureNaiveBayes

NUMBERS = np.array([[2, 1, 1], [1, 1, 3]])
"""Components of three continuous columns in two classes: the first and the last are mixed."""


@pytest.fixture
def training():
    """Rows with missing cells, missing labels, weights and a discrete column."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 3)), 1)
    X[rng.random(X.shape) < 0.15] = np.nan
    X = np.column_stack([X, rng.integers(0, 2, 40)])
    y = np.where(rng.random(40) < 0.4, None, rng.integers(0, 2, 40).astype(object))
    model = MixtureNaiveBayes(categorical_features=[3])
    return model._read_training(X, y, rng.choice([0.5, 1.0, 2.0], 40))


@pytest.fixture
def problem(training):
    whole, labelled = labelled_problem(training, alpha=1.0, prior=2.0, width=6, n_jobs=None)
    return column_mixture_problem(labelled, whole, NUMBERS)


@pytest.fixture
def params(problem):
    rng = np.random.default_rng(1)
    shape = (1, *problem.used.shape)
    share = np.where(problem.used, rng.uniform(0.2, 1.0, shape), 0.0)
    with np.errstate(divide="ignore"):
        log_share = np.log(share / share.sum(axis=-1, keepdims=True))
    return ColumnMixtureParams(
        np.log([[0.3, 0.7]]),
        rng.normal(size=(1, 2, 1)),
        rng.uniform(0.3, 1.0, (1, 2, 1)),
        np.log([[[0.2, 0.8], [0.6, 0.4]]]),
        log_share,
        rng.normal(size=shape) * 0.5,
        rng.uniform(0.3, 1.0, shape),
    )


def slow_joint(training, problem, params, i):
    """P(y) p(x | y) of row i in the data's own units, and each mixed column's shares by class."""
    block = training.table.block(slice(i, i + 1))
    numeric, codes = block.numeric[0], block.codes[0]
    layout = problem.plain.layout
    joint, shares = np.exp(params.log_weight[0]).copy(), {}
    for k in range(2):
        if not np.isnan(numeric[1]):
            value = (numeric[1] - layout.centre[0]) / layout.unit[0]
            density = norm.pdf(value, params.mean[0, k, 0], params.scale[0, k, 0])
            joint[k] *= density / layout.unit[0]
        if codes[0] >= 0:
            joint[k] *= np.exp(params.log_prob[0, k, codes[0]])
        for place, j in enumerate([0, 2]):
            if not np.isnan(numeric[j]):
                value = scaled(training, j)[i]
                weight = np.exp(params.part_log_weight[0, k, place])
                mean, scale = params.part_mean[0, k, place], params.part_scale[0, k, place]
                each = weight * norm.pdf(value, mean, scale)
                shares[k, place] = value, each / each.sum()
                joint[k] *= each.sum() / problem.unit[place]
    return joint, shares


def scaled(training, j):
    """A column in the units of the engine: its range is from -1 to 1."""
    column = training.table.block(slice(None)).numeric[:, j]
    low, high = np.nanmin(column), np.nanmax(column)
    return (column - (low + high) / 2) / ((high - low) / 2)


def test_the_e_step_is_the_sum_over_rows_classes_and_components(training, problem, params):
    stats, objective = problem.e_step(params)
    row_weight, part_weight = np.zeros(2), np.zeros(problem.used.shape)
    first = np.zeros(problem.used.shape)
    total = 0.0
    for i in range(training.table.n_rows):
        joint, shares = slow_joint(training, problem, params, i)
        if training.y[i] >= 0:
            total += training.weight[i] * np.log(joint[training.y[i]])
            posterior = np.eye(2)[training.y[i]]
        else:
            total += training.weight[i] * np.log(joint.sum())
            posterior = joint / joint.sum()
        row_weight += training.weight[i] * posterior
        for (k, place), (value, share) in shares.items():
            part_weight[k, place] += training.weight[i] * posterior[k] * share
            first[k, place] += training.weight[i] * posterior[k] * share * value
    prior = problem.plain.prior
    penalty = -prior.strength * (
        np.log(params.scale[0]) + 0.5 * prior.variance / params.scale[0] ** 2
    )
    penalty = penalty.sum() + prior.alpha * params.log_prob.sum()
    penalty += problem.log_prior(ColumnComponents(*(array[0] for array in params[4:])))
    assert_allclose(stats.row_weight[0], row_weight, rtol=1e-10)
    assert_allclose(stats.part_weight[0], part_weight, rtol=1e-10, atol=1e-12)
    assert_allclose(stats.part_mean[0] * part_weight, first, rtol=1e-9, atol=1e-12)
    assert_allclose(objective[0] * training.weight.sum(), total + penalty, rtol=1e-10)


@pytest.mark.parametrize("accelerate", [False, True])
def test_em_never_lowers_the_objective(problem, params, accelerate):
    result = run_restarts(
        problem, params, tol=0.0, max_iter=30, rngs=[np.random.default_rng(0)],
        accelerate=accelerate,
    )  # fmt: skip
    assert all(new >= old - 1e-12 for old, new in pairwise(result.history))
    assert result.history[-1] > result.history[0]


def test_coordinates_lead_back_to_the_parameters(problem, params):
    back = problem.from_vector(problem.to_vector(params))
    used = problem.used
    for name, array in params._asdict().items():
        found = getattr(back, name)
        if name.startswith("part_"):
            array, found = array[0][used], found[0][used]
        assert_allclose(found, array, rtol=1e-12)
    assert np.all(np.isneginf(back.part_log_weight[0][~used]))


def test_matched_gaussians_have_the_moments_of_the_mixtures(params):
    parts = ColumnComponents(*(array[0] for array in params[4:]))
    other = Params(params.mean[0], params.scale[0], params.log_prob[0])
    found = matched_params(other, parts, np.array([0, 2]))
    assert_allclose(found.mean[:, 1], other.mean[:, 0])
    assert_allclose(found.scale[:, 1], other.scale[:, 0])
    grid = np.linspace(-12, 12, 40_001)
    step = grid[1] - grid[0]
    for k in range(2):
        for place, j in enumerate([0, 2]):
            weight = np.exp(parts.log_weight[k, place])
            each = norm.pdf(grid[:, None], parts.mean[k, place], parts.scale[k, place])
            density = each @ weight
            mean = (grid * density).sum() * step
            variance = ((grid - mean) ** 2 * density).sum() * step
            assert_allclose(found.mean[k, j], mean, atol=1e-9)
            assert_allclose(found.scale[k, j] ** 2, variance, rtol=1e-8)
