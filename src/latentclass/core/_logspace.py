"""Sums and normalisation of probabilities kept as logarithms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def log_sum_exp(log_values: FloatArray) -> FloatArray:
    """log of the sum of exp over the last axis; -inf where all terms are -inf."""
    top = _fold(np.maximum, log_values)
    top[~np.isfinite(top)] = 0.0
    with np.errstate(divide="ignore"):
        total: FloatArray = np.log(_fold(np.add, np.exp(log_values - top[..., None])))
    return total + top


def _fold(function: np.ufunc, values: FloatArray) -> FloatArray:
    """Reduce the last axis. Few terms are taken one by one: numpy is slow at short reductions."""
    n_terms = values.shape[-1]
    if not 0 < n_terms <= 32:
        return np.asarray(function.reduce(values, axis=-1))
    out = values[..., 0].copy()
    for k in range(1, n_terms):
        function(out, values[..., k], out=out)
    return out


def log_normalise(log_values: FloatArray) -> FloatArray:
    """Logarithms that sum to one over the last axis; uniform where nothing is possible."""
    total = log_sum_exp(log_values)[..., None]
    uniform = -np.log(log_values.shape[-1])
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(total), log_values - total, uniform)
