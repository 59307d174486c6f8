"""The values of naive Bayes and its mixtures: frozen, and made of arrays that fit together."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from latentclass import LatentMixture
from plain import FiniteMixtureNaiveBayes, LatentVariableClassifier, MixtureNaiveBayes, NaiveBayes


@pytest.fixture(scope="module")
def table():
    """Two classes, one of them with two humps in the first column; a discrete column; holes."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 60)
    x = np.where(y == "a", rng.normal(0, 1, 120), rng.choice([-3.0, 3.0], 120))
    X = np.column_stack([x + rng.normal(0, 0.3, 120), rng.normal(0, 1, 120)])
    X[rng.random(X.shape) < 0.1] = np.nan
    return np.column_stack([X, rng.integers(0, 2, 120)]), y


ESTIMATORS = [
    NaiveBayes(),
    MixtureNaiveBayes(random_state=0),
    FiniteMixtureNaiveBayes(n_components=2, n_init=2, random_state=0),
    LatentVariableClassifier(None, 2, max_iter=10, n_init=1, random_state=0),
    LatentMixture(2, n_init=2, random_state=0),
]


@pytest.fixture(scope="module")
def fitted(table):
    X, y = table
    models = [clone(one).set_params(categorical_features=[2]).fit(X, y) for one in ESTIMATORS]
    return {type(one).__name__: one for one in models}


@pytest.mark.parametrize("name", [type(one).__name__ for one in ESTIMATORS])
class TestEveryModel:
    def test_it_is_frozen(self, fitted, name):
        value = fitted[name]._model
        for field in fields(value):
            with pytest.raises(FrozenInstanceError):
                setattr(value, field.name, None)

    def test_five_answers_come_from_the_value_alone(self, fitted, table, name):
        """Without schema, labels and estimator."""
        model = fitted[name]
        value, coded = model._model, model.schema_.encode(table[0])

        def posterior(part):
            return np.exp(value.log_posterior(part, value.log_prior, 1.0, None))

        filled = value.expected_cells(coded, posterior, None)
        best = value.most_probable_cells(coded, None)
        drawn = value.sample_table(np.zeros(7, dtype=np.intp), np.random.default_rng(0))
        for found in (filled, best):
            assert found.numeric.shape == (120, 2)
            assert np.isfinite(found.numeric).all()
            assert set(np.unique(found.codes)) <= {0, 1}
        assert drawn.numeric.shape == (7, 2)
        assert value.latent(coded, posterior, None).shape[0] == 120
        assert_allclose(value.log_density(coded, None), model.score_samples(table[0]), rtol=1e-12)

    def test_components_of_another_number_are_refused(self, fitted, name):
        value = fitted[name]._model
        params = value.components.params
        fewer = replace(value.components, params=type(params)(*(a[:1] for a in params)))
        changes = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        with pytest.raises(ValueError, match=r"has shape .*, but the model needs"):
            type(value)(**(changes | {"components": fewer}))


@pytest.mark.parametrize("name", ["NaiveBayes", "MixtureNaiveBayes", "FiniteMixtureNaiveBayes"])
def test_a_class_prior_that_is_no_distribution_is_refused(fitted, name):
    with pytest.raises(ValueError, match=r"^class_prior must be probabilities that sum to 1"):
        replace(fitted[name]._model, class_prior=np.array([0.5, 0.6]))


def test_shares_that_are_no_distribution_are_refused(fitted):
    value = fitted["FiniteMixtureNaiveBayes"]._model
    with pytest.raises(ValueError, match=r"^log_share must be probabilities that sum to 1"):
        replace(value, log_share=value.log_share + 1.0)


def test_mixtures_of_columns_must_fit_their_numbers(fitted):
    value = fitted["MixtureNaiveBayes"]._model
    assert_array_equal(value.mixed, [0])
    assert value.used.shape == (2, 1, value.n_components.max())
    with pytest.raises(ValueError, match=r"^parts.log_weight has shape"):
        replace(value, n_components=np.ones_like(value.n_components))
    bad = value.parts._replace(scale=-value.parts.scale)
    with pytest.raises(ValueError, match=r"^parts.scale must be above 0"):
        replace(value, parts=bad)
