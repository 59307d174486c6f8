"""The search problem of the latent variable classifier against plain loops."""

import math

import numpy as np
import product_reference as reference
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _product as product
from latentclass.engine._em import RESEED_ROUNDS, take_starts
from latentclass.engine._mixture_rows import MixtureRows
from latentclass.mixture._classifier_em import ClassifierSearch, drawn_shares, log_class_posterior
from latentclass.mixture._padded_rows import make_spares
from latentclass.mixture._searches import Chance, Rule, Run, run_search

N_LEVELS = np.array([3, 2])
N_CLASSES = 3


def generators(n, seed=0):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(-1, N_CLASSES, 30)
    numeric = rng.normal(np.maximum(y, 0)[:, None], 1.0, (30, 2))
    numeric[rng.random(numeric.shape) < 0.15] = np.nan
    codes = np.stack([rng.integers(-1, 3, 30), rng.integers(-1, 2, 30)], axis=1).astype(np.int32)
    return numeric, codes, y, rng.choice([0.5, 1.0, 3.0], 30)


class OneAtATime(ClassifierSearch):
    """The same problem, in which each iteration is an assignment and an estimate of its own."""

    def races(self, rule):
        return False


def make(
    table, n_components=2, *, alpha=0.5, strength=1.0, n_jobs=None, kind=ClassifierSearch,
    n_classes=N_CLASSES,
):  # fmt: skip
    numeric, codes, y, weight = table
    data = MixtureRows.measure(numeric, codes, weight, N_LEVELS, alpha=alpha, strength=strength)
    spans = [slice(0, 13), slice(13, 30)]
    mixture = data.problem(n_components, spans)
    return kind(data, y, n_classes, mixture, n_jobs)


def moved(search, n_starts=3):
    """Parameters after some iterations, so that the components differ in their classifiers."""
    starts = search.starts(generators(n_starts))
    found = run_search(
        search, starts, Rule("era"), tol=0.0, max_iter=4, rngs=generators(n_starts),
        visit=lambda i: i == 3,
    )  # fmt: skip
    return found.visited[0]


def plain(params, s, layout):
    """P(c), P(x | c), P(y | c), P(x | c, y) of one start as lists in the data's units."""

    def tables(log_prob):
        return [[np.exp(row[:3]), np.exp(row[3:])] for row in log_prob]

    def units(mean, scale):
        return layout.centre + layout.unit * mean, layout.unit * scale

    return (
        np.exp(params.log_weight[s]),
        (*units(params.mean[s], params.scale[s]), tables(params.log_prob[s])),
        np.exp(params.log_class[s]),
        (*units(params.class_mean[s], params.class_scale[s]), tables(params.class_log_prob[s])),
    )


def slow_posteriors(table, params, s, layout):
    """P(c) P(x | c) P(y | c, x) and P(y | c, x), row by row."""
    numeric, codes, y, _ = table
    weight, of_component, class_shares, of_cell = plain(params, s, layout)
    n_components, n_classes = class_shares.shape
    density = np.exp(reference.log_density(*of_component, numeric, codes))
    within = np.exp(reference.log_density(*of_cell, numeric, codes))
    joint = np.zeros((len(y), n_components))
    given = np.zeros((len(y), n_components, n_classes))
    for i in range(len(y)):
        for c in range(n_components):
            parts = [class_shares[c, k] * within[i, c * n_classes + k] for k in range(n_classes)]
            given[i, c] = np.array(parts) / sum(parts)
            factor = given[i, c, y[i]] if y[i] >= 0 else 1.0
            joint[i, c] = weight[c] * density[i, c] * factor
    return joint, given


