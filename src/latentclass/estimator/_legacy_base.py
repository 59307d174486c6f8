"""The shared base of all classifiers: from log p(x | class) to every verb a user has.

A model says how its attributes are distributed given the class (the four hooks at the end of
`GenerativeClassifier`); this base does the rest in the same way for all: reading tables and
labels, prediction, density, samples, completion, explanation, priors, calibration.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._schema import Block, Table
from latentclass.data._write import build_table, fill_missing
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._calibration import learn_temperature
from latentclass.estimator._callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from latentclass.estimator._explanation import Explanation
from latentclass.estimator._legacy_reading import TableReader, Training


class GenerativeClassifier(
    TableReader,
    CallbackSupportMixin,
    ClassifierMixin,
    TransformerMixin,
    BaseEstimator,
    ABC,
):
    """Base of classifiers that model the attributes given the class.

    Parameters every subclass has: `categorical_features`, `handle_unknown`, `calibrate`,
    `random_state`, `n_jobs`, `verbose`, and `max_iter`.

    Attributes every subclass sets: `classes_`, `schema_`, `class_prior_`, `n_unlabelled_`,
    `temperature_`, `log_likelihood_`, `history_`, `n_iter_`, `converged_`, `restarts_`.
    """

    calibrate: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    max_iter: int
    tol: float

    class_prior_: FloatArray
    temperature_: float
    calibration_: dict[str, float]
    history_: list[float]
    restarts_: dict[str, npt.NDArray[Any]]
    converged_: bool
    n_iter_: int
    log_likelihood_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Missing cells (NaN, None, NA) are integrated out.
        y : array-like of shape (n_samples,)
            Class labels; None, NaN or -1 marks a row without label (see
            `latentclass.data.encode_labels` for -1).
        sample_weight : array-like of shape (n_samples,), optional
            Weight 3 is three copies of the row, weight 0 no row.

        Returns
        -------
        self
        """
        self._check_base_parameters()
        self._check_parameters()
        progress = FitProgress(self, X, y, self.max_iter)
        training = self._read_training(X, y, sample_weight)
        self.temperature_, self.calibration_ = 1.0, {}
        self._fit_training(training, progress)
        self._warn_if_not_converged()
        if self.calibrate:
            self._calibrate(training)
        progress.end()
        return self

    def _check_base_parameters(self) -> None:
        check_option("handle_unknown", self.handle_unknown, ("missing", "error"))
        check_number("verbose", self.verbose, low=0)
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, low=-np.inf, whole=True)
            if self.n_jobs == 0:
                raise ValueError(
                    "n_jobs=0 has no meaning: use None, 1 or more, or -1 for all cores."
                )
        check_option("calibrate", self.calibrate, (True, False))

    def _warn_if_not_converged(self) -> None:
        if self.converged_:
            return
        n_starts = len(self.restarts_["start"])
        cause = f"at max_iter={self.max_iter}"
        if self.n_iter_ < self.max_iter:
            cause = f"by a callback after {self.n_iter_} iterations"
        gain = "before its first step"
        if len(self.history_) > 1:
            gain = f"with a last gain of {self.history_[-1] - self.history_[-2]:.1e} per row"
        warn_user(
            f"EM was stopped {cause} {gain} (tol={self.tol:.1e}); the best of {n_starts} start(s) "
            "is kept. Raise max_iter or tol, or look at history_.",
            ConvergenceWarning,
        )

    def _calibrate(self, training: Training) -> None:
        def held_out(train: IndexArray, test: IndexArray) -> FloatArray:
            fold = self._unfitted_copy()
            fold.schema_, fold.classes_ = self.schema_, self.classes_
            part = Training(training.table.take(train), training.y[train], training.weight[train])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fold._fit_training(part, None)
            evidence: FloatArray = fold._evidence(training.table.take(test))
            return evidence

        self.temperature_, self.calibration_ = learn_temperature(
            held_out,
            training.y,
            training.weight,
            np.log(self.class_prior_),
            random_state=check_random_state(self.random_state),
        )

    def _unfitted_copy(self) -> Any:
        """An unfitted model that learns as this one did, for the folds of `calibrate`."""
        return clone(self).set_params(calibrate=False)

    # ------------------------------------------------------------- prediction

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """log p(x, class) of the observed cells, shape (n_samples, n_classes)."""
        return self._evidence(self._read(X)) + np.log(self.class_prior_)

    def predict_log_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return self._log_posterior(self._read(X), priors)

    def predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Probability of each class given the observed cells.

        Parameters
        ----------
        X : table with the columns of `fit`
        priors : array of shape (n_classes,) or dict of label to probability, optional
            Class probabilities to assume instead of those seen in `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X, priors))

    def predict(self, X: Any, priors: Any = None) -> npt.NDArray[Any]:
        """Most probable class of each row; `priors` as in `predict_proba`."""
        best = self._log_posterior(self._read(X), priors).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def score_samples(self, X: Any) -> FloatArray:
        """log p(x) of the observed cells: low for rows unlike those seen in `fit`."""
        return log_sum_exp(self.predict_joint_log_proba(X))

    # -------------------------------------------------- latent structure, data

    def transform(self, X: Any) -> FloatArray:
        """Posterior of the model's latent variables given the observed cells."""
        return self._latent(self._read(X))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that `transform` gives; `input_features` is not used."""
        del input_features  # scikit-learn's signature: ours depend on the model alone
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}_{name}" for name in self._latent_names()], dtype=object)

    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Any = None
    ) -> tuple[Any, npt.NDArray[Any]]:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int
        y : label or array-like of n_samples labels, optional
            Classes to draw from; by default they are drawn too.
        random_state : int, RandomState or None
            None takes the estimator's own.

        Returns
        -------
        X : table in the container that `fit` was given
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, low=1, whole=True)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if y is None:
            codes = rng.choice(len(self.classes_), size=n_samples, p=self.class_prior_)
        else:
            codes = self._label_codes(y, n_samples)
        generator = np.random.default_rng(rng.randint(2**31, size=4))
        table = self._sample_table(codes, generator)
        return build_table(self.schema_, table), self.classes_[codes]

    def complete(self, X: Any, how: str = "expected") -> Any:
        """Fill the missing cells of a table from what the model knows.

        Parameters
        ----------
        X : table with the columns of `fit`
        how : {"expected", "most_probable"}
            "expected": continuous cells get their mean, discrete ones their most probable
            category, given the row's observed cells. "most_probable": the values that, together
            with some class, have the highest joint probability.

        Returns
        -------
        A copy of X in its own container. Columns without any value in `fit` stay missing.
        """
        check_option("how", how, ("expected", "most_probable"))
        table = self._read(X)
        if how == "expected":
            filled = self._expected_cells(table, np.exp(self._log_posterior(table, None)))
        else:
            filled = self._most_probable_cells(table)
        return fill_missing(X, self.schema_, filled, owner=type(self).__name__)

    def explain(self, X: Any, y: Any = None, priors: Any = None) -> Explanation:
        """Weight of evidence of each attribute: exact, by integrating the attribute out.

        Parameters
        ----------
        X : table with the columns of `fit`
        y : label or array-like of labels, optional
            The class to explain, for all rows or for each; by default the predicted one.
        priors : optional
            As in `predict_proba`.
        """
        table = self._read(X)
        log_posterior = self._log_posterior(table, priors)
        n_rows = table.n_rows
        target = log_posterior.argmax(axis=1) if y is None else self._label_codes(y, n_rows)
        log_odds = _log_odds(log_posterior, target)
        weights = np.empty((n_rows, len(self.schema_.columns)))
        for j in range(weights.shape[1]):
            without = self._log_posterior(self.schema_.hide(table, j), priors)
            with np.errstate(invalid="ignore"):
                weights[:, j] = log_odds - _log_odds(without, target)
        # inf - inf: certain with the attribute and without it, so it changes nothing
        weights[np.isnan(weights)] = 0.0
        prior = np.broadcast_to(self._log_priors(priors), log_posterior.shape)
        return Explanation(
            weights,
            self.classes_[target],
            log_odds,
            _log_odds(log_normalise(prior), target),
            self.schema_.names,
            np.asarray(X.index if hasattr(X, "iloc") else range(n_rows)),
        )

    # ---------------------------------------------------------------- helpers

    def _log_posterior(self, table: Table, priors: Any) -> FloatArray:
        log_priors, temperature = self._log_priors(priors), self.temperature_

        def visit(block: Block) -> FloatArray:
            log_joint = self._log_likelihood(block) / temperature + log_priors
            # a row that no class can have made tells nothing about the class
            log_joint[np.isneginf(log_joint).all(axis=1)] = log_priors
            return log_normalise(log_joint)

        return self._by_block(visit, table)

    def _evidence(self, table: Table) -> FloatArray:
        """log p(observed cells | class) of all rows."""
        return self._by_block(self._log_likelihood, table)

    def _by_block(self, function: Callable[[Block], FloatArray], table: Table) -> FloatArray:
        spans = table.spans(extra_columns=len(self.classes_))
        parts = map_blocks(lambda rows: function(table.block(rows)), spans, self.n_jobs)
        return np.concatenate(list(parts))

    def _log_priors(self, priors: Any) -> FloatArray:
        if priors is None:
            values = self.class_prior_
        elif isinstance(priors, dict) or hasattr(priors, "to_dict"):  # a pandas Series by its index
            priors = dict(priors)
            unknown = [label for label in priors if label not in self.classes_.tolist()]
            lacking = [label for label in self.classes_.tolist() if label not in priors]
            if unknown or lacking:
                raise ValueError(
                    f"priors must name each class once: unknown {unknown}, lacking {lacking}."
                )
            values = np.array([priors[label] for label in self.classes_.tolist()], dtype=float)
        else:
            try:
                values = np.asarray(priors, dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"priors must be probabilities, in the order of classes_ or by label, got "
                    f"{priors!r}."
                ) from None
        if values.shape != self.classes_.shape:
            raise ValueError(
                f"priors has shape {values.shape}, but there are {len(self.classes_)} classes: "
                f"{self.classes_.tolist()}."
            )
        if not np.all(values >= 0) or not np.isclose(values.sum(), 1.0):
            raise ValueError(
                f"priors must be probabilities that sum to 1, got {values.tolist()} with sum "
                f"{values.sum():g}."
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    def _label_codes(self, y: Any, n_rows: int) -> IndexArray:
        labels = np.atleast_1d(np.asarray(y))
        if len(labels) == 1:
            labels = np.repeat(labels, n_rows)
        if len(labels) != n_rows:
            raise ValueError(
                f"y has {len(labels)} labels for {n_rows} rows. Pass a single label or one per row."
            )
        unknown = sorted(set(labels.tolist()) - set(self.classes_.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is not a class. Classes: {self.classes_.tolist()}."
            )
        return np.asarray(np.searchsorted(self.classes_, labels))

    # ------------------------------------------------- what a model must answer

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        """Learn the parameters; set `class_prior_` and the attributes about the fit."""

    @abstractmethod
    def _log_likelihood(self, block: Block) -> FloatArray:
        """log p(observed cells | class), shape (n_rows, n_classes)."""

    @abstractmethod
    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        """Draw one row for each class code."""

    @abstractmethod
    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        """Mean of every continuous cell, most probable code of every discrete one."""

    @abstractmethod
    def _most_probable_cells(self, table: Table) -> Table:
        """The cells of the most probable completion."""

    def _latent(self, table: Table) -> FloatArray:
        """Posterior of the latent variables: the class itself where there is no other."""
        return np.exp(self._log_posterior(table, None))

    def _latent_names(self) -> list[str]:
        return [str(label) for label in self.classes_]


def _log_odds(log_posterior: FloatArray, target: IndexArray) -> FloatArray:
    """log p - log(1 - p) of each row's target class, exact even where p rounds to 1."""
    rows = np.arange(len(target))
    others = log_posterior.copy()
    others[rows, target] = -np.inf
    return log_posterior[rows, target] - log_sum_exp(others)
