"""Draw the pictures of the documentation into docs/pictures. Run it after a change that they show.

Everything is seeded, and the files carry no date, so a second run gives the same pictures.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from latentclass import (
    BinaryLCMClassifier,
    HNBClassifier,
    HybridLCMClassifier,
    LatentMixture,
    LatentTreeClassifier,
    LatentVariableClassifier,
    LCMClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import (
    FiniteMixtureNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
)
from latentclass.datasets import load_dataset
from latentclass.plots import (
    BoundaryDisplay,
    ComponentsDisplay,
    DisclosureDisplay,
    HierarchyDisplay,
    ImagesDisplay,
    LatentSpaceDisplay,
    LatentTreeDisplay,
    LoadingsDisplay,
    ModelGraphDisplay,
    RestartsDisplay,
    SearchPathDisplay,
)

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap

FOLDER = Path(__file__).parent / "pictures"

# Okabe and Ito's colours: told apart with any kind of colour vision, and in grey by the markers.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
CLASS_COLOURS, MARKERS = [BLUE, ORANGE, GREEN], ["o", "s", "^"]


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def wine_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the wines as the tutorial describes them: numbers, one text and one yes/no column."""
    wine = load_dataset("wine", container="pandas")
    table = wine.X[["Alcohol", "Malic_acid", "Hue"]].copy()
    table["shade"] = pd.cut(
        wine.X["Color_intensity"], [0, 3.5, 6, 20], labels=["pale", "medium", "deep"]
    ).astype(str)
    table["rich"] = wine.X["Proline"] > 750
    return table, "grower " + wine.y


def draw_evidence() -> None:
    """Show one row's weights of evidence, and its posterior as the cells are taken away."""
    table, grower = wine_table()
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
    save(figure, "evidence")


def draw_regions() -> None:
    """Show decision regions learned from six labelled wines, alone and with the unlabelled."""
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
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    grid = np.meshgrid(np.linspace(low[0], high[0], 240), np.linspace(low[1], high[1], 240))
    points = np.column_stack([axis.ravel() for axis in grid])

    figure, both = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
    for axes, (title, model) in zip(both, models.items(), strict=True):
        regions = np.searchsorted(model.classes_, model.predict(points)).reshape(grid[0].shape)
        axes.pcolormesh(
            *grid,
            regions,
            cmap=ListedColormap(CLASS_COLOURS),
            alpha=0.18,
            shading="auto",
            rasterized=True,
            vmin=0,
            vmax=2,
        )
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
        axes.set_title(f"{title}: {accuracy:.0%} of the others right", fontsize=10)
        axes.set_xlabel("Alcohol")
    both[0].set_ylabel("Flavanoids")
    both[0].legend(
        frameon=True, fontsize=8, loc="upper left", title="labelled (filled)", title_fontsize=8
    )
    save(figure, "regions")


def draw_reliability() -> None:
    """Show how often the model is right when it says p, before and after calibration."""
    cancer = load_breast_cancer()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    left.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="perfect")
    claimed = np.logspace(-6, np.log10(0.5), 60)
    right.plot(claimed, claimed, color=GREY, linestyle=":", label="at most this if perfect")
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
    left.set_xlabel("probability of 'benign' that the model gives")
    left.set_ylabel("share that is benign")
    left.set_title("Reliability on held-out folds (larger: more rows)", fontsize=11)
    left.legend(frameon=False, loc="lower right", fontsize=9)
    right.set_xscale("log")
    right.set_xlabel("rows whose claimed chance of error is at most ...")
    right.set_ylabel("share of them that is wrong")
    right.set_ylim(-0.003, 0.1)
    right.set_title("How wrong the sure answers are", fontsize=11)
    right.legend(frameon=False, loc="upper left", fontsize=9)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, "reliability")


