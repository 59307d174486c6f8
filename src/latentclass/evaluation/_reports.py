"""The tables of a comparison: scores, summary, one against the others, all results by fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass._types import BoolArray, FloatArray
from latentclass._validation import check_option
from latentclass.evaluation._metrics import METRICS, Metric
from latentclass.evaluation._results import Results
from latentclass.evaluation._significance import (
    nemenyi_difference,
    nemenyi_p_values,
    rank_rows,
)
from latentclass.evaluation._tables import LEAK, Cell, TextTable, number, one_line, p_text

MARKS = ("-", "*")
"""Marks of scores that are worse than the best at the first and second level (LCM paper)."""

TEST_NAMES = {"corrected": "corrected resampled t-test", "paired": "paired t-test"}


def score_table(
    results: Results,
    metric: Any,
    sd: str | None,
    test: str | None,
    alpha: tuple[float, ...],
    published: dict[tuple[str, str], float],
) -> TextTable:
    """See `Comparison.table`."""
    check_option("sd", sd, ("auto", "kohavi", "folds", None))
    check_option("test", test, (*TEST_NAMES, None))
    if len(alpha) > len(MARKS) or list(alpha) != sorted(alpha, reverse=True):
        raise ValueError(f"alpha={alpha!r} must be at most {len(MARKS)} levels, largest first.")
    metric = results.find_metric(metric)
    scores = results.scores(metric)
    spread = results.sd(metric, sd) if sd is not None else None
    best = _best(scores, metric)
    rows: list[tuple[str | Cell, ...]] = []
    for i, dataset in enumerate(results.datasets):
        marks = _marks(results, dataset, best[i], test, alpha, metric)
        cells = [
            Cell(
                _shown(scores[i, j], metric),
                "" if spread is None else _shown_sd(spread[i, j], metric),
                marks[j],
                bool(best[i, j]),
                _published(published.get((dataset, name)), metric),
            )
            for j, name in enumerate(results.classifiers)
        ]
        rows.append((dataset, *cells))
    rows += _foot(scores, best, metric)
    notes = []
    if spread is not None:
        kohavi = sd == "kohavi" or (sd == "auto" and metric.name == "accuracy")
        words = "in theory (Kohavi), sqrt(a(1-a)/N)" if kohavi else "over the folds"
        notes.append(f"±: standard deviation {words}.")
    if test is not None and alpha:
        levels = ", ".join(
            f"{mark} at {100 * level:g} %" for mark, level in zip(MARKS, alpha, strict=False)
        )
        notes.append(
            f"Significantly worse than the best ({TEST_NAMES[test]}): {levels}. Not corrected for "
            "the number of comparisons."
        )
    if published:
        notes.append("In brackets: published score.")
    notes += _failure_notes(results)
    return TextTable(
        f"{_title(metric)} of {_count(results.classifiers, 'classifier')} on "
        f"{_count(results.datasets, 'data set')}",
        ("data set", *results.classifiers),
        tuple(rows),
        tuple(notes),
        _score_data(results, scores, spread, published),
        results.leaks,
    )


def _score_data(
    results: Results,
    scores: FloatArray,
    spread: FloatArray | None,
    published: dict[tuple[str, str], float],
) -> dict[str, list[Any]]:
    data: dict[str, list[Any]] = {"data set": list(results.datasets)}
    for j, name in enumerate(results.classifiers):
        data[name] = scores[:, j].tolist()
        if spread is not None:
            data[f"{name} sd"] = spread[:, j].tolist()
        if any(classifier == name for _, classifier in published):
            data[f"{name} published"] = [
                published.get((dataset, name), float("nan")) for dataset in results.datasets
            ]
    return data


def _best(scores: FloatArray, metric: Metric) -> BoolArray:
    """Mark the best score of each row, or all of them if several are equal."""
    signed = np.where(np.isnan(scores), -np.inf, scores if metric.greater_is_better else -scores)
    return np.asarray((signed == signed.max(axis=1, keepdims=True)) & ~np.isnan(scores))


def _marks(
    results: Results,
    dataset: str,
    best: BoolArray,
    test: str | None,
    alpha: tuple[float, ...],
    metric: Metric,
) -> list[str]:
    if test is None or not best.any():
        return [""] * len(best)
    winner = results.classifiers[int(np.argmax(best))]
    marks = []
    for j, name in enumerate(results.classifiers):
        mark = ""
        if not best[j]:
            p_value = results.test(winner, name, test, dataset=dataset, metric=metric).p_value
            passed = [m for m, level in zip(MARKS, alpha, strict=False) if p_value <= level]
            mark = passed[-1] if passed else ""
        marks.append(mark)
    return marks


def _foot(scores: FloatArray, best: BoolArray, metric: Metric) -> list[tuple[str | Cell, ...]]:
    """Averages over the data sets on which every classifier has a score, for a fair comparison."""
    if len(scores) < 2:
        return []
    complete = scores[~np.isnan(scores).any(axis=1)]
    foot: list[tuple[str | Cell, ...]] = []
    if len(complete):
        means = complete.mean(axis=0)
        ranks = rank_rows(complete, greater_is_better=metric.greater_is_better).mean(axis=0)
        foot.append(("average", *(Cell(_shown(mean, metric)) for mean in means)))
        foot.append(("mean rank", *(Cell(number(rank, 2)) for rank in ranks)))
    foot.append(("best", *(Cell(str(int(count))) for count in best.sum(axis=0))))
    return foot


def summary_table(results: Results, metric: Any, test: str | None, alpha: float) -> TextTable:
    """See `Comparison.summary`."""
    check_option("test", test, (*TEST_NAMES, None))
    metric = results.find_metric(metric)
    scores = results.scores(metric)
    best, friedman = _best(scores, metric), results.friedman(metric)
    data: dict[str, list[Any]] = {"classifier": list(results.classifiers)}
    digits: dict[str, Metric] = {}
    for shown in results.metrics:
        values = results.scores(shown)
        complete = values[~np.isnan(values).any(axis=1)]
        mean = complete.mean(axis=0) if len(complete) else np.full(values.shape[1], np.nan)
        data[shown.name], digits[shown.name] = mean.tolist(), shown
    data["mean rank"] = friedman.mean_ranks.tolist()
    data["best"] = best.sum(axis=0).tolist()
    if test is not None:
        data["worse"] = _times_worse(results, best, test, alpha, metric)
    data["failed"] = [
        sum(record["classifier"] == name for record in results.failures)
        for name in results.classifiers
    ]
    rows: list[tuple[str | Cell, ...]] = []
    for j, name in enumerate(results.classifiers):
        cells = []
        for column, numbers in list(data.items())[1:]:
            if column in digits:
                cells.append(Cell(_shown(numbers[j], digits[column])))
            else:
                cells.append(Cell(number(numbers[j], 2 if column == "mean rank" else 0)))
        rows.append((name, *cells))
    notes = [
        f"Averages and mean ranks ({metric.name}) over the {friedman.n_datasets} data set(s) on "
        "which every classifier has a score. best: number of data sets on which it is the best."
    ]
    if test is not None:
        notes.append(
            f"worse: number of data sets on which it is significantly worse than the best "
            f"({TEST_NAMES[test]}, {100 * alpha:g} %)."
        )
    notes += _friedman_notes(results, metric, alpha)
    return TextTable(
        f"Summary over {_count(results.datasets, 'data set')}",
        tuple(data),
        tuple(rows),
        tuple(notes),
        data,
        results.leaks,
    )


def _times_worse(
    results: Results, best: BoolArray, test: str, alpha: float, metric: Metric
) -> list[int]:
    marks = [
        _marks(results, dataset, best[i], test, (alpha,), metric)
        for i, dataset in enumerate(results.datasets)
    ]
    return [sum(bool(mark) for mark in column) for column in zip(*marks, strict=True)]


def _friedman_notes(results: Results, metric: Metric, alpha: float) -> list[str]:
    friedman = results.friedman(metric)
    n, k = friedman.n_datasets, len(results.classifiers)
    if n < 2 or k < 3:
        return []
    tested = f"Friedman: chi2({k - 1}) = {friedman.chi2:.2f}, p = {p_text(friedman.p_chi2)}"
    if np.isfinite(friedman.f):  # not if all data sets rank the classifiers in the same way
        tested += (
            f"; Iman and Davenport: F({k - 1}, {(k - 1) * (n - 1)}) = {friedman.f:.2f}, "
            f"p = {p_text(friedman.p_f)}"
        )
    return [
        f"{tested}.",
        f"Nemenyi's critical difference of mean ranks at {100 * alpha:g} %: "
        f"{nemenyi_difference(k, n, alpha):.2f}.",
    ]


def versus_table(
    results: Results, reference: str, metric: Any, test: str, alpha: float
) -> TextTable:
    """See `Comparison.versus`."""
    check_option("test", test, tuple(TEST_NAMES))
    metric = results.find_metric(metric)
    friedman = results.friedman(metric)
    place = results.classifiers.index(reference)
    ranked = friedman.n_datasets > 1 and len(results.classifiers) > 2
    nemenyi = nemenyi_p_values(friedman.mean_ranks, friedman.n_datasets)[place] if ranked else None
    columns = ["versus", "difference", "w/t/l", "significant w/t/l", "Wilcoxon p"]
    columns += ["Nemenyi p"] * ranked + ["Kohavi p"] * (metric.name == "accuracy")
    data: dict[str, list[Any]] = {column: [] for column in columns}
    rows: list[tuple[str | Cell, ...]] = []
    for j, name in enumerate(results.classifiers):
        if name == reference:
            continue
        wilcoxon = results.test(reference, name, "wilcoxon", metric=metric)
        p_values = [wilcoxon.p_value]
        if nemenyi is not None:
            p_values.append(float(nemenyi[j]))
        if metric.name == "accuracy":
            p_values.append(results.test(reference, name, "kohavi").p_value)
        counts = [
            "/".join(
                map(
                    str,
                    results.wins_ties_losses(
                        reference, name, test=kind, alpha=alpha, metric=metric
                    ),
                )
            )
            for kind in (None, test)
        ]
        for column, value in zip(
            columns, [name, wilcoxon.difference, *counts, *p_values], strict=True
        ):
            data[column].append(value)
        shown = [_shown(wilcoxon.difference, metric), *counts, *map(p_text, p_values)]
        rows.append((name, *map(Cell, shown)))
    sides = "The tests are two-sided."
    if metric.name == "accuracy":
        sides = "Kohavi's test is one-sided, the others are two-sided."
    notes = [
        f"w/t/l: data sets won, tied, lost; significant by the {TEST_NAMES[test]} at "
        f"{100 * alpha:g} %. {sides}"
    ]
    if nemenyi is not None:
        notes.append("Only Nemenyi's p-values are corrected for the number of pairs.")
    notes += _friedman_notes(results, metric, alpha) + _failure_notes(results)
    return TextTable(
        f"{reference} against the others: {_title(metric)}",
        tuple(columns),
        tuple(rows),
        tuple(notes),
        data,
        results.leaks,
    )


def tidy_columns(results: Results) -> dict[str, list[Any]]:
    """See `Comparison.columns`."""
    more = {metric.name: metric for metric in results.metrics}
    metrics = (METRICS | more).values()
    scores = {
        dataset: {metric.name: results.fold_scores(dataset, metric) for metric in metrics}
        for dataset in results.datasets
    }
    data: dict[str, list[Any]] = {name: [] for name in ("dataset", "classifier", "fold")}
    data |= {name: [] for name in ("n_train", "n_test", *(metric.name for metric in metrics))}
    data |= {name: [] for name in ("warnings", "error", "protocol")}
    for dataset, folds in results.folds.items():
        for j, name in enumerate(results.classifiers):
            for place, fold in enumerate(folds):
                record = results.record(dataset, name, fold.number)
                values = {
                    "dataset": dataset,
                    "classifier": name,
                    "fold": fold.number,
                    "n_train": record["n_train"],
                    "n_test": record["n_test"],
                    "warnings": len(record["warnings"]),
                    "error": record["error"] or "",
                    "protocol": results.protocol,
                }
                for metric_name, matrix in scores[dataset].items():
                    values[metric_name] = float(matrix[place, j])
                for column, value in values.items():
                    data[column].append(value)
    if results.leaks:
        data["note"] = [LEAK] * len(data["dataset"])
    return data


def _count(things: Sequence[str], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _title(metric: Metric) -> str:
    unit = " (%)" if metric.percent else ""
    better = "" if metric.greater_is_better else " (lower is better)"
    return f"{metric.name}{unit}{better}"


def _shown(value: float, metric: Metric) -> str:
    return number(float(value), metric.digits, percent=metric.percent)


def _shown_sd(value: float, metric: Metric) -> str:
    return "" if np.isnan(value) else _shown(value, metric)


def _published(value: float | None, metric: Metric) -> str:
    return "" if value is None else number(float(value), metric.digits)


def _failure_notes(results: Results) -> list[str]:
    if not results.failures:
        return []
    first = results.failures[0]
    return [
        f"{len(results.failures)} fit(s) failed. A classifier has no score (-) on a data set on "
        f"which it failed. The first failure: {first['classifier']} on {first['dataset']}, fold "
        f"{first['fold']}: {one_line(first['error'], 160)}"
    ]
