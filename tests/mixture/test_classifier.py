"""LatentVariableClassifier: what it becomes without its parts, its searches, other classifiers."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from latentclass.datasets import load_dataset
from latentclass.engine._product import Params
from latentclass.mixture._classifier_model import LatentVariableModel, NaiveBayesClassifiers
from latentclass.mixture._component_classifiers import row_copies
from latentclass.naive_bayes._components import ProductComponents
from plain import LatentVariableClassifier, NaiveBayes


@pytest.fixture
def corners():
    """Four groups in the corners of a square; opposite corners have one label."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (240, 2))
    y = np.where(corner[:, 0] == corner[:, 1], "same", "different")
    return rng.normal(4.0 * corner, 1.0), y


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    y = rng.choice(["low", "mid", "top"], 90)
    level = np.searchsorted(["low", "mid", "top"], y)
    X = pd.DataFrame(
        {
            "height": rng.normal(level, 1.0),
            "weight": rng.normal(1 + 0.2 * level, 0.2),
            "town": np.where(rng.random(90) < 0.3 + 0.2 * level, "Oslo", "Rome"),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1), y


def whole(message):
    """A pattern that matches this message and nothing more."""
    return f"^{re.escape(message)}$"


def posteriors_by_hand(model, X):
    """sum_c P(c | x) P(y | c, x) from the fitted tables, row by row; continuous columns."""
    fitted, out = model._model, []
    outside, inside = fitted.components.params, fitted.classifiers.components.params
    layout, log_class = fitted.components.layout, fitted.classifiers.log_class
    for row in (X - layout.centre) / layout.unit:

        def density(mean, scale, row=row):
            return np.prod(np.exp(-0.5 * ((row - mean) / scale) ** 2) / scale)

        total = 0.0
        for c, weight in enumerate(np.exp(fitted.log_weight[0])):
            outer = weight * density(outside.mean[c], outside.scale[c])
            n_classes = log_class.shape[2]
            inner = np.array(
                [
                    np.exp(log_class[0, c, k])
                    * density(
                        inside.mean[c * n_classes + k],
                        inside.scale[c * n_classes + k],
                    )
                    for k in range(n_classes)
                ]
            )
            total = total + outer * inner / inner.sum()
        out.append(total / total.sum())
    return np.array(out)


def single_model(value, m):
    """One of the models that an averaged one has."""

    def part(components, size):
        taken = (array[m * size : (m + 1) * size] for array in components.params)
        return ProductComponents(Params(*taken), components.layout, components.observed)

    log_class = value.classifiers.log_class[m : m + 1]
    return LatentVariableModel(
        part(value.components, value.n_components),
        value.log_weight[m : m + 1],
        NaiveBayesClassifiers(log_class, part(value.classifiers.components, log_class.size)),
    )


class TestNaiveBayesComponents:
    def test_one_component_is_naive_bayes(self, table):
        X, y = table
        ours = LatentVariableClassifier(None, n_components=1, random_state=0).fit(X, y)
        theirs = NaiveBayes().fit(X, y)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
        assert_allclose(ours.class_prior_, theirs.class_prior_)
        assert_allclose(ours.explain(X[:9]).weights, theirs.explain(X[:9]).weights, atol=1e-9)
        assert ours.n_iter_ <= 2
        assert ours.converged_

    def test_prediction_is_the_sum_over_components(self, corners):
        X, y = corners
        model = LatentVariableClassifier(None, n_components=3, max_iter=50, random_state=0).fit(
            X, y
        )
        assert_allclose(model.predict_proba(X), posteriors_by_hand(model, X), rtol=1e-6, atol=1e-12)

    @pytest.mark.parametrize("search", ["em", "kmeans", "era", "anneal", "mcem"])
    def test_components_with_own_classifiers_solve_what_one_cannot(self, corners, search):
        X, y = corners
        assert np.mean(NaiveBayes().fit(X, y).predict(X) == y) < 0.7
        model = LatentVariableClassifier(None, 2, search=search, random_state=0).fit(X, y)
        assert np.mean(model.predict(X) == y) > 0.93
        assert_allclose(model.component_weights_, 0.5, atol=0.1)
        assert_allclose(model.class_shares_.sum(axis=1), 1.0)
        assert model.converged_

    def test_the_best_so_far_is_kept(self, corners):
        model = LatentVariableClassifier(None, n_components=3, max_iter=40, random_state=0)
        model.fit(*corners)
        assert len(model.traces_) == 4
        best = int(np.flatnonzero(model.restarts_["kept"])[0])
        assert model.history_[-1] == max(model.traces_[best]) >= max(map(max, model.traces_))
        assert np.all(np.diff(model.history_) >= 0)
        assert np.any(np.diff(model.traces_[best]) < 0)

    def test_log_likelihood_is_that_of_rows_and_labels(self, table):
        X, y = table
        model = LatentVariableClassifier(None, 2, max_iter=30, random_state=0).fit(X, y)
        joint = model.predict_joint_log_proba(X)
        expected = joint[np.arange(90), np.searchsorted(model.classes_, y)].sum()
        assert_allclose(model.log_likelihood_, expected, rtol=1e-9)

    def test_samples_of_a_class_follow_the_joint_density(self):
        rng = np.random.default_rng(3)
        group = rng.integers(0, 3, 300)
        X = rng.normal(4.0 * group, 1.0)[:, None]
        y = np.where((group == 1) ^ (rng.random(300) < 0.1), "in", "out")
        model = LatentVariableClassifier(None, n_components=2, max_iter=50, random_state=0).fit(
            X, y
        )
        grid = np.linspace(-10, 20, 3001)
        joint = np.exp(model.predict_joint_log_proba(grid[:, None]))
        for k, label in enumerate(model.classes_):
            drawn, _ = model.sample(6000, y=label, random_state=1)
            mass = trapezoid(joint[:, k], grid)
            mean = trapezoid(joint[:, k] * grid, grid) / mass
            square = trapezoid(joint[:, k] * grid**2, grid) / mass
            assert_allclose(drawn.mean(), mean, atol=0.2)
            assert_allclose(drawn.std(), np.sqrt(square - mean**2), atol=0.2)

    def test_a_class_that_is_hardly_ever_drawn_can_be_sampled(self):
        X = np.random.default_rng(4).normal(size=(3000, 1))
        X[-1] = 9.0
        y = np.r_[np.zeros(2999), 1.0]
        model = LatentVariableClassifier(None, 2, max_iter=10, random_state=0).fit(X, y)
        drawn, labels = model.sample(5, y=1.0, random_state=0)
        assert np.isfinite(drawn).all()
        assert labels.tolist() == [1.0] * 5

    def test_transform_is_the_posterior_of_the_components(self, corners):
        X, y = corners
        model = LatentVariableClassifier(None, 2, random_state=0).fit(X, y)
        latent = model.transform(X)
        assert_allclose(latent.sum(axis=1), 1.0)
        # one component is on the left and one on the right, or one below and one above
        near = [np.abs(model.means_[:, j, None] - X[:, j]).argmin(axis=0) for j in (0, 1)]
        assert max(np.mean(latent.argmax(axis=1) == side) for side in near) > 0.9

    def test_it_is_no_table_network(self):
        assert not hasattr(LatentVariableClassifier, "to_bif")
        assert hasattr(NaiveBayes, "to_bif")


class TestNumberOfComponents:
    def test_it_is_chosen_on_held_out_folds(self, corners):
        X, y = corners
        model = LatentVariableClassifier(
            None, n_components="auto", max_components=3, max_iter=40, n_init=2, random_state=0
        ).fit(X, y)
        assert sorted(model.log_losses_) == [1, 2, 3]
        assert model.n_components_ == 2  # three are no better than chance would have it
        assert model.log_losses_[1] > 0.6
        assert max(model.log_losses_[2], model.log_losses_[3]) < 0.3

    def test_rows_without_label_and_weights_are_taken(self, table):
        X, y = table
        hidden = np.where(np.arange(90) % 3 == 0, None, y)
        weight = np.random.default_rng(0).integers(1, 3, 90)
        model = LatentVariableClassifier(
            None, n_components="auto", max_components=2, max_iter=10, n_init=1, random_state=0
        ).fit(X, hidden, sample_weight=weight)
        assert all(np.isfinite(list(model.log_losses_.values())))


class TestAverage:
    def test_it_is_the_mean_of_the_models_that_were_visited(self, corners):
        X, y = corners
        model = LatentVariableClassifier(
            None, n_components=3, average=True, max_iter=60, random_state=0
        ).fit(X, y)
        assert model.n_models_ == 26
        table = model.schema_.encode(X)
        alone = []
        for m in range(model.n_models_):
            one = single_model(model._model, m)
            log_proba = one.log_posterior(table, one.log_prior, 1.0, None)
            alone.append((np.exp(log_proba), one.log_density(table, None)))
        expected = np.mean([proba for proba, _ in alone], axis=0)
        assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
        density = np.logaddexp.reduce([d for _, d in alone], axis=0) - np.log(26)
        assert_allclose(model.score_samples(X), density, rtol=1e-9)
        assert model.transform(X).shape == (240, 3)

    def test_it_needs_a_search_that_goes_on(self, corners):
        words = "average=True has no meaning with search='em', which settles on one model"
        with pytest.raises(ValueError, match=words):
            LatentVariableClassifier(None, 2, search="em", average=True).fit(*corners)

    def test_all_verbs_work(self, table):
        X, y = table
        model = LatentVariableClassifier(None, 2, average=True, max_iter=20, random_state=0).fit(
            X, y
        )
        assert model.complete(X).notna().all(axis=None)
        assert model.complete(X, how="most_probable").notna().all(axis=None)
        assert np.isfinite(model.explain(X.iloc[:5]).weights).all()
        assert len(model.sample(10)[0]) == 10


class TestOtherClassifiers:
    def test_gaussian_naive_bayes_gives_the_default(self, corners):
        """Two implementations of one model: the same path, the same answer."""
        X, y = corners
        options = {"search": "em", "alpha": 0.0, "prior": None, "n_init": 2, "random_state": 0}
        options["n_components"] = 2
        ours = LatentVariableClassifier(None, **options).fit(X, y)
        theirs = LatentVariableClassifier(GaussianNB(var_smoothing=0.0), **options).fit(X, y)
        assert_allclose(theirs.history_, ours.history_, rtol=1e-6)
        assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=1e-5)
        assert_allclose(theirs.score_samples(X), ours.score_samples(X), rtol=1e-6)

    @pytest.mark.parametrize(
        "estimator",
        [LogisticRegression(), DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(9)],
        ids=lambda estimator: type(estimator).__name__,
    )
    @pytest.mark.parametrize("search", ["era", "em", "kmeans"])
    def test_any_classifier_takes_part(self, corners, estimator, search):
        X, y = corners
        model = LatentVariableClassifier(
            estimator, 2, search, n_init=2, max_iter=8, tol=1e-2, random_state=0
        )
        _fit_quietly(model, X, y)
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert np.mean(model.predict(X) == y) > 0.85
        assert_allclose(model.class_shares_.sum(axis=1), 1.0)
        again = clone(model)
        _fit_quietly(again, X, y)
        assert_allclose(again.predict_proba(X), proba, rtol=1e-12)

    def test_text_columns_are_given_as_zeros_and_ones(self):
        rng = np.random.default_rng(5)
        town = rng.choice(["Oslo", "Rome", "Kyiv"], 150)
        X = pd.DataFrame({"x": rng.normal(size=150), "town": town})
        y = np.where((town == "Rome") ^ (X["x"] > 0), "a", "b")
        model = LatentVariableClassifier(
            LogisticRegression(C=100.0), 2, n_init=2, max_iter=20, random_state=0
        ).fit(X, y)
        assert np.mean(model.predict(X) == y) > 0.8
        assert np.isfinite(model.score_samples(X.assign(town=None))).all()

    def test_one_class_and_empty_components(self):
        """Far apart groups of one class each: their classifiers have one class to learn."""
        X = np.r_[np.arange(20.0), 100 + np.arange(20.0)][:, None]
        y = np.repeat(["a", "b"], 20)
        for estimator in (None, LogisticRegression()):
            model = LatentVariableClassifier(
                estimator, 5, n_init=2, max_iter=15, random_state=0
            ).fit(X, y)
            assert model.predict([[3.0], [110.0]]).tolist() == ["a", "b"]
            assert np.isfinite(model.predict_log_proba(X)).all()

    def test_missing_cells_need_a_classifier_that_takes_them(self, table):
        X, y = table
        words = "Column 'height' has missing cells, which LogisticRegression cannot use"
        with pytest.raises(ValueError, match=words):
            LatentVariableClassifier(LogisticRegression(), 2).fit(X, y)
        whole = X.dropna()
        fitted = LatentVariableClassifier(
            LogisticRegression(), 2, n_init=1, max_iter=5, random_state=0
        ).fit(whole, y[whole.index])
        with pytest.raises(ValueError, match=words):
            fitted.explain(whole.iloc[:2])
        with pytest.raises(ValueError, match=words):
            fitted.predict(X)
        assert np.isfinite(fitted.score_samples(X)).all()  # P(x | c) alone
        assert fitted.complete(X).notna().all(axis=None)
        piped = make_pipeline(SimpleImputer(), LogisticRegression())
        model = LatentVariableClassifier(piped, 2, n_init=1, max_iter=5, random_state=0).fit(X, y)
        assert np.isfinite(model.explain(X.iloc[:2]).weights).all()

    def test_rows_without_label_help_to_find_the_components(self, corners):
        X, y = corners
        hidden = np.where(np.arange(240) % 3 == 0, y, None)
        model = LatentVariableClassifier(
            LogisticRegression(), 2, n_init=2, max_iter=20, unlabelled_weight=1, random_state=0
        ).fit(X, hidden)
        assert model.n_unlabelled_ == 160
        assert np.mean(model.predict(X) == y) > 0.85


