"""Compiled passes of tree inference, over the sites of a program and in small regions.

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

All kernels are in this file because of how numba checks whether the machine code on disk is still
valid: it looks only at the file of the function itself, not at the files of functions it calls.

They are written so that they compile fast: flat arrays and offsets instead of matrices, views and
named tuples, and no array that is made inside. Offsets are unsigned, because numba tests signed
ones for negative values; so are the numbers that they are computed with.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latentclass._types import BoolArray, CodeArray, FloatArray
from latentclass.engine._compiled import compiled, inner
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

ONE: Any = np.uint64(1)
TWO: Any = np.uint64(2)
THREE: Any = np.uint64(3)
"""In numba the sum of an unsigned and a signed number is a float."""

K_ROOT, K_NEW, PRIOR, ROWS, SUMS, PRODUCT, GROUP_SUMS, NEW, NEW_SUMS, JOINT, P, SCALE = range(12)
"""What the entries of `Region.head` are (`_east_local_em`)."""

GROUP, FIRST, K_IN, LEAF, SIZE_IN, IDS, GIVEN, START = range(8)
"""What the columns of `Region.inputs` are."""

RESCALE = 8
"""Number of groups after which the numbers of a row are divided by the largest of them."""

MIN_WEIGHT = 1e-200
"""A state with less weight than this counts as empty, and its distributions become uniform."""

MIN_PROBABILITY = 1e-200
"""Smallest probability of a row, for rows that are impossible."""

STEPS = 4
"""Number of steps after which the gain of the last remaining start is checked."""

_inner = inner(error_model="numpy")
_once = inner(error_model="numpy", inline="always")
"""For functions that are called at one place: they are compiled as a part of the caller, once."""

_summing = inner(error_model="numpy", fastmath={"reassoc"})
"""As `_inner`, but the compiler may reorder sums. The order is fixed in the machine code."""


# Loops over the patterns of a site. An offset follows its array.


@_inner
def _mix(
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


@_summing
def _dot(a: FloatArray, i: int, b: FloatArray, j: int, n: int) -> float:
    """Sum of products."""
    total = 0.0
    for u in range(n):
        total += a[i + u] * b[j + u]
    return total


@_inner
def _add_up(
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


# Numbers below 2**-256


@_inner
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


@_inner
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


@_inner
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


@_inner
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


@_once
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


@_once
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
                    _mix(value, row, theta, entry, ONE, value, lam, size, k, size)
                low = every
                if floor < TINY:
                    for i in range(row, row + size):
                        low |= value[i] < TINY
                if low:
                    scaled[site] = True
                    _send_scaled(theta, entry, k, value, exponent, lam, row, size, every)
        floors[site] = floor if floor > TINY else TINY


# The downward pass


@_summing
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
        counts[i] += theta[i] * _dot(above, message + p * n, value, lam, n)
    _mix(above, lam, theta, table, step, above, message, n, k_parent, n)
    for u in range(n):
        above[lam + u] *= value[lam + u]


@_once
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


@_once
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
                _add_up(above, below, n, lam, places, at, k, size)
            at += size


@_inner
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


# Local EM in a region; the equations are in `_east_local_em`


@_inner
def _region_products(
    head: OffsetArray, inputs: OffsetArray, groups: OffsetArray, places: PlaceArray,
    evidence: FloatArray, room: FloatArray, theta: FloatArray, table: int, above: int,
) -> None:  # fmt: skip
    """m_Z(y) = sum_z P(z | y) e_Z(z) of each input, and their product in each group.

    With W, the states are those of W instead of y. The message of a leaf is the entry of the
    observed state, and 1 for a missing cell.
    """
    for i in range(len(inputs)):
        k, size, at = inputs[i, K_IN], inputs[i, SIZE_IN], inputs[i, IDS]
        g = inputs[i, GROUP]
        n, own = groups[g, 0], head[PRODUCT] + above * groups[g, 1]
        for p in range(above):
            row = above * inputs[i, START] + p * size
            if inputs[i, LEAF]:
                for s in range(k):
                    room[row + s] = theta[table + s]
                room[row + k] = 1.0
            else:
                _mix(
                    room, row, theta, table, ONE, evidence, inputs[i, GIVEN], size, k, size
                )  # fmt: skip
            if inputs[i, FIRST]:
                for u in range(n):
                    room[own + u] = room[row + places[at + u]]
            else:
                for u in range(n):
                    room[own + u] *= room[row + places[at + u]]
            table += k
            own += n


@_inner
def _region_counts(
    head: OffsetArray, inputs: OffsetArray, groups: OffsetArray, places: PlaceArray,
    evidence: FloatArray, room: FloatArray, theta: FloatArray, table: int, above: int,
    counts: FloatArray,
) -> None:  # fmt: skip
    """Counts of the tables of the inputs, equation (c), from the posteriors of the groups."""
    for i in range(len(inputs)):
        k, size, message = inputs[i, K_IN], inputs[i, SIZE_IN], above * inputs[i, START]
        g, sums = inputs[i, GROUP], head[SUMS] + message
        own = head[GROUP_SUMS] + above * groups[g, 1]
        _add_up(room, sums, size, own, places, inputs[i, IDS], above, groups[g, 0])
        if not inputs[i, LEAF]:
            _divide(room, sums, message, above * size)
        for p in range(above):
            row = sums + p * size
            for s in range(k):
                x = theta[table + s]
                if inputs[i, LEAF]:
                    counts[table + s] = room[row + s] + room[row + k] * x
                else:
                    given = inputs[i, GIVEN] + s * size
                    counts[table + s] = x * _dot(room, row, evidence, given, size)
            table += k


@_inner
def _divide(room: FloatArray, sums: int, message: int, n: int) -> None:
    """Divide sums of posteriors by messages; where a message is 0, the posterior is 0 as well."""
    for u in range(n):
        x = room[message + u]
        room[sums + u] = room[sums + u] / x if x > 0.0 else 0.0


@_inner
def _weight_over_p(
    head: OffsetArray, weight: FloatArray, room: FloatArray, scaled: bool, want: bool
) -> float:
    """Replace each p(row) by weight / p(row); return the log-likelihood if `want`, otherwise 0."""
    total, held, product = 0.0, 0.0, 1.0
    for u in range(head[ROWS]):
        p, w = room[head[P] + u], weight[u]
        p = p if p > MIN_PROBABILITY else MIN_PROBABILITY
        if want and w > 0.0:
            # neighbours of equal weight share a logarithm of their product
            if w != held or product < 1e-100 or product > 1e100:
                total += held * math.log(product)
                held, product = w, 1.0
            product *= p
            if scaled:
                total += w * room[head[SCALE] + u]
        room[head[P] + u] = w / p
    return total + held * math.log(product)


@_inner
def _by_pattern(
    head: OffsetArray, bounds: OffsetArray, n: int, base: FloatArray, weight: FloatArray,
    room: FloatArray, message: int, sums: int, want: bool,
) -> float:  # fmt: skip
    """Equations (a) and (b) for one group, with the rows sorted by its patterns.

    Writes the posteriors of the root, summed over the rows of each pattern, to `sums`. Returns the
    log-likelihood if `want`.
    """
    k, n_rows, p = head[K_ROOT], head[ROWS], head[P]
    for t in range(n):
        begin, size = bounds[t], bounds[t + ONE] - bounds[t]
        _mix(room, p + begin, room, message + t, n, base, begin, n_rows, k, size)
    total = _weight_over_p(head, weight, room, len(bounds) == 0, want)
    for t in range(n):
        begin, size = bounds[t], bounds[t + ONE] - bounds[t]
        for s in range(k):
            x = message + s * n + t
            sums_at = sums + s * n + t
            room[sums_at] = room[x] * _dot(base, s * n_rows + begin, room, p + begin, size)
    return total


@_once
def _join(
    head: OffsetArray, groups: OffsetArray, places: PlaceArray, base: FloatArray,
    room: FloatArray, theta: FloatArray, t: int, message: int,
) -> None:  # fmt: skip
    """P(y, row) of equations (a) and (b), for any number of groups, and its sum p(row).

    After every few groups, rows that have only small numbers are divided by the largest of them,
    whose logarithm is kept.
    """
    k, n_rows, joint = head[K_ROOT], head[ROWS], head[JOINT]
    p, scale = head[P], head[SCALE]
    for u in range(n_rows):
        room[scale + u] = room[p + u] = 0.0
    for s in range(k):
        row, given, x = joint + s * n_rows, s * n_rows, 1.0
        if head[PRIOR]:
            x = theta[t + s]
        for u in range(n_rows):
            room[row + u] = x
        if len(base):
            for u in range(n_rows):
                room[row + u] *= base[given + u]
    for g in range(len(groups)):
        n, at = groups[g, 0], groups[g, 2]
        for s in range(k):
            row, given = joint + s * n_rows, message + k * groups[g, 1] + s * n
            for u in range(n_rows):
                room[row + u] *= room[given + places[at + u]]
        if (g + 1) % RESCALE == 0:
            for u in range(n_rows):
                top = 0.0
                for s in range(k):
                    x = room[joint + s * n_rows + u]
                    top = x if x > top else top
                if top > 0.0 and top < 1e-30:
                    for s in range(k):
                        room[joint + s * n_rows + u] /= top
                    room[scale + u] += math.log(top)
    for s in range(k):
        row = joint + s * n_rows
        for u in range(n_rows):
            room[p + u] += room[row + u]


@_once
def _region_expect(
    head: OffsetArray, inputs: OffsetArray, groups: OffsetArray, bounds: OffsetArray,
    places: PlaceArray, base: FloatArray, weight: FloatArray, evidence: FloatArray,
    room: FloatArray, theta: FloatArray, t: int, counts: FloatArray, want: bool,
) -> float:  # fmt: skip
    """Expected counts of the learned tables; returns the log-likelihood if `want`, otherwise 0."""
    k, k_new, n, n_rows = head[K_ROOT], head[K_NEW], groups[0, 0], head[ROWS]
    first = t + k * head[PRIOR]
    table = first + k * k_new
    above = k_new if k_new else k
    _region_products(head, inputs, groups, places, evidence, room, theta, table, above)
    message, sums = head[PRODUCT], head[GROUP_SUMS]
    if k_new:  # its messages take the place of those of the one group
        message, sums = head[NEW], head[NEW_SUMS]
        for s in range(k):
            entry, row = first + s * k_new, message + s * n
            _mix(room, row, theta, entry, ONE, room, head[PRODUCT], n, k_new, n)
    if len(bounds):
        total = _by_pattern(head, bounds, n, base, weight, room, message, sums, want)
    else:
        _join(head, groups, places, base, room, theta, t, message)
        total = _weight_over_p(head, weight, room, len(bounds) == 0, want)
        for s in range(k):
            row, x = head[JOINT] + s * n_rows, 0.0
            for u in range(n_rows):
                room[row + u] *= room[head[P] + u]
                x += room[row + u]
            if head[PRIOR]:
                counts[t + s] = x
        for g in range(len(groups)):
            own, at = sums + k * groups[g, 1], groups[g, 2]
            _add_up(room, own, groups[g, 0], head[JOINT], places, at, k, n_rows)
    if k_new:  # counts of P(W | Y), and the posteriors of W summed over the rows of each pattern
        _divide(room, sums, message, k * n)
        for s in range(k_new):
            lam, own = head[PRODUCT] + s * n, head[GROUP_SUMS] + s * n
            for y in range(k):
                entry = first + y * k_new + s
                counts[entry] = theta[entry] * _dot(room, sums + y * n, room, lam, n)
            _mix(room, own, theta, first + s, k_new, room, sums, n, k, n)
            for u in range(n):
                room[own + u] *= room[lam + u]
    _region_counts(head, inputs, groups, places, evidence, room, theta, table, above, counts)
    return total


@_inner
def _maximise(tables: OffsetArray, counts: FloatArray, theta: FloatArray, begin: int) -> None:
    """The M-step: every distribution becomes the shares of its counts."""
    for table in range(len(tables)):
        k = tables[table, 1]
        for _ in range(tables[table, 0]):
            total = 0.0
            for s in range(begin, begin + k):
                total += counts[s]
            for s in range(begin, begin + k):
                theta[s] = counts[s] / total if total > MIN_WEIGHT else 1.0 / k
            begin += k


@compiled(error_model="numpy")
def run_region(
    head: OffsetArray, inputs: OffsetArray, groups: OffsetArray, bounds: OffsetArray,
    tables: OffsetArray, places: PlaceArray, base: FloatArray, weight: FloatArray,
    evidence: FloatArray, room: FloatArray, theta: FloatArray, counts: FloatArray,
    value: FloatArray, alive: OffsetArray, max_iter: int, tol: float,
) -> int:  # fmt: skip
    """Local EM from several starts, in place: `value` gets the log-likelihoods.

    The first eight arrays are those of a `Region`, `theta` and `counts` are flat, and `alive` has
    the numbers of the starts. Returns the number of the best. After 1, 2, 4, ... steps the worse
    half of the starts is dropped.
    """
    n_alive, n_entries = len(alive), np.uint64(len(theta) // len(alive))
    done, n_steps, length, before = 0, 0, 1, -math.inf
    while True:
        for a in range(n_alive):
            i, step = alive[a], 0
            while True:
                if n_steps:
                    _maximise(tables, counts, theta, i * n_entries)
                step += 1
                value[i] = _region_expect(
                    head, inputs, groups, bounds, places, base, weight, evidence, room, theta,
                    i * n_entries, counts, step >= n_steps,
                )  # fmt: skip
                if step >= n_steps:
                    break
        done += n_steps
        if n_steps and n_alive == 1 and value[alive[0]] - before < tol * n_steps:
            break
        for a in range(1, n_alive):  # sort by falling value; equal ones stay in their order
            i = alive[a]
            while a > 0 and value[alive[a - 1]] < value[i]:
                alive[a] = alive[a - 1]
                a -= 1
            alive[a] = i
        if n_steps:
            n_alive = (n_alive + 1) // 2
        if done >= max_iter:
            break
        before = value[alive[0]]
        n_steps = STEPS if n_alive == 1 else length
        n_steps = n_steps if n_steps < max_iter - done else max_iter - done
        length *= 2
    return int(alive[0])
