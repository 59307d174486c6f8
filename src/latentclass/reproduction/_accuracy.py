"""Accuracies of classifiers on a paper's data sets, each beside the published one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from latentclass.baselines import find_weka
from latentclass.datasets import PaperUse
from latentclass.datasets._facts import paper_uses, resolve
from latentclass.evaluation import Comparison
from latentclass.exceptions import WekaUnavailableError
from latentclass.reproduction._records import NOT_INSTALLED, NOT_RUN, Record, text_of
from latentclass.reproduction._work import Work

ACCURACY = "accuracy, %"


def sets_of(paper: str) -> list[PaperUse]:
    """Return the data sets of a paper, small ones first: rows, then columns."""

    def size(use: PaperUse) -> tuple[int, int]:
        facts = resolve(use.name)
        return facts.rows, facts.attributes

    return sorted(paper_uses()[paper], key=size)


def if_weka(make: Callable[[], Any]) -> Any:
    """Return a classifier of Weka, or None where Weka is not installed."""
    try:
        find_weka()
    except WekaUnavailableError:
        return None
    return make()


def accuracy_cells(
    called: str,
    result: Comparison,
    classifiers: Mapping[str, Any],
    published: Mapping[tuple[str, str], Mapping[str, str]],
    *,
    sd: str,
    marks: Mapping[str, str] | None = None,
) -> Iterator[Record]:
    """Yield the row of a data set in a table of accuracies.

    Parameters
    ----------
    called : str
        The paper's name of the data set.
    result : Comparison
        Of this data set alone.
    classifiers : dict of name to classifier or None
        Columns of the table; None is not installed.
    published : dict of (data set, classifier) to a line with "accuracy" and "sd"
    sd : {"kohavi", "folds"}
        Which standard deviation the paper has.
    marks : dict of classifier to str, optional
    """
    scores, spread = result.scores("accuracy"), result.sd("accuracy", sd)
    seconds = result.scores("fit_seconds")
    (folds,) = result.folds.values()
    for name, one in classifiers.items():
        theirs = published.get((called, name), {})
        beside = {
            "published": theirs.get("accuracy", ""),
            "published_sd": theirs.get("sd", ""),
        }
        place = result.classifiers.index(name) if one is not None else None
        if place is None or np.isnan(scores[0, place]):
            note = NOT_INSTALLED if place is None else _why_not(result, name)
            yield Record(called, name, ACCURACY, note=note, **beside)
            continue
        yield Record(
            called,
            name,
            ACCURACY,
            text_of(100 * scores[0, place]),
            text_of(100 * spread[0, place]),
            significance=(marks or {}).get(name, ""),
            seconds=text_of(seconds[0, place], 3),
            runs=str(len(folds)),
            **beside,
        )


def _why_not(result: Comparison, name: str) -> str:
    """Say whether a classifier failed or was never run."""
    errors = [one["error"] for one in result.failures if one["classifier"] == name]
    return NOT_RUN if all(one.startswith("LookupError") for one in errors) else "failed"


def paired_marks(result: Comparison, reference: str, alpha: float) -> dict[str, str]:
    """Return "+" for what is significantly better than the reference, "-" for what is worse.

    By the paired t-test on the folds.
    """
    (dataset,) = result.datasets
    marks = {}
    for name in result.classifiers:
        if name != reference:
            tested = result.test(name, reference, "paired", dataset=dataset, metric="accuracy")
            if tested.p_value <= alpha:
                marks[name] = "+" if tested.difference > 0 else "-"
    return marks


def compare_each(
    work: Work, paper: str, classifiers: Mapping[str, Any], **settings: Any
) -> Iterator[tuple[str, Comparison]]:
    """Compare classifiers on each data set of a paper, small ones first."""
    for use in sets_of(paper):
        yield (
            use.called,
            work.compare(classifiers, [use.name], scoring=("accuracy", "fit_seconds"), **settings),
        )
