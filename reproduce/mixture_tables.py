"""Davidson's tables on ERA and latent variable classifiers beside ours.

    python reproduce/mixture_tables.py loglik   --published lvc_table1-3_loglik.csv
    python reproduce/mixture_tables.py kl       --published lvc_table4_kl_percent.csv
    python reproduce/mixture_tables.py start
    python reproduce/mixture_tables.py accuracy --store lvc.jsonl \
        --published lvc_table6-11_accuracy.csv

`loglik` is Tables 1 to 3: the log-likelihood of mixtures of k = 1 to 8 components, mean and best of
50 starts of 1000 iterations (a start of EM or K-Means ends earlier when it has settled). `--floor`
is the least standard deviation of a column in a component, in the data's units. Without it this is
plain maximum likelihood, in which components narrower than a thousandth of a column do not count.
Each start assigns the rows to components at random. Missing cells (breast-w has 16) get the
column's most frequent value: with one component that gives the paper's -15156; the mean would give
-15152.

`kl` is Table 4: two normals, 100 to 1000 rows, 100 experiments, the best of some starts in each. It
shows the sum over both components of KL(true || found) in closed form, with the components in the
order in which they were found (the paper's intervals can hardly come from another) and in the
better order; and the KL of the whole mixtures, by quadrature. `start` is Table 5: one run from the
true parameters.

`accuracy` is Tables 6 to 11: `LatentVariableClassifier` by EM and ERA, k = 1 to 8, ten stratified
folds, `--repeats` times (the paper: 20). K-Means, annealing, `average=True` and (`--auto`)
`n_components="auto"` are ours. The paper's mean square error is (1 - mean)^2 + variance of the
folds' accuracies, in percent. Every fold goes to `--store` at once, so a run that was stopped
continues where it was. The paper's own protocol is `--starts 50 --iterations 1000 --repeats 20`.
`--class-column` runs mixtures in which the class is one more nominal column: from three components
on, the paper's EM accuracies look like these.

The data come from LATENTCLASS_DATA or OpenML; iris from scikit-learn. `--pictures` is a folder for
the paper's Figures 2 to 5.
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import RepeatedStratifiedKFold

from _beside import Run
from latentclass import LatentMixture, LatentVariableClassifier
from latentclass.datasets import load_dataset
from latentclass.engine import _product as product
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, MixtureStats
from latentclass.evaluation import compare
from latentclass.mixture._hard_assignment import MixtureSearch
from latentclass.mixture._searches import Rule, run_search

DATA = {"pima": "diabetes", "iris": "iris", "breast-w": "breast-w"}
SEARCHES = {"EM": "em", "K-Means": "kmeans", "ERA": "era"}
TRUE_MEAN, TRUE_SCALE = np.array([0.0, 3.0]), np.array([1.0, 1.0])


# ------------------------------------------------------------------ mixtures, Tables 1 to 5


@dataclass(frozen=True)
class FlooredProblem(MixtureProblem):
    """A mixture whose standard deviations have a least value, in the data's units."""

    floor: float = 0.0

    def m_step(self, stats: MixtureStats) -> MixtureParams:
        params = super().m_step(stats)
        return params._replace(scale=np.maximum(params.scale, self.floor / self.layout.unit))


def read_rows(X: np.ndarray) -> MixtureRows:
    """Numbers as rows of weight 1; no prior."""
    nothing = np.zeros((len(X), 0), dtype=np.int32)
    return MixtureRows.measure(
        X, nothing, np.ones(len(X)), np.array([], dtype=int), alpha=0.0, strength=0.0
    )


def make_problem(rows: MixtureRows, k: int, floor: float) -> MixtureProblem:
    plain = rows.problem(k, [slice(0, len(rows.weight))])
    if floor == 0.0:
        return plain
    return FlooredProblem(
        plain.blocks, plain.known_rows, plain.known, plain.prior, plain.layout, floor=floor
    )


