"""A fit that is interrupted at any point leaves the estimator as it was."""

import inspect
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from latentclass import (
    BinaryLCMClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import (
    AODE,
    BAN,
    K2,
    TAN,
    FiniteMixtureNaiveBayes,
    HiddenNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)

ESTIMATORS = [
    NaiveBayes(calibrate=True, n_init=2, random_state=0),
    MixtureNaiveBayes(max_components=2, n_init=1, calibrate=True, random_state=0),
    FiniteMixtureNaiveBayes(max_components=2, n_init=1, calibrate=True, random_state=0),
    LatentVariableClassifier(
        n_components="auto", max_components=2, max_iter=4, n_init=1, calibrate=True, random_state=0
    ),
    LatentMixture([1, 2], n_init=1, max_iter=5, criterion="cv", n_folds=2, random_state=0),
    ProjectedNaiveBayes(axes="clusters", max_components=2, n_init=1, random_state=0),
    TAN(n_init=1, random_state=0),
    BAN(n_init=1, random_state=0),
    K2(n_init=1, random_state=0),
    AODE(n_init=1, random_state=0),
    HiddenNaiveBayes(n_init=1, random_state=0),
    HNBClassifier(n_models=2, cv=2, max_iter=5, n_init=1, random_state=0),
    LatentTreeClassifier(n_init=1, n_cuts=1, max_latent=1, max_iter=5, random_state=0),
    LCMClassifier(2, n_init=2, max_iter=5, calibrate=True, random_state=0),
    LCMClassifierCV([1, 2], [1], n_init=1, max_iter=5, cv=2, random_state=0),
    HybridLCMClassifier(2, n_init=1, max_iter=3, random_state=0),
    BinaryLCMClassifier(2, n_init=1, max_iter=3, random_state=0),
    BinaryLCMClassifierCV([1, 2], [1], n_init=1, max_iter=3, cv=2, random_state=0),
]


class Interrupted(BaseException):
    """As an interrupt from the keyboard: no `except Exception` catches it."""


class CallCounter:
    """Counts the calls of the library's functions in a fit, and interrupts one of them."""

    def __init__(self, interrupt_at=None):
        self.interrupt_at, self.n_calls, self.stored_at = interrupt_at, 0, None

    def __call__(self, frame, event, argument):
        code = frame.f_code
        # Python swallows what is raised while it closes a generator
        if event != "call" or code.co_flags & inspect.CO_GENERATOR:
            return
        if "latentclass" not in code.co_filename:
            return
        self.n_calls += 1
        if code.co_name == "store_fitted":
            self.stored_at = self.n_calls
        if self.n_calls == self.interrupt_at:
            raise Interrupted

    def watch(self, model, *table):
        sys.setprofile(self)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(*table)
        finally:
            sys.setprofile(None)


def make_table(seed, n_columns):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 60)
    X = rng.normal(y[:, None], 1.0, (60, n_columns))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.where(rng.random(60) < 0.2, None, y.astype(object))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_an_interrupted_fit_changes_nothing(estimator):
    first, second = make_table(0, 2), make_table(1, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(*first)
    before, answer = dict(vars(model)), model.predict_proba(first[0])
    whole = CallCounter()
    whole.watch(clone(estimator), *second)
    assert whole.stored_at is not None
    points = np.random.default_rng(2).integers(1, whole.stored_at, 12)
    for point in [1, *points.tolist(), whole.stored_at]:
        with pytest.raises(Interrupted):
            CallCounter(point).watch(model, *second)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
    assert_array_equal(model.predict_proba(first[0]), answer)