class TestWeightsAsCopies:
    """Classifiers that take no weights."""

    @pytest.mark.parametrize(
        ("weight", "copies"),
        [
            ([1, 2, 3], [1, 2, 3]),
            ([2, 2, 2], [2, 2, 2]),
            ([40_000, 30_000, 30_000], [40_000, 30_000, 30_000]),
            ([1e6, 1e6, 1e6], [1, 1, 1]),
            ([1e6, 2e6, 3e6], [1, 2, 3]),
            ([0.5, 1.0, 1.5], [1, 2, 3]),
            ([1.0, 1.5, 2.0], [2, 3, 4]),
            ([1e-9, 1e-9, 2e-9], [1, 1, 2]),
        ],
    )
    def test_copies_are_in_proportion(self, weight, copies):
        assert row_copies(np.array(weight, dtype=float)).tolist() == copies

    @pytest.mark.parametrize("power", [1, 3, 9])
    def test_their_number_is_bounded(self, power):
        weight = 1e-5 * 10.0 ** np.random.default_rng(0).uniform(0, power, 200)
        copies = row_copies(weight)
        assert copies.min() >= 1
        assert copies.sum() <= 11 * 200
        heavy = weight > 0.1 * weight.mean()
        ratio = copies[heavy] / weight[heavy]
        assert ratio.max() < 4 * ratio.min()

    @pytest.mark.parametrize(
        "estimator",
        [KNeighborsClassifier(3), make_pipeline(StandardScaler(), LogisticRegression())],
        ids=["neighbours", "pipeline"],
    )
    def test_weights_of_any_size_say_the_same(self, corners, estimator):
        X, y = corners[0][:60], corners[1][:60]
        weight = np.random.default_rng(1).integers(1, 4, 60)
        # alpha and prior count rows, so weights of any size need them to be none
        model = LatentVariableClassifier(
            estimator, 2, "kmeans", alpha=0.0, prior=None, n_init=1, max_iter=4, random_state=0
        )
        found = []
        for factor in (1.0, 0.5, 2.0**20):
            one = clone(model)
            _fit_quietly(one, X, y, sample_weight=factor * weight)
            found.append(one.predict_proba(X))
        assert_allclose(found[1], found[0], atol=1e-9)
        assert_allclose(found[2], found[0], atol=1e-9)
        copied = np.repeat(np.arange(60), weight)
        _fit_quietly(model, X[copied], y[copied])
        assert_allclose(model.predict_proba(X), found[0], atol=1e-9)


