"""Loops over the patterns of a site or of a region, which the kernels of latent trees share.

The kernels are written so that they compile fast: flat arrays and offsets instead of matrices,
views and named tuples, and no array that is made inside. An offset follows its array. Offsets are
unsigned, because numba tests signed ones for negative values; so are the numbers that they are
computed with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._compiled import inner
from latentclass.latent_tree._row_patterns import PlaceArray

ONE: Any = np.uint64(1)
TWO: Any = np.uint64(2)
THREE: Any = np.uint64(3)
"""In numba the sum of an unsigned and a signed number is a float."""

inner_loop = inner(error_model="numpy")
inlined_loop = inner(error_model="numpy", inline="always")
"""For functions that are called at one place: they are compiled as a part of the caller, once."""

summing_loop = inner(error_model="numpy", fastmath={"reassoc"})
"""As `inner_loop`, but the compiler may reorder sums. The order is fixed in the machine code."""


@inner_loop
def mix(
    out: FloatArray, o: int, share: FloatArray, a: int, step: int, parts: FloatArray, p: int,
    stride: int, k: int, n: int,
) -> None:  # fmt: skip
    """Sum of k shares times parts of n numbers, three at a time, for there are few parts."""
    s = k % THREE
    if s == ONE:
        x = share[a]
        for u in range(n):
            out[o + u] = x * parts[p + u]
    elif s == TWO:
        x, y, q = share[a], share[a + step], p + stride
        for u in range(n):
            out[o + u] = x * parts[p + u] + y * parts[q + u]
    else:
        for u in range(n):
            out[o + u] = 0.0
    while s < k:
        b, p1 = a + s * step, p + s * stride
        x, y, z = share[b], share[b + step], share[b + TWO * step]
        p2, p3 = p1 + stride, p1 + TWO * stride
        for u in range(n):
            out[o + u] += x * parts[p1 + u] + y * parts[p2 + u] + z * parts[p3 + u]
        s += THREE


@summing_loop
def dot(a: FloatArray, i: int, b: FloatArray, j: int, n: int) -> float:
    """Sum of products."""
    total = 0.0
    for u in range(n):
        total += a[i + u] * b[j + u]
    return total


@inner_loop
def add_up(
    numbers: FloatArray, below: int, n_below: int, own: int, places: PlaceArray, p: int, k: int,
    n: int,
) -> None:  # fmt: skip
    """below[s, t] = sum of own[s, u] over the u with places[u] = t.

    Three states are done together, because consecutive additions to the same number would wait for
    each other.
    """
    for t in range(below, below + k * n_below):
        numbers[t] = 0.0
    s = k % THREE
    if s == ONE:
        for u in range(n):
            numbers[below + places[p + u]] += numbers[own + u]
    elif s == TWO:
        other, next_own = below + n_below, own + n
        for u in range(n):
            t = places[p + u]
            numbers[below + t] += numbers[own + u]
            numbers[other + t] += numbers[next_own + u]
    while s < k:
        one, two, three = (
            below + s * n_below,
            below + (s + ONE) * n_below,
            below + (s + TWO) * n_below,
        )
        first, second, third = own + s * n, own + (s + ONE) * n, own + (s + TWO) * n
        for u in range(n):
            t = places[p + u]
            numbers[one + t] += numbers[first + u]
            numbers[two + t] += numbers[second + u]
            numbers[three + t] += numbers[third + u]
        s += THREE
