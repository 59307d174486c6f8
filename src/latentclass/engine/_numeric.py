"""Numbers and a division that several engines share."""

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