STANDS_IN = (
    r"^{} could not learn from component {}, which has {} labelled rows \({}: .*\): it gets the "
    r"classifier of all rows instead\. Use fewer components, or an estimator that learns from few "
    r"rows\.$"
)


class NeedsManyRows(GaussianNB):
    """Fails on classes of few rows, as models with a covariance matrix for each class do."""

    def fit(self, X, y, sample_weight=None):
        _, codes = np.unique(y, return_inverse=True)
        if np.bincount(codes, sample_weight).min() < 30:
            raise np.linalg.LinAlgError("singular")
        return super().fit(X, y, sample_weight)


class TestSmallComponents:
    def test_the_classifier_of_all_rows_stands_in(self):
        iris = load_dataset("iris", container="numpy")
        model = LatentVariableClassifier(NeedsManyRows(), 4, n_init=2, max_iter=15, random_state=0)
        name = "NeedsManyRows"
        with pytest.warns(UserWarning, match=STANDS_IN.format(name, r"\d", r"\d+", "LinAlgError")):
            model.fit(iris.X, iris.y)
        assert np.mean(model.predict(iris.X) == iris.y) > 0.95
        assert_allclose(model.class_prior_, 1 / 3, rtol=1e-9)

    def test_a_failure_that_only_prediction_shows_is_seen(self, corners):
        """Fifteen neighbours are asked for among fewer rows."""
        X = np.r_[corners[0], [[50.0, 50.0], [51.0, 50.0], [50.0, 51.0]]]
        y = np.r_[corners[1], ["same", "different", "same"]]
        model = LatentVariableClassifier(
            KNeighborsClassifier(15), 2, "kmeans", n_init=2, max_iter=30, random_state=0
        )
        words = STANDS_IN.format("KNeighborsClassifier", 1, 3, "ValueError")
        with pytest.warns(UserWarning, match=words):
            model.fit(X, y)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_what_fails_on_all_rows_is_an_error(self, corners):
        model = LatentVariableClassifier(KNeighborsClassifier(500), 2, n_init=1, max_iter=3)
        with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit") as caught:
            model.fit(*corners)
        note = "KNeighborsClassifier could not learn from all 240 labelled rows."
        assert caught.value.__notes__ == [note]

    def test_no_class_is_impossible_with_a_classifier_that_overfits(self):
        """Labels by chance: the start, with the tree of all rows, is never beaten."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
        model = LatentVariableClassifier(
            DecisionTreeClassifier(), 2, n_init=2, max_iter=5, random_state=0
        ).fit(X, y)
        # two pseudo-rows (alpha, two components) among 62
        least = 2 / 62 * model.class_shares_.min()
        assert model.predict_proba(X).min() >= least * (1 - 1e-9)


def test_random_steps_of_a_pipeline_are_seeded(corners):
    X, y = corners
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=2))
    model = LatentVariableClassifier(piped, 2, n_init=1, max_iter=3, random_state=0)
    one, two = (clone(model).fit(X, y).predict_proba(X) for _ in range(2))
    assert np.array_equal(one, two)
    assert piped[-1].random_state is None


@pytest.mark.parametrize("first", [None, LogisticRegression()], ids=["own", "other"])
def test_prediction_is_by_what_was_fitted(corners, first):
    X, y = corners
    model = LatentVariableClassifier(first, 2, n_init=1, max_iter=3, random_state=0).fit(X, y)
    expected, shares = model.predict_proba(X), model.class_shares_
    model.set_params(estimator=KNeighborsClassifier() if first is None else None)
    assert np.array_equal(model.predict_proba(X), expected)
    assert np.array_equal(model.class_shares_, shares)


def test_missing_cells_are_named_when_a_pipeline_passes_them_on(table):
    X, y = table
    whole_rows = X.dropna()
    piped = make_pipeline(StandardScaler(), "passthrough", LogisticRegression())
    model = LatentVariableClassifier(piped, 2, n_init=1, max_iter=3, random_state=0)
    message = (
        "Column 'height' has missing cells, which LogisticRegression cannot use. Put an imputer "
        "before it in a pipeline, fill them with complete(X), or use estimator=None. (explain "
        "hides columns in turn, so it needs one of these too.)"
    )
    with pytest.raises(ValueError, match=whole(message)):
        clone(model).fit(X, y)
    model.fit(whole_rows, y[whole_rows.index])
    with pytest.raises(ValueError, match=whole(message)):
        model.predict(X)


@pytest.mark.parametrize(
    ("search", "end"),
    [
        ("em", " with a last change of {:.1e} per row (tol=1.0e-08); {} Raise max_iter or tol, {}"),
        ("kmeans", "; {1} Raise max_iter, {2}"),
    ],
)
def test_a_search_that_did_not_settle_tells_its_last_change(corners, search, end):
    model = LatentVariableClassifier(
        None, search=search, n_components=3, n_init=2, max_iter=3, tol=1e-8, random_state=0
    )
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(*corners)
    trace = model.traces_[int(np.argmax(model.restarts_["kept"]))]
    change = abs(trace[-1] - trace[-2])
    assert change > 1e-8
    ending = end.format(change, "the best of 2 start(s) is kept.", "or look at traces_.")
    expected = f'The search "{search}" was stopped at max_iter=3 after 3 iterations{ending}'
    assert [str(one.message) for one in caught] == [expected]


def _fit_quietly(model, X, y, **options):
    """Eight iterations of "em" or "kmeans" may be too few to settle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **options)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"estimator": LinearSVC()},
            "estimator=LinearSVC() has no predict_proba. Pass a scikit-learn classifier with fit "
            "and predict_proba, or None for naive Bayes.",
        ),
        (
            {"estimator": "naive"},
            "estimator='naive' must be one of 'auto', 'logistic_regression', "
            "'free_logistic_regression', 'kernel_logistic_regression', 'extra_trees', "
            "'random_forest', 'hist_gradient_boosting'.",
        ),
        (
            {"estimator": 3},
            "estimator=3 has no fit. Pass a scikit-learn classifier with fit and predict_proba, or "
            "None for naive Bayes.",
        ),
        ({"refits": -1}, "refits=-1 must be a whole number of at least 0, or None."),
        *(
            (
                {"n_components": k},
                f"n_components={k!r} must be a whole number of at least 1, or 'auto'.",
            )
            for k in ("bic", 0, None, [1, 2], True, 1.5)
        ),
        (
            {"search": "gibbs"},
            "search='gibbs' must be one of 'em', 'kmeans', 'era', 'anneal', 'mcem'.",
        ),
        ({"average": "yes"}, "average='yes' must be one of True, False."),
        ({"max_components": 0}, "max_components=0 must be a whole number of at least 1."),
        (
            {"temperatures": (-1, 0.1)},
            "temperatures=(-1, 0.1) must be two numbers above 0: the first and the last "
            "temperature.",
        ),
        ({"max_iter": 0}, "max_iter=0 must be a whole number of at least 1."),
    ],
)
def test_parameters_that_make_no_sense_are_refused(corners, parameters, message):
    with pytest.raises(ValueError, match=whole(message)):
        LatentVariableClassifier(**{"estimator": None, "n_components": 2} | parameters).fit(
            *corners
        )


