"""Fitted classifiers as values: they predict what scikit-learn predicts, and refuse nonsense."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass.mixture import _plain_classifiers as plain
from latentclass.mixture._classifier_presets import PRESETS
from latentclass.mixture._plain_conversion import to_plain


def fitted(name, n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 150) * 2  # codes with gaps: a component may lack a class
    X = rng.normal(0.5 * y[:, None], 1.0, (150, 4))
    X[:, 3] = rng.random(150) < 0.5
    classifier = PRESETS[name]()
    if "random_state" in classifier.get_params():
        classifier.set_params(random_state=0)
    if "n_estimators" in classifier.get_params():
        classifier.set_params(n_estimators=30)  # 300 by default
    weight = rng.uniform(0.2, 2.0, 150)
    return classifier.fit(X, y, sample_weight=weight), rng.normal(1.0, 2.0, (500, 4))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", PRESETS)
def test_a_value_predicts_what_the_classifier_predicts(name, n_classes):
    classifier, X = fitted(name, n_classes)
    value = to_plain(classifier)
    assert value.classes_.tolist() == classifier.classes_.tolist()
    # shares in the leaves of a forest are kept in single precision
    atol = 1e-6 if name in ("extra_trees", "random_forest") else 1e-12
    assert_allclose(value.predict_proba(X), classifier.predict_proba(X), rtol=1e-9, atol=atol)


def test_rows_in_blocks_give_the_same_answer(monkeypatch):
    classifier, X = fitted("extra_trees", 2)
    value = to_plain(classifier)
    expected = value.predict_proba(X)
    monkeypatch.setattr(plain, "MOST_VISITS", 7 * len(value.trees.root))
    np.testing.assert_array_equal(value.predict_proba(X), expected)


def changed(array, place, value):
    out = np.array(array)
    out[place] = value
    return out


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("root", 10**6, "root is not a node."),
        ("feature", -2, "feature is not a column."),
        ("left", 0, "a child is out of order."),
        ("right", 10**6, "a child is out of order."),
        ("threshold", np.nan, "a threshold is missing."),
        ("leaf_value", np.inf, "leaf_value must be finite."),
    ],
)
def test_trees_that_could_lead_nowhere_are_refused(field, value, message):
    trees = to_plain(fitted("extra_trees", 2)[0]).trees
    with pytest.raises(ValueError, match=f"^{message}$"):
        replace(trees, **{field: changed(getattr(trees, field), 0, value)})


def test_a_leaf_without_value_is_refused():
    trees = to_plain(fitted("extra_trees", 2)[0]).trees
    leaf = int(np.flatnonzero(trees.feature == plain.LEAF)[0])
    with pytest.raises(ValueError, match=r"^a leaf has no value\.$"):
        replace(trees, left=changed(trees.left, leaf, len(trees.leaf_value)))


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("extra_trees", "n_columns", 2, "feature is not a column of the matrix."),
        ("extra_trees", "classes_", np.array([0, 1, 2]), "a leaf needs a share for each class."),
        ("hist_gradient_boosting", "baseline", np.zeros(3), "baseline needs a number for each"),
        ("logistic_regression", "coef", np.full((2, 4), np.nan), "coef and intercept must be"),
        ("logistic_regression", "classes_", np.array([1, 0]), "classes_ must be class codes in"),
        ("kernel_logistic_regression", "gamma", -1.0, "gamma must be above 0."),
        ("kernel_logistic_regression", "landmarks", np.zeros((1, 4)), "coef needs a column for"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(name, field, value, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        replace(to_plain(fitted(name, 2)[0]), **{field: value})
