import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from plain import MixtureNaiveBayes, NaiveBayes


@pytest.fixture
def mixed():
    """240 rows with holes: a number of two humps in one class, a plain one, a colour."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 120)
    humps = np.r_[rng.normal(-3, 0.6, 60), rng.normal(3, 0.6, 60), rng.normal(0, 1, 120)]
    frame = pd.DataFrame(
        {
            "humps": humps,
            "plain": rng.normal(100, 20, 240) + 15 * (y == "b"),
            "colour": rng.choice(["red", "green", "blue"], 240),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1), y


def joint_by_hand(model, X):
    """log p(x, class) cell by cell from the public parameters."""
    out = np.tile(np.log(model.class_prior_), (len(X), 1))
    for j, column in enumerate(model.schema_.columns):
        for i, value in enumerate(X.iloc[:, j]):
            if pd.isna(value):
                continue
            for k in range(len(model.classes_)):
                if column.kind == "continuous":
                    place = model.schema_.continuous.index(j)
                    parts = slice(model.n_components_[k, place])
                    shares = model.component_weights_[k, place, parts]
                    means = model.component_means_[k, place, parts]
                    scales = model.component_scales_[k, place, parts]
                    out[i, k] += np.log(shares @ norm.pdf(value, means, scales))
                else:
                    code = column.categories.index(value)
                    out[i, k] += np.log(model.probabilities_[column.name][k, code])
    return out


class TestOneComponent:
    @pytest.mark.parametrize("unlabelled", [0.0, 0.5])
    @pytest.mark.parametrize("prior", [1.0, None])
    @pytest.mark.parametrize("accelerate", [False, True])
    def test_it_is_naive_bayes_to_the_bit(self, mixed, unlabelled, prior, accelerate):
        X, y = mixed
        y = np.where(np.random.default_rng(1).random(240) < unlabelled, None, y)
        settings = {"prior": prior, "accelerate": accelerate, "random_state": 0}
        ours = MixtureNaiveBayes(max_components=1, **settings).fit(X, y)
        plain = NaiveBayes(**settings).fit(X, y)
        assert ours.predict_joint_log_proba(X).tolist() == plain.predict_joint_log_proba(X).tolist()
        assert ours.history_ == plain.history_
        assert ours.log_likelihood_ == plain.log_likelihood_
        assert ours.component_means_[..., 0].tolist() == plain.means_.tolist()
        for how in ("expected", "most_probable"):
            pd.testing.assert_frame_equal(ours.complete(X, how=how), plain.complete(X, how=how))

    def test_bell_shaped_columns_get_one(self):
        rng = np.random.default_rng(2)
        y = np.repeat([0, 1], 300)
        X = rng.normal(y[:, None], 1, (600, 4))
        ours = MixtureNaiveBayes().fit(X, y)
        assert np.mean(ours.n_components_ == 1) >= 0.75

    def test_a_table_without_numbers_has_none(self, mixed):
        X, y = mixed
        model, plain = (m().fit(X[["colour"]], y) for m in (MixtureNaiveBayes, NaiveBayes))
        assert model.n_components_.shape == (2, 0)
        assert model.predict_proba(X[["colour"]]).tolist() == (
            plain.predict_proba(X[["colour"]]).tolist()
        )


class TestMixtures:
    def test_joint_probability_is_the_product_over_observed_cells(self, mixed):
        X, y = mixed
        model = MixtureNaiveBayes(random_state=0).fit(X, y)
        assert model.n_components_.tolist() == [[2, 1], [1, 1]]
        assert_allclose(model.predict_joint_log_proba(X), joint_by_hand(model, X), rtol=1e-9)
        by_row = joint_by_hand(model, X)[np.arange(240), (y == "b").astype(int)]
        assert_allclose(model.log_likelihood_, by_row.sum(), rtol=1e-10)
        assert model.converged_

    def test_the_columns_that_stay_gaussian_are_naive_bayes(self, mixed):
        X, y = mixed
        model, plain = MixtureNaiveBayes().fit(X, y), NaiveBayes().fit(X, y)
        assert_allclose(model.means_[:, 1], plain.means_[:, 1], rtol=1e-12)
        assert_allclose(model.scales_[:, 1], plain.scales_[:, 1], rtol=1e-12)
        assert_allclose(model.probabilities_["colour"], plain.probabilities_["colour"])
        # the class whose humps are one Gaussian too
        assert_allclose(model.means_[1, 0], plain.means_[1, 0], rtol=1e-9)
        assert_allclose(model.scales_[1, 0], plain.scales_[1, 0], rtol=1e-9)

    def test_the_optimum_is_scikit_learns(self, mixed):
        X, y = mixed
        model = MixtureNaiveBayes(max_components=2, prior=None, tol=1e-10, max_iter=5000).fit(X, y)
        column = X["humps"][y == "a"].dropna().to_numpy()[:, None]
        peer = GaussianMixture(
            2, covariance_type="diag", n_init=5, tol=1e-12, max_iter=5000, reg_covar=0.0,
            random_state=0,
        ).fit(column)  # fmt: skip
        order = np.argsort(peer.means_[:, 0])
        assert_allclose(model.component_weights_[0, 0], peer.weights_[order], rtol=1e-4)
        assert_allclose(model.component_means_[0, 0], peer.means_[order, 0], rtol=1e-4)
        assert_allclose(
            model.component_scales_[0, 0], np.sqrt(peer.covariances_[order, 0]), rtol=1e-4
        )

    def test_variances_are_map_estimates_under_their_own_shares(self, mixed):
        X, y = mixed
        strength = 4.0
        model = MixtureNaiveBayes(max_components=2, prior=strength, tol=1e-12, max_iter=5000).fit(
            X, y
        )
        values = X["humps"][y == "a"].dropna().to_numpy()
        shares = model.component_weights_[0, 0] * norm.pdf(
            values[:, None], model.component_means_[0, 0], model.component_scales_[0, 0]
        )
        shares /= shares.sum(axis=1, keepdims=True)
        weight = shares.sum(axis=0)
        squares = (shares * (values[:, None] - model.component_means_[0, 0]) ** 2).sum(axis=0)
        variance = (squares + strength * X["humps"].var(ddof=0)) / (weight + strength)
        assert_allclose(model.component_scales_[0, 0] ** 2, variance, rtol=1e-5)

    def test_density_integrates_to_one(self, mixed):
        X, y = mixed
        model = MixtureNaiveBayes().fit(X, y)
        grid = np.linspace(-15, 15, 4001)
        rows = pd.DataFrame({"humps": grid, "plain": np.nan, "colour": None})
        for k in range(2):
            density = np.exp(model.predict_joint_log_proba(rows)[:, k])
            assert_allclose(trapezoid(density, grid), model.class_prior_[k], rtol=1e-6)

    def test_samples_have_the_humps(self, mixed):
        model = MixtureNaiveBayes().fit(*mixed)
        drawn = model.sample(20_000, y="a", random_state=0)[0]["humps"].to_numpy()
        expected = sum(
            share * norm.cdf([-3.0, 0.0, 3.0], mean, scale)
            for share, mean, scale in zip(
                model.component_weights_[0, 0], model.component_means_[0, 0],
                model.component_scales_[0, 0], strict=True,
            )
        )  # fmt: skip
        found = [np.mean(drawn < edge) for edge in (-3.0, 0.0, 3.0)]
        assert_allclose(found, expected, atol=0.015)
        assert_allclose([drawn.mean(), drawn.std()], [model.means_[0, 0], model.scales_[0, 0]],
                        atol=0.1)  # fmt: skip

    @pytest.mark.filterwarnings("ignore:y has a single class")
    def test_the_most_probable_number_is_at_a_hump_not_between(self, mixed):
        X, y = mixed
        model = MixtureNaiveBayes().fit(X[y == "a"], y[y == "a"])
        hole = pd.DataFrame({"humps": [np.nan], "plain": [100.0], "colour": ["red"]})
        grid = np.linspace(-8, 8, 8001)
        rows = pd.concat([hole] * len(grid), ignore_index=True).assign(humps=grid)
        best = grid[model.predict_joint_log_proba(rows).max(axis=1).argmax()]
        assert_allclose(model.complete(hole, how="most_probable")["humps"], best, atol=2e-3)
        assert abs(best) > 2
        assert abs(model.complete(hole)["humps"][0]) < 1

    def test_it_sees_what_naive_bayes_cannot(self):
        """Two classes of the same mean and variance, one of them in two humps."""
        rng = np.random.default_rng(8)
        humps = np.r_[rng.normal(-3, 0.5, 200), rng.normal(3, 0.5, 200)]
        X = np.r_[humps, rng.normal(0, humps.std(), 400)][:, None]
        y = np.repeat([0, 1], 400)
        assert np.mean(MixtureNaiveBayes().fit(X, y).predict(X) == y) > 0.8
        assert np.mean(NaiveBayes().fit(X, y).predict(X) == y) < 0.6


class TestUnlabelledRows:
    @pytest.fixture
    def half(self, mixed):
        X, y = mixed
        return X, np.where(np.random.default_rng(3).random(240) < 0.6, None, y)

    @pytest.mark.parametrize("accelerate", [False, True])
    def test_history_rises_and_the_components_move(self, half, accelerate):
        X, y = half
        model = MixtureNaiveBayes(
            tol=1e-8, max_iter=2000, accelerate=accelerate, unlabelled_weight=0.1
        ).fit(X, y)
        assert len(model.history_) > 3
        assert np.all(np.diff(model.history_) >= -1e-12)
        assert model.converged_
        seen = np.array([label is not None for label in y])
        alone = MixtureNaiveBayes(tol=1e-8).fit(X[seen], y[seen])
        assert model.n_components_.tolist() == alone.n_components_.tolist() == [[2, 1], [1, 1]]
        assert not np.allclose(model.component_means_[0, 0], alone.component_means_[0, 0])

    def test_the_log_likelihood_sums_unlabelled_rows_over_the_class(self, half):
        X, y = half
        model = MixtureNaiveBayes(unlabelled_weight=1).fit(X, y)
        joint = joint_by_hand(model, X)
        total = 0.0
        for row, label in zip(joint, y, strict=True):
            total += np.logaddexp.reduce(row) if label is None else row["ab".index(label)]
        assert_allclose(model.log_likelihood_, total, rtol=1e-10)

    def test_result_is_a_fixed_point(self, half):
        """At convergence the parameters are the estimates under their own posterior."""
        X, y = half
        model = MixtureNaiveBayes(
            max_components=2, tol=1e-14, max_iter=20_000, prior=None, unlabelled_weight=1
        ).fit(X, y)
        posterior = model.predict_proba(X)[:, 0]
        posterior = np.where([v == "a" for v in y], 1.0, posterior)
        posterior = np.where([v == "b" for v in y], 0.0, posterior)
        seen = X["humps"].notna().to_numpy()
        values = X["humps"].to_numpy()[seen]
        shares = model.component_weights_[0, 0] * norm.pdf(
            values[:, None], model.component_means_[0, 0], model.component_scales_[0, 0]
        )
        shares *= (posterior[seen] / shares.sum(axis=1))[:, None]
        weight = shares.sum(axis=0)
        assert_allclose(model.component_weights_[0, 0], weight / weight.sum(), rtol=1e-4)
        assert_allclose(model.component_means_[0, 0], values @ shares / weight, rtol=1e-4)
        assert_allclose(model.class_prior_[0], posterior.mean(), rtol=1e-4)

    def test_too_few_iterations_warn(self, half):
        from sklearn.exceptions import ConvergenceWarning

        with pytest.warns(
            ConvergenceWarning, match="EM was stopped at max_iter=3 with a last gain"
        ):
            MixtureNaiveBayes(max_iter=3, tol=1e-12, unlabelled_weight=0.1).fit(*half)

    def test_verbose_prints_each_iteration(self, half, capsys):
        model = MixtureNaiveBayes(verbose=1).fit(*half)
        assert capsys.readouterr().err.count("\n") == model.n_iter_ - 1


class TestTheSameWhatever:
    """Things that must not change what is learned, on a table where mixtures are chosen."""

    @pytest.mark.parametrize("unlabelled", [0.0, 0.4])
    def test_copies_or_weights_rows_and_columns_in_any_order_and_units(self, mixed, unlabelled):
        X, y = mixed
        rng = np.random.default_rng(4)
        y = np.where(rng.random(240) < unlabelled, None, y)
        weight = rng.integers(1, 4, 240)
        rows = rng.permutation(np.repeat(np.arange(240), weight))
        model = MixtureNaiveBayes(random_state=0)
        expected = model.fit(X, y, sample_weight=weight)
        told, numbers = expected.predict_joint_log_proba(X), expected.n_components_
        assert numbers.max() > 1
        other = X[["plain", "colour", "humps"]]
        again = MixtureNaiveBayes(random_state=0).fit(other.iloc[rows], y[rows])
        assert again.n_components_[:, ::-1].tolist() == numbers.tolist()
        assert_allclose(again.predict_joint_log_proba(other), told, rtol=1e-8)
        scaled = X.assign(humps=X["humps"] * 1e-5 + 3)
        rescaled = MixtureNaiveBayes(random_state=0).fit(scaled, y, sample_weight=weight)
        seen = X["humps"].notna().to_numpy()[:, None] * np.log(1e5)
        assert_allclose(rescaled.predict_joint_log_proba(scaled), told + seen, rtol=1e-6)

    def test_other_columns_do_not_change_a_columns_mixture(self, mixed):
        X, y = mixed
        both, alone = (
            MixtureNaiveBayes(tol=1e-9, max_iter=2000).fit(t, y) for t in (X, X[["humps"]])
        )
        assert_allclose(both.component_means_[:, 0], alone.component_means_[:, 0], rtol=1e-5)

    def test_chunks_of_columns_change_nothing(self, mixed, monkeypatch):
        X, y = mixed
        whole = MixtureNaiveBayes(random_state=0).fit(X, y).predict_joint_log_proba(X)
        monkeypatch.setattr("latentclass.naive_bayes._column_choice.CHUNK_NUMBERS", 1)
        again = MixtureNaiveBayes(random_state=0, n_jobs=2).fit(X, y).predict_joint_log_proba(X)
        assert again.tolist() == whole.tolist()


class TestBadNumbers:
    def test_constant_columns_and_classes_of_one_row(self):
        rng = np.random.default_rng(5)
        X = np.column_stack(
            [np.r_[rng.normal(-4, 0.3, 30), rng.normal(4, 0.3, 30), 9.0], np.ones(61)]
        )
        y = np.r_[np.zeros(60), 1.0]
        for prior in (1.0, None):
            model = MixtureNaiveBayes(prior=prior).fit(X, y)
            assert model.n_components_[:, 1].tolist() == [1, 1]
            assert model.n_components_[1].tolist() == [1, 1]
            assert model.n_components_[0, 0] == 2
            assert np.isfinite(model.score_samples(X)).all()
            assert model.predict(X[-1:]).tolist() == [1.0]

    @pytest.mark.parametrize("prior", [1.0, None])
    def test_many_equal_values_do_not_collapse(self, prior):
        rng = np.random.default_rng(6)
        X = np.r_[np.zeros(80), rng.normal(0, 1, 40), rng.normal(1, 1, 120)][:, None]
        model = MixtureNaiveBayes(prior=prior).fit(X, np.repeat([0, 1], 120))
        assert np.nanmin(model.component_scales_) > 1e-3 * X.std()
        assert np.isfinite(model.score_samples(X)).all()

    def test_sparse_numbers_are_dense_numbers(self):
        import scipy.sparse as sp

        rng = np.random.default_rng(7)
        y = rng.integers(0, 2, 200)
        X = rng.normal(size=(200, 3)) * (rng.random((200, 3)) < 0.4)
        dense, sparse = (MixtureNaiveBayes(random_state=0).fit(t, y) for t in (X, sp.coo_array(X)))
        assert dense.n_components_.max() > 1
        assert_allclose(sparse.predict_proba(sp.csc_array(X)), dense.predict_proba(X), rtol=1e-10)

    @pytest.mark.parametrize("value", [0, 2.5, "bic"])
    def test_numbers_of_components_that_make_no_sense_are_refused(self, value):
        with pytest.raises(
            ValueError, match=r"max_components=.* must be a whole number of at leas"
        ):
            MixtureNaiveBayes(max_components=value).fit([[1.0], [2.0]], [0, 1])
