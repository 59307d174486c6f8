"""The baselines of LTC's Table 1 beside ours: NB, TAN, AODE, BAN, 10 stratified folds.

    python reproduce/latent_tree_table1.py --published ltc_table1_accuracy.csv --store ltc.jsonl

`--protocol paper` (the default) discretises all rows before cross-validation, as the paper did,
which leaks the test folds; `--protocol honest` discretises inside the training folds. The data
come from LATENTCLASS_DATA or OpenML. A run that was stopped continues where it was. `--quick`
leaves out the data sets with more than 1000 rows, and its figures are not kept; `--without-names`
leaves out the columns that name single rows (splice's Instance_name, zoo's animal).
"""

import argparse
from dataclasses import replace
from pathlib import Path

from sklearn.pipeline import make_pipeline

from _beside import FOLDS, Run, read_published, report_differences
from latentclass import MDLDiscretizer
from latentclass.baselines import AODE, BAN, TAN, NaiveBayes
from latentclass.datasets import Dataset, list_datasets, load_dataset
from latentclass.evaluation import compare


def classifiers(protocol: str) -> dict[str, object]:
    naive = NaiveBayes(alpha=1.0, prior=1.0, calibrate=False)
    if protocol == "honest":  # the networks cut continuous columns themselves
        naive = make_pipeline(MDLDiscretizer(), NaiveBayes(alpha=1.0, prior=1.0, calibrate=False))
    return {
        "NB": naive,
        "TAN": TAN(calibrate=False),
        "AODE": AODE.as_published(),
        "BAN": BAN(calibrate=False),
    }


def read(name: str, without_names: bool) -> Dataset:
    data = load_dataset(name, container="pandas")
    if without_names:
        kept = [
            c
            for c in data.X
            if data.X[c].dtype.kind in "fiu" or 2 * data.X[c].nunique() <= len(data.X)
        ]
        data = replace(data, X=data.X[kept])
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="paper")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--without-names", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()

    infos = [info for info in list_datasets("ltc") if not options.quick or info.rows <= 1000]
    published = read_published(options.published)
    figure = f"less the paper, {FOLDS[options.protocol]}"
    setting = ", --without-names" if options.without_names else ""
    with Run(__file__, keep=not options.quick) as run:
        result = compare(
            classifiers(options.protocol),
            [read(info.name, options.without_names) for info in infos],
            cv=10,
            scoring=("accuracy", "log_loss"),
            protocol=options.protocol,
            store=options.store,
            n_jobs=options.n_jobs,
            verbose=1,
        )
        print(result)
        report_differences(run, figure, result, infos, published, setting)


if __name__ == "__main__":
    main()