def test_one_soft_step_is_that_of_plain_loops(table):
    search = make(table)
    params = moved(search)
    numeric, codes, y, row_weight = table
    stats, objective = search.assign(params, Chance(True, 1.0, generators(3)))
    new = search.m_step(stats)
    layout, prior = search.data.layout, search.data.prior
    centre, unit = layout.centre, layout.unit
    settings = {
        "alpha": 0.5,
        "strength": 1.0,
        "prior_mean": centre + unit * prior.mean,
        "prior_variance": unit**2 * prior.variance,
    }
    for s in range(3):
        joint, given = slow_posteriors(table, params, s, layout)
        share = joint / joint.sum(axis=1, keepdims=True) * row_weight[:, None]
        log_likelihood = sum(
            w * math.log(v) for w, v in zip(row_weight, joint.sum(axis=1), strict=True)
        )
        penalty = 0.0
        for c in range(2):
            for j in range(2):
                ratio = prior.variance[j] / params.scale[s, c, j] ** 2
                penalty -= 0.5 * (2 * math.log(params.scale[s, c, j]) + ratio)
            penalty += 0.5 * params.log_prob[s, c].sum()
        assert_allclose(objective[s], (log_likelihood + penalty) / row_weight.sum(), rtol=1e-9)

        known = y[:, None] == np.arange(N_CLASSES)
        by_class = np.where(y[:, None, None] >= 0, known[:, None], given)
        amount = (share[:, :, None] * by_class).reshape(30, 6)
        mean, scale, tables = reference.estimate(numeric, codes, share, N_LEVELS, **settings)
        assert_allclose(centre + unit * new.mean[s], mean, rtol=1e-8)
        assert_allclose(unit * new.scale[s], scale, rtol=1e-8)
        assert_allclose(np.exp(new.log_prob[s]), [np.concatenate(t) for t in tables], rtol=1e-8)
        mean, scale, tables = reference.estimate(numeric, codes, amount, N_LEVELS, **settings)
        assert_allclose(centre + unit * new.class_mean[s], mean, rtol=1e-8)
        assert_allclose(unit * new.class_scale[s], scale, rtol=1e-8)
        found = np.exp(new.class_log_prob[s])
        assert_allclose(found, [np.concatenate(t) for t in tables], rtol=1e-8)
        assert_allclose(np.exp(new.log_weight[s]), share.sum(axis=0) / share.sum(), rtol=1e-9)
        counts = amount.sum(axis=0).reshape(2, N_CLASSES)
        assert_allclose(np.exp(new.log_class[s]), drawn_shares(counts, 0.5), rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_posteriors_of_labelled_rows_are_those_of_plain_loops(table, n_classes):
    numeric, codes, y, weight = table
    labelled = (numeric, codes, np.maximum(y, 0) % n_classes, weight)
    search = make(labelled, n_classes=n_classes)
    params = moved(search)
    found, given = search._posteriors(params)
    assert given.shape[1] == 0
    for s in range(3):
        joint, _ = slow_posteriors(labelled, params, s, search.data.layout)
        assert_allclose(np.exp(found[s]), joint, rtol=1e-9)


def test_conditional_is_bayes_rule_in_each_component(table):
    search = make(table)
    params = moved(search)
    density = product.log_density(params.class_components, search.data.rows, search.data.layout)
    found = np.exp(log_class_posterior(density, params.log_class))
    for s in range(3):
        _, given = slow_posteriors(table, params, s, search.data.layout)
        assert_allclose(found[:, s], given, rtol=1e-8)


def test_exclusive_steps_give_each_row_to_one_component(table):
    numeric, codes, y, _ = table
    search = make((numeric, codes, y, np.ones(30)))
    stats, _ = search.assign(moved(search), Chance(False, 1.0, generators(3)))
    labelled = np.bincount(y[y >= 0], minlength=N_CLASSES)
    assert_allclose(stats.row_weight.sum(axis=(1, 2)), 30.0)
    assert np.all(stats.row_weight.sum(axis=1) >= labelled - 1e-9)
    assert_allclose(stats.row_weight.sum(axis=2), np.rint(stats.row_weight.sum(axis=2)))


def test_with_many_draws_a_step_is_that_of_em(table):
    search = make(table)
    params = moved(search)
    chances = Chance(True, 1.0, generators(3)), Chance(False, 1.0, generators(3), 10**8)
    exact, drawn = (search.m_step(search.assign(params, chance)[0]) for chance in chances)
    for one, other in zip(exact, drawn, strict=True):
        assert_allclose(other, one, atol=2e-3)


def test_jobs_change_nothing(table):
    results = [
        run_search(
            search, search.starts(generators(2)), Rule("era"), tol=0.0, max_iter=8,
            rngs=generators(2),
        ).best.histories
        for search in (make(table, n_jobs=1), make(table, n_jobs=2))
    ]  # fmt: skip
    assert results[0] == results[1]


@pytest.mark.parametrize("rule", [Rule("em"), Rule("era"), Rule("anneal", (2.0, 0.3))])
@pytest.mark.parametrize("prior", [(0.5, 1.0), (0.0, 0.0)])
def test_steps_in_one_call_are_those_taken_one_at_a_time(table, rule, prior):
    numeric, codes, y, weight = table
    light = (numeric, codes, y, np.minimum(weight, 1.0))
    kinds = (ClassifierSearch, OneAtATime)
    problems = [make(light, alpha=prior[0], strength=prior[1], kind=kind) for kind in kinds]
    params = problems[0].starts(generators(3))
    one, other = (
        run_search(
            problem, params, rule, tol=0.0, max_iter=12, rngs=generators(3, 5),
            visit=lambda i: i in (0, 5),
        )
        for problem in problems
    )  # fmt: skip
    # after a component is put elsewhere, the two go on with other random numbers
    assert one.best.restarts["reseeded"].sum() == other.best.restarts["reseeded"].sum() == 0
    assert_allclose(one.best.histories, other.best.histories, rtol=1e-9)
    for name, array in one.best.params._asdict().items():
        assert_allclose(array, getattr(other.best.params, name), rtol=1e-8, err_msg=name)
    assert len(one.visited) == len(other.visited) == 2
    for mine, theirs in zip(one.visited, other.visited, strict=True):
        for name, array in mine._asdict().items():
            assert_allclose(array, getattr(theirs, name), rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("search", ["em", "era"])
def test_a_lost_component_becomes_a_spare_one_in_the_same_call(table, search):
    numeric, codes, y, weight = table
    problem = make((numeric, codes, y, np.minimum(weight, 1.0)), n_components=3)
    before = take_starts(moved(problem), [1])
    before.log_weight[0] = [np.log(0.4), np.log(0.6), -np.inf]

    def run(spares, n_steps):
        one = Run(problem, before, Rule(search), generators(1, 3), 0.0, None)
        one.spares = spares
        _, _, lost, n_done = problem.run_steps(one, np.array([0]), np.ones(n_steps))
        return one, lost[0], n_done[0]

    without, lost, n_done = run({}, 1)
    assert_array_equal(lost, [False, False, True])
    assert without.fresh[0]
    stock = make_spares(problem.mixture, 2, np.random.default_rng(7))
    after, lost, n_done = run({0: stock}, 1)
    assert n_done == 1
    assert not lost.any()
    assert after.fresh[0]
    assert (after.reseeded[0], after.rounds[0], stock.used[0]) == (1, 1, 1)
    base = problem.single()
    share = np.exp(without.params.log_weight[0, :2])
    # the average weight of a component, beside weights with sum 1
    assert_allclose(np.exp(after.params.log_weight[0]), [*(share * 3 / 4), 1 / 4], rtol=1e-12)
    assert_array_equal(after.params.mean[0, 2], stock.params.mean[0, 0])
    assert_array_equal(after.params.scale[0, 2], stock.params.scale[0, 0])
    assert_array_equal(after.params.log_prob[0, 2], stock.params.log_prob[0, 0, :-1])
    assert_array_equal(after.params.log_class[0, 2], base.log_class[0, 0])
    assert_array_equal(after.params.class_mean[0, 6:], base.class_mean[0])
    assert_array_equal(after.params.class_log_prob[0, 6:], base.class_log_prob[0])
    assert_array_equal(after.params.mean[0, :2], without.params.mean[0, :2])
    assert_array_equal(after.params.class_mean[0, :6], without.params.class_mean[0, :6])
    assert run({0: make_spares(problem.mixture, 2, np.random.default_rng(7))}, 5)[2] == 5
    assert run({}, 5)[2] == 1


def test_em_puts_components_elsewhere_only_so_many_times(table):
    problem = make(table, n_components=3)
    before = take_starts(moved(problem), [1])
    before.log_weight[0] = [np.log(0.4), np.log(0.6), -np.inf]
    run = Run(problem, before, Rule("em"), generators(1, 3), 0.0, None)
    run.rounds[:] = RESEED_ROUNDS
    _, _, lost, n_done = problem.run_steps(run, np.array([0]), np.ones(3))
    assert n_done[0] == 3
    assert not lost.any()
    assert run.reseeded[0] == 0
    assert run.params.log_weight[0, 2] < -600


@pytest.mark.parametrize("kind", [ClassifierSearch, OneAtATime])
def test_em_ends_where_its_objective_has_settled(table, kind):
    search = make(table, kind=kind)
    starts = search.starts(generators(3))
    found = [
        run_search(search, starts, Rule("em"), tol=tol, max_iter=200, rngs=generators(3)).best
        for tol in (0.0, 1e-3)
    ]
    for whole, part in zip(*(one.histories for one in found), strict=True):
        change = np.abs(np.diff(whole))
        assert len(part) == int(np.argmax(change <= 1e-3)) + 2
    assert found[1].restarts["converged"].all()


def test_a_row_that_stands_for_three_is_three_rows(table):
    numeric, codes, y, weight = table
    units = np.maximum(weight.astype(int), 1)
    heavy = make((numeric, codes, y, weight))
    copies = make(
        tuple(np.repeat(part, units, axis=0) for part in (numeric, codes, y, weight / units))
    )
    found = [
        run_search(
            search, heavy.starts(generators(2)), Rule("era"), tol=0.0, max_iter=6,
            rngs=generators(2, 1),
        ).best.histories
        for search in (heavy, copies)
    ]  # fmt: skip
    assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize("kind", [ClassifierSearch, OneAtATime])
def test_a_start_ends_when_its_best_has_not_risen_for_long(table, kind):
    search = make(table, kind=kind)

    def run(patience, tol):
        return run_search(
            search, search.starts(generators(3)), Rule("era"), tol=tol, max_iter=60,
            rngs=generators(3), patience=patience,
        ).best  # fmt: skip

    whole = run(None, 0.0)
    assert [len(history) for history in whole.histories] == [60] * 3
    tol, patience = 1e-2, 5
    for s, history in enumerate(run(patience, tol).histories):
        mark, since, end = -np.inf, 0, 60
        for i, best in enumerate(np.maximum.accumulate(whole.histories[s]), start=1):
            if best - mark > tol:
                mark, since = best, i
            if i - since >= patience:
                end = i
                break
        assert end < 50
        # the compiled loop takes 50 iterations in one call
        expected = whole.histories[s][: end if kind is OneAtATime else 50]
        assert_allclose(history, expected, rtol=1e-12)


def test_a_component_put_elsewhere_has_the_classifier_of_all_rows(table):
    search = make(table, n_components=3)
    params = take_starts(moved(search), [1])
    dead = np.array([[False, False, True]])
    after = search.reseed(params, dead, generators(1))
    base = search.single()
    assert_array_equal(after.log_class[0, 2], base.log_class[0, 0])
    assert_array_equal(after.class_mean[0, 6:], base.class_mean[0])
    assert_array_equal(after.log_class[0, :2], params.log_class[0, :2])
    assert_array_equal(after.class_mean[0, :6], params.class_mean[0, :6])
    assert_array_equal(after.mean[0, :2], params.mean[0, :2])
    assert_allclose(np.exp(after.log_weight).sum(), 1.0)


class TestDrawnShares:
    counts = np.array([[8.0, 0.0, 2.0], [1.0, 5.0, 0.0], [0.0, 0.0, 0.0]])

    def test_without_pseudo_rows_they_are_the_shares(self):
        found = drawn_shares(self.counts[:2], 0.0)
        assert_allclose(found, [[0.8, 0.0, 0.2], [1 / 6, 5 / 6, 0.0]])

    def test_the_classes_keep_their_overall_share(self):
        found = drawn_shares(self.counts, 1.0)
        assert_allclose(found.sum(axis=1), 1.0)
        assert np.all(found > 0)
        weight = self.counts.sum(axis=1) / self.counts.sum()
        assert_allclose(weight @ found, self.counts.sum(axis=0) / 16)
        assert_allclose(found[2], self.counts.sum(axis=0) / 16)  # a component without rows
        # 3 more rows beside 16, with the overall shares
        assert_allclose(found[0], (16 * np.array([0.8, 0, 0.2]) + 3 * found[2]) / 19)

    def test_one_component_is_not_drawn(self):
        assert_allclose(drawn_shares(np.array([[3.0, 1.0]]), 5.0), [[0.75, 0.25]])
