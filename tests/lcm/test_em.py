"""The fast engine of the latent classification model against its slow twin."""

import lcm_reference as reference
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import FactorAnalysis
from sklearn.mixture import GaussianMixture

from latentclass.engine import _class_components as cells
from latentclass.engine._em import run_groups, run_restarts
from latentclass.engine._logspace import log_sum_exp
from latentclass.estimator._inner_folds import InnerFolds
from latentclass.lcm import _em as lcm
from latentclass.lcm._fit import LCMSettings
from latentclass.lcm._folds import FoldedRows, held_out_log_posterior

NO_LEVELS = np.zeros(1, dtype=np.intp)


def gather(X, y, weights, n_classes, n_components):
    return cells.gather_rows(
        X,
        np.zeros((len(X), 0), dtype=np.int32),
        y,
        weights,
        n_classes=n_classes,
        one_component=n_components == 1,
        offsets=NO_LEVELS,
    )


def from_reference(params, tied, mask=None):
    _, n, q = params.loadings.shape
    edges = np.ones((n, q), dtype=bool) if mask is None else mask
    arrays = (
        np.log(params.class_prior[:, None] * params.component_prior),
        params.loadings,
        params.offsets,
        params.noise[:1] if tied else params.noise,
        params.latent_means,
        params.latent_variances,
        np.zeros((len(params.class_prior), 0)),
    )
    return lcm.LCMParams(
        np.zeros(1, dtype=np.intp), edges[None], *(array[None] for array in arrays)
    )


def with_edges(params, mask):
    edges = np.tile(mask, (len(params.edges), 1, 1))
    return params._replace(edges=edges, loadings=params.loadings * edges[:, None])


def some_rows(rng, n_rows, n, n_classes, *, holes, unlabelled):
    X = rng.normal(size=(n_rows, n))
    y = rng.integers(0, n_classes, size=n_rows)
    X[rng.random(X.shape) < holes] = np.nan
    y[rng.random(n_rows) < unlabelled] = -1
    y[:n_classes] = range(n_classes)
    return X, y, rng.random(n_rows) + 0.5


