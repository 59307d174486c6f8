"""Columns on their way into the mixed model and back."""

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

from latentclass.data._schema import Block, Table
from latentclass.engine._power_transform import learn_power_transform
from latentclass.estimator._gaussian_model import Scaling
from latentclass.lcm._hybrid_columns import HybridColumns
from latentclass.lcm._logistic_bound import dense_signs
from latentclass.lcm._stick_breaking import StickBreaking

NAN = np.nan


def make_columns(rng):
    """A column with a long tail, a constant one, and columns of 3, 1 and 2 categories."""
    varies = np.array([True, False])
    power = learn_power_transform(np.exp(rng.normal(size=(1, 200))), np.ones(200))
    scaling = Scaling(varies, ~varies, np.array([2.0, 5.0]), np.array([3.0, 1.0]), power)
    sticks = StickBreaking((np.array([2, 0, 1]), np.array([0]), np.array([1, 0])))
    return HybridColumns(scaling, sticks)


def test_cells_become_values_and_answers():
    columns = make_columns(np.random.default_rng(0))
    codes = np.array([[2, 0, 1], [0, 0, 0], [1, -1, -1], [-1, 0, 1]], dtype=np.int32)
    numeric = np.array([[2.0, 5.0], [NAN, 5.0], [5.0, NAN], [-1.0, 6.0]])
    rows = columns.block_rows(Block(numeric, codes))
    # of the first column: is it 2? if not, is it 0?
    assert rows.signs.T.tolist() == [[1, 0, 1], [-1, 1, -1], [-1, -1, 0], [0, 0, 1]]
    standardised = np.array([[0.0, NAN, 1.0, -1.0]])
    assert_allclose(columns.scaling.standardised(numeric).T, standardised)
    assert_allclose(rows.values, columns.scaling.power.apply(standardised))
    assert_allclose(columns.scaling.restore(rows.values.T)[:, 0], numeric[:, 0], rtol=1e-12)
    assert (columns.n_gaussian, columns.n_logistic) == (1, 3)
    assert columns.n_levels.tolist() == [3, 1, 2]
    assert columns.blank_codes(2).tolist() == [[-1, 0, -1], [-1, 0, -1]]


def test_the_density_outside_is_the_slope_of_the_transform():
    scaling = make_columns(np.random.default_rng(1)).scaling
    numeric = np.array([[0.5, NAN], [4.0, NAN], [30.0, NAN]])
    step = np.array([1e-5, 0.0])
    slope = (scaling.values(numeric + step) - scaling.values(numeric - step))[:, 0] / 2e-5
    found = scaling.log_density_outside(numeric)
    assert_allclose(found, np.log(slope), atol=1e-6)


def test_probabilities_of_categories_sum_to_one_and_follow_the_questions():
    columns = make_columns(np.random.default_rng(2))
    logits = np.array([[0.3, -1.0, 2.0]])
    (first, three), (last, two) = columns.categories(logits)
    assert (first, last) == (0, 2)
    yes = 1 / (1 + np.exp(-logits[0]))
    expected = [(1 - yes[0]) * yes[1], (1 - yes[0]) * (1 - yes[1]), yes[0]]
    assert_allclose(np.exp(three[0]), expected)
    assert_allclose(np.exp(two[0]), [1 - yes[2], yes[2]])


def test_sparse_rows_stay_sparse():
    columns = HybridColumns(
        Scaling(*(np.empty(0, dtype=t) for t in (bool, bool, float, float))),
        StickBreaking((np.array([1, 0]), np.array([1, 0]))),
    )
    bits = np.array([[1, 0], [0, 0], [1, 1]])
    table = Table(np.empty((3, 0)), sp.csr_array(bits))
    rows = columns.rows(table, slice(0, 2))
    assert sp.issparse(rows.signs)
    assert dense_signs(rows.signs).T.tolist() == (2 * bits[:2] - 1).tolist()
