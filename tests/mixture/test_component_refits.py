"""Classifiers by name: fitted after the search, by cross-fitted probabilities."""

from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier

from latentclass.engine._mixture_rows import MixtureRows
from latentclass.mixture._classifier_choice import Recipe, fewest_components
from latentclass.mixture._classifier_em import ClassifierParams, ClassifierSearch
from latentclass.mixture._classifier_presets import PRESETS, FilledCoder
from latentclass.mixture._component_classifiers import EstimatorSearch
from latentclass.mixture._component_refits import (
    DRAWS,
    N_FOLDS,
    best_draw,
    cross_fitted,
    deal_rows,
    refit_classifiers,
    stand_in_shares,
)
from plain import LatentVariableClassifier

PRESET_NAMES = list(PRESETS)


def make_problem(X, y, weight=None, n_components=2, estimator=None):
    """Searches with naive Bayes and with another classifier, of rows of numbers."""
    weight = np.ones(len(y)) if weight is None else weight
    codes = np.empty((len(y), 0), dtype=np.int32)
    data = MixtureRows.measure(
        X, codes, weight, np.zeros(0, dtype=np.intp), alpha=1.0, strength=1.0
    )
    mixture = data.problem(n_components, [slice(0, len(y))])
    n_classes = int(y.max()) + 1
    naive = ClassifierSearch(data, y, n_classes, mixture)
    return naive, EstimatorSearch(data, X, y, n_classes, mixture, estimator, 0)


