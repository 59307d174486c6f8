"""Learn which latent variables an attribute depends on, by Geiger and Heckerman's metric.

This is the structure learning of Langseth and Nielsen (2005, section 4.1). The moments of the
completed data (structural EM) are scored as if they were data. An attribute x_i with l parents P
among q latent variables has, in each component, the score

    log G((N + a + l + 1) / 2) - log G((a + l + 1) / 2) + (a + 2 l + 1) / 2 log t
        - (N + a + l + 1) / 2 log s - 1 / 2 log |R_P|

up to a constant. N is the weight of the component, R the posterior scatter of (x_i, z), and s the
residual scatter of x_i given P. The prior scatter is t I, on a = 2 pseudo-rows more than the
dimension. All components share the parents, so their scores are added. The changes of s and |R_P|
when one parent is added or dropped follow from the inverse of R_P, so all single changes are scored
together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from latentclass._types import BoolArray, FloatArray
from latentclass.engine._em import run_restarts, take_starts
from latentclass.lcm._em import LCMParams, LCMProblem, LCMStats

PRIOR_MEAN = 1.0
"""Pseudo-rows on the mean (Geiger and Heckerman's alpha_mu)."""

PRIOR_EXTRA = 2.0
"""Pseudo-rows on the scatter beyond the dimension (alpha_w - d): the smallest for which its mean
exists."""

PRIOR_SCALE = PRIOR_MEAN * (PRIOR_EXTRA - 1.0) / (PRIOR_MEAN + 1.0)
"""Prior scatter t of each variable."""


ROUNDS = 6
"""Maximum number of times that the edges are learned."""

STEPS = 20
"""EM iterations before each of these times."""


def learn_structure(
    problem: LCMProblem, params: LCMParams, rngs: list[np.random.Generator], max_iter: int
) -> LCMParams:
    """Structural EM: alternate EM steps and the best edges for them, until the edges stay the same.

    At most `max_iter` EM steps are taken, or those of one round if that is more.
    """
    n_starts = len(params.weighting)
    for _ in range(max(1, min(ROUNDS, max_iter // STEPS))):
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
        # results are sorted, best first: restore the order of the starts
        order = np.argsort(result.order)
        params = take_starts(result.params, order)
        stats, _ = problem.e_step(params)
        edges = learn_edges(stats)
        if np.array_equal(edges, params.edges):
            break
        params = params._replace(edges=edges, loadings=params.loadings * edges[:, None])
    return params


BLOCK_VALUES = 2**21
"""Maximum size of a temporary array, in numbers (16 MB)."""


def learn_edges(stats: LCMStats) -> BoolArray:
    """Return the best edges of every attribute, (S, n, q), by greedy search."""
    latent, beside, own = _scatter(stats)
    n_starts, n, q = stats.edges.shape
    weight = stats.gram[..., -1, -1]
    most = max(1, BLOCK_VALUES // (weight.shape[1] * q * q))
    edges = stats.edges.reshape(-1, q).copy()
    start, attribute = np.divmod(np.arange(n_starts * n), n)
    for first in range(0, len(edges), most):
        part = slice(first, first + most)
        s, i = start[part], attribute[part]
        edges[part] = _climb(edges[part], latent[s], beside[s, :, i], own[s, :, i], weight[s])
    return edges.reshape(n_starts, n, q)


def _climb(
    parents: BoolArray, latent: FloatArray, beside: FloatArray, own: FloatArray, weight: FloatArray
) -> BoolArray:
    """In each family, add or drop the parent that raises the score most, until none does."""
    parents = parents.copy()
    moving = np.arange(len(parents))
    for _ in range(2 * parents.shape[1]):
        gain = score_changes(
            parents[moving], latent[moving], beside[moving], own[moving], weight[moving]
        )
        best = gain.argmax(axis=1)
        better = gain[np.arange(len(moving)), best] > 1e-9
        moving, best = moving[better], best[better]
        if not moving.size:
            break
        parents[moving, best] = ~parents[moving, best]
    return parents


def _scatter(stats: LCMStats) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the posterior scatter in each component: of z, of x with z, and of x with itself.

    Shapes (S, M, q, q), (S, M, n, q) and (S, M, n). Latent variables are first scaled to mean 0 and
    variance 1 over all rows, since the prior is the same for all variables. The scatter between
    attributes is neither known nor needed.
    """
    gram, cross, square = stats.gram, stats.cross, stats.square
    q = cross.shape[3] - 1
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

    # scatter about the mean, and the distance of the mean from its prior, 0
    share = 1.0 / np.maximum(weight, 1e-12) - PRIOR_MEAN / (
        np.maximum(weight, 1e-12) * (weight + PRIOR_MEAN)
    )
    share, attribute = share[..., None], cross[..., -1]
    second -= share[..., None] * total[..., :, None] * total[..., None, :]
    np.einsum("smqq->smq", second)[...] += PRIOR_SCALE
    product -= (share * attribute)[..., None] * total[..., None, :]
    return second, product, square - share * attribute**2 + PRIOR_SCALE


def score_changes(
    parents: BoolArray, latent: FloatArray, beside: FloatArray, own: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return the gain in score by adding or dropping each latent variable as a parent, (F, q).

    There are F families, each an attribute of one start. `parents` has shape (F, q). `latent`
    (F, M, q, q), `beside` (F, M, q) and `own` (F, M) are the scatter of z, of z with the attribute,
    and of the attribute. `weight` has shape (F, M).
    """
    n_parents = parents.sum(axis=1)[:, None, None]
    inside = (parents[:, :, None] & parents[:, None, :])[:, None]
    is_parent = parents[:, None]
    masked = latent * inside
    np.einsum("fmqq->fmq", masked)[...] += ~is_parent
    inverse = np.linalg.inv(masked) * inside
    slope = (inverse @ beside[..., None])[..., 0]
    residual = (own - (slope * beside).sum(axis=2))[..., None]
    # given the parents: of the attribute with each other variable, and of that variable
    with_other = beside - (slope[:, :, None] @ latent)[:, :, 0]
    other = np.einsum("fmqq->fmq", latent) - ((inverse @ latent) * latent).sum(axis=2)
    diagonal = np.where(is_parent, np.einsum("fmqq->fmq", inverse), 1.0)
    other = np.where(is_parent, 1.0, other)
    new_residual = np.where(
        is_parent, residual + slope**2 / diagonal, residual - with_other**2 / other
    )
    change = np.where(is_parent, np.log(diagonal), np.log(other))  # of log |R_P|
    new_count = np.where(is_parent, n_parents - 1, n_parents + 1)
    before = _score(weight[..., None], residual, n_parents)
    after = _score(weight[..., None], new_residual, new_count) - 0.5 * change
    return np.asarray((after - before).sum(axis=1))


def _score(weight: FloatArray, residual: FloatArray, n_parents: npt.ArrayLike) -> FloatArray:
    """Return the terms of the score that do not contain |R_P|."""
    a = PRIOR_EXTRA + np.asarray(n_parents) + 1.0
    smallest = np.finfo(float).tiny
    return np.asarray(
        gammaln((weight + a) / 2)
        - gammaln(a / 2)
        + 0.5 * (PRIOR_EXTRA + 2.0 * np.asarray(n_parents) + 1.0) * np.log(PRIOR_SCALE)
        - 0.5 * (weight + a) * np.log(np.maximum(residual, smallest))
    )
