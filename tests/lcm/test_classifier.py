"""LCMClassifier and LCMClassifierCV: what is theirs alone."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score

from latentclass.engine._em import take_starts
from latentclass.estimator._fitted import Learned
from latentclass.evaluation import LabelledKFold
from latentclass.lcm import _steps
from plain import (
    BinaryLCMClassifier,
    HybridLCMClassifier,
    LCMClassifier,
    LCMClassifierCV,
    NaiveBayes,
)

BY_EM = {"discriminative": False, "noise": "tied"}
"""The search alone."""


def two_planes(n_rows=300, seed=0):
    """Rows whose class hides in the dependence between columns: no column tells it alone."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(size=(n_rows, 2)) * np.where(y == 0, [[2.0], [0.3]], [[0.3], [2.0]]).T
    return z @ np.array([[1, 1, 0.5], [1, -1, 0.5]]) + 0.2 * rng.normal(size=(n_rows, 3)), y


def test_it_sees_what_naive_bayes_cannot():
    X, y = two_planes()
    model = LCMClassifier(2, random_state=0)
    assert cross_val_score(model, X, y, cv=5).mean() > 0.85


@pytest.mark.parametrize("select", ["average", "accuracy", "likelihood"])
@pytest.mark.parametrize("noise", ["tied", "untied"])
@pytest.mark.parametrize("structure", ["full", "learned"])
def test_all_variants_learn_iris(select, noise, structure):
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(
        3, 2, select=select, noise=noise, structure=structure, n_init=3, tol=1e-2, random_state=0
    )
    assert cross_val_score(model, X, y, cv=2).mean() > 0.93


def test_the_kept_start_has_the_highest_training_accuracy():
    X, y = load_wine(return_X_y=True)
    X = X[:, :4]
    # without acceleration a start takes the same path whether others are dropped or not
    options = {"n_latent": 2, "n_init": 8, "accelerate": False, "random_state": 2}
    by_accuracy = LCMClassifier(**options, select="accuracy").fit(X, y)
    by_likelihood = LCMClassifier(**options, select="likelihood").fit(X, y)
    assert by_accuracy.score(X, y) >= by_likelihood.score(X, y)
    # the average keeps all starts, which run to the end here too
    every = LCMClassifier(**options).fit(X, y)
    accuracies = []
    for s in range(8):
        one = copy(every)
        one._model = replace(every._model, params=take_starts(every._model.params, [s]))
        accuracies.append(one.score(X, y))
    run_out = LCMClassifier(**options, select="accuracy", drop_starts=False).fit(X, y)
    assert run_out.score(X, y) == max(accuracies) > by_accuracy.score(X, y)
    assert run_out.restarts_["converged"].all()
    assert by_likelihood.restarts_["kept"].sum() == 1
    kept = by_likelihood.restarts_["objective"][by_likelihood.restarts_["kept"]]
    assert_allclose(kept, by_likelihood.history_[-1])


def test_the_average_is_over_the_starts_own_probabilities():
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(2, 2, n_init=3, tol=1e-2, random_state=0).fit(X, y)
    own, density = [], []
    for s in range(3):
        one = copy(model)
        one._model = replace(model._model, params=take_starts(model._model.params, [s]))
        own.append(one.predict_proba(X))
        density.append(np.exp(one.score_samples(X)))
    assert_allclose(model.predict_proba(X), np.mean(own, axis=0), rtol=1e-6)
    assert_allclose(np.exp(model.score_samples(X)), np.mean(density, axis=0), rtol=1e-6)


def test_learned_attributes_give_the_density():
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(2, 2, select="likelihood", tol=1e-2, random_state=0).fit(X, y)
    joint = np.zeros((len(X), 3, 2))
    for k in range(3):
        for m in range(2):
            loadings = model.loadings_[m]
            mean = loadings @ model.latent_means_[k] + model.offsets_[m]
            covariance = (loadings * model.latent_variances_[k]) @ loadings.T
            covariance += np.diag(model.noise_variances_[m])
            distance = X - mean
            squares = (distance @ np.linalg.inv(covariance) * distance).sum(axis=1)
            log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
            share = model.class_prior_[k] * model.component_prior_[k, m]
            joint[:, k, m] = np.log(share + 1e-300) - 0.5 * (squares + log_det)
    expected = np.logaddexp.reduce(joint, axis=2)
    assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-8)
    assert_allclose(model.log_likelihood_, expected[np.arange(150), y].sum(), rtol=1e-8)


