import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from plain import FiniteMixtureNaiveBayes, NaiveBayes


@pytest.fixture
def corners():
    """240 rows with holes: two numbers and a colour that tell the class only together."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (240, 2))
    frame = pd.DataFrame(
        {
            "left": rng.normal(5.0 * corner[:, 0], 1.0),
            "right": rng.normal(500.0 * corner[:, 1], 100.0),
            "colour": np.where(
                rng.random(240) < 0.8, np.array(["red", "blue"])[corner[:, 0]], "grey"
            ),
        }
    )
    y = np.where(corner[:, 0] == corner[:, 1], "same", "unlike")
    return frame.mask(rng.random(frame.shape) < 0.1), y


def component_joint_by_hand(model, X):
    """log p(x, class, h) cell by cell from the public parameters."""
    n_classes, n_components = model.component_weights_.shape
    start = np.log(model.class_prior_[:, None] * model.component_weights_)
    out = np.tile(start, (len(X), 1, 1))
    for k, h in itertools.product(range(n_classes), range(n_components)):
        for j, column in enumerate(model.schema_.columns):
            for i, value in enumerate(X.iloc[:, j]):
                if pd.isna(value):
                    continue
                if column.kind == "continuous":
                    place = model.schema_.continuous.index(j)
                    mean, scale = model.means_[k, h, place], model.scales_[k, h, place]
                    out[i, k, h] += norm.logpdf(value, mean, scale)
                else:
                    code = column.categories.index(value)
                    out[i, k, h] += np.log(model.probabilities_[column.name][k, h, code])
    return out


class TestOneComponent:
    @pytest.mark.parametrize("unlabelled", [0.0, 0.5])
    @pytest.mark.parametrize("prior", [1.0, None])
    def test_it_is_naive_bayes(self, corners, unlabelled, prior):
        X, y = corners
        y = np.where(np.random.default_rng(1).random(240) < unlabelled, None, y)
        ours = FiniteMixtureNaiveBayes(n_components=1, prior=prior, random_state=0).fit(X, y)
        plain = NaiveBayes(prior=prior, random_state=0).fit(X, y)
        assert_allclose(
            ours.predict_joint_log_proba(X), plain.predict_joint_log_proba(X), rtol=1e-12
        )
        assert_allclose(ours.log_likelihood_, plain.log_likelihood_, rtol=1e-12)
        assert_allclose(ours.means_[:, 0], plain.means_, rtol=1e-10)
        assert ours.component_weights_.tolist() == [[1.0], [1.0]]
        for how in ("expected", "most_probable"):
            pd.testing.assert_frame_equal(ours.complete(X, how=how), plain.complete(X, how=how))

    def test_independent_columns_get_one(self):
        rng = np.random.default_rng(2)
        y = np.repeat([0, 1], 200)
        assert (
            FiniteMixtureNaiveBayes().fit(rng.normal(y[:, None], 1, (400, 3)), y).n_components_ == 1
        )


class TestMixtures:
    def test_joint_probability_sums_the_product_over_the_hidden_variable(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
        assert model.n_components_ == 2
        expected = np.logaddexp.reduce(component_joint_by_hand(model, X), axis=2)
        assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-9)
        by_row = expected[np.arange(240), (y == "unlike").astype(int)]
        assert_allclose(model.log_likelihood_, by_row.sum(), rtol=1e-9)

    def test_it_sees_what_naive_bayes_cannot(self, corners):
        X, y = corners
        assert np.mean(FiniteMixtureNaiveBayes(random_state=0).fit(X, y).predict(X) == y) > 0.9
        assert np.mean(NaiveBayes().fit(X, y).predict(X) == y) < 0.7

    def test_the_optimum_is_scikit_learns_in_each_class(self, corners):
        X, y = corners
        X = X[["left", "right"]].dropna()
        y = y[X.index]
        model = FiniteMixtureNaiveBayes(
            n_components=2, prior=None, tol=1e-10, max_iter=5000, random_state=0
        ).fit(X, y)
        for k, label in enumerate(model.classes_):
            peer = GaussianMixture(
                2, covariance_type="diag", n_init=5, tol=1e-10, max_iter=5000, random_state=0,
                reg_covar=0.0,
            ).fit(X[y == label].to_numpy())  # fmt: skip
            theirs, ours = np.argsort(peer.means_[:, 0]), np.argsort(model.means_[k, :, 0])
            assert_allclose(model.component_weights_[k, ours], peer.weights_[theirs], rtol=1e-4)
            assert_allclose(model.means_[k, ours], peer.means_[theirs], rtol=1e-3)
            assert_allclose(model.scales_[k, ours] ** 2, peer.covariances_[theirs], rtol=1e-3)

    def test_bic_by_hand(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(max_components=3, random_state=0).fit(X, y)
        assert list(model.bic_) == [1, 2, 3]
        assert max(model.bic_, key=model.bic_.get) == model.n_components_ == 2
        # one class share; in each class one share of h, and in each of its two states two means,
        # two variances and two of three colours
        n_parameters = 1 + 2 * (1 + 2 * (2 + 2 + 2))
        expected = model.log_likelihood_ - 0.5 * n_parameters * np.log(240)
        assert_allclose(model.bic_[2], expected, rtol=1e-12)
        single = NaiveBayes().fit(X, y)
        assert_allclose(
            model.bic_[1], single.log_likelihood_ - 0.5 * (1 + 2 * 6) * np.log(240), rtol=1e-12
        )

    def test_density_integrates_to_one(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
        one, two = np.linspace(-10, 15, 251), np.linspace(-1000, 1500, 251)
        grid = np.array(list(itertools.product(one, two)))
        rows = pd.DataFrame({"left": grid[:, 0], "right": grid[:, 1], "colour": None})
        density = np.exp(model.score_samples(rows)).reshape(251, 251)
        assert_allclose(trapezoid(trapezoid(density, two, axis=1), one), 1.0, rtol=1e-6)

    def test_transform_is_the_posterior_of_class_and_component(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
        joint = component_joint_by_hand(model, X).reshape(240, 4)
        expected = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        assert_allclose(model.transform(X), expected, rtol=1e-8, atol=1e-12)
        assert model.get_feature_names_out().tolist() == [
            f"finitemixturenaivebayes_{name}"
            for name in ("same_0", "same_1", "unlike_0", "unlike_1")
        ]
        assert_allclose(model.transform(X)[:, :2].sum(axis=1), model.predict_proba(X)[:, 0])

    @pytest.mark.filterwarnings("ignore:y has a single class")
    def test_expected_cells_use_the_component(self, corners):
        """Given left, the mean of right depends on left within the class."""
        X, y = corners
        model = FiniteMixtureNaiveBayes(random_state=0).fit(X[y == "same"], y[y == "same"])
        rows = pd.DataFrame({"left": [0.0, 5.0], "right": np.nan, "colour": None})
        low, high = model.complete(rows)["right"]
        assert low < 100
        assert high > 400
        grid = np.linspace(-1000, 1500, 5001)
        for left, found in ((0.0, low), (5.0, high)):
            many = pd.DataFrame({"left": left, "right": grid, "colour": None})
            density = np.exp(model.score_samples(many))
            mean = trapezoid(density * grid, grid) / trapezoid(density, grid)
            assert_allclose(found, mean, rtol=1e-4, atol=1e-2)

    def test_the_most_probable_completion_is_that_of_a_grid(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(n_components=3, random_state=0).fit(X, y)
        rows = pd.DataFrame(
            {
                "left": [0.3, 4.0, np.nan, np.nan],
                "right": np.nan,
                "colour": [None, "red", None, "blue"],
            }
        )
        filled = model.complete(rows, how="most_probable")
        best = model.predict_joint_log_proba(filled).max(axis=1)
        left, right = np.linspace(-3, 8, 56), np.linspace(-400, 900, 66)
        colours = ["blue", "grey", "red"]
        for i in range(4):
            seen = rows.iloc[i]
            tried = itertools.product(
                left if pd.isna(seen["left"]) else [seen["left"]],
                right,
                colours if pd.isna(seen["colour"]) else [seen["colour"]],
            )
            grid = pd.DataFrame(list(tried), columns=["left", "right", "colour"])
            highest = model.predict_joint_log_proba(grid).max()
            assert best[i] >= highest - 1e-9
            assert best[i] <= highest + 0.1  # the grid is not that coarse

    def test_samples_keep_columns_together(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(random_state=0).fit(X, y)
        drawn, labels = model.sample(4000, random_state=1)
        for label, sign in (("same", 1), ("unlike", -1)):
            part = drawn[labels == label]
            assert sign * np.corrcoef(part["left"], part["right"])[0, 1] > 0.7

    def test_bif_reads_back_as_the_same_network(self, corners, tmp_path):
        gum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed")
        X, y = corners
        table = pd.DataFrame({"colour": X["colour"], "low": np.where(X["left"] < 2.5, "yes", "no")})
        model = FiniteMixtureNaiveBayes(n_components=2, random_state=0).fit(table, y)
        model.to_bif(tmp_path / "model.bif")
        network = gum.loadBN(str(tmp_path / "model.bif"))
        engine = gum.LazyPropagation(network)
        for colour, low in itertools.product(("red", "grey"), ("yes", "no")):
            engine.setEvidence({"colour": colour, "low": low})
            engine.makeInference()
            row = pd.DataFrame({"colour": [colour], "low": [low]})
            assert_allclose(
                engine.posterior("class").toarray(), model.predict_proba(row)[0], rtol=1e-6
            )


class TestFit:
    @pytest.fixture
    def half(self, corners):
        X, y = corners
        return X, np.where(np.random.default_rng(3).random(240) < 0.5, None, y)

    @pytest.mark.parametrize("accelerate", [False, True])
    def test_history_rises_with_unlabelled_rows(self, half, accelerate):
        X, y = half
        model = FiniteMixtureNaiveBayes(
            tol=1e-7, max_iter=2000, accelerate=accelerate, random_state=0, unlabelled_weight=1
        ).fit(X, y)
        assert model.n_components_ == 2
        assert np.all(np.diff(model.history_) >= -1e-12)
        assert model.converged_
        joint = np.logaddexp.reduce(component_joint_by_hand(model, X), axis=2)
        total = 0.0
        for row, label in zip(joint, y, strict=True):
            k = None if label is None else ["same", "unlike"].index(label)
            total += np.logaddexp.reduce(row) if k is None else row[k]
        assert_allclose(model.log_likelihood_, total, rtol=1e-9)

    def test_class_shares_of_labelled_rows_are_their_counts(self, corners):
        X, y = corners
        model = FiniteMixtureNaiveBayes(n_components=3, random_state=0).fit(X, y)
        assert_allclose(model.class_prior_, [np.mean(y == "same"), np.mean(y == "unlike")])
        assert_allclose(model.component_weights_.sum(axis=1), 1.0)

    @pytest.mark.parametrize("unlabelled", [0.0, 0.4])
    def test_copies_or_weights_rows_and_columns_in_any_order_and_units(self, corners, unlabelled):
        X, y = corners
        rng = np.random.default_rng(4)
        y = np.where(rng.random(240) < unlabelled, None, y)
        weight = rng.integers(1, 4, 240)
        rows = rng.permutation(np.repeat(np.arange(240), weight))
        expected = FiniteMixtureNaiveBayes(random_state=0).fit(X, y, sample_weight=weight)
        assert expected.n_components_ > 1
        told = expected.predict_joint_log_proba(X)
        other = X[["colour", "right", "left"]]
        again = FiniteMixtureNaiveBayes(random_state=0).fit(other.iloc[rows], y[rows])
        assert_allclose(again.predict_joint_log_proba(other), told, rtol=1e-8)
        scaled = X.assign(left=X["left"] * 1e-5 + 3)
        rescaled = FiniteMixtureNaiveBayes(random_state=0).fit(scaled, y, sample_weight=weight)
        seen = X["left"].notna().to_numpy()[:, None] * np.log(1e5)
        assert_allclose(rescaled.predict_joint_log_proba(scaled), told + seen, rtol=1e-6)

    def test_more_components_than_distinct_rows(self):
        X, y = [[1.0, "a"], [1.0, "a"], [5.0, "b"]], ["x", "x", "y"]
        for prior in (1.0, None):
            model = FiniteMixtureNaiveBayes(n_components=4, prior=prior).fit(X, y)
            assert model.predict([[1.0, "a"], [5.0, "b"]]).tolist() == ["x", "y"]
            assert np.isfinite(model.score_samples(X)).all()

    def test_constant_columns_count_for_nothing_in_bic(self, corners):
        X, y = corners
        more = X.assign(zero=0.0, name="same")
        ours, with_more = (FiniteMixtureNaiveBayes(random_state=0).fit(t, y) for t in (X, more))
        assert with_more.n_components_ == ours.n_components_
        gaps = [with_more.bic_[k] - ours.bic_[k] for k in (1, 2, 3, 4)]
        assert_allclose(gaps, gaps[0], atol=1e-5)  # the constant's own density, whatever the number

    def test_without_a_prior_a_collapsed_component_is_not_chosen(self):
        rng = np.random.default_rng(5)
        X = np.r_[np.tile([[0.0, 0.0]], (40, 1)), rng.normal(0, 1, (80, 2))]
        y = np.repeat([0, 1, 0], 40)
        model = FiniteMixtureNaiveBayes(prior=None, random_state=0).fit(X[:], y)
        assert model.n_components_ == 1 or model.scales_.min() > 1e-3 * X.std(axis=0).min()
        assert -np.inf in model.bic_.values()

    def test_restarts_are_tabled_and_the_best_is_kept(self, corners):
        model = FiniteMixtureNaiveBayes(n_components=3, n_init=6, random_state=0).fit(*corners)
        table = model.restarts_
        assert len(table["start"]) == 6
        assert table["objective"][table["kept"]].tolist() == [model.history_[-1]]

    def test_callbacks_get_no_more_steps_than_promised(self, half):
        callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")

        class Count(callback.FitCallback):
            def __init__(self):
                self.ended = 0

            def setup(self, estimator, context): ...
            def on_fit_task_begin(self, estimator, context): ...
            def on_fit_task_end(self, estimator, context):
                self.ended += 1

            def teardown(self, estimator, context): ...

        count = Count()
        model = FiniteMixtureNaiveBayes(max_iter=30, tol=1e-3, random_state=0)
        model.set_callbacks(count).fit(*half)
        assert 5 < count.ended <= 31  # the last is the fit itself

    @pytest.mark.parametrize(
        ("parameter", "value", "message"),
        [
            ("n_components", 0, "n_components=0 must be a whole number of at least 1."),
            ("n_components", "aic", "n_components='aic' must be one of 'bic'."),
            ("max_components", 0, "max_components=0 must be a whole number of at least 1."),
        ],
    )
    def test_parameters_that_make_no_sense_are_refused(self, parameter, value, message):
        with pytest.raises(ValueError, match="must be") as caught:
            FiniteMixtureNaiveBayes(**{parameter: value}).fit([[1.0], [2.0]], [0, 1])
        assert str(caught.value) == message


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_most_probable_cells_do_not_depend_on_the_unit(unit):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 3]
    y = np.arange(60) % 2
    holes = X[:3] * [np.nan, 1.0]
    plain = (
        FiniteMixtureNaiveBayes(n_components=2, random_state=0)
        .fit(X, y)
        .complete(holes, "most_probable")
    )
    model = FiniteMixtureNaiveBayes(n_components=2, random_state=0).fit(X * [unit, 1.0], y)
    assert_allclose(model.complete(holes, "most_probable") / [unit, 1.0], plain, rtol=1e-6)
