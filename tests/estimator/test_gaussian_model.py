"""The value of Gaussian models against loops over rows, classes and components."""

import tracemalloc
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

from latentclass import LCMClassifier
from latentclass.data._schema import Block, Table
from latentclass.engine import _class_components as engine
from latentclass.engine import _gaussian as gaussian
from latentclass.estimator._gaussian_model import (
    ColumnSums,
    GaussianModel,
    Scaling,
    flatten_starts,
    gather,
    measure,
)

OFFSETS = np.array([0, 3, 5])
N_CLASSES, N_COMPONENTS, N = 3, 2, 2


def make_model(n_starts=2, seed=0):
    """A model of two columns that vary, one constant one, and two discrete columns."""
    rng = np.random.default_rng(seed)
    shape = (n_starts, N_CLASSES, N_COMPONENTS)
    root = rng.normal(size=(*shape, N, N))
    covariance = root @ np.swapaxes(root, -2, -1) + np.eye(N)
    log_weight = np.log(rng.dirichlet(np.ones(N_CLASSES * N_COMPONENTS), n_starts))
    tables = [np.log(rng.dirichlet(np.ones(r), shape[:2])) for r in np.diff(OFFSETS)]
    components = engine.ClassComponents(
        np.zeros(n_starts, dtype=np.intp),
        log_weight.reshape(shape),
        gaussian.from_covariance(rng.normal(size=(*shape, N)), covariance),
        np.concatenate(tables, axis=-1),
    )
    varies = np.array([True, False, True])
    scaling = Scaling(varies, ~varies, np.array([1.0, 7.0, -2.0]), np.array([2.0, 0.5, 10.0]))
    return GaussianModel(scaling, OFFSETS, components)


def make_rows(n_rows=12, seed=1):
    rng = np.random.default_rng(seed)
    numeric = np.array([1.0, 7.0, -2.0]) + np.array([2.0, 0.0, 10.0]) * rng.normal(size=(n_rows, 3))
    numeric[rng.random(numeric.shape) < 0.3] = np.nan
    codes = np.stack([rng.integers(-1, r, n_rows) for r in np.diff(OFFSETS)], axis=1)
    return Table(numeric, codes.astype(np.int32))


def slow_joint(model, row, codes):
    """log p(observed cells, class, component) of one row, shape (S, Y, M)."""
    components, scaling = model.components, model.scaling
    joint = components.log_weight.copy()
    shown = np.flatnonzero(~np.isnan(row[scaling.varies]))
    unit, centre = scaling.unit[scaling.varies], scaling.centre[scaling.varies]
    for place in np.ndindex(*joint.shape):
        if shown.size:
            mean = (centre + unit * components.gaussians.mean[place])[shown]
            covariance = unit[:, None] * components.gaussians.covariance[place] * unit
            block = covariance[np.ix_(shown, shown)]
            joint[place] += multivariate_normal(mean, block).logpdf(row[scaling.varies][shown])
        for j, level in enumerate(codes):
            if level >= 0:
                joint[place] += components.log_prob[place[0], place[1], OFFSETS[j] + level]
        if not np.isnan(row[1]):
            joint[place] += multivariate_normal(7.0, 0.25).logpdf(row[1])
    return joint


@pytest.mark.parametrize("n_starts", [1, 2])
def test_posteriors_are_averaged_and_densities_mixed(n_starts):
    model, table = make_model(n_starts), make_rows()
    found = model.log_likelihood(Block(table.numeric, table.codes)) + model.log_prior
    for r in range(table.n_rows):
        joint = logsumexp(slow_joint(model, table.numeric[r], table.codes[r]), axis=2)
        posterior = softmax(joint, axis=1).mean(axis=0)
        density = np.exp(logsumexp(joint, axis=1)).mean()
        assert_allclose(found[r], np.log(posterior) + np.log(density), rtol=1e-9)
    prior = np.exp(model.components.log_weight).sum(axis=2).mean(axis=0)
    assert_allclose(model.class_prior, prior, rtol=1e-12)


