"""The value of the latent variable classifier, against sums over models, components and classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from latentclass.data._schema import Block, Table
from latentclass.engine._product import Layout, Params
from latentclass.mixture._classifier_model import LatentVariableModel, NaiveBayesClassifiers
from latentclass.naive_bayes._components import ProductComponents

LAYOUT = Layout(np.zeros(2), np.ones(2), np.array([0, 2]))
N_MODELS, K, Y = 2, 2, 3


def make_components(n, rng):
    """Two continuous columns and one of two levels."""
    probabilities = rng.dirichlet(np.ones(2), n)
    params = Params(rng.normal(size=(n, 2)), rng.uniform(0.5, 1.5, (n, 2)), np.log(probabilities))
    return ProductComponents(params, LAYOUT, np.array([True, True]))


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    return LatentVariableModel(
        make_components(N_MODELS * K, rng),
        np.log(rng.dirichlet(np.ones(K), N_MODELS)),
        NaiveBayesClassifiers(
            np.log(rng.dirichlet(np.ones(Y), (N_MODELS, K))),
            make_components(N_MODELS * K * Y, rng),
        ),
    )


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    numeric, codes = rng.normal(size=(6, 2)), rng.integers(-1, 2, (6, 1)).astype(np.int32)
    numeric[2, 0] = numeric[4, 1] = np.nan
    return Table(numeric, codes)


def density(components, k, numeric, code):
    """p(observed cells | component k)."""
    params, out = components.params, 1.0
    for j, x in enumerate(numeric):
        if not np.isnan(x):
            out *= norm.pdf(x, params.mean[k, j], params.scale[k, j])
    return out * (np.exp(params.log_prob[k, code]) if code >= 0 else 1.0)


def by_hand(model, numeric, code):
    """P(y | x) and p(x) of each model, for one row."""
    posterior, size = np.zeros((N_MODELS, Y)), np.zeros(N_MODELS)
    for m in range(N_MODELS):
        for c in range(K):
            weight = np.exp(model.log_weight[m, c])
            weight *= density(model.components, m * K + c, numeric, code)
            given = np.array(
                [
                    np.exp(model.classifiers.log_class[m, c, y])
                    * density(model.classifiers.components, (m * K + c) * Y + y, numeric, code)
                    for y in range(Y)
                ]
            )
            posterior[m] += weight * given / given.sum()
            size[m] += weight
    return posterior / size[:, None], size


def test_posterior_and_density_are_means_over_the_models(model, table):
    found = np.exp(model.log_posterior(table, model.log_prior, 1.0, None))
    log_density = model.log_density(table, None)
    for r in range(6):
        posterior, size = by_hand(model, table.numeric[r], table.codes[r, 0])
        assert_allclose(found[r], posterior.mean(axis=0), rtol=1e-10)
        assert_allclose(np.exp(log_density[r]), size.mean(), rtol=1e-10)


def test_the_class_prior_is_the_mean_of_the_models_priors(model):
    shares = np.exp(model.classifiers.log_class)
    expected = [
        sum(np.exp(model.log_weight[m, c]) * shares[m, c] for c in range(K))
        for m in range(N_MODELS)
    ]
    assert_allclose(model.class_prior, np.mean(expected, axis=0), rtol=1e-12)
    assert_allclose(model.class_prior.sum(), 1.0, rtol=1e-14)


def test_latent_is_the_posterior_of_the_best_models_components(model, table):
    found = model.latent(table, lambda part: pytest.fail(f"{part} not needed"), None)
    order = np.argsort(-model.log_weight[0])
    for r in range(6):
        joint = [
            np.exp(model.log_weight[0, c])
            * density(model.components, c, table.numeric[r], table.codes[r, 0])
            for c in order
        ]
        assert_allclose(found[r], np.array(joint) / sum(joint), rtol=1e-10)
    assert model.latent_names(["a", "b", "c"], ["x"]) == ["0", "1"]


def test_expected_cells_are_means_over_all_components(model, table):
    """No posterior of the classes is needed."""
    filled = model.expected_cells(table, lambda part: pytest.fail(f"{part} not needed"), None)
    for r in range(6):
        share = [
            np.exp(model.log_weight[m, c])
            * density(model.components, m * K + c, table.numeric[r], table.codes[r, 0])
            for m in range(N_MODELS)
            for c in range(K)
        ]
        share = np.array(share) / sum(share)
        assert_allclose(filled.numeric[r], share @ model.components.params.mean, rtol=1e-10)
        level = np.argmax(share @ np.exp(model.components.params.log_prob))
        assert filled.codes[r, 0] == level


def test_samples_of_a_class_have_the_moments_of_weighted_rows(model):
    """E[x | y] by rows of the mixture with weights P(y | c, x)."""
    drawn = model.sample_table(np.full(20_000, 1), np.random.default_rng(2))
    weight = np.exp(model.log_weight).ravel() / N_MODELS
    component = np.random.default_rng(3).choice(N_MODELS * K, 100_000, p=weight)
    rows = model.components.sample_table(component, np.random.default_rng(4))
    given = np.exp(model.classifiers.log_conditional(rows.block(slice(None))))
    assert_allclose(given.sum(axis=3), 1.0, rtol=1e-10)
    of_class = given.reshape(100_000, N_MODELS * K, Y)[np.arange(100_000), component, 1]
    expected = np.average(rows.numeric, axis=0, weights=of_class)
    assert_allclose(drawn.numeric.mean(axis=0), expected, atol=0.05)
    assert_allclose(drawn.codes.mean(), np.average(rows.codes[:, 0], weights=of_class), atol=0.02)


def test_a_search_never_lowers_the_best_completion(model, table):
    filled = model.most_probable_cells(table, None)
    numeric = np.where(np.isnan(table.numeric), filled.numeric, table.numeric)
    codes = np.where(table.codes < 0, filled.codes, table.codes)

    def height(block):
        return (model.log_likelihood(block) + model.log_prior).max(axis=1)

    found = height(Block(numeric, codes))
    for c in range(K):
        modes = model.components.fill_with_modes(Block(table.numeric, table.codes), c)
        assert np.all(found >= height(modes) - 1e-12)
    complete = ~np.isnan(table.numeric).any(axis=1) & (table.codes[:, 0] >= 0)
    assert_array_equal(filled.numeric[complete], table.numeric[complete])


class TestValue:
    def test_weights_must_sum_to_one(self, model):
        with pytest.raises(ValueError, match=r"^weights of the components must be probabilities"):
            LatentVariableModel(model.components, model.log_weight + 1.0, model.classifiers)

    def test_class_shares_must_fit_the_components(self, model):
        fewer = NaiveBayesClassifiers(
            model.classifiers.log_class[:1],
            make_components(K * Y, np.random.default_rng(0)),
        )
        with pytest.raises(ValueError, match=r"^class shares has shape \(1, 2, 3\)"):
            LatentVariableModel(model.components, model.log_weight, fewer)

    def test_class_components_must_fit_the_shares(self, model):
        with pytest.raises(ValueError, match=r"^class means has shape \(4, 2\)"):
            NaiveBayesClassifiers(model.classifiers.log_class, model.components)
