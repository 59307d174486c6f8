"""Scores of a comparison, and significance tests."""

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

    This is the part of a `Comparison` from which its tables and plots are made. The attributes are
    described there.
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
        """Everything recorded about one fold: seconds, warnings, error, versions, parameters."""
        self._check(datasets=(dataset,), classifiers=(classifier,))
        return self._records[dataset, classifier, fold]

    @cached_property
    def failures(self) -> list[Record]:
        """Records of the folds on which a classifier failed, with `error` and `traceback`."""
        return [record for record in self._records.values() if record["error"] is not None]

    @property
    def leaks(self) -> bool:
        """Whether the test folds leaked into the preprocessing (`protocol="paper"`)."""
        return self.protocol == "paper"

    def find_metric(self, metric: Any = None) -> Metric:
        """Return the metric with a name, or the main one for None."""
        return self.metrics[0] if metric is None else find_metric(metric, self.metrics)

    def n_rows(self, dataset: str) -> int:
        """Number of rows of a data set that were tested."""
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

        A score is computed on the test rows of all folds together. Seconds are the mean over
        folds. The score is NaN if the classifier failed on any fold, because it would not be
        computed on the same rows as the others.
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
        """Standard deviations of `scores`.

        Parameters
        ----------
        metric : str or Metric, optional
        how : {"auto", "kohavi", "folds"}
            "kohavi": sqrt(a (1 - a) / N), for the accuracy only. "folds": the standard deviation
            of the scores on the folds. "auto": "kohavi" for the accuracy, "folds" otherwise.
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
                f'how="kohavi" needs metric="accuracy", but metric is {metric.name!r}. '
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
        """Test whether two classifiers differ.

        Parameters
        ----------
        first, second : str
            Names of the classifiers.
        how : {"corrected", "paired", "wilcoxon", "kohavi"}
            "corrected" and "paired" compare the scores on the folds of one data set, with Nadeau
            and Bengio's corrected resampled t-test or the paired t-test. "wilcoxon" and "kohavi"
            compare over all data sets, with Wilcoxon's signed-rank test or the HNB paper's pooled
            test after Kohavi. The latter is one-sided (is the first better?) and uses the accuracy.
        dataset : str, optional
            Needed for "corrected" and "paired".
        metric : str or Metric, optional

        Returns
        -------
        PairResult
            `difference` (first minus second), `statistic` and `p_value`.
        """
        check_option("how", how, ON_FOLDS + OVER_DATASETS)
        self._check(classifiers=(first, second))
        if how in ON_FOLDS and dataset is None:
            raise ValueError(f"how={how!r} compares on one data set. Name it with dataset=.")
        if how in OVER_DATASETS and dataset is not None:
            raise ValueError(f"how={how!r} compares over all data sets. Leave out dataset=.")
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
        """Number of labelled training rows and of test rows in each fold."""
        records = [self._records[dataset, classifier, fold.number] for fold in self.folds[dataset]]
        return [r["n_train"] for r in records], [r["n_test"] for r in records]

    def friedman(self, metric: Any = None) -> FriedmanResult:
        """Friedman's test of all classifiers over all data sets, with mean ranks."""
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
        """Count the data sets on which the first classifier wins, ties and loses.

        Parameters
        ----------
        first, second : str
            Names of the classifiers.
        test : {"corrected", "paired"} or None, default="corrected"
            Only significant differences count as wins and losses. None counts every difference.
        alpha : float, default=0.05
            Significance level of the two-sided test.
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
                if not result.p_value <= alpha:  # also if it is NaN, as with a single fold
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