def random_starts(problem: MixtureProblem, rngs: list[np.random.Generator]) -> MixtureParams:
    """Each row in a component drawn at random, with even chances."""
    ((rows, weight),) = problem.blocks
    k = len(problem.known_rows)
    parts = []
    for rng in rngs:
        share = np.eye(k)[rng.integers(0, k, len(weight))]
        stats = product.soft_stats(rows, share, problem.layout)
        parts.append(
            problem.m_step(MixtureStats(share.sum(axis=0)[None], *(a[None] for a in stats)))
        )
    return MixtureParams(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def generators(n: int, *seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(n)]


def loglik(run: Run, options: argparse.Namespace) -> None:
    published = {}
    setting = f"floor {options.floor:g}" if options.floor else "no floor"
    setting += f", {options.starts} x {options.iterations}"
    if options.published:
        with options.published.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                key = (row["dataset"], int(row["k"]), row["algorithm"], row["statistic"])
                published[key] = float(row["log_likelihood"])
    found: dict[tuple[str, int, str, str], float] = {}
    for paper_name in options.datasets:
        X = load_dataset(DATA[paper_name], container="pandas").X.astype(float)
        rows = read_rows(X.fillna(X.mode().iloc[0]).to_numpy())
        n_rows = len(rows.weight)
        for k in range(1, 9):
            problem = make_problem(rows, k, options.floor)
            for name, search in SEARCHES.items():
                rngs = generators(options.starts if k > 1 else 1, k)
                result = run_search(
                    MixtureSearch(problem),
                    random_starts(problem, rngs),
                    Rule(search),
                    tol=1e-8,
                    max_iter=options.iterations if k > 1 else 2,
                    rngs=rngs,
                ).best
                values = n_rows * result.restarts["objective"]
                for statistic, value in (("average", values.mean()), ("best", values.max())):
                    key = (paper_name, k, name, statistic)
                    found[key] = float(value)
                    run.add(
                        f"{paper_name}, k = {k}, {setting}", f"{name}, {statistic}", value,
                        paper=published.get(key),
                    )  # fmt: skip
    if options.pictures:
        draw_best(found, published, options.pictures)


def draw_best(
    found: dict[tuple[str, int, str, str], float],
    published: dict[tuple[str, int, str, str], float],
    folder: Path,
) -> None:
    """Draw Figures 2 to 4: the best log-likelihood of each algorithm by k."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(key[0] for key in found))
    figure, row = plt.subplots(1, len(names), figsize=(4 * len(names), 3.4), layout="constrained")
    styles = {"EM": ("#0072B2", "o"), "K-Means": ("#D55E00", "s"), "ERA": ("#009E73", "^")}
    for axes, name in zip(np.atleast_1d(row), names, strict=True):
        for algorithm, (colour, marker) in styles.items():
            ks = [key[1] for key in found if (key[0], *key[2:]) == (name, algorithm, "best")]
            ours = [found[name, k, algorithm, "best"] for k in ks]
            axes.plot(ks, ours, color=colour, marker=marker, label=algorithm)
            theirs = [published.get((name, k, algorithm, "best"), np.nan) for k in ks]
            axes.plot(ks, theirs, color=colour, linestyle=":", linewidth=1)
        axes.set(title=name, xlabel="components", ylabel="best log-likelihood")
        axes.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(row)[0].legend(frameon=False, title="dotted: the paper's", fontsize=8)
    figure.savefig(folder / "lvc-best.png", dpi=110, metadata={"Software": None})


# --------------------------------------------------------------------- two normals, Tables 4, 5


def component_kl(mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """KL(true component || found one), shape (2, 2)."""
    gap = (TRUE_MEAN[:, None] - mean) ** 2
    return (
        np.log(scale / TRUE_SCALE[:, None])
        + (TRUE_SCALE[:, None] ** 2 + gap) / (2 * scale**2)
        - 0.5
    )


def mixture_kl(weight: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> float:
    """KL of the whole mixtures, by the trapezium rule."""
    grid = np.linspace(-9, 12, 4001)
    true = 0.5 * norm.pdf(grid[:, None], TRUE_MEAN, TRUE_SCALE).sum(axis=1)
    ours = (weight * norm.pdf(grid[:, None], mean, scale)).sum(axis=1)
    ratio = np.log(true) - np.log(np.maximum(ours, 1e-300))
    return float(np.trapezoid(true * ratio, grid))


def draw_two_normals(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(TRUE_MEAN[rng.integers(0, 2, n_rows)], 1.0)[:, None]


def in_units(rows: MixtureRows, params: MixtureParams) -> tuple[np.ndarray, ...]:
    centre, unit = rows.layout.centre, rows.layout.unit
    return (
        np.exp(params.log_weight[0]),
        centre[0] + unit[0] * params.mean[0, :, 0],
        unit[0] * params.scale[0, :, 0],
    )


def kl(run: Run, options: argparse.Namespace) -> None:
    if options.published:
        print(options.published.read_text(encoding="utf-8"))
    edges = [0.5, 2.5, 7.5, 10.0]
    head = "<0.5 [0.5,2.5) [2.5,7.5) [7.5,10) >10"
    print(f"percent of {options.experiments} experiments, {options.starts} starts each: {head}")
    titles = ("order as found", "better order", "whole mixtures")
    for name, search in {**SEARCHES, "annealing": "anneal"}.items():
        for n_rows in (100, 250, 500, 1000):
            found = []
            for experiment in range(options.experiments):
                rows = read_rows(
                    draw_two_normals(n_rows, np.random.default_rng([n_rows, experiment]))
                )
                problem = make_problem(rows, 2, 0.0)
                rngs = generators(options.starts, experiment)
                best = run_search(
                    MixtureSearch(problem),
                    random_starts(problem, rngs),
                    Rule(search),
                    tol=1e-9,
                    max_iter=options.iterations,
                    rngs=rngs,
                ).best
                weight, mean, scale = in_units(rows, best.params)
                parts = component_kl(mean, scale)
                as_found, turned = np.trace(parts), parts[0, 1] + parts[1, 0]
                found.append([as_found, min(as_found, turned), mixture_kl(weight, mean, scale)])
            line = f"{name:10} {n_rows:5}"
            for j, title in enumerate(titles):
                values = np.array(found)[:, j]
                shares = np.bincount(np.digitize(values, edges), minlength=5) / len(values)
                line += f" | {title}: " + " ".join(f"{100 * share:3.0f}" for share in shares)
                line += f" (mean {values.mean():.3f})" if j else ""
            print(line, flush=True)
            for title, values in zip(titles, np.transpose(found), strict=True):
                what = f"{name}-{n_rows}, {options.starts} x {options.iterations}"
                share = 100 * float((values < edges[0]).mean())
                run.add(what, f"KL < 0.5, {title}", share, unit="%", runs=options.experiments)


def start(run: Run, options: argparse.Namespace) -> None:
    rows = read_rows(draw_two_normals(1000, np.random.default_rng(0)))
    problem = make_problem(rows, 2, 0.0)
    unit, centre = rows.layout.unit[0], rows.layout.centre[0]
    params = MixtureParams(
        np.log([[0.5, 0.5]]),
        ((TRUE_MEAN - centre) / unit)[None, :, None],
        (TRUE_SCALE / unit)[None, :, None],
        np.zeros((1, 2, 0)),
    )
    for name, search in {"K-Means": "kmeans", "EM": "em", "ERA": "era"}.items():
        best = run_search(
            MixtureSearch(problem), params, Rule(search), tol=1e-10, max_iter=options.iterations,
            rngs=generators(1, 1),
        ).best  # fmt: skip
        # K-Means ends where it settles, not at its best log-likelihood, which is its start
        _, mean, scale = in_units(rows, best.params)
        parts = component_kl(mean, scale)
        what = f"{name} from the true parameters"
        run.add(what, "log-likelihood", 1000 * best.history[-1])
        for component in (0, 1):
            found = f"{mean[component]:.2f}, {scale[component]:.2f}"
            run.add(what, f"mean and sd {component}", found)
            run.add(what, f"KL {component}", f"{parts[component, component]:.3f}")
        if options.pictures and name == "ERA":
            draw_trace(1000 * np.array(best.histories[0]), options.pictures)


def draw_trace(trace: np.ndarray, folder: Path) -> None:
    """Draw Figure 5: the log-likelihood by iteration."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
    axes.plot(trace[:200], color="#009E73", linewidth=1)
    axes.plot(np.maximum.accumulate(trace[:200]), color="black", linewidth=1, linestyle="--")
    axes.set(xlabel="iteration", ylabel="log-likelihood", title="ERA from the true parameters")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(folder / "lvc-trace.png", dpi=110, metadata={"Software": None})


# --------------------------------------------------------------------- accuracy, Tables 6 to 11


class ClassColumn(ClassifierMixin, BaseEstimator):
    """A mixture in which the class is one more nominal column: P(y | x) = sum P(c | x) P(y | c)."""

    def __init__(self, n_components=1, search="em", n_init=4, max_iter=100, random_state=None):
        self.n_components = n_components
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _table(self, X, labels) -> pd.DataFrame:
        table = pd.DataFrame(np.asarray(X, dtype=float)).rename(columns=str)
        return table.assign(label=pd.Categorical(labels, categories=self.classes_.astype(str)))

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.mixture_ = LatentMixture(
            self.n_components, self.search, n_init=self.n_init, max_iter=self.max_iter, tol=1e-4,
            random_state=self.random_state,
        ).fit(self._table(X, np.asarray(y).astype(str)))  # fmt: skip
        return self

    def predict_proba(self, X) -> np.ndarray:
        posterior = self.mixture_.predict_proba(self._table(X, [None] * len(X)))
        return posterior @ self.mixture_.probabilities_["label"]

    def predict(self, X) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def accuracy_models(options: argparse.Namespace) -> dict[str, LatentVariableClassifier]:
    """The classifiers of Tables 6 to 11, and what the paper did not try."""
    common = {"n_init": options.starts, "max_iter": options.iterations}
    models = {}
    for name, search in {**SEARCHES, "annealing": "anneal"}.items():
        for k in options.sizes:
            model = LatentVariableClassifier(None, k, search, **common, calibrate=False)
            models[f"{name} {k}"] = model
            if Rule(search).stochastic and k > 1:
                models[f"{name} {k} average"] = clone(model).set_params(average=True)
    models["ERA auto"] = LatentVariableClassifier(None, "auto", **common, calibrate=False)
    if options.class_column:
        return {
            f"column {name} {k}": ClassColumn(k, search, options.starts, options.iterations)
            for name, search in {"EM": "em", "ERA": "era"}.items()
            for k in options.sizes
        }
    return {
        label: model
        for label, model in models.items()
        if label.split()[0] in options.searches and ("auto" not in label or options.auto)
    }


def accuracy(run: Run, options: argparse.Namespace) -> None:
    published = {}
    if options.published:
        with options.published.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                key = (row["dataset"], f"{row['search']} {row['k']}")
                published[key] = (float(row["mean_accuracy"]), float(row["mse"]))
    result = compare(
        accuracy_models(options),
        [DATA[name] for name in options.datasets],
        cv=RepeatedStratifiedKFold(n_splits=10, n_repeats=options.repeats, random_state=0),
        scoring=("accuracy", "log_loss", "brier", "ece"),
        store=options.store,
        verbose=1,
    )
    for paper_name in options.datasets:
        scores = {
            metric: result.fold_scores(DATA[paper_name], metric)
            for metric in ("accuracy", "log_loss", "brier", "ece")
        }
        print(f"\n{paper_name}: {options.repeats} x 10 folds; ours (paper)")
        for place, name in enumerate(result.classifiers):
            folds = scores["accuracy"][:, place]
            mean, error = folds.mean(), 100 * ((1 - folds.mean()) ** 2 + folds.var())
            theirs = published.get((paper_name, name.removeprefix("column ")))
            beside = f" ({theirs[0]:.1f}; {theirs[1]:.2f})" if theirs else ""
            what = f"{name}, {options.starts} x {options.iterations}"
            run.add(
                what, f"accuracy, {paper_name}", f"{100 * mean:.1f}", unit="%",
                paper=f"{theirs[0]:.1f}" if theirs else None,
            )  # fmt: skip
            run.add(what, f"log-loss, {paper_name}", f"{scores['log_loss'][:, place].mean():.3f}")
            rest = ", ".join(
                f"{metric} {scores[metric][:, place].mean():.3f}"
                for metric in ("log_loss", "brier", "ece")
            )
            print(f"{name:19} {100 * mean:5.1f}; mse {error:5.2f}{beside}   {rest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("loglik", "kl", "start", "accuracy"))
    parser.add_argument("--published", type=Path)
    parser.add_argument("--datasets", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--starts", type=int, help="50 for loglik, 10 for kl, 4 for accuracy")
    parser.add_argument("--iterations", type=int, help="1000; 200 for kl and accuracy")
    parser.add_argument("--floor", type=float, default=0.0, help="least standard deviation")
    parser.add_argument("--experiments", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(range(1, 9)))
    parser.add_argument(
        "--searches",
        nargs="+",
        choices=[*SEARCHES, "annealing"],
        default=[*SEARCHES, "annealing"],
        help="of accuracy",
    )
    parser.add_argument("--auto", action="store_true", help="n_components='auto' besides")
    parser.add_argument(
        "--class-column", action="store_true", help="accuracy of mixtures with the class a column"
    )
    parser.add_argument("--store", type=Path)
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    usual = {"loglik": (50, 1000), "kl": (10, 200), "start": (1, 1000), "accuracy": (4, 200)}
    starts, iterations = usual[options.part]
    options.starts = options.starts or starts
    options.iterations = options.iterations or iterations
    parts = {"loglik": loglik, "kl": kl, "start": start, "accuracy": accuracy}
    with Run(__file__, keep=True) as run:
        parts[options.part](run, options)


if __name__ == "__main__":
    main()