@pytest.mark.parametrize("n_starts", [1, 2])
def test_missing_cells_get_their_mean(n_starts):
    model, table = make_model(n_starts), make_rows()
    filled = model.expected_cells(table, lambda _: pytest.fail("is not needed"), None)
    unit = model.scaling.unit[model.scaling.varies]
    centre = model.scaling.centre[model.scaling.varies]
    levels = np.exp(np.stack([one[:, :3] for one in model.components.log_prob])).mean(axis=0)
    for r in range(table.n_rows):
        row = table.numeric[r]
        # the starts as components of one model, with the tables averaged over the starts
        flat = replace(model, components=flatten_starts(model.components))
        share = softmax(slow_joint(flat, row, table.codes[r]))
        values = row[model.scaling.varies]
        hidden, shown = np.flatnonzero(np.isnan(values)), np.flatnonzero(~np.isnan(values))
        mean = np.zeros(N)
        for place in np.ndindex(*share.shape):
            one = centre + unit * flat.components.gaussians.mean[place]
            covariance = unit[:, None] * flat.components.gaussians.covariance[place] * unit
            gain = covariance[np.ix_(hidden, shown)] @ np.linalg.inv(
                covariance[np.ix_(shown, shown)]
            )
            guess = np.where(np.isnan(values), one, values)
            guess[hidden] += gain @ (values - one)[shown]
            mean += share[place] * guess
        assert_allclose(filled.numeric[r, model.scaling.varies], mean, rtol=1e-8)
        assert filled.codes[r, 0] == (share.sum(axis=(0, 2)) @ levels).argmax()
    assert np.all(filled.numeric[:, 1] == 7.0)


def test_the_most_probable_cells_of_one_component_are_its_mode():
    model = make_model(1)
    one = model.components
    alone = engine.ClassComponents(
        one.weighting,
        np.zeros((1, 1, 1)),
        gaussian.Gaussians(*(array[:, :1, :1] for array in one.gaussians)),
        one.log_prob[:, :1],
    )
    model = replace(model, components=alone)
    nothing = Table(np.full((1, 3), np.nan), np.full((1, 2), -1, dtype=np.int32))
    filled = model.most_probable_cells(nothing, None)
    expected = model.scaling.restore(alone.gaussians.mean[0, 0])[0]
    assert_allclose(filled.numeric[0], expected)
    log_prob = alone.log_prob[0, 0]
    assert filled.codes[0].tolist() == [log_prob[:3].argmax(), log_prob[3:].argmax()]


def test_samples_have_the_moments_of_their_class():
    model = make_model(2)
    drawn = model.sample_table(np.full(40_000, 1), np.random.default_rng(0))
    flat = flatten_starts(model.components)
    share = softmax(flat.log_weight[0, 1])
    mean = share @ flat.gaussians.mean[0, 1]
    assert_allclose(model.scaling.values(drawn.numeric).mean(axis=0), mean, atol=0.06)
    levels = np.bincount(drawn.codes[:, 0], minlength=3) / 40_000
    assert_allclose(levels, np.exp(model.level_log_probs[0][1]), atol=0.01)


def test_a_model_is_frozen_and_checked_when_it_is_made():
    model = make_model()
    with pytest.raises(FrozenInstanceError):
        model.level_offsets = OFFSETS
    components = model.components
    gaussians = components.gaussians
    broken = components._replace(gaussians=gaussians._replace(mean=gaussians.mean * np.nan))
    with pytest.raises(ValueError, match="mean has NaN in it"):
        replace(model, components=broken)
    with pytest.raises(ValueError, match=r"log_prob has shape \(2, 3, 5\), but the model needs"):
        replace(model, level_offsets=np.array([0, 3]))
    heavy = components._replace(log_weight=components.log_weight + 1.0)
    with pytest.raises(ValueError, match="priors must be probabilities that sum to 1"):
        replace(model, components=heavy)


# ------------------------------------------------------------------- columns


def read(X, y, weight=None):
    return LCMClassifier()._read_training(X, y, weight)


