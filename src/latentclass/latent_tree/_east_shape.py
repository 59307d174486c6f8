"""Shapes of latent trees without direction, and what makes them regular; trees taken apart.

A shape is what the search compares by size: which nodes are neighbours, and how many states each
has. A latent node that a move leaves behind with one neighbour says nothing; one with two
neighbours and no fewer states than one of these says no more than an edge between them (Zhang
2004). Both are taken out, of the shape when a move is thought of (`tidy`), of the tree when it is
made (`LooseTree.tidy`), by the same rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from latentclass._types import FloatArray
from latentclass.latent_tree._tree import Tree, reroot


class Shape:
    """Neighbours and states of the nodes; columns are leaves, all others latent.

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
        """The shape of a tree, its nodes by their numbers."""
        around: dict[int, list[int]] = {node: [] for node in range(len(tree.parents))}
        for node, parent in enumerate(tree.parents):
            if parent >= 0:
                around[node].append(parent)
                around[parent].append(node)
        return cls(around, dict(enumerate(tree.cardinalities)), set(tree.latent))

    def copy(self) -> Shape:
        """One that can be changed; lists of neighbours are shared until `link` or `cut`."""
        return Shape(dict(self.around), dict(self.states), set(self.latent))

    def link(self, a: int, b: int) -> None:
        """Make two nodes neighbours."""
        self.around[a] = [*self.around[a], b]
        self.around[b] = [*self.around[b], a]

    def cut(self, a: int, b: int) -> None:
        """Make them neighbours no more."""
        self.around[a] = [node for node in self.around[a] if node != b]
        self.around[b] = [node for node in self.around[b] if node != a]

    def add(self, node: int, states: int) -> None:
        """A latent node without neighbours."""
        self.around[node], self.states[node] = [], states
        self.latent.add(node)

    def drop(self, node: int) -> None:
        """Take a latent node out, with its edges."""
        for other in self.around[node]:
            self.around[other] = [v for v in self.around[other] if v != node]
        del self.around[node], self.states[node]
        self.latent.remove(node)

    @property
    def n_parameters(self) -> int:
        """Free parameters, whichever node is the root."""
        twice = sum(
            self.states[a] * self.states[b] - 1 for a, near in self.around.items() for b in near
        )
        return twice // 2 - sum(
            (len(near) - 1) * (self.states[node] - 1) for node, near in self.around.items()
        )

    def largest(self, node: int) -> int:
        """Most states a latent node may have in a regular shape."""
        return largest_regular(self.states[other] for other in self.around[node])

    def is_regular(self, nodes: Iterable[int] | None = None) -> bool:
        """Whether these latent nodes, or all, have no more states than they may."""
        chosen = self.latent if nodes is None else [v for v in nodes if v in self.latent]
        return all(self.states[node] <= self.largest(node) for node in chosen)

    def needless(self) -> int | None:
        """A latent node that can be taken out without loss; the lowest, if there are several."""
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
        """Itself, needless latent nodes taken out."""
        while (node := self.needless()) is not None:
            near = self.around[node]
            self.drop(node)
            if len(near) == 2:
                self.link(*near)
        return self


def largest_regular(neighbours: Iterable[int]) -> int:
    """Most states of a latent node whose neighbours have these (see `_tree`)."""
    states = list(neighbours)
    if not states:
        return 0
    bound = math.prod(states) // max(states)
    return bound - 1 if len(states) == 2 else bound


class LooseTree:
    """A tree taken apart, to be changed and put together again.

    Attributes
    ----------
    parents, states, columns, tables : dict by node
        As in `Tree`, with the nodes' numbers kept.
    """

    def __init__(self, tree: Tree, root: int) -> None:
        turned, order = reroot(tree, root) if root else (tree, range(len(tree.parents)))
        self.parents = {order[i]: order[p] if p >= 0 else -1 for i, p in enumerate(turned.parents)}
        self.states = {order[i]: k for i, k in enumerate(turned.cardinalities)}
        self.columns = {order[i]: c for i, c in enumerate(turned.columns)}
        self.tables = {order[i]: t for i, t in enumerate(turned.tables)}
        self.root = root

    def children(self, node: int) -> list[int]:
        """Nodes right below."""
        return [other for other, parent in self.parents.items() if parent == node]

    def drop(self, node: int) -> None:
        """Take a node out that has no children."""
        del self.parents[node], self.states[node], self.columns[node], self.tables[node]

    def shape(self) -> Shape:
        """Neighbours and states."""
        around: dict[int, list[int]] = {node: [] for node in self.parents}
        for node, parent in self.parents.items():
            if parent >= 0:
                around[node].append(parent)
                around[parent].append(node)
        latent = {node for node, column in self.columns.items() if column < 0}
        return Shape(around, dict(self.states), latent)

    def tidy(self) -> LooseTree:
        """Itself, needless latent nodes taken out; no distribution of the columns is lost."""
        while (node := self.shape().needless()) is not None:
            if node == self.root:
                self._move_root(node)
            for child in self.children(node):
                self.tables[child] = self.tables[node] @ self.tables[child]
                self.parents[child] = self.parents[node]
            self.drop(node)
        return self

    def _move_root(self, node: int) -> None:
        """Another latent node becomes the root."""
        heir = min(child for child in self.children(node) if self.columns[child] < 0)
        joint = self.tables[node][0][:, None] * self.tables[heir]
        margin = joint.sum(axis=0)
        even = np.full(joint.T.shape, 1.0 / len(joint))
        self.tables[heir] = margin[None] / margin.sum()
        self.tables[node] = np.divide(joint.T, margin[:, None], out=even, where=margin[:, None] > 0)
        self.parents[heir], self.parents[node], self.root = -1, heir, heir

    def tree(self) -> tuple[Tree, dict[int, int]]:
        """Put together again, nodes numbered from the root down; and each node's new number."""
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
    """Distributions that sum to one, whatever rounding did."""
    return np.asarray(table / table.sum(axis=1, keepdims=True))
