"""Sums and normalisation of probabilities in log space."""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray, IndexArray


def log_sum_exp(log_values: FloatArray) -> FloatArray:
    """Log of the sum of exp over the last axis; -inf if all terms are -inf."""
    return split_log(log_values)[1]


def log_normalise(log_values: FloatArray) -> FloatArray:
    """Return log shares over the last axis; equal shares if all terms are -inf."""
    return split_log(log_values)[0]


def split_log(log_values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `log_normalise` and `log_sum_exp` of the same terms."""
    # stay relative to the largest term: near -1e17, adding the log of the sum would lose it
    top = _fold(np.maximum, log_values)
    top[~np.isfinite(top)] = 0.0
    shares = log_values - top[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_sum = np.log(_fold(np.add, np.exp(shares)))
        shares -= log_sum[..., None]
    shares[np.isneginf(log_sum)] = -np.log(log_values.shape[-1])
    return shares, top + log_sum


def split_shares(log_values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Do the same as `split_log`, but return shares, not their logs: one exponential per term."""
    top = _fold(np.maximum, log_values)
    top[~np.isfinite(top)] = 0.0
    shares = log_values - top[..., None]
    np.exp(shares, out=shares)
    total = _fold(np.add, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares /= total[..., None]
        log_sum = np.log(total)
    shares[total == 0] = 1.0 / log_values.shape[-1]
    return shares, top + log_sum


def first_largest(values: FloatArray) -> IndexArray:
    """Return the place of the largest value on the last axis, the first of equal ones."""
    n_rows, n_terms = values.shape
    if not 0 < n_terms <= 32:
        return np.asarray(values.argmax(axis=1))
    best, top = np.zeros(n_rows, dtype=np.intp), values[:, 0].copy()
    for k in range(1, n_terms):
        best[values[:, k] > top] = k
        np.maximum(top, values[:, k], out=top)
    return best


def _fold(function: np.ufunc, values: FloatArray) -> FloatArray:
    """Reduce the last axis; a few terms in a Python loop, as numpy is slow at short reductions."""
    n_terms = values.shape[-1]
    if not 0 < n_terms <= 32:
        return np.asarray(function.reduce(values, axis=-1))
    out = values[..., 0].copy()
    for k in range(1, n_terms):
        function(out, values[..., k], out=out)
    return out
