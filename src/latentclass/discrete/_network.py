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


class PlacedRows(NamedTuple):
    """Rows, and where their families are.

    Attributes
    ----------
    codes : array of shape (n_rows, n)
        Level of each attribute; -1 if missing.
    place : array of shape (n_rows, n)
        Entry of each family. A missing attribute counts as level -1, so that a level l of it would
        add (l + 1) times its stride.
    hole : array of bool of shape (n_rows, n)
        Families any attribute of which is missing.
    """

    codes: CodeArray
    place: IndexArray
    hole: BoolArray


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
    def neighbours(self) -> IndexArray:
        """Pairs of attributes that share a family, shape (n_pairs, 2)."""
        pairs = set()
        for j, parents in enumerate(self.parents):
            family = sorted((*parents, j))
            pairs |= {(u, v) for i, u in enumerate(family) for v in family[i + 1 :]}
        return np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)

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
        rows = self.places(codes)
        return np.where(rows.hole, -1, rows.place)

    def places(self, codes: CodeArray) -> PlacedRows:
        """Find the entry of each family in each row, holes or not."""
        levels = np.array(codes.T, dtype=np.intp, order="C")  # its columns in one piece each
        place = self.strides @ levels + self.offsets[:-1, None]
        if levels.min(initial=0) < 0:
            hole = (self.strides.astype(bool) @ (levels < 0)).astype(bool)
        else:
            hole = np.zeros(place.shape, dtype=bool)
        return PlacedRows(codes, np.ascontiguousarray(place.T), np.ascontiguousarray(hole.T))

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
    rows = structure.places(codes)
    index = np.where(rows.hole, -1, rows.place)
    total: FloatArray = indicator_rows(index, structure.n_entries) @ log_theta.T
    groups = _missing_groups(structure, codes)
    np.add.at(total, groups.row, _sum_groups(structure, log_theta, rows, groups, maximise))
    return total


def without_each(structure: Structure, log_theta: FloatArray, codes: CodeArray) -> FloatArray:
    """log p(observed attributes but one | class), (n_rows, n, K); 0 for a missing one.

    Without an attribute only what touches it changes: its families, and the groups of missing
    attributes that share a family with it. They are taken from the sum of all terms, and the sum
    over the group that they make with the attribute is added.
    """
    n_rows, n = codes.shape
    if n == 0:
        return np.zeros((n_rows, 0, len(log_theta)))
    rows = structure.places(codes)
    groups = _missing_groups(structure, codes)
    term = _countable(log_theta.T[np.where(rows.hole, 0, rows.place)])
    term[rows.hole] = 0.0
    by_group = _countable(_sum_groups(structure, log_theta, rows, groups))
    total = term.sum(axis=1)
    np.add.at(total, groups.row, by_group)
    own = structure.strides.T.astype(bool) @ term.transpose(1, 0, 2, 3).reshape(n, -1)
    left = total[:, None] - own.reshape(n, *total.shape).transpose(1, 0, 2, 3)
    group, attribute = _touched(structure, codes, groups)
    row = groups.row[group]
    np.subtract.at(left, (row, attribute), by_group[group])
    out = np.where(left[..., 1] > 0, -np.inf, left[..., 0])
    larger, attribute = _join_groups(groups, group, attribute)
    out[larger.row, attribute] += _sum_groups(structure, log_theta, rows, larger)
    alone = codes >= 0
    alone[larger.row, attribute] = False
    row, attribute = np.nonzero(alone)
    out[row, attribute] += _sum_alone(structure, log_theta, rows, row, attribute)
    out[codes < 0] = 0.0
    return out


def _touched(
    structure: Structure, codes: CodeArray, groups: Groups
) -> tuple[IndexArray, IndexArray]:
    """Groups, and the observed attributes of their rows that share a family with them."""
    n = codes.shape[1]
    first, second = structure.neighbours.T
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    beside = sp.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    group, attribute = (sp.csr_array(groups.members.astype(np.float64)) @ beside).nonzero()
    shown = codes[groups.row[group], attribute] >= 0
    return group[shown], attribute[shown]


