"""Bayesian networks of discrete attributes below a class: layout, density with holes, samples.

A family is an attribute with its parents. All conditional tables of a network are one array of
shape (K, F): K classes, F entries of all families laid end to end, the attribute's own level
running fastest. An attribute without the class as parent has the same table in all classes.

    p(x | k) = prod_j theta[k, entry of (x_j, parents of x_j)]

Missing attributes are summed out exactly. In each row they form groups that share no
family. A group is summed out at once for all rows in which exactly it is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.data._schema import block_spans
from latentclass.engine._counts import indicator_rows
from latentclass.engine._logspace import log_sum_exp

MAX_ENTRIES = 2**26
"""Largest table that summing out may need for one row."""

BLOCK_ENTRIES = 2**21
"""Entries of the tables of one block of rows while summing out."""


class Memberships(NamedTuple):
    """The families of each attribute, one attribute after the other.

    Attributes
    ----------
    first, n_families : array of shape (n,)
        Where an attribute's families begin below, and how many they are.
    family, stride : array
        A family, and by how much its entry rises with the attribute's level.
    """

    first: IndexArray
    n_families: IndexArray
    family: IndexArray
    stride: IndexArray


@dataclass(frozen=True)
class Structure:
    """Which attribute depends on which.

    Attributes
    ----------
    n_levels : tuple of int
        Levels of each attribute.
    parents : tuple of tuple of int
        Attribute parents of each attribute.
    class_parent : tuple of bool
        Whether the class is a parent too.
    """

    n_levels: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    class_parent: tuple[bool, ...]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each family: levels of the parents, then of the attribute itself."""
        return [
            (*(self.n_levels[p] for p in parents), self.n_levels[j])
            for j, parents in enumerate(self.parents)
        ]

    @cached_property
    def offsets(self) -> IndexArray:
        """Where each family's entries start, and at the end F."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    @property
    def n_entries(self) -> int:
        """F, entries of all families in one class."""
        return int(self.offsets[-1])

    @cached_property
    def group_starts(self) -> IndexArray:
        """First entry of each distribution: one distribution per configuration of parents."""
        starts = [
            np.arange(first, end, r)
            for first, end, r in zip(
                self.offsets[:-1], self.offsets[1:], self.n_levels, strict=True
            )
        ]
        return np.concatenate([np.empty(0, dtype=np.intp), *starts])

    @cached_property
    def shared(self) -> BoolArray:
        """Distributions that do not depend on the class, one per configuration of parents."""
        n_each = [int(np.prod(shape[:-1])) for shape in self.shapes]
        return np.repeat(~np.array(self.class_parent, dtype=bool), n_each)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Attributes with parents before children."""
        placed: dict[int, None] = {}  # in the order in which they are placed
        waiting = list(range(len(self.parents)))
        while waiting:
            ready = [j for j in waiting if all(p in placed for p in self.parents[j])]
            if not ready:
                raise ValueError(f"The arcs make a cycle among the attributes {waiting}.")
            placed.update(dict.fromkeys(ready))
            waiting = [j for j in waiting if j not in placed]
        return tuple(placed)

    @cached_property
    def children(self) -> list[list[int]]:
        """Attributes that depend on each attribute."""
        out: list[list[int]] = [[] for _ in self.parents]
        for j, parents in enumerate(self.parents):
            for p in parents:
                out[p].append(j)
        return out

    @cached_property
    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of attributes that share a family."""
        pairs = set()
        for j, parents in enumerate(self.parents):
            family = sorted((*parents, j))
            pairs |= {(u, v) for i, u in enumerate(family) for v in family[i + 1 :]}
        return sorted(pairs)

    @cached_property
    def memberships(self) -> Memberships:
        """The families that each attribute belongs to: its own and those of its children."""
        families = [[v, *children] for v, children in enumerate(self.children)]
        strides = []
        for v, own in enumerate(families):
            for j in own:
                after = (*self.parents[j], j)[(*self.parents[j], j).index(v) + 1 :]
                strides.append(math.prod(self.n_levels[u] for u in after))
        n_families = np.array([len(own) for own in families], dtype=np.intp)
        return Memberships(
            np.cumsum(n_families) - n_families,
            n_families,
            np.array([j for own in families for j in own], dtype=np.intp),
            np.array(strides, dtype=np.intp),
        )

    @cached_property
    def strides(self) -> sp.csr_array:
        """By how much the entry of each family rises with the level of each attribute, (n, n)."""
        member, n = self.memberships, len(self.parents)
        attribute = np.repeat(np.arange(n), member.n_families)
        return sp.csr_array((member.stride, (member.family, attribute)), shape=(n, n))

    def entries(self, codes: CodeArray) -> IndexArray:
        """Entry of each family in each row, shape (n_rows, n); -1 if any of the family is missing.

        This is what `counts` counts and what `log_likelihood` adds up.
        """
        place, hole = self.places(codes)
        return np.where(hole, -1, place)

    def places(self, codes: CodeArray) -> tuple[IndexArray, BoolArray]:
        """Entry of each family in each row if none of it were missing, and whether one is.

        A missing attribute counts as level -1, so its level l adds (l + 1) times its stride.
        """
        levels = np.array(codes.T, dtype=np.intp, order="C")  # its columns in one piece each
        place = self.strides @ levels + self.offsets[:-1, None]
        if levels.min(initial=0) < 0:
            hole = (self.strides.astype(bool) @ (levels < 0)).astype(bool)
        else:
            hole = np.zeros(place.shape, dtype=bool)
        return np.ascontiguousarray(place.T), np.ascontiguousarray(hole.T)

    def counts(
        self, codes: CodeArray, y: IndexArray, weight: FloatArray, n_classes: int
    ) -> FloatArray:
        """Weight of each entry in each class, shape (K, F), over the rows with the whole family."""
        total = np.zeros((n_classes, self.n_entries))
        for rows in block_spans(len(codes), max(1, codes.shape[1]), self.n_entries):
            entries = self.entries(codes[rows])
            for j, (first, end) in enumerate(pairwise(self.offsets.tolist())):
                # missing families are counted as an extra entry in front, which is dropped
                place = np.maximum(entries[:, j] - (first - 1), 0)
                place += y[rows] * (end - first + 1)
                counted = np.bincount(place, weight[rows], n_classes * (end - first + 1))
                total[:, first:end] += counted.reshape(n_classes, -1)[:, 1:]
        return total

    def tables(self, log_theta: FloatArray) -> list[FloatArray]:
        """The families as arrays of shape (K, levels of each parent, own levels)."""
        n_classes = len(log_theta)
        return [
            log_theta[:, self.offsets[j] : self.offsets[j + 1]].reshape(n_classes, *shape)
            for j, shape in enumerate(self.shapes)
        ]

    def spread(self, by_level: Sequence[FloatArray]) -> FloatArray:
        """One number per level of each attribute, put into every distribution of it, shape (F,)."""
        parts = [
            np.tile(values, int(np.prod(shape[:-1])))
            for values, shape in zip(by_level, self.shapes, strict=True)
        ]
        return np.concatenate([np.empty(0), *parts])

    def relabel(self, order: Sequence[int]) -> Structure:
        """The same network when attribute i of this one is number order[i] of the new one."""
        n = len(order)
        parents: list[tuple[int, ...]] = [()] * n
        n_levels, class_parent = [0] * n, [True] * n
        for i, j in enumerate(order):
            parents[j] = tuple(sorted(order[p] for p in self.parents[i]))
            n_levels[j], class_parent[j] = self.n_levels[i], self.class_parent[i]
        return Structure(tuple(n_levels), tuple(parents), tuple(class_parent))


def log_likelihood(
    structure: Structure, log_theta: FloatArray, codes: CodeArray, *, maximise: bool = False
) -> FloatArray:
    """log p(observed attributes | class), shape (n_rows, K).

    With `maximise` the missing attributes are set to their most probable values together, instead
    of being summed out.
    """
    place, hole = structure.places(codes)
    index = np.where(hole, -1, place)
    total: FloatArray = indicator_rows(index, structure.n_entries) @ log_theta.T
    missing = codes < 0
    n_missing = missing.sum(axis=1)
    alone = [np.argwhere(missing & (n_missing == 1)[:, None])]
    holes = np.flatnonzero(n_missing > 1)
    if holes.size:
        tables = structure.tables(log_theta)
        for group, rows in _missing_groups(structure, codes[holes]):
            rows = holes[rows]
            if len(group) == 1:
                alone.append(np.stack([rows, np.full_like(rows, group[0])], axis=1))
                continue
            for part, values in _sum_out(structure, tables, group, codes[rows], maximise):
                total[rows[part]] += values
    row, attribute = np.concatenate(alone).T
    for part, values in _sum_out_alone(structure, log_theta, place, row, attribute, maximise):
        np.add.at(total, row[part], values)
    return total


def _sum_out_alone(
    structure: Structure,
    log_theta: FloatArray,
    place: IndexArray,
    row: IndexArray,
    attribute: IndexArray,
    maximise: bool,
) -> Iterator[tuple[slice, FloatArray]]:
    """Sum (or maximise) over missing attributes all of whose families are known but for them.

    All levels of all these attributes at once; `place` as in `Structure.places`.
    """
    member, n_levels = structure.memberships, np.array(structure.n_levels, dtype=np.intp)
    n_terms = n_levels[attribute] * member.n_families[attribute] * len(log_theta)
    blocks = np.cumsum(n_terms) // BLOCK_ENTRIES
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for first, end in pairwise([*starts.tolist(), len(row)]):
        part = slice(first, end)
        # one candidate for each level, and a term of it for each family
        level, which = _count_up(n_levels[attribute[part]])
        v = attribute[part][which]
        number, candidate = _count_up(member.n_families[v])
        own = member.first[v][candidate] + number
        entry = place[row[part][which][candidate], member.family[own]]
        entry += (level[candidate] + 1) * member.stride[own]
        terms = log_theta.T[entry]
        by_level = np.add.reduceat(terms, np.flatnonzero(number == 0))
        if maximise:
            yield part, np.maximum.reduceat(by_level, np.flatnonzero(level == 0))
        else:
            yield part, _log_sum_each(by_level, np.flatnonzero(level == 0), which)


def _count_up(sizes: IndexArray) -> tuple[IndexArray, IndexArray]:
    """0, 1, ..., size - 1 for each size, one after the other; and the number of the size."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes), owner


