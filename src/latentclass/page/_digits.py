"""The drawing page: a binary latent classification model of handwritten digits, and naive Bayes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits as sklearn_digits

from latentclass._types import BoolArray
from latentclass._version import __version__
from latentclass.datasets import load_dataset
from latentclass.datasets._folder import folder
from latentclass.datasets._openml import cache_folder
from latentclass.exceptions import DataSetUnavailableError, ModelFileError
from latentclass.files._save import load, save
from latentclass.lcm._binary_classifier import BinaryLCMClassifier
from latentclass.naive_bayes._naive_bayes import NaiveBayes
from latentclass.page._session import Session

NAMES = ("binary LCM", "naive Bayes")

GREY = 7
"""Largest of scikit-learn's 17 shades that counts as paper."""


class Digits(NamedTuple):
    """Images in black and white with their labels, and which of them are for training."""

    name: str
    X: BoolArray
    y: Any
    training: BoolArray
    shape: tuple[int, int]


def load_digits() -> Digits:
    """USPS, 16 x 16 pixels, if the data folder has it; otherwise scikit-learn's, 8 x 8."""
    if folder(None) is not None:
        with contextlib.suppress(DataSetUnavailableError):
            found = load_dataset("usps/bits", container="numpy", source="folder")
            training = np.asarray(found.split) == "train"
            return Digits("usps", np.asarray(found.X, dtype=bool), found.y, training, (16, 16))
    X, y = sklearn_digits(return_X_y=True)
    return Digits("digits", X > GREY, y.astype(str), np.arange(len(X)) % 2 == 0, (8, 8))


def digits_session(say: Callable[[str], Any]) -> Session:
    """A session with both models and the images that they have not learned from."""
    digits = load_digits()
    path = cache_folder() / f"{digits.name}-{__version__}.lc"
    models = _cached(path)
    if models is None:
        n = int(digits.training.sum())
        say(f"Learning from {n:,} images of {digits.name}. This is done once and takes a while.")
        models = fit_digits(digits)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save(dict(zip(NAMES, models, strict=True)), path)
        except OSError as error:
            say(f"The models could not be stored for next time: {error.strerror}.")
    unseen = ~digits.training
    return Session(
        models[0],
        digits.X[unseen],
        digits.y[unseen],
        beside=models[1],
        names=NAMES,
        target="a handwritten digit",
        image=digits.shape,
    )


def fit_digits(digits: Digits) -> tuple[Any, Any]:
    """Both models, fitted to the training images."""
    X, y = digits.X[digits.training], digits.y[digits.training]
    # one start: averages of several would make each stroke dearer
    binary = BinaryLCMClassifier(
        10, n_init=1, select="likelihood", discriminative=False, tol=0.05, random_state=0
    )
    return binary.fit(X, y), NaiveBayes().fit(X, y)


def _cached(path: Path) -> tuple[Any, Any] | None:
    if not path.is_file():
        return None
    try:
        found = load(path)
        return found[NAMES[0]], found[NAMES[1]]
    except (ModelFileError, OSError, KeyError, TypeError):
        return None  # it is written anew
