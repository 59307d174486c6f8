"""Slow, obvious twin of the latent classification model: one row, component and class at a time.

The model is P(y) P(m | y) N(z; mu_y, diag gamma_y) N(x; L_m z + eta_m, diag theta_m). Written from
Langseth and Nielsen (2005), with the offset in E[z | x, y, m] and the divisor of the untied noise
put right. Every class and every component must own some weight.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal


class Params(NamedTuple):
    class_prior: np.ndarray  # (Y,)
    component_prior: np.ndarray  # (Y, M)
    loadings: np.ndarray  # (M, n, q)
    offsets: np.ndarray  # (M, n)
    noise: np.ndarray  # (M, n); equal rows if tied
    latent_means: np.ndarray  # (Y, q)
    latent_variances: np.ndarray  # (Y, q)


class Prior(NamedTuple):
    """Pseudo-rows of the penalty; the columns are taken to be standardised."""

    loading: float = 0.0
    noise: float = 0.0
    latent: float = 0.0


class Case(NamedTuple):
    """A row as it would be if it had component m and class y, with the weight of that guess."""

    weight: float
    m: int
    y: int
    mean: np.ndarray  # of (x, z) given the observed cells, (n + q,)
    covariance: np.ndarray  # the same, (n + q, n + q); zero at observed cells


def random_params(rng, n_classes, n_components, n, q):
    """Parameters of no particular meaning; the noise differs by component."""
    return Params(
        class_prior=rng.dirichlet(np.full(n_classes, 5.0)),
        component_prior=rng.dirichlet(np.full(n_components, 5.0), size=n_classes),
        loadings=rng.normal(size=(n_components, n, q)),
        offsets=rng.normal(size=(n_components, n)),
        noise=rng.uniform(0.3, 1.5, size=(n_components, n)),
        latent_means=rng.normal(size=(n_classes, q)),
        latent_variances=rng.uniform(0.3, 1.5, size=(n_classes, q)),
    )


def joint_gaussian(params, m, y):
    """Mean and covariance of (x, z) in component m of class y."""
    loading, gamma = params.loadings[m], np.diag(params.latent_variances[y])
    mean_z = params.latent_means[y]
    mean = np.concatenate([loading @ mean_z + params.offsets[m], mean_z])
    covariance = np.block(
        [
            [loading @ gamma @ loading.T + np.diag(params.noise[m]), loading @ gamma],
            [gamma @ loading.T, gamma],
        ]
    )
    return mean, covariance


# Likelihood


def log(p):
    """Logarithm of a probability, which may be 0."""
    return math.log(p) if p > 0 else -math.inf


def log_joint_by_component(params, x, y):
    """log p(observed cells, y, m) of one row, for each m."""
    seen = np.flatnonzero(~np.isnan(x))
    out = []
    for m in range(params.component_prior.shape[1]):
        value = log(params.class_prior[y]) + log(params.component_prior[y, m])
        if len(seen):
            mean, covariance = joint_gaussian(params, m, y)
            value += multivariate_normal.logpdf(
                x[seen], mean[seen], covariance[np.ix_(seen, seen)], allow_singular=False
            )
        out.append(value)
    return np.array(out)


def log_joint(params, x, y):
    """log p(observed cells, y) of one row."""
    return logsumexp(log_joint_by_component(params, x, y))


def log_likelihood(params, X, y, weight):
    """Weighted sum of log p(x, y) over labelled rows and of log p(x) over rows with y = -1."""
    total = 0.0
    for x, label, w in zip(X, y, weight, strict=True):
        if label >= 0:
            total += w * log_joint(params, x, label)
        else:
            total += w * logsumexp(
                [log_joint(params, x, k) for k in range(len(params.class_prior))]
            )
    return total


def log_prior(params, prior, tied):
    """The penalty that `em_step` adds to the log-likelihood, up to a constant."""
    noise = params.noise[:1] if tied else params.noise
    gamma = params.latent_variances
    return (
        -0.5 * prior.loading * np.sum(params.loadings**2 / params.noise[:, :, None])
        - 0.5 * prior.noise * np.sum(np.log(noise) + 1.0 / noise)
        - 0.5 * prior.latent * np.sum(np.log(gamma) + 1.0 / gamma)
    )


# E-step


def complete_posterior(params, x, m, y):
    """Mean and covariance of (x, z) given a row without missing cells, by the paper's B_my."""
    loading, gamma = params.loadings[m], np.diag(params.latent_variances[y])
    mean_z = params.latent_means[y]
    n, q = loading.shape
    b = gamma @ loading.T @ np.linalg.inv(loading @ gamma @ loading.T + np.diag(params.noise[m]))
    mean = np.concatenate([x, mean_z + b @ (x - params.offsets[m] - loading @ mean_z)])
    covariance = np.zeros((n + q, n + q))
    covariance[n:, n:] = (np.eye(q) - b @ loading) @ gamma
    return mean, covariance


def joint_posterior(params, x, m, y):
    """Mean and covariance of (x, z) given the observed cells: the joint Gaussian, conditioned."""
    prior_mean, prior_covariance = joint_gaussian(params, m, y)
    seen = np.flatnonzero(~np.isnan(x))
    hidden = np.setdiff1d(np.arange(len(prior_mean)), seen)
    cross = prior_covariance[np.ix_(hidden, seen)]
    gain = cross @ np.linalg.inv(prior_covariance[np.ix_(seen, seen)])
    mean = np.empty(len(prior_mean))
    mean[seen] = x[seen]
    mean[hidden] = prior_mean[hidden] + gain @ (x[seen] - prior_mean[seen])
    covariance = np.zeros_like(prior_covariance)
    covariance[np.ix_(hidden, hidden)] = prior_covariance[np.ix_(hidden, hidden)] - gain @ cross.T
    return mean, covariance


