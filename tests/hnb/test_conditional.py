"""Supervised learning of the tables, against differences, enumeration and logistic regression."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from latentclass.hnb._conditional import (
    ConditionalProblem,
    choose_share,
    count_tables,
    natural,
    normalised,
    show_states,
)
from latentclass.hnb._hierarchy import (
    FilledHierarchy,
    Hierarchy,
    Tables,
    count_within,
    estimate_within,
)
from plain import HNBClassifier


def build(holes, share=0.3, n_rows=60):
    """Rows of five columns, two of them joined; the tables are counted."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    codes = rng.integers(0, 3, (n_rows, 5)).astype(np.int32)
    codes[:, 1] = np.where(rng.random(n_rows) < 0.6, (codes[:, 0] + y) % 3, codes[:, 1])
    codes[:, 3] = np.where(rng.random(n_rows) < 0.5, y, codes[:, 3])
    codes[:, 4] = np.where(rng.random(n_rows) < 0.8, codes[:, 3], codes[:, 4])
    codes[rng.random(codes.shape) < holes] = -1
    hierarchy = Hierarchy((3,) * 5).join(0, 1, np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]]))
    pairs = count_within(hierarchy, hierarchy.encode(codes), np.ones(n_rows))
    within = estimate_within(hierarchy, pairs, 1.0)
    n_states = int(hierarchy.offsets[-1])
    filled = FilledHierarchy(hierarchy, Tables(np.zeros((3, n_states)), within))
    evidence = show_states(filled, codes, list(hierarchy.tops))
    weight = rng.integers(1, 4, n_rows).astype(float)
    counted = count_tables(evidence, y, weight, 3, 1.0)
    problem = ConditionalProblem(evidence, y, weight, counted, share)
    return problem, FilledHierarchy(hierarchy, Tables(counted.log_theta, within)), codes


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_slopes_are_those_of_differences(holes):
    problem, _, _ = build(holes)
    rng = np.random.default_rng(1)
    b, phi = rng.normal(size=3), rng.normal(size=problem.counted.log_theta.shape)

    def value(flat):
        return problem.value(flat[:3], flat[3:].reshape(phi.shape))[0]

    _, slope_b, slope_phi = problem.value(b, phi)
    expected = approx_fprime(np.concatenate([b, phi.reshape(-1)]), value, 1e-6)
    assert_allclose(np.concatenate([slope_b, slope_phi.reshape(-1)]), expected, atol=1e-3)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_the_objective_is_that_of_the_normalised_model(holes):
    """b and phi stand for a naive Bayes model, which predicts what the objective scores."""
    problem, filled, codes = build(holes)
    rng = np.random.default_rng(2)
    b, phi = rng.normal(size=3), rng.normal(size=problem.counted.log_theta.shape)
    pi, theta, _ = normalised(b, phi, problem.evidence.offsets)
    hierarchy = filled.hierarchy
    columns = pd.DataFrame(np.where(codes < 0, None, codes.astype(object)))
    model = HNBClassifier(random_state=0).fit(columns.astype("category"), problem.y)._model
    changed = replace(filled, tables=Tables(np.log(theta), filled.tables.log_within))
    fake = replace(model, class_prior=pi, filled=changed, support=(np.ones((3, 3)),))
    log_joint = fake.code_log_likelihood(codes) + np.log(pi)
    log_posterior = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
    own = log_posterior[np.arange(len(codes)), problem.y]
    assert_allclose(problem.log_loss(b, phi), -own, rtol=1e-9)
    if not holes:
        # all states are known, so the second term is the log-likelihood under the counted tables
        states = hierarchy.top_entries(codes)
        full = replace(
            problem, counted=count_tables(problem.evidence, problem.y, problem.weight, 3, 0)
        )
        joint = np.log(pi)[problem.y] + np.log(theta)[problem.y[:, None], states].sum(axis=1)
        expected = problem.weight @ (own + 0.3 * joint)
        assert_allclose(full.value(b, phi)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_climbing_never_falls_and_counted_tables_are_the_limit(holes):
    problem, _, _ = build(holes)
    start = natural(problem.counted)
    at, before = start, problem.value(*start)[0]
    for steps in (1, 2, 4, 30):
        at = problem.climb(*at, steps)
        value = problem.value(*at)[0]
        assert value >= before
        before = value
    free = replace(problem, share=1e-3)
    assert free.log_loss(*free.climb(*start)) @ problem.weight < (
        free.log_loss(*start) @ problem.weight
    )
    tied = replace(problem, share=1e6)
    pi, theta, _ = normalised(*tied.climb(*start), problem.evidence.offsets)
    assert_allclose(pi, np.exp(problem.counted.log_pi), atol=1e-4)
    assert_allclose(theta, np.exp(problem.counted.log_theta), atol=1e-4)


def test_without_the_joint_likelihood_it_is_logistic_regression():
    problem, _, _ = build(0.0, share=1e-9)
    best = problem.climb(*natural(problem.counted))
    peer = LogisticRegression(C=1e9, max_iter=10000, tol=1e-8)
    X = problem.evidence.shown.toarray()
    peer.fit(X, problem.y, sample_weight=problem.weight)
    own = peer.predict_log_proba(X)[np.arange(len(X)), problem.y]
    got = problem.log_loss(*best) @ problem.weight
    assert_allclose(got, -own @ problem.weight, rtol=1e-3)


def test_the_share_depends_on_what_is_held_out():
    problem, _, _ = build(0.0, n_rows=300)
    trains = [problem.weight * (np.arange(300) % 3 != f) for f in range(3)]
    assert choose_share(problem, trains, 3, 1.0) > 0.01
    # copies of a column mislead naive Bayes, so the tables of many rows are better without it
    codes = np.repeat(problem.y[:, None] ^ (np.arange(300)[:, None] % 4 == 0), 6, axis=1)
    y = (problem.y > 0).astype(np.intp)
    copies = Hierarchy((4,) * 6)
    evidence = show_states(
        FilledHierarchy(copies, Tables(np.zeros((2, 24)), ())), codes.astype(np.int32), [*range(6)]
    )
    counted = count_tables(evidence, y, np.ones(300), 2, 1.0)
    sure = ConditionalProblem(evidence, y, np.ones(300), counted)
    trains = [np.where(np.arange(300) % 3 != f, 1.0, 0.0) for f in range(3)]
    assert choose_share(sure, trains, 2, 1.0) < 10.0


@pytest.fixture
def copied():
    """A column four times, with some noise: naive Bayes is too sure."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 250)
    a = np.where(rng.random(250) < 0.75, y, 1 - y)
    frame = {f"a{j}": np.where(rng.random(250) < 0.97, a, 1 - a) for j in range(4)}
    frame["b"] = np.where(rng.random(250) < 0.6, y, 1 - y)
    return pd.DataFrame(frame).astype(str), y


def test_labels_become_more_probable(copied):
    X, y = copied
    options = {"search": "published", "n_candidates": 2, "random_state": 0}
    plain = HNBClassifier(**options).fit(X, y)
    fitted = HNBClassifier(discriminative=True, **options).fit(X, y)
    assert np.isinf(plain.shrinkage_)
    assert fitted.shrinkage_ <= 1.0
    assert fitted.latent_children_ == plain.latent_children_

    def log_score(model):
        return np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()

    assert log_score(fitted) > log_score(plain) + 0.01
    # still a model of the columns: missing cells are summed out, and it can be sampled from
    hidden = X.iloc[:5].assign(a0=None)
    total = sum(np.exp(fitted.score_samples(X.iloc[:5].assign(a0=value))) for value in ("0", "1"))
    assert_allclose(np.exp(fitted.score_samples(hidden)), total, rtol=1e-9)
    assert len(fitted.sample(3, random_state=0)[0]) == 3


def test_weight_two_is_the_row_twice_and_order_does_not_matter(copied):
    X, y = copied
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.05)
    X, y = X[:150], y[:150]
    weight = 1.0 + np.arange(len(y)) % 2
    model = HNBClassifier(discriminative=True, select_features=True, random_state=0)
    expected = model.fit(X, y, sample_weight=weight).predict_proba(X)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    turned = twice[::-1]
    got = model.fit(X.iloc[turned], y[turned]).predict_proba(X)
    assert_allclose(got, expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_a_single_labelled_row_keeps_its_counted_tables():
    model = HNBClassifier(discriminative=True, random_state=0)
    model.fit(np.array([["a"], ["b"], ["b"]], dtype=object), ["yes", None, None])
    assert model.shrinkage_ == np.inf


@pytest.mark.filterwarnings("ignore:y has a single class")
def test_zero_probabilities_rows_without_label_and_a_single_class(copied):
    X, y = copied
    X, labels = X[:60].mask(np.random.default_rng(1).random((60, 5)) < 0.3), pd.Series(y[:60])
    model = HNBClassifier(alpha=0.0, discriminative=True, n_models=2, random_state=0)
    shares = model.fit(X, labels.mask(np.arange(60) % 4 == 0)).predict_proba(X)
    assert np.isfinite(shares).all()
    assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
    assert np.all(model.fit(X, np.zeros(60)).predict_proba(X) == 1.0)
