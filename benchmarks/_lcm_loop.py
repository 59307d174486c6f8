"""The paper's EM for latent classification models, as one would write it in NumPy: a yardstick.

Complete, labelled data. Loops over restarts, iterations, components and classes; whole arrays over
rows. The rules are those of Langseth and Nielsen (2005), section 4.2 and appendix B, with the
offset in E[z | x, y, m] and the divisor of the untied noise put right. Nothing is slow on purpose:
one Cholesky factor per component and class, no loop over rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

FLOOR = 1e-6
"""Smallest noise as a share of the column's variance, and smallest latent variance."""


class Params(NamedTuple):
    class_prior: np.ndarray  # (Y,)
    component_prior: np.ndarray  # (Y, M)
    loadings: np.ndarray  # (M, n, q)
    offsets: np.ndarray  # (M, n)
    noise: np.ndarray  # (M, n)
    latent_means: np.ndarray  # (Y, q)
    latent_variances: np.ndarray  # (Y, q)


@dataclass(frozen=True)
class Fit:
    """The restart with the highest training accuracy; `n_iter` counts the steps of all restarts."""

    params: Params
    accuracy: float
    log_likelihood: float
    n_iter: int

    def predict_log_joint(self, X: np.ndarray) -> np.ndarray:
        return predict_log_joint(self.params, X)


def random_start(X: np.ndarray, y: np.ndarray, q: int, m: int, rng: np.random.Generator) -> Params:
    """Random loadings and latent means; the components start at rows drawn from the data."""
    n_classes, n = int(y.max()) + 1, X.shape[1]
    mean, variance = X.mean(axis=0), X.var(axis=0)
    at_rows = X[rng.choice(len(X), m, replace=m > len(X))]
    return Params(
        class_prior=np.bincount(y) / len(y),
        component_prior=np.full((n_classes, m), 1.0 / m),
        loadings=rng.normal(size=(m, n, q)) * np.sqrt(variance / (2 * q))[:, None],
        offsets=at_rows if m > 1 else mean[None, :],
        noise=np.tile(variance / 2, (m, 1)),
        latent_means=rng.normal(size=(n_classes, q)),
        latent_variances=np.ones((n_classes, q)),
    )


def em_step(
    params: Params, X: np.ndarray, rows_of: list[np.ndarray], tied: bool, floor: np.ndarray
) -> tuple[Params, float]:
    """One EM step, and the log-likelihood at the old parameters.

    `rows_of[k]` are the rows of class k; `floor` is the smallest noise of each column.
    """
    n_rows, n = X.shape
    n_components, _, q = params.loadings.shape
    n_classes = len(rows_of)
    responsibility = np.empty((n_rows, n_components))
    latent = np.empty((n_components, n_rows, q))
    covariance = np.empty((n_components, n_classes, q, q))
    counts = np.empty((n_classes, n_components))
    latent_means = np.empty((n_classes, q))
    latent_variances = np.empty((n_classes, q))
    log_likelihood = 0.0

    # class by class: P(m | row), E[z | row, m] and Cov[z | m] (one for all rows), then mu and Gamma
    for k, rows in enumerate(rows_of):
        X_k = X[rows]
        gamma = params.latent_variances[k]
        z = np.empty((n_components, len(rows), q))
        log_joint = np.empty((len(rows), n_components))
        for m in range(n_components):
            log_joint[:, m], white, whitener = _log_density(params, X_k, m, k)
            half_gain = whitener @ (params.loadings[m] * gamma)
            z[m] = params.latent_means[k] + white @ half_gain
            covariance[m, k] = np.diag(gamma) - half_gain.T @ half_gain
        log_joint += _log_shares(params, k)
        total = _logsumexp(log_joint)
        log_likelihood += total.sum()
        share = np.exp(log_joint - total[:, None])
        counts[k] = share.sum(axis=0)
        latent_means[k] = np.tensordot(share.T, z, axes=2) / len(rows)
        squares = np.tensordot(share.T, (z - latent_means[k]) ** 2, axes=2)
        own = counts[k] @ np.diagonal(covariance[:, k], axis1=1, axis2=2)
        latent_variances[k] = (squares + own) / len(rows)
        responsibility[rows], latent[:, rows] = share, z

    # component by component: the attributes' regressions on (z, 1), and the noise about them
    loadings, offsets = params.loadings.copy(), params.offsets.copy()
    squares = np.zeros((n_components, n))
    weight = counts.sum(axis=0)
    alive = weight > 1e-10  # a component that has lost all rows keeps its place
    ones = np.ones((n_rows, 1))
    for m in np.flatnonzero(alive):
        augmented = np.hstack([latent[m], ones])
        weighted = responsibility[:, m, None] * augmented
        normal = weighted.T @ augmented
        normal[:q, :q] += np.tensordot(counts[:, m], covariance[m], axes=1)
        solution = np.linalg.solve(normal, weighted.T @ X)
        loadings[m], offsets[m] = solution[:q].T, solution[q]
        squares[m] = responsibility[:, m] @ ((X - augmented @ solution) * X)
    if tied:
        noise = np.tile(squares.sum(axis=0) / n_rows, (n_components, 1))
    else:
        noise = params.noise.copy()
        noise[alive] = squares[alive] / weight[alive, None]

    new = Params(
        class_prior=counts.sum(axis=1) / n_rows,
        component_prior=counts / counts.sum(axis=1, keepdims=True),
        loadings=loadings,
        offsets=offsets,
        noise=np.maximum(noise, floor),
        latent_means=latent_means,
        latent_variances=np.maximum(latent_variances, FLOOR),
    )
    return new, log_likelihood


