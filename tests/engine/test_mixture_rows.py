"""Rows of a mixture: equal rows joined, and the prior, starts and density of a mixture of them."""

import numpy as np
import product_reference as reference
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.engine import _mixture_rows as mixture_rows
from latentclass.engine import _product as product
from latentclass.engine._mixture_rows import MixtureRows, join_rows

N_LEVELS = np.array([3, 2])


def make_table(n_rows=90, seed=0):
    """Rounded values and few levels, so that some rows are equal; some cells are missing."""
    rng = np.random.default_rng(seed)
    numeric = np.column_stack([rng.integers(0, 2, n_rows), rng.integers(0, 3, n_rows) ** 2]) * 1.0
    codes = rng.integers(-1, N_LEVELS, (n_rows, 2)).astype(np.int32)
    numeric[rng.random(numeric.shape) < 0.1] = np.nan
    return numeric, codes, rng.integers(0, 2, n_rows), rng.integers(1, 4, n_rows).astype(float)


class TestJoin:
    def test_weights_are_those_of_a_dictionary(self):
        numeric, codes, y, weight = make_table()
        expected, place = {}, {}
        for i in range(90):
            row = (*np.nan_to_num(numeric[i], nan=-99).tolist(), *codes[i].tolist(), int(y[i]))
            expected[row] = expected.get(row, 0.0) + weight[i]
            place.setdefault(row, i)
        assert len(expected) < 90
        rows, first = join_rows(numeric, codes, y, weight, N_LEVELS, 0)
        assert len(first) == len(expected)
        for number, i in enumerate(first):
            row = (*np.nan_to_num(numeric[i], nan=-99).tolist(), *codes[i].tolist(), int(y[i]))
            assert place[row] == i
            assert_allclose(rows.weight[number], expected[row])
            assert rows.y[number] == y[i]
        assert_array_equal(np.nan_to_num(numeric[first[rows.number]]), np.nan_to_num(numeric))
        assert_array_equal(codes[first[rows.number]], codes)

    def test_rows_are_sorted_by_hash_and_then_by_the_weight_of_the_class(self):
        rows, _ = join_rows(*make_table(), N_LEVELS, 0)
        by_class = np.bincount(rows.y, rows.weight)
        order = list(zip(rows.key.tolist(), by_class[rows.y].tolist(), strict=True))
        assert order == sorted(order)
        assert len(set(rows.key.tolist())) < len(order)  # a row that both classes have

    @pytest.mark.parametrize("unit", [1e3, 1e-200, 1e200])
    def test_the_order_does_not_depend_on_how_the_table_is_written(self, unit):
        numeric, codes, y, weight = make_table()
        rows, _ = join_rows(numeric, codes, y, weight, N_LEVELS, 0)
        turned = np.random.default_rng(1).permutation(90)
        copies = np.repeat(turned, weight[turned].astype(int))
        constant = np.full((len(copies), 1), 4.0)
        other = np.hstack([constant, unit * (numeric[copies][:, ::-1] - 7.0)])
        again, _ = join_rows(
            other, codes[copies][:, ::-1], y[copies], np.ones(len(copies)), N_LEVELS[::-1], 0
        )
        assert_array_equal(again.number, rows.number[copies])
        assert_array_equal(again.key, rows.key)
        assert_allclose(again.weight, rows.weight)

    def test_the_seed_changes_the_order(self):
        table = make_table()
        one, other = (join_rows(*table, N_LEVELS, seed)[0] for seed in (0, 1))
        assert not np.array_equal(one.number, other.number)

    def test_a_table_without_columns_has_one_row_per_class(self):
        nothing = np.empty((4, 0))
        rows, first = join_rows(
            nothing, nothing.astype(np.int32), np.array([0, 1, 1, 0]), np.ones(4), N_LEVELS[:0], 0
        )
        assert sorted(rows.y.tolist()) == [0, 1]
        assert sorted(first.tolist()) == [0, 1]
        assert rows.weight.tolist() == [2.0, 2.0]