@pytest.mark.parametrize("seed", range(24))
def test_steps_are_those_of_the_slow_unfitted_copy(seed):
    rng = np.random.default_rng(seed)
    n_classes, m, n, q = (int(rng.integers(1, high)) for high in (4, 4, 5, 7))
    tied = bool(seed % 2)
    holes, unlabelled = 0.2 * (seed % 3 > 0), 0.3 * (seed % 4 > 0)
    X, y, weight = some_rows(rng, 25, n, n_classes, holes=holes, unlabelled=unlabelled)
    slow = reference.random_params(rng, n_classes, m, n, q)
    if tied:
        slow = slow._replace(noise=np.tile(slow.noise[:1], (m, 1)))
    mask = rng.random((n, q)) < 0.7 if seed % 5 == 0 else None
    if mask is not None:
        slow = slow._replace(loadings=slow.loadings * mask)
    prior = reference.Prior(loading=0.3, noise=0.7, latent=0.5)
    if m == 1 and seed % 2:
        prior = reference.Prior(0.0, 0.0, 0.0)
    problem = lcm.LCMProblem(
        gather(X, y, weight[None], n_classes, m),
        m,
        q,
        tied,
        lcm.Prior(prior.loading, prior.noise, 1.0, prior.latent),
    )
    fast = from_reference(slow, tied, mask)
    for _ in range(2):
        stats, objective = problem.e_step(fast)
        expected = reference.log_likelihood(slow, X, y, weight)
        expected += reference.log_prior(slow, prior, tied)
        assert_allclose(objective[0], expected / weight.sum(), rtol=1e-9)
        fast = problem.m_step(stats)
        slow = reference.em_step(slow, X, y, weight, tied=tied, mask=mask, prior=prior)
        for mine, twin in zip(fast, from_reference(slow, tied, mask), strict=True):
            assert_allclose(mine, twin, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("accelerate", [False, True], ids=["plain", "accelerated"])
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("masked", [False, True], ids=["full", "masked"])
@pytest.mark.parametrize("strength", [0.0, 1.0], ids=["likelihood", "map"])
def test_the_objective_never_falls(accelerate, tied, masked, strength):
    rng = np.random.default_rng(5)
    X, y, weight = some_rows(rng, 40, 4, 2, holes=0.15, unlabelled=0.3)
    mask = np.tri(4, 3, dtype=bool) if masked else np.ones((4, 3), dtype=bool)
    prior = lcm.Prior(strength, strength, 0.5, strength)
    problem = lcm.LCMProblem(gather(X, y, weight[None], 2, 2), 2, 3, tied, prior)
    rngs = [np.random.default_rng(s) for s in range(6)]
    result = run_restarts(
        problem,
        with_edges(problem.starts(np.zeros(6, dtype=np.intp), rngs), mask),
        tol=0.0,
        max_iter=60,
        rngs=rngs,
        halving=False,
        accelerate=accelerate,
        keep=6,
    )
    assert np.all(np.diff(result.history) >= -1e-8)
    assert np.all(result.params.loadings[:, :, ~mask] == 0)


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_many_columns_are_explained_as_few_are(monkeypatch, n_components, holes):
    """Wide tables never see a matrix of the size of their columns; the history is the same."""
    rng = np.random.default_rng(13)
    X, y, weight = some_rows(rng, 60, 20, 2, holes=holes, unlabelled=0.1)
    prior, histories = lcm.Prior(1.0, 1.0, 0.5, 1.0), {}
    for narrow in (False, True):
        monkeypatch.setattr(lcm.factored, "is_narrow", lambda *_, narrow=narrow: narrow)
        data = cells.gather_rows(
            X,
            np.zeros((len(X), 0), dtype=np.int32),
            y,
            weight[None],
            n_classes=2,
            one_component=n_components == 1,
            offsets=NO_LEVELS,
            rank=2,
        )
        problem = lcm.LCMProblem(data, n_components, 2, True, prior)
        rngs = [np.random.default_rng(s) for s in range(3)]
        starts = problem.starts(np.zeros(3, dtype=np.intp), rngs)
        result = run_restarts(problem, starts, tol=1e-6, max_iter=20, rngs=rngs, accelerate=True)
        histories[narrow] = np.concatenate(result.histories)
    assert_allclose(histories[False], histories[True], rtol=1e-9)


def fit_one_class(X, m, q, *, n_init=8, prior=None, tied=False):
    problem = lcm.LCMProblem(
        gather(X, np.zeros(len(X), dtype=np.intp), np.ones((1, len(X))), 1, m),
        m,
        q,
        tied,
        prior or lcm.Prior(),
    )
    rngs = [np.random.default_rng(s) for s in range(n_init)]
    starts = problem.starts(np.zeros(n_init, dtype=np.intp), rngs)
    return run_restarts(
        problem, starts, tol=1e-10, max_iter=3000, rngs=rngs, accelerate=True, halving=False
    )


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_one_class_and_component_is_factor_analysis():
    rng = np.random.default_rng(0)
    X = standardise(rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5)) + rng.normal(size=(80, 5)))
    peer = FactorAnalysis(2, tol=1e-7, max_iter=20000).fit(X)
    assert_allclose(fit_one_class(X, 1, 2).history[-1], peer.score(X), atol=1e-6)


def test_many_latent_variables_reach_the_likelihood_of_a_gaussian_for_each_class():
    rng = np.random.default_rng(1)
    X = standardise(rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)))
    y = np.arange(60) % 2
    X[y == 1] = X[y == 1] @ rng.normal(size=(3, 3)) + 1
    X = standardise(X)
    problem = lcm.LCMProblem(gather(X, y, np.ones((1, 60)), 2, 1), 1, 6, True, lcm.Prior())
    rngs = [np.random.default_rng(s) for s in range(5)]
    starts = problem.starts(np.zeros(5, dtype=np.intp), rngs)
    result = run_restarts(
        problem, starts, tol=0, max_iter=4000, rngs=rngs, accelerate=True, halving=False
    )
    full = np.log(0.5) + np.mean(
        [GaussianMixture(1, reg_covar=0).fit(X[y == k]).score(X[y == k]) for k in (0, 1)]
    )
    assert_allclose(result.history[-1], full, atol=2e-3)
    assert result.history[-1] <= full + 1e-8