def test_columns_are_measured_by_the_weighted_cells_that_are_seen():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(5, 2, 40), np.full(40, 3.0), 1e6 + rng.normal(size=40)])
    X[rng.random(40) < 0.3, 0] = np.nan
    weight = rng.integers(1, 4, 40)
    measured = measure(read(X, np.arange(40) % 2, weight), None)
    copied = np.repeat(X, weight, axis=0)
    scaling = measured.scaling
    assert scaling.varies.tolist() == [True, False, True]
    assert scaling.constant.tolist() == [False, True, False]
    assert_allclose(scaling.centre[[0, 2]], np.nanmean(copied[:, [0, 2]], axis=0), rtol=1e-12)
    assert_allclose(scaling.unit[[0, 2]], np.nanstd(copied[:, [0, 2]], axis=0), rtol=1e-7)
    assert measured.level_offsets.tolist() == [0]
    outside = scaling.log_density_outside(X) @ weight
    assert_allclose(measured.outside, outside, rtol=1e-10)
    assert_allclose(scaling.restore(scaling.values(X))[:, [0, 2]], X[:, [0, 2]], rtol=1e-12)


def test_a_spread_that_is_lost_to_rounding_has_a_floor():
    sums = ColumnSums(*(np.array([v]) for v in (0.0, 1.0, 1e20, 1.0, 1.0)))
    assert 0 < sums.spread[0] < 1e-6
    assert sums.scaling(np.array([True])).varies[0]


@pytest.mark.parametrize("one_component", [True, False])
def test_gathered_rows_hold_all_rows(one_component):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.where(rng.random(50) < 0.2, None, (np.arange(50) % 2).astype(object))
    training = read(X, y)
    measured = measure(training, None)
    data = gather(training, measured, one_component=one_component, width=1, n_jobs=None)
    complete = training.labelled & ~np.isnan(X).any(axis=1)
    in_sums = complete.sum() if one_component else 0
    assert data.known.weight.sum() == in_sums
    assert sum(len(group.rows) for group in data.groups) == 50 - in_sums
    assert data.total_weight[0] == 50
    if one_component:
        values = measured.scaling.values(X)[complete & (training.y == 1)]
        assert_allclose(data.known.total[0, 1], values.sum(axis=0))


def test_the_sums_of_blocks_are_not_kept(monkeypatch):
    """Forty blocks, whose sums of products take 0.3 MB each."""
    monkeypatch.setattr("latentclass.estimator._gaussian_model.MOST_CELLS", 1)
    monkeypatch.setattr("latentclass.data._schema.BLOCK_CELLS", 2**10)
    rng = np.random.default_rng(5)
    training = read(rng.normal(size=(640, 100)), np.arange(640) % 4)
    measured = measure(training, None)
    assert len(training.table.spans()) == 40
    tracemalloc.start()
    gather(training, measured, one_component=True, width=1, rank=2, n_jobs=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 4 * 100**2 * 8


@pytest.mark.parametrize("n_starts", [1, 2])
def test_without_each_column_is_the_row_with_that_cell_missing(n_starts):
    model, table = make_model(n_starts), make_rows()
    table.numeric[3] = [1e9, 7.0, -2.0]  # a difference would have no digits left
    table.numeric[4, 1] = 9.0
    block = table.block(slice(None))
    answer = model.without_each(block, block.shown)
    for row, j in np.argwhere(block.shown):
        hidden = np.arange(5) == j
        alone = block.copies_without(np.array([row]), hidden[None])
        assert_allclose(answer[row, j], model.log_likelihood(alone)[0], rtol=1e-11)


def test_without_each_column_needs_no_column_that_varies():
    model = make_model(1)
    flat = np.zeros(3, dtype=bool)
    scaling = model.scaling._replace(varies=flat, constant=~flat)
    gaussians = gaussian.from_covariance(np.zeros((1, 3, 2, 0)), np.zeros((1, 3, 2, 0, 0)))
    model = replace(
        model, scaling=scaling, components=model.components._replace(gaussians=gaussians)
    )
    block = make_rows().block(slice(None))
    answer = model.without_each(block, block.shown)
    copies = block.copies_without(np.arange(12), np.arange(5) == np.full((12, 1), 3))
    rows = block.shown[:, 3]
    assert_allclose(answer[rows, 3], model.log_likelihood(copies)[rows], rtol=1e-12)
