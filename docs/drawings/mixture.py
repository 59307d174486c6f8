"""Pictures of latent mixtures."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from latentclass import LatentMixture
from latentclass.datasets import load_dataset
from latentclass.plots import ComponentsDisplay

from ._style import BLUE, GREEN, GREY, ORANGE


def searches() -> Figure:
    """Show the objective of four searches from the same starts, by iteration."""
    X = load_dataset("iris", container="numpy").X
    figure, row = plt.subplots(1, 4, figsize=(11, 2.9), sharey=True, layout="constrained")
    titles = {"em": "EM", "kmeans": "K-Means", "era": "ERA", "anneal": "annealing"}
    for axes, (search, title) in zip(row, titles.items(), strict=True):
        model = LatentMixture(
            3, search, n_init=6, max_iter=60, accelerate=False, tol=1e-5, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        kept = int(np.flatnonzero(model.restarts_["kept"])[0])
        for start, trace in enumerate(model.traces_):
            mine = start == kept
            axes.plot(trace, color=BLUE if mine else GREY, alpha=1 if mine else 0.4, linewidth=1)
        axes.plot(model.history_, color=ORANGE, linestyle="--", linewidth=1.4)
        axes.set(title=title, xlabel="iteration", xlim=(0, 60), ylim=(-2.62, -2.38))
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylabel("objective per row")
    row[2].plot([], [], color=BLUE, label="kept start")
    row[2].plot([], [], color=ORANGE, linestyle="--", label="its best so far")
    row[2].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def era() -> Figure:
    """Show ERA on two overlapping normals, as in Davidson's Figure 5."""
    rng = np.random.default_rng(3)
    X = rng.normal(3.0 * rng.integers(0, 2, 1000), 1.0)[:, None]
    truth = np.log(0.5 * norm.pdf(X, [0.0, 3.0]).sum(axis=1)).sum()
    model = LatentMixture(2, "era", prior=None, n_init=3, max_iter=200, random_state=0).fit(X)
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for trace, colour in zip(model.traces_, (BLUE, ORANGE, GREEN), strict=True):
        axes.plot(1000 * np.array(trace), color=colour, linewidth=0.9)
    axes.axhline(truth, color="black", linestyle="--", linewidth=1)
    axes.annotate("the generating parameters", (200, truth), xytext=(-4, -12), ha="right",
                  textcoords="offset points", fontsize=8)  # fmt: skip
    axes.set(xlabel="iteration", ylabel="log-likelihood", xlim=(0, 200), ylim=(truth - 25, None))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def components() -> Figure:
    """Show three components of iris, fitted without the species."""
    iris = load_dataset("iris", container="pandas")
    model = LatentMixture(3, random_state=0).fit(iris.X)
    return ComponentsDisplay.from_estimator(model).figure_


def best() -> Figure:
    """Show what four searches find with 1 to 8 components, as in Davidson's Figures 2 to 4."""
    figure, row = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    styles = {"em": (BLUE, "o", "EM"), "kmeans": (ORANGE, "s", "K-Means"),
              "era": (GREEN, "^", "ERA"), "anneal": (GREY, "D", "annealing")}  # fmt: skip
    names = {"pima": "diabetes", "iris": "iris", "breast-w": "breast-w"}
    sizes = range(1, 9)
    for axes, (title, name) in zip(row, names.items(), strict=True):
        X = load_dataset(name, container="numpy").X
        for search, (colour, marker, label) in styles.items():
            values = []
            for k in sizes:
                model = LatentMixture(k, search, n_init=20, max_iter=300, random_state=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    values.append(len(X) * model.fit(X).history_[-1])
            axes.plot(sizes, values, color=colour, marker=marker, markersize=4, label=label)
        axes.set(title=title, xlabel="components")
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylabel("objective, all rows")
    row[0].legend(frameon=False, fontsize=8, title="best of 20 starts")
    return figure
