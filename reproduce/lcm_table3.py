"""The baselines' columns of LCM's Table 3 beside ours: NB, NB/D and k-NN, 5 stratified folds.

    python reproduce/lcm_table3.py --published lcm_table3_accuracy.csv --store lcm.jsonl

NB and k-NN take all attributes as numbers, NB/D keeps the two nominal ones of tae. `--protocol
honest` (the default) discretises inside the training folds; `paper` does so once before, which
leaks.
"""

import argparse
from pathlib import Path

from sklearn.pipeline import make_pipeline

from _beside import print_differences, read_published
from latentclass import MDLDiscretizer
from latentclass.baselines import NaiveBayes, nearest_neighbours
from latentclass.datasets import list_datasets, load_dataset
from latentclass.evaluation import compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="honest")
    options = parser.parse_args()

    infos = list_datasets("lcm")
    datasets = [load_dataset(info.name, container="pandas") for info in infos]
    numbers = [(data.name, data.X.astype(float), data.y) for data in datasets]
    # before cross-validation or inside its folds: one of the two discretises
    discrete = NaiveBayes()
    if options.protocol == "honest":
        discrete = make_pipeline(MDLDiscretizer(), discrete)
    continuous = {"NB": NaiveBayes(prior=None), "k-NN": nearest_neighbours()}
    published = read_published(options.published)
    for classifiers, tables, protocol in (
        (continuous, numbers, "honest"),
        ({"NB/D": discrete}, datasets, options.protocol),
    ):
        result = compare(classifiers, tables, cv=5, protocol=protocol, store=options.store)
        print(result)
        print_differences(result, infos, published)


if __name__ == "__main__":
    main()
