"""All messages of a tree on its rows, computed once for all candidate moves of a search step.

For neighbours v and u, let E_v be the observed cells on v's side of their edge. Two likelihoods are
kept, each up to a factor per row:

    evidence(v, u) = P(E_v | v)
    message(v, u)  = P(E_v | u) = sum_v P(v | u) P(E_v | v)

Neither depends on where the root is. The posterior P(u | row) is proportional to the marginal P(u)
times all messages into u. Dividing it by the messages of some neighbours gives the part of the
posterior that comes from the rest of the tree. All table entries are at least about `FLOOR`, so
these divisions are exact up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.latent_tree._row_patterns import PlaceArray
from latentclass.latent_tree._tree import Tree, marginals

FLOOR = 1e-10
"""Smallest probability in the tables of a tree whose messages are kept."""

RESCALE = 8
"""Number of messages after which the numbers of a row are divided by the largest of them."""


class Data(NamedTuple):
    """Distinct rows: codes, with -1 for a missing cell, and weights."""

    codes: CodeArray
    weight: FloatArray


def floored(tree: Tree) -> Tree:
    """The tree with every probability at least about `FLOOR`."""
    lifted = [np.maximum(table, FLOOR) for table in tree.tables]
    return Tree(
        tree.parents,
        tree.cardinalities,
        tree.columns,
        tuple(table / table.sum(axis=1, keepdims=True) for table in lifted),
    )


class Base:
    """A tree with its messages on the rows.

    Attributes
    ----------
    tree : Tree
        A tree without zeros in its tables (`floored`).
    data : Data
    margin : list of array
        Marginal distribution of each node.
    posterior : dict of int to array of shape (k, R)
        P(state | row) of each latent node, for R rows.
    """

    def __init__(self, tree: Tree, data: Data) -> None:
        self.tree, self.data = tree, data
        self.margin = marginals(tree)
        self._evidence: dict[tuple[int, int], FloatArray] = {}
        self._message: dict[tuple[int, int], FloatArray] = {}
        self.posterior: dict[int, FloatArray] = {}
        self._places: dict[int, PlaceArray] = {}
        self._upward()
        self._downward()

    def neighbours(self, node: int) -> list[int]:
        """The parent, if there is one, then the children."""
        parent = self.tree.parents[node]
        return [*([parent] if parent >= 0 else []), *self.tree.children[node]]

    def places(self, leaf: int) -> PlaceArray:
        """Codes of a leaf, where a missing cell has the code k after the last state."""
        if leaf not in self._places:
            codes, k = self.data.codes[:, self.tree.columns[leaf]], self.tree.cardinalities[leaf]
            self._places[leaf] = np.where(codes < 0, k, codes).astype(np.uint32)
        return self._places[leaf]

    def conditional(self, v: int, u: int) -> FloatArray:
        """P(v | u) of two neighbours, shape (states of u, states of v)."""
        if self.tree.parents[v] == u:
            return self.tree.tables[v]
        joint = (self.margin[v][:, None] * self.tree.tables[u]).T
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def evidence(self, v: int, u: int) -> FloatArray:
        """P(E_v | v), shape (states of v, R), scaled so that the largest number of a row is 1."""
        return self._evidence[v, u]

    def message(self, v: int, u: int) -> FloatArray:
        """P(E_v | u), shape (states of u, R), up to a factor per row."""
        return self._message[v, u]

    def _send(self, v: int, u: int, product: FloatArray) -> None:
        self._evidence[v, u] = evidence = product / product.max(axis=0)
        self._message[v, u] = self.conditional(v, u) @ evidence

    def shift(self, v: int, u: int) -> FloatArray:
        """log of the largest product of the messages into v without u's, shape (R,).

        `evidence(v, u)` is that product divided by its largest number.
        """
        top = self._evidence[v, u].argmax(axis=0)[None]
        total = np.zeros(len(self.data.weight))
        for other in self.neighbours(v):
            if other != u:
                total += np.log(np.take_along_axis(self._message[other, v], top, axis=0)[0])
        return total

    def _upward(self) -> None:
        tree = self.tree
        self._below: dict[int, FloatArray] = {}
        for node in range(len(tree.parents) - 1, -1, -1):
            parent = tree.parents[node]
            if tree.columns[node] >= 0:
                table = tree.tables[node]
                whole = np.concatenate([table, np.ones((len(table), 1))], axis=1)
                self._message[node, parent] = whole[:, self.places(node)]
                continue
            product = np.ones((tree.cardinalities[node], len(self.data.weight)))
            for number, child in enumerate(tree.children[node], start=1):
                product *= self._message[child, node]
                if number % RESCALE == 0:
                    product /= product.max(axis=0)
            self._below[node] = product
            if parent >= 0:
                self._send(node, parent, product)

    def _downward(self) -> None:
        tree = self.tree
        for node in tree.latent:
            product = self._below[node]
            parent = tree.parents[node]
            if parent >= 0:
                product = product * self._message[parent, node]
            joint = self.margin[node][:, None] * product
            self.posterior[node] = joint / joint.sum(axis=0)
            for child in tree.children[node]:
                if tree.columns[child] < 0:
                    self._send(node, child, product / self._message[child, node])
        del self._below

    def without(self, node: int, others: list[int]) -> FloatArray:
        """Posterior of a node divided by the messages of some neighbours, shape (k, R).

        Multiply it by the messages of these neighbours under other tables and sum over the states:
        the result is p(row) with the other tables divided by p(row) with the current ones.
        """
        base = self.posterior[node].copy()
        for other in others:
            base /= self._message[other, node]
        return base

    def spread_without(self, branch: int, node: int, targets: set[int]) -> dict[int, FloatArray]:
        """`without` of latent nodes outside a branch when it is cut off from `node`.

        They are the `targets` and the nodes on the way to them.
        """
        before, order = {node: branch}, [node]
        for here in order:
            if targets <= before.keys():
                break
            for other in self.neighbours(here):
                if other != before[here] and self.tree.columns[other] < 0:
                    before[other] = here
                    order.append(other)
        needed = {node}
        for target in targets:
            while target not in needed:
                needed.add(target)
                target = before[target]
        found = {node: self.without(node, [branch])}
        for other in order[1:]:
            if other in needed:
                here = before[other]
                above = found[here] / self._message[other, here]
                through = self.conditional(other, here).T @ above
                found[other] = through * self._evidence[other, here]
        return found
