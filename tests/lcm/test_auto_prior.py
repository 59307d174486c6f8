"""The strength of the prior that held-out rows choose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from latentclass import LCMClassifier, LCMClassifierCV
from latentclass.estimator import _tuning
from latentclass.lcm import _auto_prior
from latentclass.lcm._auto_prior import STRONG, USUAL


def shifted(n_rows, shift, n_columns=8, seed=0):
    """Independent columns, each of whose means differs a little between two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    return rng.normal(size=(n_rows, n_columns)) + shift * y[:, None], y


def log_loss(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].mean()


def test_independent_columns_and_few_rows_get_the_strong_prior():
    X, y = shifted(40, 0.5)
    new, labels = shifted(2000, 0.5, seed=1)
    usual, chosen = (
        LCMClassifier(3, prior=prior, random_state=0).fit(X, y) for prior in (USUAL, "auto")
    )
    assert (usual.prior_, chosen.prior_) == (USUAL, STRONG)
    assert log_loss(chosen, new, labels) < log_loss(usual, new, labels) - 0.02


def test_columns_that_depend_on_each_other_keep_the_usual_prior():
    """Only the difference of two columns tells the classes apart."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    common = 3.0 * rng.normal(size=60)
    X = np.column_stack([common + y, common - y]) + 0.3 * rng.normal(size=(60, 2))
    assert LCMClassifier(2, random_state=0).fit(X, y).prior_ == USUAL


@pytest.mark.parametrize("prior", [USUAL, STRONG])
def test_the_chosen_model_is_the_one_with_that_prior(monkeypatch, prior):
    monkeypatch.setattr(_auto_prior, "ERRORS", -np.inf if prior == STRONG else np.inf)
    X, y = load_iris(return_X_y=True)
    options = {"n_latent": 2, "n_init": 2, "random_state": 0, "calibrate": False}
    chosen = LCMClassifier(**options, prior="auto").fit(X, y)
    given = LCMClassifier(**options, prior=prior).fit(X, y)
    assert chosen.prior_ == given.prior_ == prior
    assert chosen.predict_proba(X).tolist() == given.predict_proba(X).tolist()
    assert chosen.history_ == given.history_


@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_the_folds_that_chose_give_the_temperature(monkeypatch, hidden):
    """The same as those of a model with that prior, but without further fits."""
    X, y = shifted(60, 0.5)
    y = np.where(np.random.default_rng(1).random(60) < hidden, np.nan, y)
    options = {"n_latent": 2, "n_init": 3, "unlabelled_weight": 1.0, "random_state": 0}
    chosen = LCMClassifier(**options).fit(X, y)
    given = LCMClassifier(**options, prior=chosen.prior_).fit(X, y)
    assert_allclose(chosen.temperature_, given.temperature_, rtol=1e-6)
    assert_allclose(chosen.predict_proba(X), given.predict_proba(X), rtol=1e-6)


def test_weight_two_is_the_row_twice_and_the_order_of_rows_does_not_matter():
    X, y = shifted(50, 0.5)
    whole = LCMClassifier(2, n_init=2, random_state=0).fit(np.vstack([X, X]), np.tile(y, 2))
    twice = LCMClassifier(2, n_init=2, random_state=0).fit(X, y, sample_weight=np.full(50, 2.0))
    order = np.random.default_rng(0).permutation(50)
    mixed = LCMClassifier(2, n_init=2, random_state=0).fit(
        X[order], y[order], sample_weight=np.full(50, 2.0)
    )
    assert whole.prior_ == twice.prior_ == mixed.prior_
    assert_allclose(whole.predict_proba(X), twice.predict_proba(X), rtol=1e-5, atol=1e-8)
    assert_allclose(mixed.predict_proba(X), twice.predict_proba(X), rtol=1e-5, atol=1e-8)


def test_nothing_is_compared_where_no_rows_can_be_held_out():
    X, y = shifted(2, 0.5)
    assert LCMClassifier(1, random_state=0).fit(X, y).prior_ == USUAL
    X, y = shifted(40, 0.5)
    assert LCMClassifier(1, discriminative=True, random_state=0).fit(X, y).prior_ == USUAL
    assert LCMClassifier(1, random_state=0).partial_fit(X, y).prior_ == USUAL


@pytest.mark.parametrize("most", [30, 79, 80])
def test_of_many_rows_a_sample_is_compared_and_weight_two_is_the_row_twice(monkeypatch, most):
    monkeypatch.setattr(_tuning, "MOST_ROWS", most)
    X, y = shifted(80, 0.5)
    twice = LCMClassifier(3, n_init=2, random_state=0).fit(X, y, sample_weight=np.full(80, 2.0))
    whole = LCMClassifier(3, n_init=2, random_state=0).fit(np.vstack([X, X]), np.tile(y, 2))
    assert whole.prior_ == twice.prior_
    assert_allclose(whole.temperature_, twice.temperature_, rtol=1e-6)


def test_few_distinct_rows_of_much_weight_are_compared():
    X, y = shifted(60, 0.5)
    model = LCMClassifier(3, random_state=0).fit(X, y, sample_weight=np.full(60, 1000.0))
    assert model.calibration_


def test_a_temperature_is_that_of_the_prior_of_the_fit():
    X, y = shifted(60, 0.5)
    y = np.where(np.arange(60) % 5 < 3, np.nan, y)
    for seed in range(6):
        options = {"n_latent": 2, "n_init": 2, "calibrate": True, "random_state": seed}
        chosen = LCMClassifier(**options).fit(X, y)
        given = LCMClassifier(
            **options, prior=chosen.prior_, unlabelled_weight=chosen.unlabelled_weight_
        ).fit(X, y)
        assert_allclose(chosen.temperature_, given.temperature_, rtol=1e-6)


def test_other_words_are_refused():
    X, y = shifted(20, 0.5)
    with pytest.raises(
        ValueError, match="prior='strong' must be 'auto', a number of at least 0, or None"
    ):
        LCMClassifier(prior="strong").fit(X, y)
    with pytest.raises(ValueError, match="prior='auto' must be a number"):
        LCMClassifierCV(prior="auto").fit(X, y)
