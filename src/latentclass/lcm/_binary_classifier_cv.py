"""Latent classification models of binary columns, of a size found by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.base import clone

from latentclass._compat import parameter_names
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import Learned
from latentclass.estimator._gaussian_model import measure
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import Training
from latentclass.lcm._auto_size import Sizes
from latentclass.lcm._binary_classifier import BinaryLCMClassifier
from latentclass.lcm._hybrid_classifier import MixedClassifier
from latentclass.lcm._hybrid_columns import HybridColumns
from latentclass.lcm._size_search import (
    FoundSize,
    Pair,
    SizeSearch,
    check_search,
    fit_each_fold,
    listed,
    rows_to_search,
)
from latentclass.lcm._stick_breaking import learn_stick_breaking

LATENT = (2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 75, 100)
"""The paper's numbers of latent variables."""

FEW_LATENT = (2, 5, 10, 20, 40, 75)
"""The numbers between which the stepwise search walks."""

COMPONENTS = (1, 2)
"""The paper's numbers of components."""


class BinaryLCMClassifierCV(AsPublished, MixedClassifier):
    """Latent classification model of binary columns whose size is found by cross-validation.

    Pairs of numbers of latent variables and components are tried in folds of the training rows.
    Then the model with the best pair is fitted to all rows.

    Parameters
    ----------
    n_latent : int, list of int or None, default=None
        Numbers of latent variables to try. None is the paper's list, 2 to 100, or a few of it with
        `search="stepwise"`, as far as it is no more than twice the number of columns.
    n_components : int, list of int or None, default=None
        Numbers of components to try; None is the paper's list, 1 and 2.
    search : {"stepwise", "semi_greedy", "exhaustive"}, default="stepwise"
        How the candidates are visited. "exhaustive": all of them. "semi_greedy" (as in the paper):
        with more and more latent variables, each number with all numbers of components, until three
        consecutive numbers bring no improvement. "stepwise": from the second number of both lists
        on, to the best of the pairs with the next larger or smaller number, while one is better;
        with half the starts, at most 20 iterations, and a sample of the rows if there are more than
        2,000 and `cv` is a number.
    scoring : {"log_loss", "accuracy"}, default="log_loss"
        What decides between candidates: the log-loss or the accuracy on held-out rows.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by class and assigned by what the rows hold; or a scikit-learn
        splitter, or a list of (training, test) row numbers in which no row is tested twice, which
        are used as they are. Rows without a label are always learned from.
    prior : float or None, default=1.0
        Strength of the MAP prior: every weight has a normal prior with mean 0 and variance 1 /
        prior. None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category at the point where all latent variables are 0.
    n_init : int, default=5
        Number of random starts, for each candidate in each fold and for the model itself.
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
    discriminative : bool, default=False
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
        there are many rows, with a prior that expects the model to be too sure. The folds use the
        size that was found.
    unlabelled_weight : "auto" or float, default="auto"
        Factor of the weight of rows without a label: 0 leaves them out, 1 counts them like the
        others. "auto" takes 0 or, if that lowers the log-loss on held-out rows, a factor that gives
        all of them together 0.3 times the weight of the labelled rows.
    random_state : int, RandomState or None, default=None
        Seeds the folds, the random starts, and `sample`.
    n_jobs : int or None, default=None
        Number of candidates tried at once, on threads. The result does not depend on it.
    verbose : int, default=0
        1 prints each candidate and each EM iteration to standard error.

    Attributes
    ----------
    n_latent_, n_components_ : int
        The best pair.
    best_score_ : float
        Mean score of the best candidate over the folds.
    cv_results_ : dict of str to array
        The whole search, one entry per candidate: n_latent, n_components, n_init, max_iter,
        mean_test_score, std_test_score (over folds), seconds, round. Higher scores are better:
        log-loss is negated.
    n_candidates_ : int
        Number of candidates tried.

    And all attributes of `BinaryLCMClassifier`.

    Notes
    -----
    `as_published` gives the paper's wrapper, which tries all pairs in ten folds. With only one
    pair there is no search.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2009). Latent classification models for binary data.
       Pattern Recognition 42, 2724-2736.

    Examples
    --------
    >>> import numpy as np
    >>> from latentclass import BinaryLCMClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(200, 1))
    >>> X, y = rng.random((200, 6)) < 1 / (1 + np.exp(-3 * z)), z[:, 0] > 0.5
    >>> model = BinaryLCMClassifierCV([1, 2], [1], cv=3, n_init=2, random_state=0).fit(X, y)
    >>> model.n_latent_ in (1, 2)
    True
    """

    # the wrapper of section 6.1
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        **BinaryLCMClassifier._PUBLISHED,
        "n_latent": None,
        "search": "exhaustive",
        "scoring": "accuracy",
        "cv": 10,
    }

    noise = "tied"  # of continuous columns, if there are any
    power_transform = True

    def __init__(
        self,
        n_latent: int | Sequence[int] | None = None,
        n_components: int | Sequence[int] | None = None,
        *,
        search: str = "stepwise",
        scoring: str = "log_loss",
        cv: Any = 5,
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 5,
        select: str = "average",
        drop_starts: bool = True,
        predict_method: str = "bound",
        discriminative: bool = False,
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
        self.search = search
        self.scoring = scoring
        self.cv = cv
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

    _binary_alone = True

    best_score_: float
    cv_results_: dict[str, Any]
    n_latent_: int
    n_components_: int

    def _check_size(self) -> None:
        check_search(self)

    def _most_latent(self) -> int:
        return int(max(listed(self.n_latent) or LATENT))

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        pairs = self._pairs(training)
        found = FoundSize(pairs[0])  # with one pair nothing is searched
        if len(pairs) > 1:
            seed = self._draw_seed()
            training, part, folds = rows_to_search(training, self.cv, seed, self.search)
            found = self._find_size(pairs, part, folds, seed)
        learned = self._fit_sizes(training, Sizes(found.pair), progress)
        return replace(learned, attributes={**learned.attributes, **found.attributes})

    def _unfitted_copy(self, learned: Learned) -> Any:
        return self._candidate().set_params(
            n_latent=learned.attributes["n_latent_"],
            n_components=learned.attributes["n_components_"],
        )

    def _candidate(self) -> Any:
        """An estimator that searches no size, without `cv`: a generator cannot be cloned."""
        params = {name: getattr(self, name) for name in parameter_names(BinaryLCMClassifier)}
        params |= {"calibrate": False, "verbose": 0, "n_jobs": None}
        return clone(BinaryLCMClassifier(**params))

    def _find_size(
        self, pairs: list[Pair], training: Training, folds: InnerFolds, seed: int
    ) -> FoundSize:
        candidate = self._candidate().set_params(random_state=seed)

        def fit_part(part: Training, pair: Pair, n_init: int, max_iter: int) -> Learned:
            size = {"n_latent": pair[0], "n_components": pair[1]}
            one = clone(candidate).set_params(**size, n_init=n_init, max_iter=max_iter)
            learned: Learned = one._fit_model(part, None)
            return learned

        search = SizeSearch(
            pairs,
            fit_each_fold(fit_part, training, folds),
            training,
            folds,
            self.scoring,
            self.n_init,
            self.max_iter,
            self.n_jobs,
            type(self).__name__ if self.verbose else None,
        )
        return search.run(self.search)

    def _pairs(self, training: Training) -> list[Pair]:
        latent, components = listed(self.n_latent), listed(self.n_components)
        if latent is None:
            sticks = learn_stick_breaking(training.schema, training.table, training.weight)
            columns = HybridColumns(measure(training, self.n_jobs).scaling, sticks)
            most = max(LATENT[0], 2 * (columns.n_gaussian + columns.n_logistic))
            numbers = FEW_LATENT if self.search == "stepwise" else LATENT
            latent = [q for q in numbers if q <= most]
        return [(int(q), int(m)) for q in latent for m in components or COMPONENTS]
