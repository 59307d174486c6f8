import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from latentclass.engine._em import run_restarts
from latentclass.naive_bayes import _column_mixture as mixture


@pytest.fixture
def sample():
    """40 rows of three columns with holes, equal values and weights, in two classes."""
    rng = np.random.default_rng(0)
    numeric = np.round(rng.uniform(-1, 1, (40, 3)), 1)
    numeric[rng.random(numeric.shape) < 0.2] = np.nan
    return numeric, rng.integers(0, 2, 40), rng.uniform(0.5, 2.0, 40)


def cells_of(values, weight=None):
    values = np.asarray(values, dtype=float)[:, None]
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    return mixture.distinct_cells(values, np.zeros(len(values), dtype=int), weight, 1)[0]


def log_density_by_hand(values, parts, r=0):
    """log of sum of weight * N(x; mean, scale)."""
    density = norm.pdf(np.asarray(values)[:, None], parts.mean[r], parts.scale[r])
    return np.log(density @ np.exp(parts.log_weight[r]))


class TestCells:
    def test_they_are_the_weights_of_the_distinct_values_of_each_pair(self, sample):
        numeric, y, weight = sample
        cells, pairs = mixture.distinct_cells(numeric, y, weight, 2)
        for place, pair in enumerate(pairs):
            k, j = divmod(pair, 3)
            inside = (y == k) & ~np.isnan(numeric[:, j])
            values = np.unique(numeric[inside, j])
            here = slice(cells.first[place], cells.first[place] + cells.length[place])
            assert cells.values[here].tolist() == values.tolist()
            expected = [weight[inside & (numeric[:, j] == v)].sum() for v in values]
            assert_allclose(cells.weight[here], expected, rtol=1e-12)

    def test_pairs_without_a_value_have_none(self):
        numeric = np.array([[1.0, np.nan], [2.0, 3.0]])
        cells, pairs = mixture.distinct_cells(numeric, np.array([0, 1]), np.ones(2), 3)
        assert pairs.tolist() == [0, 2, 3]  # class 0: column 0; class 1: both; class 2: none
        assert cells.length.tolist() == [1, 1, 1]

    def test_some_pairs_may_be_taken_several_times(self, sample):
        cells, _ = mixture.distinct_cells(*sample, 2)
        taken = mixture.take_pairs(cells, np.array([4, 1, 4]))
        expected = [
            cells.values[cells.first[p] : cells.first[p] + cells.length[p]] for p in (4, 1, 4)
        ]
        assert taken.values.tolist() == np.concatenate(expected).tolist()
        assert taken.length.tolist() == [len(values) for values in expected]


