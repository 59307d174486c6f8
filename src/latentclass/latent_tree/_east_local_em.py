"""Local EM in a small region of a tree, for one candidate move and many starts.

Local EM keeps the unchanged part of the tree fixed and learns only the tables that a move changes
(section 3.2 of Wang, Zhang, Chen and Poon 2011). The root of a region is a node Y of the tree with
k states. Its inputs are the nodes Z whose tables are learned. Each input has evidence e_Z(z) about
its states from its side of the tree: the code of a leaf, or a vector per row for a latent node. If
the move adds a latent node W, it hangs from Y and the inputs hang from W, and P(W | Y) is learned
too. The rest of the tree gives a fixed factor base(y) for each row, so that

    p(row) = sum_y base(y) P(y) prod_Z [sum_z P(z | y) e_Z(z)]                  without W   (a)
    p(row) = sum_y base(y) sum_w P(w | y) prod_Z [sum_z P(z | w) e_Z(z)]        with W      (b)

If P(y) is not learned, it is part of base(y). The E-step adds up the posterior of each learned
table, for example

    P(y, z | row) = base(y) P(y) P(z | y) e_Z(z) prod of the other inputs / p(row).             (c)

Inputs that have few patterns together form a group, whose product is computed once per pattern
instead of once per row. In a region with one group, the rows are sorted by pattern, so that the
inner loops run over rows that share a message.

After 1, 2, 4, ... steps the worse half of the starts is dropped, as in `engine/_em.run_restarts`.
This is compiled too, because a candidate takes only about a millisecond.

This module loads numba; import it only where a tree is searched for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled
from latentclass.latent_tree._row_patterns import PlaceArray

RESCALE = 8
"""Number of groups after which the numbers of a row are divided by the largest of them."""

MIN_WEIGHT = 1e-200
"""A state with less weight than this counts as empty, and its distributions become uniform."""

MIN_PROBABILITY = 1e-200
"""Smallest probability of a row, for rows that are impossible."""

STEPS = 4
"""Number of steps after which the gain of the last remaining start is checked."""


class Region(NamedTuple):
    """A region as arrays, for the kernels; R is the number of rows.

    Attributes
    ----------
    k : int
        Number of states of the root.
    base : array of shape (k, R)
        The fixed factor; of shape (k, 0) if there is none.
    weight : array of shape (R,)
    free_prior : bool
        Whether the distribution of the root is learned.
    k_new : int
        Number of states of W; 0 if there is no W.
    group_size : array of int
        Number of patterns of each group. With W there is one group.
    group_ids : array of shape (n_groups, R)
        Pattern of each group in each row.
    bounds : array of int
        With one group and a `base`: where the rows of each pattern start, followed by R. Otherwise
        empty.
    group : array of int
        Group of each input; the inputs of a group are consecutive.
    k_in : array of int
        Number of states of each input.
    leaf : array of bool
        Whether the input is a leaf, whose patterns are the codes and k_in for a missing cell.
    size : array of int
        Number of patterns of each input.
    ids, ids_start : arrays
        Pattern of each input in each pattern of its group, and where those of each input start.
    evidence, evidence_start : arrays
        e_Z of each input, (k_in, size), and where it starts; empty for a leaf.
    """

    k: int
    base: FloatArray
    weight: FloatArray
    free_prior: bool
    k_new: int
    group_size: IndexArray
    group_ids: PlaceArray
    bounds: IndexArray
    group: IndexArray
    k_in: IndexArray
    leaf: BoolArray
    size: IndexArray
    ids: PlaceArray
    ids_start: IndexArray
    evidence: FloatArray
    evidence_start: IndexArray


def n_entries(region: Region) -> int:
    """Number of entries of all learned tables: P(Y), P(W | Y), then the table of each input."""
    prior = region.k if region.free_prior else 0
    above = region.k_new or region.k
    return int(prior + region.k * region.k_new + np.sum(above * region.k_in))


def split_tables(region: Region, theta: FloatArray) -> list[FloatArray]:
    """A flat array of entries as tables: P(Y) and P(W | Y) if learned, then those of the inputs."""
    shapes = [(1, region.k)] if region.free_prior else []
    if region.k_new:
        shapes.append((region.k, region.k_new))
    shapes += [(region.k_new or region.k, k) for k in region.k_in.tolist()]
    tables, start = [], 0
    for rows, columns in shapes:
        tables.append(theta[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return tables


class _Room(NamedTuple):
    """Memory for one call.

    It holds messages and summed posteriors of the inputs (`message`, `sums`, `start`), of the
    groups (`product`, `group_sums`, `group_start`) and of W (`new_message`, `new_sums`); then
    P(y, row) (`joint`), its sum p(row), and the logarithm of the number by which each row was
    divided (`scale`).
    """

    message: FloatArray
    sums: FloatArray
    start: IndexArray
    product: FloatArray
    group_sums: FloatArray
    group_start: IndexArray
    new_message: FloatArray
    new_sums: FloatArray
    joint: FloatArray
    p: FloatArray
    scale: FloatArray


@compiled()
def _make_room(region: Region) -> _Room:
    n_rows, n_in, n_groups = len(region.weight), len(region.k_in), len(region.group_size)
    above = region.k_new if region.k_new else region.k
    start = np.zeros(n_in + 1, dtype=np.intp)
    for i in range(n_in):
        start[i + 1] = start[i] + above * region.size[i]
    group_start = np.zeros(n_groups + 1, dtype=np.intp)
    for g in range(n_groups):
        group_start[g + 1] = group_start[g] + above * region.group_size[g]
    n_new = region.group_size[0] if region.k_new else 0
    n_joint = 0 if len(region.bounds) else n_rows
    return _Room(
        np.empty(start[n_in]), np.empty(start[n_in]), start,
        np.empty(group_start[n_groups]), np.empty(group_start[n_groups]), group_start,
        np.empty((region.k, n_new)), np.empty((region.k, n_new)),
        np.empty((region.k, n_joint)), np.empty(n_rows), np.zeros(n_rows),
    )  # fmt: skip


@compiled()
def _products(region: Region, theta: FloatArray, first: int, room: _Room) -> None:
    """m_Z(y) = sum_z P(z | y) e_Z(z) of each input, and their product in each group.

    With W, the states are those of W instead of y.
    """
    above = region.k_new if region.k_new else region.k
    place, before = first, -1
    for i in range(len(region.k_in)):
        k, size = region.k_in[i], region.size[i]
        table = theta[place : place + above * k].reshape((above, k))
        place += above * k
        out = room.message[room.start[i] : room.start[i + 1]].reshape((above, size))
        _message(region, i, table, out)
        g = region.group[i]
        n = region.group_size[g]
        product = room.product[room.group_start[g] : room.group_start[g + 1]].reshape((above, n))
        ids = region.ids[region.ids_start[i] : region.ids_start[i] + n]
        for s in range(above):
            row, given = product[s], out[s]
            if g != before:
                for t in range(n):
                    row[t] = given[ids[t]]
            else:
                for t in range(n):
                    row[t] *= given[ids[t]]
        before = g


@compiled()
def _message(region: Region, i: int, table: FloatArray, out: FloatArray) -> None:
    """m_Z of input i; for a leaf the entry of the observed state, and 1 for a missing cell."""
    above, k = table.shape
    size = region.size[i]
    if region.leaf[i]:
        for p in range(above):
            for s in range(k):
                out[p, s] = table[p, s]
            out[p, k] = 1.0
        return
    begin = region.evidence_start[i]
    given = region.evidence[begin : begin + k * size].reshape((k, size))
    for p in range(above):
        row = out[p]
        x = table[p, 0]
        for u in range(size):
            row[u] = x * given[0, u]
        for s in range(1, k):
            x = table[p, s]
            for u in range(size):
                row[u] += x * given[s, u]


@compiled()
def _rescale(product: FloatArray, scale: FloatArray) -> None:
    """Divide rows that have only small numbers by the largest, and add its logarithm to `scale`."""
    k, size = product.shape
    for u in range(size):
        top = product[0, u]
        for s in range(1, k):
            top = max(top, product[s, u])
        if top > 0.0 and top < 1e-30:
            for s in range(k):
                product[s, u] /= top
            scale[u] += np.log(top)


@compiled()
def _add_up(total: FloatArray, own: FloatArray, ids: PlaceArray) -> None:
    """total[s, t] = sum of own[s, u] over the u with ids[u] = t."""
    k, size = own.shape
    total[:] = 0.0
    s = 0
    while s + 2 <= k:  # two sums together, since additions to one number wait for each other
        one, two, first, second = total[s], total[s + 1], own[s], own[s + 1]
        for u in range(size):
            t = ids[u]
            one[t] += first[u]
            two[t] += second[u]
        s += 2
    if s < k:
        one, first = total[s], own[s]
        for u in range(size):
            one[ids[u]] += first[u]


@compiled()
def _count_inputs(
    region: Region, theta: FloatArray, first: int, counts: FloatArray, room: _Room
) -> None:
    """Counts of the tables of the inputs, equation (c), from the posteriors of the groups."""
    above = region.k_new if region.k_new else region.k
    place = first
    for i in range(len(region.k_in)):
        k, size, g = region.k_in[i], region.size[i], region.group[i]
        n = region.group_size[g]
        own = room.group_sums[room.group_start[g] : room.group_start[g + 1]].reshape((above, n))
        sums = room.sums[room.start[i] : room.start[i + 1]].reshape((above, size))
        _add_up(sums, own, region.ids[region.ids_start[i] : region.ids_start[i] + n])
        table = theta[place : place + above * k].reshape((above, k))
        count = counts[place : place + above * k].reshape((above, k))
        place += above * k
        if region.leaf[i]:
            for p in range(above):
                for s in range(k):
                    count[p, s] = sums[p, s] + sums[p, k] * table[p, s]
            continue
        message = room.message[room.start[i] : room.start[i + 1]].reshape((above, size))
        begin = region.evidence_start[i]
        given = region.evidence[begin : begin + k * size].reshape((k, size))
        for p in range(above):
            for u in range(size):
                sums[p, u] = sums[p, u] / message[p, u] if message[p, u] > 0.0 else 0.0
            for s in range(k):
                count[p, s] = table[p, s] * _dot(sums[p], given[s])


@compiled()
def _dot(a: FloatArray, b: FloatArray) -> float:
    """Sum of products, in four partial sums, because a single one would wait for each addition."""
    n = len(a) // 4 * 4
    one = two = three = four = 0.0
    for i in range(0, n, 4):
        one += a[i] * b[i]
        two += a[i + 1] * b[i + 1]
        three += a[i + 2] * b[i + 2]
        four += a[i + 3] * b[i + 3]
    for i in range(n, len(a)):
        one += a[i] * b[i]
    return (one + two) + (three + four)


@compiled()
def _expect(
    region: Region, theta: FloatArray, counts: FloatArray, room: _Room, want: bool
) -> float:
    """Expected counts of the learned tables; returns the log-likelihood if `want`, otherwise 0."""
    k, k_new = region.k, region.k_new
    first = k if region.free_prior else 0
    inputs = first + k * k_new
    _products(region, theta, inputs, room)
    if k_new:
        n = region.group_size[0]
        transfer = theta[first:inputs].reshape((k, k_new))
        lam = room.product.reshape((k_new, n))
        for s in range(k):
            out = room.new_message[s]
            out[:] = 0.0
            for t in range(k_new):
                x, row = transfer[s, t], lam[t]
                for u in range(n):
                    out[u] += x * row[u]
    total = (
        _by_pattern(region, room, want)
        if len(region.bounds)
        else _by_row(region, theta, counts, room, want)
    )
    if k_new:
        _count_new(region, theta, first, counts, room)
    _count_inputs(region, theta, inputs, counts, room)
    return total


@compiled()
def _by_pattern(region: Region, room: _Room, want: bool) -> float:
    """Equations (a) and (b) for one group, with the rows sorted by its patterns.

    Writes the posteriors of the root, summed over the rows of each pattern, to the sums of the
    group or of W. Returns the log-likelihood if `want`.
    """
    k, n = region.k, region.group_size[0]
    message = room.new_message if region.k_new else room.product.reshape((k, n))
    sums = room.new_sums if region.k_new else room.group_sums.reshape((k, n))
    base, p, weight = region.base, room.p, region.weight
    for t in range(n):
        start, end = region.bounds[t], region.bounds[t + 1]
        if start == end:
            for s in range(k):
                sums[s, t] = 0.0
            continue
        x, row = message[0, t], base[0]
        for u in range(start, end):
            p[u] = x * row[u]
        for s in range(1, k):
            x, row = message[s, t], base[s]
            for u in range(start, end):
                p[u] += x * row[u]
    total = _weight_over_p(weight, p, room.scale, want)
    for t in range(n):
        start, end = region.bounds[t], region.bounds[t + 1]
        if start < end:
            for s in range(k):
                sums[s, t] = message[s, t] * _dot(base[s, start:end], p[start:end])
    return total


@compiled()
def _by_row(
    region: Region, theta: FloatArray, counts: FloatArray, room: _Room, want: bool
) -> float:
    """Equations (a) and (b) row by row, for any number of groups, and the counts of P(y).

    Writes the posteriors of the root, summed over the rows of each pattern, to the sums of the
    groups or of W. Returns the log-likelihood if `want`.
    """
    k, n_rows, joint, p = region.k, len(region.weight), room.joint, room.p
    room.scale[:] = 0.0
    for s in range(k):
        prior = theta[s] if region.free_prior else 1.0
        if region.base.shape[1]:
            for u in range(n_rows):
                joint[s, u] = prior * region.base[s, u]
        else:
            for u in range(n_rows):
                joint[s, u] = prior
    for g in range(len(region.group_size)):
        n = region.group_size[g]
        message = room.product[room.group_start[g] : room.group_start[g + 1]].reshape((-1, n))
        if region.k_new:
            message = room.new_message
        ids = region.group_ids[g]
        for s in range(k):
            out, row = joint[s], message[s]
            for u in range(n_rows):
                out[u] *= row[ids[u]]
        if (g + 1) % RESCALE == 0:
            _rescale(joint, room.scale)
    p[:] = 0.0
    for s in range(k):
        for u in range(n_rows):
            p[u] += joint[s, u]
    total = _weight_over_p(region.weight, p, room.scale, want)
    for s in range(k):
        x = 0.0
        for u in range(n_rows):
            joint[s, u] *= p[u]
            x += joint[s, u]
        if region.free_prior:
            counts[s] = x
    for g in range(len(region.group_size)):
        if region.k_new:
            _add_up(room.new_sums, joint, region.group_ids[g])
            continue
        sums = room.group_sums[room.group_start[g] : room.group_start[g + 1]]
        _add_up(sums.reshape((k, region.group_size[g])), joint, region.group_ids[g])
    return total


@compiled()
def _weight_over_p(weight: FloatArray, p: FloatArray, scale: FloatArray, want: bool) -> float:
    """Replace each p(row) by weight / p(row); return the log-likelihood if `want`, otherwise 0."""
    total = 0.0
    if want:
        for u in range(len(p)):
            if weight[u] > 0.0:
                total += weight[u] * (np.log(max(p[u], MIN_PROBABILITY)) + scale[u])
    for u in range(len(p)):
        p[u] = weight[u] / max(p[u], MIN_PROBABILITY)
    return total


@compiled()
def _count_new(
    region: Region, theta: FloatArray, first: int, counts: FloatArray, room: _Room
) -> None:
    """Counts of P(W | Y), and the posteriors of W summed over the rows of each pattern."""
    k, k_new, size = region.k, region.k_new, region.group_size[0]
    inputs = first + k * k_new
    transfer = theta[first:inputs].reshape((k, k_new))
    count = counts[first:inputs].reshape((k, k_new))
    sums, message = room.new_sums, room.new_message
    lam, own = room.product.reshape((k_new, size)), room.group_sums.reshape((k_new, size))
    for s in range(k):
        for u in range(size):
            sums[s, u] = sums[s, u] / message[s, u] if message[s, u] > 0.0 else 0.0
        for t in range(k_new):
            count[s, t] = transfer[s, t] * _dot(sums[s], lam[t])
    for t in range(k_new):
        out = own[t]
        out[:] = 0.0
        for s in range(k):
            x, row = transfer[s, t], sums[s]
            for u in range(size):
                out[u] += x * row[u]
        for u in range(size):
            out[u] *= lam[t, u]


@compiled()
def _maximise(region: Region, counts: FloatArray, theta: FloatArray) -> None:
    """The M-step: every distribution becomes the shares of its counts."""
    place = 0
    if region.free_prior:
        _share(counts, theta, 0, 1, region.k)
        place = region.k
    if region.k_new:
        _share(counts, theta, place, region.k, region.k_new)
        place += region.k * region.k_new
    above = region.k_new if region.k_new else region.k
    for i in range(len(region.k_in)):
        _share(counts, theta, place, above, region.k_in[i])
        place += above * region.k_in[i]


@compiled()
def _share(counts: FloatArray, theta: FloatArray, first: int, rows: int, k: int) -> None:
    """The M-step for one table."""
    for row in range(rows):
        begin = first + row * k
        total = 0.0
        for s in range(begin, begin + k):
            total += counts[s]
        for s in range(begin, begin + k):
            theta[s] = counts[s] / total if total > MIN_WEIGHT else 1.0 / k


@compiled()
def region_log_likelihood(region: Region, theta: FloatArray) -> float:
    """Weighted sum of log p(row) of equation (a) or (b), with the given tables."""
    return _expect(region, theta, np.empty(len(theta)), _make_room(region), True)


@compiled()
def local_em(
    region: Region, starts: FloatArray, max_iter: int, tol: float
) -> tuple[FloatArray, float]:
    """Run EM from several starts of shape (S, n_entries); the best tables and log-likelihood.

    The start that remains after halving stops when a step gains less than `tol`, or after
    `max_iter` steps in total.
    """
    room = _make_room(region)
    theta, counts = starts.copy(), np.empty(starts.shape)
    value = np.empty(len(starts))
    for i in range(len(starts)):
        value[i] = _expect(region, theta[i], counts[i], room, True)
    alive = np.argsort(-value, kind="mergesort")
    done, length = 0, 1
    while done < max_iter:
        last = len(alive) == 1
        n_steps = min(STEPS if last else length, max_iter - done)
        before = value[alive[0]]
        for i in alive:
            for step in range(n_steps):
                _maximise(region, counts[i], theta[i])
                value[i] = _expect(region, theta[i], counts[i], room, step == n_steps - 1)
        done += n_steps
        length *= 2
        if last:
            if value[alive[0]] - before < tol * n_steps:
                break
        else:
            order = np.argsort(-value[alive], kind="mergesort")
            alive = alive[order[: (len(alive) + 1) // 2]]
    best = alive[np.argmax(value[alive])]
    return theta[best], value[best]
