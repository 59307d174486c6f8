"""LTC's column of its Table 1 beside ours, and Table 2: wins, ties, losses against the baselines.

    python reproduce/latent_tree_models.py --published ltc_table1_accuracy.csv --store ltc.jsonl

`--search fast` takes the fast search instead of EAST. `--protocol paper` (the default) discretises
all rows before cross-validation, as the paper did, which leaks the test folds; `--protocol honest`
discretises inside the training folds. `--budget` gives EAST so many seconds for each class; a
search that is stopped keeps its best tree. The data come from LATENTCLASS_DATA or OpenML. A run
that is stopped goes on where it was; `--quick` leaves out the data sets with more than 1000 rows,
`--only` takes the named ones.
"""

import argparse
import warnings
from pathlib import Path

from ltc_table1 import classifiers, read
from sklearn.exceptions import ConvergenceWarning

from _beside import print_differences, read_published
from latentclass import LatentTreeClassifier
from latentclass.datasets import list_datasets
from latentclass.evaluation import compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="paper")
    parser.add_argument("--search", choices=("east", "fast"), default="east")
    parser.add_argument("--score", choices=("aic", "bic"), default="aic")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--without-names", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()

    infos = [
        info
        for info in list_datasets("ltc")
        if (not options.quick or info.rows <= 1000)
        and (options.only is None or info.name in options.only)
    ]
    ours = LatentTreeClassifier(
        criterion=options.score, search=options.search, time_budget=options.budget, random_state=0
    )
    models = {"LTC": ours, **classifiers(options.protocol)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a budget that ran out
        result = compare(
            models,
            [read(info.name, options.without_names) for info in infos],
            cv=10,
            scoring=("accuracy", "log_loss", "fit_seconds"),
            protocol=options.protocol,
            store=options.store,
            n_jobs=options.n_jobs,
            verbose=1,
        )
    print(result)
    print_differences(result, infos, read_published(options.published))
    print("\nTable 2, wins, ties and losses of LTC by a paired t-test at 5 % (the paper's test):\n")
    for name in list(models)[1:]:
        print(f"{name:6}", result.wins_ties_losses("LTC", name, test="paired"))


if __name__ == "__main__":
    main()
