"""Search for the size of a model, numbers of latent variables and components, in inner folds."""

from __future__ import annotations

import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from latentclass._types import FloatArray, IndexArray
from latentclass._validation import check_number, check_option
from latentclass._warn import warn_user
from latentclass.data._labels import UNLABELLED
from latentclass.estimator._legacy_folds import check_inner_cv, given_folds
from latentclass.estimator._legacy_reading import Training

PATIENCE = 3
"""The semi-greedy search ends when this many numbers of latent variables in a row bring nothing."""

KEPT_SHARE = 4
"""Of the candidates of a round of halving, one in this many goes on."""

Pair = tuple[int, int]


def check_search(model: Any) -> None:
    """Refuse sizes, searches, scores and folds that make no sense."""
    for name in ("n_latent", "n_components"):
        if isinstance(getattr(model, name), Iterator):
            raise TypeError(f"{name} is an iterator, which can be read only once: pass a list.")
        values = listed(getattr(model, name))
        if values is not None and not values:
            raise ValueError(f"{name} is empty: list whole numbers to try, or pass None.")
        for value in values or ():
            check_number(name, value, low=1, whole=True)
    check_option("search", model.search, ("halving", "semi_greedy", "exhaustive"))
    check_option("scoring", model.scoring, ("log_loss", "accuracy"))
    check_inner_cv(model.cv)


class SizeSearch(ABC):
    """Scores candidates in folds of the training rows, and keeps the path.

    Parameters
    ----------
    model : estimator
        With the parameters cv, scoring, n_init, max_iter, random_state, n_jobs and verbose.
    training : Training
    pairs : list of (int, int)
        Numbers of latent variables and of components to try.
    """

    def __init__(self, model: Any, training: Training, pairs: list[Pair]) -> None:
        self._model, self._training, self._pairs = model, training, pairs
        self.path: list[dict[str, Any]] = []
        random = check_random_state(model.random_state)
        self._seed = int(random.randint(2**31))
        self._left_out = None
        if isinstance(model.cv, int | np.integer):
            self._fold, self._n_folds = share_out(training.y, int(model.cv), random)
        else:
            folds = given_folds(training.y, model.cv, model._numbers, model._n_given)
            self._fold, self._n_folds, self._left_out = folds

    @abstractmethod
    def held_out(self, pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        """log P(class | x) of each row by the model that was fitted without its fold.

        Shape (n_rows, n_classes); of rows in no fold anything.
        """

    def run(self, search: str) -> dict[str, Any]:
        """The best candidate of a search by its name."""
        visit = {
            "halving": self.halving,
            "semi_greedy": self.semi_greedy,
            "exhaustive": self.exhaustive,
        }[search]
        return visit()

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
        def evaluate(pair: Pair) -> dict[str, Any]:
            begin = time.perf_counter()
            scores = self._scores(pair, n_init, max_iter)
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

        parallel = joblib.Parallel(n_jobs=self._model.n_jobs, return_as="generator")
        tried = []
        for row in parallel(joblib.delayed(evaluate)(pair) for pair in pairs):
            tried.append(row)
            if self._model.verbose:
                _print_candidate(type(self._model).__name__, row)
        self.path += tried
        return tried

    def _scores(self, pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        """Score of each fold, higher is better."""
        tested = np.flatnonzero(self._fold >= 0)
        posterior = self.held_out(pair, n_init, max_iter)[tested]
        y, weight = self._training.y[tested], self._training.weight[tested]
        if self._model.scoring == "accuracy":
            value = (posterior.argmax(axis=1) == y).astype(np.float64)
        else:
            # bounded as scikit-learn's: one row judged impossible must not decide alone
            value = np.maximum(posterior[np.arange(len(y)), y], np.log(np.finfo(float).eps))
        fold = self._fold[tested]
        total = np.bincount(fold, weight * value, self._n_folds)
        return np.asarray(total / np.bincount(fold, weight, self._n_folds))


class FittedSearch(SizeSearch):
    """A search that fits each candidate (the estimator's `_candidate`) to each training part."""

    def held_out(self, pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        """See `SizeSearch`."""
        table, y, weight = self._training
        model = self._model
        posterior = np.zeros((len(y), len(model.classes_)))
        for fold in range(self._n_folds):
            test = self._fold == fold
            train = ~test if self._left_out is None else ~test & ~self._left_out[fold]
            candidate = model._candidate(pair, n_init, max_iter)
            candidate.random_state = self._seed
            candidate.schema_, candidate.classes_ = model.schema_, model.classes_
            candidate.temperature_ = 1.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                candidate._fit_training(Training(table.take(train), y[train], weight[train]), None)
            posterior[test] = candidate._log_posterior(table.take(test), None)
        return posterior


def find_size(model: Any, pairs: list[Pair], make: Callable[[], SizeSearch]) -> Pair:
    """The best pair; what was tried is kept in the model. With one pair nothing is searched."""
    model.cv_results_, model.n_candidates_, model.best_score_ = {}, 0, np.nan
    model.n_latent_, model.n_components_ = pairs[0]
    if len(pairs) > 1:
        search = make()
        best = search.run(model.search)
        model.n_latent_, model.n_components_ = best["n_latent"], best["n_components"]
        model.best_score_, model.n_candidates_ = best["mean_test_score"], len(search.path)
        names = search.path[0]
        model.cv_results_ = {name: np.array([row[name] for row in search.path]) for name in names}
    return model.n_latent_, model.n_components_


def _print_candidate(owner: str, row: dict[str, Any]) -> None:
    """One line a candidate on standard error."""
    print(
        f"{owner}: n_latent={row['n_latent']}, n_components={row['n_components']}: "
        f"{row['mean_test_score']:.4f} ({row['seconds']:.1f} s)",
        file=sys.stderr,
    )


def listed(values: Any) -> list[Any] | None:
    """A single number as a list of one."""
    if values is None:
        return None
    return list(values) if hasattr(values, "__iter__") and not isinstance(values, str) else [values]


def _best(tried: list[dict[str, Any]]) -> dict[str, Any]:
    """The highest score; of equal ones the first, which is the smallest model."""
    return max(tried, key=lambda row: row["mean_test_score"])


def share_out(y: IndexArray, cv: int, random: Any) -> tuple[IndexArray, int]:
    """Fold of each labelled row, -1 of the others, and the number of folds."""
    labelled = np.flatnonzero(y != UNLABELLED)
    n_folds = min(cv, len(labelled))
    fold = np.full(len(y), -1, dtype=np.intp)
    if n_folds < 2:
        raise ValueError(
            f"cv={cv} folds need two labelled rows at least, y has {len(labelled)}. Use "
            "the model without search."
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