def restart_traces(n_init: int, steps: int) -> tuple[list[dict[int, float]], np.ndarray]:
    """Return each start's objective by M-step, and which start was kept.

    A fit shows the kept start's history only. But fits that differ in nothing but `max_iter` go
    the same way as far as they go, so each adds one step of every start that still moves.
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


def draw_restarts() -> None:
    """Show the pyramid: sixteen starts, halved after 1, 2, 4, ... further steps."""
    n_init, steps = 16, 24
    traces, kept = restart_traces(n_init, steps)
    best = max(max(trace.values()) for trace in traces)
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for start in np.argsort(kept):
        at = sorted(traces[start])
        # the best would be at minus infinity: it ends at the foot of the picture
        below = [max(best - traces[start][i], 1e-5) for i in at]
        colour, width = (BLUE, 2.6) if kept[start] else (ORANGE, 1.1)
        axes.plot(at, below, color=colour, linewidth=width, zorder=3 if kept[start] else 2)
        axes.plot(at[-1], below[-1], color=colour, marker="o" if kept[start] else "x", zorder=4)
    axes.plot([], [], color=BLUE, marker="o", linewidth=2.6, label="kept")
    axes.plot([], [], color=ORANGE, marker="x", linewidth=1.1, label="left behind, or not the best")
    place, moves = 2, 1  # the start itself counts as an M-step
    while any(max(trace) > place for trace in traces):
        going = sum(max(trace) > place for trace in traces)
        axes.axvline(place, color=GREY, linewidth=0.7, linestyle=":")
        axes.text(
            place + 0.1,
            1.01,
            f"{going} go on",
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
    save(figure, "restarts")


def draw_mixtures() -> None:
    """Show an attribute that is not bell-shaped, and two that tell the class only together."""
    wine = load_dataset("wine", container="pandas")
    column = "Malic_acid"
    values = wine.X[column].to_numpy(dtype=float)
    labels, grid = np.unique(wine.y), np.linspace(values.min() - 0.5, 5.0, 500)
    models = {
        "NaiveBayes": NaiveBayes().fit(wine.X[[column]], wine.y),
        "MixtureNaiveBayes": MixtureNaiveBayes(random_state=0).fit(wine.X[[column]], wine.y),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    mine = values[wine.y == labels[0]]
    left.hist(mine, bins=24, density=True, color=GREY, alpha=0.3)
    for (name, model), style, colour in zip(
        models.items(), ["--", "-"], [ORANGE, BLUE], strict=True
    ):
        table = pd.DataFrame({column: grid})
        density = np.exp(model.predict_joint_log_proba(table)[:, 0]) / model.class_prior_[0]
        left.plot(grid, density, style, color=colour, label=name)
    left.set_xlabel(f"{column}, grower {labels[0]}")
    left.set_ylabel("density")
    left.legend(frameon=False, fontsize=8)

    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (300, 2))
    X, y = rng.normal(4.0 * corner, 1.0), (corner[:, 0] == corner[:, 1]).astype(int)
    model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
    axis = np.linspace(-3.5, 7.5, 240)
    mesh = np.meshgrid(axis, axis)
    points = np.column_stack([part.ravel() for part in mesh])
    right.pcolormesh(
        *mesh,
        model.predict(points).reshape(mesh[0].shape),
        cmap=ListedColormap(CLASS_COLOURS[:2]),
        alpha=0.18,
        shading="auto",
        rasterized=True,
    )
    for k in range(2):
        right.scatter(*X[y == k].T, s=14, marker=MARKERS[k], facecolor="none",
                      edgecolor=CLASS_COLOURS[k], linewidth=0.7)  # fmt: skip
        right.scatter(*model.means_[k].T, s=90, marker=MARKERS[k], color=CLASS_COLOURS[k],
                      edgecolor="black")  # fmt: skip
    share = [np.mean(m.fit(X, y).predict(X) == y) for m in (NaiveBayes(), model)]
    right.set_title(
        f"NaiveBayes {share[0]:.0%} right, FiniteMixtureNaiveBayes {share[1]:.0%}", fontsize=10
    )
    right.set_xlabel("two attributes; filled: the components")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, "mixtures")


def draw_axes() -> None:
    """Show what naive Bayes sees along columns, principal axes, and the axes of clusters."""
    rng = np.random.default_rng(0)
    cluster, y = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    along, across = rng.normal(0, 2, 300), rng.normal(0, 0.25, 300) + 0.8 * (y - 0.5)
    slant = np.where(cluster, 0.3, 1.2)  # radians
    X = np.column_stack(
        [
            along * np.cos(slant) - across * np.sin(slant) + 5.0 * cluster,
            along * np.sin(slant) + across * np.cos(slant) - 2.0 * cluster,
        ]
    )
    models = {
        "columns (NaiveBayes)": NaiveBayes().fit(X, y),
        'axes="all"': ProjectedNaiveBayes().fit(X, y),
        'axes="clusters"': ProjectedNaiveBayes(axes="clusters", random_state=0).fit(X, y),
    }
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    grid = np.meshgrid(np.linspace(low[0], high[0], 240), np.linspace(low[1], high[1], 240))
    points = np.column_stack([axis.ravel() for axis in grid])

    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
    for axes, (title, model) in zip(panels, models.items(), strict=True):
        axes.pcolormesh(
            *grid,
            model.predict(points).reshape(grid[0].shape),
            cmap=ListedColormap(CLASS_COLOURS[:2]),
            alpha=0.18,
            shading="auto",
            rasterized=True,
        )
        for k in range(2):
            axes.scatter(*X[y == k].T, s=9, marker=MARKERS[k], color=CLASS_COLOURS[k])
        if isinstance(model, ProjectedNaiveBayes):
            for centre, matrix in zip(model.centres_, model.axes_, strict=True):
                # two standard deviations along each axis
                for arm in 2.0 * np.linalg.inv(matrix).T:
                    ends = np.column_stack([centre - arm, centre + arm])
                    axes.plot(*ends, color="black", linewidth=1.6)
        axes.set_title(f"{title}: {model.score(X, y):.0%} right", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, "axes")


def draw_lcm_graph() -> None:
    """Show the graphs of a linear model and of one with three components."""
    iris = load_dataset("iris", container="pandas")
    figure, both = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for axes, n_components in zip(both, (1, 3), strict=True):
        model = LCMClassifier(2, n_components, random_state=0).fit(iris.X, iris.y)
        ModelGraphDisplay.from_estimator(model, ax=axes)
        axes.set_title(f"n_latent=2, n_components={n_components}", fontsize=10)
    save(figure, "lcm-graph")


def draw_lcm_regions() -> None:
    """Show regions over two columns as the model gets latent variables and components."""
    wine = load_dataset("wine", container="pandas")
    X = wine.X[["Flavanoids", "Color_intensity"]]
    models = {
        "NaiveBayes": NaiveBayes(),
        "n_latent=1": LCMClassifier(1, random_state=0),
        "n_latent=4": LCMClassifier(4, random_state=0),
        "n_latent=2, n_components=20": LCMClassifier(2, 20, random_state=0),
    }
    figure, four = plt.subplots(
        2, 2, figsize=(9, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    for axes, (title, model) in zip(four.flat, models.items(), strict=True):
        BoundaryDisplay.from_estimator(model.fit(X, wine.y), X, wine.y, ax=axes, legend=False)
        axes.set_title(title, fontsize=10)
        axes.label_outer()
    handles, labels = four[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, title="grower", loc="outside right center", frameon=False)
    save(figure, "lcm-regions")


def draw_boundary() -> None:
    """Show regions over two of thirteen columns, the others integrated out."""
    wine = load_dataset("wine", container="pandas")
    model = LCMClassifier(n_latent=3, random_state=0).fit(wine.X, wine.y)
    display = BoundaryDisplay.from_estimator(
        model, wine.X, wine.y, features=("Alcohol", "Flavanoids")
    )
    display.ax_.get_legend().set_title("grower")
    save(display.figure_, "boundary")


def draw_lcm_latent() -> None:
    """Show the wines in their latent space, and what the latent variables are made of."""
    wine = load_dataset("wine", container="pandas")
    model = LCMClassifier(n_latent=3, random_state=0).fit(wine.X, wine.y)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 4.3), width_ratios=[1.25, 1], layout="constrained"
    )
    LatentSpaceDisplay.from_estimator(model, wine.X, wine.y, ax=left, legend=False)
    left.legend(title="grower", frameon=False)
    LoadingsDisplay.from_estimator(model, ax=right)
    save(figure, "lcm-latent")


def draw_lcm_restarts() -> None:
    """Show ten starts that are all averaged, and ten of which one is kept."""
    wine = load_dataset("wine", container="numpy")
    figure, both = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    for axes, select in zip(both, ("average", "likelihood"), strict=True):
        model = LCMClassifier(3, select=select, tol=1e-3, max_iter=500, random_state=0)
        RestartsDisplay.from_estimator(model.fit(wine.X, wine.y), ax=axes)
        axes.set_title(f'select="{select}"', fontsize=10)
    ends = np.array([axes.get_ylim() for axes in both])
    for axes in both:
        axes.set_ylim(ends.min(), ends.max())
    both[1].set_ylabel("")
    save(figure, "lcm-restarts")


def draw_lcm_search() -> None:
    """Show the held-out log-loss as the model grows."""
    iris = load_dataset("iris", container="numpy")
    search = LCMClassifierCV(range(1, 9), [1, 2, 4], search="exhaustive", random_state=0)
    display = SearchPathDisplay.from_estimator(search.fit(iris.X, iris.y))
    save(display.figure_, "lcm-search")


def draw_hnb_hierarchy() -> None:
    """Show the columns of the wines joined by latent variables."""
    wine = load_dataset("wine", container="pandas")
    model = HNBClassifier(random_state=0).fit(wine.X, wine.y)
    save(HierarchyDisplay.from_estimator(model).figure_, "hnb-hierarchy")


def draw_mixture_searches() -> None:
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
    row[2].plot([], [], color=BLUE, label="start that is kept")
    row[2].plot([], [], color=ORANGE, linestyle="--", label="its best so far")
    row[2].legend(frameon=False, fontsize=8, loc="lower right")
    save(figure, "mixture-searches")


def draw_mixture_best() -> None:
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
    save(figure, "mixture-best")


def draw_era_trace() -> None:
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
    save(figure, "era-trace")


def draw_mixture_components() -> None:
    """Show three components of iris, which was not told the species."""
    iris = load_dataset("iris", container="pandas")
    model = LatentMixture(3, random_state=0).fit(iris.X)
    save(ComponentsDisplay.from_estimator(model).figure_, "mixture-components")


def draw_lvc_regions() -> None:
    """Show opposite corners of one label by naive Bayes, and by two components of it."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (300, 2))
    X, y = rng.normal(4.0 * corner, 1.0), (corner[:, 0] == corner[:, 1]).astype(int)
    axis = np.linspace(-3.5, 7.5, 240)
    mesh = np.meshgrid(axis, axis)
    points = np.column_stack([part.ravel() for part in mesh])
    figure, both = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True, layout="constrained")
    models = {
        "NaiveBayes": NaiveBayes(),
        "two components": LatentVariableClassifier(random_state=0),
    }
    for axes, (title, model) in zip(both, models.items(), strict=True):
        model.fit(X, y)
        shown = model.predict_proba(points)[:, 1].reshape(mesh[0].shape)
        axes.contourf(*mesh, shown, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.45)
        axes.contour(*mesh, shown, levels=[0.5], colors="black", linewidths=0.8)
        for k, colour in ((0, ORANGE), (1, BLUE)):
            axes.scatter(*X[y == k].T, s=14, marker=MARKERS[k], facecolor="none", edgecolor=colour,
                         linewidth=0.7)  # fmt: skip
        if title != "NaiveBayes":
            axes.scatter(*model.means_.T, s=160, marker="X", color="black", label="components")
            axes.legend(frameon=False, fontsize=8)
        axes.set_title(f"{title}: {np.mean(model.predict(X) == y):.0%} right", fontsize=10)
    save(figure, "lvc-regions")


