"""bLCM's Table 2 beside ours: handwritten digits and Reuters topics, the paper's own split.

    python reproduce/lcm_binary_table2.py --published blcm_table2_accuracy.csv --store blcm.jsonl

The paper searches 12 numbers of latent variables and two of components in 10 folds with 10
restarts each. Here the size is fixed (`--latent`, `--components`), 3 starts are averaged and EM
stops at 40 iterations. `--search` is a stepwise search over a short list, 3 folds. Naive Bayes and
1-NN run too, as a check that the rows are the paper's. `--methods` predicts by importance sampling
too, `--discriminative` adds gradient training.
"""

import argparse
import csv
from pathlib import Path

from sklearn.neighbors import KNeighborsClassifier

from _beside import Run
from latentclass import BinaryLCMClassifier, BinaryLCMClassifierCV
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import Comparison, compare

TASKS = {
    "usps/3-vs-5": ("usps_3_vs_5", "3 against 5"),
    "usps/01-vs-67": ("usps_01_vs_67", "01 against 67"),
    "reuters/crude": ("reuters_crude", "crude"),
    "reuters/earn": ("reuters_earn", "earn"),
    "reuters/acq": ("reuters_acq", "acq"),
    "usps/bits": ("usps_0-9", "ten digits"),
}
# the paper's names for our models, by how ours end
THEIRS = {
    " 1 component": "bLCM ( sp(M)  = 1)",
    " 2 components": "mbLCM",
    "NB": "Naïve Bayes",
    "1-NN": "1-NN",
}
FIT = {"n_init": 3, "max_iter": 40, "tol": 0.02, "accelerate": False, "random_state": 0}


def classifiers(options: argparse.Namespace) -> dict[str, object]:
    """The models to compare, by name."""
    q = options.latent
    found: dict[str, object] = {
        "NB": NaiveBayes(alpha=1.0, prior=1.0, calibrate=False),
        "1-NN": KNeighborsClassifier(1),
    }
    for m in (1, *options.components):
        found[f"q = {q}, {m} component{'s' * (m > 1)}"] = BinaryLCMClassifier(
            q, m, **FIT, calibrate=False
        )
    if options.methods:
        model = BinaryLCMClassifier(q, predict_method="importance", **FIT, calibrate=False)
        found[f"q = {q}, importance"] = model
    if options.discriminative:
        model = BinaryLCMClassifier(q, discriminative=True, **FIT, calibrate=False)
        found[f"q = {q}, discriminative"] = model
    if options.search:
        found["--search"] = BinaryLCMClassifierCV(
            [15, 25, 35, 50], [1, 2], cv=3, scoring="accuracy", **FIT, calibrate=False
        )
    return found


def report(run: Run, result: Comparison, names: list[str], path: Path) -> None:
    """Record our accuracies; print them among those of the paper's 16 classifiers."""
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    published: dict[str, dict[str, str]] = {}
    for row in rows:
        published.setdefault(row["task"], {})[row["classifier"]] = row["accuracy"]
    for name, accuracies, losses in zip(
        names, result.scores("accuracy"), result.scores("log_loss"), strict=True
    ):
        task, title = TASKS[name]
        theirs = published[task]
        ranking = [(float(value), label) for label, value in theirs.items()]
        for label, accuracy, loss in zip(result.classifiers, accuracies, losses, strict=True):
            ranking.append((100 * accuracy, f"* {label}"))
            peer = theirs.get(next((THEIRS[end] for end in THEIRS if label.endswith(end)), ""))
            what = f"{title}, {label}"
            run.add(what, "accuracy", f"{100 * accuracy:.2f}", unit="%", paper=peer)
            run.add(what, "log-loss", f"{loss:.3f}")
        print(f"\n{name}, by accuracy (the paper's 16 classifiers, and ours marked *):")
        for value, label in sorted(ranking, reverse=True):
            print(f"  {value:6.2f}  {label}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--latent", type=int, default=35)
    parser.add_argument("--components", type=int, nargs="*", default=[2])
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--discriminative", action="store_true")
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    tables = [load_dataset(name, container="numpy") for name in options.sets]
    with Run(__file__, keep=True) as run:
        result = compare(
            classifiers(options),
            tables,
            cv="split",
            scoring=("accuracy", "log_loss", "fit_seconds", "predict_seconds"),
            store=options.store,
            verbose=1,
        )
        print(result)
        report(run, result, options.sets, options.published)


if __name__ == "__main__":
    main()
