"""The picture of an image that is disclosed line by line."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from latentclass.plots import DisclosureDisplay
from plain import BinaryLCMClassifier, NaiveBayes

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    chosen = y < 2
    return X[chosen] > 7, y[chosen]


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    return BinaryLCMClassifier(3, n_init=1, tol=0.05, discriminative=False, random_state=0).fit(
        X[20:], y[20:]
    )


def test_more_lines_tell_more(digits, model):
    X, y = digits
    display = DisclosureDisplay.from_estimator(model, X[0], (8, 8), lines=[0, 2, 5, 8])
    assert display.ax_.shape == (4, 4)
    np.testing.assert_allclose(display.posterior[0], model.class_prior_, rtol=1e-9)
    np.testing.assert_allclose(display.posterior[-1], model.predict_proba(X[[0]])[0], rtol=1e-9)
    assert display.classes[display.posterior[-1].argmax()] == y[0]
    assert np.isnan(display.seen[1]).sum() == 48
    for filled in (display.expected, display.most_probable):
        assert not np.isnan(filled).any()
        assert np.array_equal(filled[:, :0], X[[0] * 4, :0])
        assert np.array_equal(filled[2, :40], X[0, :40].astype(float))
    hidden = display.expected[1, 16:]
    assert np.all((hidden > 0) & (hidden < 1))


@pytest.mark.parametrize("shape", [(8, 8), (4, 16), (16, 4)])
def test_the_picture_fills_its_figure(digits, model, shape):
    display = DisclosureDisplay.from_estimator(model, digits[0][0], shape, lines=[0, 2, 3, 4])
    figure = display.figure_
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    drawn = figure.get_tightbbox()
    for margin in (drawn.x0, drawn.y0, width - drawn.x1, height - drawn.y1):
        assert 0.0 <= margin < 0.15  # inches
    # images as wide as their place: no wide gaps between the stages either
    boxes = [ax.get_position() for ax in display.ax_[0]]
    gaps = [width * (right.x0 - left.x1) for left, right in pairwise(boxes)]
    assert max(gaps) < 0.25


def test_naive_bayes_and_frames_can_be_drawn_too(digits):
    X, y = digits
    frame = pd.DataFrame(X).add_prefix("p")
    plain = NaiveBayes().fit(frame, y)
    display = DisclosureDisplay.from_estimator(plain, X[1].reshape(8, 8), (8, 8))
    assert len(display.seen) == 8
    # given what is seen, naive Bayes expects a mixture of the classes' means
    chance = np.stack([plain.probabilities_[name][:, 1] for name in frame.columns], axis=1)
    expected = display.posterior[2] @ chance
    np.testing.assert_allclose(display.expected[2, 24:], expected[24:], rtol=1e-8)


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (np.zeros(10), {}, "The image has 10 pixels, shape=\\(8, 8\\) has 64, and the model was"),
        (
            np.full(64, 0.5),
            {},
            r"The image must contain only 0 and 1\. Binarise it first: image > 0\.",
        ),
        (np.zeros(64), {"lines": [9]}, r"lines=\[9\] must be a list of numbers from 0 to 8\."),
        (np.zeros(64), {"lines": []}, r"lines=\[\] must be a list of numbers from 0 to 8\."),
    ],
)
def test_what_is_no_image_is_refused(model, image, options, message):
    with pytest.raises(ValueError, match=message):
        DisclosureDisplay.from_estimator(model, image, (8, 8), **options)