def draw_latent_tree() -> None:
    """Show the tree of one class of corral, edges as wide as their information."""
    corral = load_dataset("corral", container="pandas")
    model = LatentTreeClassifier(random_state=0).fit(corral.X, corral.y)
    save(LatentTreeDisplay.from_estimator(model, "0").figure_, "latent-tree")


def draw_cut_sets() -> None:
    """Show a class probability along one number: one set of cut points, and an average of ten."""
    iris = load_dataset("iris", container="pandas")
    X = iris.X.iloc[50:, [2]]
    grid = pd.DataFrame({X.columns[0]: np.linspace(3.5, 6.5, 601)})
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    for n_cuts, colour in ((1, ORANGE), (10, BLUE)):
        model = LatentTreeClassifier(n_cuts=n_cuts, random_state=0).fit(X, iris.y[50:])
        chance = model.predict_proba(grid)[:, 1]
        axes.plot(grid.iloc[:, 0], chance, color=colour, label=f"n_cuts={n_cuts}")
    axes.plot(X, np.where(iris.y[50:] == model.classes_[1], 1.04, -0.04), "|", color=GREY)
    axes.set(xlabel=X.columns[0], ylabel=f"P({model.classes_[1]})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save(figure, "cut-sets")


def draw_disclosure() -> None:
    """Disclose a handwritten digit line by line, to two models."""
    X, y = load_digits(return_X_y=True)
    X, train = X > 7, np.arange(len(y)) % 2 == 0
    image = X[~train][np.flatnonzero(y[~train] == 3)[0]]
    for model, name in (
        (BinaryLCMClassifier(n_latent=10, n_init=2, tol=0.05, random_state=0), "disclosure"),
        (NaiveBayes(), "disclosure-naive-bayes"),
    ):
        model.fit(X[train], y[train])
        lines = [0, 2, 3, 4, 5, 6, 8]
        display = DisclosureDisplay.from_estimator(model, image, (8, 8), lines=lines)
        save(display.figure_, name)


def draw_binary_images() -> None:
    """Show samples, means and mistakes of models of the digits 0 or 1 against 6 or 7."""
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (0, 1, 6, 7))
    X, y = X[chosen] > 7, np.where(y[chosen] < 2, "0 or 1", "6 or 7")
    train = np.arange(len(y)) % 2 == 0
    figure = plt.figure(figsize=(8.2, 4.2))
    parts = figure.subfigures(2, 1, hspace=0.05)
    for n_components, part in zip((1, 2), parts, strict=True):
        model = BinaryLCMClassifier(10, n_components, n_init=5, select="likelihood", random_state=0)
        model.fit(X[train], y[train])
        ImagesDisplay.from_estimator(model, (8, 8), n_images=10, random_state=0, figure=part)
        plural = "s" if n_components > 1 else ""
        part.suptitle(f"{n_components} component{plural}", fontsize=9)
    save(figure, "binary-samples")
    save(ImagesDisplay.from_estimator(model, (8, 8), show="means").figure_, "binary-means")


