"""Published accuracies beside ours."""

import csv
from pathlib import Path

import numpy as np

from latentclass.datasets import DatasetInfo
from latentclass.evaluation import Comparison


def read_published(path: Path) -> dict[tuple[str, str], float]:
    """Accuracy in percent by data set (the paper's name for it) and classifier."""
    with path.open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["classifier"]): float(row["accuracy"])
            for row in csv.DictReader(lines)
        }


def print_differences(
    result: Comparison, infos: list[DatasetInfo], published: dict[tuple[str, str], float]
) -> None:
    """Ours less the paper's, data set by data set; a set that the paper lists twice by its mean."""
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
    print(f"{'mean':24}" + "".join(f"{gap:10.2f}" for gap in np.nanmean(gaps, axis=0)))
