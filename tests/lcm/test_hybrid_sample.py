"""Samples and batches of rows for the fit of mixed columns."""

from itertools import islice
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from latentclass.lcm import _hybrid_sample as sample
from latentclass.lcm import _steps
from latentclass.lcm._hybrid_sample import RowDealer
from plain import HybridLCMClassifier


def make_table(n_rows=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    first = rng.normal(y, 1.0)
    table = {"x": first, "word": np.array(["a", "b", "c"])[np.digitize(first, [0.0, 1.0])]}
    labels = y.astype(float)
    labels[rng.random(n_rows) < 0.1] = np.nan
    return pd.DataFrame(table), labels


def deal(X, labels, weight=None):
    training = HybridLCMClassifier()._read_training(X, labels, weight)
    return RowDealer.of(training, training.table.codes, 0)


@pytest.fixture
def small(monkeypatch):
    """Limits that a few hundred rows pass."""
    monkeypatch.setattr(sample, "SAMPLE", 50.0)
    monkeypatch.setattr(_steps, "MOST_BATCH", 90.0)
    monkeypatch.setattr(sample, "MANY", 200.0)


def test_few_rows_are_one_batch_and_no_sample():
    dealer = deal(*make_table())
    assert dealer.sample() is None
    share = dealer.beside(np.zeros(400))
    assert share.tolist() == [1.0] * 400
    one, two = islice(dealer.batches(share, 10_000.0), 2)
    assert one is two
    assert one.labelled.all()
    assert len(one.y) == np.count_nonzero(dealer.training.labelled)


def test_many_rows_are_sampled_and_dealt_out(small):
    X, labels = make_table()
    dealer = deal(X, labels)
    assert_allclose(dealer.sample().weight.sum(), 50.0, atol=3.0)
    held = dealer.held_out()[0]
    share = dealer.beside(held)
    assert np.all(share + held <= 1.0)
    assert_allclose(share.sum(), 50.0, atol=5.0)
    # 360 labelled rows are four batches; the fifth is the first again
    batches = list(islice(dealer.batches(np.ones(400), 90.0), 5))
    assert_allclose([batch.weight.sum() for batch in batches], 90.0, atol=6.0)
    rows = [set(batch.table.numeric[:, 0].tolist()) for batch in batches]
    assert rows[0] == rows[4]
    every = set(X["x"][~np.isnan(labels)])
    assert set.union(*rows[:4]) == every
    assert sum(map(len, rows[:4])) == len(every)


def test_a_fit_to_many_rows_does_not_depend_on_their_order(small, few_steps):
    X, labels = make_table()
    options = {"n_init": 3, "max_iter": 6, "tol": 0.1, "random_state": 0}
    options["unlabelled_weight"] = 1.0
    one = HybridLCMClassifier(1, 1, **options).fit(X, labels)
    turned = np.random.default_rng(1).permutation(400)
    two = HybridLCMClassifier(1, 1, **options).fit(X.iloc[turned], labels[turned])
    assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-6)
    assert one.n_steps_ == two.n_steps_
    assert_allclose(one.held_out_, two.held_out_, rtol=1e-6)


@pytest.mark.parametrize(("row_numbers", "weight"), [(1, 9.0), (10, 5.0), (1000, 2.0)])
def test_dear_rows_have_small_batches(row_numbers, weight, monkeypatch):
    for name, value in (("BATCH_NUMBERS", 100), ("LEAST_BATCH", 2.0), ("MOST_BATCH", 9.0)):
        monkeypatch.setattr(_steps, name, value)
    dealer = deal(*make_table())
    given = []

    def batches(keep, weight):
        given.append((keep.sum(), weight))
        return iter(())

    fit = SimpleNamespace(row_numbers=row_numbers, climb=lambda *_: iter(()))
    two_classes = SimpleNamespace(training=dealer.training, batches=batches)
    assert dealer.training.n_classes == 2
    _steps.climb_rows(fit, two_classes, np.ones(400), ())
    assert given == [(400.0, weight)]
