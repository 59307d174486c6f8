"""Which latent variables an attribute depends on: Geiger and Heckerman's metric, greedily.

The moments of the completed data (structural EM) are scored as if they were data. An attribute
x_i with l parents P among q latent variables has, in each component, the score

    log G((N + a + l + 1) / 2) - log G((a + l + 1) / 2) + (a + 2 l + 1) / 2 log t
        - (N + a + l + 1) / 2 log s - 1 / 2 log |R_P|

up to a constant, with N the component's weight, R the posterior scatter of (x_i, z), s its residual
variance of x_i given P, and the prior scatter t I on a = 2 pseudo-rows beyond the dimension. All
components share the parents, so their scores add up. Adding or dropping one parent changes s and
|R_P| by quantities that the inverse of R_P gives at once: all single changes are scored together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from latentclass.core._em import run_restarts, take_starts
from latentclass.core._lcm import LCMParams, LCMProblem, LCMStats

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

PRIOR_MEAN = 1.0
"""Pseudo-rows on the mean (Geiger and Heckerman's alpha_mu)."""

PRIOR_EXTRA = 2.0
"""Pseudo-rows on the scatter beyond the dimension (alpha_w - d), the least that has a mean."""

PRIOR_SCALE = PRIOR_MEAN * (PRIOR_EXTRA - 1.0) / (PRIOR_MEAN + 1.0)
"""Prior scatter t of each variable."""


ROUNDS = 6
"""Most times that the edges are learned anew."""

STEPS = 20
"""EM iterations between two times."""


def learn_structure(
    problem: LCMProblem, params: LCMParams, rngs: list[np.random.Generator]
) -> LCMParams:
    """Structural EM: some EM steps and the best edges for them in turn, until the edges stay."""
    n_starts = len(params.weighting)
    for _ in range(ROUNDS):
        result = run_restarts(
            problem,
            params,
            tol=0.0,
            max_iter=STEPS,
            rngs=rngs,
            halving=False,
            accelerate=True,
            keep=n_starts,
        )
        # results come best first: back to the order of the starts
        order = np.argsort(result.order)
        params = take_starts(result.params, order)
        stats, _ = problem.e_step(params)
        edges = learn_edges(stats)
        if np.array_equal(edges, params.edges):
            break
        params = params._replace(edges=edges, loadings=params.loadings * edges[:, None])
    return params


def learn_edges(stats: LCMStats) -> BoolArray:
    """Best edges of every attribute by greedy search from the present ones: (S, n, q)."""
    scatter = _scatter(stats)
    edges = stats.edges.copy()
    n_starts, n, q = edges.shape
    for s in range(n_starts):
        for i in range(n):
            edges[s, i] = _climb(edges[s, i], scatter[s], i, q, stats.gram[s, :, -1, -1])
    return edges


def _scatter(stats: LCMStats) -> FloatArray:
    """Posterior scatter of (z, x) in each component, shape (S, M, q + n, q + n).

    Latent variables are first brought to mean 0 and variance 1 over all rows, since the prior
    takes all variables for equally wide. Between attributes the scatter is not known, nor needed.
    """
    gram, cross, square = stats.gram, stats.cross, stats.square
    n, q = cross.shape[2], cross.shape[3] - 1
    weight = gram[..., -1, -1]
    overall = gram.sum(axis=1)
    rows = overall[:, -1, -1][:, None]
    centre = overall[:, :q, -1] / rows
    spread = np.einsum("sqq->sq", overall[:, :q, :q]) / rows - centre**2
    unit = np.sqrt(np.maximum(spread, 1e-8))[:, None]

    total = (gram[..., :q, -1] - weight[..., None] * centre[:, None]) / unit
    moved = centre[:, None, :, None] * gram[..., None, :q, -1]
    second = gram[..., :q, :q] - moved - np.swapaxes(moved, 2, 3)
    second += weight[..., None, None] * (centre[:, :, None] * centre[:, None, :])[:, None]
    second /= unit[..., None] * unit[..., None, :]
    product = (cross[..., :q] - cross[..., -1:] * centre[:, None, None]) / unit[:, :, None]

    out = np.zeros((*weight.shape, q + n, q + n))
    out[..., :q, :q] = second
    out[..., q:, :q] = product
    out[..., :q, q:] = np.swapaxes(product, 2, 3)
    np.einsum("smii->smi", out)[..., q:] = square
    mean_total = np.concatenate([total, cross[..., -1]], axis=-1)
    # scatter about the mean, and the distance of the mean from its prior, 0
    share = 1.0 / np.maximum(weight, 1e-12) - PRIOR_MEAN / (
        np.maximum(weight, 1e-12) * (weight + PRIOR_MEAN)
    )
    out -= share[..., None, None] * mean_total[..., :, None] * mean_total[..., None, :]
    np.einsum("smii->smi", out)[...] += PRIOR_SCALE
    return out


def _climb(
    parents: BoolArray, scatter: FloatArray, attribute: int, q: int, weight: FloatArray
) -> BoolArray:
    """Add or drop the parent that raises the score most, until none does."""
    latent = scatter[:, :q, :q]
    beside = scatter[:, :q, q + attribute]
    own = scatter[:, q + attribute, q + attribute]
    parents = parents.copy()
    for _ in range(2 * q):
        gain = score_changes(parents, latent, beside, own, weight)
        best = int(gain.argmax())
        if gain[best] <= 1e-9:
            break
        parents[best] = ~parents[best]
    return parents


def score_changes(
    parents: BoolArray, latent: FloatArray, beside: FloatArray, own: FloatArray, weight: FloatArray
) -> FloatArray:
    """Gain in score by adding or dropping each latent variable as a parent, shape (q,).

    latent (M, q, q), beside (M, q), own (M,): scatter of z, of z with the attribute, and of the
    attribute; weight (M,).
    """
    n_parents = int(parents.sum())
    masked = latent * (parents[:, None] & parents[None, :])
    np.einsum("mqq->mq", masked)[...] += ~parents
    inverse = np.linalg.inv(masked) * (parents[:, None] & parents[None, :])
    slope = (inverse @ beside[..., None])[..., 0]
    residual = own - (slope * beside).sum(axis=1)
    # given the parents: of the attribute with each other variable, and of that variable
    explained = inverse @ latent
    with_other = beside - (slope[:, None] @ latent)[:, 0]
    other = np.einsum("mqq->mq", latent) - np.einsum("mpq,mpq->mq", explained, latent)
    diagonal = np.where(parents, np.einsum("mqq->mq", inverse), 1.0)
    other = np.where(parents, 1.0, other)
    new_residual = np.where(
        parents, residual[:, None] + slope**2 / diagonal, residual[:, None] - with_other**2 / other
    )
    change = np.where(parents, np.log(diagonal), np.log(other))  # of log |R_P|
    new_count = np.where(parents, n_parents - 1, n_parents + 1)
    before = _score(weight[:, None], residual[:, None], n_parents)
    after = _score(weight[:, None], new_residual, new_count) - 0.5 * change
    return np.asarray((after - before).sum(axis=0))


def _score(weight: FloatArray, residual: FloatArray, n_parents: npt.ArrayLike) -> FloatArray:
    """The score's terms that do not hold |R_P|."""
    a = PRIOR_EXTRA + np.asarray(n_parents) + 1.0
    smallest = np.finfo(float).tiny
    return np.asarray(
        gammaln((weight + a) / 2)
        - gammaln(a / 2)
        + 0.5 * (PRIOR_EXTRA + 2.0 * np.asarray(n_parents) + 1.0) * np.log(PRIOR_SCALE)
        - 0.5 * (weight + a) * np.log(np.maximum(residual, smallest))
    )
