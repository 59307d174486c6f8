"""scikit-learn's checks and manners, for every generative classifier."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rules import proba
from same import differences
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import latentclass.baselines
from estimators import CLASSIFIERS
from latentclass import LatentMixture
from latentclass.baselines import BackpropagationNetwork, LeaveOneOutKNN
from latentclass.estimator._base import GenerativeClassifier

OTHERS = [LatentMixture, LeaveOneOutKNN, BackpropagationNetwork]


@parametrize_with_checks(CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::latentclass.exceptions.TableWarning")
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


@pytest.mark.parametrize("kind", [*map(type, CLASSIFIERS), *OTHERS], ids=lambda kind: kind.__name__)
def test_sizes_that_no_machine_can_hold_are_refused(kind):
    given = kind().get_params(deep=False)
    sizes = [name for name, value in given.items() if type(value) is int and name != "verbose"]
    for name in sizes:
        with pytest.raises(
            ValueError, match=rf"^{name}=10{{19}}\.\.\. is too large: pass at most "
        ):
            kind(**{name: 10**30}).fit([[0.5], [1.5]], [0, 1])


def test_pickles_and_clones(fitted, table):
    X, _ = table
    copy = pickle.loads(pickle.dumps(fitted))
    assert proba(copy, X).tolist() == proba(fitted, X).tolist()
    assert not hasattr(clone(fitted), "classes_")


def test_saves_and_loads(fitted, table, tmp_path):
    X, _ = table
    latentclass.save(fitted, tmp_path / "model.lc")
    again = latentclass.load(tmp_path / "model.lc")
    assert proba(again, X).tolist() == proba(fitted, X).tolist()
    assert not differences(fitted, again)


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
