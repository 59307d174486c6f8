"""The latent variable classifier: a mixture, and a classifier in each of its components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_STARTS, MOST_STATES, check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._schema import Table
from latentclass.engine import _product as product
from latentclass.engine._mixture_rows import MixtureRows, join_rows
from latentclass.engine._product_mixture import flat_params
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._clarity import ComponentClarity
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._latent_names import NamedLatents
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import Tuned
from latentclass.mixture._classifier_fit import ClassifierFit, LabelledRows, left_out_rows
from latentclass.mixture._classifier_model import LatentVariableModel
from latentclass.mixture._component_classifiers import FittedClassifiers, check_estimator
from latentclass.mixture._searches import SEARCHES, Rule, check_temperatures

N_REFITS = 1
"""How often the shares are computed anew with a named classifier after the search."""


@dataclass(frozen=True, eq=False)
class SearchRecord(FitRecord):
    """How a search went.

    Attributes
    ----------
    traces : list of list of float
        The objective at each iteration of every start.
    """

    traces: list[list[float]]


class LatentVariableClassifier(AsPublished, ComponentClarity, NamedLatents, GenerativeClassifier):
    """Mixture with a classifier in each component: the latent variable classifier of [1]_.

        P(y | x) = sum_c P(c | x) P(y | c, x)

    Rows are divided into components, and each component has its own classifier. The components need
    not be known in advance: mixture and classifiers are estimated together. The posterior of a
    training row over the components is proportional to P(c) P(x | c) P(y | c, x), so a component is
    a group of similar rows that one classifier explains.

    P(x | c) is a product over the columns. By default P(y | c, x) is a logistic regression with a
    Gaussian kernel, and the number of components is chosen on held-out rows; it is often 1.
    With `estimator=None` the classifiers are naive Bayes, as in the paper's experiments: P(y | c,
    x) is proportional to P(y | c) times the product of the P(x_j | c, y). With one component that
    is `NaiveBayes`. Other classifiers can be chosen by name, and any scikit-learn classifier
    with `predict_proba` can be used.

    Parameters
    ----------
    estimator : {"auto", "logistic_regression", "free_logistic_regression", \
"kernel_logistic_regression", "extra_trees", "random_forest", "hist_gradient_boosting"}, \
classifier or None, default="kernel_logistic_regression"
        Classifier of each component. None is naive Bayes. A name is a scikit-learn classifier with
        settings for small groups of rows; it takes missing cells. "auto" fits all of the named ones
        and keeps the one with the lowest cross-fitted log-loss. Other classifiers get the
        continuous columns, followed by a column of 0 and 1 for each category. If `fit` takes
        `sample_weight`, a row may belong to several components in part; otherwise it belongs to its
        most probable one, and weights become copies (see Notes).
    n_components : int or "auto", default="auto"
        Number of components. "auto" tries 1 to `max_components` on held-out folds, and keeps the
        smallest number whose log-loss is within one standard error of the lowest. Classifiers that
        are fitted after the search need no folds for it (see `refits`): further components are
        tried as long as the cross-fitted log-loss falls, on about 5,000 of the rows if there are
        more.
    search : {"em", "kmeans", "era", "anneal", "mcem"}, default="era"
        How components are searched for: see `LatentMixture`.
    average : bool, default=False
        Average the predictions of the best model and of those that "era" or "anneal" visited in the
        second half of its iterations, instead of using the best model alone.
    max_components : int, default=4
        Largest number of components that "auto" tries.
    refits : int or None, default=None
        With a number, naive Bayes searches for the components. After that, the shares of the rows
        in them are computed this many times with classifiers that are cross-fitted, and the
        classifiers are fitted to these shares. None is 1 for a classifier by name; other
        classifiers are fitted in each iteration of the search.
    temperatures : tuple of two floats, default=(4.0, 0.1)
        The first and the last temperature of "anneal".
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood. The class
        shares of a component are smoothed too: towards those of all rows, as if the component had
        this many more rows.
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
        others. "auto" leaves them out unless `estimator` is None. Then it takes 0 or, if that
        lowers the log-loss on held-out rows, a factor that gives all of them together 0.3 times the
        weight of the labelled rows.
    n_init : int, default=4
        Number of starts, near rows that are drawn far apart. One component needs a single start.
    max_iter : int, default=200
        Maximum number of iterations of a start; "anneal" and "mcem" take all of them.
    tol : float, default=1e-4
        "em" stops when the objective per row changes by no more than this. A start of "era" ends
        when its best objective per row has gained no more than this in 50 iterations; with 0, or
        with `average`, it takes all iterations.
    random_state : int, RandomState or None, default=None
        Seeds the starts, the draws of the searches, the folds, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows, or over starts. The result does not depend on
        it.
    verbose : int, default=0
        1 prints each iteration to standard error.

    Attributes
    ----------
    n_components_ : int
        Number of components of the kept model.
    chosen_estimator_ : str, classifier or None
        The `estimator`; with "auto", the name of the kept one.
    log_losses_ : dict
        With "auto", the held-out log-loss of each number of components that was tried, or of each
        pair (estimator, n_components) with `estimator="auto"`.
    n_models_ : int
        Number of models that are averaged; 1 without `average`.
    component_weights_ : array of shape (n_components_,)
        P(c) of the best model, the largest first. This and the next seven are of the best model.
    latent_names_ : tuple of str
        Names of the components, at first their numbers; see `rename_latents`.
    class_shares_ : array of shape (n_components_, n_classes)
        P(y | c).
    means_, scales_ : arrays of shape (n_components_, n_continuous)
        Mean and standard deviation of each continuous column in each component.
    probabilities_ : dict of str to array of shape (n_components_, n_categories)
        For each discrete column by name, the probability of each category in each component.
    entropy_ : float
        Relative entropy of P(c | x) of the training rows: 1 if the component of each row is
        certain, 0 if all components are equally probable.
    average_posterior_ : array of shape (n_components_,)
        Mean P(c | x) of each component over the training rows for which it is the most probable:
        near 1 if the component is clearly separate, 0 if it has no such row.
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
        log p(X, y) of the best model, summed over rows with their weights; unlabelled rows count by
        log p(x).
    history_ : list of float
        Best objective per row so far (log-likelihood plus log-prior), at each iteration of the kept
        start.
    traces_ : list of list of float
        Objective per row at each iteration of every start, falls included.
    n_iter_ : int
        Number of M-steps of the kept start.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    converged_ : bool
        Whether the last change was at most `tol` ("em"), or nothing changed any more ("kmeans").
        For "era", "anneal" and "mcem", whether they came to their end.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Where this differs from the paper: its equation 3 reads P(y | c, x) = sum P(x | c_k)
    P(y | c_k, x), which is not a distribution. Its text weights the components by "the probability
    of the observation belonging to the latent class", so here the weights are P(c | x). The paper
    multiplies "the probability of the extrinsic class and the probability of the extrinsic class
    given the observation values" into the posteriors of training rows. With naive Bayes the first
    is a factor of the second, and enters once. P(x | c) is the paper's product over the columns,
    not the mixture over classes that naive Bayes itself implies; with that mixture the model would
    be `FiniteMixtureNaiveBayes`.

    Each classifier is estimated from the rows of its component in its own way, not to maximise the
    likelihood of the whole model. So the objective of "em" may fall, and the best parameters seen
    are kept.

    p(x) is exact with missing cells: they are integrated out of P(x | c). In P(y | c, x) naive
    Bayes leaves out their columns. `transform` gives P(c | x) of the best model. `sample` draws x
    given y by rejection, or by importance for a class that hardly any draw belongs to.
    `complete(how="expected")` uses the components alone, which describe all columns, so it works
    with any `estimator`.

    P(y | c, x) is cross-fitted if for each row it comes from a classifier of the component's other
    rows: the rows are split into three parts, by their values. Trees memorise the labels that they
    have learned, so their own probabilities of training rows would not divide them well. The same
    probabilities decide how much of P(y | c) is mixed into P(y | c, x), so that no class is too
    improbable, and with `calibrate="auto"` they give the temperature (up to 5,000 rows).
    `history_` and `traces_` are those of the search, by naive Bayes.

    A component without rows is moved to a row drawn at random and gets the classifier of all rows.
    A component with rows of one class predicts that class, apart from what `alpha` adds. Another
    `estimator` learns from labelled rows only, but unlabelled rows still help to find the
    components. If it fails on the rows of a component because they are too few, the classifier of
    all rows takes its place.

    An `estimator` whose `fit` takes no `sample_weight`, such as a pipeline, gets copies of each row
    instead. If all weights are whole numbers with a sum of at most 100000, they are the numbers of
    copies. Other weights are scaled and rounded: at least one copy of each row, and about 10 copies
    per row on average at most.

    References
    ----------
    .. [1] Davidson, I. (2004). Combining probabilistic search, latent variable analysis and
       classification models. Proc. 17th FLAIRS Conference.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass import LatentVariableClassifier
    >>> rng = np.random.default_rng(0)
    >>> corner = rng.integers(0, 2, (200, 2))
    >>> X = rng.normal(4.0 * corner, 1.0)
    >>> y = np.where(corner[:, 0] == corner[:, 1], "same", "different")
    >>> model = LatentVariableClassifier(None, 2, random_state=0).fit(X, y)
    >>> model.predict([[0, 0], [0, 4], [4, 4]])
    array(['same', 'different', 'same'], dtype='<U9')
    >>> model.transform([[0, 0], [4, 4]]).round(1)
    array([[0., 1.],
           [1., 0.]])
    """

    _about = "A mixture of components, with a classifier in each of them."

    # the parameters are estimated as those of a mixture: see `LatentMixture`
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "estimator": None,
        "n_components": 2,
        "calibrate": False,
        "alpha": 0.0,
        "prior": None,
        "n_init": 50,
        "max_iter": 1000,
        "tol": 0.0,
    }

    _most_levels = None

    entropy_: float
    average_posterior_: FloatArray

    def __init__(
        self,
        estimator: Any = "kernel_logistic_regression",
        n_components: int | str = "auto",
        search: str = "era",
        *,
        average: bool = False,
        max_components: int = 4,
        refits: int | None = None,
        temperatures: tuple[float, float] = (4.0, 0.1),
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 4,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.search = search
        self.average = average
        self.max_components = max_components
        self.refits = refits
        self.temperatures = temperatures
        self.alpha = alpha
        self.prior = prior
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -------------------------------------------------------------------- fit

    def _check_parameters(self) -> None:
        check_estimator(self.estimator)
        k = self.n_components
        try:
            if not (isinstance(k, str) and k == "auto"):
                check_number("n_components", k, low=1, high=MOST_STATES, whole=True)
        except ValueError as error:
            raise ValueError(f"{str(error).rstrip('.')}, or 'auto'.") from None
        check_option("search", self.search, SEARCHES)
        check_option("average", self.average, (True, False))
        if self.average and not Rule(self.search).wanders:
            raise ValueError(
                f"average=True has no meaning with search={self.search!r}, which settles on one "
                'model. Use search="era" or "anneal".'
            )
        if self.average and self._n_refits is not None:
            raise ValueError(
                "average=True has no meaning for classifiers that are fitted after the search. Use "
                "average=False, or estimator=None."
            )
        check_number("max_components", self.max_components, low=1, whole=True)
        check_number("refits", self.refits, low=0, none=True, whole=True)
        check_temperatures(self.temperatures)
        check_number("alpha", self.alpha, low=0)
        check_number("prior", self.prior, low=0, none=True)
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    _few_folds = 2

    def _choose_unlabelled_weight(self, training: Training) -> Tuned:
        if self.unlabelled_weight == "auto" and self.estimator is not None:
            # such rows move the components, which a classifier of P(y | x) hardly needs
            return Tuned(1.0 if training.labelled.all() else 0.0)
        return super()._choose_unlabelled_weight(training)

    @property
    def _counts_categories(self) -> bool:  # type: ignore[override]
        return self.estimator is None

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        seed = int(check_random_state(self.random_state).randint(2**31))
        numeric, codes = training.table.block(slice(None))
        n_levels = training.schema.n_levels
        distinct, first = join_rows(numeric, codes, training.y, training.weight, n_levels, seed)
        data = MixtureRows.measure(
            numeric[first],
            codes[first],
            distinct.weight,
            n_levels,
            alpha=float(self.alpha),
            strength=0.0 if self.prior is None else float(self.prior),
        )
        table = Table(numeric[first], codes[first])
        rows = LabelledRows(data, table, distinct.y, training.schema, training.n_classes)
        found, log_losses = self._classifier_fit(seed).choose(
            rows, distinct, None if progress is None else progress.step
        )
        result, model = found.best, found.model
        penalty = product.log_prior(flat_params(result.params.mixture), data.prior).sum()
        record = SearchRecord(
            result.history,
            result.n_iter,
            result.converged,
            result.restarts,
            found.objective * float(data.weight.sum()) - float(penalty),
            result.histories,
        )
        attributes = {
            "log_losses_": log_losses,
            "chosen_estimator_": found.recipe.estimator,
            "traces_": result.histories,
        }
        left_out = left_out_rows(found, distinct.y, distinct.weight)
        return Learned(model, record, attributes, left_out=left_out)

    def _warn(self, learned: Learned) -> None:
        assert isinstance(learned.model, LatentVariableModel)
        self._warn_of_failures(learned.model)
        super()._warn(learned)

    def _warn_of_failures(self, model: LatentVariableModel) -> None:
        """Warn of components that have the classifier of all rows instead of their own."""
        if not isinstance(model.classifiers, FittedClassifiers):
            return
        for c, classifier in enumerate(model.classifiers.classifiers[0, model.order]):
            if classifier.failure:
                warn_user(
                    f"{type(classifier.classifier).__name__} could not learn from component {c}, "
                    f"which has {classifier.failure}: it gets the classifier of all rows instead. "
                    "Use fewer components, or an estimator that learns from few rows."
                )

    def _warn_if_not_converged(self, record: FitRecord) -> None:
        if record.converged:
            return
        # the objective may fall: history_, the best so far, does not show the last change
        assert isinstance(record, SearchRecord)
        trace = record.traces[int(np.argmax(record.restarts["kept"]))]
        cause = f"at max_iter={self.max_iter}"
        if record.n_iter < self.max_iter:
            cause = "by a callback"
        change, advice = "", "Raise max_iter"
        if self.search == "em":
            advice = "Raise max_iter or tol"
            if len(trace) > 1:
                last = abs(trace[-1] - trace[-2])
                change = f" with a last change of {last:.1e} per row (tol={self.tol:.1e})"
        warn_user(
            f'The search "{self.search}" was stopped {cause} after {record.n_iter} iterations'
            f"{change}; the best of {len(record.restarts['start'])} start(s) is kept. {advice}, or "
            "look at traces_.",
            ConvergenceWarning,
        )

    @property
    def _n_refits(self) -> int | None:
        """How often the classifiers are refitted after the search; None: in all its iterations."""
        if self.estimator is None:
            return None
        if self.refits is not None:
            return int(self.refits)
        return N_REFITS if isinstance(self.estimator, str) else None

    def _classifier_fit(self, seed: int) -> ClassifierFit:
        """The parameters of `fit`, as its search takes them."""
        first, last = self.temperatures
        return ClassifierFit(
            estimator=self.estimator,
            n_components=self.n_components,
            max_components=self.max_components,
            rule=Rule(self.search, (float(first), float(last))),
            average=self.average,
            n_refits=self._n_refits,
            held_out=self.calibrate == "auto",
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=seed,
            n_jobs=self.n_jobs,
        )

    def _unfitted_copy(self, learned: Learned) -> Any:
        assert isinstance(learned.model, LatentVariableModel)
        return clone(self).set_params(
            calibrate=False,
            estimator=learned.attributes["chosen_estimator_"],
            n_components=learned.model.n_components,
        )

    # ------------------------------------------------------------- attributes

    def _structure(self) -> dict[str, Any]:
        chosen = self.chosen_estimator_
        named = chosen if isinstance(chosen, str) else type(chosen).__name__
        return {
            "components": self.n_components_,
            "models averaged": self.n_models_,
            "classifier": "naive Bayes" if chosen is None else named,
        }

    @property
    def n_components_(self) -> int:
        """Components of the model that was kept."""
        check_is_fitted(self)
        return int(self._model.n_components)

    @property
    def n_models_(self) -> int:
        """Number of models that predictions are the mean of."""
        check_is_fitted(self)
        return int(self._model.average.n_models)

    @property
    def component_weights_(self) -> FloatArray:
        """P(c)."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._model.log_weight[0, self._model.order]))

    @property
    def class_shares_(self) -> FloatArray:
        """P(y | c)."""
        check_is_fitted(self)
        return np.asarray(self._model.classifiers.shares[0, self._model.order])

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each component."""
        check_is_fitted(self)
        return np.asarray(self._model.components.centres[self._model.order])

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each component."""
        check_is_fitted(self)
        return np.asarray(self._model.components.widths[self._model.order])

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each component, by column name."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.discrete]
        tables = self._model.components.level_log_probs
        order = self._model.order
        return {name: np.exp(t[order]) for name, t in zip(names, tables, strict=True)}
