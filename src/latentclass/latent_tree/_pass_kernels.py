"""Compiled passes of tree inference, over the sites of a program.

The upward pass sums out the latent variables, which is the sum over Y_c in equation (1) of Wang,
Zhang, Chen and Poon (2011). It uses the λ messages of Pearl (1988, section 4.2): a node with
states s multiplies the messages of its inputs and sends one to its parent with states p,

    lam(s) = prod_i m_i(s),        m(p) = sum_s P(s | p) lam(s).

The root sends its message to a parent with a single state, so that m is p(row).

The downward pass gives the posterior of each edge, whose sums over the rows are the expected
counts of EM:

    P(p, s | row) = P(p | row) P(s | p) lam(s) / m(p)

Here P(p | row) is already summed over the rows of a pattern. At the root it is their weight.

Every number of a message has its own exponent (x * 2**(256 e)). So nothing underflows, however many
leaves there are, not even in a state that all leaves but one rule out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray
from latentclass.engine._compiled import compiled
from latentclass.latent_tree._loop_kernels import (
    ONE,
    THREE,
    TWO,
    add_up,
    dot,
    inlined_loop,
    inner_loop,
    mix,
    summing_loop,
)
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._schedule import (
    EVIDENCE,
    INPUTS,
    K_PARENT,
    LAM,
    LEARNED,
    MESSAGE,
    PLACES,
    SIZE,
    TABLE,
    K,
    OffsetArray,
)  # fmt: skip

BITS = 256
TINY, BIG = 2.0**-BITS, 2.0**BITS
LOG_BIG = BITS * math.log(2.0)


# Numbers below 2**-256


@inner_loop
def _shift(value: float, exponent: int) -> float:
    """value * 2**(256 exponent)."""
    if exponent < -8:
        return 0.0
    while exponent > 0:
        value *= BIG
        exponent -= 1
    while exponent < 0:
        value *= TINY
        exponent += 1
    return value


@inner_loop
def _send_scaled(
    theta: FloatArray, table: int, k: int, value: FloatArray, exponent: CodeArray, lam: int,
    message: int, n: int, every: bool,
) -> None:  # fmt: skip
    """One row of a message, m(p) = sum_s P(s | p) lam(s), with exponents.

    It computes every number, or only those that are below 2**-256.
    """
    for u in range(n):
        if not every and value[message + u] >= TINY:
            continue
        # times BIG, so that no product underflows
        top, total = -(2**30), 0.0
        for s in range(k):
            e = exponent[lam + s * n + u]
            if theta[table + s] * BIG * value[lam + s * n + u] > 0.0 and e > top:
                top = e
        for s in range(k):
            x = theta[table + s] * BIG * value[lam + s * n + u]
            if x > 0.0:
                total += _shift(x, exponent[lam + s * n + u] - top)
        if total >= 1.0:
            total *= TINY
        elif total > 0.0:
            top -= 1
            while total < TINY:
                total *= BIG
                top -= 1
        else:
            top = 0
        value[message + u] = total
        exponent[message + u] = top


@inner_loop
def _spread_scaled(
    theta: FloatArray, table: int, k: int, value: FloatArray, exponent: CodeArray, lam: int,
    message: int, k_parent: int, n: int, above: FloatArray, counts: FloatArray,
) -> None:  # fmt: skip
    """As `_spread`, for all states and with exponents."""
    for s in range(k):
        for u in range(n):
            own, total = lam + s * n + u, 0.0
            for p in range(k_parent):
                up, entry = message + p * n + u, table + p * k + s
                joint = above[up] * value[own] * theta[entry]
                if joint > 0.0:
                    joint = _shift(joint, exponent[own] - exponent[up])
                    total += joint
                    counts[entry] += joint
            above[own] = total


# The upward pass


@inner_loop
def _send_evidence(
    sites: OffsetArray, site: int, theta: FloatArray, t: int, value: FloatArray,
    exponent: CodeArray, scaled: BoolArray,
) -> float:  # fmt: skip
    """Message of observed states, m(p) = P(s | p) for each code s, and 1 for a missing cell.

    Evidence of an inner node has no table: it is 1 in the observed state, 0 elsewhere.
    """
    k, size = sites[site, K], sites[site, SIZE]
    floor = 1.0
    for p in range(sites[site, K_PARENT]):
        place, entry = sites[site, MESSAGE] + p * size, t + sites[site, TABLE] + p * k
        for s in range(k):
            x = 1.0 if p == s else 0.0
            if sites[site, LEARNED]:
                x = theta[entry + s]
            while x < TINY and x > 0.0:
                x *= BIG
                exponent[place + s] -= 1
                scaled[site] = True
            if x > 0.0 and x < floor:
                floor = x
            value[place + s] = x
        value[place + k] = 1.0
    return floor


@inlined_loop
def _collect(
    sites: OffsetArray, site: int, edges: OffsetArray, places: PlaceArray, value: FloatArray,
    exponent: CodeArray, scaled: BoolArray, floors: FloatArray,
) -> float:  # fmt: skip
    """lam(s) = prod_i m_i(s) over a site's inputs; returns its floor."""
    k, size, lam = sites[site, K], sites[site, SIZE], sites[site, LAM]
    begin, end, at = sites[site, INPUTS], sites[site + 1, INPUTS], sites[site, PLACES]
    floor = 1.0
    for edge in range(begin, end):
        source = edges[edge, 0]
        message, n = sites[source, MESSAGE], sites[source, SIZE]
        floor *= floors[source]
        if edges[edge, 1]:
            if edge == begin:
                for i in range(k * size):
                    value[lam + i] = value[message + i]
            else:
                for i in range(k * size):
                    value[lam + i] *= value[message + i]
        else:
            for s in range(k):
                own, given = lam + s * size, message + s * n
                if edge == begin:
                    for u in range(size):
                        value[own + u] = value[given + places[at + u]]
                else:
                    for u in range(size):
                        value[own + u] *= value[given + places[at + u]]
        if floor < TINY:
            floor = TINY
            for i in range(lam, lam + k * size):
                while value[i] < TINY and value[i] > 0.0:
                    value[i] *= BIG
                    exponent[i] -= 1
                    scaled[site] = True
        if scaled[source]:
            scaled[site] = True
            for s in range(k):
                for u in range(size):
                    exponent[lam + s * size + u] += exponent[message + s * n + places[at + u]]
        at += size
    return floor


