"""Hidden naive Bayes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number
from latentclass.discrete._base import CountClassifier
from latentclass.discrete._em import count_labelled
from latentclass.discrete._one_dependence import (
    check_pair_tables,
    hidden_tables,
    hidden_weights,
    pair_entries,
    pair_layout,
    split_counts,
    stack_counts,
)
from latentclass.discrete._one_dependence_model import HiddenNaiveBayesModel
from latentclass.discrete._training_rows import TrainingRows
from latentclass.engine._counts import conditional_mutual_information, level_offsets
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned


class HiddenNaiveBayes(CountClassifier):
    """Hidden naive Bayes: a hidden parent of each column mixes the influence of all others.

    The probability of a column given the class is an average of its probabilities given each other
    column, weighted by conditional mutual information. Like AODE it needs no search. It is not the
    hierarchical naive Bayes of this library's papers, with which it shares its abbreviation.

    Parameters
    ----------
    alpha : float, default=1.0
        Number of rows, spread evenly over the levels, that are added to every distribution.
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
    influence_ : array of shape (n_columns, n_columns)
        Weight of each column (second) in the hidden parent of each (first).
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

    If `fit` gets `Parts` with many rows, cut points come from a sample of them, weights and tables
    from all rows.

    The model is p(k) prod_i sum_j W_ij P(x_i | x_j, k) with W_ij proportional to
    I(X_i; X_j | class). This product does not sum to 1 over x, because every column depends on
    every other. So `score_samples` ranks rows but is not a log density, and summing over the values
    of a column does not remove it. A missing cell is left out of the product and of the averages,
    which gives the model that would be learned without that column. `sample` draws the columns one
    after the other, each given those before it. The objective of EM uses geometric means.

    References
    ----------
    .. [1] Zhang, H., Jiang, L. and Su, J. (2005). Hidden naive Bayes. Proc. 20th National
       Conference on Artificial Intelligence (AAAI), 919-924.

    Examples
    --------
    >>> from latentclass.baselines import HiddenNaiveBayes
    >>> X = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5
    >>> y = [0, 1, 1, 0] * 5
    >>> HiddenNaiveBayes().fit(X, y).predict([["no", "yes"], ["yes", "yes"]])
    array([1, 0])
    """

    _about = "Each column depends on the class and on a hidden parent that mixes all other columns."

    _model: HiddenNaiveBayesModel

    def __init__(
        self,
        *,
        alpha: float = 1.0,
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

    def _learn(self, rows: TrainingRows, progress: FitProgress | None) -> Learned:
        check_pair_tables(rows, self.n_init)
        alpha, n_levels = float(self.alpha), rows.n_levels
        count = partial(stack_counts, n_classes=rows.n_classes, n_levels=n_levels)
        known = rows.sum(partial(count_labelled, count))
        _, pairs = split_counts(known)
        information = conditional_mutual_information(pairs, level_offsets(n_levels))
        weights = hidden_weights(information)
        layout = pair_layout(
            n_levels,
            [np.full(r, alpha / r) for r in n_levels],
            rows.level_shares(),
            1.0 - weights.sum(axis=1),
            weights.T,
        )
        fit = self._run_em(
            rows,
            layout,
            partial(pair_entries, n_levels),
            count,
            progress,
            known,
        )
        model = HiddenNaiveBayesModel(
            np.exp(fit.params.log_pi),
            rows.coding,
            hidden_tables(fit.stats().counts, weights, n_levels, alpha),
            rows.order_by_information(),
        )
        return Learned(model, FitRecord.of(fit.result, rows.log_likelihood(model)))

    @property
    def influence_(self) -> FloatArray:
        """Weight of each column (second) in the hidden parent of each (first)."""
        check_is_fitted(self)
        n = len(self.schema_.columns)
        out = np.zeros((n, n))
        places = np.array(self._model.coding.positions, dtype=np.intp)
        out[np.ix_(places, places)] = self._model.tables.weights
        return out
