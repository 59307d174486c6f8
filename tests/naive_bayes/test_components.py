"""Components of independent columns: each answer against sums over cells, and refused arrays."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from latentclass.data._schema import Block, Table
from latentclass.engine._product import Layout, Params
from latentclass.naive_bayes._components import ProductComponents

LAYOUT = Layout(np.array([10.0, 0.0]), np.array([2.0, 1.0]), np.array([0, 3, 3, 5]))
"""Two continuous columns; discrete ones of three levels, none, and two."""

PARAMS = Params(
    np.array([[-0.5, 0.0], [0.5, 0.0]]),
    np.array([[0.5, 1.0], [0.25, 1.0]]),
    np.log([[0.2, 0.3, 0.5, 0.9, 0.1], [0.6, 0.3, 0.1, 0.4, 0.6]]),
)


@pytest.fixture
def components():
    """The second continuous column was never observed."""
    return ProductComponents(PARAMS, LAYOUT, np.array([True, False]))


def test_parameters_are_in_the_units_of_the_data(components):
    assert components.n_components == 2
    assert_allclose(components.centres[:, 0], [9.0, 11.0])
    assert_allclose(components.widths[:, 0], [1.0, 0.5])
    tables = [np.exp(table) for table in components.level_log_probs]
    assert_allclose(tables[0], [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    assert tables[1].shape == (2, 0)
    assert_allclose(tables[2], [[0.9, 0.1], [0.4, 0.6]])


def test_the_density_is_the_product_over_observed_cells(components):
    numeric = np.array([[8.5, np.nan], [np.nan, np.nan]])
    codes = np.array([[2, -1, 1], [-1, -1, 0]], dtype=np.int32)
    found = np.exp(components.log_density(Block(numeric, codes)))
    first = [norm.pdf(8.5, 9, 1) * 0.5 * 0.1, norm.pdf(8.5, 11, 0.5) * 0.1 * 0.6]
    assert_allclose(found, [first, [0.9, 0.4]], rtol=1e-12)


def test_samples_have_the_frequencies_of_the_component(components):
    table = components.sample_table(np.repeat([0, 1], 20_000), np.random.default_rng(0))
    for k, rows in enumerate([slice(0, 20_000), slice(20_000, None)]):
        assert_allclose(table.numeric[rows, 0].mean(), components.centres[k, 0], atol=0.03)
        assert_allclose(table.numeric[rows, 0].std(), components.widths[k, 0], atol=0.02)
        for place in (0, 2):
            expected = np.exp(components.level_log_probs[place][k])
            share = np.bincount(table.codes[rows, place]) / 20_000
            assert_allclose(share, expected, atol=0.015)
    assert np.isnan(table.numeric[:, 1]).all()  # a column that was never observed
    assert np.all(table.codes[:, 1] == -1)


def test_expected_cells_are_means_and_most_probable_levels(components):
    filled = components.expected_cells(np.array([[0.5, 0.5], [0.1, 0.9]]))
    assert_allclose(filled.numeric[:, 0], [10.0, 10.8])
    # (0.4, 0.3, 0.3) and (0.56, 0.3, 0.14); (0.65, 0.35) and (0.45, 0.55)
    assert_array_equal(filled.codes, [[0, -1, 0], [0, -1, 1]])


def test_the_best_cells_are_the_modes_of_the_best_component(components):
    nothing = Table(np.full((2, 2), np.nan), np.full((2, 3), -1, dtype=np.int32))
    joint = np.log([[0.5, 0.5], [0.9, 0.1]])
    filled = components.best_cells(nothing, joint, components.peaks())
    # modes of the components: 0.5 * 0.9 / 1.0 and 0.6 * 0.6 / 0.5
    assert_allclose(filled.numeric[:, 0], [11.0, 9.0])
    assert_array_equal(filled.codes[:, [0, 2]], [[0, 1], [2, 0]])


def test_missing_levels_count_by_their_largest_probability(components):
    table = Table(np.array([[10.0, 0.0]]), np.full((1, 3), -1, dtype=np.int32))
    # 0.45 * 0.5 * 0.9 is more than 0.55 * 0.6 * 0.6
    filled = components.best_cells(table, np.log([[0.45, 0.55]]), components.peaks())
    assert_array_equal(filled.codes[:, [0, 2]], [[2, 0]])


def test_missing_cells_are_filled_with_one_components_modes(components):
    rows = Block(np.array([[np.nan, np.nan]]), np.array([[1, -1, -1]], dtype=np.int32))
    filled = components.fill_with_modes(rows, 1)
    assert filled.numeric[0, 0] == 11.0
    assert np.isnan(filled.numeric[0, 1])
    assert_array_equal(filled.codes, [[1, -1, 1]])


class TestValue:
    def test_it_is_frozen(self, components):
        with pytest.raises(FrozenInstanceError):
            components.params = PARAMS

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"mean": np.zeros((2, 3))}, r"^mean has shape \(2, 3\)"),
            ({"scale": np.ones((3, 2))}, r"^scale has shape \(3, 2\)"),
            ({"log_prob": np.zeros((2, 4))}, r"^log_prob has shape \(2, 4\)"),
            ({"mean": np.full((2, 2), np.nan)}, r"^mean has NaN in it"),
            (
                {"scale": np.zeros((2, 2))},
                r"^scale must be above 0 everywhere, but",
            ),
            ({"log_prob": np.zeros((2, 5))}, r"^log_prob of discrete column 0 must be prob"),
        ],
    )
    def test_bad_parameters_are_refused(self, changes, words):
        with pytest.raises(ValueError, match=words):
            ProductComponents(PARAMS._replace(**changes), LAYOUT, np.array([True, True]))

    def test_a_bad_layout_is_refused(self):
        with pytest.raises(ValueError, match=r"^unit must be above 0"):
            ProductComponents(PARAMS, LAYOUT._replace(unit=np.zeros(2)), np.array([True, True]))
        with pytest.raises(ValueError, match=r"^observed has shape \(1,\)"):
            ProductComponents(PARAMS, LAYOUT, np.array([True]))
