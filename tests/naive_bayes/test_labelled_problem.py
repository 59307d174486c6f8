"""The EM problem of labelled and unlabelled rows, against sums written out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.naive_bayes._labelled_problem import (
    class_stats,
    labelled_problem,
    labelled_starts,
    measure_columns,
    observed_columns,
)
from plain import NaiveBayes


@pytest.fixture
def training():
    """Rows with missing cells, missing labels and weights."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(5.0, 2.0, 50),
            "town": rng.choice(["Oslo", "Rome", "Bonn"], 50),
            "width": rng.uniform(-1.0, 1.0, 50),
        }
    ).mask(rng.random((50, 3)) < 0.15)
    y = np.where(rng.random(50) < 0.3, None, rng.choice(["a", "b"], 50).astype(object))
    return NaiveBayes()._read_training(X, y, rng.choice([0.5, 1.0, 3.0], 50))


def solve(training, **settings):
    chosen = {"alpha": 1.0, "prior": 2.0, "width": 1, "n_jobs": None} | settings
    return labelled_problem(training, **chosen)


def test_columns_are_measured_by_their_range(training):
    layout = measure_columns(training.table, training.schema.n_levels)
    numeric = training.table.block(slice(None)).numeric
    low, high = np.nanmin(numeric, axis=0), np.nanmax(numeric, axis=0)
    assert_allclose(layout.centre - layout.unit, low, rtol=1e-12, atol=1e-12)
    assert_allclose(layout.centre + layout.unit, high, rtol=1e-12)
    assert_array_equal(layout.offsets, [0, 3])


def test_statistics_of_the_classes_are_sums_over_their_rows(training):
    problem, labelled = solve(training)
    stats = class_stats(labelled, problem.layout, None)
    assert labelled.labelled.all()
    numeric, codes = labelled.table.block(slice(None))
    scaled = (numeric - problem.layout.centre) / problem.layout.unit
    for k in range(2):
        own = labelled.y == k
        assert_allclose(problem.known_rows[k], labelled.weight[own].sum())
        for j in range(2):
            rows = own & ~np.isnan(scaled[:, j])
            weight, values = labelled.weight[rows], scaled[rows, j]
            mean = np.average(values, weights=weight)
            assert_allclose(stats.weight[k, j], weight.sum(), rtol=1e-12)
            assert_allclose(stats.mean[k, j], mean, rtol=1e-10)
            assert_allclose(stats.scatter[k, j], weight @ (values - mean) ** 2, rtol=1e-10)
        for level in range(3):
            expected = labelled.weight[own & (codes[:, 0] == level)].sum()
            assert_allclose(stats.counts[k, level], expected, rtol=1e-12)


def test_the_prior_has_the_variance_of_all_rows(training):
    """Unlabelled rows included."""
    problem, _ = solve(training)
    numeric = training.table.block(slice(None)).numeric
    scaled = (numeric - problem.layout.centre) / problem.layout.unit
    for j in range(2):
        rows = ~np.isnan(scaled[:, j])
        weight, values = training.weight[rows], scaled[rows, j]
        mean = np.average(values, weights=weight)
        assert_allclose(problem.prior.mean[j], mean, rtol=1e-10)
        variance = np.average((values - mean) ** 2, weights=weight)
        assert_allclose(problem.prior.variance[j], variance, rtol=1e-10)
    assert problem.prior.strength == 2.0
    assert solve(training, prior=None)[0].prior.strength == 0.0


def test_rows_without_label_are_in_the_blocks(training):
    problem, _ = solve(training)
    weight = np.concatenate([weight for _, weight in problem.blocks])
    assert_array_equal(weight, training.weight[~training.labelled])
    known = training.take(training.labelled)
    assert not solve(known)[0].blocks
    assert_allclose(problem.total_weight, training.weight.sum())


def test_the_first_start_is_the_estimate_of_the_labelled_rows(training):
    problem, labelled = solve(training)
    rngs = [np.random.default_rng(seed) for seed in range(3)]
    starts = labelled_starts(problem, labelled, rngs)
    alone, _ = solve(labelled, prior=None, alpha=0.0)
    first = alone.m_step(alone.e_step(labelled_starts(alone, labelled, rngs[:1]))[0])
    found, _ = solve(training, prior=None, alpha=0.0)
    mine = labelled_starts(found, labelled, rngs[:1])
    centre, unit = found.layout.centre, found.layout.unit
    expected = alone.layout.centre + alone.layout.unit * first.mean[0]
    assert_allclose(centre + unit * mine.mean[0], expected, rtol=1e-9)
    assert_allclose(np.exp(mine.log_weight), np.exp(first.log_weight), rtol=1e-12)
    assert starts.mean.shape == (3, 2, 2)
    assert not np.allclose(starts.mean[1], starts.mean[0])


def test_a_class_without_a_row_can_start_anywhere(training):
    """As in a fold of `calibrate`."""
    part = training.take(training.y != 0)
    problem, labelled = solve(part)
    starts = labelled_starts(problem, labelled, [np.random.default_rng(0)] * 2)
    assert np.isneginf(starts.log_weight[:, 0]).all()
    assert np.isfinite(starts.mean).all()


def test_observed_columns_have_a_value_somewhere():
    X = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, np.nan]])
    with pytest.warns(UserWarning, match="have no value in any row"):
        training = NaiveBayes()._read_training(X, ["a", "b"], None)
    assert observed_columns(training.schema).tolist() == [True, False, True]
