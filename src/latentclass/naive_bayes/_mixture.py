"""Naive Bayes whose continuous columns are mixtures of Gaussians."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass._validation import check_number
from latentclass.data._schema import Block, Table
from latentclass.engine import _product as product
from latentclass.engine._em import run_restarts
from latentclass.engine._parallel import map_blocks
from latentclass.engine._product_mixture import MixtureProblem
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._legacy_reading import Training
from latentclass.naive_bayes import _column_mixture as mixture
from latentclass.naive_bayes._legacy_naive_bayes import NaiveBayes, labelled_starts


class MixtureNaiveBayes(NaiveBayes):
    """Naive Bayes with a mixture of Gaussians for each continuous column in each class.

    Given the class the columns are independent, as in `NaiveBayes`; but a continuous column may
    have several humps, a long tail or a spike. The number of components is chosen by BIC for each
    column in each class on the labelled rows. This is the NB/M of Langseth and Nielsen [1]_.
    Missing cells are integrated out; rows without label are learned from by EM.

    Parameters
    ----------
    max_components : int, default=5
        Most components of a column in a class. 1 is `NaiveBayes`.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    prior : float or None, default=1.0
        MAP smoothing of the variances: each variance is estimated as if this many more rows had
        been seen that spread as the whole column does. None is maximum likelihood.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it if it lowers the
        held-out log-loss.
    n_init : int, default=3
        Number of starts of each mixture. The first cuts the sorted values into even slices, the
        others into slices drawn at random. Rows without label add no start.
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
        Number of threads over columns and blocks of rows, through joblib. The result does not
        depend on it.
    verbose : int, default=0
        1 prints each iteration of the EM over all rows to standard error.

    Attributes
    ----------
    n_components_ : array of shape (n_classes, n_continuous)
        Components of each continuous column in each class.
    component_weights_, component_means_, component_scales_ : arrays
        Share, mean and standard deviation of each component, of shape (n_classes, n_continuous,
        n_components_.max()), sorted by mean; NaN where a column has fewer.
    means_, scales_ : arrays of shape (n_classes, n_continuous)
        Mean and standard deviation of each continuous column in each class, its components taken
        together.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_prior_ : array of shape (n_classes,)
        Share of each class.
    probabilities_ : dict of str to array of shape (n_classes, n_categories)
        For each discrete column by name, the probability of each category in each class.
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
    one class's mixture. Here it is chosen for each attribute in each class: given the class the
    mixtures have no parameter in common, so BIC is highest when each is chosen for itself, and a
    rare class gets few components. k components cost 3 k - 1 parameters, BIC's sample size is the
    weight of the class's rows whose cell is observed, and k is tried only where these are 3 k - 1
    rows and k distinct values at least. A mixture one of whose components is narrower than a
    thousandth of the column's standard deviation in the class is not chosen: with `prior=None`
    its likelihood has no bound.

    `history_`, `n_iter_`, `converged_` and `restarts_` describe the EM over all rows that follows
    the choice of the components. It has one start.

    Equal values are grouped and sorted first, so that weights are copies to the bit, and neither
    the order of rows nor that of columns matters.

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

    def __init__(
        self,
        *,
        max_components: int = 5,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        calibrate: bool = False,
        n_init: int = 3,
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
            calibrate=calibrate,
            n_init=n_init,
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

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        n_numeric = training.table.numeric.shape[1]
        width = n_numeric * self.max_components if self.max_components > 1 else 1
        problem, labelled = self._labelled_problem(training, width=width)
        seed = check_random_state(self.random_state).randint(2**31)
        self.n_components_, self._mixed, self._parts = self._choose(labelled, problem.prior, seed)
        rngs = self._generators(1)
        if not len(self._mixed):
            starts = labelled_starts(problem, labelled, rngs)
            self._keep(self._run(problem, starts, rngs, progress), problem)
            return
        plain, mixed = self._split(problem)
        joint = mixture.ColumnMixtureProblem(
            plain,
            mixed,
            self._cells(labelled),
            self._used(),
            mixture.Spread(problem.prior.strength, problem.prior.variance[self._mixed, None]),
            self._layout.unit[self._mixed],
        )
        result = run_restarts(
            joint,
            mixture.ColumnMixtureParams(
                *labelled_starts(plain, labelled, rngs), *(array[None] for array in self._parts)
            ),
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            accelerate=self.accelerate,
            on_iteration=None if progress is None else progress.step,
        )
        arrays = [array[0] for array in result.params]
        self.class_prior_ = np.exp(arrays[0])
        self._plain_params = product.Params(*arrays[1:4])
        self._parts = mixture.ColumnComponents(*arrays[4:])
        self._params = self._matched_params()
        penalty = product.log_prior(self._plain_params, plain.prior).sum()
        penalty += joint.log_prior(self._parts)
        self._record(result, problem.total_weight, float(penalty))

    def _choose(
        self, labelled: Training, prior: product.Prior, seed: int
    ) -> tuple[IndexArray, IndexArray, mixture.ColumnComponents]:
        """Numbers of components, columns that need more than one, and the mixtures of these."""
        shape = (len(self.classes_), len(prior.mean))
        numbers = np.ones(shape, dtype=np.intp)

        def search(columns: slice) -> tuple[IndexArray, mixture.Choice]:
            cells, pairs = self._column_cells(labelled, columns)
            variance = prior.variance[columns][pairs % (columns.stop - columns.start)]
            choice = mixture.choose_mixtures(
                cells,
                mixture.Spread(prior.strength, variance[:, None]),
                max_components=self.max_components,
                n_starts=self.n_init,
                seed=seed,
                tol=self.tol,
                max_iter=self.max_iter,
                accelerate=self.accelerate,
            )
            return pairs, choice

        # a class without any value in a column has that column's overall Gaussian
        parts = mixture.ColumnComponents(
            np.full((*shape, self.max_components), -np.inf),
            np.zeros((*shape, self.max_components)),
            np.ones((*shape, self.max_components)),
        )
        parts.log_weight[..., 0] = 0.0
        parts.mean[..., 0] = prior.mean
        parts.scale[..., 0] = product.to_scale(prior.variance, prior)
        spans = self._column_spans(labelled) if self.max_components > 1 else []
        for columns, (pairs, choice) in zip(
            spans, map_blocks(search, spans, self.n_jobs), strict=True
        ):
            k, j = np.divmod(pairs, columns.stop - columns.start)
            j += columns.start
            numbers[k, j] = choice.n_components
            for array, values in zip(parts, choice.parts, strict=True):
                array[k, j] = values
        mixed = np.flatnonzero((numbers > 1).any(axis=0))
        most = int(numbers.max(initial=1))
        return (
            numbers,
            mixed,
            mixture.ColumnComponents(*(array[:, mixed, :most] for array in parts)),
        )

    def _column_spans(self, labelled: Training) -> list[slice]:
        """Ranges of continuous columns whose cells fit into memory with all that is beside them."""
        n_columns = labelled.table.numeric.shape[1]
        beside = labelled.table.n_rows * self.n_init * self.max_components
        size = max(mixture.CHUNK_CELLS // beside, 1)
        return [slice(j, min(j + size, n_columns)) for j in range(0, n_columns, size)]

    def _column_cells(
        self, labelled: Training, columns: Any
    ) -> tuple[mixture.ColumnValues, IndexArray]:
        table, y, weight = labelled
        numeric = Table(table.numeric[:, columns], table.codes[:, :0]).block(slice(None)).numeric
        scaled = (numeric - self._layout.centre[columns]) / self._layout.unit[columns]
        return mixture.distinct_cells(scaled, y, weight, len(self.classes_))

    def _cells(self, labelled: Training) -> list[tuple[mixture.ColumnValues, IndexArray]]:
        """Labelled cells of the mixed columns, column by column; pairs count in those only."""
        out = []
        for place, j in enumerate(self._mixed):
            cells, pairs = self._column_cells(labelled, slice(j, j + 1))
            out.append((cells, pairs * len(self._mixed) + place))
        return out

    def _split(self, problem: MixtureProblem) -> tuple[MixtureProblem, list[FloatArray]]:
        """The problem without the mixed columns, and the mixed columns of its blocks."""
        keep = self._plain_columns(len(problem.prior.mean))
        prior, known, layout = problem.prior, problem.known, problem.layout
        blocks = [
            (product.ProductRows(np.ascontiguousarray(rows.numeric[:, keep]), rows.codes), weight)
            for rows, weight in problem.blocks
        ]
        plain = replace(
            problem,
            blocks=blocks,
            known=known._replace(
                weight=known.weight[:, keep],
                mean=known.mean[:, keep],
                scatter=known.scatter[:, keep],
            ),
            prior=prior._replace(mean=prior.mean[keep], variance=prior.variance[keep]),
            layout=layout._replace(centre=layout.centre[keep], unit=layout.unit[keep]),
        )
        self._plain_layout = plain.layout
        return plain, [rows.numeric[:, self._mixed] for rows, _ in problem.blocks]

    def _used(self) -> BoolArray:
        """Which components of the mixed columns there are, shape (n_classes, n_mixed, most)."""
        numbers = self.n_components_[:, self._mixed, None]
        return np.asarray(np.arange(numbers.max()) < numbers)

    def _plain_columns(self, n_columns: int) -> IndexArray:
        return np.setdiff1d(np.arange(n_columns), self._mixed)

    def _matched_params(self) -> product.Params:
        """Single Gaussians with the mean and variance of each column's mixture."""
        plain, parts = self._plain_params, self._parts
        n_columns = len(self._layout.centre)
        share = np.exp(parts.log_weight)
        centre = (share * parts.mean).sum(axis=2)
        about = parts.mean - centre[:, :, None]
        variance = (share * (parts.scale**2 + about**2)).sum(axis=2)
        mean, scale = (np.empty((len(plain.mean), n_columns)) for _ in range(2))
        rest = self._plain_columns(n_columns)
        mean[:, rest], mean[:, self._mixed] = plain.mean, centre
        scale[:, rest], scale[:, self._mixed] = plain.scale, np.sqrt(variance)
        return product.Params(mean, scale, plain.log_prob)

    @property
    def component_weights_(self) -> FloatArray:
        """Share of each component."""
        return self._components()[0]

    @property
    def component_means_(self) -> FloatArray:
        """Mean of each component."""
        return self._components()[1]

    @property
    def component_scales_(self) -> FloatArray:
        """Standard deviation of each component."""
        return self._components()[2]

    def _components(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        check_is_fitted(self)
        shape = (*self.n_components_.shape, int(self.n_components_.max(initial=1)))
        weight, mean, scale = (np.full(shape, np.nan) for _ in range(3))
        weight[..., 0], mean[..., 0], scale[..., 0] = 1.0, self.means_, self.scales_
        if len(self._mixed):
            centre, unit = self._layout.centre[self._mixed], self._layout.unit[self._mixed]
            parts = self._parts
            used = self._used()
            order = np.argsort(np.where(used, parts.mean, np.inf), axis=2)
            found = (
                np.exp(parts.log_weight),
                centre[:, None] + unit[:, None] * parts.mean,
                unit[:, None] * parts.scale,
            )
            for out, values in zip((weight, mean, scale), found, strict=True):
                shown = np.where(used, values, np.nan)
                out[:, self._mixed] = np.take_along_axis(shown, order, axis=2)
        return weight, mean, scale

    def _log_likelihood(self, block: Block) -> FloatArray:
        if not len(self._mixed):
            return super()._log_likelihood(block)
        numeric, codes = product.to_rows(*block, self._layout)
        rows = product.ProductRows(numeric[:, self._plain_columns(numeric.shape[1])], codes)
        out = product.log_density(self._plain_params, rows, self._plain_layout)
        unit = self._layout.unit[self._mixed]
        out += mixture.mixture_log_density(self._parts, numeric[:, self._mixed], unit)
        return out

    def _sample_table(self, y: IndexArray, rng: np.random.Generator) -> Table:
        table = super()._sample_table(y, rng)
        layout, rows = self._layout, np.arange(len(y))
        for place, j in enumerate(self._mixed):
            log_weight, mean, scale = (array[:, place] for array in self._parts)
            edges = np.cumsum(np.exp(log_weight), axis=1)[:, :-1]
            part = (rng.random(len(y))[:, None] >= edges[y]).sum(axis=1)
            # past the last component in use only by rounding
            part = np.minimum(part, self.n_components_[y, j] - 1)
            at = mean[y[rows], part] + scale[y[rows], part] * rng.standard_normal(len(y))
            table.numeric[:, j] = layout.centre[j] + layout.unit[j] * at
        return table

    def _peaks(self) -> tuple[FloatArray, FloatArray]:
        at, height = super()._peaks()
        if len(self._mixed):
            centre, unit = self._layout.centre[self._mixed], self._layout.unit[self._mixed]
            place, peak = mixture.mixture_peaks(self._parts)
            at[:, self._mixed] = centre + unit * place
            height[:, self._mixed] = peak + 0.5 * product.LOG_2PI - np.log(unit)
        return at, height
