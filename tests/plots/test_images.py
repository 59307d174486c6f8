"""Rows of pixels as images: samples, means, mistakes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from latentclass.plots import ImagesDisplay
from plain import TAN, BinaryLCMClassifier, NaiveBayes

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = y < 4
    return X[chosen] > 7, np.where(y[chosen] < 2, "few", "many")


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    model = BinaryLCMClassifier(
        3, n_components=2, n_init=1, tol=0.05, discriminative=False, random_state=0
    )
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
    one = BinaryLCMClassifier(2, n_init=1, tol=0.1, discriminative=False, random_state=0).fit(
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
    with pytest.raises(ValueError, match=r"images has shape \(2, 64\), but shape=\(8, 9\) has 72"):
        ImagesDisplay(X[:2], (8, 9))
    with pytest.raises(ValueError, match="show='mistakes' needs X and y: the images and"):
        ImagesDisplay.from_estimator(model, (8, 8), show="mistakes", X=X)
    with pytest.raises(ValueError, match="show='errors' must be one of"):
        ImagesDisplay.from_estimator(model, (8, 8), show="errors")
    with pytest.raises(TypeError, match="NaiveBayes has no attribute weights_"):
        ImagesDisplay.from_estimator(NaiveBayes().fit(X, y), (8, 8), show="means")
    mixed = pd.DataFrame(X[:, 20:50]).assign(hue=np.tile(["r", "g", "b"], len(y))[: len(y)])
    mixed.columns = mixed.columns.astype(str)
    other = BinaryLCMClassifier(1, n_init=1, tol=0.1, discriminative=False, random_state=0).fit(
        mixed, y
    )
    with pytest.raises(ValueError, match="some of the 31 columns are not binary"):
        ImagesDisplay.from_estimator(other, (31, 1), show="means")


def test_numbers_are_no_pixels_and_missing_ones_are_left_out():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    bits = rng.random((40, 6)) < 0.3 + 0.4 * y[:, None]
    with pytest.raises(ValueError, match="column 'x0' as a number"):
        ImagesDisplay.from_estimator(TAN().fit(bits.astype(float), y), (2, 3))
    text = np.where(bits, "1", "0").astype(object)
    text[:, 5], text[0, 0] = "0", None
    model = NaiveBayes().fit(text, y)
    shown = ImagesDisplay.from_estimator(model, (2, 3), show="mistakes", X=text, y=1 - y)
    assert set(shown.images[:, 5]) == {0.0}
    drawn = ImagesDisplay.from_estimator(model, (2, 3), n_images=2, random_state=0)
    assert set(drawn.images[:, 5]) == {0.0}


def test_mistakes_of_a_sparse_table():
    y = np.arange(40) % 2
    bits = np.random.default_rng(0).random((40, 6)) < 0.3 + 0.4 * y[:, None]
    X = sp.csr_array(bits.astype(float))
    model = BinaryLCMClassifier(1, n_init=1, tol=0.5, discriminative=False, random_state=0).fit(
        X, y
    )
    shown = ImagesDisplay.from_estimator(model, (2, 3), show="mistakes", X=X, y=1 - y, n_images=40)
    assert len(shown.images) >= 20


@pytest.mark.parametrize("shape", [(-2, -3), 6, (2.0, 3.0), (6,)])
def test_an_impossible_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"shape=.*must be two whole numbers"):
        ImagesDisplay(np.zeros((1, 6)), shape)


def test_too_few_titles_are_refused():
    with pytest.raises(ValueError, match="titles has 1 entries for 2 images"):
        ImagesDisplay(np.zeros((2, 6)), (2, 3), titles=["one"])
