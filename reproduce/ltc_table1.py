"""The baselines' columns of LTC's Table 1 beside ours: NB, TAN, AODE, BAN, 10 stratified folds.

    python reproduce/ltc_table1.py --published ltc_table1_accuracy.csv --store ltc.jsonl

`--protocol paper` (the default) discretises all rows before cross-validation, as the paper did,
which leaks the test folds; `--protocol honest` discretises inside the training folds. The data
come from LATENTCLASS_DATA or OpenML. A run that is stopped goes on where it was; `--quick` leaves
out the data sets with more than 1000 rows.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from latentclass import MDLDiscretizer
from latentclass.baselines import AODE, BAN, TAN, NaiveBayes
from latentclass.datasets import list_datasets, load_dataset
from latentclass.evaluation import compare


def classifiers(protocol: str) -> dict[str, object]:
    naive = NaiveBayes()
    if protocol == "honest":  # the networks cut continuous columns themselves
        naive = make_pipeline(MDLDiscretizer(), NaiveBayes())
    return {"NB": naive, "TAN": TAN(), "AODE": AODE(), "BAN": BAN()}


def read_published(path: Path) -> dict[tuple[str, str], float]:
    with path.open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["classifier"]): float(row["accuracy"])
            for row in csv.DictReader(lines)
            if row["dataset"].lower() != "average"
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--protocol", choices=("paper", "honest"), default="paper")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()

    published = read_published(options.published)
    infos = [info for info in list_datasets("ltc") if not options.quick or info.rows <= 1000]
    result = compare(
        classifiers(options.protocol),
        [load_dataset(info.name, container="pandas") for info in infos],
        cv=10,
        scoring=("accuracy", "log_loss"),
        protocol=options.protocol,
        store=options.store,
        n_jobs=options.n_jobs,
        verbose=1,
    )
    print(result)
    print("\nOurs less the paper's, in points:\n")
    print(f"{'data set':24}" + "".join(f"{name:>8}" for name in result.classifiers))
    ours, gaps = 100 * result.scores("accuracy"), []
    for row, info in enumerate(infos):
        theirs = [
            next((published[c, name] for c in info.called if (c, name) in published), np.nan)
            for name in result.classifiers
        ]
        gaps.append(ours[row] - theirs)
        print(f"{info.name:24}" + "".join(f"{gap:8.2f}" for gap in gaps[-1]))
    print(f"{'mean':24}" + "".join(f"{gap:8.2f}" for gap in np.nanmean(gaps, axis=0)))


if __name__ == "__main__":
    main()
