"""Classifiers and a table for the rules that hold for all of them."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from estimators import CLASSIFIERS, IMPROPER

FITTED = {}


def pytest_collection_modifyitems(items):
    """Rules for all classifiers use tables of numbers too, for which some are not meant."""
    marker = pytest.mark.filterwarnings("ignore:BinaryLCMClassifier.* is meant for yes/no")
    for item in items:
        if item.path.parent.name == "common":
            item.add_marker(marker)


@pytest.fixture(params=CLASSIFIERS, ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture
def table():
    """80 rows of numbers, a flag, text and categories with holes; labels in three classes."""
    rng = np.random.default_rng(0)
    y = rng.choice(["low", "mid", "top"], 80, p=[0.2, 0.3, 0.5])
    level = np.searchsorted(["low", "mid", "top"], y)
    X = pd.DataFrame(
        {
            "height": rng.normal(level, 1.0),
            "weight": 1e4 * rng.normal(1 + 0.2 * level, 0.2),
            "happy": pd.array(rng.random(80) < 0.3 + 0.2 * level, dtype="boolean"),
            "town": np.where(rng.random(80) < 0.5, "Oslo", "Rome"),
            "band": pd.Categorical(
                np.array(["I", "II", "III", "IV"])[rng.integers(0, 2, 80) + level]
            ),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1), y


@pytest.fixture
def fitted(model, table):
    """Copy of `model` fitted on `table`: most tests ask for it, and it is fitted only once."""
    return once(model, table)


@pytest.fixture
def calibrated(model, table):
    """The same with `calibrate=True`."""
    return once(model.set_params(calibrate=True), table)


def once(model, table):
    key = type(model).__name__, model.calibrate
    if key not in FITTED:
        FITTED[key] = clone(model).fit(*table)
    return deepcopy(FITTED[key])


@pytest.fixture
def proper(request, model):
    """Expect failure of models that are known to have no proper joint distribution."""
    if reason := IMPROPER.get(type(model).__name__):
        request.applymarker(pytest.mark.xfail(strict=True, reason=reason))
