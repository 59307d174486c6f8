"""Slow, obvious twins of the compiled loops: one row and one component at a time."""

import math

import numpy as np

from latentclass.engine._mixture_rows import MixtureRows
from latentclass.mixture._padded_rows import pad_rows

N_LEVELS = np.array([3, 2])


def make_rows(n_rows, *, holes=True, weight=None, alpha=0.5, strength=1.0):
    """Rows of three groups: three continuous columns, two discrete ones."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, n_rows)
    numeric = np.round(rng.normal(2.0 * group[:, None], 1.0, (n_rows, 3)), 1)
    codes = np.stack([(group + (rng.random(n_rows) < 0.2)) % 3, group % 2], axis=1).astype(np.int32)
    if holes:
        numeric[rng.random(n_rows) < 0.2, 1] = np.nan
        codes[rng.random(codes.shape) < 0.15] = -1
    weight = np.ones(n_rows) if weight is None else weight
    return MixtureRows.measure(numeric, codes, weight, N_LEVELS, alpha=alpha, strength=strength)


def pack(data, n_components=3):
    """The rows as the loops take them."""
    return pad_rows(data.problem(n_components, [slice(0, len(data.weight))]))


def make_starts(data, n_components=3, n_starts=2):
    """Parameters of some starts."""
    problem = data.problem(n_components, [slice(0, len(data.weight))])
    seeds = np.random.SeedSequence(1).spawn(n_starts)
    return data.starts(problem, [np.random.default_rng(seed) for seed in seeds])


def log_joint(data, params, s):
    """log P(c) prod_j P(x_j | c) of each row and component, in the units of the data."""
    out = np.empty((len(data.weight), params.log_weight.shape[1]))
    offsets, log_unit = data.layout.offsets, np.log(data.layout.unit)
    for r in range(out.shape[0]):
        for c in range(out.shape[1]):
            total = params.log_weight[s, c]
            for j, x in enumerate(data.rows.numeric[r]):
                if not math.isnan(x):
                    mean, scale = params.mean[s, c, j], params.scale[s, c, j]
                    total -= 0.5 * ((x - mean) / scale) ** 2
                    total -= math.log(scale) + 0.5 * math.log(2 * math.pi) + log_unit[j]
            for j, level in enumerate(data.rows.codes[r]):
                if level >= 0:
                    total += params.log_prob[s, c, offsets[j] + level]
            out[r, c] = total
    return out


def posterior(joint):
    """P(c | x) of each row; even where no component can have made it."""
    out = np.empty_like(joint)
    for r, row in enumerate(joint):
        top = row.max()
        share = np.exp(row - top) if top > -np.inf else np.ones(len(row))
        out[r] = share / share.sum()
    return out


def log_likelihood(data, joint):
    """Sum of weight * log p(x) over the rows."""
    total = 0.0
    for weight, row in zip(data.weight, joint, strict=True):
        total += weight * (row.max() + math.log(np.exp(row - row.max()).sum()))
    return total


def draw(share, chance):
    """The component whose part of [0, 1) each row's number falls into."""
    out = np.empty(len(share), dtype=int)
    for r, row in enumerate(share):
        edge, c = row[0], 0
        while chance[r] >= edge and c < len(row) - 1:
            c += 1
            edge += row[c]
        out[r] = c
    return out


def statistics(data, weight):
    """Weight, weight of the observed cells, mean, scatter and counts of each component.

    Row r belongs to component c with weight[r, c].
    """
    n_components, p = weight.shape[1], data.rows.numeric.shape[1]
    seen, mean, scatter = (np.zeros((n_components, p)) for _ in range(3))
    counts = np.zeros((n_components, int(data.layout.offsets[-1])))
    for c in range(n_components):
        for j in range(p):
            column = data.rows.numeric[:, j]
            there = ~np.isnan(column) & (weight[:, c] > 0)
            seen[c, j] = weight[there, c].sum()
            if seen[c, j] > 0:
                mean[c, j] = np.average(column[there], weights=weight[there, c])
                scatter[c, j] = weight[there, c] @ (column[there] - mean[c, j]) ** 2
        for j, first in enumerate(data.layout.offsets[:-1]):
            for r, level in enumerate(data.rows.codes[:, j]):
                if level >= 0:
                    counts[c, first + level] += weight[r, c]
    return weight.sum(axis=0), seen, mean, scatter, counts
