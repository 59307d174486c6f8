"""Latent classification models of binary columns."""

from __future__ import annotations

from typing import Any, ClassVar

from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._parted import PartedTraining
from latentclass.estimator._published import AsPublished
from latentclass.lcm._auto_size import Sizes
from latentclass.lcm._hybrid_classifier import MixedClassifier

SIZES = Sizes(
    (10, 1),
    (
        ((5, 1), ()),
        ((20, 1), ()),
        ((10, 2), ()),
        ((20, 2), ((20, 1), (10, 2))),
        ((40, 1), ((20, 1),)),
        ((40, 2), ((40, 1), (20, 2))),
    ),
    surely=True,
)
"""Sizes of models of many binary columns."""


class BinaryLCMClassifier(AsPublished, MixedClassifier):
    """Latent classification model of binary columns: images in black and white, words, flags.

    A few latent Gaussian variables, independent given the class, determine the log-odds of every
    column. So the columns themselves may depend on each other as strongly as they like. Each of
    several components has its own map from latent variables to columns.

        P(y) P(m | y) N(z; mu_y, diag gamma_y) prod_j P(x_j | z, m),
        log-odds of x_j = 1 given z, m:  w_mj' z + b_mj

    EM maximises Jaakkola and Jordan's lower bound on the likelihood, and by default the bound is
    also used to compare the classes. Missing cells are integrated out exactly, and rows without
    label are learned from. The model is `HybridLCMClassifier` with defaults for many binary
    columns, and treats columns of other kinds in the same way.

    Parameters
    ----------
    n_latent : "auto" or int, default="auto"
        Number of latent variables. "auto" is 10 or, if that lowers the log-loss on held-out rows by
        more than its standard error, 5, 20 or 40, by short fits as in `HybridLCMClassifier`. 40 are
        tried only if 20 help by as much.
    n_components : "auto" or int, default=1
        Number of components; 1 is the paper's bLCM, more is its mbLCM. "auto" is 1 or, by the same
        rule, 2.
    prior : float or None, default=1.0
        Strength of the MAP prior: every weight has a normal prior with mean 0 and variance 1 /
        prior. None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category at the point where all latent variables are 0.
    n_init : int, default=5
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
    discriminative : bool, default=True
        After EM, raise the probability of the labels given the columns by gradient steps. The
        number of steps and the temperature are chosen on held-out rows.
    bound_steps : int, default=1
        Maximum number of steps on the bound of a row in each EM iteration. One is enough for the
        bound to rise; further ones end when a step gains no more than a share of 1e-3.
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
    weights_ : array of shape (n_components, n_columns, n_latent)
        Change of each column's log-odds with each latent variable.
    intercepts_ : array of shape (n_components, n_columns)
        Log-odds of each column where all latent variables are 0.

    And all attributes of `HybridLCMClassifier`.

    Notes
    -----
    The paper takes up to ten steps on the bound in every EM iteration (`as_published` does). One is
    enough, since the bound still rises at every iteration. Two formulas of the paper are corrected
    here: Appendix C updates the components without regard to the class, and eq. (9) uses the prior
    mean of the latent variables where it needs their posterior mean.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass import BinaryLCMClassifier
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 1))
    >>> X = rng.random((300, 8)) < 1 / (1 + np.exp(-3 * z))
    >>> y = z[:, 0] > 0.5
    >>> model = BinaryLCMClassifier(n_latent=1, random_state=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.85
    True
    """

    # section 6.1 of the paper
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        "n_latent": 10,
        "calibrate": False,
        "discriminative": False,
        "prior": None,
        "alpha": 0.0,
        "n_init": 10,
        "select": "accuracy",
        "drop_starts": False,
        "bound_steps": 10,
        "max_iter": 50,
        "tol": 1e-3,
        "relative_tol": True,
        "accelerate": False,
    }

    _usual_sizes = SIZES
    _binary_alone = True

    noise = "tied"  # of continuous columns, if there are any
    power_transform = True

    def __init__(
        self,
        n_latent: Any = "auto",
        n_components: Any = 1,
        *,
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 5,
        select: str = "average",
        drop_starts: bool = True,
        predict_method: str = "bound",
        discriminative: bool = True,
        bound_steps: int = 1,
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
        self.prior = prior
        self.alpha = alpha
        self.n_init = n_init
        self.select = select
        self.drop_starts = drop_starts
        self.predict_method = predict_method
        self.discriminative = discriminative
        self.bound_steps = bound_steps
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
