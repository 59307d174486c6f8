"""The latent tree of each class, and the groups into which its latent variables sort the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latentclass.reports._findings import (
    Finding,
    GroupProfile,
    GroupsFinding,
    LatentGroups,
    Structure,
    TreeFinding,
    TreeNode,
)
from latentclass.reports._table import Rows, fewest_decimals
from latentclass.reports._text import cut, listed, number, percent, plain

MOST_LEAVES, MOST_TREES, MOST_LATENT = 60, 8, 12
"""Columns of a tree, trees on a page, and latent variables of a tree whose groups are shown."""

TOP_COLUMNS, TOP_LEVELS = 4, 6
"""Columns that set the groups of a latent variable apart, and levels of each."""

HOW_TO_READ = (
    "Circles are latent variables with their number of groups; names at the ends are columns. A "
    "wide line means that the two depend strongly on each other. "
)

GROUPS_TEXT = (
    "Each latent variable sorts the rows of the class into groups. A bar is a group, and its parts "
    "are the shares of the values of a column in it. The columns that differ most come first."
)


def describe_trees(model: Any, rows: Rows) -> Structure:
    """The trees of the classes with their groups."""
    findings: list[Finding] = []
    n_latent = 0
    grouped, without_groups = [], []
    for label, name in zip(model.classes_.tolist(), rows.classes, strict=True):
        edges = model.tree_edges(label)
        if not edges:
            continue
        states = dict(
            zip(model.latent_names_[label], model.trees_[label].latent_cardinalities, strict=True)
        )
        if max(states.values()) == 1:
            without_groups.append(name)
        else:
            grouped.append((label, name, edges, states))
            n_latent += len(states)
    for label, name, edges, states in grouped[:MOST_TREES]:
        nodes, left = tree_nodes(edges, states)
        strongest = max(nodes[1:], key=lambda node: node.information or 0.0)
        above = nodes[strongest.parent].name
        text = (
            f"{'' if findings else HOW_TO_READ}The widest line here, of {cut(above)} and "
            f"{cut(strongest.name)}, stands for {strongest.information:.2f} nats of mutual "
            "information (0 is none; 0.69 settles an even yes or no)."
        )
        if left:
            text += f" The {left} weakest columns are not drawn."
        findings.append(TreeFinding(f"Tree of class {cut(name)}", text, nodes))
        groups = tree_groups(model, label, rows)
        if groups:
            findings.append(
                GroupsFinding(
                    f"Groups within class {cut(name)}",
                    GROUPS_TEXT if len(findings) == 1 else "",
                    groups[:MOST_LATENT],
                    max(len(groups) - MOST_LATENT, 0),
                )
            )
    if without_groups and not findings:
        return Structure(
            "No groups were found within a class: given the class, the columns look independent, "
            "as naive Bayes takes them to be.",
            (),
        )
    if not findings:
        return Structure("No column varies, so the model has no tree.", ())
    sentence = (
        f"In each class the columns are the leaves of a tree of latent variables, {n_latent} in "
        "all. Each of these splits the rows of its class into groups."
    )
    if len(grouped) > MOST_TREES:
        sentence += (
            f" The trees of {MOST_TREES} of the {len(grouped)} classes with groups are drawn."
        )
    if without_groups:
        sentence += f" No groups were found within class {listed(without_groups)}."
    return Structure(sentence, tuple(findings))


def tree_nodes(
    edges: list[tuple[str, str, float]], states: dict[str, int]
) -> tuple[tuple[TreeNode, ...], int]:
    """Nodes with parents first, the strongest branches first; and how many columns are left out."""
    leaves = sorted(
        ((info, child) for _, child, info in edges if child not in states), key=lambda e: -e[0]
    )
    dropped = {child for _, child in leaves[MOST_LEAVES:]}
    children: dict[str, list[tuple[str, float]]] = {}
    for parent, child, info in edges:
        if child not in dropped:
            children.setdefault(parent, []).append((child, info))
    nodes: list[TreeNode] = []
    waiting: list[tuple[str, int, float | None]] = [(edges[0][0], -1, None)]
    while waiting:
        name, above, shared = waiting.pop()
        place = len(nodes)
        nodes.append(TreeNode(plain(name), above, int(states.get(name, 0)), shared))
        below = sorted(children.get(name, []), key=lambda one: one[1])
        waiting += [(child, place, float(value)) for child, value in below]
    return tuple(nodes), len(dropped)


def tree_groups(model: Any, label: Any, rows: Rows) -> tuple[LatentGroups, ...]:
    """The groups of each latent variable of a class, and how columns are spread in them."""
    frame = model.latent_groups(label, top=TOP_COLUMNS)
    found = []
    for latent, part in frame.groupby("latent", sort=False):
        sizes = part.drop_duplicates("group").set_index("group")["size"].sort_index()
        profiles: list[GroupProfile] = []
        marks: list[list[str]] = [[] for _ in sizes]
        for column, cells in part.groupby("column", sort=False):
            shares = cells.pivot(index="group", columns="level", values="probability")
            # by reindex: a list of booleans would choose rows
            shares = shares.reindex(columns=list(cells["level"].drop_duplicates())).sort_index()
            table = shares.to_numpy(dtype=np.float64)
            levels = [level_text(model, rows, column, level) for level in shares.columns]
            for group, words in enumerate(group_words(levels, table, sizes.to_numpy())):
                marks[group].append(f"{cut(plain(column))} {words}")
            profiles.append(
                GroupProfile(
                    plain(column),
                    float(cells["information"].iloc[0]),
                    *top_levels(levels, table, sizes.to_numpy()),
                )
            )
        found.append(
            LatentGroups(
                plain(latent),
                tuple(float(size) for size in sizes),
                tuple("; ".join(words) for words in marks),
                tuple(profiles),
            )
        )
    return tuple(found)


def group_words(levels: list[str], table: Any, sizes: Any) -> list[str]:
    """For each group its most common level, and another one if that is what sets it apart."""
    found = []
    for group, shares in enumerate(table):
        rest = np.delete(sizes, group) / max(np.delete(sizes, group).sum(), 1e-300)
        elsewhere = rest @ np.delete(table, group, axis=0)
        most, raised = int(shares.argmax()), int((shares - elsewhere).argmax())
        words = f"{levels[most]} ({percent(float(shares[most]))})"
        if raised != most:
            words += (
                f", more often than elsewhere {levels[raised]} ({percent(float(shares[raised]))}, "
                f"elsewhere {percent(float(elsewhere[raised]))})"
            )
        found.append(words)
    return found


def top_levels(
    levels: list[str], table: Any, sizes: Any
) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """The most common levels in their order, the others together; and their shares by group."""
    if len(levels) > TOP_LEVELS:
        kept = np.sort(np.argsort(-(sizes @ table), kind="stable")[: TOP_LEVELS - 1])
        rest = 1.0 - table[:, kept].sum(axis=1, keepdims=True)
        table = np.hstack([table[:, kept], np.clip(rest, 0.0, 1.0)])
        levels = [levels[k] for k in kept] + [f"is one of {len(levels) - len(kept)} others"]
    return tuple(levels), tuple(tuple(float(v) for v in row) for row in table)


def level_text(model: Any, rows: Rows, column: Any, level: Any) -> str:
    """A level in words: the interval of a bin, or "is" a category."""
    cuts = model.cut_points_.get(column)
    if cuts is None:
        return f"is {cut(plain(level))}"
    most = rows.decimals[rows.schema.names.index(column)] + 1  # cuts lie between the values
    digits = fewest_decimals(cuts, most)
    return bin_words([number(float(value), digits) for value in cuts], level)


def bin_words(bounds: Sequence[str], level: str) -> str:
    """The interval of a bin of `latent_groups`, such as "bin1", in words."""
    k = int(level.removeprefix("bin"))
    if k == 0:
        return f"at most {bounds[0]}"
    return f"above {bounds[-1]}" if k >= len(bounds) else f"{bounds[k - 1]} to {bounds[k]}"