def test_transform_is_the_posterior_mean_of_the_latent_variables():
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(2, select="likelihood", random_state=0).fit(X, y)
    row = X[:1].copy()
    row[0, 1] = np.nan
    seen = [0, 2, 3]
    posterior = model.predict_proba(row)[0]
    expected = np.zeros(2)
    loadings, noise = model.loadings_[0][seen], model.noise_variances_[0][seen]
    for k in range(3):
        gamma, mu = model.latent_variances_[k], model.latent_means_[k]
        covariance = (loadings * gamma) @ loadings.T + np.diag(noise)
        gain = (gamma[:, None] * loadings.T) @ np.linalg.inv(covariance)
        centre = loadings @ mu + model.offsets_[0][seen]
        expected += posterior[k] * (mu + gain @ (row[0, seen] - centre))
    assert_allclose(model.transform(row)[0], expected, rtol=1e-7)
    z = model.transform(X)
    assert z.shape == (150, 2)
    assert np.all(np.abs(z.mean(axis=0)) < 0.05)


def test_constant_columns_have_no_loadings_but_a_place():
    X, y = load_iris(return_X_y=True)
    X = np.insert(X, 2, 7.0, axis=1)
    model = LCMClassifier(2, n_init=2, tol=1e-2, random_state=0).fit(X, y)
    assert model.loadings_.shape == (1, 5, 2)
    assert np.all(model.loadings_[:, 2] == 0)
    assert np.all(model.offsets_[:, 2] == 7.0)
    assert not model.edges_[2].any()


def test_the_structure_of_simulated_data_is_found():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    z = rng.normal(size=(800, 2)) * np.where(y == 0, [[1.0], [1.0]], [[0.4], [2.0]]).T
    z += np.where(y == 0, [[0.0], [0.0]], [[2.0], [-1.0]]).T
    loadings = np.array([[1, 0], [2, 0], [-1, 0], [0, 1], [0, 1.5], [0, -1], [0, 0]])
    X = z @ loadings.T + 0.5 * rng.normal(size=(800, 7))
    model = LCMClassifier(2, structure="learned", select="likelihood", random_state=0).fit(X, y)
    assert not model.edges_[6].any()
    wide = np.abs(model.loadings_[0]) > 0.3
    groups = {tuple(np.flatnonzero(wide[:, k])) for k in range(2)}
    assert groups == {(0, 1, 2), (3, 4, 5)}
    assert np.all(model.loadings_[0][~model.edges_] == 0)


def test_more_latent_variables_than_rows():
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(12, n_init=2, tol=1e-2, random_state=0).fit(X[::15], y[::15])
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_forty_components_on_160_rows_do_not_collapse():
    X, y = load_wine(return_X_y=True)
    model = LCMClassifier(2, 40, noise="untied", n_init=1, tol=1e-2, random_state=0)
    proba = cross_val_predict(model, X, y, cv=StratifiedKFold(5), method="predict_proba")
    log_loss = -np.log(proba[np.arange(len(y)), y]).mean()
    assert log_loss < 0.2


