"""Latent trees arranged for readers: central root, large states first, informative columns.

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


def leaf_counts(
    tree: Tree, codes: CodeArray, fine: CodeArray, weight: FloatArray, n_levels: Sequence[int]
) -> dict[int, FloatArray]:
    """Expected weight of each level of a finer coding, for each leaf and state of its parent.

    `codes` and `fine`, of shape (n_rows, n_columns), code the same rows; -1 is a missing cell.
    `n_levels` has the number of fine levels of each column. The counts of a leaf, of shape (states
    of its parent, levels), are made with the posteriors of these states.
    """
    from latentclass.latent_tree._inference import group_rows, node_posteriors

    share = {node: np.empty((0, tree.cardinalities[node])) for node in tree.latent}
    if len(codes):
        share = dict(zip(tree.latent, node_posteriors(tree, group_rows(codes)), strict=True))
    found: dict[int, FloatArray] = {}
    for node, (parent, column) in enumerate(zip(tree.parents, tree.columns, strict=True)):
        if column >= 0:
            n = n_levels[column]
            # missing cells are counted as an extra level
            place = np.where(fine[:, column] < 0, n, fine[:, column])
            shares = share[parent] * weight[:, None]
            counts = [np.bincount(place, own, n + 1)[:n] for own in shares.T]
            found[node] = np.stack(counts).astype(np.float64)
    return found


def with_leaves(tree: Tree, counts: dict[int, FloatArray], level: Sequence[CodeArray]) -> Tree:
    """The tree with new leaf tables, for the same columns in another coding, as a start for EM.

    `counts` are the `leaf_counts` of a coding that is finer than both. `level` has, for each
    column, the level in the other coding of each fine one.
    """
    cardinalities, tables = list(tree.cardinalities), list(tree.tables)
    for node, own in counts.items():
        column = level[tree.columns[node]]
        # half a row is added to each count, because EM cannot leave a probability of zero
        total = 0.5 + own @ np.eye(int(column.max()) + 1)[column]
        cardinalities[node] = total.shape[1]
        tables[node] = total / total.sum(axis=1, keepdims=True)
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
