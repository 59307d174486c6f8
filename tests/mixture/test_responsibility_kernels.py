"""Loops that give each row its shares in the components, against one row at a time."""

import numpy as np
import pytest
from kernel_entry import entry
from mixture_reference import (
    log_joint,
    log_likelihood,
    make_rows,
    make_starts,
    pack,
    posterior,
    statistics,
)
from numpy.testing import assert_allclose, assert_array_equal

from latentclass.mixture._padded_rows import RUN, log_constants, with_place
from latentclass.mixture._responsibility_kernels import (
    SPACE,
    exponentials,
    normalise,
    share_rows,
    share_run,
)

N_ROWS = RUN + 37
WEIGHTS = {"ones": None, "mixed": np.random.default_rng(3).choice([0.2, 1.0, 3.0], N_ROWS)}


def test_exponentials_are_exact():
    values = -np.r_[0.0, np.random.default_rng(0).exponential(40.0, 254), 650.0]
    expected = np.exp(values)
    less = np.random.default_rng(1).normal(size=256)
    shifted = values + less
    total = np.ones(256)
    entry(exponentials)(shifted, less, total)
    assert shifted[0] == 1.0
    assert_allclose(shifted, expected, rtol=2e-13)
    assert_array_equal(total, 1.0 + shifted)


def test_shares_are_relative_to_the_largest():
    joint = np.random.default_rng(0).normal(-50.0, 3.0, (4, RUN))
    less, total = joint.max(axis=0), np.full(RUN, np.nan)
    expected = np.exp(joint - less)
    entry(normalise)(joint, less, total)
    assert_allclose(joint, expected, rtol=1e-12)
    assert_allclose(total, expected.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("weights", sorted(WEIGHTS))
@pytest.mark.parametrize("sharpness", [1.0, 0.4, 3.0])
def test_a_run_of_rows_has_the_posteriors_of_bayes_rule(holes, weights, sharpness):
    data = make_rows(N_ROWS, holes=holes, weight=WEIGHTS[weights])
    rows, params = pack(data), make_starts(data)
    joint, raised, space = np.empty((3, RUN)), np.empty((3, RUN)), np.empty((SPACE, RUN))
    for s in range(2):
        slow, total = log_joint(data, params, s), 0.0
        for first in (0, RUN):
            total += entry(share_run)(
                rows, with_place(params), log_constants(rows, params)[s], s, first, joint, raised,
                sharpness, space,
            )  # fmt: skip
            mine = slow[first : first + RUN]
            n = len(mine)
            assert_allclose((joint / space[0])[:, :n].T, posterior(mine), rtol=1e-9, atol=1e-14)
            assert_allclose(space[1, :n], mine.max(axis=1), rtol=1e-12)
            if sharpness != 1.0:
                top = mine.max(axis=1, keepdims=True)
                expected = top + sharpness * (mine - top)
                assert_allclose(raised[:, :n].T, expected, rtol=1e-10)
        assert_allclose(total, log_likelihood(data, slow), rtol=1e-12)


def test_a_row_that_no_component_can_have_made_has_even_shares():
    data = make_rows(20, holes=False)
    rows, params = pack(data), make_starts(data)
    params.log_prob[:, :, 0] = -np.inf
    joint, space = np.empty((3, RUN)), np.empty((SPACE, RUN))
    found = entry(share_run)(
        rows, with_place(params), log_constants(rows, params)[0], 0, 0, joint, joint, 1.0, space
    )
    impossible = np.flatnonzero(data.rows.codes[:, 0] == 0)
    assert impossible.size
    assert_allclose((joint / space[0])[:, impossible], 1 / 3, rtol=1e-12)
    assert found == -np.inf


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("weights", sorted(WEIGHTS))
def test_sums_over_rows_are_those_of_the_e_step(holes, weights):
    data = make_rows(N_ROWS, holes=holes, weight=WEIGHTS[weights])
    rows, params = pack(data), make_starts(data)
    row_weight, likelihood = np.empty((2, 3)), np.empty(2)
    sums, counts = np.empty((2, 3, rows.powers.shape[1])), np.empty((2, 3, 6))
    share_rows(
        rows, with_place(params), log_constants(rows, params), row_weight, sums, counts, likelihood
    )
    for s in range(2):
        joint = log_joint(data, params, s)
        share = posterior(joint) * data.weight[:, None]
        size, seen, mean, scatter, expected = statistics(data, share)
        assert_allclose(likelihood[s], log_likelihood(data, joint), rtol=1e-12)
        assert_allclose(row_weight[s], size, rtol=1e-10)
        assert_allclose(counts[s, :, :-1], expected, rtol=1e-9, atol=1e-12)
        about = mean - rows.shift
        assert_allclose(sums[s, :, :3], seen * about, rtol=1e-8, atol=1e-10)
        assert_allclose(sums[s, :, 3:6], scatter + seen * about**2, rtol=1e-8, atol=1e-10)
        if holes:
            assert_allclose(sums[s, :, 6:], seen, rtol=1e-10)
