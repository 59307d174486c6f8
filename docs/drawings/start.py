"""Pictures of the first pages."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset

from ._style import BLUE, CLASS_COLOURS, MARKERS, ORANGE


def _wine_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the wines as the tutorial describes them: numbers, one text and one yes/no column."""
    wine = load_dataset("wine", container="pandas")
    table = wine.X[["Alcohol", "Malic_acid", "Hue"]].copy()
    table["shade"] = pd.cut(
        wine.X["Color_intensity"], [0, 3.5, 6, 20], labels=["pale", "medium", "deep"]
    ).astype(str)
    table["rich"] = wine.X["Proline"] > 750
    return table, "grower " + wine.y


def evidence() -> Figure:
    """Show one row's weights of evidence, and its posterior as the cells are taken away."""
    table, grower = _wine_table()
    model = NaiveBayes(random_state=0).fit(table, grower)
    # a wine that is fairly sure, has evidence on both sides, and is judged rightly
    posterior = model.predict_proba(table).max(axis=1)
    right = model.predict(table) == grower
    weights = model.explain(table).weights
    mixed = (weights < -0.4).any(axis=1) & (posterior > 0.8) & (posterior < 0.97) & right
    row = table.iloc[[int(np.flatnonzero(mixed)[0])]]
    explanation = model.explain(row)
    order = np.argsort(-np.abs(explanation.weights[0]))
    names = [explanation.feature_names[j] for j in order]

    figure, (left, right_axes) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    values = explanation.weights[0][order]
    labels = []
    for name in names:
        cell = row.iloc[0][name]
        shown = f"{cell:.2f}" if isinstance(cell, float) else {True: "yes", False: "no"}.get(cell)
        labels.append(f"{name} = {shown or cell}")
    left.barh(labels, values, color=[BLUE if v > 0 else ORANGE for v in values])
    left.bar_label(left.containers[0], fmt="%+.2f", padding=4)
    left.axvline(0, color="black", linewidth=0.8)
    left.invert_yaxis()
    left.margins(x=0.22)
    left.set_xlabel("weight of evidence (change in log-odds)")
    left.set_title(f"Why {explanation.target[0]}?", fontsize=11)

    seen = row.copy().astype(object)
    steps, ticks = [model.predict_proba(seen)[0]], ["all"]
    for name in names:
        seen[name] = None
        steps.append(model.predict_proba(seen)[0])
        ticks.append(f"without {name}" if len(ticks) == 1 else f"nor {name}")
    for k, label in enumerate(model.classes_):
        right_axes.plot(
            np.array(steps)[:, k], marker=MARKERS[k], color=CLASS_COLOURS[k], label=label
        )
    right_axes.set_xticks(range(len(ticks)), ticks, rotation=30, ha="right")
    right_axes.set_ylim(-0.03, 1.03)
    right_axes.set_ylabel("probability")
    right_axes.set_title("The same row as its cells go missing", fontsize=11)
    right_axes.legend(frameon=False)
    for axes in (left, right_axes):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
