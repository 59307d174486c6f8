"""Completed cells and how sure they are.

The petal width of every third iris is hidden and completed from the other three cells. As the
model knows the density of any row, it also gives a range that holds the value with 90 %.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from latentclass import LCMClassifier
from latentclass.datasets import load_dataset

iris = load_dataset("iris", container="pandas")
hidden = np.arange(150) % 3 == 0
model = LCMClassifier(n_latent=3, random_state=0).fit(iris.X[~hidden], iris.y[~hidden])
rows = iris.X[hidden].assign(petalwidth=np.nan)
guess = model.complete(rows)["petalwidth"].to_numpy()
truth = iris.X.loc[hidden, "petalwidth"].to_numpy()

values = np.linspace(-0.5, 3.5, 401)  # p(value | other cells) is proportional to p(whole row)
density = np.exp([model.score_samples(rows.assign(petalwidth=v)) for v in values])
below = density.cumsum(axis=0) / density.sum(axis=0)
low, high = values[(below < 0.05).sum(axis=0)], values[(below < 0.95).sum(axis=0)]
inside = (low <= truth) & (truth <= high)

order, place = np.argsort(guess), np.arange(hidden.sum())
figure, axes = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
axes.vlines(place, low[order], high[order], color="#56B4E9", linewidth=4, label="90 % range")
axes.plot(place, guess[order], "_", color="#0072B2", markersize=7, label="completed")
axes.plot(place, truth[order], ".", color="#D55E00", label="hidden value")
axes.set(xlabel="irises, by completed value", ylabel="petal width (cm)")
axes.set_title(f"{inside.sum()} of {len(inside)} hidden values lie in their range")
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "completed_cells.png", dpi=150)