def draw_binary_mistakes() -> None:
    """Show the digits that a model of all ten judges wrongly, the surest mistakes first."""
    X, y = load_digits(return_X_y=True)
    X, train = X > 7, np.arange(len(y)) % 2 == 0
    model = BinaryLCMClassifier(n_latent=10, n_init=2, tol=0.05, random_state=0)
    model.fit(X[train], y[train])
    display = ImagesDisplay.from_estimator(
        model, (8, 8), show="mistakes", X=X[~train], y=y[~train], n_images=20
    )
    save(display.figure_, "binary-mistakes")


def draw_bound() -> None:
    """Show the logistic function, its bounds, and a posterior by the bound and exactly."""
    a = np.linspace(-6, 6, 601)
    chance = 1 / (1 + np.exp(-a))

    def bound(xi: float) -> np.ndarray:
        rho = np.tanh(xi / 2) / (2 * xi)
        return np.exp((a - xi) / 2 - rho * (a**2 - xi**2) / 2) / (1 + np.exp(-xi))

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.1))
    left.plot(a, chance, color="black", label="logistic function")
    for xi, colour, style in zip((1, 2, 3), CLASS_COLOURS, ("-", "--", ":"), strict=True):
        left.plot(a, bound(xi), color=colour, linestyle=style, label=f"bound, ξ = {xi}")
    left.set_xlabel("log-odds a")
    left.set_ylabel("P(x = 1 | a)")
    left.legend(frameon=False, fontsize=8)
    # Example 3: z is N(0, 1), a = z, and x = 1 is seen; the bound's numbers after three steps
    exact = np.exp(-(a**2) / 2) * chance
    exact /= exact.sum() * (a[1] - a[0])
    near = np.exp(-((a - 0.406) ** 2) / (2 * 0.812)) / np.sqrt(2 * np.pi * 0.812)
    right.plot(a, exact, color="black", label="posterior of z")
    right.plot(a, near, color=BLUE, linestyle="--", label="by the bound")
    right.plot(a, chance - bound(1), color=ORANGE, linestyle=":", label="error of the bound, ξ = 1")
    right.set_xlabel("z")
    right.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    save(figure, "binary-bound")


