"""Latent classification models: continuous columns explained by latent Gaussian variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.base import clone

from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._gaussian_model import measure
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._partial_fit import PartialFitMixin
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import TRUSTING, Tuned
from latentclass.lcm._auto_prior import FOLD_STARTS, choose_strength
from latentclass.lcm._auto_size import Sizes
from latentclass.lcm._base_classifier import LatentClassifier
from latentclass.lcm._chunks import Chunks, add_chunk, begin_chunks, chunk_data
from latentclass.lcm._fit import LCMFit, fit_data
from latentclass.lcm._folds import FoldedRows, fit_folds
from latentclass.lcm._parted_fit import fit_lcm_parts
from latentclass.lcm._steps import Choice


class LCMClassifier(AsPublished, PartialFitMixin, LatentClassifier):
    """Latent classification model: a naive Bayes classifier over latent variables.

    A few latent Gaussian variables, independent given the class, explain the columns. So the
    columns themselves may depend on each other as strongly as they like. With several components
    the map from latent variables to columns is no longer linear: each component has its own plane.

        P(y) P(m | y) N(z; mu_y, diag gamma_y) N(x; L_m z + eta_m, diag theta_m)

    Missing cells are integrated out exactly, and rows without a label are learned from. Binary and
    nominal columns are treated as independent of all others given the class.

    Parameters
    ----------
    n_latent : int, default=2
        Number of latent variables; may exceed the number of columns.
    n_components : int, default=1
        Number of components; 1 is the linear model, which reads the table once.
    noise : {"tied", "untied"}, default="tied"
        "tied": one noise variance for each continuous column. "untied": one for each column in each
        component.
    structure : {"full", "learned"}, default="full"
        Which latent variables a column may depend on. "full": all. "learned": only those that
        Geiger and Heckerman's metric supports (structural EM); all components share the edges.
    offset : bool, default=True
        Give the columns an offset in addition to the latent variables. Without it the class means
        lie in the plane that the loadings span.
    prior : "auto", float or None, default="auto"
        Strength of the MAP prior, in pseudo-rows: a ridge on the loadings, noise variances pulled
        towards half the column's variance, latent variances towards 1. None is maximum likelihood.
        "auto" is 1 or, if that lowers the log-loss on held-out rows by more than half a standard
        error, 100; always 1 in `partial_fit`, for rows in parts that do not fit into one table, and
        with `discriminative`, which has held-out rows of its own.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    n_init : int, default=10
        Number of random starts. They run together in one batch.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What happens to the starts. "average": their class probabilities are averaged. "accuracy"
        (as in the paper): the one with the highest training accuracy is kept, and the likelihood
        breaks ties. "likelihood": the one with the highest likelihood is kept.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept. `select="average"` never drops any.
    power_transform : "auto" or bool, default=False
        Bring continuous columns nearer to a Gaussian (Yeo and Johnson's power transform), so that a
        long tail does not outweigh all other columns. "auto" does so if it lowers the log-loss on
        held-out rows, or if none can be held out.
    discriminative : bool, default=False
        After EM, raise the probability of the labels given the columns by gradient steps. The
        number of steps, the temperature and a share of labels that are drawn at random are chosen
        on held-out rows: a fifth of the rows at a time, up to five times, until 500 rows have been
        held out. Without held-out rows (a class with fewer than five) no steps are taken. False is
        EM alone, the maximum of the likelihood with its prior.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-2
        EM stops when the objective per row gains no more than this.
    relative_tol : bool, default=False
        If true, `tol` is relative: EM stops when the objective gains no more than `tol` times its
        absolute value.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
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
    component_prior_ : array of shape (n_classes, n_components)
        Probability of each component given the class, P(m | y).
    entropy_ : float
        Relative entropy of P(m | x) of the training rows: 1 if the component of each row is
        certain, 0 if all components are equally probable.
    average_posterior_ : array of shape (n_components,)
        Mean P(m | x) of each component over the training rows for which it is the most probable:
        near 1 if the component is clearly separate, 0 if it has no such row.
    loadings_ : array of shape (n_components, n_continuous, n_latent)
        Change of each column with each latent variable. Transformed columns are scaled to their
        original mean and standard deviation, here and in `offsets_` and `noise_variances_`.
    offsets_ : array of shape (n_components, n_continuous)
        Value of each column where all latent variables are 0.
    noise_variances_ : array of shape (n_components, n_continuous)
        Variance that the latent variables do not explain; equal rows if tied. It is in squared
        units: inf (or 0) for columns so large (or small) that a square leaves the range of doubles.
    edges_ : array of shape (n_continuous, n_latent)
        Which latent variables each column depends on; all true unless the structure is learned.
    n_latent_, n_components_ : int
        The size that was fitted.
    prior_ : float or None
        Strength of the prior.
    latent_names_ : tuple of str
        Names of the latent variables; see `rename_latents`.
    latent_means_, latent_variances_ : arrays of shape (n_classes, n_latent)
        Mean and variance of each latent variable in each class.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_unlabelled_ : int
        Number of rows without a label that were learned from.
    unlabelled_weight_ : float
        Factor of the weight of rows without a label that was used.
    temperature_ : float
        Divides log p(x | class) in prediction; 1 unless `calibrate`, or the rows that
        `discriminative` held out, found a better one.
    calibration_ : dict
        With `calibrate`, the learned temperature and the held-out log-loss before and after it;
        otherwise empty.
    log_likelihood_ : float
        log p(X, y) that EM reached with the best start, summed over rows with their weights;
        unlabelled rows count by log p(x).
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
    rival_ : dict
        The best of the other kept starts that has found a different solution, if it is nearly as
        good: `start`, `below` (difference of the objectives, summed over the rows; less than the
        logarithm of 20) and `congruence` of the loadings (below 0.85; 1 if they are equal). Empty
        if there is none. Only `select="average"` keeps several starts.
    power_transform_ : bool
        Whether continuous columns were transformed.
    n_steps_ : int
        With `discriminative=True`: number of gradient steps taken.
    held_out_ : array
        With `discriminative=True`: log-loss of the held-out rows after every fifth step, by
        temperature (1, 1.5, 2, 3, 5). It ends when eight evaluations brought no improvement.
    label_noise_ : float
        With `discriminative=True`: share of labels that are drawn at random.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    Columns are standardised internally, so units of measurement do not matter. The learned
    attributes and `transform` describe the best start, in a standard form: over all rows each
    latent variable has mean 0 and variance 1; latent variables are sorted by the variance they
    explain, largest first; and the largest loading of each (in standardised columns) is positive.
    With two or more classes the rotation is determined, since the latent variables are independent
    in every class.

    With label noise the density of a class is that of its own rows and, with the share
    `label_noise_`, that of all rows. So no row can make a class impossible, and the density of the
    rows themselves stays the same.

    `partial_fit` sees the rows once, so it takes no gradient steps and transforms no column. The
    most probable completion of a transformed column is the most probable value on its transformed
    scale.

    With `select="average"` the density, samples and completion come from the mixture of all starts.
    The class probabilities are the average over the starts, since the mixture would give nearly all
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

    _most_levels = None
    _unlabelled_errors = TRUSTING

    # section 5 of the paper
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "calibrate": False,
        "prior": None,
        "n_init": 100,
        "select": "accuracy",
        "drop_starts": False,
        "power_transform": False,
        "discriminative": False,
        "max_iter": 100,
        "tol": 1e-3,
        "relative_tol": True,
        "accelerate": False,
    }

    def __init__(
        self,
        n_latent: Any = 2,
        n_components: Any = 1,
        *,
        noise: str = "tied",
        structure: str = "full",
        offset: bool = True,
        prior: float | str | None = "auto",
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
        drop_starts: bool = True,
        power_transform: bool | str = False,
        discriminative: bool = False,
        max_iter: int = 200,
        tol: float = 1e-2,
        relative_tol: bool = False,
        accelerate: bool = True,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
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
        self.drop_starts = drop_starts
        self.power_transform = power_transform
        self.discriminative = discriminative
        self.max_iter = max_iter
        self.tol = tol
        self.relative_tol = relative_tol
        self.accelerate = accelerate
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -------------------------------------------------------------------- fit

    def _check_prior(self) -> None:
        if not isinstance(self.prior, str):
            super()._check_prior()
        elif self.prior != "auto":
            raise ValueError(
                f"prior={self.prior!r} must be 'auto', a number of at least 0, or None."
            )

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        return self._fit_steps(training, None, progress)

    def _fit_steps(
        self, training: Training, choice: Choice | None, progress: FitProgress | None = None
    ) -> Learned:
        """A fit that takes the gradient steps that an earlier one chose, if one did."""
        if self.prior == "auto" and not self.discriminative:
            strength, left_out = choose_strength(self._with_prior, training, self._fold_seed())
            learned = self._with_prior(strength)._fit_steps(training, None, progress)
            if left_out is None:
                return learned
            return replace(learned, left_out=left_out.with_prior(learned.model.log_prior))
        settings = self._settings(self.n_latent, self.n_components)
        fit = LCMFit(measure(training, self.n_jobs), settings, self._draw_seed, self.n_jobs)
        step = None if progress is None else progress.step
        learned = fit.fit(
            training,
            step,
            sizes=Sizes((self.n_latent, self.n_components)),
            power_transform=self.power_transform,
            discriminative=self.discriminative,
            choice=choice,
        )
        return learned.with_attributes(prior_=self._strength)

    def _with_prior(self, strength: float) -> LCMClassifier:
        copy: LCMClassifier = clone(self).set_params(prior=strength)
        return copy

    def _calibrated(self, training: Training, learned: Learned, tuned: Tuned) -> Tuned:
        if isinstance(self.prior, str):
            # the folds about rows without a label may have had another prior than this fit
            tuned = replace(tuned, calibration={})
        return super()._calibrated(training, learned, tuned)

    def _unfitted_copy(self, learned: Learned) -> Any:
        copy = super()._unfitted_copy(learned)
        if isinstance(self.prior, str):
            copy.set_params(prior=learned.attributes["prior_"])
        return copy

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        settings = self._settings(self.n_latent, self.n_components)
        learned = fit_lcm_parts(
            parted,
            settings,
            self._draw_seed,
            sizes=Sizes((self.n_latent, self.n_components)),
            power_transform=self.power_transform,
            discriminative=self.discriminative,
            on_iteration=progress.step,
        )
        return learned.with_attributes(prior_=self._strength)

    def _fit_folds(
        self, learned: Learned, training: Training, folds: InnerFolds
    ) -> Iterator[tuple[FittedModel, float]]:
        if self.discriminative:
            yield from super()._fit_folds(learned, training, folds)
            return
        # one run of EM for all folds, with few starts each
        settings = self._unfitted_copy(learned)._settings(self.n_latent, self.n_components)
        settings = settings._replace(n_init=min(self.n_init, FOLD_STARTS))
        measured = measure(training, self.n_jobs)
        fit = LCMFit(measured, settings, self._draw_seed, self.n_jobs)
        rows = FoldedRows.of(training, measured, folds)
        for params in fit_folds(rows, settings, self._draw_seed()):
            yield fit.model(params), 1.0

    # ------------------------------------------------------- rows seen once

    def _check_one_pass(self) -> None:
        if self.n_components != 1:
            raise ValueError(
                f"n_components={self.n_components!r}: with several components every iteration "
                "reads all rows, but partial_fit reads them once. Use n_components=1, or fit, "
                "which also takes Parts."
            )
        if self.select == "accuracy":
            raise ValueError(
                "select='accuracy' needs to read the rows again, but partial_fit reads them once. "
                "Use select='average' or 'likelihood', or fit."
            )

    def _add_rows(self, sums: Chunks | None, rows: Training) -> Chunks:
        chunks = begin_chunks(rows, self.n_jobs) if sums is None else sums
        return add_chunk(chunks, rows.table, rows.y, rows.weight, self.n_jobs)

    def _learn_sums(self, sums: Chunks, about: Training) -> Learned:
        del about  # it is part of the sums
        data, measured = chunk_data(sums)
        learned = fit_data(data, measured, self._settings(self.n_latent, 1), self._draw_seed())
        return learned.with_attributes(prior_=self._strength)
