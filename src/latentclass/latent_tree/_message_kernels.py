"""Compiled passes of tree inference, up and down, over the sites of a program.

The upward pass sums out the latent variables, which is the sum over Y_c in equation (1) of Wang,
Zhang, Chen and Poon (2011). It uses the λ messages of Pearl (1988, section 4.2): a node with
states s multiplies the messages of its inputs and sends one to its parent with states p,

    lam(s) = prod_i m_i(s),        m(p) = sum_s P(s | p) lam(s),
    p(row) = sum_s P(s) lam(s)     at the root.

The downward pass gives the posterior of each edge, whose sums over the rows are the expected
counts of EM:

    P(p, s | row) = P(p | row) P(s | p) lam(s) / m(p)

Here P(p | row) is already summed over the rows of a pattern.

Every number of a message has its own exponent (x * 2**(256 e)). So nothing underflows, however many
leaves there are, not even in a state that all leaves but one rule out.

All kernels are in this file because of how numba checks whether the machine code on disk is still
valid: it looks only at the file of the function itself, not at the files of functions it calls.
"""

from __future__ import annotations

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.engine._compiled import compiled, inner
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._schedule import Numbers, Program

BITS = 256
TINY, BIG = 2.0**-BITS, 2.0**BITS
LOG_BIG = BITS * float(np.log(2.0))

_compiled = compiled()
_inner = inner()
_summing = inner(fastmath={"reassoc"})
"""As `_inner`, but the compiler may reorder sums. The order is fixed in the machine code."""


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


@_compiled
def upward(program: Program, theta: FloatArray, numbers: Numbers, static: Numbers) -> None:
    """Compute lam and m of all moving sites, from the leaves to the root.

    All exponents must be 0 before.
    """
    for site in range(len(program.k)):
        if program.static[site]:
            continue
        if program.evidence[site]:
            _send_evidence(program, theta, numbers, site)
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        start = program.lam[site]
        lam = numbers.value[start : start + k * size].reshape((k, size))
        lam_e = numbers.exponent[start : start + k * size].reshape((k, size))
        scaled, floor = _collect(program, numbers, static, site, lam, lam_e)
        if table >= 0:
            k_parent, start = program.k_parent[site], program.message[site]
            end = start + k_parent * size
            conditional = theta[table : table + k_parent * k].reshape((k_parent, k))
            least = 1.0
            for entry in range(table, table + k_parent * k):
                if theta[entry] > 0.0:
                    least = min(least, theta[entry])
            floor *= least
            scaled = _send(
                conditional, lam, lam_e, scaled, floor < TINY,
                numbers.value[start:end].reshape((k_parent, size)),
                numbers.exponent[start:end].reshape((k_parent, size)),
            )  # fmt: skip
        numbers.scaled[site] = scaled
        numbers.floor[site] = max(floor, TINY)


@_inner
def _send_evidence(program: Program, theta: FloatArray, numbers: Numbers, site: int) -> None:
    """Message of observed states, m(p) = P(s | p) for each code s, and 1 for a missing cell.

    A site without a table is the evidence of an inner node: 1 in the observed state, 0 elsewhere.
    There are too few numbers here to make views of the arrays worth while.
    """
    k, size, table = program.k[site], program.size[site], program.table[site]
    start, floor = program.message[site], 1.0
    for p in range(program.k_parent[site]):
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


@_inner
def _collect(
    program: Program, numbers: Numbers, static: Numbers, site: int, lam: FloatArray,
    lam_e: CodeArray,
) -> tuple[bool, float]:  # fmt: skip
    """lam(s) = prod_i m_i(s) over a site's inputs; whether it has exponents, and its floor."""
    scaled, floor = False, 1.0
    begin, end = program.input_start[site], program.input_start[site + 1]
    edge = begin
    while edge < end:
        given, given_e, places, given_floor = _input(program, numbers, static, site, edge)
        floor *= given_floor
        # the product of three numbers that are at least 2**-256 does not underflow
        two = edge + 1 < end and not (program.straight[edge] or program.straight[edge + 1])
        if two:
            other, other_e, other_places, other_floor = _input(
                program, numbers, static, site, edge + 1
            )
            floor *= other_floor
            _multiply_two(lam, given, places, other, other_places, edge == begin)
        else:
            _multiply(lam, given, places, program.straight[edge], edge == begin)
        if floor < TINY:
            scaled |= _rescale(lam, lam_e)
            floor = TINY
        scaled |= _add_exponents(lam_e, given_e, places)
        if two:
            scaled |= _add_exponents(lam_e, other_e, other_places)
        edge += 2 if two else 1
    return scaled, floor


