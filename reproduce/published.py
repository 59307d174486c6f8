"""Models with the papers' own settings (`as_published`) beside the papers' figures, on small sets.

    python reproduce/published.py --published FOLDER --parts k2 linear

FOLDER holds the papers' tables as CSV files. HNB, LTC and mixtures are part of `latentclass
reproduce`. The size of the binary LCM is fixed (`--latent`), since the
paper's search over sizes takes days.
"""

import argparse
import csv
from pathlib import Path

from _beside import Run, read_published
from latentclass import (
    BinaryLCMClassifier,
    LCMClassifierCV,
)
from latentclass.baselines import K2
from latentclass.datasets import list_datasets, load_dataset
from latentclass.evaluation import compare

DIGITS = {
    "usps/3-vs-5": ("usps_3_vs_5", "3 against 5"),
    "usps/01-vs-67": ("usps_01_vs_67", "01 against 67"),
    "usps/bits": ("usps_0-9", "ten digits"),
}
LINEAR_SETS = ("glass2", "iris/uci", "tae", "thyroid", "wine")


def digits(run: Run, options: argparse.Namespace, names: list[str], theirs: str, model) -> None:
    """One model of the binary LCM's Table 2; `theirs` is the paper's name of it."""
    published = {}
    with (options.published / "blcm_table2_accuracy.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            published[row["task"], row["classifier"]] = row["accuracy"]
    for name in names:
        task, title = DIGITS[name]
        data = load_dataset(name, container="numpy")
        model.set_params(categorical_features=list(range(data.X.shape[1])))
        result = compare({theirs: model}, [data], cv="split", scoring=("accuracy",))
        accuracy = f"{100 * result.scores('accuracy')[0, 0]:.2f}"
        what = f"{type(model).__name__}, {title}"
        run.add(what, "accuracy", accuracy, unit="%", paper=published[task, theirs])


def k2(run: Run, options: argparse.Namespace) -> None:
    digits(run, options, list(DIGITS), "BayesNet", K2.as_published())


def binary(run: Run, options: argparse.Namespace) -> None:
    model = BinaryLCMClassifier.as_published(n_latent=options.latent, random_state=0)
    digits(run, options, ["usps/3-vs-5"], "bLCM ( sp(M)  = 1)", model)


def each_set(run: Run, name: str, papers: str, sets: tuple[str, ...], table: Path, model) -> None:
    """One model on several sets, each beside its figure in a table of accuracies."""
    published = read_published(table)
    infos = {info.name: info for info in list_datasets(papers)}
    for key in sets:
        data = load_dataset(key, container="pandas")
        result = compare({name: model}, [data], cv=5, scoring=("accuracy",))
        accuracy = f"{100 * result.scores('accuracy')[0, 0]:.1f}"
        theirs = published[infos[key].called[0], name]
        run.add(f"{name}, {key}", "accuracy", accuracy, unit="%", paper=theirs)


def linear(run: Run, options: argparse.Namespace) -> None:
    # the paper's linear model has no offset (footnote 11)
    model = LCMClassifierCV.as_published(n_components=1, offset=False, random_state=0)
    table = options.published / "lcm_table3_accuracy.csv"
    each_set(run, "LCM(q)", "lcm", LINEAR_SETS, table, model)


PARTS = {
    "k2": k2,
    "linear": linear,
    "binary": binary,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--latent", type=int, default=35)
    options = parser.parse_args()
    with Run(__file__, keep=True) as run:
        for part in options.parts:
            PARTS[part](run, options)


if __name__ == "__main__":
    main()
