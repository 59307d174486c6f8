"""Shared numbers: the division that never warns, and the constants."""

import math

import numpy as np
import pytest

from latentclass.engine._numeric import LOG_2PI, VALUE_LIMIT, divide


def test_division_by_zero_gives_zero_without_a_warning():
    found = divide(np.array([1.0, -1.0, 0.0, 6.0]), np.array([0.0, 0.0, 0.0, 4.0]))
    assert found.tolist() == [0.0, 0.0, 0.0, 1.5]


@pytest.mark.parametrize("shapes", [((3, 1), (3, 4)), ((3, 4), (4,)), ((2, 3, 4), (3, 1))])
def test_shapes_are_broadcast(shapes):
    rng = np.random.default_rng(0)
    numerator, denominator = (rng.integers(0, 3, shape).astype(float) for shape in shapes)
    found = divide(numerator, denominator)
    for place in np.ndindex(found.shape):
        above, below = (np.broadcast_to(a, found.shape)[place] for a in (numerator, denominator))
        assert found[place] == (above / below if below else 0.0)


def test_constants():
    assert math.isclose(LOG_2PI, 1.8378770664093453, rel_tol=1e-15)
    assert math.isfinite(VALUE_LIMIT**2 * 1e6)  # a million squares can be summed
