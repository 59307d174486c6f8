"""Latent classification models of rows in parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass import Parts
from latentclass.estimator._gaussian_model import gather, measure, measure_parts
from latentclass.estimator._parted import read_parts
from latentclass.lcm._auto_size import Sizes
from latentclass.lcm._fit import fit_lcm
from latentclass.lcm._parted_fit import PartReader, fit_lcm_parts
from plain import LCMClassifier


def make_rows(n=600, holes=0.1, hidden=0.3):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    z = rng.normal(size=(n, 2)) + 2.0 * rng.normal(size=(3, 2))[y]
    X = z @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(n, 4))
    X[rng.random(X.shape) < holes] = np.nan
    labels = y.astype(float)
    labels[rng.random(n) < hidden] = np.nan
    return X, labels


def cut(X, y, n_parts, **options):
    return Parts([(X[i::n_parts], y[i::n_parts]) for i in range(n_parts)], **options)


def read(parts):
    return read_parts(
        parts,
        categorical_features="from_dtype",
        most_levels=None,
        labelled=True,
        spare=False,
        seed=0,
        n_jobs=None,
        owner="LCMClassifier",
    )


@pytest.mark.parametrize("select", ["average", "likelihood"])
def test_the_linear_model_of_complete_rows_needs_no_sample(select):
    X, y = make_rows(holes=0.0, hidden=0.0)
    options = {"prior": 1.0, "n_init": 3, "random_state": 0, "select": select}
    whole = LCMClassifier(2, **options).fit(X, y)
    found = LCMClassifier(2, **options).fit(cut(X, y, 4, sample_rows=50))
    assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert_allclose(found.history_, whole.history_, rtol=1e-9)
    assert_allclose(found.log_likelihood_, whole.log_likelihood_, rtol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_components": 3},
        {"n_components": 2, "noise": "untied"},
        {"structure": "learned"},
        {"select": "accuracy"},
        {"select": "likelihood", "accelerate": False},
    ],
    ids=str,
)
def test_other_parts_give_the_same_fit(options):
    X, y = make_rows()
    model = LCMClassifier(2, n_init=2, random_state=0, **options, unlabelled_weight=1)
    few = model.fit(cut(X, y, 2, sample_rows=150)).predict_proba(X)
    history = model.history_
    many = model.fit(cut(X, y, 5, sample_rows=150)).predict_proba(X)
    assert_allclose(many, few, rtol=1e-8, atol=1e-10)
    assert_allclose(model.history_, history, rtol=1e-10)
    assert np.all(np.diff(history) >= -1e-12)
    assert_allclose(model.log_likelihood_, LogLikelihood(model).of(X, y), rtol=1e-9)


class LogLikelihood:
    """log p(x, y) of labelled rows and log p(x) of the others, from the model's own answers."""

    def __init__(self, model):
        # the record describes the best of the starts, so it is asked alone
        self.model = LCMClassifier(2, n_init=1, random_state=0)
        self.model.__dict__.update(vars(model))
        params = model._model.params
        best = type(params)(*(array[:1] for array in params))
        self.model._model = type(model._model)(
            model._model.scaling, model._model.level_offsets, best
        )

    def of(self, X, y):
        joint = self.model.predict_joint_log_proba(X)
        known = ~np.isnan(y)
        own = joint[np.flatnonzero(known), y[known].astype(int)].sum()
        return own + np.logaddexp.reduce(joint[~known], axis=1).sum()


@pytest.mark.parametrize("n_components", [1, 3])
def test_the_moments_of_parts_are_those_of_all_rows(n_components):
    X, y = make_rows()
    model = LCMClassifier(2, n_components, n_init=2, random_state=0)
    settings = model._settings(2, n_components)
    parted = read(cut(X, y, 4, sample_rows=100))
    measured = measure_parts(parted)
    whole = model._read_training(X, y, None)
    expected = measure(whole, None)
    for found, right in zip(measured.scaling, expected.scaling, strict=True):
        assert_allclose(found, right, rtol=1e-12)
    assert_allclose(measured.outside, expected.outside, rtol=1e-12)
    params = fit_lcm(
        parted.sample, measured, settings, lambda: 0, n_jobs=None, on_iteration=None
    ).model.params
    reader = PartReader(measured, settings, 2)
    data = gather(whole, measured, one_component=n_components == 1, width=2, rank=2, n_jobs=None)
    problem = reader.problem(data)
    stats, log_likelihood = problem.expect(params)
    total, reached = None, 0.0
    for part, gained in parted.map(lambda part: reader.expect(params, part)):
        total, reached = part if total is None else problem.add(total, part), reached + gained
    assert_allclose(reached, log_likelihood, rtol=1e-12)
    for found, right in zip(total, stats, strict=True):
        assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_few_rows_are_fitted_as_one_table():
    X, y = make_rows(200)
    whole = LCMClassifier(2, 2, n_init=2, random_state=0).fit(X, y).predict_proba(X)
    parts = Parts([(X[:50], y[:50]), (X[50:], y[50:])])
    found = LCMClassifier(2, 2, n_init=2, random_state=0).fit(parts).predict_proba(X)
    assert_array_equal(found, whole)


def test_discrete_columns_are_counted_in_all_parts():
    X, y = make_rows()
    words = np.array(["a", "b", "c"], dtype=object)[np.nan_to_num(y, nan=0).astype(int)]
    mixed = np.column_stack([X.astype(object), words])
    settings = LCMClassifier(2, n_init=1, random_state=0)._settings(2, 1)
    one, other = (
        fit_lcm_parts(
            read(cut(mixed, y, k, sample_rows=100)),
            settings,
            lambda: 0,
            sizes=Sizes((2, 1)),
            power_transform=False,
            discriminative=False,
            on_iteration=None,
        )
        for k in (2, 3)
    )
    assert_allclose(one.record.log_likelihood, other.record.log_likelihood, rtol=1e-12)