def test_an_unfinished_fit_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="EM was stopped at max_iter=3 .* Raise max_iter"):
        LCMClassifier(2, max_iter=3, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_latent": 0}, "n_latent=0 must be a whole number of at least 1"),
        ({"n_latent": 10**9}, "n_latent=1000000000 is too large: pass at most 10,000"),
        ({"n_components": 1.5}, "n_components=1.5 must be a whole number of at least 1"),
        ({"noise": "loud"}, "noise='loud' must be one of 'tied', 'untied'"),
        ({"structure": "some"}, "structure='some' must be one of 'full', 'learned'"),
        ({"select": "best"}, "select='best' must be one of 'average', 'accuracy', 'likelihood'"),
        ({"prior": -1}, "prior=-1 must be"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LCMClassifier(**options).fit([[1.0], [2.0]], [0, 1])


def test_without_offset_the_class_means_lie_in_the_span():
    X, y = load_iris(return_X_y=True)
    model = LCMClassifier(1, offset=False, select="likelihood", random_state=0).fit(X, y)
    overall = X.mean(axis=0)
    # the canonical latent mean is 0, so the offset is a point of the plane through the centre
    direction = model.loadings_[0][:, 0] / X.std(axis=0)
    shift = (model.offsets_[0] - overall) / X.std(axis=0)
    across = shift - direction * (shift @ direction) / (direction @ direction)
    assert_allclose(across, 0, atol=1e-8)


# --------------------------------------------------------------------- search


@pytest.mark.parametrize("search", ["stepwise", "semi_greedy", "exhaustive"])
def test_the_search_finds_the_size(search):
    X, y = two_planes(200)
    options = {"n_init": 3, "tol": 1e-2, "random_state": 0, "search": search}
    model = LCMClassifierCV([1, 2, 3], [1, 2], **BY_EM, **options).fit(X, y)
    assert model.n_latent_ >= 2
    assert model.score(X, y) > 0.85
    path = pd.DataFrame(model.cv_results_)
    assert len(path) == model.n_candidates_
    assert_allclose(path["mean_test_score"].max(), model.best_score_)
    best = path.loc[path["mean_test_score"].idxmax()]
    assert (best["n_latent"], best["n_components"]) == (model.n_latent_, model.n_components_)


def test_a_search_on_a_sample_is_the_same_for_rows_in_any_order(monkeypatch):
    """Weight 2 is the row twice; the model is fitted to all rows."""
    monkeypatch.setattr("latentclass.lcm._size_search.SEARCH_ROWS", 120)
    monkeypatch.setattr("latentclass.estimator._inner_folds.LEAST_OF_CLASS", 10)
    X, y = two_planes(300)
    weight = 1.0 + (np.arange(300) % 3 == 0)
    options = {"n_init": 3, "random_state": 0}
    once = LCMClassifierCV([1, 2, 3], [1, 2], **BY_EM, **options).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(300), weight.astype(int)))
    twice = LCMClassifierCV([1, 2, 3], [1, 2], **BY_EM, **options).fit(X[order], y[order])
    assert_allclose(
        once.cv_results_["mean_test_score"], twice.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert_allclose(once.predict_proba(X), twice.predict_proba(X), rtol=1e-6)
    monkeypatch.setattr("latentclass.lcm._size_search.SEARCH_ROWS", 300)
    whole = LCMClassifierCV([1, 2, 3], [1, 2], **BY_EM, **options).fit(X, y, sample_weight=weight)
    assert whole.cv_results_["mean_test_score"][0] != once.cv_results_["mean_test_score"][0]
    size = {"n_latent": once.n_latent_, "n_components": once.n_components_}
    plain = LCMClassifier(**size, **options).fit(X, y, weight)
    assert_allclose(once.log_likelihood_, plain.log_likelihood_, rtol=0.02)


@pytest.mark.parametrize("scoring", ["log_loss", "accuracy"])
def test_scores_are_near_those_of_fits_fold_by_fold(scoring):
    X, y = load_iris(return_X_y=True)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    options = {"n_init": 5, "random_state": 0}
    search = LCMClassifierCV(
        [1, 2], [1], search="exhaustive", scoring=scoring, cv=folds, **BY_EM, **options
    )
    path = pd.DataFrame(search.fit(X, y).cv_results_)
    for row in path.itertuples():
        scores = []
        for train, test in folds:
            model = LCMClassifier(row.n_latent, row.n_components, **options)
            model = model.fit(X[train], y[train])
            if scoring == "accuracy":
                scores.append(model.score(X[test], y[test]))
            else:
                scores.append(
                    model.predict_log_proba(X[test])[np.arange(len(test)), y[test]].mean()
                )
        # other random starts, and columns scaled by other rows: alike, not equal
        assert_allclose(row.mean_test_score, np.mean(scores), atol=0.05)


def test_the_search_does_not_depend_on_the_number_of_jobs(few_steps):
    X, y = two_planes(120)
    one, two = (
        LCMClassifierCV([1, 2], [1, 2], n_init=2, tol=1e-2, random_state=3, n_jobs=jobs).fit(X, y)
        for jobs in (None, 2)
    )
    assert (
        one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()
    )
    assert one.predict_proba(X).tolist() == two.predict_proba(X).tolist()


def test_rows_without_label_and_holes_take_part_in_the_search():
    X, y = two_planes(150)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = y.astype(object)
    labels[rng.random(150) < 0.3] = None
    options = {"n_init": 2, "unlabelled_weight": 1.0, "random_state": 0, **BY_EM}
    model = LCMClassifierCV([1, 2], [1, 2], **options).fit(X, labels)
    assert model.n_unlabelled_ > 0
    assert model.score(X, y) > 0.75


def test_small_models_only_where_there_are_few_rows():
    X, y = two_planes(40)
    model = LCMClassifierCV(
        n_components=[1, 30], search="exhaustive", n_init=1, tol=1e-2, cv=2, random_state=0
    )
    model.fit(X, y)
    tried = pd.DataFrame(model.cv_results_)
    assert set(tried.loc[tried["n_components"] == 30, "n_latent"]) <= {1}
    assert tried["n_latent"].max() == 6  # columns times classes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_latent": []}, "n_latent is empty: list whole numbers to try, or pass None"),
        ({"n_latent": [0]}, "n_latent=0 must be a whole number of at least 1"),
        ({"cv": 1}, "cv=1 must be a whole number of at least 2"),
        ({"search": "all"}, "search='all' must be one of 'stepwise', 'semi_greedy', 'exhaustive'"),
        ({"scoring": "f1"}, "scoring='f1' must be one of 'log_loss', 'accuracy'"),
        ({"n_latent": [50], "n_components": [9]}, "No pair of n_latent=.* List smaller numbers"),
        ({"cv": [([0], [1, 2]), ([0], [2, 3])]}, "cv tests a row in two folds"),
        ({"cv": [([0], [1, 5000]), ([0], [2, 3])]}, "cv has row 5000, but the table has rows 0 to"),
        ({"cv": [1, 2]}, "cv must list .training, test. pairs of row numbers"),
        ({"cv": [([0], [1, 2])]}, "Pass at least two folds"),
    ],
)
def test_impossible_searches_are_refused(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        LCMClassifierCV(**options, n_init=1).fit(X, y)


def test_a_class_smaller_than_the_folds_is_warned_of():
    X, y = two_planes(30)
    y = np.where(np.arange(30) < 2, 2, y)
    model = LCMClassifierCV([1, 2], [1], n_init=1, tol=1e-1, random_state=0)
    with pytest.warns(UserWarning, match=r"fewer labelled rows \(2\) than cv=5 folds"):
        model.fit(X, y)


def test_a_splitter_may_be_given():
    X, y = two_planes(60)
    model = LCMClassifierCV([1, 2], [1], n_init=1, tol=1e-1, cv=KFold(3), random_state=0, **BY_EM)
    assert model.fit(X, y).n_candidates_ > 0


def test_folds_may_be_masks_and_come_once():
    X, y = two_planes(60)
    weight = np.where(np.isin(np.arange(60), [0, 58, 59]), 0.0, 1.0)
    parts = [(np.arange(60) % 2 != k, np.arange(60) % 2 == k) for k in range(2)]
    numbers = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in parts]
    scores = []
    for cv in (parts, numbers, iter(numbers)):
        model = LCMClassifierCV([1, 2], [1], n_init=1, tol=1e-1, cv=cv, random_state=0, **BY_EM)
        model.set_params(calibrate=True).fit(X, y, sample_weight=weight)
        scores.append(model.cv_results_["mean_test_score"])
    assert_allclose(scores[1], scores[0])
    assert_allclose(scores[2], scores[0])


