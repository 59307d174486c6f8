"""scikit-learn's checks and manners, for every generative classifier."""

import inspect
import pickle

import numpy as np
from numpy.testing import assert_allclose
from rules import proba
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentclass.baselines
from estimators import CLASSIFIERS
from latentclass.estimator._base import GenerativeClassifier


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_every_generative_classifier_is_listed():
    public = {
        thing
        for module in (latentclass, latentclass.baselines)
        for name in module.__all__
        if inspect.isclass(thing := getattr(module, name))
        and issubclass(thing, GenerativeClassifier)
    }
    assert {type(model) for model in CLASSIFIERS} == public


def test_pickles_and_clones(fitted, table):
    X, _ = table
    copy = pickle.loads(pickle.dumps(fitted))
    assert proba(copy, X).tolist() == proba(fitted, X).tolist()
    assert not hasattr(clone(fitted), "classes_")


def test_works_in_a_pipeline_with_search_and_routing(model, table):
    from sklearn import config_context

    X, y = table
    weight = np.random.default_rng(8).uniform(0.5, 2, 80)
    with config_context(enable_metadata_routing=True):
        step = clone(model).set_fit_request(sample_weight=True)
        scoring = get_scorer("accuracy").set_score_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(), step)
        name = type(model).__name__.lower()
        grid = {f"{name}__handle_unknown": ["missing", "error"]}
        search = GridSearchCV(pipe, grid, cv=2, scoring=scoring)
        search.fit(X, y, sample_weight=weight)
    assert search.best_score_ > 0.4


def test_cross_validation_on_frames(model, table):
    X, y = table
    predicted = cross_val_predict(model, X, y, cv=4, method="predict_proba")
    assert_allclose(predicted.sum(axis=1), 1.0)
