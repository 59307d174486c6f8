"""Slow reference versions of the engines: one row and one cell at a time."""

import math

import numpy as np
from scipy.stats import norm


def log_density(mean, scale, probabilities, numeric, codes):
    """log p(observed cells | component) in the data's own units, cell by cell.

    `probabilities[k][j]` is the list of level probabilities of discrete column j.
    """
    n_rows, n_components = len(numeric), len(mean)
    out = np.zeros((n_rows, n_components))
    for i in range(n_rows):
        for k in range(n_components):
            for j, value in enumerate(numeric[i]):
                if not math.isnan(value):
                    out[i, k] += norm.logpdf(value, mean[k][j], scale[k][j])
            for j, code in enumerate(codes[i]):
                if code >= 0:
                    out[i, k] += math.log(probabilities[k][j][code])
    return out


def estimate(numeric, codes, resp, n_levels, *, alpha, strength, prior_mean, prior_variance):
    """Penalised maximum-likelihood parameters of weighted rows, cell by cell."""
    n_components = resp.shape[1]
    mean = np.array([prior_mean] * n_components, dtype=float)
    scale = np.zeros_like(mean)
    probabilities = []
    for k in range(n_components):
        for j in range(numeric.shape[1]):
            cells = [
                (r, v) for r, v in zip(resp[:, k], numeric[:, j], strict=True) if not math.isnan(v)
            ]
            weight = sum(r for r, _ in cells)
            if weight > 0:
                mean[k, j] = sum(r * v for r, v in cells) / weight
            squares = sum(r * (v - mean[k, j]) ** 2 for r, v in cells)
            total = weight + strength
            variance = (squares + strength * prior_variance[j]) / total if total > 0 else np.nan
            scale[k, j] = math.sqrt(variance if total > 0 else prior_variance[j])
        tables = []
        for j, size in enumerate(n_levels):
            counts = [alpha] * size
            for r, code in zip(resp[:, k], codes[:, j], strict=True):
                if code >= 0:
                    counts[code] += r
            whole = sum(counts)
            tables.append([c / whole if whole > 0 else 1 / size for c in counts])
        probabilities.append(tables)
    return mean, scale, probabilities


def mixture_step(numeric, codes, known, weight, params, n_levels, prior):
    """One EM step of a mixture with some components known; params = (share, mean, scale, probs).

    Returns the new parameters and the objective (penalised log-likelihood) at the old ones.
    """
    share, mean, scale, probabilities = params
    log_joint = log_density(mean, scale, probabilities, numeric, codes) + np.log(share)
    resp = np.zeros_like(log_joint)
    objective = 0.0
    for i, row in enumerate(log_joint):
        if known[i] >= 0:
            resp[i, known[i]] = weight[i]
            objective += weight[i] * row[known[i]]
        else:
            top = row.max()
            total = top + math.log(sum(math.exp(v - top) for v in row))
            objective += weight[i] * total
            resp[i] = weight[i] * np.exp(row - total)
    for k in range(len(share)):
        for j, variance in enumerate(prior["prior_variance"]):
            spread = scale[k][j] ** 2
            objective -= 0.5 * prior["strength"] * (math.log(spread) + variance / spread)
        for table in probabilities[k]:
            objective += prior["alpha"] * sum(math.log(p) for p in table if p > 0)
    new = estimate(numeric, codes, resp, n_levels, **prior)
    return (resp.sum(axis=0) / resp.sum(), *new), objective
