"""Latent classification models of mixed columns, from rows in parts."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass import Parts
from latentclass.estimator._parted import read_parts
from latentclass.lcm._auto_size import Sizes
from latentclass.lcm._hybrid_em import HybridProblem
from latentclass.lcm._hybrid_fit import fit_columns
from latentclass.lcm._hybrid_parted_fit import PartReader, even_classes, promote_parts
from plain import BinaryLCMClassifier, HybridLCMClassifier

QUICK = {"n_init": 2, "tol": 0.02, "predict_method": "bound", "random_state": 0}


pytestmark = pytest.mark.usefixtures("few_steps")


def make_rows(n=500, *, holes=0.05, hidden=0.1, flags=True):
    """Two numbers, a flag written as 3 and 7, and a word; three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    z = rng.normal(size=(n, 2)) + 1.5 * rng.normal(size=(3, 2))[y]
    values = z @ rng.normal(size=(2, 4)) + 0.7 * rng.normal(size=(n, 4))
    X = pd.DataFrame({"a": values[:, 0], "b": np.exp(0.5 * values[:, 1])})
    if flags:
        X["flag"] = np.where(values[:, 2] > 0, 7.0, 3.0)
        X["word"] = np.array(["x", "y", "z"])[np.digitize(values[:, 3], [-0.5, 1.0])]
    X = X.mask(rng.random(X.shape) < holes)
    labels = y.astype(float)
    labels[rng.random(n) < hidden] = np.nan
    return X, labels


def cut(X, y, n_parts, **options):
    return Parts([(X[i::n_parts], y[i::n_parts]) for i in range(n_parts)], **options)


def read(parts):
    parted = read_parts(
        parts,
        categorical_features="from_dtype",
        most_levels=None,
        labelled=True,
        spare=False,
        seed=0,
        n_jobs=None,
        owner="HybridLCMClassifier",
    )
    return promote_parts(parted)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_components": 2, "discriminative": False},
        {"nominal": "softmax", "discriminative": False, "accelerate": False},
        {"select": "accuracy", "power_transform": False, "discriminative": False},
    ],
    ids=str,
)
def test_other_parts_give_the_same_fit(options):
    X, y = make_rows()
    model = HybridLCMClassifier(2, **{"n_components": 1, **QUICK, **options})
    few = model.fit(cut(X, y, 2, sample_rows=200)).predict_proba(X)
    history = model.history_
    assert model.schema_.kinds["flag"] == "binary"
    assert not model.discriminative or len(model.held_out_)
    many = model.fit(cut(X, y, 5, sample_rows=200)).predict_proba(X)
    assert_allclose(many, few, rtol=1e-7, atol=1e-10)
    assert_allclose(model.history_, history, rtol=1e-10)


def test_threads_give_the_same_bits():
    X, y = make_rows()
    one, two = (
        HybridLCMClassifier(2, 1, **QUICK, discriminative=False, n_jobs=n_jobs).fit(
            cut(X, y, 4, sample_rows=200)
        )
        for n_jobs in (None, 2)
    )
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.history_ == two.history_


@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_the_fit_is_near_that_of_one_table(hidden):
    X, y = make_rows(800, hidden=hidden)
    options = QUICK | {"tol": 1e-3, "n_init": 1, "discriminative": False}
    whole = HybridLCMClassifier(2, 1, **options, power_transform=False, unlabelled_weight=1).fit(
        X, y
    )
    found = HybridLCMClassifier(2, 1, **options, power_transform=False, unlabelled_weight=1).fit(
        cut(X, y, 3, sample_rows=400)
    )
    assert np.abs(found.predict_proba(X) - whole.predict_proba(X)).mean() < 0.01
    # EM goes on from where it stopped on the sample, so it comes a little further
    assert found.log_likelihood_ > whole.log_likelihood_
    assert_allclose(found.log_likelihood_, whole.log_likelihood_, rtol=5e-3)


