"""Pictures of the first pages. The table is that of docs/tutorial/python.md."""

from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from latentclass import HybridLCMClassifier
from latentclass.datasets import load_dataset

from ._style import CLASS_COLOURS, GREY

WINE = 112  # complete, without a label in the fit, and with cells for and against the answer


def _wines() -> tuple[pd.DataFrame, pd.Series]:
    """Return the table with missing cells, and the labels, half of them missing."""
    wine = load_dataset("wine", container="pandas")
    table = wine.X[["Alcohol", "Malic_acid", "Hue"]].copy()
    table["shade"] = pd.cut(
        wine.X["Color_intensity"], [0, 3.5, 6, 20], labels=["pale", "medium", "deep"]
    ).astype(str)
    table["rich"] = (wine.X["Proline"] > 750).astype("boolean")
    rng = np.random.default_rng(0)
    table = table.mask(rng.random(table.shape) < 0.1)
    grower = pd.Series("grower " + wine.y, dtype=object).mask(rng.random(len(table)) < 0.5)
    return table, grower


@cache
def _model() -> HybridLCMClassifier:
    return HybridLCMClassifier(random_state=0).fit(*_wines())


def _text(cell: Any) -> str:
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def evidence() -> Figure:
    """Show what supports a prediction, and the predictions from fewer and fewer cells."""
    model, row = _model(), _wines()[0].iloc[[WINE]].astype(object)
    figure, (left, table, bars) = plt.subplots(
        1, 3, figsize=(10, 3.3), width_ratios=[1.25, 1.5, 1], layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.1)
    explanation = model.explain(row)
    answer = explanation.target[0]
    colour = CLASS_COLOURS[list(model.classes_).index(answer)]
    explanation.plot(ax=left, colour=colour)
    left.set_title(f"Why {answer}?", fontsize=11, pad=18)

    names = list(row.columns)
    holes = pd.concat([row] * (len(names) + 1), ignore_index=True)
    for n_missing in range(1, len(names) + 1):
        holes.loc[n_missing, names[-n_missing:]] = None
    _draw_cells(table, holes)
    _draw_shares(bars, model.predict_proba(holes), model.classes_)
    return figure


def _draw_cells(axes: Any, holes: pd.DataFrame) -> None:
    """Draw a table with its missing cells in grey."""
    n_rows, n_columns = holes.shape
    for i in range(n_rows):
        for j in range(n_columns):
            missing = pd.isna(holes.iat[i, j])
            face = "#E4E4E4" if missing else "white"
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=face, edgecolor=GREY, linewidth=0.6))
            text = "?" if missing else _text(holes.iat[i, j])
            colour = GREY if missing else "black"
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", size=9, color=colour)
    for j, name in enumerate(holes.columns):
        axes.text(j + 0.5, -0.12, name, ha="center", va="bottom", size=8)
    axes.set(xlim=(0, n_columns), ylim=(n_rows, 0))
    axes.axis("off")
    axes.set_title("The same wine with missing cells ...", fontsize=11, pad=18)


def _draw_shares(axes: Any, proba: np.ndarray, classes: np.ndarray) -> None:
    """Draw each row of class probabilities as one bar of three parts."""
    start = np.zeros(len(proba))
    for k, label in enumerate(classes):
        middle = np.arange(len(proba)) + 0.5
        axes.barh(middle, proba[:, k], 0.8, left=start, color=CLASS_COLOURS[k], label=label)
        for i in np.flatnonzero(proba[:, k] > 0.12):
            where = (start[i] + proba[i, k] / 2, middle[i])
            text = f"{proba[i, k]:.0%}"
            axes.text(*where, text, ha="center", va="center", size=9, color="white")
        start += proba[:, k]
    axes.set(xlim=(0, 1), ylim=(len(proba), 0))
    axes.axis("off")
    axes.set_title("... and the answer to each", fontsize=11, pad=18)
    axes.legend(
        ncols=3,
        frameon=False,
        fontsize=8,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        handlelength=1,
        columnspacing=1,
    )
