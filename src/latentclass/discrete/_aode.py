"""Averaged one-dependence estimators."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.discrete._base import CountClassifier
from latentclass.discrete._em import CountParams
from latentclass.discrete._one_dependence import (
    aode_tables,
    check_pair_tables,
    pair_entries,
    pair_layout,
    stack_counts,
)
from latentclass.discrete._one_dependence_model import AODEModel
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._em import EMResult
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._published import AsPublished
from latentclass.estimator._tuning import TRUSTING


class AODE(AsPublished, CountClassifier):
    """Averaged one-dependence estimators: every column in turn is a parent of all others.

    The joint probability is the average over networks in which one column (the super-parent) and
    the class are the parents of all other columns. There is no search, so the model varies little
    from sample to sample. It is usually the most accurate of the simple networks. It needs a table
    of all pairs of levels, and its time grows with the square of the number of columns.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing), above 0.
    min_frequency : float, default=1.0
        A value is a super-parent only if its rows weigh as much as this (Weka's F; the LTC paper
        has 30). A row without such a value is judged by naive Bayes.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask. All other columns are cut into bins (see
        Notes).
    handle_unknown : {"missing", "error", "smooth"}, default="missing"
        What a category not seen in `fit` does: count as missing, raise an error, or, with "smooth",
        count as one more category of its column, which no training row has.
    columns : {"by_name", "strict"}, default="by_name"
        How prediction finds the columns of `fit` in a table with names. "by_name": in any order;
        columns that are lacking count as missing, others are ignored, with a warning. "strict":
        the same columns in the same order, or an error. See the page about tables.
    missing_indicator : bool, default=False
        Learn from where cells are missing, too: each column with holes in `fit` gets a companion,
        the yes/no column "<name> is missing". See the page about informative holes.
    calibrate : "auto" or bool, default="auto"
        Learn a temperature for the evidence on held-out folds. True: five folds of all rows, kept
        if it lowers the held-out log-loss. "auto": only as many folds as are enough, of a sample if
        there are many rows, with a prior that expects the model to be too sure.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that gives
        all of them together 0.3 times the weight of the labelled rows.
    n_init : int, default=1
        Number of EM starts if there are unlabelled rows. The first begins with the labelled rows
        alone, each of the others with a random re-weighting of them.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows. The result does not depend on it.
    verbose : int, default=0
        1 prints each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    cut_points_ : dict of str to array
        Cut points of each continuous column.
    averaged_prior_ : array of shape (n_classes,)
        Probability of each class in the average of the networks (see Notes).
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without a label that were learned from.
    unlabelled_weight_ : float
        Factor of the weight of rows without a label that was used.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate`, the learned temperature and the held-out log-loss before and after it;
        otherwise empty.
    log_likelihood_ : float
        log p(X, y), summed over rows with their weights; unlabelled rows count by log p(x).
    history_ : list of float
        Objective per row (log-likelihood plus log-prior): at the start and after each EM step.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last gain of EM was at most `tol`. Always true without unlabelled rows.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Continuous columns are cut by Fayyad and Irani's rule on the labelled rows of `fit`. Inside a
    bin the density is the same in all classes: uniform between cuts, half a Gaussian beyond the
    outer cuts. So it changes `score_samples`, but not the predicted class. A column with only two
    values is always cut between them. Columns with a single level are ignored.

    If `fit` gets `Parts` with many rows, cut points come from a sample of them, tables from all
    rows.

    With q(a) = 1 if level a is frequent, the model is the proper joint distribution

        Z p(x, k) = sum_i q(x_i) P(k, x_i) prod_j P(x_j | k, x_i) + r(x) P(k) prod_j P(x_j | k)

    where r(x) = 1 if no value of x is frequent, and Z makes it sum to 1. Only its p(k), which
    smoothing pulls towards equal shares, is replaced by the share of class k in the rows.
    `predict_proba(X, priors=model.averaged_prior_)` gives the published posterior instead. Missing
    cells are summed out, also as super-parents (Weka ignores a missing super-parent). The objective
    of EM is the geometric mean of the networks.

    References
    ----------
    .. [1] Webb, G. I., Boughton, J. R. and Wang, Z. (2005). Not so naive Bayes: aggregating
       one-dependence estimators. Machine Learning 58, 5-24.

    Examples
    --------
    >>> from latentclass.baselines import AODE
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> AODE().fit(X, y).predict([["no", "yes"], ["yes", "yes"]])
    array([1, 0])
    """

    _about = (
        "Average of networks in each of which one column, with the class, is the parent of "
        "all others."
    )

    _model: AODEModel

    # section 4.1 of the latent tree classifier's paper
    _PUBLISHED: ClassVar[dict[str, Any]] = {"min_frequency": 30.0, "calibrate": False}

    _unlabelled_errors = TRUSTING

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        min_frequency: float = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 1,
        drop_starts: bool = True,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.min_frequency = min_frequency
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, low=0, strict=True)
        check_number("min_frequency", self.min_frequency, low=0)

    def _learn(self, rows: TrainingRows, progress: FitProgress | None) -> Learned:
        model, result = self._learn_tables(rows, progress)
        return Learned(model, FitRecord.of(result, rows.log_likelihood(model)))

    def _learn_again(self, rows: TrainingRows, learned: Learned) -> Learned:
        return replace(learned, model=self._learn_tables(rows, None)[0])

    def _learn_tables(
        self, rows: TrainingRows, progress: FitProgress | None
    ) -> tuple[AODEModel, EMResult[CountParams]]:
        check_pair_tables(rows, self.n_init)
        alpha, n_levels, n = float(self.alpha), rows.n_levels, len(rows.n_levels)
        layout = pair_layout(
            n_levels,
            [np.full(r, alpha) for r in n_levels],
            rows.level_shares(),
            np.full(n, 1.0 / max(1, n)),
            np.full((n, n), 1.0 / max(1, n)),
        )
        fit = self._run_em(
            rows,
            layout,
            partial(pair_entries, n_levels),
            partial(stack_counts, n_classes=rows.n_classes, n_levels=n_levels),
            progress,
        )
        class_weight, counts = fit.stats()
        tables = aode_tables(counts, class_weight, n_levels, alpha, float(self.min_frequency))
        return AODEModel(np.exp(fit.params.log_pi), rows.coding, tables), fit.result

    @property
    def averaged_prior_(self) -> FloatArray:
        """Probability of each class in the average of the networks."""
        check_is_fitted(self)
        return np.exp(self._model.tables.log_prior)
