"""Undirected shapes of latent trees, when they are regular, and trees in an editable form.

A shape says which nodes are neighbours and how many states each node has. That is enough to count
the parameters of a move. A move may leave redundant latent nodes behind: a node with one neighbour,
or a node with two neighbours that has at least as many states as one of them, which can be replaced
by an edge (Zhang 2004). They are removed from the shape when a move is considered (`Shape.tidy`)
and from the tree when it is made (`LooseTree.tidy`), by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._tree import Tree


class Shape:
    """Neighbours and numbers of states of the nodes. Columns are leaves; other nodes are latent.

    Attributes
    ----------
    around : dict of int to list of int
        Neighbours of each node.
    states : dict of int to int
    latent : set of int
    n_parameters : int
        Number of free parameters, which does not depend on the root: k - 1 for a node with k
        states, and (k - 1) (l - 1) for an edge between nodes with k and l states.
    """

    def __init__(
        self,
        around: dict[int, list[int]],
        states: dict[int, int],
        latent: set[int],
        n_parameters: int,
    ) -> None:
        self.around, self.states, self.latent = around, states, latent
        self.n_parameters = n_parameters

    @classmethod
    def of(cls, tree: Tree) -> Shape:
        """The shape of a tree, with the same node numbers."""
        parents = dict(enumerate(tree.parents))
        return cls.hung(parents, dict(enumerate(tree.cardinalities)), set(tree.latent))

    @classmethod
    def hung(cls, parents: dict[int, int], states: dict[int, int], latent: set[int]) -> Shape:
        """The shape of nodes with the given parents, -1 for the root."""
        around: dict[int, list[int]] = {node: [] for node in parents}
        n_parameters = sum(states.values()) - len(states)
        for node, parent in parents.items():
            if parent >= 0:
                around[node].append(parent)
                around[parent].append(node)
                n_parameters += (states[node] - 1) * (states[parent] - 1)
        return cls(around, states, latent, n_parameters)

    def copy(self) -> Shape:
        """A copy that can be changed; `link` and `cut` replace the shared lists of neighbours."""
        return Shape(dict(self.around), dict(self.states), set(self.latent), self.n_parameters)

    def link(self, a: int, b: int) -> None:
        """Make two nodes neighbours."""
        self.around[a] = [*self.around[a], b]
        self.around[b] = [*self.around[b], a]
        self.n_parameters += (self.states[a] - 1) * (self.states[b] - 1)

    def cut(self, a: int, b: int) -> None:
        """Remove the edge between two nodes."""
        self.around[a] = [node for node in self.around[a] if node != b]
        self.around[b] = [node for node in self.around[b] if node != a]
        self.n_parameters -= (self.states[a] - 1) * (self.states[b] - 1)

    def drop(self, node: int) -> None:
        """Remove a latent node and its edges."""
        for other in self.around[node]:
            self.cut(node, other)
        self.n_parameters -= self.states[node] - 1
        del self.around[node], self.states[node]
        self.latent.remove(node)

    def with_states(self, node: int, states: int) -> int:
        """Number of free parameters if a node had another number of states."""
        each = 1 + sum(self.states[other] - 1 for other in self.around[node])
        return self.n_parameters + (states - self.states[node]) * each

    def largest(self, node: int) -> int:
        """Largest number of states that a latent node may have in a regular shape."""
        return largest_regular(self.states[other] for other in self.around[node])

    def is_regular(self) -> bool:
        """Whether no latent node has more states than `largest`."""
        return all(self.states[node] <= self.largest(node) for node in self.latent)

    def redundant(self) -> int | None:
        """The first latent node that can be removed without loss, or None."""
        if len(self.latent) == 1:
            return None
        for node in sorted(self.latent):
            near = self.around[node]
            if len(near) < 2:
                return node
            # an edge between two columns is not part of a latent tree
            between = len(near) == 2 and any(other in self.latent for other in near)
            if between and self.states[node] >= min(self.states[other] for other in near):
                return node
        return None

    def tidy(self) -> Shape:
        """Remove redundant latent nodes, and return the shape itself."""
        while (node := self.redundant()) is not None:
            self.bypass(node)
        return self

    def bypass(self, node: int) -> None:
        """Remove a latent node with one or two neighbours, and link the two."""
        near = self.around[node]
        self.drop(node)
        if len(near) == 2:
            self.link(*near)


def largest_regular(neighbours: Iterable[int]) -> int:
    """Largest number of states of a latent node whose neighbours have the given ones.

    See `_tree.largest_regular_cardinality`.
    """
    states = list(neighbours)
    if not states:
        return 0
    bound = math.prod(states) // max(states)
    return bound - 1 if len(states) == 2 else bound


class LooseTree:
    """A tree as dictionaries, which can be changed and turned into a `Tree` again.

    Attributes
    ----------
    parents, states, columns, tables : dict by node
        As in `Tree`; nodes keep their numbers when others are removed.
    children : dict of int to list of int
    root : int
    """

    def __init__(self, tree: Tree) -> None:
        self.parents, self.states = (
            dict(enumerate(tree.parents)),
            dict(enumerate(tree.cardinalities)),
        )
        self.columns, self.tables = dict(enumerate(tree.columns)), dict(enumerate(tree.tables))
        self.children = {node: list(below) for node, below in enumerate(tree.children)}
        self.root = 0

    def add(self, node: int, states: int, parent: int, table: FloatArray) -> None:
        """Add a latent node."""
        self.states[node], self.columns[node], self.children[node] = states, -1, []
        self.parents[node], self.tables[node] = parent, table
        self.children[parent].append(node)

    def hang(self, node: int, parent: int, table: FloatArray) -> None:
        """Give a node another parent and table."""
        self.children[self.parents[node]].remove(node)
        self.parents[node], self.tables[node] = parent, table
        self.children[parent].append(node)

    def drop(self, node: int) -> None:
        """Remove a node without children."""
        self.children[self.parents[node]].remove(node)
        for by_node in (self.parents, self.states, self.columns, self.tables, self.children):
            del by_node[node]

    def turn(self, node: int) -> None:
        """Make another node the root: reverse the tables on the path to it by Bayes' rule."""
        path = [node]
        while path[-1] != self.root:
            path.append(self.parents[path[-1]])
        for child, parent in zip(path[-2::-1], path[:0:-1], strict=True):
            joint = (self.tables[parent][0][:, None] * self.tables[child]).T
            margin = joint.sum(axis=1, keepdims=True)
            even = np.full(joint.shape, 1.0 / joint.shape[1])
            self.tables[child] = margin.T / margin.sum()
            self.tables[parent] = np.divide(joint, margin, out=even, where=margin > 0)
            self.children[parent].remove(child)
            self.children[child].append(parent)
            self.parents[child], self.parents[parent] = -1, child
        self.root = node

    def tidy(self) -> LooseTree:
        """Remove redundant latent nodes without changing the distribution of the columns."""
        latent = {node for node, column in self.columns.items() if column < 0}
        shape = Shape.hung(self.parents, dict(self.states), latent)
        while (node := shape.redundant()) is not None:
            if node == self.root:
                self.turn(min(child for child in self.children[node] if self.columns[child] < 0))
            for child in list(self.children[node]):
                self.hang(child, self.parents[node], self.tables[node] @ self.tables[child])
            self.drop(node)
            shape.bypass(node)
        return self

    def tree(self) -> tuple[Tree, dict[int, int]]:
        """The `Tree`, with nodes numbered from the root down, and the new number of each node."""
        order = [self.root]
        for node in order:
            order += self.children[node]
        number = {node: i for i, node in enumerate(order)} | {-1: -1}
        tree = Tree(
            tuple(number[self.parents[node]] for node in order),
            tuple(self.states[node] for node in order),
            tuple(self.columns[node] for node in order),
            tuple(_normal(self.tables[node]) for node in order),
        )
        return tree, number


def _normal(table: FloatArray) -> FloatArray:
    """Make distributions sum to exactly 1 after rounding."""
    return np.asarray(table / table.sum(axis=1, keepdims=True))
