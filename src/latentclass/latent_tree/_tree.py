"""Trees of discrete variables as plain values: checks, re-rooting, information, samples.

A tree has nodes 0, 1, ... with parents before children; node 0 is the root. A node that shows a
column of the data is observed (its cells may be missing), every other node is latent. Every leaf
shows a column. An inner node is usually latent, but it may show a column too.

    p(all nodes) = P(root) * prod over the other nodes of P(node | parent)

The tables of all nodes can also be one flat array of F entries, `theta`: the distribution of the
root, then P(child | parent) node by node, with the states of the child running fastest.

This is a latent tree model (m, θ) as in section 2 of Wang, Zhang, Chen and Poon (2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import CodeArray, FloatArray, IndexArray
from latentclass.discrete._network import draw_levels

ROUNDING = 1e-6
"""How far the sum of a distribution may be from 1."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree-shaped Bayesian network, which cannot be changed.

    Attributes
    ----------
    parents : tuple of int
        Parent of each node; -1 for the root, which comes first. Parents come before children.
    cardinalities : tuple of int
        Number of states of each node.
    columns : tuple of int
        Column of the data that each node shows; -1 for a latent node.
    tables : tuple of array
        Shape (1, k) for the root, (states of the parent, own states) for the others. The last
        axis sums to 1. The arrays are read-only copies.

    Examples
    --------
    >>> tree = Tree(
    ...     (-1, 0, 0),
    ...     (2, 2, 2),
    ...     (-1, 0, 1),
    ...     ([[0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]]),
    ... )
    >>> n_parameters(tree)
    5
    >>> edge_information(tree).round(3)
    array([0.   , 0.262, 0.02 ])
    """

    parents: tuple[int, ...]
    cardinalities: tuple[int, ...]
    columns: tuple[int, ...]
    tables: tuple[FloatArray, ...]

    def __post_init__(self) -> None:
        for name in ("parents", "cardinalities", "columns"):
            object.__setattr__(self, name, _whole_numbers(name, getattr(self, name)))
        _check_shape(self.parents, self.cardinalities, self.columns)
        object.__setattr__(self, "tables", tuple(map(_frozen, self.tables)))
        _check_tables(self)

    @classmethod
    def even(
        cls, parents: Sequence[int], cardinalities: Sequence[int], columns: Sequence[int]
    ) -> Tree:
        """A tree in which all distributions are uniform."""
        parents = _whole_numbers("parents", parents)
        cardinalities = _whole_numbers("cardinalities", cardinalities)
        columns = _whole_numbers("columns", columns)
        _check_shape(parents, cardinalities, columns)
        tables = tuple(
            np.full((1 if p < 0 else cardinalities[p], k), 1.0 / k)
            for p, k in zip(parents, cardinalities, strict=True)
        )
        return cls(parents, cardinalities, columns, tables)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents[1:], start=1):
            found[parent].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def latent(self) -> tuple[int, ...]:
        """The latent nodes."""
        return tuple(node for node, column in enumerate(self.columns) if column < 0)

    @property
    def latent_cardinalities(self) -> tuple[int, ...]:
        """Number of states of each latent node."""
        return tuple(self.cardinalities[node] for node in self.latent)

    @cached_property
    def offsets(self) -> IndexArray:
        """Where the entries of each table start in `theta`, followed by F."""
        return np.concatenate([[0], np.cumsum([t.size for t in self.tables])]).astype(np.intp)

    @cached_property
    def distribution_starts(self) -> IndexArray:
        """First entry of each distribution (row of a table) in `theta`."""
        return np.concatenate(
            [
                np.arange(first, first + table.size, table.shape[1])
                for first, table in zip(self.offsets[:-1], self.tables, strict=True)
            ]
        ).astype(np.intp)

    @cached_property
    def theta(self) -> FloatArray:
        """The entries of all tables as one flat array."""
        return np.concatenate([table.ravel() for table in self.tables])

    def with_theta(self, theta: FloatArray) -> Tree:
        """The same tree with other tables, given as a flat array."""
        return replace(self, tables=self.split(theta))

    def split(self, theta: FloatArray) -> tuple[FloatArray, ...]:
        """A flat array of F entries (probabilities or counts) as tables."""
        return tuple(
            theta[first : first + table.size].reshape(table.shape)
            for first, table in zip(self.offsets[:-1], self.tables, strict=True)
        )


def _whole_numbers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    for node, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name}[{node}]={value!r} must be a whole number.")
    return tuple(int(value) for value in values)


def _frozen(table: npt.ArrayLike) -> FloatArray:
    copy = np.array(table, dtype=np.float64, order="C")
    copy.setflags(write=False)
    return copy


def _check_shape(
    parents: tuple[int, ...], cardinalities: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    if not parents:
        raise ValueError("A tree needs at least one node, but parents is empty.")
    if not len(parents) == len(cardinalities) == len(columns):
        raise ValueError(
            f"parents ({len(parents)}), cardinalities ({len(cardinalities)}) and columns "
            f"({len(columns)}) must have one entry for each node."
        )
    if parents[0] != -1:
        raise ValueError(f"parents[0]={parents[0]} must be -1: node 0 is the root.")
    for node, parent in enumerate(parents[1:], start=1):
        if not 0 <= parent < node:
            raise ValueError(
                f"parents[{node}]={parent} must be a node before node {node}. Number the nodes "
                "with parents before children, and one root."
            )
    for node, k in enumerate(cardinalities):
        if k < 1:
            raise ValueError(f"cardinalities[{node}]={k} must be at least 1.")
    shown: dict[int, int] = {}
    leaves = set(range(len(parents))) - set(parents)
    for node, column in enumerate(columns):
        if column < -1:
            raise ValueError(
                f"columns[{node}]={column} must be the number of a column, or -1 for a latent node."
            )
        if column in shown:
            raise ValueError(
                f"Nodes {shown[column]} and {node} both show column {column}, but only one node "
                "may show a column."
            )
        if column >= 0:
            shown[column] = node
        elif node in leaves:
            raise ValueError(
                f"Node {node} is a leaf but columns[{node}]=-1: a leaf must show a column. Remove "
                "the node; without it the columns have the same distribution."
            )


def _check_tables(tree: Tree) -> None:
    if len(tree.tables) != len(tree.parents):
        raise ValueError(
            f"tables has {len(tree.tables)} entries but must have one for each of the "
            f"{len(tree.parents)} nodes."
        )
    for node, (parent, k) in enumerate(zip(tree.parents, tree.cardinalities, strict=True)):
        table = tree.tables[node]
        shape = (1 if parent < 0 else tree.cardinalities[parent], k)
        if table.shape != shape:
            raise ValueError(f"tables[{node}] has shape {table.shape} but must have shape {shape}.")
    # all tables at once, since a search makes many trees; NaN fails these comparisons too
    if np.all((tree.theta >= 0) & (tree.theta <= 1 + ROUNDING)):
        sums = np.add.reduceat(tree.theta, tree.distribution_starts)
        if np.all(np.abs(sums - 1) <= ROUNDING):
            return
    for node, table in enumerate(tree.tables):
        if not np.all((table >= 0) & (table <= 1 + ROUNDING)):
            raise ValueError(f"tables[{node}] has entries that are not between 0 and 1.")
        wrong = np.flatnonzero(np.abs(table.sum(axis=1) - 1) > ROUNDING)
        if wrong.size:
            raise ValueError(
                f"Row {wrong[0]} of tables[{node}] sums to {table[wrong[0]].sum():.6g} but must "
                "sum to 1."
            )


def n_parameters(tree: Tree) -> int:
    """Number of free parameters, d(m): k - 1 for each distribution over k states."""
    return sum(table.shape[0] * (table.shape[1] - 1) for table in tree.tables)


def largest_regular_cardinality(tree: Tree, node: int) -> int:
    """Largest number of states that a latent node may have in a regular tree.

    Let B be the product of the cardinalities of its neighbours, divided by the largest of them. A
    latent node of a regular tree has at most B states, and at most B - 1 if it has exactly two
    neighbours (Zhang 2004; section 2 of Wang, Zhang, Chen and Poon 2011). Further states add
    parameters, but the tree can represent no further distribution of the columns. A result of 0
    means that a regular tree cannot have this node at all.
    """
    around = [tree.cardinalities[child] for child in tree.children[node]]
    if tree.parents[node] >= 0:
        around.append(tree.cardinalities[tree.parents[node]])
    bound = math.prod(around) // max(around)
    return bound - 1 if len(around) == 2 else bound


def irregular_nodes(tree: Tree) -> tuple[int, ...]:
    """Latent nodes with more states than `largest_regular_cardinality`; empty if regular."""
    return tuple(
        node
        for node in tree.latent
        if tree.cardinalities[node] > largest_regular_cardinality(tree, node)
    )


def marginals(tree: Tree) -> list[FloatArray]:
    """Marginal distribution of each node."""
    found: list[FloatArray] = [tree.tables[0][0]]
    for parent, table in zip(tree.parents[1:], tree.tables[1:], strict=True):
        found.append(found[parent] @ table)
    return found


def edge_information(tree: Tree) -> FloatArray:
    """Mutual information of each node and its parent in nats; 0 for the root."""
    margin = marginals(tree)
    information = np.zeros(len(tree.parents))
    for node, parent in enumerate(tree.parents[1:], start=1):
        table = tree.tables[node]
        expected = np.broadcast_to(margin[node], table.shape)
        seen = (table > 0) & (margin[parent][:, None] > 0) & (expected > 0)
        ratio = np.divide(table, expected, out=np.ones_like(table), where=seen)
        joint = margin[parent][:, None] * table
        # single terms may be negative, but their sum is not
        information[node] = max(0.0, float(np.sum(joint * np.log(ratio, where=seen, out=ratio))))
    return information


def reroot(tree: Tree, node: int) -> tuple[Tree, tuple[int, ...]]:
    """The same joint distribution with another node as root.

    The tables on the path from the old root to the new one are reversed by Bayes' rule. All others
    stay the same, to the bit. In a reversed table, a state of probability 0 gets a uniform
    distribution.

    Returns
    -------
    tree : Tree
    order : tuple of int
        order[i] is the old number of node i of the new tree.

    Examples
    --------
    >>> chain = Tree.even((-1, 0, 1, 1, 0), (2, 2, 3, 3, 3), (-1, -1, 0, 1, 2))
    >>> turned, order = reroot(chain, 1)
    >>> turned.parents, order
    ((-1, 0, 1, 0, 0), (1, 0, 4, 2, 3))
    """
    _check_node(tree, node)
    if node and tree.columns[0] < 0 and len(tree.children[0]) == 1:
        raise ValueError(
            "Node 0, the root, is latent and has only one neighbour, so with another root it would "
            "be a latent leaf. Remove it first."
        )
    margin = marginals(tree)
    parents = dict(enumerate(tree.parents))
    tables = dict(enumerate(tree.tables))
    child, tables[node] = node, margin[node][None]
    parents[node] = -1
    while (parent := tree.parents[child]) >= 0:
        joint = (margin[parent][:, None] * tree.tables[child]).T
        total = joint.sum(axis=1, keepdims=True)
        even = np.full_like(joint, 1.0 / joint.shape[1])
        tables[parent] = np.divide(joint, total, out=even, where=total > 0)
        parents[parent] = child
        child = parent
    below: dict[int, list[int]] = {i: [] for i in parents}
    for i, parent in parents.items():
        if parent >= 0:
            below[parent].append(i)
    order, waiting = [], [node]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(below[order[-1]])
    return _renumbered(tree, order, parents, tables), tuple(order)


def _renumbered(
    tree: Tree, order: list[int], parents: dict[int, int], tables: dict[int, FloatArray]
) -> Tree:
    place = {old: new for new, old in enumerate(order)}
    place[-1] = -1
    return Tree(
        tuple(place[parents[old]] for old in order),
        tuple(tree.cardinalities[old] for old in order),
        tuple(tree.columns[old] for old in order),
        tuple(tables[old] for old in order),
    )


def permute_states(tree: Tree, node: int, order: Sequence[int]) -> Tree:
    """The same distribution, where state i of a node is its former state order[i]."""
    _check_node(tree, node)
    if sorted(order) != list(range(tree.cardinalities[node])):
        raise ValueError(
            f"order={list(order)} must contain each of the {tree.cardinalities[node]} states of "
            f"node {node} once."
        )
    tables = list(tree.tables)
    index = np.asarray(order, dtype=np.intp)
    tables[node] = tables[node][:, index]
    for child in tree.children[node]:
        tables[child] = tables[child][index]
    return replace(tree, tables=tuple(tables))


def _check_node(tree: Tree, node: int) -> None:
    if not 0 <= node < len(tree.parents):
        raise ValueError(f"node={node} must be one of the nodes 0 to {len(tree.parents) - 1}.")


def sample_nodes(tree: Tree, n_rows: int, rng: np.random.Generator) -> CodeArray:
    """Draw the states of all nodes, latent ones included, shape (n_rows, n_nodes)."""
    states = np.zeros((n_rows, len(tree.parents)), dtype=np.int32)
    for node, (parent, table) in enumerate(zip(tree.parents, tree.tables, strict=True)):
        given = states[:, parent] if parent >= 0 else np.zeros(n_rows, dtype=np.int32)
        states[:, node] = draw_levels(table[given], rng)
    return states


def observed_codes(tree: Tree, states: CodeArray, n_columns: int | None = None) -> CodeArray:
    """States of the nodes as codes of the columns of the data; -1 in columns no node shows."""
    width = max(tree.columns) + 1 if n_columns is None else n_columns
    codes = np.full((len(states), width), -1, dtype=np.int32)
    for node, column in enumerate(tree.columns):
        if column >= 0:
            codes[:, column] = states[:, node]
    return codes
