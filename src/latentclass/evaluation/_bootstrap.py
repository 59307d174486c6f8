"""How far an estimate or a prediction would move with other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from latentclass._types import FloatArray
from latentclass._validation import check_number


class BootstrapResult(NamedTuple):
    """What a statistic of a model is, and how far it moves with other rows.

    `estimate`, `low` and `high` have the shape of the statistic. `draws` has one more axis in
    front, with one entry per draw. `low` and `high` enclose the given share of the draws.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    draws: FloatArray


def bootstrap(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    statistic: Callable[[Any], Any],
    n_draws: int = 100,
    level: float = 0.9,
    random_state: Any = None,
) -> BootstrapResult:
    """Range of any number of a fitted model: a parameter, a prediction, an effect.

    The model is fitted `n_draws` times to its training rows with random weights (the Bayesian
    bootstrap, Rubin 1981). Each weight is exponential with mean 1, so no class or category is lost.
    Everything that a fit chooses is chosen anew, also the size of a search and the structure.

    Parameters
    ----------
    model : fitted estimator whose `fit` takes `sample_weight`
        It is not changed.
    X, y : its training table and labels
        Leave out y for a `LatentMixture`.
    statistic : callable
        Takes a fitted model and returns a number or an array, always of the same shape. For example
        `lambda fitted: fitted.predict_proba(rows)`.
    n_draws : int, default=100
        Number of fits.
    level : float, default=0.9
        Share of the draws between `low` and `high`.
    random_state : int, RandomState or None, default=None
        Seeds the weights.

    Returns
    -------
    BootstrapResult

    Notes
    -----
    A statistic of one latent variable or component needs the same variable in each draw. Models
    sort theirs by size or by what they explain, which may swap two that are nearly equal.

    Examples
    --------
    >>> from latentclass.baselines import NaiveBayes
    >>> from latentclass.datasets import load_dataset
    >>> iris = load_dataset("iris", container="pandas")
    >>> model = NaiveBayes().fit(iris.X, iris.y)
    >>> flower = iris.X.iloc[[70]]
    >>> virginica = lambda fitted: fitted.predict_proba(flower)[0, 2]
    >>> found = bootstrap(model, iris.X, iris.y, statistic=virginica, random_state=0)
    >>> round(float(found.low), 2), round(float(found.estimate), 2), round(float(found.high), 2)
    (0.52, 0.67, 0.83)
    """
    check_is_fitted(model)
    check_number("n_draws", n_draws, low=2, whole=True)
    check_number("level", level, low=0.0, high=1.0)
    rng = check_random_state(random_state)
    estimate = np.asarray(statistic(model), dtype=float)
    draws = np.empty((n_draws, *estimate.shape))
    labels = () if y is None else (y,)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # a sparse table has no length
    for draw in range(n_draws):
        weight = rng.standard_exponential(n_rows)
        fitted = clone(model).fit(X, *labels, sample_weight=weight)
        value = np.asarray(statistic(fitted), dtype=float)
        if value.shape != estimate.shape:
            raise ValueError(
                f"statistic has shape {value.shape} in draw {draw}, but {estimate.shape} for the "
                "model itself. Let it return the same shape for every fitted model."
            )
        draws[draw] = value
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return BootstrapResult(estimate, low, high, draws)
