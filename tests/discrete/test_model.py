"""A fitted value of discrete columns: its checks, and its answers against enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from latentclass import baselines
from latentclass.data._schema import Table
from latentclass.discrete import _model
from latentclass.discrete._bins import learn_bins
from latentclass.discrete._coding import Coding, code_rows
from latentclass.discrete._model import DiscreteModel
from latentclass.discrete._network import Structure
from latentclass.discrete._network_model import NetworkModel
from latentclass.estimator._fitted import FittedModel

PRIOR = np.array([0.3, 0.7])


@pytest.fixture
def model():
    """A word of three kinds, a number in three bins that depends on it, and a constant word."""
    rng = np.random.default_rng(0)
    bins = learn_bins(rng.normal(size=60), np.ones(60), np.array([-0.5, 0.6]))
    coding = Coding((bins,), (3, 1), ((False, 0), (True, 0)), (0, 1))
    structure = Structure((3, 3), ((), (0,)), (True, True))
    theta = rng.dirichlet(np.ones(3), size=(2, structure.n_entries // 3)).reshape(2, -1)
    return NetworkModel(PRIOR, coding, structure, np.log(theta))


def make_table(words, numbers):
    codes = np.array([[word, 0] for word in words], dtype=np.int32)
    return Table(np.array(numbers, dtype=float)[:, None], codes)


def level_joint(model):
    """P(word, bin, class) of every combination, shape (3, 3, 2)."""
    codes = np.array(list(product(range(3), range(3))), dtype=np.int32)
    return (np.exp(model.code_log_likelihood(codes)) * PRIOR).reshape(3, 3, 2)


def test_without_each_column_is_the_row_with_that_cell_missing(model):
    """Columns of a single level too, and a number far outside, which hides all others."""
    block = make_table([0, 1, -1, 2, 2], [0.1, np.nan, -3.0, 0.6, 1e60]).block(slice(None))
    found = model.without_each(block, block.shown)
    expected = FittedModel.without_each(model, block, block.shown)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    codes = model.coding.encode(block)
    assert_allclose(
        DiscreteModel.code_without_each(model, codes),
        model.code_without_each(codes),
        rtol=1e-12,
        atol=1e-12,
    )


class TestChecks:
    @pytest.mark.parametrize(
        ("prior", "message"),
        [
            (
                [0.3, 0.6],
                r"class_prior must be probabilities .* but they sum to \[0.9\]",
            ),
            ([np.nan, 1.0], "class_prior has NaN in it"),
            ([[0.3, 0.7]], r"class_prior has shape \(1, 2\), but the model needs \(None,\)"),
        ],
    )
    def test_a_wrong_prior_is_refused(self, model, prior, message):
        with pytest.raises(ValueError, match=message):
            replace(model, class_prior=np.array(prior))

    def test_wrong_tables_are_refused(self, model):
        with pytest.raises(ValueError, match=r"log_theta has shape \(2, 11\), but .* \(2, 12\)"):
            replace(model, log_theta=model.log_theta[:, 1:])
        with pytest.raises(ValueError, match="log_theta must be probabilities that sum to 1"):
            replace(model, log_theta=model.log_theta + 0.1)

    def test_nothing_can_be_set(self, model):
        with pytest.raises(AttributeError):
            model.class_prior = PRIOR


class TestAnswers:
    def test_the_density_integrates_to_one_over_words_and_numbers(self, model):
        grid = np.linspace(-8, 8, 40_001)
        total = 0.0
        for word in range(3):
            table = make_table([word] * len(grid), grid)
            density = np.exp(model.log_likelihood(table.block(slice(None))))
            total = total + density.sum(axis=0) * (grid[1] - grid[0])
        assert_allclose(total, [1.0, 1.0], atol=1e-3)

    def test_own_class_is_the_column_of_the_class(self, model):
        codes = np.array([[0, 1], [2, -1], [-1, -1]], dtype=np.int32)
        y = np.array([1, 0, 1])
        every = model.code_log_likelihood(codes)
        assert_allclose(model.own_code_log_likelihood(codes, y), every[[0, 1, 2], y])
        own = DiscreteModel.own_code_log_likelihood(model, codes, y)
        assert_allclose(own, every[[0, 1, 2], y])

    def test_the_total_counts_labels_weights_and_rows_without_label(self, model):
        table = make_table([0, 2, 1], [0.1, np.nan, -2.0])
        y, weight = np.array([1, -1, 0]), np.array([1.0, 2.0, 0.5])
        rows = code_rows(model.coding, table, y, weight, 2)
        joint = np.exp(model.evidence(table, None)) * PRIOR
        expected = np.log(joint[0, 1]) + 2 * np.log(joint[1].sum()) + 0.5 * np.log(joint[2, 0])
        assert_allclose(model.total_log_likelihood(rows, table, weight), expected)

    def test_expected_cells_are_means_and_most_probable_words(self, model):
        table = make_table([-1, 1, 2], [0.1, np.nan, 0.3])
        filled = model.expected_cells(table, lambda _: np.tile(PRIOR, (3, 1)), None)
        joint = level_joint(model)
        by_word = (joint[:, 1] / joint[:, 1].sum(axis=0)) @ PRIOR
        assert filled.codes[0, 0] == by_word.argmax()
        share = (joint[1] / joint[1].sum(axis=0)) @ PRIOR
        assert_allclose(filled.numeric[1, 0], share @ model.coding.bins[0].mean)

    def test_a_table_without_holes_needs_no_posterior(self, model):
        def never(_):
            raise AssertionError

        model.expected_cells(make_table([0, 1], [0.1, 2.0]), never, None)

    @pytest.mark.parametrize("limit", [4096, 0])
    def test_most_probable_cells_are_the_best_of_all(self, model, limit, monkeypatch):
        monkeypatch.setattr(_model, "MAX_COMPLETIONS", limit)
        value = level_joint(model).max(axis=2) * np.exp(model.coding.bins[0].peak)
        word, level = np.unravel_index(value.argmax(), value.shape)
        for kind in (type(model), DiscreteModel):  # exact in turn, and all completions tried
            codes = kind.most_probable_codes(model, np.array([[-1, -1]], dtype=np.int32))
            assert codes.tolist() == [[word, level]]
        filled = model.most_probable_cells(make_table([-1], [np.nan]), None)
        assert filled.codes.tolist() == [[word, 0]]
        assert filled.numeric[0, 0] == model.coding.bins[0].mode[level]

    def test_samples_have_the_model_s_shares(self, model):
        y = np.repeat([0, 1], 20_000)
        drawn = model.coded(model.sample_table(y, np.random.default_rng(1)))
        joint = level_joint(model) / PRIOR
        for k in range(2):
            found = np.zeros((3, 3))
            np.add.at(found, tuple(drawn[y == k].T), 1 / 20_000)
            assert_allclose(found, joint[:, :, k], atol=0.02)


class TestOneDependence:
    @pytest.mark.parametrize("name", ["AODE", "HiddenNaiveBayes"])
    def test_tables_of_another_size_are_refused_and_own_class_agrees(self, name):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 3, (60, 3))
        y = (codes[:, 0] + rng.integers(0, 2, 60)) % 2
        value = getattr(baselines, name)(categorical_features=[0, 1, 2]).fit(codes, y)._model
        tables = value.tables
        field = "log_child" if name == "AODE" else "mixed"
        wrong = tables._replace(**{field: getattr(tables, field)[1:]})
        with pytest.raises(ValueError, match=rf"{field} has shape \(8, 9, 2\), but"):
            replace(value, tables=wrong)
        rows = np.where(rng.random(codes.shape) < 0.2, -1, codes).astype(np.int32)
        own = value.own_code_log_likelihood(rows, y)
        assert_allclose(own, value.code_log_likelihood(rows)[np.arange(60), y], rtol=1e-12)