@_inner
def _input(
    program: Program, numbers: Numbers, static: Numbers, site: int, edge: int
) -> tuple[FloatArray, CodeArray, PlaceArray, float]:
    """The message of a site's input, its exponents (empty if all are 0), its places and floor."""
    source = program.inputs[edge]
    size = program.size[site]
    start = program.places_start[site] + (edge - program.input_start[site]) * size
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


@_inner
def _multiply(
    lam: FloatArray, given: FloatArray, places: PlaceArray, straight: bool, first: bool
) -> None:
    """lam(s) *= m(s) of one input, at its places; the first input is copied."""
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


@_inner
def _multiply_two(
    lam: FloatArray, one: FloatArray, one_places: PlaceArray,
    two: FloatArray, two_places: PlaceArray, first: bool,
) -> None:  # fmt: skip
    """lam(s) *= m_1(s) m_2(s) of two inputs, in one pass through memory."""
    k, size = lam.shape
    for s in range(k):
        if first:
            for u in range(size):
                lam[s, u] = one[s, one_places[u]] * two[s, two_places[u]]
        else:
            for u in range(size):
                lam[s, u] *= one[s, one_places[u]] * two[s, two_places[u]]


@_inner
def _rescale(lam: FloatArray, lam_e: CodeArray) -> bool:
    """Raise numbers to at least 2**-256 and lower their exponents; whether any was below."""
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


@_inner
def _add_exponents(lam_e: CodeArray, given_e: CodeArray, places: PlaceArray) -> bool:
    """Add the exponents of an input if it has any; whether it has."""
    for s in range(len(given_e)):
        for u in range(lam_e.shape[1]):
            lam_e[s, u] += given_e[s, places[u]]
    return len(given_e) > 0


@_inner
def _send(
    conditional: FloatArray, lam: FloatArray, lam_e: CodeArray, scaled: bool, may_be_low: bool,
    message: FloatArray, message_e: CodeArray,
) -> bool:  # fmt: skip
    """Message of a node, m(p) = sum_s P(s | p) lam(s); whether any number has an exponent.

    `scaled` says whether lam has exponents, `may_be_low` whether m may be below 2**-256.
    """
    (k_parent, k), size = conditional.shape, lam.shape[1]
    low = scaled
    if not scaled:
        for p in range(k_parent):
            _mix(conditional[p], lam, message[p])
            if may_be_low:
                for u in range(size):
                    low |= message[p, u] < TINY
    if not low:
        return False
    for p in range(k_parent):
        for u in range(size):
            if not scaled and message[p, u] >= TINY:
                continue
            # times BIG, so that no product underflows
            top, total = -(2**30), 0.0
            for s in range(k):
                if conditional[p, s] * BIG * lam[s, u] > 0.0:
                    top = max(top, lam_e[s, u])
            for s in range(k):
                x = conditional[p, s] * BIG * lam[s, u]
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
    """p(row) = sum_s P(s) lam(s) for each pattern of the root, as x * 2**(-256 e).

    Returns x and e; e is empty if all exponents are 1. The posteriors P(s) lam(s) / p(row) are
    written to `share`, which may be the root's `lam`. An impossible row has x = 0 and a posterior
    of 0 in every state.
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
    """log p(row) from the x and e of `root_posterior`; -inf where x is 0."""
    out = np.empty(len(x))
    for u in range(len(x)):
        lost = e[u] if len(e) else 1
        out[u] = np.log(x[u]) - lost * LOG_BIG if x[u] > 0.0 else -np.inf
    return out


@_inner
def _sum_logs(x: FloatArray, e: CodeArray, weight: FloatArray) -> float:
    """Sum of weight * log p(row); three neighbours of equal weight share one logarithm."""
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


@_inner
def _downward(
    program: Program, theta: FloatArray, numbers: Numbers, above: FloatArray, counts: FloatArray
) -> None:
    """Add up P(p, s | row) over the rows for every table but the root's, from the root down.

    Before, the root's `lam` must hold its posteriors. On the way, each site's `lam` is overwritten
    by the posteriors of its own states. `above` is laid out like `numbers`: where a site has its
    message, `above` has the posteriors of its parent's states, summed over the rows of each of the
    site's patterns.
    """
    for site in range(len(program.k) - 1, -1, -1):
        if program.static[site]:
            continue
        if program.evidence[site]:
            _count_evidence(program, theta, above, counts, site)
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        k_parent, start = program.k_parent[site], program.message[site]
        end = start + k_parent * size
        given = above[start:end].reshape((k_parent, size))
        first = program.lam[site]
        own = numbers.value[first : first + k * size].reshape((k, size))
        if table >= 0:
            conditional = theta[table : table + k_parent * k].reshape((k_parent, k))
            count = counts[table : table + k_parent * k].reshape((k_parent, k))
            _divide(given, numbers.value[start:end].reshape((k_parent, size)))
            if numbers.scaled[site]:
                own_e = numbers.exponent[first : first + k * size].reshape((k, size))
                message_e = numbers.exponent[start:end].reshape((k_parent, size))
                _spread_scaled(conditional, own, own_e, message_e, given, count)
            else:
                _spread(conditional, own, given, count)
        elif site < len(program.k) - 1:
            own = given
        _pass_down(program, site, own, above)


@_inner
def _count_evidence(
    program: Program, theta: FloatArray, above: FloatArray, counts: FloatArray, site: int
) -> None:
    """Counts of a leaf: P(p | row) in the observed state, P(p | row) P(s | p) if it is missing."""
    k, size, table = program.k[site], program.size[site], program.table[site]
    start = program.message[site]
    if table < 0:  # evidence of an inner node has no table
        return
    for p in range(program.k_parent[site]):
        missing = above[start + p * size + k]
        for s in range(k):
            entry = table + p * k + s
            counts[entry] += above[start + p * size + s] + missing * theta[entry]


@_inner
def _pass_down(program: Program, site: int, own: FloatArray, above: FloatArray) -> None:
    """Sum a site's posteriors over the rows of each pattern of its inputs."""
    k, size = own.shape
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


