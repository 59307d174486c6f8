"""The latent tree classifier: Tables 1 and 2. Figures 3 and 4 are in `_ltc_figures.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from latentclass.baselines import AODE, BAN, TAN, NaiveBayes, weka_j48
from latentclass.datasets import load_dataset
from latentclass.datasets._facts import paper_uses
from latentclass.evaluation import Comparison
from latentclass.latent_tree._classifier import LatentTreeClassifier
from latentclass.reproduction._accuracy import (
    accuracy_cells,
    compare_each,
    if_weka,
    paired_marks,
    sets_of,
)
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._ltc_figures import FIGURES
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._records import NOT_INSTALLED, NOT_RUN, Record, average_row
from latentclass.reproduction._work import Work

NAMES = ("LTC", "NB", "TAN", "AODE", "BAN", "C4.5")
SIZES = ("Attr.", "Class", "Size")
PROTOCOL = (
    "Stratified folds, the same for all. All rows are discretised with their classes before, as "
    "the paper did, so the test folds leak. C4.5 is Weka's J48. - and + mark what is "
    "significantly worse or better than LTC (paired t-test, 5 %)."
)
QUICK = "5 folds; LTC with the fast search and one start of full EM."
TO_THE_LETTER = "10 folds; LTC as published: EAST, every candidate judged, 64 starts of full EM."


def classifiers(work: Work) -> dict[str, Any]:
    """Return the columns of Table 1."""
    ours = (
        LatentTreeClassifier(search="fast", n_cuts=1, random_state=0, calibrate=False)
        if work.quick
        else LatentTreeClassifier.as_published(random_state=0)
    )
    found = (
        ours,
        NaiveBayes(alpha=1.0, prior=1.0, calibrate=False),
        TAN(calibrate=False),
        AODE.as_published(),
        BAN(calibrate=False),
        if_weka(weka_j48),
    )
    return dict(zip(NAMES, found, strict=True))


def each_set(work: Work) -> Iterator[tuple[str, Comparison]]:
    """Compare on each data set, small ones first."""
    cv = 5 if work.quick else 10
    yield from compare_each(work, "ltc", classifiers(work), cv=cv, protocol="paper")


def sizes(called: str) -> Iterator[Record]:
    """Yield the columns of Table 1 about a data set: its attributes, classes and rows."""
    (name,) = {use.name for use in paper_uses()["ltc"] if use.called == called}
    (line,) = (line for line in read_published("ltc_table1_datasets") if line["dataset"] == called)
    data = load_dataset(name)
    ours = (data.X.shape[1], len(set(data.y)), len(data.y))
    theirs = (line["n_attributes"], line["n_classes"], line["n_instances"])
    for column, value, published in zip(SIZES, ours, theirs, strict=True):
        yield Record(called, column, "count", str(value), published=published)


def table_1(work: Work) -> Iterator[Record]:
    """Accuracies on 37 data sets, beside their sizes."""
    columns = classifiers(work)
    published = published_cells("ltc_table1_accuracy", "dataset", "classifier")
    records: list[Record] = []
    for called, result in each_set(work):
        marks = paired_marks(result, "LTC", 0.05)
        cells = [*accuracy_cells(called, result, columns, published, sd="folds", marks=marks)]
        if any(cell.value for cell in cells):  # else the row is not run yet
            yield from sizes(called)
        records += cells
        yield from cells
    yield from average_row(records, "mean")


def table_2(work: Work) -> Iterator[Record]:
    """Count how often LTC wins, ties and loses significantly."""
    published = {line["versus"]: line for line in read_published("ltc_table2_wins_ties_losses")}
    outcomes: dict[str, list[str]] = {name: [] for name in NAMES[1:]}
    for _, result in each_set(work):
        marks, scores = paired_marks(result, "LTC", 0.05), result.scores("accuracy")[0]
        done = {name for name, one in zip(result.classifiers, scores, strict=True) if one == one}
        for name in done & set(outcomes) if "LTC" in done else ():
            outcomes[name].append(marks.get(name, ""))
    for label, mark in (("wins", "-"), ("ties", ""), ("losses", "+")):
        for name, found in outcomes.items():
            beside = {"published": published[name][label], "runs": str(len(found))}
            if found:
                yield Record(label, name, "data sets", str(found.count(mark)), **beside)
            else:
                missing = classifiers(work)[name] is None
                yield Record(
                    label, name, "data sets", note=NOT_INSTALLED if missing else NOT_RUN, **beside
                )


PROFILES = {"quick": QUICK, "paper": TO_THE_LETTER}
DATA = tuple(dict.fromkeys(use.name for use in sets_of("ltc")))
ENTRIES = (
    Entry(
        paper="ltc",
        kind="table",
        number=1,
        title="accuracy on 37 data sets",
        data=DATA,
        classifiers=NAMES,
        protocol=PROTOCOL,
        profiles=PROFILES,
        minutes={"quick": 9.6},
        run=table_1,
        rows=tuple(use.called for use in paper_uses()["ltc"]),
        folds_of_sd=10,
        look_for=(
            "Attr., Class and Size are the columns, classes and rows of the data sets as they load "
            "here; the paper counts classes without rows. The others are accuracies in %."
        ),
    ),
    Entry(
        paper="ltc",
        kind="table",
        number=2,
        title="data sets on which LTC wins, ties and loses",
        data=DATA,
        classifiers=NAMES,
        protocol=PROTOCOL,
        profiles=PROFILES,
        minutes={"quick": 9.6},
        run=table_2,
    ),
    *FIGURES,
)
