"""Latent classification models of mixed columns: continuous, binary and nominal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from latentclass._types import FloatArray
from latentclass._validation import check_option
from latentclass.data._labels import UNLABELLED
from latentclass.engine._content_holdout import gather_rows, held_shares
from latentclass.engine._em import EMResult, run_restarts, take_starts
from latentclass.engine._logspace import log_normalise, log_sum_exp
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._legacy_reading import Training
from latentclass.lcm._classifier import make_prior
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._hybrid_data import HybridData, gather_blocks
from latentclass.lcm._hybrid_em import HybridParams, HybridProblem, canonical, log_prior
from latentclass.lcm._hybrid_posterior import log_bounds_given_class, raise_bounds
from latentclass.lcm._hybrid_verbs import HybridVerbs
from latentclass.lcm._power_transform import PowerTransform, learn_power_transform
from latentclass.lcm._stick_breaking import learn_stick_breaking, promote_binary

JOINT_SHARE = 0.01
"""Weight of the joint likelihood in discriminative training: what the labels leave open stays
where EM put it."""

MAX_STEPS = 150
"""Most steps of discriminative training."""

STEP_SPACING = 5
"""Steps between two looks at the rows held out."""

PATIENCE = 8
"""Looks without a lower log-loss after which no further steps are tried."""

TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 5.0)
"""Temperatures tried on the rows held out: few rows make models too sure."""

TIE = 1e-9
"""Difference of log-losses below which they are one."""


class HybridLCMClassifier(HybridVerbs):
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
        Number of latent variables.
    n_components : int, default=1
        Components M; each has its own map from latent variables to columns.
    noise : {"tied", "untied"}, default="tied"
        "tied": one noise variance for each continuous column. "untied": one for each column in each
        component.
    prior : float or None, default=1.0
        Strength of the MAP prior: the log density of the standard normal prior of each weight is
        multiplied by it; for continuous columns as in `LCMClassifier`. None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category at the point where all latent variables are 0.
    n_init : int, default=10
        Number of random starts. They run together in one batch.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What happens to the starts. "average": their class probabilities are averaged. "accuracy"
        (as in the paper): the one with the highest training accuracy is kept, and the bound breaks
        ties. "likelihood": the one with the highest bound is kept.
    predict_method : {"bound", "importance", "quadrature"}, default="bound"
        How p(x | class) is computed in prediction. "bound": by its lower bound. "importance":
        nearly exactly, by 256 points around the posterior of the latent variables. "quadrature":
        exactly to many digits, by a grid of points; for `n_latent` up to 3.
    power_transform : bool, default=True
        Bend continuous columns until they are nearer to a Gaussian (Yeo and Johnson's power
        transform): a long tail then does not outweigh all other columns. Without discrete columns
        nothing is bent.
    discriminative : bool, default=True
        After EM, raise the probability of the labels given the columns by gradient steps. The
        number of steps and the temperature are chosen on held-out rows. A fifth of the rows is held
        out at a time, up to five times, until 500 rows have been held out. Weights count as rows
        here, and nothing is held out of a class with a total weight below 5. Without discrete
        columns or held-out rows no steps are taken.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-2
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type, and
        numbers with only two whole values (in a sparse table, only if every column holds just 0 and
        1); None: none; or a list of names or positions, or a mask.
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
    loadings_, offsets_, noise_variances_ : arrays
        Of the continuous columns, as in `LCMClassifier`; of bent ones, scaled to the mean and
        standard deviation that they had.
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
        Number of rows without label that were learned from.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate`, or the rows that
        `discriminative` held out, found a better one.
    calibration_ : dict
        With `calibrate=True`, the learned temperature and the held-out log-loss before and after
        it; otherwise empty.
    log_likelihood_ : float
        Lower bound of log p(X, y) that EM reached with the best start, summed over rows with their
        weights.
    history_ : list of float
        Objective per row of the best start (bound plus log-prior, in standardised columns): at the
        start and after each EM step.
    n_iter_ : int
        Number of M-steps of the kept start.
    converged_ : bool
        Whether the last gain of EM was at most `tol`.
    restarts_ : dict of str to array
        One entry per start: start, objective, n_iter, converged, reseeded, kept.
    restart_histories_ : list of list of float
        `history_` of every start.
    n_steps_ : int
        With `discriminative=True`: gradient steps taken.
    held_out_ : array
        With `discriminative=True`: log-loss of the rows held out after every fifth step, by
        temperature (1, 1.5, 2, 3, 5), until eight looks brought nothing lower.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    A nominal column is a row of yes-or-no questions, the commonest category first: is it this
    one; if not, is it the next; and so on. Each is a binary column, observed only where the ones
    before it were answered by no. So the bound stays a proven one; but which category comes first
    changes the model a little.

    The most probable completion of a bent column is most probable on its bent scale.

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
    .. [3] Yeo, I.-K. and Johnson, R. A. (2000). A new family of power transformations to improve
       normality or symmetry. Biometrika 87, 954-959.

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
        power_transform: bool = True,
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
        self.power_transform = power_transform
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
        check_option("power_transform", self.power_transform, (True, False))
        check_option("discriminative", self.discriminative, (True, False))
        check_option("predict_method", self.predict_method, ("bound", "importance", "quadrature"))
        if self.predict_method == "quadrature":
            self._refuse_large_grid(self._largest())

    # -------------------------------------------------------------------- fit

    def _read_training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._read_training(X, y, sample_weight)
        if isinstance(self.categorical_features, str):
            self.schema_, table = promote_binary(self.schema_, training.table)
            training = training._replace(table=table)
        return training

    def _fit_training(self, training: Training, progress: FitProgress | None) -> None:
        self._sticks = learn_stick_breaking(self.schema_, training.table, training.weight)
        self._hybrid, self._power = None, PowerTransform()
        for name in ("n_steps_", "held_out_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if not self._sticks.edges[-1]:
            super()._fit_training(training, progress)
            return
        self._measure(training)
        if self.power_transform and self._scaling.varies.any():
            self._learn_power(training)
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
            path = self._conditional(training, size).climb(params)
            params = next(islice(path, self.n_steps_, None))
        self._keep(params)

    def _learn_power(self, training: Training) -> None:
        table, _, weight = training
        values = self._standardised(table.block(slice(0, table.n_rows)))
        self._power = learn_power_transform(values, weight)
        slope = np.nan_to_num(self._power.log_slope(values))
        self._outside_log_likelihood += float((slope @ weight).sum())

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
        part = _take(training, np.where(training.y == UNLABELLED, 0.0, 1.0))
        n_kept = self.n_init if self.select == "average" else 1
        data = self._gather_blocks(part, size[0], n_kept * size[1] * len(self.classes_))
        return ConditionalProblem(data, make_prior(self.prior, self.alpha), JOINT_SHARE)

    def _learn_steps(
        self, training: Training, size: tuple[int, int]
    ) -> tuple[int, float, FloatArray]:
        """Number of gradient steps and temperature that are best for rows held out; their log-loss.

        Neither EM nor the gradient see what is held out (see `held_shares`).
        """
        seed = check_random_state(self.random_state).randint(2**31)
        table, y, weight = training
        n_levels = self.schema_.n_levels
        shares = held_shares(table.numeric, table.codes, y, weight, n_levels, seed)
        if not len(shares):
            return 0, 1.0, np.zeros((0, len(TEMPERATURES)))
        walks = [
            self._held_losses(_take(training, 1.0 - share), _take(training, share), size)
            for share in shares
        ]
        total = float((shares @ weight).sum())
        looks: list[FloatArray] = []
        best = place = 0
        while len(looks) <= min(MAX_STEPS // STEP_SPACING, best + PATIENCE):
            looks.append(np.sum([next(walk) for walk in walks], axis=0) / total)
            losses = np.array(looks)
            # of losses that only rounding tells apart the first: fewer steps, lower temperature
            lowest = int(np.flatnonzero(losses <= losses.min() + TIE)[0])
            best, place = divmod(lowest, len(TEMPERATURES))
        return best * STEP_SPACING, TEMPERATURES[place], losses

    def _held_losses(
        self, rest: Training, held: Training, size: tuple[int, int]
    ) -> Iterator[FloatArray]:
        """Log-losses of rows held out, summed, by temperature: after every few steps."""
        result, _ = self._run_em(rest, size, None)
        path = self._conditional(rest, size).climb(_without_xi(result.params))
        del result
        table, y, weight = held
        for params in islice(path, 0, None, STEP_SPACING):
            self._keep(params)
            evidence = self._evidence(table)
            with np.errstate(divide="ignore"):  # in a fold of `calibrate` a class may be absent
                log_prior = np.log(self.class_prior_)
            posteriors = (log_normalise(evidence / t + log_prior) for t in TEMPERATURES)
            yield np.array([-float(weight @ p[np.arange(len(y)), y]) for p in posteriors])

    def _calibrate(self, training: Training) -> None:
        """Deal the rows into folds by what they hold, not by where they stand."""
        table, y, weight = training
        seed = check_random_state(self.random_state).randint(2**31)
        numeric, codes = table.numeric, table.codes
        if sp.issparse(numeric):
            numeric, codes = table.block(slice(0, table.n_rows))
        rows = gather_rows(numeric, codes, y, weight, self.schema_.n_levels, seed)
        order = np.argsort(rows.number, kind="stable")
        super()._calibrate(Training(table.take(order), y[order], weight[order]))

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


def _without_xi(params: HybridParams) -> HybridParams:
    """Parameters without what the bound needed of the training rows."""
    return params._replace(xi=np.zeros((len(params.xi), 0, 0, 0), dtype=np.float32))


def _take(training: Training, share: FloatArray) -> Training:
    """Of each row so large a share of its weight."""
    rows = share > 0
    weight = training.weight[rows] * share[rows]
    return Training(training.table.take(rows), training.y[rows], weight)
