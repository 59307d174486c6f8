"""The picture of a hierarchy."""

import re
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest

from latentclass.plots import HierarchyDisplay
from plain import HNBClassifier, NaiveBayes


@pytest.fixture
def model():
    frame = pd.DataFrame(list(product("01", repeat=4)) * 12, columns=list("pqrs"))
    y = ((frame[["p", "q", "r"]] == "1").sum(axis=1) == 2).astype(int)
    return HNBClassifier(random_state=0).fit(frame, y)


def test_every_edge_is_a_line(model):
    display = HierarchyDisplay.from_estimator(model)
    expected = [("", name) for name in model.top_variables_]
    expected += [(a, b) for a, pair in model.latent_children_.items() for b in pair]
    ends = {(tuple(line[0]), tuple(line[-1])) for line in display.lines_.get_segments()}
    places = display.places_
    assert len(places) == 1 + 4 + len(model.latent_children_)
    assert ends == {(places[a], places[b]) for a, b in expected}
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"class", "p", "q", "r", "s"} <= texts
    assert f"L1\n{model.n_states_['L1']}" in texts


def random_hierarchy(rng, n_columns):
    """Join random pairs of variables until a few are left below the class."""
    tops, children = [f"c{j}" for j in range(n_columns)], {}
    for k in range(int(rng.integers(1, n_columns))):
        first, second = rng.choice(tops, 2, replace=False)
        children[f"L{k}"] = (str(first), str(second))
        tops = [name for name in tops if name not in (first, second)] + [f"L{k}"]
    return tops, children, dict.fromkeys(children, 2)


@pytest.mark.parametrize("seed", range(12))
def test_no_line_runs_through_a_node_that_it_does_not_join(seed):
    rng = np.random.default_rng(seed)
    display = HierarchyDisplay(*random_hierarchy(rng, 4 + seed)).plot()
    display.figure_.canvas.draw()
    to_points = display.ax_.transData.transform
    scale = 72 / display.figure_.dpi
    # half of a node's width in points, from the sizes that `draw_nodes` and the class have
    radius = {name: np.sqrt(700) / 2 for name in display.children}
    radius |= {"": np.sqrt(1250) / 2}
    by_place = {place: name for name, place in display.places_.items()}
    for line in display.lines_.get_segments():
        joined = {by_place[tuple(line[0])], by_place[tuple(line[-1])]}
        # points along the line, a step of well below a point apart
        path = np.concatenate([np.linspace(a, b, 400) for a, b in pairwise(line)])
        for name, place in display.places_.items():
            if name not in joined:
                apart = scale * np.linalg.norm(to_points(path) - to_points(place), axis=1)
                assert apart.min() > radius.get(name, np.sqrt(90) / 2), (joined, name)


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
        "NaiveBayes has no attribute top_variables_, which this picture needs. Pass a fitted "
        "HNBClassifier."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        HierarchyDisplay.from_estimator(naive)