@inlined_loop
def _upward(
    sites: OffsetArray, edges: OffsetArray, places: PlaceArray, theta: FloatArray, t: int,
    value: FloatArray, exponent: CodeArray, scaled: BoolArray, floors: FloatArray,
) -> None:  # fmt: skip
    """Compute lam and m of all sites, from the leaves to the root. All exponents are 0 before."""
    for site in range(len(sites) - 1):
        if sites[site, EVIDENCE]:
            floors[site] = _send_evidence(sites, site, theta, t, value, exponent, scaled)
            continue
        floor = _collect(sites, site, edges, places, value, exponent, scaled, floors)
        if sites[site, LEARNED]:
            k, size, lam = sites[site, K], sites[site, SIZE], sites[site, LAM]
            table, message = t + sites[site, TABLE], sites[site, MESSAGE]
            k_parent, every, least = sites[site, K_PARENT], scaled[site], 1.0
            for i in range(table, table + k_parent * k):
                if theta[i] > 0.0 and theta[i] < least:
                    least = theta[i]
            floor *= least
            for p in range(k_parent):
                row, entry = message + p * size, table + p * k
                if not every:
                    mix(value, row, theta, entry, ONE, value, lam, size, k, size)
                low = every
                if floor < TINY:
                    for i in range(row, row + size):
                        low |= value[i] < TINY
                if low:
                    scaled[site] = True
                    _send_scaled(theta, entry, k, value, exponent, lam, row, size, every)
        floors[site] = floor if floor > TINY else TINY


# The downward pass


@summing_loop
def _spread(
    theta: FloatArray, table: int, step: int, value: FloatArray, lam: int, above: FloatArray,
    message: int, k_parent: int, n: int, counts: FloatArray,
) -> None:  # fmt: skip
    """Posterior of one state of a node, P(s | row) = lam(s) sum_p above(p) P(s | p).

    `above` has P(p | row) / m(p) where the message is, and gets the posterior where lam is. The sum
    over the rows of above(p) P(s | p) lam(s) is added to `counts`. The most frequent cases, two
    and three parent states, take one pass through memory.
    """
    if k_parent == TWO:
        x, y, other = theta[table], theta[table + step], message + n
        a = b = 0.0
        for u in range(n):
            one, two, own = above[message + u], above[other + u], value[lam + u]
            a += one * own
            b += two * own
            above[lam + u] = own * (x * one + y * two)
        counts[table] += x * a
        counts[table + step] += y * b
        return
    if k_parent == THREE:
        x, y, z = theta[table], theta[table + step], theta[table + TWO * step]
        other, last = message + n, message + TWO * n
        a = b = c = 0.0
        for u in range(n):
            one, two, three = above[message + u], above[other + u], above[last + u]
            own = value[lam + u]
            a += one * own
            b += two * own
            c += three * own
            above[lam + u] = own * (x * one + y * two + z * three)
        counts[table] += x * a
        counts[table + step] += y * b
        counts[table + TWO * step] += z * c
        return
    for p in range(k_parent):
        i = table + p * step
        counts[i] += theta[i] * dot(above, message + p * n, value, lam, n)
    mix(above, lam, theta, table, step, above, message, n, k_parent, n)
    for u in range(n):
        above[lam + u] *= value[lam + u]