def test_without_loadings_it_is_a_mixture_of_diagonal_gaussians():
    rng = np.random.default_rng(2)
    X = standardise(np.r_[rng.normal(-2, 1, (40, 3)), rng.normal(2, 0.5, (40, 3))])
    problem = lcm.LCMProblem(
        gather(X, np.zeros(80, dtype=np.intp), np.ones((1, 80)), 1, 2),
        2,
        1,
        False,
        lcm.Prior(),
    )
    rngs = [np.random.default_rng(0)]
    starts = problem.starts(np.zeros(1, dtype=np.intp), rngs)
    starts = with_edges(starts, np.zeros((3, 1), dtype=bool))
    result = run_restarts(problem, starts, tol=1e-12, max_iter=500, rngs=rngs)
    peer = GaussianMixture(
        2,
        covariance_type="diag",
        reg_covar=0,
        tol=1e-12,
        max_iter=500,
        means_init=result.params.offsets[0],
    ).fit(X)
    assert_allclose(result.history[-1], peer.score(X), atol=1e-8)


def test_a_mixture_of_factor_analysers_explains_two_planes():
    rng = np.random.default_rng(3)
    planes = [rng.normal(size=(150, 1)) @ rng.normal(size=(1, 3)) + c for c in (-3, 3)]
    X = standardise(np.concatenate(planes) + 0.2 * rng.normal(size=(300, 3)))
    one, two = (fit_one_class(X, m, 1).history[-1] for m in (1, 2))
    full = GaussianMixture(2, n_init=5, random_state=0).fit(X).score(X)
    assert two > one + 0.5
    assert full - 0.2 < two <= full + 1e-3


@pytest.mark.parametrize("n_components", [1, 2])
def test_folds_in_one_batch_are_fits_of_their_own(n_components):
    rng = np.random.default_rng(4)
    X, y, _ = some_rows(rng, 40, 3, 2, holes=0.1, unlabelled=0.1)
    weights = np.ones((2, 40))
    weights[0, ::4] = 0
    weights[1, 1::4] = 0
    prior = lcm.Prior(1.0, 1.0, 0.5, 1.0)
    both = lcm.LCMProblem(gather(X, y, weights, 2, n_components), n_components, 2, True, prior)
    weighting = np.array([0, 0, 0, 1, 1, 1])
    seeds = [0, 1, 2, 0, 1, 2]
    rngs = [np.random.default_rng(s) for s in seeds]
    results = run_groups(
        both, both.starts(weighting, rngs), weighting, tol=1e-4, max_iter=30, rngs=rngs
    )
    for fold, result in enumerate(results):
        keep = weights[fold] > 0
        alone = lcm.LCMProblem(
            gather(X[keep], y[keep], np.ones((1, int(keep.sum()))), 2, n_components),
            n_components,
            2,
            True,
            prior,
        )
        rngs = [np.random.default_rng(s) for s in (0, 1, 2)]
        starts = alone.starts(np.zeros(3, dtype=np.intp), rngs)
        expected = run_restarts(alone, starts, tol=1e-4, max_iter=30, rngs=rngs)
        assert_allclose(result.history, expected.history, rtol=1e-8)


