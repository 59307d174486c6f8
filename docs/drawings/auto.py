"""Pictures of the classifier that chooses."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from latentclass import AutoLatentClassifier

from ._style import BLUE, GREY, ORANGE


def leaderboard() -> Figure:
    """Show the held-out log-loss of each candidate and of the average."""
    X, y = load_wine(return_X_y=True)
    quick = ["NaiveBayes", "AODE", "TAN", "LatentVariableClassifier"]
    model = AutoLatentClassifier(time_budget=None, families=quick, random_state=0).fit(X, y)
    rows = list(model.leaderboard_)
    place = np.arange(len(rows), 0, -1)
    figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
    for at, row in zip(place, rows, strict=True):
        axes.barh(
            at, row.log_loss, color=BLUE if row.weight else GREY, alpha=0.35 + 0.6 * row.weight
        )
        axes.text(row.log_loss, at, f"  weight {row.weight:.2f}", va="center", fontsize=8)
    axes.barh(0, model.calibration_["log_loss_before"], color=ORANGE)
    axes.set_yticks([*place, 0], [*(row.family for row in rows), "average"], fontsize=8)
    axes.set_xlabel("held-out log-loss")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
