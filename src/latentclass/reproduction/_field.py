"""The field: our classifiers and those of other libraries on the same rows of many tables.

Table n has mean scores of every classifier under the n-th condition, figure n the critical
differences of their ranks, and table 10 + n the log-loss on each data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.evaluation import CriticalDifferenceDisplay
from latentclass.evaluation._significance import nemenyi_difference, rank_rows
from latentclass.reproduction import _field_tables as tables
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._field_peers import PEERS
from latentclass.reproduction._field_scores import (
    BY_TABLE,
    CONDITIONS,
    Scores,
    classifiers,
    make_records,
    ours,
    scores_by_table,
)
from latentclass.reproduction._field_tables import Condition
from latentclass.reproduction._records import NOT_INSTALLED, NOT_RUN, Record, text_of
from latentclass.reproduction._work import Work

OF_PAPERS = ("log-loss, papers", "mean rank, papers", "accuracy, %, papers", "tables, papers")
"""Means of the papers' tables that are shown."""

MINUTES = {1: 75.0, 2: 62.0, 3: 32.0, 4: 32.0, 5: 30.0, 6: 48.0, 7: 38.0, 8: 51.0}
"""Of "quick", by the number of the condition. Its two tables and its figure share their results."""

PROTOCOL = (
    "All classifiers on the same rows. Ours have their default settings, but for HNB (an average "
    "of 10 models) and latent trees (the fast search). Of the others, logistic regression, SVC, "
    "k-NN and QDA choose their parameters by inner folds, StepMix its size by BIC; CatBoost has "
    "300 iterations, random forest 500 trees, EBM 4 bags and 10 pairs of columns. The average of "
    "peers is a greedy average of logistic regression, random forest, SVC, gradient boosting and "
    "CatBoost, its weights from inner folds. At most 480 training rows; up to 2,000 test rows. "
    "ECE is the expected calibration error in 15 bins. Ranks are by log-loss."
)
PROFILES = {
    "quick": "The 16 other tables and 12 of the papers, one split each.",
    "paper": "All tables of the papers and the 16 others, two splits each.",
}
CAPTION = (
    "Mean ranks by log-loss, the best on the left. Classifiers under one bar do not differ "
    "significantly (Nemenyi, 5 %)."
)


def summarise(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield mean scores and ranks, the classifier with the lowest log-loss first.

    The means are of the tables on which nothing was chosen; those of the papers' tables stand
    behind them. Below the others stand classifiers that lack some of the tables, with the mean of
    what they have.
    """
    found = dict(scores_by_table(work, condition))
    others = {name: one for name, one in found.items() if name in tables.OTHERS}
    papers = {name: one for name, one in found.items() if name not in tables.OTHERS}
    means = {name: _cells(line) for name, line in summary(others).items()}
    for name, line in summary(papers).items():
        cells = {f"{title}, papers": text for title, text in _cells(line).items()}
        means.setdefault(name, {}).update({key: cells[key] for key in cells if key in OF_PAPERS})
    for name, cells in means.items():
        for column, value in cells.items():
            yield Record(name, column, column, value, runs=cells.get("tables", ""))
    for name, one in classifiers(condition).items():
        if name not in means:
            ran = NOT_RUN if work.only_stored else "failed"
            note = NOT_INSTALLED if one is None else ran
            yield Record(name, "log-loss", "log-loss", note=note)


def summary(found: dict[str, Scores]) -> dict[str, tuple[FloatArray, float | None, int]]:
    """Return mean scores, mean rank and number of tables of each classifier, best first.

    Those that lack some of the tables come last and have no rank.
    """
    kept, values = common(found)
    rank_of = dict(zip(kept, mean_ranks(values), strict=True)) if kept else {}
    lines = {}
    for name in dict.fromkeys(name for scores in found.values() for name in scores):
        own = [scores[name] for scores in found.values() if name in scores]
        lines[name] = (np.mean(own, axis=0), rank_of.get(name), len(own))
    order = sorted(lines, key=lambda name: (name not in rank_of, lines[name][0][0]))
    return {name: lines[name] for name in order}


def common(found: dict[str, Scores]) -> tuple[list[str], FloatArray]:
    """Return the classifiers with scores on all tables, and these (tables, classifiers, scores)."""
    names = dict.fromkeys(name for scores in found.values() for name in scores)
    kept = [name for name in names if all(name in scores for scores in found.values())]
    return kept, np.array([[scores[name] for name in kept] for scores in found.values()])


def mean_ranks(values: FloatArray) -> FloatArray:
    """Return the mean rank of each classifier by log-loss; 1 is best."""
    return np.asarray(rank_rows(values[:, :, 0], greater_is_better=False).mean(axis=0))


def _cells(line: tuple[FloatArray, float | None, int]) -> dict[str, str]:
    (loss, accuracy, brier, ece, seconds), rank, n_tables = line
    return {
        "log-loss": text_of(loss, 3),
        "mean rank": text_of(rank, 1),
        "accuracy, %": text_of(100 * accuracy, 1),
        "Brier score": text_of(brier, 3),
        "ECE": text_of(ece, 3),
        "fit, s": f"{seconds:.2g}",
        "tables": str(n_tables),
    }


def draw_ranks(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield the mean ranks and draw them with their critical difference."""
    found = dict(scores_by_table(work, condition))
    kept, values = common({name: one for name, one in found.items() if name in tables.OTHERS})
    n_tables = len(values)
    if not kept or n_tables < 2:
        return
    ranks = mean_ranks(values)
    difference = nemenyi_difference(len(kept), n_tables)
    work.save_picture(CriticalDifferenceDisplay(ranks, kept, difference).plot().figure_)
    for place in np.argsort(ranks):
        value = text_of(ranks[place])
        yield Record(kept[place], "mean rank", "mean rank", value, runs=str(n_tables))
    yield Record("critical difference", "mean rank", "mean rank", text_of(difference))


def _entries() -> Iterator[Entry]:
    for number, condition in enumerate(CONDITIONS, 1):
        common_settings: dict[str, Any] = {
            "paper": "field",
            "data": (),
            "classifiers": (*ours(), *PEERS),
            "protocol": PROTOCOL,
            "profiles": PROFILES,
            "minutes": {"quick": MINUTES[number]} if number in MINUTES else {},
        }
        yield Entry(
            kind="table",
            number=number,
            title=condition.title,
            run=partial(summarise, condition=condition),
            **common_settings,
        )
        yield Entry(
            kind="table",
            number=BY_TABLE + number,
            title=f"{condition.title}, by data set",
            run=partial(make_records, condition=condition),
            rows=(*tables.OTHERS, *tables.QUICK_PAPERS),
            look_for="The log-loss is shown; the records have the other scores too.",
            **common_settings,
        )
        yield Entry(
            kind="figure",
            number=number,
            title=f"{condition.title}, critical differences",
            run=partial(draw_ranks, condition=condition),
            look_for=CAPTION,
            **common_settings,
        )


ENTRIES = tuple(sorted(_entries(), key=lambda entry: (entry.kind != "table", entry.number)))