@pytest.mark.parametrize("n_components", [1, 2])
def test_a_fold_learns_from_its_training_part(n_components):
    X, y = two_planes(120)
    options = {"n_init": 2, "search": "exhaustive", "random_state": 0}
    other = y.copy()
    other[80:] = 1 - y[80:]
    first, second = np.arange(40), np.arange(40, 80)
    scores = [
        LCMClassifierCV([1, 2], [n_components], cv=cv, **BY_EM, **options)
        .fit(X, labels)
        .best_score_
        for cv in ([(second, first), (first, second)], KFold(3))
        for labels in (y, other)
    ]
    assert_allclose(scores[1], scores[0])  # the rest is in no part, whatever its labels
    assert abs(scores[3] - scores[2]) > 0.1


def test_a_fold_without_labelled_training_rows_is_refused():
    X, y = two_planes(30)
    parts = [([], np.arange(10)), (np.arange(10), np.arange(10, 30))]
    with pytest.raises(ValueError, match="Fold 0 of cv has no labelled row to train on"):
        LCMClassifierCV([1, 2], [1], cv=parts).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_the_librarys_splitter_knows_rows_without_label():
    X, y = two_planes(60)
    labels = np.where(np.arange(60) % 3 == 0, None, y.astype(object))
    model = LCMClassifierCV(
        [1, 2], [1], n_init=1, tol=1e-1, cv=LabelledKFold(3), random_state=0, **BY_EM
    )
    assert np.isfinite(model.fit(X, labels).best_score_)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_components_are_scored_where_a_fold_lacks_a_class():
    X, y = two_planes(40)
    y = np.where(np.arange(40) == 0, 2, y)
    model = LCMClassifierCV([1], [1, 2], n_init=2, search="exhaustive", random_state=0, **BY_EM)
    with pytest.warns(UserWarning, match=r"fewer labelled rows \(1\)"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.cv_results_["mean_test_score"]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_components", [1, 2])
def test_a_category_of_rows_without_label_only(n_components):
    X, y = two_planes(60)
    labels = np.where(np.arange(60) >= 40, None, y.astype(object))
    table = pd.DataFrame(X).assign(kind=np.where(np.arange(60) >= 50, "new", "old"))
    table.columns = table.columns.astype(str)
    model = LCMClassifier(2, n_components, alpha=0, n_init=2, random_state=0).fit(table, labels)
    assert np.isfinite(model.log_likelihood_)
    assert np.all(np.isfinite(model.predict_proba(table)))


def test_sizes_from_an_iterator_are_refused():
    model = LCMClassifierCV((q for q in [1, 2]), [1])
    with pytest.raises(TypeError, match="n_latent is an iterator, which can be read only once"):
        model.fit(np.eye(4), [0, 1, 0, 1])


def test_noise_variance_beyond_doubles_is_inf_without_noise():
    """A variance has squared units; 1e400 is no double."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.tile([0, 1], 30)
    model = LCMClassifier(random_state=0).fit(X * 1e200, y)
    small = LCMClassifier(random_state=0).fit(X, y)
    assert np.isposinf(model.noise_variances_).all()
    np.testing.assert_allclose(model.predict_proba(X * 1e200), small.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(
    ("n_components", "message"),
    [
        (
            1,
            r"^The products of 4 continuous columns in 3 classes would need 0\.0 GiB of memory, "
            r"above the limit of 0 GiB\. Select the columns that say most about the class\.$",
        ),
        (
            2,
            r"^10 starts with 4 continuous columns would need 0\.0 GiB of memory, above the limit "
            r"of 0 GiB\. Lower n_init or n_components, or select the columns that say most about "
            r"the class\.$",
        ),
    ],
)
def test_sums_and_starts_that_would_fill_the_memory_are_refused(monkeypatch, n_components, message):
    monkeypatch.setattr("latentclass._validation.MOST_BYTES", 2**10)
    with pytest.raises(ValueError, match=message):
        LCMClassifier(1, n_components, prior=1.0, random_state=0).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("model", [LCMClassifier, HybridLCMClassifier, BinaryLCMClassifier])
@pytest.mark.filterwarnings("ignore:LCMClassifier describes numbers")
def test_tables_without_a_column_that_varies(model, holes, n_components):
    X = [["a", None if holes and i % 3 == 0 else "b"] for i in range(20)]
    y = [None if holes and i == 5 else i % 4 // 3 for i in range(20)]
    found = model(2, n_components, n_init=2, random_state=0).fit(X, y)
    assert_allclose(found.predict_proba(X[:2]), np.tile(found.class_prior_, (2, 1)), rtol=1e-9)
    assert found.complete(X)[0, 1] == "b"
    assert len(found.transform(X)) == 20
    assert found.explain(X[:1]).weights.shape == (1, 2)


@pytest.mark.filterwarnings("ignore:LCMClassifier describes numbers")
def test_a_table_of_words_alone_is_naive_bayes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 2, (200, 3)) + y[:, None]]
    X[rng.random(X.shape) < 0.1] = None
    found = LCMClassifier(2, n_init=2, random_state=0).fit(X, y)
    assert_allclose(found.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), rtol=1e-9)


# ------------------------------------------------------- discriminative training


def crossing(n_rows=240, seed=0):
    """Two classes that differ in a small direction, beside a large one that says nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, 1)) * np.array([3.0, 3.0, 2.0, 1.0]) + rng.normal(size=(n_rows, 4))
    X[:, 3] += 1.2 * y
    X[:, 2] -= 0.6 * y
    return X, y