class TestMixtureRows:
    @pytest.fixture
    def table(self):
        numeric, codes, _, weight = make_table()
        numeric = np.column_stack([numeric * [1.0, 1e6], np.full(90, 3.0)])  # the last is constant
        return numeric, codes, weight

    @pytest.fixture
    def data(self, table):
        return MixtureRows.measure(*table, N_LEVELS, alpha=0.5, strength=2.0)

    def test_the_prior_has_the_mean_and_variance_of_the_columns(self, table, data):
        numeric, _, weight = table
        assert (data.prior.alpha, data.prior.strength) == (0.5, 2.0)
        for j, column in enumerate(numeric.T):
            seen = [(v, w) for v, w in zip(column, weight, strict=True) if not np.isnan(v)]
            total = sum(w for _, w in seen)
            mean = sum(w * v for v, w in seen) / total
            variance = sum(w * (v - mean) ** 2 for v, w in seen) / total
            unit = data.layout.unit[j]
            assert_allclose(data.prior.mean[j] * unit + data.layout.centre[j], mean, rtol=1e-12)
            assert_allclose(data.prior.variance[j] * unit**2, variance, rtol=1e-10)

    def test_values_lie_between_minus_one_and_one(self, table, data):
        assert np.nanmin(data.rows.numeric, axis=0).tolist() == [-1.0, -1.0, 0.0]
        assert np.nanmax(data.rows.numeric, axis=0).tolist() == [1.0, 1.0, 0.0]
        back = data.rows.numeric * data.layout.unit + data.layout.centre
        assert_allclose(back, table[0], rtol=1e-12, atol=1e-9)

    def test_selected_rows_keep_units_and_prior(self, data):
        keep = np.arange(90) % 3 == 0
        some = data.take(keep, np.full(30, 7.0))
        assert_array_equal(some.rows.numeric, data.rows.numeric[keep])
        assert_array_equal(some.rows.codes, data.rows.codes[keep])
        assert some.weight.tolist() == [7.0] * 30
        assert some.prior is data.prior
        assert some.layout is data.layout

    def test_blocks_of_the_problem_are_the_rows(self, data):
        problem = data.problem(2, [slice(0, 40), slice(40, 90)])
        assert [len(weight) for _, weight in problem.blocks] == [40, 50]
        together = np.concatenate([rows.codes for rows, _ in problem.blocks])
        assert_array_equal(together, data.rows.codes)
        assert problem.total_weight == data.weight.sum()
        assert problem.known_rows.tolist() == [0.0, 0.0]

    def test_starts_are_the_same_however_many_are_made_at_once(self, data, monkeypatch):
        problem = data.problem(3, [slice(0, 90)])

        def starts():
            return data.starts(problem, [np.random.default_rng(s) for s in range(5)])

        together = starts()
        monkeypatch.setattr(mixture_rows, "START_VALUES", 1)
        for one, other in zip(starts(), together, strict=True):
            assert one.shape[0] == 5
            assert_allclose(one, other, rtol=1e-12)
        assert_allclose(np.exp(together.log_weight).sum(axis=1), 1.0, rtol=1e-12)

    def test_the_density_is_that_of_the_first_start_cell_by_cell(self, table, data):
        problem = data.problem(2, [slice(0, 90)])
        params = data.starts(problem, [np.random.default_rng(s) for s in range(2)])
        numeric, codes, _ = table
        mean = params.mean[0] * data.layout.unit + data.layout.centre
        tables = np.split(np.exp(params.log_prob[0]), data.layout.offsets[1:-1], axis=1)
        by_component = reference.log_density(
            mean,
            params.scale[0] * data.layout.unit,
            [[table[k] for table in tables] for k in range(2)],
            numeric,
            codes,
        )
        expected = np.log(np.exp(by_component) @ np.exp(params.log_weight[0]))
        assert_allclose(data.log_density(params), expected, rtol=1e-9)

    def test_free_parameters_are_counted(self, data):
        # two columns that vary: mean and variance; 2 + 1 free probabilities
        assert data.n_parameters_each == 2 * 2 + 2 + 1

    def test_a_column_without_values_has_no_parameters(self):
        numeric = np.column_stack([np.arange(4.0), np.full(4, np.nan)])
        codes = np.empty((4, 0), dtype=np.int32)
        data = MixtureRows.measure(
            numeric, codes, np.ones(4), N_LEVELS[:0], alpha=0.0, strength=0.0
        )
        assert data.prior.variance[1] == 0.0
        assert data.n_parameters_each == 2
        assert isinstance(data.rows, product.ProductRows)
