"""Latent classification models of a size found by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from latentclass._compat import parameter_names
from latentclass._types import FloatArray
from latentclass.estimator._legacy_folds import InnerFolds
from latentclass.estimator._legacy_reading import Training
from latentclass.lcm._classifier import LCMClassifier, make_prior
from latentclass.lcm._folds import FoldedRows, FoldSettings, held_out_log_posterior
from latentclass.lcm._size_search import Pair, SizeSearch, check_search, find_size, listed

COMPONENTS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 35, 40)
"""The paper's numbers of components."""

FEW_COMPONENTS = (1, 2, 3, 5, 10, 20, 40)
"""Those of them that halving tries: results change slowly with many components."""


class LCMClassifierCV(InnerFolds, LCMClassifier):
    """Latent classification model whose size is found by cross-validation.

    The numbers of latent variables and components are tried out in folds of the training rows;
    the model is then fitted to all of them with the best pair. All folds and restarts of a
    candidate run in one batch.

    Parameters
    ----------
    n_latent : int, list of int or None, default=None
        Numbers of latent variables to try. None is 1 to (columns x classes), the paper's range;
        with `search="halving"` a few of them, closer together at the low end.
    n_components : int, list of int or None, default=None
        Numbers of components to try; None is the paper's list, 1 to 40, or a few of it with
        `search="halving"`. Pairs whose product exceeds the number of training rows are left out.
    search : {"halving", "semi_greedy", "exhaustive"}, default="halving"
        How the candidates are visited. "exhaustive": all of them. "semi_greedy" (as in the paper):
        with more and more latent variables, each number with all numbers of components, until three
        consecutive numbers bring no improvement. "halving": all with half the starts and few
        iterations, the best quarter with more, the best of these with all.
    scoring : {"log_loss", "accuracy"}, default="log_loss"
        What decides between candidates: the log-loss or the accuracy on held-out rows.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by class; or a scikit-learn splitter, or a list of (training,
        test) row numbers in which no row is tested twice. Rows without label are always learned
        from.
    noise : {"tied", "untied"}, default="tied"
        "tied": one noise variance for each continuous column. "untied": one for each column in each
        component.
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
    max_iter : int, default=200
        Maximum number of EM iterations.
    tol : float, default=1e-2
        EM stops when the objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM). The objective still never falls.
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete. "from_dtype": those of text, category or boolean type; None:
        none; or a list of names or positions, or a mask.
    handle_unknown : {"missing", "error"}, default="missing"
        Whether a category not seen in `fit` is read as missing or raises an error.
    calibrate : bool, default=False
        Learn a temperature for the evidence on held-out folds, and keep it if it lowers the
        held-out log-loss. The folds use the size that was found.
    random_state : int, RandomState or None, default=None
        Seeds the folds, the random starts, and `sample`.
    n_jobs : int or None, default=None
        Number of candidates tried in parallel, through joblib. The result does not depend on it.
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

    And all attributes of `LCMClassifier`.

    Notes
    -----
    Columns are standardised once, over all training rows; nothing else of a test part reaches the
    model that it tests. With one pair to try nothing is searched.

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
    >>> model.n_candidates_ >= 6
    True
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        n_latent: int | Sequence[int] | None = None,
        n_components: int | Sequence[int] | None = None,
        *,
        search: str = "halving",
        scoring: str = "log_loss",
        cv: Any = 5,
        noise: str = "tied",
        structure: str = "full",
        offset: bool = True,
        prior: float | None = 1.0,
        alpha: float = 1.0,
        n_init: int = 10,
        select: str = "average",
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
        super().__init__(
            n_latent,
            n_components,
            noise=noise,
            structure=structure,
            offset=offset,
            prior=prior,
            alpha=alpha,
            n_init=n_init,
            select=select,
            max_iter=max_iter,
            tol=tol,
            accelerate=accelerate,
            categorical_features=categorical_features,
            handle_unknown=handle_unknown,
            calibrate=calibrate,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.search = search
        self.scoring = scoring
        self.cv = cv

    def _check_size(self) -> None:
        check_search(self)

    def _unfitted_copy(self) -> Any:
        # without `cv`: a generator cannot be cloned, and nothing is searched any more
        params = {name: getattr(self, name) for name in parameter_names(LCMClassifier)}
        size = {"n_latent": self.n_latent_, "n_components": self.n_components_}
        return clone(LCMClassifier(**{**params, **size, "calibrate": False}))

    def _size(self, training: Training) -> Pair:
        pairs = self._pairs(training)
        return find_size(self, pairs, lambda: _BatchSearch(self, training, pairs))

    def _pairs(self, training: Training) -> list[Pair]:
        n_columns = max(1, int(self._scaling.varies.sum()))
        most = n_columns * len(self.classes_)
        few = self.search == "halving"
        latent = listed(self.n_latent)
        if latent is None:
            latent = _spaced(most) if few else list(range(1, most + 1))
        components = listed(self.n_components) or list(FEW_COMPONENTS if few else COMPONENTS)
        n_rows = len(training.y)
        every = [(int(q), int(m)) for q in latent for m in components]
        pairs = [(q, m) for q, m in every if m == 1 or q * m <= n_rows]
        if not pairs:
            raise ValueError(
                f"No pair of n_latent={latent} and n_components={components} has "
                f"n_latent * n_components <= {n_rows}, the number of rows. Try smaller numbers."
            )
        return pairs


class _BatchSearch(SizeSearch):
    """A search that fits a candidate to all training parts, from all starts, in one batch."""

    def __init__(self, model: LCMClassifierCV, training: Training, pairs: list[Pair]) -> None:
        super().__init__(model, training, pairs)
        numeric, codes = training.table.block(slice(0, training.table.n_rows))
        self._rows = FoldedRows(
            model._scaling.values(numeric),
            codes,
            training.y,
            training.weight,
            self._fold,
            self._n_folds,
            len(model.classes_),
            model._offsets,
            self._left_out,
        )

    def held_out(self, pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        """See `SizeSearch`."""
        model = self._model
        settings = FoldSettings(
            *pair,
            model.noise == "tied",
            model.structure,
            model.offset,
            make_prior(model.prior, model.alpha),
            model.select,
            n_init,
            max_iter,
            model.tol,
            model.accelerate,
        )
        return held_out_log_posterior(self._rows, settings, self._seed)


def _spaced(most: int) -> list[int]:
    """1, 2, 3, ... up to `most`, farther apart as they grow."""
    values = [1]
    while values[-1] < most:
        values.append(min(most, values[-1] + max(1, values[-1] // 2)))
    return values
