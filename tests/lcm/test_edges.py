"""Scores of latent parents against Geiger and Heckerman's formula written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import multigammaln

from latentclass.lcm import _edges as structure
from latentclass.lcm._em import LCMStats


def log_marginal(scatter, n, chosen, d):
    """log p of some variables under the normal-Wishart prior: the metric's equation, in full."""
    size = len(chosen)
    if size == 0:
        return 0.0
    extra = structure.PRIOR_EXTRA + size  # alpha_w - d + l
    prior = structure.PRIOR_SCALE
    return (
        0.5 * size * np.log(structure.PRIOR_MEAN / (n + structure.PRIOR_MEAN))
        - 0.5 * size * n * np.log(np.pi)
        + multigammaln((n + extra) / 2, size)
        - multigammaln(extra / 2, size)
        + 0.5 * extra * size * np.log(prior)
        - 0.5 * (n + extra) * np.linalg.slogdet(scatter[np.ix_(chosen, chosen)])[1]
    )


@pytest.mark.parametrize("n_components", [1, 3])
def test_every_single_change_is_scored_as_by_the_formula(n_components):
    rng = np.random.default_rng(n_components)
    q = 4
    weights = rng.integers(20, 60, size=n_components).astype(float)
    scatters = []
    for weight in weights:
        rows = rng.normal(size=(int(weight), q + 1)) @ rng.normal(size=(q + 1, q + 1))
        scatters.append(rows.T @ rows + structure.PRIOR_SCALE * np.eye(q + 1))
    scatters = np.array(scatters)

    def score(parents):
        chosen = np.flatnonzero(parents).tolist()
        return sum(
            log_marginal(scatter, weight, [*chosen, q], q + 1)
            - log_marginal(scatter, weight, chosen, q + 1)
            for scatter, weight in zip(scatters, weights, strict=True)
        )

    for parents in ([0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]):
        parents = np.array(parents, dtype=bool)
        gain = structure.score_changes(
            parents[None],
            scatters[None, :, :q, :q],
            scatters[None, :, :q, q],
            scatters[None, :, q, q],
            weights[None],
        )[0]
        for j in range(q):
            changed = parents.copy()
            changed[j] = ~changed[j]
            assert_allclose(gain[j], score(changed) - score(parents), rtol=1e-8, atol=1e-8)


def test_the_scatter_is_that_of_completed_rows():
    rng = np.random.default_rng(0)
    n_rows, n, q = 50, 3, 2
    z = rng.normal(size=(n_rows, q)) * [2.0, 0.5] + [1.0, -3.0]
    x = rng.normal(size=(n_rows, n)) + 0.3
    full = np.column_stack([z, np.ones(n_rows)])
    stats = LCMStats(
        np.zeros(1, dtype=np.intp),
        np.ones((1, n, q), dtype=bool),
        np.full((1, 1, 1), n_rows),
        z.sum(axis=0)[None, None],
        (z**2).sum(axis=0)[None, None],
        (full.T @ full)[None, None],
        (x.T @ full)[None, None],
        (x**2).sum(axis=0)[None, None],
        np.zeros((1, 1, 0)),
    )
    rows = np.column_stack([(z - z.mean(axis=0)) / z.std(axis=0), x])
    mean = rows.mean(axis=0)
    expected = (rows - mean).T @ (rows - mean) + structure.PRIOR_SCALE * np.eye(n + q)
    shrunk = n_rows * structure.PRIOR_MEAN / (n_rows + structure.PRIOR_MEAN)
    expected += shrunk * np.outer(mean, mean)
    latent, beside, own = (array[0, 0] for array in structure._scatter(stats))
    assert_allclose(latent, expected[:q, :q])
    assert_allclose(beside, expected[q:, :q])
    assert_allclose(own, np.diagonal(expected)[q:])


def test_greedy_edges_are_a_local_optimum_and_do_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(100, 4))
    x = z @ np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]).T + rng.normal(size=(100, 3))
    full = np.column_stack([z, np.ones(100)])
    stats = LCMStats(
        np.zeros(1, dtype=np.intp),
        np.ones((1, 3, 4), dtype=bool),
        np.full((1, 1, 1), 100.0),
        z.sum(axis=0)[None, None],
        (z**2).sum(axis=0)[None, None],
        (full.T @ full)[None, None],
        (x.T @ full)[None, None],
        (x**2).sum(axis=0)[None, None],
        np.zeros((1, 1, 0)),
    )
    edges = structure.learn_edges(stats)
    assert edges[0].astype(int).tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    monkeypatch.setattr(structure, "BLOCK_VALUES", 1)
    assert np.array_equal(structure.learn_edges(stats), edges)
