"""Compiled passes of tree inference, up and down, over the sites of a program.

Given the parent's posterior P(p | row), summed over the rows of a pattern, the way back needs no
division by other messages:

    P(p, s | row) = P(p | row) P(s | p) lam(s) / m(p)

Every number of a message carries an exponent of its own (x * 2**(256 e)), so that no number of
leaves underflows, not even in states that all but one leaf rule out.

All kernels are in this file: to find out whether machine code on disk is still good, numba looks
at the file of the function only, not at those of the functions that it calls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._compiled import compiled
from latentclass.latent_tree._schedule import Numbers, Program

PlaceArray = npt.NDArray[np.uint32]

BITS = 256
TINY, BIG = 2.0**-BITS, 2.0**BITS
LOG_BIG = BITS * float(np.log(2.0))

_compiled = compiled()
_summing = compiled(fastmath={"reassoc"})
"""As `_compiled`; sums may be taken in any order, which is fixed with the machine code."""


@_compiled
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


@_compiled
def upward(program: Program, theta: FloatArray, numbers: Numbers, static: Numbers) -> None:
    """Fill in the numbers of all moving sites; exponents must be 0 before."""
    for site in range(len(program.k)):
        if program.static[site]:
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        k_parent, start = program.k_parent[site], program.message[site]
        floor = 1.0
        if program.evidence[site]:  # few numbers: not worth the views below
            for p in range(k_parent):
                for s in range(k + 1):
                    x = 1.0
                    if s < k:
                        x = 1.0 if p == s else 0.0
                        if table >= 0:
                            x = theta[table + p * k + s]
                    while x < TINY and x > 0.0:
                        x *= BIG
                        numbers.exponent[start + p * size + s] -= 1
                        numbers.scaled[site] = True
                    if x > 0.0:
                        floor = min(floor, x)
                    numbers.value[start + p * size + s] = x
            numbers.floor[site] = floor
            continue
        message = numbers.value[start : start + k_parent * size].reshape((k_parent, size))
        message_e = numbers.exponent[start : start + k_parent * size].reshape((k_parent, size))
        rows = theta[table : table + k_parent * k] if table >= 0 else theta[:0]
        rows = rows.reshape((k_parent if table >= 0 else 0, k))
        start = program.lam[site]
        lam = numbers.value[start : start + k * size].reshape((k, size))
        lam_e = numbers.exponent[start : start + k * size].reshape((k, size))
        scaled, least = False, 1.0
        number, n_inputs = 0, program.input_start[site + 1] - program.input_start[site]
        while number < n_inputs:
            one = program.input_start[site] + number
            given, given_e, places, given_floor = _input(program, numbers, static, site, number)
            floor *= given_floor
            # the product of three numbers of at least 2**-256 is still safe
            two = number + 1 < n_inputs and not (program.straight[one] or program.straight[one + 1])
            if two:
                other, other_e, other_places, other_floor = _input(
                    program, numbers, static, site, number + 1
                )
                floor *= other_floor
                _multiply_two(lam, given, places, other, other_places, number == 0)
            else:
                _multiply(lam, given, places, program.straight[one], number == 0)
            if floor < TINY:
                scaled |= _rescale(lam, lam_e)
                floor = TINY
            scaled |= _add_exponents(lam_e, given_e, places)
            if two:
                scaled |= _add_exponents(lam_e, other_e, other_places)
            number += 2 if two else 1
        if table >= 0:
            for x in rows.flat:
                if x > 0.0:
                    least = min(least, x)
            floor *= least
            scaled = _send(rows, lam, lam_e, scaled, floor < TINY, message, message_e)
        numbers.scaled[site] = scaled
        numbers.floor[site] = max(floor, TINY)


@_compiled
def _input(
    program: Program, numbers: Numbers, static: Numbers, site: int, number: int
) -> tuple[FloatArray, CodeArray, PlaceArray, float]:
    """Message of a site's input, its exponents (none if all are 0), its places and floor."""
    source = program.inputs[program.input_start[site] + number]
    size = program.size[site]
    start = program.places_start[site] + number * size
    places = program.places[start : start + size]
    k, n, start = program.k[site], program.size[source], program.message[source]
    held = static if program.static[source] else numbers
    stop = start + k * n if held.scaled[source] else start
    return (
        held.value[start : start + k * n].reshape((k, n)),
        held.exponent[start:stop].reshape((k if stop > start else 0, n)),
        places,
        held.floor[source],
    )


