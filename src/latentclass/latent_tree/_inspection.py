"""What a latent tree classifier shows of its trees: names, groups, edges, networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from latentclass.data._match import free_name
from latentclass.estimator._bif import BifVariable
from latentclass.estimator._latent_names import Names
from latentclass.latent_tree._arrange import separations
from latentclass.latent_tree._tree import Tree, edge_information, marginals


@dataclass(frozen=True)
class ClassTree:
    """The tree of one class with the names of its nodes and levels.

    Attributes
    ----------
    tree : Tree
    latent : tuple of str
        Names of the latent variables.
    columns : list of str
        Names of the columns that vary.
    levels : list of list
        The levels of each of these columns.
    """

    tree: Tree
    latent: tuple[str, ...]
    columns: list[str]
    levels: list[list[Any]]

    @property
    def node_names(self) -> list[str]:
        """Names of all nodes."""
        latent = iter(self.latent)
        return [self.columns[c] if c >= 0 else next(latent) for c in self.tree.columns]


def name_latents(
    trees: Sequence[Sequence[Tree]], n_classes: int, column_names: Sequence[str]
) -> Names:
    """Name the latent variables Y1, Y2, ... through all classes, avoiding names of columns.

    `trees` has the trees of each set of cut points; the names belong to the first set.
    """
    taken, number = list(column_names), 0
    names: list[list[str]] = [[] for _ in range(n_classes)]
    for own, tree in zip(names, trees[0] if trees else (), strict=False):
        for _ in tree.latent:
            number += 1
            own.append(free_name(f"Y{number}", taken))
    return tuple(map(tuple, names))


GROUP_HEADS = ("latent", "group", "size", "column", "information", "level", "probability")


def tree_groups(shown: ClassTree, top: int | None) -> list[tuple[Any, ...]]:
    """Rows of the table that `LatentTreeClassifier.latent_groups` returns, as in `GROUP_HEADS`."""
    rows = []
    for name, node in zip(shown.latent, shown.tree.latent, strict=True):
        size = marginals(shown.tree)[node].tolist()
        for part in separations(shown.tree, node)[:top]:
            column, levels = shown.columns[part.column], shown.levels[part.column]
            for group, shares in enumerate(part.shares):
                rows += [
                    (name, group, size[group], column, part.information, *level)
                    for level in zip(levels, shares, strict=True)
                ]
    return rows


def tree_edges(shown: ClassTree) -> list[tuple[str, str, float]]:
    """Name of the parent, name of the child and their mutual information in nats, for each edge.

    Parents come before their children.
    """
    names, information = shown.node_names, edge_information(shown.tree)
    return [
        (names[parent], names[node], float(information[node]))
        for node, parent in enumerate(shown.tree.parents)
        if parent >= 0
    ]


def tree_variables(shown: ClassTree) -> list[BifVariable]:
    """The tree as the variables of a Bayesian network, parents before children."""
    tree, names = shown.tree, shown.node_names
    variables = []
    for node, (parent, column) in enumerate(zip(tree.parents, tree.columns, strict=True)):
        groups = [f"group{state}" for state in range(tree.cardinalities[node])]
        states = shown.levels[column] if column >= 0 else groups
        given = () if parent < 0 else (names[parent],)
        table = tree.tables[node] if given else tree.tables[node][0]
        variables.append(BifVariable(names[node], states, given, table))
    return variables
