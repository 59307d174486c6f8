"""Latent classification models: continuous columns explained by latent Gaussian variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass.data._labels import UNLABELLED, label_array
from latentclass.data._schema import Table
from latentclass.engine._class_components import (
    VALUE_LIMIT,
    ComponentData,
    expect,
    flatten_gaussians,
    known_data,
    log_joint_rows,
    sum_features,
)
from latentclass.engine._em import run_restarts, take_starts
from latentclass.engine._gaussian import (
    Moments,
    count_features,
    move_moments,
    pack_moments,
    unpack_moments,
)
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product import SCALE_FLOOR
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._gaussian_model import CellClassifier, Scaling, visit_rows, weigh
from latentclass.estimator._legacy_reading import Training
from latentclass.estimator._reading import check_weight
from latentclass.lcm._edges import learn_structure
from latentclass.lcm._em import LCMParams, LCMProblem, Prior, canonical, to_cells


class Chunks(NamedTuple):
    """Sums of features by class, (Y, f), of (x - centre) / unit over all chunks so far."""

    centre: FloatArray
    unit: FloatArray
    sums: FloatArray


def _reads_rows_once(model: Any) -> bool:
    """Whether sums over the rows are all the model needs of them."""
    if type(model) is LCMClassifier and model.n_components == 1:
        return True
    raise AttributeError(
        f"{type(model).__name__} can learn from chunks of rows only as "
        "LCMClassifier(n_components=1): with several components, or in a search, every iteration "
        "reads all rows. Use fit."
    )


class LCMClassifier(CellClassifier):
    """Latent classification model: a naive Bayes classifier over latent variables.

    The columns are explained by a few latent Gaussian variables which are independent given the
    class; so attributes may depend on each other as strongly as they like. With several components
    the map from latent variables to attributes bends: each component has its own plane.

        P(y) P(m | y) N(z; mu_y, diag gamma_y) N(x; L_m z + eta_m, diag theta_m)

    Missing cells are integrated out exactly, rows without label are learned from. Binary and
    nominal columns are taken as independent of the rest given the class.

    Parameters
    ----------
    n_latent : int, default=2
        Number of latent variables; may exceed the number of columns.
    n_components : int, default=1
        Components M; 1 is the linear model, which reads the table once.
    noise : {"tied", "untied"}, default="tied"
        "tied": one noise variance for each continuous column. "untied": one for each column in each
        component.
    structure : {"full", "learned"}, default="full"
        Which latent variables a column may depend on. "full": all. "learned": only those that
        Geiger and Heckerman's metric supports (structural EM); all components share the edges.
    offset : bool, default=True
        Give the columns an offset in addition to the latent variables. Without it the class means
        lie in the plane that the loadings span.
    prior : float or None, default=1.0
        Strength of the MAP prior, in pseudo-rows: a ridge on the loadings, noise variances pulled
        towards half the column's variance, latent variances towards 1. None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    n_init : int, default=10
        Number of random starts. They run together in one batch.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What happens to the starts. "average": their class probabilities are averaged. "accuracy"
        (as in the paper): the one with the highest training accuracy is kept, and the likelihood
        breaks ties. "likelihood": the one with the highest likelihood is kept.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-2
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it if it lowers the
        held-out log-loss.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows, through joblib. The result does not depend on it.
    verbose : int, default=0
        1 prints each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    component_prior_ : array of shape (n_classes, n_components)
        Probability of each component given the class, P(m | y).
    loadings_ : array of shape (n_components, n_continuous, n_latent)
        Change of each column with each latent variable.
    offsets_ : array of shape (n_components, n_continuous)
        Columns where all latent variables are 0.
    noise_variances_ : array of shape (n_components, n_continuous)
        Variance that the latent variables do not explain; equal rows if tied. It is in squared
        units: inf (or 0) for columns so large (or small) that a square leaves the range of doubles.
    edges_ : array of shape (n_continuous, n_latent)
        Which latent variables each column depends on; all true unless the structure is learned.
    latent_means_, latent_variances_ : arrays of shape (n_classes, n_latent)
        Mean and variance of each latent variable in each class.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate=True`, the learned temperature and the held-out log-loss before and after
        it; otherwise empty.
    log_likelihood_ : float
        log p(X, y) of the best start, summed over rows with their weights; unlabelled rows count by
        log p(x).
    history_ : list of float
        Objective per row of the best start (log-likelihood plus log-prior, in standardised
        columns): at the start and after each EM step.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last gain of EM was at most `tol`.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    restart_histories_ : list of list of float
        `history_` of every start.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Columns are standardised inside, so units of measurement do not matter. The learned attributes
    and `transform` are those of the best start, in this convention: over all rows each latent
    variable has mean 0 and variance 1; they come in falling order of the variance they explain;
    each one's largest loading (in standardised columns) is positive. With two classes or more
    there is no rotation to choose: the latent variables are independent in every class.

    With `select="average"` the density, samples and completion are those of all starts mixed,
    and the class probabilities are the starts' own, averaged: the density would give nearly all
    weight to one of them.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2005). Latent classification models. Machine Learning
       59, 237-265.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from latentclass import LCMClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LCMClassifier(n_latent=4, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    >>> model.transform(X[:1]).shape
    (1, 4)
    """

    def __init__(
        self,
        n_latent: Any = 2,
        n_components: Any = 1,
        *,
        noise: str = "tied",
        structure: str = "full",
        offset: bool = True,
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
        max_iter: int = 200,
        tol: float = 1e-2,
        accelerate: bool = True,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_latent = n_latent
        self.n_components = n_components
        self.noise = noise
        self.structure = structure
        self.offset = offset
        self.prior = prior
        self.alpha = alpha
        self.n_init = n_init
        self.select = select
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        self._check_size()
        check_option("noise", self.noise, ("tied", "untied"))
        check_option("structure", self.structure, ("full", "learned"))
        check_option("offset", self.offset, (True, False))
        check_number("prior", self.prior, low=0, none=True)
        check_number("alpha", self.alpha, low=0)
        check_number("n_init", self.n_init, low=1, whole=True)
        check_option("select", self.select, ("average", "accuracy", "likelihood"))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_option("accelerate", self.accelerate, (True, False))

    def _check_size(self) -> None:
        check_number("n_latent", self.n_latent, low=1, whole=True)
        check_number("n_components", self.n_components, low=1, whole=True)

    def _size(self, training: Training) -> tuple[int, int]:  # noqa: ARG002
        """Numbers of latent variables and components: a search has to look at the rows."""
        return self.n_latent, self.n_components

    _params: LCMParams

    # -------------------------------------------------------------------- fit

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        self.__dict__.pop("_chunks", None)  # fit begins anew, and so does a later partial_fit
        self._measure(training)
        q, m = self._size(training)
        data = self._gather(training, one_component=m == 1, width=self.n_init * m)
        score = self._training_accuracy(training) if self.select == "accuracy" else None
        self._fit_data(data, q, m, score, progress)

    def _fit_data(
        self,
        data: ComponentData,
        n_latent: int,
        n_components: int,
        score: Callable[[LCMParams], FloatArray] | None,
        progress: FitProgress | None,
    ) -> None:
        problem = LCMProblem(
            data,
            n_components,
            n_latent,
            self.noise == "tied",
            make_prior(self.prior, self.alpha),
            self.offset,
        )
        seed = check_random_state(self.random_state).randint(2**31)
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(self.n_init)]
        starts = problem.starts(np.zeros(self.n_init, dtype=np.intp), rngs)
        if self.structure == "learned":
            starts = learn_structure(problem, starts, rngs, self.max_iter)
        average = self.select == "average"
        result = run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            halving=not average,
            accelerate=self.accelerate,
            keep=self.n_init if average else 1,
            score=score,
            on_iteration=None if progress is None else progress.step,
        )
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.restarts_ = result.converged, result.restarts
        self.restart_histories_ = result.histories
        self._set_params(result.params, data)

    # ---------------------------------------------------------- rows in chunks

    @available_if(_reads_rows_once)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows of a linear model: the same as `fit` on all rows so far.

        Only sums over the rows are kept, so any number of rows may come. `fit` keeps no such sums:
        after it the first call begins anew.

        Parameters
        ----------
        X : table of complete continuous columns
        y : array-like of labels, all known
        classes : array-like, optional
            All labels that will ever come; by default those of the first call.
        sample_weight : array-like, optional

        Returns
        -------
        self
        """
        self._check_chunks()
        self._add_chunk(X, y, classes, sample_weight)
        self._fit_sums()
        return self

    @available_if(_reads_rows_once)  # type: ignore[untyped-decorator]
    def fit_chunks(self, chunks: Iterable[tuple[Any, ...]], classes: Any = None) -> Self:
        """Learn a linear model from chunks of rows, read once: more rows than memory holds.

        Parameters
        ----------
        chunks : iterable of (X, y) or (X, y, sample_weight)
        classes : array-like, optional
            All labels; by default those of the first chunk.

        Returns
        -------
        self
        """
        self._check_chunks()
        self.__dict__.pop("_chunks", None)
        for chunk in chunks:
            if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
                raise ValueError(
                    "fit_chunks takes an iterable of tuples (X, y) or (X, y, sample_weight), got "
                    f"{type(chunk).__name__}."
                )
            X, y, *weight = chunk
            self._add_chunk(X, y, classes, weight[0] if weight else None)
        if "_chunks" not in self.__dict__:
            raise ValueError("fit_chunks got no chunk: the iterable is empty or used up.")
        self._fit_sums()
        return self

    def _check_chunks(self) -> None:
        self._check_base_parameters()
        self._check_parameters()
        for name, value, other in (
            ("select", "accuracy", "'average' or 'likelihood'"),
            ("calibrate", True, "False"),
        ):
            if getattr(self, name) == value:
                raise ValueError(
                    f"{name}={value!r} needs the rows once more, but chunks are read once. Use "
                    f"{name}={other}, or fit."
                )

    def _add_chunk(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        chunks = self.__dict__.get("_chunks")
        labels = label_array(y)
        if chunks is None:
            training = self._read_training(X, y, sample_weight)
            if classes is not None:
                self.classes_ = np.unique(np.asarray(classes))
            self._measure(training)
            table = training.table
            weight = training.weight
            labels = (
                labels
                if sample_weight is None
                else labels[check_weight(sample_weight, len(labels)) > 0]
            )
        else:
            table = self._read(X)
            weight = check_weight(sample_weight, table.n_rows)
        if self.schema_.discrete:
            name = self.schema_.columns[self.schema_.discrete[0]].name
            raise ValueError(
                f"Column {name!r} is discrete: chunks must hold continuous columns only. Use fit."
            )
        if len(labels) != table.n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has "
                f"{table.n_rows} rows, y has {len(labels)} labels. Pass one label per row."
            )
        codes = self._label_codes(labels, table.n_rows)
        part = self._sum_chunk(table, codes, weight)
        if chunks is None:
            self._chunks = Chunks(self._scaling.centre, self._scaling.unit, part)
        else:
            self._chunks = chunks._replace(sums=chunks.sums + part)

    def _sum_chunk(self, table: Table, codes: IndexArray, weight: FloatArray) -> FloatArray:
        """Sums of features by class, in the units of the first chunk."""
        chunks = self.__dict__.get("_chunks")
        centre = self._scaling.centre if chunks is None else chunks.centre
        unit = self._scaling.unit if chunks is None else chunks.unit
        n_classes = len(self.classes_)

        def visit(span: slice) -> FloatArray:
            numeric = table.block(span).numeric
            if np.isnan(numeric).any():
                row, column = np.argwhere(np.isnan(numeric))[0]
                name = self.schema_.columns[self.schema_.continuous[column]].name
                raise ValueError(
                    f"Column {name!r}, row {span.start + row} of the chunk is missing: chunks must "
                    "be complete. Use fit, which integrates missing cells out."
                )
            rows = (numeric - centre) / unit
            return np.stack(
                [
                    sum_features(rows[codes[span] == k], weight[None, span][:, codes[span] == k])[0]
                    for k in range(n_classes)
                ]
            )

        parts = map_blocks(visit, table.spans(least=n_classes), self.n_jobs)
        return sum(parts, np.zeros((n_classes, count_features(len(centre)))))

    def _fit_sums(self) -> None:
        """EM on the sums of all chunks so far."""
        centre, unit, sums = self._chunks
        moments = unpack_moments(sums)
        weight, total, square = (part.sum(axis=0) for part in moments)
        mean = total / weight
        variance = np.diagonal(square) / weight - mean**2
        varies = np.diagonal(square) > 0  # a constant is its own centre
        spread = np.sqrt(np.maximum(variance, SCALE_FLOOR**2))
        self._scaling = Scaling(
            varies,
            ~varies,
            np.where(varies, centre + unit * mean, centre),
            np.where(varies, unit * spread, unit),
        )
        inside = Moments(
            moments.weight, moments.total[:, varies], moments.square[:, varies][:, :, varies]
        )
        known = pack_moments(move_moments(inside, mean[varies], spread[varies]))[None]
        self._outside_log_likelihood = self._scaling.outside_log_likelihood(
            np.full(len(centre), weight)
        )
        self.temperature_, self.calibration_ = 1.0, {}
        data = known_data(known, self._offsets, np.zeros((1, len(self.classes_), 0)))
        self._fit_data(data, self.n_latent, 1, None, None)
        self._warn_if_not_converged()

    def _set_params(self, params: LCMParams, data: ComponentData) -> None:
        self._params = canonical(params)
        self._cells, _ = to_cells(self._params)
        self.class_prior_ = np.exp(log_sum_exp(self._cells.log_weight)).mean(axis=0)
        _, log_likelihood = expect(data, to_cells(take_starts(self._params, [0]))[0])
        self.log_likelihood_ = float(log_likelihood[0]) + self._outside_log_likelihood

    def _training_accuracy(self, training: Training) -> Callable[[LCMParams], FloatArray]:
        """Function from parameters to each start's share of labelled rows it gets right."""
        labelled = training.y != UNLABELLED
        table, y = training.table.take(labelled), training.y[labelled]
        weight = training.weight[labelled]

        def score(params: LCMParams) -> FloatArray:
            cells, _ = to_cells(params)
            n_starts, n_classes, n_components = cells.log_weight.shape

            def visit(span: slice) -> FloatArray:
                numeric, codes = table.block(span)
                values = self._scaling.values(numeric)
                joint = log_joint_rows(cells, values, codes, self._offsets)
                predicted = log_sum_exp(np.moveaxis(joint, 2, -1)).argmax(axis=1)
                return np.asarray((predicted == y[span]) @ weight[span])

            spans = table.spans(extra_columns=n_starts * n_classes * n_components)
            total = sum(map_blocks(visit, spans, self.n_jobs), np.zeros(n_starts))
            return np.asarray(total / weight.sum())

        return score

    # ------------------------------------------------------------------ hooks

    def _latent(self, table: Table) -> FloatArray:
        """E[z | observed cells] under the best start."""
        cells, regression = to_cells(take_starts(self._params, [0]))
        n_cells = cells.log_weight.size
        n, q = self._params.loadings.shape[2:]
        flat = flatten_gaussians(cells.gaussians)
        intercept = regression.intercept.reshape(n_cells, q)
        slope = regression.slope.reshape(n_cells, q, n)
        at_mean = intercept + (slope @ flat.mean[..., None])[..., 0]
        turned = np.swapaxes(slope, 1, 2)

        def visit(span: slice) -> FloatArray:
            numeric, codes = table.block(span)
            values = self._scaling.values(numeric)
            out = np.empty((len(values), q))
            for rows, joint, shift, _ in visit_rows(cells, values, codes, self._offsets):
                share = np.exp(log_normalise(joint))
                if shift is None:
                    # linear in x: the cells' slopes mixed by a row's shares
                    near = np.clip(values[rows], -VALUE_LIMIT, VALUE_LIMIT)
                    moved = weigh(share, (near @ turned).transpose(1, 0, 2))
                    out[rows] = share @ intercept + moved
                else:
                    moved = np.matmul(shift.transpose(1, 0, 2), turned).transpose(1, 0, 2)
                    out[rows] = share @ at_mean + weigh(share, moved)
            return out

        spans = table.spans(extra_columns=n_cells * q // 8)
        return np.concatenate(list(map_blocks(visit, spans, self.n_jobs)))

    def _latent_names(self) -> list[str]:
        return [f"z{k}" for k in range(self._params.loadings.shape[3])]

    # ------------------------------------------------------ learned attributes

    @property
    def component_prior_(self) -> FloatArray:
        """P(m | y) of the best start."""
        check_is_fitted(self)
        return np.exp(log_normalise(self._params.log_weight[0]))

    @property
    def loadings_(self) -> FloatArray:
        """Change of each column with each latent variable."""
        check_is_fitted(self)
        return self._spread_columns(self._params.loadings[0] * self._units[:, None], 0.0)

    @property
    def offsets_(self) -> FloatArray:
        """Columns where all latent variables are 0."""
        check_is_fitted(self)
        scaling = self._scaling
        offsets = scaling.centre[scaling.varies] + self._units * self._params.offsets[0]
        return self._spread_columns(offsets, scaling.centre[~scaling.varies])

    @property
    def noise_variances_(self) -> FloatArray:
        """Variance that the latent variables do not explain; inf if too large for a double."""
        check_is_fitted(self)
        with np.errstate(over="ignore", under="ignore"):
            noise = self._units**2 * self._params.noise[0]
        noise = np.broadcast_to(noise, (self._params.loadings.shape[1], noise.shape[1]))
        return self._spread_columns(noise, self._scaling.unit[~self._scaling.varies] ** 2)

    @property
    def edges_(self) -> BoolArray:
        """Which latent variables each column depends on."""
        check_is_fitted(self)
        edges = np.zeros((len(self._scaling.varies), self._params.edges.shape[2]), dtype=bool)
        edges[self._scaling.varies] = self._params.edges[0]
        return edges

    @property
    def latent_means_(self) -> FloatArray:
        """Mean of each latent variable in each class."""
        check_is_fitted(self)
        return np.array(self._params.latent_mean[0])

    @property
    def latent_variances_(self) -> FloatArray:
        """Variance of each latent variable in each class."""
        check_is_fitted(self)
        return np.array(self._params.latent_variance[0])

    @property
    def _units(self) -> FloatArray:
        return self._scaling.unit[self._scaling.varies]

    def _spread_columns(self, varying: FloatArray, constant: Any) -> FloatArray:
        """Put the columns that vary (axis 1) back among the constant ones."""
        varies = self._scaling.varies
        out = np.empty((varying.shape[0], len(varies), *varying.shape[2:]))
        out[:, varies] = varying
        out[:, ~varies] = constant
        return out


def make_prior(strength: float | None, alpha: float) -> Prior:
    """The engine's prior from the estimator's parameters."""
    pseudo = 0.0 if strength is None else float(strength)
    return Prior(loading=pseudo, noise=pseudo, noise_level=0.5, latent=pseudo, alpha=alpha)
