from dataclasses import replace

import numpy as np
import product_reference as reference
import pytest
from numpy.testing import assert_allclose
from sklearn.mixture import GaussianMixture

from latentclass.engine import _product as product
from latentclass.engine._em import run_restarts
from latentclass.engine._product_mixture import (
    MixtureParams,
    MixtureProblem,
    seed_components,
    spread_starts,
)

N_LEVELS = [3, 2]


def make_problem(
    numeric,
    codes,
    n_levels,
    known,
    n_components,
    *,
    alpha=0.0,
    strength=0.0,
    weight=None,
    block_rows=7,
    n_jobs=None,
):
    """A problem over rows whose component is known (>= 0) or not (-1), and its plain prior."""
    weight = np.ones(len(numeric)) if weight is None else weight
    offsets = np.concatenate([[0], np.cumsum(n_levels)]).astype(int)
    low, high = (f(numeric, axis=0) for f in (np.nanmin, np.nanmax))
    layout = product.Layout(*product.measure_range(low, high), offsets)
    rows = product.to_rows(numeric, codes, layout)
    is_known = known >= 0
    known_stats = product.hard_stats(
        product.ProductRows(*(a[is_known] for a in rows)),
        known[is_known], weight[is_known], n_components, layout,
    )  # fmt: skip
    known_rows = np.bincount(known[is_known], weight[is_known], n_components).astype(float)
    hidden = np.flatnonzero(~is_known)
    blocks = [
        (product.ProductRows(*(a[part] for a in rows)), weight[part])
        for part in np.array_split(hidden, max(1, len(hidden) // block_rows))
        if len(part)
    ]
    mean = np.average(np.nan_to_num(numeric), axis=0)
    variance = np.nanvar(numeric, axis=0)
    prior = product.Prior(
        alpha, strength, (mean - layout.centre) / layout.unit, variance / layout.unit**2
    )
    plain = {"alpha": alpha, "strength": strength, "prior_mean": mean, "prior_variance": variance}
    problem = MixtureProblem(blocks, known_rows, known_stats, prior, layout, n_jobs)
    return problem, plain


def random_starts(problem, n_starts, seed=0):
    """Symmetry-breaking starts from rows drawn at random."""
    rngs = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_starts)]
    n_components = len(problem.known_rows)
    seeds = [
        seed_components(problem._draw_rows(n_components, rng), problem.prior, problem.layout, rng)
        for rng in rngs
    ]
    stacked = [np.stack(arrays) for arrays in zip(*seeds, strict=True)]
    even = np.full((n_starts, n_components), -np.log(n_components))
    return MixtureParams(even, *stacked), rngs


def in_data_units(params, layout, start=0):
    log_probs = np.split(params.log_prob[start], layout.offsets[1:-1], axis=1)
    probabilities = [[np.exp(lp[k]) for lp in log_probs] for k in range(len(params.mean[start]))]
    return (
        np.exp(params.log_weight[start]),
        params.mean[start] * layout.unit + layout.centre,
        params.scale[start] * layout.unit,
        probabilities,
    )