def draw_hybrid_latent() -> None:
    """Show two latent variables of a mixed table, and how its numbers depend on them."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 300)
    z = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.5]])[kind] + rng.normal(size=(300, 2))
    X = pd.DataFrame(
        {
            "length": z[:, 0] + 0.5 * rng.normal(size=300),
            "weight": z.sum(axis=1) + 0.5 * rng.normal(size=300),
            "red": rng.random(300) < 1 / (1 + np.exp(-2 * z[:, 1])),
            "shape": np.select([z[:, 0] < -1, z[:, 0] > 1], ["long", "round"], "flat"),
        }
    ).mask(rng.random((300, 4)) < 0.15)
    y = np.array(["a", "b", "c"])[kind]
    model = HybridLCMClassifier(2, random_state=0).fit(X, y)
    display = LatentSpaceDisplay.from_estimator(model, X, y, latent=(0, 1))
    save(display.figure_, "hybrid-latent")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    draw_evidence()
    draw_regions()
    draw_reliability()
    draw_restarts()
    draw_mixtures()
    draw_axes()
    draw_lcm_graph()
    draw_lcm_regions()
    draw_boundary()
    draw_lcm_latent()
    draw_lcm_restarts()
    draw_lcm_search()
    draw_hnb_hierarchy()
    draw_mixture_searches()
    draw_mixture_best()
    draw_era_trace()
    draw_mixture_components()
    draw_lvc_regions()
    draw_latent_tree()
    draw_cut_sets()
    draw_disclosure()
    draw_binary_images()
    draw_binary_mistakes()
    draw_bound()
    draw_hybrid_latent()
