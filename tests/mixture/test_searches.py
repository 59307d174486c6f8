"""Searches of mixtures: kernels against numpy, ERA against an enumerated Markov chain."""

from dataclasses import replace
from itertools import product as all_pairs

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from latentclass import LatentMixture
from latentclass.engine import _product as product
from latentclass.engine._em import take_starts
from latentclass.engine._logspace import split_log
from latentclass.engine._mixture_rows import MixtureRows, join_rows
from latentclass.engine._product_mixture import flat_params
from latentclass.mixture._compiled_em import make_large
from latentclass.mixture._hard_assignment import MixtureSearch
from latentclass.mixture._padded_rows import RUN
from latentclass.mixture._searches import (
    SEARCHES,
    Chance,
    Rule,
    collapsed,
    responsibilities,
    row_units,
    run_search,
)

N_LEVELS = np.array([3, 2])


def generators(n, seed=0):
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


def make_rows(n_rows=40, *, holes=True, weight=None, alpha=0.5, strength=1.0, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    numeric = rng.normal(3.0 * group[:, None], 1.0, (n_rows, 2))
    codes = np.stack([(group + (rng.random(n_rows) < 0.2)) % 3, group % 2], axis=1).astype(np.int32)
    if holes:
        numeric[rng.random(numeric.shape) < 0.15] = np.nan
        codes[rng.random(codes.shape) < 0.15] = -1
    weight = np.ones(n_rows) if weight is None else weight
    return MixtureRows.measure(numeric, codes, weight, N_LEVELS, alpha=alpha, strength=strength)


def make_search(rows, n_components=3, n_starts=4, seed=1):
    spans = [slice(0, 11), slice(11, len(rows.weight))]
    problem = rows.problem(n_components, spans)
    return MixtureSearch(problem), rows.starts(problem, generators(n_starts, seed))


def slow_assign(search, params, chance):
    """Statistics and objective by numpy: posteriors, responsibilities, weighted sums."""
    problem = search.mixture
    rows = product.ProductRows(*(np.concatenate([b[0][i] for b in problem.blocks]) for i in (0, 1)))
    weight = np.concatenate([b[1] for b in problem.blocks])
    n_starts, n_components = params.log_weight.shape
    joint = product.log_density(flat_params(params), rows, problem.layout)
    joint = joint.reshape(len(weight), n_starts, n_components) + params.log_weight
    log_share, size = split_log(joint.transpose(1, 0, 2))
    share = responsibilities(log_share, row_units(weight), chance) * weight[:, None]
    stats = [
        product.soft_stats(rows, share[s], problem.layout)._asdict() | {"rows": share[s].sum(0)}
        for s in range(n_starts)
    ]
    penalty = product.log_prior(flat_params(params), problem.prior)
    objective = size @ weight + penalty.reshape(n_starts, n_components).sum(axis=1)
    return stats, objective / weight.sum()


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("sharpness", [1.0, 0.3, 5.0, np.inf])
@pytest.mark.parametrize("weights", ["ones", "mixed"])
def test_assignment_is_that_of_numpy(holes, sharpness, weights):
    n_rows = RUN + 37
    weight = np.ones(n_rows)
    if weights == "mixed":
        weight = np.random.default_rng(3).choice([0.2, 1.0, 1.7, 3.0, 50.0], n_rows)
    search, params = make_search(make_rows(n_rows, holes=holes, weight=weight))
    stats, objective = search.assign(params, Chance(False, sharpness, generators(4)))
    slow, expected = slow_assign(search, params, Chance(False, sharpness, generators(4)))
    assert_allclose(objective, expected, rtol=1e-12)
    assert_allclose(search.mixture.e_step(params)[1], expected, rtol=1e-12)
    for s, one in enumerate(slow):
        assert_allclose(stats.row_weight[s], one["rows"], rtol=1e-12)
        for name in ("weight", "mean", "scatter", "counts"):
            assert_allclose(getattr(stats, name)[s], one[name], rtol=1e-9, atol=1e-10)


def test_rows_that_nothing_can_have_made_are_assigned_all_the_same():
    rows = make_rows(alpha=0.0, strength=0.0)
    search, params = make_search(rows)
    params.log_prob[:, :, 0] = -np.inf
    for sharpness in (1.0, np.inf):
        stats, objective = search.assign(params, Chance(False, sharpness, generators(4)))
        assert_allclose(stats.row_weight.sum(axis=1), 40.0)
        assert np.all(objective == -np.inf)


def test_sums_keep_their_digits_where_the_last_mean_is_far_away():
    """Spread of 1e-7 about a place that is 1 away from where the component was."""
    numeric = np.r_[0.8 + 1e-7 * np.arange(20.0), -1.0, 1.0][:, None]
    rows = MixtureRows.measure(
        numeric, np.zeros((22, 0), np.int32), np.ones(22), np.array([], int), alpha=0, strength=0
    )
    search, params = make_search(rows, n_components=3, n_starts=1)
    params.mean[0, :, 0], params.scale[0] = [0.2, -1.0, 1.0], [[0.3], [0.05], [0.05]]
    params.log_weight[:] = np.log(1 / 3)
    stats, _ = search.assign(params, Chance(False, np.inf, generators(1)))
    assert stats.row_weight[0].tolist() == [20.0, 1.0, 1.0]
    members = rows.rows.numeric[:20, 0]
    assert_allclose(stats.scatter[0, 0, 0], np.sum((members - members.mean()) ** 2), rtol=1e-7)


class TestRule:
    def test_temperature_falls_by_equal_factors(self):
        rule = Rule("anneal", (4.0, 0.25))
        found = [1 / rule.sharpness(i, 5) for i in range(5)]
        assert_allclose(found, [4.0, 2.0, 1.0, 0.5, 0.25])

    def test_era_is_temperature_one_and_kmeans_its_limit(self):
        assert Rule("era").sharpness(3, 9) == 1.0
        assert Rule("kmeans").sharpness(3, 9) == np.inf
        search, params = make_search(make_rows())
        cold, _ = search.assign(params, Chance(False, 1e9, generators(4)))
        best, _ = search.assign(params, Chance(False, np.inf, generators(4)))
        for one, other in zip(cold, best, strict=True):
            assert_array_equal(one, other)

    def test_annealing_at_one_temperature_is_era(self):
        search, params = make_search(make_rows())
        results = [
            run_search(search, params, rule, tol=0.0, max_iter=12, rngs=generators(4)).best
            for rule in (Rule("era"), Rule("anneal", (1.0, 1.0)))
        ]
        assert results[0].histories == results[1].histories

    def test_hot_annealing_draws_evenly(self):
        search, params = make_search(make_rows(3000, holes=False), n_starts=1)
        stats, _ = search.assign(params, Chance(False, 1e-9, generators(1)))
        assert_allclose(stats.row_weight[0], 1000.0, atol=100.0)


def test_weight_is_as_many_draws():
    """A row of weight 400 spreads as its posterior says; one of weight 1 is whole."""
    weight = np.ones(40)
    weight[7] = 400.0
    search, params = make_search(make_rows(weight=weight), n_components=2, n_starts=1)
    params.mean[:], params.scale[:] = 0.0, 1.0
    params.log_prob[:] = np.log([1 / 3] * 3 + [1 / 2] * 2)
    params.log_weight[:] = np.log([0.3, 0.7])
    stats, _ = search.assign(params, Chance(False, 1.0, generators(1)))
    assert_allclose(stats.row_weight[0], [0.3 * 439, 0.7 * 439], atol=50.0)
    assert_allclose(stats.row_weight, np.rint(stats.row_weight), atol=1e-9)


class _NoReseeding(MixtureSearch):
    """Empty components stay empty, so that the chain has one state for each assignment."""

    def races(self, rule):
        return False  # the loop of several iterations in one call would seed them anew

    def lost(self, params):
        return np.zeros(params.log_weight.shape, dtype=bool)


class TestLongRun:
    """ERA on five rows: a Markov chain on the 32 assignments, whose law can be computed."""

    x = np.array([0.0, 0.4, 1.5, 2.6, 3.0])
    strength = 1.0

    def estimate(self, z):
        """Weight, mean and standard deviation of both components, by the plain formulas."""
        out = []
        for k in (0, 1):
            own = self.x[np.array(z) == k]
            mean = own.mean() if len(own) else self.x.mean()
            squares = np.sum((own - mean) ** 2) + self.strength * self.x.var()
            out.append((len(own) / 5, mean, np.sqrt(squares / (len(own) + self.strength))))
        return out

    def chain(self):
        states = list(all_pairs((0, 1), repeat=5))
        matrix = np.empty((32, 32))
        objective = np.empty(32)
        for i, z in enumerate(states):
            parts = np.array([w * norm.pdf(self.x, m, s) for w, m, s in self.estimate(z)])
            share = parts / parts.sum(axis=0)
            matrix[i] = [np.prod([share[k, r] for r, k in enumerate(other)]) for other in states]
            penalty = sum(
                -0.5 * self.strength * (2 * np.log(s) + self.x.var() / s**2)
                for _, _, s in self.estimate(z)
            )
            # the engine's scales are in its own units: a constant of the prior, 1.5 a component
            penalty += 2 * self.strength * np.log(1.5)
            objective[i] = (np.log(parts.sum(axis=0)).sum() + penalty) / 5
        assert_allclose(matrix.sum(axis=1), 1.0)
        return states, matrix, objective

    def test_the_law_of_the_chain_is_the_computed_one(self):
        states, matrix, objective = self.chain()
        n_starts, n_steps = 8_000, 25
        rows = MixtureRows.measure(
            self.x[:, None], np.zeros((5, 0), np.int32), np.ones(5), np.array([], int),
            alpha=0.0, strength=self.strength,
        )  # fmt: skip
        search = _NoReseeding(rows.problem(2, [slice(0, 5)]))
        first = states.index((0, 0, 1, 1, 1))
        weight, mean, scale = np.array(self.estimate(states[first])).T
        starts = rows.starts(search.mixture, generators(1))
        starts = take_starts(starts, np.zeros(n_starts, dtype=int))
        starts.log_weight[:] = np.log(weight)
        starts.mean[:] = (mean - 1.5)[:, None] / 1.5
        starts.scale[:] = scale[:, None] / 1.5
        found = run_search(
            search, starts, Rule("era"), tol=0.0, max_iter=n_steps + 1, rngs=generators(n_starts)
        )
        traces = np.array(found.best.histories)
        law = np.zeros(32)
        law[first] = 1.0
        for step in range(n_steps + 1):
            assert_allclose(traces[:, step].mean(), law @ objective, atol=0.01)
            law = law @ matrix if step < n_steps else law
        # assignments with the components exchanged have one objective
        values, place = np.unique(objective.round(9), return_inverse=True)
        expected = np.bincount(place, law)
        seen = np.array([np.mean(np.abs(traces[:, -1] - v) < 1e-8) for v in values])
        assert_allclose(seen.sum(), 1.0)
        assert_allclose(seen, expected, atol=0.015)
        assert expected.max() < 0.9  # it does move about

    def test_the_best_that_was_seen_is_kept(self):
        search, params = make_search(make_rows())
        found = run_search(
            search, params, Rule("era"), tol=0.0, max_iter=60, rngs=generators(4)
        ).best
        tops = [max(trace) for trace in found.histories]
        assert_allclose(found.restarts["objective"], tops)
        assert found.restarts["kept"].sum() == 1
        assert np.array(tops)[found.restarts["kept"]] == max(tops)
        assert_allclose(search.mixture.e_step(found.params)[1], max(tops), rtol=1e-12)
        winner = found.histories[int(np.argmax(tops))]
        assert_allclose(found.history, np.maximum.accumulate(winner))
        assert np.any(np.diff(winner) < 0)


class _StepByStep(MixtureSearch):
    """The same problem without the loop that runs several iterations in one call."""

    def races(self, rule):
        return False


class TestSeveralStepsAtOnce:
    """One call of the compiled loop against assignment and M-step in turns."""

    @pytest.mark.parametrize("rule", [Rule("era"), Rule("anneal", (3.0, 0.2))])
    @pytest.mark.parametrize("strength", [0.0, 1.0])
    @pytest.mark.parametrize("holes", [False, True])
    def test_they_take_the_same_way(self, rule, strength, holes):
        weight = np.random.default_rng(2).choice([0.3, 1.0, 1.2], 40)
        rows = make_rows(holes=holes, weight=weight, strength=strength)
        found = []
        for kind in (MixtureSearch, _StepByStep):
            search, params = make_search(rows, n_components=3)
            found.append(
                run_search(
                    kind(search.mixture), params, rule, tol=0.0, max_iter=37, rngs=generators(4)
                ).best
            )
        ours, slow = found
        same = slow.restarts["reseeded"] == 0  # seeding anew draws numbers in between
        assert same.any()
        assert_array_equal(ours.restarts["reseeded"] == 0, same)
        for s in np.flatnonzero(same):
            assert_allclose(ours.histories[s], slow.histories[s], rtol=1e-10)
            assert_allclose(ours.restarts["objective"][s], slow.restarts["objective"][s])
        assert ours.restarts["n_iter"].tolist() == [37] * 4
        assert same.sum() >= 2
        if same.all():
            assert_allclose(ours.history[-1], slow.history[-1], rtol=1e-10)
        if same.all() and ours.order == slow.order:  # starts that end as well differ by rounding
            assert_allclose(ours.history, slow.history, rtol=1e-10)
            for one, other in zip(ours.params, slow.params, strict=True):
                assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_in_the_long_run_era_is_below_the_maximum_by_what_is_missing():
    """By half the sum of f / (1 + f), where f are the rates of EM (docs/explanation/mixture.md)."""
    rng = np.random.default_rng(3)
    x = rng.normal(5.0 * rng.integers(0, 2, 500), 1.0)

    def parts(place):
        share = np.array([place[0], 1 - place[0]])
        return share * norm.pdf(x[:, None], place[1:3], np.exp(place[3:]))

    def em(place):
        share = parts(place) / parts(place).sum(axis=1, keepdims=True)
        size = share.sum(axis=0)
        mean = share.T @ x / size
        square = (share * (x[:, None] - mean) ** 2).sum(axis=0) / size
        return np.r_[size[0] / len(x), mean, 0.5 * np.log(square)]

    top = np.array([0.5, 0.0, 5.0, 0.0, 0.0])
    for _ in range(100):
        top = em(top)
    steps = 1e-5 * np.eye(5)
    slopes = np.array([(em(top + step) - em(top - step)) / 2e-5 for step in steps])
    rates = np.linalg.eigvals(slopes).real
    model = LatentMixture(2, "era", prior=None, n_init=1, max_iter=4000, random_state=0)
    trace = 500 * np.array(model.fit(x[:, None]).traces_[0])[100:]
    loss = np.log(parts(top).sum(axis=1)).sum() - trace.mean()
    assert_allclose(loss, 0.5 * (rates / (1 + rates)).sum(), rtol=0.2)


class TestMonteCarloEM:
    """Several draws of a component per row."""

    def test_the_number_of_draws_grows_so_that_its_errors_can_be_summed(self):
        assert [Rule("mcem").n_draws(i) for i in range(4)] == [1, 4, 9, 16]
        assert Rule("era").n_draws(7) == 1

    @pytest.mark.parametrize("n_draws", [7, 10**6])
    def test_draws_scatter_about_the_posterior_as_they_should(self, n_draws):
        weight = np.random.default_rng(3).choice([0.2, 1.0, 3.0], 40)
        search, params = make_search(make_rows(weight=weight))
        params = search.m_step(search.assign(params, Chance(True, 1.0, generators(4)))[0])
        expected, objective = search.assign(params, Chance(True, 1.0, generators(4)))
        stats, same = search.assign(params, Chance(False, 1.0, generators(4, 5), n_draws))
        assert_allclose(same, objective, rtol=1e-12)
        problem = search.mixture
        variance = np.zeros((4, 3))
        for rows, part in problem.blocks:
            joint = product.log_density(flat_params(params), rows, problem.layout)
            share = np.exp(split_log(joint.reshape(-1, 4, 3) + params.log_weight)[0])
            size = (part**2 / (row_units(part) * n_draws))[:, None, None]
            variance += (size * share * (1 - share)).sum(axis=0)
        loose = variance > 1e-12  # in others every row is certain
        assert loose.sum() > 6
        assert_allclose(stats.row_weight[~loose], expected.row_weight[~loose], atol=1e-4)
        far = (stats.row_weight - expected.row_weight)[loose] / np.sqrt(variance[loose])
        assert np.abs(far).max() < 4.0
        assert 0.3 < np.sqrt(np.mean(far**2)) < 2.0

    def test_with_many_draws_a_step_is_that_of_em(self):
        search, params = make_search(make_rows(weight=np.repeat([1.0, 3.0], 20)))
        steps = [
            search.m_step(search.assign(params, chance)[0])
            for chance in (
                Chance(True, 1.0, generators(4)),
                Chance(False, 1.0, generators(4, 6), 10**8),
                Chance(False, 1.0, generators(4, 6), 10),
            )
        ]
        for exact, often, seldom in zip(*steps, strict=True):
            assert_allclose(often, exact, atol=2e-3)
            assert np.abs(seldom - exact).max() > 1e-2

    def test_it_ends_where_em_stands_still(self):
        search, params = make_search(make_rows(), n_starts=2)
        rule, rngs = Rule("mcem"), generators(2)
        found = run_search(search, params, rule, tol=0.0, max_iter=100, rngs=rngs).best
        best = found.params
        step = search.m_step(search.assign(best, Chance(True, 1.0, generators(1)))[0])
        for here, there in zip(best, step, strict=True):
            assert_allclose(here, there, atol=0.02)
        assert found.n_iter == 100


class TestSearch:
    def test_no_start_depends_on_another(self):
        search, params = make_search(make_rows(weight=np.repeat([1.0, 3.0], 20)))
        for rule in (Rule(search) for search in SEARCHES):
            together = run_search(search, params, rule, tol=1e-9, max_iter=30, rngs=generators(4))
            alone = run_search(
                search, take_starts(params, [2]), rule, tol=1e-9, max_iter=30,
                rngs=[generators(4)[2]],
            )  # fmt: skip
            ours, other = together.best.histories[2], alone.best.histories[0]
            assert len(ours) == len(other)
            assert_allclose(ours, other, rtol=1e-12)

    def test_kmeans_settles_and_its_own_objective_never_falls(self):
        search, params = make_search(make_rows(200, holes=False, strength=0.0, alpha=0.0))

        def own_objective(params):
            joint = product.log_density(flat_params(params), rows, search.mixture.layout)
            return (joint + params.log_weight).max(axis=1).sum()

        rows = product.ProductRows(
            *(np.concatenate([b[0][i] for b in search.mixture.blocks]) for i in (0, 1))
        )
        found = run_search(
            search, take_starts(params, [0]), Rule("kmeans"), tol=0.0, max_iter=100,
            rngs=generators(1), visit=lambda _: True,
        )  # fmt: skip
        assert found.best.converged
        assert found.best.n_iter < 100
        values = [own_objective(one) for one in found.visited]
        assert np.all(np.diff(values) >= -1e-9)
        last = found.visited[-1]
        again = search.m_step(search.assign(last, Chance(False, np.inf, generators(1)))[0])
        assert_allclose(again.mean, last.mean, atol=1e-9)

    def test_em_climbs_and_settles(self):
        search, params = make_search(make_rows(200))
        found = run_search(search, params, Rule("em"), tol=1e-9, max_iter=500, rngs=generators(4))
        assert found.best.converged
        assert all(np.all(np.diff(trace) >= -1e-10) for trace in found.best.histories)

    def test_lost_components_find_rows_again(self):
        rng = np.random.default_rng(5)
        numeric = np.r_[rng.normal(0, 1, 60), rng.normal(12, 1, 60)][:, None]
        rows = MixtureRows.measure(
            numeric, np.zeros((120, 0), np.int32), np.ones(120), np.array([], int),
            alpha=0.0, strength=1.0,
        )  # fmt: skip
        search, params = make_search(rows, n_components=2, n_starts=2)
        params.log_weight[:] = [-np.inf, 0.0]
        for rule in (Rule("era"), Rule("kmeans")):
            found = run_search(search, params, rule, tol=0.0, max_iter=40, rngs=generators(2)).best
            assert found.restarts["reseeded"].min() >= 1
            assert np.exp(found.params.log_weight[0]).min() > 0.03

    def test_components_on_equal_values_are_not_kept(self):
        numeric = np.r_[np.zeros(10), np.linspace(1, 9, 30)][:, None]
        rows = MixtureRows.measure(
            numeric, np.zeros((40, 0), np.int32), np.ones(40), np.array([], int),
            alpha=0.0, strength=0.0,
        )  # fmt: skip
        search, params = make_search(rows, n_components=2, n_starts=6)
        found = run_search(search, params, Rule("era"), tol=0.0, max_iter=200, rngs=generators(6))
        assert not collapsed(found.best.params, search.mixture.prior).any()
        assert found.best.restarts["reseeded"].sum() > 0

    def test_a_callback_stops_the_search(self):
        search, params = make_search(make_rows())
        found = run_search(
            search, params, Rule("era"), tol=0.0, max_iter=500, rngs=generators(4),
            on_iteration=lambda iteration, _: iteration == 7,
        )  # fmt: skip
        assert 7 <= found.best.n_iter < 60
        assert not found.best.converged


class TestLargeMixture:
    """EM's compiled E-step against the one of matrix products."""

    @pytest.mark.parametrize("holes", [False, True])
    @pytest.mark.parametrize("weights", ["ones", "mixed"])
    def test_it_gives_the_same(self, holes, weights):
        n_rows = 2 * RUN + 37
        weight = np.ones(n_rows)
        if weights == "mixed":
            weight = np.random.default_rng(3).choice([0.2, 1.0, 50.0], n_rows)
        search, params = make_search(make_rows(n_rows, holes=holes, weight=weight))
        stats, objective = search.mixture.e_step(params)
        for n_jobs in (1, 2):
            large = make_large(replace(search.mixture, n_jobs=n_jobs))
            found, value = large.e_step(params)
            assert_allclose(value, objective, rtol=1e-12)
            for ours, expected in zip(found, stats, strict=True):
                assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)

    def test_equal_values_keep_their_digits(self):
        """A component on values that differ in the tenth digit: matrix products take over."""
        numeric = np.r_[0.8 + 1e-10 * np.arange(300.0), -1.0, 1.0, 0.1, 0.1][:, None]
        rows = MixtureRows.measure(
            numeric, np.zeros((304, 0), np.int32), np.ones(304), np.array([], int),
            alpha=0.0, strength=1.0,
        )  # fmt: skip
        search, params = make_search(rows, n_components=2, n_starts=1)
        params.mean[0, :, 0], params.scale[0] = [0.8, 0.0], [[0.01], [0.5]]
        stats, _ = make_large(search.mixture).e_step(params)
        expected, _ = search.mixture.e_step(params)
        assert_allclose(stats.scatter, expected.scatter, rtol=1e-9)

    def test_rows_that_nothing_can_have_made_are_even(self):
        search, params = make_search(make_rows(alpha=0.0))
        params.log_prob[:, :, 0] = -np.inf
        stats, objective = make_large(search.mixture).e_step(params)
        assert_allclose(stats.row_weight.sum(axis=1), 40.0)
        assert np.all(objective == -np.inf)


