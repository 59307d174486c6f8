"""Naive Bayes with a hidden variable in addition to the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_STATES, check_number, check_option
from latentclass.data._match import free_name
from latentclass.engine import _product as product
from latentclass.engine._em import EMResult
from latentclass.engine._logspace import log_normalise
from latentclass.engine._product_mixture import (
    COLLAPSED,
    MixtureParams,
    MixtureProblem,
    spread_starts,
)
from latentclass.estimator._bif import BifVariable, naive_bayes_variables
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._base import ProductClassifier, found_components
from latentclass.naive_bayes._components import ProductComponents
from latentclass.naive_bayes._finite_mixture_model import FiniteMixtureModel
from latentclass.naive_bayes._labelled_problem import labelled_starts, restrict_rows
from latentclass.naive_bayes._parted_problem import component_parts


class FiniteMixtureNaiveBayes(ProductClassifier):
    """Naive Bayes in which each class is a mixture: a hidden variable is a parent of all columns.

        p(x, c) = p(c) sum_h p(h | c) prod_j p(x_j | c, h)

    Given the class and the state of the hidden variable, the columns are independent. Summed over
    the states they are not, so columns may depend on each other within a class, and a continuous
    column need not be bell-shaped. This is the finite mixture augmented naive Bayes of Monti and
    Cooper [1]_, for continuous, binary and nominal columns. Missing cells are integrated out, and
    EM learns from rows without a label.

    Parameters
    ----------
    n_components : int or "bic", default="bic"
        Number of states of the hidden variable. "bic" fits 1 to `max_components` and keeps the
        number with the highest BIC. With 1 this is `NaiveBayes`.
    max_components : int, default=4
        Largest number of states that "bic" tries.
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
    n_init : int, default=4
        Number of EM starts for each number of components, near rows of each class that are drawn
        far apart. One component needs a single start.
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
    n_components_ : int
        Number of states of the hidden variable, the same in all classes.
    bic_ : dict of int to float
        BIC of each number of components that was tried: the log-likelihood minus half the number of
        parameters times the log of the weight of all rows. Higher is better.
    component_weights_ : array of shape (n_classes, n_components_)
        p(h | class).
    means_, scales_ : arrays of shape (n_classes, n_components_, n_continuous)
        Mean and standard deviation of each continuous column in each component of each class.
    probabilities_ : dict of str to array of shape (n_classes, n_components_, n_categories)
        For each discrete column by name, the probability of each category.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
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
    `transform` gives p(class, h | x), one column for each class and state.

    The paper's abstract speaks of a finite mixture superimposed on the attributes of naive Bayes.
    It does not say whether the hidden variable depends on the class. Here it does, p(h | c), for
    three reasons. The model with p(h) is a special case. State h of one class has nothing to do
    with state h of another. And if all rows are labelled, each class is a separate mixture, so EM
    visits only the rows of that class.

    BIC counts the parameters of the class and of the hidden variable, and in each component two
    parameters for each continuous column and k - 1 for a discrete column with k categories. A
    constant column counts for nothing. A fit is not chosen if a component is narrower than a
    thousandth of the standard deviation of its class in some column.

    The starts do not depend on the order of rows, columns or classes, nor on whether a row is given
    twice or with weight 2.

    References
    ----------
    .. [1] Monti, S. and Cooper, G. F. (1999). A Bayesian network classifier that combines a
       finite mixture model and a naive Bayes model. Proc. 15th Conf. on Uncertainty in
       Artificial Intelligence, 447-456.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass.baselines import FiniteMixtureNaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> corner = rng.integers(0, 2, (200, 2))
    >>> X = rng.normal(4.0 * corner, 1.0)
    >>> y = np.where(corner[:, 0] == corner[:, 1], "same", "different")
    >>> model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
    >>> model.n_components_
    2
    >>> model.predict([[0, 0], [0, 4], [4, 4]])
    array(['same', 'different', 'same'], dtype='<U9')
    """

    _about = (
        "Each class is a mixture: the columns are independent given the class and a "
        "hidden component."
    )

    def __init__(
        self,
        *,
        n_components: int | str = "bic",
        max_components: int = 4,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 4,
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
        self.n_components = n_components
        self.max_components = max_components

    def _check_parameters(self) -> None:
        if isinstance(self.n_components, str):
            check_option("n_components", self.n_components, ("bic",))
        else:
            check_number("n_components", self.n_components, low=1, high=MOST_STATES, whole=True)
        check_number("max_components", self.max_components, low=1, whole=True)
        super()._check_parameters()

    _few_folds = 2

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        if self.n_components == "bic":
            tried = range(1, self.max_components + 1)
        else:
            tried = range(int(self.n_components), int(self.n_components) + 1)
        single, labelled = self._labelled_problem(training, width=tried[-1] * self.n_init)
        widths = product.estimate(single.known, single.prior, single.layout).scale
        bic: dict[int, float] = {}
        best: tuple[EMResult[MixtureParams], MixtureProblem] | None = None
        for n_components in tried:
            result, problem = self._fit_number(n_components, single, labelled, progress)
            score = bic_score(n_components, result, problem, widths)
            if best is None or score > max(bic.values()):
                best = result, problem
            bic[n_components] = score
        assert best is not None
        found = found_components(*best, training)
        return Learned(*_model_and_record(found, training.n_classes), {"bic_": bic})

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        """Choose the number of components on a sample of the rows, then run EM on all."""
        chosen = self._fit_model(parted.sample, progress)
        model = chosen.model
        assert isinstance(model, FiniteMixtureModel)
        known, problem = component_parts(parted, model.n_states, alpha=self.alpha, prior=self.prior)
        log_joint = model.log_prior[:, None] + model.log_share
        arrays = model.components.params_in(known.layout)
        starts = MixtureParams(log_joint.reshape(1, -1), *(array[None] for array in arrays))
        result = self._run_em(problem, starts, [], progress)
        found = found_components(result, known, parted.sample, problem.total_weight)
        return Learned(*_model_and_record(found, model.n_classes), chosen.attributes)

    def _fit_number(
        self,
        n_components: int,
        single: MixtureProblem,
        labelled: Training,
        progress: FitProgress | None,
    ) -> tuple[EMResult[MixtureParams], MixtureProblem]:
        if n_components == 1:
            rngs = self._generators(1)
            starts = labelled_starts(single, labelled, rngs)
            return self._run_em(single, starts, rngs, progress), single
        problem = restrict_rows(single, labelled, n_components, self.n_init)
        rngs = self._generators(self.n_init)
        return self._run_em(problem, spread_starts(problem, rngs), rngs, progress), problem

    # ------------------------------------------------------------- attributes

    def _structure(self) -> dict[str, Any]:
        return {"components": self.n_components_}

    @property
    def n_components_(self) -> int:
        """States of the hidden variable, the same number in all classes."""
        check_is_fitted(self)
        return int(self._model.n_states)

    @property
    def component_weights_(self) -> FloatArray:
        """p(h | class)."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._model.log_share))

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each component of each class."""
        return self._by_class(super().means_)

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each component of each class."""
        return self._by_class(super().scales_)

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each component of each class, by column name."""
        return {name: self._by_class(table) for name, table in super().probabilities_.items()}

    def _by_class(self, array: FloatArray) -> FloatArray:
        return np.asarray(array.reshape(*self._model.log_share.shape, array.shape[1]))

    def _bif_variables(self) -> list[BifVariable]:
        label, *columns = naive_bayes_variables(self)
        name = free_name("component", [*self.schema_.names, label.name])
        states = list(range(self.n_components_))
        hidden = BifVariable(name, states, (label.name,), self.component_weights_)
        return [
            label,
            hidden,
            *(column._replace(parents=(label.name, name)) for column in columns),
        ]


def _model_and_record(
    found: tuple[FloatArray, ProductComponents, FitRecord], n_classes: int
) -> tuple[FiniteMixtureModel, FitRecord]:
    """The model of components with their weights, class by class."""
    weight, components, record = found
    share = weight.reshape(n_classes, -1)
    with np.errstate(divide="ignore"):
        log_share = log_normalise(np.log(share))
    return FiniteMixtureModel(share.sum(axis=1), components, log_share), record


def bic_score(
    n_components: int,
    result: EMResult[MixtureParams],
    problem: MixtureProblem,
    widths: FloatArray,
) -> float:
    """BIC, or -inf if a component has collapsed; `widths` are the scales of whole classes."""
    params = product.Params(*(array[0] for array in result.params[1:]))
    n_classes = len(widths)
    if n_components > 1:
        scale = params.scale.reshape(n_classes, n_components, -1)
        if np.any(scale < COLLAPSED * widths[:, None]):
            return -np.inf
    n_levels = np.diff(problem.layout.offsets)
    varying = int(np.sum(problem.prior.variance > 0))
    each = 2 * varying + int(np.maximum(n_levels - 1, 0).sum())
    n_parameters = n_classes - 1 + n_classes * (n_components - 1 + n_components * each)
    total = problem.total_weight
    log_likelihood = result.history[-1] * total - product.log_prior(params, problem.prior).sum()
    return float(log_likelihood - 0.5 * n_parameters * np.log(total))
