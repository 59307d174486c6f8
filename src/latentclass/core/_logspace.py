"""Sums and normalisation of probabilities kept as logarithms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def log_sum_exp(log_values: FloatArray) -> FloatArray:
    """log of the sum of exp over the last axis; -inf where all terms are -inf."""
    top = log_values.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: FloatArray = np.log(np.exp(log_values - top).sum(axis=-1))
    return total + top[..., 0]


def log_normalise(log_values: FloatArray) -> FloatArray:
    """Logarithms that sum to one over the last axis; uniform where nothing is possible."""
    total = log_sum_exp(log_values)[..., None]
    uniform = -np.log(log_values.shape[-1])
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(total), log_values - total, uniform)
