"""Latent classification models of mixed columns: continuous, binary and nominal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._validation import check_option
from latentclass.core._blocks import map_blocks
from latentclass.core._cells import FAR
from latentclass.core._em import EMResult, run_restarts, take_starts
from latentclass.core._hybrid import (
    HybridData,
    HybridParams,
    HybridProblem,
    canonical,
    gather_blocks,
    log_prior,
)
from latentclass.core._hybrid_conditional import ConditionalProblem
from latentclass.core._hybrid_rows import (
    Cell,
    Points,
    gaussian_draws,
    grid_points,
    integrate,
    log_bounds_given_class,
    raise_bounds,
    spread_points,
    take_seen,
)
from latentclass.core._logistic import Rows, read_rows
from latentclass.core._logspace import log_normalise, log_sum_exp
from latentclass.data._labels import UNLABELLED
from latentclass.data._schema import Block, Table
from latentclass.models._base import FloatArray, IntArray, Training
from latentclass.models._callbacks import FitProgress
from latentclass.models._cells import mix_models
from latentclass.models._lcm import LCMClassifier, make_prior
from latentclass.models._sticks import Sticks, learn_sticks, promote_binary

MOST_GRID = 3
"""Latent variables up to which a grid of points is no more than a few thousand."""

MOST_WAYS = 64
"""Ways to fill a row's discrete holes up to which all are tried for the most probable one."""

JOINT_SHARE = 0.01
"""Weight of the joint likelihood in discriminative training: what the labels leave open stays
where EM put it."""

MAX_STEPS = 150
"""Most steps of discriminative training."""

STEP_SPACING = 5
"""Steps between two looks at the rows held out."""

TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 5.0)
"""Temperatures tried on the rows held out: few rows make models too sure."""

N_DRAWS = 128
"""Points of the posterior over which the probability of a category is averaged."""

LITTLE = 1e-9
"""Share of a class and component of a row below which it is left out of the row's completion."""


