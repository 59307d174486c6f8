"""Exact inference in trees of discrete variables: likelihood, posteriors, counts, completion.

Rows that agree in all columns below a node send the same message from there, so a message is
computed once for each distinct part of a row (a pattern), not for each row. Likewise on the way
back: posteriors of the rows that share a pattern are added up before they go down. The answer is
that of the two passes of Pearl's propagation for each row, and the cost is the number of patterns
instead of rows; near the leaves there are few of them.

The unit of work is a site: a node, or a group of a node's inputs that have few patterns together.
A site with states s multiplies what its inputs say about them (`lam`); a node's site then sends
the message m(p) = sum_s P(s | p) lam(s) to its parent with states p. Given the parent's posterior
P(p | row), summed over the rows of a pattern, the way back needs no division by other messages:

    P(p, s | row) = P(p | row) P(s | p) lam(s) / m(p)

Every number of a message carries an exponent of its own (x * 2**(256 e)), so that no number of
leaves underflows, not even in states that all but one leaf rule out.

This module loads numba; import it only where a tree is fitted or used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, cast

import joblib
import numba
import numpy as np
import numpy.typing as npt

from latentclass.core._blocks import map_blocks
from latentclass.core._tree import Tree

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., Any])

BLOCK_ROWS = 2500
"""Distinct rows in a block, until there are `MAX_BLOCKS`."""

MAX_BLOCKS = 32
"""Most blocks; larger tables have larger blocks, which share more patterns."""

GROUP_SHARE = 0.1
"""Inputs are put together at a site of their own while they have fewer patterns than this share
of the block's rows."""

GROUP_SIZE = 16
"""Patterns that a group of inputs may have however few the rows."""

CACHE_CELLS = 2**26
"""Pattern numbers that a table of rows keeps for other trees, over all its blocks."""

THREAD_WORK = 2**27
"""Steps of the inner loops (a third of a nanosecond or so each) from which on threads pay: to
start them and to collect their results takes joblib some 10 ms."""

BITS = 256
TINY, BIG = 2.0**-BITS, 2.0**BITS
LOG_BIG = BITS * float(np.log(2.0))


