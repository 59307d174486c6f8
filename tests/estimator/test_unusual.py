"""p-values of rows by simulation, against densities whose tails are known."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from latentclass import LatentMixture, LCMClassifier
from latentclass.data import Table
from latentclass.estimator import _unusual
from latentclass.estimator._unusual import draws_for, missing_patterns
from plain import NaiveBayes

pytestmark = pytest.mark.filterwarnings("ignore:y has a single class")


@pytest.fixture
def gaussian():
    """One class, two independent columns that are nearly standard Gaussian."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    return NaiveBayes(random_state=0).fit(X, np.zeros(4000)), X


def test_tails_of_a_gaussian(gaussian):
    """-2 log p(x) is chi-square with as many degrees of freedom as there are observed cells."""
    model, X = gaussian
    rows = np.array([[0.0, 0.0], [1.5, 1.5], [3.0, np.nan], [np.nan, 0.5], [np.nan, np.nan]])
    z = (rows - X.mean(axis=0)) / X.std(axis=0)
    distance, n_seen = np.nansum(z**2, axis=1), np.sum(~np.isnan(z), axis=1)
    found = model.unusual(rows, n_draws=20_000)
    assert_allclose(found[:4], stats.chi2.sf(distance[:4], n_seen[:4]), atol=0.012)
    assert found[4] == 1.0  # nothing is known, so nothing is unusual


def test_few_values_by_counting():
    """With two categories, each p-value is the probability of those at most as probable."""
    X = pd.DataFrame({"a": ["x"] * 90 + ["y"] * 10})
    model = NaiveBayes(alpha=0.0).fit(X, np.zeros(100))
    common, rare = model.unusual(pd.DataFrame({"a": ["x", "y"]}), n_draws=20_000)
    assert common == 1.0
    assert_allclose(rare, 0.1, atol=0.01)


def test_an_impossible_row_has_the_least_p_value():
    X = pd.DataFrame({"a": list("xxyy"), "b": list("uuvv")})
    model = NaiveBayes(alpha=0.0).fit(X, [0, 0, 1, 1])
    rows = pd.DataFrame({"a": ["x", "x"], "b": ["u", "v"]})
    assert np.isneginf(model.score_samples(rows)[1])
    assert_allclose(model.unusual(rows, n_draws=49), [1.0, 0.02])


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_the_model_have_uniform_p_values(share, seed):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(3, 4))
    y = rng.integers(0, 3, 200)
    model = LCMClassifier(2, n_init=1, calibrate=False, random_state=0)
    model.fit(centre[y] + rng.normal(size=(200, 4)), y)
    drawn, _ = model.sample(400, random_state=seed)
    drawn[rng.random(drawn.shape) < share] = np.nan
    drawn[:, 0] = np.where(np.isnan(drawn).all(axis=1), 0.0, drawn[:, 0])
    p = model.unusual(drawn, n_draws=3000)
    assert stats.kstest(p, "uniform").pvalue > 0.02
    far = model.unusual(drawn + 20.0, n_draws=99)
    assert_allclose(far, 0.01)


def test_rows_of_a_mixture_have_uniform_p_values():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (100, 2)), rng.normal(6, 1, (50, 2))]
    model = LatentMixture(2, random_state=0).fit(X)
    drawn, _ = model.sample(400, random_state=3)
    assert stats.kstest(model.unusual(drawn, n_draws=5000), "uniform").pvalue > 0.02
    assert model.unusual([[3.0, 3.0]])[0] < 0.05  # between the groups


def test_the_same_seed_gives_the_same_answer(gaussian):
    model, X = gaussian
    rows = X[:50]
    assert_array_equal(model.unusual(rows), model.unusual(rows))
    assert_array_equal(model.unusual(rows, random_state=3), model.unusual(rows, random_state=3))
    assert not np.array_equal(model.unusual(rows, random_state=3), model.unusual(rows))
    model.random_state = None
    assert_array_equal(model.unusual(rows), model.unusual(rows))
    # a row's answer depends neither on the other rows nor on their order
    assert_array_equal(model.unusual(rows[::-1])[::-1], model.unusual(rows))


def test_patterns_of_missing_cells():
    numeric = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan], [np.nan, np.nan]])
    codes = np.array([[0], [-1], [1], [0]], dtype=np.int32)
    shown, of_row = missing_patterns(Table(numeric, codes))
    expected = np.hstack([~np.isnan(numeric), codes >= 0])
    assert len(shown) == 3
    assert_array_equal(shown[of_row], expected)


def test_many_patterns_share_the_draws(gaussian, monkeypatch):
    assert draws_for(1, 1000) == 1000
    assert draws_for(50, 1000) == 1000
    assert draws_for(100, 1000) == 500
    assert draws_for(10_000, 1000) == 99
    assert draws_for(10_000, 20) == 20
    model, X = gaussian
    rows = X[:40].copy()
    rows[::2, 0] = np.nan
    whole = model.unusual(rows, n_draws=100)
    monkeypatch.setattr(_unusual, "BATCH", 100)  # a pattern at a time
    assert_allclose(model.unusual(rows, n_draws=100), whole)
    monkeypatch.setattr(_unusual, "MOST_SCORED", 198)
    assert_allclose(model.unusual(rows) * 100, np.rint(model.unusual(rows) * 100))


def test_numbers_without_sense_are_refused(gaussian):
    model, X = gaussian
    with pytest.raises(ValueError, match=re.escape("n_draws=0 must be a whole number of at least")):
        model.unusual(X, n_draws=0)
    with pytest.raises(ValueError, match=re.escape("n_draws=10000000 is too large: pass at most")):
        model.unusual(X, n_draws=10**7)
