"""Numbers, sums and a division that several engines share."""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray

LOG_2PI = float(np.log(2.0 * np.pi))

VALUE_LIMIT = 1e100
"""Standardised values beyond this are clipped to it, so that their squares stay finite."""


def divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide, with 0 wherever the denominator is not positive.

    Examples
    --------
    >>> divide(np.array([3.0, 3.0]), np.array([2.0, 0.0]))
    array([1.5, 0. ])
    """
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def sums_without_each(terms: FloatArray) -> FloatArray:
    """Sum of all terms but one on axis 1, for each of them.

    Nothing is taken away again, so infinite terms do no harm and large ones leave no rounding.

    Examples
    --------
    >>> sums_without_each(np.array([[1.0, 2.0, -np.inf]]))
    array([[-inf, -inf,   3.]])
    """
    before, after = np.zeros_like(terms), np.zeros_like(terms)
    np.cumsum(terms[:, :-1], axis=1, out=before[:, 1:])
    np.cumsum(terms[:, :0:-1], axis=1, out=after[:, -2::-1])
    return before + after
