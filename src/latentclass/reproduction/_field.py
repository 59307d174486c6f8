"""The field: our classifiers and those of other libraries on the same rows of many tables.

Table n has mean scores of every classifier under the n-th condition, figure n the critical
differences of their ranks, and table 10 + n the log-loss on each data set.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.auto._classifier import AutoLatentClassifier
from latentclass.baselines import AODE, TAN, NaiveBayes
from latentclass.evaluation import CriticalDifferenceDisplay
from latentclass.evaluation._significance import nemenyi_difference, rank_rows
from latentclass.hnb._classifier import HNBClassifier
from latentclass.latent_tree._classifier import LatentTreeClassifier
from latentclass.lcm._classifier import LCMClassifier
from latentclass.lcm._hybrid_classifier import HybridLCMClassifier
from latentclass.mixture._classifier import LatentVariableClassifier
from latentclass.reproduction import _field_tables as tables
from latentclass.reproduction._entry import Entry
from latentclass.reproduction._field_peers import ANCHOR, PEERS, peers, self_training
from latentclass.reproduction._field_tables import Condition
from latentclass.reproduction._records import NOT_INSTALLED, Record, text_of
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
"""Table 10 + n has the log-loss on each data set for table n."""

SCORES = {"log_loss": "log-loss", "accuracy": "accuracy, %", "brier": "Brier score", "ece": "ECE"}
SECONDS = "fit, s"
MINUTES = {1: {"quick": 35.0}, 2: {"quick": 35.0}}
"""By the number of the condition. Its two tables and its figure share their results."""

N_TESTED = {"quick": 1, "paper": 2}

PROTOCOL = (
    "Every classifier as it comes, on the same rows. At most 480 training rows; up to 2,000 test "
    "rows. ECE is the expected calibration error in 15 bins. The average of peers is a greedy "
    "average of logistic regression, random forest, SVC, gradient boosting and CatBoost, its "
    "weights from inner folds. EBM has 4 bags and 10 pairs of columns. Ranks are by log-loss."
)
PROFILES = {
    "quick": "The 16 other tables, one split each.",
    "paper": "All tables of the papers and the 16 others, two splits each.",
}
CAPTION = (
    "Mean ranks by log-loss, the best on the left. Classifiers under one bar do not differ "
    "significantly (Nemenyi, 5 %)."
)


def ours() -> dict[str, Any]:
    """Return our classifiers as they come. `LCMClassifier` takes tables of numbers only."""
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


def on_table(work: Work, condition: Condition, name: str) -> dict[str, FloatArray] | None:
    """Return the scores of each classifier on a table: those of `SCORES`, and seconds.

    A classifier that failed is not there. None if some were not run, and nothing may be computed.
    """
    X, y = tables.load(name)
    metrics = (*SCORES, "fit_seconds")
    found = {key: one for key, one in classifiers(condition).items() if one is not None}
    if any(kind.name == "category" for kind in X.dtypes):
        del found["LCM"]
    scores = []
    for draw, (train, test) in enumerate(islice(tables.splits(y), N_TESTED[work.profile])):
        problem = (f"{name} #{draw}", *tables.hide(X, y, train, condition, draw))
        result = work.compare(found, [problem], cv={problem[0]: [(train, test)]}, scoring=metrics)
        if any(one["error"].startswith("LookupError") for one in result.failures):
            return None
        scores.append([result.scores(metric)[0] for metric in metrics])
    means = np.mean(scores, axis=0).T
    return {key: one for key, one in zip(found, means, strict=True) if not np.isnan(one).any()}


def all_tables(work: Work, condition: Condition) -> Iterator[tuple[str, dict[str, FloatArray]]]:
    """Yield the scores on each table, as soon as they are there."""
    for name in (*tables.others(), *(() if work.quick else tables.papers())):
        scores = on_table(work, condition, name)
        if scores is not None:
            yield name, scores


def common(found: dict[str, dict[str, FloatArray]]) -> tuple[list[str], FloatArray]:
    """Return the classifiers with scores on all tables, and these (tables, classifiers, scores)."""
    names = dict.fromkeys(name for scores in found.values() for name in scores)
    kept = [name for name in names if all(name in scores for scores in found.values())]
    return kept, np.array([[scores[name] for name in kept] for scores in found.values()])


def summarise(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield mean scores and ranks, the classifier with the lowest log-loss first.

    Below them stand those that do not have all tables, with the mean of what they have.
    """
    found = dict(all_tables(work, condition))
    kept, values = common(found)
    rank_of = dict(zip(kept, mean_ranks(values), strict=True)) if kept else {}
    lines = {}
    for name in dict.fromkeys(name for scores in found.values() for name in scores):
        own = [scores[name] for scores in found.values() if name in scores]
        lines[name] = (len(own) < len(found), *np.mean(own, axis=0), len(own))
    for name, line in sorted(lines.items(), key=lambda item: item[1]):
        _, loss, accuracy, brier, ece, seconds, n_tables = line
        cells = {
            "log-loss": text_of(loss, 3),
            "mean rank": text_of(rank_of.get(name), 1),
            "accuracy, %": text_of(100 * accuracy, 1),
            "Brier score": text_of(brier, 3),
            "ECE": text_of(ece, 3),
            SECONDS: f"{seconds:.2g}",
            "tables": str(n_tables),
        }
        for column, value in cells.items():
            yield Record(name, column, column, value, runs=str(n_tables))
    for name, one in classifiers(condition).items():
        if name not in lines:
            note = "failed" if one is not None else NOT_INSTALLED
            yield Record(name, "log-loss", "log-loss", note=note)


def mean_ranks(values: FloatArray) -> FloatArray:
    """Return the mean rank of each classifier by log-loss; 1 is best."""
    return np.asarray(rank_rows(values[:, :, 0], greater_is_better=False).mean(axis=0))


def by_table(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield the scores on each table; the log-loss is the one that is shown."""
    names = classifiers(condition)
    for table, scores in all_tables(work, condition):
        for name in names:
            if name not in scores:
                note = NOT_INSTALLED if names[name] is None else "-"
                yield Record(table, name, "log-loss", note=note)
                continue
            *values, seconds = scores[name]
            for (metric, title), value in zip(SCORES.items(), values, strict=True):
                shown = text_of(100 * value, 1) if metric == "accuracy" else text_of(value, 4)
                yield Record(
                    table, name, title, shown,
                    seconds=f"{seconds:.3g}" if metric == "log_loss" else "",
                    runs=str(N_TESTED[work.profile]),
                )  # fmt: skip


def draw_ranks(work: Work, condition: Condition) -> Iterator[Record]:
    """Yield the mean ranks and draw them with their critical difference."""
    kept, values = common(dict(all_tables(work, condition)))
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
            "minutes": MINUTES.get(number, {}),
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
            run=partial(by_table, condition=condition),
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
