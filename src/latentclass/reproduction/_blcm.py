"""Latent classification models for binary columns: Tables 1 and 2.

The figures are in `_blcm_figures.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latentclass.baselines import (
    AODE,
    K2,
    TAN,
    HiddenNaiveBayes,
    NaiveBayes,
    majority,
    multilayer_perceptron,
    one_nearest_neighbour,
    ridge_logistic,
    support_vector_machine,
    weka_adtree,
    weka_id3,
    weka_rbf_network,
    weka_winnow,
)
from latentclass.datasets import Dataset, load_dataset
from latentclass.exceptions import DataSetUnavailableError
from latentclass.lcm._binary_classifier import BinaryLCMClassifier
from latentclass.reproduction._accuracy import ACCURACY, accuracy_cells, if_weka
from latentclass.reproduction._blcm_figures import FIGURES
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._published import published_cells, read_published
from latentclass.reproduction._records import NOT_RUN, Record
from latentclass.reproduction._work import Work

TASKS = {
    "usps_3_vs_5": "usps/3-vs-5",
    "usps_01_vs_67": "usps/01-vs-67",
    "usps_0-9": "usps/bits",
    "reuters_crude": "reuters/crude",
    "reuters_earn": "reuters/earn",
    "reuters_acq": "reuters/acq",
}
"""The paper's tasks by the names of the published table, the quickest first."""

TITLES = {
    "usps_01_vs_67": "{0,1} vs {6,7}",
    "usps_0-9": "{0} - {9}",
    "usps_3_vs_5": "{3} vs {5}",
    "reuters_crude": "crude",
    "reuters_earn": "earn",
    "reuters_acq": "acq",
}
"""Their names in the paper, in its order."""

ONE, TWO = "bLCM ( sp(M)  = 1)", "mbLCM"
NAMES = tuple(dict.fromkeys(line["classifier"] for line in read_published("blcm_table2_accuracy")))
NOT_THERE = "no data"
SLOW = ("ANN",)
"""What takes more than two CPU minutes over the six tasks: half a minute on the smallest."""

QUICK_SIZES = (10, 35)
SEARCH_ROWS = 700
SIZES = (2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 75, 100)
"""The paper's numbers of latent variables."""

PROTOCOL = (
    "The paper's own training and test halves. The size of bLCM and mbLCM is the one with the "
    "highest accuracy in folds of the training half. Winnow, ADTree, ID3 and radial basis "
    "functions are Weka's, the others are ours or scikit-learn's with the paper's settings."
)
PROFILES = {
    "quick": (
        "bLCM and mbLCM with our prior, one start and at most 40 iterations; 10 or 35 latent "
        "variables and 1 component, or 2 for mbLCM, by 2 folds of at most 700 training rows. "
        "Without the network."
    ),
    "paper": (
        "bLCM and mbLCM as published: 12 numbers of latent variables, 1 component, or 1 or 2 for "
        "mbLCM, 10 folds, 10 restarts."
    ),
}


def baselines(work: Work) -> dict[str, Any]:
    """Return the classifiers that the paper compares with; None is not installed."""
    every = {
        "Majority Vote": majority(),
        "Winnow": if_weka(weka_winnow),
        "ANN": multilayer_perceptron(random_state=0),
        "ADTree": if_weka(weka_adtree),
        "1-NN": one_nearest_neighbour(),
        "SVM": support_vector_machine(),
        "Naïve Bayes": NaiveBayes(alpha=1.0, calibrate=False),
        "TAN": TAN(alpha=0.5, calibrate=False),
        "ID3": if_weka(weka_id3),
        "Logistic Regression": ridge_logistic(),
        "Radial Basis Functions": if_weka(weka_rbf_network),
        "AODE": AODE(min_frequency=1.0, calibrate=False),
        "HNB": HiddenNaiveBayes(calibrate=False),
        "BayesNet": K2.as_published(),
    }
    return {name: one for name, one in every.items() if not work.quick or name not in SLOW}


def make_model(work: Work, size: tuple[int, int]) -> BinaryLCMClassifier:
    """Return the paper's model with numbers of latent variables and components."""
    if not work.quick:
        return BinaryLCMClassifier.as_published(
            n_latent=size[0], n_components=size[1], random_state=0
        )
    return BinaryLCMClassifier(
        *size,
        n_init=1,
        discriminative=False,
        max_iter=40,
        tol=0.02,
        accelerate=False,
        calibrate=False,
        random_state=0,
    )


