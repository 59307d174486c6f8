"""Boehning's bound: a soft-max column becomes a Gaussian factor.

For the logits a = (a_1, ..., a_K) of a column with K categories, any point psi, p = softmax(psi),
and the category c that was observed

    log softmax(a)_c  >=  kappa' a - |a|^2 / 4 - height(psi),

    kappa = e_c - p + psi / 2,   height = |psi|^2 / 4 - p' psi + log sum_k exp psi_k,

with equality where a = psi. It holds because no second derivative of log-sum-exp exceeds 1/2: the
second derivative along v is the variance of v_k under softmax(a), and a variance is at most a
quarter of the squared range of the v_k, which is at most |v|^2 / 2. So each category is a factor
(kappa, rho) as in `_logistic_bound`, with curvature rho = 1/2 and a kappa of its own for each row.

All categories are treated alike. Logits of a column may be shifted together without changing the
model; the shift of lowest |a|^2 is the one with mean 0, so all logits are kept at mean 0. Every
step of EM preserves it: the kappa of a row sum to 0 then.

`soft` holds the number of categories of each soft-max column. Its questions, one per category, are
the last ones of the discrete columns. In this file arrays hold only these questions, n_s in all.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from latentclass._types import FloatArray

CURVATURE = 0.5
"""rho of every category."""

Soft = tuple[int, ...]
"""Number of categories of each soft-max column."""


def soft_spans(soft: Soft) -> list[slice]:
    """Return the questions of each column."""
    edges = np.concatenate([[0], np.cumsum(soft, dtype=np.intp)]).tolist()
    return [slice(first, last) for first, last in pairwise(edges)]


def log_soft_max(soft: Soft, logits: FloatArray) -> FloatArray:
    """Log-probabilities of all categories, from logits on the last axis."""
    out = np.empty_like(logits)
    for span in soft_spans(soft):
        part = logits[..., span]
        part = part - part.max(axis=-1, keepdims=True)
        out[..., span] = part - np.log(np.exp(part).sum(axis=-1, keepdims=True))
    return out


def centre_logits(soft: Soft, logits: FloatArray) -> FloatArray:
    """Shift the logits on the last axis, of each column, to mean 0."""
    out = np.empty_like(logits)
    for span in soft_spans(soft):
        part = logits[..., span]
        out[..., span] = part - part.mean(axis=-1, keepdims=True)
    return out


def soft_factors(
    soft: Soft, psi: FloatArray, half_signs: FloatArray, shown: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return kappa of each category, (S, M, n_s, R), and the constant of each row, (S, M, R).

    The constant is minus the sum of the heights. `psi` has the shape of kappa. `half_signs`
    (n_s, R) is 1/2 for the observed category. `shown` is 1 for observed cells and 0 for missing
    ones, or None if no cell is missing.
    """
    kappa = psi * 0.5
    rest = np.zeros((*psi.shape[:2], psi.shape[3]))
    for span in soft_spans(soft):
        part = psi[:, :, span]
        top = part.max(axis=2, keepdims=True)
        share = np.exp(part - top)
        total = share.sum(axis=2, keepdims=True)
        share /= total
        height = (part * (0.25 * part - share)).sum(axis=2) + (top + np.log(total))[:, :, 0]
        rest -= height if shown is None else height * shown[span.start]
        kappa[:, :, span] -= share
    kappa += half_signs > 0
    if shown is not None:
        kappa *= shown
    return kappa, rest


def soft_pseudo(soft: Soft, offset: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Factors (kappa, rho) of `alpha` pseudo-counts for each category at z = 0, both (S, M, n_s).

    There the logits are the offsets, and these are also the best psi.
    """
    size = np.repeat(soft, soft).astype(np.float64)
    chance = np.exp(log_soft_max(soft, offset))
    kappa = alpha * (1.0 + size * (CURVATURE * offset - chance))
    return kappa, np.broadcast_to(alpha * CURVATURE * size, kappa.shape)
