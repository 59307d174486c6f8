"""LTC in its Table 1 beside ours, and Table 2: wins, ties, losses against the baselines.

    python reproduce/latent_tree_models.py --published ltc_table1_accuracy.csv --store ltc.jsonl

`--search fast` takes the fast search instead of EAST. `--protocol paper` (the default) discretises
all rows before cross-validation, as the paper did, which leaks the test folds; `--protocol honest`
discretises inside the training folds. `--budget` is a number of seconds for each class; a search
that runs out of time keeps its best tree. The data come from LATENTCLASS_DATA or OpenML. A run that
was stopped continues where it was. `--quick` leaves out the data sets with more than 1000 rows, and
its figures are not kept; `--only` takes the named ones.
"""

import argparse
from pathlib import Path

from _beside import FOLDS, Run, name_sets, read_published, report_differences
from latent_tree_table1 import classifiers, read
from latentclass import LatentTreeClassifier
from latentclass.datasets import list_datasets
from latentclass.evaluation import compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="paper")
    parser.add_argument("--search", choices=("east", "fast"), default="east")
    parser.add_argument("--criterion", choices=("aic", "bic"), default="aic")
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
        criterion=options.criterion,
        search=options.search,
        time_budget=options.budget,
        random_state=0,
        calibrate=False,
    )
    models = {"LTC": ours, **classifiers(options.protocol)}
    published = read_published(options.published)
    with Run(__file__, keep=not options.quick) as run:
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
        folds, setting = FOLDS[options.protocol], name_setting(options)
        report_differences(run, f"less the paper, {folds}", result, infos, published, setting)
        accuracies = 100 * result.scores("accuracy").mean(axis=0)
        for name, accuracy in zip(models, accuracies, strict=True):
            what = f"{name}, {name_sets(infos)}{setting}"
            run.add(what, f"accuracy, {folds}", f"{accuracy:.2f}", unit="%")
        # Table 2, by a paired t-test at 5 %, which is the paper's
        for name in list(models)[1:]:
            counts = "/".join(map(str, result.wins_ties_losses("LTC", name, test="paired")))
            what = f"LTC against {name}, {name_sets(infos)}{setting}"
            run.add(what, f"wins/ties/losses, {folds}", counts)


def name_setting(options: argparse.Namespace) -> str:
    """What differs from the defaults."""
    setting = ""
    if options.search != "east":
        setting += f", {options.search}"
    if options.criterion != "aic":
        setting += f", {options.criterion}"
    if options.budget is not None:
        setting += f", {options.budget:g} s"
    return setting + (", no names" if options.without_names else "")


if __name__ == "__main__":
    main()