def _join_groups(
    groups: Groups, group: IndexArray, attribute: IndexArray
) -> tuple[Groups, IndexArray]:
    """Each attribute of a row with all groups that it touches, as larger groups."""
    n = groups.members.shape[1]
    place, which = np.unique(groups.row[group] * n + attribute, return_inverse=True)
    shape = (len(place), len(groups.row))
    touched = sp.csr_array((np.ones(len(which)), (which, group)), shape=shape)
    members = np.zeros((len(place), n), dtype=bool)
    members[(touched @ sp.csr_array(groups.members.astype(np.float64))).nonzero()] = True
    members[np.arange(len(place)), place % n] = True
    return Groups(members, place // n), place % n


def _countable(values: FloatArray) -> FloatArray:
    """Finite numbers beside a count of -inf, on a new last axis: sums of them can be undone."""
    lost = np.isneginf(values)
    return np.stack([np.where(lost, 0.0, values), lost], axis=-1)


class Groups(NamedTuple):
    """Sets of missing attributes that are connected by families, each of one row.

    Attributes
    ----------
    members : array of bool of shape (n_groups, n)
    row : array of shape (n_groups,)
    """

    members: BoolArray
    row: IndexArray


def _missing_groups(structure: Structure, codes: CodeArray) -> Groups:
    """All groups, those of a row in the order of their first attributes."""
    missing = codes < 0
    n_rows, n = codes.shape
    rows, column = np.nonzero(missing)
    if not len(rows):
        return Groups(np.empty((0, n), dtype=bool), rows)
    # rows come in blocks, so 32 bits are enough, and older versions of csgraph take no more
    node = np.full((n_rows, n), -1, dtype=np.int32)
    node[rows, column] = np.arange(len(rows))
    ends = np.array(structure.neighbours, dtype=np.intp).reshape(-1, 2)
    row, arc = np.nonzero(missing[:, ends[:, 0]] & missing[:, ends[:, 1]])
    links = (node[row, ends[arc, 0]], node[row, ends[arc, 1]])
    graph = sp.coo_array((np.ones(len(row)), links), shape=(len(rows), len(rows)))
    n_groups, label = csgraph.connected_components(graph, directed=False)
    members, row_of = np.zeros((n_groups, n), dtype=bool), np.empty(n_groups, dtype=np.intp)
    members[label, column] = True
    row_of[label] = rows
    return Groups(members, row_of)


def _sum_groups(
    structure: Structure,
    log_theta: FloatArray,
    rows: PlacedRows,
    groups: Groups,
    maximise: bool = False,
) -> FloatArray:
    """Sum (or maximise) the families that touch each group over its attributes, (n_groups, K)."""
    out = np.empty((len(groups.row), len(log_theta)))
    if not len(out):
        return out
    alone = groups.members.sum(axis=1) == 1
    attribute = groups.members[alone].argmax(axis=1)
    row = groups.row[alone]
    out[alone] = _sum_alone(structure, log_theta, rows, row, attribute, maximise)
    larger = np.flatnonzero(~alone)
    if not larger.size:
        return out
    tables = structure.tables(log_theta)
    packed = np.packbits(groups.members[larger], axis=1)
    kinds, kind = np.unique(packed, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    by_kind = np.argsort(kind, kind="stable")
    for own in np.split(by_kind, np.searchsorted(kind[by_kind], np.arange(1, len(kinds)))):
        which = larger[own]
        members = tuple(np.flatnonzero(groups.members[which[0]]).tolist())
        codes = rows.codes[groups.row[which]]
        for part, values in _sum_out(structure, tables, members, codes, maximise):
            out[which[part]] = values
    return out


def _sum_alone(
    structure: Structure,
    log_theta: FloatArray,
    rows: PlacedRows,
    row: IndexArray,
    attribute: IndexArray,
    maximise: bool = False,
) -> FloatArray:
    """The same over single attributes, all of whose families are known but for them.

    All levels of all these attributes at once. The attributes themselves may be missing or not.
    """
    member, n_levels = structure.memberships, np.array(structure.n_levels, dtype=np.intp)
    out = np.empty((len(row), len(log_theta)))
    n_terms = n_levels[attribute] * member.n_families[attribute] * len(log_theta)
    blocks = np.cumsum(n_terms) // BLOCK_ENTRIES
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for first, end in pairwise([*starts.tolist(), len(row)]):
        # one candidate for each level, and a term of it for each family
        level, which = _count_up(n_levels[attribute[first:end]])
        v, r = attribute[first:end][which], row[first:end][which]
        rise = level - rows.codes[r, v]
        number, candidate = _count_up(member.n_families[v])
        own = member.first[v][candidate] + number
        entry = rows.place[r[candidate], member.family[own]]
        entry += rise[candidate] * member.stride[own]
        by_level = np.add.reduceat(log_theta.T[entry], np.flatnonzero(number == 0))
        begins = np.flatnonzero(level == 0)
        if maximise:
            out[first:end] = np.maximum.reduceat(by_level, begins)
        else:
            out[first:end] = _log_sum_each(by_level, begins, which)
    return out


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
