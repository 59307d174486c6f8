"""What `compare` returns: the results with their tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from latentclass.evaluation._plots import CriticalDifferenceDisplay, ErrorScatterDisplay
from latentclass.evaluation._reports import score_table, summary_table, tidy_columns, versus_table
from latentclass.evaluation._results import Results
from latentclass.evaluation._significance import nemenyi_difference
from latentclass.evaluation._tables import LEAK, TextTable, csv_text, data_frame


class Comparison(Results):
    """Results of several classifiers on the same folds of several data sets.

    `print(comparison)` shows the main score and a summary. Methods with a `metric` take a name
    ("accuracy", "log_loss", "brier", "ece", "fit_seconds", "predict_seconds") or a `Metric`,
    whatever was asked of `compare`; by default it is the first score asked for.

    Attributes
    ----------
    datasets : tuple of str
    classifiers : tuple of str
    metrics : tuple of Metric
        The scores asked for; the first is the main one.
    protocol : {"honest", "paper"}
    folds : dict of str to list of Fold
        By data set: `number`, `train`, `test` (row numbers), `checksum`.
    n_computed : int
        Folds that this call computed; all others were in the store.
    """

    def table(
        self,
        metric: Any = None,
        *,
        sd: str | None = "auto",
        test: str | None = "corrected",
        alpha: Sequence[float] = (0.10, 0.01),
        published: Mapping[tuple[str, str], float] | None = None,
    ) -> TextTable:
        """Scores by data set and classifier, with averages and mean ranks.

        Parameters
        ----------
        metric : str or Metric, optional
        sd : {"auto", "kohavi", "folds"} or None, default="auto"
            Standard deviations to show, as in `sd`.
        test : {"corrected", "paired"} or None, default="corrected"
            Mark scores that are significantly worse than the data set's best.
        alpha : sequence of at most 2 floats, default=(0.10, 0.01)
            Levels of the marks - and *, falling.
        published : dict of (data set, classifier) to float, optional
            Numbers to show in brackets beside ours, in the unit shown (percent).
        """
        return score_table(self, metric, sd, test, tuple(alpha), dict(published or {}))

    def summary(
        self, metric: Any = None, *, test: str | None = "corrected", alpha: float = 0.05
    ) -> TextTable:
        """One row a classifier: averages of all scores, mean rank, data sets won."""
        return summary_table(self, metric, test, alpha)

    def versus(
        self,
        reference: str,
        metric: Any = None,
        *,
        test: str = "corrected",
        alpha: float = 0.05,
    ) -> TextTable:
        """One classifier against each other one: wins, ties, losses and p-values.

        The p-values of Wilcoxon's and Kohavi's tests are of one pair each and are not corrected
        for the number of pairs; Nemenyi's are.
        """
        self._check(classifiers=(reference,))
        return versus_table(self, reference, metric, test, alpha)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.summary()}"

    def __repr__(self) -> str:
        n_folds = sum(map(len, self.folds.values())) * len(self.classifiers)
        leak = f" {LEAK}" if self.leaks else ""
        return (
            f"<Comparison of {len(self.classifiers)} classifiers on {len(self.datasets)} data "
            f"sets: {n_folds} fits, {len(self.failures)} failed.{leak}>"
        )

    def columns(self) -> dict[str, list[Any]]:
        """All results as columns, one row for each data set, classifier and fold."""
        return tidy_columns(self)

    def to_csv(self) -> str:
        """All results as CSV, one row for each data set, classifier and fold."""
        return csv_text(self.columns())

    def to_frame(self) -> Any:
        """All results as a pandas data frame, one row for each data set, classifier and fold."""
        return data_frame(self.columns())

    def plot_errors(self, first: str, second: str, *, ax: Any = None) -> Any:
        """Scatter of two classifiers' errors, one point a data set (the HNB paper's Fig. 2)."""
        self._check(classifiers=(first, second))
        errors = 1 - self.scores("accuracy")
        a, b = self.classifiers.index(first), self.classifiers.index(second)
        return ErrorScatterDisplay(
            errors[:, a], errors[:, b], (first, second), self.datasets, self.leaks
        ).plot(ax=ax)

    def plot_ranks(self, metric: Any = None, *, alpha: float = 0.05, ax: Any = None) -> Any:
        """Critical-difference diagram: mean ranks, with bars over those that may be equal."""
        friedman = self.friedman(metric)
        if friedman.n_datasets < 2:
            raise ValueError(
                f"Mean ranks need at least 2 data sets with a score of every classifier, found "
                f"{friedman.n_datasets}."
            )
        difference = nemenyi_difference(len(self.classifiers), friedman.n_datasets, alpha)
        return CriticalDifferenceDisplay(
            friedman.mean_ranks, self.classifiers, difference, alpha, self.leaks
        ).plot(ax=ax)
