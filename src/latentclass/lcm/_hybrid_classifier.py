"""Latent classification models of mixed columns: continuous, binary and nominal."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._schema import Schema
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._reading import Training
from latentclass.exceptions import TableWarning
from latentclass.lcm._auto_size import Sizes, check_size
from latentclass.lcm._base_classifier import LatentClassifier
from latentclass.lcm._flag_reader import FlagReader
from latentclass.lcm._hybrid_fit import fit_columns
from latentclass.lcm._hybrid_model import MOST_GRID, check_predict_method
from latentclass.lcm._hybrid_parted_fit import fit_columns_parts
from latentclass.lcm._steps import Choice

SIZES = Sizes(
    (5, 1),
    (((2, 1), ()), ((10, 1), ()), ((5, 3), ()), ((10, 3), ((10, 1), (5, 3)))),
)
"""Sizes of models of mixed columns."""


class MixedClassifier(FlagReader, LatentClassifier):
    """Base of latent classification models of mixed columns."""

    structure = "full"  # the other structures and no offset are for continuous columns alone
    offset = True
    bound_steps: int = 1

    _usual_sizes: ClassVar[Sizes] = SIZES

    nominal: str = "stick_breaking"
    predict_method: str
    n_latent_: int
    n_components_: int
    power_transform_: bool

    _few_folds = 2
    _counts_categories = False  # their log-odds are linear in the latent variables

    n_steps_: int
    held_out_: FloatArray

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("nominal", self.nominal, ("stick_breaking", "softmax"))
        check_number("bound_steps", self.bound_steps, low=1, whole=True)
        check_predict_method(self.predict_method, self._most_latent())

    _binary_alone: ClassVar[bool] = False
    """Whether the model is meant for tables of binary columns."""

    def _warn_of_kinds(self, schema: Schema) -> None:
        if self._binary_alone and not schema.discrete:
            warn_user(
                f"{type(self).__name__} is meant for yes/no and nominal columns, but the table has "
                "only numbers. Use LCMClassifier or HybridLCMClassifier, or list the columns that "
                "are codes in categorical_features.",
                TableWarning,
            )

    def _check_size(self) -> None:
        check_size("n_latent", self.n_latent)
        check_size("n_components", self.n_components)

    def _most_latent(self) -> int:
        """The largest number of latent variables that may be asked for."""
        return 1 if self.n_latent == "auto" else int(self.n_latent)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted model predicts by a new `predict_method` at once."""
        super().set_params(**params)
        if "predict_method" in params and "_model" in vars(self):
            self._model = self._model.answered_by(self.predict_method)
        return self

    # -------------------------------------------------------------------- fit

    def _fit_sizes(
        self,
        training: Training,
        sizes: Sizes,
        progress: FitProgress | None,
        choice: Choice | None = None,
    ) -> Learned:
        """Learn a model of the best of some sizes."""
        return fit_columns(
            training,
            self._settings(*sizes.usual),
            self._draw_seed,
            sizes=sizes,
            nominal=self.nominal,
            power_transform=self.power_transform,
            discriminative=self.discriminative,
            predict_method=self.predict_method,
            bound_steps=self.bound_steps,
            n_jobs=self.n_jobs,
            on_iteration=None if progress is None else progress.step,
            choice=choice,
        )

    def _fit_sizes_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        """Learn a model of the given or best size from rows in parts."""
        sizes = self._sizes(parted.sample)
        return fit_columns_parts(
            parted,
            self._settings(*sizes.usual),
            self._draw_seed,
            sizes=sizes,
            nominal=self.nominal,
            power_transform=self.power_transform,
            discriminative=self.discriminative,
            predict_method=self.predict_method,
            bound_steps=self.bound_steps,
            on_iteration=progress.step,
        )

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        return self._fit_sizes(training, self._sizes(training), progress)

    def _fit_steps(self, training: Training, choice: Choice) -> Learned:
        """A fit that takes the gradient steps that an earlier one chose."""
        return self._fit_sizes(training, self._sizes(training), None, choice)

    def _sizes(self, training: Training) -> Sizes:
        """The sizes to choose from."""
        n_questions = np.maximum(training.schema.n_levels - 1, 0).sum()
        most = max(2, 2 * (len(training.schema.continuous) + int(n_questions)))
        if self.predict_method == "quadrature":
            most = min(most, MOST_GRID)
        return self._usual_sizes.within(self.n_latent, self.n_components, most)

    def _unfitted_copy(self, learned: Learned) -> Any:
        copy = super()._unfitted_copy(learned)
        names = {"n_latent", "n_components", "power_transform"} & set(copy.get_params())
        return copy.set_params(**{name: learned.attributes[f"{name}_"] for name in names})

    # ------------------------------------------------------ learned attributes

    @property
    def weights_(self) -> FloatArray:
        """Change of each question's log-odds with each latent variable."""
        check_is_fitted(self)
        return np.array(self._model.best.weights)

    @property
    def intercepts_(self) -> FloatArray:
        """Log-odds of each question where all latent variables are 0."""
        check_is_fitted(self)
        return np.array(self._model.best.intercepts)

    @property
    def questions_(self) -> list[tuple[str, Any]]:
        """Column and category, or categories, that each question asks for."""
        check_is_fitted(self)
        columns = [self.schema_.columns[j] for j in self.schema_.discrete]
        out: list[tuple[str, Any]] = []
        for place, asked in self._model.questions:
            name, levels = columns[place].name, columns[place].categories
            if isinstance(asked, tuple):
                out.append((name, tuple(levels[code] for code in asked)))
            else:
                out.append((name, levels[asked]))
        return out


