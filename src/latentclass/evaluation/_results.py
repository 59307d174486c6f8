"""Scores of a comparison and tests of significance on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.evaluation._folds import Fold
from latentclass.evaluation._metrics import SECONDS, Metric, find_metric, join
from latentclass.evaluation._run import predictions_of
from latentclass.evaluation._significance import (
    FriedmanResult,
    PairResult,
    corrected_t_test,
    friedman_test,
    kohavi_pooled_test,
    kohavi_sd,
    paired_t_test,
    wilcoxon_test,
)
from latentclass.evaluation._store import Record

ON_FOLDS = ("corrected", "paired")
"""Tests of two classifiers on one data set."""

OVER_DATASETS = ("wilcoxon", "kohavi")
"""Tests of two classifiers over all data sets."""


class Results:
    """Results of several classifiers on the same folds of several data sets.

    The part of a `Comparison` that computes: its tables and plots are made from this. See there
    for the attributes.
    """

    def __init__(
        self,
        records: Mapping[tuple[str, str, int], Record],
        folds: Mapping[str, list[Fold]],
        classifiers: Sequence[str],
        metrics: Sequence[Metric],
        protocol: str,
        n_computed: int,
    ) -> None:
        self._records = dict(records)
        self.folds = dict(folds)
        self.datasets = tuple(folds)
        self.classifiers = tuple(classifiers)
        self.metrics = tuple(metrics)
        self.protocol = protocol
        self.n_computed = n_computed
        self._fold_cache: dict[tuple[str, Any], FloatArray] = {}
        self._cache: dict[Any, FloatArray] = {}

    # ------------------------------------------------------------------ scores

    def record(self, dataset: str, classifier: str, fold: int = 0) -> Record:
        """All that is known of one fold: seconds, warnings, error, versions, parameters."""
        self._check(datasets=(dataset,), classifiers=(classifier,))
        return self._records[dataset, classifier, fold]

    @cached_property
    def failures(self) -> list[Record]:
        """Records of the folds on which a classifier failed, with `error` and `traceback`."""
        return [record for record in self._records.values() if record["error"] is not None]

    @property
    def leaks(self) -> bool:
        """Whether test folds leaked into the preprocessing: `protocol="paper"`."""
        return self.protocol == "paper"

    def find_metric(self, metric: Any = None) -> Metric:
        """The metric of a name; the main one for None."""
        return self.metrics[0] if metric is None else find_metric(metric, self.metrics)

    def n_rows(self, dataset: str) -> int:
        """Rows of a data set that were tested."""
        return len(np.unique(np.concatenate([fold.test for fold in self.folds[dataset]])))

    def fold_scores(self, dataset: str, metric: Any = None) -> FloatArray:
        """Score on each fold, shape (n_folds, n_classifiers); NaN where the classifier failed."""
        self._check(datasets=(dataset,))
        metric = self.find_metric(metric)
        known = self._fold_cache.get((dataset, metric))
        if known is None:
            known = self._fold_cache[dataset, metric] = np.array(
                [
                    [
                        _score(self._records[dataset, name, fold.number], metric)
                        for name in self.classifiers
                    ]
                    for fold in self.folds[dataset]
                ]
            )
        return known.copy()

    def scores(self, metric: Any = None) -> FloatArray:
        """Score on each data set, shape (n_datasets, n_classifiers).

        Of the test rows of all folds together (seconds: the mean over folds). NaN if the
        classifier failed on any fold: the others' scores are then not of the same rows.
        """
        metric = self.find_metric(metric)
        if metric not in self._cache:
            pairs = [
                [self._pooled(dataset, name, metric) for name in self.classifiers]
                for dataset in self.folds
            ]
            self._cache[metric] = np.array(pairs)
        return self._cache[metric].copy()

    def _pooled(self, dataset: str, classifier: str, metric: Metric) -> float:
        records = [self._records[dataset, classifier, fold.number] for fold in self.folds[dataset]]
        if any(record["error"] is not None for record in records):
            return math.nan
        if metric.name in SECONDS:
            return float(np.mean([record[metric.name] for record in records]))
        return float(metric.function(join([predictions_of(record) for record in records])))

    def sd(self, metric: Any = None, how: str = "auto") -> FloatArray:
        """Standard deviations beside `scores`.

        Parameters
        ----------
        metric : str or Metric, optional
        how : {"auto", "kohavi", "folds"}
            "kohavi": sqrt(a (1 - a) / N), for the accuracy only. "folds": that of the folds'
            scores. "auto": the first for the accuracy, else the second.
        """
        check_option("how", how, ("auto", "kohavi", "folds"))
        metric = self.find_metric(metric)
        if how == "auto":
            how = "kohavi" if metric.name == "accuracy" else "folds"
        if how == "folds":
            spread = [_sd(self.fold_scores(dataset, metric)) for dataset in self.datasets]
            return np.array(spread)
        if metric.name != "accuracy":
            raise ValueError(
                f'how="kohavi" is the standard deviation of an accuracy, not of {metric.name!r}. '
                'Use how="folds".'
            )
        n_rows = np.array([self.n_rows(dataset) for dataset in self.datasets])
        return kohavi_sd(self.scores(metric), n_rows[:, None])

    # ------------------------------------------------------------------- tests

    def test(
        self,
        first: str,
        second: str,
        how: str = "corrected",
        *,
        dataset: str | None = None,
        metric: Any = None,
    ) -> PairResult:
        """Test two classifiers against each other.

        Parameters
        ----------
        first, second : str
            Classifiers.
        how : {"corrected", "paired", "wilcoxon", "kohavi"}
            On one data set: Nadeau and Bengio's corrected resampled t-test, or the paired
            t-test, on the scores by fold. Over all data sets: Wilcoxon's signed-rank test, or
            Kohavi's pooled test of the HNB paper (of the accuracy; one-sided: is the first
            better?).
        dataset : str, optional
            For the first two.
        metric : str or Metric, optional

        Returns
        -------
        PairResult
            `difference` (first less second), `statistic`, `p_value`.
        """
        check_option("how", how, ON_FOLDS + OVER_DATASETS)
        self._check(classifiers=(first, second))
        if how in ON_FOLDS and dataset is None:
            raise ValueError(f"how={how!r} compares on one data set: name it, dataset=...")
        if how in OVER_DATASETS and dataset is not None:
            raise ValueError(f"how={how!r} compares over all data sets: leave dataset away.")
        a, b = self.classifiers.index(first), self.classifiers.index(second)
        if dataset is not None:
            scores = self.fold_scores(dataset, metric)
            if how == "paired":
                return paired_t_test(scores[:, a], scores[:, b])
            sizes = self._sizes(dataset, first)
            return corrected_t_test(scores[:, a], scores[:, b], *sizes)
        scores = self.scores("accuracy" if how == "kohavi" else metric)
        if how == "wilcoxon":
            return wilcoxon_test(scores[:, a], scores[:, b])
        sd = self.sd("accuracy", "kohavi")
        return kohavi_pooled_test(scores[:, a], scores[:, b], sd[:, a], sd[:, b])

    def _sizes(self, dataset: str, classifier: str) -> tuple[list[int], list[int]]:
        """Labelled rows of the training and test parts."""
        records = [self._records[dataset, classifier, fold.number] for fold in self.folds[dataset]]
        return [r["n_train"] for r in records], [r["n_test"] for r in records]

    def friedman(self, metric: Any = None) -> FriedmanResult:
        """Friedman's test of all classifiers over the data sets, with mean ranks."""
        metric = self.find_metric(metric)
        return friedman_test(self.scores(metric), greater_is_better=metric.greater_is_better)

    def wins_ties_losses(
        self,
        first: str,
        second: str,
        *,
        test: str | None = "corrected",
        alpha: float = 0.05,
        metric: Any = None,
    ) -> tuple[int, int, int]:
        """Data sets on which the first classifier beats, ties with, loses to the second.

        Parameters
        ----------
        first, second : str
        test : {"corrected", "paired"} or None, default="corrected"
            Count significant differences by this test, all else as ties. None counts every
            difference.
        alpha : float, default=0.05
            Level of the test, two-sided.
        metric : str or Metric, optional
        """
        check_option("test", test, (*ON_FOLDS, None))
        self._check(classifiers=(first, second))
        metric = self.find_metric(metric)
        a, b = self.classifiers.index(first), self.classifiers.index(second)
        gain = self.scores(metric)[:, a] - self.scores(metric)[:, b]
        gain = gain if metric.greater_is_better else -gain
        known = ~np.isnan(gain)
        if test is not None:
            for place in np.flatnonzero(known):
                dataset = self.datasets[place]
                result = self.test(first, second, test, dataset=dataset, metric=metric)
                if not result.p_value <= alpha:  # NaN too: one fold shows nothing
                    gain[place] = 0.0
        gain = gain[known]
        return int(np.sum(gain > 0)), int(np.sum(gain == 0)), int(np.sum(gain < 0))

    def _check(self, *, datasets: Sequence[str] = (), classifiers: Sequence[str] = ()) -> None:
        for name in datasets:
            check_option("dataset", name, self.datasets)
        for name in classifiers:
            check_option("classifier", name, self.classifiers)


def _score(record: Record, metric: Metric) -> float:
    if record["error"] is not None:
        return math.nan
    if metric.name in SECONDS:
        return float(record[metric.name])
    return float(metric.function(predictions_of(record)))


def _sd(scores: FloatArray) -> FloatArray:
    if len(scores) < 2:
        return np.full(scores.shape[1], np.nan)
    return np.asarray(np.std(scores, axis=0, ddof=1))
