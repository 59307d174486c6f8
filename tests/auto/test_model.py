"""The average of several models against its definition, written out by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from latentclass.auto._model import Member, WeightedModels
from latentclass.baselines import TAN, FiniteMixtureNaiveBayes, NaiveBayes
from latentclass.data._schema import Table
from latentclass.estimator._fitted import to_log_posterior


@pytest.fixture(scope="module")
def fitted():
    """Three families on the same table, and the average of them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = pd.DataFrame(
        {
            "a": rng.normal(y, 1.0),
            "b": rng.normal(0.5 * y, 2.0),
            "c": np.array(list("uvw"))[(y + rng.integers(0, 2, 150)) % 3],
            "d": rng.random(150) < 0.3 + 0.2 * y,
        }
    ).mask(rng.random((150, 4)) < 0.15)
    models = [
        NaiveBayes().fit(X, y),
        TAN().fit(X, y),
        FiniteMixtureNaiveBayes(max_components=2, random_state=0).fit(X, y),
    ]
    members = tuple(
        Member(type(one).__name__, one._model, t)
        for one, t in zip(models, (1.0, 2.0, 0.5), strict=True)
    )
    schema = models[0].schema_
    weights = np.array([0.5, 0.2, 0.3])
    return WeightedModels(members, weights, schema.n_levels), schema.encode(X), y


def parts(model, table):
    """log P(class | x), tempered, and log p(x) of each member."""
    posteriors, densities = [], []
    for member in model.members:
        evidence = member.model.evidence(table, None)
        log_prior = np.log(member.model.class_prior)
        posteriors.append(to_log_posterior(evidence, log_prior, member.temperature))
        densities.append(logsumexp(evidence + log_prior, axis=1))
    return np.exp(posteriors), np.array(densities)


def test_class_probabilities_and_densities_are_weighted_means(fitted):
    model, table, _ = fitted
    posteriors, densities = parts(model, table)
    found = np.exp(model.log_posterior(table, model.log_prior, 1.0, None))
    assert_allclose(found, np.tensordot(model.weights, posteriors, axes=1), rtol=1e-9)
    log_weights = np.log(model.weights)[:, None]
    expected = logsumexp(densities + log_weights, axis=0)
    assert_allclose(model.log_density(table, None), expected, rtol=1e-12)
    assert_allclose(
        model.member_shares(table, None).T, np.exp(densities + log_weights - expected), rtol=1e-9
    )


def test_one_member_answers_as_it_would_alone(fitted):
    several, table, _ = fitted
    member = several.members[1]
    alone = WeightedModels((member,), np.ones(1), several.n_levels)
    for temperature in (1.0, 3.0):
        assert_allclose(
            WeightedModels(
                (Member("x", member.model, temperature),), np.ones(1), several.n_levels
            ).log_posterior(table, member.model.log_prior, 1.0, None),
            member.model.log_posterior(table, member.model.log_prior, temperature, None),
            rtol=1e-9,
        )
    assert_allclose(alone.log_density(table, None), member.model.log_density(table, None))


def test_other_priors_change_the_odds_of_the_average_by_their_ratio(fitted):
    model, table, _ = fitted
    given = np.array([0.2, 0.5, 0.3])
    before = np.exp(model.log_posterior(table, model.log_prior, 1.0, None))
    after = np.exp(model.log_posterior(table, np.log(given), 1.0, None))
    expected = before * given / model.class_prior
    assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


def test_completion_weighs_members_by_how_probable_they_find_the_row(fitted):
    model, table, _ = fitted
    shares = model.member_shares(table, None)
    found = model.completion(table, "expected", lambda rows: rows, None)
    numeric, chances = np.zeros(table.numeric.shape), []
    for member, share in zip(model.members, shares.T, strict=True):
        own = member.model

        def posterior(rows, own=own):  # no temperature, as in p(x)
            return np.exp(own.log_posterior(rows, own.log_prior, 1.0, None))

        numeric += share[:, None] * own.expected_cells(table, posterior, None).numeric
        chances.append(
            [share[:, None] * one for one in own.level_chances(table, model.n_levels, None)]
        )
    assert_allclose(found.numeric, numeric)
    for place in range(2):
        total = sum(one[place] for one in chances)
        assert_allclose(total.sum(axis=1), 1.0)
        assert np.array_equal(found.codes[:, place], total.argmax(axis=1))
        assert_allclose(model.level_chances(table, model.n_levels, None)[place], total)


def test_samples_come_from_the_members_by_their_shares(fitted):
    model, _, _ = fitted
    y = np.repeat([0, 1, 2], 4000)
    drawn = model.sample_table(y, np.random.default_rng(0))
    assert drawn.numeric.shape == (12000, 2)
    many = [m.model.sample_table(y, np.random.default_rng(1)) for m in model.members]
    for label in range(3):
        expected = np.sum(
            [
                share * one.numeric[y == label].mean(axis=0)
                for share, one in zip(model.average.shares[:, label], many, strict=True)
            ],
            axis=0,
        )
        assert_allclose(drawn.numeric[y == label].mean(axis=0), expected, atol=0.15)


def test_latent_variables_stand_side_by_side(fitted):
    model, table, _ = fitted
    values = model.latent(table, lambda rows: rows, None)
    names = model.latent_names(["0", "1", "2"], ["a", "b", "c", "d"])
    assert values.shape == (table.n_rows, len(names))
    assert names[:3] == ["NaiveBayes_0", "NaiveBayes_1", "NaiveBayes_2"]


def test_a_row_without_any_cell_gets_the_class_shares(fitted):
    model = fitted[0]
    nothing = Table(np.full((1, 2), np.nan), np.full((1, 2), -1, dtype=np.int32))
    found = np.exp(model.log_posterior(nothing, model.log_prior, 1.0, None))
    assert_allclose(found[0], model.class_prior, rtol=1e-12)
