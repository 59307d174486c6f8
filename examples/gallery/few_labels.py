"""Few labels and many rows.

Large marks are means over four draws of the labelled wines. With two or four labels for each
grower, the rows without a label raise the share of right answers. With eight they no longer do.
On other tables they may not help at all.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from latentclass import LCMClassifier

X, y = load_wine(return_X_y=True)
counts, n_draws = [2, 4, 8], 4
right = np.zeros((2, len(counts), n_draws))
for j, n_labels in enumerate(counts):
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        known = np.concatenate(
            [rng.choice(np.flatnonzero(y == k), n_labels, replace=False) for k in range(3)]
        )
        rest = np.setdiff1d(np.arange(len(y)), known)
        labels = np.full(len(y), None)  # None: no label
        labels[known] = y[known]
        model = LCMClassifier(n_latent=2, n_init=2, calibrate=False, random_state=0)
        right[0, j, draw] = model.fit(X[known], y[known]).score(X[rest], y[rest])
        right[1, j, draw] = model.fit(X, labels).score(X[rest], y[rest])

figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
styles = [("labelled rows only", "s--", "#D55E00"), ("and all other rows", "o-", "#0072B2")]
for (name, style, colour), shares in zip(styles, right, strict=True):
    axes.plot(counts, shares, style[0], color=colour, alpha=0.3, markersize=4)
    axes.plot(counts, shares.mean(axis=1), style, color=colour, label=name)
axes.set(xlabel="labelled wines of each grower", ylabel="share of the others right")
axes.set_xticks(counts)
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "few_labels.png", dpi=150)
