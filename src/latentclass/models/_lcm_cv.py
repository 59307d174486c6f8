"""Latent classification models of a size found by cross-validation."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.core._lcm_folds import FoldedRows, Settings, held_out_log_posterior
from latentclass.data._labels import UNLABELLED
from latentclass.models._base import FloatArray, IntArray, Training
from latentclass.models._inner_folds import InnerFolds, check_inner_cv, given_folds
from latentclass.models._lcm import LCMClassifier, make_prior

COMPONENTS = (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 35, 40)
"""The paper's numbers of components."""

FEW_COMPONENTS = (1, 2, 3, 5, 10, 20, 40)
"""Those of them that halving tries: results change slowly with many components."""

PATIENCE = 3
"""The semi-greedy search ends when this many numbers of latent variables in a row bring nothing."""

KEPT_SHARE = 4
"""Of the candidates of a round of halving, one in this many goes on."""

Pair = tuple[int, int]


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
        How the pairs are visited. "exhaustive": all. "semi_greedy" (the paper's): more and more
        latent variables, each number with all numbers of components, until three numbers in a row
        bring nothing. "halving": all with half the starts and few iterations, the best quarter
        with more, the best of these with all.
    scoring : {"log_loss", "accuracy"}, default="log_loss"
        What decides: the held-out log-loss, or the share of rows held out that are right.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by class, with the rows without label always learned from; or
        a splitter or list of (training, test) row numbers in which no row is tested twice. Rows
        without label that it would test are learned from too.
    noise : {"tied", "untied"}, default="tied"
        One noise variance a column, or one for each component.
    structure : {"full", "learned"}, default="full"
        As in `LCMClassifier`.
    offset : bool, default=True
        As in `LCMClassifier`.
    prior : float or None, default=1.0
        Strength of the MAP prior, in pseudo-rows; None is maximum likelihood.
    alpha : float, default=1.0
        Pseudo-count of every category of a discrete column.
    n_init : int, default=10
        Random starts, of each candidate in each fold and of the model itself.
    select : {"average", "accuracy", "likelihood"}, default="average"
        What becomes of the starts, as in `LCMClassifier`.
    max_iter : int, default=200
        Most EM iterations.
    tol : float, default=1e-2
        A start stops when its objective per row gains no more than this.
    accelerate : bool, default=True
        Extrapolate EM steps (SQUAREM).
    categorical_features : "from_dtype", None or list, default="from_dtype"
        Which columns are discrete.
    handle_unknown : {"missing", "error"}, default="missing"
        A category not seen in `fit` is a missing value, or an error.
    calibrate : bool, default=False
        Learn a temperature on held-out folds, with the size that was found.
    random_state : int, RandomState or None, default=None
        Seeds the folds, the starts, `calibrate` and `sample`.
    n_jobs : int or None, default=None
        Candidates tried side by side, through joblib. The result does not depend on it.
    verbose : int, default=0
        1 prints each candidate and each EM iteration to standard error.

    Attributes
    ----------
    n_latent_, n_components_ : int
        The best pair.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of str to array
        The whole path, one entry a candidate tried: n_latent, n_components, n_init, max_iter,
        mean_test_score, std_test_score (over folds), seconds, round. Higher scores are better:
        log-loss is negated.
    n_candidates_ : int
        Candidates tried.

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
        for name in ("n_latent", "n_components"):
            if isinstance(getattr(self, name), Iterator):
                raise TypeError(f"{name} is an iterator, which can be read only once: pass a list.")
            values = _listed(getattr(self, name))
            if values is not None and not values:
                raise ValueError(f"{name} is empty: list whole numbers to try, or pass None.")
            for value in values or ():
                check_number(name, value, low=1, whole=True)
        check_option("search", self.search, ("halving", "semi_greedy", "exhaustive"))
        check_option("scoring", self.scoring, ("log_loss", "accuracy"))
        check_inner_cv(self.cv)

    def _twin(self) -> Any:
        # without `cv`: a generator cannot be cloned, and nothing is searched any more
        params = {name: getattr(self, name) for name in LCMClassifier._get_param_names()}
        size = {"n_latent": self.n_latent_, "n_components": self.n_components_}
        return clone(LCMClassifier(**{**params, **size, "calibrate": False}))

    def _size(self, training: Training) -> Pair:
        pairs = self._pairs(training)
        if len(pairs) == 1:
            self.cv_results_, self.n_candidates_ = {}, 0
            self.best_score_ = np.nan
            self.n_latent_, self.n_components_ = pairs[0]
            return pairs[0]
        search = _Search(self, training, pairs)
        visit = {
            "halving": search.halving,
            "semi_greedy": search.semi_greedy,
            "exhaustive": search.exhaustive,
        }[self.search]
        best = visit()
        self.n_latent_, self.n_components_ = best["n_latent"], best["n_components"]
        self.best_score_ = best["mean_test_score"]
        self.n_candidates_ = len(search.path)
        names = search.path[0]
        self.cv_results_ = {name: np.array([row[name] for row in search.path]) for name in names}
        return self.n_latent_, self.n_components_

    def _pairs(self, training: Training) -> list[Pair]:
        n_columns = max(1, int(self._scaling.varies.sum()))
        most = n_columns * len(self.classes_)
        few = self.search == "halving"
        latent = _listed(self.n_latent)
        if latent is None:
            latent = _spaced(most) if few else list(range(1, most + 1))
        components = _listed(self.n_components) or list(FEW_COMPONENTS if few else COMPONENTS)
        n_rows = len(training.y)
        every = [(int(q), int(m)) for q in latent for m in components]
        pairs = [(q, m) for q, m in every if m == 1 or q * m <= n_rows]
        if not pairs:
            raise ValueError(
                f"No pair of n_latent={latent} and n_components={components} has "
                f"n_latent * n_components <= {n_rows}, the number of rows. Try smaller numbers."
            )
        return pairs


class _Search:
    """Scores candidates and keeps the path."""

    def __init__(self, model: LCMClassifierCV, training: Training, pairs: list[Pair]) -> None:
        self._model, self._pairs = model, pairs
        self.path: list[dict[str, Any]] = []
        numeric, codes = training.table.block(slice(0, training.table.n_rows))
        random = check_random_state(model.random_state)
        self._seed = int(random.randint(2**31))
        left_out = None
        if isinstance(model.cv, int | np.integer):
            fold, n_folds = _share_out(training.y, int(model.cv), random)
        else:
            fold, n_folds, left_out = given_folds(training.y, model.cv, model._numbers)
        self._rows = FoldedRows(
            model._scaling.values(numeric),
            codes,
            training.y,
            training.weight,
            fold,
            n_folds,
            len(model.classes_),
            model._offsets,
            left_out,
        )

    def exhaustive(self) -> dict[str, Any]:
        """All pairs."""
        return _best(self._try(self._pairs, self._model.n_init, self._model.max_iter, 0))

    def semi_greedy(self) -> dict[str, Any]:
        """Each number of latent variables with all numbers of components, as long as it pays."""
        best: dict[str, Any] | None = None
        idle = 0
        for q in sorted({q for q, _ in self._pairs}):
            pairs = [pair for pair in self._pairs if pair[0] == q]
            found = _best(self._try(pairs, self._model.n_init, self._model.max_iter, 0))
            if best is None or found["mean_test_score"] > best["mean_test_score"]:
                best, idle = found, 0
            else:
                idle += 1
            if idle == PATIENCE:
                break
        assert best is not None
        return best

    def halving(self) -> dict[str, Any]:
        """All pairs with little, the better ones with more."""
        pairs, n_init, max_iter = self._pairs, self._model.n_init, self._model.max_iter
        # never with few starts: an average over few is a poor sign of the average over all
        rounds = [
            (max(1, n_init // 2), min(20, max_iter)),
            (max(1, n_init // 2), min(60, max_iter)),
            (n_init, max_iter),
        ]
        for number, (starts, steps) in enumerate(rounds):
            tried = self._try(pairs, starts, steps, number)
            tried.sort(key=lambda row: -row["mean_test_score"])
            n_kept = max(2, -(-len(pairs) // KEPT_SHARE))
            pairs = [(row["n_latent"], row["n_components"]) for row in tried[:n_kept]]
        return tried[0]

    def _try(
        self, pairs: list[Pair], n_init: int, max_iter: int, number: int
    ) -> list[dict[str, Any]]:
        model = self._model

        def evaluate(pair: Pair) -> dict[str, Any]:
            begin = time.perf_counter()
            settings = Settings(
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
            posterior = held_out_log_posterior(self._rows, settings, self._seed)
            scores = _scores(posterior, self._rows, model.scoring)
            return {
                "n_latent": pair[0],
                "n_components": pair[1],
                "n_init": n_init,
                "max_iter": max_iter,
                "mean_test_score": float(scores.mean()),
                "std_test_score": float(scores.std()),
                "seconds": time.perf_counter() - begin,
                "round": number,
            }

        parallel = joblib.Parallel(n_jobs=model.n_jobs, return_as="generator")
        tried = []
        for row in parallel(joblib.delayed(evaluate)(pair) for pair in pairs):
            tried.append(row)
            if model.verbose:
                _print_candidate(row)
        self.path += tried
        return tried


def _print_candidate(row: dict[str, Any]) -> None:
    """One line a candidate on standard error."""
    print(
        f"LCMClassifierCV: n_latent={row['n_latent']}, n_components={row['n_components']}: "
        f"{row['mean_test_score']:.4f} ({row['seconds']:.1f} s)",
        file=sys.stderr,
    )


def _listed(values: Any) -> list[Any] | None:
    """A single number as a list of one."""
    if values is None:
        return None
    return list(values) if hasattr(values, "__iter__") and not isinstance(values, str) else [values]


def _best(tried: list[dict[str, Any]]) -> dict[str, Any]:
    """The highest score; of equal ones the first, which is the smallest model."""
    return max(tried, key=lambda row: row["mean_test_score"])


def _spaced(most: int) -> list[int]:
    """1, 2, 3, ... up to `most`, farther apart as they grow."""
    values = [1]
    while values[-1] < most:
        values.append(min(most, values[-1] + max(1, values[-1] // 2)))
    return values


def _share_out(y: IntArray, cv: int, random: Any) -> tuple[IntArray, int]:
    """Fold of each labelled row, -1 of the others, and the number of folds."""
    labelled = np.flatnonzero(y != UNLABELLED)
    n_folds = min(cv, len(labelled))
    fold = np.full(len(y), -1, dtype=np.intp)
    if n_folds < 2:
        raise ValueError(
            f"cv={cv} folds need two labelled rows at least, y has {len(labelled)}. Use "
            "LCMClassifier."
        )
    counts = np.bincount(y[labelled])
    if counts[counts > 0].min() < n_folds:
        warn_user(
            f"A class has fewer labelled rows ({counts[counts > 0].min()}) than cv={cv} folds: "
            "some folds are tested without it."
        )
    # dealt out class by class, so that a class of any size is spread as evenly as can be
    order = random.permutation(len(labelled))
    order = order[np.argsort(y[labelled][order], kind="stable")]
    fold[labelled[order]] = np.arange(len(labelled)) % n_folds
    return fold, n_folds


def _scores(posterior: FloatArray, rows: FoldedRows, scoring: str) -> FloatArray:
    """Score of each fold, higher is better."""
    tested = np.flatnonzero(rows.fold >= 0)
    y, weight = rows.y[tested], rows.weight[tested]
    if scoring == "accuracy":
        value = (posterior[tested].argmax(axis=1) == y).astype(np.float64)
    else:
        # bounded as scikit-learn's: one row judged impossible must not decide alone
        value = np.maximum(posterior[tested, y], np.log(np.finfo(float).eps))
    total = np.bincount(rows.fold[tested], weight * value, rows.n_folds)
    return np.asarray(total / np.bincount(rows.fold[tested], weight, rows.n_folds))