class HybridLCMClassifier(MixedClassifier):
    """Latent classification model of continuous, binary and nominal columns together.

    A few latent Gaussian variables, independent given the class, explain all columns. Given these,
    a continuous column is Gaussian, a binary one follows a logistic regression, and a nominal one a
    sequence of logistic regressions or, on request, a soft-max.

        P(y) P(m | y) N(z; mu_y, diag gamma_y) prod_j p(x_j | z, m)

    The likelihood of discrete columns has no closed form. EM maximises a lower bound (Jaakkola and
    Jordan's; for a soft-max, Boehning's), and by default it is also used to compare the classes.
    Missing cells are integrated out exactly, and rows without a label are learned from. With
    continuous columns only, the model is `LCMClassifier`; with binary columns only, it is
    `BinaryLCMClassifier`. Both are followed by gradient steps if `discriminative`, and continuous
    columns are transformed in either case.

    Parameters
    ----------
    n_latent : "auto" or int, default="auto"
        Number of latent variables. "auto" is 5 or, if that lowers the log-loss on held-out rows by
        more than its standard error, 2 or 10. Short fits decide: see Notes.
    n_components : "auto" or int, default="auto"
        Number of components; each has its own map from latent variables to columns. "auto" is 1 or,
        by the same rule, 3.
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
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept. `select="average"` never drops any.
    predict_method : {"bound", "importance", "quadrature"}, default="bound"
        How p(x | class) is computed in prediction. "bound": by its lower bound. "importance":
        nearly exactly, by 256 points around the posterior of the latent variables. "quadrature":
        exactly to many digits, by a grid of points; for `n_latent` up to 3.
    nominal : {"stick_breaking", "softmax"}, default="stick_breaking"
        How a column with three or more categories depends on the latent variables.
        "stick_breaking": by one yes-or-no question after another, the most frequent category
        first; with more than 8 categories each question splits those that are left into two groups.
        "softmax": by a logit for each category, so their order does not matter.
    power_transform : "auto" or bool, default="auto"
        Bring continuous columns nearer to a Gaussian (Yeo and Johnson's power transform), so that a
        long tail does not outweigh all other columns. "auto" does so if it lowers the log-loss on
        held-out rows, or if none can be held out.
    discriminative : bool, default=True
        After EM, raise the probability of the labels given the columns by gradient steps. The
        number of steps and the temperature are chosen on held-out rows. A fifth of the rows is held
        out at a time, up to five times, until 500 rows have been held out; of more than 5,000 rows
        about 1,000. Weights count as rows here, and nothing is held out of a class with a total
        weight below 5. Without held-out rows no steps are taken.
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
        Which columns are discrete. "from_dtype": those of text, category or boolean type, and
        numbers with only two whole values (in a sparse table, only if every column holds just 0 and
        1); None: none; or a list of names or positions, or a mask.
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
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
    loadings_, offsets_, noise_variances_ : arrays
        Of the continuous columns, as in `LCMClassifier`. Transformed columns are scaled to their
        original mean and standard deviation.
    weights_ : array of shape (n_components, n_questions, n_latent)
        Change of each question's log-odds with each latent variable.
    intercepts_ : array of shape (n_components, n_questions)
        Log-odds where all latent variables are 0.
    questions_ : list of (str, category)
        Column and category that each question asks for, or a tuple of categories in a column with
        more than 8: of a binary column one, of a nominal one
        with `nominal="stick_breaking"` all but one, and with `nominal="softmax"` all. The logits
        of a soft-max sum to 0.
    n_latent_, n_components_ : int
        The size that was fitted.
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
        With `discriminative=True`: share of labels that are drawn at random, as in
        `LCMClassifier`; 0 unless all columns are continuous.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of the columns, if the table had names.

    Notes
    -----
    With `nominal="stick_breaking"` a nominal column becomes a sequence of yes-or-no questions, the
    most frequent category first: is it this one; if not, is it the next one; and so on. Each
    question is a binary column, observed only if the answer to all earlier ones was no. So the
    bound remains a proven bound, but the order of the categories has a small influence on the
    model. In a column with K > 8 categories a question is whether it is one of a group, of about
    half the share of the categories that are left, so a row answers about log2(K) of K - 1
    questions. With `nominal="softmax"` the order has no influence. The bound is proven too, but
    looser: its curvature is fixed [4]_.

    With "auto" the sizes are compared by fits of two starts, 20 iterations and 40 gradient steps to
    at most about 1,000 rows, or 300 of each class, other than those that `discriminative` holds
    out. The largest size is tried only if 10 latent variables or 3 components help. Without
    held-out rows the size is (5, 1). All of it costs about as much as one fit.

    The most probable completion of a transformed column is the most probable value on its
    transformed scale.

    With `predict_method="bound"`, `score_samples` and `predict_joint_log_proba` are lower bounds
    too, so the densities do not integrate to 1.

    With `select="average"` the density, samples and completion come from the mixture of all starts.
    The class probabilities are the average over the starts.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.
    .. [2] Jaakkola, T. S. and Jordan, M. I. (2000). Bayesian parameter estimation via variational
       methods. Statistics and Computing 10, 25-37.
    .. [3] Yeo, I.-K. and Johnson, R. A. (2000). A new family of power transformations to improve
       normality or symmetry. Biometrika 87, 954-959.
    .. [4] Boehning, D. (1992). Multinomial logistic regression algorithm. Annals of the Institute
       of Statistical Mathematics 44, 197-200.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentclass import HybridLCMClassifier
    >>> X = pd.DataFrame({"height": [1.2, 1.9, None, 1.1] * 9, "town": ["A", "B", "C", None] * 9})
    >>> y = [0, 1, 1, 0] * 9
    >>> model = HybridLCMClassifier(2, 1, n_init=2, random_state=0).fit(X, y)
    >>> model.predict(X[:4]).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        n_latent: Any = "auto",
        n_components: Any = "auto",
        *,
        noise: str = "tied",
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
        drop_starts: bool = True,
        predict_method: str = "bound",
        nominal: str = "stick_breaking",
        power_transform: bool | str = "auto",
        discriminative: bool = True,
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
        self.prior = prior
        self.alpha = alpha
        self.n_init = n_init
        self.select = select
        self.drop_starts = drop_starts
        self.predict_method = predict_method
        self.nominal = nominal
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

    def _fit_parted(self, parted: PartedTraining, progress: FitProgress) -> Learned:
        return self._fit_sizes_parted(parted, progress)
