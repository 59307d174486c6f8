"""Pictures of latent trees."""

import contextlib
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from refresh import run_examples

from latentclass import LatentTreeClassifier
from latentclass.datasets import load_dataset
from latentclass.plots import LatentTreeDisplay

from ._style import BLUE, GREY, ORANGE


def tree() -> Figure:
    """Show the tree of one class of corral, edges as wide as their information."""
    corral = load_dataset("corral", container="pandas")
    model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    return LatentTreeDisplay.from_estimator(model, "0").figure_


def cut_sets() -> Figure:
    """Show a class probability over one column, with one set of cut points and with ten."""
    iris = load_dataset("iris", container="pandas")
    X = iris.X.iloc[50:, [2]]
    grid = pd.DataFrame({X.columns[0]: np.linspace(3.5, 6.5, 601)})
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for n_cuts, colour in ((1, ORANGE), (10, BLUE)):
        model = LatentTreeClassifier(n_cuts=n_cuts, random_state=0).fit(X, iris.y[50:])
        chance = model.predict_proba(grid)[:, 1]
        axes.plot(grid.iloc[:, 0], chance, color=colour, label=f"n_cuts={n_cuts}")
    axes.plot(X, np.where(iris.y[50:] == model.classes_[1], 1.04, -0.04), "|", color=GREY)
    axes.set(xlabel=X.columns[0], ylabel=f"P({model.classes_[1]})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def reading() -> Figure:
    """Show the tree that docs/how-to/latent-tree.md reads."""
    page = Path(__file__).parents[1] / "how-to" / "latent-tree.md"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        model = run_examples(page)[1]["model"]
    return LatentTreeDisplay.from_estimator(model, "leaves").figure_
