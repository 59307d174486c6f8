"""Pictures of latent classification models for continuous columns."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from latentclass import LCMClassifier, LCMClassifierCV
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.plots import (
    BoundaryDisplay,
    LatentSpaceDisplay,
    LoadingsDisplay,
    ModelGraphDisplay,
    RestartsDisplay,
    SearchPathDisplay,
)


def graph() -> Figure:
    """Show the graphs of a linear model and of one with three components."""
    iris = load_dataset("iris", container="pandas")
    figure, both = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for axes, n_components in zip(both, (1, 3), strict=True):
        model = LCMClassifier(2, n_components, random_state=0).fit(iris.X, iris.y)
        ModelGraphDisplay.from_estimator(model, ax=axes)
        axes.set_title(f"n_latent=2, n_components={n_components}", fontsize=10)
    return figure


def regions() -> Figure:
    """Show regions over two columns as the model gets latent variables and components."""
    wine = load_dataset("wine", container="pandas")
    X = wine.X[["Flavanoids", "Color_intensity"]]
    models = {
        "NaiveBayes": NaiveBayes(),
        "n_latent=1": LCMClassifier(1, random_state=0),
        "n_latent=4": LCMClassifier(4, random_state=0),
        "n_latent=2, n_components=20": LCMClassifier(2, 20, random_state=0),
    }
    figure, four = plt.subplots(
        2, 2, figsize=(9, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    for axes, (title, model) in zip(four.flat, models.items(), strict=True):
        BoundaryDisplay.from_estimator(model.fit(X, wine.y), X, wine.y, ax=axes, legend=False)
        axes.set_title(title, fontsize=10)
        axes.label_outer()
    handles, labels = four[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="grower", loc="outside right center", frameon=False)
    return figure


def boundary() -> Figure:
    """Show regions over two of thirteen columns, the others integrated out."""
    wine = load_dataset("wine", container="pandas")
    model = LCMClassifier(n_latent=3, random_state=0).fit(wine.X, wine.y)
    display = BoundaryDisplay.from_estimator(
        model, wine.X, wine.y, features=("Alcohol", "Flavanoids")
    )
    display.ax_.get_legend().set_title("grower")
    return display.figure_


def latent() -> Figure:
    """Show the wines in their latent space, and what the latent variables are made of."""
    wine = load_dataset("wine", container="pandas")
    model = LCMClassifier(n_latent=3, random_state=0).fit(wine.X, wine.y)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.3), width_ratios=[1.25, 1], layout="constrained"
    )
    LatentSpaceDisplay.from_estimator(model, wine.X, wine.y, ax=left, legend=False)
    left.legend(title="grower", frameon=False)
    LoadingsDisplay.from_estimator(model, ax=right)
    return figure


def restarts() -> Figure:
    """Show ten starts that are all averaged, and ten of which one is kept."""
    wine = load_dataset("wine", container="numpy")
    figure, both = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    for axes, select in zip(both, ("average", "likelihood"), strict=True):
        model = LCMClassifier(3, select=select, tol=1e-3, max_iter=500, random_state=0)
        RestartsDisplay.from_estimator(model.fit(wine.X, wine.y), ax=axes)
        axes.set_title(f'select="{select}"', fontsize=10)
    ends = np.array([axes.get_ylim() for axes in both])
    for axes in both:
        axes.set_ylim(ends.min(), ends.max())
    both[1].set_ylabel("")
    return figure


def search() -> Figure:
    """Show the held-out log-loss as the model grows."""
    iris = load_dataset("iris", container="numpy")
    search = LCMClassifierCV(range(1, 9), [1, 2, 4], search="exhaustive", random_state=0)
    display = SearchPathDisplay.from_estimator(search.fit(iris.X, iris.y))
    return display.figure_