@pytest.fixture
def table():
    """Numbers and words with holes, and two classes."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 90)
    y = np.where(rng.random(90) < 0.9, side, 1 - side)
    frame = pd.DataFrame(
        {
            "size": rng.normal(3.0 * side, 1.0),
            "noise": rng.normal(size=90),
            "word": np.where(rng.random(90) < 0.8, np.array(["a", "b"])[side], "c"),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[3::11, "word"] = None
    return frame, y


@pytest.fixture
def small_forests(monkeypatch):
    """Forests of 30 trees instead of 300, where the number of trees is not the point."""
    for name in ("extra_trees", "random_forest"):
        forest = PRESETS[name]().set_params(n_estimators=30)
        monkeypatch.setitem(PRESETS, name, partial(clone, forest))


def test_shares_of_the_stand_in_are_bayes_rule_written_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.array([0, 1, -1] * 4)
    naive, _ = make_problem(X, y)
    data = naive.data
    params = ClassifierParams(
        np.log([[0.3, 0.7]]), rng.normal(size=(1, 2, 2)), rng.uniform(0.5, 2, (1, 2, 2)),
        np.empty((1, 2, 0)), np.log([[[0.4, 0.6], [0.8, 0.2]]]), rng.normal(size=(1, 4, 2)),
        rng.uniform(0.5, 2, (1, 4, 2)), np.empty((1, 4, 0)),
    )  # fmt: skip
    found = stand_in_shares(naive, params)
    for x, label, share in zip(data.rows.numeric, y, found, strict=True):
        joint = []
        for c in range(2):
            value = np.exp(params.log_weight[0, c])
            value *= norm.pdf(x, params.mean[0, c], params.scale[0, c]).prod()
            if label >= 0:
                places = [2 * c, 2 * c + 1]
                inner = np.array(
                    [
                        np.exp(params.log_class[0, c, k])
                        * norm.pdf(x, params.class_mean[0, p], params.class_scale[0, p]).prod()
                        for k, p in enumerate(places)
                    ]
                )
                value *= inner[label] / inner.sum()
            joint.append(value)
        np.testing.assert_allclose(share, np.array(joint) / np.sum(joint), rtol=1e-10)


def test_cross_fitted_probabilities_do_not_know_the_label_of_their_row():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    _, problem = make_problem(X, y, n_components=1, estimator=KNeighborsClassifier(1))
    share = np.ones((300, 1))
    every = np.arange(300)
    found = cross_fitted(problem, share, np.array([[0.5, 0.5]]), deal_rows(y), every)
    single = problem.fit_classifier(share[:, 0], np.array([0.5, 0.5]), 0.0)
    assert np.exp(single.log_proba(X))[np.arange(300), y].min() == 1.0
    assert 0.4 < found[every, 0, y].mean() < 0.6


def test_cross_fitted_probabilities_are_those_of_fits_without_the_part():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    y[:6] = -1
    forest = ExtraTreesClassifier(10, random_state=3)
    share = rng.dirichlet([1, 1], 60)
    _, problem = make_problem(X, y, rng.uniform(0.5, 2, 60), 2, forest)
    fold, known = deal_rows(y), np.flatnonzero(y >= 0)
    found = cross_fitted(problem, share, np.full((2, 3), 1 / 3), fold, np.flatnonzero(y >= 0))
    for place, r in enumerate(known):
        for c in range(2):
            rows = known[fold[known] != fold[r]]
            weight = share[rows, c] * problem.data.weight[rows]
            forest.fit(X[rows], y[rows], sample_weight=weight)
            np.testing.assert_allclose(found[place, c], forest.predict_proba(X[[r]])[0])
        if place > 5:
            break


def test_parts_have_equal_numbers_of_rows_of_every_class():
    y = np.array([0] * 9 + [1] * 6 + [-1] * 4)[np.random.default_rng(0).permutation(19)]
    fold = deal_rows(y)
    for k, each in ((0, 3), (1, 2)):
        np.testing.assert_array_equal(np.bincount(fold[y == k], minlength=N_FOLDS), each)


def test_the_mixed_in_part_has_the_lowest_loss_of_those_that_are_tried():
    rng = np.random.default_rng(0)
    weights, own = rng.dirichlet([1, 1], 50), rng.uniform(0, 1, (50, 2))
    own[:4] = 0.0
    typical, amount = np.full((50, 2), 0.5), rng.uniform(0.5, 2, 50)
    draw = best_draw(weights, own, typical, amount, 0.01)
    losses = {}
    for one in [d for d in DRAWS if d > 0.01]:
        chance = [
            sum(w * ((1 - one) * p + one * t) for w, p, t in zip(*row, strict=True))
            for row in zip(weights, own, typical, strict=True)
        ]
        losses[one] = -float(amount @ np.log(chance))
    assert draw == min(losses, key=losses.get)
    assert best_draw(weights, own, typical, amount, 0.5) == 0.5


def test_one_component_is_the_classifier_with_a_part_of_the_class_shares(table, small_forests):
    X, y = table
    model = LatentVariableClassifier("extra_trees", 1, random_state=0).fit(X, y)
    one = model._model.classifiers.classifiers[0, 0]
    coder = model._model.classifiers.coder
    matrix = coder.matrix(model.schema_.encode(X).block(slice(None)))
    forest = one.classifier.predict_proba(matrix)
    expected = (1 - one.draw) * forest + one.draw * np.bincount(y) / len(y)
    assert one.draw in DRAWS
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-10)


def test_a_refit_is_bayes_rule_with_cross_fitted_probabilities():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    _, problem = make_problem(X, y, estimator=ExtraTreesClassifier(20, random_state=0))
    share = rng.dirichlet([1, 1], 80)
    kept, first = refit_classifiers(problem, share, 0)
    moved, second = refit_classifiers(problem, share, 1)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(np.exp(kept.log_weight[0]), share.mean(axis=0))
    shares = np.array([one.shares for one in kept.classifiers[0]])
    own = cross_fitted(problem, share, shares, deal_rows(y), np.flatnonzero(y >= 0))
    draw = kept.classifiers[0, 0].draw
    rows = problem.data.rows.numeric
    joint = np.column_stack(
        [
            np.exp(kept.log_weight[0, c])
            * norm.pdf(rows, kept.mean[0, c], kept.scale[0, c]).prod(axis=1)
            * ((1 - draw) * own[np.arange(80), c, y] + draw * shares[c, y])
            for c in range(2)
        ]
    )
    new = joint / joint.sum(axis=1, keepdims=True)
    within = np.exp(kept.log_weight[0]) * np.column_stack(
        [norm.pdf(rows, kept.mean[0, c], kept.scale[0, c]).prod(axis=1) for c in range(2)]
    )
    within /= within.sum(axis=1, keepdims=True)
    proba = sum(within[:, [c]] * ((1 - draw) * own[:, c] + draw * shares[c]) for c in range(2))
    np.testing.assert_allclose(first, proba, rtol=1e-10)
    np.testing.assert_allclose(np.exp(moved.log_weight[0]), new.mean(axis=0), rtol=1e-10)
    centre = (new[:, :, None] * rows[:, None]).sum(axis=0) / new.sum(axis=0)[:, None]
    np.testing.assert_allclose(moved.mean[0], centre, rtol=1e-10)


class CountedTrees(ClassifierMixin, BaseEstimator):
    """A classifier that counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountedTrees.fits += 1
        self.forest_ = ExtraTreesClassifier(5, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.forest_.classes_
        return self

    def predict_proba(self, X):
        return self.forest_.predict_proba(X)


@pytest.mark.parametrize(("refits", "n_fits"), [(0, 8), (1, 8), (2, 14)])
def test_a_classifier_is_fitted_in_each_part_and_at_the_end(refits, n_fits):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    CountedTrees.fits = 0
    LatentVariableClassifier(CountedTrees(), 2, refits=refits, random_state=0).fit(X, y)
    assert CountedTrees.fits == n_fits


@pytest.mark.parametrize(("n_components", "n_fits"), [(1, 4), (2, 8)])
def test_the_temperature_comes_from_the_cross_fitted_probabilities(n_components, n_fits):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    CountedTrees.fits = 0
    model = LatentVariableClassifier(
        CountedTrees(), n_components, refits=1, calibrate="auto", random_state=0
    ).fit(X, y)
    assert CountedTrees.fits == n_fits
    left_out = model._fit_model(model._read_training(X, y, None), None).left_out
    np.testing.assert_array_equal(np.bincount(left_out.y), np.bincount(y))
    joint = left_out.evidence + left_out.log_prior
    np.testing.assert_allclose(np.exp(joint).sum(axis=1), 1.0)  # it is P(y | x) over P(y)
    loss = -joint[np.arange(100), left_out.y].mean()
    assert model.calibration_["log_loss_before"] == pytest.approx(loss)
    assert model.temperature_ > 1.5  # the labels are noise


def test_weights_that_are_all_one_are_not_passed_on():
    class Watched(CountedTrees):
        weights: ClassVar = []

        def fit(self, X, y, sample_weight=None):
            Watched.weights.append(sample_weight)
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    model = LatentVariableClassifier(Watched(), 1, refits=0, random_state=0)
    model.fit(X, y)
    assert all(one is None for one in Watched.weights)
    model.fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(Watched.weights[-1], 2.0)


@pytest.mark.usefixtures("small_forests")
@pytest.mark.parametrize("name", PRESET_NAMES)
class TestEachPreset:
    def test_all_verbs_work_with_holes_and_rows_without_label(self, name, table):
        X, y = table
        y = np.where(np.arange(90) % 5 == 0, -1, y)
        labels = np.array(["no", "yes", None], dtype=object)[y]
        model = LatentVariableClassifier(name, 2, unlabelled_weight=0.1, random_state=0)
        model.fit(X, labels)
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        known = y >= 0
        assert np.mean(model.predict(X)[known] == labels[known]) > 0.75
        assert not model.complete(X).isna().to_numpy().any()
        assert np.isfinite(model.score_samples(X)).all()
        assert len(model.sample(20, random_state=0)[0]) == 20
        assert model.explain(X.iloc[:2]) is not None
        nothing = X.iloc[:1].mask(np.ones((1, 3), dtype=bool))
        np.testing.assert_allclose(model.predict_proba(nothing)[0], model.class_prior_, rtol=1e-8)

    def test_the_likelihood_is_that_of_the_model(self, name, table):
        X, y = table
        model = LatentVariableClassifier(name, 2, random_state=0).fit(X, y)
        joint = model.score_samples(X) + np.log(model.predict_proba(X))[np.arange(90), y]
        assert model.log_likelihood_ == pytest.approx(joint.sum(), rel=1e-8)

    def test_weight_two_is_the_row_twice_and_the_order_does_not_matter(self, name, table):
        X, y = table
        weight = np.random.default_rng(0).integers(1, 3, 90)
        copies = np.random.default_rng(1).permutation(np.repeat(np.arange(90), weight))
        model = LatentVariableClassifier(name, 2, max_iter=30, random_state=0)
        weighted = model.fit(X, y, sample_weight=weight).predict_proba(X)
        copied = model.fit(X.iloc[copies], y[copies]).predict_proba(X)
        np.testing.assert_allclose(weighted, copied, rtol=1e-6, atol=1e-9)

    def test_the_same_seed_gives_the_same_model(self, name, table):
        X, y = table
        one, two = (
            LatentVariableClassifier(name, 2, random_state=1, n_jobs=n).fit(X, y) for n in (None, 2)
        )
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_auto_keeps_the_lowest_cross_fitted_log_loss(table, small_forests):
    X, y = table
    model = LatentVariableClassifier("auto", "auto", max_components=2, random_state=0).fit(X, y)
    assert {name for name, _ in model.log_losses_} == set(PRESET_NAMES)
    best = min(model.log_losses_, key=model.log_losses_.get)
    assert model.chosen_estimator_ == best[0]
    assert model.n_components_ <= best[1]
    again = LatentVariableClassifier(
        model.chosen_estimator_, model.n_components_, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert again.log_losses_ == {}
    two = LatentVariableClassifier("auto", 2, random_state=0).fit(X, y)
    assert sorted(two.log_losses_) == sorted((name, 2) for name in PRESET_NAMES)


def test_trees_find_steps_that_naive_bayes_does_not(small_forests):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (400, 2))
    y = (np.floor(3 * X[:, 0]) + np.floor(3 * X[:, 1])).astype(int) % 2
    trees = LatentVariableClassifier("auto", 2, random_state=0).fit(X[:300], y[:300])
    naive = LatentVariableClassifier(None, 2, random_state=0).fit(X[:300], y[:300])
    assert trees.chosen_estimator_ != "logistic_regression"
    assert trees.score(X[300:], y[300:]) > naive.score(X[300:], y[300:]) + 0.15


def test_fewer_components_are_kept_within_one_standard_error():
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 1, 100)
    noisy = base + rng.normal(0, 0.5, 100)
    noisy -= noisy.mean() - base.mean() - 0.01
    losses = [(Recipe("a", 1), noisy), (Recipe("b", 1), noisy), (Recipe("b", 2), base)]
    assert fewest_components(losses) == 1
    assert fewest_components([(Recipe("b", 1), base + 0.5), (Recipe("b", 2), base)]) == 1


