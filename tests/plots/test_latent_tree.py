"""The picture of a latent tree."""

import re

import numpy as np
import pytest

from latentclass.datasets import load_dataset
from latentclass.plots import LatentTreeDisplay
from plain import LatentTreeClassifier, NaiveBayes


@pytest.fixture(scope="module")
def model():
    corral = load_dataset("corral", container="pandas")
    return LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)


def test_every_edge_is_a_line_as_wide_as_its_information(model):
    display = LatentTreeDisplay.from_estimator(model, "0")
    edges = model.tree_edges("0")
    assert len(edges) == 7
    places = display.places_
    for segment, (a, b, _) in zip(display.lines_.get_segments(), edges, strict=True):
        assert tuple(map(tuple, segment)) == (places[a], places[b])
    information = np.array([value for _, _, value in edges])
    expected = np.maximum(0.4, 7.0 * information / information.max())
    assert np.allclose(display.lines_.get_linewidths(), expected)
    # the columns of the concept are close to their latent variables, the others are not
    width = {b: w for (_, b, _), w in zip(edges, display.lines_.get_linewidths(), strict=True)}
    assert min(width[c] for c in ("A0", "A1", "B0", "B1")) > 3 * max(
        width[c] for c in ("Irrelevant", "Correlated")
    )
    texts = {text.get_text() for text in display.ax_.texts}
    assert {"Y1\n2", "Y2\n2", "A0", "Irrelevant"} <= texts


def test_latent_variables_stand_above_and_columns_apart(model):
    places = LatentTreeDisplay.from_estimator(model, "0").places_
    for parent, child, _ in model.tree_edges("0"):
        assert places[parent][1] > places[child][1]
    across = sorted(x for x, height in places.values() if height == 0)
    assert np.allclose(np.diff(across), 1.0)


def test_edges_of_no_information_are_thin_and_given_axes_are_used():
    import matplotlib.pyplot as plt

    ax = plt.figure().add_subplot()
    names = [f"column {j}" for j in range(12)]
    display = LatentTreeDisplay([("Y1", name, 0.0) for name in names], {"Y1": 1}).plot(ax)
    assert display.ax_ is ax
    assert np.allclose(display.lines_.get_linewidths(), 0.4)
    assert all(t.get_rotation() == 90 for t in ax.texts if t.get_text() != "Y1\n1")


def test_a_model_without_columns_gives_an_empty_picture():
    empty = LatentTreeClassifier(random_state=0).fit([["a"], ["a"]], [0, 1])
    assert LatentTreeDisplay.from_estimator(empty, 1).places_ == {}


def test_other_models_and_classes_are_refused(model):
    naive = NaiveBayes().fit([["a"], ["b"]], [0, 1])
    message = (
        "NaiveBayes has no attribute trees_, which this picture needs. Pass a fitted "
        "LatentTreeClassifier."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        LatentTreeDisplay.from_estimator(naive, 0)
    with pytest.raises(ValueError, match="y holds 'x', which is not a class"):
        LatentTreeDisplay.from_estimator(model, "x")
