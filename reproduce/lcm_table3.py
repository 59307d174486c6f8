"""The baselines of LCM's Table 3 beside ours: NB, NB/D, k-NN and CG/PCA/n, 5 stratified folds.

    python reproduce/lcm_table3.py --published lcm_table3_accuracy.csv --store lcm.jsonl

NB and k-NN take all attributes as numbers, NB/D keeps the two nominal ones of tae. `--protocol
honest` (the default) discretises inside the training folds; `paper` does so once before, which
leaks.

For NB/M, FA/BIC, PCA/λ, PCA/n and CW/PCA/n only the average over the data sets is published
(Table 2; `--summary` is a CSV file with the columns classifier, average_accuracy). Beside them runs
finite mixture naive Bayes, which the paper names but does not run.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from _beside import FOLDS, Run, read_published, report_differences
from latentclass import MDLDiscretizer
from latentclass.baselines import (
    FiniteMixtureNaiveBayes,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
    nearest_neighbours,
)
from latentclass.datasets import DatasetInfo, list_datasets, load_dataset
from latentclass.evaluation import Comparison, compare

PROJECTIONS = {
    "FA/BIC": "factors",
    "PCA/λ": "leading",
    "PCA/n": "all",
    "CW/PCA/n": "class",
    "CG/PCA/n": "clusters",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="honest")
    parser.add_argument("--summary", type=Path)
    options = parser.parse_args()

    infos = list_datasets("lcm")
    datasets = [load_dataset(info.name, container="pandas") for info in infos]
    numbers = [(data.name, data.X.astype(float), data.y) for data in datasets]
    # before cross-validation or inside its folds: one of the two discretises
    discrete = NaiveBayes(alpha=1.0, prior=1.0, calibrate=False)
    if options.protocol == "honest":
        discrete = make_pipeline(MDLDiscretizer(), discrete)
    continuous = {
        "NB": NaiveBayes(alpha=1.0, prior=None, calibrate=False),
        "k-NN": nearest_neighbours(),
    }
    mixtures = {
        "NB": NaiveBayes(alpha=1.0, prior=None, calibrate=False),
        "NB/M": MixtureNaiveBayes(prior=None, random_state=0, calibrate=False),
        "NB/M, prior=1": MixtureNaiveBayes(random_state=0, calibrate=False),
        "FM-NB, prior=1": FiniteMixtureNaiveBayes(random_state=0, calibrate=False),
    }
    projected = {
        name: ProjectedNaiveBayes(axes=axes, prior=None, random_state=0, calibrate=False)
        for name, axes in PROJECTIONS.items()
    }
    projected["CG/PCA/n, prior=1"] = ProjectedNaiveBayes(
        axes="clusters", random_state=0, calibrate=False
    )
    clusters = {"CG/PCA/n": projected["CG/PCA/n"]}
    published = read_published(options.published)
    averages = read_averages(options.summary) if options.summary else {}
    with Run(__file__, keep=True) as run:
        for models, tables, protocol in (
            (continuous, numbers, "honest"),
            ({"NB/D": discrete}, datasets, options.protocol),
            (clusters, numbers, "honest"),
        ):
            result = compare(models, tables, cv=5, protocol=protocol, store=options.store)
            print(result)
            figure = f"less the paper, {FOLDS[protocol]}"
            report_differences(run, figure, result, infos, published)
        for models in (mixtures, projected):
            result = compare(models, numbers, cv=5, store=options.store)
            print(result)
            report_averages(run, result, infos, averages)


def read_averages(path: Path) -> dict[str, str]:
    """The paper's average accuracies by classifier."""
    with path.open(encoding="utf-8") as lines:
        return {row["classifier"]: row["average_accuracy"] for row in csv.DictReader(lines)}


def report_averages(
    run: Run, result: Comparison, infos: list[DatasetInfo], published: dict[str, str]
) -> None:
    """Record average accuracies, a data set that the paper lists twice counted twice."""
    times = [len(info.called) for info in infos]
    ours = np.average(100 * result.scores("accuracy"), axis=0, weights=times)
    for name, value in zip(result.classifiers, ours, strict=True):
        figure = f"accuracy, the paper's {sum(times)} sets"
        run.add(name, figure, f"{value:.1f}", unit="%", paper=published.get(name))


if __name__ == "__main__":
    main()
