"""Ranges by the Bayesian bootstrap, against what is known in closed form."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from latentclass import LatentMixture
from latentclass.baselines import NaiveBayes
from latentclass.evaluation import bootstrap

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 1))
Y = np.array(["a"] * 10 + ["b"] * 30)


def plain_naive_bayes():
    return NaiveBayes(alpha=0, prior=None, calibrate=False).fit(X, Y)


def test_the_spread_of_a_share_is_that_of_dirichlet_weights():
    found = bootstrap(
        plain_naive_bayes(), X, Y, statistic=lambda m: m.class_prior_, n_draws=600, random_state=0
    )
    np.testing.assert_allclose(found.estimate, [0.25, 0.75])
    # the share of 10 of 40 rows with Dirichlet weights is Beta(10, 30)
    np.testing.assert_allclose(found.draws.mean(axis=0), [0.25, 0.75], rtol=0.03)
    np.testing.assert_allclose(found.draws.std(axis=0), np.sqrt(0.25 * 0.75 / 41), rtol=0.1)


def test_the_ends_enclose_the_given_share_of_the_draws():
    found = bootstrap(
        plain_naive_bayes(), X, Y, statistic=lambda m: m.predict_proba(X[:3]), level=0.5,
        random_state=0,
    )  # fmt: skip
    assert found.draws.shape == (100, 3, 2)
    inside = (found.low <= found.draws) & (found.draws <= found.high)
    np.testing.assert_array_equal(inside.sum(axis=0), 50)


def test_the_seed_decides_and_the_model_stays():
    model = plain_naive_bayes()
    before = model.predict_proba(X)
    both = [
        bootstrap(model, X, Y, statistic=lambda m: m.class_prior_, n_draws=5, random_state=seed)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(both[0].draws, both[1].draws)
    assert (both[0].draws != both[2].draws).all()
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_mixture_needs_no_labels():
    two = np.concatenate([X, X + 8])
    model = LatentMixture(2, random_state=0).fit(two)
    found = bootstrap(
        model, two, statistic=lambda m: m.means_[:, 0].max(), n_draws=20, random_state=0
    )
    assert found.low < found.estimate < found.high
    assert found.low.shape == ()


@pytest.mark.parametrize("table", [X.tolist(), sparse.csr_array(X)])
def test_the_kind_of_table_does_not_matter(table):
    draws = [
        bootstrap(plain_naive_bayes(), one, Y, statistic=lambda m: m.class_prior_, n_draws=3,
                  random_state=0).draws
        for one in (X, table)
    ]  # fmt: skip
    np.testing.assert_allclose(*draws)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_draws": 1}, "n_draws=1 must be a whole number of at least 2."),
        ({"level": 1.5}, "level=1.5 is too large: pass at most 1."),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        bootstrap(plain_naive_bayes(), X, Y, statistic=lambda m: m.class_prior_, **options)


def test_a_statistic_must_keep_its_shape():
    model, sizes = plain_naive_bayes(), iter([2, 2, 3])
    message = (
        r"^statistic has shape \(3,\) in draw 1, but \(2,\) for the model itself. "
        "Let it return the same shape for every fitted model.$"
    )
    with pytest.raises(ValueError, match=message):
        bootstrap(model, X, Y, statistic=lambda _: np.zeros(next(sizes)), random_state=0)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        bootstrap(NaiveBayes(), X, Y, statistic=lambda m: m.class_prior_)