class TestOneVariable:
    def test_expected_statistics_are_those_by_hand(self, sample):
        cells, pairs = mixture.distinct_cells(*sample, 2)
        rng = np.random.default_rng(1)
        shape = (len(pairs), 3)
        weights = rng.dirichlet(np.ones(3), len(pairs))
        parts = mixture.ColumnComponents(
            np.log(weights), rng.normal(size=shape), rng.uniform(0.2, 1, shape)
        )
        log_likelihood, moments = mixture.expect_cells(cells, parts)
        numeric, y, row_weight = sample
        for r, pair in enumerate(pairs):
            k, j = divmod(pair, 3)
            inside = (y == k) & ~np.isnan(numeric[:, j])
            values, w = numeric[inside, j], row_weight[inside]
            assert_allclose(log_likelihood[r], w @ log_density_by_hand(values, parts, r))
            for h in range(3):
                own = weights[r, h] * norm.pdf(values, parts.mean[r, h], parts.scale[r, h])
                share = w * own / np.exp(log_density_by_hand(values, parts, r))
                mean = share @ values / share.sum()
                assert_allclose(moments.weight[r, h], share.sum(), rtol=1e-10)
                assert_allclose(moments.mean[r, h], mean, rtol=1e-9, atol=1e-12)
                assert_allclose(moments.scatter[r, h], share @ (values - mean) ** 2, rtol=1e-9)

    def test_narrow_components_far_from_zero_lose_no_digits(self):
        values = 0.9 + 1e-7 * np.array([-1.0, 0.0, 2.0])
        parts = mixture.ColumnComponents(np.zeros((1, 1)), np.array([[0.9]]), np.array([[1e-7]]))
        _, moments = mixture.expect_cells(cells_of(values), parts)
        assert_allclose(moments.scatter[0, 0], 3 * values.var(), rtol=1e-8)

    def test_even_slices_have_the_means_of_even_parts_of_the_sample(self):
        values = np.sort(np.random.default_rng(2).normal(size=12))
        starts = mixture.slice_starts(cells_of(values), mixture.draw_cuts(3, 1, 0))
        assert_allclose(starts.mean[0, 0], values.reshape(3, 4).mean(axis=1), rtol=1e-10)
        assert_allclose(np.exp(starts.log_weight[0, 0]), 1 / 3)

    def test_a_value_astride_a_cut_is_divided(self):
        # weights 1, 4, 1: the half is in the middle of the second value
        starts = mixture.slice_starts(cells_of([0.0, 0.3, 0.9], [1, 4, 1]), np.array([[0.5]]))
        assert_allclose(starts.mean[0, 0], [2 * 0.3 / 3, (2 * 0.3 + 0.9) / 3], rtol=1e-10)

    def test_steps_are_scikit_learns(self):
        rng = np.random.default_rng(3)
        values = np.r_[rng.normal(-0.5, 0.1, 60), rng.normal(0.4, 0.2, 40)]
        start = mixture.ColumnComponents(
            np.log([[0.5, 0.5]]), np.array([[-0.2, 0.1]]), np.array([[0.3, 0.3]])
        )
        problem = mixture.PairProblem(cells_of(values), mixture.Spread(0.0, np.array([[1.0]])))
        result = run_restarts(
            problem, mixture.RunParams(np.zeros(1), *start), tol=0.0, max_iter=8,
            rngs=[np.random.default_rng(0)],
        )  # fmt: skip
        peer = GaussianMixture(
            2, covariance_type="diag", weights_init=[0.5, 0.5], means_init=[[-0.2], [0.1]],
            precisions_init=[[1 / 0.09]] * 2, reg_covar=0.0, tol=0.0, max_iter=7,
        )  # fmt: skip
        with pytest.warns(UserWarning, match="did not converge"):
            peer.fit(values[:, None])
        assert_allclose(np.exp(result.params.log_weight[0]), peer.weights_, rtol=1e-8)
        assert_allclose(result.params.mean[0], peer.means_[:, 0], rtol=1e-8)
        assert_allclose(result.params.scale[0] ** 2, peer.covariances_[:, 0], rtol=1e-8)
        assert np.all(np.diff(result.history) >= -1e-12)

    @pytest.mark.parametrize("accelerate", [False, True])
    def test_the_choice_is_that_of_scikit_learns_bic(self, accelerate):
        rng = np.random.default_rng(4)
        samples = [
            rng.normal(0, 0.2, 200),
            np.r_[rng.normal(-0.6, 0.1, 100), rng.normal(0.5, 0.1, 100)],
            np.r_[rng.normal(-0.8, 0.05, 60), rng.normal(0, 0.05, 80), rng.normal(0.7, 0.05, 60)],
        ]
        cells, _ = mixture.distinct_cells(
            np.stack(samples, axis=1), np.zeros(200, dtype=int), np.ones(200), 1
        )
        choice = mixture.choose_mixtures(
            cells, mixture.Spread(0.0, np.ones((3, 1))), max_components=4, n_starts=3, seed=0,
            tol=1e-8, max_iter=2000, accelerate=accelerate,
        )  # fmt: skip
        assert choice.n_components.tolist() == [1, 2, 3]
        for place, values in enumerate(samples):
            k = choice.n_components[place]
            peer = GaussianMixture(
                k, covariance_type="diag", n_init=5, tol=1e-10, max_iter=5000, random_state=0,
                reg_covar=0.0,
            ).fit(values[:, None])  # fmt: skip
            # scikit-learn's BIC is -2 times ours
            assert_allclose(choice.bic[place, k - 1], -0.5 * peer.bic(values[:, None]), rtol=1e-6)

    def test_the_objective_rises_past_a_component_that_loses_all_cells(self):
        cells = cells_of(np.r_[np.linspace(-0.1, 0.1, 20), np.linspace(-0.02, 0.02, 9)])
        start = mixture.RunParams(
            np.zeros(1), np.log([[0.5, 0.5]]), np.array([[0.0, 90.0]]), np.array([[0.1, 0.1]])
        )
        result = run_restarts(
            mixture.PairProblem(cells, mixture.Spread(2.0, np.array([[1e-4]]))), start, tol=1e-12,
            max_iter=50, rngs=[np.random.default_rng(0)],
        )  # fmt: skip
        assert np.isneginf(result.params.log_weight[0, 1])
        assert np.all(np.diff(result.history) >= -1e-12)

    def test_bic_by_hand(self):
        rng = np.random.default_rng(5)
        values, weight = rng.normal(size=30), rng.uniform(0.5, 3, 30)
        cells = cells_of(values, weight)
        variance, strength = 0.7, 2.0
        choice = mixture.choose_mixtures(
            cells, mixture.Spread(strength, np.array([[variance]])), max_components=2, n_starts=2,
            seed=0, tol=1e-9, max_iter=1000,
        )  # fmt: skip
        mean = np.average(values, weights=weight)
        squares = weight @ (values - mean) ** 2 + strength * variance
        scale = np.sqrt(squares / (weight.sum() + strength))
        expected = weight @ norm.logpdf(values, mean, scale) - np.log(weight.sum())
        assert_allclose(choice.bic[0, 0], expected, rtol=1e-9)
        assert choice.n_components[0] == 1
        assert choice.bic[0, 1] < choice.bic[0, 0]

    def test_too_few_rows_or_values_are_not_tried(self):
        def tried(values, weight=None):
            choice = mixture.choose_mixtures(
                cells_of(values, weight), mixture.Spread(1.0, np.array([[1.0]])),
                max_components=3, n_starts=1, seed=0, tol=1e-6, max_iter=100,
            )  # fmt: skip
            return np.isfinite(choice.bic[0]).tolist()

        assert tried([0.0, 0.5, 1.0, 0.2]) == [True, False, False]  # 4 rows: 5 parameters for 2
        assert tried([0.0, 0.5, 1.0, 0.2, 0.7]) == [True, True, False]
        assert tried([0.0, 1.0], [9, 9]) == [True, True, False]  # two values
        assert tried([0.5] * 50) == [True, False, False]

    def test_a_collapsed_component_is_not_chosen(self):
        values = np.r_[np.zeros(40), np.linspace(-1, 1, 21)]
        choice = mixture.choose_mixtures(
            cells_of(values), mixture.Spread(0.0, np.array([[1.0]])), max_components=3, n_starts=3,
            seed=0, tol=1e-6, max_iter=500,
        )  # fmt: skip
        used = np.isfinite(choice.parts.log_weight[0])
        assert np.all(choice.parts.scale[0, used] > 1e-3 * values.std())
        assert choice.bic[0].tolist().count(-np.inf) >= 1

    @pytest.mark.parametrize("seed", range(5))
    def test_peaks_are_those_of_a_fine_grid(self, seed):
        rng = np.random.default_rng(seed)
        parts = mixture.ColumnComponents(
            np.log(rng.dirichlet(np.ones(3), 4)),
            rng.normal(size=(4, 3)),
            rng.uniform(0.2, 1, (4, 3)),
        )
        at, height = mixture.mixture_peaks(parts)
        grid = np.linspace(-4, 4, 20001)
        for r in range(4):
            density = log_density_by_hand(grid, parts, r)
            assert_allclose(height[r], density.max(), atol=1e-6)
            assert_allclose(at[r], grid[density.argmax()], atol=5e-4)


def test_density_in_the_datas_own_units_with_missing_cells():
    rng = np.random.default_rng(6)
    parts = mixture.ColumnComponents(
        np.log(rng.dirichlet(np.ones(2), (3, 2))), rng.normal(size=(3, 2, 2)),
        rng.uniform(0.3, 1, (3, 2, 2)),
    )  # fmt: skip
    numeric = np.array([[0.1, -0.4], [np.nan, 0.3], [np.nan, np.nan]])
    unit = np.array([10.0, 0.1])
    out = mixture.mixture_log_density(parts, numeric, unit)
    for k in range(3):
        one, two = (mixture.ColumnComponents(*(a[k, [j]] for a in parts)) for j in range(2))
        first = log_density_by_hand([0.1], one)[0] - np.log(10.0)
        second = log_density_by_hand([-0.4, 0.3], two) - np.log(0.1)
        assert_allclose(out[:, k], [first + second[0], second[1], 0.0], rtol=1e-10)
