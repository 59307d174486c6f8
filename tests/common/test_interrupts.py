"""A fit that is interrupted or fails leaves the estimator as it was before."""

import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import latentclass
from estimators import CLASSIFIERS, ESTIMATORS
from latentclass import (
    AutoLatentClassifier,
    BinaryLCMClassifierCV,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
    MDLDiscretizer,
)
from latentclass.baselines import BackpropagationNetwork, LeaveOneOutKNN, NaiveBayes, WekaClassifier
from latentclass.engine._blas import one_library_thread
from latentclass.evaluation import TableClassifier

PACKAGE = str(Path(latentclass.__file__).parent)


def once(model):
    """The model without what "auto" fits it again for, which naive Bayes has below."""
    return model.set_params(calibrate=False, unlabelled_weight=1.0)


MODELS = [
    *(model for model in CLASSIFIERS if not isinstance(model, AutoLatentClassifier)),
    # fits within the fit: folds, searches, averages, gradient steps
    NaiveBayes(calibrate=True, random_state=0),
    NaiveBayes(random_state=0),
    once(LCMClassifier(n_components=2, n_init=2, select="accuracy", random_state=0)),
    once(LCMClassifierCV([1, 2], [1], n_init=2, cv=2, discriminative=False, random_state=0)),
    once(BinaryLCMClassifierCV([1, 2], [1], n_init=2, cv=2, max_iter=5, tol=1.0, random_state=0)),
    once(
        HybridLCMClassifier(
            1, 1, n_init=1, power_transform=False, max_iter=5, tol=1.0, random_state=0
        )
    ),
    once(HNBClassifier(n_models=2, random_state=0)),
    once(LatentTreeClassifier(search="fast", random_state=0)),
    once(
        LatentVariableClassifier(
            None, "auto", max_components=2, search="em", n_init=1, max_iter=10, random_state=0
        )
    ),
    once(LatentVariableClassifier(None, 2, average=True, max_iter=6, n_init=2, random_state=0)),
    once(LatentVariableClassifier(n_components=1, random_state=0)),
    LatentMixture([1, 2], n_init=2, random_state=0),
    LatentMixture(2, "anneal", polish=True, n_init=2, max_iter=6, random_state=0),
    LatentMixture(2, "mcem", n_init=2, max_iter=6, random_state=0),
    MDLDiscretizer(),
    TableClassifier(LogisticRegression()),
    LeaveOneOutKNN(),
    BackpropagationNetwork(n_epochs=2, random_state=0),
]
NUMBERS_ONLY = (BackpropagationNetwork, LeaveOneOutKNN)
BOOKKEEPING = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")
"""What scikit-learn itself keeps in an estimator while it is fitted."""


class FailureError(Exception):
    """An error that no code of the library expects."""


def make_table(model, seed):
    """36 rows of two numbers, a flag and text, with holes and rows without a label if they may."""
    rng = np.random.default_rng(seed)
    y = np.arange(36) % 2
    X = pd.DataFrame({"length": rng.normal(y, 1.0), "width": rng.normal(size=36)})
    if isinstance(model, NUMBERS_ONLY):
        return X, y
    X["flag"] = pd.array(rng.random(36) < 0.3 + 0.4 * y, dtype="boolean")
    X["town"] = np.where(rng.random(36) < 0.4 + 0.3 * y, "Oslo", "Rome")
    return X.mask(rng.random(X.shape) < 0.1), np.where(rng.random(36) < 0.2, None, y.astype(object))


@contextmanager
def calling(on_call):
    """Call `on_call` with the frame whenever a function of the library is called."""

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            on_call(frame)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def state(model):
    return {name: value for name, value in vars(model).items() if name not in BOOKKEEPING}


def same(one, other):
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def changes(one, other):
    return sorted(name for name in {*one, *other} if one.get(name) is not other.get(name))


@cache
def watched_fit(prototype):
    """What the estimator holds before a fit, at each call in it, and after it."""
    model = clone(prototype)
    before, seen = state(model), []

    def look(frame):
        now = state(model)
        last = seen[-1][1] if seen else before
        seen.append((frame.f_code.co_qualname, last if same(now, last) else now))

    with calling(look):
        model.fit(*make_table(model, 0))
    return before, seen, state(model)


def raising(error, point):
    """Raise at a call, the first of which is number 1."""
    n_calls = 0

    def count(frame):
        nonlocal n_calls
        n_calls += 1
        if n_calls == point:
            raise error(frame.f_code.co_qualname)

    return count


def answer(model, X):
    ask = getattr(model, "predict_proba", None) or model.transform
    return pd.DataFrame(ask(X))


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module", autouse=True)
def libraries_are_known():
    """The first call looks for the BLAS libraries: further calls that no later fit has."""
    with one_library_thread():
        pass


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def prototype(request):
    return request.param


def test_every_estimator_is_listed():
    # AutoLatentClassifier goes on after both: see its own tests
    listed = {type(model) for model in MODELS} | {AutoLatentClassifier}
    assert listed == {*ESTIMATORS.values()} - {WekaClassifier}  # which needs Java


def test_fit_stores_all_it_has_learned_at_once(prototype):
    before, seen, after = watched_fit(prototype)
    for function, held in seen:
        assert same(held, before) or same(held, after), (function, changes(held, before))
    assert not same(before, after)


@pytest.mark.filterwarnings("ignore:The rows without a label moved the class shares")
@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted"])
def test_a_fit_that_stops_at_any_point_changes_nothing(prototype, fitted):
    _, seen, after = watched_fit(prototype)
    n_before = sum(not same(held, after) for _, held in seen)
    model = clone(prototype)
    other, labels = make_table(model, 1)
    if fitted:
        model.fit(other, labels)
        expected = answer(model, other)
    before = state(model)
    points = np.random.default_rng(2).integers(1, n_before + 1, 2)
    for error, point in zip((KeyboardInterrupt, FailureError), points, strict=True):
        with pytest.raises(error) as caught, calling(raising(error, point)):
            model.fit(*make_table(model, 0))
        assert not changes(vars(model), before), caught.value
    if fitted:
        pd.testing.assert_frame_equal(answer(model, other), expected, check_exact=True)
