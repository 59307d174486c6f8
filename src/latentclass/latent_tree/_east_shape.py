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
from latentclass.latent_tree._tree import Tree, reroot


class Shape:
    """Neighbours and numbers of states of the nodes. Columns are leaves; other nodes are latent.

    Attributes
    ----------
    around : dict of int to list of int
        Neighbours of each node.
    states : dict of int to int
    latent : set of int
    """

    def __init__(
        self, around: dict[int, list[int]], states: dict[int, int], latent: set[int]
    ) -> None:
        self.around, self.states, self.latent = around, states, latent

    @classmethod
    def of(cls, tree: Tree) -> Shape:
        """The shape of a tree, with the same node numbers."""
        around: dict[int, list[int]] = {node: [] for node in range(len(tree.parents))}
        for node, parent in enumerate(tree.parents):
            if parent >= 0:
                around[node].append(parent)
                around[parent].append(node)
        return cls(around, dict(enumerate(tree.cardinalities)), set(tree.latent))

    def copy(self) -> Shape:
        """A copy that can be changed; `link` and `cut` replace the shared lists of neighbours."""
        return Shape(dict(self.around), dict(self.states), set(self.latent))

    def link(self, a: int, b: int) -> None:
        """Make two nodes neighbours."""
        self.around[a] = [*self.around[a], b]
        self.around[b] = [*self.around[b], a]

    def cut(self, a: int, b: int) -> None:
        """Remove the edge between two nodes."""
        self.around[a] = [node for node in self.around[a] if node != b]
        self.around[b] = [node for node in self.around[b] if node != a]

    def add(self, node: int, states: int) -> None:
        """Add a latent node without neighbours."""
        self.around[node], self.states[node] = [], states
        self.latent.add(node)

    def drop(self, node: int) -> None:
        """Remove a latent node and its edges."""
        for other in self.around[node]:
            self.around[other] = [v for v in self.around[other] if v != node]
        del self.around[node], self.states[node]
        self.latent.remove(node)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, which does not depend on the root."""
        twice = sum(
            self.states[a] * self.states[b] - 1 for a, near in self.around.items() for b in near
        )
        return twice // 2 - sum(
            (len(near) - 1) * (self.states[node] - 1) for node, near in self.around.items()
        )

    def largest(self, node: int) -> int:
        """Largest number of states that a latent node may have in a regular shape."""
        return largest_regular(self.states[other] for other in self.around[node])

    def is_regular(self, nodes: Iterable[int] | None = None) -> bool:
        """Whether no latent node, or none of the given ones, has more states than `largest`."""
        chosen = self.latent if nodes is None else [v for v in nodes if v in self.latent]
        return all(self.states[node] <= self.largest(node) for node in chosen)

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
            near = self.around[node]
            self.drop(node)
            if len(near) == 2:
                self.link(*near)
        return self


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
    root : int
    """

    def __init__(self, tree: Tree, root: int) -> None:
        turned, order = reroot(tree, root) if root else (tree, range(len(tree.parents)))
        self.parents = {order[i]: order[p] if p >= 0 else -1 for i, p in enumerate(turned.parents)}
        self.states = {order[i]: k for i, k in enumerate(turned.cardinalities)}
        self.columns = {order[i]: c for i, c in enumerate(turned.columns)}
        self.tables = {order[i]: t for i, t in enumerate(turned.tables)}
        self.root = root

    def children(self, node: int) -> list[int]:
        """The children of a node."""
        return [other for other, parent in self.parents.items() if parent == node]

    def drop(self, node: int) -> None:
        """Remove a node without children."""
        del self.parents[node], self.states[node], self.columns[node], self.tables[node]

    def shape(self) -> Shape:
        """The shape of the tree."""
        around: dict[int, list[int]] = {node: [] for node in self.parents}
        for node, parent in self.parents.items():
            if parent >= 0:
                around[node].append(parent)
                around[parent].append(node)
        latent = {node for node, column in self.columns.items() if column < 0}
        return Shape(around, dict(self.states), latent)

    def tidy(self) -> LooseTree:
        """Remove redundant latent nodes without changing the distribution of the columns."""
        while (node := self.shape().redundant()) is not None:
            if node == self.root:
                self._move_root(node)
            for child in self.children(node):
                self.tables[child] = self.tables[node] @ self.tables[child]
                self.parents[child] = self.parents[node]
            self.drop(node)
        return self

    def _move_root(self, node: int) -> None:
        """Make a latent child of the root the new root, by Bayes' rule."""
        heir = min(child for child in self.children(node) if self.columns[child] < 0)
        joint = self.tables[node][0][:, None] * self.tables[heir]
        margin = joint.sum(axis=0)
        even = np.full(joint.T.shape, 1.0 / len(joint))
        self.tables[heir] = margin[None] / margin.sum()
        self.tables[node] = np.divide(joint.T, margin[:, None], out=even, where=margin[:, None] > 0)
        self.parents[heir], self.parents[node], self.root = -1, heir, heir

    def tree(self) -> tuple[Tree, dict[int, int]]:
        """The `Tree`, with nodes numbered from the root down, and the new number of each node."""
        order = [self.root]
        for node in order:
            order += self.children(node)
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
