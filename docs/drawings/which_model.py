"""The picture of the page on which model to choose."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ._style import BLUE, GREY

QUESTIONS = (
    ("No classes, only rows?", "LatentMixture"),
    ("No idea what suits,\nor only probabilities\nmatter?", "AutoLatent\nClassifier"),
    ("Rules to read?", "HNBClassifier"),
    ("Groups within each\nclass to read?", "LatentTree\nClassifier"),
    ("Other rules in other\nparts of the data?", "LatentVariable\nClassifier"),
    ("Few rows, or a quick\nyardstick?", "NaiveBayes"),
    ("Only numbers?", "LCMClassifierCV"),
    ("Only yes/no columns,\nsuch as pixels or words?", "BinaryLCM\nClassifier"),
)
LAST = ("Mixed columns", "HybridLCM\nClassifier")
# in inches, as is the figure: a phone shows the picture at about three quarters of its size
WIDTH, ROW, BOX = 4.5, 0.86, 0.62
LEFT, RIGHT = (0.05, 2.3), (2.85, 1.6)


def _box(axes: Any, where: tuple[float, float], y: float, text: str, model: bool) -> None:
    """Draw a question, or a model as the answer, in the middle of its row."""
    x, width = where
    style = {"facecolor": BLUE, "edgecolor": BLUE} if model else {"facecolor": "white"}
    axes.add_patch(
        FancyBboxPatch(
            (x + 0.05, y - BOX / 2),
            width - 0.1,
            BOX,
            boxstyle="round,pad=0.04",
            **{"edgecolor": GREY} | style,
        )
    )
    colour, weight = ("white", "bold") if model else ("black", "normal")
    axes.text(
        x + width / 2, y, text, ha="center", va="center", size=10, color=colour, weight=weight
    )


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": GREY, "shrinkA": 0})


def questions() -> Figure:
    """Show the questions from top to bottom, each with the model that a yes leads to."""
    n_rows = len(QUESTIONS) + 1
    figure = plt.figure(figsize=(WIDTH, n_rows * ROW))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(n_rows * ROW, 0))
    axes.axis("off")
    middle, edge = LEFT[0] + LEFT[1] / 2, LEFT[0] + LEFT[1]
    for row, (question, model) in enumerate((*QUESTIONS, LAST)):
        y = (row + 0.5) * ROW
        _box(axes, LEFT, y, question, model=False)
        _box(axes, RIGHT, y, model, model=True)
        _arrow(axes, (edge, y), (RIGHT[0], y))
        if row < n_rows - 1:
            axes.text((edge + RIGHT[0]) / 2, y - 0.06, "yes", ha="center", va="bottom", size=10)
            _arrow(axes, (middle, y + BOX / 2 + 0.04), (middle, y + ROW - BOX / 2 - 0.04))
            axes.text(middle + 0.1, y + ROW / 2, "no", ha="left", va="center", size=10)
    return figure
