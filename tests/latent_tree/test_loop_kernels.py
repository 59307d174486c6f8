"""The loops that the kernels of latent trees share."""

import numpy as np
import pytest
from kernel_entry import entry
from numpy.testing import assert_allclose

from latentclass.latent_tree._loop_kernels import add_up, mix


@pytest.mark.parametrize("k", range(1, 8))
def test_sums_in_parts_of_three(k):
    rng = np.random.default_rng(k)
    own, share = rng.random((k, 20)), rng.random(2 * k)
    out = np.full(22, np.nan)
    zero, one, two, n, states = map(np.uint64, (0, 1, 2, 20, k))
    entry(mix)(out, one, share, zero, two, own.ravel(), zero, n, states, n)
    assert_allclose(out[1:-1], share[::2] @ own, rtol=1e-14)
    assert np.isnan(out[[0, -1]]).all()
    places = rng.integers(0, 4, 20).astype(np.uint32)
    numbers = np.concatenate([np.full(4 * k, np.nan), own.ravel()])
    below, first = np.uint64(0), np.uint64(4 * k)
    entry(add_up)(numbers, below, np.uint64(4), first, places, zero, states, n)
    assert_allclose(numbers[: 4 * k].reshape(k, 4), own @ np.eye(4)[places], rtol=1e-14)
    assert np.array_equal(numbers[4 * k :], own.ravel())
