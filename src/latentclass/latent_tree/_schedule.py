"""What a tree has to compute on a block of rows: sites from the leaves to the root, as arrays.

The unit of work is a site: a node, or a group of a node's inputs that have few patterns together.
A site with states s multiplies what its inputs say about them (`lam`); a node's site then sends
the message m(p) = sum_s P(s | p) lam(s) to its parent with states p. It does so once for each
distinct part of a row below it (a pattern), for rows that agree there send the same message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from latentclass._types import BoolArray, CodeArray, FloatArray, IndexArray
from latentclass.latent_tree._row_patterns import Pattern, PatternBlock, number_rows
from latentclass.latent_tree._tree import Tree

GROUP_SHARE = 0.1
"""Inputs are put together at a site of their own while they have fewer patterns than this share
of the block's rows."""

OWN_SHARE = 0.8
"""With more patterns than this share of the block's rows every row is a pattern of its own: a site
and its input that are both so go through memory in step, without looking up places."""

GROUP_SIZE = 16
"""Patterns that a group of inputs may have however few the rows."""


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
    ids: CodeArray
    columns: frozenset[int]
    inputs: tuple[int, ...]
    places: CodeArray


class Program(NamedTuple):
    """The sites as arrays, for the kernels; inputs come before their users, the root last.

    `straight` says of each input whether its places are 0, 1, 2, ...

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
    straight: BoolArray
    places_start: IndexArray
    places: npt.NDArray[np.uint32]
    n_numbers: int
    work: int


class Numbers(NamedTuple):
    """Messages: mantissa, exponent (of 2**256), and of each site two facts that save work.

    `scaled` says whether it has exponents other than 0; `floor` is at least 2**-256 and no
    larger than any positive mantissa of its message.
    """

    value: FloatArray
    exponent: CodeArray
    scaled: BoolArray
    floor: FloatArray


def _merge(block: PatternBlock, parts: Sequence[Site], columns: frozenset[int]) -> Pattern:
    """Patterns of several sites together."""
    found = block.patterns.get(columns)
    if found is None:
        found = number_rows(((part.ids, part.size) for part in parts), len(block.codes))
        if len(found.first) > OWN_SHARE * len(block.codes):
            every = np.arange(len(block.codes))
            found = Pattern(every.astype(np.int32), every)
        block.patterns[columns] = found
    return found


def make_sites(tree: Tree, block: PatternBlock) -> list[Site]:
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


def make_program(
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
    straight: list[bool] = []
    places: list[CodeArray] = [np.empty(0, dtype=np.int32)]
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
            straight += [
                sites[j].size == site.size and bool((row[1:] > row[:-1]).all())
                for j, row in zip(site.inputs, site.places, strict=True)
            ]
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
        straight=np.array(straight, dtype=bool),
        places_start=np.array(places_start, dtype=np.intp),
        places=np.concatenate(places).astype(np.uint32),  # numba tests signed ones for < 0
        n_numbers=n_numbers,
        work=work,
    )
    return program, used, static_starts