def log_loss(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"structure": "learned"},
        {"select": "likelihood"},
    ],
    ids=str,
)
def test_gradient_steps_lower_the_log_loss_of_new_rows(options, few_steps):
    X, y = crossing()
    new, labels = crossing(1000, seed=1)
    options = {"n_latent": 1, "prior": 1.0, "n_init": 2, "random_state": 0, **options}
    by_em = LCMClassifier(**options).fit(X, y)
    trained = LCMClassifier(**options, discriminative=True).fit(X, y)
    assert log_loss(trained, new, labels) < log_loss(by_em, new, labels)
    assert (trained.n_steps_ > 0) == (trained.held_out_.min() < trained.held_out_[0].min())
    assert_allclose(trained.loadings_ * ~trained.edges_, 0.0)
    assert trained.log_likelihood_ == by_em.log_likelihood_  # that of EM


def test_gradient_steps_know_weights_holes_and_rows_without_label(monkeypatch):
    monkeypatch.setattr(_steps, "MAX_STEPS", 40)  # the first that help here
    X, y = crossing(160)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    labels = np.where(np.arange(160) % 5 == 0, np.nan, y)
    weight = 1.0 + (np.arange(160) % 3 == 0)
    options = {"n_latent": 1, "n_init": 2, "random_state": 0, "discriminative": True}
    options["unlabelled_weight"] = 1.0
    once = LCMClassifier(**options).fit(X, labels, weight)
    order = rng.permutation(np.repeat(np.arange(160), weight.astype(int)))
    twice = LCMClassifier(**options).fit(X[order], labels[order])
    assert once.n_steps_ == twice.n_steps_ > 0
    assert_allclose(once.predict_proba(X), twice.predict_proba(X), rtol=1e-6)


