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

import math
from typing import NamedTuple

import numpy as np

from latentclass._types import BoolArray, FloatArray, IndexArray
from latentclass.engine._compiled import compiled, inner
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
    tables, start = [], 0
    for rows, columns in _shapes(region):
        tables.append(theta[start : start + rows * columns].reshape(rows, columns))
        start += rows * columns
    return tables


def _shapes(region: Region) -> list[tuple[int, int]]:
    shapes = [(1, region.k)] if region.free_prior else []
    if region.k_new:
        shapes.append((region.k, region.k_new))
    return shapes + [(region.k_new or region.k, k) for k in region.k_in.tolist()]


class _Room(NamedTuple):
    """Memory for one call, and where the parts of it are; matrices are stored row by row.

    It holds messages and summed posteriors of the inputs (`message`, `sums`, `start`), of the
    groups (`product`, `group_sums`, `group_start`) and of W (`new_message`, `new_sums`); then
    P(y, row) (`joint`), its sum p(row), and the logarithm of the number by which each row was
    divided (`scale`). `rows` and `columns` are the shapes of the learned tables.
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
    rows: IndexArray
    columns: IndexArray


def _make_room(region: Region) -> _Room:
    n_rows, above = len(region.weight), region.k_new or region.k
    start, group_start = (
        np.concatenate([[0], np.cumsum(above * sizes)]).astype(np.intp)
        for sizes in (region.size, region.group_size)
    )
    n_new = region.k * int(region.group_size[0]) if region.k_new else 0
    n_joint = 0 if len(region.bounds) else region.k * n_rows
    rows, columns = np.array(_shapes(region), dtype=np.intp).T.copy()
    return _Room(
        np.empty(start[-1]), np.empty(start[-1]), start,
        np.empty(group_start[-1]), np.empty(group_start[-1]), group_start,
        np.empty(n_new), np.empty(n_new), np.empty(n_joint), np.empty(n_rows), np.zeros(n_rows),
        rows, columns,
    )  # fmt: skip


def region_log_likelihood(region: Region, theta: FloatArray) -> float:
    """Weighted sum of log p(row) of equation (a) or (b), with the given tables."""
    return local_em(region, theta[None], 0, 0.0)[1]


def local_em(
    region: Region, starts: FloatArray, max_iter: int, tol: float
) -> tuple[FloatArray, float]:
    """Run EM from several starts of shape (S, n_entries); the best tables and log-likelihood.

    The start that remains after halving stops when a step gains less than `tol`, or after
    `max_iter` steps in total.
    """
    theta, counts, value = starts.copy(), np.empty(starts.shape), np.empty(len(starts))
    best = _run(region, _make_room(region), theta, counts, value, max_iter, tol)
    return theta[best], float(value[best])


# The kernels take flat arrays and views of one row: these compile faster than matrices.


@inner()
def _add_times(out: FloatArray, x: float, row: FloatArray, first: bool) -> None:
    """Add x times a row to `out`, which the first one overwrites."""
    if first:
        for u in range(len(out)):
            out[u] = x * row[u]
    else:
        for u in range(len(out)):
            out[u] += x * row[u]


@inner()
def _divide(sums: FloatArray, message: FloatArray) -> None:
    """Divide sums of posteriors by messages; where a message is 0, the posterior is 0 as well."""
    for u in range(len(sums)):
        sums[u] = sums[u] / message[u] if message[u] > 0.0 else 0.0


@inner()
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


@inner()
def _add_up(total: FloatArray, n: int, own: FloatArray, ids: PlaceArray, k: int) -> None:
    """total[s, t] = sum of own[s, u] over the u with ids[u] = t; k rows of n and of len(ids)."""
    size = len(ids)
    for t in range(len(total)):
        total[t] = 0.0
    s = 0
    while s < k:  # two sums together, since additions to one number wait for each other
        one, first = total[s * n : s * n + n], own[s * size : s * size + size]
        if s + 1 < k:
            two = total[s * n + n : s * n + 2 * n]
            second = own[s * size + size : s * size + 2 * size]
            for u in range(size):
                t = ids[u]
                one[t] += first[u]
                two[t] += second[u]
        else:
            for u in range(size):
                one[ids[u]] += first[u]
        s += 2


@inner()
def _message(region: Region, i: int, table: FloatArray, above: int, out: FloatArray) -> None:
    """m_Z of input i; for a leaf the entry of the observed state, and 1 for a missing cell."""
    k, size, begin = region.k_in[i], region.size[i], region.evidence_start[i]
    for p in range(above):
        row = out[p * size : p * size + size]
        if region.leaf[i]:
            for s in range(k):
                row[s] = table[p * k + s]
            row[k] = 1.0
            continue
        for s in range(k):
            given = region.evidence[begin + s * size : begin + s * size + size]
            _add_times(row, table[p * k + s], given, s == 0)


@inner()
def _products(region: Region, theta: FloatArray, first: int, above: int, room: _Room) -> None:
    """m_Z(y) = sum_z P(z | y) e_Z(z) of each input, and their product in each group.

    With W, the states are those of W instead of y.
    """
    place, before = first, -1
    for i in range(len(region.k_in)):
        size, g, ids_start = region.size[i], region.group[i], region.ids_start[i]
        end = place + above * region.k_in[i]
        out = room.message[room.start[i] : room.start[i + 1]]
        _message(region, i, theta[place:end], above, out)
        place = end
        n, start = region.group_size[g], room.group_start[g]
        ids = region.ids[ids_start : ids_start + n]
        for s in range(above):
            row = room.product[start + s * n : start + s * n + n]
            given = out[s * size : s * size + size]
            if g != before:
                for t in range(n):
                    row[t] = given[ids[t]]
            else:
                for t in range(n):
                    row[t] *= given[ids[t]]
        before = g


@inner()
def _count_inputs(
    region: Region, theta: FloatArray, first: int, above: int, counts: FloatArray, room: _Room
) -> None:
    """Counts of the tables of the inputs, equation (c), from the posteriors of the groups."""
    place = first
    for i in range(len(region.k_in)):
        k, size, g = region.k_in[i], region.size[i], region.group[i]
        start, begin = region.ids_start[i], region.evidence_start[i]
        sums = room.sums[room.start[i] : room.start[i + 1]]
        own = room.group_sums[room.group_start[g] : room.group_start[g + 1]]
        _add_up(sums, size, own, region.ids[start : start + region.group_size[g]], above)
        message = room.message[room.start[i] : room.start[i + 1]]
        if not region.leaf[i]:
            _divide(sums, message)
        for p in range(above):
            row = sums[p * size : p * size + size]
            for s in range(k):
                x = theta[place]
                if region.leaf[i]:
                    counts[place] = row[s] + row[k] * x
                else:
                    given = region.evidence[begin + s * size : begin + s * size + size]
                    counts[place] = x * _dot(row, given)
                place += 1


@inner()
def _count_new(
    theta: FloatArray, counts: FloatArray, k: int, k_new: int, n: int, room: _Room
) -> None:
    """Counts of P(W | Y), and the posteriors of W summed over the rows of each pattern."""
    _divide(room.new_sums, room.new_message)
    for t in range(k_new):
        lam, own = room.product[t * n : t * n + n], room.group_sums[t * n : t * n + n]
        for s in range(k):
            row, x = room.new_sums[s * n : s * n + n], theta[s * k_new + t]
            counts[s * k_new + t] = x * _dot(row, lam)
            _add_times(own, x, row, s == 0)
        for u in range(n):
            own[u] *= lam[u]


@inner()
def _weight_over_p(weight: FloatArray, p: FloatArray, scale: FloatArray, want: bool) -> float:
    """Replace each p(row) by weight / p(row); return the log-likelihood if `want`, otherwise 0."""
    total = 0.0
    if want:
        for u in range(len(p)):
            if weight[u] > 0.0:
                total += weight[u] * (math.log(max(p[u], MIN_PROBABILITY)) + scale[u])
    for u in range(len(p)):
        p[u] = weight[u] / max(p[u], MIN_PROBABILITY)
    return total


@inner()
def _by_pattern(
    region: Region, message: FloatArray, sums: FloatArray, room: _Room, want: bool
) -> float:
    """Equations (a) and (b) for one group, with the rows sorted by its patterns.

    Writes the posteriors of the root, summed over the rows of each pattern, to `sums`. Returns the
    log-likelihood if `want`.
    """
    k, n, bounds = region.k, region.group_size[0], region.bounds
    for t in range(n):
        p = room.p[bounds[t] : bounds[t + 1]]
        for s in range(k):
            row = region.base[s, bounds[t] : bounds[t + 1]]
            _add_times(p, message[s * n + t], row, s == 0)
    total = _weight_over_p(region.weight, room.p, room.scale, want)
    for t in range(n):
        p = room.p[bounds[t] : bounds[t + 1]]
        for s in range(k):
            row = region.base[s, bounds[t] : bounds[t + 1]]
            sums[s * n + t] = message[s * n + t] * _dot(row, p)
    return total


@inner()
def _rescale(joint: FloatArray, k: int, scale: FloatArray) -> None:
    """Divide rows that have only small numbers by the largest, and add its logarithm to `scale`."""
    size = len(scale)
    for u in range(size):
        top = joint[u]
        for s in range(1, k):
            top = max(top, joint[s * size + u])
        if top > 0.0 and top < 1e-30:
            for s in range(k):
                joint[s * size + u] /= top
            scale[u] += math.log(top)


@inner()
def _join(
    region: Region, message: FloatArray, theta: FloatArray, joint: FloatArray, room: _Room
) -> None:
    """P(y, row) of equations (a) and (b), for any number of groups, and its sum p(row)."""
    k, n_rows = region.k, len(region.weight)
    for u in range(n_rows):
        room.scale[u] = 0.0
    for s in range(k):
        out, x = joint[s * n_rows : s * n_rows + n_rows], 1.0
        if region.free_prior:
            x = theta[s]
        for u in range(n_rows):
            out[u] = x
        if region.base.shape[1]:
            row = region.base[s]
            for u in range(n_rows):
                out[u] *= row[u]
    for g in range(len(region.group_size)):
        n, start, ids = region.group_size[g], room.group_start[g], region.group_ids[g]
        for s in range(k):
            out = joint[s * n_rows : s * n_rows + n_rows]
            row = message[start + s * n : start + s * n + n]
            for u in range(n_rows):
                out[u] *= row[ids[u]]
        if (g + 1) % RESCALE == 0:
            _rescale(joint, k, room.scale)
    for s in range(k):
        _add_times(room.p, 1.0, joint[s * n_rows : s * n_rows + n_rows], s == 0)


@inner()
def _by_row(
    region: Region, message: FloatArray, sums: FloatArray, theta: FloatArray, counts: FloatArray,
    room: _Room, want: bool,
) -> float:  # fmt: skip
    """As `_by_pattern`, row by row for any number of groups; also the counts of P(y)."""
    k, n_rows, joint, p = region.k, len(region.weight), room.joint, room.p
    _join(region, message, theta, joint, room)
    total = _weight_over_p(region.weight, p, room.scale, want)
    for s in range(k):
        row, x = joint[s * n_rows : s * n_rows + n_rows], 0.0
        for u in range(n_rows):
            row[u] *= p[u]
            x += row[u]
        if region.free_prior:
            counts[s] = x
    for g in range(len(region.group_size)):
        n, start = region.group_size[g], room.group_start[g]
        _add_up(sums[start : start + k * n], n, joint, region.group_ids[g], k)
    return total


@inner()
def _expect(
    region: Region, theta: FloatArray, counts: FloatArray, room: _Room, want: bool
) -> float:
    """Expected counts of the learned tables; returns the log-likelihood if `want`, otherwise 0."""
    k, k_new = region.k, region.k_new
    first = k if region.free_prior else 0
    inputs = first + k * k_new
    above = k_new if k_new else k
    _products(region, theta, inputs, above, room)
    message, sums, n = room.product, room.group_sums, region.group_size[0]
    if k_new:  # its messages take the place of those of the one group
        message, sums = room.new_message, room.new_sums
        for s in range(k):
            for t in range(k_new):
                x, row = theta[first + s * k_new + t], room.product[t * n : t * n + n]
                _add_times(message[s * n : s * n + n], x, row, t == 0)
    if len(region.bounds):
        total = _by_pattern(region, message, sums, room, want)
    else:
        total = _by_row(region, message, sums, theta, counts, room, want)
    if k_new:
        _count_new(theta[first:inputs], counts[first:inputs], k, k_new, n, room)
    _count_inputs(region, theta, inputs, above, counts, room)
    return total


@inner()
def _maximise(room: _Room, counts: FloatArray, theta: FloatArray) -> None:
    """The M-step: every distribution becomes the shares of its counts."""
    begin = 0
    for table in range(len(room.rows)):
        k = room.columns[table]
        for _ in range(room.rows[table]):
            total = 0.0
            for s in range(begin, begin + k):
                total += counts[s]
            for s in range(begin, begin + k):
                theta[s] = counts[s] / total if total > MIN_WEIGHT else 1.0 / k
            begin += k


@inner()
def _sort(alive: IndexArray, value: FloatArray) -> None:
    """Order starts by falling value; equal ones stay in their order. There are few."""
    for a in range(1, len(alive)):
        i = alive[a]
        while a > 0 and value[alive[a - 1]] < value[i]:
            alive[a] = alive[a - 1]
            a -= 1
        alive[a] = i


@compiled()
def _run(
    region: Region, room: _Room, theta: FloatArray, counts: FloatArray, value: FloatArray,
    max_iter: int, tol: float,
) -> int:  # fmt: skip
    """`local_em` in place: `value` gets the log-likelihoods. Returns the number of the best."""
    alive = np.arange(len(theta))
    done, n_steps, length, before = 0, 0, 1, -np.inf
    while True:
        for i in alive:
            for step in range(max(n_steps, 1)):
                if n_steps:
                    _maximise(room, counts[i], theta[i])
                value[i] = _expect(region, theta[i], counts[i], room, step >= n_steps - 1)
        done += n_steps
        last = len(alive) == 1
        if n_steps and last and value[alive[0]] - before < tol * n_steps:
            break
        _sort(alive, value)
        if n_steps and not last:
            alive = alive[: (len(alive) + 1) // 2]
        if done >= max_iter:
            break
        before = value[alive[0]]
        n_steps = min(STEPS if len(alive) == 1 else length, max_iter - done)
        length *= 2
    return int(alive[0])
