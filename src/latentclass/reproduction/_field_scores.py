"""Scores of every classifier of the field on every table, computed or read from records.

The records by data set are what a run leaves behind. A later run, perhaps on another machine, finds
them in its folder and computes only what they lack. Means and figures are made of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.auto._classifier import AutoLatentClassifier
from latentclass.baselines import AODE, TAN, NaiveBayes
from latentclass.exceptions import DataSetUnavailableError
from latentclass.hnb._classifier import HNBClassifier
from latentclass.latent_tree._classifier import LatentTreeClassifier
from latentclass.lcm._classifier import LCMClassifier
from latentclass.lcm._hybrid_classifier import HybridLCMClassifier
from latentclass.mixture._classifier import LatentVariableClassifier
from latentclass.reproduction import _field_tables as tables
from latentclass.reproduction._field_peers import ANCHOR, peers, self_training
from latentclass.reproduction._field_tables import Condition
from latentclass.reproduction._records import NOT_INSTALLED, NOT_RUN, Record, read_records, text_of
from latentclass.reproduction._work import Work

CONDITIONS = (
    Condition("complete tables"),
    Condition("30 % of the cells missing", missing=0.3),
    Condition("90 % of the labels missing", labelled=0.1),
    Condition("10 % of the cells missing", missing=0.1),
    Condition("50 % of the cells missing", missing=0.5),
    Condition("5 labelled rows of each class", labels=5),
    Condition("15 labelled rows of each class", labels=15),
    Condition("50 labelled rows of each class", labels=50),
)
BY_TABLE = 10
"""Table 10 + n has the scores on each data set for table n."""

SCORES = {"log_loss": "log-loss", "accuracy": "accuracy, %", "brier": "Brier score", "ece": "ECE"}
N_TESTED = {"quick": 1, "paper": 2}
FAILED = "-"

Scores = dict[str, FloatArray]
"""By classifier: those of `SCORES`, and the seconds of a fit. One that failed is not there."""


def ours() -> dict[str, Any]:
    """Return our classifiers. `LCMClassifier` takes tables of numbers only.

    All have their default settings, but for the models of HNB and the search of latent trees.
    """
    return {
        "Auto": AutoLatentClassifier(),
        "Hybrid LCM": HybridLCMClassifier(),
        "LVC": LatentVariableClassifier(),
        "HNB": HNBClassifier(n_models=10),
        "latent trees": LatentTreeClassifier(search="fast"),
        "LCM": LCMClassifier(),
        "AODE": AODE(),
        "TAN": TAN(),
        "naive Bayes": NaiveBayes(),
    }


def classifiers(condition: Condition) -> dict[str, Any]:
    """Return all classifiers, quick ones first; None for what is not installed."""
    others = peers()
    if condition != CONDITIONS[0]:
        del others[ANCHOR]  # it takes longer than all others together
    if not condition.is_labelled:
        others["self-training"] = self_training()
    return {**others, **dict(reversed(ours().items()))}


def earlier_records(work: Work, condition: Condition) -> list[Record]:
    """Return the records by data set that are in the folder, but for what was never run."""
    number = BY_TABLE + CONDITIONS.index(condition) + 1
    path = work.out / f"field-table-{number}-{work.profile}.csv"
    found = read_records(path) if path.exists() else []
    return [one for one in found if one.note not in (NOT_INSTALLED, NOT_RUN)]


def scores_by_table(work: Work, condition: Condition) -> Iterator[tuple[str, Scores]]:
    """Yield each table with its scores, as soon as they are there."""
    known = _read_scores(earlier_records(work, condition))
    every = [*tables.others(), *(tables.QUICK_PAPERS if work.quick else tables.papers())]
    for name in dict.fromkeys([*every, *known]):
        earlier = known.get(name, {})
        lacking = {
            key: one
            for key, one in classifiers(condition).items()
            if one is not None and key not in earlier
        }
        found = {key: scores for key, scores in earlier.items() if scores is not None}
        if lacking and name in every:
            found |= _compute(work, condition, name, lacking)
        if found:
            yield name, found


def _compute(work: Work, condition: Condition, name: str, lacking: dict[str, Any]) -> Scores:
    """Compare classifiers on a table; nothing if it cannot be had."""
    try:
        X, y = tables.load(name)
    except DataSetUnavailableError as error:
        work.say(f"{work.name}, {name} is left out: {error}")
        return {}
    metrics = (*SCORES, "fit_seconds")
    if any(kind.name == "category" for kind in X.dtypes):
        lacking.pop("LCM", None)
    if not lacking:
        return {}
    scores = []
    for draw, (train, test) in enumerate(islice(tables.splits(y), N_TESTED[work.profile])):
        problem = (f"{name} #{draw}", *tables.hide(X, y, train, condition, draw))
        result = work.compare(lacking, [problem], cv={problem[0]: [(train, test)]}, scoring=metrics)
        scores.append([result.scores(metric)[0] for metric in metrics])
    means = np.mean(scores, axis=0).T
    return {key: one for key, one in zip(lacking, means, strict=True) if not np.isnan(one).any()}


def make_records(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield the records by data set: those that are there already, then what they lack."""
    earlier = earlier_records(work, condition)
    yield from earlier
    known = {(one.row, one.column) for one in earlier}
    names = classifiers(condition)
    for table, scores in scores_by_table(work, condition):
        for name in names:
            if (table, name) in known:
                continue
            if name not in scores:
                if work.only_stored:  # it may just not be finished
                    continue
                note = NOT_INSTALLED if names[name] is None else FAILED
                yield Record(table, name, SCORES["log_loss"], note=note)
                continue
            *values, seconds = scores[name]
            for (metric, title), value in zip(SCORES.items(), values, strict=True):
                shown = text_of(100 * value, 2) if metric == "accuracy" else text_of(value, 4)
                yield Record(
                    table, name, title, shown,
                    seconds=f"{seconds:.3g}" if metric == "log_loss" else "",
                    runs=str(N_TESTED[work.profile]),
                )  # fmt: skip


def _read_scores(records: list[Record]) -> dict[str, dict[str, FloatArray | None]]:
    """Return what records by data set say; None for a classifier that failed."""
    cells: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        cells.setdefault((record.row, record.column), {})[record.statistic] = record
    found: dict[str, dict[str, FloatArray | None]] = {}
    for (table, name), cell in cells.items():
        loss = cell[SCORES["log_loss"]]
        found.setdefault(table, {})[name] = None
        if loss.value:
            values = [float(cell[title].value) for title in SCORES.values()]
            values[1] /= 100  # accuracy
            found[table][name] = np.array([*values, float(loss.seconds)])
    return found
