"""What the naive Bayes estimators share: parameters, EM over labelled and unlabelled rows, BIF."""

from __future__ import annotations

from abc import ABC
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_STARTS, check_number, check_option
from latentclass.engine import _product as product
from latentclass.engine._em import EMResult, confirm_estimate, run_restarts
from latentclass.engine._parted_problem import PartedProblem
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._bif import BifVariable, naive_bayes_variables, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._components import ProductComponents
from latentclass.naive_bayes._labelled_problem import labelled_problem, observed_columns
from latentclass.naive_bayes._parted_problem import Parted


class ProductClassifier(GenerativeClassifier, ABC):
    """Base of classifiers whose columns are independent given the class or its components.

    Their fitted model has `components`, a `ProductComponents`.
    """

    _most_levels = None

    def __init__(
        self,
        *,
        alpha: float | str,
        prior: float | str | None,
        categorical_features: Any,
        handle_unknown: str,
        columns: str,
        missing_indicator: bool,
        calibrate: bool | str,
        unlabelled_weight: float | str,
        n_init: int,
        drop_starts: bool,
        max_iter: int,
        tol: float,
        accelerate: bool,
        random_state: Any,
        n_jobs: int | None,
        verbose: int,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.n_init = n_init
        self.drop_starts = drop_starts
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        self._check_priors()
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_option("drop_starts", self.drop_starts, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_option("accelerate", self.accelerate, (True, False))

    def _check_priors(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("prior", self.prior, low=0, none=True)

    # -------------------------------------------------------------------- fit

    def _labelled_problem(
        self, training: Training, *, width: int
    ) -> tuple[MixtureProblem, Training]:
        return labelled_problem(
            training, alpha=self.alpha, prior=self.prior, width=width, n_jobs=self.n_jobs
        )

    def _generators(self, n_starts: int) -> list[np.random.Generator]:
        seed = check_random_state(self.random_state).randint(2**31)
        return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_starts)]

    def _run_em(
        self,
        problem: MixtureProblem | Parted,
        starts: MixtureParams,
        rngs: list[np.random.Generator],
        progress: FitProgress | None,
    ) -> EMResult[MixtureParams]:
        """EM from the starts; where nothing is hidden, the only start is the estimate."""
        hidden = isinstance(problem, PartedProblem) or bool(problem.blocks or problem.restricted)
        if not hidden:
            return confirm_estimate(problem, starts)
        return run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            halving=self.drop_starts,
            accelerate=self.accelerate,
            on_iteration=None if progress is None else progress.step,
        )

    # ------------------------------------------------------------- attributes

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each class."""
        check_is_fitted(self)
        return np.asarray(self._model.components.centres)

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each class."""
        check_is_fitted(self)
        return np.asarray(self._model.components.widths)

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each class, by column name."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.discrete]
        return dict(zip(names, map(np.exp, self._model.components.level_log_probs), strict=True))

    def to_bif(self, path: str | PathLike[str] | None = None) -> str:
        """The model as a Bayesian network in the BIF format; discrete columns only.

        Parameters
        ----------
        path : path-like, optional
            File to write; the text is returned in any case.
        """
        check_is_fitted(self)
        return write_bif(self._bif_variables(), path)

    def _bif_variables(self) -> list[BifVariable]:
        return naive_bayes_variables(self)


def found_components(
    result: EMResult[MixtureParams],
    problem: MixtureProblem,
    training: Training,
    total_weight: float | None = None,
) -> tuple[FloatArray, ProductComponents, FitRecord]:
    """Weights and components of the best start, and how the fit went.

    `total_weight` is that of all rows, if the problem does not hold them all.
    """
    log_weight, *arrays = (array[0] for array in result.params)
    params = product.Params(*arrays)
    components = ProductComponents(params, problem.layout, observed_columns(training.schema))
    penalty = float(product.log_prior(params, problem.prior, problem.pull).sum())
    total = problem.total_weight if total_weight is None else total_weight
    return np.exp(log_weight), components, em_record(result, total, penalty)


def em_record(result: EMResult[Any], total_weight: float, penalty: float) -> FitRecord:
    """How EM went; `penalty` is the log-prior in the objective."""
    return FitRecord.of(result, float(result.history[-1] * total_weight - penalty))
