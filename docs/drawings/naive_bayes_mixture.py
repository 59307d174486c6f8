"""Pictures of the naive Bayes models with mixtures."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentclass.baselines import FiniteMixtureNaiveBayes, MixtureNaiveBayes, NaiveBayes
from latentclass.datasets import load_dataset

from ._style import (
    BLUE,
    CLASS_COLOURS,
    GREY,
    MARKERS,
    ORANGE,
    corners,
    grid_points,
    shade_classes,
)


def shapes() -> Figure:
    """Show an attribute that is not Gaussian, and two that predict the class only together."""
    wine = load_dataset("wine", container="pandas")
    column = "Malic_acid"
    values = wine.X[column].to_numpy(dtype=float)
    labels, line = np.unique(wine.y), np.linspace(values.min() - 0.5, 5.0, 500)
    models = {
        "NaiveBayes": NaiveBayes().fit(wine.X[[column]], wine.y),
        "MixtureNaiveBayes": MixtureNaiveBayes(random_state=0).fit(wine.X[[column]], wine.y),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    mine = values[wine.y == labels[0]]
    left.hist(mine, bins=24, density=True, color=GREY, alpha=0.3)
    for (name, model), style, colour in zip(
        models.items(), ["--", "-"], [ORANGE, BLUE], strict=True
    ):
        table = pd.DataFrame({column: line})
        density = np.exp(model.predict_joint_log_proba(table)[:, 0]) / model.class_prior_[0]
        left.plot(line, density, style, color=colour, label=name)
    left.set_xlabel(f"{column}, grower {labels[0]}")
    left.set_ylabel("density")
    left.legend(frameon=False, fontsize=8)

    X, y = corners()
    model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
    grid, points = grid_points((-3.5, -3.5), (7.5, 7.5))
    shade_classes(right, grid, model.predict(points), 2)
    for k in range(2):
        right.scatter(*X[y == k].T, s=14, marker=MARKERS[k], facecolor="none",
                      edgecolor=CLASS_COLOURS[k], linewidth=0.7)  # fmt: skip
        right.scatter(*model.means_[k].T, s=90, marker=MARKERS[k], color=CLASS_COLOURS[k],
                      edgecolor="black")  # fmt: skip
    share = [np.mean(m.fit(X, y).predict(X) == y) for m in (NaiveBayes(), model)]
    right.set_title(
        f"NaiveBayes {share[0]:.0%} correct, FiniteMixtureNaiveBayes {share[1]:.0%}", fontsize=10
    )
    right.set_xlabel("two attributes; filled markers are the components")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
