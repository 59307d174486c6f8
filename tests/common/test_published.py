"""`as_published`: the settings of the papers, for every estimator that a paper states."""

import ast
import re
import warnings
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from estimators import ESTIMATORS

PUBLISHED = {name: thing for name, thing in ESTIMATORS.items() if hasattr(thing, "as_published")}

SMALL = {
    "BinaryLCMClassifier": {"n_latent": 2},
    "BinaryLCMClassifierCV": {"n_latent": 2, "n_components": 1},
    "LCMClassifierCV": {"n_latent": 2, "n_components": 1},
    "LatentMixture": {"max_iter": 20},
    "LatentTreeClassifier": {"max_latent": 1, "max_states": 2},
    "LatentVariableClassifier": {"max_iter": 20},
}
"""Parameters with which a fit is quick."""

INHERITED = {
    "BinaryLCMClassifierCV": "BinaryLCMClassifier",
    "LCMClassifierCV": "LCMClassifier",
}
"""Estimators that share the settings of another one on the page."""


def documented():
    """Default and paper's value of each parameter in the table of the page, by estimator."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "published.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(.*?)` \| `(.*?)` \| .+ \|$", page, re.M)
    table = {}
    for name, parameter, *values in rows:
        table.setdefault(name, {})[parameter] = tuple(map(ast.literal_eval, values))
    return table


def test_the_page_has_every_estimator_that_a_paper_states():
    assert set(documented()) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_settings_differ_from_the_defaults_as_the_page_says(name):
    before, after = ESTIMATORS[name]().get_params(), PUBLISHED[name].as_published().get_params()
    shared = documented().get(INHERITED.get(name), {})
    same_default = {key: values for key, values in shared.items() if values[0] == before[key]}
    expected = same_default | documented()[name]
    differing = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
    assert differing == expected


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_parameter_of_the_caller_goes_before_the_papers(name):
    parameter, (default, published) = next(iter(documented()[name].items()))
    model = PUBLISHED[name].as_published(**{parameter: default}, verbose=1)
    assert model.get_params()[parameter] == default != published
    assert model.verbose == 1


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_is_an_ordinary_estimator_that_fits(name, table):
    X, y = table
    model = PUBLISHED[name].as_published(**SMALL.get(name, {}), random_state=0)
    assert clone(model).get_params() == model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few iterations, as published
        model.fit(X, y)
    assert model.predict(X).shape == y.shape


def test_an_estimator_that_no_paper_states_has_no_such_method():
    with pytest.raises(AttributeError, match="as_published"):
        ESTIMATORS["NaiveBayes"].as_published()
