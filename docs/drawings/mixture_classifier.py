"""Pictures of the latent variable classifier."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from latentclass import LatentVariableClassifier
from latentclass.baselines import NaiveBayes

from ._style import BLUE, MARKERS, ORANGE, corners, grid_points


def regions() -> Figure:
    """Show corners that naive Bayes cannot separate, and two components that can."""
    X, y = corners()
    grid, points = grid_points((-3.5, -3.5), (7.5, 7.5))
    figure, both = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
    models = {
        "NaiveBayes": NaiveBayes(),
        "two components": LatentVariableClassifier(None, 2, random_state=0),
    }
    for axes, (title, model) in zip(both, models.items(), strict=True):
        model.fit(X, y)
        shown = model.predict_proba(points)[:, 1].reshape(grid[0].shape)
        axes.contourf(*grid, shown, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.45)
        axes.contour(*grid, shown, levels=[0.5], colors="black", linewidths=0.8)
        for k, colour in ((0, ORANGE), (1, BLUE)):
            axes.scatter(*X[y == k].T, s=14, marker=MARKERS[k], facecolor="none", edgecolor=colour,
                         linewidth=0.7)  # fmt: skip
        if title != "NaiveBayes":
            axes.scatter(*model.means_.T, s=160, marker="X", color="black", label="components")
            axes.legend(frameon=False, fontsize=8)
        axes.set_title(f"{title}: {np.mean(model.predict(X) == y):.0%} correct", fontsize=10)
    return figure
