"""Columns with many categories: questions that split them, of which a row answers only a few."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from latentclass import HybridLCMClassifier
from latentclass.lcm import _logistic_bound
from latentclass.lcm._discriminative import ConditionalProblem
from latentclass.lcm._halving import halve_levels
from latentclass.lcm._hybrid_data import gather_blocks
from latentclass.lcm._hybrid_em import HybridProblem, Prior, first_xi, params_design
from latentclass.lcm._hybrid_posterior import integrate, raise_bounds, spread_points
from latentclass.lcm._logistic_bound import HybridRows
from latentclass.lcm._stick_breaking import MOST_STICKS, StickBreaking

PRIOR = Prior(loading=0.7, noise=0.9, noise_level=0.5, latent=0.8, alpha=0.6)


def test_even_shares_are_halved():
    halving = halve_levels(np.full(8, 1 / 8))
    assert halving.depth == 3
    assert (halving.answer != 0).all()
    assert sorted(len(group) for group in halving.groups()) == [1, 1, 1, 1, 2, 2, 4]
    assert halving.counts().sum(axis=0).tolist() == [8, 4, 4, 2, 2, 2, 2]


def test_frequent_categories_answer_fewer_questions():
    share = np.array([0.01, 0.9, 0.01, 0.02, 0.01, 0.01, 0.01, 0.01, 0.02])
    n_asked = (halve_levels(share).answer != 0).sum(axis=1)
    assert n_asked[1] == 1
    assert n_asked.max() <= 5


def test_probabilities_are_those_of_the_answers():
    rng = np.random.default_rng(0)
    halving = halve_levels(rng.dirichlet(np.ones(11)))
    logits = rng.normal(size=10)
    expected = np.ones(11)
    for level in range(11):
        for question, answer in zip(halving.asked[level], halving.answer[level], strict=True):
            if answer:
                expected[level] *= expit(answer * logits[question])
    found = np.exp(halving.log_probabilities(logits))
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(found.sum(), 1.0, rtol=1e-12)


def test_every_question_has_two_groups_that_answer_it():
    halving = halve_levels(np.random.default_rng(1).dirichlet(np.ones(13)))
    yes, no = halving.counts()
    assert (yes > 0).all()
    assert (no > 0).all()
    for question, group in enumerate(halving.groups()):
        asked = (halving.asked == question).any(axis=1)
        assert set(group) < set(np.flatnonzero(asked))
        assert asked.sum() == yes[question] + no[question]


def make_rows(n_rows=90, seed=0):
    """Rows of two numbers, a flag, and columns of 3, 12 and 20 categories; and all answers.

    The second of the results has a cell for every question, as for columns with few categories.
    """
    rng = np.random.default_rng(seed)
    n_levels = (3, 12, 2, 20)
    codes = np.stack([rng.integers(0, n, n_rows) for n in n_levels], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < 0.1] = -1
    values = rng.normal(size=(2, n_rows))
    values[rng.random(values.shape) < 0.1] = np.nan
    orders = tuple(np.arange(n) for n in n_levels)
    long = tuple((place, halve_levels(rng.dirichlet(np.ones(n_levels[place])))) for place in (1, 3))
    sticks = StickBreaking(orders, long)
    signs, asked = sticks.cells(codes)
    rows = HybridRows(values, signs, (), asked)
    first = sticks.n_sticks
    full = np.zeros((sticks.n_questions, n_rows), dtype=np.int8)
    full[:first] = signs[:first]
    for place, row in np.argwhere(signs[first:] != 0):
        full[asked[place, row], row] = signs[first + place, row]
    return rows, HybridRows(values, full), sticks, codes


def make_problems(unlabelled, n_components=1):
    few, full, sticks, _ = make_rows()
    rng = np.random.default_rng(3)
    n = few.n_rows
    y = np.where(rng.random(n) < unlabelled, -1, rng.integers(0, 2, n))
    weight = rng.integers(1, 4, n).astype(float)
    out = []
    for rows in (few, full):
        parts = [(rows.take(part), y[part], weight[part]) for part in np.split(np.arange(n), 2)]
        data = gather_blocks(parts, 2, sticks.pseudo)
        out.append(HybridProblem(data, n_components, 2, tied=True, prior=PRIOR, bound_steps=2))
    return out


@pytest.fixture(params=[True, False], ids=["compiled", "NumPy"])
def choose_loops(request, monkeypatch):
    monkeypatch.setattr(_logistic_bound, "FEW", 0 if request.param else 2**40)
    monkeypatch.setattr(_logistic_bound, "FEW_ROWS", 2**40)


def close(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_answers_are_those_of_the_groups():
    _, full, sticks, codes = make_rows()
    for (place, asked), row in zip(sticks.questions, full.signs, strict=True):
        if isinstance(asked, tuple):
            assert (row[codes[:, place] < 0] == 0).all()
            assert set(codes[row > 0, place]) <= set(asked)
            assert not set(codes[row < 0, place]) & set(asked)


@pytest.mark.usefixtures("choose_loops")
@pytest.mark.parametrize("unlabelled", [0.0, 0.4])
@pytest.mark.parametrize("n_components", [1, 2])
def test_em_equals_that_with_a_cell_for_every_question(unlabelled, n_components):
    few, full = make_problems(unlabelled, n_components)
    rngs = [[np.random.default_rng(s) for s in range(3)] for _ in range(2)]
    params, expected = few.starts(rngs[0]), full.starts(rngs[1])
    close(params, expected)
    for _ in range(3):
        stats, objective = few.e_step(params)
        other, height = full.e_step(expected)
        assert_allclose(objective, height, rtol=1e-8)
        params, expected = few.m_step(stats), full.m_step(other)
        for one, two in zip(params, expected, strict=True):
            # xi are kept in single precision
            assert_allclose(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("choose_loops")
def test_gradients_equal_those_with_a_cell_for_every_question():
    few, full = make_problems(0.0)
    params = few.starts([np.random.default_rng(s) for s in range(2)])
    slopes = []
    for problem in (few, full):
        steps = ConditionalProblem(problem.data, PRIOR, 0.3)
        slope, objective, xi = steps.gradient(params, steps.begin(params))
        slopes.append((*slope, objective, *steps.gradient(params, xi)[0]))
    close(*slopes)


@pytest.mark.usefixtures("choose_loops")
@pytest.mark.parametrize("points", [None, 64])
def test_predictions_equal_those_with_a_cell_for_every_question(points):
    few, full, _, _ = make_rows()
    problem = make_problems(0.0, 2)[0]
    params = problem.starts([np.random.default_rng(s) for s in range(2)])
    params = problem.m_step(problem.e_step(params)[0])
    found = []
    for rows in (few, full):
        bounds = raise_bounds(params, rows, moments=True)
        if points is None:
            found.append(bounds)
        else:
            spread = spread_points(points, 2)
            found.append((integrate(params, rows, bounds.moments, spread),))
    close(*found)


def test_what_is_not_asked_has_no_xi_of_its_own():
    problem = make_problems(0.0)[0]
    params = problem.starts([np.random.default_rng(0)])
    for block in problem.data.blocks:
        xi = first_xi(params, params_design(params), block)
        depth = len(block.rows.asked)
        hidden = block.rows.signs[-depth:] == 0
        assert (xi[0, 0, -depth:][hidden] == 1).all()


def many_categories(n_rows=400, n_levels=MOST_STICKS + 12):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    towns = np.array([f"town {k}" for k in range(n_levels)])
    near = (rng.integers(0, n_levels // 2, n_rows) + y * (n_levels // 2)).astype(int)
    far = rng.integers(0, n_levels, n_rows)
    X = pd.DataFrame({"town": towns[np.where(rng.random(n_rows) < 0.7, near, far)]})
    X["size"] = rng.normal(size=n_rows) + 0.3 * y
    X["work"] = np.array(["a", "b", "c"])[rng.integers(0, 3, n_rows)]
    return X, y


def test_many_categories_tell_the_class():
    X, y = many_categories()
    model = HybridLCMClassifier(2, n_init=2, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75
    names = [name for name, _ in model.questions_]
    assert names == ["work"] * 2 + ["town"] * 19
    assert all(isinstance(asked, tuple) for name, asked in model.questions_ if name == "town")
    assert model.weights_.shape == (1, 21, 2)


def test_probabilities_of_all_categories_sum_to_one():
    X, y = many_categories()
    model = HybridLCMClassifier(
        1, n_init=1, predict_method="quadrature", discriminative=False, random_state=0
    ).fit(X[["town"]], y)
    each = pd.DataFrame({"town": np.unique(X["town"])})
    assert_allclose(np.exp(model.score_samples(each)).sum(), 1.0, rtol=1e-8)


def test_a_missing_category_is_filled_in_and_drawn():
    X, y = many_categories()
    model = HybridLCMClassifier(2, n_init=1, random_state=0).fit(X, y)
    hidden = X[:20].assign(town=None)
    assert model.complete(hidden)["town"].isin(X["town"]).all()
    drawn, _ = model.sample(200)
    assert drawn["town"].nunique() > MOST_STICKS


def test_objective_never_falls():
    X, y = many_categories()
    model = HybridLCMClassifier(2, n_init=2, tol=1e-5, random_state=0).fit(X, y)
    assert (np.diff(model.history_) >= -1e-8 * np.abs(model.history_[:-1])).all()