def test_gradient_steps_train_discrete_columns_too():
    X, y = crossing()
    table = pd.DataFrame(X, columns=list("abcd")).assign(
        word=np.where(y ^ (np.arange(len(y)) % 3 == 0), "a", "b")
    )
    options = {"n_latent": 1, "n_init": 2, "random_state": 0}
    by_em = LCMClassifier(**options).fit(table, y)
    trained = LCMClassifier(**options, discriminative=True).fit(table, y)
    assert trained.n_steps_ > 0
    moved = trained._model.level_log_probs[0] - by_em._model.level_log_probs[0]
    assert np.abs(moved).max() > 0.01


def test_too_few_rows_to_hold_any_out_are_fitted_by_em():
    X, y = crossing(8)
    options = {"n_latent": 1, "prior": 1.0, "n_init": 2, "random_state": 0}
    trained = LCMClassifier(**options, discriminative=True).fit(X, y)
    assert (trained.n_steps_, trained.label_noise_, trained.temperature_) == (0, 0.0, 1.0)
    assert_allclose(trained.predict_proba(X), LCMClassifier(**options).fit(X, y).predict_proba(X))


def test_one_row_cannot_make_a_class_impossible(few_steps):
    X, y = crossing()
    y[0] = 1 - y[0]
    X[0] = [0, 0, 0, 40 * (1 - y[0])]  # far on the wrong side
    model = LCMClassifier(1, n_init=2, random_state=0, discriminative=True).fit(X, y)
    assert model.label_noise_ > 0
    least = model.label_noise_ * model.class_prior_.min()
    assert model.predict_proba([[0, 0, 0, 1e3], [0, 0, 0, -1e3]]).min() > 0.5 * least


def test_the_search_tries_both_kinds_of_noise_and_trains_the_best(few_steps):
    X, y = crossing(120)
    model = LCMClassifierCV([1, 2], [1, 2], n_init=2, random_state=0).fit(X, y)
    path = pd.DataFrame(model.cv_results_)
    assert set(path["noise"]) == {"tied", "untied"}
    assert (path.loc[path["noise"] == "untied", "n_components"] > 1).all()
    assert model.noise_ in ("tied", "untied")
    assert_allclose(model.best_score_, -model.held_out_.min(), rtol=1e-6)
    again = LCMClassifierCV([1, 2], [1, 2], n_init=2, random_state=0, n_jobs=2).fit(X, y)
    assert_allclose(again.predict_proba(X), model.predict_proba(X))
    copy_of = model._unfitted_copy(
        learned_with(
            {"n_latent_": 2, "n_components_": 2, "noise_": "untied", "power_transform_": True}
        )
    )
    assert copy_of.power_transform is True
    assert (copy_of.n_latent, copy_of.noise, copy_of.discriminative) == (2, "untied", True)


