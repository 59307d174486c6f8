"""Latent classification models of a size found by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from latentclass._compat import parameter_names
from latentclass._types import FloatArray
from latentclass.estimator._callbacks import FitProgress
from latentclass.estimator._fitted import FittedModel, Learned
from latentclass.estimator._gaussian_model import Measured, measure
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.estimator._published import AsPublished
from latentclass.estimator._reading import Training
from latentclass.estimator._tuning import TRUSTING
from latentclass.lcm._base_classifier import LatentClassifier
from latentclass.lcm._classifier import LCMClassifier
from latentclass.lcm._fit import LCMFit, bent_or_not
from latentclass.lcm._folds import FoldedRows, held_out_log_posterior
from latentclass.lcm._hybrid_sample import RowDealer
from latentclass.lcm._size_search import (
    FoundSize,
    Pair,
    SizeSearch,
    check_search,
    listed,
    rows_to_search,
)
from latentclass.lcm._steps import Choice, learn_steps

COMPONENTS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 35, 40)
"""The paper's numbers of components."""

LINEAR_LATENT = 4
"""About the number of latent variables of the linear model that gradient steps are tried on."""

FEW_COMPONENTS = (1, 2, 5, 10, 20, 40)
"""The numbers between which the stepwise search walks: small differences are lost in noise."""


