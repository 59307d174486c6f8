"""What classifiers of discrete columns share: parameters, coding, rows without a label.

`DiscreteClassifier` has the parameters `alpha`, `n_init`, `drop_starts`, `max_iter` and `tol`
besides those of all classifiers, `cut_points_` and `_active_names`. A `_check_parameters` calls its
own.

`CountClassifier` learns tables that are counts, from rows in one table or in parts. A subclass
provides `_learn(rows, progress)`, which changes nothing in the estimator and returns `Learned`. A
search looks at `rows.sample`; counts are sums over all rows (`rows.sum`). `self._run_em(...)`
spreads rows without a label over the classes, and `rows.log_likelihood(model)` is that of all rows.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_STARTS, check_number, check_option
from latentclass.discrete._coding import Coding
from latentclass.discrete._em import Count, CountFit, CountLayout, Features, fit_counts
from latentclass.discrete._model import DiscreteModel
from latentclass.discrete._training_rows import TrainingRows
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training

MOST_SEARCHED = 2000
"""Most columns of a search that compares all pairs of them."""


class DiscreteClassifier(GenerativeClassifier):
    """Base of classifiers that see every column as discrete; see the module's docstring."""

    alpha: float
    n_init: int
    drop_starts: bool = True

    _model: Any  # a `DiscreteModel`

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_option("drop_starts", self.drop_starts, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    @property
    def cut_points_(self) -> dict[str, FloatArray]:
        """Cut points of each continuous column by name; a value equal to one lies below it."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.continuous]
        bins = self._model.coding.bins
        return {name: own.cuts for name, own in zip(names, bins, strict=True)}

    def _active_names(self) -> list[str]:
        """Names of the columns that the model looks at."""
        return [self.schema_.columns[j].name for j in self._model.coding.positions]


class CountClassifier(DiscreteClassifier):
    """Base of those whose tables are counts of rows; see the module's docstring."""

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        return self._learn(TrainingRows.of(training), progress)

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        return self._learn(TrainingRows.of(parted), progress)

    def _fit_again(self, learned: Learned, part: Training) -> Learned:
        assert isinstance(learned.model, DiscreteModel)
        rows = TrainingRows.of(part, learned.model.coding)
        again: Learned = self._unfitted_copy(learned)._learn_again(rows, learned)
        return again

    def _learn_again(self, rows: TrainingRows, learned: Learned) -> Learned:  # noqa: ARG002
        """Learn from rows that are cut as those of another fit, whose structure may be kept."""
        return self._learn(rows, None)

    @abstractmethod
    def _learn(self, rows: TrainingRows, progress: FitProgress | None) -> Learned:
        """Learn a model from all rows. Changes nothing in the estimator."""

    def _run_em(
        self,
        rows: TrainingRows,
        layout: CountLayout,
        features: Features,
        count: Count,
        progress: FitProgress | None,
        known: FloatArray | None = None,
    ) -> CountFit:
        """Parameters and counts of all rows, those without a label spread over the classes."""
        return fit_counts(
            rows,
            layout,
            features,
            count,
            known,
            n_init=self.n_init,
            drop_starts=self.drop_starts,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            n_jobs=self.n_jobs,
            on_iteration=None if progress is None else progress.step,
        )


def check_searched_columns(owner: str, coding: Coding) -> None:
    """Refuse a search that compares all pairs of very many columns."""
    n_columns = len(coding.active)
    if n_columns > MOST_SEARCHED:
        raise ValueError(
            f"{owner} compares all pairs of columns in its search, and X has "
            f"{n_columns:,} that vary, above its limit of {MOST_SEARCHED:,}. Select the columns "
            "that say most about the class, or use NaiveBayes or TAN."
        )
