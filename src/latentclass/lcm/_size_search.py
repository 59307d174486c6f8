"""Search for the size of a model, numbers of latent variables and components, in inner folds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray
from latentclass._validation import MOST_STATES, check_number, check_option
from latentclass.engine._parallel import map_blocks
from latentclass.estimator._fitted import Learned
from latentclass.estimator._inner_folds import (
    InnerFolds,
    check_inner_cv,
    is_number,
    make_folds,
    sample_rows,
)
from latentclass.estimator._reading import Training

PATIENCE = 3
"""The semi-greedy search ends when this many consecutive numbers of latent variables bring no
improvement."""

SHORT_ITER = 20
"""Iterations of EM that are enough to compare sizes."""

SEARCH_ROWS = 2_000
"""Rows that are enough to compare sizes."""

Pair = tuple[int, int]
"""Numbers of latent variables and of components."""

HeldOut = Callable[[Pair, int, int], FloatArray]
"""From a pair, `n_init` and `max_iter` to log P(class | x) of each row that a fold tests, by the
model that was fitted to the fold's training part; shape (n_tests, n_classes)."""


def check_search(estimator: Any) -> None:
    """Refuse sizes, searches, scores and folds that make no sense."""
    for name in ("n_latent", "n_components"):
        if isinstance(getattr(estimator, name), Iterator):
            raise TypeError(f"{name} is an iterator, which can be read only once: pass a list.")
        values = listed(getattr(estimator, name))
        if values is not None and not values:
            raise ValueError(f"{name} is empty: list whole numbers to try, or pass None.")
        for value in values or ():
            check_number(name, value, low=1, high=MOST_STATES, whole=True)
    check_option("search", estimator.search, ("stepwise", "semi_greedy", "exhaustive"))
    check_option("scoring", estimator.scoring, ("log_loss", "accuracy"))
    check_inner_cv(estimator.cv)


def listed(values: Any) -> list[Any] | None:
    """A single number as a list of one."""
    if values is None:
        return None
    return list(values) if hasattr(values, "__iter__") and not isinstance(values, str) else [values]


def rows_to_search(
    training: Training, cv: Any, seed: int, search: str
) -> tuple[Training, Training, InnerFolds]:
    """All distinct rows, those that the search uses, and folds of these."""
    if search == "stepwise" and is_number(cv):
        training, part = sample_rows(training, SEARCH_ROWS, seed)
        return training, *make_folds(part, cv, seed)
    training, folds = make_folds(training, cv, seed)
    return training, training, folds


