"""Mixtures of products for tables of mixed columns: a density, and groups of rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, DensityMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import MOST_ROWS, MOST_STARTS, check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._rare import spare_levels
from latentclass.data._read import RawTable
from latentclass.data._schema import Schema, Table, learn_schema
from latentclass.data._write import build_table
from latentclass.engine._content_folds import DistinctRows
from latentclass.engine._em import EMResult
from latentclass.engine._mixture_rows import MixtureRows, join_rows
from latentclass.engine._parallel import computation
from latentclass.engine._product_mixture import MixtureParams
from latentclass.estimator._callbacks import CallbackSupportMixin, FitProgress, with_callbacks
from latentclass.estimator._clarity import (
    Clarity,
    join_clarity,
    measure_clarity,
    part_clarity,
)
from latentclass.estimator._common_parameters import check_common_parameters
from latentclass.estimator._completion import complete_table
from latentclass.estimator._latent_names import NamedLatents, is_own
from latentclass.estimator._parted import read_parts
from latentclass.estimator._parts import Parts, refuse_beside_parts
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import (
    TableReader,
    check_weight,
    read_columns,
    review_columns,
    store_fitted,
)
from latentclass.estimator._review import warn_of_row_numbers
from latentclass.estimator._verbs import FittedVerbs
from latentclass.mixture._clarity import count_occupied, one_class, warn_of_empty
from latentclass.mixture._latent_mixture_fit import MixtureFit, count_parameters, fitted_mixture
from latentclass.mixture._parted_mixture import mixture_parts
from latentclass.mixture._searches import SEARCHES, Rule, check_temperatures
from latentclass.mixture._sizes import numbers_of_components
from latentclass.naive_bayes._finite_mixture_model import FiniteMixtureModel


class ReadRows(NamedTuple):
    """The distinct rows of a table, in an order that depends on their values alone."""

    rows: DistinctRows
    table: Table
    schema: Schema
    columns: Mapping[str, Any]
    """scikit-learn's attributes about the columns."""
    n_rows: int
    """Number of rows, equal ones counted each."""


