"""What a tree has to compute on a block of rows: sites from the leaves to the root, as arrays.

The unit of work is a site: a node, or a group of inputs of a node that have few patterns together.
A site with states s multiplies the messages of its inputs, lam(s) = prod_i m_i(s). The site of a
node then sends the message m(p) = sum_s P(s | p) lam(s) to the parent with states p. It does so
once for each distinct part of a row below it (a pattern), because rows that agree there send the
same message. `_pass_kernels` has these equations and their source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, CodeArray, FloatArray
from latentclass.latent_tree._row_patterns import Pattern, PatternBlock, PlaceArray, number_rows
from latentclass.latent_tree._tree import Tree

GROUP_SHARE = 0.1
"""Inputs share a site of their own as long as they have fewer patterns than this share of the rows
of the block."""

OWN_SHARE = 0.8
"""With more patterns than this share of the rows of the block, every row becomes its own pattern.
A site and an input that both are like this go through memory in step, without looking up places."""

GROUP_SIZE = 16
"""Number of patterns that a group of inputs may always have, however few rows there are."""


class Site(NamedTuple):
    """One unit of work.

    Attributes
    ----------
    node : int
        The node whose message it sends; -1 for a group of inputs and for the evidence of an inner
        node.
    k : int
        Number of states of lam.
    size : int
        Number of patterns.
    ids : array of shape (n_rows,)
        Pattern of each row.
    columns : frozenset of int
        Columns that the patterns depend on.
    inputs : tuple of int
        Sites whose messages it multiplies. Evidence has none; its pattern is the code of the cell,
        or k if the cell is missing.
    places : array of shape (n_inputs, size)
        Pattern of each input in each pattern.
    """

    node: int
    k: int
    size: int
    ids: CodeArray
    columns: frozenset[int]
    inputs: tuple[int, ...]
    places: CodeArray


OffsetArray = npt.NDArray[np.uint64]
"""Numbers that positions are computed with; see `_loop_kernels`."""

K, K_PARENT, SIZE, LEARNED, TABLE, EVIDENCE, LAM, MESSAGE, INPUTS, PLACES = range(10)
"""What the columns of `Program.sites` are."""


class Program(NamedTuple):
    """The sites as arrays, for the kernels. Inputs come before their users, and the root is last.

    Attributes
    ----------
    sites : array of shape (n_sites + 1, 10)
        For each site the numbers of states of its lam and of its message, that of its patterns,
        whether it has a table and where that starts in `theta`, whether it is evidence, where its
        lam and its message start in the array of all numbers (at the same place if it has no
        table), and where its inputs start in `edges` and `places`. The last row ends the inputs.
    edges : array of shape (n_inputs, 2)
        The site of each input, and whether its places are 0, 1, 2, ...
    places : array
        Pattern of each input in each pattern of its site.
    n_numbers : int
        Number of numbers of all sites.
    work : int
        Number of inner loop steps in one pass.
    """

    sites: OffsetArray
    edges: OffsetArray
    places: PlaceArray
    n_numbers: int
    work: int


class Numbers(NamedTuple):
    """Messages as value * 2**(256 * exponent), and two facts about each site that save work.

    `scaled` says whether a site has exponents other than 0. `floor` is at least 2**-256 and no
    larger than any positive value of its message.
    """

    value: FloatArray
    exponent: CodeArray
    scaled: BoolArray
    floor: FloatArray


def make_sites(tree: Tree, block: PatternBlock) -> list[Site]:
    """The sites of a tree on a block of rows, from the leaves to the root."""
    maker = _SiteMaker(tree, block)
    top = [-1] * len(tree.parents)
    for node in range(len(tree.parents) - 1, -1, -1):
        if node and not tree.children[node]:
            top[node] = maker.add_evidence(node, node)
            continue
        inputs = [top[child] for child in tree.children[node]]
        if tree.columns[node] >= 0:
            inputs.append(maker.add_evidence(node, -1))
        k, groups = tree.cardinalities[node], maker.groups(inputs)
        if len(groups) > 1:
            inputs = [g[0] if len(g) == 1 else maker.add_product(-1, k, g) for g in groups]
        top[node] = maker.add_product(node, k, inputs)
    return maker.sites


class _SiteMaker:
    """Makes sites one after the other; a site is referred to by its place in `sites`."""

    def __init__(self, tree: Tree, block: PatternBlock) -> None:
        self.tree, self.block = tree, block
        self.sites: list[Site] = []
        self.limit = max(GROUP_SIZE, int(GROUP_SHARE * len(block.codes)))

    def add_evidence(self, node: int, sender: int) -> int:
        """A site for the observed states of a node."""
        k, column = self.tree.cardinalities[node], self.tree.columns[node]
        codes = self.block.codes[:, column]
        ids = np.where(codes < 0, np.int32(k), codes)
        no_inputs = np.empty((0, 0), dtype=np.int32)
        self.sites.append(Site(sender, k, k + 1, ids, frozenset([column]), (), no_inputs))
        return len(self.sites) - 1

    def add_product(self, node: int, k: int, inputs: Sequence[int]) -> int:
        """A site that multiplies the messages of other sites."""
        parts = [self.sites[i] for i in inputs]
        found, columns = self._merged(parts)
        places = np.stack([part.ids[found.first] for part in parts])
        self.sites.append(
            Site(node, k, len(found.first), found.ids, columns, tuple(inputs), places)
        )
        return len(self.sites) - 1

    def groups(self, inputs: list[int]) -> list[list[int]]:
        """Inputs in groups that have few patterns together."""
        found: list[list[int]] = []
        for i in sorted(inputs, key=lambda i: self.sites[i].size):
            if found:
                patterns, _ = self._merged([self.sites[j] for j in (*found[-1], i)])
                if len(patterns.first) <= self.limit:
                    found[-1].append(i)
                    continue
            found.append([i])
        return found

    def _merged(self, parts: Sequence[Site]) -> tuple[Pattern, frozenset[int]]:
        """The patterns of several sites together, and the columns they depend on."""
        columns = frozenset[int]().union(*(part.columns for part in parts))
        found = self.block.patterns.get(columns)
        if found is None:
            n_rows = len(self.block.codes)
            found = number_rows(((part.ids, part.size) for part in parts), n_rows)
            if len(found.first) > OWN_SHARE * n_rows:
                every = np.arange(n_rows)
                found = Pattern(every.astype(np.int32), every)
            self.block.patterns[columns] = found
        return found, columns


def make_program(tree: Tree, sites: list[Site]) -> Program:
    """Turn sites into arrays."""
    table = np.zeros((len(sites) + 1, PLACES + 1), dtype=np.uint64)
    edges: list[tuple[int, bool]] = []
    n_numbers = n_places = work = 0
    for i, site in enumerate(sites):
        sends = site.node >= 0
        k_parent = tree.tables[site.node].shape[0] if sends else site.k
        lam = message = n_numbers
        if site.inputs or not sends:  # the lam of a leaf is not stored
            n_numbers += site.size * site.k
        if sends:
            message = n_numbers
            n_numbers += site.size * k_parent
        offset = tree.offsets[site.node] if sends else 0
        table[i] = (
            site.k, k_parent, site.size, sends, offset, not site.inputs, lam, message, len(edges),
            n_places,
        )  # fmt: skip
        edges += [
            (j, sites[j].size == site.size and bool((row[1:] > row[:-1]).all()))
            for j, row in zip(site.inputs, site.places, strict=True)
        ]
        n_places += site.places.size
        sent = k_parent * site.size if sends else 0
        work += 4 * (sent * (site.k if site.inputs else 1) + site.places.size * site.k)
    table[-1, INPUTS:] = len(edges), n_places
    places = np.concatenate([site.places.ravel() for site in sites]).astype(np.uint32)
    every = np.array(edges, dtype=np.uint64).reshape(-1, 2)
    return Program(table, every, places, n_numbers, work)
