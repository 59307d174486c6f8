"""Rows whose cells do not fit together.

Three irises were given a wrong sepal length. Each number is one that irises have, but not with
these petals. The p-value judges all cells of a row together, and these rows have the smallest.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from latentclass import LCMClassifier
from latentclass.datasets import load_dataset

iris = load_dataset("iris", container="pandas")
table, wrong = iris.X.copy(), [10, 30, 140]
table.loc[wrong, "sepallength"] = [7.2, 6.9, 4.6]
model = LCMClassifier(n_latent=3, random_state=0).fit(table, iris.y)
p_value = model.unusual(table)

figure, axes = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
points = axes.scatter(
    table["sepallength"], table["petallength"], c=np.log10(p_value), cmap="viridis", s=28
)
axes.scatter(
    *table.loc[wrong, ["sepallength", "petallength"]].to_numpy().T,
    s=160, facecolor="none", edgecolor="#D55E00", linewidth=2, label="changed by us",
)  # fmt: skip
axes.set(xlabel="sepal length (cm)", ylabel="petal length (cm)")
axes.legend(frameon=False)
figure.colorbar(points, label="p-value, as a power of ten")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "unusual_rows.png", dpi=150)