class TestJoinedRows:
    def join(self, numeric, codes, weight, y=None):
        y = np.zeros(len(weight), dtype=np.intp) if y is None else y
        rows, first = join_rows(numeric, codes, y, weight, N_LEVELS, 3)
        return rows, numeric[first], codes[first]

    @pytest.fixture
    def table(self):
        rng = np.random.default_rng(0)
        numeric = rng.integers(0, 3, (50, 2)).astype(float)
        numeric[rng.random(numeric.shape) < 0.2] = np.nan
        codes = np.stack([rng.integers(-1, 3, 50), rng.integers(-1, 2, 50)], axis=1)
        return numeric, codes.astype(np.int32), np.ones(50)

    def test_nothing_is_lost(self, table):
        numeric, codes, _ = table
        rows, values, levels = self.join(*table)
        assert_array_equal(values[rows.number], numeric)
        assert_array_equal(levels[rows.number], codes)
        assert rows.weight.sum() == 50
        assert len(np.unique(np.c_[values, levels], axis=0)) == len(values) < 50

    def test_order_of_rows_and_copies_do_not_matter(self, table):
        numeric, codes, weight = table
        expected, values, levels = self.join(numeric, codes, 2 * weight)
        turned = np.random.default_rng(1).permutation(np.repeat(np.arange(50), 2))
        rows, other, others = self.join(numeric[turned], codes[turned], np.ones(100))
        assert_array_equal(other, values)
        assert_array_equal(others, levels)
        assert_array_equal(rows.weight, expected.weight)

    def test_units_columns_and_constants_do_not_matter(self, table):
        numeric, codes, weight = table
        _, values, _ = self.join(numeric, codes, weight)
        other = np.c_[1e6 * numeric[:, ::-1] + 7, np.full(50, 3.0)]
        _, found, _ = self.join(other, codes, weight)
        assert_allclose((found[:, 1::-1] - 7) / 1e6, values, atol=1e-9)

    def test_names_of_the_classes_do_not_matter(self, table):
        numeric, codes, weight = table
        y = np.random.default_rng(2).choice(3, 50, p=[0.2, 0.3, 0.5])
        rows, values, _ = self.join(numeric, codes, weight, y)
        other, found, _ = self.join(numeric, codes, weight, 2 - y)
        assert_array_equal(found, values)
        assert_array_equal(2 - other.y, rows.y)
