"""Latent trees arranged for people: the root in the middle, large states first, telling columns.

Also the two ways in which a tree is carried over to another coding of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from latentclass._types import CodeArray, FloatArray
from latentclass.latent_tree._tree import Tree, marginals, permute_states, reroot


def with_columns(tree: Tree, columns: Sequence[int]) -> Tree:
    """The tree for another table, whose column `columns[c]` is what was column c."""
    return replace(tree, columns=tuple(columns[c] if c >= 0 else -1 for c in tree.columns))


def with_leaves(
    tree: Tree,
    codes: CodeArray,
    other: CodeArray,
    weight: FloatArray,
    n_levels: Sequence[int],
) -> Tree:
    """The tree with new leaf tables, for the same columns in another coding, as a start for EM.

    `codes` and `other`, of shape (n_rows, n_columns), code the same rows; -1 is a missing cell.
    `n_levels` has the number of levels of each column in `other`. The table of a leaf is counted
    with the posteriors of its parent's states.
    """
    from latentclass.latent_tree._inference import group_rows, node_posteriors

    share = {node: np.empty((0, tree.cardinalities[node])) for node in tree.latent}
    if len(codes):
        share = dict(zip(tree.latent, node_posteriors(tree, group_rows(codes)), strict=True))
    cardinalities, tables = list(tree.cardinalities), list(tree.tables)
    for node, (parent, column) in enumerate(zip(tree.parents, tree.columns, strict=True)):
        if column < 0:
            continue
        # half a row is added to each count, because EM cannot leave a probability of zero
        counts = np.full((tree.cardinalities[parent], n_levels[column]), 0.5)
        seen = other[:, column] >= 0
        for state, own in enumerate((share[parent] * weight[:, None])[seen].T):
            counts[state] += np.bincount(other[seen, column], own, n_levels[column])
        cardinalities[node] = n_levels[column]
        tables[node] = counts / counts.sum(axis=1, keepdims=True)
    return replace(tree, cardinalities=tuple(cardinalities), tables=tuple(tables))


def arranged(tree: Tree) -> Tree:
    """The same distribution with a central root and the states of latent nodes sorted by size.

    The root is the latent node with the smallest distance to the node farthest from it; the first
    one if there are several.
    """
    if len(tree.latent) > 1:
        tree, _ = reroot(tree, min(tree.latent, key=lambda node: (_reach(tree, node), node)))
    for node in tree.latent:
        order = np.argsort(-np.round(marginals(tree)[node], 12), kind="stable")
        tree = permute_states(tree, node, order.tolist())
    return tree


def _reach(tree: Tree, node: int) -> int:
    """Number of edges from a node to the node farthest from it."""
    around: list[list[int]] = [list(below) for below in tree.children]
    for child, parent in enumerate(tree.parents[1:], start=1):
        around[child].append(parent)
    far, waiting = 0, [(node, -1, 0)]
    while waiting:
        here, before, steps = waiting.pop()
        far = max(far, steps)
        waiting += [(other, here, steps + 1) for other in around[here] if other != before]
    return far


class Separation(NamedTuple):
    """How a column differs between the states of a latent node.

    Attributes
    ----------
    column : int
    information : float
        Mutual information of the column and the node, in nats.
    shares : array of shape (states, levels)
        Distribution of the column in each state.
    """

    column: int
    information: float
    shares: FloatArray


def separations(tree: Tree, node: int) -> list[Separation]:
    """How each column differs between the states of a latent node, most information first."""
    turned, _ = reroot(tree, node) if node else (tree, ())
    prior = turned.tables[0][0]
    given: list[FloatArray] = [np.eye(len(prior))]
    found = []
    for i, (parent, table) in enumerate(zip(turned.parents, turned.tables, strict=True)):
        if parent < 0:
            continue
        given.append(given[parent] @ table)
        if turned.columns[i] >= 0:
            found.append(Separation(turned.columns[i], _information(prior, given[i]), given[i]))
    return sorted(found, key=lambda s: (-round(s.information, 12), s.column))


def _information(prior: FloatArray, shares: FloatArray) -> float:
    joint = prior[:, None] * shares
    ratio = np.divide(shares, prior @ shares, out=np.ones_like(shares), where=joint > 0)
    return max(0.0, float(np.sum(joint * np.log(ratio, where=joint > 0, out=np.zeros_like(ratio)))))