@_compiled
def _multiply(
    lam: FloatArray, given: FloatArray, places: PlaceArray, straight: bool, first: bool
) -> None:
    """lam *= given at its places; the first input is put there."""
    k, size = lam.shape
    for s in range(k):
        if straight and first:
            for u in range(size):
                lam[s, u] = given[s, u]
        elif straight:
            for u in range(size):
                lam[s, u] *= given[s, u]
        elif first:
            for u in range(size):
                lam[s, u] = given[s, places[u]]
        else:
            for u in range(size):
                lam[s, u] *= given[s, places[u]]


@_compiled
def _multiply_two(
    lam: FloatArray, one: FloatArray, one_places: PlaceArray,
    two: FloatArray, two_places: PlaceArray, first: bool,
) -> None:  # fmt: skip
    """lam *= one * two at their places, in one go through memory."""
    k, size = lam.shape
    for s in range(k):
        if first:
            for u in range(size):
                lam[s, u] = one[s, one_places[u]] * two[s, two_places[u]]
        else:
            for u in range(size):
                lam[s, u] *= one[s, one_places[u]] * two[s, two_places[u]]


@_compiled
def _rescale(lam: FloatArray, lam_e: CodeArray) -> bool:
    """Bring numbers to at least 2**-256 with exponents; whether there were any below."""
    k, size = lam.shape
    low = False
    for s in range(k):
        for u in range(size):
            low |= (lam[s, u] < TINY) & (lam[s, u] > 0.0)
    if low:
        for s in range(k):
            for u in range(size):
                while lam[s, u] < TINY and lam[s, u] > 0.0:
                    lam[s, u] *= BIG
                    lam_e[s, u] -= 1
    return low


@_compiled
def _add_exponents(lam_e: CodeArray, given_e: CodeArray, places: PlaceArray) -> bool:
    """Add an input's exponents, if it has any; whether it has."""
    for s in range(len(given_e)):
        for u in range(lam_e.shape[1]):
            lam_e[s, u] += given_e[s, places[u]]
    return len(given_e) > 0


@_compiled
def _send(
    rows: FloatArray, lam: FloatArray, lam_e: CodeArray, scaled: bool, look: bool,
    message: FloatArray, message_e: CodeArray,
) -> bool:  # fmt: skip
    """Message of a node, m(p) = sum_s P(s | p) lam(s); whether anything has an exponent.

    `look` says whether a number may be below 2**-256.
    """
    (k_parent, k), size = rows.shape, lam.shape[1]
    low = scaled
    if not scaled:
        for p in range(k_parent):
            _mix(rows[p], lam, message[p])
            if look:
                for u in range(size):
                    low |= message[p, u] < TINY
    if not low:
        return False
    for p in range(k_parent):
        for u in range(size):
            if not scaled and message[p, u] >= TINY:
                continue
            # times BIG, so that no product is lost
            top, total = -(2**30), 0.0
            for s in range(k):
                if rows[p, s] * BIG * lam[s, u] > 0.0:
                    top = max(top, lam_e[s, u])
            for s in range(k):
                x = rows[p, s] * BIG * lam[s, u]
                if x > 0.0:
                    total += _shift(x, lam_e[s, u] - top)
            if total >= 1.0:
                message[p, u] = total * TINY
                message_e[p, u] = top
            elif total > 0.0:
                top -= 1
                while total < TINY:
                    total *= BIG
                    top -= 1
                message[p, u] = total
                message_e[p, u] = top
            else:
                message[p, u] = 0.0
    return True