def run_em(
    params: Params, X: np.ndarray, y: np.ndarray, tied: bool, max_iter: int, tol: float
) -> tuple[Params, float, int]:
    """Steps until the log-likelihood's relative gain is below `tol`.

    Returns the parameters, the log-likelihood one step before them, and the number of steps.
    """
    rows_of = [np.flatnonzero(y == k) for k in range(len(params.class_prior))]
    floor = FLOOR * X.var(axis=0)
    trace = [-np.inf]
    while len(trace) <= max_iter:
        params, log_likelihood = em_step(params, X, rows_of, tied, floor)
        gain = log_likelihood - trace[-1]
        trace.append(log_likelihood)
        if gain < tol * abs(log_likelihood):
            break
    return params, trace[-1], len(trace) - 1


def fit(
    X: np.ndarray, y: np.ndarray, q: int, m: int, tied: bool, n_init: int, max_iter: int,
    tol: float, rng: np.random.Generator,
) -> Fit:  # fmt: skip
    """EM from random starts; the highest training accuracy wins, the likelihood breaks ties."""
    best = None
    n_steps = 0
    for _ in range(n_init):
        start = random_start(X, y, q, m, rng)
        params, log_likelihood, n_iter = run_em(start, X, y, tied, max_iter, tol)
        n_steps += n_iter
        accuracy = float(np.mean(predict_log_joint(params, X).argmax(axis=1) == y))
        if best is None or (accuracy, log_likelihood) > (best.accuracy, best.log_likelihood):
            best = Fit(params, accuracy, log_likelihood, n_steps)
    return Fit(best.params, best.accuracy, best.log_likelihood, n_steps)


def predict_log_joint(params: Params, X: np.ndarray) -> np.ndarray:
    """log p(x, y), one column per class."""
    n_classes, n_components = params.component_prior.shape
    out = np.empty((len(X), n_classes))
    for k in range(n_classes):
        log_joint = np.empty((len(X), n_components))
        for m in range(n_components):
            log_joint[:, m] = _log_density(params, X, m, k)[0]
        out[:, k] = _logsumexp(log_joint + _log_shares(params, k))
    return out


def _log_density(
    params: Params, X: np.ndarray, m: int, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log p(x | m, k); the whitened rows; W, with W'W the inverse of the covariance of x."""
    loading = params.loadings[m]
    covariance = (loading * params.latent_variances[k]) @ loading.T + np.diag(params.noise[m])
    whitener = np.linalg.inv(np.linalg.cholesky(covariance))
    white = (X - loading @ params.latent_means[k] - params.offsets[m]) @ whitener.T
    half_log_det = -np.log(np.diag(whitener)).sum()
    constant = half_log_det + 0.5 * len(loading) * np.log(2.0 * np.pi)
    return -0.5 * np.sum(white**2, axis=1) - constant, white, whitener


def _log_shares(params: Params, k: int) -> np.ndarray:
    with np.errstate(divide="ignore"):  # a component may have left a class for good
        return np.log(params.class_prior[k]) + np.log(params.component_prior[k])


def _logsumexp(log_joint: np.ndarray) -> np.ndarray:
    top = log_joint.max(axis=1)
    return top + np.log(np.exp(log_joint - top[:, None]).sum(axis=1))
