"""The shared base of all classifiers: from a fitted model to every verb a user has.

An estimator checks its parameters and learns a model (`_check_parameters`, `_fit_model`). This base
does the rest in the same way for all: it reads tables and labels, calibrates, stores the model once
at the end of `fit`, and asks it for predictions, densities, samples, completions and explanations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import MOST_ROWS, check_number, check_option
from latentclass._warn import recorded_warnings, warn_user
from latentclass.data._schema import Schema, Table, block_spans
from latentclass.data._write import build_table
from latentclass.engine._class_shares import estimate_shares
from latentclass.engine._logspace import first_largest, log_normalise, log_sum_exp
from latentclass.engine._parallel import computation, map_blocks
from latentclass.estimator._calibration import N_FOLDS, HeldOutRows
from latentclass.estimator._callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from latentclass.estimator._common_parameters import check_common_parameters
from latentclass.estimator._completion import complete_table
from latentclass.estimator._decision import check_names, least_loss
from latentclass.estimator._explanation import Cells, Explanation
from latentclass.estimator._fitted import FitRecord, FittedModel, Learned, to_log_posterior
from latentclass.estimator._importance import Importance
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._parted import PartedTraining, read_parts
from latentclass.estimator._parts import Parts, refuse_beside_parts
from latentclass.estimator._reading import (
    TableReader,
    Training,
    check_weight,
    label_codes,
    refuse_bad_pair,
    store_fitted,
)
from latentclass.estimator._review import warn_of_suspects
from latentclass.estimator._tuning import (
    UNLABELLED_ERRORS,
    Tuned,
    choose_unlabelled_weight,
    learn_temperature_of,
)
from latentclass.estimator._unlabelled import (
    check_unlabelled_weight,
    warn_of_drift,
    weigh_unlabelled,
    weights_without_unlabelled,
)
from latentclass.estimator._verbs import FittedVerbs


class GenerativeClassifier(
    TableReader,
    FittedVerbs,
    CallbackSupportMixin,
    ClassifierMixin,
    TransformerMixin,
    BaseEstimator,
    ABC,
):
    """Base of classifiers that model the attributes given the class.

    Parameters every subclass has: `categorical_features`, `handle_unknown`, `columns`,
    `missing_indicator`, `calibrate`, `unlabelled_weight`, `random_state`, `n_jobs`, `verbose`, and
    `max_iter`.

    Attributes every subclass sets: `classes_`, `schema_`, `class_prior_`, `n_unlabelled_`,
    `unlabelled_weight_`, `temperature_`, `log_likelihood_`, `history_`, `n_iter_`, `converged_`,
    `restarts_`.
    """

    calibrate: bool | str
    unlabelled_weight: float | str
    random_state: Any
    n_jobs: int | None
    verbose: int
    max_iter: int
    tol: float
    relative_tol: bool = False

    _model: Any  # the fitted model: each family's own kind of `FittedModel`
    temperature_: float
    calibration_: dict[str, float]
    unlabelled_weight_: float
    history_: list[float]
    restarts_: dict[str, npt.NDArray[Any]]
    converged_: bool
    n_iter_: int
    log_likelihood_: float

    # ------------------------------------------------------------------ fit

    @with_callbacks  # type: ignore[untyped-decorator]
    @computation
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or Parts
            Missing cells (NaN, None, NA) are integrated out. `Parts` are for rows that do not fit
            into memory; they hold the labels and weights too.
        y : array-like of shape (n_samples,)
            Class labels; None, NaN or -1 marks a row without a label (see
            `latentclass.data.encode_labels` for -1).
        sample_weight : array-like of shape (n_samples,), optional
            Weight 3 is three copies of the row, weight 0 no row.

        Returns
        -------
        self
        """
        check_common_parameters(self)
        check_option("calibrate", self.calibrate, ("auto", True, False))
        check_unlabelled_weight(self.unlabelled_weight)
        self._check_parameters()
        progress = FitProgress(self, X, y, self.max_iter)
        if isinstance(X, Parts):
            refuse_beside_parts(y, sample_weight)
            training, learned, tuned = self._learn_parts(X, progress)
        else:
            training, learned, tuned = self._learn_table(X, y, sample_weight, progress)
        self._warn(learned)
        if tuned.unlabelled_weight > 0:
            warn_of_drift(training, learned.model.class_prior)
        self._store(training, learned, self._calibrated(training, learned, tuned))
        progress.end()
        return self

    def _learn_table(
        self, X: Any, y: Any, sample_weight: Any, progress: FitProgress
    ) -> tuple[Training, Learned, Tuned]:
        """Learn from a table; also the rows, and what held-out ones have decided."""
        refuse_bad_pair(X, y, type(self).__name__)
        if self.unlabelled_weight == 0:
            sample_weight = weights_without_unlabelled(y, sample_weight)
        training = self._read_training(X, y, sample_weight)
        warn_of_suspects(training)
        self._warn_of_kinds(training.schema)
        tuned = self._choose_unlabelled_weight(training)
        if tuned.unlabelled_weight == 0 and not training.labelled.all():
            # read again: columns and categories of rows that do not count are not there
            with recorded_warnings():  # the user has seen those of the columns
                left = weights_without_unlabelled(y, sample_weight)
                training = self._read_training(X, y, left)
        training = weigh_unlabelled(training, tuned.unlabelled_weight)
        return training, self._fit_model(training, progress), tuned

    def _learn_parts(self, parts: Parts, progress: FitProgress) -> tuple[Training, Learned, Tuned]:
        """Learn from rows in parts; the training rows returned are a sample of them."""
        if self.missing_indicator:
            raise TypeError(
                "missing_indicator=True needs all rows in one table, but X is Parts. Pass a table, "
                "or add yes/no columns for the holes to the parts."
            )
        parted = read_parts(
            parts,
            categorical_features=self.categorical_features,
            most_levels=self._most_levels,
            labelled=True,
            spare=self.handle_unknown == "smooth",
            seed=int(check_random_state(self.random_state).randint(2**31)),
            n_jobs=self.n_jobs,
            owner=type(self).__name__,
        )
        parted = self._review_parts(parted)
        warn_of_suspects(parted.sample, in_order=False)
        self._warn_of_kinds(parted.sample.schema)
        if not parted.whole:
            self._check_parted(parted)
        tuned = self._choose_unlabelled_weight(parted.sample)
        parted = parted.weigh_unlabelled(tuned.unlabelled_weight)
        if parted.whole:
            learned = self._fit_model(parted.sample, progress)
        else:
            learned = self._fit_parted(parted, progress)
        facts = {
            **learned.attributes,
            "n_unlabelled_": parted.n_unlabelled,
            "_n_rows": parted.n_rows,
        }
        return parted.sample, replace(learned, attributes=facts), tuned

    def _choose_unlabelled_weight(self, training: Training) -> Tuned:
        """How much the rows without a label count, and what else held-out rows said about it."""
        if not isinstance(self.unlabelled_weight, str):
            return Tuned(float(self.unlabelled_weight))
        if training.labelled.all():
            return Tuned(1.0)
        learned = self._fit_model(training.take(training.labelled), None)
        return choose_unlabelled_weight(self, training, learned, self._fold_seed(), self.calibrate)

    def _warn_of_kinds(self, schema: Schema) -> None:
        """Warn of a table for which another model is meant; most models take any."""

    def _review_parts(self, parted: PartedTraining) -> PartedTraining:
        """The parts as this model reads them."""
        return parted

    def _check_parted(self, parted: PartedTraining) -> None:
        """Refuse rows in parts that this model does not learn from."""
        if type(self)._fit_parted is GenerativeClassifier._fit_parted:
            raise TypeError(
                f"{type(self).__name__} learns from a table, not from parts with {parted.n_rows:,} "
                "rows. Pass a table with some of the rows, or use another classifier."
            )

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        """Learn a model from rows in parts, more than fit into one table."""
        raise NotImplementedError  # `_check_parted` has said so

    def _store(
        self,
        training: Training | PartedTraining,
        learned: Learned,
        tuned: Tuned | None = None,
    ) -> None:
        """Keep what was learned; nothing in the estimator changes before this."""
        record, tuned = learned.record, tuned or Tuned(1.0)
        rows = training.sample if isinstance(training, PartedTraining) else training
        store_fitted(
            self,
            {
                **training.attributes(),
                "_model": learned.model,
                "temperature_": tuned.temperature,
                "calibration_": tuned.calibration,
                "unlabelled_weight_": tuned.unlabelled_weight,
                "history_": record.history,
                "n_iter_": record.n_iter,
                "converged_": record.converged,
                "restarts_": record.restarts,
                "log_likelihood_": record.log_likelihood,
                **learned.attributes,
                **self._final_facts(learned, rows),
            },
        )

    def _warn(self, learned: Learned) -> None:
        """Warn of what the user should know about a fit; folds and searches do not call this."""
        self._warn_if_not_converged(learned.record)

    def _warn_if_not_converged(self, record: FitRecord) -> None:
        if record.converged:
            return
        n_starts = len(record.restarts["start"])
        cause = f"at max_iter={self.max_iter}"
        if record.n_iter < self.max_iter:
            cause = f"by a callback after {record.n_iter} iterations"
        gain = "before its first step"
        if len(record.history) > 1:
            gain = f"with a last gain of {record.history[-1] - record.history[-2]:.1e} per row"
        tol = f"tol={self.tol:.1e}{', relative' if self.relative_tol else ''}"
        warn_user(
            f"EM was stopped {cause} {gain} ({tol}); the best of {n_starts} start(s) "
            "is kept. Raise max_iter or tol, or look at history_.",
            ConvergenceWarning,
        )

    def _calibrated(self, training: Training, learned: Learned, tuned: Tuned) -> Tuned:
        """Add the temperature and the facts about it to what held-out rows have decided."""
        if not self.calibrate or (self.calibrate == "auto" and learned.calibrated):
            return replace(tuned, temperature=learned.temperature, calibration={})
        # rows that the fit itself has left out say more than a few folds
        known = self.calibrate == "auto" and learned.left_out is not None
        if tuned.calibration and not (learned.calibrated or known):
            return tuned
        temperature, facts = learn_temperature_of(
            self, training, learned, self._fold_seed(), few=self.calibrate == "auto"
        )
        return replace(tuned, temperature=temperature, calibration=facts)

    def _fold_seed(self) -> int:
        """Seed of folds; without `random_state` always the same, so that counts give one answer."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31))

    def _unfitted_copy(self, learned: Learned) -> Any:  # noqa: ARG002
        """An unfitted estimator that learns as this one did, for the folds of `calibrate`."""
        return clone(self).set_params(calibrate=False)

    _few_folds: ClassVar[int] = N_FOLDS
    """Most folds of what is "auto" (temperature, unlabelled rows); fewer where a fit is costly."""

    _unlabelled_errors: ClassVar[float] = UNLABELLED_ERRORS
    """Standard errors by which held-out rows must gain for rows without a label to count."""

    def _left_out(self, training: Training, learned: Learned) -> HeldOutRows | None:  # noqa: ARG002
        """Evidence about each row without the row itself, where that costs hardly more than a fit.

        None where it does not: "auto" then looks at folds, unless the fit itself has left rows out.
        """
        return None

    def _fit_again(self, learned: Learned, part: Training) -> Learned:
        """A fit to a part of the rows, which may keep what costs most: cut points, arcs, trees.

        What is kept has seen the rows that are tested. That makes the temperature a little lower,
        and that there are fewer rows to learn from makes it a little higher.
        """
        again: Learned = self._unfitted_copy(learned)._fit_model(part, None)
        return again

    def _fit_folds(
        self, learned: Learned, training: Training, folds: InnerFolds
    ) -> Iterator[tuple[FittedModel, float]]:
        """A model of the training part of each fold, and the temperature that its fit found."""
        for number in range(folds.n_folds):
            one = self._fit_again(learned, folds.training_part(training, number))
            yield one.model, one.temperature

    # ------------------------------------------------------------- prediction

    @property
    def class_prior_(self) -> FloatArray:
        """Share of each class."""
        check_is_fitted(self)
        return np.array(self._model.class_prior)

    @computation
    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """log p(x, class) of the observed cells, shape (n_samples, n_classes)."""
        table = self._read(X)
        return np.asarray(self._model.evidence(table, self.n_jobs) + self._model.log_prior)

    @computation
    def predict_log_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return self._log_posterior(self._read(X), priors)

    @computation
    def predict_proba(self, X: Any, priors: Any = None) -> FloatArray:
        """Probability of each class given the observed cells.

        Parameters
        ----------
        X : table with the columns of `fit`
        priors : array of shape (n_classes,), dict of label to probability, or one row of them per \