def test_more_components_than_rows_and_constant_columns():
    X = [[1.0, "a", 3.0], [1.0, "a", 3.0], [2.0, "b", 3.0], [None, "b", 3.0]]
    model = LatentVariableClassifier(None, n_components=7, max_iter=10, random_state=0)
    model.fit(X, ["x", "x", "y", "y"])
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("n_components", [1, 3])
def test_entropy_and_average_posterior_by_hand(corners, n_components):
    X, y = corners
    X[::7, 0] = np.nan
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = LatentVariableClassifier(None, n_components, random_state=0)
    posterior = model.fit(X, y, sample_weight=weight).transform(X)
    own = posterior.argmax(axis=1)
    entropy = -sum(
        w * p * np.log(p) for w, row in zip(weight, posterior, strict=True) for p in row if p > 0
    )
    expected = 1.0
    if n_components > 1:
        expected -= entropy / (weight.sum() * np.log(n_components))
        assert 0.1 < expected < 0.999
    assert_allclose(model.entropy_, expected, rtol=1e-9)
    means = [
        np.average(posterior[own == c, c], weights=weight[own == c]) for c in range(n_components)
    ]
    assert_allclose(model.average_posterior_, means, rtol=1e-9)


def test_iris_is_learned():
    iris = load_dataset("iris", container="numpy")
    model = LatentVariableClassifier(None, n_components=3, random_state=0).fit(iris.X, iris.y)
    assert np.mean(model.predict(iris.X) == iris.y) > 0.95


def test_samples_are_drawn_anew_however_many_and_rare():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.02).astype(int)
    model = LatentVariableClassifier(None, 2, max_iter=10, random_state=0)
    model.fit(rng.normal(size=(400, 2)) + y[:, None], y)
    rare, _ = model.sample(9000, y=np.ones(9000, dtype=int), random_state=0)
    assert len(np.unique(rare, axis=0)) > 8900