@inlined_loop
def _count(
    sites: OffsetArray, site: int, theta: FloatArray, t: int, value: FloatArray,
    exponent: CodeArray, scaled: BoolArray, above: FloatArray, counts: FloatArray,
) -> None:  # fmt: skip
    """Add up P(p, s | row) over the rows for the table of a site, and get P(s | row)."""
    k, k_parent, size = sites[site, K], sites[site, K_PARENT], sites[site, SIZE]
    table, lam, message = t + sites[site, TABLE], sites[site, LAM], sites[site, MESSAGE]
    if sites[site, EVIDENCE]:  # P(p | row) in the observed state, P(p | row) P(s | p) without one
        for p in range(k_parent):
            row, entry = message + p * size, table + p * k
            for s in range(k):
                counts[entry + s] += above[row + s] + above[row + k] * theta[entry + s]
        return
    for i in range(message, message + k_parent * size):
        # where the message is 0, the posterior is 0 as well
        above[i] /= value[i] if value[i] > 0.0 else 1.0
    if scaled[site]:
        _spread_scaled(
            theta, table, k, value, exponent, lam, message, k_parent, size, above, counts
        )
    else:
        for s in range(k):
            _spread(
                theta, table + s, k, value, lam + s * size, above, message, k_parent, size, counts
            )


@inlined_loop
def _downward(
    sites: OffsetArray, edges: OffsetArray, places: PlaceArray, theta: FloatArray, t: int,
    value: FloatArray, exponent: CodeArray, scaled: BoolArray, above: FloatArray,
    counts: FloatArray,
) -> None:  # fmt: skip
    """Add up P(p, s | row) over the rows for every table, from the root down.

    `above` is laid out like `value`: where a site has its message, `above` has the posteriors of
    its parent's states, summed over the rows of each of the site's patterns; at the root it must
    hold the weights before. Where a site has its lam, `above` gets the posteriors of its states.
    """
    for site in range(len(sites) - 2, -1, -1):
        if sites[site, LEARNED]:
            _count(sites, site, theta, t, value, exponent, scaled, above, counts)
        k, size, lam = sites[site, K], sites[site, SIZE], sites[site, LAM]
        at = sites[site, PLACES]
        for edge in range(sites[site, INPUTS], sites[site + 1, INPUTS]):
            target = edges[edge, 0]
            below, n = sites[target, MESSAGE], sites[target, SIZE]
            if edges[edge, 1]:
                for i in range(k * size):
                    above[below + i] = above[lam + i]
            elif sites[target, LEARNED] or not sites[target, EVIDENCE]:
                add_up(above, below, n, lam, places, at, k, size)
            at += size


@inner_loop
def _sum_logs(value: FloatArray, exponent: CodeArray, message: int, weight: FloatArray) -> float:
    """Sum of weight * log p(row). Neighbours of equal weight share a logarithm of their product."""
    total, held, product = 0.0, 0.0, 1.0
    for u in range(len(weight)):
        w, i = weight[u], message + np.uint64(u)
        if w > 0.0:
            if w != held or product < 1e-200:
                total += held * math.log(product) if product > 0.0 else -math.inf
                held, product = w, 1.0
            product *= value[i]
            if exponent[i]:
                total += w * LOG_BIG * exponent[i]
    return total + (held * math.log(product) if product > 0.0 else -math.inf)


@compiled(error_model="numpy")
def expect(
    sites: OffsetArray, edges: OffsetArray, places: PlaceArray, theta: FloatArray,
    weight: FloatArray, value: FloatArray, exponent: CodeArray, scaled: BoolArray,
    floors: FloatArray, above: FloatArray, counts: FloatArray, total: FloatArray,
) -> None:  # fmt: skip
    """Expected counts and log-likelihood of a block of rows, for each start (row of `theta`).

    `sites`, `edges` and `places` are a `Program`; `value`, `exponent`, `scaled` and `floors` are
    `Numbers`, memory to work in, as is `above`. All exponents are 0 before and after. The results
    are added to `counts` and `total`. `theta` and `counts` are flat. Without `counts` only the
    upward pass is made, for one start, and its numbers are left in the memory.
    """
    root, n_starts = len(sites) - 2, len(total)
    message = sites[root, MESSAGE]
    for start in range(n_starts):
        t: Any = np.uint64(start * (len(theta) // n_starts))
        _upward(sites, edges, places, theta, t, value, exponent, scaled, floors)
        if len(counts) == 0:
            return
        total[start] += _sum_logs(value, exponent, message, weight)
        for u in range(sites[root, SIZE]):
            above[message + u] = weight[u]
        _downward(sites, edges, places, theta, t, value, exponent, scaled, above, counts)
        for site in range(root + 1):
            if scaled[site]:
                scaled[site] = False
                end = sites[site, MESSAGE] + sites[site, K_PARENT] * sites[site, SIZE]
                for i in range(sites[site, LAM], end):
                    exponent[i] = 0
