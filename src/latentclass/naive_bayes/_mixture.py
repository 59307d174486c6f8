"""Naive Bayes whose continuous columns are mixtures of Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.engine import _product as product
from latentclass.engine._em import run_restarts
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._base import ProductClassifier, em_record, found_components
from latentclass.naive_bayes._column_choice import ColumnSearch, choose_columns
from latentclass.naive_bayes._column_mixture import ColumnComponents, mixed_columns
from latentclass.naive_bayes._column_mixture_em import (
    ColumnMixtureParams,
    column_mixture_problem,
    matched_params,
)
from latentclass.naive_bayes._components import ProductComponents
from latentclass.naive_bayes._labelled_problem import labelled_starts, observed_columns
from latentclass.naive_bayes._mixture_model import MixtureNaiveBayesModel


class MixtureNaiveBayes(ProductClassifier):
    """Naive Bayes with a mixture of Gaussians for each continuous column in each class.

    Given the class, the columns are independent, as in `NaiveBayes`. But a continuous column may
    have several modes, a long tail or a spike. The number of components is chosen by BIC on the
    labelled rows, for each column in each class. This is the NB/M of Langseth and Nielsen [1]_.
    Missing cells are integrated out, and EM learns from rows without a label.

    Parameters
    ----------
    max_components : int, default=5
        Largest number of components of a column in a class. With 1 this is `NaiveBayes`.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    prior : float or None, default=1.0
        MAP smoothing of the variances: each variance is estimated as if this many more rows had
        been seen that spread as the whole column does. None is maximum likelihood.
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
        there are many rows, with a prior that expects the model to be too sure.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that gives
        all of them together 0.3 times the weight of the labelled rows.
    n_init : int, default=3
        Number of starts of each mixture. The first cuts the sorted values into even slices, the
        others into slices drawn at random. Rows without a label add no start.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept.
    max_iter : int, default=200
        Maximum number of EM iterations, for each start of a mixture and for the EM over all rows
        that follows.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=False
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over columns and blocks of rows. The result does not depend on
        it.
    verbose : int, default=0
        1 prints each iteration of the EM over all rows to standard error.

    Attributes
    ----------
    n_components_ : array of shape (n_classes, n_continuous)
        Number of components of each continuous column in each class.
    component_weights_, component_means_, component_scales_ : arrays
        Share, mean and standard deviation of each component, of shape (n_classes, n_continuous,
        n_components_.max()), sorted by mean; NaN where a column has fewer.
    means_, scales_ : arrays of shape (n_classes, n_continuous)
        Mean and standard deviation of each continuous column in each class, over all its
        components.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
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
        Whether the last gain of EM was at most `tol`.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    The paper says that the number of components is chosen "for each attribute" by BIC, and shows
    the mixture of one class. Here it is chosen for each attribute in each class. Given the class,
    the mixtures share no parameters, so BIC is highest if each is chosen separately, and a rare
    class gets few components. k components have 3 k - 1 parameters, and the sample size of BIC is
    the weight of the rows of the class with an observed cell. k is tried only if there are at least
    3 k - 1 such rows and k distinct values. A mixture is not chosen if one of its components is
    narrower than a thousandth of the standard deviation of the column in the class, because with
    `prior=None` its likelihood has no bound.

    `history_`, `n_iter_`, `converged_` and `restarts_` describe the EM over all rows that follows
    the choice of the components. It has one start.

    Equal values are grouped and sorted first. So a row of weight 2 counts exactly as two rows, and
    the order of rows and columns does not matter.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2005). Latent classification models. Machine Learning
       59, 237-265.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass.baselines import MixtureNaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> outer = np.r_[rng.normal(-3, 0.5, 50), rng.normal(3, 0.5, 50)]
    >>> X, y = np.r_[outer, rng.normal(0, 3, 100)][:, None], np.repeat(["outer", "any"], 100)
    >>> model = MixtureNaiveBayes(random_state=0).fit(X, y)
    >>> model.n_components_.tolist()
    [[1], [2]]
    >>> model.component_means_[1].round(1)
    array([[-2.9,  3. ]])
    """

    _about = "Naive Bayes in which a continuous column is a mixture of Gaussians in each class."

    def __init__(
        self,
        *,
        max_components: int = 5,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 3,
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
        self.max_components = max_components

    def _check_parameters(self) -> None:
        check_number("max_components", self.max_components, low=1, whole=True)
        super()._check_parameters()

    _few_folds = 2

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        n_numeric = training.table.numeric.shape[1]
        width = n_numeric * self.max_components if self.max_components > 1 else 1
        problem, labelled = self._labelled_problem(training, width=width)
        search = ColumnSearch(
            self.max_components,
            self.n_init,
            check_random_state(self.random_state).randint(2**31),
            self.tol,
            self.max_iter,
            self.accelerate,
            self.drop_starts,
        )
        numbers, parts = choose_columns(labelled, problem, search)
        rngs = self._generators(1)
        if numbers.max(initial=1) == 1:
            starts = labelled_starts(problem, labelled, rngs)
            result = self._run_em(problem, starts, rngs, progress)
            class_prior, components, record = found_components(result, problem, training)
            return Learned(MixtureNaiveBayesModel(class_prior, components, numbers, parts), record)
        joint = column_mixture_problem(labelled, problem, numbers)
        mixed_result = run_restarts(
            joint,
            ColumnMixtureParams(
                *labelled_starts(joint.plain, labelled, rngs), *(array[None] for array in parts)
            ),
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            accelerate=self.accelerate,
            on_iteration=None if progress is None else progress.step,
        )
        arrays = [array[0] for array in mixed_result.params]
        plain, parts = product.Params(*arrays[1:4]), ColumnComponents(*arrays[4:])
        components = ProductComponents(
            matched_params(plain, parts, mixed_columns(numbers)),
            problem.layout,
            observed_columns(training.schema),
        )
        penalty = product.log_prior(plain, joint.plain.prior).sum() + joint.log_prior(parts)
        return Learned(
            MixtureNaiveBayesModel(np.exp(arrays[0]), components, numbers, parts),
            em_record(mixed_result, problem.total_weight, float(penalty)),
        )

    # ------------------------------------------------------------- attributes

    def _structure(self) -> dict[str, Any]:
        return {"Gaussians per column and class, at most": int(self.n_components_.max(initial=0))}

    @property
    def n_components_(self) -> IndexArray:
        """Components of each continuous column in each class."""
        check_is_fitted(self)
        return np.array(self._model.n_components)

    @property
    def component_weights_(self) -> FloatArray:
        """Share of each component."""
        check_is_fitted(self)
        return np.asarray(self._model.sorted_parts()[0])

    @property
    def component_means_(self) -> FloatArray:
        """Mean of each component."""
        check_is_fitted(self)
        return np.asarray(self._model.sorted_parts()[1])

    @property
    def component_scales_(self) -> FloatArray:
        """Standard deviation of each component."""
        check_is_fitted(self)
        return np.asarray(self._model.sorted_parts()[2])
