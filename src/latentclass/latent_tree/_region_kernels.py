"""Local EM in a region of a tree, compiled; the equations are in `_east_local_em`."""

from __future__ import annotations

import math

import numpy as np

from latentclass._types import FloatArray
from latentclass.engine._compiled import compiled
from latentclass.latent_tree._loop_kernels import ONE, add_up, dot, inlined_loop, inner_loop, mix
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._schedule import OffsetArray

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


@inner_loop
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
                mix(
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


@inner_loop
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
        add_up(room, sums, size, own, places, inputs[i, IDS], above, groups[g, 0])
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
                    counts[table + s] = x * dot(room, row, evidence, given, size)
            table += k


@inner_loop
def _divide(room: FloatArray, sums: int, message: int, n: int) -> None:
    """Divide sums of posteriors by messages; where a message is 0, the posterior is 0 as well."""
    for u in range(n):
        x = room[message + u]
        room[sums + u] = room[sums + u] / x if x > 0.0 else 0.0


@inner_loop
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


@inner_loop
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
        mix(room, p + begin, room, message + t, n, base, begin, n_rows, k, size)
    total = _weight_over_p(head, weight, room, len(bounds) == 0, want)
    for t in range(n):
        begin, size = bounds[t], bounds[t + ONE] - bounds[t]
        for s in range(k):
            x = message + s * n + t
            sums_at = sums + s * n + t
            room[sums_at] = room[x] * dot(base, s * n_rows + begin, room, p + begin, size)
    return total


@inlined_loop
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


@inlined_loop
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
            mix(room, row, theta, entry, ONE, room, head[PRODUCT], n, k_new, n)
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
            add_up(room, own, groups[g, 0], head[JOINT], places, at, k, n_rows)
    if k_new:  # counts of P(W | Y), and the posteriors of W summed over the rows of each pattern
        _divide(room, sums, message, k * n)
        for s in range(k_new):
            lam, own = head[PRODUCT] + s * n, head[GROUP_SUMS] + s * n
            for y in range(k):
                entry = first + y * k_new + s
                counts[entry] = theta[entry] * dot(room, sums + y * n, room, lam, n)
            mix(room, own, theta, first + s, k_new, room, sums, n, k, n)
            for u in range(n):
                room[own + u] *= room[lam + u]
    _region_counts(head, inputs, groups, places, evidence, room, theta, table, above, counts)
    return total


@inner_loop
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
