"""The picture of a hierarchy."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

from latentclass import HNBClassifier
from latentclass.baselines import NaiveBayes
from latentclass.plots import HierarchyDisplay


@pytest.fixture
def model():
    frame = pd.DataFrame(list(product("01", repeat=4)) * 12, columns=list("pqrs"))
    y = ((frame[["p", "q", "r"]] == "1").sum(axis=1) == 2).astype(int)
    return HNBClassifier(random_state=0).fit(frame, y)


def test_every_edge_is_a_line(model):
    display = HierarchyDisplay.from_estimator(model)
    expected = [("", name) for name in sorted(model.top_variables_, key=display._height)[::-1]]
    expected += [(a, b) for a, pair in model.latent_children_.items() for b in pair]
    ends = {tuple(map(tuple, segment)) for segment in display.lines_.get_segments()}
    places = display.places_
    assert len(places) == 1 + 4 + len(model.latent_children_)
    assert ends == {(places[a], places[b]) for a, b in expected}
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"class", "p", "q", "r", "s"} <= texts
    assert f"L1\n{model.n_states_['L1']}" in texts


def test_parents_stand_above_their_children_and_columns_apart(model):
    places = HierarchyDisplay.from_estimator(model).places_
    for name, pair in model.latent_children_.items():
        assert all(places[name][1] > places[child][1] for child in pair)
    assert max(height for _, height in places.values()) == places[""][1]
    across = sorted(places[name][0] for name in "pqrs")
    assert np.allclose(np.diff(across), 1.0)


def test_many_columns_have_upright_names_and_given_axes_are_used():
    import matplotlib.pyplot as plt

    ax = plt.figure().add_subplot()
    names = [f"column {j}" for j in range(12)]
    display = HierarchyDisplay(names, {}, {}).plot(ax)
    assert display.ax_ is ax
    assert len(display.lines_.get_segments()) == 12
    assert all(t.get_rotation() == 90 for t in ax.texts if t.get_text() != "class")


def test_other_models_are_refused():
    naive = NaiveBayes().fit([["a"], ["b"]], [0, 1])
    message = (
        "NaiveBayes has no attribute top_variables_, which this picture is made from. Pass a "
        "fitted model of latentclass that has it."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        HierarchyDisplay.from_estimator(naive)
