"""Exact inference in trees of discrete variables: likelihood and posteriors of each row.

Rows that agree in all columns below a node send the same message from there. So a message is
computed once for each distinct part of a row (a pattern), not once for each row. On the way back,
the posteriors of rows that share a pattern are added up before they go down. The results are those
of Pearl's propagation (1988, section 4.2) for each single row, but the cost depends on the number
of patterns instead of rows, and near the leaves there are few patterns.

Rows and their patterns are in `_row_patterns`, the units of work in `_schedule`, the compiled
passes in `_message_kernels` and the expected counts in `_expected_counts`.

This module loads numba; import it only where a tree is fitted or used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latentclass._types import FloatArray
from latentclass.engine._parallel import map_blocks
from latentclass.latent_tree._expected_counts import Plan, expected_counts, messages, plan_rows
from latentclass.latent_tree._message_kernels import edge_posterior, root_posterior, row_logs
from latentclass.latent_tree._row_patterns import (
    PatternBlock,
    RowPatterns,
    check_columns,
    group_rows,
)
from latentclass.latent_tree._schedule import Program, make_program, make_sites
from latentclass.latent_tree._tree import Tree

__all__ = [
    "Plan",
    "RowPatterns",
    "expected_counts",
    "group_rows",
    "node_posteriors",
    "plan_rows",
    "row_log_likelihood",
]


def _map_rows(
    function: Callable[[PatternBlock], Any],
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    n_jobs: int | None,
) -> tuple[RowPatterns, list[Any]]:
    rows = codes if isinstance(codes, RowPatterns) else group_rows(codes)
    check_columns(tree, rows)
    return rows, list(map_blocks(function, rows.blocks, n_jobs if len(rows.blocks) > 4 else 1))


def _root_room(program: Program) -> FloatArray:
    """Memory for the posteriors of the root."""
    return np.empty((program.k[-1], program.size[-1]))


def row_log_likelihood(
    tree: Tree, codes: npt.ArrayLike | RowPatterns, n_jobs: int | None = None
) -> FloatArray:
    """log p(observed cells) of each row; -inf for an impossible row.

    Examples
    --------
    >>> tree = Tree.even((-1, 0, 0), (2, 2, 4), (-1, 0, 1))
    >>> np.exp(row_log_likelihood(tree, [[0, 3], [1, -1], [-1, -1]])).round(6).tolist()
    [0.125, 0.5, 1.0]
    """

    def visit(block: PatternBlock) -> FloatArray:
        sites = make_sites(tree, block)
        program, _, _ = make_program(tree, sites, [True] * len(sites))
        numbers = messages(program, tree.theta)
        x, e = root_posterior(program, tree.theta, numbers, _root_room(program))
        return row_logs(x, e)[sites[-1].ids]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return np.asarray(np.concatenate(parts)[rows.index])


def node_posteriors(
    tree: Tree,
    codes: npt.ArrayLike | RowPatterns,
    nodes: Sequence[int] | None = None,
    n_jobs: int | None = None,
) -> list[FloatArray]:
    """P(state | observed cells) of each row, one array of shape (n_rows, states) per node.

    Parameters
    ----------
    tree : Tree
    codes : array of shape (n_rows, n_columns), or RowPatterns
    nodes : sequence of int, optional
        By default the latent nodes. The posterior of an observed node tells something where its
        cell is missing.
    n_jobs : int or None

    Notes
    -----
    An impossible row (likelihood 0) gets uniform posteriors.
    """
    wanted = list(tree.latent if nodes is None else nodes)
    for node in wanted:
        if not 0 <= node < len(tree.parents):
            raise ValueError(
                f"nodes has {node}, but the tree has only the nodes 0 to {len(tree.parents) - 1}."
            )
    needed = set(wanted)
    for node in range(len(tree.parents) - 1, 0, -1):
        if node in needed:
            needed.add(tree.parents[node])

    def visit(block: PatternBlock) -> list[FloatArray]:
        sites = make_sites(tree, block)
        program, _, _ = make_program(tree, sites, [True] * len(sites))
        numbers = messages(program, tree.theta)
        share = _root_room(program)
        x, _ = root_posterior(program, tree.theta, numbers, share)
        top = {site.node: i for i, site in enumerate(sites) if site.node >= 0}
        found = {0: share.T[sites[-1].ids]}
        for node in sorted(needed - {0}):
            i = top[node]
            given = found[tree.parents[node]]
            found[node] = edge_posterior(
                given, sites[i].ids, tree.tables[node], program, i, numbers
            )
        impossible = (x == 0.0)[sites[-1].ids]
        for node in wanted:
            found[node][impossible] = 1.0 / tree.cardinalities[node]
        return [found[node] for node in wanted]

    rows, parts = _map_rows(visit, tree, codes, n_jobs)
    return [np.concatenate([part[i] for part in parts])[rows.index] for i in range(len(wanted))]
