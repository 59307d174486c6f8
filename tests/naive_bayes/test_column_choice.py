"""The number of components of each column in each class, against scikit-learn and by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from latentclass.engine._em import run_restarts
from latentclass.naive_bayes._column_choice import (
    ColumnSearch,
    PairProblem,
    RunParams,
    choose_mixtures,
    draw_cuts,
    slice_starts,
)
from latentclass.naive_bayes._column_mixture import ColumnComponents, Spread, distinct_values


def samples_of(values, weight=None):
    values = np.asarray(values, dtype=float)[:, None]
    weight = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=float)
    return distinct_values(values, np.zeros(len(values), dtype=int), weight, 1)[0]


class TestStarts:
    def test_even_slices_have_the_means_of_even_parts_of_the_sample(self):
        values = np.sort(np.random.default_rng(2).normal(size=12))
        starts = slice_starts(samples_of(values), draw_cuts(3, 1, 0))
        assert_allclose(starts.mean[0, 0], values.reshape(3, 4).mean(axis=1), rtol=1e-10)
        assert_allclose(np.exp(starts.log_weight[0, 0]), 1 / 3)

    def test_a_value_astride_a_cut_is_divided(self):
        # weights 1, 4, 1: the half is in the middle of the second value
        starts = slice_starts(samples_of([0.0, 0.3, 0.9], [1, 4, 1]), np.array([[0.5]]))
        assert_allclose(starts.mean[0, 0], [2 * 0.3 / 3, (2 * 0.3 + 0.9) / 3], rtol=1e-10)

    def test_random_cuts_follow_the_even_ones(self):
        cuts = draw_cuts(3, 4, 7)
        assert_allclose(cuts[0], [1 / 3, 2 / 3])
        assert np.all(np.diff(cuts, axis=1) > 0)
        assert_array_equal(cuts, draw_cuts(3, 4, 7))
        assert not np.array_equal(cuts[1:], draw_cuts(3, 4, 8)[1:])


class TestPairProblem:
    def test_steps_are_scikit_learns(self):
        rng = np.random.default_rng(3)
        values = np.r_[rng.normal(-0.5, 0.1, 60), rng.normal(0.4, 0.2, 40)]
        start = ColumnComponents(
            np.log([[0.5, 0.5]]), np.array([[-0.2, 0.1]]), np.array([[0.3, 0.3]])
        )
        problem = PairProblem(samples_of(values), Spread(0.0, np.array([[1.0]])))
        result = run_restarts(
            problem, RunParams(np.zeros(1), *start), tol=0.0, max_iter=8,
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

    def test_the_objective_rises_past_a_component_that_loses_all_cells(self):
        samples = samples_of(np.r_[np.linspace(-0.1, 0.1, 20), np.linspace(-0.02, 0.02, 9)])
        start = RunParams(
            np.zeros(1), np.log([[0.5, 0.5]]), np.array([[0.0, 90.0]]), np.array([[0.1, 0.1]])
        )
        result = run_restarts(
            PairProblem(samples, Spread(2.0, np.array([[1e-4]]))), start, tol=1e-12,
            max_iter=50, rngs=[np.random.default_rng(0)],
        )  # fmt: skip
        assert np.isneginf(result.params.log_weight[0, 1])
        assert np.all(np.diff(result.history) >= -1e-12)


class TestChoice:
    @pytest.mark.parametrize("accelerate", [False, True])
    def test_the_choice_is_that_of_scikit_learns_bic(self, accelerate):
        rng = np.random.default_rng(4)
        columns = [
            rng.normal(0, 0.2, 200),
            np.r_[rng.normal(-0.6, 0.1, 100), rng.normal(0.5, 0.1, 100)],
            np.r_[rng.normal(-0.8, 0.05, 60), rng.normal(0, 0.05, 80), rng.normal(0.7, 0.05, 60)],
        ]
        samples, _ = distinct_values(
            np.stack(columns, axis=1), np.zeros(200, dtype=int), np.ones(200), 1
        )
        choice = choose_mixtures(
            samples,
            Spread(0.0, np.ones((3, 1))),
            ColumnSearch(4, 3, seed=0, tol=1e-8, max_iter=2000, accelerate=accelerate),
        )
        assert choice.n_components.tolist() == [1, 2, 3]
        for place, values in enumerate(columns):
            k = choice.n_components[place]
            peer = GaussianMixture(
                k, covariance_type="diag", n_init=5, tol=1e-10, max_iter=5000, random_state=0,
                reg_covar=0.0,
            ).fit(values[:, None])  # fmt: skip
            # scikit-learn's BIC is -2 times ours
            assert_allclose(choice.bic[place, k - 1], -0.5 * peer.bic(values[:, None]), rtol=1e-6)

    def test_bic_by_hand(self):
        rng = np.random.default_rng(5)
        values, weight = rng.normal(size=30), rng.uniform(0.5, 3, 30)
        samples = samples_of(values, weight)
        variance, strength = 0.7, 2.0
        choice = choose_mixtures(
            samples,
            Spread(strength, np.array([[variance]])),
            ColumnSearch(2, 2, seed=0, tol=1e-9, max_iter=1000),
        )
        mean = np.average(values, weights=weight)
        squares = weight @ (values - mean) ** 2 + strength * variance
        scale = np.sqrt(squares / (weight.sum() + strength))
        expected = weight @ norm.logpdf(values, mean, scale) - np.log(weight.sum())
        assert_allclose(choice.bic[0, 0], expected, rtol=1e-9)
        assert choice.n_components[0] == 1
        assert choice.bic[0, 1] < choice.bic[0, 0]

    def test_too_few_rows_or_values_are_not_tried(self):
        def tried(values, weight=None):
            choice = choose_mixtures(
                samples_of(values, weight), Spread(1.0, np.array([[1.0]])),
                ColumnSearch(3, 1, seed=0, tol=1e-6, max_iter=100),
            )  # fmt: skip
            return np.isfinite(choice.bic[0]).tolist()

        assert tried([0.0, 0.5, 1.0, 0.2]) == [True, False, False]  # 4 rows: 5 parameters for 2
        assert tried([0.0, 0.5, 1.0, 0.2, 0.7]) == [True, True, False]
        assert tried([0.0, 1.0], [9, 9]) == [True, True, False]  # two values
        assert tried([0.5] * 50) == [True, False, False]

    def test_a_collapsed_component_is_not_chosen(self):
        values = np.r_[np.zeros(40), np.linspace(-1, 1, 21)]
        choice = choose_mixtures(
            samples_of(values),
            Spread(0.0, np.array([[1.0]])),
            ColumnSearch(3, 3, seed=0, tol=1e-6, max_iter=500),
        )
        used = np.isfinite(choice.parts.log_weight[0])
        assert np.all(choice.parts.scale[0, used] > 1e-3 * values.std())
        assert choice.bic[0].tolist().count(-np.inf) >= 1
