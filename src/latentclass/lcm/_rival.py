"""Whether another start of EM found a different solution that is nearly as good.

Two solutions are compared by their loadings alone, so this reads no rows. The measure is Tucker's
coefficient of congruence (Lorenzo-Seva and ten Berge 2006), of latent variables and components that
are matched first, since their order and signs are arbitrary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latentclass._types import FloatArray

NEARLY = float(np.log(20.0))
"""Log-odds of two solutions up to which the rows do not decide between them: 20 to 1."""

DIFFERENT = 0.85
"""Congruence below which loadings are not even similar, by Lorenzo-Seva and ten Berge."""


class Solution(NamedTuple):
    """What is read of a start: M components, n standardised columns or questions, q latent ones.

    Attributes
    ----------
    share : array of shape (M,)
    offsets : array of shape (M, n)
    loadings : array of shape (M, n, q)
    """

    share: FloatArray
    offsets: FloatArray
    loadings: FloatArray


def find_rival(
    solutions: list[Solution], starts: list[int], objective: FloatArray, total_weight: float
) -> dict[str, Any]:
    """The best start that found another solution than the first, if it is nearly as good.

    Parameters
    ----------
    solutions : list of Solution
        The kept starts, the one that is shown first.
    starts : list of int
        Their numbers.
    objective : array
        Objective per row of every start by its number.
    total_weight : float

    Returns
    -------
    dict
        `start`, `below` (the difference of the objectives summed over the rows) and `congruence`;
        empty if there is none.
    """
    below = total_weight * (objective[starts[0]] - objective[starts])
    for k in np.argsort(below, kind="stable").tolist():
        if k == 0 or not below[k] < NEARLY:
            continue
        likeness = congruence(solutions[0], solutions[k])
        if likeness < DIFFERENT:
            return {"start": starts[k], "below": float(below[k]), "congruence": likeness}
    return {}


def congruence(one: Solution, other: Solution) -> float:
    """Mean congruence of the latent variables of two solutions, weighted by what they explain."""
    from scipy.optimize import linear_sum_assignment  # slow to import and rarely needed

    order = linear_sum_assignment(_component_distances(one, other))[1]
    a, b = _stacked(one), _stacked(Solution(*(part[order] for part in other)))
    across, sizes = np.abs(a.T @ b), (a**2).sum() + (b**2).sum()
    if sizes == 0:
        return 1.0
    return float(2.0 * across[linear_sum_assignment(-across)].sum() / sizes)


def _stacked(one: Solution) -> FloatArray:
    """Loadings of all components one below the other, (M n, q), by the shares of these."""
    weighted = np.sqrt(one.share)[:, None, None] * one.loadings
    return np.asarray(weighted.reshape(-1, weighted.shape[2]))


def _component_distances(one: Solution, other: Solution) -> FloatArray:
    """Squared distances of the components' means and common covariances, (M, M).

    Neither depends on the order and the signs of the latent variables. Of two products A A' and
    B B' the squared distance is |A'A|^2 - 2 |A'B|^2 + |B'B|^2.
    """
    a, b = one.loadings, other.loadings
    own = [((np.swapaxes(c, 1, 2) @ c) ** 2).sum(axis=(1, 2)) for c in (a, b)]
    across = np.einsum("knq,mnr->kmqr", a, b)
    means = ((one.offsets[:, None] - other.offsets) ** 2).sum(axis=2)
    return np.asarray(means + own[0][:, None] - 2 * (across**2).sum(axis=(2, 3)) + own[1])