@_inner
def _add_up(below: FloatArray, own: FloatArray, places: PlaceArray) -> None:
    """below[s, t] = sum of own[s, u] over the u with places[u] = t.

    Three states are done together, because consecutive additions to the same number would wait for
    each other.
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


@_inner
def _divide(above: FloatArray, message: FloatArray) -> None:
    """P(p | row) / m(p); where the message is 0, the posterior is 0 as well."""
    k_parent, size = above.shape
    for p in range(k_parent):
        for u in range(size):
            above[p, u] /= message[p, u] if message[p, u] > 0.0 else 1.0


@_inner
def _spread_scaled(
    conditional: FloatArray, lam: FloatArray, lam_e: CodeArray, message_e: CodeArray,
    above: FloatArray, count: FloatArray,
) -> None:  # fmt: skip
    """As `_spread`, with exponents."""
    (k_parent, k), size = conditional.shape, lam.shape[1]
    for s in range(k):
        for u in range(size):
            total = 0.0
            for p in range(k_parent):
                joint = above[p, u] * lam[s, u] * conditional[p, s]
                if joint > 0.0:
                    joint = _shift(joint, lam_e[s, u] - message_e[p, u])
                    total += joint
                    count[p, s] += joint
            lam[s, u] = total


@_inner
def _spread(conditional: FloatArray, lam: FloatArray, above: FloatArray, count: FloatArray) -> None:
    """Posteriors of a node and counts of its table from `above`, which holds P(p | row) / m(p).

    Writes P(s | row) = lam(s) sum_p above(p) P(s | p) to `lam`, and adds the sum over the rows of
    above(p) P(s | p) lam(s) to `count`. The most frequent cases, two and three parent states, take
    one pass through memory.
    """
    (k_parent, k), size = conditional.shape, lam.shape[1]
    mixed = np.empty(0 if k_parent in (2, 3) else size)
    columns = conditional.T.copy()
    for s in range(k):
        if k_parent == 2:
            _spread_two(columns[s], above, lam[s], count[:, s])
        elif k_parent == 3:
            _spread_three(columns[s], above, lam[s], count[:, s])
        else:
            for p in range(k_parent):
                count[p, s] += conditional[p, s] * _dot(above[p], lam[s])
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


@_inner
def _mix(share: FloatArray, parts: FloatArray, out: FloatArray) -> None:
    """out = share @ parts, three parts at a time, for there are few parts and they are long."""
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
    """Expected counts and log-likelihood of a block of rows, for each start (row of `theta`).

    `numbers` and `above` are memory to work in. All exponents are 0 before and after.
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
        _downward(program, theta[start], numbers, above, counts[start])
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
    """P(s | row) = sum_p P(p | row) P(s | p) lam(s) / m(p), from the parent's P(p | row)."""
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
