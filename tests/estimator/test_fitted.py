"""`FittedModel`: what follows from a model's answers, and the checks of its arrays."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.data._schema import Table
from latentclass.estimator._fitted import (
    FitRecord,
    FittedModel,
    Learned,
    check_distribution,
    check_no_nan,
    check_shape,
)


@dataclass(frozen=True, eq=False)
class Coins(FittedModel):
    """Classes are coins; the cells of a row are flips, 1 for heads, -1 for not flipped."""

    class_prior: np.ndarray
    heads: np.ndarray

    def __post_init__(self):
        check_shape("heads", self.heads, (len(self.class_prior),))

    def log_likelihood(self, block):
        n_heads, n_tails = ((block.codes == side).sum(axis=1)[:, None] for side in (1, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            heads = np.where(n_heads, n_heads * np.log(self.heads), 0.0)
            return heads + np.where(n_tails, n_tails * np.log1p(-self.heads), 0.0)

    def sample_table(self, y, rng):
        raise NotImplementedError

    expected_cells = most_probable_cells = sample_table


@pytest.fixture
def coins():
    return Coins(np.array([0.25, 0.75]), np.array([0.9, 0.5]))


@pytest.fixture
def flips():
    codes = np.array([[1, 1, 0], [1, -1, -1], [-1, -1, -1]], dtype=np.int32)
    return Table(np.empty((3, 0)), codes)


LIKELIHOOD = np.array([[0.9 * 0.9 * 0.1, 0.125], [0.9, 0.5], [1.0, 1.0]])


class TestWhatFollows:
    def test_evidence_and_density_are_sums_of_the_joint(self, coins, flips):
        assert_allclose(np.exp(coins.evidence(flips, None)), LIKELIHOOD, rtol=1e-12)
        density = LIKELIHOOD @ [0.25, 0.75]
        assert_allclose(np.exp(coins.log_density(flips, None)), density, rtol=1e-12)

    def test_posterior_is_bayes_rule(self, coins, flips):
        found = np.exp(coins.log_posterior(flips, coins.log_prior, 1.0, None))
        joint = LIKELIHOOD * [0.25, 0.75]
        assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_the_temperature_divides_the_evidence_alone(self, coins, flips):
        found = np.exp(coins.log_posterior(flips, np.log([0.5, 0.5]), 2.0, None))
        joint = np.sqrt(LIKELIHOOD)
        assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_an_impossible_row_has_the_prior(self, flips):
        sure = Coins(np.array([0.25, 0.75]), np.array([0.0, 0.0]))
        found = np.exp(sure.log_posterior(flips, sure.log_prior, 1.0, None))
        assert_allclose(found[0], [0.25, 0.75])

    def test_blocks_and_threads_change_nothing(self, coins):
        codes = np.random.default_rng(0).integers(-1, 2, (40_000, 3)).astype(np.int32)
        table = Table(np.empty((40_000, 0)), codes)
        assert len(coins.spans(table)) > 1
        at_once = coins.log_likelihood(table.block(slice(None)))
        assert_array_equal(coins.evidence(table, None), at_once)
        assert_array_equal(coins.evidence(table, 2), at_once)

    def test_a_class_without_rows_has_no_prior(self):
        none = Coins(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
        assert_array_equal(none.log_prior, [-np.inf, 0.0])
        assert none.n_classes == 2

    def test_the_class_is_the_latent_variable_where_there_is_no_other(self, coins, flips):
        posterior = np.full((3, 2), 0.5)
        assert coins.latent(flips, lambda table: posterior, None) is posterior  # noqa: ARG005
        assert coins.latent_names(["a", "b"], ["x", "y", "z"]) == ["a", "b"]


class TestValues:
    def test_they_are_frozen(self, coins):
        record = FitRecord([0.0], 1, True, {}, -3.0)
        for value, name in [
            (coins, "heads"),
            (record, "n_iter"),
            (Learned(coins, record), "model"),
        ]:
            with pytest.raises(FrozenInstanceError):
                setattr(value, name, None)

    def test_a_model_of_bad_arrays_cannot_be_made(self):
        with pytest.raises(ValueError, match=r"^heads has shape \(3,\), but the model"):
            Coins(np.array([0.5, 0.5]), np.full(3, 0.5))

    def test_a_model_must_give_all_answers(self):
        class Partial(FittedModel):
            def log_likelihood(self, block):
                return block

        with pytest.raises(TypeError, match="abstract"):
            Partial()


class TestChecks:
    def test_shape(self):
        check_shape("a", np.zeros((2, 5)), (2, None))
        for shape in [(2,), (3, None), (2, None, None)]:
            with pytest.raises(ValueError, match=r"^a has shape"):
                check_shape("a", np.zeros((2, 5)), shape)

    def test_nan(self):
        check_no_nan("a", np.array([1.0, -np.inf]))
        with pytest.raises(ValueError, match=r"^a has NaN in it"):
            check_no_nan("a", np.array([1.0, np.nan]))

    @pytest.mark.parametrize("wrong", [[0.5, 0.4], [1.5, -0.5], [np.nan, 1.0]])
    def test_distribution(self, wrong):
        check_distribution("a", np.array([[0.5, 0.5], [0.0, 1.0]]))
        with pytest.raises(ValueError, match=r"^a must be probabilities that sum to 1"):
            check_distribution("a", np.array([[0.5, 0.5], wrong]))
