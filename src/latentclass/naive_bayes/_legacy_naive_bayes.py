"""Naive Bayes for tables of mixed columns."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Table
from latentclass.engine import _product as product
from latentclass.engine._em import EMResult, run_restarts
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import MixtureParams, MixtureProblem, seed_components
from latentclass.estimator._bif import naive_bayes_variables, write_bif
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._legacy_base import GenerativeClassifier
from latentclass.estimator._legacy_reading import Training


class NaiveBayes(GenerativeClassifier):
    """Naive Bayes for continuous, binary and nominal columns in one model.

    Given the class the columns are independent: a continuous column is Gaussian, a binary or
    nominal one has a probability for each category. It is fast (one pass over the table), needs
    little data, and every answer can be read; where columns depend on each other its probabilities
    are too sure, which `calibrate=True` mends. Missing cells are integrated out; rows without
    label are learned from by EM, with their class as the latent variable.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category of a discrete column (Laplace smoothing); 0 is maximum
        likelihood.
    prior : float or None, default=1.0
        MAP smoothing of the variances: each class's variance is estimated as if this many more
        rows had been seen that spread as the whole column does. None is maximum likelihood.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete: those of text, category or boolean type; none; or the listed
        names, positions, or mask.
    handle_unknown : {"missing", "error"}, default="missing"
        A category not seen in `fit` is a missing value, or an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it where it lowers the
        held-out log-loss. It may change which class is most probable, since the class prior is
        left as it is.
    n_init : int, default=1
        Starts of EM if there are unlabelled rows. The first starts from the labelled rows alone,
        every other near one labelled row of each class, drawn at random.
    max_iter : int, default=200
        Most EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=False
        Extrapolate EM steps (SQUAREM); the objective still never falls.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Threads over blocks of rows, through joblib. The result does not depend on it.
    verbose : int, default=0
        1 prints each EM iteration to standard error.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    means_, scales_ : arrays of shape (n_classes, n_continuous)
        Mean and standard deviation of each continuous column in each class.
    probabilities_ : dict of str to array of shape (n_classes, n_categories)
        For each discrete column by name, the probability of each category in each class.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate` found a better one.
    calibration_ : dict
        With `calibrate=True`: the learned temperature and the held-out log-loss before and after;
        else empty.
    log_likelihood_ : float
        log p(X, y), summed over rows with their weights, unlabelled rows by log p(x).
    history_ : list of float
        Objective per row (log-likelihood plus log-prior): at the start and after each EM step.
    n_iter_ : int
        M-steps of the kept start.
    converged_ : bool
        Whether its last gain was at most `tol`. Always true without unlabelled rows.
    restarts_ : dict of str to array
        One entry a start: start, objective, n_iter, converged, reseeded, kept.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if the table had names.

    Notes
    -----
    With `prior=None` continuous columns give scikit-learn's `GaussianNB(var_smoothing=0)`;
    discrete ones give its `CategoricalNB` and `BernoulliNB` with the same `alpha`. A class in
    which a column has no value gets that column's overall mean and variance, or even
    probabilities. A standard deviation is at least 1e-12 of half the column's range; in a column
    that never varies it is the size of its value. Weights are copies to the bit but for the folds
    of `calibrate` and the random starts, which see rows.

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

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        calibrate: bool = False,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        accelerate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.calibrate = calibrate
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerate = accelerate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, low=0)
        check_number("prior", self.prior, low=0, none=True)
        check_number("n_init", self.n_init, low=1, whole=True)
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)
        check_option("accelerate", self.accelerate, (True, False))

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        problem, labelled = self._labelled_problem(training, width=self.n_init)
        # without unlabelled rows the first start is the answer, and the next step confirms it
        rngs = self._generators(self.n_init if problem.blocks else 1)
        starts = labelled_starts(problem, labelled, rngs)
        self._keep(self._run(problem, starts, rngs, progress), problem)

    def _labelled_problem(
        self, training: Training, *, width: int
    ) -> tuple[MixtureProblem, Training]:
        """EM with each labelled row's class known, and the labelled rows themselves.

        Beside each unlabelled row there will be `width` responsibilities for each class.
        """
        table, y, weight = training
        labelled = y != UNLABELLED
        n_classes = len(self.classes_)
        self._layout = _measure(table, self.schema_.n_levels)
        blocks = []
        known = training
        if not labelled.all():
            known = Training(table.take(labelled), y[labelled], weight[labelled])
            width *= n_classes
            blocks = weighted_rows(table.take(~labelled), weight[~labelled], self._layout, width)
        known_rows = np.zeros(n_classes) + np.bincount(known.y, known.weight, n_classes)
        stats = self._class_stats(known)
        prior = self._prior(stats, blocks)
        problem = MixtureProblem(blocks, known_rows, stats, prior, self._layout, self.n_jobs)
        return problem, known

    def _generators(self, n_starts: int) -> list[np.random.Generator]:
        seed = check_random_state(self.random_state).randint(2**31)
        return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_starts)]

    def _run(
        self,
        problem: MixtureProblem,
        starts: MixtureParams,
        rngs: list[np.random.Generator],
        progress: FitProgress | None,
    ) -> EMResult[MixtureParams]:
        """EM, or the one step that confirms the estimate where nothing is hidden."""
        hidden = bool(problem.blocks or problem.restricted)
        return run_restarts(
            problem,
            starts,
            tol=self.tol,
            max_iter=self.max_iter if hidden else 2,
            rngs=rngs,
            accelerate=self.accelerate and hidden,
            on_iteration=progress.step if progress is not None and hidden else None,
        )

    def _keep(self, result: EMResult[MixtureParams], problem: MixtureProblem) -> None:
        log_weight, *arrays = (array[0] for array in result.params)
        self.class_prior_ = np.exp(log_weight)
        self._params = product.Params(*arrays)
        penalty = product.log_prior(self._params, problem.prior).sum()
        self._record(result, problem.total_weight, float(penalty))

    def _record(self, result: EMResult[Any], total_weight: float, penalty: float) -> None:
        """Set the attributes about the fit; `penalty` is the log-prior in the objective."""
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.restarts_ = result.converged, result.restarts
        self.log_likelihood_ = float(self.history_[-1] * total_weight - penalty)

    def _class_stats(self, labelled: Training) -> product.Stats:
        table, y, weight = labelled
        n_classes, layout = len(self.classes_), self._layout

        def visit(span: slice) -> product.Stats:
            rows = product.to_rows(*table.block(span), layout)
            return product.hard_stats(rows, y[span], weight[span], n_classes, layout)

        total = product.empty_stats(n_classes, layout)
        # blocks of as many rows as there are classes at least, or merging would cost the most
        for part in map_blocks(visit, table.spans(least=n_classes), self.n_jobs):
            total = product.merge_stats(total, part)
        return total

    def _prior(self, known: product.Stats, blocks: WeightedRows) -> product.Prior:
        overall = product.pool_stats(known)
        for rows, weight in blocks:
            part = product.soft_stats(rows, weight[:, None], self._layout)
            overall = product.merge_stats(overall, part)
        variance = overall.scatter[0] / np.where(overall.weight[0] > 0, overall.weight[0], 1.0)
        strength = 0.0 if self.prior is None else float(self.prior)
        return product.Prior(float(self.alpha), strength, overall.mean[0], variance)

    @property
    def means_(self) -> FloatArray:
        """Mean of each continuous column in each class."""
        check_is_fitted(self)
        return self._centres()

    @property
    def scales_(self) -> FloatArray:
        """Standard deviation of each continuous column in each class."""
        check_is_fitted(self)
        return self._widths()

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each class, by column name."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.discrete]
        return dict(zip(names, map(np.exp, self._level_log_probs()), strict=True))

    def to_bif(self, path: str | PathLike[str] | None = None) -> str:
        """The model as a Bayesian network in the BIF format; discrete columns only.

        Parameters
        ----------
        path : path-like, optional
            File to write; the text is returned in any case.
        """
        check_is_fitted(self)
        return write_bif(naive_bayes_variables(self), path)

    def _centres(self) -> FloatArray:
        return self._layout.centre + self._layout.unit * self._params.mean

    def _widths(self) -> FloatArray:
        return self._layout.unit * self._params.scale

    def _level_log_probs(self) -> list[FloatArray]:
        """log P(category | class) of each discrete column, shape (n_classes, n_categories)."""
        return np.split(self._params.log_prob, self._layout.offsets[1:-1], axis=1)[
            : len(self.schema_.discrete)
        ]

    def _log_likelihood(self, block: Block) -> FloatArray:
        rows = product.to_rows(*block, self._layout)
        return product.log_density(self._params, rows, self._layout)

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        means, scales = self._centres()[y], self._widths()[y]
        numeric = means + scales * rng.standard_normal(means.shape)
        codes = np.full((len(y), len(self.schema_.discrete)), -1, dtype=np.int32)
        for place, log_prob in enumerate(self._level_log_probs()):
            if log_prob.shape[1]:
                chance = rng.random(len(y))
                for k in np.unique(y):
                    edges = np.cumsum(np.exp(log_prob[k]))[:-1]
                    codes[y == k, place] = np.searchsorted(edges, chance[y == k], side="right")
        observed = [self.schema_.columns[j].observed for j in self.schema_.continuous]
        numeric[:, ~np.array(observed, dtype=bool)] = np.nan
        return Table(numeric, codes)

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        codes = np.full(table.codes.shape, -1, dtype=np.int32)
        for place, log_prob in enumerate(self._level_log_probs()):
            if log_prob.shape[1]:
                codes[:, place] = (posterior @ np.exp(log_prob)).argmax(axis=1)
        return Table(posterior @ self._centres(), codes)

    def _most_probable_cells(self, table: Table) -> Table:
        # Given the class, each missing cell's best value stands by itself: its mode.
        hidden = np.isnan(table.block(slice(None)).numeric).astype(np.float64)
        joint = self._evidence(table) + np.log(self.class_prior_)
        peaks, log_peaks = self._peaks()
        joint += hidden @ log_peaks.T
        modes = np.zeros((len(self.classes_), table.codes.shape[1]), dtype=np.int32)
        for place, log_prob in enumerate(self._level_log_probs()):
            if log_prob.shape[1]:
                modes[:, place] = log_prob.argmax(axis=1)
                missing = table.block(slice(None)).codes[:, place] < 0
                joint[missing] += log_prob.max(axis=1)
        best = joint.argmax(axis=1)
        return Table(peaks[best], modes[best])

    def _peaks(self) -> tuple[FloatArray, FloatArray]:
        """Where each class's density of each column is highest, and its log there, less a constant.

        The constant is the same for all classes.
        """
        return self._centres(), -np.log(self._widths())


WeightedRows = list[tuple[product.ProductRows, FloatArray]]


def _measure(table: Table, n_levels: IndexArray) -> product.Layout:
    """Ranges of the continuous columns and places of the discrete levels."""
    low = np.full(table.numeric.shape[1], np.nan)
    high = low.copy()
    for block in table.blocks():
        low = np.fmin(low, np.fmin.reduce(block.numeric, axis=0))
        high = np.fmax(high, np.fmax.reduce(block.numeric, axis=0))
    offsets = np.concatenate([[0], np.cumsum(n_levels)]).astype(np.intp)
    return product.Layout(*product.measure_range(low, high), offsets)


def weighted_rows(
    table: Table, weight: FloatArray, layout: product.Layout, width: int
) -> WeightedRows:
    """Rows in the engine's units; `width` columns of responsibilities will stand beside them."""
    return [
        (product.to_rows(*table.block(span), layout), weight[span])
        for span in table.spans(extra_columns=width)
    ]


def labelled_starts(
    problem: MixtureProblem, labelled: Training, rngs: list[np.random.Generator]
) -> MixtureParams:
    """The labelled rows' own estimate first, then starts near single labelled rows."""
    table, y, weight = labelled
    estimates = [product.estimate(problem.known, problem.prior, problem.layout)]
    # a class may have no row here: in a fold of `calibrate`, say
    everything = np.arange(len(y))
    by_class = [
        rows if (rows := np.flatnonzero(y == k)).size else everything
        for k in range(len(problem.known_rows))
    ]
    for rng in rngs[1:]:
        picked = [rng.choice(rows, p=weight[rows] / weight[rows].sum()) for rows in by_class]
        chosen = table.take(np.array(picked))
        seeds = product.to_rows(*chosen.block(slice(None)), problem.layout)
        estimates.append(seed_components(seeds, problem.prior, problem.layout, rng))
    with np.errstate(divide="ignore"):
        shares = np.log(problem.known_rows / problem.known_rows.sum())
    stacked = (np.stack(arrays) for arrays in zip(*estimates, strict=True))
    return MixtureParams(np.tile(shares, (len(rngs), 1)), *stacked)