@_compiled
def root_posterior(
    program: Program, theta: FloatArray, numbers: Numbers, share: FloatArray
) -> tuple[FloatArray, CodeArray]:
    """Probability of each pattern of the root, as x and e (none if all are 1) of x * 2**(-256 e).

    `share` gets the root's posteriors, and may be its `lam`. A row that cannot be has x = 0, and
    a posterior of 0 in every state.
    """
    site = len(program.k) - 1
    k, start, size = program.k[site], program.lam[site], program.size[site]
    scaled = numbers.scaled[site]
    lam = numbers.value[start : start + k * size].reshape((k, size))
    lam_e = numbers.exponent[start : start + k * size].reshape((k, size))
    out = np.zeros(size)
    for s in range(k):
        x = theta[s] * BIG
        for u in range(size):
            share[s, u] = x * lam[s, u]
    top = np.zeros(size if scaled else 0, dtype=np.int32)
    if scaled:
        for u in range(size):
            top[u] = -(2**30)
            for s in range(k):
                if share[s, u] > 0.0:
                    top[u] = max(top[u], lam_e[s, u])
            for s in range(k):
                if share[s, u] > 0.0:
                    share[s, u] = _shift(share[s, u], lam_e[s, u] - top[u])
    for s in range(k):
        for u in range(size):
            out[u] += share[s, u]
    for s in range(k):
        for u in range(size):
            share[s, u] /= out[u] if out[u] > 0.0 else 1.0
    for u in range(len(top)):
        top[u] = 1 - top[u]
    return out, top


@_compiled
def row_logs(x: FloatArray, e: CodeArray) -> FloatArray:
    """Logarithms of what `root_posterior` gives; -inf for 0."""
    out = np.empty(len(x))
    for u in range(len(x)):
        lost = e[u] if len(e) else 1
        out[u] = np.log(x[u]) - lost * LOG_BIG if x[u] > 0.0 else -np.inf
    return out


@_compiled
def _sum_logs(x: FloatArray, e: CodeArray, weight: FloatArray) -> float:
    """Weighted sum of the same; three rows of one weight, as most are, share a logarithm."""
    total, u = 0.0, 0
    while u < len(x):
        w, n, product = weight[u], 1, x[u]
        if u + 2 < len(x) and weight[u + 1] == w and weight[u + 2] == w:
            three = product * x[u + 1] * x[u + 2]
            if 1e-300 < three < 1e300:
                n, product = 3, three
        if w > 0.0:
            lost = n
            if len(e):
                lost = 0
                for v in range(u, u + n):
                    lost += e[v]
            total += w * (np.log(product) - lost * LOG_BIG) if product > 0.0 else -np.inf
        u += n
    return total


@_compiled
def downward(
    program: Program, theta: FloatArray, numbers: Numbers, above: FloatArray, counts: FloatArray
) -> None:
    """Add up the counts of all tables but the root's, whose posteriors are where its `lam` was.

    A site's `lam` makes room for the posteriors of its states by its patterns. `above` has the
    places of `numbers`: at a site's `message` the posteriors of its parent's states by the site's
    patterns.
    """
    for site in range(len(program.k) - 1, -1, -1):
        if program.static[site]:
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        k_parent, start = program.k_parent[site], program.message[site]
        if program.evidence[site]:
            if table >= 0:
                for p in range(k_parent):
                    unseen = above[start + p * size + k]
                    for s in range(k):
                        row = table + p * k + s
                        counts[row] += above[start + p * size + s] + unseen * theta[row]
            continue
        end = start + k_parent * size
        given = above[start:end].reshape((k_parent, size))
        if table >= 0:
            rows = theta[table : table + k_parent * k].reshape((k_parent, k))
            count = counts[table : table + k_parent * k].reshape((k_parent, k))
            message = numbers.value[start:end].reshape((k_parent, size))
            message_e = numbers.exponent[start:end].reshape((k_parent, size))
        start = program.lam[site]
        own = numbers.value[start : start + k * size].reshape((k, size))
        own_e = numbers.exponent[start : start + k * size].reshape((k, size))
        if table >= 0:
            _divide(given, message)
            if numbers.scaled[site]:
                _spread_scaled(rows, own, own_e, message_e, given, count)
            else:
                _spread(rows, own, given, count)
        elif site < len(program.k) - 1:
            own = given
        for number in range(program.input_start[site + 1] - program.input_start[site]):
            edge = program.input_start[site] + number
            target = program.inputs[edge]
            if program.static[target] or (program.evidence[target] and program.table[target] < 0):
                continue
            start = program.places_start[site] + number * size
            places = program.places[start : start + size]
            n, start = program.size[target], program.message[target]
            below = above[start : start + k * n].reshape((k, n))
            if program.straight[edge]:
                for s in range(k):
                    for u in range(size):
                        below[s, u] = own[s, u]
            else:
                _add_up(below, own, places)


