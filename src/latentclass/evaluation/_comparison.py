"""What `compare` returns: the results, with tables and plots."""

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

    `print(comparison)` shows the main score and a summary. The `metric` of a method is a name
    ("accuracy", "log_loss", "brier", "ece", "fit_seconds", "predict_seconds") or a `Metric`. It
    need not be one that was passed to `compare`. By default it is the first of those.

    Attributes
    ----------
    datasets : tuple of str
        Names of the data sets.
    classifiers : tuple of str
        Names of the classifiers.
    metrics : tuple of Metric
        The scores passed to `compare`. The first is the main one.
    protocol : {"honest", "paper"}
        As passed to `compare`.
    folds : dict of str to list of Fold
        The folds of each data set, with `number`, `train`, `test` (row numbers) and `checksum`.
    n_computed : int
        Number of folds that were computed. All others came from the store.
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
        """Table of the scores of each classifier on each data set, with averages and mean ranks.

        Parameters
        ----------
        metric : str or Metric, optional
        sd : {"auto", "kohavi", "folds"} or None, default="auto"
            Standard deviations to show, as in `sd`.
        test : {"corrected", "paired"} or None, default="corrected"
            Test that marks scores significantly worse than the best on the data set. None marks
            nothing.
        alpha : sequence of at most 2 floats, default=(0.10, 0.01)
            Significance levels of the marks - and *, in decreasing order.
        published : dict of (data set, classifier) to float, optional
            Published numbers to show in brackets, in the unit of the table (percent).
        """
        return score_table(self, metric, sd, test, tuple(alpha), dict(published or {}))

    def summary(
        self, metric: Any = None, *, test: str | None = "corrected", alpha: float = 0.05
    ) -> TextTable:
        """One row per classifier: average scores, mean rank, and number of data sets won."""
        return summary_table(self, metric, test, alpha)

    def versus(
        self,
        reference: str,
        metric: Any = None,
        *,
        test: str = "corrected",
        alpha: float = 0.05,
    ) -> TextTable:
        """One classifier against each of the others: wins, ties, losses and p-values.

        Nemenyi's p-values are corrected for the number of pairs. Those of Wilcoxon's and Kohavi's
        tests are not.
        """
        self._check(classifiers=(reference,))
        return versus_table(self, reference, metric, test, alpha)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.table().to_html() + self.summary().to_html()

    def __repr__(self) -> str:
        n_folds = sum(map(len, self.folds.values())) * len(self.classifiers)
        leak = f" {LEAK}" if self.leaks else ""
        return (
            f"<Comparison of {len(self.classifiers)} classifiers on {len(self.datasets)} data "
            f"sets: {n_folds} fits, {len(self.failures)} failed.{leak}>"
        )

    def columns(self) -> dict[str, list[Any]]:
        """All results as columns, one row per data set, classifier and fold."""
        return tidy_columns(self)

    def to_csv(self) -> str:
        """All results as CSV, one row per data set, classifier and fold.

        Text that a spreadsheet would take for a formula gets a leading apostrophe.
        """
        return csv_text(self.columns())

    def to_frame(self) -> Any:
        """All results as a pandas data frame, one row per data set, classifier and fold."""
        return data_frame(self.columns())

    def plot_errors(self, first: str, second: str, *, ax: Any = None) -> Any:
        """Scatter plot of the errors of two classifiers, one point per data set."""
        self._check(classifiers=(first, second))
        errors = 1 - self.scores("accuracy")
        a, b = self.classifiers.index(first), self.classifiers.index(second)
        return ErrorScatterDisplay(
            errors[:, a], errors[:, b], (first, second), self.datasets, self.leaks
        ).plot(ax=ax)

    def plot_ranks(self, metric: Any = None, *, alpha: float = 0.05, ax: Any = None) -> Any:
        """Critical-difference diagram: mean ranks, and bars over classifiers that may be equal."""
        friedman = self.friedman(metric)
        if friedman.n_datasets < 2:
            raise ValueError(
                f"plot_ranks needs at least 2 data sets on which every classifier has a score, "
                f"found {friedman.n_datasets}."
            )
        difference = nemenyi_difference(len(self.classifiers), friedman.n_datasets, alpha)
        return CriticalDifferenceDisplay(
            friedman.mean_ranks, self.classifiers, difference, alpha, self.leaks
        ).plot(ax=ax)
