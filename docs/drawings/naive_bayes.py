"""Pictures of naive Bayes."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset

from ._style import BLUE, CLASS_COLOURS, GREY, MARKERS, ORANGE, grid_points, shade_classes


def regions() -> Figure:
    """Show decision regions learned from six labelled wines, without and with unlabelled ones."""
    wine = load_dataset("wine", container="numpy")
    X, y = wine.X[:, [0, 6]], wine.y  # Alcohol, Flavanoids
    rng = np.random.default_rng(3)
    chosen = [rng.choice(np.flatnonzero(y == k), 2, replace=False) for k in np.unique(y)]
    labels = np.full(len(y), None, dtype=object)
    labels[np.concatenate(chosen)] = y[np.concatenate(chosen)]
    known = np.array([label is not None for label in labels])
    models = {
        "6 labelled rows": NaiveBayes().fit(X[known], y[known]),
        f"the same 6 and {np.sum(~known)} unlabelled": NaiveBayes().fit(X, labels),
    }
    grid, points = grid_points(X.min(axis=0) - 0.3, X.max(axis=0) + 0.3)

    figure, both = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
    for axes, (title, model) in zip(both, models.items(), strict=True):
        codes = np.searchsorted(model.classes_, model.predict(points))
        shade_classes(axes, grid, codes, 3)
        for k, label in enumerate(model.classes_):
            mine = y == label
            axes.scatter(
                *X[mine & ~known].T,
                s=16,
                marker=MARKERS[k],
                facecolor="none",
                edgecolor=CLASS_COLOURS[k],
                linewidth=0.7,
            )
            axes.scatter(
                *X[mine & known].T,
                s=70,
                marker=MARKERS[k],
                color=CLASS_COLOURS[k],
                edgecolor="black",
                label=f"grower {label}",
            )
        accuracy = np.mean(model.predict(X[~known]) == y[~known])
        axes.set_title(f"{title}: {accuracy:.0%} of the others correct", fontsize=10)
        axes.set_xlabel("Alcohol")
    both[0].set_ylabel("Flavanoids")
    both[0].legend(
        frameon=True, fontsize=8, loc="upper left", title="labelled (filled)", title_fontsize=8
    )
    return figure


def reliability() -> Figure:
    """Show how often predictions of probability p are correct, before and after calibration."""
    cancer = load_breast_cancer()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    left.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect")
    claimed = np.logspace(-6, np.log10(0.5), 60)
    right.plot(claimed, claimed, color=GREY, linestyle=":", label="upper limit if perfect")
    for calibrate, colour, marker in ((False, ORANGE, "s"), (True, BLUE, "o")):
        model = NaiveBayes(calibrate=calibrate, random_state=0)
        proba = cross_val_predict(
            model, cancer.data, cancer.target, cv=folds, method="predict_proba"
        )[:, 1]
        true, said = calibration_curve(cancer.target, proba, n_bins=5)
        counts = np.histogram(proba, bins=np.linspace(0, 1, 6))[0]
        sizes = 2.5 * np.sqrt(counts[counts > 0]) ** 1.6 + 12
        of_class = np.where(cancer.target == 1, proba, 1 - proba)
        loss = -np.mean(np.log(np.maximum(of_class, 1e-15)))
        name = f"calibrate={calibrate}"
        left.plot(said, true, color=colour, linewidth=0.8)
        left.scatter(said, true, s=sizes, color=colour, marker=marker, alpha=0.8)
        left.plot([], [], color=colour, marker=marker, label=f"{name}, log-loss {loss:.2f}")
        doubt, wrong = np.minimum(proba, 1 - proba), of_class < 0.5
        # fewer than 20 rows say little about a rate
        rate = [wrong[doubt <= c].mean() if np.sum(doubt <= c) >= 20 else np.nan for c in claimed]
        right.plot(claimed, rate, color=colour, linestyle="-" if calibrate else "--", label=name)
    left.set_xlabel("predicted probability of 'benign'")
    left.set_ylabel("share of benign rows")
    left.set_title("Reliability on held-out folds (larger: more rows)", fontsize=11)
    left.legend(frameon=False, loc="lower right", fontsize=9)
    right.set_xscale("log")
    right.set_xlabel("rows with a predicted error probability of at most ...")
    right.set_ylabel("share of them that are wrong")
    right.set_ylim(-0.003, 0.1)
    right.set_title("Error rate of confident predictions", fontsize=11)
    right.legend(frameon=False, loc="upper left", fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
