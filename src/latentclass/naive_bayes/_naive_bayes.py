"""Naive Bayes for tables of mixed columns."""

from __future__ import annotations

from typing import Any

from latentclass._validation import check_number
from latentclass.engine._product_mixture import MixtureProblem
from latentclass.estimator._calibration import HeldOutRows
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._partial_fit import PartialFitMixin
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._base import ProductClassifier, found_components
from latentclass.naive_bayes._labelled_problem import labelled_starts, left_out_rows
from latentclass.naive_bayes._model import NaiveBayesModel
from latentclass.naive_bayes._parted_problem import (
    MeasuredSums,
    Parted,
    add_labelled,
    known_problem,
    labelled_parts,
)


class NaiveBayes(PartialFitMixin, ProductClassifier):
    """Naive Bayes for continuous, binary and nominal columns in one model.

    Given the class the columns are independent: a continuous column is Gaussian, a binary or
    nominal one has a probability for each category. It is fast (one pass over the table), needs
    little data, and every answer can be explained. Where columns depend on each other its
    probabilities are too sure, which `calibrate` corrects. Missing cells are integrated out; rows
    without a label are learned from by EM, with their class as the latent variable.

    Parameters
    ----------
    alpha : "auto" or float, default="auto"
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood. "auto": a table
        is estimated as if some more rows had been seen that spread as the whole column does.
        For each column, the evidence decides how many.
    prior : "auto", float or None, default="auto"
        MAP smoothing of the variances: each variance is estimated as if this many more rows had
        been seen that spread as the whole column does. None is maximum likelihood. "auto": a class
        with few rows is pulled to what all classes share, its means to those of the columns and its
        variances to those within classes, with strengths by evidence.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
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
        there are many rows, with a prior that expects the model to be too sure. It may change which
        class is most probable, since the class prior is left as it is.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that gives
        all of them together 0.3 times the weight of the labelled rows.
    n_init : int, default=1
        Number of EM starts if there are unlabelled rows. The first begins with the labelled rows
        alone, each of the others near one labelled row of each class, drawn at random.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=False
        Extrapolate EM steps (SQUAREM). The objective still never falls.
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
    means_, scales_ : arrays of shape (n_classes, n_continuous)
        Mean and standard deviation of each continuous column in each class.
    probabilities_ : dict of str to array of shape (n_classes, n_categories)
        For each discrete column by name, the probability of each category in each class.
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
    With `prior=None` continuous columns give the same model as scikit-learn's
    `GaussianNB(var_smoothing=0)`, and discrete ones the same as its `CategoricalNB` and
    `BernoulliNB` with the same `alpha`. If a column has no value in a class, the class gets the
    mean and variance of the whole column, or equal probabilities. A standard deviation is at least
    1e-12 of half the column's range; in a constant column it is the absolute value of the constant.
    A row of weight 2 counts exactly as two rows, and the order of the rows does not matter.

    References
    ----------
    .. [1] Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977). Maximum likelihood from
       incomplete data via the EM algorithm. J. R. Statist. Soc. B 39, 1-38.

    Examples
    --------
    >>> from latentclass.baselines import NaiveBayes
    >>> X = [[5.1, "red"], [4.9, "red"], [None, "blue"], [7.2, "blue"], [6.8, None]]
    >>> y = ["rose", "rose", "iris", "iris", None]
    >>> model = NaiveBayes().fit(X, y)
    >>> model.predict([[6.5, None], [5.0, "red"]])
    array(['iris', 'rose'], dtype='<U4')
    >>> model.complete([[5.0, None]])
    array([[5.0, 'red']], dtype=object)
    """

    _about = "The columns are independent given the class."

    def __init__(
        self,
        *,
        alpha: float | str = "auto",
        prior: float | str | None = "auto",
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
        accelerate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            alpha=alpha,
            prior=prior,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            columns=columns,
            missing_indicator=missing_indicator,
            calibrate=calibrate,
            unlabelled_weight=unlabelled_weight,
            n_init=n_init,
            drop_starts=drop_starts,
            max_iter=max_iter,
            tol=tol,
            accelerate=accelerate,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def _check_priors(self) -> None:
        for name, none in (("alpha", False), ("prior", True)):
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise ValueError(f'{name}={value!r} must be "auto" or a number of at least 0.')
            if not isinstance(value, str):
                check_number(name, value, low=0, none=none)

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        problem, labelled = self._labelled_problem(training, width=self.n_init)
        return self._learn(problem, problem, labelled, progress, hidden=bool(problem.blocks))

    def _left_out(self, training: Training, learned: Learned) -> HeldOutRows | None:
        if not training.labelled.all() or len(training.y) < 2 or training.n_classes < 2:
            return None
        problem, _ = self._labelled_problem(training, width=1)
        return left_out_rows(problem, training, learned.model)

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        known, whole = labelled_parts(parted, alpha=self.alpha, prior=self.prior)
        labelled = parted.sample.take(parted.sample.labelled)
        return self._learn(known, whole or known, labelled, progress, hidden=whole is not None)

    def _learn(
        self,
        known: MixtureProblem,
        problem: MixtureProblem | Parted,
        labelled: Training,
        progress: FitProgress | None,
        *,
        hidden: bool,
    ) -> Learned:
        """Learn from the labelled rows, known to both problems, and from those without a label."""
        # without unlabelled rows the first start is the answer, and the next step confirms it
        rngs = self._generators(self.n_init if hidden else 1)
        starts = labelled_starts(known, labelled, rngs)
        result = self._run_em(problem, starts, rngs, progress)
        found = found_components(result, known, labelled, problem.total_weight)
        class_prior, components, record = found
        return Learned(NaiveBayesModel(class_prior, components), record)

    # ------------------------------------------------------- rows seen once

    def _check_one_pass(self) -> None:
        """All parameters allow it."""

    def _add_rows(self, sums: MeasuredSums | None, rows: Training) -> MeasuredSums:
        return add_labelled(sums, rows)

    def _learn_sums(self, sums: MeasuredSums, about: Training) -> Learned:
        known = known_problem(*sums, alpha=self.alpha, prior=self.prior)
        return self._learn(known, known, about, None, hidden=False)