class HybridLCMClassifier(LCMClassifier):
    """Latent classification model of continuous, binary and nominal columns together.

    All columns are explained by a few latent Gaussian variables, which are independent given the
    class. Given them a continuous column is Gaussian, a binary one follows a logistic regression,
    a nominal one a chain of them.

        P(y) P(m | y) N(z; mu_y, diag gamma_y) prod_j p(x_j | z, m)

    The likelihood of discrete columns has no closed form. EM raises Jaakkola and Jordan's lower
    bound, and by default the classes are compared by it. Missing cells are left out of it
    exactly, rows without label are learned from. On continuous columns alone the model is
    `LCMClassifier`, on binary ones alone `BinaryLCMClassifier`.

    Parameters
    ----------
    n_latent : int, default=5
        Latent variables q.
    n_components : int, default=1
        Components M; each has its own map from latent variables to columns.
    noise : {"tied", "untied"}, default="tied"
        One noise variance a continuous column, or one for each component.
    prior : float or None, default=1.0
        Strength of the MAP prior: a standard normal weight has this many times the usual log
        density; of continuous columns as in `LCMClassifier`. None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category of a discrete column where the latent variables are 0.
    n_init : int, default=10
        Random starts; all move in one batch.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What becomes of the starts: class probabilities averaged over all of them; the one with
        the highest training accuracy (the paper's way; the bound breaks ties); or the one with
        the highest bound.
    predict_method : {"bound", "importance", "quadrature"}, default="bound"
        How p(x | class) is had in prediction. "bound": its lower bound. "importance": nearly
        exact, by 256 points about the posterior of the latent variables. "quadrature": exact to
        many digits, by a grid of points; for `n_latent` up to 3.
    discriminative : bool, default=True
        After EM, raise the probability of the labels given the columns by gradient steps, as many
        as are best for a fifth of the rows, held out from a first fit; the temperature is chosen
        with them. Without discrete columns there are no such steps.
    max_iter : int, default=200
        Most EM iterations.
    tol : float, default=1e-2
        A start stops when its objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM); the objective still never falls.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete: those of text, category or boolean type, and numbers that are
        0 and 1 only; none; or the listed names, positions, or mask.
    handle_unknown : {"missing", "error"}, default="missing"
        A category not seen in `fit` is a missing value, or an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it where it lowers the
        held-out log-loss.
    random_state : int, RandomState or None, default=None
        Seeds the starts, the folds of `calibrate`, and `sample`.
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
    component_prior_ : array of shape (n_classes, n_components)
        P(m | y).
    loadings_, offsets_, noise_variances_ : arrays
        Of the continuous columns, as in `LCMClassifier`.
    weights_ : array of shape (n_components, n_sticks, n_latent)
        Change of each yes-or-no question's log-odds with each latent variable.
    intercepts_ : array of shape (n_components, n_sticks)
        Log-odds where all latent variables are 0.
    questions_ : list of (str, category)
        Column and category that each yes-or-no question asks for.
    latent_means_, latent_variances_ : arrays of shape (n_classes, n_latent)
        Mean and variance of each latent variable in each class.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate`, or the rows that
        `discriminative` held out, found a better one.
    calibration_ : dict
        With `calibrate=True`: the learned temperature and the held-out log-loss before and after;
        else empty.
    log_likelihood_ : float
        Lower bound of log p(X, y) that EM reached, of the best start, with weights.
    history_ : list of float
        Objective per row (bound plus log-prior, in standardised columns) of the best start: at
        its beginning and after each step.
    n_iter_ : int
        M-steps of the best start.
    converged_ : bool
        Whether its last gain was at most `tol`.
    restarts_ : dict of str to array
        One entry a start: start, objective, n_iter, converged, reseeded, kept.
    restart_histories_ : list of list of float
        `history_` of every start.
    n_steps_ : int
        With `discriminative=True`: gradient steps taken.
    held_out_ : array
        With `discriminative=True`: log-loss of the rows held out after every fifth step, by
        temperature (1, 1.5, 2, 3, 5).
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if the table had names.

    Notes
    -----
    A nominal column is a row of yes-or-no questions, the commonest category first: is it this
    one; if not, is it the next; and so on. Each is a binary column, observed only where the ones
    before it were answered by no. So the bound stays a proven one; but which category comes first
    changes the model a little.

    With `predict_method="bound"`, `score_samples` and `predict_joint_log_proba` are lower bounds
    too: they do not sum to 1 over all x.

    With `select="average"` the density, samples and completion are those of all starts mixed,
    and the class probabilities are the starts' own, averaged.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.
    .. [2] Jaakkola, T. S. and Jordan, M. I. (2000). Bayesian parameter estimation via variational
       methods. Statistics and Computing 10, 25-37.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentclass import HybridLCMClassifier
    >>> X = pd.DataFrame({"height": [1.2, 1.9, None, 1.1] * 9, "town": ["A", "B", "C", None] * 9})
    >>> y = [0, 1, 1, 0] * 9
    >>> model = HybridLCMClassifier(n_latent=2, n_init=2, random_state=0).fit(X, y)
    >>> model.predict(X[:4]).tolist()
    [0, 1, 1, 0]
    """

    structure = "full"  # the other structures and no offset are for continuous columns alone
    offset = True

    def __init__(
        self,
        n_latent: Any = 5,
        n_components: Any = 1,
        *,
        noise: str = "tied",
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
        predict_method: str = "bound",
        discriminative: bool = True,
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
        self.prior = prior
        self.alpha = alpha
        self.n_init = n_init
        self.select = select
        self.predict_method = predict_method
        self.discriminative = discriminative
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
        super()._check_parameters()
        check_option("discriminative", self.discriminative, (True, False))
        check_option("predict_method", self.predict_method, ("bound", "importance", "quadrature"))
        if self.predict_method == "quadrature":
            self._refuse_large_grid()

    def _refuse_large_grid(self) -> None:
        if self._largest() > MOST_GRID:
            raise ValueError(
                f"predict_method='quadrature' needs n_latent of at most {MOST_GRID}, got "
                f"{self._largest()}. Use predict_method='importance'."
            )

    def _largest(self) -> int:
        """The largest number of latent variables that may be asked for."""
        return int(self.n_latent)

    _sticks: Sticks
    _hybrid: HybridParams | None

    # -------------------------------------------------------------------- fit

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._read_training(X, y, sample_weight)
        if isinstance(self.categorical_features, str):
            self.schema_, table = promote_binary(self.schema_, training.table)
            training = training._replace(table=table)
        return training

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        self._sticks = learn_sticks(self.schema_, training.table, training.weight)
        self._hybrid = None
        if not self._sticks.edges[-1]:
            super()._fit_training(training, progress)
            return
        self._measure(training)
        size = self._size(training)
        result, data = self._run_em(training, size, progress)
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.restarts_ = result.converged, result.restarts
        self.restart_histories_ = result.histories
        params, prior = result.params, make_prior(self.prior, self.alpha)
        penalty = log_prior(take_starts(params, [0]), prior, data.pseudo)[0]
        reached = result.history[-1] * data.total_weight - float(penalty)
        self.log_likelihood_ = reached + self._outside_log_likelihood
        params = _without_xi(params)
        if self.discriminative:
            self.n_steps_, self.temperature_, self.held_out_ = self._learn_steps(training, size)
            params = self._conditional(training, size).climb(params, self.n_steps_)[-1]
        self._keep(params)

    def _run_em(
        self, training: Training, size: tuple[int, int], progress: FitProgress | None
    ) -> tuple[EMResult[HybridParams], HybridData]:
        q, m = size
        data = self._gather_blocks(training, q, self.n_init * m)
        prior = make_prior(self.prior, self.alpha)
        problem = HybridProblem(data, m, q, self.noise == "tied", prior)
        seed = check_random_state(self.random_state).randint(2**31)
        rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(self.n_init)]
        average = self.select == "average"
        result = run_restarts(
            problem,
            problem.starts(rngs),
            tol=self.tol,
            max_iter=self.max_iter,
            rngs=rngs,
            halving=not average,
            accelerate=self.accelerate,
            keep=self.n_init if average else 1,
            score=self._bound_accuracy(training) if self.select == "accuracy" else None,
            on_iteration=None if progress is None else progress.step,
        )
        return result, data

    def _conditional(self, training: Training, size: tuple[int, int]) -> ConditionalProblem:
        """Gradient training on the labelled rows."""
        labelled = training.y != UNLABELLED
        part = _take(training, labelled)
        n_kept = self.n_init if self.select == "average" else 1
        data = self._gather_blocks(part, size[0], n_kept * size[1] * len(self.classes_))
        return ConditionalProblem(data, make_prior(self.prior, self.alpha), JOINT_SHARE)

    def _learn_steps(
        self, training: Training, size: tuple[int, int]
    ) -> tuple[int, float, FloatArray]:
        """Number of gradient steps and temperature that are best for rows held out; their log-loss.

        The rows held out are a fifth of each class; neither EM nor the gradient see them.
        """
        held = _hold_out(training.y, check_random_state(self.random_state))
        if not held.any():
            return 0, 1.0, np.zeros((0, len(TEMPERATURES)))
        rest = _take(training, ~held)
        result, _ = self._run_em(rest, size, None)
        path = self._conditional(rest, size).climb(_without_xi(result.params), MAX_STEPS)
        table, y, weight = _take(training, held)
        losses = np.empty((len(path[::STEP_SPACING]), len(TEMPERATURES)))
        for number, params in enumerate(path[::STEP_SPACING]):
            self._keep(params)
            evidence, log_prior = self._evidence(table), np.log(self.class_prior_)
            for place, temperature in enumerate(TEMPERATURES):
                log_posterior = log_normalise(evidence / temperature + log_prior)
                own = log_posterior[np.arange(len(y)), y]
                losses[number, place] = -float(weight @ own) / float(weight.sum())
        step, best = divmod(int(losses.argmin()), len(TEMPERATURES))
        return step * STEP_SPACING, TEMPERATURES[best], losses

    def _keep(self, params: HybridParams) -> None:
        """Hold fitted parameters."""
        self._hybrid = canonical(params)
        self.class_prior_ = np.exp(log_sum_exp(params.log_weight)).mean(axis=0)

    def _gather_blocks(self, training: Training, n_latent: int, n_maps: int) -> HybridData:
        table, y, weight = training
        parts = [
            (self._rows(table, span), y[span], weight[span])
            for span in self._spans(table, n_latent, n_maps)
        ]
        return gather_blocks(parts, len(self.classes_), self._sticks.pseudo, self.n_jobs)

    def _spans(self, table: Table, n_latent: int, n_maps: int) -> list[slice]:
        """Blocks of rows, so small that all posteriors of a block are held at once."""
        n = int(self._scaling.varies.sum() + self._sticks.edges[-1])
        n_features = (n_latent + 1) * (n_latent + 2) // 2
        return table.spans(beside=n_maps * (n_features + 3 * n) // 8, least=16)

    def _rows(self, table: Table, span: slice) -> Rows:
        """Rows as the engine wants them; a sparse table stays sparse."""
        if sp.issparse(table.codes):
            nothing = np.empty((0, table.codes[span].shape[0]))
            return Rows(nothing, sp.csr_array(table.codes[span]).T.tocsr())
        return self._block_rows(table.block(span))

    def _block_rows(self, block: Block) -> Rows:
        values = np.clip(self._scaling.values(block.numeric).T, -FAR, FAR)
        return Rows(np.ascontiguousarray(values), self._sticks.signs(block.codes))

    def _bound_accuracy(self, training: Training) -> Callable[[HybridParams], FloatArray]:
        """Function from parameters to each start's share of labelled rows it gets right."""
        labelled = training.y != UNLABELLED
        table, y = training.table.take(labelled), training.y[labelled]
        weight = training.weight[labelled]

        def score(params: HybridParams) -> FloatArray:
            n_starts, _, n_components = params.log_weight.shape
            log_prior = log_sum_exp(params.log_weight)[:, None]

            def visit(span: slice) -> FloatArray:
                bounds = raise_bounds(params, self._rows(table, span)).log_bound
                joint = log_bounds_given_class(params, bounds) + log_prior
                return np.asarray((joint.argmax(axis=2) == y[span]) @ weight[span])

            q = params.latent_mean.shape[2]
            spans = self._spans(table, q, n_starts * n_components)
            total = sum(map_blocks(visit, spans, self.n_jobs), np.zeros(n_starts))
            return np.asarray(total / weight.sum())

        return score

    # ------------------------------------------------------------------ hooks

    def _points(self) -> Points | None:
        """Points over which rows are integrated in prediction; None for the bound."""
        assert self._hybrid is not None
        q = self._hybrid.latent_mean.shape[2]
        if self.predict_method == "bound":
            return None
        if self.predict_method == "quadrature":
            self._refuse_large_grid()
            return grid_points({1: 61, 2: 25, 3: 15}[q], q)
        return spread_points(256, q)

    def _log_likelihood(self, block: Block) -> FloatArray:
        if self._hybrid is None:
            return super()._log_likelihood(block)
        params, rows = self._hybrid, self._block_rows(block)
        points = self._points()
        by_cell, moments = raise_bounds(params, rows, moments=points is not None)
        if points is not None and moments is not None:
            by_cell = integrate(params, rows, moments, points)
        evidence = log_bounds_given_class(params, by_cell)
        outside = self._scaling.log_density_outside(block.numeric)[:, None]
        log_prior = log_sum_exp(params.log_weight)
        return mix_models(evidence, log_prior, self.class_prior_) + outside

    def _by_block(self, function: Callable[[Block], FloatArray], table: Table) -> FloatArray:
        if self._hybrid is None:
            return super()._by_block(function, table)
        parts = map_blocks(
            lambda span: function(table.block(span)), self._hybrid_spans(table), self.n_jobs
        )
        return np.concatenate(list(parts))

    def _hybrid_spans(self, table: Table, n_each: int = 1) -> list[slice]:
        assert self._hybrid is not None
        n_starts, _, n_components = self._hybrid.log_weight.shape
        n_maps = n_starts * n_components * n_each
        return self._spans(table, self._hybrid.latent_mean.shape[2], n_maps)

    def _sample_table(self, y: IntArray, rng: np.random.Generator) -> Table:
        if self._hybrid is None:
            return super()._sample_table(y, rng)
        params = self._hybrid
        n_starts, _, n_components = params.log_weight.shape
        n_gaussian = params.noise.shape[2]
        start = rng.integers(n_starts, size=len(y))
        share = np.exp(log_normalise(params.log_weight))[start, y]
        component = (rng.random(len(y))[:, None] > np.cumsum(share, axis=1)[:, :-1]).sum(axis=1)
        z = rng.standard_normal((len(y), params.latent_mean.shape[2]))
        z = params.latent_mean[start, y] + np.sqrt(params.latent_variance[start, y]) * z
        values = np.empty((len(y), n_gaussian))
        codes = np.full((len(y), len(self._sticks.orders)), -1, dtype=np.int32)
        for s in range(n_starts):
            for m in range(n_components):
                mine = np.flatnonzero((start == s) & (component == m))
                coefficient = params.coefficient[s, m]
                a = z[mine] @ coefficient[:, 1:].T + coefficient[:, 0]
                noise = np.sqrt(params.noise[s, min(m, params.noise.shape[1] - 1)])
                values[mine] = a[:, :n_gaussian] + noise * rng.standard_normal(
                    (len(mine), n_gaussian)
                )
                for place, log_prob in self._categories(a[:, n_gaussian:]):
                    edges = np.cumsum(np.exp(log_prob), axis=1)[:, :-1]
                    chance = rng.random(len(mine))[:, None]
                    codes[mine, place] = (chance > edges).sum(axis=1)
        self._fill_constant(codes)
        return Table(self._scaling.restore(values), codes)

    def _categories(self, logits: FloatArray) -> list[tuple[int, FloatArray]]:
        """log P(category) of each column with sticks, whose logits are on the last axis."""
        edges = self._sticks.edges
        return [
            (
                place,
                self._sticks.log_probabilities(place, logits[..., edges[place] : edges[place + 1]]),
            )
            for place, order in enumerate(self._sticks.orders)
            if len(order) > 1
        ]

    def _fill_constant(self, codes: npt.NDArray[np.int32]) -> None:
        """Columns of a single category have it."""
        for place, order in enumerate(self._sticks.orders):
            if len(order) == 1:
                codes[:, place] = 0

    def _expected_cells(self, table: Table, posterior: FloatArray) -> Table:
        if self._hybrid is None:
            return super()._expected_cells(table, posterior)
        parts = map_blocks(
            lambda span: self._expect_block(table.block(span)),
            self._hybrid_spans(table, len(self.classes_)),
            self.n_jobs,
        )
        return _join(list(parts))

    def _expect_block(self, block: Block) -> Table:
        """Means of the continuous cells, most probable codes of the discrete ones."""
        params = self._hybrid
        assert params is not None
        rows = self._block_rows(block)
        points = self._points()
        by_cell, moments = raise_bounds(params, rows, moments=True)
        assert moments is not None
        if points is not None:
            by_cell = integrate(params, rows, moments, points)
        joint = by_cell + params.log_weight[..., None]
        n_rows = joint.shape[3]
        share = np.exp(log_normalise(joint.reshape(-1, n_rows).T)).T.reshape(joint.shape)
        n_gaussian = params.noise.shape[2]
        values = np.zeros((n_rows, n_gaussian))
        drawn = spread_points(N_DRAWS, params.latent_mean.shape[2])
        chances = [np.zeros((n_rows, len(order))) for order in self._sticks.orders]
        seen = read_rows(rows)
        for s, y, m in np.ndindex(*joint.shape[:3]):
            mine = np.flatnonzero(share[s, y, m] > LITTLE)
            weight = share[s, y, m, mine][:, None]
            cell, near = Cell.of(params, s, y, m), moments[s, y, m][:, mine]
            if points is None:
                draws = gaussian_draws(near, drawn)
            else:
                draws = cell.draws(take_seen(seen, mine), near, points)
            by_point = np.exp(log_normalise(draws.log_weight))[..., None]
            a = draws.z @ cell.weights.T + cell.offset
            values[mine] += weight * (by_point * a[..., :n_gaussian]).sum(axis=1)
            for place, log_prob in self._categories(a[..., n_gaussian:]):
                chances[place][mine] += weight * (by_point * np.exp(log_prob)).sum(axis=1)
        codes = np.full(block.codes.shape, -1, dtype=np.int32)
        for place, chance in enumerate(chances):
            if chance.shape[1]:
                codes[:, place] = chance.argmax(axis=1)
        return Table(self._scaling.restore(values), codes)

    def _most_probable_cells(self, table: Table) -> Table:
        if self._hybrid is None:
            return super()._most_probable_cells(table)
        parts = map_blocks(
            lambda span: self._best_block(table.block(span)),
            self._hybrid_spans(table, len(self.classes_)),
            self.n_jobs,
        )
        filled = _join(list(parts))
        self._try_completions(table, filled)
        return filled

    def _try_completions(self, table: Table, filled: Table) -> None:
        """Where a row's discrete holes can be filled in few ways, try them all."""
        codes = table.block(slice(0, table.n_rows)).codes
        hidden = (codes < 0) & (filled.codes >= 0)
        patterns, group = np.unique(hidden, axis=0, return_inverse=True)
        n_levels = self.schema_.n_levels
        for number, pattern in enumerate(patterns):
            places = np.flatnonzero(pattern)
            n_ways = np.prod(n_levels[places], dtype=float)
            if not places.size or n_ways > MOST_WAYS:
                continue
            rows = np.flatnonzero(group.reshape(-1) == number)
            trial = filled.codes[rows].copy()
            best = np.full(len(rows), -np.inf)
            for way in np.ndindex(*n_levels[places]):
                trial[:, places] = way
                evidence = self._evidence(Table(filled.numeric[rows], trial))
                joint = (evidence + np.log(self.class_prior_)).max(axis=1)
                better = np.flatnonzero(joint > best)
                filled.codes[rows[better]] = trial[better]
                best[better] = joint[better]

    def _best_block(self, block: Block) -> Table:
        """The best of the completions that each class's best component proposes."""
        params = self._hybrid
        assert params is not None
        bounds, moments = raise_bounds(params, self._block_rows(block), moments=True)
        assert moments is not None
        joint = bounds + params.log_weight[..., None]
        _, n_classes, n_components, n_rows = joint.shape
        n_gaussian = params.noise.shape[2]
        q = params.latent_mean.shape[2]
        best = np.full(n_rows, -np.inf)
        numeric = np.empty(block.numeric.shape)
        codes = np.full(block.codes.shape, -1, dtype=np.int32)
        rows = np.arange(n_rows)
        by_class = joint.transpose(1, 0, 2, 3).reshape(n_classes, -1, n_rows)
        for y in range(n_classes):
            s, m = np.divmod(by_class[y].argmax(axis=0), n_components)
            near = moments[s, y, m, : q + 1, rows]
            a = (params.coefficient[s, m] @ near[..., None])[..., 0]
            values = self._scaling.restore(a[:, :n_gaussian])
            levels = np.full(block.codes.shape, -1, dtype=np.int32)
            self._fill_constant(levels)
            for place, log_prob in self._categories(a[:, n_gaussian:]):
                levels[:, place] = log_prob.argmax(axis=1)
            values = np.where(np.isnan(block.numeric), values, block.numeric)
            levels = np.where(block.codes < 0, levels, block.codes)
            score = self._log_likelihood(Block(values, levels)) + np.log(self.class_prior_)
            better = score.max(axis=1) > best
            numeric[better], codes[better] = values[better], levels[better]
            best = np.maximum(best, score.max(axis=1))
        return Table(numeric, codes)

    def _latent(self, table: Table) -> FloatArray:
        """E[z | observed cells] under the best start."""
        if self._hybrid is None:
            return super()._latent(table)
        params = take_starts(self._hybrid, [0])
        q = params.latent_mean.shape[2]

        def visit(span: slice) -> FloatArray:
            bounds, moments = raise_bounds(params, self._rows(table, span), moments=True)
            assert moments is not None
            joint = (bounds + params.log_weight[..., None])[0]
            share = np.exp(log_normalise(joint.reshape(-1, joint.shape[2]).T))
            means = moments[0, :, :, 1 : q + 1].reshape(share.shape[1], q, -1)
            return np.asarray(np.einsum("rk,kqr->rq", share, means))

        spans = self._hybrid_spans(table, len(self.classes_))
        return np.concatenate(list(map_blocks(visit, spans, self.n_jobs)))

    def _latent_names(self) -> list[str]:
        if self._hybrid is None:
            return super()._latent_names()
        return [f"z{k}" for k in range(self._hybrid.latent_mean.shape[2])]

    # ------------------------------------------------------ learned attributes

    @property
    def component_prior_(self) -> FloatArray:
        """P(m | y) of the best start."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().component_prior_
        return np.exp(log_normalise(self._hybrid.log_weight[0]))

    @property
    def weights_(self) -> FloatArray:
        """Change of each yes-or-no question's log-odds with each latent variable."""
        return self._questions_part()[..., 1:]

    @property
    def intercepts_(self) -> FloatArray:
        """Log-odds of each yes-or-no question where all latent variables are 0."""
        return self._questions_part()[..., 0]

    def _questions_part(self) -> FloatArray:
        check_is_fitted(self)
        if self._hybrid is None:
            m, _, q = self._params.loadings.shape[1:]
            return np.empty((m, 0, q + 1))
        return np.array(self._hybrid.coefficient[0, :, self._hybrid.noise.shape[2] :])

    @property
    def questions_(self) -> list[tuple[str, Any]]:
        """Column and category that each yes-or-no question asks for."""
        check_is_fitted(self)
        columns = [self.schema_.columns[j] for j in self.schema_.discrete]
        return [
            (column.name, column.categories[code])
            for column, order in zip(columns, self._sticks.orders, strict=True)
            for code in order[:-1]
        ]

    @property
    def loadings_(self) -> FloatArray:
        """Change of each continuous column with each latent variable."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().loadings_
        weights = self._continuous_part()[..., 1:]
        return self._spread_columns(weights * self._units[:, None], 0.0)

    @property
    def offsets_(self) -> FloatArray:
        """Continuous columns where all latent variables are 0."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().offsets_
        scaling = self._scaling
        offsets = scaling.centre[scaling.varies] + self._units * self._continuous_part()[..., 0]
        return self._spread_columns(offsets, scaling.centre[~scaling.varies])

    def _continuous_part(self) -> FloatArray:
        assert self._hybrid is not None
        return np.array(self._hybrid.coefficient[0, :, : self._hybrid.noise.shape[2]])

    @property
    def noise_variances_(self) -> FloatArray:
        """Variance of the continuous columns that the latent variables do not explain."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().noise_variances_
        noise = self._units**2 * self._hybrid.noise[0]
        noise = np.broadcast_to(noise, (self._hybrid.coefficient.shape[1], noise.shape[1]))
        return self._spread_columns(noise, self._scaling.unit[~self._scaling.varies] ** 2)

    @property
    def edges_(self) -> npt.NDArray[np.bool_]:
        """Which latent variables each continuous column depends on: all."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().edges_
        shape = (len(self._scaling.varies), self._hybrid.latent_mean.shape[2])
        edges = np.zeros(shape, dtype=bool)
        edges[self._scaling.varies] = True
        return edges

    @property
    def latent_means_(self) -> FloatArray:
        """Mean of each latent variable in each class."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().latent_means_
        return np.array(self._hybrid.latent_mean[0])

    @property
    def latent_variances_(self) -> FloatArray:
        """Variance of each latent variable in each class."""
        check_is_fitted(self)
        if self._hybrid is None:
            return super().latent_variances_
        return np.array(self._hybrid.latent_variance[0])


def _without_xi(params: HybridParams) -> HybridParams:
    """Parameters without what the bound needed of the training rows."""
    return params._replace(xi=np.zeros((len(params.xi), 0, 0, 0), dtype=np.float32))


def _take(training: Training, rows: npt.NDArray[np.bool_]) -> Training:
    return Training(training.table.take(rows), training.y[rows], training.weight[rows])


def _hold_out(y: IntArray, random: Any) -> npt.NDArray[np.bool_]:
    """A fifth of the labelled rows of each class of five rows at least."""
    held = np.zeros(len(y), dtype=bool)
    for k in np.unique(y[y != UNLABELLED]):
        rows = random.permutation(np.flatnonzero(y == k))
        held[rows[: len(rows) // 5]] = True
    return held


def _join(parts: list[Table]) -> Table:
    return Table(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.codes for part in parts]),
    )