@pytest.fixture
def data():
    """60 rows of three groups, one in four cells missing, half of the groups known."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 3, 60)
    numeric = rng.normal(size=(60, 2)) * [1.0, 100.0] + group[:, None] * [2.0, -150.0]
    codes = np.column_stack([(group + (rng.random(60) < 0.2)) % 3, rng.integers(0, 2, 60)])
    codes = codes.astype(np.int32)
    numeric[rng.random(numeric.shape) < 0.25] = np.nan
    codes[rng.random(codes.shape) < 0.25] = -1
    known = np.where(rng.random(60) < 0.5, group, -1)
    return numeric, codes, known, rng.uniform(0.5, 3.0, 60)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize(("alpha", "strength"), [(0.0, 0.0), (1.0, 2.0)])
def test_em_steps_equal_the_row_by_row_reference(data, labelled, alpha, strength):
    numeric, codes, known, weight = data
    known = known if labelled else np.full_like(known, -1)
    problem, prior = make_problem(
        numeric, codes, N_LEVELS, known, 3, alpha=alpha, strength=strength, weight=weight
    )
    params, _ = random_starts(problem, 2)
    for start in range(2):
        slow = in_data_units(params, problem.layout, start)
        fast = params
        for _ in range(5):
            stats, objective = problem.e_step(fast)
            slow, slow_objective = reference.mixture_step(
                numeric, codes, known, weight, slow, N_LEVELS, prior
            )
            # the engine's prior works in its own units: a constant apart, the same at every step
            fast = problem.m_step(stats)
            units = 3 * strength * np.log(problem.layout.unit).sum()
            assert_allclose(objective[start] * weight.sum() - units, slow_objective, rtol=1e-11)
        found = in_data_units(fast, problem.layout, start)
        assert_allclose(found[0], slow[0], rtol=1e-10)
        assert_allclose(found[1], slow[1], rtol=1e-10)
        assert_allclose(found[2], slow[2], rtol=1e-9)
        for ours, theirs in zip(found[3], slow[3], strict=True):
            for a, b in zip(ours, theirs, strict=True):
                assert_allclose(a, b, rtol=1e-9, atol=1e-300)


def test_unsupervised_gaussian_steps_equal_scikit_learns_diagonal_mixture():
    rng = np.random.default_rng(6)
    numeric = np.concatenate([rng.normal(m, s, (50, 2)) for m, s in [(0, 1), (4, 0.5), (9, 2)]])
    codes = np.empty((150, 0), dtype=np.int32)
    problem, _ = make_problem(numeric, codes, [], np.full(150, -1), 3, block_rows=40)
    params, _ = random_starts(problem, 1)
    share, mean, scale, _ = in_data_units(params, problem.layout)
    peer = GaussianMixture(
        3, covariance_type="diag", reg_covar=0, max_iter=7, tol=0,
        weights_init=share, means_init=mean, precisions_init=1 / scale**2,
    )  # fmt: skip
    with pytest.warns(Warning, match="did not converge"):
        peer.fit(numeric)
    for _ in range(7):
        params = problem.m_step(problem.e_step(params)[0])
    share, mean, scale, _ = in_data_units(params, problem.layout)
    assert_allclose(share, peer.weights_, rtol=1e-9)
    assert_allclose(mean, peer.means_, rtol=1e-9)
    assert_allclose(scale**2, peer.covariances_, rtol=1e-8)


def test_vector_of_coordinates_and_back(data):
    numeric, codes, known, weight = data
    problem, _ = make_problem(numeric, codes, N_LEVELS, known, 3, alpha=1.0, weight=weight)
    params, _ = random_starts(problem, 3)
    for a, b in zip(problem.from_vector(problem.to_vector(params)), params, strict=True):
        assert_allclose(a, b, rtol=1e-12)


def test_batch_of_starts_equals_each_start_alone(data):
    numeric, codes, known, weight = data
    problem, _ = make_problem(numeric, codes, N_LEVELS, known, 3, alpha=1.0, weight=weight)
    params, _ = random_starts(problem, 4)
    _, together = problem.e_step(params)
    alone = [problem.e_step(MixtureParams(*(a[[s]] for a in params)))[1][0] for s in range(4)]
    assert_allclose(together, alone, rtol=1e-13)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing_and_blocks_only_rounding(data, n_jobs):
    numeric, codes, known, weight = data

    def run(**options):
        problem, _ = make_problem(
            numeric, codes, N_LEVELS, known, 3, alpha=1.0, strength=1.0, weight=weight, **options
        )
        params, rngs = random_starts(problem, 4)
        return run_restarts(problem, params, tol=1e-8, max_iter=50, rngs=rngs)

    one, other = run(), run(n_jobs=n_jobs)
    assert one.history == other.history
    for a, b in zip(one.params, other.params, strict=True):
        assert a.tolist() == b.tolist()
    assert_allclose(run(block_rows=30).history[-1], one.history[-1], rtol=1e-12)


def test_a_component_with_known_rows_is_never_dead(data):
    numeric, codes, known, _ = data
    problem, _ = make_problem(numeric, codes, N_LEVELS, np.where(known == 0, 0, -1), 3)
    params, _ = random_starts(problem, 1)
    tiny = params._replace(log_weight=np.log([[1e-9, 1e-9, 1.0]]))
    assert problem.dead(tiny).tolist() == [[False, True, False]]


def test_starts_near_equal_or_empty_rows_differ():
    numeric = np.full((2, 2), np.nan)
    codes = np.full((2, 1), -1, dtype=np.int32)
    layout = product.Layout(np.zeros(2), np.ones(2), np.array([0, 3]))
    prior = product.Prior(1.0, 1.0, np.zeros(2), np.ones(2))
    seeds = product.ProductRows(numeric, codes)
    one = seed_components(seeds, prior, layout, np.random.default_rng(0))
    other = seed_components(seeds, prior, layout, np.random.default_rng(1))
    for name in ("mean", "log_prob"):
        array, again = getattr(one, name), getattr(other, name)
        assert np.all(array[0] != array[1])
        assert np.all(array != again)
    assert_allclose(np.exp(one.log_prob).sum(axis=1), 1.0)


def test_rows_are_drawn_by_weight(data):
    numeric, codes, _, _ = data
    weight = np.full(60, 1e-6)
    weight[7] = 1.0
    problem, _ = make_problem(numeric, codes, N_LEVELS, np.full(60, -1), 2, weight=weight)
    drawn = problem._draw_rows(20, np.random.default_rng(0))
    expected = product.to_rows(numeric[[7]], codes[[7]], problem.layout)
    assert np.mean(drawn.codes == expected.codes) > 0.9


def test_a_dead_component_is_reseeded_and_recovers():
    rng = np.random.default_rng(7)
    numeric = np.concatenate([rng.normal(m, 0.3, (80, 1)) for m in (0.0, 5.0, 10.0)])
    codes = np.empty((240, 0), dtype=np.int32)
    problem, _ = make_problem(numeric, codes, [], np.full(240, -1), 3, strength=1.0)
    params, rngs = random_starts(problem, 1, seed=3)
    mean, scale = params.mean.copy(), np.full_like(params.scale, 0.05)
    mean[0, :, 0] = [-1.0, 0.0, 40.0]  # there are no rows near the third
    start = MixtureParams(params.log_weight, mean, scale, params.log_prob)
    result = run_restarts(problem, start, tol=1e-9, max_iter=2000, rngs=rngs)
    assert result.restarts["reseeded"][0] >= 1
    found = np.sort(in_data_units(result.params, problem.layout)[1].ravel())
    assert_allclose(found, [0.0, 5.0, 10.0], atol=0.2)
    assert np.exp(result.params.log_weight).min() > 0.2


class TestRestrictedRows:
    """Rows that may use some components only."""

    @pytest.fixture
    def problem(self, data):
        """Three components; the first third of the rows may use 0 and 1, the next one 2 only."""
        numeric, codes = data[:2]
        free, _ = make_problem(
            numeric, codes, N_LEVELS, np.full(len(numeric), -1), 3, alpha=0.5, strength=1.0,
            block_rows=len(numeric),
        )  # fmt: skip
        ((rows, weight),) = free.blocks
        third = len(weight) // 3
        parts = [slice(0, third), slice(third, 2 * third), slice(2 * third, None)]
        picked = [(product.ProductRows(*(a[p] for a in rows)), weight[p]) for p in parts]
        return replace(
            free,
            blocks=[picked[2]],
            restricted=[(*picked[0], slice(0, 2)), (*picked[1], slice(2, 3))],
        )

    def test_they_are_rows_whose_other_components_are_impossible(self, problem):
        """By hand: one step with responsibilities outside the slice set to 0."""
        rngs = [np.random.default_rng(s) for s in range(2)]
        params = spread_starts(problem, rngs)
        params = MixtureParams(np.full_like(params.log_weight, -np.log(3)), *params[1:])
        stats, objective = problem.e_step(params)
        for s in range(2):
            flat = product.Params(*(a[s] for a in params[1:]))
            total, row_weight = 0.0, np.zeros(3)
            merged = product.empty_stats(3, problem.layout)
            items = [(*b, slice(None)) for b in problem.blocks] + problem.restricted
            for rows, weight, members in items:
                joint = product.log_density(flat, rows, problem.layout) + params.log_weight[s]
                outside = np.ones(3, dtype=bool)
                outside[members] = False
                joint[:, outside] = -np.inf
                size = np.logaddexp.reduce(joint, axis=1)
                share = np.exp(joint - size[:, None]) * weight[:, None]
                total += weight @ size
                row_weight += share.sum(axis=0)
                merged = product.merge_stats(
                    merged, product.soft_stats(rows, share, problem.layout)
                )
            total += product.log_prior(flat, problem.prior).sum()
            assert_allclose(objective[s], total / problem.total_weight, rtol=1e-10)
            assert_allclose(stats.row_weight[s], row_weight, rtol=1e-10)
            for ours, expected in zip(stats[1:], merged, strict=True):
                assert_allclose(ours[s], expected, rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("accelerate", [False, True])
    def test_the_objective_rises_and_jobs_change_nothing(self, problem, accelerate):
        results = []
        for n_jobs in (1, 2):
            rngs = [np.random.default_rng(s) for s in range(3)]
            one = replace(problem, n_jobs=n_jobs)
            results.append(
                run_restarts(
                    one,
                    spread_starts(one, rngs),
                    tol=1e-8,
                    max_iter=200,
                    rngs=rngs,
                    accelerate=accelerate,
                )
            )
        assert np.all(np.diff(results[0].history) >= -1e-12)
        assert results[0].history == results[1].history

    def test_starts_do_not_depend_on_the_order_of_rows_or_copies(self, problem):
        rows, weight, members = problem.restricted[0]
        turned = np.random.default_rng(0).permutation(len(weight))
        copies = np.repeat(turned, 2)

        def starts(index, weights):
            block = product.ProductRows(*(a[index] for a in rows))
            other = replace(problem, restricted=[(block, weights, members)])
            return spread_starts(other, [np.random.default_rng(1)])

        expected = starts(np.arange(len(weight)), 2 * np.ones(len(weight)))
        for found in (
            starts(turned, 2 * np.ones(len(weight))),
            starts(copies, np.ones(len(copies))),
        ):
            for ours, theirs in zip(found, expected, strict=True):
                assert_allclose(ours[:, :2], theirs[:, :2], rtol=1e-9, atol=1e-12)

    def test_starts_find_clusters_far_apart(self):
        rng = np.random.default_rng(2)
        numeric = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 30, axis=0)
        free, _ = make_problem(
            numeric, np.zeros((90, 0), dtype=np.int32), [], np.full(90, -1), 3, block_rows=90
        )
        ((rows, weight),) = free.blocks
        problem = replace(free, blocks=[], restricted=[(rows, weight, slice(0, 3))])
        params = spread_starts(problem, [np.random.default_rng(s) for s in range(4)])
        # distant draws are likely, not certain: at least one of four starts has all three clusters
        assert_allclose(np.exp(params.log_weight).min(axis=1).max(), 1 / 3, atol=0.02)
