"""bLCM's Table 2 beside ours: handwritten digits and Reuters topics, the paper's own split.

    python reproduce/lcm_binary_table2.py --published blcm_table2_accuracy.csv --store blcm.jsonl

The paper searches 12 numbers of latent variables and two of components in 10 folds with 10
restarts each. Here the size is fixed (`--latent`, `--components`), 3 starts are averaged and EM
stops at 40 iterations: a cheaper search, of one candidate. `--search` is the wrapper by halving
over a short list, 3 folds. Naive Bayes and 1-NN stand beside, as a check that the rows are the
paper's. `--methods` compares the ways to have p(x | class) in prediction, `--discriminative` adds
gradient training.
"""

import argparse
import csv
from pathlib import Path

from sklearn.neighbors import KNeighborsClassifier

from latentclass import BinaryLCMClassifier, BinaryLCMClassifierCV
from latentclass.baselines import NaiveBayes
from latentclass.datasets import load_dataset
from latentclass.evaluation import Comparison, compare

TASKS = {
    "usps/3-vs-5": "usps_3_vs_5",
    "usps/01-vs-67": "usps_01_vs_67",
    "reuters/crude": "reuters_crude",
    "reuters/earn": "reuters_earn",
    "reuters/acq": "reuters_acq",
    "usps/bits": "usps_0-9",
}
FIT = {"n_init": 3, "max_iter": 40, "tol": 0.02, "accelerate": False, "random_state": 0}


def classifiers(options: argparse.Namespace) -> dict[str, object]:
    """The models to compare, by name."""
    q = options.latent
    found: dict[str, object] = {
        "NB": NaiveBayes(),
        "1-NN": KNeighborsClassifier(1),
        f"bLCM({q})": BinaryLCMClassifier(q, **FIT),
    }
    for m in options.components:
        found[f"mbLCM({q},{m})"] = BinaryLCMClassifier(q, m, **FIT)
    if options.methods:
        model = BinaryLCMClassifier(q, predict_method="importance", **FIT)
        found[f"bLCM({q}) importance"] = model
    if options.discriminative:
        found[f"bLCM({q}) discriminative"] = BinaryLCMClassifier(q, discriminative=True, **FIT)
    if options.search:
        found["mbLCM searched"] = BinaryLCMClassifierCV(
            [15, 25, 35, 50], [1, 2], cv=3, scoring="accuracy", **FIT
        )
    return found


def print_beside(result: Comparison, names: list[str], path: Path) -> None:
    """Our accuracies, and the paper's best and its own models', in percent."""
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    published: dict[str, dict[str, float]] = {}
    for row in rows:
        published.setdefault(row["task"], {})[row["classifier"]] = float(row["accuracy"])
    ours = 100 * result.scores("accuracy")
    for number, name in enumerate(names):
        theirs = published[TASKS[name]]
        print(f"\n{name}, by accuracy (the paper's 16 classifiers, and ours marked *):")
        mine = dict(zip(result.classifiers, ours[number], strict=True))
        both = [(value, label) for label, value in theirs.items()]
        both += [(value, f"* {label}") for label, value in mine.items()]
        for value, label in sorted(both, reverse=True):
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
    result = compare(
        classifiers(options),
        tables,
        cv="split",
        scoring=("accuracy", "log_loss", "fit_seconds", "predict_seconds"),
        store=options.store,
        verbose=1,
    )
    print(result)
    print_beside(result, options.sets, options.published)


if __name__ == "__main__":
    main()
