"""Sums and normalisation of probabilities kept as logarithms."""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray


def log_sum_exp(log_values: FloatArray) -> FloatArray:
    """log of the sum of exp over the last axis; -inf where all terms are -inf."""
    return split_log(log_values)[1]


def log_normalise(log_values: FloatArray) -> FloatArray:
    """Logarithms that sum to one over the last axis; even where nothing is possible."""
    return split_log(log_values)[0]


def split_log(log_values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares and size: `log_normalise` and `log_sum_exp` of the same terms."""
    # shares relative to the largest term throughout: at -1e17 the log of a sum would be lost
    top = _fold(np.maximum, log_values)
    top[~np.isfinite(top)] = 0.0
    shares = log_values - top[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_sum = np.log(_fold(np.add, np.exp(shares)))
        shares -= log_sum[..., None]
    shares[np.isneginf(log_sum)] = -np.log(log_values.shape[-1])
    return shares, top + log_sum


def split_shares(log_values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`split_log` with the shares themselves, not their logarithms: one exponential a term."""
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


def _fold(function: np.ufunc, values: FloatArray) -> FloatArray:
    """Reduce the last axis. Few terms are taken one by one: numpy is slow at short reductions."""
    n_terms = values.shape[-1]
    if not 0 < n_terms <= 32:
        return np.asarray(function.reduce(values, axis=-1))
    out = values[..., 0].copy()
    for k in range(1, n_terms):
        function(out, values[..., k], out=out)
    return out