def responsibilities(params, x, label):
    """P(m, y | row), shape (Y, M); of a labelled row all but one line is zero."""
    n_classes, n_components = params.component_prior.shape
    log_p = np.full((n_classes, n_components), -np.inf)
    for y in range(n_classes) if label < 0 else [label]:
        log_p[y] = log_joint_by_component(params, x, y)
    return np.exp(log_p - logsumexp(log_p))


def e_step(params, X, y, weight):
    """Every row as a list of weighted cases."""
    cases = []
    for x, label, w in zip(X, y, weight, strict=True):
        posterior = joint_posterior if np.isnan(x).any() else complete_posterior
        share = responsibilities(params, x, label)
        for k in range(share.shape[0]) if label < 0 else [label]:
            for m in range(share.shape[1]):
                cases.append(Case(w * share[k, m], m, k, *posterior(params, x, m, k)))
    return cases


def second_moment(case):
    """E[(x, z, 1) (x, z, 1)'] of a case."""
    v = np.append(case.mean, 1.0)
    moment = np.outer(v, v)
    moment[:-1, :-1] += case.covariance
    return moment


def expected_log_joint(params, cases):
    """Q of appendix B: the expected complete-data log-likelihood of the cases."""
    n = params.offsets.shape[1]
    total = 0.0
    for case in cases:
        if case.weight == 0:
            continue
        moment = second_moment(case)
        value = log(params.class_prior[case.y]) + log(params.component_prior[case.y, case.m])
        for k, gamma in enumerate(params.latent_variances[case.y]):
            error = np.zeros(len(moment))  # z_k - mu_k as a combination of (x, z, 1)
            error[n + k], error[-1] = 1.0, -params.latent_means[case.y, k]
            value -= 0.5 * (log(2 * math.pi * gamma) + error @ moment @ error / gamma)
        for i, theta in enumerate(params.noise[case.m]):
            error = residual(params.loadings[case.m, i], params.offsets[case.m, i], i, n)
            value -= 0.5 * (log(2 * math.pi * theta) + error @ moment @ error / theta)
        total += case.weight * value
    return total


# M-step


def residual(loading, offset, i, n):
    """x_i - l'z - eta as a combination of (x, z, 1)."""
    error = np.zeros(n + len(loading) + 1)
    error[i] = 1.0
    error[n:-1] = -loading
    error[-1] = -offset
    return error


def em_step(params, X, y, weight, *, tied, mask=None, prior=None):
    """One EM step; `mask` (n, q) says which edges from z to x are allowed, in all components.

    With a `prior` (see `log_prior`) it raises the penalised log-likelihood.
    """
    prior = Prior() if prior is None else prior
    n_classes, n_components = params.component_prior.shape
    _, n, q = params.loadings.shape
    mask = np.ones((n, q), dtype=bool) if mask is None else mask
    cases = e_step(params, X, y, weight)

    # (1) class prior and component prior
    counts = np.zeros((n_classes, n_components))
    for case in cases:
        counts[case.y, case.m] += case.weight
    class_prior = counts.sum(axis=1) / counts.sum()
    component_prior = counts / counts.sum(axis=1, keepdims=True)

    # (2) latent means, then variances about the new means
    latent_means = np.zeros((n_classes, q))
    for case in cases:
        latent_means[case.y] += case.weight * case.mean[n:] / counts[case.y].sum()
    squares = np.zeros((n_classes, q))
    for case in cases:
        deviation = case.mean[n:] - latent_means[case.y]
        squares[case.y] += case.weight * (np.diag(case.covariance)[n:] + deviation**2)
    latent_weight = counts.sum(axis=1, keepdims=True) + prior.latent
    latent_variances = (squares + prior.latent * 1.0) / latent_weight

    # (3) loadings and offsets: each attribute on its allowed latent variables and 1
    loadings = np.zeros((n_components, n, q))
    offsets = np.zeros((n_components, n))
    moments = np.zeros((n_components, n + q + 1, n + q + 1))
    for case in cases:
        moments[case.m] += case.weight * second_moment(case)
    for m in range(n_components):
        for i in range(n):
            parents = np.flatnonzero(mask[i])
            regressors = [*(n + parents), n + q]
            normal = moments[m][np.ix_(regressors, regressors)]
            normal += prior.loading * np.diag([1.0] * len(parents) + [0.0])
            solution = np.linalg.solve(normal, moments[m][regressors, i])
            loadings[m, i, parents] = solution[:-1]
            offsets[m, i] = solution[-1]

    # (4) noise about the new regressions: the whole quadratic form
    squares = np.zeros((n_components, n))
    for m in range(n_components):
        for i in range(n):
            error = residual(loadings[m, i], offsets[m, i], i, n)
            squares[m, i] = error @ moments[m] @ error
    squares += prior.loading * np.sum(loadings**2, axis=2)
    component_weight = counts.sum(axis=0)[:, None]
    if tied:
        one = (squares.sum(axis=0) + prior.noise * 1.0) / (component_weight.sum() + prior.noise)
        noise = np.tile(one, (n_components, 1))
    else:
        noise = (squares + prior.noise * 1.0) / (component_weight + prior.noise)

    return Params(
        class_prior, component_prior, loadings, offsets, noise, latent_means, latent_variances
    )