@_compiled
def _add_up(below: FloatArray, own: FloatArray, places: PlaceArray) -> None:
    """below[s, t] = sum of own[s, u] over the u with places[u] = t.

    Three states side by side: additions to one place in a row would wait for each other.
    """
    k, size = own.shape
    below[:] = 0.0
    s = 0
    while s + 3 <= k:
        for u in range(size):
            there = places[u]
            below[s, there] += own[s, u]
            below[s + 1, there] += own[s + 1, u]
            below[s + 2, there] += own[s + 2, u]
        s += 3
    if s + 2 == k:
        for u in range(size):
            there = places[u]
            below[s, there] += own[s, u]
            below[s + 1, there] += own[s + 1, u]
    elif s + 1 == k:
        for u in range(size):
            below[s, places[u]] += own[s, u]


@_compiled
def _divide(above: FloatArray, message: FloatArray) -> None:
    """above /= message; a message of 0 has no posterior either."""
    k_parent, size = above.shape
    for p in range(k_parent):
        for u in range(size):
            above[p, u] /= message[p, u] if message[p, u] > 0.0 else 1.0


@_compiled
def _spread_scaled(
    rows: FloatArray, lam: FloatArray, lam_e: CodeArray, message_e: CodeArray, above: FloatArray,
    count: FloatArray,
) -> None:  # fmt: skip
    """As `_spread`, with exponents."""
    (k_parent, k), size = rows.shape, lam.shape[1]
    for s in range(k):
        for u in range(size):
            total = 0.0
            for p in range(k_parent):
                joint = above[p, u] * lam[s, u] * rows[p, s]
                if joint > 0.0:
                    joint = _shift(joint, lam_e[s, u] - message_e[p, u])
                    total += joint
                    count[p, s] += joint
            lam[s, u] = total


@_compiled
def _spread(rows: FloatArray, lam: FloatArray, above: FloatArray, count: FloatArray) -> None:
    """Posterior of parent, over message, to that of child (into `lam`), and their joint counts.

    Two or three parent states, the most frequent, go through memory once.
    """
    (k_parent, k), size = rows.shape, lam.shape[1]
    mixed = np.empty(0 if k_parent in (2, 3) else size)
    columns = rows.T.copy()
    for s in range(k):
        if k_parent == 2:
            _spread_two(columns[s], above, lam[s], count[:, s])
        elif k_parent == 3:
            _spread_three(columns[s], above, lam[s], count[:, s])
        else:
            for p in range(k_parent):
                count[p, s] += rows[p, s] * _dot(above[p], lam[s])
            _mix(columns[s], above, mixed)
            for u in range(size):
                lam[s, u] *= mixed[u]


@_summing
def _spread_two(share: FloatArray, above: FloatArray, lam: FloatArray, count: FloatArray) -> None:
    """One state of `_spread` with two parent states."""
    one = two = 0.0
    for u in range(len(lam)):
        x, y, z = above[0, u], above[1, u], lam[u]
        one += x * z
        two += y * z
        lam[u] = z * (share[0] * x + share[1] * y)
    count[0] += share[0] * one
    count[1] += share[1] * two


