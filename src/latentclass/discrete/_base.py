"""What classifiers of discrete columns share: parameters, coding, rows without label.

A subclass of `DiscreteClassifier` provides `_fit_model(training, progress)`, which changes nothing
in the estimator and returns `Learned`:

- With the usual coding it is `learn_coded(training, learn)`, where `learn(rows, coding)` returns
  the model (a `DiscreteModel`, see `_model`) and the result of the EM run that learned it. Most
  call `self._run_em(...)` there, which spreads rows without label over the classes.
- With several models to average it calls `code_training` (with another coding, `code_rows`), learns
  a model, and returns `Learned(model, FitRecord(...), attributes)` with
  `model.total_log_likelihood(rows, training.table, training.weight)` as the log-likelihood.

It has the parameters `alpha`, `n_init`, `drop_starts`, `max_iter`, `tol` beside those of all
classifiers, and its `_check_parameters` calls that of the base. The base gives it `cut_points_` and
`_active_names`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass.discrete._coding import CodedRows, Coding, code_rows, learn_coding
from latentclass.discrete._em import CountFit, CountLayout, fit_counts
from latentclass.discrete._model import DiscreteModel
from latentclass.engine._em import EMResult
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._reading import Training

MOST_SEARCHED = 2000
"""Most columns of a search whose time grows with the cube of their number."""


class DiscreteClassifier(GenerativeClassifier):
    """Base of classifiers that see every column as discrete; see the module's docstring."""

    alpha: float
    n_init: int
    drop_starts: bool = True

    _model: Any  # a `DiscreteModel`

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("n_init", self.n_init, low=1, whole=True)
        check_option("drop_starts", self.drop_starts, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    def _run_em(
        self,
        rows: CodedRows,
        layout: CountLayout,
        features: Callable[[CodeArray], IndexArray],
        count: Callable[[CodeArray, IndexArray, FloatArray], FloatArray],
        progress: FitProgress | None,
    ) -> CountFit:
        """Parameters and counts of all rows, those without label spread over the classes."""
        return fit_counts(
            rows,
            layout,
            features,
            count,
            n_init=self.n_init,
            drop_starts=self.drop_starts,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=int(check_random_state(self.random_state).randint(2**31)),
            n_jobs=self.n_jobs,
            on_iteration=None if progress is None else progress.step,
        )

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


def learn_coded(
    training: Training,
    learn: Callable[[CodedRows, Coding], tuple[DiscreteModel, EMResult[Any]]],
) -> Learned:
    """Code the training rows, learn a model from them, and compute their log-likelihood."""
    coding, rows = code_training(training)
    model, result = learn(rows, coding)
    total = model.total_log_likelihood(rows, training.table, training.weight)
    return Learned(model, FitRecord.of(result, total))


def code_training(training: Training) -> tuple[Coding, CodedRows]:
    """Learn the coding of the training rows, and code them."""
    table, y, weight = training.table, training.y, training.weight
    coding = learn_coding(training.schema, table, y, weight, training.n_classes)
    return coding, code_rows(coding, table, y, weight, training.n_classes)


def check_searched_columns(owner: str, coding: Coding) -> None:
    """Refuse a search that compares all pairs of very many columns again and again."""
    n_columns = len(coding.active)
    if n_columns > MOST_SEARCHED:
        raise ValueError(
            f"{owner} compares all pairs of columns in each step of its search, and X has "
            f"{n_columns:,} that vary, above its limit of {MOST_SEARCHED:,}. Select the columns "
            "that say most about the class, or use NaiveBayes or TAN."
        )
