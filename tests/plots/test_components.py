"""Heat map of a mixture's components."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from latentclass import LatentMixture
from latentclass.plots import ComponentsDisplay
from plain import LatentVariableClassifier, NaiveBayes


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    group = np.arange(200) % 2
    return pd.DataFrame(
        {
            "size": rng.normal(5.0 * group, 1.0),
            "same": np.ones(200),
            "shop": np.where(rng.random(200) < 0.9, np.array(["a", "b"])[group], "c"),
        }
    )


def test_numbers_are_means_and_probabilities(table):
    model = LatentMixture(2, random_state=0).fit(table)
    display = ComponentsDisplay.from_estimator(model)
    assert display.names == ["size", "same", "shop = a", "shop = b", "shop = c"]
    assert_allclose(display.values[:2], model.means_.T)
    assert_allclose(display.values[2:], model.probabilities_["shop"].T)
    assert_allclose(display.weights, model.weights_)
    texts = [text.get_text() for text in display.texts_]
    assert len(texts) == 10
    assert texts[2:4] == ["1", "1"]
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == [f"{k}\n{weight:.0%}" for k, weight in enumerate(model.weights_)]


def test_colours_are_distances_from_the_whole_mixture(table):
    model = LatentMixture(2, random_state=0).fit(table)
    display = ComponentsDisplay.from_estimator(model, colorbar=False, numbers=False)
    assert display.texts_ == []
    # the mixture's own moments, from many draws of it
    drawn, _ = model.sample(200_000, random_state=0)
    size, is_a = drawn["size"], drawn["shop"].to_numpy() == "a"
    assert_allclose(display.deviations[0], (model.means_[:, 0] - size.mean()) / size.std(),
                    atol=0.02)  # fmt: skip
    chances = model.probabilities_["shop"][:, 0]
    assert_allclose(display.deviations[2], (chances - is_a.mean()) / is_a.std(), atol=0.02)
    assert display.deviations[1].tolist() == [0.0, 0.0]
    assert_allclose(display.image_.get_array(), display.deviations)


def test_the_classifier_has_components_too(table):
    y = np.where(table["size"] > 2.5, "big", "small")
    model = LatentVariableClassifier(None, 3, random_state=0).fit(table, y)
    display = ComponentsDisplay.from_estimator(model)
    assert_allclose(display.weights, model.component_weights_)
    assert display.values.shape == (5, 3)


def test_models_without_components_are_refused(table):
    with pytest.raises(TypeError, match="NaiveBayes has no attribute n_components_"):
        ComponentsDisplay.from_estimator(NaiveBayes().fit(table, np.arange(200) % 2))
