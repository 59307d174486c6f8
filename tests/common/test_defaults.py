"""Every generative classifier as it is constructed by default, on a table small enough for it.

The other common tests run on the settings of `estimators.py`, which are fast. What depends on
defaults, such as folds and searches, is tested here.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rules import proba
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from estimators import CLASSIFIERS
from latentclass import AutoLatentClassifier, BinaryLCMClassifierCV, LatentMixture, LCMClassifierCV

DEFAULTS = [
    type(model)(random_state=0)
    for model in CLASSIFIERS
    if not isinstance(model, AutoLatentClassifier)  # which looks at the clock by default
]

FEWER_STEPS = {
    "HybridLCMClassifier": {"n_init": 2, "max_iter": 5},
    "LCMClassifierCV": {"n_init": 2, "max_iter": 5},
}
"""Fewer starts and iterations where a fit takes long; what is tried on which folds stays."""

pytestmark = [
    pytest.mark.no_cover,  # it would double the time of tests that repeat what others cover
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:A class has fewer labelled rows"),
]


def name(model):
    return type(model).__name__


@pytest.fixture
def small():
    """24 rows of a number and a word, four of them equal; two classes, some rows unlabelled."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = np.empty((24, 2), dtype=object)
    X[:, 0] = rng.normal(y, 1.0).round(2)
    X[:, 1] = np.where(rng.random(24) < 0.3 + 0.4 * y, "yes", "no")
    X[:4] = X[0]
    y[:4] = 0
    X[5, 0] = None
    labels = y.astype(float)
    labels[[7, 12, 19]] = np.nan
    return X, labels


def same_rows_written_otherwise(model, X, y):
    """Fit rows with weights 0 to 2, and the same rows as copies in another order."""
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, len(X))
    copies = rng.permutation(np.repeat(np.arange(len(X)), weight))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    return weighted, clone(model).fit(X[copies], y[copies])


@pytest.mark.parametrize("model", DEFAULTS, ids=name)
def test_rows_count_by_what_they_hold_and_weigh(model, small, few_steps):
    X, y = small
    model = clone(model).set_params(**FEWER_STEPS.get(name(model), {}))
    weighted, copied = same_rows_written_otherwise(model, X, y)
    assert_allclose(proba(copied, X), proba(weighted, X), rtol=1e-8, atol=1e-12)
    again = pickle.loads(pickle.dumps(weighted))
    assert proba(again, X).tolist() == proba(weighted, X).tolist()


@pytest.mark.parametrize("calibrate", [True, "auto"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_folds_of_calibrate_count_rows_by_what_they_hold_and_weigh(model, small, calibrate):
    X, y = small
    model = clone(model).set_params(calibrate=calibrate)
    weighted, copied = same_rows_written_otherwise(model, X, y)
    assert weighted.calibration_
    for fact, value in weighted.calibration_.items():
        assert_allclose(copied.calibration_[fact], value, rtol=1e-8)


def test_a_mixture_counts_rows_by_what_they_hold_and_weigh(small):
    weighted, copied = same_rows_written_otherwise(LatentMixture(random_state=0), *small)
    X = small[0]
    assert_allclose(copied.score_samples(X), weighted.score_samples(X), rtol=1e-8)


@pytest.mark.parametrize(
    "check",
    [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data],
)
@pytest.mark.parametrize(
    "model",
    [
        LCMClassifierCV([1, 2], [1, 2], n_init=2, max_iter=20),
        BinaryLCMClassifierCV([1, 2], [1], n_init=1, max_iter=10),
    ],
    ids=name,
)
def test_searches_pass_scikit_learns_check_of_weights(model, check, few_steps):
    """All that they try by default would take minutes on this check's ten columns."""
    check(name(model), model)


@pytest.mark.slow
@parametrize_with_checks(DEFAULTS)
@pytest.mark.filterwarnings("ignore::latentclass.exceptions.TableWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