def _compiled(function: F) -> F:
    """Compile at first use, to machine code that releases the GIL and is kept on disk."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no folder that may be written to: compile in every session
        return cast(F, numba.njit(nogil=True)(function))


# Rows and their patterns


class Pattern(NamedTuple):
    """Rows told apart by some of their columns.

    Attributes
    ----------
    ids : array of shape (n_rows,)
        Pattern of each row.
    first : array
        A row of each pattern.
    """

    ids: IntArray
    first: IndexArray


class Block(NamedTuple):
    """Some distinct rows: codes, weights, and the patterns found in them so far."""

    codes: IntArray
    weight: FloatArray
    patterns: dict[frozenset[int], Pattern]


@dataclass(frozen=True)
class Rows:
    """A table's distinct rows, in blocks; made once for all trees.

    Attributes
    ----------
    blocks : tuple of Block
    index : array
        Place of each given row among the distinct ones.
    largest : array of shape (n_columns,)
        Largest code in each column.
    """

    blocks: tuple[Block, ...]
    index: IndexArray
    largest: IntArray

    @property
    def total_weight(self) -> float:
        """Weight of all rows."""
        return float(sum(block.weight.sum() for block in self.blocks))

    def __len__(self) -> int:
        return len(self.index)


def group_rows(codes: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Rows:
    """Distinct rows of a table with their weights, ready for any tree.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        Codes from 0; -1 is a missing cell.
    weight : array of shape (n_rows,), optional
        Weights of at least 0; by default 1.

    Examples
    --------
    >>> rows = group_rows([[0, 1], [1, -1], [0, 1]], [1.0, 1.0, 2.0])
    >>> rows.blocks[0].codes.tolist(), rows.blocks[0].weight.tolist(), rows.index.tolist()
    ([[0, 1], [1, -1]], [3.0, 1.0], [0, 1, 0])
    """
    table = np.asarray(codes)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(
            f"codes must be a table of whole numbers (2 dimensions), but has {table.ndim} and "
            f"the type {table.dtype}."
        )
    if len(table) == 0:
        raise ValueError("codes has no rows; at least one is needed.")
    if table.size and (table.min() < -1 or table.max() >= 2**31 - 1):
        row, column = np.argwhere((table < -1) | (table >= 2**31 - 1))[0]
        raise ValueError(
            f"codes[{row}, {column}]={table[row, column]} must be a code from 0, or -1 if missing."
        )
    table = np.ascontiguousarray(table, dtype=np.int32)
    if weight is None:
        weights = np.ones(len(table))
    else:
        weights = np.asarray(weight, dtype=np.float64)
        if weights.shape != (len(table),):
            raise ValueError(
                f"weight has shape {weights.shape}, but must have ({len(table)},), one a row."
            )
        if not np.all((weights >= 0) & np.isfinite(weights)):
            bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))[0]
            raise ValueError(f"weight[{bad}]={weights[bad]} must be a number of at least 0.")
    largest = table.max(axis=0, initial=-1)
    # 0 for a missing cell
    found = _number(((table[:, j] + 1, int(top) + 2) for j, top in enumerate(largest)), len(table))
    total: FloatArray = np.bincount(found.ids, weights, len(found.first)).astype(np.float64)
    distinct = table[found.first]
    n_blocks = min(MAX_BLOCKS, -(-len(distinct) // BLOCK_ROWS))
    blocks = tuple(
        Block(part, w, {})
        for part, w in zip(
            np.array_split(distinct, n_blocks), np.array_split(total, n_blocks), strict=True
        )
    )
    return Rows(blocks, found.ids.astype(np.intp), largest)


def _number(parts: Iterable[tuple[npt.NDArray[np.integer], int]], n_rows: int) -> Pattern:
    """Number the distinct rows of several columns of numbers, each with how many there may be.

    Numbers follow the lexicographic order of the columns.
    """
    key, size = np.zeros(n_rows, dtype=np.int64), 1
    for ids, n in parts:
        if size * n >= 2**62:
            found = _relabel(key, size)
            key, size = found.ids.astype(np.int64), len(found.first)
        key *= n
        key += ids
        size *= n
    return _relabel(key, size)


def _relabel(key: npt.NDArray[np.int64], size: int) -> Pattern:
    """Numbers without gaps, in the order of the keys."""
    n_rows = len(key)
    if size > 4 * n_rows + 1024:
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return Pattern(inverse.reshape(-1).astype(np.int32), first)
    present = np.zeros(size, dtype=bool)
    present[key] = True
    ids = (np.cumsum(present) - 1).astype(np.int32)[key]
    first = np.empty(int(present.sum()), dtype=np.intp)
    first[ids[::-1]] = np.arange(n_rows - 1, -1, -1)
    return Pattern(ids, first)


# The program of a tree on a block of rows


class Site(NamedTuple):
    """One unit of work.

    Attributes
    ----------
    node : int
        The node whose message it sends; -1 for a group of inputs, or the evidence of an inner node.
    k : int
        Number of states of `lam`.
    size : int
        Number of patterns.
    ids : array of shape (n_rows,)
        Pattern of each row.
    columns : frozenset of int
        Columns that tell the patterns apart.
    inputs : tuple of int
        Sites it multiplies; none for evidence, whose pattern is the code, k if missing.
    places : array of shape (n_inputs, size)
        Pattern of each input in each pattern.
    """

    node: int
    k: int
    size: int
    ids: IntArray
    columns: frozenset[int]
    inputs: tuple[int, ...]
    places: IntArray


class Program(NamedTuple):
    """The sites as arrays, for the kernels; inputs come before their users, the root last.

    `lam` and `message` say where a site's numbers start in the array of all numbers; for a site
    without table they are the same. A static site's message is in an array of its own, for it
    does not depend on the tables that are free.
    """

    k: IndexArray
    k_parent: IndexArray
    size: IndexArray
    table: IndexArray
    evidence: BoolArray
    static: BoolArray
    lam: IndexArray
    message: IndexArray
    input_start: IndexArray
    inputs: IndexArray
    places_start: IndexArray
    places: npt.NDArray[np.uint32]
    n_numbers: int
    work: int


class Numbers(NamedTuple):
    """Messages: mantissa, exponent (of 2**256), and whether a site has exponents other than 0."""

    value: FloatArray
    exponent: IntArray
    scaled: BoolArray


def _merge(block: Block, parts: Sequence[Site], columns: frozenset[int]) -> Pattern:
    """Patterns of several sites together."""
    found = block.patterns.get(columns)
    if found is None:
        found = _number(((part.ids, part.size) for part in parts), len(block.codes))
        block.patterns[columns] = found
    return found


def _sites(tree: Tree, block: Block) -> list[Site]:
    """What there is to do for a tree on a block, from the leaves to the root."""
    sites: list[Site] = []
    none = np.empty((0, 0), dtype=np.int32)
    limit = max(GROUP_SIZE, int(GROUP_SHARE * len(block.codes)))

    def add_evidence(node: int, sender: int) -> int:
        k, column = tree.cardinalities[node], tree.columns[node]
        codes = block.codes[:, column]
        ids = np.where(codes < 0, np.int32(k), codes)
        sites.append(Site(sender, k, k + 1, ids, frozenset([column]), (), none))
        return len(sites) - 1

    def add(node: int, k: int, inputs: Sequence[int]) -> int:
        parts = [sites[i] for i in inputs]
        columns = frozenset[int]().union(*(part.columns for part in parts))
        found = _merge(block, parts, columns)
        places = np.stack([part.ids[found.first] for part in parts])
        sites.append(Site(node, k, len(found.first), found.ids, columns, tuple(inputs), places))
        return len(sites) - 1

    def groups(inputs: list[int]) -> list[list[int]]:
        """Inputs that have few patterns together."""
        found: list[list[int]] = []
        for i in sorted(inputs, key=lambda i: sites[i].size):
            if found:
                parts = [sites[j] for j in (*found[-1], i)]
                columns = frozenset[int]().union(*(part.columns for part in parts))
                if len(_merge(block, parts, columns).first) <= limit:
                    found[-1].append(i)
                    continue
            found.append([i])
        return found

    top = [-1] * len(tree.parents)
    for node in range(len(tree.parents) - 1, -1, -1):
        if node and not tree.children[node]:
            top[node] = add_evidence(node, node)
            continue
        inputs = [top[child] for child in tree.children[node]]
        if tree.columns[node] >= 0:
            inputs.append(add_evidence(node, -1))
        k, grouped = tree.cardinalities[node], groups(inputs)
        if len(grouped) > 1:
            inputs = [g[0] if len(g) == 1 else add(-1, k, g) for g in grouped]
        top[node] = add(node, k, inputs)
    return sites


def _program(
    tree: Tree, sites: list[Site], moving: Sequence[bool]
) -> tuple[Program, list[int], list[int]]:
    """Sites as arrays: the moving ones, and those whose messages they read (static).

    Returns also which sites these are, and where each static message starts.
    """
    read = {i for site, moves in zip(sites, moving, strict=True) if moves for i in site.inputs}
    used = [s for s, moves in enumerate(moving) if moves or s in read]
    place = {s: i for i, s in enumerate(used)}
    n = len(used)
    whole = {
        name: np.zeros(n, dtype=np.intp)
        for name in ("k", "k_parent", "size", "table", "lam", "message")
    }
    evidence, static = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    inputs: list[int] = []
    places: list[IntArray] = [np.empty(0, dtype=np.int32)]
    input_start, places_start = [0], [0]
    n_numbers = n_static = work = 0
    static_starts = []
    for i, s in enumerate(used):
        site = sites[s]
        sends = site.node > 0
        k_parent = tree.tables[site.node].shape[0] if sends else site.k
        whole["k"][i], whole["size"][i], whole["k_parent"][i] = site.k, site.size, k_parent
        whole["table"][i] = tree.offsets[site.node] if sends else -1
        evidence[i], static[i] = not site.inputs, not moving[s]
        if static[i]:
            whole["message"][i] = n_static
            static_starts.append(n_static)
            n_static += site.size * k_parent
        else:
            # a leaf's lam is not stored
            whole["lam"][i] = whole["message"][i] = n_numbers
            if site.inputs or not sends:
                n_numbers += site.size * site.k
            if sends:
                whole["message"][i] = n_numbers
                n_numbers += site.size * k_parent
                work += 4 * site.size * k_parent * (site.k if site.inputs else 1)
            inputs += [place[j] for j in site.inputs]
            places.append(site.places.ravel())
            work += 4 * site.places.size * site.k
        input_start.append(len(inputs))
        places_start.append(places_start[-1] + (0 if static[i] else site.places.size))
    program = Program(
        **whole,
        evidence=evidence,
        static=static,
        input_start=np.array(input_start, dtype=np.intp),
        inputs=np.array(inputs, dtype=np.intp),
        places_start=np.array(places_start, dtype=np.intp),
        places=np.concatenate(places).astype(np.uint32),  # numba tests signed ones for < 0
        n_numbers=n_numbers,
        work=work,
    )
    return program, used, static_starts


# Kernels


@_compiled
def _shift(value: float, exponent: int) -> float:  # pragma: no cover - compiled
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
def _upward(
    program: Program, theta: FloatArray, numbers: Numbers, static: Numbers
) -> None:  # pragma: no cover - compiled
    """Fill in the numbers of all moving sites; exponents must be 0 before."""
    for site in range(len(program.k)):
        if program.static[site]:
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        k_parent, start = program.k_parent[site], program.message[site]
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
                    numbers.value[start + p * size + s] = x
            continue
        message = numbers.value[start : start + k_parent * size].reshape((k_parent, size))
        message_e = numbers.exponent[start : start + k_parent * size].reshape((k_parent, size))
        rows = theta[table : table + k_parent * k] if table >= 0 else theta[:0]
        rows = rows.reshape((k_parent if table >= 0 else 0, k))
        start = program.lam[site]
        lam = numbers.value[start : start + k * size].reshape((k, size))
        lam_e = numbers.exponent[start : start + k * size].reshape((k, size))
        scaled = False
        for number in range(program.input_start[site + 1] - program.input_start[site]):
            source = program.inputs[program.input_start[site] + number]
            start = program.places_start[site] + number * size
            places = program.places[start : start + size]
            n, start = program.size[source], program.message[source]
            end = start + k * n
            if program.static[source]:
                given = static.value[start:end].reshape((k, n))
                given_e = static.exponent[start:end].reshape((k, n))
                given_scaled = static.scaled[source]
            else:
                given = numbers.value[start:end].reshape((k, n))
                given_e = numbers.exponent[start:end].reshape((k, n))
                given_scaled = numbers.scaled[source]
            if number == 0:
                for s in range(k):
                    for u in range(size):
                        lam[s, u] = given[s, places[u]]
            else:
                low = False
                for s in range(k):
                    for u in range(size):
                        lam[s, u] *= given[s, places[u]]
                    for u in range(size):
                        low |= (lam[s, u] < TINY) & (lam[s, u] > 0.0)
                if low:
                    scaled = True
                    for s in range(k):
                        for u in range(size):
                            if lam[s, u] < TINY and lam[s, u] > 0.0:
                                lam[s, u] *= BIG
                                lam_e[s, u] -= 1
            if given_scaled:
                scaled = True
                for s in range(k):
                    for u in range(size):
                        lam_e[s, u] += given_e[s, places[u]]
        if table >= 0:
            scaled = _send(rows, lam, lam_e, scaled, message, message_e)
        numbers.scaled[site] = scaled


@_compiled
def _send(
    rows: FloatArray, lam: FloatArray, lam_e: IntArray, scaled: bool,
    message: FloatArray, message_e: IntArray,
) -> bool:  # pragma: no cover - compiled  # fmt: skip
    """Message of a node, m(p) = sum_s P(s | p) lam(s); whether anything has an exponent."""
    (k_parent, k), size = rows.shape, lam.shape[1]
    low = scaled
    if not scaled:
        for p in range(k_parent):
            _mix(rows[p], lam, message[p])
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
def _root(
    program: Program, theta: FloatArray, numbers: Numbers, posterior: FloatArray
) -> FloatArray:  # pragma: no cover - compiled
    """log p of each pattern of the root; its posteriors are put where its `lam` is.

    A row that cannot be has -inf, and a posterior of 0 in every state.
    """
    site = len(program.k) - 1
    k, start, size = program.k[site], program.lam[site], program.size[site]
    scaled = numbers.scaled[site]
    lam = numbers.value[start : start + k * size].reshape((k, size))
    lam_e = numbers.exponent[start : start + k * size].reshape((k, size))
    share = posterior[start : start + k * size].reshape((k, size))
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
    for u in range(size):
        out[u] = np.log(out[u]) - LOG_BIG if out[u] > 0.0 else -np.inf
    if scaled:
        for u in range(size):
            out[u] += top[u] * LOG_BIG
    return out


@_compiled
def _downward(
    program: Program, theta: FloatArray, numbers: Numbers, posterior: FloatArray, counts: FloatArray
) -> None:  # pragma: no cover - compiled
    """Add up the counts of all tables but the root's, from the root's posteriors.

    `posterior` has the places of `numbers`: at a site's `lam` the posteriors of its states by its
    patterns, at its `message` those of its parent's states by the same patterns.
    """
    for site in range(len(program.k) - 1, -1, -1):
        if program.static[site]:
            continue
        k, size, table = program.k[site], program.size[site], program.table[site]
        k_parent, start = program.k_parent[site], program.message[site]
        if program.evidence[site]:
            if table >= 0:
                for p in range(k_parent):
                    unseen = posterior[start + p * size + k]
                    for s in range(k):
                        row = table + p * k + s
                        counts[row] += posterior[start + p * size + s] + unseen * theta[row]
            continue
        end = start + k_parent * size
        if table >= 0:
            rows = theta[table : table + k_parent * k].reshape((k_parent, k))
            count = counts[table : table + k_parent * k].reshape((k_parent, k))
            above = posterior[start:end].reshape((k_parent, size))
            message = numbers.value[start:end].reshape((k_parent, size))
            message_e = numbers.exponent[start:end].reshape((k_parent, size))
            start = program.lam[site]
            end = start + k * size
            _spread(
                rows, numbers.value[start:end].reshape((k, size)),
                numbers.exponent[start:end].reshape((k, size)), numbers.scaled[site],
                message, message_e, above, posterior[start:end].reshape((k, size)), count,
            )  # fmt: skip
        start = program.lam[site]
        own = posterior[start : start + k * size].reshape((k, size))
        for number in range(program.input_start[site + 1] - program.input_start[site]):
            target = program.inputs[program.input_start[site] + number]
            if program.static[target] or (program.evidence[target] and program.table[target] < 0):
                continue
            start = program.places_start[site] + number * size
            places = program.places[start : start + size]
            n, start = program.size[target], program.message[target]
            below = posterior[start : start + k * n].reshape((k, n))
            _add_up(below, own, places)


@_compiled
def _add_up(
    below: FloatArray, own: FloatArray, places: npt.NDArray[np.uint32]
) -> None:  # pragma: no cover - compiled
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
def _spread(
    rows: FloatArray, lam: FloatArray, lam_e: IntArray, scaled: bool,
    message: FloatArray, message_e: IntArray, above: FloatArray, own: FloatArray,
    count: FloatArray,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Posterior of parent to that of child, and their joint counts; `above` is used up."""
    (k_parent, k), size = rows.shape, lam.shape[1]
    for p in range(k_parent):
        for u in range(size):
            # a message of 0 has no posterior either
            above[p, u] /= message[p, u] if message[p, u] > 0.0 else 1.0
    if scaled:
        own[:] = 0.0
        for s in range(k):
            for p in range(k_parent):
                for u in range(size):
                    joint = above[p, u] * lam[s, u] * rows[p, s]
                    if joint > 0.0:
                        joint = _shift(joint, lam_e[s, u] - message_e[p, u])
                        own[s, u] += joint
                        count[p, s] += joint
        return
    columns = rows.T.copy()
    for s in range(k):
        for p in range(k_parent):
            count[p, s] += rows[p, s] * _dot(above[p], lam[s])
        _mix(columns[s], above, own[s])
        for u in range(size):
            own[s, u] *= lam[s, u]


