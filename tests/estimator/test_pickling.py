"""A pickle of other versions warns."""

import copy
import pickle

import pytest

from latentclass.baselines import NaiveBayes
from latentclass.estimator import _pickling
from latentclass.exceptions import InconsistentVersionWarning


@pytest.fixture
def model():
    return NaiveBayes().fit([[1.0], [1.5], [3.0], [3.5]], [0, 0, 1, 1])


def test_the_same_versions_do_not_warn(model):
    again = pickle.loads(pickle.dumps(model))
    assert list(vars(again)) == list(vars(model))
    assert vars(copy.deepcopy(model)).keys() == vars(model).keys()


@pytest.mark.parametrize(
    ("name", "shown"),
    [("latentclass", "latentclass 0.0.1"), ("scikit-learn", "scikit-learn 0.0.1")],
)
def test_another_version_warns(model, monkeypatch, name, shown):
    monkeypatch.setitem(_pickling.VERSIONS, name, "0.0.1")
    data = pickle.dumps(model)
    monkeypatch.undo()
    with pytest.warns(InconsistentVersionWarning) as caught:
        again = pickle.loads(data)
    message = str(caught[0].message)
    assert message.startswith(f"This NaiveBayes was pickled with {shown}, and is loaded with")
    assert message.endswith("latentclass.save writes files that later versions load.")
    assert again.predict([[1.1]]) == [0]


def test_a_pickle_without_versions_warns(model):
    state = vars(model)
    again = NaiveBayes.__new__(NaiveBayes)
    with pytest.warns(InconsistentVersionWarning, match="latentclass an earlier version"):
        again.__setstate__(state)