@_summing
def _spread_three(share: FloatArray, above: FloatArray, lam: FloatArray, count: FloatArray) -> None:
    """One state of `_spread` with three parent states."""
    one = two = three = 0.0
    for u in range(len(lam)):
        x, y, w, z = above[0, u], above[1, u], above[2, u], lam[u]
        one += x * z
        two += y * z
        three += w * z
        lam[u] = z * (share[0] * x + share[1] * y + share[2] * w)
    count[0] += share[0] * one
    count[1] += share[1] * two
    count[2] += share[2] * three


@_compiled
def _mix(share: FloatArray, parts: FloatArray, out: FloatArray) -> None:
    """out = share @ parts, three parts at a time: numbers are few, and rows are long."""
    k, size = parts.shape
    done = k % 3
    if done == 0:
        done = 3
        for u in range(size):
            out[u] = share[0] * parts[0, u] + share[1] * parts[1, u] + share[2] * parts[2, u]
    elif done == 2:
        for u in range(size):
            out[u] = share[0] * parts[0, u] + share[1] * parts[1, u]
    else:
        for u in range(size):
            out[u] = share[0] * parts[0, u]
    for s in range(done, k, 3):
        for u in range(size):
            out[u] += (
                share[s] * parts[s, u]
                + share[s + 1] * parts[s + 1, u]
                + share[s + 2] * parts[s + 2, u]
            )


@_summing
def _dot(a: FloatArray, b: FloatArray) -> float:
    """Sum of products."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@_compiled
def expect(
    program: Program, theta: FloatArray, weight: FloatArray, static: Numbers, numbers: Numbers,
    above: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Expected counts and log-likelihood of a block, for each row of `theta`.

    `numbers` and `above` are room to work in; exponents are 0 before and after.
    """
    n_starts = len(theta)
    counts = np.zeros(theta.shape)
    total = np.zeros(n_starts)
    root = len(program.k) - 1
    k, lam, size = program.k[root], program.lam[root], program.size[root]
    own = numbers.value[lam : lam + k * size].reshape((k, size))
    for start in range(n_starts):
        upward(program, theta[start], numbers, static)
        x, e = root_posterior(program, theta[start], numbers, own)
        total[start] = _sum_logs(x, e, weight)
        for s in range(k):
            counts[start, s] = _dot(own[s], weight)
            for u in range(size):
                own[s, u] *= weight[u]
        downward(program, theta[start], numbers, above, counts[start])
        for site in range(root + 1):
            if numbers.scaled[site]:
                end = program.message[site] + program.k_parent[site] * program.size[site]
                numbers.exponent[program.lam[site] : end] = 0
                numbers.scaled[site] = False
    return counts, total


@_compiled
def edge_posterior(
    given: FloatArray, ids: CodeArray, table: FloatArray, program: Program, site: int,
    numbers: Numbers,
) -> FloatArray:  # fmt: skip
    """Posterior of a node in each row, from its parent's."""
    k_parent, k = table.shape
    size, lam, message = program.size[site], program.lam[site], program.message[site]
    out = np.zeros((len(ids), k))
    for i in range(len(ids)):
        u = ids[i]
        if program.evidence[site] and u < k:
            for p in range(k_parent):
                out[i, u] += given[i, p]
            continue
        for p in range(k_parent):
            share = given[i, p]
            if share == 0.0:
                continue
            if program.evidence[site]:
                for s in range(k):
                    out[i, s] += share * table[p, s]
                continue
            share /= numbers.value[message + p * size + u]
            for s in range(k):
                x = share * numbers.value[lam + s * size + u] * table[p, s]
                if numbers.scaled[site] and x > 0.0:
                    top = numbers.exponent[message + p * size + u]
                    x = _shift(x, numbers.exponent[lam + s * size + u] - top)
                out[i, s] += x
    return out