def test_few_rows_are_fitted_as_one_table():
    X, y = make_rows(120)
    whole = HybridLCMClassifier(1, 1, **QUICK).fit(X, y)
    found = HybridLCMClassifier(1, 1, **QUICK).fit(Parts([(X[:50], y[:50]), (X[50:], y[50:])]))
    assert found.schema_.kinds == whole.schema_.kinds
    assert_array_equal(found.predict_proba(X), whole.predict_proba(X))


def test_a_number_that_one_part_alone_holds_keeps_a_column_continuous():
    X, y = make_rows(300)
    X.loc[7, "flag"] = 5.0
    assert read(cut(X, y, 3, sample_rows=40)).sample.schema.kinds["flag"] == "continuous"


def test_continuous_columns_alone_take_gradient_steps_too():
    X, y = make_rows(300, flags=False, hidden=0.0)
    model = HybridLCMClassifier(2, 1, **QUICK)
    few = model.fit(cut(X, y, 2, sample_rows=200)).predict_proba(X)
    assert len(model.held_out_)
    many = model.fit(cut(X, y, 4, sample_rows=200)).predict_proba(X)
    assert_allclose(many, few, rtol=1e-7, atol=1e-10)


def test_bits_in_parts():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    X = rng.random((400, 6)) < np.where(y[:, None] == 1, 0.7, 0.3)
    model = BinaryLCMClassifier(1, n_init=2, discriminative=False, random_state=0)
    few = model.fit(cut(X, y, 2, sample_rows=100)).predict_proba(X)
    many = model.fit(cut(X, y, 4, sample_rows=100)).predict_proba(X)
    assert_allclose(many, few, rtol=1e-8, atol=1e-10)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("unlabelled", [0.0, 0.3])
def test_the_statistics_of_parts_are_those_of_all_rows(unlabelled):
    X, y = make_rows(200, hidden=unlabelled)
    model = HybridLCMClassifier(2, 2, n_init=2, tol=0.1, random_state=0, discriminative=False)
    parted = read(cut(X, y, 4, sample_rows=80))
    whole = model._read_training(X, y, None)
    learned = fit_columns(
        whole,
        model._settings(2, 2),
        lambda: 0,
        sizes=Sizes((2, 2)),
        nominal="stick_breaking",
        power_transform=True,
        discriminative=False,
        predict_method="bound",
        bound_steps=1,
        n_jobs=None,
        on_iteration=None,
    ).model
    reader = PartReader(learned.columns, model._settings(2, 2), 1, 2)
    problem = reader.problem(whole)
    stats, reached = problem.expect(learned.params)
    again, _ = problem.expect(learned.params)
    assert_array_equal(again.gram, stats.gram)
    sent = pickle.loads(pickle.dumps(partial(reader.expect, learned.params)))
    parts = list(parted.map(sent))
    total, value = parts[0]
    for part, more in parts[1:]:
        total, value = problem.add(total, part), value + more
    assert_allclose(value, reached, rtol=1e-12)
    for found, right in zip(total[:6], stats[:6], strict=True):
        assert_allclose(found, right, rtol=1e-9, atol=1e-9)
    # one step at a time, the rows keeping their xi, leads to the same place
    data = problem.data
    kept = HybridProblem(data, 2, 2, problem.tied, problem.prior)
    params = kept.begin(learned.params)
    for _ in range(problem.bound_steps):
        last, value = kept.expect(params)
        params = params._replace(place=last.place)
    assert_allclose(value, reached, rtol=1e-6)
    assert_allclose(last.gram, stats.gram, rtol=1e-4, atol=1e-4)


def test_a_sample_with_too_many_rows_of_a_class_is_evened_out():
    X, y = make_rows(300, hidden=0.1)
    sample = HybridLCMClassifier()._read_training(X, y, None)
    labelled = sample.labelled
    own = np.bincount(sample.y[labelled], minlength=3).astype(float)
    assert even_classes(sample, 10.0 * own) is sample
    even = even_classes(sample, own * [1.0, 1.0, 50.0])
    shares = np.bincount(even.y[labelled], even.weight[labelled])
    assert_allclose(shares / shares.sum(), own * [1, 1, 50] / (own * [1, 1, 50]).sum())
    assert_allclose(even.weight[~labelled], 1.0)
    assert_allclose(even.weight.sum(), 300.0)
