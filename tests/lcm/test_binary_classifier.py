"""BinaryLCMClassifier: what is its own."""

import os
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import BernoulliNB

from latentclass.datasets import load_dataset
from latentclass.engine._em import take_starts
from plain import BinaryLCMClassifier, BinaryLCMClassifierCV


def make_bits(n_rows=120, n_columns=7, seed=0):
    """Bits that depend on each other within their class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    z = rng.normal(size=(n_rows, 2)) + np.where(y, 1.0, -1.0)[:, None] * [0.7, 0.2]
    weights = rng.normal(0, 2, (2, n_columns))
    return rng.random((n_rows, n_columns)) < expit(z @ weights), y


def quick(**options):
    settings = {"n_latent": 2, "n_init": 3, "discriminative": False, "random_state": 0} | options
    return BinaryLCMClassifier(**settings)


def digits_of(low, high):
    X, y = load_digits(return_X_y=True)
    chosen = (y == low) | (y == high)
    X, y = X[chosen] > 7, y[chosen]
    half = np.arange(len(y)) % 2 == 0
    return X[half], y[half], X[~half], y[~half]


def test_digits_are_classified_better_than_by_naive_bayes():
    X, y, X_test, y_test = digits_of(1, 8)
    model = BinaryLCMClassifier(8, n_init=3, discriminative=False, random_state=0).fit(X, y)
    peer = BernoulliNB().fit(X, y)
    assert model.score(X_test, y_test) > 0.92
    assert model.score(X_test, y_test) > peer.score(X_test, y_test) + 0.02
    assert model.weights_.shape == (1, 64, 8)
    assert model.intercepts_.shape == (1, 64)
    assert model.questions_[:2] == [("x0", True), ("x1", True)]


def test_bits_in_any_dress_give_the_same():
    X, y = make_bits()
    expected = quick().fit(X, y).predict_proba(X)
    frame = pd.DataFrame(X).add_prefix("b")
    for other in (
        X.astype(int),
        X.astype(float),
        sp.csr_array(X.astype(float)),
        sp.csc_matrix(X.astype(np.int8)),
        frame,
        frame.astype(int),
        frame.replace({False: "no", True: "yes"}),
    ):
        fitted = quick().fit(other, y)
        assert_allclose(fitted.predict_proba(other), expected, rtol=1e-9)
        assert {column.kind for column in fitted.schema_.columns} == {"binary"}


@pytest.mark.filterwarnings("ignore:BinaryLCMClassifier is meant for")
def test_numbers_beside_0_and_1_stay_numbers():
    X, y = make_bits(n_columns=3)
    table = np.column_stack([X, np.zeros(len(y)), np.linspace(0, 1, len(y))])
    kinds = quick().fit(table, y).schema_.kinds
    assert list(kinds.values()) == ["binary"] * 3 + ["continuous"] * 2
    # in a table of bits a column of zeros is a bit that was never set
    model = quick().fit(table[:, :4], y)
    assert set(model.schema_.kinds.values()) == {"binary"}
    new = table[:2, :4].copy()
    new[:, 3] = 1.0
    assert np.isfinite(model.score_samples(new)).all()
    told = quick(categorical_features=None).fit(table[:, :3], y)
    assert set(told.schema_.kinds.values()) == {"continuous"}


def test_a_sparse_table_is_made_dense_a_block_at_a_time(monkeypatch):
    rng = np.random.default_rng(1)
    X = sp.random_array((3000, 300), density=0.02, random_state=1, format="csr")
    X.data[:] = 1.0
    y = rng.integers(0, 2, 3000)
    sizes = []
    whole = sp.csr_array.toarray

    def watched(self, *args, **kwargs):
        sizes.append(min(self.shape[0], self.shape[1]))
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", watched)
    model = BinaryLCMClassifier(2, n_init=1, max_iter=3, discriminative=False, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    model.predict(X)
    model.transform(X[:20])
    assert sizes
    assert max(sizes) <= 1000


@pytest.mark.parametrize("unlabelled", [0.0, 0.4])
def test_by_the_bound_weight_two_is_the_row_twice(unlabelled):
    X, y = make_bits(60)
    labels = np.where(np.random.default_rng(2).random(60) < unlabelled, None, y)
    weight = np.random.default_rng(3).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = quick(n_components=2).fit(X, labels, sample_weight=weight)
    copied = quick(n_components=2).fit(X[rows], labels[rows])
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-6)
    assert_allclose(weighted.log_likelihood_, copied.log_likelihood_, rtol=1e-8)
    assert np.all(np.diff(weighted.history_) >= -1e-9)


def test_by_the_bound_order_of_columns_and_classes_blocks_and_jobs_do_not_matter(monkeypatch):
    X, y = make_bits(80)
    model = quick(n_components=2).fit(X, y)
    expected = model.predict_proba(X)
    turned = quick(n_components=2).fit(X[:, ::-1], y).predict_proba(X[:, ::-1])
    assert_allclose(turned, expected, rtol=1e-7)
    other = quick(n_components=2).fit(X, 1 - y).predict_proba(X)[:, ::-1]
    assert_allclose(other, expected, rtol=1e-7)
    assert quick(n_components=2, n_jobs=2).fit(X, y).predict_proba(X).tolist() == expected.tolist()
    monkeypatch.setattr("latentclass.data._schema.BLOCK_CELLS", 1)
    assert_allclose(quick(n_components=2).fit(X, y).predict_proba(X), expected, rtol=1e-7)


def test_the_bound_is_below_and_near_the_nearly_exact_ways():
    X, y = make_bits(200)
    model = quick().fit(X, y)
    bound = model.predict_joint_log_proba(X)
    exact = model.set_params(predict_method="quadrature").predict_joint_log_proba(X)
    drawn = model.set_params(predict_method="importance").predict_joint_log_proba(X)
    assert np.all(bound.max(axis=1) <= exact.max(axis=1) + 1e-6)
    assert_allclose(bound, exact, atol=1.0)
    assert_allclose(drawn, exact, atol=0.05)
    assert not np.allclose(bound, exact, atol=1e-3)


def test_holes_are_left_out_exactly():
    X, y = make_bits(150, 5)
    table = X.astype(object)
    table[np.random.default_rng(4).random(X.shape) < 0.2] = None
    model = quick(predict_method="quadrature").fit(table, y)
    row = table[[0]].copy()
    row[0, 1] = row[0, 3] = None
    every = np.repeat(row, 4, axis=0)
    every[:, 1], every[:, 3] = [False, False, True, True], [False, True, False, True]
    total = np.logaddexp.reduce(model.score_samples(every))
    assert_allclose(model.score_samples(row)[0], total, rtol=1e-8)


def test_the_kept_start_is_the_one_asked_for():
    X, y = make_bits(150)
    options = {"n_init": 6, "tol": 1e-3}
    by_accuracy = quick(select="accuracy", **options).fit(X, y)
    by_likelihood = quick(select="likelihood", **options).fit(X, y)
    assert by_likelihood.restarts_["kept"].sum() == 1
    kept = by_likelihood.restarts_["objective"][by_likelihood.restarts_["kept"]]
    assert_allclose(kept, by_likelihood.history_[-1])
    assert by_accuracy.score(X, y) >= by_likelihood.score(X, y) - 1e-12
    average = quick(select="average", **options).fit(X, y)
    assert average.restarts_["kept"].all()


def test_the_average_is_over_the_starts_own_probabilities():
    X, y = make_bits(100)
    model = quick().fit(X, y)
    own, density = [], []
    for s in range(3):
        one = copy(model)
        one._model = replace(model._model, params=take_starts(model._model.params, [s]))
        own.append(one.predict_proba(X))
        density.append(np.exp(one.score_samples(X)))
    # together they may take a step or two more, until the last has converged
    assert_allclose(model.predict_proba(X), np.mean(own, axis=0), atol=1e-3)
    assert_allclose(np.exp(model.score_samples(X)), np.mean(density, axis=0), rtol=1e-2)


def test_an_image_is_completed_from_its_upper_half():
    X, y, X_test, y_test = digits_of(0, 1)
    model = BinaryLCMClassifier(6, n_init=2, discriminative=False, random_state=0).fit(X, y)
    half = X_test.astype(object)
    half[:, 32:] = None
    peer = BernoulliNB().fit(X, y)
    by_class = np.exp(peer.feature_log_prob_) > 0.5
    plain = by_class[np.searchsorted(peer.classes_, model.predict(half))][:, 32:]
    for how in ("expected", "most_probable"):
        filled = model.complete(half, how=how).astype(bool)
        assert np.array_equal(filled[:, :32], X_test[:, :32])
        right = np.mean(filled[:, 32:] == X_test[:, 32:])
        assert right > 0.8
        if how == "expected":
            assert right > np.mean(plain == X_test[:, 32:])
    assert np.mean(model.predict(half) == y_test) > 0.95


def test_the_most_probable_bits_are_the_best_of_256():
    rng = np.random.default_rng(5)
    z = rng.normal(size=(150, 2))
    X = (rng.random((150, 12)) < expit(z @ rng.normal(0.0, 2.5, (2, 12)))).astype(float)
    model = BinaryLCMClassifier(3, n_init=2, discriminative=False, random_state=0).fit(
        X, z[:, 0] > 0
    )
    holes, ways = X[:20].copy(), np.indices((2,) * 8).reshape(8, -1).T
    holes[:, 4:] = np.nan
    filled = model.complete(holes, how="most_probable")
    assert np.array_equal(filled[:, :4], X[:20, :4])
    every = np.concatenate([np.repeat(X[:20, :4], 256, axis=0), np.tile(ways, (20, 1))], axis=1)
    best = model.predict_joint_log_proba(every).max(axis=1).reshape(20, 256).max(axis=1)
    assert_allclose(model.predict_joint_log_proba(filled).max(axis=1), best, atol=1e-9)


def test_by_the_bound_probabilities_are_near_the_exact_ones():
    rng = np.random.default_rng(6)
    z = rng.normal(size=(150, 2))
    X = (rng.random((150, 10)) < expit(z @ rng.normal(0.0, 2.0, (2, 10)))).astype(float)
    model = BinaryLCMClassifier(2, n_init=1, discriminative=False, random_state=0).fit(
        X, z[:, 0] > 0
    )
    holes = X[:20].copy()
    holes[:, 4:] = np.nan
    found = model.complete(holes, how="probability")
    assert np.array_equal(found[:, :4], X[:20, :4])
    assert np.array_equal(found[:, 4:] > 0.5, model.complete(holes)[:, 4:] == 1)
    model.set_params(predict_method="quadrature")
    assert_allclose(found, model.complete(holes, how="probability"), atol=0.03)


def test_samples_have_the_class_means():
    X, y = make_bits(600)
    model = quick(n_init=1, predict_method="quadrature").fit(X, y)
    drawn, labels = model.sample(6000, random_state=5)
    assert drawn.dtype == bool
    for k in (0, 1):
        assert_allclose(drawn[labels == k].mean(axis=0), X[y == k].mean(axis=0), atol=0.08)


def test_a_grid_in_many_dimensions_is_refused():
    X, y = make_bits(30)
    message = (
        r"predict_method='quadrature' needs n_latent of at most 3, got 4. Use "
        r"predict_method='importance'."
    )
    with pytest.raises(ValueError, match=message):
        quick(n_latent=4, predict_method="quadrature").fit(X, y)
    with pytest.raises(ValueError, match=r"predict_method='guess' must be one of 'bound', "):
        quick(predict_method="guess").fit(X, y)


def test_more_iterations_are_asked_for_where_em_was_cut_short():
    X, y = make_bits(60)
    with pytest.warns(ConvergenceWarning, match="EM was stopped at max_iter=3 with a last gain"):
        quick(max_iter=3, tol=1e-6).fit(X, y)


@pytest.mark.skipif("LATENTCLASS_DATA" not in os.environ, reason="needs LATENTCLASS_DATA")
def test_threes_and_fives_of_the_paper():
    data = load_dataset("usps/3-vs-5", container="numpy")
    train = np.asarray(data.split) == "train"
    model = BinaryLCMClassifier(
        35, n_init=1, max_iter=40, tol=0.05, discriminative=False, random_state=0
    )
    model.fit(data.X[train], data.y[train])
    # Langseth and Nielsen (2009), Table 2: bLCM 97.41 %; naive Bayes 94.44 %
    assert model.score(data.X[~train], data.y[~train]) >= 0.96


@pytest.mark.parametrize("search", ["stepwise", "semi_greedy", "exhaustive"])
def test_the_size_is_searched_for(search):
    X, y = make_bits(120)
    model = BinaryLCMClassifierCV(
        [1, 2], [1, 2], search=search, cv=3, n_init=2, max_iter=30, tol=0.02, random_state=0
    ).fit(X, y)
    path = pd.DataFrame(model.cv_results_)
    tried = set(zip(path["n_latent"], path["n_components"], strict=True))
    every = {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert tried == every if search != "stepwise" else {(1, 2), (2, 1), (2, 2)} <= tried
    assert_allclose(model.best_score_, path["mean_test_score"].max())
    plain = quick(
        n_latent=model.n_latent_, n_components=model.n_components_, n_init=2, max_iter=30, tol=0.02
    ).fit(X, y)
    # the search joins equal rows, so sums have another order
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_folds_may_be_given_and_scored_by_accuracy():
    X, y = make_bits(90)
    folds = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(60, 90))]
    options = {"scoring": "accuracy", "n_init": 1, "random_state": 0}
    model = BinaryLCMClassifierCV([1, 2], [1], cv=folds, search="exhaustive", **options).fit(X, y)
    scores = []
    for train, test in folds:
        seed = np.random.RandomState(0).randint(2**31)
        one = quick(n_latent=1, n_init=1, random_state=int(seed)).fit(X[train], y[train])
        scores.append(one.score(X[test], y[test]))
    assert_allclose(model.cv_results_["mean_test_score"][0], np.mean(scores))


def test_the_papers_sizes_are_tried_by_default():
    X, y = make_bits(40, 4)
    model = BinaryLCMClassifierCV(cv=2, n_init=1, max_iter=5, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert set(model.cv_results_["n_latent"]) == {2, 5}
    assert set(model.cv_results_["n_components"]) == {1, 2}
    with pytest.raises(ValueError, match="n_latent is empty: list whole numbers to try"):
        BinaryLCMClassifierCV([]).fit(X, y)