class LCMClassifierCV(AsPublished, LatentClassifier):
    """Latent classification model whose size is found by cross-validation.

    Pairs of numbers of latent variables and components are tried in folds of the training rows.
    Then the model with the best pair is fitted to all rows. All folds and starts of a candidate run
    in one batch.

    Parameters
    ----------
    n_latent : int, list of int or None, default=None
        Numbers of latent variables to try. None is 1 to (columns x classes), the paper's range;
        with `search="stepwise"` only 1, 2, 4, 8, ... of them.
    n_components : int, list of int or None, default=None
        Numbers of components to try; None is the paper's list, 1 to 40, or a few of it with
        `search="stepwise"`. Pairs whose product exceeds the number of training rows are left out.
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
    noise : {"auto", "tied", "untied"}, default="auto"
        "tied": one noise variance for each continuous column. "untied": one for each column in each
        component. "auto": both are tried.
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
        Number of random starts, for each candidate in each fold and for the model itself.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What happens to the starts. "average": their class probabilities are averaged. "accuracy"
        (as in the paper): the one with the highest training accuracy is kept, and the likelihood
        breaks ties. "likelihood": the one with the highest likelihood is kept.
    drop_starts : bool, default=True
        Drop the worse half of the starts after 1, 2, 4, ... iterations, until one is left. If
        false, all run to the end before one is kept. `select="average"` never drops any.
    power_transform : "auto" or bool, default="auto"
        Bring continuous columns nearer to a Gaussian (Yeo and Johnson's power transform), so that a
        long tail does not outweigh all other columns. "auto" does so if it lowers the log-loss on
        held-out rows, or if none can be held out.
    discriminative : bool, default=True
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
    noise_ : {"tied", "untied"}
        The noise of the best model.
    best_score_ : float
        Mean score of the best candidate over the folds; with gradient steps, its score on the rows
        that were held out for these.
    cv_results_ : dict of str to array
        The whole search, one entry per candidate: n_latent, n_components, noise,
        power_transform, n_init, max_iter, mean_test_score, std_test_score (over folds), seconds,
        round. Higher scores are better: log-loss is negated.
    n_candidates_ : int
        Number of candidates tried.

    And all attributes of `LCMClassifier`.

    Notes
    -----
    Columns are standardised, and transformed, once, over all training rows. Nothing else about the
    test rows of a fold reaches the model that they test. With only one candidate there is no
    search.

    The search begins without the power transform. Then it goes on with it from the best size found
    so far.

    The folds compare fits by EM. With `discriminative` and `scoring="log_loss"`, the best candidate
    and, if it has several components, a linear model of about four latent variables are then
    trained with some rows held out, and the one with the lower log-loss on these is fitted.

    References
    ----------
    .. [1] Langseth, H. and Nielsen, T. D. (2005). Latent classification models. Machine Learning
       59, 237-265.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from latentclass import LCMClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LCMClassifierCV([1, 2, 4], [1, 2], n_init=4, random_state=0).fit(X, y)
    >>> (model.n_latent_, model.n_components_) in [(q, m) for q in (1, 2, 4) for m in (1, 2)]
    True
    >>> model.score(X, y) > 0.95
    True
    """

    _most_levels = None
    _unlabelled_errors = TRUSTING

    # the wrapper of section 5
    _PUBLISHED: ClassVar[dict[str, Any]] = {
        **LCMClassifier._PUBLISHED,
        "search": "semi_greedy",
        "scoring": "accuracy",
        "noise": "tied",
    }

    _noises = ("auto", "tied", "untied")

    def __init__(
        self,
        n_latent: int | Sequence[int] | None = None,
        n_components: int | Sequence[int] | None = None,
        *,
        search: str = "stepwise",
        scoring: str = "log_loss",
        cv: Any = 5,
        noise: str = "auto",
        structure: str = "full",
        offset: bool = True,
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
        drop_starts: bool = True,
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
        self.search = search
        self.scoring = scoring
        self.cv = cv
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

    best_score_: float
    cv_results_: dict[str, Any]

    def _check_size(self) -> None:
        check_search(self)

    def _fit_model(self, training: Training, progress: FitProgress | None) -> Learned:
        measured = measure(training, self.n_jobs)
        pairs = self._pairs(training, measured)
        noises = ("tied", "untied") if self.noise == "auto" else (self.noise,)
        # with one component both are the same
        tried = [(noise, [p for p in pairs if p[1] > 1 or noise == noises[0]]) for noise in noises]
        ways = bent_or_not(measured, training, self.power_transform)
        # with one candidate nothing is searched
        found = [FoundSize(pairs[0], noises[0], ways[0].scaling.is_bent)]
        if len(ways) * sum(len(some) for _, some in tried) > 1:
            seed = self._draw_seed()
            training, part, folds = rows_to_search(training, self.cv, seed, self.search)
            first, *others = bent_or_not(measure(part, self.n_jobs), part, self.power_transform)
            rows = part, folds, seed
            found = [self._find_size(some, noise, first, *rows) for noise, some in tried if some]
            middle = self._middle(pairs, found[0])
            found += [self._find_size([middle], noises[0], first, *rows)] if middle else []
            best = _best(found)
            noise = best.noise or noises[0]
            some = dict(tried)[noise]
            found += [self._find_size(some, noise, way, *rows, best.pair) for way in others]
            ways = bent_or_not(measure(training, self.n_jobs), training, self.power_transform)
        best = _best(found)
        path = tuple(row for one in found for row in one.path)
        fit = LCMFit(ways[0], self._settings(*best.pair), self._draw_seed, self.n_jobs)
        dealer = fit.deal(training) if self.discriminative else None
        choice: Choice | None = None
        if dealer is not None and self.scoring == "log_loss" and len(path):
            by_way = [[one for one in found if one.bent == way.scaling.is_bent] for way in ways]
            finalists = [_best(some) for some in by_way]
            if best.pair[1] > 1 and (linear := _nearest_linear(pairs)):
                finalists.append(FoundSize(linear, noises[0], best.bent))
            best, choice = self._choose_trained(fit, ways, dealer, finalists)
        fit = self._sized(fit, ways, best)
        learned = fit.run_em(training, None if progress is None else progress.step)
        if dealer is not None:
            learned = fit.take_steps(dealer, learned, choice)
        return learned.with_attributes(**best._replace(path=path).attributes)

    def _middle(self, pairs: list[Pair], found: FoundSize) -> Pair | None:
        """A linear model of middle size that the search has not tried, if steps may follow.

        The search compares fits by EM. Gradient steps may lift a linear model above them.
        """
        linear = _nearest_linear(pairs)
        tried = {(row["n_latent"], row["n_components"]) for row in found.path}
        if not self.discriminative or self.scoring != "log_loss" or linear in tried:
            return None
        return linear

    def _choose_trained(
        self, fit: LCMFit, ways: list[Measured], dealer: RowDealer, sizes: list[FoundSize]
    ) -> tuple[FoundSize, Choice | None]:
        """The size that is best for held-out rows with its gradient steps, and these."""
        n_init = max(1, self.n_init // 2)
        choices = [
            learn_steps(self._sized(fit, ways, size).with_starts(n_init), dealer) for size in sizes
        ]
        if not len(choices[0].losses):
            return sizes[0], choices[0]
        best = int(np.argmin([choice.loss for choice in choices]))
        return sizes[best]._replace(score=-choices[best].loss), choices[best]

    def _sized(self, fit: LCMFit, ways: list[Measured], size: FoundSize) -> LCMFit:
        """The fit with another size, and its columns scaled in another way."""
        settings = self._settings(*size.pair)._replace(tied=size.noise == "tied")
        measured = next(way for way in ways if way.scaling.is_bent == size.bent)
        return replace(fit, measured=measured, settings=settings)

    def _unfitted_copy(self, learned: Learned) -> Any:
        # without `cv`: a generator cannot be cloned, and nothing is searched any more
        params = {name: getattr(self, name) for name in parameter_names(LCMClassifier)}
        for name in ("n_latent", "n_components", "noise", "power_transform"):
            params[name] = learned.attributes[f"{name}_"]
        return clone(LCMClassifier(**{**params, "calibrate": False}))

    def _fit_folds(
        self, learned: Learned, training: Training, folds: InnerFolds
    ) -> Iterator[tuple[FittedModel, float]]:
        copy: LCMClassifier = self._unfitted_copy(learned)
        return copy._fit_folds(learned, training, folds)

    def _find_size(
        self,
        pairs: list[Pair],
        noise: str,
        measured: Measured,
        training: Training,
        folds: InnerFolds,
        seed: int,
        begin: Pair | None = None,
    ) -> FoundSize:
        rows = FoldedRows.of(training, measured, folds)
        settings = self._settings(*pairs[0])._replace(tied=noise == "tied")

        def held_out(pair: Pair, n_init: int, max_iter: int) -> FloatArray:
            candidate = settings._replace(
                n_latent=pair[0], n_components=pair[1], n_init=n_init, max_iter=max_iter
            )
            return held_out_log_posterior(rows, candidate, seed)

        search = SizeSearch(
            pairs,
            held_out,
            training,
            folds,
            self.scoring,
            self.n_init,
            self.max_iter,
            self.n_jobs,
            type(self).__name__ if self.verbose else None,
            noise,
            measured.scaling.is_bent,
            begin,
        )
        return search.run(self.search)

    def _pairs(self, training: Training, measured: Measured) -> list[Pair]:
        most = max(1, measured.scaling.n_varying) * training.n_classes
        few = self.search == "stepwise"
        latent = listed(self.n_latent)
        if latent is None:
            latent = _doubled(most) if few else list(range(1, most + 1))
        components = listed(self.n_components) or list(FEW_COMPONENTS if few else COMPONENTS)
        # weight 2 is the row twice
        n_rows = max(len(training.y), round(float(training.weight.sum())))
        every = [(int(q), int(m)) for q in latent for m in components]
        pairs = [(q, m) for q, m in every if m == 1 or q * m <= n_rows]
        if not pairs:
            raise ValueError(
                f"No pair of n_latent={latent} and n_components={components} has "
                f"n_latent * n_components <= {n_rows}, the number of rows. List smaller numbers."
            )
        return pairs


def _best(found: list[FoundSize]) -> FoundSize:
    """The highest score; of equal ones the first."""
    return max(found, key=lambda one: one.score) if len(found) > 1 else found[0]


def _doubled(most: int) -> list[int]:
    """Return 1, 2, 4, ... up to `most`."""
    return [2**power for power in range(most.bit_length())]


def _nearest_linear(pairs: list[Pair]) -> Pair | None:
    """The linear model whose number of latent variables is nearest to `LINEAR_LATENT`."""
    linear = [pair for pair in pairs if pair[1] == 1]
    if not linear:
        return None
    return min(linear, key=lambda pair: abs(np.log(pair[0] / LINEAR_LATENT)))