def test_canonical_form_is_the_same_model():
    rng = np.random.default_rng(6)
    X, y, weight = some_rows(rng, 40, 4, 3, holes=0, unlabelled=0)
    problem = lcm.LCMProblem(gather(X, y, weight[None], 3, 2), 2, 3, True, lcm.Prior())
    params = problem.starts(np.zeros(2, dtype=np.intp), [np.random.default_rng(s) for s in (0, 1)])
    for _ in range(3):
        params = problem.m_step(problem.e_step(params)[0])
    after = lcm.canonical(params)
    before, now = (cells.add_full(lcm.to_components(one)[0]) for one in (params, after))
    for old, new in zip(before.full, now.full, strict=True):
        assert_allclose(new, old, rtol=1e-8, atol=1e-10)
    share = np.exp(log_sum_exp(after.log_weight))[..., None]
    centre = (share * after.latent_mean).sum(axis=1)
    spread = (share * (after.latent_variance + after.latent_mean**2)).sum(axis=1)
    assert_allclose(centre, 0, atol=1e-12)
    assert_allclose(spread, 1, rtol=1e-10)
    explained = np.einsum("sym,smnq->sq", np.exp(after.log_weight), after.loadings**2)
    assert np.all(np.diff(explained, axis=1) <= 1e-12)
    flat = after.loadings.reshape(2, -1, 3)
    assert np.all(flat.max(axis=1) >= -flat.min(axis=1))


def test_coordinates_and_back():
    rng = np.random.default_rng(7)
    X, y, weight = some_rows(rng, 30, 3, 2, holes=0, unlabelled=0)
    problem = lcm.LCMProblem(gather(X, y, weight[None], 2, 2), 2, 2, False, lcm.Prior())
    params = problem.starts(np.zeros(2, dtype=np.intp), [np.random.default_rng(s) for s in (0, 1)])
    for before, after in zip(params, problem.from_vector(problem.to_vector(params)), strict=True):
        assert_allclose(after, before, atol=1e-12)


@pytest.mark.parametrize("select", ["average", "accuracy", "likelihood"])
@pytest.mark.parametrize(("n_components", "structure"), [(1, "full"), (2, "full"), (2, "learned")])
def test_held_out_posteriors_are_those_of_single_folds(select, n_components, structure):
    rng = np.random.default_rng(8)
    X, y, weight = some_rows(rng, 45, 3, 2, holes=0.05, unlabelled=0.1)
    row = np.flatnonzero(y >= 0)
    fold, tested = row % 3, weight[row]
    # three rows are tested in part, the rest of one of them in another fold
    tested[:3] *= 0.6
    row, fold, tested = np.r_[row, row[0]], np.r_[fold, (fold[0] + 1) % 3], np.r_[tested, 0.1]
    settings = LCMSettings(
        2,
        n_components,
        True,
        structure,
        True,
        lcm.Prior(1.0, 1.0, 0.5, 1.0),
        select,
        True,
        4,
        15,
        1e-3,
        False,
        True,
    )

    def rows(chosen, number, n_folds):
        codes = np.zeros((45, 0), dtype=np.int32)
        folds = InnerFolds(row[chosen], number, tested[chosen], n_folds)
        return FoldedRows(X, codes, y, weight, folds, 2, NO_LEVELS)

    together = held_out_log_posterior(rows(slice(None), fold, 3), settings, 0)
    assert together.shape == (len(row), 2)
    for f in range(3):
        mine = fold == f
        alone = held_out_log_posterior(rows(mine, np.zeros(mine.sum(), int), 1), settings, 0)
        assert_allclose(together[mine], alone, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_components", [1, 2])
def test_rows_left_out_of_a_fold_are_not_there(n_components):
    rng = np.random.default_rng(9)
    X, y, weight = some_rows(rng, 50, 3, 2, holes=0.05, unlabelled=0.1)
    out = np.arange(50) >= 40
    chosen = (y >= 0) & ~out & (np.arange(50) % 3 == 0)
    prior = lcm.Prior(1.0, 1.0, 0.5, 1.0)
    size = (2, n_components, True, "full", True)
    settings = LCMSettings(*size, prior, "average", True, 3, 15, 1e-3, False, True)

    def posterior(keep, left_out=None):
        codes = np.zeros((int(keep.sum()), 0), dtype=np.int32)
        row = np.flatnonzero(chosen[keep])
        folds = InnerFolds(row, np.zeros_like(row), weight[keep][row], 1, left_out)
        rows = FoldedRows(X[keep], codes, y[keep], weight[keep], folds, 2, NO_LEVELS)
        return held_out_log_posterior(rows, settings, 0)

    whole = posterior(np.ones(50, dtype=bool), out[None])
    assert_allclose(whole, posterior(~out), rtol=1e-6, atol=1e-8)
