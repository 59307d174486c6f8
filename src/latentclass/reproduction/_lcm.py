"""Latent classification models: Tables 1 to 3. The figures are in `_lcm_figures.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from latentclass.baselines import (
    K2,
    TAN,
    MixtureNaiveBayes,
    NaiveBayes,
    ProjectedNaiveBayes,
    nearest_neighbours,
)
from latentclass.datasets import PaperUse, load_dataset
from latentclass.datasets._facts import paper_uses
from latentclass.evaluation import Comparison
from latentclass.evaluation._significance import corrected_t_test
from latentclass.lcm._classifier_cv import LCMClassifierCV
from latentclass.reproduction._accuracy import accuracy_cells, sets_of
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._lcm_figures import FIGURES
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._records import NOT_RUN, Record, average_row
from latentclass.reproduction._work import Work

PROJECTIONS = {
    "FA/BIC": "factors",
    "PCA/λ": "leading",
    "PCA/n": "all",
    "CW/PCA/n": "class",
    "CG/PCA/n": "clusters",
}
DISCRETE = ("NB/D", "TAN/D", "TAN+/D")
LINEAR, NONLINEAR = "LCM(q)", "LCM(q,m;T)"
NAMES = tuple(line["classifier"] for line in read_published("lcm_table2_summary"))
IN_TABLE_3 = tuple(
    dict.fromkeys(line["classifier"] for line in read_published("lcm_table3_accuracy"))
)
WIDE = {
    "glass": {"n_latent": (1, 2, 3, 4, 6, 8, 12, 20), "n_components": (1, 2, 5, 10, 20)},
    "sonar": {"n_latent": (1, 2, 5, 12, 30, 60), "n_components": (1, 3, 10)},
    "vehicle": {"n_latent": (2, 5, 10, 20, 40), "n_components": (1, 3, 10)},
}
"""Sizes that "quick" tries on the three data sets with the most of them."""

POOR = {"-": 0.10, "*": 0.01}
"""Significance levels, by the mark of the paper."""

PROTOCOL = (
    "5 stratified folds, the same for all. Attributes are numbers, but for NB/D, TAN/D and TAN+/D, "
    "which are cut inside the training folds. Standard deviations are Kohavi's. - and * mark what "
    "is significantly worse than the best on the data set at 10 % and 1 % (corrected resampled "
    "t-test)."
)
PROFILES = {
    "quick": (
        "LCM(q) with 10 restarts, the worse ones dropped on the way; the others with 5 and our "
        "stepwise search; a short list of sizes for glass, sonar and vehicle."
    ),
    "paper": (
        "The models as published: all numbers of latent variables for LCM(q), the semi-greedy "
        "search for the others, 100 restarts, 5 inner folds."
    ),
}


def baselines() -> dict[str, Any]:
    """Return the classifiers that the paper compares with."""
    projected = {
        name: ProjectedNaiveBayes(axes=axes, prior=None, random_state=0, calibrate=False)
        for name, axes in PROJECTIONS.items()
    }
    return {
        "NB": NaiveBayes(alpha=1.0, prior=None, calibrate=False),
        "NB/M": MixtureNaiveBayes(prior=None, random_state=0, calibrate=False),
        # a network whose columns have no parent but the class is naive Bayes on intervals
        "NB/D": K2(alpha=1.0, max_parents=1, calibrate=False),
        "TAN/D": TAN(alpha=0.0, calibrate=False),
        "TAN+/D": TAN(alpha=5.0, smoothing="marginal", calibrate=False),
        "k-NN": nearest_neighbours(),
        **projected,
    }


def models(work: Work, dataset: str) -> dict[str, Any]:
    """Return the latent classification models, the quickest to fit first."""
    line: dict[str, Any] = {"n_components": 1, "random_state": 0}
    every: dict[str, Any] = {"search": "exhaustive"}
    mixed: dict[str, Any] = {"random_state": 0}
    if work.quick:
        few = {"drop_starts": True, **WIDE.get(dataset, {})}
        line = {**few, **line}
        every |= {"n_init": 10}
        mixed = {**few, **mixed, "n_init": 5, "search": "stepwise"}
    make = LCMClassifierCV.as_published
    learned = {**every, "structure": "learned"}
    if work.quick:
        learned |= {"n_init": 5, "search": "stepwise"}
    return {
        LINEAR: make(**line, **every),
        "LCM(q)/S": make(**line, **learned),
        NONLINEAR: make(**mixed),
        "LCM(q,m;U)": make(**mixed, noise="untied"),
        "LCM(q,m;T)/S": make(**mixed, structure="learned"),
    }


def sets() -> list[PaperUse]:
    """Return the data sets, those with the fewest sizes to try first."""

    def n_sizes(use: PaperUse) -> int:
        return (use.attributes or 0) * (use.classes or 0)

    return sorted(sets_of("lcm"), key=n_sizes)


def run(work: Work, use: PaperUse, names: Sequence[str]) -> list[Comparison]:
    """Compare the named classifiers: those of numbers, and those of intervals."""
    data = load_dataset(use.name, container="pandas")
    numbers = replace(data, X=data.X.astype(float))
    every = baselines() | models(work, use.name)
    found = []
    for table, kind in ((numbers, False), (data, True)):
        chosen = {name: every[name] for name in names if (name in DISCRETE) == kind}
        if chosen:
            found.append(work.compare(chosen, [table], cv=5, scoring=("accuracy", "fit_seconds")))
    return found


def each_set(work: Work, names: Sequence[str]) -> Iterator[tuple[str, list[Comparison]]]:
    """Compare on each data set. What is quick comes first on all of them."""
    if not work.only_stored:
        quick = [name for name in names if not name.startswith("LCM")]
        for group in (quick, *([name] for name in models(work, "") if name in names)):
            for use in sets() if group else ():
                run(work, use, group)
    for use in sets():
        yield use.called, run(work, use, names)


def marks_against_best(results: Sequence[Comparison]) -> dict[str, str]:
    """Mark what is significantly worse than the best classifier of a data set."""
    pooled, by_fold = {}, {}
    for result in results:
        (dataset,) = result.datasets
        scores, folds = result.scores("accuracy")[0], result.fold_scores(dataset, "accuracy")
        for place, name in enumerate(result.classifiers):
            if not np.isnan(scores[place]):
                pooled[name], by_fold[name] = scores[place], folds[:, place]
    if not pooled:
        return {}
    best = max(pooled, key=lambda name: pooled[name])
    (folds_of,) = results[0].folds.values()
    n_train, n_test = (
        [len(rows) for rows in each]
        for each in zip(*((fold.train, fold.test) for fold in folds_of), strict=True)
    )
    marks = {}
    for name in pooled:
        tested = corrected_t_test(by_fold[name], by_fold[best], n_train, n_test)
        for mark, level in POOR.items():
            if pooled[name] < pooled[best] and tested.p_value <= level:
                marks[name] = mark
    return marks


def accuracies(work: Work, names: Sequence[str]) -> Iterator[Record]:
    """Yield the accuracies on each data set."""
    published = published_cells("lcm_table3_accuracy", "dataset", "classifier")
    for called, results in each_set(work, names):
        marks = marks_against_best(results)
        cells = {
            record.column: record
            for result in results
            for record in accuracy_cells(
                called,
                result,
                dict.fromkeys(result.classifiers, True),
                published,
                sd="kohavi",
                marks=marks,
            )
        }
        yield from (cells[name] for name in names)


def table_1(work: Work) -> Iterator[Record]:
    """Yield the sizes of the data sets, and of the models that were found in the five folds."""
    published = {line["dataset"]: line for line in read_published("lcm_table1_datasets")}
    parts = (("q", LINEAR, "n_latent_"), ("m", NONLINEAR, "n_components_"))
    for called, (result,) in each_set(work, (LINEAR, NONLINEAR)):
        (name,) = result.datasets
        data, line = load_dataset(name), published[called]
        facts = (data.X.shape[1], len(set(data.y)), len(data.y))
        titles = ("attributes", "classes", "instances")
        for title, value in zip(titles, facts, strict=True):
            yield Record(called, title, title, str(value), published=line[f"n_{title}"])
        for symbol, classifier, attribute in parts:
            theirs = " - ".join(line[f"{symbol}_{end}"] for end in ("min", "median", "max"))
            column = "q" if symbol == "q" else "|M|"
            records = [result.record(name, classifier, fold) for fold in range(5)]
            if any(record["error"] for record in records):
                yield Record(called, column, "least, median, most", published=theirs, note=NOT_RUN)
                continue
            found = [record["chosen"][attribute] for record in records]
            text = f"{min(found)} - {median(found)} - {max(found)}"
            yield Record(called, column, "least, median, most", text, published=theirs)


def table_2(work: Work) -> Iterator[Record]:
    """Count how often each classifier is the best, among the best three, and poor."""
    records = [one for one in accuracies(work, NAMES) if one.value]
    rows: dict[str, dict[str, Record]] = {}
    for record in records:
        rows.setdefault(record.row, {})[record.column] = record
    done = {row: cells for row, cells in rows.items() if len(cells) == len(NAMES)}
    averages = {one.column: one for one in average_row(list(records), digits=1)}
    published = {line["classifier"]: line for line in read_published("lcm_table2_summary")}
    for name in NAMES:
        line = published[name]
        average = averages[name].value if name in averages and done else ""
        runs, note = str(len(done)), "" if done else NOT_RUN
        counts = {"best": 0, "top 3": 0, "poor, 10 %": 0, "poor, 1 %": 0}
        for cells in done.values():
            values = [round(float(one.value), 1) for one in cells.values()]
            better = sum(value > round(float(cells[name].value), 1) for value in values)
            mark = cells[name].significance
            counts["best"] += better == 0
            counts["top 3"] += better < 3
            counts["poor, 10 %"] += mark in POOR
            counts["poor, 1 %"] += mark == "*"
        yield Record(
            name, "average", "accuracy, %", average, published=line["average_accuracy"],
            runs=runs, note=note,
        )  # fmt: skip
        for (column, count), theirs in zip(
            counts.items(), ("n_best", "n_top3", "n_poor_p10", "n_poor_p1"), strict=True
        ):
            value = str(count) if done else ""
            yield Record(
                name, column, "data sets", value, published=line[theirs], runs=runs, note=note
            )


def table_3(work: Work) -> Iterator[Record]:
    """Yield the accuracies on 15 data sets and their averages."""
    records = []
    for record in accuracies(work, IN_TABLE_3):
        records.append(record)
        yield record
    yield from average_row(records)


DATA = tuple(dict.fromkeys(use.name for use in sets()))
ROWS = tuple(use.called for use in paper_uses()["lcm"])
ENTRIES = (
    Entry(
        paper="lcm",
        kind="table",
        number=1,
        title="the data sets, and the sizes of the models",
        data=DATA,
        classifiers=(LINEAR, NONLINEAR),
        protocol=(
            "q is the number of latent variables of LCM(q), |M| the number of components of "
            "LCM(q,m;T): least, median and most of the five folds."
        ),
        profiles=PROFILES,
        minutes={"quick": 3.4},
        run=table_1,
        rows=ROWS,
        look_for=(
            "The paper counts a class of glass that has no rows. The sizes vary between folds in "
            "the paper and here, because many sizes are about as good."
        ),
    ),
    Entry(
        paper="lcm",
        kind="table",
        number=2,
        title="16 classifiers in summary",
        data=DATA,
        classifiers=NAMES,
        protocol=(
            f"{PROTOCOL} A data set that the paper lists twice (diabetes, pima) counts twice. "
            "Ties count for all."
        ),
        profiles=PROFILES,
        minutes={"quick": 9.7},
        run=table_2,
    ),
    Entry(
        paper="lcm",
        kind="table",
        number=3,
        title="accuracy on 15 data sets",
        data=DATA,
        classifiers=IN_TABLE_3,
        protocol=PROTOCOL,
        profiles=PROFILES,
        minutes={"quick": 8},
        run=table_3,
        rows=ROWS,
        look_for=(
            "The published averages are those of the columns. The paper's own row of averages has "
            "them in another order."
        ),
    ),
    *FIGURES,
)
