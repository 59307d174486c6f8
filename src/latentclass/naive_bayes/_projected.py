"""Naive Bayes along axes of the data instead of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import MOST_STARTS, check_number, check_option
from latentclass.engine._expectation import expect
from latentclass.estimator._base import GenerativeClassifier
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FitRecord, Learned
from latentclass.estimator._gaussian_model import gather, measure
from latentclass.estimator._reading import Training
from latentclass.naive_bayes._projected_fit import (
    AxesFit,
    Found,
    fit_classes,
    fit_clusters,
    fit_factors,
    fit_overall,
    fit_principal,
)
from latentclass.naive_bayes._projected_model import ProjectedModel

AXES = ("all", "leading", "factors", "class", "clusters")


class ProjectedNaiveBayes(GenerativeClassifier):
    """Naive Bayes on coordinates along axes of the data, rather than on its columns.

    Naive Bayes counts the evidence of correlated columns several times. Here the continuous columns
    are rotated first: given the class, coordinates along the new axes are independent Gaussians.
    The parameter `axes` chooses between five classifiers that Langseth and Nielsen [1]_ compare
    with: principal axes of all rows, factors, or principal axes of each class or cluster. Discrete
    columns are independent of all others given the class, as in `NaiveBayes`. Missing cells are
    integrated out, and rows without a label help to find the axes.

    Parameters
    ----------
    axes : {"all", "leading", "factors", "class", "clusters"}, default="all"
        "all" (PCA/n in [1]_): all principal axes of the rows, without use of the labels.
        "leading" (PCA/lambda): the same, but the classes differ only along axes whose eigenvalue is
        at least the mean eigenvalue.
        "factors" (FA/BIC): the expected factors of a factor analysis, their number chosen by BIC.
        The remaining coordinates have the same distribution in all classes.
        "class" (CW/PCA/n): principal axes of each class. This is a Gaussian with full covariance
        for each class, that is, quadratic discriminant analysis.
        "clusters" (CG/PCA/n): a mixture of Gaussians with full covariance is fitted to all rows
        without use of the labels, its number of components chosen by BIC. Each component has its
        own principal axes, and each class its own mean and variance along them.
    max_components : int, default=10
        Maximum number of factors or clusters that BIC may choose.
    alpha : float, default=1.0
        Pseudo-count of every category (Laplace smoothing); 0 is maximum likelihood.
    prior : float or None, default=1.0
        MAP smoothing of the variances, in pseudo-rows: along each axis the class gets this many
        more rows with the variance of all rows (with axes="clusters", of the cluster). The full
        covariance of a class or cluster is smoothed in the same way towards that of all rows. None
        is maximum likelihood.
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
    n_init : int, default=10
        Number of EM starts for each number of clusters. Everything else has one start.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept.
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-4
        EM stops when the objective per row gains no more than this.
    random_state : int, RandomState or None, default=None
        Seeds the random starts, the folds of `calibrate`, and `sample`.
    n_jobs : int or None, default=None
        Number of threads over blocks of rows. The result does not depend on it.
    verbose : int, default=0
        1 prints each EM iteration to standard error.

    Attributes
    ----------
    axes_ : array of shape (n_components_, n_axes_, n_continuous)
        Coordinates along the axes are `axes_[m] @ (x - centres_[m])`. They have variance 1 in the
        component (all rows, class or cluster), and are in the order of eigenvalues.
    centres_ : array of shape (n_components_, n_continuous)
        Centre of each component.
    n_axes_ : int
        Number of coordinates in which the classes may differ.
    n_components_ : int
        Number of clusters; with axes="class" the number of classes, otherwise 1.
    bic_ : dict of int to float
        BIC of each number of factors or clusters that was tried: log-likelihood minus half the
        number of parameters times the logarithm of the number of rows. Empty otherwise.
    class_prior_ : array of shape (n_classes,)
        Share of each class among the labelled rows (among all rows, with axes="class").
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
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
    `history_`, `n_iter_`, `converged_` and `restarts_` describe the EM that finds the axes: that of
    the Gaussian of all rows, of the factors or mixture that was chosen, or of the classes'
    Gaussians.

    Columns are standardised first, so principal axes are those of the correlation matrix, and
    units of measurement do not matter. In no direction does the variance fall below 1e-6 of that of
    a column, so copies of a column, or a class of one row, do no harm. With `prior=None`, a number
    of clusters is not chosen if one of its components has reached this limit: its likelihood would
    be unbounded.

    Missing cells, and the cluster of a row, are inferred by the Gaussians of the first step, which
    do not use the class. With axes="class" the Gaussians of the classes do this, and rows without
    label contribute to the classes, by EM; with other axes they do not.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2005). Latent classification models. Machine Learning
       59, 237-265.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass.baselines import NaiveBayes, ProjectedNaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> size, y = rng.normal(0, 3, 200), np.repeat(["blue", "orange"], 100)
    >>> shift = np.where(y == "blue", 0.5, -0.5)
    >>> X = np.column_stack([size + shift, size - shift]) + rng.normal(0, 0.3, (200, 2))
    >>> NaiveBayes().fit(X, y).score(X, y), ProjectedNaiveBayes().fit(X, y).score(X, y)
    (0.59, 0.99)
    """

    _about = (
        "Naive Bayes along axes of the data: the coordinates, not the columns, are "
        "independent given the class."
    )

    _model: ProjectedModel

    _most_levels = None

    def __init__(
        self,
        *,
        axes: str = "all",
        max_components: int = 10,
        alpha: float = 1.0,
        prior: float | None = 1.0,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        columns: str = "by_name",
        missing_indicator: bool = False,
        calibrate: bool | str = "auto",
        unlabelled_weight: float | str = "auto",
        n_init: int = 10,
        drop_starts: bool = True,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.axes = axes
        self.max_components = max_components
        self.alpha = alpha
        self.prior = prior
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.columns = columns
        self.missing_indicator = missing_indicator
        self.calibrate = calibrate
        self.unlabelled_weight = unlabelled_weight
        self.n_init = n_init
        self.drop_starts = drop_starts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_option("axes", self.axes, AXES)
        check_number("max_components", self.max_components, low=1, whole=True)
        check_number("alpha", self.alpha, low=0)
        check_number("prior", self.prior, low=0, none=True)
        check_number("n_init", self.n_init, low=1, high=MOST_STARTS, whole=True)
        check_option("drop_starts", self.drop_starts, (True, False))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    # -------------------------------------------------------------------- fit

    _few_folds = 2

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        measured = measure(training, self.n_jobs)
        varies = measured.scaling.n_varying > 0
        mixed = self.axes == "clusters" and self.max_components > 1 and varies
        data = gather(
            training,
            measured,
            one_component=not mixed,
            width=self.n_init * self.max_components if mixed else 1,
            n_jobs=self.n_jobs,
        )
        fit = AxesFit(
            data,
            0.0 if self.prior is None else float(self.prior),
            float(self.alpha),
            self.max_components,
            self.tol,
            self.max_iter,
            self.drop_starts,
            None if progress is None else progress.step,
        )
        found = self._find_axes(fit, mixed=mixed)
        inside = expect(data, found.components)[1][0]
        return Learned(
            ProjectedModel(
                measured.scaling, measured.level_offsets, found.components, found.projection
            ),
            FitRecord.of(found.result, float(inside) + measured.outside),
            {
                "n_components_": len(found.projection.mean),
                "n_axes_": found.projection.n_axes,
                "bic_": found.bic,
            },
        )

    def _find_axes(self, fit: AxesFit, *, mixed: bool) -> Found:
        overall = fit_overall(fit)
        if self.axes == "class":
            return fit_classes(fit, overall)
        if self.axes == "factors" and fit.data.n_columns:
            return fit_factors(fit, overall)
        if mixed:
            seed = check_random_state(self.random_state).randint(2**31)
            return fit_clusters(fit, overall, seed, self.n_init)
        return fit_principal(fit, overall, leading=self.axes == "leading")

    # ------------------------------------------------------------- attributes

    def _structure(self) -> dict[str, Any]:
        return {"axes": int(self.n_axes_), "sets of axes": int(self.n_components_)}

    @property
    def axes_(self) -> FloatArray:
        """Coefficients of the coordinates in the columns' own units."""
        check_is_fitted(self)
        return self._model.axes

    @property
    def centres_(self) -> FloatArray:
        """Where all coordinates are 0, in the columns' own units."""
        check_is_fitted(self)
        return self._model.centres

    @property
    def probabilities_(self) -> dict[str, FloatArray]:
        """Probability of each category in each class, by column name."""
        check_is_fitted(self)
        names = [self.schema_.columns[j].name for j in self.schema_.discrete]
        return dict(zip(names, map(np.exp, self._model.level_log_probs), strict=True))