class LatentMixture(
    AsPublished,
    NamedLatents,
    TableReader,
    FittedVerbs,
    CallbackSupportMixin,
    DensityMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Mixture of components in which the columns are independent: a latent class model.

        p(x) = sum_c p(c) prod_j p(x_j | c)

    A continuous column is Gaussian in each component, a binary or nominal one has a probability
    for each category. Missing cells are integrated out. The model gives the density of a row,
    groups rows, and fills in missing cells.

    There are five searches. They differ in how the posterior of a row over the components becomes
    its share in them. "em" takes the posterior itself and climbs to the nearest local maximum.
    "kmeans" gives each row to its most probable component. "era", the exclusive random assignment
    of [1]_, draws one component from the posterior; it is the stochastic EM of Celeux and Diebolt
    [2]_. It never settles, so the best parameters seen are kept. "anneal" draws from the posterior
    to the power 1 / c, with a falling temperature c. "mcem", Monte-Carlo EM [3]_, averages over
    several draws, more in each iteration: it begins as "era" and ends as "em".

    Parameters
    ----------
    n_components : int or iterable of int, default=1
        Number of components. If there are several, the best by `criterion` is kept.
    search : {"em", "kmeans", "era", "anneal", "mcem"}, default="em"
        How components are searched for.
    criterion : {"bic", "aic", "cv"}, default="bic"
        What decides between several numbers of components: the Bayesian or Akaike's information
        criterion, or the log-likelihood of held-out rows.
    n_folds : int, default=5
        Number of folds of `criterion="cv"`.
    temperatures : tuple of two floats, default=(4.0, 0.1)
        The first and the last temperature of "anneal".
    polish : bool, default=False
        Run EM from the best parameters that another search has found.
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
    n_init : int, default=10
        Number of starts, near rows that are drawn far apart. One component needs a single start.
    drop_starts : bool, default=True
        Whether "em" drops the worse half of the starts after 1, 2, 4, ... iterations, until one is
        left. If false, all run to the end before one is kept, as in the other searches.
    max_iter : int, default=200
        Maximum number of iterations of a start; "era", "anneal" and "mcem" take all of them.
    tol : float, default=1e-5
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    random_state : int, RandomState or None, default=None
        Seeds the starts, the draws of the searches, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows, or over starts. The result does not depend on
        it.
    verbose : int, default=0
        1 prints each iteration to standard error.

    Attributes
    ----------
    n_components_ : int
        Number of components of the kept mixture.
    criteria_ : dict of int to float
        The criterion of each number of components that was tried: BIC, AIC, or minus twice the
        held-out log-likelihood. Lower is better. Empty if there was only one number.
    weights_ : array of shape (n_components_,)
        Share of each component, the largest first.
    latent_names_ : tuple of str
        Names of the components, at first their numbers; see `rename_latents`.
    means_, scales_ : arrays of shape (n_components_, n_continuous)
        Mean and standard deviation of each continuous column in each component.
    probabilities_ : dict of str to array of shape (n_components_, n_categories)
        For each discrete column by name, the probability of each category in each component.
    average_posterior_ : array of shape (n_components_,)
        Mean P(c | x) of each component over the training rows for which it is the most probable:
        near 1 if the component is clearly separate, 0 if it has no such row.
    n_occupied_ : int
        Number of components that are the most probable one of some training row. If the others
        were asked for by a single number, `fit` warns of them (`EmptyComponentWarning`).
    entropy_ : float
        Relative entropy of P(c | x) of the training rows: 1 if the component of each row is
        certain, 0 if all components are equally probable.
    schema_ : Schema
        Names, kinds and categories of the columns.
    log_likelihood_ : float
        log p(X), summed over rows with their weights.
    history_ : list of float
        Best objective per row so far (log-likelihood plus log-prior), at each iteration of the kept
        start.
    traces_ : list of list of float
        Objective per row at each iteration of every start, falls included.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last change was at most `tol` ("em"), or nothing changed any more ("kmeans").
        For "era", "anneal" and "mcem", whether they came to their end.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    n_parameters_ : int
        Free parameters; a column that never varies has none.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    With `prior=None` and continuous columns, "em" takes the same steps as scikit-learn's
    `GaussianMixture(covariance_type="diag", reg_covar=0)`. Without a prior the likelihood has no
    bound, since a component on equal values can become arbitrarily narrow. So parameters with a
    component narrower than a thousandth of the column's standard deviation are kept only if nothing
    else was found, and "era" and "anneal" move such a component to another place.

    A component without rows is moved to a row drawn at random. "em", "kmeans" and "mcem" do this in
    the first rounds only, so that they come to an end.

    Equal rows are joined first, in an order that depends only on their values. A row of weight 2
    draws two components, as two rows do. So weights are copies, and the order of rows does not
    matter.

    References
    ----------
    .. [1] Davidson, I. (2004). Combining probabilistic search, latent variable analysis and
       classification models. Proc. 17th FLAIRS Conference.
    .. [2] Celeux, G. and Diebolt, J. (1985). The SEM algorithm: a probabilistic teacher algorithm
       derived from the EM algorithm for the mixture problem. Computational Statistics Quarterly
       2, 73-82.
    .. [3] Wei, G. C. G. and Tanner, M. A. (1990). A Monte Carlo implementation of the EM algorithm
       and the poor man's data augmentation algorithms. Journal of the American Statistical
       Association 85, 699-704.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass import LatentMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(0, 1, (100, 2)), rng.normal(6, 1, (50, 2))]
    >>> model = LatentMixture(range(1, 5), random_state=0).fit(X)
    >>> model.n_components_
    2
    >>> model.weights_.round(2)
    array([0.67, 0.33])
    >>> model.predict([[0.2, -0.1], [5.5, np.nan]])
    array([0, 1])
    >>> model.complete(np.array([[5.5, np.nan]])).round(1)
    array([[5.5, 6.1]])
    """

    _about = "Mixture of components in which the columns are independent."

    # "Experimental Methodology for Mixture Models" of the paper
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "search": "era",
        "alpha": 0.0,
        "prior": None,
        "n_init": 50,
        "drop_starts": False,
        "max_iter": 1000,
        "tol": 0.0,
        "accelerate": False,
    }

    _model: FiniteMixtureModel
    """The mixture, as the only class of a finite mixture model."""

    n_parameters_: int
    entropy_: float
    average_posterior_: FloatArray

    _most_levels = None

    def __init__(
        self,
        n_components: Any = 1,
        search: str = "em",
        *,
        criterion: str = "bic",
        n_folds: int = 5,
        temperatures: tuple[float, float] = (4.0, 0.1),
        polish: bool = False,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        n_init: int = 10,
        drop_starts: bool = True,
        max_iter: int = 200,
        tol: float = 1e-5,
        accelerate: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.search = search
        self.criterion = criterion
        self.n_folds = n_folds
        self.temperatures = temperatures
        self.polish = polish
        self.alpha = alpha
        self.prior = prior
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.n_init = n_init
        self.drop_starts = drop_starts
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    # ------------------------------------------------------------------ fit

    @with_callbacks  # type: ignore[untyped-decorator]
    @computation
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), or Parts
            Missing cells (NaN, None, NA) are integrated out. For `Parts`, rows that do not fit into
            memory, `search` runs on a sample of the rows, followed by EM on all of them.
        y : None
            Ignored; it is there for pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Weight 3 is three copies of the row, weight 0 no row.

        Returns
        -------
        self
        """
        numbers = self._check_parameters()
        refuse_sparse(X)
        progress = FitProgress(self, X, y, self.max_iter)
        if isinstance(X, Parts):
            refuse_beside_parts(None, sample_weight)
            fitted = self._fit_parts(X, numbers, progress)
        else:
            schema, table, weight = self._read_table(X, sample_weight)
            read = self._join(schema, table, weight, read_columns(X))
            fitted = self._fit_rows(read, numbers, progress)
        if len(numbers) == 1:
            warn_of_empty(fitted["average_posterior_"])
        store_fitted(self, fitted)
        progress.end()
        return self

    def _fit_rows(
        self, read: ReadRows, numbers: list[int], progress: FitProgress
    ) -> dict[str, Any]:
        """Learn from a table; return the fitted attributes."""
        data = MixtureRows.measure(
            *read.table.block(slice(None)),
            read.rows.weight,
            read.schema.n_levels,
            alpha=float(self.alpha),
            strength=self._strength,
        )
        found, criteria = self._mixture_fit.choose(data, read.rows, numbers, progress.step)
        self._warn_if_not_converged(found)
        model = fitted_mixture(found, data, read.schema)
        (clarity,) = measure_clarity(model, read.table, data.weight)
        log_likelihood = float(data.weight @ data.log_density(found.params))
        return self._attributes(model, found, data, read, clarity, log_likelihood, criteria)

    def _fit_parts(self, parts: Parts, numbers: list[int], progress: FitProgress) -> dict[str, Any]:
        """Search on a sample of the rows, then run EM on all of them."""
        parted = read_parts(
            parts,
            categorical_features=self.categorical_features,
            most_levels=self._most_levels,
            labelled=False,
            spare=self.handle_unknown == "smooth",
            seed=self._seed(),
            n_jobs=self.n_jobs,
            owner=type(self).__name__,
        )
        sample = parted.sample
        read = self._join(sample.schema, sample.table, sample.weight, sample.columns)
        read = read._replace(n_rows=parted.n_rows)
        if parted.whole:
            return self._fit_rows(read, numbers, progress)
        whole = mixture_parts(parted, alpha=float(self.alpha), strength=self._strength)
        data = whole.rows(read.table, read.rows.weight)
        best, criteria = self._mixture_fit.choose(data, read.rows, numbers, progress.step)
        problem = whole.problem(best.params.log_weight.shape[1])
        found = self._mixture_fit.climb(problem, whole.prior, best.params, [], progress.step)
        self._warn_if_not_converged(found)
        model = fitted_mixture(found, data, read.schema)
        (clarity,) = reduce(join_clarity, parted.map(partial(part_clarity, model)))
        penalty = float(problem.known.log_prior(found.params)[0])
        log_likelihood = found.history[-1] * problem.total_weight - penalty
        return self._attributes(model, found, data, read, clarity, log_likelihood, criteria)

    @property
    def _mixture_fit(self) -> MixtureFit:
        """The parameters of `fit`, as its search takes them."""
        first, last = self.temperatures
        return MixtureFit(
            rule=Rule(self.search, (float(first), float(last))),
            criterion=self.criterion,
            n_folds=int(self.n_folds),
            polish=self.polish,
            n_init=self.n_init,
            drop_starts=self.drop_starts,
            max_iter=self.max_iter,
            tol=self.tol,
            accelerate=self.accelerate,
            n_jobs=self.n_jobs,
            new_seed=self._seed,
        )

    @property
    def _strength(self) -> float:
        """Strength of the prior of the variances."""
        return 0.0 if self.prior is None else float(self.prior)

    def _warn_if_not_converged(self, found: EMResult[MixtureParams]) -> None:
        if found.converged:
            return
        cause = f"at max_iter={self.max_iter}"
        if found.n_iter < self.max_iter:
            cause = "by a callback"
        warn_user(
            f'The search "{self.search}" was stopped {cause} after {found.n_iter} iterations; the '
            f"best of {len(found.restarts['start'])} start(s) is kept. Raise max_iter or tol, or "
            "look at history_.",
            ConvergenceWarning,
        )

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IndexArray:
        """`fit`, then `predict` of the same table."""
        self.fit(X, y, sample_weight=sample_weight)
        return self.predict(X)

    def _check_parameters(self) -> list[int]:
        """Refuse bad parameters; return the numbers of components to try."""
        numbers = numbers_of_components(self.n_components)
        check_option("search", self.search, SEARCHES)
        check_option("criterion", self.criterion, ("bic", "aic", "cv"))
        check_number("n_folds", self.n_folds, low=2, high=MOST_STARTS, whole=True)
        check_temperatures(self.temperatures)
        check_option("polish", self.polish, (True, False))
        check_option("accelerate", self.accelerate, (True, False))
        check_number("alpha", self.alpha, low=0)
        check_number("prior", self.prior, low=0, none=True)
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_option("drop_starts", self.drop_starts, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_common_parameters(self)
        return numbers

    def _read_table(self, X: Any, sample_weight: Any) -> tuple[Schema, Table, FloatArray]:
        given = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        n_rows = None if given is None or given.ndim == 0 else len(given)
        weight = None if given is None else check_weight(given, n_rows or 1)
        schema, table = learn_schema(
            X,
            categorical_features=self.categorical_features,
            weight=weight if n_rows else None,
            owner=type(self).__name__,
        )
        if weight is None or not n_rows:
            weight = np.full(table.n_rows, 1.0 if weight is None else weight[0])
        weight = weight[weight > 0]
        schema, table = review_columns(schema, table, weight, self._most_levels)
        if self.handle_unknown == "smooth":
            schema = spare_levels(schema)
        warn_of_row_numbers(schema, table)
        return schema, table, weight

    def _join(
        self, schema: Schema, table: Table, weight: FloatArray, columns: Mapping[str, Any]
    ) -> ReadRows:
        """Join equal rows."""
        nothing = np.zeros(table.n_rows, dtype=np.intp)
        rows, first = join_rows(
            *table.block(slice(None)), nothing, weight, schema.n_levels, self._seed()
        )
        return ReadRows(rows, table.take(first), schema, columns, table.n_rows)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _attributes(
        self,
        model: FiniteMixtureModel,
        found: EMResult[MixtureParams],
        data: MixtureRows,
        read: ReadRows,
        clarity: Clarity,
        log_likelihood: float,
        criteria: dict[int, float],
    ) -> dict[str, Any]:
        """What `fit` stores."""
        return {
            **read.columns,
            "schema_": read.schema,
            "_n_rows": read.n_rows,
            "_model": model,
            "history_": found.history,
            "traces_": found.histories,
            "n_iter_": found.n_iter,
            "converged_": found.converged,
            "restarts_": found.restarts,
            "log_likelihood_": log_likelihood,
            "entropy_": clarity.entropy,
            "average_posterior_": clarity.average_posterior,
            "n_parameters_": count_parameters(data, model.n_states),
            "criteria_": criteria,
        }

    # ------------------------------------------------------ the fitted mixture

    def _encode(self, X: Any) -> tuple[RawTable, Table]:
        refuse_sparse(X)
        return super()._encode(X)

    def _shares(self) -> dict[Any, float]:
        names = [name if is_own(name) else k for k, name in enumerate(self.latent_names_)]
        return dict(zip(names, self.weights_.tolist(), strict=True))

    def _own_names(self) -> dict[str, str]:
        return {}  # `_shares` has them

    def _structure(self) -> dict[str, Any]:
        return {"components": self.n_components_, "free parameters": int(self.n_parameters_)}

    def _fit_facts(self) -> dict[str, Any]:
        return {**super()._fit_facts(), "relative entropy": float(self.entropy_)}

    @property
    def n_components_(self) -> int:
        """Components of the mixture that was kept."""
        check_is_fitted(self)
        return self._model.n_states

    @property
    def n_occupied_(self) -> int:
        """Components that are the most probable one of some training row."""
        check_is_fitted(self)
        return count_occupied(self.average_posterior_)

    @property
    def weights_(self) -> FloatArray:
        """Share of each component."""
        check_is_fitted(self)
        return np.asarray(np.exp(self._model.log_share[0]))

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each component."""
        check_is_fitted(self)
        return self._model.components.centres

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each component."""
        check_is_fitted(self)
        return self._model.components.widths

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each component, by column name."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.discrete]
        return dict(zip(names, map(np.exp, self._model.components.level_log_probs), strict=True))

    @computation
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each component given the observed cells, shape (n_samples, K)."""
        return self._component_shares(self._read(X))

    def _component_shares(self, table: Table) -> FloatArray:
        """P(component | observed cells) of all rows."""
        return self._model.latent(table, one_class, self.n_jobs)

    @computation
    def transform(self, X: Any) -> FloatArray:
        """Probability of each component given the observed cells, as `predict_proba` gives it."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns that `transform` gives; `input_features` is not used."""
        del input_features  # scikit-learn's signature: ours depend on the model alone
        prefix = type(self).__name__.lower()
        names = [name if is_own(name) else f"component{name}" for name in self.latent_names_]
        return np.array([f"{prefix}_{name}" for name in names], dtype=object)

    @computation
    def predict(self, X: Any) -> IndexArray:
        """Most probable component of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    @computation
    def score_samples(self, X: Any) -> FloatArray:
        """log p(x) of the observed cells: low for rows unlike those seen in `fit`."""
        table = self._read(X)
        return self._model.log_density(table, self.n_jobs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean of `score_samples`."""
        del y  # scikit-learn's signature
        values = self.score_samples(X)
        return float(np.average(values, weights=check_weight(sample_weight, len(values))))

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of a table: lower is better."""
        values = self.score_samples(X)
        return float(-2.0 * values.sum() + np.log(len(values)) * self.n_parameters_)

    def aic(self, X: Any) -> float:
        """Akaike's information criterion of a table: lower is better."""
        return float(-2.0 * self.score_samples(X).sum() + 2.0 * self.n_parameters_)

    @computation
    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, IndexArray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None
            None takes the estimator's own.

        Returns
        -------
        X : table in the container that `fit` was given
            In a column that held only whole numbers in `fit`, numbers are rounded. In one that held
            no negative number, negative draws become 0.
        component : array of shape (n_samples,)
            The component that each row was drawn from.
        """
        check_is_fitted(self)
        check_number("n_samples", n_samples, low=1, high=MOST_ROWS, whole=True)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        generator = np.random.default_rng(rng.randint(2**31, size=4))
        component = generator.choice(self.n_components_, size=n_samples, p=self.weights_)
        table = self._model.components.sample_table(component, generator)
        return build_table(self.schema_, table, generator), component

    @computation
    def complete(self, X: Any, how: str = "expected") -> Any:
        """Fill the missing cells of a table from what the model knows.

        Parameters
        ----------
        X : table with the columns of `fit`
        how : {"expected", "most_probable", "probability"}
            "expected": continuous cells get their mean, discrete ones their most probable
            category, given the row's observed cells. "most_probable": the values of the highest
            density that a search from the modes of the components finds. "probability":
            continuous cells get their mean; a column with two categories becomes the probability
            of the second one (0 or 1 if it is observed), any other discrete column one such column
            for each category, named "column=category". A row that the model finds
            impossible is filled as if all its cells were missing.

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
            one_class,
            n_jobs=self.n_jobs,
            owner=type(self).__name__,
        )


def refuse_sparse(X: Any) -> None:
    """Refuse a sparse table."""
    if sp.issparse(X):
        raise TypeError("X is sparse, but LatentMixture needs a dense table: pass X.toarray().")
