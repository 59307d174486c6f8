"""Pictures of latent classification models for binary columns."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from latentclass import BinaryLCMClassifier
from latentclass.baselines import NaiveBayes
from latentclass.plots import DisclosureDisplay, ImagesDisplay

from ._style import BLUE, CLASS_COLOURS, ORANGE


def bound() -> Figure:
    """Show the logistic function and its bounds; an exact and an approximate posterior."""
    a = np.linspace(-6, 6, 601)
    chance = 1 / (1 + np.exp(-a))

    def lower(xi: float) -> np.ndarray:
        rho = np.tanh(xi / 2) / (2 * xi)
        return np.exp((a - xi) / 2 - rho * (a**2 - xi**2) / 2) / (1 + np.exp(-xi))

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.1))
    left.plot(a, chance, color="black", label="logistic function")
    for xi, colour, style in zip((1, 2, 3), CLASS_COLOURS, ("-", "--", ":"), strict=True):
        left.plot(a, lower(xi), color=colour, linestyle=style, label=f"bound, ξ = {xi}")
    left.set_xlabel("log-odds a")
    left.set_ylabel("P(x = 1 | a)")
    left.legend(frameon=False, fontsize=8)
    # Example 3: z is N(0, 1), a = z, and x = 1 is seen; the bound's numbers after three steps
    exact = np.exp(-(a**2) / 2) * chance
    exact /= exact.sum() * (a[1] - a[0])
    near = np.exp(-((a - 0.406) ** 2) / (2 * 0.812)) / np.sqrt(2 * np.pi * 0.812)
    right.plot(a, exact, color="black", label="posterior of z")
    right.plot(a, near, color=BLUE, linestyle="--", label="its approximation by the bound")
    right.plot(a, chance - lower(1), color=ORANGE, linestyle=":", label="error of the bound, ξ = 1")
    right.set_xlabel("z")
    right.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


@cache
def _digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the digits as bits, their labels, and which rows are for training."""
    X, y = load_digits(return_X_y=True)
    return X > 7, y, np.arange(len(y)) % 2 == 0


@cache
def _all_ten() -> BinaryLCMClassifier:
    X, y, train = _digits()
    model = BinaryLCMClassifier(
        n_latent=10, n_init=2, tol=0.05, discriminative=False, random_state=0
    )
    return model.fit(X[train], y[train])


@cache
def _two_groups(n_components: int) -> BinaryLCMClassifier:
    """Return a model of the digits 0 or 1 against 6 or 7."""
    X, y, _ = _digits()
    chosen = np.isin(y, (0, 1, 6, 7))
    X, y = X[chosen], np.where(y[chosen] < 2, "0 or 1", "6 or 7")
    train = np.arange(len(y)) % 2 == 0
    model = BinaryLCMClassifier(
        10, n_components, n_init=5, select="likelihood", discriminative=False, random_state=0
    )
    return model.fit(X[train], y[train])


def _disclose(model: BinaryLCMClassifier | NaiveBayes) -> Figure:
    X, y, train = _digits()
    image = X[~train][np.flatnonzero(y[~train] == 3)[0]]
    lines = [0, 2, 3, 4, 5, 6, 8]
    return DisclosureDisplay.from_estimator(model, image, (8, 8), lines=lines).figure_


def disclosure() -> Figure:
    """Show what the model makes of a handwritten digit that it sees line by line."""
    return _disclose(_all_ten())


def disclosure_naive_bayes() -> Figure:
    """Show what naive Bayes makes of the same digit."""
    X, y, train = _digits()
    return _disclose(NaiveBayes().fit(X[train], y[train]))


def mistakes() -> Figure:
    """Show the digits that a model of all ten gets wrong, the most confident mistakes first."""
    X, y, train = _digits()
    return ImagesDisplay.from_estimator(
        _all_ten(), (8, 8), show="mistakes", X=X[~train], y=y[~train], n_images=20
    ).figure_


def samples() -> Figure:
    """Show images drawn from models with one and two components."""
    figure = plt.figure(figsize=(8.2, 4.2))
    for n_components, part in zip((1, 2), figure.subfigures(2, 1, hspace=0.05), strict=True):
        model = _two_groups(n_components)
        ImagesDisplay.from_estimator(model, (8, 8), n_images=10, random_state=0, figure=part)
        plural = "s" if n_components > 1 else ""
        part.suptitle(f"{n_components} component{plural}", fontsize=9)
    return figure


def means() -> Figure:
    """Show the mean images of the two classes and of their components."""
    return ImagesDisplay.from_estimator(_two_groups(2), (8, 8), show="means").figure_
