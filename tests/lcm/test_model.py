"""The values of fitted latent classification models."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from latentclass.data._schema import Table
from latentclass.lcm._hybrid_model import HybridModel
from latentclass.lcm._model import LCMModel
from plain import HybridLCMClassifier, LCMClassifier


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame({"size": rng.normal(y), "town": np.where(rng.random(60) < 0.5, "A", "B")})
    return X, y


def hybrid(**options):
    return HybridLCMClassifier(2, 1, n_init=2, discriminative=False, random_state=0, **options)


def test_a_table_without_discrete_columns_gets_the_gaussian_model(mixed):
    X, y = mixed
    assert isinstance(hybrid().fit(X, y)._model, HybridModel)
    plain = hybrid(power_transform=False).fit(X[["size"]], y)
    assert isinstance(plain._model, LCMModel)
    assert plain.weights_.shape == (1, 0, 2)
    assert plain.intercepts_.shape == (1, 0)
    assert plain.questions_ == []
    same = LCMClassifier(2, n_init=2, random_state=0).fit(X[["size"]], y)
    assert plain.predict_proba(X[["size"]]).tolist() == same.predict_proba(X[["size"]]).tolist()
    assert plain.loadings_.tolist() == same.loadings_.tolist()


def test_a_fit_after_another_kind_of_table_leaves_nothing_behind(mixed):
    X, y = mixed
    model = HybridLCMClassifier(2, 1, n_init=1, random_state=0).fit(X, y)
    assert hasattr(model, "n_steps_")
    model.set_params(discriminative=False).fit(X[["size"]], y)
    assert not hasattr(model, "n_steps_")
    assert not hasattr(model, "held_out_")


def test_numbers_alone_are_trained_by_gradient_steps_too():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    X[:, 2:] += 3.0 * rng.normal(size=(80, 1))  # what varies most says nothing about the class
    y = (X[:, 0] + 0.4 * X[:, 1] + 0.3 * rng.normal(size=80) > 0).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    plain = HybridLCMClassifier(1, 1, n_init=1, discriminative=False, random_state=0).fit(X, y)
    model = HybridLCMClassifier(1, 1, n_init=1, random_state=0).fit(X, y)
    assert isinstance(model._model, LCMModel)
    assert model.n_steps_ > 0
    assert model.held_out_.min() < model.held_out_[0].min()
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, plain.predict_proba(X)) - 0.05
    # EM is the same
    assert model.history_ == plain.history_
    # the same rows in another order
    order = rng.permutation(80)
    again = HybridLCMClassifier(1, 1, n_init=1, random_state=0).fit(X[order], y[order])
    assert again.n_steps_ == model.n_steps_
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_a_fitted_model_predicts_by_a_new_method(mixed):
    X, y = mixed
    model = hybrid().fit(X, y)
    bound = model.score_samples(X)
    exact = model.set_params(predict_method="quadrature").score_samples(X)
    assert np.all(exact >= bound - 1e-9)
    assert not np.array_equal(exact, bound)
    again = hybrid(predict_method="quadrature").fit(X, y)
    assert again.score_samples(X).tolist() == exact.tolist()
    with pytest.raises(ValueError, match="predict_method='guess' must be one of"):
        model.set_params(predict_method="guess")


def test_values_are_frozen_checked_and_survive_a_pickle(mixed):
    X, y = mixed
    X_iris, y_iris = load_iris(return_X_y=True)
    for model in (
        hybrid().fit(X, y)._model,
        LCMClassifier(2, n_init=2, random_state=0).fit(X_iris, y_iris)._model,
    ):
        with pytest.raises(FrozenInstanceError):
            model.params = None
        params = model.params
        with pytest.raises(ValueError, match="latent_mean has NaN in it"):
            replace(model, params=params._replace(latent_mean=params.latent_mean * np.nan))
        with pytest.raises(ValueError, match="latent_variance has shape"):
            replace(model, params=params._replace(latent_variance=params.latent_variance[:, :1]))
        copy = pickle.loads(pickle.dumps(model))
        assert_allclose(copy.class_prior, model.class_prior, rtol=0)
        assert copy.best.latent_mean.tolist() == model.best.latent_mean.tolist()


def test_label_noise_mixes_the_posterior_with_the_prior_and_leaves_the_density():
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, 1)  # two classes of unequal size
    fitted = LCMClassifier(1, n_init=2, random_state=0).fit(X, y)
    model = fitted._model
    noisy = replace(model, label_noise=0.2)
    table = Table(X, np.empty((len(X), 0), dtype=np.int32))
    evidence, other = model.evidence(table, None), noisy.evidence(table, None)

    def posterior(log):
        joint = np.exp(log + model.log_prior)
        return joint / joint.sum(axis=1, keepdims=True)

    assert_allclose(posterior(other), 0.8 * posterior(evidence) + 0.2 * model.class_prior)
    assert_allclose(noisy.log_density(table, None), model.log_density(table, None))
    without = noisy.without_each(table.block(slice(None)), np.ones(X.shape, dtype=bool))
    hidden = X.copy()
    hidden[:, 2] = np.nan
    alone = noisy.evidence(Table(hidden, table.codes), None)
    assert_allclose(without[:, 2], alone, rtol=1e-6)


def test_samples_of_a_class_have_its_label_noise():
    X = np.repeat([[0.0], [100.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 1))
    fitted = LCMClassifier(1, n_init=1, random_state=0).fit(X, np.repeat([0, 1], 20))
    noisy = replace(fitted._model, label_noise=0.4)
    drawn = noisy.sample_table(np.zeros(4000, dtype=np.intp), np.random.default_rng(0))
    # a fifth: two fifths of the labels are drawn, half of them from the other class
    assert_allclose(np.mean(np.asarray(drawn.numeric) > 50), 0.2, atol=0.02)