@_compiled
def _mix(
    share: FloatArray, parts: FloatArray, out: FloatArray
) -> None:  # pragma: no cover - compiled
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


@_compiled
def _dot(a: FloatArray, b: FloatArray) -> float:  # pragma: no cover - compiled
    """Sum of products, in four parts side by side: one alone would wait for each addition."""
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


@_compiled
def _expect(
    program: Program, theta: FloatArray, weight: FloatArray, static: Numbers, numbers: Numbers,
    posterior: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # pragma: no cover - compiled  # fmt: skip
    """Expected counts and log-likelihood of a block, for each row of `theta`.

    `numbers` and `posterior` are room to work in; exponents are 0 before and after.
    """
    n_starts = len(theta)
    counts = np.zeros(theta.shape)
    total = np.zeros(n_starts)
    root = len(program.k) - 1
    k, lam, size = program.k[root], program.lam[root], program.size[root]
    own = posterior[lam : lam + k * size].reshape((k, size))
    for start in range(n_starts):
        _upward(program, theta[start], numbers, static)
        log_p = _root(program, theta[start], numbers, posterior)
        for u in range(size):
            if weight[u] > 0.0:
                total[start] += weight[u] * log_p[u]
        for s in range(k):
            counts[start, s] = _dot(own[s], weight)
            for u in range(size):
                own[s, u] *= weight[u]
        _downward(program, theta[start], numbers, posterior, counts[start])
        for site in range(root + 1):
            if numbers.scaled[site]:
                end = program.message[site] + program.k_parent[site] * program.size[site]
                numbers.exponent[program.lam[site] : end] = 0
                numbers.scaled[site] = False
    return counts, total


@_compiled
def _edge_posterior(
    given: FloatArray, ids: IntArray, table: FloatArray, program: Program, site: int,
    numbers: Numbers,
) -> FloatArray:  # pragma: no cover - compiled  # fmt: skip
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


# What the engine is asked


@dataclass(frozen=True)
class Plan:
    """A tree's passes over given rows, ready to run with any tables.

    Attributes
    ----------
    tree : Tree
    parts : tuple of (Program, weight of each pattern of the root, static messages)
        One a block.
    """

    tree: Tree
    parts: tuple[tuple[Program, FloatArray, Numbers], ...] = field(repr=False)
    _rooms: list[tuple[Numbers, FloatArray]] = field(default_factory=list, repr=False)

    @property
    def work(self) -> int:
        """Steps of the inner loops in one pass."""
        return sum(program.work for program, _, _ in self.parts)

    def expect(self, part: int, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts and log-likelihood of one block; several threads may ask at once."""
        # memory is kept from one pass to the next: new pages cost as much as the work itself
        try:
            room = self._rooms.pop()
        except IndexError:
            room = self._new_room()
        program, weight, static = self.parts[part]
        found = _expect(program, theta, weight, static, *room)
        self._rooms.append(room)
        return found

    def _new_room(self) -> tuple[Numbers, FloatArray]:
        size = max(program.n_numbers for program, _, _ in self.parts)
        n_sites = max(len(program.k) for program, _, _ in self.parts)
        return _room(size, n_sites), np.empty(size)

    def __getstate__(self) -> dict[str, Any]:
        return {"tree": self.tree, "parts": self.parts, "_rooms": []}


NO_NUMBERS = Numbers(np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=bool))


def plan_rows(tree: Tree, rows: Rows, free: Iterable[int] | None = None) -> Plan:
    """Prepare passes of a tree over rows.

    Parameters
    ----------
    tree : Tree
    rows : Rows
    free : iterable of int, optional
        Nodes whose tables will vary; the other tables are the tree's own. What these say is then
        computed here once. By default all tables vary.
    """
    _check_columns(tree, rows)
    chosen = set(range(len(tree.parents))) if free is None else set(free)
    parts: list[tuple[Program, FloatArray, Numbers]] = []
    for block in rows.blocks:
        sites = _sites(tree, block)
        _trim_cache(rows, block)
        counted = np.bincount(sites[-1].ids, block.weight, sites[-1].size)
        weight: FloatArray = counted.astype(np.float64)
        if free is None:
            program, _, _ = _program(tree, sites, [True] * len(sites))
            parts.append((program, weight, NO_NUMBERS))
            continue
        moving: list[bool] = []
        for site in sites:
            moving.append(site.node in chosen or any(moving[i] for i in site.inputs))
        moving[-1] = True
        parts.append(_with_static(tree, sites, moving, weight))
    return Plan(tree, tuple(parts))


def _with_static(
    tree: Tree, sites: list[Site], moving: list[bool], weight: FloatArray
) -> tuple[Program, FloatArray, Numbers]:
    """A program of the moving sites, with the others' messages computed once."""
    whole, _, _ = _program(tree, sites, [True] * len(sites))
    every = _messages(whole, tree.theta)
    program, used, starts = _program(tree, sites, moving)
    spans = [
        slice(whole.message[s], whole.message[s] + whole.size[s] * whole.k_parent[s])
        for s in used
        if not moving[s]
    ]
    assert len(spans) == len(starts)
    static = Numbers(
        np.concatenate([np.empty(0), *(every.value[span] for span in spans)]),
        np.concatenate(
            [np.empty(0, dtype=np.int32), *(every.exponent[span] for span in spans)]
        ).astype(np.int32),
        every.scaled[used],
    )
    return program, weight, static


def _messages(program: Program, theta: FloatArray) -> Numbers:
    """Numbers of all sites."""
    numbers = _room(program.n_numbers, len(program.k))
    _upward(program, theta, numbers, NO_NUMBERS)
    return numbers


def _room(size: int, n_sites: int) -> Numbers:
    """Room for numbers, exponents 0."""
    return Numbers(
        np.empty(size), np.zeros(size, dtype=np.int32), np.zeros(n_sites, dtype=np.bool_)
    )


def _trim_cache(rows: Rows, block: Block) -> None:
    """Forget patterns when a block holds more than its part of `CACHE_CELLS`."""
    if len(block.patterns) * len(block.codes) * len(rows.blocks) > CACHE_CELLS:
        block.patterns.clear()


def _check_columns(tree: Tree, rows: Rows) -> None:
    for node, column in enumerate(tree.columns):
        if column >= len(rows.largest):
            raise ValueError(
                f"Node {node} shows column {column}, but codes has {len(rows.largest)} columns."
            )
        if column >= 0 and rows.largest[column] >= tree.cardinalities[node]:
            raise ValueError(
                f"Column {column} has the code {rows.largest[column]}, but node {node}, which "
                f"shows it, has the states 0 to {tree.cardinalities[node] - 1} only."
            )


def expected_counts(
    plan: Plan, theta: FloatArray, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Expected weight of every cell of every table, and the log-likelihood.

    Parameters
    ----------
    plan : Plan
    theta : array of shape (n_starts, F)
        Tables as rows of cells (`Tree.theta`), several trees of one shape at once.
    n_jobs : int or None
        Threads; they are used when there is enough work for them. The result is the same, to the
        bit.

    Returns
    -------
    counts : array of shape (n_starts, F)
        Zero for tables whose message is static, and without the rows that cannot be.
    log_likelihood : array of shape (n_starts,)
        -inf if a row of some weight cannot be.
    """
    theta = np.ascontiguousarray(theta)
    n_starts, n_blocks = len(theta), len(plan.parts)
    n_threads = joblib.effective_n_jobs(n_jobs) if plan.work * n_starts > THREAD_WORK else 1
    # a start's numbers do not depend on the others beside it, so the slices may follow n_jobs
    n_slices = 1 if n_threads == 1 else min(n_starts, -(-4 * n_threads // n_blocks))
    bounds = np.linspace(0, n_starts, n_slices + 1).astype(int).tolist()
    slices = [slice(a, b) for a, b in pairwise(bounds)]
    items = [(part, starts) for part in range(n_blocks) for starts in slices]

    def visit(item: tuple[int, slice]) -> tuple[FloatArray, FloatArray]:
        part, starts = item
        return plan.expect(part, theta[starts])

    counts, total = np.zeros(theta.shape), np.zeros(n_starts)
    for (_, starts), (more, gain) in zip(items, map_blocks(visit, items, n_threads), strict=True):
        counts[starts] += more
        total[starts] += gain
    return counts, total


def _map_rows(
    function: Callable[[Block], Any], tree: Tree, codes: npt.ArrayLike | Rows, n_jobs: int | None
) -> tuple[Rows, list[Any]]:
    rows = codes if isinstance(codes, Rows) else group_rows(codes)
    _check_columns(tree, rows)
    return rows, list(map_blocks(function, rows.blocks, n_jobs if len(rows.blocks) > 4 else 1))


def row_log_likelihood(
    tree: Tree, codes: npt.ArrayLike | Rows, n_jobs: int | None = None
) -> FloatArray:
    """log p(observed cells) of each row; -inf for a row that cannot be.

    Examples
    --------
    >>> tree = Tree.even((-1, 0, 0), (2, 2, 4), (-1, 0, 1))
    >>> np.exp(row_log_likelihood(tree, [[0, 3], [1, -1], [-1, -1]])).round(6).tolist()
    [0.125, 0.5, 1.0]
    """

    def visit(block: Block) -> FloatArray:
        sites = _sites(tree, block)
        program, _, _ = _program(tree, sites, [True] * len(sites))
        numbers = _messages(program, tree.theta)
        log_p = _root(program, tree.theta, numbers, np.empty(program.n_numbers))
        return log_p[sites[-1].ids]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return np.asarray(np.concatenate(parts)[rows.index])


def node_posteriors(
    tree: Tree,
    codes: npt.ArrayLike | Rows,
    nodes: Sequence[int] | None = None,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """P(node | observed cells of the row), an array of shape (n_rows, states) for each node.

    Parameters
    ----------
    tree : Tree
    codes : array of shape (n_rows, n_columns), or Rows
    nodes : sequence of int, optional
        By default the latent nodes. For an observed node the posterior is of interest where its
        cell is missing.
    n_jobs : int or None

    Notes
    -----
    A row that cannot be (likelihood 0) gets even posteriors.
    """
    wanted = list(tree.latent if nodes is None else nodes)
    for node in wanted:
        if not 0 <= node < len(tree.parents):
            raise ValueError(f"node {node} must be one of the nodes 0 to {len(tree.parents) - 1}.")
    needed = set(wanted)
    for node in range(len(tree.parents) - 1, 0, -1):
        if node in needed:
            needed.add(tree.parents[node])

    def visit(block: Block) -> list[FloatArray]:
        sites = _sites(tree, block)
        program, _, _ = _program(tree, sites, [True] * len(sites))
        numbers = _messages(program, tree.theta)
        space = np.empty(program.n_numbers)
        log_p = _root(program, tree.theta, numbers, space)
        top = {site.node: i for i, site in enumerate(sites) if site.node >= 0}
        k, lam = tree.cardinalities[0], program.lam[-1]
        found = {0: space[lam : lam + k * len(log_p)].reshape(k, -1).T[sites[-1].ids]}
        for node in sorted(needed - {0}):
            i = top[node]
            given = found[tree.parents[node]]
            found[node] = _edge_posterior(
                given, sites[i].ids, tree.tables[node], program, i, numbers
            )
        impossible = np.isneginf(log_p)[sites[-1].ids]
        for node in wanted:
            found[node][impossible] = 1.0 / tree.cardinalities[node]
        return [found[node] for node in wanted]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return [np.concatenate([part[i] for part in parts])[rows.index] for i in range(len(wanted))]


def most_probable_states(
    tree: Tree, codes: npt.ArrayLike | Rows, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """The most probable states of all nodes together, given the observed cells of each row.

    Of states that are equally probable (to the bit) the lowest is taken, first at the root, then
    at each child given its parent's.

    Returns
    -------
    states : array of shape (n_rows, n_nodes)
        Observed cells keep their code.
    log_p : array of shape (n_rows,)
        log p(all nodes) there; -inf for a row that cannot be, whose states mean nothing beside
        the observed ones.
    """
    with np.errstate(divide="ignore"):
        log_tables = [np.log(table) for table in tree.tables]

    def visit(block: Block) -> tuple[IntArray, FloatArray]:
        sites = _sites(tree, block)
        message: list[FloatArray] = []
        choice: dict[int, npt.NDArray[np.integer]] = {}
        for site in sites:
            if site.inputs:
                lam = np.zeros((site.size, site.k))
                for i, places in zip(site.inputs, site.places, strict=True):
                    lam += message[i][places]
            else:
                with np.errstate(divide="ignore"):
                    lam = np.log(np.concatenate([np.eye(site.k), np.ones((1, site.k))]))
            if site.node <= 0:
                if site.node == 0:
                    lam = lam + log_tables[0]
                    choice[0] = lam.argmax(axis=1)[site.ids]
                message.append(lam)
                continue
            table = log_tables[site.node]
            best = np.empty((site.size, len(table)), dtype=np.int32)
            value = np.empty(best.shape)
            for p, row in enumerate(table):
                terms = lam + row
                best[:, p] = terms.argmax(axis=1)
                value[:, p] = np.take_along_axis(terms, best[:, p : p + 1], axis=1)[:, 0]
            if not site.inputs:  # what is observed stays, even where it cannot be
                best[: site.k] = np.arange(site.k)[:, None]
            choice[site.node] = best[site.ids]
            message.append(value)
        states = np.empty((len(block.codes), len(tree.parents)), dtype=np.int32)
        for node, parent in enumerate(tree.parents):
            if parent < 0:
                states[:, node] = choice[node]
            else:
                chosen = states[:, parent, None]
                states[:, node] = np.take_along_axis(choice[node], chosen, axis=1)[:, 0]
            if tree.columns[node] >= 0:
                codes_here = block.codes[:, tree.columns[node]]
                states[:, node] = np.where(codes_here >= 0, codes_here, states[:, node])
        return states, message[-1].max(axis=1)[sites[-1].ids]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    states = np.concatenate([part[0] for part in parts])[rows.index]
    return states, np.concatenate([part[1] for part in parts])[rows.index]