def learned_with(attributes):
    return Learned(None, None, attributes)


# ------------------------------------------------------------------- power transform


def skewed(n_rows, seed=0):
    """Three columns with long tails that are Gaussian on the scale of logarithms."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    z = rng.normal(size=(n_rows, 1)) + y[:, None]
    return np.exp(z @ [[1.0, -0.8, 0.6]] + 0.4 * rng.normal(size=(n_rows, 3))), y


@pytest.mark.parametrize(("n_latent", "n_components"), [(1, 1), (2, 2), (5, 1)])
def test_a_transformed_table_has_densities_and_completions_in_its_own_units(n_latent, n_components):
    X, y = skewed(200)
    options = {"n_init": 2, "random_state": 0, "power_transform": True}
    model = LCMClassifier(n_latent, n_components, select="likelihood", **options).fit(X, y)
    assert model.power_transform_
    joint = model.predict_joint_log_proba(X)[np.arange(200), y].sum()
    assert_allclose(model.log_likelihood_, joint, rtol=1e-6)
    row, hidden = X[[3]].copy(), X[[3]].copy()
    hidden[0, 1] = np.nan
    grid = np.r_[-np.geomspace(1e-5, 30, 4000)[::-1], np.geomspace(1e-5, 300, 8000)]
    rows = np.repeat(row, len(grid), axis=0)
    rows[:, 1] = grid
    density = np.exp(model.score_samples(rows))
    total = trapezoid(density, grid)
    assert_allclose(total, np.exp(model.score_samples(hidden))[0], rtol=1e-3)
    mean = trapezoid(density * grid, grid) / total
    assert_allclose(model.complete(hidden)[0, 1], mean, rtol=0.01)
    # an explanation is what the class probabilities are without the cell
    without = model.predict_log_proba(hidden) - model.predict_log_proba(row)
    odds = np.diff(without, axis=1)
    found = model.explain(row, y=model.classes_[1]).weights[0, 1]
    assert_allclose(found, -odds[0, 0], rtol=1e-6, atol=1e-9)


def test_samples_of_a_transformed_table_have_its_tails():
    X, y = skewed(400)
    bent, straight = (
        LCMClassifier(1, n_init=2, power_transform=how, random_state=0)
        .fit(X, y)
        .sample(4000, random_state=0)[0]
        for how in (True, False)
    )
    # the columns have no negative number, so what would be one is drawn as 0
    assert np.mean(bent <= 0) < 0.03 < 0.1 < np.mean(straight <= 0)
    assert_allclose(np.median(bent, axis=0), np.median(X, axis=0), rtol=0.15)


def test_the_power_transform_is_chosen_on_held_out_rows():
    X, y = skewed(200)
    test, labels = skewed(400, seed=1)
    straight, bent, chosen = (
        LCMClassifier(1, prior=1.0, n_init=2, power_transform=how, random_state=0).fit(X, y)
        for how in (False, True, "auto")
    )
    assert (straight.power_transform_, chosen.power_transform_) == (False, True)
    losses = [log_loss(model, test, labels) for model in (straight, bent)]
    assert losses[1] < losses[0] - 0.02
    assert chosen.predict_proba(test).tolist() == bent.predict_proba(test).tolist()
    order = np.random.default_rng(0).permutation(200)
    again = LCMClassifier(1, n_init=2, power_transform="auto", random_state=0)
    assert again.fit(X[order], y[order]).power_transform_


def test_the_search_tries_the_power_transform():
    X, y = skewed(150)
    model = LCMClassifierCV([1, 2], [1], n_init=2, power_transform="auto", random_state=0)
    model.fit(X, y)
    path = pd.DataFrame(model.cv_results_)
    assert set(path["power_transform"]) == {False, True}
    assert model.power_transform_
    best = path.groupby("power_transform")["mean_test_score"].max()
    assert best[True] > best[False]
