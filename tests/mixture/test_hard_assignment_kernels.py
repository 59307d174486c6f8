"""Loops that give each row to one component, against one row at a time."""

import numpy as np
import pytest
from mixture_reference import (
    draw,
    log_joint,
    log_likelihood,
    make_rows,
    make_starts,
    pack,
    posterior,
    statistics,
)
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.mixture._hard_assignment_kernels import assign_rows, finish_sums, sum_rows
from latentclass.mixture._padded_rows import RUN, log_constants, with_place
from latentclass.mixture._responsibility_kernels import SPACE

N_ROWS = RUN + 37


@pytest.fixture
def data():
    """Rows with missing cells; some stand for several."""
    return make_rows(N_ROWS, weight=np.random.default_rng(3).choice([0.2, 1.0, 3.0], N_ROWS))


@pytest.mark.parametrize("sharpness", [1.0, 0.4, 3.0, np.inf])
def test_components_are_drawn_from_the_posterior_to_a_power(data, sharpness):
    rows, params = pack(data), make_starts(data)
    chance = np.random.default_rng(4).random(N_ROWS)
    component = np.empty(N_ROWS, dtype=np.int32)
    heavy_share = np.empty((len(rows.heavy), 3))
    for s in range(2):
        found = assign_rows(
            rows, with_place(params), log_constants(rows, params)[s], s, chance, sharpness,
            component, heavy_share, np.empty((6 + SPACE, RUN)),
        )  # fmt: skip
        joint = log_joint(data, params, s)
        assert_allclose(found, log_likelihood(data, joint), rtol=1e-12)
        if sharpness == np.inf:
            assert_array_equal(component, joint.argmax(axis=1))
            share = np.eye(3)[joint.argmax(axis=1)]
        else:
            share = posterior(sharpness * (joint - joint.max(axis=1, keepdims=True)))
            assert_array_equal(component, draw(share, chance))
        assert_allclose(heavy_share, share[rows.heavy], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("holes", [False, True])
def test_sums_are_those_of_each_components_rows(holes):
    weight = np.random.default_rng(3).choice([0.2, 1.0, 3.0], N_ROWS)
    data = make_rows(N_ROWS, holes=holes, weight=weight)
    rows, rng = pack(data), np.random.default_rng(5)
    component = rng.integers(0, 3, N_ROWS).astype(np.int32)
    heavy_weight = rng.dirichlet(np.ones(3), len(rows.heavy)) * 3.0
    row_weight, sums = np.empty(3), np.empty((3, rows.powers.shape[1]))
    counts = np.empty((3, 6))
    sum_rows(rows, component, heavy_weight, row_weight, sums, counts)
    seen, mean, scatter = (np.empty((3, 3)) for _ in range(3))
    finish_sums(rows, component, heavy_weight, row_weight, sums, seen, mean, scatter)
    whole = np.eye(3)[component] * weight[:, None]
    whole[rows.heavy] = heavy_weight
    expected = statistics(data, whole)
    for found, slow in zip(
        (row_weight, seen, mean, scatter, counts[:, :-1]), expected, strict=True
    ):
        assert_allclose(found, slow, rtol=1e-9, atol=1e-12)


def test_a_component_without_rows_has_sums_of_zero(data):
    rows = pack(data)
    component = np.zeros(N_ROWS, dtype=np.int32)
    heavy_weight = np.zeros((len(rows.heavy), 2))
    row_weight, sums, counts = np.empty(2), np.empty((2, 9)), np.empty((2, 6))
    sum_rows(rows, component, heavy_weight, row_weight, sums, counts)
    seen, mean, scatter = (np.empty((2, 3)) for _ in range(3))
    finish_sums(rows, component, heavy_weight, row_weight, sums, seen, mean, scatter)
    for array in (row_weight, sums, counts, seen, mean, scatter):
        assert not array[1].any()


def test_squares_that_lose_their_digits_are_summed_again():
    """Rows 1e-7 apart, far from the most frequent value."""
    data = make_rows(RUN, holes=False)
    numeric = data.rows.numeric
    numeric[:, 0] = 0.0
    numeric[:9, 0] = 0.8 + 1e-7 * np.arange(9)
    rows = pack(data)
    assert rows.shift[0] == 0.0
    component = (np.arange(RUN) >= 9).astype(np.int32)
    none = np.empty((0, 2))
    row_weight, sums, counts = np.empty(2), np.empty((2, 6)), np.empty((2, 6))
    sum_rows(rows, component, none, row_weight, sums, counts)
    seen, mean, scatter = (np.empty((2, 3)) for _ in range(3))
    finish_sums(rows, component, none, row_weight, sums, seen, mean, scatter)
    expected = np.sum((numeric[:9, 0] - numeric[:9, 0].mean()) ** 2)
    assert_allclose(scatter[0, 0], expected, rtol=1e-7)