def fit_each_fold(
    fit_part: Callable[[Training, Pair, int, int], Learned], training: Training, folds: InnerFolds
) -> HeldOut:
    """Held-out probabilities by a fit to each training part.

    `fit_part` learns from a training part, given the pair, `n_init` and `max_iter`.
    """

    def held_out(pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        posterior = np.zeros((len(folds.row), training.n_classes))
        for number in range(folds.n_folds):
            learned = fit_part(folds.training_part(training, number), pair, n_init, max_iter)
            model, mine = learned.model, folds.fold == number
            posterior[mine] = model.log_posterior(
                training.table.take(folds.row[mine]), model.log_prior, learned.temperature, None
            )
        return posterior

    return held_out


# ------------------------------------------------------------------- search


class FoundSize(NamedTuple):
    """The best pair, its noise and mean score, and all candidates in the order of their trial.

    `bent` says whether the columns have a power transform.
    """

    pair: Pair
    noise: str | None = None
    bent: bool = False
    score: float = np.nan
    path: tuple[dict[str, Any], ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """The estimators' attributes about the search."""
        names = self.path[0] if self.path else ()
        return {
            "n_latent_": self.pair[0],
            "n_components_": self.pair[1],
            **({} if self.noise is None else self._of_numbers),
            "best_score_": self.score,
            "n_candidates_": len(self.path),
            "cv_results_": {name: np.array([row[name] for row in self.path]) for name in names},
        }

    @property
    def _of_numbers(self) -> dict[str, Any]:
        return {"noise_": self.noise, "power_transform_": self.bent}


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Scores candidates in folds of the training rows.

    Attributes
    ----------
    pairs : list of (int, int)
        Numbers of latent variables and of components to try.
    held_out : callable
        See `HeldOut`.
    training : Training
    folds : InnerFolds
    scoring : {"log_loss", "accuracy"}
    n_init, max_iter : int
        Starts and iterations of a candidate that is tried in full.
    n_jobs : int or None
    owner : str or None
        Who is named in the lines printed about candidates; None prints nothing.
    noise : {"tied", "untied"} or None
        That of all candidates, if they have any.
    bent : bool
        Whether the columns have a power transform; told only if there is noise.
    begin : (int, int) or None
        Where the stepwise search begins; None is the second number of both lists.
    """

    pairs: list[Pair]
    held_out: HeldOut
    training: Training
    folds: InnerFolds
    scoring: str
    n_init: int
    max_iter: int
    n_jobs: int | None
    owner: str | None
    noise: str | None = None
    bent: bool = False
    begin: Pair | None = None

    def run(self, search: str) -> FoundSize:
        """Search by its name."""
        visit = {
            "stepwise": self.stepwise,
            "semi_greedy": self.semi_greedy,
            "exhaustive": self.exhaustive,
        }[search]
        best, path = visit()
        pair = best["n_latent"], best["n_components"]
        return FoundSize(pair, self.noise, self.bent, best["mean_test_score"], tuple(path))

    def exhaustive(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """All pairs: the best candidate, and all of them."""
        tried = self._try(self.pairs, self.n_init, self.max_iter, 0)
        return _best(tried), tried

    def semi_greedy(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """More and more latent variables, each with all numbers of components, while it helps."""
        path: list[dict[str, Any]] = []
        best: dict[str, Any] | None = None
        idle = 0
        for q in sorted({q for q, _ in self.pairs}):
            pairs = [pair for pair in self.pairs if pair[0] == q]
            tried = self._try(pairs, self.n_init, self.max_iter, 0)
            path += tried
            found = _best(tried)
            if best is None or _merit(found) > _merit(best):
                best, idle = found, 0
            else:
                idle += 1
            if idle == PATIENCE:
                break
        assert best is not None
        return best, path

    def stepwise(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """From a small pair to the best of its neighbours, while one of them is better.

        Half the starts and few iterations are enough to compare sizes. Very few starts are not:
        their average says little about the average over all.
        """
        effort = max(1, self.n_init // 2), min(SHORT_ITER, self.max_iter)
        tried: dict[Pair, dict[str, Any]] = {}
        latent, components = (sorted(set(numbers)) for numbers in zip(*self.pairs, strict=True))
        second = latent[:2][-1], components[:2][-1]
        begin = self.begin or second
        new = [begin if begin in self.pairs else min(self.pairs)]
        number = 0
        while new:
            tried.update(zip(new, self._try(new, *effort, number), strict=True))
            best = max(sorted(tried), key=lambda pair: _merit(tried[pair]))
            new = [pair for pair in _neighbours(best, self.pairs) if pair not in tried]
            number += 1
        return tried[best], list(tried.values())

    def _try(
        self, pairs: list[Pair], n_init: int, max_iter: int, number: int
    ) -> list[dict[str, Any]]:
        def evaluate(pair: Pair) -> dict[str, Any]:
            begin = time.perf_counter()
            scores = self._scores(pair, n_init, max_iter)
            return {
                "n_latent": pair[0],
                "n_components": pair[1],
                **self._scales,
                "n_init": n_init,
                "max_iter": max_iter,
                "mean_test_score": float(scores.mean()),
                "std_test_score": float(scores.std()),
                "seconds": time.perf_counter() - begin,
                "round": number,
            }

        tried = []
        for row in map_blocks(evaluate, pairs, self.n_jobs):
            tried.append(row)
            if self.owner is not None:
                _print_candidate(self.owner, row)
        return tried

    @property
    def _scales(self) -> dict[str, Any]:
        if self.noise is None:
            return {}
        return {"noise": self.noise, "power_transform": self.bent}

    def _scores(self, pair: Pair, n_init: int, max_iter: int) -> FloatArray:
        """Score of each fold, higher is better."""
        fold, weight, n_folds = self.folds.fold, self.folds.weight, self.folds.n_folds
        posterior = self.held_out(pair, n_init, max_iter)
        y = self.training.y[self.folds.row]
        if self.scoring == "accuracy":
            value = (posterior.argmax(axis=1) == y).astype(np.float64)
        else:
            # bounded as in scikit-learn: a single row with probability 0 must not decide
            value = np.maximum(posterior[np.arange(len(y)), y], np.log(np.finfo(float).eps))
        total = np.bincount(fold, weight * value, n_folds)
        return np.asarray(total / np.bincount(fold, weight, n_folds))


def _print_candidate(owner: str, row: dict[str, Any]) -> None:
    """Print one line per candidate to standard error."""
    print(
        f"{owner}: n_latent={row['n_latent']}, n_components={row['n_components']}"
        f"{', noise=' + row['noise'] if 'noise' in row else ''}"
        f"{', power_transform=True' if row.get('power_transform') else ''}: "
        f"{row['mean_test_score']:.4f} ({row['seconds']:.1f} s)",
        file=sys.stderr,
    )


def _best(tried: list[dict[str, Any]]) -> dict[str, Any]:
    """The highest score; of equal ones the first, which is the smallest model."""
    return max(tried, key=_merit)


def _neighbours(pair: Pair, pairs: list[Pair]) -> list[Pair]:
    """Pairs with the next smaller or larger of one number, and the other one the same."""
    found = []
    for axis in (0, 1):
        line = sorted({other for other in pairs if other[1 - axis] == pair[1 - axis]})
        place = line.index(pair)
        found += line[max(0, place - 1) : place] + line[place + 1 : place + 2]
    return found


def _merit(row: dict[str, Any]) -> float:
    """Mean score; rounded, because further digits depend on the order of the rows."""
    return round(float(row["mean_test_score"]), 9)