row of X, optional
            Class probabilities to assume instead of those seen in `fit`: the same for all rows, or
            an array of shape (n_samples, n_classes) or data frame with a column for each label.

        Returns
        -------
        array of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X, priors)))

    @computation
    def predict(self, X: Any, priors: Any = None, loss: Any = None) -> npt.NDArray[Any]:
        """Class of least expected loss; by default the most probable class of each row.

        Parameters
        ----------
        X : table with the columns of `fit`
        priors : optional
            As in `predict_proba`.
        loss : array of shape (n_classes, n_classes), data frame or dict, optional
            `loss[true, predicted]`: what it costs to take a row of class `true` for `predicted`. An
            array has the order of `classes_`. A data frame (true labels as index, predicted ones as
            columns) and a dict, `loss[true][predicted]`, have any order; a dict may leave out
            right answers, which cost 0 then. A negative loss is a gain.

        Returns
        -------
        array of shape (n_samples,)

        Notes
        -----
        The answer is argmin_y sum_y' L(y', y) P(y' | x), with y' the true class and y the
        predicted one: the Bayes optimal classifier of the LCM paper, section 2 (there L has the
        predicted class first). A loss of 1 for every wrong answer and 0 for every right one gives
        the most probable class. Of equal classes the first is taken.
        """
        log_posterior = self._log_posterior(self._read(X), priors)
        if loss is None:
            best = first_largest(log_posterior)
        else:
            best = least_loss(np.exp(log_posterior), loss, self.classes_)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    @computation
    def score_samples(self, X: Any) -> FloatArray:
        """log p(x) of the observed cells: low for rows unlike those seen in `fit`."""
        table = self._read(X)
        return np.asarray(self._model.log_density(table, self.n_jobs))

    @computation
    def estimate_priors(self, X: Any, sample_weight: Any = None) -> FloatArray:
        """Class shares of rows whose classes are not known, for `priors` in prediction.

        For rows that come from elsewhere or later than those of `fit`, with the same classes in
        other shares. They are the most probable shares given the rows and one row with the shares
        of `fit`. What a class looks like must not have changed, and the model must be good: with 15
        labelled rows per class, shares estimated from 400 others were worse than the shares of the
        labels.

        Parameters
        ----------
        X : table with the columns of `fit`
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        array of shape (n_classes,)
            In the order of `classes_`.
        """
        table = self._read(X)
        weight = check_weight(sample_weight, table.n_rows)
        uniform = np.full(len(self.classes_), 1.0 / len(self.classes_))
        log_likelihood = self._log_posterior(table, uniform)
        return estimate_shares(log_likelihood, weight, self._model.class_prior)

    # -------------------------------------------------- latent structure, data

    @computation
    def transform(self, X: Any) -> FloatArray:
        """Posterior of the model's latent variables given the observed cells."""
        table = self._read(X)
        return np.asarray(self._model.latent(table, self._posterior, self.n_jobs))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that `transform` gives; `input_features` is not used."""
        del input_features  # scikit-learn's signature: ours depend on the model alone
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        labels = [str(label) for label in self.classes_]
        names = self._model.latent_names(labels, self.schema_.names)
        return np.array([f"{prefix}_{name}" for name in names], dtype=object)

    @computation
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
            In a column that held only whole numbers in `fit`, numbers are rounded. In one that held
            no negative number, negative draws become 0.
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, low=1, high=MOST_ROWS, whole=True)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if y is None:
            codes = rng.choice(len(self.classes_), size=n_samples, p=self._model.class_prior)
        else:
            codes = label_codes(y, self.classes_, n_samples)
        generator = np.random.default_rng(rng.randint(2**31, size=4))
        table = self._model.sample_table(codes, generator)
        return build_table(self.schema_, table, generator), self.classes_[codes]

    @computation
    def complete(self, X: Any, how: str = "expected") -> Any:
        """Fill the missing cells of a table from what the model knows.

        Parameters
        ----------
        X : table with the columns of `fit`
        how : {"expected", "most_probable", "probability"}
            "expected": continuous cells get their mean, discrete ones their most probable
            category, given the row's observed cells. "most_probable": the values that, together
            with some class, have the highest joint probability. Where a model has components, or
            its row too many missing cells to try everything, it is the best that a search finds.
            "probability": continuous cells get their mean; a column with two categories becomes the
            probability of the second one (0 or 1 if it is observed), any other discrete column one
            such column for each category, named "column=category".
            A row that the model finds impossible is filled as if all its cells were missing.

        Returns
        -------
        A copy of X in its own container. Columns without any value in `fit` stay missing. With
        "probability" a table of numbers in that container, with the columns in the order of `fit`.
        """
        table = self._read(X)
        return complete_table(
            self._model,
            self.schema_,
            X,
            table,
            how,
            self._posterior,
            n_jobs=self.n_jobs,
            owner=type(self).__name__,
        )

    @computation
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
        return self._explain(X, self._read(X), y, priors)[0]

    @computation
    def importance(
        self, X: Any, y: Any = None, *, max_rows: int = 1000, random_state: Any = None
    ) -> Importance:
        """How much each column says about the class: its mean absolute weight of evidence.

        Parameters
        ----------
        X : table with the columns of `fit`
        y : label or array-like of labels, optional
            The class to explain, for all rows or for each; by default the predicted one.
        max_rows : int, default=1000
            If X has more rows, this many are drawn at random.
        random_state : int, RandomState or None
            None takes the estimator's own, and seed 0 if that is None too.

        Returns
        -------
        Importance
            `print` it, or call its `to_frame` or `plot`.
        """
        check_number("max_rows", max_rows, low=1, whole=True)
        table = self._read(X)
        n_rows = table.n_rows
        target = None if y is None else self.classes_[label_codes(y, self.classes_, n_rows)]
        if n_rows > max_rows:
            drawn = self._draw_generator(random_state).choice(n_rows, int(max_rows), replace=False)
            rows = np.sort(drawn)
            table, target = table.take(rows), None if target is None else target[rows]
        told, _ = self._explain(None, table, target, None)
        return Importance.of(told, self.classes_, n_rows)

    def _explain(
        self, X: Any, table: Table, y: Any, priors: Any, sets: BoolArray | None = None
    ) -> tuple[Explanation, FloatArray]:
        """The explanation, and the weights of evidence of some sets of columns.

        `sets` (n_sets, n_columns) has the columns in the order of `Block.shown`.
        """
        log_posterior = self._log_posterior(table, priors)
        n_rows, n_columns = table.n_rows, len(self.schema_.columns)
        target = (
            log_posterior.argmax(axis=1) if y is None else label_codes(y, self.classes_, n_rows)
        )
        with_all = log_odds(log_posterior, target)
        found = self._weights_of_evidence(table, target, with_all, priors, sets)
        weights = np.empty((n_rows, n_columns))
        weights[:, self.schema_.continuous + self.schema_.discrete] = found[:, :n_columns]
        prior = np.broadcast_to(self._log_priors(priors, n_rows), log_posterior.shape)
        told = Explanation(
            weights,
            self.classes_[target],
            with_all,
            log_odds(log_normalise(prior), target),
            self.schema_.names,
            np.asarray(X.index if hasattr(X, "iloc") else range(n_rows)),
            Cells(self.schema_, table),
        )
        return told, found[:, n_columns:]

    def _weights_of_evidence(
        self,
        table: Table,
        target: IndexArray,
        with_all: FloatArray,
        priors: Any,
        sets: BoolArray | None,
    ) -> FloatArray:
        """How much the log-odds `with_all` fall without each column, then without each set."""
        model, log_prior = self._model, self._log_priors(priors, table.n_rows)
        n_columns = len(self.schema_.columns)
        n_sets = n_columns
        if sets is not None:
            sets = np.vstack([np.eye(n_columns, dtype=bool), sets])
            n_sets = len(sets)

        def visit(span: slice) -> FloatArray:
            block = table.block(span)
            if sets is None:
                wanted = block.shown
                evidence = model.without_each(block, wanted)
            else:
                wanted = block.shown.astype(np.float64) @ sets.T > 0
                evidence = model.without_sets(block, sets, wanted)
            mine = log_prior if log_prior.ndim == 1 else log_prior[span, None]
            without = to_log_posterior(evidence, mine, self.temperature_)
            odds = log_odds(
                without.reshape(-1, model.n_classes), np.repeat(target[span], n_sets)
            ).reshape(wanted.shape)
            with np.errstate(invalid="ignore"):
                weights = with_all[span, None] - odds
            # inf - inf: certain with the attribute and without it, so it changes nothing
            return np.where(wanted & ~np.isnan(weights), weights, 0.0)

        spans = block_spans(table.n_rows, n_sets * model.n_classes, least=1)
        return np.concatenate(list(map_blocks(visit, spans, self.n_jobs)))

    # ---------------------------------------------------------------- helpers

    def _shares(self) -> dict[Any, float]:
        return dict(zip(self.classes_.tolist(), self.class_prior_.tolist(), strict=True))

    def _posterior(self, table: Table) -> FloatArray:
        """P(class | observed cells) of all rows."""
        return np.exp(self._log_posterior(table, None))

    def _log_posterior(self, table: Table, priors: Any) -> FloatArray:
        model: FittedModel = self._model
        log_prior = self._log_priors(priors, table.n_rows)
        return model.log_posterior(table, log_prior, self.temperature_, self.n_jobs)

    def _log_priors(self, priors: Any, n_rows: int) -> FloatArray:
        """log P(class), for all rows or for each."""
        if priors is None:
            values = self._model.class_prior
        elif isinstance(priors, dict) or hasattr(priors, "to_dict"):  # a pandas Series by its index
            priors = dict(priors)
            check_names("priors", priors, self.classes_.tolist())
            values = np.array([priors[label] for label in self.classes_.tolist()], dtype=float).T
        else:
            try:
                values = np.asarray(priors, dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    f"priors must be probabilities, in the order of classes_ or by label, got "
                    f"{priors!r}."
                ) from None
        n_classes = len(self.classes_)
        if values.shape not in ((n_classes,), (n_rows, n_classes)):
            rows = f" Pass one row per row of X, which has {n_rows}." if values.ndim == 2 else ""
            raise ValueError(
                f"priors has shape {values.shape}, but there are {n_classes} classes: "
                f"{self.classes_.tolist()}.{rows}"
            )
        total = values.sum(axis=-1)
        wrong = np.atleast_1d((values < 0).any(axis=-1) | ~np.isclose(total, 1.0))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            which = f" in row {row}" if values.ndim == 2 else ""
            raise ValueError(
                f"priors must be probabilities that sum to 1, got "
                f"{np.atleast_2d(values)[row].tolist()} with sum {np.atleast_1d(total)[row]:g}"
                f"{which}."
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(values))

    # ---------------------------------------------- what an estimator must answer

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        """Learn a model from rows. Changes nothing in the estimator."""


def log_odds(log_posterior: FloatArray, target: IndexArray) -> FloatArray:
    """log p - log(1 - p) of each row's target class, exact even where p rounds to 1."""
    rows = np.arange(len(target))
    others = log_posterior.copy()
    others[rows, target] = -np.inf
    return log_posterior[rows, target] - log_sum_exp(others)
