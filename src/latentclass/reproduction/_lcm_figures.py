"""Latent classification models: Figures 1, 2, 3, 5, 7 and 8, on crabs and glass2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from latentclass._axes import load_pyplot
from latentclass._types import FloatArray
from latentclass.baselines import MixtureNaiveBayes, NaiveBayes, ProjectedNaiveBayes
from latentclass.datasets import load_dataset
from latentclass.lcm._classifier import LCMClassifier
from latentclass.plots import BoundaryDisplay
from latentclass.plots._style import scatter_classes
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._records import Record, text_of
from latentclass.reproduction._work import Work

PAIR = ("Si", "K")
NAMES = {"Si": "silicon", "K": "potassium"}
FLOAT = "float"
GRID = 60
MODELS = {
    "naive Bayes": None,
    "q = 1": (1, 1),
    "q = 4": (4, 1),
    "q = 4, 2 components": (4, 2),
    "q = 2, 40 components": (2, 40),
}
"""Sizes of the models in Figure 7; None is naive Bayes."""


def crab_classes() -> list[tuple[str, Any]]:
    """Return the rows of each class of crabs, by a title."""
    crabs = load_dataset("crabs", container="pandas")
    return [(str(one).replace("_", " "), crabs.X[crabs.y == one]) for one in sorted(set(crabs.y))]


def scatter_crabs(work: Work, pairs: Sequence[tuple[str, FloatArray]], axes: Sequence[str]) -> None:
    """Draw two coordinates of each class of crabs."""
    pyplot = load_pyplot()
    figure, four = pyplot.subplots(2, 2, figsize=(7, 6), sharex=True, sharey=True)
    for (title, points), ax in zip(pairs, four.flat, strict=True):
        ax.scatter(*points.T, s=12)
        ax.set(title=title, xlabel=axes[0], ylabel=axes[1])
        ax.label_outer()
    figure.tight_layout()
    work.save_picture(figure)
    pyplot.close(figure)


def correlations(pairs: Sequence[tuple[str, FloatArray]]) -> Iterator[Record]:
    """Yield the correlation of two coordinates in each class."""
    for title, points in pairs:
        value = float(np.asarray(np.corrcoef(points.T))[0, 1])
        yield Record(title, "within the class", "correlation", text_of(abs(value), 3))


def in_text(work: Work, dataset: str, name: str, model: Any, published: str) -> Iterator[Record]:
    """Yield an accuracy that the text of an example states, by the folds of Table 3."""
    result = work.compare({name: model}, [dataset], cv=5, scoring=("accuracy", "fit_seconds"))
    value, sd = result.scores("accuracy")[0, 0], result.sd("accuracy", "kohavi")[0, 0]
    yield Record(
        f"{name}, five folds", dataset, "accuracy, %", text_of(100 * value, 1),
        text_of(100 * sd, 1), published,
    )  # fmt: skip


def published_accuracy(dataset: str, name: str) -> str:
    """Return an accuracy of Table 3, or of the text."""
    lines = published_cells("lcm_table3_accuracy", "dataset", "classifier")
    for line in read_published("lcm_text_accuracy"):
        lines[line["dataset"], line["classifier"]] = line
    return lines[dataset, name]["accuracy"]


def figure_1(work: Work) -> Iterator[Record]:
    """Draw frontal lip against rear width in the classes of crabs."""
    pairs = [(title, X[["FL", "RW"]].to_numpy()) for title, X in crab_classes()]
    scatter_crabs(work, pairs, ("width of the frontal lip", "rear width"))
    yield from correlations(pairs)
    naive = NaiveBayes(alpha=1.0, prior=None, calibrate=False)
    yield from in_text(work, "crabs", "NB", naive, published_accuracy("crabs", "NB"))


def figure_2(work: Work) -> Iterator[Record]:
    """Draw the first two principal components of each class of crabs."""
    pairs = []
    for title, X in crab_classes():
        centred = X.to_numpy() - X.to_numpy().mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        axes *= np.sign(axes.sum(axis=1, keepdims=True))  # the sign of an axis means nothing
        pairs.append((title, centred @ axes[:2].T))
    scatter_crabs(work, pairs, ("first component", "second component"))
    yield from correlations(pairs)
    model = ProjectedNaiveBayes(axes="class", prior=None, random_state=0, calibrate=False)
    published = published_accuracy("crabs", "CW/PCA/n")
    yield from in_text(work, "crabs", "CW/PCA/n", model, published)


def float_glass() -> tuple[Any, Any]:
    """Return silicon and potassium of all rows of glass2, and their classes."""
    glass = load_dataset("glass2", container="pandas")
    return glass.X[list(PAIR)], glass.y


def density(model: Any, X: Any) -> FloatArray:
    """Return p(x | float-processed) by a fitted model."""
    place = list(model.classes_).index(FLOAT)
    log_joint = model.score_samples(X) + model.predict_log_proba(X)[:, place]
    return np.asarray(np.exp(log_joint) / model.class_prior_[place])


def figure_3(work: Work) -> Iterator[Record]:
    """Draw the silicon of float-processed glass with a Gaussian and a mixture of Gaussians."""
    X, y = float_glass()
    column = X[["Si"]]
    models = {
        "NB": NaiveBayes(alpha=1.0, prior=None, calibrate=False),
        "NB/M": MixtureNaiveBayes(prior=None, random_state=0, calibrate=False),
    }
    values = column[y == FLOAT]["Si"].to_numpy()
    grid = np.linspace(values.min() - 0.4, values.max() + 0.4, 300)
    titles = {"NB": "Gaussian", "NB/M": "mixture with the best BIC"}

    def compute() -> dict[str, Any]:
        found = {}
        for name, model in models.items():
            model.fit(column, y)
            rows = column.iloc[:0].reindex(range(len(grid))).assign(Si=grid)
            own = column[y == FLOAT]
            found[name] = {
                "curve": density(model, rows).tolist(),
                "log-likelihood": float(np.log(density(model, own)).mean()),
            }
        mixture = models["NB/M"]
        place = list(mixture.classes_).index(FLOAT)
        found["NB/M"]["components"] = int(mixture.n_components_[place, 0])
        return found

    found = work.remember("densities of silicon", models, compute)
    pyplot = load_pyplot()
    figure, ax = pyplot.subplots(figsize=(6, 3.6))
    ax.hist(values, bins=20, density=True, color="lightgrey", label="float-processed glass")
    for (name, title), style in zip(titles.items(), ("-", "--"), strict=True):
        ax.plot(grid, found[name]["curve"], style, color="black", label=title)
    ax.set(xlabel="silicon", ylabel="density")
    ax.legend(frameon=False)
    work.save_picture(figure)
    pyplot.close(figure)
    components = str(found["NB/M"]["components"])
    yield Record("components of the mixture", "glass2", "count", components, published="2")
    for name, title in titles.items():
        value = text_of(found[name]["log-likelihood"], 3)
        yield Record(title, "glass2", "log-likelihood per row", value)
    for name, model in models.items():
        published = published_accuracy("glass2", name)
        yield from in_text(work, "glass2", name, model, published)


def figure_5(work: Work) -> Iterator[Record]:
    """Draw the density of silicon and potassium in float-processed glass."""
    from scipy.stats import chi2, gaussian_kde

    X, y = float_glass()
    points = X[y == FLOAT].to_numpy()
    pyplot = load_pyplot()
    figure, ax = pyplot.subplots(figsize=(5.6, 4.2))
    ends = [(values.min() - 0.1, values.max() + 0.1) for values in points.T]
    mesh = np.meshgrid(*(np.linspace(*end, GRID) for end in ends))
    height = gaussian_kde(points.T, 0.25)(np.vstack([one.ravel() for one in mesh]))
    ax.contour(*mesh, height.reshape(mesh[0].shape), levels=8, colors="black", linewidths=0.7)
    ax.scatter(*points.T, s=6, color="tab:blue")
    ax.set(xlabel=NAMES[PAIR[0]], ylabel=NAMES[PAIR[1]])
    work.save_picture(figure)
    pyplot.close(figure)
    # Mardia's test: third moments of standardised rows are 0 in a Gaussian
    n_rows, n_columns = points.shape
    centred = points - points.mean(axis=0)
    products = centred @ np.linalg.inv(centred.T @ centred / n_rows) @ centred.T
    skewness = float(np.mean(products**3))
    freedom = n_columns * (n_columns + 1) * (n_columns + 2) / 6
    p_value = float(chi2.sf(n_rows * skewness / 6, freedom))
    yield Record("Mardia's skewness, 0 in a Gaussian", "glass2", "skewness", text_of(skewness, 2))
    yield Record("its p-value", "glass2", "p-value", f"{p_value:.1e}")


def figure_7(work: Work) -> Iterator[Record]:
    """Draw the regions of five classifiers over silicon and potassium."""
    X, y = float_glass()
    n_init = 10 if work.quick else 100
    models = {
        title: NaiveBayes(alpha=1.0, prior=None, calibrate=False)
        if size is None
        else LCMClassifier.as_published(
            n_latent=size[0], n_components=size[1], n_init=n_init, random_state=0
        )
        for title, size in MODELS.items()
    }

    def compute() -> dict[str, Any]:
        found: dict[str, Any] = {}
        for title, model in models.items():
            model.fit(X, y)
            shown = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=GRID)
            load_pyplot().close(shown.figure_)
            found[title] = {
                "x": shown.x.tolist(),
                "y": shown.y.tolist(),
                "posterior": shown.posterior.round(4).tolist(),
                "accuracy": float(model.score(X, y)),
            }
        return found

    found = work.remember("regions of glass2", [models, GRID], compute)
    pyplot = load_pyplot()
    figure, six = pyplot.subplots(
        2, 3, figsize=(10, 6), sharex=True, sharey=True, layout="constrained"
    )
    classes = np.unique(y)
    codes = np.searchsorted(classes, y)
    names = (NAMES[PAIR[0]], NAMES[PAIR[1]])
    first = six.flat[0]
    scatter_classes(first, X.to_numpy(), codes, classes)
    first.set(title="the data", ylabel=names[1])
    first.legend(frameon=False)
    for title, ax in zip(MODELS, list(six.flat)[1:], strict=True):
        one = found[title]
        x, height = np.array(one["x"]), np.array(one["y"])
        posterior = np.array(one["posterior"])
        BoundaryDisplay(x, height, posterior, classes, names, X.to_numpy(), codes).plot(
            ax, legend=False
        )
        ax.set_title(title)
        ax.label_outer()
        accuracy = text_of(100 * one["accuracy"], 1)
        yield Record(title, "glass2", "training accuracy, %", accuracy)
    work.save_picture(figure)
    pyplot.close(figure)


def figure_8(work: Work) -> Iterator[Record]:
    """Draw the accuracy on glass2 against the number of latent variables."""
    n_runs, n_init = 10, 10 if work.quick else 100
    structures = {"all edges": "full", "learned edges": "learned"}
    sizes = range(1, 19)
    curves: dict[str, list[list[float]]] = {title: [] for title in structures}
    for number in range(n_runs):
        models = {
            f"{title}, q = {q}": LCMClassifier.as_published(
                n_latent=q, structure=structure, n_init=n_init, random_state=number
            )
            for title, structure in structures.items()
            for q in sizes
        }
        result = work.compare(
            models, ["glass2"], cv=5, random_state=number, scoring=("accuracy", "fit_seconds")
        )
        scores = dict(zip(result.classifiers, 100 * result.scores("accuracy")[0], strict=True))
        for title, curve in curves.items():
            curve.append([float(scores[f"{title}, q = {q}"]) for q in sizes])
    pyplot = load_pyplot()
    figure, both = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for (title, runs), ax in zip(curves.items(), both, strict=True):
        mean, sd = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
        ax.fill_between(sizes, mean - sd, mean + sd, alpha=0.2, linewidth=0)
        ax.plot(sizes, mean, marker="o", markersize=3)
        ax.set(title=title, xlabel="number of latent variables q", xticks=sizes[1::2])
        for q, values in zip(sizes, np.transpose(runs), strict=True):
            yield Record(
                f"q = {q}", title, "accuracy, %", text_of(values.mean(), 1),
                text_of(values.std(ddof=1), 1), runs=str(n_runs),
            )  # fmt: skip
    both[0].set_ylabel("accuracy, %")
    work.save_picture(figure)
    pyplot.close(figure)


SAME = {"quick": "The same as paper.", "paper": "All rows."}
RESTARTS = {
    "quick": "10 restarts of plain EM, the one with the highest training accuracy kept.",
    "paper": "100 restarts of plain EM, the one with the highest training accuracy kept.",
}
FIGURES = (
    Entry(
        paper="lcm",
        kind="figure",
        number=1,
        title="two columns of crabs",
        data=("crabs",),
        classifiers=("NB",),
        protocol="All 200 rows; the accuracy is that of 5 stratified folds.",
        profiles=SAME,
        minutes={"quick": 0.1, "paper": 0.1},
        run=figure_1,
        look_for=(
            "Within each class the two columns lie almost on a line, so naive Bayes, which takes "
            "them as independent given the class, does poorly."
        ),
    ),
    Entry(
        paper="lcm",
        kind="figure",
        number=2,
        title="principal components of crabs",
        data=("crabs",),
        classifiers=("CW/PCA/n",),
        protocol=(
            "One PCA for each class, of all 200 rows; the accuracy is that of 5 stratified folds."
        ),
        profiles=SAME,
        minutes={"quick": 0.1, "paper": 0.1},
        run=figure_2,
        look_for=(
            "Along the new axes there is no correlation left in any class, and naive Bayes on "
            "them does well."
        ),
    ),
    Entry(
        paper="lcm",
        kind="figure",
        number=3,
        title="silicon in float-processed glass",
        data=("glass2",),
        classifiers=("NB", "NB/M"),
        protocol=(
            "Maximum likelihood on the rows of one class; accuracies on 5 stratified folds of all "
            "columns."
        ),
        profiles=SAME,
        minutes={"quick": 0.1, "paper": 0.1},
        run=figure_3,
        look_for=(
            "One Gaussian has its peak between the two groups of samples; a mixture of two follows "
            "both."
        ),
    ),
    Entry(
        paper="lcm",
        kind="figure",
        number=5,
        title="silicon and potassium in float-processed glass",
        data=("glass2",),
        classifiers=(),
        protocol="A kernel density estimate of the rows of one class (bandwidth factor 0.25).",
        profiles=SAME,
        minutes={"quick": 0.1, "paper": 0.1},
        run=figure_5,
        look_for=(
            "The contours are no ellipses with one centre, and Mardia's test of symmetry rejects a "
            "Gaussian at 5 %: a linear model of the class cannot fit well."
        ),
    ),
    Entry(
        paper="lcm",
        kind="figure",
        number=7,
        title="decision regions on glass2",
        data=("glass2",),
        classifiers=tuple(MODELS),
        protocol="Fitted to silicon and potassium of all rows.",
        profiles=RESTARTS,
        minutes={"quick": 0.1},
        run=figure_7,
        look_for=(
            "From left to right and down the boundaries become more complex. With 40 components "
            "the regions follow single rows, as those of 1-NN do."
        ),
    ),
    Entry(
        paper="lcm",
        kind="figure",
        number=8,
        title="accuracy against the number of latent variables",
        data=("glass2",),
        classifiers=("LCM, all edges", "LCM, learned edges"),
        protocol=(
            "Linear models on glass2, 5 stratified folds; a run has folds and starts of its own. "
            "The paper gives no numbers, only curves."
        ),
        profiles={
            "quick": f"10 runs. {RESTARTS['quick']}",
            "paper": f"10 runs. {RESTARTS['paper']}",
        },
        minutes={"quick": 5.8},
        run=figure_8,
        look_for=(
            "Left, too many latent variables lower the accuracy. Right, with learned edges, they "
            "should harm less. The band is one standard deviation of the runs on either side."
        ),
    ),
)
