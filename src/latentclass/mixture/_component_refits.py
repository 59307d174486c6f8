"""Costly classifiers in the components: naive Bayes searches for them, a few refits follow.

A search takes hundreds of iterations, and in each of them the classifiers of all components of all
starts are fitted. With naive Bayes that is cheap, so it finds the components. Then

    P(c | x, y)  proportional to  P(c) P(x | c) P(y | c, x)

is computed a few more times with the classifiers that are wanted. Trees memorise the labels of the
rows that they have learned from, so here P(y | c, x) of a training row is *cross-fitted*: it comes
from a classifier of the component's other rows. The same probabilities decide how much of P(y | c)
should be mixed into P(y | c, x), so that no class is too improbable.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray, IndexArray
from latentclass.engine import _product as product
from latentclass.engine._logspace import log_normalise
from latentclass.mixture._classifier_em import (
    ClassifierParams,
    ClassifierSearch,
    log_class_posterior,
    log_component,
)
from latentclass.mixture._component_classifiers import (
    LEAST_SHARE,
    EstimatorParams,
    EstimatorSearch,
    EstimatorStats,
)

N_FOLDS = 3
"""Number of parts of the rows that are left out in turn for cross-fitted probabilities."""

LEAST_PROBABILITY = 1e-15
"""Smaller probabilities count as this one in the log-loss."""

DRAWS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Parts of P(y | c, x) that may be P(y | c), unless that of `alpha` is larger."""


def stand_in_shares(search: ClassifierSearch, params: ClassifierParams) -> FloatArray:
    """P(c | x, y) of one start of a search with naive Bayes, shape (n_rows, K)."""
    data, y = search.data, search.y
    joint = log_component(params.mixture, data.rows, data.layout)[:, 0]
    known = np.flatnonzero(y >= 0)
    rows = product.ProductRows(data.rows.numeric[known], data.rows.codes[known])
    density = product.log_density(params.class_components, rows, data.layout)
    given = log_class_posterior(density, params.log_class)[:, 0]
    joint[known] += given[np.arange(len(known)), :, y[known]]
    return np.exp(log_normalise(joint))


def refit_classifiers(
    problem: EstimatorSearch, share: FloatArray, n_refits: int, *, every: bool = True
) -> tuple[EstimatorParams, FloatArray]:
    """Refine the shares of the rows in the components, and fit the classifiers to them.

    Returns the parameters, and the cross-fitted P(y | x) of each row, shape (n_rows, n_classes). It
    is NaN for rows that were not asked for.

    Parameters
    ----------
    problem : EstimatorSearch
    share : array of shape (n_rows, K)
        P(c | x, y), from another classifier.
    n_refits : int
        How often the shares are computed anew with cross-fitted classifiers.
    every : bool
        Whether P(y | x) of every labelled row is needed.
    """
    fold = deal_rows(problem.y)
    asked = np.flatnonzero(problem.y >= 0)
    if share.shape[1] == 1 and not every:
        # all shares are 1, and some of the rows are enough for the draw
        asked = asked[fold[asked] == 0]
    labels, weight = problem.y[asked], problem.data.weight[asked]
    least = problem.draw(share.shape[1])
    held_out = np.full((len(problem.y), problem.n_classes), np.nan)
    for _ in range(max(n_refits, 1)):
        mixture, shares = problem.estimate_mixture(EstimatorStats(share[None]))
        joint = log_component(mixture, problem.data.rows, problem.data.layout)[:, 0]
        within = np.exp(log_normalise(joint[asked]))
        own = cross_fitted(problem, share, shares[0], fold, asked)
        draw = best_draw(within, label_part(own, labels), shares[0][:, labels].T, weight, least)
        own = (1.0 - draw) * own + draw * shares[0]
        held_out[asked] = np.einsum("nk,nky->ny", within, own)
        if n_refits:
            with np.errstate(divide="ignore"):
                joint[asked] += np.log(label_part(own, labels))
            share = np.exp(log_normalise(joint))
    return problem.m_step(EstimatorStats(share[None]), draw), held_out


def label_part(proba: FloatArray, labels: IndexArray) -> FloatArray:
    """The probabilities of the labels, from those of all classes, which are the last axis."""
    return np.asarray(proba[np.arange(len(labels)), ..., labels])


def weighted_losses(held_out: FloatArray, y: IndexArray, weight: FloatArray) -> FloatArray:
    """Log-loss of each row, times its weight; 0 where P(y | x) is not known."""
    known = np.flatnonzero(~np.isnan(held_out[:, 0]))
    of_label = label_part(held_out[known], y[known])
    loss = np.zeros(len(y))
    loss[known] = -weight[known] * np.log(np.maximum(of_label, LEAST_PROBABILITY))
    return loss


def deal_rows(y: IndexArray) -> IndexArray:
    """Part of each row: the rows of a class in turn, in the order that they have by content."""
    fold = np.zeros(len(y), dtype=np.intp)
    for k in np.unique(y):
        rows = np.flatnonzero(y == k)
        fold[rows] = np.arange(len(rows)) % N_FOLDS
    return fold


def cross_fitted(
    problem: EstimatorSearch,
    share: FloatArray,
    shares: FloatArray,
    fold: IndexArray,
    asked: IndexArray,
) -> FloatArray:
    """P(y | c, x) of the rows `asked`, shape (n_asked, K, n_classes).

    Each row is left out of the classifiers that it is asked of. Where the other rows of a component
    are too few, P(y | c).
    """
    known = problem.y >= 0
    out = np.empty((len(asked), *shares.shape))
    for part in np.unique(fold[asked]):
        mine = np.flatnonzero(fold[asked] == part)
        rows = asked[mine]
        for c in range(share.shape[1]):
            out[mine, c] = shares[c]
            others = np.where(fold == part, 0.0, problem.own_share(share, c))
            if not np.any(others[known] > LEAST_SHARE):
                continue
            classifier = problem.fit_classifier(others, shares[c], 0.0)
            if not classifier.failure:  # else it is that of all rows
                out[mine, c] = np.exp(classifier.log_proba(problem.matrix[rows]))
    return out


def best_draw(
    weights: FloatArray, own: FloatArray, typical: FloatArray, amount: FloatArray, least: float
) -> float:
    """The part of P(y | c) in P(y | c, x) with the lowest log-loss, at least `least`.

    `weights` has P(c | x), `own` the P(y | c, x) and `typical` the P(y | c) of the labels, all of
    shape (n_rows, K), and `amount` the weights of the rows.
    """
    candidates = [draw for draw in DRAWS if draw > least] or [least]
    clear, mixed = (weights * own).sum(axis=1), (weights * typical).sum(axis=1)
    losses = [
        -float(amount @ np.log(np.maximum((1.0 - draw) * clear + draw * mixed, LEAST_PROBABILITY)))
        for draw in candidates
    ]
    return candidates[int(np.argmin(losses))]