def test_missing_cells_are_filled_by_the_mean(table):
    X, y = table
    model = LatentVariableClassifier("logistic_regression", 2, random_state=0).fit(X, y)
    coder = model._model.classifiers.coder
    assert isinstance(coder, FilledCoder)
    block = model.schema_.encode(X).block(slice(None))
    matrix = coder.matrix(block)
    assert matrix.shape[1] == 2 + 3
    hidden = np.isnan(block.numeric[:, 0])
    assert hidden.any()
    np.testing.assert_array_equal(matrix[hidden, 0], 0.0)
    np.testing.assert_allclose(matrix[~hidden, 0].std(), 1.0)


def test_holes_that_tell_the_class_are_no_evidence_of_the_values_that_are_there():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({"debt": rng.normal(size=400), "age": rng.normal(y, 1.0)})
    X.loc[(y == 1) & (rng.random(400) < 0.3), "debt"] = np.nan
    seen = X[X["debt"].notna()]
    model = LatentVariableClassifier("logistic_regression", 1, random_state=0).fit(X, y)
    assert np.abs(model.explain(seen).weights[:, 0]).mean() < 0.15


def test_an_average_needs_classifiers_of_the_search(table):
    with pytest.raises(ValueError, match="average=True has no meaning for classifiers that are"):
        LatentVariableClassifier("extra_trees", average=True).fit(*table)


def test_many_rows_are_compared_on_a_sample_and_all_are_learned_from(monkeypatch):
    from latentclass.mixture import _classifier_fit

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [300, 280, 20])
    X = rng.normal(y[:, None], 1.0, (600, 3))
    seen = []
    search = _classifier_fit.ClassifierFit._search

    def watch(self, rows, recipe, *args, every=False):
        weight = np.bincount(rows.y, rows.data.weight)
        seen.append((len(rows.y), every, recipe.n_components, weight.round(6).tolist()))
        return search(self, rows, recipe, *args, every=every)

    monkeypatch.setattr(_classifier_fit.ClassifierFit, "_search", watch)
    monkeypatch.setattr(_classifier_fit, "MOST_COMPARED", 200)
    monkeypatch.setattr(_classifier_fit, "LEAST_OF_CLASS", 20)
    model = LatentVariableClassifier("logistic_regression", random_state=0, calibrate=False)
    model.fit(X, y)
    *compared, last = seen
    assert [one[0] for one in compared] == [100 + 94 + 20] * len(compared)
    assert all(one[1] for one in compared)
    assert last == (600, False, model.n_components_, [300.0, 280.0, 20.0])
    assert compared[0][3] == [300.0, 280.0, 20.0]  # the weights of the classes stay
