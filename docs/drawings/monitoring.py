"""Pictures of monitoring. The table and the model are those of docs/how-to/monitoring.md."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentclass import HybridLCMClassifier
from latentclass import drift as find_drift
from latentclass.datasets import load_dataset

from ._style import BLUE, ORANGE


def _wines() -> tuple[HybridLCMClassifier, pd.DataFrame, pd.DataFrame]:
    """Return a model of half the wines, and the others, as they are and changed."""
    wine = load_dataset("wine", container="pandas")
    table = wine.X[["Alcohol", "Malic_acid", "Hue"]].copy()
    table["shade"] = pd.cut(
        wine.X["Color_intensity"], [0, 3.5, 6, 20], labels=["pale", "medium", "deep"]
    ).astype(str)
    grower = "grower " + wine.y.astype(str)
    rng = np.random.default_rng(0)
    table = table.mask(rng.random(table.shape) < 0.1)
    known = rng.random(len(table)) < 0.5
    model = HybridLCMClassifier(discriminative=False, random_state=0)
    model.fit(table[known], grower[known])
    later = table[~known]
    changed = later.assign(Alcohol=later["Alcohol"] + 0.6)
    changed.loc[changed.index[:12], "shade"] = "orange"
    return model, later, changed


def drift() -> Figure:
    """Show p-values of rows, and the distance of each column."""
    model, later, changed = _wines()
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    edges = np.linspace(0, 1, 21)
    for rows, colour, name in ((later, BLUE, "as they are"), (changed, ORANGE, "changed")):
        values = model.unusual(rows)
        left.hist(values, edges, histtype="step", color=colour, linewidth=1.8, label=name)
    left.axhline(len(later) / 20, color="black", linewidth=0.8, linestyle=":")
    left.set(xlabel="p-value of unusual", ylabel="rows", xlim=(0, 1))
    left.legend(frameon=False, fontsize=9)

    found = find_drift(model, changed)
    columns = sorted(found.columns, key=lambda column: -column.distance)
    colours = [ORANGE if column.p_value <= 0.01 else BLUE for column in columns]
    bars = right.barh([c.name for c in columns], [c.distance for c in columns], color=colours)
    texts = [f"p = {c.p_value:.2g}" for c in columns]
    right.bar_label(bars, texts, padding=3, fontsize=9)
    right.invert_yaxis()
    right.margins(x=0.35)
    right.set_xlabel("distance of the changed rows from the model")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