def find_size(work: Work, data: Dataset, components: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the size with the highest accuracy in folds of the training rows.

    This is the paper's Algorithm 2. Every fold of every size is kept in the store. None if folds
    are missing there and nothing may be computed.
    """
    assert data.split is not None
    rows = np.flatnonzero(data.split == "train")
    if work.quick:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:SEARCH_ROWS])
    part = replace(
        data, name=f"{data.name}, training rows", X=data.X[rows], y=data.y[rows], split=None
    )
    sizes = [(q, m) for q in (QUICK_SIZES if work.quick else SIZES) for m in components]
    scores = {}
    for size in sizes:
        models = {f"q = {size[0]}, |M| = {size[1]}": make_model(work, size)}
        result = work.compare(
            models, [part], cv=2 if work.quick else 10, scoring=("accuracy", "fit_seconds")
        )
        scores[size] = float(result.scores("accuracy")[0, 0])
    best = max(scores, key=lambda size: scores[size])  # the first of those that are equal
    return None if np.isnan(list(scores.values())).any() else best


def models(work: Work, data: Dataset) -> dict[str, Any]:
    """Return bLCM and mbLCM of the sizes that were found; nothing for what is not finished."""
    found = {}
    for name, components in ((ONE, (1,)), (TWO, (2,) if work.quick else (1, 2))):
        size = find_size(work, data, components)
        if size is not None:
            found[name] = make_model(work, size)
    return found


def load_task(task: str) -> Dataset | None:
    """Return the rows of a task, or None where they are not at hand: they cannot be downloaded."""
    try:
        return load_dataset(TASKS[task], container="numpy")
    except DataSetUnavailableError:
        return None


def table_1(_: Work) -> Iterator[Record]:
    """Yield the number of images of each digit."""
    data = load_task("usps_0-9")
    for line in read_published("blcm_table1_usps_counts"):
        for part, title in (("train", "training set"), ("test", "test set")):
            row, published = line["digit"], line[f"n_{part}"]
            if data is None or data.split is None:
                yield Record(row, title, "images", published=published, note=NOT_THERE)
                continue
            count = int(np.sum((data.split == part) & (data.y == row)))
            yield Record(row, title, "images", str(count), published=published)


def table_2(work: Work) -> Iterator[Record]:
    """Yield the accuracies of 16 classifiers on six tasks, task by task."""
    published = published_cells("blcm_table2_accuracy", "task", "classifier")
    for task in TASKS:
        data = load_task(task)
        found: dict[str, Any] = {}
        if data is not None:
            found = baselines(work)
            yield from _cells(work, task, data, found, published)
            ours = models(work, data)
            yield from _cells(work, task, data, ours, published)
            found |= ours
        for name in NAMES:
            if name not in found:
                note = NOT_THERE if data is None else NOT_RUN
                theirs = published[task, name]["accuracy"]
                yield Record(name, TITLES[task], ACCURACY, note=note, published=theirs)


def _cells(
    work: Work,
    task: str,
    data: Dataset,
    columns: Mapping[str, Any],
    published: Mapping[tuple[str, str], Mapping[str, str]],
) -> Iterator[Record]:
    """Yield the cells of some classifiers on a task; the paper has tasks as columns."""
    if not columns:
        return
    result = work.compare(columns, [data], cv="split", scoring=("accuracy", "fit_seconds"))
    for cell in accuracy_cells(task, result, columns, published, sd="kohavi"):
        yield replace(cell, row=cell.column, column=TITLES[task])


ENTRIES = (
    Entry(
        paper="blcm",
        kind="table",
        number=1,
        title="the images of each digit",
        data=(),
        classifiers=(),
        protocol="The re-sampled halves of USPS.",
        profiles={"quick": "The same as in the profile paper.", "paper": "All images."},
        minutes={"quick": 0.1},
        run=table_1,
    ),
    Entry(
        paper="blcm",
        kind="table",
        number=2,
        title="accuracy of 16 classifiers on digits and news stories",
        data=(),
        classifiers=NAMES,
        protocol=PROTOCOL,
        profiles=PROFILES,
        minutes={"quick": 13},
        run=table_2,
        rows=NAMES,
        look_for=(
            "Each half of Reuters has one document more here than in the paper. USPS and Reuters "
            "cannot be downloaded by name; without them the cells say so."
        ),
    ),
    *FIGURES,
)
