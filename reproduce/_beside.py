"""Published accuracies beside ours, and the records of both."""

import csv
import importlib
import sys
from pathlib import Path

import numpy as np

from latentclass.datasets import DatasetInfo
from latentclass.evaluation import Comparison

# the record module is the benchmarks' own
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
Run = importlib.import_module("_record").Run

FOLDS = {"paper": "paper's folds", "honest": "honest folds"}


def read_published(path: Path) -> dict[tuple[str, str], float]:
    """Accuracy in percent by data set (the paper's name for it) and classifier."""
    with path.open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["classifier"]): float(row["accuracy"])
            for row in csv.DictReader(lines)
        }


def name_sets(infos: list[DatasetInfo]) -> str:
    """The name of a single data set, or the number of them."""
    return infos[0].name if len(infos) == 1 else f"{len(infos)} sets"


def report_differences(
    run: Run,
    figure: str,
    result: Comparison,
    infos: list[DatasetInfo],
    published: dict[tuple[str, str], float],
    setting: str = "",
) -> None:
    """Print ours less the paper's by data set, and record the means.

    A set that the paper lists twice counts by its mean. `setting` is added to what is recorded.
    """
    print("\nOurs less the paper's, in points:\n")
    print(f"{'data set':24}" + "".join(f"{name:>10}" for name in result.classifiers))
    ours, gaps = 100 * result.scores("accuracy"), []
    for row, info in enumerate(infos):
        theirs = [
            np.mean([published[c, name] for c in info.called if (c, name) in published] or [np.nan])
            for name in result.classifiers
        ]
        gaps.append(ours[row] - theirs)
        print(f"{info.name:24}" + "".join(f"{gap:10.2f}" for gap in gaps[-1]))
    print()
    for name, gap in zip(result.classifiers, np.transpose(gaps), strict=True):
        if not np.isnan(gap).all():
            what = f"{name}, {name_sets(infos)}{setting}"
            run.add(what, figure, f"{np.nanmean(gap):+.2f}", unit="points")
