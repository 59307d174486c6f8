"""Bars of the importance of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass import LatentMixture
from latentclass.plots import ImportanceDisplay
from plain import NaiveBayes


def test_bars_are_the_values_the_largest_first(wine):
    model = NaiveBayes().fit(wine.X, wine.y)
    found = model.importance(wine.X)
    display = ImportanceDisplay.from_estimator(model, wine.X, n_top=5)
    assert_allclose(display.values, np.sort(found.values)[::-1])
    assert_allclose([bar.get_width() for bar in display.bars_], display.values[:5])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == display.names[:5]
    assert display.ax_.get_xlabel() == (
        "absolute weight of evidence, mean over 178 rows\n8 weaker columns are not shown"
    )
    assert found.plot().names == display.names == list(found.to_frame().index)
    assert len(display.plot(n_top=None).bars_) == 13


def test_infinite_values_have_an_end():
    display = ImportanceDisplay(np.array([np.inf, 2.0]), ["a", "b"]).plot()
    assert_allclose([bar.get_width() for bar in display.bars_], [2.3, 2.0])
    assert [text.get_text() for text in display.texts_] == ["inf", "2.00"]


def test_a_model_without_classes_is_refused(wine):
    model = LatentMixture(2, random_state=0).fit(wine.X)
    with pytest.raises(TypeError, match=r"^LatentMixture has no attribute importance, which this"):
        ImportanceDisplay.from_estimator(model, wine.X)
