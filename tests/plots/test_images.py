"""Rows of pixels as images: samples, means, mistakes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from latentclass import BinaryLCMClassifier
from latentclass.baselines import NaiveBayes
from latentclass.plots import ImagesDisplay

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = y < 4
    return X[chosen] > 7, np.where(y[chosen] < 2, "few", "many")


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    model = BinaryLCMClassifier(3, n_components=2, n_init=1, tol=0.05, random_state=0)
    return model.fit(X[60:], y[60:])


def test_samples_are_drawn_class_by_class(model):
    display = ImagesDisplay.from_estimator(model, (8, 8), n_images=4, random_state=0)
    assert display.images.shape == (8, 64)
    assert set(np.unique(display.images)) == {0.0, 1.0}
    assert display.ax_.shape == (2, 4)
    assert [ax.get_ylabel() for ax in display.ax_[:, 0]] == ["few", "many"]
    drawn, _ = model.sample(8, y=["few"] * 4 + ["many"] * 4, random_state=0)
    np.testing.assert_array_equal(display.images, np.asarray(drawn, dtype=float))


def test_means_are_those_of_many_samples(model):
    display = ImagesDisplay.from_estimator(model, (8, 8), show="means")
    assert display.ax_.shape == (2, 3)
    images = display.images.reshape(2, 3, 64)
    for k, label in enumerate(["few", "many"]):
        drawn, _ = model.sample(20000, y=label, random_state=1)
        means = np.asarray(drawn, dtype=float).mean(axis=0)
        np.testing.assert_allclose(images[k, 0], means, atol=0.02)
    share = model.component_prior_
    mixed = (share[..., None] * images[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(images[:, 0], mixed, rtol=1e-12)
    assert display.titles[1] == f"{share[0, 0]:.2f}"
    one = BinaryLCMClassifier(2, n_init=1, tol=0.1, random_state=0).fit(
        np.eye(4)[[0, 1, 2, 3] * 5], [0, 1] * 10
    )
    assert ImagesDisplay.from_estimator(one, (2, 2), show="means").ax_.shape == (2, 1)


def test_mistakes_are_the_rows_judged_wrongly_the_surest_first(digits, model):
    X, y = digits
    shown = ImagesDisplay.from_estimator(model, (8, 8), show="mistakes", X=X, y=y, n_images=500)
    wrong = model.predict(X) != y
    assert len(shown.images) == wrong.sum() > 0
    assert set(shown.titles) <= {"few as many", "many as few"}
    surest = model.predict_proba(X[wrong]).max(axis=1).argmax()
    np.testing.assert_array_equal(shown.images[0], X[wrong][surest].astype(float))
    framed = NaiveBayes().fit(pd.DataFrame(X).add_prefix("p"), y)
    frame = pd.DataFrame(X).add_prefix("p")
    few = ImagesDisplay.from_estimator(framed, (8, 8), show="mistakes", X=frame, y=y, n_images=3)
    assert few.images.shape == (3, 64)


def test_rows_of_a_table_may_be_drawn_as_they_are(digits):
    X, _ = digits
    pixels = X[:7].astype(float)
    pixels[0, :32] = np.nan
    display = ImagesDisplay(pixels, (8, 8), n_columns=5, titles=list("abcdefg")).plot()
    assert display.ax_.shape == (2, 5)
    assert display.ax_[1, 1].get_title() == "g"
    assert not display.ax_[1, 2].axison
    none = ImagesDisplay(np.empty((0, 64)), (8, 8)).plot()
    assert none.ax_.shape == (1, 10)


def test_what_cannot_be_drawn_is_refused(digits, model):
    X, y = digits
    with pytest.raises(ValueError, match=r"images has shape \(2, 64\), and shape=\(8, 9\) has 72"):
        ImagesDisplay(X[:2], (8, 9))
    with pytest.raises(ValueError, match="show='mistakes' needs X and y: the images to judge"):
        ImagesDisplay.from_estimator(model, (8, 8), show="mistakes", X=X)
    with pytest.raises(ValueError, match="show='errors' must be one of"):
        ImagesDisplay.from_estimator(model, (8, 8), show="errors")
    with pytest.raises(TypeError, match="NaiveBayes has no attribute weights_"):
        ImagesDisplay.from_estimator(NaiveBayes().fit(X, y), (8, 8), show="means")
    mixed = np.column_stack([X[:, :30], np.linspace(0, 1, len(y))])
    other = BinaryLCMClassifier(1, n_init=1, tol=0.1, random_state=0).fit(mixed, y)
    with pytest.raises(ValueError, match="needs a model of binary columns alone; of the 31"):
        ImagesDisplay.from_estimator(other, (31, 1), show="means")