def _log_sum_each(values: FloatArray, starts: IndexArray, owner: IndexArray) -> FloatArray:
    """log of the sum of exp(values) over the rows of each owner, which begin at `starts`."""
    largest = np.maximum.reduceat(values, starts)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.add.reduceat(np.exp(values - shift[owner]), starts)) + shift)


def _missing_groups(
    structure: Structure, codes: CodeArray
) -> Iterator[tuple[tuple[int, ...], IndexArray]]:
    """Sets of missing attributes connected by families, each with its rows."""
    missing = codes < 0
    n_rows, n = codes.shape
    # rows come in blocks, so 32 bits are enough, and older versions of csgraph take no more
    node = np.arange(n_rows * n, dtype=np.int32).reshape(n_rows, n)
    ends = [
        (node[both, u], node[both, v])
        for u, v in structure.neighbours
        if (both := missing[:, u] & missing[:, v]).any()
    ]
    first = np.concatenate([np.empty(0, dtype=np.int32), *(u for u, _ in ends)])
    second = np.concatenate([np.empty(0, dtype=np.int32), *(v for _, v in ends)])
    graph = sp.coo_array((np.ones(len(first)), (first, second)), shape=(n_rows * n, n_rows * n))
    _, labels = csgraph.connected_components(graph, directed=False)
    row, column = np.nonzero(missing)
    _, component = np.unique(labels[node[row, column]], return_inverse=True)
    members = np.zeros((int(component.max()) + 1, n), dtype=bool)
    members[component, column] = True
    row_of = np.empty(len(members), dtype=np.intp)
    row_of[component] = row
    kinds, kind = np.unique(np.packbits(members, axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    by_kind = np.argsort(kind, kind="stable")
    for rows in np.split(by_kind, np.searchsorted(kind[by_kind], np.arange(1, len(kinds)))):
        yield tuple(np.flatnonzero(members[rows[0]]).tolist()), row_of[rows]


Factor = tuple[tuple[int, ...], FloatArray]
"""Attributes, and an array of shape (rows or 1, K, levels of each of them)."""


def _sum_out(
    structure: Structure,
    tables: list[FloatArray],
    group: tuple[int, ...],
    codes: CodeArray,
    maximise: bool,
) -> Iterator[tuple[slice, FloatArray]]:
    """Sum (or maximise) the families that touch `group` over its attributes, rows in blocks."""
    families = sorted(set(group).union(*(structure.children[v] for v in group)))
    scopes = [tuple(v for v in (*structure.parents[j], j) if v in group) for j in families]
    order, largest = _elimination_order(scopes, group, structure.n_levels)
    n_classes = tables[0].shape[0]
    if largest * n_classes > MAX_ENTRIES:
        raise ValueError(
            f"Summing out {len(group)} missing attributes that depend on each other needs tables "
            f"of {largest * n_classes} entries per row (limit {MAX_ENTRIES}). Lower max_parents, "
            "or fill some of the missing cells first."
        )
    size = max(1, BLOCK_ENTRIES // (largest * n_classes))
    for start in range(0, len(codes), size):
        part = slice(start, start + size)
        factors = [_slice_family(structure, tables[j], j, group, codes[part]) for j in families]
        value = np.zeros((len(codes[part]), n_classes))
        for v in order:
            touching = [f for f in factors if v in f[0]]
            factors = [f for f in factors if v not in f[0]]
            scope, product = _multiply(touching, v)
            reduced = product.max(axis=-1) if maximise else log_sum_exp(product)
            if scope[:-1]:
                factors.append((scope[:-1], reduced))
            else:
                value = value + reduced
        yield part, value


def _elimination_order(
    scopes: list[tuple[int, ...]], group: tuple[int, ...], n_levels: tuple[int, ...]
) -> tuple[list[int], int]:
    """Order of elimination, the smallest table first, and the size of the largest table."""
    current = [set(scope) for scope in scopes]
    left, order, largest = list(group), [], 1
    while left:
        unions = {v: set().union(*(s for s in current if v in s)) for v in left}
        # Python's integers: 4**32 overflows to 0 in numpy's
        sizes = {v: math.prod(n_levels[u] for u in unions[v]) for v in left}
        best = min(left, key=lambda v: (sizes[v], v))
        largest = max(largest, sizes[best])
        current = [s for s in current if best not in s] + [unions[best] - {best}]
        order.append(best)
        left.remove(best)
    return order, largest


def _slice_family(
    structure: Structure, table: FloatArray, j: int, group: tuple[int, ...], codes: CodeArray
) -> Factor:
    """A family's table at the observed attributes of each row."""
    family = (*structure.parents[j], j)
    seen = [axis for axis, v in enumerate(family) if v not in group]
    hidden = [axis for axis, v in enumerate(family) if v in group]
    turned = table.transpose([1 + a for a in seen] + [0] + [1 + a for a in hidden])
    picked = turned[tuple(codes[:, family[a]] for a in seen)] if seen else turned[None]
    return tuple(family[a] for a in hidden), picked


def _multiply(factors: list[Factor], last: int) -> Factor:
    """Product of factors (sum of logarithms) with the attribute `last` on its last axis."""
    scope = (*sorted(set().union(*(set(vs) for vs, _ in factors)) - {last}), last)
    total: FloatArray | None = None
    for variables, values in factors:
        position = [variables.index(v) for v in scope if v in variables]
        turned = values.transpose([0, 1, *(2 + p for p in position)])
        widths = iter(turned.shape[2:])
        shape = [next(widths) if v in variables else 1 for v in scope]
        turned = turned.reshape(*turned.shape[:2], *shape)
        total = turned if total is None else total + turned
    assert total is not None
    return scope, np.ascontiguousarray(total)


def draw_codes(
    structure: Structure, log_theta: FloatArray, y: IndexArray, rng: np.random.Generator
) -> CodeArray:
    """One row of attributes for each class code."""
    codes = np.zeros((len(y), len(structure.n_levels)), dtype=np.int32)
    tables = structure.tables(log_theta)
    for j in structure.order:
        chosen = tables[j][(y, *(codes[:, p] for p in structure.parents[j]))]
        codes[:, j] = draw_levels(np.exp(chosen), rng)
    return codes


def draw_levels(probability: FloatArray, rng: np.random.Generator) -> CodeArray:
    """One level for each row of probabilities."""
    edges = np.cumsum(probability, axis=1)[:, :-1]
    drawn: CodeArray = (rng.random((len(probability), 1)) >= edges).sum(axis=1).astype(np.int32)
    return drawn
