"""Shares of the classes in rows whose classes are not known, given p(x | class) of each row.

EM for the proportions of a mixture whose components are fixed: each row is shared out by its
posterior, and the shares are the means of these (Saerens, Latinne and Decaestecker, "Adjusting the
outputs of a classifier to new a priori probabilities", Neural Computation 14, 2002, eq. 2.10). The
log-likelihood is concave in the shares, so there is one maximum.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._logspace import split_shares

MOST_STEPS = 10_000
STILL = 1e-9
"""EM ends when no share moves by more than this."""


def estimate_shares(
    log_likelihood: FloatArray, weight: FloatArray, expected: FloatArray
) -> FloatArray:
    """The most probable shares of the classes.

    Parameters
    ----------
    log_likelihood : array of shape (n_rows, n_classes)
        log p(x | class); constants of a row do not matter.
    weight : array of shape (n_rows,)
    expected : array of shape (n_classes,)
        Rows of each class that count as seen before: the prior is a Dirichlet distribution with
        `expected + 1`.
    """
    shares = expected / expected.sum()
    for _ in range(MOST_STEPS):
        with np.errstate(divide="ignore"):
            posterior, _ = split_shares(log_likelihood + np.log(shares))
        total = weight @ posterior + expected
        before, shares = shares, total / total.sum()
        if np.abs(shares - before).max() <= STILL:
            break
    return np.asarray(shares)
