import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from plain import NaiveBayes


@pytest.fixture
def mixed():
    """90 rows with holes: two numbers, a flag and a colour; three classes."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 30)
    level = np.repeat([0.0, 1.0, 2.0], 30)
    frame = pd.DataFrame(
        {
            "size": rng.normal(level, 0.7),
            "age": rng.normal(40 + 10 * level, 9),
            "flag": pd.array(rng.random(90) < 0.2 + 0.3 * level, dtype="boolean"),
            "colour": rng.choice(["red", "green", "blue", "grey"], 90),
        }
    )
    frame["colour"] = np.where(rng.random(90) < 0.3 * level, "red", frame["colour"])
    holes = rng.random(frame.shape) < 0.15
    return frame.mask(holes), y


class TestAgainstScikitLearn:
    """Where scikit-learn has the model, ours is the same to 1e-9."""

    @pytest.mark.parametrize("seed", range(3))
    def test_gaussian(self, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 4, 300)
        X = rng.normal(size=(300, 6)) * 10.0 ** np.arange(-3, 3) + y[:, None]
        weight = rng.uniform(0.1, 3, 300)
        ours = NaiveBayes(prior=None).fit(X, y, weight)
        theirs = GaussianNB(var_smoothing=0).fit(X, y, weight)
        assert_allclose(
            ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9
        )
        assert_allclose(ours.means_, theirs.theta_, rtol=1e-9, atol=1e-12)
        assert_allclose(ours.scales_**2, theirs.var_, rtol=1e-9)
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)

    @pytest.mark.parametrize("alpha", [1.0, 0.3])
    def test_categorical(self, alpha):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 3, 400)
        X = (rng.integers(0, 5, (400, 4)) + y[:, None]) % 5
        weight = rng.uniform(0.1, 3, 400)
        ours = NaiveBayes(alpha=alpha, categorical_features=[0, 1, 2, 3]).fit(X, y, weight)
        theirs = CategoricalNB(alpha=alpha).fit(X, y, weight)
        assert_allclose(
            ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9
        )
        for name, table in zip(ours.probabilities_, theirs.feature_log_prob_, strict=True):
            assert_allclose(ours.probabilities_[name], np.exp(table), rtol=1e-9)

    @pytest.mark.parametrize("container", [np.asarray, "sparse"])
    def test_bernoulli(self, container):
        import scipy.sparse as sp

        rng = np.random.default_rng(2)
        y = rng.integers(0, 3, 400)
        X = (rng.random((400, 8)) < 0.2 + 0.2 * y[:, None]).astype(float)
        theirs = BernoulliNB().fit(X, y)
        given = sp.csr_array(X) if container == "sparse" else X
        ours = NaiveBayes(categorical_features=list(range(8))).fit(given, y)
        assert_allclose(
            ours.predict_joint_log_proba(given), theirs.predict_joint_log_proba(X), rtol=1e-9
        )

    def test_sparse_numbers_are_dense_numbers(self):
        import scipy.sparse as sp

        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, 100)
        X = rng.normal(size=(100, 5)) * (rng.random((100, 5)) < 0.3)
        dense, sparse = NaiveBayes().fit(X, y), NaiveBayes().fit(sp.coo_array(X), y)
        assert_allclose(sparse.predict_proba(sp.csc_array(X)), dense.predict_proba(X), rtol=1e-12)


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
                    out[i, k] += norm.logpdf(value, model.means_[k, place], model.scales_[k, place])
                else:
                    code = column.categories.index(value)
                    out[i, k] += np.log(model.probabilities_[column.name][k, code])
    return out


class TestMixedColumns:
    def test_joint_probability_is_the_product_over_observed_cells(self, mixed):
        X, y = mixed
        model = NaiveBayes().fit(X, y)
        assert model.schema_.kinds == {
            "size": "continuous", "age": "continuous", "flag": "binary", "colour": "nominal",
        }  # fmt: skip
        assert_allclose(model.predict_joint_log_proba(X), joint_by_hand(model, X), rtol=1e-10)

    def test_parameters_are_those_of_the_observed_cells(self, mixed):
        X, y = mixed
        model = NaiveBayes(alpha=1.0, prior=None).fit(X, y)
        for k, label in enumerate("abc"):
            part = X[y == label]
            assert_allclose(model.means_[k], [part["size"].mean(), part["age"].mean()], rtol=1e-12)
            assert_allclose(
                model.scales_[k], [part["size"].std(ddof=0), part["age"].std(ddof=0)], rtol=1e-10
            )
            counts = part["colour"].value_counts().reindex(["blue", "green", "grey", "red"])
            counts = counts.fillna(0) + 1
            assert_allclose(model.probabilities_["colour"][k], counts / counts.sum(), rtol=1e-12)

    def test_map_variance_is_that_of_one_more_row_spread_as_the_column(self, mixed):
        X, y = mixed
        strength = 2.5
        model = NaiveBayes(prior=strength).fit(X, y)
        part = X["size"][y == "b"].dropna()
        squares = ((part - part.mean()) ** 2).sum() + strength * X["size"].var(ddof=0)
        assert_allclose(model.scales_[1, 0] ** 2, squares / (len(part) + strength), rtol=1e-10)

    def test_log_likelihood_is_the_sum_over_labelled_rows(self, mixed):
        X, y = mixed
        model = NaiveBayes().fit(X, y)
        joint = joint_by_hand(model, X)
        by_row = joint[np.arange(90), np.searchsorted(["a", "b", "c"], y)]
        assert_allclose(model.log_likelihood_, by_row.sum(), rtol=1e-10)
        assert model.converged_
        assert model.n_unlabelled_ == 0


class TestUnlabelledRows:
    @pytest.fixture
    def half(self, mixed):
        X, y = mixed
        y = y.astype(object)
        y[np.random.default_rng(4).random(90) < 0.6] = None
        return X, y

    def test_the_log_likelihood_sums_unlabelled_rows_over_the_class(self, half):
        X, y = half
        model = NaiveBayes(unlabelled_weight=1).fit(X, y)
        joint = joint_by_hand(model, X)
        total = 0.0
        for row, label in zip(joint, y, strict=True):
            total += np.logaddexp.reduce(row) if label is None else row["abc".index(label)]
        assert_allclose(model.log_likelihood_, total, rtol=1e-10)
        assert model.n_unlabelled_ == sum(label is None for label in y)

    @pytest.mark.parametrize("accelerate", [False, True])
    def test_history_rises_and_tells_of_convergence(self, half, accelerate):
        model = NaiveBayes(tol=1e-7, max_iter=500, accelerate=accelerate).fit(*half)
        assert np.all(np.diff(model.history_) >= -1e-12)
        assert model.converged_
        assert model.history_[-1] - model.history_[-2] <= 1e-7

    def test_result_is_a_fixed_point(self, half):
        """At convergence the parameters are the estimates under their own posterior."""
        X, y = half
        model = NaiveBayes(tol=1e-13, max_iter=5000, prior=None, unlabelled_weight=1).fit(X, y)
        posterior = model.predict_proba(X)
        posterior[[i for i, v in enumerate(y) if v is not None]] = 0.0
        for i, label in enumerate(y):
            if label is not None:
                posterior[i, "abc".index(label)] = 1.0
        seen = X["size"].notna().to_numpy()
        values, weights = X["size"][seen].to_numpy(), posterior[seen]
        mean = values @ weights / weights.sum(axis=0)
        assert_allclose(model.means_[:, 0], mean, rtol=1e-5)
        assert_allclose(model.class_prior_, posterior.mean(axis=0), rtol=1e-5)

    def test_they_help_where_labels_are_few(self):
        rng = np.random.default_rng(5)
        truth = np.repeat([0, 1], 500)
        X = rng.normal(size=(1000, 4)) + truth[:, None] * 1.5
        y = np.full(1000, np.nan)
        y[[0, 1, 2, 500, 501, 502]] = [0, 0, 0, 1, 1, 1]
        alone = NaiveBayes().fit(X[~np.isnan(y)], y[~np.isnan(y)])
        together = NaiveBayes(unlabelled_weight=1).fit(X, y)
        assert np.mean(together.predict(X) == truth) > np.mean(alone.predict(X) == truth)
        assert np.mean(together.predict(X) == truth) > 0.9

    def test_restarts_keep_the_best_and_are_tabled(self, half):
        X, y = half
        how = {"unlabelled_weight": 0.1, "tol": 1e-6, "max_iter": 1000}
        single = NaiveBayes(**how).fit(X, y)
        several = NaiveBayes(**how, n_init=8, random_state=1).fit(X, y)
        assert several.history_[-1] >= single.history_[-1] - 1e-5
        assert len(several.restarts_["start"]) == 8
        assert several.restarts_["kept"].sum() == 1
        kept = int(np.flatnonzero(several.restarts_["kept"])[0])
        assert several.restarts_["objective"][kept] == several.history_[-1]

    def test_too_few_iterations_warn_once_in_plain_words(self, half):
        from sklearn.exceptions import ConvergenceWarning

        words = (
            r"EM was stopped at max_iter=2 with a last gain of .* the best of 1 start\(s\) is kept"
        )
        with pytest.warns(ConvergenceWarning, match=words) as caught:
            model = NaiveBayes(max_iter=2, tol=1e-12, unlabelled_weight=1).fit(*half)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert not model.converged_

    def test_verbose_prints_each_iteration_to_standard_error(self, half, capsys):
        model = NaiveBayes(verbose=1, unlabelled_weight=1).fit(*half)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == model.n_iter_ - 1

    def test_scikit_learns_callbacks_follow_the_iterations(self, half):
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
        model = NaiveBayes(unlabelled_weight=1).set_callbacks(count).fit(*half)
        assert count.ended == model.n_iter_ - 1 + 1  # each iteration, then the fit


class TestBadNumbers:
    def test_digits_as_they_are(self):
        from sklearn.datasets import load_digits
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        X, y = load_digits(return_X_y=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        ours, theirs = (cross_val_score(m, X, y, cv=folds) for m in (NaiveBayes(), GaussianNB()))
        assert ours.mean() > theirs.mean() + 0.03  # the prior mends pixels constant in a class
        for prior in (None, 1.0):
            model = NaiveBayes(prior=prior).fit(X, y)
            assert np.isfinite(model.predict_log_proba(X).max(axis=1)).all()
            assert np.isfinite(model.score_samples(X)).all()

    def test_without_smoothing_an_impossible_row_gets_even_odds_not_nan(self):
        X = np.array([["u", "v"], ["u", "v"], ["w", "z"], ["w", "z"]], dtype=object)
        model = NaiveBayes(alpha=0.0).fit(X, [0, 0, 1, 1])
        assert_allclose(model.predict_proba(np.array([["u", "z"]], dtype=object)), [[0.5, 0.5]])
        assert model.score_samples(np.array([["u", "z"]], dtype=object)).tolist() == [-np.inf]

    @pytest.mark.parametrize(
        ("parameter", "value", "message"),
        [
            ("alpha", -1, "alpha=-1 must be a number of at least 0."),
            ("alpha", "1", "alpha='1' must be \"auto\" or a number of at least 0."),
            ("alpha", None, "alpha=None must be a number of at least 0."),
            ("prior", "2", "prior='2' must be \"auto\" or a number of at least 0."),
            ("prior", np.nan, "prior=nan must be a number of at least 0, or None."),
            ("n_init", 0, "n_init=0 must be a whole number of at least 1."),
            ("n_init", 2.5, "n_init=2.5 must be a whole number of at least 1."),
            ("max_iter", True, "max_iter=True must be a whole number of at least 1."),
            ("tol", -1e-3, "tol=-0.001 must be a number of at least 0."),
            ("accelerate", "yes", "accelerate='yes' must be one of True, False."),
            ("calibrate", 1, "calibrate=1 must be one of 'auto', True, False."),
            (
                "handle_unknown",
                "drop",
                "handle_unknown='drop' must be one of 'missing', 'error', 'smooth'.",
            ),
        ],
    )
    def test_parameters_that_make_no_sense_are_refused(self, parameter, value, message):
        with pytest.raises(ValueError, match="must be") as caught:
            NaiveBayes(**{parameter: value}).fit([[1.0], [2.0]], [0, 1])
        assert str(caught.value) == message


def test_partial_fit_gives_what_all_rows_give():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = pd.DataFrame({"a": 1e3 + rng.normal(y), "b": np.array(list("xyzx"))[y + (y == 2)]})
    X = X.mask(rng.random(X.shape) < 0.1)
    weight = rng.choice([0.0, 1.0, 2.5], 300)
    whole = NaiveBayes().fit(X, y, sample_weight=weight)
    fed = NaiveBayes()
    for rows in np.split(np.arange(300), [50, 120]):
        fed.partial_fit(X.iloc[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    assert_allclose(fed.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert_allclose(fed.log_likelihood_, whole.log_likelihood_, rtol=1e-12)


def test_partial_fit_refuses_what_it_cannot_learn_from():
    model = NaiveBayes().partial_fit([[1.0, "a"], [2.0, "b"]], [0, 1])
    with pytest.raises(ValueError, match="column 'x1' holds 'c', which was not seen in fit"):
        model.partial_fit([[1.0, "c"]], [0])
    with pytest.raises(ValueError, match="y holds 2, which is not a class"):
        model.partial_fit([[1.0, "a"]], [2])
    with pytest.raises(ValueError, match="y holds None"):
        model.partial_fit([[1.0, "a"]], [None])
    with pytest.raises(ValueError, match="calibrate=True needs to read the rows again"):
        NaiveBayes(calibrate=True).partial_fit([[1.0]], [0])
