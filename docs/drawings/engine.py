"""Pictures of the page on the restart engine."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset

from ._style import BLUE, GREY, ORANGE


def _restart_traces(n_init: int, steps: int) -> tuple[list[dict[int, float]], np.ndarray]:
    """Return each start's objective by M-step, and which start was kept.

    A fit records the history of the kept start only. But fits that differ only in `max_iter` take
    the same steps, so each fit adds one more step of every start that still moves.
    """
    wine = load_dataset("wine", container="numpy")
    rng = np.random.default_rng(1)
    chosen = [rng.choice(np.flatnonzero(wine.y == k), 3, replace=False) for k in np.unique(wine.y)]
    labels = np.full(len(wine.y), None, dtype=object)
    labels[np.concatenate(chosen)] = wine.y[np.concatenate(chosen)]
    traces: list[dict[int, float]] = [{} for _ in range(n_init)]
    for max_iter in range(1, steps + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = NaiveBayes(n_init=n_init, max_iter=max_iter, tol=1e-5, random_state=0)
            restarts = model.fit(wine.X, labels).restarts_
        for start in range(n_init):
            traces[start][int(restarts["n_iter"][start])] = float(restarts["objective"][start])
    return traces, restarts["kept"]


def restarts() -> Figure:
    """Show sixteen starts, the worse half dropped after 1, 2, 4, ... more steps."""
    n_init, steps = 16, 24
    traces, kept = _restart_traces(n_init, steps)
    best = max(max(trace.values()) for trace in traces)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for start in np.argsort(kept):
        at = sorted(traces[start])
        # on a log scale the best is at minus infinity, so it ends at the bottom of the picture
        below = [max(best - traces[start][i], 1e-5) for i in at]
        colour, width = (BLUE, 2.6) if kept[start] else (ORANGE, 1.1)
        axes.plot(at, below, color=colour, linewidth=width, zorder=3 if kept[start] else 2)
        axes.plot(at[-1], below[-1], color=colour, marker="o" if kept[start] else "x", zorder=4)
    axes.plot([], [], color=BLUE, marker="o", linewidth=2.6, label="kept")
    axes.plot([], [], color=ORANGE, marker="x", linewidth=1.1, label="dropped, or not the best")
    place, moves = 2, 1  # the start itself counts as an M-step
    while any(max(trace) > place for trace in traces):
        going = sum(max(trace) > place for trace in traces)
        axes.axvline(place, color=GREY, linewidth=0.7, linestyle=":")
        axes.text(
            place + 0.1,
            1.01,
            f"{going} continue",
            transform=axes.get_xaxis_transform(),
            fontsize=9,
            color=GREY,
        )
        moves *= 2
        place += moves
    axes.set_yscale("log")
    axes.set_xlabel("M-steps")
    axes.set_ylabel("objective per row below the best")
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
