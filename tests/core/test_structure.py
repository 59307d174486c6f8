"""Scores of latent parents against Geiger and Heckerman's formula written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import multigammaln

from latentclass.core import _structure as structure


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
            parents, scatters[:, :q, :q], scatters[:, :q, q], scatters[:, q, q], weights
        )
        for j in range(q):
            changed = parents.copy()
            changed[j] = ~changed[j]
            assert_allclose(gain[j], score(changed) - score(parents), rtol=1e-8, atol=1e-8)
